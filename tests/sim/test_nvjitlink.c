/* The linker nvJitLink that the simulator plays: it links PTX. Codes and logs are those of 13.0. */
#include "ptx_test.h"

#include <anycuda/nvjitlink.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef HEAD
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static const char callee[] =
    HEAD ".visible .func (.reg .b32 r) twice(.reg .b32 x) {\nadd.u32 r, x, x;\nret;\n}\n";
static const char caller[] =
    HEAD ".extern .func (.reg .b32 r) twice(.reg .b32 x);\n"
         ".visible .entry k(.param .u64 p) {\n.reg .b32 %r; .reg .b64 %d;\n"
         "ld.param.u64 %d, [p];\nld.global.u32 %r, [%d];\ncall (%r), twice, (%r);\n"
         "st.global.u32 [%d], %r;\nret;\n}\n";
static const char lone[] = HEAD ".visible .entry k() {\nret;\n}\n";

static nvJitLinkHandle linker;

/* Makes a linker with up to three options, and returns the result. */
static nvJitLinkResult create(const char *first, const char *second, const char *third) {
    const char *options[] = {first, second, third};
    return nvJitLinkCreate(&linker, third ? 3 : second ? 2 : first ? 1 : 0, options);
}

static nvJitLinkResult add(const char *text, nvJitLinkInputType type, const char *name) {
    return nvJitLinkAddData(linker, type, text, strlen(text), name);
}

/* The log of errors, in memory that stays until the next call. */
static const char *log_of(void) {
    static char text[1000];
    size_t size = 1;
    OK(nvJitLinkGetErrorLogSize(linker, &size));
    assert_true(size <= sizeof text);
    memset(text, '#', sizeof text);
    OK(nvJitLinkGetErrorLog(linker, text));
    assert_int_equal(size, *text ? strlen(text) + 1 : 0);
    return text;
}

static void destroy(void) {
    OK(nvJitLinkDestroy(&linker));
    assert_null(linker);
}

/* Options that are refused leave a linker that has the log, and links nothing. */
static void refuses_options(const char *first, const char *second, nvJitLinkResult code,
                            const char *log) {
    assert_int_equal(create(first, second, NULL), code);
    assert_string_equal(log_of(), log);
    assert_int_equal(add(lone, NVJITLINK_INPUT_PTX, "a"), NVJITLINK_ERROR_INTERNAL);
    assert_int_equal(nvJitLinkComplete(linker), NVJITLINK_ERROR_INTERNAL);
    destroy();
}

/* Links what was added, and returns it; the caller frees it. */
static char *complete(void) {
    size_t size;
    OK(nvJitLinkComplete(linker));
    assert_string_equal(log_of(), "");
    OK(nvJitLinkGetLinkedCubinSize(linker, &size));
    char *code = malloc(size);
    assert_non_null(code);
    OK(nvJitLinkGetLinkedCubin(linker, code));
    return code;
}

TEST(links_and_runs) {
    uint32_t word = 21;
    OK(create("-arch=sm_80", "-lineinfo", "-O3"));
    OK(add(caller, NVJITLINK_INPUT_PTX, "a"));
    OK(nvJitLinkAddData(linker, NVJITLINK_INPUT_ANY, callee, sizeof callee, NULL));
    char *code = complete();
    run(code, 1, 1, &word, 1);
    assert_int_equal(word, 42);
    free(code);
    destroy();
}

TEST(links_a_file) {
    char path[] = "/tmp/acu-nvjitlink-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0 && write(file, lone, strlen(lone)) == (ssize_t)strlen(lone));
    close(file);
    OK(create("-arch=sm_90a", NULL, NULL));
    OK(nvJitLinkAddFile(linker, NVJITLINK_INPUT_PTX, path));
    remove(path);
    char *code = complete();
    assert_non_null(strstr(code, ".entry k"));
    free(code);
    destroy();
}

/* What cuModuleLoadData() takes, too. */
TEST(links_nothing) {
    OK(create("-arch=sm_80", NULL, NULL));
    char *code = complete();
    OK(cuModuleUnload(load_text(code)));
    free(code);
    destroy();
}

