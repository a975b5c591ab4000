/*
 * Devices: what there is, what it can do, and which one is current.
 *
 * A device is its ordinal: the number that CUDA_VISIBLE_DEVICES, frameworks and people use. It is
 * neither made nor destroyed, so that a handle would own nothing.
 */
#ifndef ACU_DEVICE_H
#define ACU_DEVICE_H

#include <stdbool.h>

#include <anycuda/status.h>

ACU_BEGIN_C

/** A device's ordinal, from 0. */
typedef int acu_device;
/** A function that CUDA calls; declared in <anycuda/listener.h>. */
typedef struct acu_listener acu_listener;

enum {
    ACU_DEVICE_CURRENT = -1, /* the current device of the calling thread */
    ACU_DEVICE_HOST = -2     /* the host, as a place of memory */
};

/** Counts the devices. Where CUDA cannot run there are 0, and the result is the reason. */
ACU_CHECKED acu_result acu_device_get_count(int *count);

/** Asks for this thread's current device. */
ACU_CHECKED acu_result acu_device_get_current(acu_device *device);

/** Names a device as acu_stream_set_name() does a stream: the lines have it that describe what is
 * on it. */
acu_result acu_device_set_name(acu_device device, const char *name);

/**
 * Makes a device current in this thread.
 *
 * Only CUDA's own calls and ACU_DEVICE_CURRENT depend on it. An object of the safe layer knows its
 * device, and its functions leave the current one as it was.
 */
ACU_CHECKED acu_result acu_device_set_current(acu_device device);

/** The device that was current before a scope, to be made current again at its end. */
typedef struct acu_device_guard {
    acu_device previous;
    bool changed;
} acu_device_guard;

/**
 * Makes a device current until acu_device_leave(), or until the guard's scope ends.
 *
 * `ACU_AUTO(acu_device_guard) guard = {0}; ACU_TRY(acu_device_enter(&guard, 1));` Errors:
 * ACU_ERROR_STATE where the guard has changed the device and was not left since, because it
 * remembers one device only.
 */
ACU_CHECKED acu_result acu_device_enter(acu_device_guard *guard, acu_device device);

/** Makes the device current again that was before; does nothing the second time. */
acu_result acu_device_leave(acu_device_guard *guard);

void acu_device_guard_cleanup(acu_device_guard *guard);

/**
 * Attributes that are often asked for; any other is asked for by CUDA's number (cudaDeviceAttr).
 */
enum acu_device_attribute {
    ACU_DEVICE_MAX_THREADS_PER_BLOCK = 1,
    ACU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    ACU_DEVICE_WARP_SIZE = 10,
    ACU_DEVICE_CLOCK_KHZ = 13,
    ACU_DEVICE_MULTIPROCESSORS = 16,
    ACU_DEVICE_INTEGRATED = 18,
    ACU_DEVICE_CAN_MAP_HOST_MEMORY = 19,
    ACU_DEVICE_COMPUTE_MODE = 20,
    ACU_DEVICE_CONCURRENT_KERNELS = 31,
    ACU_DEVICE_MEMORY_CLOCK_KHZ = 36,
    ACU_DEVICE_MEMORY_BUS_BITS = 37,
    ACU_DEVICE_L2_BYTES = 38,
    ACU_DEVICE_UNIFIED_ADDRESSING = 41,
    ACU_DEVICE_COMPUTE_MAJOR = 75,
    ACU_DEVICE_COMPUTE_MINOR = 76,
    ACU_DEVICE_MANAGED_MEMORY = 83,
    ACU_DEVICE_PAGEABLE_MEMORY_ACCESS = 88,
    ACU_DEVICE_CONCURRENT_MANAGED_ACCESS = 89,
    ACU_DEVICE_COOPERATIVE_LAUNCH = 95,
    ACU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    ACU_DEVICE_MEMORY_POOLS = 115
};

/** Asks for one attribute, by acu_device_attribute or CUDA's number. */
ACU_CHECKED acu_result acu_device_get_attribute(acu_device device, int attribute, int *value);

