#define _GNU_SOURCE
#include "alone.h"
#include "../scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a process of its own ---- */

const void *alone_with;

static void clean_environment(void) {
    static const char *const names[] = {
        "ANYCUDA_CUDART",   "ANYCUDA_CUDA",
        "ANYCUDA_NVRTC",    "ANYCUDA_TRACE",
        "ANYCUDA_FAIL",     "VIRTUAL_ENV",
        "CONDA_PREFIX",     "CUDA_PATH",
        "CUDA_HOME",        "CUDA_VISIBLE_DEVICES",
        "LD_LIBRARY_PATH",  "PYTHONUSERBASE",
        "PYTHONNOUSERSITE", "HOME",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("FAKE_DRIVER", "13000", 1);
}

static char folder[SCRATCH_SIZE];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_scratch(void) {
    if (*folder)
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void empty_system(void) {
    nftw(SYSTEM, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    mkdir(SYSTEM, 0777);
}

enum { SKIPPED = 77 };

void skip_alone(const char *why) {
    print_message("%s\n", why);
    remove_scratch();
    fflush(NULL);
    _exit(SKIPPED);
}

void run_alone(void **state) {
    const struct lonely *test = *state;
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        clean_environment();
        empty_system();
        alone_with = test->with;
        test->body();
        remove_scratch();
        fflush(NULL);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

void check_contains(const char *text, const char *part, const char *file, int line) {
    if (text && strstr(text, part))
        return;
    print_error("\"%s\"\nlacks \"%s\"\n", text ? text : "(null)", part);
    _fail(file, line);
}

/* ---- files ---- */

const char *scratch(void) {
    if (!*folder) {
        assert_non_null(mkdtemp(scratch_path(folder)));
    }
    return folder;
}

const char *in_scratch(const char *name) {
    static char paths[8][SCRATCH_SIZE + 512];
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

void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file) {
        fail_msg("cannot write %s", path);
        return;
    }
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

const char *put(const char *fake, const char *name) {
    static char bytes[1024 * 1024];
    char from[512];
    snprintf(from, sizeof from, "%s/%s", FAKES, fake);
    FILE *file = fopen(from, "rb");
    if (!file) {
        fail_msg("no fake %s", from);
        return NULL;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(size, 1, sizeof bytes - 1);
    const char *path = in_scratch(name);
    write_file(path, bytes, size);
    return path;
}
