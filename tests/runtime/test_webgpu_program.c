/* WebGPU's programs by its table: WGSL on blocks and values. */
#include "webgpu_device.h"

#include "runtime/webgpu/gpu_launch.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };

static acu_result create(const acu_program_source *source, acu_backend_program **out) {
    const acu_backend_source given = {.size = sizeof given, .source = source};
    return TABLE.program_create(device, &given, out);
}

static acu_backend_program *program_of(const char *wgsl, size_t group) {
    acu_backend_program *program = NULL;
    const acu_program_source source = {.name = "main", .wgsl = wgsl, .group = {group}};
    if (create(&source, &program))
        fail_msg("%s", device_words(ACU_ERROR_COMPILE));
    return program;
}

static acu_result run(acu_backend_program *program, size_t items, const acu_backend_arg *args,
                      size_t count) {
    return TABLE.run(queue, program, (size_t[3]){items, 1, 1}, args, count);
}

static acu_backend_arg reads(acu_backend_memory *memory, uint64_t bytes) {
    return (acu_backend_arg){.memory = memory, .memory_bytes = bytes};
}

static acu_backend_arg writes(acu_backend_memory *memory, uint64_t bytes) {
    return (acu_backend_arg){.memory = memory, .memory_bytes = bytes, .writes = true};
}

static acu_backend_arg value(const void *bytes, size_t size) {
    return (acu_backend_arg){.value = bytes, .size = size};
}

static const char add[] = "struct V { n: u32, scale: f32 }\n"
                          "@group(0) @binding(0) var<storage, read> a: array<f32>;\n"
                          "@group(0) @binding(1) var<storage, read_write> b: array<f32>;\n"
                          "@group(0) @binding(2) var<uniform> v: V;\n"
                          "@compute @workgroup_size(64)\n"
                          "fn main(@builtin(global_invocation_id) id: vec3u) {\n"
                          "    if (id.x < v.n) { b[id.x] = b[id.x] + v.scale * a[id.x]; }\n"
                          "}\n";

static void a_program_runs(void **state) {
    float a[COUNT], b[COUNT];
    const uint32_t n = COUNT;
    const float scale = 2.0f;
    (void)state;
    for (int i = 0; i < COUNT; i++)
        b[i] = 10 * (a[i] = (float)i);
    acu_backend_program *program = program_of(add, 64);
    acu_backend_memory *x = memory_of(a, sizeof a), *y = memory_of(b, sizeof b);
    const acu_backend_arg args[] = {value(&n, 4), reads(x, sizeof a), value(&scale, 4),
                                    writes(y, sizeof b)};
    assert_int_equal(run(program, COUNT, args, 4), 0);
    assert_int_equal(run(program, 0, args, 4), 0);
    TABLE.program_destroy(program); /* the work goes on */
    for (int i = 0; i < COUNT; i++)
        b[i] = 12 * a[i];
    memory_equals(y, b, sizeof b);
    memory_drop(x);
    memory_drop(y);
}

