/*
 * What instructions give for all operands (README.md):
 *   sweeps LIBRARY ANSWERS         compares some blocks of inputs with a GPU's answers
 *   sweeps LIBRARY ANSWERS all     compares all of them, which takes some minutes
 *   sweeps LIBRARY                 prints the answers
 *   sweeps LIBRARY values NAME N   prints all inputs of block N, and what they give
 * On a GPU the library is libcuda.so.1. A block is 65,536 inputs of 32 bits, whose results make a
 * number; all numbers make another one.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of approximations one block in 257 is compared, of what is exact one in 8,193. */
enum { BLOCKS = 65536, INPUTS = 65536, OFTEN = 257, SELDOM = 8193, THREADS = 256 };

/* Instructions that make %out of %in, and %upper, too, of 64 bits; `name` is in the place of @. */
typedef struct form {
    const char *name, *text;
    unsigned blocks, step; /* of which each such block is compared */
} form;

#define FLOAT "mov.b32 %f1, %in; @ %f2, %f1; mov.b32 %out, %f2;"
#define PAIR  "@ %out, %in;"
#define SHORT "cvt.u16.u32 %h1, %in; @ %h2, %h1; cvt.u32.u16 %out, %h2;"
#define QUOTIENT                                                                                   \
    "mul.lo.u32 %r1, %in, 2654435761; shr.u32 %r2, %r1, 15; xor.b32 %r1, %r1, %r2; "               \
    "mul.lo.u32 %r1, %r1, 2246822519; mov.b32 %f1, %in; mov.b32 %f2, %r1; @ %f3, %f1, %f2; "       \
    "mov.b32 %out, %f3;"

static const char wide_text[] = "mul.lo.u32 %r1, %in, 2654435761; mov.b64 %d1, {%r1, %in}; "
                                "@ %d2, %d1; mov.b64 {%out, %upper}, %d2;";

/* What is exact: halves are the two of %in; a third operand is near the negative product, and then
 * any. */
#define HALVES "mov.b32 {%h2, %h1}, %in; @ %h3, %h1, %h2; cvt.u32.u16 %out, %h3;"
#define NEAR(type)                                                                                 \
    "mul.rn." type " %h3, %h1, %h2; neg." type " %h3, %h3; and.b16 %h4, %h2, 7; "                  \
    "sub.s16 %h4, %h4, 3; add.s16 %h3, %h3, %h4; "
#define ANY "mul.lo.u32 %r1, %in, 2654435761; shr.u32 %r1, %r1, 16; cvt.u16.u32 %h4, %r1; "
#define THREE(type)                                                                                \
    "mov.b32 {%h2, %h1}, %in; " NEAR(type) "@ %h5, %h1, %h2, %h3; " ANY                            \
                                           "@ %h6, %h1, %h2, %h4; mov.b32 %out, {%h5, %h6};"
#define THREE_PAIRS                                                                                \
    "mul.lo.u32 %r1, %in, 2654435761; xor.b32 %r2, %r1, 0x80008001; @ %out, %in, %r1, %r2;"
#define COMPARED "mov.b32 {%h2, %h1}, %in; @ %p4, %h1, %h2; selp.u32 %out, 1, 0, %p4;"
#define TO_HALF  "mov.b32 %f1, %in; @ %h1, %f1; cvt.u32.u16 %out, %h1;"
#define TO_WORD  "mov.b32 %f1, %in; @ %out, %f1;"
#define TO_LONG  "mov.b32 %f1, %in; @ %q13, %f1; mov.b64 {%out, %upper}, %q13;"
#define TO_BYTES                                                                                   \
    "mov.b32 %f1, %in; mul.f32 %f2, %f1, 0fbf9d70a4; @ %h1, %f1, %f2; cvt.u32.u16 %out, %h1;"
#define OF_WORD    "@ %f1, %in; mov.b32 %out, %f1;"
#define OF_WORD_16 "@ %h1, %in; cvt.u32.u16 %out, %h1;"

#define EXACT(name, text) {name, text, BLOCKS, SELDOM}
#define ROUNDED(first, last, text)                                                                 \
    EXACT(first ".rn" last, text), EXACT(first ".rz" last, text), EXACT(first ".rm" last, text),   \
        EXACT(first ".rp" last, text)
#define TO_INTEGER(last, text)                                                                     \
    EXACT("cvt.rni" last, text), EXACT("cvt.rzi" last, text), EXACT("cvt.rmi" last, text),         \
        EXACT("cvt.rpi" last, text)
#define NARROWED(last, text)                                                                       \
    EXACT("cvt.rn" last, text), EXACT("cvt.rz" last, text), EXACT("cvt.rn.relu" last, text),       \
        EXACT("cvt.rz.relu" last, text)
