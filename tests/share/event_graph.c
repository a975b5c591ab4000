/* Shared events in graphs, and shared events and memory whose maker is gone. */
#include "share.h"

#include <time.h>

static cudaEvent_t create(void) {
    cudaEvent_t event = NULL;
    OK(cudaFree(NULL));
    OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    return event;
}

static cudaEvent_t receive(void) {
    cudaIpcEventHandle_t handle;
    cudaEvent_t event = NULL;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    OK(cudaIpcOpenEventHandle(&event, handle));
    return event;
}

static void send(cudaEvent_t event) {
    cudaIpcEventHandle_t handle;
    OK(cudaIpcGetEventHandle(&handle, event));
    give(&handle, sizeof handle, -1);
}

/* ---- a graph that waits ---- */

static void records_for_a_graph(void) {
    cudaStream_t stream;
    cudaEvent_t event = create();
    volatile unsigned *flag = blocked(&stream);
    send(event);
    wait_for_other(); /* the graph is there */
    ASK(cudaEventRecord(event, stream));
    let_go_on();
    wait_for_other(); /* and was launched */
    *flag = 1;
    ASK(cudaEventSynchronize(event));
    let_go_on();
    wait_for_other();
}

static void launches_what_waits(void) {
    cudaEvent_t event = receive();
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec = NULL;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaGraphCreate(&graph, 0));
    ASK(cudaGraphAddEventWaitNode(&node, graph, NULL, 0, event));
    ASK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    ASK(cudaGraphLaunch(exec, stream)); /* the event was never recorded */
    ASK(cudaStreamSynchronize(stream));
    let_go_on();
    wait_for_other();
    ASK(cudaGraphLaunch(exec, stream));
    ASK(cudaStreamQuery(stream));
    let_go_on();
    ASK(cudaStreamSynchronize(stream));
    wait_for_other();
    ASK(cudaGraphLaunch(exec, stream));
    ASK(cudaStreamSynchronize(stream));
    let_go_on();
}
SCENE(event_graph_waits, records_for_a_graph, launches_what_waits)

/* Which record a graph waits for that is launched behind work: that of the launch, or that of the
 * moment when the node is reached. */
static void records_meanwhile(void) {
    cudaStream_t stream;
    cudaEvent_t event = create();
    volatile unsigned *flag = blocked(&stream);
    send(event);
    wait_for_other(); /* the graph was launched behind work */
    ASK(cudaEventRecord(event, stream));
    let_go_on();
    wait_for_other(); /* that work is done */
    *flag = 1;
    ASK(cudaStreamSynchronize(stream));
    let_go_on();
    wait_for_other();
}

static void launches_before_the_record(void) {
    cudaEvent_t event = receive();
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEventWaitNode(&node, graph, NULL, 0, event));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    volatile unsigned *flag = blocked(&stream);
    ASK(cudaGraphLaunch(exec, stream));
    let_go_on();
    wait_for_other();
    *flag = 1;
    ASK(cudaStreamSynchronize(stream)); /* the record is not done yet */
    let_go_on();
    wait_for_other();
    let_go_on();
}
SCENE(event_graph_behind_work, records_meanwhile, launches_before_the_record)

/* ---- a graph that records ---- */

static void waits_for_a_graph(void) {
    cudaStream_t stream;
    cudaEvent_t event = create();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    send(event);
    wait_for_other(); /* launched, behind work */
    ASK(cudaEventQuery(event));
    ASK(cudaStreamWaitEvent(stream, event, 0));
    ASK(cudaStreamQuery(stream));
    let_go_on();
    wait_for_other(); /* done */
    ASK(cudaEventSynchronize(event));
    ASK(cudaStreamSynchronize(stream));
    let_go_on();
}

