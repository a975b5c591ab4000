/*
 * Device memory that other processes open by handles.
 *
 * A device's view is memory of the process alone, which is faster. When the program first asks for
 * a handle, the device gets a file of the size of its view, and the pages of the allocation move to
 * the same offset of the file, which is mapped in their place. Whoever opens the handle maps that
 * part of the file. Behind the bytes the file has a table of what is exported, so that a handle of
 * freed memory is recognised.
 */
#define _GNU_SOURCE /* fallocate */

#include "sim/memory/ipc_memory.h"

#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/memory/running.h"
#include "sim/shared_file.h"
#include "sim/stream/stream.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    EXPORTS = 8192, /* allocations of a device that can have handles at a time */
    TABLE = EXPORTS * sizeof(uint64_t),
    COPIED = 64 << 10, /* bytes that are looked at and moved at once: a multiple of a page */
};

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(acu_sim_shared_handle), "a handle fits");

/* The file of a device; under the lock, as everything here. */
typedef struct share {
    bool open; /* there is a file */
    int file;
    acu_sim_shared_note note;
    unsigned char *pages; /* of each page of the view: is it the file's */
    uint64_t *table;      /* the ids of the ranges that are exported, mapped; 0: free */
    size_t span;          /* bytes of the view, in whole pages */
} share;

static share shares[SIM_DEVICES];

/* Memory of another process that this one has opened. */
struct acu_sim_ipc {
    acu_sim_shared_handle handle;
    unsigned opened; /* how often */
    void *mapped;
    size_t mapped_size;
};

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t rounded_up(size_t size) {
    return (size + page_size() - 1) / page_size() * page_size();
}

static size_t rounded_down(size_t size) {
    return size / page_size() * page_size();
}

/* ---- the file of a device ---- */

static void close_share(share *s) {
    if (s->table)
        munmap(s->table, TABLE);
    if (s->open)
        close(s->file);
    free(s->pages);
    *s = (share){0};
}

/* Returns the file of a device, which is made at the first call; NULL without memory. */
static share *share_of(const acu_sim_device *device) {
    share *s = &shares[device->index];
    if (s->open)
        return s;
    s->span = rounded_up(device->span);
    s->note = (acu_sim_shared_note){
        .kind = SIM_SHARED_DEVICE, .device = device->index, .size = s->span + rounded_up(TABLE)};
    s->file = acu_sim_shared_file_new(&s->note);
    s->open = s->file >= 0;
    s->pages = calloc(s->span / page_size(), 1);
    void *table =
        s->open ? mmap(NULL, TABLE, PROT_READ | PROT_WRITE, MAP_SHARED, s->file, (off_t)s->span)
                : MAP_FAILED;
    s->table = table == MAP_FAILED ? NULL : table;
    if (s->table && s->pages)
        return s;
    close_share(s);
    return NULL;
}

static bool is_zero(const char *bytes, size_t size) {
    return !bytes[0] && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Writes pages of the view to the file, which has zeros where nothing was written. */
static bool write_pages(const share *s, const char *view, size_t from, size_t to) {
    for (size_t at = from; at < to; at += COPIED) {
        const size_t size = to - at < COPIED ? to - at : COPIED;
        if (!is_zero(view + at, size) &&
            pwrite(s->file, view + at, size, (off_t)at) != (ssize_t)size)
            return false;
    }
    return true;
}

/* Moves pages, of which none is the file's, to the file. Returns false without memory. What was
 * there was freed, and was left to those who have it open. */
static bool move_pages(share *s, const acu_sim_device *device, size_t from, size_t to) {
    (void)fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                    (off_t)(to - from));
    if (!write_pages(s, device->view, from, to) ||
        mmap(device->view + from, to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             s->file, (off_t)from) == MAP_FAILED)
        return false;
    memset(s->pages + from / page_size(), 1, (to - from) / page_size());
    return true;
}

/* Makes the pages of the range the file's, also where a neighbour has a part of them. Nothing
 * accesses the memory meanwhile. Returns false without memory. */
