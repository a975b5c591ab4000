/* Shares: what this process offers, and which way CUDA shares it. */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */

#include "safe/base/device.h"
#include "safe/base/event.h"
#include "safe/memory/physical.h"
#include "safe/memory/share.h"
#include "safe/memory/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOME(object, code) acu_outcome(__func__, (object), (code))

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof((acu_share_body *)0)->raw, "a handle fits");
_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof((acu_share_body *)0)->raw, "a handle fits");
_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == sizeof((acu_share_body *)0)->raw,
               "what stands for a pool's memory fits");

/* ---- what all kinds have ---- */

/* Prepares a share of an object, which it keeps. */
static int begin(const char *call, acu_object *kept, acu_share_kind kind, acu_share **share) {
    acu_device any = ACU_DEVICE_CURRENT;
    ACU_TRY(acu_physical_begin(call, &any));
    acu_share *made = acu_share_new(call);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    acu_object_add_owner(kept);
    made->kept = kept;
    made->body.kind = kind;
    int code = acu_share_stamp(call, &made->body);
    if (code)
        acu_share_cleanup(&made);
    *share = made;
    return code;
}

/* Offers the share, or, after a failure with that code, destroys it; returns the code. */
static int finish(const char *call, acu_device device, int code, acu_share *made,
                  acu_share **share) {
    if (!code)
        code = acu_share_mark_device(call, device, &made->body);
    if (code) {
        acu_share_cleanup(&made); /* which keeps the failure */
        return code;
    }
    made->exported = true;
    made->body.lease = acu_lease_offer(made->body.id);
    *share = made;
    return 0;
}

/* ---- pools ---- */

/*
 * A pool that was exported, as long as a share needs it. All of them have one id, by which another
 * process knows that it has the pool already. A pool is exported before its memory: an H200 refuses
 * the other order.
 */
typedef struct acu_exported_pool {
    cudaMemPool_t raw;
    uint64_t id;
    int descriptor;
    unsigned users;
    struct acu_exported_pool *next;
} acu_exported_pool;

/* One use of it. */
typedef struct acu_pool_export {
    acu_object object;
    acu_exported_pool *of;
} acu_pool_export;

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static acu_exported_pool *pools; /* under the lock */

static int destroy_export(acu_object *object) {
    acu_exported_pool *pool = ((acu_pool_export *)object)->of;
    pthread_mutex_lock(&pools_lock);
    if (--pool->users == 0) {
        acu_exported_pool **at = &pools;
        while (*at != pool)
            at = &(*at)->next;
        *at = pool->next;
        acu_share_close(pool->descriptor);
        free(pool);
    }
    pthread_mutex_unlock(&pools_lock);
    return 0;
}

static const acu_class pool_export_class = {"exported pool", destroy_export, NULL,
                                            acu_breaks_no_capture};

/* Exports a pool for the first time; under the lock. Returns 0 or a recorded code. */
static int export_now(cudaMemPool_t raw, uint64_t id, acu_exported_pool **out) {
    int code;
    acu_exported_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for a pool");
    ACU_IGNORING_CAPTURES(
        code, cudaMemPoolExportToShareableHandle(&pool->descriptor, raw,
                                                 cudaMemHandleTypePosixFileDescriptor, 0));
    if (code) {
        free(pool);
        return code;
    }
    (void)fcntl(pool->descriptor, F_SETFD, FD_CLOEXEC); /* which CUDA leaves out */
    pool->raw = raw;
    pool->id = id;
    pool->next = pools;
    *out = pools = pool;
    return 0;
}

/* Gives the share the pool's export. `id` is a new one, in case that it is the first. */
static int use_export(cudaMemPool_t raw, uint64_t id, acu_pool_export *use) {
    int code = 0;
    pthread_mutex_lock(&pools_lock);
    acu_exported_pool *pool = pools;
    while (pool && pool->raw != raw)
        pool = pool->next;
    if (!pool)
        code = export_now(raw, id, &pool);
    if (!code) {
        pool->users++;
        use->of = pool;
    }
    pthread_mutex_unlock(&pools_lock);
    return code;
}

/* Gives the share a descriptor of a pool, and the pool's id. A pool that cannot be shared fails
 * with `unshared`. */
