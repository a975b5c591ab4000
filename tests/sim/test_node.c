/* Nodes through the parameters of all types: graphs that are moved, batches, contexts. */
#include "graph_test.h"

static cudaError_t add(cudaGraph_t graph, struct cudaGraphNodeParams *params,
                       cudaGraphNode_t *node) {
    return cudaGraphAddNode(node, graph, NULL, NULL, 0, params);
}

/* ---- graphs in nodes ---- */

static struct cudaGraphNodeParams child_of(cudaGraph_t child,
                                           enum cudaGraphChildGraphNodeOwnership ownership) {
    return (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeGraph,
                                        .graph = {.graph = child, .ownership = ownership}};
}

/* It allocates, fills and frees. */
static cudaGraph_t graph_with_memory(void) {
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t alloc, fill, gone;
    struct cudaMemAllocNodeParams memory = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice}},
        .bytesize = 64};
    OK(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    const struct cudaMemsetParams zero = {memory.dptr, 0, 0, 1, 64, 1};
    OK(cudaGraphAddMemsetNode(&fill, graph, &alloc, 1, &zero));
    OK(cudaGraphAddMemFreeNode(&gone, graph, &fill, 1, memory.dptr));
    return graph;
}

TEST(a_graph_with_memory_can_be_moved) {
    cudaGraph_t parent = new_graph(), child = graph_with_memory(), inside;
    cudaGraphNode_t node;
    struct cudaGraphNodeParams params = child_of(child, cudaGraphChildGraphOwnershipClone);
    FAILS(cudaErrorNotSupported, add(parent, &params, &node));
    params.graph.ownership = cudaGraphChildGraphOwnershipMove;
    OK(add(parent, &params, &node));
    OK(cudaGraphChildGraphNodeGetGraph(node, &inside));
    assert_ptr_equal(inside, child);
    run_once(parent);
    run_once(parent);
    assert_int_equal(acu_sim_leaks(0), 1); /* the parent */
    OK(cudaGraphDestroy(parent));          /* and the child with it */
}

/* A stream that is closing keeps its last operation until its thread has looked. */
TEST(freed_memory_is_kept_while_its_stream_closes) {
    for (int i = 0; i < 100; i++) {
        struct cudaMemAllocNodeParams memory = {
            .poolProps = {.allocType = cudaMemAllocationTypePinned,
                          .location = {.type = cudaMemLocationTypeDevice}},
            .bytesize = 64};
        cudaGraph_t graph = new_graph();
        cudaGraphNode_t alloc;
        cudaGraphExec_t exec;
        OK(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
        OK(cudaGraphInstantiate(&exec, graph, 0));
        cudaStream_t stream = new_stream();
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaFreeAsync(memory.dptr, stream));
        OK(cudaStreamSynchronize(stream));
        OK(cudaGraphExecDestroy(exec));
        OK(cudaGraphDestroy(graph));
        OK(cudaStreamDestroy(stream));
        acu_sim_reset(MACHINE);
        acu_sim_reset(MACHINE);
    }
}

TEST(what_was_moved_is_the_parents) {
    cudaGraph_t parent = new_graph(), other = new_graph(), child = graph_with_memory(), copy;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaGraphExecUpdateResultInfo info;
    struct cudaGraphNodeParams params = child_of(child, cudaGraphChildGraphOwnershipMove), asked;
    OK(add(parent, &params, &node));
    FAILS(cudaErrorInvalidValue, cudaGraphDestroy(child));
    expect_reason("the graph belongs to a node or to a capture");
    FAILS(cudaErrorNotSupported, cudaGraphInstantiate(&exec, child, 0));
    expect_reason("the graph was moved into a node: instantiate");
    FAILS(cudaErrorNotSupported, add(other, &params, &node));
    expect_reason("the child graph was moved into a node already");
    params.graph.ownership = cudaGraphChildGraphOwnershipClone;
    FAILS(cudaErrorNotSupported, add(other, &params, &node));
    FAILS(cudaErrorNotSupported, cudaGraphClone(&copy, parent));
    struct cudaMemAllocNodeParams memory = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice}},
        .bytesize = 64};
    FAILS(cudaErrorNotSupported, cudaGraphAddMemAllocNode(&node, child, NULL, 0, &memory));
    expect_reason("gets no new nodes that allocate or free memory");
    add_empty(child, NULL, 0);
    exec = instantiate(parent);
    FAILS(cudaErrorInvalidValue, cudaGraphExecUpdate(exec, child, &info));
    expect_reason("the graph was moved into a node");
    size_t count = 1;
    OK(cudaGraphGetNodes(parent, &node, &count));
    OK(cudaGraphNodeGetParams(node, &asked));
    assert_ptr_equal(asked.graph.graph, child);
    assert_int_equal(asked.graph.ownership, cudaGraphChildGraphOwnershipInvalid);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(parent));
    OK(cudaGraphDestroy(other));
}

