/*
 * Multicast objects. An object is created memory without bytes of its own; devices are added to it,
 * and bind memory. What a copy or fill writes to a mapping of it lands in a file, as with any
 * created memory, and is copied from there to what each device has bound.
 */
#include "sim/memory/multicast.h"

#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/memory/virtual.h"
#include "sim/stream/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A device's memory at a part of the object. */
typedef struct binding {
    int device;
    size_t at, size;         /* in the object */
    acu_sim_created *memory; /* with a reference; NULL: memory of a pool, at `address` */
    size_t offset;           /* in the memory */
    const void *address;
    struct binding *next;
} binding;

struct acu_sim_multicast {
    unsigned devices, added; /* how many there are to be, and are */
    uint64_t who;            /* the devices that were added, as bits */
    binding *bindings;
};

static pthread_cond_t all_added = PTHREAD_COND_INITIALIZER;
static unsigned objects; /* how many there are; atomic */

/* ---- objects ---- */

void acu_sim_multicast_free(acu_sim_multicast *m) {
    if (!m)
        return;
    for (binding *b = m->bindings, *next; b; b = next) {
        next = b->next;
        acu_sim_created_let_go(b->memory);
        free(b);
    }
    free(m);
    __atomic_sub_fetch(&objects, 1, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&all_added); /* who waits sees that the object is gone */
}

bool acu_sim_multicast_has(const acu_sim_multicast *m, int device) {
    return m->who >> device & 1;
}

static bool is_supported(void) {
    return acu_sim_device_attribute(acu_sim_device_at(0),
                                    (enum cudaDeviceAttr)CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
}

static cudaError_t refuse_devices(void) {
    return SIM_REFUSE(cudaErrorNotSupported,
                      "devices of compute capability %d.%d have no multicast objects, which come "
                      "with 9.0",
                      acu_sim_configuration()->cc / 10, acu_sim_configuration()->cc % 10);
}

static cudaError_t validate_properties(const CUmulticastObjectProp *p) {
    if (!p->numDevices || p->flags)
        return SIM_REFUSE(cudaErrorInvalidValue, "numDevices is 0, or flags is not");
    return is_supported() ? cudaSuccess : refuse_devices();
}

cudaError_t acu_sim_cuMulticastGetGranularity(size_t *granularity,
                                              const CUmulticastObjectProp *prop,
                                              CUmulticastGranularity_flags option) {
    if (!granularity || !prop || (unsigned)option > CU_MULTICAST_GRANULARITY_RECOMMENDED)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "granularity or prop is NULL, or there is no such option");
    SIM_TRY(validate_properties(prop));
    *granularity = SIM_GRANULARITY;
    return cudaSuccess;
}

static bool is_multiple(size_t size) {
    return size % SIM_GRANULARITY == 0;
}

cudaError_t acu_sim_cuMulticastCreate(CUmemGenericAllocationHandle *mcHandle,
                                      const CUmulticastObjectProp *prop) {
    if (!mcHandle || !prop)
        return SIM_REFUSE(cudaErrorInvalidValue, "mcHandle or prop is NULL");
    SIM_TRY(validate_properties(prop));
    if (!prop->size || !is_multiple(prop->size))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the size must be a multiple of the granularity, which is %zu bytes",
                          (size_t)SIM_GRANULARITY);
    acu_sim_multicast *m = calloc(1, sizeof *m);
    if (!m)
        return cudaErrorMemoryAllocation;
    m->devices = prop->numDevices;
    __atomic_add_fetch(&objects, 1, __ATOMIC_SEQ_CST);
    const cudaError_t why =
        acu_sim_created_new_multicast(m, prop->size, (unsigned)prop->handleTypes, mcHandle);
    if (why)
        acu_sim_multicast_free(m);
    return why;
}

/* Returns the object of a handle; NULL if there is none. */
static acu_sim_created *object_of(CUmemGenericAllocationHandle handle) {
    acu_sim_created *memory = acu_sim_created_held(handle);
    return memory && memory->multicast ? memory : NULL;
}

static cudaError_t refuse_handle(void) {
    return SIM_REFUSE(cudaErrorInvalidValue, "the handle is not one of cuMulticastCreate() that "
                                             "was not released");
}

