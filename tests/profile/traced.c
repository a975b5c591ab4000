/*
 * A program whose trace check_trace.py looks at: `traced CASE`. Each case is a function of that
 * name. The program prints what the check cannot know otherwise, and says what fails.
 */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <anycuda/anycuda.h>
#include <anycuda/cuda.h>
#include <anycuda/cudart.h>
#include <anycuda/sim.h>

enum { N = 256, THREADS = 4, MARKS = 50 };

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != 0) {                                                                         \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void sleep_20_ms(void *unused) {
    (void)unused;
    usleep(20000);
}

/* Two streams, one of which waits for a host function, and a copy in the other direction. */
static void work(void) {
    float numbers[N] = {1};
    acu_stream *a = NULL, *b = NULL;
    acu_buffer *x = NULL;
    OK(acu_stream_create(0, NULL, &a));
    OK(acu_stream_create(0, NULL, &b));
    OK(acu_thread_set_name("the \"main\" thread"));
    OK(acu_stream_set_name(a, "early"));
    OK(acu_buffer_create(a, ACU_F32, N, &x));
    OK(cudaLaunchHostFunc(acu_stream_raw(b), sleep_20_ms, NULL));
    OK(acu_buffer_write(x, numbers, N));
    OK(acu_buffer_zero(x, NULL));
    OK(acu_stream_set_name(a, "uploads"));
    OK(acu_stream_synchronize(a));
    OK(acu_stream_synchronize(b));
    if (cudaMalloc(NULL, 16) == cudaSuccess)
        exit(1);
    OK(acu_buffer_release(x));
    OK(acu_stream_release(b));
    OK(acu_stream_release(a));
    if (acu_sim_leaks(1))
        exit(1);
}

/* Nothing but what the program does may be in its graph. */
static void capture(void) {
    acu_stream *stream = NULL, *other = NULL;
    acu_buffer *x = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    size_t count = 0;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_create(0, NULL, &other));
    OK(acu_buffer_create(stream, ACU_F32, N, &x));
    OK(cudaStreamBeginCapture(acu_stream_raw(stream), cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(acu_buffer_raw(x), 0, 4, acu_stream_raw(stream)));
    OK(cudaLaunchHostFunc(acu_stream_raw(other), sleep_20_ms, NULL)); /* is not captured */
    OK(cudaMemsetAsync(acu_buffer_raw(x), 1, 4, acu_stream_raw(stream)));
    cudaGraph_t raw = NULL;
    OK(cudaStreamEndCapture(acu_stream_raw(stream), &raw));
    OK(acu_graph_adopt(raw, &graph));
    OK(acu_graph_get_nodes(graph, NULL, &count));
    printf("%zu\n", count);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_stream_synchronize(other));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(x));
    OK(acu_stream_release(other));
    OK(acu_stream_release(stream));
    if (acu_sim_leaks(1))
        exit(1);
}

/* Names that are no UTF-8, or must be escaped, or are long; ranges of each kind. */
static void ranges(void) {
    static char is_long[5000];
    uint64_t range = 0;
    acu_domain *domain = NULL;
    memset(is_long, '"', sizeof is_long - 1);
    OK(acu_domain_create("solver", &domain));
    OK(acu_range_push(domain, "outer", &(acu_range_options){.category = 3}));
    OK(acu_range_push(NULL, "\xff\xc3\xa4 \"\\\n\x01 \xed\xa0\x80 \xe2\x82", NULL));
    OK(acu_range_start(NULL, "apart", NULL, &range));
    OK(acu_range_pop(NULL));
    OK(acu_range_mark(domain, is_long,
                      &(acu_range_options){.payload = ACU_PAYLOAD_I64, .number.i64 = -2}));
    OK(acu_range_end(NULL, range));
    OK(acu_range_pop(domain));
    OK(acu_domain_release(domain));
}

/* Ranges of two domains that overlap, a range that nobody began, and one that a call encloses at
 * its begin only. */
static acu_result begin_in_call(acu_stream *stream, void *data) {
    (void)stream;
    return acu_range_push(data, "from the call", NULL);
}

static void domains(void) {
    acu_domain *a = NULL, *b = NULL;
    acu_stream *stream = NULL;
    acu_graph *graph = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_domain_create("a", &a));
    OK(acu_domain_create("b", &b));
    OK(acu_range_pop(a));
    OK(acu_range_push(a, "first of a", NULL));
    OK(acu_range_push(b, "of b", NULL));
    OK(acu_range_pop(NULL));
    OK(acu_range_pop(a)); /* while that of b goes on */
    OK(acu_range_pop(b));
    OK(acu_range_pop(b));
    OK(acu_stream_capture(stream, NULL, begin_in_call, b, &graph));
    OK(acu_range_pop(b));
    for (int i = 0; i < 100; i++)
        OK(acu_range_push(a, "deep", NULL));
    for (int i = 0; i < 100; i++)
        OK(acu_range_pop(a));
    OK(acu_range_push(a, "is not ended", NULL));
    OK(acu_graph_release(graph));
    OK(acu_domain_release(a));
    OK(acu_domain_release(b));
    OK(acu_stream_release(stream));
}

