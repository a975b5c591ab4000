#include "played.h"
#include "safe.h"

#include <anycuda/cudart.h>

void *captured;
int devices_there = 1;

/* One function for each symbol that may be counted, since a function does not know its name. */
#define COUNTED(name) static size_t count_##name;
#define PLAY(name)    {#name, (void (*)(void))play_##name, &count_##name}
#define SIMPLE(name)                                                                               \
    COUNTED(name)                                                                                  \
    static int play_##name(void) {                                                                 \
        count_##name++;                                                                            \
        return 0;                                                                                  \
    }
#define ANSWERS(name, value)                                                                       \
    COUNTED(name)                                                                                  \
    static int play_##name(int *answer) {                                                          \
        count_##name++;                                                                            \
        *answer = (value);                                                                         \
        return 0;                                                                                  \
    }
#define MAKES(name)                                                                                \
    COUNTED(name)                                                                                  \
    static int play_##name(void **handle) {                                                        \
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

MAKES(cudaLibraryLoadData)
MAKES(cudaLibraryGetKernel)
SIMPLE(cudaLaunchKernel)
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

COUNTED(cudaFuncGetAttributes)
static int play_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes) {
    count_cudaFuncGetAttributes++;
    *attributes =
        (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024, .maxDynamicSharedSizeBytes = 49152};
    return 0;
}

/* Each kernel takes two pointers and an int. */
COUNTED(cudaFuncGetParamInfo)
static int play_cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset,
                                     size_t *size) {
    (void)function;
    count_cudaFuncGetParamInfo++;
    *offset = 8 * index;
    *size = index < 2 ? 8 : 4;
    return index < 3 ? 0 : cudaErrorInvalidValue;
}

COUNTED(cudaStreamIsCapturing)
static int play_cudaStreamIsCapturing(void *stream, int *status) {
    count_cudaStreamIsCapturing++;
    *status = captured != NULL && stream == captured;
    return 0;
}

/* Every graph has two. */
COUNTED(cudaGraphGetEdges)
static int play_cudaGraphGetEdges(void *graph, void **from, void **to, void *data, size_t *count) {
    static long nodes[2];
    (void)graph;
    (void)data;
    count_cudaGraphGetEdges++;
    *count = 2;
    for (size_t i = 0; from && to && i < 2; i++) {
        from[i] = &nodes[i];
        to[i] = &nodes[1 - i];
    }
    return 0;
}

static int nothing(void) {
    return 0;
}

static const struct {
    const char *name;
    void (*play)(void);
    size_t *count;
} played[] = {
    PLAY(cudaGetDeviceCount),
    PLAY(cudaGetDevice),
    PLAY(cudaSetDevice),
    PLAY(cudaRuntimeGetVersion),
    PLAY(cuDriverGetVersion),
    PLAY(cudaMallocAsync),
    PLAY(cudaStreamCreateWithPriority),
    PLAY(cudaEventCreateWithFlags),
    PLAY(cudaStreamSynchronize),
    PLAY(cudaStreamQuery),
    PLAY(cudaStreamAddCallback),
    PLAY(cudaStreamWaitEvent),
    PLAY(cudaEventRecord),
    PLAY(cudaMemcpyAsync),
    PLAY(cudaMemsetAsync),
    PLAY(cudaFree),
    PLAY(cudaFreeAsync),
    PLAY(cudaStreamIsCapturing),
    PLAY(cudaGraphCreate),
    PLAY(cudaGraphClone),
    PLAY(cudaGraphAddChildGraphNode),
    PLAY(cudaGraphAddEmptyNode),
    PLAY(cudaGraphAddHostNode),
    PLAY(cudaGraphAddMemcpyNode1D),
    PLAY(cudaGraphAddMemsetNode),
    PLAY(cudaGraphGetEdges),
    PLAY(cudaGraphInstantiateWithParams),
    PLAY(cudaGraphLaunch),
    PLAY(cudaLibraryLoadData),
    PLAY(cudaLibraryGetKernel),
    PLAY(cudaLibraryUnload),
    PLAY(cudaLaunchKernel),
    PLAY(cudaDeviceGetAttribute),
    PLAY(cudaFuncGetAttributes),
    PLAY(cudaFuncGetParamInfo),
};

static void *find(const char *symbol, void *data) {
    void (*play)(void) = (void (*)(void))nothing;
    void *address = NULL;
    (void)data;
    for (size_t i = 0; i < COUNT(played); i++)
        if (strcmp(symbol, played[i].name) == 0)
            play = played[i].play;
    memcpy(&address, &play, sizeof address);
    return address;
}

void play_cuda(void) {
    OK(acu_load(&(acu_load_options){.resolve = find, .version = 13050}));
}

size_t calls_of(const char *beginning) {
    size_t calls = 0;
    for (size_t i = 0; i < COUNT(played); i++)
        if (strncmp(played[i].name, beginning, strlen(beginning)) == 0)
            calls += *played[i].count;
    return calls;
}
