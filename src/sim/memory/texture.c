/*
 * Texture and surface objects: handles with the descriptors that they were made of; sample.c reads
 * them. An object belongs to the context that was current, and so do the arrays that it can be made
 * of.
 */
#include "sim/memory/texture.h"

#include "sim/caller.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/memory/array.h"
#include "sim/memory/compressed.h"
#include "sim/memory/range.h"
#include "sim/set.h"
#include "sim/stream/capture.h"

#include <stdlib.h>

typedef acu_sim_texture object;

static object *objects;
static acu_sim_set handles;

/* Returns the object of a handle; NULL if there is no such object, or one of the other sort. */
static object *object_of(unsigned long long handle, bool is_surface) {
    object *o = (object *)(uintptr_t)handle;
    return acu_sim_set_has(&handles, o) && o->is_surface == is_surface ? o : NULL;
}

const acu_sim_texture *acu_sim_texture_of(unsigned long long handle, bool is_surface) {
    return object_of(handle, is_surface);
}

/* Adds a copy of the object to all objects; NULL without memory. */
static object *new_object(const object *content) {
    object *o = calloc(1, sizeof *o);
    if (!o || !acu_sim_set_add(&handles, o)) {
        free(o);
        return NULL;
    }
    *o = *content;
    o->context = acu_sim_context_now();
    o->next = objects;
    if (objects)
        objects->before = o;
    return objects = o;
}

static void free_object(object *o) {
    if (o->before)
        o->before->next = o->next;
    else
        objects = o->next;
    if (o->next)
        o->next->before = o->before;
    acu_sim_set_remove(&handles, o);
    free(o);
}

/* ---- validating ---- */

/* Returns whether this is memory that devices can access. CUDA does not look at where it ends. */
static bool is_memory(const void *address) {
    return acu_sim_range_of(address);
}

static size_t attribute(const acu_sim_device *device, enum cudaDeviceAttr which) {
    return (size_t)acu_sim_device_attribute(device, which);
}

/* Returns the most elements of a texture in linear memory. The device's attribute is that of the
 * largest elements, which have 16 bytes; there are no more elements below 4 bytes than elements of
 * 4. */
static size_t linear_width(const acu_sim_device *device, size_t element) {
    const size_t size = element < 4 ? 4 : element;
    return attribute(device, cudaDevAttrMaxTexture1DLinearWidth) * 16 / size;
}

static bool is_aligned(const acu_sim_device *device, const void *address) {
    return (uintptr_t)address % attribute(device, cudaDevAttrTextureAlignment) == 0;
}

static cudaError_t validate_address(const acu_sim_device *device, const void *at, bool any) {
    if (!is_aligned(device, at))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the memory begins at %p, and textures at a multiple of the device's "
                          "textureAlignment, %zu",
                          at, attribute(device, cudaDevAttrTextureAlignment));
    return !any || is_memory(at)
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidValue,
                            "there is no memory at %p that a device can access", at);
}

static cudaError_t validate_most(const char *name, size_t value, size_t most) {
    return value <= most ? cudaSuccess
                         : SIM_REFUSE(cudaErrorInvalidValue,
                                      "the %s is %zu, and of a texture of memory it can be %zu",
                                      name, value, most);
}

/* CUDA does not ask whether there is memory for no elements. */
static cudaError_t validate_linear(const acu_sim_device *device,
                                   const struct cudaResourceDesc *resource) {
    const size_t element = acu_sim_array_format_size(&resource->res.linear.desc);
    const size_t count = resource->res.linear.sizeInBytes / element;
    SIM_TRY(validate_address(device, resource->res.linear.devPtr, count > 0));
    return validate_most("number of elements", count, linear_width(device, element));
}

/* CUDA does not compare the pitch with the rows. */
static cudaError_t validate_pitched(const acu_sim_device *device,
                                    const struct cudaResourceDesc *resource) {
    const size_t pitch = resource->res.pitch2D.pitchInBytes;
    const size_t unit = attribute(device, cudaDevAttrTexturePitchAlignment);
    SIM_TRY(validate_most("width", resource->res.pitch2D.width,
                          attribute(device, cudaDevAttrMaxTexture2DLinearWidth)));
    SIM_TRY(validate_most("height", resource->res.pitch2D.height,
                          attribute(device, cudaDevAttrMaxTexture2DLinearHeight)));
    SIM_TRY(validate_most("pitch", pitch, attribute(device, cudaDevAttrMaxTexture2DLinearPitch)));
    if (pitch % unit)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the pitch is %zu bytes, and no multiple of the device's "
                          "texturePitchAlignment, %zu",
                          pitch, unit);
    return validate_address(device, resource->res.pitch2D.devPtr, true);
}

