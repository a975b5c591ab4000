/* Loads and stores of each type, with orders, scopes and hints, generic addresses, and atomic
 * operations with scopes. */
#include "random_kernels.h"

#include <string.h>

/* ---- where a thread's own bytes are ---- */

enum { GLOBAL, SHARED, LOCAL, REMOTE, PLACES };

static const char *const begins[] = {"%y1", "%so", "%lo", "%ro"};
static const char *const generic_of[] = {"global", "shared", "local", "shared::cluster"};

/* Makes %y6 the address of an element of the thread's own memory, a generic one if so asked, else
 * one of the place's own space. */
static void put_own(unsigned place, unsigned size, bool is_generic) {
    const unsigned from = any('r', 1);
    put("and.b32 %%x1, %%r%u, %u;\ncvt.u64.u32 %%y6, %%x1;\n", from, (OWN - 1) & ~(size - 1));
    if (place == GLOBAL)
        put("add.u64 %%y6, %%y6, %%y1;\n");
    else
        put("cvt.u64.u32 %%y2, %s;\nadd.u64 %%y6, %%y6, %%y2;\n", begins[place]);
    if (is_generic && place != GLOBAL)
        put("cvta.%s.u64 %%y6, %%y6;\n", generic_of[place]);
    else if (is_generic && one_of(4))
        put("cvta.global.u64 %%y6, %%y6;\n");
}

static const char *space_of(unsigned place, bool is_generic) {
    if (is_generic)
        return "";
    return place == GLOBAL                ? ".global"
           : place == LOCAL               ? ".local"
           : place == REMOTE || one_of(4) ? ".shared::cluster"
           : one_of(3)                    ? ".shared::cta"
                                          : ".shared";
}

static const char *any_scope(void) {
    static const char *const scopes[] = {".cta", ".cluster", ".gpu", ".sys"};
    return scopes[below(4)];
}

/* Makes %y2 a policy for caches. */
static void put_policy(void) {
    static const char *const ways[] = {"evict_last", "evict_normal", "evict_first",
                                       "evict_unchanged"};
    const unsigned way = below(3), primary = below(4), other = below(2);
    if (way == 0)
        put("createpolicy.fractional.L2::%s%s.b64 %%y2, 0f3f000000;\n", ways[primary],
            other ? ".L2::evict_unchanged" : "");
    else if (way == 1)
        put("createpolicy.fractional.L2::%s.b64 %%y2;\n", ways[primary]);
    else
        put("createpolicy.range.global.L2::%s.L2::evict_unchanged.b64 %%y2, [%%y0], 4096, 8192;\n",
            ways[primary == 1 ? 0 : primary]);
}

/* ---- loads and stores ---- */

static const struct {
    const char *name;
    unsigned size;
    bool is_integer; /* so that a wider register may take it */
} types[] = {{"b8", 1, true},   {"u8", 1, true},   {"s8", 1, true},   {"b16", 2, true},
             {"u16", 2, true},  {"s16", 2, true},  {"b32", 4, true},  {"u32", 4, true},
             {"s32", 4, true},  {"b64", 8, false}, {"u64", 8, false}, {"s64", 8, false},
             {"f32", 4, false}, {"f64", 8, false}};
enum { TYPES = sizeof types / sizeof *types };

static char letter_of(unsigned size) {
    return (char)(size <= 2 ? 'h' : size == 4 ? 'r' : 'd');
}

