/* The variants for the per-thread default stream. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "sim_test.h"

#include <pthread.h>

TEST(no_stream_is_the_threads_own) {
    unsigned long long none = 0, own = 1, legacy = 1;
    OK(cudaStreamGetId(0, &none));
    OK(cudaStreamGetId(cudaStreamPerThread, &own));
    OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    assert_int_equal(none, own);
    assert_int_not_equal(none, legacy);
}

static void *id_elsewhere(void *data) {
    (void)cudaStreamGetId(0, data);
    return NULL;
}

TEST(each_thread_has_another) {
    unsigned long long here = 0, there = 0;
    pthread_t thread;
    OK(cudaStreamGetId(0, &here));
    assert_int_equal(pthread_create(&thread, NULL, id_elsewhere, &there), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_not_equal(there, 0);
    assert_int_not_equal(here, there);
}

TEST(copies_and_fills) {
    char *a, *b, back[16] = {0};
    OK(cudaMalloc((void **)&a, 16));
    OK(cudaMallocAsync((void **)&b, 16, 0));
    OK(cudaMemset(a, 5, 16));
    OK(cudaMemsetAsync(b, 6, 16, 0));
    OK(cudaMemcpyAsync(a, b, 8, cudaMemcpyDeviceToDevice, 0));
    OK(cudaMemcpy2D(back, 8, a, 8, 8, 2, cudaMemcpyDeviceToHost));
    assert_int_equal(back[0], 6);
    assert_int_equal(back[15], 5);
    OK(cudaMemcpy(back, b, 16, cudaMemcpyDefault));
    assert_int_equal(back[15], 6);
    OK(cudaFreeAsync(b, 0));
    OK(cudaFree(a));
}

static void *does_not_wait(void *data) {
    (void)data;
    char *memory, byte = 0;
    if (cudaMalloc((void **)&memory, 1) || cudaMemset(memory, 7, 1) ||
        cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost) || cudaStreamSynchronize(0))
        return NULL;
    return byte == 7 ? memory : NULL;
}

TEST(threads_do_not_wait_for_each_other) {
    blocker g = {0};
    pthread_t thread;
    void *memory = NULL;
    block_stream(&g, 0);
    assert_int_equal(pthread_create(&thread, NULL, does_not_wait, NULL), 0);
    assert_int_equal(pthread_join(thread, &memory), 0);
    assert_non_null(memory);
    SAYS(cudaErrorNotReady, cudaStreamQuery(0));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(0));
    OK(cudaFree(memory));
}

TEST(events) {
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, 0));
    OK(cudaStreamWaitEvent(0, event, 0));
    OK(cudaEventSynchronize(event));
    OK(cudaEventDestroy(event));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(no_stream_is_the_threads_own),
        T(each_thread_has_another),
        T(copies_and_fills),
        T(threads_do_not_wait_for_each_other),
        T(events),
    };
    return RUN(tests);
}
