// Prints a checksum of each host function of <cuda_fp16.h>, <cuda_bf16.h> and <cuda_fp8.h>: compiled with NVIDIA's
// headers and with ours, it shall print the same. Functions of one number see all 65,536; those of two, all with each of
// some others.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <stdio.h>
#include <string.h>

typedef unsigned long long u64;

struct sum {
    u64 value;
    sum() : value(1469598103934665603ull) {}
    void add(u64 part) { value = (value ^ part) * 1099511628211ull + (part >> 7); }
};

template <class T> static u64 bits(const T &value) {
    u64 out = 0;
    memcpy(&out, &value, sizeof(value));
    return out;
}

#define LINE(name, type) printf("%s %s %016llx\n", type, name, total.value)

static const unsigned short OTHERS[] = {0,      1,      2,      0x03ff, 0x0400, 0x3c00, 0x3c01, 0x3f80, 0x3f81, 0x7bff, 0x7c00,
                                        0x7c01, 0x7e00, 0x7f7f, 0x7f80, 0x7f81, 0x7fff, 0x8000, 0x8001, 0x83ff, 0xbc00, 0xbf80,
                                        0xfbff, 0xfc00, 0xfe00, 0xff80, 0xffff, 0x1234, 0x4321, 0x5555, 0xaaaa, 0xc0de};

#define UNARY(T, MAKE, name)                                                                                           \
    {                                                                                                                  \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 65536; i++)                                                                           \
            total.add(bits(name(MAKE((unsigned short)i))));                                                            \
        LINE(#name, #T);                                                                                               \
    }
#define BINARY(T, MAKE, name)                                                                                          \
    {                                                                                                                  \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 65536; i++)                                                                           \
            for (unsigned j = 0; j < sizeof(OTHERS) / sizeof(*OTHERS); j++)                                            \
                total.add(bits(name(MAKE((unsigned short)i), MAKE(OTHERS[j]))));                                       \
        LINE(#name, #T);                                                                                               \
    }
#define PAIR(T, T2, MAKE, name)                                                                                        \
    {                                                                                                                  \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 65536; i++)                                                                           \
            for (unsigned j = 0; j < 8; j++) {                                                                         \
                const unsigned short k = OTHERS[(i + j) % (sizeof(OTHERS) / sizeof(*OTHERS))];                         \
                total.add(bits(name(T2(MAKE((unsigned short)i), MAKE(k)), T2(MAKE(k), MAKE(OTHERS[j])))));             \
            }                                                                                                          \
        LINE(#name, #T2);                                                                                              \
    }
#define PAIR1(T, T2, MAKE, name)                                                                                       \
    {                                                                                                                  \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 65536; i++)                                                                           \
            total.add(bits(name(T2(MAKE((unsigned short)i), MAKE((unsigned short)(i * 40503u))))));                    \
        LINE(#name, #T2);                                                                                              \
    }
#define FROM(T, name, type, expression)                                                                                \
    {                                                                                                                  \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 400000; i++) {                                                                        \
            const type value = expression;                                                                             \
            total.add(bits(name(value)));                                                                              \
        }                                                                                                              \
        LINE(#name, #T);                                                                                               \
    }

// Values near every boundary: all 65,536 patterns of the first half of a float, then others by a generator.
static float float_of(unsigned i) {
    const unsigned tails[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff};
    const unsigned pattern = i < 65536 ? i << 16 | tails[i % 9] : i * 2654435761u;
    float value;
    memcpy(&value, &pattern, sizeof(value));
    return value;
}

static double double_of(unsigned i) {
    const u64 pattern = i & 1 ? (u64)i * 11400714819323198485ull : bits((double)float_of(i)) + (i % 7) - 3;
    double value;
    memcpy(&value, &pattern, sizeof(value));
    return value;
}

static u64 integer_of(unsigned i) {
    return ((u64)i * 11400714819323198485ull) >> (i % 64);
}

#define BOTH(op) op(eq) op(ne) op(le) op(ge) op(lt) op(gt) op(equ) op(neu) op(leu) op(geu) op(ltu) op(gtu)

template <class T> static T plus_one(T h) {
    h++;
    ++h;
    return -(+h);
}
template <class T> static T minus_one(T h) {
    h--;
    --h;
    return h;
}
template <class T> static T mixed(const T &a, const T &b) {
    T c = a + b;
    c -= a * b;
    c /= b;
    c += a;
    c *= b - a;
    return c / a;
}
template <class T> static int compared(const T &a, const T &b) {
    return (a == b) | (a != b) << 1 | (a < b) << 2 | (a > b) << 3 | (a <= b) << 4 | (a >= b) << 5;
}

