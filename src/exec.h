/*
 * Executable graphs as launches and changes see them.
 *
 * What a launch needs stands first.
 */
#ifndef ACU_SRC_EXEC_H
#define ACU_SRC_EXEC_H

#include "graph.h"

/* What a node uses since it was changed; or, retired, until when it is used. */
typedef struct acu_change {
    uint64_t node;
    acu_bag *bag;
    acu_timeline *timeline;
    uint64_t number;
    struct acu_change *next;
} acu_change;

/* A launch uses this memory. */
typedef struct acu_exec_use {
    acu_storage *storage;
    acu_ticket ticket;
    bool writes;
} acu_exec_use;

enum { ACU_CHANGE_BUCKETS = 64 };

struct acu_exec {
    acu_object object;
    cudaGraphExec_t raw;
    pthread_mutex_t lock;
    /* under the lock: */
    acu_exec_use *uses; /* of all that is kept; gathered anew where `stale` */
    size_t use_count;
    acu_timeline *last; /* of the last launch, which the others are before */
    uint64_t number;
    bool stale, owned;
    uint32_t source; /* the salt of the graph that it was made of; 0: unknown */
    int failed;      /* to destroy it; what it keeps may still have to wait */
    acu_bag *bag;    /* what the graph kept */
    size_t kept, change_count, use_room;
    acu_change *oldest, **newest;            /* retired */
    acu_change *changes[ACU_CHANGE_BUCKETS]; /* hashed by node */
};

extern const acu_class acu_exec_class;

static inline size_t acu_bag_size(const acu_bag *bag) {
    return bag ? bag->count : 0;
}

/* All of this needs the lock. */

/* So that a launch need not allocate when `more` objects are kept; a failure is recorded. */
int acu_exec_reserve(acu_exec *exec, size_t more);
/* From the next launch on the node uses this, */
void acu_exec_replace(acu_exec *exec, acu_change *change);
/* or all uses what is in the bag, which it takes; `old` is for what was kept so far. */
void acu_exec_take_over(acu_exec *exec, acu_bag *bag, acu_change *old);
/* What no launch uses any more; to be freed without the lock. */
acu_change *acu_exec_take_unused(acu_exec *exec);

void acu_changes_free(acu_change *changes);

#endif
