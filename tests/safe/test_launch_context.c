/* Which function a launch takes: that of the primary context for its streams, and for streams of
 * any other context the kernel, whose function CUDA then finds itself. */
#include "kernels.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include "safe/base/primary_context.h"
#include "safe/kernel/kernel.h"

#include <pthread.h>

enum { N = 64 };

static const struct CUfunc_st *raw_of(const acu_kernel *kernel) {
    return (const struct CUfunc_st *)kernel->raw;
}

/* Before 12.8 the driver loads kernels, which are functions then. */
#define NEEDS_LIBRARIES()                                                                          \
    do {                                                                                           \
        if (runtime_version() < 12080)                                                             \
            SKIP("the driver's functions are launched");                                           \
    } while (0)

/* Multiplies new numbers by 2 on the stream. Returns 0 with the right result, or a code. */
static acu_result doubles(acu_stream *stream, acu_kernel *scale) {
    float back[N] = {0};
    acu_buffer *x = numbers_on(stream, N);
    acu_result code = acu_launch(stream, scale, acu_grid_1d(N, 32), x, 2.0f, N);
    if (!code)
        code = acu_buffer_read(x, back, N);
    OK(acu_buffer_release(x));
    for (int i = 0; i < N && !code; i++)
        assert_true(back[i] == 2.0f * (float)i);
    return code;
}

static bool takes_function(const acu_stream *stream, const acu_kernel *kernel) {
    return stream->in_context == kernel->in_context && kernel->function != raw_of(kernel);
}

/* Prints what the driver says of the function where another context is current, or none. */
static void tell(const char *where, const acu_stream *stream, const acu_kernel *nothing) {
    const CUresult of_function = cuLaunchKernel(nothing->function, 1, 1, 1, 1, 1, 1, 0, stream->raw,
                                                NULL, NULL),
                   of_kernel = cuLaunchKernel((CUfunction)nothing->raw, 1, 1, 1, 1, 1, 1, 0,
                                              stream->raw, NULL, NULL);
    print_message("%s: a launch of the function is %d, of the kernel %d\n", where, (int)of_function,
                  (int)of_kernel);
}

static void streams_of_the_primary_context(void **state) {
    (void)state;
    NEEDS_LIBRARIES();
    acu_stream *stream = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale"), *nothing = kernel_on(0, "nothing");
    assert_true(scale->in_context != 0 && scale->in_context != ACU_NO_CONTEXT);
    assert_int_equal(nothing->in_context, scale->in_context);
    for (int i = 0; i < 3; i++)
        OK(doubles(stream, scale));
    assert_true(takes_function(stream, scale) && takes_function(stream, nothing));
    OK(acu_launch(stream, nothing, acu_grid_1d(1, 1)));
    OK(acu_stream_synchronize(stream));
    OK(acu_kernel_release(nothing));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(stream));
}

static void streams_of_two_devices(void **state) {
    (void)state;
    NEEDS_LIBRARIES();
    NEEDS_TWO_DEVICES();
    acu_stream *streams[] = {stream_on(0), stream_on(1)};
    acu_kernel *kernels[] = {kernel_on(0, "scale"), kernel_on(1, "scale")};
    assert_true(kernels[0]->in_context != kernels[1]->in_context);
    for (int current = 0; current < 2; current++) {
        OK((int)cudaSetDevice(current));
        for (int i = 0; i < 2; i++) {
            OK(doubles(streams[i], kernels[i]));
            assert_true(takes_function(streams[i], kernels[i]));
        }
    }
    OK((int)cudaSetDevice(0));
    for (int i = 0; i < 2; i++) {
        OK(acu_kernel_release(kernels[i]));
        OK(acu_stream_release(streams[i]));
    }
}

static void streams_of_an_execution_context(void **state) {
    (void)state;
    NEEDS_LIBRARIES();
    if (driver_version() < 12050)
        SKIP("needs a driver of CUDA 12.5");
    acu_execution_context *part = NULL;
    acu_stream *inside = NULL, *outside = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale");
    OK(acu_device_split(0, &(acu_device_part){.multiprocessors = 8}, 1, &part));
    OK(acu_execution_context_create_stream(part, NULL, &inside));
    for (int i = 0; i < 3; i++) {
        OK(doubles(inside, scale));
        OK(doubles(outside, scale));
    }
    assert_int_equal(inside->in_context, ACU_NO_CONTEXT);
    assert_true(takes_function(outside, scale));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(inside));
    OK(acu_stream_release(outside));
    OK(acu_execution_context_release(part));
}

/* ---- what is current ---- */

/* Another library has made a context of its own current: what was made before goes on, and a stream
 * that is made now is in that context. */
