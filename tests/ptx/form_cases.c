#include "form_cases.h"

#include "sim/ptx/form.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands ---- */

enum {
    KIND_PRED,
    KIND_16,
    KIND_32,
    KIND_64,
    KIND_F16,
    KIND_BF16,
    KIND_F32,
    KIND_F64,
    KIND_PAIR,
    KIND_F16X2,
    KIND_BF16X2,
    KINDS
};
enum { EDGES = 24 };

static const unsigned kind_bytes[KINDS] = {4, 2, 4, 8, 2, 2, 4, 8, 4, 4, 4};

static int kind_of(ptx_type type) {
    switch (type) {
    case PTX_PRED:
        return KIND_PRED;
    case PTX_F16:
        return KIND_F16;
    case PTX_BF16:
        return KIND_BF16;
    case PTX_F32:
    case PTX_TF32:
        return KIND_F32;
    case PTX_F64:
        return KIND_F64;
    case PTX_F16X2:
        return KIND_F16X2;
    case PTX_BF16X2:
        return KIND_BF16X2;
    case PTX_U16X2:
    case PTX_S16X2:
        return KIND_PAIR;
    default:
        return acu_ptx_type_size(type) <= 2   ? KIND_16
               : acu_ptx_type_size(type) == 4 ? KIND_32
                                              : KIND_64;
    }
}

static uint64_t random_state;

static uint64_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

static const uint64_t edges_16[EDGES] = {
    0,    1,    2,    3,     7,      8,      9,      15,     16,     17,     31,     32,
    0x7f, 0x80, 0xff, 0x100, 0x4000, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xff80, 0xfffe, 0xffff};
static const uint64_t edges_32[EDGES] = {
    0,      1,       2,          3,          8,          15,         16,         31,
    32,     33,      63,         64,         0x7f,       0x80,       0x100,      0x7fff,
    0x8000, 0x10000, 0x01000000, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
static const uint64_t edges_64[EDGES] = {0,
                                         1,
                                         2,
                                         3,
                                         8,
                                         31,
                                         32,
                                         63,
                                         64,
                                         0x80,
                                         0xffff,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         0x100000000,
                                         UINT64_C(0x20000000000001),
                                         UINT64_C(0x7fffffffffffffff),
                                         UINT64_C(0x8000000000000000),
                                         UINT64_C(0x8000000000000001),
                                         UINT64_C(0xffffffff80000000),
                                         UINT64_C(0xffffffff7fffffff),
                                         UINT64_C(0xffffffffffffff80),
                                         UINT64_C(0xfffffffffffffffe),
                                         UINT64_MAX};
static const uint64_t edges_f16[EDGES] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x3c01, 0x3800,
    0x4200, 0xc500, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x7fff, 0x5bff, 0x1234};
static const uint64_t edges_bf16[EDGES] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x807f, 0x0080, 0x8080, 0x3f80, 0xbf80, 0x3f81, 0x3f00,
    0x4040, 0xc0a0, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81, 0x7fff, 0x4f7f, 0x3412};
static const uint64_t edges_f32[EDGES] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
    0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x40490fdb, 0xc0a00000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f812345, 0x4f000000, 0xcf000001, 0x33ffffff};
static const uint64_t edges_f64[EDGES] = {0,
                                          UINT64_C(0x8000000000000000),
                                          1,
                                          UINT64_C(0x8000000000000001),
                                          UINT64_C(0x000fffffffffffff),
                                          UINT64_C(0x800fffffffffffff),
                                          UINT64_C(0x0010000000000000),
                                          UINT64_C(0x8010000000000000),
                                          UINT64_C(0x3ff0000000000000),
                                          UINT64_C(0xbff0000000000000),
                                          UINT64_C(0x3ff0000000000001),
                                          UINT64_C(0x3fe0000000000000),
                                          UINT64_C(0x400921fb54442d18),
                                          UINT64_C(0xc014000000000000),
                                          UINT64_C(0x7fefffffffffffff),
                                          UINT64_C(0xffefffffffffffff),
                                          UINT64_C(0x7ff0000000000000),
                                          UINT64_C(0xfff0000000000000),
                                          UINT64_C(0x7ff8000000000000),
                                          UINT64_C(0xfff8123456789abc),
                                          UINT64_C(0x7ff0123456789abc),
                                          UINT64_C(0x41e0000000000000),
                                          UINT64_C(0xc3e0000000000000),
                                          UINT64_C(0x36a0000000000001)};
static const uint64_t *const edges[KINDS] = {NULL,      edges_16,   edges_32,  edges_64,
                                             edges_f16, edges_bf16, edges_f32, edges_f64,
                                             NULL,      NULL,       NULL};

static double random_double(void) {
    int range = (int)(random_bits() % 5);
    double value = (double)(int64_t)random_bits() * 0x1p-63;
    static const int exponents[] = {1, 4, 17, 66, 140};
    return ldexp(value,
                 (int)(random_bits() % (uint64_t)(2 * exponents[range] + 1)) - exponents[range]);
}

static uint64_t random_value(int kind) {
    uint64_t bits = 0;
    if (kind == KIND_F64 && random_bits() % 4) {
        double value = random_double();
        memcpy(&bits, &value, 8);
        return bits;
    }
    if (kind == KIND_F32 && random_bits() % 4) {
        float value = (float)random_double();
        memcpy(&bits, &value, 4);
        return bits;
    }
    if ((kind == KIND_32 || kind == KIND_64) && random_bits() % 2) { /* of any number of bits */
        bits = random_bits();
        uint64_t by = random_bits();
        return bits >> (kind == KIND_32 ? 32 + by % 32 : by % 64);
    }
    return random_bits();
}

