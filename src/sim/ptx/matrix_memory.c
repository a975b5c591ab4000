/* How matrices come from memory to the registers of a warp, and back: ldmatrix, stmatrix,
 * movmatrix, wmma.load and wmma.store. */
#include "sim/ptx/check_inside.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/matrix.h"

#include <string.h>

typedef uint16_t lane_half __attribute__((may_alias));
typedef uint32_t lane_word __attribute__((may_alias));
typedef uint64_t lane_long __attribute__((may_alias));

/* What an operation does; `more` of it. Its `b` is the address, `value` its offset. */
typedef struct matrix_access {
    ptx_space space;
    bool narrow;     /* the address has 32 bits */
    bool transposed; /* of 8x8 matrices; of wmma's: columns lie one behind the other */
    char which;      /* of wmma: a, b, c or d */
    bool writes;
    unsigned rows, columns; /* of wmma's matrix */
    ptx_slot stride;        /* of wmma; UINT32_MAX: none */
    ptx_fragment fragment;
} matrix_access;

static uint64_t address_of(const ptx_warp *w, const ptx_op *op, unsigned lane) {
    const matrix_access *access = op->more;
    const void *at = ptx_at(w, op->b);
    if (access->narrow)
        return (uint32_t)(((const lane_word *)at)[lane] + (uint64_t)op->value);
    return ((const lane_long *)at)[lane] + (uint64_t)op->value;
}

/* ---- 8x8 matrices of 16 bits ---- */

/* Lane 8n + i has the address of row i of matrix n. A lane that is not active has none. */
static void find_rows(ptx_warp *w, const ptx_op *op, char **rows, char *instead) {
    const matrix_access *access = op->more;
    for (unsigned i = 0; i < PTX_LANES; i++)
        rows[i] = i < access->fragment.count * 8u && w->lanes[i]
                      ? acu_ptx_memory_at(w, op, i, access->space, address_of(w, op, i), 16, 16,
                                          access->writes)
                      : instead;
}

/* Returns what a lane has of a matrix: two neighbours of row lane / 4, or of that column. */
static uint32_t two_of(char *const *rows, unsigned lane, bool transposed) {
    uint32_t word;
    if (!transposed) {
        memcpy(&word, (const lane_word *)rows[lane / 4] + lane % 4, sizeof word);
        return word;
    }
    size_t row = lane % 4 * (size_t)2;
    word = ((const lane_half *)rows[row + 1])[lane / 4];
    return word << 16 | ((const lane_half *)rows[row])[lane / 4];
}

static void do_ldmatrix(ptx_warp *w, const ptx_op *op) {
    const matrix_access *access = op->more;
    char *rows[PTX_LANES], nothing[16] = {0};
    find_rows(w, op, rows, nothing);
    for (unsigned n = 0; n < access->fragment.count; n++) {
        lane_word *d = ptx_at(w, access->fragment.slots[n]);
        for (unsigned lane = 0; lane < PTX_LANES; lane++)
            if (w->lanes[lane])
                d[lane] = two_of(rows + (size_t)n * 8, lane, access->transposed);
    }
}

static void do_stmatrix(ptx_warp *w, const ptx_op *op) {
    const matrix_access *access = op->more;
    char *rows[PTX_LANES], nobody[16];
    find_rows(w, op, rows, nobody);
    for (unsigned n = 0; n < access->fragment.count; n++) {
        const lane_word *from = ptx_at(w, access->fragment.slots[n]);
        char *const *row = rows + (size_t)n * 8;
        for (unsigned lane = 0; lane < PTX_LANES; lane++)
            for (unsigned e = 0; e < 2; e++) {
                unsigned i = access->transposed ? lane % 4 * 2 + e : lane / 4;
                unsigned j = access->transposed ? lane / 4 : lane % 4 * 2 + e;
                if (w->lanes[lane])
                    ((lane_half *)row[i])[j] = (uint16_t)(from[lane] >> e * 16);
            }
    }
}

static void do_movmatrix(ptx_warp *w, const ptx_op *op) {
    const matrix_access *access = op->more;
    uint32_t words[PTX_LANES], *d = ptx_at(w, op->d);
    char *rows[8];
    memcpy(words, ptx_at(w, access->fragment.slots[0]), sizeof words);
    for (unsigned i = 0; i < 8; i++)
        rows[i] = (char *)(words + (size_t)i * 4);
    for (unsigned lane = 0; lane < PTX_LANES; lane++)
        if (w->lanes[lane])
            d[lane] = two_of(rows, lane, true);
}

/* ---- matrices of wmma ---- */

