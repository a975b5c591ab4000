/* Virtual memory: ranges of addresses, what is mapped to them, and buffers that lie there. */
#include "kernels.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <unistd.h>

static acu_stream *stream;
static size_t step;

static int begin_range(void **state) {
    int code = begin_kernels(state);
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_physical_get_granularity(0, NULL, &step, NULL));
    return code;
}

static int end_range(void **state) {
    OK(acu_stream_release(stream));
    return nothing_left(state);
}

#define RANGE_TEST(function) SAFE_TEST(function, begin_range, end_range)

static acu_virtual *range_of(size_t pieces) {
    acu_virtual *range = NULL;
    OK(acu_virtual_reserve(0, pieces * step, NULL, &range));
    return range;
}

/* The range alone keeps the memory. */
static void map(acu_virtual *range, size_t at, size_t pieces) {
    acu_physical *memory = NULL;
    OK(acu_physical_create(0, pieces * step, NULL, &memory));
    OK(acu_virtual_map(range, at * step, memory));
    OK(acu_physical_release(memory));
}

static void life(void **state) {
    (void)state;
    acu_virtual *range = NULL;
    OK(acu_virtual_reserve(another_device(), step + 1, NULL, &range));
    assert_int_equal(acu_virtual_bytes(range), 2 * step); /* rounded up */
    assert_int_equal(acu_virtual_device(range), another_device());
    assert_non_null(acu_virtual_raw(range));
    assert_ptr_equal(acu_virtual_retain(range), range);
    OK(acu_virtual_release(range));
    OK(acu_virtual_release(range));
}

static void what_cannot_be_reserved(void **state) {
    (void)state;
    acu_virtual *range = NULL;
    FAILS(acu_virtual_reserve(0, 0, NULL, &range), ACU_ERROR_RANGE, "'bytes' is 0");
    FAILS(acu_virtual_reserve(0, SIZE_MAX, NULL, &range), ACU_ERROR_OVERFLOW, "addressed");
    FAILS(acu_virtual_reserve(0, step, &(acu_virtual_options){.alignment = 3}, &range),
          ACU_ERROR_ARGUMENT, "options.alignment is 3");
    FAILS(acu_virtual_reserve(0, (size_t)1 << 60, NULL, &range), ACU_OUT_OF_MEMORY,
          "cuMemAddressReserve");
    assert_null(range);
    OK(acu_virtual_reserve(0, step, &(acu_virtual_options){.alignment = 4 * step}, &range));
    assert_int_equal((uintptr_t)acu_virtual_raw(range) % (4 * step), 0);
    OK(acu_virtual_release(range));
}

static void what_cannot_be_mapped(void **state) {
    (void)state;
    acu_virtual *range = range_of(4);
    acu_physical *memory = NULL;
    OK(acu_physical_create(0, 2 * step, NULL, &memory));
    FAILS(acu_virtual_map(range, 3 * step, memory), ACU_ERROR_RANGE, "outside of the range");
    FAILS(acu_virtual_map(range, SIZE_MAX, memory), ACU_ERROR_RANGE, "outside of the range");
    FAILS(acu_virtual_map(range, 1, memory), ACU_ERROR_RANGE, "must be a multiple of");
    OK(acu_virtual_map(range, step, memory));
    for (size_t at = 0; at < 3; at++)
        FAILS(acu_virtual_map(range, at * step, memory), ACU_ERROR_STATE, "is mapped already");
    OK(acu_physical_release(memory));
    FAILS(acu_virtual_unmap(range, 0, 2 * step), ACU_ERROR_RANGE, "would be cut");
    FAILS(acu_virtual_unmap(range, 2 * step, step), ACU_ERROR_RANGE, "would be cut");
    FAILS(acu_virtual_unmap(range, 0, step), ACU_ERROR_RANGE, "nothing is mapped there");
    FAILS(acu_virtual_unmap(range, 0, 0), ACU_ERROR_RANGE, "nothing is mapped there");
    FAILS(acu_virtual_unmap(range, 0, 5 * step), ACU_ERROR_RANGE, "outside of the range");
    OK(acu_virtual_unmap(range, 0, 4 * step));
    OK(acu_virtual_release(range));
}

