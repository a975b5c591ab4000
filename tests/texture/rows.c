#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the rows ---- */

enum {
    F = cudaChannelFormatKindFloat,
    S = cudaChannelFormatKindSigned,
    U = cudaChannelFormatKindUnsigned
};

static struct cudaChannelFormatDesc channels(int bits, int count, int kind) {
    return (struct cudaChannelFormatDesc){bits, count > 1 ? bits : 0, count > 2 ? bits : 0,
                                          count > 2 ? bits : 0, (enum cudaChannelFormatKind)kind};
}

size_t format_bytes(const struct cudaChannelFormatDesc *f) {
    return (size_t)(f->x + f->y + f->z + f->w) / 8;
}

static const char *const geometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
static const char *const addresses[] = {"wrap", "clamp", "mirror", "border"};

/* Rows are made by these loops; a builder counts until it comes to the one that is wanted. */
typedef struct builder {
    unsigned wanted, now;
    row *row;
} builder;

static void sizes(row *r, geometry g) {
    static const unsigned of[][3] = {{7, 0, 0}, {7, 5, 0}, {7, 5, 3}, {7, 0, 3},
                                     {7, 5, 3}, {5, 5, 6}, {5, 5, 12}};
    r->geometry = g;
    r->width = of[g][0];
    r->height = of[g][1];
    r->depth = of[g][2];
}

static int add(builder *b, const row *r) {
    if (b->now++ != b->wanted)
        return 0;
    *b->row = *r;
    return 1;
}

static row plain(geometry g, int address, int linear, int normalized) {
    row r = {.type = 'f', .component = 'r'};
    sizes(&r, g);
    r.format = channels(32, 1, F);
    for (int i = 0; i < 3; i++)
        r.sampler.addressMode[i] = (enum cudaTextureAddressMode)address;
    r.sampler.filterMode = (enum cudaTextureFilterMode)linear;
    r.sampler.normalizedCoords = normalized;
    r.sampler.borderColor[0] = 0.625f;
    r.sampler.borderColor[1] = 0.25f;
    r.sampler.borderColor[2] = 0.5f;
    r.sampler.borderColor[3] = 0.75f;
    r.sampler.seamlessCubemap = 0;
    if (g >= G_CUBE && linear && address % 3 == 0)
        r.allowed = 1.0f / 512; /* between faces a GPU's division is not exact */
    snprintf(r.name, sizeof r.name, "%s %s %s %s", geometries[g], addresses[address],
             linear ? "linear" : "point", normalized ? "normalized" : "texels");
    return r;
}

#define NAME(r, text) strncat((r).name, " " text, sizeof(r).name - strlen((r).name) - 1)
#define ADD(r)                                                                                     \
    do {                                                                                           \
        if (add(b, &(r)))                                                                          \
            return 1;                                                                              \
    } while (0)

/* Every geometry, address mode, filter, and both kinds of coordinates. */
static int geometry_rows(builder *b) {
    for (int g = G_1D; g <= G_ACUBE; g++)
        for (int address = 0; address < 4; address++)
            for (int linear = 0; linear < 2; linear++)
                for (int normalized = 1; normalized >= (g >= G_CUBE); normalized--) {
                    row r = plain((geometry)g, address, linear, normalized);
                    r.pattern = linear ? P_RANDOM : P_INDEX;
                    r.places = C_RANDOM;
                    r.count = 400;
                    ADD(r);
                    if (g == G_1D || g == G_2D) {
                        NAME(r, "edges");
                        r.places = C_EDGE;
                        r.count = 400;
                        ADD(r);
                        r = plain((geometry)g, address, linear, normalized);
                        r.pattern = P_INDEX;
                        NAME(r, "special");
                        r.places = C_SPECIAL;
                        r.count = 64;
                        ADD(r);
                    }
                }
    return 0;
}

