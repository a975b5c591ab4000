#include "sim/ptx/level.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static _Atomic ptx_level chosen_level; /* PTX_BEST: nobody chose one */

ptx_level acu_ptx_processor_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (has_avx2)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
                   ? PTX_AVX512
                   : PTX_AVX2;
#endif
    return PTX_BASELINE;
}

ptx_level acu_ptx_level(void) {
    const ptx_level chosen = atomic_load_explicit(&chosen_level, memory_order_relaxed);
    return chosen ? chosen : acu_ptx_processor_level();
}

void acu_ptx_level_use(ptx_level wanted) {
    const ptx_level has = acu_ptx_processor_level();
    atomic_store_explicit(&chosen_level, wanted && wanted < has ? wanted : has,
                          memory_order_relaxed);
}

const char *acu_ptx_level_lack(ptx_level wanted, ptx_level has) {
    if (wanted <= has)
        return NULL;
    return has == PTX_AVX2 ? "the processor has no AVX-512 (F, BW, DQ and VL); avx2 is used"
           : wanted == PTX_AVX512
               ? "the processor has no AVX-512 (F, BW, DQ and VL); baseline is used"
               : "the processor has no AVX2 (with FMA and BMI); baseline is used";
}
