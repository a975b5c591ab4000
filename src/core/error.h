/* The record of a thread's last failure. Nothing here allocates. */
#ifndef ACU_ERROR_H
#define ACU_ERROR_H

#include <anycuda/status.h>

#include "core/abi.h"

#include <stdarg.h>

enum { ACU_LOADED_SIZE = 700, ACU_OBJECT_TEXT = 160, ACU_SAVED_ERROR_SIZE = 1600 };

/* Records a failure that is no CUDA call's; returns the code. */
int acu_record(int code, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/*
 * Records the refusal of a call, in one sentence about it; returns the code. acu_explain leaves the
 * record as it is, and cudaGetLastError returns the code once.
 */
int acu_refuse_format(const acu_function *function, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* The reasons why a slot cannot be bound. */
int acu_refuse_missing_function(const acu_function *function);
int acu_refuse_missing_symbol(const acu_function *function, const char *symbol);
/* 0: another thread has loaded the library in the meantime. */
int acu_refuse_missing_library(const acu_function *function);

bool acu_function_has_quirk(const acu_function *function, unsigned quirk); /* an acu_quirk */

/* The result is an answer of this function: cudaErrorNotReady of a query. */
bool acu_function_is_answer(const acu_function *function, int result);

/* "libcudart 12.4 (/usr/lib/libcudart.so.12)"; with a verb between name and version if wanted. */
const char *acu_explain_loaded(const acu_library *library, const char *between,
                               char text[ACU_LOADED_SIZE]);

/* "cudaErrorInvalidValue", or "an unknown error". */
const char *acu_explain_code(const acu_library *library, int result);

/* Why CUDA says "driver version is insufficient", which it does also where there is no driver; and
 * why there is no device. */
void acu_explain_driver(const acu_library *library, char *why, size_t size);
void acu_explain_device(char *why, size_t size);

/*
 * The safe layer's failures. `call` is the function that the user called, a literal; `object`
 * describes what it was called on, "" if there is nothing to say. acu_cuda_failed: a CUDA call,
 * whose record stands already, failed on its behalf; acu_fail: the failure is found here. Both
 * return the code.
 */
int acu_cuda_failed(const char *call, const char *object, int code) ACU_COLD;
int acu_fail(const char *call, const char *object, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
int acu_vfail(const char *call, const char *object, int code, const char *format, va_list args)
    __attribute__((format(printf, 4, 0), cold));

/* What to do about the failure just recorded, where there is more to say than its code's own hint.
 */
void acu_fail_hint(const char *format, ...) __attribute__((format(printf, 1, 2), cold));
const char *acu_status_hint(int code); /* "" if there is none */

/*
 * Results of the driver and of NVRTC as the safe layer's own: success, or what is recorded of the
 * failure gets the other code, too.
 */
int acu_translate_driver_error(int result);
int acu_translate_nvrtc(int result);
static inline int acu_translate_driver(int result) {
    return ACU_LIKELY(result == 0) ? 0 : acu_translate_driver_error(result);
}
/* The last record's code becomes `to` if it was `from`; else there is no record of it yet. */
int acu_record_recode(int from, int to);

/* The failure just recorded happened while releasing. */
void acu_record_release_error(void);

/* A release must not hide why the program is cleaning up. */
typedef struct acu_saved_record {
    bool any;
    _Alignas(8) unsigned char bytes[ACU_SAVED_ERROR_SIZE];
} acu_saved_record;
void acu_record_save(acu_saved_record *saved);
void acu_record_restore(const acu_saved_record *saved);

/* A log as one line in `line`, which is returned; what is too long is cut off. */
const char *acu_record_one_line(const char *log, char *line, size_t size);

/* Adds to the message of the call that is failing now: "copy 3". */
void acu_record_note(const char *what, size_t index);

#endif
