/* Launches: the order in which they run, and what is refused before CUDA sees it. */
#include "kernels.h"

#include <anycuda/cudart.h>

#include "safe/kernel/launch.h"

#include <time.h>

static acu_grid grid_of(size_t blocks, size_t threads) {
    return (acu_grid){.blocks = {blocks, 0, 0}, .threads = {threads, 0, 0}};
}

/* ---- what runs ---- */

static void numbers_are(acu_buffer *buffer, size_t count, float factor) {
    float back[256];
    OK(acu_buffer_read(buffer, back, count));
    for (size_t i = 0; i < count; i++)
        if (back[i] != factor * (float)i)
            fail_msg("number %zu is %g", i, (double)back[i]);
}

static void buffers_and_numbers(void **state) {
    (void)state;
    enum { N = 100 };
    const unsigned n = N;
    acu_stream *stream = stream_on(0);
    acu_kernel *add = kernel_on(0, "add"), *scale = kernel_on(0, "scale");
    acu_buffer *a = numbers_on(stream, N), *b = numbers_on(stream, N), *sum = numbers_on(stream, N);
    OK(acu_launch(stream, add, acu_grid_1d(N, 32), acu_in(a), acu_in(b), acu_out(sum), n));
    numbers_are(sum, N, 2);
    OK(acu_launch(stream, scale, acu_grid_1d(N, 32), acu_inout(sum), 1.5f, (int)n));
    numbers_are(sum, N, 3);
    OK(acu_launch(stream, scale, acu_grid_1d(N, 32), sum, 2.0f, N)); /* a bare buffer */
    numbers_are(sum, N, 6);
    OK(acu_launch(stream, scale, acu_grid_1d(N, 32), acu_buffer_raw(sum), 0.5f, N));
    numbers_are(sum, N, 3);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
    OK(acu_buffer_release(sum));
    OK(acu_kernel_release(add));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(stream));
}

static void structs_and_small_numbers(void **state) {
    (void)state;
    double sum = 0;
    mixture m = {0.5, {10, 20, 30}};
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "mixed");
    acu_buffer *to = NULL;
    OK(acu_buffer_create(stream, ACU_F64, 1, &to));
    OK(acu_launch(stream, kernel, acu_grid_1d(1, 1), (unsigned char)200, acu_bytes(&m, sizeof m),
                  (uint16_t)60000, acu_out(to)));
    memset(&m, 0xff, sizeof m); /* it was copied at the launch */
    OK(acu_buffer_read(to, &sum, 1));
    assert_true(sum == 200 + 0.5 + 10 + 30 + 60000);
    OK(acu_buffer_release(to));
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(stream));
}

static void no_arguments(void **state) {
    (void)state;
    const acu_grid one = grid_of(1, 1);
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing");
    OK(acu_launch(stream, kernel, acu_grid_1d(1, 1)));
    OK(acu_launch(stream, kernel, ((acu_grid){.blocks = {2, 2, 2}, .threads = {8, 8, 4}})));
    OK(acu_launch_args(stream, kernel, &one, NULL, 0));
    OK(acu_stream_synchronize(stream));
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(stream));
}

static void grids_cover_everything(void **state) {
    (void)state;
    acu_grid g = acu_grid_1d(1000, 256);
    assert_true(g.blocks.x == 4 && g.threads.x == 256 && g.blocks.y == 0);
    g = acu_grid_2d(100, 33, 16, 8);
    assert_true(g.blocks.x == 7 && g.blocks.y == 5 && g.threads.x == 16 && g.threads.y == 8);
    g = acu_grid_3d((acu_size3){9, 8, 7}, (acu_size3){4, 4, 4});
    assert_true(g.blocks.x == 3 && g.blocks.y == 2 && g.blocks.z == 2 && g.threads.z == 4);
    g = acu_grid_1d(SIZE_MAX, 2);
    assert_true(g.blocks.x == SIZE_MAX / 2 + 1);
}

/* ---- order ---- */

static void other_streams_wait(void **state) {
    (void)state;
    enum { N = 64 };
    blocker g;
    acu_stream *first = stream_on(0), *second = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale");
    acu_buffer *x = numbers_on(first, N), *y = NULL;
    OK(acu_buffer_create(second, ACU_F32, N, &y));
    OK(acu_stream_synchronize(first));
    block_stream(&g, first);
    OK(acu_launch(first, scale, acu_grid_1d(N, 32), x, 2.0f, N));
    OK(acu_buffer_copy(y, x, second)); /* waits for the launch, which waits for the blocker */
    still_waits(second);
    unblock_stream(&g);
    numbers_are(y, N, 2);
    block_stream(&g, second);
    OK(acu_buffer_zero(x, second));
    OK(acu_launch(first, scale, acu_grid_1d(N, 32), x, 2.0f, N)); /* and the other way round */
    still_waits(first);
    unblock_stream(&g);
    numbers_are(x, N, 0);
    OK(acu_buffer_release(x));
    OK(acu_buffer_release(y));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(first));
    OK(acu_stream_release(second));
}

