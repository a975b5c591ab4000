/* Contexts of the driver: the one of a device, which the runtime uses, and those that programs
 * create. */
#ifndef ACU_SIM_DEVICE_CONTEXT_H
#define ACU_SIM_DEVICE_CONTEXT_H

#include <anycuda/cuda.h>

#include "sim/noun.h"
#include "sim/sim.h"

/*
 * A context of the driver's: a device's own, or one that the program made. What is made while it is
 * current is its own, and goes with it.
 */
struct acu_sim_context {
    acu_sim_device *device;
    bool made, ended; /* by the program; the handle of one that ended is still taken */
    unsigned flags;   /* of one that was made */
    unsigned long long id;
    size_t limits[16];
    enum cudaFuncCache cache;
    acu_sim_stream *legacy; /* its default stream */
    acu_sim_execution_context
        *whole; /* all of one that was made, once that was asked for; or NULL */
    const void *where;
    acu_sim_context *next;
};

/* One that was made, and has not ended. */
bool acu_sim_context_lives(const acu_sim_context *context);

/* The thread's current context; its device's own where none is current; NULL: no such device. */
acu_sim_context *acu_sim_context_now(void);

/* The same, if it is that device's; else the device's own. */
acu_sim_context *acu_sim_context_on(acu_sim_device *device);

/* Contexts of the device that were made, and have not ended. */
bool acu_sim_contexts_are_on(const acu_sim_device *device);

void acu_sim_context_defaults(acu_sim_context *context);
void acu_sim_contexts_reset(const acu_sim_device *device);

/* That no other context has had. */
unsigned long long acu_sim_context_new_id(void);

/*
 * Creates a context of the program's, which is not current yet. Fails without memory, or where the
 * device cannot be opened.
 */
cudaError_t acu_sim_context_new(acu_sim_device *device, unsigned flags, const void *where,
                                acu_sim_context **context);

/* ---- handles ---- */

/* The context of a handle, also one that has ended; NULL if the handle was never a context's. */
acu_sim_context *acu_sim_context_named(CUcontext handle);
/* The context of a handle, and its device; NULL if there is none, or not any more. */
acu_sim_context *acu_sim_context_of(CUcontext handle);
acu_sim_device *acu_sim_context_device(CUcontext handle);
CUcontext acu_sim_context_handle(const acu_sim_context *context);

/* Whether the runtime or a caller of the driver holds the context of the device. */
bool acu_sim_device_has_primary(const acu_sim_device *device);
/* The unit in which the second-level cache can be set aside. */
size_t acu_sim_device_persisting_unit(const acu_sim_device *device);

extern const acu_sim_noun acu_sim_context_noun;

#endif
