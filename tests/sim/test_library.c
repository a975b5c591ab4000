/* Libraries: what is read of PTX, loading and unloading, kernels and variables by name. */
#define _GNU_SOURCE /* mkstemp */

#include "kernels.h"
#include "../scratch.h"

#include <stdlib.h>
#include <unistd.h>

static cudaError_t try_load(const char *ptx) {
    cudaLibrary_t library = NULL;
    cudaKernel_t kernel;
    cudaError_t result = cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0);
    if (result)
        return result;
    result = cudaLibraryGetKernel(&kernel, library, "none"); /* loads are lazy */
    if (result == cudaErrorSymbolNotFound)
        result = cudaSuccess;
    OK(cudaLibraryUnload(library));
    (void)cudaGetLastError();
    return result;
}

TEST(loads_and_unloads) {
    cudaLibrary_t library = load(PTX);
    unsigned count = 0;
    OK(cudaLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 7);
    OK(cudaLibraryUnload(library));
    FAILS(cudaErrorInvalidResourceHandle, cudaLibraryUnload(library));
    FAILS(cudaErrorInvalidResourceHandle, cudaLibraryUnload(NULL));
}

TEST(what_a_load_refuses) {
    cudaLibrary_t library = NULL;
    enum cudaJitOption unknown = (enum cudaJitOption)99;
    enum cudaLibraryOption no_option = (enum cudaLibraryOption)9;
    void *value = NULL;
    FAILS(cudaErrorInvalidValue, cudaLibraryLoadData(NULL, PTX, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaLibraryLoadData(&library, PTX, NULL, NULL, 1, NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue,
          cudaLibraryLoadData(&library, PTX, &unknown, &value, 1, NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue,
          cudaLibraryLoadData(&library, PTX, NULL, NULL, 0, &no_option, &value, 1));
    assert_null(library);
}

TEST(loads_files) {
    char path[SCRATCH_SIZE];
    cudaLibrary_t library = NULL;
    int fd = mkstemp(scratch_path(path));
    assert_true(fd >= 0 && write(fd, PTX, sizeof PTX - 1) == (ssize_t)sizeof PTX - 1);
    close(fd);
    OK(cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    (void)kernel_of(library, "add");
    OK(cudaLibraryUnload(library));
    unlink(path);
    FAILS(cudaErrorFileNotFound,
          cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue,
          cudaLibraryLoadFromFile(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
}

TEST(kernels_by_name) {
    cudaLibrary_t library = load(PTX);
    cudaKernel_t kernel = NULL, again = NULL, all[9] = {NULL};
    const char *name = NULL;
    OK(cudaLibraryGetKernel(&kernel, library, "mixed"));
    OK(cudaLibraryGetKernel(&again, library, "mixed"));
    assert_ptr_equal(kernel, again);
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "counter"));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetKernel(NULL, library, "mixed"));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetKernel(&kernel, library, NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaLibraryGetKernel(&kernel, NULL, "mixed"));
    OK(cudaLibraryEnumerateKernels(all, 2, library));
    assert_true(all[0] && all[1] && !all[2]);
    OK(cudaLibraryEnumerateKernels(all, 9, library));
    assert_true(all[6] && !all[7]);
    OK(cudaFuncGetName(&name, all[0]));
    assert_string_equal(name, "add");
    FAILS(cudaErrorInvalidValue, cudaLibraryEnumerateKernels(NULL, 1, library));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetKernelCount(NULL, library));
    OK(cudaLibraryUnload(library));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetName(&name, all[0]));
}

TEST(variables_have_their_values) {
    cudaLibrary_t library = load(PTX);
    void *at = NULL;
    size_t bytes = 0;
    unsigned counter = 0;
    float factors[3] = {0};
    OK(cudaLibraryGetGlobal(&at, &bytes, library, "counter"));
    assert_int_equal(bytes, 4);
    OK(cudaMemcpy(&counter, at, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(counter, 7);
    OK(cudaLibraryGetGlobal(&at, &bytes, library, "factors"));
    assert_int_equal(bytes, 12);
    OK(cudaMemcpy(factors, at, 12, cudaMemcpyDeviceToHost));
    assert_true(factors[0] == 1 && factors[1] == 2 && factors[2] == -4);
    OK(cudaLibraryGetGlobal(NULL, &bytes, library, "table"));
    assert_int_equal(bytes, 100);
    FAILS(cudaErrorInvalidValue, cudaFree(at));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetGlobal(NULL, NULL, library, "table"));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetGlobal(&at, NULL, library, NULL));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetGlobal(&at, NULL, library, "add")); /* a kernel */
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetGlobal(&at, NULL, library, "nowhere"));
    FAILS(cudaErrorInvalidResourceHandle, cudaLibraryGetGlobal(&at, NULL, NULL, "table"));
    OK(cudaLibraryUnload(library));
}

