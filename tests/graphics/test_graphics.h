/* What the tests of graphics share: the OpenGL, and checks that count failures. */
#ifndef TEST_GRAPHICS_H
#define TEST_GRAPHICS_H

#include "gl.h"

#include <anycuda/anycuda.h>
#include <anycuda/load.h>

#include <stdio.h>

extern const gl_api *gl; /* the one that is used */
extern int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                 \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)
#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, acu_last_error_message());        \
            failures++;                                                                            \
            return;                                                                                \
        }                                                                                          \
    } while (0)
/* Releases a handle before its scope ends. */
#define END(noun, handle)                                                                          \
    do {                                                                                           \
        OK(acu_##noun##_release(handle));                                                          \
        (handle) = NULL;                                                                           \
    } while (0)

/* Calls CUDA's functions by themselves, also in ways that are wrong, and compares the codes. */
void codes_of_cuda(void);

#endif
