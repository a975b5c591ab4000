/* Values that streams wait for, and write. */
#include "sim_test.h"

#include <anycuda/cuda.h>

#include <stdbool.h>

static CUcontext context;
static CUstream stream, other;
static CUdeviceptr at;

static int begin_with(const char *machine) {
    acu_sim_reset(machine);
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
           cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
           cuStreamCreate(&other, CU_STREAM_NON_BLOCKING) || cuMemAlloc(&at, 64) ||
           cuMemsetD8(at, 0, 64) || cuCtxSynchronize();
}

static int begin_in_context(void **state) {
    (void)state;
    return begin_with(MACHINE);
}

static int begin_with_seed(void **state) {
    (void)state;
    return begin_with(MACHINE ",seed=5");
}

static int end_in_context(void **state) {
    int bad = cuStreamDestroy(stream) || cuStreamDestroy(other) || cuMemFree(at);
    return bad || end(state) || cuCtxSetCurrent(NULL) || cuDevicePrimaryCtxRelease(0);
}

#define C(name)      cmocka_unit_test_setup_teardown(name, begin_in_context, end_in_context)
#define SEEDED(name) cmocka_unit_test_setup_teardown(name, begin_with_seed, end_in_context)

static uint64_t value_of(CUdeviceptr from) {
    uint64_t value = 0;
    OK(cuMemcpyDtoH(&value, from, 8));
    return value;
}

TEST(one_stream_waits_for_another) {
    OK(cuStreamWaitValue32(stream, at, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue32(stream, at + 8, 1, 0));
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    assert_int_equal(value_of(at + 8), 0);
    OK(cuStreamWriteValue32(other, at, 7, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at + 8), 1);
}

/* The host writes pinned memory, and no call tells of it. */
TEST(a_stream_waits_for_the_host) {
    volatile uint32_t *flag;
    CUdeviceptr flag_at;
    OK(cuMemHostAlloc((void **)(uintptr_t)&flag, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer(&flag_at, (void *)(uintptr_t)flag, 0));
    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    OK(cuStreamWaitValue32(stream, flag_at, 3, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue64(stream, at, 0x123456789abcdef0, 0));
    pause_briefly();
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(flag, 4, __ATOMIC_SEQ_CST);
    OK(cuStreamSynchronize(stream));
    assert_true(value_of(at) == 0x123456789abcdef0);
    OK(cuMemFreeHost((void *)(uintptr_t)flag));
}

TEST(what_is_waited_for) {
    static const struct {
        uint64_t there, value;
        unsigned flags;
        bool wide, holds;
    } cases[] = {
        {5, 5, CU_STREAM_WAIT_VALUE_GEQ, false, true},
        {4, 5, CU_STREAM_WAIT_VALUE_GEQ, false, false},
        {1, 0xffffffff, CU_STREAM_WAIT_VALUE_GEQ, false, true}, /* it has gone round */
        {0xffffffff, 1, CU_STREAM_WAIT_VALUE_GEQ, false, false},
        {1, 0xffffffff, CU_STREAM_WAIT_VALUE_GEQ, true, false},
        {6, 5, CU_STREAM_WAIT_VALUE_EQ, true, false},
        {6, 2, CU_STREAM_WAIT_VALUE_AND, false, true},
        {4, 2, CU_STREAM_WAIT_VALUE_AND, false, false},
        {0xfffffff0, 0xf, CU_STREAM_WAIT_VALUE_NOR, false, false},
        {0xfffffff0, 0xf, CU_STREAM_WAIT_VALUE_NOR, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(cuMemcpyHtoD(at, &cases[i].there, 8));
        OK(cases[i].wide
               ? cuStreamWaitValue64(stream, at, cases[i].value, cases[i].flags)
               : cuStreamWaitValue32(stream, at, (uint32_t)cases[i].value, cases[i].flags));
        for (int k = 0; k < 100000 && cases[i].holds && cuStreamQuery(stream); k++)
            pause_briefly();
        if (!cases[i].holds)
            pause_briefly();
        if ((cuStreamQuery(stream) == CUDA_SUCCESS) != cases[i].holds)
            fail_msg("case %zu", i);
        OK(cuMemcpyHtoD(
            at, cases[i].flags == CU_STREAM_WAIT_VALUE_NOR ? &(uint64_t){0} : &cases[i].value, 8));
        OK(cuStreamSynchronize(stream));
    }
}

TEST(many_at_once) {
    CUstreamBatchMemOpParams list[256];
    memset(list, 0, sizeof list);
    list[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    list[0].writeValue.address = at;
    list[0].writeValue.value = 9;
    list[1].operation = CU_STREAM_MEM_OP_BARRIER;
    list[2].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    list[2].waitValue.address = at;
    list[2].waitValue.value = 9;
    OK(cuStreamBatchMemOp(stream, 3, list, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at), 9);
    OK(cuStreamBatchMemOp(stream, 0, list, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 256, list, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 3, NULL, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 3, list, 1));
    list[0].writeValue.value = 10;
    list[2].waitValue.address = at + 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 3, list, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at), 9); /* none of them was done */
    list[2].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuStreamBatchMemOp(stream, 3, list, 0));
    list[2].operation = (CUstreamBatchMemOpType)77;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 3, list, 0));
    list[1].memoryBarrier.flags = 2;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 2, list, 0));
}

