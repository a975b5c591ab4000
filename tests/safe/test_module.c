/* Modules: sources, names, variables, and what keeps what alive. */
#include "kernels.h"
#include "../scratch.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <time.h>
#include <unistd.h>

static bool has_libraries(void) {
    return runtime_version() >= 12080;
}

/* ---- sources ---- */

static void has_add(acu_module *module) {
    acu_kernel *kernel = NULL;
    OK(acu_module_get_kernel(module, "add", &kernel));
    assert_string_equal(acu_kernel_name(kernel), "add");
    assert_ptr_equal(acu_kernel_module(kernel), module);
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
}

static void text_image_and_file(void **state) {
    (void)state;
    acu_module *module = NULL;
    char path[SCRATCH_SIZE];
    size_t size = strlen(kernels_ptx);
    OK(acu_module_load(0, &(acu_module_source){.ptx = kernels_ptx}, &module));
    assert_int_equal(acu_module_device(module), 0);
    has_add(module);
    char *unended = malloc(size); /* exactly: a sanitizer sees who reads on */
    for (size_t i = 0; i < size; i++)
        unended[i] = kernels_ptx[i];
    OK(acu_module_load(another_device(), &(acu_module_source){.image = unended, .size = size},
                       &module));
    free(unended);
    assert_int_equal(acu_module_device(module), another_device());
    has_add(module);
    int file = mkstemp(scratch_path(path));
    assert_int_equal(write(file, kernels_ptx, size), size);
    OK(acu_module_load(0, &(acu_module_source){.file = path}, &module));
    has_add(module);
    close(file);
    unlink(path);
}

static void when_code_is_loaded(void **state) {
    (void)state;
    acu_loading_mode mode = (acu_loading_mode)0;
    const char *chosen = getenv("CUDA_MODULE_LOADING");
    OK(acu_module_get_loading_mode(&mode));
    assert_true(mode == ACU_LOADING_EAGER || mode == ACU_LOADING_LAZY);
    if (!is_simulated() && chosen && strcmp(chosen, "EAGER") == 0)
        assert_int_equal(mode, ACU_LOADING_EAGER);
}

static void what_is_no_source(void **state) {
    (void)state;
    acu_module *module = NULL;
    char path[SCRATCH_SIZE];
    close(mkstemp(scratch_path(path)));
    FAILS(acu_module_load(0, &(acu_module_source){0}, &module), ACU_ERROR_ARGUMENT, "exactly one");
    FAILS(acu_module_load(0, &(acu_module_source){.ptx = "", .file = path}, &module),
          ACU_ERROR_ARGUMENT, "exactly one");
    FAILS(acu_module_load(0, &(acu_module_source){.ptx = ""}, &module), ACU_ERROR_ARGUMENT,
          "the size is 0");
    FAILS(acu_module_load(0, &(acu_module_source){.image = path}, &module), ACU_ERROR_ARGUMENT,
          "the size is 0");
    FAILS(acu_module_load(0, &(acu_module_source){.file = path}, &module), ACU_ERROR_ARGUMENT,
          "the size is 0");
    unlink(path);
    FAILS(acu_module_load(0, &(acu_module_source){.file = path}, &module), ACU_ERROR_ARGUMENT,
          "No such file");
    FAILS(acu_module_load(0, &(acu_module_source){.file = "/"}, &module), ACU_ERROR_ARGUMENT,
          "cannot read /");
    FAILS(acu_module_load(7, &(acu_module_source){.ptx = kernels_ptx}, &module), 101,
          "device 7 does not exist");
    FAILS(acu_module_load(0, NULL, &module), ACU_ERROR_ARGUMENT, "'source' is NULL");
    FAILS(acu_module_load(0, &(acu_module_source){.ptx = kernels_ptx}, NULL), ACU_ERROR_ARGUMENT,
          "'module' is NULL");
    assert_null(module);
}

