/* Memory of devices and of the host: how it is allocated and freed. */
#ifndef ACU_SIM_MEMORY_MEMORY_H
#define ACU_SIM_MEMORY_MEMORY_H

#include "sim/memory/range.h"
#include "sim/noun.h"
#include "sim/sim.h"

/* ---- device memory ---- */

/* The bytes that an allocation takes of a device's memory. */
size_t acu_sim_memory_rounded(size_t size);
/* The bytes behind that which belong to nobody, so that an access to them is found: 0, but with
 * guard=1 or check=memory. */
size_t acu_sim_memory_gap(void);
/* Takes bytes of the device's memory; returns false if there are not so many left. */
bool acu_sim_memory_charge(acu_sim_device *device, uint64_t bytes);

/* Makes a range of device memory at addresses that are free, without charging the device; NULL if
 * there are none, or without memory. */
acu_sim_range *acu_sim_memory_new_range(acu_sim_device *device, size_t size);
/* Makes such a range whose address is so many bytes past one that memory can have. */
acu_sim_range *acu_sim_memory_new_range_past(acu_sim_device *device, size_t past, size_t size);
/* Frees such a range, and gives the pages that are its alone back to the system. */
void acu_sim_memory_free_range(acu_sim_range *range);

/* Makes a range of memory of any kind but registered memory, without charging the device; NULL
 * without memory. */
acu_sim_range *acu_sim_memory_new_range_of(acu_sim_memory kind, acu_sim_device *device,
                                           size_t size);
/* Frees such a range, or one of acu_sim_memory_new_range(). */
void acu_sim_memory_free_range_of(acu_sim_range *range);

/* Makes a variable of a module: zeroed device memory, or managed memory. Returns the error. `name`
 * lives as long as the variable. */
cudaError_t acu_sim_memory_variable_new(acu_sim_context *context, const char *name, size_t size,
                                        bool managed, void **at);
void acu_sim_memory_variable_free(void *at);

/* Returns the error of a call that cannot free what is at an address, and says why; the range there
 * is NULL if there is none. */
cudaError_t acu_sim_memory_refuse_free(const acu_sim_range *range, const void *address);

/* Makes the operation that frees a range of a graph's memory. NULL, and says why, if no launch has
 * allocated the memory. */
acu_sim_op *acu_sim_memory_new_free_op(acu_sim_range *range);

/* ---- moves ---- */

/*
 * A move is a copy or fill that is going on. A move begins under the lock and ends outside of it.
 * Before bytes are given back to the system, all moves must be waited for, also those of other
 * devices and contexts. No move begins meanwhile, because the lock is held, and later ones do not
 * find the memory any more.
 */
void acu_sim_memory_move_begin(void);
void acu_sim_memory_move_end(void);
void acu_sim_memory_wait_for_moves(void);

/* ---- drop, reset, leaks ---- */

extern const acu_sim_noun acu_sim_memory_noun;

#endif
