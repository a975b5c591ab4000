/* Stream-ordered memory and its pools. */
#include "conformance.h"

static uint64_t attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr) {
    uint64_t value = 0;
    return cudaMemPoolGetAttribute(pool, attr, &value) ? UINT64_MAX : value;
}

#define USED(pool)     attribute(pool, cudaMemPoolAttrUsedMemCurrent)
#define RESERVED(pool) attribute(pool, cudaMemPoolAttrReservedMemCurrent)

static cudaError_t make(cudaMemPool_t *pool) {
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeDevice, {0}}};
    return cudaMemPoolCreate(pool, &props);
}

/* ---- allocating and freeing
 * ---------------------------------------------------------------------- */

CASE(memory_in_stream_order) {
    char *memory, got = 0;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync((void **)&memory, 1000, stream));
    OK(cudaMemsetAsync(memory, 7, 1000, stream));
    OK(cudaMemcpyAsync(&got, memory + 999, 1, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamSynchronize(stream));
    EQUAL(got, 7);
    OK(cudaStreamDestroy(stream));
}

CASE(memory_of_no_size) {
    void *memory = &memory;
    SAYS(cudaSuccess, cudaMallocAsync(&memory, 0, NULL));
    IS(memory == NULL);
    IS(memory != (void *)&memory);
}

CASE(memory_wants_a_place) {
    FAILS(cudaErrorInvalidValue, cudaMallocAsync(NULL, 16, NULL));
}

CASE(too_much_memory) {
    void *memory;
    FAILS(cudaErrorMemoryAllocation, cudaMallocAsync(&memory, (size_t)1 << 46, NULL));
    OK(cudaDeviceSynchronize());
}

CASE(freeing_nothing) {
    SAYS(cudaSuccess, cudaFreeAsync(NULL, NULL));
}

CASE(freeing_what_is_not_from_a_pool) {
    char *memory, *pinned, *managed;
    int local = 0;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMallocHost((void **)&pinned, 16));
    OK(cudaMallocManaged((void **)&managed, 16, cudaMemAttachGlobal));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(pinned, NULL));
    FAILS(cudaErrorNotSupported, cudaFreeAsync(managed, NULL));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(&local, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
    OK(cudaFree(memory));
}

LONE_CASE(freeing_memory_of_cuda_malloc_in_stream_order) {
    char *memory;
    struct cudaPointerAttributes a;
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(memory + 16, NULL));
    SAYS(cudaSuccess, cudaFreeAsync(memory, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaPointerGetAttributes(&a, memory));
    EQUAL(a.type, 0);
    FAILS(cudaErrorInvalidValue, cudaFree(memory));
}

CASE(freeing_inside) {
    char *memory;
    OK(cudaMallocAsync((void **)&memory, 1000, NULL));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(memory + 8, NULL));
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaDeviceSynchronize());
}

CASE(freeing_twice) {
    char *memory;
    OK(cudaMallocAsync((void **)&memory, 1000, NULL));
    OK(cudaFreeAsync(memory, NULL));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(memory, NULL));
    OK(cudaDeviceSynchronize());
}

CASE(freeing_at_once_what_is_from_a_pool) {
    char *memory;
    OK(cudaMallocAsync((void **)&memory, 1000, NULL));
    OK(cudaFree(memory));
    OK(cudaMallocAsync((void **)&memory, 1000, NULL));
    OK(cudaFreeAsync(memory, NULL));
    FAILS(cudaErrorInvalidValue, cudaFree(memory));
    OK(cudaDeviceSynchronize());
}

CASE(freed_memory_is_refused_at_once) {
    char *memory, local[16];
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync((void **)&memory, 64 * MIB, stream));
    OK(cudaStreamSynchronize(stream));
    hold(stream);
    OK(cudaFreeAsync(memory, stream));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(memory, 1, 16, stream));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyAsync(memory, local, 16, cudaMemcpyHostToDevice, stream));
    let_go();
    OK(cudaStreamSynchronize(stream));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(memory, 1, 16, stream));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(stream));
}

