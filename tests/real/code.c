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
            /* Its beginning says which form it is. */
            ACU_TRY(acu_code_create(&(acu_code_source){.bytes = bytes, .size = size}, &same));
            ACU_TRY(acu_code_get_image(same, form, &bytes, &size));
            ACU_TRY(acu_code_release(same));
            same = NULL;
            printf(" %s", names[form]);
        }
    printf("\n");
    return ACU_SUCCESS;
}

static acu_result print_all(void) {
    ACU_TRY(print_images((const char *const[]){"--gpu-architecture=compute_90", NULL}));
    ACU_TRY(print_images((const char *const[]){"--gpu-architecture=sm_90", NULL}));
    return print_images((const char *const[]){"-dlto", "--gpu-architecture=sm_90", NULL});
}

int main(void) {
    acu_result result = print_all();
    if (result)
        fprintf(stderr, "%s\n", acu_last_error_message());
    return result != ACU_SUCCESS;
}
