/* Texture and surface references. What each call refuses is what an H200 refused. */
#include "sim/code/module.h"
#include "sim/code/reference.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/memory/array.h"

#include <string.h>

/* ---- finding ---- */

static cudaError_t find_in_module(acu_sim_reference **made, CUmodule handle, const char *name,
                                  bool is_surface) {
    if (!made || !name || !*name)
        return cudaErrorInvalidValue;
    const acu_sim_module *module = acu_sim_module_of(handle);
    if (!module)
        return cudaErrorInvalidResourceHandle;
    acu_sim_reference *r = acu_sim_reference_named(module, name);
    if (!r || r->is_surface != is_surface)
        return cudaErrorSymbolNotFound;
    *made = r;
    return cudaSuccess;
}

cudaError_t acu_sim_cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name) {
    return find_in_module((acu_sim_reference **)(void *)pTexRef, hmod, name, false);
}

cudaError_t acu_sim_cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name) {
    return find_in_module((acu_sim_reference **)(void *)pSurfRef, hmod, name, true);
}

/* Finds a texture reference; `good`: the other arguments are valid, which is looked at first. */
static cudaError_t find(CUtexref handle, bool good, acu_sim_reference **r) {
    if (!good)
        return cudaErrorInvalidValue;
    *r = acu_sim_reference_of(handle, false);
    return *r ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* ---- binding ---- */

static void bind(acu_sim_reference *r, const struct cudaResourceDesc *resource) {
    r->resource = *resource;
    r->bound = true;
}

cudaError_t acu_sim_cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags) {
    acu_sim_reference *r;
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    SIM_TRY(find(hTexRef, Flags <= CU_TRSA_OVERRIDE_FORMAT, &r));
    resource.res.array.array = (cudaArray_t)(void *)hArray;
    if (!acu_sim_array_of(resource.res.array.array))
        return cudaErrorInvalidResourceHandle;
    bind(r, &resource);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
                                              unsigned int Flags) {
    acu_sim_reference *r;
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeMipmappedArray};
    SIM_TRY(find(hTexRef, Flags <= CU_TRSA_OVERRIDE_FORMAT, &r));
    resource.res.mipmap.mipmap = (cudaMipmappedArray_t)(void *)hMipmappedArray;
    if (!acu_sim_array_mipmap_level(resource.res.mipmap.mipmap))
        return cudaErrorInvalidResourceHandle;
    bind(r, &resource);
    return cudaSuccess;
}

/* The texture begins at the aligned address before the memory. */
cudaError_t acu_sim_cuTexRefSetAddress(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr,
                                       size_t bytes) {
    acu_sim_reference *r;
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
    SIM_TRY(find(hTexRef, true, &r));
    const size_t align =
        (size_t)acu_sim_device_attribute(r->module->device, cudaDevAttrTextureAlignment);
    const size_t offset = (size_t)(dptr % align);
    if (offset && !ByteOffset)
        return cudaErrorInvalidValue;
    struct cudaChannelFormatDesc *desc = &resource.res.linear.desc;
    const bool is_known =
        !acu_sim_driver_read_format((CUarray_format)r->format, (unsigned)r->channels, desc);
    if (!is_known) /* that is refused last, as by the driver */
        *desc = (struct cudaChannelFormatDesc){.x = 8, .f = cudaChannelFormatKindUnsigned};
    resource.res.linear.devPtr = acu_sim_driver_pointer(dptr - offset);
    resource.res.linear.sizeInBytes = bytes + offset;
    if (dptr)
        SIM_TRY(acu_sim_texture_validate_memory(r->module->device, &resource));
    if (!is_known)
        *desc = (struct cudaChannelFormatDesc){.x = 0};
    if (ByteOffset)
        *ByteOffset = offset;
    r->bound = false;
    if (dptr)
        bind(r, &resource);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetAddress2D(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                         CUdeviceptr dptr, size_t Pitch) {
    acu_sim_reference *r;
    struct cudaResourceDesc resource = {.resType = cudaResourceTypePitch2D};
    SIM_TRY(find(hTexRef, desc != NULL, &r));
    SIM_TRY(
        acu_sim_driver_read_format(desc->Format, desc->NumChannels, &resource.res.pitch2D.desc));
    resource.res.pitch2D.devPtr = acu_sim_driver_pointer(dptr);
    resource.res.pitch2D.width = desc->Width;
    resource.res.pitch2D.height = desc->Height;
    resource.res.pitch2D.pitchInBytes = Pitch;
    SIM_TRY(acu_sim_texture_validate_memory(r->module->device, &resource));
    r->format = (int)desc->Format;
    r->channels = (int)desc->NumChannels;
    bind(r, &resource);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetAddress(CUdeviceptr *pdptr, CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pdptr != NULL, &r));
    *pdptr = 0;
    if (!r->bound || (r->resource.resType != cudaResourceTypeLinear &&
                      r->resource.resType != cudaResourceTypePitch2D))
        return cudaErrorInvalidValue;
    *pdptr = (CUdeviceptr)(uintptr_t)(r->resource.resType == cudaResourceTypeLinear
                                          ? r->resource.res.linear.devPtr
                                          : r->resource.res.pitch2D.devPtr);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, phArray != NULL, &r));
    if (!r->bound || r->resource.resType != cudaResourceTypeArray)
        return cudaErrorInvalidValue;
    *phArray = (CUarray)(void *)r->resource.res.array.array;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray,
                                              CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, phMipmappedArray != NULL, &r));
    if (!r->bound || r->resource.resType != cudaResourceTypeMipmappedArray)
        return cudaErrorInvalidValue;
    *phMipmappedArray = (CUmipmappedArray)(void *)r->resource.res.mipmap.mipmap;
    return cudaSuccess;
}

