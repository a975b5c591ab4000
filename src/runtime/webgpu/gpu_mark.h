/* Marks in a device's queue: whether the work that was queued before is done. */
#ifndef ACU_GPU_MARK_H
#define ACU_GPU_MARK_H

#include "runtime/webgpu/gpu.h"

typedef struct acu_gpu_mark acu_gpu_mark;

/* Marks what is queued by now, by any thread. */
ACU_CHECKED acu_result acu_gpu_mark_create(acu_gpu *gpu, acu_gpu_mark **out);
/* Returns the device. */
acu_gpu *acu_gpu_mark_device(const acu_gpu_mark *mark);
/* Returns whether the work is done, without waiting. */
bool acu_gpu_mark_is_done(acu_gpu_mark *mark);
/* Waits for the work; returns the error of work that failed since the last operation. */
ACU_CHECKED acu_result acu_gpu_mark_wait(acu_gpu_mark *mark);
/* The work goes on. NULL is fine. */
void acu_gpu_mark_release(acu_gpu_mark *mark);

/* The same for another call, which its errors name. */
ACU_CHECKED acu_result acu_gpu_mark_create_for(acu_gpu *gpu, const char *call, acu_gpu_mark **out);
ACU_CHECKED acu_result acu_gpu_mark_wait_for(acu_gpu_mark *mark, const char *call);

#endif
