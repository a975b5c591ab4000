/* Memory of all kinds, arrays, pools, and what CUDA says of addresses. */
#include "fuzz.h"

#include <stdlib.h>

/* What the object's memory holds at first: fresh memory is not compared until it is filled. */
static void keep(object *o, void *address, size_t size, memory_kind memory) {
    o->handle = address;
    o->size = size;
    o->memory = memory;
    o->is_undefined = true;
}

static size_t wanted_size(void) {
    return (size_t)ONE_OF(0, 1, 100, 4096, 4096, 65536, 65536, 1 << 20, 3 << 20);
}

static void allocate(void) {
    object *o = empty(MEMORY);
    const size_t size = wanted_size();
    void *made = UNWRITTEN;
    cudaError_t result;
    memory_kind memory = DEVICE;
    if (!o)
        return;
    switch (below(5)) {
    case 0: {
        const unsigned flags = (unsigned)ONE_OF(0, 0, 1, 2, 4, 7, 8, 16);
        call("cudaHostAlloc(%zu, %u)", size, flags);
        result = cudaHostAlloc(&made, size, flags);
        memory = PINNED;
        break;
    }
    case 1: {
        call("cudaMallocHost(%zu)", size);
        result = cudaMallocHost(&made, size);
        memory = PINNED;
        break;
    }
    case 2: {
        const unsigned flags = (unsigned)ONE_OF(1, 1, 1, 2, 0, 4, 3);
        call("cudaMallocManaged(%zu, %u)", size, flags);
        result = cudaMallocManaged(&made, size, flags);
        memory = MANAGED;
        break;
    }
    default:
        call("cudaMalloc(%zu)", size);
        result = cudaMalloc(&made, size);
    }
    if (!result && made != UNWRITTEN)
        keep(o, made, size, memory);
    answer(result, "%s", o->handle ? name(o) : handle_state(made));
}

static void allocate_pitched(void) {
    object *o = empty(MEMORY);
    const size_t width = (size_t)ONE_OF(0, 1, 100, 512, 1000), height = (size_t)ONE_OF(0, 1, 8, 33);
    void *made = UNWRITTEN;
    size_t pitch = 7;
    if (!o)
        return;
    call("cudaMallocPitch(%zu, %zu)", width, height);
    const cudaError_t result = cudaMallocPitch(&made, &pitch, width, height);
    if (!result && made != UNWRITTEN)
        keep(o, made, pitch * height, DEVICE);
    answer(result, "%zu %s", pitch, o->handle ? name(o) : handle_state(made));
}

static void allocate_async(void) {
    object *o = empty(MEMORY);
    const size_t size = wanted_size();
    const chosen_stream s = any_stream();
    void *made = UNWRITTEN;
    cudaError_t result;
    if (!o)
        return;
    const bool captured = is_capturing(s);
    if (one_in(3)) {
        const object *pool = any(POOL);
        call("cudaMallocFromPoolAsync(%zu, %s, %s)", size, name(pool), s.name);
        result = cudaMallocFromPoolAsync(&made, size, pool->handle, s.handle);
    } else {
        call("cudaMallocAsync(%zu, %s)", size, s.name);
        result = cudaMallocAsync(&made, size, s.handle);
    }
    /* Memory of a graph is there only while the graph runs. */
    if (!result && made != UNWRITTEN && !captured)
        keep(o, made, size, ASYNC);
    answer(result, "%s", o->handle ? name(o) : handle_state(made));
    settle(s);
}

static void release(void) {
    object *o = unused(MEMORY);
    const chosen_stream s = any_stream();
    if (!o || (is_capturing(s) && o->handle))
        return;
    void *handle = o->handle;
    const bool wrong = one_in(8), on_host = (o->memory == PINNED) != wrong;
    cudaError_t result;
    if (o->handle && o->memory == REGISTERED) {
        call("cudaHostUnregister(%s)", name(o));
        result = cudaHostUnregister(handle);
    } else if (on_host) {
        call("cudaFreeHost(%s)", name(o));
        result = cudaFreeHost(handle);
    } else if (o->memory == ASYNC || one_in(6)) {
        call("cudaFreeAsync(%s, %s)", name(o), s.name);
        result = cudaFreeAsync(handle, s.handle);
    } else {
        call("cudaFree(%s)", name(o));
        result = cudaFree(handle);
    }
    const bool registered = o->memory == REGISTERED;
    if (!result)
        o->handle = NULL;
    answer(result, "%s", "");
    if (!result && registered && handle)
        free(handle);
    settle(s);
}

