/* Capturing into a graph again. */
#include "graphs.h"

typedef struct word {
    cudaError_t answer;
    int calls, status, inner;
    unsigned before, now;
} word;

static cudaError_t give_word(void *data, cudaGraphNode_t node,
                             const struct cudaGraphNodeParams *original,
                             const struct cudaGraphNodeParams *now,
                             enum cudaGraphRecaptureStatus status) {
    word *w = data;
    int device;
    (void)node;
    w->calls++;
    w->status = (int)status;
    w->before = original->memset.value;
    w->now = now->memset.value;
    w->inner = (int)cudaGetDevice(&device);
    return w->answer;
}

/* Two fills, captured; NULL where that failed. */
static cudaGraph_t capture(cudaStream_t stream, unsigned *memory) {
    cudaGraph_t graph = NULL;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) ||
        cudaMemsetAsync(memory, 1, 4, stream) || cudaMemsetAsync(memory + 1, 9, 4, stream))
        return NULL;
    return cudaStreamEndCapture(stream, &graph) ? NULL : graph;
}

static bool has_recapture(void) {
    if (driver() >= 13030)
        return true;
    skip("the driver is older than capturing again");
    return false;
}

CASE(other_parameters_are_taken_over) {
    cudaStream_t s = new_stream();
    cudaGraph_t graph = NULL, ended = NULL;
    cudaGraphExec_t exec = NULL;
    unsigned *memory = NULL;
    word w = {.answer = cudaSuccess};
    struct cudaGraphRecaptureCallbackData data = {give_word, &w};
    if (!has_recapture())
        return;
    OK(cudaMalloc((void **)&memory, 8));
    IS((graph = capture(s, memory)) != NULL);
    OK(cudaStreamBeginRecaptureToGraph(s, cudaStreamCaptureModeRelaxed, graph, &data));
    YES(cudaMemsetAsync(memory, 2, 4, s));
    YES(cudaMemsetAsync(memory + 1, 9, 4, s));
    YES(cudaStreamEndCapture(s, &ended));
    IS(ended == graph);
    EQUAL(count_nodes(graph), 2);
    EQUAL(w.calls, 1);
    EQUAL(w.status, cudaGraphRecaptureEligibleForUpdate);
    EQUAL(w.before, 1);
    EQUAL(w.now, 2);
    ASK(w.inner);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(read_back(memory), 0x02020202);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(s));
}

CASE(a_recapture_that_the_program_ends) {
    cudaStream_t s = new_stream();
    cudaGraph_t graph = NULL, ended = NULL;
    unsigned *memory = NULL;
    word w = {.answer = cudaErrorInvalidValue};
    struct cudaGraphRecaptureCallbackData data = {give_word, &w};
    if (!has_recapture())
        return;
    OK(cudaMalloc((void **)&memory, 8));
    IS((graph = capture(s, memory)) != NULL);
    OK(cudaStreamBeginRecaptureToGraph(s, cudaStreamCaptureModeRelaxed, graph, &data));
    ASK(cudaMemsetAsync(memory, 2, 4, s));
    ASK(status_of(s));
    ASK(cudaStreamEndCapture(s, &ended));
    EQUAL(w.calls, 1);
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(s));
}

CASE(a_recapture_of_another_shape) {
    cudaStream_t s = new_stream();
    cudaGraph_t graph = NULL, ended = NULL;
    unsigned *memory = NULL;
    if (!has_recapture())
        return;
    OK(cudaMalloc((void **)&memory, 8));
    IS((graph = capture(s, memory)) != NULL);
    OK(cudaStreamBeginRecaptureToGraph(s, cudaStreamCaptureModeRelaxed, graph, NULL));
    YES(cudaMemsetAsync(memory, 1, 4, s));
    ASK(cudaStreamEndCapture(s, &ended)); /* one is missing */
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    FAILS(cudaErrorInvalidValue,
          cudaStreamBeginRecaptureToGraph(s, cudaStreamCaptureModeRelaxed, NULL, NULL));
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(s));
}
