/*
 * Pools that processes share.
 *
 * The memory of such a pool is in a file from the beginning, at the offsets that its addresses have
 * in the device, and each process that has the pool maps all of the file. What is freed stays in
 * the file, as a GPU leaves it to those who have imported it, until the pool uses it again. A file
 * needs memory only for what was written.
 */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */

#include "sim/memory/shared_pool.h"

#include "sim/caller.h"
#include "sim/cuda_bodies.h"
#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/memory/guard.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/shared_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == sizeof(acu_sim_shared_handle),
               "what stands for memory fits");

/* ---- the file ---- */

/* The file with a pool's bytes, all of it mapped. The references are the pool's, and those of its
 * ranges: also one that was freed in a stream's order may be used until it is reached. */
struct acu_sim_pool_view {
    unsigned refs;
    int file;
    char *at;
    acu_sim_shared_note note;
};

/* What the note says of the pool; as in created.c, no layout of CUDA's. */
typedef struct about {
    int32_t type, location_type, location_id;
} about;

/* Maps a file, which the view then owns; NULL without memory, or if the file is none. */
static acu_sim_pool_view *new_view(int file, const acu_sim_shared_note *note) {
    acu_sim_pool_view *view = file < 0 ? NULL : calloc(1, sizeof *view);
    void *at = view ? mmap(NULL, (size_t)note->size, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_NORESERVE, file, 0)
                    : MAP_FAILED;
    if (at == MAP_FAILED) {
        if (file >= 0)
            close(file);
        free(view);
        return NULL;
    }
    *view = (acu_sim_pool_view){.refs = 1, .file = file, .at = at, .note = *note};
    return view;
}

bool acu_sim_pool_view_new(acu_sim_pool *pool) {
    const about what = {(int32_t)pool->props.allocType, (int32_t)pool->props.location.type,
                        pool->props.location.id};
    acu_sim_shared_note note = {
        .kind = SIM_SHARED_POOL, .device = pool->device->index, .size = pool->device->span};
    memcpy(note.about, &what, sizeof what);
    const int file = acu_sim_shared_file_new(&note);
    pool->view = new_view(file, &note);
    return pool->view;
}

void acu_sim_pool_view_release(acu_sim_pool_view *view) {
    if (!view || --view->refs)
        return;
    acu_sim_memory_wait_for_moves();
    munmap(view->at, (size_t)view->note.size);
    close(view->file);
    free(view);
}

static void place(acu_sim_pool_view *view, acu_sim_range *range, uint64_t offset) {
    acu_sim_guard_end(range); /* there is no zone in the file */
    range->bytes = view->at + offset;
    range->view = view;
    view->refs++;
}

/* A byte has the same offset in the file as its address has in the device. */
void acu_sim_pool_view_place(const acu_sim_pool *pool, acu_sim_range *range) {
    if (pool->view && range->kind == SIM_DEVICE)
        place(pool->view, range, range->base - range->device->base);
}

/* ---- the pool ---- */

static cudaError_t refuse_pool(cudaMemPool_t handle) {
    return SIM_REFUSE(cudaErrorInvalidValue, "%p is no pool: it was destroyed, or never created",
                      (void *)handle);
}

/* The program owns the descriptor, which a new program inherits, as CUDA's. */
cudaError_t acu_sim_cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
                                                       enum cudaMemAllocationHandleType handleType,
                                                       unsigned int flags) {
    acu_sim_pool *pool = acu_sim_pool_of(memPool);
    if (!pool)
        return refuse_pool(memPool);
    if (!shareableHandle || flags || handleType != cudaMemHandleTypePosixFileDescriptor ||
        !pool->view || pool->imported)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "flags is not 0, shareableHandle is NULL, or the pool was created "
                          "without handles of type %d: name the type in handleTypes",
                          (int)handleType);
    const int descriptor = dup(pool->view->file);
    if (descriptor < 0)
        return SIM_REFUSE(cudaErrorOperatingSystem, "the process can open no more descriptors");
    memcpy(shareableHandle, &descriptor, sizeof descriptor);
    pool->exported = true;
    return cudaSuccess;
}

/* Returns the pool of a file that was imported before; NULL if there is none. */
static acu_sim_pool *find_import(uint64_t tag) {
    acu_sim_pool *pool = acu_sim_pool_next(NULL);
    while (pool && !(pool->imported && !pool->destroyed && pool->view->note.tag == tag))
        pool = acu_sim_pool_next(pool);
    return pool;
}

