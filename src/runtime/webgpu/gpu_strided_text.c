/* The WGSL of strided copies: words of 4, 8 or 16 bytes, tiles of them, tiles of bytes, and bytes.
 */
#include "runtime/webgpu/gpu_strided.h"

#include <stdio.h>

/* What all kernels have: `T` is a word, and place() finds where a thread's or tile's elements are
 * by its number. */
static const char common[] =
    "struct P {\n"
    "    total: u32, rank: u32, to_at: u32, from_at: u32,\n"
    "    across: u32, across_to: u32, across_from: u32,\n"
    "    down: u32, down_to: u32, down_from: u32, unused: vec2<u32>,\n"
    "    dims: array<vec4<u32>, 17>,\n"
    "}\n"
    "@group(0) @binding(0) var<storage, read_write> to: array<TO>;\n"
    "@group(0) @binding(1) var<storage, read> src: array<T>;\n"
    "@group(0) @binding(2) var<uniform> p: P;\n"
    "fn place(number: u32) -> vec2<u32> {\n"
    "    var left = number;\n"
    "    var at = vec2<u32>(p.to_at, p.from_at);\n"
    "    for (var i = 0u; i + 1u < p.rank; i++) {\n"
    "        let dim = p.dims[i];\n"
    "        let next = left / dim.x;\n"
    "        at += (left - next * dim.x) * dim.yz;\n"
    "        left = next;\n"
    "    }\n"
    "    return at + left * p.dims[p.rank - 1u].yz;\n"
    "}\n"
    "@compute @workgroup_size(256)\n"
    "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,\n"
    "        @builtin(local_invocation_index) lane: u32) {\n"
    "    let number = group.x + group.y * groups.x;\n";

static const char words[] = "    let i = number * 256u + lane;\n"
                            "    if (i >= p.total) { return; }\n"
                            "    let at = place(i);\n"
                            "    to[at.x] = src[at.y];\n"
                            "}\n";

/* A tile is read along the source and written along the destination. */
static const char tiles_memory[] = "var<workgroup> tile: array<array<T, SIDE + 1u>, SIDE>;\n";
static const char tiles[] =
    "    if (number >= p.total) { return; }\n"
    "    let at = place(number);\n"
    "    let x = lane % SIDE;\n"
    "    let across = p.across - number % p.dims[0].x * SIDE;\n"
    "    let down = p.down - number / p.dims[0].x % p.dims[1].x * SIDE;\n"
    "    for (var y = lane / SIDE; y < SIDE; y += 256u / SIDE) {\n"
    "        if (y < across && x < down) {\n"
    "            tile[y][x] = src[at.y + y * p.across_from + x * p.down_from];\n"
    "        }\n"
    "    }\n"
    "    workgroupBarrier();\n"
    "    for (var y = lane / SIDE; y < SIDE; y += 256u / SIDE) {\n"
    "        if (x < across && y < down) {\n"
    "            to[at.x + x * p.across_to + y * p.down_to] = tile[x][y];\n"
    "        }\n"
    "    }\n"
    "}\n";

/* Elements of 1 or 2 bytes, EACH of which are a word of 32 bits: a thread transposes a square of
 * them. All positions are multiples of a word. */
static const char packed_memory[] = "var<workgroup> tile: array<array<u32, 17>, SIDE>;\n";
static const char packed[] =
    "    if (number >= p.total) { return; }\n"
    "    let at = place(number);\n"
    "    let x = lane % 16u;\n"
    "    let y = lane / 16u * EACH;\n"
    "    let across = p.across - number % p.dims[0].x * SIDE;\n"
    "    let down = p.down - number / p.dims[0].x % p.dims[1].x * SIDE;\n"
    "    var square: array<u32, EACH>;\n"
    "    if (y < across && x * EACH < down) {\n"
    "        for (var i = 0u; i < EACH; i++) {\n"
    "            let word = src[(at.y + (y + i) * p.across_from) / 4u + x];\n"
    "            for (var j = 0u; j < EACH; j++) {\n"
    "                square[j] |= ((word >> (j * BITS)) & MASK) << (i * BITS);\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    for (var j = 0u; j < EACH; j++) { tile[x * EACH + j][lane / 16u] = square[j]; }\n"
    "    workgroupBarrier();\n"
    "    if (x * EACH < across && y < down) {\n"
    "        for (var i = 0u; i < EACH; i++) {\n"
    "            to[(at.x + (y + i) * p.down_to) / 4u + x] = tile[y + i][x];\n"
    "        }\n"
    "    }\n"
    "}\n";

