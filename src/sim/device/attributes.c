/* What a device reports: attributes, properties, and its address on the PCI bus. */
#include "sim/cuda_bodies.h"
#include "sim/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- attributes ---- */

/* The values of an H100, which do not depend on the configuration. Attributes not listed are 0. */
static const int attributes[] = {
    [cudaDevAttrMaxThreadsPerBlock] = 1024,
    [cudaDevAttrMaxBlockDimX] = 1024,
    [cudaDevAttrMaxBlockDimY] = 1024,
    [cudaDevAttrMaxBlockDimZ] = 64,
    [cudaDevAttrMaxGridDimX] = 2147483647,
    [cudaDevAttrMaxGridDimY] = 65535,
    [cudaDevAttrMaxGridDimZ] = 65535,
    [cudaDevAttrMaxSharedMemoryPerBlock] = 49152,
    [cudaDevAttrTotalConstantMemory] = 65536,
    [cudaDevAttrWarpSize] = 32,
    [cudaDevAttrMaxPitch] = 2147483647,
    [cudaDevAttrClockRate] = 1980000,
    [cudaDevAttrTextureAlignment] = 512,
    [cudaDevAttrGpuOverlap] = 1,
    [cudaDevAttrMultiProcessorCount] = 132,
    [cudaDevAttrCanMapHostMemory] = 1,
    [cudaDevAttrMaxTexture1DWidth] = 131072,
    [cudaDevAttrMaxTexture2DWidth] = 131072,
    [cudaDevAttrMaxTexture2DHeight] = 65536,
    [cudaDevAttrMaxTexture3DWidth] = 16384,
    [cudaDevAttrMaxTexture3DHeight] = 16384,
    [cudaDevAttrMaxTexture3DDepth] = 16384,
    [cudaDevAttrMaxTexture2DLayeredWidth] = 32768,
    [cudaDevAttrMaxTexture2DLayeredHeight] = 32768,
    [cudaDevAttrMaxTexture2DLayeredLayers] = 2048,
    [cudaDevAttrSurfaceAlignment] = 512,
    [cudaDevAttrConcurrentKernels] = 1,
    [cudaDevAttrEccEnabled] = 1,
    [cudaDevAttrMemoryClockRate] = 2619000,
    [cudaDevAttrGlobalMemoryBusWidth] = 5120,
    [cudaDevAttrL2CacheSize] = 52428800,
    [cudaDevAttrAsyncEngineCount] = 3,
    [cudaDevAttrUnifiedAddressing] = 1,
    [cudaDevAttrMaxTexture1DLayeredWidth] = 32768,
    [cudaDevAttrMaxTexture1DLayeredLayers] = 2048,
    [cudaDevAttrMaxTexture2DGatherWidth] = 32768,
    [cudaDevAttrMaxTexture2DGatherHeight] = 32768,
    [cudaDevAttrMaxTexture3DWidthAlt] = 8192,
    [cudaDevAttrMaxTexture3DHeightAlt] = 8192,
    [cudaDevAttrMaxTexture3DDepthAlt] = 32768,
    [cudaDevAttrTexturePitchAlignment] = 32,
    [cudaDevAttrMaxTextureCubemapWidth] = 32768,
    [cudaDevAttrMaxTextureCubemapLayeredWidth] = 32768,
    [cudaDevAttrMaxTextureCubemapLayeredLayers] = 2046,
    [cudaDevAttrMaxSurface1DWidth] = 32768,
    [cudaDevAttrMaxSurface2DWidth] = 131072,
    [cudaDevAttrMaxSurface2DHeight] = 65536,
    [cudaDevAttrMaxSurface3DWidth] = 16384,
    [cudaDevAttrMaxSurface3DHeight] = 16384,
    [cudaDevAttrMaxSurface3DDepth] = 16384,
    [cudaDevAttrMaxSurface1DLayeredWidth] = 32768,
    [cudaDevAttrMaxSurface1DLayeredLayers] = 2048,
    [cudaDevAttrMaxSurface2DLayeredWidth] = 32768,
    [cudaDevAttrMaxSurface2DLayeredHeight] = 32768,
    [cudaDevAttrMaxSurface2DLayeredLayers] = 2048,
    [cudaDevAttrMaxSurfaceCubemapWidth] = 32768,
    [cudaDevAttrMaxSurfaceCubemapLayeredWidth] = 32768,
    [cudaDevAttrMaxSurfaceCubemapLayeredLayers] = 2046,
    [cudaDevAttrMaxTexture1DLinearWidth] = 268435456,
    [cudaDevAttrMaxTexture2DLinearWidth] = 131072,
    [cudaDevAttrMaxTexture2DLinearHeight] = 65000,
    [cudaDevAttrMaxTexture2DLinearPitch] = 2097120,
    [cudaDevAttrMaxTexture2DMipmappedWidth] = 32768,
    [cudaDevAttrMaxTexture2DMipmappedHeight] = 32768,
    [cudaDevAttrMaxTexture1DMipmappedWidth] = 32768,
    [cudaDevAttrStreamPrioritiesSupported] = 1,
    [cudaDevAttrGlobalL1CacheSupported] = 1,
    [cudaDevAttrLocalL1CacheSupported] = 1,
    [cudaDevAttrMaxRegistersPerMultiprocessor] = 65536,
    [cudaDevAttrManagedMemory] = 1,
    [cudaDevAttrConcurrentManagedAccess] = 1,
    [cudaDevAttrComputePreemptionSupported] = 1,
    [cudaDevAttrCanUseHostPointerForRegisteredMem] = 1,
    [cudaDevAttrCooperativeLaunch] = 1,
    [cudaDevAttrHostRegisterSupported] = 1,
    [cudaDevAttrMaxPersistingL2CacheSize] = 32768000,
    [cudaDevAttrMaxAccessPolicyWindowSize] = 134217728,
    [cudaDevAttrSparseCudaArraySupported] = 1,
    [cudaDevAttrHostRegisterReadOnlySupported] = 1,
    [cudaDevAttrReservedSharedMemoryPerBlock] = 1024,
    [cudaDevAttrTimelineSemaphoreInteropSupported] = 1,
    [cudaDevAttrMemoryPoolsSupported] = 1,
    [cudaDevAttrIpcEventSupport] = 1,
    [cudaDevAttrMemoryPoolSupportedHandleTypes] = cudaMemHandleTypePosixFileDescriptor,
    [cudaDevAttrDeferredMappingCudaArraySupported] = 1,
    [cudaDevAttrMemSyncDomainCount] = 4,
    [cudaDevAttrNumaId] = -1,
    [CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
    [cudaDevAttrHostNumaMemoryPoolsSupported] = 1,
    [cudaDevAttrHostMemoryPoolsSupported] = 1,
    [CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
};

/* Multiprocessors by compute capability. The last row that is not newer than the device counts. */
static const struct architecture {
    int cc, threads, blocks;
    int shared, shared_of_block; /* KiB: all, and the most that a block may ask for */
    int registers_of_block;
    int double_ratio; /* how many times slower doubles are than floats */
} architectures[] = {
    {50, 2048, 32, 64, 48, 65536, 32},    {52, 2048, 32, 96, 48, 65536, 32},
    {53, 2048, 32, 64, 48, 32768, 32},    {60, 2048, 32, 64, 48, 65536, 2},
    {61, 2048, 32, 96, 48, 65536, 32},    {62, 2048, 32, 64, 48, 32768, 32},
    {70, 2048, 32, 96, 96, 65536, 2},     {75, 1024, 16, 64, 64, 65536, 32},
    {80, 2048, 32, 164, 163, 65536, 2},   {86, 1536, 16, 100, 99, 65536, 64},
    {87, 1536, 16, 164, 163, 65536, 64},  {88, 1536, 16, 100, 99, 65536, 64},
    {89, 1536, 24, 100, 99, 65536, 64},   {90, 2048, 32, 228, 227, 65536, 2},
    {101, 1536, 24, 228, 227, 65536, 64}, {103, 2048, 32, 228, 227, 65536, 64},
    {110, 1536, 24, 228, 227, 65536, 64}, {120, 1536, 24, 100, 99, 65536, 64},
};

static const struct architecture *architecture_of(int cc) {
    size_t i = sizeof architectures / sizeof *architectures - 1;
    while (i && architectures[i].cc > cc)
        i--;
    return &architectures[i];
}

/* Returns whether an attribute came with a compute capability, and writes that and the value that
 * the attribute has before; the table above has the value since. */
static bool came_later(int attribute, int *since, int *before) {
    *before = 0;
    switch (attribute) {
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrConcurrentManagedAccess:
        return *since = 60, true;
    case cudaDevAttrMaxPersistingL2CacheSize:
    case cudaDevAttrMaxAccessPolicyWindowSize:
    case cudaDevAttrReservedSharedMemoryPerBlock:
        return *since = 80, true;
    case cudaDevAttrMemSyncDomainCount:
        *before = 1;
        return *since = 90, true;
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
        return *since = 90, true;
    default:
        return false;
    }
}

/* Writes an attribute that depends on the compute capability or on the device; returns false if the
 * attribute does not. */
static bool varies(const acu_sim_device *device, int attribute, int *value) {
    int cc = acu_sim_configuration()->cc, since, before;
    const struct architecture *const has = architecture_of(cc);
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
        return *value = cc / 10, true;
    case cudaDevAttrComputeCapabilityMinor:
        return *value = cc % 10, true;
    case cudaDevAttrClusterLaunch:
        return *value = cc >= 90, true;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        return *value = has->threads, true;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
        return *value = has->blocks, true;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        return *value = 1024 * has->shared, true;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        return *value = 1024 * has->shared_of_block, true;
    case cudaDevAttrMaxRegistersPerBlock:
        return *value = has->registers_of_block, true;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
        return *value = has->double_ratio, true;
    case cudaDevAttrPciBusId:
        return *value = 0x17 + device->index, true;
    case cudaDevAttrMultiGpuBoardGroupID:
        return *value = device->index, true;
    default:
        return came_later(attribute, &since, &before) && cc < since && (*value = before, true);
    }
}

int acu_sim_device_attribute(const acu_sim_device *device, enum cudaDeviceAttr attribute) {
    int value = 0;
    if (varies(device, attribute, &value))
        return value;
    return (size_t)attribute < sizeof attributes / sizeof *attributes ? attributes[attribute] : 0;
}

/* Returns the driver's last attribute. The driver is asked, whatever the runtime; its attributes
 * are numbers without a gap. */
static int last_attribute(void) {
    static int last, driver;
    const acu_type *type = &acu_cudart_type_cudaDeviceAttr;
    if (driver == acu_sim_configuration()->driver)
        return last;
    driver = acu_sim_configuration()->driver;
    last = 0;
    for (uint32_t i = 0; i < type->count; i++)
        if (type->values[i].value != cudaDevAttrMax && type->values[i].value > last &&
            type->values[i].since <= driver)
            last = (int)type->values[i].value;
    return last;
}

cudaError_t acu_sim_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device) {
    const acu_sim_device *d = acu_sim_device_at(device);
    if (!value)
        return cudaErrorInvalidValue;
    if (!d)
        return cudaErrorInvalidDevice;
    if ((int)attr <= 0 || (int)attr > last_attribute())
        return cudaErrorInvalidValue;
    *value = acu_sim_device_attribute(d, attr);
    return cudaSuccess;
}

