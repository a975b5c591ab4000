/* What the tests of field failures share. Each runs in a process of its own. */
#ifndef FIELD_H
#define FIELD_H

#include "alone.h"
#include "fake_cudart.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anycuda/cudart.h>
#include <anycuda/load.h>

/* A test on one fake runtime: its folder's name. */
#define ON(test, version)                                                                          \
    {                                                                                              \
        #test " on " version, run_alone, NULL, NULL, &(struct lonely) {                            \
            test, version                                                                          \
        }                                                                                          \
    }
#define ON_ALL(test) ON(test, "11.8"), ON(test, "12.0"), ON(test, "12.9"), ON(test, "13.0")

/* Lays a fake where the system loader looks in this program, as `name`. */
static inline void install_as(const char *fake, const char *name) {
    char from[512], to[512];
    snprintf(from, sizeof from, "%s/%s", FAKES, fake);
    snprintf(to, sizeof to, "%s/%s", SYSTEM, name);
    unlink(to);
    assert_int_equal(symlink(from, to), 0);
}

static inline void install_driver(int version) {
    char text[16];
    snprintf(text, sizeof text, "%d", version);
    setenv("FAKE_DRIVER", text, 1);
    install_as("driver/libcuda.so.1", "libcuda.so.1");
}

/* 12090 of "12.9" */
int version_of(const char *version);
const char *soname_of(const char *version);

/*
 * Installs a fake runtime, and a driver just as old: so this machine's own, if it has any, is never
 * taken: it is too new for the driver, older than the fake, or comes after it.
 */
void install(const char *version);

/* Opens a fake as another part of the process would, before anycuda is called. */
void open_before(const char *version);

/* What the loaded fake saw. */
const struct fake_seen *seen(void);
void expect_loaded(int version, const char *found);

#endif
