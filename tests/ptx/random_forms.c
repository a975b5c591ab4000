/*
 * Random kernels of all instructions that work lane by lane, with guards, branches, loops, calls,
 * memory, and what the lanes of a warp do together. A kernel stores all its registers when it ends.
 * What is stored is compared with what a GPU stored, of which the answers have a number for each
 * kernel (how they were got: README.md). The answers also list the forms that kernels are made of,
 * so that new ones change no kernel. A program of the driver API, which runs on a GPU as on the
 * simulator:
 *
 *     ptx_random_forms ANSWERS LIBRARY                      compare all kernels of the answers
 *     ptx_random_forms ANSWERS LIBRARY numbers FIRST COUNT  print a number of what each stores
 *     ptx_random_forms ANSWERS LIBRARY trace FIRST COUNT    print one behind each statement
 *     ptx_random_forms ANSWERS LIBRARY registers NUMBER STATEMENT   print the registers there
 *     ptx_random_forms ANSWERS LIBRARY stored NUMBER LEVEL  print what it stores at its end
 *     ptx_random_forms ANSWERS write NUMBER                 print the kernel
 *     ptx_random_forms - forms                              print the list of all forms
 *
 * Numbers are printed for all of the compiler's optimizations, and for none.
 */
#include "form_cases.h"

#include "sim/ptx/form.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCKS = 2,
    THREADS = 96, /* of a block */
    BANKS = 6,
    REGISTERS = 6 + 10 + 12 + 8 + 8 + 6,
    OWN = 64, /* bytes of a thread, in each of three kinds of memory */
    STORED = 8 * REGISTERS + 2 * OWN,
    INPUTS = 1021, /* values of 64 bits */
    STORED_BY_ALL = BLOCKS * THREADS * STORED,
    TRACED_BY_ALL = BLOCKS * THREADS * 8 * REGISTERS, /* behind each statement */
    MOST_TRACED = 200,
    FUNCTIONS = 3,
    MOST_DEPTH = 3,
};

static form_case *cases;
static size_t case_count;
static FILE *file;
static uint64_t random_state;
static unsigned label_count, statements_left;
static unsigned statement_count; /* of the kernel itself */
static bool in_function, traces, approximates;

/* Calls of this are never arguments of one call, whose order is the compiler's. */
static unsigned below(unsigned limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % limit;
}

static bool one_of(unsigned n) {
    return below(n) == 0;
}

/* ---- operands ---- */

/* Registers of each type. Numbers of 32 and 64 bits have their own: from untyped registers that
 * hold them ptxas converts them where integers of another size are expected, instead of taking
 * bits. */
static const struct {
    char letter;
    const char *type;
    unsigned bytes, count;
} banks[BANKS] = {{'p', "pred", 0, 6}, {'h', "b16", 2, 10}, {'r', "b32", 4, 12},
                  {'d', "b64", 8, 8},  {'f', "f32", 4, 8},  {'g', "f64", 8, 6}};

static unsigned bank_of(char letter) {
    unsigned bank = 0;
    while (banks[bank].letter != letter)
        bank++;
    return bank;
}

static unsigned bank_size(char letter) {
    return banks[bank_of(letter)].count;
}

static char letter_of(uint8_t type) {
    const size_t size = acu_ptx_type_size((ptx_type)type);
    return *(type == PTX_PRED  ? "p"
             : type == PTX_F32 ? "f"
             : type == PTX_F64 ? "g"
             : size <= 2       ? "h"
             : size == 4       ? "r"
                               : "d");
}

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
}

static unsigned any(char letter) {
    return below(bank_size(letter));
}

static void put_guard(void) {
    if (!one_of(4))
        return;
    const unsigned guard = any('p');
    put("@%s%%p%u ", one_of(2) ? "!" : "", guard);
}

static bool is_plain_integer(const form_case *one) {
    static const char *const words[] = {"add.", "sub.", "and.", "or.",  "xor.",
                                        "min.", "max.", "shl.", "shr.", "setp."};
    bool found = false;
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        found |= strncmp(one->opcode, words[n], strlen(words[n])) == 0;
    const uint8_t type = one->types[one->results];
    return found && one->sources == 2 && (type == PTX_U32 || type == PTX_S32 || type == PTX_B32);
}

static void put_source(const form_case *one, unsigned n) {
    const char letter = letter_of(one->types[one->results + n]);
    if (one->last && n + 1u == one->sources)
        put(", %s", one->last);
    else if (n == 1 && is_plain_integer(one) && one_of(4))
        put(", %d", (int)below(80) - 8);
    else
        put(", %%%c%u%s", letter, any(letter), n < 2 ? one->parts[n + 1] : "");
}

