/* Executable graphs as launches and changes see them. */
#ifndef ACU_SRC_EXEC_H
#define ACU_SRC_EXEC_H

#include <anycuda/exec.h>

#include "safe/base/timeline.h"
#include "safe/graph/graph.h"
#include "safe/memory/storage.h"

/* What an exec kept before a change, until the launches from before the change have ended. */
typedef struct acu_exec_previous {
    acu_kept_list *list; /* one of the two is NULL */
    acu_kept_set *set;
    acu_timeline *timeline;         /* an owner; NULL: there was no launch */
    uint64_t number;                /* on the timeline: of the last launch */
    struct acu_exec_previous *next; /* the next younger one */
} acu_exec_previous;

/* A value of acu_exec.shared_count: each launch has to look at all uses. */
static const uint64_t ACU_EXEC_SHARED = UINT64_MAX;

/* One use of memory by each launch. */
typedef struct acu_exec_use {
    acu_storage *storage;
    uint64_t version; /* of the use that has begun; see acu_storage_begin_use() */
    bool writes;
} acu_exec_use;

/*
 * All fields but `raw` are under the exec's lock. A launch on the same stream as the one before
 * looks at the first line of the cache only.
 */
struct acu_exec {
    acu_object object;
    cudaGraphExec_t raw;
    acu_timeline *last;    /* an owner; of the last launch, which all others are before */
    uint64_t number;       /* on that timeline: of the last launch */
    uint64_t shared_count; /* that timeline's when it was the only user of all memory, or
                              ACU_EXEC_SHARED */
    bool stale;            /* `uses` must be made again from `kept` */
    bool owned;            /* the raw exec is destroyed with the handle */
    acu_exec_use *uses;    /* of all memory that is kept */
    size_t use_count;
    unsigned flags;     /* that it was instantiated with; 0 where the raw exec was given */
    bool updatable;     /* kernels may change a node: the graph must be uploaded before a launch */
    bool uploaded;      /* since the last change */
    uint32_t source;    /* the salt of the graph that the exec was made of; 0: unknown */
    int failed;         /* the result of destroying the raw exec, while launches run on */
    acu_kept_set *kept; /* what the graph kept, with the changes of nodes since then */
    uint32_t *slots;    /* a hash table of 2 * use_room: index + 1 into `uses` */
    size_t use_room;
    acu_exec_previous *oldest, **newest; /* a list, and where its next one goes */
};

extern ACU_OURS const acu_class acu_exec_class;

/* Instantiates without options, for the public function `call`. Returns its result; sets *exec on
 * success only. */
int acu_graph_instantiate_for(const char *call, acu_graph *graph, acu_exec **exec);
/* Launches for the public function `call`: any exec on any stream, both of which are checked.
 * Returns its result. */
int acu_exec_launch_for(const char *call, acu_exec *exec, acu_stream *stream);

/* Waits for the exec's lock. Nearly always only one thread launches a graph, so the lock is one
 * flag: taking and clearing it costs less than a mutex, which needs a call of a library and one
 * more locked instruction. */
void acu_exec_wait(acu_exec *exec) ACU_COLD;
static inline void acu_exec_lock(acu_exec *exec) {
    if (!ACU_LIKELY(!__atomic_exchange_n(&exec->object.busy, true, __ATOMIC_ACQUIRE)))
        acu_exec_wait(exec);
}
static inline void acu_exec_unlock(acu_exec *exec) {
    __atomic_store_n(&exec->object.busy, false, __ATOMIC_RELEASE);
}

/* ---- changes; under the lock ---- */

/* Notes that the raw exec was changed: kernels see that after an upload, which the next launch does
 * where it must. */
static inline void acu_exec_mark_changed(acu_exec *exec) {
    exec->uploaded = false;
    if (exec->updatable)
        exec->shared_count = ACU_EXEC_SHARED;
}
/* Makes room for the uses of so many more objects, so that launches need not allocate. Returns 0,
 * or a recorded failure. */
int acu_exec_reserve_uses(acu_exec *exec, size_t more);
/* Gives the node another list, whose reference goes to the exec; acu_kept_set_reserve() has made
 * room. What the node kept before goes to `old`, which the exec takes. */
void acu_exec_replace_kept(acu_exec *exec, uint64_t node, acu_kept_list *list,
                           acu_exec_previous *old);
/* Gives the exec another set, whose reference goes to it, in the same way. */
void acu_exec_replace_all_kept(acu_exec *exec, acu_kept_set *set, acu_exec_previous *old);
/* Returns what no launch uses any more, which the caller frees without the lock. */
acu_exec_previous *acu_exec_take_unused(acu_exec *exec);

/* Releases what the whole list has kept; acu_release_error() has the failures. */
void acu_exec_previous_free(acu_exec_previous *previous);

#endif
