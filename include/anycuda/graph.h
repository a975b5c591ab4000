/*
 * Graphs: work that is described once and launched many times.
 *
 * A graph is captured from streams (<anycuda/capture.h>) or built from nodes (here), and made
 * executable by acu_graph_instantiate() (<anycuda/exec.h>).
 *
 * A graph owns what its nodes use: memory, kernels, events, semaphores and closures live as long as
 * the graph, its clones, the graphs that it was added to and the executable graphs that were made
 * of it, and until the last launch has ended. The caller keeps alive what only a raw handle or an
 * address names.
 *
 * CUDA forbids two threads to use one graph, or a clone and its original, at the same time. Handles
 * of this header may be used by several threads, because one lock is held around each call. Host
 * functions of a graph run on threads of CUDA and must not call CUDA.
 */
#ifndef ACU_GRAPH_H
#define ACU_GRAPH_H

#include <anycuda/node.h>

struct CUgraph_st; /* what CUDA calls cudaGraph_t and CUgraph */

ACU_BEGIN_C

/** Makes a graph without nodes; the caller owns it. */
ACU_CHECKED acu_result acu_graph_create(acu_graph **graph);

/**
 * Makes a handle for a raw graph that stays someone else's; the caller owns the handle.
 *
 * The last release leaves the raw graph alone. The raw graph must live until the handle is
 * released. What its nodes use is not known, so the handle does not keep it alive.
 */
ACU_CHECKED acu_result acu_graph_wrap(struct CUgraph_st *raw, acu_graph **graph);

/** Makes a handle that owns a raw graph: the last release destroys both. */
ACU_CHECKED acu_result acu_graph_adopt(struct CUgraph_st *raw, acu_graph **graph);

/**
 * Returns the cudaGraph_t, which is also a CUgraph; NULL where the handle is not a graph. The raw
 * graph stays the handle's.
 */
struct CUgraph_st *acu_graph_raw(const acu_graph *graph);

/**
 * Adds an owner and returns the graph; NULL where the handle is not a graph. An owner of a part of
 * a graph is an owner of the whole.
 */
acu_graph *acu_graph_retain(acu_graph *graph);

/**
 * Takes an owner away; the last release destroys the graph with its parts. Everything else is as
 * for acu_stream_release().
 */
acu_result acu_graph_release(acu_graph *graph);

void acu_graph_cleanup(acu_graph **graph);

/** Writes one line that names the graph, as errors do; acu_stream_describe() has the rules. */
size_t acu_graph_describe(const acu_graph *graph, char *text, size_t size);

/**
 * Makes a copy, which owns what the graph owns; the caller owns the copy.
 *
 * Errors: ACU_ERROR_CAPTURE while a stream is captured into the graph.
 */
ACU_CHECKED acu_result acu_graph_clone(acu_graph *graph, acu_graph **clone);

/**
 * Lets the graph own a buffer that only raw parameters name.
 *
 * Each launch counts as a use of the buffer, which writes to it if `writes` is true.
 */
ACU_CHECKED acu_result acu_graph_keep(acu_graph *graph, acu_buffer *buffer, bool writes);

/**
 * Lets the graph own data; the closure's `call` is not used.
 *
 * The data is taken over in any case: `destroy` runs exactly once, when nothing needs the graph any
 * more, or at once if this call fails.
 */
ACU_CHECKED acu_result acu_graph_keep_data(acu_graph *graph, acu_closure closure);

/**
 * Gives the raw graph an owner's share of data, which is a user object of CUDA; the closure's
 * `call` is not used.
 *
 * The data lives as long as any raw graph or raw executable graph that comes of this one, also when
 * other code made it or holds it longer than the handles live: for graphs that are given away as
 * raw handles. (What acu_graph_keep_data() keeps goes with the handles.) The data is taken over in
 * any case: `destroy` runs exactly once, on a thread of CUDA some time after the last use, or soon
 * if this call fails. It must not call CUDA. Errors: CUDA's own.
 */
ACU_CHECKED acu_result acu_graph_attach_data(acu_graph *graph, acu_closure closure);

/* ---- adding nodes ----
 *
 * Each function adds a node that depends on the `after_count` nodes `after` of the same graph. The
 * new node is written to `node`, which may be NULL. Errors of all: ACU_ERROR_ARGUMENT,
 * ACU_ERROR_HANDLE, ACU_ERROR_HOST_MEMORY, CUDA's own, and ACU_NOT_SUPPORTED with the version that
 * is needed, where the runtime has no such type of node.
 */

