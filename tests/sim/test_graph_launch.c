/* Launches of graphs under way: what waits for what, and what does not. */
#include "graph_test.h"

#include <stdbool.h>
#include <stdio.h>

/* ---- branches ---- */

static cudaGraphNode_t add_record(cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                                  cudaEvent_t event) {
    cudaGraphNode_t node;
    OK(cudaGraphAddEventRecordNode(&node, graph, before, count, event));
    return node;
}

/* Fills a byte, then records the event. */
static cudaGraphNode_t add_fill(cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                                char *at, cudaEvent_t event) {
    const struct cudaMemsetParams fill = {at, 1, 1, 1, 1, 1};
    cudaGraphNode_t node;
    OK(cudaGraphAddMemsetNode(&node, graph, before, count, &fill));
    return event ? add_record(graph, &node, 1, event) : node;
}

typedef struct fixture {
    cudaGraph_t graph;
    cudaStream_t stream, other;
    cudaEvent_t event, last;
    char *memory;
    blocker g;
} fixture;

static void make(fixture *f) {
    *f = (fixture){.graph = new_graph(), .stream = new_stream(), .other = new_stream()};
    f->event = new_event();
    f->last = new_event();
    OK(cudaMallocHost((void **)&f->memory, 64));
    memset(f->memory, 0, 64);
}

static void drop(fixture *f) {
    OK(cudaGraphDestroy(f->graph));
    OK(cudaStreamDestroy(f->stream));
    OK(cudaStreamDestroy(f->other));
    OK(cudaEventDestroy(f->event));
    OK(cudaEventDestroy(f->last));
    OK(cudaFreeHost(f->memory));
}

TEST(a_host_function_holds_up_only_what_depends_on_it) {
    fixture f;
    make(&f);
    cudaGraphNode_t held = add_host(f.graph, NULL, 0, wait_until_unblocked, &f.g);
    add_fill(f.graph, &held, 1, f.memory, NULL);
    add_fill(f.graph, NULL, 0, f.memory + 1, f.event);
    cudaGraphExec_t exec = instantiate(f.graph);
    for (int i = 0; i < 10; i++) {
        f.g = (blocker){0};
        memset(f.memory, 0, 2);
        OK(cudaGraphLaunch(exec, f.stream));
        OK(cudaEventSynchronize(f.event)); /* the other branch is through */
        assert_int_equal(f.memory[0], 0);
        assert_int_equal(f.memory[1], 1);
        SAYS(cudaErrorNotReady, cudaStreamQuery(f.stream));
        unblock_stream(&f.g);
        OK(cudaStreamSynchronize(f.stream));
        assert_int_equal(f.memory[0], 1);
    }
    OK(cudaGraphExecDestroy(exec));
    drop(&f);
}

TEST(host_functions_of_a_launch_are_called_one_at_a_time) {
    fixture f;
    atomic_int count = 0;
    make(&f);
    add_host(f.graph, NULL, 0, wait_until_unblocked, &f.g);
    add_host(f.graph, NULL, 0, count_up, &count);
    cudaGraphExec_t exec = instantiate(f.graph);
    OK(cudaGraphLaunch(exec, f.stream));
    while (!atomic_load(&f.g.reached))
        pause_briefly();
    OK(cudaLaunchHostFunc(f.other, count_up, &count)); /* nor those of other streams */
    for (int i = 0; i < 10; i++)
        pause_briefly();
    assert_int_equal(atomic_load(&count), 0);
    unblock_stream(&f.g);
    OK(cudaDeviceSynchronize());
    assert_int_equal(atomic_load(&count), 2);
    OK(cudaGraphExecDestroy(exec));
    drop(&f);
}

TEST(a_wait_holds_up_only_what_depends_on_it) {
    fixture f;
    cudaGraphNode_t wait;
    make(&f);
    OK(cudaGraphAddEventWaitNode(&wait, f.graph, NULL, 0, f.event));
    add_fill(f.graph, &wait, 1, f.memory, NULL);
    add_fill(f.graph, NULL, 0, f.memory + 1, f.last);
    cudaGraphExec_t exec = instantiate(f.graph);
    block_stream(&f.g, f.other);
    OK(cudaEventRecord(f.event, f.other));
    OK(cudaGraphLaunch(exec, f.stream));
    OK(cudaEventSynchronize(f.last));
    assert_int_equal(f.memory[0], 0);
    SAYS(cudaErrorNotReady, cudaStreamQuery(f.stream));
    unblock_stream(&f.g);
    OK(cudaStreamSynchronize(f.stream));
    assert_int_equal(f.memory[0] + f.memory[1], 2);
    OK(cudaGraphExecDestroy(exec));
    drop(&f);
}