/* The beginning of a cubin with one section, which lies where it says. */
static void make_cubin(unsigned char *bytes, size_t section_at, size_t section_size) {
    uint64_t table = 64, at = section_at, size = section_size;
    uint16_t one = 1, each = 64;
    memset(bytes, 0, 128);
    memcpy(bytes, (const char[]){127, 'E', 'L', 'F', 2, 1}, 6);
    memcpy(bytes + 40, &table, sizeof table);
    memcpy(bytes + 58, &each, sizeof each);
    memcpy(bytes + 60, &one, sizeof one);
    bytes[64 + 4] = 1;
    memcpy(bytes + 64 + 24, &at, sizeof at);
    memcpy(bytes + 64 + 32, &size, sizeof size);
}

static void images_that_are_cut_off(void **state) {
    (void)state;
    acu_module *module = NULL;
    unsigned char *bytes = malloc(128);
    const acu_module_source source = {.image = bytes, .size = 128};
    for (size_t size = 4; size < 128; size += 31) {
        make_cubin(bytes, 0, 0);
        FAILS(acu_module_load(0, &(acu_module_source){.image = bytes, .size = size}, &module),
              ACU_ERROR_ARGUMENT, "incomplete or broken");
    }
    make_cubin(bytes, 120, 9);
    FAILS(acu_module_load(0, &source, &module), ACU_ERROR_ARGUMENT, "incomplete or broken");
    make_cubin(bytes, SIZE_MAX, 2);
    FAILS(acu_module_load(0, &source, &module), ACU_ERROR_ARGUMENT, "incomplete or broken");
    memset(bytes, 0, 128);
    const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 113};
    memcpy(bytes, fatbin, sizeof fatbin); /* of 16 + 113 bytes */
    FAILS(acu_module_load(0, &source, &module), ACU_ERROR_ARGUMENT, "incomplete or broken");
    free(bytes);
}

/* Without a zero behind them, so that a sanitizer finds who reads further. */
static void what_must_be_linked_first(void **state) {
    (void)state;
    static const unsigned char lto[] = {0xed, 0x43, 0x4e, 0x7f};
    acu_module *module = NULL;
    char *archive = strdup("!<arch>\n!"), *ir = malloc(sizeof lto);
    memcpy(ir, lto, sizeof lto);
    FAILS(acu_module_load(0, &(acu_module_source){.image = archive, .size = 8}, &module),
          ACU_ERROR_ARGUMENT, "the code is an archive");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_code_link()"));
    FAILS(acu_module_load(0, &(acu_module_source){.image = ir, .size = sizeof lto}, &module),
          ACU_ERROR_ARGUMENT, "the code is LTO IR");
    FAILS(acu_module_load(0, &(acu_module_source){.image = "no magic number", .size = SIZE_MAX},
                          &module),
          ACU_ERROR_HOST_MEMORY, "no memory for 18446744073709551615 bytes");
    assert_null(module);
    free(archive);
    free(ir);
}

static void text_that_is_no_ptx(void **state) {
    (void)state;
    acu_module *module = NULL;
    const acu_module_source source = {.ptx = "extern \"C\" __global__ void nothing() {}"};
    FAILS(acu_module_load(0, &source, &module), ACU_ERROR_ARGUMENT, "not PTX");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_module_compile()"));
    FAILS(acu_module_load(0, &(acu_module_source){.image = "garbage!", .size = 8}, &module),
          ACU_ERROR_ARGUMENT, "not PTX");
    assert_null(module);
}

/* CUDA may compile at once, or when the first kernel is asked for. */
static acu_result load_broken(const char *ptx) {
    ACU_AUTO(acu_module) *module = NULL;
    acu_kernel *kernel = NULL;
    ACU_TRY(acu_module_load(0, &(acu_module_source){.ptx = ptx}, &module));
    return acu_module_get_kernel(module, "broken", &kernel);
}

static void what_the_compiler_says_is_told(void **state) {
    (void)state;
    FAILS(load_broken(".version 7.0\n.target sm_52\n.address_size 64\n"
                      ".visible .entry broken() { ret; }\nthis is no PTX\n"),
          218, "the compiler's log: ");
    FAILS(load_broken(".version 99.0\n.target sm_52\n.address_size 64\n"
                      ".visible .entry broken() { ret; }\n"),
          222, "99.0");
    (void)cudaGetLastError();
}

