/* Memory of cudaMalloc() that is shared by handles of 64 bytes. */
#include "share.h"

#include <stdlib.h>
#include <unistd.h>

static void say_attributes(const char *of, const void *at) {
    struct cudaPointerAttributes a = {.type = (enum cudaMemoryType)9};
    CUdeviceptr base = 0;
    size_t size = 0;
    const int code = (int)cudaPointerGetAttributes(&a, at);
    say("attributes of %s = %d: type %d, device %d, device pointer %d, host pointer %d", of, code,
        (int)a.type, a.device, a.devicePointer == at, a.hostPointer != NULL);
    const int range = (int)cuMemGetAddressRange(&base, &size, (CUdeviceptr)(uintptr_t)at);
    say("range of %s = %d: offset %lld, size %zu", of, range,
        range ? -1LL : (long long)((uintptr_t)at - (uintptr_t)base), size);
    unsigned capable = 7;
    uint64_t context = 7, handles = 7, mapping = 7;
    const int codes[] = {
        (int)cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                   (CUdeviceptr)(uintptr_t)at),
        (int)cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT,
                                   (CUdeviceptr)(uintptr_t)at),
        (int)cuPointerGetAttribute(&handles, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                                   (CUdeviceptr)(uintptr_t)at),
        (int)cuPointerGetAttribute(&mapping, CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
                                   (CUdeviceptr)(uintptr_t)at)};
    say("capable %d %u, context %d %d, handles %d %llx, mapping %d %llu", codes[0], capable,
        codes[1], context != 0, codes[2], (unsigned long long)handles, codes[3],
        (unsigned long long)mapping);
}

static void *allocate(size_t size) {
    void *at = NULL;
    OK(cudaMalloc(&at, size));
    return at;
}

/* ---- what has a handle ---- */

static __attribute__((aligned(4096))) char pageable[4096];

static void gets_handles(void) {
    cudaIpcMemHandle_t handle, second;
    void *pinned = NULL, *managed = NULL, *ordered = NULL;
    int value = -1;
    OK(cudaFree(NULL));
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrIpcEventSupport, 0));
    say("attribute of events is %d", value);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    say("attribute of pools is %x", (unsigned)value);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0));
    say("the driver's is %d", value);
    OK(cudaMallocHost(&pinned, 4096));
    OK(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
    OK(cudaMallocAsync(&ordered, 4096, NULL));
    char *at = allocate(4 * MIB), *tiny = allocate(1);
    memset(&handle, 0, sizeof handle);
    memset(&second, 0, sizeof second);
    ASK(cudaIpcGetMemHandle(&handle, at));
    ASK(cudaIpcGetMemHandle(&second, at));
    say("equal: %d", memcmp(&handle, &second, sizeof handle) == 0);
    ASK(cudaIpcGetMemHandle(&second, at + 64));
    say("equal inside: %d", memcmp(&handle, &second, sizeof handle) == 0);
    ASK(cudaIpcGetMemHandle(&second, tiny));
    ASK(cudaIpcGetMemHandle(NULL, at));
    ASK(cudaIpcGetMemHandle(&second, NULL));
    ASK(cudaIpcGetMemHandle(&second, pageable));
    ASK(cudaIpcGetMemHandle(&second, pinned));
    ASK(cudaIpcGetMemHandle(&second, managed));
    ASK(cudaIpcGetMemHandle(&second, ordered));
    say_attributes("memory", at);
    say_attributes("tiny memory", tiny);
    say_attributes("pool memory", ordered);
    OK(cudaFree(tiny));
    ASK(cudaIpcGetMemHandle(&second, tiny));
    OK(cudaHostRegister(pageable, sizeof pageable, 0));
    ASK(cudaIpcGetMemHandle(&second, pageable));
    void *pitched = NULL;
    size_t pitch;
    OK(cudaMallocPitch(&pitched, &pitch, 100, 100));
    ASK(cudaIpcGetMemHandle(&second, pitched));
    ASK(cuIpcGetMemHandle((CUipcMemHandle *)(void *)&second, (CUdeviceptr)(uintptr_t)at));
    say("equal by the driver: %d", memcmp(&handle, &second, sizeof handle) == 0);
}
SCENE(memory_gets_handles, gets_handles, NULL)

