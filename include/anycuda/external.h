/*
 * Memory and semaphores of other APIs, such as Vulkan, Direct3D and NvSci: imported, used by
 * streams and graphs, and given up.
 *
 * The other API exports its memory and its semaphores; CUDA imports them on the same device
 * (compare acu_device_info.uuid). A semaphore then orders the work of both: CUDA waits until the
 * other API has signaled, works with the memory, and signals in turn.
 *
 * Several threads may use memory and semaphores at once, and retain and release them.
 */
#ifndef ACU_EXTERNAL_H
#define ACU_EXTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include <anycuda/array.h>
#include <anycuda/buffer.h>

struct CUexternalMemory_st;    /* what CUDA calls cudaExternalMemory_t and CUexternalMemory */
struct CUexternalSemaphore_st; /* cudaExternalSemaphore_t and CUexternalSemaphore */

ACU_BEGIN_C

/** Memory of another API. */
typedef struct acu_external_memory acu_external_memory;

/** A semaphore of another API. */
typedef struct acu_external_semaphore acu_external_semaphore;

/* ---- memory ---- */

/** How another API hands out memory, with CUDA's numbers (cudaExternalMemoryHandleType). */
typedef enum acu_external_memory_type {
    ACU_EXTERNAL_MEMORY_UNKNOWN = 0,            /* of a handle that was wrapped or adopted */
    ACU_EXTERNAL_MEMORY_OPAQUE_FD = 1,          /* a file descriptor, of Vulkan and others */
    ACU_EXTERNAL_MEMORY_OPAQUE_WIN32 = 2,       /* a handle of Windows NT, or its name */
    ACU_EXTERNAL_MEMORY_OPAQUE_WIN32_KMT = 3,   /* a global handle of Windows */
    ACU_EXTERNAL_MEMORY_D3D12_HEAP = 4,         /* an NT handle, or its name */
    ACU_EXTERNAL_MEMORY_D3D12_RESOURCE = 5,     /* an NT handle, or its name; dedicated */
    ACU_EXTERNAL_MEMORY_D3D11_RESOURCE = 6,     /* an NT handle, or its name; dedicated */
    ACU_EXTERNAL_MEMORY_D3D11_RESOURCE_KMT = 7, /* a global handle; dedicated */
    ACU_EXTERNAL_MEMORY_NVSCI_BUF = 8           /* an NvSciBufObj */
} acu_external_memory_type;

/** Memory that another API has handed out. */
typedef struct acu_external_memory_source {
    acu_external_memory_type type;
    int descriptor;     /* of ACU_EXTERNAL_MEMORY_OPAQUE_FD */
    const void *handle; /* of the other types: Windows' handle, or the NvSciBufObj */
    const void *name;   /* of an NT handle: the object's name, where `handle` is NULL */
    size_t bytes;       /* the size of the whole allocation, which the other API knows */
    bool dedicated;     /* the memory is of one buffer or image of the other API alone */
} acu_external_memory_source;

/** What is known of imported memory. */
typedef struct acu_external_memory_info {
    acu_device device;
    acu_external_memory_type type;
    size_t bytes;
    bool dedicated;
} acu_external_memory_info;

/**
 * Imports memory on a device; the caller owns the new handle.
 *
 * A file descriptor is taken over if the call succeeds: the caller must not use or close it any
 * more. If the call fails, the descriptor stays the caller's. A handle of Windows and an
 * NvSciBufObj always stay the caller's. Errors: ACU_ERROR_RANGE where `bytes` is 0; CUDA's own
 * where the memory is not of this device, and ACU_NOT_SUPPORTED where the system has no such type.
 */
ACU_CHECKED acu_result acu_external_memory_import(acu_device device,
                                                  const acu_external_memory_source *source,
                                                  acu_external_memory **memory);

/**
 * Makes a handle for a raw cudaExternalMemory_t that stays someone else's; the caller owns the
 * handle.
 *
 * `bytes` is the size of the memory, which CUDA does not report. The last release leaves the raw
 * memory alone, which must live until then, and until all buffers of it are released.
 */
ACU_CHECKED acu_result acu_external_memory_wrap(acu_device device, struct CUexternalMemory_st *raw,
                                                size_t bytes, acu_external_memory **memory);

