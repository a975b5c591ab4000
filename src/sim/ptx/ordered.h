/* Accesses that other threads of the host may make at the same time: volatile, relaxed and so on.
 */
#ifndef ACU_SIM_PTX_ORDERED_H
#define ACU_SIM_PTX_ORDERED_H

#include "sim/ptx/access.h"

/* Load and store one element of up to 8 bytes, as the handlers of plain accesses do, but so that no
 * thread of the host sees half of one. */
ptx_handler acu_ptx_load_ordered, acu_ptx_store_ordered;

/* Orders what the warp did before and what it does after. */
ptx_handler acu_ptx_fence;

#endif