/* ---- instructions of a lane ---- */

static bool is_float(uint8_t type) {
    return type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2 ||
           type == PTX_F32 || type == PTX_F64;
}

/* Whether the kernel may have the form: approximations are in those from 3001 on alone, and nowhere
 * is a product or a sum that the compiler may round once together with another one. */
static bool is_allowed(const form_case *one) {
    const char *opcode = one->opcode;
    const bool fuses = strncmp(opcode, "add.", 4) == 0 || strncmp(opcode, "sub.", 4) == 0 ||
                       strncmp(opcode, "mul.", 4) == 0;
    const bool is_rounded = strstr(opcode, ".rn") || strstr(opcode, ".rz") ||
                            strstr(opcode, ".rm") || strstr(opcode, ".rp");
    if (strstr(opcode, ".approx") || strstr(opcode, ".full"))
        return approximates;
    return !fuses || is_rounded || !is_float(one->types[one->results]);
}

static bool has_bytes(const form_case *one) {
    bool has = false;
    for (unsigned n = 0; n < one->results + one->sources; n++)
        has |= one->types[n] == PTX_B8;
    return has;
}

static size_t word_of(const form_case *one) {
    return strcspn(one->opcode, ".");
}

/* Returns any form; each first word is as likely as another one. */
static const form_case *any_form(void) {
    for (;;) {
        const form_case *one = &cases[below((unsigned)case_count)];
        size_t begin = (size_t)(one - cases), end = begin, same = 0;
        while (begin > 0 && word_of(&cases[begin - 1]) == word_of(one) &&
               memcmp(cases[begin - 1].opcode, one->opcode, word_of(one) + 1) == 0)
            begin--;
        while (end < case_count && word_of(&cases[end]) == word_of(one) &&
               memcmp(cases[end].opcode, one->opcode, word_of(one) + 1) == 0)
            end++;
        same = end - begin;
        if (below((unsigned)same) < 12 && is_allowed(one) && !has_bytes(one) &&
            !one->changes_memory)
            return one;
    }
}

/* Whether ptxas executes the form for the lanes of a guard alone: 13.0 changes others, too, where
 * it makes several instructions of one. */
static bool keeps_guard(const form_case *one) {
    return strncmp(one->opcode, "testp.", 6) != 0 && strncmp(one->opcode, "set.", 4) != 0 &&
           !(strncmp(one->opcode, "setp.", 5) == 0 && strstr(one->opcode, "16x2"));
}

static void put_sum(const char *word) {
    const unsigned b = any('r'), a = any('r'), d = any('r');
    put("%s.u32 %%r%u, %%r%u, %%r%u;\n", word, d, a, b);
}

static void put_form(void) {
    const form_case *one = any_form();
    const bool borrows = strncmp(one->opcode, "sub", 3) == 0;
    if (one->carries & 1)
        put_sum(borrows ? "sub.cc" : "add.cc");
    if (!one->carries && keeps_guard(one))
        put_guard();
    put("%s ", one->opcode);
    unsigned first = 0;
    for (unsigned n = 0; n < one->results; n++) {
        const char letter = letter_of(one->types[n]);
        const unsigned number = n ? (first + 1 + below(bank_size(letter) - 1)) % bank_size(letter)
                                  : (first = any(letter));
        put("%s%%%c%u%s", n ? "|" : "", letter, number, n ? "" : one->parts[0]);
    }
    for (unsigned n = 0; n < one->sources; n++)
        put_source(one, n);
    put(";\n");
    if (one->carries & 2)
        put_sum(borrows ? "subc" : "addc");
}

/* ---- memory ---- */

/* Makes %x1 the number of an input of each thread's own. */
static void put_own_input(unsigned most) {
    const unsigned first = below(INPUTS), step = 1 + below(most);
    put("mad.lo.u32 %%x1, %%x0, %u, %u;\nrem.u32 %%x1, %%x1, %u;\n", step, first, INPUTS);
}

/* Loads an input. */
static void put_load(void) {
    const unsigned bank = 1 + below(BANKS - 1);
    if (one_of(3)) /* one that another register chooses, or each thread's own */
        put("rem.u32 %%x1, %%r%u, %u;\n", any('r'), INPUTS);
    else
        put_own_input(7);
    put("mad.wide.u32 %%y2, %%x1, 8, %%y0;\n");
    put_guard();
    const char *half = banks[bank].bytes == 4 && one_of(2) ? "+4" : "";
    const unsigned to = any(banks[bank].letter);
    put("ld.global%s.b%u %%%c%u, [%%y2%s];\n", one_of(2) ? ".nc" : "", 8 * banks[bank].bytes,
        banks[bank].letter, to, half);
}

