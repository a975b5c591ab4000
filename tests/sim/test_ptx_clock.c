/* Kernels that read clocks, and that wait by them. */
#include "ptx_test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* A kernel of one thread of a block: %d1 is the memory, %d3 a place of 16 bytes for each block. */
#define K(instructions)                                                                            \
    HEAD ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred "       \
         "%p<4>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\nmad.wide.u32 %d3, %r1, 16, "     \
         "%d1;\n" instructions "ret;\n}\n"
/* Waits until so much has gone by, and writes how much that was. */
#define WAIT(clock, time)                                                                          \
    K("mov.u64 %d4, " clock ";\nagain:\nmov.u64 %d5, " clock ";\nsub.u64 %d6, %d5, %d4;\n"         \
      "setp.lt.u64 %p1, %d6, " time ";\n@%p1 bra again;\nst.global.u64 [%d3], %d6;\n")

enum { BLOCKS = 50 };

static void begin_with(const char *more) {
    char configuration[64];
    snprintf(configuration, sizeof configuration, "%s,%s", MACHINE, more);
    acu_sim_reset(configuration);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* With a seed a clock is counted, so a long wait ends soon, and lasts as long each time. */
TEST(a_seed_repeats_waits) {
    static const uint64_t wanted = UINT64_C(10000000000);
    uint64_t first[2 * BLOCKS] = {0}, again[2 * BLOCKS] = {0};
    begin_with("seed=7");
    run(WAIT("%clock64", "10000000000"), BLOCKS, 1, (uint32_t *)first, 4 * BLOCKS);
    begin_with("seed=7");
    run(WAIT("%clock64", "10000000000"), BLOCKS, 1, (uint32_t *)again, 4 * BLOCKS);
    assert_memory_equal(first, again, sizeof first);
    for (unsigned n = 0; n < BLOCKS; n++)
        assert_true(first[2 * n] >= wanted && first[2 * n] < wanted / 10 * 11);
}

TEST(a_seed_counts_nanoseconds) {
    uint64_t waited[2] = {0};
    begin_with("seed=7");
    run(WAIT("%globaltimer", "1000000000"), 1, 1, (uint32_t *)waited, 4);
    assert_true(waited[0] >= 1000000000 && waited[0] < 1100000000);
}

/* Both clocks are the same one, in cycles of the device's rate and in nanoseconds. */
TEST(the_rate_of_the_clock) {
    uint64_t both[2] = {0};
    int khz;
    begin_with("seed=7");
    run(K("mov.u64 %d4, %clock64;\nmov.u64 %d5, %globaltimer;\nmov.u32 %r2, 0;\nagain:\n"
          "mov.u64 %d6, %clock64;\nmov.u64 %d7, %globaltimer;\nadd.u32 %r2, %r2, 1;\n"
          "setp.lt.u32 %p1, %r2, 100000;\n@%p1 bra again;\nsub.u64 %d6, %d6, %d4;\n"
          "sub.u64 %d7, %d7, %d5;\nst.global.u64 [%d3], %d6;\nst.global.u64 [%d3+8], %d7;\n"),
        1, 1, (uint32_t *)both, 4);
    OK(cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0));
    const double rate = (double)both[0] / (double)both[1] * 1e6;
    assert_true(rate > 0.999 * khz && rate < 1.001 * khz);
}

/* Writes one reading, and a later one. */
#define TWICE(clock)                                                                               \
    K("mov.u64 %d4, " clock ";\nmov.u32 %r2, 0;\nagain:\nadd.u32 %r2, %r2, 1;\n"                   \
      "setp.lt.u32 %p1, %r2, 1000;\n@%p1 bra again;\nmov.u64 %d5, " clock                          \
      ";\nst.global.u64 [%d3], %d4;\nst.global.u64 [%d3+8], %d5;\n")

static void goes_on(const char *text) {
    uint64_t first[2] = {0}, second[2] = {0};
    run(text, 1, 1, (uint32_t *)first, 4);
    run(text, 1, 1, (uint32_t *)second, 4);
    assert_true(first[0] < first[1] && first[1] < second[0] && second[0] < second[1]);
}

TEST(clocks_go_on) {
    goes_on(TWICE("%clock64"));
    goes_on(TWICE("%globaltimer"));
    begin_with("seed=7");
    goes_on(TWICE("%clock64"));
    goes_on(TWICE("%globaltimer"));
}

static uint64_t host_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The timer of a GPU is set by the host's. */
TEST(the_timer_is_the_hosts) {
    uint64_t times[2] = {0};
    const uint64_t before = host_time();
    run(TWICE("%globaltimer"), 1, 1, (uint32_t *)times, 4);
    assert_true(before <= times[0] && times[1] <= host_time());
}

/* Blocks that wait let others begin, but not more than the device runs at a time. Words: blocks
 * that run now, and that ran at most. */
static void expect_few_at_a_time(const char *threads) {
    enum { THREADS = 1024, MANY = 3000 };
    uint32_t words[2] = {0};
    int processors, of_each;
    CUfunction function;
    begin_with(threads);
    const char *text =
        K("mov.u32 %r3, %tid.x;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 ret;\n"
          "atom.global.add.u32 %r4, [%d1], 1;\nadd.u32 %r4, %r4, 1;\n"
          "red.global.max.u32 [%d1+4], %r4;\nmov.u64 %d4, 0;\nagain:\nmov.u64 %d5, %clock64;\n"
          "add.u64 %d4, %d4, 1;\nsetp.lt.u64 %p1, %d4, 200;\n@%p1 bra again;\n"
          "red.global.add.u32 [%d1], -1;\n");
    CUmodule module = load_text(text);
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&of_each, function, THREADS, 0));
    OK(cuModuleUnload(module));
    assert_true(processors * of_each < MANY);
    run(text, MANY, THREADS, words, 2);
    assert_int_equal(words[0], 0);
    assert_true(words[1] >= 2 && words[1] <= (unsigned)(processors * of_each));
}

TEST(the_blocks_that_wait_at_a_time) {
    expect_few_at_a_time("threads=1");
    expect_few_at_a_time("threads=2");
    expect_few_at_a_time("threads=8");
}

/* A warp that reads the clock lets the others of its block have their turn before it reads it
 * again, so that all wait at the same time. Words: set by the second warp; how often the first
 * read. */
TEST(the_warps_that_wait_at_a_time) {
    uint32_t words[2] = {0};
    begin_with("threads=1");
    run(K("mov.u32 %r2, 0;\nmov.u32 %r3, %tid.x;\nsetp.ge.u32 %p1, %r3, 32;\n@%p1 bra second;\n"
          "again:\nmov.u64 %d4, %clock64;\nadd.u32 %r2, %r2, 1;\nld.volatile.global.u32 %r4, "
          "[%d1];\n"
          "setp.eq.u32 %p2, %r4, 0;\n@%p2 bra again;\nst.global.u32 [%d1+4], %r2;\nret;\n"
          "second:\nst.volatile.global.u32 [%d1], 1;\n"),
        1, 64, words, 2);
    assert_int_equal(words[0], 1);
    assert_in_range(words[1], 1, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(a_seed_repeats_waits),          C(a_seed_counts_nanoseconds),
        C(the_rate_of_the_clock),         C(clocks_go_on),
        C(the_timer_is_the_hosts),        C(the_blocks_that_wait_at_a_time),
        C(the_warps_that_wait_at_a_time),
    };
    return RUN(tests);
}
