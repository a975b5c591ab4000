/* Managed memory: advice, prefetches, attachments, and the attributes that report them. */
#include "sim/memory/managed.h"

#include "core/decisions.h"
#include "core/refuse.h"
#include "sim/behaviour.h"
#include "sim/device/device.h"
#include "sim/memory/range.h"
#include "sim/stream/capture.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

acu_sim_range *acu_sim_managed_range(const void *address, size_t size) {
    acu_sim_range *range = acu_sim_range_of(address);
    return range && range->kind == SIM_MANAGED && size &&
                   size <= range->base + range->size - (uintptr_t)address
               ? range
               : NULL;
}

/* The id of the host is not looked at; those of a device and of a NUMA node are. A device without
 * concurrent managed access takes all managed memory while it runs, so that a part of the memory
 * cannot be moved there. */
cudaError_t acu_sim_managed_validate_location(struct cudaMemLocation location) {
    const acu_sim_device *device = acu_sim_device_at(location.id);
    switch ((int)location.type) {
    case cudaMemLocationTypeDevice:
        return device && acu_sim_device_attribute(device, cudaDevAttrConcurrentManagedAccess)
                   ? cudaSuccess
                   : cudaErrorInvalidDevice;
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNumaCurrent:
        return cudaSuccess;
    case cudaMemLocationTypeHostNuma:
        return location.id == 0 ? cudaSuccess : cudaErrorInvalidValue;
    default:
        return cudaErrorInvalidValue;
    }
}

/* ---- what was asked of parts ---- */

enum { PAGE = 4096 };

static const acu_sim_pages nothing = {.preferred = {.id = cudaInvalidDeviceId},
                                      .prefetched = {.id = cudaInvalidDeviceId}};

/* Makes a part begin at the offset; returns false without memory. */
static bool split(acu_sim_range *range, size_t at) {
    acu_sim_pages *part = range->pages, *rest;
    while (part && part->end < at)
        part = part->next;
    if (!at || !part || part->end == at)
        return true;
    if (!(rest = malloc(sizeof *rest)))
        return false;
    *rest = *part;
    part->end = at;
    part->next = rest;
    return true;
}

/* Makes parts of all pages that have some of the bytes. Writes to `end` where these parts end;
 * returns the first of them, NULL without memory. */
static acu_sim_pages *pages_of(acu_sim_range *range, const void *address, size_t count,
                               size_t *end) {
    const size_t offset = (uintptr_t)address - range->base;
    const size_t from = offset / PAGE * PAGE;
    const size_t to = (offset + count + PAGE - 1) / PAGE * PAGE;
    *end = to < range->size ? to : range->size;
    if (!range->pages && (range->pages = malloc(sizeof *range->pages))) {
        *range->pages = nothing;
        range->pages->end = range->size;
    }
    if (!range->pages || !split(range, from) || !split(range, *end))
        return NULL;
    acu_sim_pages *part = range->pages;
    while (part->end <= from)
        part = part->next;
    return part;
}

static void advise_part(acu_sim_pages *part, enum cudaMemoryAdvise advice,
                        struct cudaMemLocation location) {
    bool device = location.type == cudaMemLocationTypeDevice;
    bool known = device && location.id >= 0 && location.id < SIM_DEVICES;
    uint64_t bit = known ? (uint64_t)1 << location.id : 0;
    switch (advice) {
    case cudaMemAdviseSetReadMostly:
    case cudaMemAdviseUnsetReadMostly:
        part->read_mostly = advice == cudaMemAdviseSetReadMostly;
        break;
    case cudaMemAdviseSetPreferredLocation:
        part->preferred = location;
        break;
    case cudaMemAdviseUnsetPreferredLocation:
        part->preferred = nothing.preferred;
        break;
    case cudaMemAdviseSetAccessedBy:
        part->accessed_by |= bit;
        part->cpu_accesses |= !device;
        break;
    case cudaMemAdviseUnsetAccessedBy:
        part->accessed_by &= ~bit;
        part->cpu_accesses &= device;
        break;
    }
}

/* Advises about all pages that have some of the bytes; returns false without memory. */
static bool advise(acu_sim_range *range, const void *address, size_t count,
                   enum cudaMemoryAdvise advice, struct cudaMemLocation location) {
    size_t end;
    acu_sim_pages *const first = pages_of(range, address, count, &end);
    for (acu_sim_pages *part = first; part && part->end <= end; part = part->next)
        advise_part(part, advice, location);
    return first;
}

