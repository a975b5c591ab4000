/* The kernels of strided copies, as PTX: text that is written for each size of a word. */
#include "safe/kernel/strided.h"

#include <stdarg.h>
#include <stdio.h>

/* The text so far. */
typedef struct writer {
    char *text;
    size_t size, used; /* `used` counts also what has no room */
    unsigned word;     /* bytes */
} writer;

__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const size_t left = w->used < w->size ? w->size - w->used : 0;
    const int length = vsnprintf(left ? w->text + w->used : NULL, left, format, args);
    va_end(args);
    w->used += length > 0 ? (size_t)length : 0;
}

#define OFFSET(member) ((unsigned)offsetof(acu_strided_layout, member))

/* ---- words ---- */

/* A word of 16 bytes is two registers; the others are one, of at least 32 bits. */
static const char *registers(const writer *w) {
    return w->word >= 8 ? ".b64" : ".b32";
}

static const char *type(const writer *w) {
    return w->word == 1 ? "u8" : w->word == 2 ? "u16" : w->word == 4 ? "u32" : "u64";
}

/* Loads word `n` from an address, where the predicate is true. */
static void load(writer *w, unsigned n, const char *space, const char *predicate, const char *at) {
    if (w->word == 16)
        put(w, "@%s ld.%s.v2.u64 {%%v%u, %%v%u}, [%s];\n", predicate, space, 2 * n, 2 * n + 1, at);
    else
        put(w, "@%s ld.%s.%s %%v%u, [%s];\n", predicate, space, type(w), n, at);
}

static void store(writer *w, unsigned n, const char *space, const char *predicate, const char *at) {
    if (w->word == 16)
        put(w, "@%s st.%s.v2.u64 [%s], {%%v%u, %%v%u};\n", predicate, space, at, 2 * n, 2 * n + 1);
    else
        put(w, "@%s st.%s.%s [%s], %%v%u;\n", predicate, space, type(w), at, n);
}

/* ---- what both kernels begin with ---- */

static void begin(writer *w, acu_strided_kind kind, unsigned words) {
    char name[32];
    acu_strided_name(kind, w->word, name);
    put(w, ".version 6.0\n.target sm_52\n.address_size 64\n");
    put(w, ".visible .entry %s(.param .u64 .ptr to, .param .u64 .ptr from,\n", name);
    put(w, "    .param .align 8 .b8 layout[%zu])\n.maxntid %d, 1, 1\n{\n",
        sizeof(acu_strided_layout), ACU_STRIDED_THREADS);
    put(w, ".reg .pred %%p<%u>;\n.reg .b32 %%r<%u>;\n.reg .b64 %%d<%u>;\n.reg %s %%v<%u>;\n",
        words + 8, 2 * words + 32, 2 * words + 32, registers(w), 2 * words);
    /* d0, d1: where the first words are; d2: the dimensions; r0: the thread; r1: the block */
    put(w,
        "ld.param.u64 %%d0, [to];\nld.param.u64 %%d1, [from];\n"
        "cvta.to.global.u64 %%d0, %%d0;\ncvta.to.global.u64 %%d1, %%d1;\n"
        "ld.param.u64 %%d3, [layout+%u];\nld.param.u64 %%d4, [layout+%u];\n"
        "add.s64 %%d0, %%d0, %%d3;\nadd.s64 %%d1, %%d1, %%d4;\n"
        "mov.b64 %%d2, layout;\nadd.s64 %%d2, %%d2, %u;\n"
        "mov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%ctaid.x;\n",
        OFFSET(to_at), OFFSET(from_at), OFFSET(dims));
}

/* Loads the dimension at d2, and makes d2 lead to the next one: the count is r2, the magic number
 * r3, the shift r4, the steps d3 and d4. */
static void next_dim(writer *w) {
    put(w,
        "ld.param.u32 %%r2, [%%d2];\nld.param.u32 %%r3, [%%d2+4];\n"
        "ld.param.u32 %%r4, [%%d2+8];\nld.param.u64 %%d3, [%%d2+16];\n"
        "ld.param.u64 %%d4, [%%d2+24];\nadd.s64 %%d2, %%d2, %zu;\n",
        sizeof(acu_strided_dim));
}

