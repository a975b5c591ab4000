/* Listeners: which can be called, which run, and how they end. listener_adopt.c has those that
 * others registered. */
#include "safe/base/listener.h"
#include "safe/base/device.h"

#include <anycuda/cuda.h>

#include <pthread.h>

#include "core/translate.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;
static acu_listener *callable; /* a list */
static uintptr_t last_number;

/* ---- those that can be called ---- */

static void *publish(acu_listener *l) {
    pthread_mutex_lock(&lock);
    l->number = ++last_number;
    l->next = callable;
    callable = l;
    pthread_mutex_unlock(&lock);
    return (void *)l->number;
}

/* Takes the listener out of the list, and waits until its function does not run any more. */
static void withdraw(const acu_listener *l) {
    pthread_mutex_lock(&lock);
    acu_listener **at = &callable;
    while (*at && *at != l)
        at = &(*at)->next;
    if (*at)
        *at = l->next;
    while (l->running)
        pthread_cond_wait(&returned, &lock);
    pthread_mutex_unlock(&lock);
}

acu_listener *acu_listener_begin_call(void *number) {
    pthread_mutex_lock(&lock);
    acu_listener *l = callable;
    while (l && l->number != (uintptr_t)number)
        l = l->next;
    if (l)
        l->running++;
    pthread_mutex_unlock(&lock);
    if (l)
        acu_callback_begin();
    return l;
}

void acu_listener_end_call(acu_listener *listener) {
    acu_callback_end();
    pthread_mutex_lock(&lock);
    listener->running--;
    pthread_cond_broadcast(&returned);
    pthread_mutex_unlock(&lock);
}

/* ---- life ---- */

static int destroy_listener(acu_object *object) {
    const acu_listener *l = (const acu_listener *)object;
    int code = 0;
    if (l->owned && !acu_is_unloading())
        code = acu_forgive_unloading(l->unregister(l));
    if (l->number)
        withdraw(l);
    return code;
}

static void describe_listener(const acu_object *object, acu_description *d) {
    static const char *const subjects[] = {"", "of the device", "of the log",
                                           "of coredumps that begin", "of written coredumps"};
    const acu_listener *l = (const acu_listener *)object;
    acu_describe(d, "%s", subjects[l->subject]);
    acu_describe(d, "%s %p", l->owned ? "raw" : "wrapped", l->raw);
}

/* CUDA registers and unregisters during captures, too. */
const acu_class acu_listener_class = {"listener", destroy_listener, describe_listener,
                                      acu_breaks_no_capture};

acu_listener *acu_listener_new(const char *call, acu_listener_subject subject, acu_device device) {
    acu_listener *made = acu_object_new(call, &acu_listener_class, sizeof *made, device);
    if (made)
        made->subject = subject;
    return made;
}

int acu_listener_register(const char *call, acu_listener *made,
                          int (*begin)(acu_listener *made, void *number), acu_listener **listener) {
    const acu_device device = made->object.device;
    const acu_listener_subject subject = made->subject;
    int code = acu_translate_driver(cuInit(0));
    if (!code)
        code = begin(made, publish(made));
    if (!code) {
        made->owned = true;
        *listener = made;
        return 0;
    }
    if (made->number)
        withdraw(made);
    acu_object_discard(&made->object);
    return subject == ACU_LISTENER_DEVICE ? acu_device_outcome(call, device, code)
                                          : acu_cuda_failed(call, "", code);
}

void *acu_listener_raw(const acu_listener *listener) {
    return acu_is(listener, &acu_listener_class) ? listener->raw : NULL;
}

acu_listener *acu_listener_retain(acu_listener *listener) {
    return acu_object_retain(__func__, listener, &acu_listener_class);
}

acu_result acu_listener_release(acu_listener *listener) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, listener, &acu_listener_class);
}

void acu_listener_cleanup(acu_listener **listener) {
    (void)acu_listener_release(acu_take(listener));
}

size_t acu_listener_describe(const acu_listener *listener, char *text, size_t size) {
    return acu_object_describe_as(listener, &acu_listener_class, text, size);
}
