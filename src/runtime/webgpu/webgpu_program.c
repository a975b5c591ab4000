#define _POSIX_C_SOURCE 200809L /* strnlen */
/* Programs from WGSL, and running them. */
#include "runtime/webgpu/gpu_launch.h"
#include "runtime/webgpu/webgpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 4, LARGEST_ALIGNMENT = 16 };

/* ---- making ---- */

static void take_group(const acu_program_source *source, uint32_t group[3]) {
    static const uint32_t usual[3] = {256, 1, 1};
    for (int i = 0; i < 3; i++) {
        const size_t items = source->group[i];
        group[i] = items == 0 ? usual[i] : items < UINT32_MAX ? (uint32_t)items : UINT32_MAX;
    }
}

static acu_result check_limits(const acu_gpu *gpu, const uint32_t group[3]) {
    const WGPULimits *l = &gpu->limits;
    const uint64_t items = (uint64_t)group[0] * group[1];
    const uint64_t most = l->maxComputeInvocationsPerWorkgroup;
    if (group[0] > l->maxComputeWorkgroupSizeX || group[1] > l->maxComputeWorkgroupSizeY ||
        group[2] > l->maxComputeWorkgroupSizeZ)
        return acu_backend_fail(ACU_ERROR_LIMIT,
                                "a group of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                                " items; this device takes %" PRIu32 " x %" PRIu32 " x %" PRIu32,
                                group[0], group[1], group[2], l->maxComputeWorkgroupSizeX,
                                l->maxComputeWorkgroupSizeY, l->maxComputeWorkgroupSizeZ);
    if (items > most || items * group[2] > most)
        return acu_backend_fail(ACU_ERROR_LIMIT,
                                "a group of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                                " items; this device takes %" PRIu64 " in all",
                                group[0], group[1], group[2], most);
    return 0;
}

/* Compares with what the text says, as far as that can be seen. */
static acu_result check_group(const char *text, const char *name, const uint32_t group[3]) {
    uint32_t said[3] = {0, 0, 0};
    if (!acu_webgpu_group_size(text, name, said))
        return acu_backend_fail(ACU_ERROR_COMPILE, "the WGSL has no function \"%s\"", name);
    for (int i = 0; i < 3; i++)
        if (said[i] && said[i] != group[i])
            return acu_backend_fail(ACU_ERROR_ARGUMENT,
                                    "the WGSL of \"%s\" says @workgroup_size(%" PRIu32 ", %" PRIu32
                                    ", %" PRIu32 "), and the program's group is %" PRIu32
                                    " x %" PRIu32 " x %" PRIu32
                                    "; a number that is 0 could not be read",
                                    name, said[0], said[1], said[2], group[0], group[1], group[2]);
    return 0;
}

static acu_result make(acu_gpu *gpu, const char *text, const acu_program_source *source,
                       acu_backend_program *program) {
    program->gpu = gpu;
    take_group(source, program->group);
    ACU_TRY(check_group(text, source->name, program->group));
    ACU_TRY(check_limits(gpu, program->group));
    return acu_webgpu_failed(acu_gpu_pipeline_get(gpu, text, source->name, &program->pipeline));
}

/* A form for this back end is a WGSL text, too, and goes before the program's own. */
acu_result acu_webgpu_program_create(acu_backend_device *device, const acu_backend_source *source,
                                     acu_backend_program **out) {
    const acu_form *form = source->form;
    const char *from = form ? form->code : source->source->wgsl;
    *out = NULL;
    if (!from)
        return acu_backend_fail(ACU_NOT_SUPPORTED, "the program has no WGSL");
    const size_t length = form ? strnlen(from, form->bytes) : strlen(from);
    acu_backend_program *program = calloc(1, sizeof *program);
    char *text = malloc(length + 1);
    acu_result result = 0;
    if (program && text) {
        memcpy(text, from, length);
        text[length] = '\0';
        result = make(device->gpu, text, source->source, program);
    } else {
        result = acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a program");
    }
    free(text);
    if (result)
        free(program);
    else
        *out = program;
    return result;
}

void acu_webgpu_program_destroy(acu_backend_program *program) {
    acu_gpu_pipeline_put(program->gpu, program->pipeline);
    free(program);
}

/* ---- running ---- */

/* What a launch is given. */
typedef struct arguments {
    acu_gpu_binding blocks[ACU_GPU_BINDINGS];
    acu_gpu_block *copies[ACU_GPU_BINDINGS]; /* owned, or NULL */
    size_t count;
    unsigned char values[ACU_GPU_PARAMETERS];
    size_t size;
} arguments;

/* Returns a value's alignment: its size, up to the next power of two, and at most 16. */
static size_t alignment_of(size_t size) {
    size_t alignment = 1;
    while (alignment < size && alignment < LARGEST_ALIGNMENT)
        alignment *= 2;
    return alignment;
}

