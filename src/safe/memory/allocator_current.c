/* Allocators: the current one of each device, and which one a buffer's memory comes from. */
#include "safe/memory/allocator.h"
#include "safe/base/device.h"
#include "safe/memory/storage.h"

#include <anycuda/load.h>

#include <stdlib.h>

#define OUTCOME(allocator, code) acu_outcome(__func__, (allocator), (code))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static acu_allocator *current[ACU_COUNTED_DEVICES]; /* atomic, changed under the lock; an owner */
static bool settled[ACU_COUNTED_DEVICES];           /* atomic: the environment was asked */

/* ---- the environment ---- */

/* The reference is weak, so that a program that names no allocator carries none; then the variable
 * is refused. */
#pragma weak acu_allocator_from_text

/* The simulator reports at exit what is left. Nobody else could release this allocator. */
static void clear_at_exit(void) {
    const acu_load_info *runtime = acu_loaded(ACU_CUDART);
    for (acu_device device = 0; runtime && runtime->is_sim && device < ACU_COUNTED_DEVICES;
         device++)
        if (__atomic_load_n(&current[device], __ATOMIC_RELAXED) &&
            acu_allocator_clear_current(device))
            acu_record_release_error();
}

static int make_from_environment(acu_device device) {
    acu_allocator *made = NULL;
    const char *text = getenv("ANYCUDA_ALLOCATOR");
    if (!text || !*text)
        return 0;
    if (!acu_allocator_from_text) {
        acu_fail_hint("link the program with -Wl,-u,acu_allocator_from_text, or call "
                      "acu_allocator_create() in it");
        return acu_record(ACU_ERROR_STATE,
                          "ANYCUDA_ALLOCATOR is set, but the program was linked without the "
                          "caching allocator");
    }
    int code = acu_allocator_from_text(device, text, &made);
    if (!code && made)
        code = acu_allocator_set_current(made);
    if (!code)
        (void)atexit(clear_at_exit);
    acu_allocator_cleanup(&made); /* the device is an owner now */
    return code;
}

/* Asks the environment once for each device; returns 0 or a recorded code. */
ACU_COLD static int settle(acu_device device) {
    int code = 0;
    pthread_mutex_lock(&lock);
    const bool first = !settled[device] && !current[device];
    __atomic_store_n(&settled[device], true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    if (first)
        code = make_from_environment(device);
    if (code)
        __atomic_store_n(&settled[device], false, __ATOMIC_RELAXED); /* fail again */
    return code;
}

/* ---- the current allocator ---- */

static int check_device(const char *call, acu_device *device) {
    ACU_TRY(acu_device_resolve(call, device));
    if (*device < ACU_COUNTED_DEVICES)
        return 0;
    return acu_fail(call, "", ACU_ERROR_LIMIT, "device %d: a device below %d can have an allocator",
                    *device, ACU_COUNTED_DEVICES);
}

/* Puts another allocator, or NULL, in the place of the current one, whose reference is given up. */
static int exchange(acu_device device, acu_allocator *next) {
    pthread_mutex_lock(&lock);
    acu_allocator *before = current[device];
    if (before)
        __atomic_store_n(&before->current, false, __ATOMIC_RELAXED);
    if (next)
        __atomic_store_n(&next->current, true, __ATOMIC_RELAXED);
    __atomic_store_n(&settled[device], true, __ATOMIC_RELAXED);
    __atomic_store_n(&current[device], next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    acu_stream_resume_spares(device);
    if (next)
        acu_stream_stop_spares(device);
    return before ? acu_allocator_release(before) : 0;
}

acu_result acu_allocator_set_current(acu_allocator *allocator) {
    ACU_SCOPE();
    ACU_NEED(allocator, acu_allocator_class);
    ACU_REQUIRE_OF(allocator, allocator->memory == ACU_MEMORY_POOL, ACU_ERROR_MEMORY_KIND,
                   "the allocator's memory is the host's, and buffers are the device's where "
                   "nothing else is asked for");
    return exchange(allocator->object.device, acu_allocator_retain(allocator));
}

acu_result acu_allocator_clear_current(acu_device device) {
    ACU_SCOPE();
    acu_destroy_deferred();
    ACU_TRY(check_device(__func__, &device));
    return exchange(device, NULL);
}

/* Returns the current allocator with one more owner, as a user has it or not; NULL: none. */
static acu_allocator *get(acu_device device, bool user) {
    pthread_mutex_lock(&lock);
    acu_allocator *allocator = current[device];
    if (allocator && user)
        (void)acu_allocator_retain(allocator);
    else
        acu_object_add_owner(allocator);
    pthread_mutex_unlock(&lock);
    return allocator;
}

acu_result acu_allocator_get_current(acu_device device, acu_allocator **allocator) {
    ACU_SCOPE();
    ACU_NEED_POINTER(allocator);
    *allocator = NULL;
    acu_destroy_deferred();
    ACU_TRY(check_device(__func__, &device));
    ACU_TRY(OUTCOME(NULL, settle(device)));
    *allocator = get(device, true);
    return 0;
}

/* ---- for buffers ---- */

static int check_named(const char *call, const acu_stream *stream, const acu_buffer_options *o) {
    const acu_allocator *a = o->allocator;
    if (!acu_is(a, &acu_allocator_class))
        return acu_object_refuse(call, a, &acu_allocator_class);
    if (o->pool)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.pool and options.allocator are both set");
    if (o->memory != ACU_MEMORY_POOL && o->memory != a->memory)
        return acu_fail_on(call, a, ACU_ERROR_ARGUMENT,
                           "options.memory is another kind than the allocator's");
    if (a->memory == ACU_MEMORY_POOL && stream->object.device != a->object.device)
        return acu_fail_on(call, a, ACU_ERROR_DEVICE, "the stream is on device %d",
                           stream->object.device);
    if (o->flags & ~(unsigned)ACU_BUFFER_UNORDERED)
        return acu_fail_on(call, a, ACU_ERROR_ARGUMENT, "its memory has no flags 0x%x", o->flags);
    return 0;
}

int acu_allocator_choose(const char *call, const acu_stream *stream, acu_buffer_options *options,
                         acu_allocator **allocator) {
    const acu_device device = stream->object.device;
    *allocator = options->allocator;
    if (options->allocator) {
        ACU_TRY(check_named(call, stream, options));
        options->memory = options->allocator->memory;
        acu_object_add_owner(*allocator);
        return 0;
    }
    if (options->memory != ACU_MEMORY_POOL || options->pool || device >= ACU_COUNTED_DEVICES)
        return 0;
    if (!ACU_LIKELY(__atomic_load_n(&settled[device], __ATOMIC_RELAXED))) {
        const int code = settle(device);
        if (code)
            return acu_cuda_failed(call, "", code);
    }
    if (__atomic_load_n(&current[device], __ATOMIC_RELAXED))
        *allocator = get(device, false);
    return 0;
}
