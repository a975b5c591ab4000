/*
 * Virtual memory management: programs reserve addresses, create memory and map the one to the
 * other, each by a call of its own.
 *
 * The host cannot access reserved addresses, as it cannot any of a device's. Each reservation has a
 * shadow of the same size beside it; memory is a file, which is mapped into the shadow at the same
 * offset as the memory into the reservation. Adjacent mappings with the same access form one range,
 * like an allocation's.
 */
#define _GNU_SOURCE /* memfd_create */

#include "sim/memory/virtual.h"

#include "sim/caller.h"
#include "sim/cuda_bodies.h"
#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/set.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GRANULARITY = 2 << 20 };

typedef struct reservation {
    uintptr_t base;
    char *shadow;
    size_t size;       /* in bytes, of the addresses and of the shadow */
    const void *where; /* the call that reserved them */
    struct reservation *next;
} reservation;

typedef struct acu_sim_created {
    unsigned held;   /* references of the program */
    uint64_t mapped; /* references of mappings, also to arrays */
    int file;
    size_t size; /* in bytes */
    char *bytes; /* where the simulator accesses them; NULL: nothing was mapped to an array yet */
    acu_sim_device *device;
    CUmemAllocationProp properties;
    bool for_arrays;   /* it can be mapped to arrays, and to nothing else */
    const void *where; /* the call that created it */
    struct acu_sim_created *next;
} memory;

typedef struct mapping {
    reservation *in;
    memory *of;
    uintptr_t base;
    size_t size;
    uint64_t access, writes; /* a bit per device: may it access, and write */
    struct mapping *next;    /* by address */
} mapping;

/* All of them; under the lock. */
static reservation *reservations;
static memory *memories;
static mapping *mappings;
static acu_sim_set handles;

/* ---- reserving ---- */

static bool is_multiple(size_t size) {
    return size && size % GRANULARITY == 0;
}

static reservation *reservation_of(uintptr_t address, size_t size) {
    for (reservation *r = reservations; r; r = r->next)
        if (address >= r->base && size <= r->size && address - r->base <= r->size - size)
            return r;
    return NULL;
}

bool acu_sim_virtual_is_reserved(const void *address) {
    return reservation_of((uintptr_t)address, 1) != NULL;
}

/* Maps inaccessible pages at a multiple of the alignment; returns NULL without memory. More is
 * mapped than needed, and the rest unmapped. */
static void *map_aligned(size_t size, size_t alignment) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *at = mmap(NULL, size + alignment, PROT_NONE, flags, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t before = (0 - (uintptr_t)at) & (alignment - 1);
    if (before)
        munmap(at, before);
    munmap(at + before + size, alignment - before);
    return at + before;
}

static cudaError_t reserve(size_t size, size_t alignment, uintptr_t *base) {
    reservation *r = calloc(1, sizeof *r);
    void *at = r ? map_aligned(size, alignment) : NULL;
    void *shadow = at ? map_aligned(size, GRANULARITY) : NULL;
    if (!shadow) {
        if (at)
            munmap(at, size);
        free(r);
        return cudaErrorMemoryAllocation;
    }
    *r = (reservation){.base = (uintptr_t)at,
                       .shadow = shadow,
                       .size = size,
                       .where = SIM_CALLER,
                       .next = reservations};
    reservations = r;
    *base = r->base;
    return cudaSuccess;
}

static void free_reservation(reservation *r) {
    for (reservation **at = &reservations; *at; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            break;
        }
    munmap((void *)r->base, r->size);
    munmap(r->shadow, r->size);
    free(r);
}

/* ---- memory ---- */

/* Finds memory, which the program may have released, but which is still mapped. */
static memory *memory_of(CUmemGenericAllocationHandle handle) {
    memory *m = (memory *)(uintptr_t)handle;
    return acu_sim_set_has(&handles, m) ? m : NULL;
}

static memory *held_memory_of(CUmemGenericAllocationHandle handle) {
    memory *m = memory_of(handle);
    return m && m->held ? m : NULL;
}

