/* Ranges of addresses that CUDA knows, and what each of them is. */
#ifndef ACU_SIM_MEMORY_RANGE_H
#define ACU_SIM_MEMORY_RANGE_H

#include "sim/sim.h"

typedef enum acu_sim_memory { SIM_DEVICE, SIM_PINNED, SIM_REGISTERED, SIM_MANAGED } acu_sim_memory;

struct acu_sim_range {
    uintptr_t base;
    size_t size;
    acu_sim_memory kind;
    unsigned flags;
    acu_sim_device *device;
    acu_sim_pool *pool;             /* NULL: not from a pool */
    acu_sim_allocation *allocation; /* of a graph; NULL: not a graph's */
    /* With `allocation`: makes the operation that frees the memory; NULL where no launch has
     * allocated it. */
    acu_sim_op *(*new_free_op)(acu_sim_range *range);
    char *bytes;                    /* of mapped memory: where they are; NULL: in the device's */
    uint64_t access, writes;        /* of mapped memory, a bit per device */
    const void *where;              /* the call that made it */
    acu_sim_external *external;     /* of another API, mapped; NULL: it is not */
    const acu_sim_context *context; /* in whose context */
    bool freed;                     /* freed in stream order: no longer the program's */
    bool dormant;                   /* the graph has not been there yet, or has freed it */
    bool of_module;                 /* a variable: goes with its module */
    bool damaged;                   /* that was reported */
    /* Managed memory: what was advised. Locations as {type, id}. */
    bool read_mostly, cpu_accesses;
    struct cudaMemLocation preferred, prefetched;
    uint64_t accessed_by; /* bit per device */
};

/* The range with that address, also inside; NULL if there is none that the program may use. */
acu_sim_range *acu_sim_range_of(const void *address);

/* Any range that has a byte of these. */
acu_sim_range *acu_sim_range_overlapping(uintptr_t base, size_t size);

/* The first that ends behind the address. */
acu_sim_range *acu_sim_range_next(uintptr_t address);

/* The address is one that only devices have, allocated or not. */
bool acu_sim_range_is_device_address(const void *address);

/* The device's kernels may touch it. */
bool acu_sim_range_allows_access(const acu_sim_range *range, const acu_sim_device *device);

/* Whether it can also write it. */
bool acu_sim_range_allows_writing(const acu_sim_range *range, const acu_sim_device *device);

/* The program's, registered so that devices only read it; NULL is not. */
bool acu_sim_range_is_read_only(const acu_sim_range *range);

/* Where the bytes are. */
void *acu_sim_range_bytes(const acu_sim_range *range, const void *address);

/* NULL without memory. */
acu_sim_range *acu_sim_range_new(uintptr_t base, size_t size, acu_sim_memory kind,
                                 acu_sim_device *device, const void *where);
bool acu_sim_range_add(acu_sim_range *range);
void acu_sim_range_remove(acu_sim_range *range);

#endif