/** Adds a node that does nothing: others can depend on it. */
ACU_CHECKED acu_result acu_graph_add_empty(acu_graph *graph, const acu_node *after,
                                           size_t after_count, acu_node *node);

/** Adds the launch of a kernel, which is checked as by acu_launch_args(), with its errors. */
ACU_CHECKED acu_result acu_graph_add_kernel(acu_graph *graph, const acu_node *after,
                                            size_t after_count, acu_kernel *kernel,
                                            const acu_grid *grid, const acu_arg *args,
                                            size_t arg_count, acu_node *node);

/**
 * Adds the launch of a kernel as acu_launch() takes it:
 * `acu_graph_add_launch(graph, after, after_count, node, kernel, grid, arguments…)` calls
 * acu_graph_add_kernel(). `node` is where the new node is written to, or NULL.
 */
#if !defined(__cplusplus)
#define acu_graph_add_launch(graph, after, after_count, node, kernel, ...)                         \
    acu_graph_add_kernel((graph), (after), (after_count), (kernel), ACU_LAUNCH_GRID(__VA_ARGS__),  \
                         ACU_LAUNCH_ARGS(__VA_ARGS__), ACU_COUNT(__VA_ARGS__) - 1, (node))
#else
ACU_END_C
template <typename... Values>
ACU_CHECKED inline acu_result
acu_graph_add_launch(acu_graph *graph, const acu_node *after, size_t after_count, acu_node *node,
                     acu_kernel *kernel, const acu_grid &grid, const Values &...values) {
    const acu_arg args[] = {acu_arg_of(values)..., acu_bytes(nullptr, 0)};
    return acu_graph_add_kernel(graph, after, after_count, kernel, &grid, args, sizeof...(values),
                                node);
}
ACU_BEGIN_C
#endif

/**
 * Adds a copy between buffers.
 *
 * For a copy from one device to another, the destination's device must be able to access the
 * source: acu_pool_set_access() opens the source's pool, acu_device_enable_peer_access() memory of
 * no pool. CUDA refuses the node with 1 otherwise, since a node, unlike acu_buffer_copy(), cannot
 * name devices. Errors: ACU_ERROR_DTYPE and ACU_ERROR_RANGE as for acu_buffer_copy_range().
 */
ACU_CHECKED acu_result acu_graph_add_copy(acu_graph *graph, const acu_node *after,
                                          size_t after_count, const acu_copy *copy, acu_node *node);

/**
 * Adds many copies between buffers as one node; since CUDA 13.5.
 *
 * The copies of a node have no order: where one of them writes what another one reads or writes,
 * the call is refused. Each copy has at least one element. `attributes` are those of
 * acu_batch_copy(), and may be NULL. Errors, for each copy: those of acu_graph_add_copy();
 * ACU_ERROR_RANGE where two of them need an order; ACU_ERROR_ARGUMENT where there are no copies, or
 * an attribute is wrong or ACU_SOURCE_ORDER_DURING_API_CALL.
 */
ACU_CHECKED acu_result acu_graph_add_copy_batch(acu_graph *graph, const acu_node *after,
                                                size_t after_count, const acu_copy *copies,
                                                size_t count, const acu_copy_attributes *attributes,
                                                size_t attribute_count, acu_node *node);

/**
 * Adds a copy of `count` elements from the host.
 *
 * The graph keeps a copy of what is there now, so `host` may change after the call. Errors:
 * ACU_ERROR_DTYPE and ACU_ERROR_RANGE as for acu_buffer_write_typed().
 */
ACU_CHECKED acu_result acu_graph_add_write(acu_graph *graph, const acu_node *after,
                                           size_t after_count, acu_buffer *buffer, size_t at,
                                           acu_dtype dtype, const void *host, size_t count,
                                           acu_node *node);

/** Adds any copy that CUDA knows, also 3D and of arrays; the caller keeps the memory alive. */
ACU_CHECKED acu_result acu_graph_add_memcpy(acu_graph *graph, const acu_node *after,
                                            size_t after_count,
                                            const struct cudaMemcpy3DParms *params, acu_node *node);

