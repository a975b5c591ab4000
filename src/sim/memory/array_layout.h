/* Where a GPU puts the elements of arrays to which the program maps memory. */
#ifndef ACU_SIM_MEMORY_ARRAY_LAYOUT_H
#define ACU_SIM_MEMORY_ARRAY_LAYOUT_H

#include "sim/sim.h"

typedef struct acu_sim_array acu_sim_array;

/* The smallest piece of memory that is mapped to an array: what a tile of a sparse array takes. */
enum { SIM_PIECE = 64 << 10 };
/* How many bytes of a row lie one behind the other, from a multiple on. */
enum { SIM_PIECE_RUN = 64, SIM_IMAGE_RUN = 16 };

/*
 * Where a level lies in the memory of its array: tile after tile, along x first; each tile block
 * after block, along x first; and each block, which is 64 bytes wide, row after row. A level that
 * is not mapped tile by tile is one tile.
 */
typedef struct acu_sim_array_place {
    size_t start;                     /* of the first layer, in bytes */
    size_t layer;                     /* bytes from one layer to the next */
    bool tiled;                       /* the level is mapped tile by tile */
    size_t width, height, depth;      /* of a tile: in bytes, rows, slices */
    size_t columns, rows, slabs;      /* tiles in each direction */
    size_t block_height, block_depth; /* of a block: in rows and slices */
    bool is_image;                    /* the level is another API's, with 8 rows of a block mixed */
} acu_sim_array_place;

/* What the levels of an array, or its only one, have in common. */
typedef struct acu_sim_array_shape {
    size_t size; /* of all that can be mapped, in bytes */
    size_t used; /* of that, by the elements */
    struct cudaArraySparseProperties sparse;
    size_t tail, tail_layer; /* where the tail begins, and bytes from one layer's to the next */
    size_t tail_layers;      /* how many tails there are; 0: none */
} acu_sim_array_shape;

/* Lays the levels of a sparse or deferred array out: sets the place of each. */
void acu_sim_array_lay_out(acu_sim_array *const *levels, unsigned count,
                           acu_sim_array_shape *shape);

/* Lays out the levels of an image of another API. */
void acu_sim_array_lay_out_image(acu_sim_array *const *levels, unsigned count,
                                 acu_sim_array_shape *shape);

/* Returns where a byte is: x in bytes. The rest of its run follows. */
size_t acu_sim_array_offset(const acu_sim_array *level, size_t x, size_t y, size_t z);

/* Returns whether the array has a third dimension that is no layers. */
bool acu_sim_array_has_slices(const acu_sim_array *array);
/* Returns how many layers the array has, at least 1. */
size_t acu_sim_array_layers(const acu_sim_array *array);

#endif