/* The order of the pieces is that of their addresses, whatever the order of the calls was. */
static void lists_what_is_mapped(void **state) {
    (void)state;
    acu_virtual *range = range_of(8);
    acu_mapping mappings[3];
    size_t count = 3;
    static const size_t order[] = {5, 0, 3, 1};
    for (size_t i = 0; i < COUNT(order); i++)
        map(range, order[i], 1);
    OK(acu_virtual_get_mappings(range, mappings, &count));
    assert_int_equal(count, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(mappings[i].at, (i == 2 ? 3 : i) * step);
        assert_int_equal(mappings[i].bytes, acu_physical_bytes(mappings[i].physical));
        assert_int_equal(mappings[i].buffers, 0);
    }
    OK(acu_virtual_unmap(range, 0, 2 * step));
    OK(acu_virtual_get_mappings(range, NULL, &count));
    assert_int_equal(count, 2);
    OK(acu_virtual_release(range)); /* unmaps the rest */
}

/* One memory at two addresses is the same memory, and moves without a copy. */
static void memory_is_remapped(void **state) {
    (void)state;
    acu_virtual *range = range_of(3);
    acu_physical *memory = NULL;
    acu_buffer *first = NULL, *second = NULL;
    float numbers[] = {1, 2, 3}, back[3] = {0};
    OK(acu_physical_create(0, step, NULL, &memory));
    OK(acu_virtual_map(range, 0, memory));
    OK(acu_virtual_map(range, 2 * step, memory));
    OK(acu_virtual_create_buffer(range, 0, stream, ACU_F32, 3, &first));
    OK(acu_virtual_create_buffer(range, 2 * step, stream, ACU_F32, 3, &second));
    OK(acu_buffer_write(first, numbers, 3));
    OK(acu_buffer_read(second, back, 3));
    assert_memory_equal(numbers, back, sizeof back);
    OK(acu_buffer_release(first));
    OK(acu_buffer_release(second));
    OK(acu_virtual_unmap(range, 0, 3 * step));
    OK(acu_virtual_map(range, step, memory));
    OK(acu_physical_release(memory));
    OK(acu_virtual_create_buffer(range, step, stream, ACU_F32, 3, &first));
    memset(back, 0, sizeof back);
    OK(acu_buffer_read(first, back, 3));
    assert_memory_equal(numbers, back, sizeof back);
    OK(acu_buffer_release(first));
    OK(acu_virtual_release(range));
}

static void buffers_keep_what_they_lie_on(void **state) {
    (void)state;
    acu_virtual *range = range_of(4);
    acu_buffer *buffer = NULL, *slice = NULL;
    float number = 7, back = 0;
    map(range, 0, 1);
    map(range, 1, 2);
    OK(acu_virtual_create_buffer(range, step / 2, stream, ACU_F32, step / 4, &buffer));
    assert_int_equal(acu_buffer_memory(buffer), ACU_MEMORY_VIRTUAL);
    assert_ptr_equal(acu_buffer_virtual(buffer), range);
    OK(acu_buffer_slice(buffer, step / 4 - 1, 1, &slice));
    OK(acu_buffer_release(buffer));
    FAILS(acu_virtual_unmap(range, 0, step), ACU_ERROR_STATE, "a buffer lies there");
    FAILS(acu_virtual_unmap(range, step, 2 * step), ACU_ERROR_STATE, "a buffer lies there");
    OK(acu_virtual_release(range));
    OK(acu_buffer_fill(slice, &number));
    OK(acu_buffer_read(slice, &back, 1));
    assert_true(back == number);
    range = acu_virtual_retain(acu_buffer_virtual(slice));
    OK(acu_buffer_release(slice));
    OK(acu_virtual_unmap(range, 0, step));
    OK(acu_virtual_release(range));
}

static void where_no_buffer_can_lie(void **state) {
    (void)state;
    acu_virtual *range = range_of(4);
    acu_buffer *buffer = NULL;
    acu_stream *far = NULL;
    map(range, 0, 1);
    map(range, 2, 1);
    FAILS(acu_virtual_create_buffer(range, 0, stream, ACU_U8, step + 1, &buffer), ACU_ERROR_RANGE,
          "not everything is mapped");
    FAILS(acu_virtual_create_buffer(range, step, stream, ACU_U8, 1, &buffer), ACU_ERROR_RANGE,
          "not everything is mapped");
    FAILS(acu_virtual_create_buffer(range, 4 * step, stream, ACU_U8, 1, &buffer), ACU_ERROR_RANGE,
          "outside of the range");
    FAILS(acu_virtual_create_buffer(range, 0, stream, ACU_F64, SIZE_MAX / 4, &buffer),
          ACU_ERROR_RANGE, "outside of the range");
    FAILS(acu_virtual_create_buffer(range, 2, stream, ACU_F32, 1, &buffer), ACU_ERROR_DTYPE,
          "not aligned");
    FAILS(acu_virtual_create_buffer(range, 0, stream, ACU_ANY, 1, &buffer), ACU_ERROR_DTYPE,
          "no type of elements");
    OK(acu_virtual_set_access(range, 0, ACU_ACCESS_READ));
    FAILS(acu_virtual_create_buffer(range, 0, stream, ACU_U8, 1, &buffer), ACU_ERROR_DEVICE,
          "may not read and write");
    OK(acu_virtual_set_access(range, 0, ACU_ACCESS_READ_WRITE));
    if (another_device()) {
        OK(acu_stream_create(1, NULL, &far));
        FAILS(acu_virtual_create_buffer(range, 0, far, ACU_U8, 1, &buffer), ACU_ERROR_DEVICE,
              "the stream is on device 1");
        OK(acu_stream_release(far));
    }
    assert_null(buffer);
    OK(acu_virtual_unmap(range, 0, 3 * step)); /* what failed left no claim */
    OK(acu_virtual_release(range));
}

