/* Mipmapped arrays, planes, textures and surfaces. */
#include "fuzz.h"

static struct cudaChannelFormatDesc any_element(void) {
    return (struct cudaChannelFormatDesc){ONE_OF(8, 32, 32, 16, 7, 0), ONE_OF(0, 0, 8, 32), 0, 0,
                                          (enum cudaChannelFormatKind)ONE_OF(0, 1, 1, 2, 3)};
}

/* ---- mipmapped arrays ---- */

static void create_mipmap(void) {
    object *o = empty(MIPMAP);
    cudaMipmappedArray_t made = UNWRITTEN;
    const struct cudaChannelFormatDesc element = any_element();
    const struct cudaExtent extent = {(size_t)ONE_OF(0, 1, 16, 64), (size_t)ONE_OF(0, 1, 16, 16),
                                      (size_t)ONE_OF(0, 0, 0, 4, 6)};
    const unsigned levels = (unsigned)ONE_OF(0, 1, 2, 3, 5, 100),
                   flags = (unsigned)ONE_OF(0, 0, 0, 1, 2, 4, 8);
    if (!o)
        return;
    call("cudaMallocMipmappedArray({%d, %d, %d}, {%zu, %zu, %zu}, %u, %u)", element.x, element.y,
         (int)element.f, extent.width, extent.height, extent.depth, levels, flags);
    const cudaError_t result = cudaMallocMipmappedArray(&made, &element, extent, levels, flags);
    if (!result && made != UNWRITTEN)
        o->handle = made;
    answer(result, "%s", o->handle ? name(o) : handle_state(made));
}

/* A level may become an array of the program, which then is there for good. */
static void get_level(void) {
    object *mipmap = any(MIPMAP), *o = one_in(3) ? empty(ARRAY) : NULL;
    cudaArray_t level = UNWRITTEN;
    const unsigned wanted = (unsigned)ONE_OF(0, 0, 1, 1, 2, 4, 100);
    struct cudaExtent extent = {7, 7, 7};
    if (!mipmap->handle)
        return;
    call("cudaGetMipmappedArrayLevel(%s, %u)", name(mipmap), wanted);
    const cudaError_t result = cudaGetMipmappedArrayLevel(&level, mipmap->handle, wanted);
    answer(result, "%s", handle_state(level));
    if (result || !level || level == UNWRITTEN)
        return;
    call("cudaArrayGetInfo(level)");
    const cudaError_t second = cudaArrayGetInfo(NULL, &extent, NULL, level);
    answer(second, "%zu %zu %zu", extent.width, extent.height, extent.depth);
    if (o) {
        o->handle = level;
        o->size = extent.width;
        o->is_used = mipmap->is_used = true;
    }
}

static void destroy_mipmap(void) {
    object *o = unused(MIPMAP);
    if (!o || !o->handle)
        return;
    call("cudaFreeMipmappedArray(%s)", name(o));
    void *handle = o->handle;
    o->handle = NULL;
    answer(cudaFreeMipmappedArray(handle), "%s", "");
}

/* ---- what arrays are made of ---- */

/* An array of two planes, which lives for these calls only. */
static void planes(void) {
    const struct cudaChannelFormatDesc element = {8, 8, 8, 0, cudaChannelFormatKindNV12};
    const size_t width = (size_t)ONE_OF(64, 64, 63), height = (size_t)ONE_OF(64, 32, 0);
    const unsigned wanted = (unsigned)ONE_OF(0, 1, 1, 2, 7);
    cudaArray_t made = UNWRITTEN, plane = UNWRITTEN;
    call("cudaMallocArray(NV12, %zu, %zu)", width, height);
    const cudaError_t result = cudaMallocArray(&made, &element, width, height, 0);
    answer(result, "%s", handle_state(made));
    if (result || !made || made == UNWRITTEN)
        return;
    call("cudaArrayGetPlane(%u)", wanted);
    const cudaError_t second = cudaArrayGetPlane(&plane, made, wanted);
    answer(second, "%s", handle_state(plane));
    call("cudaFreeArray(it)");
    answer(cudaFreeArray(made), "%s", "");
}

