/* Copies: what goes where, what is refused, what is waited for. */
#include "conformance.h"

#include <stdlib.h>

/* ---- every kind of memory to every kind of memory, in every direction ---- */

typedef enum place { PAGEABLE, PINNED, REGISTERED, MANAGED, DEVICE } place;

enum { SIZE = 4096 };

static char *take(place p) {
    void *memory = NULL;
    cudaError_t result = cudaSuccess;
    switch (p) {
    case PINNED:
        result = cudaMallocHost(&memory, SIZE);
        break;
    case MANAGED:
        result = cudaMallocManaged(&memory, SIZE, cudaMemAttachGlobal);
        break;
    case DEVICE:
        result = cudaMalloc(&memory, SIZE);
        break;
    default:
        memory = aligned_alloc(SIZE, SIZE);
        if (p == REGISTERED)
            result = cudaHostRegister(memory, SIZE, cudaHostRegisterDefault);
    }
    return result ? NULL : memory;
}

static cudaError_t give_back(place p, void *memory) {
    cudaError_t result = cudaSuccess;
    if (p == PINNED)
        return cudaFreeHost(memory);
    if (p == MANAGED || p == DEVICE)
        return cudaFree(memory);
    if (p == REGISTERED)
        result = cudaHostUnregister(memory);
    free(memory);
    return result;
}

/* Any value, there and back by the direction that is always right. */
static cudaError_t put(char *memory, char value) {
    char bytes[SIZE];
    memset(bytes, value, SIZE);
    return cudaMemcpy(memory, bytes, SIZE, cudaMemcpyDefault);
}

static int look_at(const char *memory, size_t at) {
    char got = 0;
    return cudaMemcpy(&got, memory + at, 1, cudaMemcpyDefault) ? -1 : got;
}

/* Where addresses are unified a direction only says where there must not be pageable memory. */
static bool is_right(place from, place to, enum cudaMemcpyKind kind) {
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return !(to_device && to == PAGEABLE) && !(from_device && from == PAGEABLE);
}

