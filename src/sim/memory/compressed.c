/*
 * Compressed formats. BC6H and BC7 are as specified (bptc.c). What a GPU makes of BC1 to BC5 is not
 * what their specification says, which allows errors: an H200 and an H100 were asked about 64
 * random blocks of each format, and the formulas here give all of their texels, bit by bit.
 */
#include "sim/memory/compressed.h"

#include "sim/memory/bptc.h"
#include "sim/memory/texel.h"

#include <string.h>

typedef enum family { NONE, BC1, BC2, BC3, BC4, BC5, BC6H, BC7 } family;

typedef struct format {
    unsigned char family, size; /* size: the bytes of a block */
    bool is_signed, is_srgb;
} format;

static format format_of(enum cudaChannelFormatKind kind) {
    switch ((int)kind) {
    case cudaChannelFormatKindUnsignedBlockCompressed1:
        return (format){BC1, 8, false, false};
    case cudaChannelFormatKindUnsignedBlockCompressed1SRGB:
        return (format){BC1, 8, false, true};
    case cudaChannelFormatKindUnsignedBlockCompressed2:
        return (format){BC2, 16, false, false};
    case cudaChannelFormatKindUnsignedBlockCompressed2SRGB:
        return (format){BC2, 16, false, true};
    case cudaChannelFormatKindUnsignedBlockCompressed3:
        return (format){BC3, 16, false, false};
    case cudaChannelFormatKindUnsignedBlockCompressed3SRGB:
        return (format){BC3, 16, false, true};
    case cudaChannelFormatKindUnsignedBlockCompressed4:
        return (format){BC4, 8, false, false};
    case cudaChannelFormatKindSignedBlockCompressed4:
        return (format){BC4, 8, true, false};
    case cudaChannelFormatKindUnsignedBlockCompressed5:
        return (format){BC5, 16, false, false};
    case cudaChannelFormatKindSignedBlockCompressed5:
        return (format){BC5, 16, true, false};
    case cudaChannelFormatKindUnsignedBlockCompressed6H:
        return (format){BC6H, 16, false, false};
    case cudaChannelFormatKindSignedBlockCompressed6H:
        return (format){BC6H, 16, true, false};
    case cudaChannelFormatKindUnsignedBlockCompressed7:
        return (format){BC7, 16, false, false};
    case cudaChannelFormatKindUnsignedBlockCompressed7SRGB:
        return (format){BC7, 16, false, true};
    default:
        return (format){NONE, 0, false, false};
    }
}

size_t acu_sim_compressed_size(enum cudaChannelFormatKind kind) {
    return format_of(kind).size;
}

size_t acu_sim_compressed_count(enum cudaChannelFormatKind kind, size_t texels) {
    return format_of(kind).size ? (texels + SIM_BLOCK - 1) / SIM_BLOCK : texels;
}

struct cudaChannelFormatDesc acu_sim_compressed_describe(enum cudaChannelFormatKind kind) {
    static const unsigned char channels[] = {[BC1] = 4, [BC2] = 4,  [BC3] = 4, [BC4] = 1,
                                             [BC5] = 2, [BC6H] = 3, [BC7] = 4};
    const int bits = acu_sim_compressed_is_half(kind) ? 16 : 8,
              count = channels[format_of(kind).family];
    return (struct cudaChannelFormatDesc){bits, count > 1 ? bits : 0, count > 2 ? bits : 0,
                                          count > 3 ? bits : 0, kind};
}

bool acu_sim_compressed_is_described(const struct cudaChannelFormatDesc *d) {
    const struct cudaChannelFormatDesc is = acu_sim_compressed_describe(d->f);
    return d->x == is.x && d->y == is.y && d->z == is.z && d->w == is.w;
}

bool acu_sim_compressed_is_srgb(enum cudaChannelFormatKind kind) {
    return format_of(kind).is_srgb;
}

bool acu_sim_compressed_is_signed(enum cudaChannelFormatKind kind) {
    return format_of(kind).is_signed;
}

bool acu_sim_compressed_is_half(enum cudaChannelFormatKind kind) {
    return format_of(kind).family == BC6H;
}

/* ---- colors: two ends, and one or two between them ---- */

/* An end's parts: red, green and blue, of 5, 6 and 5 bits. */
typedef struct end {
    int part[3];
} end;

static end end_of(const unsigned char *bytes) {
    const int bits = bytes[0] | bytes[1] << 8;
    return (end){{bits >> 11, bits >> 5 & 63, bits & 31}};
}

/* Makes a part one of 8 bits, whose lowest are its highest. */
static int widen(int part, bool is_green) {
    return is_green ? part << 2 | part >> 4 : part << 3 | part >> 2;
}

/* Mixes a part of the nearer end and of the other one: 80 of 256, or a half of both. Red and blue
 * are mixed as they are. */
static int mix_part(int near, int far, bool is_green, bool is_half) {
    if (!is_green)
        return is_half ? (near + far) * 33 / 8 : (2 * near + far) * 22 / 8;
    const int from = widen(near, true), way = widen(far, true) - from;
    return (256 * from + way / 4 + 128 + way * (is_half ? 128 : 80)) / 256;
}

