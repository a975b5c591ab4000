/* Stream-ordered memory and its pools. */
#include "sim_test.h"

#include <sched.h>
#include <stdatomic.h>

enum { MIB = 1 << 20 };

static cudaStream_t stream;

static int setup(void **state) {
    (void)begin(state);
    OK(cudaStreamCreate(&stream));
    return 0;
}

static int teardown(void **state) {
    OK(cudaStreamDestroy(stream));
    return end(state);
}

static cudaMemPool_t default_pool(void) {
    cudaMemPool_t pool;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    return pool;
}

static uint64_t ask(cudaMemPool_t pool, enum cudaMemPoolAttr attribute) {
    uint64_t value = 99;
    OK(cudaMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static cudaMemPool_t make(size_t largest) {
    const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                           .location = {.type = cudaMemLocationTypeDevice},
                                           .maxSize = largest};
    cudaMemPool_t pool;
    OK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

TEST(allocates_in_a_stream) {
    char *a, from[100], back[100] = {0};
    memset(from, 3, sizeof from);
    OK(cudaMallocAsync((void **)&a, sizeof from, stream));
    OK(cudaMemcpyAsync(a, from, sizeof from, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyAsync(back, a, sizeof from, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(a, stream));
    OK(cudaStreamSynchronize(stream));
    assert_memory_equal(from, back, sizeof from);
}

static atomic_uint calls;

static void wait_for_calls(void *data) {
    while (atomic_load(&calls) < *(unsigned *)data)
        sched_yield();
}

/* More memory is allocated and freed in a stream than a device has addresses for, before the stream
 * does the first of it. */
TEST(queued_frees_do_not_use_up_addresses) {
    unsigned most = 63;
    void *at, *plain;
    acu_sim_reset("memory=16MiB");
    for (int with = 0; with < 2; with++) { /* at last from a pool, or not */
        atomic_store(&calls, 0);
        OK(cudaLaunchHostFunc(0, wait_for_calls, &most));
        for (unsigned i = 0; i < 64; i++) {
            OK(cudaMallocAsync(&at, MIB, 0));
            OK(cudaFreeAsync(at, 0));
            atomic_fetch_add(&calls, 1);
        }
        OK(with ? cudaMallocAsync(&plain, 15 * MIB, 0) : cudaMalloc(&plain, 15 * MIB));
        OK(cudaFree(plain));
        OK(cudaDeviceSynchronize());
    }
    acu_sim_reset(MACHINE);
}

TEST(a_freed_address_is_no_memory) {
    void *a;
    OK(cudaMallocAsync(&a, 100, stream));
    OK(cudaFreeAsync(a, stream));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(a, stream));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(a, 0, 100, stream));
}

TEST(mistakes) {
    void *a, *plain;
    cudaStream_t gone;
    OK(cudaStreamCreate(&gone));
    OK(cudaStreamDestroy(gone));
    OK(cudaMalloc(&plain, 100));
    FAILS(cudaErrorInvalidValue, cudaMallocAsync(NULL, 100, stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaMallocAsync(&a, 100, gone));
    FAILS(cudaErrorMemoryAllocation, cudaMallocAsync(&a, (size_t)2 << 30, stream));
    FAILS(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&a, 100, NULL, stream));
    OK(cudaFree(plain));
}

TEST(plain_free_takes_it_too) {
    void *a;
    OK(cudaMallocAsync(&a, 100, stream));
    OK(cudaFree(a));
    assert_int_equal(ask(default_pool(), cudaMemPoolAttrUsedMemCurrent), 0);
}

TEST(freed_memory_serves_the_same_stream_at_once) {
    blocker g = {0};
    void *a;
    block_stream(&g, stream);
    for (int i = 0; i < 5; i++) {
        OK(cudaMallocAsync(&a, 700 * MIB, stream));
        OK(cudaFreeAsync(a, stream));
    }
    unblock_stream(&g);
    OK(cudaStreamSynchronize(stream));
}

TEST(used_and_reserved) {
    void *a;
    cudaMemPool_t pool = default_pool();
    OK(cudaMallocAsync(&a, 3 * MIB, stream));
    assert_int_equal(ask(pool, cudaMemPoolAttrUsedMemCurrent), 3 * MIB);
    assert_true(ask(pool, cudaMemPoolAttrReservedMemCurrent) >= 3 * MIB);
    OK(cudaFreeAsync(a, stream));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(ask(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    assert_int_equal(ask(pool, cudaMemPoolAttrReservedMemCurrent), 0);
    assert_int_equal(ask(pool, cudaMemPoolAttrUsedMemHigh), 3 * MIB);
}

TEST(high_water_marks_are_put_back) {
    void *a;
    uint64_t zero = 0, one = 1;
    cudaMemPool_t pool = default_pool();
    OK(cudaMallocAsync(&a, MIB, stream));
    OK(cudaFreeAsync(a, stream));
    OK(cudaStreamSynchronize(stream));
    FAILS(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
    assert_int_equal(ask(pool, cudaMemPoolAttrUsedMemHigh), 0);
    assert_int_equal(ask(pool, cudaMemPoolAttrReservedMemHigh), 0);
}

TEST(the_threshold_keeps_memory) {
    void *a;
    uint64_t all = UINT64_MAX;
    cudaMemPool_t pool = default_pool();
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    assert_int_equal(ask(pool, cudaMemPoolAttrReleaseThreshold), all);
    OK(cudaMallocAsync(&a, 64 * MIB, stream));
    OK(cudaFreeAsync(a, stream));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(ask(pool, cudaMemPoolAttrReservedMemCurrent), 64 * MIB);
    OK(cudaMemPoolTrimTo(pool, 32 * MIB));
    assert_int_equal(ask(pool, cudaMemPoolAttrReservedMemCurrent), 32 * MIB);
    OK(cudaMemPoolTrimTo(pool, 0));
    assert_int_equal(ask(pool, cudaMemPoolAttrReservedMemCurrent), 0);
}

TEST(trimming_keeps_what_is_used) {
    void *a;
    cudaMemPool_t pool = default_pool();
    OK(cudaMallocAsync(&a, 64 * MIB, stream));
    OK(cudaMemPoolTrimTo(pool, 0));
    assert_int_equal(ask(pool, cudaMemPoolAttrReservedMemCurrent), 64 * MIB);
    OK(cudaFreeAsync(a, stream));
}

TEST(reserved_memory_is_not_free) {
    void *a;
    size_t before, after, total;
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMallocAsync(&a, 64 * MIB, stream));
    OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(before - after, 64 * MIB);
    OK(cudaFreeAsync(a, stream));
    OK(cudaDeviceSynchronize());
    OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(before, after);
}

TEST(a_pool_of_ones_own) {
    void *a;
    cudaMemPool_t pool = make(0);
    OK(cudaMallocFromPoolAsync(&a, MIB, pool, stream));
    assert_int_equal(ask(pool, cudaMemPoolAttrUsedMemCurrent), MIB);
    assert_int_equal(ask(default_pool(), cudaMemPoolAttrUsedMemCurrent), 0);
    OK(cudaFreeAsync(a, stream));
    OK(cudaMemPoolDestroy(pool));
    FAILS(cudaErrorInvalidValue, cudaMemPoolDestroy(pool));
}

TEST(a_pool_may_be_bounded) {
    void *a, *b;
    cudaMemPool_t pool = make(64 * MIB);
    OK(cudaMallocFromPoolAsync(&a, 60 * MIB, pool, stream));
    FAILS(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&b, 60 * MIB, pool, stream));
    OK(cudaFreeAsync(a, stream));
    OK(cudaMemPoolDestroy(pool));
}

TEST(allocations_outlive_their_pool) {
    void *a;
    cudaMemPool_t pool = make(0);
    OK(cudaMallocFromPoolAsync(&a, 100, pool, stream));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaMemsetAsync(a, 1, 100, stream));
    OK(cudaFreeAsync(a, stream));
    OK(cudaStreamSynchronize(stream));
}

TEST(the_current_pool) {
    void *a;
    cudaMemPool_t got, pool = make(0);
    OK(cudaDeviceSetMemPool(0, pool));
    OK(cudaDeviceGetMemPool(&got, 0));
    assert_ptr_equal(got, pool);
    OK(cudaMallocAsync(&a, MIB, stream));
    assert_int_equal(ask(pool, cudaMemPoolAttrUsedMemCurrent), MIB);
    OK(cudaFreeAsync(a, stream));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaDeviceGetMemPool(&got, 0));
    assert_ptr_equal(got, default_pool());
}

TEST(current_pool_mistakes) {
    cudaMemPool_t pool = make(0), got;
    FAILS(cudaErrorInvalidValue, cudaDeviceGetMemPool(&got, 5));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetDefaultMemPool(&got, 5));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetDefaultMemPool(NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceSetMemPool(1, pool)); /* of another device */
    OK(cudaMemPoolDestroy(pool));
    FAILS(cudaErrorInvalidValue, cudaMemPoolDestroy(default_pool()));
}

