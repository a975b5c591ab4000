/* The driver's linker: PTX goes in, and what comes out is loaded. */
#define _GNU_SOURCE /* mkstemp */

#include "driver_test.h"

#include "../scratch.h"

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
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(linker, &linked, &size));
    OK(add(linker, PTX));
    OK(cuLinkComplete(linker, &linked, &size));
    assert_true(linked && size >= sizeof PTX);
    OK(cuModuleLoadData(&module, linked));
    OK(cuLinkDestroy(linker));
    OK(cuModuleGetFunction(&function, module, "add"));
    OK(cuModuleUnload(module));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(linker));
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
    OK(add(linker, PTX_HEAD PTX_ADD));
    SAYS(CUDA_ERROR_INVALID_PTX, cuLinkComplete(linker, &linked, &size)); /* it is there twice */
    OK(cuLinkDestroy(linker));
    unlink(path);
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
    SAYS(CUDA_ERROR_NOT_SUPPORTED,
         cuLinkAddData(linker, CU_JIT_INPUT_CUBIN, log, 4, "it", 0, NULL, NULL));
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
    const struct CMUnitTest tests[] = {C(one_text), C(two_texts_and_a_file), C(what_is_wrong)};
    return RUN(tests);
}
