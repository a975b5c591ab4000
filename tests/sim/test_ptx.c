/* Kernels of PTX that the simulator executes. */
#define _POSIX_C_SOURCE 200809L /* dup2 */
#include "ptx_test.h"

#include <fenv.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one instruction ---- */

/* What an instruction makes of its operands. The registers have `size` bits; `to` is the result's
 * size where it is another. */
typedef struct row {
    const char *opcode;
    int size, to, operands;
    uint64_t a, b, c, result;
} row;

static const row rows[] = {
    {"add.u32", 32, 0, 2, 0xffffffff, 2, 0, 1},
    {"add.sat.s32", 32, 0, 2, 0x7fffffff, 1, 0, 0x7fffffff},
    {"sub.s64", 64, 0, 2, 0, 1, 0, UINT64_MAX},
    {"mul.hi.u32", 32, 0, 2, 0xffffffff, 0xffffffff, 0, 0xfffffffe},
    {"mul.hi.s64", 64, 0, 2, UINT64_MAX, UINT64_MAX, 0, 0},
    {"mul.hi.u64", 64, 0, 2, UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1},
    {"mul.wide.s32", 32, 64, 2, 0xffffffff, 5, 0, UINT64_MAX - 4},
    {"mad.lo.u32", 32, 0, 3, 7, 6, 1, 43},
    {"div.s32", 32, 0, 2, 0x80000000, 0xffffffff, 0, 0x80000000},
    {"div.s32", 32, 0, 2, (uint32_t)-7, 2, 0, (uint32_t)-3},
    {"rem.s32", 32, 0, 2, (uint32_t)-7, 2, 0, UINT32_MAX},
    {"sad.u32", 32, 0, 3, 3, 10, 1, 8},
    {"min.s32", 32, 0, 2, UINT32_MAX, 1, 0, UINT32_MAX},
    {"min.u32", 32, 0, 2, UINT32_MAX, 1, 0, 1},
    {"clz.b32", 32, 0, 1, 1, 0, 0, 31},
    {"bfind.u32", 32, 0, 1, 0, 0, 0, UINT32_MAX},
    {"brev.b32", 32, 0, 1, 1, 0, 0, 0x80000000},
    {"bfe.s32", 32, 0, 3, 0xf0, 4, 4, UINT32_MAX},
    {"prmt.b32", 32, 0, 3, 0x33221180, 0x77665544, 0x0847, 0x80ff4477 & 0xffffffff},
    {"shl.b32", 32, 0, 2, 1, 32, 0, 0},
    {"shr.s32", 32, 0, 2, 0x80000000, 40, 0, UINT32_MAX},
    {"shf.l.wrap.b32", 32, 0, 3, 0x80000000, 1, 1, 3},
    {"dp4a.s32.s32", 32, 0, 3, 0x01ff01ff, 0x02020202, 10, 10},
    {"add.f32", 32, 0, 2, 0x3f800000, 0x3f800000, 0, 0x40000000},
    {"add.f32", 32, 0, 2, 0x7f800000, 0xff800000, 0, 0x7fffffff},
    {"mul.ftz.f32", 32, 0, 2, 0x00000001, 0x3f800000, 0, 0},
    {"add.rz.f32", 32, 0, 2, 0x3f800000, 0x33ffffff, 0, 0x3f800000},
    {"add.rp.f32", 32, 0, 2, 0x3f800000, 0x00000001, 0, 0x3f800001},
    {"fma.rn.f32", 32, 0, 3, 0x40000000, 0x40400000, 0x3f800000, 0x40e00000},
    {"add.f32x2", 64, 0, 2, 0x3f80000000000001, 0x3f8000007f800000, 0, 0x400000007f800000},
    {"sub.rm.f32x2", 64, 0, 2, 0x3f8000003f800000, 0x0000000100000000, 0, 0x3f7fffff3f800000},
    {"mul.ftz.f32x2", 64, 0, 2, 0x7f80000000000001, 0x000000003f800000, 0, 0x7fffffff00000000},
    {"fma.rn.f32x2", 64, 0, 3, 0x4000000040400000, 0x4040000040000000, 0x3f800000bf800000,
     0x40e0000040a00000},
    {"fma.rz.ftz.f32x2", 64, 0, 3, 0x3f80000000000001, 0x3f8000003f800000, 0x3f80000080000001,
     0x4000000000000000},
    {"div.rn.f32", 32, 0, 2, 0x3f800000, 0x40400000, 0, 0x3eaaaaab},
    {"sqrt.rn.f32", 32, 0, 1, 0x40000000, 0, 0, 0x3fb504f3},
    {"min.f32", 32, 0, 2, 0x7fc00000, 0x3f800000, 0, 0x3f800000},
    {"min.f32", 32, 0, 2, 0x80000000, 0, 0, 0x80000000},
    {"fma.rn.f64", 64, 0, 3, 0x4000000000000000, 0x4008000000000000, 0x3ff0000000000000,
     0x401c000000000000},
    {"cvt.rzi.s32.f32", 32, 0, 1, 0xc0200000, 0, 0, (uint32_t)-2},
    {"cvt.rzi.u32.f32", 32, 0, 1, 0xc0200000, 0, 0, 0},
    {"cvt.rzi.s32.f32", 32, 0, 1, 0x7fc00000, 0, 0, 0},
    {"cvt.rni.s32.f32", 32, 0, 1, 0x40200000, 0, 0, 2},
    {"cvt.rn.f32.u32", 32, 0, 1, UINT32_MAX, 0, 0, 0x4f800000},
    {"cvt.rz.f32.u32", 32, 0, 1, UINT32_MAX, 0, 0, 0x4f7fffff},
    {"cvt.s64.s32", 32, 64, 1, UINT32_MAX, 0, 0, UINT64_MAX},
    {"cvt.u32.u64", 64, 32, 1, 0x100000002, 0, 0, 2},
    {"cvt.s32.s8", 32, 0, 1, 0x180, 0, 0, 0xffffff80},
    {"cvt.u32.u8", 32, 0, 1, 0x1ff, 0, 0, 0xff},
    {"cvt.sat.u8.s32", 32, 0, 1, 300, 0, 0, 255},
    {"cvt.f64.f32", 32, 64, 1, 0x3fc00000, 0, 0, 0x3ff8000000000000},
    {"cvt.rn.f32.f64", 64, 32, 1, 0x3ff8000000000000, 0, 0, 0x3fc00000},
    {"fma.rn.f16x2", 32, 0, 3, 0x40003c00, 0x42003c00, 0x3c003c00, 0x47004000},
    {"ex2.approx.f32", 32, 0, 1, 0x40400000, 0, 0, 0x41000000},
};

static const char *register_of(int size, int number, char *text) {
    sprintf(text, "%%%s%d", size == 64 ? "d" : "r", number);
    return text;
}

#define NEWER ".version 9.0\n.target sm_100\n.address_size 64\n"

/* Whether compute capability 10.0 is needed. */
static bool is_newer(const row *of) {
    return strstr(of->opcode, ".f32x2") || (of->operands > 2 && strcmp(of->opcode, "min.f32") == 0);
}

static void one_instruction(const row *of) {
    char text[2000], a[16], b[16], c[16], d[16];
    int to = of->to ? of->to : of->size;
    snprintf(
        text, sizeof text,
        "%s.entry k(.param .u64 p) {\n.reg .b32 %%r<8>; .reg .b64 %%d<8>;\n"
        "ld.param.u64 %%d7, [p];\nld.global.b%d %s, [%%d7];\nld.global.b%d %s, [%%d7+8];\n"
        "ld.global.b%d %s, [%%d7+16];\n%s %s, %s%s%s%s%s;\nst.global.b%d [%%d7+24], %s;\nret;\n}\n",
        is_newer(of) ? NEWER : HEAD, of->size, register_of(of->size, 1, a), of->size,
        register_of(of->size, 2, b), of->size, register_of(of->size, 3, c), of->opcode,
        register_of(to, 4, d), a, of->operands > 1 ? ", " : "", of->operands > 1 ? b : "",
        of->operands > 2 ? ", " : "", of->operands > 2 ? c : "", to, d);
    uint64_t words[4] = {of->a, of->b, of->c, 0};
    run(text, 1, 1, (uint32_t *)(void *)words, 8);
    if (words[3] != of->result)
        print_error("%s: %#llx instead of %#llx\n", of->opcode, (unsigned long long)words[3],
                    (unsigned long long)of->result);
    assert_true(words[3] == of->result);
}

/* A GPU knows nothing of how the program's threads round. The threads that run kernels begin here,
 * so this comes first. */
TEST(the_programs_rounding) {
    fesetround(FE_DOWNWARD);
    for (unsigned n = 0; n < 4; n++) {
        uint32_t words[256];
        for (unsigned i = 0; i < 256; i++)
            words[i] = 0x3f800000; /* 1 */
        run(WORD(".reg .f32 %f<3>;\n", "mov.b32 %f1, %r1;\ndiv.rn.f32 %f1, %f1, 0f40400000;\n"
                                       "mov.b32 %r2, %f1;\n"),
            8, 32, words, 256);
        for (unsigned i = 0; i < 256; i++)
            assert_int_equal(words[i], 0x3eaaaaab);
        assert_int_equal(fegetround(), FE_DOWNWARD);
    }
    fesetround(FE_TONEAREST);
}

