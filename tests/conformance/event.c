/* Events: what they are, when they have happened, and the time between two. */
#include "conformance.h"

CASE(an_event) {
    cudaEvent_t event = NULL;
    OK(cudaEventCreate(&event));
    IS(event != NULL);
    OK(cudaEventDestroy(event));
}

CASE(an_event_wants_a_place) {
    FAILS(cudaErrorInvalidValue, cudaEventCreate(NULL));
    FAILS(cudaErrorInvalidValue, cudaEventCreateWithFlags(NULL, 0));
}

CASE(flags_of_events) {
    static const unsigned good[] = {cudaEventDefault, cudaEventBlockingSync, cudaEventDisableTiming,
                                    cudaEventBlockingSync | cudaEventDisableTiming,
                                    cudaEventInterprocess | cudaEventDisableTiming};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cudaEvent_t event;
        OK(cudaEventCreateWithFlags(&event, good[i]));
        OK(cudaEventDestroy(event));
    }
}

CASE(flags_of_events_that_are_refused) {
    cudaEvent_t event;
    FAILS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    FAILS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 8));
    FAILS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x80000000U));
}

CASE(no_event) {
    float ms;
    FAILS(cudaErrorInvalidResourceHandle, cudaEventDestroy(NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(NULL, NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventQuery(NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventSynchronize(NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, NULL, NULL));
}

CASE(an_event_that_was_never_recorded_has_happened) {
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    SAYS(cudaSuccess, cudaEventQuery(event));
    OK(cudaEventSynchronize(event));
    OK(cudaEventDestroy(event));
}

CASE(an_event_happens_in_its_place) {
    cudaEvent_t event;
    cudaStream_t stream;
    OK(cudaEventCreate(&event));
    OK(cudaStreamCreate(&stream));
    hold(stream);
    OK(cudaEventRecord(event, stream));
    SAYS(cudaErrorNotReady, cudaEventQuery(event));
    SAYS(cudaSuccess, cudaGetLastError());
    let_go();
    OK(cudaEventSynchronize(event));
    SAYS(cudaSuccess, cudaEventQuery(event));
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(event));
}

CASE(synchronising_waits) {
    cudaEvent_t event;
    cudaStream_t stream;
    OK(cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming));
    OK(cudaStreamCreate(&stream));
    hold_briefly(stream);
    OK(cudaEventRecord(event, stream));
    OK(cudaEventSynchronize(event));
    IS(has_gone_on());
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(event));
}

CASE(the_last_record_counts) {
    cudaEvent_t event;
    cudaStream_t a, b;
    OK(cudaEventCreate(&event));
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    hold(a);
    OK(cudaEventRecord(event, a));
    SAYS(cudaErrorNotReady, cudaEventQuery(event));
    (void)cudaGetLastError();
    OK(cudaEventRecord(event, b));
    OK(cudaEventSynchronize(event));
    let_go();
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaEventDestroy(event));
}

CASE(an_event_is_destroyed_before_it_happened) {
    cudaEvent_t event;
    cudaStream_t stream, other;
    OK(cudaEventCreate(&event));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    hold(stream);
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(other, event, 0));
    OK(cudaEventDestroy(event));
    SAYS(cudaErrorNotReady, cudaStreamQuery(other));
    (void)cudaGetLastError();
    let_go();
    OK(cudaStreamSynchronize(other));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

CASE(an_event_in_the_default_streams) {
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, NULL));
    OK(cudaEventSynchronize(event));
    OK(cudaEventRecord(event, cudaStreamLegacy));
    OK(cudaEventSynchronize(event));
    OK(cudaEventRecord(event, cudaStreamPerThread));
    OK(cudaEventSynchronize(event));
    OK(cudaEventDestroy(event));
}

CASE(a_record_in_the_legacy_stream_waits_for_blocking_streams) {
    cudaEvent_t event;
    cudaStream_t stream;
    OK(cudaEventCreate(&event));
    OK(cudaStreamCreate(&stream));
    hold(stream);
    OK(cudaEventRecord(event, NULL));
    SAYS(cudaErrorNotReady, cudaEventQuery(event));
    let_go();
    OK(cudaEventSynchronize(event));
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(event));
}

