/* A test in a process of its own, because what it loads stays mapped; and its files. */
#ifndef ALONE_H
#define ALONE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct lonely {
    void (*body)(void);
    const void *with;
};

/* The `with` of the test that runs. */
extern const void *alone_with;

void run_alone(void **state);

#define ALONE(test) ALONE_WITH(test, NULL)
#define ALONE_WITH(test, argument)                                                                 \
    {                                                                                              \
        #test, run_alone, NULL, NULL, &(struct lonely) {                                           \
            test, argument                                                                         \
        }                                                                                          \
    }

/* Ends the test that runs, which counts as skipped. */
_Noreturn void skip_alone(const char *why);

#define CHECK_CONTAINS(text, part) check_contains(text, part, __FILE__, __LINE__)
void check_contains(const char *text, const char *part, const char *file, int line);

/* ---- files ---- */

/* A fresh folder that is removed at the end of the test. */
const char *scratch(void);
/* "SCRATCH/name", in one of a few buffers that take turns. */
const char *in_scratch(const char *name);
/* Copies FAKES/fake to SCRATCH/name, making folders; returns the path. */
const char *put(const char *fake, const char *name);
void write_file(const char *path, const void *bytes, size_t size);

#endif