TEST(instructions) {
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        if (!is_newer(&rows[n]))
            one_instruction(&rows[n]);
    acu_sim_reset("cc=10.0" MACHINE_MORE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        if (is_newer(&rows[n]))
            one_instruction(&rows[n]);
}

TEST(carries_go_from_word_to_word) {
    uint32_t words[64];
    count_up(words, 64);
    run(WORD("", "add.cc.u32 %r3, %r1, 0xfffffff0;\naddc.u32 %r2, 0, 0;\n"), 1, 64, words, 64);
    for (uint32_t n = 0; n < 64; n++)
        assert_int_equal(words[n], n >= 16);
}

/* ---- control flow ---- */

/* Each lane leaves the loop after another number of rounds; within it there is a branch, too. */
/* A subtraction carries where it does not borrow; nvcc's divisions of 128 bits count on that. */
TEST(a_subtraction_carries_where_it_does_not_borrow) {
    uint32_t words[4] = {0};
    run(HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>;\n"
             "ld.param.u64 %d1, [p];\nmov.u32 %r1, 5;\nmov.u32 %r2, 7;\n"
             "sub.cc.u32 %r3, %r2, %r1;\naddc.u32 %r4, 0, 0;\nst.global.u32 [%d1], %r4;\n"
             "sub.cc.u32 %r3, %r1, %r2;\naddc.u32 %r4, 0, 0;\nst.global.u32 [%d1+4], %r4;\n"
             "add.cc.u32 %r3, %r1, -1;\nsubc.u32 %r4, 10, 0;\nst.global.u32 [%d1+8], %r4;\n"
             "add.cc.u32 %r3, %r1, 1;\nsubc.u32 %r4, 10, 0;\nst.global.u32 [%d1+12], %r4;\n"
             "ret;\n}\n",
        1, 1, words, 4);
    static const uint32_t results[] = {1, 0, 10, 9};
    assert_memory_equal(words, results, sizeof results);
}

/* A percent sign begins a word wherever it stands, so that no blank has to be before a register. */
TEST(registers_without_blanks) {
    uint32_t words[4] = {0};
    run(".version 8.0\n.target sm_90\n.address_size 64\n.global .b32 rest = 7% 4;\n"
        ".entry k(.param .u64 p) {\n.reg .b32%r<4>;.reg .b64%d<3>;\nld.param.u64%d1,[p];\n"
        "mov.u32%r1,%ntid.x;\nld.global.u32%r2,[rest];\nadd.u32%r1,%r1,%r2;\n"
        "st.global.u32[%d1],%r1;\nret;\n}\n",
        1, 4, words, 4);
    assert_int_equal(words[0], 7);
}

TEST(lanes_that_go_apart) {
    uint32_t words[200];
    count_up(words, 200);
    run(WORD("",
             "add.u32 %r3, %r1, 1;\nmov.u32 %r2, 0;\nL1:\nsetp.eq.u32 %p1, %r3, 1;\n@%p1 bra L4;\n"
             "and.b32 %r4, %r3, 1;\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra L2;\nmad.lo.u32 %r3, %r3, "
             "3, 1;\n"
             "bra.uni L3;\nL2:\nshr.u32 %r3, %r3, 1;\nL3:\nadd.u32 %r2, %r2, 1;\nbra L1;\nL4:\n"),
        2, 100, words, 200);
    for (uint32_t n = 0; n < 200; n++) {
        uint32_t value = n + 1, rounds = 0;
        for (; value != 1; rounds++)
            value = value & 1 ? 3 * value + 1 : value / 2;
        assert_int_equal(words[n], rounds);
    }
}

TEST(a_branch_by_an_index) {
    uint32_t words[64];
    count_up(words, 64);
    run(WORD("", "and.b32 %r3, %r1, 3;\nT: .branchtargets A, B, C, D;\nbrx.idx %r3, T;\n"
                 "A: mov.u32 %r2, 10;\nbra E;\nB: mov.u32 %r2, 11;\nbra E;\nC: mov.u32 %r2, "
                 "12;\nbra E;\n"
                 "D: mov.u32 %r2, 13;\nE:\n"),
        1, 64, words, 64);
    for (uint32_t n = 0; n < 64; n++)
        assert_int_equal(words[n], 10 + n % 4);
}

/* Each block of instructions goes on with the one before it in the text, so that a search for
 * what is needed later learns of one block each time it goes from the text's end to its begin. */
TEST(blocks_in_another_order) {
    enum { BLOCKS = 2000, ROOM = 60 * BLOCKS };
    uint32_t words[32] = {0};
    char *text = malloc(ROOM);
    assert_non_null(text);
    int at = snprintf(text, ROOM,
                      HEAD ".entry k(.param .u64 p) {\n.reg .b32 %%r<%d>; .reg .b64 %%d<4>;\n"
                           "ld.param.u64 %%d1, [p];\nmov.u32 %%r0, %%tid.x;\n"
                           "mul.wide.u32 %%d2, %%r0, 4;\nadd.u64 %%d1, %%d1, %%d2;\n"
                           "add.u32 %%r1, %%r0, 1;\nbra B1;\n"
                           "B%d:\nst.global.u32 [%%d1], %%r%d;\nret;\n",
                      BLOCKS + 1, BLOCKS, BLOCKS);
    for (int n = BLOCKS - 1; n > 0; n--)
        at += snprintf(text + at, (size_t)(ROOM - at),
                       "B%d:\nmad.lo.u32 %%r%d, %%r%d, 3, %%r0;\nbra B%d;\n", n, n + 1, n, n + 1);
    snprintf(text + at, (size_t)(ROOM - at), "}\n");
    run(text, 1, 32, words, 32);
    free(text);
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t expected = lane + 1;
        for (int n = 1; n < BLOCKS; n++)
            expected = expected * 3 + lane;
        assert_int_equal(words[lane], expected);
    }
}

/* Lanes of a warp, and blocks, take a lock in turns: none may starve the one that has the lock. */
TEST(a_lock_between_lanes_and_blocks) {
    uint32_t words[256] = {0};
    run(HEAD
        ".global .u32 lock;\n.global .u32 counter;\n.entry k(.param .u64 p) {\n.reg .b32 %r<9>; "
        ".reg .b64 %d<9>;\n"
        ".reg .pred %p<3>;\nld.param.u64 %d1, [p];\nmov.u64 %d2, lock;\nmov.u64 %d3, counter;\n"
        "L1:\natom.global.cas.b32 %r1, [%d2], 0, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra L1;\n"
        "ld.volatile.global.u32 %r2, [%d3];\nadd.u32 %r2, %r2, 1;\nst.volatile.global.u32 [%d3], "
        "%r2;\n"
        "membar.gl;\natom.global.exch.b32 %r3, [%d2], 0;\n"
        "mul.wide.u32 %d4, %r2, 4;\nadd.u64 %d4, %d4, %d1;\nst.global.u32 [%d4+-4], 1;\nret;\n}\n",
        4, 64, words, 256);
    for (int n = 0; n < 256; n++)
        assert_int_equal(words[n], 1);
}

TEST(a_function_that_calls_itself) {
    uint32_t words[64];
    count_up(words, 64);
    run(HEAD
        ".func (.param .b32 out) fib(.param .b32 in) {\n.reg .b32 %r<9>; .reg .pred %p;\n"
        "ld.param.b32 %r1, [in];\nmov.b32 %r5, %r1;\nsetp.lt.s32 %p, %r1, 2;\n@%p bra E;\n"
        "sub.s32 %r2, %r1, 1;\n{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r2;\n"
        "call.uni (r), fib, (a);\nld.param.b32 %r3, [r]; }\nsub.s32 %r2, %r1, 2;\n"
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r2;\ncall.uni (r), fib, (a);\n"
        "ld.param.b32 %r4, [r]; }\nadd.s32 %r5, %r3, %r4;\nE:\nst.param.b32 [out], %r5;\nret;\n}\n"
        ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>;\nld.param.u64 %d1, [p];\n"
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\nrem.u32 %r1, "
        "%r1, 12;\n"
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\ncall.uni (r), fib, (a);\n"
        "ld.param.b32 %r2, [r]; }\nst.global.u32 [%d1], %r2;\nret;\n}\n",
        1, 64, words, 64);
    static const uint32_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    for (int n = 0; n < 64; n++)
        assert_int_equal(words[n], fib[n % 12]);
}

/* Parameters and results in registers lie where those of the caller are: the function needs its own
 * after the call, hands them on the other way round, and returns a number and a predicate. Each
 * lane calls as deep as its number says. */
TEST(registers_of_a_function_that_calls_itself) {
    uint32_t words[32];
    count_up(words, 32);
    run(HEAD ".func (.reg .u32 r, .reg .pred odd) f(.reg .u32 a, .reg .u32 b) {\n"
             ".reg .u32 %own; .reg .u32 %n; .reg .pred %p<3>;\n"
             "mov.u32 r, a;\nsetp.eq.u32 odd, 0, 1;\nadd.u32 %n, a, b;\nsetp.eq.u32 %p1, b, 0;\n"
             "@%p1 ret;\nsub.u32 %own, b, 1;\ncall (r, odd), f, (%own, a);\n"
             "@%p1 add.u32 r, r, 1000;\nadd.u32 r, r, %n;\nnot.pred odd, odd;\nret;\n}\n"
             ".entry k(.param .u64 p) {\n.reg .u32 %r<9>; .reg .b64 %d<4>; .reg .pred %p1;\n"
             "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\n"
             "add.u64 %d1, %d1, %d2;\nmov.u32 %r2, 2;\ncall (%r3, %p1), f, (%r1, %r2);\n"
             "@%p1 add.u32 %r3, %r3, 1000000;\nst.global.u32 [%d1], %r3;\nret;\n}\n",
        1, 32, words, 32);
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t a = lane, b = 2, sum = 0, calls = 0;
        for (; b; calls++) {
            uint32_t before = a;
            sum += a + b;
            a = b - 1;
            b = before;
        }
        assert_int_equal(words[lane], sum + a + (calls & 1) * 1000000);
    }
}

/* Lanes call different functions by addresses that a variable has. */
TEST(calls_by_addresses) {
    uint32_t words[64];
    count_up(words, 64);
    run(HEAD
        ".func (.param .b32 o) twice(.param .b32 i) {\n.reg .b32 %r;\nld.param.b32 %r, "
        "[i];\nshl.b32 %r, %r, 1;\n"
        "st.param.b32 [o], %r;\nret;\n}\n"
        ".func (.param .b32 o) less(.param .b32 i) {\n.reg .b32 %r;\nld.param.b32 %r, "
        "[i];\nsub.u32 %r, %r, 1;\n"
        "st.param.b32 [o], %r;\nret;\n}\n"
        ".global .u64 table[2] = {twice, less};\n"
        ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>;\nld.param.u64 %d1, [p];\n"
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\nand.b32 %r2, "
        "%r1, 1;\n"
        "mul.wide.u32 %d3, %r2, 8;\nmov.u64 %d4, table;\nadd.u64 %d4, %d4, %d3;\nld.global.u64 "
        "%d5, [%d4];\n"
        "T: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\ncall (r), %d5, (a), "
        "T;\nld.param.b32 %r3, [r]; }\n"
        "st.global.u32 [%d1], %r3;\nret;\n}\n",
        1, 64, words, 64);
    for (uint32_t n = 0; n < 64; n++)
        assert_int_equal(words[n], n & 1 ? n - 1 : 2 * n);
}

/* ---- lanes and blocks together ---- */

TEST(barriers_and_shared_memory) {
    uint32_t words[300];
    count_up(words, 300);
    run(WORD(".shared .align 4 .b8 s[400];\n",
             "mov.u32 %r3, s;\nmov.u32 %r4, %tid.x;\nshl.b32 %r5, %r4, 2;\nadd.u32 %r5, %r5, %r3;\n"
             "st.shared.u32 [%r5], %r1;\nbar.sync 0;\nsub.u32 %r6, 99, %r4;\nshl.b32 %r6, %r6, 2;\n"
             "add.u32 %r6, %r6, %r3;\nld.shared.u32 %r2, [%r6];\n"),
        3, 100, words, 300);
    for (uint32_t n = 0; n < 300; n++)
        assert_int_equal(words[n], n / 100 * 100 + 99 - n % 100);
}

TEST(a_barrier_that_counts) {
    uint32_t words[100];
    count_up(words, 100);
    run(WORD("", "setp.lt.u32 %p1, %r1, 37;\nbar.red.popc.u32 %r2, 0, %p1;\n"), 1, 100, words, 100);
    for (int n = 0; n < 100; n++)
        assert_int_equal(words[n], 37);
}

TEST(shuffles_votes_and_matches) {
    uint32_t words[64];
    count_up(words, 64);
    run(WORD("", "shfl.sync.bfly.b32 %r2, %r1, 1, 0x1f, -1;\n"), 1, 64, words, 64);
    for (uint32_t n = 0; n < 64; n++)
        assert_int_equal(words[n], n ^ 1);
    count_up(words, 64);
    run(WORD("", "setp.gt.u32 %p1, %r1, 40;\nvote.sync.ballot.b32 %r2, %p1, -1;\n"), 1, 64, words,
        64);
    assert_int_equal(words[0], 0);
    assert_int_equal(words[63], 0xfffffe00);
    count_up(words, 64);
    run(WORD("", "and.b32 %r3, %r1, 7;\nmatch.any.sync.b32 %r2, %r3, -1;\n"), 1, 64, words, 64);
    assert_int_equal(words[3], 0x08080808);
    count_up(words, 64);
    run(WORD("", "redux.sync.add.u32 %r2, %r1, -1;\n"), 1, 32, words, 64);
    assert_int_equal(words[5], 496);
}

/* Returns what a lane gets of a shuffle of the lanes' numbers, as the manual says it; the highest
 * bit is the predicate. */
