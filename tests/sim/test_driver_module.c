/* The driver's modules and libraries, their functions, launches and kernel nodes. */
#include "driver_test.h"

#include <stdio.h>

/* ---- modules ---- */

static CUmodule load_module(void) {
    CUmodule module = NULL;
    OK(cuModuleLoadData(&module, PTX));
    return module;
}

static CUfunction function_of(CUmodule module, const char *name) {
    CUfunction function = NULL;
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

TEST(modules) {
    CUmodule module = load_module(), same = NULL;
    CUfunction function, all[9] = {NULL};
    CUdeviceptr at;
    CUmoduleLoadingMode mode;
    size_t bytes;
    unsigned count;
    const char *name;
    SAYS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "nowhere"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(NULL, module, "add"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&function, module, NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&function, NULL, "add"));
    function = function_of(module, "add");
    OK(cuFuncGetModule(&same, function));
    assert_ptr_equal(same, module);
    OK(cuFuncGetName(&name, function));
    assert_string_equal(name, "add");
    OK(cuModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 7);
    OK(cuModuleEnumerateFunctions(all, 9, module));
    assert_ptr_equal(all[0], function);
    OK(cuModuleGetGlobal(&at, &bytes, module, "counter"));
    assert_int_equal(bytes, 4);
    SAYS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&at, &bytes, module, "nowhere"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetGlobal(NULL, NULL, module, "counter"));
    OK(cuModuleGetLoadingMode(&mode));
    assert_int_equal(acu_sim_leaks(0), 1);
    OK(cuModuleUnload(module));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetName(&name, function));
}

/* Mistakes in instructions are found at load, also of functions that no kernel calls. */
TEST(the_log_says_what_is_wrong) {
    static const struct {
        CUresult code;
        const char *text, *log;
    } refused[] = {
        {CUDA_ERROR_INVALID_PTX, ".func f() {\n.reg .f32 %f<3>;\nadd.f32 %f1, %f2, 1;\nret;\n}\n",
         "ptxas application ptx input, line 6; error   : Arguments mismatch for instruction 'add'\n"
         "ptxas fatal   : Ptx assembly aborted due to errors"},
        {CUDA_ERROR_INVALID_PTX, ".entry f() {\nbra nowhere;\n}\n",
         "ptxas application ptx input, line 5; error   : Unknown symbol 'nowhere'\n"
         "ptxas fatal   : Ptx assembly aborted due to errors"},
        {CUDA_ERROR_INVALID_PTX, ".entry f() {\nret }\n",
         "ptxas application ptx input, line 5; fatal   : Parsing error near '}': syntax error\n"
         "ptxas fatal   : Ptx assembly aborted due to errors"},
        {CUDA_ERROR_INVALID_PTX, ".extern .func g();\n.func f() { call g; ret; }\n",
         "ptxas fatal   : Unresolved extern function 'g'"},
        {CUDA_ERROR_INVALID_PTX, ".func g();\n", "ptxas fatal   : Unresolved extern function 'g'"},
        {CUDA_ERROR_INVALID_PTX, ".extern .global .u32 v[];\n",
         "ptxas fatal   : Unresolved extern variable 'v'"},
        {CUDA_SUCCESS, ".extern .func g();\n.extern .func vprintf();\n.func f() { call vprintf; }",
         ""},
    };
    for (size_t n = 0; n < sizeof refused / sizeof *refused; n++) {
        char log[500] = "", text[500];
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {log, (void *)sizeof log};
        CUmodule module = NULL;
        snprintf(text, sizeof text, PTX_HEAD "%s", refused[n].text);
        SAYS(refused[n].code, cuModuleLoadDataEx(&module, text, 2, options, values));
        assert_string_equal(log, refused[n].log);
        if (module)
            OK(cuModuleUnload(module));
    }
}