CASE(freeing_is_not_waited_for) {
    char *memory;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync((void **)&memory, 1000, stream));
    WAITS(false, stream, cudaFreeAsync(memory, stream));
    OK(cudaStreamSynchronize(stream));
    WAITS(false, stream, cudaMallocAsync((void **)&memory, 1000, stream));
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamDestroy(stream));
}

CASE(freeing_at_once_waits) {
    char *memory;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync((void **)&memory, 1000, stream));
    WAITS(false, stream, cudaFree(memory));
    OK(cudaStreamDestroy(stream));
}

CASE(memory_is_not_used_again_elsewhere_before_it_is_free) {
    char *a, *b;
    cudaStream_t stream, other;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaMallocAsync((void **)&a, MIB, stream));
    hold(stream);
    OK(cudaFreeAsync(a, stream));
    OK(cudaMallocAsync((void **)&b, MIB, other));
    IS(a != b);
    let_go();
    OK(cudaFreeAsync(b, other));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

CASE(memory_is_freed_in_another_stream) {
    char *memory;
    cudaStream_t stream, other;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&other));
    OK(cudaMallocAsync((void **)&memory, 1000, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFreeAsync(memory, other));
    OK(cudaStreamSynchronize(other));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

/* ---- what is counted
 * -------------------------------------------------------------------------------- */

CASE(a_new_pool_is_empty) {
    cudaMemPool_t pool;
    OK(make(&pool));
    EQUAL(USED(pool), 0);
    EQUAL(RESERVED(pool), 0);
    EQUAL(attribute(pool, cudaMemPoolAttrUsedMemHigh), 0);
    EQUAL(attribute(pool, cudaMemPoolAttrReservedMemHigh), 0);
    EQUAL(attribute(pool, cudaMemPoolAttrReleaseThreshold), 0);
    OK(cudaMemPoolDestroy(pool));
}

CASE(a_pool_reserves_in_chunks) {
    cudaMemPool_t pool;
    char *a, *b, *c;
    OK(make(&pool));
    OK(cudaMallocFromPoolAsync((void **)&a, 1, pool, NULL));
    EQUAL(USED(pool), 1);
    EQUAL(RESERVED(pool), 32 * MIB);
    OK(cudaMallocFromPoolAsync((void **)&b, 513, pool, NULL));
    EQUAL(USED(pool), 1 + 513);
    EQUAL(RESERVED(pool), 32 * MIB);
    OK(cudaMallocFromPoolAsync((void **)&c, 40 * MIB, pool, NULL));
    EQUAL(USED(pool), 41943554);
    EQUAL(RESERVED(pool), 67108864);
    OK(cudaFreeAsync(a, NULL));
    OK(cudaFreeAsync(b, NULL));
    OK(cudaFreeAsync(c, NULL));
    OK(cudaDeviceSynchronize());
    EQUAL(USED(pool), 0);
    EQUAL(RESERVED(pool), 0);
    EQUAL(attribute(pool, cudaMemPoolAttrUsedMemHigh), 41943554);
    EQUAL(attribute(pool, cudaMemPoolAttrReservedMemHigh), 67108864);
    OK(cudaMemPoolDestroy(pool));
}

CASE(what_is_used_is_what_was_asked_for) {
    static const size_t sizes[] = {1, 511, 512, 513, 4096, 100000, MIB - 1, 2 * MIB, 2 * MIB + 1};
    cudaMemPool_t pool;
    OK(make(&pool));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *memory;
        OK(cudaMallocFromPoolAsync((void **)&memory, sizes[i], pool, NULL));
        EQUAL(USED(pool), sizes[i]);
        OK(cudaFreeAsync(memory, NULL));
        OK(cudaDeviceSynchronize());
    }
    OK(cudaMemPoolDestroy(pool));
}

