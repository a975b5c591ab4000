/*
 * What tests/safe/test_inject.c disturbs here: everything that CUDA's back end does, by its table,
 * and what a program does with it.
 * Each call of CUDA fails once in the same ways; it is reported, nothing is leaked or lost, and the
 * same works afterwards.
 */
#include "../safe/scenarios.h"

#include "cuda_device.h"

#include <anycuda/runtime.h>

acu_device elsewhere;
int known_driver;

enum { N = 100, BYTES = N * sizeof(float), MOST = 4 };

/* What a scenario makes, and gives back at its end. */
typedef struct work {
    machine m;
    acu_backend_queue *second;
    acu_backend_mark *mark;
    acu_backend_program *add;
    acu_backend_replay *replay;
    acu_backend_memory *memory[MOST];
} work;

/* After a failure, waits for a queue's work as the core does before memory of another queue that it
 * uses is freed; also where a way to wait fails. */
static void finish(acu_backend_queue *queue, acu_device device) {
    for (int i = 0; i < 2; i++)
        if (!table->queue_synchronize(queue) || !acu_device_synchronize(device))
            return;
}

static void work_cleanup(work *w) {
    if (w->replay)
        table->replay_destroy(w->replay);
    if (w->add)
        table->program_destroy(w->add);
    if (w->mark)
        table->mark_destroy(w->mark);
    for (int i = 0; i < MOST; i++)
        if (w->memory[i])
            table->memory_free(w->m.queue, w->memory[i], BYTES);
    if (w->second)
        table->queue_destroy(w->second);
    machine_cleanup(&w->m);
}

#define WORK(w)                                                                                    \
    __attribute__((cleanup(work_cleanup))) work w = {.second = NULL};                              \
    ACU_TRY(begin_work(&(w)))

static acu_result begin_work(work *w) {
    ACU_TRY(open_machine(0, &w->m));
    for (int i = 0; i < MOST; i++)
        ACU_TRY(table->memory_allocate(w->m.queue, BYTES, &w->memory[i]));
    return 0;
}

static acu_result expect(const work *w, acu_backend_memory *memory, int at, float number) {
    float there = -1;
    ACU_TRY(table->read(w->m.queue, memory, (uint64_t)at * 4, &there, 4));
    assert_true(there == number);
    return 0;
}

static acu_result copies(void) {
    const uint64_t shape[2] = {5, 4};
    const int64_t to[2] = {4, 20}, from[2] = {16, 4};
    const acu_backend_strided turn = {.element_bytes = 4,
                                      .rank = 2,
                                      .shape = shape,
                                      .to = to,
                                      .from = from,
                                      .to_size = BYTES,
                                      .from_size = BYTES};
    float numbers[N], three[3] = {1, 2, 3};
    WORK(w);
    acu_backend_queue *q = w.m.queue;
    for (int i = 0; i < N; i++)
        numbers[i] = (float)i;
    ACU_TRY(table->write(q, w.memory[0], 0, numbers, BYTES));
    ACU_TRY(table->copy(q, w.memory[1], 0, w.memory[0], 0, BYTES));
    ACU_TRY(table->copy(q, w.memory[1], 0, w.memory[1], 40, BYTES - 40));
    ACU_TRY(table->fill(q, w.memory[2], 2, 397, three, 1));
    ACU_TRY(table->fill(q, w.memory[2], 0, BYTES, three, 4));
    ACU_TRY(table->fill(q, w.memory[2], 40, 100, three, 12));
    ACU_TRY(table->copy_strided(q, w.memory[3], w.memory[0], &turn));
    ACU_TRY(expect(&w, w.memory[1], 0, 10));
    ACU_TRY(expect(&w, w.memory[1], 95, 95));
    ACU_TRY(expect(&w, w.memory[2], 11, 2));
    ACU_TRY(expect(&w, w.memory[2], 34, 1));
    ACU_TRY(expect(&w, w.memory[2], 35, 1));
    ACU_TRY(expect(&w, w.memory[3], 6, 5));
    return table->queue_synchronize(q);
}

