#include "runtime/cpu/cpu_queue.h"
#include "runtime/cpu/cpu_pool.h"
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the host that a queue keeps at most. */
static const size_t most_held = (size_t)64 << 20u;

/* Guarded by acu_cpu_lock. */
static acu_backend_queue *queues; /* all of them */
static acu_backend_queue *listed; /* those that threads may work for, the most urgent first */
static unsigned fresh;            /* how many of them no thread was told of */
static acu_cpu_task *finished;    /* tasks that are given back when the lock is given back */
static acu_cpu_task *abandoned;   /* tasks that threads were in when the process was forked */

static void lock(void) {
    pthread_mutex_lock(&acu_cpu_lock);
}

static void unlock(void) {
    acu_cpu_task *task = finished;
    finished = NULL;
    pthread_mutex_unlock(&acu_cpu_lock);
    while (task) {
        acu_cpu_task *next = task->next;
        if (task->drop)
            task->drop(task);
        free(task);
        task = next;
    }
}

static void give_back(acu_cpu_task *task) {
    task->next = finished;
    finished = task;
}

/* ---- which queue is next; with the lock ---- */

static void list(acu_backend_queue *queue) {
    acu_backend_queue **at = &listed;
    while (*at && (*at)->priority <= queue->priority)
        at = &(*at)->next_listed;
    queue->next_listed = *at;
    *at = queue;
    queue->listed = true;
    fresh++;
}

static void unlist(acu_backend_queue *queue) {
    acu_backend_queue **at = &listed;
    if (!queue->listed)
        return;
    while (*at != queue)
        at = &(*at)->next_listed;
    *at = queue->next_listed;
    queue->listed = false;
}

/* Lets threads look for work; `already` threads will look for it by themselves. */
static void call_threads(unsigned already) {
    for (; fresh > already; fresh--)
        acu_cpu_pool_wake();
    fresh = 0;
}

/* ---- how a queue goes on; with the lock ---- */

static void begin_unit(acu_backend_queue *queue, const acu_cpu_task *unit) {
    queue->unit = unit;
    atomic_store_explicit(&queue->next_part, 0, memory_order_relaxed);
    list(queue);
}

static uint64_t done(acu_backend_queue *queue) {
    return atomic_load_explicit(&queue->done, memory_order_acquire);
}

/* Begins the queue's first task. Returns false where that has nothing to do. */
static bool begin_task(acu_backend_queue *queue) {
    acu_cpu_task *task = queue->first;
    if (task->kind == ACU_CPU_WORK) {
        begin_unit(queue, task);
        return true;
    }
    if (task->kind == ACU_CPU_REPLAY) {
        const acu_cpu_task *unit = ((acu_cpu_again *)task)->replay->first;
        if (unit)
            begin_unit(queue, unit);
        return unit != NULL;
    }
    const acu_cpu_wait *wait = (acu_cpu_wait *)task;
    if (done(wait->awaited) >= wait->number)
        return false;
    queue->wait_until = wait->number;
    queue->next_waiting = wait->awaited->waiting;
    wait->awaited->waiting = queue;
    return true;
}

/* Removes the queue's first task, which is done, and puts the queues that waited for it in front of
 * `others`; returns that list. */
static acu_backend_queue *end_task(acu_backend_queue *queue, acu_backend_queue *others) {
    acu_cpu_task *task = queue->first;
    queue->first = task->next;
    queue->held -= task->held;
    const uint64_t number = done(queue) + 1;
    atomic_store_explicit(&queue->done, number, memory_order_release);
    give_back(task);
    if (queue->sleepers > 0 && number >= queue->wake_at)
        pthread_cond_broadcast(&queue->progress);
    for (acu_backend_queue **at = &queue->waiting, *other; (other = *at) != NULL;) {
        if (other->wait_until > number) {
            at = &other->next_waiting;
            continue;
        }
        *at = other->next_waiting;
        other->next_waiting = others;
        others = other;
    }
    return others;
}

/* Lets queues whose first task has not begun go on, and those that wait for them. */
static void go_on(acu_backend_queue *queue) {
    queue->next_waiting = NULL;
    while (queue) {
        acu_backend_queue *others = queue->next_waiting;
        while (queue->first && !begin_task(queue))
            others = end_task(queue, others);
        queue = others;
    }
}

