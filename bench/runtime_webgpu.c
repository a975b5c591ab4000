/*
 * The runtime on WebGPU against WebGPU used directly, on the same device: each call in pairs, and
 * strided copies of n x n elements against a plain copy of the same bytes. n is the argument; 4096
 * fits a GPU, 256 a processor that is one. Exits with 77 where there is no WebGPU.
 */
#include "pairs.h"

#include <anycuda/runtime.h>
#include <anycuda/webgpu.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 4, MEDIUM = 1u << 20u, LARGEST_ELEMENT = 16 };

static acu_client *client;
static acu_block *to, *from;
static acu_program *program;
static WGPUDevice device;
static WGPUQueue queue;
static WGPUBuffer raw_to, raw_from, staging, uniform;
static WGPUComputePipeline pipeline;
static WGPUBindGroupLayout group_layout;
static uint64_t bytes;

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void wait_for_all(void) {
    wgpuQueueSubmit(queue, 0, NULL);
    (void)wgpuDevicePoll(device, WGPU_TRUE, NULL);
}

static WGPUBuffer make_buffer(WGPUBufferUsage usage, uint64_t size) {
    return wgpuDeviceCreateBuffer(device, &(WGPUBufferDescriptor){.usage = usage, .size = size});
}

static void submit(WGPUCommandEncoder encoder) {
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, NULL);
    wgpuCommandEncoderRelease(encoder);
    wgpuQueueSubmit(queue, 1, &commands);
    wgpuCommandBufferRelease(commands);
}

static void submit_copy(WGPUBuffer target, WGPUBuffer source, uint64_t size) {
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, NULL);
    wgpuCommandEncoderCopyBufferToBuffer(encoder, source, 0, target, 0, size);
    submit(encoder);
}

/* ---- memory ---- */

static void raw_memory(long calls) {
    const WGPUBufferUsage usage =
        WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
    for (long i = 0; i < calls; i++)
        wgpuBufferRelease(make_buffer(usage, MEDIUM));
}

static void memory(long calls) {
    acu_block *block;
    for (long i = 0; i < calls; i++) {
        OK(acu_block_create(client, MEDIUM, &block));
        OK(acu_block_release(block));
    }
}

static unsigned char host[MEDIUM];

static void raw_writes(long calls) {
    for (long i = 0; i < calls; i++)
        wgpuQueueWriteBuffer(queue, raw_to, 0, host, bytes);
}

static void writes(long calls) {
    for (long i = 0; i < calls; i++)
        OK(acu_block_write(client, to, 0, host, bytes));
}

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *done, void *unused) {
    (void)status;
    (void)message;
    (void)unused;
    *(bool *)done = true;
}

static void raw_reads(long calls) {
    for (long i = 0; i < calls; i++) {
        bool done = false;
        submit_copy(staging, raw_to, bytes);
        (void)wgpuBufferMapAsync(
            staging, WGPUMapMode_Read, 0, bytes,
            (WGPUBufferMapCallbackInfo){.mode = WGPUCallbackMode_AllowProcessEvents,
                                        .callback = on_mapped,
                                        .userdata1 = &done});
        while (!done)
            (void)wgpuDevicePoll(device, WGPU_TRUE, NULL);
        memcpy(host, wgpuBufferGetConstMappedRange(staging, 0, bytes), bytes);
        wgpuBufferUnmap(staging);
    }
}

static void reads(long calls) {
    for (long i = 0; i < calls; i++)
        OK(acu_block_read(client, to, 0, host, bytes));
}

/* ---- work, waited for at the end of a loop ---- */

static void raw_copies(long calls) {
    for (long i = 0; i < calls; i++)
        submit_copy(raw_to, raw_from, bytes);
    wait_for_all();
}

static void copies(long calls) {
    for (long i = 0; i < calls; i++)
        OK(acu_block_copy(client, to, 0, from, 0, bytes));
    wait_for_all();
}

static void raw_fills(long calls) {
    for (long i = 0; i < calls; i++) {
        WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, NULL);
        wgpuCommandEncoderClearBuffer(encoder, raw_to, 0, bytes);
        submit(encoder);
    }
    wait_for_all();
}

static void fills(long calls) {
    for (long i = 0; i < calls; i++)
        OK(acu_block_fill(client, to, 0, bytes, "", 1));
    wait_for_all();
}

static void raw_waits(long calls) {
    for (long i = 0; i < calls; i++) {
        submit_copy(raw_to, raw_from, bytes);
        (void)wgpuDevicePoll(device, WGPU_TRUE, NULL);
    }
}

