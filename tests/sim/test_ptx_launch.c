/* Kernels that launch kernels, and the device runtime that they call for it. */
#include "ptx_test.h"

#include <string.h>

/* ---- PTX ---- */

#define RUNTIME(name, returns, params)                                                             \
    ".extern .func (.param ." returns " r) __cudaCDP2" name " (" params ");\n"
#define DECLARATIONS                                                                               \
    HEAD ".pragma \"anycuda: with libraries\";\n" RUNTIME(                                         \
        "GetParameterBufferV2", "b64",                                                             \
        ".param .b64 a, .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], "                    \
        ".param .b32 d") RUNTIME("LaunchDeviceV2", "b32", ".param .b64 a, .param .b64 b")          \
        RUNTIME("GetLastError", "b32", "") RUNTIME("PeekAtLastError", "b32", "")                   \
            RUNTIME("GetErrorName", "b64", ".param .b32 a")                                        \
                RUNTIME("GetErrorString", "b64", ".param .b32 a")

/* The parameters of calls. */
#define PARAMS ".param .b64 a, q; .param .align 4 .b8 b[12], c[12]; .param .b32 d, e;\n"
#define REGISTERS                                                                                  \
    "{\n.reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<8>;\nld.param.u64 %d1, [p];\n" PARAMS

/* Gets a buffer for a kernel, a grid of so many blocks, and so many threads; to %d2. */
#define BUFFER(kernel, blocks, threads)                                                            \
    "mov.u64 %d2, " kernel ";\nst.param.b64 [a], %d2;\nst.param.b32 [b], " blocks                  \
    ";\nst.param.b32 [b+4], 1;\nst.param.b32 [b+8], 1;\nst.param.b32 [c], " threads                \
    ";\nst.param.b32 [c+4], 1;\nst.param.b32 [c+8], 1;\nst.param.b32 [d], 0;\n"                    \
    "call (q), __cudaCDP2GetParameterBufferV2, (a, b, c, d);\nld.param.b64 %d2, [q];\n"
/* Launches what is in the buffer, and has the error in %r1. */
#define LAUNCH(stream)                                                                             \
    "st.param.b64 [a], %d2;\nst.param.b64 [q], " stream                                            \
    ";\ncall (e), __cudaCDP2LaunchDeviceV2, (a, q);\nld.param.b32 %r1, [e];\n"
/* Launches a kernel of a pointer and a number, and has the error in %r1. */
#define CHILD(kernel, number, stream)                                                              \
    "mov.u64 %d2, " kernel ";\nmov.u32 %r2, " number ";\nmov.u64 %d3, " stream                     \
    ";\ncall (%r1), start, (%d2, %d1, %r2, %d3);\n"
#define STORE(at, what) "st.global.u32 [%d1+" #at "], " what ";\n"
#define LAST_ERROR      "call (e), __cudaCDP2GetLastError, ();\nld.param.b32 %r3, [e];\n"

/* A kernel that writes down its number: at the end of a list behind its length. */
#define NOTE                                                                                       \
    ".visible .entry note(.param .u64 p, .param .u32 n) {\n.reg .b32 %r<5>; .reg .b64 %d<5>;\n"    \
    "ld.param.u64 %d1, [p];\nld.param.u32 %r2, [n];\natom.global.add.u32 %r1, [%d1], 1;\n"         \
    "mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d1, %d2;\nst.global.u32 [%d2+4], %r2;\nret;\n}\n"
#define K ".visible .entry k(.param .u64 p) "

/* The function that launches for CHILD(). */
#define START                                                                                      \
    ".func (.reg .b32 r) start(.reg .b64 kernel, .reg .b64 p, .reg .b32 n, .reg .b64 stream) {\n"  \
    ".reg .b32 %r<9>; .reg .b64 %d<9>;\n" PARAMS                                                   \
        BUFFER("kernel", "1", "1") "st.u64 [%d2], p;\nst.u32 [%d2+8], n;\n" LAUNCH(                \
            "stream") "mov.b32 r, %r1;\nret;\n}\n"
#define DECLARED DECLARATIONS START

/* ---- launches ---- */

/* A child sees what was written before its launch, has its own grid, and ends before its parent
 * does. */
