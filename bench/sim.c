/*
 * What calls cost the host, copies and graphs take, on whatever runtime is loaded: the simulator,
 * or NVIDIA's on a GPU. The same rows on both, to be divided by bench/ratios.py:
 *
 *     what <tab> nanoseconds <tab> those of memcpy() for the same bytes, where it is a copy
 *
 * Nanoseconds are medians. Exits with 77 where there is no device.
 */
#include "sim.h"

#include <anycuda/anycuda.h>
#include <anycuda/sim.h>

#include <stdio.h>
#include <stdlib.h>

enum {
    ROUNDS = 51,
    NS = 200000 /* one round lasts about that long */,
    QUEUED = 400,
    BURST = 10000
};

/* This reference is weak, because the program also runs without the simulator. */
__attribute__((weak)) int acu_sim_register(const char *name, acu_sim_kernel function);

cudaError_t failed;
cudaStream_t stream;
const void *kernel;

static cudaStream_t idle, other;
static cudaEvent_t event, done;
static void *memory, *pinned;
static int number;

void synchronize(void) {
    TRY(cudaStreamSynchronize(stream));
}

void synchronize_all(void) {
    TRY(cudaDeviceSynchronize());
}

bool complain(const char *name) {
    const bool wrong = failed != cudaSuccess;
    if (wrong)
        fprintf(stderr, "%s: left out: %s\n", name, cudaGetErrorName(failed));
    failed = cudaSuccess;
    return wrong;
}

void print_row(const char *name, double ns, double base) {
    printf("%s\t%.1f\t", name, ns);
    if (base > 0)
        printf("%.1f", base);
    printf("\n");
    fflush(stdout);
}

/* ---- calls ---- */

#define LOOP(name, ...)                                                                            \
    static void name(long calls) {                                                                 \
        for (long i = 0; i < calls && !failed; i++) {                                              \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const dim3 one = {1, 1, 1};

static void on_host(void *data) {
    ++*(int *)data;
}

LOOP(get_device, TRY(cudaGetDevice(&number));)
LOOP(set_device, TRY(cudaSetDevice(0));)
LOOP(device_count, TRY(cudaGetDeviceCount(&number));)
LOOP(attribute, TRY(cudaDeviceGetAttribute(&number, cudaDevAttrMultiProcessorCount, 0));)
LOOP(properties, struct cudaDeviceProp said; TRY(cudaGetDeviceProperties(&said, 0));)
LOOP(last_error, TRY(cudaGetLastError());)
LOOP(memory_info, size_t left; size_t all; TRY(cudaMemGetInfo(&left, &all));)
LOOP(pointer, struct cudaPointerAttributes said; TRY(cudaPointerGetAttributes(&said, memory));)
LOOP(function, struct cudaFuncAttributes said; TRY(cudaFuncGetAttributes(&said, kernel));)
LOOP(occupancy, TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&number, kernel, 128, 0));)
LOOP(is_capturing, enum cudaStreamCaptureStatus status; TRY(cudaStreamIsCapturing(idle, &status));)
LOOP(stream_query, TRY(cudaStreamQuery(idle));)
LOOP(stream_synchronize, TRY(cudaStreamSynchronize(idle));)
LOOP(device_synchronize, TRY(cudaDeviceSynchronize());)
LOOP(event_query, TRY(cudaEventQuery(done));)
LOOP(event_synchronize, TRY(cudaEventSynchronize(done));)
LOOP(event_record, TRY(cudaEventRecord(event, stream));)
LOOP(wait_event, TRY(cudaStreamWaitEvent(stream, done, 0));)
LOOP(record_and_wait, TRY(cudaEventRecord(event, stream));
     TRY(cudaStreamWaitEvent(other, event, 0));)
LOOP(new_stream, cudaStream_t made; TRY(cudaStreamCreate(&made)); TRY(cudaStreamDestroy(made));)
LOOP(new_event, cudaEvent_t made; TRY(cudaEventCreate(&made)); TRY(cudaEventDestroy(made));)
LOOP(allocate, void *made; TRY(cudaMalloc(&made, 1048576)); TRY(cudaFree(made));)
LOOP(allocate_pinned, void *made; TRY(cudaMallocHost(&made, 1048576)); TRY(cudaFreeHost(made));)
LOOP(allocate_async, void *made; TRY(cudaMallocAsync(&made, 1024, stream));
     TRY(cudaFreeAsync(made, stream));)
LOOP(fill_async, TRY(cudaMemsetAsync(memory, 0, 4, stream));)
LOOP(copy_async, TRY(cudaMemcpyAsync(memory, pinned, 4, cudaMemcpyHostToDevice, stream));)
LOOP(copy_to, TRY(cudaMemcpy(memory, &number, 4, cudaMemcpyHostToDevice));)
LOOP(copy_from, TRY(cudaMemcpy(&number, memory, 4, cudaMemcpyDeviceToHost));)
LOOP(launch, TRY(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));)
LOOP(launch_and_wait, TRY(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));
     TRY(cudaStreamSynchronize(stream));)
LOOP(launch_and_record, TRY(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));
     TRY(cudaEventRecord(event, stream)); TRY(cudaEventSynchronize(event));)
LOOP(launch_between_copies, TRY(cudaMemcpyAsync(memory, pinned, 4, cudaMemcpyHostToDevice, stream));
     TRY(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));
     TRY(cudaMemcpyAsync(pinned, memory, 4, cudaMemcpyDeviceToHost, stream));
     TRY(cudaStreamSynchronize(stream));)
LOOP(fill_and_wait, TRY(cudaMemsetAsync(memory, 0, 4, stream)); TRY(cudaStreamSynchronize(stream));)
LOOP(copy_and_wait, TRY(cudaMemcpyAsync(memory, pinned, 4, cudaMemcpyHostToDevice, stream));
     TRY(cudaStreamSynchronize(stream));)