/* Releases the memory, if neither the program nor a mapping has a reference to it any more. */
static void settle(memory *m) {
    if (m->held || m->mapped)
        return;
    acu_sim_set_remove(&handles, m);
    for (memory **at = &memories; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    m->device->used -= m->size;
    if (m->bytes)
        munmap(m->bytes, m->size);
    close(m->file);
    free(m);
}

static cudaError_t validate_properties(const CUmemAllocationProp *p, acu_sim_device **device) {
    if (p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return cudaErrorInvalidValue;
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return acu_sim_driver_knows(&acu_cuda_type_CUmemLocationType_enum, p->location.type) &&
                       p->location.type != CU_MEM_LOCATION_TYPE_INVALID &&
                       p->location.type != CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
                   ? cudaErrorNotSupported
                   : cudaErrorInvalidValue;
    if (p->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return cudaErrorNotSupported; /* sharing with other processes is not simulated */
    *device = acu_sim_device_at(p->location.id);
    return *device ? cudaSuccess : cudaErrorInvalidDevice;
}

static cudaError_t create(size_t size, const CUmemAllocationProp *properties,
                          acu_sim_device *device, memory **made) {
    if (!acu_sim_memory_charge(device, size))
        return cudaErrorMemoryAllocation;
    memory *m = calloc(1, sizeof *m);
    int file = m ? memfd_create("anycuda", MFD_CLOEXEC) : -1;
    if (file < 0 || ftruncate(file, (off_t)size) || !acu_sim_set_add(&handles, m)) {
        device->used -= size;
        if (file >= 0)
            close(file);
        free(m);
        return cudaErrorMemoryAllocation;
    }
    *m = (memory){.held = 1,
                  .file = file,
                  .size = size,
                  .device = device,
                  .properties = *properties,
                  .for_arrays = properties->allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL,
                  .where = SIM_CALLER,
                  .next = memories};
    m->properties.allocFlags.usage = 0; /* which CUDA does not report */
    memories = m;
    *made = m;
    return cudaSuccess;
}

/* ---- for arrays ---- */

acu_sim_created *acu_sim_created_for_arrays(CUmemGenericAllocationHandle handle,
                                            const acu_sim_device *device) {
    memory *m = held_memory_of(handle);
    return m && m->for_arrays && m->device == device ? m : NULL;
}

size_t acu_sim_created_size(const acu_sim_created *m) {
    return m->size;
}

char *acu_sim_created_bytes(acu_sim_created *m) {
    if (m->bytes)
        return m->bytes;
    void *at = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, m->file, 0);
    return m->bytes = at == MAP_FAILED ? NULL : at;
}

void acu_sim_created_hold(acu_sim_created *m) {
    if (m)
        m->mapped++;
}

void acu_sim_created_let_go(acu_sim_created *m) {
    if (!m)
        return;
    m->mapped--;
    settle(m);
}

/* ---- mapping ---- */

static bool continues(const mapping *a, const mapping *b) {
    return b && a->in == b->in && a->base + a->size == b->base && a->access == b->access &&
           a->writes == b->writes && a->of->device == b->of->device;
}

static bool add_range(const mapping *first, size_t size) {
    acu_sim_range *range = calloc(1, sizeof *range);
    if (!range)
        return false;
    *range = (acu_sim_range){.base = first->base,
                             .size = size,
                             .kind = SIM_DEVICE,
                             .device = first->of->device,
                             .bytes = first->in->shadow + (first->base - first->in->base),
                             .access = first->access,
                             .writes = first->writes};
    if (acu_sim_range_add(range))
        return true;
    free(range);
    return false;
}

/* Makes a reservation's ranges anew, after each change of its mappings; false without memory. */
static bool make_ranges(const reservation *r) {
    bool good = true;
    for (acu_sim_range *range = acu_sim_range_overlapping(r->base, r->size); range;
         range = acu_sim_range_overlapping(r->base, r->size))
        acu_sim_range_remove(range);
    for (const mapping *m = mappings; m; m = m->next) {
        const mapping *first = m;
        size_t size = m->size;
        for (; continues(m, m->next); m = m->next)
            size += m->next->size;
        if (first->in == r && first->access)
            good = add_range(first, size) && good;
    }
    return good;
}

static cudaError_t map(reservation *in, uintptr_t base, memory *of, size_t size) {
    mapping *m = calloc(1, sizeof *m), **at = &mappings;
    void *shadow = in->shadow + (base - in->base);
    if (!m || mmap(shadow, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, of->file, 0) ==
                  MAP_FAILED) {
        free(m);
        return cudaErrorMemoryAllocation;
    }
    while (*at && (*at)->base < base)
        at = &(*at)->next;
    *m = (mapping){.in = in, .of = of, .base = base, .size = size, .next = *at};
    *at = m;
    of->mapped++;
    return cudaSuccess;
}

static void unmap(mapping *m) {
    for (mapping **at = &mappings; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    char *shadow = m->in->shadow + (m->base - m->in->base);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    acu_sim_memory_wait_for_moves();
    if (mmap(shadow, m->size, PROT_NONE, flags, -1, 0) == MAP_FAILED)
        (void)mprotect(shadow, m->size, PROT_NONE); /* the bytes stay until the addresses go */
    m->of->mapped--;
    settle(m->of);
    free(m);
}

/* Returns the first mapping that has a byte of these addresses; NULL if there is none. */
static mapping *mapping_in(uintptr_t base, size_t size) {
    for (mapping *m = mappings; m; m = m->next)
        if (m->base < base + size && base < m->base + m->size)
            return m;
    return NULL;
}

/* Returns whether these addresses are whole mappings, without gaps. */
static bool are_mappings(uintptr_t base, size_t size) {
    uintptr_t at = base;
    for (const mapping *m = mapping_in(base, size); m && at < base + size && m->base == at;
         m = m->next)
        at += m->size;
    return size && at == base + size;
}

/* Returns whether a mapping is only partly at these addresses. */
static bool cuts_a_mapping(uintptr_t base, size_t size) {
    for (const mapping *m = mapping_in(base, size); m && m->base < base + size; m = m->next)
        if (m->base < base || m->size > base + size - m->base)
            return true;
    return false;
}

/* ---- calls: addresses ---- */

cudaError_t acu_sim_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                        CUdeviceptr addr, unsigned long long flags) {
    uintptr_t base;
    (void)addr; /* the program may wish for an address, and CUDA need not heed it */
    if (!ptr || !is_multiple(size) || alignment & (alignment - 1) || flags)
        return cudaErrorInvalidValue;
    SIM_TRY(reserve(size, alignment > GRANULARITY ? alignment : GRANULARITY, &base));
    *ptr = base;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    reservation *r = reservation_of((uintptr_t)ptr, size);
    if (!r || r->base != ptr || r->size != size || mapping_in(r->base, r->size))
        return cudaErrorInvalidValue;
    free_reservation(r);
    return cudaSuccess;
}

/* ---- calls: memory ---- */

cudaError_t acu_sim_cuMemGetAllocationGranularity(size_t *granularity,
                                                  const CUmemAllocationProp *prop,
                                                  CUmemAllocationGranularity_flags option) {
    if (!granularity || !prop || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return cudaErrorInvalidValue;
    *granularity = GRANULARITY; /* for memory of all properties */
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                                const CUmemAllocationProp *prop, unsigned long long flags) {
    acu_sim_device *device;
    memory *made;
    if (!handle || !prop || !is_multiple(size) || flags)
        return cudaErrorInvalidValue;
    SIM_TRY(validate_properties(prop, &device));
    SIM_TRY(create(size, prop, device, &made));
    *handle = (uintptr_t)made;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemRelease(CUmemGenericAllocationHandle handle) {
    memory *m = held_memory_of(handle);
    if (!m)
        return cudaErrorInvalidValue;
    m->held--;
    settle(m);
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                           CUmemGenericAllocationHandle handle) {
    const memory *m = memory_of(handle);
    if (!prop || !m)
        return cudaErrorInvalidValue;
    *prop = m->properties;
    return cudaSuccess;
}

/* Memory that the program has released, but that is still mapped, can be used again. */
cudaError_t acu_sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr) {
    mapping *m = mapping_in((uintptr_t)addr, 1);
    if (!handle || !m)
        return cudaErrorInvalidValue;
    m->of->held++;
    *handle = (uintptr_t)m->of;
    return cudaSuccess;
}

/* ---- calls: mapping and access ---- */

cudaError_t acu_sim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                             CUmemGenericAllocationHandle handle, unsigned long long flags) {
    memory *m = held_memory_of(handle);
    reservation *r = reservation_of((uintptr_t)ptr, size);
    if (flags || !m || m->for_arrays || !r || !is_multiple(size) || ptr % GRANULARITY)
        return cudaErrorInvalidValue;
    if (offset || size > m->size)
        return cudaErrorNotSupported;
    if (mapping_in((uintptr_t)ptr, size))
        return cudaErrorInvalidValue;
    return map(r, (uintptr_t)ptr, m, size);
}

/* Waits for all work, because it may use the memory. Addresses without a mapping are accepted. */
cudaError_t acu_sim_cuMemUnmap(CUdeviceptr ptr, size_t size) {
    if (!is_multiple(size) || !reservation_of((uintptr_t)ptr, size) ||
        cuts_a_mapping((uintptr_t)ptr, size))
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_may_wait());
    acu_sim_stream_wait_device(NULL);
    const reservation *r = reservation_of((uintptr_t)ptr, size);
    if (!r) /* another thread freed the addresses, while the lock was given up */
        return cudaSuccess;
    for (mapping *m = mapping_in((uintptr_t)ptr, size); m; m = mapping_in((uintptr_t)ptr, size))
        unmap(m);
    return make_ranges(r) ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t validate_access(const CUmemAccessDesc *desc) {
    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return cudaErrorNotSupported;
    if (!acu_sim_device_at(desc->location.id))
        return cudaErrorInvalidValue;
    return desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
                   desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                   desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

static void set_access(uintptr_t base, size_t size, const CUmemAccessDesc *desc) {
    uint64_t bit = (uint64_t)1 << desc->location.id;
    for (mapping *m = mappings; m; m = m->next)
        if (m->base >= base && m->base < base + size) {
            m->access =
                desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? m->access & ~bit : m->access | bit;
            m->writes = desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? m->writes | bit
                                                                          : m->writes & ~bit;
        }
}

cudaError_t acu_sim_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                   size_t count) {
    if (!desc || !count || !are_mappings((uintptr_t)ptr, size))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        SIM_TRY(validate_access(&desc[i]));
    for (size_t i = 0; i < count; i++)
        set_access((uintptr_t)ptr, size, &desc[i]);
    return make_ranges(reservation_of((uintptr_t)ptr, size)) ? cudaSuccess
                                                             : cudaErrorMemoryAllocation;
}

cudaError_t acu_sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                   CUdeviceptr ptr) {
    const mapping *m = mapping_in((uintptr_t)ptr, 1);
    if (!flags || !location || !m)
        return cudaErrorInvalidValue;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return cudaErrorNotSupported;
    if (!acu_sim_device_at(location->id))
        return cudaErrorInvalidDevice;
    *flags = m->writes >> location->id & 1   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : m->access >> location->id & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                             : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return cudaSuccess;
}

/* ---- reset and leaks ---- */

static mapping *first_of(const acu_sim_device *device) {
    mapping *m = mappings;
    while (m && m->of->device != device)
        m = m->next;
    return m;
}

/* Memory goes with its device, from wherever it is mapped; addresses are the program's until the
 * end. */
static void reset_device(acu_sim_device *device) {
    memory *next;
    for (mapping *m = first_of(device); m; m = first_of(device)) {
        const reservation *r = m->in;
        unmap(m);
        (void)make_ranges(r);
    }
    for (memory *m = memories; m; m = next) {
        next = m->next;
        if (m->device == device) {
            m->held = 0;
            settle(m);
        }
    }
}

static void reset(void) {
    while (reservations)
        free_reservation(reservations);
}

static int leaks(int print) {
    int count = 0;
    for (const reservation *r = reservations; r; r = r->next, count++)
        if (print)
            acu_sim_caller_report("reserved addresses", (void *)r->base, r->size, r->where);
    for (const memory *m = memories; m; m = m->next, count++)
        if (print)
            acu_sim_caller_report("created memory", m, m->size, m->where);
    return count;
}

const acu_sim_noun acu_sim_virtual_noun = {
    .reset_device = reset_device, .reset = reset, .leaks = leaks};
