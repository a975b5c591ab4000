/*
 * What all handles of the safe layer have in common.
 *
 * A stream, event, pool, buffer, module, kernel, graph or exec is a handle with a count of owners:
 * `retain` adds one, `release` takes one away, and the last release destroys the object.
 */
#ifndef ACU_PUBLIC_OBJECT_H
#define ACU_PUBLIC_OBJECT_H

#include <stddef.h>

#include <anycuda/base.h>

ACU_BEGIN_C

/**
 * Sets how many dead handles are kept recognisable, of all kinds together.
 *
 * A handle that is used after its last release gives ACU_ERROR_HANDLE as long as the dead object is
 * kept; after that, the use is undefined. The default is 1024 in debug builds of the library, and 0
 * in release builds (NDEBUG).
 */
void acu_quarantine(size_t objects);

ACU_END_C

#endif
