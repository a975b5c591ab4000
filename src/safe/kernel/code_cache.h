/* The cache of compiled code, as the compiler and the linker use it. */
#ifndef ACU_SRC_CODE_CACHE_H
#define ACU_SRC_CODE_CACHE_H

#include <anycuda/code_cache.h>

#include "core/digest.h"
#include "safe/kernel/code.h"

#include <anycuda/load.h>

extern ACU_OURS const acu_class acu_code_cache_class;

/* By what code is found. */
typedef struct acu_code_key {
    uint8_t bytes[ACU_DIGEST_BYTES];
} acu_code_key;

/* Finds the cache to use: the one that is given, that of ANYCUDA_CODE_CACHE, or none, NULL, which
 * is no failure. Returns 0, or a failure recorded for `call`. The caller is an owner of the cache.
 */
int acu_code_cache_choose(const char *call, acu_code_cache *given, acu_code_cache **cache);

/* Begins a key with what a library is: its version, and the size and time of its file. */
void acu_code_key_begin(acu_digest *digest, const char *what, acu_library_id library);

/* Adds all that decides what NVRTC makes of a program, with the architecture as an option. Returns
 * false where that is not known, because the source includes what no text names, or an option reads
 * or writes other files. */
bool acu_code_key_add_program(acu_digest *digest, const acu_module_program *program,
                              const char *architecture);

/* Counts a lookup that was not made. */
void acu_code_cache_skip(acu_code_cache *cache);
/* Returns code that the caller owns; NULL where there is none, with nothing recorded. */
acu_code *acu_code_cache_find(acu_code_cache *cache, const acu_code_key *key);
/* Writes code, where that is possible, and removes what there is no room for. */
void acu_code_cache_store(acu_code_cache *cache, const acu_code_key *key, const acu_code *code);

#endif
