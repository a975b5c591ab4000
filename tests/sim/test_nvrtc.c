/* The compiler that the simulator plays: what it reads of CUDA C++, and what it says it cannot. */
#include "kernels.h"

#include <anycuda/nvrtc.h>

#include <stdio.h>

static char ptx[8000], text[4000];

static nvrtcResult compile_with(const char *source, int count, const char *const *options) {
    nvrtcProgram program;
    size_t size;
    OK(nvrtcCreateProgram(&program, source, "a.cu", 0, NULL, NULL));
    nvrtcResult result = nvrtcCompileProgram(program, count, options);
    OK(nvrtcGetProgramLogSize(program, &size));
    assert_true(size <= sizeof text);
    OK(nvrtcGetProgramLog(program, text));
    assert_int_equal(strlen(text) + 1, size);
    if (!result) {
        OK(nvrtcGetPTXSize(program, &size));
        assert_true(size <= sizeof ptx);
        OK(nvrtcGetPTX(program, ptx));
        assert_int_equal(strlen(ptx) + 1, size);
    }
    OK(nvrtcDestroyProgram(&program));
    assert_null(program);
    return result;
}

static nvrtcResult compile(const char *source) {
    return compile_with(source, 0, NULL);
}

TEST(compiles_loads_and_runs) {
    float a[10], out[10];
    void *da, *dout;
    unsigned count = 10;
    cudaLibrary_t library = NULL;
    for (int i = 0; i < 10; i++)
        a[i] = (float)i;
    OK(compile("#include <stdio.h>\n"
               "// y = a + b\n"
               "extern \"C\" __global__ void add(const float *a, const float *__restrict__ b,\n"
               "                               float *out, unsigned int n)\n"
               "{\n"
               "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
               "    if (i < n) { out[i] = a[i] + b[i]; }\n"
               "}\n"));
    assert_string_equal(text, "");
    library = load(ptx);
    OK(cudaMalloc(&da, sizeof a));
    OK(cudaMalloc(&dout, sizeof out));
    OK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    void *args[] = {&da, &da, &dout, &count};
    OK(cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(32, 1, 1), args, 0, 0));
    OK(cudaMemcpy(out, dout, sizeof out, cudaMemcpyDeviceToHost));
    assert_true(out[9] == 18);
    OK(cudaFree(da));
    OK(cudaFree(dout));
    OK(cudaLibraryUnload(library));
}

static void has_params(const char *params, size_t count, const size_t *sizes) {
    char source[500];
    size_t offset, size, found;
    cudaLibrary_t library;
    snprintf(source, sizeof source, "extern \"C\" __global__ void f(%s) { }", params);
    if (compile(source))
        fail_msg("%s: %s", params, text);
    library = load(ptx);
    OK(cudaFuncGetParamCount(kernel_of(library, "f"), &found));
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++) {
        OK(cudaFuncGetParamInfo(kernel_of(library, "f"), i, &offset, &size));
        if (size != sizes[i])
            fail_msg("%s: parameter %zu has %zu bytes", params, i, size);
    }
    OK(cudaLibraryUnload(library));
}

TEST(types_of_parameters) {
    has_params("", 0, NULL);
    has_params("void", 0, NULL);
    has_params("char a, unsigned char b, signed char c, bool d", 4, (const size_t[]){1, 1, 1, 1});
    has_params("short a, unsigned short int b, short int c", 3, (const size_t[]){2, 2, 2});
    has_params("int a, unsigned b, unsigned int c, signed d", 4, (const size_t[]){4, 4, 4, 4});
    has_params("long a, unsigned long b, long long c, unsigned long long int d, long int e", 5,
               (const size_t[]){8, 8, 8, 8, 8});
    has_params("float a, double b, const float c", 3, (const size_t[]){4, 8, 4});
    has_params("size_t n, uint8_t b, int64_t c", 3, (const size_t[]){8, 1, 8});
    has_params("float4 a, int2 b, uchar3 c", 3, (const size_t[]){16, 8, 3});
    has_params("const void *a, struct thing *const b, float **c, Unknown *d, int e[]", 5,
               (const size_t[]){8, 8, 8, 8, 8});
    has_params("int, float *", 2, (const size_t[]){4, 8});
}

