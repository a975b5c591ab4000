/* Integer arithmetic of lanes. lane.h includes this file. */
#ifndef ACU_SIM_PTX_LANE_INTEGER_H
#define ACU_SIM_PTX_LANE_INTEGER_H

#include <stdint.h>

/* Integers wrap around. A division by zero gives all ones, and so does the remainder, as on a GPU.
 */
#define INTEGERS(type, lane, wide, lowest, minus)                                                  \
    static inline lane add_##type(lane a, lane b) {                                                \
        return (lane)((wide)a + (wide)b);                                                          \
    }                                                                                              \
    static inline lane sub_##type(lane a, lane b) {                                                \
        return (lane)((wide)a - (wide)b);                                                          \
    }                                                                                              \
    static inline lane mul_##type(lane a, lane b) {                                                \
        return (lane)((wide)a * (wide)b);                                                          \
    }                                                                                              \
    static inline lane div_##type(lane a, lane b) {                                                \
        return (lane)(b == 0                       ? (lane) - 1                                    \
                      : (minus) && b == (lane) - 1 ? sub_##type(0, a)                              \
                                                   : (lane)(a / b));                               \
    }                                                                                              \
    static inline lane rem_##type(lane a, lane b) {                                                \
        return (lane)(b == 0 ? (lane) - 1 : (minus) && b == (lane) - 1 ? 0 : (lane)(a % b));       \
    }
INTEGERS(u16, uint16_t, uint32_t, 0, 0)
INTEGERS(s16, int16_t, uint32_t, INT16_MIN, 1)
INTEGERS(u32, uint32_t, uint32_t, 0, 0)
INTEGERS(s32, int32_t, uint32_t, INT32_MIN, 1)
INTEGERS(u64, uint64_t, uint64_t, 0, 0)
INTEGERS(s64, int64_t, uint64_t, INT64_MIN, 1)
#undef INTEGERS

static inline uint16_t mul_hi_u16(uint16_t a, uint16_t b) {
    return (uint16_t)((uint32_t)a * b >> 16);
}

static inline int16_t mul_hi_s16(int16_t a, int16_t b) {
    return (int16_t)((int32_t)a * b >> 16);
}

static inline uint32_t mul_hi_u32(uint32_t a, uint32_t b) {
    return (uint32_t)((uint64_t)a * b >> 32);
}

static inline int32_t mul_hi_s32(int32_t a, int32_t b) {
    return (int32_t)((int64_t)a * b >> 32);
}

static inline uint64_t mul_hi_u64(uint64_t a, uint64_t b) {
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t low = al * bl, middle = ah * bl + (low >> 32), other = al * bh + (uint32_t)middle;
    return ah * bh + (middle >> 32) + (other >> 32);
}

static inline int64_t mul_hi_s64(int64_t a, int64_t b) {
    uint64_t high = mul_hi_u64((uint64_t)a, (uint64_t)b);
    return (int64_t)(high - (a < 0 ? (uint64_t)b : 0) - (b < 0 ? (uint64_t)a : 0));
}

static inline int32_t clamp_s32(int64_t value) {
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

/* .sat: what does not fit becomes the nearest number that does. */
#define CLAMPS(type, lane, low, high)                                                              \
    static inline lane clamp_u_##type(uint64_t value) {                                            \
        return value > (uint64_t)(high) ? (high) : (lane)value;                                    \
    }                                                                                              \
    static inline lane clamp_s_##type(int64_t value) {                                             \
        return value < (low)                                     ? (low)                           \
               : value > 0 && (uint64_t)value > (uint64_t)(high) ? (high)                          \
                                                                 : (lane)value;                    \
    }
CLAMPS(u8, uint8_t, 0, UINT8_MAX)
CLAMPS(s8, int8_t, INT8_MIN, INT8_MAX)
CLAMPS(u16, uint16_t, 0, UINT16_MAX)
CLAMPS(s16, int16_t, INT16_MIN, INT16_MAX)
CLAMPS(u32, uint32_t, 0, UINT32_MAX)
CLAMPS(s32, int32_t, INT32_MIN, INT32_MAX)
CLAMPS(u64, uint64_t, 0, UINT64_MAX)
CLAMPS(s64, int64_t, INT64_MIN, INT64_MAX)
#undef CLAMPS

static inline uint32_t low_24_u32(uint32_t a) {
    return a & 0xffffff;
}

