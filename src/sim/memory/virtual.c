/*
 * Virtual memory management: programs reserve addresses, create memory and map the one to the
 * other, each by a call of its own.
 *
 * The host cannot access reserved addresses, as it cannot any of a device's, unless they have
 * memory of the host and the program says so. Each reservation has a shadow of the same size beside
 * it; memory is a file, which is mapped into the shadow at the same offset as the memory into the
 * reservation. Adjacent mappings with the same access form one range, like an allocation's.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "sim/memory/virtual.h"

#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/memory/memory.h"
#include "sim/memory/multicast.h"
#include "sim/memory/range.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <sys/mman.h>

typedef struct acu_sim_reservation reservation;
typedef acu_sim_mapping mapping;

/* All of them; under the lock. */
static reservation *reservations;
static mapping *mappings;

/* ---- reserving ---- */

static bool is_multiple(size_t size) {
    return size && size % SIM_GRANULARITY == 0;
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
    void *shadow = at ? map_aligned(size, SIM_GRANULARITY) : NULL;
    if (!shadow) {
        if (at)
            munmap(at, size);
        free(r);
        return SIM_REFUSE(cudaErrorMemoryAllocation,
                          "the process has no %zu bytes of addresses that are free, at a multiple "
                          "of %zu",
                          size, alignment);
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

/* ---- mapping ---- */

static bool continues(const mapping *a, const mapping *b) {
    return b && a->in == b->in && a->base + a->size == b->base && a->access == b->access &&
           a->writes == b->writes && a->of->device == b->of->device &&
           a->of->on_host == b->of->on_host && !a->of->multicast == !b->of->multicast;
}

static bool add_range(const mapping *first, size_t size) {
    acu_sim_range *range = calloc(1, sizeof *range);
    if (!range)
        return false;
    *range = (acu_sim_range){.base = first->base,
                             .size = size,
                             .kind = first->of->on_host ? SIM_PINNED : SIM_DEVICE,
                             .device = first->of->device,
                             .flags = cudaHostAllocPortable, /* as CUDA reports it */
                             .multicast = first->of->multicast != NULL,
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

/* Lets the host access a mapping, or not. Returns false without memory. */
static bool set_host_access(mapping *m, CUmemAccess_flags flags) {
    const bool any = flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    const int protection = !any                                          ? PROT_NONE
                           : flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE
                                                                         : PROT_READ;
    const int how =
        any ? MAP_SHARED | MAP_FIXED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (flags == m->host)
        return true;
    if (mmap((void *)m->base, m->size, protection, how, any ? m->of->file : -1,
             any ? (off_t)m->offset : 0) == MAP_FAILED)
        return false;
    m->host = flags;
    return true;
}

static cudaError_t map(reservation *in, uintptr_t base, acu_sim_created *of, size_t offset,
                       size_t size) {
    mapping *m = calloc(1, sizeof *m), **at = &mappings;
    void *shadow = in->shadow + (base - in->base);
    if (!m || mmap(shadow, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, of->file,
                   (off_t)offset) == MAP_FAILED) {
        free(m);
        return cudaErrorMemoryAllocation;
    }
    while (*at && (*at)->base < base)
        at = &(*at)->next;
    *m = (mapping){.in = in,
                   .of = of,
                   .base = base,
                   .size = size,
                   .offset = offset,
                   .id = acu_sim_range_new_id(),
                   .next = *at};
    *at = m;
    acu_sim_created_hold(of);
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
    if (!set_host_access(m, CU_MEM_ACCESS_FLAGS_PROT_NONE))
        (void)mprotect((void *)m->base, m->size, PROT_NONE);
    if (mmap(shadow, m->size, PROT_NONE, flags, -1, 0) == MAP_FAILED)
        (void)mprotect(shadow, m->size, PROT_NONE); /* the bytes stay until the addresses go */
    acu_sim_created_let_go(m->of);
    free(m);
}

/* Returns the first mapping that has a byte of these addresses; NULL if there is none. */
static mapping *mapping_in(uintptr_t base, size_t size) {
    for (mapping *m = mappings; m; m = m->next)
        if (m->base < base + size && base < m->base + m->size)
            return m;
    return NULL;
}

const acu_sim_mapping *acu_sim_virtual_mapping_at(const void *address) {
    return mapping_in((uintptr_t)address, 1);
}

const acu_sim_mapping *acu_sim_virtual_mapping_of_bytes(const char *at, size_t *before) {
    for (const mapping *m = mappings; m; m = m->next) {
        const char *first = m->in->shadow + (m->base - m->in->base);
        if ((uintptr_t)at - (uintptr_t)first < m->size) {
            *before = (size_t)(at - first);
            return m;
        }
    }
    return NULL;
}

/* Returns whether a mapping begins where these addresses do, and one ends where they do. CUDA looks
 * at no more: there may be gaps between the two. */
static bool are_mappings(uintptr_t base, size_t size) {
    const mapping *first = mapping_in(base, size);
    const mapping *last = size ? mapping_in(base + size - 1, 1) : NULL;
    return first && last && first->base == base && last->base + last->size == base + size;
}

/* Returns whether a mapping is only partly at these addresses. */
static bool cuts_a_mapping(uintptr_t base, size_t size) {
    for (const mapping *m = mapping_in(base, size); m && m->base < base + size; m = m->next)
        if (m->base < base || m->size > base + size - m->base)
            return true;
    return false;
}

/* ---- calls: addresses ---- */

static cudaError_t refuse_no_place(void) {
    return SIM_REFUSE(cudaErrorInvalidValue, "there is no place for the address: it is NULL");
}

cudaError_t acu_sim_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                        CUdeviceptr addr, unsigned long long flags) {
    uintptr_t base;
    (void)addr; /* the program may wish for an address, and CUDA need not heed it */
    if (!ptr)
        return refuse_no_place();
    if (flags)
        return SIM_REFUSE(cudaErrorInvalidValue, "flags is %llu, and must be 0", flags);
    if (!is_multiple(size))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the size is %zu bytes, and must be a multiple of the granularity, which "
                          "is %zu, and not 0",
                          size, (size_t)SIM_GRANULARITY);
    if (alignment & (alignment - 1))
        return SIM_REFUSE(cudaErrorInvalidValue, "the alignment %zu is no power of two", alignment);
    SIM_TRY(reserve(size, alignment > SIM_GRANULARITY ? alignment : SIM_GRANULARITY, &base));
    *ptr = base;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    reservation *r = reservation_of((uintptr_t)ptr, size);
    if (!r || r->base != ptr || r->size != size)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "%zu bytes at %p are not addresses that one call of "
                          "cuMemAddressReserve() reserved",
                          size, (void *)(uintptr_t)ptr);
    if (mapping_in(r->base, r->size))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "memory is still mapped to the addresses at %p: call cuMemUnmap() first",
                          (void *)(uintptr_t)ptr);
    free_reservation(r);
    return cudaSuccess;
}

