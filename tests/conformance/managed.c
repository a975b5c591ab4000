/* Managed memory, in small amounts. */
#include "conformance.h"

enum { SIZE = 64 * KIB };

static char *take(void) {
    void *memory = NULL;
    return cudaMallocManaged(&memory, SIZE, cudaMemAttachGlobal) ? NULL : memory;
}

static struct cudaMemLocation at(enum cudaMemLocationType type, int id) {
    struct cudaMemLocation location = {.type = type};
    location.id = id;
    return location;
}

#define DEVICE_0 at(cudaMemLocationTypeDevice, 0)
#define HOST     at(cudaMemLocationTypeHost, 0)

CASE(managed_memory_is_the_hosts_too) {
    char *memory;
    OK(cudaMallocManaged((void **)&memory, SIZE, cudaMemAttachGlobal));
    memory[0] = 7;
    OK(cudaMemset(memory, 1, SIZE));
    OK(cudaDeviceSynchronize());
    EQUAL(memory[0], 1);
    OK(cudaFree(memory));
}

CASE(managed_memory_that_is_refused) {
    void *memory = &memory;
    FAILS(cudaErrorInvalidValue, cudaMallocManaged(NULL, 16, cudaMemAttachGlobal));
    OK(cudaMallocManaged(&memory, 0, cudaMemAttachGlobal));
    IS(memory == NULL);
    FAILS(cudaErrorInvalidValue, cudaMallocManaged(&memory, 16, cudaMemAttachSingle));
    FAILS(cudaErrorInvalidValue, cudaMallocManaged(&memory, 16, 0));
    FAILS(cudaErrorInvalidValue, cudaMallocManaged(&memory, 16, 3));
}

CASE(managed_memory_of_the_host) {
    char *memory;
    OK(cudaMallocManaged((void **)&memory, SIZE, cudaMemAttachHost));
    memory[0] = 7;
    OK(cudaFree(memory));
}

CASE(advice_is_kept) {
    char *memory = take();
    int value = 99;
    NEEDS(ACU_FEATURE_MANAGED_MEMORY_HINTS);
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, memory, SIZE));
    EQUAL(value, 0);
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetReadMostly, DEVICE_0));
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, memory, SIZE));
    EQUAL(value, 1);
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseUnsetReadMostly, DEVICE_0));
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, memory, SIZE));
    EQUAL(value, 0);
    OK(cudaFree(memory));
}

CASE(the_preferred_place) {
    char *memory = take();
    int value = 99;
    NEEDS(ACU_FEATURE_MANAGED_MEMORY_HINTS);
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, memory, SIZE));
    EQUAL(value, cudaInvalidDeviceId);
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetPreferredLocation, DEVICE_0));
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, memory, SIZE));
    EQUAL(value, 0);
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetPreferredLocation, HOST));
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, memory, SIZE));
    EQUAL(value, cudaCpuDeviceId);
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseUnsetPreferredLocation, DEVICE_0));
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, memory, SIZE));
    EQUAL(value, cudaInvalidDeviceId);
    OK(cudaFree(memory));
}

CASE(who_accesses_it) {
    char *memory = take();
    int list[4] = {99, 99, 99, 99};
    NEEDS(ACU_FEATURE_MANAGED_MEMORY_HINTS);
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetAccessedBy, DEVICE_0));
    OK(cudaMemRangeGetAttribute(list, 16, cudaMemRangeAttributeAccessedBy, memory, SIZE));
    EQUAL(list[0], 0);
    EQUAL(list[1], cudaInvalidDeviceId);
    EQUAL(list[3], cudaInvalidDeviceId);
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetAccessedBy, HOST));
    OK(cudaMemRangeGetAttribute(list, 16, cudaMemRangeAttributeAccessedBy, memory, SIZE));
    EQUAL(list[0], 0);
    EQUAL(list[1], -1);
    EQUAL(list[2], -2);
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseUnsetAccessedBy, DEVICE_0));
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseUnsetAccessedBy, HOST));
    OK(cudaMemRangeGetAttribute(list, 16, cudaMemRangeAttributeAccessedBy, memory, SIZE));
    EQUAL(list[0], cudaInvalidDeviceId);
    OK(cudaFree(memory));
}

