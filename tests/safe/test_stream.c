/* Streams: life, order, host callbacks. */
#include "safe.h"

#include <anycuda/cudart.h>

#include <pthread.h>
#include <sched.h>

static void life(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_stream_options options = {.flags = ACU_STREAM_NON_BLOCKING, .priority = -1};
    unsigned flags = 0;
    int priority = 0;
    uint64_t id = 0;
    OK(acu_stream_create(another_device(), &options, &stream));
    assert_int_equal(acu_stream_device(stream), another_device());
    OK(acu_stream_get_flags(stream, &flags));
    assert_int_equal(flags, ACU_STREAM_NON_BLOCKING);
    OK(acu_stream_get_priority(stream, &priority));
    assert_int_equal(priority, -1);
    if (acu_loaded(ACU_CUDART)->version >= 12000) {
        OK(acu_stream_get_id(stream, &id));
        assert_int_not_equal(id, 0);
    }
    assert_non_null(acu_stream_raw(stream));
    assert_ptr_equal(acu_stream_retain(stream), stream);
    OK(acu_stream_release(stream));
    OK(acu_stream_query(stream));
    OK(acu_stream_release(stream));
    OK(acu_stream_release(NULL));
    assert_null(acu_stream_raw(NULL));
}

static void misuse(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_event *event = NULL;
    acu_quarantine(100);
    FAILS(acu_stream_create(0, NULL, NULL), ACU_ERROR_ARGUMENT, "'stream' is NULL");
    FAILS(acu_stream_create(9, NULL, &stream), 101, "device 9 does not exist");
    FAILS(acu_stream_create(0, &(acu_stream_options){.flags = 99}, &stream), ACU_ERROR_ARGUMENT,
          "no flags 0x63");
    assert_null(stream);
    FAILS(acu_stream_query(NULL), ACU_ERROR_ARGUMENT, "the stream is NULL");
    assert_null(acu_stream_retain(NULL));
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_event_create(0, NULL, &event));
    FAILS(acu_stream_query((acu_stream *)event), ACU_ERROR_HANDLE, "event is given where a stream");
    FAILS(acu_stream_wait_event(stream, NULL), ACU_ERROR_ARGUMENT, "the event is NULL");
    FAILS(acu_stream_get_flags(stream, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_stream_get_id(stream, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_stream_fork(stream, NULL, 1), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_stream_join(stream, &(acu_stream *){NULL}, 1), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_stream_call_function(stream, NULL, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_stream_adopt(0, NULL, &(acu_stream *){NULL}), ACU_ERROR_ARGUMENT, "default stream");
    OK(acu_stream_release(stream));
    FAILS(acu_stream_release(stream), ACU_ERROR_HANDLE, "released already");
    FAILS(acu_stream_synchronize(stream), ACU_ERROR_HANDLE, "released already");
    FAILS(acu_event_record(event, stream), ACU_ERROR_HANDLE, "released already");
    assert_null(acu_stream_retain(stream));
    OK(acu_event_release(event));
    acu_quarantine(0);
}

static void scopes_release(void **state) {
    (void)state;
    {
        ACU_AUTO(acu_stream) *stream = NULL;
        ACU_AUTO(acu_event) *event = NULL;
        OK(acu_stream_create(0, NULL, &stream));
        OK(acu_event_create(0, NULL, &event));
    }
    assert_int_equal(acu_sim_leaks(1), 0);
}

static void wrap_borrows_adopt_takes(void **state) {
    (void)state;
    acu_stream *owner = NULL, *borrowed = NULL;
    acu_event *event = NULL, *same = NULL;
    OK(acu_stream_create(0, NULL, &owner));
    OK(acu_stream_wrap(0, acu_stream_raw(owner), &borrowed));
    assert_ptr_equal(acu_stream_raw(borrowed), acu_stream_raw(owner));
    OK(acu_stream_synchronize(borrowed));
    OK(acu_stream_release(borrowed));
    OK(acu_stream_query(owner));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_wrap(0, acu_event_raw(event), &same));
    OK(acu_event_record(same, owner));
    OK(acu_event_release(same));
    OK(acu_event_release(event));
    OK(acu_stream_release(owner));
    FAILS(acu_event_wrap(0, NULL, &same), ACU_ERROR_ARGUMENT, "NULL");
    cudaStream_t raw = NULL;
    assert_int_equal(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking), 0);
    OK(acu_stream_adopt(0, raw, &owner));
    assert_ptr_equal(acu_stream_raw(owner), raw);
    OK(acu_stream_synchronize(owner));
    OK(acu_stream_release(owner)); /* the simulator reports what is left */
}

