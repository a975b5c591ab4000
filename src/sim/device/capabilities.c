/* Capabilities of devices: atomic operations over their links to the host and to each other, and
 * the banks of shared memory. */
#include "sim/device/device.h"

static unsigned capability_of(enum cudaAtomicOperation operation) {
    const unsigned sizes =
        cudaAtomicCapabilityReduction | cudaAtomicCapabilityScalar32 | cudaAtomicCapabilityScalar64;
    switch (operation) {
    case cudaAtomicOperationFloatAdd:
    case cudaAtomicOperationFloatMin:
    case cudaAtomicOperationFloatMax:
        return sizes;
    default:
        return sizes | cudaAtomicCapabilitySigned | cudaAtomicCapabilityUnsigned;
    }
}

/* Lists the capabilities of the operations: 0 for each if `native` is false, because then the link
 * has no atomic operations. CUDA answers for the operations before an unknown one, too. */
static cudaError_t list_capabilities(unsigned *capabilities,
                                     const enum cudaAtomicOperation *operations, unsigned count,
                                     bool native) {
    for (unsigned i = 0; i < count; i++) {
        const bool known = acu_sim_knows(&acu_cudart_type_cudaAtomicOperation, operations[i]);
        capabilities[i] = native && known ? capability_of(operations[i]) : 0;
        if (!known)
            return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                                        const enum cudaAtomicOperation *operations,
                                                        unsigned int count, int device) {
    const acu_sim_device *d = acu_sim_device_at(device);
    if (!capabilities || !operations || !count)
        return cudaErrorInvalidValue;
    return d ? list_capabilities(capabilities, operations, count,
                                 acu_sim_device_attribute(d, cudaDevAttrHostNativeAtomicSupported))
             : cudaErrorInvalidDevice;
}

cudaError_t acu_sim_cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
                                                       const enum cudaAtomicOperation *operations,
                                                       unsigned int count, int srcDevice,
                                                       int dstDevice) {
    const bool linked =
        srcDevice != dstDevice && acu_sim_device_at(srcDevice) && acu_sim_device_at(dstDevice);
    if (!capabilities || !operations || !count)
        return cudaErrorInvalidValue;
    return linked ? list_capabilities(capabilities, operations, count, true)
                  : cudaErrorInvalidDevice;
}

/* There is nothing to flush, because no other device writes to the memory of a simulated one. */
cudaError_t
acu_sim_cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                           enum cudaFlushGPUDirectRDMAWritesScope scope) {
    const bool known = target == cudaFlushGPUDirectRDMAWritesTargetCurrentDevice &&
                       acu_sim_knows(&acu_cudart_type_cudaFlushGPUDirectRDMAWritesScope, scope);
    return known ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- banks of shared memory ---- */

/* Banks are four bytes wide on all hardware that the simulated runtimes support. */
cudaError_t acu_sim_cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig) {
    if (!pConfig)
        return cudaErrorInvalidValue;
    *pConfig = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) {
    if (!acu_sim_knows(&acu_cudart_type_cudaSharedMemConfig, config))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}
