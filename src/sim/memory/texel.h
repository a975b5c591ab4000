/* The texels of a texture: where they are, and what their bits mean. */
#ifndef ACU_SIM_MEMORY_TEXEL_H
#define ACU_SIM_MEMORY_TEXEL_H

#include "sim/memory/array.h"
#include "sim/memory/texture.h"

/* What a texture reads: levels, and how their elements are read. */
typedef struct acu_sim_image {
    const acu_sim_texture *texture;
    struct cudaChannelFormatDesc format;
    bool as_fractions; /* integers become floats */
    bool srgb;
    bool mixes;                   /* texels are mixed with those beside */
    bool keeps_least;             /* texels are mixed, if only with another level's: signed bytes
                                     may be less than -1 */
    bool moves;                   /* texels are looked up, one by one, under the lock */
    acu_sim_array *const *levels; /* NULL: memory */
    acu_sim_array *only;          /* where `levels` leads without a mipmap */
    unsigned level_count;
    unsigned first_layer, layer_count;
    const char *memory;
    size_t width, height, pitch, element; /* of memory */
    const char *bytes;                    /* where the simulator has `memory`; NULL: it moves */
    /* What follows of the format and the mode of reading: */
    unsigned char means;    /* what the elements are: texel.c knows */
    unsigned char channels; /* of a texel; a compressed one has all four */
    bool is_compressed;
    bool is_float;   /* texels are floats, or become floats, so that they can be mixed */
    bool has_colors; /* sRGB's, which alpha is not */
    bool is_flat; /* texels of one level are floats of 32 bits, are mixed, and lie in `bytes` or in
                     the bytes of `only` */
    double most[4]; /* of each component the integer that means 1, in the 16 bits in which fractions
                       are mixed; 0 where they are mixed as floats */
} acu_sim_image;

/* The size of a level, at least 1 in each direction. */
typedef struct acu_sim_size {
    size_t width, height, depth;
} acu_sim_size;

/* Finds what the texture reads, which is valid as long as the texture and its array or memory are.
 * Called under the lock; so is whoever reads texels of an image that `moves`. */
void acu_sim_image_of(const acu_sim_texture *texture, acu_sim_image *image);
acu_sim_size acu_sim_image_size(const acu_sim_image *image, unsigned level);
/* Returns the number that 16 bits represent. */
float acu_sim_half_to_float(unsigned half);
/* Rounds to a number that 16 bits can represent. */
float acu_sim_image_half(double value);
/* Returns whether a component is one of sRGB's colors: the last one of several is none. */
static inline bool acu_sim_image_is_color(const acu_sim_image *image, int component) {
    return image->has_colors && (component == 0 || component + 1 < image->channels);
}
/* Returns the color of the nearest of sRGB's 256 values. */
float acu_sim_image_srgb_color(float color);
/* Returns the exponent, as frexp() does, with which one of sRGB's colors is mixed. */
int acu_sim_image_srgb_exponent(double color);
/* Reads a texel within the texture. Where its memory is not there, the texel is 0, and
 * acu_sim_image_take_missing() returns the address. */
acu_sim_texel acu_sim_image_texel(const acu_sim_image *image, unsigned level, size_t x, size_t y,
                                  size_t z);
/* Returns the floats of a texel of an image that is flat. */
const float *acu_sim_image_floats(const acu_sim_image *image, size_t x, size_t y, size_t z);
/* Returns the last address that this thread read and that is not in memory, once; NULL if there was
 * none. */
const void *acu_sim_image_take_missing(void);
/* Returns, once, whether this thread read a texel of an array where nothing is mapped. */
bool acu_sim_image_take_absent(void);

#endif
