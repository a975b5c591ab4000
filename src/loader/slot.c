#include "loader/slot.h"

#include "core/hooks.h"
#include "loader/library.h"
#include "loader/platform.h"

#include <stdlib.h>

/* Writes the function into its slots, under ACU_LOCK_SLOTS. */
static void publish(acu_library *library, const acu_function *function, acu_fn fn) {
    acu_fn entry = *function->slot; /* written under the lock only */
    if (entry == fn)
        return;
    if (library->published_count == library->published_room) {
        size_t room = library->published_room * 2 + 32;
        acu_published *grown = realloc(library->published, room * sizeof *grown);
        if (!grown)
            return; /* the slow path still works */
        library->published = grown;
        library->published_room = room;
    }
    library->published[library->published_count++] = (acu_published){function, entry};
    __atomic_store_n(function->slot, fn, __ATOMIC_RELEASE);
}

void acu_slot_publish(const acu_function *function, acu_fn symbol, acu_fn fn) {
    acu_platform_lock(ACU_LOCK_SLOTS);
    /* The symbol is stored first, because the adapter reads it, and the slot that leads to the
     * adapter second, by release. The symbol is stored only once, because other threads' adapters
     * may be reading it when a second thread comes here. */
    if (function->real && *function->real != symbol)
        *function->real = symbol;
    /* Asked under the lock, because a layer is switched on before it takes published slots back. */
    if (!acu_layer_hooks.on())
        publish(function->library, function, fn);
    acu_platform_unlock(ACU_LOCK_SLOTS);
}

void acu_slot_unpublish(acu_library *library) {
    acu_platform_lock(ACU_LOCK_SLOTS);
    for (size_t i = 0; i < library->published_count; i++) {
        const acu_published *p = &library->published[i];
        __atomic_store_n(p->function->slot, p->entry, __ATOMIC_RELEASE);
    }
    library->published_count = 0;
    acu_platform_unlock(ACU_LOCK_SLOTS);
}
