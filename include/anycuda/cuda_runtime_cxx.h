/*
 * The overloads of CUDA's <cuda_runtime.h> for C++. They take typed pointers, kernels and symbols
 * where the C API takes `void *`.
 *
 * All functions are static, so that a file's calls follow that file's
 * CUDA_API_PER_THREAD_DEFAULT_STREAM, and so that two libraries in one process, each with its own
 * anycuda, never share an instance.
 *
 * A call of a function that may be newer than ACU_CUDA_MAX depends on a template's argument, so
 * that the compiler reports the use in the program, not this header. In clang only an unqualified
 * name has this effect.
 */
#ifndef ACU_CUDA_RUNTIME_CXX_H
#define ACU_CUDA_RUNTIME_CXX_H

#include <anycuda/cudart.h>

/* Undefined where NVIDIA's own headers were included first, and cudart.h was an #error. */
#if defined(__cplusplus) && defined(ACU_CUDART_TYPES_H)

#if __cplusplus >= 201103L
#include <utility>
#endif

/* NVIDIA's overloads cast as C does and so take pointers to const. The functions below cast in the
 * same way, so that they take whatever NVIDIA's take. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"

/* Helpers of anycuda; CUDA has none of these names. */
namespace acu_cxx {

/* A kernel's address or handle, as the C API takes it. */
template <class T> static inline const void *kernel(T *func) {
    return reinterpret_cast<const void *>(func);
}

/* The target may be const, as a program's own pointer to what it only reads later. */
template <class T> static inline void **out(T **pointer) {
    return (void **)pointer;
}

/* Where a value is, whatever its type makes of `&`. */
template <class T> static inline void *address(const T &value) {
    return const_cast<char *>(&reinterpret_cast<const volatile char &>(value));
}

/*
 * A symbol is a variable of the device. Only nvcc knows one from a pointer to one, which the C API
 * takes: elsewhere a pointer is what it is.
 */
template <class T> struct is_array {
    enum { value = 0 };
};
template <class T> struct is_array<T[]> {
    enum { value = 1 };
};
template <class T, size_t count> struct is_array<T[count]> {
    enum { value = 1 };
};
char becomes_pointer(const void *);
long becomes_pointer(...);
template <class T> struct is_symbol {
    static const T &one();
#if defined(__CUDACC__)
    enum { value = 1 };
#else
    enum { value = is_array<T>::value || sizeof(becomes_pointer(one())) != 1 };
#endif
};
/* A function's result, where the condition holds; elsewhere there is no such function. */
template <bool holds> struct result_if {};
template <> struct result_if<true> {
    typedef cudaError_t type;
};
template <class T> struct if_symbol : result_if<is_symbol<T>::value> {};

/* An array of addresses, as the C API takes it. */
template <class T> static inline void *const *targets(T *const *addresses) {
    return (void *const *)addresses;
}

template <class T> static inline const void *const *sources(T *const *addresses) {
    return (const void *const *)addresses;
}

/* An address, whether it is a pointer or an integer. */
template <class T> static inline void *pointer(T place) {
    return (void *)place;
}

#if __cplusplus >= 201103L
/* `values` have the types that the kernel declares: their addresses are its arguments. */
template <class Config, class... Declared>
static inline cudaError_t launch(const Config *config, const void *func, Declared... values) {
    void *addresses[] = {address(values)..., nullptr};
    return cudaLaunchKernelExC(config, func, addresses);
}
#endif

template <class T> static inline void destroy(void *object) {
    delete static_cast<T *>(object);
}

/* What cudaOccupancyMaxPotentialBlockSize() asks of the device and the kernel. */
struct limits {
    int warp, multiprocessors, threads_per_multiprocessor, threads_per_block;
};

static inline cudaError_t ask(limits *all, const void *func) {
    int device = 0;
    cudaFuncAttributes attributes = cudaFuncAttributes();
    cudaError_t result = ::cudaGetDevice(&device);
    if (result == cudaSuccess)
        result = ::cudaDeviceGetAttribute(&all->warp, cudaDevAttrWarpSize, device);
    if (result == cudaSuccess)
        result =
            ::cudaDeviceGetAttribute(&all->multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (result == cudaSuccess)
        result = ::cudaDeviceGetAttribute(&all->threads_per_multiprocessor,
                                          cudaDevAttrMaxThreadsPerMultiProcessor, device);
    if (result == cudaSuccess)
        result = ::cudaDeviceGetAttribute(&all->threads_per_block, cudaDevAttrMaxThreadsPerBlock,
                                          device);
    if (result == cudaSuccess)
        result = ::cudaFuncGetAttributes(&attributes, func);
    if (result == cudaSuccess && attributes.maxThreadsPerBlock < all->threads_per_block)
        all->threads_per_block = attributes.maxThreadsPerBlock;
    return result;
}

struct same_memory {
    size_t bytes;
    size_t operator()(int) const { return bytes; }
};

} // namespace acu_cxx

/* ---- memory ---- */

template <class T> static inline cudaError_t cudaMalloc(T **devPtr, size_t size) {
    return ::cudaMalloc(acu_cxx::out(devPtr), size);
}

template <class T>
static inline cudaError_t cudaMallocPitch(T **devPtr, size_t *pitch, size_t width, size_t height) {
    return ::cudaMallocPitch(acu_cxx::out(devPtr), pitch, width, height);
}

template <class T>
static inline cudaError_t cudaMallocManaged(T **devPtr, size_t size,
                                            unsigned int flags = cudaMemAttachGlobal) {
    return ::cudaMallocManaged(acu_cxx::out(devPtr), size, flags);
}

static inline cudaError_t cudaMallocHost(void **ptr, size_t size, unsigned int flags) {
    return ::cudaHostAlloc(ptr, size, flags);
}

template <class T>
static inline cudaError_t cudaMallocHost(T **ptr, size_t size, unsigned int flags = 0) {
    return ::cudaHostAlloc(acu_cxx::out(ptr), size, flags);
}

template <class T>
static inline cudaError_t cudaHostAlloc(T **ptr, size_t size, unsigned int flags) {
    return ::cudaHostAlloc(acu_cxx::out(ptr), size, flags);
}

template <class T>
static inline cudaError_t cudaHostGetDevicePointer(T **pDevice, void *pHost, unsigned int flags) {
    return ::cudaHostGetDevicePointer(acu_cxx::out(pDevice), pHost, flags);
}

template <class T>
static inline cudaError_t cudaMallocAsync(T **ptr, size_t size, cudaStream_t stream) {
    return ::cudaMallocAsync(acu_cxx::out(ptr), size, stream);
}

static inline cudaError_t cudaMallocAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                          cudaStream_t stream) {
    return ::cudaMallocFromPoolAsync(ptr, size, memPool, stream);
}