CASE(where_it_was_prefetched) {
    char *memory = take();
    int value = 99;
    NEEDS(ACU_FEATURE_MANAGED_MEMORY_HINTS);
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeLastPrefetchLocation, memory,
                                SIZE));
    EQUAL(value, cudaInvalidDeviceId);
    OK(cudaMemPrefetchAsync(memory, SIZE, DEVICE_0, 0, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeLastPrefetchLocation, memory,
                                SIZE));
    EQUAL(value, 0);
    OK(cudaMemPrefetchAsync(memory, SIZE, HOST, 0, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeLastPrefetchLocation, memory,
                                SIZE));
    EQUAL(value, cudaCpuDeviceId);
    OK(cudaFree(memory));
}

CASE(several_attributes) {
    char *memory = take();
    int mostly = 99, preferred = 99;
    void *data[] = {&mostly, &preferred};
    size_t sizes[] = {4, 4};
    enum cudaMemRangeAttribute which[] = {cudaMemRangeAttributeReadMostly,
                                          cudaMemRangeAttributePreferredLocation};
    NEEDS(ACU_FEATURE_MANAGED_MEMORY_HINTS);
    OK(cudaMemRangeGetAttributes(data, sizes, which, 2, memory, SIZE));
    EQUAL(mostly, 0);
    EQUAL(preferred, cudaInvalidDeviceId);
    FAILS(cudaErrorInvalidValue, cudaMemRangeGetAttributes(data, sizes, which, 0, memory, SIZE));
    FAILS(cudaErrorInvalidValue, cudaMemRangeGetAttributes(NULL, sizes, which, 2, memory, SIZE));
    FAILS(cudaErrorInvalidValue, cudaMemRangeGetAttributes(data, NULL, which, 2, memory, SIZE));
    FAILS(cudaErrorInvalidValue, cudaMemRangeGetAttributes(data, sizes, NULL, 2, memory, SIZE));
    OK(cudaFree(memory));
}

CASE(attributes_that_are_refused) {
    char *memory = take(), *other;
    int value[4];
    OK(cudaMalloc((void **)&other, SIZE));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 3, cudaMemRangeAttributeReadMostly, memory, SIZE));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 8, cudaMemRangeAttributeReadMostly, memory, SIZE));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 0, cudaMemRangeAttributeAccessedBy, memory, SIZE));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 6, cudaMemRangeAttributeAccessedBy, memory, SIZE));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(NULL, 4, cudaMemRangeAttributeReadMostly, memory, SIZE));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 4, (enum cudaMemRangeAttribute)0, memory, SIZE));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 4, (enum cudaMemRangeAttribute)77, memory, SIZE));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 4, cudaMemRangeAttributeReadMostly, memory, 0));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 4, cudaMemRangeAttributeReadMostly, memory, SIZE + 1));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 4, cudaMemRangeAttributeReadMostly, memory, MIB * 64));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 4, cudaMemRangeAttributeReadMostly, other, SIZE));
    FAILS(cudaErrorInvalidValue,
          cudaMemRangeGetAttribute(value, 4, cudaMemRangeAttributeReadMostly, value, 4));
    OK(cudaFree(other));
    OK(cudaFree(memory));
}

