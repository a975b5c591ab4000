/* Physical memory, by the driver's API: the runtime has none. */
#include "safe/memory/physical.h"
#include "safe/base/device.h"

#include <stdio.h>

#define OUTCOME(physical, code) acu_outcome(__func__, (physical), (code))

/* ---- life ---- */

static int destroy_physical(acu_object *object) {
    const acu_physical *physical = (const acu_physical *)object;
    int code = 0;
    if (physical->owned && !acu_is_unloading())
        code = acu_forgive_unloading(acu_translate_driver(cuMemRelease(physical->raw)));
    if (physical->lease)
        (void)acu_object_release(NULL, physical->lease, physical->lease->was);
    return code;
}

static void describe_physical(const acu_object *object, acu_description *d) {
    const acu_physical *physical = (const acu_physical *)object;
    acu_describe(d, "%zu bytes", physical->bytes);
    if (physical->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        acu_describe(d, "of the host");
    if (!physical->owned)
        acu_describe(d, "wrapped");
}

/* CUDA gives up such memory during captures, too. */
const acu_class acu_physical_class = {"physical memory", destroy_physical, describe_physical,
                                      acu_breaks_no_capture};

/* Returns 0 or a recorded code, as all functions here that name no call. */
static int new_physical(CUmemLocation location, size_t bytes, acu_physical **out) {
    const bool on_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    acu_physical *made = acu_object_make(&acu_physical_class, sizeof *made,
                                         on_device ? location.id : ACU_DEVICE_CURRENT);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->location = location;
    made->bytes = bytes;
    *out = made;
    return 0;
}

/* ---- making ---- */

static const acu_physical_options ordinary;

static CUmemAllocationProp properties_of(acu_device device, const acu_physical_options *o) {
    CUmemAllocationProp p = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = (CUmemAllocationHandleType)o->handles,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
    };
    if (device == ACU_DEVICE_HOST)
        p.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = o->node};
    p.allocFlags.compressionType =
        o->compressible ? CU_MEM_ALLOCATION_COMP_GENERIC : CU_MEM_ALLOCATION_COMP_NONE;
    p.allocFlags.gpuDirectRDMACapable = o->rdma;
    p.allocFlags.usage = o->tiles ? CU_MEM_CREATE_USAGE_TILE_POOL : 0;
    return p;
}

int acu_physical_begin(const char *call, acu_device *device) {
    acu_device any = *device == ACU_DEVICE_HOST ? ACU_DEVICE_CURRENT : *device;
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(call, &any));
    if (*device != ACU_DEVICE_HOST)
        *device = any;
    const int code = acu_translate_driver(cuInit(0));
    return code ? acu_cuda_failed(call, "", code) : 0;
}

int acu_physical_check_options(const char *call, acu_device device, const acu_physical_options *o) {
    const unsigned known = (unsigned)ACU_SHARE_FILE_DESCRIPTOR | (unsigned)ACU_SHARE_FABRIC;
    if (o->handles & ~known)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.handles is %u: memory can be shared as 1 (a file descriptor), 8 "
                        "(a fabric handle), or both",
                        o->handles);
    if (device != ACU_DEVICE_HOST && o->node)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.node is %d, but only ACU_DEVICE_HOST has NUMA nodes", o->node);
    if (device == ACU_DEVICE_HOST && o->tiles)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.tiles is for memory of a device: arrays have none of the host");
    return 0;
}

static int granularity_of(const CUmemAllocationProp *p, CUmemAllocationGranularity_flags which,
                          size_t *bytes) {
    return acu_translate_driver(cuMemGetAllocationGranularity(bytes, p, which));
}

int acu_physical_step(acu_device device, const acu_physical_options *options, size_t *bytes) {
    const CUmemAllocationProp p = properties_of(device, options ? options : &ordinary);
    return granularity_of(&p, CU_MEM_ALLOC_GRANULARITY_MINIMUM, bytes);
}

acu_result acu_physical_get_granularity(acu_device device, const acu_physical_options *options,
                                        size_t *least, size_t *best) {
    ACU_SCOPE();
    size_t ignored;
    const acu_physical_options *o = options ? options : &ordinary;
    ACU_TRY(acu_physical_begin(__func__, &device));
    ACU_TRY(acu_physical_check_options(__func__, device, o));
    const CUmemAllocationProp p = properties_of(device, o);
    ACU_TRY(OUTCOME(
        NULL, granularity_of(&p, CU_MEM_ALLOC_GRANULARITY_MINIMUM, least ? least : &ignored)));
    return OUTCOME(
        NULL, granularity_of(&p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, best ? best : &ignored));
}

void acu_physical_hint_at_fabric(unsigned handles, int code) {
    if (acu_has(handles, ACU_SHARE_FABRIC) &&
        (code == cudaErrorNotPermitted || code == ACU_NOT_SUPPORTED))
        acu_fail_hint("fabric handles need GPUs on a fabric, and an IMEX channel that the process "
                      "may open (/dev/nvidia-caps-imex-channels); on one machine "
                      "ACU_SHARE_FILE_DESCRIPTOR does without");
}

