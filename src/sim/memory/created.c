/*
 * Memory that the program created. Its bytes are a file, which is mapped wherever the program maps
 * the memory to. Other processes get that file by its descriptor, and map it, too.
 */
#define _GNU_SOURCE /* memfd_create, F_DUPFD_CLOEXEC */

#include "sim/memory/created.h"

#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/memory/memory.h"
#include "sim/memory/multicast.h"
#include "sim/set.h"
#include "sim/shared_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* All of it; under the lock. */
static acu_sim_created *memories;
static acu_sim_set handles;

/* ---- references ---- */

/* Finds memory, which the program may have released, but which is still mapped. */
static acu_sim_created *created_of(CUmemGenericAllocationHandle handle) {
    acu_sim_created *memory = (acu_sim_created *)(uintptr_t)handle;
    return acu_sim_set_has(&handles, memory) ? memory : NULL;
}

acu_sim_created *acu_sim_created_held(CUmemGenericAllocationHandle handle) {
    acu_sim_created *memory = created_of(handle);
    return memory && memory->held ? memory : NULL;
}

acu_sim_created *acu_sim_created_for_arrays(CUmemGenericAllocationHandle handle,
                                            const acu_sim_device *device) {
    acu_sim_created *memory = acu_sim_created_held(handle);
    return memory && memory->for_arrays && !memory->on_host && memory->device == device ? memory
                                                                                        : NULL;
}

/* Releases the memory, if neither the program nor a mapping has a reference to it any more. */
static void settle(acu_sim_created *memory) {
    if (memory->held || memory->mapped)
        return;
    acu_sim_set_remove(&handles, memory);
    for (acu_sim_created **at = &memories; *at; at = &(*at)->next)
        if (*at == memory) {
            *at = memory->next;
            break;
        }
    if (!memory->on_host && !memory->imported && !memory->multicast)
        memory->device->used -= memory->size;
    acu_sim_multicast *multicast = memory->multicast;
    if (memory->bytes)
        munmap(memory->bytes, memory->size);
    close(memory->file);
    free(memory);
    acu_sim_multicast_free(multicast);
}

void acu_sim_created_hold(acu_sim_created *memory) {
    if (memory)
        memory->mapped++;
}

void acu_sim_created_let_go(acu_sim_created *memory) {
    if (!memory)
        return;
    memory->mapped--;
    settle(memory);
}

char *acu_sim_created_bytes(acu_sim_created *memory) {
    if (memory->bytes)
        return memory->bytes;
    void *at = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED, memory->file, 0);
    return memory->bytes = at == MAP_FAILED ? NULL : at;
}

/* ---- creating ---- */

/* Writes the properties of memory of the host as CUDA reports them. The machine has one NUMA node;
 * CUDA ignores a number beside HOST, and refuses what only a device's memory can be. */
static cudaError_t settle_host(CUmemAllocationProp *p) {
    if (p->location.type == CU_MEM_LOCATION_TYPE_HOST)
        p->location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA};
    if (p->location.type != CU_MEM_LOCATION_TYPE_HOST_NUMA || p->location.id)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "prop->location is {%d, %d}: memory is of a device, of the host, or of "
                          "its only NUMA node, which is 0",
                          (int)p->location.type, p->location.id);
    return p->allocFlags.compressionType || p->allocFlags.gpuDirectRDMACapable
               ? SIM_REFUSE(cudaErrorInvalidValue,
                            "memory of the host is neither compressed nor for RDMA")
               : cudaSuccess;
}

/* Writes the properties of memory of a device as CUDA reports them: memory for RDMA is never
 * compressed. CUDA looks for the device first. */
static cudaError_t settle_device(CUmemAllocationProp *p, acu_sim_device **device) {
    *device = acu_sim_device_at(p->location.id);
    if (!*device)
        return SIM_REFUSE(cudaErrorInvalidDevice, "there is no device %d, whose memory it is to be",
                          p->location.id);
    if (p->allocFlags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC)
        return SIM_REFUSE(cudaErrorInvalidValue, "there is no compressionType %d",
                          p->allocFlags.compressionType);
    if (p->allocFlags.gpuDirectRDMACapable) {
        p->allocFlags.gpuDirectRDMACapable = 1;
        p->allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
    }
    return cudaSuccess;
}

