/*
 * Arrays: memory of a device in an order of CUDA's own, for textures and surfaces; and mipmaps,
 * which have an array for each level.
 *
 * An array has no address: its elements are reached by copies, by textures and by surfaces. As a
 * buffer does, it belongs to a stream, each use of it waits for earlier uses on other streams, and
 * captures and graphs keep it. The levels of a mipmap are one memory, whose uses are ordered
 * together.
 */
#ifndef ACU_ARRAY_H
#define ACU_ARRAY_H

#include <anycuda/buffer.h>
#include <anycuda/physical.h>
#include <anycuda/region.h>

struct cudaArray;
struct cudaMipmappedArray;

ACU_BEGIN_C

/** What the bits of an element mean. */
typedef enum acu_encoding {
    ACU_ENCODING_NUMBERS,    /* integers and floats as they are; the default */
    ACU_ENCODING_NORMALIZED, /* integers of 8 or 16 bits, which textures read as fractions */
    ACU_ENCODING_1010102,    /* fractions of 10, 10, 10 and 2 bits; since CUDA 12.8 */
    /* Blocks of 4 x 4 elements, which the GPU decompresses as it reads them: */
    ACU_ENCODING_BC1,
    ACU_ENCODING_BC1_SRGB,
    ACU_ENCODING_BC2,
    ACU_ENCODING_BC2_SRGB,
    ACU_ENCODING_BC3,
    ACU_ENCODING_BC3_SRGB,
    ACU_ENCODING_BC4,
    ACU_ENCODING_BC4_SIGNED,
    ACU_ENCODING_BC5,
    ACU_ENCODING_BC5_SIGNED,
    ACU_ENCODING_BC6H,
    ACU_ENCODING_BC6H_SIGNED,
    ACU_ENCODING_BC7,
    ACU_ENCODING_BC7_SRGB,
    ACU_ENCODING_OTHER /* of an array that was wrapped or adopted: one that has no name here */
} acu_encoding;

/**
 * The format of an element: `{ACU_F32, 4}` is four floats.
 *
 * An element has 1, 2 or 4 channels of one type: an integer of 8, 16 or 32 bits, f16 or f32. With
 * an encoding that implies them, type and channels may be 0; acu_array_format() then has ACU_U32
 * and 1, or, of compressed formats, the type of a whole block, ACU_BYTES(8) or ACU_BYTES(16),
 * and 1.
 */
typedef struct acu_format {
    acu_dtype dtype;   /* of a channel */
    unsigned channels; /* 0 means 1 */
    acu_encoding encoding;
} acu_format;

/** Kinds of arrays, as bits, with CUDA's numbers. */
enum acu_array_flag {
    ACU_ARRAY_LAYERED = 0x01, /* depth has the number of layers */
    ACU_ARRAY_SURFACE = 0x02, /* surfaces may be made of it */
    ACU_ARRAY_CUBE = 0x04,    /* six square faces; of layered ones depth is six times more */
    ACU_ARRAY_GATHER = 0x08,  /* textures of it can gather; 2D only */
    ACU_ARRAY_COLOR_ATTACHMENT = 0x20, /* other APIs may draw into it */
    ACU_ARRAY_SPARSE = 0x40,           /* the program maps memory to its tiles */
    ACU_ARRAY_DEFERRED = 0x80          /* the program maps memory to all of it; since CUDA 11.6 */
};

/** An array. */
typedef struct acu_array acu_array;

/** Arrays of decreasing size. */
typedef struct acu_mipmap acu_mipmap;

/**
 * Makes an array, whose elements are zero or undefined; the caller owns it, and it keeps the
 * stream.
 *
 * A height of 0 means an array of one dimension, and a depth of 0 one of two; of a layered array
 * depth is the number of layers. Errors: ACU_ERROR_DTYPE and ACU_ERROR_ARGUMENT where there is no
 * such format; ACU_ERROR_CAPTURE while a capture is under way that the call would break; 1 where
 * CUDA has no such array, because of its extent or flags, of which the hint says what is wrong;
 * ACU_OUT_OF_MEMORY.
 */
ACU_CHECKED acu_result acu_array_create(acu_stream *stream, acu_format format, acu_extent extent,
                                        unsigned flags, acu_array **array);

