/* Ranges of addresses that CUDA knows. */
#include "sim/memory/range.h"

#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/memory/external_memory.h"
#include "sim/memory/history.h"
#include "sim/memory/ipc_memory.h"
#include "sim/memory/pool.h"
#include "sim/memory/shared_pool.h"
#include "sim/memory/virtual.h"

#include <stdlib.h>
#include <string.h>

/* All ranges, in the order of their addresses. */
static acu_sim_range **ranges;
static size_t count, room;
static uint64_t last_id;

/* Returns the index of the first range that ends behind the address. */
static size_t first_after(uintptr_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle]->base + ranges[middle]->size > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

acu_sim_range *acu_sim_range_overlapping(uintptr_t base, size_t size) {
    size_t i = first_after(base);
    return i < count && ranges[i]->base < base + size ? ranges[i] : NULL;
}

acu_sim_range *acu_sim_range_next(uintptr_t address) {
    size_t i = first_after(address);
    return i < count ? ranges[i] : NULL;
}

acu_sim_range *acu_sim_range_of(const void *address) {
    acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)address, 1);
    return range && !range->freed ? range : NULL;
}

acu_sim_range *acu_sim_range_there(const void *address) {
    acu_sim_range *range = acu_sim_range_of(address);
    return range && !range->dormant ? range : NULL;
}

bool acu_sim_range_is_device_address(const void *address) {
    for (int i = 0; i < acu_sim_configuration()->devices; i++) {
        const acu_sim_device *device = acu_sim_device_at(i);
        if ((uintptr_t)address - device->base < device->span)
            return true;
    }
    return acu_sim_virtual_is_reserved(address);
}

bool acu_sim_range_is_loose(const void *address) {
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)address, 1);
    return range && range->pool && range->kind == SIM_DEVICE;
}

bool acu_sim_range_has_grants(const acu_sim_range *range) {
    return range && (range->pool || (range->bytes && !range->ipc));
}

bool acu_sim_range_allows_access(const acu_sim_range *range, const acu_sim_device *device) {
    if (range->pool)
        return acu_sim_pool_allows_access(range->pool, device);
    if (range->bytes)
        return range->access >> device->index & 1;
    return range->kind != SIM_DEVICE || acu_sim_device_can_access(device, range->device->index);
}

bool acu_sim_range_allows_writing(const acu_sim_range *range, const acu_sim_device *device) {
    return range->bytes && !range->pool ? range->writes >> device->index & 1
                                        : acu_sim_range_allows_access(range, device);
}

static cudaError_t refuse_access(const acu_sim_range *range, const acu_sim_device *device,
                                 bool writes) {
    const char *const remedy = range->pool ? "call cudaMemPoolSetAccess()"
                               : range->bytes
                                   ? "call cuMemSetAccess()"
                                   : "call cudaDeviceEnablePeerAccess(), or use a stream "
                                     "of the memory's own device";
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "device %d may not %s the %zu bytes at %p, which are %s device %d: %s",
                      device->index, writes ? "write" : "read", range->size, (void *)range->base,
                      range->pool    ? "of a pool of"
                      : range->bytes ? "mapped memory of"
                                     : "memory of",
                      range->device->index, remedy);
}

cudaError_t acu_sim_range_validate_access(const acu_sim_range *range, const acu_sim_device *device,
                                          bool writes) {
    if (writes && acu_sim_range_is_read_only(range))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the %zu bytes at %p are read-only for devices, because they were "
                          "registered with cudaHostRegisterReadOnly",
                          range->size, (void *)range->base);
    const bool allowed = !range || (writes ? acu_sim_range_allows_writing(range, device)
                                           : acu_sim_range_allows_access(range, device));
    return allowed ? cudaSuccess : refuse_access(range, device, writes);
}

bool acu_sim_range_is_read_only(const acu_sim_range *range) {
    return range && range->kind == SIM_REGISTERED && range->flags & cudaHostRegisterReadOnly;
}

