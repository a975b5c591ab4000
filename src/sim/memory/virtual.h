/* Virtual memory management. */
#ifndef ACU_SIM_MEMORY_VIRTUAL_H
#define ACU_SIM_MEMORY_VIRTUAL_H

#include "sim/cuda_bodies.h"
#include "sim/noun.h"
#include "sim/sim.h"

/* Memory that the program created, to map it to addresses or arrays. */
typedef struct acu_sim_created acu_sim_created;

bool acu_sim_virtual_is_reserved(const void *address);

/* Returns the memory of a handle that can be mapped to arrays of a device; NULL if there is none.
 * An array's memory is made for that. */
acu_sim_created *acu_sim_created_for_arrays(CUmemGenericAllocationHandle handle,
                                            const acu_sim_device *device);
/* Returns the size of the memory in bytes. */
size_t acu_sim_created_size(const acu_sim_created *memory);
/* Returns where the simulator accesses the bytes; NULL without memory. They stay there as long as
 * there are references to the memory. */
char *acu_sim_created_bytes(acu_sim_created *memory);
/* Adds a reference to the memory, or gives one up; NULL is fine. */
void acu_sim_created_hold(acu_sim_created *memory);
void acu_sim_created_let_go(acu_sim_created *memory);

extern const acu_sim_noun acu_sim_virtual_noun;

#endif
