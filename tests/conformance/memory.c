/* Device memory: allocating, freeing, pitches, and what a pointer is. */
#include "conformance.h"

#include <time.h>

static size_t free_bytes(void) {
    size_t available = 0, total = 0;
    return cudaMemGetInfo(&available, &total) ? 0 : available;
}

/* ---- cudaMalloc, cudaFree ---- */

CASE(nothing_is_nowhere) {
    void *memory = &memory;
    OK(cudaMalloc(&memory, 0));
    IS(memory == NULL);
}

CASE(allocations_are_aligned_and_apart) {
    char *a, *b;
    OK(cudaMalloc((void **)&a, 1));
    OK(cudaMalloc((void **)&b, 1000));
    EQUAL((uintptr_t)a % 256, 0);
    EQUAL((uintptr_t)b % 256, 0);
    IS(a != b);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

CASE(small_allocations_lie_512_bytes_apart) {
    char *all[8];
    int together = 0;
    for (int i = 0; i < 8; i++)
        OK(cudaMalloc((void **)&all[i], 1));
    for (int i = 1; i < 8; i++)
        together += all[i] - all[i - 1] == 512;
    IS(together > 0);
    for (int i = 0; i < 8; i++)
        OK(cudaFree(all[i]));
}

CASE(malloc_wants_a_place_for_the_pointer) {
    FAILS(cudaErrorInvalidValue, cudaMalloc(NULL, 100));
}

CASE(malloc_of_nothing_wants_a_place_too) {
    FAILS(cudaErrorInvalidValue, cudaMalloc(NULL, 0));
}

CASE(malloc_of_too_much) {
    void *memory = &memory;
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&memory, (size_t)1 << 46));
    IS(memory == NULL);
    IS(memory != (void *)&memory);
}

CASE(malloc_of_everything_there_could_be) {
    void *memory;
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&memory, SIZE_MAX));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&memory, SIZE_MAX / 2));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&memory, SIZE_MAX - 511));
}

CASE(what_is_free_is_not_more_than_the_total) {
    size_t available = 0, total = 0;
    OK(cudaMemGetInfo(&available, &total));
    IS(available > 0);
    IS(available <= total);
}

CASE(a_large_allocation_is_taken_from_what_is_free) {
    size_t taken = 0, kept = 1;
    const time_t end = time(NULL) + 6; /* others may use the device: there is a quiet moment */
    while ((taken != 64 * MIB || kept) && time(NULL) < end) {
        char *memory;
        size_t before = free_bytes();
        OK(cudaMalloc((void **)&memory, 64 * MIB));
        taken = before - free_bytes();
        OK(cudaFree(memory));
        kept = before - free_bytes();
    }
    EQUAL(taken, 64 * MIB);
    EQUAL(kept, 0);
}

CASE(memory_info_fills_what_is_asked_for) {
    size_t size;
    OK(cudaMemGetInfo(NULL, &size));
    OK(cudaMemGetInfo(&size, NULL));
    OK(cudaMemGetInfo(NULL, NULL));
}

CASE(memory_is_writable_to_its_last_byte) {
    char *memory, got = 0;
    const char value = 7;
    OK(cudaMalloc((void **)&memory, 1000));
    OK(cudaMemcpy(memory + 999, &value, 1, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(&got, memory + 999, 1, cudaMemcpyDeviceToHost));
    EQUAL(got, 7);
    OK(cudaFree(memory));
}

CASE(free_of_null_does_nothing) {
    OK(cudaFree(NULL));
}

CASE(free_takes_no_interior_pointer) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 1000));
    FAILS(cudaErrorInvalidValue, cudaFree(memory + 1));
    FAILS(cudaErrorInvalidValue, cudaFree(memory + 512));
    OK(cudaFree(memory));
}

CASE(free_takes_no_memory_of_the_host) {
    int local = 0;
    FAILS(cudaErrorInvalidValue, cudaFree(&local));
}

CASE(free_takes_no_pinned_memory) {
    void *memory;
    OK(cudaMallocHost(&memory, 1000));
    FAILS(cudaErrorInvalidValue, cudaFree(memory));
    OK(cudaFreeHost(memory));
}

CASE(free_takes_nothing_twice) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    OK(cudaFree(memory));
    FAILS(cudaErrorInvalidValue, cudaFree(memory));
}

