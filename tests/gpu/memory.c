/* Memory: allocation, copies, pools, managed memory, pointer attributes, events, textures. */
#include "smoke.h"

#include <anycuda/driver_functions.h>

#include <stdlib.h>
#include <string.h>

enum { MIB = 1048576, COUNT = 1024, BYTES = COUNT * sizeof(int) };

static int numbers[COUNT], back[COUNT];

static void prepare(void) {
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = i * 7 + 1;
        back[i] = -1;
    }
}

static bool came_back(void) {
    return memcmp(numbers, back, BYTES) == 0;
}

static void round_trip(void) {
    int *a, *b;
    prepare();
    OK(cudaMalloc((void **)&a, BYTES));
    OK(cudaMalloc((void **)&b, BYTES));
    OK(cudaMemcpy(a, numbers, BYTES, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, BYTES, cudaMemcpyDefault));
    OK(cudaMemcpy(back, b, BYTES, cudaMemcpyDeviceToHost));
    EXPECT(came_back(), "other bytes came back");
    OK(cudaMemset(a, 0x5a, BYTES));
    OK(cudaMemcpy(back, a, BYTES, cudaMemcpyDeviceToHost));
    EXPECT(back[0] == 0x5a5a5a5a && back[COUNT - 1] == 0x5a5a5a5a, "cudaMemset set %x", back[0]);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

static void pitched_copy(void) {
    struct cudaPitchedPtr to;
    prepare();
    OK(cudaMalloc3D(&to, make_cudaExtent(128, 8, 4)));
    struct cudaMemcpy3DParms p = {.srcPtr = make_cudaPitchedPtr(numbers, 128, 128, 8),
                                  .dstPtr = to,
                                  .extent = make_cudaExtent(128, 8, 4),
                                  .kind = cudaMemcpyHostToDevice};
    OK(cudaMemcpy3D(&p));
    p = (struct cudaMemcpy3DParms){.srcPtr = to,
                                   .dstPtr = make_cudaPitchedPtr(back, 128, 128, 8),
                                   .extent = make_cudaExtent(128, 8, 4),
                                   .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&p));
    EXPECT(came_back(), "other bytes came back");
    OK(cudaFree(to.ptr));
}