static void default_streams(void **state) {
    (void)state;
    acu_stream *legacy = NULL, *own = NULL;
    acu_event *event = NULL;
    acu_device there = another_device(); /* not the current device */
    OK(acu_stream_get_legacy(there, &legacy));
    OK(acu_stream_get_per_thread(there, &own));
    OK(acu_event_create(there, NULL, &event));
    OK(acu_event_record(event, legacy));
    OK(acu_stream_synchronize(legacy));
    OK(acu_event_record(event, own));
    OK(acu_stream_synchronize(own));
    OK(acu_stream_wait_stream(legacy, own));
    acu_device current;
    OK(acu_device_get_current(&current));
    assert_int_equal(current, 0);
    OK(acu_event_release(event));
    OK(acu_stream_release(legacy));
    OK(acu_stream_release(own));
}

static void *use_foreign(void *stream) {
    static _Thread_local char message[200];
    acu_result result = acu_stream_synchronize(stream);
    snprintf(message, sizeof message, "%s", acu_last_error_message());
    return result == ACU_ERROR_STATE && strstr(message, "another thread") ? stream : NULL;
}

static void a_per_thread_stream_is_one_threads(void **state) {
    (void)state;
    pthread_t thread;
    void *result;
    acu_stream *stream = NULL;
    OK(acu_stream_get_per_thread(0, &stream));
    pthread_create(&thread, NULL, use_foreign, stream);
    pthread_join(thread, &result);
    assert_ptr_equal(result, stream);
    OK(acu_stream_release(stream));
}

/* Returns what errors say of a stream's priority, in one of two places. */
static const char *described_priority(acu_stream *stream) {
    static char texts[2][256];
    static int next;
    char *text = texts[next++ % 2];
    acu_stream_describe(stream, text, sizeof *texts);
    const char *priority = strstr(text, "priority");
    assert_non_null(priority);
    return priority;
}

/* What is set is what CUDA reports, and another stream gets all of it. */
static void all_attributes(void **state) {
    (void)state;
    acu_stream *a = NULL, *b = NULL;
    acu_buffer *buffer = NULL;
    acu_stream_info info;
    int least = 0, greatest = 0;
    OK(acu_stream_create(0, NULL, &a));
    OK(acu_stream_create(0, NULL, &b));
    OK(acu_buffer_create(a, ACU_U8, 4096, &buffer));
    OK(acu_device_get_priority_range(0, &least, &greatest));
    OK(acu_stream_get_info(a, &info));
    assert_true(info.sync_policy == ACU_SYNC_AUTO && info.window.bytes == 0 &&
                info.memory_domain == 0 && !info.nvlink_centric);
    OK(acu_stream_set_access_window(a, &(acu_access_window){.pointer = acu_buffer_raw(buffer),
                                                            .bytes = 4096,
                                                            .hit_ratio = 0.5f,
                                                            .hit = 2,
                                                            .miss = 1}));
    OK(acu_stream_set_sync_policy(a, ACU_SYNC_SPIN));
    if (is_since(12000)) {
        OK(acu_stream_set_priority(a, greatest));
        OK(acu_stream_set_memory_domain(a, 1));
        OK(acu_stream_copy_attributes(b, a));
        OK(acu_stream_get_info(b, &info));
        assert_true(info.priority == greatest && info.memory_domain == 1);
        acu_memory_domains domains = info.memory_domains;
        OK(acu_stream_set_memory_domains(b, domains));
        domains.remote = 200;
        FAILS(acu_stream_set_memory_domains(b, domains), 1, "cudaStreamSetAttribute");
        assert_non_null(strstr(acu_last_error_details().hint, "the domains of device 0 are 0 to "));
        assert_string_equal(described_priority(b), described_priority(a));
        OK(acu_stream_set_priority(a, greatest - 100));
        assert_string_equal(described_priority(b), described_priority(a));
        FAILS(acu_stream_set_memory_domain(b, 2), ACU_ERROR_ARGUMENT, "no memory domain 2");
    } else {
        OK(acu_stream_copy_attributes(b, a));
        OK(acu_stream_get_info(b, &info));
        FAILS(acu_stream_set_memory_domain(a, 1), 801, "12.0");
        FAILS(acu_stream_set_memory_domains(a, (acu_memory_domains){0, 1}), 801, "12.0");
    }
    assert_true(info.window.pointer == acu_buffer_raw(buffer) && info.window.bytes == 4096 &&
                info.window.hit_ratio == 0.5f && info.window.hit == 2 && info.window.miss == 1);
    assert_int_equal(info.sync_policy, ACU_SYNC_SPIN);
    FAILS(acu_stream_set_access_window(
              a, &(acu_access_window){.pointer = &least, .bytes = 4096, .hit_ratio = 2}),
          1, "cudaStreamSetAttribute");
    assert_non_null(strstr(acu_last_error_details().hint, "'hit_ratio' is 2"));
    FAILS(acu_stream_set_access_window(a, &(acu_access_window){.hit_ratio = 1, .miss = 2}), 1, "");
    assert_non_null(strstr(acu_last_error_details().hint, "'miss' is 2"));
    FAILS(acu_stream_set_access_window(a, &(acu_access_window){.bytes = (size_t)1 << 40}), 1, "");
    assert_non_null(strstr(acu_last_error_details().hint, "1099511627776 bytes"));
    acu_clear_error();
    if (acu_stream_set_nvlink_centric(a, true))
        assert_true(acu_last_error() == 1 || acu_last_error() == ACU_NOT_SUPPORTED);
    else {
        OK(acu_stream_get_info(a, &info));
        assert_true(info.nvlink_centric);
    }
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(a));
    OK(acu_stream_release(b));
}

