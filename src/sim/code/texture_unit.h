/* What kernels that are executed ask of textures and surfaces. */
#ifndef ACU_SIM_CODE_TEXTURE_UNIT_H
#define ACU_SIM_CODE_TEXTURE_UNIT_H

#include "sim/ptx/texture_machine.h"

/* Objects that a launch has opened. They stay as they were then, whatever becomes of their handles.
 */
typedef struct acu_sim_texture_unit {
    struct acu_sim_opened *opened; /* NULL: none yet */
    /* The launch's references: that of number n, from 0 on, has the handle n + 1. */
    const struct acu_sim_reference *references;
    size_t reference_count;
    const char *why; /* the last one could not be opened; NULL: not known */
} acu_sim_texture_unit;

/* Returns the object of a handle; NULL: there is none, or no memory for it. The lock is not held.
 */
const void *acu_sim_texture_unit_open(acu_sim_texture_unit *unit, uint64_t handle, bool is_surface);

/* Returns whether the handle is that of a reference of the sort. */
bool acu_sim_texture_unit_is_reference(const acu_sim_texture_unit *unit, uint64_t handle,
                                       bool is_surface);

/* Frees what the launch opened. */
void acu_sim_texture_unit_close(acu_sim_texture_unit *unit);

/* The functions of opened objects: all but `open`, which is the machine's. They are called without
 * the lock. */
uint64_t acu_sim_texture_unit_sample(const void *texture, const ptx_sample *sample,
                                     ptx_texel *texel);
ptx_found acu_sim_texture_unit_find(const void *surface, const ptx_surface_place *place,
                                    ptx_boundary boundary, char **at);
ptx_extent acu_sim_texture_unit_extent(const void *object, uint32_t level);
ptx_element_format acu_sim_texture_unit_format(const void *surface);

#endif
