/* Replays: what a captured stream was given becomes a graph, of which one launch is one run. */
#include "runtime/cuda/cuda.h"

#include <anycuda/capture.h>

acu_result acu_cuda_capture_begin(acu_backend_queue *queue) {
    pthread_mutex_lock(&queue->capture_lock);
    const acu_result code = acu_cuda_outcome(acu_stream_begin_capture(queue->stream, NULL));
    queue->captures = code == 0;
    if (code)
        pthread_mutex_unlock(&queue->capture_lock);
    return code;
}

/* Ends the stream's capture; the caller owns the graph. */
static acu_result end_capture(acu_backend_queue *queue, acu_graph **graph) {
    queue->captures = false;
    const acu_result code = acu_stream_end_capture(queue->stream, graph);
    pthread_mutex_unlock(&queue->capture_lock);
    return code;
}

/* The executable graph keeps what the graph kept. */
static acu_result end(acu_backend_queue *queue, acu_exec **exec) {
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_TRY(end_capture(queue, &graph));
    return acu_graph_instantiate(graph, NULL, exec);
}

acu_result acu_cuda_capture_end(acu_backend_queue *queue, acu_backend_replay **out) {
    acu_exec *exec = NULL;
    const acu_result code = end(queue, &exec);
    *out = (acu_backend_replay *)(void *)exec;
    return acu_cuda_outcome(code);
}

/* A capture that a failed call has broken ends with an error, which says nothing new. */
void acu_cuda_capture_cancel(acu_backend_queue *queue) {
    acu_graph *graph = NULL;
    if (queue->captures && !end_capture(queue, &graph))
        (void)acu_graph_release(graph);
}

acu_result acu_cuda_replay_run(acu_backend_queue *queue, acu_backend_replay *replay) {
    return acu_cuda_outcome(acu_exec_launch((acu_exec *)(void *)replay, queue->stream));
}

/* A failed release is kept for acu_release_error(). */
void acu_cuda_replay_destroy(acu_backend_replay *replay) {
    (void)acu_exec_release((acu_exec *)(void *)replay);
}
