/* What kernels that are executed ask of textures and surfaces. */
#include "sim/code/texture_unit.h"

#include "sim/code/reference.h"

#include "sim/memory/sample.h"
#include "sim/memory/surface.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct acu_sim_opened {
    uint64_t handle;
    acu_sim_texture object;
    acu_sim_image image;        /* of a texture */
    const acu_sim_array *array; /* of a surface */
    bool is_empty;              /* a reference that is not bound, where a GPU reads zeros */
    struct acu_sim_opened *next;
} opened;

/* ---- opening ---- */

static opened *find_opened(const acu_sim_texture_unit *unit, uint64_t handle, bool is_surface) {
    opened *o = unit->opened;
    while (o && (o->handle != handle || o->object.is_surface != is_surface))
        o = o->next;
    return o;
}

static opened *open_now(uint64_t handle, const acu_sim_texture *object) {
    opened *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->handle = handle;
    o->object = *object;
    if (object->is_surface)
        o->array = acu_sim_array_of(object->resource.res.array.array);
    else
        acu_sim_image_of(&o->object, &o->image);
    if (!object->is_surface || o->array)
        return o;
    free(o);
    return NULL;
}

bool acu_sim_texture_unit_is_reference(const acu_sim_texture_unit *unit, uint64_t handle,
                                       bool is_surface) {
    return handle - 1 < unit->reference_count &&
           unit->references[handle - 1].is_surface == is_surface;
}

/* Opens a reference of the launch; NULL: the unit says why. */
static opened *open_reference(acu_sim_texture_unit *unit, uint64_t handle) {
    const acu_sim_reference *r = &unit->references[handle - 1];
    acu_sim_texture object;
    if (r->bound) {
        unit->why = acu_sim_reference_object(r, &object);
        return unit->why ? NULL : open_now(handle, &object);
    }
    opened *o = calloc(1, sizeof *o);
    if (o)
        *o = (opened){.handle = handle, .object = {.is_surface = r->is_surface}, .is_empty = true};
    return o;
}

const void *acu_sim_texture_unit_open(acu_sim_texture_unit *unit, uint64_t handle,
                                      bool is_surface) {
    pthread_mutex_lock(&acu_sim_lock);
    opened *known = find_opened(unit, handle, is_surface), *o = known;
    const acu_sim_texture *object = NULL;
    unit->why = NULL;
    if (!known && acu_sim_texture_unit_is_reference(unit, handle, is_surface))
        o = open_reference(unit, handle);
    else if (!known && (object = acu_sim_texture_of(handle, is_surface)))
        o = open_now(handle, object);
    if (o && !known) {
        o->next = unit->opened;
        unit->opened = o;
    }
    pthread_mutex_unlock(&acu_sim_lock);
    return o;
}

void acu_sim_texture_unit_close(acu_sim_texture_unit *unit) {
    for (opened *o = unit->opened, *next; o; o = next) {
        next = o->next;
        free(o);
    }
    unit->opened = NULL;
}

/* ---- textures ---- */

/* The geometries of the simulator are those of PTX. */
static acu_sim_geometry geometry_of(ptx_geometry geometry) {
    static const unsigned char of[] = {ACU_SIM_1D,          ACU_SIM_2D,         ACU_SIM_3D,
                                       ACU_SIM_1D_LAYERED,  ACU_SIM_2D_LAYERED, ACU_SIM_CUBE,
                                       ACU_SIM_CUBE_LAYERED};
    return (acu_sim_geometry)of[geometry];
}

static acu_sim_place place_of(const ptx_sample *s) {
    acu_sim_place place = {.geometry = geometry_of(s->geometry), .layer = s->layer};
    for (int i = 0; i < 3; i++) {
        place.at[i] = s->at[i];
        place.texel[i] = s->texel[i];
    }
    for (int i = 0; s->has_offset && i < 3; i++) {
        place.texel[i] = (int)((unsigned)s->texel[i] + (unsigned)s->offset[i]);
        place.beside[i] = s->offset[i] * ACU_SIM_TEXEL;
    }
    return place;
}

static acu_sim_texel sample(const acu_sim_image *image, const ptx_sample *s) {
    const acu_sim_place place = place_of(s);
    switch (s->reading) {
    case PTX_READ_GRAD:
        return acu_sim_sample_grad(image, &place, s->dx, s->dy);
    case PTX_READ_FETCH:
        return acu_sim_sample_fetch(image, &place, s->fetched_level);
    case PTX_READ_GATHER:
        return acu_sim_sample_gather(image, &place, s->component);
    default:
        return acu_sim_sample_level(image, &place, s->level);
    }
}

