/*
 * Memory of devices and of the host: how it is allocated and freed.
 *
 * Device memory has addresses that are reserved, but can be neither read nor written, so that an
 * access by the host faults as on a GPU. The bytes are at the same offset of the device's view.
 * Pinned and managed memory is ordinary memory.
 */
#define _GNU_SOURCE /* madvise */

#include "sim/memory/memory.h"

#include "core/record.h"
#include "sim/behaviour.h"
#include "sim/caller.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/memory/budget.h"
#include "sim/memory/guard.h"
#include "sim/memory/ipc_memory.h"
#include "sim/memory/pool.h"
#include "sim/memory/range.h"
#include "sim/memory/unwritten.h"
#include "sim/memory/virtual.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ALIGNMENT = 512,  /* of allocations of device memory, in bytes */
    LARGE = 2 << 20,  /* half of this and more is aligned to it: an H200's driver does so */
    PITCH = 512,      /* a row of pitched memory is a multiple of this many bytes */
    GAP = 512,        /* bytes that nobody has behind each allocation, with check=memory */
    CHECK_MEMORY = 1, /* the bit of acu_sim_config.checks */
};

/* ---- moves ---- */

static pthread_rwlock_t moves = PTHREAD_RWLOCK_INITIALIZER;

void acu_sim_memory_move_begin(void) {
    (void)pthread_rwlock_rdlock(&moves);
}

void acu_sim_memory_move_end(void) {
    (void)pthread_rwlock_unlock(&moves);
}

void acu_sim_memory_wait_for_moves(void) {
    (void)pthread_rwlock_wrlock(&moves);
    (void)pthread_rwlock_unlock(&moves);
}

/* ---- device memory ---- */

size_t acu_sim_memory_rounded(size_t size) {
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

size_t acu_sim_memory_gap(void) {
    const size_t zone = acu_sim_guard_size();
    const bool is_checked = acu_sim_configuration()->checks & CHECK_MEMORY;
    return is_checked && zone < GAP ? GAP : zone;
}

bool acu_sim_memory_charge(acu_sim_device *device, uint64_t bytes) {
    uint64_t total = acu_sim_configuration()->memory;
    if (bytes > total || device->used > total - bytes) {
        acu_record_reason("device %d has %" PRIu64 " of %" PRIu64 " bytes free, and %" PRIu64
                          " more are needed",
                          device->index, total - device->used, total, bytes);
        return false;
    }
    device->used += bytes;
    acu_sim_budget_look(device, bytes);
    return true;
}

static uintptr_t align_address(uintptr_t address, size_t alignment) {
    return (address + alignment - 1) & ~(uintptr_t)(alignment - 1);
}

/* Returns the first gap of that size between two addresses of the device; 0 if there is no gap. */
static uintptr_t find_gap(const acu_sim_device *device, uintptr_t from, uintptr_t to, size_t size,
                          size_t alignment) {
    from = align_address(from, alignment);
    while (to > from && to - from >= size) {
        const acu_sim_range *next = acu_sim_range_next(from);
        if (!next || next->base >= from + size)
            return from;
        from = device->base + acu_sim_memory_rounded(next->base + next->size - device->base) +
               acu_sim_memory_gap();
        from = align_address(from, alignment);
    }
    return 0;
}

/* Returns where the device has room for that many bytes: behind what was allocated last, if there
 * is some, and only where nothing else is left at an address that is not aligned; 0 without room.
 */
static uintptr_t find_addresses(const acu_sim_device *device, size_t size, size_t alignment) {
    uintptr_t end = device->base + device->span;
    uintptr_t base = find_gap(device, device->base + device->cursor, end, size, alignment);
    if (!base)
        base = find_gap(device, device->base, end, size, alignment);
    return base || alignment == ALIGNMENT ? base : find_addresses(device, size, ALIGNMENT);
}

/* Asks for large pages where the system has them, because the first access to a small page takes as
 * long as copying several. Memory below 2 MiB keeps small pages. */
static void use_large_pages(const acu_sim_range *range) {
#if defined(MADV_HUGEPAGE)
    uintptr_t from = (uintptr_t)acu_sim_range_bytes(range, (void *)range->base);
    uintptr_t to = (from + range->size) / LARGE * LARGE;
    from = align_address(from, LARGE);
    if (to > from && !acu_sim_guard_size())
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)range;
#endif
}

