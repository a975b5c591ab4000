/* What CUDA knows about addresses in each kind of memory. */
#include "kernels.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

static acu_stream *stream;

static int begin_memory(void **state) {
    int code = begin_kernels(state);
    stream = stream_on(0);
    return code;
}

static int end_memory(void **state) {
    OK(acu_stream_release(stream));
    return nothing_left(state);
}

#define MEMORY_TEST(function) SAFE_TEST(function, begin_memory, end_memory)

static acu_memory_info asked(const void *address) {
    acu_memory_info info;
    acu_clear_error();
    OK(acu_memory_get_info(address, &info));
    assert_int_equal(acu_last_error(), 0);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    return info;
}

static acu_buffer *made(acu_memory memory, size_t bytes) {
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create_with(stream, ACU_U8, bytes, &(acu_buffer_options){.memory = memory},
                              &buffer));
    return buffer;
}

static bool is_unknown(const void *address) {
    const acu_memory_info info = asked(address);
    return info.kind == ACU_MEMORY_KIND_UNKNOWN && info.device == ACU_DEVICE_CURRENT &&
           !info.base && !info.bytes && !info.host_address && !info.device_address && !info.pool &&
           !info.id && !info.writable && !info.ipc && !info.range.preferred;
}

static void what_is_unknown(void **state) {
    (void)state;
    int local = 0;
    char *heap = malloc(100);
    assert_true(is_unknown(&local) && is_unknown(heap) && is_unknown(NULL));
    assert_true(is_unknown("a constant") && is_unknown((void *)(uintptr_t)1));
    assert_true(is_unknown((void *)UINTPTR_MAX));
    free(heap);
}

/* The answer is about the whole allocation, also for what lies in the middle. */
static void each_kind(void **state) {
    (void)state;
    static const struct {
        acu_memory memory;
        acu_memory_kind kind;
        bool host;
    } all[] = {
        {ACU_MEMORY_POOL, ACU_MEMORY_KIND_POOL, false},
        {ACU_MEMORY_DEVICE, ACU_MEMORY_KIND_DEVICE, false},
        {ACU_MEMORY_PINNED, ACU_MEMORY_KIND_PINNED, true},
        {ACU_MEMORY_MAPPED, ACU_MEMORY_KIND_PINNED, true},
        {ACU_MEMORY_MANAGED, ACU_MEMORY_KIND_MANAGED, true},
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        acu_buffer *buffer = made(all[i].memory, 5000), *slice = NULL;
        bool can = false;
        OK(acu_buffer_slice(buffer, 100, 50, &slice));
        char *at = acu_buffer_raw(slice);
        const acu_memory_info info = asked(at);
        assert_true(info.kind == all[i].kind && info.device == 0);
        assert_true(info.base == acu_buffer_raw(buffer) && info.bytes >= 5000);
        assert_true(info.device_address == at && (info.host_address == at) == all[i].host);
        assert_true(info.id != 0 && info.writable == ACU_MEMORY_ANSWER_YES);
        assert_true(info.ipc != ACU_MEMORY_ANSWER_UNKNOWN);
        assert_true(!info.pool == (all[i].memory != ACU_MEMORY_POOL));
        assert_true(!info.range.preferred == (all[i].memory != ACU_MEMORY_MANAGED));
        OK(acu_memory_can_access(at, 0, &can));
        assert_true(can);
        OK(acu_buffer_release(slice));
        OK(acu_buffer_release(buffer));
        OK(acu_stream_synchronize(stream));
        assert_true(is_unknown(at) || !is_simulated()); /* it was freed */
    }
}

static void memory_names_its_pool(void **state) {
    (void)state;
    acu_pool *pool = NULL;
    acu_buffer *buffer = NULL;
    OK(acu_pool_create(0, NULL, &pool));
    OK(acu_buffer_create_with(stream, ACU_U8, 64, &(acu_buffer_options){.pool = pool}, &buffer));
    assert_ptr_equal(asked(acu_buffer_raw(buffer)).pool, acu_pool_raw(pool));
    OK(acu_buffer_release(buffer));
    OK(acu_pool_release(pool));
}

static void allocations_have_ids(void **state) {
    (void)state;
    acu_buffer *a = made(ACU_MEMORY_DEVICE, 64), *b = made(ACU_MEMORY_DEVICE, 64);
    char *at = acu_buffer_raw(a);
    assert_true(asked(at).id == asked(at + 63).id);
    assert_true(asked(at).id != asked(acu_buffer_raw(b)).id);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
}