static int seamless_rows(builder *b) {
    for (int g = G_CUBE; g <= G_ACUBE; g++) {
        row r = plain((geometry)g, 1, 1, 1);
        r.sampler.seamlessCubemap = 1;
        r.pattern = P_RANDOM;
        r.places = C_RANDOM;
        r.count = 1500;
        NAME(r, "seamless");
        ADD(r);
        r = plain((geometry)g, 1, 0, 1);
        r.pattern = P_INDEX;
        r.places = C_EDGE;
        r.count = 600;
        NAME(r, "faces");
        ADD(r);
    }
    return 0;
}

/* How a fraction is rounded, and how it weights texels. */
static int fraction_rows(builder *b) {
    for (int normalized = 0; normalized < 2; normalized++) {
        row r = plain(G_1D, 1, 1, normalized);
        r.pattern = P_ONE;
        r.places = C_FINE;
        r.count = 4097;
        NAME(r, "fine");
        ADD(r);
        r.width = 100;
        NAME(r, "of 100");
        ADD(r);
        r.width = 16384;
        r.count = 2048;
        NAME(r, "of 16384");
        ADD(r);
    }
    static const unsigned widths[] = {1,    2,    3,    5,    6,    8,     12,    16,    17,   31,
                                      33,   48,   64,   100,  127,  128,   129,   255,   640,  1000,
                                      1023, 1024, 1920, 4096, 5000, 10000, 16384, 20000, 30000};
    for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++) {
        row r = plain(G_1D, 1, 1, 1);
        r.pattern = P_INDEX;
        r.width = widths[i];
        r.places = C_TIES;
        r.count = 700;
        snprintf(r.name, sizeof r.name, "ties of %u", widths[i]);
        ADD(r);
        r.sampler.filterMode = cudaFilterModePoint;
        NAME(r, "point");
        ADD(r);
    }
    for (int bits = 8; bits <= 16; bits += 8)
        for (int kind = 0; kind < 3; kind++) {
            if (kind == F && bits == 8)
                continue;
            row r = plain(G_1D, 1, 1, 0);
            r.format = channels(bits, 1, kind);
            r.sampler.readMode = kind == F ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
            r.pattern = P_RANDOM;
            r.width = 64;
            r.places = C_RANDOM;
            r.count = 3000;
            char what[40];
            snprintf(what, sizeof what, " of %c%d", "SUF"[kind], bits);
            strncat(r.name, what, sizeof r.name - strlen(r.name) - 1);
            ADD(r);
            sizes(&r, G_2D);
            NAME(r, "2d");
            ADD(r);
            sizes(&r, G_3D);
            NAME(r, "3d");
            ADD(r);
        }
    for (int g = G_1D; g <= G_3D; g++) {
        row r = plain((geometry)g, 1, 1, 0);
        r.pattern = P_RANDOM;
        r.places = C_RANDOM;
        r.count = 4000;
        NAME(r, "many");
        ADD(r);
        r.pattern = P_ONE;
        NAME(r, "one");
        ADD(r);
    }
    return 0;
}

struct cudaChannelFormatDesc compressed_format(int kind) {
    const int count = kind <= 22 || kind > 28 ? 4 : kind <= 24 ? 1 : kind <= 26 ? 2 : 3;
    struct cudaChannelFormatDesc f = channels(count == 3 ? 16 : 8, count, kind);
    f.w = count == 4 ? f.x : 0;
    return f;
}

