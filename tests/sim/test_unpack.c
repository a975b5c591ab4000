/* Unpacking: what others packed comes out again, and damage breaks nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

#include <cmocka.h>

#include "sim/code/bytes.h"

#define TEST(name) static void name(void **state __attribute__((unused)))

/* From a copy that ends where it ends, so that a sanitizer sees who reads on. */
static bool unpack(bool (*how)(acu_sim_bytes, unsigned char *, size_t), const void *from,
                   size_t size, unsigned char *to, size_t room) {
    unsigned char *copy = malloc(size ? size : 1), *out = malloc(room ? room : 1);
    memcpy(copy, from, size);
    bool good = how((acu_sim_bytes){copy, size}, out, room);
    memcpy(to, out, good ? room : 0);
    free(copy);
    free(out);
    return good;
}

static size_t make_text(char *to) {
    size_t used = 0;
    unsigned random = 7;
    for (int i = 0; i < 40; i++) {
        random = random * 1103515245 + 12345;
        used += (size_t)sprintf(to + used, "    add.s%d  %%r%d, %%r%d, %u;\n", i % 3 ? 32 : 64, i,
                                i / 2, random >> 16);
    }
    return used;
}

/* That text as libzstd packs it: with its own tables, four streams and repeated offsets. */
static const unsigned char packed_text[] = {
    0x28, 0xb5, 0x2f, 0xfd, 0x60, 0xdd, 0x03, 0x35, 0x09, 0x00, 0x66, 0x52, 0x29, 0x12, 0xb0, 0x57,
    0xda, 0xb8, 0x02, 0x0c, 0xb6, 0xdc, 0xbd, 0xb9, 0x65, 0x4a, 0xb1, 0xb5, 0xf3, 0x0a, 0x09, 0x10,
    0x27, 0x00, 0x21, 0x00, 0x22, 0x00, 0xf7, 0x1c, 0xd9, 0x55, 0x98, 0x5c, 0xb1, 0x2c, 0x75, 0xdc,
    0xe6, 0x89, 0xa6, 0x3a, 0x66, 0xea, 0xad, 0xed, 0x26, 0x8c, 0x5e, 0xec, 0x58, 0x03, 0x0c, 0xd4,
    0x2e, 0x85, 0x18, 0x04, 0x84, 0x30, 0x3f, 0x10, 0x28, 0x28, 0x20, 0x08, 0x01, 0x21, 0x94, 0xb6,
    0x32, 0x67, 0x3c, 0x52, 0x88, 0xb3, 0xa1, 0xbb, 0x45, 0xc6, 0x61, 0x08, 0x3b, 0x4b, 0x45, 0xb2,
    0x63, 0x3a, 0x37, 0x32, 0xfd, 0x6b, 0x94, 0x34, 0x8d, 0x68, 0x96, 0x0c, 0x21, 0x2d, 0x13, 0x82,
    0xc4, 0x56, 0x56, 0x73, 0x9d, 0x1e, 0x85, 0x18, 0xeb, 0x08, 0xa9, 0xce, 0xa7, 0x43, 0xf8, 0xd3,
    0x0f, 0x89, 0x97, 0xce, 0x3b, 0xbd, 0xaf, 0x84, 0x42, 0xb0, 0xf5, 0x31, 0xb2, 0x52, 0xb1, 0x43,
    0x00, 0x03, 0xaf, 0xf7, 0xd7, 0xab, 0x4e, 0x88, 0x33, 0x91, 0xde, 0xe5, 0x92, 0x29, 0x84, 0x9d,
    0x6c, 0x27, 0xf2, 0xb8, 0x1a, 0xa2, 0xc6, 0xa8, 0x65, 0x9b, 0xf6, 0x86, 0x78, 0x85, 0x57, 0xd2,
    0x53, 0x0f, 0x53, 0xa8, 0x20, 0xd4, 0x09, 0x5d, 0xd8, 0xcc, 0x01, 0xd0, 0x32, 0x48, 0x28, 0x0f,
    0x20, 0x46, 0x21, 0x32, 0x89, 0xa7, 0x1e, 0x14, 0x1c, 0x94, 0xe1, 0x8a, 0x5c, 0x80, 0x6a, 0xa4,
    0x8f, 0x1e, 0x4c, 0x2f, 0x6a, 0xb9, 0xc1, 0x6a, 0x3d, 0x52, 0x17, 0x24, 0x62, 0x8a, 0xf1, 0x93,
    0x6e, 0x86, 0xd5, 0x44, 0x2b, 0x15, 0xc1, 0x1b, 0xe1, 0x9e, 0x87, 0xfa, 0x03, 0x37, 0xa1, 0x51,
    0x55, 0xea, 0x3e, 0xd0, 0xe8, 0xbc, 0x83, 0x54, 0x89, 0xc9, 0x2f, 0x27, 0xc1, 0x7e, 0x79, 0xf7,
    0x1b, 0x11, 0x6a, 0x23, 0xac, 0x3e, 0x1d, 0x5f, 0x66, 0x14, 0x6a, 0xc8, 0x63, 0x80, 0x0b, 0x42,
    0xe6, 0xba, 0x06, 0x0c, 0xfd, 0x23, 0xda, 0x8a, 0x85, 0x3a, 0xea, 0x1d, 0x3c, 0x11, 0x84, 0x86,
    0xc6, 0x71, 0x99, 0x18, 0x25, 0x68, 0x90, 0xce, 0x92, 0xdb, 0x80, 0xbc, 0x41, 0x08, 0xf0, 0x12,
};

