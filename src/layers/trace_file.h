/* The file of a trace for viewers. */
#ifndef ACU_LAYERS_TRACE_FILE_H
#define ACU_LAYERS_TRACE_FILE_H

#include "layers/json.h"

/* Returns whether the target is a file for viewers, and makes it the trace's; a file that was there
 * before ends. Sets `error` to the errno of opening the file, with a message that names the setting
 * `about`. */
bool acu_trace_file_set(const char *target, const char *about, int *error);
/* Returns the number of this thread, and lets the file name it, once. */
long acu_trace_thread(void);
/* Ends an event and appends it, unless the trace is off. */
void acu_trace_append(acu_json *event);
/* Appends the name of a row, which is a thread or stands for one. */
void acu_trace_name_row(long thread, const char *name);

#endif