static uint32_t shuffled(const char *mode, int lane, uint32_t by, uint32_t clamp) {
    const int mask = (int)(clamp >> 8 & 31), b = (int)(by & 31),
              most = (lane & mask) | ((int)(clamp & 31) & ~mask);
    int from = lane;
    if (!strcmp(mode, "up"))
        from = lane - b;
    else if (!strcmp(mode, "down"))
        from = lane + b;
    else if (!strcmp(mode, "bfly"))
        from = lane ^ b;
    else
        from = (lane & mask) | (b & ~mask);
    const bool inside = !strcmp(mode, "up") ? from >= most : from <= most;
    return (uint32_t)(inside ? from : lane) | (uint32_t)inside << 31;
}

#define SHUFFLE(mode)                                                                              \
    WORD("", "mov.u32 %r4, %tid.x;\nshr.u32 %r5, %r1, 16;\nshfl.sync." mode                        \
             ".b32 %r2|%p1, %r4, %r1, %r5, -1;\n@%p1 or.b32 %r2, %r2, 0x80000000;\n")

/* Each lane has its own distance and its own clamp, which are no numbers of the text. */
TEST(shuffles_by_what_lanes_say) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const char *const texts[] = {SHUFFLE("up"), SHUFFLE("down"), SHUFFLE("bfly"),
                                        SHUFFLE("idx")};
    static const uint32_t clamps[] = {0x1f, 0, 0x181f, 0x1000, 0x1c1f, 0x0f0f, 7};
    for (uint32_t n = 0; n < 4 * 30; n++) {
        const uint32_t round = n / 4;
        uint32_t words[32], asked[32];
        for (uint32_t i = 0; i < 32; i++)
            words[i] = asked[i] = ((i * 7 + round * 5 + (round & 1) * i * i) & 0xff) |
                                  clamps[(i * (round % 3) + round) % 7] << 16;
        run(texts[n % 4], 1, 32, words, 32);
        for (int i = 0; i < 32; i++)
            assert_int_equal(words[i], shuffled(modes[n % 4], i, asked[i], asked[i] >> 16));
    }
}

/* The lanes of a warp vote in two groups at one operation. */
TEST(votes_of_two_groups) {
    uint32_t words[32];
    count_up(words, 32);
    run(WORD("", "setp.lt.u32 %p1, %r1, 16;\nselp.b32 %r4, 0x0000ffff, 0xffff0000, %p1;\n"
                 "setp.ne.u32 %p2, %r1, 20;\nvote.sync.ballot.b32 %r2, %p2, %r4;\n"
                 "vote.sync.all.pred %p3, %p2, %r4;\n@%p3 or.b32 %r2, %r2, 0x40000000;\n"
                 "vote.sync.uni.pred %p3, %p1, %r4;\n@!%p3 mov.u32 %r2, 0;\n"),
        1, 32, words, 32);
    for (int i = 0; i < 32; i++)
        assert_int_equal(words[i], i < 16 ? 0x4000ffff : 0xffef0000);
}

/* The two halves of a warp come to the operation one after the other. */
TEST(a_vote_of_lanes_that_are_apart) {
    uint32_t words[32];
    count_up(words, 32);
    run(WORD("", "setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r4, 0;\n@%p1 bra L1;\nmov.u32 %r4, 5;\n"
                 "bar.warp.sync -1;\nbra L2;\nL1:\nmov.u32 %r4, 7;\nbar.warp.sync -1;\nL2:\n"
                 "redux.sync.add.u32 %r2, %r4, -1;\n"),
        1, 32, words, 32);
    for (int n = 0; n < 32; n++)
        assert_int_equal(words[n], 16 * 12);
}

/* A loop that others may end gives them a turn after some rounds, which takes lanes apart; a
 * barrier brings them together again. */
TEST(a_barrier_after_lanes_went_apart) {
    uint32_t words[64];
    count_up(words, 64);
    run(WORD("", "mul.lo.u32 %r3, %r1, 37;\nL1:\natom.global.add.u32 %r4, [%d3], 0;\n"
                 "setp.eq.u32 %p1, %r3, 0;\n@%p1 bra L2;\nsub.u32 %r3, %r3, 1;\nbra L1;\nL2:\n"
                 "bar.sync 0;\nactivemask.b32 %r2;\n"),
        1, 64, words, 64);
    for (int n = 0; n < 64; n++)
        assert_int_equal(words[n], UINT32_MAX);
}

/* ---- memory ---- */

TEST(addresses_of_32_bits_wrap_around) {
    uint32_t words[32];
    count_up(words, 32);
    run(WORD("{.reg.b32 q;}\n.shared .align 4 .b8 s[128];\n",
             "mov.u32 %r5, s;\nmad.lo.u32 %r3, %r9, 4, %r5;\nsub.u32 %r4, %r3, 256;\nst.shared.u32 "
             "[%r3], %r1;\n"
             "ld.shared.u32 %r2, [%r4+256];\n"),
        1, 32, words, 32);
    for (uint32_t n = 0; n < 32; n++)
        assert_int_equal(words[n], n);
}

TEST(vectors_and_small_elements) {
    uint32_t words[4] = {0x04030201, 0xf8f7f6f5, 0, 0};
    run(HEAD
        ".entry k(.param .u64 p) {\n.reg .b16 %h<5>; .reg .b32 %r<9>; .reg .b64 "
        "%d<3>;\nld.param.u64 %d1, [p];\n"
        "ld.global.v2.u32 {%r1, %r2}, [%d1];\nld.global.s8 %r3, [%d1+4];\nld.global.u8 %h1, "
        "[%d1+1];\n"
        "cvt.u32.u16 %r4, %h1;\nst.global.v2.u32 [%d1], {%r2, %r1};\nst.global.u32 [%d1+8], %r3;\n"
        "st.global.u16 [%d1+12], %r4;\nret;\n}\n",
        1, 1, words, 4);
    assert_int_equal(words[0], 0xf8f7f6f5);
    assert_int_equal(words[1], 0x04030201);
    assert_int_equal(words[2], 0xfffffff5);
    assert_int_equal(words[3], 2);
}

TEST(generic_addresses) {
    uint32_t words[32];
    count_up(words, 32);
    run(WORD(".shared .align 4 .b8 s[128];\n.local .align 4 .b8 l[4];\n",
             "mov.u64 %d4, s;\ncvta.shared.u64 %d4, %d4;\nand.b64 %d5, %d2, 127;\nadd.u64 %d4, "
             "%d4, %d5;\n"
             "st.u32 [%d4], %r1;\nmov.u64 %d6, l;\ncvta.local.u64 %d6, %d6;\nst.u32 [%d6], %r1;\n"
             "ld.u32 %r3, [%d6];\nld.u32 %r4, [%d4];\nadd.u32 %r2, %r3, %r4;\n"),
        1, 32, words, 32);
    for (uint32_t n = 0; n < 32; n++)
        assert_int_equal(words[n], 2 * n);
}

/* ---- printf ---- */

/* Returns what came to stdout when a kernel had printed and a copy was made. */
static size_t printed_at_copy(CUmodule module, CUdeviceptr at, char *text, size_t room) {
    FILE *file = tmpfile();
    uint32_t word;
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    OK(launch(module, "k", 1, 1, (void *[]){&at}));
    OK(cuMemcpyDtoH(&word, at, sizeof word));
    dup2(before, STDOUT_FILENO);
    close(before);
    assert_int_equal(fseek(file, 0, SEEK_SET), 0);
    size_t length = fread(text, 1, room, file);
    fclose(file);
    return length;
}

/* A register may be a vector: a list of its elements, which all move at once. */
TEST(vectors_of_registers) {
    uint32_t words[8] = {1, 2, 3, 4};
    run(HEAD ".entry k(.param .u64 p) {\n.reg .v4 .b32 %v<3>;\n.reg .v2 .u32 two;\n"
             ".reg .b32 %r<5>; .reg .b64 %d<2>;\nld.param.u64 %d1, [p];\n"
             "ld.global.v4.u32 %v2, [%d1];\nmov.v2.b32 two, {%v2.w, %v2.x};\n"
             "mov.v2.b32 {%v2.x, %v2.y}, {%v2.y, %v2.x};\nadd.u32 %v2.z, %v2.b, two.g;\n"
             "st.global.v4.b32 [%d1], %v2;\nmov.v4.u32 {%r1, %r2, _, %r4}, %ntid;\n"
             "mov.v4.b32 %v1, {%r1, %r2, %r4, two.x};\nst.global.v4.b32 [%d1+16], %v1;\nret;\n"
             "}\n",
        1, 7, words, 8);
    const uint32_t results[] = {2, 1, 4, 4, 7, 1, 1, 4};
    assert_memory_equal(words, results, sizeof results);
}

/* An instruction without a space takes a variable's generic address. */
TEST(generic_addresses_of_variables) {
    uint32_t words[4] = {0};
    run(HEAD ".global .u32 g = 5;\n.shared .align 4 .b8 s[16];\n"
             ".entry k(.param .u64 p) {\n.local .align 4 .b8 l[16];\n.reg .b32 %r<9>; "
             ".reg .b64 %d<2>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, 6;\nmov.u32 %r2, 7;\n"
             "st.u32 [s+4], %r1;\nst.u32 [l+4], %r2;\nld.u32 %r3, [g];\n"
             "ld.shared.u32 %r4, [s+4];\nld.local.u32 %r5, [l+4];\n"
             "atom.add.u32 %r6, [s+4], 1;\nadd.u32 %r6, %r6, %r6;\n"
             "st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r6};\nret;\n}\n",
        1, 1, words, 4);
    const uint32_t results[] = {5, 6, 7, 12};
    assert_memory_equal(words, results, sizeof results);
}

/* Elements of arrays, as an H200 finds them: the manual says so, and tinygrad writes it. */
TEST(elements_of_arrays) {
    uint32_t words[8] = {0};
    run(HEAD ".global .u32 g[4] = {5, 6, 7, 8};\n.global .u16 z[2][4] = {{1, 2, 3, 4}, {5, 6}};\n"
             ".const .u32 c[3] = {1, 2, 9};\n.shared .align 8 .b8 s[16];\n"
             ".entry k(.param .u64 p) {\n.local .u32 l[4];\n.reg .b32 %r<9>; .reg .b64 %d<4>;\n"
             "ld.param.u64 %d1, [p];\nld.global.u32 %r1, g[3];\nld.const.u32 %r2, c[1+1];\n"
             "st.local.u32 l[2], %r1;\nld.local.u32 %r3, [l+8];\nld.global.u16 %r4, z[5];\n"
             "st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4};\nmov.u32 %r1, s[5];\n"
             "mov.u32 %r5, s;\nsub.u32 %r1, %r1, %r5;\nmov.u64 %d2, g[2];\nmov.u64 %d3, g;\n"
             "sub.u64 %d2, %d2, %d3;\ncvt.u32.u64 %r2, %d2;\ncvta.global.u64 %d2, g[1];\n"
             "cvta.global.u64 %d3, %d3;\nsub.u64 %d2, %d2, %d3;\ncvt.u32.u64 %r3, %d2;\n"
             "st.global.v4.u32 [%d1+16], {%r1, %r2, %r3, %r4};\nret;\n}\n",
        1, 1, words, 8);
    const uint32_t results[] = {8, 9, 8, 6, 5, 8, 4, 6};
    assert_memory_equal(words, results, sizeof results);
}

/* An index in a register, with what is added to it, times the bytes of an element, is 32 bits, as
 * an H200 says, which executed each of these forms. */