/* Divides the register `rest` by the dimension's count, and adds the remainder's steps to two
 * addresses. The remainder stays in r5. */
static void divide(writer *w, unsigned rest, unsigned to, unsigned from) {
    put(w, "mul.hi.u32 %%r6, %%r%u, %%r3;\nadd.u32 %%r6, %%r6, %%r%u;\nshr.u32 %%r6, %%r6, %%r4;\n",
        rest, rest);
    put(w, "mul.lo.u32 %%r5, %%r6, %%r2;\nsub.u32 %%r5, %%r%u, %%r5;\nmov.u32 %%r%u, %%r6;\n", rest,
        rest);
    put(w,
        "cvt.u64.u32 %%d5, %%r5;\nmad.lo.s64 %%d%u, %%d5, %%d3, %%d%u;\n"
        "mad.lo.s64 %%d%u, %%d5, %%d4, %%d%u;\n",
        to, to, from, from);
}

/* ---- a word for each number ---- */

static void write_each(writer *w) {
    char at[16], predicate[16];
    const unsigned words = acu_strided_words(w->word);
    begin(w, ACU_STRIDED_EACH, words);
    /* r7: words; r8: dimensions; r16 …: the numbers; d16 …: the addresses, to and from */
    put(w,
        "ld.param.u32 %%r7, [layout+%u];\nld.param.u32 %%r8, [layout+%u];\n"
        "mad.lo.u32 %%r16, %%r1, %u, %%r0;\n",
        OFFSET(total), OFFSET(rank), ACU_STRIDED_THREADS * words);
    for (unsigned i = 1; i < words; i++)
        put(w, "add.u32 %%r%u, %%r16, %u;\n", 16 + i, ACU_STRIDED_THREADS * i);
    for (unsigned i = 0; i < words; i++)
        put(w, "setp.lt.u32 %%p%u, %%r%u, %%r7;\nmov.u64 %%d%u, %%d0;\nmov.u64 %%d%u, %%d1;\n",
            8 + i, 16 + i, 16 + 2 * i, 17 + 2 * i);
    put(w, "DIMENSION:\n");
    next_dim(w);
    for (unsigned i = 0; i < words; i++)
        divide(w, 16 + i, 16 + 2 * i, 17 + 2 * i);
    put(w, "sub.u32 %%r8, %%r8, 1;\nsetp.ne.u32 %%p0, %%r8, 0;\n@%%p0 bra DIMENSION;\n");
    for (unsigned i = 0; i < words; i++) {
        snprintf(at, sizeof at, "%%d%u", 17 + 2 * i);
        snprintf(predicate, sizeof predicate, "%%p%u", 8 + i);
        load(w, i, "global", predicate, at);
    }
    for (unsigned i = 0; i < words; i++) {
        snprintf(at, sizeof at, "%%d%u", 16 + 2 * i);
        snprintf(predicate, sizeof predicate, "%%p%u", 8 + i);
        store(w, i, "global", predicate, at);
    }
    put(w, "ret;\n}\n");
}

/* ---- tiles ---- */

enum { LANES = 32, ROWS = ACU_STRIDED_THREADS / LANES };

/* A row of a tile in shared memory has some bytes more, so that a column is in different banks. */
static unsigned row_bytes(const writer *w) {
    return acu_strided_side(ACU_STRIDED_TILE, w->word) * w->word + (w->word < 4 ? 4 : w->word);
}

/* Finds the tile and where it begins: r9 and r10 become the words that it has across and down, or
 * more. */
