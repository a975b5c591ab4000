/* Fills. */
#include "conformance.h"

#include <stdlib.h>

static int byte_at(const char *memory) {
    unsigned char got = 0;
    return cudaMemcpy(&got, memory, 1, cudaMemcpyDefault) ? -1 : got;
}

CASE(every_byte) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 1000));
    OK(cudaMemset(memory, 1, 1000));
    OK(cudaMemset(memory, 7, 999));
    EQUAL(byte_at(memory), 7);
    EQUAL(byte_at(memory + 998), 7);
    EQUAL(byte_at(memory + 999), 1);
    OK(cudaFree(memory));
}

CASE(the_lowest_byte_of_the_value) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMemset(memory, 0x12345678, 16));
    EQUAL(byte_at(memory), 0x78);
    EQUAL(byte_at(memory + 1), 0x78);
    OK(cudaMemset(memory, -1, 16));
    EQUAL(byte_at(memory), 0xff);
    OK(cudaFree(memory));
}

CASE(no_bytes) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMemset(memory, 1, 0));
    OK(cudaMemset(NULL, 1, 0));
    OK(cudaMemsetAsync(memory, 1, 0, NULL));
    OK(cudaFree(memory));
}

CASE(nowhere) {
    FAILS(cudaErrorInvalidValue, cudaMemset(NULL, 1, 16));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(NULL, 1, 16, NULL));
}

CASE(pageable_memory) {
    char local[16] = "untouched";
    FAILS(cudaErrorInvalidValue, cudaMemset(local, 1, 16));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(local, 1, 16, NULL));
    SAME_TEXT(local, "untouched");
}

CASE(pinned_memory) {
    char *memory;
    OK(cudaMallocHost((void **)&memory, 16));
    OK(cudaMemset(memory, 7, 16));
    OK(cudaDeviceSynchronize());
    EQUAL(memory[15], 7);
    OK(cudaMemsetAsync(memory, 8, 16, NULL));
    OK(cudaDeviceSynchronize());
    EQUAL(memory[15], 8);
    OK(cudaFreeHost(memory));
}

CASE(registered_memory) {
    char *memory = aligned_alloc(4096, 4096);
    OK(cudaHostRegister(memory, 4096, cudaHostRegisterDefault));
    OK(cudaMemset(memory, 7, 4096));
    OK(cudaDeviceSynchronize());
    EQUAL(memory[4095], 7);
    OK(cudaHostUnregister(memory));
    free(memory);
}

CASE(managed_memory) {
    char *memory;
    OK(cudaMallocManaged((void **)&memory, 4096, cudaMemAttachGlobal));
    OK(cudaMemset(memory, 7, 4096));
    OK(cudaDeviceSynchronize());
    EQUAL(memory[4095], 7);
    OK(cudaFree(memory));
}

CASE(behind_the_end_of_a_large_allocation) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    FAILS(cudaErrorInvalidValue, cudaMemset(memory, 1, 64 * MIB + 1));
    FAILS(cudaErrorInvalidValue, cudaMemset(memory + 64 * MIB - 8, 1, 16));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(memory, 1, 64 * MIB + 1, NULL));
    OK(cudaFree(memory));
}

CASE(behind_the_end_of_a_small_allocation) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 100));
    FAILS(cudaErrorInvalidValue, cudaMemset(memory, 1, 101));
    FAILS(cudaErrorInvalidValue, cudaMemset(memory, 1, 512));
    FAILS(cudaErrorInvalidValue, cudaMemset(memory, 1, 513));
    OK(cudaFree(memory));
}

CASE(freed_memory) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    OK(cudaFree(memory));
    FAILS(cudaErrorInvalidValue, cudaMemset(memory, 1, 16));
}

CASE(a_fill_of_device_memory_is_not_waited_for) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 4096));
    WAITS(false, NULL, cudaMemset(memory, 1, 4096));
    WAITS(false, NULL, cudaMemsetAsync(memory, 1, 4096, NULL));
    OK(cudaFree(memory));
}