/* As NVRTC 13.0 and 13.5 declare them. */
TEST(parameters_are_declared_as_nvrtc_does) {
    static const struct {
        const char *type, *declared;
    } cases[] = {
        {"char", ".param .u8 f_param_0"},
        {"bool", ".param .u8 f_param_0"},
        {"unsigned short", ".param .u16 f_param_0"},
        {"int", ".param .u32 f_param_0"},
        {"unsigned", ".param .u32 f_param_0"},
        {"long long", ".param .u64 f_param_0"},
        {"size_t", ".param .u64 f_param_0"},
        {"float", ".param .f32 f_param_0"},
        {"const double", ".param .f64 f_param_0"},
        {"float *", ".param .u64 f_param_0"},
        {"int &", ".param .u64 f_param_0"},
        {"float4", ".param .align 16 .b8 f_param_0[16]"},
        {"float1", ".param .align 4 .b8 f_param_0[4]"},
        {"__half", ".param .align 2 .b8 f_param_0[2]"},
    };
    char source[100];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(source, sizeof source, "extern \"C\" __global__ void f(%s a) { }", cases[i].type);
        OK(compile(source));
        if (!strstr(ptx, cases[i].declared))
            fail_msg("%s is not declared as %s: %s", cases[i].type, cases[i].declared, ptx);
    }
}

TEST(limits_and_blocks) {
    struct cudaFuncAttributes a;
    OK(compile("extern \"C\" {\n"
               "__device__ float helper(float x) { return x; }\n"
               "__global__ void __launch_bounds__(128, 2) f(int a) { helper('}'); }\n"
               "void __global__ g() { const char *t = \"}\"; }\n"
               "__global__ void declared(int a);\n"
               "}\n"
               "struct point { int x, y; };\n"
               "typedef int number;\n"
               "template <typename T> __device__ T twice(T x) { return 2 * x; }\n"
               "static __device__ __constant__ float factors[4];\n"
               "__device__ unsigned counter;\n"));
    cudaLibrary_t library = load(ptx);
    unsigned count;
    size_t bytes;
    OK(cudaLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 2);
    OK(cudaFuncGetAttributes(&a, kernel_of(library, "f")));
    assert_int_equal(a.maxThreadsPerBlock, 128);
    OK(cudaLibraryGetGlobal(NULL, &bytes, library, "factors"));
    assert_int_equal(bytes, 16);
    OK(cudaLibraryGetGlobal(NULL, &bytes, library, "counter"));
    assert_int_equal(bytes, 4);
    OK(cudaLibraryUnload(library));
}

TEST(what_it_cannot_know) {
    static const char *const sources[] = {
        "__global__ void f(int a) { }",
        "template <typename T> __global__ void f(T a) { }",
        "extern \"C\" __global__ void f(point p) { }",
        "extern \"C\" __global__ void f(vector<int> p) { }",
        "extern \"C\" __global__ int f() { }",
        "extern \"C\" __global__ void f(int a) { ",
        "extern \"C\" __global__ void f() { } extern \"C\" __global__ void f() { }",
        "extern \"C\" __global__ void __launch_bounds__(N) f() { }",
        "__device__ int counter = 7;",
        "__device__ point origin;",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (compile(sources[i]) != NVRTC_ERROR_COMPILATION)
            fail_msg("compiled: %s\n%s", sources[i], ptx);
        assert_non_null(strstr(text, "a.cu"));
        assert_non_null(strstr(text, "error:"));
    }
    assert_int_equal(compile("\n\n__global__ void f() { }"), NVRTC_ERROR_COMPILATION);
    assert_non_null(strstr(text, "a.cu(3): error: the simulator reads only extern \"C\" kernels"));
}

