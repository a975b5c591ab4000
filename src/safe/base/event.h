/* Events as the rest of the safe layer sees them. */
#ifndef ACU_SRC_EVENT_H
#define ACU_SRC_EVENT_H

#include <anycuda/event.h>

#include "safe/base/name.h"
#include "safe/base/object.h"

struct acu_event {
    acu_object object;
    cudaEvent_t raw;
    bool owned;       /* the raw event is destroyed with the handle */
    bool timed;       /* the event takes times, or may: the flags of a wrapped one are not known */
    unsigned flags;   /* acu_event_flag bits; 0 where the raw event was given */
    bool recorded;    /* atomic: it was recorded, or may have been, by a graph or as a raw event */
    bool shared;      /* atomic: it may stand for work of a capture that anycuda did not begin */
    uint64_t capture; /* atomic: the id of the capture that it was last recorded in; 0: none */
    acu_name name;    /* as the program calls it */
};

extern ACU_OURS const acu_class acu_event_class;

/* Notes that from now on a launch of a graph may record the event. */
static inline void acu_event_mark_recorded(acu_event *event) {
    __atomic_store_n(&event->recorded, true, __ATOMIC_RELAXED);
}

#endif
