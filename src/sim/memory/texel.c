/* The texels of a texture. */
#include "sim/memory/texel.h"

#include "sim/memory/array.h"
#include "sim/memory/compressed.h"
#include "sim/memory/range.h"

#include <math.h>
#include <string.h>

/* ---- where they are ---- */

static struct cudaChannelFormatDesc compressed_view(enum cudaResourceViewFormat view) {
    static const int kinds[] = {cudaChannelFormatKindUnsignedBlockCompressed1,
                                cudaChannelFormatKindUnsignedBlockCompressed2,
                                cudaChannelFormatKindUnsignedBlockCompressed3,
                                cudaChannelFormatKindUnsignedBlockCompressed4,
                                cudaChannelFormatKindSignedBlockCompressed4,
                                cudaChannelFormatKindUnsignedBlockCompressed5,
                                cudaChannelFormatKindSignedBlockCompressed5,
                                cudaChannelFormatKindUnsignedBlockCompressed6H,
                                cudaChannelFormatKindSignedBlockCompressed6H,
                                cudaChannelFormatKindUnsignedBlockCompressed7};
    const unsigned number = (unsigned)view - cudaResViewFormatUnsignedBlockCompressed1;
    return acu_sim_compressed_describe((enum cudaChannelFormatKind)kinds[number]);
}

/* Returns what a view's format is as an array's; CUDA's numbers are of 1, 2 and 4 channels of each
 * type. */
static struct cudaChannelFormatDesc format_of_view(enum cudaResourceViewFormat view) {
    if (view >= cudaResViewFormatUnsignedBlockCompressed1)
        return compressed_view(view);
    static const struct {
        unsigned char bits, kind;
    } types[] = {{8, cudaChannelFormatKindUnsigned},  {8, cudaChannelFormatKindSigned},
                 {16, cudaChannelFormatKindUnsigned}, {16, cudaChannelFormatKindSigned},
                 {32, cudaChannelFormatKindUnsigned}, {32, cudaChannelFormatKindSigned},
                 {16, cudaChannelFormatKindFloat},    {32, cudaChannelFormatKindFloat}};
    const unsigned number = (unsigned)view - cudaResViewFormatUnsignedChar1, channels = number % 3;
    const int bits = types[number / 3].bits;
    return (struct cudaChannelFormatDesc){bits, channels > 0 ? bits : 0, channels > 1 ? bits : 0,
                                          channels > 1 ? bits : 0,
                                          (enum cudaChannelFormatKind)types[number / 3].kind};
}

/* Restricts the image to a view: its format, levels and layers. */
static void apply_view(const struct cudaResourceViewDesc *view, acu_sim_image *image) {
    if (view->format > cudaResViewFormatNone)
        image->format = format_of_view(view->format);
    if (image->levels && view->firstMipmapLevel < image->level_count) {
        const unsigned last = view->lastMipmapLevel < image->level_count ? view->lastMipmapLevel
                                                                         : image->level_count - 1;
        image->levels += view->firstMipmapLevel;
        image->level_count = last - view->firstMipmapLevel + 1;
    }
    if (view->firstLayer < image->layer_count && view->lastLayer > 0) {
        const unsigned last =
            view->lastLayer < image->layer_count ? view->lastLayer : image->layer_count - 1;
        image->first_layer = view->firstLayer;
        image->layer_count = last - view->firstLayer + 1;
    }
}

typedef enum meaning {
    WHOLE_SIGNED,
    WHOLE_UNSIGNED,
    REAL,
    FRACTION_SIGNED,
    FRACTION_UNSIGNED
} meaning;

static meaning meaning_of(const acu_sim_image *image) {
    const int kind = (int)image->format.f;
    if (kind == cudaChannelFormatKindFloat)
        return REAL;
    if (kind == cudaChannelFormatKindSigned)
        return image->as_fractions ? FRACTION_SIGNED : WHOLE_SIGNED;
    if (kind == cudaChannelFormatKindUnsigned)
        return image->as_fractions ? FRACTION_UNSIGNED : WHOLE_UNSIGNED;
    if (acu_sim_compressed_size(image->format.f))
        return acu_sim_compressed_is_half(image->format.f)     ? REAL
               : acu_sim_compressed_is_signed(image->format.f) ? FRACTION_SIGNED
                                                               : FRACTION_UNSIGNED;
    return kind >= cudaChannelFormatKindSignedNormalized8X1 ? FRACTION_SIGNED : FRACTION_UNSIGNED;
}

static double most_of(const acu_sim_image *image, int component) {
    const bool is_alpha = image->format.x == 8 && !acu_sim_image_is_color(image, component);
    return image->means == FRACTION_UNSIGNED && (!image->srgb || is_alpha) ? 65535
           : image->means == FRACTION_SIGNED                               ? 32767
                                                                           : 0;
}

