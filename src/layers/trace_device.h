/* How long the device works on what a call gives it, for a trace for viewers. */
#ifndef ACU_LAYERS_TRACE_DEVICE_H
#define ACU_LAYERS_TRACE_DEVICE_H

#include "core/call.h"

/* Measures from now on what the call gives to a stream; returns the number of the measurement, 0
 * where nothing is measured. */
unsigned acu_measure_begin(const acu_call *call);
/* Ends it; a call that failed is not measured. `thread` is the calling thread's row. Appends what
 * is known by now of this and earlier measurements. */
void acu_measure_end(const acu_call *call, bool succeeded, long thread);
/* Gives the rows of a stream a name, which also later ones have; NULL takes it away from later
 * ones. */
void acu_measure_name(const void *stream, const char *name);
/* Appends what is known by now, and gives up all events. */
void acu_measure_give_up(void);

#endif
