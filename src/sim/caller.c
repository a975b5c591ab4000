/*
 * Who called CUDA: an address in the program. With leaks=1 or guard=1, the calls that led there,
 * since the last of them may be anycuda's own (a function's first call binds it) or a helper's.
 */
#define _GNU_SOURCE /* dladdr */

#include "sim/caller.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#if !defined(__GLIBC__)
/* The unwinder of a compiler for glibc, which Debian's musl-gcc links, asks for this function of
 * glibc's: no code is found then, so that the calls before the last one are not reported. The
 * unwinder of a compiler for musl does without. */
int _dl_find_object(void *address, void *result) __attribute__((weak));
int _dl_find_object(void *address, void *result) {
    (void)address;
    (void)result;
    return -1;
}
#endif

enum { CALLS = 6, CHAINS = 512 };

typedef struct chain {
    const void *calls[CALLS]; /* the last first; NULL where there are no more */
    struct chain *next;
} chain;

/* Each is kept for good, once: a caller that was given it may keep it. */
static chain *chains[CHAINS];
static pthread_mutex_t chains_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_on;

void acu_sim_caller_reset(bool on) {
    __atomic_store_n(&is_on, on, __ATOMIC_RELAXED);
}

void acu_sim_caller_lock(void) {
    pthread_mutex_lock(&chains_lock);
}

void acu_sim_caller_unlock(void) {
    pthread_mutex_unlock(&chains_lock);
}

static const chain *kept(const chain *found) {
    size_t hash = 0;
    for (size_t i = 0; i < CALLS; i++)
        hash = hash * 31 + (uintptr_t)found->calls[i] / 2;
    pthread_mutex_lock(&chains_lock);
    chain **at = &chains[hash % CHAINS];
    while (*at && memcmp((*at)->calls, found->calls, sizeof found->calls) != 0)
        at = &(*at)->next;
    if (!*at && (*at = malloc(sizeof **at)))
        **at = *found;
    const chain *result = *at;
    pthread_mutex_unlock(&chains_lock);
    return result;
}

typedef struct search {
    const void *last;
    size_t count;
    chain found;
} search;

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *data) {
    search *s = data;
    const void *call = (const void *)_Unwind_GetIP(context); /* NOLINT(performance-no-int-to-ptr) */
    if (s->count == CALLS || !call)
        return _URC_END_OF_STACK;
    if (s->count || call == s->last) /* what is before is the simulator's own */
        s->found.calls[s->count++] = call;
    return _URC_NO_REASON;
}

const void *acu_sim_caller(const void *last) {
    search s = {.last = last};
    if (!__atomic_load_n(&is_on, __ATOMIC_RELAXED))
        return last;
    (void)_Unwind_Backtrace(look, &s);
    const chain *result = s.count ? kept(&s.found) : NULL;
    return result ? (const void *)result : last;
}

/* Returns the chain of a place; NULL where the place is an address. */
static const chain *chain_at(const void *where) {
    const chain *found = NULL;
    pthread_mutex_lock(&chains_lock);
    for (size_t i = 0; i < CHAINS && !found; i++)
        for (found = chains[i]; found && found != where;)
            found = found->next;
    pthread_mutex_unlock(&chains_lock);
    return found;
}

/* Writes "main+0x1a"; where there is no such symbol, "program+0x1a2b", which addr2line knows. */
static int name_call(const void *call, char *text, size_t size) {
    Dl_info info;
    if (!dladdr(call, &info))
        return snprintf(text, size, "%p", call);
    if (info.dli_sname)
        return snprintf(text, size, "%.100s+0x%zx", info.dli_sname,
                        (size_t)((uintptr_t)call - (uintptr_t)info.dli_saddr));
    const char *slash = strrchr(info.dli_fname, '/');
    return snprintf(text, size, "%.100s+0x%zx", slash ? slash + 1 : info.dli_fname,
                    (size_t)((uintptr_t)call - (uintptr_t)info.dli_fbase));
}

typedef enum whose { PROGRAMS, WRAPPERS, STARTS_PROGRAM } whose;

static whose whose_is(const void *call) {
    Dl_info info;
    if (!dladdr(call, &info))
        return PROGRAMS;
    if (info.dli_sname && strncmp(info.dli_sname, "acu_cu", 6) == 0)
        return WRAPPERS;
    return strstr(info.dli_fname, "/libc.so") ? STARTS_PROGRAM : PROGRAMS;
}

void acu_sim_caller_describe(const void *where, char *text, size_t size) {
    const chain *found = chain_at(where);
    size_t used = 0;
    if (!found)
        (void)name_call(where, text, size);
    for (size_t i = 0; found && i < CALLS && found->calls[i]; i++) {
        whose it = whose_is(found->calls[i]);
        if (it == STARTS_PROGRAM && used)
            break;
        if (it == WRAPPERS)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s", used ? ", from " : "");
        used += (size_t)name_call(found->calls[i], text + used, size - used);
        if (size - used < 160) /* for one more */
            break;
    }
}

void acu_sim_caller_report(const char *what, const void *handle, size_t size, const void *where) {
    char bytes[40] = "", caller[SIM_CALLER_TEXT];
    if (size)
        snprintf(bytes, sizeof bytes, " of %zu bytes", size);
    acu_sim_caller_describe(where, caller, sizeof caller);
    fprintf(stderr, "anycuda: simulator: leaked: %s %p%s, made at %s\n", what, handle, bytes,
            caller);
}
