/*
 * Names that a program gives to streams, events and devices, for the lines that describe them.
 *
 * Errors are described with locks held, while another thread may set the name. So a name is a few
 * words, each of them atomic: no lock is taken and nothing is freed. A line that is written while
 * the name changes may have words of both.
 */
#ifndef ACU_SRC_NAME_H
#define ACU_SRC_NAME_H

#include "core/thread_name.h"
#include "safe/base/object.h"

enum { ACU_NAME_WORDS = ACU_NAME_SIZE / 8 };

/* A name with the zeros behind it; all zeros: none. */
typedef struct acu_name {
    uint64_t words[ACU_NAME_WORDS]; /* atomic */
} acu_name;

/* Sets the name, up to the length that is kept; what cannot be printed becomes a question mark. */
void acu_name_set(acu_name *name, const char *text);
/* Copies the name to `text`, and returns whether there is one. */
bool acu_name_get(const acu_name *name, char text[ACU_NAME_SIZE]) ACU_COLD;
/* Adds the name, if there is one, to the line that describes the object. */
void acu_describe_name(acu_description *description, const acu_name *name) ACU_COLD;

#endif
