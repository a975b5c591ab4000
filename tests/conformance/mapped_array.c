/*
 * Arrays to which the program maps memory: sparse ones tile by tile, and ones with deferred mapping
 * as a whole. An H100 with driver 13.0 was asked.
 */
#include "conformance.h"

#include <stdlib.h>

enum { PIECE = 65536, POOL = 4 * MIB };
enum { U8 = CU_AD_FORMAT_UNSIGNED_INT8, U32 = CU_AD_FORMAT_UNSIGNED_INT32 };
enum { SPARSE = CUDA_ARRAY3D_SPARSE, DEFERRED = CUDA_ARRAY3D_DEFERRED_MAPPING };
enum { LAYERED = CUDA_ARRAY3D_LAYERED, CUBE = CUDA_ARRAY3D_CUBEMAP };

/* ---- making ---- */

static CUresult make(CUarray *array, int format, size_t width, size_t height, size_t depth,
                     unsigned flags) {
    const CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, (CUarray_format)format, 1, flags};
    (void)cudaFree(NULL);
    return cuArray3DCreate(array, &d);
}

static CUresult make_mipmap(CUmipmappedArray *mipmap, size_t width, size_t height, size_t depth,
                            unsigned flags, unsigned levels) {
    const CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, (CUarray_format)U32, 1, flags};
    (void)cudaFree(NULL);
    return cuMipmappedArrayCreate(mipmap, &d, levels);
}

static CUresult make_memory(CUmemGenericAllocationHandle *memory, unsigned usage) {
    CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    p.allocFlags.usage = (unsigned short)usage;
    (void)cudaFree(NULL);
    return cuMemCreate(memory, POOL, &p, 0);
}

/* Makes memory for tiles. */
static CUresult make_pool(CUmemGenericAllocationHandle *memory) {
    return make_memory(memory, CU_MEM_CREATE_USAGE_TILE_POOL);
}

/* Makes an array of numbers of 32 bits, and memory for its tiles. */
static CUresult make_both(CUarray *array, CUmemGenericAllocationHandle *memory, size_t width,
                          size_t height, size_t depth, unsigned flags) {
    const CUresult result = make(array, U32, width, height, depth, flags);
    return result ? result : make_pool(memory);
}

static CUresult drop_both(CUarray array, CUmemGenericAllocationHandle memory) {
    const CUresult result = cuArrayDestroy(array);
    return result ? result : cuMemRelease(memory);
}

/* ---- mapping ---- */

/* Describes a box of tiles of an array; memory 0 means to unmap. */
static CUarrayMapInfo tiles(CUarray array, CUmemGenericAllocationHandle memory) {
    CUarrayMapInfo info;
    memset(&info, 0, sizeof info);
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.subresource.sparseLevel.extentWidth = 128;
    info.subresource.sparseLevel.extentHeight = 128;
    info.subresource.sparseLevel.extentDepth = 1;
    info.memOperationType = memory ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = memory;
    info.deviceBitMask = 1;
    return info;
}

static CUarrayMapInfo tiles_of_level(CUmipmappedArray mipmap, unsigned level,
                                     CUmemGenericAllocationHandle memory) {
    CUarrayMapInfo info = tiles(NULL, memory);
    info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    info.resource.mipmap = mipmap;
    info.subresource.sparseLevel.level = level;
    return info;
}

/* Makes the box that large, in elements. */
static CUarrayMapInfo sized(CUarrayMapInfo info, unsigned width, unsigned height, unsigned depth) {
    info.subresource.sparseLevel.extentWidth = width;
    info.subresource.sparseLevel.extentHeight = height;
    info.subresource.sparseLevel.extentDepth = depth;
    return info;
}

/* Makes the place a tail. */
static CUarrayMapInfo as_tail(CUarrayMapInfo info, unsigned layer, unsigned long long offset,
                              unsigned long long size) {
    memset(&info.subresource, 0, sizeof info.subresource);
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    info.subresource.miptail.layer = layer;
    info.subresource.miptail.offset = offset;
    info.subresource.miptail.size = size;
    return info;
}

/* Maps in the legacy stream, which copies then follow. */
static CUresult map(CUarrayMapInfo info) {
    return cuMemMapArrayAsync(&info, 1, NULL);
}

/* ---- bytes ---- */

static CUDA_MEMCPY3D box(size_t x, size_t y, size_t z, size_t width, size_t height, size_t depth) {
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcXInBytes = x,
                           .srcY = y,
                           .srcZ = z,
                           .dstXInBytes = x,
                           .dstY = y,
                           .dstZ = z,
                           .WidthInBytes = width,
                           .Height = height,
                           .Depth = depth};
}

/* Fills a box with a byte; x and width are bytes. */
static CUresult fill(CUarray array, CUDA_MEMCPY3D copy, int byte) {
    const size_t size = copy.WidthInBytes * copy.Height * copy.Depth;
    char *bytes = malloc(size);
    if (!bytes)
        return CUDA_ERROR_UNKNOWN;
    memset(bytes, byte, size);
    copy.srcXInBytes = copy.srcY = copy.srcZ = 0;
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = bytes;
    copy.srcPitch = copy.WidthInBytes;
    copy.srcHeight = copy.Height;
    copy.dstArray = array;
    const CUresult result = cuMemcpy3D(&copy);
    free(bytes);
    return result;
}

