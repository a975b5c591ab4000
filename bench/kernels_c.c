/* The kernels: in PTX, in OpenCL, and in plain C. The PTX is what nvcc makes of such a kernel. */
#include "kernels.h"

#include <math.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define THREE                                                                                      \
    HEAD ".visible .entry k(.param .u64 k_0, .param .u64 k_1, .param .u64 k_2) {\n"                \
         ".reg .pred %p<8>; .reg .b32 %r<90>; .reg .f32 %f<90>; .reg .b64 %rd<30>;\n"
#define GLOBAL_INDEX                                                                               \
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"                        \
    "mad.lo.s32 %r4, %r1, %r2, %r3;\n"
#define POINTERS                                                                                   \
    "ld.param.u64 %rd1, [k_0];\nld.param.u64 %rd2, [k_1];\nld.param.u64 %rd3, [k_2];\n"            \
    "cvta.to.global.u64 %rd4, %rd1;\ncvta.to.global.u64 %rd5, %rd2;\ncvta.to.global.u64 %rd6, "    \
    "%rd3;\n"

/* ---- c = a + b ---- */

static const char add_ptx[] =
    THREE POINTERS GLOBAL_INDEX "setp.ge.s32 %p1, %r4, 1048576;\n@%p1 bra $end;\n"
                                "mul.wide.s32 %rd7, %r4, 4;\nadd.s64 %rd8, %rd4, %rd7;\n"
                                "ld.global.f32 %f1, [%rd8];\nadd.s64 %rd9, %rd5, %rd7;\n"
                                "ld.global.f32 %f2, [%rd9];\nadd.f32 %f3, %f1, %f2;\n"
                                "add.s64 %rd10, %rd6, %rd7;\nst.global.f32 [%rd10], %f3;\n"
                                "$end:\nret;\n}\n";
static const char add_cl[] = "kernel void k(global const float *a, global const float *b, global "
                             "float *c) { int i = get_global_id(0); c[i] = a[i] + b[i]; }";

static void add_in_c(const float *a, const float *b, float *c) {
    for (size_t i = 0; i < VECTOR; i++)
        c[i] = a[i] + b[i];
}

static double count_add(void) {
    return 21.0 * (double)VECTOR;
}

/* ---- c = 2.5 * a + c, in a loop over strides ---- */

static const char saxpy_ptx[] =
    THREE POINTERS GLOBAL_INDEX "mov.u32 %r5, %nctaid.x;\nmul.lo.s32 %r6, %r5, %r2;\n"
                                "$loop:\nmul.wide.s32 %rd7, %r4, 4;\nadd.s64 %rd8, %rd4, %rd7;\n"
                                "add.s64 %rd10, %rd6, %rd7;\nld.global.f32 %f1, [%rd8];\n"
                                "ld.global.f32 %f2, [%rd10];\nfma.rn.f32 %f3, %f1, 0f40200000, "
                                "%f2;\nst.global.f32 [%rd10], %f3;\nadd.s32 %r4, %r4, %r6;\n"
                                "setp.lt.s32 %p1, %r4, 1048576;\n@%p1 bra $loop;\nret;\n}\n";
static const char saxpy_cl[] =
    "kernel void k(global const float *a, global const float *b, global float *c) {"
    "for (int i = get_global_id(0); i < 1048576; i += get_global_size(0)) c[i] = fma(a[i], 2.5f, "
    "c[i]); }";

static void saxpy_in_c(const float *a, const float *b, float *c) {
    (void)b;
    for (size_t i = 0; i < VECTOR; i++)
        c[i] = fmaf(a[i], 2.5f, c[i]);
}

static double count_saxpy(void) {
    return 13.0 * (double)STRIDE + 10.0 * (double)VECTOR;
}

/* ---- threads that leave a loop at different times ---- */