/* Finds out what does not change from texel to texel. */
static void complete(acu_sim_image *image) {
    const struct cudaChannelFormatDesc *f = &image->format;
    image->means = (unsigned char)meaning_of(image);
    image->is_compressed = acu_sim_compressed_size(f->f) > 0;
    image->channels =
        (unsigned char)(image->is_compressed ? 4 : 1 + (f->y != 0) + (f->z != 0) + (f->w != 0));
    image->is_float = image->means >= REAL;
    image->has_colors = image->srgb && f->x == 8 && image->means == FRACTION_UNSIGNED;
    image->mixes = image->texture->texture.filterMode == cudaFilterModeLinear;
    image->keeps_least = image->mixes;
    for (int i = 0; i < 4; i++)
        image->most[i] = most_of(image, i);
}

/* Finds out whether texels have to be looked up one by one: those of arrays to which the program
 * maps memory, and of memory that is not all in one allocation. */
static void find_bytes(acu_sim_image *image) {
    if (image->only) {
        image->moves = !image->only->bytes;
        return;
    }
    const uintptr_t first = (uintptr_t)image->memory;
    const size_t size = (image->height - 1) * image->pitch + image->width * image->element;
    const acu_sim_range *range = acu_sim_range_overlapping(first, 1);
    image->moves = !range || range->dormant || size > range->base + range->size - first;
    image->bytes = image->moves ? NULL : acu_sim_range_bytes(range, image->memory);
}

void acu_sim_image_of(const acu_sim_texture *t, acu_sim_image *image) {
    const struct cudaResourceDesc *r = &t->resource;
    *image = (acu_sim_image){.texture = t,
                             .level_count = 1,
                             .as_fractions = t->texture.readMode == cudaReadModeNormalizedFloat,
                             .srgb = t->texture.sRGB != 0};
    switch (r->resType) {
    case cudaResourceTypeArray:
        image->only = acu_sim_array_of(r->res.array.array);
        break;
    case cudaResourceTypeMipmappedArray:
        image->levels = acu_sim_array_mipmap_levels(r->res.mipmap.mipmap, &image->level_count);
        image->only = image->levels ? image->levels[0] : NULL;
        break;
    case cudaResourceTypeLinear:
        image->format = r->res.linear.desc;
        image->memory = r->res.linear.devPtr;
        image->element = acu_sim_array_format_size(&image->format);
        image->width = r->res.linear.sizeInBytes / image->element;
        image->height = 1;
        break;
    case cudaResourceTypePitch2D:
        image->format = r->res.pitch2D.desc;
        image->memory = r->res.pitch2D.devPtr;
        image->element = acu_sim_array_format_size(&image->format);
        image->width = r->res.pitch2D.width;
        image->height = r->res.pitch2D.height;
        image->pitch = r->res.pitch2D.pitchInBytes;
        break;
    }
    if (image->only)
        image->format = image->only->desc;
    image->layer_count = image->only ? (unsigned)image->only->depth : 1;
    if (image->only && t->view.width)
        apply_view(&t->view, image);
    complete(image);
    find_bytes(image);
    image->is_flat = image->mixes && image->is_float && !image->moves && !image->levels &&
                     !image->is_compressed && image->format.x == 32 &&
                     r->resType != cudaResourceTypeLinear;
}

acu_sim_size acu_sim_image_size(const acu_sim_image *image, unsigned level) {
    const acu_sim_array *a = image->levels ? image->levels[level] : image->only;
    if (!a)
        return (acu_sim_size){image->width, image->height, 1};
    /* A compressed view makes each element of the array a block. */
    const bool is_view = image->is_compressed && !acu_sim_compressed_size(a->desc.f);
    const size_t side = is_view ? SIM_BLOCK : 1, height = a->extent.height ? a->extent.height : 1;
    return (acu_sim_size){a->extent.width * side, height * side, a->depth};
}

static _Thread_local const void *missing;

const void *acu_sim_image_take_missing(void) {
    const void *taken = missing;
    missing = NULL;
    return taken;
}

static _Thread_local bool absent;

bool acu_sim_image_take_absent(void) {
    const bool taken = absent;
    absent = false;
    return taken;
}

/* Returns where the bits of an element, or a block, are; or where zeros are. That is right for
 * tiles of an array that have no memory, and noted of other memory. */
static const char *find_bits(const acu_sim_image *image, unsigned level, size_t x, size_t y,
                             size_t z) {
    static const char zeros[16];
    const acu_sim_array *a = image->levels ? image->levels[level] : image->only;
    size_t run;
    if (a && a->bytes)
        return a->bytes + (z * a->height + y) * a->pitch + x * a->element;
    if (a) {
        const char *there = acu_sim_array_memory_at(a, x * a->element, y, z, &run);
        absent = absent || !there;
        return there ? there : zeros;
    }
    const size_t offset = y * image->pitch + x * image->element;
    if (!image->moves)
        return image->bytes + offset;
    const char *from = image->memory + offset;
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)from, 1);
    if (range && !range->dormant && image->element <= range->base + range->size - (uintptr_t)from)
        return acu_sim_range_bytes(range, from);
    missing = from;
    return zeros;
}