TEST(options) {
    static const char *const good[] = {"--gpu-architecture=compute_90",
                                       "-I",
                                       "/include",
                                       "-DX=1",
                                       "--std=c++17",
                                       "--use_fast_math"};
    static const char *const two[] = {"-arch", "sm_90a"};
    static const char *const bad[] = {"--gpu-architecture=compute_12"};
    static const char *const strange[] = {"strange"};
    const char *source = "extern \"C\" __global__ void f() { }";
    OK(compile_with(source, 6, good));
    assert_non_null(strstr(ptx, ".target sm_90\n"));
    OK(compile_with(source, 2, two));
    assert_non_null(strstr(ptx, ".target sm_90a\n"));
    SAYS(NVRTC_ERROR_INVALID_OPTION, compile_with(source, 1, bad));
    assert_non_null(strstr(text, "invalid value"));
    SAYS(NVRTC_ERROR_INVALID_OPTION, compile_with(source, 1, strange));
    static const char *const unknown[] = {"--bogus-option", "--", "-"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        SAYS(NVRTC_ERROR_INVALID_OPTION, compile_with(source, 1, &unknown[i]));
        assert_non_null(strstr(text, "unrecognized option"));
    }
}

TEST(machine_code) {
    static const char *const real[] = {"-arch=sm_90"};
    nvrtcProgram program;
    size_t size = 9;
    char *code = text;
    OK(nvrtcCreateProgram(&program, "extern \"C\" __global__ void nothing() { }", NULL, 0, NULL,
                          NULL));
    OK(nvrtcCompileProgram(program, 0, NULL));
    OK(nvrtcGetCUBINSize(program, &size));
    assert_int_equal(size, 0);
    SAYS(NVRTC_ERROR_INVALID_PROGRAM, nvrtcGetCUBIN(program, code));
    OK(nvrtcCompileProgram(program, 1, real));
    OK(nvrtcGetCUBINSize(program, &size));
    assert_true(size > 0 && size <= sizeof text);
    OK(nvrtcGetCUBIN(program, code));
    cudaLibrary_t library = load(code);
    OK(cudaLibraryUnload(library));
    OK(nvrtcDestroyProgram(&program));
}

/* With these options NVRTC makes something else than PTX, which the simulator does not have. */
TEST(options_for_other_forms) {
    static const struct {
        const char *options[2];
        nvrtcResult result;
        const char *log;
    } texts[] = {
        {{"-dlto"}, NVRTC_ERROR_COMPILATION, "a.cu: error: the simulator makes no LTO IR: compile"},
        {{"--dlink-time-opt", "-arch=sm_90"}, NVRTC_ERROR_COMPILATION, "makes no LTO IR"},
        {{"--optix-ir"}, NVRTC_ERROR_COMPILATION, "makes no OptiX IR: compile without --optix-ir"},
        {{"-dlto=true"},
         NVRTC_ERROR_INVALID_OPTION,
         "nvrtc: error: --dlink-time-opt (-dlto) does not accept any argument"},
        {{"-optix-ir", "-dlto"},
         NVRTC_ERROR_INVALID_OPTION,
         "nvrtc: error: -dlto is not compatible with -optix-ir"},
        {{"-gen-opt-lto"}, NVRTC_SUCCESS, ""},
    };
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        nvrtcProgram program;
        char log[300];
        OK(nvrtcCreateProgram(&program, "extern \"C\" __global__ void k(int *a) {}", "a.cu", 0,
                              NULL, NULL));
        assert_int_equal(
            nvrtcCompileProgram(program, texts[n].options[1] ? 2 : 1, texts[n].options),
            texts[n].result);
        OK(nvrtcGetProgramLog(program, log));
        assert_non_null(strstr(log, texts[n].log));
        OK(nvrtcDestroyProgram(&program));
    }
}

