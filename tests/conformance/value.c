/* Values in memory that streams wait for, and write. */
#include "../scratch.h"
#include "graphs.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* A fresh one where nothing is held, and 64 zeros; true: they are there. */
typedef struct things {
    CUstream waits, writes;
    CUdeviceptr at;
} things;

static bool get(things *t) {
    return !cudaFree(NULL) && !cuStreamCreate(&t->waits, CU_STREAM_NON_BLOCKING) &&
           !cuStreamCreate(&t->writes, CU_STREAM_NON_BLOCKING) && !cuMemAlloc(&t->at, 64) &&
           !cuMemsetD8(t->at, 0, 64) && !cuCtxSynchronize();
}

static bool give_back(things *t) {
    return !cuStreamDestroy(t->waits) && !cuStreamDestroy(t->writes) && !cuMemFree(t->at);
}

CASE(a_stream_waits_for_a_value) {
    things t = {0};
    unsigned got = 9;
    IS(get(&t));
    OK(cuStreamWaitValue32(t.waits, t.at, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuMemsetD32Async(t.at + 4, 5, 1, t.waits));
    wait_a_moment();
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(t.waits));
    OK(cuStreamWriteValue32(t.writes, t.at, 7, CU_STREAM_WRITE_VALUE_DEFAULT));
    OK(cuStreamSynchronize(t.waits));
    OK(cuMemcpyDtoH(&got, t.at + 4, 4));
    EQUAL(got, 5);
    IS(give_back(&t));
}

CASE(wide_values) {
    things t = {0};
    unsigned long long got = 0;
    IS(get(&t));
    OK(cuStreamWaitValue64(t.waits, t.at, 1ULL << 40, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue64(t.waits, t.at + 8, ~0ULL, 0));
    OK(cuStreamWriteValue64(t.writes, t.at, 1, 0));
    OK(cuStreamSynchronize(t.writes));
    wait_a_moment();
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(t.waits));
    OK(cuStreamWriteValue64(t.writes, t.at, (1ULL << 40) + 1, 0));
    OK(cuStreamSynchronize(t.waits));
    OK(cuMemcpyDtoH(&got, t.at + 8, 8));
    IS(got == ~0ULL);
    IS(give_back(&t));
}

/* What is found, and what is waited for; whether the stream goes on. */
CASE(how_values_are_compared) {
    static const struct {
        unsigned found, value, flags, goes_on, then;
    } all[] = {{5, 5, CU_STREAM_WAIT_VALUE_GEQ, 1, 0},
               {6, 5, CU_STREAM_WAIT_VALUE_GEQ, 1, 0},
               {4, 5, CU_STREAM_WAIT_VALUE_GEQ, 0, 5},
               {1, 0xfffffff0, CU_STREAM_WAIT_VALUE_GEQ, 1, 0},
               {0x80000005, 5, CU_STREAM_WAIT_VALUE_GEQ, 0, 5},
               {6, 5, CU_STREAM_WAIT_VALUE_EQ, 0, 5},
               {6, 3, CU_STREAM_WAIT_VALUE_AND, 1, 0},
               {4, 3, CU_STREAM_WAIT_VALUE_AND, 0, 1}};
    things t = {0};
    IS(get(&t));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        OK(cuMemsetD32(t.at, all[i].found, 1));
        OK(cuCtxSynchronize());
        OK(cuStreamWaitValue32(t.waits, t.at, all[i].value, all[i].flags));
        if (all[i].goes_on) {
            SAYS(CUDA_SUCCESS, end_of_work(t.waits));
            continue;
        }
        wait_a_moment();
        SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(t.waits));
        OK(cuStreamWriteValue32(t.writes, t.at, all[i].then, 0));
        OK(cuStreamSynchronize(t.waits));
    }
    IS(give_back(&t));
}

CASE(not_all_of_the_bits) {
    int supported = 0;
    things t = {0};
    IS(get(&t));
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0));
    EQUAL(supported, 1);
    OK(cuMemsetD32(t.at, 0xfffffff0, 1));
    OK(cuCtxSynchronize());
    OK(cuStreamWaitValue32(t.waits, t.at, 0xf, CU_STREAM_WAIT_VALUE_NOR));
    wait_a_moment();
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(t.waits));
    OK(cuStreamWriteValue32(t.writes, t.at, 0xffffffe0, 0));
    OK(cuStreamSynchronize(t.waits));
    IS(give_back(&t));
}

