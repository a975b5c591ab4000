/*
 * What a client is inside: a queue, a lock, and the client's memory.
 *
 * Order of locks: clients before all others, several clients only by acu_work_give() (work.h), in
 * the order of their addresses; then the lock of a place's device, of the list of devices, of the
 * quarantine. No hook and no function of the user is called with a lock. A back end's functions are
 * called with the client's lock, except where backend.h says that they may run beside others: those
 * that wait are called without.
 */
#ifndef ACU_CLIENT_INTERNAL_H
#define ACU_CLIENT_INTERNAL_H

#include "runtime/client_memory.h"
#include "runtime/handle.h"
#include "runtime/place.h"

enum { ACU_LATE_WORDS = 256 };

/* An error of queued work that was found by something that cannot return it. */
typedef struct acu_late_error {
    acu_result code; /* 0: none */
    uint64_t number; /* which one it is, of this client */
    char words[ACU_LATE_WORDS];
} acu_late_error;

/* How much of another client's work this client's later work comes after. */
typedef struct acu_seen {
    uint64_t id;     /* of the other client; 0: unused */
    uint64_t number; /* of its work */
} acu_seen;

/* A mark of a back end that a step and the program's marks have together: each one costs a call of
 * the driver. */
typedef struct acu_shared_mark {
    acu_backend_mark *mark;
    unsigned owners; /* under the lock of the client in whose queue it is */
} acu_shared_mark;

/* A mark behind a piece of the client's work. */
typedef struct acu_step {
    uint64_t number; /* of the work; 0: there is no mark */
    acu_shared_mark *shared;
} acu_step;

enum { ACU_MOST_SEEN = 8, ACU_MOST_STEPS = 16 };

struct acu_recording;

struct acu_client {
    acu_handle handle;
    /* What does not change: */
    acu_place_device *device;
    const acu_backend *table; /* the device's */
    acu_backend_queue *queue;
    uint64_t id;    /* from 1; no other client has or had it */
    unsigned forks; /* acu_place_forks when the client was made */
    /* Atomic: the CPU's queue on which a program runs in place of this client's queue, or NULL. */
    const acu_backend_queue *on_cpu;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a recording or a read_after() has ended, or `busy` */
    /* Under the lock: */
    uint64_t given;                  /* the number of the last work that was given to the queue */
    uint64_t done;                   /* all work up to this number is known to be done */
    struct acu_recording *recording; /* NULL: work is done at once. Only the thread that records has
                                        the lock meanwhile. */
    bool busy;      /* a thread uses the queue without the lock (acu_client_begin_slow_work()) */
    bool capturing; /* the back end records: nothing may wait, read, or ask the host */
    unsigned next_seen;
    acu_seen seen[ACU_MOST_SEEN];
    bool awaited; /* another client's queue has waited for this one's */
    bool marked;  /* the last step's mark is the last that the queue was given */
    unsigned next_step;
    acu_step steps[ACU_MOST_STEPS]; /* the last ones; by work.c */
    uint64_t late_errors;
    acu_late_error late; /* the first that was not yet returned */
    acu_client_memory memory;

    acu_client *next, **link; /* in the device's list, under its lock */
};

/* ---- forked processes ---- */

/* Returns whether the client was made before this process was forked: neither its queue nor its
 * lock may be touched. */
static inline bool acu_client_is_of_parent(const acu_client *client) {
    return client->forks != __atomic_load_n(&acu_place_forks, __ATOMIC_RELAXED);
}
/* Refuses such a client, for `call`: ACU_ERROR_STATE; else returns 0. */
acu_result acu_client_refuse_parent(const char *call, const acu_client *client);

/* ---- locking ---- */

/* Locks a client, and waits while another thread records with it. Fails, without the lock, where
 * the client was made before the process was forked; the failure is recorded for `call`. */
acu_result acu_client_lock(const char *call, acu_client *client);
/* Locks what a client remembers, also while another thread uses the queue: then `busy` is set, and
 * the queue may not be touched. */
