/*
 * What every handle of the safe layer begins with: its class, a count of references, a device.
 *
 * A handle is dead once its class is taken away. Its memory stays for a while in a quarantine, so
 * that a handle that was kept too long meets an error instead of another object: always in debug
 * builds, else by acu_quarantine().
 */
#ifndef ACU_OBJECT_H
#define ACU_OBJECT_H

#include <anycuda/cudart.h>
#include <anycuda/device.h>

#include "core/error.h"

/* Passed by most calls: the linker lays these together, away from what is seldom needed. */
#define ACU_HOT __attribute__((hot))

typedef struct acu_object acu_object;

enum { ACU_LATER = INT32_MIN };

typedef struct acu_class {
    const char *name; /* "stream" */
    /* Gives up what the object owns; its memory is the caller's business. Returns the first
     * failure, recorded; or ACU_LATER, with nothing done, where it cannot be destroyed now. */
    int (*destroy)(acu_object *object);
    void (*describe)(const acu_object *object, char *text, size_t size);
} acu_class;

/* Small, so that what a class looks at often is in the same line of the cache. */
struct acu_object {
    const acu_class *kind; /* atomic; NULL once it is dead */
    const acu_class *was;  /* its class, alive or dead */
    int references;        /* atomic */
    short device;          /* -1: none; or ACU_EVERY_DEVICE */
    bool embedded;         /* in another object; or destroy() buries it, too */
    bool busy;             /* atomic: a lock, for a class that needs one so small */
    acu_object *next;      /* waiting to be destroyed, or in quarantine */
};

enum { ACU_CACHE_LINE = 64 };

/*
 * What is looked at by most operations, and mostly says that there is nothing out of the ordinary:
 * together, so that it is one line of the cache. All of it is atomic.
 */
typedef struct acu_watch {
    struct acu_capture *captures; /* under way */
    acu_object *deferred;         /* to be destroyed later */
    size_t quarantine;            /* how many dead objects it takes */
    int callbacks;                /* of the host that run now, on any thread */
    int devices;                  /* that there are; 0: nobody has asked yet */
    bool unloading;               /* the runtime is */
} acu_watch;
extern ACU_OURS acu_watch acu_watched;

#define ACU_WATCHED(what) __atomic_load_n(&acu_watched.what, __ATOMIC_RELAXED)

/* All of it at once. */
static inline bool acu_nothing_special(void) {
    return ACU_LIKELY(((uintptr_t)ACU_WATCHED(captures) | (uintptr_t)ACU_WATCHED(deferred) |
                       ACU_WATCHED(quarantine) | (unsigned)ACU_WATCHED(callbacks) |
                       ACU_WATCHED(unloading)) == 0);
}

/* Graphs may have something on each device, and CUDA does not tell on which. */
enum { ACU_COUNTED_DEVICES = 64, ACU_EVERY_DEVICE = -2 };
/* Atomic: the objects of each device, and those of all. */
extern ACU_OURS int acu_object_counts[ACU_COUNTED_DEVICES], acu_object_count_everywhere;
static inline int *acu_object_counter(int device) {
    if (device >= 0 && device < ACU_COUNTED_DEVICES)
        return &acu_object_counts[device];
    return device == ACU_EVERY_DEVICE ? &acu_object_count_everywhere : NULL;
}
static inline void acu_object_count_up(int device) {
    int *alive = acu_object_counter(device);
    if (alive)
        __atomic_add_fetch(alive, 1, __ATOMIC_RELAXED);
}
void acu_object_count_down(int device);

/* Zeroed, with one reference; NULL and a recorded failure where the host has no memory. */
void *acu_object_new(const char *call, const acu_class *kind, size_t size, int device);
/* The same of memory that need not be zeroed. */
static inline void acu_object_init(acu_object *object, const acu_class *kind, int device) {
    object->was = kind;
    object->references = 1;
    object->device = (short)device;
    object->embedded = object->busy = false;
    __atomic_store_n(&object->kind, kind, __ATOMIC_RELAXED);
    acu_object_count_up(device);
}

/* Nothing is zeroed, and the first fields share a line of the cache; NULL without a record. */
void *acu_object_alloc(size_t size);

/* Frees it, or puts it in quarantine. */
void acu_object_free(acu_object *object);

/* Frees one that acu_object_new made and whose construction failed: nothing is destroyed. */
void acu_object_discard(acu_object *object);

/* Records what is wrong with a handle that is not of this kind; returns the code. */
int acu_object_refuse(const char *call, const void *handle, const acu_class *kind) ACU_COLD;

/* Enumerators are signed. */
static inline bool acu_has(unsigned flags, unsigned flag) {
    return (flags & flag) != 0;
}

