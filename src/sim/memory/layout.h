/* Where the bytes of a copy or fill lie, and what memory that is. */
#ifndef ACU_SIM_MEMORY_LAYOUT_H
#define ACU_SIM_MEMORY_LAYOUT_H

#include "sim/memory/array.h"
#include "sim/sim.h"

/* One end of a copy, or what a fill fills: rows of bytes. */
typedef struct acu_sim_layout {
    char *base;    /* the address that the call gave, before what is skipped; NULL: an array's */
    char *at;      /* the first byte: an address as the program knows it, or inside of an array;
                    * NULL in an array to which the program maps memory */
    size_t pitch;  /* bytes from one row to the next */
    size_t slice;  /* bytes from one slice to the next */
    size_t width;  /* bytes of a row that are copied */
    size_t size;   /* bytes from the first to the last one that is copied; 0 in an array */
    bool in_array; /* `at` is the simulator's own, and no address of the program */
    /* An array to which the program maps memory, and the position in it, with x in bytes; NULL: the
     * rows are at `at`. */
    const acu_sim_array *array;
    size_t x, y, z;
} acu_sim_layout;

/* The memory at one end of a copy. */
typedef struct acu_sim_endpoint {
    bool pageable;              /* memory that CUDA does not know */
    bool pinned;                /* host memory that CUDA knows */
    bool host;                  /* the host can access the memory */
    bool device;                /* devices can access the memory */
    const acu_sim_range *range; /* NULL: pageable memory, or an array */
} acu_sim_endpoint;

/* Returns whether a copy of this extent copies nothing. */
bool acu_sim_layout_is_empty(const struct cudaExtent *extent);

/* Lays a box in memory out: its width and x are elements of `element` bytes. Returns false if a
 * size or address is too large for a number. */
bool acu_sim_layout_of_memory(const struct cudaPitchedPtr *ptr, const struct cudaPos *pos,
                              const struct cudaExtent *extent, size_t element,
                              acu_sim_layout *layout);

/* Lays a box in an array out: its width and x are units of `unit` bytes. Returns false if the array
 * does not exist, if the unit is 0, or if the box is not inside of the array. */
bool acu_sim_layout_of_array(cudaArray_const_t handle, const struct cudaPos *pos,
                             const struct cudaExtent *extent, size_t unit, acu_sim_layout *layout);

/* Finds the memory of a layout. Returns an error, and says why, if a part of it must not be
 * accessed; `what` says which end of the call it is: "source". */
cudaError_t acu_sim_layout_find(const acu_sim_layout *layout, const char *what,
                                acu_sim_endpoint *endpoint);

/* Returns where the bytes are now, when the operation runs: also in memory that was freed in stream
 * order but is not gone yet, because its stream comes to that later. `known`: CUDA knew the memory
 * when the call was made. NULL if the memory is gone, too small, or read-only and to be written. */
char *acu_sim_layout_bytes(const acu_sim_layout *layout, bool known, bool writes);

#endif
