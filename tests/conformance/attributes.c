/*
 * What an H100 of 80 GiB says of itself, with driver 13.0, which the simulator plays. Not where it
 * is in its machine, and not what is only there in some, such as pools for other processes.
 */
#include "conformance.h"

#define ATTRIBUTES(X)                                                                              \
    X(MaxThreadsPerBlock, 1024)                                                                    \
    X(MaxBlockDimX, 1024)                                                                          \
    X(MaxBlockDimY, 1024)                                                                          \
    X(MaxBlockDimZ, 64)                                                                            \
    X(MaxGridDimX, 2147483647)                                                                     \
    X(MaxGridDimY, 65535)                                                                          \
    X(MaxGridDimZ, 65535)                                                                          \
    X(MaxSharedMemoryPerBlock, 49152)                                                              \
    X(TotalConstantMemory, 65536)                                                                  \
    X(WarpSize, 32)                                                                                \
    X(MaxPitch, 2147483647)                                                                        \
    X(MaxRegistersPerBlock, 65536)                                                                 \
    X(ClockRate, 1980000)                                                                          \
    X(TextureAlignment, 512)                                                                       \
    X(GpuOverlap, 1)                                                                               \
    X(MultiProcessorCount, 132)                                                                    \
    X(KernelExecTimeout, 0)                                                                        \
    X(Integrated, 0)                                                                               \
    X(CanMapHostMemory, 1)                                                                         \
    X(ComputeMode, 0)                                                                              \
    X(MaxTexture1DWidth, 131072)                                                                   \
    X(MaxTexture2DWidth, 131072)                                                                   \
    X(MaxTexture2DHeight, 65536)                                                                   \
    X(MaxTexture3DWidth, 16384)                                                                    \
    X(MaxTexture3DHeight, 16384)                                                                   \
    X(MaxTexture3DDepth, 16384)                                                                    \
    X(MaxTexture2DLayeredWidth, 32768)                                                             \
    X(MaxTexture2DLayeredHeight, 32768)                                                            \
    X(MaxTexture2DLayeredLayers, 2048)                                                             \
    X(SurfaceAlignment, 512)                                                                       \
    X(ConcurrentKernels, 1)                                                                        \
    X(EccEnabled, 1)                                                                               \
    X(TccDriver, 0)                                                                                \
    X(MemoryClockRate, 2619000)                                                                    \
    X(GlobalMemoryBusWidth, 5120)                                                                  \
    X(L2CacheSize, 52428800)                                                                       \
    X(MaxThreadsPerMultiProcessor, 2048)                                                           \
    X(AsyncEngineCount, 3)                                                                         \
    X(UnifiedAddressing, 1)                                                                        \
    X(MaxTexture1DLayeredWidth, 32768)                                                             \
    X(MaxTexture1DLayeredLayers, 2048)                                                             \
    X(MaxTexture2DGatherWidth, 32768)                                                              \
    X(MaxTexture2DGatherHeight, 32768)                                                             \
    X(MaxTexture3DWidthAlt, 8192)                                                                  \
    X(MaxTexture3DHeightAlt, 8192)                                                                 \
    X(MaxTexture3DDepthAlt, 32768)                                                                 \
    X(TexturePitchAlignment, 32)                                                                   \
    X(MaxTextureCubemapWidth, 32768)                                                               \
    X(MaxTextureCubemapLayeredWidth, 32768)                                                        \
    X(MaxTextureCubemapLayeredLayers, 2046)                                                        \
    X(MaxSurface1DWidth, 32768)                                                                    \
    X(MaxSurface2DWidth, 131072)                                                                   \
    X(MaxSurface2DHeight, 65536)                                                                   \
    X(MaxSurface3DWidth, 16384)                                                                    \
    X(MaxSurface3DHeight, 16384)                                                                   \
    X(MaxSurface3DDepth, 16384)                                                                    \
    X(MaxSurface1DLayeredWidth, 32768)                                                             \
    X(MaxSurface1DLayeredLayers, 2048)                                                             \
    X(MaxSurface2DLayeredWidth, 32768)                                                             \
    X(MaxSurface2DLayeredHeight, 32768)                                                            \
    X(MaxSurface2DLayeredLayers, 2048)                                                             \
    X(MaxSurfaceCubemapWidth, 32768)                                                               \
    X(MaxSurfaceCubemapLayeredWidth, 32768)                                                        \
    X(MaxSurfaceCubemapLayeredLayers, 2046)                                                        \
    X(MaxTexture1DLinearWidth, 268435456)                                                          \
    X(MaxTexture2DLinearWidth, 131072)                                                             \
    X(MaxTexture2DLinearHeight, 65000)                                                             \
    X(MaxTexture2DLinearPitch, 2097120)                                                            \
    X(MaxTexture2DMipmappedWidth, 32768)                                                           \
    X(MaxTexture2DMipmappedHeight, 32768)                                                          \
    X(ComputeCapabilityMajor, 9)                                                                   \
    X(ComputeCapabilityMinor, 0)                                                                   \
    X(MaxTexture1DMipmappedWidth, 32768)                                                           \
    X(StreamPrioritiesSupported, 1)                                                                \
    X(GlobalL1CacheSupported, 1)                                                                   \
    X(LocalL1CacheSupported, 1)                                                                    \
    X(MaxSharedMemoryPerMultiprocessor, 233472)                                                    \
    X(MaxRegistersPerMultiprocessor, 65536)                                                        \
    X(ManagedMemory, 1)                                                                            \
    X(IsMultiGpuBoard, 0)                                                                          \
    X(MultiGpuBoardGroupID, 0)                                                                     \
    X(HostNativeAtomicSupported, 0)                                                                \
    X(SingleToDoublePrecisionPerfRatio, 2)                                                         \
    X(PageableMemoryAccess, 0)                                                                     \
    X(ConcurrentManagedAccess, 1)                                                                  \
    X(ComputePreemptionSupported, 1)                                                               \
    X(CanUseHostPointerForRegisteredMem, 1)                                                        \
    X(CooperativeLaunch, 1)                                                                        \
    X(MaxSharedMemoryPerBlockOptin, 232448)                                                        \
    X(CanFlushRemoteWrites, 0)                                                                     \
    X(HostRegisterSupported, 1)                                                                    \
    X(PageableMemoryAccessUsesHostPageTables, 0)                                                   \
    X(DirectManagedMemAccessFromHost, 0)                                                           \
    X(MaxBlocksPerMultiprocessor, 32)                                                              \
    X(MaxPersistingL2CacheSize, 32768000)                                                          \
    X(MaxAccessPolicyWindowSize, 134217728)                                                        \
    X(HostRegisterReadOnlySupported, 1)                                                            \
    X(TimelineSemaphoreInteropSupported, 1)                                                        \
    X(MemoryPoolsSupported, 1)                                                                     \
    X(ClusterLaunch, 1)                                                                            \
    X(MemSyncDomainCount, 4)                                                                       \
    X(NumaConfig, 0)                                                                               \
    X(NumaId, -1)                                                                                  \
    X(MpsEnabled, 0)                                                                               \
    X(HostNumaId, 0)                                                                               \
    X(D3D12CigSupported, 0)                                                                        \
    X(VulkanCigSupported, 0)                                                                       \
    X(HostNumaMultinodeIpcSupported, 0)                                                            \
    X(OnlyPartialHostNativeAtomicSupported, 0)

static bool is_h100(void) {
    int major = 0, cache = 0;
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    (void)cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, 0);
    if (major == 9 && cache == 50 * MIB)
        return true;
    skip("it is not an H100");
    return false;
}

/* Whatever the runtime: it is the driver that is asked. */
#define X(name, expected)                                                                          \
    CASE(name) {                                                                                   \
        int value = -99;                                                                           \
        if (!is_h100())                                                                            \
            return;                                                                                \
        OK(cudaDeviceGetAttribute(&value, cudaDevAttr##name, 0));                                  \
        EQUAL(value, expected);                                                                    \
    }
ATTRIBUTES(X)
