/* Ranges of addresses that CUDA knows: what each of them is, and whose. */
#ifndef ACU_SIM_MEMORY_RANGE_H
#define ACU_SIM_MEMORY_RANGE_H

#include "sim/memory/pinned_block.h"
#include "sim/sim.h"

typedef enum acu_sim_memory {
    SIM_DEVICE,     /* memory of a device */
    SIM_PINNED,     /* host memory that CUDA allocated */
    SIM_REGISTERED, /* host memory of the program's that was registered */
    SIM_MANAGED,    /* managed memory */
} acu_sim_memory;

/* What the program asked of a part of managed memory. */
typedef struct acu_sim_pages {
    size_t end; /* where the part ends, in bytes; it begins where the one before ends */
    bool read_mostly, cpu_accesses;
    struct cudaMemLocation preferred;
    uint64_t accessed_by;              /* a bit per device */
    struct cudaMemLocation prefetched; /* where the part was last moved to */
    struct acu_sim_pages *next;
} acu_sim_pages;

/* Memory that is known to CUDA. A range owns neither its bytes nor what it points to, but for a
 * reference to `external`, `ipc` and `view`. */
struct acu_sim_range {
    uintptr_t base; /* its first address */
    size_t size;    /* bytes */
    acu_sim_memory kind;
    unsigned flags;             /* of cudaHostAlloc() or cudaHostRegister() */
    acu_sim_pinned_part pinned; /* of cudaHostAlloc(): where among others */
    acu_sim_device *device; /* the device that has the memory, or was current when it was made */
    const acu_sim_context *context; /* the context that was current when the range was made */
    const void *where;              /* where the program made the range; NULL: the simulator did */

    acu_sim_pool *pool; /* NULL: not from a pool */
    /* Of a graph: the one of the node that was added last; NULL where that node is gone. */
    acu_sim_allocation *allocation;
    unsigned allocations; /* how many of the graph are here, one after the other; 0: no graph's */
    /* With `allocation`: makes the operation that frees the memory; returns NULL if no launch has
     * allocated the memory. */
    acu_sim_op *(*new_free_op)(acu_sim_range *range);
    acu_sim_external *external; /* memory of another API that is mapped here; NULL: it is not */
    acu_sim_ipc *ipc;           /* memory of another process that is mapped here; NULL: it is not */
    struct acu_sim_pool_view *view; /* of a pool that processes share: its bytes; or NULL */
    unsigned exported; /* that other processes can open: its number among those; 0: it is not */

    char *
        bytes; /* of mapped memory: where the bytes are; NULL: in the device's view, or at `base` */
    uint64_t access, writes; /* of mapped memory: which devices may access and write it, as bits */
    uint64_t id;             /* no other range has had it */
    bool multicast;   /* of a multicast object: bytes reach the memory that devices have bound */
    bool sync_memops; /* copies of the memory do not return before they are done */

    bool freed;       /* freed in stream order: no longer the program's */
    bool dormant;     /* a graph's memory that is not allocated at the moment */
    bool of_graphics; /* of a buffer of OpenGL, which is mapped here */
    bool of_module;   /* a variable, which is freed with its module */
    const char *name; /* of such a variable, owned by the module's image; else NULL */
    bool damaged;     /* a write behind the end was reported */

    acu_sim_pages *pages; /* of managed memory, all its parts; NULL: nothing was asked */
};

/* Returns the range that has the address and that the program may use; NULL if there is none. */
acu_sim_range *acu_sim_range_of(const void *address);

/* As acu_sim_range_of(), but NULL for a graph's memory while it is not allocated, which CUDA does
 * not know then. */
acu_sim_range *acu_sim_range_there(const void *address);

/* Returns the first range with one of these bytes, also if it was freed in stream order; NULL if
 * there is none. */
acu_sim_range *acu_sim_range_overlapping(uintptr_t base, size_t size);

/* Returns the first range that ends behind the address; NULL if there is none. */
acu_sim_range *acu_sim_range_next(uintptr_t address);

/* Returns whether only devices can have memory at the address, allocated or not. */
bool acu_sim_range_is_device_address(const void *address);

/* Returns whether the address is in a device's memory of a pool, of which a copy of a box may skip
 * more than there is. */
bool acu_sim_range_is_loose(const void *address);

/* Returns whether the program grants access to the range to each device by itself, as in pools and
 * in mapped memory; false for NULL. */
bool acu_sim_range_has_grants(const acu_sim_range *range);

/* Return whether kernels of the device may read the range, and whether they may write it. */
bool acu_sim_range_allows_access(const acu_sim_range *range, const acu_sim_device *device);
bool acu_sim_range_allows_writing(const acu_sim_range *range, const acu_sim_device *device);

/* Return an error, and say why, if kernels of the device may not read or write the range; NULL is
 * fine. */
cudaError_t acu_sim_range_validate_access(const acu_sim_range *range, const acu_sim_device *device,
                                          bool writes);

/* Returns whether this is host memory that was registered so that devices only read it; false for
 * NULL. */
bool acu_sim_range_is_read_only(const acu_sim_range *range);

/* Returns where the simulator can reach the byte of an address in the range. */
void *acu_sim_range_bytes(const acu_sim_range *range, const void *address);

/* Returns a number that no range or mapping has had. */
uint64_t acu_sim_range_new_id(void);

/* Makes a range and adds it to all ranges; NULL without memory. */
acu_sim_range *acu_sim_range_new(uintptr_t base, size_t size, acu_sim_memory kind,
                                 acu_sim_device *device, const void *where);
/* Adds a range that the caller allocated; returns false, and changes nothing, without memory. */
bool acu_sim_range_add(acu_sim_range *range);
/* Takes the range out of all ranges and frees it, but not its bytes. */
void acu_sim_range_remove(acu_sim_range *range);

#endif
