/*
 * What names meant in older versions of CUDA. Programs that were written for these ask for them by
 * cuGetProcAddress(), and get entries with the parameters that the functions had.
 */
#include "sim/device/error.h"
#include "sim/device/need.h"
#include "sim/driver/driver.h"
#include "sim/entry/entries.h"

#include <string.h>

/* ---- parameters ---- */

static CUmemLocation location_of(CUdevice device) {
    return device == CU_DEVICE_CPU ? (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST}
                                   : (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, {device}};
}

static cudaError_t acu_sim_cuGraphExecUpdate_v1(CUgraphExec exec, CUgraph graph, CUgraphNode *node,
                                                CUgraphExecUpdateResult *result) {
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    cudaError_t code = acu_sim_cuGraphExecUpdate(exec, graph, &info);
    if (node)
        *node = info.errorNode;
    if (result)
        *result = info.result;
    return code;
}

/* The node and the log of a failure are left alone. CUDA 12's macro passes flags in place of the
 * node, and an H200 does not look at them, either. */
static cudaError_t acu_sim_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph,
                                                 CUgraphNode *node, char *log, size_t room) {
    (void)node;
    (void)log;
    (void)room;
    return acu_sim_cuGraphInstantiate(exec, graph, 0);
}

static cudaError_t acu_sim_cuGraphAddDependencies_v1(CUgraph graph, const CUgraphNode *from,
                                                     const CUgraphNode *to, size_t count) {
    return acu_sim_cuGraphAddDependencies(graph, from, to, NULL, count);
}

static cudaError_t acu_sim_cuGraphAddNode_v1(CUgraphNode *node, CUgraph graph,
                                             const CUgraphNode *after, size_t count,
                                             CUgraphNodeParams *params) {
    return acu_sim_cuGraphAddNode(node, graph, after, NULL, count, params);
}

static cudaError_t acu_sim_cuGraphRemoveDependencies_v1(CUgraph graph, const CUgraphNode *from,
                                                        const CUgraphNode *to, size_t count) {
    return acu_sim_cuGraphRemoveDependencies(graph, from, to, NULL, count);
}

static cudaError_t acu_sim_cuGraphGetEdges_v1(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                                              size_t *count) {
    return acu_sim_cuGraphGetEdges(graph, from, to, NULL, count);
}

static cudaError_t acu_sim_cuGraphNodeGetDependencies_v1(CUgraphNode node, CUgraphNode *nodes,
                                                         size_t *count) {
    return acu_sim_cuGraphNodeGetDependencies(node, nodes, NULL, count);
}

static cudaError_t acu_sim_cuGraphNodeGetDependentNodes_v1(CUgraphNode node, CUgraphNode *nodes,
                                                           size_t *count) {
    return acu_sim_cuGraphNodeGetDependentNodes(node, nodes, NULL, count);
}

static cudaError_t acu_sim_cuMemAdvise_v1(CUdeviceptr at, size_t bytes, CUmem_advise advice,
                                          CUdevice device) {
    return acu_sim_cuMemAdvise(at, bytes, advice, location_of(device));
}

static cudaError_t acu_sim_cuMemPrefetchAsync_v1(CUdeviceptr at, size_t bytes, CUdevice device,
                                                 CUstream stream) {
    return acu_sim_cuMemPrefetchAsync(at, bytes, location_of(device), 0, stream);
}

/* What failed is not known: CUDA says so, too. */
static cudaError_t acu_sim_cuMemcpyBatchAsync_v1(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes,
                                                 size_t count, CUmemcpyAttributes *attributes,
                                                 size_t *indexes, size_t attribute_count,
                                                 size_t *failed, CUstream stream) {
    cudaError_t result = acu_sim_cuMemcpyBatchAsync(to, from, sizes, count, attributes, indexes,
                                                    attribute_count, stream);
    if (result && failed)
        *failed = SIZE_MAX;
    return result;
}

static cudaError_t acu_sim_cuStreamBeginCapture_v1(CUstream stream) {
    return acu_sim_cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static cudaError_t acu_sim_cuStreamGetCaptureInfo_v1(CUstream stream, CUstreamCaptureStatus *status,
                                                     cuuint64_t *id) {
    return acu_sim_cuStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL);
}

static cudaError_t acu_sim_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
                                                     cuuint64_t *id, CUgraph *graph,
                                                     const CUgraphNode **nodes, size_t *count) {
    return acu_sim_cuStreamGetCaptureInfo(stream, status, id, graph, nodes, NULL, count);
}

