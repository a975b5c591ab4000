/* Handles: how they are made, counted, checked, described and destroyed. */
#include "safe/base/object.h"
#include "safe/base/name.h"

#include "core/quarantine.h"

#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

acu_watch acu_watched __attribute__((aligned(64))) = {.quarantine = ACU_QUARANTINE};

/* ---- threads ---- */

uint64_t acu_thread_id(void) {
    static uint64_t count; /* atomic */
    static _Thread_local uint64_t id;
    if (!id)
        id = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    return id;
}

/* ---- counting ---- */

int acu_object_counts[ACU_COUNTED_DEVICES], acu_object_count_everywhere;

void acu_object_count_down(int device) {
    int *counter = acu_object_counter(device);
    if (counter)
        __atomic_sub_fetch(counter, 1, __ATOMIC_RELAXED);
}

int acu_object_count(int device) {
    const int *here = acu_object_counter(device);
    int everywhere = __atomic_load_n(&acu_object_count_everywhere, __ATOMIC_RELAXED);
    return (here ? __atomic_load_n(here, __ATOMIC_RELAXED) : 0) + everywhere;
}

/* ---- quarantine ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the quarantine and of what waits */
static acu_object *oldest, *newest;                      /* dead objects, in a list */
static size_t held;                                      /* how many are in that list */

/* Takes the objects out of the quarantine that are too many for it, and returns them as a list,
 * which the caller frees without the lock. */
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
    __atomic_store_n(&acu_quarantine_size, objects,
                     __ATOMIC_RELAXED); /* of the runtime's handles */
    acu_object *surplus = take_surplus();
    pthread_mutex_unlock(&lock);
    free_all(surplus);
}

/* ---- life ---- */

void *acu_object_alloc(size_t size) {
    return aligned_alloc(ACU_CACHE_LINE,
                         (size + ACU_CACHE_LINE - 1) / ACU_CACHE_LINE * ACU_CACHE_LINE);
}

static const char *article(const acu_class *kind) {
    return strchr("aeiou", kind->name[0]) ? "an" : "a";
}

void *acu_object_make(const acu_class *kind, size_t size, int device) {
    acu_object *object = acu_object_alloc(size);
    if (!object) {
        acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for %s %s", article(kind),
                   kind->name);
        return NULL;
    }
    memset(object, 0, size);
    acu_object_init(object, kind, device);
    return object;
}

void *acu_object_new(const char *call, const acu_class *kind, size_t size, int device) {
    void *object = acu_object_make(kind, size, device);
    if (!object)
        acu_cuda_failed(call, "", ACU_ERROR_HOST_MEMORY);
    return object;
}