static void *mark_often(void *name) {
    for (int i = 0; i < MARKS; i++)
        OK(acu_range_mark(NULL, name, NULL));
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++)
        OK(pthread_create(&all[i], NULL, mark_often, "t"));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(all[i], NULL));
}

/* Parents and children write to one file. */
static void forks(void) {
    OK(acu_range_mark(NULL, "parent", NULL));
    for (int i = 0; i < THREADS; i++)
        if (fork() == 0) {
            (void)mark_often("child");
            _exit(0);
        }
    (void)mark_often("parent");
    while (wait(NULL) > 0) {
    }
}

static void *name_and_mark(void *name) {
    if (name)
        OK(acu_thread_set_name(name));
    OK(acu_range_mark(NULL, "mark", NULL));
    OK(cudaPeekAtLastError());
    return NULL;
}

static void mark_in_thread(char *name) {
    pthread_t thread;
    OK(pthread_create(&thread, NULL, name_and_mark, name));
    OK(pthread_join(thread, NULL));
}

/* Threads that have names, or none, one after the other: the system may reuse what one had. The
 * first name is given while there is no trace. */
static void named(void) {
    static char is_long[] = "0123456789012345678901234567890123456789012345\xc3\xa4 is cut";
    char kept[] = "reused", *given = kept;
    OK(acu_trace_to(NULL));
    if (acu_thread_set_name(NULL) != ACU_ERROR_ARGUMENT)
        exit(1);
    OK(acu_thread_set_name(given));
    memset(given, '!', sizeof kept - 1); /* the name was copied */
    OK(acu_trace_to(getenv("ANYCUDA_TRACE")));
    (void)name_and_mark(NULL);
    mark_in_thread("a \"name\"\n");
    mark_in_thread(NULL);
    mark_in_thread(is_long);
    if (fork() == 0) {
        (void)name_and_mark(NULL);
        _exit(0);
    }
    (void)wait(NULL);
    (void)name_and_mark("");
}

/* The process is killed while it writes. */
static void dies(void) {
    pid_t child = fork();
    if (child == 0)
        for (;;)
            OK(acu_range_mark(NULL, "a mark", NULL));
    struct stat file = {.st_size = 0};
    while (file.st_size < 100000)
        (void)stat(getenv("ANYCUDA_TRACE"), &file);
    kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* The driver API, the default streams, and a reset of the device in between. */
static void driver(void) {
    CUdeviceptr memory = 0;
    void *other = NULL;
    OK(cudaMalloc(&other, 64));
    OK(cudaMemsetAsync(other, 0, 64, NULL));
    OK(cudaMemsetAsync(other, 0, 64, cudaStreamPerThread));
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceReset());
    OK(cuInit(0));
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&other, 64));
    OK(cuMemAlloc(&memory, 64));
    OK(cuMemsetD8Async(memory, 1, 64, NULL));
    OK(cuStreamSynchronize(NULL));
    if (cudaGetLastError() != cudaSuccess)
        exit(1);
    OK(cuMemFree(memory));
    OK(cudaFree(other));
}

/* Work before and after a checkpoint of this process, over which events of the trace stay. */
static void checkpoint(void) {
    const int self = (int)getpid();
    int number = 5, back = 0;
    acu_stream *stream = NULL;
    acu_buffer *x = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create(stream, ACU_I32, 1, &x));
    OK(acu_buffer_write(x, &number, 1));
    OK(cudaLaunchHostFunc(acu_stream_raw(stream), sleep_20_ms, NULL)); /* goes on meanwhile */
    OK(acu_process_lock(self, 1000));
    OK(acu_process_checkpoint(self));
    OK(acu_process_restore(self, NULL, 0));
    OK(acu_process_unlock(self));
    OK(acu_buffer_zero(x, NULL));
    OK(acu_buffer_write(x, &number, 1));
    OK(acu_buffer_read(x, &back, 1));
    printf("%d\n", back);
    OK(acu_buffer_release(x));
    OK(acu_stream_release(stream));
    if (acu_sim_leaks(1))
        exit(1);
}

int main(int count, char **args) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"work", work},     {"capture", capture},
                 {"ranges", ranges}, {"threads", threads},
                 {"forks", forks},   {"dies", dies},
                 {"named", named},   {"domains", domains},
                 {"driver", driver}, {"checkpoint", checkpoint}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (count > 1 && strcmp(args[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr,
            "traced work|capture|ranges|threads|forks|dies|named|domains|driver|checkpoint\n");
    return 2;
}
