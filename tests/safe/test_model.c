/*
 * Work at random on many streams of two devices, some of it captured and replayed, some of it held
 * up: what is in memory afterwards is what one thing after another would have left there. Nobody
 * orders anything, since buffers do that.
 */
#include "kernels.h"

#include <time.h>

enum { MEMORIES = 5, ELEMENTS = 32, STREAMS = 7, STEPS = 300, SEEDS = 30 };

static acu_stream *streams[2][STREAMS];
static acu_kernel *add[2], *scale[2];
static acu_buffer *memories[MEMORIES];
static float model[MEMORIES][ELEMENTS];
static int device_of[MEMORIES], devices;

/* One of them is seldom written and often read: more streams do than are remembered. */
static unsigned any_target(void) {
    return any(16) ? 1 + any(MEMORIES - 1) : 0;
}

static unsigned any_source(void) {
    return any(2) ? any(MEMORIES) : 0;
}

static acu_stream *any_stream(int device) {
    return streams[device][any(STREAMS)];
}

/* ---- work: on the device, and on the model ---- */

static void fill(unsigned m, acu_stream *on) {
    const unsigned at = any(ELEMENTS), count = 1 + any(ELEMENTS - at);
    const float value = (float)any(1000);
    acu_buffer *part = NULL;
    OK(acu_buffer_slice(memories[m], at, count, &part));
    OK(acu_buffer_fill_typed(part, ACU_F32, &value, on));
    OK(acu_buffer_release(part));
    for (unsigned i = at; i < at + count; i++)
        model[m][i] = value;
}

static void copy(unsigned to, unsigned from, acu_stream *on) {
    const unsigned count = 1 + any(ELEMENTS), to_at = any(ELEMENTS - count + 1);
    const unsigned from_at = any(ELEMENTS - count + 1);
    if (to == from)
        return;
    OK(acu_buffer_copy_range(memories[to], to_at, memories[from], from_at, count, on));
    memcpy(&model[to][to_at], &model[from][from_at], count * sizeof(float));
}

static void double_all(unsigned m, acu_stream *on) {
    OK(acu_launch(on, scale[device_of[m]], acu_grid_1d(ELEMENTS, 32), memories[m], 2.0f, ELEMENTS));
    for (unsigned i = 0; i < ELEMENTS; i++)
        model[m][i] *= 2;
}

static void sum_up(unsigned to, unsigned a, unsigned b, acu_stream *on) {
    if (device_of[a] != device_of[to] || device_of[b] != device_of[to] || to == a || to == b)
        return;
    OK(acu_launch(on, add[device_of[to]], acu_grid_1d(ELEMENTS, 32), acu_in(memories[a]),
                  acu_in(memories[b]), acu_out(memories[to]), ELEMENTS));
    for (unsigned i = 0; i < ELEMENTS; i++)
        model[to][i] = model[a][i] + model[b][i];
}

static void work_on(unsigned m, acu_stream *on) {
    switch (any(4)) {
    case 0:
        fill(m, on);
        break;
    case 1:
        double_all(m, on);
        break;
    default:
        sum_up(m, any_source(), any_source(), on);
    }
}

/* ---- and what goes on around it ---- */

static void hold_up(void *data) {
    (void)data;
    const struct timespec time = {.tv_nsec = 1000000};
    (void)nanosleep(&time, NULL);
}

static void check(unsigned m, acu_stream *on, unsigned seed) {
    float back[ELEMENTS];
    OK(acu_buffer_read_typed(memories[m], 0, ACU_F32, back, ELEMENTS, on));
    for (unsigned i = 0; i < ELEMENTS; i++)
        if (back[i] != model[m][i])
            fail_msg("seed %u: element %u of memory %u is %g, not %g", seed, i, m, back[i],
                     model[m][i]);
}

/* Its memory is the next one's, perhaps, whose stream is another. */
static void exchange(unsigned m) {
    const float value = (float)any(1000);
    OK(acu_buffer_release(memories[m]));
    OK(acu_buffer_create(any_stream(device_of[m]), ACU_F32, ELEMENTS, &memories[m]));
    OK(acu_buffer_fill_typed(memories[m], ACU_F32, &value, any_stream(device_of[m])));
    for (unsigned i = 0; i < ELEMENTS; i++)
        model[m][i] = value;
}

/* The graph goes at once, though it still runs. */
static void replay(unsigned m) {
    acu_stream *on = any_stream(device_of[m]);
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_stream_begin_capture(on, NULL));
    for (int i = 0; i < 3; i++)
        work_on(m, on);
    OK(acu_stream_end_capture(on, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    OK(acu_exec_launch(exec, any_stream(device_of[m])));
    OK(acu_exec_release(exec));
}

static void step(unsigned seed) {
    const unsigned m = any_target();
    acu_stream *on = any_stream(device_of[m]);
    if (m == 0 || any(8) == 0)
        OK(acu_stream_call_function(on, hold_up, NULL));
    switch (any(12)) {
    case 0:
        check(m, on, seed);
        break;
    case 1:
        exchange(m);
        break;
    case 2:
        replay(m);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
        copy(m, any_source(), on);
        break;
    default:
        work_on(m, on);
    }
}

static void try_with(unsigned seed) {
    chance_begins(seed);
    for (unsigned m = 0; m < MEMORIES; m++) {
        device_of[m] = (int)m % devices;
        OK(acu_buffer_create(any_stream(device_of[m]), ACU_F32, ELEMENTS, &memories[m]));
        exchange(m);
    }
    for (int i = 0; i < STEPS; i++)
        step(seed);
    for (unsigned m = 0; m < MEMORIES; m++) {
        check(m, any_stream(device_of[m]), seed);
        OK(acu_buffer_release(memories[m]));
    }
}

static void memory_is_as_if_one_thing_came_after_another(void **state) {
    (void)state;
    devices = another_device() + 1;
    for (int d = 0; d < devices; d++) {
        add[d] = kernel_on(d, "add");
        scale[d] = kernel_on(d, "scale");
        for (int i = 0; i < STREAMS; i++)
            OK(acu_stream_create(d, NULL, &streams[d][i]));
    }
    for (unsigned seed = 1; seed <= SEEDS; seed++)
        try_with(seed);
    for (int d = 0; d < devices; d++) {
        for (int i = 0; i < STREAMS; i++)
            OK(acu_stream_release(streams[d][i]));
        OK(acu_kernel_release(add[d]));
        OK(acu_kernel_release(scale[d]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {KERNEL_TEST(memory_is_as_if_one_thing_came_after_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
