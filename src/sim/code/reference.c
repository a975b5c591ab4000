#include "sim/code/reference.h"

#include "sim/cuda_bodies.h"
#include "sim/code/image.h"
#include "sim/memory/array.h"
#include "sim/set.h"

#include <stdlib.h>
#include <string.h>

static acu_sim_set handles;

bool acu_sim_reference_create(acu_sim_module *module) {
    const acu_sim_code_image *image = module->image;
    if (!image->reference_count)
        return true;
    module->references = calloc(image->reference_count, sizeof *module->references);
    for (size_t i = 0; module->references && i < image->reference_count; i++) {
        module->references[i] =
            (acu_sim_reference){.name = image->references[i].name,
                                .module = module,
                                .is_surface = image->references[i].is_surface,
                                .format = CU_AD_FORMAT_FLOAT,
                                .channels = 1,
                                .modes = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                          CU_TR_ADDRESS_MODE_CLAMP}};
        if (!acu_sim_set_add(&handles, &module->references[i]))
            return false;
    }
    return module->references != NULL;
}

void acu_sim_reference_free(acu_sim_module *module) {
    for (size_t i = 0; module->references && i < module->image->reference_count; i++)
        acu_sim_set_remove(&handles, &module->references[i]);
    free(module->references);
    module->references = NULL;
}

acu_sim_reference *acu_sim_reference_named(const acu_sim_module *module, const char *name) {
    for (size_t i = 0; module->references && i < module->image->reference_count; i++)
        if (strcmp(module->references[i].name, name) == 0)
            return &module->references[i];
    return NULL;
}

acu_sim_reference *acu_sim_reference_of(const void *handle, bool is_surface) {
    acu_sim_reference *r = (acu_sim_reference *)(uintptr_t)handle;
    return acu_sim_set_has(&handles, r) && r->is_surface == is_surface ? r : NULL;
}

acu_sim_reference *acu_sim_reference_copy(const acu_sim_module *module) {
    const size_t size = module->image->reference_count * sizeof *module->references;
    acu_sim_reference *copy = module->references ? malloc(size) : NULL;
    return copy ? memcpy(copy, module->references, size) : NULL;
}

/* ---- objects ---- */

/* Returns the format of the elements; NULL: the array is gone. */
static const struct cudaChannelFormatDesc *format_of(const struct cudaResourceDesc *resource) {
    const acu_sim_array *array = resource->resType == cudaResourceTypeArray
                                     ? acu_sim_array_of(resource->res.array.array)
                                 : resource->resType == cudaResourceTypeMipmappedArray
                                     ? acu_sim_array_mipmap_level(resource->res.mipmap.mipmap)
                                     : NULL;
    if (resource->resType == cudaResourceTypeLinear)
        return &resource->res.linear.desc;
    if (resource->resType == cudaResourceTypePitch2D)
        return &resource->res.pitch2D.desc;
    return array ? &array->desc : NULL;
}

/* Integers are read as fractions of 1, if the program does not want them as they are, and they have
 * no 32 bits. */
static enum cudaTextureReadMode read_mode(const acu_sim_reference *r,
                                          const struct cudaChannelFormatDesc *format) {
    return format->f == cudaChannelFormatKindFloat || format->x == 32 ||
                   r->flags & CU_TRSF_READ_AS_INTEGER
               ? cudaReadModeElementType
               : cudaReadModeNormalizedFloat;
}

const char *acu_sim_reference_object(const acu_sim_reference *r, acu_sim_texture *object) {
    const struct cudaChannelFormatDesc *format = format_of(&r->resource);
    *object = (acu_sim_texture){.device = r->module->device,
                                .context = r->module->context,
                                .resource = r->resource,
                                .is_surface = r->is_surface};
    if (!format)
        return "a reference is bound to an array that is gone";
    if (!format->x)
        return "the simulator knows no such format of a texture reference";
    if (r->is_surface)
        return NULL;
    struct cudaTextureDesc *t = &object->texture;
    for (int n = 0; n < 3; n++) {
        const bool is_known = (unsigned)r->modes[n] <= CU_TR_ADDRESS_MODE_BORDER;
        t->addressMode[n] =
            is_known ? (enum cudaTextureAddressMode)r->modes[n] : cudaAddressModeClamp;
    }
    t->filterMode = (enum cudaTextureFilterMode)r->filter;
    t->mipmapFilterMode = (enum cudaTextureFilterMode)r->level_filter;
    t->readMode = read_mode(r, format);
    t->sRGB = (r->flags & CU_TRSF_SRGB) != 0;
    t->normalizedCoords = (r->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    t->disableTrilinearOptimization = (r->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
    memcpy(t->borderColor, r->border, sizeof t->borderColor);
    t->maxAnisotropy = r->anisotropy;
    t->mipmapLevelBias = r->bias;
    t->minMipmapLevelClamp = r->least_level;
    t->maxMipmapLevelClamp = r->most_level;
    return (unsigned)r->filter > CU_TR_FILTER_MODE_LINEAR
               ? "the simulator knows no such filter of a texture reference"
               : NULL;
}
