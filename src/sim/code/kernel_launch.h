/* Launches of kernels. */
#ifndef ACU_SIM_CODE_KERNEL_LAUNCH_H
#define ACU_SIM_CODE_KERNEL_LAUNCH_H

#include "sim/sim.h"

/* A launch that was found good, with a copy of its arguments: what a stream runs, a graph keeps. */
struct acu_sim_kernel_launch {
    const void *handle;         /* as the program named it: a kernel, or a function */
    acu_sim_function *function; /* on the device where it is to run */
    unsigned grid[3], block[3], cluster[3];
    size_t shared;
    bool cooperative;
    cudaLaunchAttribute *attributes; /* all that came with it */
    unsigned attribute_count;
    char *arguments; /* their bytes, laid out as the kernel's parameters */
    void **args;     /* into these; one per parameter */
};

/*
 * Judges a launch in the context and copies what it needs. `config->stream` is not looked at; the
 * arguments are in `args` or `extra`, as cuLaunchKernel() takes them. Under the lock; so are all
 * but the last. Failing, it leaves `prepared` as it was.
 */
cudaError_t acu_sim_kernel_launch_prepare(acu_sim_context *context, const void *handle,
                                          const cudaLaunchConfig_t *config, void *const *args,
                                          void *const *extra, acu_sim_kernel_launch **prepared);
acu_sim_kernel_launch *acu_sim_kernel_launch_clone(const acu_sim_kernel_launch *prepared);
void acu_sim_kernel_launch_free(acu_sim_kernel_launch *prepared);
const char *acu_sim_kernel_launch_name(const acu_sim_kernel_launch *prepared);
acu_sim_context *acu_sim_kernel_launch_context(const acu_sim_kernel_launch *prepared);

/* The kernel's work: what an operation does, outside the lock. Its error is the context's. */
cudaError_t acu_sim_kernel_launch_run(const acu_sim_kernel_launch *prepared);

/* Takes what was prepared. */
acu_sim_op *acu_sim_kernel_launch_op(acu_sim_kernel_launch *prepared);

/* Queues it on the stream. */
cudaError_t acu_sim_kernel_launch_submit(cudaStream_t handle, const void *function,
                                         const cudaLaunchConfig_t *config, void *const *args,
                                         void *const *extra);

#endif
