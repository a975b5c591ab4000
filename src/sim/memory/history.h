/* Memory that was freed, and who allocated and freed it: with check=memory in ANYCUDA_SIM. */
#ifndef ACU_SIM_MEMORY_HISTORY_H
#define ACU_SIM_MEMORY_HISTORY_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Remembers a range that is freed; does nothing without check=memory. */
void acu_sim_history_end(const acu_sim_range *range);

/* Writes what is known of an address at which no memory is: "256 bytes behind the end of …". Called
 * under the lock. */
void acu_sim_history_describe(const void *address, char *text, size_t size);

extern const acu_sim_noun acu_sim_history_noun;

#endif