static inline bool acu_is(const void *handle, const acu_class *kind) {
    return ACU_LIKELY(
        handle && __atomic_load_n(&((const acu_object *)handle)->kind, __ATOMIC_RELAXED) == kind);
}

/* Returns from a public function that was given something else than a live handle of the kind. */
#define ACU_NEED(handle, class)                                                                    \
    do {                                                                                           \
        if (!acu_is((handle), &(class)))                                                           \
            return acu_object_refuse(__func__, (handle), &(class));                                \
    } while (0)
/* The same for any other condition; the rest is the failure's sentence. */
#define ACU_REQUIRE(condition, code, ...)                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return acu_fail(__func__, "", (code), __VA_ARGS__);                                    \
    } while (0)

/* The same where an object is what it is about. */
#define ACU_REQUIRE_OF(object, condition, code, ...)                                               \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return acu_fail_on(__func__, (object), (code), __VA_ARGS__);                           \
    } while (0)

#define ACU_NEED_POINTER(pointer)                                                                  \
    ACU_REQUIRE((pointer) != NULL, ACU_ERROR_ARGUMENT, "'" #pointer "' is NULL")

void *acu_object_retain(const char *call, void *handle, const acu_class *kind);
/* One more owner of what is known to be alive; nothing of NULL. */
static inline void acu_object_add_owner(void *handle) {
    if (handle)
        __atomic_add_fetch(&((acu_object *)handle)->references, 1, __ATOMIC_RELAXED);
}
/*
 * The result of the destruction, 0 if there was none. A failure is kept for acu_release_error(),
 * and the thread's last error is as before. Without `call` another object's destruction goes on:
 * the failure is that one's, and recorded only.
 */
int acu_object_release(const char *call, void *handle, const acu_class *kind);

/* The end of a release by the last owner, before which the thread had no error. */
int acu_object_destroy(const char *call, acu_object *object);

/* "stream 0x55… on device 0", into `text`, which is returned; "" of no handle. */
const char *acu_object_describe(const void *handle, char text[ACU_OBJECT_TEXT]) ACU_COLD;

/* acu_fail with an object. */
int acu_fail_on(const char *call, const void *handle, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
/* acu_cuda_failed with an object; nothing on success. */
int acu_cuda_failed_on(const char *call, const void *handle, int code) ACU_COLD;
static inline int acu_outcome(const char *call, const void *handle, int code) {
    return ACU_LIKELY(code == 0) ? 0 : acu_cuda_failed_on(call, handle, code);
}

/*
 * Host callbacks must not call CUDA, so what is released in one is destroyed by the next call that
 * creates, synchronises or releases something.
 */
void acu_callback_begin(void);
void acu_callback_end(void);
void acu_object_destroy_deferred(void) ACU_COLD;
static inline void acu_destroy_deferred(void) {
    if (!ACU_LIKELY(!ACU_WATCHED(deferred)))
        acu_object_destroy_deferred();
}

/* Destroying anything now would break a capture, except `object`, whose capture ends with it. */
bool acu_a_capture_delays(const acu_object *object) ACU_COLD;
static inline bool acu_capture_delays(const acu_object *object) {
    return !ACU_LIKELY(!ACU_WATCHED(captures)) && acu_a_capture_delays(object);
}
/* 0, or ACU_ERROR_CAPTURE, recorded: before the thread waits, asks or makes what CUDA lets break
 * the captures that are under way; */
int acu_capture_check(void);
/* or before it waits for a whole device, which breaks even relaxed ones there. */
int acu_capture_check_device(int device);

/* The runtime is being unloaded: nothing of it may be called any more. */
static inline bool acu_is_unloading(void) {
    return ACU_WATCHED(unloading);
}
/* The result of a call that releases something: notes that the runtime is unloading, and forgives
 * it. */
int acu_forgive_unloading(int result);

/* Objects that are alive and of a device, or may be. */
int acu_objects_alive(int device);

/*
 * The thread's current device for a scope; `changed` is false where it was the right one. A device
 * that is alone is current; how many there are is as of the last time that somebody named one,
 * which whoever creates something does.
 */
typedef struct acu_device_guard acu_guard;
int acu_guard_change(acu_guard *guard, int device);
static inline int acu_guard_enter(acu_guard *guard, int device) {
    bool alone = ACU_WATCHED(devices) == 1 && (device == 0 || device == ACU_DEVICE_CURRENT);
    guard->changed = false;
    return alone ? 0 : acu_guard_change(guard, device);
}
/* The call that wanted the device has its result; a failure to go back is kept as a release's is.
 */
static inline void acu_guard_leave(acu_guard *guard) {
    if (guard->changed)
        acu_device_guard_cleanup(guard);
}

/* 0, or a recorded failure if there is no such device; ACU_DEVICE_CURRENT is replaced. */
int acu_device_resolve(const char *call, acu_device *device);

#endif
