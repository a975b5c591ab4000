/* Functions and kernels: their attributes and occupancy. */
#ifndef ACU_SIM_CODE_FUNCTION_H
#define ACU_SIM_CODE_FUNCTION_H

#include "sim/code/image.h"
#include "sim/code/module.h"

typedef struct acu_sim_settings {
    int dynamic, carveout; /* bytes of dynamic shared memory allowed; percent */
    int cluster_must_be_set, cluster[3], cluster_policy, big_clusters;
} acu_sim_settings;

struct acu_sim_function {
    acu_sim_module *module;
    acu_sim_entry *entry;
    acu_sim_settings set, of_kernel; /* what holds; what its kernel has on the device */
    uint32_t own; /* bits of the attributes that were set here, and no longer follow the kernel */
};

cudaError_t acu_sim_kernel_function(acu_sim_kernel_handle *kernel, acu_sim_context *context,
                                    acu_sim_function **function);

/* The same where the call names a device: in its own context, made for it, if the current one is
 * not of that device. */
cudaError_t acu_sim_kernel_function_on(acu_sim_kernel_handle *kernel, acu_sim_device *device,
                                       acu_sim_function **function);

/* What the device takes to run it, and what it is: numbered as cudaFuncAttribute numbers them. */
cudaError_t acu_sim_function_get(const acu_sim_function *function, int attribute, int *value);
cudaError_t acu_sim_function_set(acu_sim_function *function, int attribute, int value);

/* The same of its kernel on the device: set in all contexts, and in those to come. */
cudaError_t acu_sim_kernel_get(const acu_sim_function *function, int attribute, int *value);
cudaError_t acu_sim_kernel_set(acu_sim_function *function, int attribute, int value);
unsigned acu_sim_function_registers(const acu_sim_function *function);
unsigned acu_sim_function_threads(const acu_sim_function *function); /* the largest block */

/* Blocks that a multiprocessor holds at once. */
unsigned acu_sim_function_occupancy(const acu_sim_function *function, unsigned threads,
                                    size_t shared);

/* Dynamic shared memory for each block where a multiprocessor holds that many. */
size_t acu_sim_function_shared_for(const acu_sim_function *function, size_t blocks);

/* The largest cluster, and how many of the configured ones the device holds at once. */
cudaError_t acu_sim_function_max_cluster_size(const acu_sim_function *function,
                                              const cudaLaunchConfig_t *config, int *size);
cudaError_t acu_sim_function_max_clusters(const acu_sim_function *function,
                                          const cudaLaunchConfig_t *config, int *count);

#endif
