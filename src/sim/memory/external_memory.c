/*
 * Memory of other APIs: a file in memory that the program makes, which stands for such memory
 * (acu_sim_memory_export()), or one that Mesa's Vulkan for the CPU exports; or what CUDA itself
 * exports (cuMemExportToShareableHandle()), as GPUs take that, too. The bytes are shared
 * with all other mappings of the file; a device has addresses for them that the host cannot access.
 */
#define _GNU_SOURCE /* memfd_create */

#include "sim/memory/external_memory.h"

#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/memory/array.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/set.h"
#include "sim/shared_file.h"
#include "sim/stream/capture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct acu_sim_external {
    unsigned refs; /* one of the program's, and one of each buffer and image */
    acu_sim_device *device;
    char *bytes;       /* the mapping of the file's memory */
    size_t size;       /* bytes that can be mapped: those that are there and were imported */
    size_t mapped;     /* bytes of the mapping */
    bool dedicated;    /* the import said that the memory is of one buffer or image alone */
    const void *where; /* where the program imported the memory */
    acu_sim_external *next;
};

static acu_sim_external *imports; /* all that the program has not destroyed */
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
    munmap(external->bytes, external->mapped);
    free(external);
}

/* ---- importing ---- */

/* Validates what a GPU on Linux validates before it says that the type is not supported: global
 * handles have no names, and resources of Direct3D are dedicated. */
static cudaError_t validate_other(const struct cudaExternalMemoryHandleDesc *desc) {
    const bool is_global = desc->type == cudaExternalMemoryHandleTypeOpaqueWin32Kmt ||
                           desc->type == cudaExternalMemoryHandleTypeD3D11ResourceKmt;
    const bool is_resource = desc->type >= cudaExternalMemoryHandleTypeD3D12Resource &&
                             desc->type <= cudaExternalMemoryHandleTypeD3D11ResourceKmt;
    if (desc->type == cudaExternalMemoryHandleTypeNvSciBuf)
        return desc->handle.nvSciBufObject ? cudaErrorNotSupported : cudaErrorInvalidValue;
    if ((!desc->handle.win32.handle && (is_global || !desc->handle.win32.name)) ||
        (is_resource && !desc->flags))
        return cudaErrorInvalidValue;
    return cudaErrorNotSupported;
}

static cudaError_t validate(const struct cudaExternalMemoryHandleDesc *desc) {
    if (!acu_sim_knows(&acu_cudart_type_cudaExternalMemoryHandleType, desc->type))
        return cudaErrorInvalidValue;
    if (!desc->size)
        return SIM_REFUSE(cudaErrorInvalidValue, "the memory has 0 bytes");
    if (desc->flags & ~(unsigned)cudaExternalMemoryDedicated)
        return SIM_REFUSE(cudaErrorInvalidValue, "there are no flags 0x%x", desc->flags);
    return desc->type == cudaExternalMemoryHandleTypeOpaqueFd ? cudaSuccess : validate_other(desc);
}

/* The part of a file that is memory. */
typedef struct memory_part {
    uint64_t offset, size; /* bytes; the offset is one that mmap() takes */
} memory_part;

/* Mesa's files begin with their size and with where the memory begins in them. */
static bool find_memory_of_mesa(int fd, uint64_t file_size, memory_part *part) {
    struct {
        uint64_t file_size, offset;
    } header = {0, 0};
    if (pread(fd, &header, sizeof header, 0) != sizeof header || header.file_size != file_size ||
        header.offset >= file_size || header.offset % (uint64_t)sysconf(_SC_PAGESIZE) != 0)
        return false;
    *part = (memory_part){header.offset, file_size - header.offset};
    return true;
}

/* Returns false where the descriptor is of no memory. */
static bool find_memory(int fd, memory_part *part) {
    static const char ours[] = "/memfd:anycuda-memory", mesas[] = "/memfd:llvmpipe memory fd";
    char name[128];
    struct stat file;
    acu_sim_shared_note note;
    if (acu_sim_shared_file_read(fd, SIM_SHARED_CREATED, &note)) {
        *part = (memory_part){0, note.size};
        return true;
    }
    if (!acu_sim_external_descriptor_name(fd, name, sizeof name) || fstat(fd, &file))
        return false;
    *part = (memory_part){0, (uint64_t)file.st_size};
    return strncmp(name, ours, sizeof ours - 1) == 0 ||
           (strncmp(name, mesas, sizeof mesas - 1) == 0 &&
            find_memory_of_mesa(fd, (uint64_t)file.st_size, part));
}

/* Maps all memory of a file. CUDA closes the descriptor of any other file, too. */
static cudaError_t map_file(int fd, char **bytes, size_t *size) {
    memory_part part;
    if (!find_memory(fd, &part))
        return SIM_REFUSE(cudaErrorUnknown,
                          close(fd) ? "the descriptor is not open"
                                    : "the descriptor is of no memory that another API exports; on "
                                      "the simulator acu_sim_memory_export() makes such ones");
    void *at = mmap(NULL, part.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)part.offset);
    if (at == MAP_FAILED)
        return cudaErrorOperatingSystem;
    *bytes = at;
    *size = part.size;
    return cudaSuccess;
}

