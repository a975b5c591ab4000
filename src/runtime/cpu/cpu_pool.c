/*
 * A thread has a seat, whose number the programs see. A thread that sleeps inside of a program's
 * function leaves its seat to a guest, which is a thread that is started for this, and gets the
 * seat back before it goes on: so as many threads as there are seats work at once, and no circle of
 * waits can stop them all.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "runtime/cpu/cpu_pool.h"
#include "runtime/cpu/cpu_queue.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 1024 };

typedef struct seat {
    unsigned number;
    pthread_t owner;
    bool started;       /* the owner runs, or is to be joined */
    bool asleep;        /* the owner sleeps because there is no work */
    bool leave;         /* the owner ends */
    bool taken;         /* a thread works here, or looks for work */
    bool home;          /* the owner waits for the seat, without being inside of a function */
    unsigned returning; /* threads inside of functions that wait for the seat */
    pthread_cond_t free;
} seat;

pthread_mutex_t acu_cpu_lock = PTHREAD_MUTEX_INITIALIZER;

/* Guarded by acu_cpu_lock. */
static struct {
    unsigned threads; /* 0 until they are counted */
    unsigned started;
    unsigned idle;  /* threads that sleep because there is no work */
    unsigned wakes; /* of those, the ones that were told to look for work */
    pthread_cond_t work;
    seat *seats;
} pool = {.work = PTHREAD_COND_INITIALIZER};

static _Thread_local seat *mine; /* NULL in threads that are not of the pool */

/* ---- counting ---- */

static unsigned processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > MOST_THREADS ? MOST_THREADS : (unsigned)online;
}

static acu_result wanted_threads(unsigned *threads) {
    const char *text = getenv("ANYCUDA_CPU_THREADS");
    if (text == NULL || *text == '\0') {
        *threads = processors();
        return ACU_SUCCESS;
    }
    char *end = NULL;
    const unsigned long number = strtoul(text, &end, 10);
    if (*end != '\0' || *text < '0' || *text > '9' || number < 1 || number > MOST_THREADS)
        return acu_backend_fail(ACU_ERROR_ARGUMENT,
                                "ANYCUDA_CPU_THREADS is \"%.40s\", but has to be a number of "
                                "threads from 1 to %d",
                                text, MOST_THREADS);
    *threads = (unsigned)number;
    return ACU_SUCCESS;
}

/* Makes the seats; with the lock. */
static acu_result make_seats(unsigned threads) {
    pool.seats = calloc(threads, sizeof *pool.seats);
    if (pool.seats == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for %u threads", threads);
    for (unsigned i = 0; i < threads; i++) {
        pool.seats[i].number = i;
        (void)pthread_cond_init(&pool.seats[i].free, NULL);
    }
    pool.threads = threads;
    return ACU_SUCCESS;
}

/* ---- forking ---- */

static void before_fork(void) {
    pthread_mutex_lock(&acu_cpu_lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&acu_cpu_lock);
}

/* A child has one thread only: the pool is started anew when it is next needed. */
static void in_child(void) {
    mine = NULL;
    pool.started = pool.idle = pool.wakes = 0;
    (void)pthread_cond_init(&pool.work, NULL);
    for (unsigned i = 0; i < pool.threads; i++) {
        pool.seats[i] = (seat){.number = i};
        (void)pthread_cond_init(&pool.seats[i].free, NULL);
    }
    acu_cpu_queue_forked();
    pthread_mutex_unlock(&acu_cpu_lock);
}

static void mind_forks(void) {
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

acu_result acu_cpu_pool_count(unsigned *threads) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, mind_forks);
    acu_result result = ACU_SUCCESS;
    pthread_mutex_lock(&acu_cpu_lock);
    if (pool.threads == 0) {
        unsigned wanted = 0;
        result = wanted_threads(&wanted);
        if (result == ACU_SUCCESS)
            result = make_seats(wanted);
    }
    *threads = pool.threads;
    pthread_mutex_unlock(&acu_cpu_lock);
    return result;
}

/* ---- threads; all with the lock ---- */

static bool is_wanted(const seat *self) {
    return self->leave || self->home || self->returning > 0;
}

static void sleep_for_work(seat *self) {
    pool.idle++;
    self->asleep = pthread_equal(self->owner, pthread_self());
    while (pool.wakes == 0 && !is_wanted(self))
        pthread_cond_wait(&pool.work, &acu_cpu_lock);
    self->asleep = false;
    pool.idle--;
    if (!is_wanted(self))
        pool.wakes--;
    else if (pool.wakes > 0)
        pthread_cond_signal(&pool.work); /* another thread does what this one was woken for */
}

