/*
 * Who is told of ranges and marks: a tool, by NVTX, and the trace. A range is what a program does
 * from one moment to another, and a mark is one moment.
 */
#ifndef ACU_LISTEN_H
#define ACU_LISTEN_H

#include "core/abi.h"

enum {
    ACU_LISTENER_UNKNOWN = 1, /* it was not looked yet whether there is a tool or a trace */
    ACU_LISTENER_TOOL = 2,
    ACU_LISTENER_TRACE = 4,
};

/* The listeners, as bits; atomic. */
extern ACU_OURS unsigned acu_listeners;

/* Returns whether anybody may listen: one look, for the beginning of what tells. */
static inline bool acu_is_heard(void) {
    return __atomic_load_n(&acu_listeners, __ATOMIC_ACQUIRE) != 0;
}

/* Looks, once, for a tool and for a trace; returns whether there is one. A thread that the tool
 * lets tell something while it attaches is not heard. */
bool acu_listen_look(void) __attribute__((cold));

typedef enum acu_range_step {
    ACU_RANGE_PUSH,  /* begins a range, within the thread's last one of the domain */
    ACU_RANGE_POP,   /* ends the thread's last range of the domain that was pushed */
    ACU_RANGE_START, /* begins a range that any thread may end */
    ACU_RANGE_END,
    ACU_RANGE_MARK
} acu_range_step;

/* One moment that listeners are told of. */
typedef struct acu_range_event {
    acu_range_step step;
    void *domain;            /* NVTX's handle; NULL: the global domain */
    const char *domain_name; /* "": the global domain, or one whose name is not known */
    const char *name;        /* NULL where a range ends */
    uint32_t color;          /* 0xAARRGGBB; 0: none */
    uint32_t category;
    int payload_kind; /* NVTX's number of the payload's type; 0: none */
    uint64_t payload; /* its bits */
    uint64_t id;      /* of ACU_RANGE_END */
} acu_range_event;

/* Tells all listeners; returns the number of the range that ACU_RANGE_START begins, never 0, else
 * 0. */
uint64_t acu_listen_tell(const acu_range_event *event);

#endif
