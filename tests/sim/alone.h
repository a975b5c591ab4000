/* Tests in a process of their own, of which they read what it says on stderr. */
#ifndef ALONE_H
#define ALONE_H

#include "../scratch.h"
#include "ptx_test.h"

#include <sys/wait.h>
#include <unistd.h>

static char said[16384];

static inline int begin_with(const char *configuration) {
    acu_sim_reset(configuration);
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

/* Runs it in a process with that configuration, which exits; what it says is in `said`. */
static inline void run_alone(const char *configuration, void (*body)(void)) {
    char path[SCRATCH_SIZE];
    int file = mkstemp(scratch_path(path)), status = -1;
    assert_true(file >= 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(file, STDERR_FILENO);
        begin_with(configuration);
        body();
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    ssize_t got = pread(file, said, sizeof said - 1, 0);
    said[got > 0 ? got : 0] = '\0';
    close(file);
    unlink(path);
    if (status)
        print_error("%s\n", said);
    assert_int_equal(status, 0);
}

/* Checks that it has said the text. */
static inline void expect_said(const char *text) {
    if (!strstr(said, text))
        print_error("expected: %s\nsaid:     %s\n", text, said);
    assert_non_null(strstr(said, text));
}

#endif
