/* The reciprocals of all mantissas, as an H200 returned them (rcp.approx.ftz.f32, 2026-11-29), and
 * what has none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/memory/reciprocal.h"

#define TEST(name) static void name(void **state __attribute__((unused)))

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

TEST(all_mantissas) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, of words */
    for (uint32_t m = 0; m < 1u << 23; m++)
        hash = (hash ^ bits_of(acu_sim_reciprocal(float_of(0x3f800000 | m)))) *
               UINT64_C(0x100000001b3);
    assert_true(hash == UINT64_C(0xfa72a6c698274964));
}

TEST(exponents_and_signs) {
    const float third = acu_sim_reciprocal(3);
    for (int n = -125; n < 125; n++) {
        const float expected = ldexpf(third, -n);
        const float found = acu_sim_reciprocal(-ldexpf(3, n));
        assert_int_equal(bits_of(found), bits_of(expected < 0x1p-126f ? -0.0f : -expected));
    }
}

TEST(what_has_no_reciprocal) {
    assert_int_equal(bits_of(acu_sim_reciprocal(0)), 0x7f800000);
    assert_int_equal(bits_of(acu_sim_reciprocal(float_of(0x807fffff))), 0xff800000);
    assert_int_equal(bits_of(acu_sim_reciprocal(-INFINITY)), 0x80000000);
    assert_true(isnan(acu_sim_reciprocal(NAN)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_mantissas),
        cmocka_unit_test(exponents_and_signs),
        cmocka_unit_test(what_has_no_reciprocal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
