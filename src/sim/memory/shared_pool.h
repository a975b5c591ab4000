/* Pools that processes share: by a descriptor the pool, and by 64 bytes its memory. */
#ifndef ACU_SIM_MEMORY_SHARED_POOL_H
#define ACU_SIM_MEMORY_SHARED_POOL_H

#include "sim/memory/pool.h"

/* Gives a pool that can be shared a file for its bytes; returns false without memory. */
bool acu_sim_pool_view_new(acu_sim_pool *pool);
/* Gives a reference to the bytes up; NULL is fine. */
void acu_sim_pool_view_release(acu_sim_pool_view *view);

/* Puts the bytes of a range of the pool's memory into the pool's file, if there is one. */
void acu_sim_pool_view_place(const acu_sim_pool *pool, acu_sim_range *range);

#endif
