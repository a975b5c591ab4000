/*
 * CUDA's back end by its table against the safe layer's own calls, in pairs within one process, on
 * whatever runtime is loaded. With --check a median ratio above the bar is a failure. Exits with 77
 * where there is no device.
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/sim.h>

#include "runtime/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUED = 400, BYTES = 1024, SIDE = 64, ROW = 4 * SIDE, MATRIX = ROW * SIDE };

static const double bar = 1.05;

/* This reference is weak, because the program also runs without the simulator. */
__attribute__((weak)) int acu_sim_register(const char *name, acu_sim_kernel function);

static const acu_backend *const table = &acu_cuda_backend;
static acu_backend_device *device;
static acu_backend_queue *queue;
static acu_backend_memory *to, *from;
static acu_buffer *safe_to, *safe_from;
static acu_stream *stream; /* of the queue: what both ways use is the same */
static int above;          /* how many ratios are above the bar */

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define LOOP(name, ...)                                                                            \
    static void name(long calls) {                                                                 \
        for (long i = 0; i < calls; i++) {                                                         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static void settle_all(void) {
    OK(acu_stream_synchronize(stream));
}

static void pair(const char *name, loop *safe, loop *back_end, long most) {
    above += compare(name, safe, back_end, most, settle_all) > bar;
}

/* A pair that is shown and not judged, because the two do not do the same. */
static void show(const char *name, loop *safe, loop *back_end, long most) {
    (void)compare(name, safe, back_end, most, settle_all);
}

/* ---- memory ---- */

static const acu_buffer_options of_pool = {.memory = ACU_MEMORY_POOL};

LOOP(safe_create, acu_buffer *made;
     OK(acu_buffer_create_with(stream, ACU_BYTES(1), BYTES, &of_pool, &made));
     OK(acu_buffer_release(made));)
LOOP(create, acu_backend_memory *made; OK(table->memory_allocate(queue, BYTES, &made));
     table->memory_free(queue, made, BYTES);)

/* ---- copies ---- */

static char host[BYTES];

LOOP(safe_write, OK(acu_buffer_write_async(safe_to, 0, ACU_BYTES(1), host, sizeof host, stream));)
LOOP(write_bytes, OK(table->write(queue, to, 0, host, sizeof host));)
LOOP(safe_read, OK(acu_buffer_read_typed(safe_to, 0, ACU_BYTES(1), host, sizeof host, stream));)
LOOP(read_bytes, OK(table->read(queue, to, 0, host, sizeof host));)
LOOP(safe_copy, OK(acu_buffer_copy_range(safe_to, 0, safe_from, 0, BYTES, stream));)
LOOP(copy_bytes, OK(table->copy(queue, to, 0, from, 0, BYTES));)

static const float seven = 7;
static acu_buffer *floats, *half;

LOOP(safe_zero, OK(acu_buffer_zero(safe_to, stream));)
LOOP(zero, OK(table->fill(queue, to, 0, BYTES, "", 1));)
LOOP(safe_fill, OK(acu_buffer_fill_typed(floats, ACU_BYTES(4), &seven, stream));)
LOOP(fill, OK(table->fill(queue, to, 0, BYTES, &seven, sizeof seven));)
LOOP(safe_fill_half, OK(acu_buffer_fill_typed(half, ACU_BYTES(4), &seven, stream));)
LOOP(fill_half, OK(table->fill(queue, to, BYTES / 2, BYTES / 2, &seven, sizeof seven));)

/* A transposition of SIDE x SIDE floats. */
static acu_backend_memory *turned, *plain;
static acu_buffer *safe_turned, *safe_plain;

static void safe_turn(long calls) {
    static const size_t shape[] = {SIDE, SIDE};
    static const int64_t steps[] = {1, SIDE};
    const acu_strides s = {.rank = 2, .shape = shape, .from = steps};
    for (long i = 0; i < calls; i++)
        OK(acu_buffer_copy_strided(safe_turned, safe_plain, &s, stream));
}

static void turn(long calls) {
    static const uint64_t shape[] = {SIDE, SIDE};
    static const int64_t rows[] = {ROW, 4}, columns[] = {4, ROW};
    const acu_backend_strided s = {.element_bytes = 4,
                                   .rank = 2,
                                   .shape = shape,
                                   .to = rows,
                                   .from = columns,
                                   .to_size = MATRIX,
                                   .from_size = MATRIX};
    for (long i = 0; i < calls; i++)
        OK(table->copy_strided(queue, turned, plain, &s));
}

static void make_views(void) {
    acu_buffer *slice;
    OK(acu_buffer_reinterpret(safe_to, ACU_BYTES(4), &floats));
    OK(acu_buffer_slice(safe_to, BYTES / 2, BYTES / 2, &slice));
    OK(acu_buffer_reinterpret(slice, ACU_BYTES(4), &half));
    OK(acu_buffer_release(slice));
    OK(table->memory_allocate(queue, MATRIX, &turned));
    OK(table->memory_allocate(queue, MATRIX, &plain));
    OK(acu_buffer_reinterpret(acu_cuda_buffer(turned), ACU_BYTES(4), &safe_turned));
    OK(acu_buffer_reinterpret(acu_cuda_buffer(plain), ACU_BYTES(4), &safe_plain));
}

static void release_views(void) {
    OK(acu_buffer_release(floats));
    OK(acu_buffer_release(half));
    OK(acu_buffer_release(safe_turned));
    OK(acu_buffer_release(safe_plain));
    table->memory_free(queue, turned, MATRIX);
    table->memory_free(queue, plain, MATRIX);
}

static void memory_and_copies(void) {
    make_views();
    pair("allocate and free 1 KiB, against creating and releasing a buffer", safe_create, create,
         QUEUED / 2);
    pair("write of 1 KiB, against acu_buffer_write_async", safe_write, write_bytes, QUEUED);
    pair("read of 1 KiB, against acu_buffer_read_typed", safe_read, read_bytes, 0);
    pair("copy of 1 KiB, against acu_buffer_copy_range", safe_copy, copy_bytes, QUEUED);
    pair("zeros in 1 KiB, against acu_buffer_zero", safe_zero, zero, QUEUED);
    pair("floats in 1 KiB, against acu_buffer_fill_typed", safe_fill, fill, QUEUED);
    pair("floats in a half, against the same of a view", safe_fill_half, fill_half, QUEUED);
    pair("transposition of 64 x 64 floats, against acu_buffer_copy_strided", safe_turn, turn, 4);
    release_views();
}

/* ---- marks ---- */

static acu_event *event;
static acu_backend_mark *mark;
static acu_stream *reader;

static const acu_event_options untimed = {ACU_EVENT_DISABLE_TIMING};

LOOP(safe_record, OK(acu_event_record(event, stream));)
LOOP(safe_mark, acu_event *made; OK(acu_event_create(0, &untimed, &made));
     OK(acu_event_record(made, stream)); OK(acu_event_release(made));)
LOOP(record, acu_backend_mark *made; OK(table->mark_create(queue, &made));
     table->mark_destroy(made);)
LOOP(safe_wait, OK(acu_stream_wait_event(stream, event));)
LOOP(wait_for, OK(table->queue_wait(queue, mark));)
LOOP(safe_query, OK(acu_event_query(event));)
LOOP(query, OK(table->mark_query(mark));)
LOOP(safe_read_after,
     OK(acu_buffer_read_after(safe_to, event, 0, ACU_BYTES(1), host, sizeof host, reader));)
LOOP(read_after, OK(table->read_after(queue, mark, to, 0, host, sizeof host));)
LOOP(safe_synchronize, OK(acu_stream_synchronize(stream));)
LOOP(synchronize, OK(table->queue_synchronize(queue));)
LOOP(safe_copy_and_wait, OK(acu_buffer_copy_range(safe_to, 0, safe_from, 0, BYTES, stream));
     OK(acu_stream_synchronize(stream));)
LOOP(copy_and_wait, OK(table->copy(queue, to, 0, from, 0, BYTES));
     OK(table->queue_synchronize(queue));)

static void marks(void) {
    OK(acu_event_create(0, &untimed, &event));
    OK(acu_event_record(event, stream));
    OK(table->mark_create(queue, &mark));
    OK(acu_cuda_queue_get_reader(queue, &reader));
    settle_all();
    pair("make and destroy a mark, against making, recording and releasing an event", safe_mark,
         record, QUEUED);
    show("the same, against recording an event that exists", safe_record, record, QUEUED);
    pair("wait for a mark, against acu_stream_wait_event", safe_wait, wait_for, QUEUED);
    pair("query of a mark, against acu_event_query", safe_query, query, 0);
    pair("read of 1 KiB beside, against acu_buffer_read_after", safe_read_after, read_after, 0);
    pair("copy of 1 KiB and wait, against acu_stream_synchronize", safe_copy_and_wait,
         copy_and_wait, 0);
    show("wait for an idle queue, against the same", safe_synchronize, synchronize, 0);
    table->mark_destroy(mark);
    OK(acu_event_release(event));
}

/* ---- programs ---- */

static const acu_program_source nothing_source = {
    .name = "nothing",
    .ptx = ".version 7.0\n.target sm_52\n.address_size 64\n"
           ".visible .entry nothing(.param .u64 a, .param .u64 b, .param .u32 n)\n"
           "{\n    ret;\n}\n"};

static void nothing(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
}

static acu_backend_program *program;
static acu_backend_replay *replay;
static int count = 7;

static void safe_launch(long calls) {
    const acu_grid grid = acu_grid_1d(BYTES, 256);
    for (long i = 0; i < calls; i++)
        OK(acu_launch(stream, program->kernel, grid, acu_in(safe_from), acu_inout(safe_to), count));
}

static void run(long calls) {
    const size_t items[3] = {BYTES, 1, 1};
    const acu_backend_arg args[] = {{.memory = from, .memory_bytes = BYTES},
                                    {.memory = to, .memory_bytes = BYTES, .writes = true},
                                    {.value = &count, .size = sizeof count}};
    for (long i = 0; i < calls; i++)
        OK(table->run(queue, program, items, args, 3));
}

LOOP(safe_replay, OK(acu_exec_launch((acu_exec *)(void *)replay, stream));)
LOOP(run_replay, OK(table->replay_run(queue, replay));)

static void programs(void) {
    const acu_backend_source source = {.size = sizeof source, .source = &nothing_source};
    if (acu_sim_register && acu_sim_register("nothing", nothing))
        return;
    OK(table->program_create(device, &source, &program));
    pair("run of a program, against acu_launch", safe_launch, run, QUEUED);
    OK(table->capture_begin(queue));
    run(1);
    OK(table->capture_end(queue, &replay));
    pair("run of a replay, against acu_exec_launch", safe_replay, run_replay, QUEUED);
    table->replay_destroy(replay);
    table->program_destroy(program);
}

int main(int argc, char **argv) {
    int devices = 0;
    const acu_backend_queue_options options = {.size = sizeof options};
    if (table->count_devices(&devices) || devices == 0) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    acu_quarantine(0); /* as in a release build */
    OK(table->device_open(0, &device));
    OK(table->queue_create(device, &options, &queue));
    OK(table->memory_allocate(queue, BYTES, &to));
    OK(table->memory_allocate(queue, BYTES, &from));
    stream = queue->stream;
    safe_to = acu_cuda_buffer(to);
    safe_from = acu_cuda_buffer(from);
    print_header("safe", "back end");
    memory_and_copies();
    marks();
    programs();
    table->memory_free(queue, to, BYTES);
    table->memory_free(queue, from, BYTES);
    table->queue_destroy(queue);
    table->device_close(device);
    printf("\n%d of the medians are above the bar of %.2f\n", above, bar);
    return argc > 1 && strcmp(argv[1], "--check") == 0 && above > 0;
}
