/* Lanes that go apart: loops in loops that lanes leave early, short branches, calls where not all
 * lanes are, registers of all widths, many accesses through one register, and lanes that end. */
#include "random_kernels.h"

#include <string.h>

/* ---- operations ---- */

/* Registers of a statement of its own: %qh, %qr, %qd, %qf, %qg and %qp, as many of each. */
enum { OF_A_WIDTH = 5, FUNCTIONS = 3, MOST_NEST = 4, MOST_LOOPS = 3 };

static const struct {
    const char *opcode, *of; /* widths of the result and the operands */
} operations[] = {
    {"add.u32", "rrr"},
    {"sub.s32", "rrr"},
    {"mul.lo.u32", "rrr"},
    {"mad.lo.s32", "rrrr"},
    {"mul.wide.u32", "drr"},
    {"mul.wide.s16", "rhh"},
    {"mad.wide.s32", "drrd"},
    {"mul.hi.u32", "rrr"},
    {"add.u16", "hhh"},
    {"mul.lo.s16", "hhh"},
    {"and.b16", "hhh"},
    {"sub.s64", "ddd"},
    {"add.u64", "ddd"},
    {"xor.b64", "ddd"},
    {"and.b32", "rrr"},
    {"or.b32", "rrr"},
    {"shl.b32", "rrr"},
    {"shr.s32", "rrr"},
    {"shr.u64", "ddr"},
    {"shl.b16", "hhr"},
    {"min.s32", "rrr"},
    {"max.u64", "ddd"},
    {"min.s16", "hhh"},
    {"div.u32", "rrr"},
    {"div.s32", "rrr"},
    {"rem.u32", "rrr"},
    {"rem.s32", "rrr"},
    {"div.u64", "ddd"},
    {"rem.s64", "ddd"},
    {"div.u16", "hhh"},
    {"rem.s16", "hhh"},
    {"sqrt.rn.f32", "ff"},
    {"div.rn.f32", "fff"},
    {"rcp.rn.f32", "ff"},
    {"add.rn.f32", "fff"},
    {"mul.rn.f32", "fff"},
    {"fma.rn.f32", "ffff"},
    {"sqrt.rn.f64", "gg"},
    {"div.rn.f64", "ggg"},
    {"fma.rn.f64", "gggg"},
    {"add.rn.f64", "ggg"},
    {"add.rn.f16", "hhh"},
    {"mul.rn.f16", "hhh"},
    {"fma.rn.f16", "hhhh"},
    {"add.rn.f16x2", "rrr"},
    {"fma.rn.f16x2", "rrrr"},
    {"fma.rn.bf16", "hhhh"},
    {"max.f32", "fff"},
    {"min.f64", "ggg"},
    {"cvt.u16.u32", "hr"},
    {"cvt.u32.u16", "rh"},
    {"cvt.s32.s16", "rh"},
    {"cvt.s64.s32", "dr"},
    {"cvt.u32.u64", "rd"},
    {"cvt.u64.u16", "dh"},
    {"cvt.rn.f32.s32", "fr"},
    {"cvt.rzi.s32.f32", "rf"},
    {"cvt.f64.f32", "gf"},
    {"cvt.rn.f32.f64", "fg"},
    {"cvt.rn.f16.f32", "hf"},
    {"cvt.f32.f16", "fh"},
    {"cvt.rn.f64.u64", "gd"},
    {"cvt.rzi.u64.f64", "dg"},
    {"popc.b32", "rr"},
    {"clz.b64", "rd"},
    {"bfind.u32", "rr"},
    {"brev.b32", "rr"},
    {"bfe.u32", "rrrr"},
    {"bfi.b32", "rrrrr"},
    {"prmt.b32", "rrrr"},
    {"shf.l.wrap.b32", "rrrr"},
    {"selp.b32", "rrrp"},
    {"selp.b64", "dddp"},
    {"selp.f32", "fffp"},
    {"selp.b16", "hhhp"},
    {"setp.lt.s32", "prr"},
    {"setp.ne.u64", "pdd"},
    {"setp.ge.f32", "pff"},
    {"setp.lt.u16", "phh"},
    {"setp.gt.f64", "pgg"},
    {"and.pred", "ppp"},
    {"xor.pred", "ppp"},
    {"not.pred", "pp"},
    {"mov.b32", "rr"},
    {"mov.b64", "dd"},
    {"mov.b32", "rf"},
    {"mov.b64", "gd"},
    {"sad.u32", "rrrr"},
    {"ex2.approx.ftz.f32", "ff"},
    {"rsqrt.approx.ftz.f32", "ff"},
    {"sqrt.approx.f32", "ff"},
    {"slct.s32.s32", "rrrr"},
    {"mad.lo.u64", "dddd"},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void put_own_guard(void) {
    if (!one_of(4))
        return;
    const unsigned flag = below(OF_A_WIDTH);
    put("@%s%%qp%u ", one_of(2) ? "!" : "", flag);
}

/* Puts an operation of any width, or of one; the result is a register, or any. */
static void put_operation_to(char width, unsigned to) {
    unsigned n = below(OPERATIONS);
    while (width && operations[n].of[0] != width)
        n = (n + 1) % OPERATIONS;
    put("%s ", operations[n].opcode);
    for (const char *at = operations[n].of; *at; at++) {
        const unsigned number = at == operations[n].of && width ? to : below(OF_A_WIDTH);
        const bool is_number = *at == 'r' && at != operations[n].of && !at[1] &&
                               !strstr(operations[n].opcode, "f16x2") && one_of(4);
        put(at == operations[n].of ? "" : ", ");
        if (is_number)
            put("%u", below(40));
        else
            put("%%q%c%u", *at, number);
    }
    put(";\n");
}

/* Moves parts of wide registers, and pairs of narrow ones. */
static void put_halves(void) {
    const unsigned way = below(4), a = below(OF_A_WIDTH), b = below(OF_A_WIDTH),
                   other = (b + 1 + below(OF_A_WIDTH - 1)) % OF_A_WIDTH;
    put_own_guard();
    switch (way) {
    case 0:
        put("mov.b64 %%qd%u, {%%qr%u, %%qr%u};\n", a, b, other);
        break;
    case 1:
        put("mov.b64 {%%qr%u, %%qr%u}, %%qd%u;\n", b, other, a);
        break;
    case 2:
        put("mov.b32 %%qr%u, {%%qh%u, %%qh%u};\n", a, b, other);
        break;
    default:
        put("mov.b32 {%%qh%u, %%qh%u}, %%qr%u;\n", b, other, a);
    }
}

/* ---- memory of a thread ---- */

static bool in_function; /* where %y1, %so and %lo are not */

/* Loads or stores an element of the thread's own. */
static void put_own_access(void) {
    static const struct {
        const char *type;
        char width;
        unsigned size;
    } shapes[] = {{"b16", 'h', 2}, {"b32", 'r', 4}, {"b64", 'd', 8}, {"f32", 'f', 4},
                  {"f64", 'g', 8}, {"u8", 'h', 1},  {"s16", 'r', 2}, {"s32", 'd', 4}};
    static const char *const spaces[] = {"global", "shared", "local"}, *const begins[] = {
                                                                           "%y1", "%so", "%lo"};
    const unsigned shape = below(8), space = below(3), number = below(OF_A_WIDTH),
                   at = below(OWN / shapes[shape].size) * shapes[shape].size;
    const bool loads = shape >= 5 || one_of(2);
    if (in_function) {
        put_operation_to(0, 0);
        return;
    }
    put_own_guard();
    if (loads)
        put("ld.%s.%s %%q%c%u, [%s+%u];\n", spaces[space], shapes[shape].type, shapes[shape].width,
            number, begins[space], at);
    else
        put("st.%s.%s [%s+%u], %%q%c%u;\n", spaces[space], shapes[shape].type, begins[space], at,
            shapes[shape].width, number);
}

/* ---- where lanes go ---- */

static unsigned items_left;
static unsigned loops[MOST_LOOPS], loop_count; /* that are around this place */
static unsigned end_label;
static bool may_end; /* whether lanes may end the kernel here */

static void put_items(unsigned nest, unsigned count);

/* One operation or none on each side, most often for the same result. */
static void put_short(void) {
    static const char widths[] = "hrdfgp";
    const unsigned label = new_label(), flag = below(OF_A_WIDTH), to = below(OF_A_WIDTH),
                   other = one_of(4) ? below(OF_A_WIDTH) : to;
    const char width = widths[below(6)], other_width = one_of(6) ? widths[below(6)] : width;
    put("@%s%%qp%u bra ELSE%u;\n", one_of(2) ? "!" : "", flag, label);
    if (one_of(6))
        put_own_access();
    else
        put_operation_to(width, to);
    if (one_of(4)) {
        put("ELSE%u:\n", label);
        return;
    }
    put("bra BOTH%u;\nELSE%u:\n", label, label);
    if (one_of(6))
        put_own_access();
    else
        put_operation_to(other_width, other);
    put("BOTH%u:\n", label);
}

static void put_choice(unsigned nest) {
    const unsigned label = new_label(), flag = below(OF_A_WIDTH);
    put("@%%qp%u bra ELSE%u;\n", flag, label);
    put_items(nest + 1, 1 + below(5));
    if (one_of(2)) {
        put("bra BOTH%u;\nELSE%u:\n", label, label);
        put_items(nest + 1, 1 + below(5));
        put("BOTH%u:\n", label);
    } else {
        put("ELSE%u:\n", label);
    }
}

/* A loop that each lane goes round as often as its register says, up to four times. */
static void put_loop(unsigned nest) {
    const unsigned label = new_label(), from = below(OF_A_WIDTH);
    const bool tests_first = one_of(2);
    put("{\n.reg .b32 %%c%u;\n.reg .pred %%k%u;\nand.b32 %%c%u, %%qr%u, 3;\nLOOP%u:\n", label,
        label, label, from, label);
    if (tests_first)
        put("setp.eq.u32 %%k%u, %%c%u, 0;\n@%%k%u bra LEFT%u;\n", label, label, label, label);
    loops[loop_count++] = label;
    put_items(nest + 1, 2 + below(6));
    loop_count--;
    put("NEXT%u:\nsub.s32 %%c%u, %%c%u, 1;\n", label, label, label);
    if (tests_first)
        put("bra LOOP%u;\n", label);
    else
        put("setp.gt.s32 %%k%u, %%c%u, 0;\n@%%k%u bra LOOP%u;\n", label, label, label, label);
    put("LEFT%u:\n}\n", label);
}

/* Lanes that leave a loop, go to its next round, or to the end of all. */
static void put_leave(void) {
    const unsigned flag = below(OF_A_WIDTH), way = below(8);
    const char *const negated = one_of(2) ? "!" : "";
    if (way == 0 && may_end)
        put("@%s%%qp%u exit;\n", negated, flag);
    else if (way == 1 && in_function)
        put("@%s%%qp%u ret;\n", negated, flag);
    else if (way <= 1 && !in_function)
        put("@%s%%qp%u bra END%u;\n", negated, flag, end_label);
    else if (loop_count)
        put("@%s%%qp%u bra %s%u;\n", negated, flag, way < 6 ? "LEFT" : "NEXT",
            loops[below(loop_count)]);
}

static void put_own_call(void) {
    const unsigned narrow = below(OF_A_WIDTH), wide = below(OF_A_WIDTH), to = below(OF_A_WIDTH),
                   number = below(FUNCTIONS);
    if (in_function)
        return;
    put("{\n.param .b32 a;\n.param .b64 b;\n.param .b32 c;\nst.param.b32 [a], %%qr%u;\n"
        "st.param.b64 [b], %%qd%u;\ncall (c), apart%u, (a, b);\nld.param.b32 %%qr%u, [c];\n}\n",
        narrow, wide, number, to);
}

static void put_item(unsigned nest) {
    const unsigned way = below(40);
    if (way < 16) {
        put_own_guard();
        put_operation_to(0, 0);
    } else if (way < 19)
        put_halves();
    else if (way < 22)
        put_own_access();
    else if (way < 28 || way >= 38)
        put_short();
    else if (way < 31)
        put_leave();
    else if (way < 34 && nest < MOST_NEST)
        put_choice(nest);
    else if (way < 37 && nest < MOST_NEST && loop_count < MOST_LOOPS)
        put_loop(nest);
    else
        put_own_call();
}

static void put_items(unsigned nest, unsigned count) {
    for (; count && items_left; count--) {
        items_left--;
        put_item(nest);
    }
}

static void put_own_registers(void) {
    static const char *const banks[] = {".b16 %qh", ".b32 %qr", ".b64 %qd",
                                        ".f32 %qf", ".f64 %qg", ".pred %qp"};
    for (unsigned n = 0; n < 6; n++)
        put(".reg %s<%u>;\n", banks[n], (unsigned)OF_A_WIDTH);
}

/* Conditions that the first values give. */
static void put_own_flags(void) {
    for (unsigned n = 0; n < OF_A_WIDTH; n++)
        put("setp.%s.s32 %%qp%u, %%qr%u, %%qr%u;\n", n % 2 ? "lt" : "ge", n, n,
            (n + 1) % OF_A_WIDTH);
}

/* Puts operations in loops and branches, in registers of their own, some of which are logged. */
static void put_maze(void) {
    static const char widths[] = "hrdfg", banks[] = "hrdrd";
    const unsigned narrow = any('r', OF_A_WIDTH), wide = any('d', OF_A_WIDTH),
                   number = any('r', OF_A_WIDTH), bits = any('d', OF_A_WIDTH),
                   half = any('h', OF_A_WIDTH), to[] = {half, narrow, wide, number, bits};
    put_values('r', number, OF_A_WIDTH, F32, (kind)below(KINDS));
    put_values('d', bits, OF_A_WIDTH, F64, (kind)below(KINDS));
    put("{\n");
    put_own_registers();
    for (unsigned n = 0; n < OF_A_WIDTH; n++)
        put("mov.b16 %%qh%u, %%h%u;\nmov.b32 %%qr%u, %%r%u;\nmov.b64 %%qd%u, %%d%u;\nmov.b32 "
            "%%qf%u, %%r%u;\nmov.b64 %%qg%u, %%d%u;\n",
            n, half + n, n, narrow + n, n, wide + n, n, number + n, n, bits + n);
    put_own_flags();
    end_label = new_label();
    items_left = 30;
    while (items_left)
        put_items(0, items_left);
    put("END%u:\n", end_label);
    for (unsigned n = 0; n < 5; n++) {
        const unsigned from = below(OF_A_WIDTH), bytes = banks[n] == 'h'   ? 16
                                                         : banks[n] == 'r' ? 32
                                                                           : 64;
        put("mov.b%u %%%c%u, %%q%c%u;\n", bytes, banks[n], to[n], widths[n], from);
    }
    put("}\n");
    for (unsigned n = 0; n < 5; n++)
        put_log(banks[n], to[n], 1);
}

/* ---- functions ---- */

void put_apart_functions(void) {
    in_function = true;
    for (unsigned n = 0; n < FUNCTIONS; n++) {
        put(".func (.param .b32 c) apart%u(.param .b32 a, .param .b64 b)\n{\n", n);
        put_own_registers();
        put("ld.param.b32 %%qr0, [a];\nld.param.b64 %%qd0, [b];\nst.param.b32 [c], %%qr0;\n");
        for (unsigned i = 1; i < OF_A_WIDTH; i++)
            put("mad.lo.u32 %%qr%u, %%qr%u, 1664525, %u;\nmad.lo.u64 %%qd%u, %%qd%u, 25214903917, "
                "%u;\n",
                i, i - 1, i, i, i - 1, i);
        for (unsigned i = 0; i < OF_A_WIDTH; i++)
            put("cvt.u16.u32 %%qh%u, %%qr%u;\ncvt.rn.f32.s32 %%qf%u, %%qr%u;\ncvt.rn.f64.s64 "
                "%%qg%u, %%qd%u;\n",
                i, i, i, i, i, i);
        put_own_flags();
        items_left = 12;
        while (items_left)
            put_items(1, items_left);
        put("cvt.u32.u64 %%qr1, %%qd1;\nxor.b32 %%qr0, %%qr0, %%qr1;\nst.param.b32 [c], "
            "%%qr0;\nret;\n}\n");
    }
    in_function = false;
}

/* ---- many accesses through one register ---- */

static unsigned loaded; /* bytes that the statement logs */

/* Puts a load or a store of an element at a distance from %qa, in a space or none, within `room`
 * bytes from `at` on. */
static void put_one_access(const char *space, unsigned at, unsigned room) {
    static const struct {
        const char *type;
        char letter;
        unsigned size, count;
    } shapes[] = {{"u8", 'h', 1, 1},  {"s8", 'r', 1, 1},  {"b16", 'h', 2, 1}, {"u16", 'r', 2, 1},
                  {"b32", 'r', 4, 1}, {"f32", 'r', 4, 1}, {"b64", 'd', 8, 1}, {"s32", 'd', 4, 1},
                  {"b32", 'r', 4, 1}, {"b64", 'd', 8, 1}, {"b32", 'r', 4, 2}, {"b32", 'r', 4, 4},
                  {"b64", 'd', 8, 2}, {"b16", 'h', 2, 4}, {"u8", 'h', 1, 4},  {"f32", 'r', 4, 4}};
    unsigned n = below(16);
    while (shapes[n].size * shapes[n].count > room)
        n = (n + 1) % 16;
    const unsigned size = shapes[n].size * shapes[n].count,
                   first = any(shapes[n].letter, shapes[n].count), way = below(room / size),
                   flag = below(FLAGS), label = new_label();
    const bool is_cut = shapes[n].size < (shapes[n].letter == 'd'   ? 8u
                                          : shapes[n].letter == 'r' ? 4u
                                                                    : 2u);
    const bool loads = is_cut ? !one_of(4) : one_of(2), branches = one_of(6);
    const char *const vector = shapes[n].count == 1 ? "" : shapes[n].count == 2 ? ".v2" : ".v4";
    if (branches)
        put("@%%p%u bra PAST%u;\n", flag, label);
    else
        put_guard(LANE);
    put("%s%s%s.%s ", loads ? "ld" : "st", space, vector,
        loads || shapes[n].type[0] != 's' ? shapes[n].type
        : size == 1                       ? "u8"
                                          : "u32");
    if (!loads)
        put("[%%qa+%u], ", at + way * size);
    put_operand(shapes[n].letter, first, shapes[n].count);
    if (loads)
        put(", [%%qa+%u]", at + way * size);
    put(";\n");
    if (branches)
        put("PAST%u:\n", label);
    if (loads && loaded < 150) {
        loaded += 8 * shapes[n].count;
        put_log(shapes[n].letter, first, shapes[n].count);
    }
}

/* Makes %qa and %qe addresses in the thread's own memory, as far from its begin as a register says;
 * returns the space of accesses by them. */
static const char *put_two_places(unsigned place, bool is_generic) {
    static const char *const begins[] = {"%y1", "%so", "%lo"},
                             *const spaces[] = {"global", "shared", "local"},
                             *const dotted[] = {".global", ".shared", ".local"};
    const unsigned a = any('r', 1), b = any('r', 1);
    if (place == 0)
        put("mov.b64 %%qb, %s;\n", begins[0]);
    else
        put("cvt.u64.u32 %%qb, %s;\n", begins[place]);
    if (is_generic && place)
        put("cvta.%s.u64 %%qb, %%qb;\n", spaces[place]);
    put("and.b32 %%x1, %%r%u, 16;\ncvt.u64.u32 %%qa, %%x1;\nadd.u64 %%qa, %%qa, %%qb;\nand.b32 "
        "%%x1, %%r%u, 16;\ncvt.u64.u32 %%qe, %%x1;\nadd.u64 %%qe, %%qe, %%qb;\n",
        a, b);
    return is_generic ? "" : dotted[place];
}

/* Accesses of the thread's own memory. */
static void put_offsets(void) {
    const unsigned place = below(3), other = below(3), flag = below(FLAGS), label = new_label();
    const bool is_generic = one_of(3), mixes = is_generic && one_of(2), goes_round = one_of(4);
    loaded = 0;
    put("{\n.reg .b64 %%qa, %%qb, %%qe;\n.reg .b32 %%qc;\n.reg .pred %%qk;\n");
    if (mixes) { /* lanes whose addresses are of different spaces */
        put_two_places(other, true);
        put("mov.b64 %%y6, %%qa;\n");
    }
    const char *const space = put_two_places(place, is_generic);
    if (mixes)
        put("@%%p%u mov.b64 %%qa, %%y6;\n", flag);
    if (goes_round)
        put("and.b32 %%qc, %%r%u, 3;\nROUND%u:\n", any('r', 1), label);
    for (unsigned left = 4 + below(7); left; left--) {
        put_one_access(space, goes_round ? 16 * below(2) : 16 * below(3), 16);
        if (!goes_round && one_of(8))
            put("@%%p%u mov.b64 %%qa, %%qe;\n", below(FLAGS));
    }
    if (goes_round)
        put("mov.b64 %%qa, %%qe;\nsub.s32 %%qc, %%qc, 1;\nsetp.gt.s32 %%qk, %%qc, 0;\n@%%qk bra "
            "ROUND%u;\n",
            label);
    put("}\n");
}

/* Accesses of elements that lie beside those of the next lanes, or of the lanes in another order.
 */
static void put_beside(void) {
    const unsigned size = 4u << below(3), is_global = below(2), turn = below(32),
                   rows = WARP_BYTES / 32 / size;
    loaded = 0;
    put("bar.warp.sync 0xffffffff;\n{\n.reg .b64 %%qa;\n.reg .b32 %%qi;\nxor.b32 %%qi, %%lane, "
        "%u;\nmul.lo.u32 %%qi, %%qi, %u;\n",
        one_of(2) ? 0 : turn, size);
    if (is_global)
        put("cvt.u64.u32 %%qa, %%qi;\nadd.u64 %%qa, %%qa, %%y4;\n");
    else
        put("add.u32 %%qi, %%qi, %%ws;\ncvt.u64.u32 %%qa, %%qi;\n");
    const bool is_generic = one_of(3);
    if (is_generic && !is_global)
        put("cvta.shared.u64 %%qa, %%qa;\n");
    for (unsigned left = 4 + below(8); left; left--)
        put_one_access(is_generic  ? ""
                       : is_global ? ".global"
                                   : ".shared",
                       32 * size * below(rows), size);
    put("}\nbar.warp.sync 0xffffffff;\n");
}

/* ---- lanes that end ---- */

/* What a kernel does last: lanes end, and the others meet, and exchange something. */
void put_endings(void) {
    may_end = true;
    for (unsigned left = 3; left; left--) {
        const unsigned from = any('r', 1), to = any('r', 1), distance = 32 * below(4) + below(32),
                       at = 4 * below(OWN / 4);
        put_maze();
        put("st.shared.b32 [%%so+%u], %%r%u;\n%s 0;\nadd.u32 %%x1, %%ti, %u;\nand.b32 %%x1, %%x1, "
            "%u;\nshl.b32 %%x1, %%x1, 6;\nmov.u32 %%x2, own;\nadd.u32 %%x1, %%x1, %%x2;\n"
            "ld.shared.b32 %%r%u, [%%x1+%u];\n%s 0;\n",
            at, from, one_of(2) ? "bar.sync" : "barrier.sync", distance, THREADS - 1u, to, at,
            "barrier.sync");
        put_log('r', to, 1);
    }
    may_end = false;
}

const statement apart_statements[] = {
    {put_maze, LANE, 60},
    {put_offsets, LANE, 40},
    {put_beside, WARP, 30},
    {0},
};
