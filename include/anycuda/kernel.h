/*
 * Kernels: what they are, what they need, and how many of their blocks run on a device at once.
 *
 * A kernel belongs to a device and keeps its module alive. Several threads may use one kernel; an
 * attribute that is set applies to all later launches.
 */
#ifndef ACU_KERNEL_H
#define ACU_KERNEL_H

#include <anycuda/module.h>

struct CUfunc_st; /* what CUDA calls CUfunction and cudaFunction_t */

ACU_BEGIN_C

/**
 * Makes a handle for a kernel that the runtime knows; the caller owns the handle.
 *
 * `function` is a cudaKernel_t, or the host function that nvcc made for a `__global__` function.
 * The kernel must stay loaded until the handle is released.
 */
ACU_CHECKED acu_result acu_kernel_wrap(acu_device device, const void *function,
                                       acu_kernel **kernel);

/**
 * Makes a handle for a function of the driver in the device's primary context; the caller owns the
 * handle.
 *
 * The function must stay loaded until the handle is released.
 */
ACU_CHECKED acu_result acu_kernel_wrap_driver(acu_device device, struct CUfunc_st *raw,
                                              acu_kernel **kernel);

/**
 * Returns what the runtime's functions take as a kernel, mostly a cudaKernel_t; NULL where the
 * kernel is a CUfunction, or the handle is not a kernel. The raw kernel stays the handle's.
 */
const void *acu_kernel_raw(const acu_kernel *kernel);

/**
 * Returns the CUfunction, which stays the handle's; NULL where acu_kernel_raw() has the kernel, or
 * the handle is not a kernel.
 */
struct CUfunc_st *acu_kernel_raw_driver(const acu_kernel *kernel);

/**
 * Asks for the driver's function of any kernel, in the primary context of the kernel's device. It
 * stays the kernel's, also where acu_kernel_raw() has the kernel itself.
 */
ACU_CHECKED acu_result acu_kernel_get_function(acu_kernel *kernel, struct CUfunc_st **function);

/**
 * Asks whether the kernel's code is on its device, where CUDA loads code only when it is needed.
 *
 * `*loaded` says so for the device's primary context. Needs a driver of CUDA 12.4 or later; an
 * older one is refused (801).
 */
ACU_CHECKED acu_result acu_kernel_is_loaded(acu_kernel *kernel, bool *loaded);

/**
 * Loads the kernel's code now, so that its first launch does not: nothing happens if it is loaded.
 *
 * CUDA may wait for the device while it loads, so a launch that loads may wait for a kernel that
 * waits for that launch. Needs a driver of CUDA 12.4 or later; an older one is refused (801).
 */
ACU_CHECKED acu_result acu_kernel_load(acu_kernel *kernel);

/** Adds an owner and returns the kernel; NULL where the handle is not a kernel. */
acu_kernel *acu_kernel_retain(acu_kernel *kernel);

/**
 * Takes an owner away; the last release destroys the handle. Everything else is as for
 * acu_stream_release().
 */
acu_result acu_kernel_release(acu_kernel *kernel);

void acu_kernel_cleanup(acu_kernel **kernel);

/** Writes one line that names the kernel, as errors do; acu_stream_describe() has the rules. */
size_t acu_kernel_describe(const acu_kernel *kernel, char *text, size_t size);

/** Returns the kernel's device; ACU_DEVICE_CURRENT where the handle is not a kernel. */
acu_device acu_kernel_device(const acu_kernel *kernel);

/** Returns the name, which lives as long as the kernel; "" where the runtime does not report it. */
const char *acu_kernel_name(const acu_kernel *kernel);

/** Returns the module, which stays the kernel's; NULL for a kernel of acu_kernel_wrap(). */
acu_module *acu_kernel_module(const acu_kernel *kernel);

/** Sizes in x, y and z; 0 in y or z means 1. */
typedef struct acu_size3 {
    size_t x, y, z;
} acu_size3;

/** What a kernel needs and may have; 0 where the runtime or driver is too old to report it. */
typedef struct acu_kernel_info {
    int max_threads;        /* per block */
    int registers;          /* per thread */
    size_t static_shared;   /* bytes of shared memory per block that the code declares */
    size_t max_shared;      /* bytes of dynamic shared memory that a launch may ask for */
    size_t constant_bytes;  /* constant memory */
    size_t local_bytes;     /* local memory per thread */
    int shared_carveout;    /* percent of L1 that is shared memory; -1: the driver decides */
    int ptx_version;        /* 52: the PTX is for compute capability 5.2 */
    int binary_version;     /* 90: the machine code is for compute capability 9.0 */
    bool cluster_needed;    /* a launch must give cluster sizes */
    bool big_clusters;      /* clusters of more than 8 blocks are allowed */
    acu_size3 cluster;      /* blocks per cluster that the code requires; 0: any */
    int cluster_scheduling; /* as acu_grid.cluster_scheduling */
} acu_kernel_info;

/** Asks what a kernel needs and may have. */
ACU_CHECKED acu_result acu_kernel_get_info(acu_kernel *kernel, acu_kernel_info *info);

