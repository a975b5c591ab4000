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

static void fill_power(uint32_t *pool) {
    static const double series[] = {EX2_SERIES};
    _Static_assert(sizeof series / sizeof *series == JIT_SERIES_LENGTH, "all of the series");
    fill_wide(pool, JIT_POWER, -160);
    fill_wide(pool, JIT_POWER + 64, 130);
    fill_wide(pool, JIT_POWER + 128, 0x1.8p52);
    for (unsigned n = 0; n < JIT_SERIES_LENGTH; n++)
        fill_wide(pool, JIT_SERIES + 64 * n, series[n]);
    fill_words(pool, JIT_NORMAL, 64, 0x00800000, 0);
    fill_words(pool, JIT_EXPONENT, 64, 0x7f800000, 0);
    fill_wide(pool, JIT_NAN_WIDE, float_of(0x7fffffff));
}

/* Fills in 64 bytes with an integer of 64 bits. */
static void fill_long(uint32_t *pool, unsigned at, uint64_t number) {
    fill_wide(pool, at, double_of(number));
}

static void fill_logarithm(uint32_t *pool) {
    fill_long(pool, JIT_LOG_FROM, LG2_BIAS - LG2_ROOT);
    fill_long(pool, JIT_LOG_BIAS, LG2_BIAS);
    fill_long(pool, JIT_LOG_WHOLE, UINT64_C(0x4330000000000000));
    fill_wide(pool, JIT_LOG_LESS, 0x1p52 + 1024);
    for (unsigned n = 0; n < JIT_LOG_LENGTH; n++)
        fill_wide(pool, JIT_LOG_SERIES + 64 * n, LG2_FACTOR(2 * (JIT_LOG_LENGTH - n) - 1));
    fill_words(pool, JIT_MINUS_INFINITE, 64, 0xff800000, 0);
}

static void fill_wave(uint32_t *pool) {
    double factorial = 1;
    fill_words(pool, JIT_WAVE_LIMIT, 64, 0x497fffff, 0); /* below 2^20 */
    fill_wide(pool, JIT_WAVE_INVERSE, 0.31830988618379067);
    fill_wide(pool, JIT_WAVE_PI, 0x1.921fb54442d18p1);
    fill_wide(pool, JIT_WAVE_PI + 64, 0x1.1a62633145c07p-53);
    for (unsigned n = 0; n < JIT_WAVE_LENGTH; n++) {
        factorial *= n ? 2 * n * (2 * n + 1) : 1;
        fill_wide(pool, JIT_WAVE_SERIES + 64 * (JIT_WAVE_LENGTH - 1 - n),
                  (n % 2 ? -1 : 1) / factorial);
    }
}

static void fill_tangent(uint32_t *pool) {
    static const double numbers[] = {-10, 10, 1.4426950408889634, 0x1.62e42fefa39efp-1,
                                     0x1.abc9e3b39803fp-56};
    double factorial = 1;
    for (unsigned n = 0; n < sizeof numbers / sizeof *numbers; n++)
        fill_wide(pool, JIT_TANGENT + 64 * n, numbers[n]);
    for (unsigned n = 0; n < JIT_TANGENT_LENGTH; n++) {
        factorial *= n + 1;
        fill_wide(pool, JIT_TANGENT_SERIES + 64 * (JIT_TANGENT_LENGTH - 1 - n), 1 / factorial);
    }
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
    fill_wide(pool, JIT_ROOT_5, 0.3125);
    fill_wide(pool, JIT_ROOT_3, 0.375);
    fill_wide(pool, JIT_ROOT_1, 0.5);
    fill_power(pool);
    fill_logarithm(pool);
    fill_wave(pool);
    fill_tangent(pool);
    for (unsigned n = 0; n < 16; n++)
        pool[JIT_ODD / 4 + n] = (UINT32_C(1) << n) - 1;
    acu_x86_bytes(&m->x, pool, sizeof pool);
}
