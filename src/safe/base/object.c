/* Life and death of the safe layer's handles. */
#include "safe/base/object.h"
#include "safe/base/stream.h"

#include <anycuda/cudart.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(NDEBUG)
enum { QUARANTINE = 0 };
#else
enum { QUARANTINE = 1024 };
#endif

acu_watch acu_watched __attribute__((aligned(64))) = {.quarantine = QUARANTINE};

/* ---- counting ----------------------------------------------------------------------------------
 */

int acu_object_counts[ACU_COUNTED_DEVICES], acu_object_count_everywhere;

void acu_object_count_down(int device) {
    int *alive = acu_object_counter(device);
    if (alive)
        __atomic_sub_fetch(alive, 1, __ATOMIC_RELAXED);
}

int acu_objects_alive(int device) {
    const int *here = acu_object_counter(device);
    int everywhere = __atomic_load_n(&acu_object_count_everywhere, __ATOMIC_RELAXED);
    return (here ? __atomic_load_n(here, __ATOMIC_RELAXED) - acu_stream_count_spares(device) : 0) +
           everywhere;
}

/* ---- the quarantine ----------------------------------------------------------------------------
 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both lists */
static acu_object *oldest, *newest;                      /* dead, oldest first */
static size_t held;

/* Takes the objects out that are too many; the caller frees them without the lock. */
static acu_object *take_surplus(void) {
    acu_object *surplus = NULL;
    while (held > ACU_WATCHED(quarantine) && oldest) {
        acu_object *object = oldest;
        oldest = object->next;
        if (!oldest)
            newest = NULL;
        object->next = surplus;
        surplus = object;
        held--;
    }
    return surplus;
}

static void free_all(acu_object *objects) {
    while (objects) {
        acu_object *next = objects->next;
        free(objects);
        objects = next;
    }
}

static void put_in_quarantine(acu_object *object) {
    pthread_mutex_lock(&lock);
    object->next = NULL;
    if (newest)
        newest->next = object;
    else
        oldest = object;
    newest = object;
    held++;
    acu_object *surplus = take_surplus();
    pthread_mutex_unlock(&lock);
    free_all(surplus);
}

void acu_object_free(acu_object *object) {
    if (ACU_LIKELY(ACU_WATCHED(quarantine) == 0))
        free(object);
    else
        put_in_quarantine(object);
}

void acu_quarantine(size_t objects) {
    pthread_mutex_lock(&lock);
    __atomic_store_n(&acu_watched.quarantine, objects, __ATOMIC_RELAXED);
    acu_object *surplus = take_surplus();
    pthread_mutex_unlock(&lock);
    free_all(surplus);
}

/* ---- making ------------------------------------------------------------------------------------
 */

void *acu_object_alloc(size_t size) {
    return aligned_alloc(ACU_CACHE_LINE,
                         (size + ACU_CACHE_LINE - 1) / ACU_CACHE_LINE * ACU_CACHE_LINE);
}

static const char *article(const acu_class *kind) {
    return strchr("aeiou", kind->name[0]) ? "an" : "a";
}

void *acu_object_new(const char *call, const acu_class *kind, size_t size, int device) {
    acu_object *object = acu_object_alloc(size);
    if (!object) {
        acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for %s %s", article(kind), kind->name);
        return NULL;
    }
    memset(object, 0, size);
    acu_object_init(object, kind, device);
    return object;
}

void acu_object_discard(acu_object *object) {
    acu_object_count_down(object->device);
    free(object);
}

/* ---- checking ----------------------------------------------------------------------------------
 */

int acu_object_refuse(const char *call, const void *handle, const acu_class *kind) {
    const acu_object *object = handle;
    char text[ACU_OBJECT_TEXT];
    if (!object)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the %s is NULL", kind->name);
    const acu_class *really = __atomic_load_n(&object->kind, __ATOMIC_RELAXED);
    if (really)
        return acu_fail_on(call, handle, ACU_ERROR_HANDLE, "%s %s is given where %s %s is needed",
                           article(really), really->name, article(kind), kind->name);
    snprintf(text, sizeof text, "%s %p", kind->name, handle);
    return acu_fail(call, text, ACU_ERROR_HANDLE, "the %s was released already", kind->name);
}

const char *acu_object_describe(const void *handle, char text[ACU_OBJECT_TEXT]) {
    const acu_object *object = handle;
    text[0] = '\0';
    if (!object)
        return text;
    const acu_class *kind = __atomic_load_n(&object->kind, __ATOMIC_RELAXED);
    int used = snprintf(text, ACU_OBJECT_TEXT, "%s %p", object->was->name, handle);
    if (kind && kind->describe)
        kind->describe(object, text + used, ACU_OBJECT_TEXT - (size_t)used);
    used = (int)strlen(text);
    if (object->device >= 0)
        snprintf(text + used, ACU_OBJECT_TEXT - (size_t)used, " on device %d", object->device);
    return text;
}

