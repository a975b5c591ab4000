/* CUDA's back end by its table: programs, and replays of what was captured. */
#include "cuda_device.h"

#include <pthread.h>

enum { N = 1000 };

static float *numbers(float first) {
    static float all[2][N];
    static int next;
    float *mine = all[next++ % 2];
    for (int i = 0; i < N; i++)
        mine[i] = first + (float)i;
    return mine;
}

static acu_backend_memory *memory_of(const machine *m, const float *bytes) {
    acu_backend_memory *memory = NULL;
    DONE(table->memory_allocate(m->queue, N * sizeof(float), &memory));
    if (bytes)
        DONE(table->write(m->queue, memory, 0, bytes, N * sizeof(float)));
    return memory;
}

static void expect(const machine *m, acu_backend_memory *memory, int at, float number) {
    float there = -1;
    DONE(table->read(m->queue, memory, (uint64_t)at * sizeof there, &there, sizeof there));
    assert_true(there == number);
}

/* ---- programs ---- */

typedef struct sum {
    machine m;
    acu_backend_memory *a, *b, *sum;
    acu_backend_program *add;
} sum;

static void begin_sum(sum *s) {
    DONE(open_machine(0, &s->m));
    DONE(make_program(&s->m, &add_source, &s->add));
    s->a = memory_of(&s->m, numbers(1));
    s->b = memory_of(&s->m, numbers(100));
    s->sum = memory_of(&s->m, numbers(-1000));
}

static void end_sum(sum *s) {
    DONE(table->queue_synchronize(s->m.queue));
    table->program_destroy(s->add);
    table->memory_free(s->m.queue, s->a, N * sizeof(float));
    table->memory_free(s->m.queue, s->b, N * sizeof(float));
    table->memory_free(s->m.queue, s->sum, N * sizeof(float));
    machine_cleanup(&s->m);
}

static void a_program_runs_over_items(void **state) {
    (void)state;
    sum s;
    begin_sum(&s);
    add_calls = 0;
    DONE(run_add(s.m.queue, s.add, s.a, s.b, s.sum, 999));
    expect(&s.m, s.sum, 0, 101);
    expect(&s.m, s.sum, 998, 101 + 2 * 998);
    expect(&s.m, s.sum, 999, -1); /* which is no item */
    assert_int_equal(add_calls, is_simulated() ? 1 : 0);
    end_sum(&s);
}

static void arguments_are_checked(void **state) {
    (void)state;
    sum s;
    const size_t items[3] = {N, 1, 1}, huge[3] = {(size_t)1 << 40u, 1, 1}, deep[3] = {1, 1, 100000};
    unsigned n = N;
    uint64_t wide = N;
    begin_sum(&s);
    acu_backend_arg args[100] = {{.memory = s.a, .memory_bytes = 4000},
                                 {.memory = s.b, .memory_bytes = 4000},
                                 {.memory = s.sum, .memory_bytes = 4000, .writes = true},
                                 {.value = &n, .size = sizeof n}};
    acu_backend_queue *q = s.m.queue;
    REFUSED(table->run(q, s.add, items, args, 3), ACU_ERROR_ARGUMENT, "4");
    REFUSED(table->run(q, s.add, items, args, 5), ACU_ERROR_ARGUMENT, "4");
    REFUSED(table->run(q, s.add, items, args, 100), ACU_ERROR_LIMIT, "100 arguments");
    REFUSED(table->run(q, s.add, huge, args, 4), ACU_ERROR_LIMIT, "blocks in x");
    REFUSED(table->run(q, s.add, deep, args, 4), ACU_ERROR_LIMIT, "blocks in z");
    args[3] = (acu_backend_arg){.value = &wide, .size = sizeof wide};
    REFUSED(table->run(q, s.add, items, args, 4), ACU_ERROR_ARGUMENT, "8");
    end_sum(&s);
}

static void double_it(const acu_part *part, void *const *args) {
    float *x = args[0];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        x[i] *= 2;
}

