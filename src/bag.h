/*
 * What a graph keeps alive: a set of objects, each with whether the graph writes to it.
 *
 * An empty bag is NULL. Clones and execs share the bag of their graph by a reference; who adds to a
 * bag that others have, too, makes himself a copy.
 */
#ifndef ACU_SRC_BAG_H
#define ACU_SRC_BAG_H

#include "object.h"

typedef struct acu_kept {
    acu_object *object;
    bool writes;
} acu_kept;

typedef struct acu_bag {
    int references; /* atomic */
    size_t count, room;
    acu_kept *kept;
    uint32_t *slots; /* hashed: index + 1 into `kept`; twice as many as there is room */
} acu_bag;

acu_bag *acu_bag_retain(acu_bag *bag);
/* The result of the destructions that it causes, 0 if there are none. */
int acu_bag_release(acu_bag *bag);

/* Makes the bag one's own, with room for `more`; false without memory. */
bool acu_bag_reserve(acu_bag **bag, size_t more);
/* Retains the object unless it is in there; there must be room. */
void acu_bag_put(acu_bag *bag, acu_object *object, bool writes);
/* Both at once; records a failure. */
int acu_bag_add(acu_bag **bag, acu_object *object, bool writes);
int acu_bag_add_all(acu_bag **bag, const acu_bag *from);

#endif
