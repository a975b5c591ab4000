/*
 * Errors of WebGPU as errors of this thread. An operation has a scope for each kind of error that
 * may have one; what comes outside of them, or by the callback for lost devices, waits for the next
 * operation.
 */
#include "core/fail.h"
#include "runtime/webgpu/gpu.h"
#include "runtime/webgpu/webgpu_call.h"

#include <stdio.h>
#include <string.h>

enum { UNKNOWN = 999 }; /* cudaErrorUnknown */

/* wgpu-native ends the process at WGPUErrorFilter_Internal: internal errors come late. */
static const WGPUErrorFilter filters[] = {WGPUErrorFilter_OutOfMemory, WGPUErrorFilter_Validation};
enum { FILTERS = sizeof filters / sizeof *filters };

static int code_of(WGPUErrorType type) {
    switch (type) {
    case WGPUErrorType_NoError:
        return 0;
    case WGPUErrorType_OutOfMemory:
        return ACU_OUT_OF_MEMORY;
    case WGPUErrorType_Validation:
        return ACU_ERROR_ARGUMENT;
    default:
        return UNKNOWN;
    }
}

/* wgpu-native tells by its words that an object's device is lost: the type is Validation. */
static bool says_lost(const char *text) {
    return strstr(text, "device is lost") != NULL;
}

/* Keeps the first error. */
static void keep(acu_gpu *gpu, acu_gpu_late *kept, int code, const char *text) {
    pthread_mutex_lock(&gpu->late_lock);
    if (!kept->code) {
        kept->code = code;
        snprintf(kept->text, sizeof kept->text, "%s", text);
    }
    pthread_mutex_unlock(&gpu->late_lock);
}

/* ---- callbacks ---- */

void acu_gpu_on_error(const WGPUDevice *device, WGPUErrorType type, WGPUStringView message,
                      void *data, void *unused) {
    char text[ACU_GPU_TEXT];
    acu_gpu *gpu = data;
    (void)device;
    (void)unused;
    acu_webgpu_one_line(text, sizeof text, message);
    if (says_lost(text))
        keep(gpu, &gpu->lost, ACU_GPU_LOST, text);
    else
        keep(gpu, &gpu->late, code_of(type), text);
}

void acu_gpu_on_lost(const WGPUDevice *device, WGPUDeviceLostReason reason, WGPUStringView message,
                     void *data, void *unused) {
    static const char *const reasons[] = {
        [WGPUDeviceLostReason_Unknown] = "the driver gave it up",
        [WGPUDeviceLostReason_Destroyed] = "it was destroyed",
        [WGPUDeviceLostReason_CallbackCancelled] = "its instance is gone",
        [WGPUDeviceLostReason_FailedCreation] = "it was not created",
    };
    char line[ACU_GPU_TEXT / 2], text[ACU_GPU_TEXT];
    acu_gpu *gpu = data;
    (void)device;
    (void)unused;
    const char *why =
        reason >= WGPUDeviceLostReason_Unknown && reason <= WGPUDeviceLostReason_FailedCreation
            ? reasons[reason]
            : "for a reason that webgpu.h does not name";
    acu_webgpu_one_line(line, sizeof line, message);
    snprintf(text, sizeof text, "%s%s%s", why, *line ? ": " : "", line);
    keep(gpu, &gpu->lost, ACU_GPU_LOST, text);
}

static void on_scope(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message,
                     void *data, void *unused) {
    acu_gpu_scope *scope = data;
    (void)unused;
    const bool answered = status == WGPUPopErrorScopeStatus_Success;
    scope->error.code = answered ? code_of(type) : 0;
    acu_webgpu_one_line(scope->error.text, sizeof scope->error.text, message);
    __atomic_store_n(&scope->done, true, __ATOMIC_RELEASE);
}

/* ---- operations ---- */

/* Returns what an operation must fail with before it begins; a late error is reported once. */
static acu_gpu_late take_late(acu_gpu *gpu, bool *lost) {
    pthread_mutex_lock(&gpu->late_lock);
    *lost = gpu->lost.code != 0;
    const acu_gpu_late late = *lost ? gpu->lost : gpu->late;
    gpu->late.code = 0;
    pthread_mutex_unlock(&gpu->late_lock);
    return late;
}

static void open_scopes(acu_gpu *gpu) {
    for (int i = 0; i < FILTERS; i++)
        wgpuDevicePushErrorScope(gpu->device, filters[i]);
}

acu_result acu_gpu_begin(acu_gpu *gpu, const char *call) {
    bool lost = false;
    const acu_gpu_late late = take_late(gpu, &lost);
    if (lost) {
        acu_fail_hint("open the device again; what it had is gone");
        return acu_fail(call, gpu->name, late.code, "the device is lost: %s", late.text);
    }
    if (late.code)
        return acu_fail(call, gpu->name, late.code, "earlier work failed: %s", late.text);
    pthread_mutex_lock(&gpu->lock);
    gpu->failed.code = 0;
    open_scopes(gpu);
    return 0;
}

