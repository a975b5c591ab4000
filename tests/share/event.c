/* Events that are shared by handles of 64 bytes. */
#include "share.h"

#define SHARED (cudaEventInterprocess | cudaEventDisableTiming)

static cudaEvent_t create(void) {
    cudaEvent_t event = NULL;
    OK(cudaEventCreateWithFlags(&event, SHARED));
    return event;
}

static void gets_handles(void) {
    cudaIpcEventHandle_t handle, second;
    cudaEvent_t event = NULL, plain = NULL, untimed = NULL;
    OK(cudaFree(NULL));
    ASK(cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    OK(cudaEventCreate(&plain));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    event = create();
    ASK(cudaIpcGetEventHandle(&handle, plain));
    ASK(cudaIpcGetEventHandle(&handle, untimed));
    ASK(cudaIpcGetEventHandle(NULL, event));
    ASK(cudaIpcGetEventHandle(NULL, plain));
    ASK(cudaIpcGetEventHandle(&handle, NULL));
    memset(&handle, 0, sizeof handle);
    memset(&second, 0, sizeof second);
    ASK(cudaIpcGetEventHandle(&handle, event));
    ASK(cudaIpcGetEventHandle(&second, event));
    say("equal: %d", memcmp(&handle, &second, sizeof handle) == 0);
    ASK(cudaEventQuery(event));
    ASK(cudaEventRecord(event, NULL));
    ASK(cudaEventSynchronize(event));
    ASK(cudaIpcGetEventHandle(&second, event));
    say("equal: %d", memcmp(&handle, &second, sizeof handle) == 0);
    float ms;
    ASK(cudaEventElapsedTime(&ms, event, event));
}
SCENE(event_gets_handles, gets_handles, NULL)

static void opens_its_own(void) {
    cudaIpcEventHandle_t handle;
    OK(cudaFree(NULL));
    cudaEvent_t event = create(), there = (cudaEvent_t)8;
    OK(cudaIpcGetEventHandle(&handle, event));
    ASK(cudaIpcOpenEventHandle(&there, handle));
    say("written: %d, the same: %d", there != (cudaEvent_t)8, there == event);
}
SCENE(event_opens_its_own, opens_its_own, NULL)

static void opens_nothing(void) {
    cudaIpcEventHandle_t handle;
    OK(cudaFree(NULL));
    OK(cudaIpcGetEventHandle(&handle, create()));
    ASK(cudaIpcOpenEventHandle(NULL, handle));
}
SCENE(event_opens_nothing, opens_nothing, NULL)

static void opens_zeros(void) {
    cudaIpcEventHandle_t handle;
    cudaEvent_t there = (cudaEvent_t)8;
    OK(cudaFree(NULL));
    memset(&handle, 0, sizeof handle);
    ASK(cudaIpcOpenEventHandle(&there, handle));
    memset(&handle, 0xff, sizeof handle);
    ASK(cudaIpcOpenEventHandle(&there, handle));
    memset(&handle, 0x5a, sizeof handle);
    ASK(cudaIpcOpenEventHandle(&there, handle));
    say("written: %d", there != (cudaEvent_t)8);
}
SCENE(event_opens_garbage, opens_zeros, NULL)

static void makes(void) {
    cudaIpcEventHandle_t handle;
    cudaStream_t stream;
    OK(cudaFree(NULL));
    cudaEvent_t event = create();
    volatile unsigned *flag = blocked(&stream);
    OK(cudaIpcGetEventHandle(&handle, event));
    give(&handle, sizeof handle, -1);
    wait_for_other();
    ASK(cudaEventRecord(event, stream));
    ASK(cudaEventQuery(event));
    let_go_on();
    wait_for_other();
    *flag = 1;
    ASK(cudaEventSynchronize(event));
    let_go_on();
    wait_for_other(); /* recorded there, on a stream that is blocked */
    ASK(cudaEventQuery(event));
    ASK(cudaStreamWaitEvent(stream, event, 0));
    ASK(cudaStreamQuery(stream));
    let_go_on();
    ASK(cudaEventSynchronize(event));
    ASK(cudaStreamSynchronize(stream));
    ASK(cudaEventQuery(event));
    let_go_on();
    wait_for_other();
    ASK(cudaEventDestroy(event));
    let_go_on();
    wait_for_other();
}

static void opens(void) {
    cudaIpcEventHandle_t handle, again;
    cudaEvent_t event = NULL, second = NULL;
    cudaStream_t stream, other;
    float ms;
    OK(cudaFree(NULL));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    (void)take(&handle, sizeof handle);
    ASK(cudaIpcOpenEventHandle(&event, handle));
    ASK(cudaIpcOpenEventHandle(&second, handle));
    say("the same: %d", event == second);
    ASK(cudaIpcGetEventHandle(&again, event));
    ASK(cudaEventQuery(event));
    ASK(cudaEventSynchronize(event));
    let_go_on();
    wait_for_other(); /* recorded there, on a stream that is blocked */
    ASK(cudaEventQuery(event));
    ASK(cudaEventQuery(second));
    ASK(cudaStreamWaitEvent(stream, event, 0));
    ASK(cudaStreamQuery(stream));
    ASK(cudaEventElapsedTime(&ms, event, event));
    let_go_on();
    ASK(cudaEventSynchronize(event));
    ASK(cudaStreamSynchronize(stream));
    ASK(cudaEventQuery(second));
    wait_for_other();
    volatile unsigned *flag = blocked(&other);
    ASK(cudaEventRecord(event, other));
    ASK(cudaEventQuery(event));
    ASK(cudaEventQuery(second));
    let_go_on();
    wait_for_other();
    *flag = 1;
    ASK(cudaEventSynchronize(second));
    wait_for_other();
    ASK(cudaEventDestroy(second));
    ASK(cudaEventQuery(event));
    let_go_on();
    wait_for_other();
    ASK(cudaEventQuery(event));
    ASK(cudaEventRecord(event, stream));
    ASK(cudaEventSynchronize(event));
    cudaEvent_t late = NULL;
    ASK(cudaIpcOpenEventHandle(&late, handle));
    let_go_on();
    wait_for_end();
    ASK(cudaEventQuery(event));
    ASK(cudaIpcOpenEventHandle(&late, handle));
    ASK(cudaEventDestroy(event));
}
SCENE(event_shared, makes, opens)

static void makes_and_destroys(void) {
    cudaIpcEventHandle_t handle;
    OK(cudaFree(NULL));
    cudaEvent_t event = create();
    OK(cudaIpcGetEventHandle(&handle, event));
    OK(cudaEventDestroy(event));
    give(&handle, sizeof handle, -1);
    wait_for_other();
}

static void opens_late(void) {
    cudaIpcEventHandle_t handle;
    cudaEvent_t there = (cudaEvent_t)8;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    ASK(cudaIpcOpenEventHandle(&there, handle));
    let_go_on();
    wait_for_end();
    ASK(cudaIpcOpenEventHandle(&there, handle));
}
SCENE(event_was_destroyed, makes_and_destroys, opens_late)

static void makes_and_ends(void) {
    cudaIpcEventHandle_t handle;
    OK(cudaFree(NULL));
    OK(cudaIpcGetEventHandle(&handle, create()));
    give(&handle, sizeof handle, -1);
}

static void opens_of_the_dead(void) {
    cudaIpcEventHandle_t handle;
    cudaEvent_t there = (cudaEvent_t)8;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    wait_for_end();
    ASK(cudaIpcOpenEventHandle(&there, handle));
}
SCENE(event_exporter_dies, makes_and_ends, opens_of_the_dead)

/* A wait is for the record that was the last when it was asked for. */
static void records_again(void) {
    cudaIpcEventHandle_t handle;
    cudaStream_t stream, later;
    OK(cudaFree(NULL));
    cudaEvent_t event = create();
    volatile unsigned *flag = blocked(&stream), *second = blocked(&later);
    OK(cudaEventRecord(event, stream));
    OK(cudaIpcGetEventHandle(&handle, event));
    give(&handle, sizeof handle, -1);
    wait_for_other();
    OK(cudaEventRecord(event, later));
    *flag = 1;
    OK(cudaStreamSynchronize(stream));
    ASK(cudaEventQuery(event));
    let_go_on();
    wait_for_other();
    *second = 1;
    OK(cudaStreamSynchronize(later));
    ASK(cudaEventQuery(event));
    let_go_on();
    wait_for_other();
}

static void waits_for_the_first(void) {
    cudaIpcEventHandle_t handle;
    cudaStream_t stream;
    cudaEvent_t event = NULL;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    (void)take(&handle, sizeof handle);
    OK(cudaIpcOpenEventHandle(&event, handle));
    ASK(cudaStreamWaitEvent(stream, event, 0));
    ASK(cudaStreamQuery(stream));
    let_go_on();
    wait_for_other();
    ASK(cudaStreamSynchronize(stream)); /* the first record is done, the second is not */
    ASK(cudaEventQuery(event));
    let_go_on();
    wait_for_other();
    ASK(cudaStreamSynchronize(stream));
    ASK(cudaEventQuery(event));
    let_go_on();
}
SCENE(event_recorded_again, records_again, waits_for_the_first)

static void makes_for_capture(void) {
    cudaIpcEventHandle_t handle;
    cudaStream_t stream;
    cudaGraph_t graph;
    OK(cudaStreamCreate(&stream));
    cudaEvent_t event = create();
    for (int mode = 0; mode < 3; mode++) {
        OK(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
        ASK(cudaIpcGetEventHandle(&handle, event));
        ASK(cudaStreamEndCapture(stream, &graph));
        (void)cudaGetLastError();
    }
    OK(cudaIpcGetEventHandle(&handle, event));
    give(&handle, sizeof handle, -1);
    wait_for_other();
}

static void opens_in_capture(void) {
    cudaIpcEventHandle_t handle;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaEvent_t event = NULL;
    OK(cudaStreamCreate(&stream));
    (void)take(&handle, sizeof handle);
    for (int mode = 0; mode < 3; mode++) {
        OK(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
        ASK(cudaIpcOpenEventHandle(&event, handle));
        ASK(cudaStreamEndCapture(stream, &graph));
        (void)cudaGetLastError();
    }
    OK(cudaIpcOpenEventHandle(&event, handle));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ASK(cudaEventRecord(event, stream));
    ASK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    ASK(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    ASK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = NULL;
    ASK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    ASK(cudaGraphLaunch(exec, stream));
    ASK(cudaStreamSynchronize(stream));
    ASK(cudaEventQuery(event));
    let_go_on();
}
SCENE(event_in_capture, makes_for_capture, opens_in_capture)
