#define _POSIX_C_SOURCE 200809L /* nanosleep, clock_gettime */
#include "runtime/webgpu/gpu.h"

#include "core/fail.h"
#include "runtime/webgpu/gpu_mark.h"
#include "runtime/webgpu/gpu_pipeline.h"
#include "runtime/webgpu/webgpu_call.h"
#include "runtime/webgpu/gpu_transfer.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char opened[] = "acu_gpu_open";

/* ---- waiting ---- */

void acu_gpu_poll(acu_gpu *gpu) {
    if (gpu->can_poll)
        (void)wgpuDevicePoll(gpu->device, WGPU_FALSE, NULL);
    else
        wgpuInstanceProcessEvents(gpu->instance);
}

bool acu_gpu_is_lost(const acu_gpu *gpu) {
    return __atomic_load_n(&gpu->lost.code, __ATOMIC_ACQUIRE) != 0;
}

static int64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Lets other threads run for a part of the time that was waited so far. */
static void pause_after(int64_t waited_ns) {
    enum { SHORT_NS = 500000, LONGEST_NS = 1000000, PART = 16 };
    const int64_t part = waited_ns / PART;
    if (waited_ns < SHORT_NS)
        (void)sched_yield();
    else
        (void)nanosleep(&(struct timespec){.tv_nsec = part < LONGEST_NS ? part : LONGEST_NS}, NULL);
}

/* wgpu-native 29 must not be asked to wait: no other thread can submit work meanwhile (wgpu issue
 * 9470), and it may end the process where two threads ask (9958). Therefore this asks again and
 * again. The flag is read again after the device is seen lost, because the last callbacks run then.
 */
void acu_gpu_wait(acu_gpu *gpu, const bool *done) {
    const int64_t begin = now_ns();
    while (!__atomic_load_n(done, __ATOMIC_ACQUIRE)) {
        const bool lost = acu_gpu_is_lost(gpu);
        acu_gpu_poll(gpu);
        if (lost || __atomic_load_n(done, __ATOMIC_ACQUIRE))
            return;
        pause_after(now_ns() - begin);
    }
}

/* Waits until the queue is empty, or the device is lost, without an error of its own. */
static void drain(acu_gpu *gpu) {
    const int64_t begin = now_ns();
    while (gpu->can_poll && !wgpuDevicePoll(gpu->device, WGPU_FALSE, NULL) && !acu_gpu_is_lost(gpu))
        pause_after(now_ns() - begin);
}

acu_result acu_gpu_synchronize(acu_gpu *gpu) {
    static const char call[] = "acu_gpu_synchronize";
    acu_gpu_mark *mark = NULL;
    ACU_TRY(acu_gpu_mark_create_for(gpu, call, &mark));
    const acu_result result = acu_gpu_mark_wait_for(mark, call);
    acu_gpu_mark_release(mark);
    return result;
}

void acu_gpu_trim(acu_gpu *gpu) {
    pthread_mutex_lock(&gpu->lock);
    acu_gpu_transfer_drop_spare(gpu);
    if (gpu->scratch)
        wgpuBufferRelease(gpu->scratch);
    gpu->scratch = NULL;
    gpu->scratch_size = 0;
    pthread_mutex_unlock(&gpu->lock);
    drain(gpu); /* memory is free once the work that uses it is done */
}

/* ---- opening ---- */

typedef struct answer {
    bool done;
    WGPUDevice device;
    char text[ACU_GPU_TEXT];
} answer;

static void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
                      void *data, void *unused) {
    answer *a = data;
    (void)unused;
    a->device = status == WGPURequestDeviceStatus_Success ? device : NULL;
    acu_webgpu_one_line(a->text, sizeof a->text, message);
    __atomic_store_n(&a->done, true, __ATOMIC_RELEASE);
}

/* Lists the features to ask for; returns how many. */
static size_t list_features(acu_gpu *gpu, WGPUAdapter adapter, WGPUFeatureName list[2]) {
    size_t count = 0;
    gpu->has_f16 = wgpuAdapterHasFeature(adapter, WGPUFeatureName_ShaderF16) & WGPU_TRUE;
    gpu->has_subgroups = wgpuAdapterHasFeature(adapter, WGPUFeatureName_Subgroups) & WGPU_TRUE;
    if (gpu->has_f16)
        list[count++] = WGPUFeatureName_ShaderF16;
    if (gpu->has_subgroups)
        list[count++] = WGPUFeatureName_Subgroups;
    return count;
}

