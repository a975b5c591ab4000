/* The lock, the threads that call CUDA, and what the entry of a call does first and last. */
#include "core/record.h"
#include "sim/noun.h"
#include "sim/sim.h"

/* The lock does not spin before it sleeps: waiting for a stream would take twice as long. */
pthread_mutex_t acu_sim_lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local acu_sim_thread self;

acu_sim_thread *acu_sim_self(void) {
    return &self;
}

/* Forgets what the thread had before acu_sim_reset(). */
static void renew_thread(void) {
    if (self.era == acu_sim_era())
        return;
    static uint64_t last_id;
    self = (acu_sim_thread){.era = acu_sim_era(),
                            .in_callback = self.in_callback,
                            .call = self.call,
                            .running = self.running,
                            .id = self.id ? self.id : ++last_id};
    acu_sim_watch_thread(&self);
}

/* Exchanges the call of the thread with another one. */
static void exchange(acu_sim_call *call) {
    const acu_sim_call outer = self.call;
    self.call = *call;
    *call = outer;
}

/* A thread that is cancelled ends behind the call, which may wait: it would keep the lock. */
void acu_sim_call_begin(acu_sim_call *call) {
    acu_record_forget_reason();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &call->cancelling);
    pthread_mutex_lock(&acu_sim_lock);
    (void)acu_sim_configuration();
    renew_thread();
    exchange(call);
}

void acu_sim_call_keep_current(void) {
    self.call.restores = true;
    self.call.before = (acu_sim_current){self.device, self.bound, self.context};
}

cudaError_t acu_sim_call_end(acu_sim_call *call, cudaError_t result) {
    if (self.call.restores) {
        self.device = self.call.before.device;
        self.bound = self.call.before.bound;
        self.context = self.call.before.context;
    }
    const bool failed = result && result != cudaErrorNotReady;
    if (failed && self.call.symbol)
        acu_sim_nouns_failed(&self.call, result);
    pthread_mutex_unlock(&acu_sim_lock);
    if (failed && !self.call.by_driver)
        self.last = result;
    exchange(call);
    pthread_setcancelstate(call->cancelling, NULL);
    return result;
}