/* Source 4 is what instructions with one operand read. */
static uint64_t value_of(int kind, unsigned source, unsigned thread) {
    static const int halves[KINDS] = {
        [KIND_PAIR] = KIND_16, [KIND_F16X2] = KIND_F16, [KIND_BF16X2] = KIND_BF16};
    uint64_t random = random_value(kind);
    if (kind == KIND_PRED)
        return random >> 40 & 1;
    if (halves[kind]) {
        uint64_t low = value_of(halves[kind], source, thread);
        uint64_t high = value_of(halves[kind], source, (thread * 25 + 7) % CASE_THREADS);
        return (low & 0xffff) | (high & 0xffff) << 16;
    }
    if (source == 4)
        return thread < EDGES ? edges[kind][thread] : random;
    if (thread >= EDGES * EDGES)
        return random;
    switch (source) {
    case 0:
        return edges[kind][thread % EDGES];
    case 1:
        return edges[kind][thread / EDGES];
    default:
        return random_bits() % 3 ? edges[kind][random_bits() % EDGES] : random;
    }
}

static size_t input_at(int kind, unsigned source) {
    size_t at = 0;
    for (int k = 0; k < kind && k < KINDS; k++)
        at += (size_t)kind_bytes[k] * CASE_THREADS * CASE_SOURCES;
    return at + (kind < KINDS ? (size_t)kind_bytes[kind] * CASE_THREADS * source : 0);
}

unsigned char *form_cases_input(size_t *bytes) {
    *bytes = input_at(KINDS, 0);
    unsigned char *input = calloc(1, *bytes);
    random_state = UINT64_C(0x9e3779b97f4a7c15);
    for (int kind = 0; input && kind < KINDS; kind++)
        for (unsigned source = 0; source < CASE_SOURCES; source++)
            for (unsigned thread = 0; thread < CASE_THREADS; thread++) {
                uint64_t value = value_of(kind, source, thread);
                memcpy(input + input_at(kind, source) + (size_t)thread * kind_bytes[kind], &value,
                       kind_bytes[kind]);
            }
    return input;
}

/* ---- cases ---- */

static unsigned result_bytes(ptx_type type) {
    return type == PTX_B8                 ? 1
           : acu_ptx_type_size(type) <= 2 ? 2
                                          : (unsigned)acu_ptx_type_size(type);
}

static form_case *add(form_case *cases, size_t *count, size_t *bytes, const form_case *one,
                      const char *suffix) {
    form_case *more = realloc(cases, (*count + 1) * sizeof *cases);
    if (!more)
        abort();
    cases = more;
    form_case *c = &cases[*count];
    *c = *one;
    snprintf(c->name, sizeof c->name, "%.79s%s", one->opcode, suffix);
    snprintf(c->entry, sizeof c->entry, "f%zu", *count);
    c->at = *bytes;
    for (unsigned n = 0; n < c->results; n++)
        c->bytes += (size_t)CASE_THREADS * result_bytes((ptx_type)c->types[n]);
    if (c->carries & 2)
        c->bytes += (size_t)CASE_THREADS * result_bytes((ptx_type)c->types[0]);
    c->bytes = (c->bytes + 15) / 16 * 16;
    *bytes += c->bytes;
    ++*count;
    return cases;
}

/* Instructions that are made of several forms: their results and sources as letters of letters[].
 */
