/* Events: recording, waiting, timing. */
#include "sim_test.h"

static cudaEvent_t a, b;
static cudaStream_t stream;

static int setup(void **state) {
    (void)begin(state);
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaStreamCreate(&stream));
    return 0;
}

static int teardown(void **state) {
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaStreamDestroy(stream));
    return end(state);
}

TEST(create_mistakes) {
    cudaEvent_t event;
    FAILS(cudaErrorInvalidValue, cudaEventCreate(NULL));
    FAILS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x80));
    FAILS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    OK(cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming));
    OK(cudaEventDestroy(event));
}

TEST(never_recorded_is_done) {
    OK(cudaEventQuery(a));
    OK(cudaEventSynchronize(a));
    OK(cudaStreamWaitEvent(stream, a, 0));
}

TEST(pending_until_reached) {
    blocker g = {0};
    block_stream(&g, stream);
    OK(cudaEventRecord(a, stream));
    FAILS(cudaErrorNotReady, cudaEventQuery(a));
    unblock_stream(&g);
    OK(cudaEventSynchronize(a));
    OK(cudaEventQuery(a));
}

TEST(another_stream_waits) {
    blocker g = {0};
    cudaStream_t other;
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    block_stream(&g, stream);
    OK(cudaEventRecord(a, stream));
    OK(cudaStreamWaitEvent(other, a, cudaEventWaitDefault));
    OK(cudaEventRecord(b, other));
    for (int i = 0; i < 20; i++)
        pause_briefly();
    FAILS(cudaErrorNotReady, cudaEventQuery(b));
    unblock_stream(&g);
    OK(cudaEventSynchronize(b));
    OK(cudaEventQuery(a));
    OK(cudaStreamDestroy(other));
}

TEST(another_device_waits) {
    blocker g = {0};
    cudaStream_t other;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&other));
    OK(cudaSetDevice(0));
    block_stream(&g, stream);
    OK(cudaEventRecord(a, stream));
    OK(cudaStreamWaitEvent(other, a, 0));
    FAILS(cudaErrorNotReady, cudaStreamQuery(other));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(other));
    OK(cudaEventQuery(a));
    OK(cudaStreamDestroy(other));
}

TEST(waits_for_the_recording_at_the_time) {
    blocker first = {0}, second = {0};
    cudaStream_t other;
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    block_stream(&first, stream);
    OK(cudaEventRecord(a, stream));
    OK(cudaStreamWaitEvent(other, a, 0));
    block_stream(&second, stream);
    OK(cudaEventRecord(a, stream)); /* does not change what `other` waits for */
    unblock_stream(&first);
    OK(cudaStreamSynchronize(other));
    SAYS(cudaErrorNotReady, cudaEventQuery(a));
    unblock_stream(&second);
    OK(cudaEventSynchronize(a));
    OK(cudaStreamDestroy(other));
}

TEST(destroyed_while_pending) {
    blocker g = {0};
    cudaEvent_t event;
    cudaStream_t other;
    OK(cudaEventCreate(&event));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    block_stream(&g, stream);
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(other, event, 0));
    OK(cudaEventDestroy(event));
    FAILS(cudaErrorNotReady, cudaStreamQuery(other));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(other));
    OK(cudaStreamDestroy(other));
}

TEST(an_event_outlives_its_stream) {
    blocker g = {0};
    cudaStream_t other;
    OK(cudaStreamCreate(&other));
    block_stream(&g, other);
    OK(cudaEventRecord(a, other));
    OK(cudaStreamDestroy(other));
    unblock_stream(&g);
    OK(cudaEventSynchronize(a));
}

TEST(stale_handles) {
    cudaEvent_t event;
    float ms;
    OK(cudaEventCreate(&event));
    OK(cudaEventDestroy(event));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventQuery(event));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(event, stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventSynchronize(event));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(stream, event, 0));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, event, a));
}