/* Moves bits between numbers and integers. */
static void put_move(void) {
    static const char *const moves[] = {"b32 fr", "b32 rf", "b64 gd", "b64 dg"};
    const unsigned n = below(4);
    put_guard();
    const unsigned from = any(moves[n][5]), to = any(moves[n][4]);
    put("mov.%.3s %%%c%u, %%%c%u;\n", moves[n], moves[n][4], to, moves[n][5], from);
}

static const char *const spaces[] = {"global", "shared", "local"};

/* The register with the address of an element of the thread's own memory. */
static const char *put_own(unsigned space, unsigned size) {
    put("and.b32 %%x1, %%r%u, %u;\n", any('r'), (OWN - 1) & ~(size - 1));
    if (space == 0) {
        put("cvt.u64.u32 %%y2, %%x1;\nadd.u64 %%y2, %%y2, %%y1;\n");
        return "%y2";
    }
    put("add.u32 %%x1, %%x1, %s;\n", space == 1 ? "%x2" : "%x3");
    return "%x1";
}

static void put_access(void) {
    static const struct {
        const char *type;
        char letter;
        unsigned size, count;
    } shapes[] = {{"u8", 'h', 1, 1},  {"s8", 'r', 1, 1},  {"b16", 'h', 2, 1}, {"s16", 'r', 2, 1},
                  {"b32", 'r', 4, 1}, {"b64", 'd', 8, 1}, {"u32", 'd', 4, 1}, {"s32", 'd', 4, 1},
                  {"f32", 'f', 4, 1}, {"f64", 'g', 8, 1}, {"b32", 'r', 4, 2}, {"b32", 'r', 4, 4},
                  {"b16", 'h', 2, 4}, {"b64", 'd', 8, 2}, {"f32", 'f', 4, 4}, {"f64", 'g', 8, 2}};
    const unsigned shape = below(sizeof shapes / sizeof *shapes), count = shapes[shape].count;
    const unsigned space = below(3), first = any(shapes[shape].letter);
    const char *type = shapes[shape].type;
    const bool is_cut = shapes[shape].size < banks[bank_of(shapes[shape].letter)].bytes;
    const bool loads = is_cut || one_of(2);
    const char *address = put_own(space, shapes[shape].size * count);
    put_guard();
    put("%s.%s%s.%s ", loads ? "ld" : "st", spaces[space],
        count == 1   ? ""
        : count == 2 ? ".v2"
                     : ".v4",
        type);
    if (!loads)
        put("[%s], ", address);
    put(count > 1 ? "{" : "");
    for (unsigned n = 0; n < count; n++)
        put("%s%%%c%u", n ? ", " : "", shapes[shape].letter,
            (first + n) % bank_size(shapes[shape].letter));
    put(count > 1 ? "}" : "");
    if (loads)
        put(", [%s]", address);
    put(";\n");
}

/* An atomic operation on the thread's own memory, so that its result is one number. */
static void put_atomic(void) {
    static const struct {
        const char *operation;
        char letter;
    } operations[] = {{"add.u32", 'r'},  {"add.s32", 'r'},         {"add.u64", 'd'},
                      {"add.f32", 'f'},  {"add.f64", 'g'},         {"and.b32", 'r'},
                      {"or.b64", 'd'},   {"xor.b32", 'r'},         {"min.u32", 'r'},
                      {"max.s32", 'r'},  {"min.s64", 'd'},         {"max.u64", 'd'},
                      {"inc.u32", 'r'},  {"dec.u32", 'r'},         {"exch.b32", 'r'},
                      {"exch.b64", 'd'}, {"add.noftz.f16x2", 'r'}, {"cas.b32", 'r'},
                      {"cas.b64", 'd'},  {"cas.b16", 'h'},         {"add.noftz.bf16x2", 'r'}};
    const unsigned n = below(sizeof operations / sizeof *operations), space = below(2);
    const char letter = operations[n].letter;
    const char *address = put_own(space, banks[bank_of(letter)].bytes);
    put_guard();
    const unsigned by = any(letter), to = any(letter);
    put("atom.%s.%s %%%c%u, [%s], %%%c%u", spaces[space], operations[n].operation, letter, to,
        address, letter, by);
    if (strncmp(operations[n].operation, "cas", 3) == 0)
        put(", %%%c%u", letter, any(letter));
    put(";\n");
}

/* ---- what lanes do together ---- */

