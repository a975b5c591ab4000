/*
 * Allocators that give memory back: whole segments, and of ranges of addresses what is mapped to
 * parts that nobody uses, also in the middle. Later requests map memory there again.
 */
#include "safe.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>
#include <anycuda/layers.h>

enum { KIB = 1024, MIB = 1024 * KIB };

static acu_stream *stream, *other;
static acu_allocator *allocator; /* over virtual memory */

static int start(void **state) {
    begin(state);
    return acu_stream_create(0, NULL, &stream) || acu_stream_create(0, NULL, &other) ||
           acu_allocator_create(0, &(acu_allocator_options){.source = ACU_ALLOCATOR_VIRTUAL},
                                &allocator);
}

static int stop(void **state) {
    acu_inject_errors(NULL);
    int code =
        acu_allocator_release(allocator) || acu_stream_release(stream) || acu_stream_release(other);
    return nothing_left(state) || code;
}

#define WITH_ALLOCATOR(function) SAFE_TEST(function, start, stop)

static acu_allocator_info info_of(acu_allocator *a) {
    acu_allocator_info info;
    OK(acu_allocator_get_info(a, &info));
    return info;
}

static size_t reserved(void) {
    return info_of(allocator).reserved;
}

static acu_buffer *buffer_from(acu_allocator *a, acu_stream *on, size_t bytes) {
    acu_buffer *made = NULL;
    OK(acu_buffer_create_with(on, ACU_U8, bytes, &(acu_buffer_options){.allocator = a}, &made));
    return made;
}

static acu_buffer *buffer_on(acu_stream *on, size_t mib) {
    return buffer_from(allocator, on, mib * MIB);
}

/* Sets the first and the last element. */
static void fill(acu_buffer *buffer, unsigned char value) {
    OK(acu_buffer_write_typed(buffer, 0, ACU_U8, &value, 1, NULL));
    OK(acu_buffer_write_typed(buffer, acu_buffer_count(buffer) - 1, ACU_U8, &value, 1, NULL));
}

static void expect(acu_buffer *buffer, unsigned char value) {
    const size_t places[] = {0, acu_buffer_count(buffer) - 1};
    for (size_t i = 0; i < COUNT(places); i++) {
        unsigned char found = 0;
        OK(acu_buffer_read_typed(buffer, places[i], ACU_U8, &found, 1, NULL));
        assert_int_equal(found, value);
    }
}

/* Makes buffers of 40 MiB each, which lie side by side. */
static void make_row(acu_buffer **row, size_t count) {
    for (size_t i = 0; i < count; i++) {
        row[i] = buffer_on(stream, 40);
        fill(row[i], (unsigned char)i);
    }
}

static void release_row(acu_buffer **row, size_t count) {
    for (size_t i = 0; i < count; i++)
        OK(acu_buffer_release(row[i]));
}

/* ---- what is given back ---- */

static void what_is_kept_can_be_chosen(void **state) {
    (void)state;
    for (int source = ACU_ALLOCATOR_ANY; source <= ACU_ALLOCATOR_PINNED; source++) {
        acu_allocator *a = NULL;
        OK(acu_allocator_create(0, &(acu_allocator_options){.source = (acu_allocator_source)source},
                                &a));
        acu_buffer *first = buffer_from(a, stream, 40 * MIB);
        acu_buffer *second = buffer_from(a, stream, 40 * MIB);
        OK(acu_buffer_release(second));
        OK(acu_allocator_trim(a, 100 * MIB));
        assert_int_equal(info_of(a).reserved, 80 * MIB);
        OK(acu_allocator_trim(a, 0));
        assert_int_equal(info_of(a).reserved, 40 * MIB);
        OK(acu_buffer_zero(first, NULL));
        OK(acu_buffer_release(first));
        OK(acu_allocator_release(a));
    }
}

