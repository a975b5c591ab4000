#define _GNU_SOURCE
#include "made_up.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what generated/ says of the real ones ----------------------------------------------------- */

static const acu_value result_values[] = {
    {"acutestSuccess", 0, 0},
    {"acutestErrorInvalidValue", INVALID, 0},
    {"acutestErrorMemoryAllocation", OUT_OF_MEMORY, 0},
    {"acutestErrorInsufficientDriver", NO_DRIVER, 0},
    {"acutestErrorNoDevice", NO_DEVICE, 0},
};

static const acu_type results = {
    .name = "acutestError",
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
    .sentinels = (const char *const[]){"acutestMalloc", "acutestLaunch", NULL},                    \
    .markers = markers, .oldest = 11070, .newest = 13050, .error_missing = MISSING,                \
    .error_stub = STUB, .error_unavailable = UNAVAILABLE, .error_invalid = INVALID,                \
    .error_no_driver = NO_DRIVER, .error_no_device = NO_DEVICE, .result_type = &results

const acu_library_info acu_cudart_info = {
    .name = "libacutest",
    .api = "made-up runtime",
    .env = "ANYCUDA_CUDART",
    .version_symbol = "acutestVersion",
    .sonames = (const char *const[]){"libacutest.so.13", "libacutest.so.12", "libacutest.so.11.0",
                                     NULL},
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

/* ---- a process of its own ---------------------------------------------------------------------- */

static void clean_environment(void)
{
    static const char *const names[] = {
        "ANYCUDA_CUDART", "ANYCUDA_CUDA", "ANYCUDA_NVRTC", "ANYCUDA_TRACE", "ANYCUDA_FAIL",
        "VIRTUAL_ENV",    "CONDA_PREFIX", "CUDA_PATH",     "CUDA_HOME",     "CUDA_VISIBLE_DEVICES",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("FAKE_DRIVER", "13000", 1);
}

static char folder[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_scratch(void)
{
    if (*folder)
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void empty_system(void)
{
    nftw(SYSTEM, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    mkdir(SYSTEM, 0777);
}

void run_alone(void **state)
{
    const struct lonely *test = *state;
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        clean_environment();
        empty_system();
        test->body();
        remove_scratch();
        fflush(NULL);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

void check_contains(const char *text, const char *part, const char *file, int line)
{
    if (text && strstr(text, part))
        return;
    print_error("\"%s\"\nlacks \"%s\"\n", text ? text : "(null)", part);
    _fail(file, line);
}

/* ---- files ------------------------------------------------------------------------------------- */

const char *scratch(void)
{
    if (!*folder) {
        snprintf(folder, sizeof folder, "/tmp/acu-loader-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

const char *in_scratch(const char *name)
{
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch(), name);
    for (char *slash = path + strlen(scratch()) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    return path;
}

void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

const char *put(const char *fake, const char *name)
{
    static char bytes[1 << 20];
    char from[512];
    snprintf(from, sizeof from, "%s/%s", FAKES, fake);
    FILE *file = fopen(from, "rb");
    if (!file)
        print_error("no fake %s\n", from);
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(size, 1, sizeof bytes - 1);
    const char *path = in_scratch(name);
    write_file(path, bytes, size);
    return path;
}

int load_path(const char *path, unsigned flags)
{
    return acu_load(&(acu_load_options){.path = path, .flags = flags});
}

/* ---- a resolver -------------------------------------------------------------------------------- */

static made_up *current;

static int get_version(int *version)
{
    *version = current->version;
    return current->version ? 0 : NO_DRIVER;
}

static int get_driver(int *version)
{
    *version = current->driver;
    return 0;
}

static int do_malloc(int size) { return size < 0 ? -size : 0; }

static int do_malloc_13(int size, int extra) { return size < 0 ? -size : extra; }

static int last_error;

static int get_last_error(void)
{
    int error = last_error;
    last_error = 0;
    return error;
}

void *resolve_made_up(const char *symbol, void *data)
{
    const made_up *library = current = data;
    void (*fn)(void) = NULL;
    void *address;
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

int load_made_up(made_up *library, int version)
{
    acu_unload_for_tests();
    return acu_load(&(acu_load_options){
        .resolve = resolve_made_up, .data = library, .version = version});
}
