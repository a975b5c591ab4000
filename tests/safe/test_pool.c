/* Pools: their attributes, access and life. */
#include "safe.h"

#include <anycuda/cudart.h>

static volatile int no_such = 99, no_access = 77;

static void life(void **state) {
    (void)state;
    acu_pool *pool = NULL, *same = NULL;
    OK(acu_pool_create(another_device(), &(acu_pool_options){.threshold = 4096}, &pool));
    uint64_t value = 0;
    assert_int_equal(acu_pool_device(pool), another_device());
    OK(acu_pool_get_attribute(pool, ACU_POOL_THRESHOLD, &value));
    assert_int_equal(value, 4096);
    OK(acu_pool_wrap(another_device(), acu_pool_raw(pool), &same));
    OK(acu_pool_set_attribute(same, ACU_POOL_REUSE_OPPORTUNISTIC, 0));
    OK(acu_pool_get_attribute(pool, ACU_POOL_REUSE_OPPORTUNISTIC, &value));
    assert_int_equal(value, 0);
    OK(acu_pool_release(same));
    assert_ptr_equal(acu_pool_retain(pool), pool);
    OK(acu_pool_release(pool));
    OK(acu_pool_release(pool));
    OK(acu_pool_release(NULL));
}

/* What is read only says how the pool was made; runtimes before 13.2 cannot report it. */
static void reports_how_it_was_made(void **state) {
    (void)state;
    static const struct {
        acu_pool_attribute attribute;
        uint64_t value;
    } made[] = {
        {ACU_POOL_ALLOCATION_TYPE, cudaMemAllocationTypePinned},
        {ACU_POOL_HANDLES, 0},
        {ACU_POOL_LOCATION_TYPE, cudaMemLocationTypeDevice},
        {ACU_POOL_HW_DECOMPRESS, 0},
    };
    acu_pool *pool = NULL;
    uint64_t value = 7;
    OK(acu_pool_create(another_device(), NULL, &pool));
    if (!is_since(13020)) {
        if (acu_loaded(ACU_CUDART)->version < 13020)
            FAILS(acu_pool_get_attribute(pool, ACU_POOL_HANDLES, &value), 801, "needs CUDA 13.2");
        OK(acu_pool_release(pool));
        return;
    }
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        OK(acu_pool_get_attribute(pool, made[i].attribute, &value));
        assert_int_equal(value, made[i].value);
        FAILS(acu_pool_set_attribute(pool, made[i].attribute, value), ACU_ERROR_ARGUMENT,
              "only be read");
    }
    OK(acu_pool_get_attribute(pool, ACU_POOL_LOCATION_ID, &value));
    assert_int_equal(value, another_device());
    OK(acu_pool_get_attribute(pool, ACU_POOL_MAX_SIZE, &value));
    OK(acu_pool_release(pool));
}

static void wrap_borrows_adopt_takes(void **state) {
    (void)state;
    acu_pool *pool = NULL;
    cudaMemPool_t raw = NULL;
    const struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = 0},
    };
    assert_int_equal(cudaMemPoolCreate(&raw, &props), 0);
    OK(acu_pool_wrap(0, raw, &pool));
    OK(acu_pool_release(pool));
    OK(acu_pool_adopt(0, raw,
                      &pool)); /* the raw pool is still there, and is destroyed with this handle */
    assert_ptr_equal(acu_pool_raw(pool), raw);
    OK(acu_pool_trim(pool, 0));
    OK(acu_pool_release(pool));
}

static void memory_of_another_devices_pool(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_pool *pool = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    int32_t number = 5, back = 0;
    OK(acu_pool_create(1, NULL, &pool));
    OK(acu_stream_create(0, NULL, &stream));
    const acu_buffer_options options = {.pool = pool};
    FAILS(acu_buffer_create_with(stream, ACU_I32, 8, &options, &buffer), ACU_ERROR_DEVICE,
          "the stream is on device 0, which cannot use the pool's memory");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_pool_set_access()"));
    OK(acu_pool_set_access(pool, 0, ACU_ACCESS_READ_WRITE));
    OK(acu_buffer_create_with(stream, ACU_I32, 8, &options, &buffer));
    OK(acu_buffer_fill(buffer, &number));
    OK(acu_buffer_read(buffer, &back, 1));
    assert_int_equal(back, number);
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
    OK(acu_pool_release(pool));
}

static void buffers_keep_their_pool(void **state) {
    (void)state;
    acu_pool *pool = NULL, *watch = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    uint64_t used = 0;
    OK(acu_pool_create(0, NULL, &pool));
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create_with(stream, ACU_U8, 1000, &(acu_buffer_options){.pool = pool}, &buffer));
    watch = acu_pool_retain(pool);
    OK(acu_pool_release(pool));
    OK(acu_pool_get_attribute(watch, ACU_POOL_USED, &used));
    assert_true(used >= 1000);
    OK(acu_stream_release(stream)); /* the buffer keeps the stream, too */
    OK(acu_buffer_release(buffer));
    OK(acu_device_synchronize(0));
    OK(acu_pool_get_attribute(watch, ACU_POOL_USED, &used));
    assert_int_equal(used, 0);
    OK(acu_pool_trim(watch, 0));
    OK(acu_pool_release(watch));
}