void acu_object_discard(acu_object *object) {
    acu_object_count_down(object->device);
    free(object);
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

bool acu_breaks_no_capture(const acu_object *object) {
    (void)object;
    return true;
}

/* The function differs from the one above, so that no linker makes them one: their addresses count.
 */
bool acu_calls_no_cuda(const acu_object *object) {
    return object != NULL;
}

/* ---- results ---- */

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

/* ---- describing ---- */

__attribute__((format(printf, 2, 0))) static void add_list(acu_description *d, const char *format,
                                                           va_list args) {
    size_t used = d->length < d->size ? d->length : d->size;
    int length = vsnprintf(d->size > used ? d->text + used : NULL, d->size - used, format, args);
    d->length += length > 0 ? (size_t)length : 0;
}

__attribute__((format(printf, 2, 3))) static void add(acu_description *d, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_list(d, format, args);
    va_end(args);
}

void acu_describe(acu_description *d, const char *format, ...) {
    va_list args;
    add(d, "%s", d->details++ ? ", " : " (");
    va_start(args, format);
    add_list(d, format, args);
    va_end(args);
}

/* What the program calls the devices. */
static acu_name device_names[ACU_COUNTED_DEVICES];

void acu_object_name_device(int device, const char *name) {
    if (device >= 0 && device < ACU_COUNTED_DEVICES)
        acu_name_set(&device_names[device], name);
}

static void describe_device(acu_description *d, int device) {
    char name[ACU_NAME_SIZE];
    add(d, " on device %d", device);
    if (device < ACU_COUNTED_DEVICES && acu_name_get(&device_names[device], name))
        add(d, " (\"%s\")", name);
}

static void describe_object(acu_description *d, const acu_object *object) {
    const acu_class *kind = __atomic_load_n(&object->kind, __ATOMIC_RELAXED);
    add(d, "%s %p", object->was->name, (const void *)object);
    if (!kind)
        acu_describe(d, "released");
    else if (kind->describe)
        kind->describe(object, d);
    if (d->details)
        add(d, ")");
    if (object->device >= 0)
        describe_device(d, object->device);
}

const char *acu_object_describe(const void *handle, char text[ACU_OBJECT_TEXT]) {
    acu_description d = {.text = text, .size = ACU_OBJECT_TEXT};
    text[0] = '\0';
    if (handle)
        describe_object(&d, handle);
    return text;
}

size_t acu_object_describe_as(const void *handle, const acu_class *kind, char *text, size_t size) {
    acu_description d = {.text = text, .size = text ? size : 0};
    if (handle)
        describe_object(&d, handle);
    else
        add(&d, "no %s", kind->name);
    if (handle && ((const acu_object *)handle)->was != kind)
        add(&d, ", which is no %s", kind->name);
    return d.length;
}

/* ---- failures on an object ---- */

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

void acu_forget_not_ready(void) {
    if (cudaPeekAtLastError() == cudaErrorNotReady)
        (void)cudaGetLastError();
}

/* ---- destroying later ---- */

int acu_forgive_unloading(int result) {
    if (result != cudaErrorCudartUnloading)
        return result;
    __atomic_store_n(&acu_watched.unloading, true, __ATOMIC_RELAXED);
    return 0;
}

static _Thread_local int in_callback; /* host callbacks that this thread runs, one in the other */

void acu_callback_begin(void) {
    in_callback++;
    __atomic_add_fetch(&acu_watched.callbacks, 1, __ATOMIC_RELAXED);
}

void acu_callback_end(void) {
    __atomic_sub_fetch(&acu_watched.callbacks, 1, __ATOMIC_RELAXED);
    in_callback--;
}

/* The thread's own count is read last, because that costs more. */
static bool is_in_callback(void) {
    return !ACU_LIKELY(ACU_WATCHED(callbacks) == 0) && in_callback;
}

static bool (*breaks_a_capture)(const acu_object *object); /* atomic; NULL before it is set */

void acu_object_delay_by(bool (*test)(const acu_object *object)) {
    __atomic_store_n(&breaks_a_capture, test, __ATOMIC_RELEASE);
}

ACU_COLD static bool is_delayed_by_capture(const acu_object *object) {
    bool (*test)(const acu_object *) = __atomic_load_n(&breaks_a_capture, __ATOMIC_ACQUIRE);
    if (object && object->was->breaks_no_capture && object->was->breaks_no_capture(object))
        return false;
    return test && test(object);
}

/* Returns whether the object, or where that is NULL any object, cannot be destroyed now. */
static bool is_delayed(const acu_object *object) {
    return is_in_callback() ||
           (!ACU_LIKELY(!ACU_WATCHED(captures)) && is_delayed_by_capture(object));
}

/* The simulator reports at exit what is left. Objects that wait for running work were released, so
 * that work is waited for first. CUDA itself reports nothing, and there nobody waits. */
static void destroy_at_exit(void) {
    const acu_load_info *runtime = acu_loaded(ACU_CUDART);
    if (!runtime || !runtime->is_sim)
        return;
    for (int device = 0; ACU_WATCHED(deferred) && device < ACU_WATCHED(devices); device++)
        if (!is_delayed(NULL) && cudaSetDevice(device) == cudaSuccess &&
            cudaDeviceSynchronize() == cudaSuccess)
            acu_object_destroy_deferred();
}

static void defer(acu_object *object) {
    static bool once; /* atomic */
    if (!__atomic_exchange_n(&once, true, __ATOMIC_RELAXED))
        (void)atexit(destroy_at_exit);
    pthread_mutex_lock(&lock);
    object->next = acu_watched.deferred;
    __atomic_store_n(&acu_watched.deferred, object, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

/* ---- captures of other threads ---- */

enum { UNCHANGED = -1 };

/* Sets the thread's mode and returns the one before; UNCHANGED where CUDA fails, which the record
 * does not show. */
static int exchange_mode(enum cudaStreamCaptureMode mode) {
    acu_saved_record before;
    acu_record_save(&before);
    if (ACU_LIKELY(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess))
        return (int)mode;
    acu_record_restore(&before);
    return UNCHANGED;
}

static int change_mode(enum cudaStreamCaptureMode mode) {
    int before = acu_is_unloading() ? UNCHANGED : exchange_mode(mode);
    return before == (int)mode ? UNCHANGED : before;
}

int acu_thread_ignore_captures(void) {
    int before = change_mode(cudaStreamCaptureModeThreadLocal);
    if (before == (int)cudaStreamCaptureModeRelaxed) { /* the program's choice, which allows more */
        (void)exchange_mode(cudaStreamCaptureModeRelaxed);
        return UNCHANGED;
    }
    return before;
}

int acu_thread_ignore_all_captures(void) {
    return change_mode(cudaStreamCaptureModeRelaxed);
}

void acu_thread_restore(int mode) {
    if (mode != UNCHANGED)
        (void)exchange_mode((enum cudaStreamCaptureMode)mode);
}

/* ---- destroying ---- */

/* An embedded object's memory is freed with that which it is part of. */
static int destroy_object(acu_object *object) {
    bool embedded = object->embedded;
    int device = object->device;
    __atomic_store_n(&object->kind, NULL, __ATOMIC_RELAXED);
    const bool calls_cuda = object->was->breaks_no_capture != acu_calls_no_cuda;
    int mode = calls_cuda ? acu_thread_ignore_captures() : UNCHANGED;
    int code = object->was->destroy(object);
    acu_thread_restore(mode);
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

/* Destroys the object and keeps a failure for acu_release_error(). */
static int destroy_and_report(const char *call, acu_object *object) {
    const acu_class *kind = object->was;
    uintptr_t address = (uintptr_t)object; /* a number, because it is printed after the memory is
                                              freed */
    int code = destroy_object(object);
    if (!ACU_LIKELY(code == 0))
        keep_failure(call, kind, address, code);
    return code;
}

/* The saved error makes the frame large, so that this function is never inlined. */
__attribute__((noinline)) static int destroy_beside_error(const char *call, acu_object *object) {
    acu_saved_record before;
    acu_record_save(&before);
    int code = destroy_and_report(call, object);
    acu_record_restore(&before);
    return code;
}

int acu_object_destroy(const char *call, acu_object *object) {
    static const acu_saved_record none;
    int code = destroy_and_report(call, object);
    /* A failure that was overcome leaves an error behind though the code is 0. */
    if (!ACU_LIKELY(acu_last_error() == 0))
        acu_record_restore(&none);
    return code;
}

static int destroy(const char *call, acu_object *object) {
    return acu_last_error() ? destroy_beside_error(call, object) : acu_object_destroy(call, object);
}

void acu_object_destroy_deferred(void) {
    if (is_delayed(NULL))
        return;
    pthread_mutex_lock(&lock);
    acu_object *object = acu_watched.deferred;
    __atomic_store_n(&acu_watched.deferred, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    while (object) {
        acu_object *next = object->next;
        (void)destroy("an earlier release", object);
        object = next;
    }
}

/* The only owner need not count down, because no other thread can count at the same time. */
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
    if (is_delayed(object)) {
        __atomic_store_n(&object->kind, NULL, __ATOMIC_RELAXED);
        defer(object);
        return 0;
    }
    return call ? destroy(call, object) : destroy_object(object);
}
