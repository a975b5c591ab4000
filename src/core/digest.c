/* SHA-256, as FIPS 180-4 defines it. */
#include "core/digest.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, unsigned by) {
    return word >> by | word << (32u - by);
}

/* Makes the 64 words of a block. */
static void expand(uint32_t w[64], const uint8_t block[64]) {
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24u | (uint32_t)block[4 * i + 1] << 16u |
               (uint32_t)block[4 * i + 2] << 8u | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3u) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10u);
    }
}

static void add_block(acu_digest *d, const uint8_t block[64]) {
    uint32_t w[64], s[8];
    expand(w, block);
    memcpy(s, d->state, sizeof s);
    for (size_t i = 0; i < 64; i++) {
        const uint32_t one = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        const uint32_t first = s[7] + one + ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
        const uint32_t zero = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        const uint32_t second = zero + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + second;
    }
    for (size_t i = 0; i < 8; i++)
        d->state[i] += s[i];
}

void acu_digest_begin(acu_digest *d) {
    *d = (acu_digest){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void acu_digest_add(acu_digest *d, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    while (size > 0) {
        const size_t at = (size_t)(d->bytes % 64), room = 64 - at, part = size < room ? size : room;
        memcpy(d->block + at, from, part);
        d->bytes += part;
        from += part;
        size -= part;
        if (part == room)
            add_block(d, d->block);
    }
}

void acu_digest_add_number(acu_digest *d, uint64_t number) {
    uint8_t bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(number >> (56u - 8u * (unsigned)i));
    acu_digest_add(d, bytes, sizeof bytes);
}

void acu_digest_add_sized(acu_digest *d, const void *bytes, size_t size) {
    acu_digest_add_number(d, size);
    acu_digest_add(d, bytes, size);
}

void acu_digest_add_text(acu_digest *d, const char *text) {
    acu_digest_add_sized(d, text ? text : "", text ? strlen(text) : 0);
}

void acu_digest_end(acu_digest *d, uint8_t out[ACU_DIGEST_BYTES]) {
    static const uint8_t padding[64] = {0x80};
    const uint64_t bits = d->bytes * 8;
    const size_t at = (size_t)(d->bytes % 64);
    acu_digest_add(d, padding, at < 56 ? 56 - at : 120 - at);
    acu_digest_add_number(d, bits);
    for (size_t i = 0; i < ACU_DIGEST_BYTES; i++)
        out[i] = (uint8_t)(d->state[i / 4] >> (24u - 8u * (unsigned)(i % 4)));
}
