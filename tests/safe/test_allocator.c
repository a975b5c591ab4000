/* Allocators: the caching one on each source, those of a program, limits and figures. */
#include "safe.h"

#include <anycuda/cudart.h>
#include <anycuda/layers.h>

#include <sched.h>

enum { KIB = 1024, MIB = 1024 * KIB };

static acu_stream *stream, *other;

static int start(void **state) {
    begin(state);
    return acu_stream_create(0, NULL, &stream) || acu_stream_create(0, NULL, &other);
}

static int stop(void **state) {
    int code = acu_stream_release(stream) || acu_stream_release(other);
    return nothing_left(state) || code;
}

#define WITH_STREAMS(function) SAFE_TEST(function, start, stop)

static acu_allocator *caching(acu_allocator_source source) {
    acu_allocator *made = NULL;
    OK(acu_allocator_create(0, &(acu_allocator_options){.source = source}, &made));
    return made;
}

static acu_allocator_info info_of(acu_allocator *allocator) {
    acu_allocator_info info;
    OK(acu_allocator_get_info(allocator, &info));
    return info;
}

static acu_buffer *buffer_from(acu_allocator *allocator, acu_stream *on, size_t bytes) {
    acu_buffer *made = NULL;
    OK(acu_buffer_create_with(on, ACU_U8, bytes, &(acu_buffer_options){.allocator = allocator},
                              &made));
    return made;
}

static const acu_allocator_source sources[] = {ACU_ALLOCATOR_ANY, ACU_ALLOCATOR_VIRTUAL,
                                               ACU_ALLOCATOR_POOL, ACU_ALLOCATOR_DEVICE,
                                               ACU_ALLOCATOR_PINNED};

/* ---- the caching allocator ---- */

static void memory_is_used_again(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 511, 4 * KIB, 1 * MIB, 3 * MIB, 30 * MIB};
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_allocator *a = caching(sources[i]);
        for (size_t k = 0; k < COUNT(sizes); k++) {
            acu_buffer *first = buffer_from(a, stream, sizes[k]);
            void *at = acu_buffer_raw(first);
            unsigned char byte = (unsigned char)k;
            OK(acu_buffer_write_typed(first, sizes[k] - 1, ACU_U8, &byte, 1, NULL));
            assert_int_equal((uintptr_t)at % 512, 0);
            OK(acu_buffer_release(first));
            acu_buffer *second = buffer_from(a, stream, sizes[k]);
            assert_ptr_equal(acu_buffer_raw(second), at);
            byte = 77;
            OK(acu_buffer_read_typed(second, sizes[k] - 1, ACU_U8, &byte, 1, NULL));
            assert_int_equal(byte, k); /* the same memory */
            OK(acu_buffer_release(second));
        }
        const acu_allocator_info info = info_of(a);
        assert_int_equal(info.allocations, 2 * COUNT(sizes));
        assert_int_equal(info.frees, 2 * COUNT(sizes));
        assert_int_equal(info.used, 0);
        assert_true(info.hits >= COUNT(sizes) && info.hits < info.allocations);
        assert_true(info.used_high >= 30 * MIB && info.reserved_high >= info.used_high);
        OK(acu_allocator_trim(a, 0));
        assert_int_equal(info_of(a).reserved, 0);
        OK(acu_allocator_release(a));
    }
}

static void pinned_memory_is_the_hosts(void **state) {
    (void)state;
    acu_allocator *a = caching(ACU_ALLOCATOR_PINNED);
    void *host = NULL;
    acu_buffer *buffer = buffer_from(a, stream, 100);
    assert_int_equal(acu_buffer_memory(buffer), ACU_MEMORY_PINNED);
    assert_int_equal(acu_allocator_memory(a), ACU_MEMORY_PINNED);
    OK(acu_buffer_get_host(buffer, &host));
    memset(host, 3, 100);
    OK(acu_buffer_release(buffer));
    FAILS(acu_allocator_set_current(a), ACU_ERROR_MEMORY_KIND, "the host's");
    OK(acu_allocator_release(a));
}

