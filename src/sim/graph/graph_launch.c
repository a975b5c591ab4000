/*
 * Graph launches under way. The order of their steps is decided by plan.c.
 *
 * A graph launch is one operation in its stream. If the plan has no `degrees`, its steps simply run
 * one after the other. Else some steps wait for events, values or host functions: then the
 * operation does the steps that are ready, and runs again when one of the others becomes ready.
 */
#include "sim/device/device.h"
#include "sim/graph/conditional.h"
#include "sim/graph/device_graph.h"
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

/* Indexes of steps; those from `head` up to `tail` are still to be done. */
typedef struct queue {
    unsigned *steps;
    size_t head, tail;
} queue;

struct acu_sim_graph_launch {
    acu_sim_exec *exec;
    acu_sim_plan *plan;
    acu_sim_op **marks;     /* by `mark` of the steps: the operation that a step ends or waits for;
                               an element is NULL where there is nothing to wait for */
    acu_sim_device *device; /* the stream's; NULL: the launch has not begun to run */
    cudaError_t result;     /* the first error */
    acu_sim_children children; /* what its kernels have launched */
    unsigned siblings;         /* of the launch, that kernels launched */
    /* Used only if the plan has degrees: */
    size_t left;       /* steps to be done */
    unsigned *degrees; /* of each step: how many steps it still waits for */
    queue quick;       /* ready steps that take no time: order, events, host functions */
    queue slow;        /* ready steps that are work of the device */
    unsigned *pending; /* steps that wait for events, semaphores or values */
    unsigned pending_count;
    unsigned called;    /* host functions that are queued for the device's thread */
    bool here;          /* the thread that runs the launch calls a host function itself */
    acu_sim_op *wakeup; /* ends the wait of the launch for more ready steps; NULL: no wait */
};

/* Frees a launch, as soon as it has run: its executable graph holds the operation, and the launch
 * holds the executable graph. */
static void free_launch(acu_sim_op *op) {
    acu_sim_graph_launch *launch = op->with.graph_launch;
    op->with.graph_launch = NULL;
    if (!launch)
        return;
    for (size_t i = 0; launch->marks && i < launch->plan->marks; i++)
        acu_sim_op_release(launch->marks[i]);
    acu_sim_op_release(launch->wakeup);
    acu_sim_child_drop(&launch->children.at_once);
    acu_sim_child_drop(&launch->children.behind);
    free(launch->marks);
    free(launch->degrees);
    acu_sim_plan_release(launch->plan);
    acu_sim_exec_release(launch->exec);
    free(launch);
}

/* Records an error, if `result` is one. That must happen before an event after the failed step is
 * done, because what waits for the event must find the context lost. */
static void fail(acu_sim_graph_launch *launch, cudaError_t result) {
    if (result && !launch->result)
        launch->result = result;
    if (result)
        acu_sim_device_fail(launch->device, result);
}

/* ---- steps ---- */

static cudaError_t run_plan(const acu_sim_plan *plan, acu_sim_graph_launch *launch,
                            cudaError_t result);

/* Runs the graphs of a conditional node. A `while` runs its graph as long as the value is not 0, a
 * `switch` the graph with the value as index, and an `if` its first graph if the value is not 0,
 * else its second one. */
static cudaError_t run_conditional(const acu_sim_step *step, acu_sim_graph_launch *launch) {
    const acu_sim_graph *root = launch->exec->graph;
    cudaGraphConditionalHandle handle = step->op->with.condition.handle;
    cudaError_t result = cudaSuccess;
    unsigned value = acu_sim_condition_value(root, handle);
    if (step->op->with.condition.type == cudaGraphCondTypeWhile) {
        while (!result && value) {
            result = run_plan(step->bodies[0], launch, cudaSuccess);
            value = acu_sim_condition_value(root, handle);
        }
        return result;
    }
    if (step->op->with.condition.type == cudaGraphCondTypeIf)
        value = !value;
    return value < step->body_count ? run_plan(step->bodies[value], launch, cudaSuccess) : result;
}

/* Runs an executable graph that a kernel launched; the lock is given up meanwhile. */
static cudaError_t run_child(acu_sim_exec *exec, acu_sim_graph_launch *launch) {
    acu_sim_plan *plan = acu_sim_exec_plan(exec);
    if (!plan)
        return cudaErrorMemoryAllocation;
    plan->refs++;
    pthread_mutex_unlock(&acu_sim_lock);
    const cudaError_t result = run_plan(plan, launch, cudaSuccess);
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_plan_release(plan);
    return result;
}

