/* Shares: what another process offers, opened here. */
#include "safe/base/device.h"
#include "safe/base/event.h"
#include "safe/memory/buffer.h"
#include "safe/memory/physical.h"
#include "safe/memory/share.h"

#include <stdlib.h>
#include <string.h>

#define OUTCOME(object, code) acu_outcome(__func__, (object), (code))

static const char *const names[] = {"nothing", "a buffer", "a pool", "an event", "physical memory"};

/* Validates a share for an import. */
static int begin(const char *call, acu_share *share, acu_share_kind kind) {
    acu_device any = ACU_DEVICE_CURRENT;
    if (!acu_is(share, &acu_share_class))
        return acu_object_refuse(call, share, &acu_share_class);
    if (share->body.kind != (uint32_t)kind)
        return acu_fail_on(call, share, ACU_ERROR_ARGUMENT, "it is %s, not %s",
                           names[share->body.kind], names[kind]);
    if (acu_share_is_own(&share->body)) {
        acu_fail_hint("an owner more, or a slice, is what a process makes of its own objects");
        return acu_fail_on(call, share, ACU_ERROR_STATE, "this process itself exported it");
    }
    return acu_physical_begin(call, &any);
}

/* ---- pools of other processes ---- */

/* A pool that was imported once, for all who use it. */
typedef struct acu_opened_pool {
    uint64_t id;
    cudaMemPool_t raw;
    unsigned users;
    struct acu_opened_pool *next;
} acu_opened_pool;

/* One use of it, as the owner of a pool's handle or of memory. */
typedef struct acu_pool_import {
    acu_object object;
    acu_opened_pool *of;
    acu_object *lease; /* with a reference, or NULL */
} acu_pool_import;

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static acu_opened_pool *pools; /* under the lock */

static int destroy_import(acu_object *object) {
    const acu_pool_import *import = (const acu_pool_import *)object;
    acu_opened_pool *pool = import->of;
    int code = 0;
    pthread_mutex_lock(&pools_lock);
    if (--pool->users == 0) {
        acu_opened_pool **at = &pools;
        while (*at != pool)
            at = &(*at)->next;
        *at = pool->next;
        code = acu_is_unloading() ? 0 : acu_forgive_unloading((int)cudaMemPoolDestroy(pool->raw));
        free(pool);
    }
    pthread_mutex_unlock(&pools_lock);
    if (import->lease)
        (void)acu_object_release(NULL, import->lease, import->lease->was);
    return code;
}

static const acu_class pool_import_class = {"imported pool", destroy_import, NULL, NULL};

/* Returns the pool, imported now if it was not before; under the lock. NULL and a recorded code
 * where that fails. */
static acu_opened_pool *open_pool(const acu_share *share, int *code) {
    acu_opened_pool *pool = pools;
    while (pool && pool->id != share->body.pool)
        pool = pool->next;
    if (pool)
        return pool;
    pool = calloc(1, sizeof *pool);
    if (!pool) {
        *code = acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for a pool");
        return NULL;
    }
    pool->id = share->body.pool;
    ACU_IGNORING_CAPTURES(*code, cudaMemPoolImportFromShareableHandle(
                                     &pool->raw, (void *)(uintptr_t)share->descriptors.of[0],
                                     cudaMemHandleTypePosixFileDescriptor, 0));
    if (*code) {
        free(pool);
        return NULL;
    }
    pool->next = pools;
    return pools = pool;
}

static bool is_open(uint64_t id) {
    pthread_mutex_lock(&pools_lock);
    const acu_opened_pool *pool = pools;
    while (pool && pool->id != id)
        pool = pool->next;
    pthread_mutex_unlock(&pools_lock);
    return pool != NULL;
}

/* Makes an import of the share's pool, with the caller as owner. */
static int import_pool(const char *call, const acu_share *share, acu_pool_import **import) {
    int code = 0;
    if (!is_open(share->body.pool))
        ACU_TRY(acu_share_need_descriptors(call, share));
    acu_pool_import *made =
        acu_object_new(call, &pool_import_class, sizeof *made, ACU_DEVICE_CURRENT);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->lease = acu_lease_copy(call, share->lease);
    if (!made->lease) {
        acu_object_discard(&made->object);
        return ACU_ERROR_HOST_MEMORY;
    }
    pthread_mutex_lock(&pools_lock);
    made->of = open_pool(share, &code);
    if (made->of)
        made->of->users++;
    pthread_mutex_unlock(&pools_lock);
    if (!made->of) {
        (void)acu_object_release(NULL, made->lease, made->lease->was);
        acu_object_discard(&made->object);
        return acu_cuda_failed_on(call, share, code);
    }
    *import = made;
    return 0;
}

