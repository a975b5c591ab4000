/* Kernel launches: validated, with their arguments copied, and run later. */
#ifndef ACU_SIM_CODE_KERNEL_LAUNCH_H
#define ACU_SIM_CODE_KERNEL_LAUNCH_H

#include "sim/device/device_resource.h"
#include "sim/sim.h"

/* A validated launch with a copy of its arguments. A stream's operation owns one, and so does a
 * kernel node of a graph. */
struct acu_sim_kernel_launch {
    const void *handle; /* the kernel or the function, as the program named it */
    acu_sim_function *function;
    unsigned grid[3], block[3]; /* blocks of the grid, threads of a block, in x, y, z */
    unsigned cluster[3];        /* blocks of a cluster; 1, 1, 1: no clusters */
    size_t shared;              /* bytes of dynamic shared memory of a block */
    bool cooperative;
    bool off;                        /* a kernel switched the node off */
    unsigned multiprocessors;        /* how many it may run on */
    acu_sim_processors processors;   /* which those are */
    cudaLaunchAttribute *attributes; /* all that the program gave */
    unsigned attribute_count;
    char *arguments; /* the arguments' bytes, laid out as the kernel's parameters */
    void **args;     /* a pointer into `arguments` for each parameter */
    struct acu_sim_reference *references; /* the module's, as they were; NULL: it has none */
};

/* All functions but acu_sim_kernel_launch_run() are called under the lock. */

/*
 * Validates a launch in the context and copies its arguments, which are in `args` or `extra`, as
 * cuLaunchKernel() takes them. The launch runs on the multiprocessors of `execution`; NULL: of the
 * device. `config->stream` is ignored. A launch that becomes a node is looked at in another order.
 * The caller frees `prepared`, which is left as it is on failure.
 */
cudaError_t acu_sim_kernel_launch_prepare(acu_sim_context *context,
                                          const acu_sim_execution_context *execution,
                                          const void *handle, const cudaLaunchConfig_t *config,
                                          void *const *args, void *const *extra, bool in_graph,
                                          acu_sim_kernel_launch **prepared);

/* Returns a copy that the caller frees; NULL without memory. */
acu_sim_kernel_launch *acu_sim_kernel_launch_clone(const acu_sim_kernel_launch *prepared);

/* Frees a prepared launch; NULL is fine. */
void acu_sim_kernel_launch_free(acu_sim_kernel_launch *prepared);

/* Returns the kernel's name in its module. */
const char *acu_sim_kernel_launch_name(const acu_sim_kernel_launch *prepared);
acu_sim_context *acu_sim_kernel_launch_context(const acu_sim_kernel_launch *prepared);

/* Calls the C function that is registered for the kernel, or executes its PTX, and then all that
 * this launches. The lock is not held, because it may take long. The error returned is the
 * context's: it is sticky. */
cudaError_t acu_sim_kernel_launch_run(const acu_sim_kernel_launch *prepared);

/* Writes how many blocks the launch has, and threads in each. These are what was asked for, unless
 * the kernel says that a grid counts clusters, or how many threads a block has, for which a block
 * of one thread stands. */
void acu_sim_kernel_launch_extents(const acu_sim_kernel_launch *prepared, unsigned grid[3],
                                   unsigned block[3]);

/* Change a launch that a node has, or only ask whether that can be done. False where the grid is
 * beyond the device's limits, or the bytes are beyond the parameters. */
bool acu_sim_kernel_launch_set_grid(acu_sim_kernel_launch *prepared, const unsigned grid[3],
                                    bool only_asks);
bool acu_sim_kernel_launch_set_param(acu_sim_kernel_launch *prepared, size_t offset,
                                     const void *value, size_t size, bool only_asks);

/* Returns an operation that runs the launch and owns it; NULL without memory: then the launch is
 * freed. */
acu_sim_op *acu_sim_kernel_launch_op(acu_sim_kernel_launch *prepared);

/* Prepares a launch and queues it on the stream, or records it in the stream's capture. */
cudaError_t acu_sim_kernel_launch_submit(cudaStream_t handle, const void *function,
                                         const cudaLaunchConfig_t *config, void *const *args,
                                         void *const *extra);

/* Returns the allocation that all of the bytes are in; NULL if there is none, or kernels of the
 * device cannot access it. */
const acu_sim_range *acu_sim_kernel_launch_find(const acu_sim_device *device, const void *address,
                                                size_t bytes);

/* Ends the running kernel as an illegal address does; says that `value` is `what`. The lock is not
 * held. */
_Noreturn void acu_sim_kernel_end(const acu_sim_launch *launch, const char *what,
                                  unsigned long long value);

/* Returns whether a C function is registered for kernels of the name. */
bool acu_sim_kernel_is_registered(const char *name);

#endif
