/* The sentences that explain why a call of a CUDA library failed. */
#ifndef ACU_EXPLAIN_H
#define ACU_EXPLAIN_H

#include "core/abi.h"

/* Explains, on the cold path of a wrapper, a call that returned `result`, which is not zero.
 * Records what failed and why. Returns the result, or error_unavailable where the reason is an
 * enumerator newer than the library. */
int acu_explain(const acu_function *function, int result, const void *args);

/* Explains why CUDA reports "driver version is insufficient", which it also reports where there is
 * no driver. */
void acu_explain_driver(const acu_library *library, char *why, size_t size);
/* Explains why there is no device. */
void acu_explain_device(char *why, size_t size);
/* Returns "cudaErrorInvalidValue", or "an unknown error"; never NULL. */
const char *acu_explain_code(const acu_library *library, int result);

#endif
