/* Sets of objects that are kept alive. */
#include "bag.h"

#include <stdlib.h>
#include <string.h>

acu_bag *acu_bag_retain(acu_bag *bag) {
    if (bag)
        __atomic_add_fetch(&bag->references, 1, __ATOMIC_RELAXED);
    return bag;
}

int acu_bag_release(acu_bag *bag) {
    int first = 0;
    if (!bag || __atomic_sub_fetch(&bag->references, 1, __ATOMIC_ACQ_REL) > 0)
        return 0;
    for (size_t i = bag->count; i-- > 0;) {
        acu_object *object = bag->kept[i].object;
        int code = acu_object_release(NULL, object, object->was);
        first = first ? first : code;
    }
    free(bag->kept);
    free(bag->slots);
    free(bag);
    return first;
}

/* Where the object is, or belongs. */
static uint32_t *slot_of(const acu_bag *bag, const acu_object *object) {
    size_t mask = 2 * bag->room - 1;
    size_t at =
        (size_t)(((uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15)) >> 32u) & mask;
    while (bag->slots[at] && bag->kept[bag->slots[at] - 1].object != object)
        at = (at + 1) & mask;
    return &bag->slots[at];
}

void acu_bag_put(acu_bag *bag, acu_object *object, bool writes) {
    uint32_t *slot = slot_of(bag, object);
    if (*slot) {
        bag->kept[*slot - 1].writes |= writes;
        return;
    }
    acu_object_retain("", object, object->was);
    bag->kept[bag->count++] = (acu_kept){object, writes};
    *slot = (uint32_t)bag->count;
}

static acu_bag *new_bag(size_t count) {
    size_t room = 4;
    while (room < count)
        room *= 2;
    acu_bag *bag = calloc(1, sizeof *bag);
    if (!bag)
        return NULL;
    bag->references = 1;
    bag->room = room;
    bag->kept = malloc(room * sizeof *bag->kept);
    bag->slots = calloc(2 * room, sizeof *bag->slots);
    if (bag->kept && bag->slots && room < UINT32_MAX)
        return bag;
    (void)acu_bag_release(bag);
    return NULL;
}

bool acu_bag_reserve(acu_bag **bag, size_t more) {
    acu_bag *old = *bag;
    size_t count = old ? old->count : 0;
    bool mine = old && __atomic_load_n(&old->references, __ATOMIC_ACQUIRE) == 1;
    if (more == 0 || (mine && more <= old->room - count))
        return true;
    acu_bag *bigger = new_bag(count + more);
    if (!bigger)
        return false;
    for (size_t i = 0; i < count; i++)
        acu_bag_put(bigger, old->kept[i].object, old->kept[i].writes);
    (void)acu_bag_release(old); /* all is in the other one */
    *bag = bigger;
    return true;
}

static int no_memory(void) {
    return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for what the graph keeps");
}

int acu_bag_add(acu_bag **bag, acu_object *object, bool writes) {
    if (!acu_bag_reserve(bag, 1))
        return no_memory();
    acu_bag_put(*bag, object, writes);
    return 0;
}

int acu_bag_add_all(acu_bag **bag, const acu_bag *from) {
    size_t count = from ? from->count : 0;
    if (!acu_bag_reserve(bag, count))
        return no_memory();
    for (size_t i = 0; i < count; i++)
        acu_bag_put(*bag, from->kept[i].object, from->kept[i].writes);
    return 0;
}
