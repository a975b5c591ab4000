/* Names of things and of their parts, and which name a value has. */
#include "core/abi.h"

#include <string.h>

const char *acu_part_name(const char *names, size_t part) {
    for (size_t i = 0; i <= part; i++)
        names += strlen(names) + 1;
    return names;
}

const char *acu_value_name(const acu_type *type, int64_t value) {
    for (uint32_t i = 0; i < type->count; i++)
        if (acu_value_equal(type, type->values[i].value, value))
            return acu_part_name(type->name, i);
    return NULL;
}

const acu_value *acu_value_find(const acu_type *type, const char *name) {
    const char *names = type->name;
    for (uint32_t i = 0; i < type->count; i++) {
        names = acu_part_name(names, 0);
        if (strcmp(names, name) == 0)
            return &type->values[i];
    }
    return NULL;
}
