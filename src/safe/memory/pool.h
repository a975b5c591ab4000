#ifndef ACU_SRC_POOL_H
#define ACU_SRC_POOL_H

#include <anycuda/pool.h>

#include "safe/base/object.h"

struct acu_pool {
    acu_object object;
    cudaMemPool_t raw;
    bool owned;
};

extern ACU_OURS const acu_class acu_pool_class;

/* 0, or ACU_ERROR_DEVICE where that device cannot use the pool's memory. */
int acu_pool_check_access(const char *call, acu_pool *pool, int device);

#endif