/* ---- calls: mapping and access ---- */

static cudaError_t refuse_unreserved(uintptr_t base, size_t size) {
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "the %zu bytes at %p are not addresses of one reservation by "
                      "cuMemAddressReserve()",
                      size, (void *)base);
}

/* Memory that the program has released, but that is still mapped, can be used again. */
cudaError_t acu_sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr) {
    const mapping *m = mapping_in((uintptr_t)addr, 1);
    if (!handle || !m)
        return SIM_REFUSE(cudaErrorInvalidValue, "handle is NULL, or nothing is mapped at %p",
                          addr);
    m->of->held++;
    *handle = (uintptr_t)m->of;
    return cudaSuccess;
}

/* Of a multicast object a part can be mapped, once all devices were added. */
static cudaError_t map_multicast(uintptr_t base, size_t size, size_t offset,
                                 CUmemGenericAllocationHandle handle) {
    const acu_sim_created *object = acu_sim_created_held(handle);
    if (base % SIM_GRANULARITY || size % SIM_GRANULARITY || offset % SIM_GRANULARITY ||
        offset > object->size || size > object->size - offset)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the address, the size and the offset in a multicast object must be "
                          "multiples of the granularity, and inside of its %zu bytes",
                          object->size);
    SIM_TRY(acu_sim_multicast_wait(handle));
    reservation *in = reservation_of(base, size);
    if (!in)
        return refuse_unreserved(base, size);
    return mapping_in(base, size)
               ? SIM_REFUSE(cudaErrorInvalidValue,
                            "memory is mapped to a part of the addresses at %p already",
                            (void *)base)
               : map(in, base, acu_sim_created_held(handle), offset, size);
}

