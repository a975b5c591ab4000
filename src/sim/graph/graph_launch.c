/*
 * Launches of graphs under way. plan.c says what is done in which order.
 *
 * A launch is one operation in its stream. Where something else than the device is waited for, it
 * runs as far as it can, and is run again when that is over.
 */
#include "sim/device/device.h"
#include "sim/graph/conditional.h"
#include "sim/graph/exec.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/plan.h"
#include "sim/graph/value_node.h"
#include "sim/memory/external_semaphore.h"
#include "sim/stream/event.h"
#include "sim/stream/host_function.h"
#include "sim/stream/op.h"
#include "sim/stream/schedule.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>

typedef struct queue {
    unsigned *steps;
    size_t head, tail;
} queue;

struct acu_sim_graph_launch {
    acu_sim_exec *exec;
    acu_sim_plan *plan;
    acu_sim_op **marks;     /* of each step that has one: what it ends or waits for; may be NULL */
    acu_sim_device *device; /* that of the stream, once it runs */
    cudaError_t result;
    /* Where the plan says what waits for what: */
    size_t left;                      /* steps to be done */
    unsigned *degrees;                /* how many each still waits for */
    queue quick, slow;                /* ready: what takes no time, and the device's work */
    unsigned *pending, pending_count; /* which wait for events, and for values */
    unsigned called;                  /* host functions that are queued */
    bool here;                        /* its own thread calls a host function */
    acu_sim_op *nudge;                /* it waits: done when there is something to do */
};

/* What it held; it may hold itself, through its instance, so this is not left to its end. */
static void land(acu_sim_op *op) {
    acu_sim_graph_launch *flight = op->with.graph_launch;
    op->with.graph_launch = NULL;
    if (!flight)
        return;
    for (size_t i = 0; flight->marks && i < flight->plan->marks; i++)
        acu_sim_op_release(flight->marks[i]);
    acu_sim_op_release(flight->nudge);
    free(flight->marks);
    free(flight->degrees);
    acu_sim_plan_release(flight->plan);
    acu_sim_exec_release(flight->exec);
    free(flight);
}

/* Before an event is passed: who waited for it finds the context lost. */
static void fail(acu_sim_graph_launch *flight, cudaError_t result) {
    if (result && !flight->result)
        flight->result = result;
    if (result)
        acu_sim_device_fail(flight->device, result);
}

/* ---- steps --------------------------------------------------------------------------------------
 */

static cudaError_t run_plan(const acu_sim_plan *plan, acu_sim_graph_launch *flight,
                            cudaError_t result);

/* While: as long as the value is not 0. Else the graph with that number; of an if, 1 is the first.
 */
static cudaError_t run_conditional(const acu_sim_step *step, acu_sim_graph_launch *flight) {
    const acu_sim_graph *root = flight->exec->graph;
    cudaGraphConditionalHandle handle = step->op->with.condition.handle;
    cudaError_t result = cudaSuccess;
    unsigned value = acu_sim_condition_value(root, handle);
    if (step->op->with.condition.type == cudaGraphCondTypeWhile) {
        while (!result && value) {
            result = run_plan(step->bodies[0], flight, cudaSuccess);
            value = acu_sim_condition_value(root, handle);
        }
        return result;
    }
    if (step->op->with.condition.type == cudaGraphCondTypeIf)
        value = !value;
    return value < step->body_count ? run_plan(step->bodies[value], flight, cudaSuccess) : result;
}

static cudaError_t run_step(const acu_sim_step *step, acu_sim_graph_launch *flight) {
    return step->op->type == cudaGraphNodeTypeConditional ? run_conditional(step, flight)
                                                          : step->op->run(step->op);
}

/* One after the other. After an error only the events are still passed: someone may wait for them.
 */
static cudaError_t run_plan(const acu_sim_plan *plan, acu_sim_graph_launch *flight,
                            cudaError_t result) {
    for (size_t i = 0; i < plan->count; i++) {
        const acu_sim_step *step = &plan->steps[i];
        if (acu_sim_plan_op_has_mark(step->op)) {
            pthread_mutex_lock(&acu_sim_lock);
            fail(flight, result);
            acu_sim_op_finish(flight->marks[step->mark]);
            pthread_mutex_unlock(&acu_sim_lock);
        } else if (!result) {
            result = run_step(step, flight);
        }
    }
    return result;
}

