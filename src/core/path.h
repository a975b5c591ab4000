/* The way from a function to a field in its arguments, for messages: "nodeParams->kernel.ctx". */
#ifndef ACU_PATH_H
#define ACU_PATH_H

#include "core/abi.h"

/* One step of a path, to a parameter or a field. The steps are a chain on the stack, which becomes
 * text only when there is something to report. */
typedef struct acu_path {
    const struct acu_path *up; /* NULL: this step is to a parameter */
    const char *names;         /* of the record or function that this is a part of */
    size_t part;               /* its number among those names */
    bool pointer;              /* what follows is behind a pointer */
    bool indexed;              /* `index` is part of the text */
    size_t index;
} acu_path;

/* A text of bounded size; what does not fit is cut off. */
typedef struct acu_path_text {
    char *at;
    size_t size, used;
} acu_path_text;

acu_path acu_path_to_field(const acu_path *up, const acu_type *type, const acu_field *field);
void acu_path_append(acu_path_text *out, const acu_path *path);
void acu_path_append_text(acu_path_text *out, const char *piece);

#endif
