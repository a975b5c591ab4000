/*
 * The audience of ranges and marks: a tool that hears them by NVTX, and the trace. A range is what
 * a program does from one moment to another, and a mark is one moment.
 */
#ifndef ACU_AUDIENCE_H
#define ACU_AUDIENCE_H

#include "core/abi.h"

enum {
    ACU_AUDIENCE_UNKNOWN = 1, /* nobody has looked yet for a tool or a trace */
    ACU_AUDIENCE_TOOL = 2,
    ACU_AUDIENCE_TRACE = 4,
    ACU_AUDIENCE_CALLS = 8, /* the audience wants the safe layer's calls, too */
};

/* The audience, as bits; atomic. */
extern ACU_OURS unsigned acu_audience;

/* Returns whether anybody may listen: one look, for the beginning of what tells. */
static inline bool acu_is_heard(void) {
    return (__atomic_load_n(&acu_audience, __ATOMIC_ACQUIRE) & ~(unsigned)ACU_AUDIENCE_CALLS) != 0;
}

/* Looks, once, for a tool and for a trace; returns whether there is one. A thread that the tool
 * lets tell something while it attaches is not heard. */
bool acu_audience_look(void) __attribute__((cold));

/* Returns whether somebody listens. */
static inline bool acu_audience_listens(void) {
    return __builtin_expect(acu_is_heard(), 0) && acu_audience_look();
}

/* Lets the calls of the safe layer be told, too, or not. */
void acu_audience_of_calls(bool on);

typedef enum acu_range_step {
    ACU_RANGE_PUSH,  /* begins a range, within the thread's last one of the domain */
    ACU_RANGE_POP,   /* ends the thread's last range of the domain that was pushed */
    ACU_RANGE_START, /* begins a range that any thread may end */
    ACU_RANGE_END,
    ACU_RANGE_MARK
} acu_range_step;

/* One moment that the audience is told of. */
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
    bool is_call;     /* the range is a call of the safe layer */
} acu_range_event;

/* Tells the whole audience; returns the number of the range that ACU_RANGE_START begins, never 0,
 * else 0. */
uint64_t acu_audience_tell(const acu_range_event *event);

/* What a name is of. */
typedef enum acu_named {
    ACU_NAMED_THREAD, /* by the system's number */
    ACU_NAMED_DEVICE, /* by its ordinal */
    ACU_NAMED_STREAM, /* by CUDA's handle */
    ACU_NAMED_EVENT
} acu_named;

/* Tells the whole audience what a program calls something. A name of NULL takes the name from a
 * handle that is destroyed; only the trace is told of that. */
void acu_audience_name(acu_named kind, uint64_t what, const char *name);

/* ---- the calls of the safe layer ---- */

/* Returns bits, 0 where nobody wants to know of the calls. */
static inline unsigned acu_scope_wanted(void) {
    return __atomic_load_n(&acu_audience, __ATOMIC_RELAXED) &
           ((unsigned)ACU_AUDIENCE_UNKNOWN | (unsigned)ACU_AUDIENCE_CALLS);
}

/* Tells the audience that a call begins; returns its name, NULL if nobody wants to know. */
const char *acu_scope_push(const char *call) __attribute__((cold));
void acu_scope_pop(void) __attribute__((cold));

static inline const char *acu_scope_begin(const char *call) {
    return __builtin_expect(acu_scope_wanted() != 0, 0) ? acu_scope_push(call) : NULL;
}

static inline void acu_scope_end(const char *const *call) {
    if (__builtin_expect(*call != NULL, 0))
        acu_scope_pop();
}

/* The two functions below do the same by calls, for code that is compiled to be small. */
const char *acu_scope_begin_small(const char *call);
void acu_scope_end_small(const char *const *call);

#if defined(__OPTIMIZE_SIZE__)
#define ACU_SCOPE_BEGIN acu_scope_begin_small
#define ACU_SCOPE_END   acu_scope_end_small
#else
#define ACU_SCOPE_BEGIN acu_scope_begin
#define ACU_SCOPE_END   acu_scope_end
#endif

/* Stands first in each public function of the safe layer that may fail: the call is a range, until
 * it returns. */
#define ACU_SCOPE() ACU_SCOPE_OF(__func__)
#define ACU_SCOPE_OF(call)                                                                         \
    __attribute__((cleanup(ACU_SCOPE_END))) const char *const acu_scope = ACU_SCOPE_BEGIN(call)

#endif
