/* The audience of ranges and marks: a tool that hears them by NVTX, and the trace. */
#include "core/audience.h"

#include <pthread.h>
#include <string.h>

#include "core/hooks.h"
#include "core/nvtx.h"
#include "loader/platform.h"

unsigned acu_audience = ACU_AUDIENCE_UNKNOWN;

static _Thread_local bool
    looking; /* the tool, which is being attached, has called this thread back */

static void look(void) {
    looking = true;
    (void)acu_layer_hooks.on(); /* reads the environment, which may switch the trace on */
    const char *wish = acu_platform_env("ANYCUDA_NAME_CALLS");
    if (wish && strcmp(wish, "1") == 0)
        acu_audience_of_calls(true);
    if (acu_nvtx_attach())
        __atomic_or_fetch(&acu_audience, ACU_AUDIENCE_TOOL, __ATOMIC_RELEASE);
    looking = false;
    __atomic_and_fetch(&acu_audience, ~(unsigned)ACU_AUDIENCE_UNKNOWN, __ATOMIC_RELEASE);
}

bool acu_audience_look(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (looking)
        return false;
    pthread_once(&once, look);
    return acu_is_heard();
}

void acu_audience_of_calls(bool on) {
    if (on)
        __atomic_or_fetch(&acu_audience, ACU_AUDIENCE_CALLS, __ATOMIC_RELEASE);
    else
        __atomic_and_fetch(&acu_audience, ~(unsigned)ACU_AUDIENCE_CALLS, __ATOMIC_RELEASE);
}

/* Returns a number for a range that no tool has numbered. */
static uint64_t next_id(void) {
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

uint64_t acu_audience_tell(const acu_range_event *event) {
    const unsigned audience = __atomic_load_n(&acu_audience, __ATOMIC_ACQUIRE);
    uint64_t id = 0;
    if (audience & (unsigned)ACU_AUDIENCE_TOOL)
        id = acu_nvtx_tell(event);
    if (event->step == ACU_RANGE_START && !id)
        id = next_id();
    if (audience & (unsigned)ACU_AUDIENCE_TRACE)
        acu_trace_file.range(event, event->step == ACU_RANGE_END ? event->id : id);
    return id;
}

void acu_audience_name(acu_named kind, uint64_t what, const char *name) {
    const unsigned audience = __atomic_load_n(&acu_audience, __ATOMIC_ACQUIRE);
    if (name && (audience & (unsigned)ACU_AUDIENCE_TOOL))
        acu_nvtx_name(kind, what, name);
    if (audience & (unsigned)ACU_AUDIENCE_TRACE)
        acu_trace_file.name(kind, what, name);
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
    (void)acu_audience_tell(&event);
}

const char *acu_scope_push(const char *call) {
    const unsigned audience =
        acu_audience_look() ? __atomic_load_n(&acu_audience, __ATOMIC_ACQUIRE) : 0;
    if (!(audience & (unsigned)ACU_AUDIENCE_CALLS) ||
        !(audience & ((unsigned)ACU_AUDIENCE_TOOL | (unsigned)ACU_AUDIENCE_TRACE)))
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