CASE(when_what_is_used_falls) {
    cudaMemPool_t pool;
    cudaStream_t stream;
    char *memory;
    OK(make(&pool));
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocFromPoolAsync((void **)&memory, MIB, pool, stream));
    OK(cudaStreamSynchronize(stream));
    EQUAL(USED(pool), MIB);
    hold(stream);
    OK(cudaFreeAsync(memory, stream));
    EQUAL(USED(pool), 0);
    EQUAL(RESERVED(pool), 33554432);
    let_go();
    OK(cudaStreamSynchronize(stream));
    EQUAL(USED(pool), 0);
    EQUAL(RESERVED(pool), 0);
    OK(cudaStreamDestroy(stream));
    OK(cudaMemPoolDestroy(pool));
}

CASE(when_a_pool_gives_back) {
    cudaMemPool_t pool;
    cudaStream_t stream;
    cudaEvent_t event;
    char *memory;
    OK(make(&pool));
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    OK(cudaMallocFromPoolAsync((void **)&memory, MIB, pool, stream));
    OK(cudaFreeAsync(memory, stream));
    OK(cudaEventRecord(event, stream));
    OK(cudaEventSynchronize(event));
    EQUAL(RESERVED(pool), 0);
    OK(cudaStreamSynchronize(stream));
    EQUAL(RESERVED(pool), 0);
    OK(cudaDeviceSynchronize());
    EQUAL(RESERVED(pool), 0);
    OK(cudaMallocFromPoolAsync((void **)&memory, MIB, pool, stream));
    OK(cudaFreeAsync(memory, stream));
    while (cudaStreamQuery(stream) == cudaErrorNotReady)
        ;
    EQUAL(RESERVED(pool), 33554432);
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    OK(cudaMemPoolDestroy(pool));
}

CASE(a_pool_gives_back_when_another_stream_is_waited_for) {
    cudaMemPool_t pool;
    cudaStream_t stream, other;
    char *memory;
    OK(make(&pool));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&other));
    OK(cudaMallocFromPoolAsync((void **)&memory, MIB, pool, stream));
    OK(cudaFreeAsync(memory, stream));
    while (cudaStreamQuery(stream) == cudaErrorNotReady)
        ;
    OK(cudaStreamSynchronize(other));
    EQUAL(RESERVED(pool), 33554432);
    OK(cudaDeviceSynchronize());
    EQUAL(RESERVED(pool), 0);
    OK(cudaStreamDestroy(other));
    OK(cudaStreamDestroy(stream));
    OK(cudaMemPoolDestroy(pool));
}

CASE(a_pool_keeps_what_its_threshold_says) {
    cudaMemPool_t pool;
    uint64_t threshold = UINT64_MAX;
    char *memory;
    OK(make(&pool));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    IS(attribute(pool, cudaMemPoolAttrReleaseThreshold) == UINT64_MAX);
    OK(cudaMallocFromPoolAsync((void **)&memory, MIB, pool, NULL));
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaDeviceSynchronize());
    EQUAL(USED(pool), 0);
    EQUAL(RESERVED(pool), 32 * MIB);
    OK(cudaMemPoolTrimTo(pool, 0));
    EQUAL(RESERVED(pool), 0);
    OK(cudaMemPoolDestroy(pool));
}

CASE(trimming_is_by_chunks) {
    static const struct {
        size_t keep, kept;
    } all[] = {{100 * (size_t)MIB, 64 * MIB},
               {64 * MIB, 64 * MIB},
               {33 * MIB, 64 * MIB},
               {32 * MIB, 32 * MIB},
               {31 * MIB, 32 * MIB},
               {1, 32 * MIB},
               {0, 0}};
    cudaMemPool_t pool;
    uint64_t threshold = UINT64_MAX;
    char *memory;
    OK(make(&pool));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMallocFromPoolAsync((void **)&memory, 64 * MIB, pool, NULL));
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaDeviceSynchronize());
    EQUAL(RESERVED(pool), 64 * MIB);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        OK(cudaMemPoolTrimTo(pool, all[i].keep));
        EQUAL(RESERVED(pool), all[i].kept);
    }
    OK(cudaMemPoolDestroy(pool));
}

