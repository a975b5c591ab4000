/* Atomic operations on memory, and fences. */
#include "sim/ptx/atomic.h"

#include "sim/ptx/check_inside.h"
#include "sim/ptx/lane_half.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/ordered.h"
#include "sim/ptx/wide.h"

#include <string.h>

/* The lanes that change one element: their registers, and what they get back. */
typedef struct lanes_of {
    char *at;
    uint32_t lanes;
    const void *b, *c; /* a lane's values; c of a compare-and-swap alone */
    void *d;           /* what each lane found; NULL: nobody asks */
    bool shared;       /* the memory is shared memory, which adds no floats: instructions do */
} lanes_of;

typedef void change_lanes(const ptx_atomic *a, const lanes_of *of);

struct ptx_atomic {
    ptx_space space;
    ptx_change change;
    change_lanes *run;
    ptx_type type;
    unsigned size, count; /* bytes of an element, and elements of a vector */
    bool returns;         /* atom; red does not */
    bool releases;
    ptx_slot d[8], b[8], c;
    bool has_hint; /* an operand says how the cache is used */
};

static float as_float(uint64_t bits) {
    return float_of((uint32_t)bits);
}

static uint64_t of_float(float value) {
    return bits_of(value);
}

static bool is_nan_f64(uint64_t bits) {
    return bits << 1 > UINT64_C(0xffe0000000000000);
}

/* Global memory adds f32 itself, and takes for zero what is not normal; shared memory has the
 * instruction add. */
static inline uint64_t add_f32(uint64_t a, uint64_t b, bool shared) {
    return of_float(shared ? number(as_float(a) + as_float(b))
                           : flush(number(flush(as_float(a)) + flush(as_float(b)))));
}

/* Of two NaN the sum in global memory is the one that is added, as it is, also a signalling one.
 * Shared memory has the instruction add, which makes it quiet, and takes the one in memory: so
 * ptxas 13.0 orders its operands where it optimizes, and the other way round where it does not. The
 * sum of both infinities is a NaN with a sign, which not every processor gives it. */
static inline uint64_t add_f64(uint64_t a, uint64_t b, bool shared) {
    const uint64_t quiet_bit = shared ? UINT64_C(1) << 51 : 0;
    const uint64_t first = shared ? a : b, second = shared ? b : a;
    const double x = double_of(a), y = double_of(b);
    return is_nan_f64(first)    ? first | quiet_bit
           : is_nan_f64(second) ? second | quiet_bit
                                : bits_of_double(number_of_two(x + y, x, y));
}