static void plane_of_array(void) {
    const object *o = any(ARRAY);
    cudaArray_t plane = UNWRITTEN;
    const unsigned wanted = below(2);
    if (!o->handle)
        return;
    call("cudaArrayGetPlane(%s, %u)", name(o), wanted);
    const cudaError_t result = cudaArrayGetPlane(&plane, o->handle, wanted);
    answer(result, "%s", handle_state(plane));
}

static void ask_requirements(const char *array_name, cudaArray_t array) {
    struct cudaArrayMemoryRequirements needs = {.size = 7};
    struct cudaArraySparseProperties sparse = {.miptailSize = 7, .flags = 77};
    if (one_in(2)) {
        const int device = any_device();
        call("cudaArrayGetMemoryRequirements(%s, %d)", array_name, device);
        const cudaError_t result = cudaArrayGetMemoryRequirements(&needs, array, device);
        answer(result, "%s", needs.size == 7 ? "same" : "written");
    } else {
        call("cudaArrayGetSparseProperties(%s)", array_name);
        const cudaError_t result = cudaArrayGetSparseProperties(&sparse, array);
        answer(result, "%s", sparse.flags == 77 ? "same" : "written");
    }
}

static void requirements(void) {
    const object *o = any(ARRAY), *mipmap = any(MIPMAP);
    struct cudaArrayMemoryRequirements needs = {.size = 7};
    struct cudaArraySparseProperties sparse = {.flags = 77};
    const int device = any_device();
    switch (below(4)) {
    case 0:
        if (!mipmap->handle)
            return;
        call("cudaMipmappedArrayGetMemoryRequirements(%s, %d)", name(mipmap), device);
        const cudaError_t needed =
            cudaMipmappedArrayGetMemoryRequirements(&needs, mipmap->handle, device);
        answer(needed, "%s", needs.size == 7 ? "same" : "written");
        break;
    case 1:
        if (!mipmap->handle)
            return;
        call("cudaMipmappedArrayGetSparseProperties(%s)", name(mipmap));
        const cudaError_t result = cudaMipmappedArrayGetSparseProperties(&sparse, mipmap->handle);
        answer(result, "%s", sparse.flags == 77 ? "same" : "written");
        break;
    default:
        if (o->handle)
            ask_requirements(name(o), o->handle);
    }
}

/* An array without memory of its own, which nobody may use before memory is mapped. */
static void unmapped_array(void) {
    const struct cudaChannelFormatDesc element = {ONE_OF(8, 32), 0, 0, 0,
                                                  cudaChannelFormatKindUnsigned};
    const struct cudaExtent extent = {(size_t)ONE_OF(1, 64, 256), (size_t)ONE_OF(0, 64), 0};
    const unsigned flags = (unsigned)ONE_OF(cudaArraySparse, cudaArrayDeferredMapping,
                                            cudaArraySparse | cudaArrayDeferredMapping);
    cudaArray_t made = UNWRITTEN;
    call("cudaMalloc3DArray({%d}, {%zu, %zu, 0}, %u)", element.x, extent.width, extent.height,
         flags);
    const cudaError_t result = cudaMalloc3DArray(&made, &element, extent, flags);
    answer(result, "%s", handle_state(made));
    if (result || !made || made == UNWRITTEN)
        return;
    ask_requirements("it", made);
    call("cudaFreeArray(it)");
    answer(cudaFreeArray(made), "%s", "");
}

/* A tile of a sparse array, or all of one with deferred mapping, and what to do there; sometimes
 * something is wrong. */
