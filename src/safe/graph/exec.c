/* Executable graphs: their life, what they keep and until when, and launches. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "core/call.h"
#include "safe/graph/exec.h"

#include "cudart_abi.h"
#include "safe/graph/node.h"
#include "safe/base/active_capture.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OUTCOME(exec, code) acu_outcome(__func__, (exec), (int)(code))

/* Waits for the exec's lock. The lock is held for a short time, except where CUDA waits for room
 * for a launch: after some tries the thread sleeps between them. */
void acu_exec_wait(acu_exec *exec) {
    const struct timespec moment = {.tv_nsec = 20000};
    for (int i = 0; __atomic_exchange_n(&exec->object.busy, true, __ATOMIC_ACQUIRE); i++)
        if (i < 100)
            (void)sched_yield();
        else
            (void)nanosleep(&moment, NULL);
}

/* ---- what it keeps ---- */

void acu_exec_previous_free(acu_exec_previous *previous) {
    while (previous) {
        acu_exec_previous *old = previous;
        previous = old->next;
        int list = acu_kept_list_release(old->list), set = acu_kept_set_release(old->set);
        int gone = acu_timeline_release(old->timeline);
        if (list || set || gone)
            acu_record_release_error();
        free(old);
    }
}

acu_exec_previous *acu_exec_take_unused(acu_exec *exec) {
    acu_exec_previous *first = exec->oldest, **link = &first;
    while (*link &&
           (!(*link)->timeline || acu_timeline_is_over((*link)->timeline, (*link)->number)))
        link = &(*link)->next;
    exec->oldest = *link;
    if (!exec->oldest)
        exec->newest = &exec->oldest;
    *link = NULL;
    return first;
}

/* Takes `old`, which is freed when the last launch until now has ended. */
static void retire(acu_exec *exec, acu_exec_previous *old) {
    old->timeline = exec->last ? acu_timeline_retain(exec->last) : NULL;
    old->number = exec->number;
    *exec->newest = old;
    exec->newest = &old->next;
    exec->stale = true;
    exec->shared_count = ACU_EXEC_SHARED;
    acu_exec_mark_changed(exec);
}

void acu_exec_replace_kept(acu_exec *exec, uint64_t node, acu_kept_list *list,
                           acu_exec_previous *old) {
    *old = (acu_exec_previous){.list = acu_kept_set_replace(exec->kept, node, list)};
    retire(exec, old);
}

void acu_exec_replace_all_kept(acu_exec *exec, acu_kept_set *set, acu_exec_previous *old) {
    *old = (acu_exec_previous){.set = exec->kept};
    exec->kept = set;
    retire(exec, old);
}

int acu_exec_reserve_uses(acu_exec *exec, size_t more) {
    size_t room = 8;
    while (room < acu_kept_set_size(exec->kept) + more)
        room *= 2;
    if (room <= exec->use_room)
        return 0;
    acu_exec_use *uses = malloc(room * sizeof *uses);
    uint32_t *slots = room < UINT32_MAX / 2 ? malloc(2 * room * sizeof *slots) : NULL;
    if (!uses || !slots) {
        free(uses);
        free(slots);
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for what the graph keeps");
    }
    free(exec->uses);
    free(exec->slots);
    exec->uses = uses;
    exec->slots = slots;
    exec->use_room = room;
    exec->stale = true;
    exec->shared_count = ACU_EXEC_SHARED;
    return 0;
}

/* Adds a use of memory; several nodes' uses of the same memory become one. */
static void add_use(void *data, const acu_object_use *kept) {
    acu_exec *exec = data;
    if (kept->object->was != &acu_storage_class)
        return;
    acu_storage *storage = (acu_storage *)kept->object;
    size_t mask = 2 * exec->use_room - 1;
    size_t at =
        (size_t)(((uint64_t)(uintptr_t)storage * UINT64_C(0x9e3779b97f4a7c15)) >> 32u) & mask;
    while (exec->slots[at] && exec->uses[exec->slots[at] - 1].storage != storage)
        at = (at + 1) & mask;
    if (exec->slots[at]) {
        exec->uses[exec->slots[at] - 1].writes |= kept->writes;
        return;
    }
    exec->uses[exec->use_count++] = (acu_exec_use){.storage = storage, .writes = kept->writes};
    exec->slots[at] = exec->use_count;
}

