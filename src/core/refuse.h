/*
 * Refusals: calls that fail here, before the library is called.
 *
 * Each function records the failure with its reason and returns the code. acu_explain() leaves that
 * record as it is, and cudaGetLastError() returns the code once. A query of the last error, and a
 * code that is an answer of the function, are not recorded.
 */
#ifndef ACU_REFUSE_H
#define ACU_REFUSE_H

#include "core/abi.h"

/* Refuses with any code and reason. */
int acu_refuse(const acu_function *function, int code, const char *why);
/* Refuses with an error that a test asked for. */
int acu_refuse_injected(const acu_function *function, int code, const char *why);
/* Refuses a parameter, field or value, "nodeParams->kernel.ctx", that the loaded library lacks.
 * `since` is the first version that has it, 0 if it was removed. */
int acu_refuse_newer(const acu_function *function, const char *what, int since);
/* Refuses an invalid parameter or field: `why` is "must be zero". */
int acu_refuse_invalid(const acu_function *function, const char *what, const char *why);

/* Refuses a function that the loaded version does not have. */
int acu_refuse_missing_function(const acu_function *function);
/* Refuses a function whose symbol the loaded library does not export, although it should. */
int acu_refuse_missing_symbol(const acu_function *function, const char *symbol);
/* Refuses a function because no library is loaded. Returns 0, and records nothing, if another
 * thread has loaded the library in the meantime. */
int acu_refuse_missing_library(const acu_function *function);

#endif
