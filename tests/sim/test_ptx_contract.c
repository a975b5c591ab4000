/* Products and sums that a GPU rounds once: which of them ptxas 13.0 contracts was read in the
 * machine code that it made of these kernels. */
#include "ptx_test.h"

#include <stdio.h>

/*
 * Registers: %a is 1 + 2^-12, whose square is 1 + 2^-11 + 2^-24. It rounds to 1 + 2^-11, which is
 * %c. So the square and -%c are 2^-24 where they are rounded once, 0 where they are rounded twice.
 * %minus is -%c, %one is 1, %p is true.
 */
#define ONCE       0x33800000 /* 2^-24 */
#define MINUS_ONCE 0xb3800000 /* -2^-24 */

/* %t becomes %c / %a - %a, rounded once; %u and %v are other multiples of %c and %a. */
#define RECIPROCAL "rcp.approx.ftz.f32 %n, %a; neg.f32 %t, %a; fma.rn.ftz.f32 %t, %c, %n, %t; "
#define SCALED                                                                                     \
    "mul.rn.f32 %t, %v, 0f3E800000; rcp.approx.ftz.f32 %n, %t; mul.rn.f32 %t, %u, 0f3E800000; "    \
    "neg.f32 %s, %a; fma.rn.f32 %t, %t, %n, %s; "

