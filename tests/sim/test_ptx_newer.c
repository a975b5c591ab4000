/* What only GPUs of compute capability 10.0 have: numbers of 4 and 6 bits, powers of two, bits at
 * random, the least of three, the least of a warp's floats. */
#include "ptx_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 32, SOURCES = 3 };

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void begin_newer(void) {
    acu_sim_reset("runtime=13.0,driver=13.0,cc=10.0" MACHINE_MORE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* Executes instructions with %f1, %f2 and %f3 of each thread, of which %r4 is kept. */
static void execute(const char *instructions, uint32_t words[THREADS][SOURCES],
                    uint32_t results[THREADS]) {
    static char text[4000];
    snprintf(text, sizeof text,
             ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k(.param .u64 p) {\n"
             ".reg .b8 %%b<4>; .reg .b16 %%h<4>; .reg .b32 %%r<9>; .reg .f32 %%f<9>;\n"
             ".reg .b64 %%d<4>;\nld.param.u64 %%d1, [p];\nmov.u32 %%r1, %%tid.x;\n"
             "mad.wide.u32 %%d2, %%r1, 12, %%d1;\nld.global.f32 %%f1, [%%d2];\n"
             "ld.global.f32 %%f2, [%%d2+4];\nld.global.f32 %%f3, [%%d2+8];\n"
             "mov.b32 %%r3, %%f3;\n%s\nst.global.b32 [%%d2], %%r4;\nret;\n}\n",
             instructions);
    run(text, 1, THREADS, &words[0][0], THREADS * SOURCES);
    for (unsigned n = 0; n < THREADS; n++)
        results[n] = words[n][0];
}

/* Executes an instruction for one number, which is the first operand, and 0, the second one. */
static uint32_t convert(const char *instructions, uint32_t bits) {
    uint32_t words[THREADS][SOURCES] = {{bits, 0, 0}}, results[THREADS];
    execute(instructions, words, results);
    return results[0];
}

/* ---- numbers of 4 and 6 bits ---- */

#define TO_6(modifiers, type)                                                                      \
    "cvt.rn." modifiers "." type ".f32 %h1, %f1, %f2;\ncvt.u32.u16 %r4, %h1;"
#define TO_4(modifiers) "cvt.rn." modifiers ".e2m1x2.f32 %b1, %f1, %f2;\ncvt.u32.u8 %r4, %b1;"

static const struct {
    float number;
    uint32_t e2m1, e2m3, e3m2; /* in the upper half */
} narrow[] = {
    {0, 0, 0, 0},
    {1, 0x20, 0x0800, 0x0c00},
    {-1.5f, 0xb0, 0x2c00, 0x2e00},
    {6, 0x70, 0x1c00, 0x1600},
    {0.25f, 0x00, 0x0200, 0x0400}, /* a tie of e2m1, to the even one */
    {0.75f, 0x20, 0x0600, 0x0a00}, /* another */
    {2.5f, 0x40, 0x1200, 0x1100},  /* and another */
    {5, 0x60, 0x1a00, 0x1500},
    {0.0625f, 0, 0, 0x0100},      /* a tie of e2m3; the least of e3m2 */
    {0.03125f, 0, 0, 0},          /* a tie of e3m2 */
    {7.5f, 0x70, 0x1f00, 0x1800}, /* the largest of e2m3 */
    {28, 0x70, 0x1f00, 0x1f00},   /* the largest of e3m2 */
    {-1e30f, 0xf0, 0x3f00, 0x3f00},
};

TEST(numbers_of_4_and_6_bits) {
    begin_newer();
    for (size_t n = 0; n < sizeof narrow / sizeof *narrow; n++) {
        const uint32_t bits = bits_of(narrow[n].number);
        assert_int_equal(convert(TO_4("satfinite"), bits), narrow[n].e2m1);
        assert_int_equal(convert(TO_6("satfinite", "e2m3x2"), bits), narrow[n].e2m3);
        assert_int_equal(convert(TO_6("satfinite", "e3m2x2"), bits), narrow[n].e3m2);
        const uint32_t positive = narrow[n].number < 0 ? 0 : narrow[n].e2m3;
        assert_int_equal(convert(TO_6("relu.satfinite", "e2m3x2"), bits), positive);
    }
    /* What is no number is the largest one; infinity keeps its sign. */
    assert_int_equal(convert(TO_4("satfinite"), 0xffc00000), 0x70);
    assert_int_equal(convert(TO_6("satfinite", "e2m3x2"), 0xffc00000), 0x1f00);
    assert_int_equal(convert(TO_6("satfinite.relu", "e3m2x2"), 0x7f800001), 0x1f00);
    assert_int_equal(convert(TO_6("satfinite", "e3m2x2"), 0xff800000), 0x3f00);
}

/* Each number of 4 and 6 bits is a half, and comes back. */
TEST(halves_of_numbers_of_4_and_6_bits) {
    static const char *const ways[] = {
        "mov.b32 %r1, %f1;\ncvt.u8.u32 %b1, %r1;\ncvt.rn.f16x2.e2m1x2 %r4, %b1;",
        "mov.b32 %r1, %f1;\ncvt.u16.u32 %h1, %r1;\ncvt.rn.f16x2.e2m3x2 %r4, %h1;",
        "mov.b32 %r1, %f1;\ncvt.u16.u32 %h1, %r1;\ncvt.rn.f16x2.e3m2x2 %r4, %h1;"};
    static const struct {
        unsigned way;
        uint32_t from, to;
    } rows[] = {
        {0, 0x17, 0x38004600},                            /* 0.5 and 6 */
        {0, 0xa9, 0xbc00b800},                            /* -1 and -0.5 */
        {1, 0x011f, 0x30004780},                          /* 0.125 and 7.5 */
        {1, 0x2808, 0xbc003c00}, {2, 0x1f01, 0x4f002c00}, /* 28 and 0.0625 */
        {2, 0x2c0c, 0xbc003c00},
    };
    begin_newer();
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        assert_int_equal(convert(ways[rows[n].way], rows[n].from), rows[n].to);
}

/* ---- powers of two ---- */

TEST(powers_of_two) {
    static const struct {
        uint32_t bits, down, up, down_finite, up_finite;
    } rows[] = {
        {0, 0, 0, 0, 0},
        {0x3f800000, 127, 127, 127, 127},
        {0xbf800001, 127, 128, 127, 128}, /* the sign does not count */
        {0x00400000, 0, 0, 0, 0},         /* 2^-127 */
        {0x00400001, 0, 1, 0, 1},
        {0x7f7fffff, 254, 255, 254, 254},
        {0x7f800000, 255, 255, 254, 254},
        {0xff800000, 255, 255, 254, 254},
        {0x7fc00000, 255, 255, 255, 255},
    };
    begin_newer();
#define TO_POWER(modifiers) "cvt." modifiers ".ue8m0x2.f32 %h1, %f2, %f1;\ncvt.u32.u16 %r4, %h1;"
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        assert_int_equal(convert(TO_POWER("rz"), rows[n].bits), rows[n].down);
        assert_int_equal(convert(TO_POWER("rp"), rows[n].bits), rows[n].up);
        assert_int_equal(convert(TO_POWER("rz.satfinite"), rows[n].bits), rows[n].down_finite);
        assert_int_equal(convert(TO_POWER("rp.satfinite"), rows[n].bits), rows[n].up_finite);
    }
    assert_int_equal(convert("mov.b32 %r1, %f1;\ncvt.rp.ue8m0x2.bf16x2 %h1, %r1;\n"
                             "cvt.u32.u16 %r4, %h1;",
                             0x3f814000),
                     128 << 8 | 128);
    assert_int_equal(convert("mov.b32 %r1, %f1;\ncvt.u16.u32 %h1, %r1;\n"
                             "cvt.rn.bf16x2.ue8m0x2 %r4, %h1;",
                             0xff00),
                     0x7fff0040);
    assert_int_equal(convert("mov.b32 %r1, %f1;\ncvt.u16.u32 %h1, %r1;\n"
                             "cvt.rn.bf16x2.ue8m0x2 %r4, %h1;",
                             0x7f01),
                     0x3f800080);
}

/* ---- bits at random ---- */

TEST(bits_at_random) {
    static const struct {
        const char *modifiers;
        uint32_t a, b, random, result;
    } rows[] = {
        {"", 0x3f808000, 0x3f808000, 0x7fff8000, 0x3f803f81}, /* a does not carry, b does */
        {"", 0xbf80ffff, 0x3f800000, 0x0001ffff, 0xbf813f80},
        {"", 0x7f7fffff, 0xff800000, 0xffffffff, 0x7f80ff80},
        {".satfinite", 0x7f7fffff, 0xff800000, 0xffffffff, 0x7f7fff7f},
        {".relu", 0xbf80ffff, 0x7fc00001, 0xffffffff, 0x00007fff},
        {".relu.satfinite", 0x7f800000, 0xff800000, 0, 0x7f7f0000},
        {"", 0x00008000, 0x80000001, 0x8000ffff, 0x00018001},
    };
    begin_newer();
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        uint32_t words[THREADS][SOURCES] = {{rows[n].a, rows[n].b, rows[n].random}},
                 results[THREADS];
        char text[100];
        snprintf(text, sizeof text, "cvt.rs%s.bf16x2.f32 %%r4, %%f1, %%f2, %%r3;",
                 rows[n].modifiers);
        execute(text, words, results);
        assert_int_equal(results[0], rows[n].result);
    }
}

/* ---- the least and the largest ---- */

TEST(the_least_of_three) {
    static const struct {
        const char *opcode;
        uint32_t a, b, c, result;
    } rows[] = {
        {"min", 0x3f800000, 0xbf800000, 0x40000000, 0xbf800000},
        {"min", 0x00000000, 0x80000000, 0x3f800000, 0x80000000},
        {"min", 0x7fc00000, 0x3f800000, 0xffc00000, 0x3f800000},
        {"min", 0x7fc00000, 0x7fc00001, 0xffc00000, 0x7fffffff},
        {"min.NaN", 0x3f800000, 0x40000000, 0xffc00000, 0x7fffffff},
        {"max", 0x3f800000, 0xc0000000, 0x80000000, 0x3f800000},
        {"max.abs", 0x3f800000, 0xc0000000, 0x80000000, 0x40000000},
        {"min.abs", 0xbf800000, 0xc0000000, 0x80000000, 0x00000000},
        {"max.ftz", 0x80000001, 0x80000002, 0xbf800000, 0x80000000},
        {"max.ftz.NaN.abs", 0x00000001, 0x80000002, 0xffc00000, 0x7fffffff},
    };
    begin_newer();
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        uint32_t words[THREADS][SOURCES] = {{rows[n].a, rows[n].b, rows[n].c}}, results[THREADS];
        char text[100];
        snprintf(text, sizeof text, "%s.f32 %%f4, %%f1, %%f2, %%f3;\nmov.b32 %%r4, %%f4;",
                 rows[n].opcode);
        execute(text, words, results);
        assert_int_equal(results[0], rows[n].result);
    }
}

