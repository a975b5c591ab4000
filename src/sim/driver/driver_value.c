/* The driver API's memory operations: streams and graphs wait for values in memory, and write
 * them. */
#include "sim/device/context.h"
#include "sim/driver/driver.h"
#include "sim/graph/node.h"
#include "sim/graph/update.h"
#include "sim/graph/value_node.h"
#include "sim/stream/capture.h"
#include "sim/stream/stream.h"

#include <string.h>

/* ---- in streams ---- */

/* Submits a batch of operations; an empty one does nothing, but is a node where it is captured. */
static cudaError_t submit_all(CUstream handle, CUDA_BATCH_MEM_OP_NODE_PARAMS params) {
    acu_sim_stream *stream;
    SIM_TRY(acu_sim_stream_usable(handle, &stream));
    SIM_TRY(acu_sim_capture_allows(stream, SIM_ENQUEUES));
    if (!params.count && !params.flags && !stream->capture)
        return cudaSuccess;
    params.ctx = acu_sim_context_handle(stream->context);
    return acu_sim_values_submit(stream, &params);
}

static cudaError_t submit_one(CUstream stream, CUstreamBatchMemOpType operation, CUdeviceptr at,
                              cuuint64_t value, unsigned flags) {
    CUstreamBatchMemOpParams one = {
        .waitValue = {.operation = operation, .address = at, .value64 = value, .flags = flags}};
    return submit_all(stream, (CUDA_BATCH_MEM_OP_NODE_PARAMS){.count = 1, .paramArray = &one});
}

cudaError_t acu_sim_cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                        unsigned int flags) {
    return submit_one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

cudaError_t acu_sim_cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                        unsigned int flags) {
    return submit_one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

cudaError_t acu_sim_cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                         unsigned int flags) {
    return submit_one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

cudaError_t acu_sim_cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags) {
    return submit_one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

cudaError_t acu_sim_cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                       CUstreamBatchMemOpParams *paramArray, unsigned int flags) {
    const CUDA_BATCH_MEM_OP_NODE_PARAMS all = {
        .count = count, .paramArray = paramArray, .flags = flags};
    return submit_all(stream, all);
}

/* ---- in graphs ---- */

cudaError_t acu_sim_cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                             const CUgraphNode *dependencies,
                                             size_t numDependencies,
                                             const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
    struct cudaGraphNodeParams params = acu_sim_values_params(nodeParams);
    return acu_sim_node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies,
                            nodeParams ? &params : NULL);
}

cudaError_t acu_sim_cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                                   CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out) {
    struct cudaGraphNodeParams params;
    /* The runtime's enum lacks the driver's type. */
    /* NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange) */
    SIM_TRY(acu_sim_node_get_params(hNode, (enum cudaGraphNodeType)SIM_NODE_VALUES,
                                    nodeParams_out ? &params : NULL));
    if (nodeParams_out)
        memcpy(nodeParams_out, params.reserved1, sizeof *nodeParams_out);
    return cudaSuccess;
}

cudaError_t
acu_sim_cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                       const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
    const struct cudaGraphNodeParams params = acu_sim_values_params(nodeParams);
    return acu_sim_node_set_params(hNode, nodeParams ? &params : NULL);
}

cudaError_t
acu_sim_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
    const struct cudaGraphNodeParams params = acu_sim_values_params(nodeParams);
    return acu_sim_update_set_params(hGraphExec, hNode, nodeParams ? &params : NULL);
}
