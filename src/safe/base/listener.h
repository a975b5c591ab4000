/*
 * Listeners. CUDA is given a listener's number instead of its address: a call that comes when the
 * listener has ended finds none, whatever CUDA promises about that.
 */
#ifndef ACU_SRC_LISTENER_H
#define ACU_SRC_LISTENER_H

#include <anycuda/coredump.h>
#include <anycuda/listener.h>
#include <anycuda/log.h>

#include "safe/base/object.h"

struct acu_listener {
    acu_object object;
    acu_listener_subject subject;
    bool owned;
    void *raw;                               /* CUDA's handle of the registration */
    int (*unregister)(const acu_listener *); /* returns the runtime's code */
    union {
        acu_notification_function device;
        acu_log_function log;
        acu_coredump_function coredump;
    } call;
    void *data;
    uintptr_t number;   /* 0: CUDA does not call it by way of this library */
    int running;        /* calls under way; under the lock of listener.c, as `next` */
    acu_listener *next; /* in the list of those that can be called */
};
extern const acu_class acu_listener_class;

/* Returns a new listener; NULL and a recorded failure where the host has no memory. */
acu_listener *acu_listener_new(const char *call, acu_listener_subject subject, acu_device device);

/*
 * Registers the listener, whose function can be called from then on, and stores it. `begin` is
 * CUDA's call: it is given the number, stores the raw handle, and returns the runtime's code. Where
 * it fails, the listener is freed and the failure is recorded; returns the code.
 */
int acu_listener_register(const char *call, acu_listener *made,
                          int (*begin)(acu_listener *made, void *number), acu_listener **listener);

/* Between the two, the listener of a number lives, and what its function releases is destroyed
 * later; NULL where it has ended. */
acu_listener *acu_listener_begin_call(void *number);
void acu_listener_end_call(acu_listener *listener);

/* What ends the registrations of each subject. */
int acu_device_end_listening(const acu_listener *listener);
int acu_log_end_listening(const acu_listener *listener);
int acu_coredump_end_listening(const acu_listener *listener);

#endif
