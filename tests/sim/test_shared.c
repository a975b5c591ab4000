/* libanycuda-sim.so, opened as programs open libcudart and libcuda. */
#define _GNU_SOURCE /* dlvsym */

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dlfcn.h>
#include <search.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* A table of the driver's is refused, and the first who asks for a runtime's is told why, once. To
 * look the function up, as programs do with all names, says nothing, nor does NVRTC's table,
 * without which it compiles. */
static const char *ask_for_tables(bool from_library) {
    static const CUuuid of_nvrtc = {{(char)0xda, (char)0x91, (char)0x51, (char)0xd3, (char)0x3a,
                                     (char)0xe6, (char)0xcc, (char)0x41, (char)0xa5, (char)0xc0,
                                     (char)0x4f, (char)0x26, (char)0xd5, (char)0x33, (char)0xe3,
                                     (char)0x28}},
                        of_runtime = {{(char)0x6b, (char)0xd5, (char)0xfb, (char)0x6c, (char)0x5b,
                                       (char)0xf4, (char)0xe7, (char)0x4a, (char)0x89, (char)0x87,
                                       (char)0xd9, (char)0x39, (char)0x12, (char)0xfd, (char)0x9d,
                                       (char)0xf9}};
    static char said[1024];
    int ends[2];
    size_t one = 1;
    FUNCTION(cuGetProcAddress);
    CUresult (*table)(const void **, const CUuuid *), (*found)(const void **, const CUuuid *);
    int (*compare)(const void *, const void *);
    *(void **)(void *)&table = *(void **)(void *)&compare = dlsym(library, "cuGetExportTable");
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        cuGetProcAddress_("cuGetExportTable", (void **)(void *)&found, CUDA_VERSION, 0, NULL);
        const bool refused = table(NULL, NULL) == CUDA_ERROR_NOT_SUPPORTED &&
                             table(NULL, &of_nvrtc) == CUDA_ERROR_NOT_SUPPORTED;
        fprintf(stderr, "looked up\n");
        if (from_library) /* libc calls it */
            lfind(library, &of_runtime, &one, sizeof of_runtime, compare);
        _exit(!refused || table(NULL, &of_runtime) != CUDA_ERROR_NOT_SUPPORTED ||
              found(NULL, &of_runtime) != CUDA_ERROR_NOT_SUPPORTED);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[1]);
    const ssize_t size = read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    said[size > 0 ? size : 0] = '\0';
    assert_int_equal(status, 0);
    return said;
}

TEST(says_that_a_static_runtime_cannot_work) {
    assert_string_equal(ask_for_tables(false),
                        "looked up\nanycuda: simulator: sim_shared works with NVIDIA's driver "
                        "only: it has CUDA's runtime inside, which is nvcc's default: build it "
                        "with nvcc -cudart shared\n");
    const char *said = ask_for_tables(true);
    assert_non_null(strstr(said, "looked up\nanycuda: simulator: libc."));
    assert_non_null(strstr(said, " works with NVIDIA's driver only: a library of NVIDIA's needs a "
                                 "GPU, since its kernels are machine code; one that nvcc built "
                                 "can run here when it is built with -cudart shared\n"));
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
        cmocka_unit_test(says_that_a_static_runtime_cannot_work),
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
