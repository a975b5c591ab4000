/* Graphs and their instances. */
#include "threads.h"

enum { LARGEST = 300, RECIPES = 4 };

graph *empty_graph(void) {
    for (graph *g = me->graphs; g < me->graphs + GRAPHS; g++)
        if (!g->handle)
            return g;
    return NULL;
}

static graph *any_graph(void) {
    const unsigned from = below(GRAPHS);
    for (unsigned i = 0; i < GRAPHS; i++)
        if (me->graphs[(from + i) % GRAPHS].handle)
            return &me->graphs[(from + i) % GRAPHS];
    return NULL;
}

static exec *any_exec(void) {
    const unsigned from = below(EXECS);
    for (unsigned i = 0; i < EXECS; i++)
        if (me->execs[(from + i) % EXECS].handle)
            return &me->execs[(from + i) % EXECS];
    return NULL;
}

static exec *empty_exec(void) {
    for (exec *x = me->execs; x < me->execs + EXECS; x++)
        if (!x->handle)
            return x;
    return NULL;
}

/* ---- graphs made of nodes ---- */

/* Takes the slot for a graph that the call is about to make. */
static void begin_graph(graph *g) {
    const char first = g->name[0], second = g->name[1];
    *g = (graph){.number = g->number + 1, .name = {first, second}};
}

static void create_graph(void) {
    graph *g = empty_graph();
    if (!g)
        return;
    begin_graph(g);
    (void)CALL(cudaGraphCreate(&g->handle, 0), "cudaGraphCreate(%s)", g->name);
}

typedef struct addition {
    graph *graph;
    node *made;
    unsigned to, from; /* memories, by index */
    cudaGraphNode_t after[3];
    size_t after_count;
} addition;

static void depend(addition *a, unsigned last) {
    const cudaGraphNode_t wanted = last ? a->graph->nodes[last - 1].handle : NULL;
    for (size_t i = 0; i < a->after_count; i++)
        if (a->after[i] == wanted)
            return;
    if (wanted)
        a->after[a->after_count++] = wanted;
}

static struct cudaMemsetParams fill_parameters(const memory *to) {
    return (struct cudaMemsetParams){.dst = to->at,
                                     .elementSize = 4,
                                     .value = value_below(1 << 20),
                                     .width = 1 + value_below(WORDS),
                                     .height = 1};
}

/* The arguments of the kernel live for as long as the call. */
typedef struct kernel_call {
    unsigned n, factor, summand, clocks;
    void *arguments[5];
    CUDA_KERNEL_NODE_PARAMS parameters;
} kernel_call;

static void make_kernel_call(kernel_call *made, memory *to) {
    made->n = 1 + value_below(WORDS);
    made->factor = 1 + 2 * value_below(1000);
    made->summand = value_below(1000);
    made->clocks = value_below(30000);
    made->arguments[0] = &to->at;
    made->arguments[1] = &made->n;
    made->arguments[2] = &made->factor;
    made->arguments[3] = &made->summand;
    made->arguments[4] = &made->clocks;
    made->parameters = (CUDA_KERNEL_NODE_PARAMS){.func = computing_function(),
                                                 .gridDimX = 1,
                                                 .gridDimY = 1,
                                                 .gridDimZ = 1,
                                                 .blockDimX = WORDS,
                                                 .blockDimY = 1,
                                                 .blockDimZ = 1,
                                                 .kernelParams = made->arguments};
}

static cudaError_t add_kernel(addition *a) {
    kernel_call it;
    make_kernel_call(&it, a->made->to);
    return CALL(cuGraphAddKernelNode(&a->made->handle, a->graph->handle, a->after, a->after_count,
                                     &it.parameters),
                "cuGraphAddKernelNode(%s, %zu, %s, %u, %u)", a->graph->name, a->after_count,
                a->made->to->name, it.n, it.factor);
}

static cudaError_t add_copy(addition *a) {
    const size_t size = 4 * (1 + value_below(WORDS));
    return CALL(cudaGraphAddMemcpyNode1D(&a->made->handle, a->graph->handle, a->after,
                                         a->after_count, a->made->to->at, a->made->from->at, size,
                                         cudaMemcpyDefault),
                "cudaGraphAddMemcpyNode1D(%s, %zu, %s, %s, %zu)", a->graph->name, a->after_count,
                a->made->to->name, a->made->from->name, size);
}

static cudaError_t add_fill(addition *a) {
    const struct cudaMemsetParams p = fill_parameters(a->made->to);
    return CALL(
        cudaGraphAddMemsetNode(&a->made->handle, a->graph->handle, a->after, a->after_count, &p),
        "cudaGraphAddMemsetNode(%s, %zu, %s, %u, %zu)", a->graph->name, a->after_count,
        a->made->to->name, p.value, p.width);
}

