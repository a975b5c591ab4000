/* What the files of a warp share: its splits and joins. */
#ifndef ACU_SIM_PTX_WARP_SPLITS_H
#define ACU_SIM_PTX_WARP_SPLITS_H

#include "sim/ptx/warp.h"

/* Makes a join at the operation `pc` for the lanes of the split. The split's own join stays its
 * parent. */
ptx_join *acu_ptx_warp_add_join(ptx_warp *warp, const ptx_split *split, uint32_t pc);
/* Lanes will not come to the joins of the frame; NULL: to any. */
void acu_ptx_warp_forget(ptx_warp *warp, uint32_t lanes, const ptx_frame *frame);
/* Returns a zeroed frame. */
ptx_frame *acu_ptx_warp_add_frame(ptx_warp *warp);
/* Takes lanes out of the frame, which is freed with the last one. */
void acu_ptx_warp_leave_frame(ptx_warp *warp, ptx_frame *frame, uint32_t lanes);
/* Ends lanes of the current split. */
ptx_step acu_ptx_warp_end_lanes(ptx_warp *warp, uint32_t lanes);
/* Lets splits do the .sync operation that they wait at if all their members have come, or `anyway`.
 * False: none did. */
bool acu_ptx_warp_finish_sync(ptx_warp *warp, bool anyway);

#endif
