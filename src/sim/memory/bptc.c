/*
 * BC7 and BC6H, as ARB_texture_compression_bptc specifies them, bit by bit. A block has pairs of
 * ends, one for each of its subsets, and each texel an index, which says how far it is from the
 * first end of its subset to the second one.
 */
#include "sim/memory/bptc.h"

#include <string.h>

/* ---- bits ---- */

/* What is read of a block, its lowest bits first. */
typedef struct reader {
    const unsigned char *block;
    unsigned at;
} reader;

static unsigned take(reader *r, unsigned count) {
    unsigned bits = 0;
    for (unsigned i = 0; i < count; i++, r->at++)
        bits |= (r->block[r->at / 8] >> r->at % 8 & 1u) << i;
    return bits;
}

/* ---- subsets ---- */

/* Which texels are of the second of two subsets, a bit for each. */
static const unsigned short halves[64] = {
    0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80, 0xc800, 0xffec, 0xfe80,
    0xe800, 0xffe8, 0xff00, 0xfff0, 0xf000, 0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310,
    0x3100, 0x8cce, 0x088c, 0x3110, 0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c, 0xaaaa,
    0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696, 0xa55a, 0x73ce, 0x13c8, 0x324c, 0x3bdc,
    0x6996, 0xc33c, 0x9966, 0x0660, 0x0272, 0x04e4, 0x4e40, 0x2720, 0xc936, 0x936c, 0x39c6,
    0x639c, 0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22};

/* Of which of three subsets texels are, two bits for each. */
static const unsigned thirds[64] = {
    0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050,
    0xaa550000, 0xaa555500, 0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250,
    0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0, 0xa8a85454, 0x6a6a4040, 0xa4a45000, 0x1a1a0500,
    0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400, 0xa08585a0, 0xaa821414, 0x50a4a450, 0x6a5a0200,
    0xa9a58000, 0x5090a0a8, 0xa8a09050, 0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50,
    0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0, 0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600,
    0xaa444444, 0x54a854a8, 0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414, 0x96960000,
    0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000, 0x40804080, 0xa9a8a9a8, 0xaaaaaa44, 0x2a4a5254};

/* The texel whose index lacks its highest bit, which is 0: of the second of two subsets, and of the
 * second and the third of three. Of the first subset the first texel is that. */
static const unsigned char anchors_of_two[64] = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
                                                 15, 15, 15, 15, 2,  8,  2,  2,  8,  8,  15, 2,  8,
                                                 2,  2,  8,  8,  2,  2,  15, 15, 6,  8,  2,  8,  15,
                                                 15, 2,  8,  2,  2,  2,  15, 15, 6,  6,  2,  6,  8,
                                                 15, 15, 2,  2,  15, 15, 15, 15, 15, 2,  2,  15},
                           anchors_of_three[2][64] = {
                               {3, 3,  15, 15, 8, 3,  15, 15, 8,  8,  6,  6,  6,  5,  3,  3,
                                3, 3,  8,  15, 3, 3,  6,  10, 5,  8,  8,  6,  8,  5,  15, 15,
                                8, 15, 3,  5,  6, 10, 8,  15, 15, 3,  15, 5,  15, 15, 15, 15,
                                3, 15, 5,  5,  5, 8,  5,  10, 5,  10, 8,  13, 15, 12, 3,  3},
                               {15, 8, 8,  3,  15, 15, 3,  8,  15, 15, 15, 15, 15, 15, 15, 8,
                                15, 8, 15, 3,  15, 8,  15, 8,  3,  15, 6,  10, 15, 15, 10, 8,
                                15, 3, 15, 10, 10, 8,  9,  10, 6,  15, 8,  15, 3,  6,  6,  8,
                                15, 3, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3,  15, 15, 8}};

static unsigned subset_of(unsigned subsets, unsigned partition, unsigned number) {
    return subsets == 1   ? 0
           : subsets == 2 ? halves[partition] >> number & 1
                          : thirds[partition] >> 2 * number & 3;
}

