/* From a call to a symbol, an adapter or a refusal; and what the error record says. */
#define _GNU_SOURCE
#include "made_up.h"
#include "core/call.h"
#include "core/explain.h"
#include "core/record.h"
#include "core/refuse.h"
#include "core/simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- made-up functions, as the generator would write them ---- */

static int enter_malloc(int size);
static int enter_newer(int size);
static int enter_gone(int size);
static int enter_last(void);
static int enter_peek(void);
static void enter_void(int size);

static int (*slot_malloc)(int) = enter_malloc;
static int (*slot_newer)(int) = enter_newer;
static int (*slot_gone)(int) = enter_gone;
static int (*slot_last)(void) = enter_last;
static int (*slot_peek)(void) = enter_peek;
static void (*slot_void)(int) = enter_void;
static int (*real_malloc)(int);

/* 13.0 took a second argument. */
static int adapt_malloc_13(int size) {
    return ((int (*)(int, int))(acu_fn)real_malloc)(size, size == 7 ? 77 : 0);
}

static const acu_value kinds[] = {{1, 0}, {5, 12080}};
static const acu_type kind_type = {.name = "acutestKind\0acutestOld\0acutestShiny",
                                   .kind = ACU_KIND_ENUM,
                                   .size = 4,
                                   .count = 2,
                                   .values = kinds};
static const acu_param params[] = {
    {.type = &kind_type, .direction = ACU_IN, .length = -1, .tag = -1}};

#define ERAS(...)                                                                                  \
    .eras = (const acu_era[]){__VA_ARGS__},                                                        \
    .era_count = sizeof((const acu_era[]){__VA_ARGS__}) / sizeof(acu_era)
#define SLOT(name) ((acu_fn *)(void *)&slot_##name)

static const acu_function malloc_function = {
    .library = &acu_cudart,
    .name = "acutestMalloc\0kind",
    ERAS({11070, "acutestMalloc", NULL}, {13000, "acutestMalloc", (acu_fn)adapt_malloc_13}),
    .params = params,
    .param_count = 1,
    .not_failures = (const int[]){NOT_READY, 0},
    .slot = SLOT(malloc),
    .real = (acu_fn *)(void *)&real_malloc,
};

static const acu_function newer_function = {
    .library = &acu_cudart,
    .name = "acutestConditional",
    ERAS({11070, NULL, NULL}, {12030, "acutestSince1203", NULL}),
    .since = 12030,
    .slot = SLOT(newer),
};

static const acu_function gone_function = {
    .library = &acu_cudart,
    .name = "acutestThreadExit",
    ERAS({11070, "acutestSinceEver", NULL}, {13000, NULL, NULL}),
    .until = 12090,
    .slot = SLOT(gone),
};

static const acu_function last_function = {
    .library = &acu_cudart,
    .name = "acutestGetLastError",
    .quirks = ACU_QUIRK_GET_LAST_ERROR,
    .slot = SLOT(last),
};

static const acu_function peek_function = {
    .library = &acu_cudart,
    .name = "acutestPeekAtLastError",
    ERAS({11070, "acutestGetLastError", NULL}),
    .quirks = ACU_QUIRK_PEEK_LAST_ERROR,
    .slot = SLOT(peek),
};

static const acu_function void_function = {
    .library = &acu_cudart,
    .name = "acutestVoid",
    ERAS({11070, NULL, NULL}, {12030, "acutestSince1203", NULL}),
    .returns = ACU_RETURNS_VOID,
    .since = 12030,
    .slot = SLOT(void),
};

static int enter(const acu_function *function, int size) {
    acu_call call;
    acu_call_begin(&call, function, &size);
    if (call.fn)
        call.result = ((int (*)(int))call.fn)(size);
    return acu_call_end(&call);
}

static int enter_malloc(int size) {
    return enter(&malloc_function, size);
}
static int enter_newer(int size) {
    return enter(&newer_function, size);
}
static int enter_gone(int size) {
    return enter(&gone_function, size);
}
static int enter_last(void) {
    return enter(&last_function, 0);
}
static int enter_peek(void) {
    return enter(&peek_function, 0);
}
static void enter_void(int size) {
    enter(&void_function, size);
}

/* A wrapper: the call, and the cold path behind it. */
static int call(const acu_function *function, int size) {
    int (*fn)(int) = (int (*)(int))__atomic_load_n(function->slot, __ATOMIC_ACQUIRE);
    int result = fn(size);
    return result ? acu_explain(function, result, &size) : 0;
}