/* Each word of PTX has the version that has it first, as ptxas says. */
TEST(words_that_a_version_lacks) {
    static const struct {
        const char *version, *target, *rest, *log; /* an empty log: the text is not refused */
    } texts[] = {
        {"7.7", "sm_90", ".entry k() { ret; }",
         "line 2; error   : PTX .version 7.7 does not support .target sm_90"},
        {"7.8", "sm_90a", ".entry k() { ret; }",
         "PTX .version 7.8 does not support .target sm_90a"},
        {"7.8", "sm_90", ".entry k() { ret; }", ""},
        {"8.0", "sm_90a", ".entry k() { ret; }", ""},
        {"6.9", "sm_80", ".entry k() { ret; }", "PTX .version 6.9 does not support .target sm_80"},
        {"8.7", "sm_90", ".entry k() .reqntid 32 .reqnctapercluster 2 .blocksareclusters { ret; }",
         "Feature '.blocksareclusters' requires PTX ISA .version 9.0 or later"},
        {"9.0", "sm_90", ".entry k() .reqntid 32 .reqnctapercluster 2 .blocksareclusters { ret; }",
         ""},
        {"6.2", "sm_50", ".func f() { ret; }\n.func g();\n.alias g, f;",
         "line 6; error   : Feature '.alias' requires PTX ISA .version 6.3 or later"},
        {"6.3", "sm_50", ".func f() { ret; }\n.func g();\n.alias g, f;", ""},
        {"6.3", "sm_50", ".func f() .noreturn { trap; }",
         "Feature '.noreturn' requires PTX ISA .version 6.4 or later"},
        {"6.4", "sm_50", ".func f() .noreturn { trap; }", ""},
        {"4.3", "sm_50", ".common .global .b32 x;",
         "Feature '.common directive' requires PTX ISA .version 5.0 or later"},
        {"5.0", "sm_50", ".common .global .b32 x;", ""},
        {"7.5", "sm_80", ".entry k() {\n.reg .b32 %r1;\nmov.u32 %r1, %reserved_smem_offset_cap;\n}",
         "line 6; error   : Feature '%reserved_smem_offset_cap' requires PTX ISA .version 7.6 or "
         "later"},
        {"7.6", "sm_75", ".entry k() {\n.reg .b32 %r1;\nmov.u32 %r1, %reserved_smem_offset_cap;\n}",
         "Feature '%reserved_smem_offset_cap' requires .target sm_80 or higher"},
        {"7.6", "sm_80", ".entry k() {\n.reg .b32 %r1;\nmov.u32 %r1, %reserved_smem_offset_cap;\n}",
         ""},
        {"7.8", "sm_90", ".entry k() {\n.reg .b64 %d1;\nmov.u64 %d1, %current_graph_exec;\n}",
         "Feature '%current_graph_exec' requires PTX ISA .version 8.0 or later"},
    };
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        char log[500] = "", text[500];
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {log, (void *)sizeof log};
        CUmodule module = NULL;
        snprintf(text, sizeof text, ".version %s\n.target %s\n.address_size 64\n%s\n",
                 texts[n].version, texts[n].target, texts[n].rest);
        SAYS(texts[n].log[0] ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS,
             cuModuleLoadDataEx(&module, text, 2, options, values));
        if (!strstr(log, texts[n].log))
            fail_msg("'%s' lacks: %s", log, texts[n].log);
        if (module)
            OK(cuModuleUnload(module));
    }
}

