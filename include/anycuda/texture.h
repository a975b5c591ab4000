/*
 * Textures and surfaces: what kernels read arrays, mipmaps and buffers through, and write arrays.
 *
 * Both are arguments of launches, as buffers are:
 *
 *     acu_launch(stream, kernel, acu_grid_1d(n, 256), texture, surface, n);
 *
 * The kernel's parameter is a cudaTextureObject_t or a cudaSurfaceObject_t. A launch is a use of
 * the memory behind them, which is ordered among streams as any other; a texture is read, a surface
 * also written unless acu_in_surface() says otherwise. Captures and graphs keep both.
 */
#ifndef ACU_TEXTURE_H
#define ACU_TEXTURE_H

#include <anycuda/array.h>

ACU_BEGIN_C

/** A texture. */
typedef struct acu_texture acu_texture;

/** A surface. */
typedef struct acu_surface acu_surface;

/** What is read beyond an edge, with CUDA's numbers. The first and third need fractions. */
typedef enum acu_address_mode {
    ACU_ADDRESS_WRAP,   /* the texture again; of coordinates that count texels as the next */
    ACU_ADDRESS_CLAMP,  /* the texel at the edge */
    ACU_ADDRESS_MIRROR, /* the texture in a mirror; of coordinates that count texels as clamped */
    ACU_ADDRESS_BORDER  /* the border's color */
} acu_address_mode;

/** How texels become a sample, with CUDA's numbers. */
typedef enum acu_filter {
    ACU_FILTER_POINT, /* the texel that is there */
    ACU_FILTER_LINEAR /* a mixture of the neighbours, of floats only */
} acu_filter;

/** How a texture is sampled; all zero reads the texel that is there, by coordinates that count. */
typedef struct acu_sampler {
    acu_address_mode address[3]; /* of x, y and z; a cube's faces have those of x and y */
    acu_filter filter;
    /* Integers of 8 and 16 bits are read as fractions: 0 to 1, or -1 to 1. Normalised and
     * compressed formats always are. */
    bool fractions;
    bool srgb;          /* the first three channels, fractions of 8 bits, are sRGB */
    bool normalized;    /* coordinates are fractions of the extent, instead of counting texels */
    float border[4];    /* the color of ACU_ADDRESS_BORDER */
    bool seamless_cube; /* filters across the edges of a cube's faces */
    /* Of mipmaps: */
    acu_filter mipmap_filter; /* between levels */
    float level_bias;         /* is added to each level */
    float least_level;
    float most_level; /* 0: the last one */
    unsigned max_anisotropy;
    bool no_trilinear_optimization;
} acu_sampler;

/**
 * What a texture reads: one of `array`, `mipmap` and `buffer`. The texture keeps it.
 *
 * A buffer is read from its first element on, which must be aligned to the device's
 * textureAlignment. Without a height it is linear: kernels read it by integers alone.
 */
typedef struct acu_texture_source {
    acu_array *array;
    acu_mipmap *mipmap;
    acu_buffer *buffer;

    /* Of a buffer: */
    unsigned channels; /* of its type that make a texel; 0 means 1 */
    size_t width;      /* texels of a row; of a linear one 0 means all */
    size_t height;     /* rows; 0: linear */
    size_t row_pitch;  /* bytes from a row to the next one; 0: those of a pitched buffer, which then
                          has to have all rows in its first slice, or in any other buffer no gap */

    /* Of an array or a mipmap, a view: its elements seen in another format of the same size, and
     * some of its levels and layers. All zero: everything, as it is. A view without a format has
     * that of the array or mipmap. */
    acu_format view;
    unsigned first_level, level_count; /* 0 levels: all others */
    unsigned first_layer, layer_count; /* 0 layers: all others */
} acu_texture_source;

/**
 * Makes a texture, which the caller owns; `sampler` may be NULL.
 *
 * Errors: ACU_ERROR_ARGUMENT where the source is not exactly one thing, or a field does not go with
 * it; ACU_ERROR_RANGE where a buffer is too small, or there are no such levels or layers;
 * ACU_ERROR_DTYPE where there is no such format; ACU_ERROR_CAPTURE while a capture is under way
 * that the call would break; 26 (a linear filter of integers), 27 (fractions of what is none) and 1
 * where CUDA has no such texture.
 */
ACU_CHECKED acu_result acu_texture_create(const acu_texture_source *source,
                                          const acu_sampler *sampler, acu_texture **texture);

/**
 * Makes a handle for a raw cudaTextureObject_t that stays someone else's; the caller owns the
 * handle. `source` has the array, mipmap or buffer that the texture reads, so that uses are
 * ordered.
 */
ACU_CHECKED acu_result acu_texture_wrap(unsigned long long raw, const acu_texture_source *source,
                                        acu_texture **texture);

/**
 * Makes a handle that owns a raw texture: the last release destroys both. If this call fails, the
 * raw texture stays the caller's. Everything else is as for acu_texture_wrap().
 */
ACU_CHECKED acu_result acu_texture_adopt(unsigned long long raw, const acu_texture_source *source,
                                         acu_texture **texture);

/** Adds an owner and returns the texture; NULL where the handle is not a texture. */
acu_texture *acu_texture_retain(acu_texture *texture);

/**
 * Takes an owner away; the last release waits until all uses of the memory are done, because a
 * kernel may still sample it, and destroys the texture. Everything else is as for
 * acu_stream_release().
 */
acu_result acu_texture_release(acu_texture *texture);

void acu_texture_cleanup(acu_texture **texture);

/** Writes one line that names the texture, as errors do; acu_stream_describe() has the rules. */
size_t acu_texture_describe(const acu_texture *texture, char *text, size_t size);

/** Returns the cudaTextureObject_t, which stays the handle's; 0 where the handle is no texture. */
unsigned long long acu_texture_raw(const acu_texture *texture);

/** Returns the device; ACU_DEVICE_CURRENT where the handle is not a texture. */
acu_device acu_texture_device(const acu_texture *texture);

/**
 * Makes a surface of an array, or of a level of a mipmap, which it keeps; the caller owns the
 * surface. Errors: ACU_ERROR_STATE where the array was made without ACU_ARRAY_SURFACE;
 * ACU_ERROR_CAPTURE as for acu_texture_create().
 */
ACU_CHECKED acu_result acu_surface_create(acu_array *array, acu_surface **surface);

/**
 * Makes a handle for a raw cudaSurfaceObject_t of an array, as acu_texture_wrap() does; the caller
 * owns the handle.
 */
ACU_CHECKED acu_result acu_surface_wrap(unsigned long long raw, acu_array *array,
                                        acu_surface **surface);

/** Makes a handle that owns a raw surface of an array, as acu_texture_adopt() does. */
ACU_CHECKED acu_result acu_surface_adopt(unsigned long long raw, acu_array *array,
                                         acu_surface **surface);

/** Adds an owner and returns the surface; NULL where the handle is not a surface. */
acu_surface *acu_surface_retain(acu_surface *surface);

/** Takes an owner away; the last release is as that of acu_texture_release(). */
acu_result acu_surface_release(acu_surface *surface);

void acu_surface_cleanup(acu_surface **surface);

/** Writes one line that names the surface, as errors do; acu_stream_describe() has the rules. */
size_t acu_surface_describe(const acu_surface *surface, char *text, size_t size);

/** Returns the cudaSurfaceObject_t, which stays the handle's; 0 where the handle is no surface. */
unsigned long long acu_surface_raw(const acu_surface *surface);

/** Returns the device; ACU_DEVICE_CURRENT where the handle is not a surface. */
acu_device acu_surface_device(const acu_surface *surface);

ACU_END_C

#endif