/**
 * What programs ask about a device; the same struct on every runtime, though CUDA's has changed.
 */
typedef struct acu_device_info {
    char name[256];
    unsigned char uuid[16];
    char pci_bus_id[16]; /* "0000:3b:00.0" */
    int compute_major, compute_minor;
    int multiprocessors;
    int warp_size;
    int max_threads_per_block, max_threads_per_multiprocessor, max_blocks_per_multiprocessor;
    int max_block[3], max_grid[3];
    int registers_per_block, registers_per_multiprocessor;
    size_t shared_memory_per_block, shared_memory_per_block_optin;
    size_t shared_memory_per_multiprocessor;
    size_t memory, constant_memory, l2_bytes;
    int memory_bus_bits;
    int clock_khz, memory_clock_khz; /* 0 where the runtime does not report them */
    int async_engines;
    bool integrated, ecc, unified_addressing, managed_memory, concurrent_managed_access;
    bool pageable_memory_access, concurrent_kernels, cooperative_launch, stream_priorities;
    bool can_map_host_memory, memory_pools, cluster_launch;
} acu_device_info;

/** Asks for all that acu_device_info holds. */
ACU_CHECKED acu_result acu_device_get_info(acu_device device, acu_device_info *info);

enum { ACU_PCI_BUS_ID_SIZE = 16, ACU_UUID_SIZE = 41 };

/** Asks where the device is plugged in: "0000:3b:00.0". */
ACU_CHECKED acu_result acu_device_get_pci_bus_id(acu_device device, char text[ACU_PCI_BUS_ID_SIZE]);

/** Finds the device that is plugged in there. */
ACU_CHECKED acu_result acu_device_get_by_pci_bus_id(const char *text, acu_device *device);

/** Asks for the id that no other device has: "GPU-5ee2b1ad-…", as nvidia-smi prints it. */
ACU_CHECKED acu_result acu_device_get_uuid(acu_device device, char text[ACU_UUID_SIZE]);

/** Asks for the free and the total memory in bytes; either pointer may be NULL. */
ACU_CHECKED acu_result acu_device_get_memory(acu_device device, size_t *free_bytes,
                                             size_t *total_bytes);

/**
 * Asks for the priorities that the device's streams can have; the greatest one is the smaller
 * number.
 */
ACU_CHECKED acu_result acu_device_get_priority_range(acu_device device, int *least, int *greatest);

/** Limits of a device, with CUDA's numbers (cudaLimit). */
typedef enum acu_device_limit {
    ACU_LIMIT_STACK_SIZE = 0,
    ACU_LIMIT_PRINTF_FIFO_SIZE = 1,
    ACU_LIMIT_MALLOC_HEAP_SIZE = 2,
    ACU_LIMIT_PENDING_LAUNCHES = 4,
    ACU_LIMIT_L2_FETCH_GRANULARITY = 5,
    ACU_LIMIT_PERSISTING_L2_SIZE = 6,
    ACU_LIMIT_BLOCK_MEMORY_SIZE = 10 /* since CUDA 13.4 */
} acu_device_limit;

/** Asks for a limit of the device. */
ACU_CHECKED acu_result acu_device_get_limit(acu_device device, acu_device_limit limit,
                                            size_t *value);

/** Sets a limit of the device, which may take a value near it. */
ACU_CHECKED acu_result acu_device_set_limit(acu_device device, acu_device_limit limit,
                                            size_t value);

/** How a thread waits for the device, and what its contexts allow. */
enum acu_device_flag {
    ACU_DEVICE_SPIN = 1,
    ACU_DEVICE_YIELD = 2,
    ACU_DEVICE_BLOCK = 4,
    ACU_DEVICE_MAP_HOST = 8,
    ACU_DEVICE_LOCAL_MEMORY_RESIZE_TO_MAX = 16,
    ACU_DEVICE_SYNC_MEMORY_OPERATIONS = 128 /* copies and fills are synchronous; since CUDA 12.1 */
};

/** Asks for the device's flags; CUDA may add bits of its own. */
ACU_CHECKED acu_result acu_device_get_flags(acu_device device, unsigned *flags);

