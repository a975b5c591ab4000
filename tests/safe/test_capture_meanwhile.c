/* During a capture: calls that would break it, releases, and other threads. */
#include "capture_test.h"

#include <anycuda/cudart.h>

#include "safe/base/device.h"

#include <pthread.h>

/* ---- by the thread that captures ---- */

static void what_would_break_it_is_refused(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *refused = NULL;
    acu_capture_status status;
    int32_t number = 1;
    OK(acu_stream_begin_capture(a, NULL));
    fill(x, a, 1);
    FAILS(acu_stream_synchronize(a), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_buffer_read(x, &number, 1), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_buffer_create(a, ACU_I32, 8, &refused), ACU_ERROR_CAPTURE, "belong to the graph");
    FAILS(acu_buffer_create_with(b, ACU_I32, 8, &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE},
                                 &refused),
          ACU_ERROR_CAPTURE, "would break the capture");
    OK(acu_stream_get_capture_status(a, &status));
    assert_int_equal(status, ACU_CAPTURE_ACTIVE);
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_release(graph));
}

/* CUDA breaks the thread's capture for what has nothing to do with its streams, too. */
static void what_would_break_it_elsewhere_is_refused(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("another device begins in a capture");
    acu_graph *graph = NULL, *plain = NULL;
    acu_event *event = NULL;
    acu_exec *exec = NULL;
    acu_buffer *pinned = NULL;
    void *host;
    int32_t number = 1;
    OK(acu_graph_create(&plain));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_record(event, b));
    fill(y, b, 1);
    OK(acu_buffer_create_with(b, ACU_I32, 8, &(acu_buffer_options){.memory = ACU_MEMORY_PINNED},
                              &pinned));
    OK(acu_buffer_copy(pinned, y, b));
    OK(acu_stream_begin_capture(a, NULL));
    fill(x, a, 1);
    FAILS(acu_graph_instantiate(plain, NULL, &exec), ACU_ERROR_CAPTURE, "would break the capture");
    assert_null(exec);
    assert_non_null(strstr(acu_last_error_details().hint, "after its end"));
    FAILS(acu_stream_query(a), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_stream_query(b), ACU_ERROR_CAPTURE, "would break the capture");
    FAILS(acu_stream_synchronize(b), ACU_ERROR_CAPTURE, "would break the capture");
    FAILS(acu_event_query(event), ACU_ERROR_CAPTURE, "would break the capture");
    FAILS(acu_event_synchronize(event), ACU_ERROR_CAPTURE, "would break the capture");
    FAILS(acu_buffer_read(y, &number, 1), ACU_ERROR_CAPTURE, "would break the capture");
    FAILS(acu_buffer_synchronize(y), ACU_ERROR_CAPTURE, "would break the capture");
    FAILS(acu_buffer_get_host(pinned, &host), ACU_ERROR_CAPTURE, "would break the capture");
    FAILS(acu_device_synchronize(0), ACU_ERROR_CAPTURE, "would break the capture");
    FAILS(acu_device_synchronize(ACU_DEVICE_CURRENT), ACU_ERROR_CAPTURE, "would break the capture");
    if (another_device() != 0)
        OK(acu_device_synchronize(another_device())); /* no stream of that one is captured */
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_event_synchronize(event));
    OK(acu_event_release(event));
    OK(acu_buffer_release(pinned));
    OK(acu_graph_release(plain));
    launch_and_release(graph);
    expect(x, 1);
}

static void a_relaxed_capture_allows_more(void **state) {
    (void)state;
    acu_graph *graph = NULL, *plain = NULL;
    acu_exec *exec = NULL;
    OK(acu_graph_create(&plain));
    OK(acu_stream_begin_capture(a, &(acu_capture_options){.mode = ACU_CAPTURE_RELAXED}));
    fill(x, a, 1);
    FAILS(acu_graph_instantiate(plain, &(acu_exec_options){.flags = ACU_EXEC_UPLOAD, .upload = a},
                                &exec),
          ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_device_synchronize(0), ACU_ERROR_CAPTURE, "would break the capture");
    OK(acu_stream_synchronize(b));
    OK(acu_graph_instantiate(plain, NULL, &exec));
    OK(acu_exec_release(exec));
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_release(plain));
    launch_and_release(graph);
    expect(x, 1);
}