/* Ends the innermost scope. wgpu-native answers within the call. */
static acu_gpu_late pop(acu_gpu *gpu) {
    gpu->scope = (acu_gpu_scope){0};
    const WGPUPopErrorScopeCallbackInfo info = {.mode = WGPUCallbackMode_AllowProcessEvents,
                                                .callback = on_scope,
                                                .userdata1 = &gpu->scope};
    (void)wgpuDevicePopErrorScope(gpu->device, info);
    for (int i = 0; i < 1000 && !__atomic_load_n(&gpu->scope.done, __ATOMIC_ACQUIRE); i++)
        wgpuInstanceProcessEvents(gpu->instance);
    return gpu->scope.error;
}

/* Ends all scopes; keeps the operation's first error. */
static void close_scopes(acu_gpu *gpu) {
    for (int i = 0; i < FILTERS; i++) {
        const acu_gpu_late error = pop(gpu);
        if (!gpu->failed.code)
            gpu->failed = error;
    }
}

static acu_gpu_late leave(acu_gpu *gpu) {
    close_scopes(gpu);
    const acu_gpu_late error = gpu->failed;
    pthread_mutex_unlock(&gpu->lock);
    return error;
}

acu_result acu_gpu_end(acu_gpu *gpu, const char *call, const char *object) {
    const acu_gpu_late error = leave(gpu);
    if (!error.code)
        return 0;
    if (!says_lost(error.text))
        return acu_fail(call, object, error.code, "%s", error.text);
    keep(gpu, &gpu->lost, ACU_GPU_LOST, error.text);
    return acu_fail(call, object, ACU_GPU_LOST, "the device is lost: %s", error.text);
}

acu_result acu_gpu_cancel(acu_gpu *gpu, acu_result result) {
    (void)leave(gpu);
    return result;
}

/* ---- commands ---- */

void acu_gpu_miss(acu_gpu *gpu, const char *function) {
    const acu_failure *last = acu_record_last();
    const bool refused = last->code && last->call && strcmp(last->call, function) == 0;
    if (!acu_gpu_is_good(gpu))
        return; /* the library said why */
    gpu->failed.code = refused ? last->runtime_code : UNKNOWN;
    if (refused)
        snprintf(gpu->failed.text, sizeof gpu->failed.text, "%.500s", last->message);
    else
        snprintf(gpu->failed.text, sizeof gpu->failed.text, "%s() returned nothing, and no reason",
                 function);
}

WGPUCommandEncoder acu_gpu_encode(acu_gpu *gpu) {
    const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(gpu->device, NULL);
    if (!encoder)
        acu_gpu_miss(gpu, "wgpuDeviceCreateCommandEncoder");
    return encoder;
}

bool acu_gpu_is_good(acu_gpu *gpu) {
    close_scopes(gpu);
    open_scopes(gpu);
    return !gpu->failed.code;
}

static void send(acu_gpu *gpu, size_t count, const WGPUCommandBuffer *commands) {
    if (gpu->can_poll)
        __atomic_store_n(&gpu->submitted, wgpuQueueSubmitForIndex(gpu->queue, count, commands),
                         __ATOMIC_RELEASE);
    else
        wgpuQueueSubmit(gpu->queue, count, commands);
    gpu->unsent = 0;
}

/* Asked twice: wgpu-native keeps command buffers with errors for ever, so none is made if that can
 * be helped. */
void acu_gpu_submit(acu_gpu *gpu, WGPUCommandEncoder encoder) {
    const bool good = acu_gpu_is_good(gpu);
    const WGPUCommandBuffer commands = good ? wgpuCommandEncoderFinish(encoder, NULL) : NULL;
    wgpuCommandEncoderRelease(encoder);
    if (good && !commands)
        acu_gpu_miss(gpu, "wgpuCommandEncoderFinish");
    if (!commands)
        return;
    if (acu_gpu_is_good(gpu))
        send(gpu, 1, &commands);
    wgpuCommandBufferRelease(commands);
}

void acu_gpu_flush(acu_gpu *gpu) {
    if (gpu->unsent && acu_gpu_is_good(gpu))
        send(gpu, 0, NULL);
}

void acu_gpu_write(acu_gpu *gpu, WGPUBuffer to, uint64_t at, const void *bytes, size_t size) {
    enum { STEP = 16 * 1024 * 1024 };
    for (size_t done = 0; done < size && (done == 0 || acu_gpu_is_good(gpu));) {
        const size_t now = size - done < STEP ? size - done : STEP;
        wgpuQueueWriteBuffer(gpu->queue, to, at + done, (const char *)bytes + done, now);
        gpu->unsent += now;
        done += now;
        if (gpu->unsent >= STEP)
            acu_gpu_flush(gpu);
    }
}

/* A write of no bytes does nothing, but an error where the device is lost. */
bool acu_gpu_is_alive(acu_gpu *gpu) {
    wgpuQueueWriteBuffer(gpu->queue, gpu->parameters, 0, "", 0);
    return acu_gpu_is_good(gpu);
}