#define COMPARISONS(last)                                                                          \
    EXACT("setp.eq" last, COMPARED), EXACT("setp.ne" last, COMPARED),                              \
        EXACT("setp.lt" last, COMPARED), EXACT("setp.le" last, COMPARED),                          \
        EXACT("setp.gt" last, COMPARED), EXACT("setp.ge" last, COMPARED),                          \
        EXACT("setp.equ" last, COMPARED), EXACT("setp.neu" last, COMPARED),                        \
        EXACT("setp.ltu" last, COMPARED), EXACT("setp.leu" last, COMPARED),                        \
        EXACT("setp.gtu" last, COMPARED), EXACT("setp.geu" last, COMPARED),                        \
        EXACT("setp.num" last, COMPARED), EXACT("setp.nan" last, COMPARED)

static const form forms[] = {
    {"rcp.approx.f32", FLOAT, BLOCKS, OFTEN},
    {"rcp.approx.ftz.f32", FLOAT, BLOCKS, OFTEN},
    {"rsqrt.approx.f32", FLOAT, BLOCKS, OFTEN},
    {"rsqrt.approx.ftz.f32", FLOAT, BLOCKS, OFTEN},
    {"sqrt.approx.f32", FLOAT, BLOCKS, OFTEN},
    {"sqrt.approx.ftz.f32", FLOAT, BLOCKS, OFTEN},
    {"ex2.approx.f32", FLOAT, BLOCKS, OFTEN},
    {"ex2.approx.ftz.f32", FLOAT, BLOCKS, OFTEN},
    {"lg2.approx.f32", FLOAT, BLOCKS, OFTEN},
    {"lg2.approx.ftz.f32", FLOAT, BLOCKS, OFTEN},
    {"sin.approx.f32", FLOAT, BLOCKS, OFTEN},
    {"sin.approx.ftz.f32", FLOAT, BLOCKS, OFTEN},
    {"cos.approx.f32", FLOAT, BLOCKS, OFTEN},
    {"cos.approx.ftz.f32", FLOAT, BLOCKS, OFTEN},
    {"tanh.approx.f32", FLOAT, BLOCKS, OFTEN},
    {"div.approx.f32", QUOTIENT, BLOCKS, OFTEN},
    {"div.approx.ftz.f32", QUOTIENT, BLOCKS, OFTEN},
    {"div.full.f32", QUOTIENT, BLOCKS, OFTEN},
    {"div.full.ftz.f32", QUOTIENT, BLOCKS, OFTEN},
    {"rcp.approx.ftz.f64", wide_text, BLOCKS, OFTEN},
    {"rsqrt.approx.ftz.f64", wide_text, BLOCKS, OFTEN},
    {"rsqrt.approx.f64", wide_text, BLOCKS, OFTEN},
    {"tanh.approx.f16", SHORT, 1, OFTEN},
    {"tanh.approx.bf16", SHORT, 1, OFTEN},
    {"ex2.approx.f16", SHORT, 1, OFTEN},
    {"ex2.approx.ftz.bf16", SHORT, 1, OFTEN},
    {"tanh.approx.f16x2", PAIR, BLOCKS, OFTEN},
    {"tanh.approx.bf16x2", PAIR, BLOCKS, OFTEN},
    {"ex2.approx.f16x2", PAIR, BLOCKS, OFTEN},
    {"ex2.approx.ftz.bf16x2", PAIR, BLOCKS, OFTEN},
    EXACT("add.rn.f16", HALVES),
    EXACT("add.rn.ftz.f16", HALVES),
    EXACT("add.rn.sat.f16", HALVES),
    EXACT("add.rn.ftz.sat.f16", HALVES),
    EXACT("sub.rn.f16", HALVES),
    EXACT("sub.rn.ftz.f16", HALVES),
    EXACT("sub.ftz.sat.f16", HALVES),
    EXACT("mul.rn.f16", HALVES),
    EXACT("mul.rn.ftz.f16", HALVES),
    EXACT("mul.rn.sat.f16", HALVES),
    EXACT("mul.rn.ftz.sat.f16", HALVES),
    EXACT("min.f16", HALVES),
    EXACT("min.ftz.f16", HALVES),
    EXACT("min.NaN.f16", HALVES),
    EXACT("min.ftz.NaN.xorsign.abs.f16", HALVES),
    EXACT("max.f16", HALVES),
    EXACT("max.NaN.f16", HALVES),
    EXACT("max.xorsign.abs.f16", HALVES),
    EXACT("max.ftz.xorsign.abs.f16", HALVES),
    EXACT("add.rn.bf16", HALVES),
    EXACT("sub.rn.bf16", HALVES),
    EXACT("mul.rn.bf16", HALVES),
    EXACT("min.bf16", HALVES),
    EXACT("min.NaN.bf16", HALVES),
    EXACT("max.bf16", HALVES),
    EXACT("max.NaN.xorsign.abs.bf16", HALVES),
    EXACT("fma.rn.f16", THREE("f16")),
    EXACT("fma.rn.ftz.f16", THREE("f16")),
    EXACT("fma.rn.sat.f16", THREE("f16")),
    EXACT("fma.rn.ftz.sat.f16", THREE("f16")),
    EXACT("fma.rn.relu.f16", THREE("f16")),
    EXACT("fma.rn.ftz.relu.f16", THREE("f16")),
    EXACT("fma.rn.bf16", THREE("bf16")),
    EXACT("fma.rn.relu.bf16", THREE("bf16")),
    EXACT("fma.rn.f16x2", THREE_PAIRS),
    EXACT("fma.rn.bf16x2", THREE_PAIRS),
    COMPARISONS(".f16"),
    COMPARISONS(".bf16"),
    NARROWED(".f16.f32", TO_HALF),
    NARROWED(".satfinite.f16.f32", TO_HALF),
    NARROWED(".bf16.f32", TO_HALF),
    NARROWED(".satfinite.bf16.f32", TO_HALF),
    EXACT("cvt.rna.tf32.f32", TO_WORD),
    EXACT("cvt.rna.satfinite.tf32.f32", TO_WORD),
    NARROWED(".tf32.f32", TO_WORD),
    EXACT("cvt.rn.satfinite.e4m3x2.f32", TO_BYTES),
    EXACT("cvt.rn.satfinite.e4m3x2.f16x2", OF_WORD_16),
    EXACT("cvt.rn.satfinite.relu.e4m3x2.f32", TO_BYTES),
    EXACT("cvt.rn.satfinite.relu.e4m3x2.f16x2", OF_WORD_16),
    EXACT("cvt.rn.satfinite.e5m2x2.f32", TO_BYTES),
    EXACT("cvt.rn.satfinite.e5m2x2.f16x2", OF_WORD_16),
    EXACT("cvt.rn.satfinite.relu.e5m2x2.f32", TO_BYTES),
    EXACT("cvt.rn.satfinite.relu.e5m2x2.f16x2", OF_WORD_16),
    TO_INTEGER(".u8.f32", TO_WORD),
    TO_INTEGER(".s8.f32", TO_WORD),
    TO_INTEGER(".u16.f32", TO_WORD),
    TO_INTEGER(".s16.f32", TO_WORD),
    TO_INTEGER(".u32.f32", TO_WORD),
    TO_INTEGER(".s32.f32", TO_WORD),
    TO_INTEGER(".s64.f32", TO_LONG),
    TO_INTEGER(".u64.f32", TO_LONG),
    TO_INTEGER(".ftz.f32.f32", FLOAT),
    TO_INTEGER(".sat.f32.f32", FLOAT),
    ROUNDED("sqrt", ".f32", FLOAT),
    ROUNDED("sqrt", ".ftz.f32", FLOAT),
    ROUNDED("rcp", ".f32", FLOAT),
    ROUNDED("rcp", ".ftz.f32", FLOAT),
    ROUNDED("cvt", ".f32.s32", OF_WORD),
    ROUNDED("cvt", ".f32.u32", OF_WORD),
    ROUNDED("cvt", ".f16.s32", OF_WORD_16),
    ROUNDED("cvt", ".f16.u32", OF_WORD_16),
};
enum { FORMS = sizeof forms / sizeof *forms };