/* Pieces that lie side by side are joined when all are free, so that a larger one fits. */
static void pieces_are_divided_and_joined(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_allocator *a = caching(sources[i]);
        acu_buffer *parts[4], *whole;
        whole = buffer_from(a, stream, 16 * MIB);
        OK(acu_buffer_release(whole));
        const size_t reserved = info_of(a).reserved;
        for (size_t k = 0; k < 4; k++)
            parts[k] = buffer_from(a, stream, 4 * MIB);
        assert_int_equal(info_of(a).reserved, reserved);
        for (size_t k = 0; k < 4; k++)
            for (size_t m = 0; m < k; m++)
                assert_true(labs((char *)acu_buffer_raw(parts[k]) -
                                 (char *)acu_buffer_raw(parts[m])) >= 4 * MIB);
        OK(acu_buffer_release(parts[1]));
        OK(acu_buffer_release(parts[3]));
        assert_true(info_of(a).fragmentation > 0);
        OK(acu_buffer_release(parts[0]));
        OK(acu_buffer_release(parts[2]));
        assert_true(info_of(a).fragmentation == 0);
        whole = buffer_from(a, stream, 16 * MIB);
        assert_int_equal(info_of(a).reserved, reserved);
        OK(acu_buffer_release(whole));
        OK(acu_allocator_release(a));
    }
}

/* Small pieces are kept as they are, but joined before the source is asked for more. */
static void ready_memory_is_joined(void **state) {
    (void)state;
    acu_allocator *a = caching(ACU_ALLOCATOR_DEVICE);
    acu_buffer *small[32];
    acu_quarantine(0);
    OK(acu_allocator_set_current(a));
    for (size_t i = 0; i < COUNT(small); i++)
        OK(acu_buffer_create(stream, ACU_U8, 64 * KIB, &small[i]));
    for (size_t i = 0; i < COUNT(small); i++)
        OK(acu_buffer_release(small[i]));
    const size_t reserved = info_of(a).reserved;
    OK(acu_buffer_create(stream, ACU_U8, 1 * MIB, &small[0]));
    OK(acu_buffer_create(stream, ACU_U8, 1 * MIB, &small[1]));
    assert_int_equal(info_of(a).reserved, reserved);
    OK(acu_buffer_release(small[0]));
    OK(acu_buffer_release(small[1]));
    OK(acu_allocator_clear_current(0));
    OK(acu_allocator_release(a));
    acu_quarantine(64);
}

/* ---- several streams ---- */

static void another_stream_waits_for_nothing_it_need_not(void **state) {
    (void)state;
    blocker at;
    NOT_UNDER_A_TOOL("it runs one kernel at a time");
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_allocator *a = caching(sources[i]);
        acu_buffer *mine = buffer_from(a, stream, 12 * MIB);
        void *address = acu_buffer_raw(mine);
        block_stream(&at, stream);
        OK(acu_buffer_zero(mine, NULL));
        OK(acu_buffer_release(mine));
        acu_buffer *theirs = buffer_from(a, other, 12 * MIB); /* the work is not done */
        assert_ptr_not_equal(acu_buffer_raw(theirs), address);
        assert_int_equal(info_of(a).crossed, 0);
        unblock_stream(&at);
        OK(acu_stream_synchronize(stream));
        acu_buffer *later = buffer_from(a, other, 12 * MIB);
        assert_ptr_equal(acu_buffer_raw(later), address);
        assert_int_equal(info_of(a).crossed, 1);
        assert_int_equal(info_of(a).waits, 0);
        OK(acu_buffer_release(theirs));
        OK(acu_buffer_release(later));
        OK(acu_allocator_release(a));
    }
}

static void wait_until_open(void *open) {
    while (!__atomic_load_n((int *)open, __ATOMIC_ACQUIRE))
        (void)sched_yield();
}