/* Returns how many bytes of a box are that byte; -1 if it cannot be read. */
static long long count(CUarray array, CUDA_MEMCPY3D copy, int byte) {
    const size_t size = copy.WidthInBytes * copy.Height * copy.Depth;
    unsigned char *bytes = malloc(size);
    long long found = 0;
    if (!bytes)
        return -1;
    copy.dstXInBytes = copy.dstY = copy.dstZ = 0;
    copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = bytes;
    copy.dstPitch = copy.WidthInBytes;
    copy.dstHeight = copy.Height;
    memset(bytes, 0x77, size);
    if (cuMemcpy3D(&copy))
        found = -1;
    for (size_t i = 0; found >= 0 && i < size; i++)
        found += bytes[i] == byte;
    free(bytes);
    return found;
}

/* ---- what there is ---- */

CASE(are_supported) {
    int sparse = 0, deferred = 0;
    OK(cudaDeviceGetAttribute(&sparse, cudaDevAttrSparseCudaArraySupported, 0));
    OK(cudaDeviceGetAttribute(&deferred, cudaDevAttrDeferredMappingCudaArraySupported, 0));
    EQUAL(sparse, 1);
    EQUAL(deferred, 1);
    OK(cuDeviceGetAttribute(&sparse, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0));
    OK(cuDeviceGetAttribute(&deferred, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED,
                            0));
    EQUAL(sparse, 1);
    EQUAL(deferred, 1);
}