/* A target needs a version of PTX that has it, a comment an end, and all are ASCII. */
TEST(heads_and_comments) {
    static const struct {
        const char *text, *why; /* NULL: it is loaded */
    } all[] = {
        {".version 6.0\n.target sm_80\n", "PTX .version 6.0 does not support .target sm_80"},
        {".version 6.0\n.target sm_70\n", NULL},
        {".version 7.7\n.target sm_90\n", "PTX .version 7.7 does not support .target sm_90"},
        {".version 7.8\n.target sm_90a\n", "PTX .version 7.8 does not support .target sm_90a"},
        {".version 8.0\n.target sm_90a\n", NULL},
        {".version 8.0\n.target sm_80\n/* open", "unexpected EOF while scanning"},
        {".version 8.0\n.target sm_80\n.visible .entry k() { ret; /* } *", "unexpected EOF"},
        {".version 8.0\n.target sm_80\n// \xc3\xa9\n",
         "Unexpected non-ASCII character encountered on line 3"},
    };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        CUmodule module;
        char log[512] = "";
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {log, (void *)sizeof log};
        const CUresult result = cuModuleLoadDataEx(&module, all[n].text, 2, options, values);
        assert_int_equal(result, all[n].why ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS);
        if (all[n].why)
            assert_non_null(strstr(log, all[n].why));
        else
            OK(cuModuleUnload(module));
    }
}

static CUresult launch_in_clusters(CUfunction kernel, unsigned blocks, unsigned cluster) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {cluster, 1, 1}};
    const CUlaunchConfig config = {.gridDimX = blocks,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 1,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .attrs = cluster ? &attribute : NULL,
                                   .numAttrs = cluster ? 1 : 0};
    return cuLaunchKernelEx(&config, kernel, NULL, NULL);
}

/* Sizes of clusters that a kernel was compiled for, or that its attributes give, as an H200. */
TEST(sizes_of_clusters) {
    CUmodule module;
    CUfunction some, two, any;
    int most = 0;
    OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n"
                                 ".visible .entry some() .maxclusterrank 4 { ret; }\n"
                                 ".visible .entry two() .reqnctapercluster 2 { ret; }\n"
                                 ".visible .entry any() { ret; }\n"));
    OK(cuModuleGetFunction(&some, module, "some"));
    OK(cuModuleGetFunction(&two, module, "two"));
    OK(cuModuleGetFunction(&any, module, "any"));
    OK(launch_in_clusters(some, 8, 4));
    SAYS(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch_in_clusters(some, 8, 8));
    const CUlaunchConfig config = {.gridDimX = 8,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 1,
                                   .blockDimY = 1,
                                   .blockDimZ = 1};
    OK(cuOccupancyMaxPotentialClusterSize(&most, some, &config));
    assert_int_equal(most, 4);
    OK(cuFuncSetAttribute(two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    SAYS(CUDA_ERROR_NOT_PERMITTED,
         cuFuncSetAttribute(two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    SAYS(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch_in_clusters(any, 4, 0));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
    OK(launch_in_clusters(any, 4, 0));
    SAYS(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch_in_clusters(any, 3, 0));
    OK(cuModuleUnload(module));
}

/* What is of clusters needs a target that has them, and fits together, as an H200 says. */
TEST(clusters_in_ptx) {
    static const struct {
        int target, must_be_set; /* must_be_set: -1 where the text is refused */
        const char *directives, *body, *log;
    } texts[] = {
        {80, -1, ".reqnctapercluster 2", "", "Feature '.reqnctapercluster' requires .target sm_90"},
        {80, -1, ".maxclusterrank 8", "", "Feature '.maxclusterrank' requires .target sm_90"},
        {80, -1, ".explicitcluster", "", "Feature '.explicitcluster' requires .target sm_90"},
        {80, -1, ".blocksareclusters", "", "Feature '.blocksareclusters' requires .target sm_90"},
        {80, -1, "", "mov.u32 %r1, %cluster_ctarank;",
         "Feature '%cluster_ctarank' requires .target sm_90"},
        {80, -1, "", "mov.u32 %r1, %nclusterid.x;", "Feature '%nclusterid' requires .target sm_90"},
        {80, -1, "", "mov.pred %p1, %is_explicit_cluster;",
         "Feature '%is_explicit_cluster' requires .target sm_90"},
        {80, -1, "", "mov.u32 %r1, %aggr_smem_size;",
         "Feature '%aggr_smem_size' requires .target sm_90"},
        {80, 0, "", "mov.u32 %r1, %total_smem_size;", ""},
        {90, -1, ".maxclusterrank 4 .reqnctapercluster 2", "",
         "Conflicting directives: .reqnctapercluster and .maxclusterrank cannot both be specified"},
        {90, -1, ".blocksareclusters .reqntid 32", "",
         ".reqntid and .reqnctapercluster directive(s) required for directive "
         "'.blocksareclusters'"},
        {90, 0, ".blocksareclusters .reqntid 32 .reqnctapercluster 2", "", ""},
        {90, 0, ".reqnctapercluster 2", "mov.u32 %r1, %cluster_ctarank;", ""},
        {90, 1, ".explicitcluster", "", ""},
        {90, 1, ".explicitcluster .reqnctapercluster 2", "", ""},
    };
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        char log[500] = "", text[500];
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {log, (void *)sizeof log};
        CUmodule module = NULL;
        CUfunction k;
        int value;
        snprintf(text, sizeof text,
                 ".version 9.0\n.target sm_%d\n.address_size 64\n.visible .entry k() %s\n{\n"
                 ".reg .b32 %%r<2>; .reg .pred %%p<2>; %s\nret;\n}\n",
                 texts[n].target, texts[n].directives, texts[n].body);
        SAYS(texts[n].must_be_set < 0 ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS,
             cuModuleLoadDataEx(&module, text, 2, options, values));
        assert_non_null(strstr(log, texts[n].log));
        if (!module)
            continue;
        OK(cuModuleGetFunction(&k, module, "k"));
        OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, k));
        assert_int_equal(value, texts[n].must_be_set);
        SAYS(strcmp(texts[n].directives, ".explicitcluster") == 0 ? CUDA_ERROR_INVALID_CLUSTER_SIZE
                                                                  : CUDA_SUCCESS,
             cuLaunchKernel(k, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
        OK(cuModuleUnload(module));
    }
}

/* A variable that is extern, used and nowhere is the text's own; ptxas warns of it. */
TEST(a_variable_that_is_only_declared) {
    CUmodule module;
    CUdeviceptr at;
    size_t size;
    OK(cuModuleLoadData(&module, PTX_HEAD ".extern .global .u32 v[3];\n.func f() {\n"
                                          ".reg .b64 %d1;\nmov.u64 %d1, v;\nret;\n}\n"));
    OK(cuModuleGetGlobal(&at, &size, module, "v"));
    assert_int_equal(size, 12);
    OK(cuModuleUnload(module));
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, PTX_HEAD ".extern .const .u32 v[];\n"));
}

