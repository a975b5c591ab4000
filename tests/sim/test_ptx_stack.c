/* Local memory that kernels allocate: alloca, stacksave, stackrestore. */
#include "ptx_test.h"

#include <stdio.h>
#include <string.h>

enum { THREADS = 64 };

/* Each thread allocates four times its number, and 12 at a multiple of 64, fills both, and adds up
 * what it finds. */
TEST(allocations_of_each_thread) {
    uint32_t words[THREADS];
    for (unsigned n = 0; n < THREADS; n++)
        words[n] = n;
    run(WORD("", "cvt.u64.u32 %d7, %r1;\nshl.b64 %d7, %d7, 2;\nalloca.u64 %d4, %d7;\n"
                 "alloca.u64 %d5, 12, 64;\nst.local.u32 [%d5], 7;\nst.local.u32 [%d5+8], %r1;\n"
                 "mov.u32 %r3, 0;\nmov.b64 %d6, %d4;\n"
                 "F: setp.ge.u32 %p1, %r3, %r1;\n@%p1 bra G;\nst.local.u32 [%d6], %r3;\n"
                 "add.u64 %d6, %d6, 4;\nadd.u32 %r3, %r3, 1;\nbra F;\n"
                 "G: ld.local.u32 %r2, [%d5+8];\nld.local.u32 %r5, [%d5];\nadd.u32 %r2, %r2, %r5;\n"
                 "mov.u32 %r3, 0;\nmov.b64 %d6, %d4;\n"
                 "H: setp.ge.u32 %p1, %r3, %r1;\n@%p1 bra I;\nld.local.u32 %r5, [%d6];\n"
                 "add.u32 %r2, %r2, %r5;\nadd.u64 %d6, %d6, 4;\nadd.u32 %r3, %r3, 1;\nbra H;\n"
                 "I: cvt.u32.u64 %r5, %d5;\nand.b32 %r5, %r5, 63;\nshl.b32 %r5, %r5, 16;\n"
                 "add.u32 %r2, %r2, %r5;\ncvt.u32.u64 %r5, %d4;\nand.b32 %r5, %r5, 7;\n"
                 "shl.b32 %r5, %r5, 24;\nadd.u32 %r2, %r2, %r5;\n"),
        1, THREADS, words, THREADS);
    for (unsigned n = 0; n < THREADS; n++)
        assert_int_equal(words[n], n * (n - 1) / 2 + n + 7);
}

/* The warps of a block begin one after the other in machine code, and have a frame there, too. */
TEST(allocations_of_many_warps) {
    static uint32_t words[1024];
    count_up(words, 1024);
    run(WORD("", "alloca.u64 %d4, 16;\nst.local.u32 [%d4+12], %r1;\nld.local.u32 %r2, [%d4+12];\n"
                 "add.u32 %r2, %r2, 1;\n"),
        1, 1024, words, 1024);
    for (unsigned n = 0; n < 1024; n++)
        assert_int_equal(words[n], n + 1);
}

/* A loop allocates far more than the stack has, and gives it back each time. */
TEST(the_stack_is_restored) {
    uint32_t words[THREADS] = {0};
    run(WORD("",
             "mov.u32 %r3, 0;\nstacksave.u32 %r7;\n"
             "F: stacksave.u32 %r4;\nalloca.u32 %r5, 400;\nst.local.u32 [%r5+396], %r3;\n"
             "alloca.u32 %r6, 400, 16;\nst.local.u32 [%r6], %r3;\nld.local.u32 %r2, [%r5+396];\n"
             "stackrestore.u32 %r4;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 1000;\n"
             "@%p1 bra F;\nstacksave.u32 %r8;\nsub.u32 %r8, %r8, %r7;\nadd.u32 %r2, %r2, %r8;\n"),
        1, THREADS, words, THREADS);
    for (unsigned n = 0; n < THREADS; n++)
        assert_int_equal(words[n], 999);
}

/* What a function allocates is free when it returns, for the lanes that called it; recursion and
 * what the caller has do not touch each other. */
