/* Multicast objects: what is written to one reaches the memory that devices have bound to it. */
#ifndef ACU_SIM_MEMORY_MULTICAST_H
#define ACU_SIM_MEMORY_MULTICAST_H

#include "sim/cuda_bodies.h"
#include "sim/sim.h"

/* What makes created memory a multicast object (acu_sim_created.multicast). */
typedef struct acu_sim_multicast acu_sim_multicast;

/* Frees it, and gives up the memory that is bound; NULL is fine. */
void acu_sim_multicast_free(acu_sim_multicast *multicast);

/* Unbinds something that the device has bound; returns false if that is nothing. */
bool acu_sim_multicast_unbind_one(acu_sim_multicast *multicast, int device);

/* Returns whether the device was added. */
bool acu_sim_multicast_has(const acu_sim_multicast *multicast, int device);

/* Waits until all devices were added to the object of a handle; returns an error if the program
 * releases it meanwhile. The lock is given up meanwhile. */
cudaError_t acu_sim_multicast_wait(CUmemGenericAllocationHandle handle);

/* Gives the bytes that were written to the simulator's own memory of a mapping to all devices.
 * Returns false if a device has bound no memory there; true where nothing is a multicast object. To
 * be called without the lock, while memory must not move. */
bool acu_sim_multicast_spread(const char *written, size_t count);

/* Writes where the memory is that the devices have bound to these bytes of a multicast object, in
 * the order of the devices, and returns how many there are; 0 if the addresses are not those of a
 * multicast object, or a device has bound none. */
size_t acu_sim_multicast_places(const void *address, size_t bytes, void **places, size_t room);

#endif
