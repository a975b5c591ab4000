/* What concerns a whole process: configuration, leaks, exit and fork. Each test has its own
 * process. */
#include "sim_test.h"

#include <anycuda/anycuda.h>
#include <anycuda/cuda.h>
#include <anycuda/supports.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char said[4096];

/* Runs it in a process of its own, with that configuration; returns how it ended, and what it said.
 */
static int alone(const char *configuration, int (*body)(void)) {
    int ends[2], status = -1;
    size_t used = 0;
    ssize_t got;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        setenv("ANYCUDA_SIM", configuration, 1);
        exit(body());
    }
    close(ends[1]);
    while (used + 1 < sizeof said && (got = read(ends[0], said + used, sizeof said - used - 1)) > 0)
        used += (size_t)got;
    said[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int count_devices(void) {
    int count = 99;
    return cudaGetDeviceCount(&count) == cudaErrorNoDevice ? 0 : count;
}

TEST(reads_the_environment) {
    assert_int_equal(alone("devices=5", count_devices), 5);
    assert_string_equal(said, "");
}

TEST(mistakes_are_said_in_one_line) {
    assert_int_equal(alone("devices=many", count_devices), 1);
    assert_string_equal(
        said, "anycuda: ANYCUDA_SIM: \"devices=many\" is ignored: expected a number from 0 to "
              "64\n");
    assert_int_equal(alone("devises=2,devices=3", count_devices), 3);
    assert_string_equal(
        said, "anycuda: ANYCUDA_SIM: \"devises=2\" is ignored: expected one of devices, memory, "
              "budget, cc, runtime, driver, leaks, guard, seed, check, profile, trap, "
              "jit, level, threads, timeout\n");
    assert_int_equal(alone("timeout=soon", count_devices), 1);
    assert_non_null(strstr(said, "\"timeout=soon\" is ignored: expected a number of seconds"));
    assert_int_equal(alone("threads=0,jit=yes", count_devices), 1);
    assert_non_null(strstr(said, "\"threads=0\" is ignored: expected a number from 1 to 1024"));
    assert_non_null(strstr(said, "\"jit=yes\" is ignored: expected 0, 1, always or avx2"));
    assert_int_equal(alone("level=avx,devices=2", count_devices), 2);
    assert_string_equal(said, "anycuda: ANYCUDA_SIM: \"level=avx\" is ignored: expected baseline, "
                              "avx2 or avx512\n");
    assert_int_equal(alone("level=avx512,devices=2", count_devices), 2);
    if (*said)
        assert_non_null(strstr(said, "\"level=avx512\" is ignored: the processor has no AVX"));
    assert_int_equal(alone("seed=7,seed=x,cc=13.0", count_devices), 1);
    assert_non_null(strstr(said, "\"seed=x\" is ignored: expected a number below 2^64"));
    assert_non_null(strstr(said, "\"cc=13.0\" is ignored: expected a compute capability"));
    char value[600] = "seed=";
    memset(value + 5, '0', sizeof value - 6);
    assert_int_equal(alone(value, count_devices), 1);
    assert_non_null(strstr(said, "is ignored: expected something shorter"));
    assert_int_equal(alone("profile=2,devices=2", count_devices), 2);
    assert_non_null(strstr(said, "\"profile=2\" is ignored: expected 0, 1, or the name of a file "
                                 "that ends with .json"));
    assert_int_equal(alone("trap=sum,devices=2", count_devices), 2);
    assert_non_null(strstr(said, "\"trap=sum\" is ignored: expected KERNEL:LINE of the PTX or "
                                 "KERNEL:FILE:LINE, with xTIMES or without"));
    static const char *const wrong[] = {"trap=sum:",   "trap=:4",     "trap=sum::4",
                                        "trap=sum:4x", "trap=sum:0",  "trap=sum:4x0",
                                        "trap=sum:-1", "trap=sum:4y", "trap=sum:99999999999"};
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        alone(wrong[n], count_devices);
        assert_non_null(strstr(said, "is ignored: expected KERNEL:LINE of the PTX"));
    }
    assert_int_equal(alone("profile=.json,devices=2", count_devices), 2);
    assert_non_null(strstr(said, "\"profile=.json\" is ignored: expected 0, 1, or the name"));
    assert_int_equal(alone("memory=8,cc=9,runtime=10.2", count_devices), 1);
    assert_non_null(strstr(said, "\"cc=9\" is ignored: expected a compute capability"));
    char range[80];
    snprintf(range, sizeof range, "expected a CUDA version from 11.7 to %d.%d, like",
             acu_sim_abi() / 1000, acu_sim_abi() % 1000 / 10);
    assert_non_null(strstr(said, "\"runtime=10.2\" is ignored: expected a CUDA version"));
    assert_non_null(strstr(said, range));
    assert_int_equal(alone("seed=18446744073709551616", count_devices), 1);
    assert_non_null(strstr(said, "expected a number below 2^64"));
    assert_int_equal(alone("devices", count_devices), 1);
    assert_non_null(strstr(said, "as key=value"));
    assert_int_equal(alone("check=race,memory,devices=2", count_devices), 2);
    assert_string_equal(said, "");
    assert_int_equal(alone("check=race,races,devices=2", count_devices), 2);
    assert_string_equal(said, "anycuda: ANYCUDA_SIM: \"races\" is ignored: expected memory, race, "
                              "init and sync, or some of them, or all\n");
    assert_int_equal(alone("check=all,devices=2", count_devices), 2);
    assert_string_equal(said, "");
}

