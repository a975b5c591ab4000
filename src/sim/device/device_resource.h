/* The multiprocessors and work queues of a device, and how they are split. */
#ifndef ACU_SIM_DEVICE_DEVICE_RESOURCE_H
#define ACU_SIM_DEVICE_DEVICE_RESOURCE_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Which of a device's processors, a bit each. */
typedef struct acu_sim_processors {
    uint64_t bits[3];
} acu_sim_processors;

/* All that an execution context, or a device, has. */
typedef struct acu_sim_resources {
    acu_sim_device *device;
    acu_sim_processors processors;
    struct cudaDevWorkqueueConfigResource queues;
} acu_sim_resources;

acu_sim_processors acu_sim_processors_all(const acu_sim_device *device);
unsigned acu_sim_processors_count(const acu_sim_processors *processors);

/* How many clusters of so many blocks they can work on at once, each on so many blocks. */
unsigned acu_sim_processors_clusters(const acu_sim_processors *processors, unsigned size,
                                     unsigned blocks);

/* The descriptor's; false if there is none such. */
bool acu_sim_descriptor_read(cudaDevResourceDesc_t handle, acu_sim_device **device,
                             acu_sim_processors *processors,
                             struct cudaDevWorkqueueConfigResource *queues);

/* What an execution context, or a device, has of a type. */
cudaError_t acu_sim_resource_get(const acu_sim_resources *all, enum cudaDevResourceType type,
                                 cudaDevResource *resource);
struct cudaDevWorkqueueConfigResource acu_sim_device_queues(const acu_sim_device *device);

extern const acu_sim_noun acu_sim_descriptor_noun;

#endif
