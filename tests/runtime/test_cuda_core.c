/*
 * The public interface over CUDA's back end: what a program sees of it, errors and leaks included.
 */
#include "../safe/safe.h"

#include <anycuda/runtime.h>

static acu_client *client_on(int device) {
    acu_client *client = NULL;
    OK(acu_client_create(acu_place_cuda(device), NULL, &client));
    return client;
}

static acu_block *block_of(acu_client *client, uint64_t bytes) {
    acu_block *block = NULL;
    OK(acu_block_create(client, bytes, &block));
    return block;
}

static void the_place_is_cuda(void **state) {
    (void)state;
    int runtime = -1, count = 0;
    acu_place_info info;
    OK(acu_runtime_find("cuda", &runtime));
    assert_int_equal(runtime, ACU_RUNTIME_CUDA);
    OK(acu_place_get_info(acu_place_cuda(0), &info));
    assert_true(info.can & ACU_CAN_CAPTURE);
    OK(acu_runtime_get_device_count(runtime, &count));
    assert_true(acu_place_is(acu_runtime_best(), acu_place_cuda(0)));
}

static void blocks_are_copied(void **state) {
    (void)state;
    float numbers[4] = {1, 2, 3, 4}, back[4] = {0};
    acu_client *client = client_on(0), *other = client_on(0);
    acu_block *a = block_of(client, 16), *b = block_of(other, 16);
    OK(acu_block_write(client, a, 0, numbers, 16));
    OK(acu_block_copy(other, b, 0, a, 0, 16));
    OK(acu_block_read(client, b, 0, back, 16));
    assert_memory_equal(numbers, back, 16);
    OK(acu_block_release(a));
    OK(acu_block_release(b));
    OK(acu_client_release(client));
    OK(acu_client_release(other));
}

/* The text names the call, the block, and what CUDA said, each once. */
static void errors_have_words_of_cuda(void **state) {
    (void)state;
    enum { MIB = 1 << 20 };
    acu_client *client = client_on(0);
    acu_block *half = block_of(client, (uint64_t)600 * MIB), *block = NULL;
    acu_client *none;
    FAILS(acu_block_create(client, (uint64_t)MIB * MIB, &block), ACU_ERROR_LIMIT, "cuda:0");
    FAILS(acu_block_create(client, (uint64_t)600 * MIB, &block), ACU_OUT_OF_MEMORY, "room");
    const char *text = acu_last_error_message();
    assert_ptr_equal(strstr(text, "acu_block_create"), text);
    assert_non_null(strstr(text, "cudaMallocAsync"));
    assert_null(strstr(strstr(text, "libcudart") + 1, "libcudart"));
    OK(acu_block_release(half));
    FAILS(acu_client_get_default(acu_place_cuda(99), &none), 101, "99");
    OK(acu_client_release(client));
}

static void without_a_driver(void **state) {
    (void)state;
    int count = 1;
    acu_sim_reset("driver=none");
    FAILS(acu_runtime_get_device_count(ACU_RUNTIME_CUDA, &count), 35, "driver");
    assert_int_equal(count, 0);
    assert_true(acu_place_is(acu_runtime_best(), acu_place_cpu()));
    acu_sim_reset(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_place_is_cuda),
        TEST(blocks_are_copied),
        TEST(errors_have_words_of_cuda),
        TEST(without_a_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
