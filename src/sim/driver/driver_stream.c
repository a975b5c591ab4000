/* The driver API's streams and their captures: other names for the runtime's functions. */
#include "sim/device/context.h"
#include "sim/driver/driver.h"
#include "sim/stream/capture.h"
#include "sim/stream/stream.h"

#include <string.h>

/* ---- streams ---- */

cudaError_t acu_sim_cuStreamCreate(CUstream *phStream, unsigned int Flags) {
    return acu_sim_cudaStreamCreateWithFlags(phStream, Flags);
}

cudaError_t acu_sim_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags,
                                               int priority) {
    return acu_sim_cudaStreamCreateWithPriority(phStream, flags, priority);
}

cudaError_t acu_sim_cuStreamDestroy(CUstream hStream) {
    return acu_sim_cudaStreamDestroy(hStream);
}

cudaError_t acu_sim_cuStreamQuery(CUstream hStream) {
    return acu_sim_cudaStreamQuery(hStream);
}

cudaError_t acu_sim_cuStreamSynchronize(CUstream hStream) {
    return acu_sim_cudaStreamSynchronize(hStream);
}

cudaError_t acu_sim_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
    return acu_sim_cudaStreamWaitEvent(hStream, hEvent, Flags);
}

cudaError_t acu_sim_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                        unsigned int flags) {
    cudaStreamCallback_t same; /* the types of the status have the same size */
    memcpy(&same, &callback, sizeof same);
    return acu_sim_cudaStreamAddCallback(hStream, same, userData, flags);
}

cudaError_t acu_sim_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData) {
    return acu_sim_cudaLaunchHostFunc(hStream, fn, userData);
}

cudaError_t acu_sim_cuStreamGetFlags(CUstream hStream, unsigned int *flags) {
    return acu_sim_cudaStreamGetFlags(hStream, flags);
}

cudaError_t acu_sim_cuStreamGetPriority(CUstream hStream, int *priority) {
    return acu_sim_cudaStreamGetPriority(hStream, priority);
}

cudaError_t acu_sim_cuStreamGetId(CUstream hStream, unsigned long long *streamId) {
    return acu_sim_cudaStreamGetId(hStream, streamId);
}

cudaError_t acu_sim_cuStreamGetDevice(CUstream hStream, CUdevice *device) {
    return acu_sim_cudaStreamGetDevice(hStream, device);
}

cudaError_t acu_sim_cuStreamGetCtx(CUstream hStream, CUcontext *pctx) {
    acu_sim_stream *stream;
    if (!pctx)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_stream_of(hStream, &stream));
    SIM_TRY(acu_sim_capture_allows(stream, SIM_ENQUEUES));
    *pctx = acu_sim_context_handle(stream->context);
    return cudaSuccess;
}

cudaError_t acu_sim_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus) {
    return acu_sim_cudaStreamIsCapturing(hStream,
                                         (enum cudaStreamCaptureStatus *)(void *)captureStatus);
}

cudaError_t acu_sim_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                         CUstreamAttrValue *value_out) {
    return acu_sim_cudaStreamGetAttribute(hStream, (cudaLaunchAttributeID)attr,
                                          (cudaLaunchAttributeValue *)(void *)value_out);
}

cudaError_t acu_sim_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                         const CUstreamAttrValue *value) {
    return acu_sim_cudaStreamSetAttribute(hStream, (cudaLaunchAttributeID)attr,
                                          (const cudaLaunchAttributeValue *)(const void *)value);
}

cudaError_t acu_sim_cuStreamCopyAttributes(CUstream dst, CUstream src) {
    return acu_sim_cudaStreamCopyAttributes(dst, src);
}

/* ---- captures ---- */

_Static_assert(sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData), "laid out alike");

cudaError_t acu_sim_cuStreamBeginCapture(CUstream hStream, CUstreamCaptureMode mode) {
    return acu_sim_cudaStreamBeginCapture(hStream, (enum cudaStreamCaptureMode)mode);
}

cudaError_t acu_sim_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph) {
    return acu_sim_cudaStreamEndCapture(hStream, phGraph);
}

cudaError_t acu_sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    return acu_sim_cudaThreadExchangeStreamCaptureMode((enum cudaStreamCaptureMode *)(void *)mode);
}

cudaError_t acu_sim_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                                const CUgraphNode *after,
                                                const CUgraphEdgeData *data, size_t count,
                                                CUstreamCaptureMode mode) {
    return acu_sim_cudaStreamBeginCaptureToGraph(stream, graph, after,
                                                 (const cudaGraphEdgeData *)(const void *)data,
                                                 count, (enum cudaStreamCaptureMode)mode);
}

cudaError_t acu_sim_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status,
                                           cuuint64_t *id, CUgraph *graph,
                                           const CUgraphNode **nodes, const CUgraphEdgeData **data,
                                           size_t *count) {
    return acu_sim_cudaStreamGetCaptureInfo(stream, (enum cudaStreamCaptureStatus *)(void *)status,
                                            (unsigned long long *)(void *)id, graph, nodes,
                                            (const cudaGraphEdgeData **)(void *)data, count);
}

cudaError_t acu_sim_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes,
                                                      const CUgraphEdgeData *data, size_t count,
                                                      unsigned flags) {
    return acu_sim_cudaStreamUpdateCaptureDependencies(
        stream, nodes, (const cudaGraphEdgeData *)(const void *)data, count, flags);
}
