/* anycuda in a process that has libanycuda-sim.so as its libcudart, as a program that nvcc has
 * compiled: both use it, and no other one is searched. */
#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/anycuda-XXXXXX", path[64];

static void *open_as(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(symlink(SIM_SHARED, path), 0);
    return dlopen(path, RTLD_NOW);
}

/* The file has the ABI of the newest major version, and no other one. */
static void under_the_name_of_another_major_it_is_refused(void **state) {
    (void)state;
    int status = 1;
    const pid_t child = fork(); /* because a process loads one library */
    if (child == 0) {
        void *as_12 = open_as("libcudart.so.12");
        (void)acu_load(NULL);
        const char *trace = acu_load_trace(ACU_CUDART);
        _exit(!as_12 || unlink(path) || !strstr(trace, "its soname is \"libanycuda-sim.so\""));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void it_is_taken(void **state) {
    (void)state;
    cudaError_t (*theirs)(void **, size_t) = NULL;
    void *library = open_as("libcudart.so.13"), *symbol = dlsym(library, "cudaMalloc"), *at = NULL;
    memcpy(&theirs, &symbol, sizeof theirs);
    assert_int_equal(acu_load(NULL), 0);
    assert_true(acu_loaded(ACU_CUDART)->is_sim);
    assert_string_equal(acu_loaded(ACU_CUDART)->path, path);
    assert_int_equal(theirs(&at, 16), cudaSuccess); /* one simulator: memory of either is known */
    assert_int_equal(cudaMemset(at, 0, 16), cudaSuccess);
    assert_int_equal(cudaFree(at), cudaSuccess);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(under_the_name_of_another_major_it_is_refused),
        cmocka_unit_test(it_is_taken),
    };
    unsetenv("ANYCUDA_CUDART");
    return mkdtemp(folder) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