static void readers_do_not_wait_for_readers(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("kernels run side by side");
    enum { N = 64 };
    blocker g;
    acu_stream *writer = stream_on(0), *first = stream_on(0), *second = stream_on(0);
    acu_kernel *add = kernel_on(0, "add");
    acu_buffer *x = numbers_on(writer, N), *y = numbers_on(first, N), *z = numbers_on(second, N);
    block_stream(&g, first);
    OK(acu_launch(first, add, acu_grid_1d(N, 32), acu_in(x), acu_in(x), acu_out(y), N));
    const acu_buffer *constant = x; /* which can only be read */
    OK(acu_launch(second, add, acu_grid_1d(N, 32), constant, acu_in(x), acu_out(z), N));
    numbers_are(z, N, 2); /* would hang */
    unblock_stream(&g);
    numbers_are(y, N, 2);
    OK(acu_buffer_release(x));
    OK(acu_buffer_release(y));
    OK(acu_buffer_release(z));
    OK(acu_kernel_release(add));
    OK(acu_stream_release(writer));
    OK(acu_stream_release(first));
    OK(acu_stream_release(second));
}

/* ---- arguments that are refused ---- */

typedef struct bench {
    acu_stream *stream;
    acu_kernel *add, *scale, *mixed, *nothing;
    acu_buffer *x;
} bench;

static bench open_bench(void) {
    bench b = {.stream = stream_on(0),
               .add = kernel_on(0, "add"),
               .scale = kernel_on(0, "scale"),
               .mixed = kernel_on(0, "mixed"),
               .nothing = kernel_on(0, "nothing")};
    b.x = numbers_on(b.stream, 64);
    return b;
}

static void close_bench(bench *b) {
    numbers_are(b->x, 64, 1); /* nothing ran */
    OK(acu_buffer_release(b->x));
    OK(acu_kernel_release(b->add));
    OK(acu_kernel_release(b->scale));
    OK(acu_kernel_release(b->mixed));
    OK(acu_kernel_release(b->nothing));
    OK(acu_stream_release(b->stream));
}

/* An argument of no kind, which acu_arg_of() cannot make. */
static acu_arg no_argument(void) {
    acu_arg arg;
    memset(&arg, 0x7f, sizeof arg);
    arg.size = 8;
    return arg;
}

static void too_few_and_too_many(void **state) {
    (void)state;
    bench b = open_bench();
    const acu_grid one = grid_of(1, 1);
    acu_arg many[ACU_MAX_ARGUMENTS + 1] = {{ACU_ARG_SIGNED, 4, {0}}};
    FAILS(acu_launch(b.stream, b.add, one, b.x, b.x, b.x), ACU_ERROR_ARGUMENT,
          "add takes 4 arguments, but 3 are given");
    FAILS(acu_launch(b.stream, b.add, one), ACU_ERROR_ARGUMENT, "but 0 are given");
    FAILS(acu_launch(b.stream, b.nothing, one, 1), ACU_ERROR_ARGUMENT,
          "nothing takes 0 arguments, but 1 are given");
    FAILS(acu_launch_args(b.stream, b.add, &one, many, ACU_MAX_ARGUMENTS + 1), ACU_ERROR_ARGUMENT,
          "but 65 are given");
    FAILS(acu_launch_args(b.stream, b.add, &one, NULL, 4), ACU_ERROR_ARGUMENT, "'args' is NULL");
    close_bench(&b);
}

static void wrong_sizes(void **state) {
    (void)state;
    bench b = open_bench();
    const acu_grid one = grid_of(1, 1);
    const mixture m = {0, {0}};
    FAILS(
        acu_launch(b.stream, b.scale, one, b.x, 2.0, 64), ACU_ERROR_ARGUMENT,
        "argument 1 of scale is a floating-point number of 8 bytes, but the kernel takes 4 bytes");
    assert_non_null(strstr(acu_last_error_details().hint, "cast the argument"));
    FAILS(acu_launch(b.stream, b.scale, one, b.x, 2.0f, sizeof b), ACU_ERROR_ARGUMENT,
          "argument 2 of scale is an unsigned integer of 8 bytes, but the kernel takes 4 bytes");
    FAILS(acu_launch(b.stream, b.scale, one, 1, 2.0f, 64), ACU_ERROR_ARGUMENT,
          "argument 0 of scale is a signed integer of 4 bytes, but the kernel takes 8 bytes");
    FAILS(acu_launch(b.stream, b.mixed, one, (char)1, acu_bytes(&m, 23), (short)1, b.x),
          ACU_ERROR_ARGUMENT,
          "argument 1 of mixed is bytes of 23 bytes, but the kernel takes 24 bytes");
    FAILS(acu_launch(b.stream, b.mixed, one, (char)1, acu_bytes(NULL, 24), (short)1, b.x),
          ACU_ERROR_ARGUMENT, "argument 1 is NULL");
    close_bench(&b);
}

