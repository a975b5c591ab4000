/*
 * Who works has a seat, whose number the programs see: a thread of the pool, or one that waits for
 * a queue and works for it meanwhile. A thread that sleeps inside of a program's function leaves
 * its seat, and gets the same one back before it goes on. One more thread is started meanwhile, a
 * guest, so that no circle of waits can stop all of them.
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
    bool taken;
    unsigned returning; /* threads inside of functions that wait for the seat */
    pthread_cond_t free;
} seat;

/* A thread that stays. Each has its own so that the end can join it. */
typedef struct owner {
    pthread_t thread;
    bool started, asleep;
    bool leave; /* the thread ends */
} owner;

pthread_mutex_t acu_cpu_lock = PTHREAD_MUTEX_INITIALIZER;

/* Guarded by acu_cpu_lock. */
static struct {
    unsigned count; /* of seats, and of owners at most; 0 until they are counted */
    seat *seats;
    owner *owners;
    unsigned started; /* owners */
    unsigned guests;
    unsigned away;  /* threads that left their seats */
    unsigned idle;  /* threads that sleep because there is no work */
    unsigned wakes; /* of those, the ones that were told to look for work */
    unsigned forks; /* that made this process */
    pthread_cond_t work;
} pool = {.work = PTHREAD_COND_INITIALIZER};

static _Thread_local seat *mine; /* NULL: this thread has none */

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
static acu_result make_seats(unsigned count) {
    pool.seats = calloc(count, sizeof *pool.seats);
    pool.owners = calloc(count, sizeof *pool.owners);
    if (pool.seats == NULL || pool.owners == NULL) {
        free(pool.seats);
        free(pool.owners);
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for %u threads", count);
    }
    for (unsigned i = 0; i < count; i++)
        (void)pthread_cond_init(&pool.seats[i].free, NULL);
    pool.count = count;
    return ACU_SUCCESS;
}

/* ---- forking ---- */

static void before_fork(void) {
    pthread_mutex_lock(&acu_cpu_lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&acu_cpu_lock);
}

/* A child has one thread only: the pool is started anew when it is next needed. Where a thread of
 * the pool forked, inside of a function, that one ends after the function, and the child with it.
 */
static void in_child(void) {
    mine = NULL;
    pool.started = pool.guests = pool.away = pool.idle = pool.wakes = 0;
    pool.forks++;
    (void)pthread_cond_init(&pool.work, NULL);
    for (unsigned i = 0; i < pool.count; i++) {
        pool.owners[i] = (owner){.started = false};
        pool.seats[i] = (seat){.taken = false};
        (void)pthread_cond_init(&pool.seats[i].free, NULL);
    }
    acu_cpu_queue_forked();
    pthread_mutex_unlock(&acu_cpu_lock);
}

static void mind_forks(void) {
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

acu_result acu_cpu_pool_count(unsigned *seats) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, mind_forks);
    acu_result result = ACU_SUCCESS;
    pthread_mutex_lock(&acu_cpu_lock);
    if (pool.count == 0) {
        unsigned wanted = 0;
        result = wanted_threads(&wanted);
        if (result == ACU_SUCCESS)
            result = make_seats(wanted);
    }
    *seats = pool.count;
    pthread_mutex_unlock(&acu_cpu_lock);
    return result;
}

/* ---- seats; with the lock ---- */

bool acu_cpu_pool_sit(unsigned *number) {
    for (unsigned i = 0; i < pool.count && mine == NULL; i++) {
        seat *one = &pool.seats[i];
        if (one->taken || one->returning > 0)
            continue;
        one->taken = true;
        mine = one;
        *number = i;
        return true;
    }
    return false;
}

void acu_cpu_pool_rise(void) {
    if (mine == NULL)
        return; /* in the child of a fork inside of a function */
    mine->taken = false;
    if (mine->returning > 0)
        pthread_cond_signal(&mine->free);
    mine = NULL;
}

/* ---- threads ---- */

