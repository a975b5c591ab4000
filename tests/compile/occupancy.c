/*
 * Prints a checksum of each function of <cuda_occupancy.h> for each compute capability: compiled
 * with NVIDIA's header and with ours, as C and as C++, it shall print the same.
 */
#include <cuda_occupancy.h>

#include <stdio.h>

typedef unsigned long long u64;

static u64 state_of_random = 1;

static unsigned below(unsigned limit) {
    state_of_random = state_of_random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((state_of_random >> 33) % limit);
}

#define ONE_OF(list) (list)[below((unsigned)(sizeof(list) / sizeof(*(list))))]

/* Now and then a value that no device and no kernel has. */
static int or_odd(int value) {
    static const int odd[] = {0, -1, 1, 3, 1000000};
    return below(60) ? value : ONE_OF(odd);
}

static cudaOccDeviceProp any_device(int major, int minor) {
    static const int threads[] = {1024, 1536, 2048};
    static const int kib[] = {48, 64, 96, 100, 102, 112, 164, 228, 328};
    static const int odd_kib[] = {
        0, 32, 1000}; /* of less than 32, NVIDIA's computes numbers that overflow */
    static const int reserved[] = {0, 1024};
    cudaOccDeviceProp p;
    memset((void *)&p, 0, sizeof(p));
    p.computeMajor = major;
    p.computeMinor = minor;
    p.maxThreadsPerBlock = or_odd(1024);
    p.maxThreadsPerMultiprocessor = or_odd(ONE_OF(threads));
    p.regsPerBlock = or_odd(below(4) ? 65536 : 32768);
    p.regsPerMultiprocessor = or_odd(below(4) ? 65536 : 131072);
    p.warpSize = or_odd(32);
    p.sharedMemPerBlock = (size_t)or_odd(49152);
    p.sharedMemPerMultiprocessor = (size_t)(below(60) ? ONE_OF(kib) : ONE_OF(odd_kib)) * 1024;
    p.numSms = or_odd((int)below(160) + 1);
    p.reservedSharedMemPerBlock = (size_t)ONE_OF(reserved);
    p.sharedMemPerBlockOptin = p.sharedMemPerMultiprocessor - p.reservedSharedMemPerBlock;
    return p;
}

static cudaOccFuncAttributes any_kernel(void) {
    cudaOccFuncAttributes a;
    memset((void *)&a, 0, sizeof(a));
    a.maxThreadsPerBlock = or_odd(below(3) ? 1024 : INT_MAX);
    a.numRegs = or_odd((int)below(260));
    a.sharedSizeBytes = (size_t)(below(2) ? 0 : or_odd((int)below(50000)));
    a.partitionedGCConfig = (cudaOccPartitionedGCConfig)below(3);
    a.shmemLimitConfig = (cudaOccFuncShmemConfig)below(2);
    a.maxDynamicSharedSizeBytes = below(2) ? 49152 : below(250000);
    a.numBlockBarriers = or_odd((int)below(17));
    a.virtualResourceCount = or_odd((int)below(20) * (int)below(10));
    return a;
}

static cudaOccDeviceState any_state(void) {
    cudaOccDeviceState s;
    s.cacheConfig = (cudaOccCacheConfig)below(4);
    s.carveoutConfig = below(2) ? -1 : (int)below(104) - 2;
    return s;
}

/* ---- checksums ---- */

enum { FUNCTIONS = 32 };

static const char *names[FUNCTIONS];
static u64 sums[FUNCTIONS];
static int functions;

static void add(u64 part) {
    sums[functions] = (sums[functions] ^ part) * 1099511628211ull + (part >> 7);
}

/* Of a call that fails, only the error counts. */
static void add_if(cudaOccError status, u64 value) {
    add((u64)status);
    if (status == CUDA_OCC_SUCCESS)
        add(value);
}

static void add_result(cudaOccError status, const cudaOccResult *r) {
    add_if(status, (u64)r->activeBlocksPerMultiprocessor);
    add_if(status, r->limitingFactors);
    add_if(status, (u64)r->blockLimitRegs);
    add_if(status, (u64)r->blockLimitSharedMem);
    add_if(status, (u64)r->blockLimitWarps);
    add_if(status, (u64)r->blockLimitBlocks);
    add_if(status, (u64)r->blockLimitBarriers);
    add_if(status, (u64)r->blockLimitVirtual);
    add_if(status, (u64)r->allocatedRegistersPerBlock);
    add_if(status, r->allocatedSharedMemPerBlock);
    add_if(status, (u64)r->partitionedGCConfig);
}

/* Adds to the sum of the function in whose turn it is called. */
static void as(const char *name) {
    names[functions++] = name;
}

static size_t grows(int size) {
    return (size_t)size * 48 + 16;
}

