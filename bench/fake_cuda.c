/*
 * A libcuda whose functions do nothing, for launches by the driver's call; with COLD that call
 * leaves nothing in the first caches (fake.h).
 */
#include "fake.h"

#include <string.h>

static int context; /* its address is the handle of the primary context */

int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}

EMPTY(cuInit)
EMPTY(cuCtxPushCurrent_v2)
EMPTY(cuDevicePrimaryCtxRelease_v2)
TIMED(cuLaunchKernel)

int cuDeviceGetCount(int *count) {
    *count = 1;
    return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    (void)device;
    *flags = 0;
    *active = 1;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **made) {
    *made = &context;
    return 0;
}

int cuCtxGetCurrent(void **current) {
    *current = &context;
    return 0;
}

int cuCtxPopCurrent_v2(void **popped) {
    *popped = &context;
    return 0;
}

int cuCtxGetId(void *of, unsigned long long *id) {
    (void)of;
    *id = 1;
    return 0;
}

int cuStreamGetCtx(void *stream, void **of) {
    (void)stream;
    *of = &context;
    return 0;
}

int cuStreamGetGreenCtx(void *stream, void **of) {
    (void)stream;
    *of = NULL;
    return 0;
}

int cuKernelGetFunction(void **function, void *kernel) {
    *function = kernel;
    return 0;
}
