#include "runtime/webgpu/gpu_mark.h"

#include "core/fail.h"

#include <stdlib.h>

/* The owner and the callback have it, and the later one frees it: a lost device may call back late.
 */
struct acu_gpu_mark {
    acu_gpu *gpu;
    int holders; /* atomic */
    bool done;   /* atomic */
};

static void let_go(acu_gpu_mark *mark) {
    if (__atomic_sub_fetch(&mark->holders, 1, __ATOMIC_ACQ_REL) == 0)
        free(mark);
}

static void on_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void *data,
                    void *unused) {
    acu_gpu_mark *mark = data;
    (void)status; /* what failed is in the device's errors */
    (void)message;
    (void)unused;
    __atomic_store_n(&mark->done, true, __ATOMIC_RELEASE);
    let_go(mark);
}

acu_result acu_gpu_mark_create_for(acu_gpu *gpu, const char *call, acu_gpu_mark **out) {
    *out = NULL;
    acu_gpu_mark *mark = calloc(1, sizeof *mark);
    if (!mark)
        return acu_fail(call, gpu->name, ACU_ERROR_HOST_MEMORY, "no memory for a mark");
    *mark = (acu_gpu_mark){.gpu = gpu, .holders = 2};
    acu_result result = acu_gpu_begin(gpu, call);
    if (result) {
        free(mark);
        return result;
    }
    const WGPUQueueWorkDoneCallbackInfo info = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_done, .userdata1 = mark};
    acu_gpu_flush(gpu);
    (void)wgpuQueueOnSubmittedWorkDone(gpu->queue, info);
    result = acu_gpu_end(gpu, call, gpu->name);
    if (result)
        let_go(mark);
    else
        *out = mark;
    return result;
}

acu_result acu_gpu_mark_create(acu_gpu *gpu, acu_gpu_mark **out) {
    return acu_gpu_mark_create_for(gpu, "acu_gpu_mark_create", out);
}

acu_gpu *acu_gpu_mark_device(const acu_gpu_mark *mark) {
    return mark->gpu;
}

bool acu_gpu_mark_is_done(acu_gpu_mark *mark) {
    if (!__atomic_load_n(&mark->done, __ATOMIC_ACQUIRE))
        acu_gpu_poll(mark->gpu);
    return __atomic_load_n(&mark->done, __ATOMIC_ACQUIRE);
}

/* An operation begins with what work has failed by then. */
acu_result acu_gpu_mark_wait_for(acu_gpu_mark *mark, const char *call) {
    acu_gpu_wait(mark->gpu, &mark->done);
    ACU_TRY(acu_gpu_begin(mark->gpu, call));
    return acu_gpu_end(mark->gpu, call, mark->gpu->name);
}

acu_result acu_gpu_mark_wait(acu_gpu_mark *mark) {
    return acu_gpu_mark_wait_for(mark, "acu_gpu_mark_wait");
}

void acu_gpu_mark_release(acu_gpu_mark *mark) {
    if (mark)
        let_go(mark);
}
