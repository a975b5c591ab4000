/* How many blocks of a grid are alive at a time, where the device runs few; threads that help. */
#define _DEFAULT_SOURCE
#include "sim/ptx/crew.h"
#include "sim/ptx/division.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/lower.h"
#include "sim/ptx/parse.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Blocks that run now, that ran at most, and that have run. */
typedef struct counts {
    uint32_t now, most, all, unused;
} counts;

enum { WORKERS = 8, BLOCKS = 480 };

/* A block counts, gives others a turn a few times, and ends; block 300 does `instructions`. */
#define KERNEL(instructions)                                                                       \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"          \
    ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>;\nld.param.u64 %d1, [p];\n"                \
    "atom.global.add.u32 %r4, [%d1], 1;\nadd.u32 %r4, %r4, 1;\n"                                   \
    "red.global.max.u32 [%d1+4], %r4;\nred.global.add.u32 [%d1+8], 1;\nmov.u64 %d4, 0;\n"          \
    "again:\nld.volatile.global.u32 %r5, [%d1];\nadd.u64 %d4, %d4, 1;\n"                           \
    "setp.lt.u64 %p1, %d4, 200;\n@%p1 bra again;\nmov.u32 %r1, %ctaid.x;\n"                        \
    "setp.ne.u32 %p2, %r1, 300;\n@%p2 bra over;\n" instructions                                    \
    "over:\nred.global.add.u32 [%d1], -1;\nret;\n}\n"

static bool find(void *data, uint64_t address, ptx_range *range) {
    char *bytes = data;
    *range = (ptx_range){.base = (uintptr_t)bytes, .bytes = bytes, .writable = true};
    range->last = range->end = range->base + sizeof(counts) - 1;
    return address - range->base < sizeof(counts);
}

/* Runs the kernel in blocks of `threads`, clusters of `size` blocks, of which the device runs
 * `resident` at a time. */
static counts run_blocks(const char *text, unsigned threads, unsigned size, unsigned resident,
                         int code) {
    counts c = {0};
    ptx_module *module = NULL;
    ptx_code *lowered = NULL;
    ptx_error error = {.text = ""};
    ptx_fault fault = {.code = 0};
    assert_int_equal(acu_ptx_parse(text, strlen(text), PTX_NEWEST, &module, &error), PTX_OK);
    assert_int_equal(
        acu_ptx_code_make(module, acu_ptx_module_function(module, "k"), NULL, &lowered, &error),
        PTX_OK);
    const ptx_machine machine = {.find = find, .data = &c};
    const uint64_t params[] = {(uintptr_t)&c};
    const ptx_launch launch = {.code = lowered,
                               .machine = &machine,
                               .grid = {BLOCKS, 1, 1},
                               .block = {threads, 1, 1},
                               .cluster = {size, 1, 1},
                               .params = params,
                               .multiprocessors = 1,
                               .workers = WORKERS,
                               .resident = resident};
    assert_int_equal(acu_ptx_grid_run(&launch, &fault), code);
    acu_ptx_code_free(lowered);
    acu_ptx_module_free(module);
    return c;
}

static counts run(const char *text, unsigned size, unsigned resident, int code) {
    return run_blocks(text, 1, size, resident, code);
}

static void has_at_most(unsigned size, unsigned resident, unsigned most) {
    const counts c = run(KERNEL(""), size, resident, 0);
    assert_int_equal(c.all, BLOCKS);
    assert_int_equal(c.now, 0);
    assert_in_range(c.most, size, most);
}

/* All workers but one wait for room most of the time. */
static void one_block_at_a_time(void **state) {
    (void)state;
    has_at_most(1, 1, 1);
}

static void fewer_than_workers(void **state) {
    (void)state;
    has_at_most(1, 3, 3);
}

static void more_than_workers(void **state) {
    (void)state;
    has_at_most(1, 20, 20);
}

static void all_at_a_time(void **state) {
    (void)state;
    has_at_most(1, 0, BLOCKS);
    has_at_most(1, BLOCKS, BLOCKS);
}

