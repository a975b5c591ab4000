/*
 * Growing a buffer from 1 MiB to 1 GiB by doubling, against allocating twice as much, copying and
 * freeing: in pairs within one process, on the GPU whose runtime is loaded. Exits with 77 where
 * there is none: on the simulator a copy is the host's, and the comparison says nothing.
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>

#include <stdio.h>
#include <stdlib.h>

static const size_t first_bytes = (size_t)1 << 20u, last_bytes = (size_t)1 << 30u;

static acu_stream *stream;
static acu_buffer *growing;
static cudaStream_t raw_stream;
static void *raw_memory;

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Each loop grows once; what is there before and afterwards is made and freed between the loops. */
static void grow(long calls) {
    (void)calls;
    for (size_t bytes = first_bytes; bytes < last_bytes; bytes *= 2)
        OK(acu_buffer_grow(growing, 2 * bytes));
}

static void copy_to(void *larger, size_t bytes) {
    OK(cudaMemcpyAsync(larger, raw_memory, bytes, cudaMemcpyDeviceToDevice, raw_stream));
}

static void copy_plain(long calls) {
    (void)calls;
    for (size_t bytes = first_bytes; bytes < last_bytes; bytes *= 2) {
        void *larger;
        OK(cudaMalloc(&larger, 2 * bytes));
        copy_to(larger, bytes);
        OK(cudaFree(raw_memory));
        raw_memory = larger;
    }
    OK(cudaStreamSynchronize(raw_stream));
}

static void copy_of_pool(long calls) {
    (void)calls;
    for (size_t bytes = first_bytes; bytes < last_bytes; bytes *= 2) {
        void *larger;
        OK(cudaMallocAsync(&larger, 2 * bytes, raw_stream));
        copy_to(larger, bytes);
        OK(cudaFreeAsync(raw_memory, raw_stream));
        raw_memory = larger;
    }
    OK(cudaStreamSynchronize(raw_stream));
}

static void begin_again(void) {
    OK(acu_buffer_shrink(growing, first_bytes));
    OK(cudaFree(raw_memory));
    OK(cudaMalloc(&raw_memory, first_bytes));
}

static void begin_again_in_pool(void) {
    OK(acu_buffer_shrink(growing, first_bytes));
    OK(cudaFreeAsync(raw_memory, raw_stream));
    OK(cudaMallocAsync(&raw_memory, first_bytes, raw_stream));
    OK(cudaStreamSynchronize(raw_stream));
}

int main(void) {
    int devices = 0;
    if (acu_device_get_count(&devices) || devices == 0 || acu_loaded(ACU_CUDART)->is_sim) {
        printf("no GPU here: %s\n", devices ? "this is the simulator" : acu_last_error_message());
        return 77;
    }
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create_growable(stream, ACU_U8, first_bytes, last_bytes, &growing));
    OK(cudaStreamCreate(&raw_stream));
    OK(cudaMalloc(&raw_memory, first_bytes));
    print_header("allocate, copy, free", "acu_buffer_grow");
    compare("1 MiB to 1 GiB, against cudaMalloc and cudaFree", copy_plain, grow, 1, begin_again);
    OK(cudaFree(raw_memory));
    OK(cudaMallocAsync(&raw_memory, first_bytes, raw_stream));
    compare("1 MiB to 1 GiB, against cudaMallocAsync and cudaFreeAsync", copy_of_pool, grow, 1,
            begin_again_in_pool);
    OK(cudaFreeAsync(raw_memory, raw_stream));
    OK(cudaStreamDestroy(raw_stream));
    OK(acu_buffer_release(growing));
    OK(acu_stream_release(stream));
    return 0;
}