static unsigned anchor_of(unsigned subsets, unsigned partition, unsigned subset) {
    return subset == 0    ? 0
           : subsets == 2 ? anchors_of_two[partition]
                          : anchors_of_three[subset - 1][partition];
}

/* Reads the index of a texel, where the indices of a block begin, and returns how much of the
 * second end that means, of 64. */
static int read_weight(reader from, unsigned bits, unsigned subsets, unsigned partition,
                       unsigned number) {
    static const unsigned char of_two[] = {0, 21, 43, 64},
                               of_three[] = {0, 9, 18, 27, 37, 46, 55, 64},
                               of_four[] = {0,  4,  9,  13, 17, 21, 26, 30,
                                            34, 38, 43, 47, 51, 55, 60, 64};
    unsigned before = 0, own = 0;
    for (unsigned i = 0; i < subsets; i++) {
        const unsigned anchor = anchor_of(subsets, partition, i);
        before += anchor < number;
        own += anchor == number;
    }
    from.at += number * bits - before;
    const unsigned index = take(&from, bits - own);
    return bits == 2 ? of_two[index] : bits == 3 ? of_three[index] : of_four[index];
}

static int mix(int first, int second, int weight) {
    return (first * (64 - weight) + second * weight + 32) >> 6;
}

/* ---- BC7 ---- */

/* How many bits there are, in the order in which a block has them. */
typedef struct mode {
    unsigned char subsets, partition, rotation, selection, color, alpha;
    unsigned char lowest;        /* 1: each end has a lowest bit for all of its parts */
    unsigned char shared_lowest; /* 1: both ends of a subset have one together */
    unsigned char index, second_index;
} mode;

static const mode modes[8] = {{3, 4, 0, 0, 4, 0, 1, 0, 3, 0}, {2, 6, 0, 0, 6, 0, 0, 1, 3, 0},
                              {3, 6, 0, 0, 5, 0, 0, 0, 2, 0}, {2, 6, 0, 0, 7, 0, 1, 0, 2, 0},
                              {1, 0, 2, 1, 5, 6, 0, 0, 2, 3}, {1, 0, 2, 0, 7, 8, 0, 0, 2, 2},
                              {1, 0, 0, 0, 7, 7, 1, 0, 4, 0}, {2, 6, 0, 0, 5, 5, 1, 0, 2, 0}};

enum { MOST_ENDS = 6, PARTS = 4 };

/* Makes a part one of 8 bits, whose lowest are its highest. */
static int widen(unsigned part, unsigned bits) {
    return (int)(part << (8 - bits) | part >> (2 * bits - 8));
}

static void read_ends(reader *r, const mode *m, int ends[MOST_ENDS][PARTS]) {
    unsigned raw[MOST_ENDS][PARTS];
    const unsigned count = 2u * m->subsets, lowest = m->lowest | m->shared_lowest;
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < count; i++)
            raw[i][part] = take(r, part < 3 ? m->color : m->alpha);
    for (unsigned i = 0, bit = 0; i < count; i++) {
        if (lowest && (m->lowest || i % 2 == 0))
            bit = take(r, 1);
        for (unsigned part = 0; part < PARTS; part++) {
            const unsigned bits = part < 3 ? m->color : m->alpha;
            ends[i][part] =
                bits ? widen(raw[i][part] << lowest | bit, bits + lowest) : 255; /* opaque */
        }
    }
}

