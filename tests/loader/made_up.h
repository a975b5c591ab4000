/*
 * A made-up library instead of CUDA, so that nothing that this machine has plays a part.
 *
 * Its name is libacutest in the place of libcudart, libacujit in that of libnvrtc, libacugpu in
 * that of libwgpu_native. The files are built from fake.c, in the folder FAKES.
 */
#ifndef MADE_UP_H
#define MADE_UP_H

#include "alone.h"

#include <anycuda/load.h>

#include "loader/load.h"

enum {
    INVALID = 1,
    OUT_OF_MEMORY = 2,
    STUB = 34,
    NO_DRIVER = 35,
    NO_DEVICE = 100,
    MISSING = 303,
    NOT_READY = 600,
    UNAVAILABLE = 801
};

/* Loads and returns the code. */
int load_path(const char *path, unsigned flags);

/* ---- a resolver ---- */

/* A library of that version as a table; test it with `made_up`. */
typedef struct made_up {
    int version;       /* what its version function says; 0: it fails */
    int driver;        /* 0: none */
    const char *lacks; /* a symbol it should have and has not */
} made_up;

void *resolve_made_up(const char *symbol, void *data);
int load_made_up(made_up *library, int version);

/* ---- a constructor ---- */

/* By the fakes in the folder "constructor", in the program that has it. */
__attribute__((visibility("default"))) void called_by_constructor(void);

#endif
