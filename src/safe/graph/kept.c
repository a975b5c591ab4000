/* What is kept alive: by a node, and by a graph. */
#include "safe/graph/kept.h"

#include <stdlib.h>

static int no_memory(void) {
    acu_record(ACU_ERROR_HOST_MEMORY, "no memory for what the graph keeps");
    return ACU_ERROR_HOST_MEMORY;
}

static size_t hash(uint64_t key) {
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32u);
}

/* ---- holdings
 * ------------------------------------------------------------------------------------
 */

static acu_holding *new_holding(size_t count) {
    acu_holding *holding =
        count < UINT32_MAX ? malloc(sizeof *holding + count * sizeof *holding->kept) : NULL;
    if (holding)
        *holding = (acu_holding){.references = 1};
    return holding;
}

static void put_in_holding(void *data, const acu_kept *kept) {
    acu_holding *holding = data;
    acu_object_retain("", kept->object, kept->object->was);
    holding->kept[holding->count++] = *kept;
}

int acu_holding_new(const acu_kept *kept, size_t count, acu_holding **holding) {
    *holding = NULL;
    if (count == 0)
        return 0;
    *holding = new_holding(count);
    if (!*holding)
        return no_memory();
    for (size_t i = 0; i < count; i++)
        put_in_holding(*holding, &kept[i]);
    return 0;
}

int acu_holding_of(const acu_bag *bag, acu_holding **holding) {
    *holding = NULL;
    if (acu_bag_size(bag) == 0)
        return 0;
    *holding = new_holding(bag->total);
    if (!*holding)
        return no_memory();
    acu_bag_each(bag, put_in_holding, *holding);
    return 0;
}

static int release_all(const acu_kept *kept, size_t count) {
    int first = 0;
    for (size_t i = count; i-- > 0;) {
        int code = acu_object_release(NULL, kept[i].object, kept[i].object->was);
        first = first ? first : code;
    }
    return first;
}

int acu_holding_release(acu_holding *holding) {
    if (!holding || __atomic_sub_fetch(&holding->references, 1, __ATOMIC_ACQ_REL) > 0)
        return 0;
    int code = release_all(holding->kept, holding->count);
    free(holding);
    return code;
}

void acu_holding_free(acu_holding *holding) {
    acu_saved_record before;
    acu_record_save(&before);
    if (acu_holding_release(holding))
        acu_record_release_error();
    acu_record_restore(&before);
}

/* ---- bags --------------------------------------------------------------------------------------
 */

acu_bag *acu_bag_retain(acu_bag *bag) {
    if (bag)
        __atomic_add_fetch(&bag->references, 1, __ATOMIC_RELAXED);
    return bag;
}

int acu_bag_release(acu_bag *bag) {
    if (!bag || __atomic_sub_fetch(&bag->references, 1, __ATOMIC_ACQ_REL) > 0)
        return 0;
    int first = 0;
    for (size_t i = 0; i < bag->node_room; i++) {
        int code = acu_holding_release(bag->nodes[i].holding);
        first = first ? first : code;
    }
    int code = release_all(bag->kept, bag->count);
    free(bag->kept);
    free(bag->slots);
    free(bag->nodes);
    free(bag);
    return first ? first : code;
}

void acu_bag_each(const acu_bag *bag, void (*visit)(void *data, const acu_kept *kept), void *data) {
    for (size_t i = 0; bag && i < bag->count; i++)
        visit(data, &bag->kept[i]);
    for (size_t i = 0; bag && i < bag->node_room; i++) {
        const acu_holding *holding = bag->nodes[i].holding;
        for (size_t k = 0; holding && k < holding->count; k++)
            visit(data, &holding->kept[k]);
    }
}

/* Where the object is, or belongs. */
static uint32_t *slot_of(const acu_bag *bag, const acu_object *object) {
    size_t mask = 2 * bag->room - 1, at = hash((uintptr_t)object) & mask;
    while (bag->slots[at] && bag->kept[bag->slots[at] - 1].object != object)
        at = (at + 1) & mask;
    return &bag->slots[at];
}