static void a_hole_is_given_back_and_filled_again(void **state) {
    (void)state;
    acu_buffer *row[5];
    make_row(row, 5);
    const void *hole = acu_buffer_raw(row[1]);
    OK(acu_buffer_release(row[1]));
    OK(acu_buffer_release(row[3]));
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(reserved(), 120 * MIB);
    assert_int_equal(info_of(allocator).reserved_high, 200 * MIB);
    assert_int_equal(info_of(allocator).largest_free, 0);
    row[1] = buffer_on(stream, 40);
    assert_ptr_equal(acu_buffer_raw(row[1]), hole);
    assert_int_equal(reserved(), 160 * MIB);
    fill(row[1], 9);
    row[3] = buffer_on(stream, 40);
    fill(row[3], 9);
    for (size_t i = 0; i < 5; i++)
        expect(row[i], i % 2 ? 9 : (unsigned char)i);
    assert_int_equal(reserved(), 200 * MIB);
    release_row(row, 5);
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(reserved(), 0);
    assert_int_equal(info_of(allocator).segments, 0);
}

static void a_part_may_be_kept(void **state) {
    (void)state;
    acu_buffer *row[5];
    make_row(row, 5);
    for (size_t i = 0; i < 4; i++)
        OK(acu_buffer_release(row[i]));
    OK(acu_allocator_trim(allocator, 100 * MIB)); /* 60 MiB are too much, which is one of them */
    assert_int_equal(reserved(), 160 * MIB);
    OK(acu_allocator_trim(allocator, 80 * MIB));
    assert_int_equal(reserved(), 120 * MIB);
    expect(row[4], 4);
    OK(acu_buffer_release(row[4]));
}

/* Only as much is mapped as the request needs beside what is free there. */
static void a_hole_is_filled_as_far_as_needed(void **state) {
    (void)state;
    acu_buffer *row[4];
    make_row(row, 4);
    OK(acu_buffer_release(row[1]));
    OK(acu_buffer_release(row[2]));
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(reserved(), 80 * MIB);
    acu_buffer *some = buffer_on(stream, 10);
    assert_int_equal(reserved(), 90 * MIB);
    OK(acu_buffer_release(some));
    some = buffer_on(stream, 30); /* 10 of them are there */
    assert_int_equal(reserved(), 110 * MIB);
    acu_buffer *rest = buffer_on(stream, 50);
    assert_int_equal(reserved(), 160 * MIB);
    assert_ptr_equal((char *)acu_buffer_raw(rest) + 50 * MIB, acu_buffer_raw(row[3]));
    fill(some, 5);
    fill(rest, 6);
    expect(row[0], 0);
    expect(some, 5);
    expect(row[3], 3);
    OK(acu_buffer_release(some));
    OK(acu_buffer_release(rest));
    OK(acu_buffer_release(row[0]));
    OK(acu_buffer_release(row[3]));
}

/* A hole and what is free on both sides of it serve a request that none of them could. */
static void a_hole_is_joined_with_its_neighbours(void **state) {
    (void)state;
    acu_buffer *row[4];
    make_row(row, 4);
    OK(acu_buffer_release(row[1]));
    OK(acu_allocator_trim(allocator, 0));
    OK(acu_buffer_release(row[0]));
    OK(acu_buffer_release(row[2]));
    acu_buffer *large = buffer_on(stream, 120);
    assert_int_equal(reserved(), 160 * MIB);
    assert_ptr_equal((char *)acu_buffer_raw(large) + 120 * MIB, acu_buffer_raw(row[3]));
    OK(acu_buffer_release(large));
    OK(acu_buffer_release(row[3]));
}

/* A range is as long as the device's memory. Where no hole of it is large enough, there is another
 * range. */
static void holes_do_not_use_the_addresses_up(void **state) {
    (void)state;
    ONLY_SIMULATED("a device of 1 GiB");
    acu_buffer *row[20];
    make_row(row, COUNT(row));
    for (size_t i = 0; i < COUNT(row); i += 2)
        OK(acu_buffer_release(row[i]));
    OK(acu_allocator_trim(allocator, 0));
    acu_buffer *large = buffer_on(stream, 300);
    fill(large, 99);
    assert_int_equal(reserved(), 700 * MIB);
    assert_int_equal(info_of(allocator).segments, 2);
    for (size_t i = 1; i < COUNT(row); i += 2)
        expect(row[i], (unsigned char)i);
    for (size_t i = 0; i < COUNT(row); i += 2)
        row[i] = i < 14 ? buffer_on(stream, 40) : NULL; /* in the holes of the first range */
    assert_int_equal(reserved(), 980 * MIB);
    expect(large, 99);
    release_row(row, COUNT(row));
    OK(acu_buffer_release(large));
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(info_of(allocator).segments, 0);
}