static void default_and_current(void **state) {
    (void)state;
    acu_pool *first = NULL, *mine = NULL, *now = NULL;
    OK(acu_pool_get_default(0, &first));
    OK(acu_pool_create(0, NULL, &mine));
    OK(acu_pool_set_current(mine));
    OK(acu_pool_get_current(0, &now));
    assert_ptr_equal(acu_pool_raw(now), acu_pool_raw(mine));
    OK(acu_pool_release(now));
    OK(acu_pool_set_current(first));
    OK(acu_pool_release(mine));
    OK(acu_pool_release(first));
}

static void access_of_devices(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_pool *pool = NULL;
    acu_access access = ACU_ACCESS_NONE;
    bool can = false;
    OK(acu_pool_create(0, NULL, &pool));
    OK(acu_pool_get_access(pool, 0, &access));
    assert_int_equal(access, ACU_ACCESS_READ_WRITE);
    OK(acu_pool_get_access(pool, 1, &access));
    assert_int_equal(access, ACU_ACCESS_NONE);
    OK(acu_device_can_access_peer(1, 0, &can));
    if (can) {
        OK(acu_pool_set_access(pool, 1, ACU_ACCESS_READ_WRITE));
        OK(acu_pool_get_access(pool, 1, &access));
        assert_int_equal(access, ACU_ACCESS_READ_WRITE);
    }
    FAILS(acu_pool_get_access(pool, 1, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_pool_get_access(pool, 8, &access), 101, "device 8");
    FAILS(acu_pool_set_access(pool, 8, ACU_ACCESS_READ), 101, "device 8");
    OK(acu_pool_release(pool));
}

static void misuse(void **state) {
    (void)state;
    acu_pool *pool = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    uint64_t value;
    acu_quarantine(10);
    FAILS(acu_pool_create(0, NULL, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_pool_create(9, NULL, &pool), 101, "device 9");
    FAILS(acu_pool_wrap(0, NULL, &pool), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_pool_get_default(9, &pool), 101, "device 9");
    FAILS(acu_pool_get_current(0, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_pool_trim(NULL, 0), ACU_ERROR_ARGUMENT, "the pool is NULL");
    OK(acu_pool_create(0, NULL, &pool));
    OK(acu_stream_create(0, NULL, &stream));
    FAILS(acu_pool_get_attribute(pool, (acu_pool_attribute)no_such, &value), ACU_ERROR_ARGUMENT,
          "no attribute 99");
    FAILS(acu_pool_get_attribute(pool, ACU_POOL_USED, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_pool_set_attribute(pool, ACU_POOL_USED, 1), ACU_ERROR_ARGUMENT, "only be read");
    FAILS(acu_buffer_create_with(stream, ACU_U8, 1,
                                 &(acu_buffer_options){.memory = ACU_MEMORY_PINNED, .pool = pool},
                                 &buffer),
          ACU_ERROR_ARGUMENT, "ACU_MEMORY_PINNED does not come from pools");
    FAILS(acu_pool_create(0, &(acu_pool_options){.handles = 77}, &(acu_pool *){NULL}),
          ACU_ERROR_ARGUMENT, "options.handles is 77");
    FAILS(acu_pool_set_access(pool, 0, ACU_ACCESS_NONE), ACU_ERROR_ARGUMENT, "own device");
    FAILS(acu_pool_set_access(pool, 0, (acu_access)no_access), ACU_ERROR_ARGUMENT,
          "there is no access 77");
    OK(acu_pool_set_access(pool, 0, ACU_ACCESS_READ_WRITE));
    OK(acu_pool_release(pool));
    FAILS(acu_pool_release(pool), ACU_ERROR_HANDLE, "released already");
    FAILS(acu_buffer_create_with(stream, ACU_U8, 1, &(acu_buffer_options){.pool = pool}, &buffer),
          ACU_ERROR_HANDLE, "released already");
    OK(acu_stream_release(stream));
    acu_quarantine(0);
}

/* The limit came with CUDA 12.2. */
static void a_full_pool_names_its_limit(void **state) {
    (void)state;
    acu_pool *pool = NULL;
    acu_stream *stream = NULL, *captured = NULL;
    acu_graph *graph = NULL;
    acu_buffer *first = NULL, *second = NULL;
    if (acu_loaded(ACU_CUDART)->version < 12020) {
        print_message("pools have no max_size before CUDA 12.2\n");
        skip();
    }
    OK(acu_pool_create(0, &(acu_pool_options){.max_size = 32u << 20}, &pool));
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_create(0, NULL, &captured));
    const acu_buffer_options options = {.pool = pool};
    OK(acu_buffer_create_with(stream, ACU_U8, 20u << 20, &options, &first));
    FAILS(acu_buffer_create_with(stream, ACU_U8, 20u << 20, &options, &second), 2,
          "in the pool, whose max_size is 33554432");
    OK(acu_stream_begin_capture(captured, NULL));
    FAILS(acu_buffer_create_with(stream, ACU_U8, 20u << 20, &options, &second), 2,
          "in the pool, whose max_size is 33554432");
    OK(acu_stream_end_capture(captured, &graph)); /* the explanation did not break it */
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(first));
    OK(acu_stream_release(captured));
    OK(acu_stream_release(stream));
    OK(acu_pool_release(pool));
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(life),
                                       TEST(reports_how_it_was_made),
                                       TEST(wrap_borrows_adopt_takes),
                                       TEST(memory_of_another_devices_pool),
                                       TEST(buffers_keep_their_pool),
                                       TEST(default_and_current),
                                       TEST(access_of_devices),
                                       TEST(a_full_pool_names_its_limit),
                                       TEST(misuse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
