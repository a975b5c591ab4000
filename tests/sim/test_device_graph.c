/* Graphs that kernels launch, and nodes that kernels change. */
#include "kernels.h"

#include "graph_test.h"

#include <stdbool.h>
#include <string.h>

static cudaLibrary_t library;
static cudaKernel_t note, launcher, repeat, change;

/* list[0] marks follow. */
static void put_mark(const acu_sim_launch *launch, const void *address, unsigned mark) {
    unsigned *list = acu_sim_at(launch, address, 16 * sizeof *list);
    list[++list[0]] = mark;
}

static void do_note(const acu_sim_launch *launch, void *const *args) {
    put_mark(launch, *(void *const *)args[0], launch->grid[0] * *(const unsigned *)args[1]);
}

/* Launches a graph several times, and writes how often that succeeded. */
static void do_launcher(const acu_sim_launch *launch, void *const *args) {
    unsigned *good = acu_sim_at(launch, *(void *const *)args[3], sizeof *good);
    for (unsigned i = 0; i < *(const unsigned *)args[2]; i++)
        *good += acu_sim_launch_graph(launch, *(struct CUgraphExec_st *const *)args[0],
                                      *(const acu_sim_graph_place *)args[1]) == 0;
}

/* Runs its own graph again, until the list has so many marks. */
static void do_repeat(const acu_sim_launch *launch, void *const *args) {
    const unsigned *list = acu_sim_at(launch, *(void *const *)args[0], 16 * sizeof *list);
    put_mark(launch, *(void *const *)args[0], 5);
    if (list[0] < *(const unsigned *)args[1])
        assert_int_equal(acu_sim_launch_graph(launch, acu_sim_current_graph(launch), ACU_SIM_TAIL),
                         0);
}

enum { ENABLE, GRID, PARAM, BEYOND };

/* Changes a node, and writes the result. */
static void do_change(const acu_sim_launch *launch, void *const *args) {
    struct CUgraphDeviceUpdatableNode_st *node =
        *(struct CUgraphDeviceUpdatableNode_st *const *)args[0];
    const unsigned what = *(const unsigned *)args[1], value = *(const unsigned *)args[2];
    int *result = acu_sim_at(launch, *(void *const *)args[3], sizeof *result);
    if (what == ENABLE)
        *result = acu_sim_set_node_enabled(launch, node, (int)value);
    else if (what == GRID)
        *result = acu_sim_set_node_grid(launch, node, (unsigned[]){value, 1, 1});
    else
        *result = acu_sim_set_node_param(launch, node, what == PARAM ? 8 : 9, &value, sizeof value);
}

static int begin_with(void **state, bool in_c) {
    begin(state);
    OK(cudaLibraryLoadFromFile(&library, DEVICE_GRAPH_PTX, NULL, NULL, 0, NULL, NULL, 0));
    note = kernel_of(library, "note");
    launcher = kernel_of(library, "launcher");
    repeat = kernel_of(library, "repeat");
    change = kernel_of(library, "change");
    acu_sim_register("note", in_c ? do_note : NULL);
    acu_sim_register("launcher", in_c ? do_launcher : NULL);
    acu_sim_register("repeat", in_c ? do_repeat : NULL);
    acu_sim_register("change", in_c ? do_change : NULL);
    return 0;
}

static int begin_in_c(void **state) {
    return begin_with(state, true);
}

static int begin_in_ptx(void **state) {
    return begin_with(state, false);
}

static int end_with_kernels(void **state) {
    return cudaLibraryUnload(library) || end(state);
}

/* A test of kernels in PTX, and one of both kinds. */
#define BY_PTX(name) {#name " (PTX)", name, begin_in_ptx, end_with_kernels, NULL}
#define K(name) cmocka_unit_test_setup_teardown(name, begin_in_c, end_with_kernels), BY_PTX(name)

static cudaGraphNode_t add(cudaGraph_t graph, const cudaGraphNode_t *before, cudaKernel_t kernel,
                           void **args) {
    const struct cudaKernelNodeParams params = {
        .func = kernel, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = args};
    cudaGraphNode_t node;
    OK(cudaGraphAddKernelNode(&node, graph, before, before ? 1 : 0, &params));
    return node;
}

