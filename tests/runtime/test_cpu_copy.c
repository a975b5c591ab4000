/* Copies, fills and strided copies of the CPU's back end against a plain model. */
#include "cpu_test.h"

enum { SIZE = 3 << 20 };

static unsigned char model[2][SIZE];
static acu_backend_memory *memory[2];
static acu_backend_queue *queue;

static void randomize(unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)random_below(256);
}

static void begin(void) {
    queue = cpu_queue(NULL);
    for (int i = 0; i < 2; i++) {
        memory[i] = cpu_memory(queue, SIZE);
        randomize(model[i], SIZE);
        OK(cpu->write(queue, memory[i], 0, model[i], SIZE));
    }
}

static void check(void) {
    OK(cpu->queue_synchronize(queue));
    for (int i = 0; i < 2; i++)
        assert_memory_equal(cpu_bytes(memory[i]), model[i], SIZE);
}

static void end(void) {
    check();
    for (int i = 0; i < 2; i++)
        cpu->memory_free(queue, memory[i], SIZE);
    cpu_queue_end(queue);
}

/* Mostly small, at times large enough for several threads. */
static size_t some_bytes(void) {
    return 1 + random_below(random_below(8) ? 300 : SIZE / 2);
}

static void write_some(void) {
    static unsigned char bytes[SIZE];
    const size_t count = some_bytes(), at = random_below(SIZE - count + 1);
    const unsigned i = random_below(2);
    randomize(bytes, count < 4096 ? count : 4096);
    OK(cpu->write(queue, memory[i], at, bytes, count));
    memcpy(model[i] + at, bytes, count);
    memset(bytes, 0, count < 4096 ? count : 4096); /* may be used again */
}

static void read_some(void) {
    static unsigned char bytes[SIZE];
    const size_t count = some_bytes(), at = random_below(SIZE - count + 1);
    const unsigned i = random_below(2);
    OK(cpu->read(queue, memory[i], at, bytes, count));
    assert_memory_equal(bytes, model[i] + at, count);
}

static void copy_some(void) {
    const size_t count = some_bytes(), to = random_below(SIZE - count + 1),
                 from = random_below(SIZE - count + 1);
    const unsigned i = random_below(2), j = random_below(2);
    OK(cpu->copy(queue, memory[i], to, memory[j], from, count));
    memmove(model[i] + to, model[j] + from, count);
}

static void fill_some(void) {
    unsigned char element[16];
    const size_t count = some_bytes(), at = random_below(SIZE - count + 1),
                 bytes = 1 + random_below(16);
    const unsigned i = random_below(2);
    randomize(element, sizeof element);
    if (random_below(4) == 0)
        memset(element, 7, sizeof element);
    OK(cpu->fill(queue, memory[i], at, count, element, bytes));
    for (size_t n = 0; n < count; n++)
        model[i][at + n] = element[n % bytes];
}

static void one_of_each(void) {
    static void (*const all[])(void) = {write_some, copy_some, fill_some, read_some};
    all[random_below(4)]();
}

static void test_copies_at_random(void **state) {
    (void)state;
    begin();
    for (int i = 0; i < 400; i++)
        one_of_each();
    end();
}

static void test_copies_behind_running_work(void **state) {
    (void)state;
    static void (*const all[])(void) = {write_some, copy_some, fill_some};
    begin();
    for (int round = 0; round < 10; round++) {
        gate g;
        gate_close(&g, queue);
        for (int i = 0; i < 20; i++)
            all[random_below(3)]();
        gate_open(&g);
        check();
    }
    end();
}

