/* What the tests of the core have in common: the made-up back end, and a client of it. */
#ifndef CORE_TEST_H
#define CORE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <anycuda/object.h>
#include <anycuda/runtime.h>

#include "made_up.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Asserts that a call succeeds; prints why not. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        const acu_result ok_result = (call);                                                       \
        if (ok_result)                                                                             \
            print_message("%s\n", acu_last_error_message());                                       \
        assert_int_equal(ok_result, ACU_SUCCESS);                                                  \
    } while (0)

/* Asserts that a call fails with a code, and that the error names the function and has the words.
 */
#define FAILS(code, words, call)                                                                   \
    do {                                                                                           \
        assert_int_equal((call), (code));                                                          \
        if (!strstr(acu_last_error_message(), (words)))                                            \
            fail_msg("\"%s\" is not in: %s", (words), acu_last_error_message());                   \
        assert_int_equal(strncmp(acu_last_error_message(), #call, strcspn(#call, "(")), 0);        \
    } while (0)

/* Makes a client of the place, and a block of `bytes` bytes that hold `value`. */
static inline acu_client *new_client(acu_place place) {
    acu_client *client = NULL;
    OK(acu_client_create(place, NULL, &client));
    return client;
}

static inline acu_block *new_block(acu_client *client, uint64_t bytes, int value) {
    acu_block *block = NULL;
    unsigned char element = (unsigned char)value;
    OK(acu_block_create(client, bytes, &block));
    OK(acu_block_fill(client, block, 0, bytes, &element, 1));
    return block;
}

/* Returns the byte at a position, which `client` reads. */
static inline int byte_at(acu_client *client, acu_block *block, uint64_t at) {
    unsigned char byte = 0;
    OK(acu_block_read(client, block, at, &byte, 1));
    return byte;
}

#endif
