/* The names of library files. */
#ifndef ACU_LOADER_SONAME_H
#define ACU_LOADER_SONAME_H

#include "core/abi.h"

/* Returns the last part of a path. */
const char *acu_soname_base(const char *path);
/*
 * Takes apart "libcudart.so", "libcudart.so.12", "libcudart.so.12.4.127" and the form that wheels
 * use, "libcudart-d0da41ae.so.11.0". `stem` is "libcudart". Sets the three numbers, -1 for each
 * that is missing. Returns the part from ".so" on, or NULL for any other name.
 */
const char *acu_soname_parse(const char *stem, const char *name, int numbers[3]);
/* Returns whether a file has one of the sonames as its name. */
bool acu_soname_is_name(const acu_library_info *info, const char *path);
/* Writes "libcudart.so.13, libcudart.so.12 or libcudart.so.11.0". */
void acu_soname_list(const acu_library_info *info, char *list, size_t size);
/* Returns whether a known version has the soname; `from_so` is its part from ".so" on. */
bool acu_soname_is_known(const acu_library_info *info, const char *from_so);

#endif
