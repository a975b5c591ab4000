/* Vectors and values of 128 bits in each kind of memory, atomic operations on vectors and on the
 * shared memory of another block, and numbers of 8 bits. */
#include "random_kernels.h"

#include <string.h>

static const char *const spaces[] = {"global", "shared", "local", "shared::cluster"};
enum { GLOBAL, SHARED, LOCAL, REMOTE, SPACES };

/* Puts the address of an element of the thread's own memory; returns its register. In the other
 * block a thread has a place that is its own, too. */
static const char *put_own_address(unsigned space, unsigned size) {
    static const char *const begins[] = {"%y1", "%so", "%lo", "%ro"};
    const unsigned from = any('r', 1);
    put("and.b32 %%x1, %%r%u, %u;\n", from, (OWN - 1) & ~(size - 1));
    if (space == GLOBAL) {
        put("cvt.u64.u32 %%y2, %%x1;\nadd.u64 %%y2, %%y2, %%y1;\n");
        return "%y2";
    }
    put("add.u32 %%x1, %%x1, %s;\n", begins[space]);
    return "%x1";
}

/* ---- vectors ---- */

static void put_vector(void) {
    static const struct {
        const char *type;
        char letter;
        unsigned size, count;
    } shapes[] = {{"b8", 'h', 1, 2},  {"u8", 'h', 1, 4},  {"b16", 'h', 2, 2}, {"u16", 'h', 2, 4},
                  {"s16", 'h', 2, 4}, {"b32", 'r', 4, 2}, {"u32", 'r', 4, 4}, {"b64", 'd', 8, 1},
                  {"b64", 'd', 8, 2}, {"s32", 'r', 4, 4}, {"u64", 'd', 8, 2}, {"b32", 'r', 4, 1}};
    const unsigned shape = below(sizeof shapes / sizeof *shapes), space = below(SPACES);
    const unsigned count = shapes[shape].count, first = any(shapes[shape].letter, count);
    const bool loads = one_of(2);
    const char *const address = put_own_address(space, shapes[shape].size * count);
    const char *const vector = count == 1 ? "" : count == 2 ? ".v2" : ".v4";
    put_guard(LANE);
    if (loads) {
        put("ld.%s%s.%s ", spaces[space], vector, shapes[shape].type);
        put_operand(shapes[shape].letter, first, count);
        put(", [%s];\n", address);
        put_log(shapes[shape].letter, first, count);
        return;
    }
    put("st.%s%s.%s [%s], ", spaces[space], vector, shapes[shape].type, address);
    put_operand(shapes[shape].letter, first, count);
    put(";\n");
}

/* A value of 128 bits: moved, loaded, stored, exchanged and compared. */
static void put_wide(void) {
    const unsigned way = below(5), space = below(way < 2 ? 3 : 2), to = any('d', 2),
                   from = any('d', 2);
    const char *const address = put_own_address(space, 16);
    put("{\n.reg .b128 %%q<3>;\nmov.b128 %%q0, {%%d%u, %%d%u};\nmov.b128 %%q1, %%q0;\n", from,
        from + 1);
    if (way == 4) { /* what is there, so that it is changed */
        const unsigned other = any('d', 2);
        put("ld.%s.b128 %%q1, [%s];\n", spaces[space], address);
        if (one_of(3))
            put("mov.b128 %%q1, {%%d%u, %%d%u};\n", other, other + 1);
        put("mov.b128 %%q2, %%q1;\n");
    }
    put_guard(LANE);
    if (way == 0)
        put("ld.%s.b128 %%q1, [%s];\n", spaces[space], address);
    else if (way <= 2)
        put("st.%s.b128 [%s], %%q0;\n", spaces[space], address);
    else if (way == 3)
        put("atom.%s.exch.b128 %%q1, [%s], %%q0;\n", spaces[space], address);
    else
        put("atom.%s.cas.b128 %%q1, [%s], %%q2, %%q0;\n", spaces[space], address);
    put("mov.b128 {%%d%u, %%d%u}, %%q1;\n}\n", to, to + 1);
    put_log('d', to, 2);
}

