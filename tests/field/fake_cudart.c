/*
 * A fake libcudart of version FAKE, declared by hand as NVIDIA's headers of that version have it:
 * nothing here comes from anycuda.
 */
#include "fake_cudart.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* A thread sees its own calls only, so that calls of several do not race. */
_Thread_local struct fake_seen fake_seen;

#define SAW(name, ...)                                                                             \
    do {                                                                                           \
        const uintptr_t args[] = {__VA_ARGS__};                                                    \
        fake_seen.called = name;                                                                   \
        fake_seen.calls++;                                                                         \
        memset(fake_seen.args, 0, sizeof fake_seen.args);                                          \
        memcpy(fake_seen.args, args, sizeof args);                                                 \
    } while (0)
#define P(pointer) ((uintptr_t)(pointer))

enum { DRIVER_MISSING = 35, INVALID = 1 };

int cudaRuntimeGetVersion(int *version) {
    *version = FAKE;
    return FAKE < 12000 ? DRIVER_MISSING : 0;
}

#if FAKE >= 11080
int cudaLaunchKernelExC(void) {
    return 0;
}
#endif

/* ---- the same in every version ---- */

int cudaMalloc(void **memory, size_t size) {
    SAW("cudaMalloc", P(memory), size);
    *memory = &fake_seen;
    return 0;
}

int cudaMallocAsync(void **memory, size_t size, void *stream) {
    SAW("cudaMallocAsync", P(memory), size, P(stream));
    return 0;
}

int cudaLaunchKernel(void) {
    return 0;
}

int cudaStreamBeginCapture(void *stream, int mode) {
    SAW("cudaStreamBeginCapture", P(stream), (uintptr_t)mode);
    return 0;
}

int cudaStreamSynchronize(void *stream) {
    SAW("cudaStreamSynchronize", P(stream));
    return 0;
}

int cudaStreamSynchronize_ptsz(void *stream) {
    SAW("cudaStreamSynchronize_ptsz", P(stream));
    return 0;
}

/* As every real one without a driver. */
int cudaGetDeviceCount(int *count) {
    *count = 0;
    return DRIVER_MISSING;
}

/* ---- what changed ---- */

int cudaPointerGetAttributes(unsigned char *attributes, const void *pointer) {
    SAW("cudaPointerGetAttributes", P(attributes), P(pointer));
    memset(attributes, 0, FAKE < 13000 ? 24 : 88);
    attributes[0] = 2; /* device memory */
    memcpy(attributes + 8, &pointer, sizeof pointer);
    return 0;
}

static int write_properties(unsigned char *prop, size_t size, size_t sms, size_t optin) {
    const int some = FAKE_SMS;
    const size_t most = FAKE_OPTIN;
    memset(prop, 0, size);
    memcpy(prop + sms, &some, sizeof some);
    memcpy(prop + optin, &most, sizeof most);
    return 0;
}

int cudaGetDeviceProperties(unsigned char *prop, int device) {
    SAW("cudaGetDeviceProperties", P(prop), (uintptr_t)device);
    return FAKE < 13000 ? write_properties(prop, 728, SMS_UNTIL_12, OPTIN_UNTIL_12)
                        : write_properties(prop, 1008, SMS_SINCE_13, OPTIN_SINCE_13);
}

#if FAKE >= 12000 && FAKE < 13000
int cudaGetDeviceProperties_v2(unsigned char *prop, int device) {
    SAW("cudaGetDeviceProperties_v2", P(prop), (uintptr_t)device);
    return write_properties(prop, 1032, SMS_UNTIL_12, OPTIN_UNTIL_12);
}
#endif

#if FAKE < 12000
int cudaGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t size) {
    SAW("cudaGraphInstantiate", P(exec), P(graph), P(node), P(log), size);
    *node = graph; /* what crashes a caller of the newer signature */
    log[0] = '\0';
    return 0;
}

int cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
    SAW("cudaGraphInstantiateWithFlags", P(exec), P(graph), flags);
    return 0;
}
#else
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags) {
    SAW("cudaGraphInstantiate", P(exec), P(graph), flags);
    return 0;
}
#endif

struct location {
    int type, id;
};

#if FAKE < 13000
int cudaMemAdvise(const void *memory, size_t size, int advice, int device) {
    SAW("cudaMemAdvise", P(memory), size, (uintptr_t)advice, (uintptr_t)device);
    return 0;
}
#endif
#if FAKE >= 12020
#if FAKE < 13000
#define ADVISE cudaMemAdvise_v2
#else
#define ADVISE cudaMemAdvise
#endif
int ADVISE(const void *memory, size_t size, int advice, struct location location) {
    SAW("cudaMemAdvise_v2", P(memory), size, (uintptr_t)advice, (uintptr_t)location.type,
        (uintptr_t)location.id);
    return location.type == 1 && location.id < 0 ? INVALID : 0;
}
#endif

#if FAKE >= 12080 && FAKE < 13000
int cudaMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count, void *attrs,
                         size_t *first, size_t attr_count, size_t *failed, void *stream) {
    SAW("cudaMemcpyBatchAsync", P(dsts), P(srcs), P(sizes), count, P(attrs), P(first), attr_count,
        P(failed), P(stream));
    if (count > 1 && sizes[1] == 0) {
        *failed = 1;
        return INVALID;
    }
    return 0;
}
#elif FAKE >= 13000
int cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
                         size_t count, void *attrs, size_t *first, size_t attr_count,
                         void *stream) {
    SAW("cudaMemcpyBatchAsync", P(dsts), P(srcs), P(sizes), count, P(attrs), P(first), attr_count,
        P(stream));
    return 0;
}
#endif
