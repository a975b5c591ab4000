/* Code that is not loaded: of bytes, of files, and compiled; its images, and modules made of it. */
#include "fake_nvrtc.h"

#include "../scratch.h"

#include <unistd.h>

static acu_code *code_of(const void *bytes, size_t size) {
    acu_code *code = NULL;
    OK(acu_code_create(&(acu_code_source){.bytes = bytes, .size = size}, &code));
    return code;
}

/* The smallest ELF file of a machine. */
static void make_elf(unsigned char elf[64], unsigned char machine) {
    static const unsigned char beginning[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    memset(elf, 0, 64);
    memcpy(elf, beginning, sizeof beginning);
    elf[18] = machine;
}

static const void *image_of(const acu_code *code, acu_code_form form, size_t *size) {
    const void *bytes = NULL;
    OK(acu_code_get_image(code, form, &bytes, size));
    return bytes;
}

static void the_form_is_in_the_bytes(void **state) {
    (void)state;
    unsigned char cubin[64], object[64], fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16};
    make_elf(cubin, 190);
    make_elf(object, 62);
    const struct {
        const void *bytes;
        size_t size;
        acu_code_form form;
    } all[] = {
        {kernels_ptx, strlen(kernels_ptx), ACU_CODE_PTX},
        {cubin, sizeof cubin, ACU_CODE_CUBIN},
        {object, sizeof object, ACU_CODE_OBJECT},
        {fatbin, sizeof fatbin, ACU_CODE_FATBIN},
        {fake_lto_ir, sizeof fake_lto_ir - 1, ACU_CODE_LTO},
        {"!<arch>\n", 8, ACU_CODE_ARCHIVE},
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        acu_code *code = code_of(all[i].bytes, all[i].size);
        size_t size = 0;
        assert_memory_equal(image_of(code, all[i].form, &size), all[i].bytes, all[i].size);
        assert_int_equal(size, all[i].size);
        for (acu_code_form other = ACU_CODE_PTX; other <= ACU_CODE_ARCHIVE; other++) {
            const void *none = cubin;
            if (other != all[i].form) {
                FAILS(acu_code_get_image(code, other, &none, &size), ACU_ERROR_STATE,
                      "the code has no");
                assert_null(none);
            }
        }
        OK(acu_code_release(code));
    }
}

static void what_is_no_code(void **state) {
    (void)state;
    acu_code *code = NULL;
    unsigned char elf[64];
    const void *bytes = NULL;
    size_t size = 0;
    make_elf(elf, 62);
    elf[40] = 1; /* its sections begin in the header */
    elf[58] = 64;
    elf[60] = 1;
    FAILS(acu_code_create(NULL, &code), ACU_ERROR_ARGUMENT, "'source' is NULL");
    FAILS(acu_code_create(&(acu_code_source){.bytes = "x", .size = 1}, NULL), ACU_ERROR_ARGUMENT,
          "'code' is NULL");
    FAILS(acu_code_create(&(acu_code_source){0}, &code), ACU_ERROR_ARGUMENT, "exactly one");
    FAILS(acu_code_create(&(acu_code_source){.bytes = "x", .file = "y"}, &code), ACU_ERROR_ARGUMENT,
          "exactly one");
    FAILS(acu_code_create(&(acu_code_source){.bytes = ""}, &code), ACU_ERROR_ARGUMENT,
          "the size is 0");
    FAILS(acu_code_create(&(acu_code_source){.bytes = "int main", .size = 8}, &code),
          ACU_ERROR_ARGUMENT, "no .version");
    FAILS(acu_code_create(&(acu_code_source){.bytes = elf, .size = sizeof elf}, &code),
          ACU_ERROR_ARGUMENT, "the object file of 64 bytes is incomplete or broken");
    FAILS(acu_code_create(&(acu_code_source){.file = "/there/is/none"}, &code), ACU_ERROR_ARGUMENT,
          "cannot read /there/is/none");
    assert_null(code);
    FAILS(acu_code_get_image(NULL, ACU_CODE_PTX, &bytes, &size), ACU_ERROR_ARGUMENT, "NULL");
    code = code_of(kernels_ptx, strlen(kernels_ptx));
    FAILS(acu_code_get_image(code, (acu_code_form)6, &bytes, &size), ACU_ERROR_ARGUMENT,
          "6 is not a form of code");
    FAILS(acu_code_get_image(code, ACU_CODE_LTO, NULL, &size), ACU_ERROR_ARGUMENT,
          "'bytes' is NULL");
    FAILS(acu_code_get_image(code, ACU_CODE_LTO, &bytes, NULL), ACU_ERROR_ARGUMENT,
          "'size' is NULL");
    FAILS(acu_code_get_image(code, ACU_CODE_LTO, &bytes, &size), ACU_ERROR_STATE, "it has PTX");
    OK(acu_code_release(code));
}

static void owners_and_names(void **state) {
    (void)state;
    char path[SCRATCH_SIZE], line[SCRATCH_SIZE], expected[100];
    acu_code *code = NULL;
    int file = mkstemp(scratch_path(path));
    assert_true(file >= 0);
    assert_int_equal(write(file, kernels_ptx, strlen(kernels_ptx)), strlen(kernels_ptx));
    close(file);
    OK(acu_code_create(&(acu_code_source){.file = path}, &code));
    unlink(path);
    assert_true(acu_code_describe(code, line, sizeof line) > 0);
    snprintf(expected, sizeof expected, "%zu bytes of PTX", strlen(kernels_ptx));
    assert_non_null(strstr(line, expected));
    assert_non_null(strstr(line, strrchr(path, '/') + 1));
    assert_string_equal(acu_code_log(code), "");
    assert_ptr_equal(acu_code_retain(code), code);
    OK(acu_code_release(code));
    acu_code_cleanup(&code);
    assert_null(acu_code_retain(NULL));
    assert_string_equal(acu_code_log(NULL), "");
}

