/*
 * What only libanycuda-sim.so has. There the functions of the simulator have CUDA's own names (see
 * SIM in sim.h); here is a refusal for each name that it does not play, so that a program that was
 * linked with libcudart finds all of them. Weak: where the function is played, that is taken.
 */
#include "sim/sim.h"

/* Every argument is ignored, and all but those that are played return an error. */
#define ACU_SYMBOL(symbol)                                                                         \
    cudaError_t acu_refuse_##symbol(void) __asm__(#symbol)                                         \
        __attribute__((weak, visibility("default")));                                              \
    cudaError_t acu_refuse_##symbol(void) {                                                        \
        return acu_sim_refuse();                                                                   \
    }

static cudaError_t acu_sim_refuse(void) {
    (void)acu_sim_enter(SIM_NEEDS_NOTHING, NULL);
    return acu_sim_leave(cudaErrorNotSupported);
}

#include "sim_symbols.h"
