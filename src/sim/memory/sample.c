/* How a texture is sampled. */
#include "sim/memory/sample.h"

#include "sim/memory/array.h"
#include "sim/memory/compressed.h"
#include "sim/memory/footprint.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- coordinates ---- */

enum {
    ONE = 256 /* a weight of all: fractions have 8 bits */
};

/* Where a sample lies along one direction: between two texels. */
typedef struct axis {
    long long first;    /* the first texel, which may lie beyond an edge */
    long long texel[2]; /* both, brought back */
    int weight;         /* of the second one, of ONE */
    bool is_outside[2]; /* the texel is the border */
} axis;

/* Returns the largest whole number that is not more; numbers beyond 2^60 are that, and what is no
 * number is -2^60. */
static long long floor_of(double x) {
    const double most = 0x1p60;
    const double within = x > most ? most : x >= -most ? x : -most;
    const long long whole = (long long)within;
    return whole - ((double)whole > within);
}

/* Returns what remains of a float divided by 2; large ones, and infinity, are whole pairs. */
static double remainder_of_two(double x) {
    const double least_pair = 0x1p24;
    if (x >= least_pair || x <= -least_pair)
        return 0;
    return x - 2 * (double)(long long)(x / 2);
}

/* Returns the coordinate as hardware takes it: what is no number, or denormal, is 0. */
static double clean(float x) {
    return isnan(x) || fabsf(x) < FLT_MIN ? 0 : (double)x;
}

/* Returns a coordinate that counts texels, in 2^bits parts of one. A mirrored texture is twice as
 * long. */
static long long texels_of(double at, size_t size, enum cudaTextureAddressMode mode,
                           bool normalized, unsigned *bits) {
    *bits = 9;
    if (!normalized)
        return floor_of(at * 512);
    *bits = size > 8192 ? 22 : 21; /* as an H200 has them */
    const long long one = 1ll << *bits, most = one << 8;
    if (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)
        at = remainder_of_two(at);
    long long x = floor_of(at * (double)one);
    if (mode == cudaAddressModeWrap)
        x &= one - 1;
    if (mode == cudaAddressModeMirror)
        x &= 2 * one - 1;
    x = x < -most ? -most : x > most ? most : x;
    return x * (long long)size;
}

/* Returns what remains of a number divided by a size, and is not negative. */
static long long remainder_of(long long x, long long size) {
    return (x % size + size) % size;
}

/* Brings a texel beyond the edge back; returns whether it is the border. */
static bool fold(long long *x, long long size, enum cudaTextureAddressMode mode) {
    if (*x >= 0 && *x < size)
        return false;
    if (mode == cudaAddressModeWrap)
        *x = remainder_of(*x, size);
    if (mode == cudaAddressModeMirror) {
        const long long both = remainder_of(*x, 2 * size);
        *x = both < size ? both : 2 * size - 1 - both;
    }
    *x = *x < 0 ? 0 : *x >= size ? size - 1 : *x;
    return mode == cudaAddressModeBorder;
}

/* Returns the mode in which a coordinate is brought back: those that count texels know two. */
static enum cudaTextureAddressMode mode_of(enum cudaTextureAddressMode mode, bool normalized) {
    return normalized || mode == cudaAddressModeBorder ? mode : cudaAddressModeClamp;
}

/* Returns the texels that are mixed, some 1/256 of a texel beside a coordinate in 2^bits parts of
 * one. */
static axis place_at(long long x, unsigned bits, int beside, size_t size,
                     enum cudaTextureAddressMode mode) {
    axis a = {0, {0, 0}, 0, {false, false}};
    x = ((x - (1ll << (bits - 1)) + (1ll << (bits - 9))) >> (bits - 8)) + beside;
    a.weight = (int)(x & (ONE - 1));
    a.first = a.texel[0] = x >> 8;
    a.texel[1] = a.first + 1;
    for (int i = 0; i < 2; i++)
        a.is_outside[i] = fold(&a.texel[i], (long long)size, mode);
    if (a.texel[0] == a.texel[1] && mode == cudaAddressModeClamp)
        a.weight = 0; /* at an edge there is one texel, of which nothing is rounded */
    return a;
}

/* Does the same for a coordinate of a texture. */
static axis place_on(float at, int beside, size_t size, enum cudaTextureAddressMode mode,
                     bool normalized) {
    unsigned bits;
    mode = mode_of(mode, normalized);
    const long long x = texels_of(clean(at), size, mode, normalized, &bits);
    return place_at(x, bits, beside, size, mode);
}

/* Returns where a coordinate of a cube's face is, which counts from the middle, where the numbers
 * nearest to 0 lie, in 2^bits parts of a texel. */
static long long texels_from_middle(float at, size_t size, unsigned *bits) {
    *bits = size > 8192 ? 22 : 21;
    const long long half = 1ll << (*bits - 1);
    return (floor_of(clean(at) * (double)half) + half) * (long long)size;
}

/* Returns the texels that are mixed for a coordinate of a cube's face. */
static axis place_on_side(float at, int beside, size_t size, enum cudaTextureAddressMode mode) {
    unsigned bits;
    const long long x = texels_from_middle(at, size, &bits);
    return place_at(x, bits, beside, size, mode);
}

/* Returns the texel at a coordinate, or some 1/256 of a texel beside it, which is mirrored then;
 * says whether it is the border. */
static size_t point_on(float at, int beside, size_t size, enum cudaTextureAddressMode mode,
                       bool normalized, bool *is_outside) {
    unsigned bits;
    mode = mode_of(mode, normalized);
    long long x = texels_of(clean(at), size, mode, normalized, &bits);
    x = ((x >> (bits - 8)) + beside) >> 8;
    if (fold(&x, (long long)size, mode))
        *is_outside = true;
    return (size_t)x;
}

/* ---- cubes ---- */

