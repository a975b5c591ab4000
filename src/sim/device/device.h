/* Devices: their memory, state and attributes. */
#ifndef ACU_SIM_DEVICE_DEVICE_H
#define ACU_SIM_DEVICE_DEVICE_H

#include "sim/device/context.h"

/* The priorities of streams, of every device: from the least to the greatest. */
enum { SIM_LEAST_PRIORITY = 0, SIM_GREATEST_PRIORITY = -5 };

struct acu_sim_device {
    int index;
    acu_sim_context own; /* its own context */
    bool active;         /* the own context exists */
    bool of_runtime;     /* the runtime holds the own context */
    unsigned retained;   /* how often the program holds it, by the driver and by green contexts */
    cudaError_t sticky;  /* the fault that ended the contexts; cudaSuccess: there was none */
    bool was_reset;
    unsigned flags;           /* of the own context, as they were set */
    unsigned lacking_flags;   /* those of them that the context did not take */
    bool keeps_local;         /* local memory does not shrink, because of kernels in graphs */
    bool peers[SIM_DEVICES];  /* the devices whose memory this one may access */
    uint64_t used;            /* bytes of allocations and of the reserves of pools and graphs */
    uint64_t graph_memory;    /* bytes of pieces that graphs have, in use or not */
    size_t graph_pieces_held; /* how many of them hold memory that is allocated */
    uint64_t graph_used_high, graph_reserved_high; /* bytes at most, since the program set them */
    uintptr_t base; /* the first of the device's addresses, which the host cannot access */
    char *view;     /* where the host accesses the bytes of `base` */
    size_t span;    /* bytes at `base` and at `view` */
    size_t cursor;  /* offset from which the next addresses are taken */
    acu_sim_pool *default_pool, *pool;                 /* `pool`: the current one */
    acu_sim_pool *managed_default_pool, *managed_pool; /* the same, of managed memory */
    uint64_t cycles;                  /* that clocks of kernels have counted, with a seed */
    struct cudaDeviceProp properties; /* all zero before the program asks for them */
};

/* Returns the device of an index; NULL if there is none. */
acu_sim_device *acu_sim_device_at(int index);

/* Returns the calling thread's current device; NULL if there is no such device. */
acu_sim_device *acu_sim_device_now(void);

/* Makes the own context of a device, unless it exists. */
cudaError_t acu_sim_device_activate(acu_sim_device *device);

/* Records a fault of a device. All contexts of the process are lost, also those of other devices,
 * and no context can be made any more. */
void acu_sim_device_fail(acu_sim_device *device, cudaError_t why);

/* Returns an error unless a device can have contexts: after a fault none can. The first call
 * reserves the addresses of the device. */
cudaError_t acu_sim_device_open(acu_sim_device *device);

/* Ends the own context of a device, with all that belongs to it. If the program has created no
 * other contexts, all else of the device is freed, too. `for_good`, for acu_sim_reset(), also ends
 * those contexts, and frees the addresses and forgets the settings. */
void acu_sim_device_clear(acu_sim_device *device, bool for_good);
/* Sets the flags of a device's primary context; returns an error for flags that no device has. */
cudaError_t acu_sim_device_set_flags(acu_sim_device *device, unsigned flags);
/* Returns the flags that the primary context has. Host memory is always mapped. */
unsigned acu_sim_device_context_flags(const acu_sim_device *device);
/* Returns the value of an attribute. */
int acu_sim_device_attribute(const acu_sim_device *device, enum cudaDeviceAttr attribute);
/* Returns whether a device may access the memory of the device of an index. */
bool acu_sim_device_can_access(const acu_sim_device *device, int other);

#endif
