/* Warps that stop at a line, and what is said of them. The process of each test is not debugged, so
 * that they go on; tests/tools/test_gdb.py has those that are. */
#include "alone.h"

/* Runs the kernel "k" of one pointer, whose result nobody looks at. */
static void run_kernel(const char *text, unsigned blocks, unsigned threads) {
    uint32_t words[256] = {0};
    run(text, blocks, threads, words, 256);
}

/* ---- which warps, and when ---- */

/* Line 9 is in a loop of 3 rounds; line 12 is for the second half of a warp. */
static const char loop[] = HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .pred %p<3>;\n"
                                "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nL:\n"
                                "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 3;\n@%p1 bra L;\n"
                                "setp.lt.u32 %p2, %r1, 16;\n@%p2 bra E;\n"
                                "add.u32 %r3, %r1, 100;\nE:\nret;\n}\n";

static void launch_loop(void) {
    run_kernel(loop, 2, 64);
}

static unsigned stops(void) {
    unsigned count = 0;
    for (const char *at = said; (at = strstr(at, "stopped before")); at++)
        count++;
    return count;
}

TEST(once) {
    run_alone(MACHINE ",trap=k:9", launch_loop);
    assert_int_equal(stops(), 1);
    expect_said("anycuda: simulator: kernel \"k\": stopped before add.u32 in line 9 of the PTX; "
                "block (0, 0, 0), warp 0, threads (0, 0, 0) to (31, 0, 0), mask 0xffffffff\n");
    expect_said("  %r2    .u32 0\n");
    /* Nothing is known of what the loop computes behind the line, and of what is behind the loop.
     */
    assert_null(strstr(said, "%r3"));
}

/* The rounds of the first warp, then those of the second one, of the first block. */
TEST(several_times) {
    run_alone(MACHINE ",trap=k:9x4", launch_loop);
    assert_int_equal(stops(), 4);
    expect_said("warp 1, threads (32, 0, 0) to (63, 0, 0), mask 0xffffffff\n");
    expect_said("  %r2    .u32 2\n  %p1    .pred true\n");
    run_alone(MACHINE ",trap=k:9x1000", launch_loop);
    assert_int_equal(stops(), 4 * 3);
}

TEST(some_lanes) {
    run_alone(MACHINE ",trap=k:14", launch_loop);
    assert_int_equal(stops(), 1);
    expect_said("threads (16, 0, 0) to (31, 0, 0), mask 0xffff0000\n");
    expect_said("  %r1    .u32 lane 16: 16, +1 with each lane\n  %r2    .u32 3\n");
    expect_said("  %p2    .pred false\n");
}

/* A line without an instruction stands for the next one; a line behind the kernel for nothing. */
TEST(lines_without_instructions) {
    run_alone(MACHINE ",trap=k:8", launch_loop);
    expect_said("stopped before add.u32 in line 9 of the PTX");
    run_alone(MACHINE ",trap=k:18", launch_loop);
    assert_string_equal(said, "anycuda: ANYCUDA_SIM: trap=k:18: kernel \"k\", and what it calls, "
                              "have no instruction in that line of the PTX\n");
    run_alone(MACHINE ",trap=k:2", launch_loop);
    assert_string_equal(said, "anycuda: ANYCUDA_SIM: trap=k:2: kernel \"k\", and what it calls, "
                              "have no instruction in that line of the PTX\n");
}

TEST(other_kernels) {
    run_alone(MACHINE ",trap=kernel:9", launch_loop);
    assert_string_equal(
        said, "anycuda: ANYCUDA_SIM: trap: no kernel of the name kernel was executed from PTX\n");
    run_alone(MACHINE, launch_loop);
    assert_string_equal(said, "");
}

static void launch_twice(void) {
    launch_loop();
    begin_with(MACHINE ",trap=k:9");
    launch_loop();
    begin_with(MACHINE);
    launch_loop();
}

TEST(another_configuration) {
    run_alone(MACHINE ",trap=k:14", launch_twice);
    assert_int_equal(stops(), 2);
    expect_said("stopped before add.u32 in line 14 of the PTX");
    expect_said("stopped before add.u32 in line 9 of the PTX");
}

