/*
 * Allocators under random work on several streams, and by several threads: what one buffer holds is
 * never another one's, although all of them use the same memory again and again.
 */
#include "safe.h"

#include <anycuda/cudart.h>

#include <pthread.h>
#include <time.h>

enum { STREAMS = 3, BUFFERS = 24, STEPS = 400, THREADS = 4, KIB = 1024, MIB = 1024 * KIB };

typedef struct held {
    acu_buffer *buffer; /* NULL: none */
    unsigned char value;
} held;

static acu_stream *streams[STREAMS];
static acu_allocator *allocator;
static held all[BUFFERS];
static unsigned seed_now;

/* ---- one thread, random work ---- */

static void slow(void *unused) {
    const struct timespec moment = {.tv_nsec = 300000};
    (void)unused;
    (void)nanosleep(&moment, NULL);
}

static size_t any_size(void) {
    static const size_t most[] = {600, 40 * KIB, 3 * MIB, 9 * MIB};
    return 1 + any((unsigned)most[any(4)]);
}

static bool overlap(const acu_buffer *a, const acu_buffer *b) {
    const char *first = acu_buffer_raw(a), *second = acu_buffer_raw(b);
    return first < second + acu_buffer_count(b) && second < first + acu_buffer_count(a);
}

static void fill(held *h, acu_stream *on) {
    h->value = (unsigned char)any(256);
    OK(acu_buffer_fill_typed(h->buffer, ACU_U8, &h->value, on));
}

static void make(held *h) {
    const acu_buffer_options options = {.allocator = any(2) ? allocator : NULL};
    OK(acu_buffer_create_with(streams[any(STREAMS)], ACU_U8, any_size(), &options, &h->buffer));
    for (size_t i = 0; i < BUFFERS; i++)
        if (all[i].buffer && &all[i] != h && overlap(all[i].buffer, h->buffer))
            fail_msg("seed %u: two buffers overlap", seed_now);
    fill(h, NULL);
}

/* Looks at the first, the last and some element. */
static void check(const held *h) {
    const size_t count = acu_buffer_count(h->buffer);
    const size_t places[] = {0, any((unsigned)count), count - 1};
    for (size_t i = 0; i < COUNT(places); i++) {
        unsigned char found = 0;
        OK(acu_buffer_read_typed(h->buffer, places[i], ACU_U8, &found, 1, streams[any(STREAMS)]));
        if (found != h->value)
            fail_msg("seed %u: element %zu of %zu is %d instead of %d", seed_now, places[i], count,
                     found, h->value);
    }
}

static void release(held *h) {
    if (any(3) == 0)
        check(h);
    if (any(4) == 0)
        OK(acu_buffer_set_stream(h->buffer, streams[any(STREAMS)]));
    OK(acu_buffer_release(h->buffer));
    h->buffer = NULL;
}

static void step(void) {
    held *h = &all[any(BUFFERS)];
    switch (any(10)) {
    case 0:
        OK(acu_stream_call_function(streams[any(STREAMS)], slow, NULL));
        break;
    case 1:
        if (any(4) == 0)
            OK(acu_allocator_trim(allocator, any(2) ? 0 : 10 * MIB));
        break;
    case 2:
        if (h->buffer)
            fill(h, streams[any(STREAMS)]);
        break;
    case 3:
        if (any(30) == 0) { /* another stream takes the place of one */
            acu_stream **place = &streams[any(STREAMS)];
            OK(acu_stream_release(*place));
            OK(acu_stream_create(0, NULL, place));
        }
        break;
    default:
        if (h->buffer)
            release(h);
        else
            make(h);
    }
}

static void check_figures(void) {
    acu_allocator_info info;
    size_t used = 0;
    OK(acu_allocator_get_info(allocator, &info));
    for (size_t i = 0; i < BUFFERS; i++)
        used += all[i].buffer ? acu_buffer_count(all[i].buffer) : 0;
    assert_true(info.used >= used && info.reserved >= info.used);
    assert_true(info.used_high >= info.used && info.reserved_high >= info.reserved);
    assert_true(info.limit == 0 || info.reserved_high <= info.limit);
}