template <class T>
static inline cudaError_t cudaMallocAsync(T **ptr, size_t size, cudaMemPool_t memPool,
                                          cudaStream_t stream) {
    return ::cudaMallocFromPoolAsync(acu_cxx::out(ptr), size, memPool, stream);
}

template <class T>
static inline cudaError_t cudaMallocFromPoolAsync(T **ptr, size_t size, cudaMemPool_t memPool,
                                                  cudaStream_t stream) {
    return ::cudaMallocFromPoolAsync(acu_cxx::out(ptr), size, memPool, stream);
}

template <class T>
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *devPtr,
                                                   size_t length = 0,
                                                   unsigned int flags = cudaMemAttachSingle) {
    return ::cudaStreamAttachMemAsync(
        stream, const_cast<void *>(static_cast<const volatile void *>(devPtr)), length, flags);
}

/* ---- copies in batches; the forms without indices give every copy the same attributes ---- */

template <class T>
static inline cudaError_t cudaMemPrefetchBatchAsync(T **dptrs, size_t *sizes, size_t count,
                                                    cudaMemLocation *prefetchLocs,
                                                    size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                    unsigned long long flags, cudaStream_t stream) {
    return ::cudaMemPrefetchBatchAsync(acu_cxx::out(dptrs), sizes, count, prefetchLocs,
                                       prefetchLocIdxs, numPrefetchLocs, flags, stream);
}

template <class T>
static inline cudaError_t cudaMemPrefetchBatchAsync(T **dptrs, size_t *sizes, size_t count,
                                                    cudaMemLocation prefetchLocs,
                                                    unsigned long long flags, cudaStream_t stream) {
    size_t first = 0;
    return ::cudaMemPrefetchBatchAsync(acu_cxx::out(dptrs), sizes, count, &prefetchLocs, &first, 1,
                                       flags, stream);
}

template <class T>
static inline cudaError_t cudaMemDiscardAndPrefetchBatchAsync(
    T **dptrs, size_t *sizes, size_t count, cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
    size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream) {
    return ::cudaMemDiscardAndPrefetchBatchAsync(acu_cxx::out(dptrs), sizes, count, prefetchLocs,
                                                 prefetchLocIdxs, numPrefetchLocs, flags, stream);
}

