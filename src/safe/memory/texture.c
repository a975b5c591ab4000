/* Textures: what they read, and how they are made and released. */
#include "safe/memory/texture.h"
#include "safe/base/active_capture.h"
#include "safe/base/device.h"
#include "safe/memory/image.h"
#include "safe/memory/region.h"

/* ---- life ---- */

static int destroy_raw(unsigned long long raw) {
    return (int)cudaDestroyTextureObject(raw);
}

static int destroy_texture(acu_object *object) {
    return acu_image_destroy((acu_image *)object, destroy_raw);
}

const acu_class acu_texture_class = {"texture", destroy_texture, acu_image_describe, NULL};

/* ---- sources ---- */

/* What a texture is made of, in CUDA's words. */
typedef struct making {
    const char *call;
    const void *handle; /* what the source has */
    acu_buffer *memory;
    const acu_array_shape *shape; /* NULL: a buffer */
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
    bool has_view;
    unsigned levels;
} making;

static int refuse(const making *m, int code, const char *why) {
    return acu_fail(m->call, "", code, "%s", why);
}

/* Finds the memory; returns 0 or a recorded failure, as all functions here. */
static int find_memory(making *m, const acu_texture_source *s) {
    const int given = (s->array != NULL) + (s->mipmap != NULL) + (s->buffer != NULL);
    if (given != 1)
        return acu_fail(m->call, "", ACU_ERROR_ARGUMENT,
                        "the source has %d of 'array', 'mipmap' and 'buffer', and must have one",
                        given);
    m->levels = 1;
    if (s->array) {
        if (!acu_is(s->array, &acu_array_class))
            return acu_object_refuse(m->call, s->array, &acu_array_class);
        m->handle = s->array;
        m->shape = &s->array->shape;
        m->memory = s->array->shape.memory;
        m->resource.resType = cudaResourceTypeArray;
        m->resource.res.array.array = s->array->raw;
    } else if (s->mipmap) {
        if (!acu_is(s->mipmap, &acu_mipmap_class))
            return acu_object_refuse(m->call, s->mipmap, &acu_mipmap_class);
        m->handle = s->mipmap;
        m->shape = &s->mipmap->shape;
        m->memory = s->mipmap->shape.memory;
        m->levels = s->mipmap->levels;
        m->resource.resType = cudaResourceTypeMipmappedArray;
        m->resource.res.mipmap.mipmap = s->mipmap->raw;
    } else {
        if (!acu_is(s->buffer, &acu_buffer_class))
            return acu_object_refuse(m->call, s->buffer, &acu_buffer_class);
        m->memory = s->buffer;
        m->handle = s->buffer;
    }
    return 0;
}

/* ---- buffers ---- */

static int lay_out_linear(making *m, const acu_texture_source *s, size_t element,
                          const struct cudaChannelFormatDesc *desc) {
    const size_t bytes = acu_buffer_bytes(s->buffer);
    const size_t width = s->width ? s->width : bytes / element;
    if (s->row_pitch)
        return refuse(m, ACU_ERROR_ARGUMENT,
                      "'row_pitch' is for buffers with a height: a linear one has no rows");
    if (width > bytes / element)
        return acu_fail_on(m->call, s->buffer, ACU_ERROR_RANGE,
                           "%zu texels of %zu bytes are more than the buffer has", width, element);
    m->resource.resType = cudaResourceTypeLinear;
    m->resource.res.linear.devPtr = s->buffer->pointer;
    m->resource.res.linear.desc = *desc;
    m->resource.res.linear.sizeInBytes = width * element;
    return 0;
}

static int lay_out_rows(making *m, const acu_texture_source *s, size_t element,
                        const struct cudaChannelFormatDesc *desc) {
    size_t row = 0, pitch = s->row_pitch, end = 0;
    bool lost = __builtin_mul_overflow(s->width, element, &row);
    if (!pitch && s->buffer->pitched) {
        const acu_pitched_layout *l = acu_pitched_layout_of(s->buffer);
        pitch = l->row_pitch;
        if (row > l->extent.width * acu_dtype_size(s->buffer->dtype) ||
            s->height > l->extent.height)
            lost = true;
    } else if (!pitch) {
        pitch = row;
    }
    if (!lost && row > pitch)
        return acu_fail_on(m->call, s->buffer, ACU_ERROR_RANGE,
                           "a row of %zu texels of %zu bytes is longer than the pitch of %zu bytes",
                           s->width, element, pitch);
    lost = lost || __builtin_mul_overflow(pitch, s->height - 1, &end) ||
           __builtin_add_overflow(end, row, &end);
    if (lost || end > acu_buffer_bytes(s->buffer) || row == 0)
        return acu_fail_on(m->call, s->buffer, ACU_ERROR_RANGE,
                           "%zu rows of %zu texels of %zu bytes, %zu bytes apart, are not what the "
                           "buffer has",
                           s->height, s->width, element, pitch);
    m->resource.resType = cudaResourceTypePitch2D;
    m->resource.res.pitch2D.devPtr = s->buffer->pointer;
    m->resource.res.pitch2D.desc = *desc;
    m->resource.res.pitch2D.width = s->width;
    m->resource.res.pitch2D.height = s->height;
    m->resource.res.pitch2D.pitchInBytes = pitch;
    return 0;
}