CASE(trimming_several_chunks) {
    cudaMemPool_t pool;
    uint64_t threshold = UINT64_MAX;
    char *a[4];
    OK(make(&pool));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    for (int i = 0; i < 4; i++)
        OK(cudaMallocFromPoolAsync((void **)&a[i], 20 * MIB, pool, NULL));
    EQUAL(RESERVED(pool), 100663296);
    for (int i = 0; i < 4; i++)
        OK(cudaFreeAsync(a[i], NULL));
    OK(cudaDeviceSynchronize());
    EQUAL(RESERVED(pool), 100663296);
    OK(cudaMemPoolTrimTo(pool, 50 * MIB));
    EQUAL(RESERVED(pool), 67108864);
    OK(cudaMemPoolTrimTo(pool, 10 * MIB));
    EQUAL(RESERVED(pool), 33554432);
    OK(cudaMemPoolTrimTo(pool, 0));
    EQUAL(RESERVED(pool), 0);
    OK(cudaMemPoolDestroy(pool));
}

CASE(trimming_keeps_what_is_used) {
    cudaMemPool_t pool;
    char *memory;
    OK(make(&pool));
    OK(cudaMallocFromPoolAsync((void **)&memory, MIB, pool, NULL));
    OK(cudaDeviceSynchronize());
    EQUAL(RESERVED(pool), 33554432);
    OK(cudaMemPoolTrimTo(pool, 0));
    EQUAL(RESERVED(pool), 33554432);
    EQUAL(USED(pool), MIB);
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaMemPoolDestroy(pool));
}

CASE(high_water_marks) {
    cudaMemPool_t pool;
    uint64_t zero = 0, one = 1;
    char *memory;
    OK(make(&pool));
    OK(cudaMallocFromPoolAsync((void **)&memory, MIB, pool, NULL));
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaDeviceSynchronize());
    EQUAL(attribute(pool, cudaMemPoolAttrUsedMemHigh), MIB);
    EQUAL(attribute(pool, cudaMemPoolAttrReservedMemHigh), 32 * MIB);
    FAILS(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    EQUAL(attribute(pool, cudaMemPoolAttrUsedMemHigh), 0);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
    EQUAL(attribute(pool, cudaMemPoolAttrReservedMemHigh), 0);
    OK(cudaMemPoolDestroy(pool));
}

/* ---- pools
 * ---------------------------------------------------------------------------------------- */

CASE(properties_that_are_refused) {
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeDevice, {0}}};
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(NULL, &props));
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, NULL));
    props.allocType = cudaMemAllocationTypeInvalid;
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props.allocType = (enum cudaMemAllocationType)77;
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeInvalid;
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 99;
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props.location.id = -1;
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props.location.id = 0;
    props.handleTypes = (enum cudaMemAllocationHandleType)0x40;
    FAILS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
}

CASE(a_pool_with_a_largest_size) {
    if (runtime() < 12020) {
        skip("poolProps->maxSize came with CUDA 12.2");
        return;
    }
    cudaMemPool_t pool;
    char *a, *b;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeDevice, {0}},
                                     .maxSize = 32 * MIB};
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMallocFromPoolAsync((void **)&a, 20 * MIB, pool, NULL));
    FAILS(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync((void **)&b, 20 * MIB, pool, NULL));
    OK(cudaFreeAsync(a, NULL));
    OK(cudaDeviceSynchronize());
    FAILS(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync((void **)&b, 64 * MIB, pool, NULL));
    OK(cudaMemPoolDestroy(pool));
}