template <class T>
static inline cudaError_t
cudaMemDiscardAndPrefetchBatchAsync(T **dptrs, size_t *sizes, size_t count,
                                    cudaMemLocation prefetchLocs, unsigned long long flags,
                                    cudaStream_t stream) {
    size_t first = 0;
    return ::cudaMemDiscardAndPrefetchBatchAsync(acu_cxx::out(dptrs), sizes, count, &prefetchLocs,
                                                 &first, 1, flags, stream);
}

template <class T, class U>
static inline cudaError_t cudaMemcpyBatchAsync(T *const *dsts, U *const *srcs, const size_t *sizes,
                                               size_t count, cudaMemcpyAttributes *attrs,
                                               size_t *attrsIdxs, size_t numAttrs,
                                               cudaStream_t hStream) {
    return ::cudaMemcpyBatchAsync(acu_cxx::targets(dsts), acu_cxx::sources(srcs), sizes, count,
                                  attrs, attrsIdxs, numAttrs, hStream);
}

template <class T, class U>
static inline cudaError_t cudaMemcpyBatchAsync(T *const *dsts, U *const *srcs, const size_t *sizes,
                                               size_t count, cudaMemcpyAttributes attr,
                                               cudaStream_t hStream) {
    size_t first = 0;
    return ::cudaMemcpyBatchAsync(acu_cxx::targets(dsts), acu_cxx::sources(srcs), sizes, count,
                                  &attr, &first, 1, hStream);
}

/* Only its attributes tell this one from cudaMemcpyAsync() with a kind. */
template <class T, class U>
static inline cudaError_t cudaMemcpyAsync(T dst, U src, const size_t size,
                                          cudaMemcpyAttributes *attr, cudaStream_t hStream) {
    return cudaMemcpyWithAttributesAsync(acu_cxx::pointer(dst), acu_cxx::pointer(src), size, attr,
                                         hStream);
}

/* ---- symbols ---- */

template <class T>
static inline typename acu_cxx::if_symbol<T>::type cudaGetSymbolAddress(void **devPtr,
                                                                        const T &symbol) {
    return ::cudaGetSymbolAddress(devPtr, acu_cxx::address(symbol));
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type cudaGetSymbolSize(size_t *size,
                                                                     const T &symbol) {
    return ::cudaGetSymbolSize(size, acu_cxx::address(symbol));
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaMemcpyToSymbol(const T &symbol, const void *src, size_t count, size_t offset = 0,
                   cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return ::cudaMemcpyToSymbol(acu_cxx::address(symbol), src, count, offset, kind);
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t count, size_t offset = 0,
                        cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                        cudaStream_t stream = ACU_NULL) {
    return ::cudaMemcpyToSymbolAsync(acu_cxx::address(symbol), src, count, offset, kind, stream);
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t count, size_t offset = 0,
                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return ::cudaMemcpyFromSymbol(dst, acu_cxx::address(symbol), count, offset, kind);
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaMemcpyFromSymbolAsync(void *dst, const T &symbol, size_t count, size_t offset = 0,
                          cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                          cudaStream_t stream = ACU_NULL) {
    return ::cudaMemcpyFromSymbolAsync(dst, acu_cxx::address(symbol), count, offset, kind, stream);
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                               const cudaGraphNode_t *pDependencies, size_t numDependencies,
                               const T &symbol, const void *src, size_t count, size_t offset,
                               cudaMemcpyKind kind) {
    return ::cudaGraphAddMemcpyNodeToSymbol(pGraphNode, graph, pDependencies, numDependencies,
                                            acu_cxx::address(symbol), src, count, offset, kind);
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                 const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                 void *dst, const T &symbol, size_t count, size_t offset,
                                 cudaMemcpyKind kind) {
    return ::cudaGraphAddMemcpyNodeFromSymbol(pGraphNode, graph, pDependencies, numDependencies,
                                              dst, acu_cxx::address(symbol), count, offset, kind);
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const T &symbol, const void *src,
                                     size_t count, size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, acu_cxx::address(symbol), src, count,
                                                  offset, kind);
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const T &symbol,
                                       size_t count, size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, dst, acu_cxx::address(symbol), count,
                                                    offset, kind);
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                         const T &symbol, const void *src, size_t count,
                                         size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(hGraphExec, node, acu_cxx::address(symbol),
                                                      src, count, offset, kind);
}

template <class T>
static inline typename acu_cxx::if_symbol<T>::type
cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                           void *dst, const T &symbol, size_t count, size_t offset,
                                           cudaMemcpyKind kind) {
    return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        hGraphExec, node, dst, acu_cxx::address(symbol), count, offset, kind);
}