static void registered_and_wrapped_memory(void **state) {
    (void)state;
    static _Alignas(4096) char page[4096];
    acu_buffer *buffer = NULL, *wrapped = NULL;
    OK(acu_buffer_register(stream, ACU_U8, page, 4096, 0, &buffer));
    acu_memory_info info = asked(page + 7);
    assert_true(info.kind == ACU_MEMORY_KIND_PINNED && info.base == page && info.bytes == 4096 &&
                info.host_address == page + 7);
    OK(acu_buffer_release(buffer));
    assert_true(is_unknown(page + 7));
    buffer = made(ACU_MEMORY_DEVICE, 64);
    OK(acu_buffer_wrap(stream, ACU_U8, acu_buffer_raw(buffer), 16, ACU_MEMORY_DEVICE, &wrapped));
    info = asked(acu_buffer_raw(wrapped));
    assert_true(info.kind == ACU_MEMORY_KIND_DEVICE && info.bytes >= 64);
    OK(acu_buffer_release(wrapped));
    OK(acu_buffer_release(buffer));
}

static void virtual_memory(void **state) {
    (void)state;
    acu_virtual *range = NULL;
    acu_physical *memory = NULL;
    acu_buffer *buffer = NULL;
    size_t step = 0;
    bool can = true;
    OK(acu_physical_get_granularity(0, NULL, &step, NULL));
    OK(acu_virtual_reserve(0, 3 * step, NULL, &range));
    OK(acu_physical_create(0, step, NULL, &memory));
    char *at = acu_virtual_raw(range);
    assert_true(is_unknown(at)); /* reserved only */
    OK(acu_virtual_map(range, step, memory));
    OK(acu_physical_release(memory));
    assert_true(is_unknown(at) && is_unknown(at + 2 * step));
    acu_memory_info info = asked(at + step + 9);
    assert_true(info.kind == ACU_MEMORY_KIND_VIRTUAL && info.device == 0);
    assert_true(info.base == at + step && info.bytes == step && !info.host_address);
    assert_true(info.reserved == at && info.reserved_bytes == 3 * step);
    assert_true(info.device_address == at + step + 9 && info.writable == ACU_MEMORY_ANSWER_YES);
    OK(acu_virtual_create_buffer(range, step, stream, ACU_U8, 9, &buffer));
    assert_int_equal(asked(acu_buffer_raw(buffer)).kind, ACU_MEMORY_KIND_VIRTUAL);
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_set_access(range, 0, ACU_ACCESS_READ));
    info = asked(at + step);
    assert_true(info.kind == ACU_MEMORY_KIND_VIRTUAL && info.writable == ACU_MEMORY_ANSWER_NO);
    OK(acu_virtual_set_access(range, 0, ACU_ACCESS_NONE));
    info = asked(at + step);
    assert_true(info.kind == ACU_MEMORY_KIND_VIRTUAL && !info.device_address);
    OK(acu_memory_can_access(at + step, 0, &can));
    assert_false(can);
    OK(acu_virtual_release(range));
    assert_true(is_unknown(at + step));
}

static void memory_of_a_graph(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_node node;
    acu_buffer *buffer = NULL;
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_U8, 64, &buffer, &node));
    void *at = acu_buffer_raw(buffer);
    assert_true(is_unknown(at)); /* before the launch */
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(asked(at).kind, ACU_MEMORY_KIND_DEVICE);
    OK(acu_graph_memory_free(buffer, stream));
    OK(acu_stream_synchronize(stream));
    assert_true(is_unknown(at));
    OK(acu_buffer_release(buffer));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
}