/* Makes memory with those properties. */
static int take(const CUmemAllocationProp *p, size_t bytes, acu_physical **physical) {
    acu_physical *made = NULL;
    int code = new_physical(p->location, bytes, &made);
    if (code)
        return code;
    code = acu_translate_driver(cuMemCreate(&made->raw, bytes, p, 0));
    if (code) {
        acu_object_discard(&made->object);
        acu_physical_hint_at_fabric((unsigned)p->requestedHandleTypes, code);
        return code;
    }
    made->owned = true;
    made->tiles = p->allocFlags.usage == CU_MEM_CREATE_USAGE_TILE_POOL;
    made->untiled = !made->tiles;
    *physical = made;
    return 0;
}

int acu_physical_take(acu_device device, const acu_physical_options *options, size_t bytes,
                      acu_physical **physical) {
    const CUmemAllocationProp p = properties_of(device, options);
    return take(&p, bytes, physical);
}

acu_result acu_physical_create(acu_device device, size_t bytes, const acu_physical_options *options,
                               acu_physical **physical) {
    ACU_SCOPE();
    size_t step = 0;
    const acu_physical_options *o = options ? options : &ordinary;
    ACU_NEED_POINTER(physical);
    *physical = NULL;
    ACU_TRY(acu_physical_begin(__func__, &device));
    ACU_TRY(acu_physical_check_options(__func__, device, o));
    const CUmemAllocationProp p = properties_of(device, o);
    ACU_TRY(OUTCOME(NULL, granularity_of(&p, CU_MEM_ALLOC_GRANULARITY_MINIMUM, &step)));
    ACU_REQUIRE(bytes > 0 && bytes % step == 0, ACU_ERROR_RANGE,
                "'bytes' is %zu, and must be a multiple of %zu, the granularity of such memory",
                bytes, step);
    const int code = take(&p, bytes, physical);
    if (code == cudaErrorMemoryAllocation)
        acu_fail_hint("there is no room for %zu bytes; acu_device_get_memory() says how much is "
                      "free, and acu_pool_trim() gives back what a pool keeps",
                      bytes);
    return OUTCOME(NULL, code);
}

/* ---- handles for what is there ---- */

/* Validates a size that the caller says. CUDA does not know it either, and looks only when the
 * memory is mapped; but it makes no memory of any other size than a multiple of the granularity. */
static int check_size(const char *call, const CUmemAllocationProp *p, size_t bytes) {
    size_t step = 0;
    const int code = granularity_of(p, CU_MEM_ALLOC_GRANULARITY_MINIMUM, &step);
    if (code)
        return acu_cuda_failed(call, "", code);
    if (bytes % step == 0)
        return 0;
    return acu_fail(call, "", ACU_ERROR_RANGE,
                    "'bytes' is %zu, but such memory has a multiple of %zu, its granularity", bytes,
                    step);
}

/* Makes a handle for a raw one, whose place CUDA knows. Returns 0 or a failure recorded for `call`.
 */
static int on_raw(const char *call, unsigned long long raw, size_t bytes, bool owned,
                  acu_physical **physical) {
    CUmemAllocationProp p = {0};
    if (bytes == 0)
        return acu_fail(call, "", ACU_ERROR_RANGE, "'bytes' is 0, but memory has a size");
    int code = acu_translate_driver(cuMemGetAllocationPropertiesFromHandle(&p, raw));
    if (code)
        return acu_cuda_failed(call, "", code);
    ACU_TRY(check_size(call, &p, bytes));
    code = new_physical(p.location, bytes, physical);
    if (code)
        return acu_cuda_failed(call, "", code);
    (*physical)->raw = raw;
    (*physical)->owned = owned;
    return 0;
}

static int begin(const char *call) {
    acu_device any = ACU_DEVICE_CURRENT;
    return acu_physical_begin(call, &any);
}

/* Makes a handle that owns a raw one, or gives that up. */
static int take_raw(const char *call, unsigned long long raw, size_t bytes,
                    acu_physical **physical) {
    int code = on_raw(call, raw, bytes, true, physical);
    acu_saved_record failure;
    if (!code)
        return 0;
    acu_record_save(&failure);
    if (acu_translate_driver(cuMemRelease(raw)))
        acu_record_release_error();
    acu_record_restore(&failure);
    return code;
}

acu_result acu_physical_wrap(unsigned long long raw, size_t bytes, acu_physical **physical) {
    ACU_SCOPE();
    ACU_NEED_POINTER(physical);
    *physical = NULL;
    ACU_REQUIRE(raw, ACU_ERROR_ARGUMENT, "'raw' is 0, which is no handle");
    ACU_TRY(begin(__func__));
    return on_raw(__func__, raw, bytes, false, physical);
}