/* Puts how far a shuffle goes, and within which lanes. */
static void put_shuffled_lanes(const char *mask) {
    if (one_of(2))
        put("%u, ", below(32));
    else
        put("%%r%u, ", any('r'));
    const unsigned clamp = below(32), segments = below(32);
    put("%u, %s;\n", clamp | segments << 8, mask);
}

/* Of all lanes of a mask, which are those that come by here. */
static void put_together(const char *mask, bool is_whole_warp) {
    static const char *const sums[] = {"add.u32", "min.s32", "max.u32", "and.b32",
                                       "or.b32",  "xor.b32", "add.s32", "min.u32"};
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const char *const votes[] = {"all", "any", "uni"};
    const unsigned what = below(is_whole_warp ? 6 : 4);
    if (what == 3 && one_of(2)) {
        put("match.any.sync.b%s, %s;\n", one_of(2) ? "32 %r1, %r2" : "64 %r3, %d1", mask);
        return;
    }
    const char from = what == 1 || what == 2 ? 'p' : 'r', to = what == 2 ? 'p' : 'r';
    const unsigned source = any(from);
    const char *negated = what == 2 && one_of(2) ? "!" : "";
    const unsigned flag = what >= 3 ? any('p') : 0, target = any(to);
    switch (what) {
    case 0:
        put("redux.sync.%s %%r%u, %%r%u, %s;\n", sums[below(8)], target, source, mask);
        break;
    case 1:
        put("vote.sync.ballot.b32 %%r%u, %%p%u, %s;\n", target, source, mask);
        break;
    case 2:
        put("vote.sync.%s.pred %%p%u, %s%%p%u, %s;\n", votes[below(3)], target, negated, source,
            mask);
        break;
    case 3:
        put("match.all.sync.b32 %%r%u|%%p%u, %%r%u, %s;\n", target, flag, source, mask);
        break;
    default:
        put("shfl.sync.%s.b32 %%r%u|%%p%u, %%r%u, ", modes[below(4)], target, flag, source);
        put_shuffled_lanes(mask);
    }
}

/* All threads of a block exchange a register, or count a predicate. */
static void put_block(void) {
    static const char *const ways[] = {"and.pred %p", "or.pred %p", "popc.u32 %r"};
    if (one_of(2)) {
        const unsigned way = below(3), from = any('p');
        put("barrier.cta.red.%s%u, 0, %%p%u;\n", ways[way], any(way == 2 ? 'r' : 'p'), from);
        return;
    }
    const unsigned from = any('r'), place = 4 * below(OWN / 4);
    put("st.shared.b32 [%%x2+%u], %%r%u;\nbar.sync 0;\n", place, from);
    const unsigned other_place = 4 * below(OWN / 4), to = any('r'),
                   distance = 1 + below(THREADS - 1);
    put("add.u32 %%x1, %%x4, %u;\nrem.u32 %%x1, %%x1, %u;\nshl.b32 %%x1, %%x1, 6;\nmov.u32 %%x5, "
        "shared;\nadd.u32 %%x1, %%x1, %%x5;\n"
        "ld.shared.b32 %%r%u, [%%x1+%u];\nbar.sync 0;\n",
        distance, THREADS, to, other_place);
}

/* Stores all registers, from the address in a register on. */
static void put_stored_registers(const char *to) {
    unsigned at = 0;
    for (unsigned n = 0; n < banks[0].count; n++, at += 8)
        put("selp.b32 %%x1, 1, 0, %%p%u;\nst.global.b32 [%s+%u], %%x1;\n", n, to, at);
    for (unsigned bank = 1; bank < BANKS; bank++)
        for (unsigned n = 0; n < banks[bank].count; n++, at += 8)
            put("st.global.b%u [%s+%u], %%%c%u;\n", 8 * banks[bank].bytes, to, at,
                banks[bank].letter, n);
}

/* Stores all registers behind what the kernel stores at its end, for each statement. */
static void put_trace(void) {
    put("mad.wide.u32 %%y3, %%x0, %d, %%y4;\nadd.u64 %%y3, %%y3, %zu;\n", 8 * REGISTERS,
        STORED_BY_ALL + (size_t)(statement_count - 1) * TRACED_BY_ALL);
    put_stored_registers("%y3");
}

/* ---- where lanes go on ---- */

static void put_statements(unsigned depth, const char *mask);

