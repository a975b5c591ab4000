/* Variables of device code that the host program names. */
#ifndef ACU_SIM_CODE_SYMBOL_H
#define ACU_SIM_CODE_SYMBOL_H

#include "sim/sim.h"

/* A part of a variable. */
typedef struct acu_sim_symbol_part {
    const void *symbol;
    size_t count, offset;
} acu_sim_symbol_part;

/* Finds the address of a part of a variable in the current context, to copy to it, or from it. */
cudaError_t acu_sim_symbol_find_to(const acu_sim_symbol_part *part, enum cudaMemcpyKind kind,
                                   char **at);
cudaError_t acu_sim_symbol_find_from(const acu_sim_symbol_part *part, enum cudaMemcpyKind kind,
                                     char **at);

#endif
