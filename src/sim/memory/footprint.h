/* Which level of a mipmap derivatives choose. */
#ifndef ACU_SIM_MEMORY_FOOTPRINT_H
#define ACU_SIM_MEMORY_FOOTPRINT_H

/* Returns the level for derivatives in texels, in the directions that there are; the rest is 0. */
float acu_sim_footprint_level(const double dx[3], const double dy[3]);
/* Returns the level for a direction into a cube, whose faces are `size` texels wide. */
float acu_sim_footprint_level_of_cube(const float at[3], const float dx[3], const float dy[3],
                                      double size);

#endif