/**
 * Makes a handle that owns a raw cudaExternalMemory_t: the last release destroys both. If this call
 * fails, the raw memory stays the caller's.
 */
ACU_CHECKED acu_result acu_external_memory_adopt(acu_device device, struct CUexternalMemory_st *raw,
                                                 size_t bytes, acu_external_memory **memory);

/**
 * Returns the cudaExternalMemory_t, which stays the handle's; NULL where the handle is not external
 * memory.
 */
struct CUexternalMemory_st *acu_external_memory_raw(const acu_external_memory *memory);

/** Adds an owner and returns the memory; NULL where the handle is not external memory. */
acu_external_memory *acu_external_memory_retain(acu_external_memory *memory);

/**
 * Takes an owner away; the last release gives the memory back to the other API. Each buffer of the
 * memory is an owner. Everything else is as for acu_stream_release().
 */
acu_result acu_external_memory_release(acu_external_memory *memory);

void acu_external_memory_cleanup(acu_external_memory **memory);

/** Writes one line that names the memory, as errors do; acu_stream_describe() has the rules. */
size_t acu_external_memory_describe(const acu_external_memory *memory, char *text, size_t size);

/** Returns the size of the memory; 0 where the handle is not external memory. */
size_t acu_external_memory_bytes(const acu_external_memory *memory);

/**
 * Returns the device that the memory was imported on; ACU_DEVICE_CURRENT where the handle is not
 * external memory.
 */
acu_device acu_external_memory_device(const acu_external_memory *memory);

/** Asks what is known of the memory. */
ACU_CHECKED acu_result acu_external_memory_get_info(acu_external_memory *memory,
                                                    acu_external_memory_info *info);

/**
 * Maps `count` elements from byte `at` on, and makes a buffer of them; the caller owns the buffer,
 * which keeps the memory and belongs to the stream.
 *
 * The buffer's memory is ACU_MEMORY_DEVICE. Two buffers of the same bytes are two mappings, whose
 * uses are not ordered against each other: acu_buffer_slice() makes parts that are. What the other
 * API does is ordered by semaphores alone. Errors: ACU_ERROR_RANGE where the elements are not
 * inside of the memory, or are none; 1 where `at` is not 0 and the memory is dedicated, or where
 * the import was given too large a size, which CUDA finds out only now; ACU_ERROR_DTYPE where
 * `dtype` is not a type, or where the address is not aligned for it; ACU_ERROR_DEVICE where the
 * stream is on another device.
 */
ACU_CHECKED acu_result acu_external_memory_create_buffer(acu_external_memory *memory, size_t at,
                                                         acu_stream *stream, acu_dtype dtype,
                                                         size_t count, acu_buffer **buffer);

/**
 * Maps an image of the other API, from byte `at` on, and makes a mipmap of it; the caller owns the
 * mipmap, which keeps the memory and belongs to the stream.
 *
 * Format, extent and levels must be those of the image, which has to be in the order that the
 * device prefers (Vulkan's optimal tiling); an image without further levels has 1. `flags` are
 * acu_array_flag bits: ACU_ARRAY_SURFACE where surfaces are made of it, ACU_ARRAY_COLOR_ATTACHMENT
 * where the other API draws into it. Errors: ACU_ERROR_RANGE where `at` is not inside of the memory
 * or the extent has not so many levels; ACU_ERROR_DEVICE where the stream is on another device;
 * those of acu_mipmap_create() about format, extent and captures.
 */
ACU_CHECKED acu_result acu_external_memory_create_mipmap(acu_external_memory *memory, size_t at,
                                                         acu_stream *stream, acu_format format,
                                                         acu_extent extent, unsigned levels,
                                                         unsigned flags, acu_mipmap **mipmap);

/* ---- semaphores ---- */

