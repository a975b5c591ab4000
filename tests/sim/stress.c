/*
 * 64 threads call the simulator at random, each from a seed of its own, for some seconds.
 *
 * What must hold whatever they do: nothing crashes or hangs, each call returns what it may return,
 * bytes arrive that were sent, and when all is done nothing is left and no memory was damaged.
 * `stress SECONDS [SEED]` prints the seed, which repeats each thread's calls, though not how they
 * meet.
 */
#include <anycuda/cudart.h>
#include <anycuda/sim.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 64, SLOTS = 8, SIZE = 4096 };

typedef struct worker {
    pthread_t thread;
    uint64_t state;
    unsigned long calls;
    int device;
    cudaStream_t streams[SLOTS];
    cudaEvent_t events[SLOTS];
    unsigned char *memory[SLOTS]; /* on the device */
    unsigned char *pinned[SLOTS];
    cudaGraphExec_t graphs[SLOTS];
    cudaArray_t arrays[SLOTS];
    cudaEvent_t used; /* after what used the memory last: what is unordered is the program's race */
} worker;

static cudaStream_t shared[SLOTS]; /* all threads use them, nobody destroys them */
static atomic_bool stop;
static atomic_uint host_calls;

static uint64_t next_random(worker *w) {
    uint64_t z = w->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static unsigned below(worker *w, unsigned limit) {
    return (unsigned)(next_random(w) % limit);
}

static void fail(const char *call, cudaError_t result) {
    fprintf(stderr, "stress: %s: %s\n", call, cudaGetErrorName(result));
    abort();
}

/* The memory of all threads together may be too much, and a query may come too early. */
static bool tried(cudaError_t result, const char *call) {
    if (result != cudaSuccess && result != cudaErrorMemoryAllocation && result != cudaErrorNotReady)
        fail(call, result);
    return result == cudaSuccess;
}
#define TRY(call) tried(call, #call)

/* ---- what there is to do ---- */

static cudaStream_t some_stream(worker *w) {
    switch (below(w, 8)) {
    case 0:
        return NULL;
    case 1:
        return cudaStreamPerThread;
    case 2:
    case 3:
        return w->device ? NULL : shared[below(w, SLOTS)];
    default:
        return w->streams[below(w, SLOTS)];
    }
}

static void renew_stream(worker *w, unsigned i) {
    if (w->streams[i])
        TRY(cudaStreamDestroy(w->streams[i]));
    w->streams[i] = NULL;
    if (!TRY(cudaStreamCreateWithFlags(&w->streams[i],
                                       below(w, 2) ? cudaStreamNonBlocking : cudaStreamDefault)))
        w->streams[i] = NULL;
}

static void renew_event(worker *w, unsigned i) {
    if (w->events[i])
        TRY(cudaEventDestroy(w->events[i]));
    w->events[i] = NULL;
    if (!TRY(cudaEventCreate(&w->events[i])))
        w->events[i] = NULL;
}

static void renew_memory(worker *w, unsigned i) {
    if (w->memory[i])
        TRY(cudaFree(w->memory[i]));
    w->memory[i] = NULL;
    if (!TRY(cudaMalloc((void **)&w->memory[i], SIZE)))
        w->memory[i] = NULL;
}

static void renew_pinned(worker *w, unsigned i) {
    if (w->pinned[i])
        TRY(cudaFreeHost(w->pinned[i]));
    w->pinned[i] = NULL;
    if (!TRY(cudaMallocHost((void **)&w->pinned[i], SIZE)))
        w->pinned[i] = NULL;
}

static void renew_array(worker *w, unsigned i) {
    const struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    if (w->arrays[i])
        TRY(cudaFreeArray(w->arrays[i]));
    w->arrays[i] = NULL;
    if (!TRY(cudaMallocArray(&w->arrays[i], &bytes, 64, 64, 0)))
        w->arrays[i] = NULL;
}

static void host_function(void *data) {
    atomic_fetch_add((atomic_uint *)data, 1);
}

/* What is sent is what comes back. */
static void round_trip(worker *w) {
    unsigned char in[256], out[256];
    void *at;
    if (!TRY(cudaMalloc(&at, sizeof in)))
        return;
    memset(in, (int)below(w, 256), sizeof in);
    TRY(cudaMemcpy(at, in, sizeof in, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(out, at, sizeof out, cudaMemcpyDeviceToHost));
    if (memcmp(in, out, sizeof in) != 0)
        fail("a round trip", cudaErrorUnknown);
    TRY(cudaFree(at));
}

/* In one stream the last one wins. */
static void ordered(worker *w, unsigned i) {
    cudaStream_t s = w->streams[i];
    unsigned char out = 0, value = (unsigned char)below(w, 256), *at;
    if (!s || !TRY(cudaMallocAsync((void **)&at, SIZE, s)))
        return;
    TRY(cudaMemsetAsync(at, value ^ 1, SIZE, s));
    TRY(cudaMemsetAsync(at, value, SIZE, s));
    TRY(cudaMemcpyAsync(&out, at + below(w, SIZE), 1, cudaMemcpyDeviceToHost, s));
    TRY(cudaFreeAsync(at, s));
    if (out != value)
        fail("the order of a stream", cudaErrorUnknown);
}

static void through_array(worker *w, unsigned i) {
    unsigned char in[4096], out[4096];
    if (!w->arrays[i])
        return;
    memset(in, (int)below(w, 256), sizeof in);
    TRY(cudaMemcpyToArray(w->arrays[i], 0, 0, in, sizeof in, cudaMemcpyHostToDevice));
    TRY(cudaMemcpyFromArray(out, w->arrays[i], 0, 0, sizeof out, cudaMemcpyDeviceToHost));
    if (memcmp(in, out, sizeof in) != 0)
        fail("a round trip through an array", cudaErrorUnknown);
}

/* Two branches, each with a host function, and what another stream does before one of them. */
static void capture_branches(const worker *w, unsigned i, cudaStream_t s, cudaStream_t side) {
    cudaEvent_t fork, join;
    TRY(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    TRY(cudaMemsetAsync(w->memory[i], 5, SIZE, s));
    TRY(cudaEventRecord(fork, s));
    TRY(cudaStreamWaitEvent(side, fork, 0));
    if (w->events[i])
        TRY(cudaStreamWaitEvent(side, w->events[i], cudaEventWaitExternal));
    TRY(cudaLaunchHostFunc(side, host_function, &host_calls));
    TRY(cudaEventRecord(join, side));
    TRY(cudaLaunchHostFunc(s, host_function, &host_calls));
    TRY(cudaStreamWaitEvent(s, join, 0));
    TRY(cudaMemsetAsync(w->memory[i], 6, SIZE, s));
    TRY(cudaEventDestroy(fork));
    TRY(cudaEventDestroy(join));
}

/* In streams of its own, that the default stream does not wait for. */
static void capture(worker *w, unsigned i) {
    cudaGraph_t graph;
    cudaStream_t s, side;
    if (!w->memory[i] || w->graphs[i] || !TRY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)))
        return;
    TRY(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    TRY(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    capture_branches(w, i, s, side);
    if (TRY(cudaStreamEndCapture(s, &graph))) {
        if (!TRY(cudaGraphInstantiate(&w->graphs[i], graph, 0)))
            w->graphs[i] = NULL;
        TRY(cudaGraphDestroy(graph));
    }
    TRY(cudaStreamDestroy(s));
    TRY(cudaStreamDestroy(side));
}

static void copy(worker *w, void *to, const void *from) {
    cudaStream_t s = some_stream(w);
    TRY(cudaStreamWaitEvent(s, w->used, 0));
    TRY(cudaMemcpyAsync(to, from, SIZE, cudaMemcpyDefault, s));
    TRY(cudaEventRecord(w->used, s));
}

static void launch(worker *w, unsigned i) {
    if (w->graphs[i] && w->streams[i] && w->memory[i]) {
        TRY(cudaStreamWaitEvent(w->streams[i], w->used, 0));
        TRY(cudaGraphLaunch(w->graphs[i], w->streams[i]));
        TRY(cudaStreamSynchronize(w->streams[i])); /* its memory may be freed next */
    }
}

static void forget_graph(worker *w, unsigned i) {
    if (w->graphs[i])
        TRY(cudaGraphExecDestroy(w->graphs[i]));
    w->graphs[i] = NULL;
}

static void ask(worker *w, unsigned i) {
    struct cudaPointerAttributes attributes;
    size_t left, total;
    float ms;
    if (w->memory[i])
        TRY(cudaPointerGetAttributes(&attributes, w->memory[i] + below(w, SIZE)));
    TRY(cudaMemGetInfo(&left, &total));
    if (left > total)
        fail("cudaMemGetInfo", cudaErrorUnknown);
    if (w->events[i])
        TRY(cudaEventQuery(w->events[i]));
    TRY(cudaStreamQuery(some_stream(w)));
    if (w->events[i] && w->events[0]) {
        cudaError_t result = cudaEventElapsedTime(&ms, w->events[0], w->events[i]);
        if (result != cudaErrorInvalidResourceHandle) /* not recorded yet */
            tried(result, "cudaEventElapsedTime");
    }
}

/* Errors are told, and change nothing. */
static void mistake(worker *w) {
    char byte = 0;
    void *nowhere = (void *)(uintptr_t)(next_random(w) | 1);
    if (cudaStreamSynchronize((cudaStream_t)nowhere) != cudaErrorInvalidResourceHandle)
        fail("a stream that is none", cudaErrorUnknown);
    if (cudaFree(&byte) != cudaErrorInvalidValue)
        fail("memory that is none", cudaErrorUnknown);
    if (cudaGetLastError() != cudaErrorInvalidValue)
        fail("the last error", cudaErrorUnknown);
}

/* What is freed must not be in use: its device is waited for by cudaFree() itself. */
static void act(worker *w) {
    const unsigned i = below(w, SLOTS), j = below(w, SLOTS);
    switch (below(w, 20)) {
    case 0:
        renew_stream(w, i);
        break;
    case 1:
        renew_event(w, i);
        break;
    case 2:
        forget_graph(w, i);
        renew_memory(w, i);
        break;
    case 3:
        renew_pinned(w, i);
        break;
    case 4:
        renew_array(w, i);
        break;
    case 5:
        round_trip(w);
        break;
    case 6:
    case 7:
        ordered(w, i);
        break;
    case 8:
        through_array(w, i);
        break;
    case 9:
        capture(w, i);
        break;
    case 10:
    case 11:
        launch(w, i);
        break;
    case 12:
        ask(w, i);
        break;
    case 13:
        mistake(w);
        break;
    case 14:
        if (w->events[i])
            TRY(cudaEventRecord(w->events[i], w->streams[j]));
        break;
    case 15:
        if (w->events[i])
            TRY(cudaStreamWaitEvent(w->streams[j], w->events[i], 0));
        break;
    case 16:
        TRY(cudaLaunchHostFunc(some_stream(w), host_function, &host_calls));
        break;
    case 17:
        if (w->memory[i] && w->pinned[j])
            copy(w, w->memory[i], w->pinned[j]);
        break;
    case 18:
        if (w->memory[i] && w->memory[j] && i != j)
            copy(w, w->memory[i], w->memory[j]);
        break;
    default:
        TRY(cudaStreamSynchronize(some_stream(w)));
        break;
    }
    w->calls++;
}

/* ---- threads ---- */

static void *work(void *data) {
    worker *w = data;
    TRY(cudaSetDevice(w->device));
    TRY(cudaEventCreate(&w->used));
    for (unsigned i = 0; i < SLOTS; i++)
        renew_stream(w, i);
    while (!atomic_load(&stop))
        act(w);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (w->streams[i])
            TRY(cudaStreamDestroy(w->streams[i]));
        if (w->events[i])
            TRY(cudaEventDestroy(w->events[i]));
        forget_graph(w, i);
        TRY(cudaFree(w->memory[i]));
        TRY(cudaFreeHost(w->pinned[i]));
        TRY(cudaFreeArray(w->arrays[i]));
    }
    TRY(cudaEventDestroy(w->used));
    return NULL;
}

static void sleep_for(unsigned seconds) {
    const struct timespec time = {.tv_sec = seconds};
    nanosleep(&time, NULL);
}

static unsigned long run(unsigned seconds, uint64_t seed) {
    static worker workers[THREADS];
    unsigned long calls = 0;
    memset(workers, 0, sizeof workers);
    atomic_store(&stop, false);
    for (unsigned i = 0; i < SLOTS; i++)
        TRY(cudaStreamCreate(&shared[i]));
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].state = seed * THREADS + i;
        workers[i].device = (int)(i % 2);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            abort();
    }
    sleep_for(seconds);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        calls += workers[i].calls;
    }
    for (unsigned i = 0; i < SLOTS; i++)
        TRY(cudaStreamDestroy(shared[i]));
    TRY(cudaDeviceSynchronize());
    return calls;
}

int main(int argc, char **argv) {
    static const char *const machines[] = {
        "devices=2,memory=64MiB", "devices=2,memory=1GiB,guard=1", "devices=2,memory=1GiB,seed=11",
        "devices=2,memory=1GiB,runtime=12.4,driver=13.0"};
    const unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    for (unsigned i = 0; i < sizeof machines / sizeof *machines; i++) {
        acu_sim_reset(machines[i]);
        printf("stress: %s: seed %llu: ", machines[i], (unsigned long long)seed);
        fflush(stdout);
        printf("%lu steps by %d threads\n", run((seconds + 3) / 4, seed), THREADS);
        if (acu_sim_leaks(1) || acu_sim_damages())
            return 1;
        seed++;
    }
    return 0;
}