/* Writes the handles as CUDA reports them. An H100 refused each combination below 10 that has more
 * than a file descriptor; of larger numbers, which name nothing, it took the lowest bit. */
static cudaError_t settle_handles(CUmemAllocationProp *p) {
    const unsigned asked = (unsigned)p->requestedHandleTypes;
    const unsigned file = asked & (unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (asked != file && asked < (unsigned)CU_MEM_HANDLE_TYPE_FABRIC)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "requestedHandleTypes is %u, and handles of Windows do not exist here",
                          asked);
    if (asked != file && (asked & ~file) == (unsigned)CU_MEM_HANDLE_TYPE_FABRIC)
        return SIM_REFUSE(cudaErrorNotPermitted,
                          "this process may not make fabric handles: there is no channel for them");
    p->requestedHandleTypes = (CUmemAllocationHandleType)file;
    return cudaSuccess;
}

/* Memory of the host belongs to the first device, whichever is current. Of the types of handles,
 * this system has descriptors only. */
static cudaError_t settle_properties(CUmemAllocationProp *p, acu_sim_device **device) {
    *device = acu_sim_device_at(0);
    SIM_TRY(p->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? settle_device(p, device)
                                                            : settle_host(p));
    if (p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "prop->type is %d, but only CU_MEM_ALLOCATION_TYPE_PINNED can be created",
                          (int)p->type);
    return settle_handles(p);
}

/* Returns a file of that size; -1 if there is none. */
static int new_file(size_t size) {
    int file = memfd_create("anycuda", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)size)) {
        close(file);
        return -1;
    }
    return file;
}

/* What the note of a file says of memory. Processes that share it may be of different versions of
 * this library, so the layout does not depend on CUDA's. */
typedef struct about {
    int32_t type, location_type, location_id;
    uint32_t handles;
    uint8_t compression, rdma, for_arrays;
} about;

_Static_assert(sizeof(about) <= sizeof((acu_sim_shared_note *)0)->about, "the note has room");

/* Returns a file for such memory, of which other processes learn what it is; -1 if there is none.
 */
static int new_shared_file(size_t size, const CUmemAllocationProp *p, const acu_sim_device *device,
                           uint32_t kind, uint64_t *tag) {
    const about what = {.type = (int32_t)p->type,
                        .location_type = (int32_t)p->location.type,
                        .location_id = p->location.id,
                        .handles = (uint32_t)p->requestedHandleTypes,
                        .compression = p->allocFlags.compressionType,
                        .rdma = p->allocFlags.gpuDirectRDMACapable,
                        .for_arrays = p->allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL};
    acu_sim_shared_note note = {.kind = kind, .device = device->index, .size = size};
    memcpy(note.about, &what, sizeof what);
    const int file = acu_sim_shared_file_new(&note);
    *tag = note.tag;
    return file;
}

/* Makes memory of a file, which it then owns; NULL without memory, or if the file is none. */
static acu_sim_created *new_created(int file, size_t size, const CUmemAllocationProp *properties,
                                    acu_sim_device *device) {
    acu_sim_created *memory = calloc(1, sizeof *memory);
    if (file < 0 || !memory || !acu_sim_set_add(&handles, memory)) {
        if (file >= 0)
            close(file);
        free(memory);
        return NULL;
    }
    *memory = (acu_sim_created){.held = 1,
                                .file = file,
                                .size = size,
                                .device = device,
                                .on_host = properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE,
                                .for_arrays =
                                    properties->allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL,
                                .properties = *properties,
                                .where = SIM_CALLER,
                                .next = memories};
    memory->properties.allocFlags.usage = 0; /* which CUDA does not report */
    return memories = memory;
}

/* Makes memory with a file of its own, which a note says of what kind it is if it can be shared;
 * NULL without memory. */
static acu_sim_created *create(size_t size, const CUmemAllocationProp *properties,
                               acu_sim_device *device, uint32_t kind) {
    uint64_t tag = 0;
    const int file = properties->requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE
                         ? new_file(size)
                         : new_shared_file(size, properties, device, kind, &tag);
    acu_sim_created *made = new_created(file, size, properties, device);
    if (made)
        made->tag = tag;
    return made;
}

