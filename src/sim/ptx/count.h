/*
 * Profiles: what each instruction of a kernel did, counted as Nsight Compute counts. Code that is
 * lowered to be profiled has an operation before each instruction, branch and access, which counts
 * it; other code has none, so that it costs nothing.
 */
#ifndef ACU_SIM_PTX_COUNT_H
#define ACU_SIM_PTX_COUNT_H

#include "sim/ptx/code.h"

/* What is counted. A request is a warp's access, by those of its lanes that access the space; a
 * sector is 32 bytes; a wavefront is what the 32 banks of 4 bytes do at once. */
typedef enum ptx_counter {
    PTX_COUNT_WARPS,   /* instructions of warps */
    PTX_COUNT_THREADS, /* the same, for each active thread */
    PTX_COUNT_BRANCHES,
    PTX_COUNT_DIVERGENT,
    PTX_COUNT_LOADS, /* requests to global memory */
    PTX_COUNT_LOAD_SECTORS,
    PTX_COUNT_LOAD_IDEAL, /* sectors that have room for what was asked for */
    PTX_COUNT_STORES,
    PTX_COUNT_STORE_SECTORS,
    PTX_COUNT_STORE_IDEAL,
    PTX_COUNT_ATOMICS,
    PTX_COUNT_ATOMIC_SECTORS,
    PTX_COUNT_LOCALS,
    PTX_COUNT_LOCAL_SECTORS,
    PTX_COUNT_SHARED_LOADS, /* requests to shared memory */
    PTX_COUNT_SHARED_LOAD_WAVEFRONTS,
    PTX_COUNT_SHARED_LOAD_CONFLICTS,
    PTX_COUNT_SHARED_STORES,
    PTX_COUNT_SHARED_STORE_WAVEFRONTS,
    PTX_COUNT_SHARED_STORE_CONFLICTS,
    PTX_COUNT_SHARED_ATOMICS,
    PTX_COUNT_ATOMIC_LANES,     /* of atomic requests to either space */
    PTX_COUNT_ATOMIC_ADDRESSES, /* that are different within a request */
    PTX_COUNTERS
} ptx_counter;

/* The counts of an instruction, or the sums of several. */
typedef struct ptx_counts {
    uint64_t of[PTX_COUNTERS];
} ptx_counts;

/* Adds counts to others. */
void acu_ptx_counts_add(ptx_counts *sum, const ptx_counts *counts);

/* ---- for who lowers an instruction: nothing is added to code that is not profiled ---- */

struct ptx_lowering;
struct ptx_check_site;
/* Adds what counts the instruction; what the others add until the next one counts for it. */
void acu_ptx_count_instruction(struct ptx_lowering *lowering, const ptx_instruction *instruction);
/* Adds what counts an access. */
void acu_ptx_count_access(struct ptx_lowering *lowering, const struct ptx_check_site *site);
/* Adds what counts a branch of the lanes for which the guard is true. */
void acu_ptx_count_branch(struct ptx_lowering *lowering, ptx_slot guard, bool negated);
/* Adds what counts a branch to one of the labels, by the index. */
void acu_ptx_count_switch(struct ptx_lowering *lowering, ptx_slot index, const ptx_table *table);

#endif
