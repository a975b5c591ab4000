/*
 * User objects, which graphs keep alive. A thread of the simulator calls their destructors, some
 * time after the last reference was given up.
 */
#include "sim/graph/user_object.h"

#include "sim/caller.h"
#include "sim/graph/graph.h"
#include "sim/set.h"
#include "sim/stream/stream.h"

#include <limits.h>
#include <stdlib.h>

struct acu_sim_user_object {
    uint64_t refs;  /* of the program and of graphs */
    uint64_t owned; /* of the program only */
    void *data;     /* the argument of `destroy` */
    cudaHostFn_t destroy;
    const void *where;                    /* where the program created the object */
    acu_sim_user_object *next, *previous; /* `previous` only while there are references */
};

static acu_sim_user_object *objects; /* those with references */
/* User objects whose destructor must be called, and where the next one is appended. */
static acu_sim_user_object *doomed, **doomed_end = &doomed;
static acu_sim_set handles;
static bool is_destroying; /* the thread that calls destructors runs */

/* ---- destroying ---- */

/* The thread that calls destructors, without the lock, until there is no more doomed object. */
static void *destroy_all(void *unused) {
    (void)unused;
    acu_sim_self()->in_callback = true;
    pthread_mutex_lock(&acu_sim_lock);
    while (doomed) {
        acu_sim_user_object *object = doomed;
        doomed = object->next;
        if (!doomed)
            doomed_end = &doomed;
        pthread_mutex_unlock(&acu_sim_lock);
        object->destroy(object->data);
        free(object);
        pthread_mutex_lock(&acu_sim_lock);
    }
    is_destroying = false;
    pthread_mutex_unlock(&acu_sim_lock);
    return NULL;
}

/* Starts the thread. If that fails, the next doomed object tries again. */
static void start_destroying(void) {
    if (!is_destroying)
        is_destroying = acu_sim_stream_thread_start(destroy_all, NULL);
}

static void withdraw(acu_sim_user_object *object) {
    acu_sim_set_remove(&handles, object);
    if (object->previous)
        object->previous->next = object->next;
    else
        objects = object->next;
    if (object->next)
        object->next->previous = object->previous;
    object->next = NULL;
}

static void release(acu_sim_user_object *object, uint64_t count) {
    object->refs -= count;
    if (object->refs)
        return;
    withdraw(object);
    *doomed_end = object;
    doomed_end = &object->next;
    start_destroying();
}

static acu_sim_user_object *object_of(cudaUserObject_t handle) {
    acu_sim_user_object *object = (acu_sim_user_object *)(void *)handle;
    return acu_sim_set_has(&handles, object) ? object : NULL;
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_user_object *object = objects; object; object = object->next)
        if (object->owned) {
            count++;
            if (print)
                acu_sim_caller_report("user object", object, 0, object->where);
        }
    return count;
}

/* Destructors are not called on a reset, because nothing would wait until they have run: what they
 * use might be gone. */
static void reset(void) {
    while (objects) {
        acu_sim_user_object *object = objects;
        withdraw(object);
        free(object);
    }
}

const acu_sim_noun acu_sim_user_object_noun = {.reset = reset, .leaks = leaks};

/* ---- references of graphs ---- */

/* Returns the references that a graph has to an object, perhaps 0; NULL without memory. */
static acu_sim_keep *keep_of(acu_sim_graph *graph, acu_sim_user_object *object) {
    for (size_t i = 0; i < graph->keep_count; i++)
        if (graph->keeps[i].object == object)
            return &graph->keeps[i];
    acu_sim_keep *grown = realloc(graph->keeps, (graph->keep_count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    graph->keeps = grown;
    grown[graph->keep_count] = (acu_sim_keep){object, 0};
    return &grown[graph->keep_count++];
}

bool acu_sim_user_objects_copy(acu_sim_graph *to, const acu_sim_graph *from) {
    for (size_t i = 0; i < from->keep_count; i++) {
        acu_sim_keep *keep = keep_of(to, from->keeps[i].object);
        if (!keep)
            return false;
        keep->count += from->keeps[i].count;
        keep->object->refs += from->keeps[i].count;
    }
    return true;
}

void acu_sim_user_objects_clear(acu_sim_graph *graph) {
    for (size_t i = 0; i < graph->keep_count; i++)
        if (graph->keeps[i].count)
            release(graph->keeps[i].object, graph->keeps[i].count);
    free(graph->keeps);
    graph->keeps = NULL;
    graph->keep_count = 0;
}

/* ---- the API ---- */

cudaError_t acu_sim_cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr,
                                         cudaHostFn_t destroy, unsigned int initialRefcount,
                                         unsigned int flags) {
    if (!object_out || !destroy || !initialRefcount || flags != cudaUserObjectNoDestructorSync)
        return cudaErrorInvalidValue;
    acu_sim_user_object *object = calloc(1, sizeof *object);
    if (!object || !acu_sim_set_add(&handles, object)) {
        free(object);
        return cudaErrorMemoryAllocation;
    }
    *object = (acu_sim_user_object){.refs = initialRefcount,
                                    .owned = initialRefcount,
                                    .data = ptr,
                                    .destroy = destroy,
                                    .where = SIM_CALLER,
                                    .next = objects};
    if (objects)
        objects->previous = object;
    objects = object;
    *object_out = (cudaUserObject_t)(void *)object;
    return cudaSuccess;
}

/* Finds the object of a handle; a count of references that CUDA does not allow is an error. */
static cudaError_t find(cudaUserObject_t handle, unsigned count, acu_sim_user_object **object) {
    *object = object_of(handle);
    return !*object || !count || count > INT_MAX ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t acu_sim_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count_) {
    acu_sim_user_object *o;
    SIM_TRY(find(object, count_, &o));
    o->refs += count_;
    o->owned += count_;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count_) {
    acu_sim_user_object *o;
    SIM_TRY(find(object, count_, &o));
    if (count_ > o->owned)
        return cudaErrorInvalidValue;
    o->owned -= count_;
    release(o, count_);
    return cudaSuccess;
}

static cudaError_t retain(acu_sim_graph *graph, acu_sim_user_object *object, unsigned count,
                          bool move) {
    if (move && count > object->owned)
        return cudaErrorInvalidValue;
    acu_sim_keep *keep = keep_of(graph, object);
    if (!keep)
        return cudaErrorMemoryAllocation;
    keep->count += count;
    if (move)
        object->owned -= count;
    else
        object->refs += count;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                              unsigned int count_, unsigned int flags) {
    acu_sim_user_object *o;
    SIM_TRY(find(object, count_, &o));
    acu_sim_graph *g = acu_sim_graph_of(graph);
    if (!g || flags > cudaGraphUserObjectMove)
        return cudaErrorInvalidValue;
    return retain(g, o, count_, flags == cudaGraphUserObjectMove);
}

cudaError_t acu_sim_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                               unsigned int count_) {
    acu_sim_user_object *o;
    SIM_TRY(find(object, count_, &o));
    acu_sim_graph *g = acu_sim_graph_of(graph);
    acu_sim_keep *keep = NULL;
    for (size_t i = 0; g && i < g->keep_count; i++)
        if (g->keeps[i].object == o)
            keep = &g->keeps[i];
    if (!keep || keep->count < count_)
        return cudaErrorInvalidValue;
    keep->count -= count_;
    release(o, count_);
    return cudaSuccess;
}