CASE(no_pool) {
    uint64_t value = 0;
    char *memory;
    FAILS(cudaErrorInvalidValue, cudaMemPoolDestroy(NULL));
    FAILS(cudaErrorInvalidValue, cudaMemPoolTrimTo(NULL, 0));
    FAILS(cudaErrorInvalidValue,
          cudaMemPoolGetAttribute(NULL, cudaMemPoolAttrReleaseThreshold, &value));
    FAILS(cudaErrorInvalidValue,
          cudaMemPoolSetAttribute(NULL, cudaMemPoolAttrReleaseThreshold, &value));
    FAILS(cudaErrorInvalidValue, cudaMallocFromPoolAsync((void **)&memory, 16, NULL, NULL));
}

CASE(the_default_pool) {
    cudaMemPool_t standard = NULL, current = NULL;
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    OK(cudaDeviceGetMemPool(&current, 0));
    IS(standard != NULL);
    IS(standard == current);
    EQUAL(attribute(standard, cudaMemPoolAttrReleaseThreshold), 0);
    FAILS(cudaErrorInvalidValue, cudaMemPoolDestroy(standard));
}

CASE(default_pools_that_are_refused) {
    cudaMemPool_t pool;
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetDefaultMemPool(&pool, 99));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetMemPool(&pool, -1));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetMemPool(&pool, 99));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetDefaultMemPool(&pool, -1));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetDefaultMemPool(NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetMemPool(NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceSetMemPool(0, NULL));
    FAILS(cudaErrorInvalidValue, cudaDeviceSetMemPool(99, NULL));
}

CASE(the_current_pool_is_set) {
    cudaMemPool_t pool, standard, got;
    char *memory;
    OK(make(&pool));
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    OK(cudaDeviceSetMemPool(0, pool));
    OK(cudaDeviceGetMemPool(&got, 0));
    IS(got == pool);
    OK(cudaMallocAsync((void **)&memory, 1000, NULL));
    EQUAL(USED(pool), 1000);
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaMemPoolDestroy(pool));
    OK(cudaDeviceGetMemPool(&got, 0));
    IS(got == standard);
}

/* Alone: where others came before, and after it, a driver crashed in cudaMemPoolDestroy of the next
 * pool, now and then. */
LONE_CASE(a_pool_is_destroyed_while_it_is_used) {
    cudaMemPool_t pool;
    char *memory;
    OK(make(&pool));
    OK(cudaMallocFromPoolAsync((void **)&memory, 1000, pool, NULL));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaMemset(memory, 1, 1000));
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaDeviceSynchronize());
}

CASE(how_pools_use_memory_again) {
    cudaMemPool_t pool;
    int value = 99;
    OK(make(&pool));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, &value));
    EQUAL(value, 1);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    EQUAL(value, 1);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &value));
    EQUAL(value, 1);
    value = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    value = 99;
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    EQUAL(value, 0);
    value = 7;
    SAYS(cudaSuccess, cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    EQUAL(value, 1);
    OK(cudaMemPoolDestroy(pool));
}

CASE(pool_attributes_that_are_refused) {
    cudaMemPool_t pool;
    uint64_t value = 0;
    OK(make(&pool));
    FAILS(cudaErrorInvalidValue, cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)0, &value));
    FAILS(cudaErrorInvalidValue, cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)99, &value));
    FAILS(cudaErrorInvalidValue,
          cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
    FAILS(cudaErrorInvalidValue,
          cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
    OK(cudaMemPoolDestroy(pool));
}

/* ---- access
 * ---------------------------------------------------------------------------------------- */

CASE(a_pools_own_device_has_access) {
    cudaMemPool_t pool;
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    struct cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    OK(make(&pool));
    OK(cudaMemPoolGetAccess(&flags, pool, &here));
    EQUAL(flags, cudaMemAccessFlagsProtReadWrite);
    struct cudaMemAccessDesc access = {here, cudaMemAccessFlagsProtReadWrite};
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaMemPoolDestroy(pool));
}

