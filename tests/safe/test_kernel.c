/* Kernels: their properties and attributes, and occupancy. */
#include "kernels.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include "safe/kernel/launch.h"

static bool tells_parameters(void) {
    return kernel_version() >= 12040;
}

/* ---- what they say ---- */

enum { STATIC_SHARED = 1008 }; /* 1000 bytes, and what aligns the dynamic ones */

static void info(void **state) {
    (void)state;
    acu_kernel_info i;
    acu_kernel *small = kernel_on(another_device(), "small"), *sharing = kernel_on(0, "sharing");
    OK(acu_kernel_get_info(small, &i));
    assert_int_equal(i.max_threads, 64);
    assert_int_equal(i.static_shared, 0);
    assert_int_equal(i.max_shared, 49152);
    assert_int_equal(i.ptx_version, 52);
    assert_int_equal(i.cluster_needed, false);
    assert_int_equal(i.shared_carveout, -1);
    OK(acu_kernel_get_info(sharing, &i));
    assert_int_equal(i.static_shared, STATIC_SHARED);
    assert_int_equal(i.max_threads, 1024);
    assert_int_equal(acu_kernel_device(small), another_device());
    assert_string_equal(acu_kernel_name(small), "small");
    FAILS(acu_kernel_get_info(small, NULL), ACU_ERROR_ARGUMENT, "'info' is NULL");
    FAILS(acu_kernel_get_info(NULL, &i), ACU_ERROR_ARGUMENT, "the kernel is NULL");
    assert_int_equal(acu_kernel_device(NULL), ACU_DEVICE_CURRENT);
    assert_string_equal(acu_kernel_name(NULL), "");
    assert_null(acu_kernel_module(NULL));
    OK(acu_kernel_release(small));
    OK(acu_kernel_release(sharing));
}

static void attributes(void **state) {
    (void)state;
    int most = 0;
    acu_kernel_info i;
    acu_kernel *sharing = kernel_on(0, "sharing");
    OK(acu_kernel_set_attribute(sharing, ACU_KERNEL_MAX_SHARED, 65536));
    OK(acu_kernel_set_attribute(sharing, ACU_KERNEL_SHARED_CARVEOUT, 50));
    OK(acu_kernel_get_info(sharing, &i));
    assert_int_equal(i.max_shared, 65536);
    assert_int_equal(i.shared_carveout, 50);
    OK(acu_device_get_attribute(0, ACU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &most));
    FAILS(acu_kernel_set_attribute(sharing, ACU_KERNEL_MAX_SHARED, most), ACU_ERROR_LIMIT,
          "per block, of which the code takes 1008");
    OK(acu_kernel_set_attribute(sharing, ACU_KERNEL_MAX_SHARED, most - STATIC_SHARED));
    if (kernel_version() >= 11080)
        OK(acu_kernel_set_attribute(sharing, ACU_KERNEL_BIG_CLUSTERS, 1));
    OK(acu_kernel_get_info(sharing, &i));
    assert_int_equal(i.big_clusters, kernel_version() >= 11080);
    FAILS(acu_kernel_set_attribute(sharing, ACU_KERNEL_SHARED_CARVEOUT, 1000), 1, "");
    (void)cudaGetLastError();
    if (kernel_version() < 13040) /* the driver has another number for it than the runtime */
        FAILS(acu_kernel_set_attribute(sharing, ACU_KERNEL_SHARED_MODE, 0), 801,
              runtime_version() < 12080 ? "CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE needs CUDA 13.4"
                                        : "cudaFuncAttributeSharedMemoryMode needs CUDA 13.4");
    FAILS(acu_kernel_set_attribute(NULL, ACU_KERNEL_MAX_SHARED, 5), ACU_ERROR_ARGUMENT,
          "the kernel is NULL");
    OK(acu_kernel_release(sharing));
}

/* ---- parameters ---- */