/** Attributes that can be set, with CUDA's numbers (cudaFuncAttribute). */
typedef enum acu_kernel_attribute {
    ACU_KERNEL_MAX_SHARED = 8,      /* bytes of dynamic shared memory that a launch may ask for */
    ACU_KERNEL_SHARED_CARVEOUT = 9, /* percent of L1; -1: the driver decides */
    ACU_KERNEL_CLUSTER_WIDTH = 11,  /* since CUDA 11.8 */
    ACU_KERNEL_CLUSTER_HEIGHT = 12,
    ACU_KERNEL_CLUSTER_DEPTH = 13,
    ACU_KERNEL_BIG_CLUSTERS = 14, /* 1: clusters of more than 8 blocks are allowed */
    ACU_KERNEL_CLUSTER_SCHEDULING = 15,
    ACU_KERNEL_SHARED_MODE = 16 /* a cudaSharedMemoryMode; since CUDA 13.4 */
} acu_kernel_attribute;

/**
 * Sets an attribute for all later launches.
 *
 * Errors: ACU_ERROR_LIMIT, with what the device has, where the value is more shared memory than
 * that.
 */
ACU_CHECKED acu_result acu_kernel_set_attribute(acu_kernel *kernel, acu_kernel_attribute attribute,
                                                int value);

/* ---- parameters ---- */

/** How a launch's arguments are checked. */
typedef enum acu_parameter_check {
    ACU_CHECK_NOTHING, /* not at all: there is no PTX, and the driver is too old to report them */
    ACU_CHECK_SIZES,   /* count and sizes, as runtime, driver or PTX report them */
    ACU_CHECK_TYPES    /* also whether pointers, integers and floats are where the PTX has them */
} acu_parameter_check;

/**
 * Returns how this kernel's arguments are checked; ACU_CHECK_NOTHING where the handle is not a
 * kernel.
 */
acu_parameter_check acu_kernel_parameter_check(const acu_kernel *kernel);

/** What is known of a parameter's type. */
typedef enum acu_parameter_type {
    ACU_PARAMETER_ANY,     /* nothing but the size */
    ACU_PARAMETER_INTEGER, /* 8 bytes may also be an address */
    ACU_PARAMETER_FLOAT,
    ACU_PARAMETER_POINTER,
    ACU_PARAMETER_RECORD /* a struct, or an array in one */
} acu_parameter_type;

/** One parameter of a kernel. */
typedef struct acu_parameter {
    size_t offset, size;
    acu_parameter_type type;
} acu_parameter;

/** Asks how many parameters the kernel has. Errors: 801 where there is only ACU_CHECK_NOTHING. */
ACU_CHECKED acu_result acu_kernel_get_parameter_count(acu_kernel *kernel, size_t *count);

/** Asks for one parameter. Errors: ACU_ERROR_RANGE beyond the last one. */
ACU_CHECKED acu_result acu_kernel_get_parameter(acu_kernel *kernel, size_t index,
                                                acu_parameter *parameter);

/* ---- occupancy ---- */

/**
 * Asks how many blocks of `threads` threads and `shared_bytes` of dynamic shared memory run on one
 * multiprocessor at once. `flags` are acu_occupancy_flag bits.
 */
ACU_CHECKED acu_result acu_kernel_get_blocks_per_multiprocessor(acu_kernel *kernel, size_t threads,
                                                                size_t shared_bytes, unsigned flags,
                                                                int *blocks);

/** Bits of acu_block_need.flags and acu_kernel_get_blocks_per_multiprocessor(). */
enum acu_occupancy_flag { ACU_OCCUPANCY_NO_CACHING_OVERRIDE = 1 };

/** What a block needs, for acu_kernel_get_best_block(); zero is the default. */
typedef struct acu_block_need {
    size_t shared_bytes; /* dynamic shared memory, for blocks of any size */
    /* Returns the dynamic shared memory of a block with so many threads; NULL: `shared_bytes`. */
    size_t (*shared_for)(size_t threads, void *data);
    void *data;         /* for `shared_for` */
    size_t max_threads; /* 0: as many as the kernel can have */
    unsigned flags;     /* acu_occupancy_flag bits */
} acu_block_need;

/**
 * Finds the size of block with which most threads run at once, and the number of such blocks that
 * fill the device.
 *
 * Both are 0 where no block of any size fits. All three pointers may be NULL.
 */
ACU_CHECKED acu_result acu_kernel_get_best_block(acu_kernel *kernel, const acu_block_need *need,
                                                 size_t *threads, size_t *blocks);

/**
 * Asks how many bytes of dynamic shared memory each block may have so that `blocks` blocks of
 * `threads` threads run on one multiprocessor at once.
 */
ACU_CHECKED acu_result acu_kernel_get_available_shared(acu_kernel *kernel, int blocks,
                                                       size_t threads, size_t *bytes);

struct acu_grid;

/**
 * Asks how many clusters of the grid's shape run on the device at once; since CUDA 11.8.
 *
 * Errors: those of acu_launch_args() where it refuses the grid.
 */
ACU_CHECKED acu_result acu_kernel_get_max_clusters(acu_kernel *kernel, const struct acu_grid *grid,
                                                   int *clusters);

/**
 * Asks how many blocks a cluster can have at most, with the grid's threads and shared memory; since
 * CUDA 11.8.
 *
 * Errors: those of acu_kernel_get_max_clusters().
 */
ACU_CHECKED acu_result acu_kernel_get_max_cluster_size(acu_kernel *kernel,
                                                       const struct acu_grid *grid, int *blocks);

ACU_END_C

#endif
