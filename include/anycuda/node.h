/*
 * Nodes: one step of a graph, which depends on other nodes.
 *
 * <anycuda/graph.h> adds nodes to a graph. Here are what a node is, what it can be asked for, and
 * how it is changed in its graph; <anycuda/exec.h> changes it in an executable graph.
 *
 * A node is a plain value: a graph and an id. It keeps nothing alive, and each use checks it: a
 * node that was destroyed is ACU_ERROR_HANDLE. So is one whose graph was released, as long as
 * acu_quarantine() keeps the dead graph; without that the use is undefined, as of any handle.
 */
#ifndef ACU_NODE_H
#define ACU_NODE_H

#include <anycuda/batch.h>
#include <anycuda/buffer.h>
#include <anycuda/external.h>
#include <anycuda/launch.h>

struct CUgraphNode_st;                /* what CUDA calls cudaGraphNode_t and CUgraphNode */
struct CUgraphDeviceUpdatableNode_st; /* what CUDA calls cudaGraphDeviceNode_t */
struct cudaGraphNodeParams;
struct cudaMemcpy3DParms;

ACU_BEGIN_C

/** Work and its order: <anycuda/graph.h>. */
typedef struct acu_graph acu_graph;

/** A node of a graph; all zero means no node. It keeps nothing alive. */
typedef struct acu_node {
    acu_graph *graph;
    uint64_t id;
} acu_node;

/** What is special about a dependency; all zero is the usual one. See cudaGraphEdgeData. */
typedef struct acu_edge {
    unsigned char from_port, to_port, type;
} acu_edge;

/** Types of nodes, by CUDA's numbers; CUDA may have others. */
typedef enum acu_node_type {
    ACU_NODE_KERNEL = 0,
    ACU_NODE_COPY = 1,
    ACU_NODE_FILL = 2,
    ACU_NODE_HOST = 3,
    ACU_NODE_CHILD = 4,
    ACU_NODE_EMPTY = 5,
    ACU_NODE_EVENT_WAIT = 6,
    ACU_NODE_EVENT_RECORD = 7,
    ACU_NODE_SEMAPHORE_SIGNAL = 8,
    ACU_NODE_SEMAPHORE_WAIT = 9,
    ACU_NODE_ALLOC = 10,
    ACU_NODE_FREE = 11,
    ACU_NODE_BATCH_MEM_OP = 12,
    ACU_NODE_CONDITIONAL = 13,
    ACU_NODE_COPY_BATCH = 14,       /* since CUDA 13.5 */
    ACU_NODE_EXTERNAL_ENGINE = 17,  /* of NVIDIA's libraries; since CUDA 13.5 */
    ACU_NODE_FABRIC_COPY_BATCH = 18 /* of the driver API; since CUDA 13.5 */
} acu_node_type;

/** What a fill node sets: the elements of a row, or, with a height, of several rows. */
typedef struct acu_fill {
    acu_buffer *buffer;
    acu_dtype dtype;     /* of the element, which has 1, 2 or 4 bytes, or equal bytes */
    const void *element; /* read at the call */
    size_t at;           /* the first element */
    size_t width;        /* elements in a row, at least 1; ACU_REST: all from `at` on, in one row */
    size_t height;       /* rows; 0: one */
    size_t pitch;        /* elements from the start of a row to the start of the next; 0: width, or
                            the pitch of a pitched buffer, if it is whole elements */
} acu_fill;

/** Finds the node of a raw handle, which must be one of the graph's. */
ACU_CHECKED acu_result acu_node_wrap(acu_graph *graph, struct CUgraphNode_st *raw, acu_node *node);

/**
 * Returns the cudaGraphNode_t, which is also a CUgraphNode; NULL where the handle is not a node.
 * The raw node stays its graph's.
 */
struct CUgraphNode_st *acu_node_raw(acu_node node);

/* ---- names ---- */

/**
 * Gives the node a name, for acu_graph_draw() and for people; NULL takes the name away.
 *
 * The text is copied. CUDA has no names: this one belongs to the node of this graph, and to that of
 * a clone that is made later. Errors: ACU_ERROR_HOST_MEMORY.
 */
ACU_CHECKED acu_result acu_node_set_name(acu_node node, const char *name);

