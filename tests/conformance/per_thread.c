/* Code compiled for per-thread default streams: NULL is the thread's own stream. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "conformance.h"

CASE(null_is_the_threads_own_stream) {
    unsigned long long null = 0, own = 0, legacy = 0;
    OK(cudaStreamGetId(NULL, &null));
    OK(cudaStreamGetId(cudaStreamPerThread, &own));
    OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    IS(null == own);
    IS(null != legacy);
}

CASE(work_goes_into_the_threads_own_stream) {
    char *memory;
    OK(cudaMalloc((void **)&memory, 16));
    hold(cudaStreamPerThread);
    SAYS(cudaErrorNotReady, cudaStreamQuery(NULL));
    (void)cudaGetLastError();
    let_go();
    OK(cudaMemsetAsync(memory, 1, 16, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaFree(memory));
}

CASE(copies_go_into_the_threads_own_stream) {
    char *memory, *pinned;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMallocHost((void **)&pinned, 16));
    WAITS(true, cudaStreamPerThread, cudaMemcpy(pinned, memory, 16, cudaMemcpyDeviceToHost));
    WAITS(true, cudaStreamLegacy, cudaMemcpy(pinned, memory, 16, cudaMemcpyDeviceToHost));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(memory));
}

CASE(events_are_recorded_in_the_threads_own_stream) {
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    hold(cudaStreamPerThread);
    OK(cudaEventRecord(event, NULL));
    SAYS(cudaErrorNotReady, cudaEventQuery(event));
    (void)cudaGetLastError();
    let_go();
    OK(cudaEventSynchronize(event));
    OK(cudaEventDestroy(event));
}

CASE(memory_in_the_threads_own_stream) {
    char *memory;
    OK(cudaMallocAsync((void **)&memory, 1000, NULL));
    OK(cudaMemsetAsync(memory, 1, 1000, NULL));
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaStreamSynchronize(NULL));
}