static const struct {
    const char *opcode, *operands, *parts;
} made[] = {
    {"set.lt.u32.u16", "r<hh", NULL},
    {"set.hi.s32.u32", "r<rr", NULL},
    {"set.ge.f32.s32", "r<rr", NULL},
    {"set.eq.u32.b64", "r<dd", NULL},
    {"set.le.f32.s64", "r<dd", NULL},
    {"set.ltu.u32.f32", "r<FF", NULL},
    {"set.num.f32.f64", "r<DD", NULL},
    {"set.gt.ftz.s32.f32", "r<FF", NULL},
    {"set.ne.and.u32.s32", "r<rrp", NULL},
    {"set.lt.xor.f32.f32", "r<FFp", NULL},
    {"set.nan.or.u32.f64", "r<DDp", NULL},
    {"set.ge.f16.f16", "h<HH", NULL},
    {"set.leu.ftz.u32.f16", "r<HH", NULL},
    {"set.equ.s16.f16", "h<HH", NULL},
    {"set.neu.and.u16.f16", "h<HHp", NULL},
    {"set.gt.bf16.bf16", "h<BB", NULL},
    {"set.num.u32.bf16", "r<BB", NULL},
    {"set.lt.f16x2.f16x2", "r<XX", NULL},
    {"set.geu.u32.f16x2", "r<XX", NULL},
    {"set.eq.ftz.f16x2.f16x2", "r<XX", NULL},
    {"set.gtu.bf16x2.bf16x2", "r<YY", NULL},
    {"set.nan.s32.bf16x2", "r<YY", NULL},
    {"set.le.or.f16x2.f16x2", "r<XXp", NULL},
    {"setp.lt.and.f16x2", "pp<XXp", NULL},
    {"setp.neu.xor.ftz.f16x2", "pp<XXp", NULL},
    {"setp.geu.or.bf16x2", "pp<YYp", NULL},
    {"set.gt.f16.s32", "h<rr", NULL},
    {"set.lo.bf16.u64", "h<dd", NULL},
    {"set.lt.f16.f32", "h<FF", NULL},
    {"vadd2.u32.u32.u32", "r<rrr", "- - -"},
    {"vadd2.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vadd2.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vadd2.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vsub2.u32.u32.u32", "r<rrr", "- - -"},
    {"vsub2.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vsub2.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vsub2.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vabsdiff2.u32.u32.u32", "r<rrr", "- - -"},
    {"vabsdiff2.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vabsdiff2.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vabsdiff2.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vmin2.u32.u32.u32", "r<rrr", "- - -"},
    {"vmin2.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vmin2.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vmin2.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vmax2.u32.u32.u32", "r<rrr", "- - -"},
    {"vmax2.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vmax2.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vmax2.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vavrg2.u32.u32.u32", "r<rrr", "- - -"},
    {"vavrg2.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vavrg2.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vavrg2.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vset2.s32.s32.eq", "r<rrr", "- - -"},
    {"vset2.s32.s32.ne", "r<rrr", "- - -"},
    {"vset2.s32.s32.lt", "r<rrr", "- - -"},
    {"vset2.s32.s32.le", "r<rrr", "- - -"},
    {"vset2.s32.s32.gt", "r<rrr", "- - -"},
    {"vset2.s32.s32.ge", "r<rrr", "- - -"},
    {"vset2.u32.s32.gt.add", "r<rrr", "- - -"},
    {"vset2.u32.u32.lt", "r<rrr", "- - -"},
    {"vadd4.u32.u32.u32", "r<rrr", "- - -"},
    {"vadd4.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vadd4.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vadd4.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vsub4.u32.u32.u32", "r<rrr", "- - -"},
    {"vsub4.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vsub4.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vsub4.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vabsdiff4.u32.u32.u32", "r<rrr", "- - -"},
    {"vabsdiff4.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vabsdiff4.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vabsdiff4.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vmin4.u32.u32.u32", "r<rrr", "- - -"},
    {"vmin4.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vmin4.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vmin4.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vmax4.u32.u32.u32", "r<rrr", "- - -"},
    {"vmax4.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vmax4.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vmax4.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vavrg4.u32.u32.u32", "r<rrr", "- - -"},
    {"vavrg4.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vavrg4.s32.u32.s32.add", "r<rrr", "- - -"},
    {"vavrg4.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vset4.s32.s32.eq", "r<rrr", "- - -"},
    {"vset4.s32.s32.ne", "r<rrr", "- - -"},
    {"vset4.s32.s32.lt", "r<rrr", "- - -"},
    {"vset4.s32.s32.le", "r<rrr", "- - -"},
    {"vset4.s32.s32.gt", "r<rrr", "- - -"},
    {"vset4.s32.s32.ge", "r<rrr", "- - -"},
    {"vset4.u32.s32.gt.add", "r<rrr", "- - -"},
    {"vset4.u32.u32.lt", "r<rrr", "- - -"},
    {"vadd2.s32.s32.s32.sat", "r<rrr", ".h1 .h31 .h02"},
    {"vsub2.u32.s32.u32.add", "r<rrr", ".h0 .h22 .h13"},
    {"vabsdiff4.u32.u32.u32.add", "r<rrr", ".b20 .b7531 .b0000"},
    {"vmax4.s32.u32.s32", "r<rrr", ".b310 .b0246 .b7654"},
    {"vadd.s32.s32.s32.sat", "r<rr", "- - -"},
    {"vadd.u32.u32.u32", "r<rr", "- - -"},
    {"vadd.u32.s32.s32.sat", "r<rr", "- .b1 .h1"},
    {"vadd.s32.u32.s32.add", "r<rrr", "- .h0 .b3"},
    {"vadd.s32.s32.u32.min", "r<rrr", "- - -"},
    {"vadd.s32.s32.s32.sat", "r<rrr", ".b2 - .h0"},
    {"vadd.u32.s32.u32", "r<rrr", ".h1 .b0 -"},
    {"vsub.s32.s32.s32.sat", "r<rr", "- - -"},
    {"vsub.u32.u32.u32", "r<rr", "- - -"},
    {"vsub.u32.s32.s32.sat", "r<rr", "- .b1 .h1"},
    {"vsub.s32.u32.s32.add", "r<rrr", "- .h0 .b3"},
    {"vsub.s32.s32.u32.min", "r<rrr", "- - -"},
    {"vsub.s32.s32.s32.sat", "r<rrr", ".b2 - .h0"},
    {"vsub.u32.s32.u32", "r<rrr", ".h1 .b0 -"},
    {"vabsdiff.s32.s32.s32.sat", "r<rr", "- - -"},
    {"vabsdiff.u32.u32.u32", "r<rr", "- - -"},
    {"vabsdiff.u32.s32.s32.sat", "r<rr", "- .b1 .h1"},
    {"vabsdiff.s32.u32.s32.add", "r<rrr", "- .h0 .b3"},
    {"vabsdiff.s32.s32.u32.min", "r<rrr", "- - -"},
    {"vabsdiff.u32.u32.u32.sat.max", "r<rrr", "- - -"},
    {"vabsdiff.s32.s32.s32.sat", "r<rrr", ".b2 - .h0"},
    {"vabsdiff.u32.s32.u32", "r<rrr", ".h1 .b0 -"},
    {"vmin.s32.s32.s32.sat", "r<rr", "- - -"},
    {"vmin.u32.u32.u32", "r<rr", "- - -"},
    {"vmin.u32.s32.s32.sat", "r<rr", "- .b1 .h1"},
    {"vmin.s32.u32.s32.add", "r<rrr", "- .h0 .b3"},
    {"vmin.s32.s32.u32.min", "r<rrr", "- - -"},
    {"vmin.u32.u32.u32.sat.max", "r<rrr", "- - -"},
    {"vmin.s32.s32.s32.sat", "r<rrr", ".b2 - .h0"},
    {"vmin.u32.s32.u32", "r<rrr", ".h1 .b0 -"},
    {"vmax.s32.s32.s32.sat", "r<rr", "- - -"},
    {"vmax.u32.u32.u32", "r<rr", "- - -"},
    {"vmax.u32.s32.s32.sat", "r<rr", "- .b1 .h1"},
    {"vmax.s32.u32.s32.add", "r<rrr", "- .h0 .b3"},
    {"vmax.s32.s32.u32.min", "r<rrr", "- - -"},
    {"vmax.u32.u32.u32.sat.max", "r<rrr", "- - -"},
    {"vmax.s32.s32.s32.sat", "r<rrr", ".b2 - .h0"},
    {"vmax.u32.s32.u32", "r<rrr", ".h1 .b0 -"},
    {"vshl.u32.u32.u32.sat.clamp", "r<rr", "- - -"},
    {"vshl.u32.s32.u32.sat.clamp", "r<rr", "- - -"},
    {"vshl.s32.u32.u32.sat.clamp", "r<rr", "- - -"},
    {"vshl.s32.s32.u32.sat.clamp", "r<rr", "- - -"},
    {"vshl.s32.s32.u32.sat.wrap", "r<rr", "- - -"},
    {"vshl.u32.u32.u32.sat.wrap", "r<rrr", ".b1 .h1 .b0"},
    {"vshl.u32.u32.u32.clamp", "r<rr", "- - -"},
    {"vshl.u32.s32.u32.clamp.add", "r<rrr", "- - -"},
    {"vshr.u32.u32.u32.clamp", "r<rr", "- - -"},
    {"vshr.s32.s32.u32.sat.clamp", "r<rr", "- - -"},
    {"vshr.u32.s32.u32.clamp.add", "r<rrr", "- - -"},
    {"vshr.u32.u32.u32.sat.clamp", "r<rrr", ".b1 .h1 .b0"},
    {"vshl.u32.u32.u32.wrap", "r<rr", "- - -"},
    {"vshl.u32.s32.u32.wrap.add", "r<rrr", "- - -"},
    {"vshr.u32.u32.u32.wrap", "r<rr", "- - -"},
    {"vshr.s32.s32.u32.sat.wrap", "r<rr", "- - -"},
    {"vshr.u32.s32.u32.wrap.add", "r<rrr", "- - -"},
    {"vshr.u32.u32.u32.sat.wrap", "r<rrr", ".b1 .h1 .b0"},
    {"vset.s32.s32.lt", "r<rr", "- - -"},
    {"vset.u32.s32.ge", "r<rr", "- - -"},
    {"vset.u32.u32.eq.add", "r<rrr", "- .b1 .b2"},
    {"vset.s32.u32.ne", "r<rrr", ".h1 - .h0"},
    {"vmad.u32.u32.u32", "r<rrr", "- - -"},
    {"vmad.u32.u32.u32.sat", "r<rrr", "- - -"},
    {"vmad.u32.u32.u32.sat.shr7", "r<rrr", "- .h0 .h1"},
    {"vmad.u32.u32.u32.shr15", "r<rrr", "- .b0 .h0"},
    {"vmad.s32.s32.s32", "r<rrr", "- - -"},
    {"vmad.s32.s32.s32.sat", "r<rrr", "- - -"},
    {"vmad.s32.s32.s32.sat.shr7", "r<rrr", "- .h0 .h1"},
    {"vmad.s32.s32.s32.shr15", "r<rrr", "- .b0 .h0"},
    {"vmad.u32.s32.u32", "r<rrr", "- - -"},
    {"vmad.u32.s32.u32.sat", "r<rrr", "- - -"},
    {"vmad.u32.s32.u32.sat.shr7", "r<rrr", "- .h0 .h1"},
    {"vmad.u32.s32.u32.shr15", "r<rrr", "- .b0 .h0"},
    {"vmad.s32.u32.s32", "r<rrr", "- - -"},
    {"vmad.s32.u32.s32.sat", "r<rrr", "- - -"},
    {"vmad.s32.u32.s32.sat.shr7", "r<rrr", "- .h0 .h1"},
    {"vmad.s32.u32.s32.shr15", "r<rrr", "- .b0 .h0"},
    {"vmad.u32.s32.s32", "r<rrr", "- - -"},
    {"vmad.u32.s32.s32.sat", "r<rrr", "- - -"},
    {"vmad.u32.s32.s32.sat.shr7", "r<rrr", "- .h0 .h1"},
    {"vmad.u32.s32.s32.shr15", "r<rrr", "- .b0 .h0"},
    {"vmad.s32.u32.u32", "r<rrr", "- - -"},
    {"vmad.s32.u32.u32.sat", "r<rrr", "- - -"},
    {"vmad.s32.u32.u32.sat.shr7", "r<rrr", "- .h0 .h1"},
    {"vmad.s32.u32.u32.shr15", "r<rrr", "- .b0 .h0"},
    {"vmad.u32.u32.u32.po", "r<rrr", "- - -"},
    {"atom.global.add.u32", "rr<rr", NULL},
    {"atom.global.add.s32", "rr<rr", NULL},
    {"atom.global.add.u64", "dd<dd", NULL},
    {"atom.global.add.f32", "FF<FF", NULL},
    {"atom.global.add.f64", "DD<DD", NULL},
    {"atom.global.add.noftz.f16", "HH<HH", NULL},
    {"atom.global.add.noftz.bf16", "BB<BB", NULL},
    {"atom.global.add.noftz.f16x2", "XX<XX", NULL},
    {"atom.global.add.noftz.bf16x2", "YY<YY", NULL},
    {"atom.global.min.u32", "rr<rr", NULL},
    {"atom.global.max.u32", "rr<rr", NULL},
    {"atom.global.min.s32", "rr<rr", NULL},
    {"atom.global.max.s32", "rr<rr", NULL},
    {"atom.global.min.u64", "dd<dd", NULL},
    {"atom.global.max.u64", "dd<dd", NULL},
    {"atom.global.min.s64", "dd<dd", NULL},
    {"atom.global.max.s64", "dd<dd", NULL},
    {"atom.global.inc.u32", "rr<rr", NULL},
    {"atom.global.dec.u32", "rr<rr", NULL},
    {"atom.global.and.b32", "rr<rr", NULL},
    {"atom.global.or.b32", "rr<rr", NULL},
    {"atom.global.xor.b32", "rr<rr", NULL},
    {"atom.global.and.b64", "dd<dd", NULL},
    {"atom.global.or.b64", "dd<dd", NULL},
    {"atom.global.xor.b64", "dd<dd", NULL},
    {"atom.global.exch.b32", "rr<rr", NULL},
    {"atom.global.exch.b64", "dd<dd", NULL},
    {"atom.global.cas.b16", "hh<hhh", NULL},
    {"atom.global.cas.b32", "rr<rrr", NULL},
    {"atom.global.cas.b64", "dd<ddd", NULL},
    {"red.global.add.f32", "F<FF", NULL},
    {"red.global.add.f64", "D<DD", NULL},
    {"red.global.add.u32", "r<rr", NULL},
    {"red.global.add.noftz.f16x2", "X<XX", NULL},
    {"atom.shared.add.u32", "rr<rr", NULL},
    {"atom.shared.add.s32", "rr<rr", NULL},
    {"atom.shared.add.u64", "dd<dd", NULL},
    {"atom.shared.add.f32", "FF<FF", NULL},
    {"atom.shared.add.f64", "DD<DD", NULL},
    {"atom.shared.add.noftz.f16", "HH<HH", NULL},
    {"atom.shared.add.noftz.bf16", "BB<BB", NULL},
    {"atom.shared.add.noftz.f16x2", "XX<XX", NULL},
    {"atom.shared.add.noftz.bf16x2", "YY<YY", NULL},
    {"atom.shared.min.u32", "rr<rr", NULL},
    {"atom.shared.max.u32", "rr<rr", NULL},
    {"atom.shared.min.s32", "rr<rr", NULL},
    {"atom.shared.max.s32", "rr<rr", NULL},
    {"atom.shared.min.u64", "dd<dd", NULL},
    {"atom.shared.max.u64", "dd<dd", NULL},
    {"atom.shared.min.s64", "dd<dd", NULL},
    {"atom.shared.max.s64", "dd<dd", NULL},
    {"atom.shared.inc.u32", "rr<rr", NULL},
    {"atom.shared.dec.u32", "rr<rr", NULL},
    {"atom.shared.and.b32", "rr<rr", NULL},
    {"atom.shared.or.b32", "rr<rr", NULL},
    {"atom.shared.xor.b32", "rr<rr", NULL},
    {"atom.shared.and.b64", "dd<dd", NULL},
    {"atom.shared.or.b64", "dd<dd", NULL},
    {"atom.shared.xor.b64", "dd<dd", NULL},
    {"atom.shared.exch.b32", "rr<rr", NULL},
    {"atom.shared.exch.b64", "dd<dd", NULL},
    {"atom.shared.cas.b16", "hh<hhh", NULL},
    {"atom.shared.cas.b32", "rr<rrr", NULL},
    {"atom.shared.cas.b64", "dd<ddd", NULL},
    {"red.shared.add.f32", "F<FF", NULL},
    {"red.shared.add.f64", "D<DD", NULL},
    {"red.shared.add.u32", "r<rr", NULL},
    {"red.shared.add.noftz.f16x2", "X<XX", NULL},
    {"atom.add.f32", "FF<FF", NULL},
    {"atom.add.f64", "DD<DD", NULL},
    {"vadd.u32.u32.u32", "r<rrr", ".b0 - .h1"},
    {"vadd.u32.u32.u32", "r<rrr", ".h1 .b1 -"},
    {"vadd.u32.u32.u32.sat", "r<rrr", ".b2 - .h1"},
    {"vadd.u32.u32.u32.sat", "r<rrr", ".h1 .b1 -"},
    {"vadd.u32.s32.s32", "r<rrr", ".b2 - .h1"},
    {"vadd.u32.s32.s32", "r<rrr", ".h1 .b1 -"},
    {"vadd.u32.s32.s32.sat", "r<rrr", ".h0 - .h1"},
    {"vadd.u32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vadd.s32.u32.s32", "r<rrr", ".h0 - .h1"},
    {"vadd.s32.u32.s32", "r<rrr", ".h1 .b1 -"},
    {"vadd.s32.u32.s32.sat", "r<rrr", ".h1 - .h1"},
    {"vadd.s32.u32.s32.sat", "r<rrr", ".b3 .b1 -"},
    {"vadd.s32.s32.s32", "r<rrr", ".h1 - .h1"},
    {"vadd.s32.s32.s32", "r<rrr", ".b3 .b1 -"},
    {"vadd.s32.s32.s32.sat", "r<rrr", ".b0 - .h1"},
    {"vadd.s32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vsub.u32.u32.u32", "r<rrr", ".b0 - .h1"},
    {"vsub.u32.u32.u32", "r<rrr", ".h1 .b1 -"},
    {"vsub.u32.u32.u32.sat", "r<rrr", ".b2 - .h1"},
    {"vsub.u32.u32.u32.sat", "r<rrr", ".h1 .b1 -"},
    {"vsub.u32.s32.s32", "r<rrr", ".b2 - .h1"},
    {"vsub.u32.s32.s32", "r<rrr", ".h1 .b1 -"},
    {"vsub.u32.s32.s32.sat", "r<rrr", ".h0 - .h1"},
    {"vsub.u32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vsub.s32.u32.s32", "r<rrr", ".h0 - .h1"},
    {"vsub.s32.u32.s32", "r<rrr", ".h1 .b1 -"},
    {"vsub.s32.u32.s32.sat", "r<rrr", ".h1 - .h1"},
    {"vsub.s32.u32.s32.sat", "r<rrr", ".b3 .b1 -"},
    {"vsub.s32.s32.s32", "r<rrr", ".h1 - .h1"},
    {"vsub.s32.s32.s32", "r<rrr", ".b3 .b1 -"},
    {"vsub.s32.s32.s32.sat", "r<rrr", ".b0 - .h1"},
    {"vsub.s32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vabsdiff.u32.u32.u32", "r<rrr", ".b0 - .h1"},
    {"vabsdiff.u32.u32.u32", "r<rrr", ".h1 .b1 -"},
    {"vabsdiff.u32.u32.u32.sat", "r<rrr", ".b2 - .h1"},
    {"vabsdiff.u32.u32.u32.sat", "r<rrr", ".h1 .b1 -"},
    {"vabsdiff.u32.s32.s32", "r<rrr", ".b2 - .h1"},
    {"vabsdiff.u32.s32.s32", "r<rrr", ".h1 .b1 -"},
    {"vabsdiff.u32.s32.s32.sat", "r<rrr", ".h0 - .h1"},
    {"vabsdiff.u32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vabsdiff.s32.u32.s32", "r<rrr", ".h0 - .h1"},
    {"vabsdiff.s32.u32.s32", "r<rrr", ".h1 .b1 -"},
    {"vabsdiff.s32.u32.s32.sat", "r<rrr", ".h1 - .h1"},
    {"vabsdiff.s32.u32.s32.sat", "r<rrr", ".b3 .b1 -"},
    {"vabsdiff.s32.s32.s32", "r<rrr", ".h1 - .h1"},
    {"vabsdiff.s32.s32.s32", "r<rrr", ".b3 .b1 -"},
    {"vabsdiff.s32.s32.s32.sat", "r<rrr", ".b0 - .h1"},
    {"vabsdiff.s32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vmin.u32.u32.u32", "r<rrr", ".b0 - .h1"},
    {"vmin.u32.u32.u32", "r<rrr", ".h1 .b1 -"},
    {"vmin.u32.u32.u32.sat", "r<rrr", ".b2 - .h1"},
    {"vmin.u32.u32.u32.sat", "r<rrr", ".h1 .b1 -"},
    {"vmin.u32.s32.s32", "r<rrr", ".b2 - .h1"},
    {"vmin.u32.s32.s32", "r<rrr", ".h1 .b1 -"},
    {"vmin.u32.s32.s32.sat", "r<rrr", ".h0 - .h1"},
    {"vmin.u32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vmin.s32.u32.s32", "r<rrr", ".h0 - .h1"},
    {"vmin.s32.u32.s32", "r<rrr", ".h1 .b1 -"},
    {"vmin.s32.u32.s32.sat", "r<rrr", ".h1 - .h1"},
    {"vmin.s32.u32.s32.sat", "r<rrr", ".b3 .b1 -"},
    {"vmin.s32.s32.s32", "r<rrr", ".h1 - .h1"},
    {"vmin.s32.s32.s32", "r<rrr", ".b3 .b1 -"},
    {"vmin.s32.s32.s32.sat", "r<rrr", ".b0 - .h1"},
    {"vmin.s32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vmax.u32.u32.u32", "r<rrr", ".b0 - .h1"},
    {"vmax.u32.u32.u32", "r<rrr", ".h1 .b1 -"},
    {"vmax.u32.u32.u32.sat", "r<rrr", ".b2 - .h1"},
    {"vmax.u32.u32.u32.sat", "r<rrr", ".h1 .b1 -"},
    {"vmax.u32.s32.s32", "r<rrr", ".b2 - .h1"},
    {"vmax.u32.s32.s32", "r<rrr", ".h1 .b1 -"},
    {"vmax.u32.s32.s32.sat", "r<rrr", ".h0 - .h1"},
    {"vmax.u32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vmax.s32.u32.s32", "r<rrr", ".h0 - .h1"},
    {"vmax.s32.u32.s32", "r<rrr", ".h1 .b1 -"},
    {"vmax.s32.u32.s32.sat", "r<rrr", ".h1 - .h1"},
    {"vmax.s32.u32.s32.sat", "r<rrr", ".b3 .b1 -"},
    {"vmax.s32.s32.s32", "r<rrr", ".h1 - .h1"},
    {"vmax.s32.s32.s32", "r<rrr", ".b3 .b1 -"},
    {"vmax.s32.s32.s32.sat", "r<rrr", ".b0 - .h1"},
    {"vmax.s32.s32.s32.sat", "r<rrr", ".h1 .b1 -"},
    {"vshl.u32.u32.u32.clamp", "r<rrr", ".h1 - -"},
    {"vshl.u32.u32.u32.clamp", "r<rrr", ".b1 - .b0"},
    {"vshl.u32.u32.u32.wrap", "r<rrr", ".h1 - -"},
    {"vshl.u32.u32.u32.wrap", "r<rrr", ".b1 - .b0"},
    {"vshl.u32.u32.u32.sat.clamp", "r<rrr", ".h1 - -"},
    {"vshl.u32.u32.u32.sat.clamp", "r<rrr", ".b1 - .b0"},
    {"vshl.u32.u32.u32.sat.wrap", "r<rrr", ".h1 - -"},
    {"vshl.u32.u32.u32.sat.wrap", "r<rrr", ".b1 - .b0"},
    {"vshl.s32.s32.u32.clamp", "r<rrr", ".h1 - -"},
    {"vshl.s32.s32.u32.clamp", "r<rrr", ".b1 - .b0"},
    {"vshl.s32.s32.u32.wrap", "r<rrr", ".h1 - -"},
    {"vshl.s32.s32.u32.wrap", "r<rrr", ".b1 - .b0"},
    {"vshl.s32.s32.u32.sat.clamp", "r<rrr", ".h1 - -"},
    {"vshl.s32.s32.u32.sat.clamp", "r<rrr", ".b1 - .b0"},
    {"vshl.s32.s32.u32.sat.wrap", "r<rrr", ".h1 - -"},
    {"vshl.s32.s32.u32.sat.wrap", "r<rrr", ".b1 - .b0"},
    {"vshr.u32.u32.u32.clamp", "r<rrr", ".h1 - -"},
    {"vshr.u32.u32.u32.clamp", "r<rrr", ".b1 - .b0"},
    {"vshr.u32.u32.u32.wrap", "r<rrr", ".h1 - -"},
    {"vshr.u32.u32.u32.wrap", "r<rrr", ".b1 - .b0"},
    {"vshr.u32.u32.u32.sat.clamp", "r<rrr", ".h1 - -"},
    {"vshr.u32.u32.u32.sat.clamp", "r<rrr", ".b1 - .b0"},
    {"vshr.u32.u32.u32.sat.wrap", "r<rrr", ".h1 - -"},
    {"vshr.u32.u32.u32.sat.wrap", "r<rrr", ".b1 - .b0"},
    {"vshr.s32.s32.u32.clamp", "r<rrr", ".h1 - -"},
    {"vshr.s32.s32.u32.clamp", "r<rrr", ".b1 - .b0"},
    {"vshr.s32.s32.u32.wrap", "r<rrr", ".h1 - -"},
    {"vshr.s32.s32.u32.wrap", "r<rrr", ".b1 - .b0"},
    {"vshr.s32.s32.u32.sat.clamp", "r<rrr", ".h1 - -"},
    {"vshr.s32.s32.u32.sat.clamp", "r<rrr", ".b1 - .b0"},
    {"vshr.s32.s32.u32.sat.wrap", "r<rrr", ".h1 - -"},
    {"vshr.s32.s32.u32.sat.wrap", "r<rrr", ".b1 - .b0"},
};

