/*
 * The hook for layers, which watch every call or replace its result. The core and the loader use
 * the hook; src/layers/ defines it, and the linker brings them together, so nothing below includes
 * a header of the layers.
 */
#ifndef ACU_HOOKS_H
#define ACU_HOOKS_H

#include "core/call.h"

typedef struct acu_hooks {
    /*
     * Whether a layer is on; reads the environment on first use. While one is, no slot is
     * published, and each call comes through acu_call_begin. Publishing a slot asks this under
     * ACU_LOCK_SLOTS, because a layer is switched on before it takes published slots back.
     */
    bool (*on)(void);
    /* Before the call. May set fn to NULL and give the call a result. Leaves errno as it is. */
    void (*begin)(acu_call *call);
    /* After the call, whose result is set. Changes nothing, and leaves errno as it is. */
    void (*end)(acu_call *call);
} acu_hooks;

/* The trace for viewers, where a program has that, puts its own hooks before these when the program
 * starts. */
extern acu_hooks acu_layer_hooks;

struct acu_range_event;

/* The trace for viewers, and of ranges. Only programs have this that use the safe layer, call
 * acu_trace_to() or are linked with `-Wl,-u,acu_trace_file`. */
typedef struct acu_trace_file_hooks {
    /* Writes what a range or mark is into the trace, be that for viewers or of lines. */
    void (*range)(const struct acu_range_event *event, uint64_t id);
    /* Writes what something is called, an acu_named; NULL: it has no name any more. */
    void (*name)(unsigned kind, uint64_t what, const char *name);
} acu_trace_file_hooks;

extern const acu_trace_file_hooks acu_trace_file;

#endif
