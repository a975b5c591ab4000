/*
 * What a graph keeps alive: objects, each with whether the graph writes to it.
 *
 * What a node was given is its holding, which goes when the node is given something else or is
 * destroyed; what acu_graph_keep() was given, too, as that of a node which is none. What was
 * captured is known of no single node, and stays until all is captured again.
 *
 * An empty bag, and a holding of nothing, is NULL. Clones and execs holding the bag of their graph
 * by a reference; who changes a bag that others have, too, makes himself a copy.
 */
#ifndef ACU_SRC_BAG_H
#define ACU_SRC_BAG_H

#include "safe/base/object.h"

typedef struct acu_kept {
    acu_object *object;
    bool writes;
} acu_kept;

/* It never changes. */
typedef struct acu_holding {
    int references; /* atomic */
    size_t count;
    acu_kept kept[];
} acu_holding;

/* Nodes have ids beyond; those up to this are for what is no node's. */
static const uint64_t ACU_NO_NODE = UINT32_MAX;

typedef struct acu_node_holding {
    uint64_t node; /* 0: the place is free */
    acu_holding *holding;
} acu_node_holding;

typedef struct acu_bag {
    int references; /* atomic */
    size_t total;   /* of all objects, those of several nodes as often */
    /* Of no single node: */
    size_t count, room;
    acu_kept *kept;
    uint32_t *slots; /* hashed: index + 1 into `kept`; twice as many as there is room */
    /* Of nodes, hashed; half of the places are free. */
    size_t node_count, node_room;
    acu_node_holding *nodes;
} acu_bag;

/* Retains the objects. Of nothing: 0 and NULL. A failure is recorded. */
int acu_holding_new(const acu_kept *kept, size_t count, acu_holding **holding);
/* All that is in a bag. */
int acu_holding_of(const acu_bag *bag, acu_holding **holding);
/* The result of the destructions that it causes, 0 if there are none; as of a bag. */
int acu_holding_release(acu_holding *holding);
/* Where nobody can be told: a failure is kept as a release's is. Not under a lock. */
void acu_holding_free(acu_holding *holding);

acu_bag *acu_bag_retain(acu_bag *bag);
int acu_bag_release(acu_bag *bag);

/* Retains the object unless it is in there; records a failure. */
int acu_bag_add(acu_bag **bag, acu_object *object, bool writes);

/* Room for another node's holding, in a bag of one's own: before giving it. Records a failure. */
int acu_bag_reserve(acu_bag **bag);
/* The holding, which is taken, becomes the node's; returns what was. */
acu_holding *acu_bag_give(acu_bag *bag, uint64_t node, acu_holding *holding);

/* Makes of the bag one with what is captured `again` instead of what nodes and captures brought.
 * What was is the caller's; a failure is recorded, and changes nothing. */
int acu_bag_renew(acu_bag **bag, const acu_bag *again, acu_bag **before);

static inline size_t acu_bag_size(const acu_bag *bag) {
    return bag ? bag->total : 0;
}

/* Each object, those of several nodes as often. */
void acu_bag_each(const acu_bag *bag, void (*visit)(void *data, const acu_kept *kept), void *data);

#endif