TEST(a_child) {
    uint32_t words[12] = {0};
    run(DECLARED
        ".visible .entry child(.param .u64 p, .param .u32 n) {\n.reg .b32 %r<9>; "
        ".reg .b64 %d<5>;\nld.param.u64 %d1, [p];\nld.param.u32 %r2, [n];\n"
        "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %ctaid.x;\nmad.lo.u32 %r3, %r4, 4, %r3;\n"
        "mul.wide.u32 %d2, %r3, 4;\nadd.u64 %d2, %d1, %d2;\nld.global.u32 %r5, [%d1];\n"
        "add.u32 %r5, %r5, %r2;\nadd.u32 %r5, %r5, %r3;\n"
        "st.global.u32 [%d2+16], %r5;\nret;\n}\n" K REGISTERS STORE(0, "1000")
            BUFFER("child", "2", "4") "st.u64 [%d2], %d1;\nst.u32 [%d2+8], 7;\n" LAUNCH("0")
                STORE(4, "%r1") "ret;\n}\n",
        1, 1, words, 12);
    assert_true(words[0] == 1000 && words[1] == 0);
    for (uint32_t n = 0; n < 8; n++)
        assert_int_equal(words[4 + n], 1000 + 7 + n);
}

/* Children run in the order of the launches, a tail after all others and their children, whatever
 * their streams are. */
TEST(the_order_of_children) {
    uint32_t words[12] = {0};
    run(DECLARED NOTE
        ".visible .entry middle(.param .u64 p, .param .u32 n) " REGISTERS CHILD("note", "21", "3")
            CHILD("note", "20", "0") "ret;\n}\n" K REGISTERS CHILD("note", "40", "3")
                CHILD("note", "10", "0") CHILD("middle", "0", "4") CHILD("note", "30", "0")
                    CHILD("note", "41", "3") "ret;\n}\n",
        1, 1, words, 12);
    static const uint32_t order[] = {6, 10, 20, 21, 30, 40, 41};
    assert_memory_equal(words, order, sizeof order);
}

/* Each thread of each block launches. */
TEST(children_of_many_threads) {
    uint32_t words[300] = {0}, sum = 0;
    run(DECLARED NOTE K REGISTERS
        "mov.u32 %r5, %tid.x;\nmov.u32 %r6, %ctaid.x;\n"
        "mad.lo.u32 %r5, %r6, 64, %r5;\n" CHILD("note", "%r5", "0") "ret;\n}\n",
        4, 64, words, 300);
    assert_int_equal(words[0], 256);
    for (size_t n = 1; n <= 256; n++)
        sum += words[n];
    assert_int_equal(sum, 255 * 256 / 2);
}

/* A kernel that launches itself until its number is 0, in this stream. */
#define AGAIN(stream)                                                                              \
    DECLARED ".visible .entry again(.param .u64 p, .param .u32 n) " REGISTERS                      \
             "atom.global.add.u32 %r9, [%d1], 1;\nld.param.u32 %r4, [n];\n"                        \
             "setp.eq.u32 %p1, %r4, 0;\n@%p1 ret;\nsub.u32 %r4, %r4, 1;\n" CHILD(                  \
                 "again", "%r4", stream) "ret;\n}\n" K REGISTERS CHILD("again", "5000", "0")       \
                 STORE(4, "%r1") "ret;\n}\n"

TEST(children_of_children) {
    uint32_t words[2] = {0, 9}, tail[2] = {0, 9};
    run(AGAIN("0"), 1, 1, words, 2);
    assert_true(words[0] == 5001 && words[1] == 0);
    run(AGAIN("3"), 1, 1, tail, 2);
    assert_true(tail[0] == 5001 && tail[1] == 0);
}

/* Launches with a buffer that the kernel asks for by its size, as cudaGetParameterBuffer() does. */
#define BUFFER_OF(bytes)                                                                           \
    "st.param.b64 [a], 8;\nst.param.b64 [q], " bytes                                               \
    ";\ncall (q), __cudaCDP2GetParameterBuffer, (a, q);\nld.param.b64 %d4, [q];\n"
#define LAUNCH_KERNEL(kernel, buffer, threads)                                                     \
    "mov.u64 %d5, " kernel ";\nst.param.b64 [a], %d5;\nst.param.b64 [q], " buffer                  \
    ";\nst.param.b32 [b], 2;\nst.param.b32 [b+4], 1;\nst.param.b32 [b+8], 1;\n"                    \
    "st.param.b32 [c], " threads                                                                   \
    ";\nst.param.b32 [c+4], 1;\nst.param.b32 [c+8], 1;\nst.param.b32 [d], 0;\n"                    \
    "st.param.b64 [s], 0;\n"                                                                       \
    "call (e), __cudaCDP2LaunchDevice, (a, q, b, c, d, s);\nld.param.b32 %r1, [e];\n"
