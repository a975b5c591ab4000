/* Events: their flags, order and times. */
#include "safe.h"

static void timing(void **state) {
    (void)state;
    float ms = -1;
    acu_stream *stream = NULL;
    acu_event *start = NULL, *end = NULL, *untimed = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_event_create(0, NULL, &start));
    OK(acu_event_create(0, NULL, &end));
    OK(acu_event_create(0, &(acu_event_options){.flags = ACU_EVENT_DISABLE_TIMING}, &untimed));
    FAILS(acu_event_get_elapsed_time(start, end, &ms), ACU_ERROR_STATE,
          "first event was never recorded");
    OK(acu_event_record(start, stream));
    FAILS(acu_event_get_elapsed_time(start, end, &ms), ACU_ERROR_STATE,
          "second event was never recorded");
    blocker held;
    block_stream(&held, stream);
    OK(acu_event_record(end, stream));
    assert_int_equal(acu_event_get_elapsed_time(start, end, &ms), ACU_NOT_READY);
    unblock_stream(&held);
    OK(acu_event_synchronize(end));
    OK(acu_event_get_elapsed_time(start, end, &ms));
    assert_true(ms >= 0);
    OK(acu_event_record(untimed, stream));
    FAILS(acu_event_get_elapsed_time(start, untimed, &ms), ACU_ERROR_STATE, "without timing");
    FAILS(acu_event_get_elapsed_time(start, end, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_event_get_elapsed_time(NULL, end, &ms), ACU_ERROR_ARGUMENT, "the event is NULL");
    OK(acu_event_release(start));
    OK(acu_event_release(end));
    OK(acu_event_release(untimed));
    OK(acu_stream_release(stream));
}

static void misuse(void **state) {
    (void)state;
    float ms;
    acu_stream *stream = NULL;
    acu_event *event = NULL, *other = NULL;
    acu_quarantine(100);
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_create(another_device(), NULL, &other));
    assert_int_equal(acu_event_device(other), another_device());
    FAILS(acu_event_record(NULL, stream), ACU_ERROR_ARGUMENT, "the event is NULL");
    FAILS(acu_event_record(event, NULL), ACU_ERROR_ARGUMENT, "the stream is NULL");
    FAILS(acu_event_create(0, NULL, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_event_create(0, &(acu_event_options){.flags = 1u << 30u}, &(acu_event *){NULL}),
          ACU_ERROR_ARGUMENT, "no flags 0x40000000");
    FAILS(acu_event_create(0, &(acu_event_options){.flags = ACU_EVENT_INTERPROCESS},
                           &(acu_event *){NULL}),
          ACU_ERROR_ARGUMENT, "ACU_EVENT_INTERPROCESS needs ACU_EVENT_DISABLE_TIMING");
    FAILS(acu_event_create(7, NULL, &(acu_event *){NULL}), 101, "device 7");
    FAILS(acu_event_query(NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_event_synchronize(NULL), ACU_ERROR_ARGUMENT, "NULL");
    struct CUevent_st *raw = acu_event_raw(other);
    assert_non_null(raw);
    assert_null(acu_event_raw(NULL));
    OK(acu_event_record(event, stream));
    assert_ptr_equal(acu_event_retain(event), event);
    OK(acu_event_release(event));
    OK(acu_event_release(event));
    FAILS(acu_event_release(event), ACU_ERROR_HANDLE, "released already");
    FAILS(acu_event_get_elapsed_time(event, event, &ms), ACU_ERROR_HANDLE, "released already");
    OK(acu_event_release(other));
    OK(acu_stream_release(stream));
    acu_quarantine(0);
}

static void events_of_other_devices(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    float ms;
    acu_stream *stream = NULL;
    acu_event *event = NULL, *other = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_create(1, NULL, &other));
    FAILS(acu_event_record(other, stream), ACU_ERROR_DEVICE, "event belongs to device 1");
    FAILS(acu_event_get_elapsed_time(event, other, &ms), ACU_ERROR_DEVICE, "devices 0 and 1");
    OK(acu_event_release(event));
    OK(acu_event_release(other));
    OK(acu_stream_release(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(timing), TEST(misuse), TEST(events_of_other_devices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