static int lay_out_buffer(making *m, const acu_texture_source *s) {
    struct cudaChannelFormatDesc desc = {0};
    const acu_format format = {s->buffer->dtype, s->channels, ACU_ENCODING_NUMBERS};
    ACU_TRY(acu_format_to_desc(m->call, &format, &desc));
    const size_t element = acu_dtype_size(format.dtype) * (format.channels ? format.channels : 1);
    return s->height ? lay_out_rows(m, s, element, &desc) : lay_out_linear(m, s, element, &desc);
}

/* ---- views ---- */

/* Returns CUDA's number of a view's format, which follow each other: of each type 1, 2 and 4
 * channels. */
static enum cudaResourceViewFormat view_format(const acu_format *f) {
    static const struct {
        acu_dtype dtype;
        int first;
    } numbers[] = {
        {ACU_U8, cudaResViewFormatUnsignedChar1},   {ACU_I8, cudaResViewFormatSignedChar1},
        {ACU_U16, cudaResViewFormatUnsignedShort1}, {ACU_I16, cudaResViewFormatSignedShort1},
        {ACU_U32, cudaResViewFormatUnsignedInt1},   {ACU_I32, cudaResViewFormatSignedInt1},
        {ACU_F16, cudaResViewFormatHalf1},          {ACU_F32, cudaResViewFormatFloat1}};
    static const unsigned char compressed[] = {
        [ACU_ENCODING_BC1] = cudaResViewFormatUnsignedBlockCompressed1,
        [ACU_ENCODING_BC1_SRGB] = cudaResViewFormatUnsignedBlockCompressed1,
        [ACU_ENCODING_BC2] = cudaResViewFormatUnsignedBlockCompressed2,
        [ACU_ENCODING_BC2_SRGB] = cudaResViewFormatUnsignedBlockCompressed2,
        [ACU_ENCODING_BC3] = cudaResViewFormatUnsignedBlockCompressed3,
        [ACU_ENCODING_BC3_SRGB] = cudaResViewFormatUnsignedBlockCompressed3,
        [ACU_ENCODING_BC4] = cudaResViewFormatUnsignedBlockCompressed4,
        [ACU_ENCODING_BC4_SIGNED] = cudaResViewFormatSignedBlockCompressed4,
        [ACU_ENCODING_BC5] = cudaResViewFormatUnsignedBlockCompressed5,
        [ACU_ENCODING_BC5_SIGNED] = cudaResViewFormatSignedBlockCompressed5,
        [ACU_ENCODING_BC6H] = cudaResViewFormatUnsignedBlockCompressed6H,
        [ACU_ENCODING_BC6H_SIGNED] = cudaResViewFormatSignedBlockCompressed6H,
        [ACU_ENCODING_BC7] = cudaResViewFormatUnsignedBlockCompressed7,
        [ACU_ENCODING_BC7_SRGB] = cudaResViewFormatUnsignedBlockCompressed7};
    if (acu_format_is_compressed(f))
        return (enum cudaResourceViewFormat)compressed[f->encoding];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].dtype == f->dtype)
            return (enum cudaResourceViewFormat)(numbers[i].first +
                                                 (int)(f->channels ? f->channels : 1) / 2);
    return cudaResViewFormatNone;
}

/* Replaces a count of 0 by all that follow the first one; checks that they are there. */
static int select_range(const making *m, const char *what, unsigned first, unsigned count,
                        size_t all, unsigned *last) {
    if (first >= all || count > all - first)
        return count
                   ? acu_fail(m->call, "", ACU_ERROR_RANGE,
                              "%u %s from number %u on are too many: there are %zu", count, what,
                              first, all)
                   : acu_fail(m->call, "", ACU_ERROR_RANGE,
                              "there are no %s from number %u on: there are %zu", what, first, all);
    *last = count ? first + count - 1 : (unsigned)all - 1;
    return 0;
}