static cudaError_t acu_sim_cuStreamUpdateCaptureDependencies_v1(CUstream stream, CUgraphNode *nodes,
                                                                size_t count, unsigned flags) {
    return acu_sim_cuStreamUpdateCaptureDependencies(stream, nodes, NULL, count, flags);
}

/* ---- entries ---- */

#define ENTER(enter, need, name, params, args, stream_is_own)                                      \
    static CUresult enter##name params {                                                           \
        acu_sim_call call = {.caller = __builtin_return_address(0),                                \
                             .symbol = #name,                                                      \
                             .own_default = (stream_is_own),                                       \
                             .by_driver = true};                                                   \
        acu_sim_call_begin(&call);                                                                 \
        cudaError_t result = (need);                                                               \
        if (!result)                                                                               \
            result = acu_sim_##name args;                                                          \
        return acu_sim_driver_result(acu_sim_call_end(&call, result));                             \
    }
#define OLDER(need, name, params, args)                                                            \
    ENTER(enter_, acu_sim_require_by_driver(need), name, params, args, false)
#define OLDER_OF_STREAM(name, stream, params, args)                                                \
    ENTER(enter_, acu_sim_require_with_stream(SIM_NEEDS_CONTEXT, stream), name, params, args,      \
          false)                                                                                   \
    ENTER(enter_own_, acu_sim_require_with_stream(SIM_NEEDS_CONTEXT, stream), name, params, args,  \
          true)

OLDER(SIM_NEEDS_INIT, cuCtxCreate_v2, (CUcontext * handle, unsigned flags, CUdevice device),
      (handle, flags, device))
OLDER(SIM_NEEDS_INIT, cuCtxCreate_v3,
      (CUcontext * handle, CUexecAffinityParam *params, int count, unsigned flags, CUdevice device),
      (handle, params, count, flags, device))
OLDER(SIM_NEEDS_CONTEXT, cuGraphAddKernelNode_v1,
      (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
       const CUDA_KERNEL_NODE_PARAMS_v1 *params),
      (node, graph, dependencies, count, params))
OLDER(SIM_NEEDS_INIT, cuGraphKernelNodeGetParams_v1,
      (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params), (node, params))
OLDER(SIM_NEEDS_CONTEXT, cuGraphKernelNodeSetParams_v1,
      (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params), (node, params))
OLDER(SIM_NEEDS_CONTEXT, cuGraphExecKernelNodeSetParams_v1,
      (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params),
      (exec, node, params))

OLDER(SIM_NEEDS_NOTHING, cuGetProcAddress_v1,
      (const char *symbol, void **pfn, int version, cuuint64_t flags),
      (symbol, pfn, version, flags))
OLDER(SIM_NEEDS_CONTEXT, cuGraphInstantiate_v2,
      (CUgraphExec * exec, CUgraph graph, CUgraphNode *node, char *log, size_t room),
      (exec, graph, node, log, room))
OLDER(SIM_NEEDS_CONTEXT, cuGraphExecUpdate_v1,
      (CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *outcome),
      (exec, graph, node, outcome))
OLDER(SIM_NEEDS_CONTEXT, cuGraphAddDependencies_v1,
      (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count),
      (graph, from, to, count))
OLDER(SIM_NEEDS_CONTEXT, cuGraphAddNode_v1,
      (CUgraphNode * node, CUgraph graph, const CUgraphNode *after, size_t count,
       CUgraphNodeParams *params),
      (node, graph, after, count, params))
OLDER(SIM_NEEDS_CONTEXT, cuGraphRemoveDependencies_v1,
      (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count),
      (graph, from, to, count))
OLDER(SIM_NEEDS_CONTEXT, cuGraphGetEdges_v1,
      (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count), (graph, from, to, count))
OLDER(SIM_NEEDS_CONTEXT, cuGraphNodeGetDependencies_v1,
      (CUgraphNode node, CUgraphNode *nodes, size_t *count), (node, nodes, count))
OLDER(SIM_NEEDS_CONTEXT, cuGraphNodeGetDependentNodes_v1,
      (CUgraphNode node, CUgraphNode *nodes, size_t *count), (node, nodes, count))
OLDER(SIM_NEEDS_CONTEXT, cuMemAdvise_v1,
      (CUdeviceptr at, size_t bytes, CUmem_advise advice, CUdevice device),
      (at, bytes, advice, device))
