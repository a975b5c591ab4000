/* Graphs of 10,000 nodes: in a line, fanned out between one node and another, and at random. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 10000, EDGES = 3 * NODES, ROUNDS = 5 };

static cudaGraphNode_t nodes[NODES], listed[EDGES], from[EDGES], to[EDGES];
static cudaGraph_t graph, second;
static cudaGraphExec_t exec;
static const struct cudaKernelNodeParams *params; /* NULL: empty nodes */

/* ---- shapes: the nodes that one depends on ---- */

static size_t line(size_t node, cudaGraphNode_t *before) {
    before[0] = node ? nodes[node - 1] : NULL;
    return node != 0;
}

static size_t fan(size_t node, cudaGraphNode_t *before) {
    before[0] = nodes[0];
    if (node < NODES - 1)
        return node != 0;
    for (size_t i = 0; i < NODES - 2; i++)
        before[i] = nodes[i + 1];
    return NODES - 2;
}

/* Up to three earlier ones, mostly near; the same in each run. */
static size_t random_edges(size_t node, cudaGraphNode_t *before) {
    static unsigned long long state;
    size_t count = 0, wanted = node ? 1 + node % 3 : 0;
    if (node == 0)
        state = 1;
    for (size_t i = 0; i < wanted; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t back = (size_t)(state / 0x200000000u) % (i == 2 ? node : node < 50 ? node : 50);
        bool twice = false;
        for (size_t j = 0; j < count; j++)
            twice = twice || before[j] == nodes[node - 1 - back];
        if (!twice)
            before[count++] = nodes[node - 1 - back];
    }
    return count;
}

/* ---- steps ---- */

static size_t (*shape)(size_t node, cudaGraphNode_t *before);

static void add_node(cudaGraph_t graph_of, size_t i, const cudaGraphNode_t *before, size_t count) {
    if (params)
        TRY(cudaGraphAddKernelNode(&nodes[i], graph_of, before, count, params));
    else
        TRY(cudaGraphAddEmptyNode(&nodes[i], graph_of, before, count));
}

static void add_nodes(void) {
    TRY(cudaGraphCreate(&graph, 0));
    for (size_t i = 0; i < NODES && !failed; i++)
        add_node(graph, i, listed, shape(i, listed));
}

static void list_nodes(void) {
    size_t count = NODES;
    TRY(cudaGraphGetNodes(graph, listed, &count));
}

static void list_edges(void) {
    size_t count = EDGES;
    TRY(cudaGraphGetEdges(graph, from, to, NULL, &count));
}

static void ask_nodes(void) {
    enum cudaGraphNodeType type;
    for (size_t i = 0, count = 0; i < NODES && !failed; i++) {
        TRY(cudaGraphNodeGetType(nodes[i], &type));
        TRY(cudaGraphNodeGetDependencies(nodes[i], NULL, NULL, &count));
    }
}

static void unlink_all(void) {
    size_t count = EDGES;
    TRY(cudaGraphGetEdges(graph, from, to, NULL, &count));
    TRY(cudaGraphRemoveDependencies(graph, from, to, NULL, count));
}

static void link_all(void) {
    size_t count = 0;
    while (count < EDGES && from[count])
        count++;
    TRY(cudaGraphAddDependencies(graph, from, to, NULL, count));
}

static void clone(void) {
    TRY(cudaGraphClone(&second, graph));
}

static void instantiate(void) {
    TRY(cudaGraphInstantiate(&exec, graph, 0));
}

static void update(void) {
    cudaGraphExecUpdateResultInfo info;
    TRY(cudaGraphExecUpdate(exec, graph, &info));
}

static void change_nodes(void) {
    for (size_t i = 0; params && i < NODES && !failed; i++)
        TRY(cudaGraphExecKernelNodeSetParams(exec, nodes[i], params));
}

static void launch(void) {
    TRY(cudaGraphLaunch(exec, stream));
}

static void launch_and_wait(void) {
    launch();
    synchronize();
}

static void destroy_exec(void) {
    TRY(cudaGraphExecDestroy(exec));
}