/**
 * Adds a fill. Errors: ACU_ERROR_DTYPE and ACU_ERROR_RANGE where the elements do not fit the
 * buffer.
 */
ACU_CHECKED acu_result acu_graph_add_fill(acu_graph *graph, const acu_node *after,
                                          size_t after_count, const acu_fill *fill, acu_node *node);

/**
 * Adds a call of a host function, which runs on a thread of CUDA.
 *
 * The data is taken over in any case: `destroy` runs exactly once, when nothing needs the node any
 * more, or at once if this call fails. Neither function may call CUDA.
 */
ACU_CHECKED acu_result acu_graph_add_host(acu_graph *graph, const acu_node *after,
                                          size_t after_count, acu_closure closure, acu_node *node);

/**
 * Adds a call as acu_graph_add_host() does, for which a launch waits in that way; ACU_HOST_SPIN
 * needs CUDA 13.2. acu_node_set_host() and acu_exec_set_host() keep the way.
 */
ACU_CHECKED acu_result acu_graph_add_host_with(acu_graph *graph, const acu_node *after,
                                               size_t after_count, acu_closure closure,
                                               acu_host_wait wait, acu_node *node);

/** Adds a copy of another graph as one node. Errors: ACU_NOT_SUPPORTED where that graph has nodes
 * of acu_node_set_updatable(): CUDA crashes when it is destroyed after its copy. */
ACU_CHECKED acu_result acu_graph_add_child(acu_graph *graph, const acu_node *after,
                                           size_t after_count, acu_graph *child, acu_node *node);

/** Adds a node that records an event. */
ACU_CHECKED acu_result acu_graph_add_event_record(acu_graph *graph, const acu_node *after,
                                                  size_t after_count, acu_event *event,
                                                  acu_node *node);

/** Adds a node that waits for an event. */
ACU_CHECKED acu_result acu_graph_add_event_wait(acu_graph *graph, const acu_node *after,
                                                size_t after_count, acu_event *event,
                                                acu_node *node);

/**
 * Adds an allocation of a device's memory, which is at the same address in all launches; the caller
 * owns the buffer.
 *
 * `buffer` is for later nodes, and for streams that come after a launch: using it on a stream
 * before a launch has allocated it is an illegal address (700). Releasing the buffer does not free
 * the memory; acu_graph_add_free(), acu_graph_memory_free() and the next launch
 * (ACU_EXEC_AUTO_FREE) do. Errors also: ACU_ERROR_OVERFLOW, ACU_ERROR_DTYPE.
 */
ACU_CHECKED acu_result acu_graph_add_alloc(acu_graph *graph, const acu_node *after,
                                           size_t after_count, acu_device device, acu_dtype dtype,
                                           size_t count, acu_buffer **buffer, acu_node *node);

/**
 * Adds a node that frees what acu_graph_add_alloc() of this graph, or of one launched before,
 * allocated.
 *
 * Errors: ACU_ERROR_MEMORY_KIND where the memory is of any other kind.
 */
ACU_CHECKED acu_result acu_graph_add_free(acu_graph *graph, const acu_node *after,
                                          size_t after_count, acu_buffer *buffer, acu_node *node);

/**
 * Adds a node that signals external semaphores, with the same values at each launch. Errors:
 * ACU_ERROR_DEVICE where the semaphores are of several devices.
 */
ACU_CHECKED acu_result acu_graph_add_semaphore_signal(acu_graph *graph, const acu_node *after,
                                                      size_t after_count,
                                                      const acu_semaphore_signal *signals,
                                                      size_t count, acu_node *node);

/**
 * Adds a node that waits for external semaphores, for the same values at each launch. Errors:
 * ACU_ERROR_DEVICE where the semaphores are of several devices.
 */
ACU_CHECKED acu_result acu_graph_add_semaphore_wait(acu_graph *graph, const acu_node *after,
                                                    size_t after_count,
                                                    const acu_semaphore_wait *waits, size_t count,
                                                    acu_node *node);

/**
 * Adds any node that CUDA knows, by its own parameters; since CUDA 12.2.
 *
 * `edges` is NULL or has one entry for each node of `after`. What the parameters name is kept alive
 * by the caller, or by the graph after acu_graph_keep(). CUDA writes results into the parameters.
 */
ACU_CHECKED acu_result acu_graph_add_node(acu_graph *graph, const acu_node *after,
                                          size_t after_count, const acu_edge *edges,
                                          struct cudaGraphNodeParams *params, acu_node *node);

