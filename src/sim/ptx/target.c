/* What the .target and .version of a module have to be for its instructions, as ptxas 13.0 says. */
#include "sim/ptx/target.h"

#include <stdlib.h>
#include <string.h>

/*
 * `words` are the first word of an opcode, or * for any, and others that it has, in any order. A
 * word may have alternatives, and is one of the opcode's, or several that follow each other:
 * f32.bf16. All rows that fit count.
 */
typedef struct requirement {
    int target;
    bool special; /* only targets with a letter have it: sm_90a */
    const char *words;
} requirement;

/* The PTX that has the instruction first; nothing is said of what a .target needs anyway. */
typedef struct introduction {
    int version; /* 78 is 7.8 */
    int before;  /* only targets before this one need the version; 0: all do */
    const char *words;
} introduction;

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

static const introduction introductions[] = {
    {43, 0, "add|addc|sub|subc|mad|madc cc u64|s64"},
    {43, 0, "lop3"},
    {43, 0, "tld4 a2d"},
    {60, 0, "fns|brx|barrier"},
    {60, 0, "shfl|vote sync"},
    {60, 0, "bar warp"},
    {60, 0, "neg f16|f16x2"},
    {62, 0, "activemask|nanosleep"},
    {62, 0, "atom|red f16x2"},
    {63, 0, "atom|red f16"},
    {63, 0, "atom cas b16"},
    {63, 0, "wmma aligned"},
    {65, 0, "abs f16|f16x2"},
    {65, 0, "set u16.f16|s16.f16|u32.f16|s32.f16|u32.f16x2|s32.f16x2"},
    {65, 0, "cvt pack"},
    {65, 0, "ldmatrix"},
    {70, 0, "ex2 f16|f16x2"},
    {70, 0, "tanh"},
    {70, 0, "cvt relu"},
    {71, 0, "cvt f32.bf16"},
    {71, 0, "mbarrier test_wait parity"},
    {71, 0, "mma and|sp"},
    {72, 0, "min|max abs"},
    {73, 0, "alloca|stacksave|stackrestore"},
    {74, 0, "ld|st L1::no_allocate|L1::evict_first|L1::evict_last|L1::evict_unchanged"},
    {74, 0, "* L2::64B|L2::128B|L2::256B|L2::cache_hint"},
    {74, 0, "prefetch L2::evict_last|L2::evict_normal"},
    {74, 0, "applypriority|discard|createpolicy"},
    {75, 0, "membar proxy"},
    {76, 0, "szext|bmsk"},
    {77, 0, "cvta|isspacep param"},
    {78, 0, "barrier cta"},
    {78, 0, "movmatrix"},
    {78, 0, "cvt bf16.bf16|ftz.f32.bf16"},
    {78, 0, "cvt rn|rz tf32"},
    {80, 0, "add|min|max s16x2|u16x2"},
    {80, 0, "min|max relu"},
    {80, 0, "prefetch tensormap"},
    {80, 0, "cp bulk"},
    {80, 0, "barrier cluster acquire|release|relaxed"},
    {80, 0, "fence async|async.global|mbarrier_init"},
    {80, 0, "elect"},
    {80, 0, "mbarrier expect_tx|complete_tx|shared::cluster|acquire|release|relaxed"},
    {81, 90, "cvt e4m3x2|e5m2x2"},
    {81, 0, "cvt satfinite f32 f16|f16x2|bf16|bf16x2|tf32"},
    {81, 0, "fma oob"},
    {81, 0, "st|red async"},
    {81, 0, "multimem"},
    {81, 0, "atom|red v2|v4|v8"},
    {82, 0, "lop3 and|or"},
    {82, 0, "* mmio"},
    {82, 0, "wgmma sp"},
    {83, 0, "cvta|isspacep param::entry"},
    {83, 0, "ld|st|mov|atom b128"},
    {83, 0, "tensormap"},
    {83, 0, "fence tensormap::generic"},
    {84, 0, "mma e4m3|e5m2"},
    {85, 0, "mma sp::ordered_metadata"},
    {87, 0, "cvt rs"},
    {88, 0, "ld|st v8"},
    {88, 0, "ld|st v4 b64|u64|s64|f64"},
};

