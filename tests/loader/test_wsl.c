/*
 * The driver in the Windows Subsystem for Linux, where its libraries are in /usr/lib/wsl/lib: here
 * that folder is another one, for whatever this program opens, and nobody else knows the driver.
 */
#define _GNU_SOURCE
#include "made_up.h"
#include "loader/driver.h"
#include "loader/platform.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void *__real_dlopen(const char *path, int flags);
int __real_open(const char *path, int flags, ...);
int __real_stat(const char *path, struct stat *about);
int __real_lstat(const char *path, struct stat *about);
void *__wrap_dlopen(const char *path, int flags);
int __wrap_open(const char *path, int flags, ...);
int __wrap_stat(const char *path, struct stat *about);
int __wrap_lstat(const char *path, struct stat *about);

static const char *folder; /* NULL: this is no WSL */

static const char *moved(const char *path) {
    static char elsewhere[4096];
    if (!path || !folder || strncmp(path, ACU_WSL_FOLDER, strlen(ACU_WSL_FOLDER)) != 0)
        return path;
    snprintf(elsewhere, sizeof elsewhere, "%s%s", folder, path + strlen(ACU_WSL_FOLDER));
    return elsewhere;
}

/* This machine's own driver plays no part. */
void *__wrap_dlopen(const char *path, int flags) {
    return path && strcmp(path, "libcuda.so.1") == 0 ? NULL : __real_dlopen(moved(path), flags);
}

int __wrap_open(const char *path, int flags, ...) {
    return __real_open(moved(path), flags);
}

int __wrap_stat(const char *path, struct stat *about) {
    return __real_stat(moved(path), about);
}

int __wrap_lstat(const char *path, struct stat *about) {
    return __real_lstat(moved(path), about);
}

static void the_driver_is_found_there(void) {
    folder = scratch();
    put("12.4/libacudrv.so.1", "libacudrv.so.1");
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_CUDA}), 0);
    assert_int_equal(acu_loaded(ACU_CUDA)->version, 12040);
    assert_string_equal(acu_loaded(ACU_CUDA)->found, "system loader");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDA), ACU_WSL_FOLDER "/libacudrv.so.1: taken");
}

static void the_drivers_version_is_that_of_the_library_there(void) {
    folder = scratch();
    put("driver/libcuda.so.1", "libcuda.so.1");
    setenv("FAKE_DRIVER", "12080", 1);
    assert_int_equal(acu_driver_version(&acu_cudart), 12080);
    /* A runtime of a later major version cannot be used with that driver. */
    assert_int_equal(load_path(put("13.0/libacutest.so.13", "libacutest.so.13"), 0), MISSING);
    CHECK_CONTAINS(acu_last_error_message(), "12.8");
}

static void without_the_folder_there_is_no_driver(void) {
    assert_int_equal(acu_driver_version(&acu_cudart), ACU_DRIVER_NONE);
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_CUDA}), MISSING);
    assert_null(strstr(acu_load_trace(ACU_CUDA), "wsl"));
}

static void only_the_driver_is_looked_for_there(void) {
    folder = scratch();
    put("13.0/libacutest.so.13", "libacutest.so.13");
    assert_int_equal(acu_load(NULL), MISSING);
    assert_null(acu_loaded(ACU_CUDART));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ALONE(the_driver_is_found_there),
        ALONE(the_drivers_version_is_that_of_the_library_there),
        ALONE(without_the_folder_there_is_no_driver),
        ALONE(only_the_driver_is_looked_for_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
