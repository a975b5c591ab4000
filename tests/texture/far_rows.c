/* Rows of what random kernels have and the other rows leave out: numbers far apart, infinite or
 * none, large coordinates, and formats whose texels are mixed along footprints and between levels.
 */
#include "rows.h"

#include <stdio.h>
#include <string.h>

enum {
    F = cudaChannelFormatKindFloat,
    S = cudaChannelFormatKindSigned,
    U = cudaChannelFormatKindUnsigned
};
/* What a float's last bit, or a half's, is less than. */
#define LITTLE 0x1p-9f

enum { INTEGER = 1, POINT = 2, SRGB = 4, SEAMLESS = 8, POINT_LEVELS = 16 };

static const char *const geometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};

/* What a row has that is not the same in all of them. */
typedef struct far_row {
    geometry geometry;
    operation operation;
    unsigned width, height, depth, levels, count;
    int bits;
    int kind;
    unsigned flags, anisotropy;
    pattern pattern;
    places places;
    enum cudaTextureAddressMode mode;
    float bias;
    float allowed; /* as a row's, where a few of all samples are known to differ */
} far_row;

static const far_row list[] = {
    /* derivatives in three dimensions */
    {G_3D, OP_GRAD, 32, 32, 32, 6, 4000, 32, F, 0, 0, P_LEVEL, C_FAR, cudaAddressModeWrap, 0, 0},
    {G_3D, OP_GRAD, 32, 32, 32, 6, 4000, 32, F, 0, 0, P_LEVEL, C_LARGE, cudaAddressModeWrap, 0, 0},
    {G_3D, OP_GRAD, 11, 9, 4, 3, 4000, 32, F, 0, 0, P_LEVEL, C_LARGE, cudaAddressModeMirror, 0, 0},
    {G_3D, OP_GRAD, 11, 9, 4, 3, 4000, 32, F, 0, 0, P_LEVEL, C_FAR, cudaAddressModeClamp, 0, 0},
    {G_3D, OP_GRAD, 32, 32, 32, 6, 4000, 32, F, 0, 0, P_LEVEL, C_WAYS, cudaAddressModeWrap, 0, 0},
    {G_3D, OP_GRAD, 32, 32, 32, 6, 4000, 32, F, 0, 8, P_LEVEL, C_LARGE, cudaAddressModeClamp, 0, 0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 32, F, 0, 0, P_LEVEL, C_WAYS, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 32, F, 0, 4, P_LEVEL, C_WAYS, cudaAddressModeWrap, 0, 0},
    {G_CUBE, OP_GRAD, 32, 32, 6, 6, 4000, 32, F, 0, 0, P_LEVEL, C_WAYS, cudaAddressModeClamp, 0,
     1.0f / 8},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 32, F, 0, 0, P_LEVEL, C_FAR, cudaAddressModeClamp, 0, 0},
    /* numbers far apart, and of any bits */
    {G_1D, OP_SAMPLE, 32, 0, 0, 0, 4000, 32, F, 0, 0, P_ANY, C_NEAR, cudaAddressModeClamp, 0, 0},
    {G_2D, OP_SAMPLE, 32, 32, 0, 0, 4000, 32, F, 0, 0, P_ANY, C_NEAR, cudaAddressModeClamp, 0, 0},
    {G_2D, OP_SAMPLE, 32, 32, 0, 0, 4000, 32, F, 0, 0, P_ANY, C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_SAMPLE, 32, 32, 0, 0, 4000, 32, F, 0, 0, P_FAR, C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_3D, OP_SAMPLE, 16, 16, 16, 0, 4000, 32, F, 0, 0, P_ANY, C_NEAR, cudaAddressModeClamp, 0, 0},
    {G_3D, OP_SAMPLE, 16, 16, 16, 0, 4000, 32, F, 0, 0, P_FAR, C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_3D, OP_SAMPLE, 16, 16, 16, 0, 4000, 32, F, 0, 0, P_FAR, C_NEAR, cudaAddressModeWrap, 0, 0},
    {G_CUBE, OP_SAMPLE, 16, 16, 6, 0, 4000, 32, F, 0, 0, P_ANY, C_RANDOM, cudaAddressModeClamp, 0,
     0},
    {G_CUBE, OP_SAMPLE, 5, 5, 6, 0, 4000, 32, F, SEAMLESS, 0, P_ANY, C_RANDOM, cudaAddressModeClamp,
     0, 0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 32, F, 0, 0, P_FAR, C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 32, F, 0, 0, P_ANY, C_NEAR, cudaAddressModeWrap, 0, 0},
    {G_3D, OP_LEVEL, 16, 16, 16, 5, 4000, 32, F, 0, 0, P_FAR, C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 32, F, 0, 4, P_FAR, C_RANDOM, cudaAddressModeWrap, 0,
     LITTLE},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 32, F, 0, 16, P_ANY, C_RANDOM, cudaAddressModeWrap, 0,
     LITTLE},
    {G_2D, OP_SAMPLE, 32, 32, 0, 0, 4000, 16, F, 0, 0, P_ANY, C_NEAR, cudaAddressModeClamp, 0, 0},
    {G_2D, OP_SAMPLE, 32, 32, 0, 0, 4000, 16, F, 0, 0, P_FAR, C_RANDOM, cudaAddressModeClamp, 0, 0},
    {G_3D, OP_SAMPLE, 16, 16, 16, 0, 4000, 16, F, 0, 0, P_ANY, C_NEAR, cudaAddressModeClamp, 0, 0},
    {G_3D, OP_SAMPLE, 16, 16, 16, 0, 4000, 16, F, 0, 0, P_FAR, C_RANDOM, cudaAddressModeClamp, 0,
     0},
    {G_CUBE, OP_SAMPLE, 5, 5, 6, 0, 4000, 16, F, SEAMLESS, 0, P_ANY, C_RANDOM, cudaAddressModeClamp,
     0, 0},
    {G_2D, OP_GATHER, 32, 32, 0, 0, 500, 32, F, 0, 0, P_ANY, C_NEAR, cudaAddressModeClamp, 0, 0},
    {G_2D, OP_GATHER, 32, 32, 0, 0, 500, 16, F, POINT, 4, P_ANY, C_NEAR, cudaAddressModeClamp, 0,
     0},
    /* halves, signed bytes and sRGB between two levels */
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 16, F, 0, 0, P_FAR, C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 16, F, 0, 0, P_ANY, C_NEAR, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 16, F, 0, 0, P_RANDOM, C_RANDOM, cudaAddressModeWrap, 0,
     0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 8, S, 0, 0, P_RANDOM, C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 8, U, SRGB, 0, P_RANDOM, C_RANDOM, cudaAddressModeWrap, 0,
     0},
    {G_CUBE, OP_LEVEL, 16, 16, 6, 5, 4000, 8, U, SRGB, 0, P_RANDOM, C_RANDOM, cudaAddressModeClamp,
     0, 0},
    {G_3D, OP_LEVEL, 16, 16, 16, 5, 4000, 16, F, 0, 0, P_FAR, C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 8, U, SRGB | POINT, 0, P_RANDOM, C_RANDOM,
     cudaAddressModeWrap, 0, 0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 8, S, POINT, 0, P_RANDOM, C_RANDOM, cudaAddressModeWrap, 0,
     0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 16, F, POINT, 0, P_FAR, C_RANDOM, cudaAddressModeWrap, 0,
     0},
    /* along footprints */
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 32, F, 0, 4, P_LEVEL, C_LEVELS, cudaAddressModeWrap, 0, 0},
    {G_3D, OP_LEVEL, 32, 32, 32, 6, 2000, 32, F, 0, 2, P_LEVEL, C_LEVELS, cudaAddressModeWrap, 0,
     0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 8, S, 0, 4, P_RANDOM, C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 8, S, POINT, 4, P_RANDOM, C_RANDOM, cudaAddressModeWrap, 0,
     0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 8, U, SRGB, 4, P_RANDOM, C_RANDOM, cudaAddressModeWrap, 0,
     LITTLE},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 8, U, SRGB | POINT_LEVELS, 4, P_RANDOM, C_RANDOM,
     cudaAddressModeWrap, 0, LITTLE},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 16, F, 0, 4, P_FAR, C_RANDOM, cudaAddressModeWrap, 0,
     LITTLE},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 16, S, 0, 16, P_RANDOM, C_RANDOM, cudaAddressModeWrap, 0,
     0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 8, U, INTEGER | POINT | POINT_LEVELS, 4, P_RANDOM, C_RANDOM,
     cudaAddressModeWrap, 0, 0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 16, S, INTEGER | POINT | POINT_LEVELS, 4, P_RANDOM,
     C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 32, U, INTEGER | POINT | POINT_LEVELS, 16, P_RANDOM,
     C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 32, S, INTEGER | POINT | POINT_LEVELS, 8, P_RANDOM,
     C_RANDOM, cudaAddressModeWrap, 0, 0},
    {G_1D, OP_GRAD, 13, 0, 0, 3, 4000, 8, S, POINT_LEVELS, 4, P_RANDOM, C_RANDOM,
     cudaAddressModeMirror, 1.42f, 0},
    {G_1D, OP_GRAD, 13, 0, 0, 3, 4000, 8, S, POINT_LEVELS, 4, P_LEVEL, C_RANDOM,
     cudaAddressModeMirror, 1.42f, 0},
    {G_1D, OP_GRAD, 13, 0, 0, 3, 4000, 32, F, POINT_LEVELS, 4, P_LEVEL, C_RANDOM,
     cudaAddressModeMirror, 1.42f, 0},
    {G_A1D, OP_GRAD, 32, 0, 3, 5, 4000, 32, F, POINT_LEVELS, 4, P_RANDOM, C_RANDOM,
     cudaAddressModeMirror, 0, 0},
    {G_1D, OP_GRAD, 32, 0, 0, 5, 4000, 32, F, 0, 4, P_FAR, C_RANDOM, cudaAddressModeMirror, 0, 0},
    {G_A2D, OP_GRAD, 12, 9, 3, 2, 4000, 8, U, INTEGER | POINT | POINT_LEVELS, 2, P_RANDOM, C_RANDOM,
     cudaAddressModeBorder, 0, 0},
    /* a cube's division */
    {G_CUBE, OP_SAMPLE, 16, 16, 6, 0, 4000, 16, U, 0, 0, P_RANDOM, C_DIVISION, cudaAddressModeClamp,
     0, 1.0f / 512},
    {G_CUBE, OP_SAMPLE, 16, 16, 6, 0, 4000, 16, U, 0, 0, P_RAMP, C_DIVISION, cudaAddressModeClamp,
     0, 1.0f / 512},
    {G_CUBE, OP_SAMPLE, 16, 16, 6, 0, 4000, 16, U, SEAMLESS, 0, P_RANDOM, C_FAR,
     cudaAddressModeClamp, 0, 0},
    {G_CUBE, OP_SAMPLE, 14, 14, 6, 0, 4000, 32, F, 0, 0, P_RANDOM, C_DIVISION, cudaAddressModeClamp,
     0, 1.0f / 128},
    /* sums of squares, whose common exponent is a multiple of 4 */
    {G_3D, OP_SAMPLE, 16, 16, 16, 0, 4000, 32, F, 0, 0, P_FAR, C_NEAR, cudaAddressModeMirror, 0, 0},
    {G_3D, OP_SAMPLE, 16, 16, 16, 0, 4000, 16, F, 0, 0, P_FAR, C_NEAR, cudaAddressModeMirror, 0, 0},
    {G_3D, OP_LEVEL, 16, 16, 16, 5, 4000, 32, F, 0, 0, P_FAR, C_NEAR, cudaAddressModeMirror, 0,
     LITTLE},
    {G_3D, OP_LEVEL, 16, 16, 16, 5, 4000, 16, F, 0, 0, P_FAR, C_NEAR, cudaAddressModeMirror, 0, 0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 32, F, 0, 0, P_FAR, C_RANDOM, cudaAddressModeMirror, 0, 0},
    {G_CUBE, OP_LEVEL, 16, 16, 6, 5, 4000, 16, F, SEAMLESS, 0, P_FAR, C_RANDOM,
     cudaAddressModeClamp, 0, 0},
    {G_CUBE, OP_LEVEL, 16, 16, 6, 5, 4000, 8, U, SRGB | SEAMLESS, 0, P_RANDOM, C_RANDOM,
     cudaAddressModeClamp, 0, 0},
    /* a bias with anisotropy */
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 32, F, 0, 2, P_LEVEL, C_LEVELS, cudaAddressModeWrap,
     0.28125f, 0},
    {G_A2D, OP_LEVEL, 32, 32, 3, 6, 4000, 16, F, 0, 2, P_LEVEL, C_LEVELS, cudaAddressModeWrap,
     -0.957031f, 0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 32, F, 0, 4, P_LEVEL, C_LEVELS, cudaAddressModeWrap, 1.3f,
     0},
    {G_2D, OP_LEVEL, 32, 32, 0, 6, 4000, 32, F, POINT_LEVELS, 2, P_LEVEL, C_LEVELS,
     cudaAddressModeWrap, 0.28125f, 0},
    {G_1D, OP_GRAD, 32, 0, 0, 5, 4000, 32, F, 0, 16, P_LEVEL, C_RANDOM, cudaAddressModeWrap,
     0.28125f, 0},
    {G_A1D, OP_GRAD, 32, 0, 3, 5, 4000, 32, F, 0, 2, P_LEVEL, C_RANDOM, cudaAddressModeWrap,
     -0.957031f, 0},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 32, F, 0, 8, P_LEVEL, C_RANDOM, cudaAddressModeWrap, 1.3f,
     0},
    /* gathers, and footprints */
    {G_2D, OP_GATHER, 32, 32, 0, 0, 500, 32, F, POINT, 0, P_ANY, C_NEAR, cudaAddressModeWrap, 0, 0},
    {G_1D, OP_GRAD, 32, 0, 0, 5, 4000, 32, F, 0, 4, P_FAR, C_RANDOM, cudaAddressModeWrap, 0,
     LITTLE},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 32, F, 0, 2, P_FAR, C_RANDOM, cudaAddressModeWrap, 0,
     LITTLE},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 16, F, 0, 8, P_FAR, C_RANDOM, cudaAddressModeWrap, 0,
     LITTLE},
    {G_2D, OP_GRAD, 32, 32, 0, 6, 4000, 8, U, SRGB, 16, P_RANDOM, C_RANDOM, cudaAddressModeWrap, 0,
     LITTLE},
};