static CUarrayMapInfo any_mapping(CUarray array, bool sparse, CUmemGenericAllocationHandle memory) {
    CUarrayMapInfo info;
    const unsigned wrong = one_in(3) ? below(10) : 10;
    memset(&info, 0, sizeof info);
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    if (sparse) {
        info.subresource.sparseLevel.offsetX =
            (unsigned)(wrong == 0 ? ONE_OF(64, 256) : ONE_OF(0, 128));
        info.subresource.sparseLevel.offsetY =
            (unsigned)(wrong == 1 ? ONE_OF(1, 256) : ONE_OF(0, 128));
        info.subresource.sparseLevel.extentWidth =
            (unsigned)(wrong == 2 ? ONE_OF(0, 64, 256) : 128);
        info.subresource.sparseLevel.extentHeight =
            (unsigned)(wrong == 3 ? ONE_OF(0, 64, 256) : 128);
        info.subresource.sparseLevel.extentDepth = (unsigned)(wrong == 4 ? ONE_OF(0, 2) : 1);
        info.subresource.sparseLevel.level = wrong == 5;
        info.subresource.sparseLevel.layer = wrong == 6;
    }
    info.memOperationType = (CUmemOperationType)(wrong == 7 ? ONE_OF(0, 7) : ONE_OF(1, 1, 2));
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = memory;
    info.offset = (unsigned long long)(wrong == 8 ? ONE_OF(1, 1 << 22) : ONE_OF(0, 0, 65536));
    info.deviceBitMask = (unsigned)(wrong == 9 ? ONE_OF(0, 2) : 1);
    return info;
}

static void print_bytes(CUarray array, unsigned x) {
    unsigned in = 0x01020304, out = 7;
    CUDA_MEMCPY3D box;
    memset(&box, 0, sizeof box);
    box.srcMemoryType = CU_MEMORYTYPE_HOST;
    box.srcHost = &in;
    box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    box.dstArray = array;
    box.dstXInBytes = x * sizeof in;
    box.WidthInBytes = sizeof in;
    box.Height = box.Depth = 1;
    call("cuMemcpy3D(it at %u)", x);
    CUresult result = cuMemcpy3D(&box);
    memset(&box, 0, sizeof box);
    box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    box.srcArray = array;
    box.srcXInBytes = x * sizeof in;
    box.dstMemoryType = CU_MEMORYTYPE_HOST;
    box.dstHost = &out;
    box.WidthInBytes = sizeof out;
    box.Height = box.Depth = 1;
    result = result ? result : cuMemcpy3D(&box);
    answer(result, "%x", out);
}

/* Maps memory to an array; what no memory is mapped to is read only where the array is sparse. */
static void mapped_array(void) {
    const bool sparse = one_in(2);
    const CUDA_ARRAY3D_DESCRIPTOR shape = {
        256, 256,
        0,   CU_AD_FORMAT_UNSIGNED_INT32,
        1,   sparse ? CUDA_ARRAY3D_SPARSE : CUDA_ARRAY3D_DEFERRED_MAPPING};
    CUmemAllocationProp properties;
    CUmemGenericAllocationHandle memory = 0;
    CUarray array = NULL;
    memset(&properties, 0, sizeof properties);
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.allocFlags.usage = sparse != one_in(6) ? CU_MEM_CREATE_USAGE_TILE_POOL : 0;
    call("cuArray3DCreate({256, 256}, %s)", sparse ? "sparse" : "deferred");
    CUresult result = cuArray3DCreate(&array, &shape);
    answer(result, "%s", array ? "new" : "NULL");
    if (result)
        return;
    call("cuMemCreate(4 MiB, %d)", (int)properties.allocFlags.usage);
    result = cuMemCreate(&memory, 4 * MIB, &properties, 0);
    answer(result, "%s", memory ? "new" : "0");
    for (unsigned i = below(4); memory && i; i--) {
        const chosen_stream s = any_stream();
        CUarrayMapInfo info = any_mapping(array, sparse, memory);
        const unsigned count = one_in(12) ? 0 : 1;
        call("cuMemMapArrayAsync({%u %u, %u %u %u, %u %u, %d, %llu, %u}, %u, %s)",
             info.subresource.sparseLevel.offsetX, info.subresource.sparseLevel.offsetY,
             info.subresource.sparseLevel.extentWidth, info.subresource.sparseLevel.extentHeight,
             info.subresource.sparseLevel.extentDepth, info.subresource.sparseLevel.level,
             info.subresource.sparseLevel.layer, (int)info.memOperationType, info.offset,
             info.deviceBitMask, count, s.name);
        answer(cuMemMapArrayAsync(&info, count, s.handle), "%s", "");
        settle(s);
    }
    if (sparse)
        print_bytes(array, (unsigned)ONE_OF(0, 100, 130));
    call("cuArrayDestroy(it)");
    answer(cuArrayDestroy(array), "%s", "");
    call("cuMemRelease(it)");
    answer(memory ? cuMemRelease(memory) : CUDA_SUCCESS, "%s", "");
}

