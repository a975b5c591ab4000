/*
 * What is set for coredumps. The simulator writes none: it keeps the settings, and those who want
 * to hear of coredumps never do. An H100 was asked for codes and sizes, and an H200 which contexts
 * load no code any more; the rest follows CUDA's documentation.
 */
#define _POSIX_C_SOURCE 200809L /* gethostname */
#include "sim/device/context.h"
#include "sim/driver/driver.h"
#include "sim/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 1024 };

typedef struct settings {
    bool on[5]; /* by CUcoredumpSettings, from CU_COREDUMP_ENABLE_ON_EXCEPTION on */
    unsigned flags;
    char file[PATH_SIZE], pipe[PATH_SIZE];
} settings;

/* What was set for a context. */
typedef struct context_settings {
    const acu_sim_context *context;
    settings values;
    struct context_settings *next;
} context_settings;

static settings global;
static bool has_global;
static context_settings *of_contexts;
static acu_sim_set listeners; /* handles without anything behind them */

static settings *global_settings(void) {
    char host[256] = "";
    if (has_global)
        return &global;
    has_global = true;
    (void)gethostname(host, sizeof host - 1);
    global = (settings){.on = {[CU_COREDUMP_TRIGGER_HOST] = true}};
    snprintf(global.pipe, sizeof global.pipe, "corepipe.cuda.%s.%d", host, (int)getpid());
    return &global;
}

/* Returns the settings of the current context, which begin with the process's; NULL without
 * memory. */
static settings *local_settings(void) {
    const acu_sim_context *context = acu_sim_context_now();
    for (context_settings *at = of_contexts; at; at = at->next)
        if (at->context == context)
            return &at->values;
    context_settings *made = malloc(sizeof *made);
    if (!made)
        return NULL;
    *made = (context_settings){context, *global_settings(), of_contexts};
    of_contexts = made;
    return &made->values;
}

/* Finds where a setting is, and its size; returns false if there is no such one. */
static bool find(settings *s, CUcoredumpSettings setting, void **at, size_t *size) {
    if (!acu_sim_driver_knows(&acu_cuda_type_CUcoredumpSettings_enum, setting))
        return false;
    switch ((int)setting) {
    case CU_COREDUMP_FILE:
        *at = s->file;
        *size = sizeof s->file;
        return true;
    case CU_COREDUMP_PIPE:
        *at = s->pipe;
        *size = sizeof s->pipe;
        return true;
    case CU_COREDUMP_GENERATION_FLAGS:
        *at = &s->flags;
        *size = sizeof s->flags;
        return true;
    case CU_COREDUMP_MAX:
        return false;
    default:
        *at = &s->on[setting];
        *size = sizeof s->on[setting];
        return true;
    }
}

static bool is_text(CUcoredumpSettings setting) {
    return setting == CU_COREDUMP_FILE || setting == CU_COREDUMP_PIPE;
}

static cudaError_t get(settings *s, CUcoredumpSettings setting, void *value, size_t *size) {
    void *at;
    size_t needed;
    if (!s)
        return cudaErrorMemoryAllocation;
    if (!size || !find(s, setting, &at, &needed))
        return cudaErrorInvalidValue;
    if (!value) {
        *size = needed;
        return cudaSuccess;
    }
    if (is_text(setting))
        needed = strlen(at) + 1;
    if (*size < needed)
        return cudaErrorInvalidValue;
    memcpy(value, at, needed);
    if (!is_text(setting)) /* of a text the size stays */
        *size = needed;
    return cudaSuccess;
}

static cudaError_t set(settings *s, CUcoredumpSettings setting, const void *value, size_t *size) {
    void *at;
    size_t room;
    if (!s)
        return cudaErrorMemoryAllocation;
    if (!size || !find(s, setting, &at, &room))
        return cudaErrorInvalidValue;
    if (!value) {
        *size = room;
        return cudaSuccess;
    }
    if (is_text(setting) ? !memchr(value, '\0', *size < room ? *size : room) : *size != room)
        return cudaErrorInvalidValue;
    memcpy(at, value, *size);
    return cudaSuccess;
}

/* Sets a value as set() does. Where it turns coredumps of faults off that were on, the current
 * context loads no code any more, as on an H200 (driver 580), which is so until the device is
 * reset. */