static acu_result use_two_queues(work *w) {
    float back[N];
    ACU_TRY(table->queue_wait(w->second, w->mark));
    ACU_TRY(table->copy(w->second, w->memory[1], 0, w->memory[0], 0, BYTES));
    ACU_TRY(table->read_after(w->m.queue, w->mark, w->memory[0], 0, back, BYTES));
    assert_true(back[0] == 5);
    ACU_TRY(table->mark_synchronize(w->mark));
    ACU_TRY(table->mark_query(w->mark));
    ACU_TRY(table->read(w->second, w->memory[1], 0, back, BYTES));
    assert_true(back[0] == 5);
    return table->queue_synchronize(w->second);
}

static acu_result marks(void) {
    const float numbers[N] = {5};
    WORK(w);
    ACU_TRY(table->write(w.m.queue, w.memory[0], 0, numbers, BYTES));
    ACU_TRY(table->mark_create(w.m.queue, &w.mark));
    ACU_TRY(make_queue(&w.m, &w.second));
    const acu_result code = use_two_queues(&w);
    if (code)
        finish(w.second, 0);
    return code;
}

static acu_result programs(void) {
    const float numbers[N] = {5};
    WORK(w);
    ACU_TRY(make_program(&w.m, &add_source, &w.add));
    ACU_TRY(table->write(w.m.queue, w.memory[0], 0, numbers, BYTES));
    ACU_TRY(run_add(w.m.queue, w.add, w.memory[0], w.memory[0], w.memory[1], N));
    ACU_TRY(expect(&w, w.memory[1], 0, 10));
    return table->queue_synchronize(w.m.queue);
}

static acu_result record(work *w, const float *numbers) {
    acu_backend_queue *q = w->m.queue;
    ACU_TRY(table->write(q, w->memory[0], 0, numbers, BYTES));
    ACU_TRY(table->copy(q, w->memory[0], 0, w->memory[0], 4, BYTES - 4));
    ACU_TRY(table->fill(q, w->memory[1], 0, BYTES, numbers, 4));
    return run_add(q, w->add, w->memory[0], w->memory[1], w->memory[2], N);
}

static acu_result replays(void) {
    const float numbers[N] = {5, 6, 7};
    WORK(w);
    ACU_TRY(make_program(&w.m, &add_source, &w.add));
    ACU_TRY(table->capture_begin(w.m.queue));
    acu_result code = record(&w, numbers);
    if (code)
        table->capture_cancel(w.m.queue);
    else
        code = table->capture_end(w.m.queue, &w.replay);
    ACU_TRY(code);
    ACU_TRY(table->replay_run(w.m.queue, w.replay));
    ACU_TRY(table->replay_run(w.m.queue, w.replay));
    ACU_TRY(expect(&w, w.memory[2], 0, 11));
    ACU_TRY(expect(&w, w.memory[2], 1, 12));
    return table->queue_synchronize(w.m.queue);
}

static acu_result wrap_and_trim(void) {
    void *address;
    float number = 3;
    acu_backend_memory *wrapped = NULL;
    WORK(w);
    ACU_TRY(table->memory_get_address(w.m.device, w.memory[0], &address));
    ACU_TRY(table->memory_wrap(w.m.device, address, BYTES, &wrapped));
    acu_result code = table->write(w.m.queue, wrapped, 0, &number, 4);
    const acu_result waited = table->queue_synchronize(w.m.queue);
    table->memory_unwrap(w.m.device, wrapped);
    ACU_TRY(code);
    ACU_TRY(waited);
    table->memory_free(w.m.queue, w.memory[1], BYTES);
    w.memory[1] = NULL;
    table->device_trim(w.m.device);
    return expect(&w, w.memory[0], 0, 3);
}

