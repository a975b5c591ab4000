/* The constants of machine code, which are in memory before it. */
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lane_float.h"

#include <string.h>

static void fill_words(uint32_t *pool, unsigned at, unsigned bytes, uint32_t first, uint32_t step) {
    for (unsigned n = 0; n < bytes / 4; n++)
        pool[at / 4 + n] = first + n * step;
}

/* Fills in 64 bytes. */
static void fill_wide(uint32_t *pool, unsigned at, double number) {
    for (unsigned n = 0; n < 8; n++)
        memcpy(&pool[at / 4 + 2 * n], &number, sizeof number);
}

/* Fills in 64 bytes with an integer of 64 bits. */
static void fill_long(uint32_t *pool, unsigned at, uint64_t number) {
    fill_wide(pool, at, double_of(number));
}

/* Fills in what approximations are computed with. */
static void fill_approximations(uint32_t *pool) {
    static const struct {
        unsigned at;
        float number;
    } floats[] = {{JIT_NORMAL, 0x1p-126f},
                  {JIT_2_M36, 0x1p-36f},
                  {JIT_2_M12, 0x1p-12f},
                  {JIT_2_M8, 0x1p-8f},
                  {JIT_QUARTER, 0.25f},
                  {JIT_HALF, 0.5f},
                  {JIT_8, 8},
                  {JIT_24, 24},
                  {JIT_2_12, 0x1p12f},
                  {JIT_2_23, 0x1p23f},
                  {JIT_2_24, 0x1p24f},
                  {JIT_2_25, 0x1p25f},
                  {JIT_2_126, 0x1p126f},
                  {JIT_POWER_LOW, -127},
                  {JIT_MINUS_126, -126},
                  {JIT_POWER_HIGH, 128},
                  {JIT_TURN, 0x1.45f306p-3f}};
    static const struct {
        unsigned at;
        uint32_t word;
    } words[] = {{JIT_EXPONENT, 0x7f800000},    {JIT_MINUS_INFINITE, 0xff800000},
                 {JIT_MANTISSA, 0x7fffff},      {JIT_ROWS_128, 0x7f0},
                 {JIT_ROWS_64, 0x3f0},          {JIT_BEHIND, 0x1ffff},
                 {JIT_SQUARE_HIGH, 0x7f007f00}, {JIT_SQUARE_LOW, 0x03fc03fc},
                 {JIT_ROOT_WHOLE, 0x7f000000},  {JIT_ROOT_4, 0x400},
                 {JIT_FIRST_KEY, 119 * 16},     {JIT_LAST_KEY, 130 * 16 - 1}};
    for (unsigned n = 0; n < sizeof floats / sizeof *floats; n++)
        fill_words(pool, floats[n].at, 64, bits_of(floats[n].number), 0);
    for (unsigned n = 0; n < sizeof words / sizeof *words; n++)
        fill_words(pool, words[n].at, 64, words[n].word, 0);
    for (unsigned n = 0; n < JIT_SQUARE_BITS; n++)
        fill_words(pool, JIT_SQUARE_BIT + 64 * n, 64, UINT32_C(0x01000100) << n, 0);
    for (unsigned n = 0; n < JIT_APPROXIMATIONS; n++)
        fill_words(pool, JIT_FIXES + 64 * n, 64, acu_jit_fixes[n], 0);
    fill_long(pool, JIT_UPPER_WIDE, UINT64_C(0xffffffff00000000));
    fill_long(pool, JIT_CUT, ~UINT64_C(0x1fffffff));
    fill_wide(pool, JIT_LOG_EXPONENT, 0x1p13);
}

void acu_jit_write_pool(ptx_making *m) {
    uint32_t pool[JIT_POOL_BYTES / 4] = {0};
    fill_words(pool, JIT_STEPS_4, 128, 0, 4);
    fill_words(pool, JIT_STEPS_8, 128, 0, 8);
    for (unsigned n = 0; n < PTX_LANES; n++) {
        pool[JIT_STEPS_4_WIDE / 4 + 2 * n] = 4 * n;
        pool[JIT_STEPS_8_WIDE / 4 + 2 * n] = 8 * n;
    }
    fill_words(pool, JIT_LANES, 128, 0, 1);
    fill_words(pool, JIT_NAN, 64, 0x7fffffff, 0);
    fill_words(pool, JIT_SIGN, 64, UINT32_C(1) << 31, 0);
    for (unsigned n = 0; n < PTX_LANES; n++)
        pool[JIT_BITS / 4 + n] = UINT32_C(1) << n;
    fill_words(pool, JIT_ONES, 64, UINT32_MAX, 0);
    fill_words(pool, JIT_ONE, 64, 0x3f800000, 0);
    fill_words(pool, JIT_ALL, 128, UINT32_MAX, 0);
    fill_words(pool, JIT_EVEN, 64, 0, 2);
    fill_words(pool, JIT_ODD_WORDS, 64, 1, 2);
    fill_words(pool, JIT_31, 64, 31, 0);
    fill_words(pool, JIT_32, 64, 32, 0);
    fill_words(pool, JIT_2_31, 64, 0x4f000000, 0);
    fill_words(pool, JIT_CONTROL, 16, 0x1f80, 0x2000);
    fill_words(pool, JIT_CONTROL + JIT_CONTROL_FLUSHES, 16, 0x9fc0, 0x2000);
    fill_words(pool, JIT_LOW_2, 64, 3, 0);
    fill_words(pool, JIT_SHORT, 64, 0xffff, 0);
    fill_words(pool, JIT_UPPER, 64, 0xffff0000, 0);
    fill_words(pool, JIT_NAN_UPPER, 64, 0x7fff0000, 0);
    fill_words(pool, JIT_BELOW_HALF, 64, 0x7fff, 0);
    fill_words(pool, JIT_ONE_WORD, 64, 1, 0);
    for (unsigned n = 0; n < 16; n++) {
        pool[JIT_SIGN_WIDE / 4 + n] = n % 2 ? UINT32_C(1) << 31 : 0;
        pool[JIT_SIZE_WIDE / 4 + n] = n % 2 ? INT32_MAX : UINT32_MAX;
    }
    fill_wide(pool, JIT_ONE_WIDE, 1);
    fill_wide(pool, JIT_MINUS_ONE_WIDE, -1);
    fill_wide(pool, JIT_NAN_WIDE, float_of(0x7fffffff));
    fill_approximations(pool);
    for (unsigned n = 0; n < 16; n++)
        pool[JIT_ODD / 4 + n] = (UINT32_C(1) << n) - 1;
    acu_x86_bytes(&m->x, pool, sizeof pool);
}
