#include "core/table.h"

#include "core/call.h"
#include "loader/library.h"

int acu_table_bind(acu_library *library, const acu_function *const *functions, size_t count) {
    int code = acu_load(&(acu_load_options){.library = library->id});
    for (size_t i = 0; i < count; i++)
        (void)acu_call_bind(functions[i]);
    return code;
}