/* Weights, say, which are copied on a stream before something else is captured there: the copy is
 * what others wait for, also where the stream has come into the capture since. */
static void what_was_done_before_is_waited_for(void **state) {
    (void)state;
    blocker held;
    acu_graph *graph = NULL;
    acu_stream *c = NULL;
    acu_buffer *z = NULL;
    OK(acu_stream_create(0, NULL, &c));
    OK(acu_buffer_create(b, ACU_I32, 8, &z));
    for (int joins = 0; joins < 2; joins++) {
        acu_stream *before = joins ? c : a;
        fill(y, before, 1);
        OK(acu_stream_synchronize(before));
        block_stream(&held, before);
        fill(y, before, 2);
        OK(acu_stream_begin_capture(a, NULL));
        OK(acu_stream_fork(a, &c, 1));
        fill(x, before, 3);
        OK(acu_buffer_copy(z, y, b)); /* outside */
        OK(acu_stream_join(a, &c, 1));
        OK(acu_stream_end_capture(a, &graph));
        still_waits(b);
        unblock_stream(&held);
        expect(z, 2);
        launch_and_release(graph);
        expect(x, 3);
    }
    OK(acu_buffer_release(z));
    OK(acu_stream_release(c));
}

/* Streams, events, pools, execs and modules alike. */
static void everything_released_meanwhile_goes_afterwards(void **state) {
    (void)state;
    acu_graph *graph = NULL, *plain = NULL;
    acu_exec *exec = NULL;
    acu_event *event = NULL;
    acu_pool *pool = NULL;
    acu_stream *stream = NULL;
    acu_kernel *kernel = kernel_on(0, "scale");
    OK(acu_graph_create(&plain));
    OK(acu_graph_instantiate(plain, NULL, &exec));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_pool_create(0, NULL, &pool));
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_begin_capture(a, NULL));
    int alive = acu_device_count_objects(0);
    fill(x, a, 1);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(plain));
    OK(acu_event_release(event));
    OK(acu_pool_release(pool));
    OK(acu_stream_release(stream));
    OK(acu_kernel_release(kernel));
    assert_int_equal(acu_device_count_objects(0), alive);
    OK(acu_stream_end_capture(a, &graph)); /* it was not broken */
    assert_true(acu_device_count_objects(0) <= alive - 5);
    launch_and_release(graph);
    expect(x, 1);
}

static void what_is_released_meanwhile_goes_afterwards(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *z = NULL;
    acu_capture_status status;
    OK(acu_buffer_create_with(b, ACU_I32, 8, &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE},
                              &z));
    size_t before = 0, during = 0, after = 0;
    OK(acu_device_get_memory(0, &before, NULL));
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_buffer_release(z));
    OK(acu_device_get_memory(0, &during, NULL));
    if (is_simulated()) /* no other process uses the simulator */
        assert_int_equal(during, before);
    OK(acu_stream_get_capture_status(a, &status));
    assert_int_equal(status, ACU_CAPTURE_ACTIVE);
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_release(graph));
    OK(acu_device_get_memory(0, &after, NULL));
    if (is_simulated())
        assert_true(after > before);
}

/* A pool takes its memory back in stream order, which is work like any other. */
static void memory_of_pools_is_freed_meanwhile(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    OK(acu_stream_begin_capture(a, &(acu_capture_options){.mode = ACU_CAPTURE_GLOBAL}));
    const int alive = acu_device_count_objects(0);
    for (int i = 0; i < 3000; i++) { /* 12 GiB, if nothing were freed */
        acu_buffer *z = NULL;
        OK(acu_buffer_create(b, ACU_I32, 1 << 20, &z));
        OK(acu_buffer_release(z));
        assert_in_range(acu_device_count_objects(0), alive, alive + 1); /* 1: the stream's spare */
    }
    fill(x, a, 1);
    OK(acu_stream_end_capture(a, &graph)); /* it was not broken */
    launch_and_release(graph);
    expect(x, 1);
}

