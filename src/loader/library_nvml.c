/*
 * NVML. The generated functions name it, and library.c knows it weakly, so that a program that
 * calls none of them has nothing of it.
 */
#include "loader/library.h"

#include <anycuda/cudart_types.h>
#include <anycuda/nvml_types.h>
#include <anycuda/status.h>

/* The function answers without nvmlInit(), and reports the CUDA that the driver supports. */
static int ask_nvml(acu_fn version_symbol) {
    int version = 0;
    int result = ((int (*)(int *))version_symbol)(&version);
    return result == 0 && version > 0 ? version : 0;
}

static int translate(int result) {
    switch (result) {
    case NVML_SUCCESS:
        return 0;
    case NVML_ERROR_UNINITIALIZED:
        return cudaErrorInitializationError;
    case NVML_ERROR_INVALID_ARGUMENT:
        return cudaErrorInvalidValue;
    case NVML_ERROR_NOT_SUPPORTED:
    case NVML_ERROR_FUNCTION_NOT_FOUND:
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        return cudaErrorNotSupported;
    case NVML_ERROR_NO_PERMISSION:
        return cudaErrorNotPermitted;
    case NVML_ERROR_NOT_FOUND:
        return cudaErrorInvalidDevice;
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return cudaErrorInsufficientDriver;
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return cudaErrorSystemDriverMismatch;
    case NVML_ERROR_LIBRARY_NOT_FOUND:
        return cudaErrorSharedObjectInitFailed;
    case NVML_ERROR_TIMEOUT:
        return cudaErrorTimeout;
    case NVML_ERROR_MEMORY:
        return ACU_ERROR_HOST_MEMORY;
    default:
        return cudaErrorUnknown;
    }
}

acu_library acu_nvml = {
    .info = &acu_nvml_info,
    .id = ACU_NVML,
    .by_symbol = true,
    .hint = "NVML comes with the NVIDIA driver, and into a container by "
            "NVIDIA_DRIVER_CAPABILITIES=utility; acu-info prints the search; ANYCUDA_NVML=path "
            "chooses a library",
    .not_simulated = "the simulator has no NVML",
    .ask = ask_nvml,
    .translate = translate,
};