static void put_choice(unsigned depth, const char *mask) {
    const unsigned label = label_count++, flag = any('p');
    put("{\n.reg .b32 %%m%u, %%n%u;\n", label, label);
    if (mask)
        put("vote.sync.ballot.b32 %%m%u, %%p%u, %s;\nnot.b32 %%n%u, %%m%u;\n"
            "and.b32 %%n%u, %%n%u, %s;\n",
            label, flag, mask, label, label, label, label, mask);
    put("@!%%p%u bra ELSE%u;\n", flag, label);
    char side[16];
    snprintf(side, sizeof side, "%%m%u", label);
    put_statements(depth + 1, mask ? side : NULL);
    if (one_of(2)) {
        put("bra END%u;\nELSE%u:\n", label, label);
        snprintf(side, sizeof side, "%%n%u", label);
        put_statements(depth + 1, mask ? side : NULL);
    } else {
        put("ELSE%u:\n", label);
    }
    put("END%u:\n}\n", label);
}

/* A loop whose lanes go round up to four times, each as often as its register says. */
static void put_loop(unsigned depth) {
    const unsigned label = label_count++;
    put("{\n.reg .b32 %%c%u;\n.reg .pred %%q%u;\nand.b32 %%c%u, %%r%u, 3;\nLOOP%u:\n", label, label,
        label, any('r'), label);
    put_statements(depth + 1, NULL);
    if (one_of(3))
        put("@%%p%u bra LEFT%u;\n", any('p'), label);
    put("sub.s32 %%c%u, %%c%u, 1;\nsetp.ge.s32 %%q%u, %%c%u, 0;\n@%%q%u bra LOOP%u;\nLEFT%u:\n}\n",
        label, label, label, label, label, label, label);
}

static void put_switch(unsigned depth) {
    const unsigned label = label_count++;
    put("{\nT%u: .branchtargets $A%u, $B%u, $C%u;\nand.b32 %%x1, %%r%u, 3;\nmin.u32 %%x1, %%x1, "
        "2;\n"
        "brx.idx %%x1, T%u;\n",
        label, label, label, label, any('r'), label);
    for (unsigned n = 0; n < 3; n++) {
        put("$%c%u:\n", 'A' + n, label);
        put_statements(depth + 1, NULL);
        if (one_of(2))
            put("bra END%u;\n", label);
    }
    put("END%u:\n}\n", label);
}

static void put_call(void) {
    const unsigned wide = any('d'), narrow = any('r'), to = any('r');
    put("{\n.param .b32 a;\n.param .b64 b;\n.param .b32 c;\nst.param.b32 [a], %%r%u;\n"
        "st.param.b64 [b], %%d%u;\n",
        narrow, wide);
    put("call (c), f%u, (a, b);\nld.param.b32 %%r%u, [c];\n}\n", below(FUNCTIONS), to);
}

/* Writes a statement that is not one form, if such a one may be here. */
static bool put_special(unsigned what, unsigned depth, const char *mask) {
    const bool may_nest = depth < MOST_DEPTH;
    if (what < 53)
        return false;
    if (what < 56)
        put_move();
    else if (what < 63)
        put_load();
    else if (!in_function && what < 72)
        put_access();
    else if (!in_function && what < 76)
        put_atomic();
    else if (mask && what < 84)
        put_together(mask, depth == 0);
    else if (depth == 0 && !in_function && what < 86)
        put_block();
    else if (may_nest && what < 91)
        put_choice(depth, mask);
    else if (may_nest && what < 95)
        put_loop(depth);
    else if (may_nest && what < 97)
        put_switch(depth);
    else if (!in_function && what >= 97)
        put_call();
    else
        return false;
    return true;
}

static void put_statement(unsigned depth, const char *mask) {
    if (!put_special(below(100), depth, mask))
        put_form();
}

static void put_statements(unsigned depth, const char *mask) {
    for (unsigned left = 1 + below(depth ? 6 : 60); left && statements_left; left--) {
        statements_left--;
        if (depth == 0)
            put("// %u\n", statement_count++);
        put_statement(depth, mask);
        if (traces && depth == 0)
            put_trace();
    }
}

/* ---- a kernel ---- */

static void put_registers(void) {
    for (unsigned bank = 0; bank < BANKS; bank++)
        put(".reg .%s %%%c<%u>;\n", banks[bank].type, banks[bank].letter, banks[bank].count);
    put(".reg .b32 %%x<8>;\n.reg .b64 %%y<8>;\n");
}

/* Gives each register a value of the input, which %y0 is the address of. */
static void put_first_values(void) {
    for (unsigned bank = 1; bank < BANKS; bank++)
        for (unsigned n = 0; n < banks[bank].count; n++) {
            put_own_input(9);
            put("mad.wide.u32 %%y2, %%x1, 8, %%y0;\nld.global.b%u %%%c%u, [%%y2];\n",
                8 * banks[bank].bytes, banks[bank].letter, n);
        }
    for (unsigned n = 0; n < banks[0].count; n++)
        put("and.b32 %%x1, %%x0, %u;\nsetp.ne.u32 %%p%u, %%x1, 0;\n", 1u << n, n);
}