static void waits(long calls) {
    for (long i = 0; i < calls; i++) {
        OK(acu_block_copy(client, to, 0, from, 0, bytes));
        OK(acu_client_synchronize(client));
    }
}

static void marks(long calls) {
    acu_mark *mark;
    for (long i = 0; i < calls; i++) {
        OK(acu_block_copy(client, to, 0, from, 0, bytes));
        OK(acu_mark_create(client, &mark));
        OK(acu_mark_synchronize(mark));
        OK(acu_mark_release(mark));
    }
}

static const char wgsl[] =
    "struct V { n: u32, scale: f32 }\n"
    "@group(0) @binding(0) var<storage, read> a: array<f32>;\n"
    "@group(0) @binding(1) var<storage, read_write> b: array<f32>;\n"
    "@group(0) @binding(2) var<uniform> v: V;\n"
    "@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3u) {\n"
    "    if (id.x < v.n) { b[id.x] = b[id.x] + v.scale * a[id.x]; }\n"
    "}\n";
enum { ITEMS = 256 };
typedef struct values {
    uint32_t n;
    float scale;
    uint32_t unused[2];
} values;

static void raw_runs(long calls) {
    for (long i = 0; i < calls; i++) {
        const values v = {ITEMS, (float)i, {0}};
        const WGPUBindGroupEntry entries[] = {
            {.binding = 0, .buffer = raw_from, .size = (uint64_t)ITEMS * 4},
            {.binding = 1, .buffer = raw_to, .size = (uint64_t)ITEMS * 4},
            {.binding = 2, .buffer = uniform, .size = sizeof v}};
        WGPUBindGroup group = wgpuDeviceCreateBindGroup(
            device, &(WGPUBindGroupDescriptor){
                        .layout = group_layout, .entryCount = 3, .entries = entries});
        wgpuQueueWriteBuffer(queue, uniform, 0, &v, sizeof v);
        WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, NULL);
        WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, NULL);
        wgpuComputePassEncoderSetPipeline(pass, pipeline);
        wgpuComputePassEncoderSetBindGroup(pass, 0, group, 0, NULL);
        wgpuComputePassEncoderDispatchWorkgroups(pass, ITEMS / 64, 1, 1);
        wgpuComputePassEncoderEnd(pass);
        wgpuComputePassEncoderRelease(pass);
        submit(encoder);
        wgpuBindGroupRelease(group);
    }
    wait_for_all();
}

static void runs(long calls) {
    for (long i = 0; i < calls; i++)
        OK(acu_run(client, program, acu_items(ITEMS), acu_in_block(from), acu_inout_block(to),
                   (uint32_t)ITEMS, (float)i));
    wait_for_all();
}

static void compile(void) {
    const WGPUShaderSourceWGSL text = {.chain = {.sType = WGPUSType_ShaderSourceWGSL},
                                       .code = {.data = wgsl, .length = sizeof wgsl - 1}};
    WGPUShaderModule module = wgpuDeviceCreateShaderModule(
        device, &(WGPUShaderModuleDescriptor){.nextInChain = (void *)&text.chain});
    pipeline = wgpuDeviceCreateComputePipeline(
        device,
        &(WGPUComputePipelineDescriptor){
            .compute = {.module = module, .entryPoint = {.data = "add", .length = WGPU_STRLEN}}});
    group_layout = wgpuComputePipelineGetBindGroupLayout(pipeline, 0);
    wgpuShaderModuleRelease(module);
    OK(acu_program_create(&(acu_program_source){.name = "add", .wgsl = wgsl, .group = {64}},
                          &program));
}

static void compare_calls(void) {
    print_header("WebGPU", "anycuda");
    compare("block of 1 MiB, created and released", raw_memory, memory, 0, wait_for_all);
    bytes = SMALL;
    compare("write of 4 bytes", raw_writes, writes, 1000, wait_for_all);
    compare("read of 4 bytes", raw_reads, reads, 0, wait_for_all);
    compare("copy of 4 bytes", raw_copies, copies, 100, wait_for_all);
    compare("copy of 4 bytes, waited for", raw_waits, waits, 0, wait_for_all);
    compare("copy of 4 bytes, and a mark that is waited for", raw_waits, marks, 0, wait_for_all);
    compare("fill of 4 bytes with 0, against wgpuCommandEncoderClearBuffer", raw_fills, fills, 100,
            wait_for_all);
    compare("run of a program on 256 items", raw_runs, runs, 100, wait_for_all);
    bytes = MEDIUM;
    compare("write of 1 MiB", raw_writes, writes, 8, wait_for_all);
    compare("read of 1 MiB", raw_reads, reads, 0, wait_for_all);
    compare("copy of 1 MiB", raw_copies, copies, 0, wait_for_all);
    compare("fill of 1 MiB with 0, against wgpuCommandEncoderClearBuffer", raw_fills, fills, 0,
            wait_for_all);
}