/* Makes a range whose address is so many bytes past one that is aligned. */
static acu_sim_range *make_range(acu_sim_device *device, size_t past, size_t size,
                                 size_t alignment) {
    size_t taken =
        acu_sim_memory_rounded(past) + acu_sim_memory_rounded(size) + acu_sim_memory_gap();
    uintptr_t base = find_addresses(device, taken, alignment);
    if (!base)
        return NULL;
    acu_sim_range *range = acu_sim_range_new(base + past, size, SIM_DEVICE, device, NULL);
    if (!range)
        return NULL;
    device->cursor = base + taken - device->base;
    use_large_pages(range);
    acu_sim_guard_begin(range);
    return range;
}

acu_sim_range *acu_sim_memory_new_range(acu_sim_device *device, size_t size) {
    return make_range(device, 0, size, ALIGNMENT);
}

acu_sim_range *acu_sim_memory_new_range_past(acu_sim_device *device, size_t past, size_t size) {
    return make_range(device, past, size, ALIGNMENT);
}

/* Gives the system back the pages of a range that is freed, if no other range has bytes there, but
 * for the page where the next range will begin. */
static void give_pages_back(const acu_sim_range *range) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = range->base + range->size;
    const uintptr_t next = range->device->base + range->device->cursor;
    uintptr_t from = range->base & ~(page - 1), to = align_address(end, page);
    if (acu_sim_range_overlapping(from, range->base - from))
        from += page;
    if (acu_sim_range_overlapping(end, to - end) || (next > to - page && next < to))
        to -= page;
    if (to > from) {
        const char *bytes = acu_sim_range_bytes(range, (void *)range->base);
        (void)madvise((void *)(bytes - (range->base - from)), to - from, MADV_DONTNEED);
    }
}

void acu_sim_memory_free_range(acu_sim_range *range) {
    acu_sim_guard_end(range);
    if (range->exported)
        acu_sim_ipc_end_export(range);
    if (!acu_sim_guard_size() && range->kind == SIM_DEVICE && !range->bytes)
        give_pages_back(range);
    acu_sim_range_remove(range);
}

/* Allocates device memory; `at` is NULL for a size of 0. */
static cudaError_t allocate(acu_sim_device *device, size_t size, void **at, const void *where) {
    *at = NULL; /* NOLINT(clang-analyzer-core.NullDereference): the callers have checked it */
    if (size == 0)
        return cudaSuccess;
    uint64_t taken = size > SIZE_MAX - ALIGNMENT ? UINT64_MAX : acu_sim_memory_rounded(size);
    if (!acu_sim_memory_charge(device, taken))
        return cudaErrorMemoryAllocation;
    const size_t alignment = taken < LARGE / 2 ? ALIGNMENT : LARGE;
    acu_sim_range *range = make_range(device, 0, size, alignment);
    if (!range) { /* memory whose free is queued has its addresses still */
        acu_sim_stream_wait_device(device);
        range = make_range(device, 0, size, alignment);
    }
    if (!range) {
        device->used -= taken;
        return cudaErrorMemoryAllocation;
    }
    range->where = where;
    acu_sim_unwritten_begin(range);
    *at = (void *)range->base;
    return cudaSuccess;
}

static cudaError_t refuse_no_place(void) {
    return SIM_REFUSE(cudaErrorInvalidValue, "there is no place for the address: it is NULL");
}

