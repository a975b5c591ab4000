/* .ftz of f16. */
#include "ptx_test.h"

#include <math.h>
#include <stdbool.h>

/* Three numbers in two words; the words then have what mul and fma give, alone and in a pair. */
static const char flushes_f16[] =
    HEAD ".entry k(.param .u64 p) {\n.reg .b64 %d<3>; .reg .b32 %r<9>; .reg .b16 %h<9>;\n"
         "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
         "mad.lo.u32 %r1, %r2, 256, %r1;\nmul.wide.u32 %d2, %r1, 8;\nadd.u64 %d1, %d1, %d2;\n"
         "ld.global.v2.b32 {%r1, %r2}, [%d1];\nmov.b32 {%h1, %h2}, %r1;\n"
         "mov.b32 {%h3, %h4}, %r2;\nmul.rn.ftz.f16 %h5, %h1, %h2;\n"
         "fma.rn.ftz.f16 %h6, %h1, %h2, %h3;\nmov.b32 %r1, {%h5, %h6};\n"
         "mov.b32 %r3, {%h1, %h1};\nmov.b32 %r4, {%h2, %h2};\nmov.b32 %r5, {%h3, %h3};\n"
         "fma.rn.ftz.f16x2 %r2, %r3, %r4, %r5;\nst.global.v2.b32 [%d1], {%r1, %r2};\nret;\n}\n";

enum { TRIPLES = 20 * 256 };

static double value_of_f16(uint16_t bits) {
    const double size = ldexp((bits & 0x3ff) + 1024, (bits >> 10 & 31) - 25);
    return bits & 0x8000 ? -size : size;
}

/* Returns what is flushed of a number little smaller than the smallest normal one: that is rounded
 * to 11 bits as if exponents had no end. */
static uint16_t flushed_f16(double exact) {
    int exponent;
    const double part = frexp(fabs(exact), &exponent);
    const double rounded = ldexp(nearbyint(ldexp(part, 11)), exponent - 11);
    return (uint16_t)((exact < 0 ? 0x8000 : 0) | (rounded < 0x1p-14 ? 0 : 0x400));
}

/* Makes a normal number with one of the first exponents. */
static uint16_t draw_f16(uint64_t *chance, unsigned exponents) {
    *chance = *chance * UINT64_C(6364136223846793005) + 1442695040888963407;
    const unsigned bits = (unsigned)(*chance >> 40);
    return (uint16_t)((bits & 0x83ff) | (1 + (bits >> 16) % exponents) << 10);
}

/* Makes numbers whose product, or with a third one whose sum with the product, is little smaller
 * than the smallest normal number. Returns what it is. */
static double draw_triple(uint64_t *chance, uint16_t *numbers, bool is_sum) {
    double exact;
    do {
        numbers[0] = draw_f16(chance, is_sum ? 11 : 14);
        numbers[1] = draw_f16(chance, is_sum ? 11 : 14);
        exact = value_of_f16(numbers[0]) * value_of_f16(numbers[1]);
        numbers[2] = is_sum ? draw_f16(chance, 3) : 0;
        exact += is_sum ? value_of_f16(numbers[2]) : 0;
    } while (fabs(exact) >= 0x1p-14 || fabs(exact) < 0x1p-14 * (1 - 0x1p-9));
    return exact;
}

/* An H200 agrees with flushed_f16() for all 159,688 such products, and 200 million such sums. */
TEST(what_is_rounded_to_the_smallest_normal_number) {
    static uint32_t words[2 * TRIPLES];
    static uint16_t expected[TRIPLES];
    uint64_t chance = 1;
    unsigned kept = 0;
    for (unsigned n = 0; n < TRIPLES; n++) {
        uint16_t numbers[3];
        expected[n] = flushed_f16(draw_triple(&chance, numbers, n % 2));
        words[2 * n] = numbers[0] | (uint32_t)numbers[1] << 16;
        words[2 * n + 1] = numbers[2];
        kept += (expected[n] & 0x7fff) != 0;
    }
    assert_in_range(kept, TRIPLES / 50, TRIPLES / 2);
    run(flushes_f16, TRIPLES / 256, 256, words, 2 * TRIPLES);
    for (unsigned n = 0; n < TRIPLES; n++) {
        if (n % 2 == 0)
            assert_int_equal(words[2 * n] & 0xffff, expected[n]);
        assert_int_equal(words[2 * n] >> 16, expected[n]);
        assert_int_equal(words[2 * n + 1], expected[n] * UINT32_C(0x10001));
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        C(what_is_rounded_to_the_smallest_normal_number),
    };
    return RUN(tests);
}