static bool share_pages(share *s, const acu_sim_range *range) {
    const acu_sim_device *device = range->device;
    const size_t page = page_size();
    size_t at = rounded_down(range->base - device->base);
    const size_t end = rounded_up(range->base - device->base + range->size);
    while (at < end) {
        size_t to = at;
        while (to < end && !s->pages[to / page])
            to += page;
        if (to > at && !move_pages(s, device, at, to))
            return false;
        at = to + page; /* the page at `to` is the file's, or behind the end */
    }
    return true;
}

/* ---- handles ---- */

bool acu_sim_ipc_can_export(const acu_sim_range *range) {
    return range->kind == SIM_DEVICE && !range->pool && !range->bytes && !range->allocations &&
           !range->of_module;
}

/* Gives the range a place in the table; returns false if the table is full. */
static bool add_export(const share *s, acu_sim_range *range) {
    for (unsigned i = 0; i < EXPORTS && !range->exported; i++)
        if (!s->table[i]) {
            s->table[i] = range->id;
            range->exported = i + 1;
        }
    return range->exported != 0;
}

/* Moves the range to the file. Copies and kernels that are under way are waited for, and the lock
 * is given up meanwhile. */
static cudaError_t export_range(void *address) {
    acu_sim_running_pause();
    acu_sim_range *range = acu_sim_range_of(address);
    share *s = range && acu_sim_ipc_can_export(range) ? share_of(range->device) : NULL;
    acu_sim_memory_wait_for_moves();
    const bool good = s && share_pages(s, range) && add_export(s, range);
    acu_sim_running_resume();
    return good ? cudaSuccess : cudaErrorMemoryAllocation;
}

void acu_sim_ipc_end_export(acu_sim_range *range) {
    share *s = &shares[range->device->index];
    const size_t offset = range->base - range->device->base;
    const size_t from = rounded_up(offset), to = rounded_down(offset + range->size);
    s->table[range->exported - 1] = 0;
    range->exported = 0;
    if (to <= from)
        return;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    char *view = range->device->view + from;
    if (mmap(view, to - from, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
        return; /* the pages stay the file's */
    memset(s->pages + from / page_size(), 0, (to - from) / page_size());
}

/* The handle of a part of an allocation is that of the allocation. */
cudaError_t acu_sim_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr) {
    acu_sim_range *range = acu_sim_range_there(devPtr);
    if (!handle || !devPtr)
        return SIM_REFUSE(cudaErrorInvalidValue, "handle or devPtr is NULL");
    if (!range || !acu_sim_ipc_can_export(range))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "%p is not memory of cudaMalloc(), which alone has such handles", devPtr);
    if (!range->exported)
        SIM_TRY(export_range(devPtr));
    range = acu_sim_range_there(devPtr); /* the lock may have been given up */
    if (!range || !range->exported)
        return cudaErrorInvalidValue;
    const share *s = &shares[range->device->index];
    acu_sim_shared_handle made =
        acu_sim_shared_handle_of(s->file, &s->note, range->base - range->device->base, range->size);
    made.reserved[0] = range->exported - 1;
    made.reserved[1] = range->id;
    memcpy(handle, &made, sizeof made);
    return cudaSuccess;
}

/* ---- opening ---- */

/* Returns whether the memory of a handle has not been freed. */
static bool is_exported(int file, const acu_sim_shared_note *note,
                        const acu_sim_shared_handle *handle) {
    uint64_t id = 0;
    const uint64_t table = note->size - rounded_up(TABLE);
    return handle->reserved[0] < EXPORTS &&
           pread(file, &id, sizeof id, (off_t)(table + handle->reserved[0] * sizeof id)) ==
               (ssize_t)sizeof id &&
           id && id == handle->reserved[1];
}

/* Returns the range of a handle that the current context has opened; NULL if there is none. */
static acu_sim_range *find_opened(const acu_sim_shared_handle *handle) {
    for (acu_sim_range *range = acu_sim_range_next(0); range;
         range = acu_sim_range_next(range->base + range->size))
        if (range->ipc && range->context == acu_sim_context_now() &&
            memcmp(&range->ipc->handle, handle, sizeof *handle) == 0)
            return range;
    return NULL;
}

/* Maps the memory of a handle; NULL without memory. */
static acu_sim_ipc *map_memory(const acu_sim_shared_handle *handle, int file) {
    const size_t from = rounded_down((size_t)handle->offset);
    const size_t size = rounded_up((size_t)(handle->offset + handle->size)) - from;
    acu_sim_ipc *import = calloc(1, sizeof *import);
    void *at = import ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)from)
                      : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(import);
        return NULL;
    }
    *import = (acu_sim_ipc){.handle = *handle, .opened = 1, .mapped = at, .mapped_size = size};
    return import;
}

