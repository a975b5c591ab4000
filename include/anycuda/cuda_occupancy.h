/*
 * CUDA's <cuda_occupancy.h>: how many blocks of a kernel a multiprocessor holds at a time, computed
 * from a description of the device, so that no device is needed. Each function returns what
 * NVIDIA's does, for each compute capability that NVIDIA's newest header knows. Where there is a
 * device, cudaOccupancyMaxActiveBlocksPerMultiprocessor() asks it.
 */
#ifndef ACU_CUDA_OCCUPANCY_H
#define ACU_CUDA_OCCUPANCY_H

#include <anycuda/base.h>

#include <limits.h>
#include <stddef.h>
#include <string.h>

/* NVIDIA's own header needs no other one, so it may have come first; it declares the same. */
#if !defined(__cuda_occupancy_h__)
ACU_BEGIN_CASTS

#define __cuda_occupancy_h__ 1

/* The highest compute capability of which something is known. */
#define __CUDA_OCC_MAJOR__ 12
#define __CUDA_OCC_MINOR__ 1

/* ---- types ---- */

typedef enum cudaOccError_enum {
    CUDA_OCC_SUCCESS = 0,
    CUDA_OCC_ERROR_INVALID_INPUT = 1,
    CUDA_OCC_ERROR_UNKNOWN_DEVICE = 2 /* the compute capability is not known */
} cudaOccError;

/* Whether global loads are cached in the half of a multiprocessor that a block then has to fit in.
 */
typedef enum cudaOccPartitionedGCConfig_enum {
    PARTITIONED_GC_OFF,
    PARTITIONED_GC_ON,       /* unless a block would not fit */
    PARTITIONED_GC_ON_STRICT /* even if no block fits */
} cudaOccPartitionedGCConfig;

typedef enum cudaOccPartitionedGCSupport_enum {
    PARTITIONED_GC_NOT_SUPPORTED,
    PARTITIONED_GC_SUPPORTED
} cudaOccPartitionedGCSupport;

/* Whether a kernel may have more shared memory than sharedMemPerBlock: up to
 * sharedMemPerBlockOptin. */
typedef enum cudaOccFuncShmemConfig_enum {
    FUNC_SHMEM_LIMIT_DEFAULT,
    FUNC_SHMEM_LIMIT_OPTIN
} cudaOccFuncShmemConfig;

/* Says which the kernel prefers where shared memory and the L1 cache are one memory. */
typedef enum cudaOccCacheConfig_enum {
    CACHE_PREFER_NONE = 0,
    CACHE_PREFER_SHARED = 1,
    CACHE_PREFER_L1 = 2,
    CACHE_PREFER_EQUAL = 3
} cudaOccCacheConfig;

/* The part of that memory that is to be shared memory, in percent; since compute capability 7.0. */
typedef enum cudaOccCarveoutConfig_enum {
    SHAREDMEM_CARVEOUT_DEFAULT = -1, /* what cudaOccCacheConfig says */
    SHAREDMEM_CARVEOUT_MAX_L1 = 0,
    SHAREDMEM_CARVEOUT_HALF = 50,
    SHAREDMEM_CARVEOUT_MAX_SHARED = 100
} cudaOccCarveoutConfig;

/* The resources that allow no more blocks than the result has, as bits. */
typedef enum cudaOccLimitingFactor_enum {
    OCC_LIMIT_WARPS = 0x01,
    OCC_LIMIT_REGISTERS = 0x02,
    OCC_LIMIT_SHARED_MEMORY = 0x04,
    OCC_LIMIT_BLOCKS = 0x08,
    OCC_LIMIT_BARRIERS = 0x10,
    OCC_LIMIT_VIRTUAL_RESOURCES = 0x20
} cudaOccLimitingFactor;

/* A device. In C++ also made from a cudaDeviceProp, or a struct with the same fields. */
typedef struct cudaOccDeviceProp {
    int computeMajor;
    int computeMinor;
    int maxThreadsPerBlock;
    int maxThreadsPerMultiprocessor;
    int regsPerBlock;
    int regsPerMultiprocessor;
    int warpSize;
    size_t sharedMemPerBlock;
    size_t sharedMemPerMultiprocessor;
    int numSms; /* multiprocessors */
    size_t sharedMemPerBlockOptin;
    size_t reservedSharedMemPerBlock; /* what the driver takes of each block's */

#if defined(__cplusplus)
    cudaOccDeviceProp()
        : computeMajor(0), computeMinor(0), maxThreadsPerBlock(0), maxThreadsPerMultiprocessor(0),
          regsPerBlock(0), regsPerMultiprocessor(0), warpSize(0), sharedMemPerBlock(0),
          sharedMemPerMultiprocessor(0), numSms(0), sharedMemPerBlockOptin(0),
          reservedSharedMemPerBlock(0) {}
    template <class DeviceProp>
    cudaOccDeviceProp(const DeviceProp &from)
        : computeMajor(from.major), computeMinor(from.minor),
          maxThreadsPerBlock(from.maxThreadsPerBlock),
          maxThreadsPerMultiprocessor(from.maxThreadsPerMultiProcessor),
          regsPerBlock(from.regsPerBlock), regsPerMultiprocessor(from.regsPerMultiprocessor),
          warpSize(from.warpSize), sharedMemPerBlock(from.sharedMemPerBlock),
          sharedMemPerMultiprocessor(from.sharedMemPerMultiprocessor),
          numSms(from.multiProcessorCount), sharedMemPerBlockOptin(from.sharedMemPerBlockOptin),
          reservedSharedMemPerBlock(from.reservedSharedMemPerBlock) {}
#endif
} cudaOccDeviceProp;

