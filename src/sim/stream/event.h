/* Events. An event refers to the operation that recorded it last, and is done when that is. */
#ifndef ACU_SIM_STREAM_EVENT_H
#define ACU_SIM_STREAM_EVENT_H

#include "sim/noun.h"
#include "sim/stream/capture.h"
#include "sim/stream/edge_list.h"

struct acu_sim_event {
    acu_sim_device *device;
    unsigned refs; /* one of the program, and one of each operation of a node */
    unsigned flags;
    acu_sim_op *record;             /* the last record of this process; NULL: none */
    acu_sim_shared_event *shared;   /* what other processes know of it; NULL: it is not shared */
    acu_sim_capture *capture;       /* the capture that has the last record; NULL: none */
    acu_sim_edge_list dependencies; /* with `capture`: those of the stream at the record */
    const void *where;              /* where the program created the event */
    const acu_sim_context *context; /* that was current then */
    acu_sim_event *next, *before;
};

/* Makes the operation of a node that records an event, or waits for it, which the type says. */
cudaError_t acu_sim_event_op(enum cudaGraphNodeType type, acu_sim_event *event, acu_sim_op **op);

/* Returns the event of a handle; NULL if there is none. */
acu_sim_event *acu_sim_event_of(cudaEvent_t handle);
/* Gives a reference up. */
void acu_sim_event_release(acu_sim_event *event);

/* Gets the operation that is done when the last record is, with a reference: another process's
 * record is a wait, whose `is_due` tells. NULL if there is nothing to wait for. Returns false
 * without memory. */
bool acu_sim_event_last_record(const acu_sim_event *event, acu_sim_op **op);

/* Records an event: it is done when the operation is. */
void acu_sim_event_mark(acu_sim_event *event, acu_sim_op *op);

extern const acu_sim_noun acu_sim_event_noun;

#endif
