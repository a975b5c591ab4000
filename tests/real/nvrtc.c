/* A real libnvrtc compiles without a GPU: prints the PTX. */
#include <anycuda/load.h>
#include <anycuda/nvrtc.h>

#include <stdio.h>
#include <stdlib.h>

static const char source[] = "extern \"C\" __global__ void twice(float *x, int n) {\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n) x[i] *= 2;\n"
                             "}\n";

static void need(nvrtcResult result) {
    if (result == NVRTC_SUCCESS)
        return;
    fprintf(stderr, "%s\n", acu_last_error_message());
    exit(1);
}

int main(void) {
    nvrtcProgram program;
    size_t size = 0;
    int major = 0, minor = 0;
    const char *options[] = {"--gpu-architecture=compute_80"};
    need(nvrtcVersion(&major, &minor));
    need(nvrtcCreateProgram(&program, source, "twice.cu", 0, NULL, NULL));
    need(nvrtcCompileProgram(program, 1, options));
    need(nvrtcGetPTXSize(program, &size));
    char *ptx = malloc(size);
    if (!ptx)
        return 1;
    need(nvrtcGetPTX(program, ptx));
    need(nvrtcDestroyProgram(&program));
    printf("NVRTC %d.%d, loaded %d\n%s", major, minor, acu_loaded(ACU_NVRTC)->version, ptx);
    free(ptx);

    /* The library reports what is wrong in a program; the error only points to it. */
    need(nvrtcCreateProgram(&program, "nonsense", "bad.cu", 0, NULL, NULL));
    nvrtcResult bad = nvrtcCompileProgram(program, 0, NULL);
    printf("bad program: %d, %s, %s\n", bad, nvrtcGetErrorString(bad), acu_last_error_message());
    return 0;
}