/* A kernel's blocks make the numbers of the blocks of inputs first, first + step, ...: each thread
 * that of 256 inputs, the first thread one of these. Where `values` is not 0 results are stored. */
static const char before[] =
    ".version 8.6\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 numbers, .param .u64 values, .param .u32 first, "
    ".param .u32 step)\n{\n"
    ".reg .b16 %h<8>; .reg .b32 %r<20>, %in, %out, %upper; .reg .b64 %q<20>; .reg .f32 %f<4>;\n"
    ".reg .f64 %d<4>; .reg .pred %p<8>; .shared .align 8 .b64 parts[256];\n"
    "ld.param.u64 %q10, [numbers]; ld.param.u64 %q11, [values];\n"
    "ld.param.u32 %r10, [first]; ld.param.u32 %r11, [step];\n"
    "mov.u32 %r12, %ctaid.x; mov.u32 %r13, %tid.x; mad.lo.u32 %r14, %r12, %r11, %r10;\n"
    "shl.b32 %r14, %r14, 16; shl.b32 %r15, %r13, 8; add.u32 %r14, %r14, %r15;\n"
    "mov.u32 %r16, 0; mov.u64 %q1, 0xcbf29ce484222325; mov.u64 %q2, 0x100000001b3;\n"
    "setp.ne.u64 %p1, %q11, 0; mul.wide.u32 %q12, %r13, 2048; add.u64 %q12, %q12, %q11;\n"
    "INPUT: add.u32 %in, %r14, %r16; mov.u32 %upper, 0;\n";