/* All parts of the queue's unit are done. */
static void end_unit(acu_backend_queue *queue) {
    const acu_cpu_task *next = queue->unit->next;
    queue->unit = NULL;
    if (queue->first->kind == ACU_CPU_REPLAY && next) {
        begin_unit(queue, next);
        return;
    }
    acu_backend_queue *others = end_task(queue, NULL);
    go_on(queue);
    while (others) {
        acu_backend_queue *other = others;
        others = other->next_waiting;
        go_on(other);
    }
}

/* ---- working; with the lock, which is given back meanwhile ---- */

/* Works on the unit of a listed queue until no part of it is left. */
static void work_on(acu_backend_queue *queue, unsigned thread) {
    const acu_cpu_task *unit = queue->unit;
    size_t part = atomic_fetch_add_explicit(&queue->next_part, 1, memory_order_relaxed);
    queue->workers++;
    if (part + 1 >= unit->parts || queue->workers >= queue->limit)
        unlist(queue);
    else
        fresh++; /* one more thread may help */
    call_threads(0);
    unlock();
    acu_inside inside;
    acu_inside_begin(&inside, queue);
    for (; part < unit->parts;
         part = atomic_fetch_add_explicit(&queue->next_part, 1, memory_order_relaxed))
        unit->part(unit, part, thread);
    acu_inside_end(&inside);
    lock();
    if (queue->lost)
        return; /* the function forked, and this is the child */
    queue->workers--;
    unlist(queue);
    if (queue->workers == 0)
        end_unit(queue);
}

bool acu_cpu_queue_has_work(void) {
    return listed != NULL;
}

void acu_cpu_queue_work(unsigned thread) {
    work_on(listed, thread);
    call_threads(1);
}

/* ---- giving work ---- */

static acu_result lost(void) {
    return acu_backend_fail(ACU_ERROR_STATE,
                            "this process was forked while the queue had work to do, which is not "
                            "done here; make another queue, or fork when the work is done");
}

/* Adds a task to a list. */
static void append(acu_cpu_task **first, acu_cpu_task **last, acu_cpu_task *task) {
    task->next = NULL;
    if (*first)
        (*last)->next = task;
    else
        *first = task;
    *last = task;
}

static acu_result add(acu_backend_queue *queue, acu_cpu_task *task) {
    if (queue->lost)
        return lost();
    ACU_TRY(acu_cpu_pool_begin());
    append(&queue->first, &queue->last, task);
    queue->held += task->held;
    atomic_fetch_add_explicit(&queue->given, 1, memory_order_relaxed);
    if (queue->first == task) {
        go_on(queue);
        call_threads(0);
    }
    return ACU_SUCCESS;
}

bool acu_cpu_queue_may_hold(acu_backend_queue *queue, size_t bytes) {
    lock();
    const bool may = queue->held + bytes <= most_held;
    unlock();
    return may;
}

acu_result acu_cpu_queue_add(acu_backend_queue *queue, acu_cpu_task *task) {
    acu_backend_replay *recording = queue->recording;
    if (recording) {
        append(&recording->first, &recording->last, task);
        return ACU_SUCCESS;
    }
    lock();
    const acu_result result = add(queue, task);
    if (result)
        give_back(task);
    unlock();
    return result;
}