/* How arrays of one number of 32 bits are tiled, and how much they need where they are not. */
static const struct {
    size_t width, height, depth;
    unsigned flags, levels; /* 0 levels: an array */
    unsigned tile_width, tile_height, tile_depth, first;
    unsigned long long tail;
    unsigned tail_flags;
    size_t needed;
} shapes[] = {
    {1000, 1000, 0, 0, 0, 128, 128, 1, 0, 0, 0, 4128768},
    {64, 64, 0, 0, 0, 128, 128, 1, 0, 65536, 1, 65536},
    {100, 300, 0, 0, 0, 128, 128, 1, 0, 196608, 1, 196608},
    {300, 300, 3, LAYERED, 0, 128, 128, 1, 0, 0, 0, 1441792},
    {64, 64, 5, LAYERED, 0, 128, 128, 1, 0, 131072, 1, 131072},
    {128, 128, 64, 0, 0, 32, 32, 16, 0, 0, 0, 4194304},
    {20, 20, 20, 0, 0, 32, 32, 16, 0, 131072, 1, 131072},
    {300, 200, 40, 0, 0, 32, 32, 16, 0, 0, 0, 11730944},
    {1024, 1024, 0, 0, 11, 128, 128, 1, 4, 65536, 0, 5636096},
    {1024, 1024, 0, 0, 2, 128, 128, 1, 2, 0, 0, 5242880},
    {1000, 700, 0, 0, 10, 128, 128, 1, 3, 131072, 0, 4259840},
    {64, 64, 0, 0, 7, 128, 128, 1, 0, 65536, 1, 65536},
    {2048, 64, 0, 0, 12, 128, 128, 1, 0, 720896, 1, 720896},
    {512, 512, 3, LAYERED, 10, 128, 128, 1, 3, 65536, 0, 4259840},
    {64, 64, 3, LAYERED, 4, 128, 128, 1, 0, 131072, 1, 131072},
    {128, 128, 128, 0, 8, 32, 32, 16, 3, 65536, 0, 9633792},
    {300, 200, 40, 0, 9, 32, 32, 16, 2, 393216, 0, 14155776},
    {20, 20, 20, 0, 3, 32, 32, 16, 0, 131072, 1, 131072},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static CUresult ask_sparse(int i, CUDA_ARRAY_SPARSE_PROPERTIES *sparse) {
    CUarray array;
    CUmipmappedArray mipmap;
    CUresult result;
    if (!shapes[i].levels) {
        result = make(&array, U32, shapes[i].width, shapes[i].height, shapes[i].depth,
                      shapes[i].flags | SPARSE);
        result = result ? result : cuArrayGetSparseProperties(sparse, array);
        return result ? result : cuArrayDestroy(array);
    }
    result = make_mipmap(&mipmap, shapes[i].width, shapes[i].height, shapes[i].depth,
                         shapes[i].flags | SPARSE, shapes[i].levels);
    result = result ? result : cuMipmappedArrayGetSparseProperties(sparse, mipmap);
    return result ? result : cuMipmappedArrayDestroy(mipmap);
}

static CUresult ask_needs(int i, CUDA_ARRAY_MEMORY_REQUIREMENTS *needs) {
    CUarray array;
    CUmipmappedArray mipmap;
    CUresult result;
    if (!shapes[i].levels) {
        result = make(&array, U32, shapes[i].width, shapes[i].height, shapes[i].depth,
                      shapes[i].flags | DEFERRED);
        result = result ? result : cuArrayGetMemoryRequirements(needs, array, 0);
        return result ? result : cuArrayDestroy(array);
    }
    result = make_mipmap(&mipmap, shapes[i].width, shapes[i].height, shapes[i].depth,
                         shapes[i].flags | DEFERRED, shapes[i].levels);
    result = result ? result : cuMipmappedArrayGetMemoryRequirements(needs, mipmap, 0);
    return result ? result : cuMipmappedArrayDestroy(mipmap);
}

CASE(tiles_and_tails) {
    for (int i = 0; i < SHAPES; i++) {
        CUDA_ARRAY_SPARSE_PROPERTIES sparse;
        memset(&sparse, 0x5a, sizeof sparse);
        OK(ask_sparse(i, &sparse));
        EQUAL(sparse.tileExtent.width, shapes[i].tile_width);
        EQUAL(sparse.tileExtent.height, shapes[i].tile_height);
        EQUAL(sparse.tileExtent.depth, shapes[i].tile_depth);
        EQUAL(sparse.miptailFirstLevel, shapes[i].first);
        EQUAL(sparse.miptailSize, shapes[i].tail);
        EQUAL(sparse.flags, shapes[i].tail_flags);
        EQUAL(sparse.reserved[0], 0x5a5a5a5a); /* as it was */
    }
}

CASE(tiles_of_other_elements) {
    static const struct {
        struct cudaChannelFormatDesc format;
        unsigned width, height, depth; /* of an array of three dimensions */
        unsigned flat_width, flat_height;
    } formats[] = {{{8, 0, 0, 0, cudaChannelFormatKindUnsigned}, 64, 32, 32, 256, 256},
                   {{16, 0, 0, 0, cudaChannelFormatKindFloat}, 32, 32, 32, 256, 128},
                   {{16, 16, 16, 16, cudaChannelFormatKindSigned}, 32, 16, 16, 128, 64},
                   {{32, 32, 32, 32, cudaChannelFormatKindFloat}, 16, 16, 16, 64, 64}};
    for (int i = 0; i < 4; i++) {
        cudaArray_t array;
        struct cudaArraySparseProperties sparse;
        const struct cudaExtent flat = {600, 600, 0}, solid = {100, 100, 100};
        OK(cudaMalloc3DArray(&array, &formats[i].format, flat, cudaArraySparse));
        OK(cudaArrayGetSparseProperties(&sparse, array));
        EQUAL(sparse.tileExtent.width, formats[i].flat_width);
        EQUAL(sparse.tileExtent.height, formats[i].flat_height);
        EQUAL(sparse.tileExtent.depth, 1);
        OK(cudaFreeArray(array));
        OK(cudaMalloc3DArray(&array, &formats[i].format, solid, cudaArraySparse));
        OK(cudaArrayGetSparseProperties(&sparse, array));
        EQUAL(sparse.tileExtent.width, formats[i].width);
        EQUAL(sparse.tileExtent.height, formats[i].height);
        EQUAL(sparse.tileExtent.depth, formats[i].depth);
        OK(cudaFreeArray(array));
    }
}

/* Levels whose tail, layers and slices are placed in other ways, of several numbers. */
CASE(memory_of_other_elements) {
    static const struct {
        CUDA_ARRAY3D_DESCRIPTOR array;
        unsigned levels;
        unsigned long long tail;
        size_t needed;
    } others[] = {{{309, 606, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, 11, 196608, 393216},
                  {{256, 623, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, 3, 131072, 262144},
                  {{156, 353, 0, CU_AD_FORMAT_UNSIGNED_INT32, 2, 0}, 11, 196608, 720896},
                  {{305, 66, 9, CU_AD_FORMAT_UNSIGNED_INT32, 2, LAYERED}, 7, 131072, 3735552},
                  {{83, 583, 8, CU_AD_FORMAT_UNSIGNED_INT32, 4, LAYERED}, 10, 327680, 10027008},
                  {{109, 70, 4, CU_AD_FORMAT_UNSIGNED_INT32, 4, 0}, 11, 655360, 655360},
                  {{113, 55, 3, CU_AD_FORMAT_UNSIGNED_INT8, 2, 0}, 2, 65536, 65536}};
    OK(cudaFree(NULL));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CUDA_ARRAY3D_DESCRIPTOR d = others[i].array;
        CUDA_ARRAY_SPARSE_PROPERTIES sparse;
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
        CUmipmappedArray mipmap;
        d.Flags = others[i].array.Flags | SPARSE;
        OK(cuMipmappedArrayCreate(&mipmap, &d, others[i].levels));
        OK(cuMipmappedArrayGetSparseProperties(&sparse, mipmap));
        OK(cuMipmappedArrayDestroy(mipmap));
        EQUAL(sparse.miptailSize, others[i].tail);
        d.Flags = others[i].array.Flags | DEFERRED;
        OK(cuMipmappedArrayCreate(&mipmap, &d, others[i].levels));
        OK(cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0));
        OK(cuMipmappedArrayDestroy(mipmap));
        EQUAL(needs.size, others[i].needed);
    }
}

CASE(memory_of_deferred_arrays) {
    for (int i = 0; i < SHAPES; i++) {
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
        memset(&needs, 0x5a, sizeof needs);
        OK(ask_needs(i, &needs));
        EQUAL(needs.size, shapes[i].needed);
        EQUAL(needs.alignment, PIECE);
        EQUAL(needs.reserved[0], 0);
    }
}

CASE(which_arrays_are_sparse) {
    CUarray array;
    CUmipmappedArray mipmap;
    SAYS(CUDA_ERROR_INVALID_VALUE, make(&array, U32, 300, 0, 0, SPARSE));
    SAYS(CUDA_ERROR_INVALID_VALUE, make(&array, U32, 300, 0, 3, SPARSE | LAYERED));
    SAYS(CUDA_ERROR_INVALID_VALUE, make(&array, U32, 256, 256, 6, SPARSE | CUBE));
    SAYS(CUDA_ERROR_INVALID_VALUE, make(&array, U32, 256, 256, 12, SPARSE | CUBE | LAYERED));
    SAYS(CUDA_ERROR_INVALID_VALUE, make_mipmap(&mipmap, 256, 256, 6, SPARSE | CUBE, 9));
    SAYS(CUDA_ERROR_INVALID_VALUE, make_mipmap(&mipmap, 300, 0, 3, SPARSE | LAYERED, 3));
    OK(make(&array, U32, 256, 256, 6, DEFERRED | CUBE));
    OK(cuArrayDestroy(array));
    OK(make(&array, U32, 300, 0, 3, DEFERRED | LAYERED));
    OK(cuArrayDestroy(array));
}

CASE(who_can_be_asked) {
    CUDA_ARRAY_SPARSE_PROPERTIES sparse;
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
    CUarray tiled, deferred, plain, level;
    CUmipmappedArray mipmap;
    OK(make(&tiled, U32, 512, 512, 0, SPARSE));
    OK(make(&deferred, U32, 512, 512, 0, DEFERRED));
    OK(make(&plain, U32, 512, 512, 0, 0));
    OK(make_mipmap(&mipmap, 512, 512, 0, SPARSE, 10));
    OK(cuMipmappedArrayGetLevel(&level, mipmap, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayGetSparseProperties(&sparse, level));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayGetSparseProperties(&sparse, deferred));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayGetSparseProperties(&sparse, plain));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayGetSparseProperties(&sparse, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayGetSparseProperties(NULL, tiled));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayGetMemoryRequirements(&needs, tiled, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayGetMemoryRequirements(&needs, plain, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayGetMemoryRequirements(&needs, NULL, 0));
    OK(cuArrayGetMemoryRequirements(&needs, deferred, 99));
    OK(cuArrayDestroy(tiled));
    OK(cuArrayDestroy(deferred));
    OK(cuArrayDestroy(plain));
    OK(cuMipmappedArrayDestroy(mipmap));
}

/* ---- tiles ---- */

CASE(what_is_not_mapped_is_zero) {
    CUarray array, plain;
    OK(make(&array, U32, 512, 300, 0, SPARSE));
    OK(make(&plain, U32, 512, 300, 0, 0));
    EQUAL(count(array, box(0, 0, 0, 2048, 300, 1), 0), 2048 * 300);
    OK(fill(array, box(0, 0, 0, 2048, 300, 1), 0x33));
    EQUAL(count(array, box(0, 0, 0, 2048, 300, 1), 0), 2048 * 300);
    OK(fill(plain, box(0, 0, 0, 2048, 300, 1), 0x12));
    CUDA_MEMCPY3D copy = box(0, 0, 0, 2048, 300, 1);
    copy.srcArray = array;
    copy.dstArray = plain;
    OK(cuMemcpy3D(&copy));
    EQUAL(count(plain, box(0, 0, 0, 2048, 300, 1), 0), 2048 * 300);
    OK(cuArrayDestroy(array));
    OK(cuArrayDestroy(plain));
}

CASE(a_tile_is_mapped_and_unmapped) {
    CUarray array;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 512, 300, 0, SPARSE));
    CUarrayMapInfo info = tiles(array, memory);
    info.subresource.sparseLevel.offsetX = 128;
    OK(map(info));
    EQUAL(count(array, box(512, 0, 0, 512, 128, 1), 0), PIECE);
    OK(fill(array, box(0, 0, 0, 2048, 300, 1), 0x44));
    EQUAL(count(array, box(0, 0, 0, 2048, 300, 1), 0x44), PIECE);
    EQUAL(count(array, box(512, 0, 0, 512, 128, 1), 0x44), PIECE);
    CUarrayMapInfo unmap = info;
    unmap.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP; /* which does not look at the memory */
    OK(map(unmap));
    EQUAL(count(array, box(0, 0, 0, 2048, 300, 1), 0), 2048 * 300);
    OK(map(unmap));
    info.subresource.sparseLevel.offsetX = 256; /* the bytes are where the memory is */
    info.subresource.sparseLevel.offsetY = 128;
    OK(map(info));
    EQUAL(count(array, box(1024, 128, 0, 512, 128, 1), 0x44), PIECE);
    info.offset = PIECE;
    OK(map(info));
    EQUAL(count(array, box(1024, 128, 0, 512, 128, 1), 0), PIECE);
    OK(drop_both(array, memory));
}

