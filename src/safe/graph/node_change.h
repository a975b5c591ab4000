/*
 * Changing what a node does: in its graph, for acu_node_set_…(), or in an executable graph, for
 * acu_exec_set_…(). Both public functions of a pair fill an acu_node_change, and call the same
 * function here. Each returns 0, or a failure recorded for the public function.
 */
#ifndef ACU_SRC_NODE_CHANGE_H
#define ACU_SRC_NODE_CHANGE_H

#include "safe/graph/exec.h"
#include "safe/graph/node.h"

#include <anycuda/value.h>

/* One change. The lock of all graphs, and the exec's, are held from the beginning to the end. */
typedef struct acu_node_change {
    const char *call;
    acu_exec *exec; /* NULL: the node is changed in its graph */
    bool in_exec;   /* also where `exec` is an invalid NULL */
    acu_node node;
    cudaGraphNode_t raw;
    acu_kept_list *list;  /* what the node keeps from now on; at the end, what it kept before */
    const acu_copy *copy; /* what the node copies from now on, for a hint; NULL if none */
    const char *takes;    /* which nodes the function takes, for a hint; NULL: of one type */
    acu_exec_previous *previous; /* in an exec: for what the node kept before */
    acu_guard guard;
} acu_node_change;

#define ACU_CHANGE_IN_GRAPH(c, node_) acu_node_change c = {.call = __func__, .node = (node_)}
#define ACU_CHANGE_IN_EXEC(c, exec_, node_)                                                        \
    acu_node_change c = {.call = __func__, .exec = (exec_), .in_exec = true, .node = (node_)}

int acu_node_change_kernel(acu_node_change *c, acu_kernel *kernel, const acu_grid *grid,
                           const acu_arg *args, size_t arg_count);
int acu_node_change_copy(acu_node_change *c, const acu_copy *copy);
int acu_node_change_copies(acu_node_change *c, const acu_copy *copies, size_t count,
                           const acu_copy_attributes *attributes, size_t attribute_count);
int acu_node_change_memcpy(acu_node_change *c, const struct cudaMemcpy3DParms *params);
int acu_node_change_fill(acu_node_change *c, const acu_fill *fill);
/* Takes the closure's data over in any case. */
int acu_node_change_host(acu_node_change *c, const acu_closure *closure);
/* Changes a child node, in an exec only: CUDA cannot replace a child graph in a graph. */
int acu_node_change_child(acu_node_change *c, acu_graph *child);
int acu_node_change_event(acu_node_change *c, acu_event *event);
int acu_node_change_signals(acu_node_change *c, const acu_semaphore_signal *signals, size_t count);
int acu_node_change_waits(acu_node_change *c, const acu_semaphore_wait *waits, size_t count);
int acu_node_change_values(acu_node_change *c, const acu_value_operation *operations, size_t count);
int acu_node_change_params(acu_node_change *c, struct cudaGraphNodeParams *params);

/* Sets, or else asks for, whether an exec's node is enabled. */
int acu_node_change_enabled(acu_node_change *c, bool set, unsigned *enabled);

#endif