TEST(pools_by_place) {
    cudaMemPool_t pool;
    struct cudaMemLocation place = {.type = cudaMemLocationTypeDevice};
    OK(cudaMemGetDefaultMemPool(&pool, &place, cudaMemAllocationTypePinned));
    assert_ptr_equal(pool, default_pool());
    OK(cudaMemGetMemPool(&pool, &place, cudaMemAllocationTypePinned));
    assert_ptr_equal(pool, default_pool());
    OK(cudaMemSetMemPool(&place, cudaMemAllocationTypePinned, pool));
}

TEST(create_mistakes) {
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {.location = {.type = cudaMemLocationTypeDevice}};
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props.allocType = cudaMemAllocationTypePinned;
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(NULL, &props));
    props.location.type = cudaMemLocationTypeInvalid;
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
}

TEST(reuse_policies) {
    int value = -1, off = 0;
    cudaMemPool_t pool = default_pool();
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    assert_int_equal(value, 1);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    assert_int_equal(value, 0);
}

TEST(attribute_mistakes) {
    uint64_t value = 0;
    cudaMemPool_t pool = default_pool();
    FAILS(cudaErrorInvalidValue, cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)99, &value));
    FAILS(cudaErrorInvalidValue,
          cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
    FAILS(cudaErrorInvalidValue,
          cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, NULL));
}