OLDER_OF_STREAM(cuMemPrefetchAsync_v1, stream,
                (CUdeviceptr at, size_t bytes, CUdevice device, CUstream stream),
                (at, bytes, device, stream))
OLDER_OF_STREAM(cuMemcpyBatchAsync_v1, stream,
                (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count,
                 CUmemcpyAttributes *attributes, size_t *indexes, size_t attribute_count,
                 size_t *failed, CUstream stream),
                (to, from, sizes, count, attributes, indexes, attribute_count, failed, stream))
OLDER_OF_STREAM(cuStreamBeginCapture_v1, stream, (CUstream stream), (stream))
OLDER_OF_STREAM(cuStreamGetCaptureInfo_v1, stream,
                (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id),
                (stream, status, id))
OLDER_OF_STREAM(cuStreamGetCaptureInfo_v2, stream,
                (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                 const CUgraphNode **nodes, size_t *count),
                (stream, status, id, graph, nodes, count))
OLDER_OF_STREAM(cuStreamUpdateCaptureDependencies_v1, stream,
                (CUstream stream, CUgraphNode *nodes, size_t count, unsigned flags),
                (stream, nodes, count, flags))

/* ---- what names meant ---- */

typedef struct meaning {
    const char *name;
    int since; /* the CUDA that brought it */
    const char
        *symbol;    /* of libcuda; of an entry that takes the same parameters, if `fn` is NULL */
    acu_fn fn, own; /* `own`: of the thread's own default stream; NULL: the same */
} meaning;

