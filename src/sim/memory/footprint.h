/* What a pixel covers, as derivatives say it. */
#ifndef ACU_SIM_MEMORY_FOOTPRINT_H
#define ACU_SIM_MEMORY_FOOTPRINT_H

enum { ACU_SIM_WAY = 64 }; /* parts of a texel */

typedef struct acu_sim_footprint {
    float level; /* of the mipmap; less than 0 where the footprint is narrower than a texel */
    int longer;  /* the logarithm to base 2 of length to width, as far as more than 1 is allowed, in
                    steps of 1/256 */
    int way[2];  /* one texel along, in parts of a texel; set if `longer` is more than 0 */
} acu_sim_footprint;

/* Returns two to the power of steps of 1/256. */
double acu_sim_footprint_power(int steps);
/* Returns a derivative in texels, as a GPU finds it in three dimensions: as the difference of two
 * coordinates, where large ones lose it, and of which some are as far apart as can be. */
double acu_sim_footprint_way(float from, float way, double size);
/* Returns the footprint of derivatives in texels, in the directions that there are; the rest is 0.
 * The ratio is at most `most`. */
acu_sim_footprint acu_sim_footprint_of(const double dx[3], const double dy[3], unsigned most);
/* Returns that of a direction into a cube, whose faces are `size` texels wide. */
acu_sim_footprint acu_sim_footprint_of_cube(const float at[3], const float dx[3], const float dy[3],
                                            double size, unsigned most);

#endif