/* What launches kernels needs libcudadevrt.a. */
TEST(links_the_device_runtime) {
    static const char parent[] =
        HEAD ".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n"
             ".visible .entry k(.param .u64 p) {\n.param .b32 e; .reg .b32 %r; .reg .b64 %d;\n"
             "ld.param.u64 %d, [p];\ncall (e), __cudaCDP2GetLastError, ();\n"
             "ld.param.b32 %r, [e];\nst.global.u32 [%d], %r;\nret;\n}\n",
                      archive[] = "!<arch>\ncuda_device_runtime.o/";
    uint32_t word = 7;
    OK(create("-arch=sm_80", NULL, NULL));
    OK(add(parent, NVJITLINK_INPUT_PTX, "a"));
    assert_int_equal(nvJitLinkComplete(linker), NVJITLINK_ERROR_INTERNAL);
    destroy();
    OK(create("-arch=sm_80", NULL, NULL));
    OK(add(parent, NVJITLINK_INPUT_PTX, "a"));
    OK(add(archive, NVJITLINK_INPUT_LIBRARY, "libcudadevrt.a"));
    char *code = complete();
    run(code, 1, 1, &word, 1);
    assert_int_equal(word, 0);
    free(code);
    destroy();
}

TEST(options_that_are_refused) {
    refuses_options("-lto", NULL, NVJITLINK_ERROR_MISSING_ARCH, "");
    refuses_options(
        "-arch=sm_70", NULL, NVJITLINK_ERROR_UNSUPPORTED_ARCH,
        "ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture (compute_70)\n");
    refuses_options(
        "-arch=sm_999", NULL, NVJITLINK_ERROR_UNRECOGNIZED_ARCH,
        "ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture (compute_999)\n");
    refuses_options(
        "-arch=foo", NULL, NVJITLINK_ERROR_UNRECOGNIZED_OPTION,
        "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-arch=foo)\n");
    refuses_options("-arch=sm_80", "-O1", NVJITLINK_ERROR_UNRECOGNIZED_OPTION,
                    "unsupported value of -O: 1. Only 0 and 3 are supported.\n");
    refuses_options("-arch=sm_80", "-G", NVJITLINK_ERROR_UNRECOGNIZED_OPTION,
                    "unrecognized option: -G\n");
    refuses_options("-arch=sm_80", "-maxrregcount", NVJITLINK_ERROR_UNRECOGNIZED_OPTION,
                    "unrecognized option: -maxrregcount\n");
    refuses_options("-arch=compute_80", NULL, NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS,
                    "ERROR: virtual arch requires -ptx\n");
    refuses_options("-arch=sm_80", "-ptx", NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS,
                    "ERROR: -ptx requires -lto\n");
    assert_int_equal(nvJitLinkCreate(&linker, 0, NULL), NVJITLINK_ERROR_NULL_INPUT);
    assert_int_equal(nvJitLinkCreate(NULL, 0, NULL), NVJITLINK_ERROR_NULL_INPUT);
}

static void refuses_input(const void *bytes, size_t size, nvJitLinkInputType type,
                          nvJitLinkResult code, const char *log) {
    OK(create("-arch=sm_80", NULL, NULL));
    assert_int_equal(nvJitLinkAddData(linker, type, bytes, size, "a"), code);
    if (!strstr(log_of(), log))
        fail_msg("the log is '%s'", log_of());
    destroy();
}