#define CUDA(major, minor)             ((major) * 1000 + (minor) * 10)
#define SAME(name, since, symbol)      {#name, since, #symbol, NULL, NULL}
#define MEANT(name, since, symbol, fn) {#name, since, #symbol, (acu_fn)enter_##fn, NULL}
#define OF_STREAM(name, since, symbol, fn)                                                         \
    {#name, since, #symbol, (acu_fn)enter_##fn, (acu_fn)enter_own_##fn}

/* The meanings of one name by their versions. Functions of CUDA 2 with sizes of 32 bits are left
 * out. */
static const meaning meanings[] = {
    SAME(cuCtxDestroy, CUDA(2, 0), cuCtxDestroy_v2),
    SAME(cuCtxPopCurrent, CUDA(2, 0), cuCtxPopCurrent_v2),
    SAME(cuCtxPushCurrent, CUDA(2, 0), cuCtxPushCurrent_v2),
    SAME(cuDevicePrimaryCtxRelease, CUDA(7, 0), cuDevicePrimaryCtxRelease_v2),
    SAME(cuDevicePrimaryCtxReset, CUDA(7, 0), cuDevicePrimaryCtxReset_v2),
    SAME(cuDevicePrimaryCtxSetFlags, CUDA(7, 0), cuDevicePrimaryCtxSetFlags_v2),
    SAME(cuEventDestroy, CUDA(2, 0), cuEventDestroy_v2),
    SAME(cuEventElapsedTime, CUDA(2, 0), cuEventElapsedTime_v2),
    SAME(cuGLGetDevices, CUDA(4, 1), cuGLGetDevices_v2),
    SAME(cuGraphicsResourceSetMapFlags, CUDA(3, 0), cuGraphicsResourceSetMapFlags_v2),
    SAME(cuIpcOpenMemHandle, CUDA(4, 1), cuIpcOpenMemHandle_v2),
    SAME(cuLinkAddData, CUDA(5, 5), cuLinkAddData_v2),
    SAME(cuLinkAddFile, CUDA(5, 5), cuLinkAddFile_v2),
    SAME(cuLinkCreate, CUDA(5, 5), cuLinkCreate_v2),
    SAME(cuMemHostRegister, CUDA(4, 0), cuMemHostRegister_v2),
    SAME(cuStreamDestroy, CUDA(2, 0), cuStreamDestroy_v2),
    SAME(cuTexRefSetAddress2D, CUDA(3, 2), cuTexRefSetAddress2D_v3),
    SAME(cuCtxGetDevice, CUDA(13, 0), cuCtxGetDevice_v2),
    SAME(cuCtxSynchronize, CUDA(13, 0), cuCtxSynchronize_v2),
    MEANT(cuCtxCreate, CUDA(2, 0), cuCtxCreate, cuCtxCreate_v2),
    MEANT(cuCtxCreate, CUDA(3, 2), cuCtxCreate_v2, cuCtxCreate_v2),
    MEANT(cuCtxCreate, CUDA(11, 4), cuCtxCreate_v3, cuCtxCreate_v3),
    MEANT(cuGetProcAddress, CUDA(11, 3), cuGetProcAddress, cuGetProcAddress_v1),
    MEANT(cuGraphAddDependencies, CUDA(10, 0), cuGraphAddDependencies, cuGraphAddDependencies_v1),
    MEANT(cuGraphAddKernelNode, CUDA(10, 0), cuGraphAddKernelNode, cuGraphAddKernelNode_v1),
    MEANT(cuGraphAddNode, CUDA(12, 2), cuGraphAddNode, cuGraphAddNode_v1),
    MEANT(cuGraphExecKernelNodeSetParams, CUDA(10, 1), cuGraphExecKernelNodeSetParams,
          cuGraphExecKernelNodeSetParams_v1),
    MEANT(cuGraphExecUpdate, CUDA(10, 2), cuGraphExecUpdate, cuGraphExecUpdate_v1),
    MEANT(cuGraphGetEdges, CUDA(10, 0), cuGraphGetEdges, cuGraphGetEdges_v1),
    MEANT(cuGraphInstantiate, CUDA(10, 0), cuGraphInstantiate, cuGraphInstantiate_v2),
    /* Still since CUDA 12, whose header has another name for it. */
    MEANT(cuGraphInstantiate, CUDA(11, 0), cuGraphInstantiate_v2, cuGraphInstantiate_v2),
    MEANT(cuGraphKernelNodeGetParams, CUDA(10, 0), cuGraphKernelNodeGetParams,
          cuGraphKernelNodeGetParams_v1),
    MEANT(cuGraphKernelNodeSetParams, CUDA(10, 0), cuGraphKernelNodeSetParams,
          cuGraphKernelNodeSetParams_v1),
    MEANT(cuGraphNodeGetDependencies, CUDA(10, 0), cuGraphNodeGetDependencies,
          cuGraphNodeGetDependencies_v1),
    MEANT(cuGraphNodeGetDependentNodes, CUDA(10, 0), cuGraphNodeGetDependentNodes,
          cuGraphNodeGetDependentNodes_v1),
    MEANT(cuGraphRemoveDependencies, CUDA(10, 0), cuGraphRemoveDependencies,
          cuGraphRemoveDependencies_v1),
    MEANT(cuMemAdvise, CUDA(8, 0), cuMemAdvise, cuMemAdvise_v1),
    OF_STREAM(cuMemPrefetchAsync, CUDA(8, 0), cuMemPrefetchAsync, cuMemPrefetchAsync_v1),
    OF_STREAM(cuMemcpyBatchAsync, CUDA(12, 8), cuMemcpyBatchAsync, cuMemcpyBatchAsync_v1),
    OF_STREAM(cuStreamBeginCapture, CUDA(10, 0), cuStreamBeginCapture, cuStreamBeginCapture_v1),
    OF_STREAM(cuStreamGetCaptureInfo, CUDA(10, 1), cuStreamGetCaptureInfo,
              cuStreamGetCaptureInfo_v1),
    OF_STREAM(cuStreamGetCaptureInfo, CUDA(11, 3), cuStreamGetCaptureInfo_v2,
              cuStreamGetCaptureInfo_v2),
    OF_STREAM(cuStreamUpdateCaptureDependencies, CUDA(11, 3), cuStreamUpdateCaptureDependencies,
              cuStreamUpdateCaptureDependencies_v1),
};

static acu_fn function_of(const meaning *m, bool own) {
    if (!m->fn)
        return acu_sim_entries_find(acu_sim_cuda_entries, acu_sim_cuda_entry_count, m->symbol);
    return own && m->own ? m->own : m->fn;
}

acu_sim_older_meaning acu_sim_driver_older(const char *name, int version, bool own) {
    acu_sim_older_meaning found = {NULL, 0};
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(meanings[i].name, name) == 0 && meanings[i].since <= version)
            found = (acu_sim_older_meaning){function_of(&meanings[i], own), meanings[i].since};
    return found;
}

acu_fn acu_sim_driver_older_symbol(const char *symbol) {
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].fn && strcmp(meanings[i].symbol, symbol) == 0)
            return meanings[i].fn;
    return NULL;
}