/* What is ready on a stream is another one's only after its work, too. */
static void ready_memory_waits_for_its_work(void **state) {
    (void)state;
    static const size_t sizes[] = {1 * MIB, 12 * MIB};
    int open;
    acu_quarantine(0);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        acu_allocator *a = caching(ACU_ALLOCATOR_DEVICE);
        OK(acu_allocator_set_current(a));
        acu_buffer *mine = NULL, *theirs = NULL;
        OK(acu_buffer_create(stream, ACU_U8, sizes[i], &mine));
        void *address = acu_buffer_raw(mine);
        open = 0; /* by CUDA's own call: during one of anycuda's nothing is kept ready */
        assert_int_equal(cudaLaunchHostFunc(acu_stream_raw(stream), wait_until_open, &open), 0);
        OK(acu_buffer_zero(mine, NULL));
        OK(acu_buffer_release(mine));
        OK(acu_buffer_create(other, ACU_U8, sizes[i], &theirs));
        assert_ptr_not_equal(acu_buffer_raw(theirs), address);
        __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
        OK(acu_stream_synchronize(stream));
        OK(acu_buffer_release(theirs));
        OK(acu_allocator_clear_current(0));
        OK(acu_allocator_release(a));
    }
    acu_quarantine(64);
}

/* At the limit a stream waits for the other one's work rather than have no memory. */
static void at_the_limit_a_stream_waits(void **state) {
    (void)state;
    blocker at;
    acu_allocator *a = caching(ACU_ALLOCATOR_VIRTUAL);
    OK(acu_allocator_set_limit(a, 20 * MIB));
    acu_buffer *mine = buffer_from(a, stream, 16 * MIB);
    unsigned char byte = 0;
    OK(acu_buffer_zero(mine, NULL));
    block_stream(&at, stream);
    OK(acu_buffer_fill_typed(mine, ACU_U8, &(unsigned char){7}, NULL));
    OK(acu_buffer_release(mine));
    acu_buffer *theirs = buffer_from(a, other, 16 * MIB);
    assert_int_equal(info_of(a).waits, 1);
    OK(acu_buffer_fill_typed(theirs, ACU_U8, &(unsigned char){9}, NULL));
    still_waits(other);
    unblock_stream(&at);
    OK(acu_buffer_read(theirs, &byte, 1));
    assert_int_equal(byte, 9);
    OK(acu_buffer_release(theirs));
    OK(acu_allocator_release(a));
}

/* Memory that another stream uses is free for its own stream after that use. */
static void a_release_waits_for_other_streams(void **state) {
    (void)state;
    blocker at;
    acu_allocator *a = caching(ACU_ALLOCATOR_DEVICE);
    acu_buffer *shared = buffer_from(a, stream, 64 * KIB);
    void *address = acu_buffer_raw(shared);
    unsigned char byte = 0;
    block_stream(&at, other);
    OK(acu_buffer_fill_typed(shared, ACU_U8, &(unsigned char){7}, other));
    OK(acu_buffer_release(shared));
    acu_buffer *next = buffer_from(a, stream, 64 * KIB);
    assert_ptr_equal(acu_buffer_raw(next), address);
    OK(acu_buffer_fill_typed(next, ACU_U8, &(unsigned char){9}, NULL));
    still_waits(stream);
    unblock_stream(&at);
    OK(acu_buffer_read(next, &byte, 1));
    assert_int_equal(byte, 9);
    OK(acu_buffer_release(next));
    OK(acu_allocator_release(a));
}

static void memory_outlives_its_stream(void **state) {
    (void)state;
    acu_stream *brief = NULL;
    acu_allocator *a = caching(ACU_ALLOCATOR_DEVICE);
    OK(acu_stream_create(0, NULL, &brief));
    acu_buffer *first = buffer_from(a, brief, 4 * MIB);
    void *address = acu_buffer_raw(first);
    OK(acu_buffer_zero(first, NULL));
    OK(acu_buffer_release(first));
    OK(acu_stream_synchronize(brief));
    OK(acu_stream_release(brief));
    acu_buffer *second = buffer_from(a, stream, 4 * MIB);
    assert_ptr_equal(acu_buffer_raw(second), address);
    OK(acu_buffer_release(second));
    OK(acu_allocator_release(a));
}

