/* Rows of elements and of bytes: pitched buffers, regions, and how CUDA copies rows. */
#ifndef ACU_SRC_REGION_H
#define ACU_SRC_REGION_H

#include <anycuda/region.h>

#include "safe/memory/buffer.h"

/* ---- where rows are ---- */

/* A buffer whose `pitched` is true. */
typedef struct acu_pitched_buffer {
    acu_buffer buffer;
    acu_pitched_layout layout; /* complete: no number is 0 */
    /* Makes a clone on the stream, of memory by the options; returns 0 or a failure recorded for
     * `call`. Pointers, so that only programs with pitched buffers link these functions. */
    int (*clone)(const char *call, acu_buffer *buffer, acu_stream *stream,
                 const acu_buffer_options *options, acu_buffer **clone);
    /* Makes a pitched buffer with elements of another type, whose memory is aligned for it, in the
     * same rows. Returns 0 or a failure recorded for `call`. */
    int (*reinterpret)(const char *call, const acu_buffer *buffer, acu_dtype dtype,
                       acu_buffer **view);
    /* Fills the rows with an element, which is checked; returns as acu_buffer_run() does. */
    int (*fill)(acu_buffer *buffer, const void *element, acu_stream *on);
} acu_pitched_buffer;

static inline const acu_pitched_layout *acu_pitched_layout_of(const acu_buffer *buffer) {
    return &((const acu_pitched_buffer *)buffer)->layout;
}

/* Where the elements of a region, or of the host, lie. */
typedef struct acu_rows {
    char *at;     /* the first element */
    size_t pitch; /* bytes from a row to the next one */
    size_t slice; /* bytes from a slice to the next one */
} acu_rows;

/* What the caller says of where elements lie; 0 in the last two is as in acu_region. */
typedef struct acu_rows_asked {
    const void *object; /* the handle that failures name */
    const char *name;   /* of what has the elements, for failures */
    acu_position at;
    acu_extent extent;
    size_t size; /* bytes of an element */
    size_t row_pitch, slice_height;
} acu_rows_asked;

/* Checks that rows are within their pitch and slices within their height, and computes the steps
 * (not `at`), where the first element begins and the last one ends, in bytes from the beginning of
 * the memory. Returns 0 or a failure recorded for `call`. */
int acu_rows_place(const char *call, const acu_rows_asked *l, acu_rows *r, size_t *first,
                   size_t *end);
/* Checks that no number is 0; `object` is the handle that a failure names, or NULL. */
int acu_region_check_extent(const char *call, const void *object, acu_extent extent);

/* Finds the rows of a region of a buffer, which is alive; `name` is its name for failures. Returns
 * 0 or a failure recorded for `call`. */
int acu_region_find_rows(const char *call, const acu_region *region, const char *name,
                         acu_extent extent, acu_rows *r);

/* ---- arrays ----
 *
 * Copies where a region is an array's. A program that makes no arrays does not link them: then
 * these are NULL, and no handle is an array's.
 */

/* A copy between a region of an array and the host. */
typedef struct acu_array_host_copy {
    const acu_region *region;
    acu_extent extent;
    acu_dtype dtype;
    const void *host;
    size_t row_pitch, slice_height; /* of the host's rows */
    acu_stream *on;
    bool writes; /* from the host */
} acu_array_host_copy;

struct acu_rows_copy;
/* Do for a copy where a region is an array's what acu_region_check_copy() and
 * acu_region_copy_checked() do. */
ACU_OURS int acu_array_check_copy(const char *call, const acu_region *to, const acu_region *from,
                                  acu_extent extent, struct acu_rows_copy *copy)
    __attribute__((weak));
ACU_OURS int acu_array_copy_checked(const struct acu_rows_copy *copy, acu_stream *on)
    __attribute__((weak));
/* Copies; returns 0 or a failure recorded for `call`. */
ACU_OURS int acu_array_copy_host(const char *call, const acu_array_host_copy *copy)
    __attribute__((weak));

/* ---- copies ---- */

/* One side of a copy between regions. */
typedef struct acu_copy_side {
    acu_buffer *memory;      /* with the storage that is used */
    const void *handle;      /* of the buffer or array, for failures */
    struct cudaArray *array; /* NULL: memory */
    acu_position at;         /* in the array */
} acu_copy_side;

/* A copy of slices of rows of bytes. Neither side has rows that overlap each other. Of an array
 * addresses and steps are such as memory might have that begins at its handle: they are good for
 * comparing regions only. */
typedef struct acu_rows_copy {
    char *to;
    const char *from;
    size_t width, height, depth; /* bytes of a row, rows of a slice, slices; none is 0 */
    size_t to_pitch, from_pitch; /* bytes from a row to the next one */
    size_t to_slice, from_slice; /* bytes from a slice to the next one */
    enum cudaMemcpyKind kind;
    bool is_peer;               /* CUDA has to know the devices */
    int to_device, from_device; /* ordinals; set if `is_peer` */
    /* Of copies between regions. */
    acu_copy_side target, source;
    acu_extent extent;   /* as CUDA counts it: elements of an array, or bytes and rows */
    size_t element;      /* bytes of what is counted in memory */
    bool in_blocks;      /* memory has an element for each block of a compressed array */
    bool between_layers; /* of one array, which CUDA copies from the wrong layer */
} acu_rows_copy;

/* The bytes of a region. */
typedef struct acu_box {
    uintptr_t at;                /* the first one */
    size_t width, height, depth; /* bytes of a row, rows of a slice, slices; none is 0 */
    size_t pitch, slice;         /* bytes from a row, and from a slice, to the next one */
    const void *array;           /* the bytes are an array's */
} acu_box;

/* The bytes that a copy of rows writes, and those that it reads. */
acu_box acu_rows_written(const acu_rows_copy *copy);
acu_box acu_rows_read(const acu_rows_copy *copy);
/* Returns whether some byte belongs to both. */
bool acu_boxes_overlap(const acu_box *a, const acu_box *b);

/* Checks a copy between regions of buffers or arrays, and finds its rows, all but `is_peer`.
 * Returns 0 or a failure recorded for `call`. */
int acu_region_check_copy(const char *call, const acu_region *to, const acu_region *from,
                          acu_extent extent, acu_rows_copy *copy);
/* Fills rows of a buffer, which are found; returns as acu_buffer_run() does. */
int acu_region_fill_checked(acu_buffer *to, const acu_rows *rows, acu_extent extent,
                            const void *element, acu_stream *on);
/* Copies what is checked; returns as acu_buffer_run() does. */
int acu_region_copy_checked(acu_rows_copy *copy, acu_stream *on);

/* Copies with as few calls as CUDA allows: one, unless the steps are larger than CUDA takes, or
 * slices do not begin a whole number of rows apart. `names_devices` is whether the devices of a
 * copy with `is_peer` may be named. Returns CUDA's code. */
int acu_rows_copy_on(const acu_rows_copy *copy, bool names_devices, cudaStream_t on);

#endif
