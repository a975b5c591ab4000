/* What a replay is inside: a list of work, and perhaps one piece of it for the device. */
#ifndef ACU_REPLAY_INTERNAL_H
#define ACU_REPLAY_INTERNAL_H

#include "runtime/work.h"

/* A replay while it is being recorded. */
typedef struct acu_recording acu_recording;
struct acu_recording {
    acu_client *client;
    const void *thread;     /* who records: the address of something of the thread's own */
    acu_recording *outer;   /* of another client, by the same thread */
    acu_result failed;      /* the first failure of a call on the client, else 0 */
    acu_work *first, **end; /* copies, whose blocks are kept */
};

/* Returns the recording that this thread makes with the client; NULL if none. */
acu_recording *acu_recording_here(const acu_client *client);

/* Adds a copy of the work; under the client's lock. Returns 0 or a failure that is recorded. */
acu_result acu_recording_add(acu_recording *recording, const acu_work *work);

#endif