/* ---- properties: the attributes, as a struct
 * ------------------------------------------------------
 */

#define PROPERTY(field, attribute)                                                                 \
    {offsetof(struct cudaDeviceProp, field), sizeof((struct cudaDeviceProp *)0)->field,            \
     cudaDevAttr##attribute}
/* NOLINTBEGIN(bugprone-macro-parentheses): names of fields cannot be in any */
#define WIDTH_HEIGHT(field, attribute)                                                             \
    PROPERTY(field[0], attribute##Width), PROPERTY(field[1], attribute##Height)
#define WIDTH_LAYERS(field, attribute)                                                             \
    PROPERTY(field[0], attribute##Width), PROPERTY(field[1], attribute##Layers)
/* NOLINTEND(bugprone-macro-parentheses) */
static const struct {
    size_t offset, size;
    int attribute;
} properties[] = {
    PROPERTY(sharedMemPerBlock, MaxSharedMemoryPerBlock),
    PROPERTY(regsPerBlock, MaxRegistersPerBlock),
    PROPERTY(warpSize, WarpSize),
    PROPERTY(memPitch, MaxPitch),
    PROPERTY(maxThreadsPerBlock, MaxThreadsPerBlock),
    PROPERTY(maxThreadsDim[0], MaxBlockDimX),
    PROPERTY(maxThreadsDim[1], MaxBlockDimY),
    PROPERTY(maxThreadsDim[2], MaxBlockDimZ),
    PROPERTY(maxGridSize[0], MaxGridDimX),
    PROPERTY(maxGridSize[1], MaxGridDimY),
    PROPERTY(maxGridSize[2], MaxGridDimZ),
    PROPERTY(totalConstMem, TotalConstantMemory),
    PROPERTY(major, ComputeCapabilityMajor),
    PROPERTY(minor, ComputeCapabilityMinor),
    PROPERTY(textureAlignment, TextureAlignment),
    PROPERTY(texturePitchAlignment, TexturePitchAlignment),
    PROPERTY(multiProcessorCount, MultiProcessorCount),
    PROPERTY(integrated, Integrated),
    PROPERTY(canMapHostMemory, CanMapHostMemory),
    PROPERTY(maxTexture1D, MaxTexture1DWidth),
    PROPERTY(maxTexture1DMipmap, MaxTexture1DMipmappedWidth),
    WIDTH_HEIGHT(maxTexture2D, MaxTexture2D),
    WIDTH_HEIGHT(maxTexture2DMipmap, MaxTexture2DMipmapped),
    WIDTH_HEIGHT(maxTexture2DLinear, MaxTexture2DLinear),
    PROPERTY(maxTexture2DLinear[2], MaxTexture2DLinearPitch),
    WIDTH_HEIGHT(maxTexture2DGather, MaxTexture2DGather),
    WIDTH_HEIGHT(maxTexture3D, MaxTexture3D),
    PROPERTY(maxTexture3D[2], MaxTexture3DDepth),
    PROPERTY(maxTexture3DAlt[0], MaxTexture3DWidthAlt),
    PROPERTY(maxTexture3DAlt[1], MaxTexture3DHeightAlt),
    PROPERTY(maxTexture3DAlt[2], MaxTexture3DDepthAlt),
    PROPERTY(maxTextureCubemap, MaxTextureCubemapWidth),
    WIDTH_LAYERS(maxTexture1DLayered, MaxTexture1DLayered),
    WIDTH_HEIGHT(maxTexture2DLayered, MaxTexture2DLayered),
    PROPERTY(maxTexture2DLayered[2], MaxTexture2DLayeredLayers),
    WIDTH_LAYERS(maxTextureCubemapLayered, MaxTextureCubemapLayered),
    PROPERTY(maxSurface1D, MaxSurface1DWidth),
    WIDTH_HEIGHT(maxSurface2D, MaxSurface2D),
    WIDTH_HEIGHT(maxSurface3D, MaxSurface3D),
    PROPERTY(maxSurface3D[2], MaxSurface3DDepth),
    WIDTH_LAYERS(maxSurface1DLayered, MaxSurface1DLayered),
    WIDTH_HEIGHT(maxSurface2DLayered, MaxSurface2DLayered),
    PROPERTY(maxSurface2DLayered[2], MaxSurface2DLayeredLayers),
    PROPERTY(maxSurfaceCubemap, MaxSurfaceCubemapWidth),
    WIDTH_LAYERS(maxSurfaceCubemapLayered, MaxSurfaceCubemapLayered),
    PROPERTY(surfaceAlignment, SurfaceAlignment),
    PROPERTY(concurrentKernels, ConcurrentKernels),
    PROPERTY(ECCEnabled, EccEnabled),
    PROPERTY(pciBusID, PciBusId),
    PROPERTY(pciDeviceID, PciDeviceId),
    PROPERTY(pciDomainID, PciDomainId),
    PROPERTY(tccDriver, TccDriver),
    PROPERTY(asyncEngineCount, AsyncEngineCount),
    PROPERTY(unifiedAddressing, UnifiedAddressing),
    PROPERTY(memoryBusWidth, GlobalMemoryBusWidth),
    PROPERTY(l2CacheSize, L2CacheSize),
    PROPERTY(persistingL2CacheMaxSize, MaxPersistingL2CacheSize),
    PROPERTY(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor),
    PROPERTY(streamPrioritiesSupported, StreamPrioritiesSupported),
    PROPERTY(globalL1CacheSupported, GlobalL1CacheSupported),
    PROPERTY(localL1CacheSupported, LocalL1CacheSupported),
    PROPERTY(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor),
    PROPERTY(regsPerMultiprocessor, MaxRegistersPerMultiprocessor),
    PROPERTY(managedMemory, ManagedMemory),
    PROPERTY(isMultiGpuBoard, IsMultiGpuBoard),
    PROPERTY(multiGpuBoardGroupID, MultiGpuBoardGroupID),
    PROPERTY(hostNativeAtomicSupported, HostNativeAtomicSupported),
    PROPERTY(pageableMemoryAccess, PageableMemoryAccess),
    PROPERTY(concurrentManagedAccess, ConcurrentManagedAccess),
    PROPERTY(computePreemptionSupported, ComputePreemptionSupported),
    PROPERTY(canUseHostPointerForRegisteredMem, CanUseHostPointerForRegisteredMem),
    PROPERTY(cooperativeLaunch, CooperativeLaunch),
    PROPERTY(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin),
    PROPERTY(pageableMemoryAccessUsesHostPageTables, PageableMemoryAccessUsesHostPageTables),
    PROPERTY(directManagedMemAccessFromHost, DirectManagedMemAccessFromHost),
    PROPERTY(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor),
    PROPERTY(accessPolicyMaxWindowSize, MaxAccessPolicyWindowSize),
    PROPERTY(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock),
    PROPERTY(hostRegisterSupported, HostRegisterSupported),
    PROPERTY(sparseCudaArraySupported, SparseCudaArraySupported),
    PROPERTY(hostRegisterReadOnlySupported, HostRegisterReadOnlySupported),
    PROPERTY(timelineSemaphoreInteropSupported, TimelineSemaphoreInteropSupported),
    PROPERTY(memoryPoolsSupported, MemoryPoolsSupported),
    PROPERTY(gpuDirectRDMASupported, GPUDirectRDMASupported),
    PROPERTY(gpuDirectRDMAFlushWritesOptions, GPUDirectRDMAFlushWritesOptions),
    PROPERTY(gpuDirectRDMAWritesOrdering, GPUDirectRDMAWritesOrdering),
    PROPERTY(memoryPoolSupportedHandleTypes, MemoryPoolSupportedHandleTypes),
    PROPERTY(deferredMappingCudaArraySupported, DeferredMappingCudaArraySupported),
    PROPERTY(ipcEventSupported, IpcEventSupport),
    PROPERTY(clusterLaunch, ClusterLaunch),
    PROPERTY(deviceNumaConfig, NumaConfig),
    PROPERTY(deviceNumaId, NumaId),
    PROPERTY(mpsEnabled, MpsEnabled),
    PROPERTY(hostNumaId, HostNumaId),
    PROPERTY(gpuPciDeviceID, GpuPciDeviceId),
    PROPERTY(gpuPciSubsystemID, GpuPciSubsystemId),
    PROPERTY(hostNumaMultinodeIpcSupported, HostNumaMultinodeIpcSupported),
};

static void describe(const acu_sim_device *device, struct cudaDeviceProp *prop) {
    memset(prop, 0, sizeof *prop);
    snprintf(prop->name, sizeof prop->name, "anycuda simulator");
    /* Random once; the last byte tells the devices apart. */
    memcpy(prop->uuid.bytes, "\x5b\x1e\x9a\x40\xd7\x63\x4c\x02\x8f\xac\x31\x72\xe9\x06\xbd", 15);
    prop->uuid.bytes[15] = (char)device->index;
    prop->totalGlobalMem = (size_t)acu_sim_configuration()->memory;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        char *at = (char *)prop + properties[i].offset;
        int value = acu_sim_device_attribute(device, (enum cudaDeviceAttr)properties[i].attribute);
        if (properties[i].size == sizeof(size_t))
            *(size_t *)(void *)at = (size_t)value;
        else
            *(int *)(void *)at = value;
    }
}

cudaError_t acu_sim_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device) {
    acu_sim_device *d = acu_sim_device_at(device);
    SIM_TRY(!d ? cudaErrorInvalidDevice : !prop ? cudaErrorInvalidValue : cudaSuccess);
    if (!*d->properties.name)
        describe(d, &d->properties);
    *prop = d->properties;
    return cudaSuccess;
}

/* All devices are alike, so the first one matches best. */
cudaError_t acu_sim_cudaChooseDevice(int *device, const struct cudaDeviceProp *prop) {
    if (!device || !prop)
        return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceGetPCIBusId(char *pciBusId, int len, int device) {
    const acu_sim_device *d = acu_sim_device_at(device);
    SIM_TRY(!d ? cudaErrorInvalidDevice : !pciBusId ? cudaErrorInvalidValue : cudaSuccess);
    if (len < (int)sizeof "0000:00:00.0")
        return cudaErrorInvalidValue;
    snprintf(pciBusId, (size_t)len, "%04x:%02x:%02x.0",
             (unsigned)acu_sim_device_attribute(d, cudaDevAttrPciDomainId),
             (unsigned)acu_sim_device_attribute(d, cudaDevAttrPciBusId),
             (unsigned)acu_sim_device_attribute(d, cudaDevAttrPciDeviceId));
    return cudaSuccess;
}

/* Parses domain:bus:device.function, domain:bus:device or bus:device.function, in hexadecimal. */
static bool parse_pci(const char *text, unsigned long pci[4]) {
    char between[5] = "";
    unsigned long numbers[4] = {0};
    for (size_t i = 0; i < 4; i++) {
        char *end;
        numbers[i] = strtoul(text, &end, 16);
        if (end == text)
            return false;
        between[i] = *end;
        if (!*end)
            break;
        text = end + 1;
    }
    bool no_domain = strcmp(between, ":.") == 0;
    memset(pci, 0, 4 * sizeof *pci);
    memcpy(pci + no_domain, numbers, (no_domain ? 3 : 4) * sizeof *pci);
    return no_domain || strcmp(between, "::") == 0 || strcmp(between, "::.") == 0;
}

cudaError_t acu_sim_cudaDeviceGetByPCIBusId(int *device, const char *pciBusId) {
    unsigned long pci[4];
    if (!device || !pciBusId || !parse_pci(pciBusId, pci))
        return cudaErrorInvalidValue;
    for (int i = 0; i < acu_sim_configuration()->devices; i++) {
        int bus = acu_sim_device_attribute(acu_sim_device_at(i), cudaDevAttrPciBusId);
        if (pci[0] == 0 && pci[1] == (unsigned long)bus && pci[2] == 0 && pci[3] == 0) {
            *device = i;
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidDevice;
}
