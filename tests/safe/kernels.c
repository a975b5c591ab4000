#include "kernels.h"

#include <anycuda/cudart.h>

#define INDEX                                                                                      \
    "    mov.u32 %r2, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r3, %ntid.x;\n"                                                                  \
    "    mov.u32 %r4, %tid.x;\n"                                                                   \
    "    mad.lo.s32 %r1, %r2, %r3, %r4;\n"                                                         \
    "    setp.ge.u32 %p1, %r1, %r5;\n"                                                             \
    "    @%p1 bra END;\n"                                                                          \
    "    mul.wide.u32 %rd9, %r1, 4;\n"
#define REGISTERS                                                                                  \
    "    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<10>;\n"                                  \
    "    .reg .f32 %f<4>; .reg .f64 %d<5>;\n"

const char kernels_ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".visible .const .align 4 .f32 factors[3] = {0f3F800000, 0f40000000, 0f40400000};\n"
    ".visible .global .align 8 .b8 table[100];\n"
    ".visible .global .attribute(.managed) .align 4 .u32 everywhere = 3;\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    /* sum[i] = a[i] + b[i] */
    ".visible .entry add(.param .u64 .ptr a, .param .u64 .ptr b, .param .u64 .ptr sum,\n"
    "                    .param .u32 n)\n"
    "{\n" REGISTERS "    ld.param.u64 %rd1, [a];\n"
    "    ld.param.u64 %rd2, [b];\n"
    "    ld.param.u64 %rd3, [sum];\n"
    "    ld.param.u32 %r5, [n];\n" INDEX "    add.s64 %rd1, %rd1, %rd9;\n"
    "    add.s64 %rd2, %rd2, %rd9;\n"
    "    add.s64 %rd3, %rd3, %rd9;\n"
    "    ld.f32 %f1, [%rd1];\n"
    "    ld.f32 %f2, [%rd2];\n"
    "    add.f32 %f3, %f1, %f2;\n"
    "    st.f32 [%rd3], %f3;\n"
    "END:\n    ret;\n}\n"
    /* x[i] *= factor */
    ".visible .entry scale(.param .u64 x, .param .f32 factor, .param .u32 n)\n"
    "{\n" REGISTERS "    ld.param.u64 %rd1, [x];\n"
    "    ld.param.f32 %f1, [factor];\n"
    "    ld.param.u32 %r5, [n];\n" INDEX "    add.s64 %rd1, %rd1, %rd9;\n"
    "    ld.f32 %f2, [%rd1];\n"
    "    mul.f32 %f2, %f2, %f1;\n"
    "    st.f32 [%rd1], %f2;\n"
    "END:\n    ret;\n}\n"
    /* *to = a + mixture.a + mixture.b[0] + mixture.b[2] + c */
    ".visible .entry mixed(.param .u8 a, .param .align 8 .b8 mixture[24], .param .u16 c,\n"
    "                      .param .u64 .ptr .global .align 8 to)\n"
    "{\n" REGISTERS "    ld.param.u8 %r1, [a];\n"
    "    ld.param.f64 %d1, [mixture];\n"
    "    ld.param.u32 %r2, [mixture+8];\n"
    "    ld.param.u32 %r3, [mixture+16];\n"
    "    ld.param.u16 %r4, [c];\n"
    "    ld.param.u64 %rd1, [to];\n"
    "    add.s32 %r1, %r1, %r2;\n"
    "    add.s32 %r1, %r1, %r3;\n"
    "    add.s32 %r1, %r1, %r4;\n"
    "    cvt.rn.f64.s32 %d2, %r1;\n"
    "    add.f64 %d1, %d1, %d2;\n"
    "    st.f64 [%rd1], %d1;\n"
    "    ret;\n}\n"
    ".visible .entry nothing() { ret; }\n"
    ".visible .entry small() .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry _Z7mangledPf(.param .u64 x) { ret; }\n"
    ".visible .entry sharing(.param .u64 to)\n"
    "{\n    .shared .align 8 .b8 own[1000];\n    .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [to];\n"
    "    mov.u32 %r1, own;\n"
    "    st.u32 [%rd1], %r1;\n"
    "    ret;\n}\n";

/* ---- what they do on the simulator ---- */

#define AT(launch, argument, bytes) acu_sim_at((launch), *(void *const *)(argument), (bytes))

static void add(const acu_sim_launch *launch, void *const *args) {
    size_t n = *(const unsigned *)args[3], bytes = n * sizeof(float);
    const float *a = AT(launch, args[0], bytes), *b = AT(launch, args[1], bytes);
    float *sum = AT(launch, args[2], bytes);
    for (size_t i = 0; i < n; i++)
        sum[i] = a[i] + b[i];
}

static void scale(const acu_sim_launch *launch, void *const *args) {
    size_t n = *(const unsigned *)args[2];
    float factor = *(const float *)args[1], *x = AT(launch, args[0], n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void mixed(const acu_sim_launch *launch, void *const *args) {
    mixture m;
    double *to = AT(launch, args[3], sizeof *to);
    memcpy(&m, args[1], sizeof m);
    *to =
        *(const unsigned char *)args[0] + m.a + m.b[0] + m.b[2] + *(const unsigned short *)args[2];
}

static void nothing(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
}

int begin_kernels(void **state) {
    (void)state;
    acu_quarantine(64);
    int code = begin_on(NULL);
    return code || stand_in("add", add) || stand_in("scale", scale) || stand_in("mixed", mixed) ||
           stand_in("nothing", nothing) || stand_in("small", nothing) ||
           stand_in("sharing", nothing) || stand_in("_Z7mangledPf", nothing);
}

/* ---- what tests begin with ---- */

acu_stream *stream_on(acu_device device) {
    acu_stream *stream = NULL;
    OK(acu_stream_create(device, NULL, &stream));
    return stream;
}

acu_module *module_on(acu_device device) {
    acu_module *module = NULL;
    OK(acu_module_load(device, &(acu_module_source){.ptx = kernels_ptx}, &module));
    return module;
}

acu_kernel *kernel_on(acu_device device, const char *name) {
    acu_kernel *kernel = NULL;
    acu_module *module = module_on(device);
    OK(acu_module_get_kernel(module, name, &kernel));
    OK(acu_module_release(module));
    return kernel;
}

acu_buffer *numbers_on(acu_stream *stream, size_t count) {
    acu_buffer *buffer = NULL;
    float *numbers = malloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)i;
    OK(acu_buffer_create(stream, ACU_F32, count, &buffer));
    OK(acu_buffer_write(buffer, numbers, count));
    free(numbers);
    return buffer;
}

int runtime_version(void) {
    return acu_loaded(ACU_CUDART)->version;
}

int driver_version(void) {
    int version = 0;
    assert_int_equal(cudaDriverGetVersion(&version), 0);
    return version;
}

int kernel_version(void) {
    const acu_load_info *driver = acu_loaded(ACU_CUDA);
    return runtime_version() >= 12080 || !driver ? runtime_version() : driver->version;
}
