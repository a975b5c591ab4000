/*
 * Memory of other APIs: a file in memory that the program makes in the name of one, and imports.
 * Its bytes are shared with whoever else has it mapped; a device has addresses for them that the
 * host cannot reach.
 */
#define _GNU_SOURCE /* memfd_create */

#include "sim/memory/external_memory.h"
#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct acu_sim_external {
    unsigned refs; /* the program's, and those of buffers */
    acu_sim_device *device;
    char *bytes;
    size_t size;
    const void *where;
    acu_sim_external *next;
};

static acu_sim_external *imports; /* the program's */
static acu_sim_set handles;

int acu_sim_memory_export(size_t size) {
    int fd = size ? memfd_create("anycuda-memory", MFD_CLOEXEC) : -1;
    if (fd >= 0 && ftruncate(fd, (off_t)size)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

void acu_sim_external_release(acu_sim_external *external) {
    if (--external->refs)
        return;
    acu_sim_memory_wait_for_moves();
    munmap(external->bytes, external->size);
    free(external);
}

/* ---- importing ----------------------------------------------------------------------------------
 */

static cudaError_t judge(const struct cudaExternalMemoryHandleDesc *desc) {
    if (!acu_sim_knows(&acu_cudart_type_cudaExternalMemoryHandleType, desc->type) || !desc->size ||
        desc->flags & ~(unsigned)cudaExternalMemoryDedicated)
        return cudaErrorInvalidValue;
    return desc->type == cudaExternalMemoryHandleTypeOpaqueFd ? cudaSuccess : cudaErrorNotSupported;
}

/* The file that another API exported, of at least that size. CUDA takes whatever file it is given.
 */
static cudaError_t open_file(int fd, size_t size, char **bytes) {
    static const char made_so[] = "/memfd:anycuda-memory";
    char name[128];
    struct stat file;
    if (!acu_sim_external_descriptor_name(fd, name, sizeof name) ||
        strncmp(name, made_so, sizeof made_so - 1) != 0 || fstat(fd, &file))
        return close(fd), cudaErrorUnknown;
    if (size > (size_t)file.st_size)
        return cudaErrorInvalidValue;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return cudaErrorOperatingSystem;
    *bytes = at;
    return cudaSuccess;
}

static cudaError_t import(const struct cudaExternalMemoryHandleDesc *desc, acu_sim_device *device,
                          const void *where, acu_sim_external **made) {
    char *bytes = NULL;
    cudaError_t why = judge(desc);
    if (!why)
        why = open_file(desc->handle.fd, (size_t)desc->size, &bytes);
    if (why)
        return why;
    acu_sim_external *external = calloc(1, sizeof *external);
    if (!external || !acu_sim_set_add(&handles, external)) {
        munmap(bytes, (size_t)desc->size);
        free(external);
        return cudaErrorMemoryAllocation;
    }
    *external = (acu_sim_external){.refs = 1,
                                   .device = device,
                                   .bytes = bytes,
                                   .size = (size_t)desc->size,
                                   .where = where,
                                   .next = imports};
    *made = imports = external;
    (void)close(desc->handle.fd); /* it is CUDA's now, and what is mapped stays */
    return cudaSuccess;
}

static acu_sim_external *external_of(cudaExternalMemory_t handle) {
    acu_sim_external *external = (acu_sim_external *)(void *)handle;
    return acu_sim_set_has(&handles, external) ? external : NULL;
}

cudaError_t
acu_sim_cudaImportExternalMemory(cudaExternalMemory_t *extMem_out,
                                 const struct cudaExternalMemoryHandleDesc *memHandleDesc) {
    acu_sim_device *device = acu_sim_device_now();
    acu_sim_external *made = NULL;
    if (!extMem_out || !memHandleDesc)
        return cudaErrorInvalidValue;
    SIM_TRY(import(memHandleDesc, device, SIM_CALLER, &made));
    *extMem_out = (cudaExternalMemory_t)(void *)made;
    return cudaSuccess;
}

/* Buffers of it stay. */
static void destroy(acu_sim_external *external) {
    acu_sim_external **link = &imports;
    while (*link != external)
        link = &(*link)->next;
    *link = external->next;
    acu_sim_set_remove(&handles, external);
    acu_sim_external_release(external);
}

cudaError_t acu_sim_cudaDestroyExternalMemory(cudaExternalMemory_t extMem) {
    acu_sim_external *external = external_of(extMem);
    if (!external)
        return cudaErrorInvalidResourceHandle;
    destroy(external);
    return cudaSuccess;
}

void acu_sim_externals_reset(const acu_sim_device *device) {
    acu_sim_external *next;
    for (acu_sim_external *external = imports; external; external = next) {
        next = external->next;
        if (external->device == device)
            destroy(external);
    }
}

int acu_sim_externals_leaks(int print) {
    int count = 0;
    for (const acu_sim_external *it = imports; it; it = it->next, count++)
        if (print)
            acu_sim_caller_report("external memory", it, it->size, it->where);
    return count;
}

/* ---- buffers ------------------------------------------------------------------------------------
 */

/* Addresses of the device's; it takes none of its memory. */
static cudaError_t map(acu_sim_external *external, const struct cudaExternalMemoryBufferDesc *desc,
                       void **at, const void *where) {
    if (desc->flags || !desc->size || desc->offset > external->size ||
        desc->size > external->size - desc->offset)
        return cudaErrorInvalidValue;
    acu_sim_range *range = acu_sim_memory_new_range(external->device, (size_t)desc->size);
    if (!range)
        return cudaErrorMemoryAllocation;
    range->where = where;
    range->bytes = external->bytes + desc->offset;
    range->access = range->writes = (uint64_t)1 << external->device->index;
    range->external = external;
    external->refs++;
    *at = (void *)range->base;
    return cudaSuccess;
}

cudaError_t
acu_sim_cudaExternalMemoryGetMappedBuffer(void **devPtr, cudaExternalMemory_t extMem,
                                          const struct cudaExternalMemoryBufferDesc *bufferDesc) {
    acu_sim_external *external = external_of(extMem);
    if (!external)
        return cudaErrorInvalidResourceHandle;
    if (!devPtr || !bufferDesc)
        return cudaErrorInvalidValue;
    return map(external, bufferDesc, devPtr, SIM_CALLER);
}