static void access_holds_for_what_is_mapped_later(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    bool can = false;
    acu_virtual *range = range_of(2);
    acu_stream *far = NULL;
    acu_buffer *buffer = NULL;
    acu_access access = ACU_ACCESS_READ;
    int32_t number = 5, back = 0;
    OK(acu_device_can_access_peer(1, 0, &can));
    map(range, 0, 1);
    OK(acu_virtual_get_access(range, 1, &access));
    assert_int_equal(access, ACU_ACCESS_NONE);
    if (can) {
        OK(acu_virtual_set_access(range, 1, ACU_ACCESS_READ_WRITE));
        OK(acu_virtual_get_access(range, 1, &access));
        assert_int_equal(access, ACU_ACCESS_READ_WRITE);
        map(range, 1, 1);
        OK(acu_stream_create(1, NULL, &far));
        OK(acu_virtual_create_buffer(range, step, far, ACU_I32, 8, &buffer));
        OK(acu_buffer_fill(buffer, &number));
        OK(acu_buffer_read(buffer, &back, 1));
        assert_int_equal(back, number);
        OK(acu_buffer_release(buffer));
        OK(acu_stream_release(far));
    }
    OK(acu_virtual_release(range));
}

/* CUDA gives the host no access to memory of a device. */
static void refused_access_changes_nothing(void **state) {
    (void)state;
    acu_virtual *range = range_of(2);
    acu_access access = ACU_ACCESS_READ;
    map(range, 0, 1);
    map(range, 1, 1);
    FAILS(acu_virtual_set_access(range, 0, (acu_access)2), ACU_ERROR_ARGUMENT,
          "2 is no acu_access");
    acu_clear_error();
    assert_true(acu_virtual_set_access(range, ACU_DEVICE_HOST, ACU_ACCESS_READ_WRITE) != 0);
    assert_non_null(strstr(acu_last_error_message(), "cuMemSetAccess"));
    OK(acu_virtual_get_access(range, ACU_DEVICE_HOST, &access));
    assert_int_equal(access, ACU_ACCESS_NONE);
    OK(acu_virtual_release(range));
}

/* The device and the host use the same bytes. */
static void memory_of_the_host(void **state) {
    (void)state;
    acu_virtual *range = range_of(2);
    acu_physical *memory = NULL;
    acu_buffer *of_device = NULL, *buffer = NULL;
    size_t least = 0;
    float numbers[] = {1, 2, 3}, *host = NULL, back[3] = {0};
    if (acu_physical_get_granularity(ACU_DEVICE_HOST, NULL, &least, NULL)) {
        print_message("no physical memory of the host: %s\n", acu_last_error_message());
        OK(acu_virtual_release(range));
        skip();
    }
    OK(acu_physical_create(ACU_DEVICE_HOST, step, NULL, &memory));
    OK(acu_virtual_map(range, 0, memory));
    OK(acu_physical_release(memory));
    OK(acu_virtual_create_buffer(range, 0, stream, ACU_F32, 3, &buffer));
    FAILS(acu_buffer_get_host(buffer, (void **)&host), ACU_ERROR_MEMORY_KIND, "cannot reach");
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_set_access(range, ACU_DEVICE_HOST, ACU_ACCESS_READ_WRITE));
    OK(acu_virtual_create_buffer(range, 0, stream, ACU_F32, 3, &buffer));
    OK(acu_buffer_create_from(stream, numbers, 3, &of_device));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_copy(buffer, of_device, NULL));
    OK(acu_buffer_get_host(buffer, (void **)&host));
    assert_memory_equal(host, numbers, sizeof numbers);
    host[1] = 7;
    OK(acu_buffer_copy(of_device, buffer, NULL));
    OK(acu_buffer_read(of_device, back, 3));
    assert_true(back[0] == 1 && back[1] == 7 && back[2] == 3);
    OK(acu_buffer_write(buffer, numbers, 3));
    OK(acu_buffer_read(buffer, back, 3));
    assert_memory_equal(back, numbers, sizeof numbers);
    OK(acu_buffer_release(of_device));
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_release(range));
}