static int memory_in_mib(void) {
    size_t free_, total = 0;
    (void)cudaMemGetInfo(&free_, &total);
    return (int)(total >> 20);
}

static int allocates(void) {
    void *memory;
    return (int)cudaMalloc(&memory, (size_t)1 << 40);
}

TEST(sizes) {
    assert_int_equal(alone("memory=64MiB", memory_in_mib), 64);
    assert_int_equal(alone("memory=64MiB,memory=17TiB", memory_in_mib), 64);
    assert_non_null(strstr(said, "\"memory=17TiB\" is ignored: expected a size up to 16TiB"));
    assert_int_equal(alone("memory=16TiB", allocates), cudaSuccess);
    assert_int_equal(alone("memory=134217728", memory_in_mib), 128);
    assert_int_equal(alone("memory=32M", memory_in_mib), 32);
}

static int reports(void) {
    return acu_loaded(ACU_CUDART) ? acu_loaded(ACU_CUDART)->version / 100 : 0;
}

static int loads_and_reports(void) {
    return acu_load(NULL) ? 0 : reports();
}

static int allocates_without_addresses(void) {
    const struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    void *memory;
    if (setrlimit(RLIMIT_AS, &limit))
        return 1;
    int code = (int)cudaMalloc(&memory, 1000);
    return code && !strstr(acu_last_error_message(), "cannot reserve twice") ? 1 : code;
}

TEST(a_process_may_be_short_of_addresses) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("a sanitizer reserves addresses of its own\n");
    skip();
#endif
    assert_int_equal(alone("memory=8GiB", allocates_without_addresses), 2);
    assert_non_null(strstr(said, "ulimit -v"));
    assert_int_equal(alone("memory=1GiB", allocates_without_addresses), 0);
    assert_string_equal(said, "");
}

/* Loads a kernel that ends in a trap; NULL where that fails. */
static CUfunction a_trap(void) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    return cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
                   cuCtxSetCurrent(context) ||
                   cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n.address_size 64\n"
                                             ".entry k() {\ntrap;\n}\n") ||
                   cuModuleGetFunction(&function, module, "k")
               ? NULL
               : function;
}

/* Leaves the process no address for the stack of one more thread. */
static int limit_addresses(void) {
    char line[128] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    const bool read = file && fgets(line, sizeof line, file);
    if (file)
        (void)fclose(file);
    const rlim_t most = (rlim_t)strtoul(line, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 20);
    return !read || setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
}

static int launches_without_threads(void) {
    cudaStream_t stream;
    CUfunction function = a_trap();
    if (!function || cudaStreamCreate(&stream) || limit_addresses())
        return 99;
    const int code = (int)cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    return strstr(acu_last_error_message(), "refuses one more thread") ? code : 98;
}

TEST(a_process_may_be_short_of_threads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("a sanitizer reserves addresses of its own\n");
    skip();
#endif
    assert_int_equal(alone("", launches_without_threads), CUDA_ERROR_OUT_OF_MEMORY);
}

