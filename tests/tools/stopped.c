/* A kernel to stop in, for test_gdb.py. */
#include <anycuda/cuda.h>
#include <stdio.h>

/* Line 8 of scale.cu is the product, which only odd threads compute. */
static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".file 1 \"/src/scale.cu\"\n"
    ".visible .entry _Z5scalePf(.param .u64 p) {\n"
    ".reg .pred %p<2>; .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %rd<4>;\n"
    ".shared .b32 tile[2]; .local .b32 own; .loc 1 6 3\n"
    "ld.param.u64 %rd1, [p];\n"
    "mov.u32 %r1, %tid.x; st.shared.u32 [tile+4], -7; st.local.u32 [own], %r1;\n"
    "mul.wide.u32 %rd2, %r1, 4;\n"
    "add.s64 %rd3, %rd1, %rd2;\n"
    "and.b32 %r2, %r1, 1;\n"
    "setp.eq.u32 %p1, %r2, 0;\n"
    ".loc 1 7 3\n"
    "@%p1 bra END;\n"
    ".loc 1 8 3\n"
    "ld.global.f32 %f1, [%rd3];\n"
    "mul.rn.f32 %f2, %f1, 0f40200000;\n"
    "st.global.f32 [%rd3], %f2;\n"
    "END:\n"
    ".loc 1 9 3\n"
    "ret;\n}\n";

int main(void) {
    enum { COUNT = 64 };
    float numbers[COUNT];
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr at;
    void *args[] = {&at};
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuMemAlloc(&at, sizeof numbers) || cuMemcpyHtoD(at, numbers, sizeof numbers) ||
        cuModuleLoadData(&module, text) || cuModuleGetFunction(&kernel, module, "_Z5scalePf") ||
        cuLaunchKernel(kernel, 1, 1, 1, COUNT, 1, 1, 0, NULL, args, NULL) ||
        cuMemcpyDtoH(numbers, at, sizeof numbers))
        return 1;
    printf("%g %g\n", (double)numbers[2], (double)numbers[3]);
    return 0;
}
