/*
 * What only libanycuda-sim.so has. There the entries of the simulator have CUDA's own names; here
 * is a refusal for each name that has no entry, so that a program that was linked with libcudart,
 * or that looks names up in libcuda, finds all of them. The refusals are weak: where there is an
 * entry, that is taken.
 */
#include "sim/sim.h"

/* A refusal ignores the arguments. */
#define ACU_SYMBOL(symbol)                                                                         \
    cudaError_t acu_refuse_##symbol(void) __asm__(#symbol)                                         \
        __attribute__((weak, visibility("default")));                                              \
    cudaError_t acu_refuse_##symbol(void) {                                                        \
        return acu_sim_refuse(#symbol);                                                            \
    }

/* A symbol of an older version that the same ABI serves: a jump to the one above, or to the entry
 * that is taken in its place. */
#if defined(__aarch64__)
#define JUMP "b "
#else
#define JUMP "jmp "
#endif
#define ACU_OLDER_SYMBOL(symbol, major, version)                                                   \
    __asm__(".text\n.globl acu_older_" #major "_" #symbol "\n"                                     \
            ".type acu_older_" #major "_" #symbol ", %function\n"                                  \
            "acu_older_" #major "_" #symbol ": " JUMP #symbol "\n"                                 \
            ".symver acu_older_" #major "_" #symbol ", " #symbol "@" version "\n");

static cudaError_t acu_sim_refuse(const char *symbol) {
    const bool by_driver = symbol[0] == 'c' && symbol[2] != 'd'; /* neither cudaX nor __cudaX */
    acu_sim_call call = {.caller = NULL, .symbol = symbol, .by_driver = by_driver};
    acu_sim_call_begin(&call);
    return acu_sim_call_end(&call, cudaErrorNotSupported);
}

/* Behind the macro, which the list uses. */
#include "sim_symbols.h"
