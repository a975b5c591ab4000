/* .ftz in machine code: which forms have it, and kernels of operands and results that are
 * subnormal, or nearly, whose memory is then as the interpreter leaves it. */
#include "ptx_test.h"

#include "sim/ptx/form.h"
#include "sim/ptx/jit_inside.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- forms ---- */

/* Operations that have machine code; F and I stand for registers of 32 bits, D for one of 64. */
static const char *const operations[] = {
    "add.ftz.f32 F, F, F",
    "add.rn.ftz.f32 F, F, F",
    "sub.ftz.f32 F, F, F",
    "mul.ftz.f32 F, F, F",
    "mul.rn.ftz.f32 F, F, F",
    "fma.rn.ftz.f32 F, F, F, F",
    "add.sat.f32 F, F, F",
    "add.ftz.sat.f32 F, F, F",
    "mul.ftz.sat.f32 F, F, F",
    "fma.rn.sat.f32 F, F, F, F",
    "fma.rn.ftz.sat.f32 F, F, F, F",
    "add.rz.ftz.f32 F, F, F",
    "sub.rp.ftz.f32 F, F, F",
    "mul.rm.ftz.f32 F, F, F",
    "mul.rp.ftz.f32 F, F, F",
    "fma.rm.ftz.f32 F, F, F, F",
    "fma.rz.ftz.sat.f32 F, F, F, F",
    "div.approx.ftz.f32 F, F, F",
    "div.full.ftz.f32 F, F, F",
    "div.rn.ftz.f32 F, F, F",
    "div.rz.ftz.f32 F, F, F",
    "div.rm.ftz.f32 F, F, F",
    "div.rp.ftz.f32 F, F, F",
    "rcp.approx.ftz.f32 F, F",
    "rcp.rn.ftz.f32 F, F",
    "sqrt.approx.ftz.f32 F, F",
    "sqrt.rm.ftz.f32 F, F",
    "rsqrt.approx.ftz.f32 F, F",
    "rsqrt.approx.f32 F, F",
    "ex2.approx.ftz.f32 F, F",
    "ex2.approx.f32 F, F",
    "lg2.approx.ftz.f32 F, F",
    "lg2.approx.f32 F, F",
    "sin.approx.ftz.f32 F, F",
    "sin.approx.f32 F, F",
    "cos.approx.ftz.f32 F, F",
    "cos.approx.f32 F, F",
    "tanh.approx.f32 F, F",
    "min.ftz.f32 F, F, F",
    "max.ftz.f32 F, F, F",
    "abs.ftz.f32 F, F",
    "neg.ftz.f32 F, F",
    "setp.lt.ftz.f32 P, F, F",
    "setp.geu.ftz.f32 P, F, F",
    "setp.eq.ftz.f32 P, F, F",
    "setp.neu.and.ftz.f32 P, F, F, P",
    "cvt.ftz.f32.f32 F, F",
    "cvt.ftz.sat.f32.f32 F, F",
    "cvt.ftz.f64.f32 D, F",
    "cvt.rn.ftz.f32.f64 F, D",
    "cvt.rzi.ftz.s32.f32 I, F",
    "cvt.rni.ftz.u32.f32 I, F",
    "cvt.rn.f32.s32 F, I",
    "cvt.rmi.ftz.f32.f32 F, F",
    "cvt.rpi.ftz.f32.f32 F, F",
    "cvt.rni.f32.f32 F, F",
    "cvt.rzi.f32.f32 F, F",
    "cvt.rmi.f32.f32 F, F",
    "copysign.f32 F, F, F",
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

TEST(forms_that_flush_have_machine_code) {
    for (unsigned n = 0; n < OPERATIONS; n++) {
        char opcode[64];
        snprintf(opcode, sizeof opcode, "%.*s", (int)strcspn(operations[n], " "), operations[n]);
        const ptx_form *form = acu_ptx_form_find(opcode);
        assert_non_null(form);
        for (ptx_level level = PTX_AVX2; level <= PTX_AVX512; level++) {
            const ptx_op op = {.full = acu_ptx_lane_handlers(level)[form->handler]};
            if (op.full && !acu_jit_is_known(&op))
                fail_msg("%s has no machine code", opcode);
        }
    }
}

/* ---- random kernels ---- */

static uint32_t random_word(void) {
    static uint64_t seed = 7;
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

/* A text that grows. */
typedef struct text {
    char at[16384];
    size_t size;
} text;

static void say(text *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    t->size += (size_t)vsnprintf(t->at + t->size, sizeof t->at - t->size, format, list);
    va_end(list);
    assert_true(t->size < sizeof t->at);
}

enum { FLOATS = 6, THREADS = 80, COLUMNS = FLOATS + 4, KERNELS = 1000 };

/* What floats begin with, or are set to: the smallest ones that are normal, and what a product or a
 * sum of them makes subnormal, or nearly. */
static const uint32_t numbers[] = {
    0x00800000, 0x80800000, 0x00000001, 0x807fffff, 0x00800001, 0x00000000, 0x80000000, 0x3f7fffff,
    0x3f800000, 0xbf800001, 0x3f000000, 0x00ffffff, 0x01000000, 0x1f800000, 0x9fffffff, 0x20000001,
    0x7e800000, 0x7f7fffff, 0x7f800000, 0xffc12345, 0x7fa00001, 0x42fe0000, 0xc2fc0000, 0x40490fdb,
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void say_operation(text *t, const char *guard) {
    const char *one = operations[random_word() % OPERATIONS];
    say(t, "%s", guard);
    for (; *one; one++)
        if (*one == 'F' && one[-1] == ' ' && one[-2] == ',' && random_word() % 8 == 0)
            say(t, "0f%08x", numbers[random_word() % NUMBERS]);
        else if (*one == 'F')
            say(t, "%%f%u", random_word() % FLOATS);
        else if (strchr("IDP", *one))
            say(t, "%%%c%u", *one + 'a' - 'A', random_word() % 2);
        else
            say(t, "%c", *one);
    say(t, ";\n");
}

/* Says an operation, or one that does not flush. */
static void say_step(text *t) {
    static const char *const guards[] = {"", "", "", "@%p0 ", "@!%p1 "};
    const unsigned a = random_word() % FLOATS, b = random_word() % FLOATS;
    const char *guard = guards[random_word() % 5];
    switch (random_word() % 12) {
    case 0:
        say(t, "%smov.b32 %%f%u, %%f%u;\n", guard, a, b);
        break;
    case 1:
        say(t, "%smov.b32 %%f%u, 0f%08x;\n", guard, a, numbers[random_word() % NUMBERS]);
        break;
    case 2:
        say(t, "%smul.f32 %%f%u, %%f%u, 0f3f000000;\n", guard, a, b);
        break;
    case 3:
        say(t, "%sselp.f32 %%f%u, %%f%u, %%f%u, %%p1;\n", guard, a, b, random_word() % FLOATS);
        break;
    case 4:
        say(t, "%sld.global.f32 %%f%u, [%%a+%u];\n", guard, a, random_word() % COLUMNS * 4);
        break;
    default:
        say_operation(t, guard);
    }
}

static void say_steps(text *t, unsigned count) {
    for (unsigned n = 0; n < count; n++)
        say_step(t);
}

/* Says a kernel whose threads have COLUMNS words each: it begins with them, and ends with their
 * floats there. */
static void say_kernel(text *t) {
    t->size = 0;
    say(t,
        HEAD ".entry k(.param .u64 p) {\n.reg .f32 %%f<%d>; .reg .b32 %%i<2>, %%n, %%t;\n"
             ".reg .f64 %%d<2>; .reg .b64 %%a; .reg .pred %%p<2>, %%q;\n"
             "ld.param.u64 %%a, [p];\nmov.u32 %%t, %%tid.x;\nmad.wide.u32 %%a, %%t, %d, %%a;\n"
             "mov.u32 %%i0, %%laneid;\nmov.u32 %%i1, 7;\nsetp.lt.u32 %%p0, %%i0, 20;\n"
             "setp.ne.u32 %%p1, %%i0, 3;\nmov.f64 %%d0, 0d3810000000000000;\n"
             "mov.f64 %%d1, 0d380fffffffffffff;\n",
        FLOATS, COLUMNS * 4);
    for (unsigned n = 0; n < FLOATS; n++)
        say(t, "ld.global.f32 %%f%u, [%%a+%u];\n", n, n * 4);
    say_steps(t, random_word() % 8);
    say(t, "mov.u32 %%n, 0;\nL:\n");
    say_steps(t, 4);
    say(t, "setp.%s.ftz.f32 %%q, %%f0, %%f1;\n@%%q bra M;\n", random_word() % 2 ? "lt" : "neu");
    say_steps(t, 6);
    say(t, "M:\n");
    say_steps(t, 4);
    say(t, "add.u32 %%n, %%n, 1;\nsetp.ne.u32 %%q, %%n, 4;\n@%%q bra L;\n");
    say_steps(t, 6);
    for (unsigned n = 0; n < FLOATS; n++)
        say(t, "st.global.f32 [%%a+%u], %%f%u;\n", n * 4, n);
    say(t,
        "selp.u32 %%t, %%i0, 1, %%p0;\nst.global.u32 [%%a+%u], %%t;\n"
        "st.global.u32 [%%a+%u], %%i1;\nst.global.f64 [%%a+%u], %%d0;\nret;\n}\n",
        FLOATS * 4, FLOATS * 4 + 4, FLOATS * 4 + 8);
}

static void run_kernel(const text *t, unsigned seed, uint32_t *words) {
    for (unsigned n = 0; n < THREADS * COLUMNS; n++) {
        const uint32_t mixed = (n + seed) * 0x9e3779b9u >> 8;
        words[n] = mixed % 8 ? numbers[mixed / 8 % NUMBERS] : mixed << 8;
    }
    run(t->at, 1, THREADS, words, (size_t)THREADS * COLUMNS);
}

static void begin_as(const char *configuration) {
    acu_sim_reset(configuration);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

TEST(kernels_that_flush) {
    static text texts[KERNELS];
    static uint32_t expected[KERNELS][THREADS * COLUMNS], found[THREADS * COLUMNS];
    static const char *const configurations[] = {MACHINE ",jit=0", MACHINE ",jit=always",
                                                 MACHINE ",jit=avx2"};
    for (unsigned way = 0; way < 3; way++) {
        begin_as(configurations[way]);
        for (unsigned n = 0; n < KERNELS; n++) {
            if (!way)
                say_kernel(&texts[n]);
            run_kernel(&texts[n], n, way ? found : expected[n]);
            for (unsigned w = 0; way && w < THREADS * COLUMNS; w++)
                if (found[w] != expected[n][w])
                    fail_msg("%s: kernel %u differs, thread %u, word %u: %08x, not %08x:\n%s",
                             configurations[way], n, w / COLUMNS, w % COLUMNS, found[w],
                             expected[n][w], texts[n].at);
        }
    }
    begin_as(MACHINE);
}

/* ---- functions ---- */

/* Approximations of one float, or of two. */
static const char *const functions[] = {
    "rcp.approx.f32 Y, X",      "rcp.approx.ftz.f32 Y, X",    "sqrt.approx.f32 Y, X",
    "sqrt.approx.ftz.f32 Y, X", "rsqrt.approx.f32 Y, X",      "rsqrt.approx.ftz.f32 Y, X",
    "ex2.approx.f32 Y, X",      "ex2.approx.ftz.f32 Y, X",    "lg2.approx.f32 Y, X",
    "lg2.approx.ftz.f32 Y, X",  "sin.approx.f32 Y, X",        "sin.approx.ftz.f32 Y, X",
    "cos.approx.f32 Y, X",      "cos.approx.ftz.f32 Y, X",    "tanh.approx.f32 Y, X",
    "div.approx.f32 Y, Y, X",   "div.approx.ftz.f32 Y, Y, X", "div.full.f32 Y, Y, X",
    "div.full.ftz.f32 Y, Y, X",
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, RESULTS = 256 };

/* Each thread joins the results of 256 floats, which are of all sizes. Y is another one, or, of
 * every other thread, one of nearly the same size. */
static void say_function(text *t, const char *function) {
    t->size = 0;
    say(t, HEAD ".entry k(.param .u64 p) {\n.reg .f32 X, Y; .reg .b32 %%x, %%s, %%t, %%u, %%n;\n"
                ".reg .b64 %%a; .reg .pred %%q, %%o;\nld.param.u64 %%a, [p];\n"
                "mov.u32 %%t, %%tid.x;\nmad.wide.u32 %%a, %%t, 4, %%a;\n"
                "and.b32 %%u, %%t, 1;\nsetp.ne.u32 %%o, %%u, 0;\n"
                "mul.lo.u32 %%x, %%t, 0x3504f333;\nmov.u32 %%s, 0;\nmov.u32 %%n, 0;\nL:\n"
                "mov.b32 X, %%x;\nmul.lo.u32 %%u, %%x, 0x3504f333;\n"
                "@%%o and.b32 %%u, %%u, 0x83ffffff;\n@%%o add.u32 %%u, %%u, %%x;\n"
                "mov.b32 Y, %%u;\n");
    say(t, "%s;\nmov.b32 %%t, Y;\nmad.lo.u32 %%s, %%s, 31, %%t;\n", function);
    say(t, "add.u32 %%x, %%x, 0x9e3779b1;\nadd.u32 %%n, %%n, 1;\nsetp.ne.u32 %%q, %%n, 256;\n"
           "@%%q bra L;\nst.global.u32 [%%a], %%s;\nret;\n}\n");
}

TEST(functions_of_many_floats) {
    static text one;
    uint32_t expected[RESULTS], found[RESULTS];
    static const char *const configurations[] = {MACHINE ",jit=always", MACHINE ",jit=avx2"};
    for (unsigned n = 0; n < FUNCTIONS; n++) {
        say_function(&one, functions[n]);
        memset(expected, 0, sizeof expected);
        begin_as(MACHINE ",jit=0");
        run(one.at, 1, RESULTS, expected, RESULTS);
        for (unsigned way = 0; way < 2; way++) {
            memset(found, 0, sizeof found);
            begin_as(configurations[way]);
            run(one.at, 1, RESULTS, found, RESULTS);
            for (unsigned w = 0; w < RESULTS; w++)
                if (found[w] != expected[w])
                    fail_msg("%s: %s differs, thread %u", configurations[way], functions[n], w);
        }
    }
    begin_as(MACHINE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(forms_that_flush_have_machine_code),
        C(kernels_that_flush),
        C(functions_of_many_floats),
    };
    return RUN(tests);
}
