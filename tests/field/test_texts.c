/*
 * Failures seen in the field: a program that prints the text of a code, on a machine without CUDA.
 * It printed garbage, because the driver's functions had failed and left its pointer as it was.
 */
#include "alone.h"

#include <stdlib.h>
#include <string.h>

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>
#include <anycuda/nvrtc.h>
#include <anycuda/status.h>

static void choose_no_library(void) {
    setenv("ANYCUDA_CUDART", "none", 1);
    setenv("ANYCUDA_CUDA", "none", 1);
    setenv("ANYCUDA_NVRTC", "none", 1);
}

static void the_drivers_texts(void) {
    choose_no_library();
    const char *text = "left as it was";
    assert_int_equal(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
    assert_string_equal(text, "CUDA_ERROR_INVALID_VALUE");
    assert_int_equal(cuGetErrorString(CUDA_SUCCESS, &text), CUDA_SUCCESS);
    assert_string_equal(text, "no error");
    assert_int_equal(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    assert_string_equal(text, "CUDA_ERROR_OUT_OF_MEMORY");
    assert_int_equal(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    assert_null(text);
    assert_int_equal(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void the_reason_is_the_text(void) {
    choose_no_library();
    const char *text = NULL;
    void *memory = NULL;
    cudaError_t failed = cudaMalloc(&memory, 4);
    assert_int_equal(failed, cudaErrorSharedObjectInitFailed);
    CHECK_CONTAINS(cudaGetErrorString(failed), "no usable libcudart: ANYCUDA_CUDART=none");
    assert_string_equal(cudaGetErrorName(failed), "cudaErrorSharedObjectInitFailed");
    /* Another code is no failure of this thread: its text is the table's. */
    assert_string_equal(cudaGetErrorString(cudaErrorInvalidValue), "cudaErrorInvalidValue");

    CUresult init = cuInit(0);
    assert_int_equal(init, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    assert_int_equal(cuGetErrorString(init, &text), CUDA_SUCCESS);
    CHECK_CONTAINS(text, "no usable libcuda: ANYCUDA_CUDA=none");

    int major = 0, minor = 0;
    nvrtcResult version = nvrtcVersion(&major, &minor);
    assert_int_not_equal(version, NVRTC_SUCCESS);
    CHECK_CONTAINS(nvrtcGetErrorString(version), "no usable libnvrtc: ANYCUDA_NVRTC=none");
}

int main(void) {
    const struct CMUnitTest tests[] = {ALONE(the_drivers_texts), ALONE(the_reason_is_the_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