static void opens_its_own(void) {
    cudaIpcMemHandle_t handle;
    void *at = allocate(4 * MIB), *there = (void *)8;
    OK(cudaIpcGetMemHandle(&handle, at));
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
    say("written: %d", there != (void *)8);
    ASK(cudaGetLastError());
    ASK(cudaIpcOpenMemHandle(&there, handle, 0));
    ASK(cudaIpcOpenMemHandle(NULL, handle, cudaIpcMemLazyEnablePeerAccess));
    ASK(cudaIpcCloseMemHandle(at));
    ASK(cudaIpcCloseMemHandle(NULL));
    ASK(cudaIpcCloseMemHandle(pageable));
    ASK(cuIpcCloseMemHandle(0));
    ASK(cudaFree(at));
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
    say("written: %d", there != (void *)8);
}
SCENE(memory_opens_its_own, opens_its_own, NULL)

static void opens_garbage(void) {
    cudaIpcMemHandle_t handle;
    void *there = (void *)8;
    OK(cudaFree(NULL));
    memset(&handle, 0, sizeof handle);
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
    memset(&handle, 0xff, sizeof handle);
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
    memset(&handle, 0x5a, sizeof handle);
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
    ASK(cudaIpcOpenMemHandle(&there, handle, 0));
    ASK(cudaIpcOpenMemHandle(&there, handle, 2));
    ASK(cudaIpcOpenMemHandle(NULL, handle, 2));
    say("written: %d", there != (void *)8);
}
SCENE(memory_opens_garbage, opens_garbage, NULL)

/* A handle of which the first bytes, by eights, are another. */
static void makes_for_damage(void) {
    cudaIpcMemHandle_t handle;
    void *at = allocate(4 * MIB);
    OK(cudaIpcGetMemHandle(&handle, at));
    give(&handle, sizeof handle, -1);
    wait_for_other();
}

static void opens_damaged(void) {
    cudaIpcMemHandle_t handle, damaged;
    void *there = NULL;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    damaged = handle;
    memset(&damaged, 0, 8);
    ASK(cudaIpcOpenMemHandle(&there, damaged, cudaIpcMemLazyEnablePeerAccess));
    ASK(cudaIpcOpenMemHandle(&there, handle, 0));
    ASK(cudaIpcOpenMemHandle(&there, handle, 2));
    ASK(cudaIpcOpenMemHandle(&there, handle, 3));
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
    let_go_on();
}
SCENE(memory_opens_damaged, makes_for_damage, opens_damaged)

/* ---- a round trip ---- */

static void makes(void) {
    cudaIpcMemHandle_t handles[4];
    char *small = allocate(256), *next = allocate(300), *large = allocate(4 * MIB);
    fill(small, 0x11, 256);
    fill(next, 0x22, 300);
    fill(large, 0x33, 4 * MIB);
    fill(large + 64, 0x44, 1);
    OK(cudaIpcGetMemHandle(&handles[0], small));
    OK(cudaIpcGetMemHandle(&handles[1], next));
    OK(cudaIpcGetMemHandle(&handles[2], large));
    OK(cudaIpcGetMemHandle(&handles[3], large + 64));
    give(handles, sizeof handles, -1);
    wait_for_other();
    say_byte("after the other wrote", large + 2 * MIB);
    say_byte("small one", small);
    fill(large, 0x99, 4 * MIB);
    let_go_on();
    wait_for_other();
    ASK(cudaFree(large));
    ASK(cudaFree(small));
    let_go_on();
    wait_for_other();
}