cudaError_t acu_sim_cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev) {
    acu_sim_created *object = object_of(mcHandle);
    if (!object)
        return refuse_handle();
    if (!acu_sim_device_at(dev))
        return SIM_REFUSE(cudaErrorInvalidDevice, "there is no device %d", dev);
    acu_sim_multicast *m = object->multicast;
    if (acu_sim_multicast_has(m, dev))
        return SIM_REFUSE(cudaErrorInvalidValue, "device %d was added already", dev);
    if (m->added == m->devices)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the object is for %u devices, and so many were added", m->devices);
    m->who |= (uint64_t)1 << dev;
    if (++m->added == m->devices)
        pthread_cond_broadcast(&all_added);
    return cudaSuccess;
}

cudaError_t acu_sim_multicast_wait(CUmemGenericAllocationHandle handle) {
    bool said = false;
    SIM_TRY(acu_sim_may_wait());
    for (acu_sim_created *object = object_of(handle); object; object = object_of(handle)) {
        const acu_sim_multicast *m = object->multicast;
        if (m->added == m->devices)
            return cudaSuccess;
        if (!said)
            fprintf(stderr,
                    "anycuda: simulator: a call waits until %u devices are added to a multicast "
                    "object; %u were\n",
                    m->devices, m->added);
        said = true;
        pthread_cond_wait(&all_added, &acu_sim_lock);
    }
    return refuse_handle();
}

/* ---- binding ---- */

/* What is bound, and where. */
typedef struct bind_request {
    CUmemGenericAllocationHandle object;
    int device; /* -1: the memory's */
    size_t at, size;
    acu_sim_created *memory;
    size_t offset;
    const void *address;
    int home; /* the device that has the memory */
} bind_request;

static binding *binding_at(const acu_sim_multicast *m, int device, size_t at, size_t size) {
    for (binding *b = m->bindings; b; b = b->next)
        if (b->device == device && b->at < at + size && at < b->at + b->size)
            return b;
    return NULL;
}

static cudaError_t validate_place(const acu_sim_created *object, const bind_request *r) {
    if (!r->size || !is_multiple(r->size) || !is_multiple(r->at) || !is_multiple(r->offset) ||
        !is_multiple((uintptr_t)r->address))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the size, and both offsets or the address, must be multiples of the "
                          "granularity, which is %zu bytes",
                          (size_t)SIM_GRANULARITY);
    if (r->at > object->size || r->size > object->size - r->at)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "%zu bytes from %zu on are outside of the object, which has %zu bytes",
                          r->size, r->at, object->size);
    return cudaSuccess;
}

static cudaError_t validate_device(const acu_sim_multicast *m, const bind_request *r) {
    if (r->device >= 0 && r->device != r->home)
        return SIM_REFUSE(cudaErrorInvalidValue, "the memory is of device %d, not of device %d",
                          r->home, r->device);
    if (!acu_sim_multicast_has(m, r->home))
        return SIM_REFUSE(cudaErrorInvalidDevice,
                          "the memory is of device %d, which was not added to the object", r->home);
    return binding_at(m, r->home, r->at, r->size)
               ? SIM_REFUSE(cudaErrorInvalidValue,
                            "device %d has bound memory there already: unbind it first", r->home)
               : cudaSuccess;
}

/* Binds memory, once all devices are added. */
static cudaError_t bind(const bind_request *r, unsigned long long flags) {
    acu_sim_created *object = object_of(r->object);
    if (!object)
        return refuse_handle();
    if (flags)
        return SIM_REFUSE(cudaErrorInvalidValue, "flags must be 0");
    SIM_TRY(validate_place(object, r));
    if (object->properties.requestedHandleTypes && r->memory &&
        !r->memory->properties.requestedHandleTypes && !r->memory->imported)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "an object that can be shared takes memory that can be shared only: name "
                          "its handles in requestedHandleTypes");
    acu_sim_created_hold(r->memory); /* the lock is given up */
    cudaError_t why = acu_sim_multicast_wait(r->object);
    if (!why)
        why = validate_device(object->multicast, r);
    binding *b = why ? NULL : calloc(1, sizeof *b);
    if (!b) {
        acu_sim_created_let_go(r->memory);
        return why ? why : cudaErrorMemoryAllocation;
    }
    *b = (binding){
        r->home, r->at, r->size, r->memory, r->offset, r->address, object->multicast->bindings};
    object->multicast->bindings = b;
    return cudaSuccess;
}

