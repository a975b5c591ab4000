/* The driver's linker. */
#include "kernels.h"

#define CALLED    ".visible .func called()\n{\n    ret;\n}\n"
#define MADE_WEAK ".weak .func weak()\n{\n    ret;\n}\n"
#define CALLS ".extern .func called();\n.visible .entry calls()\n{\n    call called;\n    ret;\n}\n"

static CUresult add(CUlinkState linker, const char *text) {
    return cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, strlen(text) + 1, "it",
                         0, NULL, NULL);
}

CASE(two_parts_become_one) {
    void *linked = NULL;
    size_t size = 0;
    CUlinkState linker;
    CUmodule module;
    CUfunction function = NULL;
    OK(cudaFree(NULL));
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    OK(add(linker, PTX_HEAD CALLED));
    OK(add(linker, PTX_HEAD CALLS));
    OK(cuLinkComplete(linker, &linked, &size));
    IS(linked && size > 0);
    OK(cuModuleLoadData(&module, linked));
    OK(cuModuleGetFunction(&function, module, "calls"));
    OK(cuLinkDestroy(linker));
    OK(cuModuleUnload(module));
}

CASE(nothing_is_linked) {
    void *linked = NULL;
    size_t size = 0;
    CUlinkState linker;
    OK(cudaFree(NULL));
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    OK(cuLinkComplete(linker, &linked, &size));
    OK(cuLinkDestroy(linker));
}

/* What GPUs said where symbols are missing, or there twice; the driver was the same. */
static CUresult cannot_link(void) {
    return FROM(12080, CUDA_ERROR_UNKNOWN, CUDA_ERROR_INVALID_SOURCE);
}

/* What each of the calls says. */
static void complete_with(const char *first, CUresult first_says, const char *second,
                          CUresult second_says, CUresult completing_says) {
    static char log[1000];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    void *linked = NULL;
    size_t size = 0;
    CUlinkState linker;
    log[0] = '\0';
    OK(cudaFree(NULL));
    OK(cuLinkCreate(2, options, values, &linker));
    SAYS(first_says, add(linker, first));
    if (second)
        SAYS(second_says, add(linker, second));
    SAYS(completing_says, cuLinkComplete(linker, &linked, &size));
    IS(log[0] != '\0');
    OK(cuLinkDestroy(linker));
}

CASE(a_symbol_is_missing) {
    complete_with(PTX_HEAD CALLS, CUDA_SUCCESS, NULL, CUDA_SUCCESS, cannot_link());
}

CASE(a_symbol_is_there_twice) {
    complete_with(PTX_HEAD CALLED, CUDA_SUCCESS, PTX_HEAD CALLED, cannot_link(), cannot_link());
}

/* A declaration that nobody uses, and weak definitions. */
CASE(symbols_that_do_not_matter) {
    static const char declares[] = PTX_HEAD ".extern .func called();\n" MADE_WEAK;
    void *linked = NULL;
    size_t size = 0;
    CUlinkState linker;
    OK(cudaFree(NULL));
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    OK(add(linker, declares));
    OK(add(linker, declares));
    OK(cuLinkComplete(linker, &linked, &size));
    OK(cuLinkDestroy(linker));
}

static void link_two(const char *first, const char *second) {
    void *linked = NULL;
    size_t size = 0;
    CUlinkState linker;
    CUmodule module;
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    OK(add(linker, first));
    OK(add(linker, second));
    OK(cuLinkComplete(linker, &linked, &size));
    OK(cuModuleLoadData(&module, linked));
    OK(cuModuleUnload(module));
    OK(cuLinkDestroy(linker));
}

/* What a part does not show, and what may be there more than once. */
CASE(the_same_name_in_two_parts) {
    OK(cudaFree(NULL));
    link_two(PTX_HEAD ".func own()\n{\n    ret;\n}\n"
                      ".visible .entry a()\n{\n    call own;\n    ret;\n}\n",
             PTX_HEAD ".func own()\n{\n    ret;\n}\n"
                      ".visible .entry b()\n{\n    call own;\n    ret;\n}\n");
    link_two(PTX_HEAD ".global .u32 own = 1;\n", PTX_HEAD ".global .u32 own = 2;\n");
    link_two(PTX_HEAD ".weak .entry weak()\n{\n    ret;\n}\n",
             PTX_HEAD ".weak .entry weak()\n{\n    ret;\n}\n");
    link_two(PTX_HEAD ".weak .global .u32 weak = 1;\n", PTX_HEAD ".weak .global .u32 weak = 2;\n");
}

CASE(what_is_no_ptx) {
    complete_with(PTX_HEAD ".entry f(", CUDA_ERROR_INVALID_PTX, NULL, CUDA_SUCCESS, CUDA_SUCCESS);
}

CASE(what_is_no_part) {
    char text[] = "this is no code";
    CUlinkState linker;
    CUjit_option unknown = (CUjit_option)777;
    void *value = NULL;
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLinkCreate(0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLinkCreate(1, &unknown, &value, &linker));
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuLinkAddData(linker, CU_JIT_INPUT_PTX, NULL, 4, "it", 0, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_IMAGE,
         cuLinkAddData(linker, CU_JIT_INPUT_CUBIN, text, sizeof text, "it", 0, NULL, NULL));
    SAYS(CUDA_ERROR_FILE_NOT_FOUND,
         cuLinkAddFile(linker, CU_JIT_INPUT_PTX, "/nowhere/to/be/found.ptx", 0, NULL, NULL));
    OK(cuLinkDestroy(linker));
}
