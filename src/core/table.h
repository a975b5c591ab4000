/* The tables of all functions; nothing else in the library may refer to this. */
#ifndef ACU_TABLE_H
#define ACU_TABLE_H

#include "core/abi.h"

/* Loads the library and binds the functions; returns acu_load()'s error. */
int acu_table_bind(acu_library *library, const acu_function *const *functions, size_t count);

#endif