static void a_buffer_moves_to_another_stream(void **state) {
    (void)state;
    acu_allocator *a = caching(ACU_ALLOCATOR_DEVICE);
    acu_buffer *moved = buffer_from(a, stream, 4 * MIB);
    void *address = acu_buffer_raw(moved);
    OK(acu_buffer_set_stream(moved, other));
    OK(acu_buffer_zero(moved, NULL));
    OK(acu_buffer_release(moved));
    acu_buffer *next = buffer_from(a, other, 4 * MIB);
    assert_ptr_equal(acu_buffer_raw(next), address);
    assert_int_equal(info_of(a).crossed, 0);
    OK(acu_buffer_release(next));
    OK(acu_allocator_release(a));
}

/* ---- no room ---- */

static void a_limit_holds(void **state) {
    (void)state;
    acu_buffer *none = NULL;
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_allocator *a = caching(sources[i]);
        OK(acu_allocator_set_limit(a, 8 * MIB));
        acu_buffer *some = buffer_from(a, stream, 6 * MIB);
        FAILS(acu_buffer_create_with(stream, ACU_U8, 4 * MIB, &(acu_buffer_options){.allocator = a},
                                     &none),
              ACU_OUT_OF_MEMORY, "its limit is 8388608");
        assert_non_null(strstr(acu_last_error_message(), "4194304 x u8"));
        assert_null(none);
        assert_int_equal(info_of(a).failures, 1);
        OK(acu_buffer_release(some));
        some = buffer_from(a, stream, 8 * MIB); /* what was free is given back first */
        assert_true(info_of(a).reserved <= 8 * MIB);
        OK(acu_buffer_release(some));
        OK(acu_allocator_release(a));
    }
}

static void a_fraction_is_a_limit(void **state) {
    (void)state;
    acu_allocator *a = NULL;
    size_t unused = 0, total = 0;
    assert_int_equal(cudaMemGetInfo(&unused, &total), 0);
    OK(acu_allocator_create(0, &(acu_allocator_options){.fraction = 0.25}, &a));
    assert_int_equal(info_of(a).limit, total / 4);
    OK(acu_allocator_set_fraction(a, 0.5));
    assert_int_equal(info_of(a).limit, total / 2);
    OK(acu_allocator_set_fraction(a, 0));
    assert_int_equal(info_of(a).limit, 0);
    OK(acu_allocator_set_fraction(a, 1e-15)); /* less than a byte */
    assert_int_equal(info_of(a).limit, 1);
    OK(acu_allocator_release(a));
    /* Of a fraction and a limit the smaller one applies. */
    OK(acu_allocator_create(0, &(acu_allocator_options){.fraction = 0.5, .limit = 4096}, &a));
    assert_int_equal(info_of(a).limit, 4096);
    OK(acu_allocator_release(a));
    OK(acu_allocator_create(0, &(acu_allocator_options){.fraction = 0.5, .limit = SIZE_MAX}, &a));
    assert_int_equal(info_of(a).limit, total / 2);
    OK(acu_allocator_release(a));
}

static void a_full_device_is_explained(void **state) {
    (void)state;
    ONLY_SIMULATED("a device of 1 GiB");
    for (size_t i = 0; i < COUNT(sources) - 1; i++) {
        acu_allocator *a = caching(sources[i]);
        acu_buffer *none = NULL;
        acu_buffer *some = buffer_from(a, stream, 600 * MIB);
        FAILS(acu_buffer_create_with(stream, ACU_U8, 600 * MIB,
                                     &(acu_buffer_options){.allocator = a}, &none),
              ACU_OUT_OF_MEMORY, "");
        assert_non_null(strstr(acu_last_error_details().hint, "of which 629145600 are in use"));
        OK(acu_buffer_release(some));
        some = buffer_from(a, stream, 700 * MIB);
        assert_int_equal(acu_last_error(), ACU_OUT_OF_MEMORY); /* the one of before */
        acu_clear_error();
        OK(acu_buffer_release(some));
        OK(acu_allocator_release(a));
    }
}

