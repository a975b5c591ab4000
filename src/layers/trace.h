/* The trace: one line per call. */
#ifndef ACU_LAYERS_TRACE_H
#define ACU_LAYERS_TRACE_H

#include "core/call.h"

bool acu_trace_on(void);
/* Does what acu_trace_to() does. `about` is the setting, which a message about a mistake names. */
int acu_trace_set(const char *target, const char *about);
/* Writes the line of a finished call, if the trace is on. */
void acu_trace_call(const acu_call *call, uint64_t duration_ns);

#endif
