/* How many dead handles stay recognisable; the safe layer and the runtime keep lists of their own.
 */
#ifndef ACU_QUARANTINE_H
#define ACU_QUARANTINE_H

#include "core/abi.h"

#include <stddef.h>

#if defined(NDEBUG)
enum { ACU_QUARANTINE = 0 };
#else
enum { ACU_QUARANTINE = 1024 };
#endif

/* What acu_quarantine() has set; ACU_QUARANTINE at first. Atomic. */
extern ACU_OURS size_t acu_quarantine_size;

#endif