static void wrap_and_adopt(void **state) {
    (void)state;
    CUdeviceptr raw = 0;
    acu_virtual *range = NULL;
    assert_int_equal(cuMemAddressReserve(&raw, 2 * step, 0, 0, 0), 0);
    FAILS(acu_virtual_wrap(0, (void *)(uintptr_t)raw, step + 1, &range), ACU_ERROR_RANGE,
          "a reserved range is a multiple");
    OK(acu_virtual_wrap(0, (void *)(uintptr_t)raw, 2 * step, &range));
    map(range, 0, 1);
    OK(acu_virtual_release(range));
    OK(acu_virtual_adopt(0, (void *)(uintptr_t)raw, 2 * step, &range)); /* the range is there */
    map(range, 0, 2);
    OK(acu_virtual_release(range));
}

/* ---- buffers that grow ---- */

static void grows_in_place(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    const size_t most = 64 * step / 4;
    float number = 3, back[2] = {0};
    OK(acu_buffer_create_growable(stream, ACU_F32, 10, most, &buffer));
    void *const address = acu_buffer_raw(buffer);
    assert_true(acu_buffer_count(buffer) == 10 && acu_buffer_capacity(buffer) == most);
    for (size_t count = 10; count < most; count = 3 * count < most ? 3 * count : most) {
        OK(acu_buffer_grow(buffer, count));
        OK(acu_buffer_fill(buffer, &number));
    }
    OK(acu_buffer_grow(buffer, most));
    assert_true(acu_buffer_raw(buffer) == address && acu_buffer_count(buffer) == most);
    number = 4;
    OK(acu_buffer_write_typed(buffer, most - 1, ACU_F32, &number, 1, NULL));
    OK(acu_buffer_read_typed(buffer, most - 1, ACU_F32, back, 1, NULL));
    OK(acu_buffer_read_typed(buffer, 10, ACU_F32, back + 1, 1, NULL));
    assert_true(back[0] == 4 && back[1] == 3);
    OK(acu_buffer_release(buffer));
}

static void begins_with_nothing(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    size_t count = 0;
    OK(acu_buffer_create_growable(stream, ACU_I32, 0, 8, &buffer));
    OK(acu_virtual_get_mappings(acu_buffer_virtual(buffer), NULL, &count));
    assert_int_equal(count, 0);
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_grow(buffer, 0));
    OK(acu_buffer_grow(buffer, 8));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_virtual_get_mappings(acu_buffer_virtual(buffer), NULL, &count));
    assert_int_equal(count, 1);
    OK(acu_buffer_shrink(buffer, 0));
    OK(acu_virtual_get_mappings(acu_buffer_virtual(buffer), NULL, &count));
    assert_int_equal(count, 0);
    OK(acu_buffer_grow(buffer, 1));
    OK(acu_buffer_release(buffer));
}

static void what_cannot_grow(void **state) {
    (void)state;
    acu_buffer *buffer = NULL, *slice = NULL, *plain = NULL;
    FAILS(acu_buffer_create_growable(stream, ACU_F32, 2, 1, &buffer), ACU_ERROR_RANGE,
          "the capacity is 1, but the buffer begins with 2 elements");
    FAILS(acu_buffer_create_growable(stream, ACU_F32, 0, 0, &buffer), ACU_ERROR_RANGE,
          "the capacity is 0");
    FAILS(acu_buffer_create_growable(stream, ACU_F32, 0, SIZE_MAX, &buffer), ACU_ERROR_OVERFLOW,
          "addressed");
    FAILS(acu_buffer_create_growable(stream, ACU_ANY, 0, 1, &buffer), ACU_ERROR_DTYPE, "no type");
    OK(acu_buffer_create_growable(stream, ACU_F32, 2, 4, &buffer));
    FAILS(acu_buffer_grow(buffer, 5), ACU_ERROR_RANGE, "more than its capacity, which is 4");
    FAILS(acu_buffer_grow(buffer, 1), ACU_ERROR_RANGE, "acu_buffer_shrink() makes it smaller");
    FAILS(acu_buffer_shrink(buffer, 3), ACU_ERROR_RANGE, "acu_buffer_grow() makes it larger");
    OK(acu_buffer_slice(buffer, 0, 2, &slice));
    FAILS(acu_buffer_grow(slice, 3), ACU_ERROR_MEMORY_KIND, "a slice or view cannot grow");
    OK(acu_buffer_shrink(buffer, 2)); /* it has as many */
    FAILS(acu_buffer_shrink(buffer, 1), ACU_ERROR_STATE,
          "a slice, a view, a tensor, a texture, a share or a graph keeps");
    OK(acu_buffer_grow(buffer, 4));
    assert_int_equal(acu_buffer_capacity(slice), 2);
    OK(acu_buffer_release(slice));
    OK(acu_buffer_shrink(buffer, 1));
    OK(acu_buffer_create(stream, ACU_F32, 2, &plain));
    FAILS(acu_buffer_grow(plain, 3), ACU_ERROR_MEMORY_KIND, "cannot grow or shrink");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_buffer_create_growable()"));
    FAILS(acu_buffer_shrink(plain, 1), ACU_ERROR_MEMORY_KIND, "cannot grow or shrink");
    assert_int_equal(acu_buffer_capacity(plain), 2);
    assert_null(acu_buffer_virtual(plain));
    OK(acu_buffer_release(plain));
    OK(acu_buffer_release(buffer));
}