TEST(each_device_has_its_variables_but_managed_ones) {
    cudaLibrary_t library = load(PTX);
    void *first = NULL, *second = NULL;
    OK(cudaLibraryGetGlobal(&first, NULL, library, "counter"));
    OK(cudaSetDevice(1));
    OK(cudaLibraryGetGlobal(&second, NULL, library, "counter"));
    assert_ptr_not_equal(first, second);
    OK(cudaLibraryGetManaged(&first, NULL, library, "shared_by_all"));
    assert_int_equal(*(unsigned *)first, 3);
    OK(cudaSetDevice(0));
    OK(cudaLibraryGetManaged(&second, NULL, library, "shared_by_all"));
    assert_ptr_equal(first, second);
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetManaged(&first, NULL, library, "counter"));
    OK(cudaLibraryUnload(library));
}

TEST(a_library_outlives_the_reset_of_a_device) {
    cudaLibrary_t library = load(PTX);
    void *at = NULL;
    unsigned counter = 9;
    cudaKernel_t kernel = kernel_of(library, "nothing");
    OK(cudaLibraryGetGlobal(&at, NULL, library, "counter"));
    OK(cudaMemcpy(at, &counter, 4, cudaMemcpyHostToDevice));
    OK(cudaDeviceReset());
    OK(cudaLaunchKernel(kernel, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, 0));
    OK(cudaLibraryGetGlobal(&at, NULL, library, "counter"));
    OK(cudaMemcpy(&counter, at, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(counter, 7);
    OK(cudaLibraryUnload(library));
}

TEST(a_kernel_is_no_unified_function) {
    cudaLibrary_t library = load(PTX);
    void *function;
    FAILS(cudaErrorInvalidValue, cudaLibraryGetUnifiedFunction(&function, library, "add"));
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetUnifiedFunction(&function, library, "nowhere"));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetUnifiedFunction(NULL, library, "add"));
    FAILS(cudaErrorInvalidResourceHandle, cudaLibraryGetUnifiedFunction(&function, NULL, "add"));
    OK(cudaLibraryUnload(library));
}

TEST(a_library_is_a_leak) {
    cudaLibrary_t library = load(PTX);
    assert_int_equal(acu_sim_leaks(0), 1);
    OK(cudaLibraryUnload(library));
    assert_int_equal(acu_sim_leaks(0), 0);
    (void)load(PTX);
    acu_sim_reset(MACHINE);
    assert_int_equal(acu_sim_leaks(0), 0);
}

/* ---- reading PTX ---- */

