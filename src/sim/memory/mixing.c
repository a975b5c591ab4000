/* How texels are mixed: what is cut off, and how the sum is rounded. */
#include "sim/memory/mixing.h"

#include "sim/memory/coordinate.h"

#include <float.h>
#include <math.h>
#include <string.h>

double acu_sim_mix_most(const acu_sim_image *image, int component) {
    const double most = image->most[component];
    const bool is_block = image->is_compressed;
    return most == 32767 && image->format.x == 8 && !is_block ? 127 : most;
}

bool acu_sim_mix_is_wide(const acu_sim_image *image, int component) {
    return image->is_float && image->most[component] > acu_sim_mix_most(image, component);
}

float acu_sim_mix_nearest(double sum) {
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
    const double parts = sum * ACU_SIM_ONE, rest = (double)acu_sim_floor(parts / 4096) * 32,
                 wide = (double)acu_sim_floor((parts * 258 + rest) / ACU_SIM_ONE + 0.5);
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

float acu_sim_mix_round(const acu_sim_image *image, int component, double sum) {
    const double most = image->most[component];
    if (most > acu_sim_mix_most(image, component))
        return (float)(widen(sum) / most);
    if (most > 0)
        return (float)(fmax((double)acu_sim_floor(sum + 0.5), -most) / most);
    const bool is_half = image->format.x == 16 || (image->srgb && image->format.x == 8);
    if (isnan(sum))
        return no_number(is_half);
    return is_half ? acu_sim_image_half(sum) : acu_sim_mix_nearest(normal(sum));
}

double acu_sim_mix_component(const acu_sim_image *image, const acu_sim_texel *texel,
                             int component) {
    if (!image->is_float)
        return image->format.f == cudaChannelFormatKindSigned ? (double)texel->i[component]
                                                              : (double)texel->u[component];
    const double most = acu_sim_mix_most(image, component), x = normal((double)texel->f[component]);
    return most > 0 ? (double)acu_sim_floor(x * most + 0.5) : x;
}

/* Returns the unit of which the floats of a square's corners, or sRGB's colors, are multiples where
 * they are mixed, for which they are cut off: floats have 28 bits, halves 15, colors 8, of which
 * the largest one that weighs something has the highest. Returns 0 where a component is not cut
 * off. */
static double unit_of(const acu_sim_image *image, const acu_sim_corners *c, unsigned first,
                      int component) {
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
static double weighted(const acu_sim_image *image, const acu_sim_corners *c, unsigned k,
                       int component, double unit) {
    const double x = acu_sim_mix_component(image, &c->texel[k], component);
    if (!c->counts[k])
        return -0.0;
    return isnan(x) || isinf(x) ? x : cut_off(x, unit) * c->weight[k];
}

/* Returns the unit to whose multiples sums are cut off where the largest texel has `unit`: a GPU
 * brings sums to an exponent that is a multiple of 4, as floats count it. */
static double common_unit(const acu_sim_image *image, double unit) {
    int exponent;
    if (!(unit > 0))
        return 0;
    (void)frexp(unit, &exponent);
    exponent += (image->format.x == 16 ? 15 : 28) - 1; /* the texel's */
    return ldexp(unit, -((exponent + 126) & 3));
}

/* Cuts a sum off at multiples of a unit: what it has more makes it less. */
static double cut_down(double sum, double unit) {
    return unit > 0 ? floor(sum / unit) * unit : sum;
}

/* Adds what a square's corners weigh together, each `part` of its weight. The larger unit counts,
 * of what was added before and of the square. */
static void add_square(const acu_sim_image *image, const acu_sim_corners *c, unsigned first,
                       int component, double part, acu_sim_sums *sums) {
    const double unit = unit_of(image, c, first, component), common = common_unit(image, unit);
    double *const sum = &sums->sum[component], *const most = &sums->unit[component], square = -0.0;
    for (unsigned k = first; k < c->count && k < first + 4; k++)
        square += weighted(image, c, k, component, unit);
    *most = common > *most ? common : *most;
    *sum = cut_down(*sum, *most) + cut_down(square * part, *most);
}

/* Of a second level the second square comes first. */
void acu_sim_mix_add(const acu_sim_image *image, const acu_sim_corners *c, unsigned levels,
                     double part, acu_sim_sums *sums) {
    for (unsigned n = 0; n < levels; n++)
        for (unsigned k = 0; k < c[n].count; k += 4) {
            const unsigned first = n && c[n].count > 4 ? 4 - k : k;
            for (int i = 0; i < image->channels; i++)
                add_square(image, &c[n], first, i, part, sums);
        }
}

/* An H200 rounds integers of 8 and 16 bits to the nearest one, up between two, and those of 32 bits
 * down. */
static unsigned round_integer(const acu_sim_image *image, double sum) {
    return (unsigned)(int64_t)floor(image->format.x == 32 ? sum : sum + 0.5);
}

acu_sim_texel acu_sim_mix(const acu_sim_image *image, const acu_sim_sums *sums) {
    acu_sim_texel out = {{0}};
    for (int i = 0; i < image->channels; i++)
        if (image->is_float)
            out.f[i] = acu_sim_mix_round(image, i, sums->sum[i] / ACU_SIM_ONE);
        else
            out.u[i] = round_integer(image, sums->sum[i] / ACU_SIM_ONE);
    return out;
}

acu_sim_texel acu_sim_mix_alone(const acu_sim_image *image, acu_sim_texel texel) {
    for (int i = 0; i < image->channels; i++)
        if (image->is_float)
            texel.f[i] = acu_sim_mix_round(image, i, acu_sim_mix_component(image, &texel, i));
    return texel;
}