static void destroy_clone(void) {
    TRY(cudaGraphDestroy(second));
}

static void destroy_nodes(void) {
    for (size_t i = 0; i < NODES && !failed; i++)
        TRY(cudaGraphDestroyNode(nodes[i]));
}

static void destroy_graph(void) {
    TRY(cudaGraphDestroy(graph));
}

/* In this order; after each the stream is waited for. */
static const struct {
    const char *name;
    void (*fn)(void);
    bool only_kernels;
} steps[] = {
    {"add nodes", add_nodes, false},
    {"cudaGraphGetNodes", list_nodes, false},
    {"cudaGraphGetEdges", list_edges, false},
    {"type and dependencies of each", ask_nodes, false},
    {"cudaGraphClone", clone, false},
    {"cudaGraphDestroy of the clone", destroy_clone, false},
    {"cudaGraphInstantiate", instantiate, false},
    {"first cudaGraphLaunch to its end", launch_and_wait, false},
    {"cudaGraphLaunch", launch, false},
    {"cudaGraphLaunch to its end", launch_and_wait, false},
    {"cudaGraphExecUpdate", update, false},
    {"cudaGraphLaunch to its end, updated", launch_and_wait, false},
    {"cudaGraphExecKernelNodeSetParams of each", change_nodes, true},
    {"cudaGraphLaunch to its end, changed", launch_and_wait, true},
    {"cudaGraphExecDestroy", destroy_exec, false},
    {"cudaGraphRemoveDependencies, all", unlink_all, false},
    {"cudaGraphAddDependencies, all", link_all, false},
    {"cudaGraphDestroyNode of each", destroy_nodes, false},
    {"cudaGraphDestroy", destroy_graph, false},
};
enum { STEPS = sizeof steps / sizeof *steps };

static void time_shape(const char *name, size_t (*edges)(size_t, cudaGraphNode_t *)) {
    static double ns[STEPS][ROUNDS];
    char row[120];
    shape = edges;
    for (int round = 0; round < ROUNDS && !failed; round++)
        for (int i = 0; i < STEPS && !failed; i++) {
            const double begin = now_ns();
            steps[i].fn();
            ns[i][round] = now_ns() - begin;
            synchronize();
            snprintf(row, sizeof row, "10,000 %s nodes, %s: %s", params ? "kernel" : "empty", name,
                     steps[i].name);
        }
    if (complain(row))
        return;
    for (int i = 0; i < STEPS; i++) {
        if (steps[i].only_kernels && !params)
            continue;
        snprintf(row, sizeof row, "10,000 %s nodes, %s: %s", params ? "kernel" : "empty", name,
                 steps[i].name);
        print_row(row, median_of(ns[i], ROUNDS), 0);
    }
}

/* A line of launches, captured. */
static void time_capture(void) {
    static double begun[ROUNDS], ended[ROUNDS];
    const dim3 one = {1, 1, 1};
    for (int round = 0; round < ROUNDS && !failed; round++) {
        double begin = now_ns();
        TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < NODES && !failed; i++)
            TRY(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));
        begun[round] = now_ns() - begin;
        begin = now_ns();
        TRY(cudaStreamEndCapture(stream, &graph));
        ended[round] = now_ns() - begin;
        TRY(cudaGraphDestroy(graph));
    }
    if (complain("capture"))
        return;
    print_row("10,000 launches, captured", median_of(begun, ROUNDS), 0);
    print_row("10,000 launches, captured: cudaStreamEndCapture", median_of(ended, ROUNDS), 0);
}

void time_graphs(void) {
    static void *none[1];
    const struct cudaKernelNodeParams launched = {.func = (void *)(uintptr_t)kernel,
                                                  .gridDim = {1, 1, 1},
                                                  .blockDim = {1, 1, 1},
                                                  .kernelParams = none};
    for (int kernels = 0; kernels < 2; kernels++) {
        params = kernels ? &launched : NULL;
        time_shape("a line", line);
        time_shape("a fan", fan);
        time_shape("at random", random_edges);
    }
    params = NULL;
    time_capture();
}
