/*
 * What every handle of the safe layer begins with: its class, a count of owners, a device.
 *
 * A handle is dead once its class is taken away. Its memory stays for a while in a quarantine, so
 * that a handle that was kept too long meets an error instead of another object: always in debug
 * builds, else if acu_quarantine() was called.
 */
#ifndef ACU_OBJECT_H
#define ACU_OBJECT_H

#include <anycuda/cudart.h>
#include <anycuda/device.h>
#include <anycuda/object.h>

#include "core/abi.h"
#include "core/fail.h"
#include "core/audience.h"
#include "core/take.h"

/* Most calls run through this function: the linker lays such functions together. */
#define ACU_HOT __attribute__((hot))

typedef struct acu_object acu_object;

/* The line that describes an object, while it is being written: what does not fit is left out, but
 * counted. */
typedef struct acu_description {
    char *text;
    size_t size, length;
    unsigned details; /* how many have been added */
} acu_description;

enum { ACU_LATER = INT32_MIN };

typedef struct acu_class {
    const char *name; /* "stream" */
    /* Gives up what the object owns, but not the object's memory. Returns 0, the first failure,
     * which is recorded, or ACU_LATER, with nothing done, where the object cannot be destroyed
     * now. */
    int (*destroy)(acu_object *object);
    /* Adds what distinguishes the object by acu_describe(); NULL if nothing does. Errors are
     * described with locks held: the function calls no CUDA and takes no lock. */
    void (*describe)(const acu_object *object, acu_description *description);
    /* Returns whether destroying the object breaks no capture, because it does not wait and puts
     * work only into a stream that is not captured; NULL: never. */
    bool (*breaks_no_capture)(const acu_object *object);
} acu_class;

/* Returns true: for classes whose objects are destroyed during captures as at any other time. */
bool acu_breaks_no_capture(const acu_object *object);
/* Does the same, for classes whose objects are destroyed without a call of CUDA. */
bool acu_calls_no_cuda(const acu_object *object);

/* The header is small, so that what a class often reads is in the same line of the cache. */
struct acu_object {
    const acu_class *kind; /* atomic; NULL once the object is dead */
    const acu_class *was;  /* the object's class, alive or dead */
    int references;        /* owners; atomic */
    short device;          /* ordinal; -1: of no device; or ACU_EVERY_DEVICE */
    bool embedded;         /* the memory is part of another object, or destroy() frees it */
    bool busy;             /* atomic: a lock, for a class that needs one so small */
    acu_object *next;      /* in the list of those to be destroyed later, or in the quarantine */
};

/* An object that something uses, and whether it is written to. */
typedef struct acu_object_use {
    acu_object *object;
    bool writes;
} acu_object_use;

enum { ACU_CACHE_LINE = 64 };

/*
 * What most operations read first, and what mostly says that nothing unusual goes on. All of it is
 * atomic, and in one line of the cache.
 */
typedef struct acu_watch {
    struct acu_capture *captures; /* the captures under way; NULL: none */
    acu_object *deferred;         /* the objects to be destroyed later; NULL: none */
    size_t quarantine;            /* how many dead objects are kept */
    int callbacks;                /* host callbacks that run now, on any thread */
    int devices;                  /* number of devices; 0: not asked yet */
    bool unloading;               /* the runtime is being unloaded */
    bool global_captures;         /* a global capture has begun at some time */
} acu_watch;
extern ACU_OURS acu_watch acu_watched;

#define ACU_WATCHED(what) __atomic_load_n(&acu_watched.what, __ATOMIC_RELAXED)

/* Returns whether nothing unusual goes on: one look at all of acu_watched but the devices. */
static inline bool acu_nothing_special(void) {
    return ACU_LIKELY(((uintptr_t)ACU_WATCHED(captures) | (uintptr_t)ACU_WATCHED(deferred) |
                       ACU_WATCHED(quarantine) | (unsigned)ACU_WATCHED(callbacks) |
                       ACU_WATCHED(unloading) | ACU_WATCHED(global_captures)) == 0);
}

/* ---- threads ---- */

/* Returns a number that no other thread of the process has or had; a pthread_t may be used again
 * after its thread has ended. */
uint64_t acu_thread_id(void);

/* ---- counting ---- */