static void put_function(unsigned number) {
    put(".func (.param .b32 c) f%u(.param .b32 a, .param .b64 b)\n{\n", number);
    put_registers();
    put("mov.u32 %%x0, %%tid.x;\nld.global.b64 %%y0, [at];\n");
    put_first_values();
    put("ld.param.b32 %%r0, [a];\nld.param.b64 %%d0, [b];\n");
    put_statements(1, NULL);
    put("xor.b32 %%r0, %%r0, %%r1;\nst.param.b32 [c], %%r0;\nret;\n}\n");
}

static void put_stores(void) {
    put("add.u64 %%y3, %%y1, %d;\n", OWN);
    put_stored_registers("%y3");
    for (unsigned n = 0; n < OWN / 8; n++)
        put("ld.%s.b64 %%y2, [%%x%u+%u];\nst.global.b64 [%%y3+%u], %%y2;\n",
            n % 2 ? "shared" : "local", n % 2 ? 2 : 3, 8 * n, 8 * (REGISTERS + n));
}

static void put_kernel(uint64_t number) {
    approximates = number > 3000;
    random_state = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    label_count = statement_count = 0;
    put(".version 8.6\n.target sm_90\n.address_size 64\n.global .b64 at;\n");
    in_function = true;
    for (unsigned n = 0; n < FUNCTIONS; n++) {
        statements_left = 12;
        put_function(n);
    }
    in_function = false;
    put(".visible .entry k(.param .u64 in, .param .u64 out)\n{\n");
    put_registers();
    put(".shared .align 16 .b8 shared[%d];\n.local .align 16 .b8 own[%d];\n", THREADS * OWN, OWN);
    put("ld.param.u64 %%y0, [in];\nst.global.b64 [at], %%y0;\nld.param.u64 %%y1, [out];\n"
        "mov.u32 %%x4, %%tid.x;\nmov.u32 %%x0, %%ctaid.x;\nmad.lo.u32 %%x0, %%x0, %d, %%x4;\n"
        "mov.u64 %%y4, %%y1;\nmad.wide.u32 %%y1, %%x0, %d, %%y1;\nshl.b32 %%x2, %%x4, 6;\nmov.u32 "
        "%%x3, shared;\n"
        "add.u32 %%x2, %%x2, %%x3;\nmov.u32 %%x3, own;\n",
        THREADS, STORED);
    for (unsigned n = 0; n < OWN / 4; n++)
        put("st.shared.b32 [%%x2+%u], %%x0;\nst.local.b32 [%%x3+%u], %%x0;\n", 4 * n, 4 * n);
    put("bar.sync 0;\n");
    put_first_values();
    statements_left = 120;
    while (statements_left)
        put_statements(0, "0xffffffff");
    put_stores();
    put("ret;\n}\n");
}

/* ---- on a device ---- */

typedef unsigned long long address;

static struct {
    int (*load)(void **, const void *, unsigned, int *, void **);
    int (*unload)(void *), (*find)(void **, void *, const char *), (*wait)(void);
    int (*to_device)(address, const void *, size_t), (*to_host)(void *, address, size_t);
    int (*fill)(address, unsigned char, size_t);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    address input, output;
} driver;

static void check(int code, const char *what) {
    if (!code)
        return;
    fprintf(stderr, "%s: error %d\n", what, code);
    exit(1);
}

static void find_function(void *library, const char *name, void *pointer) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    memcpy(pointer, &found, sizeof found);
}

/* Bits of integers and of numbers of all types, edges among them. */
static void fill_input(uint64_t *input) {
    static const uint64_t some[] = {0,
                                    1,
                                    2,
                                    31,
                                    32,
                                    33,
                                    0x7f,
                                    0x80,
                                    0xffff,
                                    0x8000,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x3f800000,
                                    0xbf800000,
                                    0x7f800000,
                                    0xff800000,
                                    0x7fc00000,
                                    0x7f812345,
                                    0x00000001,
                                    0x807fffff,
                                    0x3c003c00,
                                    0xfc007c00,
                                    0x7e017bff,
                                    0x3f80bf80,
                                    0x7f80ff80,
                                    UINT64_C(0x3ff0000000000000),
                                    UINT64_C(0xc014000000000000),
                                    UINT64_C(0x7ff0000000000000),
                                    UINT64_C(0xfff8123456789abc),
                                    UINT64_C(0x7fefffffffffffff),
                                    UINT64_C(0x8000000000000000),
                                    UINT64_C(0x7fffffffffffffff),
                                    UINT64_C(0xffffffffffffffff),
                                    UINT64_C(0x000fffffffffffff)};
    random_state = 12345;
    for (unsigned n = 0; n < INPUTS; n++) {
        const uint64_t high = below(1u << 31), middle = below(1u << 31), low = below(1u << 16);
        const uint64_t bits = high << 33 ^ middle << 11 ^ low;
        const float small = (float)((int)below(4000) - 2000) * 0.125f;
        const double wide = (double)small * 1.000001;
        uint32_t word;
        memcpy(&word, &small, sizeof word);
        input[n] = one_of(3)   ? some[below(sizeof some / sizeof *some)]
                   : one_of(3) ? bits
                   : one_of(2) ? (uint64_t)word << 32 | word
                               : bits >> below(64);
        if (one_of(8))
            memcpy(&input[n], &wide, sizeof wide);
    }
}

