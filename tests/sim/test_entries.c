/* The tables of symbols: each row is found by its symbol, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim/entry/entries.h"

static void each_is_found(const acu_sim_api_entry *entries, size_t count) {
    assert_true(count > 300);
    for (size_t i = 0; i < count; i++) {
        char longer[128];
        snprintf(longer, sizeof longer, "%s_", entries[i].symbol);
        assert_true(entries[i].entry != NULL);
        assert_true(acu_sim_entries_find(entries, count, entries[i].symbol) == entries[i].entry);
        assert_true(acu_sim_entries_find(entries, count, longer) == NULL);
    }
    assert_true(acu_sim_entries_find(entries, count, "") == NULL);
    assert_true(acu_sim_entries_find(entries, count, "zero") == NULL);
}

static void of_the_runtime(void **state) {
    (void)state;
    each_is_found(acu_sim_cudart_entries, acu_sim_cudart_entry_count);
}

static void of_the_driver(void **state) {
    (void)state;
    each_is_found(acu_sim_cuda_entries, acu_sim_cuda_entry_count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_runtime),
        cmocka_unit_test(of_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