TEST(what_cannot_be_moved) {
    cudaGraph_t parent = new_graph(), child = new_graph(), inside;
    cudaGraphNode_t node;
    struct cudaGraphNodeParams params = child_of(parent, cudaGraphChildGraphOwnershipMove);
    FAILS(cudaErrorInvalidValue, add(parent, &params, &node)); /* into itself */
    expect_reason("only a graph that the program could destroy is moved into a node");
    params = child_of(child, cudaGraphChildGraphOwnershipClone);
    OK(add(parent, &params, &node));
    OK(cudaGraphChildGraphNodeGetGraph(node, &inside));
    params = child_of(inside, cudaGraphChildGraphOwnershipMove);
    FAILS(cudaErrorInvalidValue, add(child, &params, &node)); /* it is a node's */
    params = child_of(NULL, cudaGraphChildGraphOwnershipMove);
    FAILS(cudaErrorInvalidValue, add(parent, &params, &node));
    params = child_of(child, (enum cudaGraphChildGraphNodeOwnership)2);
    FAILS(cudaErrorNotSupported, add(parent, &params, &node));
    expect_reason("ownership must be cudaGraphChildGraphOwnershipClone");
    params = child_of(child, cudaGraphChildGraphOwnershipInvalid);
    FAILS(cudaErrorNotSupported, add(parent, &params, &node));
    /* what is not moved after all, for another reason, is still the program's */
    cudaGraphNode_t wrong = NULL;
    params = child_of(child, cudaGraphChildGraphOwnershipMove);
    FAILS(cudaErrorInvalidValue, cudaGraphAddNode(&node, parent, &wrong, NULL, 1, &params));
    OK(cudaGraphDestroy(parent));
    OK(cudaGraphDestroy(child));
    acu_sim_reset("runtime=12.8");
    parent = new_graph(), child = new_graph();
    params = child_of(child, cudaGraphChildGraphOwnershipMove);
    FAILS(cudaErrorNotSupported, add(parent, &params, &node)); /* came with 12.9 */
    acu_sim_reset(MACHINE);
}

/* ---- batches ---- */

enum { COPIES = 3, SIZE = 8 };

typedef struct copies {
    char from[COPIES][SIZE], *memory;
    void *dsts[COPIES], *srcs[COPIES];
    size_t sizes[COPIES], indices[2];
    struct cudaMemcpyAttributes attributes[2];
    struct cudaGraphNodeParams params;
} copies;

static void begin_copies(copies *c) {
    memset(c, 0, sizeof *c);
    c->memory = new_memory(sizeof c->from);
    OK(cudaMemset(c->memory, 0, sizeof c->from));
    OK(cudaStreamSynchronize(NULL)); /* other streams do not wait for it */
    for (int i = 0; i < COPIES; i++) {
        memset(c->from[i], 'a' + i, SIZE);
        c->srcs[i] = c->from[i];
        c->dsts[i] = c->memory + i * SIZE;
        c->sizes[i] = SIZE;
    }
    c->attributes[0].srcAccessOrder = c->attributes[1].srcAccessOrder =
        cudaMemcpySrcAccessOrderStream;
    c->indices[1] = 1;
    c->params = (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeMemcpyBatch,
                                             .memcpyBatch = {.count = COPIES,
                                                             .dsts = c->dsts,
                                                             .srcs = c->srcs,
                                                             .sizes = c->sizes,
                                                             .attrs = c->attributes,
                                                             .attrsIdxs = c->indices,
                                                             .numAttrs = 2}};
}

