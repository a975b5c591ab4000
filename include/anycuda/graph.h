/*
 * Graphs: work that is described once and launched many times.
 *
 * A graph is captured from streams (<anycuda/capture.h>) or built from nodes (here), and becomes
 * executable by acu_graph_instantiate() (<anycuda/exec.h>). It owns what its nodes use: memory,
 * kernels, events, closures live as long as the graph, its clones, the graphs it was added to, and
 * what was instantiated from them, and until the last launch has ended. What only raw handles or
 * addresses name is the caller's to keep.
 *
 * Nodes are plain values: a graph and a number. They are checked at each use: one of a released
 * graph, or one that was destroyed, is ACU_ERROR_HANDLE.
 *
 * CUDA's graphs must not be used by two threads at once, nor a clone and its original; these have a
 * lock for all, so they may. Callbacks of a graph run on threads of CUDA and must not call it.
 */
#ifndef ACU_GRAPH_H
#define ACU_GRAPH_H

#include <anycuda/buffer.h>
#include <anycuda/launch.h>

struct CUgraph_st;     /* what CUDA calls cudaGraph_t and CUgraph */
struct CUgraphNode_st; /* cudaGraphNode_t and CUgraphNode */
struct cudaGraphNodeParams;
struct cudaMemcpy3DParms;
struct cudaExternalSemaphoreSignalNodeParams;
struct cudaExternalSemaphoreWaitNodeParams;

ACU_BEGIN_C

/** Work and its order, to be launched as a whole. */
typedef struct acu_graph acu_graph;

/** A node of a graph; all zero is none. It keeps nothing alive. */
typedef struct acu_node {
    acu_graph *graph;
    uint64_t id;
} acu_node;

/** Makes a graph without nodes; the caller owns it and releases it with acu_graph_release(). */
ACU_CHECKED acu_result acu_graph_create(acu_graph **graph);

/**
 * A handle for a graph of someone else, which must live as long and is not destroyed with it.
 *
 * What its nodes use is not known, and not kept alive.
 */
ACU_CHECKED acu_result acu_graph_wrap(struct CUgraph_st *raw, acu_graph **graph);

/** Like acu_graph_wrap(), but takes the raw graph over. */
ACU_CHECKED acu_result acu_graph_adopt(struct CUgraph_st *raw, acu_graph **graph);

/** The cudaGraph_t, which is a CUgraph, too; it stays the handle's. NULL if it is no graph. */
struct CUgraph_st *acu_graph_raw(const acu_graph *graph);

/** One more owner; returns the graph, NULL if it is none. A part of a graph counts for the whole.
 */
acu_graph *acu_graph_retain(acu_graph *graph);

/** One owner less; the last one destroys the graph with its parts. As acu_stream_release(). */
acu_result acu_graph_release(acu_graph *graph);

void acu_graph_cleanup(acu_graph **graph);

/**
 * Makes a copy, which owns what the graph owns; the caller owns it.
 *
 * ACU_ERROR_CAPTURE while the graph is being captured into.
 */
ACU_CHECKED acu_result acu_graph_clone(acu_graph *graph, acu_graph **clone);

/** The node of a clone that was made of a node; 1 (cudaErrorInvalidValue) if there is none. */
ACU_CHECKED acu_result acu_node_find_in_clone(acu_node node, acu_graph *clone, acu_node *copy);

/** Lets the graph own a buffer that only raw parameters name, and treats each launch as its use. */
ACU_CHECKED acu_result acu_graph_keep(acu_graph *graph, acu_buffer *buffer, bool writes);

/** Lets the graph own data: `destroy` runs once, when nothing needs the graph any more. `call` is
 * not used. */
ACU_CHECKED acu_result acu_graph_keep_data(acu_graph *graph, acu_closure closure);

/* ---- nodes ----
 *
 * Each is added to a graph behind the `after_count` nodes `after` that it depends on, of the same
 * graph; `node` may be NULL. Errors of all: ACU_ERROR_ARGUMENT, ACU_ERROR_HANDLE,
 * ACU_ERROR_HOST_MEMORY, CUDA's own; ACU_NOT_SUPPORTED, with the version that has it, where the
 * runtime lacks the kind of node.
 */