static void wrong_types(void **state) {
    (void)state;
    bench b = open_bench();
    const acu_grid one = grid_of(1, 1);
    const size_t n = 64;
    FAILS(acu_launch(b.stream, b.scale, one, b.x, 2, 64), ACU_ERROR_DTYPE,
          "argument 1 of scale is a signed integer, but the kernel takes a floating-point number");
    FAILS(acu_launch(b.stream, b.scale, one, b.x, 2.0f, 64.0f), ACU_ERROR_DTYPE,
          "argument 2 of scale is a floating-point number, but the kernel takes an integer");
    FAILS(acu_launch(b.stream, b.add, one, n, b.x, b.x, 64), ACU_ERROR_DTYPE,
          "argument 0 of add is an unsigned integer, but the kernel takes a pointer");
    assert_non_null(strstr(acu_last_error_details().hint, "order of the arguments"));
    const acu_arg odd[] = {no_argument(), acu_in(b.x), acu_in(b.x), {0}};
    FAILS(acu_launch_args(b.stream, b.add, &one, odd, 4), ACU_ERROR_ARGUMENT,
          "argument 0 is invalid");
    close_bench(&b);
}

/* Launches on the same size by both functions, which must say the same. */
static void both_say(int code, acu_stream *stream, acu_kernel *kernel, acu_launch_size size,
                     const acu_arg *args, size_t count) {
    char message[1024];
    const acu_grid grid = {
        .blocks = size.blocks, .threads = size.threads, .shared_bytes = size.shared_bytes};
    acu_clear_error();
    assert_int_equal(acu_launch_args(stream, kernel, &grid, args, count), code);
    snprintf(message, sizeof message, "%s", acu_last_error_message());
    acu_clear_error();
    assert_int_equal(acu_launch_sized(stream, kernel, &size, args, count), code);
    assert_string_equal(acu_last_error_message(), message);
}

