/* Real compilers, without a GPU: compiles to each form, and prints what came of it. */
#include <anycuda/anycuda.h>

#include <stdio.h>

static const char source[] = "template <typename T> __global__ void twice(T *x, int n) {\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n) x[i] *= 2;\n"
                             "}\n";

static acu_result print_images(const char *const *options) {
    static const char *const names[] = {"ptx", "cubin", "lto"};
    ACU_AUTO(acu_code) *code = NULL;
    ACU_AUTO(acu_code) *same = NULL;
    const void *bytes = NULL;
    size_t size = 0;
    ACU_TRY(acu_code_compile(
        0,
        &(acu_module_program){.text = source,
                              .options = options,
                              .expressions = (const char *const[]){"twice<float>", NULL}},
        &code));
    printf("%s:", options[0]);
    for (acu_code_form form = ACU_CODE_PTX; form <= ACU_CODE_LTO; form++)
        if (acu_code_get_image(code, form, &bytes, &size) == ACU_SUCCESS) {
            /* The beginning of the image says which form of code the image is. */
            ACU_TRY(acu_code_create(&(acu_code_source){.bytes = bytes, .size = size}, &same));
            ACU_TRY(acu_code_get_image(same, form, &bytes, &size));
            ACU_TRY(acu_code_release(same));
            same = NULL;
            printf(" %s", names[form]);
        }
    printf("\n");
    return ACU_SUCCESS;
}

static const char with_headers[] =
    "#include <cuda_fp16.h>\n"
    "extern \"C\" __global__ void half_of(__half *x) {\n"
    "    x[threadIdx.x] = __hmul(x[threadIdx.x], __float2half(0.5f));\n"
    "}\n";

/* Compiles a program that includes CUDA's own headers, twice with one cache. */
static acu_result print_cached(const char *folder, const char *headers) {
    ACU_AUTO(acu_code_cache) *cache = NULL;
    acu_code_cache_info info;
    ACU_TRY(acu_code_cache_create(folder, NULL, &cache));
    for (int i = 0; i < 2; i++) {
        ACU_AUTO(acu_code) *code = NULL;
        const char *const options[] = {"-arch=sm_90", "-I", headers, NULL};
        ACU_TRY(acu_code_compile(
            0, &(acu_module_program){.text = with_headers, .options = options, .cache = cache},
            &code));
    }
    ACU_TRY(acu_code_cache_get_info(cache, &info));
    printf("cache: %zu hits, %zu misses, %zu skipped, %zu files\n", info.hits, info.misses,
           info.skipped, info.files);
    return ACU_SUCCESS;
}

static const char caller[] = "extern __device__ float half_of(float x);\n"
                             "template <typename T> __global__ void halve(T *x) {\n"
                             "    x[threadIdx.x] = half_of(x[threadIdx.x]);\n"
                             "}\n";
static const char callee[] = "__device__ float half_of(float x) { return x / 2; }\n";

static acu_result compile(const char *text, const char *option, acu_code **code) {
    return acu_code_compile(
        0,
        &(acu_module_program){
            .text = text,
            .options = (const char *const[]){"--gpu-architecture=sm_90", option, NULL},
            .expressions = (const char *const[]){text == caller ? "halve<float>" : NULL, NULL}},
        code);
}

/* Links two parts that were compiled with an option, and one of them alone. */
static acu_result print_linked(const char *compiled, const char *linked) {
    ACU_AUTO(acu_code) *one = NULL;
    ACU_AUTO(acu_code) *other = NULL;
    ACU_AUTO(acu_code) *both = NULL;
    ACU_AUTO(acu_code) *alone = NULL;
    const void *bytes = NULL;
    size_t size = 0;
    const acu_code_link_options options = {.options =
                                               (const char *const[]){"-arch=sm_90", linked, NULL}};
    const acu_code_form form = linked ? ACU_CODE_PTX : ACU_CODE_CUBIN;
    ACU_TRY(compile(caller, compiled, &one));
    ACU_TRY(compile(callee, compiled, &other));
    acu_code *const parts[] = {one, other};
    ACU_TRY(acu_code_link(0, parts, 2, &options, &both));
    ACU_TRY(acu_code_get_image(both, form, &bytes, &size));
    printf("%s", compiled);
    if (linked)
        printf(", %s", linked);
    else
        printf(": alone %s", acu_result_name(acu_code_link(0, parts, 1, &options, &alone)));
    printf("\n");
    return ACU_SUCCESS;
}

static acu_result print_all(const char *folder, const char *headers) {
    ACU_TRY(print_cached(folder, headers));
    ACU_TRY(print_images((const char *const[]){"--gpu-architecture=compute_90", NULL}));
    ACU_TRY(print_images((const char *const[]){"--gpu-architecture=sm_90", NULL}));
    ACU_TRY(print_images((const char *const[]){"-dlto", "--gpu-architecture=sm_90", NULL}));
    ACU_TRY(print_linked("-rdc=true", NULL));
    ACU_TRY(print_linked("-dlto", NULL));
    return print_linked("-dlto", "-ptx");
}

/* The folders of a cache, and of CUDA's headers. */
int main(int count, char **arguments) {
    acu_result result = count < 3 ? ACU_ERROR_ARGUMENT : print_all(arguments[1], arguments[2]);
    if (result)
        fprintf(stderr, "%s\n", acu_last_error_message());
    return result != ACU_SUCCESS;
}