static void attributes_stay_on_a_device(void **state) {
    (void)state;
    acu_stream *a = NULL, *b = NULL;
    NEEDS_TWO_DEVICES();
    OK(acu_stream_create(0, NULL, &a));
    OK(acu_stream_create(1, NULL, &b));
    FAILS(acu_stream_copy_attributes(a, b), ACU_ERROR_DEVICE, "the other stream is on device 1");
    OK(acu_stream_release(a));
    OK(acu_stream_release(b));
}

static void attributes(void **state) {
    (void)state;
    acu_stream *a = NULL, *b = NULL;
    acu_sync_policy policy = ACU_SYNC_AUTO;
    OK(acu_stream_create(0, NULL, &a));
    OK(acu_stream_create(0, NULL, &b));
    OK(acu_stream_set_sync_policy(a, ACU_SYNC_BLOCK));
    OK(acu_stream_copy_attributes(b, a));
    OK(acu_stream_get_sync_policy(b, &policy));
    assert_int_equal(policy, ACU_SYNC_BLOCK);
    OK(acu_stream_set_access_window(a, NULL));
    FAILS(acu_stream_get_sync_policy(a, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_stream_set_sync_policy(a, (acu_sync_policy)9), ACU_ERROR_ARGUMENT,
          "no synchronisation policy 9");
    FAILS(acu_stream_copy_attributes(a, NULL), ACU_ERROR_ARGUMENT, "NULL");
    OK(acu_stream_release(a));
    OK(acu_stream_release(b));
}

static void queries_do_not_wait(void **state) {
    (void)state;
    blocker held;
    acu_stream *stream = NULL, *other = NULL;
    acu_event *event = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_create(0, NULL, &other));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_query(event)); /* it was never recorded */
    block_stream(&held, stream);
    OK(acu_event_record(event, stream));
    acu_clear_error();
    still_waits(stream);
    assert_int_equal(acu_event_query(event), ACU_NOT_READY);
    assert_int_equal(acu_last_error(), 0); /* "not ready" is an answer, not an error */
    OK(acu_stream_wait_event(other, event));
    still_waits(other);
    unblock_stream(&held);
    OK(acu_stream_synchronize(other));
    assert_int_equal(held.passed, 1);
    OK(acu_event_release(event));
    OK(acu_stream_release(other));
    OK(acu_stream_release(stream));
}

