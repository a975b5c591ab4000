/* Machine code of kernels: when it is made, and accesses whose lanes lie in all ways that it tells
 * apart. */
#include "ptx_test.h"

#include "sim/ptx/jit.h"
#include "sim/ptx/lower.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char twice[] = WORD("", "add.u32 %r2, %r1, %r1;\n");

static bool has_jit(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static void begin_as(const char *configuration) {
    acu_sim_reset(configuration);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* Returns how many kernels become machine code while a kernel runs that doubles words. */
static unsigned made_by(const char *text, unsigned threads) {
    uint32_t words[64];
    const uint64_t before = acu_ptx_jit_count();
    count_up(words, 64);
    run(text, 1, threads, words, 64);
    for (uint32_t n = 0; n < threads; n++)
        assert_int_equal(words[n], 2 * n);
    return (unsigned)(acu_ptx_jit_count() - before);
}

/* ---- when it is made ---- */

#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

/* Runs a kernel where no memory may become executable. */
static int run_refused(void) {
    uint32_t words[32];
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
        return 2;
    acu_sim_reset(MACHINE ",jit=always");
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 3;
    count_up(words, 32);
    run(twice, 1, 32, words, 32);
    return words[31] == 62 && acu_ptx_jit_count() == 0 ? 0 : 4;
}

TEST(a_system_that_refuses_executable_memory) {
    int ends[2], status;
    char said[512] = "";
    const char *preloaded = getenv("LD_PRELOAD");
    if (preloaded && strstr(preloaded, "vgpreload")) /* Valgrind needs such memory itself */
        skip();
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        _exit(run_refused());
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read(ends[0], said, sizeof said - 1) >= 0);
    close(ends[0]);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2 || !has_jit())
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_non_null(strstr(said, "the system lets no memory be executed"));
}

TEST(options_decide_what_is_made) {
    begin_as(MACHINE ",jit=0");
    assert_int_equal(made_by(twice, 64), 0);
    begin_as(MACHINE ",jit=always,check=memory");
    assert_int_equal(made_by(twice, 64), 0);
    begin_as(MACHINE ",jit=1");
    assert_int_equal(made_by(twice, 64), 0); /* it ends too soon */
    begin_as(MACHINE ",jit=always");
    assert_int_equal(made_by(twice, 64), has_jit());
    begin_as(MACHINE ",jit=avx2");
    assert_int_equal(made_by(twice, 64), has_jit());
    begin_as(MACHINE ",jit=always,level=avx2");
    assert_int_equal(made_by(twice, 64), has_jit());
    begin_as(MACHINE ",jit=always,level=baseline");
    assert_int_equal(made_by(twice, 64), 0);
}

TEST(a_level_is_chosen) {
    static const struct {
        const char *configuration;
        ptx_level level;
    } ways[] = {{MACHINE ",level=baseline", PTX_BASELINE},
                {MACHINE ",level=avx2", PTX_AVX2},
                {MACHINE ",level=avx512", PTX_AVX512},
                {MACHINE, PTX_AVX512}};
    const ptx_level has = acu_ptx_processor_level();
    for (size_t n = 0; n < sizeof ways / sizeof *ways; n++) {
        begin_as(ways[n].configuration);
        assert_int_equal(acu_ptx_level(), ways[n].level < has ? ways[n].level : has);
        made_by(twice, 64);
    }
}

TEST(a_level_that_the_processor_lacks) {
    assert_null(acu_ptx_level_lack(PTX_BEST, PTX_BASELINE));
    assert_null(acu_ptx_level_lack(PTX_AVX2, PTX_AVX2));
    assert_null(acu_ptx_level_lack(PTX_BASELINE, PTX_AVX512));
    assert_string_equal(acu_ptx_level_lack(PTX_AVX512, PTX_AVX2),
                        "the processor has no AVX-512 (F, BW, DQ and VL); avx2 is used");
    assert_string_equal(acu_ptx_level_lack(PTX_AVX512, PTX_BASELINE),
                        "the processor has no AVX-512 (F, BW, DQ and VL); baseline is used");
    assert_string_equal(acu_ptx_level_lack(PTX_AVX2, PTX_BASELINE),
                        "the processor has no AVX2 (with FMA and BMI); baseline is used");
}

/* Returns how many operations the kernel has. */
static unsigned operations_of(const char *text) {
    ptx_module *module = NULL;
    ptx_code *code = NULL;
    ptx_error error = {.text = ""};
    assert_int_equal(acu_ptx_parse(text, strlen(text), PTX_NEWEST, &module, &error), PTX_OK);
    assert_int_equal(
        acu_ptx_code_make(module, acu_ptx_module_function(module, "k"), NULL, &code, &error),
        PTX_OK);
    const unsigned count = code->count;
    acu_ptx_code_free(code);
    acu_ptx_module_free(module);
    return count;
}

/* A copy of a register that is read in its block alone is no operation. */
TEST(copies_are_no_operations) {
#define SHUFFLED(before, value, behind, result)                                                    \
    WORD("", before "shfl.sync.down.b32 %r4|%p1, " value ", 8, 31, -1;\n" behind                   \
                    "add.u32 %r2, %r1, " result ";\n")
    const unsigned without = operations_of(SHUFFLED("", "%r1", "", "%r4"));
    assert_int_equal(
        operations_of(SHUFFLED("mov.b32 %r3, %r1;\n", "%r3", "mov.b32 %r5, %r4;\n", "%r5")),
        without);
    assert_int_equal(
        operations_of(SHUFFLED("mov.b32 %r3, %r1;\nadd.u32 %r1, %r1, 1;\n", "%r3", "", "%r4")),
        without + 2);
}

/* The only warp of a kernel becomes hot in a loop, of which it is in the middle then. */
TEST(a_loop_that_becomes_hot) {
    begin_as(MACHINE ",jit=1");
    assert_int_equal(made_by(WORD("", "mov.u32 %r3, 100000;\nmov.u32 %r2, 0;\nL:\n"
                                      "xor.b32 %r2, %r2, %r3;\nxor.b32 %r2, %r2, %r3;\n"
                                      "sub.u32 %r3, %r3, 1;\nsetp.ne.u32 %p1, %r3, 0;\n"
                                      "@%p1 bra L;\nadd.u32 %r2, %r1, %r1;\n"),
                             64),
                     has_jit());
}

