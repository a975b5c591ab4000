// Integer intrinsics, SIMD in a word, bit fields, wide products, carries and divisions, against the same on the CPU.
#include "check.h"
#include <vector>

typedef unsigned __int128 Wide;

__global__ void words(const std::uint32_t *in, std::uint64_t *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 3 >= count)
        return;
    std::uint32_t a = in[i], b = in[i + 1], c = in[i + 2];
    std::uint64_t x = (std::uint64_t)a << 32 | b, y = (std::uint64_t)c << 29 | a;
    std::uint64_t *mine = out + i * 16;
    mine[0] = __popc(a) + __clz(b) + __ffs(c) + __popcll(x) + __clzll(y) + __ffsll(x);
    mine[1] = __brev(a) + __brevll(y);
    mine[2] = __byte_perm(a, b, c & 0x7777);
    mine[3] = __umulhi(a, b) + (std::uint64_t)(std::int64_t)__mulhi((int)b, (int)c);
    mine[4] = __umul64hi(x, y) + (std::uint64_t)__mul64hi((std::int64_t)x, (std::int64_t)y);
    mine[5] = __sad((int)a, (int)b, c) + (std::uint64_t)__usad(a, b, c);
    mine[6] = __funnelshift_l(a, b, c) + (std::uint64_t)__funnelshift_rc(a, b, c & 63);
    mine[7] = __vadd2(a, b) ^ (std::uint64_t)__vsub4(b, c) << 32;
    mine[8] = __vmaxs2(a, b) ^ (std::uint64_t)__vabsdiffu4(b, c) << 32;
    mine[9] = (std::uint64_t)(std::int64_t)__dp4a((int)a, (int)b, (int)c) + __dp2a_lo(a, b, c);
    mine[10] = (a / (b % 1000 + 1)) + (a % (c % 77 + 1)) + (std::uint64_t)((int)a / ((int)(b % 1000) - 1001));
    mine[11] = x / (y >> 20 | 1) + x % (y >> 30 | 3) + (std::uint64_t)((std::int64_t)x / ((std::int64_t)(y >> 40) - 100000000));
    Wide product = (Wide)x * y + y;
    mine[12] = (std::uint64_t)(product >> 64) + (std::uint64_t)product;
    mine[13] = (std::uint64_t)((Wide)x * x / (y | 1));
    mine[14] = __rhadd((int)a, (int)b) + (std::uint64_t)(std::int64_t)__hadd((int)b, (int)c) + __uhadd(a, c);
    mine[15] = (std::uint64_t)((std::int64_t)x >> (a & 63)) + (x >> (b & 63)) + ((int)a >> (c & 31));
}

static std::uint64_t lanes(std::uint32_t a, std::uint32_t b, int width, int operation) {
    std::uint32_t result = 0, mask = width == 16 ? 0xffff : 0xff;
    for (int at = 0; at < 32; at += width) {
        std::uint32_t x = a >> at & mask, y = b >> at & mask, z = 0;
        if (operation == 0)
            z = x + y;
        if (operation == 1)
            z = x - y;
        if (operation == 2)
            z = (std::int16_t)x > (std::int16_t)y ? x : y;
        if (operation == 3)
            z = x > y ? x - y : y - x;
        result |= (z & mask) << at;
    }
    return result;
}

static std::uint32_t permuted(std::uint64_t from, std::uint32_t by) {
    std::uint32_t result = 0;
    for (int k = 0; k < 4; k++)
        result |= (std::uint32_t)(from >> (by >> 4 * k & 7) * 8 & 255) << 8 * k;
    return result;
}

static std::uint64_t reversed(std::uint64_t value, int bits) {
    std::uint64_t result = 0;
    for (int k = 0; k < bits; k++)
        result |= (value >> k & 1) << (bits - 1 - k);
    return result;
}