/* Every format, its texels one by one. */
static int format_rows(builder *b) {
    for (int bits = 8; bits <= 32; bits *= 2)
        for (int kind = 0; kind < 3; kind++)
            for (int count = 1; count <= 4; count *= 2)
                for (int norm = 0; norm < 2; norm++) {
                    if ((kind == F && (bits == 8 || norm)) || (norm && bits == 32))
                        continue;
                    row r = plain(G_1D, 1, 0, 0);
                    r.format = channels(bits, count, kind);
                    r.sampler.readMode =
                        norm ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
                    r.type = 'u';
                    if (kind == F || norm)
                        r.type = 'f';
                    else if (kind == S)
                        r.type = 's';
                    r.pattern = P_RAMP;
                    r.width = bits == 8 ? 256 : 512;
                    r.places = C_WHOLE;
                    r.count = r.width;
                    snprintf(r.name, sizeof r.name, "format %c%dx%d%s", "SUF"[kind], bits, count,
                             norm ? " normalized" : "");
                    ADD(r);
                    if (bits == 8 && kind == U && norm && count == 4) {
                        r.sampler.sRGB = 1;
                        r.width = r.count = 512;
                        NAME(r, "sRGB");
                        ADD(r);
                        r.sampler.filterMode = cudaFilterModeLinear;
                        r.pattern = P_RANDOM;
                        r.places = C_RANDOM;
                        r.count = 2000;
                        r.width = 64;
                        NAME(r, "linear");
                        ADD(r);
                    }
                }
    static const int kinds[][3] = {{cudaChannelFormatKindUnsignedNormalized8X1, 8, 1},
                                   {cudaChannelFormatKindUnsignedNormalized8X2, 8, 2},
                                   {cudaChannelFormatKindUnsignedNormalized8X4, 8, 4},
                                   {cudaChannelFormatKindUnsignedNormalized16X1, 16, 1},
                                   {cudaChannelFormatKindUnsignedNormalized16X2, 16, 2},
                                   {cudaChannelFormatKindUnsignedNormalized16X4, 16, 4},
                                   {cudaChannelFormatKindSignedNormalized8X1, 8, 1},
                                   {cudaChannelFormatKindSignedNormalized8X2, 8, 2},
                                   {cudaChannelFormatKindSignedNormalized8X4, 8, 4},
                                   {cudaChannelFormatKindSignedNormalized16X1, 16, 1},
                                   {cudaChannelFormatKindSignedNormalized16X2, 16, 2},
                                   {cudaChannelFormatKindSignedNormalized16X4, 16, 4}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int mode = 0; mode < 2; mode++) {
            row r = plain(G_1D, 1, 0, 0);
            r.format = channels(kinds[i][1], kinds[i][2], kinds[i][0]);
            if (!mode)
                continue; /* CUDA has no such texture: 27 */
            r.sampler.readMode = cudaReadModeNormalizedFloat;
            r.pattern = P_RAMP;
            r.width = 256;
            r.places = C_WHOLE;
            r.count = 256;
            snprintf(r.name, sizeof r.name, "kind %d mode %d", kinds[i][0], mode);
            ADD(r);
        }
    /* Block compression: a row of blocks, each texel of which is read. */
    for (int kind = 17; kind <= 30; kind++) {
        row r = plain(G_2D, 1, 0, 0);
        r.format = compressed_format(kind);
        r.sampler.readMode =
            kind == 27 || kind == 28 ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
        r.width = 64;
        r.height = 8;
        r.pattern = P_RANDOM;
        r.places = C_WHOLE;
        r.count = 64 * 8;
        snprintf(r.name, sizeof r.name, "blocks %d", kind);
        ADD(r);
    }
    return 0;
}

