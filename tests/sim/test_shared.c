/* libanycuda-sim.so, opened as programs open libcudart and libcuda. */
#define _GNU_SOURCE /* dlvsym */

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <dlfcn.h>

#include <cmocka.h>

#define TEST(name) static void name(void **state __attribute__((unused)))

static void *library;

/* A pointer to the function of that name, of its type. */
#define FUNCTION(name)                                                                             \
    __typeof__(acu_slot_##name) name##_;                                                           \
    *(void **)(void *)&name##_ = dlsym(library, #name);                                            \
    assert_non_null(name##_)

TEST(has_every_symbol) {
    static const char *const symbols[] = {
#define ACU_SYMBOL(symbol) #symbol,
#include "sim_symbols.h"
#undef ACU_SYMBOL
    };
    assert_true(sizeof symbols / sizeof *symbols > 1000);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!dlsym(library, symbols[i]))
            fail_msg("it lacks %s", symbols[i]);
}

TEST(has_the_version_that_programs_linked_with_libcudart_ask_for) {
    assert_non_null(dlvsym(library, "cudaMalloc", "libcudart.so.13"));
    assert_ptr_equal(dlvsym(library, "cudaMalloc", "libcudart.so.13"),
                     dlsym(library, "cudaMalloc"));
}

TEST(copies_there_and_back) {
    FUNCTION(cudaMalloc);
    FUNCTION(cudaMemcpy);
    FUNCTION(cudaFree);
    int in[64], out[64] = {0};
    void *at;
    for (int i = 0; i < 64; i++)
        in[i] = i * i;
    assert_int_equal(cudaMalloc_(&at, sizeof in), cudaSuccess);
    assert_int_equal(cudaMemcpy_(at, in, sizeof in, cudaMemcpyHostToDevice), cudaSuccess);
    assert_int_equal(cudaMemcpy_(out, at, sizeof in, cudaMemcpyDeviceToHost), cudaSuccess);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(cudaFree_(at), cudaSuccess);
}

/* Programs open libcuda.so.1, too, and ask for the names that cuda.h has macros for. */
TEST(stands_in_for_libcuda) {
    FUNCTION(cuInit);
    FUNCTION(cuDevicePrimaryCtxRetain);
    FUNCTION(cuCtxSetCurrent);
    FUNCTION(cuGetProcAddress);
    CUresult (*allocate)(CUdeviceptr *, size_t), (*release)(CUdeviceptr);
    CUresult (*create)(CUcontext *, unsigned, CUdevice), (*destroy)(CUcontext);
    void *found;
    CUcontext context;
    CUdeviceptr at;
    assert_int_equal(cuInit_(0), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRetain_(&context, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent_(context), CUDA_SUCCESS);
    *(void **)(void *)&allocate = dlsym(library, "cuMemAlloc_v2");
    *(void **)(void *)&release = dlsym(library, "cuMemFree_v2");
    assert_int_equal(cuGetProcAddress_("cuMemAlloc", &found, CUDA_VERSION, 0, NULL), CUDA_SUCCESS);
    assert_ptr_equal(found, dlsym(library, "cuMemAlloc_v2"));
    assert_non_null(dlsym(library, "cuGetProcAddress_v2"));
    assert_non_null(dlsym(library, "cuDeviceGetUuid"));
    assert_int_equal(allocate(&at, 64), CUDA_SUCCESS);
    assert_int_equal(release(at), CUDA_SUCCESS);
    *(void **)(void *)&create = dlsym(library, "cuCtxCreate_v2");
    *(void **)(void *)&destroy = dlsym(library, "cuCtxDestroy_v2");
    assert_int_equal(create(&context, 0, 0), CUDA_SUCCESS);
    assert_int_equal(destroy(context), CUDA_SUCCESS);
}

TEST(has_the_symbols_of_the_per_thread_default_stream) {
    cudaError_t (*synchronize)(cudaStream_t);
    *(void **)(void *)&synchronize = dlsym(library, "cudaStreamSynchronize_ptsz");
    assert_non_null(synchronize);
    assert_int_equal(synchronize(NULL), cudaSuccess);
}

TEST(refuses_what_it_does_not_play_and_remembers_that) {
    FUNCTION(cudaDeviceGetNvSciSyncAttributes);
    FUNCTION(cuMemGetHandleForAddressRange);
    FUNCTION(cudaGetLastError);
    int handle;
    assert_int_equal(
        cuMemGetHandleForAddressRange_(&handle, 0, 0, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
        CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(cudaDeviceGetNvSciSyncAttributes_(NULL, 0, 0), cudaErrorNotSupported);
    assert_int_equal(cudaGetLastError_(), cudaErrorNotSupported);
    assert_int_equal(cudaGetLastError_(), cudaSuccess);
}

TEST(names_errors) {
    FUNCTION(cudaGetErrorName);
    FUNCTION(cudaGetErrorString);
    assert_string_equal(cudaGetErrorName_(cudaSuccess), "cudaSuccess");
    assert_string_equal(cudaGetErrorName_(cudaErrorInvalidValue), "cudaErrorInvalidValue");
    assert_string_equal(cudaGetErrorName_((cudaError_t)77777), "unrecognized error code");
    assert_string_equal(cudaGetErrorString_(cudaSuccess), "no error");
    assert_string_equal(cudaGetErrorString_((cudaError_t)77777), "unrecognized error code");
}

TEST(says_whose_abi_it_has) {
    int (*abi)(void);
    *(void **)(void *)&abi = dlsym(library, "acu_sim_abi");
    assert_non_null(abi);
    assert_int_equal(abi(), CUDART_VERSION);
}

/* Two copies of the simulator in one process: each has its own addresses. */
TEST(stands_beside_another_one) {
    FUNCTION(cudaMalloc);
    FUNCTION(cudaFree);
    void *theirs, *ours;
    assert_int_equal(cudaMalloc_(&theirs, 1 << 20), cudaSuccess);
    assert_int_equal(cudaMalloc(&ours, 1 << 20), cudaSuccess);
    assert_ptr_not_equal(theirs, ours);
    assert_int_equal(cudaFree(theirs), cudaErrorInvalidValue);
    assert_int_equal(cudaFree_(ours), cudaErrorInvalidValue);
    assert_int_equal(cudaFree_(theirs), cudaSuccess);
    assert_int_equal(cudaFree(ours), cudaSuccess);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_every_symbol),
        cmocka_unit_test(has_the_version_that_programs_linked_with_libcudart_ask_for),
        cmocka_unit_test(copies_there_and_back),
        cmocka_unit_test(stands_in_for_libcuda),
        cmocka_unit_test(has_the_symbols_of_the_per_thread_default_stream),
        cmocka_unit_test(refuses_what_it_does_not_play_and_remembers_that),
        cmocka_unit_test(names_errors),
        cmocka_unit_test(says_whose_abi_it_has),
        cmocka_unit_test(stands_beside_another_one),
    };
    library = dlopen(SIM_SHARED, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        print_error("%s\n", dlerror());
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
