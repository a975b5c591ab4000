/* Closures that graphs keep. */
#ifndef ACU_SRC_CLOSURE_H
#define ACU_SRC_CLOSURE_H

#include <anycuda/stream.h>

#include "safe/base/object.h"

typedef struct acu_kept_closure {
    acu_object object;
    acu_closure closure; /* its data is destroyed with the object */
} acu_kept_closure;

/* Returns an object with the closure, which the caller owns; NULL and a recorded failure where the
 * host has no memory. */
acu_kept_closure *acu_closure_new(const char *call, const acu_closure *closure);

/* Returns an object with a copy of these bytes as its data, which the caller owns; NULL and a
 * recorded failure where the host has no memory. */
acu_kept_closure *acu_closure_of_bytes(const char *call, const void *bytes, size_t size);

/* Calls the acu_kept_closure; a cudaHostFn_t. */
void acu_closure_run(void *kept);

#endif
