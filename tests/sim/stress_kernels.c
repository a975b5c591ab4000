/*
 * Kernels at the same time: threads of the program launch them on streams of their own, for some
 * seconds, and compare what the kernels have counted. They print, take memory, launch kernels and
 * graphs, wait for each other and by the clock. Before that, threads launch the kernels of
 * libraries that have just been loaded, which is when the simulator first looks into each of them.
 * `stress_kernels PTX SECONDS`; what the kernels print goes to stdout.
 */
#include <anycuda/cudart.h>
#include <anycuda/sim.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 6, BLOCKS = 8, BLOCK = 64, COUNTERS = 16 + BLOCKS };
enum { LIBRARIES = 40, FIRST_THREADS = 2 };

/* A kernel, and what its first two counters have afterwards. */
typedef struct job {
    const char *name;
    unsigned first, second;
} job;

static const job jobs[] = {
    {"count", BLOCKS * BLOCK, BLOCKS * BLOCK},
    {"prints", BLOCKS, 0},
    {"takes", BLOCKS * BLOCK, 0},
    {"parent", BLOCKS * 2 * 32, BLOCKS * 2 * 32},
    {"meets", BLOCKS, BLOCKS},
    {"waits", BLOCKS * BLOCK, 0},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

static cudaLibrary_t library;
static atomic_bool stop;
static atomic_ulong launched;

static void check(cudaError_t result, const char *call) {
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "stress_kernels: %s: %s\n", call, cudaGetErrorName(result));
    abort();
}
#define TRY(call) check(call, #call)

typedef struct worker {
    pthread_t thread;
    unsigned number;
    cudaStream_t stream;
    unsigned *counters, *host;
} worker;

static void start(worker *workers, unsigned count, void *(*run)(void *data)) {
    for (unsigned i = 0; i < count; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
            abort();
    }
}

static void join(worker *workers, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
}

static cudaKernel_t kernel_of(const char *name) {
    cudaKernel_t kernel;
    TRY(cudaLibraryGetKernel(&kernel, library, name));
    return kernel;
}

static void compare(const worker *w, const job *j, unsigned times) {
    if (w->host[0] == j->first * times && w->host[1] == j->second * times)
        return;
    fprintf(stderr, "stress_kernels: %s counted %u and %u, not %u and %u\n", j->name, w->host[0],
            w->host[1], j->first * times, j->second * times);
    abort();
}

/* Launches a kernel between a fill and a copy. */
static void run_job(worker *w, const job *j) {
    TRY(cudaMemsetAsync(w->counters, 0, COUNTERS * sizeof *w->counters, w->stream));
    TRY(cudaLaunchKernel(kernel_of(j->name), (dim3){BLOCKS, 1, 1}, (dim3){BLOCK, 1, 1},
                         (void *[]){&w->counters}, 0, w->stream));
    TRY(cudaMemcpyAsync(w->host, w->counters, COUNTERS * sizeof *w->host, cudaMemcpyDeviceToHost,
                        w->stream));
    TRY(cudaStreamSynchronize(w->stream));
    compare(w, j, 1);
}

/* Instantiates a graph of one kernel, and destroys it. */
static cudaGraphExec_t graph_of(const char *name, void *argument, unsigned long long flags) {
    const struct cudaKernelNodeParams params = {.func = kernel_of(name),
                                                .gridDim = {BLOCKS, 1, 1},
                                                .blockDim = {BLOCK, 1, 1},
                                                .kernelParams = (void *[]){argument}};
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    TRY(cudaGraphCreate(&graph, 0));
    TRY(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    TRY(cudaGraphInstantiate(&exec, graph, flags));
    TRY(cudaGraphDestroy(graph));
    return exec;
}

/* A graph whose kernel launches another one, three times. */
static void run_graph(worker *w) {
    cudaGraphExec_t inner = graph_of("count", &w->counters, cudaGraphInstantiateFlagDeviceLaunch),
                    outer = graph_of("launches", &inner, 0);
    TRY(cudaMemsetAsync(w->counters, 0, COUNTERS * sizeof *w->counters, w->stream));
    TRY(cudaGraphUpload(inner, w->stream));
    for (unsigned n = 0; n < 3; n++)
        TRY(cudaGraphLaunch(outer, w->stream));
    TRY(cudaMemcpyAsync(w->host, w->counters, COUNTERS * sizeof *w->host, cudaMemcpyDeviceToHost,
                        w->stream));
    TRY(cudaStreamSynchronize(w->stream));
    compare(w, &jobs[0], 3);
    TRY(cudaGraphExecDestroy(outer));
    TRY(cudaGraphExecDestroy(inner));
}

static void begin(worker *w) {
    TRY(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
    TRY(cudaMalloc((void **)&w->counters, COUNTERS * sizeof *w->counters));
    TRY(cudaMallocHost((void **)&w->host, COUNTERS * sizeof *w->host));
}

static void end(worker *w) {
    TRY(cudaFreeHost(w->host));
    TRY(cudaFree(w->counters));
    TRY(cudaStreamDestroy(w->stream));
}

/* ---- the first launches of a library ---- */

static pthread_barrier_t loaded, launched_all;

static void *launch_first(void *data) {
    worker *w = data;
    begin(w);
    for (unsigned n = 0; n < LIBRARIES; n++) {
        pthread_barrier_wait(&loaded);
        for (unsigned i = 0; i < JOBS; i++)
            run_job(w, &jobs[(i + w->number) % JOBS]);
        pthread_barrier_wait(&launched_all);
    }
    end(w);
    return NULL;
}

static void run_first_launches(worker *workers, const char *ptx) {
    pthread_barrier_init(&loaded, NULL, FIRST_THREADS + 1);
    pthread_barrier_init(&launched_all, NULL, FIRST_THREADS + 1);
    start(workers, FIRST_THREADS, launch_first);
    for (unsigned n = 0; n < LIBRARIES; n++) {
        TRY(cudaLibraryLoadFromFile(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
        pthread_barrier_wait(&loaded);
        pthread_barrier_wait(&launched_all);
        TRY(cudaLibraryUnload(library));
    }
    join(workers, FIRST_THREADS);
    pthread_barrier_destroy(&loaded);
    pthread_barrier_destroy(&launched_all);
}

/* ---- for some seconds ---- */

static void *work(void *data) {
    worker *w = data;
    begin(w);
    for (unsigned n = w->number; !atomic_load(&stop); n++) {
        if (n % (JOBS + 1) < JOBS)
            run_job(w, &jobs[n % (JOBS + 1)]);
        else
            run_graph(w);
        atomic_fetch_add(&launched, 1);
    }
    end(w);
    return NULL;
}

int main(int argc, char **argv) {
    const struct timespec time = {.tv_sec = argc > 2 ? strtol(argv[2], NULL, 10) : 5};
    static worker workers[THREADS];
    if (argc < 2)
        return 2;
    run_first_launches(workers, argv[1]);
    TRY(cudaLibraryLoadFromFile(&library, argv[1], NULL, NULL, 0, NULL, NULL, 0));
    start(workers, THREADS, work);
    nanosleep(&time, NULL);
    atomic_store(&stop, true);
    join(workers, THREADS);
    TRY(cudaLibraryUnload(library));
    fprintf(stderr, "stress_kernels: %lu rounds by %d threads\n", atomic_load(&launched), THREADS);
    return acu_sim_leaks(1) != 0;
}
