/* Finds the entry that stands behind a symbol. */
#include "sim/entry/entries.h"

#include <string.h>

acu_fn acu_sim_entries_find(const acu_sim_api_entry *entries, const char *symbol) {
    while (entries->symbol && strcmp(entries->symbol, symbol) != 0)
        entries++;
    return entries->entry;
}
