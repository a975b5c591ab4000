/* Memory of other APIs (graphics), which the program imports. */
#ifndef ACU_SIM_MEMORY_EXTERNAL_MEMORY_H
#define ACU_SIM_MEMORY_EXTERNAL_MEMORY_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Writes the name that the system has for the file of a descriptor; returns false if the
 * descriptor is invalid. */
bool acu_sim_external_descriptor_name(int fd, char *name, size_t size);

/* Gives up the reference of a buffer; the last one frees the memory. */
void acu_sim_external_release(acu_sim_external *external);

extern const acu_sim_noun acu_sim_external_memory_noun;

#endif
