/* Arrays and mipmaps: formats, allocating, and the memory that they keep. */
#include "safe/memory/array_make.h"
#include "safe/base/active_capture.h"
#include "safe/base/device.h"

/* ---- formats ---- */

typedef struct encoding {
    unsigned char kind, bits, channels; /* of CUDA's description */
    unsigned char block;                /* bytes of a block; 0: not compressed */
} encoding;

/* By number; what is not there is described by type and channels. */
static const encoding encodings[] = {
    [ACU_ENCODING_1010102] = {cudaChannelFormatKindUnsignedNormalized1010102, 10, 4, 0},
    [ACU_ENCODING_BC1] = {cudaChannelFormatKindUnsignedBlockCompressed1, 8, 4, 8},
    [ACU_ENCODING_BC1_SRGB] = {cudaChannelFormatKindUnsignedBlockCompressed1SRGB, 8, 4, 8},
    [ACU_ENCODING_BC2] = {cudaChannelFormatKindUnsignedBlockCompressed2, 8, 4, 16},
    [ACU_ENCODING_BC2_SRGB] = {cudaChannelFormatKindUnsignedBlockCompressed2SRGB, 8, 4, 16},
    [ACU_ENCODING_BC3] = {cudaChannelFormatKindUnsignedBlockCompressed3, 8, 4, 16},
    [ACU_ENCODING_BC3_SRGB] = {cudaChannelFormatKindUnsignedBlockCompressed3SRGB, 8, 4, 16},
    [ACU_ENCODING_BC4] = {cudaChannelFormatKindUnsignedBlockCompressed4, 8, 1, 8},
    [ACU_ENCODING_BC4_SIGNED] = {cudaChannelFormatKindSignedBlockCompressed4, 8, 1, 8},
    [ACU_ENCODING_BC5] = {cudaChannelFormatKindUnsignedBlockCompressed5, 8, 2, 16},
    [ACU_ENCODING_BC5_SIGNED] = {cudaChannelFormatKindSignedBlockCompressed5, 8, 2, 16},
    [ACU_ENCODING_BC6H] = {cudaChannelFormatKindUnsignedBlockCompressed6H, 16, 3, 16},
    [ACU_ENCODING_BC6H_SIGNED] = {cudaChannelFormatKindSignedBlockCompressed6H, 16, 3, 16},
    [ACU_ENCODING_BC7] = {cudaChannelFormatKindUnsignedBlockCompressed7, 8, 4, 16},
    [ACU_ENCODING_BC7_SRGB] = {cudaChannelFormatKindUnsignedBlockCompressed7SRGB, 8, 4, 16},
    [ACU_ENCODING_OTHER] = {0},
};

bool acu_format_is_compressed(const acu_format *format) {
    return format->encoding >= ACU_ENCODING_BC1 && format->encoding < ACU_ENCODING_OTHER;
}

/* The types of channels, and how CUDA describes them: plain and normalised, of 1 channel. */
static const struct {
    acu_dtype dtype;
    int kind, normalized; /* 0: there is no such format */
} types[] = {
    {ACU_F32, cudaChannelFormatKindFloat, 0},
    {ACU_F16, cudaChannelFormatKindFloat, 0},
    {ACU_I8, cudaChannelFormatKindSigned, cudaChannelFormatKindSignedNormalized8X1},
    {ACU_I16, cudaChannelFormatKindSigned, cudaChannelFormatKindSignedNormalized16X1},
    {ACU_I32, cudaChannelFormatKindSigned, 0},
    {ACU_U8, cudaChannelFormatKindUnsigned, cudaChannelFormatKindUnsignedNormalized8X1},
    {ACU_U16, cudaChannelFormatKindUnsigned, cudaChannelFormatKindUnsignedNormalized16X1},
    {ACU_U32, cudaChannelFormatKindUnsigned, 0},
};
enum { TYPES = sizeof types / sizeof *types };

static struct cudaChannelFormatDesc describe(int bits, unsigned channels, int kind) {
    return (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                                          channels > 3 ? bits : 0,
                                          (enum cudaChannelFormatKind)kind};
}