/* ---- steps that wait for some only --------------------------------------------------------------
 */

/* It waits for a value, which may change and nobody tells. */
static bool is_polled(const acu_sim_step *step) {
    return !step->idle && step->op->is_due && !acu_sim_plan_op_has_mark(step->op);
}

/* What a pending step waits for is there. */
static bool is_over(const acu_sim_graph_launch *flight, unsigned i) {
    const acu_sim_step *step = &flight->plan->steps[i];
    return is_polled(step) ? step->op->is_due(step->op) : flight->marks[step->mark]->done;
}

static bool is_slow(const acu_sim_step *step) {
    const bool host = step->op->type == cudaGraphNodeTypeHost;
    return !step->idle &&
           (host ? acu_sim_configuration()->seeded : !acu_sim_plan_op_has_mark(step->op));
}

static void make_ready(acu_sim_graph_launch *flight, unsigned i) {
    if (is_polled(&flight->plan->steps[i])) {
        flight->pending[flight->pending_count++] = i;
        return;
    }
    queue *to = is_slow(&flight->plan->steps[i]) ? &flight->slow : &flight->quick;
    to->steps[to->tail++] = i;
}

static void finish_step(acu_sim_graph_launch *flight, unsigned i) {
    const acu_sim_plan *plan = flight->plan;
    flight->left--;
    for (unsigned j = plan->first[i]; j < plan->first[i + 1]; j++)
        if (--flight->degrees[plan->next[j]] == 0)
            make_ready(flight, plan->next[j]);
}

static bool is_empty(const queue *steps) {
    return steps->head == steps->tail;
}

/* With a seed any of them. */
static unsigned take_slow(acu_sim_graph_launch *flight) {
    queue *from = &flight->slow;
    size_t pick = from->head;
    if (acu_sim_configuration()->seeded)
        pick += (size_t)(acu_sim_schedule_random() % (from->tail - from->head));
    const unsigned picked = from->steps[pick];
    from->steps[pick] = from->steps[from->head++];
    return picked;
}

/* Gives the lock up while the device works. */
static void do_slow(acu_sim_graph_launch *flight, unsigned i) {
    acu_sim_thread *self = acu_sim_self();
    if (!flight->result) {
        self->graph = flight->exec->graph;
        pthread_mutex_unlock(&acu_sim_lock);
        const cudaError_t result = run_step(&flight->plan->steps[i], flight);
        pthread_mutex_lock(&acu_sim_lock);
        self->graph = NULL;
        fail(flight, result);
    }
    finish_step(flight, i);
}

/* By its own thread, if that has nothing else to do meanwhile. */
static void call_host(acu_sim_graph_launch *flight, acu_sim_op *mark, bool own_thread) {
    flight->here = own_thread && is_empty(&flight->quick) && is_empty(&flight->slow) &&
                   !flight->pending_count && !flight->called;
    const bool called = flight->here && acu_sim_host_function_here(flight->device, mark);
    flight->here = false;
    if (called)
        return;
    flight->called++;
    acu_sim_host_function_queue(flight->device, mark);
}

static bool is_wait(enum cudaGraphNodeType type) {
    return type == cudaGraphNodeTypeWaitEvent || type == cudaGraphNodeTypeExtSemaphoreWait;
}

/* What only orders, events, and host functions, which end their steps themselves. */
static void do_quick(acu_sim_graph_launch *flight, bool own_thread) {
    while (!is_empty(&flight->quick)) {
        const unsigned i = flight->quick.steps[flight->quick.head++];
        const acu_sim_step *step = &flight->plan->steps[i];
        acu_sim_op *mark = step->idle ? NULL : flight->marks[step->mark];
        const enum cudaGraphNodeType type = mark ? step->op->type : cudaGraphNodeTypeEmpty;
        if (type == cudaGraphNodeTypeExtSemaphoreWait && !flight->result)
            acu_sim_semaphores_await(step->op, mark);
        if (type == cudaGraphNodeTypeHost && !flight->result) {
            call_host(flight, mark, own_thread);
        } else if (is_wait(type) && !flight->result && !mark->done) {
            flight->pending[flight->pending_count++] = i;
        } else {
            if (type == cudaGraphNodeTypeEventRecord)
                acu_sim_op_finish(mark);
            finish_step(flight, i);
        }
    }
}

