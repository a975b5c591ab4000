/* Memory that the program created, of a device or of the host, to map it to addresses or arrays. */
#ifndef ACU_SIM_MEMORY_CREATED_H
#define ACU_SIM_MEMORY_CREATED_H

#include "sim/cuda_bodies.h"
#include "sim/noun.h"
#include "sim/sim.h"

enum { SIM_GRANULARITY = 2 << 20 }; /* of all created memory, and of multicast objects */

typedef struct acu_sim_multicast acu_sim_multicast;

typedef struct acu_sim_created {
    unsigned held;   /* references of the program */
    uint64_t mapped; /* references of mappings, also to arrays */
    int file;
    size_t size;            /* in bytes */
    char *bytes;            /* where the simulator accesses them; NULL: nowhere yet */
    acu_sim_device *device; /* the device that has the memory, or was current when it was made */
    CUmemAllocationProp properties; /* as CUDA reports them */
    bool on_host;
    bool imported;   /* of a descriptor: its bytes are not charged to the device */
    bool for_arrays; /* it can be mapped to arrays, and to nothing else */
    /* What makes it a multicast object, which it owns; NULL: it is memory. */
    acu_sim_multicast *multicast;
    uint64_t tag;      /* of the file, where that can be shared; else 0 */
    const void *where; /* the call that created or imported it */
    struct acu_sim_created *next;
} acu_sim_created;

/* Returns the memory of a handle that the program holds; NULL if there is none. */
acu_sim_created *acu_sim_created_held(CUmemGenericAllocationHandle handle);
/* Returns the memory of a handle that can be mapped to arrays of a device; NULL if there is none.
 * An array's memory is made for that. */
acu_sim_created *acu_sim_created_for_arrays(CUmemGenericAllocationHandle handle,
                                            const acu_sim_device *device);
/* Makes created memory that is a multicast object, with a reference of the program, and owns
 * `multicast` then. Returns an error if there is no memory, or for the handles that are asked. */
cudaError_t acu_sim_created_new_multicast(acu_sim_multicast *multicast, size_t size, unsigned asked,
                                          CUmemGenericAllocationHandle *handle);
/* Returns where the simulator accesses the bytes; NULL without memory. They stay there as long as
 * there are references to the memory. */
char *acu_sim_created_bytes(acu_sim_created *memory);
/* Adds a reference of a mapping to the memory, or gives one up; NULL is fine. */
void acu_sim_created_hold(acu_sim_created *memory);
void acu_sim_created_let_go(acu_sim_created *memory);

extern const acu_sim_noun acu_sim_created_noun;

#endif
