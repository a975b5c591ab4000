/* Storage: where memory comes from when the device has no room, and how it is used again. */
#include "safe.h"

#include <anycuda/cudart.h>
#include <anycuda/layers.h>

static acu_stream *stream;

static int start(void **state) {
    begin(state);
    acu_quarantine(100);
    return acu_stream_create(0, NULL, &stream);
}

static int stop(void **state) {
    int code = acu_stream_release(stream);
    acu_quarantine(0);
    return nothing_left(state) || code;
}

/* ---- no room ---- */

static void no_room_is_explained(void **state) {
    (void)state;
    static const acu_memory kinds[] = {ACU_MEMORY_POOL, ACU_MEMORY_DEVICE};
    ONLY_SIMULATED("a device of 1 GiB");
    for (size_t i = 0; i < COUNT(kinds); i++) {
        acu_buffer *buffer = NULL;
        FAILS(acu_buffer_create(stream, ACU_F32, (size_t)1 << 30u, &buffer), ACU_OUT_OF_MEMORY,
              "acu_buffer_create: there is no room for 4294967296 bytes");
        FAILS(acu_buffer_create_with(stream, ACU_F32, (size_t)1 << 30u,
                                     &(acu_buffer_options){.memory = kinds[i]}, &buffer),
              ACU_OUT_OF_MEMORY, "no room for 4294967296 bytes (4.0 GiB) on device 0");
        assert_non_null(strstr(acu_last_error_message(), "of 1073741824 (1.0 GiB) are free"));
        assert_non_null(strstr(acu_last_error_message(), "1073741824 x f32"));
        assert_null(buffer);
    }
}

/* What is free on the device says nothing about the host's memory. */
static void no_room_on_the_host_is_explained(void **state) {
    (void)state;
    static const acu_memory kinds[] = {ACU_MEMORY_PINNED, ACU_MEMORY_MAPPED};
    ONLY_SIMULATED("how much a host pins");
    for (size_t i = 0; i < COUNT(kinds); i++) {
        acu_buffer *buffer = NULL;
        FAILS(acu_buffer_create_with(stream, ACU_F32, (size_t)1 << 45u,
                                     &(acu_buffer_options){.memory = kinds[i]}, &buffer),
              ACU_OUT_OF_MEMORY, "the host has no room for 140737488355328 bytes (128.0 TiB)");
        assert_null(strstr(acu_last_error_message(), "are free"));
    }
}

/* Nothing is said of memory that is free, because none is lacking. */
static void an_injected_lack_of_memory_says_so(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    OK(acu_inject_errors("cudaMallocAsync@1+:2"));
    FAILS(acu_buffer_create(stream, ACU_U8, 100, &buffer), ACU_OUT_OF_MEMORY,
          "cudaMallocAsync: error injected by rule");
    assert_null(strstr(acu_last_error_message(), "no room"));
    assert_non_null(strstr(acu_last_error_details().hint, "ANYCUDA_FAIL"));
    OK(acu_inject_errors(NULL));
}

static void pools_are_trimmed_before_giving_up(void **state) {
    (void)state;
    acu_pool *pool = NULL;
    acu_buffer *first = NULL, *second = NULL;
    size_t most = (size_t)700 << 20u;
    OK(acu_pool_create(0, &(acu_pool_options){.threshold = UINT64_MAX}, &pool));
    OK(acu_buffer_create_with(stream, ACU_U8, most, &(acu_buffer_options){.pool = pool}, &first));
    OK(acu_buffer_release(first)); /* the pool keeps it */
    OK(acu_pool_set_current(pool));
    OK(acu_buffer_create_with(stream, ACU_U8, most,
                              &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE}, &second));
    OK(acu_buffer_release(second));
    OK(acu_pool_release(pool));
}

/* An exec that was released during its launch keeps its memory until the launch is over. */
static void memory_that_waits_for_a_launch_makes_room(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_buffer *kept = NULL, *next = NULL;
    size_t most = (size_t)700 << 20u;
    ONLY_SIMULATED("a device of 1 GiB");
    OK(acu_buffer_create(stream, ACU_U8, most, &kept));
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){work_50_ms, NULL, NULL}, NULL));
    OK(acu_graph_keep(graph, kept, true));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(kept));
    OK(acu_buffer_create(stream, ACU_U8, most, &next));
    OK(acu_buffer_release(next));
}

static void pools_are_not_trimmed_in_a_capture(void **state) {
    (void)state;
    acu_stream *captured = NULL;
    acu_graph *graph = NULL;
    acu_buffer *buffer = NULL;
    ONLY_SIMULATED("a device of 1 GiB");
    OK(acu_stream_create(0, NULL, &captured));
    OK(acu_stream_begin_capture(captured, NULL));
    FAILS(acu_buffer_create(stream, ACU_F32, (size_t)1 << 30u, &buffer), ACU_OUT_OF_MEMORY,
          "are free; the pools could not be trimmed");
    OK(acu_stream_end_capture(captured, &graph));
    OK(acu_graph_release(graph));
    OK(acu_stream_release(captured));
}

