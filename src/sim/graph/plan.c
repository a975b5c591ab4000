/*
 * Plans: the steps of a graph launch, in an order that respects the edges.
 *
 * The work of a device in one launch is done one step after the other. CUDA promises no more, so no
 * program can rely on more. Host functions, events and values are different: CUDA promises that
 * work which does not depend on them goes on meanwhile. So a plan of a graph with such nodes has
 * what each step waits for; a plan has that also if a seed decides the order.
 */
#include "sim/graph/plan.h"

#include "sim/graph/edge.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/graph/node.h"
#include "sim/graph/value_node.h"
#include "sim/stream/capture.h"
#include "sim/stream/edge_list.h"
#include "sim/stream/op.h"

#include <stdlib.h>
#include <string.h>

/* A plan that is being made, and the edges between its steps. */
typedef struct builder {
    acu_sim_plan *plan;
    bool linked;         /* the plan needs the edges; else there are none */
    unsigned *from, *to; /* indexes of steps */
    size_t count, room;  /* edges: in use, and allocated */
} builder;

enum { NO_STEP = -1 };

void acu_sim_plan_release(acu_sim_plan *plan) {
    if (!plan || --plan->refs)
        return;
    for (size_t i = 0; i < plan->count; i++) {
        acu_sim_op_release(plan->steps[i].op);
        for (unsigned j = 0; j < plan->steps[i].body_count; j++)
            acu_sim_plan_release(plan->steps[i].bodies[j]);
        free(plan->steps[i].bodies);
    }
    free(plan->steps);
    free(plan->degrees);
    free(plan->first);
    free(plan->next);
    free(plan);
}

bool acu_sim_plan_op_has_mark(const acu_sim_op *op) {
    return op->type == cudaGraphNodeTypeEventRecord || op->type == cudaGraphNodeTypeWaitEvent ||
           op->type == cudaGraphNodeTypeHost || op->type == cudaGraphNodeTypeExtSemaphoreWait;
}

/* ---- steps and edges ---- */

/* Appends a step, which takes a reference of its own; returns false without memory. */
static bool add_step(acu_sim_plan *plan, acu_sim_op *op, bool idle) {
    if (plan->count == plan->room) {
        size_t room = plan->room * 2 + 16;
        acu_sim_step *steps = realloc(plan->steps, room * sizeof *steps);
        if (!steps)
            return false;
        plan->steps = steps;
        plan->room = room;
    }
    op->refs++;
    plan->steps[plan->count++] =
        (acu_sim_step){.op = op, .idle = idle, .mark = (unsigned)plan->marks};
    plan->marks += !idle && acu_sim_plan_op_has_mark(op);
    plan->calls = plan->calls || op->type == cudaGraphNodeTypeHost;
    plan->memory += acu_sim_graph_memory_is_op(op);
    return true;
}

static bool add_edge(builder *b, size_t from, size_t to) {
    if (!b->linked)
        return true;
    if (b->count == b->room) {
        size_t room = b->room * 2 + 64;
        unsigned *grown = realloc(b->from, room * sizeof *grown);
        if (!grown)
            return false;
        b->from = grown;
        grown = realloc(b->to, room * sizeof *grown);
        if (!grown)
            return false;
        b->to = grown;
        b->room = room;
    }
    b->from[b->count] = (unsigned)from;
    b->to[b->count++] = (unsigned)to;
    return true;
}

/* Writes the edges to the plan, sorted by the steps that they come from. */
static bool link_steps(builder *b) {
    acu_sim_plan *plan = b->plan;
    plan->degrees = calloc(plan->count + 1, sizeof *plan->degrees);
    plan->first = calloc(plan->count + 2, sizeof *plan->first);
    plan->next = malloc((b->count + 1) * sizeof *plan->next);
    if (!plan->degrees || !plan->first || !plan->next)
        return false;
    for (size_t i = 0; i < b->count; i++) {
        plan->degrees[b->to[i]]++;
        plan->first[b->from[i] + 2]++;
    }
    for (size_t i = 2; i < plan->count + 2; i++)
        plan->first[i] += plan->first[i - 1];
    for (size_t i = 0; i < b->count; i++) /* first[i + 1] moves up to where step i + 1 begins */
        plan->next[plan->first[b->from[i] + 1]++] = b->to[i];
    return true;
}

/* ---- nodes ---- */

static acu_sim_plan *new_plan(acu_sim_graph *graph, bool linked);
static bool plan_graph(builder *b, acu_sim_graph *graph, size_t entry);

