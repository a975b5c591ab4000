/* What is instantiated from graphs, and launching it. */
#include "graph.h"

#include <stdlib.h>

/* What a launch does, one after the other; without nodes that only order. */
struct acu_sim_plan {
    unsigned refs; /* the instance's, and those of launches under way */
    size_t count, room, events, memory;
    acu_sim_step *steps;
};

/* A launch under way. */
struct acu_sim_flight {
    acu_sim_exec *exec;
    acu_sim_plan *plan;
    acu_sim_op **marks;     /* of each event's step: what it ends or waits for; may be NULL */
    acu_sim_device *device; /* that of the stream, once it runs */
};

static acu_sim_exec *execs;
static acu_sim_set handles;
static unsigned last_id;

acu_sim_exec *acu_sim_exec_of(cudaGraphExec_t handle) {
    acu_sim_exec *exec = (acu_sim_exec *)(void *)handle;
    return acu_sim_set_has(&handles, exec) ? exec : NULL;
}

/* ---- plans --------------------------------------------------------------------------------------
 */

static void release_plan(acu_sim_plan *plan) {
    if (!plan || --plan->refs)
        return;
    for (size_t i = 0; i < plan->count; i++) {
        acu_sim_op_release(plan->steps[i].op);
        for (unsigned j = 0; j < plan->steps[i].body_count; j++)
            release_plan(plan->steps[i].bodies[j]);
        free(plan->steps[i].bodies);
    }
    free(plan->steps);
    free(plan);
}

static bool is_event(const acu_sim_op *op) {
    return op->type == cudaGraphNodeTypeEventRecord || op->type == cudaGraphNodeTypeWaitEvent;
}

static bool add_step(acu_sim_plan *plan, acu_sim_op *op) {
    if (plan->count == plan->room) {
        size_t room = plan->room * 2 + 16;
        acu_sim_step *steps = realloc(plan->steps, room * sizeof *steps);
        if (!steps)
            return false;
        plan->steps = steps;
        plan->room = room;
    }
    op->refs++;
    plan->steps[plan->count++] = (acu_sim_step){.op = op};
    plan->events += is_event(op);
    plan->memory += acu_sim_is_memory(op);
    return true;
}

static acu_sim_plan *new_plan(acu_sim_graph *graph);

/* The graphs of a conditional node have plans of their own. */
static bool plan_bodies(acu_sim_plan *plan, const acu_sim_node *node) {
    acu_sim_plan **bodies = calloc(node->body_count, sizeof(acu_sim_plan *));
    if (!bodies || !add_step(plan, node->op)) {
        free(bodies);
        return false;
    }
    acu_sim_step *step = &plan->steps[plan->count - 1];
    step->bodies = bodies;
    for (; step->body_count < node->body_count; step->body_count++)
        if (!(bodies[step->body_count] = new_plan(node->bodies[step->body_count])))
            return false;
    return true;
}

static bool plan_graph(acu_sim_plan *plan, acu_sim_graph *graph) {
    acu_sim_node *odd;
    acu_sim_node **order = acu_sim_graph_order(graph, &odd);
    bool good = order != NULL && !odd;
    for (size_t i = 0; good && i < graph->count; i++) {
        acu_sim_op *op = order[i]->op;
        if (op->type == cudaGraphNodeTypeGraph)
            good = plan_graph(plan, order[i]->bodies[0]);
        else if (op->type == cudaGraphNodeTypeConditional)
            good = plan_bodies(plan, order[i]);
        else if (!order[i]->disabled && (op->run || is_event(op)))
            good = add_step(plan, op);
    }
    free(order);
    return good;
}

/* NULL without memory. */
static acu_sim_plan *new_plan(acu_sim_graph *graph) {
    acu_sim_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    plan->refs = 1;
    if (plan_graph(plan, graph))
        return plan;
    release_plan(plan);
    return NULL;
}