/* A kernel. In C++ also made from a cudaFuncAttributes, or a struct with the same fields. */
typedef struct cudaOccFuncAttributes {
    int maxThreadsPerBlock;
    int numRegs; /* of a thread */
    size_t sharedSizeBytes;
    cudaOccPartitionedGCConfig partitionedGCConfig;
    cudaOccFuncShmemConfig shmemLimitConfig;
    size_t maxDynamicSharedSizeBytes;
    int numBlockBarriers;
    int virtualResourceCount;

#if defined(__cplusplus)
    cudaOccFuncAttributes()
        : maxThreadsPerBlock(0), numRegs(0), sharedSizeBytes(0),
          partitionedGCConfig(PARTITIONED_GC_OFF), shmemLimitConfig(FUNC_SHMEM_LIMIT_DEFAULT),
          maxDynamicSharedSizeBytes(0), numBlockBarriers(0), virtualResourceCount(0) {}
    template <class FuncAttributes>
    cudaOccFuncAttributes(const FuncAttributes &from)
        : maxThreadsPerBlock(from.maxThreadsPerBlock), numRegs(from.numRegs),
          sharedSizeBytes(from.sharedSizeBytes), partitionedGCConfig(PARTITIONED_GC_OFF),
          shmemLimitConfig(FUNC_SHMEM_LIMIT_OPTIN),
          maxDynamicSharedSizeBytes(static_cast<size_t>(from.maxDynamicSharedSizeBytes)),
          numBlockBarriers(1), virtualResourceCount(0) {}
#endif
} cudaOccFuncAttributes;

typedef struct cudaOccDeviceState {
    cudaOccCacheConfig cacheConfig;
    int carveoutConfig; /* percent, or one of cudaOccCarveoutConfig */

#if defined(__cplusplus)
    cudaOccDeviceState()
        : cacheConfig(CACHE_PREFER_NONE), carveoutConfig(SHAREDMEM_CARVEOUT_DEFAULT) {}
#endif
} cudaOccDeviceState;

/* The answer. A blockLimit says how many blocks one resource allows; INT_MAX: any number. */
typedef struct cudaOccResult {
    int activeBlocksPerMultiprocessor;
    unsigned int limitingFactors; /* bits of cudaOccLimitingFactor */
    int blockLimitRegs;
    int blockLimitSharedMem;
    int blockLimitWarps;
    int blockLimitBlocks;
    int blockLimitBarriers;
    int blockLimitVirtual;
    int allocatedRegistersPerBlock;
    size_t allocatedSharedMemPerBlock;
    cudaOccPartitionedGCConfig partitionedGCConfig; /* what it is then */
} cudaOccResult;

/* ---- what is known of compute capabilities ---- */

/* The minor number in a row for all that have no row of their own. */
#define ACU_OCC_OTHERS (-1)

typedef struct acu_occ_capability {
    int major;
    int minor;
    int blocks;      /* at most so many on a multiprocessor */
    int partitions;  /* of a multiprocessor, each with registers of its own */
    int barriers;    /* for each of those blocks; 0: not known */
    int least_kib;   /* of shared memory where the L1 cache has the rest; */
    int most_kib;    /* 0: not known, or the cache is apart */
    int partitioned; /* has partitioned global caching */
} acu_occ_capability;