static void halve_it(const acu_part *part, void *const *args) {
    float *x = args[0];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        x[i] /= 2;
}

static acu_result change(const machine *m, acu_backend_program *program,
                         acu_backend_memory *memory) {
    const size_t items[3] = {N, 1, 1};
    const acu_backend_arg arg = {
        .memory = memory, .memory_bytes = N * sizeof(float), .writes = true};
    return table->run(m->queue, program, items, &arg, 1);
}

#define ONE_PARAMETER ".visible .entry change(.param .u64 x) { ret; }\n"
static const char change_ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n" ONE_PARAMETER;

/* The simulator knows kernels by their names, which are the same here. */
static void programs_of_one_name(void **state) {
    (void)state;
    ONLY_SIMULATED("these kernels do nothing on a GPU");
    acu_backend_program *doubles, *halves;
    machine m = {NULL, NULL};
    acu_program_source source = {.name = "change", .cpu = double_it, .ptx = change_ptx};
    DONE(open_machine(0, &m));
    DONE(make_program(&m, &source, &doubles));
    source.cpu = halve_it;
    DONE(make_program(&m, &source, &halves));
    acu_backend_memory *memory = memory_of(&m, numbers(8));
    DONE(change(&m, doubles, memory));
    DONE(change(&m, doubles, memory));
    DONE(change(&m, halves, memory));
    expect(&m, memory, 1, 18);
    table->memory_free(m.queue, memory, N * sizeof(float));
    table->program_destroy(doubles);
    table->program_destroy(halves);
    machine_cleanup(&m);
}

static void add_three(const acu_sim_launch *launch, void *const *args) {
    float *x = acu_sim_at(launch, *(void *const *)args[0], sizeof *x);
    *x += 3;
}

/* Without a form for the CPU, what the program registered with the simulator runs. */
static void a_registered_kernel_runs(void **state) {
    (void)state;
    ONLY_SIMULATED("these kernels do nothing on a GPU");
    acu_backend_program *program;
    machine m = {NULL, NULL};
    const acu_program_source source = {.name = "change", .ptx = change_ptx};
    DONE(open_machine(0, &m));
    DONE(make_program(&m, &source, &program));
    acu_backend_memory *memory = memory_of(&m, numbers(8));
    assert_int_equal(acu_sim_register("change", add_three), 0);
    DONE(change(&m, program, memory));
    expect(&m, memory, 0, 11);
    assert_int_equal(acu_sim_register("change", NULL), 0);
    table->memory_free(m.queue, memory, N * sizeof(float));
    table->program_destroy(program);
    machine_cleanup(&m);
}

static void source_is_compiled(void **state) {
    (void)state;
    acu_backend_program *program = NULL;
    machine m = {NULL, NULL};
    acu_program_source source = {.name = "change",
                                 .cpu = double_it,
                                 .cuda = "extern \"C\" __global__ void change(float *x) {\n"
                                         "    x[blockIdx.x * blockDim.x + threadIdx.x] *= 2;\n}\n"};
    source.group[0] = 125;
    DONE(open_machine(0, &m));
    DONE(make_program(&m, &source, &program));
    acu_backend_memory *memory = memory_of(&m, numbers(8));
    DONE(change(&m, program, memory));
    expect(&m, memory, 1, 18);
    table->memory_free(m.queue, memory, N * sizeof(float));
    table->program_destroy(program);
    source.cuda = "extern \"C\" __global__ void change(nothing x) {}\n";
    REFUSED(make_program(&m, &source, &program), ACU_ERROR_COMPILE, "change");
    assert_null(program);
    machine_cleanup(&m);
}

static void an_image_is_a_form(void **state) {
    (void)state;
    acu_backend_program *program = NULL;
    machine m = {NULL, NULL};
    const acu_program_source source = {.name = "change"};
    const acu_form form = {"cuda", change_ptx, sizeof change_ptx};
    const acu_backend_source given = {.size = sizeof given, .source = &source, .form = &form};
    DONE(open_machine(0, &m));
    DONE(table->program_create(m.device, &given, &program));
    table->program_destroy(program);
    machine_cleanup(&m);
}