static cudaGraphNode_t add_note(cudaGraph_t graph, const cudaGraphNode_t *before, unsigned *list,
                                unsigned mark) {
    return add(graph, before, note, (void *[]){&list, &mark});
}

static cudaGraphNode_t add_launcher(cudaGraph_t graph, const cudaGraphNode_t *before,
                                    cudaGraphExec_t exec, unsigned place, unsigned times,
                                    unsigned *results) {
    return add(graph, before, launcher, (void *[]){&exec, &place, &times, &results});
}

/* A list of marks on the device, or any zeros. */
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

static unsigned value_at(const unsigned *at) {
    unsigned value;
    OK(cudaMemcpy(&value, at, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

/* Instantiates a graph for kernels, which `flags` may add the upload to, and destroys it. */
static cudaGraphExec_t for_kernels(cudaGraph_t graph, unsigned long long flags) {
    cudaGraphExec_t exec;
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagDeviceLaunch | flags};
    OK(cudaGraphInstantiateWithParams(&exec, graph, &params));
    OK(cudaGraphDestroy(graph));
    return exec;
}

/* A graph for kernels with one mark, and perhaps another one after it. */
static cudaGraphExec_t marking(unsigned *list, unsigned mark, unsigned second) {
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t first = add_note(graph, NULL, list, mark);
    if (second)
        add_note(graph, &first, list, second);
    return for_kernels(graph, cudaGraphInstantiateFlagUpload);
}

TEST(graphs_run_beside_and_behind_the_one_that_launches_them) {
    unsigned *list = new_list(), *results = new_list();
    cudaGraphExec_t beside = marking(list, 10, 11), behind = marking(list, 20, 0),
                    sibling = marking(list, 30, 0);
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t at = add_note(graph, NULL, list, 1);
    at = add_launcher(graph, &at, behind, ACU_SIM_TAIL, 1, results);
    at = add_launcher(graph, &at, beside, ACU_SIM_FIRE_AND_FORGET, 1, results);
    at = add_launcher(graph, &at, sibling, ACU_SIM_SIBLING, 1, results);
    add_note(graph, &at, list, 2);
    run_once(graph);
    has_marks(list, 6, (unsigned[]){1, 10, 11, 30, 2, 20});
    assert_int_equal(value_at(results), 3);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(beside));
    OK(cudaGraphExecDestroy(behind));
    OK(cudaGraphExecDestroy(sibling));
    OK(cudaFree(list));
    OK(cudaFree(results));
}

/* What a graph launches behind itself comes before what was to follow it, and before later work. */
TEST(graphs_behind_graphs_keep_their_order) {
    unsigned *list = new_list(), *results = new_list();
    cudaStream_t stream = new_stream();
    cudaGraphExec_t last = marking(list, 9, 0), inner = marking(list, 3, 0);
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t at = add_note(graph, NULL, list, 2);
    add_launcher(graph, &at, inner, ACU_SIM_TAIL, 1, results);
    cudaGraphExec_t middle = for_kernels(graph, cudaGraphInstantiateFlagUpload);
    graph = new_graph();
    at = add_note(graph, NULL, list, 1);
    at = add_launcher(graph, &at, middle, ACU_SIM_TAIL, 1, results);
    add_launcher(graph, &at, last, ACU_SIM_TAIL, 1, results);
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaMemsetAsync(list + 15, 1, 4, stream));
    OK(cudaStreamSynchronize(stream));
    has_marks(list, 4, (unsigned[]){1, 2, 3, 9});
    OK(cudaGraphDestroy(graph));
    cudaGraphExec_t all[] = {exec, middle, inner, last};
    for (size_t i = 0; i < 4; i++)
        OK(cudaGraphExecDestroy(all[i]));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(list));
    OK(cudaFree(results));
}

/* With a host function the steps of the graph are followed one by one. */
TEST(graphs_with_host_functions_launch_too) {
    unsigned *list = new_list(), *results = new_list();
    atomic_int calls = 0;
    cudaGraphExec_t behind = marking(list, 20, 0);
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t at = add_launcher(graph, NULL, behind, ACU_SIM_TAIL, 1, results);
    at = add_host(graph, &at, 1, count_up, &calls);
    add_note(graph, &at, list, 1);
    run_once(graph);
    has_marks(list, 2, (unsigned[]){1, 20});
    assert_int_equal(calls, 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(behind));
    OK(cudaFree(list));
    OK(cudaFree(results));
}