/* Returns the row of the device's compute capability, NULL if there is none. */
static inline const acu_occ_capability *acu_occ_find(const cudaOccDeviceProp *properties) {
    static const acu_occ_capability rows[] = {
        {3, ACU_OCC_OTHERS, 16, 4, 0, 0, 0, 0},
        {5, 2, 32, 4, 2, 0, 0, 1},
        {5, 3, 32, 4, 2, 0, 0, 1},
        {5, ACU_OCC_OTHERS, 32, 4, 2, 0, 0, 0},
        {6, 0, 32, 2, 2, 0, 0, 0},
        {6, ACU_OCC_OTHERS, 32, 4, 2, 0, 0, 1},
        {7, 5, 16, 4, 2, 32, 64, 0},
        {7, ACU_OCC_OTHERS, 32, 4, 2, 0, 96, 0},
        {8, 0, 32, 4, 2, 0, 164, 0},
        {8, 7, 16, 4, 1, 0, 164, 0},
        {8, 9, 24, 4, 1, 0, 100, 0},
        {8, ACU_OCC_OTHERS, 16, 4, 1, 0, 100, 0},
        {9, ACU_OCC_OTHERS, 32, 4, 2, 0, 228, 0},
        {10, 0, 32, 4, 2, 0, 228, 0},
        {10, 1, 24, 4, 1, 0, 228, 0},
        {10, 3, 32, 4, 1, 0, 228, 0},
        {10, 7, 16, 4, 1, 0, 328, 0},
        {10, ACU_OCC_OTHERS, 32, 4, 1, 0, 0, 0},
        {11, 0, 24, 4, 1, 0, 228, 0},
        {11, 1, 32, 4, 2, 0, 228, 0},
        {11, 3, 32, 4, 2, 0, 228, 0},
        {11, 7, 32, 4, 2, 0, 328, 0},
        {11, ACU_OCC_OTHERS, 32, 4, 2, 0, 0, 0},
        {12, 0, 24, 4, 1, 0, 100, 0},
        {12, 1, 24, 4, 1, 0, 100, 0},
        {12, ACU_OCC_OTHERS, 24, 4, 1, 0, 0, 0},
    };
    size_t i;
    for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].major == properties->computeMajor &&
            (rows[i].minor == properties->computeMinor || rows[i].minor == ACU_OCC_OTHERS))
            return &rows[i];
    return ACU_NULL;
}

/* Hands a value out if the device's compute capability has a row. */
static inline cudaOccError acu_occ_known(int *limit, const acu_occ_capability *row, int value) {
    if (!row)
        return CUDA_OCC_ERROR_UNKNOWN_DEVICE;
    *limit = value;
    return CUDA_OCC_SUCCESS;
}

static inline cudaOccError cudaOccSMemAllocationGranularity(int *limit,
                                                            const cudaOccDeviceProp *properties) {
    return acu_occ_known(limit, acu_occ_find(properties), properties->computeMajor < 8 ? 256 : 128);
}

static inline cudaOccError cudaOccRegAllocationMaxPerThread(int *limit,
                                                            const cudaOccDeviceProp *properties) {
    return acu_occ_known(limit, acu_occ_find(properties), properties->computeMajor < 7 ? 255 : 256);
}

static inline cudaOccError cudaOccRegAllocationGranularity(int *limit,
                                                           const cudaOccDeviceProp *properties) {
    return acu_occ_known(limit, acu_occ_find(properties), 256);
}

static inline cudaOccError
cudaOccSubPartitionsPerMultiprocessor(int *limit, const cudaOccDeviceProp *properties) {
    const acu_occ_capability *row = acu_occ_find(properties);
    return acu_occ_known(limit, row, row ? row->partitions : 0);
}

static inline cudaOccError cudaOccMaxBlocksPerMultiprocessor(int *limit,
                                                             const cudaOccDeviceProp *properties) {
    const acu_occ_capability *row = acu_occ_find(properties);
    return acu_occ_known(limit, row, row ? row->blocks : 0);
}

static inline cudaOccError
cudaOccPartitionedGlobalCachingModeSupport(cudaOccPartitionedGCSupport *limit,
                                           const cudaOccDeviceProp *properties) {
    const acu_occ_capability *row = acu_occ_find(properties);
    *limit = row && row->partitioned ? PARTITIONED_GC_SUPPORTED : PARTITIONED_GC_NOT_SUPPORTED;
    return CUDA_OCC_SUCCESS;
}

static inline cudaOccError
cudaOccMaxVirtualResourceCountPerSM(int *count, const cudaOccDeviceProp *properties) {
    *count = acu_occ_find(properties) && properties->computeMajor >= 10 ? 128 : 0;
    return CUDA_OCC_SUCCESS;
}

/* ---- shared memory of a multiprocessor and of a block ---- */

/* Makes a size the next one that the device can carve out of its L1 cache. */
static inline cudaOccError cudaOccAlignUpShmemSizeVoltaPlus(size_t *shMemSize,
                                                            const cudaOccDeviceProp *properties) {
    static const int steps[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228, 328};
    const acu_occ_capability *row = acu_occ_find(properties);
    int i = 0, kib;
    if (!row || !row->most_kib)
        return CUDA_OCC_ERROR_UNKNOWN_DEVICE;
    if (*shMemSize > (size_t)row->most_kib * 1024)
        return CUDA_OCC_ERROR_INVALID_INPUT;
    while (steps[i] < row->least_kib || (size_t)steps[i] * 1024 < *shMemSize)
        i++;
    kib = steps[i] < row->most_kib ? steps[i] : row->most_kib;
    *shMemSize = (size_t)kib * 1024;
    return CUDA_OCC_SUCCESS;
}

