/* Fills with elements of every size. */
#include "suite.h"

static void fill_bytes(uint8_t *at, size_t bytes, const uint8_t *element, size_t size) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = element[i % size];
}

/* At every position modulo 4, with every cut end. */
CASE_FOR(elements_of, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16) {
    enum { ROOM = 80 };
    uint8_t *expected = some_bytes(ROOM), *element = some_bytes(n);
    acu_block *block = new_block_of(expected, ROOM);
    for (size_t at = 0; at < 4; at++)
        for (size_t bytes = 1; bytes <= 2 * n + 3; bytes += 1 + bytes / 5) {
            element[0]++;
            OK(acu_block_fill(client, block, at, bytes, element, n));
            fill_bytes(expected + at, bytes, element, n);
            HOLDS(block, expected, ROOM);
        }
}

CASE_FOR(a_large_fill_with_elements_of, 1, 2, 3, 4, 5, 8, 12, 16) {
    enum { SIZE = 500009 };
    uint8_t *expected = host_bytes(SIZE), *element = some_bytes(n);
    acu_block *block = new_block_of(expected, SIZE);
    OK(acu_block_fill(client, block, 5, SIZE - 7, element, n));
    fill_bytes(expected + 5, SIZE - 7, element, n);
    HOLDS(block, expected, SIZE);
}

CASE_FOR(elements_of_a_wrong_size, 0, 17, 32, 18446744073709551615u) {
    acu_block *block = new_block(100);
    uint8_t element[32] = {0};
    FAILS(acu_block_fill(client, block, 0, 100, element, n), ACU_ERROR_ARGUMENT, "acu_block_fill");
}

CASE(zeros) {
    uint8_t *expected = some_bytes(10001);
    acu_block *block = new_block_of(expected, 10001);
    OK(acu_block_fill(client, block, 1, 9999, "\0", 1));
    memset(expected + 1, 0, 9999);
    HOLDS(block, expected, 10001);
}

CASE(the_element_is_free_after_a_fill) {
    uint8_t element[16], expected[4096];
    acu_block *block = new_block(4096);
    memset(element, 3, 16);
    memset(expected, 3, 4096);
    OK(acu_block_fill(client, block, 0, 4096, element, 16));
    memset(element, 4, 16);
    HOLDS(block, expected, 4096);
}

CASE(fills_keep_their_order) {
    uint8_t expected[100];
    acu_block *block = new_block(100);
    for (uint8_t i = 0; i < 50; i++) {
        OK(acu_block_fill(client, block, i, (size_t)100 - 2 * i, &i, 1));
        memset(expected + i, i, (size_t)100 - 2 * i);
    }
    HOLDS(block, expected, 100);
}

CASE(a_fill_that_is_shorter_than_its_element) {
    uint8_t *expected = some_bytes(40), *element = some_bytes(16);
    acu_block *block = new_block_of(expected, 40);
    OK(acu_block_fill(client, block, 7, 5, element, 16));
    memcpy(expected + 7, element, 5);
    HOLDS(block, expected, 40);
}

CASE(a_fill_by_another_client) {
    acu_client *second = new_client();
    uint8_t expected[64];
    acu_block *block = new_block(64);
    memset(expected, 9, 64);
    OK(acu_block_fill(second, block, 0, 64, "\x09", 1));
    HOLDS(block, expected, 64);
}

CASE(a_fill_needs_its_arguments) {
    acu_block *block = new_block(10);
    FAILS(acu_block_fill(NULL, block, 0, 1, "x", 1), ACU_ERROR_ARGUMENT, "acu_block_fill");
    FAILS(acu_block_fill(client, NULL, 0, 1, "x", 1), ACU_ERROR_ARGUMENT, "acu_block_fill");
    FAILS(acu_block_fill(client, block, 0, 1, NULL, 1), ACU_ERROR_ARGUMENT, "acu_block_fill");
}
