/*
 * Kernels: what they are, what they need, and how many of their blocks fit on a device.
 *
 * A kernel belongs to a device and keeps its module alive. Several threads may use one; its
 * settings hold for all launches after them.
 */
#ifndef ACU_KERNEL_H
#define ACU_KERNEL_H

#include <anycuda/module.h>

struct CUfunc_st; /* what CUDA calls CUfunction and cudaFunction_t */

ACU_BEGIN_C

/**
 * A handle for a kernel that the runtime knows: a cudaKernel_t, or the host function that nvcc made
 * for a `__global__` function. It must stay valid as long as the handle lives.
 */
ACU_CHECKED acu_result acu_kernel_wrap(acu_device device, const void *function,
                                       acu_kernel **kernel);

/** A handle for a driver's function, in the device's primary context; as acu_kernel_wrap(). */
ACU_CHECKED acu_result acu_kernel_wrap_driver(acu_device device, struct CUfunc_st *raw,
                                              acu_kernel **kernel);

/** What the runtime's calls take as function, a cudaKernel_t mostly. NULL if it is a CUfunction. */
const void *acu_kernel_raw(const acu_kernel *kernel);

/** The CUfunction; NULL if it is what the runtime's calls take. */
struct CUfunc_st *acu_kernel_raw_driver(const acu_kernel *kernel);

/** One more owner; returns the kernel, NULL if it is none. */
acu_kernel *acu_kernel_retain(acu_kernel *kernel);

/** One owner less. As acu_stream_release(). */
acu_result acu_kernel_release(acu_kernel *kernel);

void acu_kernel_cleanup(acu_kernel **kernel);

acu_device acu_kernel_device(const acu_kernel *kernel); /* ACU_DEVICE_CURRENT if it is no kernel */
const char *acu_kernel_name(const acu_kernel *kernel); /* "" if it is not known; lives as it does */
acu_module *acu_kernel_module(const acu_kernel *kernel); /* stays the kernel's; NULL if wrapped */

/** Sizes in x, y and z; of y and z, 0 means 1. */
typedef struct acu_size3 {
    size_t x, y, z;
} acu_size3;

/** What a kernel needs and may have; 0 where the runtime or driver is too old to know. */
typedef struct acu_kernel_info {
    int max_threads;        /* per block */
    int registers;          /* per thread */
    size_t static_shared;   /* bytes of shared memory per block that the code declares */
    size_t max_shared;      /* bytes of dynamic shared memory that a launch may ask for */
    size_t constant_bytes;  /* of constant memory */
    size_t local_bytes;     /* per thread */
    int shared_carveout;    /* of L1 and shared memory, in percent; -1: the driver decides */
    int ptx_version;        /* 52 for 5.2: the target of its PTX */
    int binary_version;     /* 90 for 9.0: what it was compiled for */
    bool cluster_needed;    /* a launch must give cluster sizes */
    bool big_clusters;      /* clusters of more than 8 blocks are allowed */
    acu_size3 cluster;      /* the cluster sizes that the code demands; 0: none */
    int cluster_scheduling; /* as acu_grid.cluster_scheduling */
} acu_kernel_info;

/** Asks for all of it; CUDA's errors. */
ACU_CHECKED acu_result acu_kernel_get_info(acu_kernel *kernel, acu_kernel_info *info);

/** What can be set; the numbers are CUDA's (cudaFuncAttribute). */
typedef enum acu_kernel_attribute {
    ACU_KERNEL_MAX_SHARED = 8,      /* bytes of dynamic shared memory that a launch may ask for */
    ACU_KERNEL_SHARED_CARVEOUT = 9, /* in percent, -1: the driver decides */
    ACU_KERNEL_CLUSTER_WIDTH = 11,  /* since CUDA 11.8 */
    ACU_KERNEL_CLUSTER_HEIGHT = 12,
    ACU_KERNEL_CLUSTER_DEPTH = 13,
    ACU_KERNEL_BIG_CLUSTERS = 14, /* 1: clusters of more than 8 blocks are allowed */
    ACU_KERNEL_CLUSTER_SCHEDULING = 15
} acu_kernel_attribute;

