/* Executable graphs. */
#include "cudart_tables.h"
#include "event.h"
#include "graph.h"
#include "launch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static_assert((int)ACU_EXEC_AUTO_FREE == (int)cudaGraphInstantiateFlagAutoFreeOnLaunch, "");
static_assert((int)ACU_EXEC_UPLOAD == (int)cudaGraphInstantiateFlagUpload, "");
static_assert((int)ACU_EXEC_DEVICE_LAUNCH == (int)cudaGraphInstantiateFlagDeviceLaunch, "");
static_assert((int)ACU_EXEC_NODE_PRIORITIES == (int)cudaGraphInstantiateFlagUseNodePriority, "");
static_assert((int)ACU_UPDATE_ATTRIBUTES_CHANGED == (int)cudaGraphExecUpdateErrorAttributesChanged,
              "");

#define OUTCOME(exec, code) acu_outcome(__func__, (exec), (int)(code))

/* What a node uses since it was changed; or, retired, until when it is used. */
typedef struct acu_change {
    uint64_t node;
    acu_bag *bag;
    acu_timeline *timeline;
    uint64_t number;
    struct acu_change *next;
} acu_change;

enum { BUCKETS = 64 };

struct acu_exec {
    acu_object object;
    cudaGraphExec_t raw;
    bool owned;
    uint32_t source; /* the salt of the graph that it was made of; 0: unknown */
    int failed;      /* to destroy it; what it keeps may still have to wait */
    pthread_mutex_t lock;
    /* under the lock: */
    acu_bag *bag;                 /* what the graph kept */
    acu_change *changes[BUCKETS]; /* hashed by node */
    acu_change *oldest, **newest; /* retired */
    acu_ticket *tickets;          /* for a launch: one for each object that is kept */
    size_t ticket_room, kept, change_count;
    acu_timeline *last; /* of the last launch, which the others are before */
    uint64_t number;
};

/* ---- what it keeps -----------------------------------------------------------------------------
 */

static int free_change(acu_change *change) {
    int code = acu_bag_release(change->bag);
    int gone = acu_timeline_release(change->timeline);
    free(change);
    return code ? code : gone;
}

static void free_quietly(acu_change *change) {
    if (change && free_change(change))
        acu_keep_release_error();
}

/* Takes those out whose last launch is over; the caller frees them without the lock. */
static acu_change *take_unused(acu_exec *exec) {
    acu_change *first = exec->oldest, **link = &first;
    while (*link &&
           (!(*link)->timeline || acu_timeline_is_over((*link)->timeline, (*link)->number)))
        link = &(*link)->next;
    exec->oldest = *link;
    if (!exec->oldest)
        exec->newest = &exec->oldest;
    *link = NULL;
    return first;
}

static void free_all(acu_change *changes) {
    while (changes) {
        acu_change *next = changes->next;
        free_quietly(changes);
        changes = next;
    }
}

static void retire(acu_exec *exec, acu_change *change) {
    change->timeline = exec->last ? acu_timeline_retain(exec->last) : NULL;
    change->number = exec->number;
    change->next = NULL;
    *exec->newest = change;
    exec->newest = &change->next;
}

static size_t size_of(const acu_bag *bag) {
    return bag ? bag->count : 0;
}

static acu_change **bucket_of(acu_exec *exec, uint64_t node) {
    return &exec->changes[node % BUCKETS];
}

/* The node uses this instead of what it did. */
static void replace(acu_exec *exec, acu_change *change) {
    acu_change **link = bucket_of(exec, change->node);
    while (*link && (*link)->node != change->node)
        link = &(*link)->next;
    acu_change *old = *link;
    change->next = old ? old->next : NULL;
    *link = change;
    exec->kept += size_of(change->bag) - (old ? size_of(old->bag) : 0);
    if (old)
        retire(exec, old);
    else
        exec->change_count++;
}

/* All that is kept; `visit` stops at its first failure. */
typedef int visitor(void *data, const acu_kept *kept);