static void opens(void) {
    cudaIpcMemHandle_t handles[4], again;
    char *small = NULL, *next = NULL, *large = NULL, *inside = NULL;
    OK(cudaFree(NULL));
    (void)take(handles, sizeof handles);
    ASK(cudaIpcOpenMemHandle((void **)&small, handles[0], cudaIpcMemLazyEnablePeerAccess));
    ASK(cudaIpcOpenMemHandle((void **)&next, handles[1], cudaIpcMemLazyEnablePeerAccess));
    ASK(cudaIpcOpenMemHandle((void **)&large, handles[2], cudaIpcMemLazyEnablePeerAccess));
    ASK(cudaIpcOpenMemHandle((void **)&inside, handles[3], cudaIpcMemLazyEnablePeerAccess));
    say_byte("small", small);
    say_byte("next", next);
    say_byte("large", large);
    say_byte("inside", inside);
    say("inside is the same: %d", inside == large);
    say_attributes("small", small);
    say_attributes("next", next);
    say_attributes("large", large);
    say_attributes("large + 64", large + 64);
    char *second = NULL;
    ASK(cudaIpcOpenMemHandle((void **)&second, handles[2], cudaIpcMemLazyEnablePeerAccess));
    say("the same again: %d", second == large);
    ASK(cudaIpcGetMemHandle(&again, large));
    ASK(cudaFree(large));
    ASK(cudaFreeAsync(large, NULL));
    ASK(cudaFreeHost(large));
    ASK(cuMemFree((CUdeviceptr)(uintptr_t)large));
    ASK(cudaMemset(large, 0x55, 4 * MIB));
    ASK(cudaMemset(large, 0x55, 4 * MIB + 1));
    char *byte = allocate(4 * MIB);
    ASK(cudaMemcpy(byte, large, 4 * MIB, cudaMemcpyDefault));
    say_byte("copied", byte + 3 * MIB);
    ASK(cudaMemcpy(byte, large + MIB, 4 * MIB, cudaMemcpyDefault));
    OK(cudaDeviceSynchronize());
    let_go_on();
    wait_for_other();
    say_byte("after the maker wrote", large + MIB);
    ASK(cudaIpcCloseMemHandle(large + 64));
    let_go_on();
    wait_for_other();
    void *late = NULL;
    ASK(cudaIpcOpenMemHandle(&late, handles[2], cudaIpcMemLazyEnablePeerAccess));
    say("the same after the free: %d", late == large);
    let_go_on();
    wait_for_end();
    ASK(cudaIpcCloseMemHandle(large));
    ASK(cudaIpcCloseMemHandle(large));
    ASK(cudaIpcCloseMemHandle(large));
    ASK(cudaIpcCloseMemHandle(large));
    ASK(cudaIpcCloseMemHandle(large));
    ASK(cudaIpcCloseMemHandle(small));
    ASK(cudaIpcCloseMemHandle(small));
    ASK(cudaIpcCloseMemHandle(next));
    /* Handles of a maker that has ended are not opened: 400 on one machine, 1 and 0 on others. */
    ASK(cudaMemset(large, 0, 1));
    struct cudaPointerAttributes a = {.type = (enum cudaMemoryType)9};
    ASK(cudaPointerGetAttributes(&a, large));
    say("type %d", (int)a.type);
}
SCENE(memory_shared, makes, opens)

static void makes_and_frees(void) {
    cudaIpcMemHandle_t handle;
    void *at = allocate(4 * MIB);
    OK(cudaIpcGetMemHandle(&handle, at));
    OK(cudaFree(at));
    give(&handle, sizeof handle, -1);
    wait_for_other();
}

static void opens_late(void) {
    cudaIpcMemHandle_t handle;
    void *there = (void *)8;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
    let_go_on();
    wait_for_end();
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
    say("written: %d", there != (void *)8);
}
SCENE(memory_was_freed, makes_and_frees, opens_late)

static void makes_and_ends(void) {
    cudaIpcMemHandle_t handle;
    OK(cudaIpcGetMemHandle(&handle, allocate(4 * MIB)));
    give(&handle, sizeof handle, -1);
}

static void opens_of_the_dead(void) {
    cudaIpcMemHandle_t handle;
    void *there = (void *)8;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    wait_for_end();
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
}
SCENE(memory_exporter_dies, makes_and_ends, opens_of_the_dead)

static void makes_and_reuses(void) {
    cudaIpcMemHandle_t handle, later;
    void *at = allocate(4 * MIB);
    OK(cudaIpcGetMemHandle(&handle, at));
    fill(at, 1, 4 * MIB);
    give(&handle, sizeof handle, -1);
    wait_for_other();
    OK(cudaFree(at));
    at = allocate(4 * MIB);
    fill(at, 2, 4 * MIB);
    OK(cudaIpcGetMemHandle(&later, at));
    say("equal: %d", memcmp(&handle, &later, sizeof handle) == 0);
    give(&later, sizeof later, -1);
    wait_for_other();
}

