/* Streams: what is set on them. */
#include "safe/base/stream.h"

#define OUTCOME(stream, code) acu_outcome(__func__, (stream), (int)(code))

/* Asks for an attribute of a device, for a hint; 0 where there is none. */
static int number_of(acu_device device, enum cudaDeviceAttr attribute) {
    int value = 0;
    acu_saved_record before;
    acu_record_save(&before);
    if (cudaDeviceGetAttribute(&value, attribute, device))
        (void)cudaGetLastError();
    acu_record_restore(&before);
    return value;
}

static void hint_at_window(acu_device device, const struct cudaAccessPolicyWindow *w) {
    const int most = number_of(device, cudaDevAttrMaxAccessPolicyWindowSize);
    if (!(w->hitRatio >= 0 && w->hitRatio <= 1)) /* also where it is no number */
        acu_fail_hint("'hit_ratio' is %g, but can be 0 to 1", (double)w->hitRatio);
    else if ((unsigned)w->missProp > cudaAccessPropertyStreaming)
        acu_fail_hint("'miss' is %u, but can be 0 (normal) or 1 (streaming)",
                      (unsigned)w->missProp);
    else if (w->num_bytes > (size_t)most)
        acu_fail_hint("the window has %zu bytes, but device %d takes %d at most", w->num_bytes,
                      device, most);
}

void acu_stream_hint_at(acu_device device, const cudaLaunchAttribute *attribute) {
    const cudaLaunchAttributeValue *value = &attribute->val;
    if (attribute->id == cudaLaunchAttributeAccessPolicyWindow) {
        hint_at_window(device, &value->accessPolicyWindow);
    } else if (attribute->id == cudaLaunchAttributeMemSyncDomainMap) {
        const int count = number_of(device, cudaDevAttrMemSyncDomainCount);
        if (value->memSyncDomainMap.default_ >= count || value->memSyncDomainMap.remote >= count)
            acu_fail_hint("the domains of device %d are 0 to %d", device, count - 1);
    }
}

/* Lets the description of a stream have the priority that CUDA has made of the one it was given. */
static void note_priority(acu_stream *stream) {
    int priority;
    acu_saved_record before;
    acu_record_save(&before);
    if (cudaStreamGetPriority(stream->raw, &priority) == cudaSuccess)
        __atomic_store_n(&stream->priority, priority, __ATOMIC_RELAXED);
    else
        (void)cudaGetLastError();
    acu_record_restore(&before);
}

/* Sets an attribute; returns a result of the public function `call`. */
static int set(const char *call, acu_stream *stream, cudaLaunchAttributeID id,
               const cudaLaunchAttributeValue *value) {
    acu_guard guard;
    ACU_TRY(acu_stream_check(call, stream));
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaStreamSetAttribute(stream->raw, id, value);
    if (!code && id == cudaLaunchAttributePriority)
        note_priority(stream);
    acu_guard_leave(&guard);
    if (code == cudaErrorInvalidValue && id == cudaLaunchAttributeNvlinkUtilCentricScheduling)
        acu_fail_hint("this driver does it for launches alone: acu_grid_more.nvlink_centric");
    else if (code == cudaErrorInvalidValue)
        acu_stream_hint_at(stream->object.device, &(cudaLaunchAttribute){.id = id, .val = *value});
    return acu_outcome(call, stream, code);
}

/* CUDA reports a number that is no policy where none was set. */
static acu_sync_policy policy_of(const cudaLaunchAttributeValue *value) {
    const int policy = (int)value->syncPolicy;
    return policy >= ACU_SYNC_AUTO && policy <= ACU_SYNC_BLOCK ? (acu_sync_policy)policy
                                                               : ACU_SYNC_AUTO;
}

acu_result acu_stream_get_sync_policy(acu_stream *stream, acu_sync_policy *policy) {
    ACU_SCOPE();
    cudaLaunchAttributeValue value = {{0}};
    ACU_NEED_POINTER(policy);
    ACU_NEED_STREAM(stream);
    ACU_TRY(OUTCOME(stream, cudaStreamGetAttribute(
                                stream->raw, cudaLaunchAttributeSynchronizationPolicy, &value)));
    *policy = policy_of(&value);
    return 0;
}

acu_result acu_stream_set_sync_policy(acu_stream *stream, acu_sync_policy policy) {
    ACU_SCOPE();
    ACU_REQUIRE(policy >= ACU_SYNC_AUTO && policy <= ACU_SYNC_BLOCK, ACU_ERROR_ARGUMENT,
                "there is no synchronisation policy %d", (int)policy);
    const cudaLaunchAttributeValue value = {.syncPolicy = (enum cudaSynchronizationPolicy)policy};
    return set(__func__, stream, cudaLaunchAttributeSynchronizationPolicy, &value);
}

acu_result acu_stream_set_access_window(acu_stream *stream, const acu_access_window *window) {
    ACU_SCOPE();
    static const acu_access_window none;
    const acu_access_window *w = window ? window : &none;
    const cudaLaunchAttributeValue value = {
        .accessPolicyWindow = {.base_ptr = w->pointer,
                               .num_bytes = w->bytes,
                               .hitRatio = w->hit_ratio,
                               .hitProp = (enum cudaAccessProperty)w->hit,
                               .missProp = (enum cudaAccessProperty)w->miss}};
    return set(__func__, stream, cudaLaunchAttributeAccessPolicyWindow, &value);
}

