/* Instances of graphs. */
#include "fuzz.h"

void keep_exec(object *o, cudaGraphExec_t made, object *graph, unsigned long long flags) {
    if (!made || made == UNWRITTEN)
        return;
    o->handle = made;
    o->graph = graph;
    o->number = graph->number;
    o->size = (size_t)flags;
}

static void instantiate(void) {
    object *o = empty(EXEC), *graph = any(GRAPH);
    cudaGraphExec_t made = UNWRITTEN;
    const unsigned long long flags = (unsigned long long)ONE_OF(0, 0, 0, 0, 1, 2, 8, 16);
    cudaError_t result;
    if (!o)
        return;
    if (one_in(3)) {
        cudaGraphInstantiateParams p;
        if (flags == cudaGraphInstantiateFlagUpload && any_capture())
            return; /* may crash CUDA */
        memset(&p, 0, sizeof p);
        p.flags = flags;
        p.result_out = (cudaGraphInstantiateResult)77;
        call("cudaGraphInstantiateWithParams(%s, %llu)", name(graph), flags);
        result = cudaGraphInstantiateWithParams(&made, graph->handle, &p);
        keep_exec(o, result ? NULL : made, graph, flags);
        answer(result, "%s %d", result ? handle_state(made) : name(o), (int)p.result_out);
    } else {
        call("cudaGraphInstantiate(%s, %llu)", name(graph), flags);
        result = cudaGraphInstantiate(&made, graph->handle, flags);
        keep_exec(o, result ? NULL : made, graph, flags);
        answer(result, "%s", result ? handle_state(made) : name(o));
    }
}

static void destroy_exec(void) {
    object *o = any(EXEC);
    if (!o->handle)
        return; /* NULL crashes CUDA */
    call("cudaGraphExecDestroy(%s)", name(o));
    void *handle = o->handle;
    o->handle = NULL;
    answer(cudaGraphExecDestroy(handle), "%s", "");
}

static void launch(void) {
    const object *o = any(EXEC);
    const chosen_stream s = any_stream();
    if (one_in(4)) {
        call("cudaGraphUpload(%s, %s)", name(o), s.name);
        answer(cudaGraphUpload(o->handle, s.handle), "%s", "");
    } else {
        call("cudaGraphLaunch(%s, %s)", name(o), s.name);
        answer(cudaGraphLaunch(o->handle, s.handle), "%s", "");
    }
    settle(s);
}

static void update(void) {
    const object *o = any(EXEC), *graph = any(GRAPH);
    cudaGraphExecUpdateResultInfo info;
    memset(&info, 0, sizeof info);
    info.result = (enum cudaGraphExecUpdateResult)77;
    call("cudaGraphExecUpdate(%s, %s)", name(o), name(graph));
    const cudaError_t result = cudaGraphExecUpdate(o->handle, graph->handle, &info);
    answer(result, "%d %s", (int)info.result, info.errorNode ? "node" : "NULL");
}

static void ask_exec(void) {
    const object *o = any(EXEC);
    unsigned long long flags = 77;
    call("cudaGraphExecGetFlags(%s)", name(o));
    const cudaError_t result = cudaGraphExecGetFlags(o->handle, &flags);
    answer(result, "%llu", flags);
}

/* Not the function of graph.c: a node of the graph shows which of the two it has. */
static void nothing(void *unused_data) {
    (void)unused_data;
}

/* Nodes of the graph that the instance was made from, while the graph is there. */
static void change_exec(void) {
    const object *o = any(EXEC);
    if (!o->handle || !o->graph->handle || o->graph->number != o->number)
        return;
    const chosen_node node = any_node(o->graph);
    unsigned enabled = 77;
    switch (below(5)) {
    case 0: {
        const unsigned wanted = (unsigned)ONE_OF(0, 1, 2);
        call("cudaGraphNodeSetEnabled(%s, %s, %u)", name(o), node.name, wanted);
        answer(cudaGraphNodeSetEnabled(o->handle, node.handle, wanted), "%s", "");
        break;
    }
    case 1: {
        call("cudaGraphNodeGetEnabled(%s, %s)", name(o), node.name);
        const cudaError_t result = cudaGraphNodeGetEnabled(o->handle, node.handle, &enabled);
        answer(result, "%u", enabled);
        break;
    }
    case 2: {
        const struct cudaHostNodeParams p = {nothing, NULL};
        call("cudaGraphExecHostNodeSetParams(%s, %s)", name(o), node.name);
        answer(cudaGraphExecHostNodeSetParams(o->handle, node.handle, &p), "%s", "");
        break;
    }
    case 3: {
        place to = any_target();
        const struct cudaMemsetParams p = {
            to.address, 256, 5, (unsigned)ONE_OF(1, 2, 4), 16, (size_t)ONE_OF(1, 1, 2)};
        call("cudaGraphExecMemsetNodeSetParams(%s, %s, {%s, %u, %zu})", name(o), node.name, to.name,
             p.elementSize, p.height);
        answer(cudaGraphExecMemsetNodeSetParams(o->handle, node.handle, &p), "%s", "");
        uses(&to, true, true);
        break;
    }
    default: {
        place to = any_target(), from = any_place();
        const size_t size = any_size(to.room < from.room ? to.room : from.room);
        if (size > to.room || size > from.room || to.object == from.object)
            return;
        call("cudaGraphExecMemcpyNodeSetParams1D(%s, %s, %s, %s, %zu)", name(o), node.name, to.name,
             from.name, size);
        answer(cudaGraphExecMemcpyNodeSetParams1D(o->handle, node.handle, to.address, from.address,
                                                  size, cudaMemcpyDefault),
               "%s", "");
        uses(&to, true, true);
        uses(&from, false, true);
    }
    }
}

const operation exec_operations[] = {
    OPERATION(instantiate, 14, true), OPERATION(destroy_exec, 3, false),
    OPERATION(launch, 14, false),     OPERATION(update, 6, false),
    OPERATION(ask_exec, 2, false),    OPERATION(change_exec, 12, false),
    OPERATION(NULL, 0, false),
};