/* Sets red, green, blue and alpha. There are two colors between the ends where the first one is
 * larger, or where `has_alpha` says that the block has alpha elsewhere; else one, and black, which
 * is transparent. */
static void set_color(const unsigned char *block, unsigned number, bool has_alpha,
                      acu_sim_texel *texel) {
    const end ends[2] = {end_of(block), end_of(block + 2)};
    const bool has_two = has_alpha || (block[0] | block[1] << 8) > (block[2] | block[3] << 8);
    const int choice = block[4 + number / 4] >> number % 4 * 2 & 3;
    const bool is_black = choice == 3 && !has_two;
    for (int i = 0; i < 3; i++) {
        const int near = ends[choice & 1].part[i], far = ends[!(choice & 1)].part[i];
        const int value = choice < 2 ? widen(near, i == 1) : mix_part(near, far, i == 1, !has_two);
        texel->f[i] = is_black ? 0.0f : (float)value / 255;
    }
    texel->f[3] = is_black ? 0 : 1;
}

/* ---- numbers: two ends, and six between them, or four and the least and most ---- */

/* What a texel's 3 bits choose: an end, and how many parts of the way to the other end are gone. */
typedef struct choice {
    unsigned char end, parts;
} choice;

/* Where the first end is larger, a part is about a seventh of the way, else a fifth. */
static const choice of_seven[8] = {{0, 0}, {1, 0}, {0, 1}, {0, 2}, {1, 4}, {0, 4}, {1, 2}, {1, 1}},
                    of_five[6] = {{0, 0}, {1, 0}, {0, 1}, {0, 2}, {1, 2}, {1, 1}};
enum { SEVENTH = 36, FIFTH = 48 }; /* of 256 */

static unsigned bits_of(const unsigned char *block, unsigned number) {
    unsigned long long bits = 0;
    memcpy(&bits, block + 2, 6);
    return (unsigned)(bits >> 3 * number) & 7;
}

/* Returns a number of 8 bits, rounded; `way` is shifted as a GPU does it, also where negative. */
static float mix_8(int from, int way, int parts, int part) {
    const int more = way * parts;
    return (float)((256 * from + (more >> 3) + 128 + more * part) >> 8) / 255;
}

/* Returns a number of 16 bits: ends become wider, ways do not. */
static float mix_16(int from, int way, int parts, int part, bool is_signed) {
    const int size = from < 0 ? -from : from, wide = size * 258 + (size >> 6);
    const int start = !is_signed ? from * 257 : from < 0 ? -wide : wide;
    return (float)(start + way * parts * part) / (is_signed ? 32767.0f : 65535.0f);
}

static int signed_end(unsigned char byte) {
    const int value = byte < 128 ? byte : byte - 256;
    return value < -127 ? -127 : value;
}

static float number_of(const unsigned char *block, unsigned number, bool is_signed, bool is_wide) {
    const bool is_larger =
        is_signed ? (signed char)block[0] > (signed char)block[1] : block[0] > block[1];
    const int ends[2] = {is_signed ? signed_end(block[0]) : block[0],
                         is_signed ? signed_end(block[1]) : block[1]};
    const unsigned bits = bits_of(block, number);
    if (!is_larger && bits >= 6)
        return bits == 7 ? 1.0f : is_signed ? -1.0f : 0.0f;
    const choice c = is_larger ? of_seven[bits] : of_five[bits];
    const int from = ends[c.end], way = ends[!c.end] - from, part = is_larger ? SEVENTH : FIFTH;
    return is_wide ? mix_16(from, way, c.parts, part, is_signed) : mix_8(from, way, c.parts, part);
}

/* ---- texels ---- */

static void set_halves(const unsigned char *block, unsigned number, bool is_signed,
                       acu_sim_texel *texel) {
    unsigned short color[3];
    acu_sim_bptc_halves(block, number, is_signed, color);
    for (int i = 0; i < 3; i++)
        texel->f[i] = acu_sim_half_to_float(color[i]);
}

acu_sim_texel acu_sim_compressed_texel(enum cudaChannelFormatKind kind, const unsigned char *block,
                                       unsigned number) {
    const format f = format_of(kind);
    acu_sim_texel texel = {.f = {0, 0, 0, 1}};
    switch ((family)f.family) {
    case BC1:
        set_color(block, number, false, &texel);
        break;
    case BC2:
        set_color(block + 8, number, true, &texel);
        texel.f[3] = (float)(block[number / 2] >> number % 2 * 4 & 15) / 15;
        break;
    case BC3:
        set_color(block + 8, number, true, &texel);
        texel.f[3] = number_of(block, number, false, false);
        break;
    case BC5:
        texel.f[1] = number_of(block + 8, number, f.is_signed, true);
        texel.f[0] = number_of(block, number, f.is_signed, true);
        break;
    case BC4:
        texel.f[0] = number_of(block, number, f.is_signed, true);
        break;
    case BC6H:
        set_halves(block, number, f.is_signed, &texel);
        break;
    case BC7:
        texel = acu_sim_bptc_fractions(block, number);
        break;
    case NONE:
        break;
    }
    return texel;
}