/* Returns the face to which a direction leads. */
static unsigned choose_face(const float at[3]) {
    const float ax = fabsf(at[0]), ay = fabsf(at[1]), az = fabsf(at[2]);
    const unsigned along = az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
    return 2 * along + (at[along] < 0);
}

/* Divides about as an H200 does, which multiplies by a reciprocal of 24 bits. That is not exactly
 * rounded; most often it is as if 1/16 of its last bit had been added. */
static float divide(float x, float by) {
    int exponent;
    const float reciprocal = (float)(1 / frexp((double)by, &exponent) + 0x1p-27);
    return (float)ldexp((double)x * (double)reciprocal, -exponent);
}

/* Replaces a direction by a place on a face, or beyond its edges: of -1 to 1. */
static void place_from_middle(unsigned face, float at[3]) {
    const float x = at[0], y = at[1], z = at[2], along = fabsf(at[face / 2]);
    float s = face & 1 ? -x : x, t = -y;
    if (face < 2)
        s = face & 1 ? z : -z;
    if (face == 2 || face == 3) {
        s = x;
        t = face & 1 ? -z : z;
    }
    at[0] = along > 0 ? divide(s, along) : 0;
    at[1] = along > 0 ? divide(t, along) : 0;
}

/* Replaces a direction by a place on a face, or beyond its edges: of 0 to 1. */
static void place_on_face(unsigned face, float at[3]) {
    place_from_middle(face, at);
    at[0] = at[0] * 0.5f + 0.5f;
    at[1] = at[1] * 0.5f + 0.5f;
}

/* Replaces a direction by a face and a place on it. */
static unsigned face_of(float at[3]) {
    const unsigned face = choose_face(at);
    place_on_face(face, at);
    return face;
}

/* Returns the direction of a place on a face, whose middle is 0 and whose edges are -1 and 1. */
static void direction_of(unsigned face, float s, float t, float at[3]) {
    const float along = face & 1 ? -1.0f : 1.0f;
    if (face < 2) {
        at[0] = along;
        at[1] = -t;
        at[2] = -s * along;
    } else if (face < 4) {
        at[0] = s;
        at[1] = along;
        at[2] = t * along;
    } else {
        at[0] = s * along;
        at[1] = -t;
        at[2] = along;
    }
}

static float clamp_to_one(float x) {
    return x < -1 ? -1 : x > 1 ? 1 : x;
}

/* Replaces a texel beyond an edge of a face by one of the neighbouring face, as far from the edge.
 */
static void cross_edge(long long size, unsigned *face, long long *x, long long *y) {
    const float n = (float)size, s = ((float)*x * 2 + 1) / n - 1, t = ((float)*y * 2 + 1) / n - 1;
    const float u = clamp_to_one(s), v = clamp_to_one(t);
    float at[3];
    direction_of(*face, u, v, at);
    at[*face / 2] *= 1 - fabsf(s - u) - fabsf(t - v);
    *face = face_of(at);
    for (int i = 0; i < 2; i++) {
        const long long to = floor_of((double)(at[i] * n));
        *(i ? y : x) = to < 0 ? 0 : to >= size ? size - 1 : to;
    }
}

/* ---- mixing ---- */

static unsigned dimensions_of(acu_sim_geometry geometry) {
    static const unsigned char of[] = {
        [ACU_SIM_1D] = 1,          [ACU_SIM_2D] = 2,         [ACU_SIM_3D] = 3,
        [ACU_SIM_1D_LAYERED] = 1,  [ACU_SIM_2D_LAYERED] = 2, [ACU_SIM_CUBE] = 2,
        [ACU_SIM_CUBE_LAYERED] = 2};
    return of[geometry];
}

static bool is_cube(acu_sim_geometry geometry) {
    return geometry == ACU_SIM_CUBE || geometry == ACU_SIM_CUBE_LAYERED;
}

/* Returns the slice where the texels are: the layer, and the face of a cube. */
static size_t slice_of(const acu_sim_image *image, acu_sim_geometry geometry, unsigned layer,
                       unsigned face) {
    const bool layered = geometry == ACU_SIM_1D_LAYERED || geometry == ACU_SIM_2D_LAYERED ||
                         geometry == ACU_SIM_CUBE_LAYERED;
    if (!layered)
        return image->first_layer + face;
    const unsigned faces = is_cube(geometry) ? 6 : 1;
    const unsigned count = image->layer_count / faces;
    const size_t from = count ? layer < count ? layer : count - 1 : 0;
    return image->first_layer + from * faces + face;
}

/* Returns the integer that means 1 where texels are mixed: that of signed bytes has 8 bits. */
static double own_most(const acu_sim_image *image, int component) {
    const double most = image->most[component];
    const bool is_block = image->is_compressed;
    return most == 32767 && image->format.x == 8 && !is_block ? 127 : most;
}

/* Returns whether a component is a signed byte that becomes a number of 16 bits. */
static bool is_wide_byte(const acu_sim_image *image, int component) {
    return image->is_float && image->most[component] > own_most(image, component);
}

/* Returns the integer that means 1 in the border: that of bytes, and of blocks with four channels,
 * has 8 bits. */
static double border_most(const acu_sim_image *image, int component) {
    const double most = own_most(image, component);
    const bool is_wide = image->is_compressed && !image->format.w;
    return most == 65535 && image->format.x == 8 && !is_wide ? 255 : most;
}

/* Returns a number without the bits that a half lacks. */
static float cut_to_half(float x) {
    int exponent;
    (void)frexpf(x, &exponent);
    exponent = exponent < -13 ? -13 : exponent;
    return ldexpf(truncf(ldexpf(x, 11 - exponent)), exponent - 11);
}

/* Returns a component of the border as the texels' format has it: sRGB's colors are those of a
 * byte, other fractions are rounded to the nearest one, towards zero between two, of what four bits
 * more than theirs say, and halves are cut off. */
