/* The driver's linker: PTX goes in, and what comes out is loaded. */
#define _GNU_SOURCE /* mkstemp */

#include "driver_test.h"

#include "binaries.h"
#include "../scratch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static CUresult add(CUlinkState linker, const char *text) {
    return cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, strlen(text) + 1, "it",
                         0, NULL, NULL);
}

TEST(one_text) {
    CUlinkState linker;
    CUmodule module;
    CUfunction function;
    void *linked = NULL;
    size_t size = 0;
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    OK(add(linker, PTX));
    OK(cuLinkComplete(linker, &linked, &size));
    assert_true(linked && size >= sizeof PTX);
    OK(cuModuleLoadData(&module, linked));
    OK(cuLinkDestroy(linker));
    OK(cuModuleGetFunction(&function, module, "add"));
    OK(cuModuleUnload(module));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(linker));
}

static int registers_of(CUmodule module, const char *name) {
    CUfunction function;
    int value;
    OK(cuModuleGetFunction(&function, module, name));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    return value;
}

/* Adds 60 numbers that are all needed at once. */
static void write_greedy(char *text, const char *name, const char *directive) {
    text +=
        sprintf(text,
                ".visible .entry %s(.param .u64 p)\n%s\n{\n.reg .b64 %%d<2>; .reg .b32 %%r<64>;\n"
                "ld.param.u64 %%d1, [p];\n",
                name, directive);
    for (int i = 0; i < 60; i++)
        text += sprintf(text, "ld.global.u32 %%r%d, [%%d1+%d];\n", i, 4 * i);
    for (int i = 0; i < 59; i++)
        text += sprintf(text, "add.u32 %%r%d, %%r%d, %%r%d;\nst.global.u32 [%%d1+%d], %%r%d;\n",
                        i + 1, i, i + 1, 4 * i, i + 1);
    sprintf(text, "ret;\n}\n");
}

TEST(a_limit_of_registers) {
    static char text[16384] = PTX_HEAD;
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *most = (void *)(uintptr_t)32, *linked;
    size_t size;
    CUlinkState linker;
    CUmodule module;
    write_greedy(text + strlen(text), "greedy", "");
    write_greedy(text + strlen(text), "bounded", ".maxntid 256, 1, 1");
    OK(cuModuleLoadData(&module, text));
    assert_true(registers_of(module, "greedy") > 60);
    OK(cuModuleUnload(module));
    OK(cuModuleLoadDataEx(&module, text, 1, &option, &most));
    assert_int_equal(registers_of(module, "greedy"), 32);
    assert_true(registers_of(module, "bounded") > 60); /* what a kernel declares counts more */
    OK(cuModuleUnload(module));
    OK(cuLinkCreate(1, &option, &most, &linker));
    OK(add(linker, text));
    OK(cuLinkComplete(linker, &linked, &size));
    OK(cuModuleLoadData(&module, linked));
    OK(cuLinkDestroy(linker));
    assert_int_equal(registers_of(module, "greedy"), 32);
    assert_true(registers_of(module, "bounded") > 60);
    OK(cuModuleUnload(module));
}

