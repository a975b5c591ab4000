/* Events: each points at the operation that recorded it last. */
#ifndef ACU_SIM_STREAM_EVENT_H
#define ACU_SIM_STREAM_EVENT_H

#include "sim/noun.h"
#include "sim/stream/capture.h"
#include "sim/stream/edge_list.h"

struct acu_sim_event {
    acu_sim_device *device;
    unsigned refs; /* the program's, and those of nodes */
    unsigned flags;
    acu_sim_op *record;       /* NULL: never recorded */
    acu_sim_capture *capture; /* in which it was recorded last; NULL: in none */
    acu_sim_edge_list dependencies;
    const void *where;
    const acu_sim_context *context;
    acu_sim_event *next, *before;
};

/* A node's that records, or waits for, an event. */
cudaError_t acu_sim_event_op(enum cudaGraphNodeType type, acu_sim_event *event, acu_sim_op **op);

/* NULL if there is none. */
acu_sim_event *acu_sim_event_of(cudaEvent_t handle);
void acu_sim_event_release(acu_sim_event *event);

/* The operation whose end is the event from now on. */
void acu_sim_event_mark(acu_sim_event *event, acu_sim_op *op);

extern const acu_sim_noun acu_sim_event_noun;

#endif