static void options_of_the_compiler(void **state) {
    (void)state;
    acu_module *module = NULL;
    const acu_jit_options all = {.max_registers = 32,
                                 .threads_per_block = 128,
                                 .level = ACU_JIT_O2,
                                 .cache = ACU_JIT_CACHE_L1,
                                 .lines = true,
                                 .verbose = true,
                                 .log_bytes = 100};
    OK(acu_module_load(0, &(acu_module_source){.ptx = kernels_ptx, .jit = all}, &module));
    FAILS(acu_module_load(
              0, &(acu_module_source){.ptx = kernels_ptx, .jit = {.level = (acu_jit_level)77}},
              &(acu_module *){NULL}),
          ACU_ERROR_ARGUMENT, "77 is not an optimisation level");
    FAILS(acu_module_load(
              0, &(acu_module_source){.ptx = kernels_ptx, .jit = {.cache = (acu_jit_cache)9}},
              &(acu_module *){NULL}),
          ACU_ERROR_ARGUMENT, "9 is not a cache mode");
    assert_non_null(acu_module_log(module));
    has_add(module);
    assert_string_equal(acu_module_log(NULL), "");
}

/* ---- names ---- */

static void names_of_kernels(void **state) {
    (void)state;
    size_t count = 7;
    const char *names[7] = {NULL}, *two[3] = {NULL};
    acu_module *module = module_on(0);
    OK(acu_module_get_kernel_names(module, names, &count));
    assert_int_equal(count, 7);
    assert_string_equal(names[0], "add");
    assert_string_equal(names[6], "sharing");
    count = 2;
    OK(acu_module_get_kernel_names(module, two, &count));
    assert_int_equal(count, 7);
    assert_ptr_equal(two[1], names[1]);
    assert_null(two[2]);
    OK(acu_module_get_kernel_names(module, NULL, &count));
    assert_int_equal(count, 7);
    FAILS(acu_module_get_kernel_names(NULL, names, &count), ACU_ERROR_ARGUMENT,
          "the module is NULL");
    FAILS(acu_module_get_kernel_names(module, names, NULL), ACU_ERROR_ARGUMENT, "'count' is NULL");
    OK(acu_module_release(module));
}

/* For a wrapped module there is no PTX, so CUDA is asked. */
static void unified_functions(void **state) {
    (void)state;
    acu_module *module = module_on(0);
    void *function = &function;
    if (kernel_version() < 12080 || acu_module_raw_driver(module)) {
        FAILS(acu_module_get_unified_function(module, "none", &function), 801, "needs CUDA 12.8");
    } else {
        FAILS(acu_module_get_unified_function(module, "none", &function), 500,
              "the module has no unified function \"none\"");
        FAILS(acu_module_get_unified_function(module, "scale", &function), 500, "\"scale\"");
        assert_non_null(strstr(acu_last_error_details().hint, "UnifiedFunctionPointers"));
        assert_int_equal(acu_inject_errors("cudaLibraryGetUnifiedFunction@1:2"), 0);
        FAILS(acu_module_get_unified_function(module, "none", &function), ACU_OUT_OF_MEMORY,
              "cudaLibraryGetUnifiedFunction");
        acu_inject_errors(NULL);
    }
    assert_null(function);
    OK(acu_module_release(module));
}

static void names_without_ptx(void **state) {
    (void)state;
    size_t count = 7;
    bool add = false;
    const char *names[7] = {NULL};
    acu_module *module = module_on(0), *other = NULL;
    if (has_libraries())
        OK(acu_module_wrap(0, acu_module_raw(module), &other));
    else
        OK(acu_module_wrap_driver(0, acu_module_raw_driver(module), &other));
    if (kernel_version() < 12040) {
        FAILS(acu_module_get_kernel_names(other, names, &count), 801, "needs CUDA 12.4");
    } else {
        OK(acu_module_get_kernel_names(other, names, &count));
        assert_int_equal(count, 7);
        for (size_t i = 0; i < count; i++)
            add = add || strcmp(names[i], "add") == 0;
        assert_true(add);
    }
    OK(acu_module_release(other));
    OK(acu_module_release(module));
}