acu_sim_texel acu_sim_bptc_fractions(const unsigned char block[16], unsigned number) {
    acu_sim_texel texel = {{0}};
    int ends[MOST_ENDS][PARTS], parts[PARTS];
    if (!block[0]) /* no mode */
        return texel;
    const unsigned which = (unsigned)__builtin_ctz(block[0]);
    const mode *m = &modes[which];
    reader r = {block, which + 1};
    const unsigned partition = take(&r, m->partition), rotation = take(&r, m->rotation);
    const bool is_swapped = take(&r, m->selection);
    read_ends(&r, m, ends);
    const unsigned subset = subset_of(m->subsets, partition, number);
    const int *first = ends[(size_t)2 * subset], *second = first + PARTS;
    int color = read_weight(r, m->index, m->subsets, partition, number), alpha = color;
    if (m->second_index) {
        r.at += 16u * m->index - 1;
        alpha = read_weight(r, m->second_index, 1, 0, number);
    }
    for (int i = 0; i < PARTS; i++)
        parts[i] = mix(first[i], second[i], (i == 3) == is_swapped ? color : alpha);
    if (rotation) {
        const int kept = parts[3];
        parts[3] = parts[rotation - 1];
        parts[rotation - 1] = kept;
    }
    for (int i = 0; i < PARTS; i++)
        texel.f[i] = (float)parts[i] / 255;
    return texel;
}

/* ---- BC6H ---- */

/* Where the bits of the ends are. A word of four letters is a run of bits of one part of one end:
 * which part, which end, and the last and the first of the bits, which may run down. */
typedef struct layout {
    unsigned char number, bits; /* bits: of a part */
    bool is_changed;            /* the later ends are differences to the first one */
    unsigned char later[3];     /* bits of later ends' red, green and blue */
    const char *runs;
} layout;

static const layout layouts[14] = {
    {0,
     10,
     true,
     {5, 5, 5},
     "g244 b244 b344 r090 g090 b090 r140 g344 g230 g140 b300 g330 b140 b311 b230 r240 b322 r340 "
     "b333 "},
    {1,
     7,
     true,
     {6, 6, 6},
     "g255 g344 g355 r060 b300 b311 b244 g060 b255 b322 g244 b060 b333 b355 b344 r150 g230 g150 "
     "g330 b150 b230 r250 r350 "},
    {2,
     11,
     true,
     {5, 4, 4},
     "r090 g090 b090 r140 r0aa g230 g130 g0aa b300 g330 b130 b0aa b311 b230 r240 b322 r340 b333 "},
    {6,
     11,
     true,
     {4, 5, 4},
     "r090 g090 b090 r130 r0aa g344 g230 g140 g0aa g330 b130 b0aa b311 b230 r230 b300 b322 r330 "
     "g244 b333 "},
    {10,
     11,
     true,
     {4, 4, 5},
     "r090 g090 b090 r130 r0aa b244 g230 g130 g0aa b300 g330 b140 b0aa b230 r230 b311 b322 r330 "
     "b344 b333 "},
    {14,
     9,
     true,
     {5, 5, 5},
     "r080 b244 g080 g244 b080 b344 r140 g344 g230 g140 b300 g330 b140 b311 b230 r240 b322 r340 "
     "b333 "},
    {18,
     8,
     true,
     {6, 5, 5},
     "r070 g344 b244 g070 b322 g244 b070 b333 b344 r150 g230 g140 b300 g330 b140 b311 b230 r250 "
     "r350 "},
    {22,
     8,
     true,
     {5, 6, 5},
     "r070 b300 b244 g070 g255 g244 b070 g355 b344 r140 g344 g230 g150 g330 b140 b311 b230 r240 "
     "b322 r340 b333 "},
    {26,
     8,
     true,
     {5, 5, 6},
     "r070 b311 b244 g070 b255 g244 b070 b355 b344 r140 g344 g230 g140 b300 g330 b150 b230 r240 "
     "b322 r340 b333 "},
    {30,
     6,
     false,
     {6, 6, 6},
     "r050 g344 b300 b311 b244 g050 g255 b255 b322 g244 b050 g355 b333 b355 b344 r150 g230 g150 "
     "g330 b150 b230 r250 r350 "},
    {3, 10, false, {10, 10, 10}, "r090 g090 b090 r190 g190 b190 "},
    {7, 11, true, {9, 9, 9}, "r090 g090 b090 r180 r0aa g180 g0aa b180 b0aa "},
    {11, 12, true, {8, 8, 8}, "r090 g090 b090 r170 r0ab g170 g0ab b170 b0ab "},
    {15, 16, true, {4, 4, 4}, "r090 g090 b090 r130 r0af g130 g0af b130 b0af "}};

