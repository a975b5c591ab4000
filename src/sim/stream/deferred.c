/*
 * Work for which the thread of its stream is not woken at once.
 *
 * To wake a thread and to be woken by it takes ten times as long as a small kernel. So where the
 * program waits for a stream within 20 µs of its first work, the next work is deferred: up to 64
 * kernels, copies, fills and records are queued, the stream's thread sleeps on, and a thread that
 * waits for one of them runs it, with those before it and nothing else.
 *
 * Whatever may show that the program does not wait for it wakes the stream's thread: more work, or
 * work on another stream, a question whether work is done, a wait for something else. If none of
 * that comes, the watcher does it within about 2 ms, because a GPU works whatever the program does.
 * On a virtual machine the watcher's look takes up to 30 µs from a kernel that runs, and to wake
 * the watcher as much, so it looks less often while it finds nothing, and goes to sleep late.
 *
 * The program's own functions are not deferred, host functions or kernels in C: they have threads
 * of the simulator, since they may take locks of the program's. A thread that waits with little of
 * its stack left runs nothing.
 */
#define _GNU_SOURCE /* pthread_getattr_np */

#include "sim/stream/deferred.h"

#include "core/record.h"
#include "loader/platform.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <time.h>

enum {
    SOON = 20000,       /* nanoseconds from the first operation to the wait */
    LATE_WAITS = 2,     /* in a row, which show that the program does not wait at once */
    SHORTEST = 500000,  /* nanoseconds between two looks of the watcher */
    LONGEST = 2000000,  /* while it finds nothing */
    MOST = 64,          /* deferred operations of a stream */
    STACK = 256 * 1024, /* bytes that operations may need */
};

static acu_sim_stream *first; /* of the deferred streams, the newest one */

static struct {
    bool started, awake;
    bool is_needed; /* a stream was deferred since the last look */
    pthread_cond_t wake;
} watcher = {.wake = PTHREAD_COND_INITIALIZER};

/* ---- waking ---- */

static void take_out(const acu_sim_stream *stream) {
    acu_sim_stream **at = &first;
    while (*at != stream)
        at = &(*at)->next_deferred;
    *at = stream->next_deferred;
}

void acu_sim_deferred_wake(acu_sim_stream *stream) {
    if (stream->turn != SIM_DEFERRED)
        return;
    take_out(stream);
    stream->turn = SIM_THREAD;
    stream->awaited = 0;
    pthread_cond_signal(&stream->wake);
}

void acu_sim_deferred_wake_all(void) {
    while (first)
        acu_sim_deferred_wake(first);
}

/* Wakes what the thread has deferred on other streams. */
static void wake_others(uint64_t thread, const acu_sim_stream *stream) {
    acu_sim_stream *next;
    for (acu_sim_stream *s = first; s; s = next) {
        next = s->next_deferred;
        if (s != stream && s->deferred_by == thread)
            acu_sim_deferred_wake(s);
    }
}

/* ---- the watcher ---- */

/* Wakes the threads of streams for which the program does not wait at once. Returns whether there
 * is one. */
static bool wake_old(void) {
    const uint64_t now = acu_platform_now_ns();
    bool found = false;
    acu_sim_stream *next;
    for (acu_sim_stream *s = first; s; s = next) {
        next = s->next_deferred;
        if (now - s->queued_ns < SOON)
            continue;
        acu_sim_deferred_wake(s);
        found = true;
    }
    return found;
}

static void *watch(void *unused) {
    struct timespec moment = {.tv_nsec = SHORTEST};
    (void)unused;
    pthread_mutex_lock(&acu_sim_lock);
    for (;;) {
        watcher.is_needed = first != NULL;
        pthread_mutex_unlock(&acu_sim_lock);
        (void)nanosleep(&moment, NULL);
        pthread_mutex_lock(&acu_sim_lock);
        watcher.awake = watcher.is_needed || moment.tv_nsec < LONGEST;
        if (wake_old())
            moment.tv_nsec = SHORTEST;
        else if (moment.tv_nsec < LONGEST)
            moment.tv_nsec *= 2;
        while (!watcher.awake)
            pthread_cond_wait(&watcher.wake, &acu_sim_lock);
    }
    return NULL;
}

