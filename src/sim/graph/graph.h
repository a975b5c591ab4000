/*
 * Graphs, their nodes, and what is instantiated from them.
 *
 * A node says what it does by an operation, which clones and instances share: to change a node is
 * to give it another one. An instance has a copy of its graph, whose nodes have the same ids; what
 * of it is launched is a plan, in an order that respects the edges, which is made when it is needed
 * and never changed, so that a launch under way does not see what is done to its instance.
 */
#ifndef ACU_SIM_GRAPH_H
#define ACU_SIM_GRAPH_H

#include "sim/sim.h"

typedef struct acu_sim_exec acu_sim_exec;
typedef struct acu_sim_plan acu_sim_plan;

/* A type that only the driver has a name for: CU_GRAPH_NODE_TYPE_BATCH_MEM_OP. */
#define SIM_NODE_VALUES 12

struct acu_sim_node {
    acu_sim_graph *graph;
    unsigned id; /* its place in the graph; the same in copies */
    unsigned long long tools_id;
    acu_sim_op *op;
    bool disabled; /* of an instance */
    acu_sim_links before, after;
    acu_sim_graph **bodies; /* its own: of a child graph node one */
    unsigned body_count;
    uint64_t mark; /* scratch of walks */
    size_t degree;
    acu_sim_node *pair; /* the node of another graph that it becomes like */
};

/* A value that conditional nodes look at. */
typedef struct acu_sim_condition {
    cudaGraphConditionalHandle handle;
    unsigned start, value; /* value: an instance's */
    bool assigned;         /* the start is the value at each launch */
    bool used;             /* by a node */
} acu_sim_condition;

/* References to a user object. */
typedef struct acu_sim_keep {
    acu_sim_user_object *object;
    uint64_t count;
} acu_sim_keep;

struct acu_sim_graph {
    acu_sim_device *device;
    unsigned id, source;  /* source: the id of the graph that it is a copy of, 0: of none */
    acu_sim_node **nodes; /* by id; NULL where one was destroyed */
    size_t size, room, count, copied;
    size_t memory_count, body_count; /* nodes that allocate or free; that have graphs */
    acu_sim_node
        *parent_node;  /* the node that it is in; NULL: it is the program's, or an instance's */
    bool moved;        /* into that node, from the program */
    bool instanced;    /* an instance's: handles never mean it, nor what is in it */
    unsigned captures; /* under way, into it and its parts: it is not freed meanwhile */
    bool doomed;       /* a capture into it failed: it is freed when none is under way */
    acu_sim_condition *conditions; /* of the graph that has no owner */
    size_t condition_count;
    acu_sim_keep *keeps;
    size_t keep_count;
    const void *where; /* NULL: not the program's to destroy */
    acu_sim_graph *next, *previous;
};

/* What a launch does at once, or, for a conditional node, its graphs' plans. */
typedef struct acu_sim_step {
    acu_sim_op *op;
    acu_sim_plan **bodies;
    unsigned body_count;
    unsigned mark; /* its number among those that have one */
    bool idle;     /* it only orders */
} acu_sim_step;

struct acu_sim_plan {
    unsigned refs; /* the instance's, and those of launches under way */
    size_t count, room, memory;
    size_t marks; /* steps that record or wait for an event, or call the host */
    bool calls;
    bool values;         /* some wait for values in memory, or write them */
    acu_sim_step *steps; /* each behind those that it depends on */
    /* NULL, or how many each waits for, and who for it: next[first[i]] up to next[first[i + 1]]. */
    unsigned *degrees, *first, *next;
};

/* ---- graphs -------------------------------------------------------------------------------------
 */

/* NULL if there is none. */
acu_sim_graph *acu_sim_graph_of(cudaGraph_t handle);
cudaGraph_t acu_sim_graph_handle(acu_sim_graph *graph);
/* An empty one, nobody's yet; NULL without memory, like its copies. */
acu_sim_graph *acu_sim_graph_new(acu_sim_device *device);
acu_sim_graph *acu_sim_graph_copy(const acu_sim_graph *graph);
void acu_sim_graph_free(acu_sim_graph *graph);
/* From now on, no longer, the program's. */
void acu_sim_graph_publish(acu_sim_graph *graph, const void *where);
void acu_sim_graph_withdraw(acu_sim_graph *graph);
/* The graph in whose nodes it is, or itself. */
acu_sim_graph *acu_sim_graph_root(acu_sim_graph *graph);

/* ---- edges --------------------------------------------------------------------------------------
 */

bool acu_sim_links_add(acu_sim_links *links, cudaGraphNode_t node, cudaGraphEdgeData data);
/* Those that are not in it yet. `data` may be NULL: plain edges. */
bool acu_sim_links_merge(acu_sim_links *links, const cudaGraphNode_t *nodes,
                         const cudaGraphEdgeData *data, size_t count);