static void expect(const acu_function *function, int size, int code, const char *message) {
    assert_int_equal(call(function, size), code);
    assert_int_equal(acu_last_error(), code);
    assert_string_equal(acu_last_error_message(), message);
}

/* ---- binding ---- */

static void era_of_the_loaded_version(void) {
    made_up old = {.version = 12090}, new = {.version = 13000};
    assert_int_equal(load_made_up(&old, 0), 0);
    assert_int_equal(call(&malloc_function, 7), 0);
    assert_ptr_equal(slot_malloc, real_malloc); /* published, without an adapter between */
    assert_int_equal(load_made_up(&new, 0), 0);
    assert_ptr_equal(slot_malloc, enter_malloc);
    assert_int_equal(call(&malloc_function, 7), 77);
    assert_ptr_equal(slot_malloc, adapt_malloc_13);
    assert_string_equal(acu_loaded(ACU_CUDART)->found, "custom resolver");
}

/* sglang PR 23136 chose by the driver, and crashed with a 12 runtime on a 13 driver. */
static void sglang_23136_runtime_not_driver_decides(void) {
    made_up library = {.version = 12040, .driver = 13000};
    assert_int_equal(load_made_up(&library, 0), 0);
    assert_int_equal(call(&malloc_function, 7), 0);
    assert_ptr_equal(slot_malloc, real_malloc);
}

static void version_that_is_given(void) {
    made_up library = {.version = 12090};
    assert_int_equal(load_made_up(&library, 13000), 0);
    assert_int_equal(acu_loaded(ACU_CUDART)->version, 13000);
    assert_int_equal(acu_library_version(&acu_cudart), 13000);
}

static void version_from_markers(void) {
    made_up library = {.version = 0, .lacks = "acutestSince1300"};
    assert_int_equal(load_made_up(&library, 0), 0);
    assert_int_equal(acu_loaded(ACU_CUDART)->version, 12040);
}

static void unknown_versions(void) {
    made_up newer = {.version = 14000}, older = {.version = 11040};
    assert_int_equal(load_made_up(&newer, 0), MISSING);
    CHECK_CONTAINS(acu_last_error_message(), "it is CUDA 14.0, an unknown major version");
    assert_int_equal(load_made_up(&older, 0), MISSING);
    CHECK_CONTAINS(acu_last_error_message(),
                   "it is CUDA 11.4, older than the oldest known version, 11.7");
    assert_int_equal(acu_load(&(acu_load_options){.resolve = resolve_made_up,
                                                  .data = &older,
                                                  .flags = ACU_LOAD_ALLOW_UNKNOWN}),
                     0);
    assert_int_equal(call(&malloc_function, 7), 0); /* like the oldest */
}

/* ---- refusals ---- */

static void function_too_new(void) {
    made_up library = {.version = 12010};
    assert_int_equal(load_made_up(&library, 0), 0);
    expect(&newer_function, 0, UNAVAILABLE,
           "acutestConditional needs CUDA 12.3; loaded libacutest is 12.1 (resolver)");
    assert_ptr_equal(slot_newer, enter_newer);
    expect(&newer_function, 0, UNAVAILABLE,
           "acutestConditional needs CUDA 12.3; loaded libacutest is 12.1 (resolver)");
    acu_function named = newer_function;
    named.feature = "graph conditional nodes";
    assert_int_equal(enter(&named, 0), UNAVAILABLE);
    assert_int_equal(acu_explain(&newer_function, UNAVAILABLE, NULL),
                     UNAVAILABLE); /* _ptds's twin */
    assert_string_equal(
        acu_last_error_message(),
        "acutestConditional needs CUDA 12.3 (graph conditional nodes); loaded libacutest is "
        "12.1 (resolver)");
}

/* cuVS PR 1280: a name that is gone in 13. */
static void cuvs_1280_function_gone(void) {
    made_up library = {.version = 13050};
    assert_int_equal(load_made_up(&library, 0), 0);
    expect(&gone_function, 0, UNAVAILABLE,
           "acutestThreadExit was removed in CUDA 13.0 (last in 12.9); loaded libacutest is 13.5 "
           "(resolver)");
}

/* cutlass issue 2079, vLLM PR 38919: one missing symbol concerns its own calls only. */
static void cutlass_2079_symbol_missing(void) {
    made_up library = {.version = 12040, .lacks = "acutestMalloc"};
    assert_int_equal(load_made_up(&library, 0), 0);
    expect(&malloc_function, 1, UNAVAILABLE,
           "acutestMalloc: the library lacks the symbol acutestMalloc, which this version should "
           "export; loaded "
           "libacutest is 12.4 (resolver)");
    assert_int_equal(call(&newer_function, 0), 0);
}