TEST(two_texts_and_a_file) {
    CUlinkState linker;
    CUmodule module;
    CUfunction function;
    CUdeviceptr at;
    void *linked;
    size_t size;
    char path[SCRATCH_SIZE];
    const char second[] = PTX_HEAD ".extern .global .u32 counter;\n" PTX_EMPTY("nothing", "");
    int fd = mkstemp(scratch_path(path));
    assert_true(fd >= 0 && write(fd, second, sizeof second - 1) == (ssize_t)sizeof second - 1);
    close(fd);
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    OK(add(linker, PTX_HEAD ".visible .global .u32 counter = 7;\n" PTX_ADD));
    OK(cuLinkAddFile(linker, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
    OK(cuLinkComplete(linker, &linked, &size));
    OK(cuModuleLoadData(&module, linked));
    OK(cuModuleGetFunction(&function, module, "add"));
    OK(cuModuleGetFunction(&function, module, "nothing"));
    OK(cuModuleGetGlobal(&at, &size, module, "counter"));
    OK(cuModuleUnload(module));
    OK(cuLinkDestroy(linker));
    unlink(path);
}

TEST(nothing) {
    CUlinkState linker;
    CUmodule module;
    void *linked = NULL;
    size_t size = 0;
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    OK(cuLinkComplete(linker, &linked, &size));
    assert_int_equal(size, strlen(linked) + 1);
    OK(cuModuleLoadData(&module, linked));
    OK(cuModuleUnload(module));
    OK(cuLinkDestroy(linker));
}

/* ---- symbols ---- */

static char log_text[400];
static CUjit_option log_options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
static void *log_values[2];

static CUlinkState linker_with_log(void) {
    CUlinkState linker;
    log_text[0] = '\0';
    log_values[0] = log_text;
    log_values[1] = (void *)sizeof log_text;
    OK(cuLinkCreate(2, log_options, log_values, &linker));
    return linker;
}

/* What of these two comes out. */
static CUresult link_both(const char *first, const char *second) {
    void *linked;
    CUlinkState linker = linker_with_log();
    CUresult result = add(linker, first);
    if (!result && second)
        result = add(linker, second);
    if (!result)
        result = cuLinkComplete(linker, &linked, NULL);
    else
        (void)cuLinkComplete(linker, &linked, NULL);
    assert_int_equal(log_values[1] == (void *)sizeof log_text ? 0 : (size_t)log_values[1],
                     strlen(log_text));
    OK(cuLinkDestroy(linker));
    return result;
}

#define F(linkage)     PTX_HEAD linkage " .func (.param .b32 r) f(.param .b32 a)\n{\n ret;\n}\n"
#define DECLARES_F     PTX_HEAD ".extern .func (.param .b32 r) f(.param .b32 a);\n"
#define CALLS(name)    ".visible .entry calls()\n{\n call " name ";\n ret;\n}\n"
#define V(declaration) PTX_HEAD declaration ";\n"
#define USES_V         ".visible .global .u64 to_v = v;\n"

TEST(what_is_there_twice) {
    SAYS(CUDA_ERROR_UNKNOWN, link_both(F(".visible"), F(".visible")));
    assert_string_equal(log_text, "error   : Multiple definition of 'f' in 'it'\n");
    SAYS(CUDA_ERROR_UNKNOWN,
         link_both(V(".visible .global .u32 v"), V(".visible .const .u32 v = 3")));
    SAYS(CUDA_ERROR_UNKNOWN, link_both(PTX_HEAD PTX_ADD, PTX_HEAD PTX_ADD));
    OK(link_both(F(".visible"), F(".weak")));
    OK(link_both(F(".weak"), F(".weak")));
    OK(link_both(F(".visible"), F(""))); /* the part's own */
    acu_sim_reset(MACHINE ",runtime=12.5");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    SAYS(CUDA_ERROR_INVALID_SOURCE, link_both(F(".visible"), F(".visible")));
}

#define ENTRY(linkage) PTX_HEAD linkage " .entry k(.param .u64 a)\n.maxntid 64\n{\n ret;\n}\n"

/* Weak ones, and those that a part does not show; once each in what comes out. */
TEST(what_may_be_there_twice) {
    void *linked;
    size_t bytes;
    unsigned count;
    CUlinkState linker = linker_with_log();
    CUmodule module;
    CUdeviceptr at;
    OK(add(linker, ENTRY(".weak")));
    OK(add(linker, ENTRY(".weak")));
    OK(add(linker, V(".weak .global .u32 v[4] = {1, 2, 3, 4}")));
    OK(add(linker, V(".weak .global .u32 v[4] = {5, 6}")));
    OK(add(linker, V(".const .f32 own = 0f00000000")));
    OK(add(linker, V(".const .f64 own")));
    OK(cuLinkComplete(linker, &linked, NULL));
    OK(cuModuleLoadData(&module, linked));
    OK(cuModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 1);
    OK(cuModuleGetGlobal(&at, &bytes, module, "v"));
    assert_int_equal(bytes, 16);
    OK(cuModuleUnload(module));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, PTX_HEAD ".weak .global .u32 v;\n.weak .global .u32 v;\n"));
    OK(cuLinkDestroy(linker));
}

