/* The CPU's back end by its table: order, threads, programs, marks, replays. */
#define _POSIX_C_SOURCE 200809L
#include "cpu_test.h"

#include <pthread.h>
#include <time.h>

static void test_what_it_is(void **state) {
    (void)state;
    acu_backend_device *device = NULL;
    acu_place_info info;
    int count = 0;
    OK(cpu->count_devices(&count));
    assert_int_equal(count, 1);
    assert_int_not_equal(cpu->device_open(1, &device), ACU_SUCCESS);
    OK(cpu->device_open(0, &device));
    OK(cpu->device_get_info(device, &info));
    assert_true(strlen(info.name) > 2);
    assert_true(info.memory > 1u << 20u);
    assert_true(info.threads > 0);
    assert_int_equal(info.max_rank, ACU_MAX_RANK);
    cpu->device_close(device);
}

static void test_memory(void **state) {
    (void)state;
    acu_backend_queue *queue = cpu_queue(NULL);
    for (uint64_t bytes = 1; bytes < 100u << 20u; bytes = bytes * 3 + 1) {
        acu_backend_memory *memory = cpu_memory(queue, bytes);
        assert_int_equal((uintptr_t)cpu_bytes(memory) % (bytes < 4096 ? 64 : 4096), 0);
        cpu_bytes(memory)[bytes - 1] = 1;
        cpu->memory_free(queue, memory, bytes);
    }
    acu_backend_memory *none = NULL;
    assert_int_equal(cpu->memory_allocate(queue, UINT64_MAX / 4, &none), ACU_OUT_OF_MEMORY);
    char mine[3] = "ab";
    OK(cpu->memory_wrap(NULL, mine, 2, &none));
    OK(cpu->write(queue, none, 1, "c", 1));
    cpu->memory_unwrap(NULL, none);
    assert_string_equal(mine, "ac");
    cpu_queue_end(queue);
}

static void test_memory_is_freed_behind_its_work(void **state) {
    (void)state;
    acu_backend_queue *queue = cpu_queue(NULL);
    acu_backend_memory *from = cpu_memory(queue, 4096), *to = cpu_memory(queue, 4096);
    memset(cpu_bytes(from), 5, 4096);
    gate g;
    gate_close(&g, queue);
    OK(cpu->copy(queue, to, 0, from, 0, 4096));
    cpu->memory_free(queue, from, 4096);
    gate_open(&g);
    OK(cpu->queue_synchronize(queue));
    assert_int_equal(cpu_bytes(to)[4095], 5);
    cpu->memory_free(queue, to, 4096);
    cpu_queue_end(queue);
}

/* ---- programs ---- */

typedef struct counts {
    atomic_uchar *items; /* how often each was worked on */
    atomic_bool busy[1024];
    atomic_int wrong;
} counts;

static void count_items(const acu_part *part, void *const *args) {
    counts *c = cpu_pointer(args);
    if (part->thread >= 1024 || atomic_exchange(&c->busy[part->thread], true))
        atomic_fetch_add(&c->wrong, 1);
    for (size_t z = part->begin[2]; z < part->end[2]; z++)
        for (size_t y = part->begin[1]; y < part->end[1]; y++)
            for (size_t x = part->begin[0]; x < part->end[0]; x++)
                atomic_fetch_add(&c->items[(z * part->items[1] + y) * part->items[0] + x], 1);
    atomic_store(&c->busy[part->thread], false);
}

static void count_all(acu_backend_queue *queue, size_t x, size_t y, size_t z) {
    static counts c;
    const size_t all = x * y * z;
    c.items = calloc(all, 1);
    for (int i = 0; i < 3; i++)
        cpu_run(queue, count_items, x, y, z, &c);
    OK(cpu->queue_synchronize(queue));
    for (size_t i = 0; i < all; i++)
        assert_int_equal(c.items[i], 3);
    assert_int_equal(c.wrong, 0);
    for (unsigned i = cpu_threads(); i < 1024; i++)
        assert_false(c.busy[i]);
    free(c.items);
}

static void test_each_item_is_worked_on_once(void **state) {
    (void)state;
    static const size_t items[][3] = {{1, 1, 1},    {2, 1, 1},   {1000003, 1, 1}, {1, 77, 1},
                                      {1, 1, 1001}, {5, 300, 2}, {4096, 3, 1},    {64, 64, 64},
                                      {1, 2, 3},    {65, 1, 17}};
    acu_backend_queue *queue = cpu_queue(NULL);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        count_all(queue, items[i][0], items[i][1], items[i][2]);
    cpu_queue_end(queue);
}

