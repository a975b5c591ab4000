#include "fake_cuda.h"
#include "safe.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <unistd.h>

void *captured;
int devices_there = 1;

/* One function for each symbol that may be counted, since a function does not know its name. */
#define COUNTED(name) static size_t count_##name;
#define FAKE(name)    {#name, (void (*)(void))fake_##name, &count_##name}
#define SIMPLE(name)                                                                               \
    COUNTED(name)                                                                                  \
    static int fake_##name(void) {                                                                 \
        count_##name++;                                                                            \
        return 0;                                                                                  \
    }
#define ANSWERS(name, value)                                                                       \
    COUNTED(name)                                                                                  \
    static int fake_##name(int *answer) {                                                          \
        count_##name++;                                                                            \
        *answer = (value);                                                                         \
        return 0;                                                                                  \
    }
#define MAKES(name)                                                                                \
    COUNTED(name)                                                                                  \
    static int fake_##name(void **handle) {                                                        \
        static long handles[64];                                                                   \
        *handle = &handles[count_##name++ % 64];                                                   \
        return 0;                                                                                  \
    }

ANSWERS(cudaGetDeviceCount, devices_there)
ANSWERS(cudaGetDevice, 0)
SIMPLE(cudaSetDevice)
ANSWERS(cudaRuntimeGetVersion, 13050)
ANSWERS(cuDriverGetVersion, 13050)
MAKES(cudaStreamCreateWithPriority)
MAKES(cudaEventCreateWithFlags)
MAKES(cudaMallocAsync)
SIMPLE(cudaStreamSynchronize)
SIMPLE(cudaStreamQuery)
SIMPLE(cudaStreamAddCallback)
SIMPLE(cudaStreamWaitEvent)
SIMPLE(cudaEventRecord)
SIMPLE(cudaMemcpyAsync)
SIMPLE(cudaMemsetAsync)
SIMPLE(cudaFree)
SIMPLE(cudaFreeAsync)

/* Memory that the program itself fills; there is 1 MiB of it. */
COUNTED(cudaHostAlloc)
static int fake_cudaHostAlloc(void **memory, size_t bytes) {
    static char pinned[1 << 20];
    count_cudaHostAlloc++;
    *memory = pinned;
    return bytes <= sizeof pinned ? 0 : cudaErrorMemoryAllocation;
}

MAKES(cudaLibraryLoadData)
MAKES(cudaLibraryGetKernel)
SIMPLE(cudaLaunchKernel)
SIMPLE(cuLaunchKernel)
SIMPLE(cudaLibraryUnload)

MAKES(cudaGraphCreate)
MAKES(cudaGraphClone)
MAKES(cudaGraphAddChildGraphNode)
MAKES(cudaGraphAddEmptyNode)
MAKES(cudaGraphAddHostNode)
MAKES(cudaGraphAddMemcpyNode1D)
MAKES(cudaGraphAddMemsetNode)
MAKES(cudaGraphInstantiateWithParams)
SIMPLE(cudaGraphLaunch)
ANSWERS(cudaDeviceGetAttribute, 1024)

COUNTED(cuMemGetAllocationGranularity)
static int fake_cuMemGetAllocationGranularity(size_t *step) {
    count_cuMemGetAllocationGranularity++;
    *step = FAKE_STEP;
    return 0;
}
COUNTED(cudaMemGetInfo)
static int fake_cudaMemGetInfo(size_t *unused, size_t *total) {
    count_cudaMemGetInfo++;
    *unused = *total = (size_t)1 << 30u;
    return 0;
}
COUNTED(cuMulticastGetGranularity)
static int fake_cuMulticastGetGranularity(size_t *step) {
    count_cuMulticastGetGranularity++;
    *step = FAKE_STEP;
    return 0;
}
MAKES(cuMulticastCreate)