/* CUDA calls these unsafe in a capture and would end it. */
static void pools_and_limits_break_no_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_pool *pool = NULL;
    acu_buffer *z = NULL;
    acu_access access;
    uint64_t value;
    size_t stack;
    OK(acu_device_get_limit(0, ACU_LIMIT_STACK_SIZE, &stack));
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_pool_create(0, &(acu_pool_options){.threshold = 1 << 20}, &pool));
    OK(acu_pool_get_attribute(pool, ACU_POOL_THRESHOLD, &value));
    OK(acu_pool_set_attribute(pool, ACU_POOL_THRESHOLD, value));
    OK(acu_pool_set_access(pool, 0, ACU_ACCESS_READ_WRITE));
    OK(acu_pool_get_access(pool, 0, &access));
    OK(acu_buffer_create_with(b, ACU_I32, 8, &(acu_buffer_options){.pool = pool}, &z));
    fill(z, b, 3);
    OK(acu_buffer_release(z));
    OK(acu_pool_trim(pool, 0));
    OK(acu_device_set_limit(0, ACU_LIMIT_STACK_SIZE, stack));
    fill(x, a, 1);
    OK(acu_stream_end_capture(a, &graph)); /* it was not broken */
    OK(acu_pool_release(pool));
    launch_and_release(graph);
    expect(x, 1);
}

/* CUDA would end the capture, whatever its mode. */
static void what_a_captured_stream_does_not_take_is_refused(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *z = NULL;
    uint64_t id;
    unsigned flags;
    OK(acu_buffer_create_with(b, ACU_I32, 8, &(acu_buffer_options){.memory = ACU_MEMORY_MANAGED},
                              &z));
    OK(acu_stream_begin_capture(a, &(acu_capture_options){.mode = ACU_CAPTURE_RELAXED}));
    FAILS(acu_stream_get_flags(a, &flags), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_stream_get_id(a, &id), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_buffer_prefetch(z, 0, a), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_buffer_attach(z, ACU_ATTACH_GLOBAL, a), ACU_ERROR_CAPTURE, "is being captured");
    fill(x, a, 1);
    OK(acu_stream_end_capture(a, &graph)); /* it was not broken */
    OK(acu_buffer_release(z));
    launch_and_release(graph);
    expect(x, 1);
}

static void a_graph_that_is_captured_into_is_not_used(void **state) {
    (void)state;
    acu_graph *graph = NULL, *got = NULL, *other = NULL;
    acu_exec *exec = NULL, *refused = NULL;
    acu_node child;
    OK(acu_graph_create(&graph));
    OK(acu_graph_create(&other));
    OK(acu_graph_add_empty(other, NULL, 0, &child));
    OK(acu_graph_instantiate(other, NULL, &exec)); /* not during a capture */
    OK_SINCE(12030, acu_stream_begin_capture(a, &(acu_capture_options){.into = graph}));
    if (runtime_version() < 12030) {
        OK(acu_exec_release(exec));
        OK(acu_graph_release(other));
        OK(acu_graph_release(graph));
        return;
    }
    FAILS(acu_graph_instantiate(graph, NULL, &refused), ACU_ERROR_CAPTURE,
          "captured into the graph");
    FAILS(acu_graph_clone(graph, &got), ACU_ERROR_CAPTURE, "captured into the graph");
    FAILS(acu_stream_begin_capture(b, &(acu_capture_options){.into = graph}), ACU_ERROR_CAPTURE,
          "captured into the graph");
    FAILS(acu_graph_add_child(other, NULL, 0, graph, NULL), ACU_ERROR_CAPTURE, "captured into");
    FAILS(acu_exec_set_child(exec, child, graph), ACU_ERROR_CAPTURE, "captured into");
    FAILS(acu_exec_update(exec, graph, NULL), ACU_ERROR_CAPTURE, "captured into");
    OK(acu_stream_end_capture(a, &got));
    assert_ptr_equal(got, graph);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(other));
    OK(acu_graph_release(got));
    OK(acu_graph_release(graph));
}