/* Its index, or the count. */
size_t acu_sim_links_find(const acu_sim_links *links, cudaGraphNode_t node, cudaGraphEdgeData data);
/* What is said of the edges with that index is not the same. */
bool acu_sim_links_differ(const acu_sim_links *a, const acu_sim_links *b, size_t i);
void acu_sim_links_clear(acu_sim_links *links);
bool acu_sim_link(acu_sim_node *from, acu_sim_node *to, cudaGraphEdgeData data);
void acu_sim_unlink_all(acu_sim_node *node);
bool acu_sim_edge_is_plain(cudaGraphEdgeData data);
/* `to` may be NULL: not known yet. */
cudaError_t acu_sim_edge_judge(const acu_sim_node *from, const acu_sim_node *to,
                               cudaGraphEdgeData data);
/* All nodes of the graph, each behind those that it depends on; NULL without memory. `odd`: if
 * there is a circle, one behind or in it, and not all are listed. */
acu_sim_node **acu_sim_graph_order(acu_sim_graph *graph, acu_sim_node **odd);

/* ---- nodes --------------------------------------------------------------------------------------
 */

acu_sim_node *acu_sim_node_of(cudaGraphNode_t handle);
cudaGraphNode_t acu_sim_node_handle(acu_sim_node *node);
/* Takes the operation; NULL without memory. */
acu_sim_node *acu_sim_node_new(acu_sim_graph *graph, acu_sim_op *op);
/* Leaves the place of a node empty. */
bool acu_sim_graph_skip(acu_sim_graph *graph);
void acu_sim_node_free(acu_sim_node *node);
/* Gives it a graph of its own. */
bool acu_sim_node_embed(acu_sim_node *node, acu_sim_graph *body);
/* What no node is marked with yet. */
uint64_t acu_sim_new_mark(void);
/* They are nodes of the graph, none twice. */
cudaError_t acu_sim_nodes_judge(const acu_sim_graph *graph, const cudaGraphNode_t *nodes,
                                const cudaGraphEdgeData *data, size_t count);

/* Whole calls. `type`: what the node must be. */
cudaError_t acu_sim_node_add(cudaGraphNode_t *node, cudaGraph_t graph,
                             const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *data,
                             size_t count, struct cudaGraphNodeParams *params);
cudaError_t acu_sim_node_get(cudaGraphNode_t node, enum cudaGraphNodeType type,
                             struct cudaGraphNodeParams *params);
cudaError_t acu_sim_node_put(cudaGraphNode_t node, const struct cudaGraphNodeParams *params);
cudaError_t acu_sim_exec_put(cudaGraphExec_t exec, cudaGraphNode_t node,
                             const struct cudaGraphNodeParams *params);
/* Inside of a call: other work for the node. */
cudaError_t acu_sim_node_make(const acu_sim_node *node, const struct cudaGraphNodeParams *params,
                              acu_sim_op **op);

void acu_sim_node_describe(const acu_sim_node *node, struct cudaGraphNodeParams *params);
/* Whether an instance's node can do that instead. */
enum cudaGraphExecUpdateResult acu_sim_change_judge(const acu_sim_op *from, const acu_sim_op *to);
/* Takes over what a node that was captured again does, if it is like the old one and the program
 * has nothing against it. */
bool acu_sim_recapture(acu_sim_node *old, acu_sim_node *made,
                       const struct cudaGraphRecaptureCallbackData *asked);

/* Kernels' part of it. `old`: what the node did before; may be NULL. */
cudaError_t acu_sim_kernel_op(const struct cudaKernelNodeParamsV2 *params, const acu_sim_op *old,
                              acu_sim_op **op);
/* What a launch says that is captured: its priority, and how it follows the kernels before it. */
cudaError_t acu_sim_kernel_captured(acu_sim_node *node, int priority);
cudaGraphEdgeData acu_sim_kernel_edge(const acu_sim_node *from, const acu_sim_op *to);
void acu_sim_kernel_describe(const acu_sim_op *op, struct cudaKernelNodeParamsV2 *params);

/* What signals semaphores of other APIs, or waits for them. */
cudaError_t acu_sim_semaphores_op(const struct cudaGraphNodeParams *params, acu_sim_op **op);
void acu_sim_semaphores_describe(const acu_sim_op *op, struct cudaGraphNodeParams *params);
unsigned acu_sim_semaphores_count(const acu_sim_op *op);
/* A graph's wait begins: `mark` is done when it is over, perhaps at once. */
void acu_sim_semaphores_await(acu_sim_op *wait, acu_sim_op *mark);

/* Copies in one node. */
cudaError_t acu_sim_batch_op(const struct cudaMemcpyBatchNodeParams *params, acu_sim_op **op);
void acu_sim_batch_describe(const acu_sim_op *op, struct cudaMemcpyBatchNodeParams *params);
/* An instance's node can do the other instead. */
bool acu_sim_batch_fits(const acu_sim_op *from, const acu_sim_op *to);