/** A node that does nothing but come after others. */
ACU_CHECKED acu_result acu_graph_add_empty(acu_graph *graph, const acu_node *after,
                                           size_t after_count, acu_node *node);

/** A kernel's launch; all is checked as acu_launch_args() does, with its errors. */
ACU_CHECKED acu_result acu_graph_add_kernel(acu_graph *graph, const acu_node *after,
                                            size_t after_count, acu_kernel *kernel,
                                            const acu_grid *grid, const acu_arg *args,
                                            size_t arg_count, acu_node *node);

/** Elements that a node copies: from one buffer to another, either of which may be the host's
 * (pinned or registered). */
typedef struct acu_copy {
    acu_buffer *to, *from;
    size_t to_at, from_at;
    size_t count; /* 0: as many as the source has from there on */
} acu_copy;

/**
 * A copy between buffers; ACU_ERROR_DTYPE, ACU_ERROR_RANGE as acu_buffer_copy_range().
 *
 * From one device to another the destination's must be able to access the source, which needs
 * acu_pool_set_access() on the source's pool, or acu_device_enable_peer_access() for memory of no
 * pool: unlike acu_buffer_copy(), a node cannot name devices, and CUDA refuses it with 1.
 */
ACU_CHECKED acu_result acu_graph_add_copy(acu_graph *graph, const acu_node *after,
                                          size_t after_count, const acu_copy *copy, acu_node *node);

/**
 * A copy of `count` elements from the host: what is there now, which the graph keeps, so that
 * `host` may change. ACU_ERROR_DTYPE, ACU_ERROR_RANGE as acu_buffer_write_typed().
 */
ACU_CHECKED acu_result acu_graph_add_write(acu_graph *graph, const acu_node *after,
                                           size_t after_count, acu_buffer *buffer, size_t at,
                                           acu_dtype dtype, const void *host, size_t count,
                                           acu_node *node);

/** Any copy that CUDA knows, 3D and arrays; the memory is the caller's to keep. */
ACU_CHECKED acu_result acu_graph_add_memcpy(acu_graph *graph, const acu_node *after,
                                            size_t after_count,
                                            const struct cudaMemcpy3DParms *params, acu_node *node);

/** Elements that a node sets; rows of them where height is not 0. */
typedef struct acu_fill {
    acu_buffer *buffer;
    acu_dtype dtype;     /* of the element: of 1, 2 or 4 bytes, or of equal bytes */
    const void *element; /* read at the call */
    size_t at;           /* the first element */
    size_t width;        /* elements in a row; 0: all from the first on, in one row */
    size_t height;       /* rows; 0: one */
    size_t pitch;        /* elements from a row to the next; 0: as the width */
} acu_fill;

/** A fill; ACU_ERROR_DTYPE, ACU_ERROR_RANGE if the elements do not fit the buffer. */
ACU_CHECKED acu_result acu_graph_add_fill(acu_graph *graph, const acu_node *after,
                                          size_t after_count, const acu_fill *fill, acu_node *node);

/**
 * A call of a function of the host, on a thread of CUDA.
 *
 * The graph takes the data over in any case: `destroy` runs exactly once, when nothing needs the
 * node any more, or at once if this call fails. Neither may call CUDA.
 */
ACU_CHECKED acu_result acu_graph_add_host(acu_graph *graph, const acu_node *after,
                                          size_t after_count, acu_closure closure, acu_node *node);

/** A copy of another graph as one node. */
ACU_CHECKED acu_result acu_graph_add_child(acu_graph *graph, const acu_node *after,
                                           size_t after_count, acu_graph *child, acu_node *node);

/** Records an event. */
ACU_CHECKED acu_result acu_graph_add_event_record(acu_graph *graph, const acu_node *after,
                                                  size_t after_count, acu_event *event,
                                                  acu_node *node);

/** Waits for an event. */
ACU_CHECKED acu_result acu_graph_add_event_wait(acu_graph *graph, const acu_node *after,
                                                size_t after_count, acu_event *event,
                                                acu_node *node);

/**
 * Allocates memory of a device, at one address for all launches.
 *
 * `buffer` is for later nodes, and for streams that come after a launch: to use it on a stream
 * before one has allocated it is an illegal address (700). It is not freed with its handle but by
 * acu_graph_add_free(), acu_graph_memory_free(), or at the next launch (ACU_EXEC_AUTO_FREE).
 * Errors also: ACU_ERROR_OVERFLOW, ACU_ERROR_DTYPE.
 */
