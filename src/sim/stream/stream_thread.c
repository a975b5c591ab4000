/* Streams: the threads that serve them. */
#define _GNU_SOURCE /* sigset_t */

#include "sim/stream/stream.h"

#include <signal.h>

/* Threads without a stream; each is in its thread. */
enum { SPARES = 16 };
typedef struct spare {
    acu_sim_stream *stream; /* that it is to serve */
    pthread_cond_t wake;
    struct spare *next;
} spare;
static spare *spares;
static unsigned spare_count;

/* Lets a thread whose stream is gone wait for another stream: to make a thread takes longer than
 * most work does. */
static void park(spare *self) {
    if (spare_count == SPARES)
        return;
    self->next = spares;
    spares = self;
    spare_count++;
    while (!self->stream)
        pthread_cond_wait(&self->wake, &acu_sim_lock);
}

static bool take_spare(acu_sim_stream *stream) {
    spare *taken = spares;
    if (!taken)
        return false;
    spares = taken->next;
    spare_count--;
    taken->stream = stream;
    pthread_cond_signal(&taken->wake);
    return true;
}

static void *work(void *data) {
    spare self = {.stream = data};
    const bool kept = pthread_cond_init(&self.wake, NULL) == 0;
    pthread_mutex_lock(&acu_sim_lock);
    while (self.stream) {
        acu_sim_stream_serve(self.stream);
        self.stream = NULL;
        if (kept)
            park(&self);
    }
    pthread_mutex_unlock(&acu_sim_lock);
    if (kept)
        pthread_cond_destroy(&self.wake);
    return NULL;
}

/* Signals are for the program's threads, but for those that tell of what this one does: were they
 * blocked, a fault in a kernel would end the process without a word. */
static void fill_blocked(sigset_t *set) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(set, own[i]);
}

bool acu_sim_stream_thread_start(void *(*function)(void *data), void *data) {
    sigset_t blocked, before;
    pthread_attr_t attributes;
    pthread_t thread;
    fill_blocked(&blocked);
    if (pthread_attr_init(&attributes))
        return false;
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const bool started = pthread_create(&thread, &attributes, function, data) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return started;
}

bool acu_sim_stream_thread_take(acu_sim_stream *stream) {
    return take_spare(stream) || acu_sim_stream_thread_start(work, stream);
}