TEST(elements_by_registers) {
    uint32_t words[16] = {2, 0xfffffffe, 0x40000001};
    run(HEAD
        ".global .u32 g[4] = {5, 6, 7, 8};\n.global .u16 z[2][4] = {{1, 2, 3, 4}, {5, 6}};\n"
        ".const .u32 c[3] = {1, 2, 9};\n.shared .u32 s[4];\n"
        ".entry k(.param .u64 p) {\n.local .u32 l[4];\n.reg .b32 %r<12>; .reg .b64 %d<4>;\n"
        ".reg .s16 %h; .reg .s32 %i; .reg .s64 %e; .reg .pred %t;\n"
        "ld.param.u64 %d1, [p];\nld.global.v2.u32 {%r1, %r2}, [%d1];\n"
        "ld.global.u32 %r3, [%d1+8];\nsetp.eq.u32 %t, %r1, 3;\n"
        "mov.b32 %i, %r2;\ncvt.s64.s32 %e, %i;\ncvt.s16.s32 %h, %i;\n"
        "ld.global.u32 %r4, g[%r1];\nld.u32 %r5, g[%r2 + 3];\nld.global.u32 %r6, g[%r3];\n"
        "ld.global.u16 %r7, z[%i+7];\nst.global.v4.u32 [%d1], {%r4, %r5, %r6, %r7};\n"
        "st.shared.u32 s[%r1+-1], 11;\nst.shared.u32 s[%h+4], 12;\nst.local.u32 l[%e+5], 13;\n"
        "@%t st.shared.u32 s[%r1], 99;\n"
        "ld.shared.u32 %r4, [s+4];\nld.shared.u32 %r5, s[%r1];\nld.local.u32 %r6, [l+12];\n"
        "ld.const.u32 %r7, c[%r1];\nst.global.v4.u32 [%d1+16], {%r4, %r5, %r6, %r7};\n"
        "mov.u32 %r4, s[%r1];\nmov.u32 %r5, s;\nsub.u32 %r4, %r4, %r5;\n"
        "mov.u64 %d2, g[%r2];\nmov.u64 %d3, g;\nsub.u64 %d2, %d2, %d3;\n"
        "st.global.u64 [%d1+32], %d2;\ncvta.global.u64 %d2, z[%r1+1];\nmov.u64 %d3, z;\n"
        "cvta.global.u64 %d3, %d3;\nsub.u64 %d2, %d2, %d3;\ncvt.u32.u64 %r6, %d2;\n"
        "ld.global.v2.u32 {%r5, %r7}, g[%r1];\nst.global.v4.u32 [%d1+48], {%r4, %r5, %r6, %r7};\n"
        "ret;\n}\n",
        1, 1, words, 16);
    const uint32_t results[] = {7, 6, 6, 6, 11, 12, 13, 9, 0xfffffff8, 0, 0, 0, 8, 7, 6, 8};
    assert_memory_equal(words, results, sizeof results);
}

/* ptxas takes each element of a vector for one, and each byte of an array without an extent. */
TEST(elements_of_vectors_and_of_no_extent) {
    uint32_t words[4] = {3};
    run(HEAD ".global .v4 .u32 v[2] = {{5, 6, 7, 8}, {9, 10, 11, 12}};\n"
             ".extern .shared .align 8 .u32 x[];\n"
             ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<4>;\n"
             "ld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1];\nld.global.u32 %r2, v[3];\n"
             "ld.global.u32 %r3, v[%r1+1];\nmov.u32 %r4, x;\nmov.u32 %r5, x[3];\n"
             "sub.u32 %r5, %r5, %r4;\nmov.u32 %r6, x[%r1+4];\nsub.u32 %r6, %r6, %r4;\n"
             "st.global.v4.u32 [%d1], {%r2, %r3, %r5, %r6};\nret;\n}\n",
        1, 1, words, 4);
    const uint32_t results[] = {8, 9, 3, 7};
    assert_memory_equal(words, results, sizeof results);
}

