/* SHA-256, compared with the examples of FIPS 180-4 and of NIST. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/digest.h"

static void is_digest(acu_digest *digest, const char *expected) {
    uint8_t bytes[ACU_DIGEST_BYTES];
    char text[2 * ACU_DIGEST_BYTES + 1];
    acu_digest_end(digest, bytes);
    for (size_t i = 0; i < ACU_DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    assert_string_equal(text, expected);
}

static void known_digests(void **state) {
    (void)state;
    static const struct {
        const char *text, *digest;
    } all[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        acu_digest digest;
        acu_digest_begin(&digest);
        acu_digest_add(&digest, all[i].text, strlen(all[i].text));
        is_digest(&digest, all[i].digest);
    }
}

/* Pieces of any size give what the whole does. */
static void a_million_letters(void **state) {
    (void)state;
    static const size_t pieces[] = {1, 63, 64, 65, 1000, 1000000};
    static char letters[1000000];
    memset(letters, 'a', sizeof letters);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        acu_digest digest;
        acu_digest_begin(&digest);
        for (size_t left = sizeof letters; left > 0;) {
            const size_t part = left < pieces[i] ? left : pieces[i];
            acu_digest_add(&digest, letters, part);
            left -= part;
        }
        is_digest(&digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
}

static void lists_do_not_run_together(void **state) {
    (void)state;
    static const char *const lists[][3] = {{"ab", "", ""}, {"a", "b", ""}, {"", "ab", ""}};
    uint8_t digests[3][ACU_DIGEST_BYTES];
    for (size_t i = 0; i < 3; i++) {
        acu_digest digest;
        acu_digest_begin(&digest);
        for (size_t j = 0; j < 3; j++)
            acu_digest_add_text(&digest, *lists[i][j] ? lists[i][j] : NULL);
        acu_digest_end(&digest, digests[i]);
    }
    assert_memory_not_equal(digests[0], digests[1], ACU_DIGEST_BYTES);
    assert_memory_not_equal(digests[1], digests[2], ACU_DIGEST_BYTES);
    assert_memory_not_equal(digests[0], digests[2], ACU_DIGEST_BYTES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_digests),
        cmocka_unit_test(a_million_letters),
        cmocka_unit_test(lists_do_not_run_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