TEST(as_many_as_can_be) {
    static CUstreamBatchMemOpParams list[255];
    for (unsigned i = 0; i < 255; i++) {
        list[i].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        list[i].writeValue.address = at;
        list[i].writeValue.value = i;
    }
    OK(cuStreamBatchMemOp(stream, 255, list, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at), 254);
}

/* ---- graphs ---- */

static CUgraph captured(void) {
    CUgraph graph = NULL;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamWaitValue32(stream, at, 3, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue64(stream, at + 8, 0x123456789abcdef0, 0));
    OK(cuStreamEndCapture(stream, &graph));
    return graph;
}

/* Done only by the launch, and only once the value is there. */
static void launch_and_signal(CUgraphExec exec) {
    OK(cuMemsetD8(at, 0, 64));
    OK(cuCtxSynchronize());
    OK(cuGraphLaunch(exec, stream));
    pause_briefly();
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    assert_int_equal(value_of(at + 8), 0);
    OK(cuStreamWriteValue32(other, at, 3, 0));
    OK(cuStreamSynchronize(stream));
    assert_true(value_of(at + 8) == 0x123456789abcdef0);
}

TEST(captured_values) {
    CUgraph graph = captured(), clone;
    CUgraphExec exec;
    CUgraphNode nodes[3];
    CUgraphNodeType type;
    enum cudaGraphNodeType runtimes = cudaGraphNodeTypeEmpty;
    size_t count = 3;
    assert_int_equal(value_of(at + 8), 0);
    OK(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 2);
    OK(cuGraphNodeGetType(nodes[1], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    SAYS(cudaErrorUnknown, cudaGraphNodeGetType(nodes[1], &runtimes)); /* it has no such type */
    assert_int_equal(runtimes, cudaGraphNodeTypeEmpty);
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphDestroy(graph));
    OK(cuGraphInstantiate(&exec, clone, 0));
    OK(cuGraphDestroy(clone));
    launch_and_signal(exec);
    launch_and_signal(exec);
    OK(cuGraphExecDestroy(exec));
}

/* What does not depend on the wait goes on meanwhile, and ends it. */
TEST(one_branch_waits_for_another) {
    CUstreamBatchMemOpParams list[2] = {{.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32},
                                        {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {context, 2, list, 0};
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode waits, writes;
    list[0].waitValue.address = list[1].writeValue.address = at;
    list[0].waitValue.value = 5;
    list[0].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    list[1].writeValue.value = 6;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddBatchMemOpNode(&waits, graph, NULL, 0, &params));
    list[0] = list[1];
    list[0].writeValue.value = 5;
    params.count = 1;
    OK(cuGraphAddBatchMemOpNode(&writes, graph, NULL, 0, &params));
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 20; i++) {
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        assert_int_equal(value_of(at), 6);
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

TEST(the_host_ends_a_graphs_wait) {
    volatile uint32_t *flag;
    CUdeviceptr flag_at;
    CUgraph graph = NULL;
    CUgraphExec exec;
    OK(cuMemHostAlloc((void **)(uintptr_t)&flag, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer(&flag_at, (void *)(uintptr_t)flag, 0));
    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamWaitValue32(stream, flag_at, 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuMemsetD32Async(at, 4, 1, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    pause_briefly();
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at), 4);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFreeHost((void *)(uintptr_t)flag));
}

/* What would have ended the waits does not come any more. */
TEST(a_lost_context_waits_for_nothing) {
    CUgraph graph = captured();
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuStreamWaitValue32(stream, at, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuGraphLaunch(exec, other));
    pause_briefly();
    OK(acu_sim_fault(NULL, cudaErrorIllegalAddress));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    acu_sim_reset(MACHINE); /* which waits for the streams */
}

TEST(changing_nodes) {
    CUgraph graph = captured(), like;
    CUgraphExec exec;
    CUgraphNode nodes[2];
    CUDA_BATCH_MEM_OP_NODE_PARAMS params, seen;
    CUgraphExecUpdateResultInfo info;
    size_t count = 2;
    OK(cuGraphGetNodes(graph, nodes, &count));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphBatchMemOpNodeGetParams(nodes[0], &params));
    assert_ptr_equal(params.ctx, context);
    assert_int_equal(params.count, 1);
    assert_int_equal(params.paramArray[0].operation, CU_STREAM_MEM_OP_WAIT_VALUE_32);
    assert_true(params.paramArray[0].waitValue.address == at);
    CUstreamBatchMemOpParams one = params.paramArray[0];
    params.paramArray = &one;
    one.waitValue.address = at + 32;
    one.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    one.waitValue.value = 0;
    OK(cuGraphExecBatchMemOpNodeSetParams(exec, nodes[0], &params));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    assert_true(value_of(at + 8) == 0x123456789abcdef0);
    OK(cuGraphBatchMemOpNodeGetParams(nodes[0], &seen));
    assert_true(seen.paramArray[0].waitValue.address == at);
    OK(cuGraphBatchMemOpNodeSetParams(nodes[0], &params));
    OK(cuGraphBatchMemOpNodeGetParams(nodes[0], &seen));
    assert_true(seen.paramArray != &one && seen.paramArray[0].waitValue.address == at + 32);
    one.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64; /* an instance waits for as many bits */
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphExecBatchMemOpNodeSetParams(exec, nodes[0], &params));
    OK(cuGraphBatchMemOpNodeSetParams(nodes[0], &params));
    SAYS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, graph, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
    like = captured();
    OK(cuGraphExecUpdate(exec, like, &info));
    launch_and_signal(exec);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(like));
    OK(cuGraphDestroy(graph));
}