static cudaError_t bind_memory(bind_request *r, CUmemGenericAllocationHandle handle,
                               unsigned long long flags) {
    acu_sim_created *memory = acu_sim_created_held(handle);
    if (!memory || memory->multicast || memory->for_arrays || memory->on_host)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the handle is not one of memory of a device that cuMemCreate() made for "
                          "addresses and that was not released");
    if (r->offset > memory->size || r->size > memory->size - r->offset)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "%zu bytes from %zu on are outside of the memory, which has %zu bytes",
                          r->size, r->offset, memory->size);
    r->memory = memory;
    r->home = memory->device->index;
    return bind(r, flags);
}

cudaError_t acu_sim_cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                       CUmemGenericAllocationHandle memHandle, size_t memOffset,
                                       size_t size, unsigned long long flags) {
    bind_request r = {
        .object = mcHandle, .device = -1, .at = mcOffset, .offset = memOffset, .size = size};
    return bind_memory(&r, memHandle, flags);
}

cudaError_t acu_sim_cuMulticastBindMem_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                          size_t mcOffset, CUmemGenericAllocationHandle memHandle,
                                          size_t memOffset, size_t size, unsigned long long flags) {
    bind_request r = {
        .object = mcHandle, .device = dev, .at = mcOffset, .offset = memOffset, .size = size};
    if (!acu_sim_device_at(dev))
        return SIM_REFUSE(cudaErrorInvalidDevice, "there is no device %d", dev);
    return bind_memory(&r, memHandle, flags);
}

/* Binds the memory at an address: created memory that is mapped there, or memory of a pool. */
static cudaError_t bind_address(bind_request *r, CUdeviceptr address, unsigned long long flags) {
    const char *at = (const char *)(uintptr_t)address;
    const acu_sim_mapping *mapped = acu_sim_virtual_mapping_at(at);
    const acu_sim_range *range = acu_sim_range_of(at);
    if (mapped && !mapped->of->multicast && !mapped->of->on_host) {
        const size_t before = address - mapped->base;
        if (r->size > mapped->size - before)
            return SIM_REFUSE(cudaErrorInvalidValue,
                              "%zu bytes at %p are more than is mapped there", r->size,
                              (const void *)at);
        r->memory = mapped->of;
        r->offset = mapped->offset + before;
        r->home = mapped->of->device->index;
        return bind(r, flags);
    }
    if (!range || !range->pool || range->kind != SIM_DEVICE || range->bytes ||
        r->size > range->base + range->size - (uintptr_t)at)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the %zu bytes at %p are neither created memory of a device that is "
                          "mapped there, nor memory of cudaMallocAsync()",
                          r->size, (const void *)at);
    r->address = at;
    r->home = range->device->index;
    return bind(r, flags);
}

cudaError_t acu_sim_cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                        CUdeviceptr memptr, size_t size, unsigned long long flags) {
    bind_request r = {.object = mcHandle, .device = -1, .at = mcOffset, .size = size};
    return bind_address(&r, memptr, flags);
}

cudaError_t acu_sim_cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                           size_t mcOffset, CUdeviceptr memptr, size_t size,
                                           unsigned long long flags) {
    bind_request r = {.object = mcHandle, .device = dev, .at = mcOffset, .size = size};
    if (!acu_sim_device_at(dev))
        return SIM_REFUSE(cudaErrorInvalidDevice, "there is no device %d", dev);
    return bind_address(&r, memptr, flags);
}

static void remove_binding(acu_sim_multicast *m, binding *b) {
    for (binding **at = &m->bindings; *at; at = &(*at)->next)
        if (*at == b) {
            *at = b->next;
            break;
        }
    acu_sim_created_let_go(b->memory);
    free(b);
}