ACU_CHECKED acu_result acu_graph_add_alloc(acu_graph *graph, const acu_node *after,
                                           size_t after_count, acu_device device, acu_dtype dtype,
                                           size_t count, acu_buffer **buffer, acu_node *node);

/** Frees what acu_graph_add_alloc(), of this graph or one launched before, allocated;
 * ACU_ERROR_MEMORY_KIND of other memory. */
ACU_CHECKED acu_result acu_graph_add_free(acu_graph *graph, const acu_node *after,
                                          size_t after_count, acu_buffer *buffer, acu_node *node);

/** Frees on a stream what a launch left allocated, or, captured, what the graph has allocated
 * before; ACU_ERROR_MEMORY_KIND of other memory. */
ACU_CHECKED acu_result acu_graph_memory_free(acu_buffer *buffer, acu_stream *stream);

/** Signals external semaphores, which are the caller's to keep. */
ACU_CHECKED acu_result acu_graph_add_semaphore_signal(
    acu_graph *graph, const acu_node *after, size_t after_count,
    const struct cudaExternalSemaphoreSignalNodeParams *params, acu_node *node);

/** Waits for external semaphores, which are the caller's to keep. */
ACU_CHECKED acu_result acu_graph_add_semaphore_wait(
    acu_graph *graph, const acu_node *after, size_t after_count,
    const struct cudaExternalSemaphoreWaitNodeParams *params, acu_node *node);

/** What decides a conditional node; kernels are given `raw` and set it by
 * cudaGraphSetConditional(). */
typedef struct acu_conditional {
    acu_graph *graph;
    unsigned long long raw;
} acu_conditional;

/** Bits of acu_conditional_create()'s flags. */
enum acu_conditional_flag {
    ACU_CONDITIONAL_ASSIGN_DEFAULT = 1 /* each launch begins with the default value */
};

/** Makes what decides one conditional node of the graph or of its parts; since CUDA 12.3. */
ACU_CHECKED acu_result acu_conditional_create(acu_graph *graph, unsigned default_value,
                                              unsigned flags, acu_conditional *conditional);

/** What a conditional node does with its bodies. */
typedef enum acu_conditional_type {
    ACU_CONDITIONAL_IF =
        0, /* one body, for any value but 0; with a second one, since CUDA 12.8, for 0 */
    ACU_CONDITIONAL_WHILE = 1, /* one body, again and again until the value is 0 */
    ACU_CONDITIONAL_SWITCH = 2 /* the body whose index is the value, or none; since CUDA 12.8 */
} acu_conditional_type;

/**
 * A node with graphs in it, which run as the value decides; since CUDA 12.3.
 *
 * `bodies` receives `body_count` empty graphs to be filled. They are parts of the graph, borrowed:
 * they live as long as it does.
 */
ACU_CHECKED acu_result acu_graph_add_conditional(acu_graph *graph, const acu_node *after,
                                                 size_t after_count, acu_conditional conditional,
                                                 acu_conditional_type type, acu_graph **bodies,
                                                 unsigned body_count, acu_node *node);

/** What is special about a dependency; all zero is the usual kind. See cudaGraphEdgeData. */
typedef struct acu_edge {
    unsigned char from_port, to_port, type;
} acu_edge;

/**
 * Any node that CUDA knows, by its own parameters; since CUDA 12.2.
 *
 * `edges` is NULL or has one entry for each of `after`. What the parameters name is the caller's to
 * keep, or given to the graph by acu_graph_keep(). CUDA writes its answers into them.
 */
ACU_CHECKED acu_result acu_graph_add_node(acu_graph *graph, const acu_node *after,
                                          size_t after_count, const acu_edge *edges,
                                          struct cudaGraphNodeParams *params, acu_node *node);

/* ---- changing nodes ----
 *
 * Each of these gives a node something else to do, for what is instantiated afterwards; what was
 * instantiated before stays as it is (<anycuda/exec.h> changes that). The node is of the kind that
 * the name says. The graph keeps what the node uses now and gives up what only the node used
 * before; what came by a capture it keeps all the same, and a clone what its original had. Errors
 * as of what adds such a node.
 *
 * A child's graph is changed in place: acu_node_get_child(). CUDA cannot change what memory and
 * conditional nodes were given.
 */