static void opens_both(void) {
    cudaIpcMemHandle_t handle, later;
    char *at = NULL, *there = NULL;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    ASK(cudaIpcOpenMemHandle((void **)&at, handle, cudaIpcMemLazyEnablePeerAccess));
    let_go_on();
    (void)take(&later, sizeof later);
    ASK(cudaIpcOpenMemHandle((void **)&there, later, cudaIpcMemLazyEnablePeerAccess));
    say("the same: %d", at == there);
    if (there)
        say_byte("the later", there);
    ASK(cudaDeviceReset());
    struct cudaPointerAttributes a = {.type = (enum cudaMemoryType)9};
    ASK(cudaPointerGetAttributes(&a, at));
    say("type %d", (int)a.type);
    ASK(cudaIpcCloseMemHandle(at));
    at = NULL;
    ASK(cudaIpcOpenMemHandle((void **)&at, later, cudaIpcMemLazyEnablePeerAccess));
    if (at)
        say_byte("after the reset", at);
    let_go_on();
}
SCENE(memory_made_again, makes_and_reuses, opens_both)

static void makes_and_resets(void) {
    cudaIpcMemHandle_t handle;
    OK(cudaIpcGetMemHandle(&handle, allocate(4 * MIB)));
    OK(cudaDeviceReset());
    give(&handle, sizeof handle, -1);
    wait_for_other();
}

static void opens_after_reset(void) {
    cudaIpcMemHandle_t handle;
    void *there = (void *)8;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    ASK(cudaIpcOpenMemHandle(&there, handle, cudaIpcMemLazyEnablePeerAccess));
    let_go_on();
}
SCENE(memory_after_reset, makes_and_resets, opens_after_reset)

/* ---- captures, and work that is under way ---- */

static void makes_in_capture(void) {
    cudaIpcMemHandle_t handle;
    void *at = allocate(4 * MIB);
    cudaStream_t stream;
    cudaGraph_t graph;
    OK(cudaStreamCreate(&stream));
    for (int mode = 0; mode < 3; mode++) {
        OK(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
        ASK(cudaIpcGetMemHandle(&handle, at));
        ASK(cudaStreamEndCapture(stream, &graph));
        ASK(cudaGetLastError());
    }
    OK(cudaIpcGetMemHandle(&handle, at));
    give(&handle, sizeof handle, -1);
    wait_for_other();
}

static void opens_in_capture(void) {
    cudaIpcMemHandle_t handle;
    cudaStream_t stream;
    cudaGraph_t graph;
    OK(cudaStreamCreate(&stream));
    (void)take(&handle, sizeof handle);
    for (int mode = 0; mode < 3; mode++) {
        void *at = NULL;
        OK(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
        if (ASK(cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess)) == 0)
            ASK(cudaIpcCloseMemHandle(at));
        ASK(cudaStreamEndCapture(stream, &graph));
        ASK(cudaGetLastError());
        OK(cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess));
        OK(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
        ASK(cudaIpcCloseMemHandle(at));
        ASK(cudaStreamEndCapture(stream, &graph));
        ASK(cudaGetLastError());
        (void)cudaIpcCloseMemHandle(at);
        (void)cudaGetLastError();
    }
    let_go_on();
}
SCENE(memory_in_capture, makes_in_capture, opens_in_capture)

static void makes_busily(void) {
    cudaIpcMemHandle_t handle;
    cudaStream_t stream;
    void *at = allocate(4 * MIB);
    volatile unsigned *flag = blocked(&stream);
    OK(cudaMemsetAsync(at, 1, 4 * MIB, stream));
    ASK(cudaIpcGetMemHandle(&handle, at));
    ASK(cudaStreamQuery(stream));
    give(&handle, sizeof handle, -1);
    wait_for_other();
    *flag = 1;
    ASK(cudaStreamSynchronize(stream));
    let_go_on();
    wait_for_other();
}

static void opens_busily(void) {
    cudaIpcMemHandle_t handle;
    cudaStream_t stream;
    void *at = NULL;
    OK(cudaFree(NULL));
    volatile unsigned *flag = blocked(&stream);
    (void)take(&handle, sizeof handle);
    ASK(cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess));
    ASK(cudaStreamQuery(stream));
    *flag = 1;
    let_go_on();
    wait_for_other();
    say_byte("in the end", at);
    let_go_on();
}
SCENE(memory_of_busy_streams, makes_busily, opens_busily)

static void frees_in_order(void) {
    cudaIpcMemHandle_t handle;
    void *at = allocate(4 * MIB);
    OK(cudaIpcGetMemHandle(&handle, at));
    ASK(cudaFreeAsync(at, NULL));
    OK(cudaStreamSynchronize(NULL));
    at = allocate(4 * MIB);
    ASK(cudaIpcGetMemHandle(&handle, at));
    ASK(cudaFree(at));
}
SCENE(memory_freed_in_order, frees_in_order, NULL)
