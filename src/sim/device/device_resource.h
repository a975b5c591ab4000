/* The multiprocessors and work queues of a device, and how they are split. */
#ifndef ACU_SIM_DEVICE_DEVICE_RESOURCE_H
#define ACU_SIM_DEVICE_DEVICE_RESOURCE_H

#include "sim/noun.h"
#include "sim/sim.h"

/* A set of the multiprocessors of a device, a bit for each. */
typedef struct acu_sim_processors {
    uint64_t bits[3];
} acu_sim_processors;

/* The resources of an execution context, or of a whole device. */
typedef struct acu_sim_resources {
    acu_sim_device *device;
    acu_sim_processors processors;
    struct cudaDevWorkqueueConfigResource queues;
    unsigned together; /* how many multiprocessors are together; 0: as many as in the device */
    unsigned flags;    /* cudaDevSmResourceGroup_flags */
} acu_sim_resources;

/* Returns all multiprocessors of a device. */
acu_sim_processors acu_sim_processors_all(const acu_sim_device *device);
/* Returns how many multiprocessors are in a set. */
unsigned acu_sim_processors_count(const acu_sim_processors *processors);

/* Returns how many clusters of `size` blocks the multiprocessors can run at once, if each runs
 * `blocks` blocks at once. */
unsigned acu_sim_processors_clusters(const acu_sim_processors *processors, unsigned size,
                                     unsigned blocks);

/* Returns what a descriptor stands for; NULL if there is no such descriptor. */
const acu_sim_resources *acu_sim_descriptor_read(cudaDevResourceDesc_t handle);

/* Writes the resource of a type. */
cudaError_t acu_sim_resource_get(const acu_sim_resources *all, enum cudaDevResourceType type,
                                 cudaDevResource *resource);
/* Returns the work queues of a whole device. */
struct cudaDevWorkqueueConfigResource acu_sim_device_queues(const acu_sim_device *device);

extern const acu_sim_noun acu_sim_descriptor_noun;

#endif