/* Addresses that CUDA did not allocate. */
static void release_wrong(void) {
    char *where = (char *)pageable[0].handle + ONE_OF(0, 16);
    const chosen_stream s = any_stream();
    switch (below(4)) {
    case 0:
        call("cudaFree(h0)");
        answer(cudaFree(where), "%s", "");
        break;
    case 1:
        call("cudaFreeHost(h0)");
        answer(cudaFreeHost(where), "%s", "");
        break;
    case 2:
        call("cudaHostUnregister(h0)");
        answer(cudaHostUnregister(where), "%s", "");
        break;
    default:
        call("cudaFreeAsync(h0, %s)", s.name);
        answer(cudaFreeAsync(where, s.handle), "%s", "");
    }
}

static void register_memory(void) {
    object *o = empty(MEMORY);
    const size_t size = (size_t)ONE_OF(4096, 4096, 65536), wanted = one_in(8) ? 0 : size;
    const unsigned flags = (unsigned)ONE_OF(0, 0, 1, 2, 4, 8, 16, 3);
    if (!o)
        return;
    void *memory = aligned_alloc(4096, size);
    if (!memory)
        abort();
    memset(memory, 0, size);
    call("cudaHostRegister(%zu, %u)", wanted, flags);
    const cudaError_t result = cudaHostRegister(memory, wanted, flags);
    if (!result)
        keep(o, memory, size, REGISTERED);
    else
        free(memory);
    o->is_read_only = flags == cudaHostRegisterReadOnly;
    answer(result, "%s", name(o));
}

/* ---- what CUDA knows of an address ---- */

static void describe_address(void) {
    const place p = any_place();
    struct cudaPointerAttributes attributes;
    memset(&attributes, 0x5a, sizeof attributes);
    call("cudaPointerGetAttributes(%s)", p.name);
    const cudaError_t result = cudaPointerGetAttributes(&attributes, p.address);
    answer(result, "%d %d %s %s", (int)attributes.type, attributes.device,
           attributes.devicePointer == p.address ? "same"
           : attributes.devicePointer            ? "other"
                                                 : "NULL",
           attributes.hostPointer == p.address ? "same"
           : attributes.hostPointer            ? "other"
                                               : "NULL");
}

static void describe_on_host(void) {
    const place p = any_place();
    void *device = UNWRITTEN;
    unsigned flags = 77;
    if (one_in(2)) {
        const unsigned wrong = one_in(8);
        call("cudaHostGetDevicePointer(%s, %u)", p.name, wrong);
        const cudaError_t result = cudaHostGetDevicePointer(&device, p.address, wrong);
        answer(result, "%s", handle_state(device));
    } else {
        call("cudaHostGetFlags(%s)", p.name);
        const cudaError_t result = cudaHostGetFlags(&flags, p.address);
        answer(result, "%u", flags);
    }
}

static void driver_address(void) {
    const place p = any_place();
    if (one_in(2)) {
        CUdeviceptr base = 7;
        size_t size = 7;
        call("cuMemGetAddressRange(%s)", p.name);
        const CUresult result =
            cuMemGetAddressRange(&base, &size, (CUdeviceptr)(uintptr_t)p.address);
        answer(result, "%zd %zu", result ? (size_t)-1 : (size_t)((uintptr_t)p.address - base),
               size);
    } else {
        const int attribute = ONE_OF(0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 30);
        char value[64] = {0x5a};
        call("cuPointerGetAttribute(%d, %s)", attribute, p.name);
        answer(cuPointerGetAttribute(value, (CUpointer_attribute)attribute,
                                     (CUdeviceptr)(uintptr_t)p.address),
               "%s", "");
    }
}

