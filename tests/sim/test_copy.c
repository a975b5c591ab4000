/* Copies and fills, of every kind and direction. */
#include "sim_test.h"

enum { SIZE = 1000 };

static char from[SIZE], back[SIZE];
static char *a, *b, *pinned;

static int setup(void **state) {
    (void)begin(state);
    for (int i = 0; i < SIZE; i++)
        from[i] = (char)(i * 7 + 1);
    memset(back, 0, SIZE);
    OK(cudaMalloc((void **)&a, SIZE));
    OK(cudaMalloc((void **)&b, SIZE));
    OK(cudaMallocHost((void **)&pinned, SIZE));
    return 0;
}

static int teardown(void **state) {
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFreeHost(pinned));
    return end(state);
}

TEST(there_and_back) {
    OK(cudaMemcpy(a, from, SIZE, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, SIZE, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back, b, SIZE, cudaMemcpyDeviceToHost));
    assert_memory_equal(from, back, SIZE);
}

TEST(by_default_the_pointers_tell) {
    OK(cudaMemcpy(a, from, SIZE, cudaMemcpyDefault));
    OK(cudaMemcpy(b, a, SIZE, cudaMemcpyDefault));
    OK(cudaMemcpy(pinned, b, SIZE, cudaMemcpyDefault));
    OK(cudaMemcpy(back, pinned, SIZE, cudaMemcpyDefault));
    assert_memory_equal(from, back, SIZE);
}

TEST(host_to_host) {
    OK(cudaMemcpy(back, from, SIZE, cudaMemcpyHostToHost));
    assert_memory_equal(from, back, SIZE);
}