/* ---- lines of the source ---- */

/* The kernel's name is that of `void sum(int *)`; line 7 comes in two rows, and a loop enters the
 * second one. */
static void launch_source(void) {
    CUmodule module =
        load_text(HEAD ".file 1 \"/code/sum.cu\"\n.file 2 \"/code/asum.cu\"\n"
                       ".entry _Z3sumPi(.param .u64 p) {\n.reg .b32 %r<9>; .reg .pred %p<2>;\n"
                       ".loc 1 7 1\nmov.u32 %r1, 5;\nadd.u32 %r2, %r1, 1;\n.loc 2 7 1\n"
                       "add.u32 %r3, %r2, 1;\n.loc 1 8 1\nadd.u32 %r3, %r2, 1;\n.loc 1 7 9\nL:\n"
                       "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n@%p1 bra L;\nret;\n}\n");
    CUdeviceptr at = 0;
    void *args[] = {&at};
    OK(launch(module, "_Z3sumPi", 1, 32, args));
    OK(cuCtxSynchronize());
}

TEST(a_line_of_the_source) {
    run_alone(MACHINE ",trap=sum:sum.cu:7x9", launch_source);
    assert_int_equal(stops(), 3);
    expect_said("stopped before mov.u32 in line 9 of the PTX (/code/sum.cu:7); block");
    expect_said("stopped before add.u32 in line 17 of the PTX (/code/sum.cu:7); block");
    run_alone(MACHINE ",trap=_Z3sumPi:code/sum.cu:8x9", launch_source);
    assert_int_equal(stops(), 1);
    run_alone(MACHINE ",trap=sum:asum.cu:7x9", launch_source);
    assert_int_equal(stops(), 1);
    run_alone(MACHINE ",trap=um:sum.cu:7", launch_source);
    expect_said("no kernel of the name um was executed");
    run_alone(MACHINE ",trap=sum:sum.cu:9", launch_source);
    expect_said(
        "trap=sum:sum.cu:9: the PTX of kernel \"_Z3sumPi\" has no instruction of that line: "
        "is it compiled with -lineinfo, and does the line do something?\n");
}

/* The names of `ns::sum<float>(Values)`, of `sum(ns::Values)` in a namespace without a name of
 * `ns`, where it is static, and of `sum(Values)`. */
static void launch_named(const char *name) {
    char text[512];
    snprintf(text, sizeof text,
             HEAD ".file 1 \"/code/sum.cu\"\n.entry %s(.param .u64 p) {\n.reg .b32 %%r<9>;\n"
                  ".loc 1 7 1\nmov.u32 %%r1, 5;\nret;\n}\n",
             name);
    CUdeviceptr at = 0;
    void *args[] = {&at};
    OK(launch(load_text(text), name, 1, 32, args));
    OK(cuCtxSynchronize());
}

static void launch_names(void) {
    launch_named("_ZN2ns3sumIfEEvNS_6ValuesE");
    launch_named("_ZN2ns12_GLOBAL__N_1L3sumE6Values");
    launch_named("_Z3sum6Values");
    launch_named("_ZN4asum7anotherEv");
}

TEST(names_with_namespaces) {
    run_alone(MACHINE ",trap=sum:8x9", launch_names);
    assert_int_equal(stops(), 3);
    run_alone(MACHINE ",trap=ns::sum:8x9", launch_names);
    assert_int_equal(stops(), 2);
    run_alone(MACHINE ",trap=ns::sum:sum.cu:7x9", launch_names);
    assert_int_equal(stops(), 2);
    run_alone(MACHINE ",trap=asum::another:code/sum.cu:7", launch_names);
    assert_int_equal(stops(), 1);
    run_alone(MACHINE ",trap=ns:8", launch_names);
    expect_said("no kernel of the name ns was executed");
    run_alone(MACHINE ",trap=Values:8", launch_names);
    expect_said("no kernel of the name Values was executed");
    run_alone(MACHINE ",trap=s::sum:8", launch_names);
    expect_said("no kernel of the name s::sum was executed");
    run_alone(MACHINE ",trap=ns::sum::8", launch_names);
    expect_said("KERNEL:FILE:LINE");
}

