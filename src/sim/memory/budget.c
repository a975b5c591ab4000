/*
 * Asynchronous notifications of a device. CUDA has one, that the process has exceeded its budget of
 * the device's memory; `budget` of ANYCUDA_SIM is that budget. The notification is sent when an
 * allocation takes the use from within the budget to above it, and again only after the use has
 * been within the budget.
 *
 * A thread of the simulator calls the callbacks one after the other, without the lock. What happens
 * again before a callback was called is one notification, with the bytes of the last time.
 */
#include "sim/memory/budget.h"

#include "sim/device/device.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

typedef struct listener {
    const acu_sim_device *device;
    cudaAsyncCallback callback;
    void *data;
    uint64_t over; /* bytes over the budget that the callback must hear of; 0: nothing */
    struct listener *next;
} listener;

static listener *listeners;
static bool is_calling;        /* the thread that calls callbacks runs */
static const listener *called; /* the one whose callback is being called; it may be gone */
static pthread_cond_t was_called = PTHREAD_COND_INITIALIZER;
static _Thread_local bool is_caller; /* of the calling thread: a callback is being called by it */

/* ---- calling ---- */

static listener *next_to_call(void) {
    listener *l = listeners;
    while (l && !l->over)
        l = l->next;
    return l;
}

static void call(listener *l) {
    cudaAsyncNotificationInfo_t info = {.type = cudaAsyncNotificationTypeOverBudget,
                                        .info = {.overBudget = {.bytesOverBudget = l->over}}};
    const cudaAsyncCallback callback = l->callback;
    void *data = l->data;
    l->over = 0;
    called = l;
    pthread_mutex_unlock(&acu_sim_lock);
    callback(&info, data, (cudaAsyncCallbackHandle_t)(void *)l);
    pthread_mutex_lock(&acu_sim_lock);
    called = NULL;
    pthread_cond_broadcast(&was_called);
}

/* The thread that calls callbacks, until there is nothing to hear of any more. */
static void *call_all(void *unused) {
    (void)unused;
    is_caller = true;
    pthread_mutex_lock(&acu_sim_lock);
    for (listener *l = next_to_call(); l && !acu_sim_is_unloading(); l = next_to_call())
        call(l);
    is_calling = false;
    pthread_mutex_unlock(&acu_sim_lock);
    return NULL;
}

void acu_sim_budget_look(const acu_sim_device *device, uint64_t taken) {
    const uint64_t budget = acu_sim_configuration()->budget;
    if (!budget || device->used <= budget || device->used - taken > budget)
        return;
    for (listener *l = listeners; l; l = l->next)
        if (l->device == device)
            l->over = device->used - budget;
    /* If there can be no thread, the next time tries again. */
    if (!is_calling && next_to_call())
        is_calling = acu_sim_stream_thread_start(call_all, NULL);
}

/* ---- registering ---- */

static void add(listener *l) {
    l->next = listeners;
    listeners = l;
}

/* Takes a listener out of the list; returns false if it is not there. */
static bool withdraw(const listener *gone, const acu_sim_device *device) {
    for (listener **at = &listeners; *at; at = &(*at)->next)
        if (*at == gone && gone->device == device) {
            *at = gone->next;
            return true;
        }
    return false;
}

/* Waits until a callback that is being called has returned. The wait gives the lock up. */
static void wait_for(const listener *l) {
    while (called == l && !is_caller && !acu_sim_is_forked())
        pthread_cond_wait(&was_called, &acu_sim_lock);
}

cudaError_t acu_sim_cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callbackFunc,
                                                        void *userData,
                                                        cudaAsyncCallbackHandle_t *callback) {
    if (is_caller)
        return cudaErrorNotPermitted;
    if (!callbackFunc)
        return cudaErrorInvalidValue;
    if (!acu_sim_device_at(device))
        return cudaErrorInvalidDevice;
    if (!callback)
        return cudaErrorInvalidValue;
    listener *l = calloc(1, sizeof *l);
    if (!l)
        return cudaErrorMemoryAllocation;
    *l =
        (listener){.device = acu_sim_device_at(device), .callback = callbackFunc, .data = userData};
    add(l);
    *callback = (cudaAsyncCallbackHandle_t)(void *)l;
    return cudaSuccess;
}

/* Returns when the callback is not being called any more, and will not be called again. */
cudaError_t acu_sim_cudaDeviceUnregisterAsyncNotification(int device,
                                                          cudaAsyncCallbackHandle_t callback) {
    listener *l = (listener *)(void *)callback;
    if (is_caller)
        return cudaErrorNotPermitted;
    if (!acu_sim_device_at(device))
        return cudaErrorInvalidDevice;
    if (!withdraw(l, acu_sim_device_at(device)))
        return cudaErrorInvalidValue;
    wait_for(l);
    free(l);
    return cudaSuccess;
}

static void reset(void) {
    while (listeners) {
        listener *l = listeners;
        listeners = l->next;
        wait_for(l);
        free(l);
    }
}

const acu_sim_noun acu_sim_budget_noun = {.reset = reset};
