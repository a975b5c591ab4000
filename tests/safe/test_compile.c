/* Source into modules. NVRTC is a fake one, so that this runs where there is none; that the real
 * one is asked rightly, examples/nvrtc_saxpy.c shows. */
#include "fake_nvrtc.h"

/* ---- without one ---- */

/* Before any is loaded: the first test. */
static void where_there_is_none(void **state) {
    (void)state;
    acu_module *module = NULL;
    setenv("ANYCUDA_NVRTC", "/there/is/none", 1);
    FAILS(acu_module_compile(0, &(acu_module_program){.text = "x"}, &module), 303,
          "ANYCUDA_NVRTC=/there/is/none");
    assert_non_null(strstr(acu_last_error_details().hint, "install NVRTC"));
    assert_string_equal(acu_last_error_details().call, "acu_module_compile");
    assert_null(module);
    unsetenv("ANYCUDA_NVRTC");
    load_fake_nvrtc();
}

/* ---- with it ---- */

static void source_headers_and_names(void **state) {
    (void)state;
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    acu_buffer *counter = NULL;
    acu_stream *stream = stream_on(0);
    uint32_t seven = 0;
    fake.log = "program.cu(1): warning: so so\n";
    OK(acu_module_compile(
        0,
        &(acu_module_program){
            .text = "the source",
            .headers = (const acu_module_header[]){{"a.h", "A"}, {"b.h", NULL}, {NULL, NULL}},
            .options = (const char *const[]){"--use_fast_math", "-lineinfo", NULL},
            .expressions = (const char *const[]){"times<float>", "&count", NULL},
        },
        &module));
    assert_string_equal(fake.source, "the source");
    assert_string_equal(fake.name, "program.cu");
    assert_string_equal(fake.headers, "a.h: A;b.h: ;");
    assert_string_equal(fake.expressions, "times<float>;&count;");
    assert_string_equal(fake.options, "--use_fast_math -lineinfo --gpu-architecture=compute_80 ");
    assert_string_equal(acu_module_compile_log(), "program.cu(1): warning: so so\n");
    OK(acu_module_get_kernel(module, "times<float>", &kernel));
    assert_string_equal(acu_kernel_name(kernel), "times<float>");
    assert_int_equal(acu_kernel_parameter_check(kernel), ACU_CHECK_TYPES);
    OK(acu_kernel_release(kernel));
    OK(acu_module_get_kernel(module, "add", &kernel));
    OK(acu_module_get_global(module, "&count", stream, ACU_U32, &counter));
    OK(acu_buffer_read(counter, &seven, 1));
    assert_int_equal(seven, 7);
    OK(acu_buffer_release(counter));
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
    OK(acu_stream_release(stream));
}

static void an_architecture_of_ones_own(void **state) {
    (void)state;
    acu_module *module = NULL;
    static const char *const ways[] = {"--gpu-architecture=compute_75", "-arch=compute_75"};
    for (size_t i = 0; i < COUNT(ways); i++) {
        fake.options[0] = '\0';
        OK(acu_module_compile(
            0, &(acu_module_program){.text = "x", .options = (const char *const[]){ways[i], NULL}},
            &module));
        assert_true(strncmp(fake.options, ways[i], strlen(ways[i])) == 0);
        assert_null(strstr(fake.options, "_80"));
        OK(acu_module_release(module));
    }
}

static void a_device_that_is_too_old(void **state) {
    (void)state;
    acu_module *module = NULL;
    memcpy(fake.architectures, (const int[]){100, 110, 120}, sizeof fake.architectures);
    FAILS(acu_module_compile(0, &(acu_module_program){.text = "x"}, &module), 801,
          "compute capability 9.0");
    assert_null(module);
}

