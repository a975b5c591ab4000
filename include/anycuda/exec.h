/*
 * Executable graphs: launched on any stream, as often as wanted, with little work for the host.
 *
 * An executable graph ("exec") owns what its graph owned when it was instantiated, so the graph may
 * be released first, unless single nodes are to be changed, which are named by nodes of that graph.
 * When the exec is released during a launch, what the launch uses is given up
 * later, by the first call that creates, synchronises or releases something after the launch has
 * ended.
 *
 * A launch counts as a use of each buffer of the graph: other streams wait for it where they use
 * the same buffers, and it waits for them. Launches of one exec run one after the other, whatever
 * streams they are on. Several threads may use one exec.
 */
#ifndef ACU_EXEC_H
#define ACU_EXEC_H

#include <anycuda/graph.h>

struct CUgraphExec_st; /* what CUDA calls cudaGraphExec_t and CUgraphExec */

ACU_BEGIN_C

/** A graph that can be launched. */
typedef struct acu_exec acu_exec;

/** Bits of acu_exec_options.flags. */
enum acu_exec_flag {
    ACU_EXEC_AUTO_FREE = 1,      /* a launch first frees what the one before left allocated */
    ACU_EXEC_UPLOAD = 2,         /* uploads at once, on the stream `upload`; since CUDA 12.0 */
    ACU_EXEC_DEVICE_LAUNCH = 4,  /* kernels may launch it, see acu_graph_keep_exec(); since 12.0 */
    ACU_EXEC_NODE_PRIORITIES = 8 /* nodes run with their own priorities, not the stream's */
};

/** How a graph is instantiated; zero is CUDA's default. */
typedef struct acu_exec_options {
    unsigned flags;     /* acu_exec_flag bits */
    acu_stream *upload; /* for ACU_EXEC_UPLOAD; else NULL */
} acu_exec_options;

/**
 * Makes an executable graph; the caller owns it. `options` may be NULL.
 *
 * The error names the node that cannot be instantiated and the reason, where the runtime reports
 * them (since CUDA 12.0). Errors: ACU_ERROR_CAPTURE where CUDA would break a capture: while a
 * stream is captured into the graph; if `upload` is captured; while the thread captures, unless
 * with ACU_CAPTURE_RELAXED; while any thread captures with ACU_CAPTURE_GLOBAL.
 */
ACU_CHECKED acu_result acu_graph_instantiate(acu_graph *graph, const acu_exec_options *options,
                                             acu_exec **exec);

/**
 * Makes a handle for a raw exec that stays someone else's; the caller owns the handle.
 *
 * The last release leaves the raw exec alone. The raw exec must live until the handle is released.
 */
ACU_CHECKED acu_result acu_exec_wrap(struct CUgraphExec_st *raw, acu_exec **exec);

/** Makes a handle that owns a raw exec: the last release destroys both. */
ACU_CHECKED acu_result acu_exec_adopt(struct CUgraphExec_st *raw, acu_exec **exec);

/**
 * Returns the cudaGraphExec_t, which is also a CUgraphExec; NULL where the handle is not an exec.
 * The raw exec stays the handle's.
 */
struct CUgraphExec_st *acu_exec_raw(const acu_exec *exec);

/** Adds an owner and returns the exec; NULL where the handle is not an exec. */
acu_exec *acu_exec_retain(acu_exec *exec);

/**
 * Takes an owner away; the last release destroys the exec, and launches that run go on. Everything
 * else is as for acu_stream_release().
 */
acu_result acu_exec_release(acu_exec *exec);

void acu_exec_cleanup(acu_exec **exec);

/** Writes one line that names the executable graph, as errors do; acu_stream_describe() has the
 * rules. */
size_t acu_exec_describe(const acu_exec *exec, char *text, size_t size);

/**
 * Prepares the first launch on a stream, so that it is as fast as later ones.
 *
 * Errors: ACU_ERROR_CAPTURE where the stream is captured.
 */
ACU_CHECKED acu_result acu_exec_upload(acu_exec *exec, acu_stream *stream);

/**
 * Launches the graph on a stream, and does not wait.
 *
 * Errors: ACU_ERROR_CAPTURE where the stream is captured, for which there is acu_graph_add_child().
 */
ACU_CHECKED acu_result acu_exec_launch(acu_exec *exec, acu_stream *stream);

/**
 * Lets a graph own an executable graph that its kernels launch: `acu_exec_raw(exec)` is what they
 * take as an argument.
 *
 * Each launch of the graph counts as a use of all that the executable graph uses now, so what it is
 * changed to later is not known. It must have been uploaded, by ACU_EXEC_UPLOAD, acu_exec_upload()
 * or a launch; after each later change of it the program uploads it again before a kernel launches
 * it. CUDA lets it have kernels, copies, fills and child graphs of one device only. Errors:
 * ACU_ERROR_STATE where it was instantiated without ACU_EXEC_DEVICE_LAUNCH, or was not uploaded (of
 * a wrapped one that is not known); ACU_ERROR_HOST_MEMORY.
 */
ACU_CHECKED acu_result acu_graph_keep_exec(acu_graph *graph, acu_exec *exec);

/** Asks for the flags that the graph was instantiated with; since CUDA 12.0. */
ACU_CHECKED acu_result acu_exec_get_flags(acu_exec *exec, uint64_t *flags);

/** Asks for CUDA's number of the exec, as tools show it; since CUDA 13.1. */
ACU_CHECKED acu_result acu_exec_get_id(acu_exec *exec, unsigned *id);

/* ---- changes of all nodes ---- */