TEST(a_graph_runs_itself_again) {
    unsigned *list = new_list(), count = 7;
    cudaGraph_t graph = new_graph();
    add(graph, NULL, repeat, (void *[]){&list, &count});
    cudaGraphExec_t exec = for_kernels(graph, 0);
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    has_marks(list, 7, (unsigned[]){5, 5, 5, 5, 5, 5, 5});
    OK(cudaGraphExecDestroy(exec));
    OK(cudaFree(list));
}

/* How many of so many launches of a graph succeed. */
static unsigned launches(cudaGraphExec_t exec, unsigned place, unsigned times) {
    unsigned *results = new_list();
    cudaGraph_t graph = new_graph();
    add_launcher(graph, NULL, exec, place, times, results);
    run_once(graph);
    const unsigned good = value_at(results);
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(results));
    return good;
}

TEST(refuses_what_cuda_forbids) {
    unsigned *list = new_list();
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node = add_note(graph, NULL, list, 1);
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
    assert_int_equal(launches(exec, ACU_SIM_FIRE_AND_FORGET, 1), 0); /* it was not uploaded */
    OK(cudaGraphUpload(exec, NULL));
    assert_int_equal(launches(exec, ACU_SIM_FIRE_AND_FORGET, 3), 1); /* one at a time */
    assert_int_equal(launches(exec, ACU_SIM_TAIL, 3), 1);
    OK(cudaGraphNodeSetEnabled(exec, node, 0));
    assert_int_equal(launches(exec, ACU_SIM_TAIL, 1), 0); /* nor since the change */
    OK(cudaGraphLaunch(exec, NULL));
    assert_int_equal(launches(exec, ACU_SIM_TAIL, 1), 1);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(list));
}

TEST(a_graph_that_is_not_for_kernels) {
    unsigned *list = new_list();
    cudaGraph_t graph = new_graph();
    add_note(graph, NULL, list, 1);
    cudaGraphExec_t plain = instantiate(graph);
    assert_int_equal(launches(plain, ACU_SIM_FIRE_AND_FORGET, 1), 0);
    OK(cudaGraphExecDestroy(plain));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(list));
}

/* Siblings of siblings count together: 120 are the most. */
TEST(siblings_count_together) {
    unsigned *results = new_list();
    cudaGraphExec_t chain[130] = {NULL};
    for (size_t i = 0; i < 130; i++) {
        cudaGraph_t graph = new_graph();
        add_launcher(graph, NULL, i ? chain[i - 1] : NULL, ACU_SIM_SIBLING, 1, results);
        chain[i] = for_kernels(graph, cudaGraphInstantiateFlagUpload);
    }
    cudaGraph_t graph = new_graph();
    add_launcher(graph, NULL, chain[129], ACU_SIM_SIBLING, 1, results);
    run_once(graph);
    assert_int_equal(value_at(results), 120);
    OK(cudaGraphDestroy(graph));
    for (size_t i = 0; i < 130; i++)
        OK(cudaGraphExecDestroy(chain[i]));
    OK(cudaFree(results));
}

/* ---- what ends the context ---- */

static int end_after_fault(void **state) {
    (void)state;
    acu_sim_reset("");
    return 0;
}

/* A test that ends with an illegal address. */
#define FAULTS(name) {#name " (PTX)", name, begin_in_ptx, end_after_fault, NULL}

static void faults(cudaGraph_t graph) {
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphUpload(exec, NULL));
    OK(cudaGraphLaunch(exec, NULL));
    assert_int_equal(cudaStreamSynchronize(NULL), cudaErrorIllegalAddress);
    assert_int_equal(cudaStreamSynchronize(NULL), cudaErrorIllegalAddress);
}

TEST(what_is_no_graph_for_kernels_faults) {
    unsigned *list = new_list();
    cudaGraph_t graph = new_graph(), inner = new_graph();
    add_note(inner, NULL, list, 1);
    add_launcher(graph, NULL, instantiate(inner), ACU_SIM_TAIL, 1, list);
    faults(graph);
}

TEST(what_is_no_node_faults) {
    unsigned *list = new_list(), what = ENABLE, value = 1;
    cudaGraph_t graph = new_graph();
    void *handle = list;
    add(graph, NULL, change, (void *[]){&handle, &what, &value, &list});
    faults(graph);
}

