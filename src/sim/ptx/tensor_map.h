/*
 * Tensor maps: 128 bytes that say which tensor kernels copy tiles of, and how tiles lie in shared
 * memory. A GPU has a format of its own; here they are this structure.
 */
#ifndef ACU_SIM_PTX_TENSOR_MAP_H
#define ACU_SIM_PTX_TENSOR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PTX_TENSOR_RANKS = 5,
    PTX_TENSOR_BYTES = 128,
    PTX_TENSOR_TILED = 0x544d4150,
    PTX_TENSOR_IM2COL,
    PTX_TENSOR_IM2COL_WIDE,
};

/* What elements are, numbered as CUtensorMapDataType is. */
typedef enum ptx_tensor_type {
    PTX_TENSOR_U8,
    PTX_TENSOR_U16,
    PTX_TENSOR_U32,
    PTX_TENSOR_S32,
    PTX_TENSOR_U64,
    PTX_TENSOR_S64,
    PTX_TENSOR_F16,
    PTX_TENSOR_F32,
    PTX_TENSOR_F64,
    PTX_TENSOR_BF16,
    PTX_TENSOR_F32_FTZ,
    PTX_TENSOR_TF32,
    PTX_TENSOR_TF32_FTZ,
    PTX_TENSOR_16U4,
    PTX_TENSOR_16U4_SPREAD,
    PTX_TENSOR_16U6_SPREAD,
    PTX_TENSOR_TYPES,
} ptx_tensor_type;

/* Chunks of 16 bytes change places within 32, 64 or 128 bytes, numbered as CUtensorMapSwizzle. */
enum { PTX_SWIZZLE_NONE, PTX_SWIZZLE_32, PTX_SWIZZLE_64, PTX_SWIZZLE_128 };

/* What a map holds. The first dimension is the one whose elements lie together. */
typedef struct ptx_tensor_map {
    uint32_t magic; /* PTX_TENSOR_TILED, … */
    uint8_t rank, type, interleave, swizzle;
    uint8_t fill; /* what lies outside is 0; or not a number, if this is 1 */
    uint8_t steps[PTX_TENSOR_RANKS];
    uint16_t box[PTX_TENSOR_RANKS];         /* elements; of im2col: channels, and pixels */
    int16_t lower[3], upper[3];             /* of im2col: offsets of the corners of w, h and d */
    uint32_t shape[PTX_TENSOR_RANKS];       /* less one */
    uint64_t strides[PTX_TENSOR_RANKS - 1]; /* bytes */
    uint64_t address;
} ptx_tensor_map;

/* Reads a map; false where the bytes are none, or NULL. */
bool acu_ptx_tensor_read(const void *bytes, ptx_tensor_map *map);

/* Begins a map where all bytes are 0, as kernels do that make one of nothing; false where they are
 * not. A copy refuses it until all fields are set. */
bool acu_ptx_tensor_begin(const char *bytes, ptx_tensor_map *map);

/* Returns the bits of an element; 0 for what is no type. */
unsigned acu_ptx_tensor_bits(unsigned type);

/* Returns the bits that lie together at a place of the first dimension: an element, or interleaved
 * channels. */
static inline unsigned ptx_tensor_unit(const ptx_tensor_map *map) {
    return map->interleave ? 64u << map->interleave : acu_ptx_tensor_bits(map->type);
}

/* A tile's rows, one after the other: elements that lie together in the tensor. */
typedef struct ptx_tensor_walk {
    const ptx_tensor_map *map;
    int64_t first[PTX_TENSOR_RANKS];  /* the tile's place in the tensor */
    int64_t at[PTX_TENSOR_RANKS];     /* the place of the row's first element */
    int64_t offset[PTX_TENSOR_RANKS]; /* of im2col: where the row is read, from `at` */
} ptx_tensor_walk;

/* Returns how many rows a tile has. */
uint64_t acu_ptx_tensor_rows(const ptx_tensor_map *map);
/* Goes to the next row; an im2col map goes through the pixels of its bounding box. */
void acu_ptx_tensor_next(ptx_tensor_walk *walk);
/* Finds the elements of the row that lie in the tensor: `begin` of the row's is the first one, at
 * `address`. Returns how many there are. */
unsigned acu_ptx_tensor_row(const ptx_tensor_walk *walk, unsigned *begin, uint64_t *address);

/* Returns whether a GPU copies tiles with that first coordinate: at multiples of 16 bytes alone,
 * within the tensor or not. */
static inline bool ptx_tensor_begins(const ptx_tensor_map *map, int64_t first) {
    return first * (int64_t)ptx_tensor_unit(map) % 128 == 0;
}

/* Returns where swizzling puts what belongs at an address of shared memory. */
static inline uint64_t ptx_swizzled(uint64_t address, unsigned swizzle) {
    return address ^ (address >> 7 & ((1u << swizzle) - 1)) << 4;
}

#endif
