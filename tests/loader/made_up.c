#include "made_up.h"

#include <string.h>

/* ---- what generated/ says of the real ones ---- */

static const acu_value result_values[] = {
    {0, 0}, {INVALID, 0}, {OUT_OF_MEMORY, 0}, {NO_DRIVER, 0}, {NO_DEVICE, 0}};

static const acu_type results = {
    .name = "acutestError\0acutestSuccess\0acutestErrorInvalidValue\0acutestErrorMemoryAllocation\0"
            "acutestErrorInsufficientDriver\0acutestErrorNoDevice",
    .kind = ACU_KIND_ENUM,
    .size = 4,
    .count = sizeof result_values / sizeof *result_values,
    .values = result_values,
};

static const acu_marker markers[] = {
    {11080, "acutestSince1108"},
    {12040, "acutestSince1204"},
    {13000, "acutestSince1300"},
    {0, NULL},
};

#define DESCRIPTION                                                                                \
    .sentinels = (const char *const[]){"acutestMalloc", "acutestLaunch", NULL}, .product = "CUDA", \
    .markers = markers, .oldest = 11070, .newest = 13050, .error_missing = MISSING,                \
    .error_stub = STUB, .error_unavailable = UNAVAILABLE, .error_invalid = INVALID,                \
    .error_no_driver = NO_DRIVER, .error_no_device = NO_DEVICE, .result_type = &results

const acu_library_info acu_cudart_info = {
    .name = "libacutest",
    .api = "made-up runtime",
    .env = "ANYCUDA_CUDART",
    .version_symbol = "acutestVersion",
    .sonames =
        (const char *const[]){"libacutest.so.13", "libacutest.so.12", "libacutest.so.11.0", NULL},
    DESCRIPTION,
};

const acu_library_info acu_nvrtc_info = {
    .name = "libacujit",
    .api = "made-up compiler",
    .env = "ANYCUDA_NVRTC",
    .version_symbol = "acutestVersionPair",
    .sonames = (const char *const[]){"libacujit.so.13", "libacujit.so.12", NULL},
    DESCRIPTION,
};

const acu_library_info acu_cuda_info = {
    .name = "libacudrv",
    .api = "made-up driver",
    .env = "ANYCUDA_CUDA",
    .version_symbol = "acutestVersion",
    .sonames = (const char *const[]){"libacudrv.so.1", NULL},
    DESCRIPTION,
};

/* The version function of the made-up WebGPU returns 0x1d000101 for 29.0.1.1. */
const acu_library_info acu_webgpu_info = {
    .name = "libacugpu",
    .api = "made-up WebGPU",
    .product = "acugpu",
    .env = "ANYCUDA_WEBGPU",
    .version_symbol = "acugpuVersion",
    .sonames = (const char *const[]){"libacugpu.so", "libacugpu-release.so", "libacudawn.so", NULL},
    .sentinels = (const char *const[]){"acutestMalloc", "acugpuSubmit", NULL},
    .foreign = (const acu_foreign[]){{"acugpuTick", "another one, whose header was not compared"},
                                     {NULL, NULL}},
    .markers = (const acu_marker[]){{0, NULL}},
    .oldest = 29000,
    .newest = 29000,
    .error_missing = OUT_OF_MEMORY,
    .error_stub = OUT_OF_MEMORY,
    .error_unavailable = OUT_OF_MEMORY,
    .error_invalid = OUT_OF_MEMORY,
    .result_type = &results,
};

int load_path(const char *path, unsigned flags) {
    return acu_load(&(acu_load_options){.path = path, .flags = flags});
}

/* ---- a resolver ---- */

static made_up *current;

static int get_version(int *version) {
    *version = current->version;
    return current->version ? 0 : NO_DRIVER;
}

static int get_driver(int *version) {
    *version = current->driver;
    return 0;
}

static int do_malloc(int size) {
    return size < 0 ? -size : 0;
}

static int do_malloc_13(int size, int extra) {
    return size < 0 ? -size : extra;
}

static int last_error;

static int get_last_error(void) {
    int error = last_error;
    last_error = 0;
    return error;
}

void *resolve_made_up(const char *symbol, void *data) {
    const made_up *library = data;
    void (*fn)(void) = NULL;
    void *address;
    if (current != data) /* once written, any thread reads it */
        current = data;
    if (library->lacks && strcmp(symbol, library->lacks) == 0)
        fn = NULL;
    else if (strcmp(symbol, "acutestVersion") == 0)
        fn = (void (*)(void))get_version;
    else if (strcmp(symbol, "cuDriverGetVersion") == 0)
        fn = library->driver ? (void (*)(void))get_driver : NULL;
    else if (strcmp(symbol, "acutestMalloc") == 0)
        fn = library->version >= 13000 ? (void (*)(void))do_malloc_13 : (void (*)(void))do_malloc;
    else if (strcmp(symbol, "acutestGetLastError") == 0)
        fn = (void (*)(void))get_last_error;
    else if (strncmp(symbol, "acutestSince", 12) == 0)
        fn = (void (*)(void))do_malloc;
    memcpy(&address, &fn, sizeof address);
    return address;
}

int load_made_up(made_up *library, int version) {
    acu_load_reset_for_tests();
    return acu_load(
        &(acu_load_options){.resolve = resolve_made_up, .data = library, .version = version});
}