/* The device's work of another launch, which a host function holds up. */
TEST(what_is_waited_for_may_be_over_in_any_order) {
    for (int turn = 0; turn < 2; turn++) {
        fixture f;
        blocker second = {0};
        cudaGraphNode_t held, wait;
        cudaEvent_t after = new_event();
        make(&f);
        OK(cudaSetDevice(1)); /* which calls its own */
        cudaStream_t far = new_stream();
        cudaEvent_t far_event = new_event();
        block_stream(&f.g, far);
        OK(cudaEventRecord(far_event, far));
        OK(cudaSetDevice(0));
        OK(cudaGraphAddEventWaitNode(&wait, f.graph, NULL, 0, far_event));
        add_fill(f.graph, &wait, 1, f.memory, f.event);
        held = add_host(f.graph, NULL, 0, wait_until_unblocked, &second);
        add_fill(f.graph, &held, 1, f.memory + 1, after);
        cudaGraphExec_t exec = instantiate(f.graph);
        OK(cudaGraphLaunch(exec, f.stream));
        unblock_stream(turn ? &f.g : &second);
        OK(cudaEventSynchronize(turn ? f.event : after));
        assert_int_equal(f.memory[turn], 0);
        SAYS(cudaErrorNotReady, cudaStreamQuery(f.stream));
        unblock_stream(turn ? &second : &f.g);
        OK(cudaStreamSynchronize(f.stream));
        assert_int_equal(f.memory[0] + f.memory[1], 2);
        OK(cudaGraphExecDestroy(exec));
        OK(cudaEventDestroy(after));
        OK(cudaEventDestroy(far_event));
        OK(cudaStreamDestroy(far));
        drop(&f);
    }
}

/* A child's nodes are behind what the child is behind, and before what it is before. */
TEST(branches_with_children_join) {
    fixture f;
    int number[2] = {0};
    cudaGraph_t child = new_graph(), empty = new_graph();
    cudaGraphNode_t joined[3], a, b;
    make(&f);
    cudaGraphNode_t inner = add_empty(child, NULL, 0);
    add_host(child, &inner, 1, add_digit, number);
    add_empty(child, NULL, 0);
    cudaGraphNode_t root = add_host(f.graph, NULL, 0, add_digit, number);
    OK(cudaGraphAddChildGraphNode(&a, f.graph, &root, 1, child));
    OK(cudaGraphAddChildGraphNode(&b, f.graph, &a, 1, empty));
    joined[0] = add_host(f.graph, &b, 1, add_digit, number);
    joined[1] = add_fill(f.graph, &root, 1, f.memory, f.event);
    joined[2] = add_empty(f.graph, &b, 1);
    add_host(f.graph, joined, 3, add_digit, number);
    run_once(f.graph);
    assert_int_equal(number[0], 1234);
    assert_int_equal(f.memory[0], 1);
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(empty));
    drop(&f);
}

/* A node of a graph at random: a host function that looks whether those before it are done. */
typedef struct random_node {
    unsigned before, count;
    const struct random_node *all;
    const char *filled; /* what the device's nodes leave */
    bool is_fill, done, early;
} random_node;

static void look(void *data) {
    random_node *node = data;
    for (unsigned i = 0; i < node->count; i++) {
        const random_node *other = &node->all[node->before >> (8 * i) & 255];
        node->early |= other->is_fill ? !node->filled[other - node->all] : !other->done;
    }
    node->done = true;
}

enum { RANDOM_NODES = 60 };

/* The same in each run. */
static unsigned random_below(unsigned limit) {
    static unsigned long long state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state / 0x200000000u) % limit;
}

static void add_random(fixture *f, cudaGraphNode_t *nodes, random_node *all, unsigned i) {
    cudaGraphNode_t before[3];
    random_node *node = &all[i];
    *node = (random_node){.all = all, .filled = f->memory, .is_fill = i % 3 == 1};
    while (i && node->count < 1 + i % 3) {
        const unsigned other = random_below(i);
        bool twice = false;
        for (unsigned j = 0; j < node->count; j++)
            twice |= before[j] == nodes[other];
        if (twice)
            break;
        before[node->count] = nodes[other];
        node->before |= other << (8 * node->count++);
    }
    nodes[i] = node->is_fill ? add_fill(f->graph, before, node->count, f->memory + i, NULL)
                             : add_host(f->graph, before, node->count, look, node);
}

static void run_random(void) {
    fixture f;
    cudaGraphNode_t nodes[RANDOM_NODES];
    random_node all[RANDOM_NODES];
    make(&f);
    for (unsigned i = 0; i < RANDOM_NODES; i++)
        add_random(&f, nodes, all, i);
    cudaGraphExec_t exec = instantiate(f.graph);
    for (int round = 0; round < 3; round++) {
        memset(f.memory, 0, 64);
        for (unsigned i = 0; i < RANDOM_NODES; i++)
            all[i].done = false;
        OK(cudaGraphLaunch(exec, f.stream));
        OK(cudaStreamSynchronize(f.stream));
        for (unsigned i = 0; i < RANDOM_NODES; i++)
            assert_true(!all[i].early && (all[i].is_fill ? f.memory[i] == 1 : all[i].done));
    }
    OK(cudaGraphExecDestroy(exec));
    drop(&f);
}