/* Where the elements of a register are: that of lane 4g + t with the number e is `first` + g * `g`
 * + t * `t` + e * `e`, counted in elements. */
typedef struct places {
    uint64_t first, g, t, e;
    unsigned each;
} places;

/* As matrix_fragment.c says; `rows` and `columns` are how far those are apart. */
static places places_of(const matrix_access *access, unsigned n, uint64_t rows, uint64_t columns) {
    unsigned bits = ptx_element_bits(access->fragment.element), each = bits < 32 ? 32 / bits : 1;
    unsigned blocks = access->rows / 8;
    if (access->which == 'a') {
        n %= blocks * access->columns / (4 * each);
        return (places){(uint64_t)(n % blocks) * 8 * rows +
                            (uint64_t)(n / blocks) * 4 * each * columns,
                        rows, each * columns, columns, each};
    }
    if (access->which == 'b') {
        unsigned deep = access->rows / (4 * each);
        n %= deep * access->columns / 8;
        return (places){(uint64_t)(n / deep) * 8 * columns + (uint64_t)(n % deep) * 4 * each * rows,
                        columns, each * rows, rows, each};
    }
    unsigned block = each == 2 ? n : n / 2;
    uint64_t first = (block % blocks * rows + block / blocks * columns) * 8;
    return (places){first + (each == 2 ? 0 : n % 2 * columns), rows, 2 * columns, columns, each};
}

/* Copies one lane's elements between memory and its register. */
static void copy_lane(char *memory, char *element, const places *p, unsigned bits, bool writes) {
    size_t size = bits == 64 ? 8 : 4, step = (size_t)p->e * bits / 8;
    if (p->each > 1 && p->e > 1)
        size = bits / 8; /* one after the other */
    unsigned count = p->each > 1 && p->e > 1 ? p->each : 1;
    for (unsigned e = 0; e < count; e++)
        if (writes)
            memcpy(memory + e * step, element + e * size, size);
        else
            memcpy(element + e * size, memory + e * step, size);
}

/* The whole matrix is where the first active lane says. */
static void do_access(ptx_warp *w, const ptx_op *op) {
    const matrix_access *access = op->more;
    unsigned lane = (unsigned)__builtin_ctz(w->mask),
             bits = ptx_element_bits(access->fragment.element);
    unsigned inner = access->transposed ? access->rows : access->columns,
             outer = access->transposed ? access->columns : access->rows;
    uint64_t stride = inner;
    if (access->stride != UINT32_MAX)
        stride = ((const lane_word *)ptx_at(w, access->stride))[lane];
    size_t bytes = ((outer - 1) * stride + inner) * bits / 8, align = bits == 64 ? 8 : 4;
    char *memory = acu_ptx_memory_at(w, op, lane, access->space, address_of(w, op, lane), bytes,
                                     align, access->writes);
    for (unsigned n = 0; n < access->fragment.count; n++) {
        places p =
            places_of(access, n, access->transposed ? 1 : stride, access->transposed ? stride : 1);
        char *elements = ptx_at(w, access->fragment.slots[n]);
        for (unsigned i = 0; i < PTX_LANES; i++)
            if (w->lanes[i])
                copy_lane(memory + (p.first + i / 4 * p.g + i % 4 * p.t) * bits / 8,
                          elements + i * align, &p, bits, access->writes);
    }
}

/* ---- lowering ---- */

static ptx_op *emit_access(ptx_lowering *l, const ptx_operand *at, matrix_access *access,
                           ptx_handler *handler) {
    ptx_address address = acu_ptx_address(l, at, access->space);
    unsigned inner = access->transposed ? access->rows : access->columns,
             outer = access->transposed ? access->columns : access->rows,
             bits = ptx_element_bits(access->fragment.element);
    acu_ptx_check_access(
        l, (ptx_check_site){.space = access->space,
                            .address = address,
                            .bytes = outer ? inner * bits / 8 : 16,
                            .lanes = outer ? 0 : (1u << 8 * (access->fragment.count & 3)) - 1,
                            .rows = outer,
                            .bits = bits,
                            .has_stride = access->stride != UINT32_MAX && outer,
                            .stride = access->stride,
                            .reads = !access->writes,
                            .writes = access->writes,
                            .together = true});
    uint32_t site = acu_ptx_site(l);
    access->narrow = address.narrow;
    ptx_op *op = acu_ptx_emit_together(l, handler);
    op->b = address.slot;
    op->value = address.offset;
    op->site = site;
    op->more = access;
    return op;
}

