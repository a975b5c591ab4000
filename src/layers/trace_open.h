/*
 * The ranges of a thread that were pushed to the file and not popped.
 *
 * Such ranges nest in their domain, but on a thread's row viewers take any end for that of the last
 * range that began. So where a range ends in which others go on, those end with it, and begin
 * again; and an end that has no begin is not written.
 */
#ifndef ACU_LAYERS_TRACE_OPEN_H
#define ACU_LAYERS_TRACE_OPEN_H

#include "core/audience.h"

/* Returns the category of the range's events, a constant. */
const char *acu_trace_category(const acu_range_event *range);
/* Forgets the ranges: the file is another one. */
void acu_trace_open_forget(void);
/* Remembers a range, whose begin the caller writes. */
void acu_trace_open_push(const acu_range_event *range);
/* Ends the thread's last range of the domain. */
void acu_trace_open_pop(const acu_range_event *range, uint64_t now, long thread);

#endif
