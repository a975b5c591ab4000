/* Lanes of a warp that go apart, wait for each other, and call functions meanwhile. */
#include "ptx_test.h"

#include <stdio.h>

#define FUNCTIONS                                                                                  \
    HEAD ".func (.param .b32 r) try_lock(.param .b64 at) {\n"                                      \
         ".reg .b64 %d<2>; .reg .b32 %r<2>;\nld.param.u64 %d1, [at];\n"                            \
         "atom.global.cas.b32 %r1, [%d1], 0, 1;\nst.param.b32 [r], %r1;\nret;\n}\n"                \
         ".func (.param .b32 r) read(.param .b64 at) {\n"                                          \
         ".reg .b64 %d<2>; .reg .b32 %r<2>;\nld.param.u64 %d1, [at];\n"                            \
         "atom.global.or.b32 %r1, [%d1], 0;\nst.param.b32 [r], %r1;\nret;\n}\n"
#define CALL(result, function, address)                                                            \
    "{ .param .b64 a; .param .b32 b;\nst.param.b64 [a], " address ";\n"                            \
    "call.uni (b), " function ", (a);\nld.param.b32 " result ", [b];\n}\n"
#define KERNEL                                                                                     \
    ".entry k(.param .u64 p) {\n.reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<8>;\n"            \
    "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\n"                    \
    "add.u64 %d3, %d1, %d2;\nmov.u32 %r2, 0;\n"

/* Each lane adds 1 to a number that a lock guards, and says how often it tried to take the lock.
 * The loop that tries has no atomic operation of its own: it calls one. */
TEST(a_lock_in_a_function_is_taken_soon) {
    uint32_t words[64] = {0};
    run(FUNCTIONS KERNEL "T:\nadd.u32 %r2, %r2, 1;\n" CALL(
            "%r3", "try_lock",
            "%d1") "setp.ne.u32 %p1, %r3, 0;\n"
                   "setp.lt.u32 %p2, %r2, 50000;\nand.pred %p3, %p1, %p2;\n@%p3 bra T;\n"
                   "ld.volatile.global.u32 %r4, [%d1+4];\nadd.u32 %r4, %r4, 1;\n"
                   "st.volatile.global.u32 [%d1+4], %r4;\nmembar.gl;\natom.global.exch.b32 %r5, "
                   "[%d1], 0;\n"
                   "st.global.u32 [%d3+128], %r2;\nret;\n}\n",
        1, 32, words, 64);
    assert_int_equal(words[1], 32);
    for (unsigned lane = 0; lane < 32; lane++)
        assert_in_range(words[32 + lane], 1, 49999);
}

/* Four lanes spin in loops of their own. Each waits until the one behind it has gone on, which the
 * last one does after it has gone round its own loop a thousand times. */
TEST(all_that_spin_have_their_turn) {
    uint32_t words[8] = {0};
#define WAITS(lane, own, next)                                                                     \
    "setp.ne.u32 %p1, %r1, " lane ";\n@%p1 bra N" lane ";\nW" lane ":\nadd.u32 %r2, %r2, 1;\n"     \
    "add.u64 %d4, %d1, " next                                                                      \
    ";\n" CALL("%r3", "read",                                                                      \
               "%d4") "setp.eq.u32 %p2, %r3, 0;\n"                                                 \
                      "setp.lt.u32 %p3, %r2, 100000;\nand.pred %p2, %p2, %p3;\n@%p2 bra W" lane    \
                      ";\n"                                                                        \
                      "bra S;\nN" lane ":\n"
    run(FUNCTIONS KERNEL WAITS("0", "0", "4") WAITS("1", "4", "8")
            WAITS("2", "8", "12") "L:\nadd.u32 %r2, %r2, 1;\n" CALL(
                "%r3", "read",
                "%d1") "setp.lt.u32 %p2, %r2, 1000;\n"
                       "@%p2 bra L;\nS:\natom.global.exch.b32 %r5, [%d3], %r2;\nret;\n}\n",
        1, 4, words, 8);
    for (unsigned lane = 0; lane < 4; lane++)
        assert_in_range(words[lane], 1, 99999);
}