static void sizes_and_grids_say_the_same(void **state) {
    (void)state;
    bench b = open_bench();
    const acu_launch_size one = {{1, 0, 0}, {1, 0, 0}, 0};
    const size_t much = (size_t)1 << 33;
    const acu_arg good[] = {acu_in(b.x), acu_in(b.x), acu_out(b.x), acu_arg_of(0)};
    acu_arg bad[] = {acu_in(b.x), acu_in(b.x), acu_out((acu_buffer *)b.stream), acu_arg_of(8)};
    acu_arg many[ACU_MAX_ARGUMENTS + 1] = {{ACU_ARG_SIGNED, 4, {0}}};
    for (int i = 0; i < 2; i++) /* the second time nothing is new to the module and the stream */
        both_say(0, b.stream, b.add, one, good, 4);
    both_say(0, b.stream, b.nothing, one, NULL, 0);
    both_say(0, b.stream, b.nothing, (acu_launch_size){{2, 2, 2}, {8, 8, 4}, 16}, good, 0);
    both_say(ACU_ERROR_ARGUMENT, NULL, b.add, one, good, 4);
    both_say(ACU_ERROR_ARGUMENT, b.stream, NULL, one, good, 4);
    both_say(ACU_ERROR_HANDLE, b.stream, (acu_kernel *)b.stream, one, good, 4);
    both_say(ACU_ERROR_HANDLE, (acu_stream *)b.add, b.add, one, good, 4);
    both_say(ACU_ERROR_ARGUMENT, b.stream, b.add, one, good, 3);
    both_say(ACU_ERROR_ARGUMENT, b.stream, b.add, one, NULL, 4);
    both_say(ACU_ERROR_ARGUMENT, b.stream, b.add, one, many, ACU_MAX_ARGUMENTS + 1);
    both_say(ACU_ERROR_HANDLE, b.stream, b.add, one, bad, 4);
    bad[2] = good[3];
    both_say(ACU_ERROR_ARGUMENT, b.stream, b.add, one, bad, 4);
    bad[2] = no_argument();
    both_say(ACU_ERROR_ARGUMENT, b.stream, b.add, one, bad, 4);
    const acu_size3 wrong[] = {
        {0, 1, 1}, {much, 1, 1}, {1, much, 1}, {1, 1, much}, {1, SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const int code = i ? ACU_ERROR_LIMIT : ACU_ERROR_ARGUMENT;
        both_say(code, b.stream, b.add, (acu_launch_size){wrong[i], {1, 1, 1}, 0}, good, 4);
        both_say(code, b.stream, b.add, (acu_launch_size){{1, 1, 1}, wrong[i], 0}, good, 4);
    }
    both_say(ACU_ERROR_LIMIT, b.stream, b.add, (acu_launch_size){{1, 0, 0}, {32, 32, 2}, 0}, good,
             4);
    both_say(ACU_ERROR_LIMIT, b.stream, b.add, (acu_launch_size){{1, 0, 0}, {1, 0, 0}, much}, good,
             4);
    FAILS(acu_launch_sized(b.stream, b.add, NULL, good, 4), ACU_ERROR_ARGUMENT, "'size' is NULL");
    close_bench(&b);
}

static void handles_that_do_not_live(void **state) {
    (void)state;
    bench b = open_bench();
    const acu_grid one = grid_of(1, 1);
    acu_buffer *gone = numbers_on(b.stream, 8);
    acu_kernel *dead = kernel_on(0, "nothing");
    OK(acu_buffer_release(gone));
    OK(acu_kernel_release(dead));
    FAILS(acu_launch(b.stream, b.add, one, b.x, acu_in(gone), b.x, 8), ACU_ERROR_HANDLE,
          "the buffer was released already");
    assert_non_null(strstr(acu_last_error_details().hint, "argument 1 of add"));
    FAILS(acu_launch(b.stream, b.add, one, b.x, b.x, acu_out(NULL), 8), ACU_ERROR_ARGUMENT,
          "the buffer is NULL");
    FAILS(acu_launch(b.stream, b.add, one, b.x, b.x, acu_out((acu_buffer *)b.stream), 8),
          ACU_ERROR_HANDLE, "a stream is given where a buffer is needed");
    FAILS(acu_launch(b.stream, dead, one), ACU_ERROR_HANDLE, "the kernel was released already");
    FAILS(acu_launch(b.stream, (acu_kernel *)NULL, one), ACU_ERROR_ARGUMENT, "the kernel is NULL");
    FAILS(acu_launch((acu_stream *)NULL, b.nothing, one), ACU_ERROR_ARGUMENT, "the stream is NULL");
    FAILS(acu_launch_args(b.stream, b.nothing, NULL, NULL, 0), ACU_ERROR_ARGUMENT,
          "'grid' is NULL");
    assert_string_equal(acu_last_error_details().call, "acu_launch");
    close_bench(&b);
}

static void things_of_other_devices(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    bench b = open_bench();
    const acu_grid one = grid_of(1, 1);
    acu_stream *there = stream_on(1);
    acu_buffer *y = numbers_on(there, 64), *pinned = NULL;
    FAILS(acu_launch(there, b.nothing, one), ACU_ERROR_DEVICE,
          "the stream is on device 1, nothing on device 0");
    FAILS(acu_launch(b.stream, b.scale, one, y, 1.0f, 64), ACU_ERROR_DEVICE,
          "argument 0 of scale is a buffer on device 1, the kernel is on device 0");
    OK(acu_buffer_create_with(there, ACU_F32, 64,
                              &(acu_buffer_options){.memory = ACU_MEMORY_MANAGED}, &pinned));
    OK(acu_buffer_zero(pinned, NULL));
    OK(acu_launch(b.stream, b.scale, one, pinned, 1.0f, 64)); /* is everywhere */
    OK(acu_buffer_release(pinned));
    OK(acu_buffer_release(y));
    acu_graph *graph = NULL;
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_alloc(graph, NULL, 0, 1, ACU_F32, 64, &y, NULL));
    FAILS(acu_launch(b.stream, b.scale, one, y, 1.0f, 64), ACU_ERROR_DEVICE,
          "argument 0 of scale is a buffer on device 1");
    OK(acu_buffer_release(y));
    OK(acu_graph_release(graph));
    OK(acu_stream_release(there));
    close_bench(&b);
}

/* A kernel of a device that is not current runs there, and the current one stays. */
static void the_current_device_does_not_matter(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_device current = -1;
    acu_stream *there = stream_on(1);
    acu_kernel *scale = kernel_on(1, "scale");
    acu_buffer *x = numbers_on(there, 64);
    OK(acu_launch(there, scale, acu_grid_1d(64, 64), x, 3.0f, 64));
    numbers_are(x, 64, 3);
    OK(acu_device_get_current(&current));
    assert_int_equal(current, 0);
    OK(acu_buffer_release(x));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(there));
}

/* ---- grids that are refused ---- */

