/* The tables of all functions: without a library every entry refuses; with one, real, adapted or
 * refused. */
#include <anycuda/cuda_table.h>
#include <anycuda/cudart_table.h>
#include <anycuda/nvrtc_table.h>

#include <stdio.h>
#include <string.h>

cudaError_t (*per_thread_memcpy(void))(void *, const void *, size_t, enum cudaMemcpyKind);

static int failures, copies;

static void check(int holds, const char *what) {
    if (!holds) {
        printf("%s\n", what);
        failures++;
    }
}

static int has_null(const void *table, size_t size) {
    static const char null[sizeof(void (*)(void))];
    for (size_t at = 0; at < size; at += sizeof null)
        if (memcmp((const char *)table + at, null, sizeof null) == 0)
            return 1;
    return 0;
}

static cudaError_t fake_malloc(void **pointer, size_t size) {
    *pointer = pointer;
    return size == 64 ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t fake_properties(struct cudaDeviceProp *properties, int device) {
    (void)properties;
    (void)device;
    return cudaErrorInvalidDevice;
}

static cudaError_t fake_copy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
    (void)to, (void)from, (void)size, (void)kind;
    copies++;
    return cudaSuccess;
}

static cudaError_t fake_copy_per_thread(void *to, const void *from, size_t size,
                                        enum cudaMemcpyKind kind) {
    copies += 9;
    return fake_copy(to, from, size, kind);
}

#pragma GCC diagnostic ignored "-Wpedantic" /* ISO C has no cast from a function to `void *` */
static void *resolve(const char *symbol, void *data) {
    (void)data;
    if (strcmp(symbol, "cudaMalloc") == 0)
        return (void *)fake_malloc;
    if (strcmp(symbol, "cudaMemcpy") == 0)
        return (void *)fake_copy;
    if (strcmp(symbol, "cudaMemcpy_ptds") == 0)
        return (void *)fake_copy_per_thread;
    return (void *)fake_properties;
}

static void without_a_library(void) {
    acu_cudart_table table;
    void *pointer = NULL;
    check(acu_cudart_table_load(&table) == cudaErrorSharedObjectInitFailed, "the load's code");
    check(!has_null(&table, sizeof table), "no pointer is NULL");
    check(table.cudaMalloc(&pointer, 64) == cudaErrorSharedObjectInitFailed, "cudaMalloc refuses");
    check(strncmp(acu_last_error_message(), "cudaMalloc", 10) == 0,
          "and says that it was cudaMalloc");
}

static void with_one(void) {
    acu_cudart_table table;
    acu_load_options options = {.resolve = resolve, .version = 12020};
    struct cudaDeviceProp properties;
    cudaGraphConditionalHandle handle;
    void *pointer = NULL;
    check(acu_load(&options) == 0, "a resolver is loaded");
    check(acu_cudart_table_load(&table) == 0, "and the table with it");
    check(!has_null(&table, sizeof table), "no pointer is NULL");
    check(table.cudaMalloc == cudaMalloc, "an entry is the wrapper");
    check(table.cudaMalloc(&pointer, 64) == cudaSuccess && pointer == &pointer, "and works");
    check(table.cudaMalloc(&pointer, 1) == cudaErrorMemoryAllocation &&
              strstr(acu_last_error_message(), "cudaErrorMemoryAllocation") != NULL,
          "and says what failed");
    check(table.cudaGetDeviceProperties(&properties, 0) == cudaErrorInvalidDevice, "adapted");
    acu_clear_error();
    check(table.cudaGraphConditionalHandleCreate(&handle, NULL, 0, 0) == cudaErrorNotSupported,
          "what is newer refuses");
    check(strstr(acu_last_error_message(), "12.3") != NULL, "with its version");
    check(table.cudaMemcpy(NULL, NULL, 0, cudaMemcpyDefault) == cudaSuccess && copies == 1,
          "the plain default stream");
    check(per_thread_memcpy()(NULL, NULL, 0, cudaMemcpyDefault) == cudaSuccess && copies == 11,
          "and the thread's own");
}

static void the_others(void) {
    acu_cuda_table cuda;
    acu_nvrtc_table nvrtc;
    (void)acu_cuda_table_load(&cuda);
    (void)acu_nvrtc_table_load(&nvrtc);
    check(!has_null(&cuda, sizeof cuda), "the driver's table is full");
    check(!has_null(&nvrtc, sizeof nvrtc), "the compiler's table is full");
}

int main(void) {
    without_a_library();
    with_one();
    the_others();
    return failures != 0;
}
