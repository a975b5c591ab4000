/*
 * The primary context of a device, in which the runtime has its streams, events and memory. Calls
 * of the driver need it where they name a context, or where they want one to be current, which a
 * thread that has made no call of the runtime has not.
 */
#ifndef ACU_PRIMARY_CONTEXT_H
#define ACU_PRIMARY_CONTEXT_H

#include <anycuda/cuda.h>

#include "core/translate.h"
#include "safe/base/object.h"

typedef struct acu_primary_context {
    CUcontext raw; /* NULL: it was not retained */
    int device;
    bool pushed;
} acu_primary_context;

/* Retains the context; returns 0 or a recorded code. acu_primary_context_leave() follows in any
 * case. */
int acu_primary_context_retain(acu_primary_context *primary, int device);
/* Does the same, and makes the context current. */
int acu_primary_context_enter(acu_primary_context *primary, int device);
/* Takes both back. A failure is kept for acu_release_error(). */
void acu_primary_context_leave(acu_primary_context *primary);

/* The number of no context: CUDA reports none, or functions of its context are not to be used. */
#define ACU_NO_CONTEXT UINT32_MAX
/* Returns a number that no other context of the process has or had, not even one at the same
 * address after a reset; ACU_NO_CONTEXT where CUDA fails to report one. Nothing is recorded. */
uint32_t acu_context_number(CUcontext context);

#endif
