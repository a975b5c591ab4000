/*
 * What `.approx` gives for all operands (README.md):
 *   approximations LIBRARY ANSWERS         compares one block of inputs in 257 with a GPU's
 *   approximations LIBRARY ANSWERS all     compares all of them, which takes some minutes
 *   approximations LIBRARY                 prints the answers
 *   approximations LIBRARY values NAME N   prints all inputs of block N, and what they give
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

enum { BLOCKS = 65536, INPUTS = 65536, SAMPLED = 257, THREADS = 256 };

/* Instructions that make %out of %in, and %upper, too, of 64 bits; `name` is in the place of @. */
typedef struct form {
    const char *name, *text;
    unsigned blocks;
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

static const form forms[] = {
    {"rcp.approx.f32", FLOAT, BLOCKS},
    {"rcp.approx.ftz.f32", FLOAT, BLOCKS},
    {"rsqrt.approx.f32", FLOAT, BLOCKS},
    {"rsqrt.approx.ftz.f32", FLOAT, BLOCKS},
    {"sqrt.approx.f32", FLOAT, BLOCKS},
    {"sqrt.approx.ftz.f32", FLOAT, BLOCKS},
    {"ex2.approx.f32", FLOAT, BLOCKS},
    {"ex2.approx.ftz.f32", FLOAT, BLOCKS},
    {"lg2.approx.f32", FLOAT, BLOCKS},
    {"lg2.approx.ftz.f32", FLOAT, BLOCKS},
    {"sin.approx.f32", FLOAT, BLOCKS},
    {"sin.approx.ftz.f32", FLOAT, BLOCKS},
    {"cos.approx.f32", FLOAT, BLOCKS},
    {"cos.approx.ftz.f32", FLOAT, BLOCKS},
    {"tanh.approx.f32", FLOAT, BLOCKS},
    {"div.approx.f32", QUOTIENT, BLOCKS},
    {"div.approx.ftz.f32", QUOTIENT, BLOCKS},
    {"div.full.f32", QUOTIENT, BLOCKS},
    {"div.full.ftz.f32", QUOTIENT, BLOCKS},
    {"rcp.approx.ftz.f64", wide_text, BLOCKS},
    {"rsqrt.approx.ftz.f64", wide_text, BLOCKS},
    {"rsqrt.approx.f64", wide_text, BLOCKS},
    {"tanh.approx.f16", SHORT, 1},
    {"tanh.approx.bf16", SHORT, 1},
    {"ex2.approx.f16", SHORT, 1},
    {"ex2.approx.ftz.bf16", SHORT, 1},
    {"tanh.approx.f16x2", PAIR, BLOCKS},
    {"tanh.approx.bf16x2", PAIR, BLOCKS},
    {"ex2.approx.f16x2", PAIR, BLOCKS},
    {"ex2.approx.ftz.bf16x2", PAIR, BLOCKS},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* A kernel's blocks make the numbers of the blocks of inputs first, first + step, ...: each thread
 * that of 256 inputs, the first thread one of these. Where `values` is not 0 results are stored. */
static const char before[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 numbers, .param .u64 values, .param .u32 first, "
    ".param .u32 step)\n{\n"
    ".reg .b16 %h<4>; .reg .b32 %r<20>, %in, %out, %upper; .reg .b64 %q<20>; .reg .f32 %f<4>;\n"
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
    const char *at = strchr(f->text, '@');
    snprintf(text, size, "%s%.*s%s%s\n%s%s%s", before, (int)(at - f->text), f->text, f->name,
             at + 1, number, f->text == wide_text ? number_upper : "", after);
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
        for (unsigned n = 0; n < f->blocks; n += SAMPLED)
            printf("%s%08" PRIx32, n / SAMPLED % 8 ? " " : "\n", numbers[n]);
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
    const unsigned count = (f->blocks + SAMPLED - 1) / SAMPLED;
    char name[32];
    unsigned wrong = 0;
    if (fscanf(answers, "%31s", name) != 1 || strcmp(name, f->name) != 0) {
        printf("%s has no answer\n", f->name);
        return false;
    }
    const uint64_t of_all = next_number(answers);
    run(f, 0, SAMPLED, count, numbers, NULL);
    for (unsigned n = 0; n < count; n++) {
        const bool differs = next_number(answers) != numbers[n];
        if (differs && !wrong++)
            printf("%s: block %u differs\n", f->name, n * SAMPLED);
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
        fprintf(stderr, "usage: approximations LIBRARY [ANSWERS [all] | values NAME BLOCK]\n");
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