static void grids_beyond_limits(void **state) {
    (void)state;
    bench b = open_bench();
    acu_kernel *small = kernel_on(0, "small");
    FAILS(acu_launch(b.stream, b.nothing, acu_grid_1d(0, 256)), ACU_ERROR_ARGUMENT,
          "the blocks are 0 x 0 x 0");
    FAILS(acu_launch(b.stream, b.nothing, acu_grid_1d(8, 0)), ACU_ERROR_ARGUMENT, "the blocks are");
    FAILS(acu_launch(b.stream, b.nothing, grid_of(8, 0)), ACU_ERROR_ARGUMENT,
          "the threads are 0 x 0 x 0");
    acu_grid odd = grid_of(2, 32);
    odd.preferred_cluster.x = 2;
    FAILS(acu_launch(b.stream, b.nothing, odd), ACU_ERROR_ARGUMENT, "'cluster' is not");
    odd = grid_of(2, 32);
    odd.at_start = true;
    FAILS(acu_launch(b.stream, b.nothing, odd), ACU_ERROR_ARGUMENT, "'at_start' is set");
    FAILS(acu_launch(b.stream, b.nothing, acu_grid_2d(8, 0, 8, 8)), ACU_ERROR_ARGUMENT,
          "the blocks are 0 x 0 x 0");
    FAILS(acu_launch(b.stream, b.nothing, acu_grid_1d(SIZE_MAX, 1)), ACU_ERROR_LIMIT,
          "blocks in x: device 0 can have 2147483647");
    FAILS(acu_launch(b.stream, b.nothing, acu_grid_2d(1, 65536, 1, 1)), ACU_ERROR_LIMIT,
          "65536 blocks in y: device 0 can have 65535");
    FAILS(acu_launch(b.stream, b.nothing, acu_grid_1d(1, 1025)), ACU_ERROR_LIMIT,
          "1025 threads in x: device 0 can have 1024");
    FAILS(acu_launch(b.stream, b.nothing, acu_grid_3d((acu_size3){1, 1, 1}, (acu_size3){1, 1, 65})),
          ACU_ERROR_LIMIT, "65 threads in z: device 0 can have 64");
    FAILS(acu_launch(b.stream, b.nothing, acu_grid_2d(1, 1, 64, 64)), ACU_ERROR_LIMIT,
          "4096 threads per block: device 0 can have 1024");
    FAILS(acu_launch(b.stream, small, acu_grid_1d(1, 65)), ACU_ERROR_LIMIT,
          "65 threads per block: small can have 64 on device 0");
    OK(acu_launch(b.stream, small, acu_grid_1d(1, 64)));
    OK(acu_kernel_release(small));
    close_bench(&b);
}

static void shared_memory_beyond_limits(void **state) {
    (void)state;
    bench b = open_bench();
    acu_grid g = grid_of(1, 1);
    g.shared_bytes = 49152;
    OK(acu_launch(b.stream, b.nothing, g));
    g.shared_bytes = 49153;
    FAILS(acu_launch(b.stream, b.nothing, g), ACU_ERROR_LIMIT,
          "49153 bytes of dynamic shared memory: nothing may have 49152");
    assert_non_null(strstr(acu_last_error_details().hint,
                           "acu_kernel_set_attribute(kernel, ACU_KERNEL_MAX_SHARED, 49153)"));
    OK(acu_kernel_set_attribute(b.nothing, ACU_KERNEL_MAX_SHARED, 100000));
    OK(acu_launch(b.stream, b.nothing, g));
    g.shared_bytes = SIZE_MAX;
    FAILS(acu_launch(b.stream, b.nothing, g), ACU_ERROR_LIMIT, "nothing may have 100000");
    assert_non_null(strstr(acu_last_error_details().hint, "bytes per block at most"));
    close_bench(&b);
}

/* CUDA's own functions may raise a limit, so it is asked for again before a launch is refused. */
static void shared_memory_raised_by_cuda(void **state) {
    (void)state;
    acu_grid g = grid_of(1, 1);
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing");
    if (acu_kernel_raw(kernel)) {
        g.shared_bytes = 60000;
        FAILS(acu_launch(stream, kernel, g), ACU_ERROR_LIMIT, "60000 bytes");
        OK(cudaFuncSetAttribute(acu_kernel_raw(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                60000));
        OK(acu_launch(stream, kernel, g));
    }
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(stream));
}

/* ---- what is not the default ---- */

static void cooperative_launches(void **state) {
    (void)state;
    acu_grid g = {.blocks = {2, 0, 0}, .threads = {64, 0, 0}, .cooperative = true};
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing");
    OK(acu_launch(stream, kernel, g));
    g.blocks.x = 1000000;
    FAILS(acu_launch(stream, kernel, g), 720, "of 64 threads and 0 bytes run at once, not 1000000");
    assert_non_null(strstr(acu_last_error_details().hint, "use fewer blocks"));
    (void)cudaGetLastError();
    OK(acu_stream_synchronize(stream));
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(stream));
}

static acu_sim_launch seen;

static void look(const acu_sim_launch *launch, void *const *args) {
    (void)args;
    seen = *launch;
}

static void clusters(void **state) {
    (void)state;
    acu_grid g = {.blocks = {8, 2, 0}, .threads = {32, 0, 0}, .cluster = {2, 2, 0}};
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing");
    acu_sim_register("nothing", look);
    OK(acu_launch(stream, kernel, g));
    OK(acu_stream_synchronize(stream));
    assert_true(!is_simulated() ||
                (seen.cluster[0] == 2 && seen.cluster[1] == 2 && seen.cluster[2] == 1));
    g.cluster.x = 3;
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_ARGUMENT,
          "8 x 2 x 1 blocks cannot be divided into clusters of 3 x 2 x 1");
    g.blocks.x = g.cluster.x = 16;
    FAILS(acu_launch(stream, kernel, g), 912, "(912)");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_KERNEL_BIG_CLUSTERS"));
    (void)cudaGetLastError();
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(stream));
}

