/* Devices: waiting for one, and resetting it. Both must know the streams and captures there. */
#include "safe/base/active_capture.h"
#include "safe/base/device.h"
#include "safe/base/stream.h"

#include <stdio.h>

int acu_device_count_objects(acu_device device) {
    int own = acu_object_counter(device) ? acu_stream_count_own(device) : 0;
    return acu_object_count(device) - own;
}

static void (*when_idle)(int device); /* atomic; NULL: nothing to free */

void acu_device_when_idle(void (*free_all)(int device)) {
    __atomic_store_n(&when_idle, free_all, __ATOMIC_RELEASE);
}

/* Returns whether no other device has objects, which may have work there: that would be waited for,
 * too. */
static bool is_used_alone(int device) {
    for (int other = 0; other < ACU_WATCHED(devices); other++) {
        const int *objects = acu_object_counter(other);
        if (other != device && objects && __atomic_load_n(objects, __ATOMIC_RELAXED) > 0)
            return false;
    }
    return true;
}

static void free_idle(int device) {
    void (*free_all)(int) = __atomic_load_n(&when_idle, __ATOMIC_ACQUIRE);
    if (free_all)
        free_all(device);
}

static int synchronize(acu_device device) {
    ACU_TRY(acu_capture_begin_device_wait(device));
    int code = (int)cudaDeviceSynchronize();
    acu_capture_end_device_wait(device);
    if (code)
        acu_stream_abandon_calls(device);
    acu_destroy_deferred(); /* some of these objects were waiting for this work */
    if (!code && !ACU_WATCHED(captures) && is_used_alone(device))
        free_idle(-1);
    return code;
}

acu_result acu_device_synchronize(acu_device device) {
    ACU_SCOPE();
    acu_guard guard;
    ACU_TRY(acu_device_resolve(__func__, &device));
    int code = acu_guard_enter(&guard, device);
    if (!code)
        code = synchronize(device);
    acu_guard_leave(&guard);
    return acu_device_outcome(__func__, device, code);
}

acu_result acu_device_reset(acu_device device) {
    ACU_SCOPE();
    acu_guard guard;
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(__func__, &device));
    int alive = acu_device_count_objects(device);
    if (alive > 0 && acu_device_synchronize(device) == 0)
        alive = acu_device_count_objects(device); /* what was released may have waited for work */
    ACU_REQUIRE(alive == 0, ACU_ERROR_STATE,
                "%d object%s of device %d %s still alive; release %s first", alive,
                alive == 1 ? "" : "s", device, alive == 1 ? "is" : "are",
                alive == 1 ? "it" : "them");
    int code = acu_guard_enter(&guard, device);
    if (!code) {
        free_idle(device);
        code = (int)cudaDeviceReset();
    }
    acu_guard_leave(&guard);
    return acu_device_outcome(__func__, device, code);
}