static const char mandel_ptx[] = THREE POINTERS GLOBAL_INDEX
    "and.b32 %r5, %r4, 511;\nshr.u32 %r6, %r4, 9;\ncvt.rn.f32.s32 %f1, %r5;\n"
    "cvt.rn.f32.s32 %f2, %r6;\nfma.rn.f32 %f3, %f1, 0f3BC00000, 0fC0000000;\n"
    "fma.rn.f32 %f4, %f2, 0f3BC00000, 0fBFC00000;\nmov.f32 %f5, 0f00000000;\n"
    "mov.f32 %f6, 0f00000000;\nmov.u32 %r7, 0;\n"
    "$loop:\nmul.rn.f32 %f7, %f5, %f5;\nmul.rn.f32 %f8, %f6, %f6;\nadd.rn.f32 %f9, %f7, %f8;\n"
    "setp.gt.f32 %p1, %f9, 0f40800000;\n@%p1 bra $end;\nsub.rn.f32 %f10, %f7, %f8;\n"
    "add.rn.f32 %f11, %f5, %f5;\nfma.rn.f32 %f6, %f11, %f6, %f4;\nadd.rn.f32 %f5, %f10, %f3;\n"
    "add.s32 %r7, %r7, 1;\nsetp.lt.s32 %p2, %r7, 256;\n@%p2 bra $loop;\n"
    "$end:\nmul.wide.s32 %rd7, %r4, 4;\nadd.s64 %rd10, %rd6, %rd7;\nst.global.u32 [%rd10], "
    "%r7;\nret;\n}\n";
static const char mandel_cl[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "kernel void k(global const float *a, global const float *b, global int *c) {"
    "int i = get_global_id(0), n = 0; float u = fma((float)(i & 511), 0x1.8p-8f, -2.0f),"
    "v = fma((float)(i >> 9), 0x1.8p-8f, -1.5f), x = 0, y = 0;"
    "do { float xx = x * x, yy = y * y; if (xx + yy > 4) break; float d = xx - yy, t = x + x;"
    "y = fma(t, y, v); x = d + u; } while (++n < 256); c[i] = n; }";

static int escape(size_t i) {
    const float u = fmaf((float)(i % SIDE), 0x1.8p-8f, -2.0f),
                v = fmaf((float)(uint32_t)(i / SIDE), 0x1.8p-8f, -1.5f);
    float x = 0, y = 0;
    int n = 0;
    do {
        const float xx = x * x, yy = y * y;
        if (xx + yy > 4)
            break;
        const float t = x + x;
        x = xx - yy + u;
        y = fmaf(t, y, v);
    } while (++n < ESCAPE);
    return n;
}

static void mandel_in_c(const float *a, const float *b, float *c) {
    (void)a, (void)b;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        ((int *)(void *)c)[i] = escape(i);
}

static double count_mandel(void) {
    double count = 23.0 * (double)(SIDE * SIDE);
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        const int n = escape(i);
        count += n * 12.0 + (n < ESCAPE ? 5 : 0);
    }
    return count;
}

/* ---- threads that take different branches ---- */

static const char collatz_ptx[] = THREE POINTERS GLOBAL_INDEX
    "add.s32 %r5, %r4, 1;\nmov.u32 %r7, 0;\nsetp.eq.s32 %p1, %r5, 1;\n@%p1 bra $end;\n"
    "$loop:\nand.b32 %r6, %r5, 1;\nsetp.eq.b32 %p2, %r6, 1;\n@%p2 bra $odd;\n"
    "shr.u32 %r5, %r5, 1;\nbra.uni $next;\n$odd:\nmad.lo.s32 %r5, %r5, 3, 1;\n"
    "$next:\nadd.s32 %r7, %r7, 1;\nsetp.ne.s32 %p3, %r5, 1;\n@%p3 bra $loop;\n"
    "$end:\nmul.wide.s32 %rd7, %r4, 4;\nadd.s64 %rd10, %rd6, %rd7;\nst.global.u32 [%rd10], "
    "%r7;\nret;\n}\n";
static const char collatz_cl[] =
    "kernel void k(global const float *a, global const float *b, global int *c) {"
    "int i = get_global_id(0), n = 0; uint x = i + 1;"
    "while (x != 1) { if (x % 2) x = 3 * x + 1; else x >>= 1; n++; } c[i] = n; }";

static int collatz(uint32_t x, double *odd) {
    int n = 0;
    for (; x != 1; n++) {
        if (x % 2) {
            x = 3 * x + 1;
            *odd += 1;
        } else {
            x /= 2;
        }
    }
    return n;
}

