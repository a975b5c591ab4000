/* The program's function that is called for each failure. */
#define _POSIX_C_SOURCE 200809L /* pthread_rwlock_t, getpid */
#include "core/status.h"

#include "core/fail.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

/* Threads read while they call the function, so that replacing it waits for them. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static acu_error_callback *callback; /* under the lock */
static void *callback_data;          /* under the lock */
static pid_t owner;                  /* the process that the lock belongs to; atomic */

static _Thread_local bool calling;

/* Another thread may have had the lock when the program forked, and it does not exist in the child.
 */
static void renew_lock_after_fork(void) {
    pid_t here = getpid(), before = __atomic_exchange_n(&owner, here, __ATOMIC_RELAXED);
    if (before && before != here)
        lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

/* Calls the program's function. What that function's own calls record is forgotten. */
static void call_it(void) {
    if (calling)
        return;
    acu_saved_record before;
    acu_record_save(&before);
    const acu_error error = acu_error_of(&before.record.last);
    calling = true;
    renew_lock_after_fork();
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
    renew_lock_after_fork();
    pthread_rwlock_wrlock(&lock);
    callback = function;
    callback_data = data;
    acu_record_observe(function ? call_it : NULL);
    pthread_rwlock_unlock(&lock);
    return 0;
}
