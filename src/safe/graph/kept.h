/*
 * What a graph keeps alive.
 *
 * A kept list has the objects that one node uses. A kept set has the lists of all nodes of a graph,
 * and the objects that were captured, which belong to no node. The list of a node is replaced when
 * the node changes, and goes when the node is destroyed. Objects that were captured stay until the
 * graph is captured again. What acu_graph_keep() was given is in lists under numbers that no node
 * has (ACU_KEPT_LAST_NUMBER).
 *
 * Lists never change. Sets are shared: a graph, its clones and its executable graphs refer to one
 * set, and a function that changes a set with more than one owner makes a copy first. An empty list
 * and an empty set are NULL.
 */
#ifndef ACU_SRC_KEPT_H
#define ACU_SRC_KEPT_H

#include "safe/base/object.h"

typedef struct acu_kept_list {
    int references; /* atomic */
    size_t count;
    acu_object_use objects[];
} acu_kept_list;

/* Ids of nodes are greater; numbers up to this one are for lists that belong to no node. */
static const uint64_t ACU_KEPT_LAST_NUMBER = UINT32_MAX;

/* A place of the table of nodes. */
typedef struct acu_kept_place {
    uint64_t node; /* id or number; 0: the place is free */
    acu_kept_list *list;
} acu_kept_place;

typedef struct acu_kept_set {
    int references; /* atomic */
    size_t total; /* objects of all lists and of captures; one that is in two lists counts twice */
    /* What was captured: */
    size_t captured_count, captured_room;
    acu_object_use *captured;
    uint32_t *slots; /* a hash table of 2 * captured_room: index + 1 into `captured` */
    /* A hash table of the nodes, at most half full: */
    size_t node_count, node_room;
    acu_kept_place *nodes;
} acu_kept_set;

/* Makes a list, which retains the objects. Returns 0, or a recorded failure; *list is NULL then,
 * and for a count of 0. */
int acu_kept_list_new(const acu_object_use *objects, size_t count, acu_kept_list **list);
/* Makes a list of all objects of a set, as acu_kept_list_new() does. */
int acu_kept_list_from_set(const acu_kept_set *set, acu_kept_list **list);
/* Gives one reference up. Returns the first failure of the objects that are destroyed, or 0. */
int acu_kept_list_release(acu_kept_list *list);
/* Gives one reference up where no result can be returned: acu_release_error() has the failure. The
 * caller holds no lock, because destroying objects takes locks of their own. */
void acu_kept_list_free(acu_kept_list *list);

/* Adds an owner and returns the set. */
acu_kept_set *acu_kept_set_retain(acu_kept_set *set);
/* Gives one reference up, as acu_kept_list_release(). */
int acu_kept_set_release(acu_kept_set *set);

/* Adds what was captured, and retains the object unless it is in the set already. Returns 0, or a
 * recorded failure. */
int acu_kept_set_add(acu_kept_set **set, acu_object *object, bool writes);

/* Makes the set the caller's own, with room for the list of one more node, so that
 * acu_kept_set_replace() cannot fail. Returns 0, or a recorded failure. */
int acu_kept_set_reserve(acu_kept_set **set);
/* Makes the list, whose reference goes to the set, that of the node. Returns the node's list until
 * now, whose reference is the caller's. */
acu_kept_list *acu_kept_set_replace(acu_kept_set *set, uint64_t node, acu_kept_list *list);

/* Replaces *set after the graph was captured again: the new set has the objects of `captured` and
 * what acu_graph_keep() was given. The old set goes to *before, and its reference is the caller's.
 * Returns 0, or a recorded failure, which changes nothing. */
int acu_kept_set_recapture(acu_kept_set **set, const acu_kept_set *captured, acu_kept_set **before);

/* Returns the number of objects that acu_kept_set_each() visits. */
static inline size_t acu_kept_set_size(const acu_kept_set *set) {
    return set ? set->total : 0;
}

/* Visits each object; one that is in two lists is visited twice. */
void acu_kept_set_each(const acu_kept_set *set,
                       void (*visit)(void *data, const acu_object_use *object), void *data);

#endif