TEST(malformed_ptx) {
    static const char *const texts[] = {
        ".version 7.0",
        ".version seven\n.target sm_52",
        ".version 7.0\n.target fifty",
        PTX_HEAD ".entry",
        PTX_HEAD ".entry f(",
        PTX_HEAD ".entry f() { ret;",
        PTX_HEAD ".entry f() { ret; } }",
        PTX_HEAD ".entry f(.param .u64) { }",
        PTX_HEAD ".entry f(.param .u65 a) { }",
        PTX_HEAD ".entry f(.param .u64 a .param .u64 b) { }",
        PTX_HEAD ".entry f(.param .align 3 .b8 a[4]) { }",
        PTX_HEAD ".entry f() .maxntid x { }",
        PTX_HEAD ".entry f() .unknown { }",
        PTX_HEAD ".entry f() { }\n.entry f() { }",
        PTX_HEAD ".global .u32 x;\n.global .u32 x;",
        PTX_HEAD ".global .u32 x[2] = {1, 2, 3};",
        PTX_HEAD ".global .u32 x = };",
        PTX_HEAD ".global .u32 x",
        PTX_HEAD ".global .b8 x[18446744073709551615][18446744073709551615];",
        PTX_HEAD ".entry f(.param .b8 a[40000]) { }",
        PTX_HEAD "garbage;",
        PTX_HEAD ";",
        PTX_HEAD ".entry f() { ret;; }",
        PTX_HEAD ".entry f(.param .b8 a[4353]) { ret; }",
        PTX_HEAD ".entry f(.param .b8 a[]) { ret; }",
        PTX_HEAD ".entry f() { .extern .shared .u32 a[]; ret; }",
        PTX_HEAD ".tex .u32 t;",
        PTX_HEAD ".global .u32 x[];",
        PTX_HEAD ".global .u32 x = {1};",
        PTX_HEAD ".global .u32 x[2] = 1;",
        PTX_HEAD ".global .u32 x[2][2] = {1, 2, 3, 4};",
        PTX_HEAD ".global .u32 x[2] = {1, };",
        PTX_HEAD ".global .u32 x = 1.0;",
        PTX_HEAD ".global .f32 x = 1;",
        PTX_HEAD ".global .f16 x = 1.0;",
        PTX_HEAD ".global .u32 x = y;",
        PTX_HEAD ".global .samplerref s = {addr_mode_0};",
        PTX_HEAD ".extern .global .u32 x = 1;",
        PTX_HEAD ".shared .u32 x = 1;",
        ".version 7.0\n.target sm_52\n.address_size 32\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (try_load(texts[i]) != cudaErrorInvalidPtx)
            fail_msg("not refused: %s", texts[i]);
}

TEST(an_array_as_long_as_its_initial_value) {
    cudaLibrary_t library = load(PTX_HEAD ".visible .global .u32 a[] = {1, 2, 3};\n"
                                          ".visible .global .u32 b[][2] = {{1}, {2}, {3, 4}};");
    uint32_t words[6];
    void *at = NULL;
    size_t bytes = 0;
    OK(cudaLibraryGetGlobal(&at, &bytes, library, "a"));
    assert_int_equal(bytes, 12);
    OK(cudaLibraryGetGlobal(&at, &bytes, library, "b"));
    assert_int_equal(bytes, 24);
    OK(cudaMemcpy(words, at, 24, cudaMemcpyDeviceToHost));
    assert_memory_equal(words, ((uint32_t[]){1, 2, 3, 4, 0, 0}), 24); /* as ptxas fills it */
    OK(cudaLibraryUnload(library));
}

/* ptxas -v says 40 bytes and 9 bytes of these. */
TEST(shared_memory_of_a_kernel_and_what_it_calls) {
    cudaLibrary_t library =
        load(PTX_HEAD ".shared .b8 a[3]; .shared .u32 b; .shared .b8 c[5]; .shared .u64 z;\n"
                      ".func g() { .reg .b32 %r; mov.u32 %r, z; st.shared.u32 [%r], %r; ret; }\n"
                      ".entry f() { .reg .b32 %r<5>; .shared .b8 d[7]; .shared .u64 e;\n"
                      "mov.u32 %r1, c; mov.u32 %r2, a; mov.u32 %r3, b; call.uni g; ret; }\n"
                      ".entry h() { .reg .b32 %r1; mov.u32 %r1, c; mov.u32 %r1, b; ret; }");
    struct cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, kernel_of(library, "f")));
    assert_int_equal(attributes.sharedSizeBytes, 40);
    OK(cudaFuncGetAttributes(&attributes, kernel_of(library, "h")));
    assert_int_equal(attributes.sharedSizeBytes, 9);
    OK(cudaLibraryUnload(library));
}

/* What is dynamic takes no room among what is static, wherever the text declares it: ptxas -v says
 * 16 bytes. A test of libcu++ asks for the rest of the memory. */