/* Line 8 does nothing but call what was inlined, which calls the same of another file. */
static void launch_inlined(void) {
    run_kernel(HEAD ".file 1 \"/code/sum.cu\"\n.file 2 \"/code/add.h\"\n"
                    ".entry k(.param .u64 p) {\n.reg .b32 %r<9>;\n.loc 1 7 1\nmov.u32 %r1, 5;\n"
                    ".loc 2 40 3, function_name $L__info_string0, inlined_at 1 8 5\n"
                    "add.u32 %r2, %r1, 1;\n"
                    ".loc 2 50 3, function_name $L__info_string1, inlined_at 2 40 3\n"
                    "add.u32 %r3, %r1, 1;\n.loc 1 9 1\nadd.u32 %r4, %r1, 1;\nret;\n}\n",
               1, 32);
}

TEST(a_line_that_calls_what_was_inlined) {
    run_alone(MACHINE ",trap=k:sum.cu:8x9", launch_inlined);
    assert_int_equal(stops(), 1);
    expect_said("stopped before add.u32 in line 11 of the PTX (/code/sum.cu:8");
    run_alone(MACHINE ",trap=k:add.h:50x9", launch_inlined);
    assert_int_equal(stops(), 1);
    expect_said("stopped before add.u32 in line 13 of the PTX (/code/sum.cu:8");
}

/* ---- registers ---- */

/* Of one that is declared as bits the instructions say what it is. */
static void launch_types(void) {
    run_kernel(HEAD
               ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;\n"
               ".reg .u16 %h; .reg .s32 minus; .reg .f64 %fd; .reg .b16 %half; .reg .f32 %f;\n"
               "mov.u32 %r1, %laneid;\nmov.b32 %r2, 0f3fc00000;\nadd.rn.f32 %r3, %r2, %r2;\n"
               "mov.b32 %r4, 0x12345678;\nmov.b32 %r5, 77;\nmov.b64 %d1, 0x123456789abc;\n"
               "sub.s32 minus, 0, 3;\nmov.u16 %h, 65535;\nmov.f64 %fd, 0d3FB999999999999A;\n"
               "cvt.rn.f16.f32 %half, %r3;\nsetp.ge.u32 %p1, %r1, 30;\n"
               "setp.ne.u32 %p2, %r5, 77;\ncvt.rn.f32.u32 %f, %r1;\nmul.rn.f32 %f, %f, "
               "0f3f000000;\nret;\n}\n",
               1, 32);
}

TEST(values_by_type) {
    run_alone(MACHINE ",trap=k:21", launch_types);
    expect_said("  %r2    .f32 1.5\n  %r3    .f32 3\n  %r4    .b32 0x12345678\n  %r5    .u32 77\n"
                "  %d1    .b64 0x123456789abc\n  %p1    .pred true in lanes 30-31\n"
                "  %p2    .pred false\n  %h     .u16 65535\n  minus  .s32 -3\n"
                "  %fd    .f64 0.10000000000000001\n  %half  .f16 3\n  %f     .f32\n"
                "      lane  0: 0 0.5 1 1.5 2 2.5 3 3.5\n");
}

/* Integers that grow evenly are told by the first one; others lane by lane. */
static void launch_patterns(void) {
    run_kernel(HEAD ".entry k(.param .u64 p) {\n.reg .u32 %r<9>; .reg .s64 %d<9>; .reg .pred %p;\n"
                    "mov.u32 %r1, %laneid;\nmul.lo.u32 %r2, %r1, %r1;\nsub.u32 %r3, 0, %r1;\n"
                    "cvt.s64.s32 %d1, %r3;\nmul.lo.s64 %d1, %d1, 3;\nand.b32 %r4, %r1, 9;\n"
                    "setp.eq.u32 %p, %r4, 9;\n@%p bra E;\nret;\nE:\nmov.u32 %r5, %r1;\nret;\n}\n",
               1, 32);
}

