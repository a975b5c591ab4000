/* Which arrays there can be: their formats, extents and flags. */
#include "sim/memory/array_shape.h"

#include "sim/call.h"
#include "sim/caller.h"
#include "sim/memory/array.h"
#include "sim/memory/compressed.h"

/* ---- formats ---- */

/* Returns the bits of a channel in a normalized format; 0 for any other format. */
static int bits_of(enum cudaChannelFormatKind kind) {
    switch ((int)kind) {
    case cudaChannelFormatKindUnsignedNormalized8X1:
    case cudaChannelFormatKindUnsignedNormalized8X2:
    case cudaChannelFormatKindUnsignedNormalized8X4:
    case cudaChannelFormatKindSignedNormalized8X1:
    case cudaChannelFormatKindSignedNormalized8X2:
    case cudaChannelFormatKindSignedNormalized8X4:
        return 8;
    case cudaChannelFormatKindUnsignedNormalized16X1:
    case cudaChannelFormatKindUnsignedNormalized16X2:
    case cudaChannelFormatKindUnsignedNormalized16X4:
    case cudaChannelFormatKindSignedNormalized16X1:
    case cudaChannelFormatKindSignedNormalized16X2:
    case cudaChannelFormatKindSignedNormalized16X4:
        return 16;
    default:
        return 0;
    }
}

/* Returns the bytes of an element, which has one, two or four channels, all of as many bits. */
size_t acu_sim_array_format_size(const struct cudaChannelFormatDesc *desc) {
    const int bits = desc->x, known = bits_of(desc->f);
    const int channels = 1 + (desc->y != 0) + (desc->z != 0) + (desc->w != 0);
    if (channels == 3 || (desc->y && desc->y != bits) || (desc->z && desc->z != bits) ||
        (desc->w && desc->w != bits) || (desc->z && !desc->y) || (desc->w && !desc->z))
        return 0;
    const bool whole =
        desc->f == cudaChannelFormatKindSigned || desc->f == cudaChannelFormatKindUnsigned;
    const bool real = desc->f == cudaChannelFormatKindFloat;
    if ((whole && bits == 8) || ((whole || real) && (bits == 16 || bits == 32)) ||
        (known && bits == known))
        return (size_t)bits / 8 * (size_t)channels;
    return 0;
}

struct cudaChannelFormatDesc acu_sim_cudaCreateChannelDesc(int x, int y, int z, int w,
                                                           enum cudaChannelFormatKind f) {
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

/* ---- shapes ---- */

/* The attributes of a device that limit an extent; 0: no limit. */
typedef struct limits {
    int width, height, depth;
} limits;

static limits limits_of(const struct cudaExtent *extent, unsigned flags) {
    const bool cube = flags & cudaArrayCubemap, layered = flags & cudaArrayLayered;
    if (cube && layered)
        return (limits){cudaDevAttrMaxTextureCubemapLayeredWidth,
                        cudaDevAttrMaxTextureCubemapLayeredWidth,
                        cudaDevAttrMaxTextureCubemapLayeredLayers};
    if (cube)
        return (limits){cudaDevAttrMaxTextureCubemapWidth, cudaDevAttrMaxTextureCubemapWidth, 0};
    if (layered && extent->height)
        return (limits){cudaDevAttrMaxTexture2DLayeredWidth, cudaDevAttrMaxTexture2DLayeredHeight,
                        cudaDevAttrMaxTexture2DLayeredLayers};
    if (layered)
        return (limits){cudaDevAttrMaxTexture1DLayeredWidth, 0,
                        cudaDevAttrMaxTexture1DLayeredLayers};
    if (extent->depth)
        return (limits){cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight,
                        cudaDevAttrMaxTexture3DDepth};
    if (flags & cudaArrayTextureGather)
        return (limits){cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight, 0};
    if (extent->height)
        return (limits){cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight, 0};
    return (limits){cudaDevAttrMaxTexture1DWidth, 0, 0};
}

/* Returns 0, or an error if a device has no such arrays with a dimension of this size. */
static cudaError_t validate_size(const acu_sim_device *device, const char *name, size_t size,
                                 int attribute) {
    const size_t most =
        attribute ? (size_t)acu_sim_device_attribute(device, (enum cudaDeviceAttr)attribute)
                  : SIZE_MAX;
    return size <= most
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidValue,
                            "the %s is %zu, and of such an array it can be %zu", name, size, most);
}

static cudaError_t validate_cube(const struct cudaExtent *extent, bool layered) {
    if (extent->width == extent->height && (layered ? extent->depth % 6 == 0 : extent->depth == 6))
        return cudaSuccess;
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "a cube has square faces and a depth of 6, of several cubes a multiple of 6, "
                      "and this one is %zu x %zu x %zu",
                      extent->width, extent->height, extent->depth);
}