static cudaError_t add_host_call(addition *a) {
    const struct cudaHostNodeParams p = {run_host_call, new_host_call(a->made->to)};
    if (!p.userData)
        return cudaErrorMemoryAllocation;
    return CALL(
        cudaGraphAddHostNode(&a->made->handle, a->graph->handle, a->after, a->after_count, &p),
        "cudaGraphAddHostNode(%s, %zu, %s)", a->graph->name, a->after_count, a->made->to->name);
}

static cudaError_t add_of_kind(addition *a) {
    switch (a->made->kind) {
    case FILLS:
        return add_fill(a);
    case COPIES:
        return add_copy(a);
    case COMPUTES:
        return add_kernel(a);
    case CALLS:
        return add_host_call(a);
    default:
        return CALL(
            cudaGraphAddEmptyNode(&a->made->handle, a->graph->handle, a->after, a->after_count),
            "cudaGraphAddEmptyNode(%s, %zu)", a->graph->name, a->after_count);
    }
}

/* A node depends on those that used its memories last, and perhaps on another one. */
static void add_node(void) {
    static const int kinds[] = {FILLS, COPIES, COMPUTES, COMPUTES, CALLS, IS_EMPTY};
    addition a = {.graph = any_graph(), .to = below(BASES), .from = below(BASES)};
    const int kind = kinds[below(6)];
    if (!a.graph || a.graph->count == NODES || (kind == COPIES && a.to == a.from))
        return;
    if (a.graph->size > a.graph->count + 1 && a.graph->count == 0)
        return; /* captured: nobody knows which of its nodes use what */
    if (kind == CALLS)
        a.to = 3 + below(2);
    if (kind != COPIES)
        a.from = a.to;
    a.made = &a.graph->nodes[a.graph->count];
    *a.made = (node){.kind = kind, .to = &me->memories[a.to], .from = &me->memories[a.from]};
    depend(&a, a.graph->last[a.to]);
    depend(&a, a.graph->last[a.from]);
    depend(&a, a.graph->count ? below(a.graph->count + 1) : 0);
    if (add_of_kind(&a))
        return;
    a.graph->count++;
    a.graph->size++;
    a.graph->last[a.to] = a.graph->last[a.from] = a.graph->count;
    a.graph->uses |= kind == IS_EMPTY ? 0 : 1U << a.to | 1U << a.from;
}

static void add_nodes(void) {
    for (unsigned i = 1 + below(4); i > 0; i--)
        add_node();
}

/* A child takes every memory that the graph uses behind it. */
static void add_child(void) {
    graph *g = any_graph(), *child = any_graph();
    if (!g || g == child || child->allocates || g->count == NODES ||
        g->size + child->size > LARGEST || (g->size > g->count + 1 && g->count == 0))
        return;
    node *made = &g->nodes[g->count];
    cudaGraphNode_t after[NODES];
    for (unsigned i = 0; i < g->count; i++)
        after[i] = g->nodes[i].handle;
    *made = (node){.kind = IS_CHILD};
    if (CALL(cudaGraphAddChildGraphNode(&made->handle, g->handle, after, g->count, child->handle),
             "cudaGraphAddChildGraphNode(%s, %u, %s)", g->name, g->count, child->name))
        return;
    g->count++;
    g->size += child->size;
    g->uses |= child->uses;
    for (unsigned i = 0; i < BASES; i++)
        g->last[i] = g->count;
}

static void clone_graph(void) {
    graph *g = empty_graph();
    const graph *from = any_graph();
    if (!g || !from || from->allocates)
        return;
    begin_graph(g);
    g->uses = from->uses;
    g->size = from->size + 2; /* no nodes are known */
    (void)CALL(cudaGraphClone(&g->handle, from->handle), "cudaGraphClone(%s, %s)", g->name,
               from->name);
}

static void destroy_graph(void) {
    graph *g = any_graph();
    if (!g)
        return;
    const cudaGraph_t handle = g->handle;
    g->handle = NULL;
    (void)CALL(cudaGraphDestroy(handle), "cudaGraphDestroy(%s)", g->name);
}

/* ---- captures of one shape, whose numbers differ ---- */

static void capture_work(stream *origin) {
    for (unsigned i = below(3); i > 0; i--) {
        stream *joining = any_free_stream(), *from = any_captured_stream(OWN);
        if (joining && from)
            (void)fork_to(joining, from);
    }
    for (unsigned i = 2 + below(6); i > 0; i--) {
        stream *s = any_captured_stream(OWN);
        work(s ? s : origin);
    }
}

/* Captures by a recipe: each capture by the same one makes the same choices, unless the streams
 * changed. */
static void capture_by_recipe(void) {
    const uint64_t state = me->state, recipe = below(RECIPES);
    const int mode = ONE_OF(1, 1, 2);
    if (now.is_legacy || me->captures[OWN].origin || !empty_graph())
        return;
    me->state = recipe * 777 + me->index;
    stream *origin = any_free_stream();
    if (origin && !begin_capture(OWN, origin, mode)) {
        capture_work(origin);
        me->state = recipe;
        finish_capture();
    }
    me->state = state;
}

