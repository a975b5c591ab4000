/*
 * The module that the tests of kernels load, and what its kernels do on the simulator. The PTX is
 * whole, so that a GPU does the same.
 *
 * ANYCUDA_SIM says as which runtime the simulator is tested.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include "safe.h"

#define acu_stream_begin_capture(stream, ...) acu_stream_begin_capture(noted(stream), __VA_ARGS__)
#define acu_stream_capture(stream, ...)       acu_stream_capture(noted(stream), __VA_ARGS__)

extern const char kernels_ptx[];

/* As `begin`, and with the kernels' functions. */
int begin_kernels(void **state);

#define KERNEL_TEST(function) SAFE_TEST(function, begin_kernels, nothing_left)

acu_stream *stream_on(acu_device device);
acu_module *module_on(acu_device device);
/* The kernel alone keeps its module. */
acu_kernel *kernel_on(acu_device device, const char *name);
/* `count` floats: 0, 1, 2 … */
acu_buffer *numbers_on(acu_stream *stream, size_t count);

/* What the kernel `mixed` is given; it writes the sum of all to where `to` leads. */
typedef struct mixture {
    double a;
    int b[3];
} mixture;

/* The version that CUDA, here the simulator, says it has: 12040. */
int runtime_version(void);

/* The version of CUDA that its driver knows. */
int driver_version(void);

/* The same of what loads and launches kernels: the runtime, or, before 12.8, the driver. */
int kernel_version(void);

/* Succeeds since a version; one before is told which. */
#define OK_SINCE(version, call)                                                                    \
    do {                                                                                           \
        if (runtime_version() >= (version))                                                        \
            OK(call);                                                                              \
        else                                                                                       \
            FAILS(call, 801, "needs CUDA");                                                        \
    } while (0)

/* What the runtime asks its driver for, which may be older than it is. */
#define OK_SINCE_IN_DRIVER(since, call)                                                            \
    do {                                                                                           \
        if (runtime_version() >= (since) && driver_version() < (since))                            \
            FAILS(call, 36, "driver");                                                             \
        else                                                                                       \
            OK_SINCE(since, call);                                                                 \
    } while (0)

#endif
