/* Asynchronous notifications and logs. */
#ifndef ACU_SIM_DEVICE_NOTIFY_H
#define ACU_SIM_DEVICE_NOTIFY_H

#include "sim/sim.h"

void acu_sim_notify_reset(void);

#endif