/* What ptxas refuses is not executed. */
TEST(operands_that_do_not_suit) {
    static const struct {
        const char *instruction, *why;
    } wrong[] = {
        {"add.f32 %f1, %f2, 1;", "Arguments mismatch for instruction 'add'"},
        {"add.f32 %f1, %f2, %u1;", "Arguments mismatch for instruction 'add'"},
        {"add.u32 %u1, %u1, 1.0;", "Arguments mismatch for instruction 'add'"},
        {"add.u32 %f1, %u1, %u1;", "Arguments mismatch for instruction 'add'"},
        {"and.b32 %u1, %u1, -%u1;", "Operand negation not allowed for instruction 'and'"},
        {"add.u32 %u1, %u1, s[1];", "Array indexing on non-array"},
        {"mov.u32 %u1, c[0];", "Array indexing on non-array"},
        {"add.u64 %d1, %d1, q[1];", "Arguments mismatch for instruction 'add'"},
        {"add.u64 %d1, %d1, q[%u1];", "Arguments mismatch for instruction 'add'"},
        {"st.global.u32 [%d1], q[%u1];", "Arguments mismatch for instruction 'st'"},
        {"atom.global.add.u32 %u1, q[%u1], 1;", "Arguments mismatch for instruction 'atom'"},
        {"cvta.to.global.u64 %d1, q[%u1];", "Arguments mismatch for instruction 'cvta"},
        {"cvta.to.global.u64 %d1, q[1];", "Arguments mismatch for instruction 'cvta"},
        {"mov.b64 %d1, {q[%u1], %u1};", "Parsing error near"},
        {"mov.u64 %d1, q[%f1];", "An index must be an integer or bits, not of type f32"},
        {"mov.u64 %d1, q[%p1];", "An index must be an integer or bits, not of type pred"},
        {"mov.u64 %d1, q[%u1][1];", "Parsing error near '['"},
        {"mov.u64 %d1, q[%u1-1];", "Parsing error near '-'"},
        {"add.u32 %u1, %u1, s;", "An argument of instruction 'add' must be register"},
        {"mov.u32 %u1, %tid;", "Argument vector size mismatch for instruction 'mov'"},
        {"mov.v4.u32 {%u1, %u1, %u1, %u1}, %laneid;", "Argument vector size mismatch"},
        {"mov.v2.u32 {%u1, %u1}, %tid;", "Argument vector size mismatch"},
        {"ld.global.u32 %u1, [s];", "State space mismatch between instruction and address"},
        {"ld.u32 %u1, [c];", "State space mismatch between instruction and address"},
        {"st.local.u32 [s], %u1;", "State space mismatch between instruction and address"},
        {"atom.global.add.u32 %u1, [s], 1;", "State space mismatch between instruction"},
        {"mov.u32 %u1, %u2.x;", "Unknown symbol '%u2.x'"},
        {"add.u32 %u1, %tid.x, 1;", "Special register argument not allowed for instruction 'add'"},
        {"st.global.u32 [%d1], %laneid;", "Special register argument not allowed"},
        {"mov.u64 %d1, %tid.x;", "Arguments mismatch for instruction 'mov'"},
        {"mov.u32 %u1, %clock64;", "Arguments mismatch for instruction 'mov'"},
        {"mov.f16 %h1, %h2;", "Unexpected instruction types specified for 'mov'"},
        {"mov.b32 %u1, 1.0;", "Arguments mismatch for instruction 'mov'"},
        {"mov.b64 %d1, 0f3F800000;", "Arguments mismatch for instruction 'mov'"},
        {"mov.f32 %f1, -0f3F800000;", "Parsing error near '0f3F800000'"},
        {"add.f16 %h1, %h2, 1.0;", "Arguments mismatch for instruction 'add'"},
        {"add.u32 _, %u1, %u2;", "Result discard mode is not allowed for instruction 'add'"},
        {"cvt.u32.u64 5, %d1;", "Result register required for instruction 'cvt'"},
        {"ld.global.u32 5, [%d1];", "Result register required for instruction 'ld'"},
        {"ld.global.u32 _, [%d1];", "Result discard mode is not allowed for instruction 'ld'"},
        {"ld.global.u32 %u1, [%d1-4];", "Parsing error near '-'"},
        {"ld.global.u32 %u1, [16];", "Immediate addresses allowed only for .local state space"},
        {"ld.global.u32 %u1, [%d1], %d2;", "Arguments mismatch for instruction 'ld'"},
        {"ld.global.relaxed.u32 %u1, [%d1];", "requires scope with 'ld'"},
        {"ld.global.gpu.u32 %u1, [%d1];", "requires memory order with 'ld'"},
        {"ld.release.gpu.global.u32 %u1, [%d1];", "Illegal modifier '.release'"},
        {"st.acquire.gpu.global.u32 [%d1], %u1;", "Illegal modifier '.acquire'"},
        {"ld.global.wb.u32 %u1, [%d1];", "Illegal modifier '.wb' for instruction 'ld'"},
        {"st.global.ca.u32 [%d1], %u1;", "Illegal modifier '.ca' for instruction 'st'"},
        {"st.global.nc.u32 [%d1], %u1;", "Illegal modifier '.nc' for instruction 'st'"},
        {"ld.const.nc.u32 %u1, [%d1];", "Modifier '.nc' requires .global space"},
        {"ld.mmio.global.u32 %u1, [%d1];", "Modifier '.mmio' requires modifier '.relaxed'"},
        {"ld.volatile.local.u32 %u1, [%d1];", "Modifier '.volatile' cannot be applied"},
        {"ld.relaxed.gpu.ca.global.u32 %u1, [%d1];", "cannot be combined"},
        {"ld.shared.L1::evict_last.u32 %u1, [%u2];", "State space incorrect"},
        {"ldu.global.ca.u32 %u1, [%d1];", "Illegal modifier for instruction 'ldu'"},
        {"ld.global.f16 %h1, [%d1];", "Unexpected instruction types specified for 'ld'"},
        {"red.acquire.gpu.global.add.u32 [%d1], %u1;", "Illegal modifier '.acquire'"},
        {"atom.global.and.noftz.b32 %u1, [%d1], 1;", "Illegal modifier '.noftz'"},
        {"atom.global.add.f16 %h1, [%d1], %h2;", "'.noftz' modifier required"},
        {"atom.global.add.u32 %u1, [%d1], 1, 2;", "Arguments mismatch for instruction 'atom'"},
        {"foo.bar.u32 %u1, %u2;", "Not a name of any known instruction: 'foo'"},
        {"addition.u32 %u1, %u2, %u2;", "Not a name of any known instruction: 'addition'"},
        {"add.upwards.u32 %u1, %u2, %u2;", "Unknown modifier '.upwards'"},
        {"ld.global.somehow.u32 %u1, [%d1];", "Unknown modifier '.somehow'"},
        {"trap.uni;", "Illegal modifier '.uni' for instruction 'trap'"},
        {"nanosleep.u32 1, 2;", "Arguments mismatch for instruction 'nanosleep'"},
        {"mov.u32 %f1, %u1;", "Arguments mismatch for instruction 'mov'"},
        {"ld.global.u32 %f1, [%d1];", "Arguments mismatch for instruction 'ld'"},
        {"st.global.u32 [%d1], %f1;", "Arguments mismatch for instruction 'st'"},
        {"ld.global.b16 %b1, [%d1];", "Arguments mismatch for instruction 'ld'"},
        {"ld.global.v2.b16 {%d1, %h1}, [%d2];", "Incompatible elements of vector expression"},
        {"cvt.u16.u32 %f1, %u1;", "Arguments mismatch for instruction 'cvt'"},
        {"cvt.rn.f16.f32 %f1, %f2;", "Arguments mismatch for instruction 'cvt'"},
        {"cvt.rna.tf32.f32 %f1, %f2;", "Arguments mismatch for instruction 'cvt'"},
        {"mov.b16 %h1, {%h2, 0};", "Arguments mismatch for instruction 'mov'"},
        {"add.f16x2 %f1, %u1, %u2;", "Arguments mismatch for instruction 'add'"},
        {"add.u16 %h1, %b1, %h2;", "Arguments mismatch for instruction 'add'"},
        {"ld.global.u32 %u1, [%u2];", "32-bit address for instruction 'ld'"},
        {"atom.add.u32 %u1, [%u2], 1;", "32-bit address for instruction 'atom'"},
        {"mbarrier.init.b64 [%u1], 1;", "32-bit address for instruction 'mbarrier'"},
        {"mbarrier.init.shared [%u1], 1;", "Unexpected instruction types specified"},
        {"mbarrier.init.shared.b64 [%u1], 1, 2;", "Arguments mismatch"},
        {"vadd.u32.u32 %u1, %u2, %u2;", "Unexpected instruction types specified for 'vadd'"},
        {"vadd.u32.u32.u32.add %u1, %u2, %u2;", "Arguments mismatch for instruction 'vadd'"},
        {"vadd.u32.u32.u32 %u1, %f1, %u2;", "Arguments mismatch for instruction 'vadd'"},
        {"vshl.u32.u32.s32.clamp %u1, %u2, %u2;", "Operation requires .u32 type"},
        {"redux.add.s32 %u1, %u2, %u2;", ".sync modifier required for instruction 'redux'"},
        {"bar.red.popc.u32 %u1, 0;", "Arguments mismatch for instruction 'bar'"},
        {"barrier.cta.arrive 1;", "Arguments mismatch for instruction 'barrier'"},
        {"cvta.global.u64 %d1, %d2, %d2;", "Arguments mismatch for instruction 'cvta'"},
        {"tex.2d.u32.f32 {%u1, %u1, %u1, %u1}, [%d1, {%f1, %f1}];", "requires .v4 type"},
        {"suld.b.1d.b32 %u1, [%d1, {%u2}];", "Clamp modifier required for instruction 'suld'"},
        {"txq.width.u32 %u1, [%d1];", "Unexpected instruction types specified for 'txq'"},
        {"cp.async.wait_group 0, 1;", "Arguments mismatch for instruction 'cp.async.wait_group'"},
        {"cp.async.bulk.global.shared::cta.bulk_group [%d1], [%u1], 8;", "multiple of 16"},
        {"atom.global.min.f32 %f1, [%d1], %f2;", "requires .u32 or .s32 or .u64 or .s64"},
        {"red.global.max.f64 [%d1], %d2;", "requires .u32 or .s32 or .u64 or .s64"},
        {"atom.global.add.s64 %d1, [%d1], 1;", "requires .u32 or .s32 or .u64 or .f64"},
        {"atom.global.inc.s32 %u1, [%d1], 1;", "requires .u32 type"},
        {"atom.global.exch.u32 %u1, [%d1], 1;", "requires .b32 or .b64 or .b128 type"},
        {"atom.global.cas.u32 %u1, [%d1], 1, 2;", "requires .b16 or .b32 or .b64"},
        {"atom.global.xor.u32 %u1, [%d1], 1;", "requires .b32 or .b64 type"},
        {"multimem.st.relaxed.global.u32 [%d1], %u1;", "An order requires a scope"},
        {"set.gt.f32.f32 _, %f1, %f2;", "Result discard mode is not allowed"},
        {"add.lo.u32 %u1, %u1, %u1;", "Unexpected instruction types specified for 'add'"},
        {"cvt.rn.u32.f32 %u1, %f1;", "Unexpected instruction types specified for 'cvt'"},
        {"bar.sync 16;", "Barrier number '16' out of range"},
        {"bar.sync 0, 33;", "must be in multiple of warp size"},
        {"bar.red.popc.u32 %u1, 0, 16, %p1;", "must be in multiple of warp size"},
        {"barrier.cta.arrive.aligned 1, 0;", "requires a non-zero thread count"},
        {"wgmma.fence.sync.aligned;", "not supported on .target 'sm_90'"},
        {"min.f32 %f1, %f1, %f1, %f2;", "requires .target sm_100 or higher"},
        {".reg .b32 a<3>; .reg .b32 a01;", "Duplicate definition of variable 'a01'"},
        {".reg .b32 a2; .reg .b32 a<3>;", "Duplicate definition of variable 'a2'"},
        {".shared .b32 a2; .reg .b32 a<3>;", "Duplicate definition of variable 'a2'"},
        {"set.lt.f16x2.u32 %u1, %u1, %u2;", "Unexpected instruction types specified for 'set'"},
        {"set.lt.b32.u32 %u1, %u1, %u2;", "Unexpected instruction types specified for 'set'"},
        {"set.lt.u16.u32 %h1, %u1, %u2;", "Unexpected instruction types specified for 'set'"},
        {"set.lt.f16.bf16 %h1, %h1, %h2;", "Unexpected instruction types specified for 'set'"},
        {"set.lt.f32.f16x2 %f1, %u1, %u2;", "Unexpected instruction types specified for 'set'"},
        {"set.lt.u32.u8 %u1, %b1, %b2;", "Unexpected instruction types specified for 'set'"},
        {"bar.red.popc.b32 %u1, 0, %p1;", "Unexpected instruction types specified for 'bar.red'"},
        {"barrier.cta.red.or.b64 %p1, 0, %p0;",
         "Unexpected instruction types specified for 'barrier.cta.red'"},
        {"bar.red.and.u32 %p1, 0, %p0;", "Arguments mismatch for instruction 'bar.red'"},
        {"bar.red.popc.s32 %u1, 0, %p0;", "Operation requires .u32 type"},
        {"bar.red.popc.pred %u1, 0, %p0;", "Arguments mismatch for instruction 'bar.red'"},
        {"vadd2.s32.s32.s32 %u1, 5, %u1, %u2;", "Incorrect video selector for operand 1"},
        {"vmin4.u32.u32.u32 %u1, %u1, %u2, 0;", "Incorrect video selector for operand 3"},
        {"vadd.s32.s32.s32 _, %u1, %u2;",
         "Result discard mode is not allowed for instruction 'vadd'"},
        {"isspacep.global _, %d1;",
         "Result discard mode is not allowed for instruction 'isspacep'"},
        {"vote.sync.ballot.b32 _, %p1, -1;",
         "Result discard mode is not allowed for instruction 'vote'"},
        {"pmevent %u1;", "Arguments mismatch for instruction 'pmevent'"},
        {"nanosleep.u32 %f1;", "Arguments mismatch for instruction 'nanosleep'"},
        {"nanosleep.u32 %tid.x;",
         "Special register argument not allowed for instruction 'nanosleep'"},
        {"nanosleep.u32 _;", "Result discard mode is not allowed for instruction 'nanosleep'"},
        {"prefetch.global.L1 %d1;", "Arguments mismatch for instruction 'prefetch'"},
        {"prefetchu.L1 5;", "Arguments mismatch for instruction 'prefetchu'"},
        {"cp.async.bulk.wait_group %u1;",
         "Arguments mismatch for instruction 'cp.async.bulk.wait_group'"},
        {"cp.async.bulk.wait_group.read 0, 1;",
         "Arguments mismatch for instruction 'cp.async.bulk.wait_group'"},
        {"cp.async.bulk.commit_group 0;",
         "Arguments mismatch for instruction 'cp.async.bulk.commit_group'"},
        {"cp.async.wait_all 0;", "Arguments mismatch for instruction 'cp.async.wait_all'"},
        {"lop3.or.u32 %u1|%p1, %u1, %u2, %u2, 1, %p0;",
         "Unexpected instruction types specified for 'lop3'"},
        {"lop3.or.b32 %u1|%p1, %u1, %u2, %u2, %u1, %p0;",
         "Arguments mismatch for instruction 'lop3'"},
        {"lop3.b32 %u1, %u1, %u2, %u2, %u1;", "Arguments mismatch for instruction 'lop3'"},
        {"cvt.rn.f32.s32 %f1, %laneid;",
         "Special register argument not allowed for instruction 'cvt'"},
        {"cvt.pack.sat.u16.s32 %u1, %u2, %laneid;",
         "Special register argument not allowed for instruction 'cvt"},
        {"cvt.u32.u64 %u1, %tid.x;", "Arguments mismatch for instruction 'cvt'"},
        {"elect %u1|%p1, %u2;", ".sync modifier required for instruction 'elect'"},
        {"suld.b.1d.u32.trap {%u1}, [%d1, {%u2}];",
         "Unexpected instruction types specified for 'suld.b'"},
        {"sust.b.1d.f32.trap [%d1, {%u2}], {%u1};",
         "Unexpected instruction types specified for 'sust.b'"},
        {"suld.1d.b32.trap {%u1}, [%d1, {%u2}];", "Not a name of any known instruction: 'suld'"},
        {"sust.1d.b32.trap [%d1, {%u2}], {%u1};", "Not a name of any known instruction: 'sust'"},
        {"ldmatrix.sync.m8n8.x1.shared.b16 {%u1}, [%u2];",
         ".aligned modifier required for instruction 'ldmatrix'"},
        {"movmatrix.sync.m8n8.trans.b16 %u1, %u2;",
         ".aligned modifier required for instruction 'movmatrix'"},
        {"mma.sync.m8n8k16.row.col.s32.s8.s8.s32 {%u1, %u2}, {%u1}, {%u1}, {%u1, %u2};",
         ".aligned modifier required for instruction 'mma'"},
        {"mma.sync.aligned.m8n8k16.row.s32.s8.s8.s32 {%u1, %u2}, {%u1}, {%u1}, {%u1, %u2};",
         "'.blayout' modifier required for instruction 'mma'"},
        {"wmma.mma.sync.aligned.m8n8k32.s32.u4.u4.s32 {%u1, %u2}, {%u1}, {%u2}, {%u1, %u2};",
         "'.alayout.blayout' modifier required for instruction 'wmma.mma'"},
        {"wmma.load.a.sync.aligned.m8n8k32.global.u4 {%u1}, [%d1];",
         "layout modifier required for instruction 'wmma.load.a'"},
        {"wmma.load.a.sync.row.m8n8k32.global.u4 {%u1}, [%d1];",
         ".aligned modifier required for instruction 'wmma.load.a'"},
        {"atom.global.add.u32 {%u1, %u2}, [%d1], %u2;",
         "Vector is not expected for argument 0 of instruction 'atom'"},
        {"atom.global.add.u32 %u1, [%d1], {%u1, %u2};",
         "Vector is not expected for argument 2 of instruction 'atom'"},
        {"red.global.max.s32 [%d1], {%u1, %u2};",
         "Vector is not expected for argument 1 of instruction 'red'"},
        {"wmma.load.a.sync.aligned.row.m8n8k32.global.u4 %u1, [%d1];",
         "Vector expected for argument 0"},
        {"wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32 {%u1, %u2}, {%u1}, 7, {%u1, %u2};",
         "Vector expected for argument 2"},
        {"fence.proxy.tensormap::generic.acquire.gpu [%d1], 1;",
         "Argument 1 of instruction 'fence.proxy': unexpected value '1', expected to be 128"},
        {"fence.proxy.tensormap::generic.acquire.gpu [%d1];",
         "Arguments mismatch for instruction 'fence.proxy'"},
        {"fence.proxy.tensormap::generic.acquire.gpu %d1, 128;",
         "Arguments mismatch for instruction 'fence.proxy'"},
        {"min.f16.u32 %u1, %u1, %u1;", "Unexpected instruction types specified for 'min'"},
        {"mov.f32 %f1, 0f3F80;", "Parsing error near '0f3F80'"},
        {"mov.f32 %f1, 0f3F8000000;", "Parsing error near '0f3F8000000'"},
        {"mov.b64 %d1, 0d3FF;", "Parsing error near '0d3FF'"},
        {"mov.u32 %u1, 0b;", "Parsing error near '0b'"},
        {"mov.u32 %u1%u2;", "Parsing error near '%u2'"},
        {"mov.u32 %u1, 5%u2;", "Parsing error near '%u2'"},
        {"mov.u32 %u1, %tid.x%u2;", "Parsing error near '%u2'"},
        {"mov.%u1 %u2, 1;", "Parsing error near '.'"},
        {"red.global.cas.b32 [%d1], %u1, %u2;", "Illegal modifier '.cas' for instruction 'red'"},
        {"red.global.exch.b32 [%d1], %u1;", "Illegal operation '.exch' for instruction 'red'"},
        {"cp.async.shared.global [%u1], [%d1], 8;", "'.ca or .cg' modifier required"},
        {"cp.async.cg.shared.global [%u1], [%d1], 8;", "unexpected value '8', expected to be 16"},
        {"cp.async.ca.shared.global [%u1], [%d1], 8, 9;", "value '9' out of range"},
        {"vadd.s32.s32.s32 %u1, %u2.b4, %u1;", "Incorrect video selector for operand 1"},
        {"vadd.s32.s32.s32 %u1, %u2.h2, %u1;", "Incorrect video selector for operand 1"},
        {"vadd.s32.s32.s32 %u1.b4, %u2, %u1, %u1;", "Incorrect video selector for operand 0"},
        {"vadd.s32.s32.s32 %u1, %u2.b10, %u1;", "Incorrect video selector for operand 1"},
        {"vadd2.s32.s32.s32 %u1, %u2.h14, %u1, %u1;", "Incorrect video selector for operand 1"},
        {"vadd4.s32.s32.s32 %u1.b4, %u2, %u1, %u1;", "Incorrect video selector for operand 0"},
    };
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        char text[512];
        CUmodule module = NULL;
        snprintf(text, sizeof text,
                 ".version 9.0\n.target sm_90\n.address_size 64\n.shared .u32 s; .const .u32 "
                 "c; .global .u32 q[4];\n.entry k() {\n.reg .f32 %%f<3>; "
                 ".reg .u32 %%u<3>; .reg .b64 %%d<3>; .reg .b16 %%h<3>; .reg .b8 %%b<3>; "
                 ".reg .pred %%p<2>;\n%s\nret;\n}\n",
                 wrong[n].instruction);
        SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, text));
        expect_reason(wrong[n].why);
    }
}

