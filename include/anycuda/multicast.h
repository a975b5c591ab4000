/*
 * Multicast objects: what a kernel writes once reaches memory of several devices, and what it reads
 * once is reduced from all of them, by `multimem` instructions.
 *
 * Devices are added to an object; each of them binds memory, which the object then keeps; and
 * ranges of addresses map the object, as they do physical memory (acu_virtual_map_multicast()).
 * Kernels get the addresses as pointers. What they do there is work on the memory that is bound,
 * which they do not name: the program orders it (acu_buffer_begin_use()), and keeps the range.
 *
 * CUDA has all of this since 12.1, on devices of compute capability 9.0 or later that are connected
 * by NVSwitch. Several threads may use an object at once, and retain and release it.
 */
#ifndef ACU_MULTICAST_H
#define ACU_MULTICAST_H

#include <anycuda/buffer.h>
#include <anycuda/physical.h>

ACU_BEGIN_C

/** A multicast object. */
typedef struct acu_multicast acu_multicast;

/** How an object is made; all zero is an object for devices of this process. */
typedef struct acu_multicast_options {
    unsigned handles; /* how it can be shared: acu_share_handle bits */
} acu_multicast_options;

/** Asks whether a device can be added to multicast objects; false also where the driver is older
 * than 12.1. */
ACU_CHECKED acu_result acu_multicast_is_supported(acu_device device, bool *supported);

/**
 * Asks of what number of bytes sizes and offsets in an object for so many devices must be a
 * multiple.
 *
 * `least` is the smallest possible number, and `best` the one that CUDA recommends; either pointer
 * may be NULL. `options` may be NULL.
 */
ACU_CHECKED acu_result acu_multicast_get_granularity(unsigned devices, size_t bytes,
                                                     const acu_multicast_options *options,
                                                     size_t *least, size_t *best);

/**
 * Makes an object for so many devices, to which each can bind so many bytes; the caller owns it.
 * `options` may be NULL.
 *
 * Errors: 801 with a driver older than 12.1, and without devices that can; ACU_ERROR_RANGE where
 * `bytes` is no multiple of the granularity; ACU_ERROR_ARGUMENT where `devices` is 0.
 */
ACU_CHECKED acu_result acu_multicast_create(unsigned devices, size_t bytes,
                                            const acu_multicast_options *options,
                                            acu_multicast **multicast);

/**
 * Makes a handle for a raw object that stays someone else's; the caller owns the handle.
 *
 * CUDA reports neither number of devices nor size. What was done to the raw object before is not
 * known to the handle, so that CUDA alone refuses what does not go with it. The last release
 * unbinds what the handle has bound. The raw object must live until then.
 */
ACU_CHECKED acu_result acu_multicast_wrap(unsigned long long raw, unsigned devices, size_t bytes,
                                          acu_multicast **multicast);

/**
 * Makes a handle that owns a raw object: the last release gives up both. If this call fails, the
 * raw object stays the caller's.
 */
ACU_CHECKED acu_result acu_multicast_adopt(unsigned long long raw, unsigned devices, size_t bytes,
                                           acu_multicast **multicast);

/**
 * Makes a file descriptor that stands for the object, for another process; the caller closes it.
 *
 * From then on other processes may add devices, which this handle does not know. Errors:
 * ACU_ERROR_STATE where the object was made without ACU_SHARE_FILE_DESCRIPTOR.
 */
ACU_CHECKED acu_result acu_multicast_export(acu_multicast *multicast, int *descriptor);

/**
 * Makes a handle for an object that another process exported; the caller owns the handle, and still
 * the descriptor, which may then be closed. The other process has to say the numbers.
 */
ACU_CHECKED acu_result acu_multicast_import(int descriptor, unsigned devices, size_t bytes,
                                            acu_multicast **multicast);

/**
 * Returns the CUmemGenericAllocationHandle, which stays the handle's; 0 where the handle is not a
 * multicast object. From then on others may add devices, as after acu_multicast_export().
 */
unsigned long long acu_multicast_raw(acu_multicast *multicast);

/** Adds an owner and returns the object; NULL where the handle is not a multicast object. */
acu_multicast *acu_multicast_retain(acu_multicast *multicast);

/**
 * Takes an owner away; the last release gives up the object and what is bound to it. A range of
 * addresses is an owner of what is mapped to it. Everything else is as for acu_stream_release().
 */
acu_result acu_multicast_release(acu_multicast *multicast);

void acu_multicast_cleanup(acu_multicast **multicast);

/** Writes one line that names the object, as errors do; acu_stream_describe() has the rules. */
size_t acu_multicast_describe(const acu_multicast *multicast, char *text, size_t size);

/** Returns how many bytes each device can bind; 0 where the handle is not a multicast object. */
size_t acu_multicast_bytes(const acu_multicast *multicast);

/** Returns how many devices the object is for; 0 where the handle is not a multicast object. */
unsigned acu_multicast_devices(const acu_multicast *multicast);

/**
 * Adds a device, for the life of the object.
 *
 * Memory is bound, and the object mapped, only once all devices were added. Errors:
 * ACU_NOT_SUPPORTED where the device has no multicast objects; ACU_ERROR_STATE where the handle has
 * added the device, or all of them, already.
 */
ACU_CHECKED acu_result acu_multicast_add_device(acu_multicast *multicast, acu_device device);

/**
 * Binds a part of physical memory of a device that was added, from byte `at` of the object on; the
 * object keeps the memory.
 *
 * Until all devices were added, CUDA would wait for the others: for an object that no other process
 * and no raw call can know, the call is refused instead. Errors: ACU_ERROR_STATE for that, and
 * where the device has bound memory there; ACU_ERROR_RANGE where a number is no multiple of the
 * granularity, or the bytes are outside of the object or the memory; ACU_ERROR_DEVICE where the
 * memory is of a device that was not added, or the host's; ACU_OUT_OF_MEMORY.
 */
ACU_CHECKED acu_result acu_multicast_bind(acu_multicast *multicast, size_t at,
                                          acu_physical *physical, size_t physical_at, size_t bytes);

/**
 * Binds the memory of a buffer, from byte `at` of the object on; the object keeps the memory.
 *
 * Errors: those of acu_multicast_bind(), and ACU_ERROR_MEMORY_KIND where the memory is neither of a
 * pool nor mapped to a range of addresses.
 */
ACU_CHECKED acu_result acu_multicast_bind_buffer(acu_multicast *multicast, size_t at,
                                                 acu_buffer *buffer);

/**
 * Unbinds what a device has bound from byte `at` on, and gives up the memory.
 *
 * Work that uses the object must be done. Errors: ACU_ERROR_RANGE where the handle has not bound
 * just these bytes at once.
 */
ACU_CHECKED acu_result acu_multicast_unbind(acu_multicast *multicast, acu_device device, size_t at,
                                            size_t bytes);

/** Memory that a device has bound. */
typedef struct acu_binding {
    acu_device device;
    size_t at, bytes;       /* where in the object, and how many */
    acu_physical *physical; /* which stays the object's, until it is unbound; NULL: a buffer's */
    size_t physical_at;     /* where in the memory */
} acu_binding;

/** Lists what the handle has bound, in the order in which it was. */
ACU_CHECKED acu_result acu_multicast_get_bindings(acu_multicast *multicast, acu_binding *bindings,
                                                  size_t *count);

/** Lists the devices that the handle has added, by their numbers. */
ACU_CHECKED acu_result acu_multicast_get_devices(acu_multicast *multicast, acu_device *devices,
                                                 size_t *count);

ACU_END_C

#endif
