/* The driver API's launches of kernels, and the occupancy that they reach. */
#include "sim/code/function.h"
#include "sim/code/kernel_launch.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/driver/driver.h"
#include "sim/stream/capture.h"
#include "sim/stream/stream.h"

/* ---- launching ---- */

static cudaError_t launch(const cudaLaunchConfig_t *config, CUfunction f, void **params,
                          void **extra) {
    acu_sim_stream *stream;
    SIM_TRY(acu_sim_stream_of(config->stream, &stream));
    SIM_TRY(acu_sim_capture_allows(stream, SIM_ENQUEUES));
    if (!acu_sim_kernel_of(f) && !acu_sim_function_of(f))
        return cudaErrorInvalidResourceHandle;
    return acu_sim_kernel_launch_submit(config->stream, f, config, params, extra);
}

cudaError_t acu_sim_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream,
                                   void **kernelParams, void **extra) {
    const cudaLaunchConfig_t config = {.gridDim = {gridDimX, gridDimY, gridDimZ},
                                       .blockDim = {blockDimX, blockDimY, blockDimZ},
                                       .dynamicSmemBytes = sharedMemBytes,
                                       .stream = hStream};
    return launch(&config, f, kernelParams, extra);
}

cudaError_t acu_sim_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                              unsigned int gridDimY, unsigned int gridDimZ,
                                              unsigned int blockDimX, unsigned int blockDimY,
                                              unsigned int blockDimZ, unsigned int sharedMemBytes,
                                              CUstream hStream, void **kernelParams) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
    const cudaLaunchConfig_t config = {.gridDim = {gridDimX, gridDimY, gridDimZ},
                                       .blockDim = {blockDimX, blockDimY, blockDimZ},
                                       .dynamicSmemBytes = sharedMemBytes,
                                       .stream = hStream,
                                       .attrs = &attribute,
                                       .numAttrs = 1};
    return launch(&config, f, kernelParams, NULL);
}

/* Attributes have the same layout in both APIs. */
static cudaLaunchConfig_t as_config(const CUlaunchConfig *config) {
    return (cudaLaunchConfig_t){
        .gridDim = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .blockDim = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamicSmemBytes = config->sharedMemBytes,
        .stream = config->hStream,
        .attrs = (cudaLaunchAttribute *)(void *)config->attrs,
        .numAttrs = config->numAttrs};
}

cudaError_t acu_sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
                                     void **kernelParams, void **extra) {
    if (!config)
        return cudaErrorInvalidValue;
    const cudaLaunchConfig_t same = as_config(config);
    return launch(&same, f, kernelParams, extra);
}

/* ---- occupancy ---- */

/* Finds a function, or a kernel's function in the current context; `good` is whether the other
 * arguments are valid, which the driver checks first. */
static cudaError_t find_function(CUfunction handle, bool good, acu_sim_function **function) {
    acu_sim_kernel_handle *kernel = acu_sim_kernel_of(handle);
    if (!good)
        return cudaErrorInvalidValue;
    if (kernel)
        return acu_sim_kernel_function(kernel, acu_sim_context_now(), function);
    *function = acu_sim_function_of(handle);
    return *function ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t acu_sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags) {
    acu_sim_function *f;
    SIM_TRY(find_function(func, numBlocks && blockSize > 0 && flags <= 1, &f));
    *numBlocks = (int)acu_sim_function_occupancy(f, (unsigned)blockSize, dynamicSMemSize);
    return cudaSuccess;
}

cudaError_t acu_sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                                int blockSize,
                                                                size_t dynamicSMemSize) {
    return acu_sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                        dynamicSMemSize, 0);
}

cudaError_t acu_sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                            CUfunction func, int numBlocks,
                                                            int blockSize) {
    acu_sim_function *f;
    SIM_TRY(find_function(func, dynamicSmemSize && numBlocks > 0 && blockSize > 0, &f));
    if ((unsigned)numBlocks > acu_sim_function_occupancy(f, (unsigned)blockSize, 0))
        return cudaErrorInvalidValue;
    *dynamicSmemSize = acu_sim_function_shared_for(f, (size_t)numBlocks);
    return cudaSuccess;
}

/* Calls the program's function, with the lock given up, because it may call CUDA. Afterwards the
 * current context may be another one, or have ended. */
static cudaError_t ask_shared_size(CUoccupancyB2DSize ask, int block_size, size_t *shared) {
    pthread_mutex_unlock(&acu_sim_lock);
    *shared = ask(block_size);
    pthread_mutex_lock(&acu_sim_lock);
    return acu_sim_require_by_driver(SIM_NEEDS_CONTEXT);
}

/* Reports the largest block among those with the most threads per multiprocessor. */
cudaError_t
acu_sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                  size_t dynamicSMemSize, int blockSizeLimit,
                                                  unsigned int flags) {
    acu_sim_function *f;
    bool good = minGridSize && blockSize && blockSizeLimit >= 0 && flags <= 1;
    SIM_TRY(find_function(func, good, &f));
    int largest = (int)acu_sim_function_threads(f), best = 0;
    int processors = acu_sim_device_attribute(f->module->device, cudaDevAttrMultiProcessorCount);
    if (blockSizeLimit && blockSizeLimit < largest)
        largest = blockSizeLimit;
    for (int size = largest; size > 0; size = (size - 1) / 32 * 32) {
        int blocks = 0;
        size_t shared = dynamicSMemSize;
        if (blockSizeToDynamicSMemSize)
            SIM_TRY(ask_shared_size(blockSizeToDynamicSMemSize, size, &shared));
        SIM_TRY(acu_sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, func, size, shared));
        if (blocks * size > best) {
            best = blocks * size;
            *blockSize = size;
            *minGridSize = blocks * processors;
        }
    }
    return best ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize,
                                                     CUfunction func,
                                                     CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                     size_t dynamicSMemSize, int blockSizeLimit) {
    return acu_sim_cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                             blockSizeToDynamicSMemSize,
                                                             dynamicSMemSize, blockSizeLimit, 0);
}

cudaError_t acu_sim_cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                                       const CUlaunchConfig *config) {
    acu_sim_function *f;
    SIM_TRY(find_function(func, clusterSize && config, &f));
    const cudaLaunchConfig_t same = as_config(config);
    return acu_sim_function_max_cluster_size(f, &same, clusterSize);
}

cudaError_t acu_sim_cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                                 const CUlaunchConfig *config) {
    acu_sim_function *f;
    SIM_TRY(find_function(func, numClusters && config, &f));
    const cudaLaunchConfig_t same = as_config(config);
    return acu_sim_function_max_clusters(f, &same, numClusters);
}
