#include "table.h"

#include <string.h>

#include "loader/loader.h"

int acu_table_load(acu_library *library, const acu_function *const *functions, size_t count,
                   void *table) {
    int code = acu_load(&(acu_load_options){.library = library->id});
    for (size_t i = 0; i < count; i++) {
        /* Its members have types of their own, so it is no array of acu_fn to the compiler. */
        acu_fn fn = acu_bind(functions[i]);
        memcpy((char *)table + i * sizeof fn, &fn, sizeof fn);
    }
    return code;
}
