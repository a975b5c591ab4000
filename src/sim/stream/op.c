/* Operations: what counts their references, and what they wait for. */
#include "sim/stream/op.h"

#include "sim/stream/shared_event.h"

#include <stdlib.h>

acu_sim_op *acu_sim_op_new(enum cudaGraphNodeType type, cudaError_t (*run)(acu_sim_op *op)) {
    acu_sim_op *op = calloc(1, sizeof *op);
    if (op) {
        op->refs = 1;
        op->type = type;
        op->run = run;
    }
    return op;
}

void acu_sim_op_forget_waits(acu_sim_op *op) {
    for (size_t i = 0; i < op->wait_count; i++)
        acu_sim_op_release(op->waits[i]);
    free(op->waits);
    op->waits = NULL;
    op->wait_count = op->wait_room = 0;
}

void acu_sim_op_release(acu_sim_op *op) {
    if (!op || --op->refs)
        return;
    acu_sim_op_forget_waits(op);
    if (op->drop)
        op->drop(op);
    if (op->records) /* also where it was given up before it was done */
        acu_sim_shared_event_finish(op->records, op->record);
    acu_sim_shared_event_release(op->records);
    free(op->staged);
    free(op);
}

bool acu_sim_op_after(acu_sim_op *op, acu_sim_op *before) {
    if (!before || before->done)
        return true;
    if (op->wait_count == op->wait_room) {
        size_t room = op->wait_room * 2 + 4;
        acu_sim_op **grown = realloc(op->waits, room * sizeof(acu_sim_op *));
        if (!grown)
            return false;
        op->waits = grown;
        op->wait_room = room;
    }
    before->refs++;
    op->waits[op->wait_count++] = before;
    return true;
}

bool acu_sim_op_is_ready(const acu_sim_op *op) {
    size_t done = 0;
    for (size_t i = 0; i < op->wait_count && (!op->any || !done); i++)
        done += op->waits[i]->done;
    return (done == op->wait_count || (op->any && done)) && (!op->is_due || op->is_due(op));
}