/* Leaves the seat to those who are inside of functions, and waits until none wants it. */
static void step_aside(seat *self) {
    self->taken = false;
    self->home = true;
    pthread_cond_broadcast(&self->free);
    acu_cpu_pool_wake(); /* another thread does what this one would have found */
    while (self->taken || self->returning > 0)
        pthread_cond_wait(&self->free, &acu_cpu_lock);
    self->home = false;
    self->taken = true;
}

static void *own(void *data) {
    seat *self = data;
    mine = self;
    pthread_mutex_lock(&acu_cpu_lock);
    while (!self->leave)
        if (self->returning > 0)
            step_aside(self);
        else if (!acu_cpu_queue_work(self->number))
            sleep_for_work(self);
    self->taken = false;
    pthread_mutex_unlock(&acu_cpu_lock);
    return NULL;
}

/* Works at a seat until one of those who left it wants it back. */
static void *visit(void *data) {
    seat *self = data;
    mine = self;
    pthread_mutex_lock(&acu_cpu_lock);
    if (!self->taken) {
        self->taken = true;
        while (self->returning == 0 && !self->home)
            if (!acu_cpu_queue_work(self->number))
                sleep_for_work(self);
        self->taken = false;
        pthread_cond_broadcast(&self->free);
        acu_cpu_pool_wake();
    }
    pthread_mutex_unlock(&acu_cpu_lock);
    return NULL;
}

/* Starts a thread that takes no signals, which are the program's. Returns an error number. */
static int start(pthread_t *thread, const pthread_attr_t *how, void *(*function)(void *),
                 seat *at) {
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, how, function, at);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Starts one more owner. Returns an error number. */
static int start_owner(void) {
    seat *self = pool.seats;
    while (self->started)
        self++;
    const int error = start(&self->owner, NULL, own, self);
    if (error == 0) {
        self->started = self->taken = true;
        pool.started++;
    }
    return error;
}

acu_result acu_cpu_pool_begin(void) {
    const int error = pool.started > 0 ? 0 : start_owner();
    if (error)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no thread can be started: %s",
                                strerror(error));
    return ACU_SUCCESS;
}

void acu_cpu_pool_wake(void) {
    if (pool.idle > pool.wakes) {
        pool.wakes++;
        pthread_cond_signal(&pool.work);
    } else if (pool.started < pool.threads) {
        (void)start_owner(); /* those that run will do the work */
    }
}

/* ---- waiting inside of a program's function ---- */

acu_result acu_cpu_pool_lend(bool *lent) {
    seat *self = mine;
    *lent = false;
    if (self == NULL)
        return ACU_SUCCESS;
    pthread_attr_t detached;
    pthread_t guest;
    (void)pthread_attr_init(&detached);
    (void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    const int error = start(&guest, &detached, visit, self);
    (void)pthread_attr_destroy(&detached);
    if (error)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY,
                                "a program's function waits, and no thread can be started that "
                                "works in its place: %s",
                                strerror(error));
    self->taken = false;
    pthread_cond_broadcast(&self->free); /* for others who return */
    *lent = true;
    return ACU_SUCCESS;
}

void acu_cpu_pool_take_back(bool lent) {
    seat *self = mine;
    if (!lent)
        return;
    self->returning++;
    pthread_cond_broadcast(&pool.work); /* a guest may sleep at the seat */
    while (self->taken)
        pthread_cond_wait(&self->free, &acu_cpu_lock);
    self->returning--;
    self->taken = true;
}

/* ---- the end ---- */

/*
 * Ends the threads that sleep, when the program ends or the library is unloaded. A thread that
 * still works is left alone, since its function may never return.
 */
__attribute__((destructor)) static void end(void) {
    pthread_mutex_lock(&acu_cpu_lock);
    for (unsigned i = 0; i < pool.threads; i++)
        pool.seats[i].leave = pool.seats[i].asleep;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&acu_cpu_lock);
    for (unsigned i = 0; i < pool.threads; i++) {
        seat *self = &pool.seats[i];
        if (!self->leave) /* only this function writes it */
            continue;
        (void)pthread_join(self->owner, NULL);
        pthread_mutex_lock(&acu_cpu_lock);
        self->leave = self->started = false;
        pool.started--;
        pthread_mutex_unlock(&acu_cpu_lock);
    }
}