static void open_driver(const char *path) {
    void *library = dlopen(path, RTLD_NOW), *context;
    int device, (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*set)(void *);
    int (*allocate)(address *, size_t);
    static uint64_t input[INPUTS];
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    find_function(library, "cuInit", &init);
    find_function(library, "cuDeviceGet", &get);
    find_function(library, "cuDevicePrimaryCtxRetain", &retain);
    find_function(library, "cuCtxSetCurrent", &set);
    find_function(library, "cuMemAlloc_v2", &allocate);
    find_function(library, "cuModuleLoadDataEx", &driver.load);
    find_function(library, "cuModuleUnload", &driver.unload);
    find_function(library, "cuModuleGetFunction", &driver.find);
    find_function(library, "cuCtxSynchronize", &driver.wait);
    find_function(library, "cuMemcpyHtoD_v2", &driver.to_device);
    find_function(library, "cuMemcpyDtoH_v2", &driver.to_host);
    find_function(library, "cuMemsetD8_v2", &driver.fill);
    find_function(library, "cuLaunchKernel", &driver.launch);
    check(init(0), "cuInit");
    check(get(&device, 0), "cuDeviceGet");
    check(retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(set(context), "cuCtxSetCurrent");
    fill_input(input);
    check(allocate(&driver.input, sizeof input), "cuMemAlloc");
    check(allocate(&driver.output, STORED_BY_ALL + MOST_TRACED * TRACED_BY_ALL), "cuMemAlloc");
    check(driver.to_device(driver.input, input, sizeof input), "cuMemcpyHtoD");
}

/* Runs a kernel, compiled with a level of optimizations, 0 to 4; returns what its threads stored.
 */
static const unsigned char *run(uint64_t number, unsigned level) {
    static unsigned char stored[STORED_BY_ALL + MOST_TRACED * TRACED_BY_ALL];
    static char log[4096];
    char *text = NULL, what[64];
    size_t size = 0;
    void *module, *function, *arguments[] = {&driver.input, &driver.output};
    int options[] = {7, 5, 6}; /* the level; the log's address and size */
    void *values[] = {(void *)(uintptr_t)level, log, (void *)(uintptr_t)sizeof log};
    file = open_memstream(&text, &size);
    put_kernel(number);
    fclose(file);
    snprintf(what, sizeof what, "kernel %llu", (unsigned long long)number);
    log[0] = 0;
    const int code = driver.load(&module, text, 3, options, values);
    if (code)
        fprintf(stderr, "%s\n", log);
    check(code, what);
    check(driver.find(&function, module, "k"), what);
    const size_t bytes = STORED_BY_ALL + (traces ? (size_t)statement_count * TRACED_BY_ALL : 0);
    check(driver.fill(driver.output, 0, bytes), what);
    check(driver.launch(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL), what);
    check(driver.wait(), what);
    check(driver.to_host(stored, driver.output, bytes), what);
    check(driver.unload(module), what);
    free(text);
    return stored;
}

static unsigned long long number_of(const unsigned char *bytes, size_t size) {
    unsigned long long number = 0xcbf29ce484222325;
    for (size_t n = 0; n < size; n++)
        number = (number ^ bytes[n]) * 0x100000001b3;
    return number;
}

static int print_numbers(uint64_t first, uint64_t count) {
    for (uint64_t number = first; number < first + count; number++) {
        const unsigned long long best = number_of(run(number, 4), STORED_BY_ALL);
        printf("%llu %016llx %016llx\n", (unsigned long long)number, best,
               number_of(run(number, 0), STORED_BY_ALL));
        fflush(stdout);
    }
    return 0;
}

static int print_traces(uint64_t first, uint64_t count) {
    traces = true;
    for (uint64_t number = first; number < first + count; number++) {
        const unsigned char *at = run(number, 0) + STORED_BY_ALL;
        for (unsigned n = 0; n < statement_count; n++, at += TRACED_BY_ALL)
            printf("%llu %u %016llx\n", (unsigned long long)number, n,
                   number_of(at, TRACED_BY_ALL));
        fflush(stdout);
    }
    return 0;
}

static int print_registers(uint64_t number, unsigned statement) {
    traces = true;
    const unsigned char *at = run(number, 0) + STORED_BY_ALL + (size_t)statement * TRACED_BY_ALL;
    for (unsigned n = 0; n < TRACED_BY_ALL / 8; n++, at += 8) {
        uint64_t word;
        unsigned bank = 0, of = n % REGISTERS;
        for (; of >= banks[bank].count; bank++)
            of -= banks[bank].count;
        memcpy(&word, at, sizeof word);
        printf("thread %u %c%u %llx\n", n / REGISTERS, banks[bank].letter, of,
               (unsigned long long)word);
    }
    return 0;
}

static int print_stored(uint64_t number, unsigned level) {
    const unsigned char *stored = run(number, level);
    for (unsigned n = 0; n < STORED_BY_ALL / 8; n++) {
        uint64_t word;
        memcpy(&word, stored + (size_t)8 * n, sizeof word);
        printf("thread %u word %u %llx\n", n / (STORED / 8), n % (STORED / 8),
               (unsigned long long)word);
    }
    return 0;
}

static int print_forms(void) {
    for (size_t n = 0; n < case_count; n++)
        printf("form %s\n", cases[n].name);
    return 0;
}

/* Moves the form with the name to a place in the list. */
static void take_form(size_t place, const char *name) {
    for (size_t n = place; n < case_count; n++)
        if (strcmp(cases[n].name, name) == 0) {
            const form_case one = cases[n];
            memmove(cases + place + 1, cases + place, (n - place) * sizeof *cases);
            cases[place] = one;
            return;
        }
    fprintf(stderr, "there is no form %s: the answers need a GPU again\n", name);
    exit(1);
}

/* Reads the list of forms; the file then has the kernels' numbers. */
static void read_forms(FILE *answers) {
    char line[128];
    size_t count = 0;
    long behind = 0;
    while (fgets(line, sizeof line, answers) && strncmp(line, "form ", 5) == 0) {
        line[strcspn(line, "\n")] = 0;
        take_form(count++, line + 5);
        behind = ftell(answers);
    }
    case_count = count;
    if (fseek(answers, behind, SEEK_SET))
        exit(1);
}

static int compare(FILE *answers) {
    char line[128];
    unsigned same = 0, differ = 0;
    while (fgets(line, sizeof line, answers)) {
        char *end;
        const uint64_t number = strtoull(line, &end, 10);
        if (number_of(run(number, 4), STORED_BY_ALL) == strtoull(end, NULL, 16)) {
            same++;
            continue;
        }
        printf("kernel %llu differs\n", (unsigned long long)number);
        differ++;
    }
    printf("%u kernels agree with a GPU, %u differ\n", same, differ);
    return differ || !same;
}

static int use_device(int argc, char **argv, FILE *answers) {
    uint64_t numbers[2] = {0};
    for (int n = 4; n < argc && n < 6; n++)
        numbers[n - 4] = strtoull(argv[n], NULL, 10);
    open_driver(argv[2]);
    if (argc == 3 && answers)
        return compare(answers);
    if (argc != 6)
        return 2;
    return strcmp(argv[3], "trace") == 0       ? print_traces(numbers[0], numbers[1])
           : strcmp(argv[3], "stored") == 0    ? print_stored(numbers[0], (unsigned)numbers[1])
           : strcmp(argv[3], "registers") == 0 ? print_registers(numbers[0], (unsigned)numbers[1])
                                               : print_numbers(numbers[0], numbers[1]);
}

int main(int argc, char **argv) {
    size_t bytes;
    if (argc < 3)
        return 2;
    FILE *answers = strcmp(argv[1], "-") == 0 ? NULL : fopen(argv[1], "r");
    cases = form_cases_make(false, &case_count, &bytes);
    if (answers)
        read_forms(answers);
    int result = 0;
    file = stdout;
    if (strcmp(argv[2], "forms") == 0)
        result = print_forms();
    else if (argc == 4 && strcmp(argv[2], "write") == 0)
        put_kernel(strtoull(argv[3], NULL, 10));
    else
        result = use_device(argc, argv, answers);
    if (answers)
        fclose(answers);
    free(cases);
    return result;
}