/* A device with many multiprocessors. */
COUNTED(cuDeviceGetDevResource)
static int fake_cuDeviceGetDevResource(int device, CUdevResource *resource, unsigned type) {
    (void)device;
    count_cuDeviceGetDevResource++;
    resource->type = (CUdevResourceType)type;
    resource->sm.smCount = 132;
    return 0;
}
MAKES(cuDevResourceGenerateDesc)
MAKES(cuGreenCtxCreate)
SIMPLE(cuGreenCtxDestroy)
MAKES(cuGreenCtxStreamCreate)
ANSWERS(cuDeviceGetAttribute, 1)
MAKES(cuMemAddressReserve)
MAKES(cuMemCreate)
MAKES(cudaImportExternalMemory)
MAKES(cudaImportExternalSemaphore)
MAKES(cudaExternalMemoryGetMappedBuffer)
SIMPLE(cudaDestroyExternalMemory)
SIMPLE(cudaDestroyExternalSemaphore)
SIMPLE(cudaSignalExternalSemaphoresAsync)
SIMPLE(cudaWaitExternalSemaphoresAsync)
SIMPLE(cudaGLGetDevices)
MAKES(cudaGraphicsGLRegisterBuffer)
MAKES(cudaGraphicsGLRegisterImage)
SIMPLE(cudaGraphicsUnregisterResource)
SIMPLE(cudaGraphicsMapResources)
SIMPLE(cudaGraphicsUnmapResources)
MAKES(cudaGraphicsSubResourceGetMappedArray)
MAKES(cudaGraphicsResourceGetMappedMipmappedArray)
COUNTED(cudaGraphicsResourceGetMappedPointer)
static int fake_cudaGraphicsResourceGetMappedPointer(void **at, size_t *bytes) {
    static long memory[8];
    count_cudaGraphicsResourceGetMappedPointer++;
    *at = memory;
    *bytes = sizeof memory;
    return 0;
}
MAKES(cudaGraphAddNode)
MAKES(cudaGraphAddExternalSemaphoresSignalNode)
MAKES(cudaGraphAddExternalSemaphoresWaitNode)
SIMPLE(cudaGraphExternalSemaphoresSignalNodeSetParams)
MAKES(cuMemRetainAllocationHandle)

COUNTED(cuDeviceGetUuid_v2)
static int fake_cuDeviceGetUuid_v2(char uuid[16]) {
    count_cuDeviceGetUuid_v2++;
    memset(uuid, 7, 16);
    return 0;
}
MAKES(cudaIpcOpenMemHandle)
MAKES(cudaIpcOpenEventHandle)
MAKES(cudaMemPoolImportFromShareableHandle)
MAKES(cudaMemPoolImportPointer)
COUNTED(cudaMemPoolExportToShareableHandle)
static int fake_cudaMemPoolExportToShareableHandle(int *descriptor) {
    count_cudaMemPoolExportToShareableHandle++;
    *descriptor = dup(0);
    return 0;
}

COUNTED(cudaFuncGetAttributes)
static int fake_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes) {
    count_cudaFuncGetAttributes++;
    *attributes =
        (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024, .maxDynamicSharedSizeBytes = 49152};
    return 0;
}

/* Each kernel takes two pointers and an int. */
COUNTED(cudaFuncGetParamInfo)
static int fake_cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset,
                                     size_t *size) {
    (void)function;
    count_cudaFuncGetParamInfo++;
    *offset = 8 * index;
    *size = index < 2 ? 8 : 4;
    return index < 3 ? 0 : cudaErrorInvalidValue;
}

COUNTED(cudaStreamIsCapturing)
static int fake_cudaStreamIsCapturing(void *stream, int *status) {
    count_cudaStreamIsCapturing++;
    *status = captured != NULL && stream == captured;
    return 0;
}

/* Every graph has two nodes, the second one behind the first one by two edges. */
static long nodes_of_all[2];

COUNTED(cudaGraphGetNodes)
static int fake_cudaGraphGetNodes(void *graph, void **nodes, size_t *count) {
    (void)graph;
    count_cudaGraphGetNodes++;
    *count = 2;
    for (size_t i = 0; nodes && i < 2; i++)
        nodes[i] = &nodes_of_all[i];
    return 0;
}

COUNTED(cudaGraphNodeFindInClone)
static int fake_cudaGraphNodeFindInClone(void **found, void *node, void *clone) {
    (void)clone;
    count_cudaGraphNodeFindInClone++;
    *found = node;
    return 0;
}

COUNTED(cudaGraphGetEdges)
static int fake_cudaGraphGetEdges(void *graph, void **from, void **to, void *data, size_t *count) {
    (void)graph;
    (void)data;
    count_cudaGraphGetEdges++;
    *count = 2;
    for (size_t i = 0; from && to && i < 2; i++) {
        from[i] = &nodes_of_all[0];
        to[i] = &nodes_of_all[1];
    }
    return 0;
}

/* Each node depends on the first one. */
COUNTED(cudaGraphNodeGetDependencies)
static int fake_cudaGraphNodeGetDependencies(void *node, void **nodes, void *data, size_t *count) {
    (void)node;
    (void)data;
    count_cudaGraphNodeGetDependencies++;
    *count = 1;
    if (nodes)
        nodes[0] = &nodes_of_all[0];
    return 0;
}

/* Nothing ever has the object, so that its data goes at once. */
COUNTED(cudaUserObjectCreate)
static int fake_cudaUserObjectCreate(void **object, void *data, void (*destroy)(void *)) {
    count_cudaUserObjectCreate++;
    *object = NULL;
    destroy(data);
    return 0;
}

static int nothing(void) {
    return 0;
}