const acu_sim_array *acu_sim_texture_array(const struct cudaResourceDesc *resource) {
    if (resource->resType == cudaResourceTypeArray)
        return acu_sim_array_of(resource->res.array.array);
    return resource->resType == cudaResourceTypeMipmappedArray
               ? acu_sim_array_mipmap_level(resource->res.mipmap.mipmap)
               : NULL;
}

const struct cudaChannelFormatDesc *
acu_sim_texture_format(const struct cudaResourceDesc *resource) {
    const acu_sim_array *array = acu_sim_texture_array(resource);
    if (resource->resType == cudaResourceTypeLinear)
        return &resource->res.linear.desc;
    if (resource->resType == cudaResourceTypePitch2D)
        return &resource->res.pitch2D.desc;
    return array ? &array->desc : NULL;
}

/* Returns an error if an array is another context's, whose arrays copies may name. CUDA finds that
 * after mistakes in how the texture is read, and not while a stream captures. */
static cudaError_t validate_context(const struct cudaResourceDesc *resource) {
    const acu_sim_array *array = acu_sim_texture_array(resource);
    return !array || array->context == acu_sim_context_now() ? cudaSuccess
                                                             : cudaErrorPeerAccessNotEnabled;
}

/* Looks at what CUDA looks at before captures: that there is such an array, and that elements have
 * the format. */
static cudaError_t validate_resource(const struct cudaResourceDesc *resource) {
    const acu_sim_array *array = acu_sim_texture_array(resource);
    switch (resource->resType) {
    case cudaResourceTypeArray:
    case cudaResourceTypeMipmappedArray:
        return array ? cudaSuccess : cudaErrorInvalidResourceHandle;
    case cudaResourceTypeLinear:
    case cudaResourceTypePitch2D:
        return acu_sim_array_format_size(acu_sim_texture_format(resource))
                   ? cudaSuccess
                   : cudaErrorInvalidChannelDescriptor;
    }
    return cudaErrorInvalidValue;
}

/* GPUs were asked for halves as elements, for others as fractions, for sRGB where the format has
 * it, and of BC1, BC3 and BC7 where the format has it not. BC2, whose colors are those of BC3, is
 * taken as these, which all have four channels. */
static cudaError_t validate_compressed_reading(const struct cudaTextureDesc *t,
                                               const struct cudaChannelFormatDesc *format) {
    const bool as_elements = t->readMode == cudaReadModeElementType, as_srgb = t->sRGB != 0;
    return as_elements == acu_sim_compressed_is_half(format->f) &&
                   (as_srgb == acu_sim_compressed_is_srgb(format->f) || (as_srgb && format->w))
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorNotSupported,
                            "the simulator reads compressed texels as fractions, but those of BC6H "
                            "as elements, and as sRGB where the format says so, or is BC1, BC2, "
                            "BC3 or BC7");
}

/* The runtime does not interpolate integers, but the driver does. Those of 8 and 16 bits alone are
 * read as fractions. */
static cudaError_t validate_reading(const struct cudaTextureDesc *t,
                                    const struct cudaChannelFormatDesc *format) {
    const bool whole =
        format->f == cudaChannelFormatKindSigned || format->f == cudaChannelFormatKindUnsigned;
    const bool real = format->f == cudaChannelFormatKindFloat;
    const bool wide = whole && format->x == 32;
    if (whole && t->filterMode == cudaFilterModeLinear && !acu_sim_self()->call.by_driver &&
        (wide || t->readMode == cudaReadModeElementType))
        return cudaErrorInvalidFilterSetting;
    if (acu_sim_compressed_size(format->f))
        return validate_compressed_reading(t, format);
    if (!whole && !real) /* such a format is that of fractions */
        return t->readMode == cudaReadModeElementType ? cudaErrorInvalidNormSetting : cudaSuccess;
    return t->readMode == cudaReadModeNormalizedFloat && (wide || real)
               ? cudaErrorInvalidNormSetting
               : cudaSuccess;
}