CASE(access_that_is_refused) {
    cudaMemPool_t pool;
    struct cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    struct cudaMemLocation nowhere = {cudaMemLocationTypeDevice, {99}};
    struct cudaMemAccessDesc access = {here, cudaMemAccessFlagsProtNone};
    OK(make(&pool));
    FAILS(cudaErrorInvalidDevice, cudaMemPoolSetAccess(pool, &access, 1));
    access.flags = cudaMemAccessFlagsProtRead;
    FAILS(cudaErrorNotSupported, cudaMemPoolSetAccess(pool, &access, 1));
    access.flags = (enum cudaMemAccessFlags)2;
    FAILS(cudaErrorInvalidValue, cudaMemPoolSetAccess(pool, &access, 1));
    access = (struct cudaMemAccessDesc){nowhere, cudaMemAccessFlagsProtReadWrite};
    FAILS(cudaErrorInvalidDevice, cudaMemPoolSetAccess(pool, &access, 1));
    SAYS(cudaSuccess, cudaMemPoolSetAccess(pool, &access, 0));
    FAILS(cudaErrorInvalidValue, cudaMemPoolSetAccess(NULL, &access, 1));
    OK(cudaMemPoolDestroy(pool));
}

CASE(access_that_is_not_told) {
    cudaMemPool_t pool;
    enum cudaMemAccessFlags flags;
    struct cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    struct cudaMemLocation nowhere = {cudaMemLocationTypeDevice, {99}};
    OK(make(&pool));
    FAILS(cudaErrorInvalidValue, cudaMemPoolGetAccess(&flags, pool, &nowhere));
    FAILS(cudaErrorInvalidValue, cudaMemPoolGetAccess(&flags, NULL, &here));
    here.type = cudaMemLocationTypeInvalid;
    FAILS(cudaErrorInvalidValue, cudaMemPoolGetAccess(&flags, pool, &here));
    OK(cudaMemPoolDestroy(pool));
}

CASE(another_device_gets_access) {
    cudaMemPool_t pool;
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtReadWrite;
    struct cudaMemLocation other = {cudaMemLocationTypeDevice, {1}};
    struct cudaMemAccessDesc access = {other, cudaMemAccessFlagsProtReadWrite};
    NEEDS_DEVICES(2);
    OK(make(&pool));
    OK(cudaMemPoolGetAccess(&flags, pool, &other));
    EQUAL(flags, cudaMemAccessFlagsProtNone);
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaMemPoolGetAccess(&flags, pool, &other));
    EQUAL(flags, cudaMemAccessFlagsProtReadWrite);
    OK(cudaMemPoolDestroy(pool));
}

/* ---- pools of places
 * --------------------------------------------------------------------------------- */

CASE(a_devices_pools_by_its_place) {
    cudaMemPool_t standard, by_place = NULL, current = NULL;
    struct cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    NEEDS(ACU_FEATURE_MEMORY_POOLS_BY_LOCATION);
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    OK(cudaMemGetDefaultMemPool(&by_place, &here, cudaMemAllocationTypePinned));
    IS(standard == by_place);
    OK(cudaMemGetMemPool(&current, &here, cudaMemAllocationTypePinned));
    IS(current == by_place);
    FAILS(cudaErrorInvalidValue, cudaMemGetMemPool(NULL, &here, cudaMemAllocationTypePinned));
    FAILS(cudaErrorInvalidValue, cudaMemGetMemPool(&current, NULL, cudaMemAllocationTypePinned));
    FAILS(cudaErrorInvalidValue, cudaMemGetMemPool(&current, &here, cudaMemAllocationTypeInvalid));
    here.id = 99;
    FAILS(cudaErrorInvalidValue, cudaMemGetMemPool(&current, &here, cudaMemAllocationTypePinned));
    here.type = cudaMemLocationTypeInvalid;
    FAILS(cudaErrorInvalidValue, cudaMemGetMemPool(&current, &here, cudaMemAllocationTypePinned));
}
