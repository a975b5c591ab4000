/* The flow of control of a function: its basic blocks, where lanes that a branch sends apart meet,
 * and which registers are still needed. */
#ifndef ACU_SIM_PTX_FLOW_H
#define ACU_SIM_PTX_FLOW_H

#include "sim/ptx/arena.h"
#include "sim/ptx/ptx_module.h"

typedef struct ptx_basic_block {
    uint32_t begin, end; /* instructions */
    uint32_t *next;      /* blocks that may come next; `next_count` of them */
    uint32_t next_count;
    uint32_t meet; /* the block at which the lanes that leave this one meet; UINT32_MAX: none */
    bool is_meet;  /* lanes meet at the beginning of this one */
} ptx_basic_block;

typedef struct ptx_flow_graph {
    ptx_basic_block *blocks;
    uint32_t count;
    uint32_t *block_of; /* for each instruction, and one more, its block */
} ptx_flow_graph;

/* Returns the flow of the function, in the arena; NULL without memory. */
ptx_flow_graph *acu_ptx_flow_of(const ptx_function *function, ptx_arena *arena);

/* Returns whether the opcode begins with the word: "bra" of "bra.uni". */
bool acu_ptx_is(const ptx_instruction *instruction, const char *word);

#endif