static acu_result two_devices(void) {
    __attribute__((cleanup(machine_cleanup))) machine there = {NULL, NULL};
    const float numbers[N] = {5, 6, 7};
    float back[N] = {0};
    acu_backend_memory *to = NULL;
    WORK(w);
    ACU_TRY(open_machine(elsewhere, &there));
    ACU_TRY(table->memory_allocate(there.queue, BYTES, &to));
    acu_result code = table->queue_synchronize(there.queue);
    if (!code)
        code = table->write(w.m.queue, w.memory[0], 0, numbers, BYTES);
    if (!code)
        code = table->copy_peer(w.m.queue, there.queue, to, 0, w.memory[0], 4, BYTES - 4);
    if (!code)
        code = table->queue_synchronize(w.m.queue);
    if (!code)
        code = table->read(there.queue, to, 0, back, BYTES - 4);
    if (code)
        finish(w.m.queue, 0);
    table->memory_free(there.queue, to, BYTES);
    assert_true(code || back[0] == 6);
    return code;
}

/* ---- by the public interface ---- */

typedef struct task {
    acu_program *program;
    acu_block *a, *b;
} task;

static acu_result give_task(acu_client *client, void *data) {
    const task *t = data;
    const float numbers[N] = {5, 6, 7};
    ACU_TRY(acu_block_write(client, t->a, 0, numbers, BYTES));
    ACU_TRY(acu_block_fill(client, t->b, 0, BYTES, numbers, 4));
    return acu_run(client, t->program, acu_items(N), acu_in_block(t->a), acu_in_block(t->a), t->b,
                   (unsigned)N);
}

static acu_result expect_sum(acu_client *client, acu_block *block) {
    float back[N];
    ACU_TRY(acu_block_read(client, block, 0, back, BYTES));
    assert_true(back[0] == 10 && back[2] == 14 && back[3] == 0);
    return acu_client_synchronize(client);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration has none */
#define TASK(client, t)                                                                            \
    ACU_AUTO(acu_client) *client = NULL;                                                           \
    ACU_AUTO(acu_program) *program = NULL;                                                         \
    ACU_AUTO(acu_block) *a = NULL;                                                                 \
    ACU_AUTO(acu_block) *b = NULL;                                                                 \
    ACU_TRY(acu_client_create(acu_place_cuda(0), NULL, &(client)));                                \
    ACU_TRY(acu_program_create(&add_source, &program));                                            \
    ACU_TRY(acu_block_create(client, BYTES, &a));                                                  \
    ACU_TRY(acu_block_create(client, BYTES, &b));                                                  \
    task t = {program, a, b}
/* NOLINTEND(bugprone-macro-parentheses) */

static acu_result clients(void) {
    float back[N];
    ACU_AUTO(acu_client) *other = NULL;
    ACU_AUTO(acu_block) *copy = NULL;
    ACU_AUTO(acu_mark) *mark = NULL;
    TASK(client, t);
    ACU_TRY(give_task(client, &t));
    ACU_TRY(acu_mark_create(client, &mark));
    ACU_TRY(acu_client_create(acu_place_cuda(0), NULL, &other));
    ACU_TRY(acu_block_create(other, BYTES, &copy));
    ACU_TRY(acu_block_copy(other, copy, 0, b, 0, BYTES));
    ACU_TRY(acu_block_read_after(client, mark, b, 0, back, BYTES));
    assert_true(back[1] == 12);
    ACU_TRY(acu_mark_synchronize(mark));
    ACU_TRY(expect_sum(other, copy));
    return acu_client_trim_memory(client, 0);
}

static acu_result recordings(void) {
    ACU_AUTO(acu_replay) *replay = NULL;
    TASK(client, t);
    ACU_TRY(acu_replay_record(client, give_task, &t, NULL, 0, &replay));
    ACU_TRY(acu_replay_run(replay));
    ACU_TRY(acu_replay_run(replay));
    return expect_sum(client, b);
}

const scenario scenarios[] = {{"copies", copies},       {"marks", marks},
                              {"programs", programs},   {"replays", replays},
                              {"wraps", wrap_and_trim}, {"two_devices", two_devices},
                              {"clients", clients},     {"recordings", recordings}};
const size_t scenario_count = COUNT(scenarios);
