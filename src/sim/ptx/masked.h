/* The handlers of plain operations of which some lanes are not active, for this processor. */
#ifndef ACU_SIM_PTX_MASKED_H
#define ACU_SIM_PTX_MASKED_H

#include "sim/ptx/warp.h"

typedef struct ptx_masked_handlers {
    ptx_handler *of_size[5]; /* by the result: predicates, elements of 2, 4, 8, 16 bytes */
    ptx_handler *guarded[5]; /* the same, by a predicate */
    /* Do two guarded operations, of which one has the other one's lanes and the same result of 4
     * bytes; `value` is how far behind the first one the second one is. The first handler also
     * writes to lanes that are not active. */
    ptx_handler *choose[2]; /* `flags` may have PTX_CHOICE_LONG */
    /* Gives each lane of the mask the word of the lane that `from` names. */
    void (*permute)(uint32_t *d, const uint32_t *words, const uint32_t *from, uint32_t mask);
} ptx_masked_handlers;

enum { PTX_CHOICE_LONG = 1 /* one of the two takes as long as many others */ };

/* Returns those for this processor. */
const ptx_masked_handlers *acu_ptx_masked_handlers(void);

#endif
