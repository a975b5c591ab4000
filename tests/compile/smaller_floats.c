/* Prints a checksum of each conversion of NVIDIA's <cuda_fp6.h> and <cuda_fp4.h>: in front of them,
 * our headers shall let them compute what NVIDIA's do. In C++ also of the types. */
#include <cuda_fp4.h>
#include <cuda_fp6.h>

#include <stdio.h>
#include <string.h>

static unsigned long long total;

static void add(unsigned part) {
    total = (total ^ part) * 1099511628211ull + (part >> 7);
}

static void print(const char *name) {
    printf("%s %016llx\n", name, total);
    total = 0;
}

#define BOTH(fp, type)                                                                             \
    for (unsigned i = 0; i < 65536; i++) {                                                         \
        __half_raw half;                                                                           \
        __nv_bfloat16_raw bfloat16;                                                                \
        half.x = bfloat16.x = (unsigned short)i;                                                   \
        add(__nv_cvt_halfraw_to_##fp(half, type, cudaRoundNearest));                               \
        add(__nv_cvt_bfloat16raw_to_##fp(bfloat16, type, cudaRoundNearest));                       \
        add(__nv_cvt_float_to_##fp((float)((int)i - 32768) / 1024, type, cudaRoundNearest));       \
    }                                                                                              \
    print(#type " from numbers");                                                                  \
    for (unsigned i = 0; i < 65536; i++) {                                                         \
        const __half2_raw pair = __nv_cvt_##fp##x2_to_halfraw2((unsigned short)i, type);           \
        add((unsigned)pair.x << 16 | pair.y);                                                      \
    }                                                                                              \
    print(#type " to halves");

#ifdef __cplusplus
static void add_float(float number) {
    unsigned bits;
    memcpy(&bits, &number, sizeof(bits));
    add(bits);
}

static void add_four(float4 four) {
    add_float(four.x);
    add_float(four.y);
    add_float(four.z);
    add_float(four.w);
}

template<class T, class T2, class T4> static void types(const char *name) {
    for (unsigned i = 0; i < 65536; i++) {
        const float number = ((int)i - 32768) / 1024.0f;
        const float2 two = {number, -number};
        const float4 four = {number, 1, -number, 0.5f};
        add_float(static_cast<float>(T(number)));
        add_float(static_cast<float2>(T2(two)).y);
        add_four(static_cast<float4>(T4(four)));
        add_four(static_cast<float4>(T4(__float22half2_rn(two), __float22half2_rn(two))));
        add_four(static_cast<float4>(T4(__float22bfloat162_rn(two), __float22bfloat162_rn(two))));
        add(static_cast<unsigned>(static_cast<int>(T(number))));
    }
    print(name);
}
#endif

/* The conversions to bfloat16 are as old as the type without a sign that is beside them in
 * <cuda_fp8.h>. */
#ifdef WITH_BFLOAT16
#define TO_BFLOAT16(fp, type)                                                                      \
    for (unsigned i = 0; i < 256; i++)                                                             \
        add(__nv_cvt_##fp##_to_bf16raw((unsigned char)i, type).x);                                 \
    print(#type " to bfloat16");
#else
#define TO_BFLOAT16(fp, type)
#endif

int main(void) {
    BOTH(fp6, __NV_E3M2)
    BOTH(fp6, __NV_E2M3)
    BOTH(fp4, __NV_E2M1)
    TO_BFLOAT16(fp6, __NV_E3M2)
    TO_BFLOAT16(fp6, __NV_E2M3)
    TO_BFLOAT16(fp4, __NV_E2M1)
#ifdef __cplusplus
    types<__nv_fp6_e3m2, __nv_fp6x2_e3m2, __nv_fp6x4_e3m2>("fp6_e3m2");
    types<__nv_fp6_e2m3, __nv_fp6x2_e2m3, __nv_fp6x4_e2m3>("fp6_e2m3");
    types<__nv_fp4_e2m1, __nv_fp4x2_e2m1, __nv_fp4x4_e2m1>("fp4_e2m1");
#endif
    return 0;
}