static const struct {
    const char *text; /* the result is in %s */
    uint32_t result;
} cases[] = {
    {"mul.f32 %m, %a, %a; sub.f32 %s, %m, %c;", ONCE},
    {"mul.f32 %m, %a, %a; sub.f32 %s, %c, %m;", MINUS_ONCE},
    {"mul.f32 %m, %a, %a; add.f32 %s, %m, 0fBF801000;", ONCE},
    {"mul.f32 %m, %a, %a; sub.f32 %s, %m, 0f3F801000;", ONCE},
    {"mul.f32 %m, %a, %a; add.f32 %s, %minus, %m;", ONCE},
    {"mul.ftz.f32 %m, %a, %a; sub.ftz.f32 %s, %m, %c;", ONCE},
    {"mul.f32 %m, %a, %a; sub.sat.f32 %s, %m, %c;", ONCE},
    {"mul.f32 %m, %a, %a; mov.f32 %s, %c; @%p sub.f32 %s, %m, %c;", ONCE},
    {"mul.f32 %m, %a, %a; bar.sync 0; sub.f32 %s, %m, %c;", ONCE},
    /* A rounding that is written, other words, a guard. */
    {"mul.rn.f32 %m, %a, %a; sub.f32 %s, %m, %c;", 0},
    {"mul.f32 %m, %a, %a; sub.rn.f32 %s, %m, %c;", 0},
    {"mul.ftz.f32 %m, %a, %a; sub.f32 %s, %m, %c;", 0},
    {"mul.f32 %m, %a, %a; sub.ftz.f32 %s, %m, %c;", 0},
    {"mul.sat.f32 %m, %a, %a; sub.f32 %s, %m, 0f3F800000;", 0},
    {"mov.f32 %m, %c; @%p mul.f32 %m, %a, %a; sub.f32 %s, %m, %c;", 0},
    /* Other uses of the product. */
    {"mul.f32 %m, %a, %a; sub.f32 %s, %m, %c; st.global.f32 [%d+4], %m;", 0},
    {"mul.f32 %m, %a, %a; sub.f32 %s, %m, %c; mul.f32 %n, %m, %m; st.global.f32 [%d+4], %n;", 0},
    {"mul.f32 %m, %a, %a; sub.f32 %s, %m, %c; add.rn.f32 %n, %m, %c; st.global.f32 [%d+4], %n;", 0},
    {"mul.f32 %m, %a, %a; sub.f32 %s, %m, %c; add.f32 %n, %m, %a; st.global.f32 [%d+4], %n;", ONCE},
    {"mul.f32 %m, %a, %a; mul.f32 %n, %a, %a; sub.f32 %s, %m, %c; mul.f32 %n, %n, %n; "
     "st.global.f32 [%d+4], %n;",
     ONCE},
    {"mul.f32 %m, %a, %a; sub.f32 %s, %m, %m;", 0},
    /* Uses whose results nobody needs. */
    {"mul.f32 %m, %a, %a; sub.f32 %s, %m, %c; mul.f32 %n, %m, %m;", ONCE},
    {"mul.f32 %m, %a, %a; mul.f32 %n, %m, %c; add.f32 %t, %n, %a; sub.f32 %s, %m, %c;", ONCE},
    /* Two products: the first operand is taken in, but the second if it alone has no other use. */
    {"mul.f32 %m, %a, %a; mul.f32 %n, %one, %c; sub.f32 %s, %m, %n;", ONCE},
    {"mul.f32 %m, %a, %a; mul.f32 %n, %one, %c; sub.f32 %s, %n, %m;", 0},
    {"mul.f32 %m, %a, %a; mul.f32 %n, %one, %c; sub.f32 %s, %n, %m; add.f32 %t, %n, %a; "
     "st.global.f32 [%d+4], %t;",
     MINUS_ONCE},
    {"mul.f32 %m, %a, %a; mul.f32 %n, %one, %c; sub.f32 %s, %m, %n; add.f32 %t, %m, %a; "
     "st.global.f32 [%d+4], %t;",
     0},
    {"mul.f32 %m, %a, %a; mul.f32 %n, %one, %c; sub.f32 %t, %n, %m; sub.f32 %s, %m, %c; "
     "add.f32 %s, %s, %t;",
     0},
    /* Another basic block, and a call. */
    {"mul.f32 %m, %a, %a; @%p bra L; mov.f32 %m, %a; L: sub.f32 %s, %m, %c;", 0},
    {"mul.f32 %m, %a, %a; @!%p bra L; st.global.f32 [%d+4], %a; L: sub.f32 %s, %m, %c;", 0},
    {"mul.f32 %m, %a, %a; @!%p exit; sub.f32 %s, %m, %c;", 0},
    {"mul.f32 %m, %a, %a; call f; sub.f32 %s, %m, %c;", 0},
    /* Products by a constant go everywhere. */
    {"mul.f32 %m, %a, 0f3F800800; @!%p bra L; st.global.f32 [%d+4], %a; L: sub.f32 %s, %m, %c;",
     ONCE},
    {"mov.f32 %n, 0f3F800800; mul.f32 %m, %n, %a; call f; sub.f32 %s, %m, %c;", ONCE},
    {"ld.param.f32 %n, [q]; mul.f32 %m, %a, %n; @!%p exit; sub.f32 %s, %m, %c;", ONCE},
    {"ld.const.f32 %n, [factor]; mul.f32 %m, %a, %n; @!%p exit; sub.f32 %s, %m, %c;", ONCE},
    {"mul.f32 %m, %a, 0f3F800800; @!%p bra L; st.global.f32 [%d+4], %m; L: sub.f32 %s, %m, %c;", 0},
    /* A quotient by a constant is a product with its rounded reciprocal: 1/255 is 0x3b808081. */
    {"div.approx.f32 %s, %one, 0f437F0000;", 0x3b808081},
    {"div.approx.ftz.f32 %s, %one, 0f437F0000;", 0x3b808081},
    {"div.full.f32 %s, %one, 255.0;", 0x3b808081},
    {"mov.f32 %n, 0f437F0000; div.full.ftz.f32 %s, %one, %n;", 0x3b808081},
    {"div.approx.f32 %s, %one, 0fFF000000;", 0x80000000},
    {"div.approx.ftz.f32 %s, %one, 0f80000001;", 0xff800000},
    {"div.full.f32 %s, %one, 0f7E800000;", 0x00800000},
    {"div.full.f32 %m, %a, 0f3F7FF00F; sub.f32 %s, %m, %c;", 0xb5500e00},
    {"div.full.f32 %m, %a, 0f3F7FF00F; sub.rn.f32 %s, %m, %c;", 0xb5600000},
    /* A quotient that flushes is a product with the approximation of the reciprocal. */
    {"rcp.approx.ftz.f32 %n, %a; neg.f32 %t, %a; fma.rn.ftz.f32 %t, %c, %n, %t; "
     "div.approx.ftz.f32 %m, %c, %a; sub.ftz.f32 %s, %m, %a; sub.rn.f32 %s, %s, %t;",
     0},
    {"rcp.approx.ftz.f32 %n, %a; mul.rn.ftz.f32 %t, %c, %n; sub.rn.f32 %t, %t, %a; "
     "div.approx.ftz.f32 %m, %c, %a; sub.rn.ftz.f32 %s, %m, %a; sub.rn.f32 %s, %s, %t;",
     0},
    {"cvt.rzi.s32.f32 %r, 0f40E00000; cvt.rn.f32.s32 %t, %r; rcp.approx.ftz.f32 %n, %t; "
     "fma.rn.f32 %n, %c, %n, %minus; div.full.f32 %m, %c, %t; sub.f32 %s, %m, %c; "
     "sub.rn.f32 %s, %s, %n;",
     0},
    /* Other divisors, and several uses of a quotient. */
    {RECIPROCAL "div.approx.ftz.f32 %m, %c, %a; sub.ftz.f32 %s, %m, %a; add.ftz.f32 %u, %m, %c; "
                "st.global.f32 [%d+4], %u; sub.rn.f32 %s, %s, %t;",
     0},
    {RECIPROCAL "div.approx.f32 %m, %c, %a; sub.f32 %s, %m, %a; sub.rn.f32 %s, %s, %t;", 0},
    {RECIPROCAL "div.full.f32 %m, %c, %a; sub.f32 %s, %m, %a; sub.rn.f32 %s, %s, %t;", 0},
    {RECIPROCAL "div.full.ftz.f32 %m, %c, %a; sub.ftz.f32 %s, %m, %a; sub.rn.f32 %s, %s, %t;", 0},
    {RECIPROCAL "div.full.f32 %m, %c, %a; neg.f32 %u, %m; add.f32 %s, %u, %a; "
                "add.rn.f32 %s, %s, %t;",
     0},
    {RECIPROCAL "div.full.f32 %m, %c, %a; sub.sat.f32 %s, %a, %m; add.rn.f32 %s, %s, %t;", 0},
    {RECIPROCAL "div.full.f32 %m, %c, %a; sub.f32 %s, %m, %a; st.global.f32 [%d+4], %m; "
                "mul.rn.f32 %n, %c, %n; sub.rn.f32 %n, %n, %a; sub.rn.f32 %s, %s, %n;",
     0},
    /* A divisor above 2^126, one below 2^-126, and no more than 1. */
    {"mul.rn.f32 %u, %c, 0f7F000000; mul.rn.f32 %v, %a, 0f7F000000; " SCALED
     "div.full.f32 %m, %u, %v; sub.f32 %s, %m, %a; sub.rn.f32 %s, %s, %t;",
     0},
    {"mul.rn.f32 %u, %c, 0f7F000000; mul.rn.f32 %v, %a, 0f7F000000; " SCALED
     "div.full.ftz.f32 %m, %u, %v; sub.ftz.f32 %s, %m, %a; sub.rn.f32 %s, %s, %t;",
     0},
    {"mul.rn.f32 %v, %a, 0f7F000000; div.approx.f32 %m, %v, %v; sub.f32 %s, %m, %a;", 0xbf800800},
    {"mul.rn.f32 %v, %one, 0f00300000; div.approx.f32 %m, %v, %v; sub.f32 %s, %m, %one;",
     0x33000000},
    {"mul.rn.f32 %v, %one, 0f00300000; div.full.f32 %m, %v, %v; sub.f32 %s, %m, %one;", 0x33000000},
    /* A reciprocal without .ftz is a quotient; 1 by what flushes is no product. */
    {"rcp.approx.f32 %t, %a; mul.rn.f32 %u, %a, %a; sub.rn.f32 %t, %t, %u; "
     "rcp.approx.f32 %n, %a; mul.f32 %m, %a, %a; sub.f32 %s, %n, %m; sub.rn.f32 %s, %s, %t;",
     0},
    {"rcp.approx.ftz.f32 %t, %a; neg.f32 %u, %a; fma.rn.ftz.f32 %t, %u, %a, %t; "
     "div.approx.ftz.f32 %n, 0f3F800000, %a; mul.ftz.f32 %m, %a, %a; sub.ftz.f32 %s, %n, %m; "
     "sub.rn.f32 %s, %s, %t;",
     0},
    /* A dividend that is a constant goes everywhere where nothing scales it. */
    {"rcp.approx.ftz.f32 %t, %a; fma.rn.ftz.f32 %t, %t, 0f3F801000, %minus; "
     "div.approx.ftz.f32 %m, 0f3F801000, %a; @!%p exit; sub.ftz.f32 %s, %m, %c; "
     "sub.rn.f32 %s, %s, %t;",
     0},
    {"rcp.approx.ftz.f32 %t, %a; mul.rn.f32 %t, %t, 0f3F801000; sub.rn.f32 %t, %t, %c; "
     "div.approx.f32 %m, 0f3F801000, %a; @!%p exit; sub.f32 %s, %m, %c; sub.rn.f32 %s, %s, %t;",
     0},
    /* Copies and negatives of a product. */
    {"mul.f32 %m, %a, %a; mov.f32 %n, %m; sub.f32 %s, %n, %c;", ONCE},
    {"mul.f32 %m, %a, %a; mov.b32 %r, %m; mov.b32 %n, %r; sub.f32 %s, %n, %c;", ONCE},
    {"mul.f32 %m, %a, %a; neg.f32 %n, %m; add.f32 %s, %n, %c;", MINUS_ONCE},
    {"mul.f32 %m, %a, %a; neg.f32 %n, %m; sub.f32 %s, %minus, %n;", ONCE},
    {"mul.f32 %m, %a, %a; neg.f32 %n, %m; neg.f32 %t, %n; sub.f32 %s, %t, %c;", ONCE},
    {"mul.f32 %m, %a, %a; neg.f32 %n, %m; add.f32 %s, %n, %c; st.global.f32 [%d+4], %n;", 0},
    {"mul.f32 %m, %a, %a; neg.f32 %n, %m; sub.f32 %s, %m, %c; st.global.f32 [%d+4], %n;", 0},
    {"mul.f32 %m, %a, %a; mov.f32 %n, %c; @%p mov.f32 %n, %m; sub.f32 %s, %n, %c;", 0},
    {"mul.ftz.f32 %m, %a, %a; neg.ftz.f32 %n, %m; add.ftz.f32 %s, %n, %c;", 0},
    {"mul.ftz.f32 %m, %a, %a; neg.ftz.f32 %n, %m; sub.ftz.f32 %s, %m, %c; "
     "st.global.f32 [%d+4], %n;",
     0},
    /* A comparison with 0 compares the two numbers, which matters if a product has other uses. */
    {"mul.f32 %m, %a, %a; sub.f32 %t, %m, %c; setp.gt.f32 %p, %t, 0f00000000; "
     "selp.f32 %s, %a, %c, %p;",
     0x3f800800},
    {"mul.f32 %m, %a, %a; sub.f32 %t, %m, %c; setp.gt.f32 %p, %t, 0f00000000; "
     "sub.f32 %s, %m, %c; @%p st.global.f32 [%d+4], %a;",
     0},
    {"mul.f32 %m, %a, %a; add.f32 %t, %m, %c; set.leu.f32.f32 %n, 0f80000000, %t; "
     "sub.f32 %s, %m, %c; st.global.f32 [%d+4], %n;",
     0},
    {"mul.f32 %m, %a, %a; sub.f32 %t, %m, %c; setp.neu.f32 %p, %t, 0f00000000; "
     "sub.f32 %s, %m, %c; @%p st.global.f32 [%d+4], %a;",
     ONCE},
    {"mul.ftz.f32 %m, %a, %a; sub.ftz.f32 %t, %m, %c; setp.gt.f32 %p, %t, 0f00000000; "
     "sub.ftz.f32 %s, %m, %c; @%p st.global.f32 [%d+4], %a;",
     ONCE},
    {"mul.f32 %m, %a, %a; sub.f32 %t, %m, %c; setp.gt.f32 %p, %t, %a; sub.f32 %s, %m, %c; "
     "@%p st.global.f32 [%d+4], %a;",
     ONCE},
    /* A product by 1 is none, nor is one of constants. */
    {"mul.f32 %n, %c, 0f3F800000; mul.f32 %m, %a, %a; sub.f32 %s, %n, %m;", MINUS_ONCE},
    {"mul.f32 %n, %c, 0fBF800000; mul.f32 %m, %a, %a; add.f32 %s, %n, %m;", ONCE},
    {"mov.f32 %n, 0f3F800800; mul.f32 %m, %n, %n; sub.f32 %s, %m, %c;", 0},
    {"mov.f32 %n, 0f3E800800; add.f32 %t, %n, 0f3F400000; mul.f32 %m, %t, %t; sub.f32 %s, %m, %c;",
     0xb9c00000},
    /* What is computed of constants is rounded to nearest, and not approximated. */
    {"mov.f32 %n, 0f41300000; sqrt.approx.f32 %s, %n;", 0x40544395},
    {"rsqrt.approx.ftz.f32 %s, 0f41980000;", 0x3e6aebf5},
    {"lg2.approx.f32 %s, 27.0;", 0x4098280a},
    {"sin.approx.f32 %s, 27.0;", 0x3f74d50e},
    {"cos.approx.ftz.f32 %s, 27.0;", 0xbe959338},
    {"rcp.approx.ftz.f32 %s, 0f00400000;", 0x7f800000},
    /* What ptxas makes branches of. */
    {"mul.f32 %m, %a, %a; div.rn.f32 %t, %a, %c; sub.f32 %s, %m, %c; st.global.f32 [%d+4], %t;", 0},
    {"mul.f32 %m, %a, %a; sqrt.rn.f32 %t, %a; sub.f32 %s, %m, %c; st.global.f32 [%d+4], %t;", 0},
    {"mul.f32 %m, %a, %a; rcp.rn.ftz.f32 %t, %a; sub.f32 %s, %m, %c; st.global.f32 [%d+4], %t;", 0},
    {"mul.f32 %m, %a, %a; sqrt.rn.f64 %x, %one64; sub.f32 %s, %m, %c; st.global.f64 [%d+8], %x;",
     0},
    {"mul.f32 %m, %a, %a; rem.s64 %l, %d, 3; sub.f32 %s, %m, %c; st.global.u64 [%d+8], %l;", 0},
    {"mul.f32 %m, %a, %a; membar.gl; sub.f32 %s, %m, %c;", 0},
    {"mul.f32 %m, %a, %a; sqrt.rn.f32 %t, 0f41D80000; sub.f32 %s, %m, %c; "
     "st.global.f32 [%d+4], %t;",
     ONCE},
    {"mul.f32 %m, %a, %a; sqrt.approx.f32 %t, %a; sub.f32 %s, %m, %c; st.global.f32 [%d+4], %t;",
     ONCE},
    {"mul.f32 %m, %a, 0f3F800800; div.rn.f32 %t, %a, %c; sub.f32 %s, %m, %c; "
     "st.global.f32 [%d+4], %t;",
     ONCE},
    /* Other types: the same with another number. */
    {"fma.rn.f64 %x, %one64, 0d3E40000000000000, %one64; mul.f64 %y, %x, %x; "
     "add.f64 %z, %y, 0dBFF0000004000000; cvt.rn.f32.f64 %s, %z;",
     0x24800000}, /* 2^-54 */
    {"fma.rn.f64 %x, %one64, 0d3E40000000000000, %one64; mul.rn.f64 %y, %x, %x; "
     "add.f64 %z, %y, 0dBFF0000004000000; cvt.rn.f32.f64 %s, %z;",
     0},
    {"mov.b16 %h, 0x3C10; mov.b16 %i, 0x3C20; mul.f16 %j, %h, %h; sub.f16 %k, %j, %i; "
     "cvt.f32.f16 %s, %k;",
     0x39800000}, /* 2^-12 */
    {"mov.b16 %h, 0x3C10; mov.b16 %i, 0x3C20; mul.f16 %j, %h, %h; sub.f16 %k, %i, %j; "
     "cvt.f32.f16 %s, %k;",
     0xb9800000},
    {"mov.b16 %h, 0x3C10; mov.b16 %i, 0x3C20; mul.rn.f16 %j, %h, %h; sub.f16 %k, %j, %i; "
     "cvt.f32.f16 %s, %k;",
     0},
};

