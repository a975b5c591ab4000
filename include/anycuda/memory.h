/*
 * What CUDA knows about an address: what kind of memory it is in, whose, and who can use it.
 *
 * Every address can be asked about. That CUDA does not know one is an answer, and no failure.
 */
#ifndef ACU_MEMORY_H
#define ACU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anycuda/device.h>

ACU_BEGIN_C

struct CUmemPoolHandle_st; /* what CUDA calls cudaMemPool_t and CUmemoryPool */

/** Kinds of memory as CUDA tells them apart. */
typedef enum acu_memory_kind {
    ACU_MEMORY_KIND_UNKNOWN, /* CUDA does not know it: other memory of the host, freed memory,
                                addresses that are reserved only, or nothing */
    ACU_MEMORY_KIND_PINNED,  /* of the host: allocated by CUDA, or registered */
    ACU_MEMORY_KIND_DEVICE,  /* of a device, by cudaMalloc or a graph */
    ACU_MEMORY_KIND_POOL,    /* of a device, from a pool */
    ACU_MEMORY_KIND_MANAGED, /* moves between host and devices */
    ACU_MEMORY_KIND_VIRTUAL  /* physical memory that was mapped to reserved addresses */
} acu_memory_kind;

/** An answer that a driver may be too old to give. */
typedef enum acu_memory_answer {
    ACU_MEMORY_ANSWER_UNKNOWN,
    ACU_MEMORY_ANSWER_NO,
    ACU_MEMORY_ANSWER_YES
} acu_memory_answer;

/** Where managed memory is to be, as it was asked for. */
typedef enum acu_memory_place {
    ACU_MEMORY_PLACE_UNKNOWN, /* the memory is not managed, or the driver does not tell */
    ACU_MEMORY_PLACE_NONE,    /* nobody asked, or not for all of it */
    ACU_MEMORY_PLACE_HOST,
    ACU_MEMORY_PLACE_DEVICE
} acu_memory_place;

/** How managed memory is to be used, as it was advised and prefetched. */
typedef struct acu_memory_range {
    acu_memory_answer read_mostly;                  /* yes: all of it is */
    acu_memory_place preferred, prefetched;         /* the last prefetch went there */
    acu_device preferred_device, prefetched_device; /* where the place is a device; else
                                                       ACU_DEVICE_CURRENT */
    int preferred_node, prefetched_node;            /* where the place is a NUMA node of the host;
                                                       else -1 */
    uint64_t accessed_by;                           /* bit n: all of it stays mapped for device n */
} acu_memory_range;

/** What is known about an address. */
typedef struct acu_memory_info {
    acu_memory_kind kind;
    acu_device device;    /* the memory's, or that which allocated memory of the host;
                             ACU_DEVICE_CURRENT where the kind is unknown */
    void *base;           /* of the allocation, or of what was mapped; NULL: unknown */
    size_t bytes;         /* of the same; 0: unknown */
    void *host_address;   /* as the host uses it; NULL: the host cannot, or `kind` is unknown */
    void *device_address; /* as the current device uses it; NULL: that device cannot */
    struct CUmemPoolHandle_st *pool; /* of memory from a pool, whose it stays; else NULL */
    uint64_t id;                /* which no other allocation of the process ever has; 0: unknown */
    acu_memory_answer writable; /* whether `device` may write */
    acu_memory_answer ipc;      /* whether other processes may open it by a handle of cudaIpc… */
    acu_memory_answer rdma;     /* whether other devices may reach it by GPUDirect RDMA */
    acu_memory_answer synchronous; /* whether copies and fills of it wait */
    unsigned handles;       /* how another process may get it: acu_share_handle bits; 0: unknown */
    void *reserved;         /* of mapped memory: where the reserved addresses begin; else NULL */
    size_t reserved_bytes;  /* of mapped memory: how many addresses are reserved; else 0 */
    acu_memory_range range; /* of managed memory: how the page is to be used */
} acu_memory_info;

/**
 * Asks what kind of memory an address is in, and all else that CUDA tells about it.
 *
 * The address may be any number, also that of memory that was freed. What a driver is too old to
 * tell stays unknown. The call may be made while a stream is captured.
 */
ACU_CHECKED acu_result acu_memory_get_info(const void *address, acu_memory_info *info);

/**
 * Asks how a range of managed memory is to be used: what holds for all of it.
 *
 * Where its pages differ, a place is ACU_MEMORY_PLACE_NONE. The call may be made while a stream is
 * captured. Errors: ACU_ERROR_RANGE where `bytes` is 0; 1 where not all of the range is managed
 * memory.
 */
ACU_CHECKED acu_result acu_memory_get_range(const void *address, size_t bytes,
                                            acu_memory_range *range);

/**
 * Sets whether each copy and fill that CUDA makes of the address's whole allocation waits until it
 * is done, for other devices that read the memory at any time (GPUDirect RDMA).
 *
 * Errors: 1 where the memory is not allocated by cudaMalloc() or its like.
 */
ACU_CHECKED acu_result acu_memory_set_synchronous(void *address, bool synchronous);

/**
 * Asks whether a device can use the address; where it is the first call about that device, CUDA
 * prepares the device for use.
 *
 * Memory that CUDA does not know cannot be used by a device, as far as this function knows: some
 * devices reach all memory of the host.
 */
ACU_CHECKED acu_result acu_memory_can_access(const void *address, acu_device device, bool *can);

ACU_END_C

#endif