TEST(access) {
    cudaMemPool_t pool = make(0);
    struct cudaMemLocation second = {.type = cudaMemLocationTypeDevice, .id = 1};
    struct cudaMemAccessDesc desc = {second, cudaMemAccessFlagsProtReadWrite};
    enum cudaMemAccessFlags flags;
    OK(cudaMemPoolGetAccess(&flags, pool, &second));
    assert_int_equal(flags, cudaMemAccessFlagsProtNone);
    OK(cudaMemPoolSetAccess(pool, &desc, 1));
    OK(cudaMemPoolGetAccess(&flags, pool, &second));
    assert_int_equal(flags, cudaMemAccessFlagsProtReadWrite);
    second.id = 0;
    OK(cudaMemPoolGetAccess(&flags, pool, &second));
    assert_int_equal(flags, cudaMemAccessFlagsProtReadWrite);
    OK(cudaMemPoolDestroy(pool));
}

TEST(access_mistakes) {
    cudaMemPool_t pool = make(0);
    struct cudaMemAccessDesc desc = {{.type = cudaMemLocationTypeDevice, .id = 9},
                                     cudaMemAccessFlagsProtReadWrite};
    FAILS(cudaErrorInvalidDevice, cudaMemPoolSetAccess(pool, &desc, 1));
    desc.location.id = 1;
    desc.flags = (enum cudaMemAccessFlags)17;
    FAILS(cudaErrorInvalidValue, cudaMemPoolSetAccess(pool, &desc, 1));
    FAILS(cudaErrorInvalidValue, cudaMemPoolSetAccess(pool, NULL, 1));
    OK(cudaMemPoolDestroy(pool));
}

/* Of a device that is reset before a stream of another one comes to it. */
TEST(memory_that_is_freed_after_its_device_was_reset) {
    enum { COUNT = 8 };
    blocker g = {0};
    cudaStream_t other;
    void *plain, *pooled, *later[COUNT];
    size_t before, after, total;
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMalloc(&plain, MIB));
    OK(cudaMallocAsync(&pooled, MIB, NULL));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&other));
    block_stream(&g, other);
    OK(cudaFreeAsync(plain, other));
    OK(cudaFreeAsync(pooled, other));
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    for (int i = 0; i < COUNT; i++)
        OK(cudaMalloc(&later[i], MIB));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(other));
    OK(cudaStreamDestroy(other));
    for (int i = 0; i < COUNT; i++)
        OK(cudaFree(later[i]));
    OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(before, after);
}

#define C(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        C(allocates_in_a_stream),
        T(queued_frees_do_not_use_up_addresses),
        C(a_freed_address_is_no_memory),
        C(mistakes),
        C(plain_free_takes_it_too),
        C(freed_memory_serves_the_same_stream_at_once),
        C(used_and_reserved),
        C(high_water_marks_are_put_back),
        C(the_threshold_keeps_memory),
        C(trimming_keeps_what_is_used),
        C(reserved_memory_is_not_free),
        C(a_pool_of_ones_own),
        C(a_pool_may_be_bounded),
        C(allocations_outlive_their_pool),
        C(the_current_pool),
        C(current_pool_mistakes),
        C(pools_by_place),
        C(create_mistakes),
        C(reuse_policies),
        C(attribute_mistakes),
        C(access),
        C(access_mistakes),
        T(memory_that_is_freed_after_its_device_was_reset),
    };
    return RUN(tests);
}
