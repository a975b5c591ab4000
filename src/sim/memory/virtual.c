/*
 * Virtual memory management: addresses, memory, and which is where, each made by itself.
 *
 * Reserved addresses are inaccessible, as all of a device's; beside them, at the same offsets, is
 * a shadow in which the files stand that memory is. What is mapped and may be accessed is a range
 * like any allocation's, one for all that lies side by side.
 */
#define _GNU_SOURCE /* memfd_create */

#include "sim/memory/virtual.h"
#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"
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
    size_t size;
    const void *where;
    struct reservation *next;
} reservation;

typedef struct memory {
    unsigned held, mapped; /* by the program's handle, by mappings */
    int file;
    size_t size;
    acu_sim_device *device;
    CUmemAllocationProp properties;
    const void *where;
    struct memory *next;
} memory;

typedef struct mapping {
    reservation *in;
    memory *of;
    uintptr_t base;
    size_t size;
    uint64_t access, writes; /* a bit per device */
    struct mapping *next;    /* all, by address */
} mapping;

static reservation *reservations;
static memory *memories;
static mapping *mappings;
static acu_sim_set handles;

/* ---- reserving ----------------------------------------------------------------------------------
 */

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

/* Inaccessible pages at such an address; what is too much goes back. */
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

static cudaError_t reserve(size_t size, size_t alignment, const void *where, uintptr_t *base) {
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
                       .where = where,
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

/* ---- memory -------------------------------------------------------------------------------------
 */

static memory *memory_of(CUmemGenericAllocationHandle handle) {
    memory *m = (memory *)(uintptr_t)handle;
    return acu_sim_set_has(&handles, m) ? m : NULL;
}

/* Where nobody needs it any more. */
static void settle(memory *m) {
    if (!m->held)
        acu_sim_set_remove(&handles, m);
    if (m->held || m->mapped)
        return;
    for (memory **at = &memories; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    m->device->used -= m->size;
    close(m->file);
    free(m);
}

static cudaError_t judge_properties(const CUmemAllocationProp *p, acu_sim_device **device) {
    if (p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return cudaErrorInvalidValue;
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return acu_sim_driver_knows(&acu_cuda_type_CUmemLocationType_enum, p->location.type) &&
                       p->location.type != CU_MEM_LOCATION_TYPE_INVALID
                   ? cudaErrorNotSupported
                   : cudaErrorInvalidValue;
    if (p->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return cudaErrorNotSupported; /* to be shared with other processes */
    *device = acu_sim_device_at(p->location.id);
    return *device ? cudaSuccess : cudaErrorInvalidDevice;
}

static cudaError_t create(size_t size, const CUmemAllocationProp *properties,
                          acu_sim_device *device, const void *where, memory **made) {
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
                  .where = where,
                  .next = memories};
    memories = m;
    *made = m;
    return cudaSuccess;
}

/* ---- mapping ------------------------------------------------------------------------------------
 */

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

/* Anew, after each change. */
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

/* The first mapping that has a byte of these. */
static mapping *mapping_in(uintptr_t base, size_t size) {
    for (mapping *m = mappings; m; m = m->next)
        if (m->base < base + size && base < m->base + m->size)
            return m;
    return NULL;
}

/* These addresses are whole mappings, without gaps. */
static bool are_mappings(uintptr_t base, size_t size) {
    uintptr_t at = base;
    for (const mapping *m = mapping_in(base, size); m && at < base + size && m->base == at;
         m = m->next)
        at += m->size;
    return size && at == base + size;
}

/* One of them is only partly at these addresses. */
static bool cuts_a_mapping(uintptr_t base, size_t size) {
    for (const mapping *m = mapping_in(base, size); m && m->base < base + size; m = m->next)
        if (m->base < base || m->size > base + size - m->base)
            return true;
    return false;
}

/* ---- the API: addresses -------------------------------------------------------------------------
 */

static CUresult leave(cudaError_t result) {
    acu_sim_leave_driver();
    return acu_sim_driver_result(result);
}

CUresult acu_sim_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags) {
    uintptr_t base;
    (void)addr; /* a wish */
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && (!ptr || !is_multiple(size) || alignment & (alignment - 1) || flags))
        result = cudaErrorInvalidValue;
    if (!result)
        result =
            reserve(size, alignment > GRANULARITY ? alignment : GRANULARITY, SIM_CALLER, &base);
    if (!result)
        *ptr = base;
    return leave(result);
}

CUresult acu_sim_cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    reservation *r = reservation_of((uintptr_t)ptr, size);
    if (!result && (!r || r->base != ptr || r->size != size || mapping_in(r->base, r->size)))
        result = cudaErrorInvalidValue;
    if (!result)
        free_reservation(r);
    return leave(result);
}

/* ---- the API: memory ----------------------------------------------------------------------------
 */

CUresult acu_sim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result &&
        (!granularity || !prop || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        result = cudaErrorInvalidValue;
    if (!result) /* wherever, and whatever it is to be */
        *granularity = GRANULARITY;
    return leave(result);
}

