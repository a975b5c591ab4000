/* Conditional nodes, kernels in graphs, and what graphs keep and allocate. */
#include "kernels.h"

#include "graph_test.h"

static cudaLibrary_t library;
static cudaKernel_t count_down, note;

#define PTX_CONDITIONAL                                                                            \
    PTX_HEAD ".visible .entry count_down(.param .u64 handle, .param .u64 counter) { ret; }\n"      \
             ".visible .entry note(.param .u64 list, .param .u32 mark) { ret; }\n"

/* The value is what is left. */
static void do_count_down(const acu_sim_launch *launch, void *const *args) {
    unsigned *counter = acu_sim_at(launch, *(void *const *)args[1], sizeof *counter);
    if (*counter)
        --*counter;
    acu_sim_set_conditional(launch, *(const unsigned long long *)args[0], *counter);
}

/* list[0] marks follow. */
static void do_note(const acu_sim_launch *launch, void *const *args) {
    unsigned *list = acu_sim_at(launch, *(void *const *)args[0], 16 * sizeof *list);
    list[++list[0]] = *(const unsigned *)args[1];
}

static int begin_with_kernels(void **state) {
    begin(state);
    library = load(PTX_CONDITIONAL);
    count_down = kernel_of(library, "count_down");
    note = kernel_of(library, "note");
    acu_sim_register("count_down", do_count_down);
    acu_sim_register("note", do_note);
    return 0;
}

static int end_with_kernels(void **state) {
    return cudaLibraryUnload(library) || end(state);
}

#define K(name) cmocka_unit_test_setup_teardown(name, begin_with_kernels, end_with_kernels)

static struct cudaKernelNodeParams kernel_params(cudaKernel_t kernel, void **args) {
    return (struct cudaKernelNodeParams){
        .func = kernel, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = args};
}

static cudaGraphNode_t add_count_down(cudaGraph_t graph, const cudaGraphNode_t *before,
                                      size_t count, cudaGraphConditionalHandle handle,
                                      unsigned *counter) {
    void *args[] = {&handle, &counter};
    const struct cudaKernelNodeParams params = kernel_params(count_down, args);
    cudaGraphNode_t node;
    OK(cudaGraphAddKernelNode(&node, graph, before, count, &params));
    return node;
}

static cudaGraphNode_t add_note(cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                                unsigned *list, unsigned mark) {
    void *args[] = {&list, &mark};
    const struct cudaKernelNodeParams params = kernel_params(note, args);
    cudaGraphNode_t node;
    OK(cudaGraphAddKernelNode(&node, graph, before, count, &params));
    return node;
}

static cudaGraphNode_t add_conditional(cudaGraph_t graph, const cudaGraphNode_t *before,
                                       size_t count, cudaGraphConditionalHandle handle,
                                       enum cudaGraphConditionalNodeType type, unsigned size,
                                       cudaGraph_t **bodies) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    cudaGraphNode_t node;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    OK(cudaGraphAddNode(&node, graph, before, NULL, count, &params));
    *bodies = params.conditional.phGraph_out;
    return node;
}

static cudaGraphConditionalHandle new_handle(cudaGraph_t graph, unsigned value) {
    cudaGraphConditionalHandle handle;
    OK(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault));
    return handle;
}

/* A list of marks on the device; the same on the host. */
static unsigned *new_list(void) {
    unsigned *list = new_memory(16 * sizeof *list);
    OK(cudaMemset(list, 0, 16 * sizeof *list));
    OK(cudaStreamSynchronize(0)); /* streams that do not block would not wait */
    return list;
}

static void has_marks(unsigned *list, unsigned count, const unsigned *marks) {
    unsigned got[16];
    OK(cudaMemcpy(got, list, sizeof got, cudaMemcpyDeviceToHost));
    assert_int_equal(got[0], count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(got[i + 1], marks[i]);
}

TEST(while_loops) {
    unsigned *counter = new_list(), *list = new_list(), five = 5;
    cudaGraph_t graph = new_graph(), *body;
    cudaGraphConditionalHandle handle = new_handle(graph, 1);
    cudaGraphNode_t loop =
        add_conditional(graph, NULL, 0, handle, cudaGraphCondTypeWhile, 1, &body);
    cudaGraphNode_t step = add_note(body[0], NULL, 0, list, 7);
    add_count_down(body[0], &step, 1, handle, counter);
    add_note(graph, &loop, 1, list, 9);
    OK(cudaMemcpy(counter, &five, 4, cudaMemcpyHostToDevice));
    run_once(graph);
    has_marks(list, 6, (unsigned[]){7, 7, 7, 7, 7, 9});
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(counter));
    OK(cudaFree(list));
}