#define WITH_FLOATS(instructions)                                                                  \
    WORD(".reg .f32 %f<4>; .reg .f64 %e<3>;\n",                                                    \
         "mov.b32 %f1, %r1;\ncvt.f64.f32 %e1, %f1;\n" instructions "\nmov.b32 %r2, %f2;\n")

/* ptxas takes modifiers in any order, but those that belong to the name, and types. */
/* Registers %a<2> are called %a0 and %a1, so that another %a is not in their way, here and in the
 * scope around. */
TEST(registers_of_one_name) {
    uint32_t words[2] = {7, 9};
    CUmodule module;
    run(HEAD ".entry k(.param .u64 p) {\n.reg .b64 %d; .reg .b32 a<2>; .reg .b32 a;\n"
             "ld.param.u64 %d, [p];\nld.global.v2.u32 {a0, a1}, [%d];\n"
             "{ .reg .b32 a; sub.u32 a, a1, a0; mov.u32 a0, a; }\nadd.u32 a, a0, a1;\n"
             "st.global.v2.u32 [%d], {a, a0};\nret;\n}\n",
        1, 1, words, 2);
    assert_int_equal(words[0], 11);
    assert_int_equal(words[1], 2);
    OK(cuModuleLoadData(&module, HEAD ".entry k() { .reg .b32 a<2>, a2, a10; .reg .b16 a1<3>; "
                                      "{ .reg .b32 a1; } a1: ret; }"));
    OK(cuModuleUnload(module));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, HEAD ".entry k() { .reg .b32 a<2>; .reg .b16 a<3>; ret; }"));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, HEAD ".entry k() { .reg .b32 a; .reg .b16 a; ret; }"));
}

/* Bytes are put together, of registers and of numbers, and integers come of bf16. */
TEST(bytes_are_put_together) {
    uint32_t words[3] = {0x11223344};
    run(".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) {\n"
        ".reg .b8 %b<4>; .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %d<2>;\n"
        "ld.param.u64 %d1, [p];\nld.global.b8 %b1, [%d1];\nld.global.b8 %b2, [%d1+1];\n"
        "mov.b16 %h1, {%b2, 0x77};\nmov.b32 %r1, {%b1, %b2, 300, %b1};\n"
        "st.global.b32 [%d1], %r1;\nst.global.b16 [%d1+4], %h1;\n"
        "mov.b16 %h2, 0xc2f7;\ncvt.rzi.s8.bf16 %b3, %h2;\nmov.b16 %h3, {%b3, 0};\n"
        "st.global.b16 [%d1+6], %h3;\nmov.b16 %h2, 0x437f;\n"
        "cvt.rni.u8.bf16 %b3, %h2;\nmov.b16 %h3, {%b3, 1};\nst.global.b16 [%d1+8], %h3;\n"
        "ret;\n}\n",
        1, 1, words, 3);
    assert_int_equal(words[0], 0x442c3344);
    assert_int_equal(words[1] & 0xffff, 0x7733);
    assert_int_equal(words[1] >> 16, 0x85); /* -123, of -123.5 */
    assert_int_equal(words[2], 0x1ff);      /* 255 */
}

/* PTX 9.1 brought it; it means nothing where one thread alone has the memory. */
TEST(volatile_local_memory) {
    uint32_t words[32];
    count_up(words, 32);
    acu_sim_reset("runtime=13.1,driver=13.1" MACHINE_MORE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    run(".version 9.1\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) {\n"
        ".reg .b32 %r<4>; .reg .b64 %d<3>; .local .u32 own[2];\nld.param.u64 %d1, [p];\n"
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\n"
        "ld.global.u32 %r2, [%d1];\nst.volatile.local.u32 [own+4], %r2;\n"
        "ld.volatile.local.u32 %r3, [own+4];\nadd.u32 %r3, %r3, 1;\n"
        "st.global.u32 [%d1], %r3;\nret;\n}\n",
        1, 32, words, 32);
    for (uint32_t n = 0; n < 32; n++)
        assert_int_equal(words[n], n + 1);
}

TEST(modifiers_in_another_order) {
    static const char *const texts[][2] = {
        {WITH_FLOATS("mul.rz.f32 %f2, %f1, %f1;"), WITH_FLOATS("mul.f32.rz %f2, %f1, %f1;")},
        {WITH_FLOATS("add.rz.ftz.sat.f32 %f2, %f1, 0fbdcccccd;"),
         WITH_FLOATS("add.rz.sat.f32.ftz %f2, %f1, 0fbdcccccd;")},
        {WITH_FLOATS("cvt.rn.f32.f64 %f2, %e1;"), WITH_FLOATS("cvt.f32.rn.f64 %f2, %e1;")},
        {WITH_FLOATS("cvt.rzi.f32.f32 %f2, %f1;"), WITH_FLOATS("cvt.f32.f32.rzi %f2, %f1;")},
        {WITH_FLOATS("setp.lt.f32 %p1, %f1, 1.5;\nselp.f32 %f2, %f1, 1.0, %p1;"),
         WITH_FLOATS("setp.f32.lt %p1, %f1, 1.5;\nselp.f32 %f2, %f1, 1.0, %p1;")},
    };
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        uint32_t results[2] = {0x3f9e0652, 0x3f9e0652}; /* 1.2345679 */
        for (unsigned i = 0; i < 2; i++)
            run(texts[n][i], 1, 1, &results[i], 1);
        assert_int_equal(results[0], results[1]);
        assert_int_not_equal(results[0], 0);
    }
    CUmodule module = NULL;
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, HEAD ".entry k() {\n.reg .b16 %h<3>;\n"
                                        "mul.u16.lo %h1, %h2, %h2;\nret;\n}\n"));
}

TEST(a_copy_that_waits_brings_what_was_printed) {
    CUmodule module = load_text(
        HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
             ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"
             ".entry k(.param .u64 p) {\n.reg .b64 %d<4>;\nmov.u64 %d1, text;\n"
             "cvta.global.u64 %d1, %d1;\nmov.u64 %d2, 0;\n{ .param .b64 f;\n.param .b64 a;\n"
             ".param .b32 r;\nst.param.b64 [f], %d1;\nst.param.b64 [a], %d2;\n"
             "call.uni (r), vprintf, (f, a);\n}\nret;\n}\n");
    CUdeviceptr at;
    char text[8];
    OK(cuMemAlloc(&at, 4));
    assert_int_equal(printed_at_copy(module, at, text, sizeof text), 3);
    assert_memory_equal(text, "hi\n", 3);
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

/* Prints a format, which is at the beginning of the memory, with what is 256 bytes behind it.
 * Returns what vprintf() does. */
static uint32_t print(const char *format, const void *arguments, size_t size, char *text,
                      size_t room) {
    CUmodule module =
        load_text(HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
                       ".entry k(.param .u64 p) {\n.reg .b64 %d<4>;\n.reg .b32 %r<2>;\n"
                       "ld.param.u64 %d1, [p];\nadd.u64 %d2, %d1, 256;\n{ .param .b64 f;\n"
                       ".param .b64 a;\n.param .b32 r;\nst.param.b64 [f], %d1;\n"
                       "st.param.b64 [a], %d2;\ncall.uni (r), vprintf, (f, a);\n"
                       "ld.param.b32 %r1, [r];\nst.global.u32 [%d1+252], %r1;\n}\nret;\n}\n");
    CUdeviceptr at;
    uint32_t result;
    OK(cuMemAlloc(&at, 512));
    OK(cuMemcpyHtoD(at, format, strlen(format) + 1));
    OK(cuMemcpyHtoD(at + 256, arguments, size));
    text[printed_at_copy(module, at, text, room - 1)] = '\0';
    OK(cuMemcpyDtoH(&result, at + 252, sizeof result));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
    return result;
}

/* What an H200 printed and returned. */
TEST(what_printf_prints) {
    char text[128];
    const uint32_t words[] = {300, 70000};
    const uint64_t nothing = 0;
    assert_int_equal(print("[%hhd] [%hd]", words, sizeof words, text, sizeof text), 2);
    assert_string_equal(text, "[44] [4464]");
    assert_int_equal(print("[%d] [%zu]", words, sizeof words, text, sizeof text), 1);
    assert_string_equal(text, "[300] [%zu]");
    assert_int_equal(print("[%.*f] [%-8.3Lf]", words, sizeof words, text, sizeof text), 0);
    assert_string_equal(text, "[%.*f] [%-8.3Lf]");
    assert_int_equal(print("[%L*d]", words, sizeof words, text, sizeof text), 0);
    assert_string_equal(text, "[%L*d]");
    assert_int_equal(print("[%%] [%5%] [%q] [%]", words, sizeof words, text, sizeof text), 0);
    assert_string_equal(text, "[%] [%5%] [%q] [%]");
    assert_int_equal(print("[%s]", &nothing, sizeof nothing, text, sizeof text), 1);
    assert_string_equal(text, "[(null)]");
    /* The buffer of what is printed stays as it is, while the heap is not used yet. */
    SAYS(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20));
    expect_reason("a kernel that prints was launched already");
    OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20));
}

/* A text is not cut off. */
TEST(long_texts_are_printed) {
    enum { LENGTH = 20000 };
    static char given[LENGTH + 1], text[LENGTH + 8];
    CUdeviceptr at;
    memset(given, 'x', LENGTH);
    OK(cuMemAlloc(&at, sizeof given));
    OK(cuMemcpyHtoD(at, given, sizeof given));
    assert_int_equal(print("%s\n", &at, sizeof at, text, sizeof text), 1);
    assert_int_equal(strlen(text), LENGTH + 1);
    OK(cuMemFree(at));
}