static cudaError_t count_up(void *data, cudaGraphNode_t node,
                            const struct cudaGraphNodeParams *before,
                            const struct cudaGraphNodeParams *now,
                            enum cudaGraphRecaptureStatus status) {
    (void)node, (void)before, (void)now;
    ++*(int *)data;
    return status == cudaGraphRecaptureEligibleForUpdate ? cudaSuccess : cudaErrorInvalidValue;
}

TEST(capturing_again) {
    int asked = 0;
    struct cudaGraphRecaptureCallbackData data = {count_up, &asked};
    CUgraph graph = captured();
    CUgraphNode nodes[2];
    CUDA_BATCH_MEM_OP_NODE_PARAMS seen;
    size_t count = 2;
    OK(cudaStreamBeginRecaptureToGraph((cudaStream_t)stream, cudaStreamCaptureModeRelaxed, graph,
                                       &data));
    OK(cuStreamWaitValue32(stream, at, 3, CU_STREAM_WAIT_VALUE_EQ)); /* as it was */
    assert_int_equal(asked, 0);
    OK(cuStreamWriteValue64(stream, at + 8, 7, 0));
    assert_int_equal(asked, 1);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, nodes, &count));
    OK(cuGraphBatchMemOpNodeGetParams(nodes[1], &seen));
    assert_int_equal(seen.paramArray[0].writeValue.value64, 7);
    OK(cuGraphDestroy(graph));
}

