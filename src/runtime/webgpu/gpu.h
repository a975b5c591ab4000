/*
 * A device that is opened on an adapter, with its one queue. Any thread may use it; its operations
 * are queued in the order in which they are made.
 *
 * WebGPU reports errors later than the call that makes them. Here each operation is between
 * acu_gpu_begin() and acu_gpu_end(), which catch what it makes, and hold the device's lock. An
 * error that comes later, of work that runs, is that of the next operation; after the device is
 * lost, every operation fails with the reason.
 */
#ifndef ACU_GPU_H
#define ACU_GPU_H

#include "runtime/webgpu/gpu_adapter.h"

#include <pthread.h>

/* The result of operations on a lost device: CUDA's cudaErrorDevicesUnavailable. */
enum { ACU_GPU_LOST = 46 };
#define ACU_GPU_NAME "WebGPU device "
enum { ACU_GPU_NAME_PREFIX = sizeof ACU_GPU_NAME - 1 };
enum { ACU_GPU_TEXT = 512, ACU_GPU_PARAMETERS = 4096 };
enum { ACU_GPU_STEP = 16 * 1024 * 1024 }; /* bytes that are written without a submission */

/* The layer's own kernels (gpu_kernels.c); of strided copies, one for words of 4, 8 and 16 bytes,
 * or of 1 and 2. */
enum {
    ACU_GPU_MERGE,
    ACU_GPU_FILL,
    ACU_GPU_COPY,
    ACU_GPU_STRIDED_WORDS,
    ACU_GPU_STRIDED_TILES = ACU_GPU_STRIDED_WORDS + 3,
    ACU_GPU_STRIDED_PACKED = ACU_GPU_STRIDED_TILES + 3,
    ACU_GPU_STRIDED_BYTES = ACU_GPU_STRIDED_PACKED + 2,
    ACU_GPU_KERNELS
};

struct acu_gpu_pipeline;
struct acu_gpu_transfer;

/* An error that WebGPU reported. */
typedef struct acu_gpu_late {
    int code; /* 0: none; atomic in `late` and `lost` */
    char text[ACU_GPU_TEXT];
} acu_gpu_late;

typedef struct acu_gpu {
    WGPUInstance instance; /* these three are owned */
    WGPUDevice device;
    WGPUQueue queue;
    WGPULimits limits;
    char name[160]; /* "WebGPU device llvmpipe …" */
    bool can_poll;  /* the library has wgpuDevicePoll() */
    bool has_f16;   /* WGSL may say `enable f16;` */
    bool has_subgroups;

    /* Held between begin and end. */
    pthread_mutex_t lock;
    struct acu_gpu_pipeline *pipelines; /* owned: a list, the last used first */
    const struct acu_gpu_pipeline *kernels[ACU_GPU_KERNELS]; /* NULL: not needed so far */
    WGPUBuffer parameters; /* owned: ACU_GPU_PARAMETERS bytes; written before each launch */
    WGPUBuffer scratch;    /* owned: for copies within one block; NULL at first */
    uint64_t scratch_size;
    uint64_t scratch_step;          /* how many bytes go through it at a time; a multiple of four */
    struct acu_gpu_transfer *spare; /* owned: a list of staging buffers that no transfer uses */
    unsigned spare_count;
    struct acu_gpu_transfer *forgotten; /* owned: a lost device may still call back for them */
    acu_gpu_late failed;                /* the first error of the operation under way */

    /* Atomic: what the library keeps of the writes since the last submission, in bytes. */
    uint64_t unsent;

    /* Written by callbacks, in any thread. */
    pthread_mutex_t late_lock;
    acu_gpu_late late, lost;
} acu_gpu;

/* Opens a device with all limits of its adapter, and with the features above where the adapter has
 * them. The caller closes it. */
ACU_CHECKED acu_result acu_gpu_open(const acu_gpu_adapters *adapters, size_t index, acu_gpu **out);
/* Returns the name of the adapter, a part of the device's own. */
static inline const char *acu_gpu_adapter_name(const acu_gpu *gpu) {
    return gpu->name + ACU_GPU_NAME_PREFIX;
}
/* Waits for the work and gives up the device; all blocks and transfers must be gone. NULL is fine.
 */
void acu_gpu_close(acu_gpu *gpu);

/* Waits for all work; returns the error of work that failed since the last operation. */
ACU_CHECKED acu_result acu_gpu_synchronize(acu_gpu *gpu);
/* Lets callbacks of this device run in this thread, without waiting for work. */
void acu_gpu_poll(acu_gpu *gpu);
/* Waits until the callback that sets `*done` has run, or the device is lost. */
void acu_gpu_wait(acu_gpu *gpu, const bool *done);
/* Returns whether the device is known to be lost. */
bool acu_gpu_is_lost(const acu_gpu *gpu);
/* Gives back what the device keeps for later: staging buffers and scratch memory. */
void acu_gpu_trim(acu_gpu *gpu);

/* Ends the device, as a driver's reset does: every later operation fails. For tests. */
void acu_gpu_lose(acu_gpu *gpu);

/* ---- operations (gpu_error.c) ---- */

/* Takes the lock, unless the device is lost or late work has failed: then the operation fails. */
ACU_CHECKED acu_result acu_gpu_begin(acu_gpu *gpu, const char *call);
/* Gives the lock back; returns the first error since begin, recorded for `call` on `object`. */
ACU_CHECKED acu_result acu_gpu_end(acu_gpu *gpu, const char *call, const char *object);
/* The same for an operation that has failed already. */
acu_result acu_gpu_cancel(acu_gpu *gpu, acu_result result);

/* Fails the operation because `function` returned no object. */
void acu_gpu_miss(acu_gpu *gpu, const char *function) ACU_COLD;
/* Fails the operation because the host has no memory. */
void acu_gpu_miss_memory(acu_gpu *gpu) ACU_COLD;
/* Returns whether the operation has no error so far. */
bool acu_gpu_is_good(const acu_gpu *gpu);
/* Returns an encoder; NULL, and fails the operation, if there is none. */
WGPUCommandEncoder acu_gpu_encode(acu_gpu *gpu);
/* Ends an encoder and sends its commands, unless the operation has an error by now: wgpu-native
 * ends the process when it is given invalid commands, or those of a lost device. */
void acu_gpu_submit(acu_gpu *gpu, WGPUCommandEncoder encoder);
/* Writes whole words into a buffer as a part of an operation. The library keeps them until the next
 * submission; there is one after ACU_GPU_STEP bytes. */
void acu_gpu_write(acu_gpu *gpu, WGPUBuffer to, uint64_t at, const void *bytes, size_t size);
/* The same, of at most ACU_GPU_STEP bytes, as an operation of its own, acu_gpu_block_write() on
 * `object`. The lock is not needed for what is one call of WebGPU. */
ACU_CHECKED acu_result acu_gpu_write_alone(acu_gpu *gpu, const char *object, WGPUBuffer to,
                                           uint64_t at, const void *bytes, size_t size);
/* Submits what was written and not yet sent. */
void acu_gpu_flush(acu_gpu *gpu);
/* Fails the operation if the device is lost; what would end the process otherwise comes after this.
 */
bool acu_gpu_is_alive(acu_gpu *gpu);

/* The callbacks of the device; `data` is the acu_gpu. */
void acu_gpu_on_error(const WGPUDevice *device, WGPUErrorType type, WGPUStringView message,
                      void *data, void *unused);
void acu_gpu_on_lost(const WGPUDevice *device, WGPUDeviceLostReason reason, WGPUStringView message,
                     void *data, void *unused);

#endif