/* Returns whether the watcher is awake, which it is made, if it can be. */
static bool is_watched(void) {
    if (!watcher.started)
        watcher.started = watcher.awake = acu_sim_stream_thread_start(watch, NULL);
    if (watcher.started && !watcher.awake)
        pthread_cond_signal(&watcher.wake);
    watcher.awake = watcher.started;
    return watcher.started;
}

/* ---- deferring ---- */

/* Returns whether a thread of the program may run an operation: not what calls the program's
 * functions, nor what may have to wait. */
static bool may_be_deferred(const acu_sim_op *op) {
    const bool is_work = op->type == cudaGraphNodeTypeKernel ||
                         op->type == cudaGraphNodeTypeMemcpy || op->type == cudaGraphNodeTypeMemset;
    return (is_work || !op->run) && !op->calls_program && !op->wait_count && !op->is_due &&
           !acu_sim_configuration()->seeded;
}

static void defer(acu_sim_stream *stream, uint64_t thread) {
    watcher.is_needed = true;
    stream->turn = SIM_DEFERRED;
    stream->deferred_by = thread;
    stream->deferred_count = 1;
    stream->next_deferred = first;
    first = stream;
}

void acu_sim_deferred_queue(acu_sim_stream *stream, acu_sim_op *op) {
    const uint64_t thread = acu_sim_self()->id;
    if (op->wait_count)
        acu_sim_deferred_wake_all();
    else
        wake_others(thread, stream);
    if (stream->turn == SIM_WAITER)
        return;
    const bool may = may_be_deferred(op), is_first = stream->head == op;
    if (stream->turn == SIM_DEFERRED && may && stream->deferred_by == thread &&
        stream->deferred_count++ < MOST)
        return;
    if (is_first && may && stream->awaited && is_watched())
        defer(stream, thread);
    else if (stream->turn == SIM_DEFERRED)
        acu_sim_deferred_wake(stream);
    else
        pthread_cond_signal(&stream->wake);
    if (is_first) /* what waking took is not the program's time */
        stream->queued_ns = acu_platform_now_ns();
}

/* ---- running ---- */

/* Returns whether this thread's stack has room for operations. A program that switches between
 * stacks of its own is on none that is known. */
static bool has_stack(void) {
    static _Thread_local const char *low, *high;
    const char *here = __builtin_frame_address(0);
    pthread_attr_t attributes;
    void *at;
    size_t size;
    if (!high && !pthread_getattr_np(pthread_self(), &attributes)) {
        if (!pthread_attr_getstack(&attributes, &at, &size)) {
            low = at;
            high = low + size;
        }
        (void)pthread_attr_destroy(&attributes);
    }
    return here > low && here < high && here - low > STACK;
}

bool acu_sim_deferred_allows(const acu_sim_op *op) {
    return !op->calls_program && (op->type != cudaGraphNodeTypeKernel || has_stack());
}

/* Runs what is queued up to the operation. Nothing else runs what is queued meanwhile, nor frees
 * the stream. */
static void run_up_to(acu_sim_stream *stream, const acu_sim_op *op) {
    take_out(stream);
    stream->turn = SIM_WAITER;
    while (!op->done) {
        stream->head->taken = true;
        acu_sim_op_run(stream->device, stream->head);
    }
    stream->turn = SIM_THREAD;
    if (stream->head || stream->closing)
        pthread_cond_signal(&stream->wake);
    acu_record_forget_reason(); /* what failed is the work, and not the call that waits */
}

/* Notes whether the program waited soon. One late wait shows little, because another program may
 * have had the processor meanwhile. */
static void note_wait(acu_sim_stream *stream, bool soon) {
    if (soon)
        stream->awaited = LATE_WAITS;
    else if (stream->awaited)
        stream->awaited--;
}

void acu_sim_deferred_run(acu_sim_op *op) {
    acu_sim_stream *stream = op->stream;
    const bool may = stream && has_stack(), deferred = may && stream->turn == SIM_DEFERRED;
    if (!deferred)
        acu_sim_deferred_wake_all();
    if (stream)
        note_wait(stream, may && acu_platform_now_ns() - stream->queued_ns < SOON);
    if (deferred)
        run_up_to(stream, op);
}
