/* Calls of functions that PTX declares and nothing defines: where their arguments are. */
#ifndef ACU_SIM_PTX_DEVICE_CALL_H
#define ACU_SIM_PTX_DEVICE_CALL_H

#include "sim/ptx/code.h"
#include "sim/ptx/warp.h"

enum { PTX_CALL_ARGUMENTS = 8 };

/* Where a call's arguments and result are; `more` of its operation. */
typedef struct ptx_device_call {
    ptx_copy_place arguments[PTX_CALL_ARGUMENTS], result;
    uint32_t sizes[PTX_CALL_ARGUMENTS], result_size;
} ptx_device_call;

/* Returns where the lane's argument is. */
const char *acu_ptx_call_place(const ptx_warp *warp, const ptx_device_call *call, unsigned n,
                               unsigned lane);
/* Returns a lane's argument of at most 8 bytes. */
uint64_t acu_ptx_call_argument(const ptx_warp *warp, const ptx_device_call *call, unsigned n,
                               unsigned lane);
/* Gives the lane the call's result, if the call has one. */
void acu_ptx_call_return(const ptx_warp *warp, const ptx_device_call *call, unsigned lane,
                         uint64_t value);

/* Returns whether every device has the function, whoever declares it. */
bool acu_ptx_is_device_function(const char *name);
/* Returns the number of the device runtime's function, for `value` of the operation; -1: the name
 * is of no such function. */
int acu_ptx_runtime_find(const char *name);
/* Return whether the function of that number is one of graphs; and whether it launches them. */
bool acu_ptx_runtime_of_graphs(int number);
bool acu_ptx_runtime_launches_graphs(int number);
void acu_ptx_runtime_call(ptx_warp *warp, const ptx_op *op);

#endif