/* ---- conditional nodes ---- */

/**
 * The value that decides what a conditional node does. Kernels are given `raw` as an argument, and
 * set the value by cudaGraphSetConditional().
 */
typedef struct acu_conditional {
    acu_graph *graph;
    unsigned long long raw;
} acu_conditional;

/** Bits of acu_conditional_create()'s flags. */
enum acu_conditional_flag {
    ACU_CONDITIONAL_ASSIGN_DEFAULT = 1 /* each launch begins with the default value */
};

/** Makes the value of one conditional node, in the graph or in its parts; since CUDA 12.3. */
ACU_CHECKED acu_result acu_conditional_create(acu_graph *graph, unsigned default_value,
                                              unsigned flags, acu_conditional *conditional);

/** How a conditional node chooses among its bodies. */
typedef enum acu_conditional_type {
    ACU_CONDITIONAL_IF = 0,    /* runs the first body unless the value is 0, and a second one,
                                  since CUDA 12.8, if it is 0 */
    ACU_CONDITIONAL_WHILE = 1, /* runs its one body again and again until the value is 0 */
    ACU_CONDITIONAL_SWITCH = 2 /* runs the body with the value as index, if it has so many; since
                                  CUDA 12.8 */
} acu_conditional_type;

/**
 * Adds a node that contains graphs and runs them as the value decides; since CUDA 12.3.
 *
 * `bodies` receives `body_count` empty graphs, which the caller fills. They are parts of the graph,
 * which owns them: they live as long as it does.
 */
ACU_CHECKED acu_result acu_graph_add_conditional(acu_graph *graph, const acu_node *after,
                                                 size_t after_count, acu_conditional conditional,
                                                 acu_conditional_type type, acu_graph **bodies,
                                                 unsigned body_count, acu_node *node);

/* ---- dependencies ---- */

/**
 * Adds `count` dependencies: each node in `to` depends on the one in `from`. `edges` may be NULL.
 *
 * A dependency that exists already is CUDA's error. A cycle is found by acu_graph_instantiate().
 */
ACU_CHECKED acu_result acu_graph_add_dependencies(acu_graph *graph, const acu_node *from,
                                                  const acu_node *to, const acu_edge *edges,
                                                  size_t count);

/** Removes dependencies; one with edge data is only removed if `edges` has the same data. */
ACU_CHECKED acu_result acu_graph_remove_dependencies(acu_graph *graph, const acu_node *from,
                                                     const acu_node *to, const acu_edge *edges,
                                                     size_t count);

/* ---- properties ----
 *
 * Lists: `*count` is how many elements the arrays have room for, and becomes how many there are. An
 * array may be NULL when its elements are not wanted. What does not fit is left out.
 */

/** Lists the nodes of the graph, without those of its parts. */
ACU_CHECKED acu_result acu_graph_get_nodes(acu_graph *graph, acu_node *nodes, size_t *count);

/** Lists the nodes that depend on nothing. */
ACU_CHECKED acu_result acu_graph_get_root_nodes(acu_graph *graph, acu_node *nodes, size_t *count);

/** Lists all dependencies. */
ACU_CHECKED acu_result acu_graph_get_edges(acu_graph *graph, acu_node *from, acu_node *to,
                                           acu_edge *edges, size_t *count);

/** Asks for CUDA's number of the graph, as tools show it; since CUDA 13.1. */
ACU_CHECKED acu_result acu_graph_get_id(acu_graph *graph, unsigned *id);

/* ---- pictures ---- */

/**
 * Writes the graph to a file, as a picture in Graphviz's language with names, types, sizes and
 * dependencies of the nodes, and with the times of acu_graph_profile(), if it was called.
 *
 * `acu-graph` shows such a file on a terminal and turns it into an SVG; `dot -Tsvg` does so, too.
 * A node's name is that of acu_node_set_name(), else its kernel's. Child graphs and bodies of
 * conditional nodes are drawn in boxes of their own. The file's form: docs/users/graphs.md. Errors:
 * 304 (cudaErrorOperatingSystem) where the file cannot be written.
 */
ACU_CHECKED acu_result acu_graph_draw(acu_graph *graph, const char *path);