/* A block says how many have not begun that come before it, and then computes for a while. */
#define ORDER                                                                                      \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"          \
    ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>;\nld.param.u64 %d1, [p];\n"                \
    "mov.u32 %r1, %ctaid.x;\natom.global.add.u32 %r2, [%d1+8], 1;\nsub.s32 %r3, %r1, %r2;\n"       \
    "max.s32 %r3, %r3, 0;\nred.global.max.u32 [%d1+4], %r3;\nmov.u32 %r4, 0;\n"                    \
    "again:\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 3000;\n@%p1 bra again;\nret;\n}\n"

/* Programs count on what blocks have written that come long before: none begins before those that
 * come more than a device's room and what workers have taken before it. */
static void far_blocks_begin_in_order(void **state) {
    (void)state;
    for (unsigned n = 0; n < 20; n++) {
        const counts c = run(ORDER, 1, 16, 0);
        assert_int_equal(c.all, BLOCKS);
        assert_in_range(c.most, 0, 16 + WORKERS * 4);
    }
}

/* A cluster begins as a whole, so the rest of the room stays free. */
static void clusters_that_leave_room(void **state) {
    (void)state;
    has_at_most(4, 6, 4);
    has_at_most(4, 11, 8);
}

/* One that is larger than the device runs at a time begins where nothing else runs. */
static void clusters_larger_than_the_room(void **state) {
    (void)state;
    has_at_most(4, 1, 4);
    has_at_most(16, 15, 16);
}

/* A thread counts, reads what others write a few times, goes through a long loop that waits for
 * nobody, and comes to a barrier of its block. */
#define LONG_LOOPS                                                                                 \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"          \
    ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>;\nld.param.u64 %d1, [p];\n"                \
    "atom.global.add.u32 %r4, [%d1], 1;\nadd.u32 %r4, %r4, 1;\n"                                   \
    "red.global.max.u32 [%d1+4], %r4;\nred.global.add.u32 [%d1+8], 1;\nmov.u32 %r1, 0;\n"          \
    "again:\nld.volatile.global.u32 %r5, [%d1];\nadd.u32 %r1, %r1, 1;\n"                           \
    "setp.lt.u32 %p1, %r1, 10;\n@%p1 bra again;\n"                                                 \
    "longer:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 3000;\n@%p1 bra longer;\n"               \
    "bar.sync 0;\nred.global.add.u32 [%d1], -1;\nret;\n}\n"

/* Such a loop is no reason to begin other blocks. */
static void long_loops_before_barriers(void **state) {
    enum { THREADS = 64 };
    (void)state;
    const counts c = run_blocks(LONG_LOOPS, THREADS, 1, 0, 0);
    assert_int_equal(c.all, BLOCKS * THREADS);
    assert_int_equal(c.now, 0);
    assert_in_range(c.most, 1, WORKERS * THREADS);
}

/* Workers that wait for room leave when another one's block fails. */
static void a_grid_that_fails(void **state) {
    (void)state;
    for (unsigned n = 0; n < 20; n++) {
        const counts c = run(KERNEL("trap;\n"), 1, 1, 719);
        assert_int_equal(c.all, 301);
        (void)run(KERNEL("trap;\n"), 1, 3, 719);
        (void)run(KERNEL("trap;\n"), 4, 3, 719);
    }
}

/* ---- threads that help ---- */

enum { PIECES = 64 };

typedef struct pieces {
    atomic_uint next, inside, taken[PIECES];
} pieces;

static void take_pieces(void *data) {
    pieces *p = data;
    atomic_fetch_add(&p->inside, 1);
    for (unsigned n; (n = atomic_fetch_add(&p->next, 1)) < PIECES;)
        atomic_fetch_add(&p->taken[n], 1);
    atomic_fetch_sub(&p->inside, 1);
}

/* Calls that follow each other at once, while the helpers stay awake, and after they sleep. */
static void pieces_are_taken_once(void **state) {
    (void)state;
    for (unsigned n = 0; n < 2000; n++) {
        const struct timespec pause = {.tv_nsec = n % 7 * 15000};
        pieces p = {0};
        acu_ptx_crew_run(take_pieces, &p, 1 + n % 5, PIECES);
        assert_int_equal(atomic_load(&p.inside), 0);
        for (unsigned i = 0; i < PIECES; i++)
            assert_int_equal(atomic_load(&p.taken[i]), 1);
        if (n % 50 < 25)
            nanosleep(&pause, NULL);
    }
}

