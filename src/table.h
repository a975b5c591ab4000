/* The tables of all functions; nothing else in the library may refer to this. */
#ifndef ACU_TABLE_H
#define ACU_TABLE_H

#include "internal.h"

/* Loads the library, binds the functions and writes their pointers to `table`, in their order. */
int acu_table_load(acu_library *library, const acu_function *const *functions, size_t count,
                   void *table);

#endif