/* ---- atomic operations ---- */

typedef struct atomic {
    const char *operation;
    char letter;
    unsigned count;
    format of;
} atomic;

static void put_atomic_of(const atomic *one, unsigned space) {
    const unsigned size = one->letter == 'h' ? 2 : one->letter == 'r' ? 4 : 8;
    const unsigned by = any(one->letter, one->count), to = any(one->letter, one->count);
    const char *const address = put_own_address(space, size * one->count);
    const char *const kept = space == GLOBAL ? "%y6" : "%x4";
    put("mov.b%u %s, %s;\n", space == GLOBAL ? 64 : 32, kept, address);
    if (!one_of(4)) { /* numbers of the type */
        put_values(one->letter, by, one->count, one->of, (kind)below(KINDS));
        if (one_of(2)) {
            put("st.%s%s.b%u [%s], ", spaces[space],
                one->count == 1   ? ""
                : one->count == 2 ? ".v2"
                                  : ".v4",
                8 * size, kept);
            put_operand(one->letter, by, one->count);
            put(";\n");
            put_values(one->letter, by, one->count, one->of, (kind)below(KINDS));
        }
    }
    const bool returns = one_of(2);
    put_guard(LANE);
    put("%s.%s.%s ", returns ? "atom" : "red", spaces[space], one->operation);
    if (returns) {
        put_operand(one->letter, to, one->count);
        put(", ");
    }
    put("[%s], ", kept);
    put_operand(one->letter, by, one->count);
    if (strncmp(one->operation, "cas", 3) == 0)
        put(", %%%c%u", one->letter, by);
    put(";\n");
    if (returns)
        put_log(one->letter, to, one->count);
    put("ld.%s%s.b%u ", spaces[space],
        one->count == 1   ? ""
        : one->count == 2 ? ".v2"
                          : ".v4",
        8 * size);
    put_operand(one->letter, to, one->count);
    put(", [%s];\n", kept);
    put_log(one->letter, to, one->count);
}

static void put_atomic_vector(void) {
    static const atomic operations[] = {
        {"v2.f32.add", 'r', 2, F32},           {"v4.f32.add", 'r', 4, F32},
        {"v2.f16.add.noftz", 'h', 2, F16},     {"v4.f16.add.noftz", 'h', 4, F16},
        {"v2.bf16.add.noftz", 'h', 2, BF16},   {"v4.bf16.add.noftz", 'h', 4, BF16},
        {"v2.f16x2.add.noftz", 'r', 2, F16},   {"v4.f16x2.add.noftz", 'r', 4, F16},
        {"v2.bf16x2.add.noftz", 'r', 2, BF16}, {"v4.bf16x2.add.noftz", 'r', 4, BF16},
        {"v2.f16.min.noftz", 'h', 2, F16},     {"v4.bf16.max.noftz", 'h', 4, BF16},
        {"v2.f16x2.max.noftz", 'r', 2, F16},   {"v4.bf16x2.min.noftz", 'r', 4, BF16},
        {"v4.f16.max.noftz", 'h', 4, F16},
    };
    put_atomic_of(&operations[below(sizeof operations / sizeof *operations)], GLOBAL);
}

