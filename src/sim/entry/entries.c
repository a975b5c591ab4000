/* Finds the entry that stands behind a symbol. */
#include "sim/entry/entries.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *symbol, const void *entry) {
    return strcmp(symbol, ((const acu_sim_api_entry *)entry)->symbol);
}

acu_fn acu_sim_entries_find(const acu_sim_api_entry *entries, size_t count, const char *symbol) {
    const acu_sim_api_entry *found = bsearch(symbol, entries, count, sizeof *entries, compare);
    return found ? found->entry : NULL;
}