static void void_function_refused(void) {
    made_up library = {.version = 12010};
    assert_int_equal(load_made_up(&library, 0), 0);
    slot_void(0);
    assert_int_equal(acu_last_error(), UNAVAILABLE);
    CHECK_CONTAINS(acu_last_error_message(), "acutestVoid needs CUDA 12.3");
}

static void no_library_and_later_one(void) {
    setenv("ANYCUDA_CUDART", in_scratch("none"), 1);
    assert_int_equal(call(&malloc_function, 1), MISSING);
    CHECK_CONTAINS(acu_last_error_message(),
                   "acutestMalloc: no usable libacutest: ANYCUDA_CUDART=");
    CHECK_CONTAINS(acu_last_error_message(), "no such file; acu_load_trace() has the whole search");
    setenv("ANYCUDA_CUDART", put("12.4/libacutest.so.12", "libacutest.so.12"), 1);
    assert_int_equal(call(&malloc_function, 1), MISSING); /* remembered, not tried at every call */
    assert_int_equal(acu_load(NULL), 0);
    assert_int_equal(call(&malloc_function, -3), 3);
    assert_ptr_equal(slot_malloc, real_malloc);
}

static void works_without_a_library(void) {
    acu_function named = malloc_function;
    named.quirks = ACU_QUIRK_NO_LIBRARY;
    setenv("ANYCUDA_CUDART", in_scratch("none"), 1);
    int size = 1;
    acu_call call;
    acu_call_begin(&call, &named, &size);
    assert_null(call.fn);
    assert_true(call.made_here);
    assert_int_equal(acu_call_end(&call), 0);
    assert_int_equal(acu_last_error(), 0);
}

static void *resolve_and_call(const char *symbol, void *data) {
    slot_malloc(1); /* it must not; but it must not hang either */
    return resolve_made_up(symbol, data);
}

static void call_from_inside_a_load(void) {
    made_up library = {.version = 12040};
    assert_int_equal(acu_load(&(acu_load_options){.resolve = resolve_and_call, .data = &library}),
                     0);
    CHECK_CONTAINS(acu_last_error_message(), "called while a CUDA library is being loaded");
    acu_clear_error();
    assert_int_equal(call(&malloc_function, 7), 0); /* from inside a bind it is refused, too */
    CHECK_CONTAINS(acu_last_error_message(), "the library lacks the symbol acutestMalloc");
}

/* ---- the record ---- */

static void error_of_the_library(void) {
    made_up library = {.version = 12040};
    assert_int_equal(load_made_up(&library, 0), 0);
    expect(
        &malloc_function, -OUT_OF_MEMORY, OUT_OF_MEMORY,
        "acutestMalloc failed with acutestErrorMemoryAllocation (2); libacutest 12.4 (resolver)");
    expect(&malloc_function, -12345, 12345,
           "acutestMalloc failed with an unknown error (12345); libacutest 12.4 (resolver)");
    acu_clear_error();
    assert_int_equal(acu_last_error(), 0);
    assert_string_equal(acu_last_error_message(), "");
}

static void answers_are_no_failures(void) {
    made_up library = {.version = 12040};
    assert_int_equal(load_made_up(&library, 0), 0);
    assert_int_equal(call(&malloc_function, -NOT_READY), NOT_READY);
    assert_int_equal(acu_last_error(), 0);
}

/* OpenCV issue 7679: "driver version is insufficient" where there is no driver at all. */
static void opencv_7679_no_driver_is_not_an_old_driver(void) {
    made_up none = {.version = 12040}, old = {.version = 12040, .driver = 11040};
    made_up same = {.version = 12040, .driver = 12020};
    assert_int_equal(load_made_up(&none, 0), 0);
    expect(&malloc_function, -NO_DRIVER, NO_DRIVER,
           "acutestMalloc failed with acutestErrorInsufficientDriver (35): no NVIDIA driver is "
           "installed; libacutest 12.4 (resolver); install an NVIDIA driver, or link anycuda::sim, "
           "the simulator, and set ANYCUDA_CUDART=sim");
    assert_string_equal(acu_last_error_details().hint,
                        "install an NVIDIA driver, or link anycuda::sim, the simulator, and set "
                        "ANYCUDA_CUDART=sim");
    assert_int_equal(load_made_up(&old, 0), 0);
    expect(&malloc_function, -NO_DRIVER, NO_DRIVER,
           "acutestMalloc failed with acutestErrorInsufficientDriver (35): driver 11.4 is older "
           "than libacutest 12.x needs; libacutest 12.4 (resolver)");
    assert_int_equal(load_made_up(&same, 0), 0);
    assert_int_equal(call(&malloc_function, -NO_DRIVER), NO_DRIVER);
    CHECK_CONTAINS(acu_last_error_message(), "the NVIDIA driver (CUDA 12.2) does not work with it");
}