static void gather_uses(acu_exec *exec) {
    exec->use_count = 0;
    memset(exec->slots, 0, 2 * exec->use_room * sizeof *exec->slots);
    acu_kept_set_each(exec->kept, add_use, exec);
    exec->stale = false;
}

/* ---- life ---- */

/* CUDA lets launches run on when the raw exec is destroyed. What they use is kept until they have
 * ended: ACU_LATER. */
static int destroy_exec(acu_object *object) {
    acu_exec *exec = (acu_exec *)object;
    if (exec->owned && !acu_is_unloading())
        exec->failed = acu_forgive_unloading((int)cudaGraphExecDestroy(exec->raw));
    exec->owned = false;
    if (exec->last && !acu_timeline_is_over(exec->last, exec->number))
        return ACU_LATER;
    acu_exec_previous_free(exec->oldest);
    int kept = acu_kept_set_release(exec->kept);
    int gone = acu_timeline_release(exec->last);
    free(exec->uses);
    free(exec->slots);
    return exec->failed ? exec->failed : kept ? kept : gone;
}

static void describe_exec(const acu_object *object, acu_description *d) {
    const acu_exec *exec = (const acu_exec *)object;
    acu_describe(d, "%s %p", exec->owned ? "raw" : "wrapped", (void *)exec->raw);
}

const acu_class acu_exec_class = {"executable graph", destroy_exec, describe_exec, NULL};

static acu_exec *new_exec(const char *call) {
    acu_exec *exec = acu_object_new(call, &acu_exec_class, sizeof *exec, ACU_EVERY_DEVICE);
    if (!exec)
        return NULL;
    exec->newest = &exec->oldest;
    return exec;
}

static int take_exec(const char *call, cudaGraphExec_t raw, bool owned, acu_exec **exec) {
    if (exec)
        *exec = NULL;
    if (!exec || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", exec ? "raw" : "exec");
    acu_exec *made = *exec = new_exec(call);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->raw = raw;
    made->owned = owned;
    return 0;
}

acu_result acu_exec_wrap(struct CUgraphExec_st *raw, acu_exec **exec) {
    ACU_SCOPE();
    return take_exec(__func__, raw, false, exec);
}

acu_result acu_exec_adopt(struct CUgraphExec_st *raw, acu_exec **exec) {
    ACU_SCOPE();
    return take_exec(__func__, raw, true, exec);
}

struct CUgraphExec_st *acu_exec_raw(const acu_exec *exec) {
    return acu_is(exec, &acu_exec_class) ? exec->raw : NULL;
}

acu_exec *acu_exec_retain(acu_exec *exec) {
    return acu_object_retain(__func__, exec, &acu_exec_class);
}

acu_result acu_exec_release(acu_exec *exec) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, exec, &acu_exec_class);
}

void acu_exec_cleanup(acu_exec **exec) {
    (void)acu_exec_release(acu_take(exec));
}

size_t acu_exec_describe(const acu_exec *exec, char *text, size_t size) {
    return acu_object_describe_as(exec, &acu_exec_class, text, size);
}

/* ---- instantiating ---- */

/* Sentences for cudaGraphInstantiateResult. */
static const char *const failures[] = {"",
                                       "",
                                       "the structure is invalid",
                                       "the operation cannot be instantiated like this",
                                       "the node is on another device",
                                       "the conditional handle is not used"};

/* Records CUDA's failure with the graph, the node and the reason; returns the code. */
static int record_failure(const char *call, acu_graph *graph,
                          const cudaGraphInstantiateParams *params, int code) {
    char object[ACU_OBJECT_TEXT], text[ACU_OBJECT_TEXT], node[64] = "";
    unsigned result = (unsigned)params->result_out;
    const char *why = result < sizeof failures / sizeof *failures ? failures[result] : "";
    acu_object_describe(graph, object);
    if (params->errNode_out)
        acu_node_describe(graph, params->errNode_out, node);
    if (!*node && !*why)
        return acu_cuda_failed(call, object, code);
    snprintf(text, sizeof text, "%.70s, %s%s%s", object, *node ? node : "the graph",
             *why ? ": " : "", why);
    return acu_cuda_failed(call, text, code);
}