static inline int32_t low_24_s32(int32_t a) {
    return (int32_t)((uint32_t)a << 8) >> 8;
}

/* Bits 16 to 47 of the product of 24 bits. */
static inline uint32_t mul24_hi_u32(uint32_t a, uint32_t b) {
    return (uint32_t)((uint64_t)low_24_u32(a) * low_24_u32(b) >> 16);
}

static inline int32_t mul24_hi_s32(int32_t a, int32_t b) {
    return (int32_t)((int64_t)low_24_s32(a) * low_24_s32(b) >> 16);
}

/* ---- two of 16 bits in a word ---- */

static inline uint32_t pair(uint32_t low, uint32_t high) {
    return (low & 0xffff) | high << 16;
}

static inline uint32_t add_u16x2(uint32_t a, uint32_t b) {
    return pair(a + b, (a >> 16) + (b >> 16));
}

static inline uint32_t least_u(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline uint32_t most_u(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static inline uint32_t least_s(uint32_t a, uint32_t b) {
    return (uint32_t)((int16_t)a < (int16_t)b ? (int16_t)a : (int16_t)b);
}

static inline uint32_t most_s(uint32_t a, uint32_t b) {
    return (uint32_t)((int16_t)a > (int16_t)b ? (int16_t)a : (int16_t)b);
}

static inline uint32_t min_u16x2(uint32_t a, uint32_t b) {
    return pair(least_u(a & 0xffff, b & 0xffff), least_u(a >> 16, b >> 16));
}

static inline uint32_t max_u16x2(uint32_t a, uint32_t b) {
    return pair(most_u(a & 0xffff, b & 0xffff), most_u(a >> 16, b >> 16));
}

static inline uint32_t min_s16x2(uint32_t a, uint32_t b) {
    return pair(least_s(a & 0xffff, b & 0xffff), least_s(a >> 16, b >> 16));
}

static inline uint32_t max_s16x2(uint32_t a, uint32_t b) {
    return pair(most_s(a & 0xffff, b & 0xffff), most_s(a >> 16, b >> 16));
}

static inline uint32_t relu_s16x2(uint32_t a) {
    return (a & 0x8000 ? 0 : a & 0xffff) | (a >> 31 ? 0 : a & 0xffff0000);
}

static inline uint32_t clamp_between(int32_t value, int32_t low, int32_t high) {
    return (uint32_t)(value < low ? low : value > high ? high : value);
}

/* cvt.pack: two numbers of so many bits, before what is there of `rest`. */
static inline uint32_t pack_small(int32_t a, int32_t b, uint32_t rest, int32_t low, int32_t high,
                                  unsigned bits) {
    uint32_t mask = (UINT32_C(1) << bits) - 1;
    return (clamp_between(b, low, high) & mask) | (clamp_between(a, low, high) & mask) << bits |
           rest << 2 * bits;
}

/* ---- carries ---- */

static inline int carry_32(uint32_t a, uint32_t b, uint32_t c) {
    return ((uint64_t)a + b + c) >> 32 != 0;
}

static inline int carry_64(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t sum = a + b;
    return sum < a || sum + c < sum;
}

static inline int borrow_32(uint32_t a, uint32_t b, uint32_t c) {
    return (uint64_t)b + c > a;
}

static inline int borrow_64(uint64_t a, uint64_t b, uint64_t c) {
    return a < b || a - b < c;
}

/* ---- bits ---- */

static inline uint32_t clz_b32(uint32_t a) {
    return a ? (uint32_t)__builtin_clz(a) : 32;
}

static inline uint32_t clz_b64(uint64_t a) {
    return a ? (uint32_t)__builtin_clzll(a) : 64;
}

/* The place of the highest bit; of a negative number, the highest 0. All ones if there is none. */
static inline uint32_t bfind_u32(uint32_t a) {
    return a ? 31 - (uint32_t)__builtin_clz(a) : UINT32_MAX;
}

static inline uint32_t bfind_s32(int32_t a) {
    return bfind_u32((uint32_t)(a < 0 ? ~a : a));
}

static inline uint32_t bfind_u64(uint64_t a) {
    return a ? 63 - (uint32_t)__builtin_clzll(a) : UINT32_MAX;
}

static inline uint32_t bfind_s64(int64_t a) {
    return bfind_u64((uint64_t)(a < 0 ? ~a : a));
}

static inline uint32_t brev_b32(uint32_t a) {
    a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
    a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
    a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(a);
}

static inline uint64_t brev_b64(uint64_t a) {
    return (uint64_t)brev_b32((uint32_t)a) << 32 | brev_b32((uint32_t)(a >> 32));
}

static inline uint32_t bfe_u32(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t at = b & 0xff, length = c & 0xff;
    if (at > 31 || !length)
        return 0;
    return a >> at & (length > 31 ? UINT32_MAX : (UINT32_C(1) << length) - 1);
}

/* Of 64 bits the place and the length are not cut to 8 bits. */
static inline uint64_t bfe_u64(uint64_t a, uint32_t b, uint32_t c) {
    uint32_t at = b, length = c;
    if (at > 63 || !length)
        return 0;
    return a >> at & (length > 63 ? UINT64_MAX : (UINT64_C(1) << length) - 1);
}

/* Bits beyond the number are copies of its sign. */
static inline int64_t bfe_signed(int64_t a, uint32_t at, uint32_t length, uint32_t most) {
    if (!length)
        return 0;
    uint64_t end = (uint64_t)at + length - 1;
    uint32_t sign = end < most ? (uint32_t)end : most;
    int64_t value = a >> (at < 63 ? at : 63);
    if (length > most)
        return value;
    uint64_t mask = (UINT64_C(1) << length) - 1;
    return (a >> sign & 1) ? (int64_t)((uint64_t)value | ~mask) : (int64_t)((uint64_t)value & mask);
}

static inline int32_t bfe_s32(int32_t a, uint32_t b, uint32_t c) {
    return (int32_t)bfe_signed(a, b & 0xff, c & 0xff, 31);
}

static inline int64_t bfe_s64(int64_t a, uint32_t b, uint32_t c) {
    return bfe_signed(a, b, c, 63);
}

static inline uint64_t insert(uint64_t a, uint64_t b, uint32_t at, uint32_t length, uint32_t size) {
    if (at >= size || !length)
        return b;
    uint64_t mask = (length > 63 ? UINT64_MAX : (UINT64_C(1) << length) - 1) << at;
    return (b & ~mask) | (a << at & mask);
}

static inline uint32_t bfi_b32(uint32_t a, uint32_t b, uint32_t c, uint32_t f) {
    return (uint32_t)insert(a, b, c & 0xff, f & 0xff, 32);
}

static inline uint64_t bfi_b64(uint64_t a, uint64_t b, uint32_t c, uint32_t f) {
    return insert(a, b, c, f, 64);
}

static inline uint32_t bmsk_clamp(uint32_t a, uint32_t b) {
    return a > 31 ? 0 : (b > 31 ? UINT32_MAX : (UINT32_C(1) << b) - 1) << a;
}

static inline uint32_t bmsk_wrap(uint32_t a, uint32_t b) {
    return ((UINT32_C(1) << (b & 31)) - 1) << (a & 31);
}

static inline uint32_t szext_clamp_u32(uint32_t a, uint32_t b) {
    return b > 31 ? a : a & ((UINT32_C(1) << b) - 1);
}

static inline uint32_t szext_wrap_u32(uint32_t a, uint32_t b) {
    return szext_clamp_u32(a, b & 31);
}

static inline int32_t szext_clamp_s32(int32_t a, uint32_t b) {
    if (b > 31)
        return a;
    return b ? (int32_t)((uint32_t)a << (32 - b)) >> (32 - b) : 0;
}

static inline int32_t szext_wrap_s32(int32_t a, uint32_t b) {
    return szext_clamp_s32(a, b & 31);
}

/* Finds the bit that is `offset` set bits from the base. */
static inline uint32_t fns(uint32_t mask, uint32_t base, int32_t offset) {
    if (offset == INT32_MIN) /* as a GPU does */
        return 0;
    if (!offset)
        return base < 32 && mask >> base & 1 ? base : UINT32_MAX;
    int32_t step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    for (int32_t at = (int32_t)base; at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0)
            return (uint32_t)at;
    return UINT32_MAX;
}

static inline uint32_t byte_of(uint64_t bytes, uint32_t selector) {
    uint32_t byte = (uint32_t)(bytes >> 8 * (selector & 7)) & 0xff;
    return selector & 8 ? byte & 0x80 ? 0xff : 0 : byte;
}

static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t c) {
    uint64_t bytes = a | (uint64_t)b << 32;
    return byte_of(bytes, c) | byte_of(bytes, c >> 4) << 8 | byte_of(bytes, c >> 8) << 16 |
           byte_of(bytes, c >> 12) << 24;
}

static inline uint32_t prmt_f4e(uint32_t a, uint32_t b, uint32_t c) {
    return (uint32_t)((a | (uint64_t)b << 32) >> 8 * (c & 3));
}

static inline uint32_t prmt_b4e(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t n = c & 3, s = n | ((n + 7) & 7) << 4 | ((n + 6) & 7) << 8 | ((n + 5) & 7) << 12;
    return prmt(a, b, s);
}

static inline uint32_t prmt_rc8(uint32_t a, uint32_t b, uint32_t c) {
    (void)b;
    return (a >> 8 * (c & 3) & 0xff) * 0x01010101u;
}

static inline uint32_t prmt_ecl(uint32_t a, uint32_t b, uint32_t c) {
    static const uint16_t selectors[] = {0x3210, 0x3211, 0x3222, 0x3333};
    return prmt(a, b, selectors[c & 3]);
}

static inline uint32_t prmt_ecr(uint32_t a, uint32_t b, uint32_t c) {
    static const uint16_t selectors[] = {0x0000, 0x1110, 0x2210, 0x3210};
    return prmt(a, b, selectors[c & 3]);
}

static inline uint32_t prmt_rc16(uint32_t a, uint32_t b, uint32_t c) {
    (void)b;
    return (a >> (c & 1 ? 16 : 0) & 0xffff) * 0x00010001u;
}

static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t result = 0;
    result |= table & 0x01 ? ~a & ~b & ~c : 0;
    result |= table & 0x02 ? ~a & ~b & c : 0;
    result |= table & 0x04 ? ~a & b & ~c : 0;
    result |= table & 0x08 ? ~a & b & c : 0;
    result |= table & 0x10 ? a & ~b & ~c : 0;
    result |= table & 0x20 ? a & ~b & c : 0;
    result |= table & 0x40 ? a & b & ~c : 0;
    result |= table & 0x80 ? a & b & c : 0;
    return result;
}

