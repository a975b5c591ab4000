/*
 * Each allocation on the host fails once while code is made, compiled, linked, kept in a cache and
 * found there: the call says so, or does without, and the same works afterwards.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fake_nvjitlink.h"
#include "fake_nvrtc.h"

#include "../scratch.h"

#include <unistd.h>

static size_t until_failure; /* 0: none fails */
static bool failed;
static char folder[SCRATCH_SIZE], include_option[SCRATCH_SIZE + 2];

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static bool fails(void) {
    if (until_failure == 0)
        return false;
    until_failure--;
    if (until_failure > 0)
        return false;
    failed = true;
    return true;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}

static acu_result compile(acu_code_cache *cache) {
    const char *const options[] = {"-arch=sm_90", include_option, NULL};
    const acu_module_program program = {
        .text = "#include <a.h>\n",
        .options = options,
        .headers = (const acu_module_header[]){{"b.h", "#include <c.h>"}, {NULL, NULL}},
        .expressions = (const char *const[]){"times<float>", NULL},
        .cache = cache};
    ACU_AUTO(acu_code) *code = NULL;
    const void *ptx = NULL;
    size_t size = 0;
    ACU_TRY(acu_code_compile(0, &program, &code));
    ACU_TRY(acu_code_get_image(code, ACU_CODE_PTX, &ptx, &size));
    return strcmp(ptx, kernels_ptx) == 0 ? ACU_SUCCESS : ACU_ERROR_STATE;
}

static acu_result link_twice(acu_code *code, acu_code_cache *cache) {
    acu_code *const parts[] = {code, code};
    ACU_AUTO(acu_code) *linked = NULL;
    const acu_code_link_options options = {.cache = cache,
                                           .options = (const char *const[]){"-arch=sm_90", NULL}};
    return acu_code_link(0, parts, 2, &options, &linked);
}

static acu_result everything(void) {
    ACU_AUTO(acu_code_cache) *cache = NULL;
    ACU_AUTO(acu_code) *code = NULL;
    acu_code_cache_info info;
    char path[SCRATCH_SIZE + 10];
    snprintf(path, sizeof path, "%s/a.h", folder);
    ACU_TRY(acu_code_create(&(acu_code_source){.bytes = kernels_ptx, .size = strlen(kernels_ptx)},
                            &code));
    ACU_TRY(acu_code_cache_create(folder, NULL, &cache));
    ACU_TRY(acu_code_cache_clear(cache));
    ACU_TRY(compile(cache));
    ACU_TRY(compile(cache));
    ACU_TRY(link_twice(code, cache));
    return acu_code_cache_get_info(cache, &info);
}

static void each_allocation_fails_once(void **state) {
    (void)state;
    size_t met = 0;
    char path[SCRATCH_SIZE + 10];
    load_fake_nvrtc();
    load_fake_nvjitlink();
    clear_fake_nvjitlink();
    assert_non_null(mkdtemp(scratch_path(folder)));
    snprintf(include_option, sizeof include_option, "-I%s", folder);
    snprintf(path, sizeof path, "%s/a.h", folder);
    FILE *header = fopen(path, "w");
    assert_non_null(header);
    assert_true(fputs("#pragma once\n", header) >= 0);
    fclose(header);
    OK(everything());
    for (size_t n = 1;; n++, met++) {
        acu_clear_error();
        failed = false;
        until_failure = n;
        clear_fake_nvjitlink();
        acu_result result = everything();
        until_failure = 0;
        assert_int_equal(fake.alive, 0);
        assert_int_equal(fake_linker.alive, 0);
        assert_int_equal(acu_release_error(NULL), 0);
        if (!failed)
            break;
        if (result && (result != ACU_ERROR_HOST_MEMORY || acu_last_error() != result))
            fail_msg("allocation %zu: %d, %s", n, result, acu_last_error_message());
    }
    assert_true(met > 30);
    acu_code_cache *cache = NULL;
    OK(acu_code_cache_create(folder, NULL, &cache));
    OK(acu_code_cache_clear(cache));
    OK(acu_code_cache_release(cache));
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {COMPILE_TEST(each_allocation_fails_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
