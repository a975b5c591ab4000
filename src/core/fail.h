/*
 * Failures of the safe layer. `call` is the function that the user called, a constant; `object`
 * describes what it was called on, "" if there is nothing to describe. Both functions record the
 * failure and return the code.
 */
#ifndef ACU_FAIL_H
#define ACU_FAIL_H

#include "core/record.h"

/* Fails because of misuse that the safe layer found. */
int acu_fail(const char *call, const char *object, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
int acu_vfail(const char *call, const char *object, int code, const char *format, va_list args)
    __attribute__((format(printf, 4, 0), cold));

/* Fails because a call of CUDA, which is recorded already, failed with this code. */
int acu_cuda_failed(const char *call, const char *object, int code) ACU_COLD;

/* Gives the failure that is recorded next a better hint than its code's own. Call this directly
 * before what records the failure, because that shows the failure to the program's callback. */
void acu_fail_hint(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

#endif