static void has(const copies *c, const char *expected) {
    char back[COPIES][SIZE];
    OK(cudaMemcpy(back, c->memory, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COPIES; i++)
        assert_int_equal(back[i][SIZE - 1], expected[i] == '-' ? 0 : expected[i]);
}

TEST(many_copies_in_one_node) {
    copies c;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    struct cudaGraphNodeParams asked;
    begin_copies(&c);
    c.sizes[1] = 0; /* is left out */
    OK(add(graph, &c.params, &node));
    assert_int_equal(type_of(node), cudaGraphNodeTypeMemcpyBatch);
    c.sizes[1] = 99; /* the node has its own */
    OK(cudaGraphNodeGetParams(node, &asked));
    assert_int_equal(asked.memcpyBatch.count, COPIES);
    assert_int_equal(asked.memcpyBatch.sizes[1], 0);
    assert_ptr_equal(asked.memcpyBatch.dsts[2], c.dsts[2]);
    run_once(graph);
    has(&c, "a-c");
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(c.memory));
}

TEST(a_batch_can_be_changed_in_part) {
    copies c;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    begin_copies(&c);
    OK(add(graph, &c.params, &node));
    cudaGraphExec_t exec = instantiate(graph);
    c.sizes[0] = 0;
    c.srcs[2] = c.from[0];
    OK(cudaGraphExecNodeSetParams(exec, node, &c.params));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    has(&c, "-ba");
    c.params.memcpyBatch.count = 2;
    FAILS(cudaErrorInvalidValue, cudaGraphExecNodeSetParams(exec, node, &c.params));
    OK(cudaGraphNodeSetParams(node, &c.params)); /* the graph's may be anything */
    c.params.memcpyBatch.count = COPIES;
    c.params.memcpyBatch.numAttrs = 1;
    FAILS(cudaErrorInvalidValue, cudaGraphExecNodeSetParams(exec, node, &c.params));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(c.memory));
}

TEST(batches_that_are_wrong) {
    copies c;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    for (int i = 0; i < 8; i++) {
        begin_copies(&c);
        struct cudaMemcpyBatchNodeParams *b = &c.params.memcpyBatch;
        switch (i) {
        case 0:
            b->count = 0;
            break;
        case 1:
            b->dsts = NULL;
            break;
        case 2:
            b->srcs = NULL;
            break;
        case 3:
            b->sizes = NULL;
            break;
        case 4:
            b->attrs = NULL;
            break;
        case 5:
            c.indices[1] = 0;
            break;
        case 6:
            c.attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
            break;
        default:
            c.sizes[2] = SIZE + 1; /* over the end */
        }
        FAILS(cudaErrorInvalidValue, add(graph, &c.params, &node));
        OK(cudaFree(c.memory));
    }
    assert_int_equal(node_count(graph), 0);
    OK(cudaGraphDestroy(graph));
    acu_sim_reset("driver=13.4");
    graph = new_graph();
    begin_copies(&c);
    FAILS(cudaErrorInvalidValue, add(graph, &c.params, &node)); /* came with 13.5 */
    acu_sim_reset(MACHINE);
}

/* ---- contexts ---- */

TEST(a_node_remembers_its_context) {
    cudaGraph_t graph = new_graph();
    cudaExecutionContext_t context;
    cudaGraphNode_t node;
    void *memory = new_memory(64);
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemset,
                                         .memset = {memory, 64, 1, 1, 64, 1, NULL}},
                               asked;
    OK(cudaDeviceGetExecutionCtx(&context, 0));
    params.memset.ctx = context;
    OK(add(graph, &params, &node));
    OK(cudaGraphNodeGetParams(node, &asked));
    assert_ptr_equal(asked.memset.ctx, context);
    params.memset.ctx = (cudaExecutionContext_t)memory;
    FAILS(cudaErrorInvalidValue, add(graph, &params, &node)); /* it is none */
    run_once(graph);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
}

TEST(types_that_there_are_not) {
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeReserved16};
    FAILS(cudaErrorNotSupported, add(graph, &params, &node));
    params.type = (enum cudaGraphNodeType)77;
    FAILS(cudaErrorInvalidValue, add(graph, &params, &node));
    OK(cudaGraphDestroy(graph));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_graph_with_memory_can_be_moved), T(freed_memory_is_kept_while_its_stream_closes),
        T(what_was_moved_is_the_parents),    T(what_cannot_be_moved),
        T(many_copies_in_one_node),          T(a_batch_can_be_changed_in_part),
        T(batches_that_are_wrong),           T(a_node_remembers_its_context),
        T(types_that_there_are_not),
    };
    return RUN(tests);
}