/* ---- clusters that workers divide ---- */

/* Each worker begins with a part of its own; what the first one has not taken is divided again. */
static void a_division_is_halved(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    ptx_division *division = acu_ptx_division_new(COUNT, 2, COUNT, false);
    assert_non_null(division);
    const unsigned a = acu_ptx_division_join(division), b = acu_ptx_division_join(division);
    uint64_t first = 0, last = 0, taken = 0, from = 0;
    assert_true(acu_ptx_division_take(division, a, &first, &last));
    assert_int_equal(first, 0);
    assert_int_equal(last, COUNT / 8);
    taken = last;
    assert_true(acu_ptx_division_take(division, b, &from, &last));
    assert_int_equal(from, COUNT / 2);
    taken += last - from;
    while (from >= COUNT / 2) {
        assert_true(acu_ptx_division_take(division, b, &from, &last));
        taken += last - from;
    }
    assert_int_equal(from, COUNT / 8 + (COUNT / 2 - COUNT / 8) / 2);
    while (!acu_ptx_division_is_empty(division)) {
        assert_true(acu_ptx_division_take(division, a, &first, &last));
        taken += last - first;
    }
    assert_int_equal(taken, COUNT);
    first = last = 7;
    assert_false(acu_ptx_division_take(division, b, &first, &last));
    assert_int_equal(first, 7);
    assert_int_equal(last, 7);
    acu_ptx_division_free(division);
}

/* Clusters that are taken, and the first that is not. */
typedef struct order {
    ptx_division *division;
    pthread_mutex_t lock; /* of the others: threads take one after the other */
    uint64_t count, window, first;
    bool taken[5000], wrong;
} order;

/* Takes clusters. They are wrong if one was taken before, or comes a window or more behind one that
 * is not taken. */
static bool take_in_window(order *o, unsigned worker) {
    uint64_t first = 0, last = 0;
    if (!acu_ptx_division_take(o->division, worker, &first, &last))
        return false;
    o->wrong |= first >= last || last > o->count || last - o->first > o->window;
    for (; first < last && first < o->count; first++) {
        o->wrong |= o->taken[first];
        o->taken[first] = true;
    }
    while (o->first < o->count && o->taken[o->first])
        o->first++;
    return true;
}

/* Workers take pieces in any order; one takes none for a long time. Programs count on what blocks
 * have written that come long before. */
static void a_division_slides(void **state) {
    (void)state;
    static order o;
    uint32_t seed = 1;
    for (unsigned n = 0; n < 2000; n++) {
        const unsigned workers = 1 + n % 7, idle = n / 7 % 8;
        memset(&o, 0, sizeof o);
        o.count = 1 + (seed = seed * 1664525 + 1013904223) / 256 % (n % 3 ? 300 : 5000);
        o.window = 1 + (seed = seed * 1664525 + 1013904223) / 256 % (n % 2 ? 20 : 2000);
        o.division = acu_ptx_division_new(o.count, workers, o.window, false);
        assert_non_null(o.division);
        while (o.first < o.count) {
            seed = seed * 1664525 + 1013904223;
            const unsigned worker = (seed >> 16) % (workers < o.count ? workers : o.count);
            assert_false(acu_ptx_division_is_empty(o.division));
            if (worker != idle || seed >> 28 == 0)
                assert_true(take_in_window(&o, worker));
        }
        assert_true(acu_ptx_division_is_empty(o.division));
        assert_false(take_in_window(&o, 0));
        assert_false(o.wrong);
        acu_ptx_division_free(o.division);
    }
}

static void take_in_turn(void *data) {
    order *o = data;
    const unsigned worker = acu_ptx_division_join(o->division);
    for (bool more = true; more;) {
        pthread_mutex_lock(&o->lock);
        more = take_in_window(o, worker);
        pthread_mutex_unlock(&o->lock);
    }
}

