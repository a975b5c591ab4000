/* What profiles count, in kernels whose counts can be computed by hand. */
#include "alone.h"
#include "profiled.h"

/* Nothing is written at exit: the last configuration has no profile. */
static int begin_profile(void **state) {
    (void)state;
    return begin_with(MACHINE ",profile=1");
}

static int end_profile(void **state) {
    int leaks = end_in_context(state);
    acu_sim_reset(MACHINE);
    return leaks;
}

#define PROFILED_TEST(name) cmocka_unit_test_setup_teardown(name, begin_profile, end_profile)

/* Runs the kernel of one pointer on memory of its own. */
static void run_one(const char *text, const char *name, unsigned blocks, unsigned threads) {
    CUmodule module = load_text(text);
    CUdeviceptr at;
    void *args[] = {&at};
    OK(cuMemAlloc(&at, PROFILED_BYTES));
    OK(cuMemsetD8(at, 0, PROFILED_BYTES));
    OK(launch(module, name, blocks, threads, args));
    OK(cuCtxSynchronize());
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

static acu_sim_profile profile_of(const char *kernel) {
    acu_sim_profile profile = {.size = sizeof profile};
    assert_int_equal(acu_sim_profile_get(kernel, &profile), 0);
    return profile;
}

/* Compares all counts, by their names. */
static void expect_counts(const char *kernel, acu_sim_profile expected) {
    const acu_sim_profile found = profile_of(kernel);
    const unsigned long long *is = &found.launches, *should = &expected.launches;
    size_t count = (sizeof found - offsetof(acu_sim_profile, launches)) / sizeof *is;
    for (size_t n = 0; n < count; n++)
        if (is[n] != should[n])
            print_error("%s: member %zu behind `launches` is %llu and not %llu\n", kernel, n, is[n],
                        should[n]);
    assert_memory_equal(is, should, count * sizeof *is);
}

static void run_all(void) {
    for (size_t n = 0; n < PROFILED_COUNT; n++)
        run_one(profiled_kernels[n].text, profiled_kernels[n].name, PROFILED_BLOCKS,
                PROFILED_THREADS);
    for (size_t n = 0; n < PROFILED_COUNT; n++)
        expect_counts(profiled_kernels[n].name, profiled_kernels[n].counts);
}

TEST(counts_by_hand) {
    run_all();
}

TEST(counts_by_hand_on_one_worker) {
    begin_with(MACHINE ",profile=1,seed=7");
    run_all();
}

/* Many blocks, on as many workers as there are processors, and on one. */
TEST(counts_do_not_depend_on_workers) {
    acu_sim_profile many[PROFILED_COUNT];
    for (size_t n = 0; n < PROFILED_COUNT; n++) {
        run_one(profiled_kernels[n].text, profiled_kernels[n].name, 128, PROFILED_THREADS);
        many[n] = profile_of(profiled_kernels[n].name);
        assert_int_equal(many[n].warp_instructions,
                         profiled_kernels[n].counts.warp_instructions * 64);
    }
    begin_with(MACHINE ",profile=1,seed=7");
    for (size_t n = 0; n < PROFILED_COUNT; n++) {
        run_one(profiled_kernels[n].text, profiled_kernels[n].name, 128, PROFILED_THREADS);
        expect_counts(profiled_kernels[n].name, many[n]);
    }
}

TEST(checks_do_not_change_counts) {
    begin_with(MACHINE ",profile=1,check=memory,sync");
    run_all();
}

/* ---- accesses of some lanes ---- */

TEST(a_warp_of_eight_lanes) {
    run_one(PROFILED_TEXT("k", PROFILED_COALESCED), "k", 1, 40);
    expect_counts("k", (acu_sim_profile){.launches = 1,
                                         .warp_instructions = 28,
                                         .thread_instructions = 40 * 14,
                                         .load_requests = 2,
                                         .load_sectors = 5,
                                         .load_ideal = 5,
                                         .store_requests = 2,
                                         .store_sectors = 5,
                                         .store_ideal = 5});
}

/* The guard keeps half of the lanes from the load; the instruction counts for all. */
TEST(a_guarded_load) {
    run_one(PROFILED_TEXT("k", "mov.u32 %r8, 0;\nadd.u64 %d4, %d1, %d2;\n"
                               "setp.lt.u32 %p1, %r1, 16;\n@%p1 ld.global.u32 %r8, [%d4];\n"),
            "k", 1, 64);
    expect_counts("k", (acu_sim_profile){.launches = 1,
                                         .warp_instructions = 2 * 16,
                                         .thread_instructions = 64 * 16,
                                         .load_requests = 1,
                                         .load_sectors = 2,
                                         .load_ideal = 2,
                                         .store_requests = 2,
                                         .store_sectors = 8,
                                         .store_ideal = 8});
}

/* The words of 32 lanes lie beside each other; two words of a lane are 128 bytes apart. */
TEST(local_memory) {
    run_one(PROFILED_TEXT("k", ".local .align 8 .b8 l[64];\nmov.u64 %d4, l;\n"
                               "st.local.u32 [%d4], %r1;\nst.local.v2.u32 [%d4 + 8], {%r1, %r2};\n"
                               "ld.local.u32 %r8, [%d4];\n"),
            "k", 1, 64);
    acu_sim_profile p = profile_of("k");
    assert_int_equal(p.local_requests, 2 * 3);
    assert_int_equal(p.local_sectors, 2 * (4 + 8 + 4));
    assert_int_equal(p.load_requests, 0);
}

/* ---- ways to access memory ---- */

TEST(generic_addresses) {
    run_one(PROFILED_TEXT("k", "mad.lo.u32 %r3, %r1, 8, %r9;\ncvt.u64.u32 %d4, %r3;\n"
                               "cvta.shared.u64 %d4, %d4;\nst.u32 [%d4], %r1;\n"
                               "cvta.global.u64 %d5, %d1;\nadd.u64 %d5, %d5, %d2;\n"
                               "ld.u32 %r8, [%d5];\n"),
            "k", 1, 32);
    acu_sim_profile p = profile_of("k");
    assert_int_equal(p.shared_store_requests, 1);
    assert_int_equal(p.shared_store_conflicts, 1);
    assert_int_equal(p.load_sectors, 4);
    assert_int_equal(p.store_requests, 1);
}

TEST(asynchronous_copies) {
    run_one(PROFILED_TEXT("k", "mad.lo.u32 %r3, %r1, 16, %r9;\nmul.wide.u32 %d4, %r2, 16;\n"
                               "add.u64 %d4, %d1, %d4;\ncp.async.cg.shared.global [%r3], [%d4], "
                               "16;\ncp.async.wait_all;\nmov.u32 %r8, 0;\n"),
            "k", 1, 32);
    acu_sim_profile p = profile_of("k");
    assert_int_equal(p.load_requests, 1);
    assert_int_equal(p.load_sectors, 16);
    assert_int_equal(p.shared_store_requests, 1);
    assert_int_equal(p.shared_store_wavefronts, 4);
    assert_int_equal(p.shared_store_conflicts, 0);
}

/* Each lane has the address of a row of 16 bytes: in a row of 128 bytes, 8 rows are in one bank. */
TEST(matrices) {
#define ROWS(bytes)                                                                                \
    PROFILED_TEXT("k", "mad.lo.u32 %r3, %r1, " bytes ", %r9;\n"                                    \
                       "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r8}, [%r3];\n")
    run_one(ROWS("16"), "k", 1, 32);
    assert_int_equal(profile_of("k").shared_load_wavefronts, 4);
    assert_int_equal(profile_of("k").shared_load_conflicts, 0);
    acu_sim_profile_reset();
    run_one(ROWS("128"), "k", 1, 32);
    assert_int_equal(profile_of("k").shared_load_wavefronts, 32);
    assert_int_equal(profile_of("k").shared_load_conflicts, 28);
}

/* Constants and barriers have their own ways. */
TEST(what_is_no_request) {
    run_one(".version 8.0\n.target sm_80\n.address_size 64\n.const .u32 c[4] = {1, 2, 3, 4};\n"
            ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<4>;\n.shared .b64 m;\n"
            "mbarrier.init.shared.b64 [m], 32;\nld.const.u32 %r1, [c];\nmov.u32 %r2, %tid.x;\n"
            "bar.sync 0;\nmbarrier.arrive.shared.b64 %d1, [m];\nret;\n}\n",
            "k", 1, 32);
    expect_counts("k", (acu_sim_profile){
                           .launches = 1, .warp_instructions = 6, .thread_instructions = 6 * 32});
}

/* ---- branches ---- */

TEST(a_switch) {
    run_one(PROFILED_TEXT("k", "mov.u32 %r8, 0;\nand.b32 %r3, %r1, 1;\n"
                               "T: .branchtargets A, B;\nbrx.idx %r3, T;\nA:\nadd.u32 %r8, %r8, "
                               "1;\nB:\nshr.u32 %r3, %r1, 5;\nU: .branchtargets C, D;\n"
                               "brx.idx %r3, U;\nC:\nadd.u32 %r8, %r8, 1;\nD:\n"),
            "k", 1, 64);
    acu_sim_profile p = profile_of("k");
    assert_int_equal(p.branches, 4);
    assert_int_equal(p.divergent_branches, 2);
    assert_int_equal(p.warp_instructions, 2 * (12 + 6) + 1);
}

/* What a called function does counts for the kernel; lanes that have returned do not. */
TEST(functions_and_exits) {
    run_one(".version 8.0\n.target sm_80\n.address_size 64\n"
            ".func (.reg .u32 r) f(.reg .u32 a) {\nadd.u32 r, a, 1;\nret;\n}\n"
            ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .pred %p;\nmov.u32 %r1, %tid.x;\n"
            "setp.ge.u32 %p, %r1, 8;\n@%p exit;\ncall (%r2), f, (%r1);\nret;\n}\n",
            "k", 1, 32);
    expect_counts("k", (acu_sim_profile){.launches = 1,
                                         .warp_instructions = 3 + 2 + 2,
                                         .thread_instructions = 3 * 32 + 8 * (2 + 2)});
}

/* ---- occupancy ---- */

/* An H100 has room for 64 warps on each of its 132 multiprocessors. */
TEST(occupancy) {
    int multiprocessors = 0;
    OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    const char *empty = HEAD ".entry k(.param .u64 p) {\nret;\n}\n";
    /* One block of two warps, on one multiprocessor. */
    run_one(empty, "k", 1, 64);
    assert_float_equal(profile_of("k").occupancy, 2.0 / 64, 1e-9);
    /* 2 blocks of 32 warps fill each multiprocessor. */
    acu_sim_profile_reset();
    run_one(empty, "k", (unsigned)multiprocessors * 2, 1024);
    assert_float_equal(profile_of("k").occupancy, 1, 1e-9);
    /* A half of the multiprocessors has a block more, alone, for the same time: 2.5 / 1.5 blocks.
     */
    acu_sim_profile_reset();
    run_one(empty, "k", (unsigned)multiprocessors * 2 + (unsigned)multiprocessors / 2, 1024);
    assert_float_equal(profile_of("k").occupancy, 2.5 / 1.5 / 2, 1e-9);
    /* The mean of two launches. */
    run_one(empty, "k", (unsigned)multiprocessors * 2, 1024);
    assert_float_equal(profile_of("k").occupancy, (2.5 / 1.5 / 2 + 1) / 2, 1e-9);
}

/* ---- the functions ---- */

TEST(kernels_add_up) {
    acu_sim_profile small = {.size = sizeof small - 1}, large = {.size = sizeof large + 8};
    assert_int_equal(acu_sim_profile_get("coalesced", NULL), 1);
    assert_int_equal(acu_sim_profile_get("coalesced", &small), 1);
    assert_int_equal(acu_sim_profile_get("coalesced", &large), 500);
    assert_int_equal(acu_sim_profile_get(NULL, &large), 500);
    assert_int_equal(large.size, sizeof large + 8);
    run_one(profiled_kernels[0].text, "coalesced", 2, 64);
    run_one(profiled_kernels[0].text, "coalesced", 2, 64);
    run_one(profiled_kernels[1].text, "misaligned", 2, 64);
    assert_int_equal(acu_sim_profile_get("coalesced", &large), 0);
    assert_int_equal(large.size, sizeof large);
    assert_int_equal(large.launches, 2);
    assert_int_equal(large.load_sectors, 2 * 16);
    assert_int_equal(profile_of(NULL).launches, 3);
    assert_int_equal(profile_of(NULL).load_sectors, 2 * 16 + 20);
    assert_int_equal(acu_sim_profile_get("strided_2", &large), 500);
    acu_sim_profile_reset();
    assert_int_equal(acu_sim_profile_get(NULL, &large), 500);
}

/* Two launches of a graph with one node. */
TEST(graphs) {
    CUmodule module = load_text(profiled_kernels[0].text);
    CUdeviceptr at;
    void *args[] = {&at};
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUDA_KERNEL_NODE_PARAMS params = {.gridDimX = PROFILED_BLOCKS,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = PROFILED_THREADS,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = args};
    OK(cuMemAlloc(&at, PROFILED_BYTES));
    OK(cuModuleGetFunction(&params.func, module, "coalesced"));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(profile_of("coalesced").launches, 2);
    assert_int_equal(profile_of("coalesced").load_sectors, 2 * 16);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

TEST(profiles_are_off) {
    acu_sim_profile profile = {.size = sizeof profile};
    begin_with(MACHINE);
    run_one(profiled_kernels[0].text, "coalesced", 2, 64);
    assert_int_equal(acu_sim_profile_get("coalesced", &profile), 500);
}

/* A kernel that fails counts up to there. */
TEST(a_kernel_that_fails) {
    CUmodule module = load_text(HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r1; .reg .b64 %d1;\n"
                                     "mov.u64 %d1, 16;\nld.global.u32 %r1, [%d1];\nret;\n}\n");
    CUdeviceptr at = 0;
    void *args[] = {&at};
    OK(launch(module, "k", 1, 32, args));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    assert_int_equal(profile_of("k").warp_instructions, 2);
    assert_int_equal(profile_of("k").load_requests, 1);
    begin_profile(NULL);
}

/* ---- what is written at exit ---- */

static void launch_nothing(void) {}

static void launch_one(void) {
    run_one(profiled_kernels[0].text, profiled_kernels[0].name, PROFILED_BLOCKS, PROFILED_THREADS);
}

static void launch_with_source(void) {
    run_one(HEAD ".file 1 \"kernels/sum.cu\"\n.entry k(.param .u64 p) {\n.reg .b32 %r<9>;\n"
                 ".loc 1 17 3\nmov.u32 %r1, %tid.x;\nadd.u32 %r1, %r1, 1;\n.loc 1 18 3\nret;\n}\n",
            "k", 1, 32);
}

TEST(a_table) {
    run_alone(MACHINE ",profile=1", run_all);
    for (const char *line = said; *line; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= 100);
    expect_said(
        "kernel                         launches   threads divergent  ld s/r  st s/r conflicts "
        "atomics occup.\n");
    expect_said(
        "strided_32                            1      1920         -    32.0     4.0         0    "
        "   -     3%\n"
        "  hottest: line 7 of the PTX 6.7%, line 8 of the PTX 6.7%, line 9 of the PTX 6.7%\n"
        "  loads: line 19 of the PTX, ld.global.u32: 32.0 sectors per request, 4.0 would do\n");
    expect_said(
        "conflicts_32                          1      2304         -       -     4.0       248    "
        "   -     3%\n");
    expect_said(
        "  conflicts: line 18 of the PTX, st.shared.u32: 32.0 wavefronts per request, 1.0 would "
        "do\n");
    expect_said("  divergence: line 22 of the PTX, bra: 75.0% of the branches part lanes\n");
    expect_said(
        "  atomics: line 17 of the PTX, atom.global.add.u32: 32.0 lanes of a request hit one "
        "address\n");
    run_alone(MACHINE ",profile=1", launch_nothing);
    assert_string_equal(said, "anycuda: simulator: profile: no kernel was executed\n");
}

TEST(a_file) {
    char path[SCRATCH_SIZE], name[SCRATCH_SIZE + 8], option[SCRATCH_SIZE + 64], text[4096];
    int folder = mkstemp(scratch_path(path));
    assert_true(folder >= 0);
    snprintf(name, sizeof name, "%s.json", path);
    snprintf(option, sizeof option, MACHINE ",profile=%s", name);
    run_alone(option, launch_one);
    assert_string_equal(said, "");
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_non_null(strstr(text, "{\"version\": 1, \"kernels\": [\n    {\"kernel\": \"coalesced\", "
                                 "\"launches\": 1, \"occupancy\": 0.0312, "
                                 "\"warp_instructions\": 56, \"thread_instructions\": 1792, "));
    assert_non_null(strstr(text, "{\"ptx_line\": 18, \"opcode\": \"ld.global.u32\", "
                                 "\"warp_instructions\": 4, \"thread_instructions\": 128, "
                                 "\"load_requests\": 4, \"load_sectors\": 16, "
                                 "\"load_ideal\": 16}"));
    close(folder);
    unlink(path);
    unlink(name);
    run_alone(MACHINE ",profile=/nonexistent/profile.json", launch_one);
    assert_string_equal(said, "anycuda: ANYCUDA_SIM: profile=/nonexistent/profile.json: the file "
                              "cannot be written: No such file or directory\n");
}

TEST(a_line_of_the_source) {
    run_alone(MACHINE ",profile=1", launch_with_source);
    expect_said("  hottest: sum.cu:17 66.7%, sum.cu:18 33.3%\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* The first three tests make processes, which must be before this one uses CUDA. */
        cmocka_unit_test(a_table),
        cmocka_unit_test(a_file),
        cmocka_unit_test(a_line_of_the_source),
        PROFILED_TEST(counts_by_hand),
        PROFILED_TEST(counts_by_hand_on_one_worker),
        PROFILED_TEST(counts_do_not_depend_on_workers),
        PROFILED_TEST(checks_do_not_change_counts),
        PROFILED_TEST(a_warp_of_eight_lanes),
        PROFILED_TEST(a_guarded_load),
        PROFILED_TEST(local_memory),
        PROFILED_TEST(generic_addresses),
        PROFILED_TEST(asynchronous_copies),
        PROFILED_TEST(matrices),
        PROFILED_TEST(what_is_no_request),
        PROFILED_TEST(a_switch),
        PROFILED_TEST(functions_and_exits),
        PROFILED_TEST(occupancy),
        PROFILED_TEST(kernels_add_up),
        PROFILED_TEST(graphs),
        PROFILED_TEST(profiles_are_off),
        PROFILED_TEST(a_kernel_that_fails),
    };
    return RUN(tests);
}
