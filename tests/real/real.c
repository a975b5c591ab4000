/*
 * One real libcudart without a driver: `real LIBRARY VERSION < PREDICTIONS`, a line for each slot:
 *   SLOT SYMBOL WHY      SYMBOL is "-" where the function is refused with WHY in the message
 * The slots by name are in slots.c, which test_real.py writes.
 */
#define _GNU_SOURCE
#include "slots.h"

#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, wrong;

static void check(int good, const char *what, const char *detail) {
    checks++;
    if (good)
        return;
    wrong++;
    printf("%s: %s\n", what, detail ? detail : "(null)");
}

static int has(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

/* ---- slots ---- */

static const acu_function *find(const char *name) {
    for (const struct slot *slot = slots; slot->name; slot++)
        if (strcmp(slot->name, name) == 0)
            return slot->function;
    return NULL;
}

/* Behind an adapter the library's symbol is kept apart. */
static void is_bound_to(const acu_function *function, const char *name, void *symbol) {
    acu_fn fn = acu_call_bind(function);
    if (function->real)
        fn = *function->real ? *function->real : fn;
    check(symbol && memcmp(&fn, &symbol, sizeof symbol) == 0, "bound to another symbol", name);
}

static void is_refused(const acu_function *function, const char *name, const char *why) {
    static const long long nothing[64];
    acu_call call;
    acu_call_begin(&call, function, nothing);
    check(!call.fn, "not refused", name);
    check(acu_call_end(&call) == cudaErrorNotSupported, "another code", name);
    check(has(acu_last_error_message(), why), why, acu_last_error_message());
    check(has(acu_last_error_message(), "; loaded libcudart is "), "loaded",
          acu_last_error_message());
}

static void check_slots(void *library) {
    char line[512];
    while (fgets(line, sizeof line, stdin)) {
        const char *name = strtok(line, "\t\n"), *symbol = strtok(NULL, "\t\n");
        const char *why = strtok(NULL, "\t\n");
        const acu_function *function = find(name);
        check(function != NULL, "no slot", name);
        if (function && strcmp(symbol, "-") != 0)
            is_bound_to(function, name, dlsym(library, symbol));
        else if (function)
            is_refused(function, name, why);
    }
}

/* ---- errors ---- */

static void check_loaded(const char *path, int version) {
    const acu_load_info *info = acu_loaded(ACU_CUDART);
    check(strcmp(info->path, path) == 0, "path", info->path);
    check(strcmp(info->soname, strrchr(path, '/') + 1) == 0, "soname", info->soname);
    check(strcmp(info->found, "ANYCUDA_CUDART") == 0, "found", info->found);
    check(info->version == version, "version", acu_load_trace(ACU_CUDART));
    check(!info->is_sim, "simulator", info->path);
    check(has(acu_load_trace(ACU_CUDART), ": taken: CUDA "), "trace", acu_load_trace(ACU_CUDART));
}

/* An error made here is returned once, and hides nothing that the runtime itself says later. */
static void check_own_error(int version) {
    size_t count;
    if (version >= 13020) /* lacks hardly anything */
        return;
    check(cudaFuncGetParamCount(NULL, &count) == cudaErrorNotSupported, "not refused", "");
    check(cudaPeekAtLastError() == cudaErrorNotSupported, "own error", "is not peeked at");
    check(cudaGetLastError() == cudaErrorNotSupported, "own error", "is not returned");
    check(cudaGetLastError() != cudaErrorNotSupported, "own error", "is returned twice");
    check(acu_last_error() == cudaErrorNotSupported, "own error", "is forgotten");
}

static void check_no_driver(int version) {
    void *memory = NULL;
    int count = 0, returned = 0;
    check(acu_loaded(ACU_CUDART)->driver == 0, "driver", "is there");
    check(cudaMalloc(&memory, 1) == cudaErrorInsufficientDriver, "cudaMalloc",
          acu_last_error_message());
    check(has(acu_last_error_message(), "no NVIDIA driver is installed"), "text",
          acu_last_error_message());
    check(has(acu_last_error_message(), "cudaErrorInsufficientDriver (35)"), "text",
          acu_last_error_message());
    check(cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver, "count",
          acu_last_error_message());
    check(cudaDriverGetVersion(&returned) == cudaSuccess && returned == 0, "driver version", "");
    cudaError_t result = cudaRuntimeGetVersion(&returned);
    check(version < 12000 ? result == cudaErrorInsufficientDriver : returned == version, "version",
          "");
    check(strcmp(cudaGetErrorName((cudaError_t)801), "cudaErrorNotSupported") == 0, "name", "");
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int version = (int)strtol(argv[2], NULL, 10);
    setenv("ANYCUDA_CUDART", argv[1], 1);
    if (acu_load(NULL)) {
        printf("%s\n", acu_last_error_message());
        return 1;
    }
    check_loaded(argv[1], version);
    if (acu_loaded(ACU_CUDART)->driver == 0)
        check_no_driver(version);
    check_own_error(version);
    check_slots(dlopen(acu_loaded(ACU_CUDART)->path, RTLD_NOW | RTLD_NOLOAD));
    printf("%d checks, %d wrong\n", checks, wrong);
    return wrong != 0;
}
