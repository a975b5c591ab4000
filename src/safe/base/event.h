#ifndef ACU_SRC_EVENT_H
#define ACU_SRC_EVENT_H

#include <anycuda/event.h>

#include "safe/base/object.h"

struct acu_event {
    acu_object object;
    cudaEvent_t raw;
    bool owned, timed;
    bool recorded;    /* atomic: by us, or by a graph, perhaps; of a wrapped one it is not known */
    bool shared;      /* atomic: it may mean work of a capture that nobody told us of */
    uint64_t capture; /* atomic: the number of the capture that it was last recorded in; 0: none */
};

extern ACU_OURS const acu_class acu_event_class;

/* Whoever launches a graph may record it. */
static inline void acu_event_mark_recorded(acu_event *event) {
    __atomic_store_n(&event->recorded, true, __ATOMIC_RELAXED);
}

#endif