TEST(if_and_else) {
    unsigned *list = new_list();
    for (unsigned value = 0; value < 2; value++) {
        cudaGraph_t graph = new_graph(), *bodies;
        add_conditional(graph, NULL, 0, new_handle(graph, value), cudaGraphCondTypeIf, 2, &bodies);
        add_note(bodies[0], NULL, 0, list, 10);
        add_note(bodies[1], NULL, 0, list, 20);
        run_once(graph);
        OK(cudaGraphDestroy(graph));
    }
    has_marks(list, 2, (unsigned[]){20, 10});
    OK(cudaFree(list));
}

TEST(switches) {
    unsigned *list = new_list();
    for (unsigned value = 0; value < 4; value++) {
        cudaGraph_t graph = new_graph(), *bodies;
        add_conditional(graph, NULL, 0, new_handle(graph, value), cudaGraphCondTypeSwitch, 3,
                        &bodies);
        for (unsigned i = 0; i < 3; i++)
            add_note(bodies[i], NULL, 0, list, i + 1);
        run_once(graph);
        OK(cudaGraphDestroy(graph));
    }
    has_marks(list, 3, (unsigned[]){1, 2, 3});
    OK(cudaFree(list));
}

static cudaError_t try_conditional(enum cudaGraphConditionalNodeType type, unsigned size) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    params.conditional.handle = new_handle(graph, 0);
    params.conditional.type = type;
    params.conditional.size = size;
    cudaError_t result = cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params);
    OK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
    return result;
}

TEST(the_driver_decides_which_kinds_there_are) {
    acu_sim_reset("runtime=12.4,driver=13.0");
    assert_int_equal(try_conditional(cudaGraphCondTypeSwitch, 2), cudaSuccess);
    assert_int_equal(try_conditional(cudaGraphCondTypeIf, 2), cudaSuccess);
    acu_sim_reset("runtime=12.9,driver=12.4");
    assert_int_equal(try_conditional(cudaGraphCondTypeSwitch, 2), cudaErrorInvalidValue);
    assert_int_equal(try_conditional(cudaGraphCondTypeIf, 2), cudaErrorInvalidValue);
    assert_int_equal(try_conditional(cudaGraphCondTypeIf, 1), cudaSuccess);
}