static void parameters(void **state) {
    (void)state;
    static const acu_parameter known[] = {{0, 1, ACU_PARAMETER_INTEGER},
                                          {8, 24, ACU_PARAMETER_RECORD},
                                          {32, 2, ACU_PARAMETER_INTEGER},
                                          {40, 8, ACU_PARAMETER_POINTER}};
    size_t count = 0;
    acu_parameter p;
    acu_kernel *mixed = kernel_on(0, "mixed"), *nothing = kernel_on(0, "nothing");
    assert_int_equal(acu_kernel_parameter_check(mixed), ACU_CHECK_TYPES);
    OK(acu_kernel_get_parameter_count(mixed, &count));
    assert_int_equal(count, COUNT(known));
    for (size_t i = 0; i < count; i++) {
        OK(acu_kernel_get_parameter(mixed, i, &p));
        assert_int_equal(p.offset, known[i].offset);
        assert_int_equal(p.size, known[i].size);
        assert_int_equal(p.type, known[i].type);
    }
    OK(acu_kernel_get_parameter_count(nothing, &count));
    assert_int_equal(count, 0);
    FAILS(acu_kernel_get_parameter(mixed, 4, &p), ACU_ERROR_RANGE, "mixed has 4 parameters");
    FAILS(acu_kernel_get_parameter(mixed, 0, NULL), ACU_ERROR_ARGUMENT, "'parameter' is NULL");
    FAILS(acu_kernel_get_parameter(NULL, 0, &p), ACU_ERROR_ARGUMENT, "the kernel is NULL");
    FAILS(acu_kernel_get_parameter_count(mixed, NULL), ACU_ERROR_ARGUMENT, "'count' is NULL");
    assert_int_equal(acu_kernel_parameter_check(NULL), ACU_CHECK_NOTHING);
    assert_int_equal(cudaGetLastError(), cudaSuccess); /* that a list ends is no failure */
    OK(acu_kernel_release(mixed));
    OK(acu_kernel_release(nothing));
}

/* ---- someone else's ---- */

static acu_kernel *wrap(const acu_kernel *kernel) {
    acu_kernel *other = NULL;
    if (acu_kernel_raw(kernel))
        OK(acu_kernel_wrap(0, acu_kernel_raw(kernel), &other));
    else
        OK(acu_kernel_wrap_driver(0, acu_kernel_raw_driver(kernel), &other));
    return other;
}

static void functions_of_the_driver(void **state) {
    (void)state;
    enum { N = 64 };
    struct CUfunc_st *function = NULL;
    acu_stream *stream = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale"), *same = NULL;
    acu_buffer *x = numbers_on(stream, N);
    float back[N];
    OK(acu_kernel_get_function(scale, &function));
    assert_non_null(function);
    OK(acu_kernel_wrap_driver(0, function, &same));
    OK(acu_launch(stream, same, acu_grid_1d(N, 32), x, 2.0f, N));
    OK(acu_buffer_read(x, back, N));
    assert_true(back[7] == 14);
    if (acu_kernel_raw(scale)) {
        assert_int_equal(acu_inject_errors("cuKernelGetFunction@1:2"), 0);
        FAILS(acu_kernel_get_function(scale, &function), ACU_OUT_OF_MEMORY, "cuKernelGetFunction");
        assert_null(function);
        acu_inject_errors(NULL);
    }
    OK(acu_kernel_release(same));
    same = wrap(scale);
    OK(acu_kernel_get_function(same, &function));
    assert_non_null(function);
    OK(acu_kernel_release(same));
    OK(acu_kernel_release(scale));
    OK(acu_buffer_release(x));
    OK(acu_stream_release(stream));
}

/* As CUDA loads lazily, or not, a kernel is loaded or not before. */
static void kernels_are_loaded_before_their_launch(void **state) {
    (void)state;
    bool loaded = true;
    acu_stream *stream = stream_on(0);
    acu_kernel *nothing = kernel_on(0, "nothing"), *other;
    if (driver_version() < 12040) {
        FAILS(acu_kernel_is_loaded(nothing, &loaded), 801, "12.4");
        assert_false(loaded);
        FAILS(acu_kernel_load(nothing), 801, "12.4");
    } else {
        other = wrap(nothing);
        OK(acu_kernel_is_loaded(nothing, &loaded));
        print_message("a kernel that was only found is%s loaded\n", loaded ? "" : " not");
        OK(acu_kernel_load(nothing));
        OK(acu_kernel_load(nothing));
        OK(acu_kernel_is_loaded(nothing, &loaded));
        assert_true(loaded);
        loaded = false;
        OK(acu_kernel_is_loaded(other, &loaded));
        assert_true(loaded);
        OK(acu_kernel_load(other));
        OK(acu_launch(stream, nothing, acu_grid_1d(1, 1)));
        OK(acu_stream_synchronize(stream));
        OK(acu_kernel_release(other));
    }
    OK(acu_kernel_release(nothing));
    OK(acu_stream_release(stream));
}