LOOP(host_and_wait, TRY(cudaLaunchHostFunc(stream, on_host, &number));
     TRY(cudaStreamSynchronize(stream));)
LOOP(use_stream, cudaStream_t made; TRY(cudaStreamCreate(&made));
     TRY(cudaLaunchKernel(kernel, one, one, NULL, 0, made)); TRY(cudaStreamSynchronize(made));
     TRY(cudaStreamDestroy(made));)
/* On two streams in turn, each after the other's last. */
LOOP(ping_pong, cudaStream_t on = i % 2 ? other : stream; TRY(cudaStreamWaitEvent(on, event, 0));
     TRY(cudaLaunchKernel(kernel, one, one, NULL, 0, on)); TRY(cudaEventRecord(event, on));)

static const struct {
    const char *name;
    loop *fn;
    long most; /* that may be queued; 0: nothing is */
} calls[] = {
    {"cudaGetDevice", get_device, 0},
    {"cudaSetDevice", set_device, 0},
    {"cudaGetDeviceCount", device_count, 0},
    {"cudaGetLastError", last_error, 0},
    {"cudaDeviceGetAttribute", attribute, 0},
    {"cudaGetDeviceProperties", properties, 0},
    {"cudaMemGetInfo", memory_info, 0},
    {"cudaPointerGetAttributes", pointer, 0},
    {"cudaFuncGetAttributes", function, 0},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", occupancy, 0},
    {"cudaStreamIsCapturing", is_capturing, 0},
    {"cudaStreamQuery, idle", stream_query, 0},
    {"cudaStreamSynchronize, idle", stream_synchronize, 0},
    {"cudaDeviceSynchronize, idle", device_synchronize, 0},
    {"cudaEventQuery, done", event_query, 0},
    {"cudaEventSynchronize, done", event_synchronize, 0},
    {"cudaEventRecord", event_record, QUEUED},
    {"cudaStreamWaitEvent, done", wait_event, QUEUED},
    {"cudaEventRecord, cudaStreamWaitEvent on another stream", record_and_wait, QUEUED / 2},
    {"cudaStreamCreate, cudaStreamDestroy", new_stream, 0},
    {"cudaEventCreate, cudaEventDestroy", new_event, 0},
    {"cudaMalloc, cudaFree: 1 MiB", allocate, 0},
    {"cudaMallocHost, cudaFreeHost: 1 MiB", allocate_pinned, 0},
    {"cudaMallocAsync, cudaFreeAsync: 1 KiB", allocate_async, QUEUED / 2},
    {"cudaMemsetAsync: 4 bytes", fill_async, QUEUED},
    {"cudaMemcpyAsync from pinned: 4 bytes", copy_async, QUEUED},
    {"cudaMemcpy to the device: 4 bytes", copy_to, 0},
    {"cudaMemcpy to the host: 4 bytes", copy_from, 0},
    {"cudaLaunchKernel", launch, QUEUED},
    {"cudaLaunchKernel, cudaStreamSynchronize", launch_and_wait, 0},
    {"cudaLaunchKernel, cudaEventRecord, cudaEventSynchronize", launch_and_record, 0},
    {"copy to, launch, copy from, cudaStreamSynchronize", launch_between_copies, 0},
    {"cudaMemsetAsync: 4 bytes, cudaStreamSynchronize", fill_and_wait, 0},
    {"cudaMemcpyAsync from pinned: 4 bytes, cudaStreamSynchronize", copy_and_wait, 0},
    {"cudaLaunchHostFunc, cudaStreamSynchronize", host_and_wait, 0},
    {"a stream that is made, used, waited for, destroyed", use_stream, 0},
    {"wait, launch, record on two streams in turn", ping_pong, QUEUED / 4},
};

static void time_call(const char *name, loop *fn, long most) {
    static double ns[ROUNDS];
    const long count = calls_for(NS, fn, most, synchronize_all);
    for (int i = 0; i < ROUNDS; i++)
        ns[i] = measure(fn, count, synchronize_all);
    if (!complain(name))
        print_row(name, median_of(ns, ROUNDS), 0);
}

/* More than a queue holds, with the end of the last. */
static void time_launches(void) {
    static double ns[9];
    const char *name = "10,000 launches to the end of the last, each";
    for (int i = 0; i < 9; i++) {
        const double begin = now_ns();
        launch(BURST);
        synchronize();
        ns[i] = (now_ns() - begin) / BURST;
    }
    if (!complain(name))
        print_row(name, median_of(ns, 9), 0);
}

/* ---- all of it ---- */

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry nothing()\n{\n    ret;\n}\n";

static void nothing(const acu_sim_launch *launched, void *const *args) {
    (void)launched;
    (void)args;
}

static void prepare(void) {
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    TRY(cudaEventRecord(done, idle));
    TRY(cudaStreamSynchronize(idle));
    TRY(cudaMalloc(&memory, 1024));
    TRY(cudaMallocHost(&pinned, 1024));
}

int main(void) {
    int devices = 0;
    acu_module *module;
    acu_kernel *loaded;
    if (acu_device_get_count(&devices) || devices == 0) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    if (acu_sim_register)
        acu_sim_register("nothing", nothing);
    prepare();
    if (complain("preparing"))
        return 1;
    if (acu_module_load(0, &(acu_module_source){.ptx = ptx}, &module) ||
        acu_module_get_kernel(module, "nothing", &loaded)) {
        fprintf(stderr, "%s\n", acu_last_error_message());
        return 1;
    }
    kernel = acu_kernel_raw(loaded);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        time_call(calls[i].name, calls[i].fn, calls[i].most);
    time_launches();
    time_copies();
    time_graphs();
    return 0;
}
