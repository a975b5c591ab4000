/*
 * Regions: rectangles and boxes of elements in memory, to copy and to fill.
 *
 * The rows of a region lie a pitch apart, and its slices a number of rows. Between them there may
 * be elements that do not belong to the region, which no function here touches. The order among
 * streams, captures and what graphs keep are as for any use of a buffer.
 */
#ifndef ACU_REGION_H
#define ACU_REGION_H

#include <anycuda/buffer.h>

ACU_BEGIN_C

/**
 * How many elements there are in each direction, at least 1: a rectangle has depth 1, a row also
 * height 1.
 */
typedef struct acu_extent {
    size_t width;  /* elements of a row */
    size_t height; /* rows of a slice */
    size_t depth;  /* slices */
} acu_extent;

/** Which element: the column, the row and the slice, each counted from 0. */
typedef struct acu_position {
    size_t x, y, z;
} acu_position;

/* ---- pitched buffers ----
 *
 * A pitched buffer is memory like any other, whose rows begin a pitch apart; each row may have some
 * bytes at its end that belong to no element. Regions know the rows, so that acu_region_write() and
 * acu_region_read() are how the host writes and reads them; acu_buffer_fill() sets the elements of
 * the rows; clones and views of another type have the same rows. For functions that know nothing of
 * rows, as acu_buffer_write(), acu_buffer_copy(), acu_buffer_zero(), acu_buffer_slice() and
 * launches, the memory is one run of elements, those bytes included: element 100 is not the first
 * one of the second row where rows have 100. Where a pitch is no whole number of elements, the run
 * of a slice or view may end within the last element, and no element of the run is one of the
 * second row.
 */

/** Where the rows of a pitched buffer lie. */
typedef struct acu_pitched_layout {
    acu_extent extent;
    size_t row_pitch;    /* bytes from a row to the next one; 0: those of a row */
    size_t slice_height; /* rows from a slice to the next one; 0: those of a slice */
} acu_pitched_layout;

/**
 * Makes a buffer of rows with the pitch that CUDA chooses, so that each row is aligned for access
 * by whole warps and by textures; the caller owns it, and it keeps the stream.
 *
 * `options` may be NULL. The memory may be of any kind that acu_buffer_create_with() takes: the
 * pitch is that of cudaMallocPitch(), also where cudaMallocAsync() makes the memory. Errors: those
 * of acu_buffer_create_with(), and ACU_ERROR_ARGUMENT where the extent has a 0.
 */
ACU_CHECKED acu_result acu_buffer_create_pitched(acu_stream *stream, acu_dtype dtype,
                                                 acu_extent extent,
                                                 const acu_buffer_options *options,
                                                 acu_buffer **buffer);

/**
 * Makes a pitched buffer on the same memory, with elements of the same type; the caller owns it.
 *
 * This is how memory of cudaMallocPitch() or cudaMalloc3D() is wrapped and adopted:
 * acu_buffer_wrap() or acu_buffer_adopt() first. Errors: ACU_ERROR_ARGUMENT where the extent has a
 * 0; ACU_ERROR_RANGE where a row is longer than the pitch, a slice higher than the slice height, or
 * the last row beyond the buffer's end; ACU_ERROR_DTYPE where rows would not be aligned for the
 * type.
 */
ACU_CHECKED acu_result acu_buffer_reinterpret_pitched(acu_buffer *buffer,
                                                      const acu_pitched_layout *layout,
                                                      acu_buffer **view);

/**
 * Makes a pitched buffer of some rows of a slice, or of some slices, of another one, whose memory
 * it shares and keeps; the caller owns it.
 *
 * A smaller rectangle is no buffer, because what lies between its rows belongs to others: name it
 * as a region. Errors: ACU_ERROR_ARGUMENT where the buffer is not pitched, or the extent has a 0;
 * ACU_ERROR_RANGE beyond the buffer's extent, and where the rows are not whole, or more than one
 * slice is not whole.
 */
ACU_CHECKED acu_result acu_buffer_slice_pitched(acu_buffer *buffer, acu_position at,
                                                acu_extent extent, acu_buffer **slice);

/** Asks where the rows of a buffer lie; any other buffer is one row of all its elements. */
ACU_CHECKED acu_result acu_buffer_get_layout(acu_buffer *buffer, acu_pitched_layout *layout);

/* ---- regions ---- */

struct acu_array; /* array.h */