/**
 * Makes a handle for a raw array that stays someone else's; the caller owns the handle. Format,
 * extent and flags are CUDA's answer.
 *
 * The raw array may be freed after all uses, which acu_array_synchronize() and the last release
 * wait for. Errors: 400 where CUDA does not know the array.
 */
ACU_CHECKED acu_result acu_array_wrap(acu_stream *stream, struct cudaArray *raw, acu_array **array);

/**
 * Makes a handle that owns a raw array: the last release frees both. If this call fails, the raw
 * array stays the caller's. Errors: those of acu_array_wrap().
 */
ACU_CHECKED acu_result acu_array_adopt(acu_stream *stream, struct cudaArray *raw,
                                       acu_array **array);

/** Adds an owner and returns the array; NULL where the handle is not an array. */
acu_array *acu_array_retain(acu_array *array);

/**
 * Takes an owner away; the last release waits until all uses are done, and frees the memory, which
 * textures, surfaces, graphs and, of a level, the mipmap may keep. Everything else is as for
 * acu_buffer_release().
 */
acu_result acu_array_release(acu_array *array);

void acu_array_cleanup(acu_array **array);

/** Writes one line that names the array, as errors do; acu_stream_describe() has the rules. */
size_t acu_array_describe(const acu_array *array, char *text, size_t size);

/** Returns the cudaArray_t, which stays the handle's; NULL where the handle is not an array. */
struct cudaArray *acu_array_raw(const acu_array *array);

/** Returns the format of the elements; all zero where the handle is not an array. */
acu_format acu_array_format(const acu_array *array);

/**
 * Returns the extent, with 0 where the array has no such dimension; all zero where the handle is
 * not an array.
 */
acu_extent acu_array_extent(const acu_array *array);

/** Returns the acu_array_flag bits; 0 where the handle is not an array. */
unsigned acu_array_flags(const acu_array *array);

/**
 * Returns how many values all elements have together, which is what acu_array_write() counts; 0
 * where the handle is not an array. A block of a compressed format is one value.
 */
size_t acu_array_count(const acu_array *array);

/** Returns the stream that the array belongs to; NULL where the handle is not an array. */
acu_stream *acu_array_stream(const acu_array *array);

/** Returns the device; ACU_DEVICE_CURRENT where the handle is not an array. */
acu_device acu_array_device(const acu_array *array);

/** How much memory is mapped to a deferred array, or could be. */
typedef struct acu_memory_requirements {
    size_t bytes;
    size_t alignment;
} acu_memory_requirements;

/** What memory is mapped to a sparse array: tiles, and a tail of the levels smaller than one. */
typedef struct acu_sparse_properties {
    acu_extent tile;      /* in elements */
    unsigned first_level; /* the first level that is in the tail */
    size_t tail_bytes;    /* of a layer's tail, or of the only one; 0: no level is in a tail */
    bool is_single_tail;  /* all layers have one tail */
} acu_sparse_properties;

/**
 * Asks how much memory a deferred array needs; since CUDA 11.7. Errors: ACU_ERROR_STATE where the
 * array is not deferred.
 */
ACU_CHECKED acu_result acu_array_get_memory_requirements(const acu_array *array,
                                                         acu_memory_requirements *requirements);

/** Asks for the tiles of a sparse array. Errors: ACU_ERROR_STATE where the array is not sparse. */
ACU_CHECKED acu_result acu_array_get_sparse_properties(const acu_array *array,
                                                       acu_sparse_properties *properties);

/* ---- memory that the program maps ----
 *
 * A sparse array has no memory of its own: the program maps physical memory to its tiles, and to
 * its tail, and may map other memory, or none, at any time. What has none reads as zero or
 * undefined, and writes to it are lost. A deferred array is mapped as a whole, before its first
 * use.
 */

enum { ACU_TILE_BYTES = 65536 }; /* of a tile, whatever its extent is */

/**
 * Memory for a part of a sparse array or mipmap, or for all of a deferred one, whose part is all
 * zero.
 */
