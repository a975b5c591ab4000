/* The links of a device, to other devices and to the host: what they can do, and whose memory the
 * device may use. */
#include "safe/base/device.h"

/* ---- peers ---- */

acu_result acu_device_can_access_peer(acu_device device, acu_device peer, bool *can) {
    ACU_SCOPE();
    int answer = 0;
    ACU_NEED_POINTER(can);
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(acu_device_resolve(__func__, &peer));
    int code = (int)cudaDeviceCanAccessPeer(&answer, device, peer);
    *can = !code && answer;
    return acu_device_outcome(__func__, device, code);
}

static int ask(enum cudaDeviceP2PAttr attribute, acu_device device, acu_device peer, int *value) {
    acu_saved_record before;
    acu_record_save(&before);
    const int code = (int)cudaDeviceGetP2PAttribute(value, attribute, device, peer);
    return attribute == cudaDevP2PAttrOnlyPartialNativeAtomicSupported
               ? acu_device_optional(code, value, &before)
               : code;
}

/* Replaces ACU_DEVICE_CURRENT in both; fails where they are not two devices that exist. */
static int resolve_pair(const char *call, acu_device *device, acu_device *peer) {
    ACU_TRY(acu_device_resolve(call, device));
    ACU_TRY(acu_device_resolve(call, peer));
    if (*device != *peer)
        return 0;
    return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                    "'device' and 'peer' are both device %d, which has no link to itself", *peer);
}

acu_result acu_device_get_peer_info(acu_device device, acu_device peer, acu_peer_info *info) {
    ACU_SCOPE();
    enum { ASKED = 5 };
    static const enum cudaDeviceP2PAttr asked[ASKED] = {
        cudaDevP2PAttrAccessSupported, cudaDevP2PAttrNativeAtomicSupported,
        cudaDevP2PAttrOnlyPartialNativeAtomicSupported, cudaDevP2PAttrCudaArrayAccessSupported,
        cudaDevP2PAttrPerformanceRank};
    int answers[ASKED] = {0};
    ACU_NEED_POINTER(info);
    *info = (acu_peer_info){0};
    ACU_TRY(resolve_pair(__func__, &device, &peer));
    for (int i = 0; i < ASKED; i++)
        ACU_TRY(acu_device_outcome(__func__, device, ask(asked[i], device, peer, &answers[i])));
    *info = (acu_peer_info){.access = answers[0],
                            .native_atomics = answers[1],
                            .some_native_atomics = answers[2],
                            .array_access = answers[3],
                            .performance_rank = answers[4]};
    return 0;
}

/* Returns 0 where the code means that nothing was to be done, and takes that error back; else the
 * code. */
static int forgive(int code, int forgiven, const acu_saved_record *before) {
    if (code != forgiven)
        return code;
    (void)cudaGetLastError();
    acu_record_restore(before);
    return 0;
}

static int enable_peer(acu_device peer) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = (int)cudaDeviceEnablePeerAccess(peer, 0);
    return forgive(code, cudaErrorPeerAccessAlreadyEnabled, &before);
}

static int disable_peer(acu_device peer) {
    acu_saved_record before;
    acu_record_save(&before);
    int code;
    ACU_IGNORING_CAPTURES(code, cudaDeviceDisablePeerAccess(peer));
    return forgive(code, cudaErrorPeerAccessNotEnabled, &before);
}

acu_result acu_device_enable_peer_access(acu_device device, acu_device peer) {
    ACU_SCOPE();
    ACU_TRY(acu_device_resolve(__func__, &peer));
    ACU_ON_DEVICE(device, enable_peer(peer));
}

acu_result acu_device_disable_peer_access(acu_device device, acu_device peer) {
    ACU_SCOPE();
    ACU_TRY(acu_device_resolve(__func__, &peer));
    ACU_ON_DEVICE(device, disable_peer(peer));
}

/* ---- atomic operations over links ---- */

acu_result acu_device_get_host_atomics(acu_device device, acu_atomic_operation operation,
                                       unsigned *capabilities) {
    ACU_SCOPE();
    const enum cudaAtomicOperation asked = (enum cudaAtomicOperation)operation;
    ACU_NEED_POINTER(capabilities);
    *capabilities = 0;
    ACU_TRY(acu_device_resolve(__func__, &device));
    return acu_device_outcome_of(
        __func__, "atomic operation", operation, device,
        (int)cudaDeviceGetHostAtomicCapabilities(capabilities, &asked, 1, device));
}

acu_result acu_device_get_peer_atomics(acu_device device, acu_device peer,
                                       acu_atomic_operation operation, unsigned *capabilities) {
    ACU_SCOPE();
    const enum cudaAtomicOperation asked = (enum cudaAtomicOperation)operation;
    ACU_NEED_POINTER(capabilities);
    *capabilities = 0;
    ACU_TRY(resolve_pair(__func__, &device, &peer));
    return acu_device_outcome_of(
        __func__, "atomic operation", operation, device,
        (int)cudaDeviceGetP2PAtomicCapabilities(capabilities, &asked, 1, device, peer));
}

/* ---- writes of other devices ---- */

_Static_assert((int)cudaFlushGPUDirectRDMAWritesToOwner == (int)ACU_RDMA_OWNER &&
                   (int)cudaFlushGPUDirectRDMAWritesToAllDevices == (int)ACU_RDMA_ALL_DEVICES,
               "what is seen without a flush has the numbers of what a flush does");

acu_result acu_device_get_rdma_info(acu_device device, acu_rdma_info *info) {
    ACU_SCOPE();
    enum { ASKED = 3 };
    static const enum cudaDeviceAttr asked[ASKED] = {cudaDevAttrGPUDirectRDMASupported,
                                                     cudaDevAttrGPUDirectRDMAFlushWritesOptions,
                                                     cudaDevAttrGPUDirectRDMAWritesOrdering};
    int answers[ASKED] = {0};
    ACU_NEED_POINTER(info);
    *info = (acu_rdma_info){0};
    ACU_TRY(acu_device_resolve(__func__, &device));
    for (int i = 0; i < ASKED; i++)
        ACU_TRY(acu_device_outcome_of(__func__, "attribute", asked[i], device,
                                      (int)cudaDeviceGetAttribute(&answers[i], asked[i], device)));
    const unsigned flushes = (unsigned)answers[1];
    *info = (acu_rdma_info){
        .supported = answers[0],
        .flush_by_host = flushes & (unsigned)cudaFlushGPUDirectRDMAWritesOptionHost,
        .flush_by_stream = flushes & (unsigned)cudaFlushGPUDirectRDMAWritesOptionMemOps,
        .ordered = (acu_rdma_scope)answers[2]};
    return 0;
}

static int flush_rdma_writes(acu_rdma_scope scope) {
    return (int)cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                                   (enum cudaFlushGPUDirectRDMAWritesScope)scope);
}

acu_result acu_device_flush_rdma_writes(acu_device device, acu_rdma_scope scope) {
    ACU_SCOPE();
    ACU_ON_DEVICE_OF("scope", scope, device, flush_rdma_writes(scope));
}
