/* Arrays and mipmapped arrays. */
#ifndef ACU_SIM_MEMORY_ARRAY_H
#define ACU_SIM_MEMORY_ARRAY_H

#include "sim/memory/array_layout.h"
#include "sim/memory/array_memory.h"
#include "sim/noun.h"
#include "sim/sim.h"

struct acu_sim_array {
    acu_sim_device *device;
    const acu_sim_context *context; /* the context that was current when the array was made */
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent;    /* as the program gave it: 0 where there is no such dimension */
    size_t width, height, depth; /* in elements, which are blocks if compressed; at least 1 */
    size_t element;              /* bytes of an element */
    size_t pitch;                /* bytes of a row */
    unsigned flags;
    char *bytes; /* the elements, row by row and slice by slice; NULL: memory is mapped */
    acu_sim_array_memory *memory; /* what is mapped, of all levels; NULL: the array has `bytes` */
    acu_sim_array_place place;    /* where the elements are in that memory */
    bool is_level;                /* a level of a mipmapped array, which owns the level */
    bool is_view;                 /* its bytes are another's (acu_sim_array_new_view()) */
    const void *where;            /* where the program made the array; NULL for a level */
    acu_sim_array *next, *before; /* in the list of all arrays but levels */
};

/* Returns the array of a handle; NULL if there is no such array. */
acu_sim_array *acu_sim_array_of(cudaArray_const_t handle);

/* Returns the first level of a mipmapped array; NULL if there is no such mipmapped array. */
const acu_sim_array *acu_sim_array_mipmap_level(cudaMipmappedArray_const_t handle);
/* Returns the levels of a mipmapped array, and how many they are; NULL if there is none. */
acu_sim_array *const *acu_sim_array_mipmap_levels(cudaMipmappedArray_const_t handle,
                                                  unsigned *count);

/* Makes a mipmapped array of memory of another API, whose image has at most `size` bytes from
 * `bytes` on. Where this succeeds, a reference to the memory is the array's. */
cudaError_t acu_sim_array_map_image(acu_sim_external *external, char *bytes, size_t size,
                                    acu_sim_device *device,
                                    const struct cudaExternalMemoryMipmappedArrayDesc *image,
                                    cudaMipmappedArray_t *mipmap);

/* Returns the extent of a level: each one is half as large as the one before it in each dimension,
 * but has all layers. */
struct cudaExtent acu_sim_array_level_extent(const struct cudaExtent *extent, unsigned flags,
                                             unsigned level);

/* Makes a mipmapped array of memory that another has: level after level from `bytes` on, without
 * gaps. It is in no list, and only acu_sim_array_free_view() frees it. NULL without memory. */
cudaMipmappedArray_t acu_sim_array_new_view(acu_sim_device *device,
                                            const struct cudaChannelFormatDesc *desc,
                                            const struct cudaExtent *extent, unsigned flags,
                                            unsigned levels, char *bytes);
void acu_sim_array_free_view(cudaMipmappedArray_t view);
/* Makes an array of a layer of such a level, in the same way; NULL without memory. */
acu_sim_array *acu_sim_array_new_layer(const acu_sim_array *level, unsigned layer);
void acu_sim_array_free_layer(acu_sim_array *array);

/* Returns the bytes of an element; 0 if no array can have this format. */
size_t acu_sim_array_format_size(const struct cudaChannelFormatDesc *desc);

extern const acu_sim_noun acu_sim_array_noun;

#endif