static void no_device(void) {
    made_up library = {.version = 12040};
    assert_int_equal(load_made_up(&library, 0), 0);
    assert_int_equal(call(&malloc_function, -NO_DEVICE), NO_DEVICE);
    CHECK_CONTAINS(acu_last_error_message(), "(100): the driver sees no device");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    assert_int_equal(call(&malloc_function, -NO_DEVICE), NO_DEVICE);
    CHECK_CONTAINS(acu_last_error_message(),
                   "no device is visible, because CUDA_VISIBLE_DEVICES is \"\"");
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    assert_int_equal(call(&malloc_function, -NO_DEVICE), NO_DEVICE);
    CHECK_CONTAINS(acu_last_error_message(), "CUDA_VISIBLE_DEVICES is \"-1\"");
}

static int answer_invalid(int kind) {
    (void)kind;
    return INVALID;
}

static void enumerator_too_new(void) {
    made_up library = {.version = 12040};
    assert_int_equal(load_made_up(&library, 0), 0);
    slot_malloc = answer_invalid;
    assert_int_equal(call(&malloc_function, 5), UNAVAILABLE);
    CHECK_CONTAINS(acu_last_error_message(), "acutestShiny");
    CHECK_CONTAINS(acu_last_error_message(),
                   "needs CUDA 12.8; loaded libacutest is 12.4 (resolver)");
    assert_int_equal(acu_record_own_error(true), UNAVAILABLE);
    assert_int_equal(call(&malloc_function, 1), INVALID); /* known: just wrong */
    CHECK_CONTAINS(acu_last_error_message(), "failed with acutestErrorInvalidValue (1)");
    slot_malloc = enter_malloc;
}

/* What an adapter does on its way. */
static void refusals_of_adapters(void) {
    made_up library = {.version = 12040};
    int size = 1;
    assert_int_equal(load_made_up(&library, 0), 0);
    assert_int_equal(acu_refuse_newer(&malloc_function, "params->ctx", 13010), UNAVAILABLE);
    assert_int_equal(acu_explain(&malloc_function, UNAVAILABLE, &size), UNAVAILABLE);
    assert_string_equal(acu_last_error_message(),
                        "acutestMalloc: params->ctx needs CUDA 13.1; loaded "
                        "libacutest is 12.4 (resolver)");
    assert_int_equal(acu_refuse_newer(&malloc_function, "prop->clockRate", 0), UNAVAILABLE);
    CHECK_CONTAINS(acu_last_error_message(), "prop->clockRate was removed from CUDA; loaded");
    assert_int_equal(acu_refuse_invalid(&malloc_function, "params->reserved", "must be zero"),
                     INVALID);
    assert_int_equal(acu_explain(&malloc_function, INVALID, &size), INVALID);
    assert_string_equal(acu_last_error_message(), "acutestMalloc: params->reserved must be zero");
}

static void note_of_what_failed(void) {
    made_up library = {.version = 12040};
    int size = 1;
    assert_int_equal(load_made_up(&library, 0), 0);
    acu_record_note("copy", 3);
    assert_int_equal(acu_explain(&malloc_function, OUT_OF_MEMORY, &size), OUT_OF_MEMORY);
    CHECK_CONTAINS(acu_last_error_message(), "acutestErrorMemoryAllocation (2) (copy 3); lib");
    assert_int_equal(acu_explain(&malloc_function, OUT_OF_MEMORY, &size), OUT_OF_MEMORY);
    CHECK_CONTAINS(acu_last_error_message(), "acutestErrorMemoryAllocation (2); lib");
    acu_refuse_invalid(&malloc_function, "p", "must not be NULL");
    acu_record_note("copy", 4);
    assert_int_equal(acu_explain(&malloc_function, INVALID, &size), INVALID);
    CHECK_CONTAINS(acu_last_error_message(), "p must not be NULL"); /* reported as it was refused */
    assert_null(strstr(acu_last_error_message(), "copy"));
}