static ptx_type type_of_letter(char letter) {
    static const char letters[] = "phrdHBFDXY";
    static const ptx_type types[] = {PTX_PRED, PTX_B16, PTX_B32, PTX_B64,   PTX_F16,
                                     PTX_BF16, PTX_F32, PTX_F64, PTX_F16X2, PTX_BF16X2};
    return types[strchr(letters, letter) - letters];
}

static bool is_atomic(const char *opcode) {
    return strncmp(opcode, "atom.", 5) == 0 || strncmp(opcode, "red.", 4) == 0;
}

static form_case made_case(size_t n) {
    form_case one = {.last = NULL};
    snprintf(one.opcode, sizeof one.opcode, "%s", made[n].opcode);
    if (made[n].parts)
        sscanf(made[n].parts, "%7s %7s %7s", one.parts[0], one.parts[1], one.parts[2]);
    for (unsigned part = 0; part < 3; part++)
        if (one.parts[part][0] == '-')
            one.parts[part][0] = 0;
    unsigned count = 0;
    for (const char *at = made[n].operands; *at; at++)
        if (*at == '<')
            one.results = (uint8_t)count;
        else
            one.types[count++] = (uint8_t)type_of_letter(*at);
    one.sources = (uint8_t)(count - one.results);
    one.paired = one.results == 2;
    one.changes_memory = is_atomic(one.opcode);
    return one;
}

