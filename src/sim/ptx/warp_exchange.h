/* Shuffles, for machine code. */
#ifndef ACU_SIM_PTX_WARP_EXCHANGE_H
#define ACU_SIM_PTX_WARP_EXCHANGE_H

#include "sim/ptx/code.h"

/* What a shuffle does; `more` of its operation, whose handler is acu_ptx_shuffle(). */
typedef struct ptx_shuffle {
    ptx_slot value, by, clamp, predicate; /* predicate UINT32_MAX: none */
    int mode;                             /* up, down, bfly, idx */
    bool is_fixed; /* `by` and `clamp` are numbers: each lane always takes the value of */
    uint32_t from[PTX_LANES];
    uint32_t inside; /* the predicate then */
    /* Gives each lane of the mask the word of the lane that `from` names. */
    void (*permute)(uint32_t *d, const uint32_t *words, const uint32_t *from, uint32_t mask);
} ptx_shuffle;

ptx_handler acu_ptx_shuffle;

#endif
