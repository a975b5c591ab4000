/* Meetings: what threads do together, by turns. */
#include "threads.h"

#include <pthread.h>

const char *const meeting_names[MEETINGS] = {"relay", "together", "forbid", "hold"};

/* What all threads choose alike: who begins, and how the others follow. */
typedef struct roles {
    unsigned leader, stride, other; /* the stride is 1, or the count less 1 */
} roles;

static roles choose_roles(void) {
    roles r = {.leader = below(worker_count), .stride = one_in(2) ? 1 : worker_count - 1};
    r.other = (r.leader + 1 + below(worker_count - 1)) % worker_count;
    return r;
}

static worker *follower(const roles *r, unsigned turn) {
    return &workers[(r->leader + turn * r->stride) % worker_count];
}

/* ---- shared memory, outside of captures ---- */

static void acquire(const shared_memory *m, const stream *on) {
    (void)CALL(cudaStreamWaitEvent(on->handle, m->order, 0), "cudaStreamWaitEvent(%s, %s.order)",
               on->name, m->memory.name);
}

static void give_up(const shared_memory *m, const stream *on) {
    (void)CALL(cudaEventRecord(m->order, on->handle), "cudaEventRecord(%s.order, %s)",
               m->memory.name, on->name);
}

/* Each thread mixes memory of its own into the shared one, or the other way round. */
static void exchange_memory(stream *on) {
    shared_memory *m = &shared[below(SHARED_MEMORIES)];
    memory *own = &me->memories[below(BASES)];
    bring(own, on);
    acquire(m, on);
    mix(&m->memory, own, on);
    if (one_in(2))
        mix(own, &m->memory, on);
    if (one_in(3))
        fill(&m->memory, on);
    give_up(m, on);
}

static void relay(void) {
    stream *on = any_free_stream();
    for (unsigned i = 1 + below(2); on && i > 0; i--)
        exchange_memory(on);
}

/* ---- one capture of all ---- */

static void common_work(void) {
    stream *on = &me->lent;
    memory *to = &shared[below(SHARED_MEMORIES)].memory,
           *from = &shared[below(SHARED_MEMORIES)].memory;
    bring(to, on);
    if (to != from)
        bring(from, on);
    if (to != from)
        mix(to, from, on);
    else
        fill(to, on);
}

static void begin_together(void) {
    const bool may_global = now.may_global >> me->index & 1;
    for (unsigned i = 0; i < SHARED_MEMORIES; i++)
        shared[i].memory.home[1 + COMMON] = NULL;
    if (!begin_capture(COMMON, &me->lent, may_global && one_in(2) ? 0 : ONE_OF(1, 2)))
        common_work();
}

static void take_part(worker *leader) {
    if (!leader->captures[COMMON].origin || !fork_to(&me->lent, &leader->lent))
        return;
    for (unsigned i = 1 + below(3); i > 0; i--)
        common_work();
}

static void end_for_another(const worker *leader) {
    cudaGraph_t made = NULL;
    if (!one_in(6))
        return;
    (void)CALL(cudaStreamEndCapture(leader->lent.handle, &made), "cudaStreamEndCapture(%s)",
               leader->lent.name);
    wrote(" %s", made ? "new" : "NULL");
    if (made)
        (void)CALL(cudaGraphDestroy(made), "cudaGraphDestroy()");
}

/* The instance of the common graph; who has the turn uses it. */
static cudaGraphExec_t common;

static void instantiate_common(cudaGraph_t made) {
    const int mode = me->mode;
    (void)exchange_mode(cudaStreamCaptureModeRelaxed);
    if (CALL(cudaGraphInstantiate(&common, made, 0), "cudaGraphInstantiate(common)"))
        common = NULL;
    (void)CALL(cudaGraphDestroy(made), "cudaGraphDestroy()");
    (void)exchange_mode(mode);
}

static void launch_common(void) {
    const stream *on = any_free_stream();
    if (!common || !on)
        return;
    for (unsigned i = 0; i < SHARED_MEMORIES; i++)
        acquire(&shared[i], on);
    for (unsigned i = 1 + below(3); i > 0; i--)
        (void)CALL(cudaGraphLaunch(common, on->handle), "cudaGraphLaunch(common, %s)", on->name);
    for (unsigned i = 0; i < SHARED_MEMORIES; i++)
        give_up(&shared[i], on);
}

