/* Failures seen in the field: the wrong libcudart, a second one, none, or one that lacks a symbol.
 */
#define _GNU_SOURCE
#include "field.h"

#include <anycuda/cuda.h>
#include <anycuda/supports.h>

#include <dlfcn.h>
#include <link.h>

/* vllm PR 47586: a scan of the process for "libcudart" found a stub library. */
static void test_vllm_47586_stub_in_the_process(void) {
    void *memory;
    assert_non_null(dlopen(put("stub/libcudart.so.12", "stubs/libcudart.so.12"), RTLD_NOW));
    assert_non_null(dlopen(put("stub/libcudart.so.12", "else/libcudart.so.12"), RTLD_NOW));
    assert_non_null(dlopen(put("13.0/libcudart.so.13", "libcudart_helper.so.13"), RTLD_NOW));
    open_before("12.0");
    assert_int_equal(cudaMalloc(&memory, 1), cudaSuccess);
    expect_loaded(12000, "already in the process");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "(folder stubs)");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "a stub, or too old");
    assert_null(strstr(acu_load_trace(ACU_CUDART), "libcudart_helper"));
}

/* vllm PR 38919: the import died on a symbol which an older driver lacks. */
static void test_vllm_38919_symbol_missing_in_an_older_driver(void) {
    int count = 0;
    CUcontext context = NULL;
    CUcontext *unused = &context;
    install_driver(11080);
    assert_int_equal(cuMemcpyBatchAsync(NULL, NULL, NULL, 0, NULL, NULL, 0, NULL),
                     CUDA_ERROR_NOT_SUPPORTED);
    CHECK_CONTAINS(acu_last_error_message(), "cuMemcpyBatchAsync");
    CHECK_CONTAINS(acu_last_error_message(), "11.8");
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuDeviceGetCount(&count), CUDA_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(cuCtxGetCurrent(unused),
                     CUDA_ERROR_NOT_SUPPORTED); /* this fake lacks it by mistake */
}

/* cutlass issue 2079: an undefined symbol of a newer minor killed the whole program at load. */
static void test_cutlass_2079_symbol_of_a_newer_minor(void) {
    void *memory, *entry;
    enum cudaDriverEntryPointQueryResult status;
    install("12.0");
    assert_int_equal(cudaGetDriverEntryPointByVersion("cuInit", &entry, 12000, 0, &status),
                     cudaErrorNotSupported);
    CHECK_CONTAINS(acu_last_error_message(), "cudaGetDriverEntryPointByVersion needs CUDA 12.5");
    assert_int_equal(cudaMalloc(&memory, 1), cudaSuccess);
}

/* DeepGEMM issue 137: the same with cudaLibraryGetKernel. */
static void test_deepgemm_137_symbol_of_a_newer_minor(void) {
    void *memory;
    cudaKernel_t kernel;
    install("12.0");
    assert_int_equal(cudaLibraryGetKernel(&kernel, NULL, "k"), cudaErrorNotSupported);
    CHECK_CONTAINS(
        acu_last_error_message(),
        "cudaLibraryGetKernel needs CUDA 12.8 (library loading); loaded libcudart is 12.0");
    assert_int_equal(cudaMalloc(&memory, 1), cudaSuccess);
}

/* cudarc issue 422: one missing symbol panicked; no way to go on with the CPU. */
static void test_cudarc_422_a_missing_symbol_is_an_error(void) {
    int device = -1;
    install("13.0"); /* this fake has no cudaGetDevice */
    assert_int_not_equal(cudaGetDevice(&device), cudaSuccess);
    CHECK_CONTAINS(acu_last_error_message(), "cudaGetDevice");
    assert_int_equal(device, -1);
    assert_int_not_equal(cudaGetLastError(), cudaSuccess);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

/* cudnn-frontend issue 267: it threw because 12 and 13 were both visible. */
static void test_cudnn_frontend_267_two_majors_visible(void) {
    install("12.9");
    install("13.0");
    install_driver(13000);
    assert_int_equal(acu_load(NULL), 0);
    expect_loaded(13000, "system loader");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "libcudart.so.13: taken");
}

static void test_cudnn_frontend_267_two_majors_and_an_old_driver(void) {
    install("13.0");
    install("12.9");
    assert_int_equal(acu_load(NULL), 0);
    expect_loaded(12090, "system loader");
    CHECK_CONTAINS(
        acu_load_trace(ACU_CUDART),
        "libcudart.so.13: refused: it needs a driver for CUDA 13; the installed one supports 12.9");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "libcudart.so.12: taken");
}

static void test_cudnn_frontend_267_two_majors_in_the_process(void) {
    open_before("12.9");
    open_before("13.0");
    install_driver(13000);
    assert_int_equal(acu_load(NULL), 0);
    expect_loaded(13000, "already in the process");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "two major versions are in this process, 13 and 12");
}

/* aws-ofi-nccl PR 224, PR 1019: runtime images have versioned sonames only, no bare libcudart.so.
 */
static void test_aws_ofi_nccl_224_versioned_soname_only(void) {
    void *memory;
    install(alone_with);
    assert_int_not_equal(access(SYSTEM "/libcudart.so", F_OK), 0);
    assert_int_equal(cudaMalloc(&memory, 1), cudaSuccess);
    expect_loaded(version_of(alone_with), "system loader");
}

static int count_runtimes(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    *(int *)count += strstr(info->dlpi_name, "/libcudart") != NULL;
    return 0;
}

/* cuda-quantum issue 4236, cudf issue 10571: a second runtime was loaded beside the process's own.
 */
