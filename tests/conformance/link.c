/* The driver's linker. */
#include "kernels.h"

#define CALLED ".visible .func called()\n{\n    ret;\n}\n"
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
    ASK(cuLinkComplete(linker, &linked, &size));
    OK(cuLinkDestroy(linker));
}

static void complete_with(const char *first, const char *second) {
    static char log[1000];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    void *linked = NULL;
    size_t size = 0;
    CUlinkState linker;
    log[0] = '\0';
    OK(cudaFree(NULL));
    OK(cuLinkCreate(2, options, values, &linker));
    ASK(add(linker, first));
    if (second)
        ASK(add(linker, second));
    ASK(cuLinkComplete(linker, &linked, &size));
    ASK(log[0] != '\0');
    OK(cuLinkDestroy(linker));
}

CASE(a_symbol_is_missing) {
    complete_with(PTX_HEAD CALLS, NULL);
}

CASE(a_symbol_is_there_twice) {
    complete_with(PTX_HEAD CALLED, PTX_HEAD CALLED);
}

CASE(what_is_no_ptx) {
    complete_with(PTX_HEAD ".entry f(", NULL);
}

CASE(what_is_no_part) {
    char text[] = "this is no code";
    CUlinkState linker;
    CUjit_option unknown = (CUjit_option)777;
    void *value = NULL;
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLinkCreate(0, NULL, NULL, NULL));
    ASK(cuLinkCreate(1, &unknown, &value, &linker));
    OK(cuLinkCreate(0, NULL, NULL, &linker));
    ASK(cuLinkAddData(linker, CU_JIT_INPUT_PTX, NULL, 4, "it", 0, NULL, NULL));
    ASK(cuLinkAddData(linker, CU_JIT_INPUT_CUBIN, text, sizeof text, "it", 0, NULL, NULL));
    ASK(cuLinkAddFile(linker, CU_JIT_INPUT_PTX, "/nowhere/to/be/found.ptx", 0, NULL, NULL));
    OK(cuLinkDestroy(linker));
}
