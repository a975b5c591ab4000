/*
 * The generated wrappers' first use, from 32 threads at once: a plain call, one through an adapter,
 * one that is refused; each thread in another order. The libcudart is chosen by ANYCUDA_CUDART.
 * Meant for TSan.
 */
#define _POSIX_C_SOURCE 200809L
#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 32, ROUNDS = 50 };

static pthread_barrier_t barrier;

static int plain(void) {
    void *memory;
    return cudaMalloc(&memory, 1) != cudaSuccess;
}

static int adapted(void) {
    struct cudaDeviceProp prop;
    return cudaGetDeviceProperties(&prop, 0) != cudaSuccess || prop.multiProcessorCount == 0;
}

static int refused(void) {
    cudaExecutionContext_t context;
    return cudaDeviceGetExecutionCtx(&context, 0) != cudaErrorNotSupported ||
           strstr(acu_last_error_message(), "cudaDeviceGetExecutionCtx needs CUDA 13.1") == NULL;
}

static void *use(void *number) {
    static int (*const calls[])(void) = {plain, adapted, refused};
    size_t wrong = 0, first = (size_t)number;
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < ROUNDS; i++)
        wrong += (size_t)calls[(first + i) % 3]();
    return (void *)wrong;
}

int main(void) {
    pthread_t threads[THREADS];
    size_t wrong = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, use, (void *)i))
            return 2;
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (size_t)result;
    }
    printf("%zu of %d calls wrong\n", wrong, THREADS * ROUNDS);
    return wrong != 0;
}
