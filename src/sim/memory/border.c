/* The color of the border of a texture. */
#include "sim/memory/border.h"

#include "sim/memory/coordinate.h"
#include "sim/memory/mixing.h"

#include <math.h>
#include <string.h>

/* Returns the integer that means 1 in the border: that of bytes, and of blocks with four channels,
 * has 8 bits. */
static double border_most(const acu_sim_image *image, int component) {
    const double most = acu_sim_mix_most(image, component);
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
                 parts = (double)-acu_sim_floor(0.5 - fixed * most);
    return (float)((within < 0 ? -parts : parts) / most);
}

/* Returns what an integer of the border is: the lowest bits, of which texels have as many. */
static unsigned border_integer(const acu_sim_image *image, unsigned value) {
    const unsigned unused = 32 - (unsigned)image->format.x;
    return image->format.f == cudaChannelFormatKindSigned
               ? (unsigned)((int)(value << unused) >> unused)
               : value << unused >> unused;
}

acu_sim_texel acu_sim_border_of(const acu_sim_texture *t, const acu_sim_image *image) {
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