static void destroy_common(void) {
    const cudaGraphExec_t handle = common;
    const int mode = me->mode;
    common = NULL;
    if (!handle)
        return;
    (void)exchange_mode(cudaStreamCaptureModeRelaxed);
    (void)CALL(cudaGraphExecDestroy(handle), "cudaGraphExecDestroy(common)");
    (void)exchange_mode(mode);
}

static void end_together(void) {
    cudaGraph_t made = NULL;
    if (!me->captures[COMMON].origin)
        return;
    for (worker *w = workers; w < workers + worker_count; w++)
        if (w != me && w->lent.capture == COMMON && !one_in(15))
            join(&me->lent, &w->lent);
    (void)end_capture(COMMON, &made);
    for (worker *w = workers; w < workers + worker_count; w++)
        w->lent.capture = NONE;
    if (made)
        instantiate_common(made);
    launch_common();
}

static void act_together(const roles *r, unsigned turn) {
    if (turn == 0)
        begin_together();
    else if (turn < worker_count)
        take_part(&workers[r->leader]);
    else if (turn == worker_count)
        end_for_another(&workers[r->leader]);
    else if (turn == worker_count + 1)
        end_together();
    else
        launch_common();
    if (turn == worker_count + 3)
        destroy_common();
}

/* ---- what a capture of another thread forbids ---- */

static void begin_what_forbids(void) {
    stream *s = any_free_stream();
    const int mode = ONE_OF(0, 0, 1, 2);
    (void)exchange_mode(cudaStreamCaptureModeGlobal);
    if (!s || begin_capture(COMMON, s, mode))
        return;
    fill(&me->memories[0], s);
    (void)CALL(cudaEventRecord(me->lent.last, s->handle), "cudaEventRecord(%s.last, %s)",
               me->lent.name, s->name);
}

static void allocate_meanwhile(unsigned kind) {
    stream *s = any_free_stream();
    void *made = NULL;
    if (kind == 0 && !CALL(cudaMalloc(&made, 64), "cudaMalloc(64)"))
        (void)CALL(cudaFree(made), "cudaFree()");
    if (kind == 1 && !CALL(cudaHostAlloc(&made, 64, 0), "cudaHostAlloc(64)"))
        (void)CALL(cudaFreeHost(made), "cudaFreeHost()");
    if (kind == 2 && s &&
        !CALL(cudaMallocAsync(&made, 64, s->handle), "cudaMallocAsync(64, %s)", s->name))
        (void)CALL(cudaFreeAsync(made, s->handle), "cudaFreeAsync(%s)", s->name);
    if (kind == 3)
        (void)CALL(cudaFree(NULL), "cudaFree(NULL)");
}

static void wait_meanwhile(unsigned kind, const stream *captured) {
    stream *s = any_free_stream();
    if (kind == 0 && s)
        (void)CALL(cudaStreamSynchronize(s->handle), "cudaStreamSynchronize(%s)", s->name);
    if (kind == 1)
        (void)CALL(cudaStreamSynchronize(captured->handle), "cudaStreamSynchronize(%s of another)",
                   captured->name);
    if (kind == 2)
        (void)CALL(cudaStreamSynchronize(cudaStreamLegacy), "cudaStreamSynchronize(legacy)");
    if (kind == 3)
        (void)CALL(cudaDeviceSynchronize(), "cudaDeviceSynchronize()");
    if (kind == 4)
        (void)CALL(cudaEventQuery(me->lent.before), "cudaEventQuery(%s.before)", me->lent.name);
    if (kind == 5)
        (void)CALL(cudaEventRecord(me->lent.last, cudaStreamLegacy),
                   "cudaEventRecord(%s.last, legacy)", me->lent.name);
}

/* Uses the other thread's capture, as no program should. */
static void intrude(unsigned kind, const worker *leader, const stream *captured) {
    cudaGraph_t made = NULL;
    if (kind == 0) {
        (void)CALL(cudaStreamEndCapture(captured->handle, &made),
                   "cudaStreamEndCapture(%s of another)", captured->name);
        wrote(" %s", made ? "new" : "NULL");
        if (made)
            (void)CALL(cudaGraphDestroy(made), "cudaGraphDestroy()");
    } else if (kind == 1) {
        (void)CALL(cudaEventQuery(leader->lent.last), "cudaEventQuery(%s.last)", leader->lent.name);
    } else if (kind == 2) {
        (void)CALL(cudaStreamSynchronize(captured->handle), "cudaStreamSynchronize(%s of another)",
                   captured->name);
        intrude(0, leader, captured);
    } else {
        leave(&me->lent);
        (void)CALL(cudaStreamWaitEvent(me->lent.handle, leader->lent.last, 0),
                   "cudaStreamWaitEvent(%s, %s.last)", me->lent.name, leader->lent.name);
    }
}

