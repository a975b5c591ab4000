#include "runtime/webgpu/gpu_kernels.h"

#include "runtime/webgpu/gpu_launch.h"
#include "runtime/webgpu/gpu_pipeline.h"
#include "runtime/webgpu/gpu_strided.h"

#include <string.h>

enum { WORD = 4, GROUP = 256, LARGEST_ELEMENT = 16 };

/* A thread writes one word; a word's bytes outside of the range stay as they are. Offsets are from
 * the beginning of what is bound, so that 32 bits are enough. */
#define WRITES_BYTES                                                                               \
    "fn put(word: u32, from_byte: u32, end: u32, value: u32) {\n"                                  \
    "    let at = word * 4u;\n"                                                                    \
    "    var mask = 0xffffffffu;\n"                                                                \
    "    if (at < from_byte) { mask = mask << ((from_byte - at) * 8u); }\n"                        \
    "    if (at + 4u > end) { mask = mask & (0xffffffffu >> ((at + 4u - end) * 8u)); }\n"          \
    "    if (mask == 0xffffffffu) { to[word] = value; }\n"                                         \
    "    else { to[word] = (to[word] & ~mask) | (value & mask); }\n"                               \
    "}\n"
#define OWN_WORD                                                                                   \
    "    let word = (id.x + id.y * count.x * 256u) + p.to_offset / 4u;\n"                          \
    "    let end = p.to_offset + p.size;\n"                                                        \
    "    if (word * 4u >= end) { return; }\n"
#define ENTRY                                                                                      \
    "@compute @workgroup_size(256)\n"                                                              \
    "fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) count: vec3u) {\n"

static const char merge_text[] = "struct P { word: u32, value: u32, mask: u32, unused: u32 }\n"
                                 "@group(0) @binding(0) var<storage, read_write> to: array<u32>;\n"
                                 "@group(0) @binding(1) var<uniform> p: P;\n"
                                 "@compute @workgroup_size(1)\n"
                                 "fn main() { to[p.word] = (to[p.word] & ~p.mask) | p.value; }\n";

/* The element is 16 bytes if its size divides that; then a word is one of four. */
static const char fill_text[] =
    "struct P { to_offset: u32, size: u32, phase: u32, length: u32, element: vec4u }\n"
    "@group(0) @binding(0) var<storage, read_write> to: array<u32>;\n"
    "@group(0) @binding(1) var<uniform> p: P;\n" WRITES_BYTES ENTRY OWN_WORD
    "    if (p.length == 16u && (p.to_offset | p.phase) % 4u == 0u) {\n"
    "        put(word, p.to_offset, end, p.element[(word - (p.to_offset - p.phase) / 4u) % 4u]);\n"
    "        return;\n"
    "    }\n"
    "    var value = 0u;\n"
    "    for (var i = 0u; i < 4u; i++) {\n"
    "        let byte = word * 4u + i;\n"
    "        if (byte < p.to_offset) { continue; }\n"
    "        let k = (byte - p.to_offset + p.phase) % p.length;\n"
    "        value |= ((p.element[k / 4u] >> ((k % 4u) * 8u)) & 0xffu) << (i * 8u);\n"
    "    }\n"
    "    put(word, p.to_offset, end, value);\n"
    "}\n";

/* A word comes from one word of the source or from two, which are shifted against it. */
static const char copy_text[] =
    "struct P { to_offset: u32, size: u32, from_offset: u32, unused: u32 }\n"
    "@group(0) @binding(0) var<storage, read_write> to: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read> src: array<u32>;\n"
    "@group(0) @binding(2) var<uniform> p: P;\n" WRITES_BYTES ENTRY OWN_WORD
    "    let skipped = max(word * 4u, p.to_offset) - word * 4u;\n"
    "    let first = p.from_offset + (word * 4u + skipped - p.to_offset);\n"
    "    let shift = (first % 4u) * 8u;\n"
    "    let at = first / 4u;\n"
    "    var value = src[at] >> shift;\n"
    "    if (shift > 0u && at + 1u < arrayLength(&src)) { value |= src[at + 1u] << (32u - shift); "
    "}\n"
    "    put(word, p.to_offset, end, value << (skipped * 8u));\n"
    "}\n";

static const char *const texts[ACU_GPU_STRIDED_WORDS] = {merge_text, fill_text, copy_text};

const acu_gpu_pipeline *acu_gpu_kernels_get(acu_gpu *gpu, int kernel) {
    char strided[ACU_GPU_STRIDED_TEXT];
    if (gpu->kernels[kernel])
        return gpu->kernels[kernel];
    const char *text = kernel < ACU_GPU_STRIDED_WORDS ? texts[kernel] : strided;
    if (text == strided)
        acu_gpu_strided_text(kernel, strided);
    return gpu->kernels[kernel] = acu_gpu_pipeline_part(gpu, text, "main");
}