/* Launches a kernel that never ends. */
static int goes_round(void) {
    CUmodule module;
    CUfunction function;
    CUcontext context;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
                   cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n.address_size 64\n"
                                             ".entry k() {\nL:\nbra L;\n}\n") ||
                   cuModuleGetFunction(&function, module, "k") ||
                   cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)
               ? 99
               : (int)cuCtxSynchronize() % 256;
}

/* Also with a profile, whose counts stand before the instructions. */
TEST(a_kernel_that_takes_too_long_is_somewhere) {
    static const char *const ways[] = {"timeout=0.05", "timeout=0.05,profile=/dev/null",
                                       "timeout=0.05,jit=0", "timeout=0.05,check=race"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(alone(ways[i], goes_round), CUDA_ERROR_LAUNCH_TIMEOUT % 256);
        assert_non_null(strstr(said, "bra in line 6 of the PTX"));
    }
}

/* Waits for the kernel; returns 0 if the launch returned its error, 1 if only the wait does. */
static int who_says(CUresult launched) {
    const CUresult waited = cuCtxSynchronize();
    return waited != CUDA_ERROR_LAUNCH_FAILED ? 98 : launched == waited ? 0 : 1;
}

static int launches_a_trap(void) {
    CUfunction function = a_trap();
    return function ? who_says(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
                    : 99;
}

static int launches_a_graph_with_a_trap(void) {
    const CUDA_KERNEL_NODE_PARAMS params = {a_trap(), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL, NULL};
    CUgraphNode node;
    CUgraph graph;
    CUgraphExec exec;
    if (cuGraphCreate(&graph, 0) || cuGraphAddKernelNode(&node, graph, NULL, 0, &params) ||
        cuGraphInstantiate(&exec, graph, 0))
        return 99;
    return who_says(cuGraphLaunch(exec, NULL));
}

TEST(launches_that_block) {
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    assert_int_equal(alone("devices=1", launches_a_trap), 0);
    assert_int_equal(alone("devices=1,seed=3", launches_a_trap), 0);
    assert_int_equal(alone("devices=1", launches_a_graph_with_a_trap), 0);
    setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
    assert_int_equal(alone("devices=1,seed=3", launches_a_trap), 1);
    unsetenv("CUDA_LAUNCH_BLOCKING");
}

/* What an H100 with a driver 13.0 answered. */
static int with_visible(const char *configuration, const char *visible) {
    setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    int count = alone(configuration, count_devices);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return count;
}

TEST(only_visible_devices_are_there) {
    assert_int_equal(with_visible("devices=4", "1,3"), 2);
    assert_int_equal(with_visible("devices=4", "2,7,0"),
                     1); /* the first bad number ends the list */
    assert_int_equal(with_visible("devices=4", ""), 0);
    assert_int_equal(with_visible("devices=4", "-1"), 0);
    assert_int_equal(with_visible("devices=4", "0,1,2,3"), 4);
    assert_int_equal(with_visible("devices=4", " 0x,+1 ,,2"), 2);
    assert_int_equal(with_visible("devices=4", ",0"), 0);
    assert_int_equal(with_visible("devices=4", "GPU-0"), 0);
    assert_int_equal(with_visible("devices=4", "0,1,0"), 99); /* cudaErrorInvalidDevice */
}

TEST(the_loader_hears_the_version) {
    assert_int_equal(alone("runtime=12.4", loads_and_reports), 120);
    assert_int_equal(alone("", loads_and_reports), 130);
}

/* Every call on every reported runtime: the ABI is the same. */
static int uses_it(void) {
    struct cudaDeviceProp p;
    struct cudaPointerAttributes a;
    void *memory;
    cudaStream_t stream;
    char back = 0;
    if (cudaGetDeviceProperties(&p, 0) || p.major != 9 || p.multiProcessorCount != 132)
        return 1;
    if (cudaMalloc(&memory, 100) || cudaPointerGetAttributes(&a, memory) ||
        a.type != cudaMemoryTypeDevice || a.devicePointer != memory)
        return 2;
    if (cudaStreamCreate(&stream) || cudaMemsetAsync(memory, 4, 100, stream) ||
        cudaMemcpyAsync(&back, memory, 1, cudaMemcpyDeviceToHost, stream) || back != 4)
        return 3;
    return cudaStreamDestroy(stream) || cudaFree(memory) ? 4 : 0;
}

TEST(every_reported_runtime) {
    static const char *const runtimes[] = {"11.7", "11.8", "12.0", "12.1", "12.2", "12.3",
                                           "12.4", "12.5", "12.6", "12.8", "12.9", "13.0",
                                           "13.1", "13.2", "13.3", "13.4", "13.5"};
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        char configuration[32];
        snprintf(configuration, sizeof configuration, "runtime=%s", runtimes[i]);
        assert_int_equal(alone(configuration, uses_it), 0);
    }
}