static void collatz_in_c(const float *a, const float *b, float *c) {
    (void)a, (void)b;
    double odd = 0;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        ((int *)(void *)c)[i] = collatz((uint32_t)i + 1, &odd);
}

static double count_collatz(void) {
    double count = 18.0 * (double)(SIDE * SIDE), odd = 0;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        count += collatz((uint32_t)i + 1, &odd) * 8.0;
    return count - odd;
}

/* ---- c = a b, of matrices, in tiles ---- */

#define STEP(a, b)                                                                                 \
    "ld.shared.f32 %f11, [%r20+" a "];\nld.shared.f32 %f12, [%r21+" b                              \
    "];\nfma.rn.f32 %f10, %f12, %f11, %f10;\n"
static const char matmul_ptx[] = THREE
    ".shared .align 4 .b8 s[1024];\n.shared .align 4 .b8 t[1024];\n" POINTERS
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %tid.x;\nmov.u32 %r4, "
    "%tid.y;\nshl.b32 %r5, %r1, 4;\nadd.s32 %r6, %r5, %r3;\nshl.b32 %r7, %r2, 4;\n"
    "add.s32 %r8, %r7, %r4;\nmad.lo.s32 %r9, %r8, 320, %r3;\nmad.lo.s32 %r10, %r4, 640, "
    "%r6;\nshl.b32 %r11, %r4, 6;\nshl.b32 %r12, %r3, 2;\nmov.u32 %r13, s;\nmov.u32 %r14, t;\n"
    "add.s32 %r20, %r13, %r11;\nadd.s32 %r22, %r20, %r12;\nadd.s32 %r21, %r14, %r12;\n"
    "add.s32 %r23, %r21, %r11;\nmov.f32 %f10, 0f00000000;\nmov.u32 %r15, 0;\n"
    "$loop:\nmul.wide.s32 %rd7, %r9, 4;\nadd.s64 %rd8, %rd4, %rd7;\nld.global.f32 %f1, "
    "[%rd8];\nst.shared.f32 [%r22], %f1;\nmul.wide.s32 %rd9, %r10, 4;\nadd.s64 %rd10, %rd5, "
    "%rd9;\nld.global.f32 %f2, [%rd10];\nst.shared.f32 [%r23], %f2;\nbar.sync 0;\n" STEP("0", "0")
        STEP("4", "64") STEP("8", "128") STEP("12", "192") STEP("16", "256") STEP("20", "320")
            STEP("24", "384") STEP("28", "448") STEP("32", "512") STEP("36", "576")
                STEP("40", "640") STEP("44", "704") STEP("48", "768") STEP("52", "832")
                    STEP("56", "896") STEP("60", "960") //
    "bar.sync 0;\nadd.s32 %r9, %r9, 16;\nadd.s32 %r10, %r10, 10240;\nadd.s32 %r15, %r15, "
    "1;\nsetp.ne.s32 %p1, %r15, 20;\n@%p1 bra $loop;\n"
    "mad.lo.s32 %r16, %r8, 640, %r6;\nmul.wide.s32 %rd11, %r16, 4;\nadd.s64 %rd12, %rd6, "
    "%rd11;\nst.global.f32 [%rd12], %f10;\nret;\n}\n";
static const char matmul_cl[] =
    "kernel __attribute__((reqd_work_group_size(16, 16, 1)))\n"
    "void k(global const float *a, global const float *b, global float *c) {"
    "local float s[16][16], t[16][16]; int x = get_local_id(0), y = get_local_id(1),"
    "column = get_global_id(0), row = get_global_id(1); float sum = 0;"
    "for (int i = 0; i < 320; i += 16) {"
    "s[y][x] = a[row * 320 + i + x]; t[y][x] = b[(i + y) * 640 + column];"
    "barrier(CLK_LOCAL_MEM_FENCE);"
    "for (int n = 0; n < 16; n++) sum = fma(t[n][x], s[y][n], sum);"
    "barrier(CLK_LOCAL_MEM_FENCE); } c[row * 640 + column] = sum; }";