/* Many tiles take the memory row by row; the last row of tiles ends with the array. */
CASE(many_tiles_are_mapped_at_once) {
    CUarray array, one;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 512, 300, 0, SPARSE));
    OK(make(&one, U32, 128, 128, 0, SPARSE));
    CUarrayMapInfo info = sized(tiles(array, memory), 512, 300, 1);
    OK(map(info));
    for (unsigned i = 0; i < 12; i++)
        OK(fill(array, box(i % 4 * 512, i / 4 * 128, 0, 512, i < 8 ? 128 : 44, 1), (int)i + 1));
    for (unsigned i = 0; i < 12; i++) {
        info = tiles(one, memory);
        info.offset = (unsigned long long)i * PIECE;
        OK(map(info));
        EQUAL(count(one, box(0, 0, 0, 512, i < 8 ? 128 : 44, 1), (int)i + 1),
              512 * (i < 8 ? 128 : 44));
    }
    OK(cuArrayDestroy(one));
    OK(drop_both(array, memory));
}

CASE(memory_is_mapped_to_several_arrays) {
    CUarray array, other, bytes;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 512, 300, 0, SPARSE));
    OK(make(&other, U32, 512, 512, 0, SPARSE));
    OK(make(&bytes, U8, 512, 512, 0, SPARSE));
    CUarrayMapInfo info = tiles(array, memory);
    OK(map(info));
    info.subresource.sparseLevel.offsetX = 256;
    OK(map(info));
    OK(map(tiles(other, memory)));
    info = sized(tiles(bytes, memory), 256, 256, 1);
    OK(map(info));
    OK(fill(array, box(0, 0, 0, 512, 128, 1), 0x55));
    EQUAL(count(array, box(1024, 0, 0, 512, 128, 1), 0x55), PIECE);
    EQUAL(count(other, box(0, 0, 0, 512, 128, 1), 0x55), PIECE);
    EQUAL(count(bytes, box(0, 0, 0, 256, 256, 1), 0x55), PIECE);
    OK(cuArrayDestroy(other));
    OK(cuArrayDestroy(bytes));
    OK(drop_both(array, memory));
}

