#include "safe.h"

#include <anycuda/cudart.h>

#include <sched.h>
#include <stdbool.h>
#include <time.h>

bool is_since(int version) {
    int driver = 0;
    if (acu_load(NULL) || cudaDriverGetVersion(&driver))
        return false;
    return acu_loaded(ACU_CUDART)->version >= version && driver >= version;
}

bool is_driver_since(int version) {
    int driver = 0;
    return acu_load(NULL) == 0 && cudaDriverGetVersion(&driver) == 0 && driver >= version;
}

bool executes_ptx(void) {
    return !is_simulated() || getenv("ANYCUDA_TESTS_PTX");
}

int stand_in(const char *kernel, acu_sim_kernel function) {
    return executes_ptx() ? 0 : acu_sim_register(kernel, function);
}

/* ---- around each test ---- */

static bool at_its_end;
static acu_stream *captured[16]; /* the last ones; they may be destroyed */
static size_t captures;

acu_stream *noted(acu_stream *stream) {
    size_t at = __atomic_fetch_add(&captures, 1, __ATOMIC_RELAXED); /* threads capture, too */
    __atomic_store_n(&captured[at % COUNT(captured)], stream, __ATOMIC_RELAXED);
    return stream;
}

static void end_captures(void) {
    for (size_t i = 0; i < captures && i < COUNT(captured); i++) {
        acu_graph *graph = NULL;
        if (!acu_stream_end_capture(captured[i], &graph))
            (void)acu_graph_release(graph);
    }
}

int begin(void **state) {
    (void)state;
    acu_quarantine(64);
    return begin_on(NULL);
}

void run_whole(void **state) {
    at_its_end = false;
    captures = 0;
    ((const safe_test *)*state)->run(state);
    at_its_end = true;
}

int nothing_left(void **state) {
    acu_error error;
    (void)state;
    acu_inject_errors(NULL);
    if (!at_its_end) {
        end_captures();
        return 0; /* what else it left was reported */
    }
    if (acu_release_error(&error)) {
        print_error("a release failed: %s\n", error.message);
        return -1;
    }
    return acu_sim_leaks(1) ? -1 : 0;
}

/* ---- blockers ---- */

static void wait_at(void *data) {
    blocker *here = data;
    while (!__atomic_load_n(&here->open, __ATOMIC_ACQUIRE))
        sched_yield();
    __atomic_store_n(&here->passed, 1, __ATOMIC_RELEASE);
}

void block_stream(blocker *at, acu_stream *stream) {
    at->open = at->passed = 0;
    OK(acu_stream_call_function(stream, wait_at, at));
}

void unblock(blocker *at) {
    __atomic_store_n(&at->open, 1, __ATOMIC_RELEASE);
}

void unblock_stream(blocker *at) {
    unblock(at);
    while (!__atomic_load_n(&at->passed, __ATOMIC_ACQUIRE))
        sched_yield();
}

void try_seeds(unsigned count, void (*try_with)(unsigned seed)) {
    const char *wanted = getenv("SEEDS");
    int version = 0;
    assert_int_equal(cudaRuntimeGetVersion(&version), cudaSuccess);
    const unsigned first = (unsigned)version * 1000; /* 12040 for 12.4 */
    if (wanted)
        count = (unsigned)strtoul(wanted, NULL, 10);
    for (unsigned i = 0; i < count; i++)
        try_with(first + i);
}

static uint64_t state_of_chance;

void chance_begins(uint64_t seed) {
    state_of_chance = seed;
}

unsigned any(unsigned below) {
    state_of_chance = state_of_chance * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state_of_chance >> 33u) % below;
}

/* ---- reports ---- */

static char reported[2048];

/* Writes every part of a failure. */
static void write_parts(const acu_error *e, char text[2048]) {
    snprintf(text, 2048, "%d, kind %d: %s [%s] {%s} <%s> feature %d, %d-%d, %d of %d", e->code,
             (int)e->kind, e->message, e->object, e->hint, e->call, e->feature, e->since, e->until,
             e->found, e->needed);
}

static void keep_report(const acu_error *error, void *unused) {
    (void)unused;
    write_parts(error, reported);
}

void keep_reports(void) {
    reported[0] = '\0';
    OK(acu_set_error_callback(keep_report, NULL));
}

void stop_reports(void) {
    OK(acu_set_error_callback(NULL, NULL));
}

void expect_reported(const char *call) {
    char now[2048];
    const acu_error error = acu_last_error_details();
    write_parts(&error, now);
    if (strcmp(reported, now) != 0)
        fail_msg("%s\n  was reported as %s\n  and is now     %s", call, reported, now);
    reported[0] = '\0';
}

void work_50_ms(void *unused) {
    const struct timespec time = {.tv_nsec = 50000000};
    (void)unused;
    (void)nanosleep(&time, NULL);
}

void still_waits(acu_stream *stream) {
    const struct timespec moment = {.tv_nsec = 5000000};
    (void)nanosleep(&moment, NULL);
    assert_int_equal(acu_stream_query(stream), ACU_NOT_READY);
}