TEST(values_that_grow) {
    run_alone(MACHINE ",trap=k:13", launch_patterns);
    expect_said("  %r2    .u32\n      lane  0: 0 1 4 9 16 25 36 49\n");
    expect_said("  %r3    .u32\n      lane  0: 0 4294967295 4294967294 ");
    expect_said("  %d1    .s64 lane 0: 0, -3 with each lane\n");
    /* Lanes 9, 11, 13, 15, 25, 27, 29, 31. */
    run_alone(MACHINE ",trap=k:17", launch_patterns);
    expect_said("  %r1    .u32 lane 9: 9, +1 with each lane\n");
    expect_said("  %r2    .u32\n      lane  8: - 81 - 121 - 169 - 225\n      lane 24: - 625");
    expect_said("  %d1    .s64 lane 9: -27, -3 with each lane\n");
}

/* Registers of a kernel share memory, but not in one that stops: what nobody needs any more is
 * there, too. A product that a sum has taken in is not, since nothing computes it. */
static void launch_dead_values(void) {
    run_kernel(HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d1;\n"
                    "ld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1];\nadd.u32 %r2, %r1, 2;\n"
                    "add.u32 %r3, %r2, 3;\nadd.u32 %r4, %r3, 4;\nld.global.f32 %f1, [%d1];\n"
                    "mul.f32 %f2, %f1, %f1;\nadd.f32 %f3, %f2, 0f3f800000;\n"
                    "st.global.f32 [%d1], %f3;\nst.global.u32 [%d1], %r4;\nret;\n}\n",
               1, 1);
}

TEST(values_that_nobody_needs) {
    run_alone(MACHINE ",trap=k:14", launch_dead_values);
    expect_said("  %r1    .u32 0\n  %r2    .u32 2\n  %r3    .u32 5\n  %r4    .u32 9\n"
                "  %f1    .f32 0\n  %f3    .f32 1\n  %d1    .u64 0x");
}

/* A function, which a kernel calls, has registers of its own, and calls itself. */
static void launch_function(void) {
    uint32_t words[64] = {0};
    run(HEAD ".func (.reg .u32 r) f(.reg .u32 a) {\n.reg .u32 %b; .reg .u32 %own; .reg .pred %p;\n"
             "mov.u32 r, 1;\nsetp.eq.u32 %p, a, 0;\n@%p ret;\nsub.u32 %b, a, 1;\n"
             "mul.lo.u32 %own, a, 10;\ncall (r), f, (%b);\nadd.u32 r, r, %own;\nret;\n}\n"
             ".entry k(.param .u64 p) {\n.reg .u32 %r<9>; .reg .b64 %d1;\nld.param.u64 %d1, [p];\n"
             "mov.u32 %r1, 3;\ncall (%r2), f, (%r1);\nst.global.u32 [%d1], %r2;\nret;\n}\n",
        1, 1, words, 64);
    if (words[0] != 61) /* 1 + 10 + 20 + 30 */
        fprintf(stderr, "the result is %u\n", words[0]);
}

TEST(functions) {
    run_alone(MACHINE ",trap=k:12x9", launch_function);
    assert_int_equal(stops(), 3);
    expect_said("stopped before add.u32 in line 12 of the PTX of f; block (0, 0, 0), warp 0, "
                "threads (0, 0, 0) to (0, 0, 0), mask 0x00000001\n");
    expect_said("  %b     .u32 0\n  %own   .u32 10\n");
    expect_said("  %b     .u32 2\n  %own   .u32 30\n");
    assert_null(strstr(said, "the result is"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once),
        cmocka_unit_test(several_times),
        cmocka_unit_test(some_lanes),
        cmocka_unit_test(lines_without_instructions),
        cmocka_unit_test(other_kernels),
        cmocka_unit_test(another_configuration),
        cmocka_unit_test(a_line_of_the_source),
        cmocka_unit_test(names_with_namespaces),
        cmocka_unit_test(a_line_that_calls_what_was_inlined),
        cmocka_unit_test(values_by_type),
        cmocka_unit_test(values_that_grow),
        cmocka_unit_test(values_that_nobody_needs),
        cmocka_unit_test(functions),
    };
    return RUN(tests);
}