static void code_is_loaded_as_often_as_one_likes(void **state) {
    (void)state;
    acu_code *code = code_of(kernels_ptx, strlen(kernels_ptx));
    for (acu_device device = 0; device <= another_device(); device++) {
        acu_module *module = NULL;
        acu_kernel *kernel = NULL;
        OK(acu_module_load(device, &(acu_module_source){.code = code}, &module));
        OK(acu_module_get_kernel(module, "scale", &kernel));
        assert_int_equal(acu_kernel_parameter_check(kernel), ACU_CHECK_TYPES);
        OK(acu_kernel_release(kernel));
        OK(acu_module_release(module));
    }
    OK(acu_code_release(code));
}

static void what_cannot_be_loaded(void **state) {
    (void)state;
    acu_module *module = NULL;
    acu_code *code = code_of(fake_lto_ir, sizeof fake_lto_ir - 1);
    FAILS(acu_module_load(0, &(acu_module_source){.code = code}, &module), ACU_ERROR_ARGUMENT,
          "the code cannot be loaded");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_code_link()"));
    FAILS(acu_module_load(0, &(acu_module_source){.code = code, .ptx = kernels_ptx}, &module),
          ACU_ERROR_ARGUMENT, "exactly one of ptx, image, file and code");
    FAILS(acu_module_load(9, &(acu_module_source){.code = code}, &module), 101, "device 9");
    OK(acu_code_release(code));
    assert_null(module);
}

/* ---- compiled ---- */

static void images_come_back(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    size_t size = 0;
    ONLY_SIMULATED("the fake NVRTC compiles to the tests' PTX");
    load_fake_nvrtc();
    fake.log = "program.cu(1): warning: so so\n";
    OK(acu_code_compile(
        0,
        &(acu_module_program){.text = "x",
                              .expressions = (const char *const[]){"times<float>", NULL}},
        &code));
    assert_string_equal(image_of(code, ACU_CODE_PTX, &size), kernels_ptx);
    assert_int_equal(size, strlen(kernels_ptx));
    assert_string_equal(acu_code_log(code), fake.log);
    assert_string_equal(acu_module_compile_log(), fake.log);
    for (int i = 0; i < 2; i++) {
        OK(acu_module_load(0, &(acu_module_source){.code = code}, &module));
        OK(acu_module_get_kernel(module, "times<float>", &kernel));
        OK(acu_kernel_release(kernel));
        OK(acu_module_release(module));
    }
    assert_int_equal(fake.compiled, 1);
    OK(acu_code_release(code));
}

static void lto_ir_comes_back_alone(void **state) {
    (void)state;
    acu_code *code = NULL;
    size_t size = 0;
    const void *bytes = NULL;
    const acu_module_program program = {
        .text = "x", .options = (const char *const[]){"-arch=sm_90", "-dlto", NULL}};
    load_fake_nvrtc();
    OK(acu_code_compile(0, &program, &code));
    assert_memory_equal(image_of(code, ACU_CODE_LTO, &size), fake_lto_ir, sizeof fake_lto_ir - 1);
    assert_int_equal(size, sizeof fake_lto_ir - 1);
    FAILS(acu_code_get_image(code, ACU_CODE_PTX, &bytes, &size), ACU_ERROR_STATE,
          "the code has no PTX, it has LTO IR");
    OK(acu_code_release(code));
    assert_int_equal(acu_inject_errors("nvrtcGetLTOIR@1:1"), 0);
    FAILS(acu_code_compile(0, &program, &code), ACU_ERROR_HOST_MEMORY, "nvrtcGetLTOIR");
    acu_inject_errors(NULL);
    assert_null(code);
}

/* A device that does not exist is not looked at where an option names an architecture. */
static void no_device_is_needed(void **state) {
    (void)state;
    acu_code *code = NULL;
    load_fake_nvrtc();
    OK(acu_code_compile(
        9,
        &(acu_module_program){.text = "x", .options = (const char *const[]){"-arch=sm_90", NULL}},
        &code));
    OK(acu_code_release(code));
    FAILS(acu_code_compile(9, &(acu_module_program){.text = "x"}, &code), 101, "device 9");
    FAILS(acu_code_compile(0, NULL, &code), ACU_ERROR_ARGUMENT, "'program' is NULL");
    FAILS(acu_code_compile(0, &(acu_module_program){0}, &code), ACU_ERROR_ARGUMENT,
          "'program->text' is NULL");
    FAILS(acu_code_compile(0, &(acu_module_program){.text = "x"}, NULL), ACU_ERROR_ARGUMENT,
          "'code' is NULL");
    fake.compiles = NVRTC_ERROR_COMPILATION;
    fake.log = "a.cu(1): error: nonsense\n";
    FAILS(acu_code_compile(0, &(acu_module_program){.text = "x", .name = "a.cu"}, &code),
          ACU_ERROR_COMPILE, "nonsense");
    assert_string_equal(acu_last_error_details().call, "acu_code_compile");
    assert_null(code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(the_form_is_in_the_bytes), KERNEL_TEST(what_is_no_code),
        KERNEL_TEST(owners_and_names),         KERNEL_TEST(code_is_loaded_as_often_as_one_likes),
        KERNEL_TEST(what_cannot_be_loaded),    COMPILE_TEST(images_come_back),
        COMPILE_TEST(lto_ir_comes_back_alone), COMPILE_TEST(no_device_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