static void test_cuda_quantum_4236_the_process_has_one(void) {
    void *memory;
    int runtimes = 0;
    const char *own = put("12.9/libcudart.so.12", "app/libcudart.so.12");
    assert_non_null(dlopen(own, RTLD_NOW | RTLD_LOCAL));
    install("13.0");
    install_driver(13000);
    assert_int_equal(cudaMalloc(&memory, 77), cudaSuccess);
    expect_loaded(12090, "already in the process");
    assert_string_equal(acu_loaded(ACU_CUDART)->path, own);
    assert_int_equal(seen()->args[1], 77);
    dl_iterate_phdr(count_runtimes, &runtimes);
    assert_int_equal(runtimes, 1);
}

/* The same with the name that a wheel gave it. */
static void test_cudf_10571_the_process_has_one_from_a_wheel(void) {
    assert_non_null(dlopen(
        put("hash/libcudart-d0da41ae.so.11.0", "torch/libcudart-d0da41ae.so.11.0"), RTLD_NOW));
    install("13.0");
    assert_int_equal(acu_load(NULL), 0);
    expect_loaded(11080, "already in the process");
}

/* sglang issue 21869: the driver's version does not choose the ABI; a 12 runtime on a 13 driver is
 * a 12. */
static void test_sglang_21869_driver_does_not_choose_the_abi(void) {
    open_before("12.9");
    install_driver(13000);
    assert_int_equal(acu_load(NULL), 0);
    expect_loaded(12090, "already in the process");
    assert_int_equal(acu_loaded(ACU_CUDART)->driver, 13000);
    cudaExecutionContext_t context;
    assert_int_equal(cudaDeviceGetExecutionCtx(&context, 0), cudaErrorNotSupported);
    CHECK_CONTAINS(acu_last_error_message(),
                   "needs CUDA 13.1 (execution contexts); loaded libcudart is 12.9");
}

/* candle issue 3900, ompi issue 12279: a CUDA-enabled binary could not start where CUDA is absent.
 */
static void test_candle_3900_starts_without_cuda(void) {
    void *memory = &memory;
    int runtimes = 0;
    dl_iterate_phdr(count_runtimes, &runtimes);
    assert_int_equal(runtimes, 0);
    setenv("ANYCUDA_CUDART", in_scratch("libcudart.so.12"), 1); /* this machine may have CUDA */
    assert_int_equal(cudaMalloc(&memory, 1), cudaErrorSharedObjectInitFailed);
    assert_ptr_equal(memory, &memory);
    CHECK_CONTAINS(acu_last_error_message(), "no usable libcudart: ");
    assert_string_equal(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
}

/* ucx issue 10787: the advice was to rename libcudart.so.13 to .12. It is still a 13, and used as
 * one. */
static void test_ucx_10787_renamed_to_another_major(void) {
    struct cudaPointerAttributes a;
    setenv("ANYCUDA_CUDART", put("13.0/libcudart.so.13", "libcudart.so.12"), 1);
    install_driver(13000);
    memset(&a, 0xa5, sizeof a);
    assert_int_equal(cudaPointerGetAttributes(&a, &a), cudaSuccess);
    expect_loaded(13000, "ANYCUDA_CUDART");
    assert_string_equal(acu_loaded(ACU_CUDART)->soname, "libcudart.so.13");
}

/* opencv issue 7679, pytorch issue 25590: "driver version is insufficient" where there was no
 * driver at all. */
static void test_opencv_7679_no_driver(void) {
    int count;
    open_before("12.9");
    if (dlopen("libcuda.so.1", RTLD_LAZY))
        return; /* this machine has one */
    assert_int_equal(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    CHECK_CONTAINS(acu_last_error_message(), "no NVIDIA driver is installed");
}

static void test_opencv_7679_old_driver(void) {
    int count;
    install("12.9");
    install_driver(11080);
    assert_int_equal(cudaGetDeviceCount(&count), cudaErrorSharedObjectInitFailed);
    CHECK_CONTAINS(acu_last_error_message(), "; the installed one supports 11.8");
}

/* rmm PR 990: opened libcudart by hand to know whether cudaMallocAsync exists. */
static void test_rmm_990_asks_without_calling(void) {
    install("12.0");
    assert_int_equal(acu_supports(ACU_FEATURE_STREAM_ORDERED_ALLOCATION, -1), 0);
    assert_int_equal(acu_supports(ACU_FEATURE_BATCH_COPIES, -1), cudaErrorNotSupported);
    CHECK_CONTAINS(acu_last_error_message(), "12.8");
    assert_int_equal(seen()->calls, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ALONE(test_vllm_47586_stub_in_the_process),
        ALONE(test_vllm_38919_symbol_missing_in_an_older_driver),
        ALONE(test_cutlass_2079_symbol_of_a_newer_minor),
        ALONE(test_deepgemm_137_symbol_of_a_newer_minor),
        ALONE(test_cudarc_422_a_missing_symbol_is_an_error),
        ALONE(test_cudnn_frontend_267_two_majors_visible),
        ALONE(test_cudnn_frontend_267_two_majors_and_an_old_driver),
        ALONE(test_cudnn_frontend_267_two_majors_in_the_process),
        ON_ALL(test_aws_ofi_nccl_224_versioned_soname_only),
        ALONE(test_cuda_quantum_4236_the_process_has_one),
        ALONE(test_cudf_10571_the_process_has_one_from_a_wheel),
        ALONE(test_sglang_21869_driver_does_not_choose_the_abi),
        ALONE(test_candle_3900_starts_without_cuda),
        ALONE(test_ucx_10787_renamed_to_another_major),
        ALONE(test_opencv_7679_no_driver),
        ALONE(test_opencv_7679_old_driver),
        ALONE(test_rmm_990_asks_without_calling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
