/* Failures as programs see them. */
#ifndef ACU_STATUS_OF_H
#define ACU_STATUS_OF_H

#include <anycuda/status.h>

#include "core/record.h"

/* Returns whether the thread's last failure says that CUDA has lost the work of a device: nothing
 * runs there any more. An injected error says nothing of that kind. */
bool acu_status_is_lost(void);

/* Returns a failure in all its parts; its texts live as long as the record. */
acu_error acu_error_of(const acu_failure *failure);

#endif
