/* What kernels read and write of surfaces. */
#include "sim/memory/surface.h"

/* Brings a coordinate into its range; returns false where it lies outside and is not clamped. */
static bool bring_in(long long *at, size_t size, size_t unit, acu_sim_boundary boundary) {
    const long long last = (long long)(size - unit);
    if (*at >= 0 && *at <= last)
        return true;
    *at = *at < 0 ? 0 : last;
    return boundary == ACU_SIM_CLAMP;
}

/* Returns the slice: the layer, or the third coordinate. A cube's faces are layers. */
static bool find_slice(const acu_sim_array *array, const acu_sim_access *a, long long *slice) {
    const bool layered = a->geometry == ACU_SIM_1D_LAYERED || a->geometry == ACU_SIM_2D_LAYERED ||
                         a->geometry >= ACU_SIM_CUBE;
    if (!layered && a->geometry != ACU_SIM_3D) {
        *slice = 0;
        return true;
    }
    *slice = layered ? (long long)a->layer : a->at[2];
    return bring_in(slice, array->depth, 1, a->boundary);
}

/* A GPU finds an access that begins beyond the edges, and may trap there, before one that is not
 * aligned. */
acu_sim_surface_found acu_sim_surface_find(const acu_sim_array *array, const acu_sim_access *a,
                                           char **found) {
    const bool flat = a->geometry == ACU_SIM_1D || a->geometry == ACU_SIM_1D_LAYERED;
    const bool traps = a->boundary == ACU_SIM_TRAP;
    long long x = a->at[0], y = flat ? 0 : a->at[1], z = 0;
    size_t run;
    *found = NULL;
    if (traps && (x < 0 || x >= (long long)array->pitch))
        return ACU_SIM_SURFACE_OUTSIDE;
    if (x % (long long)a->size)
        return ACU_SIM_SURFACE_MISALIGNED;
    if (a->size > array->pitch)
        return ACU_SIM_SURFACE_OUTSIDE;
    const bool in_x = bring_in(&x, array->pitch, a->size, a->boundary);
    const bool in_y = bring_in(&y, array->height, 1, a->boundary);
    const bool in_z = find_slice(array, a, &z);
    if (!in_x || !in_y || !in_z)
        return traps ? ACU_SIM_SURFACE_OUTSIDE : ACU_SIM_SURFACE_FOUND;
    *found = array->bytes
                 ? array->bytes + ((size_t)z * array->height + (size_t)y) * array->pitch + x
                 : acu_sim_array_memory_at(array, (size_t)x, (size_t)y, (size_t)z, &run);
    return ACU_SIM_SURFACE_FOUND;
}
