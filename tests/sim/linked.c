/* A program that is linked with the simulator in place of libcudart. */
#include <anycuda/cudart_types.h>
#include <anycuda/sim.h>

#include <stdio.h>
#include <string.h>

cudaError_t cudaMalloc(void **devPtr, size_t size);
cudaError_t cudaFree(void *devPtr);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);
cudaError_t cudaMemset(void *devPtr, int value, size_t count);
const char *cudaGetErrorName(cudaError_t error);

static int tried(cudaError_t result, const char *call) {
    if (result)
        fprintf(stderr, "%s: %s\n", call, cudaGetErrorName(result));
    return result == cudaSuccess;
}
#define TRY(call)                                                                                  \
    if (!tried(call, #call))                                                                       \
    return 1

int main(void) {
    char back[100] = "";
    void *at;
    TRY(cudaMalloc(&at, sizeof back));
    TRY(cudaMemset(at, 7, sizeof back));
    TRY(cudaMemcpy(back, at, sizeof back, cudaMemcpyDeviceToHost));
    if (acu_sim_leaks(0) != 1)
        return 2;
    TRY(cudaFree(at));
    for (size_t i = 0; i < sizeof back; i++)
        if (back[i] != 7)
            return 3;
    return acu_sim_leaks(1);
}
