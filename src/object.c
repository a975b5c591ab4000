/* Life and death of the safe layer's handles. */
#include "object.h"

#include <anycuda/cudart.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ----------------------------------------------------------------------------------
 */

enum { COUNTED_DEVICES = 64 };
static int alive[COUNTED_DEVICES];

static void count(int device, int change) {
    if (device >= 0 && device < COUNTED_DEVICES)
        __atomic_add_fetch(&alive[device], change, __ATOMIC_RELAXED);
}

int acu_objects_alive(int device) {
    return device >= 0 && device < COUNTED_DEVICES
               ? __atomic_load_n(&alive[device], __ATOMIC_RELAXED)
               : 0;
}

/* ---- the quarantine ----------------------------------------------------------------------------
 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both lists */
static acu_object *oldest, *newest;                      /* dead, oldest first */
static size_t held;
#if defined(NDEBUG)
static size_t room;
#else
static size_t room = 1024;
#endif

/* Takes the objects out that are too many; the caller frees them without the lock. */
static acu_object *take_surplus(void) {
    acu_object *surplus = NULL;
    while (held > room && oldest) {
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

static void bury(acu_object *object) {
    if (__atomic_load_n(&room, __ATOMIC_RELAXED) == 0) {
        free(object);
        return;
    }
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

void acu_quarantine(size_t objects) {
    pthread_mutex_lock(&lock);
    __atomic_store_n(&room, objects, __ATOMIC_RELAXED);
    acu_object *surplus = take_surplus();
    pthread_mutex_unlock(&lock);
    free_all(surplus);
}

/* ---- making ------------------------------------------------------------------------------------
 */

void acu_object_init(acu_object *object, const acu_class *kind, int device) {
    object->was = kind;
    object->references = 1;
    object->device = device;
    __atomic_store_n(&object->kind, kind, __ATOMIC_RELAXED);
    count(device, 1);
}

void *acu_object_new(const char *call, const acu_class *kind, size_t size, int device) {
    acu_object *object = calloc(1, size);
    if (!object) {
        acu_fault(call, "", ACU_ERROR_HOST_MEMORY, "no memory for a %s", kind->name);
        return NULL;
    }
    acu_object_init(object, kind, device);
    return object;
}

void acu_object_discard(acu_object *object) {
    count(object->device, -1);
    free(object);
}

/* ---- checking ----------------------------------------------------------------------------------
 */

int acu_bad_handle(const char *call, const void *handle, const acu_class *kind) {
    const acu_object *object = handle;
    char text[ACU_OBJECT_TEXT];
    if (!object)
        return acu_fault(call, "", ACU_ERROR_ARGUMENT, "the %s is NULL", kind->name);
    const acu_class *really = __atomic_load_n(&object->kind, __ATOMIC_RELAXED);
    if (really)
        return acu_fault(call, acu_describe(handle, text), ACU_ERROR_HANDLE,
                         "a %s is given where a %s is needed", really->name, kind->name);
    snprintf(text, sizeof text, "%s %p", kind->name, handle);
    return acu_fault(call, text, ACU_ERROR_HANDLE, "the %s was released already", kind->name);
}

const char *acu_describe(const void *handle, char text[ACU_OBJECT_TEXT]) {
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

int acu_outcome(const char *call, const void *handle, int code) {
    char text[ACU_OBJECT_TEXT];
    if (ACU_LIKELY(code == 0))
        return 0;
    return acu_blame(call, acu_describe(handle, text), code);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static bool unloading;

bool acu_is_unloading(void) {
    return __atomic_load_n(&unloading, __ATOMIC_RELAXED);
}

int acu_released(int result) {
    if (result != cudaErrorCudartUnloading)
        return result;
    __atomic_store_n(&unloading, true, __ATOMIC_RELAXED);
    return 0;
}

static _Thread_local int in_callback;
static acu_object *deferred; /* atomic to look at, under the lock to change */

void acu_callback_begins(void) {
    in_callback++;
}

void acu_callback_ends(void) {
    in_callback--;
}

static void defer(acu_object *object) {
    pthread_mutex_lock(&lock);
    object->next = deferred;
    __atomic_store_n(&deferred, object, __ATOMIC_RELAXED);
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
    count(device, -1);
    if (!embedded)
        bury(object);
    return code;
}

static int destroy_quietly(const char *call, acu_object *object) {
    acu_saved_error before;
    char text[64];
    const acu_class *kind = object->was;
    uintptr_t address = (uintptr_t)object; /* only to be told */
    acu_error_save(&before);
    int code = destroy_object(object);
    if (code) {
        snprintf(text, sizeof text, "%s 0x%" PRIxPTR, kind->name, address);
        acu_blame(call, text, code);
        acu_keep_release_error();
    }
    acu_error_restore(&before);
    return code;
}

void acu_destroy_deferred(void) {
    if (ACU_LIKELY(!__atomic_load_n(&deferred, __ATOMIC_RELAXED)) || in_callback ||
        acu_capture_delays(NULL))
        return;
    pthread_mutex_lock(&lock);
    acu_object *object = deferred;
    __atomic_store_n(&deferred, NULL, __ATOMIC_RELAXED);
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
        acu_bad_handle(call, handle, kind);
        return NULL;
    }
    __atomic_add_fetch(&object->references, 1, __ATOMIC_RELAXED);
    return object;
}

int acu_object_release(const char *call, void *handle, const acu_class *kind) {
    acu_object *object = handle;
    if (!object)
        return 0;
    if (!acu_is(object, kind))
        return acu_bad_handle(call, handle, kind);
    if (__atomic_sub_fetch(&object->references, 1, __ATOMIC_ACQ_REL) > 0)
        return 0;
    if (in_callback || acu_capture_delays(object)) {
        defer(object);
        return 0;
    }
    return call ? destroy_quietly(call, object) : destroy_object(object);
}
