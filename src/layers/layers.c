/* The two layers, trace and injected errors: how they are switched, and where they act in a call.
 */
#include <anycuda/layers.h>

#include <errno.h>
#include <pthread.h>

#include "core/hooks.h"
#include "layers/inject.h"
#include "layers/layers.h"
#include "layers/trace.h"
#include "loader/platform.h"
#include "loader/library.h"
#include "loader/slot.h"

static void read_environment(void) {
    acu_trace_set(acu_platform_env("ANYCUDA_TRACE"), "ANYCUDA_TRACE");
    acu_inject_set(acu_platform_env("ANYCUDA_FAIL"), "ANYCUDA_FAIL");
}

static void read_environment_once(void) {
    ACU_WARM static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
}

static bool is_on(void) {
    read_environment_once();
    return acu_trace_on() || acu_inject_on();
}

void acu_layers_take_slots_back(void) {
    if (!acu_layer_hooks.on())
        return;
    for (int id = 0; id < ACU_LIBRARIES; id++)
        if (acu_library_of((acu_library_id)id))
            acu_slot_unpublish(acu_library_of((acu_library_id)id));
}

int acu_inject_errors(const char *rule) {
    read_environment_once();
    int error = acu_inject_set(rule, "acu_inject_errors");
    acu_layers_take_slots_back();
    return error;
}

static void begin(acu_call *call) {
    int kept = errno;
    call->injected = false;
    acu_inject_call(call);
    call->start_ns = acu_platform_now_ns();
    errno = kept;
}

static void end(acu_call *call) {
    int kept = errno;
    uint64_t now = acu_platform_now_ns();
    acu_trace_call(call, now - call->start_ns);
    errno = kept;
}

acu_hooks acu_layer_hooks = {.on = is_on, .begin = begin, .end = end};
