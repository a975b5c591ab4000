/* Kernels as the rest of the safe layer sees them. */
#ifndef ACU_SRC_KERNEL_H
#define ACU_SRC_KERNEL_H

#include <anycuda/kernel.h>

#include "safe/kernel/backend.h"
#include "safe/kernel/ptx.h"

/* What a device allows; -1 where the runtime does not know. */
typedef struct acu_kernel_limits {
    int threads;           /* per block */
    int block[3], grid[3]; /* in x, y and z */
    int shared_most;       /* bytes per block, where a kernel is set to have them */
    int clusters;          /* it has thread block clusters */
    int cooperative;       /* it launches cooperatively */
    int multiprocessors;
} acu_kernel_limits;

struct acu_kernel {
    acu_object object;
    const acu_backend *backend;
    const void *raw;
    acu_module *module; /* an owner of it; NULL: wrapped, and the place is its own */
    acu_backend_place place;
    int max_threads;    /* per block */
    int max_shared;     /* atomic: dynamic bytes that a launch may ask for */
    int cluster_needed; /* atomic */
    bool by_stream;     /* it is launched where the stream is, whichever device is current */
    acu_parameter_check check;
    size_t count; /* of parameters */
    acu_parameter *parameters;
    acu_kernel_limits limits;
    /* from here on not looked at by each launch */
    int registers;     /* per thread */
    int static_shared; /* bytes */
    char *name;
};

extern ACU_OURS const acu_class acu_kernel_class;

/* Where a kernel comes from. */
typedef struct acu_kernel_source {
    const acu_backend *backend;
    acu_backend_place place;
    acu_module *module; /* NULL: it is someone else's `raw` */
    const void *raw;
    const char *name, *lowered;
    const acu_ptx_entry *entry; /* NULL: nothing is known but what CUDA tells */
} acu_kernel_source;

/* The failure is recorded, but not yet in the name of `call`. */
int acu_kernel_new(const char *call, const acu_kernel_source *source, acu_kernel **out);

/* Asks anew for what can be set behind our back. */
int acu_kernel_refresh(acu_kernel *kernel);

/* Blocks of so many threads and dynamic bytes that run at once on the device. */
int acu_kernel_count_resident(const acu_kernel *kernel, int threads, size_t shared, size_t *blocks);

#endif
