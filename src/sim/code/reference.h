/* Texture and surface references: variables of PTX that the program binds to memory by the driver.
 */
#ifndef ACU_SIM_CODE_REFERENCE_H
#define ACU_SIM_CODE_REFERENCE_H

#include "sim/code/module.h"
#include "sim/memory/texture.h"

/* What a module's variable is bound to, and how it is read. The numbers are those of the driver's
 * enums, as the program gave them, known or not. */
struct acu_sim_reference {
    const char *name; /* the image's */
    const acu_sim_module *module;
    bool is_surface;
    bool bound;
    struct cudaResourceDesc resource; /* where `bound` */
    unsigned flags;                   /* CU_TRSF_… */
    int format, channels;             /* of memory that is bound by its address */
    int modes[3], filter, level_filter;
    unsigned anisotropy;
    float bias, least_level, most_level, border[4];
};

/* Fills in the module's references, which are not bound. Returns false without memory. */
bool acu_sim_reference_create(acu_sim_module *module);
/* Frees them. Copies that launches have stay as they are. */
void acu_sim_reference_free(acu_sim_module *module);

/* Returns the reference with the name, NULL if the module has none; and that of a handle, NULL if
 * it is none, or one of the other sort. */
acu_sim_reference *acu_sim_reference_named(const acu_sim_module *module, const char *name);
acu_sim_reference *acu_sim_reference_of(const void *handle, bool is_surface);

/* Returns a copy of the module's references as they are now, which the caller frees; NULL: the
 * module has none, or there is no memory. */
acu_sim_reference *acu_sim_reference_copy(const acu_sim_module *module);

/* Makes the object that a bound reference is. Returns NULL, or why the simulator cannot read it. */
const char *acu_sim_reference_object(const acu_sim_reference *reference, acu_sim_texture *object);

#endif