int acu_fail_on(const char *call, const void *handle, int code, const char *format, ...) {
    char text[ACU_OBJECT_TEXT];
    va_list args;
    va_start(args, format);
    (void)acu_vfail(call, acu_object_describe(handle, text), code, format, args);
    va_end(args);
    return code;
}

int acu_cuda_failed_on(const char *call, const void *handle, int code) {
    char text[ACU_OBJECT_TEXT];
    return acu_cuda_failed(call, acu_object_describe(handle, text), code);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

int acu_forgive_unloading(int result) {
    if (result != cudaErrorCudartUnloading)
        return result;
    __atomic_store_n(&acu_watched.unloading, true, __ATOMIC_RELAXED);
    return 0;
}

static _Thread_local int in_callback;

void acu_callback_begin(void) {
    in_callback++;
    __atomic_add_fetch(&acu_watched.callbacks, 1, __ATOMIC_RELAXED);
}

void acu_callback_end(void) {
    __atomic_sub_fetch(&acu_watched.callbacks, 1, __ATOMIC_RELAXED);
    in_callback--;
}

/* The thread's own count costs more to look at. */
static bool is_in_callback(void) {
    return !ACU_LIKELY(ACU_WATCHED(callbacks) == 0) && in_callback;
}

static void defer(acu_object *object) {
    pthread_mutex_lock(&lock);
    object->next = acu_watched.deferred;
    __atomic_store_n(&acu_watched.deferred, object, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

/* Forgets the object, whose memory goes with what it lies in, if that is another. */
static int destroy_object(acu_object *object) {
    bool embedded = object->embedded;
    int device = object->device;
    __atomic_store_n(&object->kind, NULL, __ATOMIC_RELAXED);
    int code = object->was->destroy(object);
    if (code == ACU_LATER) {
        defer(object);
        return 0;
    }
    acu_object_count_down(device);
    if (!embedded)
        acu_object_free(object);
    return code;
}

ACU_COLD static void keep_failure(const char *call, const acu_class *kind, uintptr_t address,
                                  int code) {
    char text[64];
    snprintf(text, sizeof text, "%s 0x%" PRIxPTR, kind->name, address);
    acu_cuda_failed(call, text, code);
    acu_record_release_error();
}

static int destroy_loudly(const char *call, acu_object *object) {
    const acu_class *kind = object->was;
    uintptr_t address = (uintptr_t)object; /* only to be told */
    int code = destroy_object(object);
    if (!ACU_LIKELY(code == 0))
        keep_failure(call, kind, address, code);
    return code;
}

/* Apart, as its frame is large and seldom needed. */
__attribute__((noinline)) static int destroy_beside_error(const char *call, acu_object *object) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = destroy_loudly(call, object);
    acu_record_restore(&before);
    return code;
}

int acu_object_destroy(const char *call, acu_object *object) {
    static const acu_saved_record none;
    int code = destroy_loudly(call, object);
    if (!ACU_LIKELY(acu_last_error() == 0)) /* also where it could be helped in the end */
        acu_record_restore(&none);
    return code;
}

static int destroy_quietly(const char *call, acu_object *object) {
    return acu_last_error() ? destroy_beside_error(call, object) : acu_object_destroy(call, object);
}

void acu_object_destroy_deferred(void) {
    if (is_in_callback() || acu_capture_delays(NULL))
        return;
    pthread_mutex_lock(&lock);
    acu_object *object = acu_watched.deferred;
    __atomic_store_n(&acu_watched.deferred, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    while (object) {
        acu_object *next = object->next;
        (void)destroy_quietly("an earlier release", object);
        object = next;
    }
}

void *acu_object_retain(const char *call, void *handle, const acu_class *kind) {
    acu_object *object = handle;
    if (!acu_is(object, kind)) {
        acu_object_refuse(call, handle, kind);
        return NULL;
    }
    acu_object_add_owner(object);
    return object;
}

/* Whoever owns it alone need not count down: nobody else is there to count at the same time. */
static bool is_last_owner(acu_object *object) {
    return __atomic_load_n(&object->references, __ATOMIC_ACQUIRE) == 1 ||
           __atomic_sub_fetch(&object->references, 1, __ATOMIC_ACQ_REL) == 0;
}

int acu_object_release(const char *call, void *handle, const acu_class *kind) {
    acu_object *object = handle;
    if (!object)
        return 0;
    if (!acu_is(object, kind))
        return acu_object_refuse(call, handle, kind);
    if (!is_last_owner(object))
        return 0;
    if (is_in_callback() || acu_capture_delays(object)) {
        __atomic_store_n(&object->kind, NULL, __ATOMIC_RELAXED);
        defer(object);
        return 0;
    }
    return call ? destroy_quietly(call, object) : destroy_object(object);
}