/* Returns in how many dimensions a texture of the resource is addressed; layers are none. */
static int dimensions_of(const struct cudaResourceDesc *resource) {
    const acu_sim_array *array = acu_sim_texture_array(resource);
    if (!array)
        return resource->resType == cudaResourceTypeLinear ? 1 : 2;
    const bool has_depth = array->extent.depth && !(array->flags & cudaArrayLayered);
    return has_depth ? 3 : array->extent.height ? 2 : 1;
}

static cudaError_t validate_texture(const struct cudaTextureDesc *t,
                                    const struct cudaResourceDesc *resource) {
    for (int i = 0; i < dimensions_of(resource); i++)
        if ((unsigned)t->addressMode[i] > cudaAddressModeBorder)
            return SIM_REFUSE(cudaErrorInvalidValue, "addressMode[%d] is %d, and there are 0 to 3",
                              i, (int)t->addressMode[i]);
    return (unsigned)t->filterMode <= cudaFilterModeLinear &&
                   (unsigned)t->mipmapFilterMode <= cudaFilterModeLinear
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidValue,
                            "filterMode is %d and mipmapFilterMode %d, and there are 0 and 1",
                            (int)t->filterMode, (int)t->mipmapFilterMode);
}

/* Returns the bytes of an element, or of a compressed block, in a format; 0: that of the array. */
static size_t view_element(enum cudaResourceViewFormat format) {
    static const unsigned char sizes[] = {[cudaResViewFormatUnsignedChar1] = 1,
                                          [cudaResViewFormatUnsignedChar2] = 2,
                                          [cudaResViewFormatUnsignedChar4] = 4,
                                          [cudaResViewFormatSignedChar1] = 1,
                                          [cudaResViewFormatSignedChar2] = 2,
                                          [cudaResViewFormatSignedChar4] = 4,
                                          [cudaResViewFormatUnsignedShort1] = 2,
                                          [cudaResViewFormatUnsignedShort2] = 4,
                                          [cudaResViewFormatUnsignedShort4] = 8,
                                          [cudaResViewFormatSignedShort1] = 2,
                                          [cudaResViewFormatSignedShort2] = 4,
                                          [cudaResViewFormatSignedShort4] = 8,
                                          [cudaResViewFormatUnsignedInt1] = 4,
                                          [cudaResViewFormatUnsignedInt2] = 8,
                                          [cudaResViewFormatUnsignedInt4] = 16,
                                          [cudaResViewFormatSignedInt1] = 4,
                                          [cudaResViewFormatSignedInt2] = 8,
                                          [cudaResViewFormatSignedInt4] = 16,
                                          [cudaResViewFormatHalf1] = 2,
                                          [cudaResViewFormatHalf2] = 4,
                                          [cudaResViewFormatHalf4] = 8,
                                          [cudaResViewFormatFloat1] = 4,
                                          [cudaResViewFormatFloat2] = 8,
                                          [cudaResViewFormatFloat4] = 16,
                                          [cudaResViewFormatUnsignedBlockCompressed1] = 8,
                                          [cudaResViewFormatUnsignedBlockCompressed4] = 8,
                                          [cudaResViewFormatSignedBlockCompressed4] = 8};
    const unsigned index = (unsigned)format;
    if (index == cudaResViewFormatNone)
        return 0;
    return index < sizeof sizes && sizes[index] ? sizes[index] : 16; /* the other compressed ones */
}

/* Returns an error unless an array can be seen like this: with elements as large as its own, and in
 * its own extent, in blocks of 4 by 4 where the view is compressed. */
static cudaError_t validate_plain_view(const struct cudaResourceViewDesc *view,
                                       const acu_sim_array *array) {
    const bool is_compressed = view->format >= cudaResViewFormatUnsignedBlockCompressed1;
    const size_t element = view_element(view->format), scale = is_compressed ? 4 : 1;
    if (element && element != array->element)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "elements of the view have %zu bytes, those of the array %zu", element,
                          array->element);
    if (view->width != array->extent.width * scale ||
        view->height != array->extent.height * scale || view->depth != array->extent.depth)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the view is %zu x %zu x %zu, and has to be %zu x %zu x %zu as the array",
                          view->width, view->height, view->depth, array->extent.width * scale,
                          array->extent.height * scale, array->extent.depth);
    return acu_sim_knows(&acu_cudart_type_cudaResourceViewFormat, view->format) &&
                   view->firstMipmapLevel <= view->lastMipmapLevel &&
                   view->firstLayer <= view->lastLayer
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidValue,
                            "the view's format is unknown, or its last level or layer comes "
                            "before the first one");
}