static void stream_ordered(void) {
    cudaStream_t stream;
    int *a;
    prepare();
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync((void **)&a, BYTES, stream));
    OK(cudaMemcpyAsync(a, numbers, BYTES, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyAsync(back, a, BYTES, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(a, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(came_back(), "other bytes came back");
    OK(cudaStreamDestroy(stream));
}

static void pools(void) {
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice}};
    void *memory;
    uint64_t kept = 4096, got = 0;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    EXPECT(got == kept, "the threshold is %llu", (unsigned long long)got);
    OK(cudaMallocFromPoolAsync(&memory, BYTES, pool, 0));
    OK(cudaFreeAsync(memory, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaMemPoolDestroy(pool));
    props.maxSize = (size_t)64 * MIB; /* carved out of reserved space in 12.2 */
    NEEDS(12020, cudaMemPoolCreate(&pool, &props));
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMemPoolDestroy(pool));
}

/* What lies behind a struct must stay as it is. */
typedef struct guarded {
    struct cudaPointerAttributes it;
    unsigned char behind[64];
} guarded;

static bool ask(guarded *g, const void *pointer, enum cudaMemoryType type) {
    memset(g, 0xa5, sizeof *g);
    cudaError_t result = cudaPointerGetAttributes(&g->it, pointer);
    for (size_t i = 0; i < sizeof g->behind; i++)
        if (g->behind[i] != 0xa5)
            return fail("byte %zu behind the struct was written", i), false;
    if (result || g->it.type != type)
        return fail("result %d, type %d instead of %d", result, g->it.type, type), false;
    /* From 13.4 on the struct is CUDA's own from end to end, and CUDA leaves its reserve as it is.
     */
    if (runtime() < 13040 && !is_zero(g->it.reserved, sizeof g->it.reserved))
        return fail("reserved space is not zero"), false;
    if (runtime() < 13040 && g->it.localityDomainOrdinal != -1)
        return fail("localityDomainOrdinal is %d", g->it.localityDomainOrdinal), false;
    return true;
}

static void pointer_attributes(void) {
    guarded g;
    void *device, *pinned;
    OK(cudaMalloc(&device, BYTES));
    OK(cudaMallocHost(&pinned, BYTES));
    if (!ask(&g, device, cudaMemoryTypeDevice))
        return;
    EXPECT(g.it.device == 0 && g.it.devicePointer == device && !g.it.hostPointer,
           "device memory: device %d, pointers %p %p", g.it.device, g.it.devicePointer,
           g.it.hostPointer);
    tell("localityDomainOrdinal %d", g.it.localityDomainOrdinal);
    if (!ask(&g, pinned, cudaMemoryTypeHost))
        return;
    EXPECT(g.it.hostPointer == pinned, "pinned memory: %p instead of %p", g.it.hostPointer, pinned);
    if (!ask(&g, numbers, cudaMemoryTypeUnregistered))
        return;
    OK(cudaFreeHost(pinned));
    OK(cudaFree(device));
}

static void managed(void) {
    const struct cudaMemLocation gpu = {.type = cudaMemLocationTypeDevice, .id = 0};
    const struct cudaMemLocation host = {.type = cudaMemLocationTypeHost, .id = 0};
    const struct cudaMemLocation wrong = {.type = cudaMemLocationTypeDevice, .id = cudaCpuDeviceId};
    int *memory, concurrent = 0;
    OK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    if (!concurrent) {
        skip("no concurrent managed access here");
        return;
    }
    prepare();
    OK(cudaMallocManaged((void **)&memory, BYTES, cudaMemAttachGlobal));
    memcpy(memory, numbers, BYTES);
    OK(cudaMemAdvise(memory, BYTES, cudaMemAdviseSetPreferredLocation, host));
    OK(cudaMemAdvise(memory, BYTES, cudaMemAdviseUnsetPreferredLocation, host));
    struct cudaMemLocation nowhere = {.type = cudaMemLocationTypeInvalid};
    struct cudaMemLocation numa = {.type = cudaMemLocationTypeHostNuma};
    cudaError_t unset = cudaMemAdvise(memory, BYTES, cudaMemAdviseUnsetPreferredLocation, nowhere);
    cudaError_t read = cudaMemAdvise(memory, BYTES, cudaMemAdviseSetReadMostly, numa);
    tell("advice without a place, anywhere: %d, %d", unset, read);
    value("advice without a place, anywhere", "%d, %d", unset, read);
    (void)cudaGetLastError();
    OK(cudaMemAdvise(memory, BYTES, cudaMemAdviseUnsetReadMostly, gpu));
    OK(cudaMemAdvise(memory, BYTES, cudaMemAdviseSetAccessedBy, gpu));
    OK(cudaMemPrefetchAsync(memory, BYTES, gpu, 0, 0));
    int where = -7;
    OK(cudaStreamSynchronize(0));
    OK(cudaMemRangeGetAttribute(&where, sizeof where, cudaMemRangeAttributeLastPrefetchLocation,
                                memory, BYTES));
    EXPECT(where == 0, "prefetched to %d", where);
    OK(cudaMemPrefetchAsync(memory, BYTES, host, 0, 0));
    OK(cudaStreamSynchronize(0));
    EXPECT(memcmp(memory, numbers, BYTES) == 0, "other bytes came back");
    cudaError_t advised = cudaMemAdvise(memory, BYTES, cudaMemAdviseSetPreferredLocation, wrong);
    cudaError_t prefetched = cudaMemPrefetchAsync(memory, BYTES, wrong, 0, 0);
    tell("{Device, -1}: advise %d, prefetch %d", advised, prefetched);
    value("{Device, -1}", "advise %d, prefetch %d", advised, prefetched);
    EXPECT(advised && prefetched, "{Device, -1} was accepted, which 13 refuses");
    OK(cudaFree(memory));
}

static void batch_copies(void) {
    cudaStream_t stream;
    char *device, *pinned;
    prepare();
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&device, BYTES));
    OK(cudaMallocHost((void **)&pinned, BYTES));
    memcpy(pinned, numbers, BYTES);
    void *dsts[] = {device, device + BYTES / 2};
    const void *srcs[] = {pinned, pinned + BYTES / 2};
    size_t sizes[] = {BYTES / 2, BYTES / 2}, first[] = {0};
    struct cudaMemcpyAttributes how = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    NEEDS(12080, cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, first, 1, stream));
    OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, first, 1, stream));
    OK(cudaMemcpyAsync(back, device, BYTES, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(came_back(), "other bytes came back");
    cudaError_t refused = cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, first, 0, stream);
    tell("without attributes: %d (%s)", refused, acu_last_error_message());
    value("batch without attributes", "%d", refused);
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(device));
}

