/*
 * A thread that sleeps takes tens of microseconds to wake, as long as a tenth of many kernels. So
 * both who waits for the others' last pieces and who waits for the next call stay awake for a
 * moment first: the latter only where its last call came so soon.
 */
#define _DEFAULT_SOURCE
#include "sim/ptx/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A call of acu_ptx_crew_run() that others may help with. */
typedef struct job {
    void (*work)(void *data);
    void *data;
    unsigned wanted;     /* how many more threads may help */
    atomic_uint helping; /* changed under the lock */
    uint64_t began;
    struct job *next;
} job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below, and all jobs */
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static job *first;
static unsigned threads;
static atomic_uint jobs_made; /* changed under the lock */
static bool watches_forks;

enum { AWAKE = 50000 }; /* nanoseconds that a thread stays awake */

static uint64_t nanoseconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Returns when the word has the value, or has it no more, or a moment has passed; where others want
 * this processor, they have it. */
static void wait_awake(const atomic_uint *word, unsigned value, bool has) {
    const uint64_t begin = nanoseconds_now();
    while ((atomic_load_explicit(word, memory_order_acquire) == value) != has &&
           nanoseconds_now() - begin < AWAKE)
        (void)sched_yield();
}

static void *help(void *unused) {
    (void)unused;
    bool stays_awake = false;
    uint64_t ended = 0;
    pthread_mutex_lock(&lock);
    for (;;) {
        job *j = first;
        while (j && !j->wanted)
            j = j->next;
        if (!j && stays_awake) {
            const unsigned seen = jobs_made;
            pthread_mutex_unlock(&lock);
            wait_awake(&jobs_made, seen, false);
            pthread_mutex_lock(&lock);
            stays_awake = false;
            continue;
        }
        if (!j) {
            pthread_cond_wait(&more, &lock);
            continue;
        }
        j->wanted--;
        j->helping++;
        pthread_mutex_unlock(&lock);
        stays_awake = j->began < ended + AWAKE;
        j->work(j->data);
        ended = nanoseconds_now();
        pthread_mutex_lock(&lock);
        if (--j->helping == 0)
            pthread_cond_broadcast(&done);
    }
    return NULL;
}

/* The child of a fork has none of the threads. */
static void forget_threads(void) {
    threads = 0;
    first = NULL;
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh;
}

static void add_threads(unsigned wanted) {
    if (!watches_forks)
        pthread_atfork(NULL, NULL, forget_threads);
    watches_forks = true;
    for (; threads < wanted; threads++) {
        pthread_t thread;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        int failed = pthread_create(&thread, &attributes, help, NULL);
        pthread_attr_destroy(&attributes);
        if (failed)
            return;
    }
}

static void take_out(const job *one) {
    job **at = &first;
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
}

unsigned acu_ptx_crew_most(void) {
    static atomic_uint known; /* the system reads it from a file */
    unsigned most = atomic_load_explicit(&known, memory_order_relaxed);
    if (!most) {
        const long processors = sysconf(_SC_NPROCESSORS_ONLN);
        most = processors > 0 ? (unsigned)processors : 1;
        atomic_store_explicit(&known, most, memory_order_relaxed);
    }
    return most;
}

void acu_ptx_crew_run(void (*work)(void *data), void *data, unsigned most, uint64_t pieces) {
    if (!most)
        most = acu_ptx_crew_most();
    if (most > pieces)
        most = (unsigned)pieces;
    if (most < 2) {
        work(data);
        return;
    }
    job mine = {.work = work, .data = data, .wanted = most - 1, .began = nanoseconds_now()};
    pthread_mutex_lock(&lock);
    add_threads(most - 1);
    mine.next = first;
    first = &mine;
    jobs_made++;
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    work(data);
    pthread_mutex_lock(&lock);
    take_out(&mine);
    pthread_mutex_unlock(&lock);
    wait_awake(&mine.helping, 0, true);
    pthread_mutex_lock(&lock);
    while (mine.helping)
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
}