/** How another API hands out a semaphore, with CUDA's numbers (cudaExternalSemaphoreHandleType). */
typedef enum acu_external_semaphore_type {
    ACU_EXTERNAL_SEMAPHORE_UNKNOWN = 0,          /* of a handle that was wrapped or adopted */
    ACU_EXTERNAL_SEMAPHORE_OPAQUE_FD = 1,        /* a binary semaphore: a file descriptor */
    ACU_EXTERNAL_SEMAPHORE_OPAQUE_WIN32 = 2,     /* the same: an NT handle, or its name */
    ACU_EXTERNAL_SEMAPHORE_OPAQUE_WIN32_KMT = 3, /* the same: a global handle of Windows */
    ACU_EXTERNAL_SEMAPHORE_D3D12_FENCE = 4,      /* an NT handle, or its name */
    ACU_EXTERNAL_SEMAPHORE_D3D11_FENCE = 5,      /* an NT handle, or its name */
    ACU_EXTERNAL_SEMAPHORE_NVSCI_SYNC = 6,       /* an NvSciSyncObj */
    ACU_EXTERNAL_SEMAPHORE_KEYED_MUTEX = 7,      /* an NT handle, or its name */
    ACU_EXTERNAL_SEMAPHORE_KEYED_MUTEX_KMT = 8,  /* a global handle of Windows */
    ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD = 9,      /* a timeline semaphore: a file descriptor */
    ACU_EXTERNAL_SEMAPHORE_TIMELINE_WIN32 = 10   /* the same: an NT handle, or its name */
} acu_external_semaphore_type;

/** A semaphore that another API has handed out. */
typedef struct acu_external_semaphore_source {
    acu_external_semaphore_type type;
    int descriptor;     /* of ACU_EXTERNAL_SEMAPHORE_OPAQUE_FD and ..._TIMELINE_FD */
    const void *handle; /* of the other types: Windows' handle, or the NvSciSyncObj */
    const void *name;   /* of an NT handle: the object's name, where `handle` is NULL */
} acu_external_semaphore_source;

/** What is known of an imported semaphore. */
typedef struct acu_external_semaphore_info {
    acu_device device;
    acu_external_semaphore_type type;
} acu_external_semaphore_info;

/**
 * Imports a semaphore on a device; the caller owns the new handle.
 *
 * A file descriptor is taken over if the call succeeds, and stays the caller's if the call fails. A
 * handle of Windows and an NvSciSyncObj always stay the caller's. Errors: CUDA's own where the
 * semaphore is not of this device, and ACU_NOT_SUPPORTED where the system has no such type.
 */
ACU_CHECKED acu_result acu_external_semaphore_import(acu_device device,
                                                     const acu_external_semaphore_source *source,
                                                     acu_external_semaphore **semaphore);

/**
 * Makes a handle for a raw cudaExternalSemaphore_t that stays someone else's; the caller owns the
 * handle.
 *
 * The last release leaves the raw semaphore alone, which must live until then, and until all work
 * with it is done.
 */
ACU_CHECKED acu_result acu_external_semaphore_wrap(acu_device device,
                                                   struct CUexternalSemaphore_st *raw,
                                                   acu_external_semaphore **semaphore);

/**
 * Makes a handle that owns a raw cudaExternalSemaphore_t: the last release destroys both. If this
 * call fails, the raw semaphore stays the caller's.
 */
ACU_CHECKED acu_result acu_external_semaphore_adopt(acu_device device,
                                                    struct CUexternalSemaphore_st *raw,
                                                    acu_external_semaphore **semaphore);

/**
 * Returns the cudaExternalSemaphore_t, which stays the handle's; NULL where the handle is not an
 * external semaphore.
 *
 * Work that the program gives CUDA with the raw semaphore must be done before the last release.
 */
struct CUexternalSemaphore_st *acu_external_semaphore_raw(const acu_external_semaphore *semaphore);

/** Adds an owner and returns the semaphore; NULL where the handle is not an external semaphore. */
acu_external_semaphore *acu_external_semaphore_retain(acu_external_semaphore *semaphore);

/**
 * Takes an owner away. The last release destroys the semaphore once all signals and waits on
 * streams are done, without waiting for them: a later call that creates or releases something does
 * it. Nodes and captured work are owners. Everything else is as for acu_stream_release().
 */
acu_result acu_external_semaphore_release(acu_external_semaphore *semaphore);

void acu_external_semaphore_cleanup(acu_external_semaphore **semaphore);

/** Writes one line that names the semaphore, as errors do; acu_stream_describe() has the rules. */
size_t acu_external_semaphore_describe(const acu_external_semaphore *semaphore, char *text,
                                       size_t size);

/**
 * Returns the device that the semaphore was imported on; ACU_DEVICE_CURRENT where the handle is not
 * an external semaphore.
 */
acu_device acu_external_semaphore_device(const acu_external_semaphore *semaphore);

