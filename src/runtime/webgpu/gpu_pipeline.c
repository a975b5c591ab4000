#define _POSIX_C_SOURCE 200809L /* strdup */
#include "runtime/webgpu/gpu_pipeline.h"

#include "core/fail.h"

#include <stdlib.h>
#include <string.h>

static const char get[] = "acu_gpu_pipeline_get";

/* FNV-1a; equal hashes are compared by their texts. */
static uint64_t hash_of(const char *source, const char *entry) {
    uint64_t hash = 14695981039346656037u;
    for (; *source; source++)
        hash = (hash ^ (unsigned char)*source) * 1099511628211u;
    for (hash *= 1099511628211u; *entry; entry++)
        hash = (hash ^ (unsigned char)*entry) * 1099511628211u;
    return hash;
}

/* Returns the pipeline if there is one, as the first of the list. The caller holds the lock. */
static acu_gpu_pipeline *find(acu_gpu *gpu, uint64_t hash, const char *source, const char *entry) {
    for (acu_gpu_pipeline **at = &gpu->pipelines; *at; at = &(*at)->next) {
        acu_gpu_pipeline *p = *at;
        if (p->hash != hash || strcmp(p->source, source) != 0 || strcmp(p->entry, entry) != 0)
            continue;
        *at = p->next;
        p->next = gpu->pipelines;
        gpu->pipelines = p;
        return p;
    }
    return NULL;
}

static void drop(acu_gpu_pipeline *p) {
    if (p->layout)
        wgpuBindGroupLayoutRelease(p->layout);
    if (p->handle)
        wgpuComputePipelineRelease(p->handle);
    free(p->source);
    free(p->entry);
    free(p);
}

/* Errors are caught by the operation that this is a part of. */
static void compile(acu_gpu *gpu, acu_gpu_pipeline *p) {
    const WGPUShaderSourceWGSL text = {.chain = {.sType = WGPUSType_ShaderSourceWGSL},
                                       .code = {.data = p->source, .length = strlen(p->source)}};
    const WGPUShaderModule module = wgpuDeviceCreateShaderModule(
        gpu->device,
        &(WGPUShaderModuleDescriptor){.nextInChain = (WGPUChainedStruct *)(void *)&text.chain});
    if (!module) {
        acu_gpu_miss(gpu, "wgpuDeviceCreateShaderModule");
        return;
    }
    WGPUComputePipelineDescriptor descriptor = {.compute = {.module = module}};
    descriptor.compute.entryPoint = (WGPUStringView){
        .data = *p->entry ? p->entry : NULL, .length = *p->entry ? strlen(p->entry) : WGPU_STRLEN};
    p->handle = wgpuDeviceCreateComputePipeline(gpu->device, &descriptor);
    wgpuShaderModuleRelease(module);
    if (!p->handle)
        acu_gpu_miss(gpu, "wgpuDeviceCreateComputePipeline");
    else if ((p->layout = wgpuComputePipelineGetBindGroupLayout(p->handle, 0)) == NULL)
        acu_gpu_miss(gpu, "wgpuComputePipelineGetBindGroupLayout");
}

static acu_gpu_pipeline *make(const char *source, const char *entry, uint64_t hash) {
    acu_gpu_pipeline *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (acu_gpu_pipeline){.hash = hash, .source = strdup(source), .entry = strdup(entry)};
    if (p->source && p->entry)
        return p;
    drop(p);
    return NULL;
}

static acu_gpu_pipeline *compiled(acu_gpu *gpu, const char *source, const char *entry,
                                  uint64_t hash) {
    acu_gpu_pipeline *p = make(source, entry, hash);
    if (!p) {
        acu_gpu_miss_memory(gpu);
        return NULL;
    }
    compile(gpu, p);
    if (!acu_gpu_is_good(gpu)) {
        drop(p);
        return NULL;
    }
    p->next = gpu->pipelines;
    return gpu->pipelines = p;
}

const acu_gpu_pipeline *acu_gpu_pipeline_part(acu_gpu *gpu, const char *source, const char *entry) {
    const uint64_t hash = hash_of(source, entry);
    acu_gpu_pipeline *p = find(gpu, hash, source, entry);
    if (!p)
        p = compiled(gpu, source, entry, hash);
    if (p)
        p->users++;
    return p;
}

/* What is wrong with a text is found by validation. */
static acu_result as_compilation(acu_result result) {
    return result == ACU_ERROR_ARGUMENT ? acu_record_recode(result, ACU_ERROR_COMPILE) : result;
}

acu_result acu_gpu_pipeline_get(acu_gpu *gpu, const char *source, const char *entry,
                                const acu_gpu_pipeline **out) {
    *out = NULL;
    ACU_TRY(acu_gpu_begin(gpu, get));
    const acu_gpu_pipeline *p = acu_gpu_pipeline_part(gpu, source, entry ? entry : "");
    const acu_result result = acu_gpu_end(gpu, get, gpu->name);
    if (!result)
        *out = p;
    return as_compilation(result);
}

void acu_gpu_pipeline_put(acu_gpu *gpu, const acu_gpu_pipeline *pipeline) {
    pthread_mutex_lock(&gpu->lock);
    acu_gpu_pipeline **at = &gpu->pipelines;
    while (*at && *at != pipeline)
        at = &(*at)->next;
    acu_gpu_pipeline *p = *at;
    const bool last = p && --p->users == 0;
    if (last)
        *at = p->next;
    pthread_mutex_unlock(&gpu->lock);
    if (last)
        drop(p);
}

size_t acu_gpu_pipeline_count(acu_gpu *gpu) {
    size_t count = 0;
    pthread_mutex_lock(&gpu->lock);
    for (const acu_gpu_pipeline *p = gpu->pipelines; p; p = p->next)
        count++;
    pthread_mutex_unlock(&gpu->lock);
    return count;
}

void acu_gpu_pipeline_drop_all(acu_gpu *gpu) {
    while (gpu->pipelines) {
        acu_gpu_pipeline *p = gpu->pipelines;
        gpu->pipelines = p->next;
        drop(p);
    }
}
