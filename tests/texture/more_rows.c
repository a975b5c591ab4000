/* More rows: what random blocks of compressed textures leave out, and what else CUDA may have; and
 * derivatives and ties that the other rows leave out. */
#include "rows.h"

#include <stdio.h>
#include <string.h>

enum { BC1 = 17, BC1_SRGB, BC3 = 21, BC4_SIGNED = 24, BC5, BC6H = 27, BC6H_SIGNED, BC7, BC7_SRGB };

static row of_kind(int kind, const char *what) {
    row r = {.geometry = G_2D,
             .pattern = P_RANDOM,
             .places = C_WHOLE,
             .width = 64,
             .height = 16,
             .component = 'r',
             .type = 'f'};
    r.format = compressed_format(kind);
    r.sampler.readMode =
        kind == BC6H || kind == BC6H_SIGNED ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    for (int i = 0; i < 3; i++) {
        r.sampler.addressMode[i] = cudaAddressModeClamp;
        r.sampler.borderColor[i] = 0.25f * (float)(i + 1);
    }
    r.sampler.borderColor[3] = 0.625f;
    r.count = r.width * r.height;
    snprintf(r.name, sizeof r.name, "blocks %d %s", kind, what);
    return r;
}

/* Random places. */
static row scattered(int kind, const char *what, int is_linear) {
    row r = of_kind(kind, what);
    r.sampler.filterMode = (enum cudaTextureFilterMode)is_linear;
    r.places = C_RANDOM;
    r.count = 1000;
    return r;
}

static row with_levels(int kind, const char *what, int is_linear) {
    row r = scattered(kind, what, is_linear);
    r.operation = OP_LEVEL;
    r.levels = 4;
    r.width = r.height = 16;
    r.sampler.normalizedCoords = 1;
    r.sampler.mipmapFilterMode = cudaFilterModeLinear;
    r.sampler.maxMipmapLevelClamp = 10;
    return r;
}

static row shaped(int kind, const char *what, geometry g, unsigned height, unsigned depth) {
    row r = scattered(kind, what, 0);
    r.geometry = g;
    r.width = 8;
    r.height = height;
    r.depth = depth;
    r.sampler.normalizedCoords = g >= G_CUBE;
    return r;
}

static row shaped_levels(int kind, const char *what, geometry g, unsigned depth) {
    row r = shaped(kind, what, g, 8, depth);
    r.operation = OP_LEVEL;
    r.levels = 3;
    r.sampler.normalizedCoords = 1;
    r.sampler.mipmapFilterMode = cudaFilterModeLinear;
    r.sampler.maxMipmapLevelClamp = 10;
    return r;
}

static row odd(int kind, const char *what) {
    row r = of_kind(kind, what);
    r.width = 10;
    r.height = 6;
    r.count = 60;
    return r;
}

static row made_as(int kind, const char *what, making made) {
    row r = of_kind(kind, what);
    r.made = made;
    if (made == M_VIEW) /* of the array's numbers */
        r.sampler.readMode = cudaReadModeElementType;
    return r;
}

static row with_operation(int kind, const char *what, operation what_is_done) {
    row r = scattered(kind, what, what_is_done == OP_GATHER);
    r.operation = what_is_done;
    return r;
}

static row as_srgb(int kind, const char *what) {
    row r = of_kind(kind, what);
    r.sampler.sRGB = 1;
    return r;
}

static row beyond_edges(int kind, const char *what) {
    row r = scattered(kind, what, 1);
    for (int i = 0; i < 3; i++)
        r.sampler.addressMode[i] = cudaAddressModeBorder;
    return r;
}

static row with_modes(int kind) {
    row r = of_kind(kind, "modes");
    r.pattern = P_MODES;
    return r;
}