/* Only the layers of an array can be a third dimension without a second one. */
static cudaError_t validate_shape(const struct cudaExtent *extent, unsigned flags) {
    const bool cube = flags & cudaArrayCubemap, layered = flags & cudaArrayLayered;
    if (!extent->width || (layered && !extent->depth))
        return SIM_REFUSE(cudaErrorInvalidValue, "the %s is 0",
                          extent->width ? "depth, which is the number of layers," : "width");
    if (cube)
        return validate_cube(extent, layered);
    return layered || extent->height || !extent->depth
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidValue,
                            "the height is 0 and the depth %zu: without cudaArrayLayered a depth "
                            "is a third dimension, behind a second one",
                            extent->depth);
}

static cudaError_t validate_format(const struct cudaChannelFormatDesc *desc) {
    const bool is_number = desc->f <= cudaChannelFormatKindNone;
    if (!acu_sim_knows(&acu_cudart_type_cudaChannelFormatKind, desc->f))
        return cudaErrorInvalidChannelDescriptor;
    if (desc->f == cudaChannelFormatKindNV12 || acu_sim_compressed_size(desc->f))
        return cudaSuccess; /* see acu_sim_array_validate_kind(), and validate_compressed() */
    if (!is_number && !bits_of(desc->f))
        return cudaErrorNotSupported;
    return acu_sim_array_format_size(desc) ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

/* GPUs were asked about compressed arrays of two and three dimensions, layers, cubes, layered
 * cubes, and such as texels are gathered from; they refuse those of one dimension. */
static cudaError_t validate_compressed(const struct cudaChannelFormatDesc *desc,
                                       const struct cudaExtent *extent, unsigned flags) {
    const unsigned shapes = cudaArrayLayered | cudaArrayCubemap;
    const bool is_known = !(flags & ~shapes) || flags == cudaArrayTextureGather;
    if (!extent->height)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the height is 0, and a compressed array has two dimensions at least");
    return acu_sim_compressed_is_described(desc) && is_known
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorNotSupported,
                            "the simulator has no such compressed array: only those with no flags, "
                            "with cudaArrayLayered, cudaArrayCubemap or both, or with "
                            "cudaArrayTextureGather alone, and with the bits that "
                            "cudaCreateChannelDesc() gives the format");
}

cudaError_t acu_sim_array_validate(const acu_sim_device *device,
                                   const struct cudaChannelFormatDesc *desc,
                                   const struct cudaExtent *extent, unsigned flags) {
    const bool is_number = desc->f <= cudaChannelFormatKindNone;
    SIM_TRY(validate_shape(extent, flags));
    if (is_number && !acu_sim_array_format_size(desc))
        return cudaErrorInvalidChannelDescriptor;
    if (flags & ~ACU_SIM_ARRAY_FLAGS)
        return SIM_REFUSE(cudaErrorInvalidValue, "no array has the flags %#x of %#x",
                          flags & ~ACU_SIM_ARRAY_FLAGS, flags);
    SIM_TRY(validate_format(desc));
    if (desc->f == cudaChannelFormatKindNV12)
        return cudaSuccess;
    if (acu_sim_compressed_size(desc->f))
        SIM_TRY(validate_compressed(desc, extent, flags));
    const limits limit = limits_of(extent, flags);
    SIM_TRY(validate_size(device, "width", extent->width, limit.width));
    SIM_TRY(validate_size(device, "height", extent->height, limit.height));
    return validate_size(device, flags & cudaArrayLayered ? "number of layers" : "depth",
                         extent->depth, limit.depth);
}

/* Arrays of two planes are those of video, which a GPU gets from other APIs only. */
cudaError_t acu_sim_array_validate_kind(const struct cudaChannelFormatDesc *desc,
                                        const struct cudaExtent *extent, unsigned flags) {
    const bool is_flat = extent->height && !extent->depth;
    const unsigned never_sparse =
        cudaArrayDeferredMapping | cudaArraySurfaceLoadStore | cudaArrayCubemap;
    if (desc->f == cudaChannelFormatKindNV12)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "arrays of two planes are those of video, which other APIs make");
    if (flags & cudaArrayTextureGather && !is_flat)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "cudaArrayTextureGather is for arrays of two dimensions without layers");
    return flags & cudaArraySparse && (!extent->height || flags & never_sparse)
               ? SIM_REFUSE(cudaErrorInvalidValue,
                            "a sparse array has two or three dimensions, and none of "
                            "cudaArrayDeferredMapping, cudaArraySurfaceLoadStore and "
                            "cudaArrayCubemap")
               : cudaSuccess;
}
