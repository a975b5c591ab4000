/* How a texture is sampled. */
#include "sim/memory/sample.h"

#include "sim/memory/array.h"
#include "sim/memory/corners.h"
#include "sim/memory/footprint.h"
#include "sim/memory/mixing.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

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

static acu_sim_texel sample_one(const acu_sim_texture *t, const acu_sim_image *image,
                                const acu_sim_place *place, unsigned level) {
    acu_sim_corners c;
    acu_sim_sums sums = ACU_SIM_NO_SUMS;
    if (!image->mixes)
        return is_filtered(t, image, place->geometry)
                   ? acu_sim_mix_alone(image, acu_sim_corners_read_point(t, image, place, level))
                   : acu_sim_corners_read_point(t, image, place, level);
    acu_sim_corners_read(t, image, place, level, true, (acu_sim_share){0, false}, &c);
    acu_sim_mix_add(image, &c, 1, 1, &sums);
    return acu_sim_mix(image, &sums);
}

/* Finds the two texels that are mixed, as acu_sim_axis_on() does, and returns whether both are in
 * the image; then no mode of addresses makes a difference. */
static bool place_within(float at, size_t size, bool normalized, size_t *first, int *weight) {
    const float most = 0x1p16f;
    const unsigned bits = !normalized ? 9 : size > 8192 ? 22 : 21;
    if (!(at >= FLT_MIN && at < (normalized ? 1 : most)))
        return false;
    long long x = (long long)((double)at * (double)(1ll << bits));
    x *= normalized ? (long long)size : 1;
    x = (x - (1ll << (bits - 1)) + (1ll << (bits - 9))) >> (bits - 8);
    *weight = (int)(x & (ACU_SIM_ONE - 1));
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
    *out = acu_sim_mix_nearest(sum / ACU_SIM_ONE);
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
    acu_sim_corners_weigh(weight, ACU_SIM_ONE, right, down);
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
    const acu_sim_image wide = keeping_least(image);
    acu_sim_corners c[2];
    acu_sim_sums sums = ACU_SIM_NO_SUMS;
    for (unsigned second = 0; second < 2; second++)
        acu_sim_corners_read(t, &wide, place, level + second, image->mixes,
                             (acu_sim_share){weight, second != 0}, &c[second]);
    acu_sim_mix_add(&wide, c, 2, 1, &sums);
    return acu_sim_mix(image, &sums);
}

/* ---- levels ---- */

/* Returns a number of levels in parts of one, without the rest; what is no number is 0. */
static long long parts_of(float levels) {
    const float most = 0x1p40f;
    if (isnan(levels))
        return 0;
    return (long long)((double)(levels > most    ? most
                                : levels < -most ? -most
                                                 : levels) *
                       ACU_SIM_ONE);
}

/* Returns whether a GPU may take a level nearer to a whole one, as with anisotropy, unless the
 * sampler forbids that. */
static bool may_snap(const acu_sim_texture *t) {
    return t->texture.maxAnisotropy > 1 && !t->texture.disableTrilinearOptimization;
}

/* How much faster the part above a whole level grows where a level may be nearer to whole ones, in
 * quarters: the faster, the more anisotropy is allowed. */
static int quarters_of(const acu_sim_texture *t) {
    const unsigned most = t->texture.maxAnisotropy;
    return most < 4 ? 6 : most < 8 ? 7 : 8;
}

/* Returns the part from which it grows, so that a half stays a half, as a number of parts. */
static double start_of(const acu_sim_texture *t) {
    return ACU_SIM_ONE * (0.5 - 2.0 / quarters_of(t));
}

/* Brings a level nearer to a whole one. */
static long long snap(const acu_sim_texture *t, long long parts) {
    if (!may_snap(t))
        return parts;
    const long long rest = parts % ACU_SIM_ONE,
                    part = (rest - (long long)start_of(t)) * quarters_of(t) / 4;
    return parts - rest + (part < 0 ? 0 : part > ACU_SIM_ONE ? ACU_SIM_ONE : part);
}

/* Returns the bias in parts of one, without the rest. A GPU knows the sum of the bias and the
 * start, if any: the start is subtracted before the rest is left out, and added without its own
 * rest. */
static long long bias_of(const acu_sim_texture *t) {
    const float bias = t->texture.mipmapLevelBias;
    const double start = may_snap(t) ? start_of(t) : 0, most = 0x1p31;
    if (isnan(bias) || fabs((double)bias) > most)
        return parts_of(bias);
    return (long long)((double)bias * ACU_SIM_ONE - start) + (long long)start;
}