static row of_floats(geometry g, const char *what) {
    row r = {.geometry = g,
             .pattern = P_RANDOM,
             .places = C_RANDOM,
             .width = 32,
             .height = 32,
             .depth = g == G_CUBE ? 6 : 0,
             .component = 'r',
             .type = 'f',
             .count = 1500};
    r.format = (struct cudaChannelFormatDesc){.x = 32, .f = cudaChannelFormatKindFloat};
    r.sampler.filterMode = cudaFilterModeLinear;
    r.sampler.normalizedCoords = 1;
    r.sampler.borderColor[0] = 0.625f;
    snprintf(r.name, sizeof r.name, "%s", what);
    return r;
}

static row between_faces(enum cudaTextureAddressMode mode, const char *what) {
    row r = of_floats(G_CUBE, what);
    r.places = C_FACES;
    for (int i = 0; i < 3; i++)
        r.sampler.addressMode[i] = mode;
    return r;
}

static row by_derivatives(geometry g, unsigned width, unsigned anisotropy, pattern texels,
                          const char *what) {
    row r = of_floats(g, what);
    r.operation = OP_GRAD;
    r.pattern = texels;
    r.width = r.height = width;
    r.levels = width == 32 ? 6 : 8;
    r.sampler.mipmapFilterMode = cudaFilterModeLinear;
    r.sampler.maxAnisotropy = anisotropy;
    r.sampler.maxMipmapLevelClamp = 10;
    return r;
}

/* Samples along footprints in what the other rows leave out: in one level only, in whole ones, of
 * points and of bytes, beyond edges, between two levels that are allowed, and across faces. */
static row along(const char *what) {
    return by_derivatives(G_2D, 32, 4, P_RANDOM, what);
}

static row along_of_one_level(void) {
    row r = along("2d grad aniso 4 of one level");
    r.levels = 0;
    return r;
}

static row along_of_whole_levels(void) {
    row r = along("2d grad aniso 4 of whole levels");
    r.sampler.mipmapFilterMode = cudaFilterModePoint;
    return r;
}

static row along_of_points(void) {
    row r = along("2d grad aniso 4 of points");
    r.sampler.filterMode = cudaFilterModePoint;
    return r;
}

static row of_bytes(row r) {
    r.format = (struct cudaChannelFormatDesc){.x = 8, .f = cudaChannelFormatKindUnsigned};
    r.sampler.readMode = cudaReadModeNormalizedFloat;
    return r;
}

static row along_beyond(enum cudaTextureAddressMode mode, const char *what) {
    row r = by_derivatives(G_2D, 32, 16, P_RANDOM, what);
    r.sampler.addressMode[0] = r.sampler.addressMode[1] = mode;
    return r;
}

static row along_between(void) {
    row r = along("2d grad aniso 4 between two levels");
    r.sampler.mipmapLevelBias = 0.6f;
    r.sampler.minMipmapLevelClamp = 0.7f;
    r.sampler.maxMipmapLevelClamp = 1.8f;
    return r;
}

static row along_seamless(void) {
    row r = by_derivatives(G_CUBE, 32, 4, P_RANDOM, "cube grad aniso 4 seamless");
    r.sampler.seamlessCubemap = 1;
    r.allowed = 1.0f / 32; /* of seed 5 a sample differs */
    return r;
}

/* Samples one texel at a corner along footprints that lead beyond corners. */
static row along_corners(void) {
    row r = along_seamless();
    snprintf(r.name, sizeof r.name, "cube grad aniso 16 seamless corner");
    r.pattern = P_ONE;
    r.width = r.height = 4;
    r.levels = 0;
    r.sampler.maxAnisotropy = 16;
    r.count = 4000;
    return r;
}

static row with_bias(unsigned anisotropy, int is_exact, float bias, const char *what) {
    row r = by_derivatives(G_2D, 32, anisotropy, P_LEVEL, what);
    r.sampler.mipmapLevelBias = bias;
    r.sampler.disableTrilinearOptimization = is_exact;
    return r;
}

/* Samples beyond edges what is made of bytes or of 16 bits; a part of the border is a tie of both.
 */