static int refuse_dtype(const char *call, const acu_format *f) {
    if (acu_dtype_size(f->dtype) == 0)
        return acu_refuse_dtype(call, f->dtype);
    acu_fail_hint("arrays hold i8, u8, i16, u16, i32, u32, f16 and f32%s",
                  f->encoding == ACU_ENCODING_NORMALIZED ? "; i8, u8, i16 and u16 as fractions"
                                                         : "; bf16 can be stored as u16");
    return acu_fail(call, "", ACU_ERROR_DTYPE, "no array holds %s%s", acu_dtype_name(f->dtype),
                    f->encoding == ACU_ENCODING_NORMALIZED ? " as fractions" : "");
}

static int numbers_to_desc(const char *call, const acu_format *f,
                           struct cudaChannelFormatDesc *desc) {
    const unsigned n = f->channels ? f->channels : 1;
    const bool normalized = f->encoding == ACU_ENCODING_NORMALIZED;
    int i = 0;
    while (i < TYPES && types[i].dtype != f->dtype)
        i++;
    if (i == TYPES || (normalized && !types[i].normalized))
        return refuse_dtype(call, f);
    if (n != 1 && n != 2 && n != 4)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "format.channels is %u: there can be 1, 2 or 4", n);
    const int kind = normalized ? types[i].normalized + (int)n / 2 : types[i].kind;
    *desc = describe((int)acu_dtype_size(f->dtype) * 8, n, kind);
    return 0;
}

/* Returns the type of an element of a format whose encoding implies it. */
static acu_dtype implied_dtype(const encoding *e) {
    return e->block ? ACU_BYTES(e->block) : ACU_U32;
}

int acu_format_to_desc(const char *call, const acu_format *f, struct cudaChannelFormatDesc *desc) {
    if ((unsigned)f->encoding >= ACU_ENCODING_OTHER)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "format.encoding is %d, which is none to make", (int)f->encoding);
    const encoding *e = &encodings[f->encoding];
    if (!e->kind)
        return numbers_to_desc(call, f, desc);
    if ((f->dtype && f->dtype != implied_dtype(e)) || f->channels > 1)
        return acu_fail(call, "", ACU_ERROR_DTYPE,
                        "format.dtype is %s with %u channels, but the encoding implies %s",
                        acu_dtype_name(f->dtype), f->channels, acu_dtype_name(implied_dtype(e)));
    *desc = describe(e->bits, e->channels, e->kind);
    return 0;
}

static unsigned channels_of(const struct cudaChannelFormatDesc *desc) {
    return 1u + (desc->y != 0) + (desc->z != 0) + (desc->w != 0);
}

/* Returns what CUDA's description means. */
static acu_format format_of(const struct cudaChannelFormatDesc *desc) {
    const unsigned n = channels_of(desc);
    const int kind = (int)desc->f;
    for (int i = 0; i < TYPES; i++) {
        const bool fits = (size_t)desc->x == acu_dtype_size(types[i].dtype) * 8;
        if (fits && kind == types[i].kind)
            return (acu_format){types[i].dtype, n, ACU_ENCODING_NUMBERS};
        if (fits && types[i].normalized && kind == types[i].normalized + (int)n / 2)
            return (acu_format){types[i].dtype, n, ACU_ENCODING_NORMALIZED};
    }
    for (int i = 0; i < ACU_ENCODING_OTHER; i++)
        if (encodings[i].kind && encodings[i].kind == kind)
            return (acu_format){implied_dtype(&encodings[i]), 1, (acu_encoding)i};
    const int bits = desc->x + desc->y + desc->z + desc->w;
    return (acu_format){ACU_BYTES((unsigned)bits / 8), 1, ACU_ENCODING_OTHER};
}

static void set_format(acu_array_shape *shape, const struct cudaChannelFormatDesc *desc) {
    shape->format = format_of(desc);
    shape->element = acu_dtype_size(shape->format.dtype) * shape->format.channels;
}

/* ---- shapes ---- */

static size_t at_least_one(size_t n) {
    return n ? n : 1;
}