/* ---- textures and surfaces ---- */

typedef struct resource {
    struct cudaResourceDesc values;
    object *object;
    char name[24];
} resource;

static void use_memory(resource *r, place p) {
    r->object = p.object;
    (void)strcpy(r->name, p.name);
    if (r->values.resType == cudaResourceTypeLinear) {
        r->values.res.linear.devPtr = p.address;
        r->values.res.linear.desc = any_element();
        r->values.res.linear.sizeInBytes = (size_t)ONE_OF(0, 1, 64, 64, 96);
    } else {
        r->values.res.pitch2D.devPtr = p.address;
        r->values.res.pitch2D.desc = any_element();
        r->values.res.pitch2D.width = (size_t)ONE_OF(0, 1, 16, 16);
        r->values.res.pitch2D.height = (size_t)ONE_OF(0, 1, 2, 4);
        r->values.res.pitch2D.pitchInBytes = (size_t)ONE_OF(32, 64, 512, 512, 63);
    }
}

/* Something to read or write through a texture or a surface; its object is NULL if there is no
 * such thing. */
static resource any_resource(void) {
    resource r;
    memset(&r, 0, sizeof r);
    r.values.resType = (enum cudaResourceType)ONE_OF(0, 0, 0, 1, 1, 2, 2, 3);
    if (r.values.resType == cudaResourceTypeArray) {
        r.object = any(ARRAY);
        r.values.res.array.array = r.object->handle;
    } else if (r.values.resType == cudaResourceTypeMipmappedArray) {
        r.object = any(MIPMAP);
        r.values.res.mipmap.mipmap = r.object->handle;
    } else {
        use_memory(&r, any_place());
        return r;
    }
    (void)strcpy(r.name, name(r.object));
    if (!r.object->handle)
        r.object = NULL;
    return r;
}

static struct cudaTextureDesc any_sampling(void) {
    struct cudaTextureDesc d;
    memset(&d, 0, sizeof d);
    for (int i = 0; i < 3; i++)
        d.addressMode[i] = (enum cudaTextureAddressMode)ONE_OF(0, 1, 1, 2, 3, 9);
    d.filterMode = (enum cudaTextureFilterMode)ONE_OF(0, 0, 1, 5);
    d.readMode = (enum cudaTextureReadMode)ONE_OF(0, 0, 1, 5);
    d.normalizedCoords = ONE_OF(0, 1);
    d.maxAnisotropy = (unsigned)ONE_OF(0, 0, 1, 16, 100);
    d.mipmapFilterMode = (enum cudaTextureFilterMode)ONE_OF(0, 0, 1);
    d.maxMipmapLevelClamp = (float)ONE_OF(0, 1, 8);
    return d;
}

static void create_texture(void) {
    object *o = empty(TEXTURE);
    const resource r = any_resource();
    const struct cudaTextureDesc d = any_sampling();
    struct cudaResourceViewDesc view;
    const bool has_view = one_in(5);
    cudaTextureObject_t made = (cudaTextureObject_t)(uintptr_t)UNWRITTEN;
    if (!o || !r.object)
        return;
    memset(&view, 0, sizeof view);
    view.format = (enum cudaResourceViewFormat)ONE_OF(0, 1, 21, 100);
    view.width = (size_t)ONE_OF(0, 16, 64);
    view.height = (size_t)ONE_OF(0, 16);
    call("cudaCreateTextureObject({%d, %s}, {%d %d %d, %d, %d, %d, %u}, %s %d %zu %zu)",
         (int)r.values.resType, r.name, (int)d.addressMode[0], (int)d.addressMode[1],
         (int)d.addressMode[2], (int)d.filterMode, (int)d.readMode, d.normalizedCoords,
         d.maxAnisotropy, has_view ? "view" : "NULL", (int)view.format, view.width, view.height);
    const cudaError_t result =
        cudaCreateTextureObject(&made, &r.values, &d, has_view ? &view : NULL);
    const char *state = handle_state((const void *)(uintptr_t)made);
    if (!result && made != (cudaTextureObject_t)(uintptr_t)UNWRITTEN) {
        o->handle = (void *)(uintptr_t)made;
        r.object->is_used = true;
    }
    answer(result, "%s", state);
}