static float border_part(const acu_sim_image *image, int component, float x) {
    const double most = border_most(image, component);
    if (acu_sim_image_is_color(image, component))
        return acu_sim_image_srgb_color(x);
    if (!(most > 0))
        return image->format.x == 16 && !image->is_compressed ? cut_to_half(x) : x;
    const double least = image->most[component] == 32767 ? -1 : 0;
    const double within = (double)x > 1 ? 1 : (double)x > least ? (double)x : least;
    const double one = (most + 1) * 16, fixed = (double)(int64_t)(fabs(within) * one) / one,
                 parts = (double)-floor_of(0.5 - fixed * most);
    return (float)((within < 0 ? -parts : parts) / most);
}

/* Returns what an integer of the border is: the lowest bits, of which texels have as many. */
static unsigned border_integer(const acu_sim_image *image, unsigned value) {
    const unsigned unused = 32 - (unsigned)image->format.x;
    return image->format.f == cudaChannelFormatKindSigned
               ? (unsigned)((int)(value << unused) >> unused)
               : value << unused >> unused;
}

/* Returns the color of the border, of which a texture has as many channels as its texels. A
 * compressed one has an alpha of 1 where its texels have none. */
static acu_sim_texel border_of(const acu_sim_texture *t, const acu_sim_image *image) {
    const struct cudaChannelFormatDesc *f = &image->format;
    const int channels = 1 + (f->y != 0) + (f->z != 0) + (f->w != 0);
    acu_sim_texel texel = {{0}};
    texel.f[3] = image->is_compressed ? 1 : 0;
    memcpy(texel.f, t->texture.borderColor, (size_t)channels * sizeof *texel.f);
    for (int i = 0; i < channels; i++)
        if (image->is_float)
            texel.f[i] = border_part(image, i, texel.f[i]);
        else
            texel.u[i] = border_integer(image, texel.u[i]);
    return texel;
}

/* What a sample of one level is mixed of. */
typedef struct corners {
    unsigned count;
    acu_sim_texel texel[8];
    int weight[8];  /* of ONE */
    bool counts[8]; /* the corner has a weight before products of weights are rounded */
} corners;

/* Returns in how many directions texels are mixed. A texture of one dimension is one row of a
 * texture of two, which is read at its upper edge: where the second address mode is the border,
 * half of that is mixed in. */
static unsigned mixed_dimensions(const acu_sim_texture *t, acu_sim_geometry geometry) {
    return geometry == ACU_SIM_1D && t->texture.addressMode[1] == cudaAddressModeBorder
               ? 2
               : dimensions_of(geometry);
}

/* Returns a product of two weights as a weight, rounded: a half up, or down. */
static int product(int a, int b) {
    return (a * b + ONE / 2) / ONE;
}

static int product_down(int a, int b) {
    return (a * b + ONE / 2 - 1) / ONE;
}

/* How much of a sample is taken from the level: all, or a part of two levels' ONE. */
typedef struct share {
    int weight; /* of the second one of the two levels */
    bool is_second;
} share;

static int weight_of(share of) {
    return of.is_second ? of.weight : ONE - of.weight;
}

/* Sets the weights of the corners of a square, which are `all` together: the second side of x has
 * its rounded share, the first one the rest, and each is divided between both sides of y. */
static void set_square(int weights[4], int all, int x, int y) {
    const int second = product(x, all), first = all - second;
    weights[3] = product(second, y);
    weights[1] = second - weights[3];
    weights[2] = product_down(first, y);
    weights[0] = first - weights[2];
}

/* Sets those of a cube, which is two squares. */
static void set_cube(int weights[8], int all, int x, int y, int z) {
    const int second = product_down(z, all);
    set_square(weights, all - second, x, y);
    set_square(weights + 4, second, x, y);
}

/* Notes which corners have a weight: the second one of each direction has none where the first one
 * has all. */
static void set_counts(corners *c, const axis axes[3]) {
    for (unsigned k = 0; k < c->count; k++)
        c->counts[k] = (!(k & 1) || axes[0].weight) && (!(k & 2) || axes[1].weight) &&
                       (!(k & 4) || axes[2].weight);
}

/* Divides the weight of a corner that is missing between the others. */
static void divide_missing(corners *c, int missing) {
    const int third = (c->weight[missing] + 1) / 3;
    c->weight[missing ^ 1] += third;
    c->weight[missing ^ 2] += third;
    c->weight[missing ^ 3] += c->weight[missing] - 2 * third;
    c->weight[missing] = 0;
    for (int i = 0; i < 4; i++)
        c->counts[i] = c->counts[i] || c->weight[i];
    c->counts[missing] = true; /* as a 0 that is not negative */
    c->texel[missing] = (acu_sim_texel){{0}};
}

/* Returns whether the square reaches beyond both an edge of x and one of y. */
static bool is_at_corner(const axis axes[2], long long size) {
    return (axes[0].first < 0 || axes[0].first >= size - 1) &&
           (axes[1].first < 0 || axes[1].first >= size - 1);
}

/* Brings a sample that is further beyond an edge to the first texel there. */
static void clamp_to_edge(axis *a, long long size) {
    const long long first = a->first < -1 ? -1 : a->first > size - 1 ? size - 1 : a->first;
    a->weight = a->first < first ? 0 : a->first > first ? ONE : a->weight;
    a->first = first;
}

/* Reads the corners of a square across the edges of a cube's faces. At a cube's corner there are
 * three texels, and a sample along a footprint comes no further beyond it. */
