#include "sim/ptx/x86.h"

#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

static void put(x86 *x, unsigned byte) {
    if (x->size == x->room) {
        size_t room = x->room ? 2 * x->room : 4096;
        uint8_t *bytes = realloc(x->bytes, room);
        if (!bytes) {
            x->failed = true;
            x->size = 0; /* nothing is written outside, and the rest is lost */
            if (!x->room)
                return;
        } else {
            x->bytes = bytes;
            x->room = room;
        }
    }
    x->bytes[x->size++] = (uint8_t)byte;
}

static void put_number(x86 *x, uint64_t number, unsigned bytes) {
    for (unsigned n = 0; n < bytes; n++)
        put(x, (unsigned)(number >> 8 * n) & 0xff);
}

void acu_x86_bytes(x86 *x, const void *bytes, size_t count) {
    for (size_t n = 0; n < count; n++)
        put(x, ((const uint8_t *)bytes)[n]);
}

/* Writes what names the operands: `reg` in the middle, a register or memory. */
static void put_operands(x86 *x, unsigned reg, x86_place place, bool any_offset) {
    unsigned middle = (reg & 7) << 3, base = place.number & 7;
    if (!place.in_memory) {
        put(x, 0xc0 | middle | base);
        return;
    }
    bool is_short = any_offset && place.offset >= -128 && place.offset < 128;
    put(x, (is_short ? 0x40u : 0x80u) | middle | base);
    if (base == X86_RSP)
        put(x, 0x24);
    put_number(x, (uint32_t)place.offset, is_short ? 1 : 4);
}

/* ---- numbers ---- */

static void put_prefix(x86 *x, bool is_long, unsigned reg, unsigned base) {
    unsigned rex = (is_long ? 8u : 0u) | (reg >> 3) << 2 | base >> 3;
    if (rex)
        put(x, 0x40 | rex);
}

static void plain(x86 *x, bool is_long, unsigned opcode, unsigned reg, x86_place place) {
    put_prefix(x, is_long, reg, place.number);
    put(x, opcode);
    put_operands(x, reg, place, true);
}

static void extended(x86 *x, bool is_long, unsigned opcode, unsigned reg, x86_place place) {
    put_prefix(x, is_long, reg, place.number);
    put(x, 0x0f);
    put(x, opcode);
    put_operands(x, reg, place, true);
}

void acu_x86_word(x86 *x, x86_arithmetic op, x86_register d, x86_place s) {
    plain(x, false, op, d, s);
}

void acu_x86_long(x86 *x, x86_arithmetic op, x86_register d, x86_place s) {
    plain(x, true, op, d, s);
}

static void by_number(x86 *x, bool is_long, x86_arithmetic op, x86_place d, int32_t number) {
    bool is_short = number >= -128 && number < 128;
    if (op == X86_MOV) {
        plain(x, is_long, 0xc7, 0, d);
        put_number(x, (uint32_t)number, 4);
        return;
    }
    plain(x, is_long, is_short ? 0x83 : 0x81, (unsigned)op >> 3, d);
    put_number(x, (uint32_t)number, is_short ? 1 : 4);
}

void acu_x86_word_by(x86 *x, x86_arithmetic op, x86_place d, int32_t number) {
    by_number(x, false, op, d, number);
}

void acu_x86_long_by(x86 *x, x86_arithmetic op, x86_place d, int32_t number) {
    by_number(x, true, op, d, number);
}

void acu_x86_store_word(x86 *x, x86_place d, x86_register s) {
    plain(x, false, 0x89, s, d);
}

void acu_x86_store_long(x86 *x, x86_place d, x86_register s) {
    plain(x, true, 0x89, s, d);
}

void acu_x86_move_if(x86 *x, x86_condition condition, x86_register d, x86_register s) {
    extended(x, true, 0x40 | condition, d, x86_in(s));
}

void acu_x86_load_number(x86 *x, x86_register d, uint64_t number) {
    put_prefix(x, true, 0, d);
    put(x, 0xb8 | (d & 7));
    put_number(x, number, 8);
}

