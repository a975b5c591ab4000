/* What a call needs before its body runs. */
#ifndef ACU_SIM_NEED_H
#define ACU_SIM_NEED_H

#include <anycuda/cudart.h>

/* Each includes those before it. */
typedef enum acu_sim_need {
    SIM_NEEDS_NOTHING,   /* works without driver and device */
    SIM_NEEDS_INIT,      /* cuInit() was called: the driver's functions alone need that */
    SIM_NEEDS_DRIVER,    /* and a caller that is no host function, which must not call CUDA */
    SIM_NEEDS_A_CONTEXT, /* makes the current device's, which may have had a fault */
    SIM_NEEDS_CONTEXT,   /* reports that fault */
} acu_sim_need;

/*
 * Why a call of the runtime cannot be made; cudaSuccess if it can. Under the lock. Makes the
 * context that it needs. In a call of the driver, which has judged the context by its own rules,
 * that is not looked at again: so a body of the runtime that asks this itself may be called by one
 * of the driver.
 */
cudaError_t acu_sim_require(acu_sim_need need);
/* The same for a call of the driver, which makes no context: it needs one that somebody made
 * current. */
cudaError_t acu_sim_require_by_driver(acu_sim_need need);

/* Why a call of the driver that needs no context may not wait: a host function makes it, for which
 * it would wait. */
cudaError_t acu_sim_may_wait(void);

#endif