/* ---- events and graphs ---- */

static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags) {
    return ::cudaEventCreateWithFlags(event, flags);
}

/* The function's parameters before CUDA 12; no version writes the node and the log any more. */
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                               cudaGraphNode_t *pErrorNode, char *pLogBuffer,
                                               size_t bufferSize) {
    (void)pErrorNode;
    (void)pLogBuffer;
    (void)bufferSize;
    return ::cudaGraphInstantiate(pGraphExec, graph, 0);
}

/* The function's parameters before CUDA 12, which returned the node and the reason separately. */
static inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                              cudaGraphNode_t *hErrorNode_out,
                                              cudaGraphExecUpdateResult *updateResult_out) {
    cudaGraphExecUpdateResultInfo info = cudaGraphExecUpdateResultInfo();
    cudaError_t result = ::cudaGraphExecUpdate(hGraphExec, hGraph, &info);
    if (hErrorNode_out)
        *hErrorNode_out = info.errorNode;
    if (updateResult_out)
        *updateResult_out = info.result;
    return result;
}

/* The object is deleted with its last reference. */
template <class T>
static inline cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, T *objectToWrap,
                                               unsigned int initialRefcount, unsigned int flags) {
    return ::cudaUserObjectCreate(object_out, objectToWrap, acu_cxx::destroy<T>, initialRefcount,
                                  flags);
}

template <class T>
static inline cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, T *objectToWrap,
                                               unsigned int initialRefcount,
                                               cudaUserObjectFlags flags) {
    return ::cudaUserObjectCreate(object_out, objectToWrap, acu_cxx::destroy<T>, initialRefcount,
                                  static_cast<unsigned int>(flags));
}

/* ---- kernels ---- */

template <class T>
static inline cudaError_t cudaLaunchKernel(T *func, dim3 grid, dim3 block, void **args,
                                           size_t sharedMem = 0, cudaStream_t stream = ACU_NULL) {
    return ::cudaLaunchKernel(acu_cxx::kernel(func), grid, block, args, sharedMem, stream);
}

template <class T>
static inline cudaError_t cudaLaunchCooperativeKernel(T *func, dim3 grid, dim3 block, void **args,
                                                      size_t sharedMem = 0,
                                                      cudaStream_t stream = ACU_NULL) {
    return ::cudaLaunchCooperativeKernel(acu_cxx::kernel(func), grid, block, args, sharedMem,
                                         stream);
}

#if __cplusplus >= 201103L
/* Each argument is converted to the type that the kernel declares. */
template <class... Declared, class... Given>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                             void (*kernel)(Declared...), Given &&...args) {
    static_assert(sizeof...(Declared) == sizeof...(Given),
                  "the kernel has another number of parameters");
    return acu_cxx::launch<cudaLaunchConfig_t, Declared...>(config, acu_cxx::kernel(kernel),
                                                            std::forward<Given>(args)...);
}

/* A handle does not know the kernel's parameters: each argument must have its type already. */
template <class... Given>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                             const cudaKernel_t kernel, Given &&...args) {
    return acu_cxx::launch<cudaLaunchConfig_t, Given &...>(config, acu_cxx::kernel(kernel),
                                                           args...);
}
#endif

template <class T>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attr, T *entry) {
    return ::cudaFuncGetAttributes(attr, acu_cxx::kernel(entry));
}

template <class T>
static inline cudaError_t cudaFuncSetAttribute(T *func, cudaFuncAttribute attr, int value) {
    return ::cudaFuncSetAttribute(acu_cxx::kernel(func), attr, value);
}

template <class T>
static inline cudaError_t cudaFuncSetCacheConfig(T *func, cudaFuncCache cacheConfig) {
    return ::cudaFuncSetCacheConfig(acu_cxx::kernel(func), cacheConfig);
}

template <class T>
static inline cudaError_t cudaFuncSetSharedMemConfig(T *func, cudaSharedMemConfig config) {
    return ::cudaFuncSetSharedMemConfig(acu_cxx::kernel(func), config);
}

template <class T> static inline cudaError_t cudaFuncGetName(const char **name, T *func) {
    return ::cudaFuncGetName(name, acu_cxx::kernel(func));
}