static void bad_programs_are_refused(void **state) {
    (void)state;
    acu_backend_program *program = NULL;
    machine m = {NULL, NULL};
    acu_program_source source = {.name = "change", .cpu = double_it};
    DONE(open_machine(0, &m));
    REFUSED(make_program(&m, &source, &program), ACU_NOT_SUPPORTED, "neither PTX nor CUDA C");
    source.ptx = "this is no PTX";
    REFUSED(make_program(&m, &source, &program), ACU_ERROR_ARGUMENT, "PTX");
    source.ptx = change_ptx;
    source.name = "another";
    REFUSED(make_program(&m, &source, &program), 500, "another");
    assert_null(program);
    machine_cleanup(&m);
}

/* ---- replays ---- */

/* Writes, copies, fills and adds: sum = a + b, where a[0..9] was written, and b[3..6] is 7. */
static void give_work(sum *s, const float *written) {
    const float seven = 7;
    const uint64_t shape[1] = {2};
    const int64_t to[1] = {8}, from[1] = {-4};
    const acu_backend_strided swap = {.element_bytes = 4,
                                      .rank = 1,
                                      .shape = shape,
                                      .to = to,
                                      .from = from,
                                      .to_at = 400,
                                      .from_at = 4,
                                      .to_size = 4000,
                                      .from_size = 4000};
    acu_backend_queue *q = s->m.queue;
    DONE(table->write(q, s->a, 0, written, 40));
    DONE(table->fill(q, s->b, 12, 16, &seven, 4));
    DONE(run_add(q, s->add, s->a, s->b, s->sum, 50));
    DONE(table->copy(q, s->sum, 60 * 4, s->sum, 0, 20));      /* sum[60..64] = sum[0..4] */
    DONE(table->copy(q, s->sum, 70 * 4, s->sum, 71 * 4, 40)); /* sum[70..79] = sum[71..80] */
    DONE(table->copy_strided(q, s->sum, s->a, &swap));        /* sum[100] = a[1], sum[102] = a[0] */
}

static void expect_work(sum *s, float first, int runs) {
    expect(&s->m, s->sum, 0, first + 100);
    expect(&s->m, s->sum, 4, first + 4 + 7);
    expect(&s->m, s->sum, 49, 50 + 149);
    expect(&s->m, s->sum, 60, first + 100);
    expect(&s->m, s->sum, 64, first + 4 + 7);
    expect(&s->m, s->sum, 70, -1000 + 70 + (float)runs);
    expect(&s->m, s->sum, 100, first + 1);
    expect(&s->m, s->sum, 102, first);
}

static void a_replay_does_it_again(void **state) {
    (void)state;
    sum s;
    acu_backend_replay *replay = NULL;
    float written[10];
    begin_sum(&s);
    memcpy(written, numbers(500), sizeof written);
    DONE(table->capture_begin(s.m.queue));
    give_work(&s, written);
    DONE(table->capture_end(s.m.queue, &replay));
    assert_non_null(replay);
    memset(written, 0, sizeof written); /* the replay has the bytes */
    expect(&s.m, s.sum, 0, -1000);      /* nothing was done yet */
    for (int i = 1; i <= 3; i++) {
        DONE(table->replay_run(s.m.queue, replay));
        expect_work(&s, 500, i);
        DONE(table->write(s.m.queue, s.a, 0, numbers(0), N * sizeof(float)));
        DONE(table->write(s.m.queue, s.a, 4, numbers(2), (N - 1) * sizeof(float)));
    }
    table->replay_destroy(replay);
    end_sum(&s);
}

