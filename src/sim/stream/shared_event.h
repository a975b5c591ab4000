/* What processes know of an event that they share: a place in a file with how often it was
 * recorded, and the last record that is done. */
#ifndef ACU_SIM_STREAM_SHARED_EVENT_H
#define ACU_SIM_STREAM_SHARED_EVENT_H

#include "sim/noun.h"
#include "sim/sim.h"

/* Makes the place of an event, with one reference; NULL without memory. */
acu_sim_shared_event *acu_sim_shared_event_new(const acu_sim_device *device);
void acu_sim_shared_event_hold(acu_sim_shared_event *shared);
/* Gives a reference up; NULL is fine. */
void acu_sim_shared_event_release(acu_sim_shared_event *shared);

/* Counts a record that begins; returns its number. */
uint64_t acu_sim_shared_event_begin(acu_sim_shared_event *shared);
/* Says that a record is done. */
void acu_sim_shared_event_finish(acu_sim_shared_event *shared, uint64_t number);

/* Returns the number of the last record of any process; 0: none. */
uint64_t acu_sim_shared_event_last(const acu_sim_shared_event *shared);
/* Returns whether that record, or a later one, is done. */
bool acu_sim_shared_event_is_done(const acu_sim_shared_event *shared, uint64_t number);
/* Waits for that. The lock is given up meanwhile, and the caller holds a reference. */
void acu_sim_shared_event_wait(const acu_sim_shared_event *shared, uint64_t number);
/* Makes an operation that waits for the record; NULL without memory. */
acu_sim_op *acu_sim_shared_event_wait_op(acu_sim_shared_event *shared, uint64_t number);

/* Writes the handle of an event that this process made; returns false for one that it opened. */
bool acu_sim_shared_event_export(acu_sim_shared_event *shared, cudaIpcEventHandle_t *handle);
/* Opens the event of a handle, with one reference, and finds its device. */
cudaError_t acu_sim_shared_event_open(const cudaIpcEventHandle_t *handle,
                                      acu_sim_shared_event **shared, acu_sim_device **device);

extern const acu_sim_noun acu_sim_shared_event_noun;

#endif