static void batch_copies_3d(void) {
    cudaStream_t stream;
    void *device, *pinned;
    prepare();
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&device, BYTES));
    OK(cudaMallocHost(&pinned, BYTES));
    memcpy(pinned, numbers, BYTES);
    struct cudaMemcpy3DBatchOp op = {.extent = make_cudaExtent(BYTES, 1, 1),
                                     .srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    op.src.type = op.dst.type = cudaMemcpyOperandTypePointer;
    op.src.op.ptr.ptr = pinned;
    op.src.op.ptr.locHint.type = cudaMemLocationTypeHost;
    op.dst.op.ptr.ptr = device;
    op.dst.op.ptr.locHint.type = cudaMemLocationTypeDevice;
    NEEDS(12080, cudaMemcpy3DBatchAsync(1, &op, 0, stream));
    OK(cudaMemcpy3DBatchAsync(1, &op, 0, stream));
    OK(cudaMemcpyAsync(back, device, BYTES, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(came_back(), "other bytes came back");
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(device));
}

static void events(void) {
    cudaEvent_t begin, end;
    void *memory;
    float ms = -1;
    OK(cudaMalloc(&memory, MIB));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
    OK(cudaEventRecord(begin, 0));
    OK(cudaMemsetAsync(memory, 1, MIB, 0));
    OK(cudaEventRecord(end, 0));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, begin, end));
    EXPECT(ms > 0 && ms < 1000, "%g ms", (double)ms);
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    OK(cudaFree(memory));
}

static void texture(void) {
    cudaArray_t array;
    cudaTextureObject_t object;
    const struct cudaChannelFormatDesc format =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    OK(cudaMallocArray(&array, &format, 16, 16, 0));
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray,
                                        .res = {.array = {array}}};
    struct cudaTextureDesc desc = {.addressMode = {cudaAddressModeClamp, cudaAddressModeMirror},
                                   .filterMode = cudaFilterModeLinear,
                                   .readMode = cudaReadModeElementType,
                                   .normalizedCoords = 1,
                                   .maxAnisotropy = 4,
                                   .borderColor = {1, 2, 3, 4}};
    struct cudaTextureDesc got;
    struct cudaResourceDesc from;
    OK(cudaCreateTextureObject(&object, &resource, &desc, NULL));
    memset(&got, 0xa5, sizeof got);
    memset(&from, 0xa5, sizeof from);
    OK(cudaGetTextureObjectTextureDesc(&got, object));
    OK(cudaGetTextureObjectResourceDesc(&from, object));
    EXPECT(got.addressMode[1] == cudaAddressModeMirror && got.filterMode == desc.filterMode &&
               got.normalizedCoords == 1 && got.maxAnisotropy == 4 && got.seamlessCubemap == 0,
           "another description came back: %d %d %d %u %d", got.addressMode[1], got.filterMode,
           got.normalizedCoords, got.maxAnisotropy, got.seamlessCubemap);
    EXPECT(from.resType == cudaResourceTypeArray && from.res.array.array == array &&
               from.flags == 0,
           "another resource came back: %d, flags %u", from.resType, from.flags);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeArray(array));
}

const check memory_checks[] = {
    {"malloc, memcpy, memset", round_trip},
    {"pitched 3D copy", pitched_copy},
    {"stream-ordered allocation", stream_ordered},
    {"memory pools", pools},
    {"pointer attributes", pointer_attributes},
    {"managed memory: advise, prefetch", managed},
    {"batch copies", batch_copies},
    {"3D batch copies", batch_copies_3d},
    {"events", events},
    {"texture and resource descriptions", texture},
    {NULL, NULL},
};