static cudaError_t set_in_context(settings *s, CUcoredumpSettings setting, const void *value,
                                  size_t *size) {
    const bool was_on = s && s->on[CU_COREDUMP_ENABLE_ON_EXCEPTION];
    SIM_TRY(set(s, setting, value, size));
    acu_sim_context *context = acu_sim_context_now();
    if (was_on && !s->on[CU_COREDUMP_ENABLE_ON_EXCEPTION] && context &&
        (context->made || acu_sim_device_has_primary(context->device)))
        context->loads_nothing = true;
    return cudaSuccess;
}

/* NOLINTBEGIN(readability-non-const-parameter): the signatures are CUDA's */
cudaError_t acu_sim_cuCoredumpGetAttribute(CUcoredumpSettings attrib, void *value, size_t *size) {
    return get(local_settings(), attrib, value, size);
}

cudaError_t acu_sim_cuCoredumpGetAttributeGlobal(CUcoredumpSettings attrib, void *value,
                                                 size_t *size) {
    return get(global_settings(), attrib, value, size);
}

cudaError_t acu_sim_cuCoredumpSetAttribute(CUcoredumpSettings attrib, void *value, size_t *size) {
    if (attrib == CU_COREDUMP_ENABLE_USER_TRIGGER || attrib == CU_COREDUMP_PIPE)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "one context has no pipe of its own: set it for the process "
                          "(cuCoredumpSetAttributeGlobal)");
    return set_in_context(local_settings(), attrib, value, size);
}

cudaError_t acu_sim_cuCoredumpSetAttributeGlobal(CUcoredumpSettings attrib, void *value,
                                                 size_t *size) {
    return set_in_context(global_settings(), attrib, value, size);
}
/* NOLINTEND(readability-non-const-parameter) */

/* ---- listeners ---- */

static cudaError_t add(CUcoredumpStatusCallback callback, CUcoredumpCallbackHandle *handle) {
    if (!callback)
        return cudaErrorInvalidValue;
    char *made = calloc(1, 1);
    if (!made || !acu_sim_set_add(&listeners, made)) {
        free(made);
        return cudaErrorMemoryAllocation;
    }
    if (handle)
        *handle = (CUcoredumpCallbackHandle)(void *)made;
    return cudaSuccess; /* NOLINT(clang-analyzer-unix.Malloc): the set has it */
}

static cudaError_t withdraw(CUcoredumpCallbackHandle handle) {
    if (!acu_sim_set_has(&listeners, handle))
        return cudaErrorInvalidValue;
    acu_sim_set_remove(&listeners, handle);
    free(handle);
    return cudaSuccess;
}

cudaError_t acu_sim_cuCoredumpRegisterStartCallback(CUcoredumpStatusCallback callback,
                                                    void *userData,
                                                    CUcoredumpCallbackHandle *callbackOut) {
    (void)userData;
    return add(callback, callbackOut);
}

cudaError_t acu_sim_cuCoredumpRegisterCompleteCallback(CUcoredumpStatusCallback callback,
                                                       void *userData,
                                                       CUcoredumpCallbackHandle *callbackOut) {
    (void)userData;
    return add(callback, callbackOut);
}

cudaError_t acu_sim_cuCoredumpDeregisterStartCallback(CUcoredumpCallbackHandle callback) {
    return withdraw(callback);
}

cudaError_t acu_sim_cuCoredumpDeregisterCompleteCallback(CUcoredumpCallbackHandle callback) {
    return withdraw(callback);
}

/* ---- the noun ---- */

/* Forgets what was set for a context; NULL: for all. */
static void forget(const acu_sim_context *context) {
    for (context_settings **at = &of_contexts; *at;) {
        context_settings *one = *at;
        if (context && one->context != context) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        free(one);
    }
}

static void drop_context(acu_sim_context *context) {
    forget(context);
}

static void reset(void) {
    forget(NULL);
    has_global = false;
    for (size_t i = 0; i < listeners.room; i++)
        free((void *)(uintptr_t)listeners.slots[i]);
    acu_sim_set_clear(&listeners);
}

const acu_sim_noun acu_sim_coredump_noun = {.drop_context = drop_context, .reset = reset};