static form_case form_of(const ptx_form *form) {
    form_case one = {.results = form->results,
                     .sources = form->sources,
                     .carries = form->reads_carry | form->writes_carry << 1,
                     .paired = form->results == 2};
    snprintf(one.opcode, sizeof one.opcode, "%s", form->opcode);
    memcpy(one.types, form->types, sizeof form->types);
    one.last = strcmp(one.opcode, "lop3.b32") == 0 ? "0x6b" : NULL;
    return one;
}

/* Returns whether a GPU of compute capability 9.0, whose answers there are, lacks the form. */
static bool is_newer(const char *opcode) {
    static const char *const words[] = {".f32x2",  ".e2m1x2",  ".e2m3x2",
                                        ".e3m2x2", ".ue8m0x2", ".rs."};
    const char *types = strstr(opcode, ".f32.");
    bool has_word = false;
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        has_word |= strstr(opcode, words[n]) != NULL;
    return has_word ||
           (types && (strcmp(types, ".f32.f16") == 0 || strcmp(types, ".f32.bf16") == 0) &&
            strncmp(opcode, "cvt.", 4) != 0 && strncmp(opcode, "set.", 4) != 0);
}

form_case *form_cases_make(bool newer, size_t *count, size_t *bytes) {
    form_case *cases = NULL;
    size_t n = 0;
    *count = *bytes = 0;
    for (const ptx_form *form = acu_ptx_forms; form < acu_ptx_forms + acu_ptx_form_count; form++) {
        form_case one = form_of(form);
        if (is_newer(one.opcode) != newer || strstr(one.opcode, ".relu.satfinite"))
            continue; /* the latter is another order of the same words */
        if (strstr(one.opcode, "8.bf16") || strncmp(one.opcode, "quotient+add", 12) == 0)
            continue; /* no GPU has answered these yet, or PTX does not have them */
        n += !strstr(one.opcode, ".oob"); /* the answers are those of a list without it */
        if (strncmp(one.opcode, "mad.", 4) == 0 && !strstr(one.opcode, ".r") &&
            strstr(one.opcode, "f32"))
            continue; /* of old PTX */
        cases = add(cases, count, bytes, &one, "");
        if (strncmp(one.opcode, "setp.", 5) != 0 || one.results == 2 || n % 5 != 1 ||
            strstr(one.opcode, "f16"))
            continue;
        memmove(one.types + 1, one.types, sizeof one.types - 1);
        one.results = 2;
        one.paired = 1;
        cases = add(cases, count, bytes, &one, " p|q");
    }
    for (n = 0; n < sizeof made / sizeof *made && !newer; n++) {
        form_case one = made_case(n);
        char parts[32] = "";
        if (made[n].parts && strcmp(made[n].parts, "- - -") != 0)
            snprintf(parts, sizeof parts, " %s", made[n].parts);
        cases = add(cases, count, bytes, &one, parts);
    }
    return cases;
}