/* Runs the graphs of a list, one after the other; what their kernels launch behind them comes
 * before the rest of the list. These graphs have no marks, as they have kernels, copies and fills
 * only. */
static cudaError_t run_children(acu_sim_child **list, acu_sim_graph_launch *launch) {
    acu_sim_thread *self = acu_sim_self();
    const acu_sim_graph *graph = self->graph;
    acu_sim_child *left = *list;
    cudaError_t result = cudaSuccess;
    *list = NULL;
    acu_sim_children outer = launch->children;
    bool is_sibling;
    pthread_mutex_lock(&acu_sim_lock);
    for (acu_sim_exec *exec; !result && (exec = acu_sim_child_take(&left, &is_sibling));) {
        launch->children = (acu_sim_children){.sibling_count = is_sibling ? outer.sibling_count
                                                                          : &outer.at_once_count};
        self->graph = exec->graph;
        result = run_child(exec, launch);
        acu_sim_child_end(exec);
        acu_sim_child_drop(&launch->children.at_once); /* some, if the graph failed */
        acu_sim_child **end = &launch->children.behind;
        while (*end)
            end = &(*end)->next;
        *end = left;
        left = launch->children.behind;
    }
    acu_sim_child_drop(&left);
    pthread_mutex_unlock(&acu_sim_lock);
    launch->children = outer;
    self->graph = graph;
    return result;
}

/* Runs a step, and what its kernel launches beside the graph. */
static cudaError_t run_step(const acu_sim_step *step, acu_sim_graph_launch *launch) {
    acu_sim_thread *self = acu_sim_self();
    if (step->op->type == cudaGraphNodeTypeConditional)
        return run_conditional(step, launch);
    if (step->op->type != cudaGraphNodeTypeKernel)
        return step->op->run(step->op);
    self->children = &launch->children;
    if (!launch->children.sibling_count)
        launch->children.sibling_count = &launch->siblings;
    cudaError_t result = step->op->run(step->op);
    self->children = NULL;
    if (!result && launch->children.at_once)
        result = run_children(&launch->children.at_once, launch);
    return result;
}

/* Runs the steps one after the other. After an error only the marks are still done, because other
 * streams may wait for events. Takes the lock for that, which the caller must not hold. */
static cudaError_t run_plan(const acu_sim_plan *plan, acu_sim_graph_launch *launch,
                            cudaError_t result) {
    for (size_t i = 0; i < plan->count; i++) {
        const acu_sim_step *step = &plan->steps[i];
        if (acu_sim_plan_op_has_mark(step->op)) {
            pthread_mutex_lock(&acu_sim_lock);
            fail(launch, result);
            acu_sim_op_finish(launch->marks[step->mark]);
            pthread_mutex_unlock(&acu_sim_lock);
        } else if (!result) {
            result = run_step(step, launch);
        }
    }
    return result;
}

/* ---- steps that wait ---- */

/* Returns whether a step waits for a value in memory, which must be read again and again. */
static bool is_polled(const acu_sim_step *step) {
    return !step->idle && step->op->is_due && !acu_sim_plan_op_has_mark(step->op);
}

/* Returns whether what a mark stands for is done: a record of another process is asked for. */
static bool is_done(const acu_sim_op *mark) {
    return mark->done || (mark->is_due && mark->is_due(mark));
}

/* Returns whether the wait of a pending step is over. */
static bool is_over(const acu_sim_graph_launch *launch, unsigned i) {
    const acu_sim_step *step = &launch->plan->steps[i];
    return is_polled(step) ? step->op->is_due(step->op) : is_done(launch->marks[step->mark]);
}

/* Returns whether nobody tells when the wait of a pending step is over. */
static bool must_look(const acu_sim_graph_launch *launch, unsigned i) {
    const acu_sim_step *step = &launch->plan->steps[i];
    return is_polled(step) || launch->marks[step->mark]->is_due;
}

/* Returns whether a step is work of the device; with a seed a host function is treated like that,
 * so that the seed decides when it runs. */
