/* The faces of a cube, and how texels lie on them. */
#ifndef ACU_SIM_MEMORY_FACE_H
#define ACU_SIM_MEMORY_FACE_H

/* Returns the face to which a direction leads. */
unsigned acu_sim_face_choose(const float at[3]);
/* Replaces a direction by a place on a face, or beyond its edges: of -1 to 1. */
void acu_sim_face_place(unsigned face, float at[3]);
/* Replaces a texel beyond an edge of a face by one of the neighbouring face, as far from the edge.
 */
void acu_sim_face_cross(long long size, unsigned *face, long long *x, long long *y);

#endif