TEST(modules_that_are_refused) {
    CUmodule module;
    char log[200] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&module, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(NULL, PTX));
    SAYS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, "bad"));
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&module, ".version 7.0\n", 2, options, values));
    assert_non_null(strstr(log, "Missing .target"));
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, ".version 8.6\n.target sm_100\n"));
    SAYS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
         cuModuleLoadData(&module, ".version 9.9\n.target sm_90\n"));
    SAYS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/nowhere"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoad(&module, NULL));
}

TEST(libraries) {
    CUlibrary library, same;
    CUkernel kernel;
    CUfunction function;
    CUmodule module;
    CUdeviceptr at;
    const char *name;
    unsigned count;
    size_t number, offset, size;
    int value;
    OK(cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "mixed"));
    OK(cuLibraryGetKernelCount(&count, library));
    OK(cuLibraryEnumerateKernels(&kernel, 1, library));
    OK(cuLibraryGetKernel(&kernel, library, "mixed"));
    OK(cuKernelGetLibrary(&same, kernel));
    assert_ptr_equal(same, library);
    OK(cuKernelGetName(&name, kernel));
    assert_string_equal(name, "mixed");
    OK(cuKernelGetParamCount(kernel, &number));
    assert_int_equal(number, 4);
    OK(cuKernelGetParamInfo(kernel, 1, &offset, &size));
    assert_true(offset == 8 && size == 20);
    OK(cuKernelGetFunction(&function, kernel));
    OK(cuFuncGetParamInfo(function, 1, &offset, NULL));
    assert_int_equal(offset, 8);
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100, kernel, 0));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    assert_int_equal(value, 100);
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 1));
    OK(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0));
    SAYS(CUDA_ERROR_INVALID_DEVICE,
         cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 9));
    OK(cuLibraryGetModule(&module, library));
    SAYS(CUDA_ERROR_NOT_PERMITTED, cuModuleUnload(module));
    OK(cuLibraryGetGlobal(&at, &size, library, "counter"));
    OK(cuLibraryGetManaged(&at, &size, library, "shared_by_all"));
    SAYS(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "nowhere"));
    OK(cuLibraryUnload(library));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName(&name, kernel));
}

