/* Memory of other APIs. */
#ifndef ACU_SIM_MEMORY_EXTERNAL_MEMORY_H
#define ACU_SIM_MEMORY_EXTERNAL_MEMORY_H

#include "sim/sim.h"

/* What the system calls a file descriptor; false if there is none. */
bool acu_sim_external_descriptor_name(int fd, char *name, size_t size);

/* A buffer of it is gone. */
void acu_sim_external_release(acu_sim_external *external);
void acu_sim_externals_reset(const acu_sim_device *device);
int acu_sim_externals_leaks(int print);

#endif