/**
 * Asks for the name that acu_node_set_name() gave the node; NULL where it has none. The text stays
 * the graph's, until the node gets another name or the graph is destroyed.
 */
ACU_CHECKED acu_result acu_node_get_name(acu_node node, const char **name);

/** What acu_graph_profile() measured of a node; all in milliseconds. */
typedef struct acu_node_time {
    float milliseconds; /* the median of all replays */
    float least, most;
    float begin; /* of the node, since the replay began; the median, too */
} acu_node_time;

/**
 * Asks for what acu_graph_profile() measured last.
 *
 * Errors: ACU_ERROR_STATE where the graph was not profiled since it has this node.
 */
ACU_CHECKED acu_result acu_node_get_time(acu_node node, acu_node_time *time);

/**
 * Destroys a node with its dependencies, and the graph gives up what only that node used.
 *
 * What was captured, and what nodes in the node's own graphs use, stays the graph's.
 */
ACU_CHECKED acu_result acu_node_destroy(acu_node node);

/* ---- properties ---- */

/** Asks for the node's type. */
ACU_CHECKED acu_result acu_node_get_type(acu_node node, acu_node_type *type);

/** Finds the graph in a child node. The handle is borrowed: it is a part of the node's graph, and
 * lives as long as that. */
ACU_CHECKED acu_result acu_node_get_child(acu_node node, acu_graph **child);

/**
 * Finds the node that a clone has for a node of the original. Errors: 1 (cudaErrorInvalidValue)
 * where the clone has none.
 */
ACU_CHECKED acu_result acu_node_find_in_clone(acu_node node, acu_graph *clone, acu_node *copy);

/** Asks for CUDA's number of the node in its graph, as tools show it; since CUDA 13.1. */
ACU_CHECKED acu_result acu_node_get_local_id(acu_node node, unsigned *id);

/** Asks for CUDA's number of the node in the process, as tools show it; since CUDA 13.1. */
ACU_CHECKED acu_result acu_node_get_tools_id(acu_node node, uint64_t *id);

/** Lists the nodes that a node depends on; `count` as for acu_graph_get_nodes(). */
ACU_CHECKED acu_result acu_node_get_dependencies(acu_node node, acu_node *nodes, acu_edge *edges,
                                                 size_t *count);

/** Lists the nodes that depend on a node; `count` as for acu_graph_get_nodes(). */
ACU_CHECKED acu_result acu_node_get_dependent_nodes(acu_node node, acu_node *nodes, acu_edge *edges,
                                                    size_t *count);

/**
 * Asks for the node's parameters as CUDA has them; pointers in them are valid until the node
 * changes.
 *
 * `func` of a kernel that was loaded by the driver (acu_kernel_raw_driver()) is a CUfunction.
 * Errors: ACU_NOT_SUPPORTED where the node is a conditional one, before CUDA 13.2.
 */
ACU_CHECKED acu_result acu_node_get_params(acu_node node, struct cudaGraphNodeParams *params);

/**
 * Asks for the attribute of a kernel node that `attribute->id` names (priority, cluster, …), and
 * writes it to `attribute->val`.
 *
 * Errors: CUDA's own where the node is no kernel node, or kernel nodes have no such attribute.
 */
ACU_CHECKED acu_result acu_node_get_attribute(acu_node node,
                                              struct cudaLaunchAttribute_st *attribute);

/** Sets an attribute of a kernel node. Errors: those of acu_node_get_attribute(). */
ACU_CHECKED acu_result acu_node_set_attribute(acu_node node,
                                              const struct cudaLaunchAttribute_st *attribute);

/** Copies all attributes from one kernel node to another. */
ACU_CHECKED acu_result acu_node_copy_attributes(acu_node to, acu_node from);

/**
 * Lets kernels change what a kernel node does, from the device; since CUDA 12.4.
 *
 * `*handle` is the cudaGraphDeviceNode_t that those kernels take as an argument. CUDA allows less
 * with such a node from then on: it stays updatable and in its graph, its attributes cannot be
 * copied, and its graph can have one executable graph at a time, which acu_exec_update() cannot
 * change; nor can that graph be a child of another one. A launch uploads the executable graph
 * before, where it was not uploaded since the last change by the host, because CUDA demands that.
 * What a device changes is not known here: acu_graph_keep() lets the graph keep the memory that an
 * update may name. Errors: CUDA's own where the node is no kernel node.
 */
