/* Atomic operations on memory, and fences. */
#include "sim/ptx/atomic.h"

#include "sim/ptx/check_inside.h"
#include "sim/ptx/lane_half.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/ordered.h"
#include "sim/ptx/wide.h"

#include <string.h>

struct ptx_atomic {
    ptx_space space;
    ptx_change change;
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

/* A GPU's memory keeps NaN as it is, also a signalling one; of two, the one that is added. */
static uint64_t add_f64(uint64_t a, uint64_t b) {
    return is_nan_f64(b) ? b : is_nan_f64(a) ? a : bits_of_double(double_of(a) + double_of(b));
}

/* Combines numbers of floating point. */
static uint64_t combine_float(ptx_change kind, ptx_type type, uint64_t a, uint64_t b) {
    switch (type) {
    case PTX_F32:
        return of_float(number(as_float(a) + as_float(b)));
    case PTX_F64:
        return add_f64(a, b);
    case PTX_F16:
        return kind == PTX_CHANGE_ADD   ? add_f16((uint16_t)a, (uint16_t)b)
               : kind == PTX_CHANGE_MIN ? min_f16((uint16_t)a, (uint16_t)b)
                                        : max_f16((uint16_t)a, (uint16_t)b);
    case PTX_BF16:
        return kind == PTX_CHANGE_ADD   ? add_bf16((uint16_t)a, (uint16_t)b)
               : kind == PTX_CHANGE_MIN ? min_bf16((uint16_t)a, (uint16_t)b)
                                        : max_bf16((uint16_t)a, (uint16_t)b);
    case PTX_F16X2:
        return combine_float(kind, PTX_F16, a & 0xffff, b & 0xffff) |
               combine_float(kind, PTX_F16, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
    default: /* PTX_BF16X2 */
        return combine_float(kind, PTX_BF16, a & 0xffff, b & 0xffff) |
               combine_float(kind, PTX_BF16, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
    }
}

static bool is_below(ptx_type type, uint64_t a, uint64_t b) {
    return type == PTX_S32   ? (int32_t)a < (int32_t)b
           : type == PTX_S64 ? (int64_t)a < (int64_t)b
                             : a < b;
}

/* Returns what the memory has afterwards. */
static uint64_t combine(ptx_change change, ptx_type type, uint64_t old, uint64_t b, uint64_t c) {
    bool is_float = type == PTX_F32 || type == PTX_F64 || type == PTX_F16 || type == PTX_BF16 ||
                    type == PTX_F16X2 || type == PTX_BF16X2;
    switch (change) {
    case PTX_CHANGE_ADD:
        return is_float ? combine_float(PTX_CHANGE_ADD, type, old, b) | c : old + b;
    case PTX_CHANGE_MIN:
        return is_float                 ? combine_float(PTX_CHANGE_MIN, type, old, b)
               : is_below(type, b, old) ? b
                                        : old;
    case PTX_CHANGE_MAX:
        return is_float                 ? combine_float(PTX_CHANGE_MAX, type, old, b)
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

/* Changes an element of memory, also if another thread of the host does so at the same time. */
#define CHANGE(bits)                                                                               \
    static uint64_t change_##bits(ptx_change change, ptx_type type, char *at, uint64_t b,          \
                                  uint64_t c) {                                                    \
        uint##bits##_t *p = (uint##bits##_t *)(void *)at,                                          \
                       old = __atomic_load_n(p, __ATOMIC_RELAXED), wanted;                         \
        do                                                                                         \
            wanted = (uint##bits##_t)combine(change, type, old, b, c);                             \
        while (!__atomic_compare_exchange_n(p, &old, wanted, true, __ATOMIC_SEQ_CST,               \
                                            __ATOMIC_RELAXED));                                    \
        return old;                                                                                \
    }
CHANGE(16)
CHANGE(32)
CHANGE(64)
#undef CHANGE

uint64_t acu_ptx_change(ptx_change change, ptx_type type, char *at, uint64_t b, uint64_t c) {
    size_t size = acu_ptx_type_size(type);
    return size == 8   ? change_64(change, type, at, b, c)
           : size == 4 ? change_32(change, type, at, b, c)
                       : change_16(change, type, at, b, c);
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

bool acu_ptx_atomic_changes(const ptx_warp *w, const ptx_atomic *a, unsigned lane,
                            const char *bytes) {
    for (unsigned n = 0; n < a->count; n++) {
        uint64_t copy = 0, b = get(w, a->b[n], lane, a->size),
                 c = a->change == PTX_CHANGE_CAS ? get(w, a->c, lane, a->size) : 0;
        memcpy(&copy, bytes + (size_t)n * a->size, a->size);
        uint64_t old = copy;
        acu_ptx_change(a->change, a->type, (char *)&copy, b, c);
        if (copy != old)
            return true;
    }
    return false;
}

/* Shared memory adds no f64: a GPU adds as its instruction does, which makes NaN quiet. */
static uint64_t quieting(const ptx_warp *w, const ptx_atomic *a, const char *at, uint64_t b) {
    uint64_t old;
    const bool is_shared =
        (size_t)(at - w->block->shared) < w->block->shared_bytes && a->type == PTX_F64;
    if (!is_shared || a->change != PTX_CHANGE_ADD)
        return 0;
    memcpy(&old, at, sizeof old);
    return is_nan_f64(b) || is_nan_f64(old) ? UINT64_C(1) << 51 : 0;
}

static void do_atomic(ptx_warp *w, const ptx_op *op) {
    const ptx_atomic *a = op->more;
    const void *address = ptx_at(w, op->a);
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left), bytes = a->size * a->count;
        uint64_t where =
            op->flags ? ((const uint32_t *)address)[lane] : ((const uint64_t *)address)[lane];
        where += (uint64_t)op->value;
        where = op->flags ? (uint32_t)where : where; /* 32 bits wrap around */
        char *at = acu_ptx_memory_at(w, op, lane, a->space, where, bytes, bytes, true);
        for (unsigned n = 0; n < a->count; n++) {
            uint64_t b = get(w, a->b[n], lane, a->size), c = a->change == PTX_CHANGE_CAS
                                                                 ? get(w, a->c, lane, a->size)
                                                                 : quieting(w, a, at, b);
            uint64_t old = acu_ptx_change(a->change, a->type, at + (size_t)n * a->size, b, c);
            if (a->returns)
                memcpy((char *)ptx_at(w, a->d[n]) + (size_t)lane * a->size, &old, a->size);
        }
    }
}

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
    const bool exchanges = kind == PTX_CHANGE_EXCH || kind == PTX_CHANGE_CAS;
    if (kind < 0 || a->size < 2 || (a->size > 8 && !(exchanges && a->count == 1)))
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    a->change = (ptx_change)kind;
    const bool is_half =
        a->type == PTX_F16 || a->type == PTX_BF16 || a->type == PTX_F16X2 || a->type == PTX_BF16X2;
    const bool is_bits = a->type == PTX_B32 || a->type == PTX_B64;
    if (kind >= PTX_CHANGE_AND && kind <= PTX_CHANGE_XOR && !is_bits)
        acu_ptx_invalid(l, "Operation requires .b32 or .b64 type for instruction '%s'",
                        acu_ptx_first_word(l));
    if (keeps != is_half)
        acu_ptx_invalid(l,
                        keeps ? "Illegal modifier '.noftz' for instruction '%s'"
                              : "'.noftz' modifier required for instruction '%s'",
                        acu_ptx_first_word(l));
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
    if (a->count > 1 &&
        (value->kind != PTX_LIST || value->element_count != a->count ||
         (first && (i->operands[0].kind != PTX_LIST || i->operands[0].element_count != a->count))))
        acu_ptx_mismatch(l);
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
    ptx_op *op = acu_ptx_emit(l, do_atomic);
    op->a = address.slot;
    op->value = address.offset;
    op->flags = address.narrow;
    op->more = a;
    op->site = acu_ptx_site(l);
}

/* ---- fences ---- */

void acu_ptx_lower_fence(ptx_lowering *l, const ptx_instruction *i) {
    acu_ptx_check_fence(l);
    if (strncmp(i->opcode, "fence.proxy.async", 17) == 0)
        acu_ptx_check_proxy_fence(l);
    acu_ptx_emit(l, acu_ptx_fence);
}