/** Whether an exec was updated, or why not; CUDA's numbers (cudaGraphExecUpdateResult). */
typedef enum acu_exec_update_result {
    ACU_UPDATE_SUCCESS = 0,
    ACU_UPDATE_ERROR = 1,
    ACU_UPDATE_TOPOLOGY_CHANGED = 2,
    ACU_UPDATE_NODE_TYPE_CHANGED = 3,
    ACU_UPDATE_FUNCTION_CHANGED = 4,
    ACU_UPDATE_PARAMETERS_CHANGED = 5,
    ACU_UPDATE_NOT_SUPPORTED = 6,
    ACU_UPDATE_UNSUPPORTED_FUNCTION_CHANGE = 7,
    ACU_UPDATE_ATTRIBUTES_CHANGED = 8
} acu_exec_update_result;

/** What acu_exec_update() reports. */
typedef struct acu_exec_update_info {
    acu_exec_update_result result;
    acu_node error_node; /* of the new graph; all zero if no single node is the reason */
} acu_exec_update_info;

/**
 * Lets the exec do what another graph of the same shape does, from the next launch on.
 *
 * If CUDA cannot do that, the result is 910 (cudaErrorGraphExecUpdateFailure), the message has the
 * reason, and the exec is as before: instantiate the other graph instead. `info` may be NULL.
 * Errors: ACU_ERROR_CAPTURE while a stream is captured into the graph.
 */
ACU_CHECKED acu_result acu_exec_update(acu_exec *exec, acu_graph *graph,
                                       acu_exec_update_info *info);

/* ---- changes of one node ----
 *
 * Each function replaces what a node does in the next launches; the graph stays as it is. The node
 * belongs to the graph that was instantiated, which is alive still, or to one of its parts, and has
 * the type that the function names. The exec gives up what the node used before when the launches
 * that run have ended. Errors are those of the acu_graph_add_…() of that type.
 */

/** Sets kernel, grid and arguments. */
ACU_CHECKED acu_result acu_exec_set_kernel(acu_exec *exec, acu_node node, acu_kernel *kernel,
                                           const acu_grid *grid, const acu_arg *args,
                                           size_t arg_count);

/**
 * Sets kernel, grid and arguments as acu_launch() takes them:
 * `acu_exec_set_launch(exec, node, kernel, grid, arguments…)` calls acu_exec_set_kernel().
 */
#if !defined(__cplusplus)
#define acu_exec_set_launch(exec, node, kernel, ...)                                               \
    acu_exec_set_kernel((exec), (node), (kernel), ACU_LAUNCH_GRID(__VA_ARGS__),                    \
                        ACU_LAUNCH_ARGS(__VA_ARGS__), ACU_COUNT(__VA_ARGS__) - 1)
#else
ACU_END_C
template <typename... Values>
ACU_CHECKED inline acu_result acu_exec_set_launch(acu_exec *exec, acu_node node, acu_kernel *kernel,
                                                  const acu_grid &grid, const Values &...values) {
    const acu_arg args[] = {acu_arg_of(values)..., acu_bytes(nullptr, 0)};
    return acu_exec_set_kernel(exec, node, kernel, &grid, args, sizeof...(values));
}
ACU_BEGIN_C
#endif
/** Sets what a copy node copies. */
ACU_CHECKED acu_result acu_exec_set_copy(acu_exec *exec, acu_node node, const acu_copy *copy);
/** Sets what a copy node copies, by CUDA's own parameters; the caller keeps the memory alive. */
ACU_CHECKED acu_result acu_exec_set_memcpy(acu_exec *exec, acu_node node,
                                           const struct cudaMemcpy3DParms *params);
/** Sets the copies of a node with many, to as many, with the attributes that the node has. */
ACU_CHECKED acu_result acu_exec_set_copy_batch(acu_exec *exec, acu_node node,
                                               const acu_copy *copies, size_t count,
                                               const acu_copy_attributes *attributes,
                                               size_t attribute_count);
/** Sets what a fill node sets. */
ACU_CHECKED acu_result acu_exec_set_fill(acu_exec *exec, acu_node node, const acu_fill *fill);
/** Sets the host function, and takes its data over as acu_graph_add_host() does. */
ACU_CHECKED acu_result acu_exec_set_host(acu_exec *exec, acu_node node, acu_closure closure);
/** Sets the graph of a child node, to one of the same shape. */
ACU_CHECKED acu_result acu_exec_set_child(acu_exec *exec, acu_node node, acu_graph *child);
/** Sets the event that an event node records or waits for. */
ACU_CHECKED acu_result acu_exec_set_event(acu_exec *exec, acu_node node, acu_event *event);
/** Sets the semaphores to signal, as for acu_graph_add_semaphore_signal(). */
ACU_CHECKED acu_result acu_exec_set_semaphore_signal(acu_exec *exec, acu_node node,
                                                     const acu_semaphore_signal *signals,
                                                     size_t count);
/** Sets the semaphores to wait for, as for acu_graph_add_semaphore_wait(). */
ACU_CHECKED acu_result acu_exec_set_semaphore_wait(acu_exec *exec, acu_node node,
                                                   const acu_semaphore_wait *waits, size_t count);

/**
 * Sets CUDA's own parameters of a node as acu_node_set_params() does; child nodes since CUDA 12.2.
 */
ACU_CHECKED acu_result acu_exec_set_params(acu_exec *exec, acu_node node,
                                           struct cudaGraphNodeParams *params);

/** Enables or disables a kernel, copy or fill node: the next launches leave disabled nodes out. */
ACU_CHECKED acu_result acu_exec_set_enabled(acu_exec *exec, acu_node node, bool enabled);

/** Asks whether a node is enabled. */
ACU_CHECKED acu_result acu_exec_is_enabled(acu_exec *exec, acu_node node, bool *enabled);

ACU_END_C

#endif