static acu_sim_plan *plan_of(acu_sim_exec *exec) {
    if (!exec->plan)
        exec->plan = new_plan(exec->graph);
    return exec->plan;
}

void acu_sim_exec_touch(acu_sim_exec *exec) {
    release_plan(exec->plan);
    exec->plan = NULL;
}

/* ---- making and taking back ---------------------------------------------------------------------
 */

static void release_exec(acu_sim_exec *exec) {
    if (--exec->refs)
        return;
    acu_sim_exec_touch(exec);
    acu_sim_graph_free(exec->graph);
    acu_sim_op_release(exec->last);
    free(exec);
}

/* No longer the program's; what is launched goes on. */
static void destroy(acu_sim_exec *exec) {
    acu_sim_set_remove(&handles, exec);
    if (exec->previous)
        exec->previous->next = exec->next;
    else
        execs = exec->next;
    if (exec->next)
        exec->next->previous = exec->previous;
    release_exec(exec);
}

static acu_sim_exec *new_exec(const acu_sim_graph *graph, unsigned long long flags,
                              const void *where) {
    acu_sim_exec *exec = calloc(1, sizeof *exec);
    if (!exec)
        return NULL;
    exec->refs = 1;
    exec->id = ++last_id;
    exec->flags = flags & ~(unsigned long long)cudaGraphInstantiateFlagUpload;
    exec->where = where;
    exec->graph = acu_sim_graph_copy(graph);
    if (!exec->graph || !plan_of(exec) || !acu_sim_set_add(&handles, exec)) {
        release_exec(exec);
        return NULL;
    }
    exec->next = execs;
    if (execs)
        execs->previous = exec;
    return execs = exec;
}

/* Through the nodes that the graph is in, from the outermost. */
static acu_sim_graph *counterpart(acu_sim_exec *exec, const acu_sim_graph *graph) {
    if (!graph->owner)
        return exec->graph->source == graph->id ? exec->graph : NULL;
    const acu_sim_node *owner = graph->owner;
    acu_sim_graph *outer = counterpart(exec, owner->graph);
    if (!outer || owner->id >= outer->copied)
        return NULL;
    for (unsigned i = 0; i < owner->body_count; i++)
        if (owner->bodies[i] == graph)
            return outer->nodes[owner->id]->bodies[i];
    return NULL;
}

acu_sim_node *acu_sim_exec_node(acu_sim_exec *exec, cudaGraphNode_t handle) {
    const acu_sim_node *node = acu_sim_node_of(handle);
    const acu_sim_graph *graph = node ? counterpart(exec, node->graph) : NULL;
    return graph && node->id < graph->copied ? graph->nodes[node->id] : NULL;
}

void acu_sim_execs_reset(acu_sim_device *device) {
    acu_sim_exec *next;
    for (acu_sim_exec *exec = execs; exec; exec = next) {
        next = exec->next;
        if (exec->graph->device == device)
            destroy(exec);
    }
}

int acu_sim_execs_leaks(int print) {
    int count = 0;
    for (const acu_sim_exec *exec = execs; exec; exec = exec->next, count++)
        if (print)
            acu_sim_report("graph instance", exec, 0, exec->where);
    return count;
}

/* ---- instantiating ------------------------------------------------------------------------------
 */

static bool are_flags(unsigned long long flags, unsigned long long allowed) {
    const unsigned long long both =
        cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagDeviceLaunch;
    return !(flags & ~allowed) && (flags & both) != both;
}

/* Graphs with memory have one at a time. */
static bool has_instance(const acu_sim_graph *graph) {
    const acu_sim_exec *exec = execs;
    while (exec && exec->graph->source != graph->id)
        exec = exec->next;
    return exec != NULL;
}

static cudaError_t refuse(cudaGraphInstantiateParams *params, cudaGraphInstantiateResult why,
                          acu_sim_node *node, cudaError_t result) {
    params->result_out = why;
    params->errNode_out = node ? acu_sim_node_handle(node) : NULL;
    return result;
}

