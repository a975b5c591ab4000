/* Printing graphs in Graphviz's language. */
#include "sim/code/kernel_launch.h"
#include "sim/graph/graph.h"
#include "sim/graph/node.h"
#include "sim/stream/op.h"

#include <stdio.h>

static const char *type_name(enum cudaGraphNodeType type) {
    switch ((int)type) {
    case cudaGraphNodeTypeKernel:
        return "KERNEL";
    case cudaGraphNodeTypeMemcpy:
        return "MEMCPY";
    case cudaGraphNodeTypeMemset:
        return "MEMSET";
    case cudaGraphNodeTypeMemcpyBatch:
        return "MEMCPY_BATCH";
    case cudaGraphNodeTypeHost:
        return "HOST";
    case cudaGraphNodeTypeGraph:
        return "CHILD_GRAPH";
    case cudaGraphNodeTypeWaitEvent:
        return "EVENT_WAIT";
    case cudaGraphNodeTypeEventRecord:
        return "EVENT_RECORD";
    case cudaGraphNodeTypeExtSemaphoreSignal:
        return "EXT_SEMAS_SIGNAL";
    case cudaGraphNodeTypeExtSemaphoreWait:
        return "EXT_SEMAS_WAIT";
    case cudaGraphNodeTypeMemAlloc:
        return "MEM_ALLOC";
    case cudaGraphNodeTypeMemFree:
        return "MEM_FREE";
    case SIM_NODE_VALUES:
        return "BATCH_MEM_OP";
    case cudaGraphNodeTypeConditional:
        return "CONDITIONAL";
    default:
        return "EMPTY";
    }
}

/* Returns whether the program asked for something, or for everything. */
static bool has_flag(unsigned flags, unsigned flag) {
    return (flags & (flag | cudaGraphDebugDotFlagsVerbose)) != 0;
}

static void print_copy(FILE *file, const struct cudaMemcpy3DParms *copy) {
    static const char *const kinds[] = {"HtoH", "HtoD", "DtoH", "DtoD", "Default"};
    fprintf(file, "\\n%s", kinds[copy->kind]);
}

static void print_copy_params(FILE *file, const struct cudaMemcpy3DParms *copy) {
    fprintf(file, "\\nfrom %p to %p\\n%zu x %zu x %zu bytes", copy->srcPtr.ptr, copy->dstPtr.ptr,
            copy->extent.width, copy->extent.height, copy->extent.depth);
}

static void print_fill_params(FILE *file, const struct cudaMemsetParams *fill) {
    fprintf(file, "\\n%p = %u\\n%zu x %zu of %u bytes", fill->dst, fill->value, fill->width,
            fill->height, fill->elementSize);
}

static void print_kernel_params(FILE *file, const acu_sim_kernel_launch *p) {
    fprintf(file, "\\n\\<\\<\\<%u %u %u, %u %u %u, %zu\\>\\>\\>", p->grid[0], p->grid[1],
            p->grid[2], p->block[0], p->block[1], p->block[2], p->shared);
}

static void print_label(FILE *file, const acu_sim_node *node, unsigned flags) {
    const acu_sim_op *op = node->op;
    fprintf(file, "%u\\n%s", node->id, type_name(op->type));
    if (op->type == cudaGraphNodeTypeKernel)
        fprintf(file, "\\n%s", acu_sim_kernel_launch_name(op->with.launch));
    if (op->type == cudaGraphNodeTypeKernel &&
        has_flag(flags, cudaGraphDebugDotFlagsKernelNodeParams))
        print_kernel_params(file, op->with.launch);
    if (op->type == cudaGraphNodeTypeMemcpy)
        print_copy(file, &op->with.copy.params);
    if (op->type == cudaGraphNodeTypeMemcpy &&
        has_flag(flags, cudaGraphDebugDotFlagsMemcpyNodeParams))
        print_copy_params(file, &op->with.copy.params);
    if (op->type == cudaGraphNodeTypeMemset &&
        has_flag(flags, cudaGraphDebugDotFlagsMemsetNodeParams))
        print_fill_params(file, &op->with.fill.params);
    if (has_flag(flags, cudaGraphDebugDotFlagsHandles))
        fprintf(file, "\\n%p", (const void *)node);
}

static void print_graph(FILE *file, const acu_sim_graph *graph, unsigned flags) {
    fprintf(file, "subgraph cluster_%u {\nlabel=\"graph_%u\" graph[style=\"dashed\"];\n", graph->id,
            graph->id);
    for (size_t i = 0; i < graph->size; i++) {
        const acu_sim_node *node = graph->nodes[i];
        if (!node)
            continue;
        fprintf(file, "\"graph_%u_node_%u\"[shape=\"%s\" label=\"", graph->id, node->id,
                node->op->type == cudaGraphNodeTypeKernel ? "octagon" : "rectangle");
        print_label(file, node, flags);
        fprintf(file, "\"];\n");
        for (unsigned j = 0; j < node->body_count; j++)
            print_graph(file, node->bodies[j], flags);
        for (size_t j = 0; j < node->after.count; j++)
            fprintf(file, "\"graph_%u_node_%u\" -> \"graph_%u_node_%u\";\n", graph->id, node->id,
                    graph->id, ((const acu_sim_node *)(const void *)node->after.nodes[j])->id);
    }
    fprintf(file, "}\n");
}

static cudaError_t print(const acu_sim_graph *graph, const char *path, unsigned flags) {
    FILE *file = fopen(path, "w");
    if (!file)
        return cudaErrorOperatingSystem;
    fprintf(file, "digraph dot {\n");
    print_graph(file, graph, flags);
    fprintf(file, "}\n");
    bool good = !ferror(file);
    return fclose(file) == 0 && good ? cudaSuccess : cudaErrorOperatingSystem;
}

cudaError_t acu_sim_cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path,
                                           unsigned int flags) {
    const acu_sim_graph *g = acu_sim_graph_of(graph);
    return g && path ? print(g, path, flags) : cudaErrorInvalidValue;
}
