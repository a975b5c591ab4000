/* What the .target of a module has to be for its instructions, as ptxas 13.0 says. */
#include "sim/ptx/target.h"

#include <stdlib.h>
#include <string.h>

/*
 * The first word of an opcode, or * for any, and others that it has, in any order. A word may have
 * alternatives. All rows that fit count.
 */
typedef struct requirement {
    int target;
    bool special; /* only targets with a letter have it: sm_90a */
    const char *words;
} requirement;

static const requirement requirements[] = {
    {52, false, "alloca|stacksave|stackrestore"},
    {53, false, "add|sub|mul|fma|abs|neg|set|setp|tex|tld4 f16|f16x2"},
    {60, false, "atom|red add f64|f16x2"},
    {60, false, "atom|red cta|gpu|sys"},
    {60, false, "membar proxy"},
    {61, false, "dp2a|dp4a"},
    {70, false, "wmma|mma|fence|match|nanosleep|bmsk|szext"},
    {70, false, "ld|st|mov b128"},
    {70, false, "* relaxed|acquire|release|acq_rel|mmio"},
    {70, false, "atom|red f16"},
    {70, false, "atom cas b16"},
    {70, false, "lop3 and|or"},
    {70, false, "cvta|isspacep param|param::entry"},
    {70, false, "ld|st L1::no_allocate|L1::evict_first|L1::evict_last|L1::evict_unchanged"},
    {72, false, "wmma s8|u8|s32"},
    {72, false, "cvt pack"},
    {75, false, "wmma s4|u4|b1"},
    {75, false, "mma m16n8k8|m8n8k16|m8n8k32|m8n8k128"},
    {75, false, "cvt s2|s4|u2|u4"},
    {75, false, "ex2 f16|f16x2"},
    {75, false, "tanh|ldmatrix|movmatrix"},
    {75, false, "* L2::64B|L2::128B|L2::256B"},
    {80, false, "* bf16|bf16x2|tf32"},
    {80, false, "wmma f64"},
    {80, false,
     "mma m16n8k4|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256|f64|sp|sp::ordered_metadata"},
    {80, false, "mma and"},
    {80, false, "fma relu"},
    {80, false, "min|max f16|f16x2|NaN"},
    {80, false, "cvt f16x2"},
    {80, false, "createpolicy|applypriority|discard|redux|mbarrier"},
    {80, false, "cp async"},
    {80, false, "* L2::cache_hint"},
    {80, false, "prefetch L2::evict_last|L2::evict_normal"},
    {86, false, "min|max abs"},
    {89, false, "cvt e4m3x2|e5m2x2"},
    {89, false, "mma e4m3|e5m2"},
    {90, false, "cp bulk"},
    {90, false, "mbarrier expect_tx|complete_tx|try_wait"},
    {90, false, "* cluster|shared::cluster"},
    {90, false, "add|sub|mul|set|setp|ex2|tanh|atom|red bf16|bf16x2"},
    {90, false, "cvt bf16 f16|f64|s8|s16|s32|s64|u8|u16|u32|u64"},
    {90, false, "add|min|max s16x2|u16x2"},
    {90, false, "min|max relu"},
    {90, false, "fma oob"},
    {90, false, "atom b128"},
    {90, false, "atom|red v2|v4|v8"},
    {90, false, "red|st async"},
    {90, false, "elect|mapa|getctarank|griddepcontrol|multimem|stmatrix"},
    {90, false, "tensormap cp_fenceproxy"},
    {90, false, "prefetch tensormap"},
    {90, false, "fence async|async.global|tensormap::generic|mbarrier_init"},
    {90, true, "wgmma|setmaxnreg"},
    {90, true, "tensormap replace"},
    {100, false, "* f32x2"},
    {100, false, "add|sub|fma f32 f16|bf16"},
    {100, false, "ld|st v8"},
    {100, false, "ld|st v4 b64|u64|s64|f64"},
    {100, false, "st bulk"},
    {100, false, "clusterlaunchcontrol"},
    {100, true, "tcgen05"},
    {100, true, "redux f32"},
    {100, true, "mma kind::f8f6f4"},
    {100, true, "ldmatrix|stmatrix m8n16|m16n16|m16n8"},
    {100, true, "cvt e2m1x2|e2m3x2|e3m2x2|ue8m0x2|rs"},
};

/* Whether `length` characters are one of the alternatives, which end at a blank. */
static bool is_alternative(const char *word, size_t length, const char *alternatives) {
    for (const char *at = alternatives;; at++) {
        const size_t size = strcspn(at, "| ");
        if (size == length && memcmp(at, word, length) == 0)
            return true;
        at += size;
        if (*at != '|')
            return false;
    }
}

static bool has_alternative(const char *opcode, const char *alternatives) {
    for (const char *at = strchr(opcode, '.'); at; at = strchr(at, '.')) {
        at++;
        if (is_alternative(at, strcspn(at, "."), alternatives))
            return true;
    }
    return false;
}

static bool concerns(const requirement *r, const char *opcode) {
    const char *words = r->words;
    if (*words != '*' && !is_alternative(opcode, strcspn(opcode, "."), words))
        return false;
    for (words += strcspn(words, " "); *words; words += strcspn(words, " "))
        if (!has_alternative(opcode, ++words))
            return false;
    return true;
}

/* Devices have clusters, and the special registers that tell of them, since 9.0. */
static void check_specials(ptx_lowering *l, const ptx_instruction *i) {
    enum { LEAST = 90 };
    for (unsigned n = 0; n < i->operand_count && l->module->target < LEAST; n++) {
        const ptx_operand *o = &i->operands[n];
        if (o->kind == PTX_SPECIAL_REGISTER &&
            ((o->special >= PTX_CLUSTERID && o->special <= PTX_IS_EXPLICIT_CLUSTER) ||
             o->special == PTX_AGGR_SMEM_SIZE))
            acu_ptx_invalid(l, "Feature '%%%s' requires .target sm_%d or higher",
                            acu_ptx_special_name(o->special), LEAST);
    }
}

void acu_ptx_check_target(ptx_lowering *l, const ptx_instruction *i) {
    const ptx_module *m = l->module;
    const requirement *most = NULL;
    check_specials(l, i);
    for (size_t n = 0; n < sizeof requirements / sizeof *requirements; n++) {
        const requirement *r = &requirements[n];
        if ((m->target < r->target || (r->special && !m->variant)) && concerns(r, i->opcode))
            most = r;
    }
    if (most && most->special)
        acu_ptx_invalid(l, "Instruction '%s' not supported on .target 'sm_%d%.1s'", i->opcode,
                        m->target, &m->variant);
    if (most)
        acu_ptx_invalid(l, "Feature '%s' requires .target sm_%d or higher", i->opcode,
                        most->target);
}
