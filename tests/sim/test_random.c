/*
 * Random calls around graphs and captures, in any order, with handles that may be stale: each is
 * done or refused. What a sanitizer finds, or a crash, is the failure; and nothing may be left once
 * all is taken back. The seed of a failure is printed.
 */
#include "graph_test.h"

#include <stdbool.h>

enum { SLOTS = 4, NODES = 32, STEPS = 400, SEEDS = 60, MOST = 200 /* nodes in a graph */ };

static struct {
    uint64_t state;
    cudaStream_t streams[SLOTS];
    cudaEvent_t events[SLOTS];
    cudaGraph_t graphs[SLOTS];
    cudaGraphNode_t nodes[NODES];
    cudaGraphExec_t execs[SLOTS];
    char *memory[SLOTS];
} world;

static unsigned below(unsigned end) {
    world.state = world.state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(world.state >> 33u) % end;
}

static cudaStream_t some_stream(void) {
    return below(8) ? world.streams[below(SLOTS)] : cudaStreamPerThread;
}

static cudaGraphNode_t some_node(void) {
    return world.nodes[below(NODES)];
}

static void nothing(void *data) {
    (void)data;
}

/* A graph within itself doubles. */
static bool is_small(cudaGraph_t graph) {
    size_t count = 0;
    return !cudaGraphGetNodes(graph, NULL, &count) && count < MOST;
}

static void add_node(void) {
    const cudaGraph_t to = world.graphs[below(SLOTS)], child = world.graphs[below(SLOTS)];
    const cudaGraphNode_t after[2] = {some_node(), some_node()};
    const size_t count = below(3);
    const struct cudaHostNodeParams host = {nothing, NULL};
    const struct cudaMemsetParams fill = {world.memory[below(SLOTS)], 0, below(256), 1, 16, 1};
    struct cudaMemAllocNodeParams memory = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {cudaMemLocationTypeDevice, {0}}},
        .bytesize = 1000};
    cudaGraphNode_t made = NULL;
    switch (below(8)) {
    case 0:
        (void)cudaGraphAddEmptyNode(&made, to, after, count);
        break;
    case 1:
        (void)cudaGraphAddHostNode(&made, to, after, count, &host);
        break;
    case 2:
        (void)cudaGraphAddMemsetNode(&made, to, after, count, &fill);
        break;
    case 3:
        (void)cudaGraphAddEventRecordNode(&made, to, after, count, world.events[below(SLOTS)]);
        break;
    case 4:
        (void)cudaGraphAddEventWaitNode(&made, to, after, count, world.events[below(SLOTS)]);
        break;
    case 5:
        if (is_small(child))
            (void)cudaGraphAddChildGraphNode(&made, to, after, count, child);
        break;
    case 6:
        if (!cudaGraphAddMemAllocNode(&made, to, after, count, &memory) && below(2))
            (void)cudaGraphAddMemFreeNode(&made, to, &made, 1, memory.dptr);
        break;
    default:
        (void)cudaGraphAddDependencies(to, &after[0], &after[1], NULL, 1);
    }
    if (made)
        world.nodes[below(NODES)] = made;
}

static void change_graph(unsigned i, unsigned j) {
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    switch (below(8)) {
    case 0:
        (void)cudaGraphDestroyNode(some_node());
        break;
    case 1:
        if (is_small(world.graphs[i]) && !cudaGraphClone(&graph, world.graphs[i]))
            world.graphs[j] = graph; /* what was there is left to the end */
        break;
    case 2:
        (void)cudaGraphDestroy(world.graphs[i]);
        if (below(2))
            (void)cudaGraphCreate(&world.graphs[i], 0);
        break;
    case 3:
        if (!cudaGraphChildGraphNodeGetGraph(some_node(), &graph))
            world.graphs[j] = graph;
        break;
    case 4:
        (void)cudaGraphExecDestroy(world.execs[i]);
        break;
    case 5:
        (void)cudaGraphExecUpdate(world.execs[i], world.graphs[j], &info);
        break;
    default:
        if (!cudaGraphInstantiate(&exec, world.graphs[i], 0))
            world.execs[j] = exec;
    }
}

static void capture(unsigned i) {
    const enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)below(3);
    cudaGraph_t graph = NULL;
    switch (below(6)) {
    case 0:
        (void)cudaStreamBeginCapture(some_stream(), mode);
        break;
    case 1:
        (void)cudaStreamBeginCaptureToGraph(some_stream(), world.graphs[i], NULL, NULL, 0, mode);
        break;
    case 2:
        (void)cudaEventRecord(world.events[i], some_stream());
        break;
    case 3:
        (void)cudaStreamWaitEvent(some_stream(), world.events[i], 0);
        break;
    default:
        if (!cudaStreamEndCapture(some_stream(), &graph) && graph)
            world.graphs[i] = graph;
    }
}

static void work(unsigned i) {
    switch (below(6)) {
    case 0:
        (void)cudaMemsetAsync(world.memory[i], 1, 16, some_stream());
        break;
    case 1:
        (void)cudaLaunchHostFunc(some_stream(), nothing, NULL);
        break;
    case 2:
        (void)cudaStreamQuery(some_stream());
        break;
    case 3:
        (void)cudaEventQuery(world.events[i]);
        break;
    case 4:
        (void)cudaStreamSynchronize(some_stream());
        break;
    default:
        (void)cudaGraphLaunch(world.execs[i], some_stream());
    }
}

static void renew(unsigned i) {
    switch (below(4)) {
    case 0:
        (void)cudaStreamDestroy(world.streams[i]);
        if (below(4))
            (void)cudaStreamCreateWithFlags(&world.streams[i], below(2));
        break;
    case 1:
        (void)cudaEventDestroy(world.events[i]);
        if (below(4))
            (void)cudaEventCreate(&world.events[i]);
        break;
    case 2:
        (void)cudaFree(world.memory[i]);
        (void)cudaMalloc((void **)&world.memory[i], 64);
        break;
    default:
        (void)cudaDeviceSynchronize();
    }
}

static void begin_world(uint64_t seed) {
    memset(&world, 0, sizeof world);
    world.state = seed * 77777 + 1;
    for (unsigned i = 0; i < SLOTS; i++) {
        OK(cudaStreamCreateWithFlags(&world.streams[i], i & 1u));
        OK(cudaEventCreate(&world.events[i]));
        OK(cudaGraphCreate(&world.graphs[i], 0));
        OK(cudaMalloc((void **)&world.memory[i], 64));
        world.nodes[i] = add_empty(world.graphs[i], NULL, 0);
    }
}

static void one_world(uint64_t seed) {
    begin_world(seed);
    for (unsigned step = 0; step < STEPS; step++) {
        const unsigned what = below(32), i = below(SLOTS), j = below(SLOTS);
        if (what < 10)
            add_node();
        else if (what < 15)
            change_graph(i, j);
        else if (what < 24)
            capture(i);
        else if (what < 30)
            work(i);
        else
            renew(i);
    }
}

TEST(random_calls) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %u\n", (unsigned)seed);
        acu_sim_reset(seed % 3 ? MACHINE : "memory=1GiB,guard=1");
        one_world(seed);
    }
    acu_sim_reset(MACHINE);
}

int main(void) {
    const struct CMUnitTest tests[] = {T(random_calls)};
    return RUN(tests);
}