static row border_of(int bits, enum cudaChannelFormatKind kind, const char *what) {
    row r = of_floats(G_2D, what);
    r.format = (struct cudaChannelFormatDesc){bits, bits, bits, bits, kind};
    r.sampler.readMode = cudaReadModeNormalizedFloat;
    for (int i = 0; i < 4; i++)
        r.sampler.borderColor[i] = i < 2 ? 0.5f - (float)i : 0.3f * (float)i;
    r.sampler.addressMode[0] = r.sampler.addressMode[1] = cudaAddressModeBorder;
    return r;
}

static row border_of_srgb(void) {
    row r = border_of(8, cudaChannelFormatKindUnsigned, "2d border of sRGB");
    r.sampler.sRGB = 1;
    return r;
}

static row border_of_points(void) {
    row r = border_of(8, cudaChannelFormatKindUnsigned, "2d border of bytes as points");
    r.sampler.filterMode = cudaFilterModePoint;
    return r;
}

static row bytes_beyond_edges(void) {
    row r = of_bytes(of_floats(G_2D, "2d border of bytes"));
    r.sampler.addressMode[0] = r.sampler.addressMode[1] = cudaAddressModeBorder;
    r.sampler.borderColor[0] = 0.5f;
    return r;
}

static row without_optimization(unsigned anisotropy, const char *what) {
    row r = by_derivatives(G_2D, 32, anisotropy, P_LEVEL, what);
    r.sampler.disableTrilinearOptimization = 1;
    return r;
}

/* Whether texels outside are another mode's where only a dimension that the texture lacks has it.
 */
static row with_mode_of_y(void) {
    row r = of_floats(G_1D, "1d clamp, y border");
    r.places = C_EDGE;
    r.sampler.normalizedCoords = 0;
    r.sampler.addressMode[0] = cudaAddressModeClamp;
    r.sampler.addressMode[1] = r.sampler.addressMode[2] = cudaAddressModeBorder;
    return r;
}

static row levels_in_texels(void) {
    row r = by_derivatives(G_2D, 32, 0, P_LEVEL, "2d level in texels");
    r.operation = OP_LEVEL;
    r.places = C_LEVELS;
    r.sampler.normalizedCoords = 0;
    r.sampler.addressMode[0] = r.sampler.addressMode[1] = cudaAddressModeClamp;
    return r;
}

