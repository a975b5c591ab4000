/* Capturing into a graph that was captured before. */
#ifndef ACU_SIM_GRAPH_RECAPTURE_H
#define ACU_SIM_GRAPH_RECAPTURE_H

#include "sim/sim.h"

/* Takes over what a node that was captured again does, if it is like the old one and the program
 * has nothing against it. */
bool acu_sim_recapture(acu_sim_node *old, acu_sim_node *made,
                       const struct cudaGraphRecaptureCallbackData *asked);

#endif