static void dependent_launches_priorities_and_domains(void **state) {
    (void)state;
    acu_event *event = NULL, *timed = NULL;
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing");
    acu_grid g = grid_of(1, 1);
    OK(acu_event_create(0, &(acu_event_options){.flags = ACU_EVENT_DISABLE_TIMING}, &event));
    OK(acu_event_create(0, NULL, &timed));
    g.priority = -1;
    g.programmatic = true;
    OK(acu_launch(stream, kernel, g));
    g = grid_of(1, 1);
    g.programmatic_event = event;
    OK(acu_launch(stream, kernel, g));
    OK(acu_event_synchronize(event));
    g.programmatic_event = timed;
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_STATE, "ACU_EVENT_DISABLE_TIMING");
    g.programmatic_event = (acu_event *)stream;
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_HANDLE, "a stream is given where an event");
    g = grid_of(1, 1);
    g.memory_domain = 1;
    g.window = &(acu_access_window){.bytes = 0};
    if (kernel_version() >= 12000)
        OK(acu_launch(stream, kernel, g));
    else
        FAILS(acu_launch(stream, kernel, g), 801, "needs CUDA 12.0");
    g.memory_domain = 2;
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_ARGUMENT, "no memory domain 2");
    g = grid_of(1, 1);
    g.cluster_scheduling = 3;
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_ARGUMENT, "no cluster scheduling 3");
    g = grid_of(1, 1);
    g.begun_event = event;
    if (kernel_version() >= 12030)
        OK(acu_launch(stream, kernel, g));
    else
        FAILS(acu_launch(stream, kernel, g), 801, "needs CUDA 12.3");
    OK(acu_event_release(event));
    OK(acu_event_release(timed));
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(stream));
}

/* The captured node has what the grid asked for. */
static void expect_attribute(acu_node node, cudaLaunchAttribute *attribute) {
    memset(&attribute->val, 0xee, sizeof attribute->val);
    OK(acu_node_get_attribute(node, attribute));
}

static void what_few_launches_need(void **state) {
    (void)state;
    const acu_memory_domains domains = {1, 0};
    acu_grid_more more = {.carveout = 25};
    acu_node node;
    acu_graph *graph = NULL;
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing");
    acu_grid g = grid_of(1, 1);
    g.more = &more;
    for (int carveout = -1; carveout <= 25; carveout += 26) {
        more.carveout = carveout;
        if (kernel_version() < 12050) {
            FAILS(acu_launch(stream, kernel, g), 801, "12.5");
            continue;
        }
        cudaLaunchAttribute read = {.id = cudaLaunchAttributePreferredSharedMemoryCarveout};
        OK(acu_stream_begin_capture(stream, NULL));
        OK(acu_launch(stream, kernel, g));
        OK(acu_stream_get_captured_node(stream, &node));
        if (runtime_version() >= 12050) {
            expect_attribute(node, &read);
            assert_int_equal(read.val.sharedMemCarveout, carveout > 0 ? carveout : 0);
        }
        OK(acu_stream_end_capture(stream, &graph));
        OK(acu_graph_release(graph));
    }
    more.carveout = 101;
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_ARGUMENT, "'carveout' is 101");
    more = (acu_grid_more){.clusters = ACU_PORTABILITY_OVERSIZED};
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_ARGUMENT, "'clusters' is 3");
    more = (acu_grid_more){.shared_memory = (acu_portability)9};
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_ARGUMENT, "'shared_memory' is 9");
    more = (acu_grid_more){.memory_domains = &domains};
    if (kernel_version() >= 12000)
        OK(acu_launch(stream, kernel, g));
    else
        FAILS(acu_launch(stream, kernel, g), 801, "12.0");
    more = (acu_grid_more){.nvlink_centric = true};
    acu_clear_error();
    if (acu_launch(stream, kernel, g)) /* runtimes 12.8 and 12.9 hand it to a newer driver */
        assert_true(kernel_version() < 13000 && acu_last_error() == 801);
    more = (acu_grid_more){.clusters = ACU_PORTABILITY_REQUIRED,
                           .shared_memory = ACU_PORTABILITY_NOT_NEEDED};
    acu_clear_error();
    if (acu_launch(stream, kernel, g))
        assert_true(!is_since(13020) &&
                    (acu_last_error() == 801 || acu_last_error() == 1 || acu_last_error() == 36));
    (void)cudaGetLastError();
    OK(acu_stream_synchronize(stream));
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(stream));
}

static void raw_attributes(void **state) {
    (void)state;
    cudaLaunchAttribute raw[ACU_LAUNCH_MAX_ATTRIBUTES] = {{.id = cudaLaunchAttributePriority}};
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing");
    acu_grid g = grid_of(1, 1);
    g.raw = raw;
    g.raw_count = 1;
    OK(acu_launch(stream, kernel, g));
    g.raw_count = ACU_LAUNCH_MAX_ATTRIBUTES + 1;
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_ARGUMENT, "'raw' has 21 attributes");
    g.raw = NULL;
    g.raw_count = 1;
    FAILS(acu_launch(stream, kernel, g), ACU_ERROR_ARGUMENT, "'raw' is NULL, but 'raw_count' is 1");
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(stream));
}

