/*
 * Which threads run kernels now.
 *
 * A kernel has addresses of bytes while it runs, so that who moves bytes waits until none runs.
 * That is seldom, and kernels are many; so each thread has a word of its own. It is set under the
 * lock, which a launch takes anyway, and cleared by a plain store. Who waits looks again and again:
 * a signal would cost each kernel an instruction that locks the bus.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "sim/memory/running.h"

#include <pthread.h>
#include <time.h>

enum { PAUSE = 20000 /* nanoseconds between two looks */ };

bool acu_sim_running_paused;     /* under the lock */
static acu_sim_running *threads; /* under the lock: those that have run a kernel */
static unsigned others;          /* under the lock: kernels of threads that are not listed */
static pthread_cond_t resumed = PTHREAD_COND_INITIALIZER;
static pthread_key_t ends;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget(void *ended) {
    acu_sim_running *thread = ended;
    pthread_mutex_lock(&acu_sim_lock);
    *thread->from = thread->next;
    if (thread->next)
        thread->next->from = thread->from;
    thread->listed = false;
    pthread_mutex_unlock(&acu_sim_lock);
}

static void make_key(void) {
    (void)pthread_key_create(&ends, forget);
}

/* A thread of which the system would not say that it has ended is not listed, because its word goes
 * then. */
static void list(acu_sim_running *self) {
    (void)pthread_once(&once, make_key);
    if (pthread_setspecific(ends, self))
        return;
    self->listed = true;
    self->next = threads;
    self->from = &threads;
    if (threads)
        threads->from = &self->next;
    threads = self;
}

static void wait_while_paused(void) {
    while (acu_sim_running_paused)
        pthread_cond_wait(&resumed, &acu_sim_lock);
}

void acu_sim_running_begin_slow(acu_sim_running *self) {
    wait_while_paused();
    if (!self->listed)
        list(self);
    if (self->listed)
        __atomic_store_n(&self->runs, true, __ATOMIC_RELAXED);
    else
        others++;
}

void acu_sim_running_end_slow(void) {
    pthread_mutex_lock(&acu_sim_lock);
    others--;
    pthread_mutex_unlock(&acu_sim_lock);
}

static bool some_run(void) {
    for (const acu_sim_running *t = threads; t; t = t->next)
        if (__atomic_load_n(&t->runs, __ATOMIC_ACQUIRE))
            return true;
    return others > 0;
}

/* A kernel takes the lock while it runs, so that nobody waits for one with it. */
void acu_sim_running_pause(void) {
    const struct timespec pause = {.tv_nsec = PAUSE};
    wait_while_paused();
    acu_sim_running_paused = true;
    while (some_run()) {
        pthread_mutex_unlock(&acu_sim_lock);
        (void)nanosleep(&pause, NULL);
        pthread_mutex_lock(&acu_sim_lock);
    }
}

void acu_sim_running_resume(void) {
    acu_sim_running_paused = false;
    pthread_cond_broadcast(&resumed);
}