acu_extent acu_array_elements(const acu_array_shape *shape, bool in_blocks) {
    const size_t unit = in_blocks && acu_format_is_compressed(&shape->format) ? 4 : 1;
    return (acu_extent){(shape->extent.width + unit - 1) / unit,
                        (at_least_one(shape->extent.height) + unit - 1) / unit,
                        at_least_one(shape->extent.depth)};
}

acu_sparse_properties acu_array_sparse(const struct cudaArraySparseProperties *sparse) {
    const unsigned single = sparse->flags & (unsigned)cudaArraySparsePropertiesSingleMipTail;
    return (acu_sparse_properties){
        .tile = {sparse->tileExtent.width, sparse->tileExtent.height, sparse->tileExtent.depth},
        .first_level = sparse->miptailFirstLevel,
        .tail_bytes = (size_t)sparse->miptailSize,
        .is_single_tail = single != 0};
}

void acu_array_describe_shape(const acu_array_shape *s, acu_description *d) {
    const acu_extent e = s->extent;
    if (e.depth)
        acu_describe(d, "%zu x %zu x %zu", e.width, e.height, e.depth);
    else if (e.height)
        acu_describe(d, "%zu x %zu", e.width, e.height);
    else
        acu_describe(d, "%zu", e.width);
    acu_describe(d, "%u x %s", s->format.channels, acu_dtype_name(s->format.dtype));
    if (!s->owned)
        acu_describe(d, "wrapped");
}

int acu_array_check_flag(const char *call, const void *handle, const acu_array_shape *shape,
                         enum acu_array_flag flag) {
    if (acu_has(shape->flags, (unsigned)flag))
        return 0;
    return acu_fail_on(call, handle, ACU_ERROR_STATE, "it was not made with %s",
                       flag == ACU_ARRAY_SPARSE ? "ACU_ARRAY_SPARSE" : "ACU_ARRAY_DEFERRED");
}

/* ---- the memory ---- */

/* What a storage keeps as its owner: the raw array or mipmap. */
typedef struct raw_memory {
    acu_object object;
    cudaArray_t array;
    cudaMipmappedArray_t mipmap;
    bool owned;
    acu_object *owner; /* the object that has the memory, with a reference; or NULL */
} raw_memory;

/* CUDA knows the device of what is freed; so the memory is not lost where that cannot be made
 * current. */
static int free_raw(int device, cudaArray_t array, cudaMipmappedArray_t mipmap) {
    acu_guard guard;
    const int entered = acu_guard_enter(&guard, device);
    const int mode = acu_thread_ignore_captures();
    const int code = array ? (int)cudaFreeArray(array) : (int)cudaFreeMipmappedArray(mipmap);
    acu_thread_restore(mode);
    acu_guard_leave(&guard);
    return code ? code : entered;
}

static int destroy_memory(acu_object *object) {
    const raw_memory *memory = (const raw_memory *)object;
    acu_object *owner = memory->owner;
    int freed = 0;
    if (memory->owned && !acu_is_unloading())
        freed = acu_forgive_unloading(free_raw(object->device, memory->array, memory->mipmap));
    const int released = owner ? acu_object_release(NULL, owner, owner->was) : 0;
    return freed ? freed : released;
}

static const acu_class memory_class = {"memory of an array", destroy_memory, NULL, NULL};

int acu_array_keep(const acu_array_making *m, acu_array_shape *shape, cudaArray_t array,
                   cudaMipmappedArray_t mipmap, bool owned) {
    raw_memory *memory =
        acu_object_new(m->call, &memory_class, sizeof *memory, m->stream->object.device);
    if (!memory)
        return ACU_ERROR_HOST_MEMORY;
    memory->array = array;
    memory->mipmap = mipmap;
    const acu_storage_request request = {.stream = m->stream,
                                         .dtype = ACU_BYTES(1),
                                         .options = {.memory = ACU_MEMORY_DEVICE},
                                         .given = array ? (void *)array : (void *)mipmap,
                                         .owner = &memory->object};
    const int code = acu_storage_new(m->call, &request, &shape->memory);
    if (code) {
        acu_object_discard(&memory->object);
        return code;
    }
    memory->owned = shape->owned = owned;
    memory->owner = m->owner;
    acu_object_add_owner(m->owner);
    return acu_object_release(NULL, memory, &memory_class); /* the storage is its owner */
}

