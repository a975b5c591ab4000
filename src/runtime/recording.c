/* Recordings: the lists of work that replays are made of. */
#include "runtime/replay.h"

#include <stdlib.h>

static _Thread_local acu_recording *recordings; /* of this thread, the innermost first */

bool acu_recording_is_here(const acu_recording *recording) {
    const acu_recording *r = recordings;
    while (r && r != recording)
        r = r->outer;
    return r != NULL;
}

acu_recording *acu_recording_find(const acu_client *client) {
    acu_recording *r = recordings;
    while (r && r->client != client)
        r = r->outer;
    return r;
}

void acu_recording_begin(acu_recording *recording, acu_client *client) {
    *recording = (acu_recording){.client = client, .outer = recordings, .end = &recording->first};
    recordings = recording;
}

void acu_recording_end(acu_recording *recording) {
    recordings = recording->outer;
}

acu_result acu_recording_note(acu_result code) {
    for (acu_recording *r = recordings; r; r = r->outer)
        r->failed = r->failed ? r->failed : code;
    return code;
}

acu_result acu_recording_add(acu_recording *recording, const acu_work *work) {
    if (!work->kind->keep)
        return ACU_ERROR_CAPTURE;
    acu_work *copy = work->kind->keep(work);
    if (!copy)
        return ACU_ERROR_HOST_MEMORY;
    for (unsigned i = 0; i < copy->use_count; i++)
        (void)acu_handle_add_owner(copy->uses[i].block);
    copy->next = NULL;
    *recording->end = copy;
    recording->end = &copy->next;
    return ACU_SUCCESS;
}

acu_result acu_recording_drop(acu_work *first) {
    acu_result result = ACU_SUCCESS;
    while (first) {
        acu_work *work = first;
        first = work->next;
        for (unsigned i = 0; i < work->use_count; i++) {
            acu_result code = acu_handle_release(NULL, work->uses[i].block, &acu_block_class);
            result = result ? result : code;
        }
        if (work->kind->drop)
            work->kind->drop(work);
        else
            free(work);
    }
    return result;
}