static void what_was_advised(void **state) {
    (void)state;
    acu_buffer *buffer = made(ACU_MEMORY_MANAGED, 5000);
    void *at = acu_buffer_raw(buffer);
    acu_memory_info info = asked(at);
    assert_true(info.range.read_mostly == ACU_MEMORY_ANSWER_NO && info.range.accessed_by == 0);
    assert_true(info.range.preferred == ACU_MEMORY_PLACE_NONE &&
                info.range.prefetched == ACU_MEMORY_PLACE_NONE);
    OK(acu_buffer_advise(buffer, ACU_ADVISE_SET_READ_MOSTLY, 0));
    OK(acu_buffer_advise(buffer, ACU_ADVISE_SET_PREFERRED_LOCATION, ACU_DEVICE_HOST));
    OK(acu_buffer_advise(buffer, ACU_ADVISE_SET_ACCESSED_BY, another_device()));
    OK(acu_buffer_prefetch(buffer, another_device(), NULL));
    OK(acu_buffer_synchronize(buffer));
    info = asked(at);
    assert_true(info.range.read_mostly == ACU_MEMORY_ANSWER_YES);
    assert_true(info.range.preferred == ACU_MEMORY_PLACE_HOST &&
                info.range.preferred_device == ACU_DEVICE_CURRENT);
    assert_true(info.range.prefetched == ACU_MEMORY_PLACE_DEVICE &&
                info.range.prefetched_device == another_device());
    assert_true(info.range.accessed_by == UINT64_C(1) << (unsigned)another_device());
    OK(acu_buffer_release(buffer));
}

/* What holds for a range is what holds for all of its pages. */
static void parts_of_managed_memory(void **state) {
    (void)state;
    enum { PART = 4 << 20 };
    acu_buffer *buffer = made(ACU_MEMORY_MANAGED, (size_t)2 * PART), *first = NULL, *plain = NULL;
    char *at = acu_buffer_raw(buffer);
    acu_memory_range range;
    OK(acu_buffer_slice(buffer, 0, PART, &first));
    OK(acu_buffer_advise(first, ACU_ADVISE_SET_READ_MOSTLY, 0));
    OK(acu_buffer_advise(first, ACU_ADVISE_SET_PREFERRED_LOCATION, 0));
    OK(acu_buffer_advise(first, ACU_ADVISE_SET_ACCESSED_BY, 0));
    OK(acu_buffer_prefetch(first, 0, NULL));
    OK(acu_buffer_synchronize(buffer));
    OK(acu_memory_get_range(at, PART, &range));
    assert_true(range.read_mostly == ACU_MEMORY_ANSWER_YES && range.accessed_by == 1);
    assert_true(range.preferred == ACU_MEMORY_PLACE_DEVICE && range.preferred_device == 0);
    assert_true(range.prefetched == ACU_MEMORY_PLACE_DEVICE && range.prefetched_device == 0);
    assert_true(range.preferred_node == -1 && range.prefetched_node == -1);
    OK(acu_memory_get_range(at + PART, PART, &range));
    assert_true(range.read_mostly == ACU_MEMORY_ANSWER_NO && range.accessed_by == 0);
    assert_true(range.preferred == ACU_MEMORY_PLACE_NONE &&
                range.prefetched == ACU_MEMORY_PLACE_NONE);
    OK(acu_memory_get_range(at, (size_t)2 * PART, &range));
    assert_true(range.read_mostly == ACU_MEMORY_ANSWER_NO && range.accessed_by == 0);
    assert_true(range.preferred == ACU_MEMORY_PLACE_NONE && range.preferred_device == -1 &&
                range.prefetched == ACU_MEMORY_PLACE_NONE);
    plain = made(ACU_MEMORY_DEVICE, 64);
    FAILS(acu_memory_get_range(acu_buffer_raw(plain), 64, &range), 1, "cudaMemRangeGetAttribute");
    assert_non_null(strstr(acu_last_error_details().hint, "only managed memory"));
    assert_true(range.preferred_device == ACU_DEVICE_CURRENT && range.preferred_node == -1);
    (void)cudaGetLastError();
    FAILS(acu_memory_get_range(at, 0, &range), ACU_ERROR_RANGE, "'bytes' is 0");
    FAILS(acu_memory_get_range(at, 64, NULL), ACU_ERROR_ARGUMENT, "'range' is NULL");
    OK(acu_buffer_release(plain));
    OK(acu_buffer_release(first));
    OK(acu_buffer_release(buffer));
}

static void copies_that_wait(void **state) {
    (void)state;
    acu_buffer *plain = made(ACU_MEMORY_DEVICE, 64);
    void *at = acu_buffer_raw(plain);
    int local = 0;
    assert_int_equal(asked(at).synchronous, ACU_MEMORY_ANSWER_NO);
    OK(acu_memory_set_synchronous((char *)at + 5, true));
    assert_int_equal(asked(at).synchronous, ACU_MEMORY_ANSWER_YES);
    OK(acu_memory_set_synchronous(at, false));
    assert_int_equal(asked(at).synchronous, ACU_MEMORY_ANSWER_NO);
    FAILS(acu_memory_set_synchronous(&local, true), 1, "; address 0x");
    FAILS(acu_memory_set_synchronous(NULL, true), ACU_ERROR_ARGUMENT, "'address' is NULL");
    OK(acu_buffer_release(plain));
}

