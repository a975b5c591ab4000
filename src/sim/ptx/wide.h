/* Elements of 128 bits in memory. */
#ifndef ACU_SIM_PTX_WIDE_H
#define ACU_SIM_PTX_WIDE_H

#include "sim/ptx/access.h"

/* Load and store elements of 128 bits, as the handlers of smaller elements do. */
ptx_handler acu_ptx_load_wide, acu_ptx_store_wide;

/* Lowers atom.exch.b128 and atom.cas.b128, whose words are read. */
void acu_ptx_lower_wide_atom(struct ptx_lowering *lowering, const ptx_instruction *instruction,
                             ptx_space space, bool compares);

#endif