static int offer_pool(const char *call, cudaMemPool_t raw, int unshared, acu_share *share) {
    ACU_TRY(acu_share_make_room(call, 1, &share->descriptors));
    acu_pool_export *use =
        acu_object_new(call, &pool_export_class, sizeof *use, ACU_DEVICE_CURRENT);
    if (!use)
        return ACU_ERROR_HOST_MEMORY;
    int code = use_export(raw, share->body.id, use);
    if (!code) {
        share->pool = &use->object;
        share->body.pool = use->of->id;
        const int copy = fcntl(use->of->descriptor, F_DUPFD_CLOEXEC, 0);
        if (copy >= 0) {
            share->descriptors.of[share->descriptors.count++] = copy;
            return 0;
        }
        return acu_fail_on(call, share->kept, cudaErrorOperatingSystem,
                           "the process cannot have another descriptor: %s", strerror(errno));
    }
    acu_object_discard(&use->object);
    if (code != cudaErrorInvalidValue)
        return acu_cuda_failed_on(call, share->kept, code);
    acu_fail_hint("acu_pool_options.handles = ACU_SHARE_FILE_DESCRIPTOR makes a pool that can be "
                  "shared; memory of ACU_MEMORY_DEVICE can be shared without a pool");
    return acu_fail_on(call, share->kept, unshared,
                       "the pool was made without ACU_SHARE_FILE_DESCRIPTOR in options.handles");
}

acu_result acu_share_export_pool(acu_pool *pool, acu_share **share) {
    ACU_SCOPE();
    acu_share *made = NULL;
    ACU_NEED_POINTER(share);
    *share = NULL;
    ACU_NEED(pool, acu_pool_class);
    ACU_REQUIRE_OF(pool, !pool->owner, ACU_ERROR_STATE,
                   "the pool is another process's, which alone exports it");
    ACU_TRY(begin(__func__, &pool->object, ACU_SHARE_POOL, &made));
    made->body.way = ACU_SHARE_BY_POOL;
    return finish(__func__, pool->object.device,
                  offer_pool(__func__, pool->raw, ACU_ERROR_STATE, made), made, share);
}

/* ---- events and physical memory ---- */

acu_result acu_share_export_event(acu_event *event, acu_share **share) {
    ACU_SCOPE();
    acu_share *made = NULL;
    cudaIpcEventHandle_t handle;
    ACU_NEED_POINTER(share);
    *share = NULL;
    ACU_NEED(event, acu_event_class);
    ACU_TRY(begin(__func__, &event->object, ACU_SHARE_EVENT, &made));
    made->body.way = ACU_SHARE_BY_IPC;
    int code = (int)cudaIpcGetEventHandle(&handle, event->raw);
    memcpy(made->body.raw, &handle, code ? 0 : sizeof handle);
    if (code == cudaErrorInvalidResourceHandle)
        acu_fail_hint("make the event with ACU_EVENT_INTERPROCESS and ACU_EVENT_DISABLE_TIMING; "
                      "one that was imported is exported by the process that made it");
    return finish(__func__, event->object.device, OUTCOME(event, code), made, share);
}

acu_result acu_share_export_physical(acu_physical *physical, acu_share **share) {
    ACU_SCOPE();
    acu_share *made = NULL;
    ACU_NEED_POINTER(share);
    *share = NULL;
    ACU_NEED(physical, acu_physical_class);
    ACU_TRY(begin(__func__, &physical->object, ACU_SHARE_PHYSICAL, &made));
    made->body.way = ACU_SHARE_BY_DESCRIPTOR;
    made->body.bytes = made->body.whole = physical->bytes;
    int code = acu_share_make_room(__func__, 1, &made->descriptors);
    if (!code)
        code = acu_physical_export_for(__func__, physical, made->descriptors.of);
    made->descriptors.count = !code;
    return finish(__func__, acu_physical_device(physical), code, made, share);
}

/* ---- buffers ---- */

static const char *memory_of(acu_memory memory) {
    switch (memory) {
    case ACU_MEMORY_MANAGED:
        return "managed memory";
    case ACU_MEMORY_GRAPH:
        return "a graph's memory";
    default:
        return "memory of the host";
    }
}

/* Memory of cudaMalloc(): the handle is that of the allocation, in which the buffer has a place. */
static int offer_ipc(const char *call, const acu_buffer *buffer, acu_share *share) {
    CUdeviceptr base = 0;
    size_t size = 0;
    cudaIpcMemHandle_t handle;
    acu_guard guard;
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)buffer->pointer;
    int code = acu_guard_enter(&guard, buffer->storage->device);
    if (!code)
        code = acu_translate_driver(cuMemGetAddressRange(&base, &size, at));
    if (!code)
        code = (int)cudaIpcGetMemHandle(&handle, (void *)(uintptr_t)base);
    acu_guard_leave(&guard);
    if (code == cudaErrorInvalidValue) {
        acu_fail_hint(
            "acu_buffer_create_with() makes memory of ACU_MEMORY_DEVICE, or takes it from "
            "an allocator of ACU_ALLOCATOR_DEVICE or from a pool with .handles = "
            "ACU_SHARE_FILE_DESCRIPTOR");
        return acu_fail_on(call, buffer, ACU_ERROR_MEMORY_KIND,
                           "CUDA shares memory of cudaMalloc() only, and this is other memory, as "
                           "that which a caching allocator maps");
    }
    share->body.way = ACU_SHARE_BY_IPC;
    share->body.offset = at - base;
    memcpy(share->body.raw, &handle, code ? 0 : sizeof handle);
    return acu_outcome(call, buffer, code);
}

