/* The trace: one line per call. */
#ifndef ACU_LAYERS_TRACE_H
#define ACU_LAYERS_TRACE_H

#include "core/call.h"
#include "layers/line.h"

bool acu_trace_on(void);
/* Does what acu_trace_to() does. `about` is the setting, which a message about a mistake names. */
int acu_trace_set(const char *target, const char *about);
/* Puts the calling thread, "[17 "uploads"] ". Set before main() in programs that can name threads;
 * NULL: a thread is its number. */
extern ACU_OURS void (*acu_trace_put_thread)(acu_line *out);
/* Puts an argument and its name: "dst=0x7f00". `written`: the call has written its results. */
void acu_trace_put_argument(acu_line *out, const acu_call *call, unsigned i, bool written);
/* Puts " = cudaSuccess", and whether the result was made here. */
void acu_trace_put_result(acu_line *out, const acu_call *call);
/* Writes a line, if the trace is on. */
void acu_trace_line(acu_line *line);
/* Writes the line of a finished call, if the trace is on. */
void acu_trace_call(const acu_call *call, uint64_t duration_ns);

#endif