/* A GPU was asked what a compressed view makes of an array of two dimensions, and none what any
 * view makes of a compressed array. CUDA ignores the view of memory that is no array. */
static cudaError_t validate_view(const struct cudaResourceViewDesc *view,
                                 const struct cudaResourceDesc *resource) {
    const acu_sim_array *array = acu_sim_texture_array(resource);
    if (!view || !array)
        return cudaSuccess;
    const bool is_compressed = acu_sim_compressed_size(array->desc.f) > 0,
               is_flat = resource->resType == cudaResourceTypeArray && array->extent.height &&
                         !array->extent.depth;
    if (is_compressed)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the simulator has no views of compressed arrays: make the array with "
                          "the format that the texture shall have");
    SIM_TRY(validate_plain_view(view, array));
    return is_flat || view->format < cudaResViewFormatUnsignedBlockCompressed1
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorNotSupported,
                            "the simulator has compressed views only of arrays of two dimensions "
                            "without layers and levels");
}

cudaError_t acu_sim_texture_validate_memory(const acu_sim_device *device,
                                            const struct cudaResourceDesc *resource) {
    if (resource->resType == cudaResourceTypeLinear)
        return validate_linear(device, resource);
    return resource->resType == cudaResourceTypePitch2D ? validate_pitched(device, resource)
                                                        : cudaSuccess;
}

/* Changes what CUDA reports otherwise than it was given: an unknown mode of reading is one of the
 * two, by the elements, and memory of no rows is linear. */
static void complete(object *o) {
    const struct cudaChannelFormatDesc *format = acu_sim_texture_format(&o->resource);
    if (o->texture.readMode != cudaReadModeElementType)
        o->texture.readMode = format->x < 32 && format->f != cudaChannelFormatKindFloat
                                  ? cudaReadModeNormalizedFloat
                                  : cudaReadModeElementType;
    if (o->resource.resType == cudaResourceTypePitch2D && !o->resource.res.pitch2D.height)
        o->resource.resType = cudaResourceTypeLinear;
}

/* ---- textures ---- */

cudaError_t acu_sim_cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
                                            const struct cudaResourceDesc *pResDesc,
                                            const struct cudaTextureDesc *pTexDesc,
                                            const struct cudaResourceViewDesc *pResViewDesc) {
    object content = {.where = SIM_CALLER, .device = acu_sim_device_now()};
    if (!pTexObject || !pResDesc || !pTexDesc)
        return cudaErrorInvalidValue;
    SIM_TRY(validate_resource(pResDesc));
    SIM_TRY(validate_reading(pTexDesc, acu_sim_texture_format(pResDesc)));
    SIM_TRY(acu_sim_capture_allows_unsafe());
    SIM_TRY(validate_context(pResDesc));
    SIM_TRY(acu_sim_texture_validate_memory(content.device, pResDesc));
    SIM_TRY(validate_texture(pTexDesc, pResDesc));
    SIM_TRY(validate_view(pResViewDesc, pResDesc));
    if (pResViewDesc && pResDesc->resType == cudaResourceTypeMipmappedArray &&
        pResViewDesc->format == cudaResViewFormatNone) {
        *pTexObject = 0; /* CUDA refuses this case late */
        return cudaErrorInvalidValue;
    }
    content.resource = *pResDesc;
    content.texture = *pTexDesc;
    complete(&content);
    if (pResViewDesc)
        content.view = *pResViewDesc;
    object *o = new_object(&content);
    if (!o)
        return cudaErrorMemoryAllocation;
    *pTexObject = (cudaTextureObject_t)(uintptr_t)o;
    return cudaSuccess;
}