static void matmul_in_c(const float *a, const float *b, float *c) {
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < COLUMNS; column++) {
            float sum = 0;
            for (size_t i = 0; i < INNER; i++)
                sum = fmaf(b[i * COLUMNS + column], a[row * INNER + i], sum);
            c[row * COLUMNS + column] = sum;
        }
}

static double count_matmul(void) {
    return (double)(ROWS * COLUMNS) * (31 + 20.0 * (9 + 16 * 3 + 6));
}

/* ---- c[0] += the sum of a ---- */

#define SHUFFLE(by)                                                                                \
    "mov.b32 %r20, %f1;\nshfl.sync.down.b32 %r21|%p2, %r20, " by                                   \
    ", 31, -1;\nmov.b32 %f2, %r21;\nadd.f32 %f1, %f1, %f2;\n"
static const char reduce_ptx[] = THREE
    ".shared .align 4 .b8 s[32];\n" POINTERS
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r3, %tid.x;\nshl.b32 %r5, %r1, 10;\nadd.s32 %r4, %r5, %r3;\n"
    "mul.wide.s32 %rd7, %r4, 4;\nadd.s64 %rd8, %rd4, %rd7;\nld.global.f32 %f1, [%rd8];\n"
    "ld.global.f32 %f3, [%rd8+1024];\nadd.f32 %f1, %f1, %f3;\nld.global.f32 %f3, [%rd8+2048];\n"
    "add.f32 %f1, %f1, %f3;\nld.global.f32 %f3, [%rd8+3072];\nadd.f32 %f1, %f1, %f3;\n" //
    SHUFFLE("16") SHUFFLE("8") SHUFFLE("4") SHUFFLE("2") SHUFFLE("1")                   //
    "and.b32 %r6, %r3, 31;\nsetp.ne.s32 %p1, %r6, 0;\n@%p1 bra $on;\nshr.u32 %r7, %r3, 5;\n"
    "shl.b32 %r8, %r7, 2;\nmov.u32 %r9, s;\nadd.s32 %r10, %r9, %r8;\nst.shared.f32 [%r10], %f1;\n"
    "$on:\nbar.sync 0;\nsetp.gt.u32 %p3, %r3, 31;\n@%p3 bra $end;\nmov.f32 %f1, 0f00000000;\n"
    "setp.gt.u32 %p4, %r3, 7;\n@%p4 bra $sum;\nshl.b32 %r11, %r3, 2;\nmov.u32 %r12, s;\n"
    "add.s32 %r13, %r12, %r11;\nld.shared.f32 %f1, [%r13];\n$sum:\n" //
    SHUFFLE("4") SHUFFLE("2") SHUFFLE("1")                           //
    "setp.ne.s32 %p5, %r3, 0;\n@%p5 bra $end;\nred.global.add.f32 [%rd6], %f1;\n$end:\nret;\n}\n";
static const char reduce_cl[] =
    "kernel __attribute__((reqd_work_group_size(256, 1, 1)))\n"
    "void k(global const float *a, global const float *b, global volatile uint *c) {"
    "local float s[256]; int t = get_local_id(0); global const float *p = a + get_group_id(0) * "
    "1024 + t; s[t] = p[0] + p[256] + p[512] + p[768];"
    "for (int n = 128; n; n >>= 1) { barrier(CLK_LOCAL_MEM_FENCE);"
    "if (t < n) s[t] += s[t + n]; }"
    "if (t == 0) { uint old, seen = *c; do { old = seen;"
    "seen = atomic_cmpxchg(c, old, as_uint(as_float(old) + s[0])); } while (seen != old); } }";

static void reduce_in_c(const float *a, const float *b, float *c) {
    float sums[16] = {0};
    (void)b;
    for (size_t i = 0; i < VECTOR; i += 16)
        for (size_t n = 0; n < 16; n++)
            sums[n] += a[i + n];
    for (size_t n = 0; n < 16; n++)
        c[0] += sums[n];
}

static double count_reduce(void) {
    return (double)VECTOR / 1024 *
           (256.0 * (19 + 20 + 3 + 3 + 1) + 8 * 5 + 32.0 * (3 + 12 + 2) + 8 * 4 + 1);
}