/* What follows "ld" or "st": an order and a scope, or how caches take it. A policy is in %y2. */
static void put_way(bool loads, unsigned place, bool is_generic, bool is_vector, bool *has_policy) {
    static const char *const loading[] = {".ca", ".cg", ".cs", ".lu", ".cv"};
    static const char *const storing[] = {".wb", ".cg", ".cs", ".wt"};
    static const char *const evicting[] = {".L1::evict_normal", ".L1::evict_unchanged",
                                           ".L1::evict_first", ".L1::evict_last",
                                           ".L1::no_allocate"};
    static const char *const fetching[] = {".L2::64B", ".L2::128B", ".L2::256B"};
    const unsigned way = below(8), which = below(5), fetch = below(3);
    const char *const space = space_of(place, is_generic);
    *has_policy = false;
    const bool may_order = place != LOCAL;
    const bool is_global = place == GLOBAL && !is_generic;
    if (way == 0 && may_order)
        put(".volatile%s", space);
    else if (way == 1 && may_order)
        put(".relaxed%s%s", any_scope(), space);
    else if (way == 2 && may_order)
        put("%s%s%s", loads ? ".acquire" : ".release", any_scope(), space);
    else if (way == 3 && is_global && !is_vector)
        put(".mmio.relaxed.sys.global");
    else if (way == 4)
        put("%s%s", space, loads ? loading[which] : storing[which % 4]);
    else if (way == 5 && is_global)
        put(".global%s%s", evicting[which], loads && fetch ? fetching[fetch - 1] : "");
    else if (way == 6 && is_global && (*has_policy = true))
        put(".global%s.L2::cache_hint", one_of(2) ? evicting[which] : "");
    else
        put("%s%s", one_of(3) ? ".weak" : "", space);
}

static void put_typed(void) {
    const unsigned type = below(TYPES), place = below(PLACES), size = types[type].size;
    const bool is_generic = one_of(3), loads = one_of(2);
    const unsigned most = 16 / size < 4 ? 16 / size : 4;
    unsigned count = 1u << below(3);
    count = count > most ? 1 : count;
    char letter = letter_of(size);
    if (loads && types[type].is_integer && one_of(2))
        letter = (char)(size == 4 || one_of(2) ? 'd' : 'r');
    const unsigned first = any(letter, count);
    bool has_policy = false;
    put_own(place, size * count, is_generic);
    put_policy();
    put_guard(LANE);
    put(loads ? "ld" : "st");
    put_way(loads, place, is_generic, count > 1, &has_policy);
    put("%s.%s ", count == 1 ? "" : count == 2 ? ".v2" : ".v4", types[type].name);
    if (!loads)
        put("[%%y6], ");
    put_operand(letter, first, count);
    put("%s%s;\n", loads ? ", [%y6]" : "", has_policy ? ", %y2" : "");
    if (loads) {
        put_log(letter, first, count);
        return;
    }
    const unsigned to = any(letter, 1);
    put("ld%s.%s %%%c%u, [%%y6];\n", space_of(place, is_generic), types[type].name, letter, to);
    put_log(letter, to, 1);
}

/* Reads what does not change: the input, constants, and the kernel's parameter. */
static void put_constant(void) {
    const unsigned way = below(4), type = below(TYPES), size = types[type].size;
    const char letter = letter_of(size);
    const unsigned to = any(letter, 1), from = any('r', 1), at = below(64 / size) * size;
    put("and.b32 %%x1, %%r%u, %u;\ncvt.u64.u32 %%y6, %%x1;\n", from, (CONSTANTS - 1) & ~(size - 1));
    if (way <= 1)
        put("add.u64 %%y6, %%y6, %%y0;\n");
    else if (way == 2)
        put("mov.u64 %%y2, constants;\nadd.u64 %%y6, %%y6, %%y2;\n");
    put_guard(LANE);
    if (way == 0)
        put("ldu.global.%s %%%c%u, [%%y6];\n", types[type].name, letter, to);
    else if (way == 1)
        put("ld.global.nc.L1::no_allocate.%s %%%c%u, [%%y6];\n", types[type].name, letter, to);
    else if (way == 2)
        put("ld.const.%s %%%c%u, [%%y6];\n", types[type].name, letter, to);
    else
        put("ld.param.%s %%%c%u, [bytes+%u];\n", types[type].name, letter, to, at);
    put_log(letter, to, 1);
}

/* What tells caches something, and changes nothing. */
static void put_hint(void) {
    static const char *const hints[] = {
        "prefetch.global.L1 [%y0]",
        "prefetch.global.L2 [%y1]",
        "prefetch.L2 [%y0]",
        "prefetch.global.L2::evict_last [%y0]",
        "prefetch.local.L1 [%lo]",
        "prefetchu.L1 [%y0]",
        "applypriority.global.L2::evict_normal [%y0], 128",
        "cp.async.bulk.prefetch.L2.global [%y0], 256",
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "fence.sc.cta",
        "fence.sc.cluster",
        "fence.sc.gpu",
        "fence.acq_rel.sys",
        "fence.acq_rel.cluster",
        "fence.acquire.gpu",
        "fence.release.cta",
        "fence.proxy.alias",
        "fence.proxy.async.global",
        "fence.proxy.async.shared::cta",
        "fence.mbarrier_init.release.cluster",
        "nanosleep.u32 20",
        "pmevent 3",
        "griddepcontrol.wait",
        "griddepcontrol.launch_dependents",
    };
    put("%s;\n", hints[below(sizeof hints / sizeof *hints)]);
}