#define OF_BYTES                                                                                   \
    DECLARED RUNTIME("GetParameterBuffer", "b64", ".param .b64 a, .param .b64 b")                  \
        RUNTIME("LaunchDevice", "b32",                                                             \
                ".param .b64 a, .param .b64 b, .param .align 4 .b8 c[12], "                        \
                ".param .align 4 .b8 d[12], .param .b32 e, .param .b64 f")                         \
            RUNTIME("DeviceGetSharedMemConfig", "b32", ".param .b64 a") NOTE K REGISTERS           \
        ".param .b64 s;\n"

/* A buffer of bytes is launched as often as the kernel likes, with what is in it at the launch. A
 * wrong configuration is refused, and a kernel without parameters needs no buffer. */
TEST(a_buffer_of_bytes) {
    uint32_t words[24] = {0};
    run(OF_BYTES BUFFER_OF("12") "st.u64 [%d4], %d1;\nst.u32 [%d4+8], 7;\n" LAUNCH_KERNEL(
            "note", "%d4", "3")
            STORE(80, "%r1") "st.u32 [%d4+8], 8;\n" LAUNCH_KERNEL("note", "%d4", "1")
                STORE(84, "%r1") LAUNCH_KERNEL("note", "%d4", "2000") STORE(88, "%r1") "ret;\n}\n",
        1, 1, words, 24);
    static const uint32_t list[] = {8, 7, 7, 7, 7, 7, 7, 8, 8};
    assert_memory_equal(words, list, sizeof list);
    assert_true(words[20] == 0 && words[21] == 0 && words[22] == cudaErrorInvalidConfiguration);
}

TEST(buffers_that_are_none) {
    uint32_t words[2] = {9, 9};
    run(OF_BYTES BUFFER_OF("1000000") "setp.eq.u64 %p1, %d4, 0;\nselp.b32 %r1, 1, 0, %p1;\n" STORE(
            0, "%r1") LAST_ERROR STORE(4, "%r3") "ret;\n}\n",
        1, 1, words, 2);
    assert_true(words[0] == 1 && words[1] == cudaErrorMemoryAllocation);
    fault(OF_BYTES LAUNCH_KERNEL("note", "%d1", "1") "ret;\n}\n", 700);
    fault(OF_BYTES LAUNCH_KERNEL("0", "0", "1") "ret;\n}\n", 700);
}

TEST(banks_of_shared_memory) {
    uint32_t word = 9;
    run(OF_BYTES "st.param.b64 [a], %d1;\ncall (e), __cudaCDP2DeviceGetSharedMemConfig, (a);\n"
                 "ret;\n}\n",
        1, 1, &word, 1);
    assert_int_equal(word, cudaSharedMemBankSizeFourByte);
}

static void c_function(const acu_sim_launch *launch, void *const *args) {
    uint32_t *to = acu_sim_at(launch, *(uint32_t **)args[0], 8);
    to[1] = *(const uint32_t *)args[1] + launch->block[0];
}

/* A C function can stand for a child, too. */
TEST(a_child_of_c) {
    uint32_t words[2] = {0};
    assert_int_equal(acu_sim_register("of_c", c_function), 0);
    run(DECLARED
        ".visible .entry of_c(.param .u64 p, .param .u32 n) {\ntrap;\n}\n" K REGISTERS CHILD(
            "of_c", "41", "0") "ret;\n}\n",
        1, 1, words, 2);
    assert_int_equal(words[1], 42);
}

/* ---- errors ---- */

#define BOUNDED ".visible .entry bounded().maxntid 64, 1, 1 {\nret;\n}\n"

/* A wrong configuration has a buffer, is refused when it is launched, and is an error of the thread
 * that did that. */
