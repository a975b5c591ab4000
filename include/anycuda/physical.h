/*
 * Physical memory: memory of a device or of the host that has no address until it is mapped to one
 * (virtual.h). The same memory may be mapped in several places.
 *
 * Several threads may use physical memory at once, and retain and release it.
 */
#ifndef ACU_PHYSICAL_H
#define ACU_PHYSICAL_H

#include <stdbool.h>
#include <stddef.h>

#include <anycuda/device.h>

ACU_BEGIN_C

/** Physical memory. */
typedef struct acu_physical acu_physical;

/** Ways to share memory with another process, as bits, with CUDA's numbers. */
enum acu_share_handle {
    ACU_SHARE_FILE_DESCRIPTOR = 1, /* a file descriptor of POSIX */
    ACU_SHARE_FABRIC = 8           /* a fabric handle; since CUDA 12.3 */
};

/** How physical memory is made; all zero is ordinary memory of a device. */
typedef struct acu_physical_options {
    unsigned handles;  /* how it can be shared: acu_share_handle bits */
    bool compressible; /* the device may compress what is written; it need not */
    bool rdma;         /* other devices may reach it by GPUDirect RDMA */
    int node;          /* of ACU_DEVICE_HOST: the NUMA node */
    bool tiles;        /* for sparse and deferred arrays (array.h); memory of a device */
} acu_physical_options;

/** What CUDA made of the options. */
typedef struct acu_physical_info {
    acu_device device; /* or ACU_DEVICE_HOST */
    int node;          /* of ACU_DEVICE_HOST: the NUMA node; else 0 */
    unsigned handles;  /* acu_share_handle bits */
    bool compressible;
    bool rdma;
    bool tiles; /* of memory that was made here; CUDA does not say it of raw handles */
} acu_physical_info;

/**
 * Makes physical memory, which the caller owns; `options` may be NULL.
 *
 * `device` may be ACU_DEVICE_HOST, with a driver of CUDA 12.2 or later. `bytes` must be a multiple
 * of the granularity. Errors: ACU_ERROR_RANGE where it is not, and ACU_OUT_OF_MEMORY.
 */
ACU_CHECKED acu_result acu_physical_create(acu_device device, size_t bytes,
                                           const acu_physical_options *options,
                                           acu_physical **physical);

/**
 * Asks of what number of bytes the size of such memory must be a multiple.
 *
 * `least` is the smallest possible number, and `best` the one that CUDA recommends; either pointer
 * may be NULL. `options` may be NULL.
 */
ACU_CHECKED acu_result acu_physical_get_granularity(acu_device device,
                                                    const acu_physical_options *options,
                                                    size_t *least, size_t *best);

/**
 * Makes a handle for a raw CUmemGenericAllocationHandle that stays someone else's; the caller owns
 * the new handle.
 *
 * `bytes` is the size of the memory, which CUDA does not report. The last release leaves the raw
 * handle alone. The raw handle must live until then. Errors: ACU_ERROR_RANGE where `bytes` is 0 or
 * no multiple of the granularity, which the next three functions give, too.
 */
ACU_CHECKED acu_result acu_physical_wrap(unsigned long long raw, size_t bytes,
                                         acu_physical **physical);

/**
 * Makes a handle that owns a raw one: the last release gives up both. If this call fails, the raw
 * handle stays the caller's.
 */
ACU_CHECKED acu_result acu_physical_adopt(unsigned long long raw, size_t bytes,
                                          acu_physical **physical);

/**
 * Makes a handle for the memory that is mapped at an address, by whomever; the caller owns it.
 *
 * `bytes` is the size of the memory, which CUDA does not report. The memory lives until the handle
 * is released, also if it is unmapped before. Errors: 1 where nothing is mapped.
 */
ACU_CHECKED acu_result acu_physical_find(const void *address, size_t bytes,
                                         acu_physical **physical);

/**
 * Makes a file descriptor that stands for the memory, for another process; the caller closes it.
 *
 * The memory lives as long as a process has a descriptor of it, an imported handle or a mapping:
 * the order in which they are given up does not matter. Errors: ACU_ERROR_STATE where the memory
 * was not made with ACU_SHARE_FILE_DESCRIPTOR in `options.handles`, or was imported.
 */
ACU_CHECKED acu_result acu_physical_export(acu_physical *physical, int *descriptor);

/**
 * Makes a handle for memory that another process exported as a file descriptor; the caller owns the
 * handle, and still the descriptor, which may then be closed.
 *
 * `bytes` is the size of the memory, which CUDA does not report: the other process has to say.
 */
ACU_CHECKED acu_result acu_physical_import(int descriptor, size_t bytes, acu_physical **physical);

/**
 * Returns the CUmemGenericAllocationHandle, which stays the handle's; 0 where the handle is not
 * physical memory.
 */
unsigned long long acu_physical_raw(const acu_physical *physical);

/** Adds an owner and returns the memory; NULL where the handle is not physical memory. */
acu_physical *acu_physical_retain(acu_physical *physical);

/**
 * Takes an owner away; the last release gives the memory back, once it is not mapped any more. A
 * range of addresses is an owner of what is mapped to it. Everything else is as for
 * acu_stream_release().
 */
acu_result acu_physical_release(acu_physical *physical);

void acu_physical_cleanup(acu_physical **physical);

/** Writes one line that names the memory, as errors do; acu_stream_describe() has the rules. */
size_t acu_physical_describe(const acu_physical *physical, char *text, size_t size);

/** Returns the size of the memory; 0 where the handle is not physical memory. */
size_t acu_physical_bytes(const acu_physical *physical);

/**
 * Returns the device that has the memory, or ACU_DEVICE_HOST; ACU_DEVICE_CURRENT where the handle
 * is not physical memory.
 */
acu_device acu_physical_device(const acu_physical *physical);

/** Asks how the memory was made. */
ACU_CHECKED acu_result acu_physical_get_info(acu_physical *physical, acu_physical_info *info);

ACU_END_C

#endif
