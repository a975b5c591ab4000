/* PTX text, word by word. */
#ifndef ACU_SIM_PTX_TEXT_H
#define ACU_SIM_PTX_TEXT_H

#include "sim/ptx/ptx_module.h"

#include <string.h>

/*
 * The current word is a name with its dots ("ld.shared::cta.u32", "%tid.x", ".param"), a number, a
 * "string", or one or two characters. After the last word its length is 0.
 */
typedef struct ptx_text {
    const char *at, *end;
    const char *word;
    size_t length;
    ptx_place place;        /* of the word */
    ptx_place before;       /* of the end of the word before it */
    const char *end_before; /* where that is */
    const char *line_begin;
    unsigned line;
    bool is_open; /* the text ended within a comment */
} ptx_text;

void acu_ptx_text_begin(ptx_text *text, const char *at, size_t size);
/* Goes to the next word. */
void acu_ptx_text_next(ptx_text *text);
/* Goes to the beginning of the next line, whatever is in this one. */
void acu_ptx_text_skip_line(ptx_text *text);

/* Return whether the current word is this one; is a name; is a number. */
static inline bool acu_ptx_text_is(const ptx_text *text, const char *word) {
    return text->length == strlen(word) && memcmp(text->word, word, text->length) == 0;
}
bool acu_ptx_text_is_name(const ptx_text *text);
bool acu_ptx_text_is_number(const ptx_text *text);

#endif