/* ---- strided copies ---- */

enum { MOST_RANK = 4 };
typedef struct layout {
    const char *name;
    size_t element; /* bytes */
    unsigned rank;
    size_t shape[MOST_RANK];
    int64_t from[MOST_RANK];
    size_t first;
} layout;

static const layout *current;
static acu_strides strides;

static void strided(long calls) {
    for (long i = 0; i < calls; i++)
        OK(acu_block_copy_strided(client, to, from, current->element, &strides));
    wait_for_all();
}

static void compare_layout(const layout *l) {
    current = l;
    strides =
        (acu_strides){.rank = l->rank, .shape = l->shape, .from = l->from, .from_at = l->first};
    bytes = l->element;
    for (unsigned n = 0; n < l->rank; n++)
        bytes *= l->shape[n];
    bytes = bytes / 4 * 4;
    strided(1); /* compiles the kernel */
    compare(l->name, raw_copies, strided, 0, wait_for_all);
}

static void compare_layouts(size_t side) {
    const int64_t s = (int64_t)side;
    const layout list[] = {
        {"transposition of 4 bytes", 4, 2, {side, side}, {1, s}, 0},
        {"transposition of 1 byte", 1, 2, {side, side}, {1, s}, 0},
        {"transposition of 2 bytes", 2, 2, {side, side}, {1, s}, 0},
        {"transposition of 8 bytes", 8, 2, {side, side}, {1, s}, 0},
        {"transposition of 12 bytes", 12, 2, {side, side}, {1, s}, 0},
        {"transposition of 16 bytes", 16, 2, {side, side}, {1, s}, 0},
        {"transposition of 1 byte, one row and column less",
         1,
         2,
         {side - 1, side - 1},
         {1, s - 1},
         0},
        {"axes 0, 2, 1, 3 of 4 x n/8 x 16 x n/8, 2 bytes",
         2,
         4,
         {4, 16, side / 8, side / 8},
         {2 * s * s / 8, s / 8, 2 * s, 1},
         0},
        {"rows backwards, 4 bytes", 4, 2, {side, side}, {s, -1}, side - 1},
        {"every second element, 4 bytes", 4, 2, {side, side}, {2 * s, 2}, 0},
        {"every second element, 1 byte", 1, 2, {side, side}, {2 * s, 2}, 0},
        {"half of each row, 4 bytes", 4, 2, {side, side}, {2 * s, 1}, 0},
        {"half of each row, an odd number of bytes", 1, 2, {side, side - 1}, {2 * s, 1}, 0},
        {"a row repeated, 4 bytes", 4, 2, {side, side}, {0, 1}, 0},
    };
    printf("n is %zu\n", side);
    print_header("wgpuCommandEncoderCopyBufferToBuffer of the bytes", "acu_block_copy_strided");
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        compare_layout(&list[i]);
}

static WGPUBuffer buffer_of(acu_block *block) {
    acu_raw raw;
    OK(acu_block_get_raw(block, &raw));
    return raw.handle;
}

int main(int argc, char **argv) {
    const size_t side = argc > 1 ? strtoul(argv[1], NULL, 10) / 8 * 8 : 4096;
    const uint64_t most = (uint64_t)side * side * LARGEST_ELEMENT;
    acu_raw raw;
    acu_place_info info;
    const acu_place place = acu_place_webgpu(0);
    if (acu_client_create(place, NULL, &client)) {
        printf("no WebGPU here: %s\n", acu_last_error_message());
        return 77;
    }
    OK(acu_place_get_info(place, &info));
    printf("on %s\n", info.name);
    OK(acu_client_get_raw(client, &raw));
    device = raw.handle;
    queue = raw.other;
    OK(acu_block_create(client, most > MEDIUM ? most : MEDIUM, &to));
    OK(acu_block_create(client, most > MEDIUM ? most : MEDIUM, &from));
    raw_to = buffer_of(to);
    raw_from = buffer_of(from);
    staging = make_buffer(WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, MEDIUM);
    uniform = make_buffer(WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst, sizeof(values));
    compile();
    compare_calls();
    compare_layouts(side);
    wgpuBufferRelease(staging);
    wgpuBufferRelease(uniform);
    wgpuBindGroupLayoutRelease(group_layout);
    wgpuComputePipelineRelease(pipeline);
    OK(acu_program_release(program));
    OK(acu_block_release(to));
    OK(acu_block_release(from));
    OK(acu_client_release(client));
    return 0;
}
