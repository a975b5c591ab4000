/* Physical memory: how it is made, what it is, and who keeps it. */
#include "safe.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <fcntl.h>
#include <unistd.h>

static size_t step(void) {
    size_t least = 0;
    OK(acu_physical_get_granularity(0, NULL, &least, NULL));
    return least;
}

static size_t bytes_in_use(void) {
    size_t free_bytes = 0, total = 0;
    assert_int_equal(cudaMemGetInfo(&free_bytes, &total), 0);
    return total - free_bytes;
}

static void life(void **state) {
    (void)state;
    acu_physical *memory = NULL;
    acu_physical_info info;
    const size_t bytes = 2 * step();
    assert_int_equal(cudaFree(NULL), 0);
    const size_t before = bytes_in_use();
    OK(acu_physical_create(0, bytes, NULL, &memory));
    assert_true(acu_physical_raw(memory) != 0);
    assert_int_equal(acu_physical_bytes(memory), bytes);
    assert_int_equal(acu_physical_device(memory), 0);
    OK(acu_physical_get_info(memory, &info));
    assert_true(info.device == 0 && info.node == 0 && info.handles == 0 && !info.rdma);
    if (is_simulated())
        assert_int_equal(bytes_in_use() - before, bytes);
    assert_ptr_equal(acu_physical_retain(memory), memory);
    OK(acu_physical_release(memory));
    OK(acu_physical_release(memory));
    if (is_simulated())
        assert_int_equal(bytes_in_use(), before);
}

static void granularity(void **state) {
    (void)state;
    size_t least = 0, best = 0;
    OK(acu_physical_get_granularity(0, NULL, &least, &best));
    assert_true(least > 0 && best >= least && best % least == 0);
    OK(acu_physical_get_granularity(ACU_DEVICE_CURRENT, &(acu_physical_options){0}, NULL, NULL));
}

static void wrong_sizes(void **state) {
    (void)state;
    acu_physical *memory = NULL;
    FAILS(acu_physical_create(0, 0, NULL, &memory), ACU_ERROR_RANGE, "'bytes' is 0, and must be a");
    FAILS(acu_physical_create(0, step() + 1, NULL, &memory), ACU_ERROR_RANGE, "multiple of");
    ONLY_SIMULATED("a GPU's memory is shared with other programs");
    FAILS(acu_physical_create(0, 64 * step() * 1024, NULL, &memory), ACU_OUT_OF_MEMORY,
          "cuMemCreate");
    assert_null(memory);
}

static void wrong_options(void **state) {
    (void)state;
    acu_physical *memory = NULL;
    FAILS(acu_physical_create(0, step(), &(acu_physical_options){.handles = 2}, &memory),
          ACU_ERROR_ARGUMENT, "options.handles is 2");
    FAILS(acu_physical_create(0, step(), &(acu_physical_options){.node = 1}, &memory),
          ACU_ERROR_ARGUMENT, "only ACU_DEVICE_HOST has NUMA nodes");
    FAILS(acu_physical_get_granularity(0, &(acu_physical_options){.handles = 4}, NULL, NULL),
          ACU_ERROR_ARGUMENT, "options.handles is 4");
}

/* Whether memory is compressed is CUDA's choice, which it reports. */
static void compressible(void **state) {
    (void)state;
    acu_physical *memory = NULL;
    acu_physical_info info;
    CUmemAllocationProp p = {0};
    const acu_physical_options options = {.compressible = true};
    OK(acu_physical_create(0, step(), &options, &memory));
    OK(acu_physical_get_info(memory, &info));
    assert_int_equal(cuMemGetAllocationPropertiesFromHandle(&p, acu_physical_raw(memory)), 0);
    assert_int_equal(info.compressible, p.allocFlags.compressionType != 0);
    if (is_simulated())
        assert_true(info.compressible);
    OK(acu_physical_release(memory));
}

static void wrap_borrows_adopt_takes(void **state) {
    (void)state;
    acu_physical *memory = NULL;
    CUmemGenericAllocationHandle raw = 0;
    const CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    assert_int_equal(cuMemCreate(&raw, step(), &p, 0), 0);
    FAILS(acu_physical_wrap(raw, 0, &memory), ACU_ERROR_RANGE, "memory has a size");
    OK(acu_physical_wrap(raw, step(), &memory));
    OK(acu_physical_release(memory));
    OK(acu_physical_adopt(raw, step(), &memory)); /* the raw handle is still there */
    assert_true(acu_physical_raw(memory) == raw && acu_physical_device(memory) == 0);
    OK(acu_physical_release(memory));
    ONLY_SIMULATED("CUDA crashes where a handle was given up");
    FAILS(acu_physical_wrap(raw, step(), &memory), 1, "cuMemGetAllocationPropertiesFromHandle");
}

static void is_found_by_its_address(void **state) {
    (void)state;
    acu_physical *memory = NULL, *found = NULL;
    acu_virtual *range = NULL;
    OK(acu_physical_create(0, step(), NULL, &memory));
    OK(acu_virtual_reserve(0, step(), NULL, &range));
    OK(acu_virtual_map(range, 0, memory));
    OK(acu_physical_find((char *)acu_virtual_raw(range) + 100, step(), &found));
    FAILS(acu_physical_find((char *)acu_virtual_raw(range) + 100, 0, &(acu_physical *){NULL}),
          ACU_ERROR_RANGE, "memory has a size");
    OK(acu_virtual_release(range));
    OK(acu_physical_release(memory));
    OK(acu_virtual_reserve(0, step(), NULL, &range)); /* the memory is there still */
    OK(acu_virtual_map(range, 0, found));
    FAILS(acu_physical_find(&memory, step(), &memory), 1, "cuMemRetainAllocationHandle");
    assert_non_null(strstr(acu_last_error_details().hint, "no physical memory is mapped"));
    OK(acu_physical_release(found));
    OK(acu_virtual_release(range));
}

