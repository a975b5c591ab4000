/* The program's function that is called for each failure. */
#define _POSIX_C_SOURCE 200809L /* pthread_rwlock_t */
#include "core/status.h"

#include "core/fail.h"

#include <pthread.h>
#include <stdbool.h>

/* Threads read while they call the function, so that replacing it waits for them. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static acu_error_callback *callback; /* under the lock */
static void *callback_data;          /* under the lock */

static _Thread_local bool calling;

/* In a child process the lock is new, because another thread may have had it when the program
 * forked, and that thread does not exist there. */
static void renew_lock_in_child(void) {
    lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    if (calling) /* the program's function has forked, and gives the lock back when it returns */
        pthread_rwlock_rdlock(&lock);
}

/* This is a constructor because a fork runs only what was registered before it began, and another
 * thread may set the function while it is under way. */
static __attribute__((constructor)) void prepare_forks(void) {
    (void)pthread_atfork(NULL, NULL, renew_lock_in_child);
}

/* Calls the program's function. What that function's own calls record is forgotten. */
static void call_it(void) {
    if (calling)
        return;
    acu_saved_record before;
    acu_record_save(&before);
    const acu_error error = acu_error_of(&before.record.last);
    calling = true;
    pthread_rwlock_rdlock(&lock);
    if (callback)
        callback(&error, callback_data);
    pthread_rwlock_unlock(&lock);
    calling = false;
    acu_record_restore(&before);
}

acu_result acu_set_error_callback(acu_error_callback *function, void *data) {
    if (calling)
        return acu_fail(__func__, "", ACU_ERROR_STATE,
                        "the callback cannot be replaced while this thread is in it");
    pthread_rwlock_wrlock(&lock);
    callback = function;
    callback_data = data;
    acu_record_observe(function ? call_it : NULL);
    pthread_rwlock_unlock(&lock);
    return 0;
}
