/* What kernels read and write of surfaces: PTX's suld.b and sust.b. */
#ifndef ACU_SIM_MEMORY_SURFACE_H
#define ACU_SIM_MEMORY_SURFACE_H

#include "sim/memory/texture.h"

/* An access to a surface: `at` counts bytes along x. */
typedef struct acu_sim_access {
    acu_sim_geometry geometry;
    unsigned layer;
    int at[3];
    acu_sim_boundary boundary;
    size_t size; /* bytes */
} acu_sim_access;

/* Finds the bytes: sets `found` to NULL where nothing is accessed, because it lies outside or
 * nothing is mapped there. Returns false where the access is a fault. */
bool acu_sim_surface_find(const acu_sim_texture *surface, const acu_sim_access *access,
                          char **found);

#endif