static void random_work(unsigned seed) {
    static const size_t limits[] = {0, 0, 300 * (size_t)MIB};
    seed_now = seed;
    chance_begins(seed);
    acu_quarantine(any(2) ? 0 : 64);
    const acu_allocator_options options = {.source = (acu_allocator_source)any(4),
                                           .limit = limits[any(COUNT(limits))]};
    OK(acu_allocator_create(0, &options, &allocator));
    OK(acu_allocator_set_current(allocator));
    for (size_t i = 0; i < STREAMS; i++)
        OK(acu_stream_create(0, NULL, &streams[i]));
    for (int i = 0; i < STEPS; i++) {
        step();
        if (i % 50 == 0)
            check_figures();
    }
    for (size_t i = 0; i < BUFFERS; i++)
        if (all[i].buffer)
            release(&all[i]);
    acu_allocator_info info;
    OK(acu_allocator_get_info(allocator, &info));
    assert_int_equal(info.used, 0);
    assert_int_equal(info.allocations, info.frees);
    for (size_t i = 0; i < STREAMS; i++)
        OK(acu_stream_release(streams[i]));
    OK(acu_allocator_clear_current(0));
    OK(acu_allocator_release(allocator));
    acu_quarantine(64);
}

static void contents_stay_apart(void **state) {
    (void)state;
    try_seeds(24, random_work);
}

/* ---- several threads ---- */

static acu_stream *common;

static void *use_memory(void *data) {
    const unsigned char value = (unsigned char)(uintptr_t)data;
    acu_stream *mine = NULL;
    OK(acu_stream_create(0, NULL, &mine));
    for (unsigned i = 0; i < 300; i++) {
        acu_stream *on = i % 3 == 0 ? common : mine;
        const size_t count = 1 + i * (size_t)7919 % (i % 16 == 0 ? 2 * MIB : 64 * KIB);
        unsigned char found = 0;
        acu_buffer *buffer = NULL;
        OK(acu_buffer_create(on, ACU_U8, count, &buffer));
        OK(acu_buffer_fill_typed(buffer, ACU_U8, &value, i % 5 == 0 ? common : NULL));
        if (i % 4 == 0) {
            OK(acu_buffer_read_typed(buffer, count - 1, ACU_U8, &found, 1, NULL));
            assert_int_equal(found, value);
        }
        OK(acu_buffer_release(buffer));
        void *raw = NULL;
        OK(acu_allocator_allocate(allocator, on, count, &raw));
        OK(acu_allocator_free(allocator, raw));
        if (i % 100 == 99) {
            acu_allocator_info info;
            OK(acu_allocator_get_info(allocator, &info)); /* while the others change it */
            assert_true(info.used <= info.used_high && info.reserved <= info.reserved_high);
            assert_true(info.hits <= info.allocations);
            OK(acu_allocator_trim(allocator, 0));
        }
    }
    OK(acu_stream_release(mine));
    return NULL;
}

static void threads_share_an_allocator(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    acu_quarantine(0);
    OK(acu_stream_create(0, NULL, &common));
    OK(acu_allocator_create(0, NULL, &allocator));
    OK(acu_allocator_set_current(allocator));
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_memory, (void *)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    acu_allocator_info info;
    OK(acu_allocator_get_info(allocator, &info));
    assert_int_equal(info.used, 0);
    assert_int_equal(info.allocations, (uint64_t)THREADS * 600);
    OK(acu_allocator_clear_current(0));
    OK(acu_allocator_release(allocator));
    OK(acu_stream_release(common));
    acu_quarantine(64);
}

/* Threads make buffers while the device's current allocator changes. */
static void *make_buffers(void *data) {
    acu_stream *mine = NULL;
    (void)data;
    OK(acu_stream_create(0, NULL, &mine));
    for (unsigned i = 0; i < 1000; i++) {
        acu_buffer *buffer = NULL;
        OK(acu_buffer_create(mine, ACU_U8, 100 + i % 7 * 500, &buffer));
        OK(acu_buffer_release(buffer));
    }
    OK(acu_stream_release(mine));
    return NULL;
}

static void the_current_allocator_changes_meanwhile(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    acu_quarantine(0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_buffers, NULL), 0);
    for (unsigned i = 0; i < 50; i++) {
        OK(acu_allocator_create(0, NULL, &allocator));
        OK(acu_allocator_set_current(allocator));
        OK(acu_allocator_release(allocator));
        if (i % 2)
            OK(acu_allocator_clear_current(0));
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    OK(acu_allocator_clear_current(0));
    acu_quarantine(64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(contents_stay_apart),
        TEST(threads_share_an_allocator),
        TEST(the_current_allocator_changes_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