static void do_what_is_forbidden(const worker *leader) {
    const stream *captured = leader->captures[COMMON].origin;
    const unsigned kind = below(14);
    (void)exchange_mode(ONE_OF(0, 0, 1, 2));
    if (!captured)
        return;
    if (kind < 4)
        allocate_meanwhile(kind);
    else if (kind < 10)
        wait_meanwhile(kind - 4, captured);
    else
        intrude(kind - 10, leader, captured);
}

static void CUDART_CB nothing(void *unused_data) {
    (void)unused_data;
}

/* The stream may not be captured any more, and then the function is called. */
static void see_what_is_left(void) {
    cudaGraph_t made = NULL;
    stream *s = me->captures[COMMON].origin;
    if (!s)
        return;
    (void)CALL(cudaLaunchHostFunc(s->handle, nothing, NULL), "cudaLaunchHostFunc(%s)", s->name);
    (void)end_capture(COMMON, &made);
    if (made)
        (void)CALL(cudaGraphDestroy(made), "cudaGraphDestroy()");
}

static void act_forbidden(const roles *r, unsigned turn) {
    if (turn == 0)
        begin_what_forbids();
    else if (turn == 1)
        do_what_is_forbidden(&workers[r->leader]);
    else
        see_what_is_left();
}

/* ---- work that is held up ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool is_open;

static void CUDART_CB hold(void *data) {
    (void)data;
    (void)pthread_mutex_lock(&lock);
    while (!is_open)
        (void)pthread_cond_wait(&opened, &lock);
    (void)pthread_mutex_unlock(&lock);
}

static void set_open(bool open) {
    (void)pthread_mutex_lock(&lock);
    is_open = open;
    (void)pthread_cond_broadcast(&opened);
    (void)pthread_mutex_unlock(&lock);
}

static void use_shared_and_ask(stream *on) {
    memory *own = &me->memories[below(BASES)];
    bring(own, on);
    acquire(&shared[0], on);
    mix(&shared[0].memory, own, on);
    give_up(&shared[0], on);
    (void)CALL(cudaStreamQuery(on->handle), "cudaStreamQuery(%s)", on->name);
    (void)CALL(cudaEventQuery(shared[0].order), "cudaEventQuery(%s.order)", shared[0].memory.name);
}

/* The stream of a thread that the leader holds up keeps all that follow waiting. */
static void act_held(unsigned turn) {
    stream *on = any_free_stream(); /* there is one: no capture is under way */
    if (turn == worker_count) {
        set_open(true);
        (void)CALL(cudaEventSynchronize(shared[0].order), "cudaEventSynchronize(%s.order)",
                   shared[0].memory.name);
        (void)CALL(cudaEventQuery(shared[0].order), "cudaEventQuery(%s.order)",
                   shared[0].memory.name);
        return;
    }
    if (turn == 0) {
        set_open(false);
        (void)CALL(cudaLaunchHostFunc(on->handle, hold, NULL), "cudaLaunchHostFunc(%s, hold)",
                   on->name);
    }
    use_shared_and_ask(on);
}

/* ---- turns ---- */

static unsigned count_turns(meeting kind) {
    static const unsigned more[MEETINGS] = {0, 4, 0, 1};
    return kind == FORBID ? 3 : worker_count + more[kind];
}

static const worker *actor(meeting kind, const roles *r, unsigned turn) {
    if (kind == FORBID)
        return &workers[turn == 1 ? r->other : r->leader];
    if (turn < worker_count)
        return follower(r, turn);
    const bool is_other = kind == TOGETHER && (turn - worker_count) % 2 == 0;
    return &workers[is_other ? r->other : r->leader];
}

static void act(meeting kind, const roles *r, unsigned turn) {
    if (kind == RELAY)
        relay();
    else if (kind == TOGETHER)
        act_together(r, turn);
    else if (kind == FORBID)
        act_forbidden(r, turn);
    else
        act_held(turn);
}

void meet(meeting kind, uint64_t seed, uint64_t number) {
    seed_choices(seed, 6000000 + number);
    const roles r = choose_roles();
    const unsigned turns = count_turns(kind);
    for (unsigned turn = 0; turn < turns; turn++) {
        if (actor(kind, &r, turn) != me)
            continue;
        begin_turn(next_turn + turn);
        seed_choices(seed, (7000000 + number) * 100 + turn);
        act(kind, &r, turn);
        end_turn();
    }
    next_turn += turns;
}