static void memory_of_another_device(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_stream *far = stream_on(1);
    acu_buffer *buffer = NULL, *managed = made(ACU_MEMORY_MANAGED, 64);
    bool can = false, peer = false;
    acu_device current = 9;
    OK(acu_buffer_create_with(far, ACU_U8, 64, &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE},
                              &buffer));
    void *at = acu_buffer_raw(buffer);
    acu_memory_info info = asked(at);
    assert_true(info.kind == ACU_MEMORY_KIND_DEVICE && info.device == 1 && info.base == at);
    assert_true(info.writable == ACU_MEMORY_ANSWER_YES && !info.device_address);
    OK(acu_memory_can_access(at, 1, &can));
    assert_true(can);
    OK(acu_memory_can_access(at, 0, &can));
    assert_false(can);
    OK(acu_memory_can_access(acu_buffer_raw(managed), 1, &can));
    assert_true(can);
    OK(acu_device_can_access_peer(0, 1, &peer));
    if (peer) {
        OK(acu_device_enable_peer_access(0, 1));
        OK(acu_memory_can_access(at, 0, &can));
        assert_true(can && asked(at).device_address == at);
        OK(acu_device_disable_peer_access(0, 1));
    }
    OK(acu_device_get_current(&current));
    assert_int_equal(current, 0);
    OK(acu_buffer_release(managed));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(far));
}

static void a_capture_goes_on(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *buffer = made(ACU_MEMORY_MANAGED, 64), *plain = made(ACU_MEMORY_DEVICE, 64);
    OK(acu_stream_begin_capture(stream, NULL));
    assert_int_equal(asked(acu_buffer_raw(buffer)).kind, ACU_MEMORY_KIND_MANAGED);
    assert_int_equal(asked(acu_buffer_raw(plain)).kind, ACU_MEMORY_KIND_DEVICE);
    OK(acu_buffer_zero(plain, NULL));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(plain));
}

/* Whatever the driver does not answer stays unknown, and leaves no error. */
static void a_driver_that_does_not_answer(void **state) {
    (void)state;
    ONLY_SIMULATED("errors are injected");
    acu_buffer *buffer = made(ACU_MEMORY_MANAGED, 64), *plain = made(ACU_MEMORY_DEVICE, 64);
    OK(acu_inject_errors("cuPointerGetAttribute@1+:1,cuMemRangeGetAttribute@1+:1"));
    acu_memory_info info = asked(acu_buffer_raw(buffer));
    assert_true(info.kind == ACU_MEMORY_KIND_MANAGED && info.host_address);
    assert_true(!info.base && !info.bytes && !info.id && !info.writable && !info.ipc &&
                !info.range.read_mostly && !info.range.preferred && !info.range.prefetched &&
                !info.range.accessed_by);
    info = asked(acu_buffer_raw(plain));
    assert_true(info.kind == ACU_MEMORY_KIND_DEVICE && info.device_address);
    acu_inject_errors(NULL);
    OK(acu_inject_errors("cudaPointerGetAttributes@1:999"));
    FAILS(acu_memory_get_info(acu_buffer_raw(plain), &info), 999, "cudaPointerGetAttributes");
    assert_int_equal(info.kind, ACU_MEMORY_KIND_UNKNOWN);
    acu_inject_errors(NULL);
    (void)cudaGetLastError();
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(plain));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(what_is_unknown),
        MEMORY_TEST(each_kind),
        MEMORY_TEST(memory_names_its_pool),
        MEMORY_TEST(allocations_have_ids),
        MEMORY_TEST(registered_and_wrapped_memory),
        MEMORY_TEST(virtual_memory),
        MEMORY_TEST(memory_of_a_graph),
        MEMORY_TEST(what_was_advised),
        MEMORY_TEST(parts_of_managed_memory),
        MEMORY_TEST(copies_that_wait),
        MEMORY_TEST(memory_of_another_device),
        MEMORY_TEST(a_capture_goes_on),
        MEMORY_TEST(a_driver_that_does_not_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
