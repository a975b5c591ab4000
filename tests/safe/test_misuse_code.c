/* Misuse of compiled code: handles that are none, NULL, devices that are not there. */
#include "misuse.h"

static void code(void **state) {
    (void)state;
    acu_code *made = NULL;
    acu_module *module = NULL;
    const void *bytes = NULL;
    size_t size = 0;
    const acu_code_source source = {.bytes = kernels_ptx, .size = strlen(kernels_ptx)};
    NOT_NULL(acu_code_create(NULL, &made));
    NOT_NULL(acu_code_create(&source, NULL));
    NOT_NULL(acu_code_compile(0, NULL, &made));
    NOT_NULL(acu_code_compile(0, &(acu_module_program){0}, &made));
    NOT_NULL(acu_code_compile(0, &(acu_module_program){.text = ""}, NULL));
    HANDLE(acu_code_get_image(bad, ACU_CODE_PTX, &bytes, &size));
    OPTIONAL_HANDLE(acu_module_load(0, &(acu_module_source){.code = bad}, &module));
    SAYS('\0', *acu_code_log(bad));
    OWNERS(code);
    OK(acu_code_create(&source, &made));
    NO_DEVICE(acu_module_load(absent, &(acu_module_source){.code = made}, &module));
    NOT_NULL(acu_code_get_image(made, ACU_CODE_PTX, NULL, &size));
    NOT_NULL(acu_code_get_image(made, ACU_CODE_PTX, &bytes, NULL));
    OK(acu_code_release(made));
    assert_null(module);
}

static void links(void **state) {
    (void)state;
    acu_code *made = NULL, *part = NULL;
    OK(acu_code_create(&(acu_code_source){.bytes = kernels_ptx, .size = strlen(kernels_ptx)},
                       &part));
    acu_code *parts[] = {part, NULL};
    NOT_NULL(acu_code_link(0, NULL, 1, NULL, &made));
    NOT_NULL(acu_code_link(0, parts, 1, NULL, NULL));
    NO_DEVICE(acu_code_link(absent, parts, 1, NULL, &made));
    for (int how = A_NULL; how <= OF_ANOTHER_KIND; how++) {
        parts[1] = none[how];
        acu_clear_error();
        expect_refusal(acu_code_link(0, parts, 2, NULL, &made), how, "acu_code_link");
    }
    OPTIONAL_HANDLE(acu_code_link(0, parts, 1, &(acu_code_link_options){.cache = bad}, &made));
    OK(acu_code_release(part));
    assert_null(made);
}

static void caches(void **state) {
    (void)state;
    acu_code_cache *made = NULL;
    acu_code *out = NULL;
    acu_module *module = NULL;
    acu_code_cache_info info;
    NOT_NULL(acu_code_cache_create(NULL, NULL, &made));
    NOT_NULL(acu_code_cache_create("/", NULL, NULL));
    HANDLE(acu_code_cache_get_info(bad, &info));
    NOT_NULL(acu_code_cache_get_info(made, NULL));
    HANDLE(acu_code_cache_clear(bad));
    OPTIONAL_HANDLE(acu_code_compile(0, &(acu_module_program){.text = "", .cache = bad}, &out));
    OPTIONAL_HANDLE(
        acu_module_compile(0, &(acu_module_program){.text = "", .cache = bad}, &module));
    SAYS('\0', *acu_code_cache_folder(bad));
    OWNERS(code_cache);
}

static void tensor_maps(void **state) {
    (void)state;
    acu_tensor_map *made = NULL;
    const acu_tensor tensor = {.rank = 1, .shape = {8}, .box = {4}};
    const char raw[128] = {0};
    HANDLE(acu_tensor_map_create(bad, &tensor, &made));
    NOT_NULL(acu_tensor_map_create(good.buffer, NULL, &made));
    NOT_NULL(acu_tensor_map_create(good.buffer, &tensor, NULL));
    HANDLE(acu_tensor_map_wrap(bad, raw, &made));
    NOT_NULL(acu_tensor_map_wrap(good.buffer, NULL, &made));
    NOT_NULL(acu_tensor_map_wrap(good.buffer, raw, NULL));
    HANDLE(acu_tensor_map_set_buffer(bad, good.buffer));
    assert_null(made);
    OK(acu_tensor_map_wrap(good.buffer, raw, &made));
    HANDLE(acu_tensor_map_set_buffer(made, bad));
    OK(acu_tensor_map_release(made));
    for (int how = A_NULL; how <= OF_ANOTHER_KIND; how++) {
        acu_clear_error();
        const acu_arg arg = acu_in_tensor(none[how]);
        acu_args *args = NULL;
        OK(acu_args_create(&args));
        expect_refusal(acu_args_add(args, arg), how, "acu_args_add");
        OK(acu_args_release(args));
    }
    SAYS(NULL, acu_tensor_map_raw(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_tensor_map_device(bad));
    OWNERS(tensor_map);
}

int main(void) {
    const struct CMUnitTest tests[] = {MISUSE(code), MISUSE(links), MISUSE(caches),
                                       MISUSE(tensor_maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