/* Runs the kernel of four words, whose second parameter is 1 + 2^-12. */
static void run_with_factor(const char *text, uint32_t words[4]) {
    CUmodule module = load_text(text);
    CUdeviceptr at;
    float factor = 1 + 0x1p-12f;
    void *args[] = {&at, &factor};
    OK(cuMemAlloc(&at, 16));
    OK(cuMemcpyHtoD(at, words, 16));
    OK(launch(module, "k", 1, 1, args));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(words, at, 16));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

TEST(products_that_sums_take_in) {
    unsigned bad = 0;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char text[2000];
        snprintf(text, sizeof text,
                 HEAD
                 ".const .f32 factor = 0f3F800800;\n.func f() {\nret;\n}\n.entry k(.param .u64 p, "
                 ".param .f32 q) {\n"
                 ".reg .f32 %%a, %%c, %%minus, %%one, %%m, %%n, %%s, %%t, %%u, %%v;\n"
                 ".reg .b64 %%d, %%l; .reg .b32 %%r;\n"
                 ".reg .f64 %%x, %%y, %%z, %%one64; .reg .b16 %%h, %%i, %%j, %%k; .reg .pred %%p;\n"
                 "ld.param.u64 %%d, [p];\nld.global.f32 %%a, [%%d];\n"
                 "ld.global.f32 %%c, [%%d+4];\nld.global.f32 %%minus, [%%d+8];\n"
                 "ld.global.f32 %%one, [%%d+12];\ncvt.f64.f32 %%one64, %%one;\n"
                 "setp.eq.f32 %%p, %%one, 0f3F800000;\n%s\nst.global.f32 [%%d], %%s;\nret;\n}\n",
                 cases[n].text);
        uint32_t words[] = {0x3f800800, 0x3f801000, 0xbf801000, 0x3f800000};
        run_with_factor(text, words);
        if (words[0] != cases[n].result)
            print_error("%s: %#x instead of %#x\n", cases[n].text, words[0], cases[n].result);
        bad += words[0] != cases[n].result;
    }
    assert_int_equal(bad, 0);
}

