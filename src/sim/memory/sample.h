/*
 * What a texture returns for a place: coordinates become texels and weights, as on a GPU, and the
 * texels are read and mixed. Inputs and outputs are those of PTX's tex and tld4.
 */
#ifndef ACU_SIM_MEMORY_SAMPLE_H
#define ACU_SIM_MEMORY_SAMPLE_H

#include "sim/memory/texel.h"

enum {
    ACU_SIM_TEXEL = 256 /* a texel beside */
};

/* Where a sample is taken. */
typedef struct acu_sim_place {
    acu_sim_geometry geometry;
    unsigned layer;
    float at[3];
    int texel[3];  /* the same, of a fetch */
    int beside[3]; /* how far beside that, in 1/256 of the level's texels, on the same face */
} acu_sim_place;

/* Samples with the level of detail that is given, or that derivatives give. */
acu_sim_texel acu_sim_sample_level(const acu_sim_image *image, const acu_sim_place *place,
                                   float level);
/* Does the same in two dimensions where all is simple, which it most often is: of a flat image, at
 * a place whose four texels are in it. False: the place is another one, or the image. `out` is 0.
 */
bool acu_sim_sample_within(const acu_sim_image *image, float x, float y, float out[4]);
acu_sim_texel acu_sim_sample_grad(const acu_sim_image *image, const acu_sim_place *place,
                                  const float dx[3], const float dy[3]);
acu_sim_texel acu_sim_sample_fetch(const acu_sim_image *image, const acu_sim_place *place,
                                   int level);
/* Returns one component of the four texels that a linear filter would mix. */
acu_sim_texel acu_sim_sample_gather(const acu_sim_image *image, const acu_sim_place *place,
                                    unsigned component);

#endif