TEST(conditional_mistakes) {
    cudaGraph_t graph = new_graph(), other = new_graph(), *bodies;
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle handle = new_handle(graph, 0), foreign = new_handle(other, 0);
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    cudaGraphNode_t node;
    cudaGraphInstantiateParams made = {0};
    FAILS(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(NULL, graph, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(&handle, NULL, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(&handle, graph, 0, 2));
    params.conditional.handle = 1 << 30;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    FAILS(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    expect_reason("the graph has no conditional handle 1073741824");
    assert_int_equal(foreign, handle); /* each graph counts its own */
    params.conditional.handle = handle;
    params.conditional.size = 3;
    FAILS(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    expect_reason("a conditional node of type 0 cannot have 3 graphs");
    params.conditional.type = cudaGraphCondTypeSwitch;
    params.conditional.size = 0;
    FAILS(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &made));
    assert_int_equal(made.result_out, cudaGraphInstantiateConditionalHandleUnused);
    add_conditional(graph, NULL, 0, handle, cudaGraphCondTypeIf, 1, &bodies);
    FAILS(cudaErrorInvalidValue, cudaGraphDestroy(bodies[0]));
    const struct cudaHostNodeParams host = {count_up, &params};
    OK(cudaGraphAddHostNode(&node, bodies[0], NULL, 0, &host));
    FAILS(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &made));
    expect_reason("where nodes of its type are not allowed");
    assert_ptr_equal(made.errNode_out, node);
    FAILS(cudaErrorNotSupported, cudaGraphClone(&other, graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

TEST(capturing_into_a_body) {
    unsigned *list = new_list(), mark = 3;
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = new_graph(), *bodies, captured;
    void *args[] = {&list, &mark};
    add_conditional(graph, NULL, 0, new_handle(graph, 1), cudaGraphCondTypeIf, 1, &bodies);
    OK(cudaStreamBeginCaptureToGraph(stream, bodies[0], NULL, NULL, 0,
                                     cudaStreamCaptureModeThreadLocal));
    OK(cudaLaunchKernel(note, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, stream));
    OK(cudaStreamEndCapture(stream, &captured));
    assert_ptr_equal(captured, bodies[0]);
    run_once(graph);
    has_marks(list, 1, &mark);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(list));
    OK(cudaStreamDestroy(stream));
}

/* ---- kernels ---- */

TEST(kernel_nodes) {
    unsigned *list = new_list(), mark = 2;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node = add_note(graph, NULL, 0, list, 1);
    struct cudaKernelNodeParams got;
    FAILS(cudaErrorInvalidDeviceFunction, cudaGraphKernelNodeGetParams(node, &got));
    cudaGraphExec_t exec = instantiate(graph);
    void *args[] = {&list, &mark};
    const struct cudaKernelNodeParams params = kernel_params(note, args);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaGraphNodeSetEnabled(exec, node, 0));
    unsigned enabled = 1;
    OK(cudaGraphNodeGetEnabled(exec, node, &enabled));
    assert_int_equal(enabled, 0);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    has_marks(list, 2, (unsigned[]){1, 2});
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(list));
}

TEST(kernel_node_attributes) {
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t a = add_note(graph, NULL, 0, new_list(), 1);
    cudaGraphNode_t b = add_note(graph, NULL, 0, NULL, 1), c = add_empty(graph, NULL, 0);
    cudaLaunchAttributeValue value = {.priority = -2}, got = {.priority = 9};
    OK(cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributePriority, &value));
    OK(cudaGraphKernelNodeCopyAttributes(b, a));
    OK(cudaGraphKernelNodeGetAttribute(b, cudaLaunchAttributePriority, &got));
    assert_int_equal(got.priority, -2);
    FAILS(cudaErrorInvalidValue,
          cudaGraphKernelNodeGetAttribute(c, cudaLaunchAttributePriority, &got));
    FAILS(cudaErrorInvalidValue,
          cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributeProgrammaticEvent, &value));
    FAILS(cudaErrorInvalidValue,
          cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributePriority, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphKernelNodeCopyAttributes(a, c));
    OK(cudaGraphDestroy(graph));
    acu_sim_reset(MACHINE);
    library = load(PTX_CONDITIONAL);
}

TEST(captured_kernels_follow_early) {
    unsigned *list = new_list(), mark = 1;
    void *args[] = {&list, &mark};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t nodes[2], from[1], to[1];
    cudaGraphEdgeData data[1];
    size_t count = 2, edges = 1;
    cudaLaunchAttributeValue value;
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -3));
    cudaLaunchAttribute early = {.id = cudaLaunchAttributeProgrammaticStreamSerialization};
    early.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {.gridDim = {1, 1, 1},
                                       .blockDim = {1, 1, 1},
                                       .stream = stream,
                                       .attrs = &early,
                                       .numAttrs = 1};
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaLaunchKernel(note, config.gridDim, config.blockDim, args, 0, stream));
    OK(cudaLaunchKernelExC(&config, note, args));
    OK(cudaStreamEndCapture(stream, &graph));
    FAILS(cudaErrorLossyQuery, cudaGraphGetEdges(graph, from, to, NULL, &edges));
    OK(cudaGraphGetEdges(graph, from, to, data, &edges));
    assert_int_equal(data[0].type, cudaGraphDependencyTypeProgrammatic);
    assert_int_equal(data[0].from_port, cudaGraphKernelNodePortProgrammatic);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    OK(cudaGraphKernelNodeGetAttribute(nodes[0], cudaLaunchAttributePriority, &value));
    assert_int_equal(value.priority, -3);
    run_once(graph);
    has_marks(list, 2, (unsigned[]){1, 1});
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(list));
    OK(cudaStreamDestroy(stream));
}