static bool is_slow(const acu_sim_step *step) {
    const bool host = step->op->type == cudaGraphNodeTypeHost;
    return !step->idle &&
           (host ? acu_sim_configuration()->seeded : !acu_sim_plan_op_has_mark(step->op));
}

/* Queues a step, because all that it depends on is done. */
static void make_ready(acu_sim_graph_launch *launch, unsigned i) {
    if (is_polled(&launch->plan->steps[i])) {
        launch->pending[launch->pending_count++] = i;
        return;
    }
    queue *to = is_slow(&launch->plan->steps[i]) ? &launch->slow : &launch->quick;
    to->steps[to->tail++] = i;
}

static void finish_step(acu_sim_graph_launch *launch, unsigned i) {
    const acu_sim_plan *plan = launch->plan;
    launch->left--;
    for (unsigned j = plan->first[i]; j < plan->first[i + 1]; j++)
        if (--launch->degrees[plan->next[j]] == 0)
            make_ready(launch, plan->next[j]);
}

static bool is_empty(const queue *steps) {
    return steps->head == steps->tail;
}

/* Takes a step from the queue: the first, or with a seed a random one. */
static unsigned take_slow(acu_sim_graph_launch *launch) {
    queue *from = &launch->slow;
    size_t pick = from->head;
    if (acu_sim_configuration()->seeded)
        pick += (size_t)(acu_sim_schedule_random() % (from->tail - from->head));
    const unsigned picked = from->steps[pick];
    from->steps[pick] = from->steps[from->head++];
    return picked;
}

/* Runs a step of the device, unless an earlier one failed; the lock is given up meanwhile. */
static void do_slow(acu_sim_graph_launch *launch, unsigned i) {
    acu_sim_thread *self = acu_sim_self();
    if (!launch->result) {
        self->graph = launch->exec->graph;
        pthread_mutex_unlock(&acu_sim_lock);
        const cudaError_t result = run_step(&launch->plan->steps[i], launch);
        pthread_mutex_lock(&acu_sim_lock);
        self->graph = NULL;
        fail(launch, result);
    }
    finish_step(launch, i);
}

/* Calls a host function in this thread, if the launch has nothing else to do meanwhile; else queues
 * it for the device's thread. */
static void call_host_function(acu_sim_graph_launch *launch, acu_sim_op *mark, bool own_thread) {
    launch->here = own_thread && is_empty(&launch->quick) && is_empty(&launch->slow) &&
                   !launch->pending_count && !launch->called;
    const bool called = launch->here && acu_sim_host_function_here(launch->device, mark);
    launch->here = false;
    if (called)
        return;
    launch->called++;
    acu_sim_host_function_queue(launch->device, mark);
}

static bool is_wait(enum cudaGraphNodeType type) {
    return type == cudaGraphNodeTypeWaitEvent || type == cudaGraphNodeTypeExtSemaphoreWait;
}

/* Does all quick steps. A host function finishes its step itself, see host_function_done(). */
static void do_quick(acu_sim_graph_launch *launch, bool own_thread) {
    while (!is_empty(&launch->quick)) {
        const unsigned i = launch->quick.steps[launch->quick.head++];
        const acu_sim_step *step = &launch->plan->steps[i];
        acu_sim_op *mark = step->idle ? NULL : launch->marks[step->mark];
        const enum cudaGraphNodeType type = mark ? step->op->type : cudaGraphNodeTypeEmpty;
        if (type == cudaGraphNodeTypeExtSemaphoreWait && !launch->result)
            acu_sim_semaphores_await(step->op, mark);
        if (type == cudaGraphNodeTypeHost && !launch->result) {
            call_host_function(launch, mark, own_thread);
        } else if (is_wait(type) && !launch->result && !is_done(mark)) {
            launch->pending[launch->pending_count++] = i;
        } else {
            if (type == cudaGraphNodeTypeEventRecord)
                acu_sim_op_finish(mark);
            finish_step(launch, i);
        }
    }
}

/* Finishes the step of a host function, under the lock, and makes the launch run again if there is
 * something to do now. */
static void host_function_done(acu_sim_op *mark) {
    acu_sim_graph_launch *launch = mark->with.host.graph_launch;
    const unsigned pending = launch->pending_count;
    finish_step(launch, mark->with.host.step);
    if (launch->here)
        return;
    launch->called--;
    do_quick(launch, false);
    if (launch->wakeup && !launch->wakeup->done &&
        (!is_empty(&launch->slow) || !launch->left || pending != launch->pending_count))
        acu_sim_op_finish(launch->wakeup);
}

