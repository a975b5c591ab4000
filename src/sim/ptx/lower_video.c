/* Video instructions: on bytes and halves of words, with a second operation. They are rare, so each
 * lane is computed with all decisions. */
#include "sim/ptx/lower_inside.h"

#include <string.h>

enum { VADD, VSUB, VABSDIFF, VMIN, VMAX, VAVRG, VSET, VSHL, VSHR, VMAD };
enum { PLAIN, ADD, MIN, MAX, MERGE };

/* What an instruction does; its operation's `value` is its address. */
typedef struct video {
    int operation, comparison, second;
    unsigned bits;  /* of an element: 8, 16, or 32 of scalar instructions */
    unsigned count; /* elements; 1: scalar */
    unsigned a_from[4], b_from[4], a_bits,
        b_bits;    /* where elements come from: a place in {b, a}, counted in elements */
    uint32_t mask; /* which elements of the result are written */
    bool a_signed, b_signed, d_signed, saturates, clamps;
    int merge_at; /* of a scalar result that becomes a part of the third operand */
    unsigned merge_bits;
    bool negates_product, negates_c, plus_one;
    unsigned scale;
} video;

static int64_t element(uint64_t words, unsigned at, unsigned bits, bool is_signed) {
    uint64_t value = words >> at * bits << (64 - bits);
    return is_signed ? (int64_t)value >> (64 - bits) : (int64_t)(value >> (64 - bits));
}

static int64_t clamp(int64_t value, unsigned bits, bool is_signed) {
    int64_t low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
    int64_t high = is_signed ? (INT64_C(1) << (bits - 1)) - 1 : (INT64_C(1) << bits) - 1;
    return value < low ? low : value > high ? high : value;
}

static bool compare(int comparison, int64_t a, int64_t b) {
    switch (comparison) {
    case 0:
        return a == b;
    case 1:
        return a != b;
    case 2:
        return a < b;
    case 3:
        return a <= b;
    case 4:
        return a > b;
    default:
        return a >= b;
    }
}

static int64_t first(const video *v, int64_t a, int64_t b) {
    unsigned by = v->clamps ? (uint32_t)b > 32 ? 32 : (uint32_t)b : (uint32_t)b & 31;
    switch (v->operation) {
    case VADD:
        return a + b;
    case VSUB:
        return a - b;
    case VABSDIFF:
        return a > b ? a - b : b - a;
    case VMIN:
        return a < b ? a : b;
    case VMAX:
        return a > b ? a : b;
    case VAVRG:
        return (a + b + (a + b >= 0)) >> 1;
    case VSET:
        return compare(v->comparison, a, b);
    case VSHL:
        return (int64_t)((uint64_t)a << by << 30) >> 30; /* 34 bits, as a GPU has here */
    default:
        return a >> by;
    }
}

/* The third operand is signed; the result is if one of the factors is. */
static uint32_t multiply_add(const video *v, int64_t a, int64_t b, uint32_t c) {
    bool result_signed = v->a_signed || v->b_signed;
    uint64_t product = (uint64_t)a * (uint64_t)b, other = (uint64_t)(int64_t)(int32_t)c;
    int64_t value = (int64_t)((v->negates_product ? -product : product) +
                              (v->negates_c ? -other : other) + v->plus_one);
    if (result_signed)
        value >>= v->scale;
    else if (v->scale)
        value = (int64_t)((uint64_t)value >> v->scale);
    return (uint32_t)(v->saturates ? clamp(value, 32, result_signed) : value);
}

/* What the second operation makes of a scalar result. */
static uint32_t finish(const video *v, int64_t wide, uint32_t c) {
    uint32_t value = (uint32_t)wide, mask;
    int64_t other = v->d_signed ? (int64_t)(int32_t)c : (int64_t)c;
    if (v->operation == VADD || v->operation == VSUB) /* those are cut to 32 bits */
        wide = v->d_signed ? (int64_t)(int32_t)value : (int64_t)value;
    switch (v->second) {
    case ADD:
        return value + c;
    case MIN:
        return wide < other ? value : c;
    case MAX:
        return wide > other ? value : c;
    case MERGE: /* .h1 gets the upper half, as on a GPU, in spite of what the manual says */
        mask = (v->merge_bits == 8 ? 0xffu : 0xffffu) << v->merge_at;
        value = v->merge_at == 16 && v->merge_bits == 16 ? value : value << v->merge_at;
        return (value & mask) | (c & ~mask);
    default:
        return value;
    }
}

