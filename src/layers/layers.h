/*
 * The layers as the loader sees them. While one is on, slots are not published, and each call comes
 * through acu_call_begin and acu_call_end.
 */
#ifndef ACU_SRC_LAYERS_H
#define ACU_SRC_LAYERS_H

#include "anycuda/layers.h"
#include "core/abi.h"

/*
 * Reads the environment on first use. Whoever publishes a slot asks this under the lock of the
 * slots: the layers switch on first and take published slots back then.
 */
bool acu_layers_on(void);

/* Before the call: may take its fn away and give it a result (made_here, injected). */
void acu_layers_begin(acu_call *call);
/* After it, with its result; changes nothing. Neither touches errno. */
void acu_layers_end(acu_call *call);

/* ---- each of them, as src/layers.c sees it; `about` begins what is said of a mistake -------- */

bool acu_trace_on(void);
int acu_trace_set(const char *target, const char *about); /* acu_trace_to */
void acu_trace_call(const acu_call *call, uint64_t duration_ns);

bool acu_inject_on(void);
int acu_inject_set(const char *rules, const char *about); /* acu_inject_errors */
void acu_inject_call(acu_call *call);

#endif