static void a_released_stream_ends_its_capture(void **state) {
    (void)state;
    acu_stream *c = NULL;
    acu_event *event = NULL;
    OK(acu_stream_create(0, NULL, &c));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_stream_begin_capture(c, NULL));
    fill(x, c, 1);
    OK(acu_event_record(event, c));
    OK(acu_stream_wait_event(b, event));
    OK(acu_stream_release(c));
    fill(y, b, 9);
    expect(y, 9);
    OK(acu_event_release(event));
}

/* The graph keeps the buffer, which keeps the stream: nobody is left who could end the capture. */
static void a_capture_ends_with_the_last_handle_of_its_stream(void **state) {
    (void)state;
    acu_stream *mine = NULL, *same = NULL;
    acu_buffer *kept = NULL;
    OK(acu_stream_create(0, NULL, &mine));
    OK(acu_buffer_create(mine, ACU_I32, 8, &kept));
    OK(acu_stream_begin_capture(mine, NULL));
    fill(kept, mine, 1);
    OK(acu_buffer_release(kept));
    same = acu_stream_retain(mine);
    OK(acu_stream_release(mine));
    FAILS(acu_stream_synchronize(b), ACU_ERROR_CAPTURE, "capture that began on stream 0x");
    OK(acu_stream_release(same));
    OK(acu_stream_synchronize(b));
    fill(x, a, 2);
    expect(x, 2);
}

static void a_broken_capture_is_ended_all_the_same(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_capture_status status;
    acu_capture_info info;
    bool capturing = true;
    OK(acu_stream_begin_capture(a, NULL));
    fill(x, a, 1);
    assert_int_equal(cudaStreamSynchronize(acu_stream_raw(a)), cudaErrorStreamCaptureUnsupported);
    OK(acu_stream_get_capture_status(a, &status));
    assert_int_equal(status, ACU_CAPTURE_INVALIDATED);
    OK(acu_stream_is_capturing(a, &capturing));
    assert_false(capturing);
    OK(acu_stream_get_capture_info(a, &info));
    assert_int_equal(info.status, ACU_CAPTURE_INVALIDATED);
    assert_null(info.graph);
    FAILS(acu_stream_synchronize(a), ACU_ERROR_CAPTURE, "is being captured");
    FAILS(acu_stream_end_capture(a, &graph), 901, "Invalidated");
    assert_null(graph);
    fill(x, a, 2);
    expect(x, 2);
}

/* ---- by others ---- */

static acu_graph *from_thread;
static acu_result in_thread;

static void *end_there(void *unused) {
    in_thread = acu_stream_end_capture(a, &from_thread);
    return unused;
}

static void *release_there(void *buffer) {
    in_thread = acu_buffer_release(buffer);
    return NULL;
}

static void run_thread(void *(*body)(void *), void *data) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, data), 0);
    pthread_join(thread, NULL);
}

static void *begin_and_leave(void *stream) {
    in_thread = acu_stream_begin_capture(stream, NULL);
    return NULL;
}

static void *query_there(void *stream) {
    in_thread = acu_stream_query(stream);
    return NULL;
}

/* The system gives the second thread the first one's pthread_t. */
static void a_capture_is_of_one_thread_only(void **state) {
    (void)state;
    acu_stream *mine = NULL;
    OK(acu_stream_create(0, NULL, &mine));
    run_thread(begin_and_leave, mine);
    assert_int_equal(in_thread, 0);
    run_thread(query_there, b);
    assert_int_equal(in_thread, 0);
    OK(acu_stream_release(mine));
}