static void check_arguments(const acu_part *part, void *const *args) {
    const char *text = args[1];
    (void)part;
    *(int *)args[0] = strcmp(text, "twelve bytes") == 0 && *(double *)args[2] == 2.5 &&
                              (uintptr_t)args[2] % 8 == 0 && *(char *)args[3] == 'x'
                          ? 1
                          : -1;
}

static void test_arguments(void **state) {
    (void)state;
    acu_backend_queue *queue = cpu_queue(NULL);
    acu_backend_memory *memory = cpu_memory(queue, 64);
    char text[] = "twelve bytes", letter = 'x';
    double number = 2.5;
    const acu_program_source source = {.name = "test", .cpu = check_arguments},
                             empty = {.name = "test", .wgsl = ""};
    const acu_backend_source form = {sizeof form, &source, NULL},
                             none = {sizeof none, &empty, NULL};
    const acu_backend_arg args[] = {{.memory = memory, .memory_bytes = 64, .writes = true},
                                    {.value = text, .size = sizeof text},
                                    {.value = &number, .size = sizeof number},
                                    {.value = &letter, .size = 1}};
    acu_backend_program *program = NULL;
    gate g;
    assert_int_equal(cpu->program_create(NULL, &none, &program), ACU_NOT_SUPPORTED);
    OK(cpu->program_create(NULL, &form, &program));
    gate_close(&g, queue);
    OK(cpu->run(queue, program, (size_t[]){1, 1, 1}, args, 4));
    text[0] = letter = 0; /* they were copied */
    number = 0;
    gate_open(&g);
    OK(cpu->queue_synchronize(queue));
    assert_int_equal(*(int *)(void *)cpu_bytes(memory), 1);
    cpu->program_destroy(program);
    cpu->memory_free(queue, memory, 64);
    cpu_queue_end(queue);
}

typedef struct at_once {
    atomic_int now, most;
} at_once;

static void measure_threads(const acu_part *part, void *const *args) {
    at_once *a = cpu_pointer(args);
    const int now = atomic_fetch_add(&a->now, 1) + 1;
    (void)part;
    if (now > atomic_load(&a->most))
        atomic_store(&a->most, now);
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_fetch_sub(&a->now, 1);
}

static void test_a_queue_has_few_threads(void **state) {
    (void)state;
    const acu_backend_queue_options one = {.size = sizeof one, .threads = 1};
    acu_backend_queue *few = cpu_queue(&one), *all = cpu_queue(NULL);
    at_once a = {0}, b = {0};
    cpu_run(few, measure_threads, 20, 1, 1, &a);
    OK(cpu->queue_synchronize(few));
    cpu_run(all, measure_threads, 200, 1, 1, &b);
    OK(cpu->queue_synchronize(all));
    assert_int_equal(a.most, 1);
    assert_true(b.most <= (int)cpu_threads());
    assert_true(b.most > 1 || cpu_threads() == 1);
    cpu_queue_end(few);
    cpu_queue_end(all);
}

/* ---- marks ---- */

static void test_marks(void **state) {
    (void)state;
    acu_backend_queue *a = cpu_queue(NULL), *b = cpu_queue(NULL);
    acu_backend_mark *early = cpu_mark(a);
    gate g;
    gate_close(&g, a);
    acu_backend_mark *mark = cpu_mark(a);
    OK(cpu->mark_query(early));
    assert_int_equal(cpu->mark_query(mark), ACU_NOT_READY);
    int seen = 0, value = 7;
    acu_backend_memory *memory = NULL;
    OK(cpu->memory_wrap(NULL, &seen, sizeof seen, &memory));
    OK(cpu->queue_wait(b, mark));
    OK(cpu->write(b, memory, 0, &value, sizeof value));
    acu_backend_mark *behind = cpu_mark(b);
    assert_int_equal(cpu->mark_query(behind), ACU_NOT_READY);
    gate_open(&g);
    OK(cpu->mark_synchronize(mark));
    OK(cpu->mark_query(mark));
    OK(cpu->mark_synchronize(behind));
    assert_int_equal(seen, 7);
    cpu->mark_destroy(early);
    cpu->mark_destroy(behind);
    cpu_queue_end(a);
    cpu_queue_end(b);
    OK(cpu->mark_query(mark)); /* outlives its queue */
    cpu->mark_destroy(mark);
}

