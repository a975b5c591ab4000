/* Asynchronous notifications and logs. */
#ifndef ACU_SIM_DEVICE_NOTIFY_H
#define ACU_SIM_DEVICE_NOTIFY_H

#include "sim/noun.h"
#include "sim/sim.h"

extern const acu_sim_noun acu_sim_notify_noun;

#endif
