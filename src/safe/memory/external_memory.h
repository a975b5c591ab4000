/* Memory of other APIs as the rest of the safe layer sees it. */
#ifndef ACU_SRC_EXTERNAL_MEMORY_H
#define ACU_SRC_EXTERNAL_MEMORY_H

#include <anycuda/external.h>

#include "safe/base/object.h"

struct acu_external_memory {
    acu_object object;
    cudaExternalMemory_t raw;
    size_t bytes;
    acu_external_memory_type type;
    bool dedicated;
    bool owned; /* the raw memory is destroyed with the handle */
};

extern ACU_OURS const acu_class acu_external_memory_class;

#endif
