/*
 * libFuzzer's program: reads code of any bytes (PTX, cubins, fat binaries with compressed PTX), and
 * makes what executes its kernels. Whatever the bytes are, the code is taken or refused with a
 * reason; a sanitizer ends the program otherwise. `make fuzz-ptx` builds and starts it.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <anycuda/cudart.h>
#include <anycuda/sim.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/code/image.h"
#include "sim/ptx/jit.h"
#include "sim/ptx/lower.h"

/* The wrapper that nvcc puts around fat binaries has a pointer, which no fuzzer can know. */
static const unsigned char wrapper[4] = {0xb1, 0x43, 0x62, 0x46};

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is libFuzzer's */
int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

/* Begins with a device, which decides what code suits.
 * NOLINTNEXTLINE(readability-non-const-parameter): the signature is libFuzzer's */
int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    setenv("ANYCUDA_CUDART", "sim", 1);
    acu_sim_reset("devices=1");
    return cudaFree(NULL) == cudaSuccess ? 0 : 1;
}

/* Makes what the interpreter executes of each kernel, and machine code of that. */
static void make_code(const ptx_module *module) {
    for (const ptx_function *f = module->functions; f; f = f->next) {
        ptx_code *code = NULL;
        ptx_error error = {.text = ""};
        if (!f->is_entry || !f->has_body || acu_ptx_code_make(module, f, NULL, &code, &error))
            continue;
        acu_ptx_jit_of(code, PTX_JIT_ALWAYS, true);
        acu_ptx_code_free(code);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    acu_sim_code_image *image = NULL;
    const acu_sim_options none = {.jit = NULL};
    if (!size || (size >= sizeof wrapper && memcmp(bytes, wrapper, sizeof wrapper) == 0))
        return 0;
    char *copy = malloc(size + 1); /* a zero ends what was read of a file */
    if (!copy)
        return 0;
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    const cudaError_t result = acu_sim_image_load(copy, size, &none, &image);
    free(copy);
    if (result ? image != NULL : !image) {
        fprintf(stderr, "the result is %d, and there is %s image\n", (int)result,
                image ? "an" : "no");
        abort();
    }
    if (image && image->ptx)
        make_code(image->ptx);
    acu_sim_image_release(image);
    return 0;
}