TEST(what_is_missing) {
    SAYS(CUDA_ERROR_UNKNOWN, link_both(DECLARES_F CALLS("f"), NULL));
    assert_string_equal(log_text, "error   : Undefined reference to 'f' in 'it'\n");
    SAYS(CUDA_ERROR_UNKNOWN, link_both(DECLARES_F CALLS("f"), F("")));
    SAYS(CUDA_ERROR_UNKNOWN, link_both(V(".extern .global .u32 v") USES_V, NULL));
    OK(link_both(V(".extern .global .u32 v") USES_V, V(".visible .global .u32 v")));
    OK(link_both(DECLARES_F CALLS("f"), F(".visible")));
    OK(link_both(F(".weak"), DECLARES_F CALLS("f")));
    OK(link_both(DECLARES_F, NULL)); /* nobody uses it */
    OK(link_both(PTX_HEAD ".extern .func vprintf();\n" CALLS("vprintf"), NULL));
    OK(link_both(PTX_HEAD ".visible .func g();\n.visible .func h()\n{\n ret;\n}\n"
                          ".alias g, h;\n" CALLS("g"),
                 NULL));
}

/* ---- what is linked is executed ---- */

/* Links the texts, and lets the kernel "k" of what comes out write so many words. */
static void run_linked(const char *const *texts, size_t count, uint32_t *words, size_t word_count) {
    void *linked;
    CUlinkState linker = linker_with_log();
    CUmodule module;
    CUfunction function;
    CUdeviceptr at;
    void *args[] = {&at};
    for (size_t n = 0; n < count; n++)
        OK(add(linker, texts[n]));
    OK(cuLinkComplete(linker, &linked, NULL));
    OK(cuLinkComplete(linker, &linked, NULL)); /* the same again */
    OK(cuModuleLoadData(&module, linked));
    OK(cuLinkDestroy(linker));
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuMemAlloc(&at, word_count * 4));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH(words, at, word_count * 4));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

#define K(declares, instructions)                                                                  \
    PTX_HEAD declares ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<9>; .reg .b64 %d<9>; "    \
                      ".reg .pred %p;\nld.param.u64 %d1, [p];\n" instructions "ret;\n}\n"
#define STORE(at)      "st.global.u32 [%d1+" #at "], %r1;\n"
#define CALL(function) "call (%r1), " function ", (%r1);\n"
#define UNARY          "(.reg .b32 r) "
#define OF(name)       name "(.reg .b32 a)"

/* A function and variables of another text, forwards and backwards. */
TEST(texts_that_refer_to_each_other) {
    static const char first[] =
        K(".extern .func " UNARY OF(
              "twice") ";\n.extern .global .u32 offset;\n"
                       ".extern .const .u32 factors[3];\n.visible .func " UNARY OF(
                           "increment") "\n{\nadd.u32 r, a, 1;\nret;\n}\n",
          "mov.u32 %r1, 20;\n" CALL("twice") "ld.global.u32 %r2, [offset];\n"
                                             "add.u32 %r1, %r1, %r2;\n" STORE(
                                                 0) "ld.const.u32 %r1, [factors+8];\n" STORE(4));
    static const char second[] = PTX_HEAD ".extern .func " UNARY OF(
        "increment") ";\n.visible .global .u32 offset = 100;\n"
                     ".visible .const .u32 factors[3] = {7, 8, 9};\n"
                     ".visible .func " UNARY OF("twice") "\n{\nadd.u32 a, a, a;\n"
                                                         "call (r), increment, (a);\nret;\n}\n";
    const char *texts[] = {first, second}, *backwards[] = {second, first};
    uint32_t words[2];
    run_linked(texts, 2, words, 2);
    assert_true(words[0] == 141 && words[1] == 9);
    run_linked(backwards, 2, words, 2);
    assert_true(words[0] == 141 && words[1] == 9);
}

