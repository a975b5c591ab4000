/*
 * Nothing is allocated on the heap where a program does it often: record, wait, query, fill,
 * launch, and uses on two streams; and nothing else of CUDA is called than the call itself. CUDA is
 * a fake one, whose functions do nothing, so that all that is counted is ours.
 */
#include "fake_cuda.h"
#include "safe.h"

static size_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return __real_aligned_alloc(alignment, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    allocations++;
    return __real_realloc(memory, size);
}

static void often(acu_stream *a, acu_stream *b, acu_event *event, acu_buffer *x, acu_buffer *y,
                  acu_kernel *kernel) {
    float one_float = 1, back;
    OK(acu_event_record(event, a));
    OK(acu_event_query(event));
    OK(acu_event_synchronize(event));
    OK(acu_stream_wait_event(b, event));
    OK(acu_stream_query(a));
    OK(acu_stream_synchronize(a));
    OK(acu_stream_wait_stream(a, b));
    OK(acu_buffer_write(x, &one_float, 1));
    OK(acu_buffer_read(x, &back, 1));
    OK(acu_buffer_zero(x, NULL));
    OK(acu_buffer_copy(y, x, b));
    OK(acu_buffer_copy(x, y, a));
    OK(acu_buffer_begin_use(x, true, b));
    OK(acu_buffer_end_use(x, true, b));
    OK(acu_launch(a, kernel, acu_grid_1d(8, 8), acu_in(x), acu_out(y), 8));
    OK(acu_launch(b, kernel, acu_grid_2d(8, 8, 8, 8), acu_in(x), y, 8));
}

static void nothing_is_allocated_in_what_is_done_often(void **state) {
    (void)state;
    acu_stream *a = NULL, *b = NULL;
    acu_event *event = NULL;
    acu_buffer *x = NULL, *y = NULL;
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    load_fake_cuda();
    acu_quarantine(0); /* which a debug build has */
    OK(acu_stream_create(0, NULL, &a));
    OK(acu_stream_create(0, NULL, &b));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_buffer_create(a, ACU_F32, 8, &x));
    OK(acu_buffer_create(b, ACU_F32, 8, &y));
    OK(acu_module_load(0, &(acu_module_source){.ptx = ".version 7.0"}, &module));
    OK(acu_module_get_kernel(module, "kernel", &kernel));
    often(a, b, event, x, y, kernel); /* binds the calls */
    size_t before = allocations;
    for (int i = 0; i < 100; i++)
        often(a, b, event, x, y, kernel);
    assert_int_equal(allocations - before, 0);
    acu_buffer *another = NULL;
    OK(acu_buffer_create(a, ACU_F32, 8, &another));
    assert_int_equal(allocations - before, 1); /* and one for a buffer, */
    OK(acu_buffer_release(another));
    OK(acu_buffer_create(a, ACU_F32, 8, &another));
    assert_int_equal(allocations - before, 1); /* which the next one takes over */
    OK(acu_buffer_release(another));
    assert_int_equal(calls_of("cuLaunchKernel"), 2 * 101);
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
    OK(acu_event_release(event));
    OK(acu_buffer_release(x));
    OK(acu_buffer_release(y));
    OK(acu_stream_release(a));
    OK(acu_stream_release(b));
}

/* What is called by `call`: the one function, so many times. */
#define CALLS_ONLY(name, times, call)                                                              \
    do {                                                                                           \
        size_t all = calls_of("cu"), those = calls_of(name);                                       \
        call;                                                                                      \
        assert_int_equal(calls_of(name) - those, times);                                           \
        assert_int_equal(calls_of("cu") - all, times);                                             \
    } while (0)

/* There are two devices, and the stream's is not the current one, which does not matter to these.
 */
static void nothing_else_is_called(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_buffer *made = NULL;
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    float number = 1;
    devices_there = 2;
    OK(acu_module_load(1, &(acu_module_source){.ptx = ".version 7.0"}, &module));
    OK(acu_module_get_kernel(module, "kernel", &kernel));
    OK(acu_stream_create(1, NULL, &stream));
    OK(acu_buffer_create(stream, ACU_F32, 8, &made));
    CALLS_ONLY("cudaFreeAsync", 1, OK(acu_buffer_release(made)));
    CALLS_ONLY("cudaMallocAsync", 1, OK(acu_buffer_create(stream, ACU_F32, 8, &made)));
    size_t waits = calls_of("cudaStreamSynchronize");
    CALLS_ONLY("cudaStreamQuery", 1, OK(acu_stream_query(stream)));
    CALLS_ONLY("cudaStreamSynchronize", 1, OK(acu_stream_synchronize(stream)));
    /* Copies must make it current, and back again. */
    CALLS_ONLY("cuda", 5, OK(acu_buffer_write(made, &number, 1)));
    CALLS_ONLY("cuda", 5, OK(acu_buffer_read(made, &number, 1)));
    assert_int_equal(calls_of("cudaStreamSynchronize") - waits, 3);
    CALLS_ONLY("cuLaunchKernel", 1,
               OK(acu_launch(stream, kernel, acu_grid_1d(8, 8), acu_in(made), acu_out(made), 8)));
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
    OK(acu_buffer_release(made));
    OK(acu_stream_release(stream));
    devices_there = 1;
    OK(acu_stream_create(0, NULL, &stream)); /* so that this is known */
    OK(acu_stream_release(stream));
}

static void launch_on(acu_exec *exec, acu_stream *a, acu_stream *b) {
    OK(acu_exec_launch(exec, a));
    OK(acu_exec_launch(exec, b));
    OK(acu_exec_launch(exec, b));
}

static void nothing_is_allocated_to_launch_a_graph(void **state) {
    (void)state;
    acu_stream *a = NULL, *b = NULL;
    acu_buffer *x = NULL, *y = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    const float one = 1;
    OK(acu_stream_create(0, NULL, &a));
    OK(acu_stream_create(0, NULL, &b));
    OK(acu_buffer_create(a, ACU_F32, 8, &x));
    OK(acu_buffer_create(b, ACU_F32, 8, &y));
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_F32, &one, .width = ACU_REST}, NULL));
    OK(acu_graph_keep(graph, y, false));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    launch_on(exec, a, b);
    size_t before = allocations;
    for (int i = 0; i < 100; i++)
        launch_on(exec, a, b);
    assert_int_equal(allocations - before, 0);
    assert_int_equal(calls_of("cudaGraphLaunch"), 3 * 101);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(x));
    OK(acu_buffer_release(y));
    OK(acu_stream_release(a));
    OK(acu_stream_release(b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_in_what_is_done_often),
        cmocka_unit_test(nothing_else_is_called),
        cmocka_unit_test(nothing_is_allocated_to_launch_a_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