/* Two blocks, one after the other where one thread executes both: the first one's lanes wait for
 * the second in a loop in which they go apart and meet again each time. */
TEST(lanes_that_wait_apart_give_others_a_turn) {
    uint32_t words[64] = {0};
    acu_sim_reset(MACHINE ",threads=1");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    run(HEAD KERNEL "mov.u32 %r6, %ctaid.x;\nsetp.ne.u32 %p1, %r6, 0;\n@%p1 bra S;\n"
                    "and.b32 %r7, %r1, 1;\nsetp.eq.u32 %p2, %r7, 0;\nW:\nadd.u32 %r2, %r2, 1;\n"
                    "@%p2 bra A;\nld.volatile.global.u32 %r3, [%d1+128];\nbra M;\n"
                    "A:\nld.volatile.global.u32 %r3, [%d1+128];\nM:\nsetp.eq.u32 %p3, %r3, 0;\n"
                    "setp.lt.u32 %p4, %r2, 100000;\nand.pred %p3, %p3, %p4;\n@%p3 bra W;\n"
                    "st.global.u32 [%d3], %r2;\nret;\nS:\nmov.u32 %r8, 1;\n"
                    "st.volatile.global.u32 [%d1+128], %r8;\nret;\n}\n",
        2, 32, words, 64);
    for (unsigned lane = 0; lane < 32; lane++)
        assert_in_range(words[lane], 1, 9999);
}

/* Lanes leave a loop one after the other, each time after those that stay have voted; those that
 * have left wait at an operation of the whole warp, and must not do it before all are there. What
 * keeps lanes apart until they vote is a loop that may wait for others. */
TEST(who_waits_with_another_mask_has_not_come) {
    uint32_t words[32];
    count_up(words, 32);
    run(WORD("", "mov.u32 %r2, -1;\nmov.u32 %r3, 0;\nL:\nxor.b32 %r4, %r1, %r3;\n"
                 "mul.lo.u32 %r4, %r4, 37;\nA:\natom.global.add.u32 %r5, [%d3], 0;\n"
                 "setp.eq.u32 %p2, %r4, 0;\n@%p2 bra V;\nsub.u32 %r4, %r4, 1;\nbra A;\nV:\n"
                 "setp.lt.u32 %p1, %r3, %r1;\nvote.sync.ballot.b32 %r2, %p1, %r2;\n@!%p1 bra E;\n"
                 "add.u32 %r3, %r3, 1;\nbra L;\nE:\nredux.sync.add.u32 %r2, %r1, -1;\n"),
        1, 32, words, 32);
    for (unsigned lane = 0; lane < 32; lane++)
        assert_int_equal(words[lane], 31 * 32 / 2);
}

/* A function that is called at two places meets lanes of both at one operation. */
TEST(lanes_of_two_calls_meet_in_a_function) {
    uint32_t words[32] = {0};
#define SUM                                                                                        \
    "{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r1;\ncall.uni (b), sum, (a);\n"           \
    "ld.param.b32 %r3, [b];\n}\n"
    run(HEAD
        ".func (.param .b32 r) sum(.param .b32 x) {\n.reg .b32 %r<3>;\nld.param.u32 %r1, [x];\n"
        "redux.sync.add.u32 %r2, %r1, -1;\nst.param.b32 [r], %r2;\nret;\n}\n" KERNEL
        "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra A;\n" SUM "bra E;\nA:\n" SUM
        "add.u32 %r3, %r3, 1000;\nE:\nst.global.u32 [%d3], %r3;\nret;\n}\n",
        1, 32, words, 32);
    for (unsigned lane = 0; lane < 32; lane++)
        assert_int_equal(words[lane], 31 * 32 / 2 + (lane < 5 ? 1000 : 0));
}

