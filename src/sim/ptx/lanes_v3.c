/* The loops over lanes, for processors of x86-64-v3. */
#include "sim/ptx/form.h"

#if defined(PTX_HAS_LEVELS)
#include <stddef.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("arch=x86-64-v3"))), apply_to = function)
#else
#pragma GCC target("arch=x86-64-v3")
#endif
#define LANE_HANDLERS   acu_ptx_lane_handlers_v3
#define MEMORY_HANDLERS acu_ptx_memory_handlers_v3
#define MASKED_HANDLERS acu_ptx_masked_handlers_v3
#define MATRIX_LOOPS    acu_ptx_matrix_loops_v3
#include "sim/ptx/lane.h"
#include "sim/ptx_lanes.inc"
#include "sim/ptx/lane_masked.h"
#include "sim/ptx/lane_memory.h"
#include "sim/ptx/lane_matrix.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