void acu_sim_ipc_release(acu_sim_ipc *import) {
    acu_sim_memory_wait_for_moves();
    munmap(import->mapped, import->mapped_size);
    free(import);
}

/* Gives the memory of a handle addresses of the device that has it. The device that is current may
 * access it, too. */
static cudaError_t add_range(const acu_sim_shared_handle *handle, int file, acu_sim_device *device,
                             void **at) {
    acu_sim_ipc *import = map_memory(handle, file);
    acu_sim_range *range = import ? acu_sim_memory_new_range(device, (size_t)handle->size) : NULL;
    if (!range) {
        if (import)
            acu_sim_ipc_release(import);
        return cudaErrorMemoryAllocation;
    }
    range->where = SIM_CALLER;
    range->context = acu_sim_context_now();
    range->bytes = (char *)import->mapped + (handle->offset - rounded_down((size_t)handle->offset));
    range->access = range->writes =
        (uint64_t)1 << device->index | (uint64_t)1 << acu_sim_device_now()->index;
    range->ipc = import;
    *at = (void *)range->base;
    return cudaSuccess;
}

static cudaError_t open_handle(const acu_sim_shared_handle *handle, void **at) {
    acu_sim_shared_note note;
    acu_sim_device *device = acu_sim_device_at(handle->device);
    if (!device)
        return SIM_REFUSE(cudaErrorInvalidDevice,
                          "the memory is of device %d, which this process does not have",
                          (int)handle->device);
    SIM_TRY(acu_sim_device_activate(device));
    const int file = acu_sim_shared_handle_open(handle, &note);
    cudaError_t why = cudaErrorInvalidResourceHandle;
    if (file < 0)
        acu_record_reason("process %d, which made the handle, is gone, or another user's",
                          (int)handle->process);
    else if (!is_exported(file, &note, handle))
        why = SIM_REFUSE(cudaErrorInvalidValue, "process %d has freed the memory",
                         (int)handle->process);
    else
        why = add_range(handle, file, device, at);
    if (file >= 0)
        close(file);
    return why;
}

cudaError_t acu_sim_cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle,
                                         unsigned int flags) {
    acu_sim_shared_handle wanted;
    bool ours;
    if (!devPtr || !(flags & cudaIpcMemLazyEnablePeerAccess))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "devPtr is NULL, or flags is without cudaIpcMemLazyEnablePeerAccess");
    if (!acu_sim_shared_handle_read(&handle, SIM_SHARED_DEVICE, &wanted, &ours))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the bytes are no handle of cudaIpcGetMemHandle()");
    if (ours)
        return SIM_REFUSE(cudaErrorDeviceUninitialized,
                          "the handle is of this process: use the memory's own address");
    acu_sim_range *range = find_opened(&wanted);
    if (!range)
        return open_handle(&wanted, devPtr);
    range->ipc->opened++;
    *devPtr = (void *)range->base;
    return cudaSuccess;
}

/* Returns the range of opened memory that begins at an address; NULL if there is none. */
static acu_sim_range *opened_at(const void *address) {
    acu_sim_range *range = acu_sim_range_of(address);
    return range && range->ipc && range->base == (uintptr_t)address ? range : NULL;
}

/* The last close waits for the work that may use the memory. */
cudaError_t acu_sim_cudaIpcCloseMemHandle(void *devPtr) {
    acu_sim_range *range = opened_at(devPtr);
    if (!range)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "%p is not what cudaIpcOpenMemHandle() returned, or was closed", devPtr);
    if (range->ipc->opened == 1)
        acu_sim_stream_wait_device(NULL);
    range = opened_at(devPtr); /* the lock may have been given up */
    if (range && !--range->ipc->opened)
        acu_sim_memory_free_range(range);
    return cudaSuccess;
}

/* ---- reset ---- */

/* The ranges are gone already. */
static void reset(void) {
    for (int i = 0; i < SIM_DEVICES; i++)
        close_share(&shares[i]);
}

const acu_sim_noun acu_sim_ipc_memory_noun = {.reset = reset};
