/* What fails later, elsewhere, or for good. */
#include "machine.h"

#include <anycuda/layers.h>

#include "runtime/webgpu/gpu_launch.h"
#include "runtime/webgpu/gpu_transfer.h"

#include <stdio.h>
#include <string.h>

static void adapters_are_described(void **state) {
    (void)state;
    for (size_t i = 0; i < machine.count; i++) {
        assert_true(machine.list[i].name[0] != '\0');
        assert_true(machine.list[i].limits.maxBufferSize > 0);
        if (i > 0 && acu_gpu_adapter_is_cpu(&machine.list[i - 1]))
            assert_true(acu_gpu_adapter_is_cpu(&machine.list[i])); /* the processor comes last */
    }
    acu_gpu *gpu = NULL;
    EXPECT_ERROR(acu_gpu_open(&machine, machine.count, &gpu), ACU_ERROR_ARGUMENT,
                 "there is no adapter");
    assert_null(gpu);
}

static void a_device_has_its_adapters_limits(void **state) {
    (void)state;
    acu_gpu *gpu = machine_open();
    assert_true(gpu->limits.maxBufferSize == machine.list[0].limits.maxBufferSize);
    assert_true(gpu->limits.maxStorageBufferBindingSize ==
                machine.list[0].limits.maxStorageBufferBindingSize);
    machine_contains(gpu->name, machine.list[0].name);
    machine_close(gpu);
}

/* wgpu-native returns one byte where its header says four. */
static void a_poll_answers_0_or_1(void **state) {
    (void)state;
    acu_gpu *gpu = machine_open();
    acu_gpu_block *block = NULL;
    assert_int_equal(acu_gpu_block_create(gpu, 1 << 20, &block), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(acu_gpu_block_fill(block, 1, 1000, "abc", 3), 0);
        assert_true(wgpuDevicePoll(gpu->device, WGPU_FALSE, NULL) <= WGPU_TRUE);
    }
    assert_int_equal(wgpuDevicePoll(gpu->device, WGPU_TRUE, NULL), WGPU_TRUE); /* empty */
    acu_gpu_block_release(block);
    machine_close(gpu);
}

/* An error outside of all operations is that of the next one, once. */
static void a_late_error(void **state) {
    (void)state;
    acu_gpu *gpu = machine_open();
    WGPUBuffer buffer = wgpuDeviceCreateBuffer(
        gpu->device, &(WGPUBufferDescriptor){.usage = WGPUBufferUsage_Storage, .size = UINT64_MAX});
    acu_gpu_poll(gpu);
    EXPECT_ERROR(acu_gpu_synchronize(gpu), ACU_ERROR_ARGUMENT,
                 "acu_gpu_synchronize: earlier work failed: Validation Error");
    assert_int_equal(acu_gpu_synchronize(gpu), 0);
    if (buffer)
        wgpuBufferRelease(buffer);
    machine_close(gpu);
}

/* Whole words are written without the lock; an error is that write's all the same. */
static void an_error_of_a_write(void **state) {
    (void)state;
    acu_gpu *gpu = machine_open();
    acu_gpu_block *block = NULL, *other = NULL;
    const unsigned char bytes[8] = {0};
    assert_int_equal(acu_gpu_block_create(gpu, sizeof bytes, &block), 0);
    assert_int_equal(acu_gpu_block_create(gpu, sizeof bytes, &other), 0);
    wgpuBufferDestroy(block->buffer);
    for (size_t size = 4; size <= 6; size += 2) /* without the lock, and with it */
        EXPECT_ERROR(acu_gpu_block_write(block, 0, bytes, size), ACU_ERROR_ARGUMENT,
                     "acu_gpu_block_write: Validation Error");
    machine_contains(acu_last_error_message(), "; block of 8 bytes");
    assert_int_equal(acu_gpu_block_write(other, 0, bytes, 4), 0);
    assert_int_equal(acu_gpu_synchronize(gpu), 0);
    acu_gpu_block_release(block);
    acu_gpu_block_release(other);
    machine_close(gpu);
}

static void expect_lost(acu_result result) {
    EXPECT_ERROR(result, ACU_GPU_LOST, "the device is lost: it was destroyed: acu_gpu_lose()");
    assert_int_equal(acu_last_error_details().kind, ACU_ERROR_KIND_DEVICE);
    machine_contains(acu_last_error_details().hint, "open the device again");
}

