/* A set of pointers: which handles are alive. */
#ifndef ACU_SIM_SET_H
#define ACU_SIM_SET_H

#include "sim/sim.h"

/* A set of pointers: which handles are alive. Zero-initialised is empty. */
typedef struct acu_sim_set {
    const void **slots;
    size_t count, room; /* room: a power of two */
} acu_sim_set;

bool acu_sim_set_add(acu_sim_set *set, const void *pointer);
bool acu_sim_set_has(const acu_sim_set *set, const void *pointer);
void acu_sim_set_remove(acu_sim_set *set, const void *pointer);
void acu_sim_set_clear(acu_sim_set *set);

#endif
