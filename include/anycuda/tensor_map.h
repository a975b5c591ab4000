/*
 * Tensor maps: what the tensor memory accelerator of a GPU copies tiles of a tensor by, since
 * compute capability 9.0 and CUDA 12.0.
 *
 * A tensor map is an argument of launches, as a buffer is; the kernel's parameter is a
 * `const __grid_constant__ CUtensorMap`:
 *
 *     acu_launch(stream, kernel, grid, acu_in_tensor(a), acu_in_tensor(b), acu_out_tensor(c));
 *
 * A launch is a use of the buffer behind the map, which is ordered among streams as any other.
 * Captures and graphs keep the map. All that CUDA asks of a tensor map is checked before CUDA sees
 * it, because CUDA only says that something is wrong.
 */
#ifndef ACU_TENSOR_MAP_H
#define ACU_TENSOR_MAP_H

#include <anycuda/buffer.h>

ACU_BEGIN_C

/** A tensor map. */
typedef struct acu_tensor_map acu_tensor_map;

enum { ACU_TENSOR_MAX_RANK = 5 };

/** How tiles are found in the tensor. */
typedef enum acu_tensor_mode {
    ACU_TENSOR_TILED,      /* boxes of the tensor */
    ACU_TENSOR_IM2COL,     /* columns of pixels, for convolutions */
    ACU_TENSOR_IM2COL_WIDE /* the same along the width alone; since CUDA 12.8 */
} acu_tensor_mode;

/** What the elements are, where the buffer's type does not say it. */
typedef enum acu_tensor_elements {
    ACU_TENSOR_AS_BUFFER,   /* as the buffer's: integers, f16, bf16, f32 or f64 */
    ACU_TENSOR_F32_FTZ,     /* of f32: denormal numbers become 0 */
    ACU_TENSOR_TF32,        /* of f32: rounded to tf32 */
    ACU_TENSOR_TF32_FTZ,    /* both */
    ACU_TENSOR_U4,          /* 4 bits, of bytes: 16 of them become 8 bytes; since CUDA 12.8 */
    ACU_TENSOR_U4_ALIGN16B, /* 16 of them become 16 bytes, of which 8 are gaps */
    ACU_TENSOR_U6_ALIGN16B  /* 6 bits: 16 of them become 16 bytes, of which 4 are gaps */
} acu_tensor_elements;

/** Channels that lie together, with CUDA's numbers. */
typedef enum acu_tensor_interleave {
    ACU_TENSOR_INTERLEAVE_NONE,
    ACU_TENSOR_INTERLEAVE_16B, /* such as NC/8HWC8, of 2 bytes each */
    ACU_TENSOR_INTERLEAVE_32B
} acu_tensor_interleave;

/** How a tile is shuffled in shared memory, with CUDA's numbers. The last three came with 12.8
 * and compute capability 10.0. */
typedef enum acu_tensor_swizzle {
    ACU_TENSOR_SWIZZLE_NONE,
    ACU_TENSOR_SWIZZLE_32B, /* pieces of 16 bytes within 32 */
    ACU_TENSOR_SWIZZLE_64B,
    ACU_TENSOR_SWIZZLE_128B,
    ACU_TENSOR_SWIZZLE_128B_ATOM_32B, /* pieces of 32 bytes within 128 */
    ACU_TENSOR_SWIZZLE_128B_ATOM_32B_FLIP_8B,
    ACU_TENSOR_SWIZZLE_128B_ATOM_64B
} acu_tensor_swizzle;

/** How much L2 fetches at once, with CUDA's numbers. */
typedef enum acu_tensor_promotion {
    ACU_TENSOR_PROMOTION_NONE,
    ACU_TENSOR_PROMOTION_64B,
    ACU_TENSOR_PROMOTION_128B,
    ACU_TENSOR_PROMOTION_256B
} acu_tensor_promotion;

/** A tensor in a buffer, and its tiles. Dimension 0 is the one whose elements lie together. What
 * the rank or the mode has no use for is 0. */