static acu_result add_value(arguments *a, const acu_backend_arg *arg) {
    const size_t alignment = alignment_of(arg->size);
    const size_t at = (a->size + alignment - 1) & ~(alignment - 1);
    if (arg->size > sizeof a->values || at > sizeof a->values - arg->size)
        return acu_backend_fail(ACU_ERROR_LIMIT, "the values have more than %zu bytes in all",
                                sizeof a->values);
    memcpy(a->values + at, arg->value, arg->size);
    a->size = at + arg->size;
    return 0;
}

/* Returns whether another argument lets the program write the memory. */
static bool is_written_too(const acu_backend_arg *args, size_t count, size_t index) {
    for (size_t i = 0; i < count; i++)
        if (i != index && args[i].memory == args[index].memory && args[i].writes)
            return true;
    return false;
}

/* WebGPU does not bind memory for reading and for writing at once: what is read is then a copy. */
static acu_result copy_read(acu_gpu *gpu, arguments *a, const acu_backend_arg *arg) {
    acu_gpu_block **made = &a->copies[a->count];
    ACU_TRY(acu_gpu_block_create(gpu, arg->memory_bytes, made));
    ACU_TRY(acu_gpu_block_copy(*made, 0, acu_webgpu_block(arg->memory), 0, arg->memory_bytes));
    a->blocks[a->count].buffer = (*made)->buffer;
    return 0;
}

static acu_result add_block(acu_gpu *gpu, arguments *a, const acu_backend_arg *args, size_t count,
                            size_t index) {
    const acu_backend_arg *arg = &args[index];
    const uint64_t bytes = arg->memory_bytes ? arg->memory_bytes : WORD;
    if (a->count == ACU_GPU_BINDINGS)
        return acu_backend_fail(ACU_ERROR_LIMIT, "more than %d blocks", ACU_GPU_BINDINGS);
    a->blocks[a->count] = (acu_gpu_binding){acu_webgpu_block(arg->memory)->buffer, 0,
                                            (bytes + WORD - 1) & ~(uint64_t)(WORD - 1)};
    if (!arg->writes && is_written_too(args, count, index))
        ACU_TRY(acu_webgpu_failed(copy_read(gpu, a, arg)));
    a->count++;
    return 0;
}

static acu_result add_all(acu_gpu *gpu, arguments *a, const acu_backend_arg *args, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (args[i].memory)
            ACU_TRY(add_block(gpu, a, args, count, i));
        else
            ACU_TRY(add_value(a, &args[i]));
    }
    return 0;
}

static acu_result count_groups(const acu_backend_program *program, const size_t items[3],
                               acu_gpu_groups *groups) {
    const uint32_t most = program->gpu->limits.maxComputeWorkgroupsPerDimension;
    uint32_t *const dims[3] = {&groups->x, &groups->y, &groups->z};
    for (int i = 0; i < 3; i++) {
        const size_t group = program->group[i];
        const size_t needed = items[i] / group + (items[i] % group != 0);
        if (needed > most)
            return acu_backend_fail(ACU_ERROR_LIMIT,
                                    "%zu items in %c are %zu groups of %zu; this device takes "
                                    "%" PRIu32 " groups in a dimension: use another one as well",
                                    items[i], "xyz"[i], needed, group, most);
        *dims[i] = (uint32_t)needed;
    }
    return 0;
}

/* WebGPU counts only bindings that the text uses, and says no name. */
static acu_result failed_run(const acu_backend_program *program, const arguments *a,
                             acu_result result) {
    char words[ACU_WEBGPU_WORDS];
    if (result != ACU_ERROR_ARGUMENT)
        return acu_webgpu_failed(result);
    acu_webgpu_words(words, sizeof words);
    return acu_backend_fail(
        result, "%s; \"%s\" was given %zu blocks%s, and its WGSL must use each binding", words,
        program->pipeline->entry, a->count, a->size ? " and values" : "");
}

acu_result acu_webgpu_run(acu_backend_queue *queue, acu_backend_program *program,
                          const size_t items[3], const acu_backend_arg *args, size_t count) {
    acu_gpu_groups groups = {0, 0, 0};
    arguments a;
    a.count = a.size = 0;
    memset(a.copies, 0, sizeof a.copies);
    ACU_TRY(count_groups(program, items, &groups));
    if (!groups.x || !groups.y || !groups.z)
        return 0;
    memset(a.values, 0, sizeof a.values); /* also what is between them */
    acu_result result = add_all(queue->gpu, &a, args, count);
    if (!result)
        result = failed_run(program, &a,
                            acu_gpu_launch_bound(queue->gpu, program->pipeline, a.blocks, a.count,
                                                 a.values, a.size, groups));
    for (size_t i = 0; i < ACU_GPU_BINDINGS; i++)
        acu_gpu_block_release(a.copies[i]);
    return result;
}