static int visit_bag(const acu_bag *bag, visitor *visit, void *data) {
    int code = 0;
    for (size_t i = 0; bag && i < bag->count && !code; i++)
        code = visit(data, &bag->kept[i]);
    return code;
}

static int visit_all(acu_exec *exec, visitor *visit, void *data) {
    int code = visit_bag(exec->bag, visit, data);
    for (unsigned i = 0; exec->change_count > 0 && i < BUCKETS && !code; i++)
        for (acu_change *c = exec->changes[i]; c && !code; c = c->next)
            code = visit_bag(c->bag, visit, data);
    return code;
}

/* So that a launch need not allocate. */
static int reserve_tickets(acu_exec *exec, size_t more) {
    size_t count = exec->kept + more;
    if (count <= exec->ticket_room)
        return 0;
    acu_ticket *tickets = realloc(exec->tickets, 2 * count * sizeof *tickets);
    if (!tickets)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for what the graph keeps");
    exec->tickets = tickets;
    exec->ticket_room = 2 * count;
    return 0;
}

/* ---- life --------------------------------------------------------------------------------------
 */

/* CUDA lets a launch under way go on; what it uses waits for that. */
static int destroy_exec(acu_object *object) {
    acu_exec *exec = (acu_exec *)object;
    if (exec->owned && !acu_is_unloading())
        exec->failed = acu_released((int)cudaGraphExecDestroy(exec->raw));
    exec->owned = false;
    if (exec->last && !acu_timeline_is_over(exec->last, exec->number))
        return ACU_LATER;
    for (unsigned i = 0; i < BUCKETS; i++)
        free_all(exec->changes[i]);
    free_all(exec->oldest);
    int kept = acu_bag_release(exec->bag);
    int gone = acu_timeline_release(exec->last);
    pthread_mutex_destroy(&exec->lock);
    free(exec->tickets);
    return exec->failed ? exec->failed : kept ? kept : gone;
}

static const acu_class exec_class = {"executable graph", destroy_exec, NULL};

static acu_exec *new_exec(const char *call) {
    acu_exec *exec = acu_object_new(call, &exec_class, sizeof *exec, -1);
    if (!exec)
        return NULL;
    pthread_mutex_init(&exec->lock, NULL);
    exec->newest = &exec->oldest;
    return exec;
}

