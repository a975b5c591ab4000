/* Code as the bytes of a file. */
#ifndef ACU_SRC_CODE_FILE_H
#define ACU_SRC_CODE_FILE_H

#include "safe/kernel/code_cache.h"

/* Returns the bytes of a file for the code, which the caller frees; NULL without memory. */
char *acu_code_to_file(const acu_code_key *key, const acu_code *code, size_t *size);
/* Returns the code of a file, which the caller owns; NULL where the bytes are not those that were
 * written for this key, or without memory. */
acu_code *acu_code_from_file(const acu_code_key *key, const char *bytes, size_t size);

#endif
