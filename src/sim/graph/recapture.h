/* Capturing into a graph that was captured before. */
#ifndef ACU_SIM_GRAPH_RECAPTURE_H
#define ACU_SIM_GRAPH_RECAPTURE_H

#include "sim/sim.h"

/*
 * Gives the work of the newly captured node `made` to the corresponding node of the graph. Returns
 * false if their types or edges differ, or if the program's callback refuses. The lock is given up
 * while the callback runs.
 */
bool acu_sim_recapture(acu_sim_node *old, acu_sim_node *made,
                       const struct cudaGraphRecaptureCallbackData *asked);

#endif