/* No warp of a launch is hot, but all launches together are. */
/* 64 warps take turns in a loop that may wait for others, none of which becomes hot. */
TEST(many_blocks_that_take_turns) {
    static const char waits[] =
        WORD("", "mov.u32 %r2, 0;\nT:\nadd.u32 %r2, %r2, 1;\n"
                 "ld.volatile.global.u32 %r3, [%d3];\nsetp.lt.u32 %p1, %r2, 1500;\n@%p1 bra T;\n");
    uint32_t words[64];
    begin_as(MACHINE ",jit=1");
    const uint64_t before = acu_ptx_jit_count();
    count_up(words, 64);
    run(waits, 64, 1, words, 64);
    for (uint32_t n = 0; n < 64; n++)
        assert_int_equal(words[n], 1500);
    assert_int_equal(acu_ptx_jit_count() - before, has_jit());
}

TEST(many_small_launches) {
    begin_as(MACHINE ",jit=1");
    CUmodule module = load_text(twice);
    const uint64_t before = acu_ptx_jit_count();
    uint32_t words[64];
    CUdeviceptr at;
    void *args[] = {&at};
    count_up(words, 64);
    OK(cuMemAlloc(&at, sizeof words));
    for (unsigned n = 0; n < 4000 && acu_ptx_jit_count() == before; n++) {
        OK(cuMemcpyHtoD(at, words, sizeof words));
        OK(launch(module, "k", 1, 64, args));
        OK(cuCtxSynchronize());
    }
    assert_int_equal(acu_ptx_jit_count() - before, has_jit());
    OK(cuMemcpyHtoD(at, words, sizeof words));
    OK(launch(module, "k", 1, 64, args));
    OK(cuMemcpyDtoH(words, at, sizeof words));
    for (uint32_t n = 0; n < 64; n++)
        assert_int_equal(words[n], 2 * n);
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

/* ---- how lanes lie ---- */

enum { LANES = 64, ELEMENTS = 256 };

static uint32_t random_word(void) {
    static uint64_t seed = 7;
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

/* Fills in where the lanes' elements are, in one of the ways that machine code tells apart, or in
 * one that is nearly that. */
static void choose_indices(uint32_t *index, unsigned way) {
    const uint32_t by = random_word() % 64, part = 8u << way / 6 % 3;
    for (uint32_t n = 0; n < LANES; n++)
        switch (way % 6) {
        case 0:
            index[n] = by + n;
            break;
        case 1:
            index[n] = by;
            break;
        case 2:
            index[n] = by + n / part * 3 + n % part;
            break;
        case 3:
            index[n] = by + n / part;
            break;
        case 4:
            index[n] = by + LANES - n;
            break;
        default:
            index[n] = random_word() % 128;
        }
    if (random_word() % 4 == 0)
        index[random_word() % LANES] ^= 1;
}

/* Of memory: the elements that are read, those that are written, and the indices. */
typedef struct content {
    uint32_t in[ELEMENTS * 2], out[ELEMENTS * 2], index[LANES];
} content;

/* A thread's index is a word behind the elements. The first two kernels read by index and write in
 * order; the others read in order, and go to shared memory and back, and to memory, by index. Lanes
 * whose bit is not in `m` do nothing. */
static const char *const kernels[4] = {
#define KERNEL(type, size, copies)                                                                 \
    HEAD                                                                                           \
        ".entry k(.param .u64 p, .param .u32 m) {\n.reg .b32 %r<9>; .reg .b64 %d<20>; .reg .pred " \
        "%p;\n.reg .b" type " %v;\n.shared .align 8 .b8 s[2048];\nld.param.u64 %d1, [p];\n"        \
        "ld.param.u32 %r5, [m];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\n"                \
        "add.u64 %d3, %d1, %d2;\nld.global.u32 %r2, [%d3+4096];\nmul.wide.u32 %d4, %r1, " size     \
        ";\nadd.u64 %d4, %d1, %d4;\nmul.wide.u32 %d5, %r2, " size                                  \
        ";\nadd.u64 %d5, %d1, %d5;\nmul.lo.u32 %r4, %r2, " size                                    \
        ";\nmov.u32 %r7, s;\nadd.u32 %r4, %r4, %r7;\nand.b32 %r6, %r1, 31;\nshr.u32 %r6, %r5, "    \
        "%r6;\nand.b32 %r6, %r6, 1;\n"                                                             \
        "setp.eq.u32 %p, %r6, 0;\n@%p bra $end;\n" copies "$end:\nret;\n}\n"
    KERNEL("32", "4", "ld.global.b32 %v, [%d5];\nst.global.b32 [%d4+2048], %v;\n"),
    KERNEL("64", "8", "ld.global.b64 %v, [%d5];\nst.global.b64 [%d4+2048], %v;\n"),
    KERNEL("32", "4",
           "ld.global.b32 %v, [%d4];\nst.shared.b32 [%r4], %v;\nld.shared.b32 %v, [%r4];\n"
           "st.global.b32 [%d5+2048], %v;\n"),
    KERNEL("64", "8",
           "ld.global.b64 %v, [%d4];\nst.shared.b64 [%r4], %v;\nld.shared.b64 %v, [%r4];\n"
           "st.global.b64 [%d5+2048], %v;\n"),
};

/* Does what the kernel does, warp by warp, as the interpreter: lanes that write to one place do so
 * in their order, and read what the last one of the warp wrote. */
static void expect(content *c, unsigned kernel, uint32_t mask) {
    const size_t size = kernel % 2 ? 8 : 4;
    char *in = (char *)c->in, *out = (char *)c->out;
    for (uint32_t first = 0; first < LANES; first += 32)
        for (unsigned step = 0; step < 2; step++)
            for (uint32_t n = first; n < first + 32; n++) {
                if (!(mask >> (n & 31) & 1))
                    continue;
                const uint32_t i = c->index[n];
                uint32_t last = n;
                for (uint32_t other = first; other < first + 32; other++)
                    if (c->index[other] == i && mask >> (other & 31) & 1)
                        last = other;
                if (kernel < 2)
                    memcpy(out + n * size, in + i * size, size);
                else
                    memcpy(out + i * size, in + last * size, size);
            }
}

static void copy_by_index(const char *configuration) {
    static content before, after, expected;
    begin_as(configuration);
    CUdeviceptr at;
    OK(cuMemAlloc(&at, sizeof after));
    for (unsigned kernel = 0; kernel < 4; kernel++) {
        CUmodule module = load_text(kernels[kernel]);
        for (unsigned way = 0; way < 200; way++) {
            uint32_t mask = way % 3 == 0 ? random_word() ^ random_word() << 16 : ~UINT32_C(0);
            void *args[] = {&at, &mask};
            for (size_t n = 0; n < (size_t)ELEMENTS * 2; n++)
                before.in[n] = random_word();
            choose_indices(before.index, way);
            expected = before;
            expect(&expected, kernel, mask);
            OK(cuMemcpyHtoD(at, &before, sizeof before));
            OK(launch(module, "k", 1, LANES, args));
            OK(cuCtxSynchronize());
            OK(cuMemcpyDtoH(&after, at, sizeof after));
            assert_memory_equal(&after, &expected, sizeof after);
        }
        OK(cuModuleUnload(module));
    }
    OK(cuMemFree(at));
}

TEST(accesses_of_any_pattern) {
    copy_by_index(MACHINE ",jit=0");
    copy_by_index(MACHINE ",jit=always");
    copy_by_index(MACHINE ",jit=avx2");
}

/* The last lane is one element behind the allocation. */
TEST(an_access_beyond_the_end) {
    const char *const configurations[] = {MACHINE ",jit=always", MACHINE ",jit=avx2"};
    for (unsigned n = 0; n < 2; n++)
        for (unsigned shift = 0; shift < 2; shift++) {
            CUdeviceptr at;
            begin_as(configurations[n]);
            CUmodule module =
                load_text(shift ? WORD("", "ld.global.u32 %r2, [%d3+4];\n")
                                : WORD(".shared .align 4 .b8 s[128];\n",
                                       "shl.b32 %r5, %r9, 2;\nmov.u32 %r6, s;\nadd.u32 %r5, %r5, "
                                       "%r6;\nld.shared.u32 %r2, [%r5+4];\n"));
            void *args[] = {&at};
            OK(cuMemAlloc(&at, 128));
            OK(launch(module, "k", 1, 32, args));
            assert_int_equal(cuCtxSynchronize(), 700);
        }
    begin_as(MACHINE);
}

/* Runs 20 warps of consecutive elements, in their order or from the last one on, from `shift` bytes
 * on, and returns the launch's error. The allocation has no byte more; the second warp's check is
 * that of machine code. */
static int run_rows(unsigned bits, bool backwards, int shift) {
    enum { WARPS = 20 };
    static uint32_t words[WARPS * 64], expected[WARPS * 64];
    const unsigned size = bits / 8;
    char code[1024];
    snprintf(code, sizeof code,
             HEAD ".entry k(.param .u64 p) {\n.reg .b32 %%r<9>; .reg .b64 %%d<9>;\n.reg .b%u %%v;\n"
                  "ld.param.u64 %%d1, [p];\nmov.u32 %%r1, %%ctaid.x;\nmov.u32 %%r2, %%nctaid.x;\n"
                  "%ssub.u32 %%r1, %%r2, %%r1;\n%ssub.u32 %%r1, %%r1, 1;\nmov.u32 %%r3, %%tid.x;\n"
                  "mad.lo.u32 %%r4, %%r1, 32, %%r3;\nmul.wide.u32 %%d2, %%r4, %u;\n"
                  "add.u64 %%d3, %%d1, %%d2;\nld.global.b%u %%v, [%%d3+%d];\n"
                  "add.u%u %%v, %%v, 1;\nst.global.b%u [%%d3+%d], %%v;\nret;\n}\n",
             bits, backwards ? "" : "//", backwards ? "" : "//", size, bits, shift, bits, bits,
             shift);
    CUmodule module = load_text(code);
    CUdeviceptr at;
    void *args[] = {&at};
    for (unsigned n = 0; n < WARPS * 8 * size; n++)
        words[n] = expected[n] = random_word() >> 1;
    for (unsigned n = 0; n < WARPS * 8 * size; n += size / 4)
        expected[n]++;
    OK(cuMemAlloc(&at, (size_t)WARPS * 32 * size));
    OK(cuMemcpyHtoD(at, words, (size_t)WARPS * 32 * size));
    OK(launch(module, "k", WARPS, 32, args));
    const int error = cuCtxSynchronize();
    if (!error) {
        OK(cuMemcpyDtoH(words, at, (size_t)WARPS * 32 * size));
        assert_memory_equal(words, expected, (size_t)WARPS * 32 * size);
        OK(cuMemFree(at));
        OK(cuModuleUnload(module));
    }
    return error;
}

TEST(rows_at_the_ends) {
    static const char *const ways[] = {MACHINE ",threads=1,jit=0", MACHINE ",threads=1,jit=always",
                                       MACHINE ",threads=1,jit=avx2"};
    for (unsigned n = 0; n < 6; n++) {
        const unsigned bits = n % 2 ? 64 : 32;
        const int one = (int)bits / 8;
        begin_as(ways[n / 2]);
        assert_int_equal(run_rows(bits, false, 0), 0);
        assert_int_equal(run_rows(bits, true, 0), 0);
        assert_int_equal(run_rows(bits, false, one), 700);
        begin_as(ways[n / 2]);
        assert_int_equal(run_rows(bits, true, -one), 700);
        begin_as(ways[n / 2]);
        assert_int_equal(run_rows(bits, false, one / 2), 716);
        begin_as(ways[n / 2]);
    }
    begin_as(MACHINE);
}

/* ---- addresses that are sums ---- */

/* A text that grows. */
typedef struct text {
    char at[32768];
    size_t size;
} text;

static void say(text *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    t->size += (size_t)vsnprintf(t->at + t->size, sizeof t->at - t->size, format, list);
    va_end(list);
    assert_true(t->size < sizeof t->at);
}

enum { SUMS = 6, WORDS = 4, SUM_THREADS = 96, SUM_BYTES = 8192 };

/* Says an instruction that makes sums of 64 bits (%a…), or words (%w…) of which products are made.
 * What is loaded is in the first 4 KiB, to which %b points; a thread stores 4 bytes behind its own,
 * of 128. %u and %q are the same in all lanes, %e is not. */
static void say_step(text *t) {
    const unsigned a = random_word() % SUMS, b = random_word() % SUMS, w = random_word() % WORDS,
                   v = random_word() % WORDS, scale = random_word() % 4 ? 4 : 8;
    const char *guard = random_word() % 5 ? "" : "@%p ";
    switch (random_word() % 12) {
    case 0:
        say(t, "%smul.wide.u32 %%a%u, %%w%u, %%e;\n", guard, a, w);
        break;
    case 1:
        say(t, "%smul.wide.%c32 %%a%u, %%w%u, %u;\n", guard, "us"[random_word() % 2], a, w, scale);
        break;
    case 2:
    case 3:
        say(t, "%sadd.s64 %%a%u, %%a%u, %%%c;\n", guard, a, b, "uq"[random_word() % 2]);
        break;
    case 4:
        say(t, "%sadd.s64 %%a%u, %%a%u, %%a%u;\n", guard, a, b, random_word() % SUMS);
        break;
    case 5:
        say(t, "%sadd.u32 %%w%u, %%w%u, %u;\n", guard, w, v, random_word() % 3 * 0x7fffffc0u + 1);
        break;
    case 6:
        say(t, "%smov.u32 %%w%u, %%%s;\n", guard, w, random_word() % 2 ? "tid.x" : "laneid");
        break;
    case 7:
        say(t,
            "and.b64 %%a%u, %%a%u, 2040;\nadd.s64 %%a%u, %%b, %%a%u;\n%sld.global.u%u %%%c%u, "
            "[%%a%u+8];\n",
            a, b, a, a, guard, scale * 8, scale == 4 ? 'w' : 'a', scale == 4 ? w : b, a);
        break;
    case 8:
        say(t,
            "and.b32 %%w%u, %%w%u, 255;\nmul.wide.u32 %%a%u, %%w%u, %u;\nadd.s64 %%a%u, %%b, "
            "%%a%u;\n%sld.global.u%u %%%c%u, [%%a%u];\n",
            w, v, a, w, scale, b, a, guard, scale * 8, scale == 4 ? 'w' : 'a', scale == 4 ? v : a,
            b);
        break;
    case 9:
        say(t,
            "mul.wide.u32 %%a%u, %%t, 4;\nadd.s64 %%a%u, %%o, %%a%u;\nst.global.u32 [%%a%u+%u], "
            "%%w%u;\n",
            a, b, a, b, random_word() % 8 * 384, w);
        break;
    case 10:
        say(t, "setp.%s.u32 %%p, %%w%u, %%w%u;\n", random_word() % 2 ? "lt" : "ne", w, v);
        break;
    default:
        say(t, "selp.b64 %%a%u, %%a%u, %%a%u, %%p;\n", a, b, random_word() % SUMS);
    }
}

/* Says a kernel that does steps, some of them in a loop and some behind a branch, and stores all.
 */
static void say_kernel(text *t) {
    t->size = 0;
    say(t,
        HEAD ".entry k(.param .u64 p, .param .u64 u) {\n.reg .b64 %%a<%d>; .reg .b32 %%w<%d>;\n"
             ".reg .b64 %%b, %%o, %%u, %%q, %%x; .reg .b32 %%t, %%n, %%e; .reg .pred %%p, %%l;\n"
             "ld.param.u64 %%b, [p];\nadd.s64 %%o, %%b, 4096;\nld.param.u64 %%u, [u];\n"
             "mov.u64 %%q, 24;\nmov.u32 %%t, %%tid.x;\nmov.u32 %%e, %%laneid;\nsetp.lt.u32 %%p, "
             "%%t, 40;\n",
        SUMS, WORDS);
    for (unsigned n = 0; n < SUMS; n++)
        say(t, "mul.wide.u32 %%a%u, %%t, %u;\n", n, n % 2 ? 4 : 8);
    for (unsigned n = 0; n < WORDS; n++)
        say(t, "add.u32 %%w%u, %%t, %u;\n", n, n * 3);
    for (unsigned n = 0; n < 8; n++)
        say_step(t);
    say(t, "mov.u32 %%n, 0;\nL:\n");
    for (unsigned n = 0; n < 12; n++) {
        if (n == 6)
            say(t, "setp.gt.u32 %%l, %%w0, 70;\n@%%l bra M;\n");
        say_step(t);
    }
    say(t, "M:\nadd.u32 %%n, %%n, 1;\nsetp.ne.u32 %%l, %%n, 3;\n@%%l bra L;\n");
    for (unsigned n = 0; n < 6; n++)
        say_step(t);
    say(t, "mad.wide.u32 %%x, %%t, 8, %%o;\n");
    for (unsigned n = 0; n < SUMS; n++)
        say(t, "st.global.u64 [%%x+%u], %%a%u;\n", 3072 + n * SUM_THREADS * 8, n);
    for (unsigned n = 0; n < WORDS; n++)
        say(t, "st.global.u32 [%%x+%u], %%w%u;\n", 3072 + (SUMS + n) * SUM_THREADS * 8, n);
    say(t, "ret;\n}\n");
}

/* Runs a kernel, made of the number, on memory of the same content. */
static void run_sums(const text *t, uint64_t *memory) {
    static uint64_t before[SUM_BYTES * 2 / 8];
    const size_t size = sizeof before;
    uint64_t shared = 0x7ffffff8;
    CUdeviceptr at;
    CUmodule module = load_text(t->at);
    for (size_t n = 0; n < size / 8; n++)
        before[n] = n * 0x9e3779b97f4a7c15u >> 20;
    OK(cuMemAlloc(&at, size));
    OK(cuMemcpyHtoD(at, before, size));
    void *args[] = {&at, &shared};
    OK(launch(module, "k", 1, SUM_THREADS, args));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(memory, at, size));
    for (size_t n = 0; n < size / 8; n++) /* addresses are not the same each time */
        if (memory[n] - at < size)
            memory[n] -= at;
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

TEST(sums_of_addresses) {
    static text texts[300];
    static uint64_t expected[300][SUM_BYTES * 2 / 8], found[SUM_BYTES * 2 / 8];
    const char *const configurations[] = {MACHINE ",jit=0", MACHINE ",jit=always",
                                          MACHINE ",jit=avx2"};
    for (unsigned way = 0; way < 3; way++) {
        begin_as(configurations[way]);
        for (unsigned n = 0; n < 300; n++) {
            if (!way)
                say_kernel(&texts[n]);
            run_sums(&texts[n], way ? found : expected[n]);
            if (way && memcmp(found, expected[n], sizeof found) != 0)
                fail_msg("%s: kernel %u differs:\n%s", configurations[way], n, texts[n].at);
        }
    }
}

/* ---- elements of all sizes ---- */

/* What an access can be: the registers' letter (%w has 32 bits, %h 16, %d 64), how many a lane has,
 * and their bytes in memory. */
static const struct {
    const char *type;
    char letter;
    unsigned count, bytes;
} elements[] = {
    {"u8", 'w', 1, 1},      {"s8", 'w', 1, 1},     {"u16", 'w', 1, 2},     {"s16", 'w', 1, 2},
    {"u8", 'h', 1, 1},      {"s8", 'h', 1, 1},     {"b16", 'h', 1, 2},     {"b32", 'w', 1, 4},
    {"b64", 'd', 1, 8},     {"v2.b32", 'w', 2, 8}, {"v2.u16", 'h', 2, 4},  {"v4.u8", 'h', 4, 4},
    {"v4.b32", 'w', 4, 16}, {"v4.s8", 'w', 4, 4},  {"v2.b64", 'd', 2, 16}, {"v2.u8", 'w', 2, 2},
    {"u32", 'd', 1, 4},
};
enum { KINDS_OF_ELEMENT = sizeof elements / sizeof *elements, REGISTERS = 5 };

/* Says an access at a place of 1 KiB that a word chooses, of global or of shared memory. */
static void say_access(text *t, const char *guard) {
    const unsigned e = random_word() % KINDS_OF_ELEMENT, first = random_word() % REGISTERS;
    const unsigned where = random_word() % 3;
    const bool is_load = random_word() % 2, is_shared = where == 0;
    say(t, "and.b32 %%i, %%w%u, 63;\nmul.lo.u32 %%i, %%i, %u;\n", random_word() % REGISTERS,
        elements[e].bytes);
    if (is_shared)
        say(t, "add.u32 %%i, %%i, %%s;\n");
    else
        say(t, "cvt.u64.u32 %%x, %%i;\nadd.u64 %%x, %%x, %%%c;\n",
            where == 1                     ? 'z'
            : is_load && random_word() % 2 ? 'b'
                                           : 'o');
    char values[64] = "";
    for (unsigned n = 0, size = 0; n < elements[e].count; n++)
        size += (unsigned)snprintf(values + size, sizeof values - size, "%s%%%c%u", n ? ", " : "",
                                   elements[e].letter, (first + n) % REGISTERS);
    const char *space = is_shared    ? "shared"
                        : where == 1 ? "local"
                                     : "global",
               *at = is_shared ? "i" : "x";
    if (!is_load && elements[e].count == 1 && random_word() % 3 == 0)
        snprintf(values, sizeof values, "%u", random_word() % 100);
    const char *open = elements[e].count > 1 ? "{" : "", *close = elements[e].count > 1 ? "}" : "";
    if (is_load)
        say(t, "%sld.%s.%s %s%s%s, [%%%s];\n", guard, space, elements[e].type, open, values, close,
            at);
    else
        say(t, "%sst.%s.%s [%%%s], %s%s%s;\n", guard, space, elements[e].type, at, open, values,
            close);
}

/* Operations that have machine code; W, H, D stand for registers, B for a number below 16. */
static const char *const operations[] = {
    "cvt.s32.s8 W, H",
    "cvt.u32.u8 W, H",
    "cvt.u8.u32 W, W",
    "cvt.s8.s32 H, W",
    "cvt.s64.s8 D, H",
    "cvt.u16.u64 H, D",
    "cvt.s16.s8 H, H",
    "cvt.u8.u16 H, H",
    "cvt.s16.s32 W, W",
    "cvt.u32.u64 W, D",
    "cvt.s64.s32 D, W",
    "cvt.u64.u16 D, D",
    "mov.b32 {H, H}, W",
    "mov.b32 W, {H, H}",
    "mov.b64 {W, W}, D",
    "mov.b64 D, {W, W}",
    "mov.b16 H, H",
    "shf.l.wrap.b32 W, W, W, W",
    "shf.r.clamp.b32 W, W, W, H32",
    "mul.hi.u32 W, W, W",
    "mad.hi.s32 W, W, W, W",
    "add.u16 H, H, H",
    "sub.s16 H, H, H",
    "mul.lo.u16 H, H, H",
    "min.s16 H, H, H",
    "max.u16 H, H, H",
    "xor.b16 H, H, H",
    "not.b16 H, H",
    "neg.s16 H, H",
    "shl.b16 H, H, B",
    "shr.s16 H, H, B",
    "selp.b16 H, H, H, %p",
    "selp.b32 W, W, W, %p",
    "setp.lt.s16 %p, H, H",
    "setp.ge.u16 %p, H, H",
    "setp.ne.s16 %p, H, H",
    "fma.rm.f32 W, W, W, W",
    "add.rz.f32 W, W, W",
    "div.rp.f32 W, W, W",
    "sqrt.rm.f32 W, W",
    "rcp.rz.f32 W, W",
    "cvt.rn.f32.s16 W, H",
    "cvt.rn.f32.u8 W, H",
    "cvt.rzi.s32.f32 W, W",
    "cvt.rni.u32.f32 W, W",
    "cvt.f64.f32 D, W",
    "cvt.rn.f64.s32 D, W",
    "add.f64 D, D, D",
    "sub.f64 D, D, D",
    "mul.f64 D, D, D",
    "div.rn.f64 D, D, D",
    "fma.rn.f64 D, D, D, D",
    "add.f32 W, W, W",
    "mul.wide.s32 D, W, W",
    "popc.b32 W, W",
    "fma.rn.f16x2 W, W, W, W",
    "fma.rn.bf16x2 W, W, W, W",
    "fma.rn.f16 H, H, H, H",
    "fma.rn.bf16 H, H, H, H",
    "add.f16x2 W, W, W",
    "sub.f16 H, H, H",
    "mul.rn.bf16x2 W, W, W",
    "mul.bf16 H, H, H",
    "cvt.f32.f16 W, H",
    "cvt.rn.f16.f32 H, W",
    "cvt.rn.bf16.f32 H, W",
    "cvt.rn.f16x2.f32 W, W, W",
    "cvt.rn.bf16x2.f32 W, W, W",
    "neg.f64 D, D",
    "abs.f64 D, D",
    "sqrt.rn.f64 D, D",
    "rcp.rn.f64 D, D",
    "cvt.rmi.f64.f64 D, D",
    "cvt.rn.f64.s64 D, D",
    "cvt.rn.f64.u32 D, W",
    "cvt.rzi.s32.f64 W, D",
    "cvt.rn.f32.f64 W, D",
    "setp.ltu.f64 %p, D, D",
    "setp.ge.f64 %p, D, D",
    "setp.lt.s64 %p, D, D",
    "setp.hs.u64 %p, D, D",
    "setp.ne.b64 %p, D, D",
    "setp.gt.s64 %p, D, D",
    "setp.le.u64 %p, D, D",
    "selp.b64 D, D, D, %p",
    "mul.lo.s64 D, D, D",
    "shr.s64 D, D, B",
    "shr.s64 D, D, W",
    "cvt.s64.s32 D, W",
    "mul.wide.s16 W, H, H",
    "mul.f32 W, W, W",
    "fma.rn.f32 W, W, W, W",
    "sub.f32 W, W, W",
    "div.rn.f32 W, W, W",
    "min.f32 W, W, W",
    "max.f32 W, W, W",
    "neg.f32 W, W",
    "sqrt.rn.f32 W, W",
    "selp.f32 W, W, W, %p",
    "setp.ltu.f32 %p, W, W",
    "rcp.approx.f32 W, W",
    "sqrt.approx.f32 W, W",
    "div.approx.ftz.f32 W, W, W",
    "div.full.f32 W, W, W",
    "rsqrt.approx.f32 W, W",
    "ex2.approx.f32 W, W",
    "ex2.approx.ftz.f32 W, W",
    "lg2.approx.f32 W, W",
    "sin.approx.f32 W, W",
    "cos.approx.ftz.f32 W, W",
    "tanh.approx.f32 W, W",
    "copysign.f32 W, W, W",
    "copysign.f64 D, D, D",
    "cvt.sat.f32.f32 W, W",
    "cvt.rn.f32.u64 W, D",
    "cvt.rn.f32.s64 W, D",
    "cvt.rn.f64.u64 D, D",
};

/* Floats that arithmetic treats in ways of their own: NaN that differ, infinities, one, and what is
 * nearly too large. */
static const uint32_t floats[] = {0x7fa00001, 0xffc12345, 0x7f800000, 0xff800000,
                                  0x3f800000, 0xc2fe0000, 0x7f7fffff, 0x7e017c00};

static void say_operation(text *t, const char *guard) {
    const char *one = operations[random_word() % (sizeof operations / sizeof *operations)];
    say(t, "%s", guard);
    for (; *one; one++)
        if (*one == 'B')
            say(t, "%u", random_word() % 16);
        else if (*one == 'H' && one[1] == '3') /* a number of 32 bits */
            say(t, "%u", random_word() % 40), one += 2;
        else if (strchr("WHD", *one))
            say(t, "%%%c%u", *one + 'a' - 'A', random_word() % REGISTERS);
        else
            say(t, "%c", *one);
    say(t, ";\n");
}

static void say_change(text *t, const char *guard) {
    const unsigned a = random_word() % REGISTERS, b = random_word() % REGISTERS;
    if (random_word() % 4) {
        say_operation(t, guard);
        return;
    }
    switch (random_word() % 8) {
    case 6:
        say(t, "%smov.b32 %%w%u, %u;\n", guard, a, floats[random_word() % 8]);
        break;
    case 7:
        say(t, "%smov.b64 %%d%u, 0x%x0000000%x;\n", guard, a, random_word() % 2 ? 0x7ff0 : 0xfff8,
            random_word() % 4);
        break;
    case 0:
        say(t, "%smul.lo.u32 %%w%u, %%l, %u;\n", guard, a, random_word() % 5);
        break;
    case 1:
        say(t, "%smov.u32 %%w%u, %u;\n", guard, a, random_word() % 64);
        break;
    case 2:
        say(t, "%sadd.u32 %%w%u, %%w%u, %%l;\n", guard, a, b);
        break;
    case 3:
        say(t, "%scvt.u16.u32 %%h%u, %%w%u;\n", guard, a, b);
        break;
    case 4:
        say(t, "setp.lt.u32 %%p, %%w%u, %%w%u;\n", a, b);
        break;
    default:
        say(t, "xor.b32 %%w%u, %%w%u, %%w%u;\nadd.u64 %%d%u, %%d%u, %%d%u;\n", a, a, b, b, b, a);
    }
}

static void say_steps(text *t, unsigned count) {
    static const char *const guards[] = {"", "", "", "@%p ", "@!%p "};
    for (unsigned n = 0; n < count; n++) {
        const char *guard = guards[random_word() % 5];
        (random_word() % 2 ? say_access : say_change)(t, guard);
    }
}

/* Says a shuffle of all lanes, by a number or a register, also within parts of a warp. */
static void say_shuffle(text *t) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const unsigned mode = random_word() % 4, whole = mode ? 31 : 0;
    say(t, "shfl.sync.%s.b32 %%w%u%s, %%w%u, ", modes[mode], random_word() % REGISTERS,
        random_word() % 2 ? "|%p" : "", random_word() % REGISTERS);
    if (random_word() % 2)
        say(t, "%u, ", random_word() % 33);
    else
        say(t, "%%w%u, ", random_word() % REGISTERS);
    say(t, "%u, -1;\n", random_word() % 4 ? whole : whole + 0x1800);
}

/* Says a kernel whose warps each write 1 KiB of shared memory and of global memory, at %%s and %%o;
 * some of the accesses are behind a branch that lanes leave. */
static void say_accesses(text *t) {
    t->size = 0;
    say(t, HEAD ".entry k(.param .u64 p, .param .u64 u) {\n.reg .b32 %%w<5>, %%i, %%s, %%l, %%t;\n"
                ".reg .b16 %%h<5>; .reg .b64 %%d<5>, %%b, %%o, %%x, %%z; .reg .pred %%p, %%q;\n"
                ".local .align 16 .b8 q[1024];\nmov.u64 %%z, q;\nadd.u64 %%z, %%z, 0;\n"
                ".shared .align 16 .b8 m[3072];\nld.param.u64 %%b, [p];\nmov.u32 %%t, %%tid.x;\n"
                "mov.u32 %%l, %%laneid;\nshr.u32 %%i, %%t, 5;\nmul.lo.u32 %%i, %%i, 1024;\n"
                "mov.u32 %%s, m;\nadd.u32 %%s, %%s, %%i;\nadd.u32 %%i, %%i, 1024;\n"
                "cvt.u64.u32 %%o, %%i;\nadd.u64 %%o, %%o, %%b;\nsetp.lt.u32 %%p, %%l, 20;\n");
    for (unsigned n = 0; n < 32; n++) /* all that is read of shared memory was written */
        say(t, "shl.b32 %%i, %%l, 2;\nadd.u32 %%i, %%i, %%s;\nst.shared.u32 [%%i+%u], %%i;\n",
            n % 8 * 128);
    for (unsigned n = 0, size; n < 1024; n += size) { /* nor of local memory */
        size = n % 8 == 0 ? 1u << random_word() % 4 : n % 4 == 0 ? 1u << random_word() % 3 : 1;
        say(t, "st.local.u%u [%%z+%u], %u;\n", size * 8, n, random_word() % 200);
    }
    for (unsigned n = 0; n < REGISTERS; n++)
        say(t, "mul.lo.u32 %%w%u, %%t, %u;\ncvt.u16.u32 %%h%u, %%w%u;\ncvt.u64.u32 %%d%u, %%w%u;\n",
            n, n + 1, n, n, n, n);
    say_steps(t, 14);
    for (unsigned n = 0; n < 4; n++) {
        say_shuffle(t);
        say_steps(t, 2);
    }
    say(t, "setp.gt.u32 %%q, %%w0, 30;\n@%%q bra M;\n");
    say_steps(t, 22);
    say(t, "M:\n");
    say_steps(t, 10);
    say(t, "mad.wide.u32 %%x, %%t, 8, %%b;\n");
    for (unsigned n = 0; n < REGISTERS; n++)
        say(t,
            "st.global.u64 [%%x+%u], %%d%u;\nst.global.u32 [%%x+%u], %%w%u;\n"
            "cvt.u32.u16 %%w%u, %%h%u;\nst.global.u32 [%%x+%u], %%w%u;\n",
            4096 + n * 768, n, 7936 + n * 768, n, n, n, 7940 + n * 768, n);
    say(t, "ret;\n}\n");
}

TEST(elements_of_all_sizes) {
    enum { KERNELS = 500 };
    static text texts[KERNELS];
    static uint64_t expected[KERNELS][SUM_BYTES * 2 / 8], found[SUM_BYTES * 2 / 8];
    const char *const configurations[] = {MACHINE ",jit=0", MACHINE ",jit=always",
                                          MACHINE ",jit=avx2"};
    for (unsigned way = 0; way < 3; way++) {
        begin_as(configurations[way]);
        for (unsigned n = 0; n < KERNELS; n++) {
            if (!way)
                say_accesses(&texts[n]);
            run_sums(&texts[n], way ? found : expected[n]);
            if (way && memcmp(found, expected[n], sizeof found) != 0)
                fail_msg("%s: kernel %u differs:\n%s", configurations[way], n, texts[n].at);
        }
    }
}

/* ---- NaN of 64 bits ---- */

/* Says a kernel that adds to products of 64 bits, whose operands are a number or NaN that differ,
 * as the bits of a thread's number say; the result is a register of its own, or that of an operand.
 */
static void say_fused(text *t) {
    static const char *const forms[] = {
        "fma.rn.f64 %d3, %d0, %d1, %d2",     "fma.rn.f64 %d0, %d0, %d1, %d2",
        "fma.rn.f64 %d1, %d0, %d1, %d2",     "fma.rn.f64 %d2, %d0, %d1, %d2",
        "fma.rn.f64 %d0, %d0, %d0, %d2",     "fma.rn.f64 %d2, %d2, %d1, %d2",
        "fma.rn.f64 %d2, %d0, %d2, %d2",     "fma.rn.f64 %d1, %d1, %d1, %d1",
        "@%q fma.rn.f64 %d2, %d0, %d1, %d2", "sub.f64 %d0, %d1, %d0"};
    t->size = 0;
    say(t, HEAD
        ".entry k(.param .u64 p, .param .u64 u) {\n.reg .b32 %%t, %%i; .reg .b64 %%d<4>, %%x;\n"
        ".reg .pred %%p, %%q;\nld.param.u64 %%x, [p];\nmov.u32 %%t, %%tid.x;\n"
        "mad.wide.u32 %%x, %%t, 8, %%x;\nsetp.gt.u32 %%q, %%t, 9;\n");
    for (unsigned n = 0; n < sizeof forms / sizeof *forms; n++) {
        for (unsigned d = 0; d < 4; d++)
            say(t,
                "and.b32 %%i, %%t, %u;\nsetp.ne.u32 %%p, %%i, 0;\n"
                "selp.b64 %%d%u, 0x7ff%u00000000000%u, 0x4000000000000000, %%p;\n",
                1u << d, d, d % 2 ? 8 : 0, d + 1);
        say(t, "%s;\nst.global.f64 [%%x+%u], %%d%c;\n", forms[n], n * 768,
            strchr(strchr(forms[n], ' ') + (forms[n][0] == '@' ? 4 : 0), 'd')[1]);
    }
    say(t, "ret;\n}\n");
}

TEST(nan_of_products_and_sums) {
    static text t;
    static uint64_t expected[SUM_BYTES * 2 / 8], found[SUM_BYTES * 2 / 8];
    const char *const configurations[] = {MACHINE ",jit=0", MACHINE ",jit=always",
                                          MACHINE ",jit=avx2"};
    say_fused(&t);
    for (unsigned way = 0; way < 3; way++) {
        begin_as(configurations[way]);
        run_sums(&t, way ? found : expected);
        if (way)
            assert_memory_equal(found, expected, sizeof found);
    }
}

/* A product may have any NaN until its bits matter; the integers that a guard puts in its place are
 * no NaN, whose bits they may have. */
TEST(integers_in_the_place_of_products) {
    const char *const configurations[] = {MACHINE ",jit=0", MACHINE ",jit=always",
                                          MACHINE ",jit=avx2"};
    for (unsigned n = 0; n < 3; n++) {
        uint32_t words[64];
        begin_as(configurations[n]);
        count_up(words, 64);
        run(WORD("", "cvt.rn.f32.u32 %r3, %r1;\nmul.f32 %r2, %r3, 0fC0000000;\n"
                     "setp.ge.u32 %p1, %r1, 3;\n@%p1 cvt.rzi.s32.f32 %r2, %r2;\n"),
            1, 50, words, 64);
        for (uint32_t i = 0; i < 50; i++) {
            const float product = (float)i * -2;
            uint32_t bits;
            memcpy(&bits, &product, sizeof bits);
            assert_int_equal(words[i], i < 3 ? bits : (uint32_t)-2 * i);
        }
    }
}

/* ---- branches that become guards ---- */

#define BRANCHES                                                                                   \
    "and.b32 %r3, %r1, 3;\nsetp.lt.u32 %p1, %r3, 2;\nsetp.eq.u32 %p2, %r3, 1;\n"                   \
    "mov.u32 %r2, 5;\nmov.u32 %r4, 7;\n@%p1 bra L1;\nadd.u32 %r2, %r2, %r1;\n"                     \
    "xor.b32 %r4, %r4, %r2;\nbra L2;\nL1:\nmul.lo.u32 %r2, %r2, %r1;\nL2:\n"      /* two sides */  \
    "@!%p2 bra L3;\nadd.u32 %r4, %r4, 100;\nL3:\n"                                /* one */        \
    "@%p2 bra L4;\nsetp.eq.u32 %p2, %r3, 3;\n@%p2 add.u32 %r4, %r4, 1000;\nL4:\n" /* changes %p2   \
                                                                                   */              \
    "add.u32 %r2, %r2, %r4;\n"

/* A GPU has one NaN, whose low bits choose the last lane; the processor keeps those of the operand.
 */
TEST(a_shuffle_by_what_is_no_number) {
    static const char by_nan[] =
        WORD("", "neg.f32 %r3, %r1;\nshfl.sync.idx.b32 %r2, %r1, %r3, 31, -1;\n");
    static const char *const configurations[] = {MACHINE ",jit=0", MACHINE ",jit=always",
                                                 MACHINE ",jit=avx2"};
    for (unsigned way = 0; way < 3; way++) {
        uint32_t words[32];
        begin_as(configurations[way]);
        for (uint32_t n = 0; n < 32; n++)
            words[n] = 0xffc00000 + n;
        run(by_nan, 1, 32, words, 32);
        for (unsigned n = 0; n < 32; n++)
            assert_int_equal(words[n], 0xffc0001f);
    }
}

TEST(short_branches) {
    const char *const configurations[] = {MACHINE ",jit=0", MACHINE ",jit=always",
                                          MACHINE ",jit=avx2"};
    for (unsigned n = 0; n < 3; n++) {
        uint32_t words[64];
        begin_as(configurations[n]);
        count_up(words, 64);
        run(WORD("", BRANCHES), 1, 50, words, 64);
        for (uint32_t i = 0; i < 50; i++) {
            const uint32_t low = i % 4;
            const uint32_t a = low < 2 ? 5 * i : 5 + i, b = low < 2 ? 7 : 7 ^ a;
            assert_int_equal(words[i], a + b + (low == 1 ? 100 : 0) + (low == 3 ? 1000 : 0));
        }
    }
}

/* ---- barriers ---- */

/* Each thread mixes its word with one of another warp, round after round. Warps whose number is odd
 * part in each round; the second one ends after 50 rounds, and every 64th round has another
 * barrier.
 */
static const char rounds[] =
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<20>; .reg .b64 %d<4>; .reg .pred %p<8>;\n"
         ".shared .align 4 .b8 s[4096];\nld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n"
         "mov.u32 %r2, %ntid.x;\nmov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r4, %r3, %r2, %r1;\n"
         "mul.wide.u32 %d2, %r4, 4;\nadd.u64 %d1, %d1, %d2;\nld.global.u32 %r5, [%d1];\n"
         "mov.u32 %r6, s;\nshl.b32 %r7, %r1, 2;\nadd.u32 %r6, %r6, %r7;\nadd.u32 %r7, %r1, 37;\n"
         "rem.u32 %r7, %r7, %r2;\nshl.b32 %r7, %r7, 2;\nmov.u32 %r8, s;\nadd.u32 %r7, %r7, %r8;\n"
         "shr.u32 %r9, %r1, 5;\nmov.u32 %r10, 0;\nst.shared.u32 [%r6], %r5;\nbar.sync 0;\n"
         "L:\nld.shared.u32 %r11, [%r7];\nsetp.eq.u32 %p1, %r9, 1;\nsetp.gt.u32 %p2, %r10, 50;\n"
         "and.pred %p1, %p1, %p2;\n@%p1 bra E;\nand.b32 %r12, %r9, %r11;\nand.b32 %r12, %r12, 1;\n"
         "setp.eq.u32 %p3, %r12, 0;\n@%p3 bra M;\nmad.lo.u32 %r5, %r5, 1664525, %r10;\n"
         "ld.volatile.shared.u32 %r13, [%r6];\nadd.u32 %r5, %r5, %r13;\nM:\n"
         "mad.lo.u32 %r5, %r5, 22695477, %r11;\nbar.sync 0;\nst.shared.u32 [%r6], %r5;\n"
         "and.b32 %r12, %r10, 63;\nsetp.ne.u32 %p4, %r12, 0;\n@%p4 bra N;\nbar.sync 3;\nN:\n"
         "bar.sync 0;\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p5, %r10, ROUNDS;\n@%p5 bra L;\nE:\n"
         "st.global.u32 [%d1], %r5;\nret;\n}\n";

/* Machine code goes from one warp to the next at barriers: with warps of fewer lanes, with others
 * that have ended, and with rounds that are more than a warp's turn. */
static void check_rounds(unsigned threads, const char *count) {
    enum { BLOCKS = 3, MOST = 3 * 1024 };
    static const char *const ways[] = {"jit=0", "jit=always", "jit=avx2"};
    static uint32_t words[3][MOST];
    char kernel[sizeof rounds + 16], configuration[64];
    const char *mark = strstr(rounds, "ROUNDS");
    snprintf(kernel, sizeof kernel, "%.*s%s%s", (int)(mark - rounds), rounds, count, mark + 6);
    for (unsigned n = 0; n < 3; n++) {
        snprintf(configuration, sizeof configuration, "%s,%s", MACHINE, ways[n]);
        begin_as(configuration);
        count_up(words[n], MOST);
        run(kernel, BLOCKS, threads, words[n], MOST);
        assert_memory_equal(words[n], words[0], sizeof words[n]);
    }
}

TEST(warps_that_wait_for_each_other) {
    static const unsigned threads[] = {64, 96, 256, 200, 1000, 1024};
    for (unsigned n = 0; n < sizeof threads / sizeof *threads; n++)
        check_rounds(threads[n], "200");
    check_rounds(128, "70000");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_system_that_refuses_executable_memory), /* before CUDA is used */
        C(options_decide_what_is_made),
        C(a_level_is_chosen),
        C(a_level_that_the_processor_lacks),
        C(copies_are_no_operations),
        C(a_loop_that_becomes_hot),
        C(many_blocks_that_take_turns),
        C(many_small_launches),
        C(accesses_of_any_pattern),
        C(an_access_beyond_the_end),
        C(rows_at_the_ends),
        C(sums_of_addresses),
        C(elements_of_all_sizes),
        C(nan_of_products_and_sums),
        C(integers_in_the_place_of_products),
        C(a_shuffle_by_what_is_no_number),
        C(short_branches),
        C(warps_that_wait_for_each_other),
    };
    return RUN(tests);
}
