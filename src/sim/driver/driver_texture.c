/*
 * The driver API's texture and surface objects: the runtime's, but that a format and a number of
 * channels describe an element, and that flags say how it is read.
 */
#include "sim/driver/driver.h"
#include "sim/memory/array.h"
#include "sim/memory/texture.h"

/* A GPU refuses other flags than these seven bits, of which five have names. */
enum { FLAGS = 0x7f };

/* The driver has one error for all that does not fit together. */
static cudaError_t error_of(cudaError_t result) {
    switch ((int)result) {
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidChannelDescriptor:
    case cudaErrorInvalidNormSetting:
        return cudaErrorInvalidValue;
    default:
        return result;
    }
}

/* ---- resources ---- */

static cudaError_t read_resource(const CUDA_RESOURCE_DESC *from, struct cudaResourceDesc *to) {
    *to = (struct cudaResourceDesc){.resType = (enum cudaResourceType)from->resType};
    if (from->flags)
        return cudaErrorInvalidValue;
    switch (from->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        to->res.array.array = (cudaArray_t)(void *)from->res.array.hArray;
        return cudaSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        to->res.mipmap.mipmap = (cudaMipmappedArray_t)(void *)from->res.mipmap.hMipmappedArray;
        return cudaSuccess;
    case CU_RESOURCE_TYPE_LINEAR:
        to->res.linear.devPtr = acu_sim_driver_pointer(from->res.linear.devPtr);
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        return acu_sim_driver_read_format(from->res.linear.format, from->res.linear.numChannels,
                                          &to->res.linear.desc);
    case CU_RESOURCE_TYPE_PITCH2D:
        to->res.pitch2D.devPtr = acu_sim_driver_pointer(from->res.pitch2D.devPtr);
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        return acu_sim_driver_read_format(from->res.pitch2D.format, from->res.pitch2D.numChannels,
                                          &to->res.pitch2D.desc);
    default:
        return cudaErrorInvalidValue;
    }
}

static void write_resource(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to) {
    *to = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)from->resType};
    switch (from->resType) {
    case cudaResourceTypeArray:
        to->res.array.hArray = (CUarray)(void *)from->res.array.array;
        break;
    case cudaResourceTypeMipmappedArray:
        to->res.mipmap.hMipmappedArray = (CUmipmappedArray)(void *)from->res.mipmap.mipmap;
        break;
    case cudaResourceTypeLinear:
        to->res.linear.devPtr = (CUdeviceptr)(uintptr_t)from->res.linear.devPtr;
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        acu_sim_driver_write_format(&from->res.linear.desc, &to->res.linear.format,
                                    &to->res.linear.numChannels);
        break;
    case cudaResourceTypePitch2D:
        to->res.pitch2D.devPtr = (CUdeviceptr)(uintptr_t)from->res.pitch2D.devPtr;
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        acu_sim_driver_write_format(&from->res.pitch2D.desc, &to->res.pitch2D.format,
                                    &to->res.pitch2D.numChannels);
        break;
    }
}

/* Returns whether elements of the resource may be read as fractions: integers of 8 and 16 bits. */
static bool has_fractions(const struct cudaResourceDesc *resource) {
    const struct cudaChannelFormatDesc *format = acu_sim_texture_format(resource);
    return format && format->x < 32 && format->f != cudaChannelFormatKindFloat;
}

/* ---- how they are read ---- */