/* Before 12.0 the runtime does not report the node that cannot be instantiated. */
static int instantiate(acu_graph *graph, const acu_exec_options *o, cudaGraphExec_t *raw,
                       cudaGraphInstantiateParams *params) {
    if (!acu_call_exists(&acu_function_cudaGraphInstantiateWithParams))
        return (int)cudaGraphInstantiate(raw, graph->raw, o->flags);
    params->flags = o->flags;
    params->uploadStream = o->upload ? o->upload->raw : NULL;
    return (int)cudaGraphInstantiateWithParams(raw, graph->raw, params);
}

static int make_exec(const char *call, acu_graph *graph, const acu_exec_options *o,
                     acu_exec *exec) {
    cudaGraphInstantiateParams params = {0};
    acu_graph_lock();
    exec->flags = o->flags;
    exec->updatable = graph->root->updatable;
    exec->uploaded = acu_has(o->flags, ACU_EXEC_UPLOAD);
    exec->kept = acu_graph_kept_set(graph);
    int code = acu_outcome(call, graph, acu_exec_reserve_uses(exec, 0));
    if (!code) {
        int mode = acu_thread_ignore_captures();
        code = instantiate(graph, o, &exec->raw, &params);
        acu_thread_restore(mode);
        exec->owned = !code;
        if (code)
            record_failure(call, graph, &params, code);
    }
    acu_graph_unlock();
    return code;
}

/* Instantiates for the public function `call`, whose handles are checked. */
static int instantiate_for(const char *call, acu_graph *graph, const acu_exec_options *o,
                           acu_exec **exec) {
    ACU_TRY(acu_graph_check_uncaptured(call, graph));
    ACU_TRY(acu_outcome(call, graph, acu_capture_check()));
    if (o->upload)
        ACU_TRY(acu_outcome(call, o->upload, acu_stream_check_uncaptured(o->upload)));
    acu_exec *made = new_exec(call);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->source = graph->root->salt;
    int code = make_exec(call, graph, o, made);
    if (code)
        (void)acu_object_release(NULL, made, &acu_exec_class);
    else
        *exec = made;
    return code;
}

int acu_graph_instantiate_for(const char *call, acu_graph *graph, acu_exec **exec) {
    static const acu_exec_options none;
    return instantiate_for(call, graph, &none, exec);
}

acu_result acu_graph_instantiate(acu_graph *graph, const acu_exec_options *options,
                                 acu_exec **exec) {
    ACU_SCOPE();
    static const acu_exec_options none;
    const acu_exec_options *o = options ? options : &none;
    ACU_NEED_POINTER(exec);
    *exec = NULL;
    acu_destroy_deferred();
    ACU_NEED(graph, acu_graph_class);
    if (o->upload)
        ACU_NEED_STREAM(o->upload);
    return instantiate_for(__func__, graph, o, exec);
}

/* ---- launches ---- */

/* The first launch, and the first one after a change, come here: those upload what kernels may
 * change. */
static int launch_raw(acu_exec *exec, acu_stream *stream) {
    acu_guard guard;
    int code = acu_stream_enter(stream, &guard);
    if (!code && exec->updatable && !exec->uploaded)
        code = (int)cudaGraphUpload(exec->raw, stream->raw);
    if (!code) {
        exec->uploaded = true;
        code = (int)cudaGraphLaunch(exec->raw, stream->raw);
    }
    acu_guard_leave(&guard);
    return code;
}

/* Remembers the launch that was just put on the timeline. `shared_count`: see acu_exec. */
static void remember_launch(acu_exec *exec, acu_timeline *timeline, uint64_t shared_count) {
    acu_timeline *before = exec->last;
    exec->number = acu_timeline_issue(timeline);
    exec->shared_count = shared_count;
    if (before == timeline)
        return;
    exec->last = acu_timeline_retain(timeline);
    if (acu_timeline_release(before))
        acu_record_release_error();
}

/* Begins the uses and counts them, up to one that fails. *alone: the stream is the only user of all
 * memory. */
static int begin_uses(acu_exec *exec, acu_stream *stream, size_t *begun, bool *alone) {
    int code = 0;
    for (*alone = true; *begun < exec->use_count && !code; *begun += !code) {
        acu_exec_use *use = &exec->uses[*begun];
        use->version = 0;
        if (acu_storage_is_only_on(use->storage, stream->timeline))
            continue;
        *alone = false;
        code = acu_storage_begin_use(use->storage, stream, use->writes, &use->version);
    }
    return code;
}