/* Reads the number of the layout; NULL if there is none. */
static const layout *read_layout(reader *r) {
    unsigned number = take(r, 2);
    if (number > 1)
        number |= take(r, 3) << 2;
    for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].number == number)
            return &layouts[i];
    return NULL;
}

static int digit(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void read_runs(reader *r, const char *runs, int ends[4][3]) {
    memset(ends, 0, 4 * sizeof *ends);
    for (const char *c = runs; *c; c += 5) {
        const int part = c[0] == 'r' ? 0 : c[0] == 'g' ? 1 : 2, last = digit(c[2]);
        int bit = digit(c[3]);
        const int step = last < bit ? -1 : 1;
        for (;; bit += step) {
            ends[digit(c[1])][part] |= (int)(take(r, 1) << bit);
            if (bit == last)
                break;
        }
    }
}

/* Returns a number of so many bits, of which the highest means less than 0. */
static int sign(int number, unsigned bits) {
    const int highest = 1 << (bits - 1), within = number & (2 * highest - 1);
    return (within ^ highest) - highest;
}

/* Makes a part of an end as wide as halves. */
static int unquantize(int part, unsigned bits, bool is_signed) {
    if (is_signed && bits < 16) {
        const int size = part < 0 ? -part : part;
        const int wide = size >= (1 << (bits - 1)) - 1 ? 0x7fff
                         : size == 0                   ? 0
                                                       : ((size << 15) + 0x4000) >> (bits - 1);
        return part < 0 ? -wide : wide;
    }
    if (is_signed || bits >= 15 || part == 0)
        return part;
    return part == (1 << bits) - 1 ? 0xffff : ((part << 15) + 0x4000) >> (bits - 1);
}

/* Returns a part of an end. */
static int end_of(const layout *l, int ends[4][3], unsigned which, int part, bool is_signed) {
    const int first = is_signed ? sign(ends[0][part], l->bits) : ends[0][part];
    int value = which == 0 ? first : ends[which][part];
    if (which > 0 && (is_signed || l->is_changed))
        value = sign(value, l->later[part]);
    if (which > 0 && l->is_changed) {
        value = (first + value) & ((1 << l->bits) - 1);
        value = is_signed ? sign(value, l->bits) : value;
    }
    return unquantize(value, l->bits, is_signed);
}

static unsigned short half_of(int value, bool is_signed) {
    if (!is_signed)
        return (unsigned short)(value * 31 >> 6);
    return (unsigned short)(value < 0 ? 0x8000 | -value * 31 >> 5 : value * 31 >> 5);
}

void acu_sim_bptc_halves(const unsigned char block[16], unsigned number, bool is_signed,
                         unsigned short color[3]) {
    reader r = {block, 0};
    int ends[4][3];
    const layout *l = read_layout(&r);
    memset(color, 0, 3 * sizeof *color);
    if (!l)
        return;
    read_runs(&r, l->runs, ends);
    const unsigned subsets = r.at > 65 ? 2 : 1, partition = subsets == 2 ? take(&r, 5) : 0;
    const unsigned first = 2 * subset_of(subsets, partition, number);
    const int weight = read_weight(r, subsets == 2 ? 3 : 4, subsets, partition, number);
    for (int i = 0; i < 3; i++)
        color[i] = half_of(mix(end_of(l, ends, first, i, is_signed),
                               end_of(l, ends, first + 1, i, is_signed), weight),
                           is_signed);
}