/* nvcc -G reads a packed struct like this. */
TEST(a_register_leads_to_a_parameter_of_a_function) {
    uint32_t words[32] = {0};
    run(HEAD
        ".func (.param .b32 r) pick(.param .align 1 .b8 x[9], .param .b32 n) {\n"
        ".reg .b32 %r<3>; .reg .b64 %d<4>;\nmov.u64 %d1, x;\nld.param.u32 %d2, [n];\n"
        "add.u64 %d1, %d1, %d2;\nld.param.u8 %r1, [%d1+1];\nst.param.b32 [r], "
        "%r1;\nret;\n}\n" KERNEL
        "add.u32 %r3, %r1, 100;\nand.b32 %r4, %r1, 1;\n{ .param .align 1 .b8 a[9]; .param .b32 n;\n"
        ".param .b32 b;\nst.param.b8 [a+7], %r3;\nst.param.b8 [a+8], %r1;\nadd.u32 %r4, %r4, 6;\n"
        "st.param.b32 [n], %r4;\ncall.uni (b), pick, (a, n);\nld.param.b32 %r5, [b];\n}\n"
        "st.global.u32 [%d3], %r5;\nret;\n}\n",
        1, 32, words, 32);
    for (unsigned lane = 0; lane < 32; lane++)
        assert_int_equal(words[lane], lane % 2 ? lane : lane + 100);
}

/* Lanes leave a loop one after the other: what the loop goes on changing stays for them as it was,
 * and what they do not need any more does not matter. */
TEST(what_lanes_leave_a_loop_with_stays) {
    uint32_t words[32] = {0};
    run(HEAD KERNEL "mov.u32 %r3, 1;\nL:\nadd.u32 %r4, %r3, %r2;\nmad.lo.u32 %r3, %r4, 5, 3;\n"
                    "setp.ge.u32 %p1, %r2, %r1;\n@%p1 bra E;\nadd.u32 %r2, %r2, 1;\n"
                    "xor.b32 %r5, %r4, %r2;\nadd.u32 %r3, %r3, %r5;\nbra L;\nE:\n"
                    "mul.lo.u32 %r6, %r2, 100000;\nadd.u32 %r6, %r6, %r3;\n"
                    "st.global.u32 [%d3], %r6;\nret;\n}\n",
        1, 32, words, 32);
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t n = 0, last = 1;
        for (;; n++) {
            const uint32_t sum = last + n;
            last = sum * 5 + 3;
            if (n == lane)
                break;
            last += sum ^ (n + 1);
        }
        assert_int_equal(words[lane], n * 100000 + last);
    }
}

/* Even lanes wait with a value, whose place is free for those that go through a loop meanwhile. */
TEST(what_lanes_wait_with_stays) {
    uint32_t words[32] = {0};
    run(HEAD KERNEL "and.b32 %r3, %r1, 1;\nsetp.ne.u32 %p1, %r3, 0;\nadd.u32 %r4, %r1, 700;\n"
                    "xor.b32 %r5, %r1, 21;\n@%p1 bra A;\nmad.lo.u32 %r2, %r4, 3, %r5;\nbra E;\nA:\n"
                    "mul.lo.u32 %r6, %r1, 11;\nmov.u32 %r7, 0;\nL:\nadd.u32 %r8, %r6, %r7;\n"
                    "mul.lo.u32 %r9, %r8, 3;\nadd.u32 %r6, %r9, 1;\nadd.u32 %r7, %r7, 1;\n"
                    "setp.lt.u32 %p2, %r7, %r1;\n@%p2 bra L;\nmov.u32 %r2, %r6;\nE:\n"
                    "st.global.u32 [%d3], %r2;\nret;\n}\n",
        1, 32, words, 32);
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t expected = lane % 2 ? lane * 11 : (lane + 700) * 3 + (lane ^ 21);
        for (uint32_t n = 0; lane % 2 && n < lane; n++)
            expected = (expected + n) * 3 + 1;
        assert_int_equal(words[lane], expected);
    }
}

#define TO_WORD   "selp.u32 %r2, 1, 0, %p1;\n"
#define HAS_VALUE "setp.ne.u32 %p2, %r3, 0;\n"

/* Each .sync operation with a mask, all lanes having the value 5, and what it gives 32 lanes of
 * which only lane 0 is named. */
