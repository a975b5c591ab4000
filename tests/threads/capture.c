/* Captures of one thread, and work on its streams. */
#include "threads.h"

cudaError_t exchange_mode(int mode) {
    enum cudaStreamCaptureMode exchanged = (enum cudaStreamCaptureMode)mode;
    const cudaError_t result = CALL(cudaThreadExchangeStreamCaptureMode(&exchanged),
                                    "cudaThreadExchangeStreamCaptureMode(%d)", mode);
    wrote(" %d", (int)exchanged);
    me->mode = mode;
    return result;
}

/* ---- what is allowed ---- */

bool is_forbidden(void) {
    bool forbids = false;
    for (int i = 0; i < CAPTURES; i++)
        forbids |=
            me->captures[i].origin && me->captures[i].mode != (int)cudaStreamCaptureModeRelaxed;
    return forbids && me->mode != (int)cudaStreamCaptureModeRelaxed;
}

bool is_endangered(void) {
    return me->mode == (int)cudaStreamCaptureModeGlobal &&
           (now.may_global & ~(1U << me->index)) != 0;
}

/* ---- from the beginning to the end ---- */

cudaError_t begin_capture(int capture, stream *origin, int mode) {
    leave(origin);
    const cudaError_t result =
        CALL(cudaStreamBeginCapture(origin->handle, (enum cudaStreamCaptureMode)mode),
             "cudaStreamBeginCapture(%s, %d)", origin->name, mode);
    if (result)
        return result;
    memset(&me->captures[capture], 0, sizeof me->captures[capture]);
    me->captures[capture].origin = origin;
    me->captures[capture].mode = mode;
    origin->capture = capture;
    for (memory *m = me->memories; m < me->memories + MEMORIES; m++)
        m->home[1 + capture] = NULL;
    return cudaSuccess;
}

void join(stream *into, stream *from) {
    (void)CALL(cudaEventRecord(from->last, from->handle), "cudaEventRecord(%s.last, %s)",
               from->name, from->name);
    (void)CALL(cudaStreamWaitEvent(into->handle, from->last, 0), "cudaStreamWaitEvent(%s, %s.last)",
               into->name, from->name);
}

bool fork_to(stream *joining, stream *from) {
    leave(joining);
    if (CALL(cudaEventRecord(from->last, from->handle), "cudaEventRecord(%s.last, %s)", from->name,
             from->name))
        return false;
    if (CALL(cudaStreamWaitEvent(joining->handle, from->last, 0),
             "cudaStreamWaitEvent(%s, %s.last)", joining->name, from->name))
        return false;
    joining->capture = from->capture;
    return true;
}

cudaError_t end_capture(int capture, cudaGraph_t *made) {
    const stream *origin = me->captures[capture].origin;
    *made = NULL;
    const cudaError_t result =
        CALL(cudaStreamEndCapture(origin->handle, made), "cudaStreamEndCapture(%s)", origin->name);
    size_t nodes = 0, edges = 0;
    if (*made) {
        (void)cudaGraphGetNodes(*made, NULL, &nodes);
        (void)cudaGraphGetEdges(*made, NULL, NULL, NULL, &edges);
    }
    wrote(" %s %zu %zu", *made ? "new" : "NULL", nodes, edges);
    me->captures[capture].origin = NULL;
    me->captures[capture].size = (unsigned)nodes;
    for (stream *s = me->streams; s < me->streams + STREAMS; s++)
        s->capture = s->capture == capture ? NONE : s->capture;
    for (event *e = me->events; e < me->events + EVENTS; e++)
        e->capture = e->capture == capture ? ENDED : e->capture;
    return result;
}

static void join_all(stream *origin) {
    for (stream *s = me->streams; s < me->streams + STREAMS; s++)
        if (s != origin && s->handle && s->capture == OWN && !one_in(30))
            join(origin, s);
}

static void keep(graph *into, cudaGraph_t made) {
    const char first = into->name[0], second = into->name[1];
    const unsigned number = into->number;
    memset(into, 0, sizeof *into);
    *into = (graph){.handle = made, .number = number + 1, .name = {first, second}};
    for (unsigned i = 0; i < BASES; i++)
        into->uses |= me->memories[i].home[1 + OWN] ? 1U << i : 0;
    into->allocates = me->captures[OWN].allocates;
    into->size = 1 + me->captures[OWN].size;
}

void finish_capture(void) {
    cudaGraph_t made = NULL;
    graph *into = empty_graph();
    if (!me->captures[OWN].origin)
        return;
    join_all(me->captures[OWN].origin);
    const unsigned size = me->captures[OWN].size;
    (void)end_capture(OWN, &made);
    me->captures[OWN].size += size;
    if (made && into)
        keep(into, made);
    else if (made)
        (void)CALL(cudaGraphDestroy(made), "cudaGraphDestroy()");
}

/* ---- operations ---- */

static int any_mode(void) {
    const bool may_global = now.may_global >> me->index & 1;
    return may_global && one_in(2) ? (int)cudaStreamCaptureModeGlobal : ONE_OF(1, 1, 2);
}

static void begin(void) {
    stream *s = any_free_stream();
    if (!s || now.is_legacy || me->captures[OWN].origin)
        return;
    (void)begin_capture(OWN, s, any_mode());
}

