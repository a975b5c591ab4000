/* DLPack: blocks of CUDA, and what buffers of the safe layer are to them. */
#include "../dlpack_abi.h"
#include "../safe/safe.h"

#include <anycuda/runtime.h>

static const float numbers[] = {1, 2, 3, 4, 5, 6};

static acu_client *client_on(int device) {
    acu_client *client = NULL;
    OK(acu_client_create(acu_place_cuda(device), NULL, &client));
    return client;
}

static acu_block *block_on(acu_client *client) {
    acu_block *block = NULL;
    OK(acu_block_create(client, sizeof numbers, &block));
    OK(acu_block_write(client, block, 0, numbers, sizeof numbers));
    return block;
}

static void expect(acu_client *client, acu_block *block, size_t at, size_t count) {
    float found[6] = {0};
    OK(acu_block_read(client, block, at * sizeof *found, found, count * sizeof *found));
    assert_memory_equal(found, numbers + at, count * sizeof *found);
}

static void a_block_is_a_tensor_of_its_device(void **state) {
    (void)state;
    const int device = another_device();
    acu_client *client = client_on(device);
    acu_block *block = block_on(client);
    DLManagedTensorVersioned *t = NULL;
    void *address = NULL;
    OK(acu_block_get_address(block, &address));
    OK(acu_block_export_dlpack(block, ACU_F32, &(acu_tensor_layout){.at = 2}, 0, &t));
    assert_true(t->dl_tensor.device.device_type == kDLCUDA &&
                t->dl_tensor.device.device_id == device);
    assert_ptr_equal(t->dl_tensor.data, (char *)address + 8);
    OK(acu_block_release(block));
    t->deleter(t);
    OK(acu_client_release(client));
}

static void a_block_becomes_a_buffer(void **state) {
    (void)state;
    float found[6];
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    DLManagedTensorVersioned *t = NULL;
    acu_client *client = client_on(0);
    acu_block *block = block_on(client);
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_block_export_dlpack(block, ACU_F32, NULL, 0, &t));
    OK(acu_block_release(block));
    OK(acu_buffer_import_dlpack(stream, t, NULL, &buffer));
    assert_int_equal(acu_buffer_dtype(buffer), ACU_F32);
    OK(acu_buffer_read(buffer, found, 6));
    assert_memory_equal(found, numbers, sizeof numbers);
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
    OK(acu_client_release(client));
}

static DLManagedTensorVersioned *tensor_of(acu_memory memory, int device) {
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    DLManagedTensorVersioned *t = NULL;
    OK(acu_stream_create(device, NULL, &stream));
    OK(acu_buffer_create_with(stream, ACU_F32, 6, &(acu_buffer_options){.memory = memory},
                              &buffer));
    OK(acu_buffer_write(buffer, numbers, 6));
    OK(acu_buffer_export_dlpack(buffer, NULL, NULL, &t));
    OK(acu_stream_synchronize(stream));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
    return t;
}

static void a_buffer_becomes_a_block(void **state) {
    (void)state;
    const acu_memory memories[] = {ACU_MEMORY_DEVICE, ACU_MEMORY_POOL, ACU_MEMORY_MANAGED};
    acu_client *client = client_on(0);
    for (size_t i = 0; i < 3; i++) {
        acu_dlpack_info info;
        acu_block *block = NULL;
        OK(acu_block_import_dlpack(client, tensor_of(memories[i], 0), &info, &block));
        assert_int_equal(info.device, memories[i] == ACU_MEMORY_MANAGED ? ACU_DLPACK_CUDA_MANAGED
                                                                        : ACU_DLPACK_CUDA);
        assert_true(info.dtype == ACU_F32 && acu_block_size(block) == sizeof numbers);
        expect(client, block, 1, 4);
        OK(acu_block_release(block));
    }
    OK(acu_client_release(client));
}

static void pinned_memory_becomes_a_block_of_the_cpu(void **state) {
    (void)state;
    acu_client *cpu = NULL;
    acu_block *block = NULL;
    OK(acu_client_create(acu_place_cpu(), NULL, &cpu));
    OK(acu_block_import_dlpack(cpu, tensor_of(ACU_MEMORY_PINNED, 0), NULL, &block));
    expect(cpu, block, 0, 6);
    OK(acu_block_release(block));
    OK(acu_client_release(cpu));
}

static void other_devices_are_refused(void **state) {
    (void)state;
    acu_block *block = NULL;
    acu_client *client = client_on(0);
    FAILS(acu_block_import_dlpack(client, tensor_of(ACU_MEMORY_PINNED, 0), NULL, &block),
          ACU_ERROR_MEMORY_KIND, "pinned memory of CUDA");
    if (another_device() == 1)
        FAILS(acu_block_import_dlpack(client, tensor_of(ACU_MEMORY_DEVICE, 1), NULL, &block),
              ACU_ERROR_DEVICE, "on device 1, the client is not");
    assert_null(block);
    OK(acu_client_release(client));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_block_is_a_tensor_of_its_device), TEST(a_block_becomes_a_buffer),
        TEST(a_buffer_becomes_a_block),          TEST(pinned_memory_becomes_a_block_of_the_cpu),
        TEST(other_devices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