acu_result acu_share_import_pool(acu_share *share, acu_pool **pool) {
    ACU_SCOPE();
    acu_device device = ACU_DEVICE_CURRENT;
    acu_pool_import *import = NULL;
    ACU_NEED_POINTER(pool);
    *pool = NULL;
    ACU_TRY(begin(__func__, share, ACU_SHARE_POOL));
    ACU_TRY(acu_share_find_device(__func__, &share->body, &device));
    ACU_TRY(import_pool(__func__, share, &import));
    int code = acu_pool_new_of(__func__, device, import->of->raw, &import->object, pool);
    (void)acu_object_release(NULL, import, &pool_import_class); /* the pool is its owner now */
    return code;
}

/* ---- events and physical memory ---- */

static int import_physical(const char *call, const acu_share *share, acu_physical **physical) {
    ACU_TRY(acu_share_need_descriptors(call, share));
    acu_object *lease = acu_lease_copy(call, share->lease);
    if (!lease)
        return ACU_ERROR_HOST_MEMORY;
    int code = acu_share_import_piece(call, share, share->descriptors.of[0],
                                      (size_t)share->body.whole, lease, physical);
    (void)acu_object_release(NULL, lease, lease->was);
    return code;
}

acu_result acu_share_import_event(acu_share *share, acu_event **event) {
    ACU_SCOPE();
    acu_device device = ACU_DEVICE_CURRENT;
    cudaIpcEventHandle_t handle;
    cudaEvent_t raw = NULL;
    acu_guard guard;
    ACU_NEED_POINTER(event);
    *event = NULL;
    ACU_TRY(begin(__func__, share, ACU_SHARE_EVENT));
    ACU_TRY(acu_share_find_device(__func__, &share->body, &device));
    memcpy(&handle, share->body.raw, sizeof handle);
    int code = acu_guard_enter(&guard, device);
    if (!code)
        code = (int)cudaIpcOpenEventHandle(&raw, handle);
    acu_guard_leave(&guard);
    ACU_TRY(OUTCOME(share, code));
    code = acu_event_adopt(device, raw, event);
    if (!code) {
        (*event)->timed = false;
        return 0;
    }
    (void)acu_cuda_failed_on(__func__, share, code);
    acu_saved_record failure;
    acu_record_save(&failure);
    if (cudaEventDestroy(raw))
        acu_record_release_error();
    acu_record_restore(&failure);
    return code;
}

acu_result acu_share_import_physical(acu_share *share, acu_physical **physical) {
    ACU_SCOPE();
    ACU_NEED_POINTER(physical);
    *physical = NULL;
    ACU_TRY(begin(__func__, share, ACU_SHARE_PHYSICAL));
    return import_physical(__func__, share, physical);
}

/* ---- memory of pools ----
 *
 * CUDA gives memory that is imported twice the same address, and one free ends both. So it is
 * imported for each, and freed with the last. One lock for both keeps a free from meeting an
 * import.
 */

typedef struct acu_opened_memory {
    char *base;
    unsigned users;
    struct acu_opened_memory *next;
} acu_opened_memory;

static acu_opened_memory *memories; /* under the lock of the pools */

static acu_opened_memory **find_memory(const char *base) {
    acu_opened_memory **at = &memories;
    while (*at && (*at)->base != base)
        at = &(*at)->next;
    return at;
}

/* Imports memory of the pool; under the lock. Returns 0 or a recorded code. */
static int open_memory(cudaMemPool_t pool, const acu_share *share, char **base) {
    struct cudaMemPoolPtrExportData data;
    void *at = NULL;
    int code;
    acu_opened_memory *made = calloc(1, sizeof *made);
    if (!made)
        return acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for an import");
    memcpy(&data, share->body.raw, sizeof data);
    ACU_IGNORING_CAPTURES(code, cudaMemPoolImportPointer(&at, pool, &data));
    acu_opened_memory *there = code ? NULL : *find_memory(at);
    if (code || there)
        free(made);
    if (code)
        return code;
    if (!there) {
        there = made;
        there->base = at;
        there->next = memories;
        memories = there;
    }
    there->users++;
    *base = at;
    return 0;
}

/* Gives imported memory up; under the lock. Returns CUDA's code where it was the last. */
static int close_memory(const char *base) {
    acu_opened_memory **at = find_memory(base), *memory = *at;
    if (--memory->users > 0)
        return 0;
    *at = memory->next;
    free(memory);
    return acu_is_unloading() ? 0 : (int)cudaFree((void *)(uintptr_t)base);
}

/* ---- buffers ---- */

