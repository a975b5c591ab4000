/* What streams report of themselves, and what can be set on them. */
#include "sim/behaviour.h"
#include "sim/device/device.h"
#include "sim/stream/capture.h"
#include "sim/stream/stream.h"

/* Finds the stream for a question. Captures allow some questions as they allow work, and are
 * invalid after the others. */
static cudaError_t find(cudaStream_t handle, acu_sim_use use, acu_sim_stream **stream) {
    SIM_TRY(acu_sim_stream_usable(handle, stream));
    return acu_sim_capture_allows(*stream, use);
}

cudaError_t acu_sim_cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags) {
    acu_sim_stream *s;
    SIM_TRY(find(hStream, SIM_REFUSES, &s));
    if (!flags)
        return cudaErrorInvalidValue;
    *flags = s->flags;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaStreamGetPriority(cudaStream_t hStream, int *priority) {
    acu_sim_stream *s;
    SIM_TRY(find(hStream, SIM_ENQUEUES, &s));
    if (!priority)
        return cudaErrorInvalidValue;
    *priority = s->priority;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId) {
    acu_sim_stream *s;
    SIM_TRY(find(hStream, SIM_REFUSES, &s));
    if (!streamId)
        return cudaErrorInvalidValue;
    *streamId = s->id;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaStreamGetDevice(cudaStream_t hStream, int *device) {
    acu_sim_stream *s;
    SIM_TRY(find(hStream, SIM_REFUSES, &s));
    if (!device)
        return cudaErrorInvalidValue;
    *device = s->device->index;
    return cudaSuccess;
}

/* ---- attributes ---- */

static bool has_attribute(cudaLaunchAttributeID id) {
    return id == cudaLaunchAttributeAccessPolicyWindow ||
           id == cudaLaunchAttributeSynchronizationPolicy ||
           ((id == cudaLaunchAttributePriority || id == cudaLaunchAttributeMemSyncDomainMap ||
             id == cudaLaunchAttributeMemSyncDomain) &&
            !acu_sim_behaviour_stream_attributes_are_few());
}

cudaError_t acu_sim_cudaStreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                           cudaLaunchAttributeValue *value_out) {
    acu_sim_stream *s;
    SIM_TRY(find(hStream, SIM_ENQUEUES, &s));
    if (!value_out || !has_attribute(attr))
        return cudaErrorInvalidValue;
    switch ((int)attr) {
    case cudaLaunchAttributeAccessPolicyWindow:
        value_out->accessPolicyWindow = s->window;
        break;
    case cudaLaunchAttributeSynchronizationPolicy:
        value_out->syncPolicy = s->sync_policy;
        break;
    case cudaLaunchAttributePriority:
        value_out->priority = s->priority;
        break;
    case cudaLaunchAttributeMemSyncDomainMap:
        value_out->memSyncDomainMap = s->domains;
        break;
    default:
        value_out->memSyncDomain = s->domain;
    }
    return cudaSuccess;
}

static bool is_window(const acu_sim_stream *stream, const struct cudaAccessPolicyWindow *window) {
    int largest = acu_sim_device_attribute(stream->device, cudaDevAttrMaxAccessPolicyWindowSize);
    return window->num_bytes <= (size_t)largest && window->hitRatio >= 0 && window->hitRatio <= 1 &&
           (unsigned)window->missProp <= cudaAccessPropertyStreaming;
}

static cudaError_t set_attribute(acu_sim_stream *s, cudaLaunchAttributeID id,
                                 const cudaLaunchAttributeValue *value) {
    int domains = acu_sim_device_attribute(s->device, cudaDevAttrMemSyncDomainCount);
    switch ((int)id) {
    case cudaLaunchAttributeAccessPolicyWindow:
        if (!is_window(s, &value->accessPolicyWindow))
            return cudaErrorInvalidValue;
        s->window = value->accessPolicyWindow;
        return cudaSuccess;
    case cudaLaunchAttributeSynchronizationPolicy:
        if (!acu_sim_knows(&acu_cudart_type_cudaSynchronizationPolicy, value->syncPolicy))
            return cudaErrorInvalidValue;
        s->sync_policy = value->syncPolicy;
        return cudaSuccess;
    case cudaLaunchAttributePriority:
        s->priority = acu_sim_stream_nearest_priority(value->priority);
        return cudaSuccess;
    case cudaLaunchAttributeMemSyncDomainMap:
        if (value->memSyncDomainMap.default_ >= domains ||
            value->memSyncDomainMap.remote >= domains)
            return cudaErrorInvalidValue;
        s->domains = value->memSyncDomainMap;
        return cudaSuccess;
    default:
        if ((unsigned)value->memSyncDomain > cudaLaunchMemSyncDomainRemote)
            return cudaErrorInvalidValue;
        s->domain = value->memSyncDomain;
        return cudaSuccess;
    }
}

cudaError_t acu_sim_cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                           const cudaLaunchAttributeValue *value) {
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_usable(hStream, &s));
    if (!value || !has_attribute(attr))
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_capture_allows(s, SIM_ENQUEUES));
    return set_attribute(s, attr, value);
}

cudaError_t acu_sim_cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src) {
    acu_sim_stream *from, *to;
    SIM_TRY(find(dst, SIM_ENQUEUES, &to));
    SIM_TRY(find(src, SIM_ENQUEUES, &from));
    if (from->device != to->device)
        return cudaErrorInvalidValue;
    to->window = from->window;
    to->sync_policy = from->sync_policy;
    to->priority = from->priority;
    to->domains = from->domains;
    to->domain = from->domain;
    return cudaSuccess;
}
