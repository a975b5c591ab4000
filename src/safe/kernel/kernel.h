/* Kernels as the rest of the safe layer sees them. */
#ifndef ACU_SRC_KERNEL_H
#define ACU_SRC_KERNEL_H

#include <anycuda/kernel.h>

#include "safe/kernel/code_api.h"
#include "safe/kernel/ptx.h"

/* What a device allows; -1 where the runtime is too old to report it. */
typedef struct acu_kernel_limits {
    int threads;     /* per block */
    int shared_most; /* bytes of shared memory per block, after ACU_KERNEL_MAX_SHARED */
    int clusters;    /* whether it has thread block clusters */
    int cooperative; /* whether it launches cooperatively */
    int multiprocessors;
} acu_kernel_limits;

/* What a parameter takes. */
typedef struct acu_accepted {
    uint32_t size;  /* bytes */
    uint32_t kinds; /* those of arguments, as bits */
} acu_accepted;

enum { ACU_FEW_PARAMETERS = 8 };

/* A launch that needs nothing unusual reads the first two lines of the cache, and the third one for
 * more than three parameters. */
struct acu_kernel {
    acu_object object;
    /* What the driver's call takes on streams of the context with that number: the kernel's
     * function in the device's primary context. Where there is none, `raw` and 0. */
    struct CUfunc_st *function;
    acu_timeline *recorded; /* atomic: of a stream that the module knows; NULL: none yet */
    uint32_t in_context;
    int max_threads;    /* per block */
    int max_shared;     /* atomic: dynamic bytes that a launch may ask for */
    int cluster_needed; /* atomic: whether a launch must give cluster sizes */
    /* The number of parameters, where launch_direct.c can launch; else ACU_NEVER_DIRECT. */
    size_t direct_count;
    acu_accepted *accepted; /* `few`, or memory of its own */
    /* What the device allows of a grid and of a block, in x, y and z. */
    int most_blocks[3], most_threads[3];
    acu_accepted few[ACU_FEW_PARAMETERS];
    acu_kernel_limits limits;
    acu_parameter_check check;
    size_t count;       /* parameters */
    bool by_stream;     /* CUDA launches it on the stream's device, whichever is current */
    bool direct;        /* `raw` is a kernel of the driver's, too, which its call launches */
    acu_module *module; /* an owner; NULL: a wrapped kernel, which has opened the place itself */
    int (*launch)(const struct acu_prepared_launch *prepared, acu_stream *stream); /* the API's */
    const acu_code_api *api;
    const void *raw; /* what the API's functions take */
    acu_code_place place;
    acu_parameter *parameters;
    int registers;     /* per thread */
    int static_shared; /* bytes */
    char *name;
};

#define ACU_NEVER_DIRECT SIZE_MAX

extern ACU_OURS const acu_class acu_kernel_class;

/* Where a kernel comes from. */
typedef struct acu_kernel_source {
    const acu_code_api *api;
    acu_code_place place;
    acu_module *module; /* NULL: `raw` belongs to someone else */
    const void *raw;
    const char *name, *lowered; /* as it was asked for, and in the code */
    const acu_ptx_entry *entry; /* NULL: there is no PTX */
} acu_kernel_source;

/* Makes a kernel, which owns the opened place if there is no module. Returns 0, or a failure that
 * is recorded, but not yet for `call`; the place is closed then. */
int acu_kernel_new(const char *call, const acu_kernel_source *source, acu_kernel **out);

/* Asks again for the attributes that CUDA's own functions can set. Returns 0, or a recorded
 * failure. */
int acu_kernel_refresh(acu_kernel *kernel);

/* Counts the blocks of so many threads and dynamic bytes that run at once on so many
 * multiprocessors, or where that is 0 on those of the device. Returns 0, or a recorded
 * failure. */
int acu_kernel_count_resident(const acu_kernel *kernel, int threads, size_t shared,
                              size_t multiprocessors, size_t *blocks);

#endif