/* All of the memory is mapped, or nothing. */
cudaError_t acu_sim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                             CUmemGenericAllocationHandle handle, unsigned long long flags) {
    acu_sim_created *memory = acu_sim_created_held(handle);
    reservation *in = reservation_of((uintptr_t)ptr, size);
    if (flags || !memory || memory->for_arrays || !size)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "flags or size is wrong, or the handle is not one of cuMemCreate() for "
                          "addresses that was not released");
    if (!in)
        return refuse_unreserved((uintptr_t)ptr, size);
    if (memory->multicast)
        return map_multicast((uintptr_t)ptr, size, offset, handle);
    if (offset || size != memory->size)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the whole memory of %zu bytes is mapped or nothing: offset must be 0, "
                          "and size the memory's",
                          memory->size);
    return ptr % SIM_GRANULARITY || mapping_in((uintptr_t)ptr, size)
               ? SIM_REFUSE(cudaErrorInvalidValue,
                            "memory is mapped to a part of the addresses at %p already, or they "
                            "are no multiple of the granularity",
                            (void *)(uintptr_t)ptr)
               : map(in, (uintptr_t)ptr, memory, 0, size);
}

/* Waits for all work, because it may use the memory. Addresses without a mapping are accepted. */
cudaError_t acu_sim_cuMemUnmap(CUdeviceptr ptr, size_t size) {
    if (!size || !reservation_of((uintptr_t)ptr, size))
        return refuse_unreserved((uintptr_t)ptr, size);
    if (cuts_a_mapping((uintptr_t)ptr, size))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "what one call of cuMemMap() mapped is unmapped only as a whole, and "
                          "the %zu bytes at %p have a part of it",
                          size, (void *)(uintptr_t)ptr);
    SIM_TRY(acu_sim_may_wait());
    acu_sim_stream_wait_device(NULL);
    const reservation *r = reservation_of((uintptr_t)ptr, size);
    if (!r) /* another thread freed the addresses, while the lock was given up */
        return cudaSuccess;
    for (mapping *m = mapping_in((uintptr_t)ptr, size); m; m = mapping_in((uintptr_t)ptr, size))
        unmap(m);
    return make_ranges(r) ? cudaSuccess : cudaErrorMemoryAllocation;
}

static bool is_of_host(const CUmemLocation *location) {
    return location->type == CU_MEM_LOCATION_TYPE_HOST ||
           location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

/* Returns whether memory of a device is at the addresses. */
static bool has_device_memory(uintptr_t base, size_t size) {
    for (const mapping *m = mapping_in(base, size); m && m->base < base + size; m = m->next)
        if (!m->of->on_host)
            return true;
    return false;
}

/* Returns whether a multicast object is at the addresses to which the device was not added. */
static bool has_multicast_without(uintptr_t base, size_t size, int device) {
    for (const mapping *m = mapping_in(base, size); m && m->base < base + size; m = m->next)
        if (m->of->multicast && !acu_sim_multicast_has(m->of->multicast, device))
            return true;
    return false;
}

static cudaError_t validate_access(const CUmemAccessDesc *desc) {
    if (desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the access is %d: there are none (0), reading (1) and both (3)",
                          (int)desc->flags);
    return is_of_host(&desc->location) || (desc->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                                           acu_sim_device_at(desc->location.id))
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidValue,
                            "there is no place of type %d with id %d to give access to",
                            (int)desc->location.type, desc->location.id);
}

