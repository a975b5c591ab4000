/* The table of all functions of a library. Nothing else may refer to this file, because the table
 * keeps every function in the program. */
#ifndef ACU_TABLE_H
#define ACU_TABLE_H

#include "core/abi.h"

/* Loads the library and binds the functions; returns acu_load()'s result. */
int acu_table_bind(acu_library *library, const acu_function *const *functions, size_t count);

#endif
