/* Bytes of code: of which form they are, whether they are whole, and files of them. */
#ifndef ACU_SRC_CODE_BYTES_H
#define ACU_SRC_CODE_BYTES_H

#include <anycuda/code.h>

enum { ACU_CODE_FORMS = ACU_CODE_ARCHIVE + 1 };

/* Returns the form by the first bytes; what begins with none of the known ones counts as text. */
acu_code_form acu_code_form_of(const void *bytes, size_t size);

/* Checks that the bytes are whole, because CUDA does not get their size; text ends with a zero.
 * Returns 0, or a failure recorded for `call`. */
int acu_code_check(const char *call, const void *bytes, size_t size);

/* Returns a copy that ends with a zero, which the caller frees; NULL without memory. */
char *acu_code_copy(const void *bytes, size_t size);

/* Reads a file into memory that the caller frees, with a zero at the end. Returns NULL where that
 * fails, with *why the error of the system, or 0 without memory; `why` may be NULL. */
char *acu_code_read(const char *path, size_t *size, int *why);
/* Reads a file into memory that the caller frees, with a zero at the end. Returns 0, or a failure
 * recorded for `call`. */
int acu_code_read_file(const char *call, const char *path, char **bytes, size_t *size);

#endif
