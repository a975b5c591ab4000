/* WebGPU's library is searched for and judged as a libcudart is, but by its symbols: its file has
 * neither a version in its name nor a soname. */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include "made_up.h"

#include <anycuda/status.h>

#include "core/call.h"
#include "loader/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a generated function refers to, so that the program has the library. */
static acu_library *const named = &acu_webgpu;

static int load(const char *path, unsigned flags) {
    return acu_load(&(acu_load_options){.library = named->id, .path = path, .flags = flags});
}

static void expect_found(const char *found) {
    const acu_load_info *info = acu_loaded(ACU_WEBGPU);
    assert_non_null(info);
    assert_string_equal(info->found, found);
    assert_int_equal(info->version, 29000);
}

static void expect_refused(const char *why) {
    CHECK_CONTAINS(acu_last_error_message(), why);
    CHECK_CONTAINS(acu_load_trace(ACU_WEBGPU), "refused: ");
    assert_null(acu_loaded(ACU_WEBGPU));
    assert_int_equal(acu_last_error_details().code, MISSING); /* in the runtime's numbers */
}

/* ---- places ---- */

static void by_path(void) {
    assert_int_equal(load(put("gpu29/libacugpu.so", "any-name.so"), 0), 0);
    expect_found("path");
}

static void by_the_environment(void) {
    setenv("ANYCUDA_WEBGPU", put("gpu29/libacugpu.so", "chosen.so"), 1);
    assert_int_equal(load(NULL, 0), 0);
    expect_found("ANYCUDA_WEBGPU");
}

static void in_the_process(void) {
    assert_non_null(dlopen(put("gpu29/libacugpu.so", "libacugpu-release.so"), RTLD_NOW));
    assert_int_equal(load(NULL, 0), 0);
    expect_found("already in the process");
}

static void in_the_library_path(void) {
    put("gpu29/libacugpu.so", "lib/libacugpu.so");
    setenv("LD_LIBRARY_PATH", in_scratch("lib"), 1);
    assert_int_equal(load(NULL, 0), 0);
    expect_found("LD_LIBRARY_PATH");
}

static void in_pythons_package(void) {
    const char *variable = alone_with;
    put("gpu29/libacugpu.so",
        "env/lib/python3.11/site-packages/wgpu/resources/libacugpu-release.so");
    setenv(variable, in_scratch("env"), 1);
    assert_int_equal(load(NULL, 0), 0);
    expect_found(variable);
}

static void toolkits_have_none(void) {
    put("gpu29/libacugpu.so", "cuda/lib64/libacugpu.so");
    setenv("CUDA_PATH", in_scratch("cuda"), 1);
    assert_int_equal(load(NULL, 0), OUT_OF_MEMORY);
    assert_null(strstr(acu_load_trace(ACU_WEBGPU), "CUDA_PATH"));
}

static void nothing_anywhere(void) {
    assert_int_equal(load(NULL, 0), OUT_OF_MEMORY);
    const char *message = acu_last_error_message();
    CHECK_CONTAINS(message, "acu_load: no usable libacugpu: found no libacugpu.so, "
                            "libacugpu-release.so or libacudawn.so in the process, or by "
                            "LD_LIBRARY_PATH, VIRTUAL_ENV, CONDA_PREFIX, Python interpreter, "
                            "system loader; ANYCUDA_WEBGPU=/path/to/it chooses a file");
    CHECK_CONTAINS(acu_last_error_details().hint, "Python's package wgpu");
}

/* ---- acceptance ---- */

/* The first good file of a place is taken, whatever the others are. */
static void dawn_beside_it_is_passed_over(void) {
    put("dawn/libacudawn.so", "lib/libacudawn.so");
    put("gpu29/libacugpu.so", "lib/libacugpu-release.so");
    setenv("LD_LIBRARY_PATH", in_scratch("lib"), 1);
    assert_int_equal(load(NULL, 0), 0);
    expect_found("LD_LIBRARY_PATH");
}

static void too_old_by_its_symbols(void) {
    assert_int_equal(load(put("gpu27/libacugpu.so", "libacugpu.so"), 0), OUT_OF_MEMORY);
    expect_refused("it lacks acugpuSubmit, which every version since 29.0 exports: it is a stub, "
                   "or too old");
    assert_null(getenv("FAKE_ASKED")); /* before any call */
}

static void too_old_by_its_version(void) {
    assert_int_equal(load(put("gpu28/libacugpu.so", "libacugpu.so"), 0), OUT_OF_MEMORY);
    expect_refused("it is acugpu 28.0, older than the oldest known version, 29.0");
}

static void too_new(void) {
    const char *path = put("gpu30/libacugpu.so", "libacugpu.so");
    assert_int_equal(load(path, 0), OUT_OF_MEMORY);
    expect_refused("it is acugpu 30.0, an unknown major version (the newest known is 29.0)");
    assert_int_equal(load(path, ACU_LOAD_ALLOW_UNKNOWN), 0);
    assert_int_equal(acu_loaded(ACU_WEBGPU)->version, 30000);
}

static void of_another_kind(void) {
    const char *path = put("dawn/libacudawn.so", "libacudawn.so");
    assert_int_equal(load(path, 0), OUT_OF_MEMORY);
    expect_refused("it exports acugpuTick, so it is another one, whose header was not compared");
    assert_null(getenv("FAKE_ASKED"));
    assert_int_equal(load(path, ACU_LOAD_ALLOW_UNKNOWN), 0);
}

