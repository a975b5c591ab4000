/* Which name a value has, and which value a name has. */
#include "internal.h"

#include <string.h>

const acu_value *acu_value_of(const acu_type *type, int64_t value) {
    for (uint32_t i = 0; type && type->values && i < type->count; i++)
        if (acu_same_value(type, type->values[i].value, value))
            return &type->values[i];
    return NULL;
}

const acu_value *acu_value_named(const acu_type *type, const char *name) {
    for (uint32_t i = 0; type && type->values && i < type->count; i++)
        if (strcmp(type->values[i].name, name) == 0)
            return &type->values[i];
    return NULL;
}
