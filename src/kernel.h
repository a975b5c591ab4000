/* Kernels and modules as the rest of the safe layer sees them. */
#ifndef ACU_SRC_KERNEL_H
#define ACU_SRC_KERNEL_H

#include <anycuda/kernel.h>

#include "backend.h"
#include "object.h"

/* What a device allows; -1 where the runtime does not know. */
typedef struct acu_limits {
    int threads;            /* per block */
    int block[3], grid[3];  /* in x, y and z */
    int shared, shared_big; /* bytes per block: of any kernel, and where it is set to have more */
    int clusters;           /* it has thread block clusters */
    int cooperative;        /* it launches cooperatively */
    int multiprocessors;
} acu_limits;

struct acu_kernel {
    acu_object object;
    const acu_backend *backend;
    acu_place place;
    acu_module *module; /* an owner of it; NULL: wrapped */
    const void *raw;
    char *name;
    acu_limits limits;
    int max_threads;    /* per block */
    int static_shared;  /* bytes */
    int max_shared;     /* atomic: dynamic bytes that a launch may ask for */
    int cluster_needed; /* atomic */
    acu_parameter_check check;
    size_t count; /* of parameters */
    acu_parameter *parameters;
};

extern const acu_class acu_kernel_class;

#endif