static void kernels_that_cannot_be_loaded(void **state) {
    (void)state;
    if (driver_version() < 12040)
        SKIP("needs a driver of CUDA 12.4");
    bool loaded = true;
    acu_kernel *nothing = kernel_on(0, "nothing");
    assert_int_equal(acu_inject_errors("cuFuncLoad@1:2;cuFuncIsLoaded@1:400"), 0);
    FAILS(acu_kernel_load(nothing), ACU_OUT_OF_MEMORY, "acu_kernel_load: cuFuncLoad");
    FAILS(acu_kernel_is_loaded(nothing, &loaded), 400, "acu_kernel_is_loaded: cuFuncIsLoaded");
    assert_false(loaded);
    acu_inject_errors(NULL);
    OK(acu_kernel_release(nothing));
}

static void kernels_of_someone_else(void **state) {
    (void)state;
    enum { N = 64 };
    size_t count = 1;
    acu_stream *stream = stream_on(0);
    acu_kernel *scale = kernel_on(0, "scale"), *other = wrap(scale);
    acu_buffer *x = numbers_on(stream, N);
    float back[N];
    OK(acu_launch(stream, other, acu_grid_1d(N, 32), x, 2.0f, N));
    OK(acu_buffer_read(x, back, N));
    assert_true(back[7] == 14);
    assert_null(acu_kernel_module(other));
    assert_string_equal(acu_kernel_name(other), kernel_version() >= 12030 ? "scale" : "");
    if (tells_parameters()) {
        assert_int_equal(acu_kernel_parameter_check(other), ACU_CHECK_SIZES);
        FAILS(acu_launch(stream, other, acu_grid_1d(N, 32), x), ACU_ERROR_ARGUMENT, "1 are given");
        OK(acu_launch(stream, other, acu_grid_1d(N, 32), x, 2, N)); /* types are not known */
    } else {
        assert_int_equal(acu_kernel_parameter_check(other), ACU_CHECK_NOTHING);
        FAILS(acu_kernel_get_parameter_count(other, &count), 801, "are not known");
        assert_int_equal(count, 0);
    }
    OK(acu_kernel_release(other));
    FAILS(acu_kernel_wrap(0, NULL, &other), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    FAILS(acu_kernel_wrap(0, x, NULL), ACU_ERROR_ARGUMENT, "'kernel' is NULL");
    FAILS(acu_kernel_wrap_driver(0, NULL, &other), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    FAILS(acu_kernel_wrap(9, x, &other), 101, "device 9 does not exist");
    OK(acu_buffer_release(x));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(stream));
}

/* The driver's kernels are the runtime's, too, since that loads some itself; before, their
 * functions are the driver's; and where the runtime cannot tell their parameters, a newer driver
 * does. */
static void kernels_of_libraries(void **state) {
    (void)state;
    enum { N = 64 };
    CUlibrary library = NULL;
    CUkernel raw = NULL;
    CUfunction function = NULL;
    acu_kernel *kernel = NULL;
    acu_stream *stream = stream_on(0);
    acu_buffer *x = numbers_on(stream, N);
    if (runtime_version() >= 12010) {
        OK(acu_device_synchronize(0)); /* the driver is initialised */
        OK((int)cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
        OK((int)cuLibraryGetKernel(&raw, library, "scale"));
        if (runtime_version() >= 12080) {
            OK(acu_kernel_wrap(0, raw, &kernel));
            assert_ptr_equal(acu_kernel_raw(kernel), raw);
        } else {
            OK((int)cuKernelGetFunction(&function, raw));
            OK(acu_kernel_wrap_driver(0, function, &kernel));
        }
        assert_int_equal(acu_kernel_parameter_check(kernel), ACU_CHECK_SIZES);
        FAILS(acu_launch(stream, kernel, acu_grid_1d(N, 32), x), ACU_ERROR_ARGUMENT, "1 are given");
        OK(acu_launch(stream, kernel, acu_grid_1d(N, 32), x, 2.0f, N));
        OK(acu_stream_synchronize(stream));
        OK(acu_kernel_release(kernel));
        OK((int)cuLibraryUnload(library));
        assert_int_equal(cudaGetLastError(), cudaSuccess);
    }
    OK(acu_buffer_release(x));
    OK(acu_stream_release(stream));
}

/* ---- occupancy ---- */

static size_t four_each(size_t threads, void *data) {
    *(int *)data += 1;
    return 4 * threads;
}

static void what_fits(void **state) {
    (void)state;
    int blocks = 0, asked = 0;
    size_t threads = 0, all = 0, bytes = 0;
    acu_kernel *kernel = kernel_on(0, "nothing"), *small = kernel_on(0, "small");
    OK(acu_kernel_get_blocks_per_multiprocessor(kernel, 1024, 0, 0, &blocks));
    assert_int_equal(blocks, 2);
    OK(acu_kernel_get_best_block(kernel, NULL, &threads, &all));
    assert_true(threads == 1024 && all > 1);
    OK(acu_kernel_get_best_block(small, &(acu_block_need){.shared_for = four_each, .data = &asked},
                                 &threads, NULL));
    assert_true(threads == 64 && asked > 0);
    OK(acu_kernel_get_best_block(kernel, &(acu_block_need){.max_threads = 100}, &threads, &all));
    assert_true(threads > 0 && threads <= 100);
    OK(acu_kernel_get_available_shared(kernel, 2, 1024, &bytes));
    assert_true(bytes > 0);
    FAILS(acu_kernel_get_blocks_per_multiprocessor(kernel, 0, 0, 0, &blocks), ACU_ERROR_ARGUMENT,
          "cannot have 0 threads");
    FAILS(acu_kernel_get_blocks_per_multiprocessor(kernel, 1, 0, 0, NULL), ACU_ERROR_ARGUMENT,
          "NULL");
    FAILS(acu_kernel_get_blocks_per_multiprocessor(NULL, 1, 0, 0, &blocks), ACU_ERROR_ARGUMENT,
          "NULL");
    FAILS(acu_kernel_get_available_shared(kernel, 1, SIZE_MAX, &bytes), ACU_ERROR_ARGUMENT,
          "threads");
    FAILS(acu_kernel_get_available_shared(kernel, 1, 1, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_kernel_get_available_shared(NULL, 1, 1, &bytes), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_kernel_get_best_block(NULL, NULL, &threads, &all), ACU_ERROR_ARGUMENT, "NULL");
    OK(acu_kernel_release(kernel));
    OK(acu_kernel_release(small));
}

static void clusters_that_fit(void **state) {
    (void)state;
    int answer = 0;
    const acu_grid g = {.blocks = {8, 0, 0}, .threads = {64, 0, 0}, .cluster = {4, 0, 0}};
    acu_kernel *kernel = kernel_on(0, "nothing");
    OK(acu_kernel_get_max_clusters(kernel, &g, &answer));
    assert_true(answer > 0);
    OK(acu_kernel_get_max_cluster_size(kernel, &g, &answer));
    assert_int_equal(answer, 8);
    FAILS(acu_kernel_get_max_clusters(kernel, NULL, &answer), ACU_ERROR_ARGUMENT, "'grid' is NULL");
    FAILS(acu_kernel_get_max_clusters(kernel, &g, NULL), ACU_ERROR_ARGUMENT, "'clusters' is NULL");
    FAILS(acu_kernel_get_max_cluster_size(kernel, &g, NULL), ACU_ERROR_ARGUMENT,
          "'blocks' is NULL");
    FAILS(acu_kernel_get_max_cluster_size(NULL, &g, &answer), ACU_ERROR_ARGUMENT,
          "the kernel is NULL");
    OK(acu_kernel_release(kernel));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(info),
        KERNEL_TEST(attributes),
        KERNEL_TEST(parameters),
        KERNEL_TEST(functions_of_the_driver),
        KERNEL_TEST(kernels_are_loaded_before_their_launch),
        KERNEL_TEST(kernels_that_cannot_be_loaded),
        KERNEL_TEST(kernels_of_someone_else),
        KERNEL_TEST(kernels_of_libraries),
        KERNEL_TEST(what_fits),
        KERNEL_TEST(clusters_that_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
