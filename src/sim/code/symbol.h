/* Symbols: variables of device code that host code names. */
#ifndef ACU_SIM_CODE_SYMBOL_H
#define ACU_SIM_CODE_SYMBOL_H

#include "sim/sim.h"

/* A part of a variable. */
typedef struct acu_sim_symbol_part {
    const void *symbol;   /* the host's address of the variable */
    size_t count, offset; /* bytes */
} acu_sim_symbol_part;

/* Find the device address of a part of a variable in the current context, for a copy to it or from
 * it. Return an error if the part is not within the variable, or the kind has another direction. */
cudaError_t acu_sim_symbol_find_to(const acu_sim_symbol_part *part, enum cudaMemcpyKind kind,
                                   char **at);
cudaError_t acu_sim_symbol_find_from(const acu_sim_symbol_part *part, enum cudaMemcpyKind kind,
                                     char **at);

#endif