int get_far_row(unsigned index, row *out) {
    static const char *const operations[] = {"sample", "level", "grad", "fetch", "gather"};
    if (index >= sizeof list / sizeof *list)
        return 0;
    const far_row *const f = &list[index];
    row r = {.geometry = f->geometry, .operation = f->operation, .levels = f->levels};
    r.width = f->width, r.height = f->height, r.depth = f->depth;
    r.pattern = f->pattern, r.places = f->places, r.count = f->count;
    r.format =
        (struct cudaChannelFormatDesc){.x = f->bits, .f = (enum cudaChannelFormatKind)f->kind};
    r.component = 'r';
    r.type = (char)(!(f->flags & INTEGER) ? 'f' : f->kind == U ? 'u' : 's');
    r.sampler.readMode =
        f->kind == F || f->flags & INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    r.sampler.filterMode = f->flags & POINT ? cudaFilterModePoint : cudaFilterModeLinear;
    r.sampler.mipmapFilterMode =
        f->flags & POINT_LEVELS ? cudaFilterModePoint : cudaFilterModeLinear;
    r.sampler.sRGB = (f->flags & SRGB) != 0;
    r.sampler.seamlessCubemap = (f->flags & SEAMLESS) != 0;
    r.allowed = f->allowed;
    r.sampler.normalizedCoords = 1;
    r.sampler.maxAnisotropy = f->anisotropy;
    r.sampler.maxMipmapLevelClamp = 10;
    r.sampler.mipmapLevelBias = f->bias;
    for (int i = 0; i < 3; i++)
        r.sampler.addressMode[i] = f->mode;
    r.sampler.borderColor[0] = 0.625f;
    snprintf(r.name, sizeof r.name, "far %u %s %s of %c%d", index, geometries[f->geometry],
             operations[f->operation], "suf"[f->kind], f->bits);
    *out = r;
    return 1;
}
