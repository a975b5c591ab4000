/* SHA-256, by which what lies in files is recognised. */
#ifndef ACU_DIGEST_H
#define ACU_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { ACU_DIGEST_BYTES = 32 };

typedef struct acu_digest {
    uint32_t state[8];
    uint64_t bytes;    /* so many were added */
    uint8_t block[64]; /* those of them that do not fill a block yet */
} acu_digest;

void acu_digest_begin(acu_digest *digest);
void acu_digest_add(acu_digest *digest, const void *bytes, size_t size);
/* Adds a number, and bytes with their size before them, so that no two lists of such are alike. */
void acu_digest_add_number(acu_digest *digest, uint64_t number);
void acu_digest_add_sized(acu_digest *digest, const void *bytes, size_t size);
/* Adds a text as its bytes with their size; NULL counts as "". */
void acu_digest_add_text(acu_digest *digest, const char *text);
void acu_digest_end(acu_digest *digest, uint8_t out[ACU_DIGEST_BYTES]);

#endif
