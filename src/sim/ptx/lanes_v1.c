/* The loops over lanes, for any processor. */
#include "sim/ptx/lane.h"

#define LANE_HANDLERS acu_ptx_lane_handlers_v1
#include "sim/ptx_lanes.inc"

#define MEMORY_HANDLERS acu_ptx_memory_handlers_v1
#include "sim/ptx/lane_memory.h"