const float *acu_sim_image_floats(const acu_sim_image *image, size_t x, size_t y, size_t z) {
    return (const float *)(const void *)find_bits(image, 0, x, y, z);
}

/* ---- what their bits mean ---- */

float acu_sim_half_to_float(unsigned half) {
    const unsigned exponent = half >> 10 & 31, fraction = half & 1023;
    const unsigned sign = half >> 15 << 31, special = sign | 0x7f800000u | fraction << 13;
    float value = exponent == 0 ? ldexpf((float)fraction, -24)
                                : ldexpf((float)(fraction | 1024), (int)exponent - 25);
    if (exponent == 31) /* no number keeps its bits */
        memcpy(&value, &special, sizeof value);
    return exponent < 31 && sign ? -value : value;
}

/* Such numbers have 11 bits, and none less than 2^-24. In the middle of two the one further away
 * from 0 is taken. */
float acu_sim_image_half(double value) {
    int exponent;
    (void)frexp(value, &exponent);
    exponent = exponent < -13 ? -13 : exponent;
    const double parts = ldexp(value < 0 ? -value : value, 11 - exponent) + 0.5;
    const double whole = parts < 0x1p40 ? (double)(long long)parts : parts;
    return (float)copysign(ldexp(whole, exponent - 11), value);
}

/* What an H200 makes of sRGB's 256 values: halves, of which some have 8 bits only. */
static const unsigned short linear_of_srgb[256] = {
    0,      0x0d00, 0x1100, 0x1380, 0x1500, 0x1640, 0x1780, 0x1860, 0x1900, 0x19a0, 0x1a40, 0x1ae0,
    0x1b80, 0x1c20, 0x1c80, 0x1ce0, 0x1d50, 0x1dc0, 0x1e30, 0x1eb0, 0x1f30, 0x1fb0, 0x2018, 0x2060,
    0x20b0, 0x20f8, 0x2148, 0x21a0, 0x21f0, 0x2248, 0x22a8, 0x2300, 0x2360, 0x23d0, 0x2418, 0x2450,
    0x2488, 0x24c0, 0x24f8, 0x2530, 0x2570, 0x25b0, 0x25f0, 0x2630, 0x2670, 0x26b8, 0x2700, 0x2748,
    0x2790, 0x27e0, 0x2818, 0x2840, 0x2868, 0x2890, 0x28b8, 0x28e0, 0x2910, 0x2940, 0x2968, 0x2998,
    0x29c8, 0x29f8, 0x2a28, 0x2a60, 0x2a90, 0x2ac0, 0x2b00, 0x2b30, 0x2b60, 0x2ba0, 0x2bd0, 0x2c08,
    0x2c28, 0x2c40, 0x2c60, 0x2c80, 0x2ca0, 0x2cc0, 0x2ce0, 0x2d00, 0x2d20, 0x2d48, 0x2d68, 0x2d88,
    0x2db0, 0x2dd0, 0x2df8, 0x2e18, 0x2e40, 0x2e68, 0x2e88, 0x2eb0, 0x2ed8, 0x2f00, 0x2f28, 0x2f50,
    0x2f80, 0x2fa0, 0x2fd0, 0x3000, 0x3010, 0x3028, 0x3040, 0x3058, 0x3070, 0x3088, 0x30a0, 0x30b8,
    0x30d0, 0x30e8, 0x3100, 0x3118, 0x3130, 0x3148, 0x3160, 0x3180, 0x3198, 0x31b0, 0x31d0, 0x31e8,
    0x3200, 0x3220, 0x3238, 0x3258, 0x3270, 0x3290, 0x32b0, 0x32c8, 0x32e8, 0x3308, 0x3328, 0x3340,
    0x3360, 0x3380, 0x33a0, 0x33c0, 0x33e0, 0x3400, 0x3410, 0x3420, 0x3430, 0x3440, 0x3450, 0x3468,
    0x3478, 0x3488, 0x3498, 0x34a8, 0x34c0, 0x34d0, 0x34e0, 0x34f0, 0x3508, 0x3518, 0x3528, 0x3540,
    0x3550, 0x3568, 0x3578, 0x3590, 0x35a0, 0x35b0, 0x35c8, 0x35e0, 0x35f0, 0x3608, 0x3618, 0x3630,
    0x3640, 0x3658, 0x3670, 0x3688, 0x3698, 0x36b0, 0x36c8, 0x36d8, 0x36f0, 0x3708, 0x3720, 0x3738,
    0x3750, 0x3768, 0x3780, 0x3790, 0x37b0, 0x37c0, 0x37e0, 0x37f0, 0x3808, 0x3810, 0x3820, 0x3828,
    0x3838, 0x3848, 0x3850, 0x3860, 0x3868, 0x3878, 0x3888, 0x3890, 0x38a0, 0x38b0, 0x38b8, 0x38c8,
    0x38d8, 0x38e0, 0x38f0, 0x3900, 0x3908, 0x3918, 0x3928, 0x3938, 0x3948, 0x3950, 0x3960, 0x3970,
    0x3980, 0x3990, 0x3998, 0x39a8, 0x39b8, 0x39c8, 0x39d8, 0x39e8, 0x39f8, 0x3a08, 0x3a18, 0x3a28,
    0x3a38, 0x3a48, 0x3a58, 0x3a68, 0x3a78, 0x3a88, 0x3a98, 0x3aa8, 0x3ab8, 0x3ac8, 0x3ad8, 0x3ae8,
    0x3af8, 0x3b08, 0x3b18, 0x3b28, 0x3b40, 0x3b50, 0x3b60, 0x3b70, 0x3b80, 0x3b90, 0x3ba0, 0x3bb0,
    0x3bd0, 0x3be0, 0x3bf0, 0x3c00};