/* ---- what graphs keep ---- */

TEST(graphs_keep_objects) {
    atomic_int destroyed = 0;
    cudaUserObject_t object;
    cudaGraph_t graph = new_graph(), clone;
    OK(cudaUserObjectCreate(&object, &destroyed, count_up, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    FAILS(cudaErrorInvalidValue, cudaUserObjectRelease(object, 1));
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(exec));
    pause_briefly();
    assert_int_equal(atomic_load(&destroyed), 0);
    OK(cudaGraphReleaseUserObject(clone, object, 1));
    while (!atomic_load(&destroyed))
        pause_briefly();
    FAILS(cudaErrorInvalidValue, cudaUserObjectRetain(object, 1));
    OK(cudaGraphDestroy(clone));
}

TEST(object_mistakes) {
    int data;
    cudaUserObject_t object;
    cudaGraph_t graph = new_graph();
    FAILS(cudaErrorInvalidValue,
          cudaUserObjectCreate(NULL, &data, count_up, 1, cudaUserObjectNoDestructorSync));
    FAILS(cudaErrorInvalidValue,
          cudaUserObjectCreate(&object, &data, NULL, 1, cudaUserObjectNoDestructorSync));
    FAILS(cudaErrorInvalidValue,
          cudaUserObjectCreate(&object, &data, count_up, 0, cudaUserObjectNoDestructorSync));
    FAILS(cudaErrorInvalidValue, cudaUserObjectCreate(&object, &data, count_up, 1, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphRetainUserObject(graph, NULL, 1, 0));
    OK(cudaGraphDestroy(graph));
}

/* ---- memory ---- */

TEST(memory_of_graphs) {
    cudaGraph_t graph = new_graph();
    cudaStream_t stream = new_stream();
    struct cudaMemAllocNodeParams alloc = {.bytesize = 64};
    alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    cudaGraphNode_t node, fill;
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    assert_non_null(alloc.dptr);
    const struct cudaMemsetParams params = {alloc.dptr, 0, 5, 1, 64, 1};
    OK(cudaGraphAddMemsetNode(&fill, graph, &node, 1, &params));
    cudaGraphExec_t exec = instantiate(graph), second;
    FAILS(cudaErrorNotSupported, cudaGraphInstantiate(&second, graph, 0));
    FAILS(cudaErrorInvalidValue, cudaFree(alloc.dptr)); /* not there yet */
    OK(cudaGraphLaunch(exec, stream));
    FAILS(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream));
    char byte = 0;
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&byte, alloc.dptr, 1, cudaMemcpyDeviceToHost));
    assert_int_equal(byte, 5);
    OK(cudaFreeAsync(alloc.dptr, stream));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(alloc.dptr, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(alloc.dptr));
    OK(cudaStreamDestroy(stream));
}

TEST(memory_freed_by_the_graph) {
    cudaGraph_t graph = NULL;
    cudaStream_t stream = new_stream();
    void *memory;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMallocAsync(&memory, 1 << 20, stream));
    OK(cudaMemsetAsync(memory, 1, 1 << 20, stream));
    OK(cudaFreeAsync(memory, stream));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(memory, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = instantiate(graph);
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    uint64_t used = 0;
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &used));
    assert_true(used >= 1 << 20);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &used));
    assert_int_equal(used, 0);
    OK(cudaStreamDestroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {K(while_loops),
                                       K(if_and_else),
                                       K(switches),
                                       T(the_driver_decides_which_kinds_there_are),
                                       K(conditional_mistakes),
                                       K(capturing_into_a_body),
                                       K(kernel_nodes),
                                       K(kernel_node_attributes),
                                       K(captured_kernels_follow_early),
                                       T(graphs_keep_objects),
                                       T(object_mistakes),
                                       T(memory_of_graphs),
                                       T(memory_freed_by_the_graph)};
    return RUN(tests);
}