static int describe_view(making *m, const acu_texture_source *s) {
    const acu_array_shape *shape = m->shape;
    const bool seen = s->view.dtype || s->view.encoding;
    const acu_format format = seen ? s->view : shape->format;
    struct cudaChannelFormatDesc desc;
    ACU_TRY(acu_format_to_desc(m->call, &format, &desc));
    const size_t scale =
        acu_format_is_compressed(&format) && !acu_format_is_compressed(&shape->format) ? 4 : 1;
    const bool layered =
        acu_has(shape->flags, (unsigned)ACU_ARRAY_LAYERED | (unsigned)ACU_ARRAY_CUBE);
    m->view = (struct cudaResourceViewDesc){.format = view_format(&format),
                                            .width = shape->extent.width * scale,
                                            .height = shape->extent.height * scale,
                                            .depth = shape->extent.depth,
                                            .firstMipmapLevel = s->first_level,
                                            .firstLayer = s->first_layer};
    ACU_TRY(select_range(m, "levels", s->first_level, s->level_count, m->levels,
                         &m->view.lastMipmapLevel));
    m->has_view = true;
    return select_range(m, "layers", s->first_layer, s->layer_count,
                        layered ? shape->extent.depth : 1, &m->view.lastLayer);
}

static int lay_out(making *m, const acu_texture_source *s) {
    const bool buffers = s->channels || s->width || s->height || s->row_pitch;
    const bool views = s->view.dtype || s->view.encoding || s->first_level || s->level_count ||
                       s->first_layer || s->layer_count;
    if (buffers && m->shape)
        return refuse(m, ACU_ERROR_ARGUMENT,
                      "'channels', 'width', 'height' and 'row_pitch' are for buffers");
    if (views && !m->shape)
        return refuse(m, ACU_ERROR_ARGUMENT, "levels, layers and views are for arrays and mipmaps");
    if (!m->shape)
        return lay_out_buffer(m, s);
    return views ? describe_view(m, s) : 0;
}

/* ---- samplers ---- */

/* Returns whether the format is read as fractions whatever the sampler says. */
static bool is_of_fractions(const making *m) {
    const acu_encoding e = m->shape ? m->shape->format.encoding : ACU_ENCODING_NUMBERS;
    return e != ACU_ENCODING_NUMBERS && e != ACU_ENCODING_BC6H && e != ACU_ENCODING_BC6H_SIGNED &&
           e != ACU_ENCODING_OTHER;
}

/* Returns whether the format says by itself that it is sRGB; CUDA wants the sampler to say so, too.
 */
static bool is_srgb(const making *m) {
    const acu_encoding e = m->shape ? m->shape->format.encoding : ACU_ENCODING_NUMBERS;
    return e == ACU_ENCODING_BC1_SRGB || e == ACU_ENCODING_BC2_SRGB || e == ACU_ENCODING_BC3_SRGB ||
           e == ACU_ENCODING_BC7_SRGB;
}

static int describe_sampler(making *m, const acu_sampler *s) {
    for (int i = 0; i < 3; i++)
        if ((unsigned)s->address[i] > ACU_ADDRESS_BORDER)
            return acu_fail(m->call, "", ACU_ERROR_ARGUMENT, "sampler.address[%d] is %d", i,
                            (int)s->address[i]);
    if ((unsigned)s->filter > ACU_FILTER_LINEAR || (unsigned)s->mipmap_filter > ACU_FILTER_LINEAR)
        return acu_fail(m->call, "", ACU_ERROR_ARGUMENT,
                        "sampler.filter is %d, mipmap_filter %d: there are 0 and 1", (int)s->filter,
                        (int)s->mipmap_filter);
    m->texture = (struct cudaTextureDesc){
        .addressMode = {(enum cudaTextureAddressMode)s->address[0],
                        (enum cudaTextureAddressMode)s->address[1],
                        (enum cudaTextureAddressMode)s->address[2]},
        .filterMode = (enum cudaTextureFilterMode)s->filter,
        .readMode = s->fractions || is_of_fractions(m) ? cudaReadModeNormalizedFloat
                                                       : cudaReadModeElementType,
        .sRGB = s->srgb || is_srgb(m),
        .borderColor = {s->border[0], s->border[1], s->border[2], s->border[3]},
        .normalizedCoords = s->normalized,
        .maxAnisotropy = s->max_anisotropy,
        .mipmapFilterMode = (enum cudaTextureFilterMode)s->mipmap_filter,
        .mipmapLevelBias = s->level_bias,
        .minMipmapLevelClamp = s->least_level,
        .maxMipmapLevelClamp = s->most_level > 0 ? s->most_level : (float)(m->levels - 1),
        .disableTrilinearOptimization = s->no_trilinear_optimization,
        .seamlessCubemap = s->seamless_cube};
    return 0;
}