/** Another kernel, grid or arguments. Attributes that the grid does not name stay as they are. */
ACU_CHECKED acu_result acu_node_set_kernel(acu_node node, acu_kernel *kernel, const acu_grid *grid,
                                           const acu_arg *args, size_t arg_count);
/** Another copy. */
ACU_CHECKED acu_result acu_node_set_copy(acu_node node, const acu_copy *copy);
/** Another copy, by CUDA's own parameters; the memory is the caller's to keep. */
ACU_CHECKED acu_result acu_node_set_memcpy(acu_node node, const struct cudaMemcpy3DParms *params);
/** Another fill. */
ACU_CHECKED acu_result acu_node_set_fill(acu_node node, const acu_fill *fill);
/** Another function of the host, whose data it takes over as acu_graph_add_host(). */
ACU_CHECKED acu_result acu_node_set_host(acu_node node, acu_closure closure);
/** Another event, to be recorded or waited for. */
ACU_CHECKED acu_result acu_node_set_event(acu_node node, acu_event *event);
/** Other semaphores to signal, which are the caller's to keep. */
ACU_CHECKED acu_result acu_node_set_semaphore_signal(
    acu_node node, const struct cudaExternalSemaphoreSignalNodeParams *params);
/** Other semaphores to wait for, which are the caller's to keep. */
ACU_CHECKED acu_result acu_node_set_semaphore_wait(
    acu_node node, const struct cudaExternalSemaphoreWaitNodeParams *params);

/**
 * Any node, by CUDA's own parameters of its kind; what they name is the caller's to keep.
 *
 * Before CUDA 12.2 kernels, copies, fills, host functions, events and semaphores; others are
 * ACU_NOT_SUPPORTED there.
 */
ACU_CHECKED acu_result acu_node_set_params(acu_node node, struct cudaGraphNodeParams *params);

/**
 * What a node was given, as CUDA has it; pointers in it hold until the node changes.
 *
 * `func` of a kernel that the driver has loaded (acu_kernel_raw_driver()) is a CUfunction.
 * ACU_NOT_SUPPORTED of conditional nodes before CUDA 13.2.
 */
ACU_CHECKED acu_result acu_node_get_params(acu_node node, struct cudaGraphNodeParams *params);

/** The attribute of a kernel node that `attribute->id` names (priority, cluster, …) into its `val`;
 * CUDA's error of other nodes, and of what is no attribute of nodes. */
ACU_CHECKED acu_result acu_node_get_attribute(acu_node node,
                                              struct cudaLaunchAttribute_st *attribute);

/** Sets an attribute of a kernel node; errors as of acu_node_get_attribute(). */
ACU_CHECKED acu_result acu_node_set_attribute(acu_node node,
                                              const struct cudaLaunchAttribute_st *attribute);

/** Gives a kernel node the attributes of another one. */
ACU_CHECKED acu_result acu_node_copy_attributes(acu_node to, acu_node from);

/** The node of a raw handle, which must be one of the graph's. */
ACU_CHECKED acu_result acu_node_wrap(acu_graph *graph, struct CUgraphNode_st *raw, acu_node *node);

/** The cudaGraphNode_t, which is a CUgraphNode, too; NULL of what is no node. */
struct CUgraphNode_st *acu_node_raw(acu_node node);

/** Takes a node out of its graph, with its dependencies; the graph gives up what only it used. What
 * was captured, or is used by nodes in the node's own graphs, stays the graph's. */
ACU_CHECKED acu_result acu_node_destroy(acu_node node);

/* ---- dependencies ---- */

/** Lets each of `count` nodes `to` come after the one in `from`; `edges` may be NULL. A dependency
 * that is there already is CUDA's error; a cycle is found by acu_graph_instantiate(). */
ACU_CHECKED acu_result acu_graph_add_dependencies(acu_graph *graph, const acu_node *from,
                                                  const acu_node *to, const acu_edge *edges,
                                                  size_t count);

