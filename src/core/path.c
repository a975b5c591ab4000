#include "core/path.h"

#include "core/values.h"

#include <stdio.h>

acu_path acu_path_to_field(const acu_path *up, const acu_type *type, const acu_field *field) {
    return (acu_path){.up = up, .names = type->name, .part = (size_t)(field - type->fields)};
}

void acu_path_append_text(acu_path_text *out, const char *piece) {
    while (*piece && out->used + 1 < out->size)
        out->at[out->used++] = *piece++;
    out->at[out->used] = '\0';
}

void acu_path_append(acu_path_text *out, const acu_path *path) {
    if (path->up) {
        acu_path_append(out, path->up);
        acu_path_append_text(out, path->up->pointer && !path->up->indexed ? "->" : ".");
    }
    acu_path_append_text(out, acu_part_name(path->names, path->part));
    if (path->indexed) {
        char index[24];
        snprintf(index, sizeof index, "[%zu]", path->index);
        acu_path_append_text(out, index);
    }
}
