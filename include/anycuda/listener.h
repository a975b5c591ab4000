/*
 * Listeners: functions of the program that CUDA calls when something happens, until their handle is
 * released.
 *
 * acu_device_listen() makes one that hears of a device, acu_log_listen() one that hears of the
 * driver's log, and acu_coredump_listen() one that hears of coredumps. CUDA calls the function on
 * any thread, several at once: it must call neither CUDA nor this library, except that it may
 * retain and release handles, and it should return soon.
 *
 * Several threads may use a listener at once, and retain and release it.
 */
#ifndef ACU_LISTENER_H
#define ACU_LISTENER_H

#include <anycuda/device.h>

ACU_BEGIN_C

/** What a listener hears of. */
typedef enum acu_listener_subject {
    ACU_LISTENER_DEVICE = 1,         /* notifications of a device */
    ACU_LISTENER_LOG = 2,            /* lines of the driver's log */
    ACU_LISTENER_COREDUMP_START = 3, /* coredumps that begin */
    ACU_LISTENER_COREDUMP_END = 4    /* coredumps that are written */
} acu_listener_subject;

/**
 * Makes a handle for a raw registration that stays someone else's; the caller owns the handle.
 *
 * `device` is that of ACU_LISTENER_DEVICE, and not looked at otherwise. The last release leaves the
 * registration alone. Errors: ACU_ERROR_ARGUMENT where there is no such subject.
 */
ACU_CHECKED acu_result acu_listener_wrap(acu_listener_subject subject, acu_device device, void *raw,
                                         acu_listener **listener);

/**
 * Makes a handle that owns a raw registration: the last release ends both. Errors: as for
 * acu_listener_wrap().
 */
ACU_CHECKED acu_result acu_listener_adopt(acu_listener_subject subject, acu_device device,
                                          void *raw, acu_listener **listener);

/**
 * Returns CUDA's handle of the registration (CUasyncCallbackHandle, CUlogsCallbackHandle or
 * CUcoredumpCallbackHandle), which stays the listener's; NULL where the handle is not a listener.
 */
void *acu_listener_raw(const acu_listener *listener);

/** Adds an owner and returns the listener; NULL where the handle is not a listener. */
acu_listener *acu_listener_retain(acu_listener *listener);

/**
 * Takes an owner away; after the last release the function is not called any more, and does not run
 * any more either: the release waits for that. In the function itself the end is put off until it
 * has returned. Everything else is as for acu_stream_release().
 */
acu_result acu_listener_release(acu_listener *listener);

void acu_listener_cleanup(acu_listener **listener);

/** Writes one line that names the listener, as errors do; acu_stream_describe() has the rules. */
size_t acu_listener_describe(const acu_listener *listener, char *text, size_t size);

ACU_END_C

#endif