static const char number_upper[] =
    "cvt.u64.u32 %q3, %upper; xor.b64 %q1, %q1, %q3; mul.lo.u64 %q1, %q1, %q2;\n";
static const char number[] =
    "cvt.u64.u32 %q3, %out; xor.b64 %q1, %q1, %q3; mul.lo.u64 %q1, %q1, %q2;\n";
static const char after[] =
    "@%p1 st.global.v2.b32 [%q12], {%out, %upper}; add.u64 %q12, %q12, 8;\n"
    "add.u32 %r16, %r16, 1; setp.lt.u32 %p2, %r16, 256; @%p2 bra INPUT;\n"
    "mov.u64 %q4, parts; mul.wide.u32 %q5, %r13, 8; add.u64 %q5, %q5, %q4;\n"
    "st.shared.u64 [%q5], %q1; bar.sync 0; setp.ne.u32 %p3, %r13, 0; @%p3 exit;\n"
    "mov.u64 %q1, 0xcbf29ce484222325; mov.u32 %r16, 0;\n"
    "PART: ld.shared.u64 %q6, [%q5]; add.u64 %q5, %q5, 8;\n"
    "xor.b64 %q1, %q1, %q6; mul.lo.u64 %q1, %q1, %q2; shr.u64 %q6, %q1, 32;\n"
    "xor.b64 %q1, %q1, %q6; add.u32 %r16, %r16, 1; setp.lt.u32 %p2, %r16, 256; @%p2 bra PART;\n"
    "shr.u64 %q6, %q1, 32; xor.b64 %q1, %q1, %q6; cvt.u32.u64 %r17, %q1;\n"
    "mul.wide.u32 %q7, %r12, 4; add.u64 %q7, %q7, %q10; st.global.u32 [%q7], %r17; ret;\n}\n";

/* ---- the device ---- */

typedef uint64_t address;

static void *library;
static struct {
    int (*alloc)(address *, size_t), (*to_host)(void *, address, size_t);
    int (*load)(void **, const void *), (*unload)(void *), (*find)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
} driver;

static void *call(const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "the library has no %s\n", name);
        exit(1);
    }
    return found;
}

static void check(int code, const char *what) {
    if (!code)
        return;
    fprintf(stderr, "%s: %d\n", what, code);
    exit(1);
}