cudaError_t acu_sim_cudaMalloc(void **devPtr, size_t size) {
    if (!devPtr)
        return refuse_no_place();
    *devPtr = NULL;
    if (!size)
        return cudaSuccess;
    SIM_TRY(acu_sim_require(SIM_NEEDS_CONTEXT));
    SIM_TRY(acu_sim_capture_allows_unsafe());
    return allocate(acu_sim_device_now(), size, devPtr, SIM_CALLER);
}

cudaError_t acu_sim_cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height) {
    size_t size, row = (width + PITCH - 1) & ~(size_t)(PITCH - 1);
    if (!devPtr || !pitch || row < width || __builtin_mul_overflow(row, height, &size))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "devPtr or pitch is NULL, or %zu rows of %zu bytes are more than can be "
                          "addressed",
                          height, width);
    *devPtr = NULL;
    *pitch = size ? row : 0;
    if (!size)
        return cudaSuccess;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    return allocate(acu_sim_device_now(), size, devPtr, SIM_CALLER);
}

cudaError_t acu_sim_cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent) {
    size_t size, row = (extent.width + PITCH - 1) & ~(size_t)(PITCH - 1);
    if (!pitchedDevPtr)
        return refuse_no_place();
    if (row < extent.width || __builtin_mul_overflow(row, extent.height, &size) ||
        __builtin_mul_overflow(size, extent.depth, &size))
        return SIM_REFUSE(cudaErrorMemoryAllocation,
                          "%zu x %zu rows of %zu bytes are more than can be addressed",
                          extent.depth, extent.height, extent.width);
    pitchedDevPtr->ptr = NULL;
    pitchedDevPtr->pitch = size ? row : 0;
    if (size) {
        SIM_TRY(acu_sim_capture_allows_unsafe());
        SIM_TRY(allocate(acu_sim_device_now(), size, &pitchedDevPtr->ptr, SIM_CALLER));
    }
    pitchedDevPtr->xsize = extent.width;
    pitchedDevPtr->ysize = extent.height;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaMemGetInfo(size_t *free_, size_t *total) {
    acu_sim_device *device = acu_sim_device_now();
    if (total)
        *total = (size_t)acu_sim_configuration()->memory;
    if (free_)
        *free_ = (size_t)(acu_sim_configuration()->memory - device->used);
    return cudaSuccess;
}

/* ---- host memory ---- */

/* Makes glibc keep freed memory of this size for reuse. glibc maps a large allocation anew each
 * time, until it has seen as much memory freed, and does not count all of an aligned allocation. */
static void keep_freed(size_t size, size_t page) {
    enum { MOST = 16 << 20 };
    static size_t kept;
    if (size <= kept || size > MOST)
        return;
    kept = size;
    void *volatile more = malloc(size + 4 * page);
    free(more);
}

/* Makes host memory of whole pages; NULL without memory. */
static void *new_bytes(size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at;
    if (acu_sim_guard_size())
        return acu_sim_guard_map(size);
    keep_freed(size, page);
    return posix_memalign(&at, page, size) ? NULL : at;
}

static void free_bytes(void *at, size_t size) {
    if (acu_sim_guard_size())
        acu_sim_guard_unmap(at, size);
    else
        free(at);
}

/* Frees a range of host memory that the simulator allocated. */
static void free_host_range(acu_sim_range *range) {
    acu_sim_guard_end(range);
    acu_sim_memory_wait_for_moves();
    free_bytes((void *)range->base, range->size);
    acu_sim_pinned_block_give_back(range->pinned);
    acu_sim_range_remove(range);
}

/* Allocates host memory; `at` is NULL for a size of 0. */
static cudaError_t allocate_host(acu_sim_device *device, acu_sim_memory kind, size_t size,
                                 unsigned flags, void **at, const void *where) {
    *at = NULL;
    if (size == 0)
        return cudaSuccess;
    if (size > SIZE_MAX / 2 || !(*at = new_bytes(size)))
        return SIM_REFUSE(cudaErrorMemoryAllocation, "the host has no room for %zu bytes", size);
    acu_sim_range *range = acu_sim_range_new((uintptr_t)*at, size, kind, device, where);
    if (!range) {
        free_bytes(*at, size);
        return cudaErrorMemoryAllocation;
    }
    range->flags = flags;
    acu_sim_guard_begin(range);
    return cudaSuccess;
}

/* Allocates pinned memory in a block that other allocations share; `at` is NULL for a size of 0. */
static cudaError_t allocate_in_block(acu_sim_device *device, size_t size, unsigned flags, void **at,
                                     const void *where) {
    acu_sim_pinned_part part;
    if (size && !acu_sim_pinned_block_take(device, size, &flags, &part))
        return cudaErrorMemoryAllocation;
    cudaError_t result = allocate_host(device, SIM_PINNED, size, flags, at, where);
    if (!result && size)
        acu_sim_range_of(*at)->pinned = part;
    else if (size)
        acu_sim_pinned_block_give_back(part);
    return result;
}

acu_sim_range *acu_sim_memory_new_range_of(acu_sim_memory kind, acu_sim_device *device,
                                           size_t size) {
    void *at;
    if (kind == SIM_DEVICE)
        return acu_sim_memory_new_range(device, size);
    return allocate_host(device, kind, size, 0, &at, NULL) ? NULL : acu_sim_range_of(at);
}

void acu_sim_memory_free_range_of(acu_sim_range *range) {
    if (range->kind == SIM_DEVICE)
        acu_sim_memory_free_range(range);
    else
        free_host_range(range);
}

static cudaError_t allocate_pinned(void **pHost, size_t size, unsigned flags) {
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (!pHost)
        return refuse_no_place();
    *pHost = NULL;
    if (size)
        SIM_TRY(acu_sim_capture_allows_unsafe());
    if (size && flags & ~known)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the flags are 0x%x: there are cudaHostAllocPortable (1), "
                          "cudaHostAllocMapped (2) and cudaHostAllocWriteCombined (4)",
                          flags);
    return allocate_in_block(acu_sim_device_now(), size, flags, pHost, SIM_CALLER);
}