/**
 * Sets an attribute for all later launches.
 *
 * ACU_ERROR_LIMIT for more shared memory than the device has, which is told; CUDA's errors.
 */
ACU_CHECKED acu_result acu_kernel_set_attribute(acu_kernel *kernel, acu_kernel_attribute attribute,
                                                int value);

/* ---- parameters ---- */

/** How a launch's arguments are checked. */
typedef enum acu_parameter_check {
    ACU_CHECK_NOTHING, /* nobody knows the parameters: an old driver and no PTX */
    ACU_CHECK_SIZES,   /* count and sizes, as runtime, driver or PTX tell them */
    ACU_CHECK_TYPES    /* and pointers, integers and floats are told apart, as the PTX does */
} acu_parameter_check;

/** How this kernel's arguments are checked; ACU_CHECK_NOTHING if it is no kernel. */
acu_parameter_check acu_kernel_parameter_check(const acu_kernel *kernel);

/** What is known of a parameter's type. */
typedef enum acu_parameter_type {
    ACU_PARAMETER_ANY,     /* nothing but the size */
    ACU_PARAMETER_INTEGER, /* or, with 8 bytes, an address */
    ACU_PARAMETER_FLOAT,
    ACU_PARAMETER_POINTER,
    ACU_PARAMETER_RECORD /* a struct, or an array in one */
} acu_parameter_type;

/** One parameter of a kernel. */
typedef struct acu_parameter {
    size_t offset, size;
    acu_parameter_type type;
} acu_parameter;

/** How many parameters it has; 801 with ACU_CHECK_NOTHING. */
ACU_CHECKED acu_result acu_kernel_get_parameter_count(acu_kernel *kernel, size_t *count);

/** A parameter; ACU_ERROR_RANGE beyond the last one. */
ACU_CHECKED acu_result acu_kernel_get_parameter(acu_kernel *kernel, size_t index,
                                                acu_parameter *parameter);

/* ---- occupancy ---- */

/** Blocks that run at once on one multiprocessor, with so many threads and dynamic shared bytes. */
ACU_CHECKED acu_result acu_kernel_get_blocks_per_multiprocessor(acu_kernel *kernel, size_t threads,
                                                                size_t shared_bytes, unsigned flags,
                                                                int *blocks);

/** Bits of acu_block_need.flags, and of where blocks are counted. */
enum acu_occupancy_flag { ACU_OCCUPANCY_NO_CACHING_OVERRIDE = 1 };

/** What a block needs, for acu_kernel_get_best_block(); zero is the default. */
typedef struct acu_block_need {
    size_t shared_bytes; /* dynamic, whatever the size of the block */
    size_t (*shared_for)(size_t threads,
                         void *data); /* or it depends on the threads; may be NULL */
    void *data;
    size_t max_threads; /* 0: as many as the kernel can have */
    unsigned flags;     /* acu_occupancy_flag bits */
} acu_block_need;

/**
 * The size of block that keeps the device busiest, and how many such blocks do; either may be NULL.
 * `need` may be NULL. Both are 0 where no block of any size fits.
 */
ACU_CHECKED acu_result acu_kernel_get_best_block(acu_kernel *kernel, const acu_block_need *need,
                                                 size_t *threads, size_t *blocks);

/** Dynamic shared bytes per block when so many blocks shall run on one multiprocessor. */
ACU_CHECKED acu_result acu_kernel_get_available_shared(acu_kernel *kernel, int blocks,
                                                       size_t threads, size_t *bytes);

struct acu_grid;

/** Clusters of the grid's shape that run at once on the device; since CUDA 11.8. A grid that cannot
 * be is refused as by acu_launch_args(). */
ACU_CHECKED acu_result acu_kernel_get_max_clusters(acu_kernel *kernel, const struct acu_grid *grid,
                                                   int *clusters);

/** The most blocks that a cluster can have with the grid's threads and memory; since CUDA 11.8.
 * Errors as of acu_kernel_get_max_clusters(). */
ACU_CHECKED acu_result acu_kernel_get_max_cluster_size(acu_kernel *kernel,
                                                       const struct acu_grid *grid, int *blocks);

ACU_END_C

#endif