static void a_lost_device_fails_everything(void **state) {
    (void)state;
    acu_gpu *gpu = machine_open();
    acu_gpu_block *block = NULL, *more = NULL;
    acu_gpu_transfer *transfer = NULL, *late = NULL;
    const acu_gpu_pipeline *pipeline = NULL;
    unsigned char bytes[64] = {0};
    assert_int_equal(acu_gpu_block_create(gpu, sizeof bytes, &block), 0);
    assert_int_equal(acu_gpu_block_write(block, 1, bytes, 3), 0);
    assert_int_equal(acu_gpu_transfer_begin(block, 0, sizeof bytes, &transfer), 0);
    acu_gpu_lose(gpu);
    expect_lost(acu_gpu_block_create(gpu, 4, &more));
    expect_lost(acu_gpu_block_write(block, 0, bytes, 64));
    expect_lost(acu_gpu_block_fill(block, 0, 64, bytes, 1));
    expect_lost(acu_gpu_block_copy(block, 0, block, 8, 8));
    expect_lost(acu_gpu_block_read(block, 0, bytes, 64));
    expect_lost(acu_gpu_transfer_begin(block, 0, 64, &late));
    expect_lost(
        acu_gpu_pipeline_get(gpu, "@compute @workgroup_size(1) fn main() {}", NULL, &pipeline));
    expect_lost(acu_gpu_synchronize(gpu));
    /* The transfer was queued before: it may have its bytes. It ends in either case. */
    const acu_result result = acu_gpu_transfer_end(transfer, bytes);
    assert_true(result == 0 || result == ACU_GPU_LOST);
    acu_gpu_block_release(block);
    machine_close(gpu);
    gpu = machine_open(); /* another one works */
    assert_int_equal(acu_gpu_synchronize(gpu), 0);
    machine_close(gpu);
}

/* wgpu-native says that a device is lost in the words of an error of validation. */
static void a_device_that_was_destroyed_by_others(void **state) {
    (void)state;
    acu_gpu *gpu = machine_open();
    acu_gpu_block *block = NULL;
    wgpuDeviceDestroy(gpu->device);
    const acu_result result = acu_gpu_block_create(gpu, 16, &block);
    EXPECT_ERROR(result, ACU_GPU_LOST, "the device is lost: ");
    assert_int_equal(acu_gpu_synchronize(gpu), ACU_GPU_LOST);
    machine_close(gpu);
}

static void a_write_to_a_device_that_was_destroyed_by_others(void **state) {
    (void)state;
    acu_gpu *gpu = machine_open();
    acu_gpu_block *block = NULL;
    assert_int_equal(acu_gpu_block_create(gpu, 16, &block), 0);
    wgpuDeviceDestroy(gpu->device);
    for (int i = 0; i < 2; i++)
        EXPECT_ERROR(acu_gpu_block_write(block, 0, "abcd", 4), ACU_GPU_LOST,
                     "the device is lost: ");
    acu_gpu_block_release(block);
    machine_close(gpu);
}

/* Memory that is not there is reported by a callback; no driver here runs out of it in time. */
static void out_of_memory_is_cudas_2(void **state) {
    (void)state;
    acu_gpu *gpu = machine_open();
    const WGPUStringView why = {.data = "Not enough memory left", .length = WGPU_STRLEN};
    acu_gpu_on_error(NULL, WGPUErrorType_OutOfMemory, why, gpu, NULL);
    EXPECT_ERROR(acu_gpu_synchronize(gpu), ACU_OUT_OF_MEMORY,
                 "earlier work failed: Not enough memory left");
    assert_int_equal(acu_last_error_details().kind, ACU_ERROR_KIND_MEMORY);
    machine_close(gpu);
}

static void every_reason_has_words(void **state) {
    (void)state;
    for (int reason = 0; reason < 7; reason++) {
        acu_gpu *gpu = machine_open();
        const WGPUStringView why = {.data = "two\nlines", .length = 9};
        acu_gpu_on_lost(NULL, (WGPUDeviceLostReason)reason, why, gpu, NULL);
        EXPECT_ERROR(acu_gpu_synchronize(gpu), ACU_GPU_LOST, ": two | lines");
        acu_gpu_close(gpu);
    }
}

