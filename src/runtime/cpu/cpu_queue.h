/*
 * Queues: ordered lists of tasks, of which each is done in parts by several threads at once.
 *
 * All of it is guarded by acu_cpu_lock, except where a comment says otherwise.
 */
#ifndef ACU_CPU_QUEUE_H
#define ACU_CPU_QUEUE_H

#include <anycuda/backend.h>

#include <pthread.h>
#include <stdatomic.h>

/* A piece of work. Other structs begin with it, and are allocated by malloc(). */
typedef struct acu_cpu_task acu_cpu_task;
struct acu_cpu_task {
    acu_cpu_task *next;
    enum { ACU_CPU_WORK, ACU_CPU_WAIT, ACU_CPU_REPLAY } kind;
    /* Does one part of work; `thread` is from 0, and at one time each thread has another. */
    void (*part)(const acu_cpu_task *task, size_t part, unsigned thread);
    /* Gives back what the task keeps, without the lock; NULL: nothing. */
    void (*drop)(acu_cpu_task *task);
    size_t parts; /* at least 1 */
    size_t held;  /* bytes of the host that the task keeps, which count against a limit */
};

/* A task that is done when another queue has done so many tasks. */
typedef struct acu_cpu_wait {
    acu_cpu_task task;
    acu_backend_queue *awaited; /* of which the task is an owner */
    uint64_t number;
} acu_cpu_wait;

/* Recorded work, which a task of its own does once more. */
struct acu_backend_replay {
    unsigned owners; /* the replay's own handle, and tasks */
    acu_cpu_task *first, *last;
};
typedef struct acu_cpu_again {
    acu_cpu_task task;
    acu_backend_replay *replay;
} acu_cpu_again;

struct acu_backend_queue {
    /* How many tasks were given, and how many of them are done. Read without the lock. */
    atomic_uint_fast64_t given, done;
    atomic_bool lost;              /* a fork left work undone; see acu_cpu_queue_forked() */
    acu_backend_replay *recording; /* NULL: tasks are done */
    unsigned limit;                /* threads that may work for the queue at once */
    int priority;
    unsigned owners; /* the queue's own handle, marks, and waits for it */

    acu_cpu_task *first, *last;
    const acu_cpu_task *unit; /* what threads work on: the first task, or one of its replay */
    atomic_size_t next_part;
    unsigned workers; /* threads that are in the unit */
    bool listed;      /* more threads may work on the unit */
    size_t held;      /* of all tasks */

    acu_backend_queue *next_listed;
    acu_backend_queue *waiting;      /* queues that wait for this one … */
    acu_backend_queue *next_waiting; /* … linked by this, … */
    uint64_t wait_until;             /* … each until so many tasks are done */

    pthread_cond_t progress;
    unsigned sleepers;
    uint64_t wake_at;                   /* the lowest number that a sleeper waits for */
    acu_backend_queue *previous, *next; /* of all queues */
};

/* Returns whether the queue has nothing to do, so that the thread that gives it work may do the
 * work itself. Without the lock. */
static inline bool acu_cpu_queue_is_idle(acu_backend_queue *queue) {
    return atomic_load_explicit(&queue->done, memory_order_acquire) ==
               atomic_load_explicit(&queue->given, memory_order_relaxed) &&
           queue->recording == NULL;
}

/* ---- without the lock; all take it ---- */

acu_result acu_cpu_queue_create(acu_backend_device *device,
                                const acu_backend_queue_options *options, acu_backend_queue **out);
void acu_cpu_queue_destroy(acu_backend_queue *queue);
acu_result acu_cpu_queue_synchronize(acu_backend_queue *queue);

/* Returns whether the queue may keep so many more bytes of the host. */
bool acu_cpu_queue_may_hold(acu_backend_queue *queue, size_t bytes);

/* Adds a task, which is the queue's from now on, also where this fails. */
acu_result acu_cpu_queue_add(acu_backend_queue *queue, acu_cpu_task *task);

/* Does a task at once where `at_once` and the queue is idle; else adds a copy of its `bytes`. */
acu_result acu_cpu_queue_give(acu_backend_queue *queue, const acu_cpu_task *task, size_t bytes,
                              bool at_once);

/* As acu_cpu_queue_give(), and waits until all work is done. Not while the queue records. Fails
 * inside of the queue's own work. */
acu_result acu_cpu_queue_give_and_wait(acu_backend_queue *queue, const acu_cpu_task *task,
                                       size_t bytes, bool at_once);

/* Waits until the queue has done so many tasks, and works for it meanwhile. */
acu_result acu_cpu_queue_wait_until(acu_backend_queue *queue, uint64_t number);

/* ---- with the lock ---- */

bool acu_cpu_queue_has_work(void);

/* Works for the queue that is next, of those that have work; `thread` is the number of a seat. */
void acu_cpu_queue_work(unsigned thread);

/* In the child of a fork: queues that had work to do are lost, and refuse everything. */
void acu_cpu_queue_forked(void);

/* Takes an owner of a queue away. */
void acu_cpu_queue_disown(acu_backend_queue *queue);

#endif