/* wgpu-native answers within the call; another library when its events are processed. */
static void request(acu_gpu *gpu, const acu_gpu_adapter *adapter, answer *a) {
    WGPUFeatureName features[2];
    const WGPUDeviceDescriptor descriptor = {
        .requiredFeatureCount = list_features(gpu, adapter->handle, features),
        .requiredFeatures = features,
        .requiredLimits = &adapter->limits,
        .deviceLostCallbackInfo = {.mode = WGPUCallbackMode_AllowSpontaneous,
                                   .callback = acu_gpu_on_lost,
                                   .userdata1 = gpu},
        .uncapturedErrorCallbackInfo = {.callback = acu_gpu_on_error, .userdata1 = gpu}};
    const WGPURequestDeviceCallbackInfo info = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_device, .userdata1 = a};
    (void)wgpuAdapterRequestDevice(adapter->handle, &descriptor, info);
    for (int i = 0; i < 1000 && !__atomic_load_n(&a->done, __ATOMIC_ACQUIRE); i++)
        wgpuInstanceProcessEvents(gpu->instance);
}

static acu_result start(acu_gpu *gpu, const acu_gpu_adapter *adapter) {
    answer a = {0};
    request(gpu, adapter, &a);
    gpu->device = a.device;
    if (!a.done)
        return acu_webgpu_refused(opened, gpu->name, "wgpuAdapterRequestDevice");
    if (!a.device)
        return acu_fail(opened, gpu->name, ACU_GPU_LOST, "the adapter gives no device: %s", a.text);
    if (wgpuDeviceGetLimits(gpu->device, &gpu->limits) != WGPUStatus_Success)
        return acu_webgpu_refused(opened, gpu->name, "wgpuDeviceGetLimits");
    gpu->queue = wgpuDeviceGetQueue(gpu->device);
    if (!gpu->queue)
        return acu_webgpu_refused(opened, gpu->name, "wgpuDeviceGetQueue");
    ACU_TRY(acu_gpu_begin(gpu, opened));
    gpu->parameters = wgpuDeviceCreateBuffer(
        gpu->device,
        &(WGPUBufferDescriptor){.usage = WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst,
                                .size = ACU_GPU_PARAMETERS});
    if (!gpu->parameters)
        acu_gpu_miss(gpu, "wgpuDeviceCreateBuffer");
    return acu_gpu_end(gpu, opened, gpu->name);
}

acu_result acu_gpu_open(const acu_gpu_adapters *adapters, size_t index, acu_gpu **out) {
    *out = NULL;
    if (index >= adapters->count)
        return acu_fail(opened, "", ACU_ERROR_ARGUMENT, "there is no adapter %zu; there are %zu",
                        index, adapters->count);
    acu_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return acu_fail(opened, "", ACU_ERROR_HOST_MEMORY, "no memory for a device");
    pthread_mutex_init(&gpu->lock, NULL);
    pthread_mutex_init(&gpu->late_lock, NULL);
    gpu->instance = adapters->instance;
    wgpuInstanceAddRef(gpu->instance);
    gpu->scratch_step = UINT64_C(16) * 1024 * 1024;
    gpu->can_poll = acu_webgpu_can_poll();
    snprintf(gpu->name, sizeof gpu->name, ACU_GPU_NAME "%s", adapters->list[index].name);
    const acu_result result = start(gpu, &adapters->list[index]);
    if (result)
        acu_gpu_close(gpu);
    else
        *out = gpu;
    return result;
}

void acu_gpu_lose(acu_gpu *gpu) {
    const WGPUStringView why = {.data = "acu_gpu_lose() was called", .length = WGPU_STRLEN};
    acu_gpu_on_lost(NULL, WGPUDeviceLostReason_Destroyed, why, gpu, NULL);
    wgpuDeviceDestroy(gpu->device);
}

void acu_gpu_close(acu_gpu *gpu) {
    if (!gpu)
        return;
    if (gpu->device)
        drain(gpu);
    acu_gpu_pipeline_drop_all(gpu);
    acu_gpu_transfer_drop_spare(gpu);
    if (gpu->scratch)
        wgpuBufferRelease(gpu->scratch);
    if (gpu->parameters)
        wgpuBufferRelease(gpu->parameters);
    if (gpu->queue)
        wgpuQueueRelease(gpu->queue);
    if (gpu->device)
        wgpuDeviceRelease(gpu->device);
    acu_gpu_transfer_drop_forgotten(gpu);
    wgpuInstanceRelease(gpu->instance);
    pthread_mutex_destroy(&gpu->lock);
    pthread_mutex_destroy(&gpu->late_lock);
    free(gpu);
}