/* Nothing is mapped if an entry is wrong. */
CASE(a_list_is_validated_as_a_whole) {
    CUarray array;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 512, 300, 0, SPARSE));
    CUarrayMapInfo list[2] = {tiles(array, memory), tiles(array, memory)};
    list[1].subresource.sparseLevel.offsetX = 64;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(list, 2, NULL));
    OK(fill(array, box(0, 0, 0, 512, 128, 1), 0x11));
    EQUAL(count(array, box(0, 0, 0, 512, 128, 1), 0), PIECE);
    list[1].subresource.sparseLevel.offsetX = 128;
    list[1].offset = PIECE;
    OK(cuMemMapArrayAsync(list, 2, NULL));
    OK(fill(array, box(0, 0, 0, 1024, 128, 1), 0x22));
    EQUAL(count(array, box(0, 0, 0, 1024, 128, 1), 0x22), 2 * PIECE);
    OK(drop_both(array, memory));
}

/* Arrays hold memory that was released, until they are destroyed or unmapped. */
CASE(memory_stays_as_long_as_it_is_mapped) {
    CUarray array;
    CUmemGenericAllocationHandle memory;
    CUmemAllocationProp properties;
    OK(make_both(&array, &memory, 512, 300, 0, SPARSE));
    OK(map(tiles(array, memory)));
    OK(fill(array, box(0, 0, 0, 512, 128, 1), 0x31));
    OK(cuMemRelease(memory));
    OK(cuMemGetAllocationPropertiesFromHandle(&properties, memory));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(memory));
    EQUAL(count(array, box(0, 0, 0, 512, 128, 1), 0x31), PIECE);
    OK(map(tiles(array, 0)));
    OK(cuCtxSynchronize());
    OK(make_pool(&memory));
    OK(map(tiles(array, memory)));
    OK(cuMemRelease(memory));
    OK(cuArrayDestroy(array));
}

/* Memory that is mapped to addresses keeps its handle, too, until it is unmapped. */
CASE(a_handle_is_known_as_long_as_memory_is_mapped) {
    CUmemGenericAllocationHandle memory;
    CUmemAllocationProp properties;
    CUdeviceptr at = 0;
    OK(make_memory(&memory, 0));
    OK(cuMemAddressReserve(&at, POOL, 0, 0, 0));
    OK(cuMemMap(at, POOL, 0, memory, 0));
    OK(cuMemRelease(memory));
    OK(cuMemGetAllocationPropertiesFromHandle(&properties, memory));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(memory));
    OK(cuMemUnmap(at, POOL));
    OK(cuMemAddressFree(at, POOL));
}

/* A level stays what it is. */
CASE(destroying_a_level_does_nothing) {
    const unsigned flags[] = {0, SPARSE};
    for (int i = 0; i < 2; i++) {
        CUmipmappedArray mipmap;
        CUarray level, same;
        CUDA_ARRAY3D_DESCRIPTOR d;
        OK(make_mipmap(&mipmap, 512, 512, 0, flags[i], 10));
        OK(cuMipmappedArrayGetLevel(&level, mipmap, 1));
        OK(cuArrayDestroy(level));
        OK(cuArrayDestroy(level));
        OK(cuArray3DGetDescriptor(&d, level));
        OK(cuMipmappedArrayGetLevel(&same, mipmap, 1));
        IS(same == level);
        IS(count(level, box(0, 0, 0, 64, 1, 1), 0x77) == 0);
        OK(cuMipmappedArrayDestroy(mipmap));
    }
}

/* ---- other shapes ---- */

CASE(tiles_of_layers) {
    CUarray array;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 256, 256, 3, SPARSE | LAYERED));
    CUarrayMapInfo info = tiles(array, memory);
    for (unsigned layer = 0; layer < 5; layer++) {
        info.subresource.sparseLevel.layer = layer;
        info.offset = (unsigned long long)layer * PIECE;
        SAYS(layer < 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, map(info));
    }
    info = tiles(array, memory);
    info.subresource.sparseLevel.offsetZ = 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info));
    info = tiles(array, memory);
    info.subresource.sparseLevel.extentDepth = 3;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info));
    OK(fill(array, box(0, 0, 0, 1024, 256, 3), 0x21));
    for (size_t layer = 0; layer < 3; layer++)
        EQUAL(count(array, box(0, 0, layer, 1024, 256, 1), 0x21), PIECE);
    OK(drop_both(array, memory));
}