/* A GPU saturates a part of the result to the largest value alone, also what is negative, and parts
 * of shifts as whole words. */
static int64_t saturate(const video *v, int64_t value) {
    if (v->second != MERGE || v->operation == VSHL || v->operation == VSHR)
        return clamp(value, 32, v->d_signed);
    const int64_t most = (INT64_C(1) << (v->merge_bits - v->d_signed)) - 1;
    return value < 0 || value > most ? most : value;
}

static uint32_t scalar(const video *v, uint32_t a, uint32_t b, uint32_t c) {
    /* A whole word of vmad is as signed as the other one; with .sat always, as on a GPU. */
    bool whole = v->operation == VMAD && (v->a_signed || v->b_signed || v->saturates);
    int64_t x = element(a, v->a_from[0], v->a_bits, v->a_signed || (whole && v->a_bits == 32));
    int64_t y = element(b, v->b_from[0], v->b_bits, v->b_signed || (whole && v->b_bits == 32));
    if (v->operation == VMAD)
        return multiply_add(v, x, y, c);
    int64_t value = first(v, x, y);
    if (v->saturates)
        value = saturate(v, value);
    return finish(v, value, c);
}

static uint32_t parallel(const video *v, uint32_t a, uint32_t b, uint32_t c) {
    uint64_t words = a | (uint64_t)b << 32;
    uint32_t result = v->second == ADD ? c : 0, element_mask = (UINT32_C(1) << v->bits) - 1;
    for (unsigned n = 0; n < v->count; n++) {
        int64_t value = first(v, element(words, v->a_from[n], v->bits, v->a_signed),
                              element(words, v->b_from[n], v->bits, v->b_signed));
        bool written = v->mask >> n & 1;
        if (v->saturates)
            value = clamp(value, v->bits, v->d_signed);
        if (v->second == ADD)
            result += written ? (uint32_t)value : 0;
        else
            result |= ((written ? (uint32_t)value : c >> n * v->bits) & element_mask)
                      << n * v->bits;
    }
    return result;
}

static void execute(ptx_warp *w, const ptx_op *op) {
    const video *v = (const video *)(uintptr_t)op->value;
    const uint32_t *a = ptx_at(w, op->a), *b = ptx_at(w, op->b), *c = ptx_at(w, op->c);
    uint32_t *d = ptx_at(w, op->d);
    for (unsigned i = 0; i < PTX_LANES; i++)
        d[i] = v->count == 1 ? scalar(v, a[i], b[i], c[i]) : parallel(v, a[i], b[i], c[i]);
}

/* ---- from the text ---- */

/* The digits of .b3210, the last one first; `first` is what they are if there are none. */
static void read_order(const ptx_operand *o, unsigned count, unsigned begin, unsigned *from) {
    unsigned order = o->part_order;
    for (unsigned n = 0; n < count; n++, order /= 10)
        from[n] = o->part ? order % 10 : begin + n;
}

static void read_mask(const ptx_operand *o, video *v, unsigned digits) {
    if (!o->part) {
        v->mask = 15;
        return;
    }
    unsigned order = o->part_order;
    for (unsigned n = 0; n < digits; n++, order /= 10)
        v->mask |= 1u << order % 10;
}

static unsigned part_bits(const ptx_operand *o) {
    return o->part == 'b' ? 8 : o->part == 'h' ? 16 : 32;
}

/* The parts of scalar instructions' operands. */
static void read_parts(video *v, const ptx_instruction *i) {
    const ptx_operand *d = &i->operands[0], *a = &i->operands[1], *b = &i->operands[2];
    v->a_bits = part_bits(a);
    v->b_bits = part_bits(b);
    read_order(a, 1, 0, v->a_from);
    read_order(b, 1, 0, v->b_from);
    if (!d->part)
        return;
    v->second = MERGE;
    v->merge_bits = part_bits(d);
    v->merge_at = (int)(d->part_order * v->merge_bits);
}

static void read_vmad(video *v, ptx_words *words, const ptx_instruction *i) {
    int scale = acu_ptx_take_one(words, "shr7 shr15");
    v->scale = scale < 0 ? 0 : scale ? 15 : 7;
    v->plus_one = acu_ptx_take(words, "po");
    v->negates_product = i->operands[1].negated != i->operands[2].negated;
    v->negates_c = i->operands[3].negated;
}

/* Returns how many digits the mask's name has: .b20 has two, and .b02 too. */
static unsigned mask_digits(const ptx_operand *o) {
    unsigned digits = 1;
    for (unsigned order = o->part_order; order >= 10; order /= 10)
        digits++;
    return digits;
}