acu_result acu_stream_set_priority(acu_stream *stream, int priority) {
    ACU_SCOPE();
    const cudaLaunchAttributeValue value = {.priority = priority};
    return set(__func__, stream, cudaLaunchAttributePriority, &value);
}

acu_result acu_stream_set_memory_domain(acu_stream *stream, unsigned domain) {
    ACU_SCOPE();
    ACU_REQUIRE(domain <= cudaLaunchMemSyncDomainRemote, ACU_ERROR_ARGUMENT,
                "there is no memory domain %u: 0 is the default one, 1 the remote one", domain);
    const cudaLaunchAttributeValue value = {.memSyncDomain = (cudaLaunchMemSyncDomain)domain};
    return set(__func__, stream, cudaLaunchAttributeMemSyncDomain, &value);
}

acu_result acu_stream_set_memory_domains(acu_stream *stream, acu_memory_domains domains) {
    ACU_SCOPE();
    const cudaLaunchAttributeValue value = {
        .memSyncDomainMap = {.default_ = domains.local, .remote = domains.remote}};
    return set(__func__, stream, cudaLaunchAttributeMemSyncDomainMap, &value);
}

acu_result acu_stream_set_nvlink_centric(acu_stream *stream, bool centric) {
    ACU_SCOPE();
    const cudaLaunchAttributeValue value = {.nvlinkUtilCentricScheduling = centric};
    return set(__func__, stream, cudaLaunchAttributeNvlinkUtilCentricScheduling, &value);
}

/* Asks for an attribute; one that the runtime or the driver does not have for streams is 0, and
 * leaves no error behind. */
static int get(const acu_stream *stream, cudaLaunchAttributeID id,
               cudaLaunchAttributeValue *value) {
    acu_saved_record before;
    acu_record_save(&before);
    *value = (cudaLaunchAttributeValue){{0}};
    int code = (int)cudaStreamGetAttribute(stream->raw, id, value);
    if (code != cudaErrorInvalidValue && code != cudaErrorNotSupported)
        return code;
    *value = (cudaLaunchAttributeValue){{0}};
    (void)cudaGetLastError();
    acu_record_restore(&before);
    return 0;
}

static acu_access_window window_of(const struct cudaAccessPolicyWindow *w) {
    return (acu_access_window){.pointer = w->base_ptr,
                               .bytes = w->num_bytes,
                               .hit_ratio = w->hitRatio,
                               .hit = (unsigned)w->hitProp,
                               .miss = (unsigned)w->missProp};
}

static int get_all(const acu_stream *stream, acu_stream_info *info) {
    cudaLaunchAttributeValue window, policy, priority, domain, domains, centric;
    int code = get(stream, cudaLaunchAttributeAccessPolicyWindow, &window);
    if (!code)
        code = get(stream, cudaLaunchAttributeSynchronizationPolicy, &policy);
    if (!code)
        code = get(stream, cudaLaunchAttributePriority, &priority);
    if (!code)
        code = get(stream, cudaLaunchAttributeMemSyncDomain, &domain);
    if (!code)
        code = get(stream, cudaLaunchAttributeMemSyncDomainMap, &domains);
    if (!code)
        code = get(stream, cudaLaunchAttributeNvlinkUtilCentricScheduling, &centric);
    if (code)
        return code;
    *info = (acu_stream_info){
        .window = window_of(&window.accessPolicyWindow),
        .sync_policy = policy_of(&policy),
        .priority = priority.priority,
        .memory_domain = (unsigned)domain.memSyncDomain,
        .memory_domains = {domains.memSyncDomainMap.default_, domains.memSyncDomainMap.remote},
        .nvlink_centric = centric.nvlinkUtilCentricScheduling != 0,
    };
    return 0;
}

acu_result acu_stream_get_info(acu_stream *stream, acu_stream_info *info) {
    ACU_SCOPE();
    acu_guard guard;
    ACU_NEED_POINTER(info);
    *info = (acu_stream_info){.sync_policy = ACU_SYNC_AUTO};
    ACU_NEED_STREAM(stream);
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = get_all(stream, info);
    acu_guard_leave(&guard);
    return OUTCOME(stream, code);
}

acu_result acu_stream_copy_attributes(acu_stream *to, acu_stream *from) {
    ACU_SCOPE();
    acu_guard guard;
    ACU_NEED_STREAM(from);
    ACU_NEED_STREAM(to);
    if (from->object.device != to->object.device)
        return acu_fail_on(__func__, to, ACU_ERROR_DEVICE, "the other stream is on device %d",
                           from->object.device);
    int code = acu_stream_enter(to, &guard);
    if (!code)
        code = (int)cudaStreamCopyAttributes(to->raw, from->raw);
    if (!code)
        note_priority(to);
    acu_guard_leave(&guard);
    return OUTCOME(to, code);
}

acu_result acu_stream_set_name(acu_stream *stream, const char *name) {
    ACU_SCOPE();
    ACU_NEED(stream, acu_stream_class);
    ACU_NEED_POINTER(name);
    acu_name_set(&stream->name, name);
    if (acu_audience_listens()) {
        __atomic_store_n(&stream->named, true, __ATOMIC_RELAXED);
        acu_audience_name(ACU_NAMED_STREAM, (uintptr_t)stream->raw, name);
    }
    return 0;
}
