/* Plans: the order in which an instance does its work. */
#ifndef ACU_SIM_GRAPH_PLAN_H
#define ACU_SIM_GRAPH_PLAN_H

#include "sim/sim.h"

typedef struct acu_sim_plan acu_sim_plan;

/* What a launch does at once, or, for a conditional node, its graphs' plans. */
typedef struct acu_sim_step {
    acu_sim_op *op;
    acu_sim_plan **bodies;
    unsigned body_count;
    unsigned mark; /* its number among those that have one */
    bool idle;     /* it only orders */
} acu_sim_step;

struct acu_sim_plan {
    unsigned refs; /* the instance's, and those of launches under way */
    size_t count, room, memory;
    size_t marks; /* steps that record or wait for an event, or call the host */
    bool calls;
    bool values;         /* some wait for values in memory, or write them */
    acu_sim_step *steps; /* each behind those that it depends on */
    /* NULL, or how many each waits for, and who for it: next[first[i]] up to next[first[i + 1]]. */
    unsigned *degrees, *first, *next;
};

/* NULL without memory. */
acu_sim_plan *acu_sim_plan_new(acu_sim_graph *graph);
void acu_sim_plan_release(acu_sim_plan *plan);
bool acu_sim_plan_op_has_mark(const acu_sim_op *op);

#endif
