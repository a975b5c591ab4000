/* Failures as programs see them. */
#ifndef ACU_STATUS_OF_H
#define ACU_STATUS_OF_H

#include <anycuda/status.h>

#include "core/record.h"

/* Returns a failure in all its parts; its texts live as long as the record. */
acu_error acu_error_of(const acu_failure *failure);

#endif