/* ---- making ---- */

static int create_raw(const void *data, unsigned long long *raw) {
    const making *m = data;
    return (int)cudaCreateTextureObject(raw, &m->resource, &m->texture,
                                        m->has_view ? &m->view : NULL);
}

static void hint(const making *m, int code) {
    if (code == cudaErrorInvalidFilterSetting)
        acu_fail_hint("integers are mixed only as fractions: sampler.fractions, of 8 or 16 bits");
    else if (code == cudaErrorInvalidNormSetting)
        acu_fail_hint("only integers of 8 and 16 bits are read as fractions");
    else if (code == cudaErrorInvalidValue && m->has_view)
        acu_fail_hint("the elements of a view are as large as those of the array, of %zu bytes, "
                      "and compressed views are of arrays of whole blocks: two or four u32",
                      m->shape->element);
    else if (code == cudaErrorInvalidValue && !m->shape)
        acu_fail_hint(
            "the buffer's address must be a multiple of the device's textureAlignment, a "
            "pitch of its texturePitchAlignment, and a size not beyond maxTexture2DLinear");
}

acu_result acu_texture_create(const acu_texture_source *source, const acu_sampler *sampler,
                              acu_texture **texture) {
    ACU_SCOPE();
    static const acu_sampler plain;
    making m = {.call = __func__};
    acu_image *image = NULL;
    ACU_NEED_POINTER(texture);
    *texture = NULL;
    ACU_NEED_POINTER(source);
    ACU_TRY(find_memory(&m, source));
    ACU_TRY(lay_out(&m, source));
    ACU_TRY(describe_sampler(&m, sampler ? sampler : &plain));
    ACU_TRY(acu_image_check_capture(__func__));
    const acu_image_making how = {__func__, &acu_texture_class, m.memory, create_raw, &m};
    const int code = acu_image_create(&how, &image);
    if (code > 0)
        hint(&m, code);
    *texture = (acu_texture *)image;
    return code > 0 ? acu_cuda_failed_on(__func__, m.handle, code) : code;
}

static int on_raw(const char *call, unsigned long long raw, const acu_texture_source *source,
                  bool owned, acu_texture **texture) {
    making m = {.call = call};
    acu_image *image = NULL;
    if (!texture)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'texture' is NULL");
    *texture = NULL;
    if (!source)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'source' is NULL");
    if (!raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'raw' is 0, which is no texture");
    ACU_TRY(find_memory(&m, source));
    ACU_TRY(acu_image_new(call, &acu_texture_class, m.memory, raw, owned, &image));
    *texture = (acu_texture *)image;
    return 0;
}

acu_result acu_texture_wrap(unsigned long long raw, const acu_texture_source *source,
                            acu_texture **texture) {
    ACU_SCOPE();
    return on_raw(__func__, raw, source, false, texture);
}

acu_result acu_texture_adopt(unsigned long long raw, const acu_texture_source *source,
                             acu_texture **texture) {
    ACU_SCOPE();
    return on_raw(__func__, raw, source, true, texture);
}

acu_texture *acu_texture_retain(acu_texture *texture) {
    return acu_object_retain(__func__, texture, &acu_texture_class);
}

acu_result acu_texture_release(acu_texture *texture) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, texture, &acu_texture_class);
}

void acu_texture_cleanup(acu_texture **texture) {
    (void)acu_texture_release(acu_take(texture));
}

size_t acu_texture_describe(const acu_texture *texture, char *text, size_t size) {
    return acu_object_describe_as(texture, &acu_texture_class, text, size);
}

unsigned long long acu_texture_raw(const acu_texture *texture) {
    return acu_is(texture, &acu_texture_class) ? texture->image.raw : 0;
}

acu_device acu_texture_device(const acu_texture *texture) {
    return acu_is(texture, &acu_texture_class) ? texture->image.object.device : ACU_DEVICE_CURRENT;
}