static cudaError_t import(const struct cudaExternalMemoryHandleDesc *desc, acu_sim_device *device,
                          acu_sim_external **made) {
    char *bytes;
    size_t size;
    SIM_TRY(validate(desc));
    SIM_TRY(acu_sim_capture_allows_unsafe());
    SIM_TRY(map_file(desc->handle.fd, &bytes, &size));
    acu_sim_external *external = calloc(1, sizeof *external);
    if (!external || !acu_sim_set_add(&handles, external)) {
        munmap(bytes, size);
        free(external);
        return cudaErrorMemoryAllocation;
    }
    *external = (acu_sim_external){.refs = 1,
                                   .device = device,
                                   .bytes = bytes,
                                   .size = size < desc->size ? size : (size_t)desc->size,
                                   .mapped = size,
                                   .dedicated = desc->flags & cudaExternalMemoryDedicated,
                                   .where = SIM_CALLER,
                                   .next = imports};
    *made = imports = external;
    (void)close(desc->handle.fd); /* CUDA owns the descriptor now; the mapping stays */
    return cudaSuccess;
}

/* Returns the import of a handle; NULL if there is none. */
static acu_sim_external *external_of(cudaExternalMemory_t handle) {
    acu_sim_external *external = (acu_sim_external *)(void *)handle;
    return acu_sim_set_has(&handles, external) ? external : NULL;
}

cudaError_t
acu_sim_cudaImportExternalMemory(cudaExternalMemory_t *extMem_out,
                                 const struct cudaExternalMemoryHandleDesc *memHandleDesc) {
    acu_sim_external *made;
    if (!extMem_out || !memHandleDesc)
        return cudaErrorInvalidValue;
    SIM_TRY(import(memHandleDesc, acu_sim_device_now(), &made));
    *extMem_out = (cudaExternalMemory_t)(void *)made;
    return cudaSuccess;
}

/* Gives up the program's reference. Buffers of the memory stay. */
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
    SIM_TRY(acu_sim_capture_allows_unsafe());
    destroy(external);
    return cudaSuccess;
}

static void reset_device(acu_sim_device *device) {
    acu_sim_external *next;
    for (acu_sim_external *external = imports; external; external = next) {
        next = external->next;
        if (external->device == device)
            destroy(external);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_external *e = imports; e; e = e->next, count++)
        if (print)
            acu_sim_caller_report("external memory", e, e->size, e->where);
    return count;
}

const acu_sim_noun acu_sim_external_memory_noun = {.reset_device = reset_device, .leaks = leaks};

/* ---- buffers ---- */

enum { ALIGNMENT = 512 }; /* the address of a buffer is its offset, modulo this; on a GPU 64 KiB */

/* Returns whether so many bytes from there on can be mapped: of dedicated memory CUDA maps only
 * what begins where that begins. */
static cudaError_t validate_part(const acu_sim_external *external, uint64_t offset, uint64_t size) {
    if (offset > external->size || size > external->size - offset)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "%" PRIu64 " bytes from byte %" PRIu64 " on are not in the memory, of "
                          "which %zu were imported and are there",
                          size, offset, external->size);
    if (external->dedicated && offset)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the memory is dedicated, and such memory is mapped from byte 0 on, not "
                          "from %" PRIu64,
                          offset);
    return cudaSuccess;
}

/* Gives the buffer addresses of the device, but takes none of its memory. */
static cudaError_t map(acu_sim_external *external, const struct cudaExternalMemoryBufferDesc *desc,
                       void **at) {
    if (desc->flags || !desc->size)
        return SIM_REFUSE(cudaErrorInvalidValue, desc->flags ? "a mapped buffer has no flags"
                                                             : "a mapped buffer has some bytes");
    SIM_TRY(validate_part(external, desc->offset, desc->size));
    acu_sim_range *range = acu_sim_memory_new_range_past(
        external->device, (size_t)desc->offset % ALIGNMENT, (size_t)desc->size);
    if (!range)
        return cudaErrorMemoryAllocation;
    range->where = SIM_CALLER;
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
    return map(external, bufferDesc, devPtr);
}

/* ---- images ---- */

/* The image lies as on a GPU: in blocks, as the elements of arrays with deferred mapping. */
cudaError_t acu_sim_cudaExternalMemoryGetMappedMipmappedArray(
    cudaMipmappedArray_t *mipmap, cudaExternalMemory_t extMem,
    const struct cudaExternalMemoryMipmappedArrayDesc *mipmapDesc) {
    acu_sim_external *external = external_of(extMem);
    if (!external)
        return cudaErrorInvalidResourceHandle;
    if (!mipmap || !mipmapDesc)
        return cudaErrorInvalidValue;
    SIM_TRY(validate_part(external, mipmapDesc->offset, 1));
    SIM_TRY(acu_sim_array_map_image(external, external->bytes + mipmapDesc->offset,
                                    external->size - (size_t)mipmapDesc->offset, external->device,
                                    mipmapDesc, mipmap));
    external->refs++;
    return cudaSuccess;
}
