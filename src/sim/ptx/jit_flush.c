/*
 * .ftz: what is subnormal among the operands and the result of an operation becomes a zero of its
 * sign. The processor does that where its control of floats says so, and finds results that are
 * subnormal before they are rounded to fewer bits, as a GPU does. Blocks of a kernel whose floats
 * flush most often begin and end with that control; what must not flush, handlers too, changes it.
 */
#include "sim/ptx/access.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <pthread.h>

static bool flushes; /* the processor does; some that are only imitated do not */

#if defined(__x86_64__)
static void try_control(void) {
    enum { KEEPS = 0x1f80, FLUSHES = 0x9fc0 };
    const unsigned before = __builtin_ia32_stmxcsr();
    volatile float smallest = 0x1p-126f, half = 0.5f, subnormal = 0x1p-149f, large = 0x1p60f,
                   result, product;
    __builtin_ia32_ldmxcsr(FLUSHES);
    result = smallest * half;
    product = subnormal * large;
    __builtin_ia32_ldmxcsr(KEEPS);
    flushes = result == 0 && product == 0;
    __builtin_ia32_ldmxcsr(before);
}
#else
static void try_control(void) {}
#endif

bool acu_jit_can_flush(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, try_control);
    return flushes;
}

void acu_jit_set_control(ptx_making *m, jit_control control) {
    const bool known = m->rax_at == m->x.size;
    if (m->control == control || control == JIT_ANY)
        return;
    m->control = control;
    acu_x86_load_control(&m->x, acu_jit_control_of(m, X86_NEAREST));
    if (known)
        m->rax_at = m->x.size;
}

x86_place acu_jit_control_of(const ptx_making *m, x86_rounding rounding) {
    const size_t at = JIT_CONTROL + 4 * (size_t)rounding;
    return x86_at(JIT_POOL, (int32_t)(m->control == JIT_FLUSHES ? at + JIT_CONTROL_FLUSHES : at));
}

void acu_jit_choose_control(ptx_making *m) {
    uint32_t counts[] = {[JIT_KEEPS] = 0, [JIT_FLUSHES] = 0, [JIT_ANY] = 0};
    for (uint32_t n = 0; n < m->code->count; n++) {
        const ptx_op *op = &m->code->ops[n];
        const ptx_op *inner = acu_ptx_is_guarded(op->full) ? op->more : op;
        if (op->flow || inner->full == acu_ptx_nothing || acu_jit_access_kind(inner))
            continue;
        counts[acu_jit_is_known(inner) ? acu_jit_needed_control(inner) : JIT_KEEPS]++;
    }
    m->usual =
        counts[JIT_FLUSHES] && counts[JIT_FLUSHES] >= counts[JIT_KEEPS] ? JIT_FLUSHES : JIT_KEEPS;
}