bool acu_sim_managed_move(acu_sim_range *range, const void *address, size_t count,
                          struct cudaMemLocation location) {
    size_t end;
    acu_sim_pages *const first = pages_of(range, address, count, &end);
    for (acu_sim_pages *part = first; part && part->end <= end; part = part->next)
        part->prefetched = location;
    return first;
}

static void keep_common(struct cudaMemLocation *all, struct cudaMemLocation part) {
    if (all->type != part.type || all->id != part.id)
        *all = nothing.preferred;
}

/* Returns what was asked of all pages that have some of the bytes. */
static acu_sim_pages common_to(const acu_sim_range *range, const void *address, size_t count) {
    const size_t from = (uintptr_t)address - range->base, to = from + count;
    acu_sim_pages all = nothing;
    size_t begin = 0;
    for (const acu_sim_pages *part = range->pages; part; begin = part->end, part = part->next) {
        if (part->end <= from || begin >= to)
            continue;
        if (begin <= from)
            all = *part;
        all.read_mostly &= part->read_mostly;
        all.cpu_accesses &= part->cpu_accesses;
        all.accessed_by &= part->accessed_by;
        keep_common(&all.preferred, part->preferred);
        keep_common(&all.prefetched, part->prefetched);
    }
    return all;
}

struct cudaMemLocation acu_sim_managed_place(const acu_sim_range *range, const void *address,
                                             size_t count) {
    return common_to(range, address, count).prefetched;
}

static bool places_have_types(void) {
    return acu_sim_self()->call.by_driver || acu_sim_behaviour_places_have_types();
}

static bool is_numa_node(struct cudaMemLocation location) {
    return location.type == cudaMemLocationTypeHostNuma ||
           location.type == cudaMemLocationTypeHostNumaCurrent;
}

/* Refuses a place that the function could not name before places had types, as anycuda does before
 * it calls such a runtime. */
static cudaError_t refuse_place(const acu_function *function) {
    return (cudaError_t)acu_refuse_newer(function, "location.type",
                                         ACU_SIM_BEHAVIOUR_PLACES_HAVE_TYPES);
}

/* Returns the error of what is wrong with the advice itself, which a capture does not hide. */
static cudaError_t validate_advice(enum cudaMemoryAdvise advice, struct cudaMemLocation location) {
    if (!places_have_types()) {
        if (acu_advice_is_local(advice) && !acu_location_known(&location))
            return refuse_place(&acu_function_cudaMemAdvise);
        return acu_advice_fits(advice, &location) ? cudaSuccess : cudaErrorInvalidValue;
    }
    const cudaError_t why = acu_sim_managed_validate_location(location);
    if (!acu_sim_knows(&acu_cudart_type_cudaMemoryAdvise, advice))
        return cudaErrorInvalidValue;
    if (is_numa_node(location) && advice != cudaMemAdviseSetPreferredLocation)
        return acu_advice_is_local(advice) ? cudaErrorInvalidValue : cudaSuccess;
    if (why == cudaErrorInvalidDevice)
        return acu_advice_is_local(advice) ? cudaErrorInvalidValue : cudaSuccess;
    return why;
}

/* Returns the error of a device that does not exist, which only some advice looks at. */
static cudaError_t validate_device(enum cudaMemoryAdvise advice, struct cudaMemLocation location) {
    return location.type == cudaMemLocationTypeDevice && acu_advice_is_local(advice)
               ? acu_sim_managed_validate_location(location)
               : cudaSuccess;
}

/* A NUMA node is taken for memory that CUDA does not know, too, and nothing is advised: so an H200
 * answered whose host has one node. */
cudaError_t acu_sim_cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                                  struct cudaMemLocation location) {
    acu_sim_range *range = acu_sim_managed_range(devPtr, count);
    SIM_TRY(validate_advice(advice, location));
    if (is_numa_node(location) && places_have_types())
        return cudaSuccess;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    if (!count || !acu_sim_knows(&acu_cudart_type_cudaMemoryAdvise, advice))
        return cudaErrorInvalidValue;
    SIM_TRY(validate_device(advice, location));
    if (!range)
        return acu_sim_managed_refuse_range(devPtr, count);
    return advise(range, devPtr, count, advice, location) ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* Returns the error of a place that no memory can be moved to, which a capture does not hide. */
static cudaError_t validate_target(struct cudaMemLocation location, unsigned flags) {
    if (!places_have_types() && !acu_location_known(&location))
        return refuse_place(&acu_function_cudaMemPrefetchAsync);
    if (!places_have_types() && !acu_location_valid(&location))
        return cudaErrorInvalidDevice;
    return flags || acu_sim_managed_validate_location(location) == cudaErrorInvalidValue
               ? cudaErrorInvalidValue
               : cudaSuccess;
}

cudaError_t acu_sim_cudaMemPrefetchAsync(const void *devPtr, size_t count,
                                         struct cudaMemLocation location, unsigned int flags,
                                         cudaStream_t stream) {
    acu_sim_stream *s;
    acu_sim_range *range = acu_sim_managed_range(devPtr, count);
    SIM_TRY(validate_target(location, flags));
    SIM_TRY(acu_sim_stream_of(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_REFUSES));
    if (!count || !devPtr)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_managed_validate_location(location));
    if (!range)
        return acu_sim_managed_refuse_range(devPtr, count);
    return acu_sim_managed_move(range, devPtr, count, location) ? cudaSuccess
                                                                : cudaErrorMemoryAllocation;
}

