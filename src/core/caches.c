#include "core/caches.h"

#include <stdbool.h>
#include <stddef.h>

static acu_keeper *keepers; /* atomic: a list that only grows at its head */

void acu_caches_add(acu_keeper *keeper) {
    keeper->next = __atomic_load_n(&keepers, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&keepers, &keeper->next, keeper, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
    }
}

void acu_caches_give_back(void) {
    for (const acu_keeper *k = __atomic_load_n(&keepers, __ATOMIC_ACQUIRE); k; k = k->next)
        k->give_back();
}
