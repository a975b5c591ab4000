/* Sums, products and quotients that a compiler may round once: of all widths, of constants too, in
 * branches and loops, with several uses. */
#include "random_kernels.h"

#include <string.h>

enum { VALUES = 8, MOST_NEST = 2, MOST_REGISTERS = 800 };

static const struct {
    const char *type, *bank;
    char letter; /* of the registers that are logged */
    unsigned bytes;
    format of;
    const char *numbers[4]; /* immediates; none of halves */
} widths[] = {
    {"f32", "f32", 'r', 4, F32, {"0f3F000000", "0f40400000", "0fBF8CCCCD", "0f3EAAAAAB"}},
    {"ftz.f32", "f32", 'r', 4, F32, {"0f3F000000", "0f40400000", "0fBF8CCCCD", "0f3EAAAAAB"}},
    {"f32", "f32", 'r', 4, F32, {"0f3F000000", "0f40400000", "0fBF8CCCCD", "0f3EAAAAAB"}},
    {"f64",
     "f64",
     'd',
     8,
     F64,
     {"0d3FE0000000000000", "0d4008000000000000", "0dBFF199999999999A", "0d3FD5555555555555"}},
    {"f16", "b16", 'h', 2, F16, {NULL}},
    {"f16x2", "b32", 'r', 4, F16, {NULL}},
    {"bf16", "b16", 'h', 2, BF16, {NULL}},
    {"bf16x2", "b32", 'r', 4, BF16, {NULL}},
};
static unsigned width, items_left;

/* Each result is a register of its own, as compilers write PTX; where ways meet, copies are made.
 * This is the register that has each value. */
static struct values {
    unsigned of[VALUES];
} now;
static unsigned register_count;

static void put_copy(unsigned to, unsigned from) {
    put("mov.b%u %%v%u, %%v%u;\n", 8 * widths[width].bytes, to, from);
}

static struct values new_values(void) {
    struct values made;
    for (unsigned n = 0; n < VALUES; n++)
        made.of[n] = register_count++;
    return made;
}

static void put_value(bool may_be_number) {
    if (may_be_number && widths[width].numbers[0] && one_of(4))
        put(", %s", widths[width].numbers[below(4)]);
    else
        put(", %%v%u", now.of[below(VALUES)]);
}

static void put_arithmetic(void) {
    static const char *const rare[] = {"neg", "abs", "mov", "div", "rcp", "max", "set"};
    const char *const type = widths[width].type;
    const unsigned way = below(32), to = below(VALUES), guard = below(12), flag = below(FLAGS);
    const bool is_single = width < 3, is_ftz = width == 1;
    const unsigned made = register_count++;
    if (guard == 0) {
        put_copy(made, now.of[to]);
        put("@%%p%u ", flag);
    }
    if (way < 11) {
        put("mul.%s %%v%u", type, made);
        put_value(false);
        put_value(true);
    } else if (way < 24) {
        put("%s.%s %%v%u", one_of(3) ? "sub" : "add", type, made);
        put_value(false);
        put_value(true);
    } else if (way < 26) {
        put("fma.rn.%s %%v%u", is_ftz ? "ftz.f32" : type, made);
        put_value(false);
        put_value(true);
        put_value(false);
    } else {
        const char *const word = rare[below(7)];
        if (strcmp(word, "mov") == 0 || strcmp(word, "set") == 0) {
            put("mov.b%u %%v%u", 8 * widths[width].bytes, made);
            put_value(*word == 's');
        } else if (strcmp(word, "div") == 0 && is_single) {
            static const char *const hows[] = {"rn", "approx", "full"};
            put("div.%s.%s %%v%u", hows[below(3)], type, made);
            put_value(false);
            put_value(true);
        } else if (strcmp(word, "rcp") == 0 && is_single) {
            put("rcp.%s.%s %%v%u", one_of(2) ? "rn" : "approx", type, made);
            put_value(false);
        } else if (strcmp(word, "neg") == 0 || strcmp(word, "abs") == 0) {
            put("%s.%s %%v%u", word, type, made);
            put_value(false);
        } else {
            put("max.%s %%v%u", type, made);
            put_value(false);
            put_value(false);
        }
    }
    put(";\n");
    now.of[to] = made;
}