static void its_range_is_its_own(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_physical *memory = NULL;
    OK(acu_buffer_create_growable(stream, ACU_U8, step, 4 * step, &buffer));
    acu_virtual *range = acu_buffer_virtual(buffer);
    OK(acu_physical_create(0, step, NULL, &memory));
    FAILS(acu_virtual_map(range, 2 * step, memory), ACU_ERROR_STATE, "acu_buffer_grow()");
    FAILS(acu_virtual_unmap(range, 0, step), ACU_ERROR_STATE, "acu_buffer_create_growable()");
    FAILS(acu_virtual_create_buffer(range, 0, stream, ACU_U8, 1, &(acu_buffer *){NULL}),
          ACU_ERROR_STATE, "acu_buffer_slice()");
    OK(acu_physical_release(memory));
    OK(acu_buffer_release(buffer));
}

/* Memory is given back in the pieces in which it was taken. */
static void shrinks_by_pieces(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    size_t count = 0;
    const char number = 1;
    char back = 0;
    OK(acu_buffer_create_growable(stream, ACU_I8, step, 100 * step, &buffer));
    OK(acu_buffer_grow(buffer, 2 * step));
    OK(acu_buffer_grow(buffer, 90 * step));
    OK(acu_buffer_fill_typed(buffer, ACU_I8, &number, NULL));
    acu_mapping mappings[8];
    count = 8;
    OK(acu_virtual_get_mappings(acu_buffer_virtual(buffer), mappings, &count));
    assert_true(count >= 3 && count <= 8 && mappings[2].bytes <= 256 << 20);
    OK(acu_buffer_shrink(buffer, step + 1));
    count = 8;
    OK(acu_virtual_get_mappings(acu_buffer_virtual(buffer), mappings, &count));
    assert_int_equal(count, 2);
    assert_true(mappings[1].buffers >= 1);
    OK(acu_buffer_read_typed(buffer, step, ACU_I8, &back, 1, NULL));
    assert_int_equal(back, 1);
    OK(acu_buffer_grow(buffer, 100 * step));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_release(buffer));
}

static void no_room_changes_nothing(void **state) {
    (void)state;
    ONLY_SIMULATED("a GPU's memory is shared with other programs");
    acu_buffer *buffer = NULL, *other = NULL;
    size_t count = 0;
    const size_t mib = 1 << 20;
    OK(acu_buffer_create_growable(stream, ACU_U8, 2 * mib, 4096 * mib, &buffer));
    FAILS(acu_buffer_grow(buffer, 2048 * mib), ACU_OUT_OF_MEMORY,
          "there is no room for 2145386496 bytes (2.0 GiB) on device 0");
    assert_int_equal(acu_buffer_count(buffer), 2 * mib);
    OK(acu_virtual_get_mappings(acu_buffer_virtual(buffer), NULL, &count));
    assert_int_equal(count, 1);
    OK(acu_buffer_zero(buffer, NULL));
    /* What a pool keeps is given back for it. */
    acu_pool *pool = NULL;
    OK(acu_pool_get_current(0, &pool));
    OK(acu_pool_set_attribute(pool, ACU_POOL_THRESHOLD, UINT64_MAX));
    OK(acu_buffer_create(stream, ACU_U8, 800 * mib, &other));
    OK(acu_buffer_release(other));
    OK(acu_buffer_grow(buffer, 900 * mib));
    OK(acu_pool_set_attribute(pool, ACU_POOL_THRESHOLD, 0));
    OK(acu_pool_release(pool));
    OK(acu_buffer_release(buffer));
}