/* ---- how it is read ---- */

cudaError_t acu_sim_cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt,
                                      int NumPackedComponents) {
    acu_sim_reference *r;
    const int count = NumPackedComponents;
    SIM_TRY(find(hTexRef, count == 0 || count == 1 || count == 2 || count == 4, &r));
    r->format = (int)fmt;
    r->channels = count;
    return cudaSuccess;
}

/* That of a bound array is the array's. */
cudaError_t acu_sim_cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels,
                                      CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, true, &r));
    CUDA_ARRAY3D_DESCRIPTOR d = {.Format = (CUarray_format)r->format,
                                 .NumChannels = (unsigned)r->channels};
    if (r->bound && r->resource.resType == cudaResourceTypeArray)
        SIM_TRY(acu_sim_cuArray3DGetDescriptor(&d, (CUarray)(void *)r->resource.res.array.array));
    if (pFormat)
        *pFormat = d.Format;
    if (pNumChannels)
        *pNumChannels = (int)d.NumChannels;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, dim >= 0 && dim < 3, &r));
    r->modes[dim] = (int)am;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pam && dim >= 0 && dim < 3, &r));
    *pam = (CUaddress_mode)r->modes[dim];
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, true, &r));
    r->filter = (int)fm;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetFilterMode(CUfilter_mode *pfm, CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pfm != NULL, &r));
    *pfm = (CUfilter_mode)r->filter;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, (unsigned)fm <= CU_TR_FILTER_MODE_LINEAR, &r));
    r->level_filter = (int)fm;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetMipmapFilterMode(CUfilter_mode *pfm, CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pfm != NULL, &r));
    *pfm = (CUfilter_mode)r->level_filter;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, true, &r));
    r->bias = bias;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetMipmapLevelBias(float *pbias, CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pbias != NULL, &r));
    *pbias = r->bias;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp,
                                                float maxMipmapLevelClamp) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, true, &r));
    r->least_level = minMipmapLevelClamp;
    r->most_level = maxMipmapLevelClamp;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp,
                                                float *pmaxMipmapLevelClamp, CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pminMipmapLevelClamp && pmaxMipmapLevelClamp, &r));
    *pminMipmapLevelClamp = r->least_level;
    *pmaxMipmapLevelClamp = r->most_level;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, true, &r));
    r->anisotropy = maxAniso;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetMaxAnisotropy(int *pmaxAniso, CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pmaxAniso != NULL, &r));
    *pmaxAniso = (int)r->anisotropy;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pBorderColor != NULL, &r));
    memcpy(r->border, pBorderColor, sizeof r->border);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pBorderColor != NULL, &r));
    memcpy(pBorderColor, r->border, sizeof r->border);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, Flags < CU_TRSF_SEAMLESS_CUBEMAP, &r));
    r->flags = Flags;
    return cudaSuccess;
}

cudaError_t acu_sim_cuTexRefGetFlags(unsigned int *pFlags, CUtexref hTexRef) {
    acu_sim_reference *r;
    SIM_TRY(find(hTexRef, pFlags != NULL, &r));
    *pFlags = r->flags;
    return cudaSuccess;
}

/* ---- surfaces ---- */

/* Only an array that was made for surfaces can be bound. */
cudaError_t acu_sim_cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags) {
    acu_sim_reference *r = acu_sim_reference_of(hSurfRef, true);
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    if (Flags)
        return cudaErrorInvalidValue;
    resource.res.array.array = (cudaArray_t)(void *)hArray;
    const acu_sim_array *array = acu_sim_array_of(resource.res.array.array);
    if (!r || !array)
        return cudaErrorInvalidResourceHandle;
    if (!(array->flags & cudaArraySurfaceLoadStore))
        return cudaErrorInvalidValue;
    bind(r, &resource);
    return cudaSuccess;
}

cudaError_t acu_sim_cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef) {
    const acu_sim_reference *r = acu_sim_reference_of(hSurfRef, true);
    if (!phArray)
        return cudaErrorInvalidValue;
    if (!r)
        return cudaErrorInvalidResourceHandle;
    if (!r->bound)
        return cudaErrorInvalidValue;
    *phArray = (CUarray)(void *)r->resource.res.array.array;
    return cudaSuccess;
}