static void put(acu_bag *bag, acu_object *object, bool writes) {
    uint32_t *slot = slot_of(bag, object);
    if (*slot) {
        bag->kept[*slot - 1].writes |= writes;
        return;
    }
    acu_object_retain("", object, object->was);
    bag->kept[bag->count++] = (acu_kept){object, writes};
    *slot = (uint32_t)bag->count;
    bag->total++;
}

static acu_node_holding *place_of(const acu_bag *bag, uint64_t node) {
    size_t mask = bag->node_room - 1, at = hash(node) & mask;
    while (bag->nodes[at].node && bag->nodes[at].node != node)
        at = (at + 1) & mask;
    return &bag->nodes[at];
}

acu_holding *acu_bag_give(acu_bag *bag, uint64_t node, acu_holding *holding) {
    acu_node_holding *place = place_of(bag, node);
    acu_holding *before = place->holding;
    bag->node_count += place->node == 0;
    bag->total += holding ? holding->count : 0;
    bag->total -= before ? before->count : 0;
    *place = (acu_node_holding){node, holding};
    return before;
}

/* The same objects, of which each has one owner more. */
static void copy_to(acu_bag *to, const acu_bag *from) {
    for (size_t i = 0; i < from->count; i++)
        put(to, from->kept[i].object, from->kept[i].writes);
    for (size_t i = 0; i < from->node_room; i++) {
        acu_holding *holding = from->nodes[i].holding;
        if (holding) {
            __atomic_add_fetch(&holding->references, 1, __ATOMIC_RELAXED);
            (void)acu_bag_give(to, from->nodes[i].node, holding);
        }
    }
}

static size_t power_of_two(size_t room, size_t count) {
    while (room < count)
        room *= 2;
    return room;
}

static acu_bag *new_bag(size_t count, size_t nodes) {
    acu_bag *bag = calloc(1, sizeof *bag);
    if (!bag)
        return NULL;
    bag->references = 1;
    bag->room = power_of_two(4, count);
    bag->kept = malloc(bag->room * sizeof *bag->kept);
    bag->slots = calloc(2 * bag->room, sizeof *bag->slots);
    bag->nodes = calloc(power_of_two(8, 2 * nodes), sizeof *bag->nodes);
    if (bag->nodes)
        bag->node_room = power_of_two(8, 2 * nodes);
    if (bag->kept && bag->slots && bag->nodes && bag->room < UINT32_MAX)
        return bag;
    (void)acu_bag_release(bag);
    return NULL;
}

/* Makes the bag one's own, with room for more objects and nodes. Room for nodes stays room. */
static int reserve(acu_bag **bag, size_t objects, size_t nodes) {
    acu_bag *old = *bag;
    bool mine = old && __atomic_load_n(&old->references, __ATOMIC_ACQUIRE) == 1;
    if (mine && objects <= old->room - old->count &&
        2 * (old->node_count + nodes) <= old->node_room)
        return 0;
    acu_bag *bigger =
        old ? new_bag(old->count + objects, old->node_count + nodes + 1) : new_bag(objects, nodes);
    if (!bigger)
        return no_memory();
    if (old)
        copy_to(bigger, old);
    (void)acu_bag_release(old); /* all is in the other one */
    *bag = bigger;
    return 0;
}

static void copy_given(acu_bag *to, const acu_bag *from) {
    for (size_t i = 0; from && i < from->node_room; i++) {
        acu_holding *holding = from->nodes[i].holding;
        if (holding && from->nodes[i].node <= ACU_NO_NODE) {
            __atomic_add_fetch(&holding->references, 1, __ATOMIC_RELAXED);
            (void)acu_bag_give(to, from->nodes[i].node, holding);
        }
    }
}

int acu_bag_renew(acu_bag **bag, const acu_bag *again, acu_bag **before) {
    acu_bag *renewed = new_bag(again ? again->count : 0, *bag ? (*bag)->node_count : 0);
    if (!renewed)
        return no_memory();
    copy_given(renewed, *bag);
    if (again)
        copy_to(renewed, again);
    *before = *bag;
    *bag = renewed;
    return 0;
}

int acu_bag_reserve(acu_bag **bag) {
    return reserve(bag, 0, 1);
}

int acu_bag_add(acu_bag **bag, acu_object *object, bool writes) {
    int code = reserve(bag, 1, 0);
    if (!code)
        put(*bag, object, writes);
    return code;
}
