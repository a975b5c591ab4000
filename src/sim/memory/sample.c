/* How a texture is sampled. */
#include "sim/memory/sample.h"

#include "sim/memory/array.h"
#include "sim/memory/texel.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- coordinates ---- */

enum {
    ONE = 256 /* a weight of all: fractions have 8 bits */
};

/* Where a sample lies along one direction: between two texels. */
typedef struct axis {
    long long texel[2];
    int weight;         /* of the second one, of ONE */
    bool is_outside[2]; /* the texel is the border */
    bool reflected;     /* the texels are seen in a mirror, in the other order */
} axis;

static bool is_power_of_two(size_t n) {
    return (n & (n - 1)) == 0;
}

/* Returns the largest whole number that is not more; numbers beyond 2^60 are that. */
static long long floor_of(double x) {
    const double most = 0x1p60;
    const double within = x > most ? most : x < -most ? -most : x;
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

/* Returns a coordinate that counts texels, in 2^bits parts of one. `reflected` is set where the
 * texture is seen in a mirror. */
static long long texels_of(double at, size_t size, enum cudaTextureAddressMode mode,
                           bool normalized, unsigned *bits, bool *reflected) {
    *bits = 9;
    if (!normalized)
        return floor_of(at * 512);
    *bits = is_power_of_two(size) ? 22 : 21;
    const long long one = 1ll << *bits;
    if (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)
        at = remainder_of_two(at);
    long long x = floor_of(at * (double)one);
    if (mode == cudaAddressModeWrap)
        x &= one - 1;
    if (mode == cudaAddressModeMirror && (x &= 2 * one - 1) >= one) {
        x = 2 * one - x;
        *reflected = true;
    }
    const long long most = one << 8;
    x = x < -most ? -most : x > most ? most : x;
    return x * (long long)size;
}

/* Brings a texel beyond the edge back, or marks the border. */
static void fold(axis *a, int i, long long size, enum cudaTextureAddressMode mode) {
    long long *x = &a->texel[i];
    a->is_outside[i] = false;
    if (*x >= 0 && *x < size)
        return;
    if (mode == cudaAddressModeBorder)
        a->is_outside[i] = true;
    if (mode == cudaAddressModeWrap)
        *x = *x < 0 ? *x + size : *x - size;
    *x = *x < 0 ? 0 : *x >= size ? size - 1 : *x;
}

static axis place_on(float at, size_t size, enum cudaTextureAddressMode mode, bool normalized,
                     bool mixes) {
    axis a = {{0, 0}, 0, {false, false}, false};
    unsigned bits;
    if (!normalized && mode != cudaAddressModeBorder)
        mode = cudaAddressModeClamp;
    long long x = texels_of(clean(at), size, mode, normalized, &bits, &a.reflected);
    if (mixes) {
        x = (x - (1ll << (bits - 1)) + (1ll << (bits - 9))) >> (bits - 8);
        a.weight = (int)(x & (ONE - 1));
        x >>= 8;
    } else {
        x >>= bits;
    }
    a.texel[0] = x;
    a.texel[1] = x + 1;
    fold(&a, 0, (long long)size, mode);
    fold(&a, 1, (long long)size, mode);
    return a;
}

/* ---- cubes ---- */

/* Replaces a direction by a face and a place on it. */
static unsigned face_of(float at[3]) {
    const float x = at[0], y = at[1], z = at[2];
    const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    float along, s, t;
    unsigned face;
    if (az >= ax && az >= ay) {
        along = az;
        face = z < 0 ? 5 : 4;
        s = z < 0 ? -x : x;
        t = -y;
    } else if (ay >= ax) {
        along = ay;
        face = y < 0 ? 3 : 2;
        s = x;
        t = y < 0 ? -z : z;
    } else {
        along = ax;
        face = x < 0 ? 1 : 0;
        s = x < 0 ? z : -z;
        t = -y;
    }
    at[0] = along > 0 ? s / along * 0.5f + 0.5f : 0.5f;
    at[1] = along > 0 ? t / along * 0.5f + 0.5f : 0.5f;
    return face;
}

/* ---- mixing ---- */

static unsigned dimensions_of(acu_sim_geometry geometry) {
    static const unsigned char of[] = {[ACU_SIM_1D] = 1,          [ACU_SIM_2D] = 2,
                                       [ACU_SIM_3D] = 3,          [ACU_SIM_1D_LAYERED] = 1,
                                       [ACU_SIM_2D_LAYERED] = 2,  [ACU_SIM_CUBE] = 2,
                                       [ACU_SIM_CUBE_LAYERED] = 2};
    return of[geometry];
}

static bool is_cube(acu_sim_geometry geometry) {
    return geometry == ACU_SIM_CUBE || geometry == ACU_SIM_CUBE_LAYERED;
}

/* Returns the slice where the texels are: the layer, and the face of a cube. */
static size_t slice_of(const acu_sim_image *image, acu_sim_geometry geometry, unsigned layer,
                       unsigned face) {
    const unsigned faces = is_cube(geometry) ? 6 : 1;
    const unsigned count = image->layer_count / faces;
    const bool layered = geometry == ACU_SIM_1D_LAYERED || geometry == ACU_SIM_2D_LAYERED ||
                         geometry == ACU_SIM_CUBE_LAYERED;
    const size_t from = layered && count ? layer < count ? layer : count - 1 : 0;
    return image->first_layer + from * faces + face;
}

static acu_sim_texel border_of(const acu_sim_texture *t, const acu_sim_image *image) {
    acu_sim_texel texel;
    (void)image;
    memcpy(texel.f, t->texture.borderColor, sizeof texel.f);
    return texel;
}

/* What a sample of one level is mixed of. */
typedef struct corners {
    unsigned count;
    acu_sim_texel texel[8];
    int weight[8]; /* of ONE */
} corners;

/* Returns in how many directions texels are mixed. A texture of one dimension is one row of a
 * texture of two, which is read at its upper edge: where the second address mode is the border,
 * half of that is mixed in. */
static unsigned mixed_dimensions(const acu_sim_texture *t, acu_sim_geometry geometry) {
    return geometry == ACU_SIM_1D && t->texture.addressMode[1] == cudaAddressModeBorder
               ? 2
               : dimensions_of(geometry);
}

/* Returns a product of two weights as a weight, rounded. */
static int product(int a, int b) {
    return (a * b + ONE / 2) / ONE;
}

/* Sets the weights of the corners of a cube, whose second sides have the weights a, b and c: each
 * share of two or three sides is rounded, and the others have the rest, so that all weights
 * together are ONE, as a GPU has them. In one or two dimensions c, or b and c, are 0. */
static void set_weights(corners *c, int x, int y, int z) {
    const int xy = product(x, y), xz = product(x, z), yz = product(y, z);
    int all = product(xy, z);
    if (all < xz + yz - z)
        all = xz + yz - z;
    const int weights[8] = {ONE - x - y - z + xy + xz + yz - all,
                            x - xy - xz + all,
                            y - xy - yz + all,
                            xy - all,
                            z - xz - yz + all,
                            xz - all,
                            yz - all,
                            all};
    memcpy(c->weight, weights, sizeof weights);
}

static void read_corners(const acu_sim_texture *t, const acu_sim_image *image,
                         const acu_sim_place *place, unsigned level, bool mixes, corners *c) {
    const unsigned dimensions = mixed_dimensions(t, place->geometry);
    const acu_sim_size size = acu_sim_image_size(image, level);
    const size_t sizes[3] = {size.width, size.height, size.depth};
    float at[3] = {place->at[0], place->geometry == ACU_SIM_1D ? 0 : place->at[1], place->at[2]};
    const bool cube = is_cube(place->geometry);
    const unsigned face = cube ? face_of(at) : 0;
    const size_t slice = slice_of(image, place->geometry, place->layer, face);
    axis axes[3] = {{{0, 0}, 0, {false, false}, false}};
    for (unsigned i = 0; i < dimensions; i++)
        axes[i] = place_on(at[i], sizes[i], t->texture.addressMode[i],
                           t->texture.normalizedCoords != 0, mixes);
    c->count = mixes ? 1u << dimensions : 1;
    for (unsigned i = 0; i < dimensions; i++)
        if (axes[i].reflected)
            axes[i].weight = ONE - axes[i].weight;
    set_weights(c, axes[0].weight, axes[1].weight, axes[2].weight);
    for (unsigned k = 0; k < c->count; k++) {
        bool outside = false;
        size_t where[3] = {0, 0, slice};
        for (unsigned i = 0; i < dimensions; i++) {
            const unsigned side = (k >> i & 1) ^ (mixes && axes[i].reflected);
            where[i] = (size_t)axes[i].texel[side];
            outside = outside || axes[i].is_outside[side];
        }
        c->texel[k] = outside ? border_of(t, image)
                              : acu_sim_image_texel(image, level, where[0], where[1], where[2]);
    }
}

/* Rounds what was mixed as a GPU does: fractions to 16 bits, and halves to halves. */
static float round_as(const acu_sim_image *image, double sum) {
    const double most = acu_sim_image_most(image);
    if (most > 0)
        return (float)((double)floor_of(sum * most + 0.5) / most);
    return image->format.x == 16 ? acu_sim_image_half(sum) : (float)sum;
}

static acu_sim_texel mix(const acu_sim_image *image, const corners *c) {
    acu_sim_texel out;
    for (int i = 0; i < 4; i++) {
        double sum = 0;
        for (unsigned k = 0; k < c->count; k++)
            sum += (double)c->texel[k].f[i] * c->weight[k];
        out.f[i] = round_as(image, sum / ONE);
    }
    return out;
}

static acu_sim_texel sample_one(const acu_sim_texture *t, const acu_sim_image *image,
                                const acu_sim_place *place, unsigned level) {
    corners c;
    const bool mixes =
        t->texture.filterMode == cudaFilterModeLinear && acu_sim_image_is_float(image);
    read_corners(t, image, place, level, mixes, &c);
    return mixes ? mix(image, &c) : c.texel[0];
}

/* ---- levels ---- */

/* Returns a number of levels in parts of one, without the rest; what is no number is 0. */
static long long parts_of(float levels) {
    const float most = 0x1p40f;
    if (isnan(levels))
        return 0;
    return (long long)((double)(levels > most ? most : levels < -most ? -most : levels) * ONE);
}

/* Returns the level, in parts of one, that the sampler and the mipmap allow. */
static long long clamp_level(const acu_sim_texture *t, const acu_sim_image *image, float level) {
    const struct cudaTextureDesc *s = &t->texture;
    const long long least = parts_of(s->minMipmapLevelClamp),
                    most = parts_of(s->maxMipmapLevelClamp);
    const long long last = (long long)(image->level_count - 1) * ONE;
    long long parts = parts_of(level) + parts_of(s->mipmapLevelBias);
    parts = parts < least ? least : parts;
    parts = parts > most ? most : parts;
    return parts < 0 ? 0 : parts > last ? last : parts;
}

acu_sim_texel acu_sim_sample_level(const acu_sim_texture *t, const acu_sim_place *place,
                                   float level) {
    acu_sim_image image;
    acu_sim_image_of(t, &image);
    if (!image.levels)
        return sample_one(t, &image, place, 0);
    const long long parts = clamp_level(t, &image, level);
    if (t->texture.mipmapFilterMode == cudaFilterModePoint)
        return sample_one(t, &image, place, (unsigned)((parts + ONE / 2) / ONE));
    const unsigned lower = (unsigned)(parts / ONE), weight = (unsigned)(parts % ONE);
    acu_sim_texel a = sample_one(t, &image, place, lower);
    if (!weight)
        return a;
    const acu_sim_texel b = sample_one(t, &image, place, lower + 1);
    for (int i = 0; i < 4; i++)
        a.f[i] = (float)(((double)a.f[i] * (ONE - weight) + (double)b.f[i] * weight) / ONE);
    return a;
}

/* Returns the logarithm to base 2 of a positive number, to 16 bits behind the point. */
static float logarithm(double x) {
    int whole;
    long long parts = 0;
    if (!(x > 0))
        return -1000;
    double rest = frexp(x, &whole) * 2; /* 1 to 2 */
    for (int i = 0; i < 16; i++) {
        rest *= rest;
        parts = parts * 2 + (rest >= 2);
        rest = rest >= 2 ? rest / 2 : rest;
    }
    return (float)(whole - 1) + (float)parts / 65536;
}

acu_sim_texel acu_sim_sample_grad(const acu_sim_texture *t, const acu_sim_place *place,
                                  const float dx[3], const float dy[3]) {
    acu_sim_image image;
    acu_sim_image_of(t, &image);
    const acu_sim_size size = acu_sim_image_size(&image, 0);
    const double sizes[3] = {(double)size.width, (double)size.height, (double)size.depth};
    double x = 0, y = 0;
    for (unsigned i = 0; i < dimensions_of(place->geometry); i++) {
        const double scale = t->texture.normalizedCoords ? sizes[i] : 1;
        x += dx[i] * scale * dx[i] * scale;
        y += dy[i] * scale * dy[i] * scale;
    }
    return acu_sim_sample_level(t, place, logarithm(x > y ? x : y) / 2);
}

acu_sim_texel acu_sim_sample_fetch(const acu_sim_texture *t, const acu_sim_place *place,
                                   int level) {
    acu_sim_image image;
    acu_sim_image_of(t, &image);
    const unsigned from = level < 0 || (unsigned)level >= image.level_count ? 0 : (unsigned)level;
    const acu_sim_size size = acu_sim_image_size(&image, from);
    const size_t sizes[3] = {size.width, size.height, size.depth};
    size_t where[3] = {0, 0, slice_of(&image, place->geometry, place->layer, 0)};
    for (unsigned i = 0; i < dimensions_of(place->geometry); i++) {
        if (place->texel[i] < 0 || (size_t)place->texel[i] >= sizes[i])
            return (acu_sim_texel){{0}};
        where[i] = (size_t)place->texel[i];
    }
    return acu_sim_image_texel(&image, from, where[0], where[1], where[2]);
}

acu_sim_texel acu_sim_sample_gather(const acu_sim_texture *t, const acu_sim_place *place,
                                    unsigned component) {
    acu_sim_image image;
    corners c;
    acu_sim_texel out;
    acu_sim_image_of(t, &image);
    read_corners(t, &image, place, 0, true, &c);
    for (unsigned i = 0; i < 4; i++) /* counterclockwise from the lower left one */
        out.u[i] = c.texel[(i == 1 || i == 2 ? 1u : 0u) | (i < 2 ? 2u : 0u)].u[component];
    return out;
}