static uint32_t of_warp(const char *opcode, uint32_t values[THREADS][SOURCES], unsigned lane) {
    uint32_t words[THREADS][SOURCES], results[THREADS];
    char text[100];
    memcpy(words, values, sizeof words);
    snprintf(text, sizeof text, "redux.sync.%s.f32 %%f4, %%f1, -1;\nmov.b32 %%r4, %%f4;", opcode);
    execute(text, words, results);
    return results[lane];
}

TEST(the_least_of_a_warp) {
    uint32_t values[THREADS][SOURCES] = {{0}};
    begin_newer();
    for (unsigned n = 0; n < THREADS; n++)
        values[n][0] = bits_of((float)n - 8.5f);
    assert_true(float_of(of_warp("min", values, 5)) == -8.5f);
    assert_true(float_of(of_warp("max", values, 31)) == 22.5f);
    assert_true(float_of(of_warp("min.abs", values, 0)) == 0.5f);
    values[17][0] = 0xffc12345;
    assert_true(float_of(of_warp("max.abs", values, 2)) == 22.5f);
    assert_int_equal(of_warp("max.NaN", values, 2), 0x7fffffff);
    assert_int_equal(of_warp("min.abs.NaN", values, 17), 0x7fffffff);
    for (unsigned n = 0; n < THREADS; n++)
        values[n][0] = n % 2 ? 0x80000000 : 0;
    assert_int_equal(of_warp("min", values, 0), 0x80000000);
    assert_int_equal(of_warp("max", values, 1), 0);
    for (unsigned n = 0; n < THREADS; n++)
        values[n][0] = 0xffc00000 + n;
    assert_int_equal(of_warp("min", values, 3), 0x7fffffff);
}