/* Conditional handles are for kernels of a graph that has some. */
TEST(conditions_of_no_graph_fault) {
    cudaGraphConditionalHandle handle = 1;
    cudaGraph_t graph = new_graph();
    add(graph, NULL, kernel_of(library, "decide"), (void *[]){&handle});
    faults(graph);
}

/* Of a handle a GPU looks at 32 bits. One that the graph does not have is overlooked, up to where
 * there is no memory for it. */
static cudaGraph_t deciding(cudaGraphConditionalHandle set, unsigned *list) {
    cudaGraph_t graph = new_graph();
    cudaGraphConditionalHandle handle;
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNode_t first = add(graph, NULL, kernel_of(library, "decide"), (void *[]){&set}), node;
    struct cudaGraphNodeParams params = {
        .type = cudaGraphNodeTypeConditional,
        .conditional = {.handle = handle, .type = cudaGraphCondTypeIf, .size = 1}};
    OK(cudaGraphAddNode(&node, graph, &first, NULL, 1, &params));
    add_note(params.conditional.phGraph_out[0], NULL, list, 1);
    return graph;
}

TEST(conditional_handles_have_32_bits) {
    static const struct {
        cudaGraphConditionalHandle handle;
        unsigned marks;
    } rows[] = {{1, 0}, {0, 1}, {2, 1}, {1000000, 1}, {(1ull << 32) + 1, 0}, {1ull << 40, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned *list = new_list();
        cudaGraph_t graph = deciding(rows[i].handle, list);
        run_once(graph);
        has_marks(list, rows[i].marks, (unsigned[]){1});
        OK(cudaGraphDestroy(graph));
        OK(cudaFree(list));
    }
}

TEST(conditional_handles_far_behind_fault) {
    faults(deciding(10000000, new_list()));
}

TEST(a_kernel_outside_of_graphs_launches_none) {
    unsigned *list = new_list(), *results = new_list(), place = ACU_SIM_TAIL, once = 1;
    cudaGraphExec_t exec = marking(list, 1, 0);
    assert_int_equal(cudaLaunchKernel(launcher, (dim3){1, 1, 1}, (dim3){1, 1, 1},
                                      (void *[]){&exec, &place, &once, &results}, 0, NULL),
                     cudaErrorNotSupported);
    assert_non_null(strstr(acu_last_error_message(), "run as nodes of graphs only"));
    assert_int_equal(cudaGetLastError(), cudaErrorNotSupported);
    OK(cudaStreamSynchronize(NULL));
    assert_int_equal(value_at(results), 0);
    has_marks(list, 0, NULL);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaFree(list));
    OK(cudaFree(results));
}

TEST(devices_launch_no_copies_of_pageable_memory) {
    static unsigned pageable[4];
    unsigned *list = new_list(), *pinned = NULL;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagDeviceLaunch};
    OK(cudaMallocHost((void **)&pinned, 16));
    OK(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, list, pinned, 16, cudaMemcpyHostToDevice));
    OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, list, pageable, 16, cudaMemcpyHostToDevice));
    assert_int_equal(cudaGraphInstantiateWithParams(&exec, graph, &params), cudaErrorInvalidValue);
    assert_int_equal(params.result_out, cudaGraphInstantiateMultipleDevicesNotSupported);
    assert_ptr_equal(params.errNode_out, node);
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(list));
}

/* ---- nodes that kernels change ---- */

static cudaGraphDeviceNode_t make_updatable(cudaGraphNode_t node) {
    cudaLaunchAttributeValue value = {.deviceUpdatableKernelNode = {.deviceUpdatable = 1}};
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
    assert_non_null(value.deviceUpdatableKernelNode.devNode);
    return value.deviceUpdatableKernelNode.devNode;
}

/* A graph whose first kernel changes the second one, which puts a mark. */
typedef struct changing {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    unsigned *list, *result;
} changing;

static changing new_changing(unsigned what, unsigned value) {
    changing c = {new_graph(), NULL, new_list(), new_list()};
    cudaGraphNode_t second = add_note(c.graph, NULL, c.list, 3);
    cudaGraphDeviceNode_t handle = make_updatable(second);
    cudaGraphNode_t first =
        add(c.graph, NULL, change, (void *[]){&handle, &what, &value, &c.result});
    OK(cudaGraphAddDependencies(c.graph, &first, &second, NULL, 1));
    c.exec = instantiate(c.graph);
    return c;
}

