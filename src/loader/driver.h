/* The installed driver: its version, and where its symbols come from. */
#ifndef ACU_LOADER_DRIVER_H
#define ACU_LOADER_DRIVER_H

#include "core/abi.h"

enum { ACU_DRIVER_SILENT = -1, ACU_DRIVER_NONE = 0 };

/* Returns the version that the installed driver supports, 13000; ACU_DRIVER_NONE: no driver is
 * installed; ACU_DRIVER_SILENT: the driver did not report it. Asks libcuda.so.1, or the library's
 * resolver or simulator where it has one. */
int acu_driver_version(const acu_library *library);
/* Returns whether libcuda.so.1 was asked already. */
bool acu_driver_was_asked(void);
void acu_driver_forget(void);

/* Returns the library that has the driver's symbols for a loaded library: a resolver or simulator
 * that stands in for a runtime has its driver's symbols, too. */
acu_library *acu_driver_of(acu_library *library);

#endif