/* Static symbols are a text's own, whatever is called so elsewhere; `add` is an opcode, too. */
TEST(static_symbols_of_one_name) {
    static const char first[] =
        K(".global .u32 own = 1;\n.func " UNARY OF("ret") "\n{\nadd.u32 r, a, 1;\nret;\n}\n"
                                                          ".extern .func " UNARY OF("other") ";\n",
          "mov.u32 %r1, 10;\n" CALL("ret") STORE(0) CALL("other")
              STORE(4) "ld.global.u32 %r1, [own];\n" STORE(8));
    static const char second[] = PTX_HEAD
        ".global .u32 own = 30, own$in$1 = 5;\n"
        ".func " UNARY OF("ret") "\n{\n.reg .pred %p;\nsetp.eq.u32 %p, a, 0;\n@!%p mul.lo.u32 r, "
                                 "a, 2;\n@%p ret;\nret;\n}\n.visible .func " UNARY OF(
                                     "other") "\n{\n.reg .b32 %r<3>;\ncall (%r1), ret, "
                                              "(a);\nld.global.u32 %r2, [own];\n"
                                              "add.u32 %r1, %r1, %r2;\nld.global.u32 %r2, "
                                              "[own$in$1];\nadd.u32 r, %r1, %r2;\nret;\n}\n";
    const char *texts[] = {first, second}, *backwards[] = {second, first};
    uint32_t words[3];
    run_linked(texts, 2, words, 3);
    assert_true(words[0] == 11 && words[1] == 22 + 30 + 5 && words[2] == 1);
    run_linked(backwards, 2, words, 3);
    assert_true(words[0] == 11 && words[1] == 22 + 30 + 5 && words[2] == 1);
}

/* A strong definition counts, wherever it is, else the first weak one; of common ones the largest.
 */
TEST(which_definition_counts) {
    static const char weak[] = K(".weak .global .u32 v = 1;\n.weak .func " UNARY OF(
                                     "f") "\n.noreturn\n{\nmov.u32 r, 1;\n"
                                          "ret;\n}\n.common .global .u32 c[1];\n.weak .global "
                                          ".align 4 .u32 first = 5, last;\n",
                                 "ld.global.u32 %r1, [v];\n" STORE(0) CALL("f")
                                     STORE(4) "ld.global.u32 %r1, [first];\n" STORE(8));
    static const char strong[] = PTX_HEAD ".visible .global .u32 v = 2;\n.visible .func " UNARY OF(
        "f") "\n{\nmov.u32 r, 2;\nret;\n}\n"
             ".common .global .u32 c[4];\n.weak .global .align 4 .u32 first = 6;\n.file 1 \"x\"\n"
             ".visible .global .u32 last = 9;\n.section .debug_str\n{\n.b8 1\n}\n";
    const char *texts[] = {weak, strong}, *backwards[] = {strong, weak};
    uint32_t words[3];
    run_linked(texts, 2, words, 3);
    assert_true(words[0] == 2 && words[1] == 2 && words[2] == 5);
    run_linked(backwards, 2, words, 3);
    assert_true(words[0] == 2 && words[1] == 2 && words[2] == 6);
}

/* Of a fat binary, the PTX is linked. */
TEST(a_fat_binary) {
    static binary fat;
    static const char text[] = PTX_HEAD ".visible .global .u32 v = 21;\n";
    const piece pieces[] = {{KIND_CUBIN, 90, 0, "", 0, 0}, {KIND_PTX, 52, 0, text, sizeof text, 0}};
    CUlinkState linker = linker_with_log();
    CUmodule module;
    CUdeviceptr at;
    void *linked;
    size_t size;
    uint32_t found = 0;
    OK(add(linker, V(".extern .global .u32 v") USES_V));
    make_fat_binary(&fat, pieces, 1); /* machine code alone */
    SAYS(CUDA_ERROR_NOT_SUPPORTED,
         cuLinkAddData(linker, CU_JIT_INPUT_FATBINARY, fat.at, fat.size, "fat", 0, NULL, NULL));
    make_fat_binary(&fat, pieces, 2);
    OK(cuLinkAddData(linker, CU_JIT_INPUT_FATBINARY, fat.at, fat.size, "fat", 0, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_IMAGE,
         cuLinkAddData(linker, CU_JIT_INPUT_FATBINARY, fat.at, 20, "short", 0, NULL, NULL));
    OK(cuLinkComplete(linker, &linked, NULL));
    OK(cuModuleLoadData(&module, linked));
    OK(cuModuleGetGlobal(&at, &size, module, "v"));
    OK(cuMemcpyDtoH(&found, at, 4));
    assert_int_equal(found, 21);
    OK(cuModuleUnload(module));
    OK(cuLinkDestroy(linker));
}

/* Code of nvcc -rdc=true is to be linked: as it is, a module has nothing of it, as an H200 says. */
TEST(a_fat_binary_that_is_to_be_linked) {
    static binary fat;
    static const char text[] =
        PTX_HEAD ".visible .global .u32 v = 21;\n.visible .entry k() { ret; }\n";
    const piece one = {KIND_PTX, 52, FOR_LINKING, text, sizeof text, 0};
    CUlinkState linker = linker_with_log();
    CUmodule module;
    CUfunction function;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    CUdeviceptr at;
    void *linked, *variable;
    size_t size;
    unsigned count;
    make_fat_binary(&fat, &one, 1);
    OK(cuModuleLoadData(&module, fat.at));
    SAYS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "k"));
    assert_non_null(strstr(acu_last_error_message(), "nvcc -rdc=true"));
    SAYS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&at, &size, module, "v"));
    OK(cuModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 0);
    OK(cuModuleUnload(module));
    OK(cudaLibraryLoadData(&library, fat.at, NULL, NULL, 0, NULL, NULL, 0));
    SAYS(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "k"));
    SAYS(cudaErrorSymbolNotFound, cudaLibraryGetGlobal(&variable, &size, library, "v"));
    OK(cudaLibraryUnload(library));
    OK(cuLinkAddData(linker, CU_JIT_INPUT_FATBINARY, fat.at, fat.size, "fat", 0, NULL, NULL));
    OK(cuLinkComplete(linker, &linked, NULL));
    OK(cuModuleLoadData(&module, linked));
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuModuleUnload(module));
    OK(cuLinkDestroy(linker));
}

