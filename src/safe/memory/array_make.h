/* What arrays and mipmaps need to come into being, in common. */
#ifndef ACU_SRC_ARRAY_MAKE_H
#define ACU_SRC_ARRAY_MAKE_H

#include "safe/memory/array.h"

/* An array or a mipmap that is being made. */
typedef struct acu_array_making {
    const char *call;
    acu_stream *stream;
    struct cudaChannelFormatDesc desc;
    acu_format format;
    acu_extent extent;
    unsigned flags, levels;
    acu_object *owner; /* the object that has the memory; NULL: the array itself */
} acu_array_making;

/* Each returns 0, or a failure recorded for the call. */

/* Checks the stream, the format and captures. */
int acu_array_begin_making(acu_array_making *m, const acu_format *format, acu_extent extent,
                           unsigned flags);
/* Allocates an array, or where `array` is NULL a mipmap, and fills in the shape. */
int acu_array_allocate(acu_array_making *m, acu_array_shape *shape, cudaArray_t *array,
                       cudaMipmappedArray_t *mipmap);
/* Gives the failure of CUDA to make it, which is recorded next, the reason as its hint. */
void acu_array_hint(const acu_array_making *m, int code);
/* Fills in what CUDA reports about an array. */
int acu_array_ask(const acu_array_making *m, cudaArray_t raw, acu_array_shape *shape);
/* Makes the memory of the shape: that of an array, or where it is NULL of a mipmap, which is freed
 * with the memory if it is `owned`. */
int acu_array_keep(const acu_array_making *m, acu_array_shape *shape, cudaArray_t array,
                   cudaMipmappedArray_t mipmap, bool owned);
/* Checks that the array, or mipmap, was made with the flag. */
int acu_array_check_flag(const char *call, const void *handle, const acu_array_shape *shape,
                         enum acu_array_flag flag);

/* An array or mipmap to whose parts memory is mapped. */
typedef struct acu_array_parts {
    const char *call;
    const void *handle;
    const acu_array_shape *shape;
    cudaArray_t array;           /* NULL: a mipmap */
    cudaMipmappedArray_t mipmap; /* of so many levels: */
    unsigned levels;
    const acu_array_mapping *mappings;
    size_t count;
    bool unmaps;
    acu_stream *on; /* NULL: the array's own */
} acu_array_parts;

/* Maps or unmaps the parts. */
int acu_array_map_parts(acu_array_parts *parts);

/* Returns how many elements there are in each direction, at least 1; with `in_blocks` how many
 * blocks where the format is compressed. */
acu_extent acu_array_elements(const acu_array_shape *shape, bool in_blocks);
acu_sparse_properties acu_array_sparse(const struct cudaArraySparseProperties *sparse);
void acu_array_describe_shape(const acu_array_shape *shape, acu_description *d);

#endif
