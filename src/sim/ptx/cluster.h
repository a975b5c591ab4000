/* Clusters: the blocks that share their memory, and their barrier. */
#ifndef ACU_SIM_PTX_CLUSTER_H
#define ACU_SIM_PTX_CLUSTER_H

#include "sim/ptx/grid.h"

/* Returns the block in whose shared memory the address is, which may be of another block of the
 * cluster, and makes it an address within that memory. */
ptx_block *acu_ptx_cluster_block(ptx_block *block, uint64_t *address);

/* Returns the address that the place has in the shared memory of the block of this rank. */
uint64_t acu_ptx_cluster_address(uint64_t address, unsigned rank);

/* Counts lanes that have exited: the cluster's barrier may be complete now. */
void acu_ptx_cluster_lanes_ended(ptx_warp *warp, uint32_t lanes);

#endif