/** Sets the device's flags (acu_device_flag bits). */
ACU_CHECKED acu_result acu_device_set_flags(acu_device device, unsigned flags);

/** Which kernels' memory shall be the greater part of a cache that both share, with CUDA's numbers
 * (cudaFuncCache). */
typedef enum acu_cache_config {
    ACU_CACHE_PREFER_NONE = 0,
    ACU_CACHE_PREFER_SHARED = 1, /* shared memory */
    ACU_CACHE_PREFER_L1 = 2,     /* the L1 cache */
    ACU_CACHE_PREFER_EQUAL = 3
} acu_cache_config;

/**
 * Asks how the device divides its multiprocessors' memory. Where the division is fixed, the answer
 * is ACU_CACHE_PREFER_NONE.
 */
ACU_CHECKED acu_result acu_device_get_cache_config(acu_device device, acu_cache_config *config);

/**
 * Sets how the device shall divide its multiprocessors' memory, which a kernel's own wish comes
 * before. A change may wait for the device at the next launch. Errors: 1 where there is no such
 * division.
 */
ACU_CHECKED acu_result acu_device_set_cache_config(acu_device device, acu_cache_config config);

/**
 * Makes all persisting lines of the device's L2 cache normal ones.
 *
 * Errors: CUDA's own where the device has no persisting lines.
 */
ACU_CHECKED acu_result acu_device_reset_persisting_l2(acu_device device);

/** Asks whether `device` can read and write the memory of `peer` directly. */
ACU_CHECKED acu_result acu_device_can_access_peer(acu_device device, acu_device peer, bool *can);

/** What the link from one device to another can do. */
typedef struct acu_peer_info {
    bool access;              /* the device can read and write the peer's memory directly */
    bool native_atomics;      /* the link does atomic operations on the peer's memory itself, */
    bool some_native_atomics; /* or only those of acu_device_get_peer_atomics(); since CUDA 13.0 */
    bool array_access;        /* the device can use the peer's arrays */
    int performance_rank;     /* among the links of this machine: 0 is the fastest */
} acu_peer_info;

/**
 * Asks what the link from `device` to `peer` can do.
 *
 * Errors: ACU_ERROR_ARGUMENT where both are one device.
 */
ACU_CHECKED acu_result acu_device_get_peer_info(acu_device device, acu_device peer,
                                                acu_peer_info *info);

/** Atomic operations, with CUDA's numbers (cudaAtomicOperation). */
typedef enum acu_atomic_operation {
    ACU_ATOMIC_INTEGER_ADD = 0,
    ACU_ATOMIC_INTEGER_MIN = 1,
    ACU_ATOMIC_INTEGER_MAX = 2,
    ACU_ATOMIC_INTEGER_INCREMENT = 3,
    ACU_ATOMIC_INTEGER_DECREMENT = 4,
    ACU_ATOMIC_AND = 5,
    ACU_ATOMIC_OR = 6,
    ACU_ATOMIC_XOR = 7,
    ACU_ATOMIC_EXCHANGE = 8,
    ACU_ATOMIC_CAS = 9, /* compare and swap */
    ACU_ATOMIC_FLOAT_ADD = 10,
    ACU_ATOMIC_FLOAT_MIN = 11,
    ACU_ATOMIC_FLOAT_MAX = 12
} acu_atomic_operation;

/** What a link does natively of an atomic operation; without any of these bits, nothing. */
enum acu_atomic_capability {
    ACU_ATOMIC_SIGNED = 1,
    ACU_ATOMIC_UNSIGNED = 2,
    ACU_ATOMIC_REDUCTION = 4, /* without the value that was there before */
    ACU_ATOMIC_SCALAR_32 = 8, /* on numbers of 32 bits */
    ACU_ATOMIC_SCALAR_64 = 16,
    ACU_ATOMIC_SCALAR_128 = 32,
    ACU_ATOMIC_VECTOR_32X4 = 64
};

