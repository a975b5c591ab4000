/* Every slot by the name of its function; "cudaMemcpyAsync_ptds" is that of the per-thread default
 * stream. */
#ifndef SLOTS_H
#define SLOTS_H

#include "core/call.h"

struct slot {
    const char *name;
    const acu_function *function;
};

/* Ends with NULL. */
extern const struct slot slots[];

#endif