static int end_uses(acu_exec *exec, acu_stream *stream, size_t begun) {
    int first = 0;
    for (size_t i = 0; i < begun; i++) {
        const acu_exec_use *use = &exec->uses[i];
        if (acu_storage_is_only_on(use->storage, stream->timeline))
            continue;
        int code = acu_storage_end_use(use->storage, stream, use->writes, use->version);
        first = first ? first : code;
    }
    return first;
}

/* Launches, with the beginning and the end of all uses around it. Under the lock. */
static int launch(acu_exec *exec, acu_stream *stream) {
    acu_timeline *timeline = stream->timeline;
    uint64_t shared_count = __atomic_load_n(&timeline->shared_count, __ATOMIC_SEQ_CST);
    size_t begun = 0;
    bool alone = false;
    if (acu_capture_of(stream)) /* CUDA would refuse the launch and break the capture */
        return acu_stream_check_uncaptured(stream);
    if (exec->stale)
        gather_uses(exec);
    int code = begin_uses(exec, stream, &begun, &alone);
    if (!code)
        code = launch_raw(exec, stream);
    if (!code) /* else the launch before is still the last one */
        remember_launch(exec, timeline, alone ? shared_count : ACU_EXEC_SHARED);
    int ended = end_uses(exec, stream, begun);
    return code ? code : ended;
}

/* Is the general case of a launch, which is any launch. */
__attribute__((noinline)) int acu_exec_launch_for(const char *call, acu_exec *exec,
                                                  acu_stream *stream) {
    if (!acu_is(exec, &acu_exec_class))
        return acu_object_refuse(call, exec, &acu_exec_class);
    ACU_TRY(acu_stream_check(call, stream));
    acu_exec_lock(exec);
    int code = launch(exec, stream);
    acu_exec_unlock(exec);
    return acu_outcome(call, exec, code);
}

/* Ends a launch on the same timeline as before, where the timeline was marked or memory got a
 * second user since. Gives up the lock. */
static __attribute__((noinline)) int end_launch(const char *call, acu_exec *exec,
                                                acu_stream *stream) {
    exec->number = acu_timeline_issue(stream->timeline);
    bool alone =
        exec->shared_count == __atomic_load_n(&stream->timeline->shared_count, __ATOMIC_SEQ_CST);
    int code = alone ? 0 : end_uses(exec, stream, exec->use_count);
    acu_exec_unlock(exec);
    return acu_outcome(call, exec, code);
}

/* Launches in a way that any state allows, and names the call. */
static __attribute__((noinline)) int launch_anyhow(const char *call, acu_exec *exec,
                                                   acu_stream *stream) {
    ACU_SCOPE_OF(call);
    return acu_exec_launch_for(call, exec, stream);
}

/*
 * Mostly a graph is launched on the stream of its last launch, and that stream is still the only
 * user of all its memory. Then no use is looked at, however many there are. CUDA's code empties the
 * caches and the branch predictor in between, so this path is short, has no taken branch and lies
 * in few lines of the cache; everything unusual is in other functions. Whether memory has got a
 * second user is asked again after the launch has its number, because another thread may use it
 * meanwhile.
 */
ACU_HOT __attribute__((aligned(ACU_CACHE_LINE))) acu_result acu_exec_launch(acu_exec *exec,
                                                                            acu_stream *stream) {
    bool live = acu_is(exec, &acu_exec_class) && acu_is(stream, &acu_stream_class);
    if (!ACU_LIKELY(live) ||
        !ACU_LIKELY(!((uintptr_t)acu_capture_of(stream) | stream->is_default | acu_scope_wanted())))
        return launch_anyhow(__func__, exec, stream);
    acu_timeline *timeline = stream->timeline;
    acu_exec_lock(exec);
    uint64_t shared_count = exec->shared_count;
    bool same = exec->last == timeline;
    if (!ACU_LIKELY(same &&
                    (shared_count == __atomic_load_n(&timeline->shared_count, __ATOMIC_SEQ_CST)))) {
        acu_exec_unlock(exec);
        return acu_exec_launch_for(__func__, exec, stream);
    }
    int code = (int)cudaGraphLaunch(exec->raw, stream->raw);
    if (!ACU_LIKELY(!code)) {
        acu_exec_unlock(exec);
        return OUTCOME(exec, code);
    }
    bool issued = acu_timeline_has_issued(timeline, &exec->number);
    if (!ACU_LIKELY(issued &&
                    (shared_count == __atomic_load_n(&timeline->shared_count, __ATOMIC_SEQ_CST))))
        return end_launch(__func__, exec, stream);
    acu_exec_unlock(exec);
    return 0;
}