/* Sums of NaN: global memory keeps what is added as it is, shared memory what it has, which it
 * makes quiet, as ptxas 13.0 orders the operands with optimizations. An H200 answered. */
TEST(sums_of_nan) {
    static const uint64_t one = 0x3ff0000000000000, quiet = 0x7ff8000000000001,
                          signalling = 0x7ff0000000000004, negative = 0xfff0000000000005,
                          bit = UINT64_C(1) << 51;
    const uint64_t two = 0x4000000000000000;
    const uint64_t sums[][4] = {/* memory, what is added, the sums in global and shared memory */
                                {one, signalling, signalling, signalling | bit},
                                {signalling, one, signalling, signalling | bit},
                                {quiet, signalling, signalling, quiet},
                                {signalling, quiet, quiet, signalling | bit},
                                {signalling, negative, negative, signalling | bit},
                                {one, one, two, two}};
    for (size_t n = 0; n < sizeof sums / sizeof *sums; n++) {
        uint64_t words[4] = {sums[n][0], sums[n][1]};
        run(HEAD ".entry k(.param .u64 p) {\n.reg .b64 %d<3>;\n.reg .f64 %f<5>;\n"
                 ".shared .align 8 .f64 s;\nld.param.u64 %d1, [p];\nld.global.f64 %f1, [%d1];\n"
                 "ld.global.f64 %f2, [%d1+8];\nst.global.f64 [%d1+16], %f1;\n"
                 "st.shared.f64 [s], %f1;\nred.global.add.f64 [%d1+16], %f2;\n"
                 "atom.shared.add.f64 %f3, [s], %f2;\nld.shared.f64 %f4, [s];\n"
                 "st.global.f64 [%d1+24], %f4;\nret;\n}\n",
            1, 1, (uint32_t *)(void *)words, 8);
        assert_true(words[2] == sums[n][2]);
        assert_true(words[3] == sums[n][3]);
    }
}

/* .ftz flushes a reciprocal that is rounded up to the smallest normal number. An H200 answered. */
TEST(reciprocals_that_are_flushed) {
    static const uint32_t inverses[][4] = {/* a number, rcp.rm.ftz, rcp.rp.ftz, and without .ftz */
                                           {0x7e800001, 0, 0, 0x00800000},
                                           {0xfe800001, 0x80000000, 0x80000000, 0x807fffff},
                                           {0x7e800000, 0x00800000, 0x00800000, 0x00800000}};
    for (size_t n = 0; n < sizeof inverses / sizeof *inverses; n++) {
        uint32_t words[4] = {inverses[n][0]};
        run(HEAD ".entry k(.param .u64 p) {\n.reg .b64 %d1; .reg .f32 %f<5>;\n"
                 "ld.param.u64 %d1, [p];\nld.global.f32 %f1, [%d1];\nrcp.rm.ftz.f32 %f2, %f1;\n"
                 "rcp.rp.ftz.f32 %f3, %f1;\nrcp.rp.f32 %f4, %f1;\nst.global.f32 [%d1+4], %f2;\n"
                 "st.global.f32 [%d1+8], %f3;\nst.global.f32 [%d1+12], %f4;\nret;\n}\n",
            1, 1, words, 4);
        for (unsigned word = 1; word < 4; word++)
            assert_int_equal(words[word], inverses[n][word]);
    }
}

/* .ftz flushes a quotient that is rounded up from one bit below the smallest normal number, and a
 * conversion that is rounded up to that. An H200 answered. */
TEST(quotients_and_conversions_that_are_flushed) {
    static const struct {
        uint32_t a, b;       /* what is divided, by what; */
        uint64_t d;          /* what is converted */
        uint32_t answers[5]; /* div.rp.ftz, div.rm.ftz, and cvt.rn, .rp, .rm.ftz */
    } cases[] = {
        {0x3f7fffff, 0x7e800000, 0x380fffffe0000000, {0, 0, 0, 0, 0}},
        {0x3f7fffff,
         0xfe800000,
         0xb80fffffe0000000,
         {0x80000000, 0x80000000, 0x80000000, 0x80000000, 0x80000000}},
        {0x3f800000,
         0x7e800000,
         0x380ffffff0000000,
         {0x00800000, 0x00800000, 0x00800000, 0x00800000, 0}},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        uint32_t words[9] = {cases[n].a, cases[n].b, (uint32_t)cases[n].d,
                             (uint32_t)(cases[n].d >> 32)};
        run(HEAD ".entry k(.param .u64 p) {\n.reg .b64 %d1; .reg .f32 %f<8>; .reg .f64 %g;\n"
                 "ld.param.u64 %d1, [p];\nld.global.f32 %f1, [%d1];\nld.global.f32 %f2, [%d1+4];\n"
                 "ld.global.f64 %g, [%d1+8];\ndiv.rp.ftz.f32 %f3, %f1, %f2;\n"
                 "div.rm.ftz.f32 %f4, %f1, %f2;\ncvt.rn.ftz.f32.f64 %f5, %g;\n"
                 "cvt.rp.ftz.f32.f64 %f6, %g;\ncvt.rm.ftz.f32.f64 %f7, %g;\n"
                 "st.global.f32 [%d1+16], %f3;\nst.global.f32 [%d1+20], %f4;\n"
                 "st.global.f32 [%d1+24], %f5;\nst.global.f32 [%d1+28], %f6;\n"
                 "st.global.f32 [%d1+32], %f7;\nret;\n}\n",
            1, 1, words, 9);
        for (unsigned word = 0; word < 5; word++)
            assert_int_equal(words[4 + word], cases[n].answers[word]);
    }
}

/* Both sides of a branch that are one operation each, on the same register, which both also read:
 * of all lanes, and where some lanes went elsewhere before, whose register stays as it is. */
#define SIDES(leaving)                                                                             \
    WORD("", "and.b32 %r3, %r1, 3;\nsetp.eq.u32 %p2, %r3, " leaving ";\nmov.u32 %r2, %r1;\n"       \
             "@%p2 bra L3;\nsetp.lt.u32 %p1, %r1, 20;\n@%p1 bra L1;\nadd.u32 %r2, %r2, 7;\n"       \
             "bra L2;\nL1:\nmul.lo.u32 %r2, %r2, 3;\nL2:\nadd.u32 %r2, %r2, 1;\nL3:\n")
/* What reads a copy of a register gets what it was when it was copied. */
TEST(copies_of_registers) {
    /* With words that count up from 0, what becomes of word 5, and of word 40. */
    static const struct {
        const char *text;
        uint32_t of_5, of_40;
    } cases[] = {
        {"mov.u32 %r2, %r1;\nadd.u32 %r1, %r1, 1;\n", 5, 40},
        {"mov.u32 %r3, %r1;\nmov.u32 %r2, %r3;\nadd.u32 %r3, %r3, 1;\nadd.u32 %r1, %r1, 2;\n"
         "mad.lo.u32 %r2, %r2, 100, %r3;\n",
         506, 4041},
        /* An exchange, in a loop of three rounds. */
        {"mov.u32 %r3, 7;\nmov.u32 %r4, 0;\nL:\nmov.u32 %r5, %r1;\nmov.u32 %r1, %r3;\n"
         "mov.u32 %r3, %r5;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 3;\n@%p1 bra L;\n"
         "mad.lo.u32 %r2, %r1, 100, %r3;\n",
         705, 740},
        /* The value of the round before. */
        {"mov.u32 %r3, 0;\nmov.u32 %r4, 0;\nL:\nmov.u32 %r2, %r3;\nadd.u32 %r3, %r3, %r1;\n"
         "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 3;\n@%p1 bra L;\n",
         10, 80},
        /* Some lanes change the copy, or the register, or have no copy. */
        {"setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r2, %r1;\n@%p1 add.u32 %r2, %r2, 100;\n", 105, 40},
        {"setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r2, %r1;\n@%p1 add.u32 %r1, %r1, 100;\n"
         "add.u32 %r2, %r2, %r1;\n",
         110, 80},
        {"setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r2, 1;\n@%p1 mov.u32 %r2, %r1;\n"
         "add.u32 %r2, %r2, 1;\n",
         6, 2},
        {"setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r2, %r1;\nadd.u32 %r1, %r1, 1;\n@%p1 bra L;\n"
         "add.u32 %r2, %r2, %r1;\nL:\n",
         5, 81},
        /* Elements of vectors, addresses, other types. */
        {"mov.u32 %r3, %r1;\nmov.b64 %d4, {%r3, %r1};\nadd.u32 %r1, %r1, 1;\n"
         "mov.b64 {%r2, %r4}, %d4;\nmad.lo.u32 %r2, %r4, 100, %r2;\n",
         505, 4040},
        {"mov.u64 %d4, %d3;\nadd.u64 %d3, %d3, 4;\nld.global.u32 %r2, [%d4];\nmov.u64 %d3, %d4;\n",
         5, 40},
        {".reg .f32 %f1;\nmov.b32 %f1, %r1;\nadd.f32 %f1, %f1, 0f3f800000;\n"
         "mov.b32 %r2, %f1;\n",
         0x3f800000, 0x3f800000},
        /* A copy of a constant that nobody reads, in a register that has another value later. */
        {"mov.u32 %r3, 7;\nmov.u32 %r4, %r3;\nadd.u32 %r4, %r1, 1;\nadd.u32 %r2, %r4, %r3;\n", 13,
         48},
        /* A shuffle takes what the other lane has copied. */
        {"mov.b32 %r3, %r1;\nadd.u32 %r1, %r1, 50;\nshfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;\n"
         "mov.b32 %r5, %r4;\nmad.lo.u32 %r2, %r5, 100, %r1;\n",
         455, 4190},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        static const char frame[] = WORD("", "HERE");
        const char *here = strstr(frame, "HERE");
        char text[2048];
        uint32_t words[64];
        snprintf(text, sizeof text, "%.*s%s%s", (int)(here - frame), frame, cases[n].text,
                 here + 4);
        count_up(words, 64);
        run(text, 1, 64, words, 64);
        assert_int_equal(words[5], cases[n].of_5);
        assert_int_equal(words[40], cases[n].of_40);
    }
}

/* Both results are written by the guard as it was before, also where one of them is the guard. */
TEST(results_that_are_the_guard) {
    static const struct {
        const char *text;
        uint32_t below_10, below_20, others; /* 1: the first result; 2: the second */
    } cases[] = {
        {"setp.lt.u32 %p1, %r1, 20;\nsetp.ne.u32 %p2, %r1, %r1;\n"
         "@%p1 setp.lt.u32 %p1|%p2, %r1, 10;\n",
         1, 2, 0},
        {"setp.ge.u32 %p2, %r1, 20;\nsetp.ne.u32 %p1, %r1, %r1;\n"
         "@!%p2 setp.lt.u32 %p1|%p2, %r1, 10;\n",
         1, 2, 2},
    };
    static const char frame[] = WORD("", "HERE");
    const char *here = strstr(frame, "HERE");
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char text[2048];
        uint32_t words[32];
        snprintf(text, sizeof text,
                 "%.*s%sselp.u32 %%r2, 1, 0, %%p1;\n@%%p2 add.u32 %%r2, %%r2, 2;\n%s",
                 (int)(here - frame), frame, cases[n].text, here + 4);
        count_up(words, 32);
        run(text, 1, 32, words, 32);
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(words[i], i < 10   ? cases[n].below_10
                                       : i < 20 ? cases[n].below_20
                                                : cases[n].others);
    }
}

TEST(short_branches_of_two_sides) {
    static const char *const texts[] = {SIDES("4"), SIDES("3")};
    for (uint32_t leave = 0; leave < 2; leave++) {
        uint32_t words[32];
        count_up(words, 32);
        run(texts[leave], 1, 32, words, 32);
        for (uint32_t n = 0; n < 32; n++)
            assert_int_equal(words[n], leave && n % 4 == 3 ? n : (n < 20 ? 3 * n : n + 7) + 1);
    }
}

