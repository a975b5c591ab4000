// The values of mma.sync on numbers of all magnitudes: what tensor cores round, drop and keep. It prints a hash of the
// results of each instruction for each kind of numbers, some of them, and sums that show one property each.
// options: -arch=compute_90 -code=compute_90
#include "check.h"
#include <cstring>
#include <string>
#include <vector>

const int ROUNDS = 200;

#define INSTRUCTION(name, d_, opcode)                                                                                  \
    struct name##_op {                                                                                                 \
        static __device__ void run(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,                   \
                                   const std::uint32_t *c) {                                                           \
            d_(opcode)                                                                                                 \
        }                                                                                                              \
    };
#define D4 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
#define D2 : "=r"(d[0]), "=r"(d[1])
#define A4_B2 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define A2_B1 : "r"(a[0]), "r"(a[1]), "r"(b[0])
#define C4 , "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])
#define C2 , "r"(c[0]), "r"(c[1])
#define LARGE_F32(opcode) asm volatile(opcode " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" D4 A4_B2 C4);
#define SMALL_F32(opcode) asm volatile(opcode " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};" D4 A2_B1 C4);
#define LARGE_F16(opcode) asm volatile(opcode " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};" D2 A4_B2 C2);
#define SMALL_F16(opcode) asm volatile(opcode " {%0,%1}, {%2,%3}, {%4}, {%5,%6};" D2 A2_B1 C2);

