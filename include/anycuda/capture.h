/*
 * Capture: what is put on streams is not done but becomes the nodes of a graph.
 *
 * It begins on one stream. Streams that wait for something captured (acu_stream_fork(), an event)
 * join in; they must be joined back into the first before the end. The graph owns the memory,
 * kernels, events and closures that were used. Until the end, the streams belong to the thread that
 * captures: others must not use them. What a thread releases while it captures is destroyed after
 * the end, since CUDA would break the capture.
 */
#ifndef ACU_CAPTURE_H
#define ACU_CAPTURE_H

#include <anycuda/graph.h>

ACU_BEGIN_C

/** What else must not be done meanwhile: calls that may wait for the device, such as allocating
 * without a stream, break the capture. */
typedef enum acu_capture_mode {
    ACU_CAPTURE_THREAD = 0, /* by the thread that captures */
    ACU_CAPTURE_GLOBAL = 1, /* by any thread */
    ACU_CAPTURE_RELAXED = 2 /* nothing is forbidden; any thread may end it */
} acu_capture_mode;

/** What the other parameters of a node that is captured again mean for executable graphs. */
typedef enum acu_recapture {
    ACU_RECAPTURE_UPDATES = 0,   /* acu_exec_update() can take them over */
    ACU_RECAPTURE_NO_UPDATE = 1, /* the graph must be instantiated anew */
    ACU_RECAPTURE_IMPOSSIBLE = 2 /* the capture ends here, whatever is answered */
} acu_recapture;

/** How to capture; zero is into a new graph, thread by thread. */
typedef struct acu_capture_options {
    acu_capture_mode mode;
    acu_graph *into;       /* NULL: a new graph; else since CUDA 12.3 */
    const acu_node *after; /* with `into`: what the first nodes depend on */
    const acu_edge *edges; /* NULL, or what is special about each of `after` */
    size_t after_count;

    /* With `into`, which was captured before, since CUDA 13.3: the same work in the same order is
     * captured once more, and its nodes take over what is different. Other work, or other memory
     * that the graph allocates, ends the capture: then the graph has no nodes any more. */
    bool again;
    /* NULL, or asked of each node that is different; what is not 0 ends the capture. It must call
     * neither CUDA nor anycuda. */
    acu_result (*changed)(void *data, acu_node node, acu_recapture how);
    void *data;
} acu_capture_options;

/**
 * Begins to capture a stream, which must not be a legacy default one; `options` may be NULL.
 *
 * ACU_ERROR_CAPTURE if the stream, or the graph, is captured already. A stream that is released
 * before acu_stream_end_capture() ends the capture, and there is no graph.
 */
ACU_CHECKED acu_result acu_stream_begin_capture(acu_stream *stream,
                                                const acu_capture_options *options);

/**
 * Ends the capture that began on the stream; the caller owns the graph, which with `into` is that
 * one again, retained.
 *
 * If something has broken the capture, or streams were not joined, there is no graph, the result
 * says so and the streams are free again. A graph that was captured again then has no nodes; else
 * it gives up what it used before. ACU_ERROR_CAPTURE, and the capture goes on, where it did
 * not begin on this stream.
 */
ACU_CHECKED acu_result acu_stream_end_capture(acu_stream *stream, acu_graph **graph);

/**
 * Captures what a function puts on the stream, and ends the capture in any case.
 *
 * The function's failure is the result, with the error it left; else that of the end.
 */
ACU_CHECKED acu_result acu_stream_capture(acu_stream *stream, const acu_capture_options *options,
                                          acu_result (*function)(acu_stream *stream, void *data),
                                          void *data, acu_graph **graph);

/**
 * Captures an allocation: memory of the graph's own, at one address for all launches.
 *
 * The buffer is as that of acu_graph_add_alloc(): there is memory from this place of a launch on,
 * until acu_graph_memory_free() frees it, which is captured, too, on a stream of the capture
 * that comes after all uses. acu_buffer_create() is refused in a capture, since nobody could say
 * when its memory goes. Errors: ACU_ERROR_STATE if the stream is not captured by anycuda, and those
 * of acu_graph_add_alloc().
 */
ACU_CHECKED acu_result acu_stream_capture_alloc(acu_stream *stream, acu_dtype dtype, size_t count,
                                                acu_buffer **buffer);

/** How the capture of a stream stands. */
typedef enum acu_capture_status {
    ACU_CAPTURE_NONE = 0,
    ACU_CAPTURE_ACTIVE = 1,
    ACU_CAPTURE_INVALIDATED = 2 /* something has broken it; it must be ended all the same */
} acu_capture_status;

/** Whether a stream is captured, and well. */
ACU_CHECKED acu_result acu_stream_get_capture_status(acu_stream *stream,
                                                     acu_capture_status *status);

/** A capture that is under way. */
typedef struct acu_capture_info {
    acu_capture_status status;
    uint64_t id; /* of all captures of the process; 0 unless active, as the rest */
    acu_graph
        *graph; /* borrowed until the end: nodes may be added; NULL if anycuda did not begin it */
    size_t dependencies; /* how many nodes the next one depends on */
} acu_capture_info;

/** What is known of a stream's capture. */
ACU_CHECKED acu_result acu_stream_get_capture_info(acu_stream *stream, acu_capture_info *info);

/** What the next node that is captured depends on; `count` as of acu_graph_get_nodes(). */
ACU_CHECKED acu_result acu_stream_get_capture_dependencies(acu_stream *stream, acu_node *nodes,
                                                           acu_edge *edges, size_t *count);

/** Sets what the next node that is captured depends on; with `add`, besides what it does already.
 * `edges` is NULL or has one entry for each of `nodes`; not all zero since CUDA 12.3. */
ACU_CHECKED acu_result acu_stream_set_capture_dependencies(acu_stream *stream,
                                                           const acu_node *nodes,
                                                           const acu_edge *edges, size_t count,
                                                           bool add);

ACU_END_C

#endif