TEST(inputs_that_are_refused) {
    static const char wrong[] = HEAD ".visible .entry k() {\nbra nowhere;\nret;\n}\n",
                      tensor[] =
                          ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry k() {\n.reg .b32 %r<2>; .reg .b64 %d;\n"
                          "tex.2dms.v4.u32.s32 {%r1, %r1, %r1, %r1}, [%d, {%r1, %r1, %r1, %r1}];\n"
                          "ret;\n}\n",
                      newer[] = ".version 9.9\n.target sm_80\n.address_size 64\n",
                      higher[] = ".version 8.0\n.target sm_90\n.address_size 64\n",
                      elf[64] = "\177ELF", garbage[] = "garbage, of no type that is known";
    refuses_input(wrong, sizeof wrong, NVJITLINK_INPUT_PTX, NVJITLINK_ERROR_PTX_COMPILE,
                  "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (a)\n");
    refuses_input(tensor, sizeof tensor, NVJITLINK_INPUT_PTX, NVJITLINK_ERROR_OUTDATED_LIBRARY,
                  "the simulator does not execute 'tex.2dms.v4.u32.s32'");
    refuses_input(newer, sizeof newer, NVJITLINK_INPUT_PTX, NVJITLINK_ERROR_PTX_COMPILE,
                  "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (a)\n");
    refuses_input(higher, sizeof higher, NVJITLINK_INPUT_PTX, NVJITLINK_ERROR_PTX_COMPILE,
                  "SM version specified by .target is higher than default SM version assumed\n");
    refuses_input(lone, sizeof lone, NVJITLINK_INPUT_CUBIN, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                  "ERROR 1: bad input: does not match type NVJITLINK_INPUT_CUBINa\n");
    refuses_input(garbage, sizeof garbage, NVJITLINK_INPUT_PTX,
                  NVJITLINK_ERROR_INCORRECT_INPUT_TYPE, "does not match type");
    refuses_input(garbage, sizeof garbage, NVJITLINK_INPUT_ANY, NVJITLINK_ERROR_UNRECOGNIZED_INPUT,
                  "unrecognized input type: a\n");
    refuses_input(lone, sizeof lone, NVJITLINK_INPUT_NONE, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                  "unsupported input type: a\n");
    refuses_input(lone, sizeof lone, (nvJitLinkInputType)8, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                  "unsupported input type: a\n");
    refuses_input(lone, 0, NVJITLINK_INPUT_PTX, NVJITLINK_ERROR_INVALID_INPUT, "");
    refuses_input(NULL, 5, NVJITLINK_INPUT_PTX, NVJITLINK_ERROR_NULL_INPUT, "");
    /* What only a library of NVIDIA's links. */
    refuses_input(elf, sizeof elf, NVJITLINK_INPUT_OBJECT, NVJITLINK_ERROR_OUTDATED_LIBRARY,
                  "the simulator links PTX, and the input 'a' has none");
    refuses_input(garbage, sizeof garbage, NVJITLINK_INPUT_LTOIR, NVJITLINK_ERROR_OUTDATED_LIBRARY,
                  "ANYCUDA_NVJITLINK=path");
}

TEST(files_that_are_refused) {
    OK(create("-arch=sm_80", NULL, NULL));
    assert_int_equal(nvJitLinkAddFile(linker, NVJITLINK_INPUT_PTX, "/there/is/none"),
                     NVJITLINK_ERROR_INVALID_INPUT);
    assert_string_equal(log_of(), "no such file: /there/is/none\n");
    assert_int_equal(nvJitLinkAddFile(linker, NVJITLINK_INPUT_PTX, NULL),
                     NVJITLINK_ERROR_NULL_INPUT);
    destroy();
}

TEST(symbols_that_do_not_fit) {
    OK(create("-arch=sm_80", NULL, NULL));
    OK(add(caller, NVJITLINK_INPUT_PTX, "a"));
    assert_int_equal(nvJitLinkComplete(linker), NVJITLINK_ERROR_INTERNAL);
    assert_string_equal(log_of(),
                        "error   : Undefined reference to 'twice' in 'a'\nERROR 9: finish\n");
    destroy();
    OK(create("-arch=sm_80", NULL, NULL));
    OK(add(callee, NVJITLINK_INPUT_PTX, "a"));
    assert_int_equal(add(callee, NVJITLINK_INPUT_PTX, "b"), NVJITLINK_ERROR_INTERNAL);
    assert_non_null(strstr(log_of(), "'twice'"));
    assert_int_equal(nvJitLinkComplete(linker), NVJITLINK_ERROR_INTERNAL);
    destroy();
    OK(create("-arch=sm_80", "-lto", NULL));
    OK(add(lone, NVJITLINK_INPUT_PTX, "a"));
    assert_int_equal(nvJitLinkComplete(linker), NVJITLINK_ERROR_NVVM_COMPILE);
    destroy();
}

TEST(the_order_of_calls) {
    size_t size;
    char ptx[8];
    OK(create("-arch=sm_80", NULL, NULL));
    assert_int_equal(nvJitLinkGetLinkedCubinSize(linker, &size), NVJITLINK_ERROR_INTERNAL);
    assert_int_equal(nvJitLinkGetLinkedCubin(linker, ptx), NVJITLINK_ERROR_INTERNAL);
    OK(nvJitLinkComplete(linker));
    assert_int_equal(nvJitLinkComplete(linker), NVJITLINK_ERROR_INTERNAL);
    assert_int_equal(add(lone, NVJITLINK_INPUT_PTX, "a"), NVJITLINK_ERROR_INTERNAL);
    assert_int_equal(nvJitLinkGetLinkedPtxSize(linker, &size), NVJITLINK_ERROR_INVALID_INPUT);
    assert_int_equal(nvJitLinkGetLinkedPtx(linker, ptx), NVJITLINK_ERROR_INVALID_INPUT);
    assert_int_equal(nvJitLinkGetLinkedLTOIRSize(linker, &size), NVJITLINK_ERROR_INVALID_INPUT);
    assert_int_equal(nvJitLinkGetLinkedLTOIR(linker, ptx), NVJITLINK_ERROR_INVALID_INPUT);
    OK(nvJitLinkGetInfoLogSize(linker, &size));
    assert_int_equal(size, 0);
    OK(nvJitLinkGetInfoLog(linker, ptx));
    assert_string_equal(ptx, "");
    destroy();
}

TEST(nothing_and_strangers) {
    size_t size;
    unsigned major, minor;
    OK(create("-arch=sm_80", NULL, NULL));
    const nvJitLinkHandle gone = linker;
    assert_int_equal(nvJitLinkGetErrorLogSize(linker, NULL), NVJITLINK_ERROR_NULL_INPUT);
    assert_int_equal(nvJitLinkGetErrorLog(linker, NULL), NVJITLINK_ERROR_NULL_INPUT);
    assert_int_equal(nvJitLinkGetLinkedCubinSize(linker, NULL), NVJITLINK_ERROR_NULL_INPUT);
    destroy();
    assert_int_equal(nvJitLinkDestroy(&linker), NVJITLINK_ERROR_NULL_INPUT);
    assert_int_equal(nvJitLinkDestroy(NULL), NVJITLINK_ERROR_NULL_INPUT);
    assert_int_equal(nvJitLinkComplete(NULL), NVJITLINK_ERROR_NULL_INPUT);
    assert_int_equal(nvJitLinkComplete(gone), NVJITLINK_ERROR_INVALID_INPUT);
    assert_int_equal(nvJitLinkGetErrorLogSize(gone, &size), NVJITLINK_ERROR_INVALID_INPUT);
    assert_int_equal(nvJitLinkVersion(NULL, &minor), NVJITLINK_ERROR_NULL_INPUT);
    OK(nvJitLinkVersion(&major, &minor));
    assert_true(major >= 12);
}

/* A linker that the program left is counted. */
TEST(a_linker_that_is_left) {
    const int before = acu_sim_leaks(0);
    OK(create("-arch=sm_80", NULL, NULL));
    assert_int_equal(acu_sim_leaks(0), before + 1);
    destroy();
    assert_int_equal(acu_sim_leaks(0), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(links_and_runs),
        C(links_a_file),
        C(links_nothing),
        C(links_the_device_runtime),
        C(options_that_are_refused),
        C(inputs_that_are_refused),
        C(files_that_are_refused),
        C(symbols_that_do_not_fit),
        C(the_order_of_calls),
        C(nothing_and_strangers),
        C(a_linker_that_is_left),
    };
    return RUN(tests);
}