/* Returns whether the opcode goes on with one of the alternatives, which end at a blank. */
static bool goes_on(const char *opcode, const char *alternatives) {
    for (const char *at = alternatives;; at++) {
        const size_t size = strcspn(at, "| ");
        if (strncmp(opcode, at, size) == 0 && (!opcode[size] || opcode[size] == '.'))
            return true;
        at += size;
        if (*at != '|')
            return false;
    }
}

static bool has_alternative(const char *opcode, const char *alternatives) {
    for (const char *at = strchr(opcode, '.'); at; at = strchr(at, '.'))
        if (goes_on(++at, alternatives))
            return true;
    return false;
}

static bool concerns(const char *words, const char *opcode) {
    if (*words != '*' && !goes_on(opcode, words))
        return false;
    for (words += strcspn(words, " "); *words; words += strcspn(words, " "))
        if (!has_alternative(opcode, ++words))
            return false;
    return true;
}

/* Refuses a special register that the .target or the .version does not have. */
static void check_special(ptx_lowering *l, ptx_special special) {
    static const struct {
        ptx_special first, last;
        int target, version;
    } some[] = {{PTX_CLUSTERID, PTX_IS_EXPLICIT_CLUSTER, 90, 78},
                {PTX_AGGR_SMEM_SIZE, PTX_AGGR_SMEM_SIZE, 90, 81},
                {PTX_RESERVED_SMEM_BEGIN, PTX_RESERVED_SMEM_OFFSET, 80, 76},
                {PTX_CURRENT_GRAPH_EXEC, PTX_CURRENT_GRAPH_EXEC, 50, 80},
                {PTX_CLOCK_HI, PTX_CLOCK_HI, 20, 50}};
    for (size_t n = 0; n < sizeof some / sizeof *some; n++) {
        if (special < some[n].first || special > some[n].last)
            continue;
        if (l->module->target < some[n].target)
            acu_ptx_invalid(l, "Feature '%%%s' requires .target sm_%d or higher",
                            acu_ptx_special_name(special), some[n].target);
        if (l->module->version < some[n].version)
            acu_ptx_invalid(l, "Feature '%%%s' requires PTX ISA .version %d.%d or later",
                            acu_ptx_special_name(special), some[n].version / 10,
                            some[n].version % 10);
    }
}

static void check_version(ptx_lowering *l, const ptx_instruction *i) {
    const ptx_module *m = l->module;
    int least = 0;
    for (size_t n = 0; n < sizeof introductions / sizeof *introductions; n++) {
        const introduction *one = &introductions[n];
        if (m->version < one->version && (!one->before || m->target < one->before) &&
            one->version > least && concerns(one->words, i->opcode))
            least = one->version;
    }
    if (least)
        acu_ptx_invalid(l, "Feature '%s' requires PTX ISA .version %d.%d or later", i->opcode,
                        least / 10, least % 10);
}

void acu_ptx_check_target(ptx_lowering *l, const ptx_instruction *i) {
    const ptx_module *m = l->module;
    const requirement *most = NULL;
    for (unsigned n = 0; n < i->operand_count; n++)
        if (i->operands[n].kind == PTX_SPECIAL_REGISTER)
            check_special(l, i->operands[n].special);
    check_version(l, i);
    for (size_t n = 0; n < sizeof requirements / sizeof *requirements; n++) {
        const requirement *r = &requirements[n];
        if ((m->target < r->target || (r->special && !m->variant)) && concerns(r->words, i->opcode))
            most = r;
    }
    if (most && most->special)
        acu_ptx_invalid(l, "Instruction '%s' not supported on .target 'sm_%d%.1s'", i->opcode,
                        m->target, &m->variant);
    if (most)
        acu_ptx_invalid(l, "Feature '%s' requires .target sm_%d or higher", i->opcode,
                        most->target);
}
