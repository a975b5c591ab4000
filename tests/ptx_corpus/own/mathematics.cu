// Functions of float and double: largest error in units in the last place against the CPU's, within CUDA's own bounds.
#include "check.h"
#include <cmath>
#include <vector>

enum { FUNCTIONS = 24 };

__global__ void floats(const float *in, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float x = in[i], p = fabsf(x) + 0.01f, *o = out + i * FUNCTIONS;
    o[0] = sinf(x), o[1] = cosf(x), o[2] = tanf(x), o[3] = expf(x * 0.1f), o[4] = logf(p), o[5] = sqrtf(p);
    o[6] = rsqrtf(p), o[7] = cbrtf(x), o[8] = powf(p, 0.7f), o[9] = atanf(x), o[10] = atan2f(x, 2.5f), o[11] = tanhf(x);
    o[12] = erff(x * 0.2f), o[13] = fmodf(x, 1.3f), o[14] = exp2f(x * 0.2f), o[15] = log2f(p), o[16] = hypotf(x, 1.7f);
    o[17] = x / p, o[18] = fmaf(x, p, 1.0f), o[19] = floorf(x) + ceilf(p), o[20] = asinf(x / 60.0f), o[21] = sinhf(x * 0.1f);
    o[22] = remainderf(x, 0.7f), o[23] = lgammaf(p);
}

__global__ void doubles(const float *in, double *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    double x = in[i], p = fabs(x) + 0.01, *o = out + i * FUNCTIONS;
    o[0] = sin(x), o[1] = cos(x), o[2] = tan(x), o[3] = exp(x * 0.1), o[4] = log(p), o[5] = sqrt(p);
    o[6] = rsqrt(p), o[7] = cbrt(x), o[8] = pow(p, 0.7), o[9] = atan(x), o[10] = atan2(x, 2.5), o[11] = tanh(x);
    o[12] = erf(x * 0.2), o[13] = fmod(x, 1.3), o[14] = exp2(x * 0.2), o[15] = log2(p), o[16] = hypot(x, 1.7);
    o[17] = x / p, o[18] = fma(x, p, 1.0), o[19] = floor(x) + ceil(p), o[20] = asin(x / 60.0), o[21] = sinh(x * 0.1);
    o[22] = remainder(x, 0.7), o[23] = lgamma(p);
}

template <typename T> static void expect(T x, T *o, bool single) {
    T p = std::fabs(x) + T(0.01);
    double y = x, q = p;
    auto times = [&](double factor) { return single ? double(float(x) * float(factor)) : y * factor; };
    o[0] = sin(y), o[1] = cos(y), o[2] = tan(y), o[3] = exp(times(0.1)), o[4] = log(q), o[5] = sqrt(q);
    o[6] = 1 / sqrt(q), o[7] = cbrt(y), o[8] = pow(q, single ? 0.7f : 0.7), o[9] = atan(y), o[10] = atan2(y, 2.5);
    o[11] = tanh(y), o[12] = erf(times(0.2)), o[13] = std::fmod(x, T(1.3)), o[14] = exp2(times(0.2)), o[15] = log2(q);
    o[16] = hypot(y, single ? 1.7f : 1.7), o[17] = x / p, o[18] = std::fma(x, p, T(1)), o[19] = std::floor(x) + std::ceil(p);
    o[20] = asin(single ? double(float(x) / 60.0f) : y / 60.0), o[21] = sinh(times(0.1)), o[22] = std::remainder(x, T(0.7));
    o[23] = lgamma(q);
}

template <typename T> static long compare(const std::vector<float> &data, const std::vector<T> &got, bool single) {
    const int bound[FUNCTIONS] = {2, 2, 4, 2, 1, 0, 2, 1, 4, 2, 3, 2, 2, 0, 2, 1, 3, 0, 0, 0, 4, 3, 0, 0};
    long wrong = 0;
    for (size_t i = 0; i < data.size(); i++) {
        T right[FUNCTIONS];
        expect<T>(T(data[i]), right, single);
        for (int k = 0; k < FUNCTIONS - 1; k++) {
            T ulp = std::nextafter(std::fabs(right[k]), T(INFINITY)) - std::fabs(right[k]);
            bool bad = !(std::fabs(got[i * FUNCTIONS + k] - right[k]) <= (bound[k] + (bound[k] ? 1 : 0)) * ulp);
            if (bad && wrong++ < 5)
                std::printf("function %d of %g: %.17g, not %.17g\n", k, data[i], (double)got[i * FUNCTIONS + k], (double)right[k]);
        }
    }
    return wrong;
}

int main() {
    const int count = 2048;
    std::vector<float> data(count), single(count * FUNCTIONS);
    std::vector<double> precise(count * FUNCTIONS);
    std::uint32_t state = 17;
    for (float &value : data)
        value = (float)(next_random(state) % 1000000) / 10000 - 50;
    float *in = on_device(data.size(), data.data()), *out = on_device<float>(single.size());
    double *more = on_device<double>(precise.size());
    floats<<<count / 128, 128>>>(in, out, count);
    doubles<<<count / 128, 128>>>(in, more, count);
    to_host(single.data(), out, single.size());
    to_host(precise.data(), more, precise.size());
    return finish("mathematics", compare(data, single, true) + compare(data, precise, false));
}