/** Asks what is known of the semaphore. */
ACU_CHECKED acu_result acu_external_semaphore_get_info(acu_external_semaphore *semaphore,
                                                       acu_external_semaphore_info *info);

/** What CUDA is to do with an NvSciSyncObj, as bits, with CUDA's numbers. */
enum acu_nvsci_sync_use {
    ACU_NVSCI_SYNC_SIGNAL = 1, /* signal it */
    ACU_NVSCI_SYNC_WAIT = 2    /* wait for it */
};

/**
 * Asks which attributes an NvSciSyncObj needs so that the device can signal it or wait for it, and
 * writes them into `attributes`, an NvSciSyncAttrList, which stays the caller's.
 *
 * NvSci reconciles the list with those of the other users, and allocates the object, which
 * acu_external_semaphore_import() imports as ACU_EXTERNAL_SEMAPHORE_NVSCI_SYNC. `uses` are
 * acu_nvsci_sync_use bits. Errors: ACU_ERROR_ARGUMENT where there is none, or an unknown one;
 * ACU_NOT_SUPPORTED where the system has no NvSci, as the simulator.
 */
ACU_CHECKED acu_result acu_external_semaphore_get_nvsci_attributes(acu_device device, unsigned uses,
                                                                   void *attributes);

/* ---- signals and waits ----
 *
 * They are work of a stream: done when all that came before on the stream is done, and captured
 * while the stream is captured, where the graph keeps the semaphores.
 *
 * A buffer knows nothing of them. Where a buffer is used on other streams, too,
 * acu_buffer_begin_use() before the signal or wait and acu_buffer_end_use() after it make these
 * uses come before the one or after the other (docs/users/external.md).
 */

/**
 * Signals a semaphore when all earlier work on the stream is done.
 *
 * `value` is what a timeline or a fence of Direct3D becomes; a binary semaphore has none. Errors:
 * ACU_ERROR_DEVICE where the stream is on another device.
 */
ACU_CHECKED acu_result acu_external_semaphore_signal(acu_external_semaphore *semaphore,
                                                     unsigned long long value, acu_stream *stream);

/**
 * Lets later work on the stream wait for a semaphore.
 *
 * `value` is what a timeline or a fence of Direct3D must have reached; a binary semaphore has none,
 * and is not signaled any more afterwards. Errors: ACU_ERROR_DEVICE where the stream is on another
 * device.
 */
ACU_CHECKED acu_result acu_external_semaphore_wait(acu_external_semaphore *semaphore,
                                                   unsigned long long value, acu_stream *stream);

/** A semaphore that is signaled; what its type does not need is not looked at. */
typedef struct acu_semaphore_signal {
    acu_external_semaphore *semaphore;
    unsigned long long value; /* of a timeline or a fence of Direct3D */
    unsigned long long key;   /* of a keyed mutex: what it is released with */
    void *fence;              /* of NvSci: the NvSciSyncFence, which CUDA fills */
    bool skip_memory_sync;    /* of NvSci: NvSciBuf memory need not be made visible to others */
} acu_semaphore_signal;

/** A semaphore that is waited for; what its type does not need is not looked at. */
typedef struct acu_semaphore_wait {
    acu_external_semaphore *semaphore;
    unsigned long long value; /* of a timeline or a fence of Direct3D */
    unsigned long long key;   /* of a keyed mutex: what it is acquired with */
    unsigned timeout_ms;      /* of a keyed mutex: how long to wait for it */
    void *fence;              /* of NvSci: the NvSciSyncFence to wait for */
    bool skip_memory_sync;    /* of NvSci: what others wrote to NvSciBuf memory is not needed */
} acu_semaphore_wait;

/**
 * Signals several semaphores at once. Errors: ACU_ERROR_ARGUMENT where there are none, and those of
 * acu_external_semaphore_signal().
 */
ACU_CHECKED acu_result acu_external_signal(const acu_semaphore_signal *signals, size_t count,
                                           acu_stream *stream);

/**
 * Waits for several semaphores at once. Errors: ACU_ERROR_ARGUMENT where there are none, and those
 * of acu_external_semaphore_wait().
 */
ACU_CHECKED acu_result acu_external_wait(const acu_semaphore_wait *waits, size_t count,
                                         acu_stream *stream);

ACU_END_C

#endif
