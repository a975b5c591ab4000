/* The driver API's arrays: the runtime's, but that a format and a number of channels describe an
 * element. */
#include "sim/driver/driver.h"
#include "sim/memory/array.h"
#include "sim/memory/compressed.h"

static const struct {
    CUarray_format format;
    int bits;
    enum cudaChannelFormatKind kind;
} formats[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
               {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
               {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
               {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
               {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
               {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
               {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
               {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat}};
enum { FORMATS = sizeof formats / sizeof *formats };

cudaError_t acu_sim_driver_read_format(CUarray_format format, unsigned channels,
                                       struct cudaChannelFormatDesc *desc) {
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].format == format) {
            int bits = formats[i].bits;
            *desc = (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0,
                                                   channels > 2 ? bits : 0, channels > 2 ? bits : 0,
                                                   formats[i].kind};
            return channels == 1 || channels == 2 || channels == 4 ? cudaSuccess
                                                                   : cudaErrorInvalidValue;
        }
    return acu_sim_driver_knows(&acu_cuda_type_CUarray_format_enum, format) ? cudaErrorNotSupported
                                                                            : cudaErrorInvalidValue;
}

void acu_sim_driver_write_format(const struct cudaChannelFormatDesc *desc, CUarray_format *format,
                                 unsigned *channels) {
    *channels = desc->w ? 4 : desc->y ? 2 : 1;
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].bits == desc->x && formats[i].kind == desc->f)
            *format = formats[i].format;
}

static cudaError_t create(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR *d) {
    struct cudaChannelFormatDesc desc;
    if (!handle || !d)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_driver_read_format(d->Format, d->NumChannels, &desc));
    return acu_sim_cudaMalloc3DArray((cudaArray_t *)(void *)handle, &desc,
                                     (struct cudaExtent){d->Width, d->Height, d->Depth}, d->Flags);
}

cudaError_t acu_sim_cuArray3DCreate(CUarray *pHandle,
                                    const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray) {
    return create(pHandle, pAllocateArray);
}

cudaError_t acu_sim_cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray) {
    const CUDA_ARRAY_DESCRIPTOR *d = pAllocateArray;
    const CUDA_ARRAY3D_DESCRIPTOR same = {.Width = d ? d->Width : 0,
                                          .Height = d ? d->Height : 0,
                                          .Format = d ? d->Format : CU_AD_FORMAT_FLOAT,
                                          .NumChannels = d ? d->NumChannels : 1};
    return create(pHandle, d ? &same : NULL);
}

static cudaError_t describe(CUarray handle, CUDA_ARRAY3D_DESCRIPTOR *to) {
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent;
    unsigned flags;
    SIM_TRY(acu_sim_cudaArrayGetInfo(&desc, &extent, &flags, (cudaArray_t)(void *)handle));
    if (acu_sim_compressed_size(desc.f))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the simulator knows no driver's description of compressed arrays");
    to->Width = extent.width;
    to->Height = extent.height;
    to->Depth = extent.depth;
    to->Flags = flags;
    acu_sim_driver_write_format(&desc, &to->Format, &to->NumChannels);
    return cudaSuccess;
}

cudaError_t acu_sim_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor,
                                           CUarray hArray) {
    return pArrayDescriptor ? describe(hArray, pArrayDescriptor) : cudaErrorInvalidValue;
}

/* The descriptor has no depth, so that of an array with one is not reported. */
cudaError_t acu_sim_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray) {
    CUDA_ARRAY3D_DESCRIPTOR d;
    if (!pArrayDescriptor)
        return cudaErrorInvalidValue;
    SIM_TRY(describe(hArray, &d));
    *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){d.Width, d.Height, d.Format, d.NumChannels};
    return cudaSuccess;
}

/* A level of a mipmapped array stays what it is. */
cudaError_t acu_sim_cuArrayDestroy(CUarray hArray) {
    const cudaArray_t array = (cudaArray_t)(void *)hArray;
    const acu_sim_array *a = acu_sim_array_of(array);
    if (a && a->is_level)
        return cudaSuccess;
    return hArray ? acu_sim_cudaFreeArray(array) : cudaErrorInvalidResourceHandle;
}