/* Returns whether a color is not less than one of sRGB's values, whose last part may be a half. The
 * power of 2.4 that sRGB has is compared without roots. */
static bool is_color_from(double color, double value) {
    const double part = value / 255, base = (part + 0.055) / 1.055;
    const double base_4 = base * base * base * base, color_4 = color * color * color * color;
    return part <= 0.04045 ? color >= part / 12.92 : color_4 * color >= base_4 * base_4 * base_4;
}

float acu_sim_image_srgb_color(float color) {
    unsigned value = 0;
    while (value < 255 && is_color_from((double)color, value + 0.5))
        value++;
    return acu_sim_half_to_float(linear_of_srgb[value]);
}

/* Eight values have the exponent of the last one. */
int acu_sim_image_srgb_exponent(double color) {
    unsigned last = 7;
    int exponent;
    while (last < 255 && (double)acu_sim_half_to_float(linear_of_srgb[last]) < color)
        last += 8;
    (void)frexp((double)acu_sim_half_to_float(linear_of_srgb[last]), &exponent);
    return exponent;
}

static float fraction_of(const acu_sim_image *image, unsigned raw, int whole) {
    const float most = (float)((1u << (image->format.x - 1)) - 1u);
    if (image->means == FRACTION_UNSIGNED)
        return (float)raw / (most * 2 + 1);
    return (float)whole < -most && !image->keeps_least ? -1 : (float)whole / most;
}

static acu_sim_texel decode(const acu_sim_image *image, const char *bits) {
    const size_t size = (size_t)image->format.x / 8;
    const unsigned sign = 1u << (image->format.x - 1);
    acu_sim_texel texel = {{0}};
    if (size == 4) {
        memcpy(&texel, bits, image->channels * size);
        return texel;
    }
    for (int i = 0; i < image->channels; i++) {
        unsigned raw = 0;
        memcpy(&raw, bits + (size_t)i * size, size);
        const int whole = (int)((raw ^ sign) - sign);
        if (image->means == WHOLE_UNSIGNED)
            texel.u[i] = raw;
        else if (image->means == WHOLE_SIGNED)
            texel.i[i] = whole;
        else if (image->means == REAL)
            texel.f[i] = acu_sim_half_to_float(raw);
        else if (acu_sim_image_is_color(image, i))
            texel.f[i] = acu_sim_half_to_float(linear_of_srgb[raw]);
        else
            texel.f[i] = fraction_of(image, raw, whole);
    }
    return texel;
}

/* Reads a texel of a compressed array: a part of a block. */
static acu_sim_texel decompress(const acu_sim_image *image, unsigned level, size_t x, size_t y,
                                size_t z) {
    const char *block = find_bits(image, level, x / SIM_BLOCK, y / SIM_BLOCK, z);
    acu_sim_texel texel =
        acu_sim_compressed_texel(image->format.f, (const unsigned char *)block,
                                 (unsigned)(y % SIM_BLOCK * SIM_BLOCK + x % SIM_BLOCK));
    for (int i = 0; image->srgb && i < 3; i++)
        texel.f[i] = acu_sim_half_to_float(linear_of_srgb[(unsigned)(texel.f[i] * 255 + 0.5f)]);
    return texel;
}

acu_sim_texel acu_sim_image_texel(const acu_sim_image *image, unsigned level, size_t x, size_t y,
                                  size_t z) {
    return image->is_compressed ? decompress(image, level, x, y, z)
                                : decode(image, find_bits(image, level, x, y, z));
}