static inline void acu_client_peek(acu_client *client) {
    acu_record_hold();
    pthread_mutex_lock(&client->lock);
}
/* Waits, with the lock, until no thread uses the queue without the lock. */
void acu_client_wait_until_idle(acu_client *client) ACU_COLD;
/* Locks a client that is not of the parent, also while another thread records: for what does no
 * work. While a thread has such a lock, failures are not shown to the program's function for them,
 * which may use the client. */
static inline void acu_client_seize(acu_client *client) {
    acu_client_peek(client);
    if (!ACU_LIKELY(!client->busy))
        acu_client_wait_until_idle(client);
}
static inline void acu_client_unlock(acu_client *client) {
    pthread_mutex_unlock(&client->lock);
    acu_record_resume();
}

/* Gives up the lock for work that takes long; the thread goes on using the queue alone. Failures
 * are held back as with the lock. */
static inline void acu_client_begin_slow_work(acu_client *client) {
    client->busy = true;
    pthread_mutex_unlock(&client->lock);
}
/* Takes the lock again. */
static inline void acu_client_end_slow_work(acu_client *client) {
    pthread_mutex_lock(&client->lock);
    client->busy = false;
    pthread_cond_broadcast(&client->changed);
}

/* Returns whether this thread is in a program's function that is work of the client. */
bool acu_client_works_here(const acu_client *client);

/* ---- waiting; without any lock ---- */

/* Waits for all work that the client was given so far, but not inside of that work. An error of it
 * is kept as a late error, and is returned, too, with words of ACU_LATE_WORDS bytes unless `words`
 * is NULL. */
acu_result acu_client_wait_for_all(acu_client *client, char *words);

/* Remembers, under the client's lock, that its queue waits for another client's work up to a
 * number. */
void acu_client_note_seen(acu_client *client, const acu_client *other, uint64_t number);
/* Returns whether that is so; under the client's lock. false also where it was forgotten. */
bool acu_client_has_seen(const acu_client *client, const acu_client *other, uint64_t number);

/* Keeps an error of queued work, with the back end's words, until something can return it; under
 * the lock. Returns the number of the error; the words are copied to `words`, unless that is NULL.
 */
uint64_t acu_client_keep_error(acu_client *client, acu_result code, char *words);
/* Takes the late error away and records it for `call`; 0 if there is none. Without the lock. */
acu_result acu_client_take_error(const char *call, acu_client *client);

/* Takes an owner of a mark away, under the client's lock. NULL is fine. */
void acu_client_drop_shared_mark(acu_client *client, acu_shared_mark *shared);

/* ---- failures ---- */

/* Fails a call on a client, or on any handle whose work was for the client: a replay that this
 * thread records with the client then fails, too. Takes no lock. */
acu_result acu_client_fail(const char *call, const acu_client *client, const void *handle,
                           acu_result code, const char *format, ...)
    __attribute__((format(printf, 5, 6), cold));
/* Fails a call as acu_client_fail() does, because a function of the back end returned `code`. */
acu_result acu_client_failed(const char *call, const acu_client *client, const void *handle,
                             acu_result code) ACU_COLD;
/* Notes that a call on the client failed, where something else recorded the failure: a replay that
 * this thread records with the client then fails, too. Returns the code. Takes no lock. */
acu_result acu_client_note_failure(const acu_client *client, acu_result code) ACU_COLD;
/* Refuses what waits or reads while this thread records: ACU_ERROR_CAPTURE; else returns 0. */
acu_result acu_client_refuse_recording(const char *call, const acu_client *client);
/* Refuses also what waits for the client inside of a program's function that is the client's work:
 * ACU_ERROR_STATE; else returns 0. */
acu_result acu_client_refuse_waiting(const char *call, const acu_client *client);
/* Refuses what only a program's function cannot do; the failure is recorded. */
acu_result acu_client_refuse_function(const char *call, const acu_client *client) ACU_COLD;

#endif