/* ---- lists ---- */

static void lists_are_used_again(void **state) {
    (void)state;
    enum { N = 64 };
    const acu_grid g = grid_of(2, 32);
    acu_args *args = NULL;
    acu_stream *stream = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale"), *mixed = kernel_on(0, "mixed");
    acu_buffer *x = numbers_on(stream, N), *to = NULL;
    mixture m = {1, {2, 3, 4}};
    double sum = 0;
    OK(acu_args_create(&args));
    OK(acu_args_add(args, acu_arg_of(x)));
    OK(acu_args_add(args, acu_arg_of(2.0f)));
    OK(acu_args_add(args, acu_arg_of(N)));
    assert_int_equal(acu_args_count(args), 3);
    OK(acu_launch_list(stream, scale, &g, args));
    OK(acu_args_set(args, 1, acu_arg_of(5.0f)));
    OK(acu_launch_list(stream, scale, &g, args));
    numbers_are(x, N, 10);
    OK(acu_args_clear(args));
    OK(acu_buffer_release(x));
    OK(acu_buffer_create(stream, ACU_F64, 1, &to));
    OK(acu_args_add(args, acu_arg_of((char)1)));
    OK(acu_args_add(args, acu_bytes(&m, sizeof m)));
    OK(acu_args_add(args, acu_arg_of((short)5)));
    OK(acu_args_add(args, acu_out(to)));
    memset(&m, 0, sizeof m);
    OK(acu_launch_list(stream, mixed, &g, args));
    OK(acu_buffer_read(to, &sum, 1));
    assert_true(sum == 1 + 1 + 2 + 4 + 5);
    OK(acu_buffer_release(to)); /* the list keeps it */
    OK(acu_launch_list(stream, mixed, &g, args));
    OK(acu_args_release(args));
    OK(acu_kernel_release(scale));
    OK(acu_kernel_release(mixed));
    OK(acu_stream_release(stream));
}

static void lists_that_refuse(void **state) {
    (void)state;
    acu_args *args = NULL;
    acu_stream *stream = stream_on(0);
    acu_buffer *x = numbers_on(stream, 8);
    const acu_grid g = grid_of(1, 1);
    OK(acu_args_create(&args));
    FAILS(acu_args_create(NULL), ACU_ERROR_ARGUMENT, "'args' is NULL");
    FAILS(acu_args_add(NULL, acu_arg_of(1)), ACU_ERROR_ARGUMENT, "the list of arguments is NULL");
    FAILS(acu_args_add(args, acu_bytes(NULL, 8)), ACU_ERROR_ARGUMENT, "the argument is NULL");
    FAILS(acu_args_add(args, acu_bytes(args, SIZE_MAX)), ACU_ERROR_ARGUMENT,
          "the argument has 4294967295 bytes: a kernel can take 32764");
    FAILS(acu_args_add(args, acu_in(NULL)), ACU_ERROR_ARGUMENT, "the buffer is NULL");
    FAILS(acu_args_add(args, no_argument()), ACU_ERROR_ARGUMENT, "is invalid");
    FAILS(acu_args_set(args, 0, acu_arg_of(1)), ACU_ERROR_RANGE, "the list has 0 arguments");
    OK(acu_args_add(args, acu_arg_of(x)));
    FAILS(acu_args_set(args, 0, acu_arg_of(1)), ACU_ERROR_ARGUMENT, "has 8 bytes, the new one 4");
    for (int i = 1; i < ACU_MAX_ARGUMENTS; i++)
        OK(acu_args_add(args, acu_arg_of(i)));
    FAILS(acu_args_add(args, acu_arg_of(1)), ACU_ERROR_RANGE, "the list is full");
    FAILS(acu_launch_list(stream, NULL, &g, args), ACU_ERROR_ARGUMENT, "the kernel is NULL");
    FAILS(acu_launch_list(stream, NULL, &g, NULL), ACU_ERROR_ARGUMENT, "the list of arguments");
    acu_args *same = acu_args_retain(args);
    OK(acu_args_release(args));
    OK(acu_args_clear(same));
    OK(acu_args_release(same));
    FAILS(acu_args_clear(same), ACU_ERROR_HANDLE, "released already");
    assert_int_equal(acu_args_count(same), 0);
    OK(acu_buffer_release(x));
    OK(acu_stream_release(stream));
}

/* ---- errors of kernels ---- */

/* The context is lost, and what was in it: the last test. */
static void a_kernel_that_fails_is_told_later(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("a kernel touches what is not its own");
    acu_stream *stream = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale");
    void *nowhere = (void *)(uintptr_t)16;
    OK(acu_launch(stream, scale, acu_grid_1d(8, 8), nowhere, 2.0f, 8));
    FAILS(acu_stream_synchronize(stream), 700, "cudaErrorIllegalAddress");
    (void)acu_kernel_release(scale);
    (void)acu_stream_release(stream);
    (void)cudaDeviceReset();
    begin_kernels(NULL);
}