TEST(a_library_needs_no_context) {
    CUlibrary library;
    CUkernel kernel;
    CUcontext current = NULL;
    CUfunction function;
    OK(cuInit(0));
    OK(cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuCtxGetCurrent(&current));
    assert_null(current);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuKernelGetFunction(&function, kernel));
    OK(cuLibraryUnload(library));
}

/* ---- functions ---- */

TEST(function_attributes) {
    CUmodule module = load_module();
    CUfunction function = function_of(module, "sharing");
    CUfunctionLoadingState loaded;
    int value;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    assert_int_equal(value, 1408);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    assert_int_equal(value, 1024);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function));
    assert_int_equal(value, 90);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, function));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
    OK(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_EQUAL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncSetCacheConfig(function, (CUfunc_cache)9));
    OK(cuFuncIsLoaded(&loaded, function));
    OK(cuFuncLoad(function));
    OK(cuModuleUnload(module));
}

/* ---- launching ---- */

TEST(launches) {
    enum { COUNT = 50 };
    float ones[COUNT], out[COUNT];
    CUdeviceptr a, to;
    unsigned count = COUNT;
    CUmodule module = load_module();
    CUfunction add = function_of(module, "add");
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    OK(cuMemAlloc(&a, sizeof ones));
    OK(cuMemAlloc(&to, sizeof out));
    OK(cuMemcpyHtoD(a, ones, sizeof ones));
    void *args[] = {&a, &a, &to, &count};
    OK(cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH(out, to, sizeof out));
    assert_true(out[0] == 2 && out[COUNT - 1] == 2);
    struct {
        CUdeviceptr a, b, to;
        unsigned count;
    } packed = {to, a, to, COUNT};
    size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    OK(cuMemcpyDtoH(out, to, sizeof out));
    assert_true(out[0] == 3);
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 64,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    OK(cuLaunchKernelEx(&config, add, args, NULL));
    OK(cuLaunchCooperativeKernel(add, 1, 1, 1, 64, 1, 1, 0, NULL, args));
    size = 99;
    SAYS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
         cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, NULL, args, extra));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    OK(cuMemFree(a));
    OK(cuMemFree(to));
    OK(cuModuleUnload(module));
}

TEST(launches_that_are_refused) {
    CUmodule module = load_module();
    CUfunction nothing = function_of(module, "nothing");
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(nothing, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuLaunchKernel(nothing, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 49153, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
         cuLaunchCooperativeKernel(nothing, 100000, 1, 1, 1024, 1, 1, 0, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(NULL, nothing, NULL, NULL));
    OK(cuModuleUnload(module));
}

TEST(a_kernel_is_launched_like_its_function) {
    CUlibrary library;
    CUkernel kernel;
    OK(cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cudaLaunchKernel(kernel, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, 0));
    OK(cuCtxSynchronize());
    OK(cuLibraryUnload(library));
}

static size_t shared_of(int size) {
    return (size_t)size * 4;
}

TEST(occupancy) {
    CUmodule module = load_module();
    CUfunction nothing = function_of(module, "nothing");
    int blocks, grid, size;
    size_t bytes;
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 64,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 1024, 0));
    assert_int_equal(blocks, 2);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, nothing, 512, 0, 1));
    assert_int_equal(blocks, 4);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &size, nothing, NULL, 0, 0));
    assert_true(size == 1024 && grid == 2 * 132);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &size, nothing, shared_of, 0, 300));
    assert_true(size > 0 && size <= 300);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 2, 64));
    OK(cuOccupancyMaxPotentialClusterSize(&size, nothing, &config));
    assert_int_equal(size, 8);
    OK(cuOccupancyMaxActiveClusters(&size, nothing, &config));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, nothing, 1024, 0));
    SAYS(CUDA_ERROR_INVALID_HANDLE,
         cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 1024, 0));
    OK(cuModuleUnload(module));
}