/* The copies are so large that several threads work on each. */
static void test_large_copies(void **state) {
    (void)state;
    enum { LARGE = (20 << 20) + 7, FROM = 3, PART = LARGE - 10 };
    unsigned char *host = malloc(LARGE), *expected = malloc(LARGE);
    queue = cpu_queue(NULL);
    acu_backend_memory *a = cpu_memory(queue, LARGE), *b = cpu_memory(queue, LARGE);
    for (size_t i = 0; i < LARGE; i++)
        expected[i] = (unsigned char)(i ^ (i >> 8u) ^ (i >> 16u));
    OK(cpu->write(queue, a, 0, expected, LARGE));
    OK(cpu->fill(queue, b, 1, LARGE - 1, "abc", 3));
    OK(cpu->copy(queue, b, 5, a, FROM, PART));
    OK(cpu->read(queue, b, 5, host, PART));
    assert_memory_equal(host, expected + FROM, PART);
    OK(cpu->copy(queue, b, 0, b, 9, LARGE - 9)); /* overlaps */
    OK(cpu->read(queue, b, 0, host, PART - 4));
    assert_memory_equal(host, expected + FROM + 4, PART - 4);
    OK(cpu->fill(queue, b, 1, LARGE - 1, "abc", 3));
    OK(cpu->read(queue, b, 1, host, LARGE - 1));
    for (size_t i = 0; i < LARGE - 1; i++)
        if (host[i] != (unsigned char)"abc"[i % 3])
            fail_msg("byte %zu is %d", i, host[i]);
    cpu->memory_free(queue, a, LARGE);
    cpu->memory_free(queue, b, LARGE);
    cpu_queue_end(queue);
    free(host);
    free(expected);
}

/* The queue keeps some bytes of the host; a write of more waits. */
static void test_writes_that_are_too_many_to_keep(void **state) {
    (void)state;
    enum { LARGE = 24 << 20 };
    unsigned char *host = calloc(1, LARGE);
    queue = cpu_queue(NULL);
    acu_backend_memory *large = cpu_memory(queue, LARGE);
    gate g;
    gate_close(&g, queue);
    for (unsigned char i = 1; i <= 2; i++) {
        memset(host, i, LARGE);
        OK(cpu->write(queue, large, 0, host, LARGE));
    }
    gate_open(&g);
    memset(host, 3, LARGE);
    OK(cpu->write(queue, large, 0, host, LARGE));
    memset(host, 4, LARGE);
    OK(cpu->read(queue, large, 0, host, LARGE));
    for (size_t i = 0; i < LARGE; i++)
        if (host[i] != 3)
            fail_msg("byte %zu is %d", i, host[i]);
    cpu->memory_free(queue, large, LARGE);
    cpu_queue_end(queue);
    free(host);
}

/* ---- strided copies ---- */

typedef struct shape {
    acu_backend_strided s;
    uint64_t counts[ACU_MAX_RANK];
    int64_t to[ACU_MAX_RANK], from[ACU_MAX_RANK];
} shape;

/* Steps that lay out the dimensions in any order, with any signs and gaps. Returns the bytes that
 * are needed, and where the first element is. */