static void ask_texture(void) {
    const object *o = any(TEXTURE);
    const cudaTextureObject_t texture = (cudaTextureObject_t)(uintptr_t)o->handle;
    struct cudaResourceDesc got;
    struct cudaTextureDesc d;
    struct cudaResourceViewDesc view;
    memset(&got, 0x5a, sizeof got);
    memset(&d, 0x5a, sizeof d);
    memset(&view, 0x5a, sizeof view);
    switch (below(3)) {
    case 0: {
        call("cudaGetTextureObjectResourceDesc(%s)", name(o));
        const cudaError_t result = cudaGetTextureObjectResourceDesc(&got, texture);
        answer(result, "%d", (int)got.resType);
        break;
    }
    case 1: {
        call("cudaGetTextureObjectTextureDesc(%s)", name(o));
        const cudaError_t result = cudaGetTextureObjectTextureDesc(&d, texture);
        answer(result, "%d %d %d %d %u", (int)d.addressMode[0], (int)d.filterMode, (int)d.readMode,
               d.normalizedCoords, d.maxAnisotropy);
        break;
    }
    default: {
        call("cudaGetTextureObjectResourceViewDesc(%s)", name(o));
        const cudaError_t result = cudaGetTextureObjectResourceViewDesc(&view, texture);
        answer(result, "%s", ""); /* without a view CUDA writes what it finds */
    }
    }
}

static void destroy_texture(void) {
    object *o = any(TEXTURE);
    const cudaTextureObject_t texture = (cudaTextureObject_t)(uintptr_t)o->handle;
    call("cudaDestroyTextureObject(%s)", name(o));
    o->handle = NULL;
    answer(cudaDestroyTextureObject(texture), "%s", "");
}

static void create_surface(void) {
    object *o = empty(SURFACE);
    const resource r = any_resource();
    cudaSurfaceObject_t made = (cudaSurfaceObject_t)(uintptr_t)UNWRITTEN;
    if (!o || !r.object)
        return;
    call("cudaCreateSurfaceObject({%d, %s})", (int)r.values.resType, r.name);
    const cudaError_t result = cudaCreateSurfaceObject(&made, &r.values);
    const char *state = handle_state((const void *)(uintptr_t)made);
    if (!result && made != (cudaSurfaceObject_t)(uintptr_t)UNWRITTEN) {
        o->handle = (void *)(uintptr_t)made;
        r.object->is_used = true;
    }
    answer(result, "%s", state);
}

static void surface(void) {
    object *o = any(SURFACE);
    const cudaSurfaceObject_t handle = (cudaSurfaceObject_t)(uintptr_t)o->handle;
    struct cudaResourceDesc got;
    if (one_in(2)) {
        memset(&got, 0x5a, sizeof got);
        call("cudaGetSurfaceObjectResourceDesc(%s)", name(o));
        const cudaError_t result = cudaGetSurfaceObjectResourceDesc(&got, handle);
        answer(result, "%d", (int)got.resType);
    } else {
        call("cudaDestroySurfaceObject(%s)", name(o));
        o->handle = NULL;
        answer(cudaDestroySurfaceObject(handle), "%s", "");
    }
}

const operation texture_operations[] = {
    OPERATION(create_mipmap, 2, true),    OPERATION(get_level, 3, false),
    OPERATION(destroy_mipmap, 1, false),  OPERATION(planes, 1, false),
    OPERATION(plane_of_array, 1, false),  OPERATION(requirements, 2, false),
    OPERATION(unmapped_array, 1, false),  OPERATION(mapped_array, 2, false),
    OPERATION(create_texture, 6, false),  OPERATION(ask_texture, 4, false),
    OPERATION(destroy_texture, 2, false), OPERATION(create_surface, 3, false),
    OPERATION(surface, 3, false),         OPERATION(NULL, 0, false),
};