TEST(null_handles) {
    FAILS(cudaErrorInvalidResourceHandle, cudaEventDestroy(NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventQuery(NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(NULL, stream));
}

TEST(record_mistakes) {
    cudaStream_t other;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&other));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(a, other)); /* of the first device */
    OK(cudaStreamDestroy(other));
    OK(cudaSetDevice(0));
    FAILS(cudaErrorInvalidValue, cudaEventRecordWithFlags(a, stream, 8));
    FAILS(cudaErrorInvalidValue, cudaStreamWaitEvent(stream, a, 8));
    OK(cudaEventRecordWithFlags(a, stream, cudaEventRecordDefault));
}

TEST(external_only_while_capturing) {
    FAILS(cudaErrorIllegalState, cudaEventRecordWithFlags(a, stream, cudaEventRecordExternal));
    FAILS(cudaErrorIllegalState, cudaStreamWaitEvent(stream, a, cudaEventWaitExternal));
}

static void slow(void *data) {
    const struct timespec moment = {.tv_nsec = 5000000};
    (void)data;
    nanosleep(&moment, NULL);
}

TEST(measures_time) {
    float ms = -1;
    OK(cudaEventRecord(a, stream));
    OK(cudaLaunchHostFunc(stream, slow, NULL));
    OK(cudaEventRecord(b, stream));
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    assert_true(ms >= 5 && ms < 100000);
    OK(cudaEventElapsedTime(&ms, b, a));
    assert_true(ms <= -5);
    OK(cudaEventElapsedTime(&ms, a, a));
    assert_true(ms == 0);
}

TEST(time_needs_recordings) {
    float ms;
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, b));
    OK(cudaEventRecord(a, stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, b));
    FAILS(cudaErrorInvalidValue, cudaEventElapsedTime(NULL, a, a));
}

TEST(time_needs_timing) {
    cudaEvent_t untimed;
    float ms;
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    OK(cudaEventRecord(a, stream));
    OK(cudaEventRecord(untimed, stream));
    OK(cudaStreamSynchronize(stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, untimed));
    OK(cudaEventDestroy(untimed));
}

TEST(time_needs_the_end) {
    blocker g = {0};
    float ms;
    OK(cudaEventRecord(a, stream));
    block_stream(&g, stream);
    OK(cudaEventRecord(b, stream));
    FAILS(cudaErrorNotReady, cudaEventElapsedTime(&ms, a, b));
    unblock_stream(&g);
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
}

TEST(a_diamond) {
    cudaStream_t left, right;
    cudaEvent_t fork_, join[2];
    char *memory, back[4];
    OK(cudaMalloc((void **)&memory, 4));
    OK(cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join[0], cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join[1], cudaEventDisableTiming));
    for (int i = 0; i < 50; i++) {
        OK(cudaMemsetAsync(memory, 1, 4, stream));
        OK(cudaEventRecord(fork_, stream));
        OK(cudaStreamWaitEvent(left, fork_, 0));
        OK(cudaStreamWaitEvent(right, fork_, 0));
        OK(cudaMemsetAsync(memory, 2, 2, left));
        OK(cudaMemsetAsync(memory + 2, 3, 2, right));
        OK(cudaEventRecord(join[0], left));
        OK(cudaEventRecord(join[1], right));
        OK(cudaStreamWaitEvent(stream, join[0], 0));
        OK(cudaStreamWaitEvent(stream, join[1], 0));
        OK(cudaMemcpyAsync(back, memory, 4, cudaMemcpyDeviceToHost, stream));
        assert_memory_equal(back, "\2\2\3\3", 4);
    }
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(left));
    OK(cudaStreamDestroy(right));
    OK(cudaEventDestroy(fork_));
    OK(cudaEventDestroy(join[0]));
    OK(cudaEventDestroy(join[1]));
}

#define C(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        C(create_mistakes),
        C(never_recorded_is_done),
        C(pending_until_reached),
        C(another_stream_waits),
        C(another_device_waits),
        C(waits_for_the_recording_at_the_time),
        C(destroyed_while_pending),
        C(an_event_outlives_its_stream),
        C(stale_handles),
        C(null_handles),
        C(record_mistakes),
        C(external_only_while_capturing),
        C(measures_time),
        C(time_needs_recordings),
        C(time_needs_timing),
        C(time_needs_the_end),
        C(a_diamond),
    };
    return RUN(tests);
}
