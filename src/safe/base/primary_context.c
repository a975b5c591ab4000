/* The primary context of a device, for calls of the driver. */
#include "safe/base/primary_context.h"

int acu_primary_context_retain(acu_primary_context *primary, int device) {
    *primary = (acu_primary_context){.device = device};
    int code = acu_translate_driver(cuInit(0));
    if (!code)
        code = acu_translate_driver(cuDevicePrimaryCtxRetain(&primary->raw, device));
    if (code)
        primary->raw = NULL;
    return code;
}

int acu_primary_context_enter(acu_primary_context *primary, int device) {
    CUcontext current = NULL;
    int code = acu_primary_context_retain(primary, device);
    if (!code)
        code = acu_translate_driver(cuCtxGetCurrent(&current));
    if (code || current == primary->raw)
        return code;
    code = acu_translate_driver(cuCtxPushCurrent(primary->raw));
    primary->pushed = code == 0;
    return code;
}

void acu_primary_context_leave(acu_primary_context *primary) {
    CUcontext popped = NULL;
    acu_saved_record before;
    acu_record_save(&before);
    if (primary->pushed && acu_translate_driver(cuCtxPopCurrent(&popped)))
        acu_record_release_error();
    if (primary->raw && acu_translate_driver(cuDevicePrimaryCtxRelease(primary->device)))
        acu_record_release_error();
    acu_record_restore(&before);
}

uint32_t acu_context_number(CUcontext context) {
    unsigned long long id = 0;
    acu_saved_record before;
    acu_record_save(&before);
    if (cuCtxGetId(context, &id) != CUDA_SUCCESS || id == 0 || id > ACU_NO_CONTEXT)
        id = ACU_NO_CONTEXT;
    acu_record_restore(&before);
    return (uint32_t)id;
}
