#include "loader/driver.h"

#include "loader/library.h"
#include "loader/platform.h"

enum { NOT_ASKED = -2 };

static int installed = NOT_ASKED; /* atomic */

/* Does not name acu_cuda, which would keep its tables in every program. */
static int ask_driver(acu_fn get_version) {
    int version = 0;
    int result = get_version ? ((int (*)(int *))get_version)(&version) : -1;
    return result == 0 && version > 0 ? version : ACU_DRIVER_SILENT;
}

acu_library *acu_driver_of(acu_library *library) {
    bool replaced = library->needs_driver && acu_library_state(library) == ACU_LOADED &&
                    acu_library_is_replaced(library);
    return replaced ? library : &acu_cuda;
}

/* Asking has no effect on the program: cuDriverGetVersion needs no cuInit, and a runtime opens
 * libcuda.so.1 itself at its first call. What was opened by its path is what the runtime then gets
 * by that name. */
int acu_driver_version(const acu_library *library) {
    if (acu_library_state(library) == ACU_LOADED && acu_library_is_replaced(library)) {
        acu_fn get_version = acu_library_find(library, "cuDriverGetVersion");
        return get_version ? ask_driver(get_version) : ACU_DRIVER_NONE;
    }
    int known = __atomic_load_n(&installed, __ATOMIC_RELAXED);
    if (known == NOT_ASKED) {
        static const char file[] = ACU_WSL_FOLDER "/libcuda.so.1";
        void *handle = acu_platform_open(file + sizeof ACU_WSL_FOLDER, false, NULL, 0);
        if (!handle)
            handle = acu_platform_open(file, false, NULL, 0);
        known = handle ? ask_driver(acu_platform_symbol(handle, "cuDriverGetVersion"))
                       : ACU_DRIVER_NONE;
        __atomic_store_n(&installed, known, __ATOMIC_RELAXED);
    }
    return known;
}

bool acu_driver_was_asked(void) {
    return __atomic_load_n(&installed, __ATOMIC_RELAXED) != NOT_ASKED;
}

void acu_driver_forget(void) {
    __atomic_store_n(&installed, NOT_ASKED, __ATOMIC_RELAXED);
}
