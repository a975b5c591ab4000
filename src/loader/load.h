/* Loading a library, once per process. */
#ifndef ACU_LOADER_LOAD_H
#define ACU_LOADER_LOAD_H

#include "loader/library.h"

/* Loads the library if that was not tried yet, as its first use does; returns whether it is
 * loaded. */
bool acu_load_once(acu_library *library);
/* Returns a load's error in the runtime's numbers. */
int acu_load_code(const acu_library *library, int code);
/* Returns the end of a message, "; " and what to do; "" where the driver is not what is missing. */
const char *acu_load_driver_ending(bool missing);
/* Return what to do where there is no driver, and where the library cannot be loaded; the latter is
 * NULL if the hint of the code says it. */
const char *acu_load_driver_hint(void);
const char *acu_load_hint(const acu_library *library);
/* Writes why the last load failed; returns the code, 0 if it did not fail. */
int acu_load_why(acu_library *library, char *why, size_t size);
/* Returns a symbol, after acu_load_once(); NULL if the library or the symbol is missing. */
acu_fn acu_load_symbol(acu_library *library, const char *symbol);

/* Returns to the state in which the process began. Must be called only while no other thread uses
 * the libraries. */
void acu_load_reset_for_tests(void);

#endif
