// cuda_fp16.h, cuda_bf16.h and cuda_fp8.h: arithmetic, conversions, comparisons, intrinsics; prints a checksum of all.
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <vector>

template <typename T> __device__ unsigned bits(T value) {
    unsigned short result;
    memcpy(&result, &value, 2);
    return result;
}

__global__ void halves(unsigned *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    __half a = __ushort_as_half(i * 40503u), b = __ushort_as_half(i * 9973u + 77), c = __ushort_as_half(i * 131u);
    unsigned sum = 0;
    auto add = [&](unsigned value) { sum = sum * 31 + value; };
    auto number = [&](__half value) { add(__hisnan(value) ? 0x7fff : __half_as_ushort(value)); };
    number(__hadd(a, b));
    number(__hsub(a, b));
    number(__hmul(a, b));
    number(__hfma(a, b, c));
    number(__hfma_relu(a, b, c));
    number(__hadd_sat(a, b));
    number(__hmin(a, b));
    number(__hmax(a, b));
    number(__habs(a));
    number(__hneg(b));
    add(__hlt(a, b) | __hge(a, b) << 1 | __heq(a, a) << 2 | __hequ(a, b) << 3);
    add(__half2int_rn(a));
    add(__half2uint_rz(b));
    add(__half2short_rd(c));
    number(__int2half_rn(i * 37 - 9000));
    number(__float2half_rz(i * 1.37f));
    number(__float2half_ru(i * 0.0001f));
    number(hfloor(a));
    number(htrunc(b));
    number(hrint(c));
    __half2 p = __halves2half2(a, b), q = __halves2half2(b, c);
    __half2 r = __hfma2(p, q, __hadd2(p, __lowhigh2highlow(q)));
    number(__low2half(r));
    number(__high2half(r));
    add(__hbgt2(p, q) | __hbne2(p, q) << 1);
    add(__float_as_uint(__half2float(a)) & 0xffc00000u ? 1 : 0);
    out[i] = sum;
}

__global__ void brains(unsigned *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    __nv_bfloat16 a = __ushort_as_bfloat16(i * 40503u), b = __ushort_as_bfloat16(i * 9973u + 77);
    unsigned sum = 0;
    auto add = [&](unsigned value) { sum = sum * 31 + value; };
    auto number = [&](__nv_bfloat16 value) { add(__hisnan(value) ? 0x7fff : __bfloat16_as_ushort(value)); };
    number(__hadd(a, b));
    number(__hmul(a, b));
    number(__hfma(a, b, a));
    number(__hmax(a, b));
    number(__hmin_nan(a, b));
    add(__hle(a, b) | __hne(a, b) << 1);
    number(__float2bfloat16_rn(i * 1.2345f));
    number(__float2bfloat16_rd(i * -0.0123f));
    number(__double2bfloat16(i * 1e-3));
    add(__bfloat162int_rn(a));
    __nv_bfloat162 p = __halves2bfloat162(a, b), r = __hfma2(p, __lowhigh2highlow(p), p);
    number(__low2bfloat16(r));
    number(__high2bfloat16(r));
    out[i] = sum;
}

__global__ void eights(unsigned *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float value = (i - count / 2) * 0.173f;
    unsigned sum = 0;
    auto add = [&](unsigned value) { sum = sum * 31 + value; };
    add(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3));
    add(__nv_cvt_float_to_fp8(value * 1e-3f, __NV_SATFINITE, __NV_E5M2));
    add(__nv_cvt_float_to_fp8(value * 1e4f, __NV_NOSAT, __NV_E5M2));
    __nv_fp8_e4m3 e(value);
    add(__float_as_uint((float)e));
    __nv_fp8x2_e5m2 pair(make_float2(value, -value * 3));
    float2 back = (float2)pair;
    add(__float_as_uint(back.x) ^ __float_as_uint(back.y));
    add(__half_as_ushort(__half(__nv_cvt_fp8_to_halfraw((unsigned char)(i & 0x7b), __NV_E4M3))));
    out[i] = sum;
}

int main() {
    const int count = 1 << 16;
    unsigned *out = on_device<unsigned>(count);
    std::vector<unsigned> result(count);
    void (*kernels[])(unsigned *, int) = {halves, brains, eights};
    const char *names[] = {"half", "bfloat16", "fp8"};
    for (int k = 0; k < 3; k++) {
        kernels[k]<<<(count + 127) / 128, 128>>>(out, count);
        to_host(result.data(), out, count);
        std::uint64_t hash = 1469598103934665603u;
        for (unsigned value : result)
            hash = (hash ^ value) * 1099511628211u;
        std::printf("%s %016llx\n", names[k], (unsigned long long)hash);
    }
    return finish("half", 0);
}