/* ---- kernels ---- */

void form_cases_write_header(bool newer, FILE *file) {
    fprintf(file, newer ? ".version 8.7\n.target sm_100a\n.address_size 64\n"
                        : ".version 8.6\n.target sm_90\n.address_size 64\n");
}

static const char *letter(ptx_type type) {
    return type == PTX_PRED               ? "p"
           : type == PTX_B8               ? "b"
           : acu_ptx_type_size(type) <= 2 ? "h"
           : acu_ptx_type_size(type) == 4 ? "r"
                                          : "d";
}

static void write_load(FILE *file, ptx_type type, unsigned source, unsigned of) {
    int kind = kind_of(type);
    unsigned size = kind_bytes[kind];
    size_t at = input_at(kind, of == 1 ? 4 : source);
    fprintf(file, "mad.wide.u32 %%d0, %%r0, %u, %%d1;\n", size);
    if (kind == KIND_PRED) {
        fprintf(file, "ld.global.b32 %%r1, [%%d0+%zu];\nsetp.ne.b32 %%p%u, %%r1, 0;\n", at,
                source + 10);
        return;
    }
    fprintf(file, "ld.global.b%u %%%s%u, [%%d0+%zu];\n", type == PTX_B8 ? 8 : size * 8,
            letter(type), source + 10, at);
}