static acu_virtual *mapped(acu_physical *memory) {
    acu_virtual *range = NULL;
    OK(acu_virtual_reserve(0, step(), NULL, &range));
    OK(acu_virtual_map(range, 0, memory));
    return range;
}

/* A process may import what it exported itself, so that one process shows what two do. */
static void goes_through_a_descriptor(void **state) {
    (void)state;
    acu_physical *memory = NULL, *same = NULL;
    acu_physical_info info;
    int descriptor = -1;
    char byte = 0;
    OK(acu_physical_create(0, step(), &(acu_physical_options){.handles = ACU_SHARE_FILE_DESCRIPTOR},
                           &memory));
    OK(acu_physical_get_info(memory, &info));
    assert_int_equal(info.handles, ACU_SHARE_FILE_DESCRIPTOR);
    OK(acu_physical_export(memory, &descriptor));
    OK(acu_physical_import(descriptor, step(), &same));
    int again = 0;
    FAILS(acu_physical_export(same, &again), ACU_ERROR_STATE, "or was imported");
    FAILS(acu_physical_import(descriptor, 0, &(acu_physical *){NULL}), ACU_ERROR_RANGE,
          "memory has a size");
    FAILS(acu_physical_import(descriptor, step() + 1, &(acu_physical *){NULL}), ACU_ERROR_RANGE,
          "but such memory has a multiple of");
    FAILS(acu_physical_wrap(acu_physical_raw(memory), 1, &(acu_physical *){NULL}), ACU_ERROR_RANGE,
          "its granularity");
    assert_int_equal(close(descriptor), 0);
    acu_virtual *first = mapped(memory);
    OK(acu_physical_release(memory));
    assert_int_equal(cudaMemset(acu_virtual_raw(first), 7, 100), 0);
    assert_int_equal(cudaDeviceSynchronize(), 0);
    OK(acu_virtual_release(first)); /* the memory lives on */
    acu_virtual *second = mapped(same);
    OK(acu_physical_release(same));
    assert_int_equal(
        cudaMemcpy(&byte, (char *)acu_virtual_raw(second) + 99, 1, cudaMemcpyDeviceToHost), 0);
    assert_int_equal(byte, 7);
    OK(acu_virtual_release(second));
}

/* The hint says what such handles need. */
#define ASKS_FOR_A_CHANNEL(call)                                                                   \
    do {                                                                                           \
        FAILS(call, 800, "there is no channel");                                                   \
        assert_non_null(strstr(acu_last_error_details().hint, "an IMEX channel"));                 \
    } while (0)

static void fabric_handles(void **state) {
    (void)state;
    ONLY_SIMULATED("a GPU may have a fabric");
    acu_physical *memory = NULL;
    acu_pool *pool = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    ASKS_FOR_A_CHANNEL(acu_physical_create(
        0, step(), &(acu_physical_options){.handles = ACU_SHARE_FABRIC}, &memory));
    ASKS_FOR_A_CHANNEL(acu_buffer_create_growable_with(
        stream, ACU_U8, 1, 1, &(acu_growable_options){.physical.handles = ACU_SHARE_FABRIC},
        &buffer));
    ASKS_FOR_A_CHANNEL(acu_pool_create(0, &(acu_pool_options){.handles = ACU_SHARE_FABRIC}, &pool));
    OK(acu_stream_release(stream));
}

static void no_descriptor_of_memory(void **state) {
    (void)state;
    acu_physical *memory = NULL;
    int descriptor = open("/dev/null", O_RDONLY);
    assert_true(descriptor >= 0);
    acu_clear_error();
    assert_true(acu_physical_import(descriptor, step(), &memory) > 0);
    assert_non_null(strstr(acu_last_error_message(), "cuMemImportFromShareableHandle"));
    assert_null(memory);
    close(descriptor);
    OK(acu_physical_create(0, step(), NULL, &memory));
    FAILS(acu_physical_export(memory, &descriptor), ACU_ERROR_STATE,
          "without ACU_SHARE_FILE_DESCRIPTOR");
    assert_int_equal(descriptor, -1);
    OK(acu_physical_release(memory));
}

static void of_the_host(void **state) {
    (void)state;
    acu_physical *memory = NULL;
    acu_physical_info info;
    size_t least = 0;
    acu_result can = acu_physical_get_granularity(ACU_DEVICE_HOST, NULL, &least, NULL);
    if (can) {
        print_message("no physical memory of the host: %s\n", acu_last_error_message());
        skip();
    }
    OK(acu_physical_create(ACU_DEVICE_HOST, least, NULL, &memory));
    OK(acu_physical_get_info(memory, &info));
    assert_true(info.device == ACU_DEVICE_HOST && info.node == 0);
    assert_int_equal(acu_physical_device(memory), ACU_DEVICE_HOST);
    OK(acu_physical_release(memory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(life),
        TEST(granularity),
        TEST(wrong_sizes),
        TEST(wrong_options),
        TEST(compressible),
        TEST(wrap_borrows_adopt_takes),
        TEST(is_found_by_its_address),
        TEST(goes_through_a_descriptor),
        TEST(fabric_handles),
        TEST(no_descriptor_of_memory),
        TEST(of_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