/* What is mapped at once goes only if all of it is free, whichever streams its parts are of. */
static void a_mapping_goes_as_a_whole(void **state) {
    (void)state;
    acu_buffer *whole = buffer_on(stream, 40), *end = buffer_on(stream, 40);
    OK(acu_buffer_release(whole));
    acu_buffer *a = buffer_on(stream, 10), *b = buffer_on(stream, 10), *c = buffer_on(stream, 20);
    assert_int_equal(reserved(), 80 * MIB);
    OK(acu_buffer_set_stream(b, other)); /* it is free for that stream then */
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(c));
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(reserved(), 80 * MIB);
    OK(acu_buffer_release(b));
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(reserved(), 40 * MIB);
    whole = buffer_on(stream, 40);
    assert_int_equal(reserved(), 80 * MIB);
    OK(acu_buffer_release(whole));
    OK(acu_buffer_release(end));
}

/* The thread waits for the work, or what a stream still uses would be unmapped. */
static void work_is_over_before_memory_goes(void **state) {
    (void)state;
    acu_buffer *row[3];
    make_row(row, 3);
    OK(acu_stream_call_function(stream, work_50_ms, NULL));
    fill(row[1], 7);
    OK(acu_buffer_copy(row[0], row[1], NULL));
    OK(acu_buffer_release(row[1]));
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(reserved(), 80 * MIB);
    OK(acu_stream_query(stream));
    expect(row[0], 7);
    OK(acu_buffer_release(row[0]));
    OK(acu_buffer_release(row[2]));
}

/* ---- limits, captures, failures ---- */

/* Before a request fails, holes are made elsewhere. */
static void a_limit_counts_what_is_mapped(void **state) {
    (void)state;
    acu_buffer *row[3];
    make_row(row, 3);
    OK(acu_allocator_set_limit(allocator, 120 * MIB));
    OK(acu_buffer_release(row[0]));
    OK(acu_buffer_release(row[2]));
    acu_buffer *large = buffer_on(stream, 80);
    assert_int_equal(reserved(), 120 * MIB);
    assert_int_equal(info_of(allocator).trims, 1);
    FAILS(acu_buffer_create_with(stream, ACU_U8, 10 * MIB,
                                 &(acu_buffer_options){.allocator = allocator}, &(acu_buffer *){0}),
          ACU_OUT_OF_MEMORY, "its limit is");
    expect(row[1], 1);
    OK(acu_buffer_release(row[1]));
    OK(acu_buffer_release(large));
}

static void memory_of_a_graph_stays(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *result = buffer_on(stream, 10), *temporary[3];
    OK(acu_stream_begin_capture(noted(stream), NULL));
    for (size_t i = 0; i < 3; i++) {
        temporary[i] = buffer_on(stream, 10);
        OK(acu_buffer_fill_typed(temporary[i], ACU_U8, &(unsigned char){(unsigned char)(i + 1)},
                                 NULL));
    }
    OK(acu_buffer_copy(result, temporary[1], NULL));
    FAILS(acu_allocator_trim(allocator, 0), ACU_ERROR_CAPTURE, "");
    release_row(temporary, 3);
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(reserved(), 40 * MIB);
    acu_exec *exec = NULL;
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    OK(acu_exec_launch(exec, stream));
    expect(result, 2);
    OK(acu_exec_release(exec));
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(reserved(), 10 * MIB);
    OK(acu_buffer_release(result));
}

static void what_cannot_be_unmapped_stays(void **state) {
    (void)state;
    ONLY_SIMULATED("calls that fail on purpose");
    acu_buffer *row[5];
    make_row(row, 5);
    OK(acu_buffer_release(row[1]));
    OK(acu_buffer_release(row[3]));
    OK(acu_inject_errors("cuMemUnmap@2:1"));
    FAILS(acu_allocator_trim(allocator, 0), cudaErrorInvalidValue, "cuMemUnmap");
    OK(acu_inject_errors(NULL));
    assert_int_equal(acu_release_error(NULL), 1);
    assert_int_equal(reserved(), 160 * MIB);
    assert_int_equal(info_of(allocator).largest_free, 40 * MIB);
    OK(acu_inject_errors("cuMemCreate@1:2"));
    row[1] = buffer_on(stream, 40); /* of what is still there */
    acu_clear_error();
    OK(acu_inject_errors("cuMemSetAccess@1:1"));
    FAILS(acu_buffer_create_with(stream, ACU_U8, 40 * MIB,
                                 &(acu_buffer_options){.allocator = allocator}, &row[3]),
          cudaErrorInvalidValue, "cuMemSetAccess");
    OK(acu_inject_errors(NULL));
    assert_int_equal(reserved(), 160 * MIB);
    row[3] = buffer_on(stream, 40);
    fill(row[1], 8);
    fill(row[3], 8);
    assert_int_equal(reserved(), 200 * MIB);
    for (size_t i = 0; i < 5; i++)
        expect(row[i], i % 2 ? 8 : (unsigned char)i);
    release_row(row, 5);
}