void *acu_sim_range_bytes(const acu_sim_range *range, const void *address) {
    if (range->bytes)
        return range->bytes + ((uintptr_t)address - range->base);
    if (range->kind != SIM_DEVICE)
        return (void *)(uintptr_t)address;
    return range->device->view + ((uintptr_t)address - range->device->base);
}

uint64_t acu_sim_range_new_id(void) {
    return ++last_id;
}

bool acu_sim_range_add(acu_sim_range *range) {
    if (count == room) {
        size_t larger = room * 2 + 64;
        acu_sim_range **grown = realloc(ranges, larger * sizeof(acu_sim_range *));
        if (!grown)
            return false;
        ranges = grown;
        room = larger;
    }
    size_t i = first_after(range->base);
    memmove(ranges + i + 1, ranges + i, (count - i) * sizeof(acu_sim_range *));
    ranges[i] = range;
    range->id = acu_sim_range_new_id();
    count++;
    return true;
}

void acu_sim_range_remove(acu_sim_range *range) {
    acu_sim_history_end(range);
    size_t i = first_after(range->base);
    memmove(ranges + i, ranges + i + 1, (count - i - 1) * sizeof(acu_sim_range *));
    if (range->external)
        acu_sim_external_release(range->external);
    if (range->ipc)
        acu_sim_ipc_release(range->ipc);
    acu_sim_pool_view_release(range->view);
    for (acu_sim_pages *next; range->pages; range->pages = next) {
        next = range->pages->next;
        free(range->pages);
    }
    free(range);
    if (--count)
        return;
    free(ranges);
    ranges = NULL;
    room = 0;
}

acu_sim_range *acu_sim_range_new(uintptr_t base, size_t size, acu_sim_memory kind,
                                 acu_sim_device *device, const void *where) {
    acu_sim_range *range = calloc(1, sizeof *range);
    if (!range)
        return NULL;
    *range =
        (acu_sim_range){.base = base, .size = size, .kind = kind, .device = device, .where = where};
    range->context = acu_sim_context_on(device);
    if (acu_sim_range_add(range))
        return range;
    free(range);
    return NULL;
}

/* ---- attributes of pointers ---- */

static void describe(const acu_sim_range *range, void *address, struct cudaPointerAttributes *a) {
    static const enum cudaMemoryType types[] = {[SIM_DEVICE] = cudaMemoryTypeDevice,
                                                [SIM_PINNED] = cudaMemoryTypeHost,
                                                [SIM_REGISTERED] = cudaMemoryTypeHost,
                                                [SIM_MANAGED] = cudaMemoryTypeManaged};
    memset(a, 0, sizeof *a);
    a->localityDomainOrdinal = -1;
    a->device = cudaInvalidDeviceId;
    if (!range) {
        a->hostPointer = address;
        return;
    }
    a->type = types[range->kind];
    a->device = range->device->index;
    a->devicePointer = acu_sim_range_allows_access(range, acu_sim_device_at(acu_sim_self()->device))
                           ? address
                           : NULL;
    a->hostPointer = range->kind == SIM_DEVICE ? NULL : address;
}

/* Mapped memory has a device, whoever may access it. */
static void describe_mapping(const acu_sim_mapping *m, void *address,
                             struct cudaPointerAttributes *a) {
    a->type = m->of->on_host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    a->device = m->of->device->index;
    a->devicePointer = acu_sim_mapping_access(m, acu_sim_self()->device) ? address : NULL;
    a->hostPointer = m->host ? address : NULL;
}

cudaError_t acu_sim_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                             const void *ptr) {
    const acu_sim_mapping *m = acu_sim_virtual_mapping_at(ptr);
    if (!attributes)
        return cudaErrorInvalidValue;
    describe(acu_sim_range_there(ptr), (void *)(uintptr_t)ptr, attributes);
    if (m)
        describe_mapping(m, (void *)(uintptr_t)ptr, attributes);
    return cudaSuccess;
}