static void begin_wrongly(void) {
    const stream *captured = any_captured_stream(OWN), *s = any_free_stream();
    if (captured && one_in(2))
        (void)CALL(cudaStreamBeginCapture(captured->handle, cudaStreamCaptureModeRelaxed),
                   "cudaStreamBeginCapture(%s, 2)", captured->name);
    else if (s)
        (void)CALL(cudaStreamBeginCapture(s->handle, (enum cudaStreamCaptureMode)3),
                   "cudaStreamBeginCapture(%s, 3)", s->name);
}

static void fork_stream(void) {
    stream *from = any_captured_stream(OWN), *joining = any_free_stream();
    if (from && joining)
        (void)fork_to(joining, from);
}

static void join_streams(void) {
    stream *from = any_captured_stream(OWN), *into = any_captured_stream(OWN);
    if (from && from != into)
        join(into, from);
}

static void end(void) {
    if (one_in(2))
        finish_capture();
}

static void end_wrongly(void) {
    const stream *s = one_in(8) ? any_captured_stream(OWN) : any_free_stream();
    cudaGraph_t made = NULL;
    if (!s || s == me->captures[OWN].origin)
        return;
    (void)CALL(cudaStreamEndCapture(s->handle, &made), "cudaStreamEndCapture(%s)", s->name);
    wrote(" %s", made ? "new" : "NULL");
}

static void ask(void) {
    const stream *s = any_stream();
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)9;
    const cudaGraphNode_t *dependencies = NULL;
    cudaGraph_t into = NULL;
    unsigned long long id = 0;
    size_t count = 77;
    if (!s)
        return;
    (void)CALL(
        cudaStreamGetCaptureInfo(s->handle, &status, &id, &into, &dependencies, NULL, &count),
        "cudaStreamGetCaptureInfo(%s)", s->name);
    wrote(" %d %s %s %zu", (int)status, id ? "id" : "0", into ? "graph" : "NULL", count);
}

static void exchange(void) {
    (void)exchange_mode(ONE_OF(0, 1, 1, 2));
}

static void put_work(void) {
    stream *s = any_stream();
    for (unsigned i = 1 + below(3); s && i > 0; i--)
        work(s);
}

/* Memory of the graph, which is allocated and freed within the capture. */
static void allocate_in_graph(void) {
    stream *s = any_captured_stream(OWN);
    memory between = {.name = "own"};
    if (!s)
        return;
    memory *from = any_memory(s), *to = any_memory(s);
    if (CALL(cudaMallocAsync((void **)&between.at, WORDS * sizeof *between.at, s->handle),
             "cudaMallocAsync(own, %s)", s->name))
        return;
    me->captures[OWN].allocates = true;
    bring(from, s);
    bring(to, s);
    (void)CALL(cudaMemcpyAsync(between.at, from->at, WORDS * sizeof *between.at, cudaMemcpyDefault,
                               s->handle),
               "cudaMemcpyAsync(own, %s, %s)", from->name, s->name);
    mix(to, &between, s);
    (void)CALL(cudaFreeAsync(between.at, s->handle), "cudaFreeAsync(own, %s)", s->name);
}

/* What the thread's own capture may forbid. CUDA looks at that before it does anything. */
static void do_forbidden(void) {
    void *made = NULL;
    stream *s = any_free_stream();
    if (!me->captures[OWN].origin || me->captures[COMMON].origin || is_endangered() || !one_in(6))
        return;
    switch (below(7)) {
    case 0:
        if (!CALL(cudaMalloc(&made, 64), "cudaMalloc(64)"))
            (void)CALL(cudaFree(made), "cudaFree()");
        break;
    case 1:
        (void)CALL(cudaFree(NULL), "cudaFree(NULL)");
        break;
    case 2:
        (void)CALL(cudaStreamSynchronize(me->captures[OWN].origin->handle),
                   "cudaStreamSynchronize(%s)", me->captures[OWN].origin->name);
        break;
    case 3:
        if (s)
            (void)CALL(cudaStreamSynchronize(s->handle), "cudaStreamSynchronize(%s)", s->name);
        break;
    case 4:
        if (s && !CALL(cudaMallocAsync(&made, 64, s->handle), "cudaMallocAsync(64, %s)", s->name))
            (void)CALL(cudaFreeAsync(made, s->handle), "cudaFreeAsync(%s)", s->name);
        break;
    case 5:
        if (!CALL(cudaHostAlloc(&made, 64, 0), "cudaHostAlloc(64)"))
            (void)CALL(cudaFreeHost(made), "cudaFreeHost()");
        break;
    default:
        if (s)
            (void)CALL(cudaEventSynchronize(s->before), "cudaEventSynchronize(%s.before)", s->name);
    }
}

const operation capture_operations[] = {
    OPERATION(begin, 12, SAFE),       OPERATION(begin_wrongly, 1, SAFE),
    OPERATION(fork_stream, 8, SAFE),  OPERATION(join_streams, 4, SAFE),
    OPERATION(end, 10, SAFE),         OPERATION(end_wrongly, 1, SAFE),
    OPERATION(ask, 3, SAFE),          OPERATION(exchange, 4, SAFE),
    OPERATION(put_work, 40, SAFE),    OPERATION(allocate_in_graph, 3, SAFE),
    OPERATION(do_forbidden, 3, SAFE), OPERATION(NULL, 0, SAFE),
};
