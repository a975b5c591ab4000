/* Contexts of the driver: the own one of each device, which the runtime uses, and those that the
 * program creates. */
#ifndef ACU_SIM_DEVICE_CONTEXT_H
#define ACU_SIM_DEVICE_CONTEXT_H

#include <anycuda/cuda.h>

#include "sim/noun.h"
#include "sim/sim.h"

/* What is created while a context is current belongs to the context, and is destroyed with it. */
struct acu_sim_context {
    acu_sim_device *device;
    bool made;  /* the program created it; else it is the device's own */
    bool ended; /* the program destroyed it; the driver still accepts the handle in some calls */
    unsigned flags; /* if `made` */
    unsigned users; /* who must call cuCtxDetach(): its creator, and each cuCtxAttach() */
    unsigned long long id;
    size_t limits[16];      /* by cudaLimit */
    bool prints, allocates; /* a kernel that may do so was launched: those limits are fixed */
    bool loads_nothing;     /* coredumps of faults were turned on and off (driver_coredump.c) */
    enum cudaFuncCache cache;
    acu_sim_stream *legacy;           /* the legacy default stream; NULL: not used yet */
    acu_sim_execution_context *whole; /* of all its streams, once it was asked for; or NULL */
    const void *where;                /* where the program created it */
    acu_sim_context *next;
};

/* Returns whether a pointer is a context that the program created and has not destroyed. */
bool acu_sim_context_is_alive(const acu_sim_context *context);

/* Returns the thread's current context, or the own context of its current device; NULL if there is
 * no such device. */
acu_sim_context *acu_sim_context_now(void);

/* Returns the thread's current context if it is one of the device, else the device's own. */
acu_sim_context *acu_sim_context_on(acu_sim_device *device);

/* Returns whether a device has contexts that the program created and has not destroyed. */
bool acu_sim_contexts_are_on(const acu_sim_device *device);

/* Sets the limits, the cache configuration and the users to those of a new context. */
void acu_sim_context_defaults(acu_sim_context *context);
/* Destroys all contexts of a device that the program created. */
void acu_sim_contexts_reset(const acu_sim_device *device);

/* Returns an id that no other context has had. */
unsigned long long acu_sim_context_new_id(void);

/* Creates a context for the program, and does not make it current. Fails without memory, or if the
 * device cannot have contexts. */
cudaError_t acu_sim_context_new(acu_sim_device *device, unsigned flags, const void *where,
                                acu_sim_context **context);

/* ---- handles ---- */

/* Returns the context of a handle, also a destroyed one; NULL if the handle was never a context's.
 */
acu_sim_context *acu_sim_context_named(CUcontext handle);
/* Return the context of a handle, and its device; NULL if there is none or it was destroyed. */
acu_sim_context *acu_sim_context_of(CUcontext handle);
acu_sim_device *acu_sim_context_device(CUcontext handle);
CUcontext acu_sim_context_handle(const acu_sim_context *context);

/* Returns whether the runtime or the program, by the driver, holds the own context of a device. */
bool acu_sim_device_has_primary(const acu_sim_device *device);
/* Returns the unit, in bytes, in which the second-level cache can be set aside. */
size_t acu_sim_device_persisting_unit(const acu_sim_device *device);

extern const acu_sim_noun acu_sim_context_noun;

#endif