static void another_context_is_current(void **state) {
    (void)state;
    NEEDS_LIBRARIES();
    CUcontext other = NULL;
    acu_stream *before = stream_on(0), *meanwhile;
    acu_kernel *scale = kernel_on(0, "scale"), *nothing = kernel_on(0, "nothing");
    OK(doubles(before, scale));
    OK((int)cuCtxCreate(&other, NULL, 0, 0));
    OK(doubles(before, scale));
    assert_true(takes_function(before, scale));
    tell("another context is current", before, nothing);
    meanwhile = stream_on(0);
    OK(doubles(meanwhile, scale));
    assert_false(takes_function(meanwhile, scale));
    OK(doubles(before, scale));
    OK(acu_stream_release(meanwhile));
    OK((int)cuCtxPopCurrent(&other));
    OK(doubles(before, scale));
    OK(acu_kernel_release(nothing));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(before));
    OK((int)cuCtxDestroy(other));
}

/* A program without a primary context gets none by loading a kernel. */
static void there_is_no_primary_context(void **state) {
    (void)state;
    NEEDS_LIBRARIES();
    ONLY_SIMULATED("other tests have made the primary context");
    CUcontext other = NULL;
    unsigned flags = 0;
    int active = 1;
    OK((int)cuInit(0));
    OK((int)cuCtxCreate(&other, NULL, 0, 0));
    acu_stream *stream = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale");
    OK((int)cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_false(active);
    assert_ptr_equal(scale->function, raw_of(scale));
    OK(doubles(stream, scale));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(stream));
    OK((int)cuCtxDestroy(other));
}

typedef struct launch {
    acu_stream *stream;
    acu_kernel *kernel;
    acu_result code;
} launch;

/* The first call of the thread, which has no current context. */
static void *launch_here(void *data) {
    launch *here = data;
    here->code = acu_launch(here->stream, here->kernel, acu_grid_1d(1, 1));
    if (here->kernel->direct)
        tell("no context is current", here->stream, here->kernel);
    return NULL;
}

static void a_thread_has_no_context(void **state) {
    (void)state;
    pthread_t thread;
    launch both[] = {{stream_on(0), kernel_on(0, "nothing"), -1},
                     {stream_on(another_device()), kernel_on(another_device(), "nothing"), -1}};
    for (size_t i = 0; i < COUNT(both); i++)
        for (int again = 0; again < 2; again++) {
            assert_int_equal(pthread_create(&thread, NULL, launch_here, &both[i]), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
            assert_int_equal(both[i].code, 0);
        }
    for (size_t i = 0; i < COUNT(both); i++) {
        OK(acu_stream_synchronize(both[i].stream));
        OK(acu_kernel_release(both[i].kernel));
        OK(acu_stream_release(both[i].stream));
    }
}

/* ---- what changes ---- */

static void shared_memory_is_allowed_later(void **state) {
    (void)state;
    enum { MORE = 60 * 1024 };
    acu_stream *stream = stream_on(0);
    acu_kernel *nothing = kernel_on(0, "nothing");
    const acu_grid wide = {.blocks = {1, 0, 0}, .threads = {1, 0, 0}, .shared_bytes = MORE};
    OK(acu_launch(stream, nothing, acu_grid_1d(1, 1)));
    FAILS(acu_launch(stream, nothing, wide), ACU_ERROR_LIMIT, "dynamic shared memory");
    OK(acu_kernel_set_attribute(nothing, ACU_KERNEL_MAX_SHARED, MORE));
    OK(acu_launch(stream, nothing, wide));
    OK(acu_stream_synchronize(stream));
    OK(acu_kernel_release(nothing));
    OK(acu_stream_release(stream));
}

static void a_module_is_unloaded_and_loaded(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    for (int i = 0; i < 20; i++) {
        acu_kernel *scale = kernel_on(0, "scale"), *other = kernel_on(0, "scale");
        OK(doubles(stream, scale));
        OK(acu_kernel_release(scale));
        OK(doubles(stream, other));
        OK(acu_kernel_release(other));
    }
    OK(acu_stream_release(stream));
}

static void a_stream_is_captured(void **state) {
    (void)state;
    float back[N];
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_stream *stream = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale");
    OK(doubles(stream, scale));
    acu_buffer *x = numbers_on(stream, N);
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_launch(stream, scale, acu_grid_1d(N, 32), x, 3.0f, N));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_buffer_read(x, back, N));
    assert_true(back[7] == 21);
    OK(doubles(stream, scale));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(x));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(stream));
}

/* ---- failures ---- */