/* Since compute capability 7.0: any percentage of the memory, or else a preference as before. */
static inline cudaOccError cudaOccSMemPreferenceVoltaPlus(size_t *limit,
                                                          const cudaOccDeviceProp *properties,
                                                          const cudaOccDeviceState *state) {
    int percent = state->carveoutConfig;
    if (percent < SHAREDMEM_CARVEOUT_DEFAULT || percent > SHAREDMEM_CARVEOUT_MAX_SHARED)
        return CUDA_OCC_ERROR_INVALID_INPUT;
    if (percent == SHAREDMEM_CARVEOUT_DEFAULT)
        percent = state->cacheConfig == CACHE_PREFER_L1      ? SHAREDMEM_CARVEOUT_MAX_L1
                  : state->cacheConfig == CACHE_PREFER_EQUAL ? SHAREDMEM_CARVEOUT_HALF
                                                             : SHAREDMEM_CARVEOUT_MAX_SHARED;
    *limit = (size_t)percent * properties->sharedMemPerMultiprocessor / 100;
    return cudaOccAlignUpShmemSizeVoltaPlus(limit, properties);
}

/* Before 7.0: compute capability 3.x takes 16, 32 or 48 KiB for the cache, later ones have it
 * apart. */
static inline cudaOccError cudaOccSMemPreference(size_t *limit, const cudaOccDeviceProp *properties,
                                                 const cudaOccDeviceState *state) {
    const size_t most = properties->sharedMemPerMultiprocessor;
    const size_t least = most + (size_t)16 * 1024 - (size_t)48 * 1024;
    if (!acu_occ_find(properties) || properties->computeMajor >= 7)
        return CUDA_OCC_ERROR_UNKNOWN_DEVICE;
    *limit = most;
    if (properties->computeMajor == 3 && state->cacheConfig == CACHE_PREFER_L1)
        *limit = least;
    if (properties->computeMajor == 3 && state->cacheConfig == CACHE_PREFER_EQUAL)
        *limit = (most + least) / 2;
    return CUDA_OCC_SUCCESS;
}

static inline cudaOccError cudaOccSMemPerMultiprocessor(size_t *limit,
                                                        const cudaOccDeviceProp *properties,
                                                        const cudaOccDeviceState *state) {
    return properties->computeMajor >= 7 ? cudaOccSMemPreferenceVoltaPlus(limit, properties, state)
                                         : cudaOccSMemPreference(limit, properties, state);
}

/* The most that a block may have, if its kernel is to be able to use smemPerCta. */
static inline cudaOccError cudaOccSMemPerBlock(size_t *limit, const cudaOccDeviceProp *properties,
                                               cudaOccFuncShmemConfig shmemLimitConfig,
                                               size_t smemPerCta) {
    const int major = properties->computeMajor;
    if (major < 2 || major > __CUDA_OCC_MAJOR__)
        return CUDA_OCC_ERROR_UNKNOWN_DEVICE;
    *limit = properties->sharedMemPerBlock;
    if (major >= 7 && shmemLimitConfig == FUNC_SHMEM_LIMIT_OPTIN && smemPerCta > *limit)
        *limit = properties->sharedMemPerBlockOptin;
    if (major >= 8)
        *limit += properties->reservedSharedMemPerBlock;
    return CUDA_OCC_SUCCESS;
}

/* ---- arguments ---- */

static inline cudaOccError cudaOccDevicePropCheck(const cudaOccDeviceProp *properties) {
    return properties->maxThreadsPerBlock > 0 && properties->maxThreadsPerMultiprocessor > 0 &&
                   properties->regsPerBlock > 0 && properties->regsPerMultiprocessor > 0 &&
                   properties->warpSize > 0 && properties->sharedMemPerBlock > 0 &&
                   properties->sharedMemPerMultiprocessor > 0 && properties->numSms > 0
               ? CUDA_OCC_SUCCESS
               : CUDA_OCC_ERROR_INVALID_INPUT;
}

static inline cudaOccError cudaOccFuncAttributesCheck(const cudaOccFuncAttributes *attributes) {
    return attributes->maxThreadsPerBlock > 0 && attributes->numRegs >= 0
               ? CUDA_OCC_SUCCESS
               : CUDA_OCC_ERROR_INVALID_INPUT;
}