/* A host function was called. What it was before may wait no longer than this. */
static void host_is_over(acu_sim_op *mark) {
    acu_sim_graph_launch *flight = mark->with.host.graph_launch;
    const unsigned pending = flight->pending_count;
    finish_step(flight, mark->with.host.step);
    if (flight->here)
        return;
    flight->called--;
    do_quick(flight, false);
    if (flight->nudge && !flight->nudge->done &&
        (!is_empty(&flight->slow) || !flight->left || pending != flight->pending_count))
        acu_sim_op_finish(flight->nudge);
}

/* What waits for an event that is over, or, after an error, for any. Who waited for a value looks
 * whether its memory is still there. */
static void settle(acu_sim_graph_launch *flight) {
    unsigned count = 0;
    for (unsigned i = 0; i < flight->pending_count; i++) {
        const unsigned pending = flight->pending[i];
        if (!flight->result && !is_over(flight, pending))
            flight->pending[count++] = pending;
        else if (!flight->result && is_polled(&flight->plan->steps[pending]))
            flight->slow.steps[flight->slow.tail++] = pending;
        else
            finish_step(flight, pending);
    }
    flight->pending_count = count;
}

/* With a seed one step of the device at a time: others' may be between. */
static void go_on(acu_sim_graph_launch *flight) {
    for (;;) {
        settle(flight);
        do_quick(flight, true);
        if (is_empty(&flight->slow))
            return;
        do_slow(flight, take_slow(flight));
        if (acu_sim_configuration()->seeded)
            return;
    }
}

static bool has_more(const acu_sim_op *op) {
    const acu_sim_graph_launch *flight = op->with.graph_launch;
    bool more = flight->nudge && flight->nudge->done;
    for (unsigned i = 0; i < flight->pending_count && !more; i++)
        more = is_over(flight, flight->pending[i]);
    return more;
}

/* Until there is something to do, which may be now. */
static void wait_for_more(acu_sim_graph_launch *flight, acu_sim_op *op) {
    const bool ready = !is_empty(&flight->quick) || !is_empty(&flight->slow) || has_more(op);
    op->unfinished = true;
    if (ready || !(flight->nudge = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL)))
        return;
    for (unsigned i = 0; i < flight->pending_count; i++)
        if (is_polled(&flight->plan->steps[flight->pending[i]])) {
            op->is_due = has_more;
            return;
        }
    op->any = true;
    (void)acu_sim_op_after(op, flight->nudge);
    for (unsigned i = 0; i < flight->pending_count; i++)
        (void)acu_sim_op_after(op, flight->marks[flight->plan->steps[flight->pending[i]].mark]);
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

static void begin(acu_sim_graph_launch *flight, acu_sim_device *device) {
    flight->device = device;
    acu_sim_conditions_start(flight->exec->graph);
    for (unsigned i = 0; flight->degrees && i < flight->plan->count; i++)
        if (flight->degrees[i] == 0)
            make_ready(flight, i);
}

static cudaError_t fly(acu_sim_op *op) {
    acu_sim_graph_launch *flight = op->with.graph_launch;
    acu_sim_thread *self = acu_sim_self();
    pthread_mutex_lock(&acu_sim_lock);
    if (!flight->device)
        begin(flight, op->stream->device);
    if (op->status)
        fail(flight, op->status);
    if (flight->degrees) {
        acu_sim_op_release(flight->nudge);
        flight->nudge = NULL;
        op->is_due = NULL;
        go_on(flight);
        if (flight->left)
            wait_for_more(flight, op);
        else
            land(op);
        pthread_mutex_unlock(&acu_sim_lock);
        return cudaSuccess;
    }
    pthread_mutex_unlock(&acu_sim_lock);
    self->graph = flight->exec->graph;
    cudaError_t result = run_plan(flight->plan, flight, op->status);
    self->graph = NULL;
    pthread_mutex_lock(&acu_sim_lock);
    land(op);
    pthread_mutex_unlock(&acu_sim_lock);
    return op->status ? cudaSuccess : result;
}

