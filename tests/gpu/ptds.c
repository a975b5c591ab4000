/* A file whose default stream is the thread's own: the legacy stream cannot be captured, that one
 * can. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "smoke.h"

static void per_thread(void) {
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(0, cudaStreamCaptureModeThreadLocal));
    OK(cudaStreamEndCapture(0, &graph));
    OK(cudaGraphDestroy(graph));
    cudaError_t legacy = cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeThreadLocal);
    EXPECT(legacy == cudaErrorStreamCaptureUnsupported, "capturing the legacy stream: %d", legacy);
    (void)cudaGetLastError();
}

const check ptds_checks[] = {
    {"per-thread default stream", per_thread},
    {NULL, NULL},
};