static bool can_launch_on_device(const acu_sim_node *node) {
    return node->op->type == cudaGraphNodeTypeKernel || node->op->type == cudaGraphNodeTypeMemcpy ||
           node->op->type == cudaGraphNodeTypeMemset || node->op->type == cudaGraphNodeTypeGraph;
}

static cudaError_t judge_order(acu_sim_graph *graph, cudaGraphInstantiateParams *params) {
    acu_sim_node *odd;
    acu_sim_node **order = acu_sim_graph_order(graph, &odd);
    free(order);
    if (!order)
        return cudaErrorMemoryAllocation;
    return odd ? refuse(params, cudaGraphInstantiateInvalidStructure, odd, cudaErrorInvalidValue)
               : cudaSuccess;
}

/* The graph, and those in its nodes. */
static cudaError_t judge(acu_sim_graph *graph, cudaGraphInstantiateParams *params) {
    cudaError_t result = judge_order(graph, params);
    for (size_t i = 0; !result && i < graph->condition_count; i++)
        if (!graph->conditions[i].used)
            result = refuse(params, cudaGraphInstantiateConditionalHandleUnused, NULL,
                            cudaErrorInvalidValue);
    for (size_t i = 0; !result && i < graph->size; i++) {
        acu_sim_node *node = graph->nodes[i];
        if (node && params->flags & cudaGraphInstantiateFlagDeviceLaunch &&
            !can_launch_on_device(node))
            result = refuse(params, cudaGraphInstantiateNodeOperationNotSupported, node,
                            cudaErrorInvalidValue);
        if (node && node->op->type == cudaGraphNodeTypeConditional)
            graph->device->keeps_local = true;
        if (!result && node && !acu_sim_conditional_takes(node))
            result = refuse(params, cudaGraphInstantiateNodeOperationNotSupported, node,
                            cudaErrorInvalidValue);
        for (unsigned j = 0; !result && node && j < node->body_count; j++)
            result = judge(node->bodies[j], params);
    }
    return result;
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t handle,
                               unsigned long long allowed, cudaGraphInstantiateParams *params,
                               const void *where) {
    acu_sim_exec *made = NULL;
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    acu_sim_graph *graph = acu_sim_graph_of(handle);
    params->result_out = cudaGraphInstantiateError;
    params->errNode_out = NULL;
    if (!result && (!exec || !graph || graph->moved || !are_flags(params->flags, allowed)))
        result = cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_capture_allows_unsafe();
    if (!result && acu_sim_graph_has_memory(graph) && has_instance(graph))
        result = cudaErrorNotSupported;
    if (!result)
        result = judge(graph, params);
    if (!result && !(made = new_exec(graph, params->flags, where)))
        result = cudaErrorMemoryAllocation;
    if (!result) {
        *exec = (cudaGraphExec_t)(void *)made;
        params->result_out = cudaGraphInstantiateSuccess;
    }
    return acu_sim_leave(result);
}

static const unsigned long long always_allowed = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                                 cudaGraphInstantiateFlagDeviceLaunch |
                                                 cudaGraphInstantiateFlagUseNodePriority;

cudaError_t acu_sim_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                         unsigned long long flags) {
    cudaGraphInstantiateParams params = {.flags = flags};
    return instantiate(pGraphExec, graph, always_allowed, &params, SIM_CALLER);
}

cudaError_t acu_sim_cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                  unsigned long long flags) {
    cudaGraphInstantiateParams params = {.flags = flags};
    return instantiate(pGraphExec, graph, always_allowed, &params, SIM_CALLER);
}