TEST(dynamic_shared_memory_is_behind_all_that_is_static) {
    cudaLibrary_t library =
        load(PTX_HEAD ".shared .align 8 .b8 a[8]; .extern .shared .align 16 .b8 all[];\n"
                      ".shared .align 8 .b8 b[8];\n"
                      ".entry f() { .reg .b32 %r<5>; mov.u32 %r1, a; mov.u32 %r2, b;\n"
                      "mov.u32 %r3, all; ret; }");
    struct cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, kernel_of(library, "f")));
    assert_int_equal(attributes.sharedSizeBytes, 16);
    OK(cudaLibraryUnload(library));
}

TEST(what_is_no_ptx) {
    SAYS(cudaErrorInvalidKernelImage, try_load(""));
    SAYS(cudaErrorInvalidKernelImage, try_load("hello"));
    SAYS(cudaErrorInvalidKernelImage, try_load("// nothing"));
    SAYS(cudaErrorInvalidKernelImage, try_load(".target sm_52"));
    SAYS(cudaErrorInvalidKernelImage, try_load("\177ELF"));
    SAYS(cudaErrorInvalidKernelImage, try_load("\177ELF\2\1\1"));
}

TEST(ptx_that_is_unusual_but_right) {
    static const char *const texts[] = {
        PTX_HEAD,
        PTX_HEAD "// a comment\n/* and\n another */ .entry f() { ret; } // end",
        PTX_HEAD ".weak .entry f\n{\n ret;\n}",
        PTX_HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                 ".visible .func (.reg .u32 %r) g(.reg .u32 %a) { { ret; } }\n",
        PTX_HEAD ".extern .global .u32 elsewhere;",
        PTX_HEAD ".global .align 1 .b8 text[6] = {104, 101, 108, 108, 111};",
        PTX_HEAD ".global .v4 .f32 v; .global .u64 p = generic(v); .global .u64 q = v+4;",
        PTX_HEAD ".global .s32 m[2][2] = {{1, -2}, {3, 0x10}};",
        PTX_HEAD ".global .texref t;",
        PTX_HEAD ".global .samplerref s = {addr_mode_0 = clamp_to_border, filter_mode = nearest};",
        PTX_HEAD ".file 1 \"a.cu\"\n.entry f() { .loc 1 2 3\n ret; }\n"
                 ".section .debug_str { .b8 1, 2 }\n",
        PTX_HEAD ".entry f() .maxntid 64, 1, 1 .minnctapersm 2 .pragma \"nounroll\"; { ret; }",
        (".version 8.0\n.target sm_90a, debug\n.address_size 64\n"
         ".entry f() .reqnctapercluster 2, 1, 1 .explicitcluster { ret; }"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (try_load(texts[i]) != cudaSuccess)
            fail_msg("refused: %s", texts[i]);
}

TEST(an_architecture_that_is_not_there) {
    SAYS(cudaErrorInvalidPtx, try_load(".version 8.6\n.target sm_100\n.entry f() { }"));
    acu_sim_reset("cc=10.0");
    SAYS(cudaSuccess, try_load(".version 8.6\n.target sm_100\n.entry f() { }"));
    SAYS(cudaErrorInvalidPtx, try_load(".version 8.0\n.target sm_90a\n"));
    acu_sim_reset("cc=8.0");
    SAYS(cudaErrorInvalidPtx, try_load(".version 8.0\n.target sm_86\n"));
}

TEST(a_ptx_version_that_the_driver_is_too_old_for) {
    acu_sim_reset("runtime=12.8,driver=12.4");
    acu_sim_reset("driver=13.0,cc=9.0");
    SAYS(cudaSuccess, try_load(".version 9.0\n.target sm_90\n"));
    SAYS(cudaErrorUnsupportedPtxVersion, try_load(".version 9.1\n.target sm_90\n"));
}

TEST(the_log_says_where) {
    char log[200] = "x", small[8] = "x";
    enum cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
    void *values[] = {log, (void *)sizeof log};
    cudaLibrary_t library;
    unsigned count = 9;
    cudaKernel_t kernel;
    const char *bad = PTX_HEAD "\n.entry f() {\n";
    OK(cudaLibraryLoadData(&library, bad, options, values, 2, NULL, NULL, 0));
    OK(cudaLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 0);
    SAYS(cudaErrorInvalidPtx, cudaLibraryGetKernel(&kernel, library, "f"));
    OK(cudaLibraryUnload(library));
    assert_non_null(strstr(log, "line 6; fatal   : Parsing error near '': syntax error\n"));
    assert_int_equal((uintptr_t)values[1], strlen(log));
    values[0] = small;
    values[1] = (void *)sizeof small;
    OK(cudaLibraryLoadData(&library, bad, options, values, 2, NULL, NULL, 0));
    SAYS(cudaErrorInvalidPtx, cudaLibraryGetKernel(&kernel, library, "f"));
    OK(cudaLibraryUnload(library));
    assert_int_equal(strlen(small), 7);
    values[0] = log;
    values[1] = (void *)sizeof log;
    OK(cudaLibraryLoadData(&library, PTX, options, values, 2, NULL, NULL, 0));
    assert_string_equal(log, "");
    OK(cudaLibraryUnload(library));
    (void)cudaGetLastError();
}

/* Each mistake has a line, in the order of the text, also one that was made before; of many the
 * first ones have. */
TEST(the_log_has_several_mistakes) {
    static char log[2000], many[8000];
    enum cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
    void *values[] = {log, (void *)sizeof log};
    cudaLibrary_t library;
    cudaKernel_t kernel;
    OK(cudaLibraryLoadData(&library,
                           PTX_HEAD ".entry g() {\n.reg .b32 %r<3>; .reg .f32 %f<3>;\n"
                                    "add.u32 %f1, %r1, %r1;\nadd.u32 %r1, %r1, %r1;\n"
                                    "add.u32 %f1, %r1, %r1;\nret;\n}\n"
                                    ".entry f() {\n.reg .b32 %r<3>;\nmov.u32 %r1, %tid;\nret;\n}\n",
                           options, values, 2, NULL, NULL, 0));
    SAYS(cudaErrorInvalidPtx, cudaLibraryGetKernel(&kernel, library, "f"));
    OK(cudaLibraryUnload(library));
    const char *first = strstr(log, "error   : Arguments mismatch for instruction 'add'\n");
    const char *second =
        first ? strstr(first + 1, "error   : Arguments mismatch for instruction 'add'\n") : NULL;
    const char *third = second ? strstr(second, "for instruction 'mov'\nptxas fatal   : ") : NULL;
    assert_non_null(third);
    size_t used =
        (size_t)sprintf(many, PTX_HEAD ".entry f() {\n.reg .b32 %%r<3>; .reg .f32 %%f<3>;\n");
    for (int n = 0; n < 100; n++)
        used += (size_t)sprintf(many + used, "add.u32 %%f1, %%r1, %%r1;\n");
    sprintf(many + used, "ret;\n}\n");
    values[1] = (void *)sizeof log;
    OK(cudaLibraryLoadData(&library, many, options, values, 2, NULL, NULL, 0));
    SAYS(cudaErrorInvalidPtx, cudaLibraryGetKernel(&kernel, library, "f"));
    OK(cudaLibraryUnload(library));
    const char *end = strstr(log, "'add'\nptxas fatal   : Ptx assembly aborted due to errors");
    assert_non_null(end);
    (void)cudaGetLastError();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(loads_and_unloads),
        T(what_a_load_refuses),
        T(loads_files),
        T(kernels_by_name),
        T(variables_have_their_values),
        T(each_device_has_its_variables_but_managed_ones),
        T(a_library_outlives_the_reset_of_a_device),
        T(a_kernel_is_no_unified_function),
        T(a_library_is_a_leak),
        T(malformed_ptx),
        T(an_array_as_long_as_its_initial_value),
        T(shared_memory_of_a_kernel_and_what_it_calls),
        T(dynamic_shared_memory_is_behind_all_that_is_static),
        T(what_is_no_ptx),
        T(ptx_that_is_unusual_but_right),
        T(an_architecture_that_is_not_there),
        T(a_ptx_version_that_the_driver_is_too_old_for),
        T(the_log_says_where),
        T(the_log_has_several_mistakes),
    };
    return RUN(tests);
}