CASE(flags_of_records) {
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    OK(cudaEventRecordWithFlags(event, NULL, cudaEventRecordDefault));
    FAILS(cudaErrorIllegalState, cudaEventRecordWithFlags(event, NULL, cudaEventRecordExternal));
    FAILS(cudaErrorInvalidValue, cudaEventRecordWithFlags(event, NULL, 2));
    OK(cudaEventDestroy(event));
}

CASE(an_event_of_another_device) {
    cudaEvent_t event;
    cudaStream_t stream;
    NEEDS_DEVICES(2);
    OK(cudaEventCreate(&event));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(event, stream));
    SAYS(cudaSuccess, cudaEventQuery(event));
    OK(cudaSetDevice(0));
    OK(cudaEventRecord(event, NULL));
    OK(cudaStreamWaitEvent(stream, event, 0));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(event));
}

/* ---- time
 * ---------------------------------------------------------------------------------------- */

CASE(time_between_two_events) {
    cudaEvent_t a, b;
    float ms = -1;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventRecord(a, NULL));
    OK(cudaEventRecord(b, NULL));
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    IS(ms >= 0);
    OK(cudaEventElapsedTime(&ms, b, a));
    IS(ms <= 0);
    OK(cudaEventElapsedTime(&ms, a, a));
    IS(ms == 0);
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
}

CASE(time_passes_while_a_stream_is_held) {
    cudaEvent_t a, b;
    float ms = -1;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventRecord(a, NULL));
    hold_briefly(NULL);
    OK(cudaEventRecord(b, NULL));
    OK(cudaEventSynchronize(b));
    IS(has_gone_on());
    OK(cudaEventElapsedTime(&ms, a, b));
    IS(ms > 5);
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
}

CASE(time_of_events_that_were_never_recorded) {
    cudaEvent_t a, b;
    float ms;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, b));
    OK(cudaEventRecord(a, NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, b));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, b, a));
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
}

CASE(time_of_an_event_that_was_just_made) {
    cudaEvent_t a;
    float ms;
    OK(cudaEventCreate(&a));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, a));
    OK(cudaEventDestroy(a));
}

CASE(time_of_events_without_timing) {
    cudaEvent_t a, b;
    float ms;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreateWithFlags(&b, cudaEventDisableTiming));
    OK(cudaEventRecord(a, NULL));
    OK(cudaEventRecord(b, NULL));
    OK(cudaDeviceSynchronize());
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, b));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, b, a));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, b, b));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
}

CASE(time_of_events_that_did_not_happen_yet) {
    cudaEvent_t a, b, timeless;
    float ms;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventCreateWithFlags(&timeless, cudaEventDisableTiming));
    OK(cudaEventRecord(a, NULL));
    OK(cudaDeviceSynchronize());
    hold(NULL);
    OK(cudaEventRecord(b, NULL));
    OK(cudaEventRecord(timeless, NULL));
    SAYS(cudaErrorNotReady, cudaEventElapsedTime(&ms, a, b));
    SAYS(cudaErrorNotReady, cudaEventElapsedTime(&ms, b, a));
    SAYS(cudaSuccess, cudaGetLastError());
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, timeless));
    SAYS(cudaErrorNotReady, cudaEventElapsedTime(&ms, b, b));
    let_go();
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, a, b));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaEventDestroy(timeless));
}

CASE(time_wants_a_place) {
    cudaEvent_t a;
    OK(cudaEventCreate(&a));
    OK(cudaEventRecord(a, NULL));
    OK(cudaEventSynchronize(a));
    FAILS(cudaErrorInvalidValue, cudaEventElapsedTime(NULL, a, a));
    FAILS(cudaErrorInvalidValue, cudaEventElapsedTime(NULL, NULL, NULL));
    OK(cudaEventDestroy(a));
}