static void managed(void) {
    const place p = any_place();
    const size_t size = any_size(p.room);
    const struct cudaMemLocation location = {
        .type = (enum cudaMemLocationType)ONE_OF(1, 1, 1, 0, 2, 3, 9), .id = any_device()};
    const chosen_stream s = any_stream();
    switch (below(3)) {
    case 0: {
        const int advice = ONE_OF(0, 1, 2, 3, 4, 5, 6, 7);
        call("cudaMemAdvise(%s, %zu, %d, {%d, %d})", p.name, size, advice, (int)location.type,
             location.id);
        answer(cudaMemAdvise(p.address, size, (enum cudaMemoryAdvise)advice, location), "%s", "");
        break;
    }
    case 1: {
        const unsigned flags = one_in(8);
        call("cudaMemPrefetchAsync(%s, %zu, {%d, %d}, %u, %s)", p.name, size, (int)location.type,
             location.id, flags, s.name);
        answer(cudaMemPrefetchAsync(p.address, size, location, flags, s.handle), "%s", "");
        settle(s);
        break;
    }
    default: {
        const int attribute = ONE_OF(0, 1, 2, 3, 4, 5, 9);
        int value = -77;
        const size_t length = (size_t)ONE_OF(0, 4, 4, 4, 8);
        call("cudaMemRangeGetAttribute(%zu, %d, %s, %zu)", length, attribute, p.name, size);
        int values[2] = {value, value};
        const cudaError_t result = cudaMemRangeGetAttribute(
            values, length, (enum cudaMemRangeAttribute)attribute, p.address, size);
        answer(result, "%d", values[0]);
    }
    }
}

/* ---- arrays ---- */

static void create_array(void) {
    object *o = empty(ARRAY);
    cudaArray_t made = UNWRITTEN;
    const struct cudaChannelFormatDesc element = {ONE_OF(8, 32, 32, 7, 0), ONE_OF(0, 0, 32), 0, 0,
                                                  cudaChannelFormatKindUnsigned};
    const size_t width = (size_t)ONE_OF(0, 1, 64, 100), height = (size_t)ONE_OF(0, 0, 1, 16),
                 depth = (size_t)ONE_OF(0, 0, 4, 6);
    const unsigned flags = (unsigned)ONE_OF(0, 0, 0, 1, 2, 4, 8, 0);
    cudaError_t result;
    if (!o)
        return;
    if (one_in(2)) {
        call("cudaMallocArray({%d, %d}, %zu, %zu, %u)", element.x, element.y, width, height, flags);
        result = cudaMallocArray(&made, &element, width, height, flags);
    } else {
        const struct cudaExtent extent = {width, height, depth};
        call("cudaMalloc3DArray({%d, %d}, {%zu, %zu, %zu}, %u)", element.x, element.y, width,
             height, depth, flags);
        result = cudaMalloc3DArray(&made, &element, extent, flags);
    }
    if (!result && made != UNWRITTEN) {
        o->handle = made;
        o->size = width;
    }
    answer(result, "%s", o->handle ? name(o) : handle_state(made));
}

static void destroy_array(void) {
    object *o = unused(ARRAY);
    if (!o)
        return;
    call("cudaFreeArray(%s)", name(o));
    void *handle = o->handle;
    o->handle = NULL;
    answer(cudaFreeArray(handle), "%s", "");
}

static void describe_array(void) {
    const object *o = any(ARRAY);
    struct cudaChannelFormatDesc element = {-7, -7, -7, -7, (enum cudaChannelFormatKind)7};
    struct cudaExtent extent = {7, 7, 7};
    unsigned flags = 77;
    call("cudaArrayGetInfo(%s)", name(o));
    const cudaError_t result = cudaArrayGetInfo(&element, &extent, &flags, o->handle);
    answer(result, "%d %d %d %zu %zu %zu %u", element.x, element.y, (int)element.f, extent.width,
           extent.height, extent.depth, flags);
}

/* ---- pools ---- */

static void create_pool(void) {
    object *o = empty(POOL);
    cudaMemPool_t made = UNWRITTEN;
    struct cudaMemPoolProps properties;
    memset(&properties, 0, sizeof properties);
    properties.allocType = (enum cudaMemAllocationType)ONE_OF(1, 1, 1, 0, 1);
    properties.location.type = (enum cudaMemLocationType)ONE_OF(1, 1, 1, 0);
    properties.location.id = any_device();
    if (!o)
        return;
    call("cudaMemPoolCreate({%d, {%d, %d}})", (int)properties.allocType,
         (int)properties.location.type, properties.location.id);
    const cudaError_t result = cudaMemPoolCreate(&made, &properties);
    if (!result && made != UNWRITTEN)
        o->handle = made;
    answer(result, "%s", o->handle ? name(o) : handle_state(made));
}