typedef struct acu_array_mapping {
    acu_physical *memory; /* of the same device, made with `options.tiles` */
    size_t memory_at;     /* its first byte, a multiple of ACU_TILE_BYTES */
    unsigned level;       /* of a mipmap: one before `first_level` of the properties */
    unsigned layer;       /* of the tiles, or of the tail if each layer has one */
    acu_position at;      /* the first element of a tile */
    acu_extent extent;    /* elements: whole tiles, whose last one may end with the level */
    bool tail;            /* instead of tiles a part of the tail: */
    size_t tail_at;       /* its first byte, a multiple of ACU_TILE_BYTES */
    size_t tail_bytes;    /* the same */
} acu_array_mapping;

/**
 * Maps memory to parts of a sparse array, or to a deferred one, and does not wait; memory that was
 * mapped there before is replaced.
 *
 * The mapping is work of the stream, and a use of the array that writes it: what comes after it
 * sees the memory. CUDA keeps memory as long as it is mapped, so that its handle may be released at
 * once. Where one of the mappings is wrong none is done, and the error has its index. Each tail is
 * a call of CUDA by itself, so that mappings before one that CUDA refuses are done.
 * `on` is the stream to use, and NULL the array's own. Errors: ACU_ERROR_STATE where the array is
 * neither sparse nor deferred, is the level of a mipmap (acu_mipmap_map()), or the memory was made
 * without `options.tiles` or is a share of another process; ACU_ERROR_DEVICE where memory, array
 * and stream are not of one device; ACU_ERROR_RANGE where a part is none of whole tiles within the
 * array, or the memory is too small; ACU_ERROR_ARGUMENT where a deferred array is mapped in parts;
 * ACU_ERROR_CAPTURE where the stream is captured, because CUDA captures no mapping.
 */
ACU_CHECKED acu_result acu_array_map(acu_array *array, const acu_array_mapping *mappings,
                                     size_t count, acu_stream *on);

/**
 * Unmaps what is mapped to the parts, and does not wait; `memory` and `memory_at` are not looked
 * at, so that the list of acu_array_map() can be given again. Errors: those of acu_array_map().
 */
ACU_CHECKED acu_result acu_array_unmap(acu_array *array, const acu_array_mapping *mappings,
                                       size_t count, acu_stream *on);

/* ---- order ---- */

/**
 * Waits until all uses of the array's memory so far are done. Errors: ACU_ERROR_CAPTURE as for
 * acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_array_synchronize(acu_array *array);

/** Announces work of the program's own that uses the array, as acu_buffer_begin_use() does. */
ACU_CHECKED acu_result acu_array_begin_use(acu_array *array, bool writes, acu_stream *on);

/** Ends what acu_array_begin_use() began, as acu_buffer_end_use() does. */
ACU_CHECKED acu_result acu_array_end_use(acu_array *array, bool writes, acu_stream *on);

/* ---- copies ----
 *
 * These copy whole arrays; acu_region_copy() and its neighbours copy parts. `on` is the stream to
 * use; NULL means the array's own, or that of the destination. Errors: ACU_ERROR_DTYPE where types
 * do not fit; ACU_ERROR_RANGE where the count is not acu_array_count(), or the extents differ; of
 * functions that wait also ACU_ERROR_CAPTURE.
 */

/**
 * Writes all elements from the host, row by row and slice by slice without gaps, and waits; the
 * type is the pointer's.
 */
#define acu_array_write(array, host, count)                                                        \
    acu_array_write_typed((array), ACU_DTYPE_OF(host), (host), (count), NULL)

/** Reads all elements to the host, where they lie without gaps, and waits. */
#define acu_array_read(array, host, count)                                                         \
    acu_array_read_typed((array), ACU_DTYPE_OF(host), (host), (count), NULL)

/** Writes all elements from the host, and waits until that is done; `host` may then change. */
ACU_CHECKED acu_result acu_array_write_typed(acu_array *array, acu_dtype dtype, const void *host,
                                             size_t count, acu_stream *on);

/** Reads all elements to the host, and waits until they are there. */
ACU_CHECKED acu_result acu_array_read_typed(acu_array *array, acu_dtype dtype, void *host,
                                            size_t count, acu_stream *on);

/** Copies all elements of one array to another one of the same extent and format. */
ACU_CHECKED acu_result acu_array_copy(acu_array *to, acu_array *from, acu_stream *on);

/* ---- mipmaps ---- */

/**
 * Makes arrays of `levels` levels, each half as large as the one before it; the caller owns the
 * mipmap, and it keeps the stream.
 *
 * 0 levels mean all of them, down to one element. Layers do not become fewer. Errors: those of
 * acu_array_create().
 */
