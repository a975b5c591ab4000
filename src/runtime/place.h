/*
 * The devices of all places that were used: each is opened once, and kept until the process ends.
 */
#ifndef ACU_PLACE_INTERNAL_H
#define ACU_PLACE_INTERNAL_H

#include <anycuda/backend.h>

#include <pthread.h>

/* An open device. What is not under a lock does not change. */
typedef struct acu_place_device acu_place_device;
struct acu_place_device {
    acu_place place;
    const acu_backend *table; /* complete: see acu_runtime_table() */
    bool is_raw;              /* atomic: the program has a queue of it by acu_client_get_raw() */
    acu_backend_device *device;
    acu_place_info info;  /* as far as the table can do it: a bit without its function is cleared */
    pthread_mutex_t lock; /* of the three below; no other lock is taken while it is held */
    struct acu_client *clients; /* all that live, in a list; owned by the callers */
    struct acu_client *shared;  /* the default client; NULL: none lives */
    unsigned programs;          /* that are compiled for the device; acu_place_device_keep() */
    acu_place_device *next;     /* under the lock of the list of all devices */
};

/* Returns whether a device can do what a bit of acu_place_can says. */
static inline bool acu_place_device_can(const acu_place_device *device, unsigned can) {
    return (device->info.can & can) != 0;
}

/* Counts the devices of a runtime. A failure, also that this program does not have the runtime, is
 * recorded for `call`. */
acu_result acu_place_count_devices(const char *call, int runtime, int *count);

/* Returns the device of a place, opened at the first call. A failure is recorded for `call`. */
acu_result acu_place_open(const char *call, acu_place place, acu_place_device **device);

/* Counts what keeps the device open at the end of the process beside its clients: whoever has a
 * program of the device adds 1, and -1 when it has given the program back. */
void acu_place_device_keep(acu_place_device *device, int programs);

/* How many times the process was forked since its first device was opened: what was made before
 * cannot be used in the child, which has neither the threads nor the driver's state. Atomic. */
extern unsigned acu_place_forks;

#endif