static acu_result double_all(acu_stream *on, void *data) {
    acu_buffer *buffer = data;
    acu_kernel *scale = kernel_on(0, "scale");
    const uint32_t n = (uint32_t)acu_buffer_count(buffer);
    acu_result result = acu_launch(on, scale, acu_grid_1d(n, 128), acu_inout(buffer), 2.0f, n);
    OK(acu_kernel_release(scale));
    return result;
}

/* A captured graph keeps the memory, and stays right when the buffer grows. */
static void graphs_outlive_growth(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    float number = 3, back = 0;
    OK(acu_buffer_create_growable(stream, ACU_F32, 1000, 32 * step, &buffer));
    OK(acu_buffer_fill(buffer, &number));
    OK(acu_stream_capture(stream, NULL, double_all, buffer, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    OK(acu_exec_launch(exec, stream));
    OK(acu_buffer_grow(buffer, 4 * step));
    OK(acu_exec_launch(exec, stream));
    OK(acu_buffer_read_typed(buffer, 999, ACU_F32, &back, 1, NULL));
    assert_true(back == 12);
    FAILS(acu_buffer_shrink(buffer, 10), ACU_ERROR_STATE,
          "a slice, a view, a tensor, a texture, a share or a graph keeps");
    OK(acu_exec_release(exec));
    OK(acu_buffer_shrink(buffer, 10));
    OK(acu_buffer_release(buffer));
}

/* What has the address and size of before keeps all of the memory; what names the buffer sees that
 * it has shrunk. */
static void who_keeps_it_from_shrinking(void **state) {
    (void)state;
    static const char why[] = "a slice, a view, a tensor, a texture, a share or a graph keeps";
    acu_buffer *buffer = NULL, *imported = NULL;
    acu_texture *texture = NULL;
    acu_args *args = NULL;
    struct DLManagedTensorVersioned *tensor = NULL;
    OK(acu_buffer_create_growable(stream, ACU_F32, 1000, 32 * step, &buffer));
    OK(acu_buffer_export_dlpack(buffer, NULL, NULL, &tensor));
    FAILS(acu_buffer_shrink(buffer, 10), ACU_ERROR_STATE, why);
    OK(acu_buffer_import_dlpack(stream, tensor, NULL, &imported));
    FAILS(acu_buffer_shrink(buffer, 10), ACU_ERROR_STATE, why);
    OK(acu_buffer_zero(imported, NULL));
    OK(acu_buffer_release(imported));
    OK(acu_texture_create(&(acu_texture_source){.buffer = buffer}, NULL, &texture));
    FAILS(acu_buffer_shrink(buffer, 10), ACU_ERROR_STATE, why);
    OK(acu_texture_release(texture));
    OK(acu_args_create(&args));
    OK(acu_args_add(args, acu_in(buffer)));
    assert_ptr_equal(acu_buffer_retain(buffer), buffer);
    OK(acu_buffer_shrink(buffer, 10));
    assert_int_equal(acu_buffer_count(buffer), 10);
    OK(acu_args_release(args));
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(buffer));
}

/* Shrinking waits for work on every stream, and growing for none. */
static void waits_for_uses(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("work of two streams has to overlap");
    blocker block;
    acu_buffer *buffer = NULL;
    acu_stream *other = NULL;
    OK(acu_stream_create(0, NULL, &other));
    OK(acu_buffer_create_growable(stream, ACU_U8, 4 * step, 8 * step, &buffer));
    block_stream(&block, other);
    OK(acu_buffer_zero(buffer, other));
    OK(acu_buffer_grow(buffer, 8 * step));
    still_waits(other);
    unblock(&block);
    OK(acu_buffer_shrink(buffer, 1));
    OK(acu_stream_query(other));
    unblock_stream(&block);
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(other));
}

/* What was released while work used it is no reason to refuse, once that work is done. */
static void what_was_released_does_not_keep_it(void **state) {
    (void)state;
    blocker block;
    acu_buffer *buffer = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_buffer_create_growable(stream, ACU_F32, 1000, 32 * step, &buffer));
    OK(acu_stream_capture(stream, NULL, double_all, buffer, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    block_stream(&block, stream);
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_release(exec));
    unblock(&block);
    OK(acu_buffer_shrink(buffer, 10));
    unblock_stream(&block);
    OK(acu_buffer_release(buffer));
}

