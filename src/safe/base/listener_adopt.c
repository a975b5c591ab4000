/* Listeners on registrations that others made. This file names what ends each subject, which a
 * program that registers its own needs for its own subject only. */
#include "safe/base/listener.h"
#include "safe/base/device.h"

static int on_raw(const char *call, acu_listener_subject subject, acu_device device, void *raw,
                  bool owned, acu_listener **listener) {
    static int (*const ends[])(const acu_listener *) = {
        [ACU_LISTENER_DEVICE] = acu_device_end_listening,
        [ACU_LISTENER_LOG] = acu_log_end_listening,
        [ACU_LISTENER_COREDUMP_START] = acu_coredump_end_listening,
        [ACU_LISTENER_COREDUMP_END] = acu_coredump_end_listening,
    };
    if (listener)
        *listener = NULL;
    if (!listener || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL",
                        listener ? "raw" : "listener");
    if ((int)subject < ACU_LISTENER_DEVICE || (int)subject > ACU_LISTENER_COREDUMP_END)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "'subject' is %d, which is no acu_listener_subject", (int)subject);
    if (subject == ACU_LISTENER_DEVICE)
        ACU_TRY(acu_device_resolve(call, &device));
    acu_listener *made = acu_listener_new(
        call, subject, subject == ACU_LISTENER_DEVICE ? device : ACU_DEVICE_CURRENT);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->raw = raw;
    made->owned = owned;
    made->unregister = ends[subject];
    *listener = made;
    return 0;
}

acu_result acu_listener_wrap(acu_listener_subject subject, acu_device device, void *raw,
                             acu_listener **listener) {
    ACU_SCOPE();
    return on_raw(__func__, subject, device, raw, false, listener);
}

acu_result acu_listener_adopt(acu_listener_subject subject, acu_device device, void *raw,
                              acu_listener **listener) {
    ACU_SCOPE();
    return on_raw(__func__, subject, device, raw, true, listener);
}