/* Memory of another process that is open here, as the owner of a storage. */
typedef struct acu_opened {
    acu_object object;
    uint32_t way;
    char *base;
    int device;
    acu_object *lease;     /* with a reference, or NULL */
    acu_pool_import *pool; /* with a reference; NULL: by IPC */
} acu_opened;

static int close_base(const acu_opened *opened) {
    if (opened->way != ACU_SHARE_BY_POOL)
        return (int)cudaIpcCloseMemHandle(opened->base);
    pthread_mutex_lock(&pools_lock);
    int code = close_memory(opened->base);
    pthread_mutex_unlock(&pools_lock);
    return code;
}

/* The storage has waited for all uses. The lease ends when nothing here can touch the memory any
 * more. */
static int destroy_opened(acu_object *object) {
    acu_opened *opened = (acu_opened *)object;
    acu_guard guard;
    int code = 0;
    if (opened->base && !acu_is_unloading()) {
        code = acu_guard_enter(&guard, opened->device);
        if (!code)
            code = acu_forgive_unloading(close_base(opened));
        acu_guard_leave(&guard);
    }
    if (opened->lease)
        (void)acu_object_release(NULL, opened->lease, opened->lease->was);
    int pool = acu_object_release(NULL, opened->pool, &pool_import_class);
    return code ? code : pool;
}

static const acu_class opened_class = {"memory of another process", destroy_opened, NULL, NULL};

bool acu_share_is_import(const acu_object *owner) {
    return owner && owner->was == &opened_class;
}

static int open_by_pool(const char *call, const acu_share *share, acu_opened *opened) {
    ACU_TRY(import_pool(call, share, &opened->pool));
    pthread_mutex_lock(&pools_lock);
    int code = open_memory(opened->pool->of->raw, share, &opened->base);
    pthread_mutex_unlock(&pools_lock);
    return acu_outcome(call, share, code);
}

static int open_by_ipc(const char *call, const acu_share *share, acu_opened *opened) {
    cudaIpcMemHandle_t handle;
    void *base = NULL;
    acu_guard guard;
    memcpy(&handle, share->body.raw, sizeof handle);
    int code = acu_guard_enter(&guard, opened->device);
    if (!code)
        code = (int)cudaIpcOpenMemHandle(&base, handle, cudaIpcMemLazyEnablePeerAccess);
    acu_guard_leave(&guard);
    opened->base = code ? NULL : base;
    return acu_outcome(call, share, code);
}

/* Opens memory for a stream's device, and makes a buffer that owns it. */
static int import_memory(const char *call, acu_share *share, acu_stream *stream,
                         acu_buffer **buffer) {
    const acu_share_body *body = &share->body;
    acu_opened *opened = acu_object_new(call, &opened_class, sizeof *opened, ACU_DEVICE_CURRENT);
    if (!opened)
        return ACU_ERROR_HOST_MEMORY;
    opened->way = body->way;
    opened->device = stream->object.device;
    const bool pool = body->way == ACU_SHARE_BY_POOL;
    opened->lease = acu_lease_copy(call, share->lease);
    int code = !opened->lease ? ACU_ERROR_HOST_MEMORY
               : pool         ? open_by_pool(call, share, opened)
                              : open_by_ipc(call, share, opened);
    if (!code) {
        const acu_storage_request request = {
            .stream = stream,
            .dtype = (acu_dtype)body->dtype,
            .count = (size_t)body->count,
            .options = {.memory = pool ? ACU_MEMORY_POOL : ACU_MEMORY_DEVICE},
            .given = opened->base + body->offset,
            .owner = &opened->object};
        code = acu_buffer_new_on(call, &request, buffer);
    }
    acu_saved_record failure;
    acu_record_save(&failure);
    if (acu_object_release(NULL, opened, &opened_class)) /* the buffer is its owner now */
        acu_record_release_error();
    acu_record_restore(&failure);
    return code;
}

acu_result acu_share_import_buffer(acu_share *share, acu_stream *stream, acu_buffer **buffer) {
    ACU_SCOPE();
    acu_device device = ACU_DEVICE_CURRENT;
    int code = 0;
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_TRY(begin(__func__, share, ACU_SHARE_BUFFER));
    ACU_TRY(acu_stream_check(__func__, stream));
    ACU_TRY(acu_share_find_device(__func__, &share->body, &device));
    pthread_mutex_lock(&share->lock);
    if (!share->opened)
        code = share->body.way == ACU_SHARE_BY_DESCRIPTOR
                   ? acu_share_map_pieces(__func__, share, stream, &share->opened)
                   : import_memory(__func__, share, stream, &share->opened);
    pthread_mutex_unlock(&share->lock);
    ACU_TRY(code);
    return OUTCOME(share, acu_buffer_slice(share->opened, 0, share->opened->count, buffer));
}