acu_result acu_cpu_queue_give(acu_backend_queue *queue, const acu_cpu_task *task, size_t bytes,
                              bool at_once) {
    if (at_once && acu_cpu_queue_is_idle(queue)) {
        for (size_t part = 0; part < task->parts; part++)
            task->part(task, part, 0);
        return ACU_SUCCESS;
    }
    acu_cpu_task *copy = malloc(bytes);
    if (copy == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a task of %zu bytes", bytes);
    memcpy(copy, task, bytes);
    return acu_cpu_queue_add(queue, copy);
}

acu_result acu_cpu_queue_give_and_wait(acu_backend_queue *queue, const acu_cpu_task *task,
                                       size_t bytes, bool at_once) {
    if (acu_inside_is(queue))
        return acu_backend_fail(ACU_ERROR_STATE,
                                "a program's function would wait for work that begins when the "
                                "function has returned; do that outside of the function");
    ACU_TRY(acu_cpu_queue_give(queue, task, bytes, at_once));
    return acu_cpu_queue_synchronize(queue);
}

/* ---- waiting ---- */

/* Sleeps until the queue has done so many tasks. With the lock. */
static acu_result sleep_until(acu_backend_queue *queue, uint64_t number) {
    bool lent = false;
    ACU_TRY(acu_cpu_pool_lend(&lent));
    if (queue->sleepers++ == 0 || number < queue->wake_at)
        queue->wake_at = number;
    while (done(queue) < number)
        pthread_cond_wait(&queue->progress, &acu_cpu_lock);
    if (--queue->sleepers > 0)
        queue->wake_at = number; /* too low for the others, which is no harm */
    acu_cpu_pool_take_back(lent);
    return ACU_SUCCESS;
}

/* Works for the queue if it has work, and there is a seat. Returns whether there was. With the
 * lock.
 */
static bool help(acu_backend_queue *queue) {
    unsigned number = 0;
    if (!queue->listed || !acu_cpu_pool_sit(&number))
        return false;
    work_on(queue, number);
    acu_cpu_pool_rise();
    if (listed)
        fresh++; /* another thread may take the seat */
    call_threads(0);
    return true;
}

acu_result acu_cpu_queue_wait_until(acu_backend_queue *queue, uint64_t number) {
    if (done(queue) >= number)
        return ACU_SUCCESS;
    acu_result result = ACU_SUCCESS;
    lock();
    while (!result && done(queue) < number)
        if (queue->lost)
            result = lost();
        else if (!help(queue))
            result = sleep_until(queue, number);
    unlock();
    return result;
}

acu_result acu_cpu_queue_synchronize(acu_backend_queue *queue) {
    return acu_cpu_queue_wait_until(queue,
                                    atomic_load_explicit(&queue->given, memory_order_relaxed));
}

/* ---- queues ---- */

acu_result acu_cpu_queue_create(acu_backend_device *device,
                                const acu_backend_queue_options *options, acu_backend_queue **out) {
    (void)device;
    unsigned threads = 0;
    ACU_TRY(acu_cpu_pool_count(&threads));
    acu_backend_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a queue");
    queue->owners = 1;
    queue->limit = threads;
    if (options) {
        queue->priority = options->priority;
        if (options->threads > 0 && options->threads < threads)
            queue->limit = options->threads;
    }
    (void)pthread_cond_init(&queue->progress, NULL);
    lock();
    queue->next = queues;
    if (queues)
        queues->previous = queue;
    queues = queue;
    unlock();
    *out = queue;
    return ACU_SUCCESS;
}

void acu_cpu_queue_disown(acu_backend_queue *queue) {
    if (--queue->owners > 0)
        return;
    *(queue->previous ? &queue->previous->next : &queues) = queue->next;
    if (queue->next)
        queue->next->previous = queue->previous;
    (void)pthread_cond_destroy(&queue->progress);
    free(queue);
}

void acu_cpu_queue_destroy(acu_backend_queue *queue) {
    lock();
    acu_cpu_queue_disown(queue);
    unlock();
}

/* Forgets all tasks, of which the first may be the one that forks. The number of tasks that were
 * done stays, and with it the marks that were reached. */
static void forget(acu_backend_queue *queue) {
    (void)pthread_cond_init(&queue->progress, NULL);
    queue->lost = queue->lost || queue->first;
    if (queue->workers > 0) {
        acu_cpu_task *task = queue->first;
        queue->first = task->next;
        task->next = abandoned;
        abandoned = task;
    }
    queue->sleepers = queue->workers = 0;
    queue->listed = false;
    queue->waiting = NULL;
    while (queue->first) {
        acu_cpu_task *task = queue->first;
        queue->first = task->next;
        give_back(task);
    }
}

void acu_cpu_queue_forked(void) {
    listed = NULL;
    fresh = 0;
    for (acu_backend_queue *queue = queues; queue; queue = queue->next)
        forget(queue);
}