static int turns;

static void take_turn(const acu_part *part, void *const *args) {
    (void)part;
    *(int *)cpu_pointer(args) = turns++;
}

/* Each queue waits for the one before, around and around, while the first stands still. */
static void test_rings_of_marks(void **state) {
    (void)state;
    enum { QUEUES = 100, TURNS = 3000 };
    static int taken[TURNS];
    acu_backend_queue *queues[QUEUES];
    gate g;
    for (int i = 0; i < QUEUES; i++)
        queues[i] = cpu_queue(NULL);
    gate_close(&g, queues[QUEUES - 1]);
    for (int i = 0; i < TURNS; i++) {
        acu_backend_mark *mark = cpu_mark(queues[(i + QUEUES - 1) % QUEUES]);
        OK(cpu->queue_wait(queues[i % QUEUES], mark));
        cpu->mark_destroy(mark);
        cpu_run(queues[i % QUEUES], take_turn, 1, 1, 1, &taken[i]);
    }
    gate_open(&g);
    for (int i = 0; i < QUEUES; i++)
        cpu_queue_end(queues[i]);
    for (int i = 0; i < TURNS; i++)
        assert_int_equal(taken[i], i);
}

static void test_reading_beside_later_work(void **state) {
    (void)state;
    enum { LARGE = 20 << 20 };
    static unsigned char host[LARGE];
    acu_backend_queue *queue = cpu_queue(NULL);
    acu_backend_memory *memory = cpu_memory(queue, LARGE);
    OK(cpu->fill(queue, memory, 0, LARGE, "ab", 2));
    acu_backend_mark *mark = cpu_mark(queue);
    gate g;
    gate_close(&g, queue);
    OK(cpu->read_after(queue, mark, memory, 1, host, 3)); /* the gate is closed */
    assert_memory_equal(host, "bab", 3);
    if (cpu_threads() > 1) {
        OK(cpu->read_after(queue, mark, memory, 0, host, LARGE));
        assert_int_equal(host[LARGE - 1], 'b');
    }
    gate_open(&g);
    cpu->mark_destroy(mark);
    cpu->memory_free(queue, memory, LARGE);
    cpu_queue_end(queue);
}

/* ---- several threads and queues ---- */

typedef struct chain {
    acu_backend_queue *queue;
    unsigned char bytes[1 << 16];
} chain;

static void add_one(const acu_part *part, void *const *args) {
    unsigned char *bytes = cpu_pointer(args);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        bytes[i]++;
}

static void *work_in_order(void *data) {
    chain *c = data;
    acu_backend_memory *memory = (acu_backend_memory *)(void *)c->bytes;
    const unsigned char zero = 0;
    for (int round = 0; round < 20; round++) {
        OK(cpu->fill(c->queue, memory, 0, sizeof c->bytes, &zero, 1));
        for (int i = 0; i < 10; i++)
            cpu_run(c->queue, add_one, sizeof c->bytes, 1, 1, c->bytes);
        OK(cpu->copy(c->queue, memory, 0, memory, sizeof c->bytes / 2, sizeof c->bytes / 2));
        acu_backend_mark *mark = cpu_mark(c->queue);
        OK(round % 2 ? cpu->mark_synchronize(mark) : cpu->queue_synchronize(c->queue));
        cpu->mark_destroy(mark);
        for (size_t i = 0; i < sizeof c->bytes; i++)
            assert_int_equal(c->bytes[i], 10);
    }
    return NULL;
}