static unsigned run_changing(const changing *c) {
    OK(cudaGraphLaunch(c->exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    return value_at(c->result);
}

static void free_changing(const changing *c) {
    OK(cudaGraphExecDestroy(c->exec));
    OK(cudaGraphDestroy(c->graph));
    OK(cudaFree(c->list));
    OK(cudaFree(c->result));
}

TEST(kernels_change_later_ones) {
    changing c = new_changing(PARAM, 8);
    OK(cudaGraphUpload(c.exec, NULL));
    assert_int_equal(run_changing(&c), 0);
    has_marks(c.list, 1, (unsigned[]){8});
    struct cudaGraphNodeParams params; /* the graph is as it was */
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    OK(cudaGraphGetNodes(c.graph, nodes, &count));
    OK(cudaGraphNodeGetParams(nodes[0], &params));
    assert_int_equal(*(unsigned *)params.kernel.kernelParams[1], 3);
    free_changing(&c);
    c = new_changing(GRID, 5);
    OK(cudaGraphUpload(c.exec, NULL));
    assert_int_equal(run_changing(&c), 0);
    has_marks(c.list, 1, (unsigned[]){15}); /* the grid times the mark */
    free_changing(&c);
    c = new_changing(ENABLE, 0);
    OK(cudaGraphUpload(c.exec, NULL));
    assert_int_equal(run_changing(&c), 0);
    has_marks(c.list, 0, NULL);
    free_changing(&c);
}

TEST(refuses_changes_that_cuda_forbids) {
    changing c = new_changing(PARAM, 8);
    assert_int_equal(run_changing(&c), 1); /* it was not uploaded */
    has_marks(c.list, 1, (unsigned[]){3});
    free_changing(&c);
    c = new_changing(BEYOND, 8);
    OK(cudaGraphUpload(c.exec, NULL));
    assert_int_equal(run_changing(&c), 1);
    free_changing(&c);
    c = new_changing(GRID, 0);
    OK(cudaGraphUpload(c.exec, NULL));
    assert_int_equal(run_changing(&c), 1);
    has_marks(c.list, 1, (unsigned[]){3});
    free_changing(&c);
}

TEST(updatable_nodes_stay) {
    cudaGraph_t graph = new_graph(), empty = new_graph();
    unsigned *list = new_list();
    cudaGraphNode_t node = add_note(graph, NULL, list, 3), other = add_note(graph, NULL, list, 4);
    cudaGraphDeviceNode_t handle = make_updatable(node);
    cudaGraphExec_t exec, second;
    cudaGraphExecUpdateResultInfo info;
    assert_ptr_equal(make_updatable(node), handle);
    assert_ptr_not_equal(make_updatable(other), handle);
    assert_int_equal(cudaGraphDestroyNode(node), cudaErrorNotSupported);
    assert_int_equal(cudaGraphKernelNodeCopyAttributes(node, other), cudaErrorNotSupported);
    exec = instantiate(graph);
    assert_int_equal(cudaGraphInstantiate(&second, graph, 0), cudaErrorNotSupported);
    assert_int_equal(cudaGraphExecUpdate(exec, empty, &info), cudaErrorNotSupported);
    assert_int_equal(info.result, cudaGraphExecUpdateSuccess); /* as on a GPU */
    OK(cudaGraphExecDestroy(exec));
    exec = instantiate(graph);
    OK(cudaGraphExecDestroy(exec));
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(empty));
    OK(cudaFree(list));
}

static unsigned launches_in_stream(unsigned place) {
    unsigned *list = new_list();
    cudaGraphExec_t exec = marking(list, 1, 0);
    const unsigned good = launches(exec, place, 1);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaFree(list));
    return good;
}

TEST(graphs_go_into_streams_of_graphs) {
    assert_int_equal(launches_in_stream(2), 1);
    assert_int_equal(launches_in_stream(3), 0); /* the default stream */
}