#undef HEAD
#define HEAD ".version 9.0\n.target sm_100a\n.address_size 64\n"

/* A sum of 32 bits of what has 16. */
TEST(sums_of_narrow_floats) {
    uint32_t words[1] = {0x3c00};
    begin_newer();
    run(WORD(".reg .b16 %h<2>;\n.reg .f32 %f<4>;\n",
             "cvt.u16.u32 %h1, %r1;\nadd.f32.f16 %f1, %h1, 0f40000000;\n"
             "sub.rz.f32.f16 %f1, %h1, %f1;\nfma.rn.f32.f16 %f1, %h1, %h1, %f1;\n"
             "add.sat.f32.f16 %f2, %h1, 0f40000000;\nadd.f32 %f1, %f1, %f2;\n"
             "mov.b32 %r2, %f1;\n"),
        1, 1, words, 1);
    assert_int_equal(words[0], 0); /* 1 - (1 + 2) + 1 * 1 + saturated 3 */
    words[0] = 0x4040;             /* 3 */
    run(WORD(".reg .b16 %h<2>;\n.reg .f32 %f<4>;\n",
             "cvt.u16.u32 %h1, %r1;\nfma.rn.f32.bf16 %f1, %h1, %h1, 0f3f800000;\n"
             "sub.f32.bf16 %f1, %h1, %f1;\nmov.b32 %r2, %f1;\n"),
        1, 1, words, 1);
    assert_int_equal(words[0], 0xc0e00000); /* 3 - (9 + 1) */
}