static void launches_what_records(void) {
    cudaEvent_t event = receive();
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphCreate(&graph, 0));
    ASK(cudaGraphAddEventRecordNode(&node, graph, NULL, 0, event));
    ASK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    volatile unsigned *flag = blocked(&stream);
    ASK(cudaGraphLaunch(exec, stream));
    ASK(cudaEventQuery(event));
    let_go_on();
    wait_for_other();
    *flag = 1;
    ASK(cudaStreamSynchronize(stream));
    ASK(cudaEventQuery(event));
    let_go_on();
    wait_for_other();
}
SCENE(event_graph_records, waits_for_a_graph, launches_what_records)

/* ---- makers that are gone ---- */

static void makes_and_destroys(void) {
    cudaIpcEventHandle_t handle;
    cudaEvent_t event = create();
    OK(cudaEventRecord(event, NULL));
    OK(cudaEventSynchronize(event));
    OK(cudaIpcGetEventHandle(&handle, event));
    OK(cudaEventDestroy(event));
    give(&handle, sizeof handle, -1);
    wait_for_other();
}

static void uses_what_is_destroyed(void) {
    cudaIpcEventHandle_t handle;
    cudaEvent_t event = NULL, second = NULL;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    if (ASK(cudaIpcOpenEventHandle(&event, handle)) == 0) {
        ASK(cudaEventQuery(event));
        ASK(cudaEventRecord(event, NULL));
        ASK(cudaEventSynchronize(event));
        ASK(cudaEventQuery(event));
    }
    let_go_on();
    wait_for_end();
    if (ASK(cudaIpcOpenEventHandle(&second, handle)) == 0) {
        ASK(cudaEventQuery(second));
        ASK(cudaEventRecord(second, NULL));
        ASK(cudaEventSynchronize(second));
        ASK(cudaEventDestroy(second));
    }
}
SCENE(event_used_when_destroyed, makes_and_destroys, uses_what_is_destroyed)

static void records_and_ends(void) {
    cudaStream_t stream;
    cudaEvent_t event = create();
    (void)blocked(&stream);
    send(event);
    wait_for_other();
    OK(cudaEventRecord(event, stream));
    let_go_on();
    wait_for_other();
}

/* The record's process has ended; the poll ends after some seconds in any case. */
static void polls_the_dead(void) {
    cudaEvent_t event = receive();
    let_go_on();
    wait_for_other();
    ASK(cudaEventQuery(event));
    let_go_on();
    wait_for_end();
    const struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < 20 && cudaEventQuery(event) == cudaErrorNotReady; i++)
        (void)nanosleep(&moment, NULL);
    ASK(cudaEventQuery(event)); /* after another record, an H200 waited forever */
}
SCENE(event_recorder_dies, records_and_ends, polls_the_dead)

static void makes_memory_and_goes(void) {
    cudaIpcMemHandle_t handle;
    void *at = NULL;
    OK(cudaMalloc(&at, 4 * MIB));
    fill(at, 0x51, 4 * MIB);
    OK(cudaIpcGetMemHandle(&handle, at));
    give(&handle, sizeof handle, -1);
    wait_for_other();
    ASK(cudaFree(at));
    let_go_on();
    wait_for_other();
}

static void outlives_memory(void) {
    cudaIpcMemHandle_t handle;
    char *at = NULL;
    OK(cudaFree(NULL));
    (void)take(&handle, sizeof handle);
    OK(cudaIpcOpenMemHandle((void **)&at, handle, cudaIpcMemLazyEnablePeerAccess));
    let_go_on();
    wait_for_other();
    say_byte("after the maker freed", at);
    ASK(cudaMemset(at, 0x52, 4 * MIB));
    say_byte("written then", at + MIB);
    let_go_on();
    wait_for_end();
    say_byte("after the maker ended", at);
    ASK(cudaMemset(at, 0x53, 4 * MIB));
    say_byte("written then", at + MIB);
    ASK(cudaIpcCloseMemHandle(at));
}
SCENE(memory_outlived, makes_memory_and_goes, outlives_memory)