/* ---- nodes of graphs ---- */

static void launch_graph(cudaGraphExec_t exec, acu_stream *stream) {
    OK(cudaGraphLaunch(exec, acu_stream_raw(stream)));
    OK(acu_stream_synchronize(stream));
}

static void kernel_nodes(void **state) {
    (void)state;
    enum { N = 64 };
    const acu_grid g = grid_of(2, 32);
    acu_prepared_launch prepared;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    acu_stream *stream = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale");
    acu_buffer *x = numbers_on(stream, N);
    const acu_arg twice[] = {acu_inout(x), acu_arg_of(2.0f), acu_arg_of(N)};
    const acu_arg thrice[] = {acu_inout(x), acu_arg_of(3.0f), acu_arg_of(N)};
    const acu_arg five[] = {acu_inout(x), acu_arg_of(5.0f), acu_arg_of(N)};
    OK(cudaGraphCreate(&graph, 0));
    OK(acu_launch_prepare("test", scale, &g, twice, 3, &prepared));
    assert_int_equal(prepared.use_count, 1);
    assert_true(prepared.uses[0].buffer == x && prepared.uses[0].writes);
    OK(acu_launch_add_node(&prepared, graph, NULL, 0, &node));
    OK(acu_launch_prepare("test", scale, &g, thrice, 3, &prepared));
    OK(acu_launch_set_node(&prepared, node));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    launch_graph(exec, stream);
    numbers_are(x, N, 3);
    OK(acu_launch_prepare("test", scale, &g, five, 3, &prepared));
    OK(acu_launch_set_exec_node(&prepared, exec, node));
    launch_graph(exec, stream);
    numbers_are(x, N, 15);
    assert_int_not_equal(acu_launch_add_node(&prepared, NULL, NULL, 0, &node), 0);
    assert_null(node);
    (void)cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(acu_buffer_release(x));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(stream));
}

/* Launches of a module's kernels take the driver's call beneath the runtime's. Where that fails,
 * the runtime's is made, which then says what is wrong. */
static void the_fastest_way(void **state) {
    (void)state;
    if (runtime_version() < 12080) {
        print_message("the driver loads and launches kernels\n");
        skip();
    }
    acu_stream *stream = stream_on(0), *legacy = NULL;
    acu_kernel *scale = kernel_on(0, "scale");
    acu_buffer *x = numbers_on(stream, 8);
    float back[8];
    OK(acu_stream_get_legacy(0, &legacy));
    assert_int_equal(acu_inject_errors("cudaLaunchKernel@*:2"), 0);
    OK(acu_launch(stream, scale, acu_grid_1d(8, 8), x, 2.0f, 8));
    FAILS(acu_launch(legacy, scale, acu_grid_1d(8, 8), x, 2.0f, 8), ACU_OUT_OF_MEMORY,
          "cudaLaunchKernel");
    assert_int_equal(acu_inject_errors("cuLaunchKernel@*:1"), 0);
    OK(acu_launch(stream, scale, acu_grid_1d(8, 8), x, 2.0f, 8));
    assert_int_equal(acu_inject_errors("cuLaunchKernel@*:1;cudaLaunchKernel@1:2"), 0);
    FAILS(acu_launch(stream, scale, acu_grid_1d(8, 8), x, 2.0f, 8), ACU_OUT_OF_MEMORY,
          "cudaLaunchKernel");
    acu_inject_errors(NULL);
    OK(acu_buffer_read(x, back, 8));
    assert_true(back[7] == 28);
    OK(acu_stream_release(legacy));
    OK(acu_buffer_release(x));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(the_fastest_way),
        KERNEL_TEST(buffers_and_numbers),
        KERNEL_TEST(structs_and_small_numbers),
        KERNEL_TEST(no_arguments),
        KERNEL_TEST(grids_cover_everything),
        KERNEL_TEST(other_streams_wait),
        KERNEL_TEST(readers_do_not_wait_for_readers),
        KERNEL_TEST(too_few_and_too_many),
        KERNEL_TEST(wrong_sizes),
        KERNEL_TEST(wrong_types),
        KERNEL_TEST(sizes_and_grids_say_the_same),
        KERNEL_TEST(handles_that_do_not_live),
        KERNEL_TEST(things_of_other_devices),
        KERNEL_TEST(the_current_device_does_not_matter),
        KERNEL_TEST(grids_beyond_limits),
        KERNEL_TEST(shared_memory_beyond_limits),
        KERNEL_TEST(shared_memory_raised_by_cuda),
        KERNEL_TEST(cooperative_launches),
        KERNEL_TEST(clusters),
        KERNEL_TEST(dependent_launches_priorities_and_domains),
        KERNEL_TEST(what_few_launches_need),
        KERNEL_TEST(raw_attributes),
        KERNEL_TEST(lists_are_used_again),
        KERNEL_TEST(lists_that_refuse),
        KERNEL_TEST(kernel_nodes),
        KERNEL_TEST(a_kernel_that_fails_is_told_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