/* Returns a level with the bias, in parts of one. */
static long long biased(const acu_sim_texture *t, float level) {
    return parts_of(level) + bias_of(t);
}

/* Returns the level, in parts of one, that the sampler and the mipmap allow. */
static long long clamp_level(const acu_sim_texture *t, const acu_sim_image *image,
                             long long parts) {
    const struct cudaTextureDesc *s = &t->texture;
    const long long least = parts_of(s->minMipmapLevelClamp),
                    most = parts_of(s->maxMipmapLevelClamp);
    const long long last = (long long)(image->level_count - 1) * ACU_SIM_ONE;
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
        return (clamp_level(t, image, parts) + ACU_SIM_ONE / 2) / ACU_SIM_ONE * ACU_SIM_ONE;
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
    const unsigned lower = (unsigned)(parts / ACU_SIM_ONE);
    const int weight = (int)(parts % ACU_SIM_ONE);
    return weight ? sample_two(t, image, place, lower, weight) : sample_one(t, image, place, lower);
}

acu_sim_texel acu_sim_sample_level(const acu_sim_image *image, const acu_sim_place *place,
                                   float level) {
    return sample_level(image, place, biased(image->texture, level));
}

/* ---- derivatives ---- */

/* Returns the footprint of derivatives in the directions that a texture has. */
static acu_sim_footprint footprint_of(const acu_sim_texture *t, const acu_sim_image *image,
                                      const acu_sim_place *place, const float dx[3],
                                      const float dy[3]) {
    const acu_sim_size size = acu_sim_image_size(image, 0);
    const double sizes[3] = {(double)size.width, (double)size.height, (double)size.depth};
    const unsigned most = anisotropy_of(t, place->geometry);
    double x[3] = {0}, y[3] = {0};
    if (acu_sim_is_cube(place->geometry))
        return acu_sim_footprint_of_cube(place->at, dx, dy, (double)size.width, most);
    for (unsigned i = 0; i < acu_sim_dimensions(place->geometry); i++) {
        const double scale = t->texture.normalizedCoords ? sizes[i] : 1;
        const float from = place->geometry == ACU_SIM_3D ? place->at[i] : 0;
        x[i] = acu_sim_footprint_way(from, dx[i], scale);
        y[i] = acu_sim_footprint_way(from, dy[i], scale);
    }
    return acu_sim_footprint_of(x, y, most);
}

/* What the samples along a footprint have in common, of one level. */
typedef struct row {
    const acu_sim_texture *t;
    const acu_sim_image *image;
    const acu_sim_place *place;
    unsigned level;
    acu_sim_share of; /* the level's */
    const int *way;   /* one texel along, in parts of a texel */
    int stretch;      /* how long that texel is, in parts of one */
} row;

/* Returns a way in 1/256 of a texel, of one in 1/128 that is not stretched yet. */
static int stretched(const row *r, int way) {
    return 2 * (int)acu_sim_floor((double)(way * r->stretch) / ACU_SIM_WAY);
}

/* Adds a sample, some 1/256 of a texel beside the middle, with a part of its weight. */
static void add_beside(const row *r, int x, int y, acu_sim_share of, double part,
                       acu_sim_sums *sums) {
    acu_sim_corners c;
    acu_sim_place place = *r->place;
    place.beside[0] += x;
    place.beside[1] += y;
    acu_sim_corners_read(r->t, r->image, &place, r->level, r->image->mixes, of, &c);
    acu_sim_mix_add(r->image, &c, 1, part, sums);
}

/* Adds one pair, which is the nearer to the middle the less length and width differ. */
static void add_near_pair(const row *r, int longer, acu_sim_sums *sums) {
    const int away =
        longer > 0 ? ACU_SIM_ONE - (int)(ACU_SIM_ONE / acu_sim_footprint_power(longer) + 0.5) : 0;
    int way[2];
    for (int i = 0; i < 2; i++) {
        const double part = (double)(away * r->way[i]) / (2 * ACU_SIM_WAY);
        way[i] = stretched(r, (int)acu_sim_floor(part + 0.5));
    }
    add_beside(r, -way[0], -way[1], r->of, 0.5, sums);
    add_beside(r, way[0], way[1], r->of, 0.5, sums);
}

