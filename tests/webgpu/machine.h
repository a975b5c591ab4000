/* The device that the tests use. */
#ifndef MACHINE_H
#define MACHINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/webgpu/gpu_block.h"

/* Finds the library and the adapters; ends the program as skipped where there are none. */
void machine_require(void);
extern acu_gpu_adapters machine;

/* A device on the first adapter, and its end: every object of WebGPU must be gone by then. */
acu_gpu *machine_open(void);
void machine_close(acu_gpu *gpu);

/* The objects that exist, as wgpu-native counts them. */
size_t machine_objects(void);

#define EXPECT_ERROR(result, code, part)                                                           \
    do {                                                                                           \
        assert_int_equal(result, code);                                                            \
        machine_contains(acu_last_error_message(), part);                                          \
    } while (0)
void machine_contains(const char *text, const char *part);

/* A random number below `end`, the same ones in each run. */
uint32_t machine_random(uint32_t end);

#endif