/* ---- figures ---- */

static void classes_are_listed(void **state) {
    (void)state;
    acu_allocator_class_info classes[8];
    size_t count = COUNT(classes);
    acu_allocator *a = caching(ACU_ALLOCATOR_ANY);
    acu_buffer *first = buffer_from(a, stream, 700), *second = buffer_from(a, stream, 5 * MIB);
    OK(acu_buffer_release(first));
    OK(acu_allocator_get_classes(a, classes, &count));
    assert_int_equal(count, 2);
    assert_true(classes[0].bytes == 1024 && classes[0].allocations == 1 && classes[0].used == 0);
    assert_true(classes[1].bytes == 8 * MIB && classes[1].allocations == 1 && classes[1].used == 1);
    count = 1;
    OK(acu_allocator_get_classes(a, classes, &count));
    assert_int_equal(count, 2);
    OK(acu_buffer_release(second));
    assert_true(info_of(a).used_high >= 5 * MIB);
    OK(acu_allocator_reset_high(a));
    assert_int_equal(info_of(a).used_high, 0);
    assert_int_equal(info_of(a).reserved_high, info_of(a).reserved);
    OK(acu_allocator_release(a));
}

/* ---- the current allocator ---- */

static void buffers_come_from_the_current_one(void **state) {
    (void)state;
    acu_allocator *a = caching(ACU_ALLOCATOR_ANY), *got = NULL;
    acu_buffer *before = NULL, *buffer = NULL, *clone = NULL;
    for (int fast = 0; fast < 2; fast++) {
        acu_quarantine(fast ? 0 : 64);
        OK(acu_buffer_create(stream, ACU_U8, 100, &before));
        OK(acu_buffer_release(before)); /* the stream may have a spare */
        OK(acu_buffer_create(stream, ACU_U8, 100, &before));
        OK(acu_allocator_set_current(a));
        OK(acu_allocator_get_current(0, &got));
        assert_ptr_equal(got, a);
        OK(acu_allocator_release(got));
        OK(acu_buffer_release(before));
        const uint64_t allocations = info_of(a).allocations;
        for (int i = 0; i < 10; i++) {
            OK(acu_buffer_create(stream, ACU_U8, 100, &buffer));
            assert_int_equal(acu_buffer_memory(buffer), ACU_MEMORY_POOL);
            assert_int_equal(info_of(a).used, 512);
            OK(acu_buffer_release(buffer));
        }
        assert_int_equal(info_of(a).allocations, allocations + 10);
        OK(acu_buffer_create(stream, ACU_U8, 100, &buffer));
        OK(acu_buffer_clone(buffer, NULL, &clone));
        assert_int_equal(info_of(a).used, 1024);
        OK(acu_buffer_release(clone));
        OK(acu_allocator_clear_current(0));
        OK(acu_allocator_get_current(0, &got));
        assert_null(got);
        OK(acu_buffer_release(buffer));
        OK(acu_buffer_create(stream, ACU_U8, 100, &buffer)); /* of the pool again */
        assert_int_equal(info_of(a).used, 0);
        OK(acu_buffer_release(buffer));
    }
    OK(acu_allocator_release(a));
    acu_quarantine(64);
}