static void release_it(void *buffer) {
    OK(acu_buffer_release(buffer));
}

static void a_slice_that_a_callback_released(void **state) {
    (void)state;
    acu_buffer *buffer = NULL, *slice = NULL;
    OK(acu_buffer_create_growable(stream, ACU_F32, 1000, 2000, &buffer));
    OK(acu_buffer_slice(buffer, 0, 10, &slice));
    OK(acu_stream_call_function(stream, release_it, slice));
    OK(acu_stream_synchronize(stream));
    OK(acu_buffer_shrink(buffer, 10));
    OK(acu_buffer_release(buffer));
}

/* No element is left without memory. */
static void a_piece_that_cannot_be_unmapped(void **state) {
    (void)state;
    ONLY_SIMULATED("errors are injected");
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create_growable(stream, ACU_U8, 0, 8 * step, &buffer));
    for (size_t i = 1; i <= 4; i++)
        OK(acu_buffer_grow(buffer, i * step));
    OK(acu_inject_errors("cuMemUnmap@2:1"));
    FAILS(acu_buffer_shrink(buffer, 1), 1, "cuMemUnmap");
    OK(acu_inject_errors(NULL));
    assert_int_equal(acu_buffer_count(buffer), 3 * step);
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_shrink(buffer, 1));
    OK(acu_buffer_release(buffer));
}

static void too_large_a_capacity(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    FAILS(acu_buffer_create_growable(stream, ACU_U8, 0, (size_t)1 << 60u, &buffer),
          ACU_OUT_OF_MEMORY, "cuMemAddressReserve");
    assert_non_null(strstr(acu_last_error_details().hint, "choose a smaller one"));
    assert_null(buffer);
}

static void is_shrunk_during_no_capture(void **state) {
    (void)state;
    acu_buffer *buffer = NULL, *made = NULL;
    acu_graph *graph = NULL;
    OK(acu_buffer_create_growable(stream, ACU_U8, 2 * step, 4 * step, &buffer));
    OK(acu_buffer_zero(buffer, NULL));
    acu_stream *other = noted(stream_on(0));
    OK(acu_stream_begin_capture(other, NULL));
    OK(acu_buffer_create_growable(other, ACU_U8, 1, step, &made)); /* also for that stream */
    OK(acu_buffer_release(made));
    OK(acu_buffer_grow(buffer, 3 * step));
    FAILS(acu_buffer_shrink(buffer, 1), ACU_ERROR_CAPTURE, "capture");
    assert_int_equal(acu_buffer_count(buffer), 3 * step);
    OK(acu_buffer_release(buffer)); /* is done after the capture */
    OK(acu_stream_end_capture(other, &graph));
    OK(acu_graph_release(graph));
    OK(acu_stream_release(other));
}

/* ---- with options ---- */

static void grows_in_memory_of_the_host(void **state) {
    (void)state;
    size_t unused;
    acu_buffer *buffer = NULL;
    float *host = NULL, *again = NULL;
    const acu_growable_options options = {.on_host = true};
    if (acu_physical_get_granularity(ACU_DEVICE_HOST, NULL, &unused, NULL)) {
        print_message("no physical memory of the host: %s\n", acu_last_error_message());
        skip();
    }
    OK(acu_buffer_create_growable_with(stream, ACU_F32, 8, 4 * step, &options, &buffer));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_get_host(buffer, (void **)&host));
    assert_true(host[7] == 0);
    host[7] = 2.5f;
    OK(acu_buffer_grow(buffer, 2 * step));
    OK(acu_buffer_get_host(buffer, (void **)&again));
    assert_ptr_equal(again, host);
    again[2 * step - 1] = 3.5f;
    OK(acu_buffer_read(buffer, &(float){0}, 1));
    assert_true(again[7] == 2.5f);
    OK(acu_buffer_release(buffer));
}

static void its_pieces_can_be_shared(void **state) {
    (void)state;
    int descriptor = -1;
    size_t count = 2;
    acu_mapping pieces[2];
    acu_physical *same = NULL;
    acu_buffer *buffer = NULL;
    const acu_growable_options options = {.physical.handles = 1, .flags = ACU_BUFFER_UNORDERED};
    OK(acu_buffer_create_growable_with(stream, ACU_U8, step, 4 * step, &options, &buffer));
    OK(acu_buffer_grow(buffer, 2 * step));
    OK(acu_virtual_get_mappings(acu_buffer_virtual(buffer), pieces, &count));
    assert_int_equal(count, 2);
    OK(acu_physical_export(pieces[1].physical, &descriptor));
    OK(acu_physical_import(descriptor, step, &same));
    assert_int_equal(close(descriptor), 0);
    OK(acu_physical_release(same));
    OK(acu_buffer_release(buffer));
}