/* Accepts every state; what uses it refuses a percentage that is none. */
static inline cudaOccError cudaOccDeviceStateCheck(const cudaOccDeviceState *state) {
    (void)state;
    return CUDA_OCC_SUCCESS;
}

static inline cudaOccError cudaOccInputCheck(const cudaOccDeviceProp *properties,
                                             const cudaOccFuncAttributes *attributes,
                                             const cudaOccDeviceState *state) {
    cudaOccError status = cudaOccDevicePropCheck(properties);
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccFuncAttributesCheck(attributes);
    return status == CUDA_OCC_SUCCESS ? cudaOccDeviceStateCheck(state) : status;
}

/* ---- how many blocks each resource allows, of arguments that are checked ---- */

static inline long long acu_occ_divide_up(long long value, long long unit) {
    return (value + unit - 1) / unit;
}

static inline long long acu_occ_round_up(long long value, long long unit) {
    return acu_occ_divide_up(value, unit) * unit;
}

/* How many blocks of `each` warps fit where there is room for `warps`. With partitioned caching a
 * block has to fit in a half. */
static inline int acu_occ_blocks(long long warps, long long each,
                                 cudaOccPartitionedGCConfig caching) {
    const int parts = caching == PARTITIONED_GC_OFF ? 1 : 2;
    return (int)(warps / parts / each * parts);
}

static inline cudaOccPartitionedGCConfig
cudaOccPartitionedGCExpected(const cudaOccDeviceProp *properties,
                             const cudaOccFuncAttributes *attributes) {
    cudaOccPartitionedGCSupport support;
    (void)cudaOccPartitionedGlobalCachingModeSupport(&support, properties);
    return support == PARTITIONED_GC_SUPPORTED ? attributes->partitionedGCConfig
                                               : PARTITIONED_GC_OFF;
}

static inline cudaOccError cudaOccMaxBlocksPerSMWarpsLimit(int *limit,
                                                           cudaOccPartitionedGCConfig gcConfig,
                                                           const cudaOccDeviceProp *properties,
                                                           const cudaOccFuncAttributes *attributes,
                                                           int blockSize) {
    (void)attributes;
    *limit = 0;
    if (blockSize <= properties->maxThreadsPerBlock)
        *limit = acu_occ_blocks(properties->maxThreadsPerMultiprocessor / properties->warpSize,
                                acu_occ_divide_up(blockSize, properties->warpSize), gcConfig);
    return CUDA_OCC_SUCCESS;
}

static inline cudaOccError cudaOccMaxBlocksPerSMSmemLimit(int *limit, cudaOccResult *result,
                                                          const cudaOccDeviceProp *properties,
                                                          const cudaOccFuncAttributes *attributes,
                                                          const cudaOccDeviceState *state,
                                                          int blockSize, size_t dynamicSmemSize) {
    const size_t fixed = attributes->sharedSizeBytes + properties->reservedSharedMemPerBlock;
    const size_t dynamic = attributes->maxDynamicSharedSizeBytes;
    size_t room = 0, most = 0, of_block;
    int unit = 1, exceeded;
    cudaOccError status = cudaOccSMemAllocationGranularity(&unit, properties);
    (void)blockSize;
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccSMemPerMultiprocessor(&room, properties, state);
    if (status == CUDA_OCC_SUCCESS)
        status =
            cudaOccSMemPerBlock(&most, properties, attributes->shmemLimitConfig, fixed + dynamic);
    if (status != CUDA_OCC_SUCCESS)
        return status;

    /* A GPU reads the size of a block's memory as a number of 32 bits with a sign. */
    of_block = (size_t)acu_occ_round_up((int)(fixed + dynamicSmemSize), unit);
    exceeded = of_block > most || (attributes->shmemLimitConfig != FUNC_SHMEM_LIMIT_DEFAULT &&
                                   dynamicSmemSize > dynamic);
    /* The preference is overruled where a single block needs more. */
    if (!exceeded && room < of_block) {
        room = properties->computeMajor < 7 ? properties->sharedMemPerMultiprocessor : of_block;
        if (properties->computeMajor >= 7)
            status = cudaOccAlignUpShmemSizeVoltaPlus(&room, properties);
    }
    *limit = exceeded ? 0 : of_block ? (int)(room / of_block) : INT_MAX;
    result->allocatedSharedMemPerBlock = of_block;
    return status;
}