static void one_failed_allocation_is_tried_again(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_inject_errors("cudaMallocAsync@1:2");
    OK(acu_buffer_create(stream, ACU_U8, 100, &buffer));
    OK(acu_buffer_release(buffer));
}

/* ---- spare storage ---- */

/* The stream keeps a spare: a failure to allocate or free its memory is reported all the same. */
static void a_failure_with_a_spare_is_reported(void **state) {
    (void)state;
    acu_buffer *buffer = NULL, *another = NULL;
    acu_error released;
    acu_stream *own = NULL;
    ONLY_SIMULATED("calls fail on demand");
    acu_quarantine(0);
    OK(acu_stream_create(0, NULL, &own));
    OK(acu_buffer_create(own, ACU_U8, 100, &buffer));
    OK(acu_buffer_release(buffer));
    acu_inject_errors("cudaMallocAsync@1:2");
    OK(acu_buffer_create(own, ACU_U8, 100, &buffer)); /* at the second try */
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_create(own, ACU_U8, 100, &buffer));
    OK(acu_buffer_release(buffer));
    acu_inject_errors("cudaMallocAsync@1:1");
    FAILS(acu_buffer_create(own, ACU_U8, 100, &buffer), 1, "100 x u8 on device 0");
    assert_null(buffer);
    acu_clear_error();
    OK(acu_buffer_create(own, ACU_U8, 100, &buffer)); /* two are released, one can be the spare */
    OK(acu_buffer_create(own, ACU_U8, 100, &another));
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(another));
    OK(acu_buffer_create(own, ACU_U8, 100, &buffer));
    acu_inject_errors("cudaFreeAsync@1:1");
    assert_int_equal(acu_buffer_release(buffer), 1); /* the memory was freed in another way */
    assert_int_equal(acu_last_error(), 0);
    acu_inject_errors(NULL);
    assert_int_equal(acu_release_error(&released), 1);
    assert_non_null(strstr(released.message, "cudaFreeAsync"));
    OK(acu_stream_release(own));
    acu_quarantine(100);
}

static void create_and_release(acu_stream *on, acu_dtype dtype, size_t count) {
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create(on, dtype, count, &buffer));
    assert_int_equal(acu_buffer_dtype(buffer), dtype);
    assert_int_equal(acu_buffer_count(buffer), count);
    assert_ptr_equal(acu_buffer_stream(buffer), on);
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_release(buffer));
    FAILS(acu_buffer_release(buffer), ACU_ERROR_HANDLE, "the buffer was released already");
}

/* The next buffer uses the storage of the released one, and shows nothing of it. */
static void storage_of_released_buffers_is_used_again(void **state) {
    (void)state;
    acu_stream *own = NULL, *other = NULL;
    acu_buffer *buffer = NULL, *part = NULL;
    unsigned char byte = 1;
    acu_quarantine(0);
    OK(acu_stream_create(0, NULL, &own));
    OK(acu_stream_create(0, NULL, &other));
    create_and_release(own, ACU_F32, 4);
    create_and_release(own, ACU_U8, 3);
    OK(acu_buffer_create(own, ACU_U8, 4, &buffer)); /* a slice outlives the buffer */
    OK(acu_buffer_slice(buffer, 1, 2, &part));
    OK(acu_buffer_write(part, &byte, 1));
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_read(part, &byte, 1));
    OK(acu_buffer_release(part));
    create_and_release(own, ACU_F64, 1);
    OK(acu_buffer_create(own, ACU_U8, 4, &buffer)); /* another stream uses the buffer */
    OK(acu_buffer_zero(buffer, other));
    OK(acu_buffer_release(buffer));
    create_and_release(own, ACU_F64, 2);
    FAILS(acu_buffer_create(own, ACU_U8, SIZE_MAX / 4, &buffer), ACU_OUT_OF_MEMORY, "no room for");
    create_and_release(own, ACU_F64, 3);
    OK(acu_buffer_create(own, ACU_U8, 4, &buffer)); /* the buffer outlives the stream's handle */
    OK(acu_stream_release(own));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(other));
    acu_quarantine(100);
}

#undef TEST
#define TEST(function) SAFE_TEST(function, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(no_room_is_explained),
        TEST(no_room_on_the_host_is_explained),
        TEST(an_injected_lack_of_memory_says_so),
        TEST(pools_are_trimmed_before_giving_up),
        TEST(memory_that_waits_for_a_launch_makes_room),
        TEST(pools_are_not_trimmed_in_a_capture),
        TEST(one_failed_allocation_is_tried_again),
        TEST(a_failure_with_a_spare_is_reported),
        TEST(storage_of_released_buffers_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
