/*
 * Executable graphs as launches and changes see them.
 *
 * What a launch needs stands first.
 */
#ifndef ACU_SRC_EXEC_H
#define ACU_SRC_EXEC_H

#include "safe/graph/graph.h"

/* What is kept no longer, and until when it is used. */
typedef struct acu_exec_previous {
    acu_kept_list *list;
    acu_kept_set *kept;
    acu_timeline *timeline;
    uint64_t number;
    struct acu_exec_previous *next;
} acu_exec_previous;

/* Nothing is known of who else uses the memory: each is asked. */
static const uint64_t ACU_NOT_ALONE = UINT64_MAX;

/* A launch uses this memory. */
typedef struct acu_exec_use {
    acu_storage *storage;
    uint64_t version;
    bool writes;
} acu_exec_use;

/* Under the object's lock, but `raw`. A launch like the one before looks at the first line alone.
 */
struct acu_exec {
    acu_object object;
    cudaGraphExec_t raw;
    acu_timeline *last; /* of the last launch, which the others are before */
    uint64_t number;
    uint64_t shared_count; /* that timeline's at its last launch, if it alone used all; or
                              ACU_NOT_ALONE */
    bool stale, owned;
    acu_exec_use *uses; /* of all that is kept; gathered anew where `stale` */
    size_t use_count;
    uint32_t source;    /* the salt of the graph that it was made of; 0: unknown */
    int failed;         /* to destroy it; what it keeps may still have to wait */
    acu_kept_set *kept; /* what the graph kept, and what nodes were given since then */
    uint32_t *slots;    /* hashed: index + 1 into `uses`; twice as many as there is room */
    size_t use_room;
    acu_exec_previous *oldest, **newest;
};

extern ACU_OURS const acu_class acu_exec_class;

/*
 * Nearly always one thread alone launches a graph: a flag to set and to clear is all that it passes
 * then, where a mutex costs a call of a library and another locked instruction.
 */
void acu_exec_wait(acu_exec *exec) ACU_COLD;
static inline void acu_exec_lock(acu_exec *exec) {
    if (!ACU_LIKELY(!__atomic_exchange_n(&exec->object.busy, true, __ATOMIC_ACQUIRE)))
        acu_exec_wait(exec);
}
static inline void acu_exec_unlock(acu_exec *exec) {
    __atomic_store_n(&exec->object.busy, false, __ATOMIC_RELEASE);
}

/* All of this needs the lock. */

/* So that a launch need not allocate when `more` objects are kept; a failure is recorded. */
int acu_exec_reserve_uses(acu_exec *exec, size_t more);
/* From the next launch on the node uses this list, for which the kept has room, */
void acu_exec_replace_kept(acu_exec *exec, uint64_t node, acu_kept_list *list,
                           acu_exec_previous *old);
/* or all uses what is in the kept. Either is taken; `old` is for what was used until then. */
void acu_exec_replace_all_kept(acu_exec *exec, acu_kept_set *kept, acu_exec_previous *old);
/* What no launch uses any more; to be freed without the lock. */
acu_exec_previous *acu_exec_take_unused(acu_exec *exec);

void acu_exec_previous_free(acu_exec_previous *retired);

#endif