static const struct {
    const char *name;
    void (*function)(void);
    size_t *count;
} fakes[] = {
    FAKE(cudaGetDeviceCount),
    FAKE(cudaGetDevice),
    FAKE(cudaSetDevice),
    FAKE(cudaRuntimeGetVersion),
    FAKE(cuDriverGetVersion),
    FAKE(cudaMallocAsync),
    FAKE(cudaHostAlloc),
    FAKE(cudaStreamCreateWithPriority),
    FAKE(cudaEventCreateWithFlags),
    FAKE(cudaStreamSynchronize),
    FAKE(cudaStreamQuery),
    FAKE(cudaStreamAddCallback),
    FAKE(cudaStreamWaitEvent),
    FAKE(cudaEventRecord),
    FAKE(cudaMemcpyAsync),
    FAKE(cudaMemsetAsync),
    FAKE(cudaFree),
    FAKE(cudaFreeAsync),
    FAKE(cudaStreamIsCapturing),
    FAKE(cudaGraphCreate),
    FAKE(cudaGraphClone),
    FAKE(cudaGraphAddChildGraphNode),
    FAKE(cudaGraphAddEmptyNode),
    FAKE(cudaGraphAddHostNode),
    FAKE(cudaGraphAddMemcpyNode1D),
    FAKE(cudaGraphAddMemsetNode),
    FAKE(cudaGraphGetEdges),
    FAKE(cudaGraphGetNodes),
    FAKE(cudaGraphNodeFindInClone),
    FAKE(cudaUserObjectCreate),
    FAKE(cudaGraphNodeGetDependencies),
    FAKE(cudaGraphInstantiateWithParams),
    FAKE(cudaGraphLaunch),
    FAKE(cudaLibraryLoadData),
    FAKE(cudaLibraryGetKernel),
    FAKE(cudaLibraryUnload),
    FAKE(cudaLaunchKernel),
    FAKE(cuLaunchKernel),
    FAKE(cudaDeviceGetAttribute),
    FAKE(cudaMemGetInfo),
    FAKE(cuMemGetAllocationGranularity),
    FAKE(cuMulticastGetGranularity),
    FAKE(cuMulticastCreate),
    FAKE(cuDeviceGetDevResource),
    FAKE(cuDevResourceGenerateDesc),
    FAKE(cuGreenCtxCreate),
    FAKE(cuGreenCtxDestroy),
    FAKE(cuGreenCtxStreamCreate),
    FAKE(cuDeviceGetAttribute),
    FAKE(cuMemAddressReserve),
    FAKE(cuMemCreate),
    FAKE(cudaImportExternalMemory),
    FAKE(cudaImportExternalSemaphore),
    FAKE(cudaExternalMemoryGetMappedBuffer),
    FAKE(cudaDestroyExternalMemory),
    FAKE(cudaDestroyExternalSemaphore),
    FAKE(cudaSignalExternalSemaphoresAsync),
    FAKE(cudaWaitExternalSemaphoresAsync),
    FAKE(cudaGLGetDevices),
    FAKE(cudaGraphicsGLRegisterBuffer),
    FAKE(cudaGraphicsGLRegisterImage),
    FAKE(cudaGraphicsUnregisterResource),
    FAKE(cudaGraphicsMapResources),
    FAKE(cudaGraphicsUnmapResources),
    FAKE(cudaGraphicsSubResourceGetMappedArray),
    FAKE(cudaGraphicsResourceGetMappedMipmappedArray),
    FAKE(cudaGraphicsResourceGetMappedPointer),
    FAKE(cudaGraphAddNode),
    FAKE(cudaGraphAddExternalSemaphoresSignalNode),
    FAKE(cudaGraphAddExternalSemaphoresWaitNode),
    FAKE(cudaGraphExternalSemaphoresSignalNodeSetParams),
    FAKE(cuMemRetainAllocationHandle),
    FAKE(cuDeviceGetUuid_v2),
    FAKE(cudaIpcOpenMemHandle),
    FAKE(cudaIpcOpenEventHandle),
    FAKE(cudaMemPoolImportFromShareableHandle),
    FAKE(cudaMemPoolImportPointer),
    FAKE(cudaMemPoolExportToShareableHandle),
    FAKE(cudaFuncGetAttributes),
    FAKE(cudaFuncGetParamInfo),
};

static void *find(const char *symbol, void *data) {
    void (*function)(void) = (void (*)(void))nothing;
    void *address = NULL;
    (void)data;
    for (size_t i = 0; i < COUNT(fakes); i++)
        if (strcmp(symbol, fakes[i].name) == 0)
            function = fakes[i].function;
    memcpy(&address, &function, sizeof address);
    return address;
}

void load_fake_cuda(void) {
    OK(acu_load(&(acu_load_options){.resolve = find, .version = 13050}));
    OK(acu_load(&(acu_load_options){.library = ACU_CUDA, .resolve = find, .version = 13050}));
}

size_t calls_of(const char *beginning) {
    size_t calls = 0;
    for (size_t i = 0; i < COUNT(fakes); i++)
        if (strncmp(fakes[i].name, beginning, strlen(beginning)) == 0)
            calls += *fakes[i].count;
    return calls;
}