/* Makes an operand of a quarter of the threads the NaN that stands for what lies outside of a
 * tensor, and of another quarter the same with a sign; of a pair the lower half and the upper one.
 */
static void write_outside(FILE *file, ptx_type type, unsigned source) {
    unsigned number = source + 10;
    fprintf(file,
            "shr.u32 %%r1, %%r0, %u;\nand.b32 %%r1, %%r1, 3;\nsetp.eq.u32 %%p1, %%r1, 0;\n"
            "setp.eq.u32 %%p2, %%r1, 1;\n",
            2 * source);
    if (acu_ptx_type_size(type) == 2)
        fprintf(file,
                "selp.b16 %%h%u, 0x7ff7, %%h%u, %%p1;\nselp.b16 %%h%u, 0xfff7, %%h%u, %%p2;\n",
                number, number, number, number);
    else
        fprintf(file,
                "and.b32 %%r2, %%r%u, 0xffff0000;\nor.b32 %%r2, %%r2, 0x7ff7;\n"
                "and.b32 %%r3, %%r%u, 0xffff;\nor.b32 %%r3, %%r3, 0xfff70000;\n"
                "selp.b32 %%r%u, %%r2, %%r%u, %%p1;\nselp.b32 %%r%u, %%r3, %%r%u, %%p2;\n",
                number, number, number, number, number, number);
}