cudaError_t acu_sim_cuMemGetAllocationGranularity(size_t *granularity,
                                                  const CUmemAllocationProp *prop,
                                                  CUmemAllocationGranularity_flags option) {
    if (!granularity || !prop || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "granularity or prop is NULL, or there is no option %d", (int)option);
    *granularity = SIM_GRANULARITY; /* for memory of all properties */
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                                const CUmemAllocationProp *prop, unsigned long long flags) {
    acu_sim_device *device;
    if (!handle || !prop)
        return SIM_REFUSE(cudaErrorInvalidValue, "handle or prop is NULL");
    if (flags)
        return SIM_REFUSE(cudaErrorInvalidValue, "flags is %llu, and must be 0", flags);
    if (!size || size % SIM_GRANULARITY)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the size is %zu bytes, and must be a multiple of the granularity, which "
                          "is %zu, and not 0",
                          size, (size_t)SIM_GRANULARITY);
    CUmemAllocationProp properties = *prop;
    SIM_TRY(settle_properties(&properties, &device));
    const bool on_host = properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE;
    if (!on_host && !acu_sim_memory_charge(device, size))
        return cudaErrorMemoryAllocation;
    acu_sim_created *made = create(size, &properties, device, SIM_SHARED_CREATED);
    if (!made) {
        device->used -= on_host ? 0 : size;
        return SIM_REFUSE(cudaErrorMemoryAllocation,
                          "the host has no file in memory of %zu bytes, or no descriptor, for what "
                          "is simulated",
                          size);
    }
    *handle = (uintptr_t)made;
    return cudaSuccess;
}

cudaError_t acu_sim_created_new_multicast(acu_sim_multicast *multicast, size_t size, unsigned asked,
                                          CUmemGenericAllocationHandle *handle) {
    CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = (CUmemAllocationHandleType)asked,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
    };
    SIM_TRY(settle_handles(&properties));
    acu_sim_created *made = create(size, &properties, acu_sim_device_at(0), SIM_SHARED_MULTICAST);
    if (!made)
        return cudaErrorMemoryAllocation;
    made->multicast = multicast;
    *handle = (uintptr_t)made;
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemRelease(CUmemGenericAllocationHandle handle) {
    acu_sim_created *memory = acu_sim_created_held(handle);
    if (!memory)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "0x%llx is no handle of memory: it was released, or never made", handle);
    memory->held--;
    settle(memory);
    return cudaSuccess;
}

cudaError_t acu_sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                           CUmemGenericAllocationHandle handle) {
    const acu_sim_created *memory = created_of(handle);
    if (!prop || !memory || memory->multicast)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "prop is NULL, or the handle is not one of memory: a multicast object "
                          "has no properties of memory");
    *prop = memory->properties;
    return cudaSuccess;
}

/* ---- sharing ---- */

/* The program owns the descriptor, and the memory stays as long as one is open. */
cudaError_t acu_sim_cuMemExportToShareableHandle(void *shareableHandle,
                                                 CUmemGenericAllocationHandle handle,
                                                 CUmemAllocationHandleType handleType,
                                                 unsigned long long flags) {
    const acu_sim_created *memory = created_of(handle); /* also one that is only mapped any more */
    if (!shareableHandle || !memory || flags)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "flags is %llu and must be 0, shareableHandle is NULL, or the handle is "
                          "not one of cuMemCreate(), or its memory is gone",
                          flags);
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        handleType != memory->properties.requestedHandleTypes)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the memory was created without handles of type %d: name the type in "
                          "requestedHandleTypes",
                          (int)handleType);
    const int descriptor = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0)
        return SIM_REFUSE(cudaErrorOperatingSystem, "the process can open no more descriptors");
    memcpy(shareableHandle, &descriptor, sizeof descriptor);
    return cudaSuccess;
}