CUresult acu_sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                             const CUmemAllocationProp *prop, unsigned long long flags) {
    acu_sim_device *device;
    memory *made;
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && (!handle || !prop || !is_multiple(size) || flags))
        result = cudaErrorInvalidValue;
    if (!result)
        result = judge_properties(prop, &device);
    if (!result)
        result = create(size, prop, device, SIM_CALLER, &made);
    if (!result)
        *handle = (uintptr_t)made;
    return leave(result);
}

/* Enters, and finds the memory; `good` is that the other arguments are. */
static cudaError_t enter(CUmemGenericAllocationHandle handle, bool good, memory **m) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && (!good || !(*m = memory_of(handle))))
        result = cudaErrorInvalidValue;
    return result;
}

CUresult acu_sim_cuMemRelease(CUmemGenericAllocationHandle handle) {
    memory *m;
    cudaError_t result = enter(handle, true, &m);
    if (!result) {
        m->held--;
        settle(m);
    }
    return leave(result);
}

CUresult acu_sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                        CUmemGenericAllocationHandle handle) {
    memory *m;
    cudaError_t result = enter(handle, prop != NULL, &m);
    if (!result)
        *prop = m->properties;
    return leave(result);
}

/* Also where the program gave its handle back. */
CUresult acu_sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    mapping *m = mapping_in((uintptr_t)addr, 1);
    if (!result && (!handle || !m))
        result = cudaErrorInvalidValue;
    if (!result && !m->of->held && !acu_sim_set_add(&handles, m->of))
        result = cudaErrorMemoryAllocation;
    if (!result) {
        m->of->held++;
        *handle = (uintptr_t)m->of;
    }
    return leave(result);
}

/* ---- the API: mapping and access ----------------------------------------------------------------
 */

CUresult acu_sim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags) {
    memory *m = NULL;
    cudaError_t result = enter(handle, !flags, &m);
    reservation *r = reservation_of((uintptr_t)ptr, size);
    if (!result && (!r || !is_multiple(size) || ptr % GRANULARITY))
        result = cudaErrorInvalidValue;
    if (!result && (offset || size > m->size))
        result = cudaErrorNotSupported;
    if (!result && mapping_in((uintptr_t)ptr, size))
        result = cudaErrorInvalidValue;
    if (!result)
        result = map(r, (uintptr_t)ptr, m, size);
    return leave(result);
}

/* What uses it is waited for. Where nothing is, there is nothing to do. */
CUresult acu_sim_cuMemUnmap(CUdeviceptr ptr, size_t size) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && (!is_multiple(size) || !reservation_of((uintptr_t)ptr, size) ||
                    cuts_a_mapping((uintptr_t)ptr, size)))
        result = cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_may_wait();
    if (!result)
        acu_sim_stream_wait_device(NULL);
    reservation *r = result ? NULL : reservation_of((uintptr_t)ptr, size);
    for (mapping *m = r ? mapping_in((uintptr_t)ptr, size) : NULL; m;
         m = mapping_in((uintptr_t)ptr, size))
        unmap(m);
    if (r && !make_ranges(r))
        result = cudaErrorMemoryAllocation;
    return leave(result);
}

static cudaError_t judge_access(const CUmemAccessDesc *desc) {
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

CUresult acu_sim_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                size_t count) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    if (!result && (!desc || !count || !are_mappings((uintptr_t)ptr, size)))
        result = cudaErrorInvalidValue;
    for (size_t i = 0; !result && i < count; i++)
        result = judge_access(&desc[i]);
    for (size_t i = 0; !result && i < count; i++)
        set_access((uintptr_t)ptr, size, &desc[i]);
    if (!result && !make_ranges(reservation_of((uintptr_t)ptr, size)))
        result = cudaErrorMemoryAllocation;
    return leave(result);
}

CUresult acu_sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                CUdeviceptr ptr) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_DRIVER, NULL);
    const mapping *m = mapping_in((uintptr_t)ptr, 1);
    if (!result && (!flags || !location || !m))
        result = cudaErrorInvalidValue;
    if (!result && location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        result = cudaErrorNotSupported;
    if (!result && !acu_sim_device_at(location->id))
        result = cudaErrorInvalidDevice;
    if (!result)
        *flags = m->writes >> location->id & 1   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : m->access >> location->id & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return leave(result);
}

/* ---- taking back --------------------------------------------------------------------------------
 */

static mapping *first_of(const acu_sim_device *device) {
    mapping *m = mappings;
    while (m && device && m->of->device != device)
        m = m->next;
    return m;
}

/* A device's memory goes from wherever it is; addresses are the program's until the end. */
void acu_sim_virtual_reset(const acu_sim_device *device) {
    memory *next;
    for (mapping *m = first_of(device); m; m = first_of(device)) {
        const reservation *r = m->in;
        unmap(m);
        (void)make_ranges(r);
    }
    for (memory *m = memories; m; m = next) {
        next = m->next;
        if (!device || m->device == device) {
            m->held = 0;
            settle(m);
        }
    }
    while (!device && reservations)
        free_reservation(reservations);
}

int acu_sim_virtual_leaks(int print) {
    int count = 0;
    for (const reservation *r = reservations; r; r = r->next, count++)
        if (print)
            acu_sim_caller_report("reserved addresses", (void *)r->base, r->size, r->where);
    for (const memory *m = memories; m; m = m->next, count++)
        if (print)
            acu_sim_caller_report("created memory", m, m->size, m->where);
    return count;
}
