/* Linking code, by nvJitLink or by the driver. */
#ifndef ACU_SRC_CODE_LINK_H
#define ACU_SRC_CODE_LINK_H

#include "core/record.h"
#include "core/translate.h"
#include "safe/kernel/code.h"

/* The image with which a part takes part in linking. */
typedef struct acu_link_part {
    acu_code_form form;
    const acu_code_bytes *bytes;
    const char *name; /* in messages */
} acu_link_part;

/* What is linked, and how. */
typedef struct acu_link {
    const char *call;
    acu_device device;
    acu_link_part *parts;
    size_t count;
    const acu_code_link_options *options;
    char architecture[32]; /* an option of nvJitLink; "" if the caller's options have one */
    acu_code *code;        /* the result, which has names already */
} acu_link;

/* Translates a failure of nvJitLink; its record is given the new code, too. */
static inline int acu_translate_nvjitlink(int result) {
    return acu_record_recode(result, acu_translate_result(&acu_nvjitlink, result));
}

/* Return 0, or a failure that is recorded, but not yet for the public function. The log is kept in
 * the code and for the thread. */
int acu_link_by_nvjitlink(acu_link *link);
int acu_link_by_driver(acu_link *link);

/* Adds the linker's log to the failure that was just recorded, or keeps it in the code; the text is
 * taken over, and may be NULL. Returns the code. */
int acu_link_take_log(acu_link *link, char *log, int code);

#endif
