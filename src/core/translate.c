#include "core/translate.h"

#include <anycuda/cuda_types.h>
#include <anycuda/cudart.h>
#include <anycuda/nvrtc_types.h>
#include <anycuda/status.h>

#include "core/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct pair {
    int theirs, ours;
} pair;

static int translate(const pair *pairs, size_t count, int result, int otherwise) {
    for (size_t i = 0; i < count; i++)
        if (pairs[i].theirs == result)
            return acu_record_recode(result, pairs[i].ours);
    return acu_record_recode(result, otherwise);
}

/* Returns the runtime's number of the driver's error: the runtime has the same numbers, except for
 * those that it never returns. */
int acu_translate_driver_error(int result) {
    static const pair pairs[] = {
        {CUDA_ERROR_MULTICAST_RESOURCE_FULL, cudaErrorUnknown},
        {CUDA_ERROR_CONTEXT_ALREADY_CURRENT, cudaErrorUnknown},
        {CUDA_ERROR_KEY_ROTATION, cudaErrorUnknown},
    };
    return translate(pairs, COUNT(pairs), result, result);
}

int acu_translate_nvrtc(int result) {
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