/* Samples what needs no more than a place in two dimensions; false where it needs more. */
static bool sample_within(const acu_sim_image *image, const ptx_sample *s, ptx_texel *texel) {
    float out[4] = {0};
    if (s->geometry != PTX_TEXTURE_2D || s->has_offset || s->reading != PTX_READ_LEVEL ||
        !acu_sim_sample_within(image, s->at[0], s->at[1], out))
        return false;
    memcpy(texel->bits, out, sizeof texel->bits);
    return true;
}

uint64_t acu_sim_texture_unit_sample(const void *texture, const ptx_sample *s, ptx_texel *texel) {
    const opened *o = texture;
    *texel = (ptx_texel){.resident = true};
    if (o->is_empty || sample_within(&o->image, s, texel))
        return 0;
    if (o->image.moves)
        pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_texel read = sample(&o->image, s);
    memcpy(texel->bits, read.u, sizeof texel->bits);
    texel->resident = true;
    if (!o->image.moves)
        return 0;
    pthread_mutex_unlock(&acu_sim_lock);
    texel->resident = !acu_sim_image_take_absent();
    return (uint64_t)(uintptr_t)acu_sim_image_take_missing();
}

/* ---- surfaces ---- */

ptx_found acu_sim_texture_unit_find(const void *surface, const ptx_surface_place *place,
                                    ptx_boundary boundary, char **at) {
    static const unsigned char boundaries[] = {ACU_SIM_TRAP, ACU_SIM_CLAMP, ACU_SIM_ZERO};
    const opened *o = surface;
    *at = NULL;
    if (o->is_empty)
        return PTX_FOUND;
    acu_sim_access access = {.geometry = geometry_of(place->geometry),
                             .layer = place->layer,
                             .boundary = (acu_sim_boundary)boundaries[boundary],
                             .size = place->size};
    memcpy(access.at, place->at, sizeof access.at);
    if (!o->array->bytes) /* the program maps its memory */
        pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_surface_found found = acu_sim_surface_find(o->array, &access, at);
    if (!o->array->bytes)
        pthread_mutex_unlock(&acu_sim_lock);
    return found == ACU_SIM_SURFACE_FOUND     ? PTX_FOUND
           : found == ACU_SIM_SURFACE_OUTSIDE ? PTX_OUTSIDE
                                              : PTX_MISALIGNED;
}

ptx_element_format acu_sim_texture_unit_format(const void *surface) {
    if (((const opened *)surface)->is_empty)
        return (ptx_element_format){PTX_ELEMENT_UNSIGNED, 1, 4};
    const struct cudaChannelFormatDesc *f = &((const opened *)surface)->array->desc;
    const unsigned channels = 1u + (f->y != 0) + (f->z != 0) + (f->w != 0);
    return (ptx_element_format){f->f == cudaChannelFormatKindSigned     ? PTX_ELEMENT_SIGNED
                                : f->f == cudaChannelFormatKindUnsigned ? PTX_ELEMENT_UNSIGNED
                                : f->f == cudaChannelFormatKindFloat    ? PTX_ELEMENT_FLOAT
                                                                        : PTX_ELEMENT_OTHER,
                                channels, (unsigned)f->x / 8};
}

/* ---- extents: as an H100 says them ---- */

static ptx_extent extent_of_array(const acu_sim_array *a, bool is_surface) {
    const bool is_cube = a->flags & cudaArrayCubemap, layered = a->flags & cudaArrayLayered;
    uint32_t height = (uint32_t)a->extent.height, depth = (uint32_t)a->extent.depth;
    if (layered && !height)
        return (ptx_extent){(uint32_t)a->extent.width, depth, 0};
    if (is_cube && !is_surface)
        depth = layered ? depth / 6 : 0;
    return (ptx_extent){(uint32_t)a->extent.width, height || is_surface ? height : 1, depth};
}

static ptx_extent extent_of_image(const acu_sim_image *image, uint32_t level) {
    const acu_sim_array *array = image->levels ? image->levels[level] : image->only;
    if (!array)
        return (ptx_extent){(uint32_t)image->width, image->pitch ? (uint32_t)image->height : 0, 0};
    return extent_of_array(array, false);
}

ptx_extent acu_sim_texture_unit_extent(const void *object, uint32_t level) {
    const opened *o = object;
    if (o->is_empty)
        return (ptx_extent){0, 0, 0};
    if (o->object.is_surface)
        return extent_of_array(o->array, true);
    return level < o->image.level_count ? extent_of_image(&o->image, level) : (ptx_extent){0, 0, 0};
}