/* ---- graphs ---- */

TEST(kernel_nodes) {
    enum { COUNT = 10 };
    float ones[COUNT], out[COUNT] = {0};
    unsigned count = COUNT;
    CUdeviceptr a, to;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node = NULL;
    CUgraphNodeType type;
    CUDA_KERNEL_NODE_PARAMS got = {0};
    CUmodule module = load_module();
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    OK(cuMemAlloc(&a, sizeof ones));
    OK(cuMemAlloc(&to, sizeof out));
    OK(cuMemcpyHtoD(a, ones, sizeof ones));
    void *args[] = {&a, &a, &to, &count};
    CUDA_KERNEL_NODE_PARAMS params = {.func = function_of(module, "add"),
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 32,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = args};
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    OK(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_KERNEL);
    OK(cuGraphKernelNodeGetParams(node, &got));
    assert_true(got.func == params.func && !got.kern && got.ctx == context);
    assert_int_equal(got.blockDimX, 32);
    assert_int_equal(*(unsigned *)got.kernelParams[3], COUNT);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuMemcpyDtoH(out, to, sizeof out));
    assert_true(out[COUNT - 1] == 2);
    args[0] = &to;
    OK(cuGraphExecKernelNodeSetParams(exec, node, &params));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuMemcpyDtoH(out, to, sizeof out));
    assert_true(out[COUNT - 1] == 3);
    OK(cuGraphKernelNodeSetParams(node, &params));
    params.blockDimX = 0;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetParams(node, &params));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode(&node, graph, NULL, 0, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetParams(NULL, &got));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetParams(node, NULL));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree(a));
    OK(cuMemFree(to));
    OK(cuModuleUnload(module));
}

TEST(a_kernel_node_by_its_kernel) {
    CUlibrary library;
    CUkernel kernel;
    CUgraph graph;
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS got;
    OK(cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    CUDA_KERNEL_NODE_PARAMS params = {.kern = kernel,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .ctx = context};
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    OK(cuGraphKernelNodeGetParams(node, &got));
    assert_ptr_equal(got.kern, kernel);
    CUfunction function;
    OK(cuKernelGetFunction(&function, kernel)); /* a GPU says both, whichever was named */
    assert_ptr_equal(got.func, function);
    params.func = function;
    params.kern = NULL;
    OK(cuGraphKernelNodeSetParams(node, &params));
    OK(cuGraphKernelNodeGetParams(node, &got));
    assert_true(got.func == function && got.kern == kernel);
    params.func = NULL;
    params.ctx = (CUcontext)(void *)&graph;
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    params.ctx = NULL;
    params.kern = NULL;
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    OK(cuGraphDestroy(graph));
    OK(cuLibraryUnload(library));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(modules),
        C(modules_that_are_refused),
        C(the_log_says_what_is_wrong),
        C(words_that_a_version_lacks),
        C(clusters_in_ptx),
        C(sizes_of_clusters),
        C(heads_and_comments),
        C(a_variable_that_is_only_declared),
        C(libraries),
        T(a_library_needs_no_context),
        C(function_attributes),
        C(launches),
        C(launches_that_are_refused),
        C(a_kernel_is_launched_like_its_function),
        C(occupancy),
        C(kernel_nodes),
        C(a_kernel_node_by_its_kernel),
    };
    return RUN(tests);
}
