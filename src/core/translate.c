#include "core/translate.h"

#include <anycuda/cuda_types.h>
#include <anycuda/cudart.h>
#include <anycuda/nvjitlink_types.h>
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

static int of_nvjitlink(int result) {
    static const pair pairs[] = {
        {NVJITLINK_SUCCESS, ACU_SUCCESS},
        {NVJITLINK_ERROR_UNRECOGNIZED_OPTION, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_MISSING_ARCH, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_INVALID_INPUT, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_PTX_COMPILE, ACU_ERROR_COMPILE},
        {NVJITLINK_ERROR_NVVM_COMPILE, ACU_ERROR_COMPILE},
        {NVJITLINK_ERROR_UNRECOGNIZED_INPUT, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_FINALIZE, ACU_ERROR_COMPILE},
        {NVJITLINK_ERROR_NULL_INPUT, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_INCORRECT_INPUT_TYPE, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_ARCH_MISMATCH, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_OUTDATED_LIBRARY, ACU_NOT_SUPPORTED},
        {NVJITLINK_ERROR_MISSING_FATBIN, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_UNRECOGNIZED_ARCH, ACU_ERROR_ARGUMENT},
        {NVJITLINK_ERROR_UNSUPPORTED_ARCH, ACU_NOT_SUPPORTED},
        {NVJITLINK_ERROR_LTO_NOT_ENABLED, ACU_ERROR_ARGUMENT},
    };
    return translate(pairs, COUNT(pairs), result, cudaErrorUnknown);
}

/* WebGPU has one error; what anycuda refuses with it is a function that the library lacks. */
static int of_webgpu(int result) {
    return result == WGPUStatus_Success ? ACU_SUCCESS : cudaErrorNotSupported;
}

int acu_translate_result(acu_library_id library, int result) {
    switch (library) {
    case ACU_CUDART:
        break;
    case ACU_CUDA:
        return of_driver(result);
    case ACU_NVRTC:
        return of_nvrtc(result);
    case ACU_WEBGPU:
        return of_webgpu(result);
    case ACU_NVJITLINK:
        return of_nvjitlink(result);
    }
    return result;
}

int acu_translate_driver_error(int result) {
    return acu_record_recode(result, of_driver(result));
}

int acu_translate_nvrtc(int result) {
    return acu_record_recode(result, of_nvrtc(result));
}

int acu_translate_nvjitlink(int result) {
    return acu_record_recode(result, of_nvjitlink(result));
}