/* Each value is aligned to its size, and a value of three words like one of four. */
static void values_are_fields(void **state) {
    static const char text[] =
        "struct V { a: u32, b: vec2<u32>, c: u32, d: vec3<u32>, e: u32, f: vec4<f32>, g: u32 }\n"
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n"
        "@group(0) @binding(1) var<uniform> v: V;\n"
        "@compute @workgroup_size(1) fn main() {\n"
        "    out[0] = v.a; out[1] = v.b.x; out[2] = v.b.y; out[3] = v.c; out[4] = v.d.x;\n"
        "    out[5] = v.d.y; out[6] = v.d.z; out[7] = v.e; out[8] = u32(v.f.x);\n"
        "    out[9] = u32(v.f.w); out[10] = v.g; out[11] = arrayLength(&out);\n"
        "}\n";
    const uint32_t a = 1, c = 4, d[3] = {5, 6, 7}, e = 8, g = 11, none[64] = {0};
    const uint64_t b = UINT64_C(3) << 32 | 2;
    const float f[4] = {9, 0, 0, 10};
    uint32_t expected[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    (void)state;
    acu_backend_program *program = program_of(text, 1);
    acu_backend_memory *out = memory_of(none, sizeof none); /* longer than the block */
    const acu_backend_arg args[] = {writes(out, 46), value(&a, 4), value(&b, 8), value(&c, 4),
                                    value(d, 12),    value(&e, 4), value(f, 16), value(&g, 4)};
    assert_int_equal(run(program, 1, args, 8), 0);
    memory_equals(out, expected, sizeof expected);
    memory_drop(out);
    TABLE.program_destroy(program);
}

static void groups_in_three_dimensions(void **state) {
    static const char text[] =
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n"
        "@compute @workgroup_size(4, 2, 2) fn main(@builtin(global_invocation_id) id: vec3u) {\n"
        "    if (all(id < vec3u(5, 3, 3))) { out[id.x + 5u * (id.y + 3u * id.z)] += id.x + 1u; }\n"
        "}\n";
    const acu_program_source source = {.name = "main", .wgsl = text, .group = {4, 2, 2}};
    uint32_t expected[45] = {0};
    acu_backend_program *program = NULL;
    (void)state;
    acu_backend_memory *out = memory_of(expected, sizeof expected);
    const acu_backend_arg arg = writes(out, sizeof expected);
    assert_int_equal(create(&source, &program), 0);
    assert_int_equal(TABLE.run(queue, program, (size_t[3]){5, 3, 3}, &arg, 1), 0);
    for (uint32_t i = 0; i < 45; i++)
        expected[i] = i % 5 + 1;
    memory_equals(out, expected, sizeof expected);
    memory_drop(out);
    TABLE.program_destroy(program);
}

/* A block may be read and written by one program. */
static void one_block_twice(void **state) {
    float a[COUNT];
    const uint32_t n = COUNT;
    const float scale = 0.5f;
    (void)state;
    for (int i = 0; i < COUNT; i++)
        a[i] = (float)(2 * i);
    acu_backend_program *program = program_of(add, 64);
    acu_backend_memory *x = memory_of(a, sizeof a);
    const acu_backend_arg args[] = {reads(x, sizeof a), writes(x, sizeof a), value(&n, 4),
                                    value(&scale, 4)};
    assert_int_equal(run(program, COUNT, args, 4), 0);
    for (int i = 0; i < COUNT; i++)
        a[i] *= 1.5f;
    memory_equals(x, a, sizeof a);
    memory_drop(x);
    TABLE.program_destroy(program);
}

static void programs_are_given_back(void **state) {
    acu_backend_program *first = program_of(add, 64), *second = program_of(add, 64);
    (void)state;
    const size_t count = acu_gpu_pipeline_count(device->gpu);
    TABLE.program_destroy(first);
    assert_int_equal(acu_gpu_pipeline_count(device->gpu), count);
    TABLE.program_destroy(second);
    assert_int_equal(acu_gpu_pipeline_count(device->gpu), count - 1);
}

static void a_form_goes_before(void **state) {
    const acu_form form = {"webgpu", add, strlen(add)};
    const acu_program_source source = {.name = "main", .wgsl = "nonsense", .group = {64}};
    const acu_backend_source given = {.size = sizeof given, .source = &source, .form = &form};
    acu_backend_program *program = NULL;
    (void)state;
    assert_int_equal(TABLE.program_create(device, &given, &program), 0);
    TABLE.program_destroy(program);
}

/* ---- what goes wrong ---- */

static void expect_refused(const char *wgsl, size_t x, size_t y, acu_result code,
                           const char *words) {
    const acu_program_source source = {.name = "main", .wgsl = wgsl, .group = {x, y}};
    acu_backend_program *program = NULL;
    EXPECT_WORDS(create(&source, &program), code, words);
    assert_null(program);
}

static void texts_that_are_refused(void **state) {
    (void)state;
    expect_refused(NULL, 64, 1, ACU_NOT_SUPPORTED, "the program has no WGSL");
    expect_refused("@compute @workgroup_size(64) fn main() { let a = ; }", 64, 1, ACU_ERROR_COMPILE,
                   "expected expression, found \";\"");
    expect_refused("fn other() {}", 64, 1, ACU_ERROR_COMPILE, "the WGSL has no function \"main\"");
    expect_refused("fn main() {}", 64, 1, ACU_ERROR_COMPILE, "main");
    expect_refused(add, 0, 1, ACU_ERROR_ARGUMENT,
                   "says @workgroup_size(64, 1, 1), and the program's group is 256 x 1 x 1");
    expect_refused(add, 64, 2, ACU_ERROR_ARGUMENT, "64 x 2 x 1");
    expect_refused("@compute @workgroup_size(4, 100000) fn main() {}", 4, 100000, ACU_ERROR_LIMIT,
                   "a group of 4 x 100000 x 1 items; this device takes");
    expect_refused("@compute @workgroup_size(256, 256) fn main() {}", 256, 256, ACU_ERROR_LIMIT,
                   "a group of 256 x 256 x 1 items; this device takes");
}

static void runs_that_are_refused(void **state) {
    static unsigned char large[ACU_GPU_PARAMETERS + 1];
    acu_backend_arg many[ACU_GPU_BINDINGS + 1];
    const uint32_t zero = 0;
    (void)state;
    acu_backend_program *program = program_of(add, 64);
    acu_backend_memory *x = memory_of("abcdefgh", 8), *y = memory_of("ABCDEFGH", 8);
    const acu_backend_arg args[] = {reads(x, 8), writes(y, 8), value(&zero, 4), value(&zero, 4)};
    EXPECT_WORDS(run(program, SIZE_MAX, args, 4), ACU_ERROR_LIMIT, "groups in a dimension");
    EXPECT_WORDS(run(program, 64, args, 2), ACU_ERROR_ARGUMENT,
                 "\"main\" was given 2 blocks, and its WGSL must use each binding");
    const acu_backend_arg too_long[] = {args[0], args[1], value(large, sizeof large)};
    EXPECT_WORDS(run(program, 64, too_long, 3), ACU_ERROR_LIMIT, "more than 4096 bytes in all");
    for (int i = 0; i <= ACU_GPU_BINDINGS; i++)
        many[i] = args[0];
    EXPECT_WORDS(run(program, 64, many, ACU_GPU_BINDINGS + 1), ACU_ERROR_LIMIT, "blocks");
    const WGPULimits limits = device->gpu->limits;
    device->gpu->limits.maxStorageBufferBindingSize = 7;
    EXPECT_WORDS(run(program, 64, args, 4), ACU_ERROR_LIMIT,
                 "block 0 has 8 bytes; a kernel of this device can use 7 bytes of a block");
    device->gpu->limits = limits;
    assert_int_equal(run(program, 64, args, 4), 0); /* nothing of it stays */
    assert_int_equal(TABLE.queue_synchronize(queue), 0);
    memory_equals(x, "abcdefgh", 8);
    memory_equals(y, "ABCDEFGH", 8);
    memory_drop(x);
    memory_drop(y);
    TABLE.program_destroy(program);
}

static void on_scope(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message,
                     void *found, void *unused) {
    (void)status;
    (void)message;
    (void)unused;
    *(WGPUErrorType *)found = type;
}

/* A scope of the program's takes the first error. wgpu-native ends the process where that is not
 * noticed. */
static void a_scope_of_the_programs_own(void **state) {
    acu_raw raw;
    WGPUErrorType type = WGPUErrorType_NoError;
    (void)state;
    acu_backend_program *program = program_of(add, 64);
    acu_backend_memory *x = memory_of("abcdefgh", 8), *y = memory_of("ABCDEFGH", 8);
    const acu_backend_arg args[] = {reads(x, 8), writes(y, 8)};
    assert_int_equal(TABLE.queue_get_raw(queue, &raw), 0);
    wgpuDevicePushErrorScope(raw.handle, WGPUErrorFilter_Validation);
    EXPECT_WORDS(run(program, 64, args, 2), ACU_ERROR_ARGUMENT, "Validation Error");
    assert_int_equal(TABLE.queue_synchronize(queue), 0);
    (void)wgpuDevicePopErrorScope(
        raw.handle, (WGPUPopErrorScopeCallbackInfo){.mode = WGPUCallbackMode_AllowProcessEvents,
                                                    .callback = on_scope,
                                                    .userdata1 = &type});
    assert_int_equal(type, WGPUErrorType_Validation);
    memory_equals(y, "ABCDEFGH", 8);
    memory_drop(x);
    memory_drop(y);
    TABLE.program_destroy(program);
}

static void a_lost_device(void **state) {
    acu_backend_program *program = program_of(add, 64), *none = NULL;
    acu_backend_memory *x = memory_of("abcdefgh", 8), *y = memory_of("ABCDEFGH", 8);
    const acu_program_source source = {.name = "main", .wgsl = add, .group = {64}};
    const uint32_t zero = 0;
    const acu_backend_arg args[] = {reads(x, 8), writes(y, 8), value(&zero, 4), value(&zero, 4)};
    const acu_backend_arg twice[] = {args[1], reads(y, 8)};
    (void)state;
    acu_gpu_lose(device->gpu);
    EXPECT_WORDS(run(program, 64, args, 4), ACU_GPU_LOST, "the device is lost");
    EXPECT_WORDS(run(program, 64, twice, 2), ACU_GPU_LOST, "the device is lost");
    EXPECT_WORDS(create(&source, &none), ACU_GPU_LOST, "the device is lost");
    memory_drop(x);
    memory_drop(y);
    TABLE.program_destroy(program);
}

int main(void) {
    device_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_program_runs, device_open, device_close),
        cmocka_unit_test_setup_teardown(values_are_fields, device_open, device_close),
        cmocka_unit_test_setup_teardown(groups_in_three_dimensions, device_open, device_close),
        cmocka_unit_test_setup_teardown(one_block_twice, device_open, device_close),
        cmocka_unit_test_setup_teardown(programs_are_given_back, device_open, device_close),
        cmocka_unit_test_setup_teardown(a_form_goes_before, device_open, device_close),
        cmocka_unit_test_setup_teardown(texts_that_are_refused, device_open, device_close),
        cmocka_unit_test_setup_teardown(runs_that_are_refused, device_open, device_close),
        cmocka_unit_test_setup_teardown(a_scope_of_the_programs_own, device_open, device_close),
        cmocka_unit_test_setup_teardown(a_lost_device, device_open, device_close),
    };
    return cmocka_run_group_tests_name("webgpu_program", tests, NULL, NULL);
}
