/* WGSL on blocks. */
#include "machine.h"

#include "runtime/webgpu/gpu_launch.h"

#include <string.h>

static acu_gpu *gpu;

static int open_gpu(void **state) {
    (void)state;
    gpu = machine_open();
    return 0;
}

static int close_gpu(void **state) {
    (void)state;
    machine_close(gpu);
    return 0;
}

static const char add[] = "struct P { scale: f32, count: u32 }\n"
                          "@group(0) @binding(0) var<storage, read> a: array<f32>;\n"
                          "@group(0) @binding(1) var<storage, read> b: array<f32>;\n"
                          "@group(0) @binding(2) var<storage, read_write> sum: array<f32>;\n"
                          "@group(0) @binding(3) var<uniform> p: P;\n"
                          "@compute @workgroup_size(64)\n"
                          "fn add(@builtin(global_invocation_id) id: vec3u) {\n"
                          "    if (id.x < p.count) { sum[id.x] = a[id.x] + p.scale * b[id.x]; }\n"
                          "}\n";

enum { COUNT = 1000 };

/* Makes three blocks of COUNT floats: i, 2 i, and zeros. */
static void make(acu_gpu_block *blocks[3]) {
    float values[COUNT];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < COUNT; i++)
            values[i] = (float)(i * (k == 0) + 2 * i * (k == 1));
        assert_int_equal(acu_gpu_block_create(gpu, sizeof values, &blocks[k]), 0);
        assert_int_equal(acu_gpu_block_write(blocks[k], 0, values, sizeof values), 0);
    }
}

static void drop(acu_gpu_block *blocks[3]) {
    for (int k = 0; k < 3; k++)
        acu_gpu_block_release(blocks[k]);
}

static void a_kernel_adds(void **state) {
    (void)state;
    struct {
        float scale;
        uint32_t count;
    } p = {0, COUNT};
    float sum[COUNT];
    acu_gpu_block *blocks[3];
    const acu_gpu_pipeline *pipeline = NULL;
    make(blocks);
    assert_int_equal(acu_gpu_pipeline_get(gpu, add, "add", &pipeline), 0);
    for (int round = 1; round <= 50; round++) { /* each launch has its own parameters */
        p.scale = (float)round;
        assert_int_equal(acu_gpu_launch(gpu, pipeline, blocks, 3, &p, sizeof p,
                                        (acu_gpu_groups){(COUNT + 63) / 64, 1, 1}),
                         0);
        if (round % 10)
            continue;
        assert_int_equal(acu_gpu_block_read(blocks[2], 0, sum, sizeof sum), 0);
        for (int i = 0; i < COUNT; i++)
            assert_true(sum[i] == (float)(i + 2 * i * round));
    }
    drop(blocks);
}

static void pipelines_are_kept_by_their_text(void **state) {
    (void)state;
    char copy[sizeof add];
    const acu_gpu_pipeline *first = NULL, *second = NULL;
    memcpy(copy, add, sizeof add);
    assert_int_equal(acu_gpu_pipeline_get(gpu, add, "add", &first), 0);
    const size_t count = acu_gpu_pipeline_count(gpu);
    assert_int_equal(acu_gpu_pipeline_get(gpu, copy, "add", &second), 0);
    assert_ptr_equal(first, second);
    assert_int_equal(acu_gpu_pipeline_count(gpu), count);
    copy[strlen(copy) - 1] = ' ';
    assert_int_equal(acu_gpu_pipeline_get(gpu, copy, NULL, &second), 0);
    assert_ptr_not_equal(first, second);
    assert_int_equal(acu_gpu_pipeline_count(gpu), count + 1);
}

static void a_text_that_does_not_compile(void **state) {
    (void)state;
    const acu_gpu_pipeline *pipeline = NULL;
    EXPECT_ERROR(acu_gpu_pipeline_get(gpu, "fn broken( {", NULL, &pipeline), ACU_ERROR_COMPILE,
                 "expected identifier");
    assert_null(strchr(acu_last_error_message(), '\n'));
    EXPECT_ERROR(acu_gpu_pipeline_get(gpu, add, "subtract", &pipeline), ACU_ERROR_COMPILE,
                 "acu_gpu_pipeline_get: ");
    assert_null(pipeline);
    assert_int_equal(acu_gpu_pipeline_count(gpu), 0);
    assert_int_equal(acu_gpu_pipeline_get(gpu, add, NULL, &pipeline), 0);
}