TEST(a_text) {
    static char text[4096];
    static unsigned char out[4096];
    size_t size = make_text(text);
    assert_true(unpack(acu_sim_zstd_unpack, packed_text, sizeof packed_text, out, size));
    assert_memory_equal(out, text, size);
    assert_false(unpack(acu_sim_zstd_unpack, packed_text, sizeof packed_text, out, size - 1));
    assert_false(unpack(acu_sim_zstd_unpack, packed_text, sizeof packed_text, out, size + 1));
}

TEST(blocks_that_are_not_packed) {
    static const unsigned char plain[] = "\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello";
    static const unsigned char same[] = "\x28\xb5\x2f\xfd\x20\x07\x3b\0\0x";
    static const unsigned char both[] = "\x28\xb5\x2f\xfd\0\0\x28\0\0hello\x3b\0\0x";
    static const unsigned char nothing[] = "\x28\xb5\x2f\xfd\x20\0\x01\0\0";
    unsigned char out[16];
    assert_true(unpack(acu_sim_zstd_unpack, plain, sizeof plain - 1, out, 5));
    assert_memory_equal(out, "hello", 5);
    assert_true(unpack(acu_sim_zstd_unpack, same, sizeof same - 1, out, 7));
    assert_memory_equal(out, "xxxxxxx", 7);
    assert_true(unpack(acu_sim_zstd_unpack, both, sizeof both - 1, out, 12));
    assert_memory_equal(out, "helloxxxxxxx", 12);
    assert_true(unpack(acu_sim_zstd_unpack, nothing, sizeof nothing - 1, out, 0));
}

TEST(what_is_no_frame) {
    unsigned char out[16];
    assert_false(unpack(acu_sim_zstd_unpack, "", 0, out, 0));
    assert_false(unpack(acu_sim_zstd_unpack, "\x28\xb5\x2f", 3, out, 0));
    assert_false(unpack(acu_sim_zstd_unpack, "PK\3\4\0\0\0\0\0", 9, out, 0));
    assert_false(
        unpack(acu_sim_zstd_unpack, "\x28\xb5\x2f\xfd\x21\x05\1\x29\0\0hello", 15, out, 5));
    assert_false(unpack(acu_sim_zstd_unpack, "\x28\xb5\x2f\xfd\x20\x05\x2f\0\0hello", 14, out, 5));
}

