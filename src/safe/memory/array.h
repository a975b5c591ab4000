/*
 * Arrays and mipmaps as the rest of the safe layer sees them.
 *
 * The memory of an array is a storage, so that streams, captures and graphs treat it as they treat
 * a buffer's. Since only buffers lie on storages, an array has a buffer without elements there,
 * which no program sees; the levels of a mipmap share it.
 */
#ifndef ACU_SRC_ARRAY_H
#define ACU_SRC_ARRAY_H

#include <anycuda/array.h>

#include "safe/memory/buffer.h"

/* What arrays and mipmaps have in common. */
typedef struct acu_array_shape {
    acu_buffer *memory; /* of all levels, with a reference */
    acu_format format;
    size_t element;    /* bytes of an element, or of a block */
    acu_extent extent; /* 0 where there is no such dimension */
    unsigned flags;
    bool owned; /* the raw object is freed with the memory */
} acu_array_shape;

struct acu_array {
    acu_object object;
    cudaArray_t raw;
    acu_array_shape shape;
    bool is_level;
};

struct acu_mipmap {
    acu_object object;
    cudaMipmappedArray_t raw;
    acu_array_shape shape;
    unsigned levels;
};

extern ACU_OURS const acu_class acu_array_class, acu_mipmap_class;

/* Runs a job that copies by a cudaMemcpy3DParms, of whose ends one is an array; returns CUDA's
 * code. */
int acu_array_run_copy(const acu_buffer_job *job, const void *data);

/* Make an array, or a mipmap of so many levels, of a raw one that lies in the memory, which it
 * keeps. Each returns 0 or a failure recorded for `call`. */
int acu_array_share(const char *call, acu_buffer *memory, cudaArray_t raw, acu_array **array);
int acu_mipmap_share(const char *call, acu_buffer *memory, cudaMipmappedArray_t raw,
                     unsigned levels, acu_mipmap **mipmap);

/* Checks that there can be so many levels of that extent; returns 0 or a failure recorded for
 * `call`. */
int acu_mipmap_check_levels(const char *call, acu_extent extent, unsigned flags, unsigned levels);
/* Makes a mipmap that owns a raw one, in memory of `owner`, which it keeps. Returns 0, or a failure
 * recorded for `call`, after which the raw mipmap is the caller's. */
int acu_mipmap_own(const char *call, acu_stream *stream, cudaMipmappedArray_t raw, unsigned levels,
                   acu_object *owner, acu_mipmap **mipmap);

/* Returns whether elements are compressed in blocks of 4 x 4. */
bool acu_format_is_compressed(const acu_format *format);
/* Converts a format; returns 0, or a failure recorded for `call`. */
int acu_format_to_desc(const char *call, const acu_format *format,
                       struct cudaChannelFormatDesc *desc);

#endif