static void fork_and_join(void **state) {
    (void)state;
    blocker held;
    acu_stream *main_stream = NULL, *side[3] = {NULL};
    OK(acu_stream_create(0, NULL, &main_stream));
    for (size_t i = 0; i < COUNT(side); i++)
        OK(acu_stream_create(i % 2 ? another_device() : 0, NULL, &side[i]));
    block_stream(&held, main_stream);
    OK(acu_stream_fork(main_stream, side, COUNT(side)));
    for (size_t i = 0; i < COUNT(side); i++)
        still_waits(side[i]);
    unblock_stream(&held);
    OK(acu_stream_synchronize(side[2]));
    assert_int_equal(held.passed, 1);
    OK(acu_stream_synchronize(main_stream));
    block_stream(&held, side[1]);
    OK(acu_stream_join(main_stream, side, COUNT(side)));
    still_waits(main_stream);
    unblock_stream(&held);
    OK(acu_stream_synchronize(main_stream));
    for (size_t i = 0; i < COUNT(side); i++)
        OK(acu_stream_release(side[i]));
    OK(acu_stream_release(main_stream));
}

/* ---- closures ---- */

typedef struct counts {
    int called, destroyed;
    acu_buffer *buffer;
} counts;

static void count_call(void *data) {
    __atomic_add_fetch(&((counts *)data)->called, 1, __ATOMIC_SEQ_CST);
}

static void count_destroy(void *data) {
    counts *c = data;
    if (c->buffer) /* releasing in a callback is fine, though CUDA must not be called there */
        (void)acu_buffer_release(c->buffer);
    __atomic_add_fetch(&c->destroyed, 1, __ATOMIC_SEQ_CST);
}

static void closures_run_once(void **state) {
    (void)state;
    counts c = {0};
    acu_stream *stream = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create(stream, ACU_U8, 100, &c.buffer));
    OK(acu_stream_call(stream, (acu_closure){count_call, &c, count_destroy}));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(c.called, 1);
    assert_int_equal(c.destroyed, 1);
    OK(acu_stream_release(stream)); /* destroys the buffer first, which is an owner of the stream */
    acu_stream *again = NULL;
    OK(acu_stream_create(0, NULL, &again));
    OK(acu_stream_release(again));
}

/* A stream may wait for the function with a thread that spins. */
static void a_function_that_is_waited_for_spinning(void **state) {
    (void)state;
    counts c = {0};
    acu_stream *stream = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_call_with(stream, (acu_closure){count_call, &c, count_destroy}, ACU_HOST_BLOCK));
    OK(acu_stream_synchronize(stream));
    assert_true(c.called == 1 && c.destroyed == 1);
    FAILS(acu_stream_call_with(stream, (acu_closure){count_call, &c, count_destroy},
                               (acu_host_wait)2),
          ACU_ERROR_ARGUMENT, "no way 2 to wait");
    assert_true(c.called == 1 && c.destroyed == 2);
    acu_result result =
        acu_stream_call_with(stream, (acu_closure){count_call, &c, count_destroy}, ACU_HOST_SPIN);
    if (result == 0) {
        OK(acu_stream_synchronize(stream));
        assert_int_equal(c.called, 2);
    } else
        assert_true((result == 801 || result == 36) && !is_since(13020));
    assert_int_equal(c.destroyed, 3); /* also where it fails */
    OK(acu_stream_release(stream));
}

/* CUDA does not call such a function where the device has failed; the data is destroyed. */
static void a_spinning_call_on_a_failed_device(void **state) {
    (void)state;
    counts c = {0};
    blocker at;
    acu_stream *stream = NULL;
    ONLY_SIMULATED("a lost device stays lost for the whole process");
    if (!is_since(13020))
        SKIP("needs CUDA 13.2");
    OK(acu_stream_create(0, NULL, &stream));
    block_stream(&at, stream);
    assert_int_equal(acu_sim_fault(acu_stream_raw(stream), 700), 0);
    OK(acu_stream_call_with(stream, (acu_closure){count_call, &c, count_destroy}, ACU_HOST_SPIN));
    unblock_stream(&at);
    FAILS(acu_stream_synchronize(stream), 700, "IllegalAddress");
    (void)acu_stream_release(stream);
    assert_true(c.called == 0 && c.destroyed == 1);
    acu_sim_reset(NULL);
    (void)acu_release_error(NULL);
}

static void release_event(void *event) {
    (void)acu_event_release((acu_event *)event);
}