/* Programs and memory that the replay uses may be given back before it, as may the work's end. */
static void a_replay_keeps_what_it_uses(void **state) {
    (void)state;
    sum s;
    acu_backend_replay *replay = NULL;
    float back[N];
    begin_sum(&s);
    DONE(table->capture_begin(s.m.queue));
    DONE(run_add(s.m.queue, s.add, s.a, s.b, s.sum, N));
    DONE(table->capture_end(s.m.queue, &replay));
    table->program_destroy(s.add);
    table->memory_free(s.m.queue, s.a, N * sizeof(float));
    table->memory_free(s.m.queue, s.b, N * sizeof(float));
    for (int i = 0; i < 3; i++)
        DONE(table->replay_run(s.m.queue, replay));
    DONE(table->read(s.m.queue, s.sum, 0, back, sizeof back));
    assert_true(back[0] == 101 && back[N - 1] == 101 + 2 * (N - 1));
    DONE(table->replay_run(s.m.queue, replay));
    table->replay_destroy(replay); /* while it runs */
    DONE(table->queue_synchronize(s.m.queue));
    table->memory_free(s.m.queue, s.sum, N * sizeof(float));
    machine_cleanup(&s.m);
}

static void an_empty_replay(void **state) {
    (void)state;
    machine m = {NULL, NULL};
    acu_backend_replay *replay = NULL;
    DONE(open_machine(0, &m));
    DONE(table->capture_begin(m.queue));
    DONE(table->capture_end(m.queue, &replay));
    DONE(table->replay_run(m.queue, replay));
    DONE(table->queue_synchronize(m.queue));
    table->replay_destroy(replay);
    machine_cleanup(&m);
}

static void a_cancelled_capture_leaves_nothing(void **state) {
    (void)state;
    sum s;
    acu_backend_replay *replay = NULL;
    float number;
    begin_sum(&s);
    DONE(table->capture_begin(s.m.queue));
    DONE(run_add(s.m.queue, s.add, s.a, s.b, s.sum, N));
    REFUSED(table->read(s.m.queue, s.sum, 0, &number, 4), ACU_ERROR_CAPTURE, "captured");
    table->capture_cancel(s.m.queue);
    expect(&s.m, s.sum, 0, -1000);
    DONE(table->capture_begin(s.m.queue));
    DONE(table->capture_end(s.m.queue, &replay));
    table->capture_cancel(s.m.queue); /* after the end there is nothing to cancel */
    table->replay_destroy(replay);
    end_sum(&s);
}

/* Another thread reads beside a queue whose work is being captured. */
static void *read_beside(void *data) {
    const sum *s = ((void **)data)[0];
    acu_backend_mark *mark = ((void **)data)[1];
    float number = 0;
    return table->read_after(s->m.queue, mark, s->a, 0, &number, 4) || number != 1 ? data : NULL;
}

static void a_capture_lets_others_read(void **state) {
    (void)state;
    sum s;
    acu_backend_mark *mark;
    acu_backend_replay *replay = NULL;
    pthread_t thread;
    void *failed = &s;
    begin_sum(&s);
    DONE(table->mark_create(s.m.queue, &mark));
    void *data[] = {&s, mark};
    DONE(table->capture_begin(s.m.queue));
    DONE(run_add(s.m.queue, s.add, s.a, s.b, s.sum, N));
    assert_int_equal(pthread_create(&thread, NULL, read_beside, data), 0);
    pthread_join(thread, &failed);
    DONE(table->capture_end(s.m.queue, &replay));
    assert_null(failed);
    DONE(table->replay_run(s.m.queue, replay));
    expect(&s.m, s.sum, 0, 101);
    table->replay_destroy(replay);
    table->mark_destroy(mark);
    end_sum(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_program_runs_over_items),
        TEST(arguments_are_checked),
        TEST(programs_of_one_name),
        TEST(a_registered_kernel_runs),
        TEST(source_is_compiled),
        TEST(an_image_is_a_form),
        TEST(bad_programs_are_refused),
        TEST(a_replay_does_it_again),
        TEST(a_replay_keeps_what_it_uses),
        TEST(an_empty_replay),
        TEST(a_cancelled_capture_leaves_nothing),
        TEST(a_capture_lets_others_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