CASE(tiles_of_slices) {
    CUarray array, one;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 64, 64, 64, SPARSE));
    OK(make(&one, U32, 32, 32, 16, SPARSE));
    CUarrayMapInfo info = sized(tiles(array, memory), 64, 64, 64);
    OK(map(info));
    for (unsigned i = 0; i < 16; i++)
        OK(fill(array, box(i % 2 * 128, i / 2 % 2 * 32, i / 4 * 16, 128, 32, 16), (int)i + 1));
    for (unsigned i = 0; i < 16; i++) {
        info = sized(tiles(one, memory), 32, 32, 16);
        info.offset = (unsigned long long)i * PIECE;
        OK(map(info));
        EQUAL(count(one, box(0, 0, 0, 128, 32, 16), (int)i + 1), PIECE);
    }
    info.subresource.sparseLevel.extentDepth = 8;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info));
    info.subresource.sparseLevel.extentDepth = 16;
    info.subresource.sparseLevel.offsetZ = 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info));
    OK(cuArrayDestroy(one));
    OK(drop_both(array, memory));
}

/* An array that is smaller than a tile has a tail only, also of all its layers. */
CASE(small_arrays_are_tails) {
    CUarray array, layered;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 64, 64, 0, SPARSE));
    OK(make(&layered, U32, 64, 64, 3, SPARSE | LAYERED));
    CUarrayMapInfo info = tiles(array, memory);
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info));
    info = sized(info, 64, 64, 1);
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 0, 0, 64 * 64 * 4)));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 1, 0, PIECE)));
    OK(map(as_tail(info, 0, 0, PIECE)));
    OK(fill(array, box(0, 0, 0, 256, 64, 1), 0x24));
    EQUAL(count(array, box(0, 0, 0, 256, 64, 1), 0x24), 256 * 64);
    info = tiles(layered, memory);
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 1, 0, PIECE)));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 0, PIECE, PIECE)));
    OK(map(as_tail(info, 0, 0, PIECE)));
    OK(fill(layered, box(0, 0, 0, 256, 64, 3), 0x22));
    EQUAL(count(layered, box(0, 0, 0, 256, 64, 3), 0x22), 256 * 64 * 3);
    OK(cuArrayDestroy(layered));
    OK(drop_both(array, memory));
}

CASE(levels_are_tiles_or_in_the_tail) {
    CUmipmappedArray mipmap;
    CUmemGenericAllocationHandle memory;
    OK(make_mipmap(&mipmap, 512, 512, 0, SPARSE, 10));
    OK(make_pool(&memory));
    for (unsigned level = 0; level < 11; level++) {
        CUarrayMapInfo info = tiles_of_level(mipmap, level, memory);
        info.offset = (unsigned long long)level * PIECE;
        SAYS(level < 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, map(info));
    }
    CUarrayMapInfo info = tiles_of_level(mipmap, 0, memory);
    info.offset = MIB;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 1, 0, PIECE)));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 0, 0, 4096)));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 0, 0, 0)));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 0, 4096, PIECE)));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 0, PIECE, PIECE)));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 0, 0, 2LL * PIECE)));
    OK(map(as_tail(info, 0, 0, PIECE)));
    for (unsigned level = 0; level < 10; level++) {
        CUarray array;
        OK(cuMipmappedArrayGetLevel(&array, mipmap, level));
        OK(fill(array, box(0, 0, 0, 2048 >> level, 512 >> level, 1), (int)level + 1));
    }
    for (unsigned level = 0; level < 10; level++) {
        CUarray array;
        const size_t side = 512 >> level;
        OK(cuMipmappedArrayGetLevel(&array, mipmap, level));
        EQUAL(count(array, box(0, 0, 0, side * 4, side, 1), (int)level + 1),
              level < 3 ? PIECE : side * side * 4);
    }
    OK(cuMipmappedArrayDestroy(mipmap));
    OK(cuMemRelease(memory));
}

CASE(each_layer_of_a_mipmap_has_a_tail) {
    CUmipmappedArray mipmap;
    CUmemGenericAllocationHandle memory;
    OK(make_mipmap(&mipmap, 256, 256, 3, SPARSE | LAYERED, 9));
    OK(make_pool(&memory));
    CUarrayMapInfo info = tiles_of_level(mipmap, 0, memory);
    for (unsigned layer = 0; layer < 4; layer++) {
        info.offset = (unsigned long long)layer * PIECE;
        SAYS(layer < 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
             map(as_tail(info, layer, 0, PIECE)));
    }
    SAYS(CUDA_ERROR_INVALID_VALUE, map(as_tail(info, 0, 0, 3LL * PIECE)));
    for (unsigned level = 2; level < 9; level++) {
        CUarray array;
        const size_t side = 256 >> level;
        OK(cuMipmappedArrayGetLevel(&array, mipmap, level));
        OK(fill(array, box(0, 0, 0, side * 4, side, 3), (int)level + 1));
        EQUAL(count(array, box(0, 0, 0, side * 4, side, 3), (int)level + 1), side * side * 4 * 3);
    }
    OK(cuMipmappedArrayDestroy(mipmap));
    OK(cuMemRelease(memory));
}