static void callbacks_release_handles(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_error error;
    OK(acu_stream_create(0, NULL, &stream));
    for (int way = 0; way < 2; way++) {
        acu_event *event = NULL;
        OK(acu_event_create(0, NULL, &event));
        OK(way ? acu_stream_call_function(stream, release_event, event)
               : acu_stream_call(stream, (acu_closure){release_event, event, NULL}));
        OK(acu_stream_synchronize(stream));
    }
    OK(acu_stream_release(stream)); /* destroys what waited to be destroyed, too */
    assert_int_equal(acu_release_error(&error), 0);
}

static void closures_are_destroyed_where_the_call_fails(void **state) {
    (void)state;
    counts c = {0};
    acu_stream *stream = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    FAILS(acu_stream_call(NULL, (acu_closure){count_call, &c, count_destroy}), ACU_ERROR_ARGUMENT,
          "NULL");
    assert_int_equal(c.destroyed, 1);
    FAILS(acu_stream_call(stream, (acu_closure){NULL, &c, count_destroy}), ACU_ERROR_ARGUMENT,
          "NULL");
    assert_int_equal(c.destroyed, 2);
    acu_inject_errors("cudaStreamAddCallback@1:2");
    FAILS(acu_stream_call(stream, (acu_closure){count_call, &c, count_destroy}), 2,
          "cudaStreamAddCallback");
    assert_int_equal(c.destroyed, 3);
    assert_int_equal(c.called, 0);
    OK(acu_stream_release(stream));
}

/* CUDA calls no function on a device that has failed. */
static void closures_are_destroyed_where_the_device_has_failed(void **state) {
    (void)state;
    counts c = {0}, later = {0};
    blocker at;
    acu_stream *stream = NULL;
    ONLY_SIMULATED("a lost device stays lost for the whole process");
    OK(acu_stream_create(0, NULL, &stream));
    block_stream(&at, stream);
    assert_int_equal(acu_sim_fault(acu_stream_raw(stream), 700), 0);
    OK(acu_stream_call(stream, (acu_closure){count_call, &c, count_destroy}));
    OK(acu_stream_call(stream, (acu_closure){count_call, &later, NULL}));
    unblock_stream(&at);
    FAILS(acu_stream_synchronize(stream), 700, "IllegalAddress");
    assert_int_equal(c.called + later.called, 0);
    assert_int_equal(c.destroyed, 1);
    (void)acu_stream_release(stream); /* fails as CUDA does, because the device has failed */
    acu_sim_reset(NULL);
    (void)acu_release_error(NULL);
    assert_int_equal(c.destroyed, 1);
}

/* ---- what is kept for later ---- */

/* A report of what is left names the program's things only, if its work is done. */
static void what_is_kept_is_no_leak(void **state) {
    (void)state;
    acu_stream *own = NULL;
    acu_buffer *buffer = NULL;
    acu_transfer *transfer = NULL;
    float numbers[100] = {1}, back[100];
    if (!is_simulated()) {
        print_message("skipped: a GPU counts nothing\n");
        skip();
    }
    const int before = acu_sim_leaks(0);
    OK(acu_stream_create(0, NULL, &own));
    OK(acu_buffer_create(own, ACU_F32, 100, &buffer));
    OK(acu_buffer_write_async(buffer, 0, ACU_F32, numbers, 100, NULL));
    OK(acu_buffer_read_async(buffer, 0, 100, &transfer, NULL));
    OK(acu_transfer_read(transfer, back, 100));
    assert_true(acu_sim_leaks(0) > before); /* they are not released */
    OK(acu_transfer_release(transfer));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_synchronize(own));
    OK(acu_stream_release(own));
    assert_int_equal(acu_sim_leaks(1), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_kept_is_no_leak),
        TEST(life),
        TEST(misuse),
        TEST(scopes_release),
        TEST(wrap_borrows_adopt_takes),
        TEST(default_streams),
        TEST(a_per_thread_stream_is_one_threads),
        TEST(attributes),
        TEST(attributes_stay_on_a_device),
        TEST(queries_do_not_wait),
        TEST(fork_and_join),
        TEST(all_attributes),
        TEST(closures_run_once),
        TEST(a_function_that_is_waited_for_spinning),
        TEST(a_spinning_call_on_a_failed_device),
        TEST(callbacks_release_handles),
        TEST(closures_are_destroyed_where_the_call_fails),
        TEST(closures_are_destroyed_where_the_device_has_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