TEST(lz4) {
    static const unsigned char packed[] = "\x54hello\5\0\x50world"; /* its first 5 again, then 3 */
    unsigned char out[32];
    assert_true(unpack(acu_sim_lz4_unpack, packed, sizeof packed - 1, out, 18));
    assert_memory_equal(out, "hellohellohelworld", 18);
    assert_false(unpack(acu_sim_lz4_unpack, packed, sizeof packed - 1, out, 17));
    assert_false(unpack(acu_sim_lz4_unpack, packed, sizeof packed - 1, out, 19));
    assert_false(
        unpack(acu_sim_lz4_unpack, "\x50hello\6\0\x50world", 13, out, 18)); /* before it all */
    assert_false(unpack(acu_sim_lz4_unpack, "\x50hello\0\0\x50world", 13, out, 18));
    assert_false(unpack(acu_sim_lz4_unpack, "\xf0\xff\xff", 3, out, 18));
}

static unsigned next(unsigned *random) {
    *random = *random * 1103515245 + 12345;
    return *random >> 8;
}

static void damage(bool (*how)(acu_sim_bytes, unsigned char *, size_t), const unsigned char *good,
                   size_t size, size_t unpacked, int rounds) {
    unsigned char *bad = malloc(size), *out = malloc(unpacked);
    unsigned random = 1;
    for (int round = 0; round < rounds; round++) {
        memcpy(bad, good, size);
        for (int i = 0; i <= round % 3; i++)
            bad[next(&random) % size] ^= (unsigned char)(1U << next(&random) % 8);
        if (round % 2)
            bad[next(&random) % size] = (unsigned char)next(&random);
        (void)unpack(how, bad, round % 5 ? size : next(&random) % size, out, unpacked);
    }
    free(bad);
    free(out);
}

TEST(damaged_frames) {
    static char text[4096];
    static const unsigned char packed[] = "\x54hello\5\0\x50world";
    damage(acu_sim_zstd_unpack, packed_text, sizeof packed_text, make_text(text), 3000);
    damage(acu_sim_lz4_unpack, packed, sizeof packed - 1, 18, 3000);
}

/* ---- against libzstd, where there is one ---- */

typedef size_t (*packer)(void *to, size_t room, const void *from, size_t size, int level);

static void there_and_back(packer pack, const unsigned char *text, size_t size) {
    size_t room = size + size / 8 + 1024;
    unsigned char *packed = malloc(room), *out = malloc(size + 1);
    for (int level = -5; level <= 19; level += 3) {
        size_t length = pack(packed, room, text, size, level);
        assert_true(length <= room);
        assert_true(unpack(acu_sim_zstd_unpack, packed, length, out, size));
        assert_memory_equal(out, text, size);
        damage(acu_sim_zstd_unpack, packed, length, size + 1, 20);
    }
    free(packed);
    free(out);
}

TEST(what_libzstd_packs) {
    enum { SIZE = 140000 };
    void *library = dlopen("libzstd.so.1", RTLD_NOW);
    packer pack;
    *(void **)(void *)&pack = library ? dlsym(library, "ZSTD_compress") : NULL;
    if (!pack) {
        print_message("skipped: there is no libzstd.so.1\n");
        skip();
    }
    unsigned char *text = malloc(SIZE);
    unsigned random = 3;
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < SIZE; i++)
            text[i] = kind == 0   ? 0
                      : kind == 1 ? (unsigned char)next(&random)
                      : kind == 2 ? "etaoin shrdlu\n\t{}"[next(&random) % (1 + next(&random) % 17)]
                      : i < 500   ? (unsigned char)(next(&random) % 50)
                                  : text[i - 1 - (int)(next(&random) % 400 / 100 * 100)];
        there_and_back(pack, text, SIZE);
        there_and_back(pack, text, 1 + next(&random) % 2000);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text),           cmocka_unit_test(blocks_that_are_not_packed),
        cmocka_unit_test(what_is_no_frame), cmocka_unit_test(lz4),
        cmocka_unit_test(damaged_frames),   cmocka_unit_test(what_libzstd_packs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