static void put_rounded_items(unsigned nest, unsigned count, bool may_loop);

/* A branch of lanes, or of all threads. */
static void put_rounded_choice(unsigned nest, bool may_loop) {
    const unsigned label = new_label(), flag = below(FLAGS);
    const struct values before = now;
    put("@%%%c%u bra ELSE%u;\n", one_of(2) ? 'p' : 'b', flag, label);
    put_rounded_items(nest + 1, 1 + below(5), may_loop);
    put("bra FIRST%u;\nELSE%u:\n", label, label);
    const struct values first = now;
    now = before;
    if (one_of(2))
        put_rounded_items(nest + 1, 1 + below(5), may_loop);
    const struct values second = now;
    for (unsigned n = 0; n < VALUES; n++)
        if (first.of[n] != second.of[n])
            put_copy(now.of[n] = register_count++, second.of[n]);
    put("bra BOTH%u;\nFIRST%u:\n", label, label);
    for (unsigned n = 0; n < VALUES; n++)
        if (first.of[n] != second.of[n])
            put_copy(now.of[n], first.of[n]);
    put("BOTH%u:\n", label);
}

static void put_rounded_loop(unsigned nest) {
    const unsigned label = new_label(), from = any('r', 1);
    const struct values before = now, round = new_values();
    put("{\n.reg .b32 %%c%u;\n.reg .pred %%k%u;\nand.b32 %%c%u, %%r%u, 3;\n", label, label, label,
        from);
    for (unsigned n = 0; n < VALUES; n++)
        put_copy(round.of[n], before.of[n]);
    now = round;
    put("LOOP%u:\n", label);
    put_rounded_items(nest + 1, 2 + below(5), true);
    for (unsigned n = 0; n < VALUES; n++)
        if (now.of[n] != round.of[n])
            put_copy(round.of[n], now.of[n]);
    now = round;
    put("sub.s32 %%c%u, %%c%u, 1;\nsetp.gt.s32 %%k%u, %%c%u, 0;\n@%%k%u bra LOOP%u;\n}\n", label,
        label, label, label, label, label);
}

static void put_rounded_items(unsigned nest, unsigned count, bool may_loop) {
    for (; count && items_left; count--) {
        const unsigned way = below(24);
        items_left--;
        if (way == 0 && nest < MOST_NEST)
            put_rounded_choice(nest, may_loop);
        else if (way == 1 && nest < MOST_NEST && may_loop)
            put_rounded_loop(nest);
        else
            put_arithmetic();
    }
}

static void put_rounded(bool may_loop) {
    width = below(sizeof widths / sizeof *widths);
    const char letter = widths[width].letter;
    const unsigned first = any(letter, VALUES), bits = 8 * widths[width].bytes;
    const kind which = (kind)(one_of(3) ? 1 + below(3) : 0);
    put_values(letter, first, VALUES, widths[width].of, which);
    put("{\n.reg .%s %%v<%u>;\n", widths[width].bank, (unsigned)MOST_REGISTERS);
    register_count = 0;
    now = new_values();
    for (unsigned n = 0; n < VALUES; n++)
        put("mov.b%u %%v%u, %%%c%u;\n", bits, n, letter, first + n);
    items_left = 8 + below(20);
    while (items_left)
        put_rounded_items(0, items_left, may_loop);
    for (unsigned n = 0; n < 4; n++)
        put("mov.b%u %%%c%u, %%v%u;\n", bits, letter, first + n, now.of[below(VALUES)]);
    put("}\n");
    put_log(letter, first, 4);
}

static void put_straight(void) {
    put_rounded(false);
}

static void put_round(void) {
    put_rounded(true);
}

const statement rounded_statements[] = {{put_straight, LANE, 6}, {put_round, LANE, 2}, {0}};
