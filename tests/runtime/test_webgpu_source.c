/* What a WGSL text says of its work groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/webgpu/webgpu.h"

static void expect(const char *text, const char *entry, uint32_t x, uint32_t y, uint32_t z) {
    uint32_t size[3] = {7, 7, 7};
    assert_true(acu_webgpu_group_size(text, entry, size));
    if (size[0] != x || size[1] != y || size[2] != z)
        fail_msg("\"%s\": %u, %u, %u", text, size[0], size[1], size[2]);
}

static void literals(void **state) {
    (void)state;
    expect("@compute @workgroup_size(64) fn main() {}", "main", 64, 1, 1);
    expect("@workgroup_size(8, 4u, 2i)@compute fn f(){}", "f", 8, 4, 2);
    expect("@workgroup_size ( 0x10 ,\n 3 , ) @compute\nfn f(){}", "f", 16, 3, 1);
    expect("@compute @workgroup_size(1,2) fn f(@builtin(x) a: u32) {} fn g() {}", "f", 1, 2, 1);
}

static void the_right_function(void **state) {
    static const char text[] = "fn helper(a: u32) -> u32 { return a; }\n"
                               "@compute @workgroup_size(32) fn first() { helper(1u); }\n"
                               "@compute @workgroup_size(16, 16) fn second() {}\n";
    uint32_t size[3];
    (void)state;
    expect(text, "first", 32, 1, 1);
    expect(text, "second", 16, 16, 1);
    expect(text, "helper", 0, 0, 0);
    assert_false(acu_webgpu_group_size(text, "third", size));
    assert_false(acu_webgpu_group_size(text, "fir", size));
    assert_false(acu_webgpu_group_size("", "main", size));
}

static void comments(void **state) {
    (void)state;
    expect("@workgroup_size(64) // @workgroup_size(1)\nfn main() {}", "main", 64, 1, 1);
    expect("@workgroup_size(/* 1, /* 2 */ */ 4) /* fn main() */ fn main() {}", "main", 4, 1, 1);
    expect("// fn main() {}\n@workgroup_size(5) fn main() {}", "main", 5, 1, 1);
}

static void constants(void **state) {
    (void)state;
    expect("const N = 128; @workgroup_size(N) fn f() {}", "f", 128, 1, 1);
    expect("@workgroup_size(N, M) fn f() {} const M: u32 = N; const N : u32 = 4u;", "f", 4, 4, 1);
    expect("override N: u32 = 32; @workgroup_size(N) fn f() {}", "f", 32, 1, 1);
    expect("override N: u32; @workgroup_size(N) fn f() {}", "f", 0, 1, 1);
    expect("const N = N; @workgroup_size(N) fn f() {}", "f", 0, 1, 1);
    expect("const N = 4; @workgroup_size(N * 2) fn f() {}", "f", 0, 1, 1);
    expect("const N = 4 + 4; @workgroup_size(N) fn f() {}", "f", 0, 1, 1);
    expect("@workgroup_size(max(2, 4), 3) fn f() {}", "f", 0, 3, 1);
}

/* The compiler says what is wrong with these; here they must only end. */
static void nonsense(void **state) {
    static const char *const texts[] = {"@workgroup_size",
                                        "@workgroup_size(",
                                        "@workgroup_size(1",
                                        "/*",
                                        "/* /* */",
                                        "@workgroup_size()",
                                        "fn",
                                        "@workgroup_size(,",
                                        "const N",
                                        "@workgroup_size(99999999999999999999) fn"};
    uint32_t size[3];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(acu_webgpu_group_size(texts[i], "main", size));
    expect("@workgroup_size(1, 2, 3, 4) fn f() {}", "f", 1, 2, 3);
    expect("@workgroup_size() fn f() {}", "f", 1, 1, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals), cmocka_unit_test(the_right_function),
        cmocka_unit_test(comments), cmocka_unit_test(constants),
        cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests_name("webgpu_source", tests, NULL, NULL);
}
