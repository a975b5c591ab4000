/* Reserved ranges of addresses as the rest of the safe layer sees them. */
#ifndef ACU_SRC_VIRTUAL_H
#define ACU_SRC_VIRTUAL_H

#include <anycuda/virtual.h>

#include <pthread.h>

#include "safe/memory/physical.h"

struct acu_storage;

struct acu_virtual {
    acu_object object;
    char *pointer;
    size_t bytes;
    size_t step;                  /* the granularity of what is mapped */
    bool owned;                   /* the addresses are freed with the handle */
    bool of_buffer;               /* a buffer that grows has the range, and maps what it needs */
    bool on_host;                 /* `of_buffer`: that is the host's */
    acu_physical_options options; /* `of_buffer`: how it is made */
    pthread_mutex_t lock;
    acu_mapping *mappings; /* under the lock, by address, with a reference to each memory */
    size_t count, room;    /* under the lock: how many mappings there are, and fit */
    /* Under the lock: an acu_access for each device, and, last, for the host. */
    unsigned char access[ACU_COUNTED_DEVICES + 1];
};

extern ACU_OURS const acu_class acu_virtual_class;

/* Reserves addresses for a buffer that can grow to so many bytes, of such memory, or for an
 * allocator; the caller owns the range. `options` may be NULL. Returns 0 or a recorded code. */
int acu_virtual_reserve_for_buffer(int device, size_t bytes, const acu_growable_options *options,
                                   acu_virtual **addresses);
/* Maps new memory behind what is mapped, until `bytes` are. Returns 0, or a recorded code, with
 * nothing changed. */
int acu_virtual_extend(acu_virtual *addresses, size_t bytes);
/* Unmaps the pieces that lie wholly behind `bytes`, and sets how many bytes stay mapped; returns 0
 * or a recorded code. */
int acu_virtual_cut(acu_virtual *addresses, size_t bytes, size_t *left);
/* Maps new memory from `at` on, where nothing is mapped, until at least so many bytes are. Returns
 * 0, or a recorded code, with nothing changed. */
int acu_virtual_fill(acu_virtual *addresses, size_t at, size_t bytes);
/* Finds the last mapping of at most `most` bytes that lies wholly between `at` and `end`; returns
 * false where there is none. */
bool acu_virtual_find_last(acu_virtual *addresses, size_t at, size_t end, size_t most,
                           size_t *found, size_t *bytes);
/* Unmaps the mapping that begins there; returns 0 or a recorded code. */
int acu_virtual_empty(acu_virtual *addresses, size_t at);
/* Records for `call` that the range maps for a buffer that grows; returns the code. */
int acu_virtual_refuse_of_buffer(const char *call, const acu_virtual *v);

/* Maps what the mapping says to the range, with access for everybody who has it; the range keeps
 * the object. Returns 0, or a failure recorded for `call`. */
int acu_virtual_add(const char *call, acu_virtual *addresses, const acu_mapping *mapping,
                    CUmemGenericAllocationHandle raw);

/* Keeps the mappings of these bytes from being unmapped, once for each buffer that lies there,
 * until acu_virtual_unlock_part(). Returns false, with nothing done, where not all of them are
 * mapped. */
bool acu_virtual_lock_part(acu_virtual *addresses, size_t at, size_t bytes);
void acu_virtual_unlock_part(acu_virtual *addresses, size_t at, size_t bytes);

/* Finds the mappings of physical memory under these bytes, in order, and adds an owner to the
 * memory of those that have room. Returns how many there are; 0 where some bytes have none. */
size_t acu_virtual_find_mappings(acu_virtual *addresses, size_t at, size_t bytes,
                                 acu_mapping *found, size_t room);

/* Returns whether a multicast object is mapped to some of these bytes. */
bool acu_virtual_has_multicast(acu_virtual *addresses, size_t at, size_t bytes);
/* Returns whether all of these bytes are memory of the host, which the host may read and write. */
bool acu_virtual_is_for_host(acu_virtual *addresses, size_t at, size_t bytes);

/* Returns what a device may do with the range that the storage has memory of. */
acu_access acu_virtual_access_of(const struct acu_storage *storage, int device);

/* Returns the range that an object has memory of, as the owner of a storage; NULL if it has none.
 */
acu_virtual *acu_virtual_of_owner(const acu_object *owner);

#endif
