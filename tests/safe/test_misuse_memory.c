/* Misuse of physical and virtual memory, and of transfers: handles that are none, NULL, devices
 * that are not there. */
#include "misuse.h"

static acu_physical *physical;
static acu_virtual *range;
static acu_buffer *growing;
static size_t step;

static int begin_memory(void **state) {
    int code = begin_misuse(state);
    OK(acu_physical_get_granularity(0, NULL, &step, NULL));
    OK(acu_physical_create(0, step, NULL, &physical));
    OK(acu_virtual_reserve(0, 2 * step, NULL, &range));
    OK(acu_buffer_create_growable(good.stream, ACU_U8, 1, 8, &growing));
    return code;
}

static int end_memory(void **state) {
    OK(acu_buffer_release(growing));
    OK(acu_virtual_release(range));
    OK(acu_physical_release(physical));
    return end_misuse(state);
}

#define MEMORY_TEST(function) SAFE_TEST(function, begin_memory, end_memory)

static void physical_memory(void **state) {
    (void)state;
    acu_physical *made = NULL;
    acu_physical_info info;
    int descriptor;
    size_t least;
    const unsigned long long raw = acu_physical_raw(physical);
    NO_DEVICE(acu_physical_create(absent, step, NULL, &made));
    NO_DEVICE(acu_physical_get_granularity(absent, NULL, &least, NULL));
    NOT_NULL(acu_physical_create(0, step, NULL, NULL));
    REFUSED(acu_physical_wrap(0, step, &made), ACU_ERROR_ARGUMENT, "'raw' is 0");
    REFUSED(acu_physical_adopt(0, step, &made), ACU_ERROR_ARGUMENT, "'raw' is 0");
    NOT_NULL(acu_physical_wrap(raw, step, NULL));
    NOT_NULL(acu_physical_adopt(raw, step, NULL));
    NOT_NULL(acu_physical_find(NULL, step, &made));
    NOT_NULL(acu_physical_find(&made, step, NULL));
    HANDLE(acu_physical_export(bad, &descriptor));
    NOT_NULL(acu_physical_export(physical, NULL));
    REFUSED(acu_physical_export(physical, &descriptor), ACU_ERROR_STATE, "was made without");
    NOT_NULL(acu_physical_import(0, step, NULL));
    REFUSED(acu_physical_import(-1, step, &made), ACU_ERROR_ARGUMENT, "no descriptor");
    HANDLE(acu_physical_get_info(bad, &info));
    NOT_NULL(acu_physical_get_info(physical, NULL));
    assert_null(made);
    SAYS(0, acu_physical_raw(bad));
    SAYS(0, acu_physical_bytes(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_physical_device(bad));
    OWNERS(physical);
}

static void ranges_are_made(void **state) {
    (void)state;
    acu_virtual *made = NULL;
    void *raw = acu_virtual_raw(range);
    NO_DEVICE(acu_virtual_reserve(absent, step, NULL, &made));
    NO_DEVICE(acu_virtual_wrap(absent, raw, step, &made));
    NO_DEVICE(acu_virtual_adopt(absent, raw, step, &made));
    REFUSED(acu_virtual_reserve(ACU_DEVICE_HOST, step, NULL, &made), 101, "not the host");
    REFUSED(acu_virtual_wrap(ACU_DEVICE_HOST, raw, step, &made), 101, "not the host");
    NOT_NULL(acu_virtual_reserve(0, step, NULL, NULL));
    NOT_NULL(acu_virtual_wrap(0, NULL, step, &made));
    NOT_NULL(acu_virtual_wrap(0, raw, step, NULL));
    NOT_NULL(acu_virtual_adopt(0, NULL, step, &made));
    NOT_NULL(acu_virtual_adopt(0, raw, step, NULL));
    REFUSED(acu_virtual_wrap(0, raw, 0, &made), ACU_ERROR_RANGE, "'bytes' is 0");
    assert_null(made);
    SAYS(NULL, acu_virtual_raw(bad));
    SAYS(0, acu_virtual_bytes(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_virtual_device(bad));
    OWNERS(virtual);
}

static void ranges(void **state) {
    (void)state;
    size_t count = 0;
    acu_access access;
    acu_buffer *made = NULL;
    HANDLE(acu_virtual_map(bad, 0, physical));
    HANDLE(acu_virtual_map(range, 0, bad));
    HANDLE(acu_virtual_unmap(bad, 0, step));
    HANDLE(acu_virtual_set_access(bad, 0, ACU_ACCESS_READ));
    HANDLE(acu_virtual_get_access(bad, 0, &access));
    NO_DEVICE(acu_virtual_set_access(range, absent, ACU_ACCESS_READ));
    NO_DEVICE(acu_virtual_get_access(range, absent, &access));
    NOT_NULL(acu_virtual_get_access(range, 0, NULL));
    HANDLE(acu_virtual_get_mappings(bad, NULL, &count));
    NOT_NULL(acu_virtual_get_mappings(range, NULL, NULL));
    OK(acu_virtual_map(range, 0, physical));
    HANDLE(acu_virtual_create_buffer(bad, 0, good.stream, ACU_U8, 1, &made));
    HANDLE(acu_virtual_create_buffer(range, 0, bad, ACU_U8, 1, &made));
    NOT_NULL(acu_virtual_create_buffer(range, 0, good.stream, ACU_U8, 1, NULL));
    assert_null(made);
}

static void buffers_that_grow(void **state) {
    (void)state;
    acu_buffer *made = NULL;
    HANDLE(acu_buffer_create_growable(bad, ACU_U8, 1, 8, &made));
    NOT_NULL(acu_buffer_create_growable(good.stream, ACU_U8, 1, 8, NULL));
    HANDLE(acu_buffer_create_growable_with(bad, ACU_U8, 1, 8, NULL, &made));
    NOT_NULL(acu_buffer_create_growable_with(good.stream, ACU_U8, 1, 8, NULL, NULL));
    HANDLE(acu_buffer_grow(bad, 8));
    HANDLE(acu_buffer_shrink(bad, 0));
    assert_null(made);
    SAYS(0, acu_buffer_capacity(bad));
    SAYS(NULL, acu_buffer_virtual(bad));
    OK(acu_buffer_grow(growing, 8));
}

static void transfers(void **state) {
    (void)state;
    acu_transfer *made = NULL;
    acu_stream *own = stream_on(0);
    acu_buffer *buffer = numbers_on(own, 8);
    const void *host = NULL;
    float numbers[8] = {0};
    HANDLE(acu_buffer_write_async(bad, 0, ACU_F32, numbers, 1, NULL));
    OPTIONAL_HANDLE(acu_buffer_write_async(buffer, 0, ACU_F32, numbers, 1, bad));
    NOT_NULL(acu_buffer_write_async(buffer, 0, ACU_F32, NULL, 1, NULL));
    HANDLE(acu_buffer_read_async(bad, 0, 1, &made, NULL));
    OPTIONAL_HANDLE(acu_buffer_read_async(buffer, 0, 1, &made, bad));
    NOT_NULL(acu_buffer_read_async(buffer, 0, 1, NULL, NULL));
    assert_null(made);
    OK(acu_buffer_read_async(buffer, 0, 8, &made, NULL));
    HANDLE(acu_transfer_query(bad));
    HANDLE(acu_transfer_synchronize(bad));
    HANDLE(acu_transfer_get_host(bad, &host));
    NOT_NULL(acu_transfer_get_host(made, NULL));
    HANDLE(acu_transfer_read(bad, numbers, 8));
    NOT_NULL(acu_transfer_read_typed(made, 0, ACU_F32, NULL, 8));
    SAYS(0, acu_transfer_count(bad));
    SAYS(0, acu_transfer_bytes(bad));
    SAYS(ACU_ANY, acu_transfer_dtype(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_transfer_device(bad));
    OWNERS(transfer);
    OK(acu_transfer_release(made));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(own));
    OK(acu_device_synchronize(0)); /* frees the pinned memory */
}

static void values(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    const acu_value_operation o = {.action = ACU_VALUE_BARRIER};
    HANDLE(acu_stream_wait_value(bad, good.buffer, 0, 1, ACU_VALUE_EQUAL));
    HANDLE(acu_stream_wait_value(good.stream, bad, 0, 1, ACU_VALUE_EQUAL));
    HANDLE(acu_stream_write_value(bad, good.buffer, 0, 1));
    HANDLE(acu_stream_write_value(good.stream, bad, 0, 1));
    HANDLE(acu_stream_run_values(bad, &o, 1));
    TRIED(RELEASED,
          acu_stream_run_values(
              good.stream, &(acu_value_operation){.action = ACU_VALUE_WAIT, .buffer = bad}, 1));
    NOT_NULL(acu_stream_run_values(good.stream, NULL, 1));
    HANDLE(acu_graph_add_values(bad, NULL, 0, 0, &o, 1, NULL));
    OK(acu_graph_create(&graph));
    NOT_NULL(acu_graph_add_values(graph, NULL, 0, 0, NULL, 1, NULL));
    NO_DEVICE(acu_graph_add_values(graph, NULL, 0, absent, &o, 1, NULL));
    OK(acu_graph_release(graph));
    HANDLE(acu_exec_set_values(bad, good.node, &o, 1));
    NOT_NULL(acu_exec_set_values(good.exec, good.node, NULL, 1));
    NOT_NULL(acu_node_set_values(good.node, NULL, 1));
    REFUSED(acu_node_set_values((acu_node){NULL, 0}, &o, 1), ACU_ERROR_ARGUMENT, "all zero");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(physical_memory),   MEMORY_TEST(ranges_are_made), MEMORY_TEST(ranges),
        MEMORY_TEST(buffers_that_grow), MEMORY_TEST(transfers),       MEMORY_TEST(values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
