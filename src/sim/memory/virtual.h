/* Virtual memory management: reserved addresses, and the memory that is mapped to them. */
#ifndef ACU_SIM_MEMORY_VIRTUAL_H
#define ACU_SIM_MEMORY_VIRTUAL_H

#include "sim/memory/created.h"

typedef struct acu_sim_reservation {
    uintptr_t base;
    char *shadow;
    size_t size;       /* in bytes, of the addresses and of the shadow */
    const void *where; /* the call that reserved them */
    struct acu_sim_reservation *next;
} acu_sim_reservation;

/* Memory that is mapped to reserved addresses, of which nobody need have access. */
typedef struct acu_sim_mapping {
    acu_sim_reservation *in;
    acu_sim_created *of;
    uintptr_t base;
    size_t size;
    size_t offset;                /* of the first byte in the memory */
    uint64_t access, writes;      /* a bit per device: may it access, and write */
    CUmemAccess_flags host;       /* the host's access */
    uint64_t id;                  /* no other mapping or range has had it */
    struct acu_sim_mapping *next; /* by address */
} acu_sim_mapping;

bool acu_sim_virtual_is_reserved(const void *address);
/* Returns the mapping that has the address; NULL if there is none. */
const acu_sim_mapping *acu_sim_virtual_mapping_at(const void *address);

/* Returns the mapping that has this byte of the simulator's own memory of reservations, and how
 * many bytes of it come before; NULL if there is none. */
const acu_sim_mapping *acu_sim_virtual_mapping_of_bytes(const char *at, size_t *before);

/* Returns what the device may do with the memory. */
CUmemAccess_flags acu_sim_mapping_access(const acu_sim_mapping *mapping, int device);

extern const acu_sim_noun acu_sim_virtual_noun;

#endif