#define ASK(function, type, ...)                                                                   \
    {                                                                                              \
        type answer = (type)0;                                                                     \
        const cudaOccError returned = function(&answer, __VA_ARGS__);                              \
        add_if(returned, (u64)answer);                                                             \
        as(#function);                                                                             \
    }

static void ask_device(const cudaOccDeviceProp *p, const cudaOccDeviceState *s) {
    ASK(cudaOccSMemAllocationGranularity, int, p)
    ASK(cudaOccRegAllocationMaxPerThread, int, p)
    ASK(cudaOccRegAllocationGranularity, int, p)
    ASK(cudaOccSubPartitionsPerMultiprocessor, int, p)
    ASK(cudaOccMaxBlocksPerMultiprocessor, int, p)
    ASK(cudaOccMaxVirtualResourceCountPerSM, int, p)
    ASK(cudaOccPartitionedGlobalCachingModeSupport, cudaOccPartitionedGCSupport, p)
    ASK(cudaOccSMemPreference, size_t, p, s)
    ASK(cudaOccSMemPreferenceVoltaPlus, size_t, p, s)
    ASK(cudaOccSMemPerMultiprocessor, size_t, p, s)
    ASK(cudaOccSMemPerBlock, size_t, p, (cudaOccFuncShmemConfig)below(2), below(300000)) {
        size_t size = below(4) ? below(350) * 1024 + below(3) : below(3);
        const cudaOccError status = cudaOccAlignUpShmemSizeVoltaPlus(&size, p);
        add_if(status, size);
        as("cudaOccAlignUpShmemSizeVoltaPlus");
    }
}

static void ask_limits(const cudaOccDeviceProp *p, const cudaOccFuncAttributes *a,
                       const cudaOccDeviceState *s, int size, size_t dynamic) {
    cudaOccPartitionedGCConfig caching = cudaOccPartitionedGCExpected(p, a);
    cudaOccResult result;
    int limit = 0;
    cudaOccError status;
    memset(&result, 0, sizeof(result));
    add((u64)caching);
    as("cudaOccPartitionedGCExpected");
    status = cudaOccMaxBlocksPerSMRegsLimit(&limit, &caching, &result, p, a, size);
    add_if(status, (u64)limit);
    add_if(status, (u64)caching);
    as("cudaOccMaxBlocksPerSMRegsLimit");
    ASK(cudaOccMaxBlocksPerSMWarpsLimit, int, caching, p, a, size)
    ASK(cudaOccMaxBlocksPerSMSmemLimit, int, &result, p, a, s, size, dynamic)
    ASK(cudaOccMaxBlocksPerSMBlockBarrierLimit, int, 24, p, a)
    ASK(cudaOccMaxBlocksPerSMVirtualResource, int, p, a)
}

#if defined(__cplusplus)
#include <cuda_runtime_api.h>

struct grows_by {
    size_t bytes;
    size_t operator()(int size) const { return (size_t)size * bytes; }
};

static void ask_in_cxx(const cudaOccDeviceProp *p, const cudaOccFuncAttributes *a,
                       const cudaOccDeviceState *s, size_t dynamic) {
    int grid = 0, block = 0;
    cudaOccError status = cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, p, a, s, dynamic);
    add_if(status, (u64)grid << 32 | (u64)block);
    status = cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, p, a, s);
    add_if(status, (u64)grid << 32 | (u64)block);
    as("cudaOccMaxPotentialOccupancyBlockSize in C++");
    const grows_by memory = {dynamic / 64};
    status = cudaOccMaxPotentialOccupancyBlockSizeVariableSMem(&grid, &block, p, a, s, memory);
    add_if(status, (u64)grid << 32 | (u64)block);
    status = cudaOccMaxPotentialOccupancyBlockSizeVariableSMem(&grid, &block, p, a, s, grows);
    add_if(status, (u64)grid << 32 | (u64)block);
    as("cudaOccMaxPotentialOccupancyBlockSizeVariableSMem");

    cudaDeviceProp of_cuda;
    memset(&of_cuda, 0, sizeof(of_cuda));
    of_cuda.major = p->computeMajor;
    of_cuda.minor = p->computeMinor;
    of_cuda.maxThreadsPerBlock = p->maxThreadsPerBlock;
    of_cuda.maxThreadsPerMultiProcessor = p->maxThreadsPerMultiprocessor;
    of_cuda.regsPerBlock = p->regsPerBlock;
    of_cuda.regsPerMultiprocessor = p->regsPerMultiprocessor;
    of_cuda.warpSize = p->warpSize;
    of_cuda.sharedMemPerBlock = p->sharedMemPerBlock;
    of_cuda.sharedMemPerMultiprocessor = p->sharedMemPerMultiprocessor;
    of_cuda.multiProcessorCount = p->numSms;
    of_cuda.sharedMemPerBlockOptin = p->sharedMemPerBlockOptin;
    of_cuda.reservedSharedMemPerBlock = p->reservedSharedMemPerBlock;
    cudaFuncAttributes of_kernel;
    memset(&of_kernel, 0, sizeof(of_kernel));
    of_kernel.maxThreadsPerBlock = a->maxThreadsPerBlock;
    of_kernel.numRegs = a->numRegs;
    of_kernel.sharedSizeBytes = a->sharedSizeBytes;
    of_kernel.maxDynamicSharedSizeBytes = 49152;
    const cudaOccDeviceProp device = of_cuda;
    const cudaOccFuncAttributes kernel = of_kernel;
    const cudaOccDeviceState usual = cudaOccDeviceState();
    cudaOccResult result;
    memset(&result, 0, sizeof(result));
    status =
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &usual, 128, dynamic);
    add_result(status, &result);
    add((u64)(device.numSms + device.regsPerBlock));
    as("structs made from CUDA's");
    const cudaOccDeviceProp no_device;
    const cudaOccFuncAttributes no_kernel;
    add((u64)(no_device.computeMajor + no_device.numSms + no_kernel.numBlockBarriers +
              no_kernel.shmemLimitConfig));
    as("structs by default");
}
#endif