/* Mipmaps: levels by number, by derivatives, and by none. */
static int level_rows(builder *b) {
    static const float biases[] = {0, 0.3f, -1.7f};
    for (int filter = 0; filter < 2; filter++)
        for (int mip = 0; mip < 2; mip++)
            for (int bias = 0; bias < 3; bias++)
                for (int clamp = 0; clamp < 2; clamp++) {
                    row r = plain(G_2D, 0, filter, 1);
                    r.operation = OP_LEVEL;
                    r.levels = 5;
                    r.width = r.height = 16;
                    r.sampler.mipmapFilterMode = (enum cudaTextureFilterMode)mip;
                    r.sampler.mipmapLevelBias = biases[bias];
                    r.sampler.minMipmapLevelClamp = clamp ? 0.8f : 0;
                    r.sampler.maxMipmapLevelClamp = clamp ? 2.4f : 100;
                    r.pattern = P_LEVEL;
                    r.places = C_LEVELS;
                    r.count = 1400;
                    snprintf(r.name, sizeof r.name, "level filter %d mip %d bias %g clamp %d",
                             filter, mip, (double)biases[bias], clamp);
                    ADD(r);
                }
    static const geometry all[] = {G_1D, G_2D, G_3D, G_A1D, G_A2D, G_CUBE, G_ACUBE};
    for (unsigned g = 0; g < 7; g++)
        for (int filter = 0; filter < 2; filter++) {
            row r = plain(all[g], 1, filter, 1);
            r.operation = OP_LEVEL;
            r.levels = 3;
            r.width = all[g] >= G_CUBE ? 8 : 13;
            r.height = all[g] >= G_CUBE ? 8 : r.height ? 9 : 0;
            r.sampler.mipmapFilterMode = cudaFilterModeLinear;
            r.sampler.maxMipmapLevelClamp = 10;
            r.pattern = P_RANDOM;
            r.places = C_RANDOM;
            r.count = 500;
            NAME(r, "level");
            ADD(r);
            r.operation = OP_SAMPLE;
            NAME(r, "none");
            ADD(r);
        }
    for (unsigned g = 0; g < 7; g++)
        for (int anisotropy = 0; anisotropy <= 16; anisotropy = anisotropy ? anisotropy * 4 : 1)
            for (int random = 0; random < 2; random++) {
                row r = plain(all[g], 0, 1, 1);
                r.operation = OP_GRAD;
                r.levels = 6;
                r.width = 32;
                r.height = r.height ? 32 : 0;
                if (all[g] == G_3D)
                    r.depth = 32;
                r.sampler.mipmapFilterMode = cudaFilterModeLinear;
                r.sampler.maxAnisotropy = (unsigned)anisotropy;
                r.sampler.maxMipmapLevelClamp = 10;
                r.pattern = random ? P_RANDOM : P_LEVEL;
                r.places = C_RANDOM;
                r.count = 500;
                if (random && anisotropy == 0)
                    continue;
                NAME(r, "grad");
                snprintf(r.name + strlen(r.name), 40, " aniso %d pattern %d", anisotropy, random);
                ADD(r);
            }
    return 0;
}

static int other_rows(builder *b) {
    for (int g = G_1D; g <= G_A2D; g++)
        for (int address = 1; address < 4; address += 2) {
            row r = plain((geometry)g, address, 0, 0);
            r.operation = OP_FETCH;
            r.pattern = P_INDEX;
            r.places = C_RANDOM;
            r.count = 300;
            NAME(r, "fetch");
            ADD(r);
        }
    for (int pitched = 0; pitched < 2; pitched++)
        for (int op = 0; op < 2; op++)
            for (int filter = 0; filter <= pitched; filter++)
                for (int address = 0; address < (pitched ? 4 : 1); address++)
                    for (int normalized = 0; normalized <= pitched; normalized++) {
                        if (op && (filter || normalized))
                            continue;
                        row r = plain(pitched ? G_2D : G_1D, address, filter, normalized);
                        r.linear = !pitched;
                        r.pitched = pitched;
                        r.operation = op ? OP_FETCH : OP_SAMPLE;
                        r.pattern = P_INDEX;
                        r.places = C_RANDOM;
                        r.count = 400;
                        NAME(r, "of memory");
                        if (op)
                            NAME(r, "fetch");
                        ADD(r);
                    }
    for (int address = 0; address < 4; address++)
        for (int c = 0; c < 4; c++)
            for (int normalized = 0; normalized < 2; normalized++) {
                row r = plain(G_2D, address, 1, normalized);
                r.operation = OP_GATHER;
                r.component = "rgba"[c];
                r.format = channels(32, 4, F);
                r.pattern = P_INDEX;
                r.places = c ? C_RANDOM : C_EDGE;
                r.count = 400;
                NAME(r, "gather");
                ADD(r);
            }
    for (int g = G_1D; g <= G_A2D; g++)
        for (int zero = 0; zero < 2; zero++) {
            row r = plain((geometry)g, 0, 0, 0);
            r.operation = OP_SURFACE;
            r.component = zero ? 'z' : 'c';
            r.type = 'u';
            r.pattern = P_INDEX;
            r.places = C_RANDOM;
            r.count = 300;
            snprintf(r.name, sizeof r.name, "surface %s %s", geometries[g],
                     zero ? "zero" : "clamp");
            ADD(r);
        }
    return 0;
}