/* The stream goes although the allocator keeps what was released there. */
static void a_stream_ends_with_its_owner(void **state) {
    (void)state;
    acu_allocator *a = caching(ACU_ALLOCATOR_ANY);
    acu_stream *brief = NULL;
    acu_buffer *buffer = NULL;
    acu_quarantine(0);
    OK(acu_allocator_set_current(a));
    OK(acu_stream_create(0, NULL, &brief));
    for (int i = 0; i < 3; i++) {
        OK(acu_buffer_create(brief, ACU_U8, 100, &buffer));
        OK(acu_buffer_release(buffer));
    }
    OK(acu_stream_release(brief));
    OK(acu_allocator_release(a));
    OK(acu_buffer_create(stream, ACU_U8, 100, &buffer));
    OK(acu_allocator_clear_current(0)); /* the buffer keeps the allocator */
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_release(buffer));
    acu_quarantine(64);
}

/* A stream remembers what allocators keep for it. The next one may lie where an earlier one lay. */
static void one_allocator_after_the_other(void **state) {
    (void)state;
    acu_quarantine(0);
    for (int i = 0; i < 50; i++) {
        acu_allocator *a = caching(sources[i % 4]);
        acu_buffer *small = buffer_from(a, stream, 100), *large = buffer_from(a, stream, 3 * MIB);
        OK(acu_buffer_release(small));
        OK(acu_buffer_release(large));
        assert_int_equal(info_of(a).allocations, 2);
        OK(acu_allocator_release(a));
    }
    acu_quarantine(64);
}

/* ---- memory without a buffer ---- */

static void raw_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sources); i++) {
        acu_allocator *a = caching(sources[i]);
        void *many[200] = {NULL}, *none = &none;
        for (size_t k = 0; k < COUNT(many); k++) {
            OK(acu_allocator_allocate(a, stream, 1 + k * 1000, &many[k]));
            assert_true(many[k] && (k == 0 || many[k] != many[k - 1]));
        }
        OK(acu_allocator_allocate(a, stream, 0, &none));
        assert_null(none);
        OK(acu_allocator_free(a, NULL));
        for (size_t k = 0; k < COUNT(many); k++)
            OK(acu_allocator_free(a, many[k]));
        FAILS(acu_allocator_free(a, many[7]), ACU_ERROR_ARGUMENT, "or was freed");
        FAILS(acu_allocator_attach(a, many[7], other), ACU_ERROR_ARGUMENT, "or was freed");
        assert_int_equal(info_of(a).used, 0);
        OK(acu_allocator_release(a));
    }
}

static void raw_memory_waits_for_attached_streams(void **state) {
    (void)state;
    blocker at;
    void *first = NULL, *second = NULL;
    acu_allocator *a = caching(ACU_ALLOCATOR_ANY);
    OK(acu_allocator_allocate(a, stream, 2 * MIB, &first));
    OK(acu_allocator_attach(a, first, other));
    OK(acu_allocator_attach(a, first, other));
    OK(acu_allocator_attach(a, first, stream));
    block_stream(&at, other);
    OK(acu_allocator_free(a, first));
    OK(acu_allocator_allocate(a, stream, 2 * MIB, &second));
    assert_ptr_equal(first, second);
    still_waits(stream);
    unblock_stream(&at);
    OK(acu_allocator_free(a, second));
    OK(acu_allocator_release(a));
}

/* ---- a program's own ---- */

typedef struct own {
    int allocations, frees, trims, destroyed;
    acu_result result;
} own;

static acu_result own_allocate(void *data, size_t bytes, acu_device device, cudaStream_t on,
                               void **pointer) {
    own *mine = data;
    assert_true(device == 0 && on);
    mine->allocations++;
    return mine->result ? mine->result : (acu_result)cudaMallocAsync(pointer, bytes, on);
}

static acu_result own_free(void *data, void *pointer, size_t bytes, acu_device device,
                           cudaStream_t on) {
    own *mine = data;
    assert_true(bytes > 0 && device == 0);
    mine->frees++;
    return (acu_result)cudaFreeAsync(pointer, on);
}

static acu_result own_trim(void *data, size_t keep) {
    assert_int_equal(keep, 5);
    ((own *)data)->trims++;
    return 0;
}

static size_t own_reserved(void *data) {
    (void)data;
    return 12345;
}

static void own_destroy(void *data) {
    ((own *)data)->destroyed++;
}