cudaError_t acu_sim_cudaHostAlloc(void **pHost, size_t size, unsigned int flags) {
    return allocate_pinned(pHost, size, flags);
}

cudaError_t acu_sim_cudaMallocHost(void **ptr, size_t size) {
    return allocate_pinned(ptr, size, cudaHostAllocDefault);
}

cudaError_t acu_sim_cudaMallocManaged(void **devPtr, size_t size, unsigned int flags) {
    if (!devPtr)
        return refuse_no_place();
    *devPtr = NULL;
    if (size && flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the flags are 0x%x: managed memory has cudaMemAttachGlobal (1) or "
                          "cudaMemAttachHost (2)",
                          flags);
    if (size)
        SIM_TRY(acu_sim_capture_allows_unsafe());
    return allocate_host(acu_sim_device_now(), SIM_MANAGED, size, flags, devPtr, SIM_CALLER);
}

/* ---- registered host memory ---- */

/* Returns whether all of the memory is mapped, which msync() reports. With MS_ASYNC it does nothing
 * else. */
static bool is_mapped(const void *memory, size_t size) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)memory & ~(page - 1);
    return msync((void *)from, (uintptr_t)memory + size - from, MS_ASYNC) == 0;
}

/* Returns whether a line of the list of mappings, which begins "from-to rwxp", forbids to write a
 * part of the memory. */
static bool forbids_writing(const char *line, uintptr_t memory, size_t size) {
    char *rest;
    const uintptr_t from = strtoul(line, &rest, 16);
    const uintptr_t to = *rest == '-' ? strtoul(rest + 1, &rest, 16) : 0;
    return from < memory + size && to > memory && rest[0] == ' ' && rest[2] == '-';
}

/* Returns whether all of the memory can be written, which registering it needs, unless the program
 * asks for read-only memory. True where the mappings cannot be read. */