TEST(what_does_not_fit) {
    SAYS(CUDA_ERROR_UNKNOWN, link_both(V(".weak .global .b8 v[4]"), V(".weak .global .b8 v[8]")));
    assert_string_equal(log_text, "error   : Size doesn't match for 'v' in 'it'\n");
    SAYS(CUDA_ERROR_UNKNOWN,
         link_both(V(".extern .const .b8 v[4]") USES_V, V(".visible .global .b8 v[4]")));
    assert_string_equal(log_text, "error   : Memory space doesn't match for 'v' in 'it'\n");
    SAYS(CUDA_ERROR_UNKNOWN, link_both(F(".visible"), V(".extern .global .u32 f")));
    SAYS(CUDA_ERROR_UNKNOWN, link_both(DECLARES_F CALLS("f"), PTX_HEAD ".visible .func f()\n{\n"
                                                                       "ret;\n}\n"));
    assert_string_equal(log_text, "error   : Prototype doesn't match for 'f' in 'it'\n");
    OK(link_both(V(".extern .global .u32 v[]") USES_V, V(".visible .global .u32 v[7]")));
    OK(link_both(V(".common .global .b8 v[4]"), V(".common .global .b8 v[8]")));
}

/* What could not be added is not there; what was there twice stays wrong. */
TEST(after_an_error) {
    void *linked;
    CUlinkState linker = linker_with_log();
    SAYS(CUDA_ERROR_INVALID_PTX, add(linker, PTX_HEAD ".entry f("));
    OK(cuLinkComplete(linker, &linked, NULL));
    assert_non_null(strstr(log_text, "line"));
    const size_t before = strlen(log_text);
    OK(add(linker, F(".visible")));
    SAYS(CUDA_ERROR_UNKNOWN, add(linker, F(".visible")));
    assert_true(strlen(log_text) > before); /* behind the other */
    SAYS(CUDA_ERROR_UNKNOWN, cuLinkComplete(linker, &linked, NULL));
    OK(cuLinkDestroy(linker));
}

TEST(a_short_log) {
    CUlinkState linker;
    log_values[0] = log_text;
    log_values[1] = (void *)8;
    OK(cuLinkCreate(2, log_options, log_values, &linker));
    for (int i = 0; i < 3; i++)
        SAYS(CUDA_ERROR_INVALID_PTX, add(linker, PTX_HEAD ".entry f("));
    assert_string_equal(log_text, "ptxas a");
    assert_int_equal((size_t)log_values[1], 7);
    OK(cuLinkDestroy(linker));
}