static const char calls[] =
    HEAD ".func (.param .u32 r) f(.param .u32 n);\n"
         ".func (.param .u32 r) f(.param .u32 n) {\n.reg .b32 %r<9>; .reg .b64 %d<3>; "
         ".reg .pred %p<2>;\nld.param.u32 %r1, [n];\nalloca.u64 %d1, 48;\n"
         "st.local.u32 [%d1], %r1;\nst.local.u32 [%d1+44], %r1;\nmov.u32 %r2, 0;\n"
         "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra E;\nsub.u32 %r3, %r1, 1;\n{\n.param .u32 a;\n"
         ".param .u32 b;\nst.param.u32 [a], %r3;\ncall (b), f, (a);\nld.param.u32 %r2, [b];\n}\n"
         "E: ld.local.u32 %r4, [%d1];\nld.local.u32 %r5, [%d1+44];\nadd.u32 %r2, %r2, %r4;\n"
         "add.u32 %r2, %r2, %r5;\nst.param.u32 [r], %r2;\nret;\n}\n"
         ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<3>;\n"
         "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d1, %r1, 4, %d1;\n"
         "alloca.u64 %d2, 16;\nst.local.u32 [%d2], %r1;\nmov.u32 %r6, 0;\n"
         "L: and.b32 %r2, %r1, 7;\n{\n.param .u32 a;\n.param .u32 b;\nst.param.u32 [a], %r2;\n"
         "call (b), f, (a);\nld.param.u32 %r3, [b];\n}\nadd.u32 %r6, %r6, 1;\n"
         "setp.lt.u32 %p1, %r6, 100;\n@%p1 bra L;\nld.local.u32 %r4, [%d2];\n"
         "shl.b32 %r4, %r4, 8;\nadd.u32 %r3, %r3, %r4;\nst.global.u32 [%d1], %r3;\nret;\n}\n";

TEST(functions_that_allocate) {
    uint32_t words[THREADS] = {0};
    run(calls, 1, THREADS, words, THREADS);
    for (unsigned n = 0; n < THREADS; n++)
        assert_int_equal(words[n], n * 256 + (n % 8) * (n % 8 + 1));
}

TEST(a_stack_that_is_too_small) {
    uint32_t words[1] = {0};
    fault(WORD("", "alloca.u64 %d7, 70000;\nmov.u32 %r2, 0;\n"), CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD("", "mov.u64 %d4, -1;\nalloca.u64 %d7, %d4;\nmov.u32 %r2, 0;\n"),
          CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD("", "mov.u64 %d4, 1048576;\nstackrestore.u64 %d4;\nmov.u32 %r2, 0;\n"),
          CUDA_ERROR_ILLEGAL_ADDRESS);
    fault(WORD("", "F: alloca.u64 %d7, 8;\nbra F;\nmov.u32 %r2, 0;\n"), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 131072));
    run(WORD("", "alloca.u64 %d7, 70000;\nst.local.u32 [%d7+69996], 3;\n"
                 "ld.local.u32 %r2, [%d7+69996];\n"),
        1, 1, words, 1);
    assert_int_equal(words[0], 3);
}

TEST(what_ptxas_refuses) {
    static const char *const lines[] = {
        "alloca.u64 %d7, %d4, 3;\n",
        "alloca.u64 %d7, %d4, 0;\n",
        "alloca.u64 %d7, %d4, 16777216;\n",
        "alloca.u64 %d7, %d4, %r2;\n",
        "alloca.u64 %d7, %r2, 16;\n",
        "alloca.u64 %d7;\n",
        "alloca.b64 %d7, %d4;\n",
        "alloca %d7, %d4;\n",
        "stacksave.u64 %r2;\n",
        "stacksave.b64 %d7;\n",
        "stacksave.u64 %d7, %d4;\n",
        "stackrestore.u64 16;\n",
        "stackrestore.u32 %r2, %r3;\n",
    };
    for (size_t n = 0; n < sizeof lines / sizeof *lines; n++) {
        static char text[4000];
        CUmodule module = NULL;
        snprintf(text, sizeof text, "%s%s%s",
                 WORD("", "") "\n.entry other() {\n.reg .b32 %r<9>; "
                              ".reg .b64 %d<9>;\n",
                 lines[n], "ret;\n}\n");
        SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, text));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(allocations_of_each_thread), C(allocations_of_many_warps), C(the_stack_is_restored),
        C(functions_that_allocate),    C(a_stack_that_is_too_small), C(what_ptxas_refuses),
    };
    return RUN(tests);
}