static void of_another_machine(void) {
    static char bytes[1 << 20];
    const char *path = put("gpu29/libacugpu.so", "libacugpu.so");
    FILE *file = fopen(path, "rbe");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 20 && size < sizeof bytes);
    bytes[18] = 8; /* e_machine: MIPS */
    bytes[19] = 0;
    write_file(in_scratch("libacugpu.so"), bytes, size);
    assert_int_equal(load(path, 0), OUT_OF_MEMORY);
    expect_refused("machine");
}

static void no_library_at_all(void) {
    const char *path = in_scratch("libacugpu.so");
    write_file(path, "text", 4);
    assert_int_equal(load(path, 0), OUT_OF_MEMORY);
    expect_refused("ELF");
}

static void the_simulator_has_none(void) {
    setenv("ANYCUDA_WEBGPU", "sim", 1);
    assert_int_equal(load(NULL, 0), OUT_OF_MEMORY);
    CHECK_CONTAINS(acu_last_error_message(),
                   "ANYCUDA_WEBGPU=sim: the simulator is one of CUDA and has no WebGPU");
}

static void a_later_load_succeeds(void) {
    assert_int_equal(load(NULL, 0), OUT_OF_MEMORY);
    assert_int_equal(load(put("gpu29/libacugpu.so", "libacugpu.so"), 0), 0);
    assert_int_equal(load(in_scratch("libacugpu.so"), 0), 0);
    assert_int_equal(load(put("gpu29/libacugpu.so", "other/libacugpu.so"), 0), OUT_OF_MEMORY);
    CHECK_CONTAINS(acu_last_error_message(), "libacugpu 29.0 is loaded already");
}

/* ---- calls ---- */

static void (*slot)(void);
static const acu_function submit = {.library = &acu_webgpu,
                                    .name = "acugpuSubmit",
                                    .returns = ACU_RETURNS_VOID,
                                    .slot = (acu_fn *)(void *)&slot};

/* What the entries of the generated functions do. */
static acu_fn begin(void) {
    acu_call call;
    acu_call_begin(&call, &submit, NULL);
    acu_fn fn = call.fn;
    (void)acu_call_end(&call);
    return fn;
}

static void a_call_without_a_library_is_refused(void) {
    assert_null(begin());
    CHECK_CONTAINS(acu_last_error_message(), "acugpuSubmit: no usable libacugpu: found no ");
    assert_int_equal(acu_last_error_details().code, MISSING);
    assert_int_equal(load(put("gpu29/libacugpu.so", "libacugpu.so"), 0), 0);
    assert_non_null(begin());
}

static void a_function_that_the_library_lacks_is_refused(void) {
    assert_int_equal(load(put("gpu27/libacugpu.so", "libacugpu.so"), ACU_LOAD_ALLOW_UNKNOWN), 0);
    assert_null(begin());
    CHECK_CONTAINS(acu_last_error_message(), "acugpuSubmit: the library lacks the symbol");
    assert_int_equal(acu_last_error_details().code, UNAVAILABLE);
}

/* Only of the version that is known to lack it. */
static void a_function_without_an_implementation_is_refused(void) {
    static const acu_function empty = {.library = &acu_webgpu,
                                       .name = "acugpuSubmit",
                                       .returns = ACU_RETURNS_VOID,
                                       .quirks = ACU_QUIRK_UNIMPLEMENTED,
                                       .slot = (acu_fn *)(void *)&slot};
    acu_call call;
    assert_int_equal(load(put(alone_with, "libacugpu.so"), ACU_LOAD_ALLOW_UNKNOWN), 0);
    acu_call_begin(&call, &empty, NULL);
    const bool known = acu_loaded(ACU_WEBGPU)->version == 29000;
    assert_int_equal(call.fn == NULL, known);
    (void)acu_call_end(&call);
    if (known)
        CHECK_CONTAINS(acu_last_error_message(),
                       "acugpuSubmit is not implemented, it would end the process");
    assert_int_equal(acu_call_exists(&empty), !known);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ALONE(by_path),
        ALONE(by_the_environment),
        ALONE(in_the_process),
        ALONE(in_the_library_path),
        ALONE_WITH(in_pythons_package, "VIRTUAL_ENV"),
        ALONE_WITH(in_pythons_package, "CONDA_PREFIX"),
        ALONE(toolkits_have_none),
        ALONE(nothing_anywhere),
        ALONE(dawn_beside_it_is_passed_over),
        ALONE(too_old_by_its_symbols),
        ALONE(too_old_by_its_version),
        ALONE(too_new),
        ALONE(of_another_kind),
        ALONE(of_another_machine),
        ALONE(no_library_at_all),
        ALONE(the_simulator_has_none),
        ALONE(a_later_load_succeeds),
        ALONE(a_call_without_a_library_is_refused),
        ALONE(a_function_that_the_library_lacks_is_refused),
        ALONE_WITH(a_function_without_an_implementation_is_refused, "gpu29/libacugpu.so"),
        ALONE_WITH(a_function_without_an_implementation_is_refused, "gpu30/libacugpu.so"),
    };
    return cmocka_run_group_tests_name("loader_webgpu", tests, NULL, NULL);
}
