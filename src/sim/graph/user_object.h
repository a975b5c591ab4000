/* User objects, and the references to them that graphs have. */
#ifndef ACU_SIM_GRAPH_USER_OBJECT_H
#define ACU_SIM_GRAPH_USER_OBJECT_H

#include "sim/noun.h"
#include "sim/sim.h"

/* The references that a graph has to a user object. */
typedef struct acu_sim_keep {
    acu_sim_user_object *object;
    uint64_t count;
} acu_sim_keep;

/* Gives a graph as many references as another one has; returns false without memory. */
bool acu_sim_user_objects_copy(acu_sim_graph *to, const acu_sim_graph *from);
/* Gives up all references that a graph has. */
void acu_sim_user_objects_clear(acu_sim_graph *graph);

extern const acu_sim_noun acu_sim_user_object_noun;

#endif