TEST(a_wrong_configuration) {
    uint32_t words[10] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
    run(DECLARED BOUNDED K REGISTERS
        "mov.u32 %r5, %tid.x;\nmul.wide.u32 %d5, %r5, 20;\nadd.u64 %d1, %d1, %d5;\n"
        "mad.lo.u32 %r5, %r5, 1024, 1;\n" /* 1 or 1025 threads */
        BUFFER("bounded", "1",
               "%r5") "setp.eq.u64 %p1, %d2, 0;\nselp.u32 %r4, 1, 0, %p1;\n" STORE(0, "%r4")
            LAUNCH("0") STORE(4, "%r1") "call (e), __cudaCDP2PeekAtLastError, ();\nld.param.b32 "
                                        "%r3, [e];\n" STORE(8, "%r3") LAST_ERROR STORE(12, "%r3")
                                            LAST_ERROR STORE(16, "%r3") "ret;\n}\n",
        1, 2, words, 10);
    static const uint32_t found[] = {0, 0, 0, 0, 0, 0, 9, 9, 9, 0};
    assert_memory_equal(words, found, sizeof found);
    uint32_t more[6] = {7, 7, 7, 7, 7, 7};
    run(DECLARED BOUNDED K REGISTERS BUFFER("bounded", "0", "1") LAUNCH("0") STORE(0, "%r1")
            BUFFER("bounded", "1", "0") LAUNCH("0") STORE(4, "%r1") BUFFER("bounded", "1", "65")
                LAUNCH("0") LAST_ERROR STORE(8, "%r3") BUFFER("bounded", "1", "64")
                    LAST_ERROR STORE(12, "%r3") LAUNCH("99") STORE(16, "%r1") LAUNCH("0")
                        STORE(20, "%r1") "ret;\n}\n",
        1, 1, more, 6);
    static const uint32_t results[] = {9, 9, 9, 0, 1, 0};
    assert_memory_equal(more, results, sizeof results);
}

/* A grid has as many tails as the limit of pending launches says, which is at least 32. */
TEST(the_limit_of_tails) {
    uint32_t words[40] = {0};
    OK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 1));
    run(DECLARED NOTE K REGISTERS "mov.u32 %r6, 0;\nONCE_MORE:\n" CHILD(
            "note", "1", "3") "add.u32 %r6, %r6, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra "
                              "ONCE_MORE;\n" STORE(152, "%r6") STORE(156, "%r1") "ret;\n}\n",
        1, 1, words, 40);
    assert_true(words[0] == 32 && words[38] == 33 && words[39] == 69);
    OK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048));
}

/* The texts of errors are in memory that kernels read. */
TEST(texts_of_errors) {
    uint32_t words[24] = {0};
#define TEXT(function, error, at)                                                                  \
    "mov.u32 %r1, " error ";\nst.param.b32 [d], %r1;\ncall (q), __cudaCDP2" function               \
    ", (d);\nld.param.b64 %d2, [q];\nadd.u64 %d3, %d1, " at ";\n"                                  \
    "COPY" at ": ld.u8 %r2, [%d2];\nst.u8 [%d3], %r2;\nadd.u64 %d2, %d2, 1;\n"                     \
    "add.u64 %d3, %d3, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra COPY" at ";\n"
    run(DECLARED K REGISTERS TEXT("GetErrorName", "1", "0") TEXT("GetErrorString", "1", "32")
            TEXT("GetErrorName", "12345", "64") "ret;\n}\n",
        1, 1, words, 24);
    assert_string_equal((char *)words, "cudaErrorInvalidValue");
    assert_string_equal((char *)(words + 8), "invalid argument");
    assert_string_equal((char *)(words + 16), "unrecognized error code");
}

/* What a child does wrong, all grids have done. */
TEST(faults) {
    fault(DECLARED
          ".visible .entry bad(.param .u64 p, .param .u32 n) {\n"
          ".reg .b64 %d1; mov.u64 %d1, 16; st.global.u32 [%d1], 1;\nret;\n}\n" K REGISTERS CHILD(
              "bad", "0", "0") "ret;\n}\n",
          700);
    fault(DECLARED K REGISTERS "st.param.b64 [a], 0;\nst.param.b32 [b], 1;\nst.param.b32 [d], 0;\n"
                               "call (q), __cudaCDP2GetParameterBufferV2, (a, b, b, d);\nret;\n}\n",
          700);
    fault(DECLARED K REGISTERS "mov.u64 %d2, 0;\n" LAUNCH("0") "ret;\n}\n", 700);
}

static void no_function(const acu_sim_launch *launched, void *const *args) {
    (void)launched;
    (void)args;
}

