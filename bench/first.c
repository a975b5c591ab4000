/*
 * What comes once: `first bare PATH`, `first anycuda PATH` and `first bind PATH`, each for one
 * process. Prints nanoseconds: of a dlopen with its dlsym and first call; of the same through
 * anycuda, the driver not asked; of each further slot that is bound.
 */
#define _POSIX_C_SOURCE 200809L
#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include "core/call.h"
#include "cudart_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int bare(const char *path) {
    int (*get_version)(int *);
    int version = 0;
    /* Whoever starts this chooses the file. NOLINTNEXTLINE(clang-analyzer-optin.taint.*) */
    void *symbol = dlsym(dlopen(path, RTLD_NOW | RTLD_LOCAL), "cudaRuntimeGetVersion");
    if (!symbol)
        return 1;
    memcpy(&get_version, &symbol, sizeof get_version);
    (void)get_version(&version);
    return 0;
}

static int anycuda(const char *path) {
    int version = 0;
    if (acu_load(&(acu_load_options){.path = path, .flags = ACU_LOAD_SKIP_DRIVER}))
        return 1;
    (void)cudaRuntimeGetVersion(&version);
    return 0;
}

static void bind_more(void) {
    static const acu_function *const functions[] = {
        &acu_function_cudaMalloc,      &acu_function_cudaFree,
        &acu_function_cudaEventRecord, &acu_function_cudaStreamQuery,
        &acu_function_cudaSetDevice,   &acu_function_cudaEventQuery,
        &acu_function_cudaGetDevice,   &acu_function_cudaStreamSynchronize,
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        double begin = now();
        (void)acu_call_bind(functions[i]);
        printf("%.0f\n", now() - begin);
    }
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    double begin = now();
    int failed = bare(argv[2]);
    double middle = now();
    failed = failed || anycuda(argv[2]);
    double end = now();
    if (failed) {
        printf("%s\n", acu_last_error_message());
        return 1;
    }
    if (strcmp(argv[1], "bind") == 0)
        bind_more();
    else
        printf("%.0f %.0f\n", middle - begin, end - middle);
    return 0;
}