CASE(the_host_writes_it) {
    things t = {0};
    CUdeviceptr device = 0;
    atomic_uint *host = NULL;
    IS(get(&t));
    OK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    host[0] = host[1] = 0;
    OK(cuMemHostGetDevicePointer(&device, host, 0));
    OK(cuStreamWaitValue32(t.waits, device, 3, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue32(t.waits, device + 4, 8, 0));
    wait_a_moment();
    EQUAL(host[1], 0);
    host[0] = 3;
    OK(cuStreamSynchronize(t.waits));
    EQUAL(host[1], 8);
    OK(cuMemFreeHost(host));
    IS(give_back(&t));
}

/* ---- many ---- */

CASE(many_at_once) {
    CUstreamBatchMemOpParams list[3] = {{.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32},
                                        {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32},
                                        {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64}};
    unsigned long long got = 0;
    things t = {0};
    IS(get(&t));
    list[0].writeValue.address = list[1].waitValue.address = t.at;
    list[0].writeValue.value = list[1].waitValue.value = 4;
    list[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    list[2].writeValue.address = t.at + 8;
    list[2].writeValue.value64 = 1ULL << 33;
    OK(cuStreamBatchMemOp(t.waits, 3, list, 0));
    OK(cuStreamSynchronize(t.waits));
    OK(cuMemcpyDtoH(&got, t.at + 8, 8));
    IS(got == 1ULL << 33);
    /* No list, which is not asked, crashes CUDA. */
    SAYS(CUDA_SUCCESS, cuStreamBatchMemOp(t.waits, 0, list, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(t.waits, 1, list, 1));
    list[0].operation = CU_STREAM_MEM_OP_BARRIER;
    list[0].memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_SYS;
    SAYS(CUDA_SUCCESS, cuStreamBatchMemOp(t.waits, 1, list, 0));
    list[0].operation = (CUstreamBatchMemOpType)77;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(t.waits, 1, list, 0));
    OK(cuStreamSynchronize(t.waits));
    IS(give_back(&t));
}

CASE(more_than_can_be) {
    static CUstreamBatchMemOpParams list[257];
    things t = {0};
    IS(get(&t));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        list[i].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        list[i].writeValue.address = t.at;
    }
    OK(cuStreamBatchMemOp(t.waits, 255, list, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(t.waits, 256, list, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(t.waits, 257, list, 0));
    OK(cuStreamSynchronize(t.waits));
    IS(give_back(&t));
}

/* ---- what is refused ---- */

CASE(wrong_values) {
    int flushes = 9;
    CUdeviceptr managed;
    things t = {0};
    IS(get(&t));
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(t.waits, t.at + 2, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64(t.waits, t.at + 4, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(t.waits, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(t.waits, t.at, 0, 4));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuStreamWriteValue32(t.waits, t.at, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(t.waits, t.at, 0, 2));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(t.waits, managed, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(t.waits, managed, 0, 0));
    OK(cuDeviceGetAttribute(&flushes, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0));
    EQUAL(flushes, 0);
    SAYS(CUDA_ERROR_NOT_SUPPORTED,
         cuStreamWaitValue32(t.waits, t.at, 0, CU_STREAM_WAIT_VALUE_FLUSH));
    OK(cuStreamSynchronize(t.waits));
    OK(cuMemFree(managed));
    IS(give_back(&t));
}

LONE_CASE(values_where_no_memory_is) {
    unsigned mine = 0;
    things t = {0};
    IS(get(&t));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuStreamWriteValue32(t.writes, (CUdeviceptr)(uintptr_t)&mine, 1, 0));
    OK(cuStreamSynchronize(t.writes));
    EQUAL(mine, 0);
    OK(cuMemFree(t.at));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(t.writes, t.at, 1, 0));
    OK(cuStreamSynchronize(t.writes));
}

/* ---- in graphs ---- */

/* The driver's nodes, for which the runtime has no word. */
static void capture_one(bool waits) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    enum cudaGraphNodeType of_runtime = cudaGraphNodeTypeCount;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    things t = {0};
    IS(get(&t));
    OK(cudaStreamBeginCapture((cudaStream_t)t.waits, cudaStreamCaptureModeThreadLocal));
    if (waits)
        OK(cuStreamWaitValue32(t.waits, t.at, 0, 0));
    else
        OK(cuStreamWriteValue32(t.waits, t.at, 1, 0));
    EQUAL(status_of((cudaStream_t)t.waits), cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture((cudaStream_t)t.waits, &graph));
    EQUAL(count_nodes(graph), 1);
    OK(cudaGraphGetNodes(graph, &node, &count));
    OK(cuGraphNodeGetType(node, &type));
    EQUAL(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    SAYS(cudaErrorUnknown, cudaGraphNodeGetType(node, &of_runtime));
    EQUAL(of_runtime, cudaGraphNodeTypeCount);
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    IS(give_back(&t));
}

CASE(a_wait_is_captured) {
    capture_one(true);
}

CASE(a_write_is_captured) {
    capture_one(false);
}

/* A graph that waits, and then writes behind the value. */
static cudaGraph_t capture_both(const things *t) {
    cudaGraph_t graph = NULL;
    if (cudaStreamBeginCapture((cudaStream_t)t->waits, cudaStreamCaptureModeThreadLocal) ||
        cuStreamWaitValue32(t->waits, t->at, 3, CU_STREAM_WAIT_VALUE_EQ) ||
        cuStreamWriteValue32(t->waits, t->at + 4, 5, 0) ||
        cudaStreamEndCapture((cudaStream_t)t->waits, &graph))
        return NULL;
    return graph;
}

CASE(what_was_captured_is_done_at_each_launch) {
    unsigned got = 9;
    cudaGraphExec_t exec = NULL;
    things t = {0};
    IS(get(&t));
    cudaGraph_t graph = capture_both(&t);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cuMemcpyDtoH(&got, t.at + 4, 4));
    EQUAL(got, 0);
    for (int i = 0; i < 2; i++) {
        OK(cuMemsetD8(t.at, 0, 64));
        OK(cuCtxSynchronize());
        OK(cudaGraphLaunch(exec, (cudaStream_t)t.waits));
        wait_a_moment();
        SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(t.waits));
        OK(cuStreamWriteValue32(t.writes, t.at, 3, 0));
        OK(cuStreamSynchronize(t.waits));
        OK(cuMemcpyDtoH(&got, t.at + 4, 4));
        EQUAL(got, 5);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    IS(give_back(&t));
}

/* Many are one node, whose list is its own. */
CASE(many_are_captured) {
    CUstreamBatchMemOpParams list[2] = {{.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32},
                                        {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS seen = {0};
    CUcontext context = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    things t = {0};
    IS(get(&t));
    OK(cuCtxGetCurrent(&context));
    list[0].writeValue.address = t.at;
    list[1].writeValue.address = t.at + 4;
    OK(cudaStreamBeginCapture((cudaStream_t)t.waits, cudaStreamCaptureModeThreadLocal));
    OK(cuStreamBatchMemOp(t.waits, 2, list, 0));
    OK(cudaStreamEndCapture((cudaStream_t)t.waits, &graph));
    EQUAL(count_nodes(graph), 1);
    OK(cudaGraphGetNodes(graph, &node, &count));
    OK(cuGraphBatchMemOpNodeGetParams(node, &seen));
    EQUAL(seen.count, 2);
    IS(seen.ctx == context);
    IS(seen.paramArray && seen.paramArray != list);
    IS(seen.paramArray && seen.paramArray[1].writeValue.address == t.at + 4);
    OK(cudaGraphDestroy(graph));
    IS(give_back(&t));
}

CASE(nodes_that_wait_and_write) {
    CUstreamBatchMemOpParams one = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 1, .paramArray = &one};
    unsigned got = 9;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    things t = {0};
    IS(get(&t));
    OK(cuCtxGetCurrent(&params.ctx));
    OK(cudaGraphCreate(&graph, 0));
    one.writeValue.address = t.at;
    one.writeValue.value = 6;
    OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    one.writeValue.value = 7;
    OK(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
    OK(cudaGraphLaunch(exec, (cudaStream_t)t.waits));
    OK(cuStreamSynchronize(t.waits));
    OK(cuMemcpyDtoH(&got, t.at, 4));
    EQUAL(got, 7);
    one.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
    OK(cuGraphBatchMemOpNodeSetParams(node, &params));
    params.ctx = NULL;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphBatchMemOpNodeSetParams(node, &params));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    IS(give_back(&t));
}

/* What a debug print calls it. */
CASE(nodes_are_printed) {
    char text[4000] = "", path[SCRATCH_SIZE];
    CUstreamBatchMemOpParams one = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 1, .paramArray = &one};
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    things t = {0};
    IS(get(&t));
    one.writeValue.address = t.at;
    OK(cuCtxGetCurrent(&params.ctx));
    OK(cudaGraphCreate(&graph, 0));
    OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    int file = mkstemp(scratch_path(path));
    IS(file >= 0);
    OK(cudaGraphDebugDotPrint(graph, path, cudaGraphDebugDotFlagsVerbose));
    IS(read(file, text, sizeof text - 1) > 0);
    (void)close(file);
    (void)unlink(path);
    IS(strstr(text, "BATCH_MEM_OP") != NULL);
    OK(cudaGraphDestroy(graph));
    IS(give_back(&t));
}

/* ---- nodes that are wrong: when each is told ---- */

/* Returns what adding it says; where it is taken, its launch says that it cannot be done. */
static CUresult add_and_launch(const things *t, CUstreamBatchMemOpType operation, CUdeviceptr at,
                               unsigned flags) {
    CUstreamBatchMemOpParams one = {.writeValue = {.operation = operation, .address = at}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 1, .paramArray = &one};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    one.writeValue.flags = flags;
    IS(!cuCtxGetCurrent(&params.ctx) && !cudaGraphCreate(&graph, 0));
    CUresult added = cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params);
    if (!added) {
        IS(!cudaGraphInstantiate(&exec, graph, 0));
        EQUAL(cudaGraphLaunch(exec, (cudaStream_t)t->waits), cudaErrorInvalidValue);
        IS(!cuStreamSynchronize(t->waits) && !cudaGraphExecDestroy(exec));
    }
    (void)cudaGetLastError();
    IS(!cudaGraphDestroy(graph));
    return added;
}

LONE_CASE(nodes_with_wrong_places) {
    const CUstreamBatchMemOpType writes = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    const CUstreamBatchMemOpType waits = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    things t = {0};
    IS(get(&t));
    SAYS(CUDA_SUCCESS, add_and_launch(&t, writes, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, add_and_launch(&t, writes, t.at + 2, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         add_and_launch(&t, CU_STREAM_MEM_OP_WRITE_VALUE_64, t.at + 4, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, add_and_launch(&t, writes, t.at, 2));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         add_and_launch(&t, writes, t.at, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    SAYS(CUDA_ERROR_INVALID_VALUE, add_and_launch(&t, waits, t.at, 4));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, add_and_launch(&t, waits, t.at, CU_STREAM_WAIT_VALUE_FLUSH));
    SAYS(CUDA_ERROR_INVALID_VALUE, add_and_launch(&t, (CUstreamBatchMemOpType)77, t.at, 0));
    IS(give_back(&t));
}

LONE_CASE(nodes_where_managed_memory_is) {
    CUdeviceptr managed;
    things t = {0};
    IS(get(&t));
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    SAYS(CUDA_SUCCESS, add_and_launch(&t, CU_STREAM_MEM_OP_WRITE_VALUE_32, managed, 0));
    OK(cuMemFree(managed));
    IS(give_back(&t));
}

LONE_CASE(nodes_where_no_memory_is) {
    const CUstreamBatchMemOpType writes = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    unsigned mine = 0;
    things t = {0};
    IS(get(&t));
    SAYS(CUDA_SUCCESS, add_and_launch(&t, writes, (CUdeviceptr)(uintptr_t)&mine, 0));
    OK(cuMemFree(t.at));
    SAYS(CUDA_SUCCESS, add_and_launch(&t, writes, t.at, 0));
}

/* The memory is there when the graph is made, and is not when it is launched again. */
LONE_CASE(nodes_whose_memory_was_freed) {
    CUstreamBatchMemOpParams list[2] = {{.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32},
                                        {.operation = CU_STREAM_MEM_OP_BARRIER}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 2, .paramArray = list};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    things t = {0};
    IS(get(&t));
    list[0].writeValue.address = t.at;
    OK(cuCtxGetCurrent(&params.ctx));
    OK(cudaGraphCreate(&graph, 0));
    OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    list[0].writeValue.address = t.at + 2;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphBatchMemOpNodeSetParams(node, &params));
    OK(cudaGraphLaunch(exec, (cudaStream_t)t.waits));
    OK(cuStreamSynchronize(t.waits));
    OK(cuMemFree(t.at));
    SAYS(cudaErrorInvalidValue, cudaGraphLaunch(exec, (cudaStream_t)t.waits));
    OK(cuStreamSynchronize(t.waits));
    params.count = 1; /* an instance keeps their number */
    list[0].operation = CU_STREAM_MEM_OP_BARRIER;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
    OK(cuGraphBatchMemOpNodeSetParams(node, &params));
}

static void set_number(void *number) {
    *(int *)number = 1;
}

/* Random programs made nodes without values, which instances with host functions never finished. */
CASE(nodes_without_values) {
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 0};
    int called = 0;
    const struct cudaHostNodeParams host = {set_number, &called};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t none = NULL, function = NULL;
    things t = {0};
    IS(get(&t));
    OK(cuCtxGetCurrent(&params.ctx));
    OK(cudaGraphCreate(&graph, 0));
    OK(cuGraphAddBatchMemOpNode(&none, graph, NULL, 0, &params));
    OK(cudaGraphAddHostNode(&function, graph, &none, 1, &host));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, (cudaStream_t)t.waits));
    OK(cuStreamSynchronize(t.waits));
    EQUAL(called, 1);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    IS(give_back(&t));
}

/* No GPU has been asked yet; the simulator refuses it. */
CASE(values_in_memory_of_a_pool) {
    things t = {0};
    CUdeviceptr at = 0;
    IS(get(&t));
    OK(cuMemAllocAsync(&at, 64, t.waits));
    OK(cuStreamSynchronize(t.waits));
    ASK(cuStreamWriteValue32(t.waits, at, 1, 0));
    ASK(cuStreamWaitValue32(t.waits, at, 0, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamSynchronize(t.waits));
    OK(cuMemFreeAsync(at, t.waits));
    IS(give_back(&t));
}
