/*
 * What nvcc compiled into the program: kernels and variables that the host names by an address of
 * its own. In the shared library the functions have the names that nvcc's code calls.
 */
#ifndef ACU_SIM_COMPILED_H
#define ACU_SIM_COMPILED_H

#include "sim/code/module.h"
#include "sim/device/context.h"

/* What that code calls, as its compiler declares it. */
#define COMPILED(returns, name, params)                                                            \
    extern returns acu_sim_compiled_##name params SIM_SYMBOL("__cuda" #name);
COMPILED(void **, RegisterFatBinary, (void *wrapper))
COMPILED(void, RegisterFatBinaryEnd, (void **handle))
COMPILED(void, UnregisterFatBinary, (void **handle))
COMPILED(void, RegisterFunction,
         (void **handle, const char *host, char *device, const char *name, int thread_limit,
          void *tid, void *bid, dim3 *block, dim3 *grid, int *warp_size))
COMPILED(void, RegisterVar,
         (void **handle, char *host, char *device, const char *name, int is_extern, size_t size,
          int constant, int global))
COMPILED(void, RegisterManagedVar,
         (void **handle, void **host, char *device, const char *name, int is_extern, size_t size,
          int constant, int global))
COMPILED(void, RegisterHostVar, (void **handle, const char *name, char *host, size_t size))
COMPILED(char, InitModule, (void **handle))
COMPILED(unsigned, PushCallConfiguration,
         (dim3 grid, dim3 block, size_t shared, cudaStream_t stream))
COMPILED(cudaError_t, PopCallConfiguration,
         (dim3 * grid, dim3 *block, size_t *shared, void *stream))
COMPILED(cudaError_t, GetKernel, (cudaKernel_t * kernel, const void *host))
COMPILED(cudaError_t, LaunchKernel,
         (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
          cudaStream_t stream))
COMPILED(cudaError_t, LaunchKernel_ptsz,
         (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
          cudaStream_t stream))
#undef COMPILED

/* All under the lock. NULL if the program registered no kernel at the address. */
acu_sim_kernel_handle *acu_sim_compiled_kernel(const void *host);

/* Where the variable is in the context, and its size. */
cudaError_t acu_sim_compiled_variable(const void *host, acu_sim_context *context, void **at,
                                      size_t *size);

/* What was read of the library is gone. */
void acu_sim_compiled_reset(const acu_sim_library *library);

/* The library's managed variables are there: the host learns where. */
void acu_sim_compiled_place(const acu_sim_library *library);

#endif