static void find_tile(writer *w, unsigned side) {
    put(w,
        "ld.param.u32 %%r8, [layout+%u];\nld.param.u32 %%r9, [layout+%u];\n"
        "ld.param.u32 %%r10, [layout+%u];\n",
        OFFSET(rank), OFFSET(across), OFFSET(down));
    for (unsigned i = 0; i < 2; i++) {
        next_dim(w);
        divide(w, 1, 0, 1);
        put(w, "mul.lo.u32 %%r5, %%r5, %u;\nsub.u32 %%r%u, %%r%u, %%r5;\n", side, 9 + i, 9 + i);
    }
    put(w, "sub.u32 %%r8, %%r8, 2;\nsetp.eq.u32 %%p0, %%r8, 0;\n@%%p0 bra FOUND;\nDIMENSION:\n");
    next_dim(w);
    divide(w, 1, 0, 1);
    put(w, "sub.u32 %%r8, %%r8, 1;\nsetp.ne.u32 %%p0, %%r8, 0;\n@%%p0 bra DIMENSION;\nFOUND:\n");
}

/* A side of a tile: the lanes of a warp go along its fastest dimension, of which there are r`fast`
 * words, d3 bytes apart; the warps along the other one, of which there are r`slow` words, d4 bytes
 * apart. d`at` is where the tile begins there. */
typedef struct tile_side {
    bool is_source;
    unsigned at, fast, slow;
    unsigned lane_bytes, warp_bytes; /* steps in shared memory */
} tile_side;

/* Computes d6: the address of this thread's first word; d8 and d9: bytes between the columns and
 * the rows of a thread; r15: the place in shared memory; p1 …: which columns there are. */
static void find_words(writer *w, const tile_side *s, unsigned columns) {
    put(w,
        "cvt.u64.u32 %%d5, %%r11;\nmad.lo.s64 %%d6, %%d5, %%d3, %%d%u;\n"
        "cvt.u64.u32 %%d5, %%r12;\nmad.lo.s64 %%d6, %%d5, %%d4, %%d6;\n"
        "shl.b64 %%d8, %%d3, 5;\nshl.b64 %%d9, %%d4, 3;\n",
        s->at);
    put(w, "mad.lo.u32 %%r15, %%r11, %u, %%r13;\nmad.lo.u32 %%r15, %%r12, %u, %%r15;\n",
        s->lane_bytes, s->warp_bytes);
    for (unsigned j = 0; j < columns; j++)
        put(w, "add.u32 %%r14, %%r11, %u;\nsetp.lt.u32 %%p%u, %%r14, %%r%u;\n", j * LANES, 1 + j,
            s->fast);
}

/* Loads or stores the words of one row of this thread, of which d7 is the address in the row. */
static void move_row(writer *w, const tile_side *s, unsigned row, unsigned columns,
                     bool in_shared) {
    const char *space = in_shared ? "shared" : "global";
    const bool loads = in_shared != s->is_source;
    char where[24];
    put(w, "add.u32 %%r14, %%r12, %u;\n", row * ROWS);
    for (unsigned j = 0; j < columns; j++) {
        put(w, "setp.lt.and.u32 %%p4, %%r14, %%r%u, %%p%u;\n", s->slow, 1 + j);
        if (!in_shared && j > 0)
            put(w, "add.s64 %%d10, %%d7, %%d8;\n");
        if (in_shared)
            snprintf(where, sizeof where, "%%r15+%u",
                     row * ROWS * s->warp_bytes + j * LANES * s->lane_bytes);
        else
            snprintf(where, sizeof where, j > 0 ? "%%d10" : "%%d7");
        if (loads)
            load(w, row * columns + j, space, "%p4", where);
        else
            store(w, row * columns + j, space, "%p4", where);
    }
    if (!in_shared)
        put(w, "add.s64 %%d7, %%d7, %%d9;\n");
}

/* Moves the tile between one side and shared memory. All words are on their way before one is
 * used. */
static void move_tile(writer *w, const tile_side *s) {
    const unsigned side = acu_strided_side(ACU_STRIDED_TILE, w->word), columns = side / LANES;
    find_words(w, s, columns);
    for (unsigned pass = 0; pass < 2; pass++) {
        put(w, "mov.u64 %%d7, %%d6;\n");
        for (unsigned row = 0; row < side / ROWS; row++)
            move_row(w, s, row, columns, (pass == 1) == s->is_source);
    }
}