void acu_x86_lea(x86 *x, x86_register d, x86_place s) {
    plain(x, true, 0x8d, d, s);
}

void acu_x86_not(x86 *x, x86_register d) {
    plain(x, false, 0xf7, 2, x86_in(d));
}

void acu_x86_shift_left(x86 *x, x86_register d, unsigned by) {
    plain(x, false, 0xc1, 4, x86_in(d));
    put(x, by);
}

void acu_x86_shift_long(x86 *x, x86_register d, unsigned by) {
    plain(x, true, 0xc1, 4, x86_in(d));
    put(x, by);
}

void acu_x86_widen(x86 *x, x86_register d) {
    plain(x, true, 0x63, d, x86_in(d));
}

void acu_x86_multiply(x86 *x, x86_register d, x86_place s) {
    extended(x, true, 0xaf, d, s);
}

void acu_x86_test_bits(x86 *x, x86_register d, uint32_t bits) {
    plain(x, false, 0xf7, 0, x86_in(d));
    put_number(x, bits, 4);
}

void acu_x86_first_bit(x86 *x, x86_register d, x86_register s) {
    put(x, 0xf3);
    extended(x, false, 0xbc, d, x86_in(s));
}

void acu_x86_move_indexed(x86 *x, x86_move move, x86_register r, x86_register base,
                          x86_register index, unsigned scale) {
    static const uint8_t opcodes[] = {0xb7, 0x8b, 0x8b, 0x63, 0x88, 0x89, 0x89, 0x89};
    const bool is_long = move == X86_LOAD_LONG || move == X86_LOAD_SIGNED || move == X86_STORE_LONG;
    const unsigned scales = scale == 8 ? 3 : scale / 2;
    if (move == X86_STORE_SHORT)
        put(x, 0x66);
    put(x, 0x40 | (is_long ? 8u : 0u) | ((unsigned)r >> 3) << 2 | ((unsigned)index >> 3) << 1 |
               (unsigned)base >> 3);
    if (move == X86_LOAD_SHORT)
        put(x, 0x0f);
    put(x, opcodes[move]);
    put(x, 0x44 | ((unsigned)r & 7) << 3);
    put(x, scales << 6 | ((unsigned)index & 7) << 3 | ((unsigned)base & 7));
    put(x, 0);
}

void acu_x86_load_signed(x86 *x, x86_register d, x86_place s) {
    plain(x, true, 0x63, d, s);
}

void acu_x86_load_short(x86 *x, x86_register d, x86_place s) {
    extended(x, false, 0xb7, d, s);
}

void acu_x86_push(x86 *x, x86_register s) {
    put_prefix(x, false, 0, s);
    put(x, 0x50 | (s & 7));
}

void acu_x86_pop(x86 *x, x86_register d) {
    put_prefix(x, false, 0, d);
    put(x, 0x58 | (d & 7));
}

void acu_x86_call(x86 *x, x86_place target) {
    plain(x, false, 0xff, 2, target);
}

void acu_x86_jump_to(x86 *x, x86_register target) {
    plain(x, false, 0xff, 4, x86_in(target));
}

void acu_x86_prefetch(x86 *x, x86_place s) {
    extended(x, false, 0x18, 1, s);
}

void acu_x86_return(x86 *x) {
    put(x, 0xc3);
}

size_t acu_x86_jump(x86 *x, x86_condition condition) {
    if (condition != X86_ALWAYS)
        put(x, 0x0f);
    put(x, condition == X86_ALWAYS ? 0xe9u : 0x80u | condition);
    put_number(x, 0, 4);
    return x->size;
}

size_t acu_x86_call_near(x86 *x) {
    put(x, 0xe8);
    put_number(x, 0, 4);
    return x->size;
}

void acu_x86_land(x86 *x, size_t jump, size_t at) {
    if (x->failed)
        return;
    uint32_t distance = (uint32_t)(at - jump);
    for (unsigned n = 0; n < 4; n++)
        x->bytes[jump - 4 + n] = (uint8_t)(distance >> 8 * n);
}

/* ---- vectors ---- */

