/* Pools as the rest of the safe layer sees them. */
#ifndef ACU_SRC_POOL_H
#define ACU_SRC_POOL_H

#include <anycuda/pool.h>

#include "safe/base/object.h"

struct acu_pool {
    acu_object object;
    cudaMemPool_t raw;
    bool owned;        /* the raw pool is destroyed with the handle */
    size_t max_size;   /* bytes; 0: the handle does not know of a limit */
    acu_object *owner; /* of another process's pool: the object that has it, with a reference */
};

extern ACU_OURS const acu_class acu_pool_class;

/* Makes a handle for a pool that an object has, which the handle keeps. Returns 0 or a failure
 * recorded for `call`. */
int acu_pool_new_of(const char *call, acu_device device, cudaMemPool_t raw, acu_object *owner,
                    acu_pool **pool);

/* Returns 0, or the recorded ACU_ERROR_DEVICE if the device cannot use the pool's memory. */
int acu_pool_check_access(const char *call, acu_pool *pool, int device);

#endif
