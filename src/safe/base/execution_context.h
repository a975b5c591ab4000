/* Execution contexts as the rest of the safe layer sees them. */
#ifndef ACU_SRC_EXECUTION_CONTEXT_H
#define ACU_SRC_EXECUTION_CONTEXT_H

#include <anycuda/cuda.h>
#include <anycuda/execution_context.h>

#include "core/translate.h"
#include "safe/base/object.h"

struct acu_execution_context {
    acu_object object;
    CUgreenCtx raw;
    unsigned multiprocessors;         /* how many CUDA reported when the handle was made */
    bool owned;                       /* the raw context is destroyed with the handle */
    acu_execution_context *queues_of; /* whose queues it has, with a reference; or NULL */
};

extern ACU_OURS const acu_class acu_execution_context_class;

/* Prepares the driver for calls about a device, and replaces ACU_DEVICE_CURRENT by the ordinal.
 * Returns 0 or a failure recorded for `call`. */
int acu_execution_context_begin(const char *call, acu_device *device);

/* Makes a handle for a raw context, with the caller as owner; NULL and a failure recorded for
 * `call` where the host has no memory. */
acu_execution_context *acu_execution_context_new(const char *call, acu_device device,
                                                 CUgreenCtx raw, unsigned multiprocessors,
                                                 bool owned);

/* Returns whether the driver is at least as new as that version of CUDA. */
bool acu_driver_is_since(int version);

#endif