static inline cudaOccError
cudaOccMaxBlocksPerSMRegsLimit(int *limit, cudaOccPartitionedGCConfig *gcConfig,
                               cudaOccResult *result, const cudaOccDeviceProp *properties,
                               const cudaOccFuncAttributes *attributes, int blockSize) {
    const long long warps = acu_occ_divide_up(blockSize, properties->warpSize);
    const long long of_thread = attributes->numRegs;
    long long of_warp, fit;
    int unit = 1, most = 0, partitions = 1;
    cudaOccError status = cudaOccRegAllocationGranularity(&unit, properties);
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccRegAllocationMaxPerThread(&most, properties);
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccSubPartitionsPerMultiprocessor(&partitions, properties);
    if (status != CUDA_OCC_SUCCESS)
        return status;

    of_warp = acu_occ_round_up(of_thread * properties->warpSize, unit);
    result->allocatedRegistersPerBlock = (int)(of_warp * warps);
    *limit = of_warp ? 0 : INT_MAX;
    /* A GPU counts a block as if each partition had as many of its warps as the fullest one. */
    if (of_thread > most ||
        properties->regsPerBlock < of_warp * acu_occ_round_up(warps, partitions))
        *limit = 0;
    else if (of_warp) {
        fit = properties->regsPerMultiprocessor / partitions / of_warp * partitions;
        *limit = acu_occ_blocks(fit, warps, *gcConfig);
        if (!*limit && *gcConfig != PARTITIONED_GC_ON_STRICT) {
            *gcConfig = PARTITIONED_GC_OFF;
            *limit = acu_occ_blocks(fit, warps, *gcConfig);
        }
    }
    return CUDA_OCC_SUCCESS;
}

static inline cudaOccError
cudaOccMaxBlocksPerSMBlockBarrierLimit(int *limit, int ctaLimitBlocks,
                                       const cudaOccDeviceProp *properties,
                                       const cudaOccFuncAttributes *attributes) {
    const acu_occ_capability *row = acu_occ_find(properties);
    const int used = attributes->numBlockBarriers;
    if (!row || !row->barriers)
        return CUDA_OCC_ERROR_UNKNOWN_DEVICE;
    *limit = used ? ctaLimitBlocks * row->barriers / used : INT_MAX;
    return CUDA_OCC_SUCCESS;
}

static inline cudaOccError
cudaOccMaxBlocksPerSMVirtualResource(int *limit, const cudaOccDeviceProp *properties,
                                     const cudaOccFuncAttributes *attributes) {
    const int used = attributes->virtualResourceCount;
    int all;
    (void)cudaOccMaxVirtualResourceCountPerSM(&all, properties);
    *limit = all > 0 && used > 0 ? all / used : INT_MAX;
    return CUDA_OCC_SUCCESS;
}

/* ---- all resources together ---- */

/*
 * The limit by registers. A kernel that runs on a GPU of 6.0 shall run on all of 6.x, whose
 * multiprocessors have more partitions; so it must fit there, too.
 */
static inline cudaOccError acu_occ_limit_registers(cudaOccResult *all,
                                                   const cudaOccDeviceProp *properties,
                                                   const cudaOccFuncAttributes *attributes,
                                                   int block_size) {
    cudaOccError status = cudaOccMaxBlocksPerSMRegsLimit(
        &all->blockLimitRegs, &all->partitionedGCConfig, all, properties, attributes, block_size);
    if (status == CUDA_OCC_SUCCESS && properties->computeMajor == 6 &&
        properties->computeMinor == 0 && all->blockLimitRegs) {
        cudaOccPartitionedGCConfig caching = PARTITIONED_GC_OFF;
        cudaOccDeviceProp other = *properties;
        int limit = 0;
        other.computeMinor = 1;
        status =
            cudaOccMaxBlocksPerSMRegsLimit(&limit, &caching, all, &other, attributes, block_size);
        if (!limit)
            all->blockLimitRegs = 0;
    }
    return status;
}

/* Lowers the number of blocks to a limit, and notes the limit if it is now what allows no more. */
static inline void acu_occ_apply(cudaOccResult *all, int limit, cudaOccLimitingFactor factor) {
    if (limit < all->activeBlocksPerMultiprocessor) {
        all->activeBlocksPerMultiprocessor = limit;
        all->limitingFactors = 0;
    }
    if (limit == all->activeBlocksPerMultiprocessor)
        all->limitingFactors |= (unsigned)factor;
}

/*
 * How many blocks of a kernel a multiprocessor holds, and what allows no more; 0 blocks: the kernel
 * cannot be launched so. On an error the result stays as it was.
 */
