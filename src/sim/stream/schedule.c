/*
 * The schedule with a seed: one operation runs at a time, and the seed picks the streams, so that a
 * run can be repeated.
 *
 * The order must not depend on how fast the program's threads are. So operations do not run as soon
 * as they are ready: one thread, the conductor, runs them while the program waits for an operation,
 * and runs a few, as many as the seed says, when the program asks whether one is done. If the
 * program does neither for a second although there is work, the conductor runs all of it, because
 * the program may wait for something that a host function does.
 */
#define _GNU_SOURCE /* clock_gettime */

#include "sim/stream/schedule.h"

#include "sim/noun.h"
#include "sim/stream/deferred.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <time.h>

static struct {
    bool started;             /* the thread runs */
    bool stuck;               /* an operation has been running for a second */
    uint64_t state;           /* of the random numbers */
    unsigned steps;           /* operations that the program's last question still lets run */
    unsigned long long asked; /* how often the program submitted, waited or asked */
    unsigned long long done;  /* operations that the conductor has run */
    unsigned wanted;          /* how many threads wait for operations */
} conductor;

static pthread_cond_t wake = PTHREAD_COND_INITIALIZER; /* for the conductor */
static pthread_cond_t stepped =
    PTHREAD_COND_INITIALIZER; /* an operation was run, or none is ready */

/* Returns the next random number of the seed (splitmix64). */
uint64_t acu_sim_schedule_random(void) {
    uint64_t z = conductor.state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Returns false if a second has passed; the lock is given up meanwhile. */
static bool wait_a_second(pthread_cond_t *condition) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    return pthread_cond_timedwait(condition, &acu_sim_lock, &until) == 0;
}

void acu_sim_schedule_wait_briefly(pthread_cond_t *condition) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(condition, &acu_sim_lock, &until);
}

/* Runs one operation; returns false if none is ready. */
static bool step(void) {
    if (!acu_sim_streams_step(acu_sim_schedule_random()))
        return false;
    conductor.done++;
    conductor.stuck = false;
    if (conductor.steps)
        conductor.steps--;
    pthread_cond_broadcast(&stepped);
    return true;
}

/* Returns whether the program has asked for nothing for a second. */
static bool is_forgotten(void) {
    unsigned long long asked = conductor.asked;
    return !wait_a_second(&wake) && asked == conductor.asked;
}

static void *conduct(void *unused) {
    (void)unused;
    pthread_mutex_lock(&acu_sim_lock);
    for (;;) {
        if (acu_sim_is_unloading() || !acu_sim_configuration()->seeded ||
            !acu_sim_streams_are_ready()) {
            conductor.steps = 0;
            pthread_cond_broadcast(&stepped);
            if (acu_sim_streams_look())
                acu_sim_schedule_wait_briefly(&wake);
            else
                pthread_cond_wait(&wake, &acu_sim_lock);
        } else if (conductor.wanted || conductor.steps) {
            (void)step();
        } else if (is_forgotten()) {
            while (!conductor.wanted && step())
                continue;
        }
    }
    return NULL;
}

bool acu_sim_schedule_start(void) {
    if (!conductor.started)
        conductor.started = acu_sim_stream_thread_start(conduct, NULL);
    return conductor.started;
}

static void configure(const acu_sim_config *config) {
    conductor.state = config->seed;
    conductor.steps = 0;
}

const acu_sim_noun acu_sim_schedule_noun = {.configure = configure};

void acu_sim_schedule_wake(void) {
    if (!conductor.started)
        return;
    conductor.asked++;
    pthread_cond_signal(&wake);
}

void acu_sim_schedule_want(acu_sim_op *op) {
    if (!acu_sim_configuration()->seeded)
        return;
    op->wanted++;
    conductor.wanted++;
    acu_sim_schedule_wake();
}

void acu_sim_schedule_done(acu_sim_op *op) {
    conductor.wanted -= op->wanted;
    op->wanted = 0;
}

void acu_sim_schedule_ask(void) {
    acu_sim_deferred_wake_all();
    if (!conductor.started || !acu_sim_configuration()->seeded || conductor.stuck)
        return;
    conductor.steps = (unsigned)(acu_sim_schedule_random() % 4);
    acu_sim_schedule_wake();
    while (conductor.steps && !conductor.stuck) {
        const unsigned long long done = conductor.done;
        if (!wait_a_second(&stepped) && done == conductor.done)
            conductor.stuck = true;
    }
}
