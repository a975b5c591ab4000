/*
 * The log of the driver: a line for each call that fails, in the form that drivers have, before it
 * one with the reason, where the simulator knows more than the code, and what acu_sim_log() writes.
 * A place in the log is the number of a line, counted from the first one of the process.
 */
#define _GNU_SOURCE /* localtime_r */
#include "sim/device/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/record.h"
#include "core/values.h"
#include "loader/platform.h"
#include "sim/device/error.h"
#include "sim/set.h"

enum { LOG_LINES = 100, LOG_BYTES = 25600 }; /* as a driver keeps */
enum { LINE = 512 };                         /* bytes that a line of a failing call may have */

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

/* ---- CUDA_LOG_FILE ---- */

static struct {
    char *target; /* "stdout", "stderr" or a path; NULL: nowhere */
    int fd;       /* of the file, once there is a line; -1: none yet */
} output = {NULL, -1};

static void close_output(void) {
    if (output.fd > STDERR_FILENO)
        close(output.fd);
    free(output.target);
    output.target = NULL;
    output.fd = -1;
}

/* The variable means something to drivers that have a log. */
static void configure(const acu_sim_config *config) {
    const char *target = acu_platform_env("CUDA_LOG_FILE");
    close_output();
    if (target && *target && acu_function_cuLogsCurrent.since <= config->driver)
        output.target = strdup(target);
}

static void open_output(void) {
    if (strcmp(output.target, "stdout") == 0)
        output.fd = STDOUT_FILENO;
    else if (strcmp(output.target, "stderr") == 0)
        output.fd = STDERR_FILENO;
    else
        output.fd = open(output.target, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (output.fd >= 0)
        return;
    fprintf(stderr, "anycuda: simulator: CUDA_LOG_FILE: cannot open \"%s\": %s\n", output.target,
            strerror(errno));
    close_output();
}

static void put_out(const char *text, size_t length) {
    if (output.target && output.fd < 0)
        open_output();
    while (output.fd >= 0 && length > 0) {
        const ssize_t written = write(output.fd, text, length);
        if (written <= 0)
            return; /* a log must not stop the program */
        text += written;
        length -= (size_t)written;
    }
}

/* ---- listeners ---- */

static _Thread_local bool telling; /* a listener runs in the thread: what fails there is not told */

/* Calls all listeners without the lock: they may call what they like. */
static void tell(cudaLogLevel level, const char *text, size_t length) {
    listener *all = calloc(listeners.count, sizeof *all);
    char *told = malloc(length + 1);
    size_t there = 0;
    for (size_t i = 0; all && told && i < listeners.room; i++)
        if (listeners.slots[i])
            all[there++] = *(const listener *)listeners.slots[i];
    telling = true;
    pthread_mutex_unlock(&acu_sim_lock);
    for (size_t i = 0; i < there; i++) {
        memcpy(told, text, length);
        told[length] = '\0';
        all[i].callback(all[i].data, level, told, length);
    }
    pthread_mutex_lock(&acu_sim_lock);
    telling = false;
    free(told);
    free(all);
}

/* Under the lock, which is given up while listeners are called. Without memory the log lacks the
 * line. */
static void log_line(cudaLogLevel level, const char *text) {
    const size_t length = strlen(text);
    line *made = malloc(sizeof *made + length + 2);
    if (made) {
        *made = (line){.length = length + 1};
        snprintf(made->text, length + 2, "%s\n", text);
        put_out(made->text, made->length);
        add(made);
    }
    if (listeners.count && !telling)
        tell(level, text, length);
}

void acu_sim_log(int warning, const char *text) {
    pthread_mutex_lock(&acu_sim_lock);
    (void)acu_sim_configuration();
    log_line(warning ? cudaLogLevelWarning : cudaLogLevelError, text);
    pthread_mutex_unlock(&acu_sim_lock);
}

/* ---- calls that fail ---- */

/* Logs what is said of a call that fails: "[00:20:22.749][139661201152896][CUDA][E] …". */
__attribute__((format(printf, 1, 2))) static void log_failure(const char *format, ...) {
    char text[LINE];
    struct timespec now;
    struct tm at;
    va_list args;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &at);
    const int used =
        snprintf(text, sizeof text, "[%02d:%02d:%02d.%03ld][%lu][CUDA][E] ", at.tm_hour, at.tm_min,
                 at.tm_sec, now.tv_nsec / 1000000, (unsigned long)pthread_self());
    va_start(args, format);
    (void)vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    va_end(args);
    log_line(cudaLogLevelError, text);
}

/* A listener may make calls, whose reasons are not this call's. */
static void failed(const acu_sim_call *call, cudaError_t result) {
    char reason[ACU_REASON_SIZE];
    const int code = call->by_driver ? (int)acu_sim_driver_result(result) : (int)result;
    const char *name = acu_value_name(
        call->by_driver ? &acu_cuda_type_cudaError_enum : &acu_cudart_type_cudaError, code);
    if (acu_sim_driver_has(&acu_function_cuLogsCurrent))
        return;
    acu_record_take_reason(reason);
    if (*reason)
        log_failure("%s", reason);
    log_failure("Returning %d (%s) from %s", code, name ? name : "unrecognized error code",
                call->symbol);
    acu_record_reason("%s", reason);
}

static void reset(void) {
    for (size_t i = 0; i < listeners.room; i++)
        free((void *)(uintptr_t)listeners.slots[i]);
    acu_sim_set_clear(&listeners);
    while (oldest)
        forget_oldest();
    first_number = 0;
}

const acu_sim_noun acu_sim_log_noun = {.reset = reset, .configure = configure, .failed = failed};
