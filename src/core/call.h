/* One call that does not go straight from its slot to the library. */
#ifndef ACU_CALL_H
#define ACU_CALL_H

#include "core/abi.h"

typedef struct acu_call {
    const acu_function *function;
    const void *args; /* a struct of the arguments; NULL: there are none */
    acu_fn fn;        /* what the entry calls; NULL: the call is refused, and `result` is set */
    int result;
    bool layered;      /* a layer is on, and acu_call_end must report to it */
    bool made_here;    /* anycuda made the result: a refusal or an injected error */
    bool injected;     /* the result is an injected error */
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    /* What the trace measures of the call on the device, a number of its own; 0: nothing. */
    unsigned measured;
} acu_call;

/* Begins a call on the slow path of a slot: loads the library on first use, binds the function for
 * the loaded version and, unless a layer is on, publishes the pointer in the slot, so that later
 * calls do not come here. */
void acu_call_begin(acu_call *call, const acu_function *function, const void *args);
/* Returns the call's result. */
int acu_call_end(acu_call *call);

/*
 * Binds a function without calling it. Returns the slot's pointer, which may always be called: it
 * is the entry where the function cannot be bound (the entry refuses with the reason) or where a
 * layer is on.
 */
acu_fn acu_call_bind(const acu_function *function);

/* Returns whether the loaded library has the function; false if none can be loaded. Records
 * nothing. */
bool acu_call_exists(const acu_function *function);

/* Returns the version that the library's calls are bound against (12040); 0 before it is loaded. */
int acu_call_version(const acu_library *library);

#endif
