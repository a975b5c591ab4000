/* Multicast objects as the rest of the safe layer sees them. */
#ifndef ACU_SRC_MULTICAST_H
#define ACU_SRC_MULTICAST_H

#include <anycuda/cuda.h>
#include <anycuda/multicast.h>

#include <pthread.h>

#include "core/translate.h"
#include "safe/base/object.h"

struct acu_multicast {
    acu_object object;
    CUmemGenericAllocationHandle raw;
    size_t bytes, step; /* `step`: the granularity */
    unsigned devices;   /* how many there are to be */
    unsigned handles;   /* how it can be shared: acu_share_handle bits */
    bool owned;         /* the raw handle is given up with this one */
    bool wrapped;       /* what was done to the raw object before is not known */
    bool shared;        /* atomic: others may add devices */
    pthread_mutex_t lock;
    uint64_t added; /* under the lock: the devices that the handle has added, as bits */
    struct acu_bound *bound;
    size_t count, room; /* under the lock: how many are bound, and fit */
};

extern ACU_OURS const acu_class acu_multicast_class;

/* Returns 0 if memory can be bound and the object mapped without waiting for another device, or if
 * others may add it; else the failure recorded for `call`. */
int acu_multicast_check_devices(const char *call, acu_multicast *multicast);
/* Returns whether the handle has added the device, or others may have. */
bool acu_multicast_may_have(acu_multicast *multicast, int device);

#endif