/** Takes dependencies back; those with edge data only by the same data. */
ACU_CHECKED acu_result acu_graph_remove_dependencies(acu_graph *graph, const acu_node *from,
                                                     const acu_node *to, const acu_edge *edges,
                                                     size_t count);

/* ---- questions ----
 *
 * `count` says how much room there is and is told how much there is; arrays may be NULL where the
 * room is 0 or the answer is not wanted. What does not fit is left out.
 */

/** All nodes of the graph, without those of its parts. */
ACU_CHECKED acu_result acu_graph_get_nodes(acu_graph *graph, acu_node *nodes, size_t *count);

/** The nodes that depend on nothing. */
ACU_CHECKED acu_result acu_graph_get_root_nodes(acu_graph *graph, acu_node *nodes, size_t *count);

/** All dependencies. */
ACU_CHECKED acu_result acu_graph_get_edges(acu_graph *graph, acu_node *from, acu_node *to,
                                           acu_edge *edges, size_t *count);

/** What a node depends on. */
ACU_CHECKED acu_result acu_node_get_dependencies(acu_node node, acu_node *nodes, acu_edge *edges,
                                                 size_t *count);

/** What depends on a node. */
ACU_CHECKED acu_result acu_node_get_dependent_nodes(acu_node node, acu_node *nodes, acu_edge *edges,
                                                    size_t *count);

/** Kinds of nodes, by CUDA's numbers; there may be others. */
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
    ACU_NODE_CONDITIONAL = 13
} acu_node_type;

/** What a node does. */
ACU_CHECKED acu_result acu_node_get_type(acu_node node, acu_node_type *type);

/** The graph in a child node, borrowed: a part that lives as long as the whole. */
ACU_CHECKED acu_result acu_node_get_child(acu_node node, acu_graph **child);

/** CUDA's number of the graph, as tools show it; since CUDA 13.1. */
ACU_CHECKED acu_result acu_graph_get_id(acu_graph *graph, unsigned *id);

/** CUDA's number of the node in its graph, as tools show it; since CUDA 13.1. */
ACU_CHECKED acu_result acu_node_get_local_id(acu_node node, unsigned *id);

/** CUDA's number of the node among all of the process, as tools show it; since CUDA 13.1. */
ACU_CHECKED acu_result acu_node_get_tools_id(acu_node node, uint64_t *id);

/** Bits of acu_graph_print_dot()'s flags: what is told of the nodes. */
enum acu_dot_flag {
    ACU_DOT_VERBOSE = 1,
    ACU_DOT_KERNELS = 4,
    ACU_DOT_COPIES = 8,
    ACU_DOT_FILLS = 16,
    ACU_DOT_HOST = 32,
    ACU_DOT_EVENTS = 64,
    ACU_DOT_SEMAPHORE_SIGNALS = 128,
    ACU_DOT_SEMAPHORE_WAITS = 256,
    ACU_DOT_KERNEL_ATTRIBUTES = 512,
    ACU_DOT_HANDLES = 1024,
    ACU_DOT_CONDITIONALS = 32768
};

/** Writes the graph into a file, in the language of Graphviz. */
ACU_CHECKED acu_result acu_graph_print_dot(acu_graph *graph, const char *path, unsigned flags);

/* ---- memory that graphs allocate ---- */

/** What a device has for the memory that graphs allocate. */
typedef enum acu_graph_memory_attribute {
    ACU_GRAPH_MEMORY_USED = 0, /* bytes, as all of these */
    ACU_GRAPH_MEMORY_USED_HIGH = 1,
    ACU_GRAPH_MEMORY_RESERVED = 2,
    ACU_GRAPH_MEMORY_RESERVED_HIGH = 3
} acu_graph_memory_attribute;

/** What memory nodes hold of a device's memory. */
ACU_CHECKED acu_result acu_graph_memory_get_attribute(acu_device device,
                                                      acu_graph_memory_attribute attribute,
                                                      uint64_t *bytes);

/** Begins a high-water mark anew. */
ACU_CHECKED acu_result acu_graph_memory_reset(acu_device device,
                                              acu_graph_memory_attribute attribute);

/** Gives back to the device what memory nodes do not use now. */
ACU_CHECKED acu_result acu_graph_memory_trim(acu_device device);

ACU_END_C

#endif
