/*
 * With a seed: one operation at a time, of streams that the seed picks, so that a run can be
 * repeated.
 *
 * What runs when must not depend on how fast the program's threads are. So nothing runs by itself:
 * one thread, the conductor, goes on while somebody waits for an operation, and for a few
 * operations, as many as the seed says, when somebody asks whether one is done. Only a program that
 * does neither for a second, though there is work, sees work done all the same: it may be waiting
 * for what a host function does.
 */
#define _GNU_SOURCE /* clock_gettime */

#include "sim/stream/schedule.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <time.h>

static struct {
    bool started, stuck; /* stuck: an operation has been running for a second */
    uint64_t state;
    unsigned steps;           /* that a question still allows */
    unsigned long long asked; /* how often somebody wanted something */
    unsigned long long done;  /* operations */
    unsigned wanted;          /* operations that are waited for, once for each who waits */
} conductor;

static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, stepped = PTHREAD_COND_INITIALIZER;

/* splitmix64 */
uint64_t acu_sim_schedule_random(void) {
    uint64_t z = conductor.state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* False: a second has passed. */
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

/* Nobody has asked for anything for a second. */
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

void acu_sim_schedule_reset(uint64_t seed) {
    conductor.state = seed;
    conductor.steps = 0;
}

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