/* ---- addresses ---- */

/* Makes %y6 a generic address of some kind. */
static void put_some_address(void) {
    const unsigned way = below(6);
    if (way < 4) {
        put_own(way, 8, true);
        return;
    }
    put(way == 4 ? "mov.u64 %%y6, constants;\ncvta.const.u64 %%y6, %%y6;\n"
                 : "mov.u64 %%y6, bytes;\ncvta.param.u64 %%y6, %%y6;\n");
}

static void put_address(void) {
    static const char *const questions[] = {"global", "shared", "shared::cta", "shared::cluster",
                                            "local",  "const",  "param::entry"};
    const unsigned way = below(5), question = below(7), to = any('r', 1), wide = any('d', 1),
                   rank = below(2), flag = below(FLAGS), place = below(PLACES);
    switch (way) {
    case 0:
        put_some_address();
        put("isspacep.%s %%p%u, %%y6;\nselp.u32 %%r%u, 1, 0, %%p%u;\n", questions[question], flag,
            to, flag);
        break;
    case 1:
        if (one_of(2)) {
            put_own(one_of(2) ? SHARED : REMOTE, 8, true);
            put("getctarank.u64 %%r%u, %%y6;\n", to);
        } else {
            put("getctarank.shared::cluster.u32 %%r%u, %s;\n", to, one_of(2) ? "%so" : "%ro");
        }
        break;
    case 2: /* the thread's own place in a block's far memory, that it reads in the other block */
        put("cvt.u64.u32 %%y6, %%x1;\nmov.u64 %%y6, far;\ncvta.shared.u64 %%y6, %%y6;\n"
            "mul.wide.u32 %%y2, %%ti, %u;\nadd.u64 %%y6, %%y6, %%y2;\nmapa.u64 %%y6, %%y6, "
            "%%other;\nld.b32 %%r%u, [%%y6];\n",
            (unsigned)OWN, to);
        break;
    case 3: /* there and back */
        put_own(place, 8, true);
        put("cvta.to.%s.u64 %%y2, %%y6;\n", generic_of[place]);
        put("cvta.%s.u64 %%y2, %%y2;\nsub.u64 %%d%u, %%y2, %%y6;\ncvt.u32.u64 %%r%u, %%d%u;\n",
            generic_of[place], wide, to, wide);
        break;
    default:
        put("mov.u64 %%y6, far;\nmapa.shared::cluster.u64 %%y6, %%y6, %u;\nmov.u64 %%y2, "
            "far;\nmapa.shared::cluster.u64 %%y2, %%y2, 0;\nsub.u64 %%y6, %%y6, "
            "%%y2;\nsetp.ne.u64 %%p%u, %%y6, 0;\nselp.u32 %%r%u, 1, 0, %%p%u;\n",
            rank, flag, to, flag);
    }
    put_log('r', to, 1);
}

/* ---- atomic operations with scopes ---- */

static const struct {
    const char *name;
    char letter;
    format of;
} changes[] = {
    {"and.b32", 'r', BITS},        {"or.b32", 'r', BITS},         {"xor.b32", 'r', BITS},
    {"and.b64", 'd', BITS},        {"or.b64", 'd', BITS},         {"xor.b64", 'd', BITS},
    {"exch.b32", 'r', BITS},       {"exch.b64", 'd', BITS},       {"cas.b16", 'h', BITS},
    {"cas.b32", 'r', BITS},        {"cas.b64", 'd', BITS},        {"inc.u32", 'r', BITS},
    {"dec.u32", 'r', BITS},        {"add.u32", 'r', BITS},        {"add.s32", 'r', BITS},
    {"add.u64", 'd', BITS},        {"add.f32", 'r', F32},         {"add.f64", 'd', F64},
    {"min.u32", 'r', BITS},        {"min.s32", 'r', BITS},        {"min.u64", 'd', BITS},
    {"min.s64", 'd', BITS},        {"max.u32", 'r', BITS},        {"max.s32", 'r', BITS},
    {"max.u64", 'd', BITS},        {"max.s64", 'd', BITS},        {"add.noftz.f16", 'h', F16},
    {"add.noftz.f16x2", 'r', F16}, {"add.noftz.bf16", 'h', BF16}, {"add.noftz.bf16x2", 'r', BF16}};