static bool is_writable(const void *memory, size_t size) {
    char line[512];
    bool writable = true;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && writable && fgets(line, sizeof line, maps))
        writable = !forbids_writing(line, (uintptr_t)memory, size);
    if (maps)
        (void)fclose(maps);
    return writable;
}

cudaError_t acu_sim_cudaHostRegister(void *ptr, size_t size, unsigned int flags) {
    const unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped |
                           cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
    if (!ptr || !size || (uintptr_t)ptr + size < (uintptr_t)ptr || flags & ~known)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "%zu bytes at %p are no memory, or the flags, which are 0x%x, have more "
                          "than cudaHostRegisterPortable (1), Mapped (2), IoMemory (4) and "
                          "ReadOnly (8)",
                          size, ptr, flags);
    if (flags & cudaHostRegisterIoMemory) /* the driver finds that ordinary memory is no device's */
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "cudaHostRegisterIoMemory is for memory of other devices, and %p is "
                          "ordinary memory",
                          ptr);
    const acu_sim_range *taken = acu_sim_range_overlapping((uintptr_t)ptr, size);
    if (taken)
        return SIM_REFUSE(taken->kind == SIM_REGISTERED ? cudaErrorHostMemoryAlreadyRegistered
                                                        : cudaErrorInvalidValue,
                          "CUDA knows a part of the memory already: the %zu bytes at %p",
                          taken->size, (void *)taken->base);
    if (!is_mapped(ptr, size))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "a part of the %zu bytes at %p is not mapped in this process", size, ptr);
    if (!(flags & cudaHostRegisterReadOnly || is_writable(ptr, size)))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "a part of the %zu bytes at %p cannot be written: register it with "
                          "cudaHostRegisterReadOnly",
                          size, ptr);
    acu_sim_range *range =
        acu_sim_range_new((uintptr_t)ptr, size, SIM_REGISTERED, acu_sim_device_now(), SIM_CALLER);
    if (!range)
        return cudaErrorMemoryAllocation;
    range->flags = flags;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaHostUnregister(void *ptr) {
    acu_sim_range *range = acu_sim_range_of(ptr);
    if (range && (range->kind != SIM_REGISTERED || range->base != (uintptr_t)ptr))
        return acu_sim_memory_refuse_free(range, ptr);
    if (!ptr)
        return SIM_REFUSE(cudaErrorInvalidValue, "ptr is NULL");
    if (!range)
        return cudaErrorHostMemoryNotRegistered;
    acu_sim_stream_wait_device(NULL);
    /* The wait gave up the lock: another thread may have unregistered the memory. */
    range = acu_sim_range_of(ptr);
    if (range && range->kind == SIM_REGISTERED)
        acu_sim_range_remove(range);
    return cudaSuccess;
}

/* Returns the pinned or registered range that has the address; NULL if there is none. */
static acu_sim_range *host_range(const void *address) {
    acu_sim_range *range = acu_sim_range_of(address);
    return range && !range->pool && (range->kind == SIM_PINNED || range->kind == SIM_REGISTERED)
               ? range
               : NULL;
}

cudaError_t acu_sim_cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags) {
    if (!pDevice || !pHost)
        return SIM_REFUSE(cudaErrorInvalidValue, "pDevice or pHost is NULL");
    *pDevice = NULL;
    if (flags)
        return SIM_REFUSE(cudaErrorInvalidValue, "flags must be 0");
    if (!(host_range(pHost) || acu_sim_virtual_mapping_at(pHost)))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "%p is not host memory that cudaHostAlloc() allocated or "
                          "cudaHostRegister() registered",
                          pHost);
    *pDevice = pHost;
    return cudaSuccess;
}

/* All host memory is reported as mapped; that devices only read it is not reported. CUDA reports
 * managed and mapped memory, too, but not the flags that managed memory was allocated with. */