static int newer_call(void) {
    unsigned long long id;
    return cudaStreamGetId(0, &id) == cudaErrorNotSupported &&
                   strstr(acu_last_error_message(), "12.0")
               ? 0
               : 1;
}

TEST(an_older_runtime_lacks_functions) {
    assert_int_equal(alone("runtime=11.8", newer_call), 0);
}

static int leaks(void) {
    void *memory;
    cudaStream_t stream;
    return cudaMalloc(&memory, 12345) || cudaStreamCreate(&stream) || acu_sim_leaks(0) != 2;
}

TEST(leaks_are_reported_at_exit) {
    assert_int_equal(alone("leaks=1", leaks), 0);
    assert_non_null(strstr(said, "leaked: device memory"));
    assert_non_null(strstr(said, "12345 bytes"));
    assert_non_null(strstr(said, "leaked: stream"));
    const char *chain = strstr(said, "made at sim_process+0x");
    assert_non_null(chain);
    assert_non_null(strstr(chain, ", from sim_process+0x"));
    assert_int_equal(alone("leaks=0", leaks), 0);
    assert_string_equal(said, "");
}

static int leaks_memory_of_a_graph(void) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    void *memory;
    return cudaStreamCreate(&stream) ||
           cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) ||
           cudaMallocAsync(&memory, 12345, stream) || cudaStreamEndCapture(stream, &graph) ||
           cudaGraphInstantiate(&exec, graph, 0) || cudaGraphLaunch(exec, stream) ||
           cudaStreamSynchronize(stream) || cudaGraphExecDestroy(exec) || cudaGraphDestroy(graph) ||
           cudaStreamDestroy(stream) || acu_sim_leaks(0) != 1;
}

TEST(leaked_memory_of_a_graph_has_a_place) {
    assert_int_equal(alone("leaks=1", leaks_memory_of_a_graph), 0);
    assert_non_null(strstr(said, "12345 bytes, made at sim_process+0x"));
}

static void take_20_ms(void *unused) {
    const struct timespec time = {.tv_nsec = 20000000};
    (void)unused;
    (void)nanosleep(&time, NULL);
}

static int releases_beside_a_launch(void) {
    acu_stream *stream = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_buffer *buffer = NULL;
    if (acu_stream_create(0, NULL, &stream) || acu_buffer_create(stream, ACU_F32, 1000, &buffer) ||
        acu_stream_begin_capture(stream, NULL) || acu_buffer_zero(buffer, stream) ||
        acu_stream_call_function(stream, take_20_ms, NULL) ||
        acu_stream_end_capture(stream, &graph) || acu_graph_instantiate(graph, NULL, &exec) ||
        acu_exec_launch(exec, stream))
        return 1;
    return acu_exec_release(exec) || acu_graph_release(graph) || acu_buffer_release(buffer) ||
           acu_stream_release(stream);
}

TEST(what_waits_for_work_at_exit_is_no_leak) {
    assert_int_equal(alone("leaks=1", releases_beside_a_launch), 0);
    assert_string_equal(said, "");
}

static void late_call(void) {
    void *memory;
    fprintf(stderr, "late: %d\n", cudaMalloc(&memory, 10));
}

static int calls_late(void) {
    (void)atexit(late_call); /* before CUDA's own: runs after it */
    return cudaFree(NULL);
}

TEST(after_exit_began_cuda_is_gone) {
    assert_int_equal(alone("", calls_late), 0);
    assert_string_equal(said, "late: 4\n");
}

static int exits_with_work(void) {
    static blocker g; /* outlives the function; never opened */
    cudaStream_t stream;
    void *memory;
    if (cudaStreamCreate(&stream) || cudaMalloc(&memory, 1 << 20))
        return 1;
    (void)cudaLaunchHostFunc(stream, wait_until_unblocked, &g);
    (void)cudaMemsetAsync(memory, 0, 1 << 20, stream);
    return 0;
}

TEST(exit_does_not_wait_for_work) {
    assert_int_equal(alone("", exits_with_work), 0);
}

