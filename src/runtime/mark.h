/* What a mark is inside. */
#ifndef ACU_MARK_INTERNAL_H
#define ACU_MARK_INTERNAL_H

#include <anycuda/mark.h>

#include "runtime/client.h"

struct acu_mark {
    acu_handle handle;
    acu_client *client;      /* kept */
    acu_backend_mark *mark;  /* NULL: the back end has none, and the work was waited for */
    acu_shared_mark *shared; /* of which `mark` is; NULL: nobody else has `mark` */
    uint64_t number;         /* of the client's last work before the mark */
    uint64_t epoch;          /* no other mark has or had it */
    acu_late_error error;    /* of the work, where `mark` is NULL; does not change */
};

/* Waits for the work before a mark, and keeps its error as a late error of the mark's client.
 * Without any lock. */
void acu_mark_wait(acu_mark *mark);

/* Remembers that the work before the mark is done, so that nothing waits for that any more. Without
 * the lock of its client. */
void acu_mark_note_done(const acu_mark *mark);

/* Refuses to wait for a mark that is not reached inside of a program's function that is work of the
 * mark's client: ACU_ERROR_STATE; else returns 0. */
acu_result acu_mark_refuse_function(const char *call, const acu_mark *mark);

/* The epoch of the newest mark of the process: a write that came after a mark has at least the
 * mark's epoch. Atomic. */
extern uint64_t acu_mark_epoch;

#endif
