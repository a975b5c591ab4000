/* The log of the driver. */
#ifndef ACU_SIM_DEVICE_LOG_H
#define ACU_SIM_DEVICE_LOG_H

#include "sim/noun.h"
#include "sim/sim.h"

extern const acu_sim_noun acu_sim_log_noun;

#endif
