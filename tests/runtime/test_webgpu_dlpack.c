/* DLPack: blocks of WebGPU, whose tensors have a WGPUBuffer and an offset. */
#include "../dlpack_abi.h"
#include "../webgpu/machine.h"

#include <anycuda/runtime.h>

static acu_client *client;
static const int32_t numbers[] = {1, 2, 3, 4, 5, 6};

static void ok(acu_result code, int line) {
    if (code)
        fail_msg("line %d: %s", line, acu_last_error_message());
}
#define OK(call) ok((call), __LINE__)

static int begin(void **state) {
    (void)state;
    OK(acu_client_create(acu_place_webgpu(0), NULL, &client));
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(acu_client_release(client));
    return 0;
}

static acu_block *made(void) {
    acu_block *block = NULL;
    OK(acu_block_create(client, sizeof numbers, &block));
    OK(acu_block_write(client, block, 0, numbers, sizeof numbers));
    return block;
}

static DLManagedTensorVersioned *exported(acu_block *block, const acu_tensor_layout *layout) {
    DLManagedTensorVersioned *t = NULL;
    OK(acu_block_export_dlpack(block, ACU_I32, layout, 0, &t));
    return t;
}

static void a_tensor_has_buffer_and_offset(void **state) {
    (void)state;
    acu_raw raw;
    acu_block *block = made();
    OK(acu_block_get_raw(block, &raw));
    DLManagedTensorVersioned *t =
        exported(block, &(acu_tensor_layout){.rank = 1, .shape = {3}, .at = 2});
    assert_true(t->dl_tensor.device.device_type == kDLWebGPU && t->dl_tensor.device.device_id == 0);
    assert_ptr_equal(t->dl_tensor.data, raw.handle);
    assert_true(t->dl_tensor.byte_offset == 8 && t->dl_tensor.shape[0] == 3);
    t->deleter(t);
    OK(acu_block_release(block));
}

static void blocks_make_the_round(void **state) {
    (void)state;
    acu_dlpack_info info;
    int32_t found[3];
    acu_block *block = made(), *again = NULL;
    DLManagedTensorVersioned *t = exported(
        block,
        &(acu_tensor_layout){.rank = 1, .strided = true, .shape = {3}, .strides = {-1}, .at = 4});
    OK(acu_block_release(block));
    OK(acu_block_import_dlpack(client, t, &info, &again));
    assert_true(info.device == ACU_DLPACK_WEBGPU && info.dtype == ACU_I32 && info.layout.at == 4 &&
                info.layout.strides[0] == -1);
    assert_int_equal(acu_block_size(again), 20);
    OK(acu_block_read(client, again, 8, found, sizeof found));
    assert_memory_equal(found, numbers + 2, sizeof found);
    OK(acu_block_release(again));
}

static void refuse(DLManagedTensorVersioned *t, acu_dlpack_info *info, acu_result code,
                   const char *words) {
    acu_block *block = NULL;
    assert_int_equal(acu_block_import_dlpack(client, t, info, &block), code);
    machine_contains(acu_last_error_message(), words);
    assert_null(block);
}

static void what_cannot_be_imported(void **state) {
    (void)state;
    acu_dlpack_info info;
    acu_block *block = made();
    const acu_tensor_layout inside = {.rank = 1, .shape = {2}, .at = 1};
    refuse(exported(block, &inside), NULL, ACU_ERROR_ARGUMENT, "inside of its WGPUBuffer");
    DLManagedTensorVersioned *t = exported(block, &inside);
    t->dl_tensor.byte_offset = 6;
    refuse(t, &info, ACU_ERROR_DTYPE, "byte_offset of 6");
    t = exported(block, &inside);
    t->dl_tensor.byte_offset = UINT64_MAX - 3;
    refuse(t, &info, ACU_ERROR_OVERFLOW, "nothing can be addressed");
    t = exported(block, NULL);
    t->dl_tensor.strides[0] = -1;
    refuse(t, &info, ACU_ERROR_OVERFLOW, "nothing can be addressed");
    t = exported(block, NULL);
    t->dl_tensor.shape[0] = 1000;
    refuse(t, &info, ACU_ERROR_RANGE, "bytes");
    t = exported(block, NULL);
    t->dl_tensor.data = NULL;
    refuse(t, &info, ACU_ERROR_ARGUMENT, "data is NULL");
    t = exported(block, NULL);
    t->dl_tensor.device.device_id = 1;
    refuse(t, &info, ACU_ERROR_DEVICE, "device 1");
    t = exported(block, NULL);
    t->dl_tensor.device.device_type = kDLCPU;
    refuse(t, &info, ACU_ERROR_MEMORY_KIND, "the CPU");
    OK(acu_block_release(block));
}

int main(void) {
    machine_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tensor_has_buffer_and_offset, begin, end),
        cmocka_unit_test_setup_teardown(blocks_make_the_round, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_imported, begin, end),
    };
    return cmocka_run_group_tests_name("webgpu_dlpack", tests, NULL, NULL);
}
