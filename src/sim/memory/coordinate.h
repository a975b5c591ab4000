/* Where coordinates of a texture lead. Fractions have 8 bits. */
#ifndef ACU_SIM_MEMORY_COORDINATE_H
#define ACU_SIM_MEMORY_COORDINATE_H

#include "anycuda/cudart.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    ACU_SIM_ONE = 256 /* a weight of all */
};

/* Where a sample lies along one direction: between two texels. */
typedef struct acu_sim_axis {
    long long first;    /* the first texel, which may lie beyond an edge */
    long long texel[2]; /* both, brought back */
    int weight;         /* of the second one, of ACU_SIM_ONE */
    bool is_outside[2]; /* the texel is the border */
} acu_sim_axis;

/* Returns the largest whole number that is not more; numbers beyond 2^60 are that, and what is no
 * number is -2^60. */
long long acu_sim_floor(double x);
/* Returns the texels that are mixed for a coordinate, some 1/256 of a texel beside it. */
acu_sim_axis acu_sim_axis_on(float at, int beside, size_t size, enum cudaTextureAddressMode mode,
                             bool normalized);
/* Does the same for a coordinate of a cube's face, which counts from the middle. */
acu_sim_axis acu_sim_axis_on_side(float at, int beside, size_t size,
                                  enum cudaTextureAddressMode mode);
/* Returns the texel at a coordinate, or some 1/256 of a texel beside it, which is mirrored then;
 * says whether it is the border. */
size_t acu_sim_point_on(float at, int beside, size_t size, enum cudaTextureAddressMode mode,
                        bool normalized, bool *is_outside);
/* Does the same for a coordinate of a cube's face. */
size_t acu_sim_point_on_side(float at, int beside, size_t size, enum cudaTextureAddressMode mode,
                             bool *is_outside);

#endif