cudaError_t acu_sim_cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                   cudaGraphInstantiateParams *instantiateParams) {
    cudaGraphInstantiateParams none = {.flags = ~0ull};
    cudaGraphInstantiateParams *params = instantiateParams ? instantiateParams : &none;
    cudaError_t result = instantiate(
        pGraphExec, graph, always_allowed | cudaGraphInstantiateFlagUpload, params, SIM_CALLER);
    if (!result && params->flags & cudaGraphInstantiateFlagUpload)
        result = acu_sim_cudaGraphUpload(*pGraphExec, params->uploadStream);
    return result;
}

/* Enters, and finds the instance. */
static cudaError_t enter(cudaGraphExec_t handle, acu_sim_exec **exec) {
    cudaError_t result = acu_sim_enter(SIM_NEEDS_CONTEXT, NULL);
    if (!result && !(*exec = acu_sim_exec_of(handle)))
        result = cudaErrorInvalidValue;
    return result;
}

cudaError_t acu_sim_cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
    acu_sim_exec *exec;
    cudaError_t result = enter(graphExec, &exec);
    if (!result)
        result = acu_sim_capture_allows_unsafe();
    if (!result)
        destroy(exec);
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags) {
    acu_sim_exec *exec;
    cudaError_t result = enter(graphExec, &exec);
    if (!result && !flags)
        result = cudaErrorInvalidValue;
    if (!result)
        *flags = exec->flags;
    return acu_sim_leave(result);
}

cudaError_t acu_sim_cudaGraphExecGetId(cudaGraphExec_t hGraphExec, unsigned int *graphID) {
    acu_sim_exec *exec;
    cudaError_t result = enter(hGraphExec, &exec);
    if (!result)
        result = acu_sim_driver_has(&acu_function_cuGraphExecGetId);
    if (!result && !graphID)
        result = cudaErrorInvalidValue;
    if (!result)
        *graphID = exec->id;
    return acu_sim_leave(result);
}

/* ---- launching ----------------------------------------------------------------------------------
 */

/* Who waited for it finds the context lost, if it is. */
static void pass_event(const acu_sim_op *step, acu_sim_op *mark, acu_sim_device *device,
                       cudaError_t lost) {
    pthread_mutex_lock(&acu_sim_lock);
    if (lost && !device->sticky)
        device->sticky = lost;
    if (mark && step->type == cudaGraphNodeTypeEventRecord)
        acu_sim_op_finish(mark);
    else if (mark && !lost)
        acu_sim_wait(mark);
    pthread_mutex_unlock(&acu_sim_lock);
}

/* What it held; it may hold itself, through its instance, so this is not left to its end. */
static void land(acu_sim_op *op) {
    acu_sim_flight *flight = op->with.flight;
    op->with.flight = NULL;
    if (!flight)
        return;
    for (size_t i = 0; flight->marks && i < flight->plan->events; i++)
        acu_sim_op_release(flight->marks[i]);
    free(flight->marks);
    release_plan(flight->plan);
    release_exec(flight->exec);
    free(flight);
}

static cudaError_t run_plan(const acu_sim_plan *plan, const acu_sim_flight *flight,
                            cudaError_t result);

/* While: as long as the value is not 0. Else the graph with that number; of an if, 1 is the first.
 */
