/* Tensor maps: what makes them valid, and making them. */
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/ptx/tensor_map.h"

#include <string.h>

/* What all kinds of maps have. */
typedef struct request {
    CUtensorMap *map;
    CUtensorMapDataType type;
    unsigned rank, least_rank;
    void *address;
    const cuuint64_t *shape, *strides;
    const cuuint32_t *steps;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
    unsigned inner; /* elements of the inner dimension of a tile */
} request;

static bool is_spread(CUtensorMapDataType type) {
    return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B ||
           type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

static bool is_float(CUtensorMapDataType type) {
    return (type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 &&
            type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ);
}

/* Returns how many bytes the inner dimension of a tile can have. */
static unsigned most_inner(CUtensorMapSwizzle swizzle) {
    return swizzle == CU_TENSOR_MAP_SWIZZLE_32B   ? 32
           : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64
                                                  : 128;
}

static bool modes_are_valid(const request *r) {
    const bool interleaved = r->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
    const unsigned least = interleaved && r->least_rank < 3 ? 3 : r->least_rank;
    return acu_ptx_tensor_bits(r->type) &&
           (unsigned)r->interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
           (unsigned)r->swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B &&
           (unsigned)r->promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B && (unsigned)r->fill <= 1 &&
           (!r->fill || is_float(r->type)) && r->rank >= least && r->rank <= PTX_TENSOR_RANKS;
}

static bool shape_is_valid(const request *r, unsigned alignment) {
    for (unsigned i = 0; i < r->rank; i++)
        if (r->shape[i] == 0 || r->shape[i] > (cuuint64_t)1 << 31u || r->steps[i] == 0 ||
            r->steps[i] > 8)
            return false;
    for (unsigned i = 0; i + 1 < r->rank; i++)
        if (r->strides[i] % alignment != 0 || r->strides[i] >= (cuuint64_t)1 << 40u)
            return false;
    return !is_spread(r->type) || r->shape[0] % 128 == 0;
}

static bool inner_is_valid(const request *r) {
    const unsigned bits = r->inner * acu_ptx_tensor_bits(r->type);
    if (r->inner == 0 || r->inner > 256 || (is_spread(r->type) && r->inner != 128))
        return false;
    if (bits % 128 != 0) /* on an H200 also where channels are interleaved, and W comes first */
        return false;
    return r->swizzle == CU_TENSOR_MAP_SWIZZLE_NONE || is_spread(r->type) ||
           r->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || bits / 8 <= most_inner(r->swizzle);
}

static unsigned alignment_of(const request *r) {
    return r->interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_spread(r->type) ? 32 : 16;
}

/* An H100 refuses what PTX has from compute capability 10.0 on. */
static bool device_has(const request *r) {
    const bool needs_ten =
        r->type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B || r->swizzle > CU_TENSOR_MAP_SWIZZLE_128B;
    return !needs_ten ||
           acu_sim_device_attribute(acu_sim_device_now(), cudaDevAttrComputeCapabilityMajor) >= 10;
}

static bool is_valid(const request *r) {
    return device_has(r) && r->map && (uintptr_t)r->map % 64 == 0 && r->address && r->shape &&
           r->steps && modes_are_valid(r) && (r->rank == 1 || r->strides) &&
           (uintptr_t)r->address % alignment_of(r) == 0 && shape_is_valid(r, alignment_of(r)) &&
           inner_is_valid(r);
}

/* Returns whether the device takes tiles of so many elements: their bytes are not more than the
 * shared memory of a multiprocessor. */
static bool tile_fits(const request *r, uint64_t elements) {
    return elements * acu_ptx_tensor_bits(r->type) / 8 <=
           (uint64_t)acu_sim_device_attribute(acu_sim_device_now(),
                                              cudaDevAttrMaxSharedMemoryPerMultiprocessor);
}

/* Returns what all kinds of maps have. */
static ptx_tensor_map map_of(const request *r, uint32_t magic) {
    ptx_tensor_map map = {.magic = magic,
                          .rank = (uint8_t)r->rank,
                          .type = (uint8_t)r->type,
                          .interleave = (uint8_t)r->interleave,
                          .swizzle = (uint8_t)r->swizzle,
                          .fill = (uint8_t)r->fill,
                          .address = (uintptr_t)r->address};
    for (unsigned i = 0; i < r->rank; i++) {
        map.shape[i] = (uint32_t)(r->shape[i] - 1);
        map.steps[i] = (uint8_t)r->steps[i];
        if (i > 0)
            map.strides[i - 1] = r->strides[i - 1];
    }
    return map;
}

static void write_map(const request *r, const ptx_tensor_map *map) {
    memset(r->map, 0, PTX_TENSOR_BYTES);
    memcpy(r->map, map, sizeof *map);
}

cudaError_t acu_sim_cuTensorMapEncodeTiled(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const cuuint32_t *boxDim, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
    const request r = {tensorMap,
                       tensorDataType,
                       tensorRank,
                       1,
                       globalAddress,
                       globalDim,
                       globalStrides,
                       elementStrides,
                       interleave,
                       swizzle,
                       l2Promotion,
                       oobFill,
                       boxDim ? boxDim[0] : 0};
    if (!is_valid(&r))
        return cudaErrorInvalidValue;
    uint64_t elements = 1;
    for (unsigned i = 0; i < r.rank; i++) {
        if (boxDim[i] == 0 || boxDim[i] > 256)
            return cudaErrorInvalidValue;
        elements *= boxDim[i] / elementStrides[i]; /* a box below its step counts as nothing */
    }
    if (!tile_fits(&r, elements))
        return cudaErrorInvalidValue;
    ptx_tensor_map map = map_of(&r, PTX_TENSOR_TILED);
    for (unsigned i = 0; i < r.rank; i++)
        map.box[i] = (uint16_t)boxDim[i];
    write_map(&r, &map);
    return cudaSuccess;
}

/* Returns whether the offsets of a dimension leave pixels. */
static bool corners_are_valid(cuuint64_t size, int lower, int upper, int most) {
    return lower >= -most - 1 && lower <= most && upper >= -most - 1 && upper <= most &&
           (int64_t)size + upper - lower > 0;
}

cudaError_t acu_sim_cuTensorMapEncodeIm2col(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
    static const int most[] = {32767, 127, 15};
    const request r = {tensorMap,   tensorDataType, tensorRank,      3,          globalAddress,
                       globalDim,   globalStrides,  elementStrides,  interleave, swizzle,
                       l2Promotion, oobFill,        channelsPerPixel};
    if (!pixelBoxLowerCorner || !pixelBoxUpperCorner || !is_valid(&r) || pixelsPerColumn == 0 ||
        pixelsPerColumn > 1024 || !tile_fits(&r, (uint64_t)channelsPerPixel * pixelsPerColumn))
        return cudaErrorInvalidValue;
    const unsigned width = interleave ? 0 : 1; /* where the first dimension has no channels */
    for (unsigned i = 0; i < r.rank - 2; i++)
        if (!corners_are_valid(globalDim[width + i], pixelBoxLowerCorner[i], pixelBoxUpperCorner[i],
                               most[r.rank - 3]))
            return cudaErrorInvalidValue;
    ptx_tensor_map map = map_of(&r, PTX_TENSOR_IM2COL);
    map.box[0] = (uint16_t)channelsPerPixel;
    map.box[1] = (uint16_t)pixelsPerColumn;
    for (unsigned i = 0; i < r.rank - 2; i++) {
        map.lower[i] = (int16_t)pixelBoxLowerCorner[i];
        map.upper[i] = (int16_t)pixelBoxUpperCorner[i];
    }
    write_map(&r, &map);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTensorMapEncodeIm2colWide(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
    const request r = {tensorMap,   tensorDataType, tensorRank,      3,          globalAddress,
                       globalDim,   globalStrides,  elementStrides,  interleave, swizzle,
                       l2Promotion, oobFill,        channelsPerPixel};
    const bool all = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
    if ((!all && mode != CU_TENSOR_MAP_IM2COL_WIDE_MODE_W) || !is_valid(&r) ||
        (!all && (pixelsPerColumn == 0 || pixelsPerColumn > 1024)) ||
        (swizzle != CU_TENSOR_MAP_SWIZZLE_64B && swizzle != CU_TENSOR_MAP_SWIZZLE_128B &&
         swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B) ||
        !corners_are_valid(globalDim[1], pixelBoxLowerCornerWidth, pixelBoxUpperCornerWidth, 32767))
        return cudaErrorInvalidValue;
    ptx_tensor_map map = map_of(&r, PTX_TENSOR_IM2COL_WIDE);
    write_map(&r, &map);
    return cudaSuccess;
}

cudaError_t acu_sim_cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress) {
    ptx_tensor_map map;
    if (!acu_ptx_tensor_read(tensorMap, &map) || !globalAddress ||
        (uintptr_t)globalAddress % 16 != 0)
        return cudaErrorInvalidValue;
    map.address = (uintptr_t)globalAddress;
    memcpy(tensorMap, &map, sizeof map);
    return cudaSuccess;
}