static void wrong_options_of_a_buffer_that_grows(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    const acu_growable_options flags = {.flags = ACU_BUFFER_PORTABLE},
                               handles = {.physical.handles = 2}, node = {.physical.node = 1};
    FAILS(acu_buffer_create_growable_with(stream, ACU_U8, 1, 8, &flags, &buffer),
          ACU_ERROR_ARGUMENT, "options.flags is 0x4");
    FAILS(acu_buffer_create_growable_with(stream, ACU_U8, 1, 8, &handles, &buffer),
          ACU_ERROR_ARGUMENT, "options.handles is 2");
    FAILS(acu_buffer_create_growable_with(stream, ACU_U8, 1, 8, &node, &buffer), ACU_ERROR_ARGUMENT,
          "only ACU_DEVICE_HOST has NUMA nodes");
    assert_null(buffer);
}

/* ---- on another device ---- */

/* Streams of the device with access launch kernels on the buffer, and fill it; what they do is
 * ordered with the rest. */
static void another_device_uses_what_it_has_access_to(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    bool can = false;
    float back = 0, two = 2;
    acu_buffer *buffer = NULL;
    acu_stream *far = stream_on(1);
    acu_kernel *scale = kernel_on(1, "scale");
    const acu_grid grid = acu_grid_1d(8, 8);
    OK(acu_buffer_create_growable(stream, ACU_F32, 8, step, &buffer));
    FAILS(acu_buffer_fill_typed(buffer, ACU_F32, &two, far), ACU_ERROR_DEVICE, "device 1");
    FAILS(acu_launch(far, scale, grid, acu_inout(buffer), 3.0f, 8), ACU_ERROR_DEVICE,
          "a buffer on device 0");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_virtual_set_access()"));
    OK(acu_device_can_access_peer(1, 0, &can));
    if (can) {
        acu_virtual *range = acu_buffer_virtual(buffer);
        OK(acu_virtual_set_access(range, 1, ACU_ACCESS_READ));
        FAILS(acu_launch(far, scale, grid, acu_inout(buffer), 3.0f, 8), ACU_ERROR_DEVICE,
              "a buffer on device 0");
        FAILS(acu_buffer_zero(buffer, far), ACU_ERROR_DEVICE, "device 1");
        OK(acu_virtual_set_access(range, 1, ACU_ACCESS_READ_WRITE));
        OK(acu_buffer_zero(buffer, NULL));
        OK(acu_buffer_fill_typed(buffer, ACU_F32, &two, far));
        OK(acu_launch(far, scale, grid, acu_inout(buffer), 3.0f, 8));
        OK(acu_buffer_grow(buffer, 16));
        OK(acu_buffer_read(buffer, &back, 1));
        assert_true(back == 6);
    }
    OK(acu_kernel_release(scale));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(far));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RANGE_TEST(life),
        RANGE_TEST(what_cannot_be_reserved),
        RANGE_TEST(what_cannot_be_mapped),
        RANGE_TEST(lists_what_is_mapped),
        RANGE_TEST(memory_is_remapped),
        RANGE_TEST(buffers_keep_what_they_lie_on),
        RANGE_TEST(where_no_buffer_can_lie),
        RANGE_TEST(access_holds_for_what_is_mapped_later),
        RANGE_TEST(refused_access_changes_nothing),
        RANGE_TEST(memory_of_the_host),
        RANGE_TEST(wrap_and_adopt),
        RANGE_TEST(grows_in_place),
        RANGE_TEST(begins_with_nothing),
        RANGE_TEST(what_cannot_grow),
        RANGE_TEST(its_range_is_its_own),
        RANGE_TEST(shrinks_by_pieces),
        RANGE_TEST(no_room_changes_nothing),
        RANGE_TEST(graphs_outlive_growth),
        RANGE_TEST(who_keeps_it_from_shrinking),
        RANGE_TEST(waits_for_uses),
        RANGE_TEST(what_was_released_does_not_keep_it),
        RANGE_TEST(a_slice_that_a_callback_released),
        RANGE_TEST(a_piece_that_cannot_be_unmapped),
        RANGE_TEST(too_large_a_capacity),
        RANGE_TEST(is_shrunk_during_no_capture),
        RANGE_TEST(grows_in_memory_of_the_host),
        RANGE_TEST(its_pieces_can_be_shared),
        RANGE_TEST(wrong_options_of_a_buffer_that_grows),
        RANGE_TEST(another_device_uses_what_it_has_access_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
