/* Texture and surface objects. */
#ifndef ACU_SIM_MEMORY_TEXTURE_H
#define ACU_SIM_MEMORY_TEXTURE_H

#include "sim/noun.h"
#include "sim/sim.h"

typedef struct acu_sim_texture {
    acu_sim_device *device;
    const acu_sim_context *context;
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    bool is_surface;       /* false: a texture */
    bool by_driver;        /* made by a call of the driver, with these flags */
    unsigned driver_flags; /* CU_TRSF_… */
    struct cudaResourceViewDesc view;
    const void *where; /* where the program made the object */
    struct acu_sim_texture *next, *before;
} acu_sim_texture;

/* Returns the object of a handle; NULL if there is no such object, or one of the other sort. */
const acu_sim_texture *acu_sim_texture_of(unsigned long long handle, bool is_surface);

/* Finds an object of the current context that a call asks about, which writes to `out`. */
cudaError_t acu_sim_texture_find(const void *out, unsigned long long handle, bool is_surface,
                                 const acu_sim_texture **found);

/* Returns the array, or the largest level of the mipmapped array; NULL if there is none. */
const struct acu_sim_array *acu_sim_texture_array(const struct cudaResourceDesc *resource);
/* Returns the format of the elements; NULL if there is no such resource. */
const struct cudaChannelFormatDesc *acu_sim_texture_format(const struct cudaResourceDesc *resource);

/* Keeps the flags with which a call of the driver made the texture. */
void acu_sim_texture_keep_flags(unsigned long long handle, unsigned flags);

/* Returns an error where a texture cannot be made of memory that is no array. */
cudaError_t acu_sim_texture_validate_memory(const acu_sim_device *device,
                                            const struct cudaResourceDesc *resource);

extern const acu_sim_noun acu_sim_texture_noun;

#endif
