/* What a replay is inside: a list of work, and perhaps one piece of it for the device. */
#ifndef ACU_REPLAY_INTERNAL_H
#define ACU_REPLAY_INTERNAL_H

#include "runtime/work.h"

/* A replay while it is being recorded. */
typedef struct acu_recording acu_recording;
struct acu_recording {
    acu_client *client;
    acu_recording *outer;   /* of another client, by the same thread */
    acu_result failed;      /* the first failure of a call on the client, else 0 */
    acu_work *first, **end; /* copies, whose blocks are kept */
};

/* Returns the recording that this thread makes with the client; NULL if none. */
acu_recording *acu_recording_find(const acu_client *client);
/* Returns whether this thread makes the recording. */
bool acu_recording_is_here(const acu_recording *recording);

/* Begins a recording, which this thread then makes; acu_recording_end() must follow. */
void acu_recording_begin(acu_recording *recording, acu_client *client);
void acu_recording_end(acu_recording *recording);

/* Adds a copy of the work; under the client's lock. Returns 0, ACU_ERROR_CAPTURE for work that
 * cannot be recorded, or ACU_ERROR_HOST_MEMORY; the caller records the failure. */
acu_result acu_recording_add(acu_recording *recording, const acu_work *work);
/* Gives up a list of copies and what they keep; without any lock. Returns the first failure, which
 * is recorded. */
acu_result acu_recording_drop(acu_work *first);

#endif