/** How acu_graph_profile() measures; all zero is one node after the other, ten times. */
typedef struct acu_profile_options {
    unsigned replays; /* that are measured, after one that is not; 0: ten */
    bool together;    /* independent nodes overlap, as in a launch; false: each node runs alone */
} acu_profile_options;

/** What acu_graph_profile() measured of a graph; all in milliseconds, medians of all replays. */
typedef struct acu_graph_time {
    unsigned replays;
    bool together;
    float whole;    /* a launch of the graph as it is, between two events on the stream */
    float measured; /* the replay with an event before and after each node, from first to last */
    float between;  /* two events with nothing between them: shorter times mean nothing */
} acu_graph_time;

/**
 * Replays the graph, measures how long its nodes take, and waits for the end; `options` may be
 * NULL.
 *
 * The graph does its work each time: once, and once for each replay, as it is, and as often with
 * events between its nodes, in a copy that is destroyed at the end. Of a graph with conditional
 * nodes CUDA makes no copy: then the events are added to the graph for a moment, in which no other
 * thread may use the graph, and no executable graph of it may exist. A node's time is that between
 * two events around it: with the start of its work on the device and the writing of an event, which
 * `between` of acu_graph_get_time() tells about, without what the host does. One node after the
 * other, no node has another one beside it. With `together`, a node begins when all that it depends
 * on has ended, and its time also has what it waits because others are on the device. A child graph
 * is one node; its own graph may be profiled by itself.
 *
 * acu_node_get_time() and acu_graph_get_time() return what was measured, and acu_graph_draw() draws
 * it. Errors: those of acu_graph_instantiate(); ACU_ERROR_CAPTURE where the stream is captured;
 * CUDA's own, mostly 801, where the graph has nodes that allocate or free memory, which CUDA
 * neither copies nor lets change, or both conditional nodes and child graphs.
 */
ACU_CHECKED acu_result acu_graph_profile(acu_graph *graph, acu_stream *stream,
                                         const acu_profile_options *options);

/**
 * Asks for what acu_graph_profile() measured last. Errors: ACU_ERROR_STATE where it was not called.
 */
ACU_CHECKED acu_result acu_graph_get_time(acu_graph *graph, acu_graph_time *time);

/** Bits of acu_graph_print_dot()'s flags: what is printed of the nodes. */
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
    ACU_DOT_CONDITIONALS = 32768, /* since CUDA 12.3 */
    ACU_DOT_COPY_BATCHES = 65536  /* since CUDA 13.5 */
};

/**
 * Writes the graph to a file as CUDA's own function does, in Graphviz's language: for what only
 * CUDA knows. acu_graph_draw() writes what people read.
 */
ACU_CHECKED acu_result acu_graph_print_dot(acu_graph *graph, const char *path, unsigned flags);

/* ---- memory that graphs allocate ---- */

/** Properties of a device's memory that is reserved for allocations of graphs; all in bytes. */
typedef enum acu_graph_memory_attribute {
    ACU_GRAPH_MEMORY_USED = 0,
    ACU_GRAPH_MEMORY_USED_HIGH = 1, /* the most that was used since the last reset */
    ACU_GRAPH_MEMORY_RESERVED = 2,
    ACU_GRAPH_MEMORY_RESERVED_HIGH = 3 /* the most that was reserved since the last reset */
} acu_graph_memory_attribute;

/** Asks for an attribute of the device's memory for graphs. */
ACU_CHECKED acu_result acu_graph_memory_get_attribute(acu_device device,
                                                      acu_graph_memory_attribute attribute,
                                                      uint64_t *bytes);

/** Resets a _HIGH attribute to its present value. */
ACU_CHECKED acu_result acu_graph_memory_reset(acu_device device,
                                              acu_graph_memory_attribute attribute);

/** Gives memory that is reserved and not used now back to the device. */
ACU_CHECKED acu_result acu_graph_memory_trim(acu_device device);

/**
 * Frees the memory of acu_graph_add_alloc() or acu_stream_capture_alloc() on a stream.
 *
 * On a stream that is not captured this call frees what a launch left allocated; on a captured one
 * it adds the node that frees what the graph has allocated before. Errors: ACU_ERROR_MEMORY_KIND
 * where the memory is of any other kind.
 */
ACU_CHECKED acu_result acu_graph_memory_free(acu_buffer *buffer, acu_stream *stream);

ACU_END_C

#endif
