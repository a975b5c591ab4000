/* The loops over lanes, for any processor. */
#include "sim/ptx/lane.h"

#include "sim/ptx_lanes.inc"
#include "sim/ptx/lane_masked.h"
#include "sim/ptx/lane_memory.h"
#include "sim/ptx/lane_matrix.h"