static void test_threads_with_queues_of_their_own(void **state) {
    (void)state;
    enum { THREADS = 6 };
    static chain chains[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        const acu_backend_queue_options options = {.size = sizeof options, .priority = i % 3 - 1};
        chains[i].queue = cpu_queue(&options);
        assert_int_equal(pthread_create(&threads[i], NULL, work_in_order, &chains[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        cpu_queue_end(chains[i].queue);
    }
}

static void *synchronize(void *queue) {
    OK(cpu->queue_synchronize(queue));
    return NULL;
}

static void test_several_threads_wait(void **state) {
    (void)state;
    acu_backend_queue *queue = cpu_queue(NULL);
    pthread_t threads[8];
    gate g;
    gate_close(&g, queue);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, synchronize, queue), 0);
    gate_open(&g);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    cpu_queue_end(queue);
}

/* ---- functions that use the back end themselves ---- */

typedef struct nest {
    acu_backend_queue *queues[4];
    atomic_int depth, deepest, wrong;
    unsigned level;
} nest;

static nest nests[4];

/* Gives work to the next queue and waits for it. */
static void go_deeper(const acu_part *part, void *const *args) {
    nest *n = cpu_pointer(args);
    nest *next = n + 1;
    if (part->thread >= cpu_threads())
        atomic_fetch_add(&nests[0].wrong, 1);
    if (n->level == 3) {
        atomic_fetch_add(&nests[0].deepest, 1);
        return;
    }
    static pthread_mutex_t one_giver = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_giver);
    cpu_run(nests[0].queues[next->level], go_deeper, 1, 1, 1, next);
    acu_backend_mark *mark = cpu_mark(nests[0].queues[next->level]);
    pthread_mutex_unlock(&one_giver);
    OK(cpu->mark_synchronize(mark));
    cpu->mark_destroy(mark);
}

static void test_functions_wait_for_other_queues(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        nests[i].level = i;
        nests[0].queues[i] = cpu_queue(NULL);
    }
    for (int round = 0; round < 20; round++)
        cpu_run(nests[0].queues[0], go_deeper, 10, 1, 1, nests);
    OK(cpu->queue_synchronize(nests[0].queues[0]));
    for (unsigned i = 0; i < 4; i++)
        cpu_queue_end(nests[0].queues[i]);
    assert_int_equal(nests[0].wrong, 0);
    assert_true(nests[0].deepest >= 20);
}

/* ---- replays ---- */

static void test_replays(void **state) {
    (void)state;
    acu_backend_queue *queue = cpu_queue(NULL);
    acu_backend_memory *memory = cpu_memory(queue, 64);
    acu_backend_replay *replay = NULL, *empty = NULL;
    unsigned char value = 3, *bytes = cpu_bytes(memory);
    memset(bytes, 0, 64);
    OK(cpu->capture_begin(queue));
    OK(cpu->write(queue, memory, 0, &value, 1));
    cpu_run(queue, add_one, 32, 1, 1, bytes);
    OK(cpu->copy(queue, memory, 32, memory, 0, 32));
    OK(cpu->fill(queue, memory, 1, 1, "z", 1));
    OK(cpu->capture_end(queue, &replay));
    value = 9;
    assert_int_equal(bytes[0], 0);
    for (int i = 1; i <= 3; i++) {
        OK(cpu->replay_run(queue, replay));
        OK(cpu->queue_synchronize(queue));
        assert_int_equal(bytes[0], 4);
        assert_int_equal(bytes[1], 'z');
        assert_int_equal(bytes[33], i == 1 ? 1 : 'z' + 1);
        assert_int_equal(bytes[2], i);
        assert_int_equal(bytes[34], i);
    }
    OK(cpu->capture_begin(queue));
    OK(cpu->capture_end(queue, &empty));
    OK(cpu->capture_begin(queue));
    OK(cpu->fill(queue, memory, 0, 64, "y", 1));
    cpu->capture_cancel(queue);
    gate g;
    gate_close(&g, queue);
    for (int i = 0; i < 100; i++) {
        OK(cpu->replay_run(queue, replay));
        OK(cpu->replay_run(queue, empty));
    }
    gate_open(&g);
    cpu->replay_destroy(replay); /* the runs keep it */
    cpu->replay_destroy(empty);
    OK(cpu->queue_synchronize(queue));
    assert_int_equal(bytes[34], 103);
    cpu->memory_free(queue, memory, 64);
    cpu_queue_end(queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_is),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_is_freed_behind_its_work),
        cmocka_unit_test(test_each_item_is_worked_on_once),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_a_queue_has_few_threads),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_rings_of_marks),
        cmocka_unit_test(test_reading_beside_later_work),
        cmocka_unit_test(test_threads_with_queues_of_their_own),
        cmocka_unit_test(test_several_threads_wait),
        cmocka_unit_test(test_functions_wait_for_other_queues),
        cmocka_unit_test(test_replays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
