/* Plans: the steps of a launch of an executable graph. */
#ifndef ACU_SIM_GRAPH_PLAN_H
#define ACU_SIM_GRAPH_PLAN_H

#include "sim/sim.h"

typedef struct acu_sim_plan acu_sim_plan;

/* One operation of a launch, or a conditional node with the plans of its graphs. */
typedef struct acu_sim_step {
    acu_sim_op *op;
    acu_sim_plan **bodies; /* NULL unless the node is conditional */
    unsigned body_count;
    unsigned mark; /* the index of the step's mark among those of a launch, if it has one */
    bool idle;     /* the step does no work and only orders others */
} acu_sim_step;

struct acu_sim_plan {
    unsigned refs;       /* one of the executable graph, and one of each launch under way */
    acu_sim_step *steps; /* each behind those that it depends on */
    size_t count, room;  /* elements of `steps`: in use, and allocated */
    size_t memory;       /* steps that allocate or free memory */
    size_t marks;        /* steps with a mark, see acu_sim_plan_op_has_mark() */
    bool calls;          /* some steps call host functions */
    bool values;         /* some steps wait for values in memory, or write them */
    /* What the steps wait for; all NULL where they simply run one after the other. */
    unsigned *degrees; /* of each step: how many steps it waits for */
    unsigned *first;   /* next[first[i]] up to next[first[i + 1]] wait for step i */
    unsigned *next;
};

/* Returns a plan of a graph, with one reference; NULL without memory. */
acu_sim_plan *acu_sim_plan_new(acu_sim_graph *graph);
/* Gives a reference up; NULL is fine. */
void acu_sim_plan_release(acu_sim_plan *plan);
/* Returns whether each launch makes an operation of its own for such a step, its mark, because
 * others wait for the step or the step for others: events, host functions, semaphores. */
bool acu_sim_plan_op_has_mark(const acu_sim_op *op);

#endif
