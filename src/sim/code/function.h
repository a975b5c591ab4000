/* Functions: kernels in one context, with their attributes and occupancy. */
#ifndef ACU_SIM_CODE_FUNCTION_H
#define ACU_SIM_CODE_FUNCTION_H

#include "sim/code/image.h"
#include "sim/code/module.h"

/* The attributes that a program can set. */
typedef struct acu_sim_settings {
    int dynamic;             /* bytes of dynamic shared memory that a block may have at most */
    int carveout;            /* percent of the L1 cache that is shared memory; -1: the default */
    int cluster_must_be_set; /* every launch must give the size of its clusters */
    int cluster[3];          /* blocks of a cluster in x, y, z; 0: not fixed */
    int cluster_policy;      /* a cudaClusterSchedulingPolicy */
    int big_clusters;        /* clusters of 16 blocks are allowed, beyond the portable 8 */
} acu_sim_settings;

struct acu_sim_function {
    acu_sim_module *module;
    acu_sim_entry *entry;
    acu_sim_settings set;       /* the settings that launches of this function use */
    acu_sim_settings of_kernel; /* the settings of its kernel on the device */
    enum cudaFuncCache cache;   /* cudaFuncCachePreferNone: what its context prefers */
    uint32_t own; /* a bit for each attribute that was set on the function itself: these no longer
                     follow the kernel's settings */
};

/* Finds the kernel's function in the context, and loads the library's module there if needed. */
cudaError_t acu_sim_kernel_function(acu_sim_kernel_handle *kernel, acu_sim_context *context,
                                    acu_sim_function **function);

/* Finds the kernel's function on the device: in the current context if that is of the device, else
 * in the device's primary context, which is created if needed. */
cudaError_t acu_sim_kernel_function_on(acu_sim_kernel_handle *kernel, acu_sim_device *device,
                                       acu_sim_function **function);

/* Reads or sets an attribute of the function, numbered as in CUfunction_attribute. */
cudaError_t acu_sim_function_get(const acu_sim_function *function, int attribute, int *value);
cudaError_t acu_sim_function_set(acu_sim_function *function, int attribute, int value);

/* Reads or sets an attribute of the function's kernel on the device. The new value holds in all
 * contexts of the device, in later ones too, but not in functions with a value of their own. */
cudaError_t acu_sim_kernel_get(const acu_sim_function *function, int attribute, int *value);
cudaError_t acu_sim_kernel_set(acu_sim_function *function, int attribute, int value);

/* Writes all attributes that the runtime has of the function. */
void acu_sim_function_describe(const acu_sim_function *function, struct cudaFuncAttributes *all);

/* Returns the registers that a thread uses: those of the machine code, or an estimate. Under the
 * lock. */
unsigned acu_sim_function_registers(const acu_sim_function *function);

/* Returns the threads of the largest block that can be launched, whatever the estimate is. */
unsigned acu_sim_function_threads(const acu_sim_function *function);

/* Returns how many blocks of so many threads and bytes of dynamic shared memory a multiprocessor
 * holds at once; 0 if it cannot run even one. Under the lock, as it may make the estimate. */
unsigned acu_sim_function_occupancy(const acu_sim_function *function, unsigned threads,
                                    size_t shared);

/* Returns how many of them run at once here: no fewer than on a GPU, as blocks may wait for each
 * other, so an estimate that may be too large does not count. Under the lock, too. */
unsigned acu_sim_function_resident(const acu_sim_function *function, unsigned threads,
                                   size_t shared);

/* Returns the bytes of dynamic shared memory that each block can have if a multiprocessor is to
 * hold so many blocks at once. */
size_t acu_sim_function_shared_for(const acu_sim_function *function, size_t blocks);

/* Reads the attributes of a launch: writes the size of its clusters, and whether it is cooperative,
 * where an attribute says so. Returns the error of the first attribute that is unknown or wrong.
 * `in_graph`: of a node, in which CUDA looks at less. */
cudaError_t acu_sim_function_read_attributes(const cudaLaunchConfig_t *config, bool in_graph,
                                             unsigned cluster[3], bool *cooperative);

/* Completes and validates the size of the clusters of a launch, all 0 if none was given. A launch
 * must give one where the kernel asks for that, and must give the kernel's own if that is fixed. */
cudaError_t acu_sim_function_validate_cluster(const acu_sim_function *function,
                                              const unsigned grid[3], unsigned cluster[3]);

/* Finds the size of the largest cluster that the configuration can be launched with, in blocks. */
cudaError_t acu_sim_function_max_cluster_size(const acu_sim_function *function,
                                              const cudaLaunchConfig_t *config, int *size);

/* Finds how many clusters of the configured size the device, or the configuration's stream, holds
 * at once. */
cudaError_t acu_sim_function_max_clusters(const acu_sim_function *function,
                                          const cudaLaunchConfig_t *config, int *count);

#endif
