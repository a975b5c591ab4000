/* The texels that are mixed for a sample of one level: the corners of a square or a cube. */
#ifndef ACU_SIM_MEMORY_CORNERS_H
#define ACU_SIM_MEMORY_CORNERS_H

#include "sim/memory/coordinate.h"
#include "sim/memory/sample.h"

typedef struct acu_sim_corners {
    unsigned count;
    acu_sim_texel texel[8];
    int weight[8];  /* of ACU_SIM_ONE */
    bool counts[8]; /* the corner has a weight before products of weights are rounded */
} acu_sim_corners;

/* How much of a sample is taken from the level: all, or a part of two levels' ACU_SIM_ONE. */
typedef struct acu_sim_share {
    int weight; /* of the second one of the two levels */
    bool is_second;
} acu_sim_share;

static inline int acu_sim_share_weight(acu_sim_share of) {
    return of.is_second ? of.weight : ACU_SIM_ONE - of.weight;
}

/* Returns a product of two weights as a weight, rounded: a half up, or down. */
static inline int acu_sim_product(int a, int b) {
    return (a * b + ACU_SIM_ONE / 2) / ACU_SIM_ONE;
}

static inline int acu_sim_product_down(int a, int b) {
    return (a * b + ACU_SIM_ONE / 2 - 1) / ACU_SIM_ONE;
}

/* Returns in how many directions texels are mixed: two on a cube's face. */
unsigned acu_sim_dimensions(acu_sim_geometry geometry);
/* Returns whether the geometry has faces, layers of cubes included. */
bool acu_sim_is_cube(acu_sim_geometry geometry);
/* Returns the slice where the texels are: the layer, and the face of a cube. */
size_t acu_sim_slice(const acu_sim_image *image, acu_sim_geometry geometry, unsigned layer,
                     unsigned face);
/* Sets the weights of the corners of a square, which are `all` together: the second side of x has
 * its rounded share, the first one the rest, and each is divided between both sides of y. */
void acu_sim_corners_weigh(int weights[4], int all, int x, int y);
/* Reads the texel at a place. */
acu_sim_texel acu_sim_corners_read_point(const acu_sim_texture *t, const acu_sim_image *image,
                                         const acu_sim_place *place, unsigned level);
/* Reads the texels of a place that are mixed, or else the one texel there. */
void acu_sim_corners_read(const acu_sim_texture *t, const acu_sim_image *image,
                          const acu_sim_place *place, unsigned level, bool mixes, acu_sim_share of,
                          acu_sim_corners *c);

#endif
