/* What is read of PTX; and that nothing that is none breaks the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "safe/kernel/ptx.h"

/* From a copy without a zero at its end, so that a sanitizer sees who reads on. */
static acu_ptx read_copy(const char *text, size_t size) {
    acu_ptx ptx;
    char *copy = malloc(size ? size : 1);
    memcpy(copy, text, size);
    assert_true(acu_ptx_read(&ptx, copy, size));
    free(copy);
    return ptx;
}

static acu_ptx read_text(const char *text) {
    return read_copy(text, strlen(text));
}

static void is(const acu_ptx_entry *entry, size_t index, size_t offset, size_t size,
               acu_parameter_type type) {
    assert_true(entry && index < entry->count);
    assert_int_equal(entry->parameters[index].offset, offset);
    assert_int_equal(entry->parameters[index].size, size);
    assert_int_equal(entry->parameters[index].type, type);
}

static void kernels_and_their_parameters(void **state) {
    (void)state;
    acu_ptx ptx = read_text(
        "// .entry not_this(\n/* nor\n .entry this( */\n.version 8.0 .target sm_90\n"
        ".file 1 \"a .entry in a name\"\n"
        ".visible .entry first(.param .u8 a, .param .align 8 .b8 b[20],\n"
        "  .param .u16 c, .param .u64 .ptr .global .align 16 d, .param .f64 e) .maxntid 64\n"
        "{ ret; }\n.func helper(.param .u32 x) { ret; }\n"
        ".weak .entry _Z6second$1(\n\t.param .f32 _Z6second$1_param_0\n)\n{ ret; }\n"
        ".entry third { ret; }\n");
    assert_int_equal(ptx.count, 3);
    const acu_ptx_entry *first = acu_ptx_find(&ptx, "first");
    assert_true(first && first->known && first->count == 5);
    is(first, 0, 0, 1, ACU_PARAMETER_INTEGER);
    is(first, 1, 8, 20, ACU_PARAMETER_RECORD);
    is(first, 2, 28, 2, ACU_PARAMETER_INTEGER);
    is(first, 3, 32, 8, ACU_PARAMETER_POINTER);
    is(first, 4, 40, 8, ACU_PARAMETER_FLOAT);
    const acu_ptx_entry *second = acu_ptx_find(&ptx, "_Z6second$1");
    assert_true(second && second->known && second->count == 1);
    is(second, 0, 0, 4, ACU_PARAMETER_FLOAT);
    const acu_ptx_entry *third = acu_ptx_find(&ptx, "third");
    assert_true(third && third->known && third->count == 0);
    assert_null(acu_ptx_find(&ptx, "helper"));
    assert_null(acu_ptx_find(&ptx, "not_this"));
    acu_ptx_clear(&ptx);
}

static void what_is_not_understood_is_not_known(void **state) {
    (void)state;
    static const char *const odd[] = {
        ".entry k(.param .what a)",
        ".entry k(.param .u64 a",
        ".entry k(.param .align 3 .u32 a)",
        ".entry k(.param .b8 a[])",
        ".entry k(.param .b8 a[99999999999999999999])",
        ".entry k(.param .align .u32 a)",
        ".entry k(",
        ".entry k(,)",
        ".entry k(.param .b8 a[1048576][1048576])",
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        acu_ptx ptx = read_text(odd[i]);
        assert_int_equal(ptx.count, 1);
        if (ptx.entries[0].known)
            fail_msg("%s", odd[i]);
        acu_ptx_clear(&ptx);
    }
    static const char *const none[] = {"",   ".entry", ".entry (", "\"",
                                       "/*", "//",     "/",        ".entry \""};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        acu_ptx ptx = read_text(none[i]);
        assert_int_equal(ptx.count, 0);
        acu_ptx_clear(&ptx);
    }
}

/* Cut off anywhere, and with any byte changed. */
static void broken_text(void **state) {
    (void)state;
    static const char text[] = ".visible .entry first(.param .u8 a, .param .align 8 .b8 b[20],\n"
                               "  .param .u64 .ptr .global .align 16 d) /* x */ { ret; } // \"\n"
                               ".entry second(.param .f32 x) { ret; }\n";
    static const char bytes[] = "\0 ,()[]\"/*.1x\n\377";
    for (size_t size = 0; size < sizeof text; size++) {
        acu_ptx ptx = read_copy(text, size);
        acu_ptx_clear(&ptx);
    }
    for (size_t at = 0; at < sizeof text; at++)
        for (size_t b = 0; b < sizeof bytes; b++) {
            char changed[sizeof text];
            memcpy(changed, text, sizeof text);
            changed[at] = bytes[b];
            acu_ptx ptx = read_copy(changed, sizeof changed);
            acu_ptx_clear(&ptx);
        }
}

static void very_many(void **state) {
    (void)state;
    enum { MANY = 300 };
    char text[64 * MANY] = "";
    size_t used = 0;
    for (int i = 0; i < MANY; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ".entry k%d(.param .u32 a)\n", i);
    acu_ptx ptx = read_text(text);
    assert_int_equal(ptx.count, MANY);
    assert_non_null(acu_ptx_find(&ptx, "k299"));
    acu_ptx_clear(&ptx);
    assert_int_equal(ptx.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_and_their_parameters),
        cmocka_unit_test(what_is_not_understood_is_not_known),
        cmocka_unit_test(broken_text),
        cmocka_unit_test(very_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