/* Of three operations with one result, whose guards take turns, the last one is not left out. */
TEST(guards_that_take_turns) {
    uint32_t words[32];
    count_up(words, 32);
    run(WORD("", "setp.lt.u32 %p1, %r1, 20;\n@!%p1 mov.u32 %r2, 5;\n@%p1 mov.u32 %r2, 6;\n"
                 "@!%p1 add.u32 %r2, %r2, 10;\n@%p1 add.u32 %r2, %r2, 20;\n"
                 "@!%p1 add.u32 %r2, %r2, 40;\n"),
        1, 32, words, 32);
    for (uint32_t n = 0; n < 32; n++)
        assert_int_equal(words[n], n < 20 ? 26 : 55);
}

/* Branches within others become guards together, whose predicate is written in between. */
TEST(short_branches_within_others) {
    static const char *const outer[] = {"setp.lt.u32 %p1, %r1, 4;\n@%p1 bra J;\n",
                                        "setp.ge.u32 %p1, %r1, 4;\n@!%p1 bra J;\n"};
    static const char frame[] = WORD("", "HERE");
    const char *here = strstr(frame, "HERE");
    for (unsigned n = 0; n < 2; n++) {
        char text[2048];
        uint32_t words[32];
        snprintf(text, sizeof text,
                 "%.*smov.u32 %%r2, %%r1;\n%sadd.u32 %%r2, %%r2, 100;\n"
                 "setp.ge.u32 %%p1, %%r1, 28;\n@%%p1 bra J;\nand.b32 %%r3, %%r1, 1;\n"
                 "setp.eq.u32 %%p1, %%r3, 0;\n@%%p1 bra K;\nadd.u32 %%r2, %%r2, 1000;\nK:\n"
                 "add.u32 %%r2, %%r2, 10000;\nJ:\n%s",
                 (int)(here - frame), frame, outer[n], here + 4);
        count_up(words, 32);
        run(text, 1, 32, words, 32);
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(words[i], i + (i < 4 ? 0 : i >= 28 ? 100 : i % 2 ? 11100 : 10100));
    }
}

/* Lanes of one address change it in their order, and each gets what it found, also in the register
 * that it added; lanes of others in between, and a lane that does not take part, change nothing. */
TEST(atomics_of_lanes_together) {
    uint32_t words[32];
    count_up(words, 32); /* word n is n; the sums are in the last ones */
    run(WORD(".shared .b32 s[4];\n",
             "mov.u32 %r3, %tid.x;\nst.shared.u32 [s], 0;\nst.shared.u32 [s+4], 100;\nbar.sync 0;\n"
             "setp.ge.u32 %p1, %r3, 8;\nselp.u32 %r4, 4, 0, %p1;\nmov.u32 %r5, s;\n"
             "add.u32 %r4, %r4, %r5;\nsetp.ne.u32 %p2, %r3, 5;\nmov.u32 %r2, %r1;\n"
             "@%p2 atom.shared.add.u32 %r2, [%r4], %r2;\nbar.sync 0;\n"
             "setp.ne.u32 %p3, %r3, 31;\n@%p3 bra L1;\nld.shared.u32 %r6, [s];\n"
             "ld.shared.u32 %r7, [s+4];\nmad.lo.u32 %r2, %r7, 65536, %r6;\nL1:\n"),
        1, 32, words, 32);
    uint32_t low = 0, high = 100;
    for (uint32_t n = 0; n < 31; n++) {
        assert_int_equal(words[n], n == 5 ? 5 : n < 8 ? low : high);
        *(n < 8 ? &low : &high) += n == 5 ? 0 : n;
    }
    assert_int_equal(words[31], (high + 31) << 16 | low);
}

/* The elements of a vector have the values of before the instruction: a target may be a source. */
TEST(atomics_of_vectors_into_their_sources) {
    uint32_t words[] = {0x3f800000, 0x40000000, 0x41000000, 0x41800000}; /* 1, 2; 8, 16 */
    run(".version 8.1\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) {\n"
        ".reg .b64 %d1;\n.reg .f32 %f<3>;\nld.param.u64 %d1, [p];\n"
        "ld.global.v2.f32 {%f1, %f2}, [%d1+8];\n"
        "atom.global.v2.add.f32 {%f2, %f1}, [%d1], {%f1, %f2};\n"
        "st.global.v2.f32 [%d1+8], {%f2, %f1};\nret;\n}\n",
        1, 1, words, 4);
    assert_int_equal(words[0], 0x41100000); /* 9, */
    assert_int_equal(words[1], 0x41900000); /* 18: what it added */
    assert_int_equal(words[2], 0x3f800000);
    assert_int_equal(words[3], 0x40000000);
}

/* ---- faults ---- */

TEST(faults) {
    fault(WORD("", "ld.global.u32 %r2, [%d1+64];\n"), CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD("", "mov.u64 %d4, 16;\nld.global.u32 %r2, [%d4];\n"), CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD("", "ld.global.u32 %r2, [%d1+2];\n"), CUDA_ERROR_MISALIGNED_ADDRESS);
    fault(WORD(".shared .b32 s;\n", "ld.shared.u32 %r2, [s+100000];\n"),
          CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD(".shared .b32 s;\n",
               "mov.u64 %d4, s;\ncvta.shared.u64 %d4, %d4;\nld.global.u32 %r2, [%d4];\n"),
          CUDA_ERROR_INVALID_ADDRESS_SPACE);
    fault(WORD(".local .b32 l;\n",
               "mov.u64 %d4, l;\ncvta.local.u64 %d4, %d4;\nst.global.u32 [%d4], %r1;\n"),
          CUDA_ERROR_INVALID_ADDRESS_SPACE);
    fault(WORD("", "mov.u64 %d4, 0x2000000000000;\nld.u32 %r2, [%d4+0x70000000];\n"),
          CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD("", "mov.u64 %d4, 0x123456;\nQ: .callprototype _ ();\ncall %d4, (), Q;\n"),
          CUDA_ERROR_INVALID_PC);
    fault(WORD("", "mov.u64 %d4, 0x123450;\nQ: .callprototype _ ();\ncall %d4, (), Q;\n"),
          CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD("", "trap;\nmov.u32 %r2, 0;\n"), CUDA_ERROR_LAUNCH_FAILED);
    fault(WORD("", "brkpt;\nmov.u32 %r2, 0;\n"), CUDA_ERROR_LAUNCH_FAILED);
    /* Whether there is memory comes before whether the address is aligned. */
    fault(WORD("", "ld.global.u32 %r2, [%d1+66];\n"), CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD("", "ld.global.u32 %r2, [%d1+62];\n"), CUDA_ERROR_MISALIGNED_ADDRESS);
    fault(WORD("", "mov.u32 %r3, 0x100001;\nld.shared.u32 %r2, [%r3];\n"),
          CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD("", "mov.u32 %r3, 0x5000001;\nld.shared.u32 %r2, [%r3];\n"),
          CUDA_ERROR_ILLEGAL_INSTRUCTION); /* of a block that the cluster does not have */
}

static void with_timeout(const char *configuration) {
    acu_sim_reset(configuration);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* A kernel that takes longer than it may ends with 702, whether it goes round without an access,
 * waits for memory, or has one block after the other. */
TEST(a_timeout) {
    uint32_t words[32] = {0};
    with_timeout(MACHINE ",timeout=1000");
    run(WORD("", "mov.u32 %r2, 7;\n"), 1, 32, words, 32);
    assert_int_equal(words[31], 7);
    with_timeout(MACHINE ",timeout=0.05");
    fault(WORD("", "L: bra L;\n"), CUDA_ERROR_LAUNCH_TIMEOUT);
    with_timeout(MACHINE ",timeout=0.05");
    fault(
        WORD("", "L: ld.volatile.global.u32 %r2, [%d3];\nsetp.ne.u32 %p1, %r2, 77;\n@%p1 bra L;\n"),
        CUDA_ERROR_LAUNCH_TIMEOUT);
    with_timeout(MACHINE ",timeout=0.05");
    CUmodule module = load_text(HEAD ".entry k() { ret; }\n");
    CUfunction kernel;
    OK(cuModuleGetFunction(&kernel, module, "k"));
    OK(cuLaunchKernel(kernel, 1u << 31 >> 1, 60000, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_LAUNCH_TIMEOUT, cuCtxSynchronize());
    with_timeout(MACHINE);
}

#define SAMPLES                                                                                    \
    ".reg .b32 %r<5>; .reg .b64 %d;\ntex.2dms.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d, {%r1, %r2, "   \
    "%r3, %r3}];\nret;\n}\n"

TEST(an_instruction_that_is_not_simulated) {
    static const char *const texts[] = {
        /* also in what the kernel calls */
        ".version 8.6\n.target sm_90\n.address_size 64\n.entry k() {" SAMPLES,
        ".version 8.6\n.target sm_90\n.address_size 64\n.func f() {" SAMPLES
        ".func g() { call f; ret; }\n"
        ".entry k() { call g; ret; }\n"};
    for (size_t n = 0; n < 2; n++) {
        CUmodule module = NULL;
        SAYS(CUDA_ERROR_NOT_SUPPORTED, cuModuleLoadData(&module, texts[n]));
        expect_reason("the simulator cannot execute the kernel \"k\"");
        expect_reason("line 5");
        expect_reason("tex.2dms.v4.u32.s32");
    }
    /* a function that no kernel calls makes no difference */
    CUmodule module = load_text(".version 8.6\n.target sm_90\n.address_size 64\n.func f() {" SAMPLES
                                ".entry k() { ret; }\n");
    OK(cuModuleUnload(module));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(the_programs_rounding),
        C(instructions),
        C(carries_go_from_word_to_word),
        C(a_subtraction_carries_where_it_does_not_borrow),
        C(registers_without_blanks),
        C(lanes_that_go_apart),
        C(a_branch_by_an_index),
        C(blocks_in_another_order),
        C(a_lock_between_lanes_and_blocks),
        C(a_function_that_calls_itself),
        C(registers_of_a_function_that_calls_itself),
        C(calls_by_addresses),
        C(barriers_and_shared_memory),
        C(a_barrier_that_counts),
        C(shuffles_votes_and_matches),
        C(shuffles_by_what_lanes_say),
        C(votes_of_two_groups),
        C(a_vote_of_lanes_that_are_apart),
        C(a_barrier_after_lanes_went_apart),
        C(addresses_of_32_bits_wrap_around),
        C(vectors_and_small_elements),
        C(generic_addresses),
        C(vectors_of_registers),
        C(generic_addresses_of_variables),
        C(elements_of_arrays),
        C(elements_by_registers),
        C(elements_of_vectors_and_of_no_extent),
        C(operands_that_do_not_suit),
        C(volatile_local_memory),
        C(bytes_are_put_together),
        C(registers_of_one_name),
        C(modifiers_in_another_order),
        C(a_copy_that_waits_brings_what_was_printed),
        C(what_printf_prints),
        C(long_texts_are_printed),
        C(sums_of_nan),
        C(reciprocals_that_are_flushed),
        C(quotients_and_conversions_that_are_flushed),
        C(copies_of_registers),
        C(results_that_are_the_guard),
        C(short_branches_of_two_sides),
        C(guards_that_take_turns),
        C(short_branches_within_others),
        C(atomics_of_lanes_together),
        C(atomics_of_vectors_into_their_sources),
        C(faults),
        C(a_timeout),
        C(an_instruction_that_is_not_simulated),
    };
    return RUN(tests);
}