cudaError_t acu_sim_cudaHostGetFlags(unsigned int *pFlags, void *pHost) {
    const acu_sim_range *range = acu_sim_range_of(pHost);
    if (!pFlags || !range || range->pool ||
        (range->kind == SIM_DEVICE && !acu_sim_virtual_mapping_at(pHost)))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "pFlags is NULL, or %p is not memory of the host that CUDA has", pHost);
    *pFlags = (range->kind == SIM_MANAGED ? 0u : range->flags & ~cudaHostRegisterReadOnly) |
              cudaHostAllocMapped;
    return cudaSuccess;
}

/* ---- freeing ---- */

acu_sim_op *acu_sim_memory_new_free_op(acu_sim_range *range) {
    acu_sim_op *op = range->new_free_op(range);
    if (!op)
        acu_record_reason("the %zu bytes at %p, which a graph allocates, are not allocated: launch "
                          "the graph first, and free them once after each launch",
                          range->size, (void *)range->base);
    return op;
}

/* Frees the memory of a graph, if a launch has allocated it; its addresses stay taken. All work has
 * been waited for. */
static cudaError_t free_of_graph(acu_sim_range *range) {
    acu_sim_op *op = acu_sim_memory_new_free_op(range);
    if (!op)
        return cudaErrorInvalidValue;
    range->dormant = true;
    acu_sim_op_release(op);
    return cudaSuccess;
}

/* Frees a range that is not a graph's. All work has been waited for. */
static void free_now(acu_sim_range *range) {
    if (range->pool)
        acu_sim_pool_record_free(range->pool, range->size);
    else if (range->kind == SIM_DEVICE && !range->external && !range->ipc)
        range->device->used -= acu_sim_memory_rounded(range->size);
    if (range->kind == SIM_REGISTERED)
        acu_sim_range_remove(range);
    else
        acu_sim_memory_free_range_of(range);
}

/* Waits for the work that may use the range: that of its context or device. Host memory may be used
 * on any device. Frees of a pool's memory do not wait. The lock is given up meanwhile. */
static void wait_for_users(const acu_sim_range *range) {
    if (range->pool && !range->pool->imported)
        return;
    if (range->kind == SIM_DEVICE && range->context)
        acu_sim_stream_wait_context(range->context);
    else
        acu_sim_stream_wait_device(range->kind == SIM_DEVICE ? range->device : NULL);
}

/* Returns whether cudaFreeHost() (`host`) or cudaFree() can free the range. */
static bool can_free(const acu_sim_range *range, bool host) {
    return range->kind != SIM_REGISTERED && !range->of_module &&
           (!range->bytes || range->external || range->pool) &&
           host == (range->kind == SIM_PINNED && !range->pool);
}

/* Returns the call that frees the range; NULL if none does. */
static const char *freeing_call(const acu_sim_range *range) {
    if (range->of_module)
        return NULL;
    if (range->of_graphics)
        return "cudaGraphicsUnmapResources";
    if (range->bytes && !range->external && !range->pool)
        return range->ipc ? "cudaIpcCloseMemHandle" : "cuMemUnmap";
    return range->kind == SIM_REGISTERED               ? "cudaHostUnregister"
           : range->kind == SIM_PINNED && !range->pool ? "cudaFreeHost"
                                                       : "cudaFree";
}

cudaError_t acu_sim_memory_refuse_free(const acu_sim_range *range, const void *address) {
    if (!range)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "no memory is allocated at %p: it was freed already, or CUDA did not "
                          "allocate it",
                          address);
    if (range->base != (uintptr_t)address)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "%p is inside of the %zu bytes that begin at %p: pass that address",
                          address, range->size, (void *)range->base);
    const char *call = freeing_call(range);
    return call ? SIM_REFUSE(cudaErrorInvalidValue,
                             "this call does not free such memory as is at %p: use %s()", address,
                             call)
                : SIM_REFUSE(cudaErrorInvalidValue,
                             "%p is a variable of a module or library, which is freed when that "
                             "is unloaded",
                             address);
}