static cudaError_t run_conditional(const acu_sim_step *step, const acu_sim_flight *flight) {
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

/* After an error only the events are still passed: someone may wait for them. */
static cudaError_t run_plan(const acu_sim_plan *plan, const acu_sim_flight *flight,
                            cudaError_t result) {
    for (size_t i = 0, event = 0; i < plan->count; i++) {
        acu_sim_op *op = plan->steps[i].op;
        if (is_event(op))
            pass_event(op, flight->marks[event++], flight->device, result);
        else if (!result && op->type == cudaGraphNodeTypeConditional)
            result = run_conditional(&plan->steps[i], flight);
        else if (!result)
            result = op->run(op);
    }
    return result;
}

static cudaError_t fly(acu_sim_op *op) {
    acu_sim_flight *flight = op->with.flight;
    acu_sim_thread *self = acu_sim_self();
    pthread_mutex_lock(&acu_sim_lock);
    flight->device = op->stream->device;
    acu_sim_conditions_start(flight->exec->graph);
    pthread_mutex_unlock(&acu_sim_lock);
    self->graph = flight->exec->graph;
    cudaError_t result = run_plan(flight->plan, flight, op->status);
    self->graph = NULL;
    pthread_mutex_lock(&acu_sim_lock);
    land(op);
    pthread_mutex_unlock(&acu_sim_lock);
    return op->status ? cudaSuccess : result;
}

static acu_sim_op *new_flight(acu_sim_exec *exec) {
    acu_sim_plan *plan = plan_of(exec);
    acu_sim_flight *flight = plan ? calloc(1, sizeof *flight) : NULL;
    acu_sim_op *op = flight ? acu_sim_op_new(cudaGraphNodeTypeGraph, fly) : NULL;
    if (!op) {
        free(flight);
        return NULL;
    }
    plan->refs++;
    exec->refs++;
    *flight = (acu_sim_flight){.exec = exec, .plan = plan};
    op->with.flight = flight;
    op->drop = land;
    op->always = true;
    if (plan->events)
        flight->marks = calloc(plan->events, sizeof(acu_sim_op *));
    if ((plan->events && !flight->marks) || !acu_sim_op_after(op, exec->last)) {
        acu_sim_op_release(op);
        return NULL;
    }
    return op;
}

/* Events belong to the launch from the call on, in the order of its steps. */
static bool take_events(const acu_sim_flight *flight) {
    const acu_sim_plan *plan = flight->plan;
    for (size_t i = 0, event = 0; event < plan->events; i++) {
        const acu_sim_op *step = plan->steps[i].op;
        acu_sim_op *mark = NULL;
        if (!is_event(step))
            continue;
        if (step->type == cudaGraphNodeTypeEventRecord) {
            if (!(mark = acu_sim_op_new(step->type, NULL)))
                return false;
            acu_sim_event_mark(step->with.event, mark);
        } else if ((mark = step->with.event->record)) {
            mark->refs++;
        }
        flight->marks[event++] = mark;
    }
    return true;
}

static cudaError_t launch(acu_sim_exec *exec, acu_sim_stream *stream) {
    acu_sim_op *op = new_flight(exec);
    if (!op)
        return cudaErrorMemoryAllocation;
    cudaError_t result = cudaSuccess;
    const acu_sim_plan *plan = exec->plan;
    if (plan->memory)
        result = acu_sim_launch_memory(plan->steps, plan->count,
                                       exec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch);
    if (!result && !take_events(op->with.flight))
        result = cudaErrorMemoryAllocation;
    if (result) {
        acu_sim_op_release(op);
        return result;
    }
    op->refs++;
    result = acu_sim_submit(stream, op, false);
    acu_sim_op_release(exec->last);
    exec->last = result ? NULL : op;
    if (result)
        acu_sim_op_release(op);
    return result;
}

/* Not while the stream is captured. */
cudaError_t acu_sim_cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
    acu_sim_stream *s;
    cudaError_t result = acu_sim_enter_stream(stream, &s);
    acu_sim_exec *exec = acu_sim_exec_of(graphExec);
    if (!result && !exec)
        result = cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_capture_allows(s, SIM_REFUSES);
    if (!result)
        result = launch(exec, s);
    return acu_sim_leave(result);
}

/* Nothing has to be brought anywhere; the order of the stream holds all the same. */
cudaError_t acu_sim_cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) {
    acu_sim_stream *s;
    acu_sim_op *op = NULL;
    cudaError_t result = acu_sim_enter_stream(stream, &s);
    if (!result && !acu_sim_exec_of(graphExec))
        result = cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_capture_allows(s, SIM_REFUSES);
    if (!result && !(op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL)))
        result = cudaErrorMemoryAllocation;
    if (!result)
        result = acu_sim_submit(s, op, false);
    return acu_sim_leave(result);
}