cudaError_t acu_sim_cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length,
                                             unsigned int flags) {
    acu_sim_stream *s;
    acu_sim_range *range = acu_sim_range_of(devPtr);
    SIM_TRY(acu_sim_stream_of(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, SIM_WAITS)); /* the call is unsafe on other streams, too */
    if (!range || range->kind != SIM_MANAGED || range->base != (uintptr_t)devPtr ||
        (length && length != range->size) ||
        (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost &&
         flags != cudaMemAttachSingle))
        return cudaErrorInvalidValue;
    stream = acu_sim_stream_handle(stream);
    return flags == cudaMemAttachSingle && !stream ? cudaErrorInvalidValue : cudaSuccess;
}

/* Returns the number of a location in the older attributes: a device, -1 for the CPU, or -2 for no
 * location. */
static int number_of(struct cudaMemLocation location) {
    switch ((int)location.type) {
    case cudaMemLocationTypeDevice:
        return location.id;
    case cudaMemLocationTypeInvalid:
        return cudaInvalidDeviceId;
    default:
        return cudaCpuDeviceId;
    }
}

static void list_accessors(const acu_sim_pages *asked, int *list, size_t room) {
    size_t used = 0;
    for (int i = 0; i < SIM_DEVICES && used < room; i++)
        if (asked->accessed_by >> i & 1)
            list[used++] = i;
    if (asked->cpu_accesses && used < room)
        list[used++] = cudaCpuDeviceId;
    while (used < room)
        list[used++] = cudaInvalidDeviceId;
}

static cudaError_t get_attribute(const acu_sim_pages *asked, enum cudaMemRangeAttribute attribute,
                                 int *data, size_t size) {
    bool list = attribute == cudaMemRangeAttributeAccessedBy;
    if (!data || !acu_sim_driver_knows(&acu_cuda_type_CUmem_range_attribute_enum, attribute) ||
        (list ? size == 0 || size % sizeof(int) : size != sizeof(int)))
        return cudaErrorInvalidValue;
    switch (attribute) {
    case cudaMemRangeAttributeReadMostly:
        *data = asked->read_mostly;
        break;
    case cudaMemRangeAttributeAccessedBy:
        list_accessors(asked, data, size / sizeof(int));
        break;
    case cudaMemRangeAttributePreferredLocation:
        *data = number_of(asked->preferred);
        break;
    case cudaMemRangeAttributePreferredLocationType:
        *data = (int)asked->preferred.type;
        break;
    case cudaMemRangeAttributePreferredLocationId:
        *data = asked->preferred.id;
        break;
    case cudaMemRangeAttributeLastPrefetchLocation:
        *data = number_of(asked->prefetched);
        break;
    case cudaMemRangeAttributeLastPrefetchLocationType:
        *data = (int)asked->prefetched.type;
        break;
    case cudaMemRangeAttributeLastPrefetchLocationId:
        *data = asked->prefetched.id;
        break;
    }
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
                                              enum cudaMemRangeAttribute *attributes,
                                              size_t numAttributes, const void *devPtr,
                                              size_t count) {
    const acu_sim_range *range = acu_sim_managed_range(devPtr, count);
    if (!data || !dataSizes || !attributes || !numAttributes)
        return cudaErrorInvalidValue;
    if (!range)
        return acu_sim_managed_refuse_range(devPtr, count);
    const acu_sim_pages asked = common_to(range, devPtr, count);
    for (size_t i = 0; i < numAttributes; i++)
        SIM_TRY(get_attribute(&asked, attributes[i], data[i], dataSizes[i]));
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemRangeGetAttribute(void *data, size_t dataSize,
                                             enum cudaMemRangeAttribute attribute,
                                             const void *devPtr, size_t count) {
    return acu_sim_cudaMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}