/* ---- what ptxas refuses, and what is not simulated ---- */

static void try_to_load(const char *instruction, CUresult result) {
    static char text[2000];
    CUmodule module = NULL;
    snprintf(text, sizeof text,
             ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k() {\n.reg .b8 %%b<4>; "
             ".reg .b16 %%h<4>; .reg .b32 %%r<9>; .reg .f32 %%f<9>; .reg .f64 %%e<9>; "
             ".reg .b64 %%d<4>;\n%s\nret;\n}\n",
             instruction);
    SAYS(result, cuModuleLoadData(&module, text));
}

TEST(what_is_refused) {
    static const char *const wrong[] = {
        "cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;",
        "cvt.rn.f16x2.e2m1x2 %r1, %h1;",
        "cvt.rn.satfinite.e2m3x2.f32 %r1, %f1, %f2;",
        "cvt.rn.f16x2.e2m3x2 %r1, %r2;",
        "cvt.rn.bf16x2.f32 %d1, %f1, %f2;",
        "cvt.rn.bf16.f32 %r1, %f2;",
        "cvt.f32.bf16 %f1, %r2;",
        "cvt.rna.tf32.f32 %d1, %f2;",
        "cvt.rn.satfinite.e4m3x2.f16x2 %h1, %d1;",
        "min.f64 %e1, %e2, %e3, %e4;",
        "min.xorsign.abs.f32 %f1, %f2, %f3, %f4;",
        "redux.sync.add.f32 %f1, %f2, %r3;",
        "redux.sync.min.abs.s32 %r1, %r2, %r3;",
    };
    begin_newer();
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++)
        try_to_load(wrong[n], CUDA_ERROR_INVALID_PTX);
    try_to_load("cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;", CUDA_ERROR_NOT_SUPPORTED);
    try_to_load("cvt.rs.satfinite.e2m1x4.f32 %h1, {%f1, %f2, %f3, %f4}, %r2;",
                CUDA_ERROR_NOT_SUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(numbers_of_4_and_6_bits), C(halves_of_numbers_of_4_and_6_bits),
        C(powers_of_two),           C(bits_at_random),
        C(the_least_of_three),      C(the_least_of_a_warp),
        C(sums_of_narrow_floats),   C(what_is_refused),
    };
    return RUN(tests);
}
