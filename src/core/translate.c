#include "core/translate.h"

#include <anycuda/cuda_types.h>
#include <anycuda/cudart.h>
#include <anycuda/nvml_types.h>
#include <anycuda/nvrtc_types.h>
#include <anycuda/status.h>
#include <anycuda/webgpu_types.h>

#include "core/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct pair {
    int theirs, ours;
} pair;

static int translate(const pair *pairs, size_t count, int result, int otherwise) {
    for (size_t i = 0; i < count; i++)
        if (pairs[i].theirs == result)
            return pairs[i].ours;
    return otherwise;
}

/* The runtime has the driver's numbers, except for those that it never returns. */
static int of_driver(int result) {
    static const pair pairs[] = {
        {CUDA_ERROR_MULTICAST_RESOURCE_FULL, cudaErrorUnknown},
        {CUDA_ERROR_CONTEXT_ALREADY_CURRENT, cudaErrorUnknown},
        {CUDA_ERROR_KEY_ROTATION, cudaErrorUnknown},
    };
    return translate(pairs, COUNT(pairs), result, result);
}

static int of_nvrtc(int result) {
    static const pair pairs[] = {
        {NVRTC_SUCCESS, ACU_SUCCESS},
        {NVRTC_ERROR_OUT_OF_MEMORY, ACU_ERROR_HOST_MEMORY},
        {NVRTC_ERROR_INVALID_INPUT, ACU_ERROR_ARGUMENT},
        {NVRTC_ERROR_INVALID_OPTION, ACU_ERROR_ARGUMENT},
        {NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID, ACU_ERROR_ARGUMENT},
        {NVRTC_ERROR_COMPILATION, ACU_ERROR_COMPILE},
    };
    return translate(pairs, COUNT(pairs), result, cudaErrorUnknown);
}

static int of_nvml(int result) {
    static const pair pairs[] = {
        {NVML_SUCCESS, ACU_SUCCESS},
        {NVML_ERROR_UNINITIALIZED, cudaErrorInitializationError},
        {NVML_ERROR_INVALID_ARGUMENT, cudaErrorInvalidValue},
        {NVML_ERROR_NOT_SUPPORTED, cudaErrorNotSupported},
        {NVML_ERROR_FUNCTION_NOT_FOUND, cudaErrorNotSupported},
        {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, cudaErrorNotSupported},
        {NVML_ERROR_NO_PERMISSION, cudaErrorNotPermitted},
        {NVML_ERROR_NOT_FOUND, cudaErrorInvalidDevice},
        {NVML_ERROR_DRIVER_NOT_LOADED, cudaErrorInsufficientDriver},
        {NVML_ERROR_LIB_RM_VERSION_MISMATCH, cudaErrorSystemDriverMismatch},
        {NVML_ERROR_LIBRARY_NOT_FOUND, cudaErrorSharedObjectInitFailed},
        {NVML_ERROR_TIMEOUT, cudaErrorTimeout},
        {NVML_ERROR_MEMORY, ACU_ERROR_HOST_MEMORY},
    };
    return translate(pairs, COUNT(pairs), result, cudaErrorUnknown);
}

/* WebGPU has one error; what anycuda refuses with it is a function that the library lacks. */
static int of_webgpu(int result) {
    return result == WGPUStatus_Success ? ACU_SUCCESS : cudaErrorNotSupported;
}

int acu_translate_result(acu_library_id library, int result) {
    return library == ACU_CUDA     ? of_driver(result)
           : library == ACU_NVRTC  ? of_nvrtc(result)
           : library == ACU_WEBGPU ? of_webgpu(result)
           : library == ACU_NVML   ? of_nvml(result)
                                   : result;
}

int acu_translate_driver_error(int result) {
    return acu_record_recode(result, of_driver(result));
}

int acu_translate_nvrtc(int result) {
    return acu_record_recode(result, of_nvrtc(result));
}