static void another_thread_ends_only_a_relaxed_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    OK(acu_stream_begin_capture(a, NULL));
    fill(x, a, 1);
    run_thread(end_there, NULL);
    assert_int_equal(in_thread, cudaErrorStreamCaptureWrongThread);
    FAILS(acu_stream_end_capture(a, &graph), ACU_ERROR_CAPTURE, "no capture"); /* it is lost */
    OK(acu_stream_begin_capture(a, &(acu_capture_options){.mode = ACU_CAPTURE_RELAXED}));
    fill(x, a, 1);
    run_thread(end_there, NULL);
    assert_int_equal(in_thread, 0);
    assert_int_equal(nodes_of(from_thread), 1);
    OK(acu_graph_release(from_thread));
}

enum { RACES = 2000 };
static bool racing; /* atomic */
static int waits;   /* atomic: how often the other thread was not refused */

static void *synchronize_there(void *unused) {
    (void)unused;
    in_thread = 0;
    while (__atomic_load_n(&racing, __ATOMIC_RELAXED)) {
        int code = acu_device_synchronize(0);
        if (code && code != ACU_ERROR_CAPTURE)
            in_thread = code;
        __atomic_add_fetch(&waits, !code, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* A thread that waits for the device either comes before the capture or is refused. The trace makes
 * calls last longer, so that more of them meet. */
static void waiting_for_the_device_breaks_no_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    pthread_t thread;
    racing = true;
    OK(acu_trace_to("/dev/null"));
    assert_int_equal(pthread_create(&thread, NULL, synchronize_there, NULL), 0);
    for (int i = 0; i < RACES || __atomic_load_n(&waits, __ATOMIC_RELAXED) < RACES; i++) {
        OK(acu_stream_begin_capture(a, NULL));
        fill(x, a, 1);
        OK(acu_stream_fork(a, &b, 1));
        fill(y, b, 2);
        OK(acu_stream_join(a, &b, 1));
        OK(acu_stream_end_capture(a, &graph));
        OK(acu_graph_release(graph));
    }
    __atomic_store_n(&racing, false, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    OK(acu_trace_to(NULL));
    assert_int_equal(in_thread, 0);
}

static int tolerate(int code) {
    return code == ACU_ERROR_CAPTURE || code == ACU_NOT_READY ? 0 : code;
}

/* What CUDA calls unsafe in a capture: waiting, querying, allocating, freeing, destroying. */
static void *use_all_there(void *unused) {
    acu_stream *stream = NULL;
    acu_graph *plain = NULL;
    acu_buffer *memory = NULL;
    int32_t numbers[8] = {0};
    (void)unused;
    in_thread = acu_stream_create(0, NULL, &stream);
    if (!in_thread)
        in_thread = acu_graph_create(&plain);
    if (!in_thread)
        in_thread = acu_buffer_create(stream, ACU_I32, 8, &memory);
    while (!in_thread && __atomic_load_n(&racing, __ATOMIC_RELAXED)) {
        acu_event *event = NULL;
        acu_buffer *pinned = NULL, *pooled = NULL;
        acu_exec *exec = NULL;
        acu_result codes[] = {
            acu_event_create(0, NULL, &event),
            acu_event_record(event, stream),
            acu_event_query(event),
            acu_event_synchronize(event),
            acu_stream_query(stream),
            acu_stream_synchronize(stream),
            acu_buffer_create_with(stream, ACU_I32, 8,
                                   &(acu_buffer_options){.memory = ACU_MEMORY_PINNED}, &pinned),
            acu_graph_instantiate(plain, NULL, &exec),
            acu_exec_release(exec),
            pinned ? acu_buffer_synchronize(pinned) : 0,
            acu_buffer_release(pinned),
            acu_buffer_create(stream, ACU_I32, 1 << 20, &pooled),
            acu_buffer_release(pooled),
            acu_buffer_write(memory, numbers, 8),
            acu_buffer_read(memory, numbers, 8),
            acu_event_release(event),
        };
        for (size_t i = 0; i < COUNT(codes) && !in_thread; i++)
            in_thread = tolerate(codes[i]);
        __atomic_add_fetch(&waits, !codes[5], __ATOMIC_RELAXED);
    }
    __atomic_store_n(&racing, false, __ATOMIC_RELAXED); /* nobody waits for a thread that failed */
    (void)acu_buffer_release(memory);
    (void)acu_graph_release(plain);
    (void)acu_stream_release(stream);
    return NULL;
}

static void nothing_that_another_thread_does_breaks_a_global_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    pthread_t thread;
    racing = true;
    waits = 0;
    OK(acu_stream_begin_capture(a, &(acu_capture_options){.mode = ACU_CAPTURE_GLOBAL}));
    OK(acu_stream_end_capture(a, &graph)); /* the first one of the process */
    OK(acu_graph_release(graph));
    OK(acu_trace_to("/dev/null"));
    assert_int_equal(pthread_create(&thread, NULL, use_all_there, NULL), 0);
    for (int i = 0; i < RACES / 2 || (!__atomic_load_n(&waits, __ATOMIC_RELAXED) &&
                                      __atomic_load_n(&racing, __ATOMIC_RELAXED));
         i++) {
        OK(acu_stream_begin_capture(a, &(acu_capture_options){.mode = ACU_CAPTURE_GLOBAL}));
        fill(x, a, 1);
        OK(acu_stream_end_capture(a, &graph));
        OK(acu_graph_release(graph));
    }
    __atomic_store_n(&racing, false, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(acu_trace_to(NULL));
    assert_int_equal(in_thread, 0);
    OK(acu_device_synchronize(0));
}

static enum cudaMemoryType memory_type(const void *at) {
    struct cudaPointerAttributes attributes = {.type = cudaMemoryTypeUnregistered};
    assert_int_equal(cudaPointerGetAttributes(&attributes, at), 0);
    return attributes.type;
}

static void others_releases_wait_for_a_global_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *z = NULL;
    acu_capture_status status;
    OK(acu_buffer_create_with(b, ACU_I32, 8, &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE},
                              &z));
    const void *memory = acu_buffer_raw(z);
    OK(acu_stream_begin_capture(a, &(acu_capture_options){.mode = ACU_CAPTURE_GLOBAL}));
    fill(x, a, 1);
    run_thread(release_there, z);
    assert_int_equal(in_thread, 0);
    assert_int_equal(memory_type(memory), cudaMemoryTypeDevice);
    OK(acu_stream_get_capture_status(a, &status));
    assert_int_equal(status, ACU_CAPTURE_ACTIVE);
    OK(acu_stream_end_capture(a, &graph));
    assert_int_equal(memory_type(memory), cudaMemoryTypeUnregistered);
    OK(acu_graph_release(graph));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, begin_capture, end_capture)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_would_break_it_is_refused),
        TEST(what_would_break_it_elsewhere_is_refused),
        TEST(a_relaxed_capture_allows_more),
        TEST(what_was_done_before_is_waited_for),
        TEST(everything_released_meanwhile_goes_afterwards),
        TEST(what_is_released_meanwhile_goes_afterwards),
        TEST(memory_of_pools_is_freed_meanwhile),
        TEST(pools_and_limits_break_no_capture),
        TEST(what_a_captured_stream_does_not_take_is_refused),
        TEST(a_graph_that_is_captured_into_is_not_used),
        TEST(a_released_stream_ends_its_capture),
        TEST(a_capture_ends_with_the_last_handle_of_its_stream),
        TEST(a_capture_is_of_one_thread_only),
        TEST(a_broken_capture_is_ended_all_the_same),
        TEST(another_thread_ends_only_a_relaxed_capture),
        TEST(waiting_for_the_device_breaks_no_capture),
        TEST(nothing_that_another_thread_does_breaks_a_global_capture),
        TEST(others_releases_wait_for_a_global_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
