/* Operations on values in memory, as CUDA takes them. */
#ifndef ACU_SRC_VALUE_H
#define ACU_SRC_VALUE_H

#include <anycuda/cuda.h>
#include <anycuda/value.h>

#include "safe/base/object.h"

typedef struct acu_value_list {
    unsigned count;
    size_t object_count;
    CUstreamBatchMemOpParams raw[ACU_MOST_VALUES];
    acu_object_use objects[ACU_MOST_VALUES]; /* the storages of the buffers, without references */
} acu_value_list;

/* Fills the list with checked operations. Returns 0, or a failure recorded for `call`. */
int acu_value_list_fill(const char *call, const acu_value_operation *operations, size_t count,
                        acu_value_list *list);
/* Hints at what memory may have values, where CUDA refused with the code. */
void acu_value_hint(const acu_value_list *list, int code);

#endif
