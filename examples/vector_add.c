/*
 * The smallest complete program: it adds two vectors on the device, and checks the sums.
 *
 * The steps are: allocate, copy, launch, copy back. The kernel is PTX, which any driver compiles
 * for its GPU.
 */
#include "example.h"

enum { COUNT = 1000000 };

/* extern "C" __global__ void vector_add(const float *a, const float *b, float *sum, int n) */
static const char vector_add_ptx[] = ".version 7.0\n"
                                     ".target sm_52\n"
                                     ".address_size 64\n"
                                     ".visible .entry vector_add(\n"
                                     "    .param .u64 .ptr a, .param .u64 .ptr b,\n"
                                     "    .param .u64 .ptr sum, .param .u32 n)\n"
                                     "{\n"
                                     "    .reg .pred %past;\n"
                                     "    .reg .b32 %i, %n, %block, %threads, %thread;\n"
                                     "    .reg .b64 %a, %b, %sum, %at;\n"
                                     "    .reg .f32 %x, %y;\n"
                                     "    ld.param.u64 %a, [a];\n"
                                     "    ld.param.u64 %b, [b];\n"
                                     "    ld.param.u64 %sum, [sum];\n"
                                     "    ld.param.u32 %n, [n];\n"
                                     "    mov.u32 %block, %ctaid.x;\n"
                                     "    mov.u32 %threads, %ntid.x;\n"
                                     "    mov.u32 %thread, %tid.x;\n"
                                     "    mad.lo.s32 %i, %block, %threads, %thread;\n"
                                     "    setp.ge.s32 %past, %i, %n;\n"
                                     "    @%past bra END;\n"
                                     "    mul.wide.s32 %at, %i, 4;\n"
                                     "    add.s64 %a, %a, %at;\n"
                                     "    add.s64 %b, %b, %at;\n"
                                     "    add.s64 %sum, %sum, %at;\n"
                                     "    ld.f32 %x, [%a];\n"
                                     "    ld.f32 %y, [%b];\n"
                                     "    add.f32 %x, %x, %y;\n"
                                     "    st.f32 [%sum], %x;\n"
                                     "END:\n"
                                     "    ret;\n"
                                     "}\n";

static float a[COUNT], b[COUNT], sum[COUNT];

static acu_result vector_add(void) {
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *device_a = NULL;
    ACU_AUTO(acu_buffer) *device_b = NULL;
    ACU_AUTO(acu_buffer) *device_sum = NULL;
    ACU_AUTO(acu_module) *module = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &device_a));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &device_b));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &device_sum));
    ACU_TRY(acu_buffer_write(device_a, a, COUNT));
    ACU_TRY(acu_buffer_write(device_b, b, COUNT));
    ACU_TRY(acu_module_load(0, &(acu_module_source){.ptx = vector_add_ptx}, &module));
    ACU_TRY(acu_module_get_kernel(module, "vector_add", &kernel));
    ACU_TRY(acu_launch(stream, kernel, acu_grid_1d(COUNT, 256), acu_in(device_a), acu_in(device_b),
                       acu_out(device_sum), COUNT));
    return acu_buffer_read(device_sum, sum, COUNT);
}

static int check(void) {
    for (int i = 0; i < COUNT; i++)
        if (sum[i] != a[i] + b[i]) {
            printf("sum %d is %g, not %g\n", i, (double)sum[i], (double)(a[i] + b[i]));
            return 1;
        }
    for (int i = 0; i < 3; i++)
        printf("%g + %g = %g\n", (double)a[i], (double)b[i], (double)sum[i]);
    printf("… and all %d sums are right\n", COUNT);
    return 0;
}

int main(void) {
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = 0.5f * (float)i;
    }
    acu_result result = example_begin();
    if (!result)
        result = vector_add();
    return result ? example_end(result) : check();
}