static void read_seamless(const acu_sim_image *image, const acu_sim_place *place, unsigned level,
                          share of, corners *c) {
    const acu_sim_size size = acu_sim_image_size(image, level);
    const long long n = (long long)size.width;
    float at[3] = {place->at[0], place->at[1], place->at[2]};
    const unsigned face = choose_face(at);
    axis axes[3] = {{0, {0, 0}, 0, {false, false}}};
    int missing = -1;
    place_from_middle(face, at);
    for (int i = 0; i < 2; i++) /* in a border nothing is brought back */
        axes[i] = place_on_side(at[i], place->beside[i], size.width, cudaAddressModeBorder);
    for (int i = 0, corner = is_at_corner(axes, n); corner && i < 2; i++)
        clamp_to_edge(&axes[i], n);
    c->count = 4;
    set_square(c->weight, weight_of(of), axes[0].weight, axes[1].weight);
    set_counts(c, axes);
    for (int k = 0; k < 4; k++) {
        long long x = axes[0].first + (k & 1), y = axes[1].first + (k >> 1);
        const bool beyond_x = x < 0 || x >= n, beyond_y = y < 0 || y >= n;
        unsigned on = face;
        if (beyond_x && beyond_y) {
            missing = k;
            continue;
        }
        if (beyond_x || beyond_y)
            cross_edge(n, &on, &x, &y);
        c->texel[k] = acu_sim_image_texel(image, level, (size_t)x, (size_t)y,
                                          slice_of(image, place->geometry, place->layer, on));
    }
    if (missing >= 0)
        divide_missing(c, missing);
}

/* Sets the texels and the weights of the corners of a square or a cube, or of two texels. */
static void read_mixed(const acu_sim_texture *t, const acu_sim_image *image,
                       const acu_sim_place *place, const axis axes[3], size_t slice, unsigned level,
                       corners *c) {
    const unsigned dimensions = mixed_dimensions(t, place->geometry);
    c->count = 1u << dimensions;
    set_counts(c, axes);
    for (unsigned k = 0; k < c->count; k++) {
        bool outside = false;
        size_t where[3] = {0, 0, slice};
        for (unsigned i = 0; i < dimensions; i++) {
            const unsigned side = k >> i & 1;
            where[i] = (size_t)axes[i].texel[side];
            outside = outside || axes[i].is_outside[side];
        }
        c->texel[k] = outside ? border_of(t, image)
                              : acu_sim_image_texel(image, level, where[0], where[1], where[2]);
    }
}

/* Brings the coordinates onto a level's texels: those of a cube onto a face. Returns the slice. */
static size_t prepare(const acu_sim_image *image, const acu_sim_place *place, float at[3]) {
    unsigned face = 0;
    at[0] = place->at[0];
    at[1] = place->geometry == ACU_SIM_1D ? 0 : place->at[1];
    at[2] = place->at[2];
    if (is_cube(place->geometry)) {
        face = choose_face(at);
        place_from_middle(face, at);
    }
    return slice_of(image, place->geometry, place->layer, face);
}

/* Returns the texel at a coordinate of a cube's face, and beside it; says whether it is the border,
 * which a seamless cube lacks. */
static size_t point_from_middle(const acu_sim_texture *t, float at, int beside, size_t size,
                                enum cudaTextureAddressMode mode, bool *is_outside) {
    unsigned bits;
    const long long x = texels_from_middle(at, size, &bits);
    long long texel = ((x >> (bits - 8)) + beside) >> 8;
    mode = t->texture.seamlessCubemap ? cudaAddressModeClamp : mode;
    if (fold(&texel, (long long)size, mode))
        *is_outside = true;
    return (size_t)texel;
}

static acu_sim_texel read_face_point(const acu_sim_texture *t, const acu_sim_image *image,
                                     const acu_sim_place *place, unsigned level) {
    const size_t size = acu_sim_image_size(image, level).width;
    float at[3] = {place->at[0], place->at[1], place->at[2]};
    const unsigned face = choose_face(at);
    bool outside = false;
    size_t where[2];
    place_from_middle(face, at);
    for (unsigned i = 0; i < 2; i++)
        where[i] = point_from_middle(t, at[i], place->beside[i], size, t->texture.addressMode[i],
                                     &outside);
    return outside ? border_of(t, image)
                   : acu_sim_image_texel(image, level, where[0], where[1],
                                         slice_of(image, place->geometry, place->layer, face));
}

/* Reads the texel at a place. */
static acu_sim_texel read_point(const acu_sim_texture *t, const acu_sim_image *image,
                                const acu_sim_place *place, unsigned level) {
    if (is_cube(place->geometry))
        return read_face_point(t, image, place, level);
    const acu_sim_size size = acu_sim_image_size(image, level);
    const size_t sizes[3] = {size.width, size.height, size.depth};
    float at[3];
    size_t where[3] = {0, 0, prepare(image, place, at)};
    bool outside = false;
    for (unsigned i = 0; i < dimensions_of(place->geometry); i++)
        where[i] = point_on(at[i], place->beside[i], sizes[i], t->texture.addressMode[i],
                            t->texture.normalizedCoords != 0, &outside);
    return outside ? border_of(t, image)
                   : acu_sim_image_texel(image, level, where[0], where[1], where[2]);
}

static void read_corners(const acu_sim_texture *t, const acu_sim_image *image,
                         const acu_sim_place *place, unsigned level, bool mixes, share of,
                         corners *c) {
    if (!mixes) {
        c->count = 1;
        c->weight[0] = weight_of(of);
        c->counts[0] = true;
        c->texel[0] = read_point(t, image, place, level);
        return;
    }
    if (t->texture.seamlessCubemap && is_cube(place->geometry)) {
        read_seamless(image, place, level, of, c);
        return;
    }
    const acu_sim_size size = acu_sim_image_size(image, level);
    const size_t sizes[3] = {size.width, size.height, size.depth};
    float at[3];
    const size_t slice = prepare(image, place, at);
    axis axes[3] = {{0, {0, 0}, 0, {false, false}}};
    for (unsigned i = 0; i < mixed_dimensions(t, place->geometry); i++)
        axes[i] = is_cube(place->geometry)
                      ? place_on_side(at[i], place->beside[i], sizes[i], t->texture.addressMode[i])
                      : place_on(at[i], place->beside[i], sizes[i], t->texture.addressMode[i],
                                 t->texture.normalizedCoords != 0);
    if (mixed_dimensions(t, place->geometry) == 3)
        set_cube(c->weight, weight_of(of), axes[0].weight, axes[1].weight, axes[2].weight);
    else
        set_square(c->weight, weight_of(of), axes[0].weight, axes[1].weight);
    read_mixed(t, image, place, axes, slice, level, c);
}

