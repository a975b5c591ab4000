/*
 * Executable graphs: launched on any stream, as often as wanted, with little work for the host.
 *
 * An exec owns what its graph owned when it was instantiated, and the graph may be released before
 * it. It gives up nothing before its last launch has ended: what is still needed at its release
 * goes when a later call that creates, synchronises or releases something finds it done. A launch
 * counts as a use of each buffer, so other streams wait for it, and it for them, as for anything
 * else.
 *
 * Launches of one exec follow each other, on whatever streams. Execs have a lock and may be used by
 * several threads.
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
    ACU_EXEC_UPLOAD = 2,         /* at once, to `upload`; since CUDA 12.0 */
    ACU_EXEC_DEVICE_LAUNCH = 4,  /* kernels may launch it; since CUDA 12.0 */
    ACU_EXEC_NODE_PRIORITIES = 8 /* of the nodes, not of the stream */
};

/** How a graph is instantiated; zero is what CUDA does by default. */
typedef struct acu_exec_options {
    unsigned flags; /* acu_exec_flag bits */
    acu_stream *upload;
} acu_exec_options;

/**
 * Makes an executable graph; the caller owns it. `options` may be NULL.
 *
 * A failure tells the node at fault and what is wrong with it, where the runtime does (12.0).
 * ACU_ERROR_CAPTURE while the graph is being captured into, while the thread captures (or any one,
 * with ACU_CAPTURE_GLOBAL; unless with ACU_CAPTURE_RELAXED), and where `upload` is captured: CUDA
 * would break the capture.
 */
ACU_CHECKED acu_result acu_graph_instantiate(acu_graph *graph, const acu_exec_options *options,
                                             acu_exec **exec);

/** A handle for an exec of someone else, which must live as long and is not destroyed with it. */
ACU_CHECKED acu_result acu_exec_wrap(struct CUgraphExec_st *raw, acu_exec **exec);

/** Like acu_exec_wrap(), but takes the raw exec over. */
ACU_CHECKED acu_result acu_exec_adopt(struct CUgraphExec_st *raw, acu_exec **exec);

/** The cudaGraphExec_t, which is a CUgraphExec, too; it stays the handle's. NULL if it is no exec.
 */
struct CUgraphExec_st *acu_exec_raw(const acu_exec *exec);

/** One more owner; returns the exec, NULL if it is none. */
acu_exec *acu_exec_retain(acu_exec *exec);

/** One owner less; the last one destroys it, launches under way go on. As acu_stream_release(). */
acu_result acu_exec_release(acu_exec *exec);

void acu_exec_cleanup(acu_exec **exec);

/** Does what the first launch would do before, so that it is not slower than others.
 * ACU_ERROR_CAPTURE on a stream that is being captured. */
ACU_CHECKED acu_result acu_exec_upload(acu_exec *exec, acu_stream *stream);

/**
 * Puts the graph on a stream.
 *
 * Not on one that is being captured, which fails with ACU_ERROR_CAPTURE: there
 * acu_graph_add_child() does what is meant.
 */
ACU_CHECKED acu_result acu_exec_launch(acu_exec *exec, acu_stream *stream);

/** The flags it was instantiated with, as CUDA tells them; since CUDA 12.0. */
ACU_CHECKED acu_result acu_exec_get_flags(acu_exec *exec, uint64_t *flags);

/** CUDA's number of the exec, as tools show it; since CUDA 13.1. */
ACU_CHECKED acu_result acu_exec_get_id(acu_exec *exec, unsigned *id);

/* ---- changes ---- */

/** Why a graph cannot take the place of another. */
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

/** What became of an update. */
typedef struct acu_exec_update_info {
    acu_exec_update_result result;
    acu_node error_node; /* of the new graph; all zero if no node is at fault */
} acu_exec_update_info;

/**
 * Takes over what another graph of the same shape does, from the next launch on.
 *
 * Where that cannot be, the result is CUDA's (910, cudaErrorGraphExecUpdateFailure), the message
 * says why, and the exec is as before: instantiate the graph instead. `update` may be NULL.
 * ACU_ERROR_CAPTURE while the graph is being captured into.
 */
ACU_CHECKED acu_result acu_exec_update(acu_exec *exec, acu_graph *graph,
                                       acu_exec_update_info *update);

/* Each of these changes a node for the next launches; the graph stays as it is. The node is one of
 * the graph that was instantiated, or of its parts, and of the kind that the name says. What it
 * used is given up when the launches under way have ended. Errors as of what adds such a node. */

/** Another kernel, grid or arguments. */
ACU_CHECKED acu_result acu_exec_set_kernel(acu_exec *exec, acu_node node, acu_kernel *kernel,
                                           const acu_grid *grid, const acu_arg *args,
                                           size_t arg_count);
/** Another copy. */
ACU_CHECKED acu_result acu_exec_set_copy(acu_exec *exec, acu_node node, const acu_copy *copy);
/** Another copy, by CUDA's own parameters. */
ACU_CHECKED acu_result acu_exec_set_memcpy(acu_exec *exec, acu_node node,
                                           const struct cudaMemcpy3DParms *params);
/** Another fill. */
ACU_CHECKED acu_result acu_exec_set_fill(acu_exec *exec, acu_node node, const acu_fill *fill);
/** Another function of the host, whose data it takes over. */
ACU_CHECKED acu_result acu_exec_set_host(acu_exec *exec, acu_node node, acu_closure closure);
/** Another graph of the same shape. */
ACU_CHECKED acu_result acu_exec_set_child(acu_exec *exec, acu_node node, acu_graph *child);
/** Another event, to be recorded or waited for. */
ACU_CHECKED acu_result acu_exec_set_event(acu_exec *exec, acu_node node, acu_event *event);
/** Other semaphores to signal, which are the caller's to keep. */
ACU_CHECKED acu_result acu_exec_set_semaphore_signal(
    acu_exec *exec, acu_node node, const struct cudaExternalSemaphoreSignalNodeParams *params);
/** Other semaphores to wait for, which are the caller's to keep. */
ACU_CHECKED acu_result acu_exec_set_semaphore_wait(
    acu_exec *exec, acu_node node, const struct cudaExternalSemaphoreWaitNodeParams *params);

/** Any node, by CUDA's own parameters, as acu_node_set_params(); children since CUDA 12.2. */
ACU_CHECKED acu_result acu_exec_set_params(acu_exec *exec, acu_node node,
                                           struct cudaGraphNodeParams *params);

/** Lets a kernel, copy or fill be left out of the next launches, or not. */
ACU_CHECKED acu_result acu_exec_set_enabled(acu_exec *exec, acu_node node, bool enabled);

/** Whether a node is not left out. */
ACU_CHECKED acu_result acu_exec_is_enabled(acu_exec *exec, acu_node node, bool *enabled);

ACU_END_C

#endif