/* ---- random work ---- */

enum { BUFFERS = 24, STREAMS = 3 };

static acu_buffer *all[BUFFERS];

/* Returns the bytes of all that is mapped where a buffer lies: each mapping once. */
static size_t mapped_for_buffers(void) {
    CUdeviceptr bases[BUFFERS * 16];
    size_t count = 0, sum = 0;
    for (size_t i = 0; i < BUFFERS; i++) {
        CUdeviceptr at = all[i] ? (CUdeviceptr)(uintptr_t)acu_buffer_raw(all[i]) : 0;
        const CUdeviceptr end = at + (all[i] ? acu_buffer_count(all[i]) : 0);
        while (at < end) {
            CUdeviceptr base = 0;
            size_t bytes = 0, k = 0;
            assert_int_equal(cuMemGetAddressRange(&base, &bytes, at), CUDA_SUCCESS);
            while (k < count && bases[k] != base)
                k++;
            if (k == count) {
                assert_true(count < COUNT(bases));
                bases[count++] = base;
                sum += bytes;
            }
            at = base + bytes;
        }
    }
    return sum;
}

/* The sizes are such as are not rounded up. */
static void random_work(unsigned seed) {
    acu_stream *streams[STREAMS] = {stream, other, NULL};
    chance_begins(seed);
    OK(acu_stream_create(0, NULL, &streams[2]));
    for (int i = 0; i < 300; i++) {
        const size_t which = any(BUFFERS);
        if (!all[which]) {
            all[which] = buffer_on(streams[any(STREAMS)], 1 + any(8));
            fill(all[which], (unsigned char)which);
        } else {
            expect(all[which], (unsigned char)which);
            OK(acu_buffer_release(all[which]));
            all[which] = NULL;
        }
        if (any(10) == 0) {
            OK(acu_allocator_trim(allocator, 0));
            const size_t needed = is_simulated() ? mapped_for_buffers() : reserved();
            if (reserved() != needed)
                fail_msg("seed %u: %zu bytes are reserved, %zu are needed", seed, reserved(),
                         needed);
        }
    }
    for (size_t i = 0; i < BUFFERS; i++) {
        OK(acu_buffer_release(all[i]));
        all[i] = NULL;
    }
    OK(acu_stream_release(streams[2]));
    OK(acu_allocator_trim(allocator, 0));
    assert_int_equal(reserved(), 0);
}

/* After trimming, everything that is mapped has a part that a buffer lies on. What CUDA answers
 * about mapped addresses was not asked on a GPU. */
static void nothing_needless_stays(void **state) {
    (void)state;
    acu_quarantine(0);
    try_seeds(12, random_work);
    acu_quarantine(64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_ALLOCATOR(what_is_kept_can_be_chosen),
        WITH_ALLOCATOR(a_hole_is_given_back_and_filled_again),
        WITH_ALLOCATOR(a_part_may_be_kept),
        WITH_ALLOCATOR(a_hole_is_filled_as_far_as_needed),
        WITH_ALLOCATOR(a_hole_is_joined_with_its_neighbours),
        WITH_ALLOCATOR(holes_do_not_use_the_addresses_up),
        WITH_ALLOCATOR(a_mapping_goes_as_a_whole),
        WITH_ALLOCATOR(work_is_over_before_memory_goes),
        WITH_ALLOCATOR(a_limit_counts_what_is_mapped),
        WITH_ALLOCATOR(memory_of_a_graph_stays),
        WITH_ALLOCATOR(what_cannot_be_unmapped_stays),
        WITH_ALLOCATOR(nothing_needless_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