ACU_CHECKED acu_result acu_node_set_updatable(acu_node node,
                                              struct CUgraphDeviceUpdatableNode_st **handle);

/* ---- changes ----
 *
 * Each function replaces what a node does. Graphs that are instantiated afterwards do the new work;
 * those that were instantiated before stay as they are (<anycuda/exec.h> changes them). The node
 * must have the type that the function names. Errors are those of the acu_graph_add_…() of that
 * type.
 *
 * The graph keeps what the node uses now, and gives up what only the node used before. It does not
 * give up what was captured, nor does a clone give up what its original had.
 *
 * The graph in a child node is changed in place: acu_node_get_child(). CUDA cannot change memory
 * nodes and conditional nodes.
 */

/** Sets kernel, grid and arguments. Attributes that the grid does not name stay as they are. */
ACU_CHECKED acu_result acu_node_set_kernel(acu_node node, acu_kernel *kernel, const acu_grid *grid,
                                           const acu_arg *args, size_t arg_count);

/**
 * Sets kernel, grid and arguments as acu_launch() takes them:
 * `acu_node_set_launch(node, kernel, grid, arguments…)` calls acu_node_set_kernel().
 */
#if !defined(__cplusplus)
#define acu_node_set_launch(node, kernel, ...)                                                     \
    acu_node_set_kernel((node), (kernel), ACU_LAUNCH_GRID(__VA_ARGS__),                            \
                        ACU_LAUNCH_ARGS(__VA_ARGS__), ACU_COUNT(__VA_ARGS__) - 1)
#else
ACU_END_C
template <typename... Values>
ACU_CHECKED inline acu_result acu_node_set_launch(acu_node node, acu_kernel *kernel,
                                                  const acu_grid &grid, const Values &...values) {
    const acu_arg args[] = {acu_arg_of(values)..., acu_bytes(nullptr, 0)};
    return acu_node_set_kernel(node, kernel, &grid, args, sizeof...(values));
}
ACU_BEGIN_C
#endif
/** Sets what a copy node copies. */
ACU_CHECKED acu_result acu_node_set_copy(acu_node node, const acu_copy *copy);
/** Sets what a copy node copies, by CUDA's own parameters; the caller keeps the memory alive. */
ACU_CHECKED acu_result acu_node_set_memcpy(acu_node node, const struct cudaMemcpy3DParms *params);
/** Sets the copies of a node with many, as for acu_graph_add_copy_batch(). */
ACU_CHECKED acu_result acu_node_set_copy_batch(acu_node node, const acu_copy *copies, size_t count,
                                               const acu_copy_attributes *attributes,
                                               size_t attribute_count);
/** Sets what a fill node sets. */
ACU_CHECKED acu_result acu_node_set_fill(acu_node node, const acu_fill *fill);
/** Sets the host function, and takes its data over as acu_graph_add_host() does. */
ACU_CHECKED acu_result acu_node_set_host(acu_node node, acu_closure closure);
/** Sets the event that an event node records or waits for. */
ACU_CHECKED acu_result acu_node_set_event(acu_node node, acu_event *event);
/** Sets the semaphores to signal, as for acu_graph_add_semaphore_signal(). */
ACU_CHECKED acu_result acu_node_set_semaphore_signal(acu_node node,
                                                     const acu_semaphore_signal *signals,
                                                     size_t count);
/** Sets the semaphores to wait for, as for acu_graph_add_semaphore_wait(). */
ACU_CHECKED acu_result acu_node_set_semaphore_wait(acu_node node, const acu_semaphore_wait *waits,
                                                   size_t count);

/**
 * Sets CUDA's own parameters of a node; the caller keeps alive what they name.
 *
 * Before CUDA 12.2 only kernels, copies, fills, host functions, events and semaphores can be set.
 * Errors: ACU_NOT_SUPPORTED where the node is another one.
 */
ACU_CHECKED acu_result acu_node_set_params(acu_node node, struct cudaGraphNodeParams *params);

ACU_END_C

#endif