/* CUDA ignores the handle of an object that does not exist, or is another context's. */
static cudaError_t destroy(unsigned long long handle, bool is_surface) {
    object *o = object_of(handle, is_surface);
    if (o && o->context == acu_sim_context_now())
        free_object(o);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDestroyTextureObject(cudaTextureObject_t texObject) {
    return destroy(texObject, false);
}

cudaError_t acu_sim_texture_find(const void *out, unsigned long long handle, bool is_surface,
                                 const acu_sim_texture **found) {
    const object *o = out ? object_of(handle, is_surface) : NULL;
    if (!o || o->context != acu_sim_context_now())
        return cudaErrorInvalidValue;
    *found = o;
    return cudaSuccess;
}

/* The runtime, other than the driver, looks at whether the array is still there. */
static cudaError_t validate_array(const struct cudaResourceDesc *resource) {
    const bool is_array = resource->resType == cudaResourceTypeArray ||
                          resource->resType == cudaResourceTypeMipmappedArray;
    return is_array && !acu_sim_texture_array(resource) ? cudaErrorInvalidResourceHandle
                                                        : cudaSuccess;
}

cudaError_t acu_sim_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                     cudaTextureObject_t texObject) {
    const object *o;
    SIM_TRY(acu_sim_texture_find(pResDesc, texObject, false, &o));
    SIM_TRY(validate_array(&o->resource));
    *pResDesc = o->resource;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
                                                    cudaTextureObject_t texObject) {
    const object *o;
    SIM_TRY(acu_sim_texture_find(pTexDesc, texObject, false, &o));
    *pTexDesc = o->texture;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
                                                         cudaTextureObject_t texObject) {
    const object *o;
    SIM_TRY(acu_sim_texture_find(pResViewDesc, texObject, false, &o));
    *pResViewDesc = o->view;
    return cudaSuccess;
}

void acu_sim_texture_keep_flags(unsigned long long handle, unsigned flags) {
    object *o = object_of(handle, false);
    o->by_driver = true;
    o->driver_flags = flags;
}

/* ---- surfaces ---- */

cudaError_t acu_sim_cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                            const struct cudaResourceDesc *pResDesc) {
    object content = {.where = SIM_CALLER, .is_surface = true, .device = acu_sim_device_now()};
    if (!pSurfObject || !pResDesc)
        return cudaErrorInvalidValue;
    SIM_TRY(validate_resource(pResDesc));
    SIM_TRY(acu_sim_capture_allows_unsafe());
    SIM_TRY(validate_context(pResDesc));
    /* CUDA does not look at whether the array was made for surfaces. */
    if (pResDesc->resType != cudaResourceTypeArray)
        return cudaErrorInvalidValue;
    if (acu_sim_compressed_size(acu_sim_texture_array(pResDesc)->desc.f))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the simulator has no surfaces of compressed arrays");
    content.resource = *pResDesc;
    object *o = new_object(&content);
    if (!o)
        return cudaErrorMemoryAllocation;
    *pSurfObject = (cudaSurfaceObject_t)(uintptr_t)o;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject) {
    return destroy(surfObject, true);
}

cudaError_t acu_sim_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                     cudaSurfaceObject_t surfObject) {
    const object *o;
    SIM_TRY(acu_sim_texture_find(pResDesc, surfObject, true, &o));
    SIM_TRY(validate_array(&o->resource));
    *pResDesc = o->resource;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDeviceGetTexture1DLinearMaxWidth(
    size_t *maxWidthInElements, const struct cudaChannelFormatDesc *fmtDesc, int device) {
    const acu_sim_device *d = acu_sim_device_at(device);
    if (!maxWidthInElements || !fmtDesc)
        return cudaErrorInvalidValue;
    if (!acu_sim_array_format_size(fmtDesc))
        return cudaErrorInvalidChannelDescriptor;
    if (!d)
        return cudaErrorInvalidDevice;
    *maxWidthInElements = linear_width(d, acu_sim_array_format_size(fmtDesc));
    return cudaSuccess;
}

/* ---- drop, reset, leaks ---- */

static void reset_device(acu_sim_device *device) {
    object *next;
    for (object *o = objects; o; o = next) {
        next = o->next;
        if (o->device == device)
            free_object(o);
    }
}

static void drop_context(acu_sim_context *context) {
    object *next;
    for (object *o = objects; o; o = next) {
        next = o->next;
        if (o->context == context)
            free_object(o);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const object *o = objects; o; o = o->next, count++)
        if (print)
            acu_sim_caller_report(o->is_surface ? "surface object" : "texture object", o, 0,
                                  o->where);
    return count;
}

const acu_sim_noun acu_sim_texture_noun = {
    .reset_device = reset_device, .drop_context = drop_context, .leaks = leaks};