static void source_that_does_not_compile(void **state) {
    (void)state;
    acu_module *module = NULL;
    fake.compiles = NVRTC_ERROR_COMPILATION;
    fake.log = "saxpy.cu(3): error: identifier \"q\" is undefined\n\n1 error detected\n";
    FAILS(acu_module_compile(0, &(acu_module_program){.text = "x", .name = "saxpy.cu"}, &module),
          ACU_ERROR_COMPILE,
          "saxpy.cu(3): error: identifier \"q\" is undefined | 1 error detected");
    assert_string_equal(acu_module_compile_log(), fake.log);
    assert_string_equal(acu_result_name(ACU_ERROR_COMPILE), "ACU_ERROR_COMPILE");
    fake.compiles = NVRTC_ERROR_INVALID_OPTION;
    fake.log = "";
    FAILS(acu_module_compile(0, &(acu_module_program){.text = "x"}, &module), ACU_ERROR_ARGUMENT,
          "NVRTC_ERROR_INVALID_OPTION");
    fake.compiles = NVRTC_ERROR_INTERNAL_ERROR;
    FAILS(acu_module_compile(0, &(acu_module_program){.text = "x"}, &module), 999,
          "NVRTC_ERROR_INTERNAL_ERROR");
    fake.creates = NVRTC_ERROR_OUT_OF_MEMORY;
    FAILS(acu_module_compile(0, &(acu_module_program){.text = "x"}, &module), ACU_ERROR_HOST_MEMORY,
          "NVRTC_ERROR_OUT_OF_MEMORY");
    assert_null(module);
}

static void names_that_do_not_exist(void **state) {
    (void)state;
    acu_module *module = NULL;
    FAILS(acu_module_compile(
              0,
              &(acu_module_program){
                  .text = "x", .expressions = (const char *const[]){"times<float>", "?", NULL}},
              &module),
          ACU_ERROR_ARGUMENT, "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID");
    assert_null(module);
}

static void each_call_of_the_compiler_fails_once(void **state) {
    (void)state;
    static const char *const calls[] = {"nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs",
                                        "nvrtcCreateProgram",        "nvrtcAddNameExpression",
                                        "nvrtcCompileProgram",       "nvrtcGetCUBINSize",
                                        "nvrtcGetPTXSize",           "nvrtcGetPTX",
                                        "nvrtcGetLoweredName"};
    const acu_module_program program = {.text = "x",
                                        .expressions = (const char *const[]){"times<float>", NULL}};
    acu_module *module = NULL;
    char rule[64];
    for (size_t i = 0; i < COUNT(calls); i++) {
        snprintf(rule, sizeof rule, "%s@1:%d", calls[i], NVRTC_ERROR_OUT_OF_MEMORY);
        assert_int_equal(acu_inject_errors(rule), 0);
        FAILS(acu_module_compile(0, &program, &module), ACU_ERROR_HOST_MEMORY, calls[i]);
        assert_null(module);
        assert_int_equal(fake.alive, 0);
    }
    assert_int_equal(acu_inject_errors("nvrtcDestroyProgram@1:1"), 0);
    OK(acu_module_compile(0, &program, &module));
    acu_inject_errors(NULL);
    assert_int_equal(acu_release_error(NULL), 1);
    fake.alive--; /* it was not called */
    OK(acu_module_release(module));
}

static void what_cannot_be_compiled(void **state) {
    (void)state;
    acu_module *module = NULL;
    const acu_module_program program = {.text = "x"};
    FAILS(acu_module_compile(0, NULL, &module), ACU_ERROR_ARGUMENT, "'program' is NULL");
    FAILS(acu_module_compile(0, &program, NULL), ACU_ERROR_ARGUMENT, "'module' is NULL");
    FAILS(acu_module_compile(0, &(acu_module_program){0}, &module), ACU_ERROR_ARGUMENT,
          "'program->text' is NULL");
    FAILS(acu_module_compile(9, &program, &module), 101, "device 9 does not exist");
    assert_string_equal(acu_module_compile_log(), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        COMPILE_TEST(where_there_is_none),
        COMPILE_TEST(source_headers_and_names),
        COMPILE_TEST(an_architecture_of_ones_own),
        COMPILE_TEST(a_device_that_is_too_old),
        COMPILE_TEST(source_that_does_not_compile),
        COMPILE_TEST(names_that_do_not_exist),
        COMPILE_TEST(what_cannot_be_compiled),
        COMPILE_TEST(each_call_of_the_compiler_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