static cudaError_t free_range(void *address, bool host) {
    SIM_TRY(acu_sim_capture_allows_unsafe());
    acu_sim_range *range = acu_sim_range_of(address);
    if (!range)
        acu_sim_guard_explain(address);
    if (!range || range->base != (uintptr_t)address || !can_free(range, host))
        return acu_sim_memory_refuse_free(range, address);
    wait_for_users(range);
    /* The wait gave up the lock: another thread may have freed the range. */
    range = acu_sim_range_of(address);
    if (!range || range->base != (uintptr_t)address)
        return acu_sim_memory_refuse_free(range, address);
    if (range->allocation)
        return free_of_graph(range);
    free_now(range);
    acu_sim_pools_trim();
    return cudaSuccess;
}

cudaError_t acu_sim_cudaFree(void *devPtr) {
    return devPtr ? free_range(devPtr, false) : acu_sim_capture_allows_unsafe();
}

cudaError_t acu_sim_cudaFreeHost(void *ptr) {
    return ptr ? free_range(ptr, true) : acu_sim_capture_allows_unsafe();
}

/* ---- variables of modules ---- */

cudaError_t acu_sim_memory_variable_new(acu_sim_context *context, const char *name, size_t size,
                                        bool managed, void **at) {
    SIM_TRY(managed
                ? allocate_host(context->device, SIM_MANAGED, size, cudaMemAttachGlobal, at, NULL)
                : allocate(context->device, size, at, NULL));
    if (!size)
        return cudaSuccess;
    acu_sim_range *range = acu_sim_range_of(*at);
    range->of_module = true;
    range->name = name;
    range->context = context;
    memset(acu_sim_range_bytes(range, *at), 0, size);
    return cudaSuccess;
}

void acu_sim_memory_variable_free(void *at) {
    acu_sim_range *range = acu_sim_range_of(at);
    if (!range)
        return;
    if (range->kind == SIM_DEVICE)
        range->device->used -= acu_sim_memory_rounded(range->size);
    acu_sim_memory_free_range_of(range);
}

/* ---- drop, reset, leaks ---- */

static void take_back(acu_sim_range *range) {
    if (range->kind == SIM_PINNED || range->kind == SIM_MANAGED)
        free_host_range(range);
    else if (range->kind == SIM_DEVICE && range->device->span)
        acu_sim_memory_free_range(range);
    else
        acu_sim_range_remove(range);
}

/* A range that was freed in stream order is left to the operation that frees it, which may be in a
 * stream of another device. */
static void reset_device(acu_sim_device *device) {
    uintptr_t end = 0;
    for (acu_sim_range *range; (range = acu_sim_range_next(end));) {
        end = range->base + range->size;
        if (range->device == device && !range->freed)
            take_back(range);
    }
}

static void reset(void) {
    for (acu_sim_range *range; (range = acu_sim_range_next(0));)
        take_back(range);
}

static void drop_context(acu_sim_context *context) {
    uintptr_t end = 0;
    for (acu_sim_range *range; (range = acu_sim_range_next(end));) {
        end = range->base + range->size;
        if (range->context == context && !range->freed && !range->pool && !range->allocation &&
            !range->of_module && (!range->bytes || range->ipc))
            free_now(range);
    }
}

static int leaks(int print) {
    static const char *const names[] = {"device memory", "pinned memory", "registered memory",
                                        "managed memory"};
    int count = 0;
    for (const acu_sim_range *range = acu_sim_range_next(0); range;
         range = acu_sim_range_next(range->base + range->size))
        if (!range->freed && !range->dormant && !range->of_module &&
            (!range->bytes || range->external || range->ipc || range->pool)) {
            count++;
            if (print)
                acu_sim_caller_report(range->ipc ? "opened memory" : names[range->kind],
                                      (void *)range->base, range->size, range->where);
        }
    return count;
}

const acu_sim_noun acu_sim_memory_noun = {
    .reset_device = reset_device, .reset = reset, .drop_context = drop_context, .leaks = leaks};