/**
 * Asks which kinds of an atomic operation the link from `device` to the host's memory does natively
 * (acu_atomic_capability bits).
 *
 * Errors: 801 before CUDA 13.0; 1 where there is no such operation.
 */
ACU_CHECKED acu_result acu_device_get_host_atomics(acu_device device,
                                                   acu_atomic_operation operation,
                                                   unsigned *capabilities);

/**
 * Asks the same of the link from `device` to the memory of `peer`.
 *
 * Errors: 801 before CUDA 13.0; 1 where there is no such operation; ACU_ERROR_ARGUMENT where both
 * are one device.
 */
ACU_CHECKED acu_result acu_device_get_peer_atomics(acu_device device, acu_device peer,
                                                   acu_atomic_operation operation,
                                                   unsigned *capabilities);

/** Where writes by GPUDirect RDMA are seen, with CUDA's numbers (cudaGPUDirectRDMAWritesOrdering).
 */
typedef enum acu_rdma_scope {
    ACU_RDMA_NOWHERE = 0,
    ACU_RDMA_OWNER = 100,      /* by the device whose memory was written */
    ACU_RDMA_ALL_DEVICES = 200 /* by all devices of the process */
} acu_rdma_scope;

/** What a device can do for others, such as network cards, that write its memory directly. */
typedef struct acu_rdma_info {
    bool supported;         /* they can: GPUDirect RDMA */
    bool flush_by_host;     /* acu_device_flush_rdma_writes() works */
    bool flush_by_stream;   /* ACU_VALUE_FLUSH of <anycuda/value.h> works */
    acu_rdma_scope ordered; /* where writes that have arrived are seen without a flush */
} acu_rdma_info;

/** Asks for all that acu_rdma_info holds. */
ACU_CHECKED acu_result acu_device_get_rdma_info(acu_device device, acu_rdma_info *info);

/**
 * Waits until writes by GPUDirect RDMA into the device's memory that have arrived are seen in
 * `scope` by work that is queued afterwards. Where acu_rdma_info.ordered is that much, there is
 * nothing to flush.
 *
 * Errors: 1 where there is no such scope; CUDA's own where the device cannot do this.
 */
ACU_CHECKED acu_result acu_device_flush_rdma_writes(acu_device device, acu_rdma_scope scope);

/** Lets `device` use the memory of `peer`; success if it could already. */
ACU_CHECKED acu_result acu_device_enable_peer_access(acu_device device, acu_device peer);

/** Takes away the access of `device` to the memory of `peer`; success if there was none. */
ACU_CHECKED acu_result acu_device_disable_peer_access(acu_device device, acu_device peer);

/** What a device tells of. */
typedef enum acu_notification_type {
    ACU_NOTIFICATION_OVER_BUDGET = 1 /* the process uses more memory than it was promised */
} acu_notification_type;

/** Something that happened on a device. */
typedef struct acu_notification {
    acu_notification_type type; /* others may come with newer drivers */
    acu_device device;
    unsigned long long bytes; /* of ACU_NOTIFICATION_OVER_BUDGET: how many too many */
} acu_notification;

/** Hears of something that happened on a device. */
typedef void (*acu_notification_function)(const acu_notification *notification, void *data);

/**
 * Lets a function hear of what happens on a device; the caller owns the listener.
 *
 * `data` is passed on, and must live as long as the listener. Errors: 801 before CUDA 12.4.
 */
ACU_CHECKED acu_result acu_device_listen(acu_device device, acu_notification_function function,
                                         void *data, acu_listener **listener);

/**
 * Waits until all work of the device is done.
 *
 * Errors: that of work that failed; ACU_ERROR_CAPTURE while any stream of the device is captured,
 * because CUDA would break the capture.
 */
ACU_CHECKED acu_result acu_device_synchronize(acu_device device);

/**
 * Destroys everything that the process has on the device, also what others made.
 *
 * Errors: ACU_ERROR_STATE while an object of the safe layer is alive on the device, or any graph,
 * because a graph may have something there.
 */
ACU_CHECKED acu_result acu_device_reset(acu_device device);

ACU_END_C

#endif