/* Launches a kernel if there is one. */
static void run(acu_gpu *gpu, int kernel, const acu_gpu_binding *bindings, size_t count,
                const uint32_t *parameters, size_t size, acu_gpu_groups groups) {
    const acu_gpu_pipeline *pipeline = acu_gpu_kernels_get(gpu, kernel);
    if (pipeline)
        acu_gpu_launch_part(gpu, pipeline, bindings, count, parameters, size, groups);
}

void acu_gpu_kernels_merge(acu_gpu *gpu, WGPUBuffer buffer, uint64_t word, uint32_t value,
                           uint32_t mask) {
    /* The binding begins at an offset that the device allows, and holds the word. */
    const uint64_t step = gpu->limits.minStorageBufferOffsetAlignment;
    const uint64_t begin = word * WORD / step * step;
    const uint32_t p[4] = {(uint32_t)((word * WORD - begin) / WORD), value, mask, 0};
    const acu_gpu_binding to = {buffer, begin, word * WORD + WORD - begin};
    run(gpu, ACU_GPU_MERGE, &to, 1, p, sizeof p, (acu_gpu_groups){1, 1, 1});
}

/* A part of a buffer that may be bound: `begin` is where the device allows a binding to begin. */
typedef struct part {
    uint64_t begin, bytes;
    uint32_t offset; /* of the first byte, from `begin` */
} part;

/* Returns the part with these bytes of a buffer. */
static part part_of(const acu_gpu *gpu, uint64_t room, uint64_t offset, uint64_t size) {
    const uint64_t step = gpu->limits.minStorageBufferOffsetAlignment;
    const uint64_t begin = offset / step * step;
    uint64_t end = (offset + size + WORD - 1) & ~(uint64_t)(WORD - 1);
    end = end < room ? end : room;
    return (part){begin, end - begin, (uint32_t)(offset - begin)};
}

/* Returns how many bytes one launch handles: what may be bound, and what 32 bits count. */
static uint64_t step_of(const acu_gpu *gpu) {
    uint64_t most = gpu->limits.maxStorageBufferBindingSize;
    most = most < UINT64_C(0x40000000) ? most : UINT64_C(0x40000000);
    return (most - 1024) & ~(uint64_t)1023; /* as the first word may be in front of the range */
}

/* Returns groups for a thread for each word that the bytes touch. */
static acu_gpu_groups groups_for(const acu_gpu *gpu, uint64_t bytes) {
    const uint64_t words = bytes / WORD + 2, groups = (words + GROUP - 1) / GROUP;
    const uint32_t most = gpu->limits.maxComputeWorkgroupsPerDimension;
    const uint32_t x = groups < most ? (uint32_t)groups : most;
    return (acu_gpu_groups){x, (uint32_t)((groups + x - 1) / x), 1};
}

void acu_gpu_kernels_fill(acu_gpu *gpu, WGPUBuffer buffer, uint64_t room, uint64_t offset,
                          uint64_t size, const void *element, size_t element_size) {
    const size_t length = LARGEST_ELEMENT % element_size ? element_size : LARGEST_ELEMENT;
    uint32_t p[8] = {[3] = (uint32_t)length};
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)(p + 4))[i] = ((const unsigned char *)element)[i % element_size];
    for (uint64_t done = 0; done < size;) {
        const uint64_t left = size - done, now = left < step_of(gpu) ? left : step_of(gpu);
        const part to = part_of(gpu, room, offset + done, now);
        const acu_gpu_binding bound = {buffer, to.begin, to.bytes};
        p[0] = to.offset;
        p[1] = (uint32_t)now;
        p[2] = (uint32_t)(done % length);
        run(gpu, ACU_GPU_FILL, &bound, 1, p, sizeof p, groups_for(gpu, now));
        done += now;
    }
}

void acu_gpu_kernels_copy(acu_gpu *gpu, WGPUBuffer to, uint64_t to_room, uint64_t to_offset,
                          WGPUBuffer from, uint64_t from_room, uint64_t from_offset,
                          uint64_t size) {
    for (uint64_t done = 0; done < size;) {
        const uint64_t left = size - done, now = left < step_of(gpu) ? left : step_of(gpu);
        const part a = part_of(gpu, to_room, to_offset + done, now);
        const part b = part_of(gpu, from_room, from_offset + done, now);
        const acu_gpu_binding bound[2] = {{to, a.begin, a.bytes}, {from, b.begin, b.bytes}};
        const uint32_t p[4] = {a.offset, (uint32_t)now, b.offset, 0};
        run(gpu, ACU_GPU_COPY, bound, 2, p, sizeof p, groups_for(gpu, now));
        done += now;
    }
}
