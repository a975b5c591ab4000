/* The handlers of plain operations of which some lanes are not active, for this processor. */
#ifndef ACU_SIM_PTX_MASKED_H
#define ACU_SIM_PTX_MASKED_H

#include "sim/ptx/warp.h"

typedef struct ptx_masked_handlers {
    ptx_handler *of_size[5]; /* by the result: predicates, elements of 2, 4, 8, 16 bytes */
    ptx_handler *guarded[5]; /* the same, by a predicate */
} ptx_masked_handlers;

#endif
