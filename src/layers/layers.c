/*
 * The two layers, of trace.c and fault.c: what switches them on and off, and their places in a
 * call.
 */
#include "layers/layers.h"

#include <errno.h>
#include <pthread.h>

#include "loader/loader.h"
#include "loader/platform.h"

static void read_environment(void) {
    acu_trace_set(acu_platform_env("ANYCUDA_TRACE"), "ANYCUDA_TRACE");
    acu_inject_set(acu_platform_env("ANYCUDA_FAIL"), "ANYCUDA_FAIL");
}

static void begin_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
}

/* Functions that are bound already come back to the layers. */
static void rearm(void) {
    if (!acu_layers_on())
        return;
    acu_slot_unpublish(&acu_cudart);
    acu_slot_unpublish(&acu_cuda);
    acu_slot_unpublish(&acu_nvrtc);
}

int acu_trace_to(const char *target) {
    begin_once();
    int error = acu_trace_set(target, "acu_trace_to");
    rearm();
    return error;
}

int acu_inject_errors(const char *rule) {
    begin_once();
    int error = acu_inject_set(rule, "acu_inject_errors");
    rearm();
    return error;
}

bool acu_layers_on(void) {
    begin_once();
    return acu_trace_on() || acu_inject_on();
}

void acu_layers_begin(acu_call *call) {
    int kept = errno;
    call->injected = false;
    acu_inject_call(call);
    call->start_ns = acu_platform_now_ns();
    errno = kept;
}

void acu_layers_end(acu_call *call) {
    int kept = errno;
    uint64_t now = acu_platform_now_ns();
    acu_trace_call(call, now - call->start_ns);
    errno = kept;
}
