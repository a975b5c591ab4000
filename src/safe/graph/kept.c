/* What a graph keeps alive: the objects of each node, and what was captured. */
#include "safe/graph/kept.h"

#include <stdlib.h>

static int no_memory(void) {
    acu_record(ACU_ERROR_HOST_MEMORY, "no memory for what the graph keeps");
    return ACU_ERROR_HOST_MEMORY;
}

static size_t hash(uint64_t key) {
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32u);
}

/* Returns the first failure. */
static int release_all(const acu_object_use *objects, size_t count) {
    int first = 0;
    for (size_t i = count; i-- > 0;) {
        int code = acu_object_release(NULL, objects[i].object, objects[i].object->was);
        first = first ? first : code;
    }
    return first;
}

/* ---- lists ---- */

static acu_kept_list *new_list(size_t count) {
    acu_kept_list *list =
        count < UINT32_MAX ? malloc(sizeof *list + count * sizeof *list->objects) : NULL;
    if (list)
        *list = (acu_kept_list){.references = 1};
    return list;
}

static void put_in_list(void *data, const acu_object_use *object) {
    acu_kept_list *list = data;
    acu_object_retain("", object->object, object->object->was);
    list->objects[list->count++] = *object;
}

int acu_kept_list_new(const acu_object_use *objects, size_t count, acu_kept_list **list) {
    *list = NULL;
    if (count == 0)
        return 0;
    *list = new_list(count);
    if (!*list)
        return no_memory();
    for (size_t i = 0; i < count; i++)
        put_in_list(*list, &objects[i]);
    return 0;
}

int acu_kept_list_from_set(const acu_kept_set *set, acu_kept_list **list) {
    *list = NULL;
    if (acu_kept_set_size(set) == 0)
        return 0;
    *list = new_list(set->total);
    if (!*list)
        return no_memory();
    acu_kept_set_each(set, put_in_list, *list);
    return 0;
}

int acu_kept_list_release(acu_kept_list *list) {
    if (!list || __atomic_sub_fetch(&list->references, 1, __ATOMIC_ACQ_REL) > 0)
        return 0;
    int code = release_all(list->objects, list->count);
    free(list);
    return code;
}

void acu_kept_list_free(acu_kept_list *list) {
    acu_saved_record before;
    acu_record_save(&before);
    if (acu_kept_list_release(list))
        acu_record_release_error();
    acu_record_restore(&before);
}

/* ---- one set ---- */

acu_kept_set *acu_kept_set_retain(acu_kept_set *set) {
    if (set)
        __atomic_add_fetch(&set->references, 1, __ATOMIC_RELAXED);
    return set;
}

int acu_kept_set_release(acu_kept_set *set) {
    if (!set || __atomic_sub_fetch(&set->references, 1, __ATOMIC_ACQ_REL) > 0)
        return 0;
    int first = 0;
    for (size_t i = 0; i < set->node_room; i++) {
        int code = acu_kept_list_release(set->nodes[i].list);
        first = first ? first : code;
    }
    int code = release_all(set->captured, set->captured_count);
    free(set->captured);
    free(set->slots);
    free(set->nodes);
    free(set);
    return first ? first : code;
}

void acu_kept_set_each(const acu_kept_set *set,
                       void (*visit)(void *data, const acu_object_use *object), void *data) {
    for (size_t i = 0; set && i < set->captured_count; i++)
        visit(data, &set->captured[i]);
    for (size_t i = 0; set && i < set->node_room; i++) {
        const acu_kept_list *list = set->nodes[i].list;
        for (size_t k = 0; list && k < list->count; k++)
            visit(data, &list->objects[k]);
    }
}

/* Returns the slot that the object has, or the free one where it belongs. */
static uint32_t *slot_of(const acu_kept_set *set, const acu_object *object) {
    size_t mask = 2 * set->captured_room - 1, at = hash((uintptr_t)object) & mask;
    while (set->slots[at] && set->captured[set->slots[at] - 1].object != object)
        at = (at + 1) & mask;
    return &set->slots[at];
}

/* Adds what was captured. There must be room. */
static void put(acu_kept_set *set, acu_object *object, bool writes) {
    uint32_t *slot = slot_of(set, object);
    if (*slot) {
        set->captured[*slot - 1].writes |= writes;
        return;
    }
    acu_object_retain("", object, object->was);
    set->captured[set->captured_count++] = (acu_object_use){object, writes};
    *slot = (uint32_t)set->captured_count;
    set->total++;
}

