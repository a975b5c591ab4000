/* Which registers an instruction reads and writes, and which registers of a function share a place.
 */
#ifndef ACU_SIM_PTX_REGISTERS_H
#define ACU_SIM_PTX_REGISTERS_H

#include "sim/ptx/code.h"
#include "sim/ptx/flow.h"

/* What an instruction does with a register. */
enum {
    PTX_READS = 1,
    PTX_WRITES = 2,   /* maybe not for each lane */
    PTX_REPLACES = 4, /* with PTX_WRITES: in each lane, and nothing of the old value is left */
};

/* Returns how many operands are results, the first ones; -1 where that is not known. */
int acu_ptx_results_of(const ptx_instruction *instruction);
/* Takes a register that the instruction reads or writes. */
typedef void ptx_touch(void *data, unsigned number, unsigned how);
/* Calls `touch` for each register of the instruction: for all that are read, then for all that are
 * written. */
void acu_ptx_touches(const ptx_instruction *instruction, ptx_touch *touch, void *data);

/* Where the registers of a function lie: a place is room for a value of one size. */
typedef struct ptx_places {
    uint32_t *of;          /* for each register; UINT32_MAX: the function does not use it */
    ptx_code_slot *places; /* their sizes */
    uint32_t count;
    uint64_t *needed; /* for each basic block, `words` words: the places whose values are needed
                         where it begins */
    uint32_t words;
} ptx_places;

/*
 * Gives the registers of the function places. Registers of the same size share one where no lane
 * needs the value of one while it has one of the other, with `shares`. Lanes keep to their own
 * elements, so it does not matter which lanes are where. Registers in `apart` have no place. False
 * without memory. The places are in the arena.
 */
bool acu_ptx_places_of(const ptx_function *function, const ptx_flow_graph *flow, const bool *apart,
                       bool shares, ptx_arena *arena, ptx_places *places);

/*
 * Counts, for each instruction, the words of all values that are needed before it or behind it,
 * with its results: `words` are those of each register. `needed` begins with zeros. False without
 * memory.
 */
bool acu_ptx_count_needed(const ptx_function *function, const ptx_flow_graph *flow,
                          const unsigned char *words, unsigned *needed);

/* Returns the bytes of an element of the register in a slot; 0: a predicate. */
unsigned acu_ptx_size_of_register(const ptx_register *reg);

#endif