/* ---- deferred mapping ---- */

/* Such an array is mapped as a whole; what says which part is not looked at. */
CASE(a_deferred_array_is_mapped) {
    CUarray array;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 512, 512, 0, DEFERRED));
    CUarrayMapInfo info = tiles(array, memory);
    info.subresourceType = (CUarraySparseSubresourceType)7;
    info.subresource.sparseLevel.level = 77;
    OK(map(info));
    OK(fill(array, box(0, 0, 0, 2048, 512, 1), 0x25));
    EQUAL(count(array, box(0, 0, 0, 2048, 512, 1), 0x25), MIB);
    info.offset = MIB;
    OK(map(info));
    EQUAL(count(array, box(0, 0, 0, 2048, 512, 1), 0), MIB);
    OK(map(tiles(array, 0)));
    OK(map(tiles(array, 0)));
    OK(map(tiles(array, memory)));
    OK(cuMemRelease(memory));
    EQUAL(count(array, box(0, 0, 0, 2048, 512, 1), 0x25), MIB);
    OK(cuArrayDestroy(array));
}

CASE(deferred_arrays_of_other_shapes) {
    CUarray line, layers, solid, level;
    CUmipmappedArray mipmap;
    CUmemGenericAllocationHandle memory;
    OK(make(&line, U32, 512, 0, 0, DEFERRED));
    OK(make(&layers, U32, 512, 0, 3, DEFERRED | LAYERED));
    OK(make(&solid, U32, 16, 16, 16, DEFERRED | CUDA_ARRAY3D_SURFACE_LDST));
    OK(make_mipmap(&mipmap, 256, 256, 0, DEFERRED, 9));
    OK(make_pool(&memory));
    OK(map(tiles(line, memory)));
    OK(fill(line, box(0, 0, 0, 2048, 1, 1), 0x28));
    EQUAL(count(line, box(0, 0, 0, 2048, 1, 1), 0x28), 2048);
    CUarrayMapInfo info = tiles(layers, memory);
    info.offset = MIB;
    OK(map(info));
    OK(fill(layers, box(0, 0, 0, 2048, 1, 3), 0x29));
    EQUAL(count(layers, box(0, 0, 0, 2048, 1, 3), 0x29), 2048 * 3);
    info.resource.array = solid;
    OK(map(info));
    OK(cuMipmappedArrayGetLevel(&level, mipmap, 2));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(tiles(level, memory)));
    info = tiles_of_level(mipmap, 77, memory);
    info.offset = 2 * MIB;
    OK(map(info));
    OK(fill(level, box(0, 0, 0, 256, 64, 1), 0x27));
    EQUAL(count(level, box(0, 0, 0, 256, 64, 1), 0x27), 256 * 64);
    OK(cuArrayDestroy(line));
    OK(cuArrayDestroy(layers));
    OK(cuArrayDestroy(solid));
    OK(cuMipmappedArrayDestroy(mipmap));
    OK(cuMemRelease(memory));
}

CASE(memory_that_a_deferred_array_does_not_take) {
    CUarray array;
    CUmemGenericAllocationHandle memory, plain;
    OK(make_both(&array, &memory, 512, 512, 0, DEFERRED));
    OK(make_memory(&plain, 0));
    CUarrayMapInfo info = tiles(array, memory);
    info.offset = POOL;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info));
    info.offset = POOL - PIECE;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info));
    info.offset = 4096;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info));
    SAYS(CUDA_ERROR_INVALID_VALUE, map(tiles(array, plain)));
    OK(drop_both(array, memory));
    OK(cuMemRelease(plain));
}

LONE_CASE(an_unmapped_deferred_array_is_a_fault) {
    CUarray array;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 512, 512, 0, DEFERRED));
    OK(map(tiles(array, memory)));
    OK(fill(array, box(0, 0, 0, 2048, 512, 1), 0x26));
    OK(map(tiles(array, 0)));
    OK(cuCtxSynchronize());
    OK(fill(array, box(0, 0, 0, 2048, 512, 1), 0x26)); /* returns once it read the host's memory */
    SAYS(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
}

/* ---- what is refused ---- */

#define WITH(change)                                                                               \
    do {                                                                                           \
        CUarrayMapInfo info = tiles(array, memory);                                                \
        change;                                                                                    \
        SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(&info, 1, NULL));                        \
    } while (0)

CASE(wrong_entries) {
    CUarray array, plain;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 512, 300, 0, SPARSE));
    OK(make(&plain, U32, 512, 300, 0, 0));
    WITH(info.reserved[0] = 1);
    WITH(info.reserved[1] = 1);
    WITH(info.flags = 1);
    WITH(info.resourceType = CU_RESOURCE_TYPE_LINEAR);
    WITH(info.resource.array = NULL);
    WITH(info.resource.array = plain);
    WITH(info.subresourceType = (CUarraySparseSubresourceType)2);
    WITH(info = as_tail(info, 0, 0, PIECE));
    WITH(info.subresource.sparseLevel.extentWidth = 0xffffff80);
    WITH(info.subresource.sparseLevel.offsetX = 128;
         info.subresource.sparseLevel.extentWidth = 0xffffff80);
    WITH(info.memOperationType = (CUmemOperationType)0);
    WITH(info.memOperationType = (CUmemOperationType)3);
    WITH(info.memHandleType = (CUmemHandleType)1);
    WITH(info.deviceBitMask = 0);
    WITH(info.deviceBitMask = 3);
    WITH(info.deviceBitMask = 0x80000000);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(NULL, 1, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(NULL, 0, NULL));
    CUarrayMapInfo info = tiles(array, memory);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(&info, 0, NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuMemMapArrayAsync(&info, 1, (CUstream)(void *)&info));
    OK(cuArrayDestroy(plain));
    OK(drop_both(array, memory));
}