static int forks(void) {
    int status = -1;
    void *memory;
    if (cudaMalloc(&memory, 10))
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(cudaMalloc(&memory, 10));
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* What the parent has not freed yet is not the child's to free. */
static int forks_with_memory(void) {
    void *memory;
    int code = (int)cudaMalloc(&memory, 4), status = 1;
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, &status, 0);
    return code ? code : status ? status : (int)cudaFree(memory);
}

TEST(a_forked_child_reports_no_leak) {
    assert_int_equal(alone("leaks=1", forks_with_memory), 0);
    assert_null(strstr(said, "leaked"));
}

TEST(a_forked_child_cannot_go_on) {
    assert_int_equal(alone("", forks), cudaErrorInitializationError);
}

/* Says what each API says in the child, of a call that needs a context and of one that does not,
 * and what acu_supports() says of a device. */
static int forks_and_tells(void) {
    int status = -1, count;
    void *memory;
    CUdeviceptr address;
    if (cudaMalloc(&memory, 10))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        (void)cudaMalloc(&memory, 10);
        fprintf(stderr, "%s\n", acu_last_error_message());
        (void)cudaSetDevice(0);
        fprintf(stderr, "%s\n", acu_last_error_message());
        (void)cuMemAlloc(&address, 10);
        fprintf(stderr, "%s\n", acu_last_error_message());
        (void)cuDeviceGetCount(&count);
        fprintf(stderr, "%s\n", acu_last_error_message());
        const int supports = acu_supports(ACU_FEATURE_CLUSTER_LAUNCH, 0);
        fprintf(stderr, "%s\n", acu_last_error_message());
        _exit(supports == cudaErrorInitializationError ? 0 : 98);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

#define FORKED                                                                                     \
    "this process was forked by one that had used CUDA, which does not work in the child: use "    \
    "CUDA after the fork only, or exec() a program in the child"

TEST(a_forked_child_is_told_why) {
    assert_int_equal(alone("", forks_and_tells), 0);
    assert_non_null(
        strstr(said, "cudaMalloc failed with cudaErrorInitializationError (3): " FORKED "; "));
    assert_non_null(
        strstr(said, "cudaSetDevice failed with cudaErrorInitializationError (3): " FORKED "; "));
    assert_non_null(
        strstr(said, "cuMemAlloc failed with CUDA_ERROR_NOT_INITIALIZED (3): " FORKED "; "));
    assert_non_null(
        strstr(said, "cuDeviceGetCount failed with CUDA_ERROR_NOT_INITIALIZED (3): " FORKED "; "));
    assert_non_null(strstr(said, "thread block clusters: cuInit failed with "
                                 "CUDA_ERROR_NOT_INITIALIZED (3): " FORKED "\n"));
}

/* The driver's same error without a fork has another reason, which the code itself says. */
static int allocates_before_init(void) {
    CUdeviceptr address;
    const int code = (int)cuMemAlloc(&address, 10);
    return strstr(acu_last_error_message(), "fork") ? 99 : code;
}

TEST(a_process_that_did_not_fork_is_not_told_so) {
    assert_int_equal(alone("", allocates_before_init), CUDA_ERROR_NOT_INITIALIZED);
}

/* The process's first call of CUDA; and what an H100 said in a child after it, with 13.0, 12.4 and
 * 11.8: the code of cudaSetDevice(), of cudaGetDeviceCount() and of cuInit(). */
static void first_call(int which) {
    int number;
    unsigned flags;
    const char *text;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    switch (which) {
    case 0:
        (void)!acu_load(NULL);
        (void)!acu_supports(ACU_FEATURE_STREAM_IDS, -1);
        (void)cuDriverGetVersion(&number);
        (void)cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text);
        break;
    case 1:
        (void)cudaGetErrorString(cudaErrorInvalidValue);
        break;
    case 2:
        (void)cudaGetLastError();
        break;
    case 3:
        (void)cudaPeekAtLastError();
        break;
    case 4:
        (void)cudaDriverGetVersion(&number);
        break;
    case 5:
        (void)cudaThreadExchangeStreamCaptureMode(&mode);
        break;
    case 6:
        (void)cudaGetDevice(&number);
        break;
    case 7:
        (void)cudaGetDeviceFlags(&flags);
        break;
    case 8:
        (void)cudaGetDeviceCount(&number);
        break;
    case 9:
        (void)cudaInitDevice(0, 0, 0);
        break;
    case 10:
        (void)cuInit(0);
        break;
    default:
        (void)cudaRuntimeGetVersion(&number);
    }
}