static void write_tile(writer *w) {
    const unsigned side = acu_strided_side(ACU_STRIDED_TILE, w->word);
    const tile_side source = {true, 1, 10, 9, w->word, row_bytes(w)};
    const tile_side destination = {false, 0, 9, 10, row_bytes(w), w->word};
    begin(w, ACU_STRIDED_TILE, side * side / ACU_STRIDED_THREADS);
    put(w, ".shared .align 16 .b8 tile[%u];\n", side * row_bytes(w));
    find_tile(w, side);
    /* r11: the lane; r12: the warp; r13: shared memory */
    put(w, "and.b32 %%r11, %%r0, 31;\nshr.u32 %%r12, %%r0, 5;\nmov.u32 %%r13, tile;\n");
    put(w, "ld.param.u64 %%d3, [layout+%u];\nld.param.u64 %%d4, [layout+%u];\n", OFFSET(down_from),
        OFFSET(across_from));
    move_tile(w, &source);
    put(w, "bar.sync 0;\nld.param.u64 %%d3, [layout+%u];\nld.param.u64 %%d4, [layout+%u];\n",
        OFFSET(across_to), OFFSET(down_to));
    move_tile(w, &destination);
    put(w, "ret;\n}\n");
}

/* ---- packed tiles ---- */

/* A row of a packed tile in shared memory has 32 registers and one more, for the banks. */
enum { PACKED_ROW = 4 * (LANES + 1), PACKED_ROUNDS = LANES / ROWS };

/* Exchanges rows and columns of a square of words: registers v`first` … hold a row each. */
static void transpose_registers(writer *w, unsigned first, unsigned to) {
    static const char *const halves[2] = {"0x5410", "0x7632"}, *const bytes[2] = {"0x5140",
                                                                                  "0x7362"};
    if (w->word == 2) {
        for (unsigned i = 0; i < 2; i++)
            put(w, "prmt.b32 %%v%u, %%v%u, %%v%u, %s;\n", to + i, first, first + 1, halves[i]);
        return;
    }
    for (unsigned i = 0; i < 4; i++) /* r16, r17: bytes of two rows; r18, r19: of the others */
        put(w, "prmt.b32 %%r%u, %%v%u, %%v%u, %s;\n", 16 + i, first + i / 2 * 2,
            first + i / 2 * 2 + 1, bytes[i % 2]);
    for (unsigned i = 0; i < 4; i++)
        put(w, "prmt.b32 %%v%u, %%r%u, %%r%u, %s;\n", to + i, 16 + i / 2, 18 + i / 2,
            halves[i % 2]);
}

/* Reads squares of words, and writes them to shared memory with rows and columns exchanged. The
 * rows there are grouped by their place in a square, so that a warp reaches different banks. */
static void load_packed(writer *w, unsigned pack) {
    put(w,
        "ld.param.u64 %%d4, [layout+%u];\nmul.wide.u32 %%d5, %%r11, 4;\nadd.s64 %%d6, %%d1, %%d5;\n"
        "mul.lo.u32 %%r14, %%r12, %u;\ncvt.u64.u32 %%d5, %%r14;\nmad.lo.s64 %%d6, %%d5, %%d4, "
        "%%d6;\n"
        "mul.lo.s64 %%d8, %%d4, %u;\nmul.lo.u32 %%r15, %%r11, %u;\nsetp.lt.u32 %%p1, %%r15, "
        "%%r10;\n",
        OFFSET(across_from), pack, ROWS * pack, pack);
    for (unsigned k = 0; k < PACKED_ROUNDS; k++) {
        put(w,
            "add.u32 %%r15, %%r14, %u;\nsetp.lt.and.u32 %%p2, %%r15, %%r9, %%p1;\nmov.u64 %%d7, "
            "%%d6;\n",
            k * ROWS * pack);
        for (unsigned j = 0; j < pack; j++)
            put(w, "@%%p2 ld.global.u32 %%v%u, [%%d7];\nadd.s64 %%d7, %%d7, %%d4;\n", k * pack + j);
        put(w, "add.s64 %%d6, %%d6, %%d8;\n");
    }
    put(w, "mad.lo.u32 %%r15, %%r11, %d, %%r13;\nmad.lo.u32 %%r15, %%r12, 4, %%r15;\n", PACKED_ROW);
    for (unsigned k = 0; k < PACKED_ROUNDS; k++) {
        const unsigned turned = PACKED_ROUNDS * pack;
        transpose_registers(w, k * pack, turned);
        for (unsigned i = 0; i < pack; i++)
            put(w, "st.shared.u32 [%%r15+%u], %%v%u;\n", i * LANES * PACKED_ROW + k * ROWS * 4,
                turned + i);
    }
}