TEST(many_in_a_capture) {
    CUstreamBatchMemOpParams list[3] = {{.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32},
                                        {.operation = CU_STREAM_MEM_OP_BARRIER},
                                        {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32}};
    CUgraph graph;
    CUgraphExec exec;
    size_t count = 0;
    list[0].writeValue.address = at;
    list[0].writeValue.value = 1;
    list[2].writeValue.address = at + 8;
    list[2].writeValue.value = 2;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamBatchMemOp(stream, 3, list, 0));
    OK(cuStreamBatchMemOp(stream, 1, &list[1], 0));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 2);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at), 1);
    assert_int_equal(value_of(at + 8), 2);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

TEST(what_is_no_node) {
    CUstreamBatchMemOpParams one = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {context, 1, &one, 0};
    struct cudaGraphNodeParams runtimes = {.type = (enum cudaGraphNodeType)12};
    CUgraph graph;
    CUgraphNode node, empty;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, NULL));
    one.writeValue.address = at + 2;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    one.writeValue.address = at;
    params.ctx = NULL;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    params.ctx = context;
    params.count = 0; /* a node may have no operations */
    OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphBatchMemOpNodeGetParams(empty, &params));
    params.count = 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphBatchMemOpNodeSetParams(empty, &params));
    SAYS(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &runtimes));
    OK(cuGraphDestroy(graph));
}

/* A launch that is refused does nothing, and may be done once the memory is there. */
TEST(memory_is_looked_for_at_the_launch) {
    CUstreamBatchMemOpParams list[2] = {{.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32},
                                        {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {context, 2, list, 0};
    uint64_t mine = 0;
    CUdeviceptr managed;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    const CUdeviceptr wrong[] = {0, (CUdeviceptr)(uintptr_t)&mine, managed};
    list[0].writeValue.address = at;
    list[0].writeValue.value = 5;
    list[1].writeValue.address = wrong[0];
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        list[1].writeValue.address = wrong[i];
        OK(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
        SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        assert_int_equal(value_of(at), 0);
    }
    list[1].writeValue.address = at + 8;
    OK(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at), 5);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree(managed));
}

TEST(what_the_attributes_say) {
    int can = 9;
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
    assert_int_equal(can, 1);
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0));
    assert_int_equal(can, 1);
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0));
    assert_int_equal(can, 0);
}

TEST(what_is_wrong) {
    uint32_t mine = 0;
    CUdeviceptr managed;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream, at + 2, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue64(stream, at + 4, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream, at + 64, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(stream, at, 0, 2));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuStreamWriteValue32(stream, at, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(stream, managed, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream, managed, 0, 0));
    OK(cuMemFree(managed));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream, at, 0, 4));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuStreamWaitValue32(stream, (CUdeviceptr)(uintptr_t)&mine, 0, 0));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32(stream, at, 0, CU_STREAM_WAIT_VALUE_FLUSH));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitValue32((CUstream)(uintptr_t)at, at, 0, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(one_stream_waits_for_another),
        C(a_stream_waits_for_the_host),
        C(what_is_waited_for),
        C(many_at_once),
        C(as_many_as_can_be),
        C(captured_values),
        C(one_branch_waits_for_another),
        C(the_host_ends_a_graphs_wait),
        cmocka_unit_test_setup_teardown(a_lost_context_waits_for_nothing, begin_in_context, end),
        C(changing_nodes),
        C(capturing_again),
        C(many_in_a_capture),
        C(what_is_no_node),
        C(memory_is_looked_for_at_the_launch),
        C(what_the_attributes_say),
        C(what_is_wrong),
        SEEDED(one_stream_waits_for_another),
        SEEDED(a_stream_waits_for_the_host),
        SEEDED(many_at_once),
        SEEDED(captured_values),
        SEEDED(one_branch_waits_for_another),
        SEEDED(the_host_ends_a_graphs_wait),
        SEEDED(many_in_a_capture),
    };
    return RUN(tests);
}