/* Memory is of a device or of the host, but not of the thread's current place. */
CASE(places_that_memory_cannot_have) {
    const int places[] = {CU_MEM_LOCATION_TYPE_INVALID, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT};
    OK(cudaFree(NULL));
    for (int i = 0; i < 4; i++) {
        CUmemGenericAllocationHandle memory;
        CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = (CUmemLocationType)places[i % 2]}};
        p.allocFlags.usage = i / 2 ? CU_MEM_CREATE_USAGE_TILE_POOL : 0;
        SAYS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&memory, POOL, &p, 0));
    }
}

/* CUDA adds sizes to offsets with 32 and 64 bits, and does not see that the sum comes around. To
 * unmap, it does not look at memory. */
CASE(entries_that_are_not_seen_to_be_wrong) {
    CUarray array;
    CUmemGenericAllocationHandle memory;
    OK(make_both(&array, &memory, 512, 300, 0, SPARSE));
    CUarrayMapInfo info = tiles(array, memory);
    info.subresource.sparseLevel.offsetX = 0xffffff80;
    OK(map(info));
    info = tiles(array, memory);
    info.offset = ~0ULL << 16;
    OK(map(info));
    info = tiles(array, 0);
    info.memHandleType = (CUmemHandleType)1;
    info.offset = 4096;
    OK(map(info));
    OK(cuCtxSynchronize());
    OK(drop_both(array, memory));
}

/* Memory for tiles cannot be mapped to addresses, and its properties do not say what it is for. */
CASE(memory_for_tiles) {
    CUmemGenericAllocationHandle memory;
    CUmemAllocationProp properties;
    CUdeviceptr at = 0;
    OK(make_pool(&memory));
    OK(cuMemGetAllocationPropertiesFromHandle(&properties, memory));
    EQUAL(properties.allocFlags.usage, 0);
    OK(cuMemAddressReserve(&at, POOL, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, POOL, 0, memory, 0));
    OK(cuMemAddressFree(at, POOL));
    OK(cuMemRelease(memory));
}

/* No capture takes it; other streams may capture. */
CASE(mapping_is_not_captured) {
    CUarray array;
    CUmemGenericAllocationHandle memory;
    CUstream stream, other;
    CUgraph graph = NULL;
    CUstreamCaptureStatus status;
    OK(make_both(&array, &memory, 512, 300, 0, SPARSE));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    CUarrayMapInfo info = tiles(array, memory);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemMapArrayAsync(&info, 1, stream));
    OK(cuStreamIsCapturing(stream, &status));
    EQUAL(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(NULL, 1, stream));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    info.reserved[0] = 1; /* which is looked at later */
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemMapArrayAsync(&info, 1, stream));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    info.reserved[0] = 0;
    OK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemMapArrayAsync(&info, 1, stream));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemMapArrayAsync(&info, 1, NULL));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(other, &graph));
    OK(cuStreamDestroy(stream));
    OK(cuStreamDestroy(other));
    OK(drop_both(array, memory));
}

/* Mapping is work of its stream. */
CASE(mapping_is_in_the_order_of_its_stream) {
    CUarray array;
    CUmemGenericAllocationHandle memory;
    CUstream stream;
    OK(make_both(&array, &memory, 512, 300, 0, SPARSE));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUarrayMapInfo info = tiles(array, memory);
    hold(stream);
    OK(cuMemMapArrayAsync(&info, 1, stream));
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    OK(fill(array, box(0, 0, 0, 512, 128, 1), 0x41));
    EQUAL(count(array, box(0, 0, 0, 512, 128, 1), 0), PIECE);
    let_go();
    OK(cuStreamSynchronize(stream));
    OK(fill(array, box(0, 0, 0, 512, 128, 1), 0x42));
    EQUAL(count(array, box(0, 0, 0, 512, 128, 1), 0x42), PIECE);
    OK(cuStreamDestroy(stream));
    OK(drop_both(array, memory));
}

/* A texture can be made before memory is mapped. */
CASE(textures_of_mapped_arrays) {
    cudaArray_t array;
    cudaTextureObject_t texture;
    const struct cudaChannelFormatDesc whole = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};
    const struct cudaExtent extent = {512, 512, 0};
    const unsigned flags[] = {cudaArraySparse, cudaArrayDeferredMapping};
    struct cudaResourceDesc what = {.resType = cudaResourceTypeArray};
    const struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
    for (int i = 0; i < 2; i++) {
        OK(cudaMalloc3DArray(&array, &whole, extent, flags[i]));
        what.res.array.array = array;
        OK(cudaCreateTextureObject(&texture, &what, &how, NULL));
        OK(cudaDestroyTextureObject(texture));
        OK(cudaFreeArray(array));
    }
}