TEST(interior_pointers) {
    OK(cudaMemcpy(a + 100, from, 200, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(back, a + 150, 50, cudaMemcpyDeviceToHost));
    assert_memory_equal(from + 50, back, 50);
}

TEST(pinned_memory_is_device_accessible) {
    memcpy(pinned, from, SIZE);
    OK(cudaMemcpy(a, pinned, SIZE, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back, a, SIZE, cudaMemcpyDeviceToHost));
    assert_memory_equal(from, back, SIZE);
}

TEST(nothing_is_copied) {
    OK(cudaMemcpy(a, from, 0, cudaMemcpyHostToDevice));
    OK(cudaMemset(a, 1, 0));
    OK(cudaMemcpy2D(a, 10, from, 10, 10, 0, cudaMemcpyHostToDevice));
}

TEST(beyond_the_end) {
    FAILS(cudaErrorInvalidValue, cudaMemcpy(a, from, SIZE + 1, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(a + 1, from, SIZE, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(back, a + 1, SIZE, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemset(a, 0, SIZE + 1));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(a, from, SIZE_MAX, cudaMemcpyHostToDevice));
}

TEST(wrong_direction) {
    FAILS(cudaErrorInvalidValue, cudaMemcpy(back, from, SIZE, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(a, b, SIZE, cudaMemcpyDeviceToHost)); /* addresses are unified */
    FAILS(cudaErrorInvalidValue, cudaMemcpy(a, from, SIZE, cudaMemcpyDeviceToDevice));
    FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, from, SIZE, (enum cudaMemcpyKind)99));
}

TEST(null_pointers) {
    FAILS(cudaErrorInvalidValue, cudaMemcpy(NULL, from, SIZE, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(a, NULL, SIZE, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemset(NULL, 0, SIZE));
}

TEST(freed_memory_is_no_memory) {
    char *gone;
    OK(cudaMalloc((void **)&gone, SIZE));
    OK(cudaFree(gone));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(gone, from, SIZE, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(gone, from, SIZE, cudaMemcpyDefault));
    FAILS(cudaErrorInvalidValue, cudaMemset(gone, 0, SIZE));
}

TEST(fills) {
    OK(cudaMemset(a, 0x5a, SIZE));
    OK(cudaMemset(a + 10, 0x1ff, 1)); /* the low byte */
    OK(cudaMemcpy(back, a, SIZE, cudaMemcpyDeviceToHost));
    assert_int_equal(back[0], 0x5a);
    assert_int_equal((unsigned char)back[10], 0xff);
    assert_int_equal(back[SIZE - 1], 0x5a);
}

TEST(only_cudas_memory_is_filled) {
    FAILS(cudaErrorInvalidValue, cudaMemset(back, 0, SIZE));
    OK(cudaMemset(pinned, 3, SIZE));
    assert_int_equal(pinned[SIZE - 1], 3);
}

TEST(rows) {
    OK(cudaMemset(a, 0, SIZE));
    OK(cudaMemcpy2D(a, 30, from, 20, 10, 5, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, 10, a, 30, 10, 5, cudaMemcpyDeviceToHost));
    for (int row = 0; row < 5; row++)
        assert_memory_equal(back + row * 10, from + row * 20, 10);
}

TEST(row_mistakes) {
    FAILS(cudaErrorInvalidPitchValue, cudaMemcpy2D(a, 9, from, 10, 10, 5, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidPitchValue, cudaMemcpy2D(a, 10, from, 9, 10, 5, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy2D(a, 500, from, 10, 10, 3, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidMemcpyDirection,
          cudaMemcpy2D(a, 10, from, 10, 10, 5, (enum cudaMemcpyKind)99));
}

TEST(the_last_row_may_end_early) {
    OK(cudaMemcpy2D(a, 495, from, 10, 10, 3, cudaMemcpyHostToDevice));
}

TEST(fills_rows) {
    OK(cudaMemset(a, 0, SIZE));
    OK(cudaMemset2D(a, 100, 9, 10, 10));
    OK(cudaMemcpy(back, a, SIZE, cudaMemcpyDeviceToHost));
    assert_int_equal(back[909], 9);
    assert_int_equal(back[910], 0);
    FAILS(cudaErrorInvalidValue, cudaMemset2D(a, 200, 9, 10, 10));
    FAILS(cudaErrorInvalidValue, cudaMemset2D(a, 5, 9, 10, 10));
}

TEST(in_a_stream) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    memcpy(pinned, from, SIZE);
    OK(cudaMemcpyAsync(a, pinned, SIZE, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyAsync(b, a, SIZE, cudaMemcpyDeviceToDevice, stream));
    OK(cudaMemsetAsync(b, 4, 10, stream));
    OK(cudaMemcpy2DAsync(pinned, 10, b, 10, 10, 10, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(pinned[9], 4);
    assert_memory_equal(pinned + 10, from + 10, 90);
    OK(cudaStreamDestroy(stream));
}

TEST(pinned_copies_are_asynchronous) {
    blocker g = {0};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    memset(pinned, 0, SIZE);
    OK(cudaMemset(a, 6, SIZE));
    block_stream(&g, stream);
    OK(cudaMemcpyAsync(pinned, a, SIZE, cudaMemcpyDeviceToHost, stream));
    assert_int_equal(pinned[0], 0);
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(pinned[0], 6);
    OK(cudaStreamDestroy(stream));
}

TEST(a_small_pageable_source_may_be_reused) {
    blocker g = {0};
    cudaStream_t stream;
    char source[100];
    OK(cudaStreamCreate(&stream));
    memset(source, 8, sizeof source);
    block_stream(&g, stream);
    OK(cudaMemcpyAsync(a, source, sizeof source, cudaMemcpyHostToDevice, stream));
    memset(source, 9, sizeof source);
    unblock_stream(&g);
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(back, a, sizeof source, cudaMemcpyDeviceToHost));
    assert_int_equal(back[99], 8);
    OK(cudaStreamDestroy(stream));
}

TEST(a_pageable_destination_is_waited_for) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMemsetAsync(a, 5, SIZE, stream));
    OK(cudaMemcpyAsync(back, a, SIZE, cudaMemcpyDeviceToHost, stream));
    assert_int_equal(back[SIZE - 1], 5);
    OK(cudaStreamDestroy(stream));
}

TEST(mistakes_are_told_at_once) {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyAsync(a, from, SIZE + 1, cudaMemcpyHostToDevice, stream));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(a, 0, SIZE + 1, stream));
    OK(cudaStreamDestroy(stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaMemsetAsync(a, 0, SIZE, stream));
}

TEST(between_devices) {
    char *other;
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&other, SIZE));
    OK(cudaMemcpy(a, from, SIZE, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(other, 1, a, 0, SIZE));
    OK(cudaMemcpyPeerAsync(b, 0, other, 1, SIZE, 0));
    OK(cudaMemcpy(back, b, SIZE, cudaMemcpyDeviceToHost));
    assert_memory_equal(from, back, SIZE);
    FAILS(cudaErrorInvalidDevice, cudaMemcpyPeer(other, 2, a, 0, SIZE));
    OK(cudaFree(other));
    OK(cudaSetDevice(0));
}

static char *pooled(int device) {
    void *at;
    OK(cudaSetDevice(device));
    OK(cudaMallocAsync(&at, SIZE, NULL));
    OK(cudaStreamSynchronize(NULL));
    return at;
}

TEST(pools_of_two_devices_are_apart) {
    char *here = pooled(0), *there = pooled(1), *plain;
    OK(cudaMalloc((void **)&plain, SIZE));
    OK(cudaSetDevice(0));
    struct cudaMemcpy3DParms box = {.srcPtr = {here, 8, 8, 4},
                                    .dstPtr = {there, 8, 8, 4},
                                    .extent = {8, 4, 2},
                                    .kind = cudaMemcpyDefault};
    struct cudaMemcpy3DPeerParms named = {
        .srcPtr = box.srcPtr, .dstPtr = box.dstPtr, .dstDevice = 1, .extent = box.extent};
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(there, here, SIZE, cudaMemcpyDefault, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(there, here, SIZE, cudaMemcpyDeviceToDevice));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2DAsync(here, 8, there, 8, 4, 4, cudaMemcpyDeviceToDevice, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DAsync(&box, NULL));
    OK(cudaMemcpyPeerAsync(there, 1, here, 0, SIZE, NULL));
    OK(cudaMemcpy3DPeerAsync(&named, NULL));
    OK(cudaMemcpyAsync(plain, here, SIZE, cudaMemcpyDefault, NULL));
    OK(cudaDeviceEnablePeerAccess(1, 0)); /* it is the pool that must be shown */
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(there, here, SIZE, cudaMemcpyDefault, NULL));
    cudaMemPool_t pool;
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, {0}},
                                       cudaMemAccessFlagsProtReadWrite};
    OK(cudaDeviceGetDefaultMemPool(&pool, 1));
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaMemcpyAsync(there, here, SIZE, cudaMemcpyDefault, NULL));
    OK(cudaMemcpy3DAsync(&box, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaFree(here));
    OK(cudaFree(there));
    OK(cudaFree(plain));
}

TEST(a_partly_known_source) {
    OK(cudaHostRegister(from + 100, 100, 0));
    OK(cudaMemcpy(a, from, 150, cudaMemcpyHostToDevice)); /* it is pageable where it begins */
    FAILS(cudaErrorInvalidValue, cudaMemcpy(a, from + 150, 100, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(a, from, 100, cudaMemcpyHostToDevice));
    OK(cudaHostUnregister(from + 100));
}

TEST(big_copies) {
    enum { BIG = 8 << 20 };
    char *big, *host;
    OK(cudaMalloc((void **)&big, BIG));
    OK(cudaMallocHost((void **)&host, BIG));
    memset(host, 1, BIG);
    OK(cudaMemcpy(big, host, BIG, cudaMemcpyHostToDevice));
    memset(host, 0, BIG);
    OK(cudaMemcpy(host, big, BIG, cudaMemcpyDeviceToHost));
    assert_int_equal(host[BIG - 1], 1);
    OK(cudaFree(big));
    OK(cudaFreeHost(host));
}

#define C(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* On the source's device, too: what is queued there comes first, and what comes later after it. */
TEST(a_copy_between_devices_is_in_the_order_of_both) {
    unsigned char out = 0;
    void *here, *there;
    blocker g = {0};
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&here, 1));
    OK(cudaMemset(here, 1, 1));
    OK(cudaLaunchHostFunc(s, wait_until_unblocked, &g));
    OK(cudaMemsetAsync(here, 2, 1, s));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&there, 1));
    OK(cudaMemcpyPeer(there, 1, here, 0, 1));
    OK(cudaSetDevice(0));
    OK(cudaMemsetAsync(here, 3, 1, s));
    atomic_store(&g.is_open, 1);
    OK(cudaSetDevice(1));
    OK(cudaMemcpy(&out, there, 1, cudaMemcpyDeviceToHost));
    assert_int_equal(out, 2);
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s));
    OK(cudaFree(here));
    OK(cudaFree(there));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(there_and_back),
        C(by_default_the_pointers_tell),
        C(host_to_host),
        C(interior_pointers),
        C(pinned_memory_is_device_accessible),
        C(nothing_is_copied),
        C(beyond_the_end),
        C(wrong_direction),
        C(null_pointers),
        C(freed_memory_is_no_memory),
        C(fills),
        C(only_cudas_memory_is_filled),
        C(rows),
        C(row_mistakes),
        C(the_last_row_may_end_early),
        C(fills_rows),
        C(in_a_stream),
        C(pinned_copies_are_asynchronous),
        C(a_small_pageable_source_may_be_reused),
        C(a_pageable_destination_is_waited_for),
        C(mistakes_are_told_at_once),
        C(between_devices),
        C(pools_of_two_devices_are_apart),
        C(a_partly_known_source),
        C(big_copies),
        T(a_copy_between_devices_is_in_the_order_of_both),
    };
    return RUN(tests);
}
