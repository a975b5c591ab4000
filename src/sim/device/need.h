/* What a call needs before its body runs. */
#ifndef ACU_SIM_NEED_H
#define ACU_SIM_NEED_H

#include <anycuda/cudart.h>

/* Each need includes those before it. */
typedef enum acu_sim_need {
    SIM_NEEDS_NO_INIT,   /* as the next one, and CUDA is not initialised */
    SIM_NEEDS_NOTHING,   /* works without driver and device */
    SIM_NEEDS_INIT,      /* cuInit() was called: the driver's functions alone need that */
    SIM_NEEDS_DRIVER,    /* there is a driver, and no host function makes the call */
    SIM_NEEDS_A_CONTEXT, /* there is a context, which may have had a fault */
    SIM_NEEDS_CONTEXT,   /* there is a context without a fault */
} acu_sim_need;

/*
 * Returns why a call of the runtime cannot be made; cudaSuccess if it can. Makes the context that
 * the call needs. Inside of a call of the driver the context is not checked, because the driver's
 * entry has done that by other rules; so a body of the driver may call bodies of the runtime. The
 * caller holds the lock.
 */
cudaError_t acu_sim_require(acu_sim_need need);
/* Returns an error, and says why, if the process was forked by one that used CUDA. */
cudaError_t acu_sim_require_unforked(void);
/* Returns why a call of the driver cannot be made; cudaSuccess if it can. Makes no context: the
 * program must have made one current. The caller holds the lock. */
cudaError_t acu_sim_require_by_driver(acu_sim_need need);

/* Returns an error if a host function makes the call, because a call that waits would wait for the
 * host function itself. For calls of the driver that need no context. */
cudaError_t acu_sim_may_wait(void);

#endif
