/*
 * libFuzzer's program: reads code of any bytes (PTX, cubins, fat binaries with compressed PTX), and
 * makes what executes its kernels. Whatever the bytes are, the code is taken or refused with a
 * reason; a sanitizer ends the program otherwise. `make fuzz-ptx` builds and starts it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/code/image.h"

/* The wrapper that nvcc puts around fat binaries has a pointer, which no fuzzer can know. */
static const unsigned char wrapper[4] = {0xb1, 0x43, 0x62, 0x46};

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    acu_sim_code_image *image = NULL;
    const acu_sim_options none = {.jit = NULL};
    if (!size || (size >= sizeof wrapper && memcmp(bytes, wrapper, sizeof wrapper) == 0))
        return 0;
    const cudaError_t result = acu_sim_image_load(bytes, size, &none, &image);
    if (result ? image != NULL : !image) {
        fprintf(stderr, "the result is %d, and there is %s image\n", (int)result,
                image ? "an" : "no");
        abort();
    }
    acu_sim_image_release(image);
    return 0;
}