static void a_programs_functions_are_called(void **state) {
    (void)state;
    own mine = {0};
    char text[200];
    acu_allocator *a = NULL;
    acu_buffer *buffer = NULL;
    void *raw = NULL;
    const acu_allocator_functions functions = {.size = sizeof functions,
                                               .allocate = own_allocate,
                                               .free = own_free,
                                               .trim = own_trim,
                                               .reserved = own_reserved,
                                               .destroy = own_destroy};
    OK(acu_allocator_wrap(0, ACU_MEMORY_POOL, &functions, &mine, &a));
    assert_int_equal(acu_allocator_device(a), 0);
    OK(acu_allocator_set_current(a));
    assert_true(acu_allocator_describe(a, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "current"));
    OK(acu_buffer_create(stream, ACU_F32, 100, &buffer));
    assert_int_equal(info_of(a).used, 400);
    assert_int_equal(info_of(a).reserved, 12345);
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_release(buffer));
    OK(acu_allocator_allocate(a, stream, 10, &raw));
    OK(acu_allocator_free(a, raw));
    assert_true(mine.allocations == 2 && mine.frees == 2);
    OK(acu_allocator_trim(a, 5));
    assert_int_equal(mine.trims, 1);
    mine.result = cudaErrorLaunchFailure;
    FAILS(acu_buffer_create(stream, ACU_F32, 100, &buffer), cudaErrorLaunchFailure,
          "the allocator's function `allocate` returned 719");
    FAILS(acu_allocator_set_limit(a, 5), ACU_ERROR_STATE, "the program's own");
    FAILS(acu_allocator_set_fraction(a, 0.5), ACU_ERROR_STATE, "the program's own");
    OK(acu_allocator_clear_current(0));
    OK(acu_allocator_release(a));
    assert_int_equal(mine.destroyed, 1);
}

static void functions_may_be_missing(void **state) {
    (void)state;
    own mine = {0};
    acu_allocator *a = NULL;
    acu_allocator_functions functions = {
        .size = sizeof functions, .allocate = own_allocate, .free = own_free};
    OK(acu_allocator_wrap(0, ACU_MEMORY_POOL, &functions, &mine, &a));
    acu_buffer *buffer = buffer_from(a, stream, 100);
    OK(acu_allocator_trim(a, 0));
    assert_int_equal(info_of(a).reserved, 100);
    OK(acu_buffer_release(buffer));
    OK(acu_allocator_release(a));
    functions.free = NULL;
    FAILS(acu_allocator_wrap(0, ACU_MEMORY_POOL, &functions, &mine, &a), ACU_ERROR_ARGUMENT,
          "functions->free is NULL");
    functions.size = 8;
    FAILS(acu_allocator_wrap(0, ACU_MEMORY_POOL, &functions, &mine, &a), ACU_ERROR_ARGUMENT,
          "functions->size is 8");
    functions = (acu_allocator_functions){.size = sizeof functions, .free = own_free};
    FAILS(acu_allocator_wrap(0, ACU_MEMORY_POOL, &functions, &mine, &a), ACU_ERROR_ARGUMENT,
          "functions->allocate is NULL");
    functions.allocate = own_allocate;
    FAILS(acu_allocator_wrap(0, ACU_MEMORY_MANAGED, &functions, &mine, &a), ACU_ERROR_ARGUMENT,
          "ACU_MEMORY_PINNED");
}

/* ---- misuse ---- */