static void seed_with(unsigned seed) {
    char configuration[64];
    snprintf(configuration, sizeof configuration, "%s,seed=%u", MACHINE, seed);
    acu_sim_reset(configuration);
}

TEST(edges_hold_in_graphs_at_random) {
    for (unsigned i = 0; i < 30; i++) {
        run_random();
        if (i >= 15)
            seed_with(i);
    }
}

TEST(a_fault_beside_a_host_function) {
    fixture f;
    atomic_int count = 0;
    void *memory = new_memory(64);
    make(&f);
    cudaGraphNode_t held = add_host(f.graph, NULL, 0, wait_until_unblocked, &f.g);
    add_host(f.graph, &held, 1, count_up, &count);
    add_record(f.graph, &held, 1, f.last);
    add_fill(f.graph, NULL, 0, memory, f.event);
    cudaGraphExec_t exec = instantiate(f.graph);
    OK(cudaFree(memory));
    OK(cudaGraphLaunch(exec, f.stream));
    SAYS(cudaErrorIllegalAddress, cudaEventSynchronize(f.event));
    unblock_stream(&f.g);
    SAYS(cudaErrorIllegalAddress, cudaEventSynchronize(f.last));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(f.stream));
    assert_int_equal(atomic_load(&count), 0);
    acu_sim_reset(MACHINE);
}

/* ---- with a seed ---- */

enum { LETTERS = 8 };

typedef struct journal {
    char text[3 * LETTERS + 1];
    unsigned length;
} journal;

typedef struct note {
    journal *to;
    char letter;
} note;

static void write_note(void *data) {
    const note *n = data;
    n->to->text[n->to->length++] = n->letter;
}

/* A root, letters beside each other, each with its capital behind it, and other streams' work. */
static void write_journal(unsigned seed, journal *j) {
    note notes[2 * LETTERS], others[LETTERS];
    seed_with(seed);
    memset(j, 0, sizeof *j);
    cudaGraph_t graph = new_graph();
    cudaStream_t stream = new_stream(), other = new_stream();
    cudaGraphNode_t root = add_empty(graph, NULL, 0);
    for (int i = 0; i < LETTERS; i++) {
        notes[2 * i] = (note){j, (char)('a' + i)};
        notes[2 * i + 1] = (note){j, (char)('A' + i)};
        others[i] = (note){j, '.'};
        cudaGraphNode_t small = add_host(graph, &root, 1, write_note, &notes[2 * i]);
        add_host(graph, &small, 1, write_note, &notes[2 * i + 1]);
        OK(cudaLaunchHostFunc(other, write_note, &others[i]));
    }
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

TEST(a_seed_orders_branches) {
    journal first, again;
    int different = 0, between = 0;
    char before[sizeof first.text] = "";
    for (unsigned seed = 0; seed < 20; seed++) {
        write_journal(seed, &first);
        write_journal(seed, &again);
        assert_string_equal(first.text, again.text);
        assert_int_equal(first.length, 3 * LETTERS);
        for (int i = 0; i < LETTERS; i++)
            assert_true(strchr(first.text, 'a' + i) < strchr(first.text, 'A' + i));
        different += strcmp(before, first.text) != 0;
        between += strcspn(first.text, ".") != 0 && strspn(first.text, ".") != LETTERS;
        memcpy(before, first.text, sizeof before);
    }
    assert_true(different >= 18 && between >= 5);
}

/* The other stream's work must be done meanwhile, though there is one thread only. */
TEST(a_launch_waits_for_another_stream) {
    for (unsigned seed = 0; seed < 20; seed++) {
        fixture f;
        cudaGraphNode_t wait;
        seed_with(seed);
        make(&f);
        OK(cudaGraphAddEventWaitNode(&wait, f.graph, NULL, 0, f.event));
        add_fill(f.graph, &wait, 1, f.memory, NULL);
        cudaGraphExec_t exec = instantiate(f.graph);
        OK(cudaMemsetAsync(f.memory, 7, 1, f.other));
        OK(cudaEventRecord(f.event, f.other));
        OK(cudaGraphLaunch(exec, f.stream));
        OK(cudaStreamSynchronize(f.stream));
        assert_int_equal(f.memory[0], 1);
        OK(cudaGraphExecDestroy(exec));
        drop(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_host_function_holds_up_only_what_depends_on_it),
        T(host_functions_of_a_launch_are_called_one_at_a_time),
        T(a_wait_holds_up_only_what_depends_on_it),
        T(what_is_waited_for_may_be_over_in_any_order),
        T(branches_with_children_join),
        T(edges_hold_in_graphs_at_random),
        T(a_fault_beside_a_host_function),
        T(a_seed_orders_branches),
        T(a_launch_waits_for_another_stream),
    };
    return RUN(tests);
}
