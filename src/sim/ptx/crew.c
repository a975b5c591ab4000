#define _DEFAULT_SOURCE
#include "sim/ptx/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* A call of acu_ptx_crew_run() that others may help with. */
typedef struct job {
    void (*work)(void *data);
    void *data;
    unsigned wanted; /* how many more threads may help */
    unsigned helping;
    struct job *next;
} job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below, and all jobs */
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static job *first;
static unsigned threads, idle;
static bool watches_forks;

static void *help(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        job *j = first;
        while (j && !j->wanted)
            j = j->next;
        if (!j) {
            idle++;
            pthread_cond_wait(&more, &lock);
            idle--;
            continue;
        }
        j->wanted--;
        j->helping++;
        pthread_mutex_unlock(&lock);
        j->work(j->data);
        pthread_mutex_lock(&lock);
        if (--j->helping == 0)
            pthread_cond_broadcast(&done);
    }
    return NULL;
}

/* The child of a fork has none of the threads. */
static void forget_threads(void) {
    threads = idle = 0;
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
    job mine = {.work = work, .data = data, .wanted = most - 1};
    pthread_mutex_lock(&lock);
    add_threads(most - 1);
    mine.next = first;
    first = &mine;
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    work(data);
    pthread_mutex_lock(&lock);
    take_out(&mine);
    while (mine.helping)
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
}