static void a_kernel_that_is_not_there(void **state) {
    (void)state;
    acu_kernel *kernel = NULL;
    acu_module *module = module_on(0);
    FAILS(acu_module_get_kernel(module, "vadd", &kernel), 500, "the module has no kernel \"vadd\"");
    FAILS(acu_module_get_kernel(module, "", &kernel), 500, "the module has no kernel \"\"");
    assert_non_null(strstr(acu_last_error_details().hint, "its kernels: add, scale"));
    FAILS(acu_module_get_kernel(module, "mangled", &kernel), 500,
          "the module has no kernel \"mangled\"");
    assert_non_null(strstr(acu_last_error_details().hint, "_Z7mangledPf"));
    FAILS(acu_module_get_kernel(module, NULL, &kernel), ACU_ERROR_ARGUMENT, "'name' is NULL");
    FAILS(acu_module_get_kernel(module, "add", NULL), ACU_ERROR_ARGUMENT, "'kernel' is NULL");
    FAILS(acu_module_get_kernel(NULL, "add", &kernel), ACU_ERROR_ARGUMENT, "the module is NULL");
    assert_null(kernel);
    OK(acu_module_release(module));
    FAILS(acu_module_get_kernel(module, "add", &kernel), ACU_ERROR_HANDLE, "released already");
    FAILS(acu_module_release(module), ACU_ERROR_HANDLE, "released already");
}

/* ---- variables ---- */

static void variables_are_buffers(void **state) {
    (void)state;
    uint32_t seven = 0, eight = 8;
    float factors[3];
    acu_buffer *counter = NULL, *constant = NULL, *table = NULL;
    acu_stream *stream = stream_on(0);
    acu_module *module = module_on(0);
    OK(acu_module_get_global(module, "counter", stream, ACU_U32, &counter));
    OK(acu_module_get_global(module, "factors", stream, ACU_F32, &constant));
    OK(acu_module_get_global(module, "table", stream, ACU_U16, &table));
    OK(acu_module_release(module)); /* the buffers keep it */
    assert_int_equal(acu_buffer_count(table), 50);
    OK(acu_buffer_read(counter, &seven, 1));
    assert_int_equal(seven, 7);
    OK(acu_buffer_write(counter, &eight, 1));
    OK(acu_buffer_read(counter, &seven, 1));
    assert_int_equal(seven, 8);
    OK(acu_buffer_read(constant, factors, 3));
    assert_true(factors[0] == 1 && factors[1] == 2 && factors[2] == 3);
    OK(acu_buffer_release(counter));
    OK(acu_buffer_release(table));
    OK(acu_buffer_release(constant));
    OK(acu_stream_release(stream));
}

static void managed_variables_too(void **state) {
    (void)state;
    uint32_t three = 0, *host = NULL;
    acu_buffer *everywhere = NULL;
    acu_stream *stream = stream_on(0);
    acu_module *module = module_on(0);
    (void)cudaGetLastError();
    OK(acu_module_get_global(module, "everywhere", stream, ACU_U32, &everywhere));
    OK(acu_buffer_read(everywhere, &three, 1));
    assert_int_equal(three, 3);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_int_equal(acu_buffer_memory(everywhere), ACU_MEMORY_MANAGED);
    OK(acu_buffer_get_host(everywhere, (void **)&host));
    assert_int_equal(*host, 3);
    OK(acu_buffer_release(everywhere));
    OK(acu_module_release(module));
    OK(acu_stream_release(stream));
}

