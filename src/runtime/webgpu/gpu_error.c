/*
 * Errors of WebGPU as errors of this thread. wgpu-native reports what is wrong with a call by the
 * device's callback, in the call itself: an error is the operation's that this thread is in. What
 * comes outside of one, or by the callback for lost devices, waits for the next operation. Scopes
 * would do the same and take longer; only the calls whose errors must not be missed have one, since
 * the program may have a scope of its own around.
 */
#include "core/fail.h"
#include "runtime/webgpu/gpu.h"
#include "runtime/webgpu/webgpu_call.h"

#include <stdio.h>
#include <string.h>

enum { UNKNOWN = 999 }; /* cudaErrorUnknown */

/* The operation that this thread is in. */
static _Thread_local struct {
    const acu_gpu *gpu;   /* NULL: in none */
    acu_gpu_late *failed; /* gets the operation's first error */
} under_way;

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
        snprintf(kept->text, sizeof kept->text, "%s", text);
        __atomic_store_n(&kept->code, code, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&gpu->late_lock);
}

/* Fails an operation, unless it has failed. */
static void fail_with(acu_gpu_late *failed, int code, const char *text) {
    if (failed->code)
        return;
    failed->code = code;
    snprintf(failed->text, sizeof failed->text, "%s", text);
}

/* ---- callbacks ---- */

void acu_gpu_on_error(const WGPUDevice *device, WGPUErrorType type, WGPUStringView message,
                      void *data, void *unused) {
    char text[ACU_GPU_TEXT];
    acu_gpu *gpu = data;
    (void)device;
    (void)unused;
    acu_webgpu_one_line(text, sizeof text, message);
    if (under_way.gpu == gpu)
        fail_with(under_way.failed, code_of(type), text);
    else if (says_lost(text))
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

/* ---- operations ---- */

/* Returns whether an operation must fail before it begins. */
static bool has_late(const acu_gpu *gpu) {
    return __atomic_load_n(&gpu->lost.code, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&gpu->late.code, __ATOMIC_ACQUIRE);
}

/* Fails because of what came before; a late error is reported once. Returns 0 where another thread
 * has reported it. */
static acu_result fail_late(acu_gpu *gpu, const char *call) {
    pthread_mutex_lock(&gpu->late_lock);
    const bool lost = gpu->lost.code != 0;
    const acu_gpu_late late = lost ? gpu->lost : gpu->late;
    __atomic_store_n(&gpu->late.code, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&gpu->late_lock);
    if (!late.code)
        return 0;
    if (!lost)
        return acu_fail(call, gpu->name, late.code, "earlier work failed: %s", late.text);
    acu_fail_hint("open the device again; what it had is gone");
    return acu_fail(call, gpu->name, late.code, "the device is lost: %s", late.text);
}

acu_result acu_gpu_begin(acu_gpu *gpu, const char *call) {
    if (has_late(gpu))
        ACU_TRY(fail_late(gpu, call));
    pthread_mutex_lock(&gpu->lock);
    gpu->failed.code = 0;
    under_way.gpu = gpu;
    under_way.failed = &gpu->failed;
    return 0;
}

/* Returns the error of an operation that is over, recorded for `call` on `object`. */
ACU_COLD static acu_result fail(acu_gpu *gpu, const acu_gpu_late *error, const char *call,
                                const char *object) {
    if (!says_lost(error->text))
        return acu_fail(call, object, error->code, "%s", error->text);
    keep(gpu, &gpu->lost, ACU_GPU_LOST, error->text);
    return acu_fail(call, object, ACU_GPU_LOST, "the device is lost: %s", error->text);
}

acu_result acu_gpu_end(acu_gpu *gpu, const char *call, const char *object) {
    acu_gpu_late error; /* with a long text, which is filled only where there is an error */
    const bool good = gpu->failed.code == 0;
    if (!good)
        error = gpu->failed;
    under_way.gpu = NULL;
    pthread_mutex_unlock(&gpu->lock);
    return good ? 0 : fail(gpu, &error, call, object);
}

acu_result acu_gpu_cancel(acu_gpu *gpu, acu_result result) {
    under_way.gpu = NULL;
    pthread_mutex_unlock(&gpu->lock);
    return result;
}

/* ---- commands ---- */

void acu_gpu_miss(acu_gpu *gpu, const char *function) {
    const acu_failure *last = acu_record_last();
    const bool refused = last->code && last->call && strcmp(last->call, function) == 0;
    if (!acu_gpu_is_good(gpu))
        return; /* the library said why */
    char text[ACU_GPU_TEXT];
    if (refused)
        snprintf(text, sizeof text, "%.500s", last->message);
    else
        snprintf(text, sizeof text, "%s() returned nothing, and no reason", function);
    fail_with(&gpu->failed, refused ? last->runtime_code : UNKNOWN, text);
}

void acu_gpu_miss_memory(acu_gpu *gpu) {
    fail_with(&gpu->failed, ACU_ERROR_HOST_MEMORY, "the host has no memory");
}

WGPUCommandEncoder acu_gpu_encode(acu_gpu *gpu) {
    const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(gpu->device, NULL);
    if (!encoder)
        acu_gpu_miss(gpu, "wgpuDeviceCreateCommandEncoder");
    return encoder;
}

bool acu_gpu_is_good(const acu_gpu *gpu) {
    return !gpu->failed.code;
}

/* What a scope caught. */
typedef struct scope {
    acu_gpu *gpu;
    bool done; /* atomic */
} scope;

static void on_scope(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message,
                     void *data, void *unused) {
    char text[ACU_GPU_TEXT];
    scope *closed = data;
    (void)unused;
    if (status == WGPUPopErrorScopeStatus_Success && type != WGPUErrorType_NoError) {
        acu_webgpu_one_line(text, sizeof text, message);
        fail_with(&closed->gpu->failed, code_of(type), text);
    }
    __atomic_store_n(&closed->done, true, __ATOMIC_RELEASE);
}

/* Ends a scope; what it caught is the operation's error. wgpu-native answers within the call. */
static void close_scope(acu_gpu *gpu) {
    scope closed = {.gpu = gpu};
    const WGPUPopErrorScopeCallbackInfo info = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_scope, .userdata1 = &closed};
    (void)wgpuDevicePopErrorScope(gpu->device, info);
    for (int i = 0; i < 1000 && !__atomic_load_n(&closed.done, __ATOMIC_ACQUIRE); i++)
        wgpuInstanceProcessEvents(gpu->instance);
    if (!__atomic_load_n(&closed.done, __ATOMIC_ACQUIRE)) /* the call was refused */
        acu_gpu_miss(gpu, "wgpuDevicePopErrorScope");
}