/*
 * A row is `down` pieces of `across` bytes, which lie together in the destination, and down_from
 * apart in the source. A thread writes one word of a row; p.across_to is the number of words that a
 * row may touch. Two rows may meet in one word: each thread changes only its own bytes of it.
 */
static const char bytes[] =
    "    let i = number * 256u + lane;\n"
    "    if (i >= p.total) { return; }\n"
    "    let at = place(i / p.across_to);\n"
    "    let word = at.x / 4u + i % p.across_to;\n"
    "    let begin = max(word * 4u, at.x);\n"
    "    let end = min(word * 4u + 4u, at.x + p.across * p.down);\n"
    "    if (begin >= end) { return; }\n"
    "    var value = 0u;\n"
    "    if (p.down == 1u) {\n"
    "        let first = at.y + (begin - at.x);\n"
    "        let skip = first % 4u;\n"
    "        value = src[first / 4u] >> (skip * 8u);\n"
    "        if (skip + (end - begin) > 4u) {\n"
    "            value |= src[first / 4u + 1u] << (32u - skip * 8u);\n"
    "        }\n"
    "        value = value << ((begin % 4u) * 8u);\n"
    "    } else {\n"
    "        for (var byte = begin; byte < end; byte++) {\n"
    "            let k = (byte - at.x) / p.across;\n"
    "            let from_byte = at.y + k * p.down_from + (byte - at.x - k * p.across);\n"
    "            let found = (src[from_byte / 4u] >> ((from_byte % 4u) * 8u)) & 0xffu;\n"
    "            value |= found << ((byte % 4u) * 8u);\n"
    "        }\n"
    "    }\n"
    "    let mask = (0xffffffffu >> ((4u - (end - begin)) * 8u)) << ((begin % 4u) * 8u);\n"
    "    if (mask == 0xffffffffu) { atomicStore(&to[word], value); }\n"
    "    else { atomicXor(&to[word], (atomicLoad(&to[word]) ^ value) & mask); }\n"
    "}\n";

static const char *const types[] = {"u32", "vec2<u32>", "vec4<u32>"};
static const uint32_t sides[] = {32, 32, 16, 64, 32};

uint32_t acu_gpu_strided_side(int kernel) {
    return sides[kernel - ACU_GPU_STRIDED_TILES];
}

void acu_gpu_strided_text(int kernel, char text[ACU_GPU_STRIDED_TEXT]) {
    char head[160];
    const char *memory = "", *body = words;
    if (kernel == ACU_GPU_STRIDED_BYTES) {
        snprintf(head, sizeof head, "alias T = u32;\nalias TO = atomic<u32>;\n");
        body = bytes;
    } else if (kernel >= ACU_GPU_STRIDED_PACKED) {
        const unsigned each = kernel == ACU_GPU_STRIDED_PACKED ? 4 : 2, bits = 32 / each;
        snprintf(head, sizeof head,
                 "alias T = u32;\nalias TO = u32;\nconst SIDE = %uu;\nconst EACH = %uu;\n"
                 "const BITS = %uu;\nconst MASK = %uu;\n",
                 acu_gpu_strided_side(kernel), each, bits, (1u << bits) - 1);
        memory = packed_memory;
        body = packed;
    } else if (kernel >= ACU_GPU_STRIDED_TILES) {
        const char *type = types[kernel - ACU_GPU_STRIDED_TILES];
        snprintf(head, sizeof head, "alias T = %s;\nalias TO = %s;\nconst SIDE = %uu;\n", type,
                 type, acu_gpu_strided_side(kernel));
        memory = tiles_memory;
        body = tiles;
    } else {
        const char *type = types[kernel - ACU_GPU_STRIDED_WORDS];
        snprintf(head, sizeof head, "alias T = %s;\nalias TO = %s;\n", type, type);
    }
    snprintf(text, ACU_GPU_STRIDED_TEXT, "%s%s%s%s", head, memory, common, body);
}