static void copy(place from, place to, enum cudaMemcpyKind kind) {
    char *source = take(from), *target = take(to);
    cudaError_t expected = is_right(from, to, kind) ? cudaSuccess : cudaErrorInvalidValue;
    OK(put(source, 5));
    OK(put(target, 1));
    SAYS(expected, cudaMemcpy(target, source, SIZE, kind));
    if (!expected)
        EQUAL(look_at(target, SIZE - 1), 5);
    (void)cudaGetLastError();
    OK(put(source, 6));
    OK(put(target, 1));
    SAYS(expected, cudaMemcpyAsync(target, source, SIZE, kind, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    if (!expected)
        EQUAL(look_at(target, SIZE - 1), 6);
    OK(give_back(from, source));
    OK(give_back(to, target));
}

#define COPY(from, to, kind)                                                                       \
    CASE(kind##_from_##from##_to_##to) {                                                           \
        copy(from, to, cudaMemcpy##kind);                                                          \
    }
#define DIRECTIONS(from, to)                                                                       \
    COPY(from, to, HostToHost)                                                                     \
    COPY(from, to, HostToDevice)                                                                   \
    COPY(from, to, DeviceToHost)                                                                   \
    COPY(from, to, DeviceToDevice)                                                                 \
    COPY(from, to, Default)
#define TARGETS(from)                                                                              \
    DIRECTIONS(from, PAGEABLE)                                                                     \
    DIRECTIONS(from, PINNED)                                                                       \
    DIRECTIONS(from, REGISTERED)                                                                   \
    DIRECTIONS(from, MANAGED)                                                                      \
    DIRECTIONS(from, DEVICE)
TARGETS(PAGEABLE)
TARGETS(PINNED)
TARGETS(REGISTERED)
TARGETS(MANAGED)
TARGETS(DEVICE)

/* ---- arguments ---- */

CASE(a_direction_that_does_not_exist) {
    char *memory, local[16];
    OK(cudaMalloc((void **)&memory, 16));
    FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(local, memory, 16, (enum cudaMemcpyKind)5));
    FAILS(cudaErrorInvalidMemcpyDirection,
          cudaMemcpy(local, memory, 16, (enum cudaMemcpyKind)(-1)));
    FAILS(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyAsync(local, memory, 16, (enum cudaMemcpyKind)5, NULL));
    SAYS(cudaSuccess, cudaMemcpy(local, memory, 0, (enum cudaMemcpyKind)5));
    OK(cudaFree(memory));
}

CASE(no_bytes) {
    char *memory, local[16];
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMemcpy(local, memory, 0, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(memory, local, 0, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyDefault));
    OK(cudaMemcpyAsync(NULL, NULL, 0, cudaMemcpyDefault, NULL));
    OK(cudaMemcpy(memory + 100, local, 0, cudaMemcpyHostToDevice));
    OK(cudaFree(memory));
}

CASE(nowhere) {
    char *memory, local[16] = {0};
    OK(cudaMalloc((void **)&memory, 16));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(NULL, local, 16, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(memory, NULL, 16, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(NULL, memory, 16, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(local, NULL, 16, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(NULL, memory, 16, cudaMemcpyDeviceToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(memory, NULL, 16, cudaMemcpyDefault));
    OK(cudaFree(memory));
}

CASE(behind_the_end_of_a_large_allocation) {
    char *memory, *host = malloc(64 * MIB + 1);
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(host, memory, 64 * MIB + 1, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy(host, memory + 64 * MIB - 8, 16, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy(memory + 64 * MIB - 8, host, 16, cudaMemcpyHostToDevice));
    OK(cudaFree(memory));
    free(host);
}

CASE(behind_the_end_of_a_small_allocation) {
    char *memory, local[2048];
    OK(cudaMalloc((void **)&memory, 100));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(local, memory, 101, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(local, memory, 512, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(local, memory, 513, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(local, memory, 2048, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(local, memory + 100, 1, cudaMemcpyDeviceToHost));
    OK(cudaFree(memory));
}

CASE(behind_the_end_of_pinned_memory) {
    char *memory, *pinned;
    OK(cudaMalloc((void **)&memory, 4096));
    OK(cudaMallocHost((void **)&pinned, 1000));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(memory, pinned, 1001, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyAsync(memory, pinned, 1001, cudaMemcpyHostToDevice, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaFreeHost(pinned));
    OK(cudaFree(memory));
}

CASE(partly_registered_memory) {
    char *memory, *host = aligned_alloc(4096, 3 * 4096);
    OK(cudaMalloc((void **)&memory, 3 * 4096));
    OK(cudaHostRegister(host + 4096, 4096, cudaHostRegisterDefault));
    SAYS(cudaSuccess, cudaMemcpy(memory, host, 3 * 4096, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(memory, host + 4096, 2 * 4096, cudaMemcpyHostToDevice));
    SAYS(cudaSuccess, cudaMemcpy(memory, host, 2 * 4096, cudaMemcpyHostToDevice));
    SAYS(cudaSuccess, cudaMemcpy(host, memory, 3 * 4096, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyAsync(memory, host + 4096, 2 * 4096, cudaMemcpyHostToDevice, NULL));
    SAYS(cudaSuccess, cudaMemcpyAsync(memory, host, 2 * 4096, cudaMemcpyHostToDevice, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(host, host + 4096, 2 * 4096, cudaMemcpyDefault));
    OK(cudaDeviceSynchronize());
    OK(cudaHostUnregister(host + 4096));
    OK(cudaFree(memory));
    free(host);
}

CASE(from_freed_memory) {
    char *memory, local[16];
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    OK(cudaFree(memory));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(local, memory, 16, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(local, memory, 16, cudaMemcpyDeviceToHost, NULL));
}

CASE(overlapping_device_memory) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 64));
    OK(cudaMemcpy(memory, memory + 8, 32, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(memory, memory, 32, cudaMemcpyDeviceToDevice));
    OK(cudaFree(memory));
}

CASE(from_one_allocation_into_the_next) {
    char *a, *b, local[16] = "fifteen letters", got[16];
    OK(cudaMalloc((void **)&a, 16));
    OK(cudaMalloc((void **)&b, 16));
    OK(cudaMemcpy(a, local, 16, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, 16, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(got, b, 16, cudaMemcpyDeviceToHost));
    SAME_TEXT(got, local);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

/* ---- what the host waits for ---- */

CASE(an_asynchronous_copy_from_pinned_memory_is_not_waited_for) {
    char *memory, *pinned;
    cudaStream_t stream;
    OK(cudaMalloc((void **)&memory, SIZE));
    OK(cudaMallocHost((void **)&pinned, SIZE));
    OK(cudaStreamCreate(&stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, pinned, SIZE, cudaMemcpyHostToDevice, stream));
    WAITS(false, stream, cudaMemcpyAsync(pinned, memory, SIZE, cudaMemcpyDeviceToHost, stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, memory, SIZE, cudaMemcpyDeviceToDevice, stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(memory));
}

CASE(an_asynchronous_copy_into_pageable_memory) {
    char *memory, local[SIZE];
    cudaStream_t stream;
    OK(cudaMalloc((void **)&memory, SIZE));
    OK(cudaStreamCreate(&stream));
    WAITS(true, stream, cudaMemcpyAsync(local, memory, SIZE, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

CASE(an_asynchronous_copy_from_pageable_memory) {
    char *memory, *host = malloc(4 * MIB);
    cudaStream_t stream;
    OK(cudaMalloc((void **)&memory, 4 * MIB));
    OK(cudaStreamCreate(&stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, host, 4, cudaMemcpyHostToDevice, stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, host, 64 * KIB, cudaMemcpyHostToDevice, stream));
    WAITS(false, stream,
          cudaMemcpyAsync(memory, host, 64 * KIB + 1, cudaMemcpyHostToDevice, stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, host, 128 * KIB, cudaMemcpyHostToDevice, stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, host, 256 * KIB, cudaMemcpyHostToDevice, stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, host, 512 * KIB, cudaMemcpyHostToDevice, stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, host, MIB, cudaMemcpyHostToDevice, stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, host, MIB + 1, cudaMemcpyHostToDevice, stream));
    WAITS(false, stream, cudaMemcpyAsync(memory, host, 2 * MIB, cudaMemcpyHostToDevice, stream));
    WAITS(true, stream, cudaMemcpyAsync(memory, host, 3 * MIB, cudaMemcpyHostToDevice, stream));
    WAITS(true, stream, cudaMemcpyAsync(memory, host, 4 * MIB, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
    free(host);
}

CASE(an_asynchronous_copy_between_host_memories) {
    char *a, *b, local[64] = {0};
    cudaStream_t stream;
    OK(cudaMallocHost((void **)&a, SIZE));
    OK(cudaMallocHost((void **)&b, SIZE));
    OK(cudaStreamCreate(&stream));
    WAITS(true, stream, cudaMemcpyAsync(a, b, SIZE, cudaMemcpyHostToHost, stream));
    WAITS(true, stream, cudaMemcpyAsync(a, b, SIZE, cudaMemcpyDefault, stream));
    WAITS(true, stream, cudaMemcpyAsync(a, local, 64, cudaMemcpyHostToHost, stream));
    WAITS(true, stream, cudaMemcpyAsync(local, a, 64, cudaMemcpyHostToHost, stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(a));
    OK(cudaFreeHost(b));
}

CASE(a_copy_waits_for_the_default_stream) {
    char *memory, *other, *pinned, local[SIZE];
    OK(cudaMalloc((void **)&memory, SIZE));
    OK(cudaMalloc((void **)&other, SIZE));
    OK(cudaMallocHost((void **)&pinned, SIZE));
    WAITS(true, NULL, cudaMemcpy(local, memory, SIZE, cudaMemcpyDeviceToHost));
    WAITS(true, NULL, cudaMemcpy(pinned, memory, SIZE, cudaMemcpyDeviceToHost));
    WAITS(true, NULL, cudaMemcpy(memory, pinned, SIZE, cudaMemcpyHostToDevice));
    WAITS(true, NULL, cudaMemcpy(memory, local, 64, cudaMemcpyHostToDevice));
    WAITS(false, NULL, cudaMemcpy(other, memory, SIZE, cudaMemcpyDeviceToDevice));
    OK(cudaDeviceSynchronize());
    OK(cudaFreeHost(pinned));
    OK(cudaFree(other));
    OK(cudaFree(memory));
}

CASE(a_copy_waits_for_blocking_streams_only) {
    char *memory, local[SIZE];
    cudaStream_t blocking, other;
    OK(cudaMalloc((void **)&memory, SIZE));
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    WAITS(true, blocking, cudaMemcpy(local, memory, SIZE, cudaMemcpyDeviceToHost));
    WAITS(false, other, cudaMemcpy(local, memory, SIZE, cudaMemcpyDeviceToHost));
    OK(cudaStreamDestroy(blocking));
    OK(cudaStreamDestroy(other));
    OK(cudaFree(memory));
}

/* ---- rows ---- */

CASE(rows_from_here_to_there) {
    char *memory, rows[4][16] = {"first", "second", "third", "fourth"}, got[4][32];
    size_t pitch;
    OK(cudaMallocPitch((void **)&memory, &pitch, 16, 4));
    OK(cudaMemcpy2D(memory, pitch, rows, 16, 16, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(got, 32, memory, pitch, 16, 4, cudaMemcpyDeviceToHost));
    SAME_TEXT(got[0], "first");
    SAME_TEXT(got[3], "fourth");
    OK(cudaFree(memory));
}

CASE(rows_wider_than_their_pitch) {
    char *memory, rows[64];
    OK(cudaMalloc((void **)&memory, 4096));
    FAILS(cudaErrorInvalidPitchValue,
          cudaMemcpy2D(memory, 8, rows, 16, 16, 2, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidPitchValue,
          cudaMemcpy2D(memory, 16, rows, 8, 16, 2, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidPitchValue,
          cudaMemcpy2DAsync(memory, 8, rows, 16, 16, 2, cudaMemcpyHostToDevice, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemcpy2D(memory, 8, rows, 16, 16, 1, cudaMemcpyHostToDevice));
    SAYS(cudaSuccess, cudaMemcpy2D(memory, 8, rows, 16, 16, 0, cudaMemcpyHostToDevice));
    SAYS(cudaSuccess, cudaMemcpy2D(memory, 0, rows, 0, 0, 2, cudaMemcpyHostToDevice));
    OK(cudaFree(memory));
}

CASE(a_pitch_beyond_the_largest) {
    char *memory, rows[64];
    OK(cudaMalloc((void **)&memory, 4096));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2D(memory, (size_t)1 << 31, rows, 16, 16, 2, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(memory, (size_t)1 << 31, rows, 16, 16, 1, cudaMemcpyHostToDevice));
    SAYS(cudaSuccess,
         cudaMemcpy2D(memory, 16, rows, (size_t)1 << 31, 16, 1, cudaMemcpyHostToDevice));
    SAYS(cudaSuccess,
         cudaMemcpy2D(memory, ((size_t)1 << 31) - 1, rows, 16, 16, 1, cudaMemcpyHostToDevice));
    OK(cudaFree(memory));
}

CASE(rows_in_the_wrong_direction) {
    char *memory, rows[64];
    OK(cudaMalloc((void **)&memory, 4096));
    FAILS(cudaErrorInvalidValue, cudaMemcpy2D(memory, 16, rows, 16, 16, 2, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemcpy2D(rows, 16, memory, 16, 16, 2, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2D(memory, 16, rows, 16, 16, 2, cudaMemcpyDeviceToDevice));
    FAILS(cudaErrorInvalidMemcpyDirection,
          cudaMemcpy2D(memory, 16, rows, 16, 16, 2, (enum cudaMemcpyKind)7));
    OK(cudaFree(memory));
}

CASE(no_rows) {
    char *memory, rows[64];
    OK(cudaMalloc((void **)&memory, 4096));
    OK(cudaMemcpy2D(memory, 16, rows, 16, 16, 0, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(memory, 16, rows, 16, 0, 16, cudaMemcpyHostToDevice));
    OK(cudaFree(memory));
}

CASE(rows_behind_the_end) {
    char *memory, *rows = malloc(128 * MIB);
    OK(cudaMalloc((void **)&memory, 64 * MIB));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2D(memory, MIB, rows, MIB, MIB, 65, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(memory, MIB, rows, MIB, MIB, 1, cudaMemcpyHostToDevice));
    OK(cudaFree(memory));
    free(rows);
}

CASE(nowhere_by_rows) {
    char *memory, rows[64];
    OK(cudaMalloc((void **)&memory, 4096));
    FAILS(cudaErrorInvalidValue, cudaMemcpy2D(NULL, 16, rows, 16, 16, 2, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy2D(memory, 16, NULL, 16, 16, 2, cudaMemcpyHostToDevice));
    OK(cudaFree(memory));
}

/* ---- boxes
 * --------------------------------------------------------------------------------------- */

static struct cudaMemcpy3DParms box(void *to, void *from, size_t pitch, enum cudaMemcpyKind kind) {
    return (struct cudaMemcpy3DParms){.srcPtr = {from, pitch, 16, 2},
                                      .dstPtr = {to, pitch, 16, 2},
                                      .extent = {16, 2, 2},
                                      .kind = kind};
}

CASE(a_box_there_and_back) {
    char *memory, from[2][2][16] = {{"a", "b"}, {"c", "d"}}, got[2][2][16];
    OK(cudaMalloc((void **)&memory, 64));
    struct cudaMemcpy3DParms there = box(memory, from, 16, cudaMemcpyHostToDevice);
    struct cudaMemcpy3DParms back = box(got, memory, 16, cudaMemcpyDeviceToHost);
    OK(cudaMemcpy3D(&there));
    OK(cudaMemcpy3D(&back));
    SAME_TEXT(got[0][1], "b");
    SAME_TEXT(got[1][1], "d");
    OK(cudaMemcpy3DAsync(&there, NULL));
    OK(cudaFree(memory));
}

CASE(a_part_of_a_box) {
    char *memory, from[2][2][16] = {{"a", "b"}, {"c", "d"}},
                  got[2][2][16] = {{"-", "-"}, {"-", "-"}};
    OK(cudaMalloc((void **)&memory, 64));
    struct cudaMemcpy3DParms there = box(memory, from, 16, cudaMemcpyHostToDevice);
    struct cudaMemcpy3DParms back = box(got, memory, 16, cudaMemcpyDeviceToHost);
    OK(cudaMemcpy3D(&there));
    back.srcPos = (struct cudaPos){0, 1, 1};
    back.dstPos = (struct cudaPos){0, 0, 1};
    back.extent = (struct cudaExtent){16, 1, 1};
    OK(cudaMemcpy3D(&back));
    SAME_TEXT(got[1][0], "d");
    SAME_TEXT(got[0][0], "-");
    OK(cudaFree(memory));
}

CASE(boxes_that_are_refused) {
    char *memory, from[64] = {0};
    OK(cudaMalloc((void **)&memory, 64));
    struct cudaMemcpy3DParms p = box(memory, from, 16, cudaMemcpyHostToDevice);
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(NULL));
    p.kind = (enum cudaMemcpyKind)9;
    FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy3D(&p));
    p = box(memory, NULL, 16, cudaMemcpyHostToDevice);
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    p = box(memory, from, 8, cudaMemcpyHostToDevice);
    FAILS(cudaErrorInvalidPitchValue, cudaMemcpy3D(&p));
    p = box(memory, from, 16, cudaMemcpyDeviceToHost);
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    p = box(memory, from, 16, cudaMemcpyHostToDevice);
    p.extent.depth = 0;
    SAYS(cudaSuccess, cudaMemcpy3D(&p));
    p.extent = (struct cudaExtent){16, 3, 1};
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    p.extent = (struct cudaExtent){16, 2, 2};
    p.srcPos.x = 1;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    OK(cudaFree(memory));
}

/* ---- between devices
 * ----------------------------------------------------------------------------- */

CASE(to_the_same_device) {
    char *a, *b, local[16] = "fifteen letters", got[16];
    OK(cudaMalloc((void **)&a, 16));
    OK(cudaMalloc((void **)&b, 16));
    OK(cudaMemcpy(a, local, 16, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(b, 0, a, 0, 16));
    OK(cudaMemcpy(got, b, 16, cudaMemcpyDeviceToHost));
    SAME_TEXT(got, local);
    OK(cudaMemcpyPeerAsync(b, 0, a, 0, 16, NULL));
    OK(cudaFree(a));
    OK(cudaFree(b));
}

CASE(to_a_device_that_does_not_exist) {
    char *a;
    OK(cudaMalloc((void **)&a, 16));
    FAILS(cudaErrorInvalidDevice, cudaMemcpyPeer(a, 99, a, 0, 16));
    FAILS(cudaErrorInvalidDevice, cudaMemcpyPeer(a, 0, a, 99, 16));
    FAILS(cudaErrorInvalidDevice, cudaMemcpyPeerAsync(a, 0, a, -1, 16, NULL));
    SAYS(cudaSuccess, cudaMemcpyPeer(a, 0, a, 99, 0));
    FAILS(cudaErrorInvalidValue, cudaMemcpyPeer(NULL, 0, a, 0, 16));
    SAYS(cudaSuccess, cudaMemcpyPeer(a, 0, a, 0, 0));
    OK(cudaFree(a));
}

CASE(to_another_device) {
    char *a, *b, local[16] = "fifteen letters", got[16];
    NEEDS_DEVICES(2);
    OK(cudaMalloc((void **)&a, 16));
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&b, 16));
    OK(cudaSetDevice(0));
    OK(cudaMemcpy(a, local, 16, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(b, 1, a, 0, 16));
    OK(cudaMemcpy(got, b, 16, cudaMemcpyDeviceToHost));
    SAME_TEXT(got, local);
    OK(cudaMemcpy(b, a, 16, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(a, b, 16, cudaMemcpyDefault));
    OK(cudaFree(a));
    OK(cudaFree(b));
}

CASE(between_pools_of_two_devices) {
    char *a, *b, *plain;
    cudaMemPool_t pool;
    cudaStream_t here, there;
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, {0}},
                                       cudaMemAccessFlagsProtReadWrite};
    NEEDS_DEVICES(2);
    OK(cudaStreamCreate(&here));
    OK(cudaMallocAsync((void **)&a, 64, here));
    OK(cudaMalloc((void **)&plain, 64));
    OK(cudaStreamSynchronize(here));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&there));
    OK(cudaMallocAsync((void **)&b, 64, there));
    OK(cudaStreamSynchronize(there));
    OK(cudaSetDevice(0));
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(b, a, 64, cudaMemcpyDefault, here));
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(b, a, 64, cudaMemcpyDefault, there));
    FAILS(cudaErrorInvalidValue, cudaMemcpy2DAsync(b, 8, a, 8, 4, 4, cudaMemcpyDefault, here));
    OK(cudaMemcpyPeerAsync(b, 1, a, 0, 64, here));
    OK(cudaStreamSynchronize(here));
    OK(cudaMemcpyPeerAsync(a, 0, b, 1, 64, there));
    OK(cudaStreamSynchronize(there));
    SAYS(cudaErrorInvalidValue, cudaMemcpyPeerAsync(b, 0, a, 0, 64, here)); /* by another name */
    SAYS(cudaErrorInvalidValue, cudaMemcpyAsync(plain, b, 64, cudaMemcpyDefault, here));
    OK(cudaStreamSynchronize(here));
    SAYS(cudaErrorInvalidValue, cudaMemcpyAsync(plain, b, 64, cudaMemcpyDefault, there));
    SAYS(cudaSuccess, cudaMemcpyAsync(plain, a, 64, cudaMemcpyDefault, there));
    (void)cudaGetLastError();
    OK(cudaStreamSynchronize(there));
    OK(cudaDeviceGetDefaultMemPool(&pool, 1));
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaMemcpyAsync(b, a, 64, cudaMemcpyDefault, here));
    OK(cudaStreamSynchronize(here));
    SAYS(cudaSuccess, cudaMemcpyAsync(b, a, 64, cudaMemcpyDefault, there));
    (void)cudaGetLastError();
    OK(cudaStreamSynchronize(there));
    access.flags = cudaMemAccessFlagsProtNone;
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(plain));
    OK(cudaStreamDestroy(here));
    OK(cudaStreamDestroy(there));
}

CASE(pools_of_a_device_that_is_not_current) {
    static char host[64];
    char *memory, *pinned, *plain;
    cudaStream_t there;
    struct cudaMemcpy3DPeerParms rows = {.srcDevice = 1, .dstDevice = 0, .extent = {8, 4, 1}};
    NEEDS_DEVICES(2);
    OK(cudaMallocHost((void **)&pinned, 64));
    OK(cudaMalloc((void **)&plain, 64));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&there));
    OK(cudaSetDevice(0));
    OK(cudaMallocAsync((void **)&memory, 64, there)); /* of the stream's device */
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(memory, host, 64, cudaMemcpyHostToDevice, there));
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(host, memory, 64, cudaMemcpyDeviceToHost, there));
    SAYS(cudaErrorInvalidValue, cudaMemcpyAsync(memory, pinned, 64, cudaMemcpyDefault, there));
    SAYS(cudaErrorInvalidValue,
         cudaMemcpyAsync(memory, memory + 32, 32, cudaMemcpyDeviceToDevice, there));
    SAYS(cudaErrorInvalidValue, cudaMemcpyAsync(memory, plain, 64, cudaMemcpyDefault, there));
    SAYS(cudaErrorInvalidValue, cudaMemcpyAsync(memory, pinned, 64, cudaMemcpyDefault, NULL));
    SAYS(cudaErrorInvalidValue, cudaMemcpy(memory, host, 64, cudaMemcpyHostToDevice));
    SAYS(cudaSuccess, cudaMemsetAsync(memory, 1, 64, there));
    SAYS(cudaSuccess, cudaMemset2DAsync(memory, 8, 1, 4, 4, there));
    SAYS(cudaErrorInvalidValue, cudaMemset(memory, 1, 64));
    SAYS(cudaSuccess, cudaMemcpyPeerAsync(plain, 0, memory, 1, 64, there));
    rows.srcPtr = (struct cudaPitchedPtr){memory, 8, 8, 4};
    rows.dstPtr = (struct cudaPitchedPtr){plain, 8, 8, 4};
    SAYS(cudaSuccess, cudaMemcpy3DPeerAsync(&rows, there));
    (void)cudaGetLastError();
    OK(cudaDeviceSynchronize());
    OK(cudaStreamSynchronize(there));
    OK(cudaFreeAsync(memory, there));
    OK(cudaStreamDestroy(there));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(plain));
}

/* ---- batches
 * -------------------------------------------------------------------------------------- */

CASE(two_copies_in_one_call) {
    char *memory, *pinned;
    struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    size_t first = 0, sizes[2] = {8, 8};
    cudaStream_t stream;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMallocHost((void **)&pinned, 32));
    OK(cudaStreamCreate(&stream));
    memcpy(pinned, "fifteen letters", 16);
    void *to[2] = {memory, memory + 8};
    const void *from[2] = {pinned, pinned + 8};
    OK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream));
    OK(cudaMemcpyAsync(pinned + 16, memory, 16, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    SAME_TEXT(pinned + 16, "fifteen letters");
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(to, from, sizes, 0, &attributes, &first, 1, stream));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, sizes, 2, NULL, NULL, 0, stream));
    first = 1;
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream));
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    first = 0;
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(memory));
}