/* Combines numbers of 16 bits. */
static uint64_t combine_half(ptx_change kind, ptx_type type, uint64_t a, uint64_t b) {
    switch (type) {
    case PTX_F16:
        return kind == PTX_CHANGE_ADD   ? add_f16((uint16_t)a, (uint16_t)b)
               : kind == PTX_CHANGE_MIN ? min_f16((uint16_t)a, (uint16_t)b)
                                        : max_f16((uint16_t)a, (uint16_t)b);
    case PTX_BF16:
        return kind == PTX_CHANGE_ADD   ? add_bf16((uint16_t)a, (uint16_t)b)
               : kind == PTX_CHANGE_MIN ? min_bf16((uint16_t)a, (uint16_t)b)
                                        : max_bf16((uint16_t)a, (uint16_t)b);
    case PTX_F16X2:
        return combine_half(kind, PTX_F16, a & 0xffff, b & 0xffff) |
               combine_half(kind, PTX_F16, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
    default: /* PTX_BF16X2 */
        return combine_half(kind, PTX_BF16, a & 0xffff, b & 0xffff) |
               combine_half(kind, PTX_BF16, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
    }
}

static inline bool is_below(ptx_type type, uint64_t a, uint64_t b) {
    return type == PTX_S32   ? (int32_t)a < (int32_t)b
           : type == PTX_S64 ? (int64_t)a < (int64_t)b
                             : a < b;
}

/* Returns what the memory has afterwards. Inlined, so that nothing is left to decide where a caller
 * has constants for the change and the type. */
static inline __attribute__((always_inline)) uint64_t combine(ptx_change change, ptx_type type,
                                                              uint64_t old, uint64_t b, uint64_t c,
                                                              bool shared) {
    const bool is_half =
        type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2;
    switch (change) {
    case PTX_CHANGE_ADD:
        return type == PTX_F32   ? add_f32(old, b, shared)
               : type == PTX_F64 ? add_f64(old, b, shared)
               : is_half         ? combine_half(PTX_CHANGE_ADD, type, old, b)
                                 : old + b;
    case PTX_CHANGE_MIN:
        return is_half                  ? combine_half(PTX_CHANGE_MIN, type, old, b)
               : is_below(type, b, old) ? b
                                        : old;
    case PTX_CHANGE_MAX:
        return is_half                  ? combine_half(PTX_CHANGE_MAX, type, old, b)
               : is_below(type, old, b) ? b
                                        : old;
    case PTX_CHANGE_INC:
        return old >= b ? 0 : old + 1;
    case PTX_CHANGE_DEC:
        return old == 0 || old > b ? b : old - 1;
    case PTX_CHANGE_AND:
        return old & b;
    case PTX_CHANGE_OR:
        return old | b;
    case PTX_CHANGE_XOR:
        return old ^ b;
    case PTX_CHANGE_EXCH:
        return b;
    default: /* PTX_CHANGE_CAS */
        return old == b ? c : old;
    }
}

/* Changes the element by what each lane has, in the order of the lanes: as if no other thread came
 * between. What lanes found is written at the end: a register may be source and target. Most often
 * a lane is alone. */
#define CHANGE(bits)                                                                               \
    static inline __attribute__((always_inline)) void change_one_##bits(                           \
        ptx_change change, ptx_type type, const lanes_of *of) {                                    \
        const unsigned lane = (unsigned)__builtin_ctz(of->lanes);                                  \
        const uint##bits##_t b = ((const uint##bits##_t *)of->b)[lane],                            \
                             c = change == PTX_CHANGE_CAS ? ((const uint##bits##_t *)of->c)[lane]  \
                                                          : 0;                                     \
        uint##bits##_t *p = (uint##bits##_t *)(void *)of->at,                                      \
                       old = __atomic_load_n(p, __ATOMIC_RELAXED), now;                            \
        do                                                                                         \
            now = (uint##bits##_t)combine(change, type, old, b, c, of->shared);                    \
        while (!__atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_SEQ_CST,                 \
                                            __ATOMIC_RELAXED));                                    \
        if (of->d)                                                                                 \
            ((uint##bits##_t *)of->d)[lane] = old;                                                 \
    }                                                                                              \
    static inline __attribute__((always_inline)) void change_##bits(                               \
        ptx_change change, ptx_type type, const lanes_of *of) {                                    \
        uint##bits##_t *p = (uint##bits##_t *)(void *)of->at, found[PTX_LANES], now, old;          \
        const uint##bits##_t *b = of->b, *c = of->c;                                               \
        if (!(of->lanes & (of->lanes - 1))) {                                                      \
            change_one_##bits(change, type, of);                                                   \
            return;                                                                                \
        }                                                                                          \
        old = __atomic_load_n(p, __ATOMIC_RELAXED);                                                \
        do {                                                                                       \
            now = old;                                                                             \
            for (uint32_t left = of->lanes; left; left &= left - 1) {                              \
                const unsigned lane = (unsigned)__builtin_ctz(left);                               \
                found[lane] = now;                                                                 \
                now = (uint##bits##_t)combine(change, type, now, b[lane],                          \
                                              change == PTX_CHANGE_CAS ? c[lane] : 0, of->shared); \
            }                                                                                      \
        } while (!__atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_SEQ_CST,               \
                                              __ATOMIC_RELAXED));                                  \
        for (uint32_t left = of->d ? of->lanes : 0; left; left &= left - 1) {                      \
            const unsigned lane = (unsigned)__builtin_ctz(left);                                   \
            ((uint##bits##_t *)of->d)[lane] = found[lane];                                         \
        }                                                                                          \
    }
CHANGE(16)
CHANGE(32)
CHANGE(64)
#undef CHANGE

/* Makes any change of any type, which it decides for each lane. */
static void change_any(const ptx_atomic *a, const lanes_of *of) {
    if (a->size == 8)
        change_64(a->change, a->type, of);
    else if (a->size == 4)
        change_32(a->change, a->type, of);
    else
        change_16(a->change, a->type, of);
}

/* The changes that programs make most. */
#define FREQUENT(F)                                                                                \
    F(ADD, U32, 32)                                                                                \
    F(ADD, S32, 32)                                                                                \
    F(ADD, U64, 64)                                                                                \
    F(ADD, F32, 32)                                                                                \
    F(ADD, F64, 64)                                                                                \
    F(MIN, S32, 32)                                                                                \
    F(MIN, U32, 32)                                                                                \
    F(MAX, S32, 32)                                                                                \
    F(MAX, U32, 32)                                                                                \
    F(MIN, U64, 64)                                                                                \
    F(MAX, U64, 64)                                                                                \
    F(MIN, S64, 64)                                                                                \
    F(MAX, S64, 64)                                                                                \
    F(INC, U32, 32)                                                                                \
    F(DEC, U32, 32)                                                                                \
    F(AND, B32, 32)                                                                                \
    F(OR, B32, 32)                                                                                 \
    F(XOR, B32, 32)                                                                                \
    F(EXCH, B32, 32)                                                                               \
    F(EXCH, B64, 64)                                                                               \
    F(CAS, B32, 32)                                                                                \
    F(CAS, B64, 64)
#define ONE(change, type, bits)                                                                    \
    static void change_##change##_##type(const ptx_atomic *a, const lanes_of *of) {                \
        (void)a;                                                                                   \
        change_##bits(PTX_CHANGE_##change, PTX_##type, of);                                        \
    }
FREQUENT(ONE)
#undef ONE

/* Returns what makes the change. */
static change_lanes *changer_of(ptx_change change, ptx_type type) {
#define ONE(made, of, bits)                                                                        \
    if (change == PTX_CHANGE_##made && type == PTX_##of)                                           \
        return change_##made##_##of;
    FREQUENT(ONE)
#undef ONE
    return change_any;
}

static uint64_t change_one(ptx_change change, ptx_type type, char *at, uint64_t b, uint64_t c,
                           bool shared) {
    const ptx_atomic a = {
        .change = change, .type = type, .size = (unsigned)acu_ptx_type_size(type)};
    _Alignas(8) char values[3][8] = {{0}}; /* b, c, and what was there */
    uint64_t old;
    memcpy(values[0], &b, sizeof b);
    memcpy(values[1], &c, sizeof c);
    change_any(&a, &(lanes_of){.at = at,
                               .lanes = 1,
                               .b = values[0],
                               .c = values[1],
                               .d = values[2],
                               .shared = shared});
    memcpy(&old, values[2], sizeof old);
    return old;
}

uint64_t acu_ptx_change(ptx_change change, ptx_type type, char *at, uint64_t b, uint64_t c) {
    return change_one(change, type, at, b, c, false);
}

uint64_t acu_ptx_change_of_copy(ptx_change change, ptx_type type, char *at, uint64_t b) {
    return change_one(change, type, at, b, 0, type == PTX_F32);
}

bool acu_ptx_is_reduction(ptx_change change, ptx_type type) {
    bool is_half = type == PTX_F16 || type == PTX_BF16,
         is_float = is_half || type == PTX_F32 || type == PTX_F64,
         is_bits = type == PTX_B32 || type == PTX_B64,
         is_integer = type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
    switch (change) {
    case PTX_CHANGE_ADD:
        return is_float || is_integer;
    case PTX_CHANGE_MIN:
    case PTX_CHANGE_MAX:
        return is_half || is_integer;
    case PTX_CHANGE_INC:
    case PTX_CHANGE_DEC:
        return type == PTX_U32;
    default:
        return is_bits || is_integer;
    }
}

static uint64_t get(const ptx_warp *w, ptx_slot slot, unsigned lane, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, (const char *)ptx_at(w, slot) + (size_t)lane * size, size);
    return value;
}

/* Returns whether the bytes are shared memory of the block, or of another one of its cluster. */
static bool is_shared(const ptx_warp *w, const char *at) {
    const ptx_cluster *cluster = w->block->cluster;
    bool any = false;
    for (unsigned n = 0; n < cluster->count; n++)
        any |= (uintptr_t)at - (uintptr_t)cluster->blocks[n]->shared <
               cluster->blocks[n]->shared_bytes;
    return any;
}

bool acu_ptx_atomic_changes(const ptx_warp *w, const ptx_atomic *a, unsigned lane,
                            const char *bytes) {
    for (unsigned n = 0; n < a->count; n++) {
        uint64_t copy = 0, b = get(w, a->b[n], lane, a->size),
                 c = a->change == PTX_CHANGE_CAS ? get(w, a->c, lane, a->size) : 0;
        memcpy(&copy, bytes + (size_t)n * a->size, a->size);
        uint64_t old = copy;
        change_one(a->change, a->type, (char *)&copy, b, c, is_shared(w, bytes));
        if (copy != old)
            return true;
    }
    return false;
}

/* Returns the first of the lanes and those after it that have its address. */
static uint32_t of_one_address(const ptx_op *op, const void *address, uint32_t lanes) {
    const unsigned first = (unsigned)__builtin_ctz(lanes);
    uint32_t same = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (op->flags ? ((const uint32_t *)address)[lane] != ((const uint32_t *)address)[first]
                      : ((const uint64_t *)address)[lane] != ((const uint64_t *)address)[first])
            break;
        same |= UINT32_C(1) << lane;
    }
    return same;
}

/* Changes what the lanes' addresses name; `b` has the lanes' values of each element. */
static void change_memory(ptx_warp *w, const ptx_op *op, const void *const *b) {
    const ptx_atomic *a = op->more;
    const void *address = ptx_at(w, op->a);
    const unsigned bytes = a->size * a->count;
    for (uint32_t left = w->mask, some; left; left &= ~some) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        some = of_one_address(op, address, left);
        uint64_t where =
            op->flags ? ((const uint32_t *)address)[lane] : ((const uint64_t *)address)[lane];
        where += (uint64_t)op->value;
        where = op->flags ? (uint32_t)where : where; /* 32 bits wrap around */
        char *at = acu_ptx_memory_at(w, op, lane, a->space, where, bytes, bytes, true);
        for (unsigned n = 0; n < a->count; n++)
            a->run(a, &(lanes_of){.at = at + (size_t)n * a->size,
                                  .lanes = some,
                                  .b = b[n],
                                  .c = ptx_at(w, a->c),
                                  .d = a->returns ? ptx_at(w, a->d[n]) : NULL,
                                  .shared = a->change == PTX_CHANGE_ADD && is_shared(w, at)});
    }
}

static void do_atomic(ptx_warp *w, const ptx_op *op) {
    const ptx_atomic *a = op->more;
    change_memory(w, op, &(const void *){ptx_at(w, a->b[0])});
}

/* The elements of a vector: a register with a value may be the target of an element before it. */
static void do_vector(ptx_warp *w, const ptx_op *op) {
    const ptx_atomic *a = op->more;
    uint64_t values[8][PTX_LANES];
    const void *b[8];
    for (unsigned n = 0; n < a->count; n++)
        b[n] = memcpy(values[n], ptx_at(w, a->b[n]), PTX_LANES * (size_t)a->size);
    change_memory(w, op, b);
}

#define OF(type) (UINT32_C(1) << PTX_##type)
#define WORDS    (OF(B32) | OF(B64))
#define INTEGERS (OF(U32) | OF(S32) | OF(U64))
#define HALVES   (OF(F16) | OF(F16X2) | OF(BF16) | OF(BF16X2))

/* Refuses types that ptxas refuses for the change: memory adds floats, but does not compare them.
 */
static void check_type(ptx_lowering *l, ptx_change change, ptx_type type) {
    static const char add[] =
        ".u32 or .s32 or .u64 or .f64 or f16 or f16x2 or .f32 or .bf16 or .bf16x2";
    static const char compare[] =
        ".u32 or .s32 or .u64 or .s64 or .f16 or .f16x2 or .bf16 or .bf16x2";
    static const struct {
        uint32_t types;
        const char *names;
    } takes[] = {
        [PTX_CHANGE_ADD] = {INTEGERS | HALVES | OF(F32) | OF(F64), add},
        [PTX_CHANGE_MIN] = {INTEGERS | HALVES | OF(S64), compare},
        [PTX_CHANGE_MAX] = {INTEGERS | HALVES | OF(S64), compare},
        [PTX_CHANGE_INC] = {OF(U32), ".u32"},
        [PTX_CHANGE_DEC] = {OF(U32), ".u32"},
        [PTX_CHANGE_AND] = {WORDS, ".b32 or .b64"},
        [PTX_CHANGE_OR] = {WORDS, ".b32 or .b64"},
        [PTX_CHANGE_XOR] = {WORDS, ".b32 or .b64"},
        [PTX_CHANGE_EXCH] = {WORDS | OF(B128), ".b32 or .b64 or .b128"},
        [PTX_CHANGE_CAS] = {WORDS | OF(B16) | OF(B128), ".b16 or .b32 or .b64 or .b128"},
    };
    if (!(takes[change].types >> type & 1))
        acu_ptx_invalid(l, "Operation requires %s type for instruction '%s'", takes[change].names,
                        acu_ptx_first_word(l));
}

#undef OF
#undef WORDS
#undef INTEGERS
#undef HALVES

static void read_atomic(ptx_lowering *l, const ptx_instruction *i, ptx_atomic *a) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    const int order = acu_ptx_take_one(&words, "relaxed release acquire acq_rel");
    a->releases = order == 1 || order == 3;
    if (order >= 2 && acu_ptx_is(i, "red"))
        acu_ptx_invalid(l, "Illegal modifier '.%s' for instruction 'red'",
                        order == 2 ? "acquire" : "acq_rel");
    acu_ptx_take_one(&words, "cta cluster gpu sys");
    a->space = acu_ptx_take_space(&words);
    int kind = acu_ptx_take_one(&words, "add min max inc dec and or xor exch cas");
    const bool keeps = acu_ptx_take(&words, "noftz");
    a->has_hint = acu_ptx_take(&words, "L2::cache_hint");
    int vector = acu_ptx_take_one(&words, "v2 v4 v8");
    a->type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    a->count = vector < 0 ? 1 : 2u << vector;
    a->size = (unsigned)acu_ptx_type_size(a->type);
    if (kind >= PTX_CHANGE_EXCH && acu_ptx_is(i, "red"))
        acu_ptx_invalid(l, kind == PTX_CHANGE_EXCH
                               ? "Illegal operation '.exch' for instruction 'red'"
                               : "Illegal modifier '.cas' for instruction 'red'");
    const bool exchanges = kind == PTX_CHANGE_EXCH || kind == PTX_CHANGE_CAS;
    if (kind < 0 || a->size < 2 || (a->size > 8 && !(exchanges && a->count == 1)))
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    a->change = (ptx_change)kind;
    a->run = changer_of(a->change, a->type);
    const bool is_half =
        a->type == PTX_F16 || a->type == PTX_BF16 || a->type == PTX_F16X2 || a->type == PTX_BF16X2;
    check_type(l, a->change, a->type);
    if (keeps != is_half)
        acu_ptx_invalid(l,
                        keeps ? "Illegal modifier '.noftz' for instruction '%s'"
                              : "'.noftz' modifier required for instruction '%s'",
                        acu_ptx_first_word(l));
}

/* Refuses lists where one value is, and lists of another length than the vector. */
static void check_lists(ptx_lowering *l, const ptx_instruction *i, const ptx_atomic *a,
                        unsigned first) {
    const ptx_operand *value = &i->operands[first + 1], *result = first ? i->operands : NULL;
    for (const ptx_operand *o = value; o && a->count == 1; o = o == value ? result : NULL)
        if (o->kind == PTX_LIST)
            acu_ptx_invalid(l, "Vector is not expected for argument %u of instruction '%s'",
                            (unsigned)(o - i->operands), acu_ptx_first_word(l));
    if (a->count > 1 &&
        (value->kind != PTX_LIST || value->element_count != a->count ||
         (result && (result->kind != PTX_LIST || result->element_count != a->count))))
        acu_ptx_mismatch(l);
}

void acu_ptx_lower_atom(ptx_lowering *l, const ptx_instruction *i) {
    ptx_atomic *a = acu_ptx_lower_alloc(l, sizeof *a);
    if (acu_ptx_is_async(i)) {
        acu_ptx_lower_async(l, i);
        return;
    }
    read_atomic(l, i, a);
    a->returns = acu_ptx_is(i, "atom");
    if (a->size > 8 && a->returns) {
        acu_ptx_lower_wide_atom(l, i, a->space, a->change == PTX_CHANGE_CAS);
        return;
    }
    unsigned first = a->returns ? 1 : 0;
    if (i->operand_count != first + 2 + (a->change == PTX_CHANGE_CAS) + a->has_hint)
        acu_ptx_mismatch(l);
    const ptx_operand *value = &i->operands[first + 1];
    check_lists(l, i, a, first);
    for (unsigned n = 0; n < a->count; n++)
        a->b[n] = acu_ptx_source(l, acu_ptx_element(value, n), a->type);
    a->c = a->change == PTX_CHANGE_CAS ? acu_ptx_source(l, &i->operands[first + 2], a->type) : 0;
    ptx_address address = acu_ptx_address(l, &i->operands[first], a->space);
    for (unsigned n = 0; a->returns && n < a->count; n++)
        a->d[n] = acu_ptx_target(l, acu_ptx_element(&i->operands[0], n), a->type);
    acu_ptx_check_access(l, (ptx_check_site){.space = a->space,
                                             .address = address,
                                             .bytes = a->size * a->count,
                                             .reads = true,
                                             .writes = true,
                                             .strong = true,
                                             .releases = a->releases,
                                             .sets = a->change == PTX_CHANGE_EXCH,
                                             .swaps = a->change == PTX_CHANGE_CAS,
                                             .atomic = a});
    ptx_op *op = acu_ptx_emit(l, a->count > 1 ? do_vector : do_atomic);
    op->a = address.slot;
    op->value = address.offset;
    op->flags = address.narrow;
    op->more = a;
    op->site = acu_ptx_site(l);
}

/* ---- fences ---- */

/* Refuses operands that are not the address and the size of a tensor map. */
static void check_map(ptx_lowering *l, const ptx_instruction *i) {
    if (i->operand_count != 2 || i->operands[0].kind != PTX_ADDRESS ||
        i->operands[1].kind != PTX_INTEGER)
        acu_ptx_invalid(l, "Arguments mismatch for instruction 'fence.proxy'");
    if (i->operands[1].bits != 128)
        acu_ptx_invalid(l,
                        "Argument 1 of instruction 'fence.proxy': unexpected value '%lld', "
                        "expected to be 128",
                        (long long)i->operands[1].bits);
}

void acu_ptx_lower_fence(ptx_lowering *l, const ptx_instruction *i) {
    if (strncmp(i->opcode, "fence.proxy.tensormap", 21) == 0 && strstr(i->opcode, ".acquire"))
        check_map(l, i);
    acu_ptx_check_fence(l);
    if (strncmp(i->opcode, "fence.proxy.async", 17) == 0)
        acu_ptx_check_proxy_fence(l);
    acu_ptx_emit(l, acu_ptx_fence);
}
