/* A set of pointers, open addressing. A handle that is not in it is never looked into. */
#include "sim/set.h"

#include <stdlib.h>

static size_t home_of(const acu_sim_set *set, const void *pointer) {
    uint64_t hash = (uint64_t)(uintptr_t)pointer * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32) & (set->room - 1);
}

/* Returns the pointer's slot, or the free one where it belongs. */
static size_t slot_of(const acu_sim_set *set, const void *pointer) {
    size_t at = home_of(set, pointer);
    while (set->slots[at] && set->slots[at] != pointer)
        at = (at + 1) & (set->room - 1);
    return at;
}

static bool grow(acu_sim_set *set) {
    acu_sim_set bigger = {.room = set->room ? set->room * 2 : 64};
    bigger.slots = calloc(bigger.room, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < set->room; i++)
        if (set->slots[i])
            bigger.slots[slot_of(&bigger, set->slots[i])] = set->slots[i];
    bigger.count = set->count;
    free(set->slots);
    *set = bigger;
    return true;
}

bool acu_sim_set_add(acu_sim_set *set, const void *pointer) {
    if (2 * (set->count + 1) > set->room && !grow(set))
        return false;
    set->slots[slot_of(set, pointer)] = pointer;
    set->count++;
    return true;
}

bool acu_sim_set_has(const acu_sim_set *set, const void *pointer) {
    return pointer && set->room && set->slots[slot_of(set, pointer)] == pointer;
}

/* Moves what stands behind the gap back into it, where its home allows. */
void acu_sim_set_remove(acu_sim_set *set, const void *pointer) {
    if (!acu_sim_set_has(set, pointer))
        return;
    size_t mask = set->room - 1, gap = slot_of(set, pointer);
    for (size_t at = (gap + 1) & mask; set->slots[at]; at = (at + 1) & mask) {
        size_t home = home_of(set, set->slots[at]);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            set->slots[gap] = set->slots[at];
            gap = at;
        }
    }
    set->slots[gap] = NULL;
    set->count--;
}

void acu_sim_set_clear(acu_sim_set *set) {
    free(set->slots);
    *set = (acu_sim_set){0};
}
