/* Devices: their memory, state and attributes. */
#ifndef ACU_SIM_DEVICE_DEVICE_H
#define ACU_SIM_DEVICE_DEVICE_H

#include "sim/device/context.h"

struct acu_sim_device {
    int index;
    acu_sim_context own; /* its own context */
    bool active;         /* that is there */
    bool of_runtime;     /* the runtime holds it */
    unsigned retained;   /* how often the driver's callers do */
    cudaError_t sticky;  /* the context is lost: calls that need it say so */
    bool was_reset;
    unsigned flags;
    bool keeps_local;        /* local memory does not shrink: conditional nodes have been there */
    bool peers[SIM_DEVICES]; /* whose memory it may access */
    uint64_t used;           /* bytes of allocations and of pools' and graphs' reserves */
    uint64_t graph_used, graph_used_high, graph_reserved, graph_reserved_high;
    /* Addresses that nobody can read or write, and where their bytes are. */
    uintptr_t base;
    char *view;
    size_t span, cursor;
    acu_sim_pool *default_pool, *pool;
    struct cudaDeviceProp properties; /* once they were asked for: they have a name */
};

/* NULL if there is no such device. */
acu_sim_device *acu_sim_device_at(int index);

/* The calling thread's current device; NULL if there is no such device. */
acu_sim_device *acu_sim_device_now(void);

/* Makes its own context. */
cudaError_t acu_sim_device_activate(acu_sim_device *device);

/* Something failed on the device: all contexts of the process are lost, those of others, too, and
 * none can be made any more, on any device. */
void acu_sim_device_fail(acu_sim_device *device, cudaError_t why);

/* There is memory for contexts on it, and they can be made; after a fault none can. */
cudaError_t acu_sim_device_open(acu_sim_device *device);

/* Ends its own context, and takes back all that was made on it, but for what other contexts there
 * have. `for_good`: these, too, and its addresses and settings (acu_sim_reset). */
void acu_sim_device_clear(acu_sim_device *device, bool for_good);
int acu_sim_device_attribute(const acu_sim_device *device, enum cudaDeviceAttr attribute);
bool acu_sim_device_can_access(const acu_sim_device *device, int other);

#endif