/* A graph may have nodes on every device, and CUDA does not report on which. */
enum { ACU_COUNTED_DEVICES = 64, ACU_EVERY_DEVICE = -2 };
/* The living objects of each device, and those of every device; atomic. */
extern ACU_OURS int acu_object_counts[ACU_COUNTED_DEVICES], acu_object_count_everywhere;

/* Returns the counter of a device; NULL if its objects are not counted. */
static inline int *acu_object_counter(int device) {
    if (device >= 0 && device < ACU_COUNTED_DEVICES)
        return &acu_object_counts[device];
    return device == ACU_EVERY_DEVICE ? &acu_object_count_everywhere : NULL;
}
static inline void acu_object_count_up(int device) {
    int *counter = acu_object_counter(device);
    if (counter)
        __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}
void acu_object_count_down(int device);
/* Returns how many living objects are counted on a device, and on every device. */
int acu_object_count(int device);

/* ---- life ---- */

/* Returns a zeroed object that the caller owns; NULL and a recorded failure where the host has no
 * memory. */
void *acu_object_new(const char *call, const acu_class *kind, size_t size, int device);
/* Returns the same; where the host has no memory, that is recorded, but not yet as a failure of a
 * call. */
void *acu_object_make(const acu_class *kind, size_t size, int device);
/* Makes an object of memory that need not be zeroed. */
static inline void acu_object_init(acu_object *object, const acu_class *kind, int device) {
    object->was = kind;
    object->references = 1;
    object->device = (short)device;
    object->embedded = object->busy = false;
    __atomic_store_n(&object->kind, kind, __ATOMIC_RELAXED);
    acu_object_count_up(device);
}

/* Returns memory that begins with a line of the cache and is not zeroed; NULL without a record
 * where the host has none. */
void *acu_object_alloc(size_t size);

/* Frees a dead object's memory, or puts it in quarantine. */
void acu_object_free(acu_object *object);

/* Frees an object of acu_object_new() whose construction failed; its class's destroy() is not
 * called. */
void acu_object_discard(acu_object *object);

/* Adds an owner and returns the object; NULL and a recorded failure if the handle is not alive or
 * not of this class. */
void *acu_object_retain(const char *call, void *handle, const acu_class *kind);
/* Adds an owner to an object that is known to be alive, or does nothing if it is NULL. */
static inline void acu_object_add_owner(void *handle) {
    if (handle)
        __atomic_add_fetch(&((acu_object *)handle)->references, 1, __ATOMIC_RELAXED);
}
/*
 * Takes an owner away, and destroys the object if that was the last one: now, or later if the
 * thread runs a host callback or a capture would break. NULL is fine.
 *
 * Returns the result of the destruction, 0 if there was none. A failure is kept for
 * acu_release_error(), and the thread's last error is as before. `call` is NULL while another
 * object is being destroyed: then the failure is that object's, and is only recorded.
 */
int acu_object_release(const char *call, void *handle, const acu_class *kind);

/* Destroys an object that has lost its last owner; the thread had no error before. Returns as
 * acu_object_release() does. */
int acu_object_destroy(const char *call, acu_object *object);

/* ---- captures of other threads ---- */

/*
 * Between the two, nothing that this thread does breaks a capture that another thread begins
 * meanwhile: CUDA regards waiting, allocating and destroying as unsafe during a global capture of
 * any thread, unless the thread's mode says that other threads' captures are no matter. The callers
 * have seen that no capture forbids the call. The first one returns what the second one takes.
 */
int acu_thread_ignore_captures(void);
void acu_thread_restore(int mode);
/* Lets the thread ignore captures for what has nothing to do with any capture, although CUDA
 * regards it as unsafe during each: memory that is allocated and freed in the order of a stream
 * that no capture has, pools, limits. The thread ignores its own captures, too. Returns what
 * acu_thread_restore() takes.
 */
int acu_thread_ignore_all_captures(void);
/* Makes a call while the thread ignores all captures; sets `code` to what the call returns. */
#define ACU_IGNORING_CAPTURES(code, call)                                                          \
    do {                                                                                           \
        const int mode_before = acu_thread_ignore_all_captures();                                  \
        (code) = (int)(call);                                                                      \
        acu_thread_restore(mode_before);                                                           \
    } while (0)

/* ---- destroying later ---- */

/* A host callback must not call CUDA, so what the thread releases between these two is destroyed by
 * a later call that creates, synchronises or releases something. */
void acu_callback_begin(void);
void acu_callback_end(void);