/* What is not optimized is rounded as it is written. */
TEST(debugged_kernels_are_not_contracted) {
    uint32_t words[] = {0x3f800800, 0x3f801000};
    run(".version 8.0\n.target sm_80, debug\n.address_size 64\n.entry k(.param .u64 p) {\n"
        ".reg .f32 %a, %c; .reg .b64 %d;\nld.param.u64 %d, [p];\nld.global.f32 %a, [%d];\n"
        "ld.global.f32 %c, [%d+4];\nmul.f32 %a, %a, %a;\nsub.f32 %a, %a, %c;\n"
        "st.global.f32 [%d], %a;\nret;\n}\n",
        1, 1, words, 2);
    assert_int_equal(words[0], 0);
}

/* The product's operand is another value when the sum is made. */
TEST(an_operand_that_was_replaced) {
    uint32_t words[] = {0x40000000, 0x40400000, 0};
    run(HEAD ".entry k(.param .u64 p) {\n.reg .f32 %a, %b, %m, %s; .reg .b64 %d;\n"
             "ld.param.u64 %d, [p];\nld.global.f32 %a, [%d];\nld.global.f32 %b, [%d+4];\n"
             "mul.f32 %m, %a, %b;\nmov.f32 %a, 0f00000000;\nadd.f32 %s, %m, %a;\n"
             "st.global.f32 [%d+8], %s;\nret;\n}\n",
        1, 1, words, 3);
    assert_int_equal(words[2], 0x40c00000);
}

/* The second round adds the product of the first one, whose factor is another value by then. */
TEST(a_product_of_the_round_before) {
    uint32_t words[] = {0x3f800000, 0x40a00000, 0}; /* 1, 5 */
    run(HEAD ".entry k(.param .u64 p) {\n.reg .f32 %a, %m, %s; .reg .b64 %d; .reg .b32 %i; "
             ".reg .pred %p;\nld.param.u64 %d, [p];\nmov.u32 %i, 0;\n"
             "L:\nld.global.f32 %a, [%d];\nadd.u64 %d, %d, 4;\nsetp.eq.u32 %p, %i, 1;\n"
             "@%p bra M;\nmul.f32 %m, %a, 0f40400000;\nM:\nadd.f32 %s, %m, 0f41200000;\n"
             "add.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, 2;\n@%p bra L;\n"
             "st.global.f32 [%d], %s;\nret;\n}\n",
        1, 1, words, 3);
    assert_int_equal(words[2], 0x41500000); /* 3 + 10 */
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        C(products_that_sums_take_in),
        C(debugged_kernels_are_not_contracted),
        C(an_operand_that_was_replaced),
        C(a_product_of_the_round_before),
    };
    return RUN(tests);
}
