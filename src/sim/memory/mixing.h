/* How texels are mixed. */
#ifndef ACU_SIM_MEMORY_MIXING_H
#define ACU_SIM_MEMORY_MIXING_H

#include "sim/memory/corners.h"

/* What was added so far of each component. */
typedef struct acu_sim_sums {
    double sum[4];  /* of ACU_SIM_ONE */
    double unit[4]; /* of which the sum is a multiple; 0: of none */
} acu_sim_sums;

/* The sums of nothing are -0, to which any number can be added. */
#define ACU_SIM_NO_SUMS ((acu_sim_sums){{-0.0, -0.0, -0.0, -0.0}, {0, 0, 0, 0}})

/* Returns the integer that means 1 where texels are mixed: that of signed bytes has 8 bits. */
double acu_sim_mix_most(const acu_sim_image *image, int component);
/* Returns whether a component is a signed byte that becomes a number of 16 bits. */
bool acu_sim_mix_is_wide(const acu_sim_image *image, int component);
/* Returns the nearest float, and of two the one that is further away from 0. */
float acu_sim_mix_nearest(double sum);
/* Rounds what was mixed as a GPU does: fractions to 16 bits, and halves and sRGB to halves. */
float acu_sim_mix_round(const acu_sim_image *image, int component, double sum);
/* Returns what is mixed for a component: of fractions the integer. */
double acu_sim_mix_component(const acu_sim_image *image, const acu_sim_texel *texel, int component);
/* Adds what the corners of one or two levels weigh together, each `part` of its weight. */
void acu_sim_mix_add(const acu_sim_image *image, const acu_sim_corners *c, unsigned levels,
                     double part, acu_sim_sums *sums);
/* Returns what the sums are. */
acu_sim_texel acu_sim_mix(const acu_sim_image *image, const acu_sim_sums *sums);
/* Returns a texel as if it had been mixed with others of no weight: signed bytes are numbers of 16
 * bits, what is no number has all bits. */
acu_sim_texel acu_sim_mix_alone(const acu_sim_image *image, acu_sim_texel texel);

#endif
