/* The reciprocals that a GPU computes fast, which it divides a place on a cube by. */
#ifndef ANYCUDA_SIM_RECIPROCAL_H
#define ANYCUDA_SIM_RECIPROCAL_H

/* Returns what rcp.approx.ftz.f32 returns on an H200: 1 / x, at most one unit of the last place
 * away from it. What is below the normal numbers counts as 0, and becomes 0. */
float acu_sim_reciprocal(float x);

#endif