/** A place in memory to copy from or to; the extent is an argument of what is done there. */
typedef struct acu_region {
    acu_buffer *buffer; /* where the memory is; not kept beyond the call */
    acu_position at;    /* the region's first element, counted from that of the buffer */
    /* Bytes from a row to the next one, within which each row ends (`at.x` + width). 0: those of a
     * pitched buffer, whose extent then has to have all columns of the region; in any other buffer
     * the rows follow each other without a gap, so that they are as long as the region is wide, and
     * `at.x` is 0 unless the region is a part of the first row. */
    size_t row_pitch;
    /* Rows from a slice to the next one, within which each slice ends (`at.y` + height). 0: those
     * of a pitched buffer, whose extent then has to have all rows and slices of the region; in any
     * other buffer, and where `row_pitch` is not the pitched buffer's, the slices follow each other
     * without a gap, and `at.y` is 0 unless the region is a part of the first slice. */
    size_t slice_height;
    /* Instead of a buffer, an array, whose elements `at` and the extent count, and whose layers are
     * slices. What is copied from or to it has elements of the same size, ACU_BYTES(16) for four
     * floats; the host's may be of a channel's type. Of a compressed array the elements are texels,
     * in whole blocks, and memory has an element for each block. An array cannot be filled. */
    struct acu_array *array;
} acu_region;

/* ---- copies ----
 *
 * `on` is the stream to use; NULL means that of the destination, or of the only buffer. Errors:
 * ACU_ERROR_DTYPE where the types do not fit; ACU_ERROR_ARGUMENT where the extent has a 0;
 * ACU_ERROR_RANGE where a row ends beyond the pitch, a slice beyond the slice height, or the region
 * beyond its buffer or, as far as it leaves pitch and height to it, a pitched buffer's extent, and
 * where texels of a compressed array are no whole blocks; ACU_ERROR_OVERFLOW where its end cannot
 * be addressed.
 *
 * The short forms are macros, so that an extent that is written in place needs parentheses around
 * it, because of its commas: `acu_region_read(&from, ((acu_extent){8, 4, 1}), host)`.
 */

/**
 * Copies elements from one region to another, and does not wait.
 *
 * Everything that acu_buffer_copy() says about devices, the host's memory and captures holds here,
 * too; between arrays of two devices nothing is captured. From one layer, or face, of an array to
 * another one of it the copy goes by way of memory, because CUDA copies the wrong layer. Errors:
 * ACU_ERROR_RANGE also where an element would be both read and written; those that lie between the
 * rows of the other region do not matter, so that two regions of one buffer, or of one array, may
 * lie beside each other; ACU_ERROR_CAPTURE also where a copy between layers of one array would be
 * captured.
 */
ACU_CHECKED acu_result acu_region_copy(const acu_region *to, const acu_region *from,
                                       acu_extent extent, acu_stream *on);

/**
 * Writes elements from the host, where they lie without gaps, and waits; the type is the pointer's.
 */
#define acu_region_write(to, extent, host)                                                         \
    acu_region_write_typed((to), (extent), ACU_DTYPE_OF(host), (host), 0, 0, NULL)

/** Reads elements to the host, where they lie without gaps, and waits; the type is the pointer's.
 */
#define acu_region_read(from, extent, host)                                                        \
    acu_region_read_typed((from), (extent), ACU_DTYPE_OF(host), (host), 0, 0, NULL)

/**
 * Writes elements from the host, and waits until that is done; `host` may then change.
 *
 * `host` points at the first element; `row_pitch` and `slice_height` are those of the host's rows,
 * in bytes and rows, 0 as in acu_region. Errors: ACU_ERROR_CAPTURE as for
 * acu_buffer_write_typed().
 */
ACU_CHECKED acu_result acu_region_write_typed(const acu_region *to, acu_extent extent,
                                              acu_dtype dtype, const void *host, size_t row_pitch,
                                              size_t slice_height, acu_stream *on);

/**
 * Reads elements to the host, and waits until they are there; what lies between the host's rows
 * stays as it is.
 *
 * The parameters and errors are those of acu_region_write_typed().
 */
ACU_CHECKED acu_result acu_region_read_typed(const acu_region *from, acu_extent extent,
                                             acu_dtype dtype, void *host, size_t row_pitch,
                                             size_t slice_height, acu_stream *on);

/* ---- fills ---- */

/** Sets every element of the region to the one that `element` points at, and does not wait. */
#define acu_region_fill(to, extent, element)                                                       \
    acu_region_fill_typed((to), (extent), ACU_DTYPE_OF(element), (element), NULL)

/**
 * Sets every element of the region to `*element`, and does not wait.
 *
 * Elements of 1, 2 or 4 bytes, or of equal bytes, are set at the memory's speed; others are set in
 * one row and then copied. Errors: those of copies, and ACU_ERROR_DEVICE where the stream belongs
 * to another device than the buffer.
 */
ACU_CHECKED acu_result acu_region_fill_typed(const acu_region *to, acu_extent extent,
                                             acu_dtype dtype, const void *element, acu_stream *on);

ACU_END_C

#endif
