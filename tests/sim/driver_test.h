/* What the tests of the simulator's driver API share: each begins in the first device's context. */
#ifndef DRIVER_TEST_H
#define DRIVER_TEST_H

#include "kernels.h"

#include <anycuda/cuda.h>

static CUcontext context;

static inline int begin_in_context(void **state) {
    begin(state);
    register_kernels();
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static inline int end_in_context(void **state) {
    int leaks = end(state);
    return cuCtxSetCurrent(NULL) || cuDevicePrimaryCtxRelease(0) ? 1 : leaks;
}

#define C(name) cmocka_unit_test_setup_teardown(name, begin_in_context, end_in_context)

#endif