/* Room for all that a launch keeps count of; false without memory. */
static bool prepare(acu_sim_graph_launch *flight) {
    const acu_sim_plan *plan = flight->plan;
    if (plan->marks && !(flight->marks = calloc(plan->marks, sizeof(acu_sim_op *))))
        return false;
    if (!plan->degrees)
        return true;
    unsigned *memory = malloc((4 * plan->count + 1) * sizeof *memory);
    if (!memory)
        return false;
    memcpy(memory, plan->degrees, plan->count * sizeof *memory);
    flight->left = plan->count;
    flight->degrees = memory;
    flight->quick.steps = memory + plan->count;
    flight->slow.steps = memory + 2 * plan->count;
    flight->pending = memory + 3 * plan->count;
    return true;
}

static acu_sim_op *new_flight(acu_sim_exec *exec) {
    acu_sim_plan *plan = acu_sim_exec_plan(exec);
    acu_sim_graph_launch *flight = plan ? calloc(1, sizeof *flight) : NULL;
    acu_sim_op *op = flight ? acu_sim_op_new(cudaGraphNodeTypeGraph, fly) : NULL;
    if (!op) {
        free(flight);
        return NULL;
    }
    plan->refs++;
    exec->refs++;
    *flight = (acu_sim_graph_launch){.exec = exec, .plan = plan};
    op->with.graph_launch = flight;
    op->drop = land;
    op->always = true;
    if (!prepare(flight) || !acu_sim_op_after(op, exec->last)) {
        acu_sim_op_release(op);
        return NULL;
    }
    return op;
}

/* Events belong to the launch from the call on, in the order of its steps. */
static bool take_mark(acu_sim_graph_launch *flight, unsigned i) {
    const acu_sim_op *op = flight->plan->steps[i].op;
    acu_sim_op **mark = &flight->marks[flight->plan->steps[i].mark];
    if (op->type == cudaGraphNodeTypeWaitEvent) {
        if ((*mark = op->with.event->record))
            (*mark)->refs++;
        return true;
    }
    if (!(*mark = acu_sim_op_new(op->type, op->run)))
        return false;
    if (op->type == cudaGraphNodeTypeEventRecord) {
        acu_sim_event_mark(op->with.event, *mark);
        return true;
    }
    if (op->type != cudaGraphNodeTypeHost)
        return true;
    (*mark)->with.host = op->with.host;
    (*mark)->with.host.graph_launch = flight;
    (*mark)->with.host.step = i;
    (*mark)->over = host_is_over;
    return true;
}

static bool take_marks(acu_sim_graph_launch *flight) {
    const acu_sim_plan *plan = flight->plan;
    bool good = true;
    for (unsigned i = 0; plan->marks && good && i < plan->count; i++)
        if (!plan->steps[i].idle && acu_sim_plan_op_has_mark(plan->steps[i].op))
            good = take_mark(flight, i);
    return good;
}

cudaError_t acu_sim_graph_launch_start(acu_sim_exec *exec, acu_sim_stream *stream) {
    acu_sim_op *op = new_flight(exec);
    if (!op)
        return cudaErrorMemoryAllocation;
    const acu_sim_plan *plan = exec->plan;
    cudaError_t result =
        plan->values && !acu_sim_values_are_allocated(plan) ? cudaErrorInvalidValue : cudaSuccess;
    if (!result && plan->calls && !acu_sim_host_function_start(stream->device))
        result = cudaErrorMemoryAllocation;
    if (!result && plan->memory)
        result = acu_sim_graph_memory_launch(
            plan->steps, plan->count, exec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch);
    if (!result && !take_marks(op->with.graph_launch))
        result = cudaErrorMemoryAllocation;
    if (result) {
        acu_sim_op_release(op);
        return result;
    }
    op->refs++;
    result = acu_sim_stream_submit(stream, op, false);
    acu_sim_op_release(exec->last);
    exec->last = result ? NULL : op;
    if (result)
        acu_sim_op_release(op);
    return result;
}