static void variables_that_cannot_be(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_stream *stream = stream_on(0);
    acu_module *module = module_on(0);
    FAILS(acu_module_get_global(module, "missing", stream, ACU_U32, &buffer), 500,
          "the module has no variable \"missing\"");
    FAILS(acu_module_get_global(module, "scale", stream, ACU_U32, &buffer), 500,
          "the module has no variable \"scale\"");
    FAILS(acu_module_get_global(module, "table", stream, ACU_F64, &buffer), ACU_ERROR_DTYPE,
          "100 bytes, which is no multiple of the size of f64");
    FAILS(acu_module_get_global(module, "table", stream, 0x77, &buffer), ACU_ERROR_DTYPE,
          "0x77 is no type of elements");
    FAILS(acu_module_get_global(NULL, "table", stream, ACU_U8, &buffer), ACU_ERROR_ARGUMENT,
          "NULL");
    FAILS(acu_module_get_global(module, NULL, stream, ACU_U8, &buffer), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_module_get_global(module, "table", NULL, ACU_U8, &buffer), ACU_ERROR_ARGUMENT,
          "NULL");
    FAILS(acu_module_get_global(module, "table", stream, ACU_U8, NULL), ACU_ERROR_ARGUMENT, "NULL");
    assert_null(buffer);
    OK(acu_module_release(module));
    OK(acu_stream_release(stream));
}

static void variables_of_other_devices(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_buffer *buffer = NULL;
    acu_stream *other = stream_on(1);
    acu_module *module = module_on(0);
    FAILS(acu_module_get_global(module, "table", other, ACU_U8, &buffer), ACU_ERROR_DEVICE,
          "the stream on device 1");
    OK(acu_module_release(module));
    OK(acu_stream_release(other));
}

/* ---- raw handles ---- */

static void one_raw_handle_each(void **state) {
    (void)state;
    acu_module *module = module_on(0);
    acu_kernel *kernel = NULL;
    OK(acu_module_get_kernel(module, "add", &kernel));
    assert_int_equal(acu_module_raw(module) != NULL, has_libraries());
    assert_int_equal(acu_module_raw_driver(module) != NULL, !has_libraries());
    assert_int_equal(acu_kernel_raw(kernel) != NULL, has_libraries());
    assert_int_equal(acu_kernel_raw_driver(kernel) != NULL, !has_libraries());
    assert_null(acu_module_raw(NULL));
    assert_null(acu_module_raw_driver(NULL));
    assert_null(acu_kernel_raw(NULL));
    assert_null(acu_kernel_raw_driver(NULL));
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
}