/* Works, if there is work and a seat. Returns whether there was. With the lock. */
static bool work(void) {
    unsigned number = 0;
    if (!acu_cpu_queue_has_work() || !acu_cpu_pool_sit(&number))
        return false;
    acu_cpu_queue_work(number);
    acu_cpu_pool_rise();
    return true;
}

/* Returns whether a guest has nothing more to do here: the one whose seat it took is back. With the
 * lock. */
static bool is_guest_free(const owner *self) {
    return self == NULL && pool.guests > pool.away;
}

/* `self` is NULL for a guest. With the lock. */
static void sleep_for_work(owner *self) {
    pool.idle++;
    if (self)
        self->asleep = true;
    while (pool.wakes == 0 && !(self && self->leave) && !is_guest_free(self))
        pthread_cond_wait(&pool.work, &acu_cpu_lock);
    if (self)
        self->asleep = false;
    pool.idle--;
    if (pool.wakes > 0)
        pool.wakes--;
}

static void *stay(void *data) {
    owner *self = data;
    pthread_mutex_lock(&acu_cpu_lock);
    const unsigned forks = pool.forks;
    while (!self->leave && forks == pool.forks)
        if (!work())
            sleep_for_work(self);
    pthread_mutex_unlock(&acu_cpu_lock);
    return NULL;
}

static void *visit(void *data) {
    pthread_mutex_lock(&acu_cpu_lock);
    const unsigned forks = pool.forks;
    while (!is_guest_free(NULL) && forks == pool.forks)
        if (!work())
            sleep_for_work(NULL);
    if (forks == pool.forks)
        pool.guests--;
    acu_cpu_pool_wake(); /* if this one was told to look for work, another does */
    pthread_mutex_unlock(&acu_cpu_lock);
    return data;
}

/* Starts a thread that takes no signals, which are the program's. Returns an error number. */
static int start(pthread_t *thread, void *(*function)(void *), void *data) {
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, function, data);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Starts one more owner. Returns an error number. With the lock. */
static int start_owner(void) {
    owner *one = pool.owners;
    while (one->started)
        one++;
    const int error = start(&one->thread, stay, one);
    if (error == 0) {
        one->started = true;
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
    } else if (pool.started < pool.count) {
        (void)start_owner(); /* without it, those that run do the work */
    }
}

/* ---- waiting inside of a program's function; with the lock ---- */

acu_result acu_cpu_pool_lend(bool *lent) {
    pthread_t guest;
    *lent = false;
    if (mine == NULL)
        return ACU_SUCCESS;
    const int error = start(&guest, visit, NULL);
    if (error)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY,
                                "a program's function waits, and no thread can be started that "
                                "works in its place: %s",
                                strerror(error));
    (void)pthread_detach(guest);
    pool.guests++;
    pool.away++;
    mine->taken = false;
    if (mine->returning > 0)
        pthread_cond_signal(&mine->free);
    *lent = true;
    return ACU_SUCCESS;
}

void acu_cpu_pool_take_back(bool lent) {
    if (!lent)
        return;
    pool.away--;
    pthread_cond_broadcast(&pool.work); /* a guest may sleep, and ends now */
    mine->returning++;
    while (mine->taken)
        pthread_cond_wait(&mine->free, &acu_cpu_lock);
    mine->returning--;
    mine->taken = true;
}

/* ---- the end ---- */

/*
 * Ends the threads that sleep, when the program ends or the library is unloaded. A thread that
 * still works is left alone, since its function may never return.
 */
__attribute__((destructor)) static void end(void) {
    pthread_mutex_lock(&acu_cpu_lock);
    for (unsigned i = 0; i < pool.count; i++)
        pool.owners[i].leave = pool.owners[i].asleep;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&acu_cpu_lock);
    for (unsigned i = 0; i < pool.count; i++) {
        owner *one = &pool.owners[i];
        if (!one->leave) /* only this function writes it */
            continue;
        (void)pthread_join(one->thread, NULL);
        pthread_mutex_lock(&acu_cpu_lock);
        one->leave = one->started = false;
        pool.started--;
        pthread_mutex_unlock(&acu_cpu_lock);
    }
}