static void the_function_is_refused(void **state) {
    (void)state;
    NEEDS_LIBRARIES();
    acu_stream *stream = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale");
    OK(doubles(stream, scale));
    acu_clear_error();
    assert_int_equal(acu_inject_errors("cuLaunchKernel@1:400"), 0);
    OK(doubles(stream, scale)); /* the driver takes the kernel */
    assert_int_equal(acu_inject_errors("cuLaunchKernel@*:400"), 0);
    OK(doubles(stream, scale)); /* the runtime launches it */
    acu_inject_errors(NULL);
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(stream));
}

static void the_context_is_not_known(void **state) {
    (void)state;
    NEEDS_LIBRARIES();
    static const char *const of_streams[] = {"cuCtxGetId@1:2", "cuStreamGetCtx@1:2"};
    static const char *const of_kernels[] = {"cuCtxGetId@1:2", "cuKernelGetFunction@1:2",
                                             "cuDevicePrimaryCtxGetState@1:2",
                                             "cuDevicePrimaryCtxRetain@1:2"};
    acu_stream *stream;
    acu_kernel *scale = kernel_on(0, "scale");
    for (size_t i = 0; i < COUNT(of_streams); i++) {
        stream = stream_on(0);
        acu_clear_error();
        assert_int_equal(acu_inject_errors(of_streams[i]), 0);
        OK(doubles(stream, scale));
        acu_inject_errors(NULL);
        assert_int_equal(acu_last_error(), 0);
        assert_int_equal(stream->in_context, ACU_NO_CONTEXT);
        OK(acu_stream_release(stream));
    }
    stream = stream_on(0);
    OK(acu_kernel_release(scale));
    for (size_t i = 0; i < COUNT(of_kernels); i++) {
        acu_module *module = module_on(0);
        acu_clear_error();
        assert_int_equal(acu_inject_errors(of_kernels[i]), 0);
        OK(acu_module_get_kernel(module, "scale", &scale));
        acu_inject_errors(NULL);
        assert_int_equal(acu_last_error(), 0);
        assert_ptr_equal(scale->function, raw_of(scale));
        OK(doubles(stream, scale));
        OK(acu_kernel_release(scale));
        OK(acu_module_release(module));
    }
    OK(acu_stream_release(stream));
}

/* ---- resets ---- */

static void the_device_is_reset(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("the device is reset");
    uint32_t before = 0;
    for (int i = 0; i < 3; i++) {
        acu_stream *stream = stream_on(0);
        acu_kernel *scale = kernel_on(0, "scale");
        OK(doubles(stream, scale));
        if (kernel_version() >= 12080 && acu_kernel_raw(scale))
            assert_true(takes_function(stream, scale) && scale->in_context != before);
        before = scale->in_context;
        OK(acu_kernel_release(scale));
        OK(acu_stream_release(stream));
        OK(acu_device_reset(0));
    }
}

/* Another library resets the device behind a kernel, whose function is gone then. The new primary
 * context is another one, so that the function is not launched again. The last test. */
static void the_device_is_reset_behind_a_kernel(void **state) {
    (void)state;
    NEEDS_LIBRARIES();
    NOT_UNDER_A_TOOL("the device is reset");
    acu_stream *stream = stream_on(0);
    acu_kernel *nothing = kernel_on(0, "nothing");
    OK(acu_launch(stream, nothing, acu_grid_1d(1, 1)));
    OK(acu_stream_release(stream));
    OK((int)cudaDeviceReset());
    stream = stream_on(0);
    acu_result code = acu_launch(stream, nothing, acu_grid_1d(1, 1));
    if (!code)
        code = acu_stream_synchronize(stream);
    print_message("a kernel after a reset: %s\n", code ? acu_last_error_message() : "launched");
    assert_true(stream->in_context != 0 && stream->in_context != nothing->in_context);
    (void)acu_kernel_release(nothing);
    (void)acu_stream_release(stream);
    (void)cudaDeviceReset();
    begin_kernels(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(streams_of_the_primary_context),
        KERNEL_TEST(streams_of_two_devices),
        KERNEL_TEST(streams_of_an_execution_context),
        KERNEL_TEST(another_context_is_current),
        KERNEL_TEST(there_is_no_primary_context),
        KERNEL_TEST(a_thread_has_no_context),
        KERNEL_TEST(shared_memory_is_allowed_later),
        KERNEL_TEST(a_module_is_unloaded_and_loaded),
        KERNEL_TEST(a_stream_is_captured),
        KERNEL_TEST(the_function_is_refused),
        KERNEL_TEST(the_context_is_not_known),
        KERNEL_TEST(the_device_is_reset),
        KERNEL_TEST(the_device_is_reset_behind_a_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