/* Applies updates to a node that puts the mark 3, and returns the error. */
static unsigned apply(struct cudaGraphKernelNodeUpdate *updates, size_t count, unsigned *mark) {
    unsigned *list = new_list(), *result = new_list();
    struct cudaGraphKernelNodeUpdate *on_device =
        updates ? new_memory(count * sizeof *updates) : NULL;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t second = add_note(graph, NULL, list, 3);
    cudaGraphDeviceNode_t handle = make_updatable(second);
    for (size_t i = 0; updates && i < count; i++)
        updates[i].node = updates[i].node ? NULL : handle;
    if (updates)
        OK(cudaMemcpy(on_device, updates, count * sizeof *updates, cudaMemcpyHostToDevice));
    cudaGraphNode_t first =
        add(graph, NULL, kernel_of(library, "apply"), (void *[]){&on_device, &count, &result});
    OK(cudaGraphAddDependencies(graph, &first, &second, NULL, 1));
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphUpload(exec, NULL));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    const unsigned error = value_at(result);
    *mark = value_at(list) ? value_at(list + 1) : 0;
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(list));
    OK(cudaFree(result));
    OK(cudaFree(on_device));
    return error;
}

/* ptxas places parameters otherwise than the PTX does, and a kernel names ptxas's places. */
static const char moved_parameters[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry set(.param .u64 node) { ret; }\n"
    ".visible .entry moved(.param .u64 to, .param .align 64 .b8 a[64]) {\n"
    ".reg .b64 %d; .reg .b32 %r;\nld.param.u64 %d, [to];\nld.param.u32 %r, [a];\n"
    "st.global.u32 [%d], %r;\nret;\n}\n";
enum { PLACE_OF_A = 48, END_OF_A = PLACE_OF_A + 64 };

/* Sets bytes of both parameters at once, and none where one of them is beyond. */
static void set_both(const acu_sim_launch *launch, void *const *args) {
    struct CUgraphDeviceUpdatableNode_st *node =
        *(struct CUgraphDeviceUpdatableNode_st *const *)args[0];
    const unsigned char bytes[END_OF_A + 1] = {[PLACE_OF_A] = 7, [PLACE_OF_A + 1] = 1};
    assert_int_equal(acu_sim_set_node_param(launch, node, 7, bytes + 7, PLACE_OF_A), 0);
    assert_int_equal(acu_sim_set_node_param(launch, node, 8, bytes, END_OF_A - 7),
                     cudaErrorInvalidValue);
}

TEST(kernels_set_bytes_of_several_parameters) {
    unsigned *list = new_list(), block[16] = {3};
    cudaLibrary_t own;
    OK(cudaLibraryLoadData(&own, moved_parameters, NULL, NULL, 0, NULL, NULL, 0));
    acu_sim_register("set", set_both);
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t second = add(graph, NULL, kernel_of(own, "moved"), (void *[]){&list, block});
    cudaGraphDeviceNode_t handle = make_updatable(second);
    cudaGraphNode_t first = add(graph, NULL, kernel_of(own, "set"), (void *[]){&handle});
    OK(cudaGraphAddDependencies(graph, &first, &second, NULL, 1));
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphUpload(exec, NULL));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    assert_int_equal(value_at(list), 7 + 256);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    acu_sim_register("set", NULL);
    OK(cudaLibraryUnload(own));
    OK(cudaFree(list));
}

TEST(kernels_apply_updates) {
    unsigned mark, *value = new_memory(sizeof *value);
    OK(cudaMemset(value, 1, 1));
    OK(cudaMemset((char *)value + 1, 0, 3));
    struct cudaGraphKernelNodeUpdate updates[3] = {
        {.field = cudaGraphKernelNodeFieldGridDim, .updateData.gridDim = {2, 1, 1}},
        {.field = cudaGraphKernelNodeFieldParam, .updateData.param = {value, 8, 1}},
        {.field = cudaGraphKernelNodeFieldEnabled, .updateData.isEnabled = 0}};
    assert_int_equal(apply(updates, 2, &mark), 0);
    assert_int_equal(mark, 2);
    updates[0].node = updates[1].node = NULL;
    assert_int_equal(apply(updates, 3, &mark), 0);
    assert_int_equal(mark, 0); /* it is disabled */
    OK(cudaFree(value));
}

