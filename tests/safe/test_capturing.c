/*
 * What a stream that is being captured refuses before CUDA would break the capture, what waits
 * until it has ended, and what a capture is told. CUDA is a fake one: this is about what is not
 * called.
 */
#include "fake_cuda.h"
#include "safe.h"

#include "safe/memory/storage.h"

static acu_stream *a, *b;
static acu_buffer *x;
static int destroyed;

static int start(void **state) {
    (void)state;
    captured = NULL;
    return acu_stream_create(0, NULL, &a) || acu_stream_create(0, NULL, &b) ||
           acu_buffer_create(a, ACU_F32, 8, &x);
}

static int stop(void **state) {
    (void)state;
    captured = NULL;
    return acu_buffer_release(x) || acu_stream_release(a) || acu_stream_release(b);
}

static void destroy(void *data) {
    (*(int *)data)++;
}

static void what_would_break_the_capture_is_refused(void **state) {
    (void)state;
    float number = 1;
    bool capturing = false;
    captured = acu_stream_raw(a);
    OK(acu_stream_is_capturing(a, &capturing));
    assert_true(capturing);
    size_t synchronized = calls_of("cudaStreamSynchronize"), copied = calls_of("cudaMemcpyAsync");
    FAILS(acu_stream_synchronize(a), ACU_ERROR_CAPTURE, "the stream is being captured");
    FAILS(acu_buffer_write(x, &number, 1), ACU_ERROR_CAPTURE, "the stream is being captured");
    FAILS(acu_buffer_read(x, &number, 1), ACU_ERROR_CAPTURE, "the stream is being captured");
    FAILS(acu_buffer_synchronize(x), ACU_ERROR_CAPTURE, "is being captured");
    assert_true(*acu_last_error_details().hint);
    destroyed = 0;
    FAILS(acu_stream_call(a, (acu_closure){destroy, &destroyed, destroy}), ACU_ERROR_CAPTURE, "");
    assert_int_equal(destroyed, 1);
    assert_int_equal(calls_of("cudaStreamSynchronize"), synchronized);
    assert_int_equal(calls_of("cudaMemcpyAsync"), copied);
    assert_int_equal(calls_of("cudaStreamAddCallback"), 0);
    OK(acu_buffer_zero(x, NULL)); /* can be captured */
}

static void asks(acu_stream *stream, bool whether) {
    size_t before = calls_of("cudaStreamIsCapturing");
    OK(acu_stream_query(stream));
    assert_int_equal(calls_of("cudaStreamIsCapturing") - before, whether);
}

/* Someone else's capture reaches a stream by its raw handle, or by an event. */
static void cuda_is_asked_where_others_may_capture(void **state) {
    (void)state;
    acu_stream *c = NULL, *d = NULL, *wrapped = NULL;
    acu_event *event = NULL;
    OK(acu_stream_create(0, NULL, &c));
    OK(acu_stream_create(0, NULL, &d));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_record(event, c));
    OK(acu_stream_wait_event(d, event));
    OK(acu_stream_wait_stream(d, c));
    asks(c, false);
    asks(d, false);
    assert_non_null(acu_stream_raw(c));
    asks(c, true);
    asks(d, false);
    OK(acu_event_record(event, c));
    OK(acu_stream_wait_event(d, event));
    asks(d, true);
    OK(acu_stream_release(d));
    OK(acu_stream_create(0, NULL, &d));
    captured = acu_stream_raw(c);
    OK(acu_stream_wait_stream(d, c)); /* which brings it into the capture */
    captured = NULL;
    asks(d, true);
    OK(acu_stream_wrap(0, acu_stream_raw(c), &wrapped));
    asks(wrapped, true);
    OK(acu_stream_release(wrapped));
    OK(acu_event_release(event));
    OK(acu_stream_release(c));
    OK(acu_stream_release(d));
}

static void events_of_others_may_bring_a_capture(void **state) {
    (void)state;
    static long raw;
    acu_stream *c = NULL;
    acu_event *event = NULL;
    OK(acu_stream_create(0, NULL, &c));
    OK(acu_event_wrap(0, (struct CUevent_st *)&raw, &event));
    asks(c, false);
    OK(acu_stream_wait_event(c, event));
    asks(c, true);
    OK(acu_event_release(event));
    OK(acu_stream_release(c));
}

static void a_capture_does_not_wait_for_what_is_outside(void **state) {
    (void)state;
    captured = acu_stream_raw(b);
    size_t waits = calls_of("cudaStreamWaitEvent");
    FAILS(acu_buffer_zero(x, b), ACU_ERROR_CAPTURE, "what another stream did before the capture");
    captured = acu_stream_raw(a);
    FAILS(acu_buffer_zero(x, b), ACU_ERROR_CAPTURE, "is being captured on another stream");
    assert_int_equal(calls_of("cudaStreamWaitEvent"), waits);
    captured = NULL;
    OK(acu_buffer_zero(x, b));
    assert_int_equal(calls_of("cudaStreamWaitEvent"), waits + 1);
}

/* ---- what a capture of our own is told ---- */

typedef struct recorder {
    acu_capture capture;
    acu_object *used;
    int uses, writes;
} recorder;

static int record_use(acu_capture *capture, acu_object *object, bool writes) {
    recorder *r = (recorder *)capture;
    r->used = object;
    r->uses++;
    r->writes += writes;
    return 0;
}

static void a_capture_is_told_what_it_uses(void **state) {
    (void)state;
    acu_buffer *y = NULL;
    recorder r = {.capture.use = record_use};
    OK(acu_buffer_create(b, ACU_F32, 8, &y));
    a->capture = &r.capture;
    size_t waits = calls_of("cudaStreamWaitEvent");
    OK(acu_buffer_copy(x, y, NULL));
    assert_int_equal(r.uses, 2);
    assert_int_equal(r.writes, 1);
    assert_ptr_equal(r.used, &y->storage->object);
    assert_int_equal(calls_of("cudaStreamWaitEvent"), waits); /* the launch will wait, not this */
    acu_buffer *refused = NULL;
    FAILS(acu_buffer_create(a, ACU_F32, 8, &refused), ACU_ERROR_CAPTURE, "belong to the graph");
    a->capture = NULL;
    acu_capture_order_destroy(&r.capture.order);
    OK(acu_buffer_release(y));
}

static void memory_is_freed_after_the_capture(void **state) {
    (void)state;
    acu_buffer *y = NULL;
    acu_event *event = NULL;
    recorder r = {.capture.use = record_use};
    OK(acu_buffer_create(a, ACU_F32, 8, &y));
    a->capture = &r.capture;
    size_t freed = calls_of("cudaFree");
    OK(acu_buffer_release(y));
    assert_int_equal(calls_of("cudaFree"), freed);
    a->capture = NULL;
    OK(acu_event_create(0, NULL, &event)); /* any call that makes something */
    assert_int_equal(calls_of("cudaFree"), freed + 1);
    OK(acu_event_release(event));
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)

static int load(void **state) {
    (void)state;
    load_fake_cuda();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_would_break_the_capture_is_refused),
        TEST(cuda_is_asked_where_others_may_capture),
        TEST(events_of_others_may_bring_a_capture),
        TEST(a_capture_does_not_wait_for_what_is_outside),
        TEST(a_capture_is_told_what_it_uses),
        TEST(memory_is_freed_after_the_capture),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
