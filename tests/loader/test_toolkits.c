/*
 * The real libcudarts, as far as they go without a driver: each loads, its version is known, what
 * it lacks is refused with the reason, and errors are explained.
 */
#define _GNU_SOURCE
#include "alone.h"

#include <anycuda/cudart.h>
#include <anycuda/load.h>
#include <anycuda/supports.h>

#include "tests/feature_functions.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct toolkit {
    char version[16]; /* "12.4" */
    int number;       /* 12040 */
    char path[512];
} toolkit;

enum { MOST = 64 };

static toolkit toolkits[MOST];
static size_t count;

static int by_version(const void *a, const void *b) {
    return ((const toolkit *)a)->number - ((const toolkit *)b)->number;
}

/* FOLDER/12.4/lib/libcudart.so.12 */
static bool find_library(const char *folder, toolkit *t) {
    char lib[300];
    snprintf(lib, sizeof lib, "%s/%s/lib", folder, t->version);
    DIR *files = opendir(lib);
    bool found = false;
    for (struct dirent *file; files && (file = readdir(files)) != NULL;)
        if (strncmp(file->d_name, "libcudart.so.", 13) == 0) {
            found = true;
            snprintf(t->path, sizeof t->path, "%s/%.100s", lib, file->d_name);
        }
    if (files)
        closedir(files);
    return found;
}

static void find_toolkits(const char *folder) {
    DIR *all = opendir(folder);
    for (struct dirent *entry; all && count < MOST && (entry = readdir(all)) != NULL;) {
        toolkit *t = &toolkits[count];
        char *end;
        long major = strtol(entry->d_name, &end, 10);
        if (*end != '.')
            continue;
        long minor = strtol(end + 1, &end, 10);
        if (*end)
            continue;
        snprintf(t->version, sizeof t->version, "%.15s", entry->d_name);
        t->number = (int)(major * 1000 + minor * 10);
        if (find_library(folder, t))
            count++;
    }
    if (all)
        closedir(all);
    qsort(toolkits, count, sizeof *toolkits, by_version);
}

static void expect_refusal(int result, const char *text) {
    assert_int_equal(result, cudaErrorNotSupported);
    assert_int_equal(acu_last_error(), cudaErrorNotSupported);
    CHECK_CONTAINS(acu_last_error_message(), text);
    CHECK_CONTAINS(acu_last_error_message(), "; loaded libcudart is ");
    assert_int_equal(cudaGetLastError(), cudaErrorNotSupported);
}

static void loads(void) {
    const toolkit *t = alone_with;
    acu_load_options options = {.path = t->path, .flags = ACU_LOAD_SKIP_DRIVER};
    if (acu_load(&options))
        print_error("%s\n", acu_last_error_message());
    assert_non_null(acu_loaded(ACU_CUDART));
    assert_int_equal(acu_loaded(ACU_CUDART)->version, t->number);
    assert_string_equal(acu_loaded(ACU_CUDART)->soname, strrchr(t->path, '/') + 1);
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), t->path);

    cudaGraphConditionalHandle handle;
    if (t->number < 12030)
        expect_refusal(cudaGraphConditionalHandleCreate(&handle, NULL, 0, 0),
                       "needs CUDA 12.3 (graph conditional nodes)");
    size_t bytes;
    if (t->number < 13020)
        expect_refusal(cudaFuncGetParamCount(NULL, &bytes), "needs CUDA 13.2");
}

static void explains_a_missing_driver(void) {
    const toolkit *t = alone_with;
    void *memory;
    if (dlopen("libcuda.so.1", RTLD_LAZY))
        return; /* this machine has one */
    assert_int_equal(acu_load(&(acu_load_options){.path = t->path}), 0);
    assert_int_equal(cudaMalloc(&memory, 1), cudaErrorInsufficientDriver);
    CHECK_CONTAINS(acu_last_error_message(),
                   "cudaMalloc failed with cudaErrorInsufficientDriver (35): no NVIDIA driver is "
                   "installed; libcudart ");
    CHECK_CONTAINS(acu_last_error_message(), t->path);
    assert_int_equal(cudaGetLastError(), cudaErrorInsufficientDriver);
    assert_int_equal(acu_last_error(), cudaErrorInsufficientDriver);
}

/* Since and until of a feature, which the headers say, agree with what the library exports. */
static void has_the_features_it_exports(void) {
    const toolkit *t = alone_with;
    void *library = dlopen(t->path, RTLD_LAZY);
    bool lacking[ACU_FEATURE_COUNT] = {false};
    unsigned asked = 0;
    for (size_t i = 0; i < sizeof feature_functions / sizeof *feature_functions; i++)
        if (!dlsym(library, feature_functions[i].function))
            lacking[feature_functions[i].feature] = true;
    assert_int_equal(acu_load(&(acu_load_options){.path = t->path}), 0);
    for (size_t i = 0; i < sizeof feature_functions / sizeof *feature_functions; i++) {
        acu_feature feature = feature_functions[i].feature;
        if (i && feature == feature_functions[i - 1].feature)
            continue;
        acu_clear_error();
        acu_supports(feature, -1); /* the library is asked first, and says so */
        if (lacking[feature] != !!strstr(acu_last_error_message(), "; loaded libcudart is "))
            fail_msg("%s: %s, but: %s", acu_feature_name(feature),
                     lacking[feature] ? "is not exported" : "is exported",
                     acu_last_error_message());
        asked++;
    }
    assert_true(asked > 50);
}

/* A second runtime beside the process's own would not know its streams. */
static void is_found_in_the_process(void) {
    const toolkit *t = alone_with;
    void *mapped = dlopen(t->path, RTLD_NOW);
    assert_non_null(mapped);
    assert_int_equal(acu_load(&(acu_load_options){.flags = ACU_LOAD_SKIP_DRIVER}), 0);
    assert_string_equal(acu_loaded(ACU_CUDART)->found, "already in the process");
    assert_int_equal(acu_loaded(ACU_CUDART)->version, t->number);
}

int main(void) {
    static const struct {
        const char *name;
        void (*body)(void);
    } bodies[] = {
        {"loads", loads},
        {"has_the_features_it_exports", has_the_features_it_exports},
        {"explains_a_missing_driver", explains_a_missing_driver},
        {"is_found_in_the_process", is_found_in_the_process},
    };
    enum { BODIES = sizeof bodies / sizeof *bodies };
    static struct CMUnitTest tests[BODIES * MOST];
    static struct lonely lonely[BODIES * MOST];
    static char names[BODIES * MOST][64];
    const char *folder = getenv("ANYCUDA_TOOLKITS");
    if (!folder || !*folder)
        folder = TOOLKITS;
    find_toolkits(folder);
    if (count == 0) {
        printf("no toolkits in %s: run `make toolkits`, or set ANYCUDA_TOOLKITS\n", folder);
        return 77;
    }
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < BODIES; j++, used++) {
            snprintf(names[used], sizeof names[used], "%.15s %s", toolkits[i].version,
                     bodies[j].name);
            lonely[used] = (struct lonely){bodies[j].body, &toolkits[i]};
            tests[used] = (struct CMUnitTest){names[used], run_alone, NULL, NULL, &lonely[used]};
        }
    return _cmocka_run_group_tests("toolkits", tests, used, NULL, NULL);
}