static void ask(const cudaOccDeviceProp *p, const cudaOccFuncAttributes *a,
                const cudaOccDeviceState *s, int size, size_t dynamic) {
    cudaOccResult result;
    int grid = 0, block = 0;
    cudaOccError status;
    memset(&result, 0, sizeof(result));
    add((u64)cudaOccDevicePropCheck(p) << 6 | (u64)cudaOccFuncAttributesCheck(a) << 4 |
        (u64)cudaOccDeviceStateCheck(s) << 2 | (u64)cudaOccInputCheck(p, a, s));
    as("cudaOccInputCheck and its parts");
    ask_device(p, s);
    if (cudaOccInputCheck(p, a, s) == CUDA_OCC_SUCCESS && size > 0)
        ask_limits(p, a, s, size, dynamic);
    else
        functions += 6;
    status = cudaOccMaxActiveBlocksPerMultiprocessor(&result, p, a, s, size, dynamic);
    add_result(status, &result);
    as("cudaOccMaxActiveBlocksPerMultiprocessor");
    ASK(cudaOccAvailableDynamicSMemPerBlock, size_t, p, a, s, or_odd((int)below(9)), size)
    status = cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, p, a, s, NULL, dynamic);
    add_if(status, (u64)grid << 32 | (u64)block);
    status = cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, p, a, s, grows, dynamic);
    add_if(status, (u64)grid << 32 | (u64)block);
    as("cudaOccMaxPotentialOccupancyBlockSize");
#if defined(__cplusplus)
    ask_in_cxx(p, a, s, dynamic);
#endif
}

/* A pointer that is NULL is refused, whichever it is. */
static void ask_without(const cudaOccDeviceProp *p, const cudaOccFuncAttributes *a,
                        const cudaOccDeviceState *s) {
    cudaOccResult result;
    int grid, block;
    size_t bytes;
    add((u64)cudaOccMaxActiveBlocksPerMultiprocessor(NULL, p, a, s, 1, 0));
    add((u64)cudaOccMaxActiveBlocksPerMultiprocessor(&result, NULL, a, s, 1, 0));
    add((u64)cudaOccMaxActiveBlocksPerMultiprocessor(&result, p, NULL, s, 1, 0));
    add((u64)cudaOccMaxActiveBlocksPerMultiprocessor(&result, p, a, NULL, 1, 0));
    add((u64)cudaOccMaxPotentialOccupancyBlockSize(NULL, &block, p, a, s, NULL, 0));
    add((u64)cudaOccMaxPotentialOccupancyBlockSize(&grid, NULL, p, a, s, NULL, 0));
    add((u64)cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, NULL, a, s, NULL, 0));
    add((u64)cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, p, NULL, s, NULL, 0));
    add((u64)cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, p, a, NULL, NULL, 0));
    add((u64)cudaOccAvailableDynamicSMemPerBlock(&bytes, NULL, a, s, 1, 1));
    as("with NULL");
}

int main(void) {
    int major, minor, i;
    printf("up to %d.%d\n", __CUDA_OCC_MAJOR__, __CUDA_OCC_MINOR__);
    for (major = -1; major <= 14; major++)
        for (minor = -1; minor <= 10; minor++) {
            memset(sums, 0, sizeof(sums));
            for (i = 0; i < 250; i++) {
                const cudaOccDeviceProp p = any_device(major, minor);
                const cudaOccFuncAttributes a = any_kernel();
                const cudaOccDeviceState s = any_state();
                const size_t dynamic = below(3) ? below(60000) : below(2) ? 0 : below(400000);
                functions = 0;
                ask(&p, &a, &s, or_odd((int)below(1100)), dynamic);
                ask_without(&p, &a, &s);
            }
            for (i = 0; i < functions; i++)
                printf("%d.%d %s %016llx\n", major, minor, names[i], sums[i]);
        }
    return 0;
}