static void wrong_options(void **state) {
    (void)state;
    acu_allocator *a = NULL;
    acu_pool *pool = NULL;
    acu_buffer *none = NULL;
    OK(acu_pool_get_default(0, &pool));
    FAILS(acu_allocator_create(0, &(acu_allocator_options){.source = (acu_allocator_source)9}, &a),
          ACU_ERROR_ARGUMENT, "no source");
    FAILS(acu_allocator_create(0, &(acu_allocator_options){.fraction = 2}, &a), ACU_ERROR_RANGE,
          "between 0 and 1");
    FAILS(acu_allocator_create(0, &(acu_allocator_options){.pool = pool}, &a), ACU_ERROR_ARGUMENT,
          "ACU_ALLOCATOR_ANY does not come from pools");
    OK(acu_allocator_create(0, &(acu_allocator_options){.source = ACU_ALLOCATOR_POOL, .pool = pool},
                            &a));
    FAILS(acu_allocator_set_fraction(a, -1), ACU_ERROR_RANGE, "not between 0 and 1");
    FAILS(acu_buffer_create_with(stream, ACU_U8, 1,
                                 &(acu_buffer_options){.allocator = a, .pool = pool}, &none),
          ACU_ERROR_ARGUMENT, "both set");
    FAILS(acu_buffer_create_with(stream, ACU_U8, 1,
                                 &(acu_buffer_options){.allocator = a, .memory = ACU_MEMORY_PINNED},
                                 &none),
          ACU_ERROR_ARGUMENT, "another kind");
    FAILS(acu_allocator_allocate(a, stream, (size_t)PTRDIFF_MAX + 1, &(void *){NULL}),
          ACU_ERROR_OVERFLOW, "can be addressed");
    OK(acu_pool_release(pool)); /* the allocator keeps it */
    acu_buffer *buffer = buffer_from(a, stream, 100);
    OK(acu_buffer_release(buffer));
    OK(acu_allocator_release(a));
    FAILS(acu_allocator_trim(a, 0), ACU_ERROR_HANDLE, "was released already");
}

static void another_devices_stream_is_refused(void **state) {
    (void)state;
    acu_allocator *a = NULL;
    acu_stream *there = NULL;
    void *raw = NULL;
    NEEDS_TWO_DEVICES();
    OK(acu_stream_create(1, NULL, &there));
    OK(acu_allocator_create(0, NULL, &a));
    FAILS(acu_buffer_create_with(there, ACU_U8, 1, &(acu_buffer_options){.allocator = a},
                                 &(acu_buffer *){NULL}),
          ACU_ERROR_DEVICE, "the stream is on device 1");
    FAILS(acu_allocator_allocate(a, there, 1, &raw), ACU_ERROR_DEVICE, "memory of device 0");
    OK(acu_allocator_release(a));
    a = caching(ACU_ALLOCATOR_PINNED);
    OK(acu_allocator_allocate(a, there, 1, &raw)); /* of the host, for all devices */
    OK(acu_allocator_free(a, raw));
    OK(acu_allocator_release(a));
    OK(acu_stream_release(there));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_STREAMS(memory_is_used_again),
        WITH_STREAMS(pinned_memory_is_the_hosts),
        WITH_STREAMS(pieces_are_divided_and_joined),
        WITH_STREAMS(ready_memory_is_joined),
        WITH_STREAMS(another_stream_waits_for_nothing_it_need_not),
        WITH_STREAMS(ready_memory_waits_for_its_work),
        WITH_STREAMS(at_the_limit_a_stream_waits),
        WITH_STREAMS(a_release_waits_for_other_streams),
        WITH_STREAMS(memory_outlives_its_stream),
        WITH_STREAMS(a_buffer_moves_to_another_stream),
        WITH_STREAMS(a_limit_holds),
        WITH_STREAMS(a_fraction_is_a_limit),
        WITH_STREAMS(a_full_device_is_explained),
        WITH_STREAMS(classes_are_listed),
        WITH_STREAMS(buffers_come_from_the_current_one),
        WITH_STREAMS(a_stream_ends_with_its_owner),
        WITH_STREAMS(one_allocator_after_the_other),
        WITH_STREAMS(raw_memory),
        WITH_STREAMS(raw_memory_waits_for_attached_streams),
        WITH_STREAMS(a_programs_functions_are_called),
        WITH_STREAMS(functions_may_be_missing),
        WITH_STREAMS(wrong_options),
        WITH_STREAMS(another_devices_stream_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