INSTRUCTION(f16_k8, SMALL_F32, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
INSTRUCTION(f16_k16, LARGE_F32, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
INSTRUCTION(f16_k8_f16, SMALL_F16, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16")
INSTRUCTION(f16_k16_f16, LARGE_F16, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
INSTRUCTION(bf16_k8, SMALL_F32, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
INSTRUCTION(bf16_k16, LARGE_F32, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
INSTRUCTION(tf32_k4, SMALL_F32, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32")
INSTRUCTION(tf32_k8, LARGE_F32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
INSTRUCTION(e4m3_k16, SMALL_F32, "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32")
INSTRUCTION(e4m3_k32, LARGE_F32, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
INSTRUCTION(e5m2_k32, LARGE_F32, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32")
INSTRUCTION(e4m3_k32_f16, LARGE_F16, "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16")
INSTRUCTION(e5m2_k32_f16, LARGE_F16, "mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e5m2.f16")

// f64: pairs of words.
struct f64_k4_op {
    static __device__ void run(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                               const std::uint32_t *c) {
        double *to = (double *)d;
        const double *x = (const double *)a, *y = (const double *)b, *z = (const double *)c;
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%5};"
                     : "=d"(to[0]), "=d"(to[1]) : "d"(x[0]), "d"(y[0]), "d"(z[0]), "d"(z[1]));
    }
};
struct f64_k16_op {
    static __device__ void run(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                               const std::uint32_t *c) {
        double *to = (double *)d;
        const double *x = (const double *)a, *y = (const double *)b, *z = (const double *)c;
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
                     "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%16,%17,%18,%19};"
                     : "=d"(to[0]), "=d"(to[1]), "=d"(to[2]), "=d"(to[3])
                     : "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(x[4]), "d"(x[5]), "d"(x[6]), "d"(x[7]),
                       "d"(y[0]), "d"(y[1]), "d"(y[2]), "d"(y[3]), "d"(z[0]), "d"(z[1]), "d"(z[2]), "d"(z[3]));
    }
};
// Four products of 8x8x4 at once, of Volta.
struct volta_op {
    static __device__ void run(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                               const std::uint32_t *c) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, "
                     "{%12,%13,%14,%15,%16,%17,%18,%19};"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7])
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]),
                       "r"(c[4]), "r"(c[5]), "r"(c[6]), "r"(c[7]));
    }
};

// Words of the operands of one round: for each lane 16 of a, 8 of b, 8 of c.
const int A = 16, B = 8, C = 8, WORDS = 32 * (A + B + C);

template <typename Op> __global__ void multiply(const std::uint32_t *in, std::uint32_t *out) {
    std::uint32_t lane = threadIdx.x, d[C] = {}, a[A], b[B], c[C];
    in += blockIdx.x * WORDS;
    for (int i = 0; i < A; i++)
        a[i] = in[lane * A + i];
    for (int i = 0; i < B; i++)
        b[i] = in[32 * A + lane * B + i];
    for (int i = 0; i < C; i++)
        c[i] = in[32 * (A + B) + lane * C + i];
    Op::run(d, a, b, c);
    for (int i = 0; i < C; i++)
        out[(blockIdx.x * 32 + lane) * C + i] = d[i];
}

// ---- numbers ----

struct Format {
    int bits, exponent, fraction;
    int low; // bits behind the fraction, which tf32 does not look at
};
const Format F16 = {16, 5, 10, 0}, BF16 = {16, 8, 7, 0}, TF32 = {32, 8, 10, 13}, E4M3 = {8, 4, 3, 0},
             E5M2 = {8, 5, 2, 0}, F32 = {32, 8, 23, 0}, F64 = {64, 11, 52, 0};

enum Kind { NEAR, WIDE, ANY, SPECIAL };
const char *const kinds[] = {"near", "wide", "any", "special"};

std::uint64_t number(const Format &f, Kind kind, std::uint32_t &state) {
    std::uint64_t random = (std::uint64_t)next_random(state) << 40 ^ (std::uint64_t)next_random(state) << 20 ^
                           next_random(state);
    std::uint64_t sign = random >> 63, fraction = random & ((1ull << (f.fraction + f.low)) - 1);
    int bias = (1 << (f.exponent - 1)) - 1, most = (1 << f.exponent) - 1;
    unsigned choice = next_random(state), chance = next_random(state) >> 5;
    int exponent = kind == NEAR ? bias - 4 + (int)(choice % 8) : (int)(choice >> 3) % most;
    if (kind == WIDE && f.exponent > 5)
        exponent = bias - 24 + (int)(choice % 48);
    if (kind != NEAR && chance % 16 == 0)
        exponent = 0;
    if (kind == SPECIAL && chance % 64 == 1) {
        exponent = most;
        if (chance & 64)
            fraction = 0;
    }
    if (chance % 32 == 2)
        exponent = 0, fraction = 0;
    return ((sign << f.exponent) + exponent) << (f.fraction + f.low) | fraction;
}

void fill(std::uint32_t *to, int words, const Format &f, Kind kind, std::uint32_t &state) {
    for (int i = 0; i < words; i++) {
        to[i] = 0;
        for (int at = 0; at < 32 && f.bits < 64; at += f.bits)
            to[i] |= (std::uint32_t)(number(f, kind, state) << at);
        if (f.bits == 64) {
            std::uint64_t value = number(f, kind, state);
            std::memcpy(to + i++, &value, sizeof value);
        }
    }
}

std::uint64_t hash(const std::uint32_t *words, size_t count) {
    std::uint64_t h = 14695981039346656037ull;
    for (size_t i = 0; i < count; i++)
        h = (h ^ words[i]) * 1099511628211ull;
    return h;
}

template <typename Op> std::vector<std::uint32_t> results_of(const std::vector<std::uint32_t> &words) {
    int rounds = (int)(words.size() / WORDS);
    std::vector<std::uint32_t> results((size_t)rounds * 32 * C);
    std::uint32_t *in = on_device(words.size(), words.data()), *out = on_device<std::uint32_t>(results.size());
    multiply<Op><<<rounds, 32>>>(in, out);
    to_host(results.data(), out, results.size());
    CALL(cudaFree(in));
    CALL(cudaFree(out));
    return results;
}

template <typename Op> void random_numbers(const char *name, const Format &of, const Format &sum) {
    for (Kind kind : {NEAR, WIDE, ANY, SPECIAL}) {
        std::uint32_t state = 77 + kind;
        std::vector<std::uint32_t> words((size_t)ROUNDS * WORDS);
        for (int round = 0; round < ROUNDS; round++) {
            fill(&words[round * WORDS], 32 * (A + B), of, kind, state);
            fill(&words[round * WORDS + 32 * (A + B)], 32 * C, sum, kind, state);
        }
        std::vector<std::uint32_t> d = results_of<Op>(words);
        std::printf("%s %s: %016llx\n", name, kinds[kind], (unsigned long long)hash(d.data(), d.size()));
        for (int row = 0; row < 4; row++) {
            std::printf("   ");
            for (int i = 0; i < 8; i++)
                std::printf(" %08x", d[row * 32 * C + (sum.bits == 64 ? i : i * 4 * C)]);
            std::printf("\n");
        }
    }
}

// ---- one sum ----

// A sum of products and c: a[k] * b[k], by the bits of the format. The others are zero.
struct Sum {
    const char *what;
    double c;
    std::vector<double> a, b;
};

// Returns the bits of a number that the format has.
std::uint64_t bits_of(const Format &f, double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    std::uint64_t sign = bits >> 63, fraction = bits & ((1ull << 52) - 1);
    int bias = (1 << (f.exponent - 1)) - 1, exponent = (int)(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff)
        exponent = (1 << f.exponent) - 1;
    else if (value == 0)
        exponent = 0;
    else if ((exponent += bias - 1023) <= 0) {
        fraction = (fraction | 1ull << 52) >> (1 - exponent);
        exponent = 0;
    }
    return ((sign << f.exponent) + exponent) << (f.fraction + f.low) | (fraction >> (52 - f.fraction)) << f.low;
}

// Puts the sum where all instructions with 32 lanes have row 0 of a, column 0 of b and element 0 of c: in lanes 0 to 3.
void put_sum(const Sum &sum, std::uint32_t *words, const Format &of, const Format &to) {
    int each = 32 / of.bits, tile = 4 * each;
    for (size_t k = 0; k < sum.a.size(); k++) {
        int part = (int)k / tile, lane = (int)k % tile / each, shift = (int)k % each * of.bits;
        words[lane * A + part * 2] |= (std::uint32_t)(bits_of(of, sum.a[k]) << shift);
        words[32 * A + lane * B + part] |= (std::uint32_t)(bits_of(of, sum.b[k]) << shift);
    }
    words[32 * (A + B)] = (std::uint32_t)bits_of(to, sum.c);
}

double power(int e) {
    return e < 0 ? 1 / power(-e) : e ? 2 * power(e - 1) : 1;
}

// Sums that fit k = `most`, of numbers from 2^-`range` to 2^`range` in f16 or less.
std::vector<Sum> sums(int most, int range) {
    const double inf = power(1000) * power(1000), nan = inf - inf;
    std::vector<Sum> all;
    double half = power(range / 2);
    for (int bits = 10; bits < 28 && bits / 2 < range; bits++) { // which bits below 1 are kept
        int e = bits / 2;
        all.push_back({"keeps", 1, {power(-e)}, {power(-(bits - e))}});
        all.push_back({"keeps -", 1, {-power(-e)}, {power(-(bits - e))}});
        all.push_back({"keeps in products", 0, {1, power(-e)}, {1, power(-(bits - e))}});
        all.push_back({"adds up", 1, std::vector<double>(most, power(-e)), std::vector<double>(most, power(-(bits - e)))});
    }
    for (int k = 1; k < most; k++) { // which products are added at once
        std::vector<double> a(most, 0), b(most, 0);
        a[0] = b[0] = half;
        a[k] = -half;
        b[k] = half;
        int small = 1 + k % (most - 1);
        a[small] = power(-range / 2);
        b[small] = power(-range / 2 + 1);
        all.push_back({"together", power(-range), a, b});
    }
    all.push_back({"minus zeros", -0.0, {-0.0}, {1}});
    all.push_back({"minus zero and zeros", -0.0, std::vector<double>(most, 0.0), std::vector<double>(most, 1.0)});
    all.push_back({"minus zeros only", -0.0, std::vector<double>(most, -0.0), std::vector<double>(most, 1.0)});
    all.push_back({"1 - 1", -1, {1}, {1}});
    all.push_back({"-1 + 1", 1, {-1}, {1}});
    all.push_back({"3 x 3 carries", power(-20), {1.5, 1.5, 1.5}, {1.5, 1.5, 1.5}});
    all.push_back({"infinity in c", inf, {1}, {1}});
    all.push_back({"-infinity in c", -inf, {1}, {1}});
    all.push_back({"NaN in c", nan, {1}, {1}});
    all.push_back({"NaN in a", 1, {nan}, {1}});
    all.push_back({"NaN times zero", 1, {nan}, {0}});
    all.push_back({"infinity in b", 1, {-1}, {inf}});
    all.push_back({"infinity times zero", 1, {0}, {inf}});
    all.push_back({"infinity minus infinity", 1, {inf, -1}, {1, inf}});
    all.push_back({"infinity minus c", -inf, {inf}, {1}});
    return all;
}

template <typename Op> void single_sums(const char *name, const Format &of, const Format &to, std::vector<Sum> all) {
    std::vector<std::uint32_t> words(all.size() * WORDS);
    for (size_t n = 0; n < all.size(); n++)
        put_sum(all[n], &words[n * WORDS], of, to);
    std::vector<std::uint32_t> d = results_of<Op>(words);
    for (size_t n = 0; n < all.size(); n++) {
        if (n == 0 || std::strcmp(all[n].what, all[n - 1].what) != 0)
            std::printf("%s%s, %s:", n ? "\n" : "", name, all[n].what);
        std::printf(" %0*x", to.bits / 4, to.bits == 16 ? d[n * 32 * C] & 0xffff : d[n * 32 * C]);
    }
    std::printf("\n");
}

// Numbers that only f32 has as c, and products at the ends of its range.
std::vector<Sum> ends() {
    const double one = power(0), low = power(-126), high = power(127);
    return {{"largest f32 and its last bit", high * (2 - power(-23)), {power(64)}, {power(40)}},
            {"largest f32 and half of its last bit", high * (2 - power(-23)), {power(64)}, {power(39)}},
            {"largest f32 and less", high * (2 - power(-23)), {power(64)}, {power(38)}},
            {"2^128 - 2^127", -high, {power(64)}, {power(64)}},
            {"2^254 - 2^254", one, {high, -high}, {high, high}},
            {"2^254", one, {high}, {high}},
            {"subnormal c", low / 4, {0}, {0}},
            {"smallest c", power(-149), {0}, {0}},
            {"-smallest c", -power(-149), {0}, {0}},
            {"product 2^-140", 0, {power(-70)}, {power(-70)}},
            {"product 2^-149", 0, {power(-70)}, {power(-79)}},
            {"product 2^-150", 0, {power(-70)}, {power(-80)}},
            {"product -2^-150", 0, {-power(-70)}, {power(-80)}},
            {"product -2^-151", 0, {-power(-70)}, {power(-81)}},
            {"product -2^-152", 0, {-power(-70)}, {power(-82)}},
            {"two products 2^-150", 0, {power(-70), power(-70)}, {power(-80), power(-80)}},
            {"four products 2^-151", 0, std::vector<double>(4, power(-70)), std::vector<double>(4, power(-81))},
            {"product of subnormals", 0, {power(-130)}, {power(20)}},
            {"product of a subnormal and 1", power(-130), {power(-130)}, {1}}};
}

int main() {
#define RANDOM(name, of, sum) random_numbers<name##_op>(#name, of, sum)
    RANDOM(f16_k8, F16, F32);
    RANDOM(f16_k16, F16, F32);
    RANDOM(f16_k8_f16, F16, F16);
    RANDOM(f16_k16_f16, F16, F16);
    RANDOM(bf16_k8, BF16, F32);
    RANDOM(bf16_k16, BF16, F32);
    RANDOM(tf32_k4, TF32, F32);
    RANDOM(tf32_k8, TF32, F32);
    RANDOM(e4m3_k16, E4M3, F32);
    RANDOM(e4m3_k32, E4M3, F32);
    RANDOM(e5m2_k32, E5M2, F32);
    RANDOM(e4m3_k32_f16, E4M3, F16);
    RANDOM(e5m2_k32_f16, E5M2, F16);
    RANDOM(f64_k4, F64, F64);
    RANDOM(f64_k16, F64, F64);
    RANDOM(volta, F16, F32);
    single_sums<f16_k16_op>("f16_k16", F16, F32, sums(16, 14));
    single_sums<f16_k16_f16_op>("f16_k16_f16", F16, F16, sums(16, 12));
    single_sums<bf16_k16_op>("bf16_k16", BF16, F32, sums(16, 20));
    single_sums<tf32_k8_op>("tf32_k8", TF32, F32, sums(8, 20));
    single_sums<e4m3_k32_op>("e4m3_k32", E4M3, F32, sums(32, 6));
    single_sums<e5m2_k32_op>("e5m2_k32", E5M2, F32, sums(32, 14));
    single_sums<e5m2_k32_f16_op>("e5m2_k32_f16", E5M2, F16, sums(32, 12));
    single_sums<bf16_k16_op>("bf16_k16", BF16, F32, ends());
    single_sums<tf32_k8_op>("tf32_k8", TF32, F32, ends());
    std::printf("PASSED mma_values\n");
    return 0;
}