static void device_open(const char *name) {
    void *context, *found;
    int device;
    library = dlopen(name, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&driver.alloc = call("cuMemAlloc_v2");
    *(void **)&driver.to_host = call("cuMemcpyDtoH_v2");
    *(void **)&driver.load = call("cuModuleLoadData");
    *(void **)&driver.unload = call("cuModuleUnload");
    *(void **)&driver.find = call("cuModuleGetFunction");
    *(void **)&driver.launch = call("cuLaunchKernel");
    found = call("cuInit");
    check((*(int (**)(unsigned))&found)(0), "cuInit");
    found = call("cuDeviceGet");
    check((*(int (**)(int *, int))&found)(&device, 0), "cuDeviceGet");
    found = call("cuDevicePrimaryCtxRetain");
    check((*(int (**)(void **, int))&found)(&context, device), "cuDevicePrimaryCtxRetain");
    found = call("cuCtxSetCurrent");
    check((*(int (**)(void *))&found)(context), "cuCtxSetCurrent");
}

/* Writes the text of a form's kernel. */
static void write_kernel(const form *f, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s", before);
    for (const char *at = f->text; *at; at++)
        used += (size_t)snprintf(text + used, size - used, "%.*s", *at == '@' ? 64 : 1,
                                 *at == '@' ? f->name : at);
    snprintf(text + used, size - used, "\n%s%s%s", number,
             strstr(f->text, "%upper") ? number_upper : "", after);
}

/* Makes numbers of so many blocks of inputs, and stores the results of the first one. */
static void run(const form *f, unsigned first, unsigned step, unsigned blocks, uint32_t *numbers,
                uint32_t *values) {
    static address memory, stored;
    void *module, *function;
    char text[4096];
    if (!memory) {
        check(driver.alloc(&memory, BLOCKS * sizeof *numbers), "cuMemAlloc");
        check(driver.alloc(&stored, INPUTS * 2 * sizeof *values), "cuMemAlloc");
    }
    write_kernel(f, text, sizeof text);
    check(driver.load(&module, text), f->name);
    check(driver.find(&function, module, "k"), "cuModuleGetFunction");
    address to = values ? stored : 0;
    void *params[] = {&memory, &to, &first, &step};
    check(driver.launch(function, blocks, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL), f->name);
    check(driver.to_host(numbers, memory, blocks * sizeof *numbers), "cuMemcpyDtoH");
    if (values)
        check(driver.to_host(values, stored, INPUTS * 2 * sizeof *values), "cuMemcpyDtoH");
    check(driver.unload(module), "cuModuleUnload");
}

/* ---- the answers ---- */

static uint64_t number_of_all(const uint32_t *numbers, unsigned count) {
    uint64_t all = UINT64_C(0xcbf29ce484222325); /* FNV-1a, of words */
    for (unsigned n = 0; n < count; n++)
        all = (all ^ numbers[n]) * UINT64_C(0x100000001b3);
    return all;
}

static void print_answers(void) {
    static uint32_t numbers[BLOCKS];
    for (const form *f = forms; f < forms + FORMS; f++) {
        run(f, 0, 1, f->blocks, numbers, NULL);
        printf("%s %016" PRIx64, f->name, number_of_all(numbers, f->blocks));
        for (unsigned n = 0; n < f->blocks; n += f->step)
            printf("%s%08" PRIx32, n / f->step % 8 ? " " : "\n", numbers[n]);
        printf("\n");
    }
}

/* Returns the next word of the answers as a number. */
static uint64_t next_number(FILE *answers) {
    char word[32];
    return fscanf(answers, "%31s", word) == 1 ? strtoull(word, NULL, 16) : 0;
}

/* Returns whether the form's blocks that are sampled, or all, have the numbers of the file. */
static bool agrees(const form *f, FILE *answers, bool all) {
    static uint32_t numbers[BLOCKS];
    const unsigned count = (f->blocks + f->step - 1) / f->step;
    char name[64];
    unsigned wrong = 0;
    if (fscanf(answers, "%63s", name) != 1 || strcmp(name, f->name) != 0) {
        printf("%s has no answer\n", f->name);
        return false;
    }
    const uint64_t of_all = next_number(answers);
    run(f, 0, f->step, count, numbers, NULL);
    for (unsigned n = 0; n < count; n++) {
        const bool differs = next_number(answers) != numbers[n];
        if (differs && !wrong++)
            printf("%s: block %u differs\n", f->name, n * f->step);
    }
    printf("%s: %u of %u blocks differ\n", f->name, wrong, count);
    if (all) {
        run(f, 0, 1, f->blocks, numbers, NULL);
        const bool same = number_of_all(numbers, f->blocks) == of_all;
        printf("%s: all %u blocks are %s\n", f->name, f->blocks,
               same ? "the same" : "not the same");
        wrong += !same;
    }
    fflush(stdout);
    return !wrong;
}

static bool compare(const char *file, bool all) {
    FILE *answers = fopen(file, "r");
    bool same = true;
    if (!answers) {
        perror(file);
        return false;
    }
    for (const form *f = forms; f < forms + FORMS; f++)
        same = agrees(f, answers, all) && same;
    fclose(answers);
    return same;
}

static bool print_values(const char *name, unsigned block) {
    static uint32_t values[2 * INPUTS], numbers[1];
    for (const form *f = forms; f < forms + FORMS; f++) {
        if (strcmp(f->name, name) != 0)
            continue;
        run(f, block, 1, 1, numbers, values);
        for (uint32_t n = 0; n < INPUTS; n++)
            printf("%08" PRIx32 " %08" PRIx32 " %08" PRIx32 "\n", (uint32_t)block << 16 | n,
                   values[2 * n], values[2 * n + 1]);
        return true;
    }
    printf("there is no form %s\n", name);
    return false;
}

int main(int count, char **words) {
    if (count < 2) {
        fprintf(stderr, "usage: sweeps LIBRARY [ANSWERS [all] | values NAME BLOCK]\n");
        return 2;
    }
    device_open(words[1]);
    if (count == 2)
        print_answers();
    else if (count == 5 && strcmp(words[2], "values") == 0)
        return !print_values(words[3], (unsigned)strtoul(words[4], NULL, 10));
    else
        return !compare(words[2], count == 4);
    return 0;
}
