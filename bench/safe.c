/*
 * The safe layer against the raw calls that do the same, in pairs within one process, on whatever
 * runtime is loaded. Prints a table in Markdown. Exits with 77 where there is no device.
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/cuda.h>
#include <anycuda/cudart.h>
#include <anycuda/sim.h>

#include <stdio.h>
#include <stdlib.h>

enum { QUEUED = 400, BYTES = 1024 };

/* This reference is weak, because the program also runs without the simulator. */
__attribute__((weak)) int acu_sim_register(const char *name, acu_sim_kernel function);

static acu_stream *stream;
static acu_buffer *memory;
static acu_module *module;
static acu_kernel *kernel;
static cudaStream_t raw_stream;
static void *raw_memory;
static float number;

static void give_up(const char *call) {
    acu_error released;
    bool kept = acu_release_error(&released) > 0;
    fprintf(stderr, "%s: %s\n", call, kept ? released.message : acu_last_error_message());
    exit(1);
}

/* Each result is looked at, as a program would. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call)                                                                                  \
            give_up(#call);                                                                        \
    } while (0)
#define LOOP(name, ...)                                                                            \
    static void name(long calls) {                                                                 \
        for (long i = 0; i < calls; i++) {                                                         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static void synchronize(void) {
    OK(cudaStreamSynchronize(raw_stream));
    OK(acu_stream_synchronize(stream));
}

LOOP(raw_create, void *made; OK(cudaMallocAsync(&made, BYTES, raw_stream));
     OK(cudaFreeAsync(made, raw_stream));)
LOOP(safe_create, acu_buffer *made; OK(acu_buffer_create(stream, ACU_F32, BYTES / 4, &made));
     OK(acu_buffer_release(made));)

LOOP(raw_write, OK(cudaMemcpyAsync(raw_memory, &number, 4, cudaMemcpyHostToDevice, raw_stream));
     OK(cudaStreamSynchronize(raw_stream));)
LOOP(safe_write, OK(acu_buffer_write(memory, &number, 1));)

LOOP(raw_read, OK(cudaMemcpyAsync(&number, raw_memory, 4, cudaMemcpyDeviceToHost, raw_stream));
     OK(cudaStreamSynchronize(raw_stream));)
LOOP(safe_read, OK(acu_buffer_read(memory, &number, 1));)

LOOP(raw_zero, OK(cudaMemsetAsync(raw_memory, 0, BYTES, raw_stream));)
LOOP(safe_zero, OK(acu_buffer_zero(memory, NULL));)

/* ---- a launch ---- */

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry nothing(.param .u64 a, .param .u64 b, .param .u32 n)\n"
                          "{\n    ret;\n}\n";

static void nothing(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
}

static const dim3 one = {1, 1, 1};
static int count = 7;
static void *raw_args[] = {&raw_memory, &raw_memory, &count};
static acu_grid grid;

LOOP(raw_launch, OK(cudaLaunchKernel(acu_kernel_raw(kernel), one, one, raw_args, 0, raw_stream));)
/* The driver's call beneath, with the same kernel, and with the function of it. */
static CUfunction function;
LOOP(kernel_launch, OK(cuLaunchKernel((CUfunction)acu_kernel_raw(kernel), 1, 1, 1, 1, 1, 1, 0,
                                      (CUstream)raw_stream, raw_args, NULL));)
LOOP(function_launch,
     OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, (CUstream)raw_stream, raw_args, NULL));)
LOOP(driver_launch, OK(cuLaunchKernel(acu_kernel_raw_driver(kernel), 1, 1, 1, 1, 1, 1, 0,
                                      (CUstream)raw_stream, raw_args, NULL));)
LOOP(safe_launch, OK(acu_launch(stream, kernel, grid, acu_in(memory), acu_out(memory), count));)
/* The same with the grid made at each launch, as most programs do. */
LOOP(sized_launch, OK(acu_launch(stream, kernel, acu_grid_1d((size_t)count, 256), acu_in(memory),
                                 acu_out(memory), count));)

static acu_exec *exec;

LOOP(raw_graph, OK(cudaGraphLaunch(acu_exec_raw(exec), raw_stream));)
LOOP(safe_graph, OK(acu_exec_launch(exec, stream));)

/* The graph has one kernel, which reads and writes one buffer. */
static void graph_launches(void) {
    acu_graph *graph;
    acu_node node;
    const acu_arg args[] = {acu_in(memory), acu_out(memory), acu_arg_of(count)};
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_kernel(graph, NULL, 0, kernel, &grid, args, 3, &node));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    compare("acu_exec_launch, against cudaGraphLaunch", raw_graph, safe_graph, QUEUED, synchronize);
    OK(acu_exec_release(exec));
}

static void launches(void) {
    grid = acu_grid_1d(1, 1);
    if (acu_sim_register && acu_sim_register("nothing", nothing))
        return;
    OK(acu_module_load(0, &(acu_module_source){.ptx = ptx}, &module));
    OK(acu_module_get_kernel(module, "nothing", &kernel));
    if (acu_kernel_raw(kernel)) {
        compare("acu_launch, against cudaLaunchKernel", raw_launch, safe_launch, QUEUED,
                synchronize);
        compare("acu_launch on acu_grid_1d, against cudaLaunchKernel", raw_launch, sized_launch,
                QUEUED, synchronize);
        OK(acu_kernel_get_function(kernel, &function));
        compare("cuLaunchKernel of the CUkernel, against cudaLaunchKernel", raw_launch,
                kernel_launch, QUEUED, synchronize);
        compare("cuLaunchKernel of the CUfunction, against cudaLaunchKernel", raw_launch,
                function_launch, QUEUED, synchronize);
    }
    if (acu_kernel_raw_driver(kernel) && cuDriverGetVersion(&count) == CUDA_SUCCESS)
        compare("acu_launch, against cuLaunchKernel", driver_launch, safe_launch, QUEUED,
                synchronize);
    graph_launches();
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
}

int main(void) {
    int devices = 0;
    if (acu_device_get_count(&devices) || devices == 0) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    acu_quarantine(0); /* as in a release build */
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create(stream, ACU_F32, BYTES / 4, &memory));
    /* The raw calls have a stream of their own: the safe layer asks a stream whose raw handle was
     * given out whether someone captures it. */
    OK(cudaStreamCreate(&raw_stream));
    raw_memory = acu_buffer_raw(memory);
    print_header("raw", "safe");
    compare("create and release, against cudaMallocAsync and cudaFreeAsync", raw_create,
            safe_create, QUEUED / 2, synchronize);
    compare("write of 4 bytes, against cudaMemcpyAsync and cudaStreamSynchronize", raw_write,
            safe_write, 0, synchronize);
    compare("read of 4 bytes, against cudaMemcpyAsync and cudaStreamSynchronize", raw_read,
            safe_read, 0, synchronize);
    compare("zero of 1 KiB, against cudaMemsetAsync", raw_zero, safe_zero, QUEUED, synchronize);
    launches();
    OK(acu_buffer_release(memory));
    OK(cudaStreamDestroy(raw_stream));
    OK(acu_stream_release(stream));
    return 0;
}