static void put_atomic(void) {
    static const atomic operations[] = {
        {"add.f32", 'r', 1, F32},           {"add.f32", 'r', 1, F32},
        {"add.f64", 'd', 1, F64},           {"add.noftz.f16", 'h', 1, F16},
        {"add.noftz.f16x2", 'r', 1, F16},   {"add.noftz.bf16", 'h', 1, BF16},
        {"add.noftz.bf16x2", 'r', 1, BF16}, {"add.u32", 'r', 1, BITS},
        {"add.u64", 'd', 1, BITS},          {"min.s32", 'r', 1, BITS},
        {"max.u64", 'd', 1, BITS},          {"min.s64", 'd', 1, BITS},
        {"inc.u32", 'r', 1, BITS},          {"dec.u32", 'r', 1, BITS},
        {"and.b64", 'd', 1, BITS},          {"xor.b32", 'r', 1, BITS},
        {"or.b32", 'r', 1, BITS},           {"max.s32", 'r', 1, BITS},
    };
    static const unsigned places[] = {GLOBAL, SHARED, REMOTE, REMOTE};
    const atomic *const one = &operations[below(sizeof operations / sizeof *operations)];
    const unsigned place = places[below(4)];
    /* There ptxas 13.0 adds pairs of halves as if they were one integer. */
    put_atomic_of(one, place == REMOTE && strstr(one->operation, "x2") ? SHARED : place);
}

/* ---- numbers of 8 bits ---- */

static void put_bytes(void) {
    static const struct {
        const char *opcode;
        char to, from;
        unsigned count;
        format of;
    } forms[] = {
        {"cvt.rn.satfinite.e4m3x2.f32", 'h', 'r', 2, F32},
        {"cvt.rn.satfinite.e5m2x2.f32", 'h', 'r', 2, F32},
        {"cvt.rn.satfinite.relu.e4m3x2.f32", 'h', 'r', 2, F32},
        {"cvt.rn.satfinite.e4m3x2.f16x2", 'h', 'r', 1, F16},
        {"cvt.rn.satfinite.relu.e5m2x2.f16x2", 'h', 'r', 1, F16},
        {"cvt.rn.f16x2.e4m3x2", 'r', 'h', 1, E4M3},
        {"cvt.rn.relu.f16x2.e5m2x2", 'r', 'h', 1, E5M2},
        {"cvt.rn.f16x2.e5m2x2", 'r', 'h', 1, E5M2},
    };
    const unsigned n = below(sizeof forms / sizeof *forms),
                   from = any(forms[n].from, forms[n].count), to = any(forms[n].to, 1);
    if (!one_of(4))
        put_values(forms[n].from, from, forms[n].count, forms[n].of, (kind)below(KINDS));
    put_guard(LANE);
    put("%s %%%c%u", forms[n].opcode, forms[n].to, to);
    for (unsigned i = 0; i < forms[n].count; i++)
        put(", %%%c%u", forms[n].from, from + i);
    put(";\n");
    put_log(forms[n].to, to, 1);
}

/* ---- what is plain, between the others ---- */

static void put_plain(void) {
    const unsigned a = any('r', 1), b = any('r', 1), d = any('r', 1), way = below(5),
                   wide = any('d', 1), half = any('h', 1);
    put_guard(LANE);
    switch (way) {
    case 0:
        put("xor.b32 %%r%u, %%r%u, %%r%u;\n", d, a, b);
        break;
    case 1: {
        const unsigned flag = below(FLAGS);
        put("setp.%s.s32 %%p%u, %%r%u, %%r%u;\n", one_of(2) ? "lt" : "ne", flag, a, b);
        break;
    }
    case 2:
        put("mov.b64 %%d%u, {%%r%u, %%r%u};\n", wide, a, b);
        break;
    case 3:
        put("mov.b64 {%%r%u, %%r%u}, %%d%u;\n", a, a == b ? (b + 1) % NARROW : b, wide);
        break;
    default:
        put("cvt.u16.u32 %%h%u, %%r%u;\n", half, a);
    }
}

static void put_exchange(void) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const unsigned from = any('r', 1), to = any('r', 1), mode = below(4), distance = below(32);
    put("shfl.sync.%s.b32 %%r%u, %%r%u, %u, %u, 0xffffffff;\n", modes[mode], to, from, distance,
        mode ? 31u : 0u);
}

const statement memory_statements[] = {
    {put_vector, LANE, 16},       {put_wide, LANE, 8},
    {put_atomic_vector, LANE, 8}, {put_atomic, LANE, 12},
    {put_bytes, LANE, 4},         {put_plain, LANE, 8},
    {put_exchange, WARP, 4},      {0},
};
