/*
 * The log of the driver. The simulator reports each error by the call that fails, so the log has
 * only what acu_sim_log() writes. A place in the log is the number of a line, counted from the
 * first one of the process.
 */
#include "sim/device/log.h"

#include "sim/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_LINES = 100, LOG_BYTES = 25600 }; /* as a driver keeps */

typedef struct line {
    struct line *next; /* a later one */
    size_t length;
    char text[]; /* ended by a newline and a zero */
} line;

typedef struct listener {
    cudaLogsCallback_t callback;
    void *data;
} listener;

static acu_sim_set listeners; /* the registered callbacks */
static line *oldest, *newest;
static unsigned first_number, count; /* of the lines that are kept */
static size_t bytes;                 /* of them */

/* ---- tools ---- */

/* No tool listens. */
cudaError_t acu_sim_cudaProfilerStart(void) {
    return cudaSuccess;
}

cudaError_t acu_sim_cudaProfilerStop(void) {
    return cudaSuccess;
}

/* ---- the log ---- */

cudaError_t acu_sim_cudaLogsRegisterCallback(cudaLogsCallback_t callbackFunc, void *userData,
                                             cudaLogsCallbackHandle *callback_out) {
    if (!callbackFunc)
        return cudaErrorInvalidValue;
    listener *l = calloc(1, sizeof *l);
    if (!l || !acu_sim_set_add(&listeners, l)) {
        free(l);
        return cudaErrorMemoryAllocation;
    }
    *l = (listener){callbackFunc, userData};
    if (callback_out)
        *callback_out = (cudaLogsCallbackHandle)(void *)l;
    return cudaSuccess; /* NOLINT(clang-analyzer-unix.Malloc): the set has it */
}

cudaError_t acu_sim_cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback) {
    if (!acu_sim_set_has(&listeners, callback))
        return cudaErrorInvalidValue;
    acu_sim_set_remove(&listeners, callback);
    free(callback);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags) {
    (void)flags; /* which CUDA does not look at */
    if (!iterator_out)
        return cudaErrorInvalidValue;
    *iterator_out = first_number + count;
    return cudaSuccess;
}

/* Returns the first line from a place on, and stores the bytes of all from there on. */
static const line *from_place(const cudaLogIterator *place, size_t *length) {
    const line *at = oldest;
    *length = bytes;
    for (unsigned number = first_number; at && place && number < *place; number++) {
        *length -= at->length;
        at = at->next;
    }
    return at;
}

static void go_to_end(cudaLogIterator *place) {
    if (place)
        *place = first_number + count;
}

/* NOLINTBEGIN(readability-non-const-parameter): the signatures are CUDA's */
cudaError_t acu_sim_cudaLogsDumpToFile(cudaLogIterator *iterator, const char *pathToFile,
                                       unsigned int flags) {
    size_t length;
    if (!pathToFile || flags)
        return cudaErrorInvalidValue;
    FILE *file = fopen(pathToFile, "w");
    if (!file)
        return cudaErrorInvalidValue;
    for (const line *at = from_place(iterator, &length); at; at = at->next)
        fputs(at->text, file);
    go_to_end(iterator);
    return fclose(file) ? cudaErrorOperatingSystem : cudaSuccess;
}

cudaError_t acu_sim_cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size,
                                         unsigned int flags) {
    static const char left_out[] = "(older lines are left out)\n";
    size_t length, used = 0;
    if (!buffer || !size || flags || !*size)
        return cudaErrorInvalidValue;
    const line *at = from_place(iterator, &length);
    if (length + 1 > *size) {
        for (; at && sizeof left_out - 1 + length + 1 > *size; at = at->next)
            length -= at->length;
        if (!at) {
            *size = 0;
            return cudaErrorInvalidValue;
        }
        memcpy(buffer, left_out, used = sizeof left_out - 1);
    }
    for (; at; at = at->next) {
        memcpy(buffer + used, at->text, at->length);
        used += at->length;
    }
    buffer[used] = '\0';
    *size = used;
    go_to_end(iterator);
    return cudaSuccess;
}
/* NOLINTEND(readability-non-const-parameter) */

/* ---- writing ---- */

static void forget_oldest(void) {
    line *gone = oldest;
    oldest = gone->next;
    newest = oldest ? newest : NULL;
    bytes -= gone->length;
    first_number++;
    count--;
    free(gone);
}

static void add(line *made) {
    *(newest ? &newest->next : &oldest) = made;
    newest = made;
    bytes += made->length;
    count++;
    while (count > LOG_LINES || (bytes > LOG_BYTES && count > 1))
        forget_oldest();
}

/* Calls all listeners without the lock: they may call what they like. */
static void tell(cudaLogLevel level, char *text, size_t length) {
    listener *all = calloc(listeners.count + 1, sizeof *all);
    size_t there = 0;
    for (size_t i = 0; all && i < listeners.room; i++)
        if (listeners.slots[i])
            all[there++] = *(const listener *)listeners.slots[i];
    pthread_mutex_unlock(&acu_sim_lock);
    for (size_t i = 0; i < there; i++)
        all[i].callback(all[i].data, level, text, length);
    free(all);
    pthread_mutex_lock(&acu_sim_lock);
}

void acu_sim_log(int warning, const char *text) {
    const size_t length = strlen(text);
    line *made = malloc(sizeof *made + length + 2);
    char *told = malloc(length + 1);
    if (made && told) {
        *made = (line){.length = length + 1};
        snprintf(made->text, length + 2, "%s\n", text);
        memcpy(told, text, length + 1);
        pthread_mutex_lock(&acu_sim_lock);
        add(made);
        made = NULL;
        tell(warning ? cudaLogLevelWarning : cudaLogLevelError, told, length);
        pthread_mutex_unlock(&acu_sim_lock);
    }
    free(made);
    free(told);
}

static void reset(void) {
    for (size_t i = 0; i < listeners.room; i++)
        free((void *)(uintptr_t)listeners.slots[i]);
    acu_sim_set_clear(&listeners);
    while (oldest)
        forget_oldest();
    first_number = 0;
}

const acu_sim_noun acu_sim_log_noun = {.reset = reset};