static inline cudaOccError
cudaOccMaxActiveBlocksPerMultiprocessor(cudaOccResult *result, const cudaOccDeviceProp *properties,
                                        const cudaOccFuncAttributes *attributes,
                                        const cudaOccDeviceState *state, int blockSize,
                                        size_t dynamicSmemSize) {
    cudaOccResult all;
    unsigned factors;
    cudaOccError status;
    if (!result || !properties || !attributes || !state || blockSize <= 0)
        return CUDA_OCC_ERROR_INVALID_INPUT;
    status = cudaOccInputCheck(properties, attributes, state);
    if (status != CUDA_OCC_SUCCESS)
        return status;

    all.partitionedGCConfig = cudaOccPartitionedGCExpected(properties, attributes);
    status = acu_occ_limit_registers(&all, properties, attributes, blockSize);
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccMaxBlocksPerSMWarpsLimit(&all.blockLimitWarps, all.partitionedGCConfig,
                                                 properties, attributes, blockSize);
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccMaxBlocksPerMultiprocessor(&all.blockLimitBlocks, properties);
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccMaxBlocksPerSMSmemLimit(&all.blockLimitSharedMem, &all, properties,
                                                attributes, state, blockSize, dynamicSmemSize);
    if (status == CUDA_OCC_SUCCESS)
        status =
            cudaOccMaxBlocksPerSMVirtualResource(&all.blockLimitVirtual, properties, attributes);
    all.blockLimitBarriers = INT_MAX;
    if (status == CUDA_OCC_SUCCESS && properties->computeMajor >= 9 &&
        attributes->numBlockBarriers > 0)
        status = cudaOccMaxBlocksPerSMBlockBarrierLimit(
            &all.blockLimitBarriers, all.blockLimitBlocks, properties, attributes);
    if (status != CUDA_OCC_SUCCESS)
        return status;

    all.activeBlocksPerMultiprocessor = INT_MAX;
    all.limitingFactors = 0;
    acu_occ_apply(&all, all.blockLimitRegs, OCC_LIMIT_REGISTERS);
    acu_occ_apply(&all, all.blockLimitWarps, OCC_LIMIT_WARPS);
    acu_occ_apply(&all, all.blockLimitBlocks, OCC_LIMIT_BLOCKS);
    acu_occ_apply(&all, all.blockLimitSharedMem, OCC_LIMIT_SHARED_MEMORY);
    acu_occ_apply(&all, all.blockLimitVirtual, OCC_LIMIT_VIRTUAL_RESOURCES);
    /* The factors from before barriers are counted are still reported. */
    factors = all.limitingFactors;
    acu_occ_apply(&all, all.blockLimitBarriers, OCC_LIMIT_BARRIERS);
    all.limitingFactors |= factors;
    *result = all;
    return CUDA_OCC_SUCCESS;
}

/* The most dynamic shared memory with which a multiprocessor still holds numBlocks blocks. */
static inline cudaOccError
cudaOccAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const cudaOccDeviceProp *properties,
                                    const cudaOccFuncAttributes *attributes,
                                    const cudaOccDeviceState *state, int numBlocks, int blockSize) {
    size_t most = 0, room = 0, each;
    int unit = 1;
    cudaOccResult now;
    cudaOccError status = CUDA_OCC_ERROR_INVALID_INPUT;
    if (!dynamicSmemSize || !properties || !attributes || !state || numBlocks <= 0)
        return status;
    status =
        cudaOccMaxActiveBlocksPerMultiprocessor(&now, properties, attributes, state, blockSize, 0);
    if (status == CUDA_OCC_SUCCESS && now.activeBlocksPerMultiprocessor < numBlocks)
        status = CUDA_OCC_ERROR_INVALID_INPUT;
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccSMemAllocationGranularity(&unit, properties);
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccSMemPerBlock(&most, properties, attributes->shmemLimitConfig,
                                     properties->sharedMemPerMultiprocessor);
    if (status == CUDA_OCC_SUCCESS)
        status = cudaOccSMemPerMultiprocessor(&room, properties, state);
    if (numBlocks == 1)
        room = most; /* a single block is not held to what is preferred */
    else if (status == CUDA_OCC_SUCCESS && !room) {
        room = 1;
        status = cudaOccAlignUpShmemSizeVoltaPlus(&room, properties);
    }
    if (status != CUDA_OCC_SUCCESS)
        return status;

    each = room / (size_t)numBlocks / (size_t)unit * (size_t)unit;
    if (each > most)
        each = most;
    each -= attributes->sharedSizeBytes;
    if (properties->computeMajor >= 8)
        each -= properties->reservedSharedMemPerBlock;
    *dynamicSmemSize =
        each < attributes->maxDynamicSharedSizeBytes ? each : attributes->maxDynamicSharedSizeBytes;
    return CUDA_OCC_SUCCESS;
}

/* ---- the block size with which most threads are resident ---- */

/* A search through the block sizes in whole warps, the largest first. */
typedef struct acu_occ_search {
    const cudaOccDeviceProp *properties;
    const cudaOccFuncAttributes *attributes;
    const cudaOccDeviceState *state;
    int next; /* the size to be tried next; 0: the search is over */
    int best_size;
    int best_blocks;
    long long best_threads;
} acu_occ_search;