int get_more_row(unsigned index, row *out) {
    const row rows[] = {with_modes(BC6H),
                        with_modes(BC6H_SIGNED),
                        with_modes(BC7),
                        with_modes(BC7_SRGB),
                        scattered(BC1, "linear", 1),
                        scattered(BC4_SIGNED, "linear", 1),
                        scattered(BC6H, "linear", 1),
                        scattered(BC6H_SIGNED, "linear", 1),
                        scattered(BC7_SRGB, "linear", 1),
                        beyond_edges(BC1, "border"),
                        beyond_edges(BC4_SIGNED, "border"),
                        beyond_edges(BC6H, "border"),
                        made_as(BC1, "in parts", M_PARTS),
                        made_as(BC7, "in parts", M_PARTS),
                        made_as(BC1, "by an array", M_COPY),
                        made_as(BC1, "seen", M_VIEW),
                        made_as(BC7, "seen", M_VIEW),
                        as_srgb(BC1, "as sRGB"),
                        odd(BC1, "10 x 6"),
                        odd(BC7, "10 x 6"),
                        with_levels(BC1, "levels", 0),
                        with_levels(BC7, "levels linear", 1),
                        shaped(BC1, "1d", G_1D, 0, 0),
                        shaped(BC1, "3d", G_3D, 8, 4),
                        shaped(BC1, "layers", G_A2D, 8, 3),
                        shaped(BC7, "cube", G_CUBE, 8, 6),
                        with_operation(BC1, "fetch", OP_FETCH),
                        with_operation(BC1, "gather", OP_GATHER),
                        between_faces(cudaAddressModeWrap, "cube wrap between faces"),
                        between_faces(cudaAddressModeBorder, "cube border between faces"),
                        by_derivatives(G_CUBE, 128, 0, P_LEVEL, "cube grad of 128"),
                        by_derivatives(G_2D, 32, 2, P_LEVEL, "2d grad aniso 2"),
                        by_derivatives(G_2D, 32, 3, P_LEVEL, "2d grad aniso 3"),
                        by_derivatives(G_2D, 32, 6, P_LEVEL, "2d grad aniso 6"),
                        by_derivatives(G_2D, 32, 8, P_LEVEL, "2d grad aniso 8"),
                        by_derivatives(G_2D, 32, 12, P_LEVEL, "2d grad aniso 12"),
                        by_derivatives(G_2D, 32, 100, P_LEVEL, "2d grad aniso 100"),
                        by_derivatives(G_2D, 32, 2, P_RANDOM, "2d grad aniso 2 random"),
                        by_derivatives(G_2D, 32, 4, P_ONE, "2d grad aniso 4 one"),
                        by_derivatives(G_2D, 32, 16, P_ONE, "2d grad aniso 16 one"),
                        without_optimization(0, "2d grad exact"),
                        without_optimization(4, "2d grad aniso 4 exact"),
                        with_mode_of_y(),
                        levels_in_texels(),
                        by_derivatives(G_2D, 32, 10, P_LEVEL, "2d grad aniso 10"),
                        along_of_one_level(),
                        along_of_whole_levels(),
                        along_of_points(),
                        of_bytes(along("2d grad aniso 4 of bytes")),
                        along_beyond(cudaAddressModeClamp, "2d grad aniso 16 clamp"),
                        along_beyond(cudaAddressModeMirror, "2d grad aniso 16 mirror"),
                        along_beyond(cudaAddressModeBorder, "2d grad aniso 16 border"),
                        along_between(),
                        along_seamless(),
                        bytes_beyond_edges(),
                        beyond_edges(BC1_SRGB, "border"),
                        beyond_edges(BC3, "border"),
                        beyond_edges(BC5, "border"),
                        beyond_edges(BC7, "border"),
                        as_srgb(BC3, "as sRGB"),
                        as_srgb(BC7, "as sRGB"),
                        shaped(BC1, "1d layers", G_A1D, 0, 3),
                        shaped(BC1, "cubes", G_ACUBE, 8, 12),
                        shaped_levels(BC1, "3d levels", G_3D, 8),
                        shaped_levels(BC1, "levels of layers", G_A2D, 3),
                        shaped_levels(BC7, "levels of a cube", G_CUBE, 6),
                        along_corners(),
                        with_bias(0, 0, 0.6f, "2d grad bias 0.6"),
                        with_bias(4, 0, -1.7f, "2d grad aniso 4 bias -1.7"),
                        with_bias(4, 1, 0.6f, "2d grad aniso 4 exact bias 0.6"),
                        border_of(8, cudaChannelFormatKindSigned, "2d border of signed bytes"),
                        border_of(16, cudaChannelFormatKindUnsigned, "2d border of 16 bits"),
                        border_of(16, cudaChannelFormatKindSigned, "2d border of signed 16 bits"),
                        border_of_srgb(),
                        border_of_points()};
    const unsigned count = sizeof rows / sizeof *rows;
    if (index >= count)
        return get_far_row(index - count, out);
    *out = rows[index];
    return 1;
}

/* Makes the blocks go through the modes, whose bits are the lowest of each block. */
void force_modes(const row *r, unsigned char *blocks, size_t bytes) {
    const int kind = (int)r->format.f;
    for (size_t i = 0; i < bytes / 16; i++) {
        unsigned char *first = &blocks[i * 16];
        const unsigned mode = (unsigned)i % (kind >= BC7 ? 9 : 32);
        if (kind >= BC7) /* the last one is none */
            *first = (unsigned char)(mode == 8 ? 0 : (*first | 1u) << mode);
        else
            *first = (unsigned char)((*first & ~31u) | mode);
    }
}