/* Values in memory that a node waits for, and writes, in its order; each is an operation. The
 * driver's parameters are where the runtime's union is. */
cudaError_t acu_sim_values_op(const struct cudaGraphNodeParams *params, acu_sim_op **op);
void acu_sim_values_describe(const acu_sim_op *op, struct cudaGraphNodeParams *params);
acu_sim_op *const *acu_sim_values_each(const acu_sim_op *op, unsigned *count);
bool acu_sim_values_wait(const acu_sim_op *op);
/* All their memory is there, so that the launch may begin. */
bool acu_sim_values_have_places(const acu_sim_plan *plan);
/* An instance's node can do the other instead; it is the same. */
bool acu_sim_values_fit(const acu_sim_op *from, const acu_sim_op *to);
bool acu_sim_values_are(const acu_sim_op *a, const acu_sim_op *b);

/* ---- conditional nodes --------------------------------------------------------------------------
 */

/* NULL if the graph has no such handle. */
acu_sim_condition *acu_sim_condition_of(const acu_sim_graph *root,
                                        cudaGraphConditionalHandle handle);
bool acu_sim_conditions_copy(acu_sim_graph *to, const acu_sim_graph *from);
cudaError_t acu_sim_conditional_op(const struct cudaConditionalNodeParams *params,
                                   acu_sim_graph *graph, acu_sim_op **op);
/* Makes the node's graphs, and says where they are. */
cudaError_t acu_sim_conditional_embed(acu_sim_node *node, struct cudaConditionalNodeParams *params);
void acu_sim_conditional_describe(const acu_sim_node *node,
                                  struct cudaConditionalNodeParams *params);
/* What can be instantiated: a node in a conditional one's graphs, a conditional one. */
bool acu_sim_conditional_takes(const acu_sim_node *node);
bool acu_sim_graph_has_conditions(const acu_sim_graph *graph);
/* A launch begins. */
void acu_sim_conditions_start(const acu_sim_graph *root);
unsigned acu_sim_condition_value(const acu_sim_graph *root, cudaGraphConditionalHandle handle);

/* ---- user objects -------------------------------------------------------------------------------
 */

bool acu_sim_keeps_copy(acu_sim_graph *to, const acu_sim_graph *from);
void acu_sim_keeps_clear(acu_sim_graph *graph);

/* ---- memory -------------------------------------------------------------------------------------
 */

bool acu_sim_is_memory(const acu_sim_op *op);
struct cudaMemAllocNodeParams acu_sim_allocation_params(const acu_sim_op *op);
/* What was the one graph's is the other's. */
void acu_sim_allocations_move(const acu_sim_graph *from, const acu_sim_graph *to);
/* What a launch does to the program's memory from the call on; or why it cannot be. */
cudaError_t acu_sim_launch_memory(const acu_sim_step *steps, size_t count, bool auto_free);
/* Allocates or frees, or something in its nodes does. */
bool acu_sim_graph_has_memory(const acu_sim_graph *graph);

/* ---- instances ----------------------------------------------------------------------------------
 */

struct acu_sim_exec {
    unsigned refs; /* the program's, and those of launches under way */
    unsigned id;
    unsigned long long flags;
    acu_sim_graph *graph; /* its own; `source` is the graph that it was made from */
    acu_sim_plan *plan;   /* NULL: it was changed since */
    acu_sim_op *last;     /* the newest launch */
    const void *where;
    acu_sim_exec *next, *previous;
};

/* NULL if there is none. */
acu_sim_exec *acu_sim_exec_of(cudaGraphExec_t handle);
/* The instance's own node for one of the graph that it was made from; NULL if there is none. */
acu_sim_node *acu_sim_exec_node(acu_sim_exec *exec, cudaGraphNode_t handle);
/* It was changed: the next launch makes a new plan. */
void acu_sim_exec_touch(acu_sim_exec *exec);
/* Its own; NULL without memory. */
acu_sim_plan *acu_sim_exec_plan(acu_sim_exec *exec);
void acu_sim_exec_release(acu_sim_exec *exec);
/* Makes an instance's graph, or one in its nodes, do what another of the same shape does. */
cudaError_t acu_sim_graph_update(acu_sim_graph *mine, acu_sim_graph *other);

/* ---- launches -----------------------------------------------------------------------------------
 */

/* NULL without memory. */
acu_sim_plan *acu_sim_plan_new(acu_sim_graph *graph);
void acu_sim_plan_release(acu_sim_plan *plan);
bool acu_sim_has_mark(const acu_sim_op *op);
/* Launches it. */
cudaError_t acu_sim_fly(acu_sim_exec *exec, acu_sim_stream *stream);

#endif