typedef struct acu_tensor {
    acu_tensor_mode mode;
    acu_tensor_elements elements;
    unsigned rank;                       /* 1 to 5; of im2col 3 to 5: channels, W, H, D, N */
    size_t at;                           /* where it begins, in elements of the buffer */
    uint64_t shape[ACU_TENSOR_MAX_RANK]; /* elements along each dimension */
    /* Bytes from one element to the next along dimensions 1, 2 …; 0: no gap, or of dimension 1 the
     * row pitch of a pitched buffer. */
    uint64_t strides[ACU_TENSOR_MAX_RANK - 1];
    /* Of a tiled one: elements of a tile, up to 256. Divided by the steps they have as many bytes
     * as a multiprocessor has shared memory at most. */
    unsigned box[ACU_TENSOR_MAX_RANK];
    unsigned steps[ACU_TENSOR_MAX_RANK]; /* every so manieth element, up to 8; 0 means 1 */

    /* Of im2col: the box of pixels by offsets from both corners, of W, H and D; wide: of W. */
    int lower[ACU_TENSOR_MAX_RANK - 2], upper[ACU_TENSOR_MAX_RANK - 2];
    unsigned channels; /* per pixel, up to 256 */
    unsigned pixels;   /* per column, up to 1024 */
    bool w128;         /* wide: always 128 pixels */

    acu_tensor_interleave interleave;
    acu_tensor_swizzle swizzle;
    acu_tensor_promotion promotion;
    bool fill_nan; /* what lies outside is a NaN that multiplications make 0, instead of 0 */
} acu_tensor;

/**
 * Makes a tensor map of a buffer, which it keeps; the caller owns the map.
 *
 * Errors: ACU_ERROR_ARGUMENT for a field that CUDA would refuse, with the rule; ACU_ERROR_RANGE
 * where the tensor does not fit in the buffer; ACU_ERROR_DTYPE where the buffer's type has no
 * tensor maps; 801 where the device, or CUDA, has none; ACU_ERROR_HANDLE, ACU_ERROR_HOST_MEMORY.
 */
ACU_CHECKED acu_result acu_tensor_map_create(acu_buffer *buffer, const acu_tensor *tensor,
                                             acu_tensor_map **map);

/**
 * Makes a handle for a copy of a CUtensorMap, whose 128 bytes are at `raw`; the caller owns the
 * handle. `buffer` has the memory that the map is of, so that uses are ordered.
 */
ACU_CHECKED acu_result acu_tensor_map_wrap(acu_buffer *buffer, const void *raw,
                                           acu_tensor_map **map);

/**
 * Lets the map lead to another buffer of the same device and type, with the same shape and strides.
 *
 * Launches and nodes that were made before keep the buffer that they have. No other thread may use
 * the map meanwhile. Errors: those of acu_tensor_map_create(); ACU_ERROR_DEVICE; ACU_ERROR_STATE
 * for a map of acu_tensor_map_wrap(), whose shape is not known.
 */
ACU_CHECKED acu_result acu_tensor_map_set_buffer(acu_tensor_map *map, acu_buffer *buffer);

/**
 * Returns the CUtensorMap, 128 bytes that stay the handle's and change with
 * acu_tensor_map_set_buffer(); NULL where the handle is no tensor map.
 */
const void *acu_tensor_map_raw(const acu_tensor_map *map);

/** Returns the device; ACU_DEVICE_CURRENT where the handle is not a tensor map. */
acu_device acu_tensor_map_device(const acu_tensor_map *map);

/** Adds an owner and returns the map; NULL where the handle is not a tensor map. */
acu_tensor_map *acu_tensor_map_retain(acu_tensor_map *map);

/**
 * Takes an owner away; the last release gives the buffer up. Kernels that were launched with the
 * map have a copy of it. Everything else is as for acu_stream_release().
 */
acu_result acu_tensor_map_release(acu_tensor_map *map);

void acu_tensor_map_cleanup(acu_tensor_map **map);

/** Writes one line that names the map, as errors do; acu_stream_describe() has the rules. */
size_t acu_tensor_map_describe(const acu_tensor_map *map, char *text, size_t size);

ACU_END_C

#endif
