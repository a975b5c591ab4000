/*
 * Structs whose layout differs between versions: checks and conversions that generated adapters
 * call. `tag` is the argument that selects the union's member, or 0.
 */
#ifndef ACU_ADAPT_H
#define ACU_ADAPT_H

#include "core/abi.h"

/*
 * Rule 1, for structs whose older layouts are a prefix of the presented one: the library is given
 * the caller's own struct.
 */

/* Refuses newer fields in use and reserved space that is not zero. Returns 0 if the loaded library
 * can take the `count` records, else the recorded code. */
int acu_adapt_check(const acu_function *function, unsigned param, const void *record, size_t count,
                    int tag);
/* Gives the fields which the loaded library did not write their defaults. */
void acu_adapt_fill(const acu_function *function, unsigned param, void *record, size_t count,
                    int tag);

/*
 * Rule 2, for all other structs: the library is given a temporary of the loaded layout, and the
 * fields are copied one by one.
 */

/* Checks like acu_adapt_check, then copies into the temporary; returns 0 or the recorded code. */
int acu_adapt_to_loaded(const acu_function *function, unsigned param, void *loaded,
                        const void *presented, int tag);
/* Copies out of the temporary, then fills like acu_adapt_fill. */
void acu_adapt_from_loaded(const acu_function *function, unsigned param, void *presented,
                           const void *loaded, int tag);

/* Returns whether the layout of this version lacks a field that the presented one has. */
bool acu_adapt_lacks(const acu_type *type, const acu_field *field, int version);

#endif