static int offer_of_pool(const char *call, const acu_buffer *buffer, cudaMemPool_t pool,
                         acu_share *share) {
    CUdeviceptr base = 0;
    size_t size = 0;
    struct cudaMemPoolPtrExportData data;
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)buffer->pointer;
    ACU_TRY(offer_pool(call, pool, ACU_ERROR_MEMORY_KIND, share));
    int code = acu_translate_driver(cuMemGetAddressRange(&base, &size, at));
    if (!code)
        ACU_IGNORING_CAPTURES(code, cudaMemPoolExportPointer(&data, (void *)(uintptr_t)base));
    share->body.way = ACU_SHARE_BY_POOL;
    share->body.offset = at - base;
    memcpy(share->body.raw, &data, code ? 0 : sizeof data);
    return acu_outcome(call, buffer, code);
}

/* Chooses the way: what CUDA says of the address counts, also where the program wrapped it. */
static int offer_buffer(const char *call, const acu_buffer *buffer, acu_share *share) {
    cudaMemPool_t pool = NULL;
    const acu_memory memory = buffer->storage->memory;
    if (memory == ACU_MEMORY_VIRTUAL)
        return acu_share_offer_pieces(call, buffer, share);
    int code = acu_translate_driver(cuPointerGetAttribute((void *)&pool,
                                                          CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                                          (CUdeviceptr)(uintptr_t)buffer->pointer));
    if (code)
        return acu_cuda_failed_on(call, buffer, code);
    return pool ? offer_of_pool(call, buffer, pool, share) : offer_ipc(call, buffer, share);
}

/* Returns the device that has the memory, which may be another one than the stream's. */
static acu_device device_of(const acu_buffer *buffer) {
    int device = 0;
    if (cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                              (CUdeviceptr)(uintptr_t)buffer->pointer))
        return buffer->storage->device;
    return device;
}

/* What can grow is kept by a slice, as which the share keeps it from shrinking. */
static int begin_buffer(const char *call, acu_buffer *buffer, acu_share **share) {
    acu_buffer *slice = NULL;
    if (buffer->storage->memory != ACU_MEMORY_VIRTUAL)
        return begin(call, &buffer->object, ACU_SHARE_BUFFER, share);
    ACU_TRY(acu_outcome(call, buffer, acu_buffer_slice(buffer, 0, buffer->count, &slice)));
    int code = begin(call, &slice->object, ACU_SHARE_BUFFER, share);
    acu_buffer_cleanup(&slice); /* the share is its owner now, if there is one */
    return code;
}

acu_result acu_share_export_buffer(acu_buffer *buffer, acu_share **share) {
    ACU_SCOPE();
    acu_share *made = NULL;
    ACU_NEED_POINTER(share);
    *share = NULL;
    ACU_NEED(buffer, acu_buffer_class);
    const acu_storage *s = buffer->storage;
    ACU_REQUIRE_OF(buffer, acu_buffer_is_device_memory(buffer) && s->memory != ACU_MEMORY_GRAPH,
                   ACU_ERROR_MEMORY_KIND,
                   "%s cannot be shared: memory of a device can, of ACU_MEMORY_DEVICE or of a pool "
                   "with .handles = ACU_SHARE_FILE_DESCRIPTOR",
                   memory_of(s->memory));
    ACU_REQUIRE_OF(buffer, acu_buffer_bytes(buffer) > 0, ACU_ERROR_RANGE,
                   "it has no elements to share");
    ACU_REQUIRE_OF(buffer, !acu_share_is_import(s->owner), ACU_ERROR_STATE,
                   "the memory is another process's, which alone exports it");
    ACU_TRY(begin_buffer(__func__, buffer, &made));
    made->body.dtype = (uint32_t)buffer->dtype;
    made->body.count = buffer->count;
    made->body.bytes = acu_buffer_bytes(buffer);
    int code = offer_buffer(__func__, buffer, made);
    return finish(__func__, device_of(buffer), code, made, share);
}
