#include "safe.h"

#include <sched.h>

static void wait_at(void *data) {
    gate *here = data;
    while (!__atomic_load_n(&here->open, __ATOMIC_ACQUIRE))
        sched_yield();
    __atomic_store_n(&here->passed, 1, __ATOMIC_RELEASE);
}

void close_gate(gate *at, acu_stream *stream) {
    at->open = at->passed = 0;
    OK(acu_stream_call_function(stream, wait_at, at));
}

void unlock_gate(gate *at) {
    __atomic_store_n(&at->open, 1, __ATOMIC_RELEASE);
}

void open_gate(gate *at) {
    unlock_gate(at);
    while (!__atomic_load_n(&at->passed, __ATOMIC_ACQUIRE))
        sched_yield();
}