static void write_carry(FILE *file, bool borrow) {
    fprintf(file, "mad.wide.u32 %%d0, %%r0, 4, %%d1;\nld.global.b32 %%r1, [%%d0+%zu];\n",
            input_at(KIND_PRED, 3));
    fprintf(file, borrow ? "sub.cc.u32 %%r1, 0, %%r1;\n" : "add.cc.u32 %%r1, %%r1, 0xffffffff;\n");
}

static void write_store(FILE *file, ptx_type type, unsigned number, size_t *at) {
    unsigned size = result_bytes(type);
    fprintf(file, "mad.wide.u32 %%d0, %%r0, %u, %%d2;\n", size);
    if (type == PTX_PRED)
        fprintf(file, "selp.u16 %%h%u, 1, 0, %%p%u;\n", number, number);
    fprintf(file, "st.global.b%u [%%d0+%zu], %%%s%u;\n", size * 8, *at,
            type == PTX_PRED ? "h" : letter(type), number);
    *at += (size_t)size * CASE_THREADS;
}

/* An atomic operation on memory of each thread's own, which has the first source until then; the
 * results are what it returns, if it does, and what the memory has afterwards. */
static void write_change(FILE *file, const form_case *one) {
    const ptx_type type = (ptx_type)one->types[0];
    const unsigned size = result_bytes(type);
    const bool shared = strstr(one->opcode, ".shared.") != NULL;
    const char *space = shared ? "shared" : "global", *of = letter(type);
    size_t at = 0;
    if (shared)
        fprintf(file,
                ".shared .align 8 .b8 own[%u];\nmov.u64 %%d4, own;\n"
                "mad.wide.u32 %%d3, %%r0, %u, %%d4;\n",
                CASE_THREADS * size, size);
    else
        fprintf(file, "mad.wide.u32 %%d3, %%r0, %u, %%d2;\nadd.u64 %%d3, %%d3, %u;\n", size,
                one->results > 1 ? CASE_THREADS * size : 0);
    fprintf(file, "st.%s.b%u [%%d3], %%%s10;\n%s ", space, 8 * size, of, one->opcode);
    if (one->results > 1)
        fprintf(file, "%%%s5, ", of);
    fprintf(file, "[%%d3], %%%s11", of);
    if (one->sources > 2)
        fprintf(file, ", %%%s12", of);
    fprintf(file, ";\nld.%s.b%u %%%s6, [%%d3];\n", space, 8 * size, of);
    if (one->results > 1)
        write_store(file, type, 5, &at);
    write_store(file, type, 6, &at);
    fprintf(file, "ret;\n}\n");
}

void form_case_write(const form_case *one, FILE *file) {
    bool borrow = strncmp(one->opcode, "sub", 3) == 0;
    size_t at = 0;
    fprintf(file, ".visible .entry %s(.param .u64 in, .param .u64 out)\n{\n", one->entry);
    fprintf(file, ".reg .pred %%p<20>;\n.reg .b8 %%b<20>;\n.reg .b16 %%h<20>;\n.reg .b32 "
                  "%%r<20>;\n.reg .b64 %%d<20>;\n");
    fprintf(file, "ld.param.u64 %%d1, [in];\nld.param.u64 %%d2, [out];\nmov.u32 %%r0, %%tid.x;\n");
    for (unsigned n = 0; n < one->sources; n++)
        if (!one->last || n + 1u < one->sources)
            write_load(file, (ptx_type)one->types[one->results + n], n, one->sources);
    for (unsigned n = 0; n < one->sources && strstr(one->opcode, ".oob"); n++)
        write_outside(file, (ptx_type)one->types[one->results + n], n);
    if (one->carries & 1)
        write_carry(file, borrow);
    if (one->changes_memory) {
        write_change(file, one);
        return;
    }
    fprintf(file, "%s ", one->opcode);
    for (unsigned n = 0; n < one->results; n++)
        fprintf(file, "%s%%%s%u%s", n ? "|" : "", letter((ptx_type)one->types[n]), n + 5,
                n ? "" : one->parts[0]);
    for (unsigned n = 0; n < one->sources; n++)
        if (one->last && n + 1u == one->sources)
            fprintf(file, ", %s", one->last);
        else
            fprintf(file, ", %%%s%u%s", letter((ptx_type)one->types[one->results + n]), n + 10,
                    n < 2 ? one->parts[n + 1] : "");
    fprintf(file, ";\n");
    if (one->carries & 2)
        fprintf(file, "%sc.u%u %%%s6, 0, 0;\n", borrow ? "sub" : "add",
                8 * result_bytes((ptx_type)one->types[0]), letter((ptx_type)one->types[0]));
    for (unsigned n = 0; n < one->results; n++)
        write_store(file, (ptx_type)one->types[n], n + 5, &at);
    if (one->carries & 2)
        write_store(file, (ptx_type)one->types[0], 6, &at);
    fprintf(file, "ret;\n}\n");
}
