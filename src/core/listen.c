/* Who is told of ranges and marks. */
#include "core/listen.h"

#include <pthread.h>

#include "core/hooks.h"
#include "core/nvtx.h"

unsigned acu_listeners = ACU_LISTENER_UNKNOWN;

static _Thread_local bool
    looking; /* the tool, which is being attached, has called this thread back */

static void look(void) {
    looking = true;
    (void)acu_layer_hooks.on(); /* reads the environment, which may switch the trace on */
    if (acu_nvtx_attach())
        __atomic_or_fetch(&acu_listeners, ACU_LISTENER_TOOL, __ATOMIC_RELEASE);
    looking = false;
    __atomic_and_fetch(&acu_listeners, ~(unsigned)ACU_LISTENER_UNKNOWN, __ATOMIC_RELEASE);
}

bool acu_listen_look(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (looking)
        return false;
    pthread_once(&once, look);
    return acu_is_heard();
}

/* Returns a number for a range that no tool has numbered. */
static uint64_t next_id(void) {
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

uint64_t acu_listen_tell(const acu_range_event *event) {
    const unsigned listeners = __atomic_load_n(&acu_listeners, __ATOMIC_ACQUIRE);
    uint64_t id = 0;
    if (listeners & (unsigned)ACU_LISTENER_TOOL)
        id = acu_nvtx_tell(event);
    if (event->step == ACU_RANGE_START && !id)
        id = next_id();
    if (listeners & (unsigned)ACU_LISTENER_TRACE)
        acu_trace_file.range(event, event->step == ACU_RANGE_END ? event->id : id);
    return id;
}