static inline cudaOccError acu_occ_search_begin(acu_occ_search *search, const int *grid,
                                                const int *block,
                                                const cudaOccDeviceProp *properties,
                                                const cudaOccFuncAttributes *attributes,
                                                const cudaOccDeviceState *state) {
    if (!grid || !block || !properties || !attributes || !state)
        return CUDA_OCC_ERROR_INVALID_INPUT;
    search->properties = properties;
    search->attributes = attributes;
    search->state = state;
    /* First the limit itself, which need not be a whole number of warps. */
    search->next = properties->maxThreadsPerBlock < attributes->maxThreadsPerBlock
                       ? properties->maxThreadsPerBlock
                       : attributes->maxThreadsPerBlock;
    search->best_size = 0;
    search->best_blocks = 0;
    search->best_threads = 0;
    return cudaOccInputCheck(properties, attributes, state);
}

/* Tries the next size, whose blocks need so much dynamic shared memory. */
static inline cudaOccError acu_occ_search_try(acu_occ_search *search, size_t dynamic) {
    const int warp = search->properties->warpSize, size = search->next;
    long long threads;
    cudaOccResult result;
    const cudaOccError status = cudaOccMaxActiveBlocksPerMultiprocessor(
        &result, search->properties, search->attributes, search->state, size, dynamic);
    if (status != CUDA_OCC_SUCCESS)
        return status;
    threads = (long long)size * result.activeBlocksPerMultiprocessor;
    if (threads > search->best_threads) {
        search->best_size = size;
        search->best_blocks = result.activeBlocksPerMultiprocessor;
        search->best_threads = threads;
    }
    search->next = (size - 1) / warp * warp;
    if (search->best_threads == search->properties->maxThreadsPerMultiprocessor)
        search->next = 0;
    return CUDA_OCC_SUCCESS;
}

static inline void acu_occ_search_end(const acu_occ_search *search, int *grid, int *block) {
    *grid = search->best_blocks * search->properties->numSms;
    *block = search->best_size;
}

/*
 * The block size with which most threads are resident, and a grid of such blocks that fills the
 * device; 0: no size can be launched. A size's dynamic shared memory is what the function returns
 * for it, or dynamicSMemSize where that is NULL. On an error both stay as they were.
 */
static inline cudaOccError cudaOccMaxPotentialOccupancyBlockSize(
    int *minGridSize, int *blockSize, const cudaOccDeviceProp *properties,
    const cudaOccFuncAttributes *attributes, const cudaOccDeviceState *state,
    size_t (*blockSizeToDynamicSMemSize)(int), size_t dynamicSMemSize) {
    acu_occ_search search;
    cudaOccError status =
        acu_occ_search_begin(&search, minGridSize, blockSize, properties, attributes, state);
    while (status == CUDA_OCC_SUCCESS && search.next)
        status = acu_occ_search_try(&search, blockSizeToDynamicSMemSize
                                                 ? blockSizeToDynamicSMemSize(search.next)
                                                 : dynamicSMemSize);
    if (status == CUDA_OCC_SUCCESS)
        acu_occ_search_end(&search, minGridSize, blockSize);
    return status;
}

#if defined(__cplusplus)
static inline cudaOccError
cudaOccMaxPotentialOccupancyBlockSize(int *minGridSize, int *blockSize,
                                      const cudaOccDeviceProp *properties,
                                      const cudaOccFuncAttributes *attributes,
                                      const cudaOccDeviceState *state, size_t dynamicSMemSize = 0) {
    return cudaOccMaxPotentialOccupancyBlockSize(minGridSize, blockSize, properties, attributes,
                                                 state, ACU_NULL, dynamicSMemSize);
}

/* Computes the block size as cudaOccMaxPotentialOccupancyBlockSize() does. The last argument is a
 * function or an object that is called with a block size, and returns the bytes of dynamic shared
 * memory of such a block. */
template <class UnaryFunction>
static inline cudaOccError cudaOccMaxPotentialOccupancyBlockSizeVariableSMem(
    int *minGridSize, int *blockSize, const cudaOccDeviceProp *properties,
    const cudaOccFuncAttributes *attributes, const cudaOccDeviceState *state,
    UnaryFunction blockSizeToDynamicSMemSize) {
    acu_occ_search search;
    cudaOccError status =
        acu_occ_search_begin(&search, minGridSize, blockSize, properties, attributes, state);
    while (status == CUDA_OCC_SUCCESS && search.next)
        status = acu_occ_search_try(&search, blockSizeToDynamicSMemSize(search.next));
    if (status == CUDA_OCC_SUCCESS)
        acu_occ_search_end(&search, minGridSize, blockSize);
    return status;
}
#endif

ACU_END_CASTS
#endif
#endif
