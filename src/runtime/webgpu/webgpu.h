/* The back end's own objects. A device is an adapter that is opened; its memory is acu_gpu_block,
 * and its marks are acu_gpu_mark. */
#ifndef ACU_WEBGPU_BACKEND_H
#define ACU_WEBGPU_BACKEND_H

#include "runtime/webgpu/gpu_block.h"
#include "runtime/webgpu/gpu_pipeline.h"

#include <anycuda/backend.h>

extern const acu_backend acu_webgpu_backend;

struct acu_backend_device {
    acu_gpu *gpu; /* owned */
};

/* Every queue of a device is the one that WebGPU has. */
struct acu_backend_queue {
    acu_gpu *gpu;
};

struct acu_backend_program {
    acu_gpu *gpu;
    const acu_gpu_pipeline *pipeline;
    uint32_t group[3];
};

static inline acu_gpu_block *acu_webgpu_block(acu_backend_memory *memory) {
    return (acu_gpu_block *)(void *)memory;
}

enum { ACU_WEBGPU_WORDS = 384 };
/* Writes the words of the failure that a function of this folder left, without call and object. */
void acu_webgpu_words(char *words, size_t size);
/* Returns the result of a function of this folder; if it failed, its words are the back end's. */
acu_result acu_webgpu_failed(acu_result result);

/* Finds the adapters, the first time; they stay. */
ACU_CHECKED acu_result acu_webgpu_adapters(const acu_gpu_adapters **out);

/* ---- programs (webgpu_program.c) ---- */

acu_result acu_webgpu_program_create(acu_backend_device *device, const acu_backend_source *source,
                                     acu_backend_program **out);
void acu_webgpu_program_destroy(acu_backend_program *program);
acu_result acu_webgpu_run(acu_backend_queue *queue, acu_backend_program *program,
                          const size_t items[3], const acu_backend_arg *args, size_t count);

/* Finds the `@workgroup_size` of an entry point of a WGSL text (webgpu_source.c). A number that the
 * text does not say by a literal, or by a constant that is one, is 0. Returns false where there is
 * no such entry point. */
bool acu_webgpu_group_size(const char *text, const char *entry, uint32_t size[3]);

#endif
