/* The table of the runtime's errors in generated/src/errors.c. */
#ifndef ACU_CODES_H
#define ACU_CODES_H

#include <anycuda/status.h>

/* What one error is about: spec/errors.yaml. */
typedef struct acu_code_row {
    int number, kind;        /* an acu_error_kind */
    const char *text, *hint; /* "" if the code alone is not enough for a hint */
} acu_code_row;

extern const acu_code_row acu_codes[]; /* by number */
extern const size_t acu_code_count;

#endif
