/* The symbols that the simulator answers to, and the entries behind them; spec/simulator.yaml lists
 * them. */
#ifndef ACU_SIM_ENTRIES_H
#define ACU_SIM_ENTRIES_H

#include "sim/device/need.h"
#include "sim/sim.h"
#include "sim/stream/capture.h"

typedef struct acu_sim_api_entry {
    const acu_function *function;
    const char *symbol;
    acu_fn entry;
    bool per_thread; /* the variant where NULL as a stream is the thread's own default stream */
    int oldest;      /* the CUDA that brought the first signature, 4000; 0: no CUDA is too old */
    int since;       /* the CUDA that brought this signature; 0: as the first one */
} acu_sim_api_entry;

/* In the order of their symbols. */
extern const acu_sim_api_entry acu_sim_cudart_entries[], acu_sim_cuda_entries[];
extern const size_t acu_sim_cudart_entry_count, acu_sim_cuda_entry_count;

/* Returns the entry with that symbol; NULL if no row has it. */
acu_fn acu_sim_entries_find(const acu_sim_api_entry *entries, size_t count, const char *symbol);

/* Declares an entry with the type that the function's slot has. In the shared library it is the
 * symbol itself, which programs open and link. */
#define SIM_ENTRY(function, name, symbol)                                                          \
    extern __typeof__(*acu_slot_##function) acu_sim_entry_##name SIM_SYMBOL(#symbol);

#endif
