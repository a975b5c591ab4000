/* Handles: how they are made, counted, checked, described and destroyed. */
#include "runtime/handle.h"

#include "core/quarantine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- quarantine ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static acu_handle *oldest, *newest; /* dead handles, in a list; under the lock */
static size_t held;                 /* how many are in that list */

/* Puts a dead handle into the quarantine; returns those that are too many, as a list. */
static acu_handle *exchange(acu_handle *handle, size_t most) {
    acu_handle *surplus = NULL;
    pthread_mutex_lock(&lock);
    handle->next = NULL;
    if (newest)
        newest->next = handle;
    else
        oldest = handle;
    newest = handle;
    for (held++; held > most; held--) {
        acu_handle *next = oldest->next;
        oldest->next = surplus;
        surplus = oldest;
        oldest = next;
    }
    if (!oldest)
        newest = NULL;
    pthread_mutex_unlock(&lock);
    return surplus;
}

static void free_handle(acu_handle *handle) {
    const size_t most = __atomic_load_n(&acu_quarantine_size, __ATOMIC_RELAXED);
    if (ACU_LIKELY(most == 0)) {
        free(handle);
        return;
    }
    acu_handle *surplus = exchange(handle, most);
    while (surplus) {
        acu_handle *next = surplus->next;
        free(surplus);
        surplus = next;
    }
}

/* ---- life ---- */

static const char *article(const acu_handle_class *kind) {
    return strchr("aeiou", kind->name[0]) ? "an" : "a";
}

void *acu_handle_new(const char *call, const acu_handle_class *kind, size_t size) {
    acu_handle *handle = calloc(1, size);
    if (!handle) {
        acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for %s %s", article(kind),
                 kind->name);
        return NULL;
    }
    handle->was = kind;
    handle->owners = 1;
    __atomic_store_n(&handle->kind, kind, __ATOMIC_RELAXED);
    return handle;
}

void acu_handle_discard(void *handle) {
    free(handle);
}

void *acu_handle_retain(const char *call, void *handle, const acu_handle_class *kind) {
    if (acu_handle_is(handle, kind))
        return acu_handle_add_owner(handle);
    (void)acu_handle_refuse(call, handle, kind);
    return NULL;
}

bool acu_handle_try_add_owner(void *handle) {
    acu_handle *h = handle;
    int owners = __atomic_load_n(&h->owners, __ATOMIC_RELAXED);
    while (owners > 0)
        if (__atomic_compare_exchange_n(&h->owners, &owners, owners + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

static acu_result destroy(acu_handle *handle) {
    __atomic_store_n(&handle->kind, NULL, __ATOMIC_RELAXED);
    acu_result code = handle->was->destroy(handle);
    free_handle(handle);
    return code;
}

/* Destroys a handle for the program, whose last error stays what it was. The saved error makes the
 * frame large, so that this function is never inlined. */
__attribute__((noinline)) static acu_result destroy_beside_error(acu_handle *handle) {
    acu_saved_record before;
    acu_record_save(&before);
    acu_result code = destroy(handle);
    if (code)
        acu_record_release_error();
    acu_record_restore(&before);
    return code;
}

/* Destroys a handle as destroy_beside_error() does, where the thread has no last error to keep. */
static acu_result destroy_alone(acu_handle *handle) {
    static const acu_saved_record none;
    acu_result code = destroy(handle);
    if (code)
        acu_record_release_error();
    if (acu_record_last()->code)
        acu_record_restore(&none);
    return code;
}

acu_result acu_handle_release(const char *call, void *handle, const acu_handle_class *kind) {
    acu_handle *h = handle;
    if (!h)
        return 0;
    if (!acu_handle_is(h, kind))
        return acu_handle_refuse(call, handle, kind);
    if (__atomic_sub_fetch(&h->owners, 1, __ATOMIC_ACQ_REL) != 0)
        return 0;
    if (!call)
        return destroy(h);
    return acu_record_last()->code ? destroy_beside_error(h) : destroy_alone(h);
}

/* ---- checking ---- */

static acu_result refuse(const char *call, const void *handle, const acu_handle_class *kind) {
    const acu_handle *h = handle;
    char text[ACU_OBJECT_TEXT];
    if (!h)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the %s is NULL", kind->name);
    (void)acu_handle_describe(handle, kind, text, sizeof text);
    const acu_handle_class *really = __atomic_load_n(&h->kind, __ATOMIC_RELAXED);
    if (really)
        return acu_fail(call, text, ACU_ERROR_HANDLE, "%s %s is given where %s %s is needed",
                        article(really), really->name, article(kind), kind->name);
    return acu_fail(call, text, ACU_ERROR_HANDLE, "the %s was released already", h->was->name);
}

acu_result acu_handle_refuse(const char *call, const void *handle, const acu_handle_class *kind) {
    return acu_recording_note(refuse(call, handle, kind));
}

/* ---- describing ---- */

void acu_handle_add(acu_handle_text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    size_t used = text->length < text->size ? text->length : text->size;
    int length =
        vsnprintf(text->size > used ? text->text + used : NULL, text->size - used, format, args);
    text->length += length > 0 ? (size_t)length : 0;
    va_end(args);
}

void acu_handle_add_place(acu_handle_text *text, acu_place place) {
    char name[64];
    (void)acu_place_describe(place, name, sizeof name);
    acu_handle_add(text, " on %s", name);
}

size_t acu_handle_describe(const void *handle, const acu_handle_class *kind, char *text,
                           size_t size) {
    acu_handle_text line = {.text = text, .size = text ? size : 0};
    const acu_handle *h = handle;
    if (!h) {
        acu_handle_add(&line, "no %s", kind->name);
        return line.length;
    }
    const acu_handle_class *really = __atomic_load_n(&h->kind, __ATOMIC_RELAXED);
    acu_handle_add(&line, "%s %p", h->was->name, handle);
    if (!really)
        acu_handle_add(&line, " (released)");
    else if (really->describe)
        really->describe(h, &line);
    if (h->was != kind)
        acu_handle_add(&line, ", which is no %s", kind->name);
    return line.length;
}