/* Takes the steps whose wait is over from the pending ones; after an error all of them. A step that
 * waited for a value still has to run, because it fails if the memory was freed meanwhile. */
static void end_waits(acu_sim_graph_launch *launch) {
    unsigned count = 0;
    for (unsigned i = 0; i < launch->pending_count; i++) {
        const unsigned pending = launch->pending[i];
        if (!launch->result && !is_over(launch, pending))
            launch->pending[count++] = pending;
        else if (!launch->result && is_polled(&launch->plan->steps[pending]))
            launch->slow.steps[launch->slow.tail++] = pending;
        else
            finish_step(launch, pending);
    }
    launch->pending_count = count;
}

/* Does all steps that are ready. With a seed, returns after each step of the device, so that work
 * of other streams can run in between. */
static void run_ready_steps(acu_sim_graph_launch *launch) {
    for (;;) {
        end_waits(launch);
        do_quick(launch, true);
        if (is_empty(&launch->slow))
            return;
        do_slow(launch, take_slow(launch));
        if (acu_sim_configuration()->seeded)
            return;
    }
}

/* Returns whether a waiting launch has something to do. */
static bool has_more(const acu_sim_op *op) {
    const acu_sim_graph_launch *launch = op->with.graph_launch;
    bool more = launch->wakeup && launch->wakeup->done;
    for (unsigned i = 0; i < launch->pending_count && !more; i++)
        more = is_over(launch, launch->pending[i]);
    return more;
}

/* Makes the operation run again when there is something to do, which may be now. Without memory
 * for a wait it runs again at once. */
static void wait_for_more(acu_sim_graph_launch *launch, acu_sim_op *op) {
    const bool ready = !is_empty(&launch->quick) || !is_empty(&launch->slow) || has_more(op);
    op->unfinished = true;
    if (ready || !(launch->wakeup = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL)))
        return;
    for (unsigned i = 0; i < launch->pending_count; i++)
        if (must_look(launch, launch->pending[i])) {
            op->is_due = has_more;
            return;
        }
    op->any = true;
    (void)acu_sim_op_after(op, launch->wakeup);
    for (unsigned i = 0; i < launch->pending_count; i++)
        (void)acu_sim_op_after(op, launch->marks[launch->plan->steps[launch->pending[i]].mark]);
}

/* ---- launching ---- */

static void begin(acu_sim_graph_launch *launch, acu_sim_device *device) {
    launch->device = device;
    acu_sim_conditions_start(launch->exec->graph);
    for (unsigned i = 0; launch->degrees && i < launch->plan->count; i++)
        if (launch->degrees[i] == 0)
            make_ready(launch, i);
}

/* Runs what kernels have launched behind the graph, which has ended. The lock is given up
 * meanwhile. */
static void run_tail(acu_sim_graph_launch *launch) {
    if (launch->result || !launch->children.behind)
        return;
    pthread_mutex_unlock(&acu_sim_lock);
    const cudaError_t result = run_children(&launch->children.behind, launch);
    pthread_mutex_lock(&acu_sim_lock);
    fail(launch, result);
}

static cudaError_t run_launch(acu_sim_op *op) {
    acu_sim_graph_launch *launch = op->with.graph_launch;
    acu_sim_thread *self = acu_sim_self();
    pthread_mutex_lock(&acu_sim_lock);
    if (!launch->device)
        begin(launch, op->stream->device);
    if (op->status)
        fail(launch, op->status);
    if (launch->degrees) {
        acu_sim_op_release(launch->wakeup);
        launch->wakeup = NULL;
        op->is_due = NULL;
        run_ready_steps(launch);
        if (launch->left)
            wait_for_more(launch, op);
        else {
            run_tail(launch);
            free_launch(op);
        }
        pthread_mutex_unlock(&acu_sim_lock);
        return cudaSuccess;
    }
    pthread_mutex_unlock(&acu_sim_lock);
    self->graph = launch->exec->graph;
    cudaError_t result = run_plan(launch->plan, launch, op->status);
    if (!result)
        result = run_children(&launch->children.behind, launch);
    self->graph = NULL;
    pthread_mutex_lock(&acu_sim_lock);
    free_launch(op);
    pthread_mutex_unlock(&acu_sim_lock);
    return op->status ? cudaSuccess : result;
}