CASE(free_waits_for_the_work_of_the_device) {
    char *memory, *other;
    cudaStream_t stream;
    OK(cudaMalloc((void **)&memory, 1000));
    OK(cudaMalloc((void **)&other, 1000));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMemsetAsync(memory, 1, 1000, stream));
    OK(cudaFree(other));
    SAYS(cudaSuccess, cudaStreamQuery(stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

CASE(addresses_are_used_again) {
    char *a, *b;
    OK(cudaMalloc((void **)&a, 64 * MIB));
    OK(cudaFree(a));
    OK(cudaMalloc((void **)&b, 64 * MIB));
    OK(cudaFree(b));
}

/* ---- pitches ---- */

CASE(rows_are_pitched) {
    char *memory;
    size_t pitch = 0;
    OK(cudaMallocPitch((void **)&memory, &pitch, 100, 10));
    EQUAL(pitch, 512);
    OK(cudaFree(memory));
    OK(cudaMallocPitch((void **)&memory, &pitch, 512, 10));
    EQUAL(pitch, 512);
    OK(cudaFree(memory));
    OK(cudaMallocPitch((void **)&memory, &pitch, 513, 10));
    EQUAL(pitch, 1024);
    OK(cudaFree(memory));
}

CASE(pitched_nothing) {
    char *memory = (char *)1;
    size_t pitch = 12345;
    SAYS(cudaSuccess, cudaMallocPitch((void **)&memory, &pitch, 0, 10));
    EQUAL(pitch, 0);
    IS(memory == NULL);
    pitch = 12345;
    memory = (char *)1;
    SAYS(cudaSuccess, cudaMallocPitch((void **)&memory, &pitch, 10, 0));
    EQUAL(pitch, 0);
    IS(memory == NULL);
}

CASE(pitched_memory_wants_its_places) {
    char *memory;
    size_t pitch;
    FAILS(cudaErrorInvalidValue, cudaMallocPitch(NULL, &pitch, 10, 10));
    FAILS(cudaErrorInvalidValue, cudaMallocPitch((void **)&memory, NULL, 10, 10));
}

CASE(pitched_memory_of_too_much) {
    char *memory;
    size_t pitch;
    FAILS(cudaErrorMemoryAllocation,
          cudaMallocPitch((void **)&memory, &pitch, (size_t)1 << 40, 1 << 10));
    FAILS(cudaErrorInvalidValue, cudaMallocPitch((void **)&memory, &pitch, SIZE_MAX, 1));
    FAILS(cudaErrorInvalidValue,
          cudaMallocPitch((void **)&memory, &pitch, (size_t)1 << 40, (size_t)1 << 40));
    FAILS(cudaErrorMemoryAllocation,
          cudaMallocPitch((void **)&memory, &pitch, (size_t)1 << 20, (size_t)1 << 30));
}

CASE(memory_in_three_dimensions) {
    struct cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, (struct cudaExtent){100, 10, 5}));
    EQUAL(box.pitch, 512);
    EQUAL(box.xsize, 100);
    EQUAL(box.ysize, 10);
    OK(cudaMemset3D(box, 1, (struct cudaExtent){100, 10, 5}));
    OK(cudaFree(box.ptr));
}

CASE(memory_in_three_dimensions_wants_a_place) {
    FAILS(cudaErrorInvalidValue, cudaMalloc3D(NULL, (struct cudaExtent){100, 10, 5}));
}

CASE(three_dimensions_of_nothing) {
    struct cudaPitchedPtr box = {(void *)1, 12345, 12345, 12345};
    SAYS(cudaSuccess, cudaMalloc3D(&box, (struct cudaExtent){100, 10, 0}));
    IS(box.ptr == NULL);
    EQUAL(box.pitch, 0);
    EQUAL(box.xsize, 100);
    EQUAL(box.ysize, 10);
}

/* ---- what a pointer is ---- */

CASE(a_pointer_to_device_memory) {
    char *memory;
    struct cudaPointerAttributes a;
    OK(cudaMalloc((void **)&memory, 1000));
    OK(cudaPointerGetAttributes(&a, memory));
    EQUAL(a.type, cudaMemoryTypeDevice);
    EQUAL(a.device, 0);
    IS(a.devicePointer == memory);
    IS(a.hostPointer == NULL);
    OK(cudaFree(memory));
}