/* Returns the nearest float, and of two the one that is further away from 0. */
static float nearest(double sum) {
    const float even = (float)sum;
    unsigned bits;
    float away;
    memcpy(&bits, &even, 4);
    bits++;
    memcpy(&away, &bits, 4);
    return (double)away - sum == sum - (double)even ? away : even;
}

/* Makes a sum of signed bytes a number of 16 bits: of what these count more, 1/127, only the part
 * is added that the highest bits of the sum give. */
static double widen(double sum) {
    const double parts = sum * ONE, rest = (double)floor_of(parts / 4096) * 32,
                 wide = (double)floor_of((parts * 258 + rest) / ONE + 0.5);
    return wide < -32767 ? -32767 : wide;
}

/* Returns a number, or 0 where a float has fewer bits of it. */
static double normal(double x) {
    return fabs(x) < (double)FLT_MIN ? copysign(0, x) : x;
}

/* Returns what a GPU makes of no number where it mixes: all bits of a half, or of a float. */
static float no_number(bool is_half) {
    const unsigned bits = is_half ? 0x7fffe000 : 0x7fffffff;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Rounds what was mixed as a GPU does: fractions to 16 bits, and halves and sRGB to halves. */
static float round_as(const acu_sim_image *image, int component, double sum) {
    const double most = image->most[component];
    if (most > own_most(image, component))
        return (float)(widen(sum) / most);
    if (most > 0)
        return (float)(fmax((double)floor_of(sum + 0.5), -most) / most);
    const bool is_half = image->format.x == 16 || (image->srgb && image->format.x == 8);
    if (isnan(sum))
        return no_number(is_half);
    return is_half ? acu_sim_image_half(sum) : nearest(normal(sum));
}

/* Returns what is mixed for a component: of fractions the integer. */
static double component_of(const acu_sim_image *image, const acu_sim_texel *texel, int component) {
    if (!image->is_float)
        return image->format.f == cudaChannelFormatKindSigned ? (double)texel->i[component]
                                                              : (double)texel->u[component];
    const double most = own_most(image, component), x = normal((double)texel->f[component]);
    return most > 0 ? (double)floor_of(x * most + 0.5) : x;
}

/* Returns the unit of which the floats of a square's corners, or sRGB's colors, are multiples where
 * they are mixed, for which they are cut off: floats have 28 bits, halves 15, colors 8, of which
 * the largest one that weighs something has the highest. Returns 0 where a component is not cut
 * off. */
static double unit_of(const acu_sim_image *image, const corners *c, unsigned first, int component) {
    const bool is_color = image->srgb && image->format.x == 8;
    double most = 0;
    int exponent;
    if (image->most[component] > 0 || !image->is_float)
        return 0;
    for (unsigned k = first; k < c->count && k < first + 4; k++) {
        const double size = fabs((double)c->texel[k].f[component]);
        most = c->weight[k] && size > most ? size : most;
    }
    if (!(most > 0) || isinf(most))
        return 0;
    if (is_color)
        return ldexp(1, acu_sim_image_srgb_exponent(most) - 8);
    (void)frexp(most, &exponent);
    return ldexp(1, exponent - (image->format.x == 16 ? 15 : 28));
}

/* Cuts a number off at multiples of a unit, unless that is 0. */
static double cut_off(double x, double unit) {
    return unit > 0 && !isnan(x) && !isinf(x) ? copysign((double)(long long)(x / unit) * unit, x)
                                              : x;
}

/* Returns a corner's part of a sum: that of what is infinite or no number is itself, even where a
 * product of weights was rounded to 0. */
static double weighted(const acu_sim_image *image, const corners *c, unsigned k, int component,
                       double unit) {
    const double x = component_of(image, &c->texel[k], component);
    if (!c->counts[k])
        return -0.0;
    return isnan(x) || isinf(x) ? x : cut_off(x, unit) * c->weight[k];
}

/* Returns what corners weigh together, each `part` of its weight. The sums of several squares, of a
 * cube or of two levels, are multiples of a quarter of the largest unit: what one has more makes it
 * less. */
static double mixed_sum(const acu_sim_image *image, const corners *c, unsigned levels,
                        int component, double part) {
    double squares[4] = {-0.0, -0.0, -0.0, -0.0}, wide = 0, sum = -0.0;
    for (unsigned n = 0; n < 2 * levels; n++) {
        const corners *const of = &c[n / 2];
        const unsigned first = n % 2 * 4;
        const double unit = unit_of(image, of, first, component);
        wide = unit > wide ? unit : wide;
        for (unsigned k = first; k < of->count && k < first + 4; k++)
            squares[n] += weighted(image, of, k, component, unit);
    }
    for (unsigned n = 0; n < 2 * levels; n++)
        sum += wide > 0 ? floor(squares[n] * 4 / wide) * wide / 4 : squares[n];
    return sum * part;
}

static void add_corners(const acu_sim_image *image, const corners *c, unsigned levels, double part,
                        double sums[4]) {
    for (int i = 0; i < image->channels; i++)
        sums[i] += mixed_sum(image, c, levels, i, part);
}

/* An H200 rounds integers of 8 and 16 bits to the nearest one, up between two, and those of 32 bits
 * down. */
static unsigned round_integer(const acu_sim_image *image, double sum) {
    return (unsigned)(int64_t)floor(image->format.x == 32 ? sum : sum + 0.5);
}

static acu_sim_texel mix(const acu_sim_image *image, const double sums[4]) {
    acu_sim_texel out = {{0}};
    for (int i = 0; i < image->channels; i++)
        if (image->is_float)
            out.f[i] = round_as(image, i, sums[i] / ONE);
        else
            out.u[i] = round_integer(image, sums[i] / ONE);
    return out;
}

/* Returns how anisotropic footprints may be. */
static unsigned anisotropy_of(const acu_sim_texture *t, acu_sim_geometry geometry) {
    return geometry == ACU_SIM_3D || geometry == ACU_SIM_1D_LAYERED ? 1 : t->texture.maxAnisotropy;
}

/* Returns whether points could be mixed with others: along footprints, or with another level. */
static bool is_filtered(const acu_sim_texture *t, const acu_sim_image *image,
                        acu_sim_geometry geometry) {
    return (t->texture.maxAnisotropy > 1 && geometry != ACU_SIM_3D) ||
           (image->levels && t->texture.mipmapFilterMode == cudaFilterModeLinear);
}

/* Returns a texel as if it had been mixed with others of no weight: signed bytes are numbers of 16
 * bits, what is no number has all bits. */
static acu_sim_texel mixed_alone(const acu_sim_image *image, acu_sim_texel texel) {
    for (int i = 0; i < image->channels; i++)
        if (image->is_float)
            texel.f[i] = round_as(image, i, component_of(image, &texel, i));
    return texel;
}

/* The sums of what is mixed begin with -0, to which any number can be added. */
static acu_sim_texel sample_one(const acu_sim_texture *t, const acu_sim_image *image,
                                const acu_sim_place *place, unsigned level) {
    corners c;
    double sums[4] = {-0.0, -0.0, -0.0, -0.0};
    if (!image->mixes)
        return is_filtered(t, image, place->geometry)
                   ? mixed_alone(image, read_point(t, image, place, level))
                   : read_point(t, image, place, level);
    read_corners(t, image, place, level, true, (share){0, false}, &c);
    add_corners(image, &c, 1, 1, sums);
    return mix(image, sums);
}

/* Finds the two texels that are mixed, as place_on() does, and returns whether both are in the
 * image; then no mode of addresses makes a difference. */
static bool place_within(float at, size_t size, bool normalized, size_t *first, int *weight) {
    const float most = 0x1p16f;
    const unsigned bits = !normalized ? 9 : size > 8192 ? 22 : 21;
    if (!(at >= FLT_MIN && at < (normalized ? 1 : most)))
        return false;
    long long x = (long long)((double)at * (double)(1ll << bits));
    x *= normalized ? (long long)size : 1;
    x = (x - (1ll << (bits - 1)) + (1ll << (bits - 9))) >> (bits - 8);
    *weight = (int)(x & (ONE - 1));
    *first = (size_t)(x >> 8);
    return x >= 0 && *first + 1 < size;
}

/* Mixes floats of which none is cut off; returns false where one may be, or is not normal. */
static bool mix_close(const float *const texel[4], const int weight[4], unsigned component,
                      float *out) {
    enum { MORE = 4 }; /* bits that a sum has more than a float */
    unsigned least = UINT_MAX, most = 0;
    double sum = 0;
    for (unsigned k = 0; k < 4; k++) {
        unsigned bits;
        memcpy(&bits, &texel[k][component], sizeof bits);
        const unsigned exponent = bits >> 23 & 255;
        least = exponent < least ? exponent : least;
        most = exponent > most ? exponent : most;
        sum += (double)texel[k][component] * weight[k];
    }
    *out = nearest(sum / ONE);
    return most - least <= MORE && least && most < 255 && fabsf(*out) >= FLT_MIN;
}

bool acu_sim_sample_within(const acu_sim_image *image, float x, float y, float out[4]) {
    if (!image->is_flat)
        return false;
    const bool normalized = image->texture->texture.normalizedCoords != 0;
    const acu_sim_size size = acu_sim_image_size(image, 0);
    const float *texel[4];
    size_t column, row;
    int right, down, weight[4];
    if (!place_within(x, size.width, normalized, &column, &right) ||
        !place_within(y, size.height, normalized, &row, &down))
        return false;
    set_square(weight, ONE, right, down);
    for (unsigned k = 0; k < 4; k++)
        texel[k] =
            acu_sim_image_floats(image, column + (k & 1), row + (k >> 1), image->first_layer);
    for (unsigned i = 0; i < image->channels; i++)
        if (!mix_close(texel, weight, i, &out[i]))
            return false;
    return true;
}

/* Returns the image with its texels as they are where one is mixed with any other. */
static acu_sim_image keeping_least(const acu_sim_image *image) {
    acu_sim_image wide = *image;
    wide.keeps_least = true;
    return wide;
}

/* Samples two levels; `weight` is that of the second one. */
static acu_sim_texel sample_two(const acu_sim_texture *t, const acu_sim_image *image,
                                const acu_sim_place *place, unsigned level, int weight) {
    corners c[2];
    double sums[4] = {-0.0, -0.0, -0.0, -0.0};
    if (image->mixes) {
        for (unsigned second = 0; second < 2; second++)
            read_corners(t, image, place, level + second, true, (share){weight, second != 0},
                         &c[second]);
        add_corners(image, c, 2, 1, sums);
        return mix(image, sums);
    }
    const acu_sim_image wide = keeping_least(image);
    const acu_sim_texel a = read_point(t, &wide, place, level),
                        b = read_point(t, &wide, place, level + 1);
    for (int i = 0; i < 4; i++)
        sums[i] = component_of(image, &a, i) * (ONE - weight) + component_of(image, &b, i) * weight;
    return mix(image, sums);
}

/* ---- levels ---- */

/* Returns a number of levels in parts of one, without the rest; what is no number is 0. */
static long long parts_of(float levels) {
    const float most = 0x1p40f;
    if (isnan(levels))
        return 0;
    return (long long)((double)(levels > most ? most : levels < -most ? -most : levels) * ONE);
}

/* Returns whether a GPU may take a level nearer to a whole one than derivatives say, as with
 * anisotropy, unless the sampler forbids that or takes whole levels. */
static bool may_snap(const acu_sim_texture *t) {
    return t->texture.maxAnisotropy > 1 && !t->texture.disableTrilinearOptimization &&
           t->texture.mipmapFilterMode == cudaFilterModeLinear;
}

/* Brings a level nearer to a whole one: the part above a whole one grows faster, and from later on,
 * the more is allowed.
 */
static long long snap(const acu_sim_texture *t, long long parts) {
    const unsigned most = t->texture.maxAnisotropy;
    if (!may_snap(t))
        return parts;
    const long long start = most < 4   ? 42
                            : most < 8 ? 54
                                       : 64,
                    quarters = most < 4   ? 6
                               : most < 8 ? 7
                                          : 8;
    const long long rest = parts % ONE, part = (rest - start) * quarters / 4;
    return parts - rest + (part < 0 ? 0 : part > ONE ? ONE : part);
}

/* Returns the level of derivatives with the bias, in parts of one. Of the bias of levels that may
 * be nearer to whole ones 64ths count. */
static long long biased(const acu_sim_texture *t, float level) {
    const long long bias = parts_of(t->texture.mipmapLevelBias);
    return parts_of(level) + (may_snap(t) ? bias - remainder_of(bias, 4) : bias);
}

/* Returns the level, in parts of one, that the sampler and the mipmap allow. */
static long long clamp_level(const acu_sim_texture *t, const acu_sim_image *image,
                             long long parts) {
    const struct cudaTextureDesc *s = &t->texture;
    const long long least = parts_of(s->minMipmapLevelClamp),
                    most = parts_of(s->maxMipmapLevelClamp);
    const long long last = (long long)(image->level_count - 1) * ONE;
    parts = parts > most ? most : parts;
    parts = parts < least ? least : parts;
    return parts < 0 ? 0 : parts > last ? last : parts;
}

/* Returns the level that is taken for one with its bias. A GPU brings it nearer to a whole one
 * before it is clamped. */
static long long level_of(const acu_sim_texture *t, const acu_sim_image *image, long long parts) {
    if (!image->levels)
        return 0;
    if (t->texture.mipmapFilterMode == cudaFilterModePoint)
        return (clamp_level(t, image, parts) + ONE / 2) / ONE * ONE;
    return clamp_level(t, image, snap(t, parts));
}

/* Samples a level with its bias. */
static acu_sim_texel sample_level(const acu_sim_image *image, const acu_sim_place *place,
                                  long long biased_level) {
    const acu_sim_texture *t = image->texture;
    acu_sim_texel flat = {{0}};
    if (place->geometry == ACU_SIM_2D && !place->beside[0] && !place->beside[1] &&
        acu_sim_sample_within(image, place->at[0], place->at[1], flat.f))
        return flat;
    if (t->resource.resType == cudaResourceTypeLinear) /* which is only fetched */
        return (acu_sim_texel){{0}};
    if (!image->levels)
        return sample_one(t, image, place, 0);
    const long long parts = level_of(t, image, biased_level);
    const unsigned lower = (unsigned)(parts / ONE);
    const int weight = (int)(parts % ONE);
    return weight ? sample_two(t, image, place, lower, weight) : sample_one(t, image, place, lower);
}

acu_sim_texel acu_sim_sample_level(const acu_sim_image *image, const acu_sim_place *place,
                                   float level) {
    return sample_level(image, place,
                        parts_of(level) + parts_of(image->texture->texture.mipmapLevelBias));
}

/* ---- derivatives ---- */

static acu_sim_footprint shape_of(const acu_sim_texture *t, const acu_sim_image *image,
                                  const acu_sim_place *place, const float dx[3],
                                  const float dy[3]) {
    const acu_sim_size size = acu_sim_image_size(image, 0);
    const double sizes[3] = {(double)size.width, (double)size.height, (double)size.depth};
    const unsigned most = anisotropy_of(t, place->geometry);
    double x[3] = {0}, y[3] = {0};
    if (is_cube(place->geometry))
        return acu_sim_footprint_of_cube(place->at, dx, dy, (double)size.width, most);
    for (unsigned i = 0; i < dimensions_of(place->geometry); i++) {
        const double scale = t->texture.normalizedCoords ? sizes[i] : 1;
        const float from = place->geometry == ACU_SIM_3D ? place->at[i] : 0;
        x[i] = acu_sim_footprint_way(from, dx[i], scale);
        y[i] = acu_sim_footprint_way(from, dy[i], scale);
    }
    return acu_sim_footprint_of(x, y, most);
}

/* Returns the footprint of derivatives. A level that is not brought nearer to a whole one may be
 * less than 0 until the bias was added. */
static acu_sim_footprint footprint_of(const acu_sim_texture *t, const acu_sim_image *image,
                                      const acu_sim_place *place, const float dx[3],
                                      const float dy[3]) {
    acu_sim_footprint f = shape_of(t, image, place, dx, dy);
    if (!may_snap(t))
        f.level = f.own;
    return f;
}

/* What the samples along a footprint have in common, of one level. */
typedef struct row {
    const acu_sim_texture *t;
    const acu_sim_image *image;
    const acu_sim_place *place;
    unsigned level;
    share of;       /* the level's */
    const int *way; /* one texel along, in parts of a texel */
    int stretch;    /* how long that texel is, in parts of one */
} row;

/* Returns a way in 1/256 of a texel, of one in 1/128 that is not stretched yet. */
static int stretched(const row *r, int way) {
    return 2 * (int)floor_of((double)(way * r->stretch) / ACU_SIM_WAY);
}

/* Adds a sample, some 1/256 of a texel beside the middle, with a part of its weight. */
static void add_beside(const row *r, int x, int y, share of, double part, double sums[4]) {
    corners c;
    acu_sim_place place = *r->place;
    place.beside[0] += x;
    place.beside[1] += y;
    read_corners(r->t, r->image, &place, r->level, r->image->mixes, of, &c);
    add_corners(r->image, &c, 1, part, sums);
}

/* Adds one pair, which is the nearer to the middle the less length and width differ. */
static void add_near_pair(const row *r, int longer, double sums[4]) {
    const int away = longer > 0 ? ONE - (int)(ONE / acu_sim_footprint_power(longer) + 0.5) : 0;
    int way[2];
    for (int i = 0; i < 2; i++) {
        const double part = (double)(away * r->way[i]) / (2 * ACU_SIM_WAY);
        way[i] = stretched(r, (int)floor_of(part + 0.5));
    }
    add_beside(r, way[0], way[1], r->of, 0.5, sums);
    add_beside(r, -way[0], -way[1], r->of, 0.5, sums);
}

/* Adds the samples of one side, a texel apart, which weigh the same, but the last one has the rest.
 * The sum of their shares of the level is rounded. */
static void add_side(const row *r, int longer, int side, double sums[4]) {
    const int all = longer < 2 * ONE ? ONE : 2 * ONE, halvings = longer / ONE - 2,
              each = (int)(ONE / acu_sim_footprint_power(longer % ONE) + 0.5) >>
                     (halvings > 0 ? halvings : 0),
              x = stretched(r, r->way[0]) * side, y = stretched(r, r->way[1]) * side;
    int before = 0;
    for (int i = 0, end = 0; end < all; i++) {
        end = end + each < all ? end + each : all;
        const int until =
            side > 0 ? product(end, weight_of(r->of)) : product_down(end, weight_of(r->of));
        if (until > before) /* a share of 0 is all */
            add_beside(r, (2 * i + 1) * x, (2 * i + 1) * y, (share){until - before, true},
                       ONE / (2.0 * all), sums);
        before = until;
    }
}

/* Adds what a level is sampled along a footprint. The weight of each sample makes no difference
 * between the last step of a power of two and the next power. */
static void add_along(const row *r, int longer, double sums[4]) {
    const int steps = longer % ONE == ONE - 1 ? longer + 1 : longer;
    if (steps < ONE) {
        add_near_pair(r, steps, sums);
        return;
    }
    add_side(r, steps, 1, sums);
    add_side(r, steps, -1, sums);
}

/* Samples all along a footprint, which is in the next level half as long. The first level's texels
 * count as if they were as long as those of the level between both. */
static acu_sim_texel sample_along(const acu_sim_texture *t, const acu_sim_image *image,
                                  const acu_sim_place *place, const acu_sim_footprint *f) {
    const long long parts = level_of(t, image, biased(t, f->level));
    const int weight = (int)(parts % ONE),
              stretch = ((int)(ONE * acu_sim_footprint_power(weight)) + 1) / (ONE / ACU_SIM_WAY);
    double sums[4] = {-0.0, -0.0, -0.0, -0.0};
    const acu_sim_image wide = keeping_least(image);
    row r = {t, &wide, place, (unsigned)(parts / ONE), {weight, false}, f->way, stretch};
    add_along(&r, f->longer, sums);
    if (weight) {
        r.level++;
        r.of.is_second = true;
        r.stretch = ACU_SIM_WAY;
        add_along(&r, f->longer + weight - ONE, sums);
    }
    return mix(image, sums);
}

acu_sim_texel acu_sim_sample_grad(const acu_sim_image *image, const acu_sim_place *place,
                                  const float dx[3], const float dy[3]) {
    const acu_sim_texture *t = image->texture;
    const acu_sim_footprint f = footprint_of(t, image, place, dx, dy);
    return f.longer ? sample_along(t, image, place, &f)
                    : sample_level(image, place, biased(t, f.level));
}

/* Returns the image as its texels are read one by one; that is `copy` where they would be mixed. */
static const acu_sim_image *unmixed(const acu_sim_image *image, acu_sim_image *copy) {
    if (!image->mixes)
        return image;
    *copy = *image;
    copy->mixes = copy->keeps_least = false;
    return copy;
}

acu_sim_texel acu_sim_sample_fetch(const acu_sim_image *image, const acu_sim_place *place,
                                   int level) {
    acu_sim_image copy;
    const acu_sim_image *plain = unmixed(image, &copy);
    if (level < 0 || (unsigned)level >= plain->level_count)
        return (acu_sim_texel){{0}};
    const unsigned from = (unsigned)level;
    const acu_sim_size size = acu_sim_image_size(plain, from);
    const size_t sizes[3] = {size.width, size.height, size.depth};
    size_t where[3] = {0, 0, slice_of(plain, place->geometry, place->layer, 0)};
    const bool layered =
        place->geometry == ACU_SIM_1D_LAYERED || place->geometry == ACU_SIM_2D_LAYERED;
    /* CUDA fetches in one dimension from linear memory alone. */
    if ((place->geometry == ACU_SIM_1D && plain->only) ||
        (layered && place->layer >= plain->layer_count))
        return (acu_sim_texel){{0}};
    for (unsigned i = 0; i < dimensions_of(place->geometry); i++) {
        if (place->texel[i] < 0 || (size_t)place->texel[i] >= sizes[i])
            return (acu_sim_texel){{0}};
        where[i] = (size_t)place->texel[i];
    }
    return acu_sim_image_texel(plain, from, where[0], where[1], where[2]);
}

acu_sim_texel acu_sim_sample_gather(const acu_sim_image *image, const acu_sim_place *place,
                                    unsigned component) {
    acu_sim_image copy;
    const acu_sim_image *plain = unmixed(image, &copy);
    corners c;
    acu_sim_texel out;
    read_corners(image->texture, plain, place, 0, true, (share){0, false}, &c);
    for (unsigned i = 0; i < 4; i++) { /* counterclockwise from the lower left one */
        const acu_sim_texel *const from =
            &c.texel[(i == 1 || i == 2 ? 1u : 0u) | (i < 2 ? 2u : 0u)];
        out.u[i] = from->u[component];
        if (is_wide_byte(plain, (int)component) ||
            (image->is_float && (image->mixes || image->texture->texture.maxAnisotropy > 1)))
            out.f[i] = round_as(plain, (int)component, component_of(plain, from, (int)component));
    }
    return out;
}
