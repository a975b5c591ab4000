/* Streams and events. */
#include "threads.h"

#include <stdio.h>

static void make_events(stream *s) {
    (void)cudaEventCreateWithFlags(&s->before, cudaEventDisableTiming);
    (void)cudaEventCreateWithFlags(&s->last, cudaEventDisableTiming);
}

void create_stream(stream *made, unsigned flags, int priority) {
    int got = 77;
    made->capture = NONE;
    (void)CALL(cudaStreamCreateWithPriority(&made->handle, flags, priority),
               "cudaStreamCreateWithPriority(%s, %u, %d)", made->name, flags, priority);
    if (!made->handle)
        return;
    make_events(made);
    (void)CALL(cudaStreamGetPriority(made->handle, &got), "cudaStreamGetPriority(%s)", made->name);
    wrote(" %d", got);
}

/* Each thread has an object of its own for it, with events of its own. */
stream *legacy_stream(void) {
    static _Thread_local stream legacy = {.capture = NONE, .name = "legacy"};
    if (!legacy.handle) {
        legacy.handle = cudaStreamLegacy;
        make_events(&legacy);
    }
    return &legacy;
}

/* ---- which stream ---- */

stream *any_captured_stream(int capture) {
    const unsigned from = below(STREAMS);
    for (unsigned i = 0; i < STREAMS; i++) {
        stream *s = &me->streams[(from + i) % STREAMS];
        if (s->handle && s->capture == capture)
            return s;
    }
    return NULL;
}

stream *any_free_stream(void) {
    return any_captured_stream(NONE);
}

stream *any_stream(void) {
    stream *captured = any_captured_stream(OWN), *other = any_free_stream();
    if (now.is_legacy && one_in(4))
        return legacy_stream();
    if (!other || (captured && !one_in(3)))
        return captured;
    return other;
}

static stream *empty_stream(void) {
    for (stream *s = me->streams; s < me->streams + STREAMS; s++)
        if (!s->handle)
            return s;
    return NULL;
}

/* ---- operations on streams ---- */

static void create(void) {
    stream *s = empty_stream();
    if (s)
        create_stream(s, (unsigned)ONE_OF(0, 1, 1, 0, 2), ONE_OF(-100, -5, -3, -1, 0, 1, 100));
}

static void destroy(void) {
    stream *s = any_free_stream();
    if (!s || s == me->streams)
        return;
    if (CALL(cudaStreamSynchronize(s->handle), "cudaStreamSynchronize(%s)", s->name))
        return;
    for (memory *m = me->memories; m < me->memories + MEMORIES; m++)
        if (m->home[0] == s)
            m->home[0] = NULL;
    const cudaStream_t handle = s->handle;
    s->handle = NULL;
    (void)cudaEventDestroy(s->before);
    (void)cudaEventDestroy(s->last);
    (void)CALL(cudaStreamDestroy(handle), "cudaStreamDestroy(%s)", s->name);
}

static void synchronize(void) {
    const stream *s = any_free_stream();
    if (!s)
        return;
    (void)CALL(cudaStreamSynchronize(s->handle), "cudaStreamSynchronize(%s)", s->name);
    (void)CALL(cudaStreamQuery(s->handle), "cudaStreamQuery(%s)", s->name);
}

static void describe(void) {
    const stream *s = any_free_stream();
    unsigned flags = 77;
    int number = -77;
    if (!s)
        return;
    (void)CALL(cudaStreamGetFlags(s->handle, &flags), "cudaStreamGetFlags(%s)", s->name);
    wrote(" %u", flags);
    (void)CALL(cudaStreamGetPriority(s->handle, &number), "cudaStreamGetPriority(%s)", s->name);
    wrote(" %d", number);
}