typedef struct sync_operation {
    const char *begin, *end; /* before and behind the mask */
    uint32_t result;
} sync_operation;

static const sync_operation operations[] = {
    {"match.any.sync.b32 %r2, %r3, ", ";\n", UINT32_MAX},
    {"match.all.sync.b32 %r2|%p1, %r3, ", ";\n", UINT32_MAX},
    {"match.all.sync.b32 %r2|%p1, %r3, ", ";\n" TO_WORD, 1},
    {HAS_VALUE "vote.sync.all.pred %p1, %p2, ", ";\n" TO_WORD, 1},
    {HAS_VALUE "vote.sync.ballot.b32 %r2, %p2, ", ";\n", UINT32_MAX},
    {"redux.sync.add.u32 %r2, %r3, ", ";\n", 160},
    {"shfl.sync.idx.b32 %r2|%p1, %r3, 1, 31, ", ";\n", 5},
    {"elect.sync %r2|%p1, ", ";\n", 0},
    {"bar.warp.sync ", ";\nmov.u32 %r2, 7;\n", 7},
};

static const char *with_mask(char *text, size_t room, const sync_operation *o, const char *mask) {
    static const char around[] = WORD("", "mov.u32 %r3, 5;\n@");
    const char *at = strchr(around, '@');
    snprintf(text, room, "%.*s%s%s%s%s", (int)(at - around), around, o->begin, mask, o->end,
             at + 1);
    return text;
}

/* A constant mask has no say in who takes part: all do that execute. An H200 was asked. */
TEST(constant_masks_that_do_not_name_who_executes) {
    char text[2000];
    for (size_t n = 0; n < sizeof operations / sizeof *operations; n++) {
        uint32_t words[32] = {0};
        run(with_mask(text, sizeof text, &operations[n], "1"), 1, 32, words, 32);
        for (unsigned lane = 0; lane < 32; lane++)
            if (words[lane] != operations[n].result)
                fail_msg("%s1: lane %u has 0x%x", operations[n].begin, lane, words[lane]);
    }
}

/* Masks that differ, and do not name all lanes which execute, end the kernel with 715, as on an
 * H200. */
TEST(masks_that_do_not_name_who_executes) {
    char text[2000];
    for (size_t n = 0; n < sizeof operations / sizeof *operations; n++) {
        uint32_t words[32];
        for (unsigned lane = 0; lane < 32; lane++)
            words[lane] = UINT32_MAX;
        run(with_mask(text, sizeof text, &operations[n], "%r1"), 1, 32, words, 32);
        for (unsigned lane = 0; lane < 32; lane++)
            assert_int_equal(words[lane], operations[n].result);
        fault_of(with_mask(text, sizeof text, &operations[n], "%r9"), 32, 715);
    }
}

/* A shuffle from lanes that have ended gives 0, as on an H200. */
TEST(what_shuffles_find_in_lanes_that_have_ended) {
    uint32_t words[32];
    for (unsigned lane = 0; lane < 32; lane++)
        words[lane] = 5;
    run(WORD("", "setp.ge.u32 %p1, %r9, 16;\n@%p1 ret;\nadd.u32 %r3, %r9, 1;\n"
                 "shfl.sync.idx.b32 %r2, %r1, %r3, 31, 0xffff;\n"),
        1, 32, words, 32);
    for (unsigned lane = 0; lane < 16; lane++)
        assert_int_equal(words[lane], lane < 15 ? 5 : 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(a_lock_in_a_function_is_taken_soon),
        C(all_that_spin_have_their_turn),
        C(lanes_that_wait_apart_give_others_a_turn),
        C(who_waits_with_another_mask_has_not_come),
        C(lanes_of_two_calls_meet_in_a_function),
        C(a_register_leads_to_a_parameter_of_a_function),
        C(what_lanes_leave_a_loop_with_stays),
        C(what_lanes_wait_with_stays),
        C(constant_masks_that_do_not_name_who_executes),
        C(masks_that_do_not_name_who_executes),
        C(what_shuffles_find_in_lanes_that_have_ended),
    };
    return RUN(tests);
}
