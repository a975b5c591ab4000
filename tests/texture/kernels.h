/* The kernels that sample textures: PTX for a GPU, and the same as C functions for the simulator.
 */
#ifndef TEXTURE_KERNELS_H
#define TEXTURE_KERNELS_H

/* Returns the module's text. */
const char *texture_ptx(void);

/* Gives the simulator the functions. */
void register_texture_kernels(void);

/* Where one sample is taken: what a kernel reads for each thread. */
typedef struct place {
    float at[3];
    unsigned layer;
    float dx[3]; /* the derivatives; the first is the level where a level is named */
    float unused;
    float dy[3];
    float unused_too;
} place;

#endif