template <class T> static inline cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, T *func) {
    return ::cudaGetKernel(kernelPtr, acu_cxx::kernel(func));
}

/* ---- libraries ---- */

template <class T>
static inline cudaError_t cudaLibraryGetGlobal(T **dptr, size_t *bytes, cudaLibrary_t library,
                                               const char *name) {
    return ::cudaLibraryGetGlobal(acu_cxx::out(dptr), bytes, library, name);
}

template <class T>
static inline cudaError_t cudaLibraryGetManaged(T **dptr, size_t *bytes, cudaLibrary_t library,
                                                const char *name) {
    return ::cudaLibraryGetManaged(acu_cxx::out(dptr), bytes, library, name);
}

template <class T>
static inline cudaError_t cudaLibraryGetUnifiedFunction(T **fptr, cudaLibrary_t library,
                                                        const char *symbol) {
    return ::cudaLibraryGetUnifiedFunction(acu_cxx::out(fptr), library, symbol);
}

/* ---- occupancy ---- */

template <class T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, T func,
                                                                        int blockSize,
                                                                        size_t dynamicSMemSize) {
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, acu_cxx::kernel(func),
                                                           blockSize, dynamicSMemSize);
}

template <class T>
static inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, T func, int blockSize,
                                                       size_t dynamicSMemSize, unsigned int flags) {
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, acu_cxx::kernel(func), blockSize, dynamicSMemSize, flags);
}

template <class T>
static inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                                    T *func, int numBlocks,
                                                                    int blockSize) {
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, acu_cxx::kernel(func),
                                                       numBlocks, blockSize);
}

/*
 * The largest block size, in whole warps, with which most threads are resident at a time, and the
 * grid that fills the device with such blocks. Shared memory is asked for each size tried.
 */
template <class UnaryFunction, class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int *minGridSize, int *blockSize, T func, UnaryFunction blockSizeToDynamicSMemSize,
    int blockSizeLimit = 0, unsigned int flags = 0) {
    const void *kernel = acu_cxx::kernel(func);
    if (!minGridSize || !blockSize || !kernel)
        return cudaErrorInvalidValue;
    acu_cxx::limits limits = acu_cxx::limits();
    cudaError_t result = acu_cxx::ask(&limits, kernel);
    if (result != cudaSuccess)
        return result;

    int limit = limits.threads_per_block;
    if (blockSizeLimit > 0 && blockSizeLimit < limit)
        limit = blockSizeLimit;
    int best_size = 0, best_blocks = 0, most_threads = 0;
    /* First the limit itself, which need not be a whole number of warps. */
    for (int size = limit; size > 0 && most_threads < limits.threads_per_multiprocessor;
         size = (size - 1) / limits.warp * limits.warp) {
        int blocks = 0;
        result = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, kernel, size, blockSizeToDynamicSMemSize(size), flags);
        if (result != cudaSuccess)
            return result;
        if (size * blocks > most_threads) {
            best_size = size;
            best_blocks = blocks;
            most_threads = size * blocks;
        }
    }
    *blockSize = best_size;
    *minGridSize = best_blocks * limits.multiprocessors;
    return cudaSuccess;
}

template <class UnaryFunction, class T>
static inline cudaError_t
cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *minGridSize, int *blockSize, T func,
                                               UnaryFunction blockSizeToDynamicSMemSize,
                                               int blockSizeLimit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        minGridSize, blockSize, func, blockSizeToDynamicSMemSize, blockSizeLimit,
        cudaOccupancyDefault);
}

template <class T>
static inline cudaError_t
cudaOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, T func,
                                            size_t dynamicSMemSize = 0, int blockSizeLimit = 0,
                                            unsigned int flags = 0) {
    const acu_cxx::same_memory memory = {dynamicSMemSize};
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(minGridSize, blockSize, func,
                                                                   memory, blockSizeLimit, flags);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize,
                                                             T func, size_t dynamicSMemSize = 0,
                                                             int blockSizeLimit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeWithFlags(
        minGridSize, blockSize, func, dynamicSMemSize, blockSizeLimit, cudaOccupancyDefault);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, T *func,
                                                               const cudaLaunchConfig_t *config) {
    return ::cudaOccupancyMaxPotentialClusterSize(clusterSize, acu_cxx::kernel(func), config);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, T *func,
                                                         const cudaLaunchConfig_t *config) {
    return ::cudaOccupancyMaxActiveClusters(numClusters, acu_cxx::kernel(func), config);
}

#pragma GCC diagnostic pop

#endif
#endif