/*
 * Sets the test of whether destroying an object now would break a capture; the test of NULL is
 * whether destroying anything would. Captures set it, before there is one: it is not called while
 * acu_watched.captures is NULL.
 */
void acu_object_delay_by(bool (*test)(const acu_object *object));

/* Destroys what could not be destroyed when it was released, if that is possible now. */
void acu_object_destroy_deferred(void) ACU_COLD;
static inline void acu_destroy_deferred(void) {
    if (!ACU_LIKELY(!ACU_WATCHED(deferred)))
        acu_object_destroy_deferred();
}

/* Returns whether the runtime is being unloaded: no function of CUDA may be called any more. */
static inline bool acu_is_unloading(void) {
    return ACU_WATCHED(unloading);
}
/* Returns the result of a call of CUDA that releases something; 0 where the call failed because the
 * runtime is being unloaded, which is noted for acu_is_unloading(). */
int acu_forgive_unloading(int result);

/* ---- checking ---- */

/* Enumerators are signed, so that `flags & flag` alone would mix signs. */
static inline bool acu_has(unsigned flags, unsigned flag) {
    return (flags & flag) != 0;
}

/* Returns whether the handle is a living object of this class. */
static inline bool acu_is(const void *handle, const acu_class *kind) {
    return ACU_LIKELY(
        handle && __atomic_load_n(&((const acu_object *)handle)->kind, __ATOMIC_RELAXED) == kind);
}

/* Records what is wrong with a handle that acu_is() not of this class; returns the code. */
int acu_object_refuse(const char *call, const void *handle, const acu_class *kind) ACU_COLD;

/* Returns from a public function if the handle is not a living object of the class. */
#define ACU_NEED(handle, class)                                                                    \
    do {                                                                                           \
        if (!acu_is((handle), &(class)))                                                           \
            return acu_object_refuse(__func__, (handle), &(class));                                \
    } while (0)
/* Returns from a public function if the condition does not hold; the code and the failure's
 * sentence follow. */
#define ACU_REQUIRE(condition, code, ...)                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return acu_fail(__func__, "", (code), __VA_ARGS__);                                    \
    } while (0)

/* Does what ACU_REQUIRE does; the failure names the object. */
#define ACU_REQUIRE_OF(object, condition, code, ...)                                               \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return acu_fail_on(__func__, (object), (code), __VA_ARGS__);                           \
    } while (0)

#define ACU_NEED_POINTER(pointer)                                                                  \
    ACU_REQUIRE((pointer) != NULL, ACU_ERROR_ARGUMENT, "'" #pointer "' is NULL")

/* ---- results ---- */

/* Adds one detail: the first one opens a parenthesis, the others follow after a comma. */
void acu_describe(acu_description *description, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));
/* Writes "stream 0x55… (raw 0x7f…) on device 0" to `text`, or "" if the handle is NULL; returns
 * `text`. */
const char *acu_object_describe(const void *handle, char text[ACU_OBJECT_TEXT]) ACU_COLD;
/* Is the body of acu_NOUN_describe(): writes the same line for any handle, also for one that is
 * NULL, dead or of another class; returns the length of the whole line, as snprintf() does. */
size_t acu_object_describe_as(const void *handle, const acu_class *kind, char *text,
                              size_t size) ACU_COLD;

/* Names a device for the lines that describe what is on it. */
void acu_object_name_device(int device, const char *name);

/* Fails as acu_fail() does, on a handle. */
int acu_fail_on(const char *call, const void *handle, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
/* Fails as acu_cuda_failed() does, on a handle. */
int acu_cuda_failed_on(const char *call, const void *handle, int code) ACU_COLD;
/* Returns the code of a call of CUDA that was made for `call` on a handle; a failure is completed
 * by both. */
static inline int acu_outcome(const char *call, const void *handle, int code) {
    return ACU_LIKELY(code == 0) ? 0 : acu_cuda_failed_on(call, handle, code);
}

/* Takes "not ready" out of CUDA's last error, where it would hide a real error from later
 * calls. */
void acu_forget_not_ready(void);
/* Returns acu_outcome() of a query, whose answer ACU_NOT_READY is not a failure. */
static inline int acu_query_outcome(const char *call, const void *handle, int code) {
    if (code != ACU_NOT_READY)
        return acu_outcome(call, handle, code);
    acu_forget_not_ready();
    return code;
}

#endif