/* ---- samples of an image, between texels ---- */

static const char texture_ptx[] =
    THREE "ld.param.u64 %rd1, [k_0];\nld.param.u64 %rd3, [k_2];\ncvta.to.global.u64 %rd6, %rd3;\n"
          "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %tid.x;\nmov.u32 %r4, "
          "%tid.y;\nshl.b32 %r5, %r1, 4;\nadd.s32 %r6, %r5, %r3;\nshl.b32 %r7, %r2, 4;\n"
          "add.s32 %r8, %r7, %r4;\ncvt.rn.f32.s32 %f1, %r6;\ncvt.rn.f32.s32 %f2, %r8;\n"
          "add.f32 %f1, %f1, 0f3F400000;\nadd.f32 %f2, %f2, 0f3F400000;\n"
          "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];\n"
          "shl.b32 %r9, %r8, 9;\nadd.s32 %r10, %r9, %r6;\nmul.wide.s32 %rd7, %r10, 4;\n"
          "add.s64 %rd8, %rd6, %rd7;\nst.global.f32 [%rd8], %f3;\nret;\n}\n";
static const char texture_cl[] =
    "const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | "
    "CLK_FILTER_LINEAR;"
    "kernel void k(read_only image2d_t a, global const float *b, global float *c) {"
    "int x = get_global_id(0), y = get_global_id(1);"
    "c[y * 512 + x] = read_imagef(a, s, (float2)(x + 0.75f, y + 0.75f)).x; }";

static void texture_in_c(const float *a, const float *b, float *c) {
    (void)b;
    for (size_t y = 0; y < SIDE; y++)
        for (size_t x = 0; x < SIDE; x++) {
            const size_t right = x + 1 < SIDE ? x + 1 : x, below = y + 1 < SIDE ? y + 1 : y;
            const float upper = a[y * SIDE + x] * 0.75f + a[y * SIDE + right] * 0.25f,
                        lower = a[below * SIDE + x] * 0.75f + a[below * SIDE + right] * 0.25f;
            c[y * SIDE + x] = upper * 0.75f + lower * 0.25f;
        }
}

static double count_texture(void) {
    return 22.0 * (double)(SIDE * SIDE);
}

const work works[] = {
    {"vector addition",
     VECTOR,
     VECTOR,
     VECTOR,
     {VECTOR / 256, 1},
     {256, 1},
     add_ptx,
     add_cl,
     add_in_c,
     count_add,
     false,
     true},
    {"saxpy in a loop",
     VECTOR,
     0,
     VECTOR,
     {STRIDE / 256, 1},
     {256, 1},
     saxpy_ptx,
     saxpy_cl,
     saxpy_in_c,
     count_saxpy,
     false,
     true},
    {"loop that lanes leave (Mandelbrot)",
     0,
     0,
     SIDE * SIDE,
     {SIDE * SIDE / 256, 1},
     {256, 1},
     mandel_ptx,
     mandel_cl,
     mandel_in_c,
     count_mandel,
     false,
     true},
    {"branches that differ (Collatz)",
     0,
     0,
     SIDE * SIDE,
     {SIDE * SIDE / 256, 1},
     {256, 1},
     collatz_ptx,
     collatz_cl,
     collatz_in_c,
     count_collatz,
     false,
     true},
    {"matrices in tiles",
     ROWS * INNER,
     INNER * COLUMNS,
     ROWS * COLUMNS,
     {COLUMNS / TILE, ROWS / TILE},
     {TILE, TILE},
     matmul_ptx,
     matmul_cl,
     matmul_in_c,
     count_matmul,
     false,
     true},
    {"sum",
     VECTOR,
     0,
     1,
     {VECTOR / 1024, 1},
     {256, 1},
     reduce_ptx,
     reduce_cl,
     reduce_in_c,
     count_reduce,
     false,
     false},
    {"texture, linear",
     SIDE * SIDE,
     0,
     SIDE * SIDE,
     {SIDE / 16, SIDE / 16},
     {16, 16},
     texture_ptx,
     texture_cl,
     texture_in_c,
     count_texture,
     true,
     false},
};
const size_t work_count = sizeof works / sizeof *works;