acu_result acu_physical_adopt(unsigned long long raw, size_t bytes, acu_physical **physical) {
    ACU_SCOPE();
    ACU_NEED_POINTER(physical);
    *physical = NULL;
    ACU_REQUIRE(raw, ACU_ERROR_ARGUMENT, "'raw' is 0, which is no handle");
    ACU_TRY(begin(__func__));
    return on_raw(__func__, raw, bytes, true, physical);
}

acu_result acu_physical_find(const void *address, size_t bytes, acu_physical **physical) {
    ACU_SCOPE();
    CUmemGenericAllocationHandle raw = 0;
    ACU_NEED_POINTER(physical);
    *physical = NULL;
    ACU_NEED_POINTER(address);
    ACU_TRY(begin(__func__));
    int code = acu_translate_driver(cuMemRetainAllocationHandle(&raw, (void *)(uintptr_t)address));
    if (code == cudaErrorInvalidValue)
        acu_fail_hint("no physical memory is mapped at %p; memory of cudaMalloc() and of pools has "
                      "no handle",
                      address);
    ACU_TRY(OUTCOME(NULL, code));
    return take_raw(__func__, raw, bytes, physical);
}

/* ---- sharing ---- */

int acu_physical_export_for(const char *call, const acu_physical *physical, int *descriptor) {
    CUmemAllocationProp p = {0};
    int code = acu_translate_driver(cuMemGetAllocationPropertiesFromHandle(&p, physical->raw));
    if (!code && !acu_has((unsigned)p.requestedHandleTypes, ACU_SHARE_FILE_DESCRIPTOR)) {
        acu_fail_hint("acu_physical_create() makes memory that can be shared, with "
                      "ACU_SHARE_FILE_DESCRIPTOR in options.handles");
        return acu_fail_on(call, physical, ACU_ERROR_STATE,
                           "the memory was made without ACU_SHARE_FILE_DESCRIPTOR in "
                           "options.handles, or was imported");
    }
    if (!code)
        code = acu_translate_driver(cuMemExportToShareableHandle(
            descriptor, physical->raw, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (code)
        *descriptor = -1;
    return acu_outcome(call, physical, code);
}

acu_result acu_physical_export(acu_physical *physical, int *descriptor) {
    ACU_SCOPE();
    ACU_NEED_POINTER(descriptor);
    *descriptor = -1;
    ACU_NEED(physical, acu_physical_class);
    return acu_physical_export_for(__func__, physical, descriptor);
}

acu_result acu_physical_import(int descriptor, size_t bytes, acu_physical **physical) {
    ACU_SCOPE();
    CUmemGenericAllocationHandle raw = 0;
    ACU_NEED_POINTER(physical);
    *physical = NULL;
    ACU_REQUIRE(descriptor >= 0, ACU_ERROR_ARGUMENT, "'descriptor' is %d, which is no descriptor",
                descriptor);
    ACU_TRY(begin(__func__));
    ACU_TRY(OUTCOME(
        NULL, acu_translate_driver(cuMemImportFromShareableHandle(
                  &raw, (void *)(uintptr_t)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))));
    return take_raw(__func__, raw, bytes, physical);
}

/* ---- what it is ---- */

unsigned long long acu_physical_raw(const acu_physical *physical) {
    return acu_is(physical, &acu_physical_class) ? physical->raw : 0;
}

acu_physical *acu_physical_retain(acu_physical *physical) {
    return acu_object_retain(__func__, physical, &acu_physical_class);
}

acu_result acu_physical_release(acu_physical *physical) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, physical, &acu_physical_class);
}

void acu_physical_cleanup(acu_physical **physical) {
    (void)acu_physical_release(acu_take(physical));
}

size_t acu_physical_describe(const acu_physical *physical, char *text, size_t size) {
    return acu_object_describe_as(physical, &acu_physical_class, text, size);
}

size_t acu_physical_bytes(const acu_physical *physical) {
    return acu_is(physical, &acu_physical_class) ? physical->bytes : 0;
}

static acu_device place_of(const CUmemLocation *location) {
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id : ACU_DEVICE_HOST;
}

acu_device acu_physical_device(const acu_physical *physical) {
    return acu_is(physical, &acu_physical_class) ? place_of(&physical->location)
                                                 : ACU_DEVICE_CURRENT;
}

acu_result acu_physical_get_info(acu_physical *physical, acu_physical_info *info) {
    ACU_SCOPE();
    CUmemAllocationProp p = {0};
    ACU_NEED_POINTER(info);
    *info = (acu_physical_info){.device = ACU_DEVICE_CURRENT};
    ACU_NEED(physical, acu_physical_class);
    ACU_TRY(OUTCOME(
        physical, acu_translate_driver(cuMemGetAllocationPropertiesFromHandle(&p, physical->raw))));
    *info = (acu_physical_info){
        .device = place_of(&p.location),
        .node = p.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? 0 : p.location.id,
        .handles = (unsigned)p.requestedHandleTypes,
        .compressible = p.allocFlags.compressionType != 0,
        .rdma = p.allocFlags.gpuDirectRDMACapable != 0,
        .tiles = physical->tiles,
    };
    return 0;
}