static void last_error_repeats_and_never_overwrites(void) {
    made_up library = {.version = 12010};
    assert_int_equal(load_made_up(&library, 0), 0);
    assert_int_equal(call(&newer_function, 0), UNAVAILABLE);
    assert_int_equal(acu_record_own_error(false), UNAVAILABLE);
    assert_int_equal(acu_explain(&last_function, OUT_OF_MEMORY, NULL), OUT_OF_MEMORY);
    assert_int_equal(acu_last_error(), UNAVAILABLE);
    /* A later failure of the library is the last error instead. */
    assert_int_equal(call(&malloc_function, -OUT_OF_MEMORY), OUT_OF_MEMORY);
    assert_int_equal(acu_record_own_error(true), 0);
}

static void last_error_without_a_library(void) {
    setenv("ANYCUDA_CUDART", in_scratch("none"), 1);
    assert_int_equal(slot_last(), 0);
    assert_int_equal(acu_last_error(), 0);
    assert_int_equal(call(&malloc_function, 1), MISSING);
    assert_int_equal(slot_peek(), MISSING);
    assert_int_equal(slot_last(), MISSING);
    assert_int_equal(slot_last(), 0);
    assert_int_equal(acu_last_error(), MISSING);
}

static void the_drivers_errors_are_not_the_runtimes(void) {
    acu_function named = malloc_function;
    named.library = &acu_cuda;
    setenv("ANYCUDA_CUDA", in_scratch("none"), 1);
    assert_int_equal(enter(&named, 1), MISSING);
    assert_int_equal(acu_last_error(), MISSING);
    assert_int_equal(acu_record_own_error(true), 0);
}

static void long_and_odd_messages(void) {
    char path[3000];
    memset(path, 'p', sizeof path - 1);
    memcpy(path, "/tmp/\n\033", 7);
    path[sizeof path - 1] = '\0';
    setenv("ANYCUDA_CUDART", path, 1);
    assert_int_equal(call(&malloc_function, 1), MISSING);
    CHECK_CONTAINS(acu_last_error_message(), "ANYCUDA_CUDART=/tmp/??ppp");
    assert_null(strchr(acu_last_error_message(), '\n'));
    memset(path, 'w', sizeof path - 1);
    acu_record(5, "%s", path);
    assert_int_equal(strlen(acu_last_error_message()), 1023);
    assert_string_equal(acu_last_error_message() + 1019, "w...");
}

static acu_fn resolve_sim(const char *symbol) {
    made_up library = {.version = 13050};
    void *address = resolve_made_up(symbol, &library);
    acu_fn fn;
    memcpy(&fn, &address, sizeof fn);
    return fn;
}

static int version_of_sim(acu_library_id id) {
    return id == ACU_CUDART ? 12010 : 0;
}

/* It has one ABI, whatever version it reports. */
static void simulator_reports_one_version_and_has_the_abi_of_another(void) {
    static const acu_sim sim = {.resolve = resolve_sim,
                                .version = version_of_sim,
                                .abi = 13050,
                                .instead = "; use the simulator",
                                .without_driver = "; it has no driver"};
    acu_sim_provider = &sim;
    setenv("ANYCUDA_CUDART", "sim", 1);
    assert_int_equal(call(&malloc_function, 7), 77);
    expect(&newer_function, 0, UNAVAILABLE,
           "acutestConditional needs CUDA 12.3; loaded libacutest is 12.1 (simulator)");
    assert_int_equal(call(&gone_function, 0), 0); /* 12.1 has the function still */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ALONE(era_of_the_loaded_version),
        ALONE(sglang_23136_runtime_not_driver_decides),
        ALONE(version_that_is_given),
        ALONE(version_from_markers),
        ALONE(unknown_versions),
        ALONE(function_too_new),
        ALONE(cuvs_1280_function_gone),
        ALONE(cutlass_2079_symbol_missing),
        ALONE(void_function_refused),
        ALONE(no_library_and_later_one),
        ALONE(works_without_a_library),
        ALONE(call_from_inside_a_load),
        ALONE(error_of_the_library),
        ALONE(answers_are_no_failures),
        ALONE(opencv_7679_no_driver_is_not_an_old_driver),
        ALONE(no_device),
        ALONE(enumerator_too_new),
        ALONE(refusals_of_adapters),
        ALONE(note_of_what_failed),
        ALONE(last_error_repeats_and_never_overwrites),
        ALONE(last_error_without_a_library),
        ALONE(the_drivers_errors_are_not_the_runtimes),
        ALONE(long_and_odd_messages),
        ALONE(simulator_reports_one_version_and_has_the_abi_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