static cudaError_t import_file(int descriptor, const acu_sim_shared_note *note,
                               acu_sim_pool **out) {
    about what;
    acu_sim_device *device = acu_sim_device_at(note->device);
    if (!device)
        return SIM_REFUSE(cudaErrorInvalidDevice,
                          "the pool is of device %d, which this process does not have",
                          note->device);
    SIM_TRY(acu_sim_device_activate(device));
    memcpy(&what, note->about, sizeof what);
    const struct cudaMemPoolProps props = {
        .allocType = (enum cudaMemAllocationType)what.type,
        .location = {.type = (enum cudaMemLocationType)what.location_type, .id = what.location_id}};
    acu_sim_pool *pool = acu_sim_pool_new(device, &props, SIM_CALLER);
    if (!pool)
        return cudaErrorMemoryAllocation;
    pool->view = new_view(fcntl(descriptor, F_DUPFD_CLOEXEC, 0), note);
    pool->imported = 1;
    if (!pool->view) {
        acu_sim_pool_drop(pool);
        return cudaErrorMemoryAllocation;
    }
    *out = pool;
    return cudaSuccess;
}

/* A second import is the same pool. */
static cudaError_t import_pool(int descriptor, cudaMemPool_t *out) {
    acu_sim_shared_note note;
    *out = NULL;
    if (acu_sim_shared_file_read(descriptor, SIM_SHARED_CREATED, &note))
        return SIM_REFUSE(cudaErrorNotSupported, "descriptor %d is of memory, not of a pool",
                          descriptor);
    if (!acu_sim_shared_file_read(descriptor, SIM_SHARED_POOL, &note))
        return SIM_REFUSE(cudaErrorUnknown,
                          "descriptor %d is not one of cudaMemPoolExportToShareableHandle()",
                          descriptor);
    acu_sim_pool *pool = find_import(note.tag);
    if (pool)
        pool->imported++;
    else
        SIM_TRY(import_file(descriptor, &note, &pool));
    *out = acu_sim_pool_handle(pool);
    return cudaSuccess;
}

cudaError_t
acu_sim_cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle,
                                             enum cudaMemAllocationHandleType handleType,
                                             unsigned int flags) {
    if (!memPool || flags || handleType == cudaMemHandleTypeNone ||
        !acu_sim_knows(&acu_cudart_type_cudaMemAllocationHandleType, handleType))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "memPool is NULL, flags is not 0, or there is no such type of handle");
    if (handleType != cudaMemHandleTypePosixFileDescriptor)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "of handles for other processes there are file descriptors only");
    return import_pool((int)(intptr_t)shareableHandle, memPool);
}

/* ---- its memory ---- */

cudaError_t acu_sim_cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData,
                                             void *ptr) {
    const acu_sim_range *range = acu_sim_range_there(ptr);
    const acu_sim_pool *pool = range ? range->pool : NULL;
    if (!exportData || !pool || !pool->exported || range->base != (uintptr_t)ptr)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "exportData is NULL, or %p is not where memory begins of a pool that was "
                          "exported before",
                          ptr);
    acu_sim_shared_handle made = acu_sim_shared_handle_of(
        pool->view->file, &pool->view->note, range->base - range->device->base, range->size);
    made.reserved[0] = range->id;
    memcpy(exportData, &made, sizeof made);
    return cudaSuccess;
}

/* Returns the range of a handle that is open; NULL if there is none. */
static acu_sim_range *find_opened(const acu_sim_pool *pool, const char *bytes) {
    for (acu_sim_range *range = acu_sim_range_next(0); range;
         range = acu_sim_range_next(range->base + range->size))
        if (range->pool == pool && range->bytes == bytes && !range->freed)
            return range;
    return NULL;
}

static cudaError_t open_memory(acu_sim_pool *pool, const acu_sim_shared_handle *handle,
                               void **ptr) {
    acu_sim_range *range = find_opened(pool, pool->view->at + handle->offset);
    if (!range) {
        range = acu_sim_memory_new_range(pool->device, (size_t)handle->size);
        if (!range)
            return cudaErrorMemoryAllocation;
        place(pool->view, range, handle->offset);
        range->pool = pool;
        range->where = SIM_CALLER;
        pool->live++;
    }
    *ptr = (void *)range->base;
    return cudaSuccess;
}

/* Memory that was imported already has one address, which one free ends. That the other process has
 * freed the memory is not noticed, as on a GPU. */
cudaError_t acu_sim_cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
                                             struct cudaMemPoolPtrExportData *exportData) {
    acu_sim_shared_handle handle;
    bool ours;
    acu_sim_pool *pool = acu_sim_pool_of(memPool);
    if (!ptr || !exportData)
        return SIM_REFUSE(cudaErrorInvalidValue, "ptr or exportData is NULL");
    *ptr = NULL;
    if (!pool || !pool->imported)
        return SIM_REFUSE(cudaErrorInvalidValue, "%p is no pool of another process",
                          (void *)memPool);
    if (!acu_sim_shared_handle_read(exportData, SIM_SHARED_POOL, &handle, &ours) ||
        handle.tag != pool->view->note.tag || !handle.size ||
        handle.offset > pool->view->note.size ||
        handle.size > pool->view->note.size - handle.offset)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "exportData is not of cudaMemPoolExportPointer() for memory of this "
                          "pool");
    return open_memory(pool, &handle, ptr);
}