static void threads_stay_in_the_window(void **state) {
    (void)state;
    static order o;
    for (unsigned n = 0; n < 100; n++) {
        memset(&o, 0, sizeof o);
        pthread_mutex_init(&o.lock, NULL);
        o.count = 5000 - n;
        o.window = 1 + n * 7;
        o.division = acu_ptx_division_new(o.count, 4, o.window, false);
        assert_non_null(o.division);
        acu_ptx_crew_run(take_in_turn, &o, 4, o.count);
        assert_int_equal(o.first, o.count);
        assert_false(o.wrong);
        acu_ptx_division_free(o.division);
        pthread_mutex_destroy(&o.lock);
    }
}

/* The end of a window is not cut into small pieces, which neighbours in memory would share: there
 * the next stretch begins. */
static void pieces_are_large_until_the_end(void **state) {
    (void)state;
    enum { COUNT = 40000, WINDOW = 1024 };
    ptx_division *division = acu_ptx_division_new(COUNT, 2, WINDOW, false);
    assert_non_null(division);
    for (unsigned n = 0; n < 2; n++)
        assert_int_equal(acu_ptx_division_join(division), n);
    uint64_t first = 0, last = 0;
    for (uint64_t n = 0, taken = 0; taken < COUNT - 2 * WINDOW; n++) {
        assert_true(acu_ptx_division_take(division, n % 2, &first, &last));
        assert_int_equal(last - first, 128);
        taken += last - first;
    }
    acu_ptx_division_free(division);
}

static void a_division_in_order(void **state) {
    (void)state;
    enum { COUNT = 300 };
    ptx_division *division = acu_ptx_division_new(COUNT, 3, 2, true);
    assert_non_null(division);
    uint64_t first, last;
    for (unsigned n = 0; n < 3; n++)
        assert_int_equal(acu_ptx_division_join(division), n);
    for (unsigned n = 0; n < COUNT; n++) {
        assert_true(acu_ptx_division_take(division, n % 3, &first, &last));
        assert_int_equal(first, n);
        assert_int_equal(last, n + 1);
    }
    assert_true(acu_ptx_division_is_empty(division));
    assert_false(acu_ptx_division_take(division, 0, &first, &last));
    acu_ptx_division_free(division);
}

enum { CLUSTERS = 5000 };

typedef struct divided {
    ptx_division *division;
    atomic_uchar taken[CLUSTERS];
} divided;

static void take_clusters(void *data) {
    divided *d = data;
    const unsigned worker = acu_ptx_division_join(d->division);
    for (uint64_t first, last; acu_ptx_division_take(d->division, worker, &first, &last);)
        for (; first < last; first++)
            atomic_fetch_add(&d->taken[first], 1);
}

static void clusters_are_taken_once(void **state) {
    (void)state;
    static divided d;
    for (unsigned n = 0; n < 300; n++) {
        const unsigned workers = 1 + n % 5, count = n % 3 ? CLUSTERS : 1 + n;
        memset(&d, 0, sizeof d);
        d.division = acu_ptx_division_new(count, workers, n % 2 ? 1 + n : CLUSTERS, n % 4 == 3);
        assert_non_null(d.division);
        acu_ptx_crew_run(take_clusters, &d, workers, count);
        for (unsigned i = 0; i < CLUSTERS; i++)
            assert_int_equal(atomic_load(&d.taken[i]), i < count);
        acu_ptx_division_free(d.division);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_at_a_time),
        cmocka_unit_test(fewer_than_workers),
        cmocka_unit_test(more_than_workers),
        cmocka_unit_test(all_at_a_time),
        cmocka_unit_test(far_blocks_begin_in_order),
        cmocka_unit_test(clusters_that_leave_room),
        cmocka_unit_test(clusters_larger_than_the_room),
        cmocka_unit_test(long_loops_before_barriers),
        cmocka_unit_test(a_grid_that_fails),
        cmocka_unit_test(pieces_are_taken_once),
        cmocka_unit_test(a_division_is_halved),
        cmocka_unit_test(a_division_slides),
        cmocka_unit_test(threads_stay_in_the_window),
        cmocka_unit_test(pieces_are_large_until_the_end),
        cmocka_unit_test(a_division_in_order),
        cmocka_unit_test(clusters_are_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