static void read_texture(const CUDA_TEXTURE_DESC *from, const struct cudaResourceDesc *resource,
                         struct cudaTextureDesc *to) {
    *to = (struct cudaTextureDesc){
        .filterMode = (enum cudaTextureFilterMode)from->filterMode,
        .readMode = !(from->flags & CU_TRSF_READ_AS_INTEGER) && has_fractions(resource)
                        ? cudaReadModeNormalizedFloat
                        : cudaReadModeElementType,
        .sRGB = (from->flags & CU_TRSF_SRGB) != 0,
        .normalizedCoords = (from->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
        .maxAnisotropy = from->maxAnisotropy,
        .mipmapFilterMode = (enum cudaTextureFilterMode)from->mipmapFilterMode,
        .mipmapLevelBias = from->mipmapLevelBias,
        .minMipmapLevelClamp = from->minMipmapLevelClamp,
        .maxMipmapLevelClamp = from->maxMipmapLevelClamp,
        .disableTrilinearOptimization = (from->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0,
        .seamlessCubemap = (from->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0};
    for (int i = 0; i < 3; i++)
        to->addressMode[i] = (enum cudaTextureAddressMode)from->addressMode[i];
    for (int i = 0; i < 4; i++)
        to->borderColor[i] = from->borderColor[i];
}

static unsigned flags_of(const struct cudaTextureDesc *t) {
    return (t->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
           (t->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u) |
           (t->sRGB ? CU_TRSF_SRGB : 0u) |
           (t->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u) |
           (t->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0u);
}

static void write_texture(const acu_sim_texture *object, CUDA_TEXTURE_DESC *to) {
    const struct cudaTextureDesc *from = &object->texture;
    *to = (CUDA_TEXTURE_DESC){.filterMode = (CUfilter_mode)from->filterMode,
                              .flags = object->by_driver ? object->driver_flags : flags_of(from),
                              .maxAnisotropy = from->maxAnisotropy,
                              .mipmapFilterMode = (CUfilter_mode)from->mipmapFilterMode,
                              .mipmapLevelBias = from->mipmapLevelBias,
                              .minMipmapLevelClamp = from->minMipmapLevelClamp,
                              .maxMipmapLevelClamp = from->maxMipmapLevelClamp};
    for (int i = 0; i < 3; i++)
        to->addressMode[i] = (CUaddress_mode)from->addressMode[i];
    for (int i = 0; i < 4; i++)
        to->borderColor[i] = from->borderColor[i];
}

static cudaError_t validate_flags(unsigned flags, const struct cudaResourceDesc *resource) {
    const acu_sim_array *array = acu_sim_texture_array(resource);
    if (flags & ~(unsigned)FLAGS)
        return SIM_REFUSE(cudaErrorInvalidValue, "textures have no flags %#x",
                          flags & ~(unsigned)FLAGS);
    return flags & CU_TRSF_SEAMLESS_CUBEMAP && !(array && array->flags & cudaArrayCubemap)
               ? SIM_REFUSE(cudaErrorInvalidValue, "CU_TRSF_SEAMLESS_CUBEMAP is a flag for "
                                                   "textures of arrays made for cubemaps")
               : cudaSuccess;
}

static void read_view(const CUDA_RESOURCE_VIEW_DESC *from, struct cudaResourceViewDesc *to) {
    *to = (struct cudaResourceViewDesc){.format = (enum cudaResourceViewFormat)from->format,
                                        .width = from->width,
                                        .height = from->height,
                                        .depth = from->depth,
                                        .firstMipmapLevel = from->firstMipmapLevel,
                                        .lastMipmapLevel = from->lastMipmapLevel,
                                        .firstLayer = from->firstLayer,
                                        .lastLayer = from->lastLayer};
}

/* ---- calls ---- */

cudaError_t acu_sim_cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                      const CUDA_TEXTURE_DESC *pTexDesc,
                                      const CUDA_RESOURCE_VIEW_DESC *pResViewDesc) {
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
    if (!pTexObject || !pResDesc || !pTexDesc)
        return cudaErrorInvalidValue;
    SIM_TRY(read_resource(pResDesc, &resource));
    SIM_TRY(validate_flags(pTexDesc->flags, &resource));
    read_texture(pTexDesc, &resource, &texture);
    if (pResViewDesc)
        read_view(pResViewDesc, &view);
    SIM_TRY(error_of(acu_sim_cudaCreateTextureObject(pTexObject, &resource, &texture,
                                                     pResViewDesc ? &view : NULL)));
    acu_sim_texture_keep_flags(*pTexObject, pTexDesc->flags);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexObjectDestroy(CUtexObject texObject) {
    return acu_sim_cudaDestroyTextureObject(texObject);
}

cudaError_t acu_sim_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc,
                                               CUtexObject texObject) {
    const acu_sim_texture *texture;
    SIM_TRY(acu_sim_texture_find(pResDesc, texObject, false, &texture));
    write_resource(&texture->resource, pResDesc);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject) {
    const acu_sim_texture *texture;
    SIM_TRY(acu_sim_texture_find(pTexDesc, texObject, false, &texture));
    write_texture(texture, pTexDesc);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
                                                   CUtexObject texObject) {
    const acu_sim_texture *texture;
    SIM_TRY(acu_sim_texture_find(pResViewDesc, texObject, false, &texture));
    const struct cudaResourceViewDesc view = texture->view;
    *pResViewDesc = (CUDA_RESOURCE_VIEW_DESC){.format = (CUresourceViewFormat)view.format,
                                              .width = view.width,
                                              .height = view.height,
                                              .depth = view.depth,
                                              .firstMipmapLevel = view.firstMipmapLevel,
                                              .lastMipmapLevel = view.lastMipmapLevel,
                                              .firstLayer = view.firstLayer,
                                              .lastLayer = view.lastLayer};
    return cudaSuccess;
}

cudaError_t acu_sim_cuSurfObjectCreate(CUsurfObject *pSurfObject,
                                       const CUDA_RESOURCE_DESC *pResDesc) {
    struct cudaResourceDesc resource;
    if (!pSurfObject || !pResDesc)
        return cudaErrorInvalidValue;
    SIM_TRY(read_resource(pResDesc, &resource));
    return error_of(acu_sim_cudaCreateSurfaceObject(pSurfObject, &resource));
}

cudaError_t acu_sim_cuSurfObjectDestroy(CUsurfObject surfObject) {
    return acu_sim_cudaDestroySurfaceObject(surfObject);
}

cudaError_t acu_sim_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc,
                                                CUsurfObject surfObject) {
    const acu_sim_texture *surface;
    SIM_TRY(acu_sim_texture_find(pResDesc, surfObject, true, &surface));
    write_resource(&surface->resource, pResDesc);
    return cudaSuccess;
}

cudaError_t acu_sim_cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                       CUarray_format format,
                                                       unsigned int numChannels, CUdevice dev) {
    struct cudaChannelFormatDesc desc;
    SIM_TRY(acu_sim_driver_read_format(format, numChannels, &desc));
    return acu_sim_cudaDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, &desc, dev);
}