/* Returns whether the host is to have access, which it can be refused everywhere. A number beside
 * the host is ignored. */
static bool grants_to_host(const CUmemAccessDesc *desc) {
    return is_of_host(&desc->location) && desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

static void set_device_access(mapping *m, const CUmemAccessDesc *desc) {
    const uint64_t bit = (uint64_t)1 << desc->location.id;
    m->access = desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? m->access & ~bit : m->access | bit;
    m->writes =
        desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? m->writes | bit : m->writes & ~bit;
}

static cudaError_t set_access(uintptr_t base, size_t size, const CUmemAccessDesc *desc) {
    bool good = true;
    if (grants_to_host(desc) && has_device_memory(base, size))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the host cannot have access to memory of a device");
    if (!is_of_host(&desc->location) && desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        has_multicast_without(base, size, desc->location.id))
        return SIM_REFUSE(cudaErrorIllegalState,
                          "a multicast object is mapped there to which device %d was not added",
                          desc->location.id);
    for (mapping *m = mappings; m; m = m->next)
        if (m->base >= base && m->base < base + size) {
            if (!is_of_host(&desc->location))
                set_device_access(m, desc);
            else
                good = set_host_access(m, desc->flags) && good;
        }
    return good ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* Entries before one that is not supported take effect. */
cudaError_t acu_sim_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                   size_t count) {
    const uintptr_t base = (uintptr_t)ptr;
    if (!desc || !count)
        return SIM_REFUSE(cudaErrorInvalidValue, "no access is given: desc is NULL or count 0");
    if (!are_mappings(base, size))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the %zu bytes at %p do not begin and end where memory that is mapped "
                          "does",
                          size, (void *)base);
    for (size_t i = 0; i < count; i++)
        SIM_TRY(validate_access(&desc[i]));
    cudaError_t why = cudaSuccess;
    for (size_t i = 0; i < count && !why; i++)
        why = set_access(base, size, &desc[i]);
    return make_ranges(reservation_of(base, size)) ? why : cudaErrorMemoryAllocation;
}

CUmemAccess_flags acu_sim_mapping_access(const acu_sim_mapping *m, int device) {
    return m->writes >> device & 1   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
           : m->access >> device & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                     : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/* Asked about the host (HOST), CUDA answers for device 0 where the host has no access. */
static CUmemAccess_flags access_of(const mapping *m, const CUmemLocation *location) {
    if (location->type == CU_MEM_LOCATION_TYPE_DEVICE)
        return acu_sim_mapping_access(m, location->id);
    return m->host || location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA
               ? m->host
               : acu_sim_mapping_access(m, 0);
}

/* CUDA writes that there is no access before it says that nothing is mapped. */
cudaError_t acu_sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                   CUdeviceptr ptr) {
    const mapping *m = mapping_in((uintptr_t)ptr, 1);
    if (!flags || !location || !reservation_of((uintptr_t)ptr, 1))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "flags or location is NULL, or %p is not an address that "
                          "cuMemAddressReserve() reserved",
                          (void *)(uintptr_t)ptr);
    if (!is_of_host(location) &&
        (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !acu_sim_device_at(location->id)))
        return cudaErrorInvalidDevice;
    *flags = m ? access_of(m, location) : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return m ? cudaSuccess : cudaErrorInvalidValue;
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
    for (mapping *m = first_of(device); m; m = first_of(device)) {
        const reservation *r = m->in;
        unmap(m);
        (void)make_ranges(r);
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
    return count;
}

const acu_sim_noun acu_sim_virtual_noun = {
    .reset_device = reset_device, .reset = reset, .leaks = leaks};
