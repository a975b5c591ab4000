/* Where the bytes of a copy or fill lie, and what memory that is. */
#include "sim/memory/layout.h"

#include "sim/memory/guard.h"
#include "sim/memory/range.h"
#include "sim/memory/virtual.h"

bool acu_sim_layout_is_empty(const struct cudaExtent *extent) {
    return !extent->width || !extent->height || !extent->depth;
}

bool acu_sim_layout_of_memory(const struct cudaPitchedPtr *ptr, const struct cudaPos *pos,
                              const struct cudaExtent *extent, size_t element,
                              acu_sim_layout *layout) {
    size_t rows, slices, skipped, offset;
    layout->in_array = false;
    layout->array = NULL;
    if (__builtin_mul_overflow(extent->width, element, &layout->width) ||
        __builtin_mul_overflow(ptr->pitch, ptr->ysize, &layout->slice) ||
        __builtin_mul_overflow(layout->slice, extent->depth - 1, &slices) ||
        __builtin_mul_overflow(ptr->pitch, extent->height - 1, &rows) ||
        __builtin_add_overflow(slices, rows, &layout->size) ||
        __builtin_add_overflow(layout->size, layout->width, &layout->size) ||
        __builtin_mul_overflow(layout->slice, pos->z, &offset) ||
        __builtin_mul_overflow(ptr->pitch, pos->y, &skipped) ||
        __builtin_add_overflow(offset, skipped, &offset) ||
        __builtin_add_overflow(offset, pos->x, &offset) ||
        (uintptr_t)ptr->ptr + offset < (uintptr_t)ptr->ptr)
        return false;
    layout->base = ptr->ptr;
    layout->at = ptr->ptr ? layout->base + offset : NULL;
    layout->pitch = ptr->pitch;
    return true;
}

static bool is_inside(size_t from, size_t count, size_t all) {
    return from <= all && count <= all - from;
}

/* Returns how many slices or layers of an array can be copied: of a cube of OpenGL's one face. */
static size_t reachable_depth(const acu_sim_array *array) {
    return array->is_view && array->flags & cudaArrayCubemap ? 1 : array->depth;
}

bool acu_sim_layout_of_array(cudaArray_const_t handle, const struct cudaPos *pos,
                             const struct cudaExtent *extent, size_t unit, acu_sim_layout *layout) {
    const acu_sim_array *array = acu_sim_array_of(handle);
    if (!array || !unit || !is_inside(pos->x, extent->width, array->pitch / unit) ||
        !is_inside(pos->y, extent->height, array->height) ||
        !is_inside(pos->z, extent->depth, reachable_depth(array)))
        return false;
    *layout = (acu_sim_layout){.pitch = array->pitch,
                               .slice = array->pitch * array->height,
                               .width = extent->width * unit,
                               .in_array = true};
    if (array->bytes) {
        layout->at = array->bytes + pos->z * layout->slice + pos->y * layout->pitch + pos->x * unit;
        return true;
    }
    layout->array = array;
    layout->x = pos->x * unit;
    layout->y = pos->y;
    layout->z = pos->z;
    return true;
}

/* Returns the address from which on the bytes of a box must be inside of an allocation: in a
 * device's memory of a pool, CUDA does not look at what is skipped. */
static const char *checked_from(const acu_sim_layout *layout) {
    return acu_sim_range_is_loose(layout->base) ? layout->base : layout->at;
}

/* Finds an address in no range: the host's memory, which CUDA does not know, or an error. */
static cudaError_t find_pageable(const void *address, const char *what) {
    acu_sim_guard_explain(address);
    if (!address)
        return SIM_REFUSE(cudaErrorInvalidValue, "the %s is NULL", what);
    if (!acu_sim_range_is_device_address(address))
        return cudaSuccess;
    if (acu_sim_virtual_mapping_at(address))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "no device has access to the memory that is mapped at the %s %p: "
                          "cuMemSetAccess() gives it",
                          what, address);
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "no memory of a device is at the %s %p: it was freed, lies beside an "
                      "allocation, or is reserved without anything mapped to it",
                      what, address);
}

static cudaError_t find_memory(const void *address, size_t size, const char *what,
                               acu_sim_endpoint *endpoint) {
    const acu_sim_range *range = acu_sim_range_of(address);
    *endpoint = (acu_sim_endpoint){.pageable = true, .host = true};
    /* CUDA does not look at what comes behind pageable memory, even if that is registered. */
    if (!range)
        return find_pageable(address, what);
    const size_t rest = range->base + range->size - (uintptr_t)address;
    if (size > rest)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the call uses %zu bytes from the %s %p on, and only %zu are left of "
                          "the %zu bytes that are allocated at %p",
                          size, what, address, rest, range->size, (void *)range->base);
    *endpoint =
        (acu_sim_endpoint){.pinned = range->kind == SIM_PINNED || range->kind == SIM_REGISTERED,
                           .host = range->kind != SIM_DEVICE,
                           .device = true,
                           .range = range};
    return cudaSuccess;
}

cudaError_t acu_sim_layout_find(const acu_sim_layout *layout, const char *what,
                                acu_sim_endpoint *endpoint) {
    if (!layout->in_array)
        return find_memory(checked_from(layout), layout->size, what, endpoint);
    *endpoint = (acu_sim_endpoint){.device = true};
    return cudaSuccess;
}

char *acu_sim_layout_bytes(const acu_sim_layout *layout, bool known, bool writes) {
    const uintptr_t from = (uintptr_t)checked_from(layout);
    const acu_sim_range *range = acu_sim_range_overlapping(from, 1);
    if (!range)
        return known || acu_sim_range_is_device_address(layout->at) ? NULL : layout->at;
    if (range->dormant || (writes && acu_sim_range_is_read_only(range)) ||
        layout->size > range->base + range->size - from ||
        (acu_sim_range_is_loose(layout->base) &&
         !acu_sim_range_is_device_address(layout->at + layout->size - 1)))
        return NULL;
    return acu_sim_range_bytes(range, layout->at);
}