CASE(a_pointer_into_device_memory) {
    char *memory;
    struct cudaPointerAttributes a;
    OK(cudaMalloc((void **)&memory, 1000));
    OK(cudaPointerGetAttributes(&a, memory + 999));
    EQUAL(a.type, cudaMemoryTypeDevice);
    IS(a.devicePointer == memory + 999);
    OK(cudaFree(memory));
}

CASE(a_pointer_behind_device_memory) {
    char *memory;
    struct cudaPointerAttributes a;
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    OK(cudaPointerGetAttributes(&a, memory + 64 * MIB - 1));
    EQUAL(a.type, cudaMemoryTypeDevice);
    OK(cudaFree(memory));
}

CASE(a_pointer_to_freed_memory) {
    char *memory;
    struct cudaPointerAttributes a;
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    OK(cudaFree(memory));
    SAYS(cudaSuccess, cudaPointerGetAttributes(&a, memory));
    EQUAL(a.type, 0);
    EQUAL(a.device, -2);
}

CASE(a_pointer_to_pinned_memory) {
    char *memory;
    struct cudaPointerAttributes a;
    OK(cudaMallocHost((void **)&memory, 1000));
    OK(cudaPointerGetAttributes(&a, memory + 10));
    EQUAL(a.type, cudaMemoryTypeHost);
    EQUAL(a.device, 0);
    IS(a.devicePointer == memory + 10);
    IS(a.hostPointer == memory + 10);
    OK(cudaFreeHost(memory));
}

CASE(a_pointer_to_registered_memory) {
    static char memory[8192];
    struct cudaPointerAttributes a;
    OK(cudaHostRegister(memory, sizeof memory, cudaHostRegisterDefault));
    OK(cudaPointerGetAttributes(&a, memory + 10));
    EQUAL(a.type, cudaMemoryTypeHost);
    EQUAL(a.device, 0);
    IS(a.devicePointer == memory + 10);
    IS(a.hostPointer == memory + 10);
    OK(cudaHostUnregister(memory));
}

CASE(a_pointer_to_managed_memory) {
    char *memory;
    struct cudaPointerAttributes a;
    OK(cudaMallocManaged((void **)&memory, 1000, cudaMemAttachGlobal));
    OK(cudaPointerGetAttributes(&a, memory + 10));
    EQUAL(a.type, cudaMemoryTypeManaged);
    EQUAL(a.device, 0);
    IS(a.devicePointer == memory + 10);
    IS(a.hostPointer == memory + 10);
    OK(cudaFree(memory));
}

CASE(a_pointer_to_pooled_memory) {
    char *memory;
    struct cudaPointerAttributes a;
    OK(cudaMallocAsync((void **)&memory, 1000, NULL));
    OK(cudaPointerGetAttributes(&a, memory + 10));
    EQUAL(a.type, cudaMemoryTypeDevice);
    EQUAL(a.device, 0);
    IS(a.devicePointer == memory + 10);
    IS(a.hostPointer == NULL);
    OK(cudaFree(memory));
}

CASE(a_pointer_that_cuda_does_not_know) {
    int local = 0;
    struct cudaPointerAttributes a = {.device = 99};
    OK(cudaPointerGetAttributes(&a, &local));
    EQUAL(a.type, cudaMemoryTypeUnregistered);
    EQUAL(a.device, -2);
    IS(a.devicePointer == NULL);
    IS(a.hostPointer == (void *)&local);
}

CASE(a_pointer_to_nothing) {
    struct cudaPointerAttributes a = {.device = 99};
    SAYS(cudaSuccess, cudaPointerGetAttributes(&a, NULL));
    EQUAL(a.type, 0);
    EQUAL(a.device, -2);
    IS(a.devicePointer == NULL);
    IS(a.hostPointer == NULL);
}

CASE(pointer_attributes_want_a_place) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 1000));
    FAILS(cudaErrorInvalidValue, cudaPointerGetAttributes(NULL, memory));
    OK(cudaFree(memory));
}

CASE(memory_belongs_to_the_device_it_was_made_on) {
    char *memory;
    struct cudaPointerAttributes a;
    NEEDS_DEVICES(2);
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&memory, 1000));
    OK(cudaSetDevice(0));
    OK(cudaPointerGetAttributes(&a, memory));
    EQUAL(a.device, 1);
    OK(cudaFree(memory));
}