ACU_CHECKED acu_result acu_mipmap_create(acu_stream *stream, acu_format format, acu_extent extent,
                                         unsigned levels, unsigned flags, acu_mipmap **mipmap);

/**
 * Makes a handle for a raw mipmap that stays someone else's; the caller owns the handle. `levels`
 * is how many it has, which CUDA does not report.
 *
 * Everything else is as for acu_array_wrap(). Errors: ACU_ERROR_RANGE where `levels` is 0; those of
 * acu_array_wrap(), and 1 where there are fewer levels.
 */
ACU_CHECKED acu_result acu_mipmap_wrap(acu_stream *stream, struct cudaMipmappedArray *raw,
                                       unsigned levels, acu_mipmap **mipmap);

/** Makes a handle that owns a raw mipmap, as acu_array_adopt() does. Errors: as acu_mipmap_wrap().
 */
ACU_CHECKED acu_result acu_mipmap_adopt(acu_stream *stream, struct cudaMipmappedArray *raw,
                                        unsigned levels, acu_mipmap **mipmap);

/** Adds an owner and returns the mipmap; NULL where the handle is not a mipmap. */
acu_mipmap *acu_mipmap_retain(acu_mipmap *mipmap);

/** Takes an owner away, as acu_array_release() does; each level's array keeps the memory, too. */
acu_result acu_mipmap_release(acu_mipmap *mipmap);

void acu_mipmap_cleanup(acu_mipmap **mipmap);

/** Writes one line that names the mipmap, as errors do; acu_stream_describe() has the rules. */
size_t acu_mipmap_describe(const acu_mipmap *mipmap, char *text, size_t size);

/**
 * Returns the cudaMipmappedArray_t, which stays the handle's; NULL where the handle is not a
 * mipmap.
 */
struct cudaMipmappedArray *acu_mipmap_raw(const acu_mipmap *mipmap);

/** Returns the number of levels; 0 where the handle is not a mipmap. */
unsigned acu_mipmap_levels(const acu_mipmap *mipmap);

/** Returns the format of the elements; all zero where the handle is not a mipmap. */
acu_format acu_mipmap_format(const acu_mipmap *mipmap);

/** Returns the extent of level 0; all zero where the handle is not a mipmap. */
acu_extent acu_mipmap_extent(const acu_mipmap *mipmap);

/** Returns the acu_array_flag bits; 0 where the handle is not a mipmap. */
unsigned acu_mipmap_flags(const acu_mipmap *mipmap);

/** Returns the stream that the mipmap belongs to; NULL where the handle is not a mipmap. */
acu_stream *acu_mipmap_stream(const acu_mipmap *mipmap);

/** Returns the device; ACU_DEVICE_CURRENT where the handle is not a mipmap. */
acu_device acu_mipmap_device(const acu_mipmap *mipmap);

/**
 * Makes an array of a level, which shares the mipmap's memory and keeps it; the caller owns the
 * array. Errors: ACU_ERROR_RANGE where there is no such level.
 */
ACU_CHECKED acu_result acu_mipmap_get_level(acu_mipmap *mipmap, unsigned level, acu_array **array);

/** Asks how much memory a deferred mipmap needs, as acu_array_get_memory_requirements() does. */
ACU_CHECKED acu_result acu_mipmap_get_memory_requirements(const acu_mipmap *mipmap,
                                                          acu_memory_requirements *requirements);

/** Asks for the tiles of a sparse mipmap, as acu_array_get_sparse_properties() does. */
ACU_CHECKED acu_result acu_mipmap_get_sparse_properties(const acu_mipmap *mipmap,
                                                        acu_sparse_properties *properties);

/** Maps memory to parts of levels, or to a deferred mipmap, as acu_array_map() does. */
ACU_CHECKED acu_result acu_mipmap_map(acu_mipmap *mipmap, const acu_array_mapping *mappings,
                                      size_t count, acu_stream *on);

/** Unmaps what is mapped to parts of levels, as acu_array_unmap() does. */
ACU_CHECKED acu_result acu_mipmap_unmap(acu_mipmap *mipmap, const acu_array_mapping *mappings,
                                        size_t count, acu_stream *on);

ACU_END_C

#endif