static inline uint32_t funnel(uint32_t low, uint32_t high, uint32_t by) {
    return (uint32_t)((low | (uint64_t)high << 32) >> by);
}

static inline uint32_t shf_r_clamp(uint32_t a, uint32_t b, uint32_t c) {
    return funnel(a, b, c < 32 ? c : 32);
}

/* Shifts of 32 bits, which compilers make vector instructions of; 32 of them are 1 and 31. */
static inline uint32_t shf_r_wrap(uint32_t a, uint32_t b, uint32_t c) {
    return a >> (c & 31) | b << 1 << (31 - (c & 31));
}

static inline uint32_t shf_l_clamp(uint32_t a, uint32_t b, uint32_t c) {
    return funnel(a, b, 32 - (c < 32 ? c : 32));
}

static inline uint32_t shf_l_wrap(uint32_t a, uint32_t b, uint32_t c) {
    return b << (c & 31) | a >> 1 >> (31 - (c & 31));
}

/* ---- sums of products ---- */

#define DOT(left, right, a_lane, a_wide_lane, b_lane)                                              \
    static inline int32_t dp4a_##left##_##right(uint32_t a, uint32_t b, int32_t c) {               \
        uint32_t sum = (uint32_t)c;                                                                \
        for (unsigned n = 0; n < 32; n += 8)                                                       \
            sum += (uint32_t)((int32_t)(a_lane)(a >> n) * (int32_t)(b_lane)(b >> n));              \
        return (int32_t)sum;                                                                       \
    }                                                                                              \
    static inline int32_t dp2a_##left##_##right(uint32_t a, uint32_t b, int32_t c) {               \
        uint32_t sum = (uint32_t)c;                                                                \
        for (unsigned n = 0; n < 2; n++)                                                           \
            sum +=                                                                                 \
                (uint32_t)((int32_t)(a_wide_lane)(a >> 16 * n) * (int32_t)(b_lane)(b >> 8 * n));   \
        return (int32_t)sum;                                                                       \
    }
DOT(u32, u32, uint8_t, uint16_t, uint8_t)
DOT(u32, s32, uint8_t, uint16_t, int8_t)
DOT(s32, u32, int8_t, int16_t, uint8_t)
DOT(s32, s32, int8_t, int16_t, int8_t)
#undef DOT

#endif
