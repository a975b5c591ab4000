/* The core: runtimes, places and clients, by a back end that is made up. */
#include "core_test.h"

static acu_place place;

static int setup(void **state) {
    (void)state;
    made_up_reset();
    return 0;
}

/* ---- a first look ---- */

static void writes_and_reads(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 100, 7);
    ACU_AUTO(acu_block) *other = new_block(client, 100, 9);
    OK(acu_block_copy(client, other, 10, block, 0, 5));
    assert_int_equal(byte_at(client, other, 9), 9);
    assert_int_equal(byte_at(client, other, 10), 7);
    assert_int_equal(byte_at(client, other, 14), 7);
    assert_int_equal(byte_at(client, other, 15), 9);
    OK(acu_client_synchronize(client));
}

static void a_cpu_is_in_every_program(void **state) {
    (void)state;
    acu_place_info info;
    OK(acu_place_get_info(acu_place_cpu(), &info));
    ACU_AUTO(acu_client) *client = NULL;
    OK(acu_client_get_default(acu_place_cpu(), &client));
    ACU_AUTO(acu_block) *block = new_block(client, 1000, 3);
    assert_int_equal(byte_at(client, block, 999), 3);
}

int main(void) {
    place = made_up_register(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(writes_and_reads, setup),
        cmocka_unit_test_setup(a_cpu_is_in_every_program, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