typedef struct parts {
    unsigned pp, map, w, wide_w, opcode;
} parts;

static parts parts_of(x86_vector op) {
    return (parts){(unsigned)op & 3, (unsigned)op >> 2 & 3, (unsigned)op >> 4 & 1,
                   (unsigned)op >> 5 & 1, (unsigned)op >> 8};
}

static void vex(x86 *x, parts p, bool is_256, unsigned d, unsigned a, x86_place b) {
    put(x, 0xc4);
    put(x, (~d >> 3 & 1) << 7 | 1u << 6 | (~(unsigned)b.number >> 3 & 1) << 5 | p.map);
    put(x, p.w << 7 | (~a & 15) << 3 | (is_256 ? 4u : 0u) | p.pp);
    put(x, p.opcode);
    put_operands(x, d, b, true);
}

static void evex(x86 *x, parts p, unsigned d, unsigned a, x86_place b, unsigned k) {
    unsigned high = b.in_memory ? 1 : ~(unsigned)b.number >> 4 & 1;
    put(x, 0x62);
    put(x, (~d >> 3 & 1) << 7 | high << 6 | (~(unsigned)b.number >> 3 & 1) << 5 |
               (~d >> 4 & 1) << 4 | p.map);
    put(x, p.wide_w << 7 | (~a & 15) << 3 | 4u | p.pp);
    put(x, 2u << 5 | (~a >> 4 & 1) << 3 | k);
    put(x, p.opcode);
    put_operands(x, d, b, false);
}

void acu_x86_vector(x86 *x, x86_vector op, unsigned d, unsigned a, x86_place b) {
    if (x->wide)
        evex(x, parts_of(op), d, a, b, 0);
    else
        vex(x, parts_of(op), true, d, a, b);
}

void acu_x86_vector_by(x86 *x, x86_vector op, unsigned d, unsigned a, x86_place b, uint8_t by) {
    acu_x86_vector(x, op, d, a, b);
    put(x, by);
}

void acu_x86_shift_by(x86 *x, x86_shift shift, unsigned d, unsigned a, uint8_t by) {
    const unsigned opcode = (unsigned)shift >> 8, number = (unsigned)shift & 7;
    /* the number is where other instructions have their result */
    acu_x86_vector_by(x, (x86_vector)X86_V(1, 1, 0, opcode == 0x73, opcode), number, d, x86_in(a),
                      by);
}

void acu_x86_rounded(x86 *x, x86_vector op, unsigned d, unsigned a, unsigned b, x86_rounding r) {
    const size_t at = x->size + 3;
    acu_x86_vector(x, op, d, a, x86_in(b));
    if (!x->failed) /* in place of the vectors' size */
        x->bytes[at] = (uint8_t)((x->bytes[at] & 0x9f) | (unsigned)r << 5 | 1u << 4);
}

void acu_x86_load_control(x86 *x, x86_place s) {
    extended(x, false, 0xae, 2, s);
}

void acu_x86_masked(x86 *x, x86_vector op, unsigned d, unsigned a, x86_place b, unsigned k) {
    evex(x, parts_of(op), d, a, b, k);
}

void acu_x86_masked_by(x86 *x, x86_vector op, unsigned d, unsigned a, x86_place b, unsigned k,
                       uint8_t by) {
    evex(x, parts_of(op), d, a, b, k);
    put(x, by);
}

void acu_x86_gather(x86 *x, x86_vector op, unsigned d, x86_register base, unsigned index,
                    int32_t offset, unsigned mask) {
    const parts p = parts_of(op);
    const unsigned first =
        (~d >> 3 & 1) << 7 | (~index >> 3 & 1) << 6 | (~(unsigned)base >> 3 & 1) << 5 | p.map;
    if (x->wide) {
        put(x, 0x62);
        put(x, first | (~d >> 4 & 1) << 4);
        put(x, p.wide_w << 7 | 15u << 3 | 4u | p.pp);
        put(x, 2u << 5 | (~index >> 4 & 1) << 3 | mask);
    } else {
        put(x, 0xc4);
        put(x, first);
        put(x, p.w << 7 | (~mask & 15) << 3 | 4u | p.pp);
    }
    put(x, p.opcode);
    put(x, 0x84 | (d & 7) << 3);
    put(x, (index & 7) << 3 | ((unsigned)base & 7));
    put_number(x, (uint32_t)offset, 4);
}