/* What the adapter has is there to be used, and nothing else. */
static void half_precision_where_the_adapter_has_it(void **state) {
    (void)state;
    static const char text[] = "enable f16;\n"
                               "@group(0) @binding(0) var<storage, read_write> b: array<f16>;\n"
                               "@compute @workgroup_size(1) fn main() { b[0] = b[0] + 1.0h; }\n";
    const acu_gpu_pipeline *pipeline = NULL;
    const acu_result result = acu_gpu_pipeline_get(gpu, text, NULL, &pipeline);
    if (!gpu->has_f16) {
        assert_int_equal(result, ACU_ERROR_COMPILE);
        return;
    }
    const uint16_t one_and_a_half = 0x3e00;
    uint16_t found = 0;
    acu_gpu_block *block = NULL;
    assert_int_equal(result, 0);
    assert_int_equal(acu_gpu_block_create(gpu, sizeof found, &block), 0);
    assert_int_equal(acu_gpu_block_write(block, 0, &one_and_a_half, sizeof found), 0);
    assert_int_equal(acu_gpu_launch(gpu, pipeline, &block, 1, NULL, 0, (acu_gpu_groups){1, 1, 1}),
                     0);
    assert_int_equal(acu_gpu_block_read(block, 0, &found, sizeof found), 0);
    assert_int_equal(found, 0x4100); /* 2.5 */
    acu_gpu_block_release(block);
}

static void limits_are_checked_before(void **state) {
    (void)state;
    acu_gpu_block *blocks[3], *many[100];
    unsigned char parameters[ACU_GPU_PARAMETERS + 1] = {0};
    const acu_gpu_pipeline *pipeline = NULL;
    const uint32_t most = gpu->limits.maxComputeWorkgroupsPerDimension;
    make(blocks);
    for (int i = 0; i < 100; i++)
        many[i] = blocks[0];
    assert_int_equal(acu_gpu_pipeline_get(gpu, add, "add", &pipeline), 0);
    EXPECT_ERROR(
        acu_gpu_launch(gpu, pipeline, blocks, 3, parameters, 8, (acu_gpu_groups){1, most + 1, 1}),
        ACU_ERROR_LIMIT, "work groups; this device takes");
    EXPECT_ERROR(acu_gpu_launch(gpu, pipeline, many, 100, parameters, 8, (acu_gpu_groups){1, 1, 1}),
                 ACU_ERROR_LIMIT, "100 blocks; a kernel of this device takes");
    EXPECT_ERROR(acu_gpu_launch(gpu, pipeline, blocks, 3, parameters, sizeof parameters,
                                (acu_gpu_groups){1, 1, 1}),
                 ACU_ERROR_LIMIT, "4097 bytes of parameters; a launch takes 4096");
    const WGPULimits limits = gpu->limits;
    gpu->limits.maxStorageBufferBindingSize = 3999;
    EXPECT_ERROR(acu_gpu_launch(gpu, pipeline, blocks, 3, parameters, 8, (acu_gpu_groups){1, 1, 1}),
                 ACU_ERROR_LIMIT, "a kernel of this device can use 3999 bytes of a block");
    gpu->limits = limits;
    drop(blocks);
}

/* What WebGPU's own validation finds is this launch's error, not the next call's. */
static void a_launch_that_does_not_fit_its_text(void **state) {
    (void)state;
    acu_gpu_block *blocks[3];
    const acu_gpu_pipeline *pipeline = NULL;
    make(blocks);
    assert_int_equal(acu_gpu_pipeline_get(gpu, add, "add", &pipeline), 0);
    EXPECT_ERROR(acu_gpu_launch(gpu, pipeline, blocks, 2, NULL, 0, (acu_gpu_groups){1, 1, 1}),
                 ACU_ERROR_ARGUMENT, "acu_gpu_launch: Validation Error");
    acu_gpu_block *twice[3] = {blocks[0], blocks[2], blocks[2]};
    const uint32_t p[2] = {0, 1};
    EXPECT_ERROR(acu_gpu_launch(gpu, pipeline, twice, 3, p, sizeof p, (acu_gpu_groups){1, 1, 1}),
                 ACU_ERROR_ARGUMENT, "acu_gpu_launch: Validation Error");
    assert_int_equal(acu_gpu_synchronize(gpu), 0);
    drop(blocks);
}

int main(void) {
    machine_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kernel_adds, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(pipelines_are_kept_by_their_text, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(a_text_that_does_not_compile, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(half_precision_where_the_adapter_has_it, open_gpu,
                                        close_gpu),
        cmocka_unit_test_setup_teardown(limits_are_checked_before, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(a_launch_that_does_not_fit_its_text, open_gpu, close_gpu),
    };
    const int failed = cmocka_run_group_tests_name("webgpu_launch", tests, NULL, NULL);
    acu_gpu_adapters_drop(&machine);
    return failed;
}