/* The device runtime's functions are there if its archive is linked, too. */
TEST(the_device_runtime) {
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n.visible .entry k() {\n"
        ".param .b32 e;\ncall (e), __cudaCDP2GetLastError, ();\nret;\n}\n";
    char archive[] = "!<arch>\n//      \ncuda_device_runtime.o/\n", other[] = "!<arch>\nother.o/\n";
    CUlinkState linker;
    CUmodule module;
    void *linked;
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, text));
    linker = linker_with_log();
    SAYS(CUDA_ERROR_NOT_SUPPORTED,
         cuLinkAddData(linker, CU_JIT_INPUT_LIBRARY, other, sizeof other, "it", 0, NULL, NULL));
    OK(add(linker, text));
    SAYS(CUDA_ERROR_UNKNOWN, cuLinkComplete(linker, &linked, NULL));
    assert_non_null(strstr(log_text, "Undefined reference to '__cudaCDP2GetLastError'"));
    OK(cuLinkDestroy(linker));
    linker = linker_with_log();
    OK(add(linker, text));
    OK(cuLinkAddData(linker, CU_JIT_INPUT_LIBRARY, archive, sizeof archive, "it", 0, NULL, NULL));
    OK(cuLinkComplete(linker, &linked, NULL));
    OK(cuModuleLoadData(&module, linked));
    OK(cuModuleUnload(module));
    OK(cuLinkDestroy(linker));
}

#define GROUP_CALL(result, name, ...)                                                              \
    "call (" result "), " name ", (" __VA_ARGS__ ");\nld.param.u32 %r1, [" result "];\n"

/* Each thread writes what the group's functions say; the blocks wait for each other between writing
 * a word and reading the next block's, which `cooperative` launches do. */
static void run_grid_group(const char *linked, bool cooperative, uint32_t words[2 * 3 * 64 * 4]) {
    CUmodule module;
    CUfunction function;
    CUdeviceptr at;
    void *args[] = {&at};
    const size_t size = sizeof(uint32_t[2 * 3 * 64 * 4]);
    OK(cuModuleLoadData(&module, linked));
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuMemAlloc(&at, size));
    OK(cuMemsetD8(at, 0, size));
    if (cooperative)
        OK(cuLaunchCooperativeKernel(function, 2, 3, 1, 32, 2, 1, 0, NULL, args));
    else
        OK(cuLaunchKernel(function, 2, 3, 1, 32, 2, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH(words, at, size));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

/* The functions of a group that is the grid, which the device runtime's archive has. */
TEST(a_group_of_the_grid) {
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s);\n"
        ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
        ".extern .func (.param .b32 r) cudaCGSynchronizeGrid(.param .b64 h, .param .b32 f);\n"
        ".extern .func (.param .b32 r) cudaCGGetSize(.param .b64 n, .param .b64 g, .param .b64 "
        "h);\n"
        ".extern .func (.param .b32 r) cudaCGGetRank(.param .b64 n, .param .b64 g, .param .b64 "
        "h);\n"
        ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<30>; .reg .b64 %d<9>;\n"
        ".param .b32 scope; .param .b64 handle; .param .b32 flags; .param .b32 e;\n"
        ".param .b64 number; .param .b64 grids;\n"
        "ld.param.u64 %d1, [p];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\n"
        "mov.u32 %r4, %tid.x;\nmov.u32 %r5, %tid.y;\n"
        "mad.lo.u32 %r6, %r3, 2, %r2;\nmad.lo.u32 %r7, %r5, 32, %r4;\n"
        "mad.lo.u32 %r8, %r6, 64, %r7;\nmul.wide.u32 %d2, %r8, 16;\nadd.u64 %d2, %d1, %d2;\n"
        "st.param.b32 [scope], 1;\ncall (handle), cudaCGGetIntrinsicHandle, (scope);\n"
        "ld.param.b64 %d3, [handle];\nst.param.b64 [handle], %d3;\nst.param.b32 [flags], 0;\n"
        "st.param.b64 [number], %d2;\nadd.u64 %d4, %d2, 4;\nst.param.b64 [grids], "
        "%d4;\n" GROUP_CALL(
            "e", "cudaCGGetSize",
            "number, grids, handle") "ld.global.u32 %r10, [%d2];\n"
                                     "st.param.b64 [handle], %d3;\nst.param.b64 [number], "
                                     "%d2;\nst.param.b64 [grids], 0;\n" GROUP_CALL(
                                         "e", "cudaCGGetRank", "number, grids, handle")
        /* word 2: the threads of the grid; word 3: what all wait for */
        "st.global.u32 [%d2+8], %r10;\nst.param.b64 [handle], %d3;\n" GROUP_CALL(
            "e", "cudaCGSynchronize", "handle, flags")
        /* the word 0 of the thread in the next block */
        "add.u32 %r11, %r8, 64;\nrem.u32 %r11, %r11, 384;\nmul.wide.u32 %d5, %r11, 16;\n"
        "add.u64 %d5, %d1, %d5;\nld.global.u32 %r12, [%d5];\n"
        "st.param.b64 [handle], %d3;\nst.param.b32 [flags], 0;\n" GROUP_CALL(
            "e", "cudaCGSynchronizeGrid",
            "handle, flags") "shl.b32 %r1, %r1, 16;\nadd.u32 %r12, %r12, %r1;\nst.global.u32 "
                             "[%d2+12], %r12;\nret;\n}\n";
    char archive[] = "!<arch>\n//      \ncuda_device_runtime.o/\n";
    static uint32_t words[2 * 3 * 64 * 4];
    void *linked;
    CUlinkState linker = linker_with_log();
    OK(add(linker, text));
    OK(cuLinkAddData(linker, CU_JIT_INPUT_LIBRARY, archive, sizeof archive, "it", 0, NULL, NULL));
    OK(cuLinkComplete(linker, &linked, NULL));
    run_grid_group(linked, true, words);
    for (uint32_t n = 0; n < 384; n++) {
        assert_int_equal(words[4 * n], n);
        assert_int_equal(words[4 * n + 1], 1);
        assert_int_equal(words[4 * n + 2], 384);
        assert_int_equal(words[4 * n + 3], (n + 64) % 384);
    }
    run_grid_group(linked, false, words); /* no group: each function returns error 1 */
    for (uint32_t n = 0; n < 384; n++) {
        assert_int_equal(words[4 * n] | words[4 * n + 1] | words[4 * n + 2], 0);
        assert_int_equal(words[4 * n + 3], 1 << 16);
    }
    OK(cuLinkDestroy(linker));
}