/* The answers of NVRTC 13.5 for a program that was compiled without the options for them. */
TEST(what_only_options_make) {
    nvrtcProgram program;
    size_t size = 7;
    char none[1];
    OK(nvrtcCreateProgram(&program, "extern \"C\" __global__ void k(int *a) {}", "a.cu", 0, NULL,
                          NULL));
    OK(nvrtcCompileProgram(program, 0, NULL));
    OK(nvrtcGetLTOIRSize(program, &size));
    assert_int_equal(size, 0);
    OK(nvrtcGetLTOIR(program, none));
    assert_int_equal(nvrtcGetLTOIRSize(program, NULL), NVRTC_ERROR_INVALID_INPUT);
    size = 7;
    OK(nvrtcGetOptiXIRSize(program, &size));
    assert_int_equal(size, 0);
    OK(nvrtcGetOptiXIR(program, none));
    OK(nvrtcDestroyProgram(&program));
    assert_string_equal(nvrtcGetErrorString(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION");
    assert_string_equal(nvrtcGetErrorString((nvrtcResult)777), "NVRTC_ERROR unknown");
}

TEST(names) {
    nvrtcProgram program;
    const char *name = NULL;
    OK(nvrtcCreateProgram(&program, "extern \"C\" __global__ void f() { }", NULL, 0, NULL, NULL));
    OK(nvrtcAddNameExpression(program, "&f"));
    SAYS(NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION,
         nvrtcGetLoweredName(program, "&f", &name));
    OK(nvrtcCompileProgram(program, 0, NULL));
    OK(nvrtcGetLoweredName(program, "&f", &name));
    assert_string_equal(name, "f");
    SAYS(NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID, nvrtcGetLoweredName(program, "g", &name));
    SAYS(NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION, nvrtcAddNameExpression(program, "g"));
    OK(nvrtcDestroyProgram(&program));
    OK(nvrtcCreateProgram(&program, "extern \"C\" __global__ void f() { }", NULL, 0, NULL, NULL));
    OK(nvrtcAddNameExpression(program, "g<int>"));
    SAYS(NVRTC_ERROR_COMPILATION, nvrtcCompileProgram(program, 0, NULL));
    OK(nvrtcDestroyProgram(&program));
}

TEST(what_is_refused) {
    nvrtcProgram program, gone;
    size_t size;
    int major = 0, minor = 0, count = 0, all[50];
    SAYS(NVRTC_ERROR_INVALID_INPUT, nvrtcCreateProgram(NULL, "", NULL, 0, NULL, NULL));
    SAYS(NVRTC_ERROR_INVALID_INPUT, nvrtcCreateProgram(&program, NULL, NULL, 0, NULL, NULL));
    SAYS(NVRTC_ERROR_INVALID_INPUT, nvrtcCreateProgram(&program, "", NULL, 1, NULL, NULL));
    SAYS(NVRTC_ERROR_INVALID_PROGRAM, nvrtcDestroyProgram(NULL));
    OK(nvrtcCreateProgram(&program, "", NULL, 0, NULL, NULL));
    gone = program;
    SAYS(NVRTC_ERROR_INVALID_PROGRAM, nvrtcGetPTXSize(program, &size));
    SAYS(NVRTC_ERROR_INVALID_INPUT, nvrtcGetProgramLogSize(program, NULL));
    SAYS(NVRTC_ERROR_INVALID_INPUT, nvrtcCompileProgram(program, 1, NULL));
    assert_int_equal(acu_sim_leaks(0), 1);
    OK(nvrtcDestroyProgram(&program));
    SAYS(NVRTC_ERROR_INVALID_PROGRAM, nvrtcDestroyProgram(&gone));
    SAYS(NVRTC_ERROR_INVALID_PROGRAM, nvrtcCompileProgram(gone, 0, NULL));
    OK(nvrtcVersion(&major, &minor));
    assert_int_equal(major * 1000 + minor * 10, CUDART_VERSION);
    SAYS(NVRTC_ERROR_INVALID_INPUT, nvrtcVersion(NULL, &minor));
    OK(nvrtcGetNumSupportedArchs(&count));
    assert_true(count > 0 && count <= 50);
    OK(nvrtcGetSupportedArchs(all));
    assert_int_equal(all[0], 75);
    SAYS(NVRTC_ERROR_INVALID_INPUT, nvrtcGetNumSupportedArchs(NULL));
    SAYS(NVRTC_ERROR_INVALID_INPUT, nvrtcGetSupportedArchs(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(compiles_loads_and_runs),
        T(types_of_parameters),
        T(parameters_are_declared_as_nvrtc_does),
        T(limits_and_blocks),
        T(what_it_cannot_know),
        T(options),
        T(machine_code),
        T(options_for_other_forms),
        T(what_only_options_make),
        T(names),
        T(what_is_refused),
    };
    return RUN(tests);
}
