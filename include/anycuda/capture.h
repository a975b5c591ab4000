/*
 * Capture: work that is put on streams is not done, but becomes the nodes of a graph.
 *
 * A capture begins on one stream. A stream that waits for captured work, by acu_stream_fork() or an
 * event, joins the capture, and must be joined back into the first stream before the end. The graph
 * owns the memory, kernels, events and closures that were used.
 *
 * Until the end, the captured streams belong to the thread that captures, and other threads must
 * not use them. What the thread releases while it captures is destroyed after the end, because CUDA
 * would break the capture.
 */
#ifndef ACU_CAPTURE_H
#define ACU_CAPTURE_H

#include <anycuda/graph.h>

ACU_BEGIN_C

/**
 * Which threads must not make unsafe calls while a stream is captured. Such a call, which may wait
 * for the device, like an allocation without a stream, breaks the capture.
 */
typedef enum acu_capture_mode {
    ACU_CAPTURE_THREAD = 0, /* the thread that captures */
    ACU_CAPTURE_GLOBAL = 1, /* all threads */
    ACU_CAPTURE_RELAXED = 2 /* no thread; and any thread may end the capture */
} acu_capture_mode;

/** What it means for executable graphs that a node was captured again with other parameters. */
typedef enum acu_recapture {
    ACU_RECAPTURE_UPDATES = 0,   /* acu_exec_update() can apply them */
    ACU_RECAPTURE_NO_UPDATE = 1, /* the graph must be instantiated again */
    ACU_RECAPTURE_IMPOSSIBLE = 2 /* the capture ends here, whatever the callback returns */
} acu_recapture;

/** How to capture; zero is into a new graph, with ACU_CAPTURE_THREAD. */
typedef struct acu_capture_options {
    acu_capture_mode mode;
    acu_graph *into;       /* NULL: a new graph; else since CUDA 12.3 */
    const acu_node *after; /* with `into`: what the first nodes depend on */
    const acu_edge *edges; /* NULL, or what is special about each dependency on `after` */
    size_t after_count;

    /* With `into`, since CUDA 13.3: the graph was captured before, and the same work is captured
     * again in the same order. The nodes get the new parameters. Other work, or other memory that
     * the graph allocates, ends the capture, and the graph is lost then. */
    bool again;
    /* With `again`; may be NULL. Called for each node whose parameters differ; a result other than
     * 0 ends the capture. The callback must call neither CUDA nor anycuda. */
    acu_result (*changed)(void *data, acu_node node, acu_recapture how);
    void *data; /* for `changed` */
} acu_capture_options;

/**
 * Begins to capture a stream, which must not be the legacy default stream; `options` may be NULL.
 *
 * Releasing the stream before acu_stream_end_capture() ends the capture without a graph. Errors:
 * ACU_ERROR_CAPTURE where the stream is captured already, or a stream is captured into the graph;
 * ACU_ERROR_STATE where the graph is lost, because a capture into it failed.
 */
ACU_CHECKED acu_result acu_stream_begin_capture(acu_stream *stream,
                                                const acu_capture_options *options);

/**
 * Ends the capture that began on the stream; the caller owns the graph. With `into` that graph is
 * returned, retained once more.
 *
 * If the capture was broken, or a stream was not joined, the error says so, there is no graph, and
 * the streams can be used again. A graph that existed before is lost then: it can be released and
 * nothing else. One that was captured again gives up, after a capture that ended well, what it used
 * before. Errors: ACU_ERROR_CAPTURE where the capture did not begin on this stream; the capture
 * then goes on.
 */
ACU_CHECKED acu_result acu_stream_end_capture(acu_stream *stream, acu_graph **graph);

/**
 * Captures what a function puts on the stream, and ends the capture in any case; the caller owns
 * the graph, as for acu_stream_end_capture().
 *
 * Returns the function's failure, with the error that it left, or else what ending returns. After a
 * failure there is no graph.
 */
ACU_CHECKED acu_result acu_stream_capture(acu_stream *stream, const acu_capture_options *options,
                                          acu_result (*function)(acu_stream *stream, void *data),
                                          void *data, acu_graph **graph);

/**
 * Captures an allocation of memory that belongs to the graph, at one address in all launches; the
 * caller owns the buffer.
 *
 * The buffer is like one of acu_graph_add_alloc(): its memory exists from this point of a launch
 * until acu_graph_memory_free() frees it. That call is captured, too, on a stream of the capture
 * that comes after all uses. acu_buffer_create() is refused in a capture, because it could not know
 * when to free. Errors: ACU_ERROR_STATE where anycuda does not capture the stream, and those of
 * acu_graph_add_alloc().
 */
ACU_CHECKED acu_result acu_stream_capture_alloc(acu_stream *stream, acu_dtype dtype, size_t count,
                                                acu_buffer **buffer);

/** The state of a stream's capture. */
typedef enum acu_capture_status {
    ACU_CAPTURE_NONE = 0,
    ACU_CAPTURE_ACTIVE = 1,
    ACU_CAPTURE_INVALIDATED = 2 /* a call broke the capture, which must still be ended */
} acu_capture_status;

/** Asks for the state of a stream's capture. */
ACU_CHECKED acu_result acu_stream_get_capture_status(acu_stream *stream,
                                                     acu_capture_status *status);

/** A stream's capture. All but the status is 0 or NULL unless the status is ACU_CAPTURE_ACTIVE. */
typedef struct acu_capture_info {
    acu_capture_status status;
    uint64_t id;      /* CUDA's; no other capture of the process has it */
    acu_graph *graph; /* stays the capture's until the end; nodes may be added; NULL where anycuda
                         did not begin the capture */
    size_t dependencies; /* how many nodes the next node depends on */
} acu_capture_info;

/** Asks for a stream's capture: its state, number, graph and dependencies. */
ACU_CHECKED acu_result acu_stream_get_capture_info(acu_stream *stream, acu_capture_info *info);

/** Lists what the next captured node depends on; `count` as for acu_graph_get_nodes(). */
ACU_CHECKED acu_result acu_stream_get_capture_dependencies(acu_stream *stream, acu_node *nodes,
                                                           acu_edge *edges, size_t *count);

/**
 * Finds the node that was just captured on the stream, for acu_exec_set_launch() and its like.
 *
 * Errors: ACU_ERROR_STATE where anycuda does not capture the stream, where nothing was captured
 * yet, or where the next node depends on several, because the stream has just waited for another
 * one.
 */
ACU_CHECKED acu_result acu_stream_get_captured_node(acu_stream *stream, acu_node *node);

/**
 * Sets what the next captured node depends on; with `add` these nodes are added to those that it
 * depends on already.
 *
 * `edges` is NULL or has one entry for each of `nodes`; entries that are not all zero need
 * CUDA 12.3.
 */
ACU_CHECKED acu_result acu_stream_set_capture_dependencies(acu_stream *stream,
                                                           const acu_node *nodes,
                                                           const acu_edge *edges, size_t count,
                                                           bool add);

ACU_END_C

#endif