/* What another thread writes meanwhile may be sent, too, but stays counted. */
static void send(acu_gpu *gpu, size_t count, const WGPUCommandBuffer *commands) {
    const uint64_t sent = __atomic_load_n(&gpu->unsent, __ATOMIC_RELAXED);
    wgpuQueueSubmit(gpu->queue, count, commands);
    __atomic_sub_fetch(&gpu->unsent, sent, __ATOMIC_RELAXED);
}

/* wgpu-native keeps command buffers with errors for ever, so none is made if that can be helped. */
void acu_gpu_submit(acu_gpu *gpu, WGPUCommandEncoder encoder) {
    const bool good = acu_gpu_is_good(gpu);
    WGPUCommandBuffer commands = NULL;
    if (good) {
        wgpuDevicePushErrorScope(gpu->device, WGPUErrorFilter_Validation);
        commands = wgpuCommandEncoderFinish(encoder, NULL);
        close_scope(gpu);
    }
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
    if (__atomic_load_n(&gpu->unsent, __ATOMIC_RELAXED) && acu_gpu_is_good(gpu))
        send(gpu, 0, NULL);
}

/* Counts a write; returns whether the library has so much to keep that it should be sent.
 * wgpu-native keeps a buffer of its own for each write, so that small ones count for more. */
static bool count_unsent(acu_gpu *gpu, size_t size) {
    enum { BUFFER = 2048 };
    return __atomic_add_fetch(&gpu->unsent, size + BUFFER, __ATOMIC_RELAXED) >= ACU_GPU_STEP;
}

void acu_gpu_write(acu_gpu *gpu, WGPUBuffer to, uint64_t at, const void *bytes, size_t size) {
    for (size_t done = 0; done < size && (done == 0 || acu_gpu_is_good(gpu));) {
        const size_t now = size - done < ACU_GPU_STEP ? size - done : ACU_GPU_STEP;
        wgpuQueueWriteBuffer(gpu->queue, to, at + done, (const char *)bytes + done, now);
        done += now;
        if (count_unsent(gpu, now))
            acu_gpu_flush(gpu);
    }
}

/* Submits what was written, as an operation. */
ACU_COLD static acu_result flush(acu_gpu *gpu, const char *call, const char *object) {
    ACU_TRY(acu_gpu_begin(gpu, call));
    acu_gpu_flush(gpu);
    return acu_gpu_end(gpu, call, object);
}

acu_result acu_gpu_write_alone(acu_gpu *gpu, const char *object, WGPUBuffer to, uint64_t at,
                               const void *bytes, size_t size) {
    static const char call[] = "acu_gpu_block_write";
    acu_gpu_late failed; /* with a long text, which is filled only where there is an error */
    if (has_late(gpu))
        ACU_TRY(fail_late(gpu, call));
    failed.code = 0;
    under_way.gpu = gpu;
    under_way.failed = &failed;
    wgpuQueueWriteBuffer(gpu->queue, to, at, bytes, size);
    under_way.gpu = NULL;
    if (failed.code)
        return fail(gpu, &failed, call, object);
    return count_unsent(gpu, size) ? flush(gpu, call, object) : 0;
}

/* A write of no bytes does nothing, but an error where the device is lost. */
bool acu_gpu_is_alive(acu_gpu *gpu) {
    wgpuDevicePushErrorScope(gpu->device, WGPUErrorFilter_Validation);
    wgpuQueueWriteBuffer(gpu->queue, gpu->parameters, 0, "", 0);
    close_scope(gpu);
    return acu_gpu_is_good(gpu);
}