static uint64_t lay_out(const shape *a, int64_t *steps, bool source, uint64_t *first) {
    unsigned order[ACU_MAX_RANK];
    uint64_t extent = a->s.element_bytes;
    *first = 0;
    for (unsigned i = 0; i < a->s.rank; i++) {
        const unsigned at = random_below(i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (unsigned i = 0; i < a->s.rank; i++) {
        const unsigned n = order[i];
        const uint64_t gap = random_below(3) ? 0 : random_below(2 * extent);
        if (source && random_below(6) == 0) {
            steps[n] = 0;
            continue;
        }
        steps[n] = (int64_t)(extent + gap);
        extent += (a->counts[n] - 1) * (extent + gap);
        if (random_below(3) == 0) {
            *first += (a->counts[n] - 1) * (uint64_t)steps[n];
            steps[n] = -steps[n];
        }
    }
    return extent;
}

/* At times the order of the dimensions as it is written, as most programs have it. */
static void choose(shape *a, uint64_t elements) {
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    memset(a, 0, sizeof *a);
    a->s.rank = 1 + (unsigned)random_below(random_below(3) ? 4 : ACU_MAX_RANK);
    a->s.element_bytes = random_below(2) ? sizes[random_below(5)] : 1 + random_below(70);
    for (unsigned i = 0; i < a->s.rank; i++) {
        a->counts[i] = 1 + random_below(elements > 200 ? 200 : elements);
        elements /= a->counts[i];
    }
    a->s.shape = a->counts;
    a->s.to = a->to;
    a->s.from = a->from;
    do
        a->s.to_size = lay_out(a, a->to, false, &a->s.to_at);
    while (a->s.to_size > SIZE);
    do
        a->s.from_size = lay_out(a, a->from, true, &a->s.from_at);
    while (a->s.from_size > SIZE);
    const uint64_t to = random_below(SIZE - a->s.to_size + 1),
                   from = random_below(SIZE - a->s.from_size + 1);
    a->s.to_at += to;
    a->s.from_at += from;
    a->s.to_size = a->s.from_size = SIZE;
}

static void copy_in_model(const shape *a, unsigned n, unsigned char *to,
                          const unsigned char *from) {
    if (n == a->s.rank) {
        memcpy(to, from, a->s.element_bytes);
        return;
    }
    for (uint64_t i = 0; i < a->counts[n]; i++)
        copy_in_model(a, n + 1, to + (int64_t)i * a->to[n], from + (int64_t)i * a->from[n]);
}

static void copy_strided(const shape *a) {
    OK(cpu->copy_strided(queue, memory[0], memory[1], &a->s));
    copy_in_model(a, 0, model[0] + a->s.to_at, model[1] + a->s.from_at);
}

static void print(const shape *a) {
    print_message("%zu bytes:", a->s.element_bytes);
    for (unsigned i = 0; i < a->s.rank; i++)
        print_message(" %d (%lld, %lld)", (int)a->counts[i], (long long)a->to[i],
                      (long long)a->from[i]);
    print_message("\n");
}

static void test_strided_at_random(void **state) {
    (void)state;
    begin();
    for (int i = 0; i < 2000; i++) {
        shape a;
        choose(&a, random_below(10) ? 300 : 40000);
        copy_strided(&a);
        if (i % 10 == 0) {
            OK(cpu->queue_synchronize(queue));
            if (memcmp(cpu_bytes(memory[0]), model[0], SIZE) != 0) {
                print(&a);
                fail_msg("one of the last 10 copies is wrong");
            }
        }
    }
    end();
}

/* A transposition of two dense dimensions, with an edge or without. */
static void transpose(size_t element, uint64_t rows, uint64_t columns) {
    shape a = {.s = {.rank = 2, .element_bytes = element},
               .counts = {rows, columns},
               .to = {(int64_t)(columns * element), (int64_t)element},
               .from = {(int64_t)element, (int64_t)(rows * element)}};
    a.s.shape = a.counts;
    a.s.to = a.to;
    a.s.from = a.from;
    a.s.to_size = a.s.from_size = SIZE;
    copy_strided(&a);
}

static void test_transpositions(void **state) {
    (void)state;
    static const uint64_t sides[] = {1, 2, 3, 7, 16, 17, 64, 65, 130, 200};
    begin();
    for (size_t element = 1; element <= 20; element++)
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            for (size_t j = 0; j < sizeof sides / sizeof *sides; j++)
                transpose(element, sides[i], sides[j]);
            check();
        }
    transpose(4, 3, 200000);
    transpose(4, 200000, 3);
    transpose(1, 1000, 1000);
    transpose(8, 500, 700);
    end();
}

/* Steps of 1, 2, 3, 4 elements, backwards, and a repeated element; from one row to many. */
static void test_steps_with_loops_of_their_own(void **state) {
    (void)state;
    begin();
    for (size_t element = 1; element <= 40; element += element < 17 ? 1 : 5)
        for (int64_t step = -4; step <= 4; step++) {
            const int64_t e = (int64_t)element, far = 70 * 4 * e;
            shape a = {.s = {.rank = 2, .element_bytes = element},
                       .counts = {1 + random_below(20), 1 + random_below(70)},
                       .to = {random_below(2) ? 70 * e : -70 * e, e},
                       .from = {far, step * e}};
            a.s.shape = a.counts;
            a.s.to = a.to;
            a.s.from = a.from;
            a.s.to_at = 20 * 70 * element;
            a.s.from_at = (uint64_t)far;
            a.s.to_size = a.s.from_size = SIZE;
            copy_strided(&a);
        }
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_at_random),
        cmocka_unit_test(test_copies_behind_running_work),
        cmocka_unit_test(test_large_copies),
        cmocka_unit_test(test_writes_that_are_too_many_to_keep),
        cmocka_unit_test(test_strided_at_random),
        cmocka_unit_test(test_transpositions),
        cmocka_unit_test(test_steps_with_loops_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