static void libraries_of_someone_else(void **state) {
    (void)state;
    cudaLibrary_t raw = NULL;
    acu_module *module = NULL;
    if (!has_libraries())
        return;
    OK(cudaLibraryLoadData(&raw, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(acu_module_wrap(0, raw, &module));
    assert_ptr_equal(acu_module_raw(module), raw);
    has_add(module);
    OK(acu_module_adopt(0, raw, &module)); /* it is still there, and goes with this */
    has_add(module);
    FAILS(acu_module_wrap(0, NULL, &module), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    FAILS(acu_module_adopt(0, raw, NULL), ACU_ERROR_ARGUMENT, "'module' is NULL");
    FAILS(acu_module_wrap(7, raw, &module), 101, "device 7 does not exist");
}

/* A handle that such a runtime cannot have made: what is asked of it is refused, with the reason.
 */
static void libraries_before_there_were_any(void **state) {
    (void)state;
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    int nothing_of_cuda = 0;
    if (has_libraries())
        return;
    OK(acu_module_wrap(0, (struct CUlib_st *)(void *)&nothing_of_cuda, &module));
    FAILS(acu_module_get_kernel(module, "add", &kernel), 801, "needs CUDA 12.8");
    OK(acu_module_release(module));
}

static void modules_of_the_driver(void **state) {
    (void)state;
    CUmodule raw = NULL;
    CUcontext context = NULL;
    acu_module *module = NULL;
    OK(cudaFree(NULL)); /* makes the primary context current */
    OK((int)cuCtxGetCurrent(&context));
    assert_non_null(context);
    OK((int)cuModuleLoadData(&raw, kernels_ptx));
    OK(acu_module_wrap_driver(0, raw, &module));
    assert_ptr_equal(acu_module_raw_driver(module), raw);
    has_add(module);
    OK(acu_module_adopt_driver(0, raw, &module));
    has_add(module);
    FAILS(acu_module_wrap_driver(0, NULL, &module), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    FAILS(acu_module_adopt_driver(0, NULL, &module), ACU_ERROR_ARGUMENT, "'raw' is NULL");
}

/* ---- life ---- */

static void kernels_keep_modules(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing"), *same = acu_kernel_retain(kernel);
    assert_ptr_equal(same, kernel);
    OK(acu_kernel_release(kernel));
    OK(acu_launch(stream, same, acu_grid_1d(1, 1)));
    OK(acu_kernel_release(same));
    FAILS(acu_kernel_release(same), ACU_ERROR_HANDLE, "the kernel was released already");
    assert_null(acu_kernel_retain(same));
    assert_null(acu_module_retain(NULL));
    OK(acu_kernel_release(NULL));
    OK(acu_module_release(NULL));
    OK(acu_stream_release(stream));
}

static void take_time(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* The kernel ran on more streams than a module records. */
static void unloading_waits_for_kernels(void **state) {
    (void)state;
    enum { MANY = 20 };
    acu_stream *streams[MANY];
    acu_kernel *kernel = kernel_on(0, "nothing");
    acu_sim_register("nothing", take_time);
    for (int i = 0; i < MANY; i++) {
        streams[i] = stream_on(0);
        OK(acu_launch(streams[i], kernel, acu_grid_1d(1, 1)));
        OK(acu_launch(streams[i], kernel, acu_grid_1d(1, 1)));
    }
    OK(acu_stream_release(streams[3]));
    OK(acu_kernel_release(kernel));
    for (int i = 0; i < MANY; i++) {
        if (i == 3)
            continue;
        OK(acu_stream_query(streams[i]));
        OK(acu_stream_release(streams[i]));
    }
}

/* Of so many streams only the device can be waited for, which would break even a relaxed capture.
 */
static void unloading_waits_for_captures(void **state) {
    (void)state;
    enum { MANY = 20 };
    acu_stream *streams[MANY];
    acu_graph *graph = NULL;
    acu_capture_status status;
    acu_kernel *kernel = kernel_on(0, "nothing"); /* which alone keeps the module */
    for (int i = 0; i < MANY; i++) {
        streams[i] = stream_on(0);
        OK(acu_launch(streams[i], kernel, acu_grid_1d(1, 1)));
    }
    const acu_capture_options relaxed = {.mode = ACU_CAPTURE_RELAXED};
    OK(acu_stream_begin_capture(streams[MANY - 1], &relaxed));
    assert_int_equal(acu_inject_errors("cudaLibraryUnload@*:999;cuModuleUnload@*:999"), 0);
    OK(acu_kernel_release(kernel));
    OK(acu_stream_query(streams[0])); /* would unload it, if that could be */
    assert_int_equal(acu_release_error(NULL), 0);
    acu_inject_errors(NULL);
    OK(acu_stream_get_capture_status(streams[MANY - 1], &status));
    assert_int_equal(status, ACU_CAPTURE_ACTIVE);
    OK(acu_stream_end_capture(streams[MANY - 1], &graph));
    OK(acu_graph_release(graph));
    for (int i = 0; i < MANY; i++)
        OK(acu_stream_release(streams[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(text_image_and_file),
        KERNEL_TEST(when_code_is_loaded),
        KERNEL_TEST(what_is_no_source),
        KERNEL_TEST(images_that_are_cut_off),
        KERNEL_TEST(what_must_be_linked_first),
        KERNEL_TEST(text_that_is_no_ptx),
        KERNEL_TEST(what_the_compiler_says_is_told),
        KERNEL_TEST(options_of_the_compiler),
        KERNEL_TEST(names_of_kernels),
        KERNEL_TEST(unified_functions),
        KERNEL_TEST(names_without_ptx),
        KERNEL_TEST(a_kernel_that_is_not_there),
        KERNEL_TEST(variables_are_buffers),
        KERNEL_TEST(managed_variables_too),
        KERNEL_TEST(variables_that_cannot_be),
        KERNEL_TEST(variables_of_other_devices),
        KERNEL_TEST(one_raw_handle_each),
        KERNEL_TEST(libraries_of_someone_else),
        KERNEL_TEST(libraries_before_there_were_any),
        KERNEL_TEST(modules_of_the_driver),
        KERNEL_TEST(kernels_keep_modules),
        KERNEL_TEST(unloading_waits_for_kernels),
        KERNEL_TEST(unloading_waits_for_captures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