/* Allocates what a launch needs to follow its steps; returns false without memory. */
static bool allocate(acu_sim_graph_launch *launch) {
    const acu_sim_plan *plan = launch->plan;
    if (plan->marks && !(launch->marks = calloc(plan->marks, sizeof(acu_sim_op *))))
        return false;
    if (!plan->degrees)
        return true;
    unsigned *memory = malloc((4 * plan->count + 1) * sizeof *memory);
    if (!memory)
        return false;
    memcpy(memory, plan->degrees, plan->count * sizeof *memory);
    launch->left = plan->count;
    launch->degrees = memory;
    launch->quick.steps = memory + plan->count;
    launch->slow.steps = memory + 2 * plan->count;
    launch->pending = memory + 3 * plan->count;
    return true;
}

static acu_sim_op *new_launch(acu_sim_exec *exec) {
    acu_sim_plan *plan = acu_sim_exec_plan(exec);
    acu_sim_graph_launch *launch = plan ? calloc(1, sizeof *launch) : NULL;
    acu_sim_op *op = launch ? acu_sim_op_new(cudaGraphNodeTypeGraph, run_launch) : NULL;
    if (!op) {
        free(launch);
        return NULL;
    }
    plan->refs++;
    exec->refs++;
    *launch = (acu_sim_graph_launch){.exec = exec, .plan = plan};
    op->with.graph_launch = launch;
    op->drop = free_launch;
    op->always = true;
    if (!allocate(launch) || !acu_sim_op_after(op, exec->last)) {
        acu_sim_op_release(op);
        return NULL;
    }
    return op;
}

/* Makes the mark of a step; returns false without memory. An event belongs to the launch from the
 * call on: a step that waits does so for the last record before, which may be an earlier step's. */
static bool make_mark(acu_sim_graph_launch *launch, unsigned i) {
    const acu_sim_op *op = launch->plan->steps[i].op;
    acu_sim_op **mark = &launch->marks[launch->plan->steps[i].mark];
    if (op->type == cudaGraphNodeTypeWaitEvent)
        return acu_sim_event_last_record(op->with.event, mark);
    if (!(*mark = acu_sim_op_new(op->type, op->run)))
        return false;
    if (op->type == cudaGraphNodeTypeEventRecord) {
        acu_sim_event_mark(op->with.event, *mark);
        return true;
    }
    if (op->type != cudaGraphNodeTypeHost)
        return true;
    (*mark)->with.host = op->with.host;
    (*mark)->with.host.graph_launch = launch;
    (*mark)->with.host.step = i;
    (*mark)->over = host_function_done;
    return true;
}

static bool make_marks(acu_sim_graph_launch *launch) {
    const acu_sim_plan *plan = launch->plan;
    bool good = true;
    for (unsigned i = 0; plan->marks && good && i < plan->count; i++)
        if (!plan->steps[i].idle && acu_sim_plan_op_has_mark(plan->steps[i].op))
            good = make_mark(launch, i);
    return good;
}

cudaError_t acu_sim_graph_launch_start(acu_sim_exec *exec, acu_sim_stream *stream) {
    acu_sim_op *op = new_launch(exec);
    if (!op)
        return cudaErrorMemoryAllocation;
    const acu_sim_plan *plan = exec->plan;
    cudaError_t result =
        plan->values && !acu_sim_values_are_allocated(plan)
            ? SIM_REFUSE(cudaErrorInvalidValue,
                         "a node writes a value, or waits for one, where no memory is allocated "
                         "any more")
            : cudaSuccess;
    if (!result && plan->calls && !acu_sim_host_function_start(stream->device))
        result = cudaErrorMemoryAllocation;
    if (!result && plan->memory)
        result = acu_sim_graph_memory_launch(
            plan->steps, plan->count, exec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch);
    if (!result && !make_marks(op->with.graph_launch))
        result = cudaErrorMemoryAllocation;
    if (result) {
        acu_sim_op_release(op);
        return result;
    }
    op->refs++;
    exec->launched = true;
    result = acu_sim_stream_submit(stream, op, acu_sim_configuration()->blocking);
    acu_sim_op_release(exec->last);
    exec->last = result ? NULL : op;
    if (result)
        acu_sim_op_release(op);
    return result;
}