static int first; /* which call is the first one */

/* Returns the codes of the child in a number: of cudaSetDevice(), of cudaGetDeviceCount(), and of
 * cuInit(). */
static int codes_in_a_child(void) {
    int status = -1, count = -1;
    first_call(first);
    pid_t child = fork();
    if (child == 0) {
        const int set = (int)cudaSetDevice(0), counted = (int)cudaGetDeviceCount(&count);
        _exit(set * 16 + counted * 4 + (int)cuInit(0) + (!counted && count != 1 ? 64 : 0));
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int codes_after(int which, const char *configuration) {
    first = which;
    return alone(configuration, codes_in_a_child);
}

TEST(whatever_initializes_the_driver_does_not_survive_a_fork) {
    enum { FINE = 0, FORGOTTEN = 3 * 16 + 3, ALL_FAIL = 3 * 16 + 3 * 4 + 3 };
    assert_int_equal(codes_after(0, ""), FINE);
    assert_int_equal(codes_after(0, "runtime=11.8"), FINE);
    for (int which = 1; which <= 9; which++)
        assert_int_equal(codes_after(which, ""), FORGOTTEN); /* but for the number of devices */
    assert_int_equal(codes_after(10, ""), ALL_FAIL);
    assert_int_equal(codes_after(11, ""), FINE);
    assert_int_equal(codes_after(11, "runtime=12.4"), FINE);
    assert_int_equal(codes_after(11, "runtime=11.8"), FORGOTTEN);
}

static atomic_int enough;

static void *make_events(void *unused) {
    cudaEvent_t event;
    while (!atomic_load(&enough))
        if (cudaEventCreate(&event) || cudaEventDestroy(event))
            break;
    return unused;
}

/* A lock that another thread has at the fork is never given up in the child. */
#if defined(__SANITIZE_ADDRESS__)
enum { THREADS = 3, FORKS = 30 }; /* a fork copies the tables of AddressSanitizer's memory */
#else
enum { THREADS = 3, FORKS = 300 };
#endif
static int forks_beside_threads(void) {
    pthread_t threads[THREADS];
    cudaEvent_t event;
    cudaStream_t bound; /* what binds the functions is not the simulator's */
    int code = cudaEventCreate(&event) || cudaEventDestroy(event) || cudaStreamCreate(&bound) ||
               cudaStreamDestroy(bound);
    int status;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_events, NULL);
    for (int i = 0; i < FORKS && !code; i++) {
        cudaStream_t stream;
        pid_t child = fork();
        if (child == 0) {
            alarm(60); /* it hangs */
            _exit(cudaStreamCreate(&stream) != cudaErrorInitializationError);
        }
        waitpid(child, &status, 0);
        code = status ? 1 : 0;
    }
    atomic_store(&enough, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return code;
}

TEST(a_child_waits_for_no_thread_of_its_parent) {
    assert_int_equal(alone("", forks_beside_threads), 0);
    assert_int_equal(alone("leaks=1", forks_beside_threads), 0);
}

#define P(name) cmocka_unit_test(name)

int main(void) {
    const struct CMUnitTest tests[] = {
        P(reads_the_environment),
        P(mistakes_are_said_in_one_line),
        P(sizes),
        P(a_process_may_be_short_of_addresses),
        P(a_process_may_be_short_of_threads),
        P(a_kernel_that_takes_too_long_is_somewhere),
        P(only_visible_devices_are_there),
        P(launches_that_block),
        P(the_loader_hears_the_version),
        P(every_reported_runtime),
        P(an_older_runtime_lacks_functions),
        P(leaks_are_reported_at_exit),
        P(leaked_memory_of_a_graph_has_a_place),
        P(what_waits_for_work_at_exit_is_no_leak),
        P(after_exit_began_cuda_is_gone),
        P(exit_does_not_wait_for_work),
        P(a_forked_child_reports_no_leak),
        P(a_forked_child_cannot_go_on),
        P(a_forked_child_is_told_why),
        P(a_process_that_did_not_fork_is_not_told_so),
        P(whatever_initializes_the_driver_does_not_survive_a_fork),
        P(a_child_waits_for_no_thread_of_its_parent),
    };
    return RUN(tests);
}