static void use_wrongly(void) {
    const stream *s = any_stream();
    if (!s)
        return;
    switch (below(5)) {
    case 0:
        (void)CALL(cudaStreamWaitEvent(s->handle, NULL, 0), "cudaStreamWaitEvent(%s, NULL)",
                   s->name);
        break;
    case 1:
        (void)CALL(cudaLaunchHostFunc(s->handle, NULL, NULL), "cudaLaunchHostFunc(%s, NULL)",
                   s->name);
        break;
    case 2:
        (void)CALL(cudaEventRecord(NULL, s->handle), "cudaEventRecord(NULL, %s)", s->name);
        break;
    case 3:
        (void)CALL(
            cuLaunchKernel(computing_function(), 1, 1, 1, 2000, 1, 1, 0, s->handle, NULL, NULL),
            "cuLaunchKernel(2000 threads, %s)", s->name);
        break;
    default:
        (void)CALL(cudaStreamWaitEvent(s->handle, s->last, 7), "cudaStreamWaitEvent(%s, 7)",
                   s->name);
    }
}

static void clear_error(void) {
    (void)CALL(cudaGetLastError(), "cudaGetLastError()");
}

/* ---- events ---- */

static event *any_event(void) {
    return &me->events[below(EVENTS)];
}

static void create_event(void) {
    event *e = any_event();
    const unsigned flags = (unsigned)ONE_OF(0, 1, 2, 2, 3, 8);
    if (e->handle) {
        const cudaEvent_t handle = e->handle;
        e->handle = NULL;
        (void)CALL(cudaEventDestroy(handle), "cudaEventDestroy(%s)", e->name);
        return;
    }
    e->capture = NONE;
    e->is_timing = !(flags & cudaEventDisableTiming);
    if (CALL(cudaEventCreateWithFlags(&e->handle, flags), "cudaEventCreateWithFlags(%s, %u)",
             e->name, flags))
        e->handle = NULL;
}

static void record(void) {
    event *e = any_event();
    const stream *s = any_stream();
    if (!s || !e->handle)
        return;
    if (!CALL(cudaEventRecord(e->handle, s->handle), "cudaEventRecord(%s, %s)", e->name, s->name))
        e->capture = s->capture;
}

/* Waits that end a capture, or let the stream join it, are chosen less often than others. */
static void wait(void) {
    const event *e = any_event();
    stream *s = any_stream();
    if (!s || !e->handle)
        return;
    const bool joins = s->capture == NONE && e->capture >= 0,
               breaks = s->capture >= 0 && e->capture != s->capture;
    if ((joins && now.is_legacy) || (breaks && !one_in(12)))
        return;
    if (joins)
        leave(s);
    if (!CALL(cudaStreamWaitEvent(s->handle, e->handle, 0), "cudaStreamWaitEvent(%s, %s)", s->name,
              e->name) &&
        joins)
        s->capture = e->capture;
}

static void wait_on_host(void) {
    const event *e = any_event();
    if (!e->handle || e->capture >= 0)
        return;
    (void)CALL(cudaEventSynchronize(e->handle), "cudaEventSynchronize(%s)", e->name);
    (void)CALL(cudaEventQuery(e->handle), "cudaEventQuery(%s)", e->name);
}

static void ask_time(void) {
    const event *a = any_event(), *b = any_event();
    float time = 0;
    if (!a->handle || !b->handle || a->capture >= 0 || b->capture >= 0)
        return;
    (void)CALL(cudaEventSynchronize(a->handle), "cudaEventSynchronize(%s)", a->name);
    (void)CALL(cudaEventSynchronize(b->handle), "cudaEventSynchronize(%s)", b->name);
    (void)CALL(cudaEventElapsedTime(&time, a->handle, b->handle), "cudaEventElapsedTime(%s, %s)",
               a->name, b->name);
}

const operation stream_operations[] = {
    OPERATION(create, 3, SAFE),        OPERATION(destroy, 2, UNSAFE),
    OPERATION(synchronize, 4, UNSAFE), OPERATION(describe, 2, SAFE),
    OPERATION(use_wrongly, 3, SAFE),   OPERATION(clear_error, 3, SAFE),
    OPERATION(create_event, 4, SAFE),  OPERATION(record, 5, SAFE),
    OPERATION(wait, 6, SAFE),          OPERATION(wait_on_host, 3, UNSAFE),
    OPERATION(ask_time, 2, UNSAFE),    OPERATION(NULL, 0, SAFE),
};