cudaError_t acu_sim_cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                           const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                           unsigned int numMipmapLevels) {
    const CUDA_ARRAY3D_DESCRIPTOR *d = pMipmappedArrayDesc;
    struct cudaChannelFormatDesc desc;
    if (!pHandle || !d)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_driver_read_format(d->Format, d->NumChannels, &desc));
    return acu_sim_cudaMallocMipmappedArray((cudaMipmappedArray_t *)(void *)pHandle, &desc,
                                            (struct cudaExtent){d->Width, d->Height, d->Depth},
                                            numMipmapLevels, d->Flags);
}

cudaError_t acu_sim_cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                             unsigned int level) {
    return acu_sim_cudaGetMipmappedArrayLevel((cudaArray_t *)(void *)pLevelArray,
                                              (cudaMipmappedArray_const_t)(void *)hMipmappedArray,
                                              level);
}

cudaError_t acu_sim_cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
    return hMipmappedArray
               ? acu_sim_cudaFreeMipmappedArray((cudaMipmappedArray_t)(void *)hMipmappedArray)
               : cudaErrorInvalidResourceHandle;
}

/* ---- what the program must map ---- */

/* The driver reports one error for all that is no array to be asked, and leaves what is reserved as
 * it was. */
static cudaError_t write_sparse(cudaError_t result, const struct cudaArraySparseProperties *from,
                                CUDA_ARRAY_SPARSE_PROPERTIES *to) {
    if (result)
        return cudaErrorInvalidValue;
    to->tileExtent.width = from->tileExtent.width;
    to->tileExtent.height = from->tileExtent.height;
    to->tileExtent.depth = from->tileExtent.depth;
    to->miptailFirstLevel = from->miptailFirstLevel;
    to->miptailSize = from->miptailSize;
    to->flags = from->flags;
    return cudaSuccess;
}

cudaError_t acu_sim_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                               CUarray array) {
    struct cudaArraySparseProperties sparse = {0};
    if (!sparseProperties)
        return cudaErrorInvalidValue;
    return write_sparse(acu_sim_cudaArrayGetSparseProperties(&sparse, (cudaArray_t)(void *)array),
                        &sparse, sparseProperties);
}

cudaError_t
acu_sim_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                            CUmipmappedArray mipmap) {
    struct cudaArraySparseProperties sparse = {0};
    if (!sparseProperties)
        return cudaErrorInvalidValue;
    return write_sparse(acu_sim_cudaMipmappedArrayGetSparseProperties(
                            &sparse, (cudaMipmappedArray_t)(void *)mipmap),
                        &sparse, sparseProperties);
}

static cudaError_t write_needs(cudaError_t result, const struct cudaArrayMemoryRequirements *from,
                               CUDA_ARRAY_MEMORY_REQUIREMENTS *to) {
    if (result)
        return cudaErrorInvalidValue;
    *to = (CUDA_ARRAY_MEMORY_REQUIREMENTS){.size = from->size, .alignment = from->alignment};
    return cudaSuccess;
}

cudaError_t acu_sim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                                 CUarray array, CUdevice device) {
    struct cudaArrayMemoryRequirements needs = {0};
    if (!memoryRequirements)
        return cudaErrorInvalidValue;
    return write_needs(
        acu_sim_cudaArrayGetMemoryRequirements(&needs, (cudaArray_t)(void *)array, device), &needs,
        memoryRequirements);
}

cudaError_t
acu_sim_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                              CUmipmappedArray mipmap, CUdevice device) {
    struct cudaArrayMemoryRequirements needs = {0};
    if (!memoryRequirements)
        return cudaErrorInvalidValue;
    return write_needs(acu_sim_cudaMipmappedArrayGetMemoryRequirements(
                           &needs, (cudaMipmappedArray_t)(void *)mipmap, device),
                       &needs, memoryRequirements);
}