static void expect(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint64_t *mine) {
    typedef __int128 Signed;
    std::uint64_t x = (std::uint64_t)a << 32 | b, y = (std::uint64_t)c << 29 | a;
    mine[0] = __builtin_popcount(a) + (b ? __builtin_clz(b) : 32) + __builtin_ffs(c) + __builtin_popcountll(x) +
              (y ? __builtin_clzll(y) : 64) + __builtin_ffsll(x);
    mine[1] = (std::uint32_t)reversed(a, 32) + reversed(y, 64);
    mine[2] = permuted((std::uint64_t)b << 32 | a, c & 0x7777);
    mine[3] = ((std::uint64_t)a * b >> 32) + (std::uint64_t)((std::int64_t)(int)b * (int)c >> 32);
    mine[4] = (std::uint64_t)((Wide)x * y >> 64) + (std::uint64_t)((Signed)(std::int64_t)x * (std::int64_t)y >> 64);
    std::int64_t apart = (std::int64_t)(int)a - (int)b;
    mine[5] = (std::uint32_t)((apart < 0 ? -apart : apart) + c) + (std::uint64_t)(std::uint32_t)((a > b ? a - b : b - a) + c);
    std::uint64_t pair = (std::uint64_t)b << 32 | a;
    std::uint32_t by = (c & 63) > 32 ? 32 : c & 63;
    mine[6] = (std::uint32_t)(pair << (c & 31) >> 32) + (std::uint64_t)(std::uint32_t)(pair >> by);
    mine[7] = lanes(a, b, 16, 0) ^ lanes(b, c, 8, 1) << 32;
    mine[8] = lanes(a, b, 16, 2) ^ lanes(b, c, 8, 3) << 32;
    int four = (int)c;
    std::uint32_t two = c;
    for (int k = 0; k < 4; k++)
        four = (int)((std::uint32_t)four + (std::uint32_t)((std::int8_t)(a >> 8 * k) * (std::int8_t)(b >> 8 * k)));
    for (int k = 0; k < 2; k++)
        two += (a >> 16 * k & 0xffff) * (b >> 8 * k & 0xff);
    mine[9] = (std::uint64_t)(std::int64_t)four + two;
    mine[10] = (a / (b % 1000 + 1)) + (a % (c % 77 + 1)) + (std::uint64_t)((int)a / ((int)(b % 1000) - 1001));
    mine[11] = x / (y >> 20 | 1) + x % (y >> 30 | 3) + (std::uint64_t)((std::int64_t)x / ((std::int64_t)(y >> 40) - 100000000));
    Wide product = (Wide)x * y + y;
    mine[12] = (std::uint64_t)(product >> 64) + (std::uint64_t)product;
    mine[13] = (std::uint64_t)((Wide)x * x / (y | 1));
    mine[14] = (std::uint64_t)(((std::int64_t)(int)a + (int)b + 1) >> 1) +
               (std::uint64_t)(((std::int64_t)(int)b + (int)c) >> 1) + (((std::uint64_t)a + c) >> 1);
    mine[15] = (std::uint64_t)((std::int64_t)x >> (a & 63)) + (x >> (b & 63)) + (std::uint64_t)(std::int64_t)((int)a >> (c & 31));
}

int main() {
    const int count = 4096;
    std::vector<std::uint32_t> data(count);
    std::uint32_t state = 21;
    for (int i = 0; i < count; i++)
        data[i] = i % 7 == 0 ? 0u - (i & 3) : next_random(state) * 8 ^ next_random(state);
    std::vector<std::uint64_t> result(count * 16), right(16);
    std::uint32_t *in = on_device(data.size(), data.data());
    std::uint64_t *out = on_device<std::uint64_t>(result.size());
    words<<<count / 128, 128>>>(in, out, count);
    to_host(result.data(), out, result.size());
    long wrong = 0, each[16] = {0};
    for (int i = 0; i + 3 < count; i++) {
        expect(data[i], data[i + 1], data[i + 2], right.data());
        for (int k = 0; k < 16; k++) {
            wrong += result[i * 16 + k] != right[k];
            each[k] += result[i * 16 + k] != right[k];
        }
    }
    for (int k = 0; k < 16; k++)
        if (each[k])
            std::printf("expression %d: %ld wrong\n", k, each[k]);
    return finish("integers", wrong);
}