/* Adds a conditional node as one step; its graphs have plans of their own. */
static bool plan_conditional(acu_sim_plan *plan, const acu_sim_node *node) {
    acu_sim_plan **bodies = calloc(node->body_count, sizeof(acu_sim_plan *));
    if (!bodies || !add_step(plan, node->op, false)) {
        free(bodies);
        return false;
    }
    acu_sim_step *step = &plan->steps[plan->count - 1];
    step->bodies = bodies;
    for (; step->body_count < node->body_count; step->body_count++)
        if (!(bodies[step->body_count] = new_plan(node->bodies[step->body_count], false)))
            return false;
    return true;
}

/* Adds the nodes of a child graph. Two idle steps are around them if there are edges: all nodes
 * depend on the first, and the second depends on all nodes. */
static bool plan_child(builder *b, const acu_sim_node *node) {
    acu_sim_graph *child = node->bodies[0];
    const size_t entry = b->plan->count;
    if (!b->linked)
        return plan_graph(b, child, (size_t)NO_STEP);
    if (!add_step(b->plan, node->op, true) || !plan_graph(b, child, entry) ||
        !add_step(b->plan, node->op, true))
        return false;
    const size_t end = b->plan->count - 1;
    bool good = add_edge(b, entry, end);
    for (size_t i = 0; good && i < child->size; i++)
        if (child->nodes[i] && child->nodes[i]->after.count == 0)
            good = add_edge(b, child->nodes[i]->degree, end);
    return good;
}

/* Adds a step for each wait and each write, one after the other; an idle one for a node that has
 * none, because edges begin and end at steps. */
static bool plan_values(builder *b, const acu_sim_node *node) {
    unsigned count;
    acu_sim_op *const *each = acu_sim_values_each(node->op, &count);
    b->plan->values = true;
    if (!count && b->linked)
        return add_step(b->plan, node->op, true);
    for (unsigned i = 0; i < count; i++) {
        const bool idle = !each[i]->run;
        if (idle && !b->linked)
            continue;
        if (!add_step(b->plan, each[i], idle) ||
            (i && !add_edge(b, b->plan->count - 2, b->plan->count - 1)))
            return false;
    }
    return true;
}

static bool plan_node(builder *b, const acu_sim_node *node) {
    acu_sim_op *op = node->op;
    const bool idle = node->disabled || !(op->run || acu_sim_plan_op_has_mark(op));
    if (op->type == cudaGraphNodeTypeGraph)
        return plan_child(b, node);
    if (op->type == cudaGraphNodeTypeConditional)
        return plan_conditional(b->plan, node);
    if (op->type == SIM_NODE_VALUES)
        return plan_values(b, node);
    return (idle && !b->linked) || add_step(b->plan, op, idle);
}

/* Adds the nodes of a graph. Those without dependencies depend on step `entry`, unless that is
 * NO_STEP. */
static bool plan_graph(builder *b, acu_sim_graph *graph, size_t entry) {
    acu_sim_node *odd;
    acu_sim_node **order = acu_sim_graph_order(graph, &odd);
    bool good = order != NULL && !odd;
    for (size_t i = 0; good && i < graph->count; i++) {
        const acu_sim_edge_list *before = &order[i]->before;
        const size_t begin = b->plan->count;
        good = plan_node(b, order[i]);
        order[i]->degree = b->plan->count - 1; /* the last step of the node */
        if (good && !before->count && entry != (size_t)NO_STEP)
            good = add_edge(b, entry, begin);
        for (size_t j = 0; good && b->linked && j < before->count; j++)
            good = add_edge(b, ((const acu_sim_node *)(void *)before->nodes[j])->degree, begin);
    }
    free(order);
    return good;
}

/* ---- plans ---- */

/* Returns whether nodes wait for something else than the device. */
static bool has_waits(const acu_sim_graph *graph) {
    bool found = false;
    for (size_t i = 0; i < graph->size && !found; i++) {
        const acu_sim_node *node = graph->nodes[i];
        if (node && node->op->type == cudaGraphNodeTypeGraph)
            found = has_waits(node->bodies[0]);
        else if (node)
            found = node->op->type == cudaGraphNodeTypeHost ||
                    node->op->type == cudaGraphNodeTypeWaitEvent ||
                    node->op->type == cudaGraphNodeTypeExtSemaphoreWait ||
                    (node->op->type == SIM_NODE_VALUES && acu_sim_values_have_wait(node->op));
    }
    return found;
}

static acu_sim_plan *new_plan(acu_sim_graph *graph, bool linked) {
    acu_sim_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    plan->refs = 1;
    builder b = {.plan = plan, .linked = linked};
    const bool good = plan_graph(&b, graph, (size_t)NO_STEP) && (!linked || link_steps(&b));
    free(b.from);
    free(b.to);
    if (good)
        return plan;
    acu_sim_plan_release(plan);
    return NULL;
}

acu_sim_plan *acu_sim_plan_new(acu_sim_graph *graph) {
    return new_plan(graph, acu_sim_configuration()->seeded || has_waits(graph));
}
