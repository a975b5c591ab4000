/*
 * Linking code. nvJitLink is a fake one, so that this runs where there is none; tests/real/code.c
 * links by the real one. The driver's linker is the simulator's, or a GPU's driver's.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fake_nvjitlink.h"

#include "../scratch.h"

#include <unistd.h>

/* ---- parts ---- */

/* Two parts, of which one calls the other. */
static const char caller[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                             ".extern .func (.param .b32 result) twice(.param .b32 x);\n"
                             ".visible .entry doubles(.param .u64 x) {\n"
                             "    .reg .b64 %at<3>; .reg .b32 %i<3>; .reg .f32 %v<3>;\n"
                             "    ld.param.u64 %at0, [x];\n"
                             "    cvta.to.global.u64 %at0, %at0;\n"
                             "    mov.u32 %i0, %tid.x;\n"
                             "    mul.wide.u32 %at1, %i0, 4;\n"
                             "    add.u64 %at0, %at0, %at1;\n"
                             "    ld.global.f32 %v0, [%at0];\n"
                             "    {\n"
                             "    .param .b32 given;\n"
                             "    .param .b32 got;\n"
                             "    st.param.f32 [given], %v0;\n"
                             "    call.uni (got), twice, (given);\n"
                             "    ld.param.f32 %v1, [got];\n"
                             "    }\n"
                             "    st.global.f32 [%at0], %v1;\n"
                             "    ret;\n"
                             "}\n";
static const char callee[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                             ".visible .func (.param .b32 result) twice(.param .b32 x) {\n"
                             "    .reg .f32 %v<2>;\n"
                             "    ld.param.f32 %v0, [x];\n"
                             "    add.f32 %v1, %v0, %v0;\n"
                             "    st.param.f32 [result], %v1;\n"
                             "    ret;\n"
                             "}\n";
static const char lto[] = "\xed\x43\x4e\x7f intermediate";

/* The simulator runs no PTX: it calls this function instead. */
static void simulated_doubles(const acu_sim_launch *launch, void *const *args) {
    float *x = acu_sim_at(launch, *(void *const *)args[0], 8 * sizeof *x);
    for (int i = 0; i < 8; i++)
        x[i] *= 2;
}

static acu_code *part_of(const void *bytes, size_t size, const char *name) {
    acu_code *code = NULL;
    OK(acu_code_create(&(acu_code_source){.bytes = bytes, .size = size, .name = name}, &code));
    return code;
}

static void release_all(acu_code **parts, size_t count) {
    for (size_t i = 0; i < count; i++)
        OK(acu_code_release(parts[i]));
}

static const acu_code_link_options by_nvjitlink = {.linker = ACU_CODE_LINKER_NVJITLINK},
                                   by_driver = {.linker = ACU_CODE_LINKER_DRIVER};

static int begin_link(void **state) {
    clear_fake_nvjitlink();
    return begin_kernels(state);
}

static int end_link(void **state) {
    return fake_linker.alive || nothing_left(state);
}

#define LINK_TEST(function) SAFE_TEST(function, begin_link, end_link)

/* ---- without nvJitLink ---- */

/* Before any is loaded: the first test. */
static void where_there_is_none(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_code *parts[] = {part_of(lto, sizeof lto - 1, "a.ltoir")};
    setenv("ANYCUDA_NVJITLINK", "/there/is/none", 1);
    FAILS(acu_code_link(0, parts, 1, NULL, &code), 303, "ANYCUDA_NVJITLINK=/there/is/none");
    assert_non_null(strstr(acu_last_error_details().hint, "install nvJitLink"));
    assert_string_equal(acu_last_error_details().call, "acu_code_link");
    FAILS(acu_code_link(0, parts, 1, &by_driver, &code), 801,
          "the driver's linker takes no LTO IR");
    release_all(parts, 1);
    parts[0] = part_of(callee, strlen(callee), "callee.ptx");
    FAILS(acu_code_link(0, parts, 1, &by_nvjitlink, &code), 303, "no usable libnvJitLink");
    const acu_code_link_options options = {.options = (const char *const[]){"-ptx", NULL}};
    FAILS(acu_code_link(0, parts, 1, &options, &code), 303, "no usable libnvJitLink");
    assert_null(code);
    OK(acu_code_link(0, parts, 1, NULL, &code)); /* the driver links */
    OK(acu_code_release(code));
    release_all(parts, 1);
    unsetenv("ANYCUDA_NVJITLINK");
    load_fake_nvjitlink();
}

/* ---- the driver ---- */

static void the_driver_links(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    acu_stream *stream = stream_on(0);
    acu_buffer *x = numbers_on(stream, 8);
    float got[8];
    assert_int_equal(stand_in("doubles", simulated_doubles), 0);
    acu_code *parts[] = {part_of(caller, strlen(caller), "caller.ptx"),
                         part_of(callee, strlen(callee), "callee.ptx")};
    OK(acu_code_link(0, parts, 2, &by_driver, &code));
    release_all(parts, 2);
    OK(acu_module_load(0, &(acu_module_source){.code = code}, &module));
    OK(acu_code_release(code));
    OK(acu_module_get_kernel(module, "doubles", &kernel));
    OK(acu_launch(stream, kernel, acu_grid_1d(8, 8), x));
    OK(acu_buffer_read(x, got, 8));
    assert_true(got[7] == 14);
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
    OK(acu_buffer_release(x));
    OK(acu_stream_release(stream));
}

static void what_the_driver_refuses(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_code *parts[] = {part_of(caller, strlen(caller), "caller.ptx"),
                         part_of(callee, strlen(callee), "callee.ptx"),
                         part_of(callee, strlen(callee), "again.ptx")};
    FAILS(acu_code_link(0, parts, 1, &by_driver, &code), ACU_ERROR_COMPILE, "twice");
    assert_non_null(strstr(acu_module_compile_log(), "twice"));
    FAILS(acu_code_link(0, parts, 3, &by_driver, &code), ACU_ERROR_COMPILE, "twice");
    const acu_code_link_options options = {.linker = ACU_CODE_LINKER_DRIVER,
                                           .options = (const char *const[]){"-lto", NULL}};
    FAILS(acu_code_link(0, parts, 2, &options, &code), 801, "none of 'options'");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_CODE_LINKER_ANY"));
    assert_null(code);
    release_all(parts, 3);
}

static void options_for_the_driver(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_code *parts[] = {part_of(callee, strlen(callee), "callee.ptx")};
    const acu_code_link_options options = {.linker = ACU_CODE_LINKER_DRIVER,
                                           .max_registers = 32,
                                           .level = ACU_JIT_O2,
                                           .debug = false,
                                           .lines = true,
                                           .verbose = true};
    OK(acu_code_link(another_device(), parts, 1, &options, &code));
    OK(acu_code_release(code));
    release_all(parts, 1);
}

static void each_call_of_the_driver_fails_once(void **state) {
    (void)state;
    ONLY_SIMULATED("injected errors leave linkers behind");
    static const char *const calls[] = {
        "cuInit",          "cuDeviceGet",  "cuDevicePrimaryCtxRetain",
        "cuCtxGetCurrent", "cuLinkCreate", "cuLinkAddData",
        "cuLinkComplete"};
    acu_code *code = NULL;
    char rule[64];
    acu_code *parts[] = {part_of(callee, strlen(callee), "callee.ptx")};
    for (size_t i = 0; i < COUNT(calls); i++) {
        snprintf(rule, sizeof rule, "%s@1:2", calls[i]);
        assert_int_equal(acu_inject_errors(rule), 0);
        FAILS(acu_code_link(0, parts, 1, &by_driver, &code), ACU_OUT_OF_MEMORY, calls[i]);
        assert_null(code);
    }
    acu_inject_errors(NULL);
    release_all(parts, 1);
}

/* ---- nvJitLink ---- */

static void nvjitlink_links(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_module *module = NULL;
    const void *bytes = NULL;
    size_t size = 0;
    acu_code *parts[] = {part_of(lto, sizeof lto - 1, "a.ltoir"),
                         part_of(callee, strlen(callee), NULL)};
    fake_linker.info = "info: so so\n";
    OK(acu_code_link(0, parts, 2, &by_nvjitlink, &code));
    release_all(parts, 2);
    if (is_simulated())
        assert_string_equal(fake_linker.options, "-arch=sm_90 -lto ");
    assert_string_equal(fake_linker.parts, "3:a.ltoir;2:code0;");
    assert_string_equal(acu_code_log(code), fake_linker.info);
    assert_string_equal(acu_module_compile_log(), fake_linker.info);
    OK(acu_code_get_image(code, ACU_CODE_CUBIN, &bytes, &size));
    assert_int_equal(size, strlen(kernels_ptx) + 1);
    OK(acu_module_load(0, &(acu_module_source){.code = code}, &module));
    OK(acu_module_release(module));
    OK(acu_code_release(code));
}

static void options_for_nvjitlink(void **state) {
    (void)state;
    acu_code *code = NULL;
    const void *bytes = NULL;
    size_t size = 0;
    acu_code *parts[] = {part_of(lto, sizeof lto - 1, "a.ltoir")};
    const acu_code_link_options options = {
        .max_registers = 40,
        .level = ACU_JIT_O4,
        .debug = true,
        .lines = true,
        .verbose = true,
        .options = (const char *const[]){"-arch=sm_80", "-lto", "-ptx", NULL}};
    OK(acu_code_link(9, parts, 1, &options, &code)); /* no device is looked at */
    assert_string_equal(fake_linker.options,
                        "-maxrregcount=40 -O3 -g -lineinfo -verbose -arch=sm_80 -lto -ptx ");
    OK(acu_code_get_image(code, ACU_CODE_PTX, &bytes, &size));
    assert_int_equal(size, strlen(kernels_ptx));
    OK(acu_code_release(code));
    release_all(parts, 1);
}

static void what_nvjitlink_refuses(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_code *parts[] = {part_of(callee, strlen(callee), "callee.ptx")};
    fake_linker.completes = NVJITLINK_ERROR_INTERNAL;
    fake_linker.errors = "error   : Undefined reference to 'twice' in 'a'\n";
    FAILS(acu_code_link(0, parts, 1, &by_nvjitlink, &code), ACU_ERROR_COMPILE,
          "Undefined reference to 'twice' in 'a'");
    assert_string_equal(acu_module_compile_log(), fake_linker.errors);
    fake_linker.completes = NVJITLINK_ERROR_PTX_COMPILE;
    FAILS(acu_code_link(0, parts, 1, &by_nvjitlink, &code), ACU_ERROR_COMPILE,
          "NVJITLINK_ERROR_PTX_COMPILE");
    fake_linker.completes = NVJITLINK_SUCCESS;
    fake_linker.errors = "";
    fake_linker.adds = NVJITLINK_ERROR_ARCH_MISMATCH;
    FAILS(acu_code_link(0, parts, 1, &by_nvjitlink, &code), ACU_ERROR_ARGUMENT,
          "nvJitLinkAddData failed with NVJITLINK_ERROR_ARCH_MISMATCH");
    fake_linker.adds = NVJITLINK_ERROR_UNSUPPORTED_ARCH;
    FAILS(acu_code_link(0, parts, 1, &by_nvjitlink, &code), 801,
          "NVJITLINK_ERROR_UNSUPPORTED_ARCH");
    fake_linker.adds = NVJITLINK_ERROR_INTERNAL;
    FAILS(acu_code_link(0, parts, 1, &by_nvjitlink, &code), 999, "NVJITLINK_ERROR_INTERNAL");
    const acu_code_link_options wrong = {.linker = ACU_CODE_LINKER_NVJITLINK,
                                         .options =
                                             (const char *const[]){"--no-such-option", NULL}};
    FAILS(acu_code_link(0, parts, 1, &wrong, &code), ACU_ERROR_ARGUMENT, "UNRECOGNIZED_OPTION");
    assert_non_null(strstr(acu_last_error_details().hint, "--no-such-option"));
    assert_null(code);
    release_all(parts, 1);
}

static void each_call_of_nvjitlink_fails_once(void **state) {
    (void)state;
    static const char *const calls[] = {"nvJitLinkCreate", "nvJitLinkAddData", "nvJitLinkComplete",
                                        "nvJitLinkGetLinkedCubinSize", "nvJitLinkGetLinkedCubin"};
    static const char *const unread[] = {"nvJitLinkGetInfoLogSize", "nvJitLinkGetInfoLog"};
    acu_code *code = NULL;
    char rule[64];
    acu_code *parts[] = {part_of(callee, strlen(callee), "callee.ptx")};
    fake_linker.info = "info";
    for (size_t i = 0; i < COUNT(calls); i++) {
        snprintf(rule, sizeof rule, "%s@1:%d", calls[i], NVJITLINK_ERROR_PTX_COMPILE);
        assert_int_equal(acu_inject_errors(rule), 0);
        FAILS(acu_code_link(0, parts, 1, &by_nvjitlink, &code), ACU_ERROR_COMPILE, calls[i]);
        assert_null(code);
        assert_int_equal(fake_linker.alive, 0);
    }
    for (size_t i = 0; i < COUNT(unread); i++) { /* a log is not worth a failure */
        snprintf(rule, sizeof rule, "%s@1:%d", unread[i], NVJITLINK_ERROR_PTX_COMPILE);
        assert_int_equal(acu_inject_errors(rule), 0);
        OK(acu_code_link(0, parts, 1, &by_nvjitlink, &code));
        assert_string_equal(acu_code_log(code), "");
        OK(acu_code_release(code));
    }
    assert_int_equal(acu_inject_errors("nvJitLinkDestroy@1:6"), 0);
    OK(acu_code_link(0, parts, 1, &by_nvjitlink, &code));
    acu_inject_errors(NULL);
    assert_int_equal(acu_release_error(NULL), 1);
    fake_linker.alive--; /* it was not called */
    OK(acu_code_release(code));
    release_all(parts, 1);
}

/* ---- both ---- */

static void what_was_linked_is_found_again(void **state) {
    (void)state;
    char folder[SCRATCH_SIZE];
    acu_code_cache *cache = NULL;
    acu_code_cache_info info;
    acu_code *parts[] = {part_of(callee, strlen(callee), "callee.ptx"),
                         part_of(lto, sizeof lto - 1, "a.ltoir")};
    assert_non_null(mkdtemp(scratch_path(folder)));
    OK(acu_code_cache_create(folder, NULL, &cache));
    const acu_code_link_options ways[] = {
        {.linker = ACU_CODE_LINKER_NVJITLINK},
        {.linker = ACU_CODE_LINKER_NVJITLINK, .verbose = true},
        {.linker = ACU_CODE_LINKER_NVJITLINK, .max_registers = 20},
        {.linker = ACU_CODE_LINKER_NVJITLINK, .level = ACU_JIT_O1},
        {.options = (const char *const[]){"-arch=sm_80", NULL}},
        {.options = (const char *const[]){"-arch=sm_80", "-ptx", NULL}},
        {.linker = ACU_CODE_LINKER_DRIVER},
    };
    fake_linker.info = "info";
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < COUNT(ways); i++) {
            acu_code *code = NULL;
            acu_code_link_options options = ways[i];
            options.cache = cache;
            OK(acu_code_link(0, parts, 1, &options, &code));
            if (options.linker != ACU_CODE_LINKER_DRIVER)
                assert_string_equal(acu_module_compile_log(), "info");
            OK(acu_code_release(code));
        }
    acu_code *code = NULL;
    acu_code_link_options options = by_nvjitlink;
    options.cache = cache;
    OK(acu_code_link(0, parts, 2, &options, &code)); /* other parts */
    OK(acu_code_release(code));
    OK(acu_code_cache_get_info(cache, &info));
    assert_int_equal(info.hits, COUNT(ways));
    assert_int_equal(info.misses, COUNT(ways) + 1);
    assert_int_equal(fake_linker.completed, COUNT(ways));
    OK(acu_code_cache_clear(cache));
    OK(acu_code_cache_release(cache));
    assert_int_equal(rmdir(folder), 0);
    release_all(parts, 2);
}

static void what_cannot_be_linked(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_code *parts[] = {part_of(callee, strlen(callee), "callee.ptx")};
    FAILS(acu_code_link(0, parts, 0, NULL, &code), ACU_ERROR_ARGUMENT, "'count' is 0");
    FAILS(acu_code_link(0, parts, 1, &(acu_code_link_options){.linker = (acu_code_linker)3}, &code),
          ACU_ERROR_ARGUMENT, "3 is not a linker");
    FAILS(acu_code_link(0, parts, 1, &(acu_code_link_options){.level = (acu_jit_level)6}, &code),
          ACU_ERROR_ARGUMENT, "6 is not an optimisation level");
    FAILS(acu_code_link(9, parts, 1, NULL, &code), 101, "device 9");
    assert_null(code);
    release_all(parts, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LINK_TEST(where_there_is_none),
        LINK_TEST(the_driver_links),
        LINK_TEST(what_the_driver_refuses),
        LINK_TEST(options_for_the_driver),
        LINK_TEST(each_call_of_the_driver_fails_once),
        LINK_TEST(nvjitlink_links),
        LINK_TEST(options_for_nvjitlink),
        LINK_TEST(what_nvjitlink_refuses),
        LINK_TEST(each_call_of_nvjitlink_fails_once),
        LINK_TEST(what_was_linked_is_found_again),
        LINK_TEST(what_cannot_be_linked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
