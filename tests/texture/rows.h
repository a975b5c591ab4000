/* What is asked of textures: each row is one texture, and many places where it is sampled. */
#ifndef TEXTURE_ROWS_H
#define TEXTURE_ROWS_H

#include <anycuda/cudart.h>

#include "kernels.h"

#include <stddef.h>

typedef enum geometry { G_1D, G_2D, G_3D, G_A1D, G_A2D, G_CUBE, G_ACUBE } geometry;
typedef enum operation { OP_SAMPLE, OP_LEVEL, OP_GRAD, OP_FETCH, OP_GATHER, OP_SURFACE } operation;
/* What the texels are; the last ones are floats of exponents far apart, and of any bits. */
typedef enum pattern { P_INDEX, P_RANDOM, P_ONE, P_LEVEL, P_RAMP, P_MODES, P_FAR, P_ANY } pattern;
/* How an array gets its elements: all at once, region by region, from an array that is copied, or
 * as numbers that a view makes compressed. */
typedef enum making { M_WHOLE, M_PARTS, M_COPY, M_VIEW } making;
/* Where samples are taken. */
typedef enum places {
    C_LINE,
    C_EDGE,
    C_RANDOM,
    C_SPECIAL,
    C_FINE,
    C_WHOLE,
    C_LEVELS,
    C_TIES,
    C_FACES,    /* on cubes: between two faces */
    C_NEAR,     /* about in the middle of a texel */
    C_LARGE,    /* up to 2^30 */
    C_FAR,      /* of any exponent */
    C_DIVISION, /* on cubes: next to where the fraction is rounded up */
    C_WAYS      /* with derivatives of any exponent */
} places;

enum { MOST_PLACES = 4200 };

typedef struct row {
    char name[96];
    geometry geometry;
    operation operation;
    int linear;  /* the texture is of a linear buffer, */
    int pitched; /* or of a pitched one; else of an array */
    making made;
    unsigned levels; /* more than 0: of a mipmapped array */
    struct cudaChannelFormatDesc format;
    unsigned width, height, depth; /* of the base level; depth has the layers */
    pattern pattern;
    struct cudaTextureDesc sampler;
    places places;
    unsigned count;
    char component; /* that is gathered */
    char type;      /* of the results: f, u or s */
    float allowed; /* how much an answer may differ from a GPU's, as a part of the texels' range; 0:
                      all have to be the same bits */
} row;

/* Writes row `index` to `out`; returns 0 where there is none. */
int get_row(unsigned index, row *out);

/* Rows behind all others, of which no GPU was asked when they were written. */
int get_more_row(unsigned index, row *out);
/* Rows of numbers and places that random kernels have. */
int get_far_row(unsigned index, row *out);
/* The format as cudaCreateChannelDesc() describes it. */
struct cudaChannelFormatDesc compressed_format(int kind);
void force_modes(const row *row, unsigned char *blocks, size_t bytes);

/* Fills in the places. */
void make_places(const row *row, unsigned seed, place *spots);
/* Fills in the texels of a level, row by row. */
void make_texels(const row *row, unsigned seed, unsigned level, unsigned char *texels,
                 size_t bytes);

size_t format_bytes(const struct cudaChannelFormatDesc *format);
unsigned next_random(unsigned *state);

#endif