/* Returns the level's share of the samples of one side up to one of them. */
static int share_until(const row *r, int end, int side) {
    const int all = acu_sim_share_weight(r->of);
    return side > 0 ? acu_sim_product(end, all) : acu_sim_product_down(end, all);
}

/* Adds the samples of one side from its end on, a texel apart, which weigh the same, but the last
 * one has the rest. The sum of their shares of the level is rounded. */
static void add_side(const row *r, int longer, int side, acu_sim_sums *sums) {
    const int all = longer < 2 * ACU_SIM_ONE ? ACU_SIM_ONE : 2 * ACU_SIM_ONE,
              halvings = longer / ACU_SIM_ONE - 2,
              each = (int)(ACU_SIM_ONE / acu_sim_footprint_power(longer % ACU_SIM_ONE) + 0.5) >>
                     (halvings > 0 ? halvings : 0),
              x = stretched(r, r->way[0]) * side, y = stretched(r, r->way[1]) * side;
    for (int i = (all + each - 1) / each - 1; i >= 0; i--) {
        const int end = (i + 1) * each < all ? (i + 1) * each : all,
                  weight = share_until(r, end, side) - share_until(r, i * each, side);
        if (weight > 0) /* a share of 0 is all */
            add_beside(r, (2 * i + 1) * x, (2 * i + 1) * y, (acu_sim_share){weight, true},
                       ACU_SIM_ONE / (2.0 * all), sums);
    }
}

/* Adds what a level is sampled along a footprint. The weight of each sample makes no difference
 * between the last step of a power of two and the next power. */
static void add_along(const row *r, int longer, acu_sim_sums *sums) {
    const int steps = longer % ACU_SIM_ONE == ACU_SIM_ONE - 1 ? longer + 1 : longer;
    if (steps < ACU_SIM_ONE) {
        add_near_pair(r, steps, sums);
        return;
    }
    add_side(r, steps, -1, sums);
    add_side(r, steps, 1, sums);
}

/* Samples all along a footprint, which is in the next level half as long. The first level's texels
 * count as if they were as long as those of the level between both. */
static acu_sim_texel sample_along(const acu_sim_texture *t, const acu_sim_image *image,
                                  const acu_sim_place *place, const acu_sim_footprint *f) {
    const long long parts = level_of(t, image, biased(t, f->level));
    const int weight = (int)(parts % ACU_SIM_ONE),
              stretch = ((int)(ACU_SIM_ONE * acu_sim_footprint_power(weight)) + 1) /
                        (ACU_SIM_ONE / ACU_SIM_WAY);
    acu_sim_sums sums = ACU_SIM_NO_SUMS;
    const acu_sim_image wide = keeping_least(image);
    row r = {t, &wide, place, (unsigned)(parts / ACU_SIM_ONE), {weight, false}, f->way, stretch};
    add_along(&r, f->longer, &sums);
    if (weight) {
        r.level++;
        r.of.is_second = true;
        r.stretch = ACU_SIM_WAY;
        add_along(&r, f->longer + weight - ACU_SIM_ONE, &sums);
    }
    return acu_sim_mix(image, &sums);
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
    size_t where[3] = {0, 0, acu_sim_slice(plain, place->geometry, place->layer, 0)};
    const bool layered =
        place->geometry == ACU_SIM_1D_LAYERED || place->geometry == ACU_SIM_2D_LAYERED;
    /* CUDA fetches in one dimension from linear memory alone. */
    if ((place->geometry == ACU_SIM_1D && plain->only) ||
        (layered && place->layer >= plain->layer_count))
        return (acu_sim_texel){{0}};
    for (unsigned i = 0; i < acu_sim_dimensions(place->geometry); i++) {
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
    acu_sim_corners c;
    acu_sim_texel out;
    acu_sim_corners_read(image->texture, plain, place, 0, true, (acu_sim_share){0, false}, &c);
    for (unsigned i = 0; i < 4; i++) { /* counterclockwise from the lower left one */
        const acu_sim_texel *const from =
            &c.texel[(i == 1 || i == 2 ? 1u : 0u) | (i < 2 ? 2u : 0u)];
        out.u[i] = from->u[component];
        if (image->is_float)
            out.f[i] = acu_sim_mix_round(plain, (int)component,
                                         acu_sim_mix_component(plain, from, (int)component));
    }
    return out;
}
