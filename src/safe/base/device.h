/* The current device, as the rest of the safe layer changes it. */
#ifndef ACU_SRC_DEVICE_H
#define ACU_SRC_DEVICE_H

#include <anycuda/device.h>

#include "safe/base/object.h"

typedef struct acu_device_guard acu_guard;

/* Does acu_guard_enter() where the device may not be current. */
int acu_guard_change(acu_guard *guard, int device);
/*
 * Makes a device current until acu_guard_leave(), which follows also where this fails; returns
 * CUDA's code. `guard->changed` is false where the device was current already.
 *
 * CUDA is not asked where there is one device: that one is current. The number of devices is known
 * from acu_device_resolve(), which every function runs that creates something.
 */
static inline int acu_guard_enter(acu_guard *guard, int device) {
    bool alone = ACU_WATCHED(devices) == 1 && (device == 0 || device == ACU_DEVICE_CURRENT);
    guard->changed = false;
    return alone ? 0 : acu_guard_change(guard, device);
}
/* Makes the device current again that was before. A failure is kept for acu_release_error(),
 * because the call that wanted the device has its result already. */
static inline void acu_guard_leave(acu_guard *guard) {
    if (guard->changed)
        acu_device_guard_cleanup(guard);
}

/* Replaces ACU_DEVICE_CURRENT by the ordinal of the current device; returns 0, or the recorded
 * failure that there is no such device. */
int acu_device_resolve(const char *call, acu_device *device);

/* Returns acu_outcome() on a device. */
int acu_device_outcome(const char *call, acu_device device, int code);

/* Does the same of something that the device has: "limit 7 of device 0". */
int acu_device_outcome_of(const char *call, const char *what, long long number, acu_device device,
                          int code);

/* Runs `call` with the device current, and returns from the public function. */
#define ACU_ON_DEVICE(device, call) ACU_ON_DEVICE_OF(NULL, 0, device, call)
/* Does the same for something that the device has. */
#define ACU_ON_DEVICE_OF(what, number, device, call)                                               \
    do {                                                                                           \
        acu_guard guard;                                                                           \
        int code = acu_guard_enter(&guard, (device));                                              \
        if (!code)                                                                                 \
            code = (int)(call);                                                                    \
        acu_guard_leave(&guard);                                                                   \
        return acu_device_outcome_of(__func__, (what), (long long)(number), (device), code);       \
    } while (0)

/* Takes the code of a question about an attribute that this runtime or device may lack: the value
 * is 0 then, no error is left behind, and 0 is returned. `before` was saved before the question. */
int acu_device_optional(int code, int *value, const acu_saved_record *before);

/* Sets what is called where a thread has waited for the device, so that what CUDA frees only after
 * waiting is freed there, or for all devices (-1). */
void acu_device_when_idle(void (*free_all)(int device));

/* Returns how many of the program's objects are alive on the device, or may have something there.
 */
int acu_device_count_objects(acu_device device);

#endif