TEST(refuses_updates_that_cuda_forbids) {
    unsigned mark;
    struct cudaGraphKernelNodeUpdate update = {.field = 9};
    assert_int_equal(apply(&update, 1, &mark), 1);
    assert_int_equal(mark, 3);
    update = (struct cudaGraphKernelNodeUpdate){.node = (void *)8,
                                                .field = cudaGraphKernelNodeFieldEnabled};
    assert_int_equal(apply(&update, 1, &mark), 1); /* no node */
    assert_int_equal(mark, 3);
    /* Where one is refused, none is applied. */
    struct cudaGraphKernelNodeUpdate both[2] = {
        {.field = cudaGraphKernelNodeFieldGridDim, .updateData.gridDim = {2, 1, 1}}, {.field = 9}};
    assert_int_equal(apply(both, 2, &mark), 1);
    assert_int_equal(mark, 3);
    assert_int_equal(apply(NULL, 2, &mark), 1);
    assert_int_equal(apply(NULL, 0, &mark), 1);
}

/* CUDA does not allow the device runtime there, be it to ask for the last error. */
static void refuses_kernel(const char *name) {
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec;
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagDeviceLaunch};
    cudaGraphNode_t node = add(graph, NULL, kernel_of(library, name), NULL);
    assert_int_equal(cudaGraphInstantiateWithParams(&exec, graph, &params), cudaErrorInvalidValue);
    assert_int_equal(params.result_out, cudaGraphInstantiateNodeOperationNotSupported);
    assert_ptr_equal(params.errNode_out, node);
    assert_non_null(strstr(acu_last_error_message(), "kernels that do not use the device runtime"));
    OK(cudaGraphDestroy(graph));
}

/* As an H200: only an executable graph that had such a kernel, or is for kernels, takes one. */
TEST(kernels_that_launch_graphs_come_with_the_graph) {
    static uint64_t first, last;
    static uint32_t place, times;
    void *args[] = {&first, &place, &times, &last};
    const unsigned long long flags[] = {0, cudaGraphInstantiateFlagDeviceLaunch};
    for (unsigned n = 0; n < 3; n++) {
        cudaGraph_t graph = new_graph();
        cudaGraphExec_t exec;
        void *marks[] = {&first, &place};
        cudaGraphNode_t node = add(graph, NULL, note, marks);
        if (n == 2)
            (void)add(graph, &node, launcher, args);
        OK(cudaGraphInstantiateWithFlags(&exec, graph, n == 2 ? 0 : flags[n]));
        struct cudaKernelNodeParams params = {.func = (void *)launcher,
                                              .gridDim = {1, 1, 1},
                                              .blockDim = {1, 1, 1},
                                              .kernelParams = args};
        const cudaError_t result = cudaGraphExecKernelNodeSetParams(exec, node, &params);
        assert_int_equal(result, n ? cudaSuccess : cudaErrorInvalidValue);
        if (!n)
            assert_non_null(strstr(acu_last_error_message(), "no kernel did so when the graph"));
        OK(cudaGraphExecDestroy(exec));
        OK(cudaGraphDestroy(graph));
    }
}

TEST(devices_launch_no_kernels_that_use_the_device_runtime) {
    refuses_kernel("parent");
    refuses_kernel("asking");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        K(graphs_run_beside_and_behind_the_one_that_launches_them),
        K(graphs_behind_graphs_keep_their_order),
        K(graphs_with_host_functions_launch_too),
        K(a_graph_runs_itself_again),
        K(refuses_what_cuda_forbids),
        cmocka_unit_test_setup_teardown(a_graph_that_is_not_for_kernels, begin_in_c,
                                        end_with_kernels),
        K(siblings_count_together),
        K(a_kernel_outside_of_graphs_launches_none),
        K(devices_launch_no_copies_of_pageable_memory),
        K(kernels_change_later_ones),
        K(refuses_changes_that_cuda_forbids),
        K(updatable_nodes_stay),
        BY_PTX(graphs_go_into_streams_of_graphs),
        BY_PTX(kernels_set_bytes_of_several_parameters),
        BY_PTX(kernels_apply_updates),
        BY_PTX(refuses_updates_that_cuda_forbids),
        BY_PTX(devices_launch_no_kernels_that_use_the_device_runtime),
        BY_PTX(kernels_that_launch_graphs_come_with_the_graph),
        BY_PTX(conditional_handles_have_32_bits),
        FAULTS(what_is_no_graph_for_kernels_faults),
        FAULTS(what_is_no_node_faults),
        FAULTS(conditions_of_no_graph_fault),
        FAULTS(conditional_handles_far_behind_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