#define COMMON(T, T2, MAKE, w, w2)                                                                                     \
    UNARY(T, MAKE, __##w##2float) UNARY(T, MAKE, __##w##2char_rz) UNARY(T, MAKE, __##w##2uchar_rz)                     \
    UNARY(T, MAKE, __##w##2short_rz) UNARY(T, MAKE, __##w##2ushort_rz) UNARY(T, MAKE, __##w##2int_rz)                  \
    UNARY(T, MAKE, __##w##2uint_rz) UNARY(T, MAKE, __##w##2ll_rz) UNARY(T, MAKE, __##w##2ull_rz)                       \
    UNARY(T, MAKE, __habs) UNARY(T, MAKE, __hneg) UNARY(T, MAKE, __hisnan) UNARY(T, MAKE, __hisinf)                    \
    UNARY(T, MAKE, __##w##_as_short) UNARY(T, MAKE, __##w##2##w2) UNARY(T, MAKE, plus_one) UNARY(T, MAKE, minus_one)   \
    BINARY(T, MAKE, __hadd) BINARY(T, MAKE, __hsub) BINARY(T, MAKE, __hmul) BINARY(T, MAKE, __hdiv)                    \
    BINARY(T, MAKE, __hadd_rn) BINARY(T, MAKE, __hsub_rn) BINARY(T, MAKE, __hmul_rn)                                   \
    BINARY(T, MAKE, __hadd_sat) BINARY(T, MAKE, __hsub_sat) BINARY(T, MAKE, __hmul_sat)                                \
    BINARY(T, MAKE, __hmax) BINARY(T, MAKE, __hmin) BINARY(T, MAKE, __hmax_nan) BINARY(T, MAKE, __hmin_nan)            \
    BINARY(T, MAKE, __heq) BINARY(T, MAKE, __hne) BINARY(T, MAKE, __hle) BINARY(T, MAKE, __hge) BINARY(T, MAKE, __hlt) \
    BINARY(T, MAKE, __hgt) BINARY(T, MAKE, __hequ) BINARY(T, MAKE, __hneu) BINARY(T, MAKE, __hleu)                     \
    BINARY(T, MAKE, __hgeu) BINARY(T, MAKE, __hltu) BINARY(T, MAKE, __hgtu) BINARY(T, MAKE, mixed)                     \
    BINARY(T, MAKE, compared) BINARY(T, MAKE, __halves2##w2) BINARY(T, MAKE, make_##w2)                                \
    PAIR1(T, T2, MAKE, __habs2) PAIR1(T, T2, MAKE, __hneg2) PAIR1(T, T2, MAKE, __hisnan2)                              \
    PAIR1(T, T2, MAKE, __low2##w) PAIR1(T, T2, MAKE, __high2##w) PAIR1(T, T2, MAKE, __low2float)                       \
    PAIR1(T, T2, MAKE, __high2float) PAIR1(T, T2, MAKE, __low2##w2) PAIR1(T, T2, MAKE, __high2##w2)                    \
    PAIR1(T, T2, MAKE, __lowhigh2highlow) PAIR1(T, T2, MAKE, __##w2##2float2) PAIR1(T, T2, MAKE, plus_one)             \
    PAIR(T, T2, MAKE, __hadd2) PAIR(T, T2, MAKE, __hsub2) PAIR(T, T2, MAKE, __hmul2) PAIR(T, T2, MAKE, __h2div)        \
    PAIR(T, T2, MAKE, __hadd2_sat) PAIR(T, T2, MAKE, __hsub2_sat) PAIR(T, T2, MAKE, __hmul2_sat)                       \
    PAIR(T, T2, MAKE, __hadd2_rn) PAIR(T, T2, MAKE, __hsub2_rn) PAIR(T, T2, MAKE, __hmul2_rn)                          \
    PAIR(T, T2, MAKE, __hmax2) PAIR(T, T2, MAKE, __hmin2) PAIR(T, T2, MAKE, __hmax2_nan)                               \
    PAIR(T, T2, MAKE, __hmin2_nan) PAIR(T, T2, MAKE, __lows2##w2) PAIR(T, T2, MAKE, __highs2##w2)                      \
    PAIR(T, T2, MAKE, __heq2) PAIR(T, T2, MAKE, __hne2) PAIR(T, T2, MAKE, __hle2) PAIR(T, T2, MAKE, __hge2)            \
    PAIR(T, T2, MAKE, __hlt2) PAIR(T, T2, MAKE, __hgt2) PAIR(T, T2, MAKE, __hequ2) PAIR(T, T2, MAKE, __hneu2)          \
    PAIR(T, T2, MAKE, __hleu2) PAIR(T, T2, MAKE, __hgeu2) PAIR(T, T2, MAKE, __hltu2) PAIR(T, T2, MAKE, __hgtu2)        \
    PAIR(T, T2, MAKE, __heq2_mask) PAIR(T, T2, MAKE, __hne2_mask) PAIR(T, T2, MAKE, __hle2_mask)                       \
    PAIR(T, T2, MAKE, __hge2_mask) PAIR(T, T2, MAKE, __hlt2_mask) PAIR(T, T2, MAKE, __hgt2_mask)                       \
    PAIR(T, T2, MAKE, __hequ2_mask) PAIR(T, T2, MAKE, __hneu2_mask) PAIR(T, T2, MAKE, __hgtu2_mask)                    \
    PAIR(T, T2, MAKE, __hbeq2) PAIR(T, T2, MAKE, __hbne2) PAIR(T, T2, MAKE, __hble2) PAIR(T, T2, MAKE, __hbge2)        \
    PAIR(T, T2, MAKE, __hblt2) PAIR(T, T2, MAKE, __hbgt2) PAIR(T, T2, MAKE, __hbequ2) PAIR(T, T2, MAKE, __hbneu2)      \
    PAIR(T, T2, MAKE, __hbleu2) PAIR(T, T2, MAKE, __hbgeu2) PAIR(T, T2, MAKE, __hbltu2) PAIR(T, T2, MAKE, __hbgtu2)    \
    PAIR(T, T2, MAKE, mixed) PAIR(T, T2, MAKE, compared)                                                               \
    FROM(T, __float2##w, float, float_of(i)) FROM(T, __float2##w##_rn, float, float_of(i))                             \
    FROM(T, __float2##w##_rz, float, float_of(i)) FROM(T, __float2##w##_rd, float, float_of(i))                        \
    FROM(T, __float2##w##_ru, float, float_of(i)) FROM(T, __double2##w, double, double_of(i))                          \
    FROM(T, __float2##w2##_rn, float, float_of(i)) FROM(T, __short2##w##_rn, short, (short)i)                          \
    FROM(T, __ushort2##w##_rn, unsigned short, (unsigned short)i) FROM(T, __int2##w##_rn, int, (int)integer_of(i))     \
    FROM(T, __uint2##w##_rn, unsigned, (unsigned)integer_of(i))                                                        \
    FROM(T, __ll2##w##_rn, long long, (long long)integer_of(i)) FROM(T, __ull2##w##_rn, u64, integer_of(i))            \
    FROM(T, T, float, float_of(i)) FROM(T, T, double, double_of(i)) FROM(T, T, long, (long)integer_of(i))              \
    UNARY(T, MAKE, (int)) UNARY(T, MAKE, (char)) UNARY(T, MAKE, (unsigned long)) UNARY(T, MAKE, (bool))

static u64 packed(unsigned a, unsigned b, unsigned c, unsigned d) {
    return a | b << 8 | (u64)c << 16 | (u64)d << 24;
}

// What the classes of a type of 8 bits convert to and from.
#define CLASSES(T, T2, T4)                                                                                             \
    {                                                                                                                  \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 65536; i++) {                                                                         \
            T one;                                                                                                     \
            T2 two;                                                                                                    \
            T4 four;                                                                                                   \
            one.__x = (__nv_fp8_storage_t)i;                                                                           \
            two.__x = (__nv_fp8x2_storage_t)i;                                                                         \
            four.__x = i * 2654435761u;                                                                                \
            total.add(bits((float)one) ^ bits((double)one));                                                           \
            total.add(bits((__half)one) ^ bits((__nv_bfloat16)one));                                                   \
            total.add((u64)(signed char)one ^ (u64)(unsigned char)one ^ (u64)(char)one);                               \
            total.add((u64)(short)one ^ (u64)(unsigned short)one);                                                     \
            total.add((u64)(int)one ^ (u64)(unsigned)one);                                                             \
            total.add((u64)(long)one ^ (u64)(unsigned long)one);                                                       \
            total.add((u64)(long long)one ^ (u64)(unsigned long long)one ^ (u64)(bool)one);                            \
            total.add(bits((float2)two) ^ bits((__half2)two) ^ bits((__nv_bfloat162)two));                             \
            const float4 all = (float4)four;                                                                           \
            total.add(bits(all.x) ^ bits(all.y) << 8 ^ bits(all.z) << 16 ^ bits(all.w) << 24);                         \
        }                                                                                                              \
        LINE("to others", #T);                                                                                         \
    }                                                                                                                  \
    {                                                                                                                  \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 131072; i++) {                                                                        \
            const float f = float_of(i), g = float_of(~i);                                                             \
            const double d = double_of(i), e = double_of(~i);                                                          \
            const u64 n = integer_of(i);                                                                               \
            const __half h = __ushort_as_half((unsigned short)i);                                                      \
            const __nv_bfloat16 b = __ushort_as_bfloat16((unsigned short)i);                                           \
            total.add(packed(T(f).__x, T(d).__x, T(h).__x, T(b).__x));                                                 \
            total.add(packed(T((short)n).__x, T((unsigned short)n).__x, T((int)n).__x, T((unsigned)n).__x));           \
            total.add(packed(T((long)n).__x, T((unsigned long)n).__x, T((long long)n).__x, T(n).__x));                 \
            total.add(packed(T2(make_float2(f, g)).__x, 0, T2(make_double2(d, e)).__x, 0));                            \
            total.add(packed(T2(__half2(h, -h)).__x, 0, T2(__nv_bfloat162(-b, b)).__x, 0));                            \
            total.add(T4(make_float4(f, 1, 2, g)).__x | (u64)T4(make_double4_16a(d, 3, 4, e)).__x << 32);              \
            total.add(T4(__half2(h, h), __half2(-h, h)).__x);                                                          \
            total.add(T4(__nv_bfloat162(b, -b), __nv_bfloat162(b, b)).__x);                                            \
        }                                                                                                              \
        LINE("from others", #T);                                                                                       \
    }

// The conversions to and from 8 bits with both ways to treat what is too large.
#define EIGHT(T, T2, T4, kind)                                                                                         \
    {                                                                                                                  \
        const __nv_saturation_t ways[] = {__NV_NOSAT, __NV_SATFINITE};                                                 \
        for (unsigned way = 0; way < 2; way++) {                                                                       \
            sum total;                                                                                                 \
            for (unsigned i = 0; i < 400000; i++) {                                                                    \
                total.add(__nv_cvt_float_to_fp8(float_of(i), ways[way], kind));                                        \
                total.add(__nv_cvt_double_to_fp8(double_of(i), ways[way], kind));                                      \
                total.add(__nv_cvt_float2_to_fp8x2(make_float2(float_of(i), float_of(~i)), ways[way], kind));          \
                total.add(__nv_cvt_double2_to_fp8x2(make_double2(double_of(i), double_of(~i)), ways[way], kind));      \
            }                                                                                                          \
            LINE(#kind " from float and double", way ? "saturating" : "not saturating");                               \
            for (unsigned i = 0; i < 65536; i++) {                                                                     \
                const __half_raw sixteen = {(unsigned short)i};                                                        \
                const __nv_bfloat16_raw bfloat = {(unsigned short)i};                                                  \
                const __half2_raw halves = {(unsigned short)i, (unsigned short)(i * 40503u)};                          \
                const __nv_bfloat162_raw bfloats = {(unsigned short)i, (unsigned short)(i * 40503u)};                  \
                total.add(__nv_cvt_halfraw_to_fp8(sixteen, ways[way], kind));                                          \
                total.add(__nv_cvt_bfloat16raw_to_fp8(bfloat, ways[way], kind));                                       \
                total.add(__nv_cvt_halfraw2_to_fp8x2(halves, ways[way], kind));                                        \
                total.add(__nv_cvt_bfloat16raw2_to_fp8x2(bfloats, ways[way], kind));                                   \
            }                                                                                                          \
            LINE(#kind " from 16 bits", way ? "saturating" : "not saturating");                                        \
        }                                                                                                              \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 65536; i++) {                                                                         \
            const __nv_fp8_storage_t one = (__nv_fp8_storage_t)i;                                                      \
            const __nv_fp8x2_storage_t two = (__nv_fp8x2_storage_t)i;                                                  \
            total.add(bits(__nv_cvt_fp8_to_halfraw(one, kind)));                                                       \
            total.add(bits(__nv_cvt_fp8_to_bf16raw(one, kind)));                                                       \
            total.add(bits(__nv_cvt_fp8x2_to_halfraw2(two, kind)));                                                    \
            total.add(bits(__nv_cvt_fp8x2_to_bf162raw(two, kind)));                                                    \
        }                                                                                                              \
        LINE(#kind " to 16 bits", #T);                                                                                 \
    }                                                                                                                  \
    CLASSES(T, T2, T4)

// The conversions to and from 8 bits without a sign, with both ways to treat what is too large and all roundings.
#define UNSIGNED(T, T2, T4, kind)                                                                                      \
    for (unsigned way = 0; way < 8; way++) {                                                                           \
        const __nv_saturation_t saturate = way & 1 ? __NV_SATFINITE : __NV_NOSAT;                                      \
        const cudaRoundMode rounding = (cudaRoundMode)(way >> 1);                                                      \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 131072; i++) {                                                                        \
            const __nv_bfloat16_raw bfloat = {(unsigned short)i};                                                      \
            const __nv_bfloat162_raw bfloats = {(unsigned short)i, (unsigned short)(i * 40503u)};                      \
            total.add(__nv_cvt_float_to_##kind(float_of(i), saturate, rounding));                                      \
            total.add(__nv_cvt_double_to_##kind(double_of(i), saturate, rounding));                                    \
            total.add(__nv_cvt_bfloat16raw_to_##kind(bfloat, saturate, rounding));                                     \
            total.add(__nv_cvt_float2_to_##kind##x2(make_float2(float_of(i), float_of(~i)), saturate, rounding));      \
            total.add(__nv_cvt_double2_to_##kind##x2(make_double2(double_of(i), double_of(~i)), saturate, rounding));  \
            total.add(__nv_cvt_bfloat162raw_to_##kind##x2(bfloats, saturate, rounding));                               \
        }                                                                                                              \
        printf("saturation and rounding %u: ", way);                                                                   \
        LINE("from others", #kind);                                                                                    \
    }                                                                                                                  \
    {                                                                                                                  \
        sum total;                                                                                                     \
        for (unsigned i = 0; i < 65536; i++) {                                                                         \
            total.add(bits(__nv_cvt_##kind##_to_bf16raw((__nv_fp8_storage_t)i)));                                      \
            total.add(bits(__nv_cvt_##kind##x2_to_bf162raw((__nv_fp8x2_storage_t)i)));                                 \
        }                                                                                                              \
        LINE("to bfloat16", #kind);                                                                                    \
    }                                                                                                                  \
    CLASSES(T, T2, T4)

// Of the two types without a sign, only ue5m3 has functions for half.
static void halves_of_ue5m3() {
    for (unsigned way = 0; way < 8; way++) {
        const __nv_saturation_t saturate = way & 1 ? __NV_SATFINITE : __NV_NOSAT;
        const cudaRoundMode rounding = (cudaRoundMode)(way >> 1);
        sum total;
        for (unsigned i = 0; i < 65536; i++) {
            const __half_raw sixteen = {(unsigned short)i};
            const __half2_raw halves = {(unsigned short)i, (unsigned short)(i * 40503u)};
            total.add(__nv_cvt_halfraw_to_ue5m3(sixteen, saturate, rounding));
            total.add(__nv_cvt_half2raw_to_ue5m3x2(halves, saturate, rounding));
            total.add(bits(__nv_cvt_ue5m3_to_halfraw((__nv_fp8_storage_t)i)));
            total.add(bits(__nv_cvt_ue5m3x2_to_halfraw2((__nv_fp8x2_storage_t)i)));
        }
        printf("saturation and rounding %u: ", way);
        LINE("half", "ue5m3");
    }
}

int main() {
    COMMON(__half, __half2, __ushort_as_half, half, half2)
    FROM(__half, __int2half_rz, int, (int)integer_of(i))
    FROM(__half, __int2half_rd, int, (int)integer_of(i))
    FROM(__half, __int2half_ru, int, (int)integer_of(i))
    FROM(__half, __ull2half_rz, u64, integer_of(i))
    FROM(__half, __ll2half_ru, long long, (long long)integer_of(i))
    FROM(__half, __short2half_rd, short, (short)i)
    COMMON(__nv_bfloat16, __nv_bfloat162, __ushort_as_bfloat16, bfloat16, bfloat162)
    UNARY(__half, __ushort_as_half, __nv_bfloat16)
    UNARY(__nv_bfloat16, __ushort_as_bfloat16, __half)
    EIGHT(__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
    EIGHT(__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
    UNSIGNED(__nv_fp8_e8m0, __nv_fp8x2_e8m0, __nv_fp8x4_e8m0, e8m0)
    UNSIGNED(__nv_fp8_ue5m3, __nv_fp8x2_ue5m3, __nv_fp8x4_ue5m3, ue5m3)
    halves_of_ue5m3();
    return 0;
}