/* Returns the properties of the memory that is in a file. */
static CUmemAllocationProp properties_in(const acu_sim_shared_note *note) {
    about what;
    memcpy(&what, note->about, sizeof what);
    return (CUmemAllocationProp){
        .type = (CUmemAllocationType)what.type,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE, /* an import is not shared on */
        .location = {.type = (CUmemLocationType)what.location_type, .id = what.location_id},
        .allocFlags = {.compressionType = what.compression,
                       .gpuDirectRDMACapable = what.rdma,
                       .usage = what.for_arrays ? CU_MEM_CREATE_USAGE_TILE_POOL : 0}};
}

/* An object is known to its own process only, where each import is the same handle once more. */
static cudaError_t import_multicast(const acu_sim_shared_note *note,
                                    CUmemGenericAllocationHandle *handle) {
    for (acu_sim_created *memory = memories; memory; memory = memory->next)
        if (memory->multicast && memory->tag == note->tag) {
            memory->held++;
            *handle = (uintptr_t)memory;
            return cudaSuccess;
        }
    return SIM_REFUSE(cudaErrorNotSupported,
                      "the descriptor is one of a multicast object of another process, which the "
                      "simulator does not have");
}

/* The descriptor stays the program's. The memory is charged to the process that created it. */
cudaError_t acu_sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                                   void *osHandle,
                                                   CUmemAllocationHandleType shHandleType) {
    acu_sim_shared_note note;
    const int descriptor = (int)(intptr_t)osHandle;
    if (!handle ||
        !acu_sim_driver_knows(&acu_cuda_type_CUmemAllocationHandleType_enum,
                              (int64_t)shHandleType) ||
        shHandleType == CU_MEM_HANDLE_TYPE_NONE)
        return SIM_REFUSE(cudaErrorInvalidValue, "handle is NULL, or there is no such type");
    if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return SIM_REFUSE(cudaErrorNotSupported,
                          "of handles for other processes there are file descriptors only");
    if (acu_sim_shared_file_read(descriptor, SIM_SHARED_POOL, &note))
        return SIM_REFUSE(cudaErrorNotSupported, "descriptor %d is of a pool, not of memory",
                          descriptor);
    if (acu_sim_shared_file_read(descriptor, SIM_SHARED_MULTICAST, &note))
        return import_multicast(&note, handle);
    if (!acu_sim_shared_file_read(descriptor, SIM_SHARED_CREATED, &note))
        return SIM_REFUSE(cudaErrorUnknown,
                          "descriptor %d is not one of cuMemExportToShareableHandle()", descriptor);
    const CUmemAllocationProp properties = properties_in(&note);
    acu_sim_device *device = acu_sim_device_at(note.device);
    if (!device)
        return SIM_REFUSE(cudaErrorInvalidDevice,
                          "the memory is of device %d, which this process does not have",
                          note.device);
    acu_sim_created *made =
        new_created(fcntl(descriptor, F_DUPFD_CLOEXEC, 0), (size_t)note.size, &properties, device);
    if (!made)
        return cudaErrorMemoryAllocation;
    made->imported = true;
    *handle = (uintptr_t)made;
    return cudaSuccess;
}

/* ---- reset and leaks ---- */

/* Unbinds something that the device has bound to a multicast object; returns false if there is
 * nothing any more. */
static bool unbind_one(const acu_sim_device *device) {
    for (acu_sim_created *memory = memories; memory; memory = memory->next)
        if (memory->multicast && acu_sim_multicast_unbind_one(memory->multicast, device->index))
            return true;
    return false;
}

/* Memory goes with its device. Its mappings are gone already. Each time the list may change. */
static void reset_device(acu_sim_device *device) {
    while (unbind_one(device))
        ;
    for (acu_sim_created *memory = memories; memory;) {
        const bool goes = memory->device == device && memory->held;
        acu_sim_created *next = memory->next;
        if (goes) {
            memory->held = 0;
            settle(memory);
        }
        memory = goes ? memories : next;
    }
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_created *memory = memories; memory; memory = memory->next, count++)
        if (print)
            acu_sim_caller_report(memory->multicast  ? "multicast object"
                                  : memory->imported ? "imported memory"
                                                     : "created memory",
                                  memory, memory->size, memory->where);
    return count;
}

const acu_sim_noun acu_sim_created_noun = {.reset_device = reset_device, .leaks = leaks};