bool acu_sim_multicast_unbind_one(acu_sim_multicast *m, int device) {
    binding *b = m->bindings;
    while (b && b->device != device)
        b = b->next;
    if (b)
        remove_binding(m, b);
    return b;
}

/* Waits for all work, which may write to the object. */
cudaError_t acu_sim_cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                      size_t mcOffset, size_t size) {
    if (!object_of(mcHandle))
        return refuse_handle();
    if (!acu_sim_device_at(dev))
        return SIM_REFUSE(cudaErrorInvalidDevice, "there is no device %d", dev);
    SIM_TRY(acu_sim_may_wait());
    acu_sim_stream_wait_device(NULL);
    acu_sim_created *object = object_of(mcHandle);
    binding *b = object ? binding_at(object->multicast, dev, mcOffset, size) : NULL;
    if (!b || b->at != mcOffset || b->size != size)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "device %d has bound nothing that is %zu bytes long from %zu on", dev,
                          size, mcOffset);
    acu_sim_memory_wait_for_moves();
    remove_binding(object->multicast, b);
    return cudaSuccess;
}

/* ---- bytes ---- */

/* Returns where the memory is that a device has bound to the part of an object, and shortens
 * `count` to the bytes that follow there; NULL if there is none. */
static char *bytes_of(const acu_sim_multicast *m, int device, size_t at, size_t *count) {
    const binding *b = binding_at(m, device, at, 1);
    if (!b)
        return NULL;
    const size_t inside = at - b->at;
    *count = *count < b->size - inside ? *count : b->size - inside;
    if (b->memory) {
        char *bytes = acu_sim_created_bytes(b->memory);
        return bytes ? bytes + b->offset + inside : NULL;
    }
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)b->address, 1);
    return range ? (char *)acu_sim_range_bytes(range, b->address) + inside : NULL;
}

/* Gives bytes to one device. */
static bool give(const acu_sim_multicast *m, int device, size_t at, const char *from,
                 size_t count) {
    for (size_t done = 0, some; done < count; done += some) {
        some = count - done;
        char *to = bytes_of(m, device, at + done, &some);
        if (!to)
            return false;
        memcpy(to, from + done, some);
    }
    return true;
}

/* Gives the bytes of one mapping to all devices. */
static bool spread(const acu_sim_mapping *mapping, const char *written, size_t before,
                   size_t count) {
    const acu_sim_multicast *m = mapping->of->multicast;
    bool good = true;
    for (int device = 0; device < acu_sim_configuration()->devices; device++)
        if (acu_sim_multicast_has(m, device))
            good = give(m, device, mapping->offset + before, written, count) && good;
    return good;
}

bool acu_sim_multicast_spread(const char *written, size_t count) {
    bool good = true;
    if (!__atomic_load_n(&objects, __ATOMIC_SEQ_CST))
        return true;
    pthread_mutex_lock(&acu_sim_lock);
    for (size_t before, some; count; written += some, count -= some) {
        const acu_sim_mapping *mapping = acu_sim_virtual_mapping_of_bytes(written, &before);
        if (!mapping)
            break;
        some = count < mapping->size - before ? count : mapping->size - before;
        if (mapping->of->multicast)
            good = spread(mapping, written, before, some) && good;
    }
    pthread_mutex_unlock(&acu_sim_lock);
    return good;
}

size_t acu_sim_multicast_places(const void *address, size_t bytes, void **places, size_t room) {
    const acu_sim_mapping *mapping = acu_sim_virtual_mapping_at(address);
    size_t count = 0;
    if (!mapping || !mapping->of->multicast)
        return 0;
    const size_t before = (uintptr_t)address - mapping->base;
    if (bytes > mapping->size - before)
        return 0;
    for (int device = 0; device < acu_sim_configuration()->devices; device++) {
        size_t there = bytes;
        if (!acu_sim_multicast_has(mapping->of->multicast, device))
            continue;
        char *at = bytes_of(mapping->of->multicast, device, mapping->offset + before, &there);
        if (!at || there < bytes)
            return 0;
        if (count < room)
            places[count] = at;
        count++;
    }
    return count;
}