/* Takes the type of an operand, which has 32 bits; returns whether it has a sign. */
static bool take_sign(ptx_lowering *l, ptx_words *words) {
    const ptx_type type = acu_ptx_take_type(words);
    if (type != PTX_S32 && type != PTX_U32)
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
    return type == PTX_S32;
}

/* Reads what the opcode says. */
static void read_opcode(ptx_lowering *l, const ptx_instruction *i, video *v) {
    static const char *const names[] = {"vadd",  "vsub", "vabsdiff", "vmin", "vmax",
                                        "vavrg", "vset", "vshl",     "vshr", "vmad"};
    ptx_words words;
    acu_ptx_words(l, i, &words);
    size_t length = strcspn(words.word[0], "24");
    for (int n = 0; n < 10; n++)
        if (strlen(names[n]) == length && memcmp(names[n], words.word[0], length) == 0)
            v->operation = n;
    v->count = words.word[0][length] == '2' ? 2 : words.word[0][length] == '4' ? 4 : 1;
    v->bits = 32 / v->count;
    v->b_signed = take_sign(l, &words);
    v->a_signed = take_sign(l, &words);
    v->d_signed = v->operation != VSET && take_sign(l, &words);
    v->saturates = acu_ptx_take(&words, "sat");
    if (v->operation == VSET)
        v->comparison = acu_ptx_take_one(&words, "eq ne lt le gt ge");
    if (v->operation == VSHL || v->operation == VSHR)
        v->clamps = acu_ptx_take_one(&words, "clamp wrap") == 0;
    v->second = acu_ptx_take_one(&words, "add min max") + ADD;
    const bool has_c = v->operation == VMAD || v->count > 1 || v->second || i->operands[0].part;
    if (i->operand_count < (has_c ? 4 : 3) || i->operand_count > 4 || v->comparison < 0)
        acu_ptx_mismatch(l);
    if ((v->operation == VSHL || v->operation == VSHR) && v->b_signed)
        acu_ptx_invalid(l, "Operation requires .u32 type");
    if (v->operation == VMAD)
        read_vmad(v, &words, i);
    acu_ptx_words_end(l, &words);
    /* What a GPU does is not clear here. */
    if (v->saturates && ((v->operation == VSHL && v->second >= ADD) ||
                         (!v->d_signed && v->operation <= VSUB && v->second >= MIN)))
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
}

/* Refuses a name of parts with a digit that names none. A source of pairs and the one behind it are
 * counted on. */
static void check_part(ptx_lowering *l, const ptx_instruction *i, const video *v, unsigned n) {
    const ptx_operand *o = &i->operands[n];
    const unsigned parts = o->part == 'h' ? 2 : 4, most = v->count > 1 && n ? 2 * parts : parts;
    unsigned digits = 0;
    bool is_good = true;
    for (unsigned left = o->part_order; left; left /= 10, digits++)
        is_good &= left % 10 < most;
    if (o->part && (!is_good || digits > v->count))
        acu_ptx_invalid(l, "Incorrect video selector for operand %u", n);
}

void acu_ptx_lower_video(ptx_lowering *l, const ptx_instruction *i) {
    video *v = acu_ptx_lower_alloc(l, sizeof *v);
    read_opcode(l, i, v);
    for (unsigned n = 1; n < i->operand_count && v->count > 1; n++)
        if (i->operands[n].kind != PTX_REGISTER)
            acu_ptx_invalid(l, "Incorrect video selector for operand %u", n);
    for (unsigned n = 0; n < i->operand_count; n++)
        check_part(l, i, v, n);
    if (v->count == 1) {
        read_parts(v, i);
    } else {
        read_order(&i->operands[1], v->count, 0, v->a_from);
        read_order(&i->operands[2], v->count, v->count, v->b_from);
        read_mask(&i->operands[0], v, mask_digits(&i->operands[0]));
    }
    ptx_slot a = acu_ptx_source(l, &i->operands[1], PTX_U32);
    ptx_slot b = acu_ptx_source(l, &i->operands[2], PTX_U32);
    ptx_slot c = i->operand_count > 3 ? acu_ptx_source(l, &i->operands[3], PTX_U32) : b;
    ptx_op *op = acu_ptx_emit_pure(l, execute, acu_ptx_target(l, &i->operands[0], PTX_U32), 4);
    op->a = a;
    op->b = b;
    op->c = c;
    op->value = (int64_t)(uintptr_t)v;
}