/* ---- instances ---- */

static void instantiate(void) {
    exec *x = empty_exec();
    const graph *g = any_graph();
    if (!x || !g)
        return;
    const unsigned long long flags = one_in(4) ? cudaGraphInstantiateFlagUseNodePriority : 0;
    x->uses = g->uses;
    x->size = g->size;
    x->allocates = g->allocates;
    x->from = g;
    x->number = g->number;
    if (CALL(cudaGraphInstantiate(&x->handle, g->handle, flags),
             "cudaGraphInstantiate(%s, %s, %llu)", x->name, g->name, flags))
        x->handle = NULL;
}

static void destroy_exec(void) {
    exec *x = any_exec();
    if (!x)
        return;
    const cudaGraphExec_t handle = x->handle;
    x->handle = NULL;
    (void)CALL(cudaGraphExecDestroy(handle), "cudaGraphExecDestroy(%s)", x->name);
}

static void launch_on(const exec *x, stream *s) {
    bring_all(x->uses, s);
    (void)CALL(cudaGraphLaunch(x->handle, s->handle), "cudaGraphLaunch(%s, %s)", x->name, s->name);
}

/* The first launch of what allocates may need new memory for the pool of graphs, which is unsafe.
 */
static void launch(void) {
    const exec *x = any_exec();
    stream *s = any_stream();
    if (!x || !s || (x->allocates && (is_forbidden() || is_endangered() || s->capture != NONE)))
        return;
    if (s->capture != NONE && !one_in(20))
        return; /* CUDA does not capture launches of graphs, and ends the capture */
    launch_on(x, s);
    if (s->capture == NONE && one_in(2))
        launch_on(x, s);
}

static void update(void) {
    exec *x = any_exec();
    const graph *g = any_graph();
    cudaGraphExecUpdateResultInfo info;
    memset(&info, 0, sizeof info);
    info.result = (enum cudaGraphExecUpdateResult)77;
    if (!x || !g)
        return;
    x->uses |= g->uses;
    (void)CALL(cudaGraphExecUpdate(x->handle, g->handle, &info), "cudaGraphExecUpdate(%s, %s)",
               x->name, g->name);
    wrote(" %d", (int)info.result);
}

static void change_kernel(const exec *x, const node *n) {
    kernel_call it;
    make_kernel_call(&it, n->to);
    (void)CALL(cuGraphExecKernelNodeSetParams(x->handle, n->handle, &it.parameters),
               "cuGraphExecKernelNodeSetParams(%s, %s, %u, %u)", x->name, n->to->name, it.n,
               it.factor);
}

static void change_fill(const exec *x, const node *n) {
    const struct cudaMemsetParams p = fill_parameters(n->to);
    (void)CALL(cudaGraphExecMemsetNodeSetParams(x->handle, n->handle, &p),
               "cudaGraphExecMemsetNodeSetParams(%s, %s, %u, %zu)", x->name, n->to->name, p.value,
               p.width);
}

static void change_copy(const exec *x, const node *n) {
    const size_t size = 4 * (1 + value_below(WORDS));
    (void)CALL(cudaGraphExecMemcpyNodeSetParams1D(x->handle, n->handle, n->to->at, n->from->at,
                                                  size, cudaMemcpyDefault),
               "cudaGraphExecMemcpyNodeSetParams1D(%s, %s, %s, %zu)", x->name, n->to->name,
               n->from->name, size);
}

static void change_host_call(const exec *x, const node *n) {
    const struct cudaHostNodeParams p = {run_host_call, new_host_call(n->to)};
    if (p.userData)
        (void)CALL(cudaGraphExecHostNodeSetParams(x->handle, n->handle, &p),
                   "cudaGraphExecHostNodeSetParams(%s, %s)", x->name, n->to->name);
}

/* Only while the graph is there that the instance was made from. */
static void change(void) {
    const exec *x = any_exec();
    if (!x || !x->from->handle || x->from->number != x->number || !x->from->count)
        return;
    const node *n = &x->from->nodes[below(x->from->count)];
    if (n->kind == FILLS)
        change_fill(x, n);
    else if (n->kind == COPIES)
        change_copy(x, n);
    else if (n->kind == COMPUTES)
        change_kernel(x, n);
    else if (n->kind == CALLS)
        change_host_call(x, n);
}

const operation graph_operations[] = {
    OPERATION(create_graph, 3, SAFE),   OPERATION(add_nodes, 10, SAFE),
    OPERATION(add_child, 8, SAFE),      OPERATION(clone_graph, 2, SAFE),
    OPERATION(destroy_graph, 6, SAFE),  OPERATION(capture_by_recipe, 8, SAFE),
    OPERATION(instantiate, 14, UNSAFE), OPERATION(destroy_exec, 5, UNSAFE),
    OPERATION(launch, 22, SAFE),        OPERATION(update, 12, SAFE),
    OPERATION(change, 8, SAFE),         OPERATION(NULL, 0, SAFE),
};
