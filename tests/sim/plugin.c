/* A plugin that has the simulator in it. */
#include <anycuda/cudart.h>

int plugin_work(void);

static void nothing(void *data) {
    (void)data;
}

/* Starts threads of the simulator's, and makes the calling thread known to it. */
int plugin_work(void) {
    cudaStream_t stream;
    void *memory;
    return cudaStreamCreate(&stream) || cudaMalloc(&memory, 100) ||
           cudaMemsetAsync(memory, 0, 100, stream) || cudaLaunchHostFunc(stream, nothing, NULL) ||
           cudaStreamSynchronize(stream) || cudaFree(memory) || cudaStreamDestroy(stream);
}