static void store_packed(writer *w, unsigned pack) {
    put(w,
        "ld.param.u64 %%d4, [layout+%u];\nmul.wide.u32 %%d5, %%r11, 4;\nadd.s64 %%d6, %%d0, %%d5;\n"
        "cvt.u64.u32 %%d5, %%r14;\nmad.lo.s64 %%d6, %%d5, %%d4, %%d6;\n"
        "mul.lo.s64 %%d8, %%d4, %u;\nmul.lo.u32 %%r15, %%r11, %u;\nsetp.lt.u32 %%p1, %%r15, "
        "%%r9;\n",
        OFFSET(down_to), ROWS * pack, pack);
    put(w, "mad.lo.u32 %%r15, %%r12, %d, %%r13;\nmad.lo.u32 %%r15, %%r11, 4, %%r15;\n", PACKED_ROW);
    for (unsigned k = 0; k < PACKED_ROUNDS; k++)
        for (unsigned i = 0; i < pack; i++)
            put(w, "ld.shared.u32 %%v%u, [%%r15+%u];\n", k * pack + i,
                (i * LANES + k * ROWS) * PACKED_ROW);
    for (unsigned k = 0; k < PACKED_ROUNDS; k++) {
        put(w,
            "add.u32 %%r16, %%r14, %u;\nsetp.lt.and.u32 %%p2, %%r16, %%r10, %%p1;\nmov.u64 %%d7, "
            "%%d6;\n",
            k * ROWS * pack);
        for (unsigned i = 0; i < pack; i++)
            put(w, "@%%p2 st.global.u32 [%%d7], %%v%u;\nadd.s64 %%d7, %%d7, %%d4;\n", k * pack + i);
        put(w, "add.s64 %%d6, %%d6, %%d8;\n");
    }
}

/* Each thread has squares of as many words as fit into a register. The lanes go along the fastest
 * dimension of one side and then of the other; a warp has every eighth square of the slower one. */
static void write_packed(writer *w) {
    const unsigned pack = 4 / w->word;
    begin(w, ACU_STRIDED_PACKED, (PACKED_ROUNDS + 1) * pack);
    put(w, ".shared .align 16 .b8 tile[%u];\n", pack * LANES * PACKED_ROW);
    find_tile(w, acu_strided_side(ACU_STRIDED_PACKED, w->word));
    put(w, "and.b32 %%r11, %%r0, 31;\nshr.u32 %%r12, %%r0, 5;\nmov.u32 %%r13, tile;\n");
    load_packed(w, pack);
    put(w, "bar.sync 0;\n");
    store_packed(w, pack);
    put(w, "ret;\n}\n");
}

/* ---- all ---- */

void acu_strided_name(acu_strided_kind kind, unsigned word, char name[32]) {
    static const char *const kinds[] = {"each", "tile", "packed"};
    snprintf(name, 32, "acu_strided_%s_%u", kinds[kind], word);
}

size_t acu_strided_ptx(acu_strided_kind kind, unsigned word, char *text, size_t size) {
    static void (*const write[])(writer *) = {write_each, write_tile, write_packed};
    writer w = {.text = text, .size = size, .word = word};
    write[kind](&w);
    return w.used;
}