static void lower_8x8(ptx_lowering *l, const ptx_instruction *i, bool writes) {
    matrix_access *access = acu_ptx_lower_alloc(l, sizeof *access);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    acu_ptx_need(l, &words, "sync");
    acu_ptx_need_aligned(l, &words);
    bool shaped = acu_ptx_take(&words, "m8n8");
    int count = acu_ptx_take_one(&words, "x1 x2 x4");
    access->transposed = acu_ptx_take(&words, "trans");
    access->space = acu_ptx_take_space(&words);
    shaped &= acu_ptx_take(&words, "b16");
    acu_ptx_words_end(l, &words);
    access->writes = writes;
    if (i->operand_count != 2 || count < 0 || !shaped)
        acu_ptx_mismatch(l);
    acu_ptx_fragment(l, &i->operands[writes], PTX_E_F16, !writes, &access->fragment);
    if (access->fragment.count != 1u << count)
        acu_ptx_mismatch(l);
    emit_access(l, &i->operands[!writes], access, writes ? do_stmatrix : do_ldmatrix);
}

void acu_ptx_lower_ldmatrix(ptx_lowering *l, const ptx_instruction *i) {
    lower_8x8(l, i, false);
}

void acu_ptx_lower_stmatrix(ptx_lowering *l, const ptx_instruction *i) {
    lower_8x8(l, i, true);
}

void acu_ptx_lower_movmatrix(ptx_lowering *l, const ptx_instruction *i) {
    matrix_access *access = acu_ptx_lower_alloc(l, sizeof *access);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    acu_ptx_need(l, &words, "sync");
    acu_ptx_need_aligned(l, &words);
    bool shaped = acu_ptx_take(&words, "m8n8") && acu_ptx_take(&words, "trans") &&
                  acu_ptx_take(&words, "b16");
    acu_ptx_words_end(l, &words);
    if (i->operand_count != 2 || !shaped)
        acu_ptx_mismatch(l);
    acu_ptx_fragment(l, &i->operands[1], PTX_E_F16, false, &access->fragment);
    ptx_slot d = acu_ptx_target(l, &i->operands[0], PTX_B32);
    ptx_op *op = acu_ptx_emit_together(l, do_movmatrix);
    op->d = d;
    op->more = access;
}

/* Takes the words of wmma.load and wmma.store; returns how many registers the matrix has. */
static unsigned take_words(ptx_lowering *l, const ptx_instruction *i, matrix_access *access) {
    ptx_words words;
    unsigned m = 0, n = 0, k = 0;
    acu_ptx_words(l, i, &words);
    access->writes = acu_ptx_take_one(&words, "load store") == 1;
    int which = acu_ptx_take_one(&words, access->writes ? "d" : "a b c");
    access->which = access->writes ? 'd' : (char)('a' + which);
    acu_ptx_need(l, &words, "sync");
    acu_ptx_need_aligned(l, &words);
    acu_ptx_need_layouts(l, &words, 1);
    access->transposed = acu_ptx_take_columns(&words);
    access->space = acu_ptx_take_space(&words);
    bool shaped = acu_ptx_take_shape(&words, &m, &n, &k);
    ptx_element element = access->fragment.element = acu_ptx_take_element(&words);
    acu_ptx_words_end(l, &words);
    if (which < 0 || !shaped || element == PTX_E_NONE || m % 8 || n % 8)
        acu_ptx_invalid(l, "Illegal matrix shape or type for instruction '%s'",
                        acu_ptx_first_word(l));
    access->rows = access->which == 'b' ? k : m;
    access->columns = access->which == 'a' ? k : n;
    bool is_factor = access->which == 'a' || access->which == 'b';
    if (ptx_element_bits(element) < 8 && access->transposed != (access->which == 'b'))
        acu_ptx_invalid(l, "Illegal layout for instruction '%s'", acu_ptx_first_word(l));
    return is_factor && element == PTX_E_F16
               ? 8
               : acu_ptx_fragment_size(element, access->rows, access->columns);
}

void acu_ptx_lower_matrix_access(ptx_lowering *l, const ptx_instruction *i) {
    matrix_access *access = acu_ptx_lower_alloc(l, sizeof *access);
    unsigned count = take_words(l, i, access);
    bool strided = i->operand_count == 3;
    if (!strided && i->operand_count != 2)
        acu_ptx_mismatch(l);
    acu_ptx_fragment(l, &i->operands[access->writes], access->fragment.element, !access->writes,
                     &access->fragment);
    if (access->fragment.count != count)
        acu_ptx_mismatch(l);
    access->stride = strided ? acu_ptx_source(l, &i->operands[2], PTX_B32) : UINT32_MAX;
    emit_access(l, &i->operands[!access->writes], access, do_access);
}