void acu_x86_drop_first_bit(x86 *x, x86_register d, x86_register s) {
    vex(x, (parts){0, 2, 0, 0, 0xf3}, false, 1, d, x86_in(s));
}

void acu_x86_take_first(x86 *x, x86_register d, unsigned vector, unsigned size) {
    const parts p = {1, 1, size == 8, size == 8, 0x7e};
    if (!x->wide) {
        vex(x, p, false, vector, 0, x86_in(d));
        return;
    }
    put(x, 0x62);
    put(x, (~vector >> 3 & 1) << 7 | 1u << 6 | (~(unsigned)d >> 3 & 1) << 5 |
               (~vector >> 4 & 1) << 4 | 1u);
    put(x, p.wide_w << 7 | 15u << 3 | 4u | 1u);
    put(x, 1u << 3);
    put(x, p.opcode);
    put_operands(x, vector, x86_in(d), false);
}

void acu_x86_zeroupper(x86 *x) {
    put(x, 0xc5);
    put(x, 0xf8);
    put(x, 0x77);
}

/* ---- masks ---- */

void acu_x86_load_mask(x86 *x, unsigned k, unsigned bits, x86_place s) {
    vex(x, (parts){bits != 16, 1, bits == 32, 0, 0x90}, false, k, 0, s);
}

void acu_x86_test_mask(x86 *x, unsigned k) {
    acu_x86_test_masks(x, k, k);
}

void acu_x86_test_masks(x86 *x, unsigned a, unsigned b) {
    vex(x, (parts){0, 1, 0, 0, 0x98}, false, a, 0, x86_in(b));
}

void acu_x86_take_mask(x86 *x, x86_register d, unsigned k) {
    vex(x, (parts){3, 1, 0, 0, 0x93}, false, d, 0, x86_in(k));
}

void acu_x86_give_mask(x86 *x, unsigned k, x86_register s) {
    vex(x, (parts){3, 1, 0, 0, 0x92}, false, k, 0, x86_in(s));
}

void acu_x86_copy_mask(x86 *x, unsigned d, unsigned s) {
    vex(x, (parts){0, 1, 0, 0, 0x90}, false, d, 0, x86_in(s));
}

void acu_x86_not_mask(x86 *x, unsigned d, unsigned s) {
    vex(x, (parts){0, 1, 0, 0, 0x44}, false, d, 0, x86_in(s));
}

void acu_x86_and_masks(x86 *x, unsigned d, unsigned a, unsigned b) {
    vex(x, (parts){0, 1, 0, 0, 0x41}, true, d, a, x86_in(b));
}

void acu_x86_and_not_masks(x86 *x, unsigned d, unsigned a, unsigned b) {
    vex(x, (parts){0, 1, 0, 0, 0x42}, true, d, a, x86_in(b));
}

void acu_x86_upper_mask(x86 *x, unsigned d, unsigned s, unsigned bits) {
    vex(x, (parts){1, 3, bits == 8, 0, bits == 8 ? 0x30 : 0x31}, false, d, 0, x86_in(s));
    put(x, bits);
}

void acu_x86_join_masks(x86 *x, unsigned bits, unsigned d, unsigned high, unsigned low) {
    vex(x, (parts){bits == 8, 1, 0, 0, 0x4b}, true, d, high, x86_in(low));
}

void acu_x86_set_mask(x86 *x, unsigned k) {
    vex(x, (parts){0, 1, 0, 0, 0x46}, true, k, k, x86_in(k));
}

void acu_x86_shift_mask(x86 *x, unsigned d, unsigned s, unsigned bits) {
    vex(x, (parts){1, 3, 0, 0, 0x31}, false, d, 0, x86_in(s));
    put(x, bits);
}
