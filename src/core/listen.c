/* Who is told of ranges and marks. */
#include "core/listen.h"

#include <pthread.h>
#include <string.h>

#include "core/hooks.h"
#include "core/nvtx.h"
#include "loader/platform.h"

unsigned acu_listeners = ACU_LISTENER_UNKNOWN;

static _Thread_local bool
    looking; /* the tool, which is being attached, has called this thread back */

static void look(void) {
    looking = true;
    (void)acu_layer_hooks.on(); /* reads the environment, which may switch the trace on */
    const char *wish = acu_platform_env("ANYCUDA_NAME_CALLS");
    if (wish && strcmp(wish, "1") == 0)
        acu_listen_to_calls(true);
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

void acu_listen_to_calls(bool on) {
    if (on)
        __atomic_or_fetch(&acu_listeners, ACU_LISTENER_CALLS, __ATOMIC_RELEASE);
    else
        __atomic_and_fetch(&acu_listeners, ~(unsigned)ACU_LISTENER_CALLS, __ATOMIC_RELEASE);
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

/* ---- the calls of the safe layer ---- */

/* Returns the tool's handle of the domain that the calls are in. */
static void *domain_of_calls(void) {
    static void *domain; /* atomic */
    void *found = __atomic_load_n(&domain, __ATOMIC_ACQUIRE);
    if (found)
        return found;
    void *made = acu_nvtx_create_domain("anycuda");
    if (made && !__atomic_compare_exchange_n(&domain, &found, made, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
        acu_nvtx_destroy_domain(made); /* another thread was faster */
    else
        found = made;
    return found;
}

static void tell_of_call(acu_range_step step, const char *call) {
    const acu_range_event event = {.step = step,
                                   .domain = domain_of_calls(),
                                   .domain_name = "anycuda",
                                   .name = call,
                                   .is_call = true};
    (void)acu_listen_tell(&event);
}

const char *acu_scope_push(const char *call) {
    const unsigned listeners =
        acu_listen_look() ? __atomic_load_n(&acu_listeners, __ATOMIC_ACQUIRE) : 0;
    if (!(listeners & (unsigned)ACU_LISTENER_CALLS) ||
        !(listeners & ((unsigned)ACU_LISTENER_TOOL | (unsigned)ACU_LISTENER_TRACE)))
        return NULL;
    tell_of_call(ACU_RANGE_PUSH, call);
    return call;
}

void acu_scope_pop(void) {
    tell_of_call(ACU_RANGE_POP, NULL);
}

const char *acu_scope_begin_small(const char *call) {
    return acu_scope_begin(call);
}

void acu_scope_end_small(const char *const *call) {
    acu_scope_end(call);
}
