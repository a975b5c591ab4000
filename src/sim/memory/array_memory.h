/* The memory that a program maps to sparse arrays and arrays with deferred mapping, and images of
 * other APIs. */
#ifndef ACU_SIM_MEMORY_ARRAY_MEMORY_H
#define ACU_SIM_MEMORY_ARRAY_MEMORY_H

#include "sim/memory/array_layout.h"
#include "sim/memory/created.h"

/* A piece of an array, of SIM_PIECE bytes. */
typedef struct acu_sim_array_piece {
    acu_sim_created *of; /* NULL: nothing is mapped here */
    char *bytes;         /* where the simulator accesses them */
} acu_sim_array_piece;

typedef struct acu_sim_array_memory {
    unsigned refs; /* of the array, and of operations that map and unmap */
    acu_sim_array_shape shape;
    acu_sim_array_piece *pieces; /* NULL: nothing was mapped yet */
    acu_sim_external *external;  /* what has all of the memory, with a reference; or NULL */
    char *whole;                 /* where that memory begins */
} acu_sim_array_memory;

/* Lays levels out, and makes what is mapped to them: nothing. Returns NULL without memory. */
acu_sim_array_memory *acu_sim_array_memory_new(acu_sim_array *const *levels, unsigned count);
/* Gives a reference up; the last one unmaps all. NULL is fine. */
void acu_sim_array_memory_release(acu_sim_array_memory *memory);

/* Returns whether an access to the array is no fault. Where no memory is mapped to a sparse array,
 * zeros are read, and what is written is lost. */
bool acu_sim_array_memory_is_there(const acu_sim_array *array);

/* Returns where a byte of a level is, with x in bytes, and in `run` how many bytes follow; NULL
 * where nothing is mapped. */
char *acu_sim_array_memory_at(const acu_sim_array *level, size_t x, size_t y, size_t z,
                              size_t *run);

#endif