/* ---- making ---- */

int acu_array_begin_making(acu_array_making *m, const acu_format *format, acu_extent extent,
                           unsigned flags) {
    ACU_TRY(acu_stream_check(m->call, m->stream));
    ACU_TRY(acu_format_to_desc(m->call, format, &m->desc));
    m->extent = extent;
    m->flags = flags;
    acu_destroy_deferred();
    if (!acu_capture_delays(NULL))
        return 0;
    return acu_fail(m->call, "", ACU_ERROR_CAPTURE,
                    "making an array would break the capture that is under way");
}

static int allocate_once(const acu_array_making *m, cudaArray_t *array,
                         cudaMipmappedArray_t *mipmap) {
    const struct cudaExtent extent = {m->extent.width, m->extent.height, m->extent.depth};
    return array ? (int)cudaMalloc3DArray(array, &m->desc, extent, m->flags)
                 : (int)cudaMallocMipmappedArray(mipmap, &m->desc, extent, m->levels, m->flags);
}

/* Lets the device's pool give back what it keeps; returns false where the thread may not wait for
 * earlier frees. */
static bool make_room(const acu_stream *stream) {
    cudaMemPool_t pool = NULL;
    if (acu_stream_check_wait(stream) || cudaStreamSynchronize(stream->raw))
        return false;
    acu_destroy_deferred();
    if (cudaDeviceGetMemPool(&pool, stream->object.device) == cudaSuccess)
        (void)cudaMemPoolTrimTo(pool, 0);
    (void)cudaGetLastError();
    return true;
}

static int allocate(const acu_array_making *m, cudaArray_t *array, cudaMipmappedArray_t *mipmap) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, m->stream->object.device);
    const int mode = acu_thread_ignore_captures();
    if (!code)
        code = allocate_once(m, array, mipmap);
    if (code == cudaErrorMemoryAllocation && make_room(m->stream))
        code = allocate_once(m, array, mipmap);
    acu_thread_restore(mode);
    acu_guard_leave(&guard);
    return code;
}

int acu_array_allocate(acu_array_making *m, acu_array_shape *shape, cudaArray_t *array,
                       cudaMipmappedArray_t *mipmap) {
    cudaArray_t made = NULL;
    int code = allocate(m, array ? &made : NULL, mipmap);
    if (code) {
        acu_array_hint(m, code);
        return acu_cuda_failed_on(m->call, m->stream, code);
    }
    set_format(shape, &m->desc);
    shape->extent = m->extent;
    shape->flags = m->flags;
    code = acu_array_keep(m, shape, made, mipmap ? *mipmap : NULL, true);
    if (code) {
        acu_saved_record failure;
        acu_record_save(&failure);
        if (free_raw(m->stream->object.device, made, mipmap ? *mipmap : NULL))
            acu_record_release_error();
        acu_record_restore(&failure);
    } else if (array) {
        *array = made;
    }
    return code;
}

int acu_array_ask(const acu_array_making *m, cudaArray_t raw, acu_array_shape *shape) {
    struct cudaChannelFormatDesc desc = {0};
    struct cudaExtent extent = {0};
    unsigned flags = 0;
    acu_guard guard;
    int code = acu_guard_enter(&guard, m->stream->object.device);
    if (!code)
        code = (int)cudaArrayGetInfo(&desc, &extent, &flags, raw);
    acu_guard_leave(&guard);
    if (code)
        return acu_cuda_failed_on(m->call, m->stream, code);
    set_format(shape, &desc);
    const bool is_cube = acu_has(flags, cudaArrayCubemap);
    if (is_cube && extent.depth == 0) /* CUDA tells no depth of a cube of OpenGL's */
        extent.depth = 6;
    shape->extent = (acu_extent){extent.width, extent.height, extent.depth};
    shape->flags = flags;
    return 0;
}