TEST(what_is_wrong) {
    CUlinkState linker;
    char log[200] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUjit_option unknown = (CUjit_option)777;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLinkCreate(0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLinkCreate(1, &unknown, values, &linker));
    OK(cuLinkCreate(2, options, values, &linker));
    SAYS(CUDA_ERROR_INVALID_PTX, add(linker, PTX_HEAD ".entry f("));
    assert_non_null(strstr(log, "line"));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuLinkAddData(linker, CU_JIT_INPUT_PTX, NULL, 4, "it", 0, NULL, NULL));
    char elf[] = "\177ELF of some sort";
    SAYS(CUDA_ERROR_INVALID_IMAGE,
         cuLinkAddData(linker, CU_JIT_INPUT_CUBIN, log, 4, "it", 0, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_IMAGE,
         cuLinkAddData(linker, CU_JIT_INPUT_LIBRARY, log, sizeof log, "it", 0, NULL, NULL));
    SAYS(CUDA_ERROR_NOT_SUPPORTED,
         cuLinkAddData(linker, CU_JIT_INPUT_CUBIN, elf, sizeof elf, "it", 0, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuLinkAddData(linker, (CUjitInputType)99, log, 4, "it", 0, NULL, NULL));
    SAYS(CUDA_ERROR_FILE_NOT_FOUND,
         cuLinkAddFile(linker, CU_JIT_INPUT_PTX, "/nowhere", 0, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLinkAddFile(linker, CU_JIT_INPUT_PTX, NULL, 0, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(linker, NULL, NULL));
    assert_int_equal(acu_sim_leaks(0), 1);
    OK(cuLinkDestroy(linker));
}

int main(void) {
    const struct CMUnitTest tests[] = {C(one_text),
                                       C(a_limit_of_registers),
                                       C(two_texts_and_a_file),
                                       C(nothing),
                                       C(what_is_there_twice),
                                       C(what_may_be_there_twice),
                                       C(what_is_missing),
                                       C(texts_that_refer_to_each_other),
                                       C(static_symbols_of_one_name),
                                       C(which_definition_counts),
                                       C(a_fat_binary),
                                       C(a_fat_binary_that_is_to_be_linked),
                                       C(what_does_not_fit),
                                       C(after_an_error),
                                       C(a_short_log),
                                       C(the_device_runtime),
                                       C(a_group_of_the_grid),
                                       C(what_is_wrong)};
    return RUN(tests);
}