/* ---- calls that are made to fail ---- */

/* Does a little of everything. */
static acu_result do_everything(void) {
    static const char text[] = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;\n"
                               "@compute @workgroup_size(1) fn main() { b[0] = b[0] + 1u; }\n";
    acu_gpu_adapters adapters;
    acu_gpu *gpu = NULL;
    acu_gpu_block *block = NULL;
    const acu_gpu_pipeline *pipeline = NULL;
    unsigned char bytes[40] = {0};
    acu_result result = acu_gpu_adapters_find(&adapters);
    if (result)
        return result;
    if (!adapters.count) {
        acu_gpu_adapters_drop(&adapters);
        return ACU_ERROR_STATE;
    }
    result = acu_gpu_open(&adapters, 0, &gpu);
    if (!result)
        result = acu_gpu_block_create(gpu, sizeof bytes, &block);
    if (!result)
        result = acu_gpu_block_write(block, 3, bytes, 5);
    if (!result)
        result = acu_gpu_block_copy(block, 3, block, 8, 9);
    if (!result)
        result = acu_gpu_pipeline_get(gpu, text, NULL, &pipeline);
    if (!result)
        result = acu_gpu_launch(gpu, pipeline, &block, 1, NULL, 0, (acu_gpu_groups){1, 1, 1});
    if (!result)
        result = acu_gpu_synchronize(gpu);
    if (!result)
        result = acu_gpu_block_read(block, 1, bytes, 20);
    acu_gpu_block_release(block);
    acu_gpu_close(gpu);
    acu_gpu_adapters_drop(&adapters);
    return result;
}

/* Each call that returns an object returns none, once; whatever happens then, nothing crashes,
 * hangs or stays behind, and the error names a function of ours. */
static void calls_that_return_nothing(void **state) {
    (void)state;
    static const char *const functions[] = {
        "wgpuCreateInstance",
        "wgpuAdapterGetInfo",
        "wgpuAdapterGetLimits",
        "wgpuAdapterRequestDevice",
        "wgpuDeviceGetLimits",
        "wgpuDeviceGetQueue",
        "wgpuDeviceCreateBuffer",
        "wgpuDeviceCreateShaderModule",
        "wgpuDeviceCreateComputePipeline",
        "wgpuComputePipelineGetBindGroupLayout",
        "wgpuDeviceCreateBindGroup",
        "wgpuDeviceCreateCommandEncoder",
        "wgpuCommandEncoderBeginComputePass",
        "wgpuCommandEncoderFinish",
        "wgpuBufferGetConstMappedRange",
    };
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (int call = 1; call <= 8; call++) {
            char rule[96];
            snprintf(rule, sizeof rule, "%s@%d:2", functions[f], call);
            assert_int_equal(acu_inject_errors(rule), 0);
            acu_clear_error();
            const acu_result result = do_everything();
            assert_int_equal(acu_inject_errors(NULL), 0);
            if (result && !strstr(acu_last_error_message(), "acu_gpu_"))
                fail_msg("%s: %d, %s", rule, result, acu_last_error_message());
            /* An adapter that does not answer is left out: another one may do. */
            if (!result && call == 1 && !strstr(functions[f], "Adapter"))
                fail_msg("%s: nothing failed", rule);
            assert_int_equal(machine_objects(), 0);
        }
}

int main(void) {
    machine_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_are_described),
        cmocka_unit_test(a_device_has_its_adapters_limits),
        cmocka_unit_test(a_poll_answers_0_or_1),
        cmocka_unit_test(a_late_error),
        cmocka_unit_test(an_error_of_a_write),
        cmocka_unit_test(a_lost_device_fails_everything),
        cmocka_unit_test(a_device_that_was_destroyed_by_others),
        cmocka_unit_test(a_write_to_a_device_that_was_destroyed_by_others),
        cmocka_unit_test(out_of_memory_is_cudas_2),
        cmocka_unit_test(every_reason_has_words),
        cmocka_unit_test(calls_that_return_nothing),
    };
    const int failed = cmocka_run_group_tests_name("webgpu_error", tests, NULL, NULL);
    acu_gpu_adapters_drop(&machine);
    return failed;
}
