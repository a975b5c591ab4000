/* Where coordinates lead: to texels, and to fractions between them. */
#include "sim/memory/coordinate.h"

#include <float.h>
#include <math.h>

long long acu_sim_floor(double x) {
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
        return acu_sim_floor(at * 512);
    *bits = size > 8192 ? 22 : 21; /* as an H200 has them */
    const long long one = 1ll << *bits, most = one << 8;
    if (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)
        at = remainder_of_two(at);
    long long x = acu_sim_floor(at * (double)one);
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
static acu_sim_axis place_at(long long x, unsigned bits, int beside, size_t size,
                             enum cudaTextureAddressMode mode) {
    acu_sim_axis a = {0, {0, 0}, 0, {false, false}};
    x = ((x - (1ll << (bits - 1)) + (1ll << (bits - 9))) >> (bits - 8)) + beside;
    a.weight = (int)(x & (ACU_SIM_ONE - 1));
    a.first = a.texel[0] = x >> 8;
    a.texel[1] = a.first + 1;
    for (int i = 0; i < 2; i++)
        a.is_outside[i] = fold(&a.texel[i], (long long)size, mode);
    if (a.texel[0] == a.texel[1] && mode == cudaAddressModeClamp)
        a.weight = 0; /* at an edge there is one texel, of which nothing is rounded */
    return a;
}

acu_sim_axis acu_sim_axis_on(float at, int beside, size_t size, enum cudaTextureAddressMode mode,
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
    return (acu_sim_floor(clean(at) * (double)half) + half) * (long long)size;
}

acu_sim_axis acu_sim_axis_on_side(float at, int beside, size_t size,
                                  enum cudaTextureAddressMode mode) {
    unsigned bits;
    const long long x = texels_from_middle(at, size, &bits);
    return place_at(x, bits, beside, size, mode);
}

size_t acu_sim_point_on(float at, int beside, size_t size, enum cudaTextureAddressMode mode,
                        bool normalized, bool *is_outside) {
    unsigned bits;
    mode = mode_of(mode, normalized);
    long long x = texels_of(clean(at), size, mode, normalized, &bits);
    x = ((x >> (bits - 8)) + beside) >> 8;
    if (fold(&x, (long long)size, mode))
        *is_outside = true;
    return (size_t)x;
}

size_t acu_sim_point_on_side(float at, int beside, size_t size, enum cudaTextureAddressMode mode,
                             bool *is_outside) {
    unsigned bits;
    const long long x = texels_from_middle(at, size, &bits);
    long long texel = ((x >> (bits - 8)) + beside) >> 8;
    if (fold(&texel, (long long)size, mode))
        *is_outside = true;
    return (size_t)texel;
}
