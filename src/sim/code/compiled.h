/*
 * Kernels and variables that nvcc compiled into the program. Host code names each by an address of
 * the host, which the program registers before main().
 */
#ifndef ACU_SIM_COMPILED_H
#define ACU_SIM_COMPILED_H

#include "sim/code/module.h"
#include "sim/device/context.h"

/*
 * The functions that nvcc's code calls, declared as nvcc declares them. In the shared library they
 * have the names that nvcc's code calls: __cudaRegisterFatBinary and so on.
 */
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

/* The functions below are called under the lock. */

/* Returns the kernel that the program registered for the host's address; NULL if there is none. */
acu_sim_kernel_handle *acu_sim_compiled_kernel(const void *host);

/* Returns the host's address that the program registered the kernel for; NULL if `handle` is no
 * such kernel. */
const void *acu_sim_compiled_host(const void *handle);

/*
 * Finds the address and the size of a registered variable in the context, where its module is
 * loaded if needed. Returns cudaErrorInvalidSymbol if the program registered none for `host`.
 */
cudaError_t acu_sim_compiled_variable(const void *host, acu_sim_context *context, void **at,
                                      size_t *size);

/* Makes the library's registered kernels look up their index again, because its image was freed. */
void acu_sim_compiled_reset(const acu_sim_library *library);

/* Writes the addresses of the library's managed variables to where host code reads them. */
void acu_sim_compiled_place(const acu_sim_library *library);

#endif