CASE(a_fill_of_pinned_memory_is_waited_for) {
    char *memory;
    OK(cudaMallocHost((void **)&memory, 4096));
    WAITS(true, NULL, cudaMemset(memory, 1, 4096));
    WAITS(false, NULL, cudaMemsetAsync(memory, 1, 4096, NULL));
    OK(cudaFreeHost(memory));
}

CASE(a_fill_of_managed_memory) {
    char *memory;
    OK(cudaMallocManaged((void **)&memory, 4096, cudaMemAttachGlobal));
    WAITS(true, NULL, cudaMemset(memory, 1, 4096));
    OK(cudaFree(memory));
}

/* ---- rows ---- */

CASE(rows) {
    char *memory;
    size_t pitch;
    OK(cudaMallocPitch((void **)&memory, &pitch, 100, 3));
    OK(cudaMemset2D(memory, pitch, 1, pitch, 3));
    OK(cudaMemset2D(memory, pitch, 7, 100, 3));
    EQUAL(byte_at(memory + 99), 7);
    EQUAL(byte_at(memory + 100), 1);
    EQUAL(byte_at(memory + 2 * pitch + 99), 7);
    OK(cudaMemset2DAsync(memory, pitch, 8, 100, 3, NULL));
    EQUAL(byte_at(memory + 2 * pitch + 99), 8);
    OK(cudaFree(memory));
}

CASE(rows_wider_than_their_pitch) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 4096));
    FAILS(cudaErrorInvalidValue, cudaMemset2D(memory, 8, 1, 16, 2));
    SAYS(cudaSuccess, cudaMemset2D(memory, 8, 1, 16, 1));
    SAYS(cudaSuccess, cudaMemset2D(memory, 0, 1, 16, 1));
    FAILS(cudaErrorInvalidValue, cudaMemset2D(memory, 0, 1, 16, 2));
    FAILS(cudaErrorInvalidValue, cudaMemset2DAsync(memory, 8, 1, 16, 2, NULL));
    OK(cudaFree(memory));
}

CASE(no_rows) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 4096));
    OK(cudaMemset2D(memory, 16, 1, 16, 0));
    OK(cudaMemset2D(memory, 16, 1, 0, 16));
    OK(cudaFree(memory));
}

CASE(rows_nowhere) {
    FAILS(cudaErrorInvalidValue, cudaMemset2D(NULL, 16, 1, 16, 2));
}

CASE(rows_behind_the_end) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    FAILS(cudaErrorInvalidValue, cudaMemset2D(memory, MIB, 1, MIB, 65));
    OK(cudaMemset2D(memory, MIB, 1, MIB, 64));
    OK(cudaFree(memory));
}

/* ---- boxes ---- */

CASE(a_box) {
    struct cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, (struct cudaExtent){100, 3, 2}));
    OK(cudaMemset3D(box, 7, (struct cudaExtent){100, 3, 2}));
    OK(cudaMemset3D(box, 8, (struct cudaExtent){50, 2, 1}));
    EQUAL(byte_at((char *)box.ptr + box.pitch * 5 + 99), 7);
    EQUAL(byte_at((char *)box.ptr + box.pitch * 1 + 49), 8);
    OK(cudaMemset3DAsync(box, 9, (struct cudaExtent){100, 3, 2}, NULL));
    EQUAL(byte_at((char *)box.ptr + box.pitch * 5 + 99), 9);
    OK(cudaFree(box.ptr));
}

CASE(boxes_that_are_refused) {
    struct cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, (struct cudaExtent){100, 3, 2}));
    FAILS(cudaErrorInvalidValue, cudaMemset3D(box, 1, (struct cudaExtent){box.pitch + 1, 3, 2}));
    FAILS(cudaErrorInvalidValue, cudaMemset3D(box, 1, (struct cudaExtent){100, 4, 2}));
    FAILS(cudaErrorInvalidValue, cudaMemset3D(box, 1, (struct cudaExtent){100, 4, 1}));
    SAYS(cudaSuccess, cudaMemset3D(box, 1, (struct cudaExtent){0, 3, 2}));
    SAYS(cudaSuccess, cudaMemset3D(box, 1, (struct cudaExtent){100, 3, 0}));
    OK(cudaFree(box.ptr));
}
