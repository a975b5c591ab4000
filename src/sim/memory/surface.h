/* What kernels read and write of surfaces: PTX's suld.b and sust.b. */
#ifndef ACU_SIM_MEMORY_SURFACE_H
#define ACU_SIM_MEMORY_SURFACE_H

#include "sim/memory/array.h"

/* An access to a surface: `at` counts bytes along x. */
typedef struct acu_sim_access {
    acu_sim_geometry geometry;
    unsigned layer;
    int at[3];
    acu_sim_boundary boundary;
    size_t size; /* bytes */
} acu_sim_access;

typedef enum acu_sim_surface_found {
    ACU_SIM_SURFACE_FOUND,
    ACU_SIM_SURFACE_OUTSIDE,
    ACU_SIM_SURFACE_MISALIGNED
} acu_sim_surface_found;

/* Finds the bytes of a surface of the array: sets `found` to NULL where nothing is accessed,
 * because it lies outside or nothing is mapped there. Other returns than that it was found are
 * faults. */
acu_sim_surface_found acu_sim_surface_find(const acu_sim_array *array, const acu_sim_access *access,
                                           char **found);

#endif
