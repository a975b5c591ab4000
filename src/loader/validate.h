/* Whether a file is a library that may be loaded. Each function that returns false has added the
 * reason to the search's trace. */
#ifndef ACU_LOADER_VALIDATE_H
#define ACU_LOADER_VALIDATE_H

#include "loader/candidate.h"
#include "loader/elf.h"

/* Checks what can be read from a file without executing it, and sets the candidate's soname, major
 * and rank. `wrong`: why the file cannot be read; NULL if it can. */
bool acu_validate_file(acu_search *s, acu_candidate *c, acu_elf *elf, const char *wrong);
/* Checks the symbols of the library once it is opened. */
bool acu_validate_opened(acu_search *s, const char *path);
bool acu_validate_version(acu_search *s, const char *path, int version);
/* Returns the version that an opened or replaced library reports; the version that its symbols show
 * if it reports none, or if that one is not to be asked. */
int acu_validate_ask_version(const acu_library *library, int major);

#endif