static int take_exec(const char *call, cudaGraphExec_t raw, bool owned, acu_exec **exec) {
    if (!exec || !raw)
        return acu_fault(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", exec ? "raw" : "exec");
    acu_exec *made = *exec = new_exec(call);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->raw = raw;
    made->owned = owned;
    return 0;
}

acu_result acu_exec_wrap(struct CUgraphExec_st *raw, acu_exec **exec) {
    return take_exec(__func__, raw, false, exec);
}

acu_result acu_exec_adopt(struct CUgraphExec_st *raw, acu_exec **exec) {
    return take_exec(__func__, raw, true, exec);
}

struct CUgraphExec_st *acu_exec_raw(const acu_exec *exec) {
    return exec ? exec->raw : NULL;
}

acu_exec *acu_exec_retain(acu_exec *exec) {
    return acu_object_retain(__func__, exec, &exec_class);
}

acu_result acu_exec_release(acu_exec *exec) {
    acu_destroy_deferred();
    return acu_object_release(__func__, exec, &exec_class);
}

void acu_exec_cleanup(acu_exec **exec) {
    (void)acu_exec_release(*exec);
}

/* ---- instantiating -----------------------------------------------------------------------------
 */

static const char *const failures[] = {"",
                                       "",
                                       "its structure is invalid",
                                       "it does something that cannot be done like this",
                                       "it is of another device",
                                       "its conditional handle is not used"};

/* Names the node and the reason behind the graph. */
static int blame_node(const char *call, acu_graph *graph, const cudaGraphInstantiateParams *params,
                      int code) {
    char object[ACU_OBJECT_TEXT], said[ACU_OBJECT_TEXT], node[64] = "";
    unsigned result = (unsigned)params->result_out;
    const char *why = result < sizeof failures / sizeof *failures ? failures[result] : "";
    acu_describe(graph, object);
    if (params->errNode_out)
        acu_node_describe(graph, params->errNode_out, node);
    if (!*node && !*why)
        return acu_blame(call, object, code);
    snprintf(said, sizeof said, "%.70s, %s%s%s", object, *node ? node : "the graph",
             *why ? ": " : "", why);
    return acu_blame(call, said, code);
}

/* Before 12.0 nothing is told of the node at fault. */
static int instantiate(acu_graph *graph, const acu_exec_options *o, cudaGraphExec_t *raw,
                       cudaGraphInstantiateParams *params) {
    if (!acu_knows(&acu_function_cudaGraphInstantiateWithParams))
        return (int)cudaGraphInstantiate(raw, graph->raw, o->flags);
    params->flags = o->flags;
    params->uploadStream = o->upload ? o->upload->raw : NULL;
    return (int)cudaGraphInstantiateWithParams(raw, graph->raw, params);
}

static int make_exec(const char *call, acu_graph *graph, const acu_exec_options *o,
                     acu_exec *exec) {
    cudaGraphInstantiateParams params = {0};
    exec->bag = acu_graph_bag(graph);
    exec->kept = size_of(exec->bag);
    int code = acu_outcome(call, graph, reserve_tickets(exec, 0));
    if (code)
        return code;
    acu_graph_lock(graph);
    code = instantiate(graph, o, &exec->raw, &params);
    if (code)
        blame_node(call, graph, &params, code);
    acu_graph_unlock(graph);
    exec->owned = !code;
    return code;
}

acu_result acu_graph_instantiate(acu_graph *graph, const acu_exec_options *options,
                                 acu_exec **exec) {
    static const acu_exec_options none;
    const acu_exec_options *o = options ? options : &none;
    ACU_NEED_POINTER(exec);
    *exec = NULL;
    acu_destroy_deferred();
    ACU_NEED(graph, acu_graph_class);
    if (o->upload)
        ACU_NEED_STREAM(o->upload);
    ACU_TRY(acu_graph_not_captured(__func__, graph));
    acu_exec *made = new_exec(__func__);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->source = graph->root->salt;
    int code = make_exec(__func__, graph, o, made);
    if (code)
        (void)acu_object_release(NULL, made, &exec_class);
    else
        *exec = made;
    return code;
}

/* ---- launching ---------------------------------------------------------------------------------
 */

typedef struct launching {
    acu_exec *exec;
    acu_stream *stream;
    size_t begun, ended;
    int first; /* failure of an end */
} launching;

static int begin_use(void *data, const acu_kept *kept) {
    launching *l = data;
    if (kept->object->was != &acu_storage_class)
        return 0;
    int code = acu_use_begin((acu_storage *)kept->object, l->stream, kept->writes,
                             &l->exec->tickets[l->begun]);
    if (!code)
        l->begun++;
    return code;
}

static int end_use(void *data, const acu_kept *kept) {
    launching *l = data;
    if (kept->object->was != &acu_storage_class)
        return 0;
    if (l->ended == l->begun)
        return 1; /* no more were begun */
    int code = acu_use_end((acu_storage *)kept->object, l->stream, kept->writes,
                           &l->exec->tickets[l->ended++]);
    l->first = l->first ? l->first : code;
    return 0;
}

static int capture_use(void *data, const acu_kept *kept) {
    acu_capture *capture = data;
    return capture->use(capture, kept->object, kept->writes);
}

static int launch_raw(acu_exec *exec, acu_stream *stream) {
    acu_guard guard;
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaGraphLaunch(exec->raw, stream->raw);
    acu_guard_leave(&guard);
    return code;
}

static void remember_launch(acu_exec *exec, acu_timeline *timeline) {
    acu_timeline *before = exec->last;
    exec->number = acu_timeline_issue(timeline);
    if (before == timeline)
        return;
    exec->last = acu_timeline_retain(timeline);
    if (acu_timeline_release(before))
        acu_keep_release_error();
}

static int launch(acu_exec *exec, acu_stream *stream) {
    acu_capture *capture = acu_capture_of(stream);
    if (capture) { /* the graph that is captured has a copy of it */
        int code = visit_all(exec, capture_use, capture);
        return code ? code : launch_raw(exec, stream);
    }
    launching l = {.exec = exec, .stream = stream};
    int code = visit_all(exec, begin_use, &l);
    if (!code) {
        code = launch_raw(exec, stream);
        remember_launch(exec, stream->timeline);
    }
    (void)visit_all(exec, end_use, &l);
    return code ? code : l.first;
}

acu_result acu_exec_launch(acu_exec *exec, acu_stream *stream) {
    ACU_NEED(exec, exec_class);
    ACU_NEED_STREAM(stream);
    pthread_mutex_lock(&exec->lock);
    int code = launch(exec, stream);
    pthread_mutex_unlock(&exec->lock);
    return OUTCOME(exec, code);
}

static int upload(acu_exec *exec, acu_stream *stream) {
    acu_guard guard;
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaGraphUpload(exec->raw, stream->raw);
    acu_guard_leave(&guard);
    return code;
}

acu_result acu_exec_upload(acu_exec *exec, acu_stream *stream) {
    ACU_NEED(exec, exec_class);
    ACU_NEED_STREAM(stream);
    int code = acu_stream_not_captured(stream);
    if (code)
        return OUTCOME(stream, code);
    pthread_mutex_lock(&exec->lock);
    code = upload(exec, stream);
    pthread_mutex_unlock(&exec->lock);
    return OUTCOME(exec, code);
}

acu_result acu_exec_flags(acu_exec *exec, uint64_t *flags) {
    unsigned long long bits = 0;
    ACU_NEED_POINTER(flags);
    ACU_NEED(exec, exec_class);
    pthread_mutex_lock(&exec->lock);
    int code = (int)cudaGraphExecGetFlags(exec->raw, &bits);
    pthread_mutex_unlock(&exec->lock);
    *flags = bits;
    return OUTCOME(exec, code);
}

acu_result acu_exec_id(acu_exec *exec, unsigned *id) {
    ACU_NEED_POINTER(id);
    *id = 0;
    ACU_NEED(exec, exec_class);
    pthread_mutex_lock(&exec->lock);
    int code = (int)cudaGraphExecGetId(exec->raw, id);
    pthread_mutex_unlock(&exec->lock);
    return OUTCOME(exec, code);
}

/* ---- updating ----------------------------------------------------------------------------------
 */

static const char *const refusals[] = {"",
                                       "the update failed",
                                       "the graphs have other nodes or dependencies",
                                       "a node is of another kind",
                                       "a kernel is another one",
                                       "parameters changed that must stay",
                                       "something about the node cannot be updated",
                                       "the kernel is another one in a way that cannot be updated",
                                       "attributes of the node changed that must stay"};

static int refuse_update(const char *call, acu_exec *exec, acu_graph *graph,
                         const cudaGraphExecUpdateResultInfo *info, int code) {
    char object[ACU_OBJECT_TEXT], said[ACU_OBJECT_TEXT], node[64] = "";
    unsigned result = (unsigned)info->result;
    const char *why = result < sizeof refusals / sizeof *refusals ? refusals[result] : "";
    acu_describe(exec, object);
    if (info->errorNode)
        acu_node_describe(graph, info->errorNode, node);
    snprintf(said, sizeof said, "%.50s%s%s%s%s", object, *why ? ": " : "", why,
             *node ? ", at " : "", node);
    if (code == cudaErrorGraphExecUpdateFailure)
        (void)cudaGetLastError(); /* an answer */
    acu_blame(call, said, code);
    acu_hint("the executable graph is as before; instantiate the other one instead");
    return code;
}

/* What the graph keeps takes the place of all that was kept so far. */
static void take_over(acu_exec *exec, acu_change *old, acu_bag *bag) {
    old->bag = exec->bag;
    exec->bag = bag;
    exec->kept = size_of(bag);
    retire(exec, old);
    for (unsigned i = 0; i < BUCKETS; i++)
        while (exec->changes[i]) {
            acu_change *change = exec->changes[i];
            exec->changes[i] = change->next;
            retire(exec, change);
        }
    exec->change_count = 0;
}

static int update_locked(acu_exec *exec, acu_graph *graph, acu_change *old, acu_update *update) {
    cudaGraphExecUpdateResultInfo info = {0};
    acu_bag *bag = acu_graph_bag(graph);
    int code = acu_outcome("acu_exec_update", exec, reserve_tickets(exec, size_of(bag)));
    if (!code && !acu_nodes_reserve(graph, 1))
        code = acu_fault("acu_exec_update", "", ACU_ERROR_HOST_MEMORY, "no memory for a node");
    if (!code) {
        code = (int)cudaGraphExecUpdate(exec->raw, graph->raw, &info);
        if (code)
            refuse_update("acu_exec_update", exec, graph, &info, code);
        update->outcome = (acu_update_outcome)info.result;
        update->error_node = code ? acu_node_of(graph, info.errorNode) : (acu_node){NULL, 0};
    }
    if (!code)
        take_over(exec, old, bag);
    else
        (void)acu_bag_release(bag);
    return code;
}

acu_result acu_exec_update(acu_exec *exec, acu_graph *graph, acu_update *update) {
    acu_update unwanted, *told = update ? update : &unwanted;
    *told = (acu_update){ACU_UPDATE_ERROR, {NULL, 0}};
    acu_destroy_deferred();
    ACU_NEED(exec, exec_class);
    ACU_NEED(graph, acu_graph_class);
    ACU_TRY(acu_graph_not_captured(__func__, graph));
    acu_change *old = calloc(1, sizeof *old);
    ACU_REQUIRE(old, ACU_ERROR_HOST_MEMORY, "no memory for an update");
    acu_graph_lock(graph);
    pthread_mutex_lock(&exec->lock);
    int code = update_locked(exec, graph, old, told);
    acu_change *unused = take_unused(exec);
    pthread_mutex_unlock(&exec->lock);
    acu_graph_unlock(graph);
    if (code)
        free(old);
    free_all(unused);
    return code;
}

/* ---- changing a node ---------------------------------------------------------------------------
 */

/* A change that is being made. Between begin() and end() exec and graph are locked. */
typedef struct changing {
    const char *call;
    acu_exec *exec;
    acu_node node;
    acu_graph *other; /* a child, locked as well */
    cudaGraphNode_t raw;
    acu_change *change;
    acu_guard guard;
} changing;

#define CHANGING(c) changing c = {.call = __func__, exec, node}

static int check_change(changing *c) {
    char text[ACU_OBJECT_TEXT];
    if (!acu_is(c->exec, &exec_class))
        return acu_bad_handle(c->call, c->exec, &exec_class);
    int code = acu_node_check(c->call, c->node, &c->raw);
    if (code)
        return code;
    if (c->exec->source && c->node.graph->root->salt != c->exec->source)
        return acu_fault(c->call, acu_describe(c->exec, text), ACU_ERROR_ARGUMENT,
                         "the node is not of the graph that was instantiated");
    return 0;
}

static int keep_in(acu_change *change, const acu_kept *keeps, size_t count) {
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = acu_bag_add(&change->bag, keeps[i].object, keeps[i].writes);
    return code;
}

static void unlock(changing *c) {
    pthread_mutex_unlock(&c->exec->lock);
    acu_graph_unlock_both(c->node.graph, c->other ? c->other : c->node.graph);
}

/* On success, end() follows. */
static int begin(changing *c, int device, const acu_kept *keeps, size_t count) {
    int code = check_change(c);
    if (code)
        return code;
    acu_destroy_deferred();
    c->change = calloc(1, sizeof *c->change);
    if (!c->change)
        return acu_fault(c->call, "", ACU_ERROR_HOST_MEMORY, "no memory for a change");
    c->change->node = c->node.id;
    acu_graph_lock_both(c->node.graph, c->other ? c->other : c->node.graph);
    pthread_mutex_lock(&c->exec->lock);
    c->guard.changed = false;
    code = keep_in(c->change, keeps, count);
    if (!code && device >= 0)
        code = acu_guard_enter(&c->guard, device);
    if (!code)
        return 0;
    unlock(c);
    free_quietly(c->change);
    return acu_outcome(c->call, c->exec, code);
}

/* Nothing that the node used is given up where CUDA refused. */
static int end(changing *c, int code) {
    acu_change *unused = c->change;
    acu_guard_leave(&c->guard);
    if (!code) {
        replace(c->exec, c->change);
        unused = take_unused(c->exec);
    }
    unlock(c);
    code = acu_outcome(c->call, c->exec, code);
    free_all(unused);
    return code;
}

/* Before CUDA changes the node, for what the change keeps then. */
static int reserve(const changing *c) {
    return reserve_tickets(c->exec, size_of(c->change->bag));
}

static int set_kernel(changing *c, const acu_prepared *p) {
    int code = acu_bag_add(&c->change->bag, (acu_object *)p->kernel, false);
    for (unsigned i = 0; i < p->use_count && !code; i++)
        code = acu_bag_add(&c->change->bag, &p->uses[i].buffer->storage->object, p->uses[i].writes);
    for (unsigned i = 0; i < p->event_count && !code; i++)
        code = acu_bag_add(&c->change->bag, &p->events[i]->object, false);
    if (!code)
        code = reserve(c);
    return code ? code : acu_prepared_set_exec_node(p, c->exec->raw, c->raw);
}

acu_result acu_exec_set_kernel(acu_exec *exec, acu_node node, acu_kernel *kernel,
                               const acu_grid *grid, const acu_arg *args, size_t arg_count) {
    acu_prepared prepared;
    CHANGING(c);
    ACU_TRY(acu_prepare(__func__, kernel, grid, args, arg_count, &prepared));
    ACU_TRY(begin(&c, acu_kernel_device(kernel), NULL, 0));
    return end(&c, set_kernel(&c, &prepared));
}

acu_result acu_exec_set_copy(acu_exec *exec, acu_node node, const acu_copy *copy) {
    acu_node_params p;
    CHANGING(c);
    ACU_TRY(acu_copy_params(__func__, copy, &p));
    ACU_TRY(begin(&c, p.device, p.keeps, p.count));
    int code = reserve(&c);
    if (!code)
        code = (int)cudaGraphExecMemcpyNodeSetParams1D(exec->raw, c.raw, p.copy.to, p.copy.from,
                                                       p.copy.bytes, p.copy.kind);
    return end(&c, code);
}

acu_result acu_exec_set_memcpy(acu_exec *exec, acu_node node,
                               const struct cudaMemcpy3DParms *params) {
    CHANGING(c);
    ACU_NEED_POINTER(params);
    ACU_TRY(begin(&c, -1, NULL, 0));
    return end(&c, (int)cudaGraphExecMemcpyNodeSetParams(exec->raw, c.raw, params));
}

acu_result acu_exec_set_fill(acu_exec *exec, acu_node node, const acu_fill *fill) {
    acu_node_params p;
    CHANGING(c);
    ACU_TRY(acu_fill_params(__func__, fill, &p));
    ACU_TRY(begin(&c, p.device, p.keeps, p.count));
    int code = reserve(&c);
    if (!code)
        code = (int)cudaGraphExecMemsetNodeSetParams(exec->raw, c.raw, &p.fill);
    return end(&c, code);
}

static int set_host(changing *c, const acu_closure *closure) {
    if (!closure->call)
        return acu_fault(c->call, "", ACU_ERROR_ARGUMENT, "'closure.call' is NULL");
    acu_kept_closure *kept = acu_closure_keep(c->call, closure);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    acu_kept keep = {&kept->object, false};
    struct cudaHostNodeParams params = {acu_closure_run, kept};
    int code = begin(c, -1, &keep, 1);
    if (!code) {
        code = reserve(c);
        if (!code)
            code = (int)cudaGraphExecHostNodeSetParams(c->exec->raw, c->raw, &params);
        if (code)
            kept->closure.destroy = NULL; /* the caller does it */
        code = end(c, code);
    } else {
        kept->closure.destroy = NULL;
    }
    (void)acu_object_release(NULL, kept, kept->object.was);
    return code;
}

acu_result acu_exec_set_host(acu_exec *exec, acu_node node, acu_closure closure) {
    CHANGING(c);
    int code = set_host(&c, &closure);
    if (code && closure.destroy)
        closure.destroy(closure.data);
    return code;
}

acu_result acu_exec_set_child(acu_exec *exec, acu_node node, acu_graph *child) {
    CHANGING(c);
    ACU_NEED(child, acu_graph_class);
    ACU_TRY(acu_graph_not_captured(__func__, child));
    c.other = child;
    ACU_TRY(begin(&c, -1, NULL, 0));
    c.change->bag = acu_graph_bag(child);
    int code = reserve(&c);
    if (!code)
        code = (int)cudaGraphExecChildGraphNodeSetParams(exec->raw, c.raw, child->raw);
    return end(&c, code);
}

static int set_event(const changing *c, const acu_event *event) {
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    int code = (int)cudaGraphNodeGetType(c->raw, &type);
    if (!code)
        code = reserve(c);
    if (code)
        return code;
    return type == cudaGraphNodeTypeWaitEvent
               ? (int)cudaGraphExecEventWaitNodeSetEvent(c->exec->raw, c->raw, event->raw)
               : (int)cudaGraphExecEventRecordNodeSetEvent(c->exec->raw, c->raw, event->raw);
}

acu_result acu_exec_set_event(acu_exec *exec, acu_node node, acu_event *event) {
    CHANGING(c);
    ACU_NEED(event, acu_event_class);
    acu_kept keep = {&event->object, false};
    ACU_TRY(begin(&c, event->object.device, &keep, 1));
    return end(&c, set_event(&c, event));
}

acu_result acu_exec_set_raw(acu_exec *exec, acu_node node, struct cudaGraphNodeParams *params) {
    CHANGING(c);
    ACU_NEED_POINTER(params);
    ACU_TRY(begin(&c, -1, NULL, 0));
    return end(&c, (int)cudaGraphExecNodeSetParams(exec->raw, c.raw, params));
}

static int with_node(changing *c, bool set, unsigned *enabled) {
    int code = check_change(c);
    if (code)
        return code;
    acu_graph_lock(c->node.graph);
    pthread_mutex_lock(&c->exec->lock);
    code = (int)(set ? cudaGraphNodeSetEnabled(c->exec->raw, c->raw, *enabled)
                     : cudaGraphNodeGetEnabled(c->exec->raw, c->raw, enabled));
    unlock(c);
    return acu_outcome(c->call, c->exec, code);
}

acu_result acu_exec_set_enabled(acu_exec *exec, acu_node node, bool enabled) {
    unsigned value = enabled;
    CHANGING(c);
    return with_node(&c, true, &value);
}

acu_result acu_exec_enabled(acu_exec *exec, acu_node node, bool *enabled) {
    unsigned value = 0;
    CHANGING(c);
    ACU_NEED_POINTER(enabled);
    *enabled = false;
    ACU_TRY(with_node(&c, false, &value));
    *enabled = value != 0;
    return 0;
}