/* Pools that a program may have memory of stay: later calls name the memory. */
static void destroy_pool(void) {
    call("cudaMemPoolDestroy(NULL)");
    answer(cudaMemPoolDestroy(NULL), "%s", "");
}

static void device_pool(void) {
    cudaMemPool_t got = UNWRITTEN;
    const int device = any_device();
    const object *pool = any(POOL);
    cudaError_t result;
    switch (below(3)) {
    case 0:
        call("cudaDeviceGetDefaultMemPool(%d)", device);
        result = cudaDeviceGetDefaultMemPool(&got, device);
        answer(result, "%s", handle_state(got));
        break;
    case 1:
        call("cudaDeviceGetMemPool(%d)", device);
        result = cudaDeviceGetMemPool(&got, device);
        answer(result, "%s", handle_state(got));
        break;
    default:
        call("cudaDeviceSetMemPool(%d, %s)", device, name(pool));
        answer(cudaDeviceSetMemPool(device, pool->handle), "%s", "");
    }
}

static void pool_attribute(void) {
    const object *pool = any(POOL);
    const int attribute = ONE_OF(0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 20);
    cuuint64_t value = (cuuint64_t)ONE_OF(0, 0, 1, 1 << 20);
    if (one_in(2)) {
        call("cudaMemPoolSetAttribute(%s, %d, %d)", name(pool), attribute, (int)value);
        answer(cudaMemPoolSetAttribute(pool->handle, (enum cudaMemPoolAttr)attribute, &value), "%s",
               "");
    } else {
        call("cudaMemPoolGetAttribute(%s, %d)", name(pool), attribute);
        const cudaError_t result =
            cudaMemPoolGetAttribute(pool->handle, (enum cudaMemPoolAttr)attribute, &value);
        answer(result, "%d", attribute == 7 || attribute == 4 ? (int)value : 0);
    }
}

static void use_pool(void) {
    const object *pool = any(POOL);
    struct cudaMemLocation location = {.type = (enum cudaMemLocationType)ONE_OF(1, 1, 0, 2),
                                       .id = any_device()};
    enum cudaMemAccessFlags flags = (enum cudaMemAccessFlags)9;
    switch (below(3)) {
    case 0: {
        const size_t size = (size_t)ONE_OF(0, 1, 1 << 20);
        call("cudaMemPoolTrimTo(%s, %zu)", name(pool), size);
        answer(cudaMemPoolTrimTo(pool->handle, size), "%s", "");
        break;
    }
    case 1: {
        call("cudaMemPoolGetAccess(%s, {%d, %d})", name(pool), (int)location.type, location.id);
        const cudaError_t result = cudaMemPoolGetAccess(&flags, pool->handle, &location);
        answer(result, "%d", (int)flags);
        break;
    }
    default: {
        const struct cudaMemAccessDesc access = {location,
                                                 (enum cudaMemAccessFlags)ONE_OF(0, 1, 3, 3, 7)};
        const size_t count = (size_t)ONE_OF(0, 1, 1, 1);
        call("cudaMemPoolSetAccess(%s, {{%d, %d}, %d}, %zu)", name(pool), (int)location.type,
             location.id, (int)access.flags, count);
        answer(cudaMemPoolSetAccess(pool->handle, &access, count), "%s", "");
    }
    }
}

const operation memory_operations[] = {
    OPERATION(allocate, 18, true),
    OPERATION(allocate_pitched, 3, false),
    OPERATION(allocate_async, 10, true),
    OPERATION(release, 10, false),
    OPERATION(release_wrong, 2, false),
    OPERATION(register_memory, 4, true),
    OPERATION(describe_address, 8, false),
    OPERATION(describe_on_host, 4, false),
    OPERATION(driver_address, 6, false),
    OPERATION(managed, 6, false),
    OPERATION(create_array, 4, true),
    OPERATION(destroy_array, 2, false),
    OPERATION(describe_array, 2, false),
    OPERATION(create_pool, 4, true),
    OPERATION(destroy_pool, 1, false),
    OPERATION(device_pool, 3, false),
    OPERATION(pool_attribute, 4, false),
    OPERATION(use_pool, 4, false),
    OPERATION(NULL, 0, false),
};