/* Returns the place that the node has, or the free one where it belongs. */
static acu_kept_place *place_of(const acu_kept_set *set, uint64_t node) {
    size_t mask = set->node_room - 1, at = hash(node) & mask;
    while (set->nodes[at].node && set->nodes[at].node != node)
        at = (at + 1) & mask;
    return &set->nodes[at];
}

acu_kept_list *acu_kept_set_replace(acu_kept_set *set, uint64_t node, acu_kept_list *list) {
    acu_kept_place *place = place_of(set, node);
    acu_kept_list *before = place->list;
    set->node_count += place->node == 0;
    set->total += list ? list->count : 0;
    set->total -= before ? before->count : 0;
    *place = (acu_kept_place){node, list};
    return before;
}

/* ---- copies of sets ---- */

static size_t power_of_two(size_t room, size_t count) {
    while (room < count)
        room *= 2;
    return room;
}

/* Returns an empty set with room, NULL without memory. */
static acu_kept_set *new_set(size_t captured, size_t nodes) {
    acu_kept_set *set = calloc(1, sizeof *set);
    if (!set)
        return NULL;
    set->references = 1;
    set->captured_room = power_of_two(4, captured);
    set->captured = malloc(set->captured_room * sizeof *set->captured);
    set->slots = calloc(2 * set->captured_room, sizeof *set->slots);
    set->nodes = calloc(power_of_two(8, 2 * nodes), sizeof *set->nodes);
    if (set->nodes)
        set->node_room = power_of_two(8, 2 * nodes);
    if (set->captured && set->slots && set->nodes && set->captured_room < UINT32_MAX)
        return set;
    (void)acu_kept_set_release(set);
    return NULL;
}

/* Copies the lists of nodes whose id or number is at most `last`. */
static void copy_lists(acu_kept_set *to, const acu_kept_set *from, uint64_t last) {
    for (size_t i = 0; i < from->node_room; i++) {
        acu_kept_list *list = from->nodes[i].list;
        if (list && from->nodes[i].node <= last) {
            __atomic_add_fetch(&list->references, 1, __ATOMIC_RELAXED);
            (void)acu_kept_set_replace(to, from->nodes[i].node, list);
        }
    }
}

static void copy_all(acu_kept_set *to, const acu_kept_set *from) {
    for (size_t i = 0; i < from->captured_count; i++)
        put(to, from->captured[i].object, from->captured[i].writes);
    copy_lists(to, from, UINT64_MAX);
}

/* Makes *set the caller's own, with room for so many more. A place without a list, of a node that
 * was destroyed, stays taken until the next copy. */
static int reserve(acu_kept_set **set, size_t captured, size_t nodes) {
    acu_kept_set *old = *set;
    bool own = old && __atomic_load_n(&old->references, __ATOMIC_ACQUIRE) == 1;
    if (own && captured <= old->captured_room - old->captured_count &&
        2 * (old->node_count + nodes) <= old->node_room)
        return 0;
    acu_kept_set *bigger =
        old ? new_set(old->captured_count + captured, old->node_count + nodes + 1)
            : new_set(captured, nodes);
    if (!bigger)
        return no_memory();
    if (old)
        copy_all(bigger, old);
    (void)acu_kept_set_release(old); /* destroys nothing: the copy owns all of it */
    *set = bigger;
    return 0;
}

int acu_kept_set_recapture(acu_kept_set **set, const acu_kept_set *captured,
                           acu_kept_set **before) {
    acu_kept_set *made =
        new_set(captured ? captured->captured_count : 0, *set ? (*set)->node_count : 0);
    if (!made)
        return no_memory();
    if (*set)
        copy_lists(made, *set, ACU_KEPT_LAST_NUMBER);
    if (captured)
        copy_all(made, captured);
    *before = *set;
    *set = made;
    return 0;
}

int acu_kept_set_reserve(acu_kept_set **set) {
    return reserve(set, 0, 1);
}

int acu_kept_set_add(acu_kept_set **set, acu_object *object, bool writes) {
    int code = reserve(set, 1, 0);
    if (!code)
        put(*set, object, writes);
    return code;
}