/* Changes an element, to which most often a number of the type was stored, and reads it. */
static void put_scoped(void) {
    static const char *const orders[] = {".relaxed", ".acquire", ".release", ".acq_rel"};
    static const unsigned places[] = {GLOBAL, SHARED, REMOTE};
    const unsigned n = below(sizeof changes / sizeof *changes), order = below(4);
    const char letter = changes[n].letter;
    const unsigned by = any(letter, 1), to = any(letter, 1), other = any(letter, 1);
    unsigned place = places[below(3)];
    if (place == REMOTE && strstr(changes[n].name, "x2")) /* as in random_memory.c */
        place = SHARED;
    const bool is_generic = one_of(3), is_cas = strncmp(changes[n].name, "cas", 3) == 0;
    const bool returns = is_cas || strncmp(changes[n].name, "exch", 4) == 0 || one_of(2);
    const unsigned size = letter == 'h' ? 2 : letter == 'r' ? 4 : 8;
    put_own(place, size, is_generic);
    put_values(letter, by, 1, changes[n].of, (kind)below(KINDS));
    const char *const space = space_of(place, is_generic);
    if (one_of(2)) {
        put("st%s.b%u [%%y6], %%%c%u;\n", space, 8 * size, letter, by);
        if (one_of(2))
            put_values(letter, by, 1, changes[n].of, (kind)below(KINDS));
    }
    const bool hints = place == GLOBAL && !is_generic && !is_cas && one_of(4);
    put_policy();
    put_guard(LANE);
    put("%s", returns ? "atom" : "red");
    if (!one_of(3)) {
        const char *const scope_name = any_scope();
        put("%s%s", orders[returns ? order : order % 2 * 2], scope_name);
    }
    const char *const type = strrchr(changes[n].name, '.');
    put("%s.%.*s%s%s ", space, (int)(type - changes[n].name), changes[n].name,
        hints ? ".L2::cache_hint" : "", type);
    if (returns)
        put("%%%c%u, ", letter, to);
    put("[%%y6], %%%c%u", letter, by);
    if (is_cas)
        put(", %%%c%u", letter, other);
    put("%s;\n", hints ? ", %y2" : "");
    if (returns)
        put_log(letter, to, 1);
    put("ld%s.b%u %%%c%u, [%%y6];\n", space, 8 * size, letter, to);
    put_log(letter, to, 1);
}

/* Vectors of eight halves. */
static void put_eight(void) {
    static const char *const operations[] = {"v8.f16.add.noftz", "v8.bf16.add.noftz",
                                             "v8.f16.min.noftz", "v8.bf16.max.noftz"};
    const unsigned n = below(4), by = any('h', 8), to = any('h', 4);
    const format of = n % 2 ? BF16 : F16;
    put_values('h', by, 8, of, (kind)below(KINDS));
    put("st.global.v4.b16 [%%y1+16], {%%h%u, %%h%u, %%h%u, %%h%u};\n", by, by + 1, by + 2, by + 3);
    put_values('h', by, 8, of, (kind)below(KINDS));
    put_guard(LANE);
    put("red.relaxed.gpu.global.%s [%%y1+16], ", operations[n]);
    put_list('h', by, 8);
    put(";\nld.global.v4.b16 ");
    put_list('h', to, 4);
    put(", [%%y1+16];\n");
    put_log('h', to, 4);
}

const statement access_statements[] = {
    {put_typed, LANE, 60},
    {put_constant, LANE, 20},
    {put_hint, LANE, 16},
    {put_address, LANE, 24},
    {put_scoped, LANE, 60},
    {put_eight, LANE, 6},
    {0},
};