int get_row(unsigned index, row *out) {
    builder b = {.wanted = index, .row = out};
    return geometry_rows(&b) || seamless_rows(&b) || fraction_rows(&b) || format_rows(&b) ||
           level_rows(&b) || other_rows(&b) || get_more_row(index - b.now, out);
}

/* ---- numbers ---- */

unsigned next_random(unsigned *state) {
    unsigned z = *state += 0x9e3779b9u;
    z = (z ^ z >> 16) * 0x85ebca6bu;
    z = (z ^ z >> 13) * 0xc2b2ae35u;
    return z ^ z >> 16;
}

static float unit(unsigned *state) {
    return (float)(next_random(state) >> 8) / 16777216.0f;
}

static unsigned seed_of(const row *r, unsigned seed) {
    unsigned hash = seed * 16777619u + 2166136261u;
    for (const char *c = r->name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

/* Returns a float of an exponent within so many of 1, or of any; now and then one that is no
 * number, infinite, 0 or denormal. */
static float any_float(unsigned *state, unsigned within) {
    const unsigned word = next_random(state), choice = next_random(state) % 32;
    const unsigned exponent = choice == 0   ? 255
                              : choice == 1 ? 0
                                            : 127 - within + next_random(state) % (2 * within);
    const unsigned bits = (word & 0x807fffffu) | exponent << 23;
    const unsigned plain = choice < 2 && word >> 23 & 1 ? bits & 0xff800000u : bits;
    float x;
    memcpy(&x, &plain, 4);
    return x;
}

/* ---- texels ---- */

void make_texels(const row *r, unsigned seed, unsigned level, unsigned char *texels, size_t bytes) {
    unsigned state = seed_of(r, seed) + 77777u * level;
    const int bits = r->format.x;
    const int is_float = r->format.f == cudaChannelFormatKindFloat;
    const unsigned channel = bits ? (unsigned)bits / 8 : 1;
    const size_t count = bytes / channel;
    for (size_t i = 0; i < count; i++) {
        unsigned value = next_random(&state);
        float number = (float)(value >> 8) / 8388608.0f - 1.0f;
        switch (r->pattern) {
        case P_INDEX:
            number = (float)i + 1;
            value = (unsigned)i + 1;
            break;
        case P_ONE:
            number = i == count / 2 ? 1.0f : 0.0f;
            value = i == count / 2;
            break;
        case P_LEVEL:
            number = (float)level + 1;
            value = level + 1;
            break;
        case P_RAMP:
            number = (float)i * 0.37f - 7;
            value = bits == 8 ? (unsigned)(i + i / 1024) : value;
            break;
        case P_RANDOM:
        case P_MODES:
            break;
        case P_FAR:
            number = ldexpf(number, (int)(next_random(&state) % 33) - 16);
            value &= (value & 0x7c00) == 0x7c00 ? 0xfbffu : 0xffffu;
            break;
        case P_ANY:
            number = any_float(&state, 32);
            break;
        }
        if (is_float && bits == 16)
            value = r->pattern >= P_RAMP ? value & 0xffffu : value & 0xbbffu;
        if (is_float && bits == 32)
            memcpy(&value, &number, 4);
        memcpy(texels + i * channel, &value, channel);
    }
    if (r->pattern == P_MODES)
        force_modes(r, texels, bytes);
}

/* ---- places ---- */

static float special(unsigned i) {
    static const float list[] = {0.0f,
                                 -0.0f,
                                 1e-40f,
                                 -1e-40f,
                                 1e-30f,
                                 -1e-30f,
                                 1e-10f,
                                 -1e-10f,
                                 1e-6f,
                                 -1e-6f,
                                 0.5f,
                                 -0.5f,
                                 1,
                                 -1,
                                 2,
                                 -2,
                                 0.99999994f,
                                 0.9999999f,
                                 1.0000001f,
                                 -0.99999994f,
                                 100,
                                 -100,
                                 1000.3f,
                                 -1000.3f,
                                 65535.7f,
                                 -65535.7f,
                                 65536.2f,
                                 1e6f,
                                 -1e6f,
                                 8388607.5f,
                                 -8388607.5f,
                                 16777216,
                                 16777218.0f,
                                 -16777216,
                                 2147483648.0f,
                                 -2147483648.0f,
                                 4294967296.0f,
                                 1e10f,
                                 -1e10f,
                                 1e20f,
                                 -1e20f,
                                 3e38f,
                                 -3e38f,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 -NAN,
                                 3,
                                 4,
                                 5,
                                 6,
                                 7,
                                 7.5f,
                                 6.9999995f,
                                 7.0000005f,
                                 0.1f,
                                 0.2f,
                                 0.3f,
                                 0.7f,
                                 1.7f,
                                 -0.3f,
                                 -1.3f,
                                 33.4f,
                                 -33.4f};
    return list[i % (sizeof list / sizeof *list)];
}

static float near_edge(unsigned i, unsigned *state, float size) {
    static const float offsets[] = {0,         0x1p-24f, -0x1p-24f, 0x1p-20f, -0x1p-20f, 0x1p-12f,
                                    -0x1p-12f, 0x1p-9f,  -0x1p-9f,  0x1p-8f,  -0x1p-8f};
    const float edge =
        (float)((int)(next_random(state) % (unsigned)(8 * size)) - (int)(3 * size)) * 0.5f;
    return edge + offsets[i % 11] * (i % 2 ? 1 : size);
}

static void set_axis(const row *r, unsigned i, unsigned axis, unsigned *state, float size,
                     place *p) {
    const unsigned middle = r->width / 2;
    float x = 0;
    switch (r->places) {
    case C_LINE:
        x = -1.25f * size + 3.5f * size * (float)i / (float)r->count;
        break;
    case C_EDGE:
        x = near_edge(i, state, size);
        break;
    case C_RANDOM:
        x = (unit(state) * 4 - 1.5f) * size;
        if (r->operation == OP_FETCH && r->linear)
            x = unit(state) * size;
        break;
    case C_SPECIAL:
        x = axis == (i & 1u) || size < 2 || !r->height ? special(i) : size * 0.4f;
        break;
    case C_FINE:
        x = (float)middle - 0.5f + (float)i / (float)(r->count - 1) * 2.0f;
        break;
    case C_WHOLE:
        x = (float)(axis == 0 ? i % r->width : i / r->width) + 0.5f;
        break;
    case C_LEVELS:
        x = size * 0.37f;
        break;
    case C_FACES:
    case C_DIVISION:
        break;
    case C_NEAR:
        x = floorf(unit(state) * size) + 0.5f +
            (float)((int)(next_random(state) % 7) - 3) / (next_random(state) % 4 ? 256.0f : 8.0f);
        break;
    case C_LARGE:
        x = ldexpf(unit(state) * 2 - 1, (int)(next_random(state) % 31)) * size;
        break;
    case C_FAR:
        x = next_random(state) % 2 ? unit(state) * size : any_float(state, 127);
        break;
    case C_WAYS:
        x = unit(state) * size;
        break;
    case C_TIES: /* next to where the fraction is rounded up, or the texel changes */
        x = (float)(next_random(state) % (r->width * 512u)) / 512.0f / size;
        for (unsigned k = i % 13, up = i % 2; k > 0; k--)
            x = nextafterf(x, up ? 2.0f : -1.0f);
        x *= 1;
        break;
    }
    if (r->operation >= OP_FETCH && r->operation != OP_GATHER) {
        const int whole = (int)floorf(x) * (r->operation == OP_SURFACE && axis == 0 ? 4 : 1);
        memcpy(&p->at[axis], &whole, 4);
    } else {
        p->at[axis] = r->sampler.normalizedCoords && r->places != C_SPECIAL && r->places != C_TIES
                          ? x / size
                          : x;
    }
}

/* Makes two parts of a direction such that the third one divides them about where a fraction of a
 * texel is rounded up. */
static void divide_near_tie(const row *r, unsigned i, unsigned *state, place *p) {
    const unsigned along = i % 3, steps = r->width * 512u;
    const float longest = i % 5 == 0 ? 0x1.fffffep0f : 1 + unit(state);
    for (unsigned k = 0; k < 3; k++) {
        const float tie = (float)(next_random(state) % steps) / (float)steps * 2 - 1;
        p->at[k] = k == along ? longest : longest * tie;
        for (unsigned n = k == along ? 0 : next_random(state) % 3; n; n--)
            p->at[k] = nextafterf(p->at[k], i & 1 ? 2.0f : -2.0f);
    }
    if (i & 16)
        p->at[along] = -p->at[along];
}

/* A direction, whose largest part is not always 1. */
static void set_direction(const row *r, unsigned i, unsigned *state, place *p) {
    for (int k = 0; k < 3; k++) {
        p->at[k] = unit(state) * 2 - 1;
        if (r->places == C_EDGE)
            p->at[k] = (float)((int)(next_random(state) % 5) - 2) * 0.5f;
        if (r->places == C_FAR)
            p->at[k] = ldexpf(p->at[k], (int)(next_random(state) % 200) - 100);
    }
    if (r->places == C_DIVISION) {
        divide_near_tie(r, i, state, p);
        return;
    }
    /* Between two faces a GPU's division is not exact, which wrapping and a border would show. */
    const int address = (int)r->sampler.addressMode[0];
    if (r->places != C_FACES &&
        (address == cudaAddressModeWrap || address == cudaAddressModeBorder))
        return;
    if (i % 8 == 1)
        p->at[i / 8 % 3] = p->at[(i / 8 + 1) % 3];
    if (i % 8 == 2)
        p->at[i / 8 % 3] = -p->at[(i / 8 + 1) % 3];
}

void make_places(const row *r, unsigned seed, place *spots) {
    unsigned state = seed_of(r, seed) ^ 0x5bd1e995u;
    const float size[3] = {(float)r->width, (float)(r->height ? r->height : 1),
                           (float)(r->depth ? r->depth : 1)};
    for (unsigned i = 0; i < r->count; i++) {
        place *p = &spots[i];
        memset(p, 0, sizeof *p);
        if (r->geometry >= G_CUBE)
            set_direction(r, i, &state, p);
        else
            for (unsigned axis = 0; axis < 3; axis++)
                set_axis(r, i, axis, &state, size[axis], p);
        p->layer = next_random(&state) % 4;
        if (i % 50 == 49)
            p->layer = 0u - i;
        if (r->operation == OP_LEVEL)
            p->dx[0] = r->places == C_LEVELS ? (float)i / 200.0f - 1.0f : unit(&state) * 5 - 1;
        if (r->operation == OP_LEVEL && r->places == C_LEVELS && i >= r->count - 64)
            p->dx[0] = special(i);
        if (r->operation == OP_GRAD) {
            const float scale = exp2f(unit(&state) * 7 - 6);
            for (int k = 0; k < 3; k++) {
                p->dx[k] = (unit(&state) * 2 - 1) * scale;
                p->dy[k] = (unit(&state) * 2 - 1) * scale;
            }
            for (int k = 0; r->places == C_WAYS && k < 3; k++) {
                p->dx[k] = next_random(&state) % 2 ? any_float(&state, 127) : p->dx[k];
                p->dy[k] = next_random(&state) % 2 ? any_float(&state, 30) : p->dy[k];
            }
            if (i % 4 == 0)
                p->dx[1] = p->dx[2] = p->dy[0] = p->dy[2] = 0; /* along the axes */
            if (i % 8 == 0)
                p->dy[1] = p->dx[0] * (r->height ? (float)r->width / (float)r->height : 1);
        }
    }
}