static int upload(acu_exec *exec, acu_stream *stream) {
    acu_guard guard;
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = (int)cudaGraphUpload(exec->raw, stream->raw);
    exec->uploaded = exec->uploaded || !code;
    acu_guard_leave(&guard);
    return code;
}

acu_result acu_exec_upload(acu_exec *exec, acu_stream *stream) {
    ACU_SCOPE();
    ACU_NEED(exec, acu_exec_class);
    ACU_NEED_STREAM(stream);
    int code = acu_stream_check_uncaptured(stream);
    if (code)
        return OUTCOME(stream, code);
    acu_exec_lock(exec);
    code = upload(exec, stream);
    acu_exec_unlock(exec);
    return OUTCOME(exec, code);
}

/* ---- launches by kernels ---- */

/* Returns the result of a refusal if kernels cannot launch the exec. Under its lock. */
static int check_device_launch(const char *call, acu_exec *exec) {
    unsigned long long flags = exec->flags;
    if (!exec->source) { /* the raw exec was given */
        const int code = (int)cudaGraphExecGetFlags(exec->raw, &flags);
        if (code)
            return acu_outcome(call, exec, code);
    }
    if (!acu_has((unsigned)flags, ACU_EXEC_DEVICE_LAUNCH)) {
        acu_fail_hint("instantiate the graph with ACU_EXEC_DEVICE_LAUNCH");
        return acu_fail_on(call, exec, ACU_ERROR_STATE, "kernels cannot launch it");
    }
    if (exec->uploaded || !exec->source)
        return 0;
    acu_fail_hint("call acu_exec_upload() before, or instantiate with ACU_EXEC_UPLOAD");
    return acu_fail_on(call, exec, ACU_ERROR_STATE,
                       "kernels cannot launch it before it is uploaded");
}

/* Lists all that the exec uses, and itself. Under its lock. */
static int list_kept(acu_exec *exec, acu_kept_list **list) {
    acu_kept_list *used = NULL;
    *list = NULL;
    int code = acu_kept_list_from_set(exec->kept, &used);
    const size_t count = used ? used->count : 0;
    acu_object_use *all = code ? NULL : malloc((count + 1) * sizeof *all);
    if (!code && !all)
        code = acu_record(ACU_ERROR_HOST_MEMORY, "no memory for what the graph keeps");
    if (!code) {
        if (used)
            memcpy(all, used->objects, count * sizeof *all);
        all[count] = (acu_object_use){&exec->object, false};
        code = acu_kept_list_new(all, count + 1, list);
    }
    free(all);
    (void)acu_kept_list_release(used); /* destroys nothing: the exec has all of it */
    return code;
}

acu_result acu_graph_keep_exec(acu_graph *graph, acu_exec *exec) {
    ACU_SCOPE();
    acu_kept_list *list = NULL;
    ACU_NEED(graph, acu_graph_class);
    ACU_NEED(exec, acu_exec_class);
    acu_exec_lock(exec);
    int code = check_device_launch(__func__, exec);
    if (!code)
        code = acu_outcome(__func__, graph, list_kept(exec, &list));
    acu_exec_unlock(exec);
    return code ? code : acu_outcome(__func__, graph, acu_graph_keep_list(graph, list));
}

acu_result acu_exec_get_flags(acu_exec *exec, uint64_t *flags) {
    ACU_SCOPE();
    unsigned long long bits = 0;
    ACU_NEED_POINTER(flags);
    ACU_NEED(exec, acu_exec_class);
    acu_exec_lock(exec);
    int code = (int)cudaGraphExecGetFlags(exec->raw, &bits);
    acu_exec_unlock(exec);
    *flags = bits;
    return OUTCOME(exec, code);
}

acu_result acu_exec_get_id(acu_exec *exec, unsigned *id) {
    ACU_SCOPE();
    ACU_NEED_POINTER(id);
    *id = 0;
    ACU_NEED(exec, acu_exec_class);
    acu_exec_lock(exec);
    int code = (int)cudaGraphExecGetId(exec->raw, id);
    acu_exec_unlock(exec);
    return OUTCOME(exec, code);
}