/* What is not simulated is refused by name: here, or where the child would be launched. */
TEST(what_is_refused) {
    static const char needs_more[] = DECLARED
        ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n"
        ".visible .entry child(.param .u64 p, .param .u32 n) {\n" PARAMS
        "call (e), cudaDeviceSynchronize, ();\nret;\n}\n" K REGISTERS CHILD("child", "0",
                                                                            "0") "ret;\n}\n";
    CUmodule module = NULL;
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuModuleLoadData(&module, needs_more));
    expect_reason("the simulator has no function 'cudaDeviceSynchronize'");
    OK(acu_sim_register("child", no_function));
    OK(cuModuleLoadData(&module, needs_more));
    OK(acu_sim_register("child", NULL));
    CUdeviceptr at;
    void *args[] = {&at};
    OK(cuMemAlloc(&at, 64));
    OK(launch(module, "k", 1, 1, args));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuCtxSynchronize());
    acu_sim_reset(MACHINE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* ---- what else kernels call ---- */

#define MORE                                                                                       \
    DECLARED RUNTIME("GetDevice", "b32", ".param .b64 a")                                          \
        RUNTIME("GetDeviceCount", "b32", ".param .b64 a") RUNTIME("RuntimeGetVersion", "b32",      \
                                                                  ".param .b64 a")                 \
            RUNTIME("DeviceGetAttribute", "b32", ".param .b64 a, .param .b32 b, .param .b32 c")    \
                RUNTIME("DeviceGetLimit", "b32", ".param .b64 a, .param .b32 b")                   \
                    RUNTIME("FuncGetAttributes", "b32", ".param .b64 a, .param .b64 b")            \
                        RUNTIME("OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "b32",       \
                                ".param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "     \
                                ".param .b32 e")
/* Calls a function whose first argument is the address of the word. */
#define ASK(name, word, arguments)                                                                 \
    "add.u64 %d3, %d1, " word ";\nst.param.b64 [a], %d3;\ncall (e), __cudaCDP2" name               \
    ", (a" arguments ");\nld.param.b32 %r1, [e];\n"

TEST(values) {
    uint32_t words[24] = {0};
    run(MORE
        ".visible .entry bounded().maxntid 96, 1, 1 {\n.shared .b32 s[5];\nst.shared.b32 "
        "[s], 1;\nret;\n}\n" K REGISTERS ".param .b32 x, y; .param .b64 f, g;\n" ASK(
            "GetDevice", "0", "") ASK("GetDeviceCount", "4", "")
            ASK("RuntimeGetVersion", "8", "") "st.param.b32 [x], 10;\nst.param.b32 [y], 0;\n" ASK(
                "DeviceGetAttribute", "12",
                ", x, y") "st.param.b32 [x], 9999;\n" ASK("DeviceGetAttribute", "92", ", x, y")
                STORE(16, "%r1") "st.param.b32 [x], 10;\nst.param.b32 [y], 77;\n" ASK(
                    "DeviceGetAttribute", "92", ", x, y")
                    STORE(20, "%r1") "st.param.b32 [x], 2;\n" ASK(
                        "DeviceGetLimit", "24",
                        ", x") "st.param.b32 [x], 3;\n" ASK("DeviceGetLimit", "80", ", x")
                        STORE(88, "%r1") "mov.u64 %d4, bounded;\nst.param.b64 [f], %d4;\n" ASK(
                            "FuncGetAttributes", "32",
                            ", f") "st.param.b32 [x], 96;\n"
                                   "st.param.b64 [g], 0;\nst.param.b32 [y], 0;\n" ASK(
                                       "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "72",
                                       ", f, x, g, y") LAST_ERROR STORE(76, "%r3") "ret;\n}\n",
        1, 1, words, 24);
    assert_true(words[0] == 0 && words[1] == 2 && words[2] == 6000);
    assert_int_equal(words[3], 32);
    assert_true(words[4] == 1 && words[5] == 101);
    assert_int_equal(words[6], 8 << 20);             /* of the heap */
    assert_true(words[8] == 20 && words[14] == 96);  /* shared memory, threads */
    assert_true(words[16] == 90 && words[17] == 90); /* PTX, machine code */
    assert_int_equal(words[18], 21);
    assert_int_equal(words[19], 101); /* the last error: limits set none */
    assert_true(words[20] == UINT32_MAX && words[22] == 215 && words[23] == 0);
}

#define MEMORY                                                                                     \
    DECLARED RUNTIME("Malloc", "b32", ".param .b64 a, .param .b64 b")                              \
        RUNTIME("Free", "b32", ".param .b64 a")                                                    \
            RUNTIME("MemcpyAsync_ptsz", "b32",                                                     \
                    ".param .b64 a, .param .b64 b, .param .b64 c, .param .b32 d, .param .b64 e")   \
                RUNTIME("MemsetAsync", "b32",                                                      \
                        ".param .b64 a, .param .b32 b, .param .b64 c, .param .b64 d")
#define COPY(to, from, kind)                                                                       \
    "st.param.b64 [a], " to ";\nst.param.b64 [f], " from ";\nst.param.b64 [g], 8;\n"               \
    "st.param.b32 [d], " kind ";\nst.param.b64 [q], 0;\n"                                          \
    "call (e), __cudaCDP2MemcpyAsync_ptsz, (a, f, g, d, q);\nld.param.b32 %r1, [e];\n"

/* Memory of the heap, which a later copy reads, and copies in the order of the children. */
TEST(memory) {
    uint32_t words[16] = {0};
    run(MEMORY NOTE K REGISTERS
        ".local .align 8 .b8 own[16];\n.param .b64 f, g;\nmov.u64 %d9, own;\n"
        "cvta.local.u64 %d9, %d9;\nst.param.b64 [a], %d9;\nst.param.b64 [f], 64;\n"
        "call (e), __cudaCDP2Malloc, (a, f);\nld.param.b32 %r1, [e];\n" STORE(
            16,
            "%r1") "ld.u64 %d8, [%d9];\nst.u32 [%d8], 77;\nst.u32 [%d8+4], 78;\nadd.u64 %d7, %d1, "
                   "32;\n" COPY("%d7", "%d8", "3") STORE(20, "%r1")
                       CHILD("note", "5", "0") "add.u64 %d6, %d1, 40;\n" COPY("%d6", "%d1", "4")
                           COPY("%d6", "%d9", "3") STORE(24, "%r1") COPY("%d6", "%d1", "1") STORE(
                               28, "%r1") "add.u64 %d6, %d1, 48;\nst.param.b64 [a], "
                                          "%d6;\nst.param.b32 [d], 0x1ab;\n"
                                          "st.param.b64 [f], 3;\nst.param.b64 [g], 0;\n"
                                          "call (e), __cudaCDP2MemsetAsync, (a, d, f, g);\n"
                                          "st.param.b64 [a], %d9;\nst.param.b64 [f], 0;\n"
                                          "call (e), __cudaCDP2Malloc, (a, f);\nld.param.b32 %r1, "
                                          "[e];\n" STORE(
                                              52, "%r1") "st.param.b64 [a], 0;\ncall (e), "
                                                         "__cudaCDP2Free, (a);\nld.param.b32 %r1, "
                                                         "[e];\n" STORE(
                                                             56, "%r1") "st.param.b64 [a], "
                                                                        "%d1;\ncall (e), "
                                                                        "__cudaCDP2Free, (a);\n"
                                                                        "ld.param.b32 %r1, "
                                                                        "[e];\n" STORE(
                                                                            60, "%r1") "ret;\n}\n",
        1, 1, words, 16);
    assert_true(words[4] == 0 && words[5] == 0 && words[8] == 77 && words[9] == 78);
    assert_true(words[10] == 1 && words[11] == 5); /* the note was there before */
    assert_true(words[6] == 1 && words[7] == 21);
    assert_int_equal(words[12], 0xababab);
    assert_true(words[13] == 1 && words[14] == 0 && words[15] == 0); /* what is no piece stays */
}

/* A kernel cannot set what it cannot store to. */
TEST(memory_that_is_only_read) {
    static _Alignas(4096) uint32_t host[1024];
    CUdeviceptr at;
    void *args[] = {&at};
    OK(cuMemHostRegister(host, sizeof host,
                         CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY));
    OK(cuMemHostGetDevicePointer(&at, host, 0));
    CUmodule module = load_text(MEMORY K REGISTERS
                                ".param .b64 f, g;\nst.param.b64 [a], %d1;\nst.param.b32 [d], 1;\n"
                                "st.param.b64 [f], 4;\nst.param.b64 [g], 0;\n"
                                "call (e), __cudaCDP2MemsetAsync, (a, d, f, g);\nret;\n}\n");
    OK(launch(module, "k", 1, 1, args));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    assert_int_equal(host[0], 0);
    acu_sim_reset(MACHINE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* Streams and events are made, and order what is in order anyway. */
TEST(streams_and_events) {
    uint32_t words[16] = {0};
    run(DECLARED NOTE RUNTIME("StreamCreateWithFlags", "b32", ".param .b64 a, .param .b32 b")
            RUNTIME("StreamDestroy", "b32", ".param .b64 a")
                RUNTIME("EventCreateWithFlags", "b32", ".param .b64 a, .param .b32 b")
                    RUNTIME("EventRecord", "b32", ".param .b64 a, .param .b64 b")
                        RUNTIME("EventDestroy", "b32", ".param .b64 a")
                            RUNTIME("StreamWaitEvent", "b32",
                                    ".param .b64 a, .param .b64 b, .param .b32 c") K REGISTERS
        ".local .align 8 .b8 own[16];\n.param .b64 f;\nmov.u64 %d9, own;\n"
        "cvta.local.u64 %d9, %d9;\nst.param.b64 [a], %d9;\nst.param.b32 [d], 1;\n"
        "call (e), __cudaCDP2StreamCreateWithFlags, (a, d);\nld.param.b32 %r5, [e];\n"
        "st.param.b32 [d], 0;\ncall (e), __cudaCDP2EventCreateWithFlags, (a, d);\n"
        "ld.param.b32 %r6, [e];\nadd.u64 %d8, %d9, 8;\nst.param.b64 [a], %d8;\n"
        "st.param.b32 [d], 2;\ncall (e), __cudaCDP2EventCreateWithFlags, (a, d);\n"
        "ld.param.b32 %r1, [e];\nadd.u32 %r5, %r5, %r1;\nld.u64 %d8, [%d8];\nld.u64 %d9, "
        "[%d9];\n" CHILD(
            "note", "50",
            "%d9") "add.u32 %r5, %r5, %r1;\n"
                   "st.param.b64 [a], %d8;\nst.param.b64 [f], %d9;\ncall (e), "
                   "__cudaCDP2EventRecord, (a, f);\n"
                   "ld.param.b32 %r1, [e];\nadd.u32 %r5, %r5, %r1;\n"
                   "st.param.b64 [a], 0;\nst.param.b64 [f], %d8;\nst.param.b32 [d], 0;\n"
                   "call (e), __cudaCDP2StreamWaitEvent, (a, f, d);\nld.param.b32 %r1, [e];\n"
                   "add.u32 %r5, %r5, %r1;\n" CHILD(
                       "note", "51",
                       "0") "st.param.b64 [a], %d9;\ncall (e), __cudaCDP2StreamDestroy, "
                            "(a);\nld.param.b32 %r1, [e];\n"
                            "add.u32 %r5, %r5, %r1;\nst.param.b64 [a], %d8;\ncall (e), "
                            "__cudaCDP2EventDestroy, (a);\n"
                            "ld.param.b32 %r1, [e];\nadd.u32 %r5, %r5, %r1;\n" STORE(40, "%r5")
                                STORE(44, "%r6") "st.param.b64 [a], 99;\ncall (e), "
                                                 "__cudaCDP2StreamDestroy, (a);\nld.param.b32 %r1, "
                                                 "[e];\n" STORE(
                                                     48, "%r1") "st.param.b64 [a], 0;\ncall (e), "
                                                                "__cudaCDP2EventDestroy, "
                                                                "(a);\nld.param.b32 %r1, "
                                                                "[e];\n" STORE(52,
                                                                               "%r1") "ret;\n}\n",
        1, 1, words, 16);
    assert_true(words[0] == 2 && words[1] == 50 && words[2] == 51);
    assert_true(words[10] == 0 && words[11] == 1 && words[12] == 1 && words[13] == 1);
    fault(DECLARED RUNTIME("EventDestroy", "b32", ".param .b64 a") K REGISTERS
          "st.param.b64 [a], 99;\ncall (e), __cudaCDP2EventDestroy, (a);\nret;\n}\n",
          700);
}

#define BOXES                                                                                      \
    RUNTIME("Memcpy2DAsync", "b32",                                                                \
            ".param .b64 a, .param .b64 b, .param .b64 c, .param .b64 d, .param .b64 e, "          \
            ".param .b64 f, .param .b32 g, .param .b64 h")                                         \
    RUNTIME("Memset2DAsync", "b32",                                                                \
            ".param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e, "          \
            ".param .b64 f")
/* Copies rows of so many bytes, which are so far apart, from the words to 64 bytes behind them. */
#define ROWS(pitch, bytes, rows, stream, at)                                                       \
    "add.u64 %d3, %d1, 64;\nst.param.b64 [a], %d3;\nst.param.b64 [x], " pitch                      \
    ";\nst.param.b64 [y], %d1;\nst.param.b64 [q], 8;\nst.param.b64 [z], " bytes                    \
    ";\nst.param.b64 [v], " rows ";\nst.param.b32 [d], 3;\nst.param.b64 [w], " stream              \
    ";\ncall (e), __cudaCDP2Memcpy2DAsync, (a, x, y, q, z, v, d, w);\nld.param.b32 %r1, "          \
    "[e];\n" STORE(at, "%r1")
#define FILL(pitch, bytes, rows, stream, at)                                                       \
    "add.u64 %d3, %d1, 128;\nst.param.b64 [a], %d3;\nst.param.b64 [x], " pitch                     \
    ";\nst.param.b32 [d], 0x107;\nst.param.b64 [y], " bytes ";\nst.param.b64 [z], " rows           \
    ";\nst.param.b64 [w], " stream                                                                 \
    ";\ncall (e), __cudaCDP2Memset2DAsync, (a, x, d, y, z, w);\nld.param.b32 %r1, [e];\n" STORE(   \
        at, "%r1")

/* Rows that reach into the next one are refused, but not a single row. */
TEST(rows) {
    uint32_t words[64] = {1, 2, 3, 4};
    run(DECLARED BOXES K REGISTERS ".param .b64 x, y, z, v, w;\n" ROWS("16", "8", "2", "0", 192)
            ROWS("4", "8", "2", "0", 196) ROWS("4", "8", "0", "0", 200)
                ROWS("16", "8", "2", "5", 204) FILL("8", "4", "2", "0", 208)
                    FILL("2", "4", "2", "0", 212) FILL("2", "4", "1", "0", 216)
                        FILL("8", "4", "2", "5", 220) "ret;\n}\n",
        1, 1, words, 64);
    assert_true(words[16] == 1 && words[17] == 2 && words[18] == 0 && words[20] == 3);
    assert_true(words[32] == 0x07070707 && words[33] == 0 && words[34] == 0x07070707);
    static const uint32_t answers[] = {0, 12, 0, 999, 0, 1, 0, 999};
    assert_memory_equal(words + 48, answers, sizeof answers);
}

/* 4096 events of a grid are the most, even if each is destroyed. */
TEST(the_number_of_events) {
    uint32_t words[2] = {0};
    run(DECLARED RUNTIME("EventCreateWithFlags", "b32", ".param .b64 a, .param .b32 b")
            RUNTIME("EventDestroy", "b32", ".param .b64 a") K REGISTERS
        ".local .align 8 .b8 own[16];\nmov.u64 %d9, own;\ncvta.local.u64 %d9, %d9;\n"
        "mov.u32 %r6, 0;\nONE_MORE:\nst.param.b64 [a], %d9;\nst.param.b32 [d], 3;\n"
        "call (e), __cudaCDP2EventCreateWithFlags, (a, d);\nld.param.b32 %r1, [e];\n"
        "ld.u64 %d8, [%d9];\nst.param.b64 [a], %d8;\ncall (e), __cudaCDP2EventDestroy, (a);\n"
        "add.u32 %r6, %r6, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra ONE_MORE;\n" STORE(0, "%r6")
            STORE(4, "%r1") "ret;\n}\n",
        1, 1, words, 2);
    assert_true(words[0] == 4097 && words[1] == 2);
}

/* Freeing twice, and what is no memory, ends the kernel. */
TEST(memory_that_is_freed_wrongly) {
    fault(MEMORY K REGISTERS
          ".local .align 8 .b8 own[16];\n.param .b64 f;\nmov.u64 %d9, own;\ncvta.local.u64 %d9, "
          "%d9;\nst.param.b64 [a], %d9;\nst.param.b64 [f], 64;\ncall (e), __cudaCDP2Malloc, (a, "
          "f);\nld.u64 %d8, [%d9];\nst.param.b64 [a], %d8;\ncall (e), __cudaCDP2Free, (a);\n"
          "call (e), __cudaCDP2Free, (a);\nret;\n}\n",
          719);
    fault(MEMORY K REGISTERS "st.param.b64 [a], 0x123456780;\ncall (e), __cudaCDP2Free, (a);\n"
                             "ret;\n}\n",
          700);
}

/* In place of a kernel that was declared before it is defined. */
TEST(a_kernel_that_is_declared_first) {
    uint32_t words[4] = {0};
    run(DECLARED ".visible .entry note(.param .u64 p, .param .u32 n);\n"
                 ".visible .global .u64 pointer = note;\n" K REGISTERS
                 "ld.global.u64 %d5, [pointer];\n" CHILD("%d5", "6", "0") "ret;\n}\n" NOTE,
        1, 1, words, 4);
    assert_true(words[0] == 1 && words[1] == 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {C(a_child),
                                       C(a_buffer_of_bytes),
                                       C(buffers_that_are_none),
                                       C(banks_of_shared_memory),
                                       C(the_order_of_children),
                                       C(children_of_many_threads),
                                       C(children_of_children),
                                       C(a_child_of_c),
                                       C(a_wrong_configuration),
                                       C(the_limit_of_tails),
                                       C(texts_of_errors),
                                       C(faults),
                                       C(what_is_refused),
                                       C(values),
                                       C(memory),
                                       C(memory_that_is_only_read),
                                       C(rows),
                                       C(the_number_of_events),
                                       C(memory_that_is_freed_wrongly),
                                       C(streams_and_events),
                                       C(a_kernel_that_is_declared_first)};
    return RUN(tests);
}