CASE(advice_that_is_refused) {
    char *memory = take(), *other;
    int local = 0;
    OK(cudaMalloc((void **)&other, SIZE));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(memory, SIZE, (enum cudaMemoryAdvise)0, DEVICE_0));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(memory, SIZE, (enum cudaMemoryAdvise)77, DEVICE_0));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(memory, 0, cudaMemAdviseSetReadMostly, DEVICE_0));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(NULL, SIZE, cudaMemAdviseSetReadMostly, DEVICE_0));
    FAILS(cudaErrorInvalidValue,
          cudaMemAdvise(memory, MIB * 64, cudaMemAdviseSetReadMostly, DEVICE_0));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(other, SIZE, cudaMemAdviseSetReadMostly, DEVICE_0));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(&local, 4, cudaMemAdviseSetReadMostly, DEVICE_0));
    FAILS(FROM(12020, cudaErrorInvalidValue, cudaErrorInvalidDevice),
          cudaMemAdvise(memory, SIZE, cudaMemAdviseSetPreferredLocation,
                        at(cudaMemLocationTypeDevice, 99)));
    FAILS(
        FROM(12020, cudaErrorInvalidValue, cudaErrorInvalidDevice),
        cudaMemAdvise(memory, SIZE, cudaMemAdviseSetAccessedBy, at(cudaMemLocationTypeDevice, 99)));
    SAYS(cudaSuccess, cudaMemAdvise(memory, SIZE, cudaMemAdviseSetReadMostly,
                                    at(cudaMemLocationTypeDevice, 99)));
    OK(cudaFree(other));
    OK(cudaFree(memory));
}

CASE(prefetches_that_are_refused) {
    char *memory = take(), *other;
    int local = 0;
    OK(cudaMalloc((void **)&other, SIZE));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(memory, 0, DEVICE_0, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(NULL, SIZE, DEVICE_0, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(memory, MIB * 64, DEVICE_0, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(other, SIZE, DEVICE_0, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(&local, 4, DEVICE_0, 0, NULL));
    FAILS(cudaErrorInvalidDevice,
          cudaMemPrefetchAsync(memory, SIZE, at(cudaMemLocationTypeDevice, 99), 0, NULL));
    OK(cudaFree(other));
    OK(cudaFree(memory));
}

CASE(places_of_numa_nodes) {
    char *memory = take();
    NEEDS(ACU_FEATURE_HOST_NUMA_LOCATIONS);
    OK(cudaMemAdvise(memory, SIZE, cudaMemAdviseSetPreferredLocation,
                     at(cudaMemLocationTypeHostNuma, 0)));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(memory, SIZE, cudaMemAdviseSetPreferredLocation,
                                               at(cudaMemLocationTypeHostNuma, 99)));
    SAYS(cudaSuccess, cudaMemAdvise(memory, SIZE, cudaMemAdviseSetPreferredLocation,
                                    at(cudaMemLocationTypeHostNumaCurrent, 0)));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(memory, SIZE, cudaMemAdviseSetAccessedBy,
                                               at(cudaMemLocationTypeHostNuma, 0)));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(memory, SIZE, cudaMemAdviseSetPreferredLocation,
                                               at(cudaMemLocationTypeInvalid, 0)));
    SAYS(cudaSuccess,
         cudaMemPrefetchAsync(memory, SIZE, at(cudaMemLocationTypeHostNuma, 0), 0, NULL));
    FAILS(cudaErrorInvalidValue,
          cudaMemPrefetchAsync(memory, SIZE, at(cudaMemLocationTypeInvalid, 0), 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(memory, SIZE, DEVICE_0, 1, NULL));
    OK(cudaFree(memory));
}

CASE(attaching_to_a_stream) {
    char *memory = take();
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamAttachMemAsync(stream, memory, 0, cudaMemAttachSingle));
    OK(cudaStreamAttachMemAsync(stream, memory, SIZE, cudaMemAttachGlobal));
    OK(cudaStreamAttachMemAsync(stream, memory, 0, cudaMemAttachHost));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

CASE(attaching_a_part) {
    char *memory = take();
    FAILS(cudaErrorInvalidValue,
          cudaStreamAttachMemAsync(cudaStreamPerThread, memory, SIZE / 2, cudaMemAttachGlobal));
    FAILS(cudaErrorInvalidValue,
          cudaStreamAttachMemAsync(cudaStreamPerThread, memory + 4096, 0, cudaMemAttachGlobal));
    OK(cudaFree(memory));
}

CASE(attaching_to_the_default_stream) {
    char *memory = take();
    FAILS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(NULL, memory, 0, cudaMemAttachSingle));
    SAYS(cudaSuccess, cudaStreamAttachMemAsync(NULL, memory, 0, cudaMemAttachGlobal));
    OK(cudaFree(memory));
}
