/* What kernels did (ANYCUDA_SIM=profile=…): kept for each kernel, for tests and for the report at
 * exit. */
#ifndef ACU_SIM_CODE_PROFILE_H
#define ACU_SIM_CODE_PROFILE_H

#include "sim/noun.h"
#include "sim/ptx/grid.h"

#include <stdio.h>

/* An instruction of a kernel, or of a function that it calls. */
typedef struct acu_sim_profiled_line {
    unsigned line;       /* of the PTX */
    char *opcode, *file; /* file: NULL, the source is not known */
    unsigned source;     /* the line of the file */
    ptx_counts counts;
} acu_sim_profiled_line;

/* A kernel. */
typedef struct acu_sim_profiled {
    char *kernel;
    unsigned long long launches;
    double occupancy; /* of all launches, added up */
    acu_sim_profiled_line *lines;
    size_t line_count, line_room;
    struct acu_sim_profiled *next;
} acu_sim_profiled;

/* Adds a launch of a kernel that has ended: the counts of each of code->counted. Any thread may
 * call the function. */
void acu_sim_profile_launch(const char *kernel, const ptx_code *code, const ptx_counts *counts,
                            double occupancy);

/* Returns how much of the multiprocessors' room for warps a launch has taken: an estimate, as if
 * all blocks took the same time. `blocks` blocks of `warps` warps run on `multiprocessors` of which
 * each has room for `resident` blocks and `room` warps. */
double acu_sim_profile_occupancy(uint64_t blocks, unsigned warps, unsigned multiprocessors,
                                 unsigned resident, unsigned room);

/* Returns the sums of a kernel's counts. */
ptx_counts acu_sim_profile_sum(const acu_sim_profiled *kernel);
/* Returns the name of a counter, which is that of its member in acu_sim_profile. */
const char *acu_sim_profile_name(ptx_counter counter);

/* Write what is known of the kernels: a table for people, whose rows have at most 100 columns, and
 * JSON. */
void acu_sim_profile_write_table(FILE *file, const acu_sim_profiled *kernels);
void acu_sim_profile_write_json(FILE *file, const acu_sim_profiled *kernels);

extern const acu_sim_noun acu_sim_profile_noun;

#endif
