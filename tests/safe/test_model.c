/*
 * Work at random on many streams of two devices, some of it captured and replayed, some of it held
 * up: what is in memory afterwards is what one thing after another would have left there, whether
 * the work was executed, captured and replayed, or updated and replayed. Nobody orders anything,
 * since buffers do that.
 */
#include "kernels.h"

#include <time.h>

enum { ROWS = 4, COLUMNS = 8, ELEMENTS = ROWS * COLUMNS };
enum { MEMORIES = 5, STREAMS = 7, STEPS = 300, SEEDS = 10, WAYS_SEEDS = 60 };

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

/* What host functions of one stream note, one after the other. */
typedef struct note {
    uint64_t *sum, *model; /* the stream's, and what it should be */
    unsigned value;
} note;

typedef struct work {
    enum {
        FILL,
        COPY,
        SCALE,
        SUM,
        HOLD_UP,
        NOTE,
        BY_OTHER_MEMORY,
        RECTANGLE, /* copied, or filled where `a` is the memory itself */
        TRANSPOSITION
    } kind;
    acu_stream *on;
    unsigned to, a, b; /* memories */
    unsigned to_at, from_at, count;
    unsigned width, height; /* of a rectangle in rows of COLUMNS */
    float value;
    note note;
    acu_stream *others[3]; /* of the same device */
} work;

static void hold_up(void *data) {
    (void)data;
    const struct timespec time = {.tv_nsec = 1000000};
    (void)nanosleep(&time, NULL);
}

static void write_note(void *data) {
    const note *it = data;
    *it->sum = *it->sum * 31 + it->value;
}

static void issue_fill(const work *w) {
    acu_buffer *part = NULL;
    OK(acu_buffer_slice(memories[w->to], w->to_at, w->count, &part));
    OK(acu_buffer_fill_typed(part, ACU_F32, &w->value, w->on));
    OK(acu_buffer_release(part));
}

/* Memory is allocated on one stream, by the graph in a capture; others write to it, read from it
 * and free it. */
static void issue_by_other_memory(const work *w) {
    acu_buffer *between = NULL;
    bool is_captured = false;
    OK(acu_stream_is_capturing(w->on, &is_captured));
    if (is_captured)
        OK(acu_stream_capture_alloc(w->on, ACU_F32, ELEMENTS, &between));
    else
        OK(acu_buffer_create(w->on, ACU_F32, ELEMENTS, &between));
    OK(acu_buffer_copy(between, memories[w->a], w->others[0]));
    OK(acu_stream_call_function(w->others[0], hold_up, NULL));
    OK(acu_buffer_copy(memories[w->to], between, w->others[1]));
    if (is_captured)
        OK(acu_graph_memory_free(between, w->others[2]));
    OK(acu_buffer_release(between));
}

static void issue_rectangle(const work *w) {
    const size_t pitch = COLUMNS * sizeof(float);
    const acu_region to = {
        memories[w->to], {w->to_at % COLUMNS, w->to_at / COLUMNS, 0}, pitch, 0, NULL};
    const acu_region from = {
        memories[w->a], {w->from_at % COLUMNS, w->from_at / COLUMNS, 0}, pitch, 0, NULL};
    const acu_extent extent = {w->width, w->height, 1};
    if (w->a == w->to)
        OK(acu_region_fill_typed(&to, extent, ACU_F32, &w->value, w->on));
    else
        OK(acu_region_copy(&to, &from, extent, w->on));
}

static void issue_transposition(const work *w) {
    const size_t shape[] = {COLUMNS, ROWS};
    const int64_t steps[] = {1, COLUMNS};
    const acu_strides strides = {.rank = 2, .shape = shape, .from = steps};
    OK(acu_buffer_copy_strided(memories[w->to], memories[w->a], &strides, w->on));
}

static void issue(work *w) {
    switch (w->kind) {
    case FILL:
        issue_fill(w);
        break;
    case COPY:
        OK(acu_buffer_copy_range(memories[w->to], w->to_at, memories[w->a], w->from_at, w->count,
                                 w->on));
        break;
    case SCALE:
        OK(acu_launch(w->on, scale[device_of[w->to]], acu_grid_1d(ELEMENTS, 32), memories[w->to],
                      w->value, ELEMENTS));
        break;
    case SUM:
        OK(acu_launch(w->on, add[device_of[w->to]], acu_grid_1d(ELEMENTS, 32),
                      acu_in(memories[w->a]), acu_in(memories[w->b]), acu_out(memories[w->to]),
                      ELEMENTS));
        break;
    case HOLD_UP:
        OK(acu_stream_call_function(w->on, hold_up, NULL));
        break;
    case NOTE:
        OK(acu_stream_call_function(w->on, write_note, &w->note));
        break;
    case BY_OTHER_MEMORY:
        issue_by_other_memory(w);
        break;
    case RECTANGLE:
        issue_rectangle(w);
        break;
    case TRANSPOSITION:
        issue_transposition(w);
        break;
    }
}

static void apply(const work *w) {
    float *to = model[w->to];
    for (unsigned i = 0; i < ELEMENTS && w->kind == SCALE; i++)
        to[i] *= w->value;
    for (unsigned i = 0; i < ELEMENTS && w->kind == SUM; i++)
        to[i] = model[w->a][i] + model[w->b][i];
    for (unsigned i = 0; i < w->count && w->kind == FILL; i++)
        to[w->to_at + i] = w->value;
    if (w->kind == COPY || w->kind == BY_OTHER_MEMORY)
        memcpy(&to[w->to_at], &model[w->a][w->from_at], w->count * sizeof(float));
    for (unsigned y = 0; y < w->height && w->kind == RECTANGLE; y++)
        for (unsigned x = 0; x < w->width; x++)
            to[w->to_at + y * COLUMNS + x] =
                w->a == w->to ? w->value : model[w->a][w->from_at + y * COLUMNS + x];
    for (unsigned i = 0; i < ELEMENTS && w->kind == TRANSPOSITION; i++)
        to[i] = model[w->a][i % ROWS * COLUMNS + i / ROWS];
    if (w->kind == NOTE)
        *w->note.model = *w->note.model * 31 + w->note.value;
}

static work any_fill(unsigned m, acu_stream *on) {
    const unsigned at = any(ELEMENTS);
    return (work){.kind = FILL,
                  .on = on,
                  .to = m,
                  .to_at = at,
                  .count = 1 + any(ELEMENTS - at),
                  .value = 1 + (float)any(1000)};
}

static work any_copy(unsigned m, acu_stream *on) {
    const unsigned count = 1 + any(ELEMENTS), from = any_source();
    if (from == m)
        return any_fill(m, on);
    return (work){.kind = COPY,
                  .on = on,
                  .to = m,
                  .a = from,
                  .to_at = any(ELEMENTS - count + 1),
                  .from_at = any(ELEMENTS - count + 1),
                  .count = count};
}

static work any_shape(unsigned m, acu_stream *on) {
    const unsigned from = any_source(), width = 1 + any(COLUMNS), height = 1 + any(ROWS);
    if (any(3) == 0 && from != m)
        return (work){.kind = TRANSPOSITION, .on = on, .to = m, .a = from};
    return (work){.kind = RECTANGLE,
                  .on = on,
                  .to = m,
                  .a = from,
                  .to_at = any(ROWS - height + 1) * COLUMNS + any(COLUMNS - width + 1),
                  .from_at = any(ROWS - height + 1) * COLUMNS + any(COLUMNS - width + 1),
                  .width = width,
                  .height = height,
                  .value = 1 + (float)any(1000)};
}

/* Work that writes to the memory, on a stream of its device. */
static work any_work(unsigned m, acu_stream *on) {
    const unsigned a = any_source(), b = any_source();
    const int device = device_of[m];
    switch (any(10)) {
    case 0:
        return any_fill(m, on);
    case 1:
        return (work){.kind = SCALE, .on = on, .to = m, .value = 2};
    case 2:
    case 3:
    case 4:
        if (device_of[a] == device && device_of[b] == device && a != m && b != m)
            return (work){.kind = SUM, .on = on, .to = m, .a = a, .b = b};
        return any_fill(m, on);
    case 5:
    case 6:
        return any_shape(m, on);
    default:
        return any_copy(m, on);
    }
}

static void do_work(work *w) {
    issue(w);
    apply(w);
}

/* ---- and what goes on around it ---- */

/* How the work was done, for the message. */
static const char *way = "one after another";

static void check(unsigned m, acu_stream *on, unsigned seed) {
    float back[ELEMENTS];
    OK(acu_buffer_read_typed(memories[m], 0, ACU_F32, back, ELEMENTS, on));
    for (unsigned i = 0; i < ELEMENTS; i++)
        if (back[i] != model[m][i])
            fail_msg("seed %u, %s: element %u of memory %u is %g, not %g", seed, way, i, m, back[i],
                     model[m][i]);
}

/* Makes memory of a pool, or mapped memory that has grown. */
static void create_memory(unsigned m) {
    acu_stream *on = any_stream(device_of[m]);
    if (any(3)) {
        OK(acu_buffer_create(on, ACU_F32, ELEMENTS, &memories[m]));
        return;
    }
    OK(acu_buffer_create_growable(on, ACU_F32, any(ELEMENTS), ELEMENTS, &memories[m]));
    OK(acu_buffer_grow(memories[m], ELEMENTS));
    if (devices > 1)
        OK(acu_virtual_set_access(acu_buffer_virtual(memories[m]), !device_of[m],
                                  ACU_ACCESS_READ_WRITE));
}

/* Its memory is the next one's, perhaps, whose stream is another. */
static void exchange(unsigned m) {
    const float value = (float)any(1000);
    OK(acu_buffer_release(memories[m]));
    create_memory(m);
    OK(acu_buffer_fill_typed(memories[m], ACU_F32, &value, any_stream(device_of[m])));
    for (unsigned i = 0; i < ELEMENTS; i++)
        model[m][i] = value;
}

/* ---- the same, captured ---- */

enum { CAPTURED = 12, CAPTURED_WORK = 16 };

typedef struct captured {
    acu_stream *streams[CAPTURED]; /* the first is where the capture begins */
    size_t stream_count;
    work works[CAPTURED_WORK];
    size_t work_count;
} captured;

static acu_stream *any_captured(const captured *c, int device) {
    acu_stream *on = NULL;
    do
        on = c->streams[any((unsigned)c->stream_count)];
    while (acu_stream_device(on) != device);
    return on;
}

static bool is_captured_on(const captured *c, int device) {
    for (size_t i = 0; i < c->stream_count; i++)
        if (acu_stream_device(c->streams[i]) == device)
            return true;
    return false;
}

static work any_work_by_other_memory(const captured *c, unsigned m) {
    const int device = device_of[m];
    unsigned from = any(MEMORIES);
    if (from == m || device_of[from] != device)
        return any_fill(m, any_captured(c, device));
    return (work){
        .kind = BY_OTHER_MEMORY,
        .on = any_captured(c, device),
        .to = m,
        .a = from,
        .count = ELEMENTS,
        .others = {any_captured(c, device), any_captured(c, device), any_captured(c, device)}};
}

static void choose_work(captured *c) {
    c->work_count = 1 + any(CAPTURED_WORK);
    for (size_t i = 0; i < c->work_count; i++) {
        unsigned m = 0;
        do
            m = any(MEMORIES);
        while (!is_captured_on(c, device_of[m]));
        c->works[i] = any_work(m, any_captured(c, device_of[m]));
        if (any(4) == 0)
            c->works[i] = (work){.kind = HOLD_UP, .on = c->streams[any((unsigned)c->stream_count)]};
        else if (any(8) == 0)
            c->works[i] = any_work_by_other_memory(c, m);
    }
}

static bool allocates(const captured *c) {
    for (size_t i = 0; i < c->work_count; i++)
        if (c->works[i].kind == BY_OTHER_MEMORY)
            return true;
    return false;
}

static void choose_streams(captured *c) {
    const unsigned wanted = 1 + any(CAPTURED);
    for (unsigned i = 0; i < wanted; i++) {
        acu_stream *on = any_stream((int)any((unsigned)devices));
        bool is_new = true;
        for (size_t k = 0; k < c->stream_count; k++)
            is_new = is_new && c->streams[k] != on;
        if (is_new)
            c->streams[c->stream_count++] = on;
    }
}

static void issue_all(captured *c) {
    for (size_t i = 0; i < c->work_count; i++) {
        issue(&c->works[i]);
        if (i % 5 == 4)
            OK(acu_stream_wait_stream(c->streams[i % c->stream_count], c->works[i].on));
    }
}

static void capture(captured *c, acu_graph **graph) {
    OK(acu_stream_begin_capture(c->streams[0], NULL));
    for (size_t i = 1; i < c->stream_count; i++) /* each joins by any of those before it */
        OK(acu_stream_wait_stream(c->streams[i], c->streams[(i * 7 + c->work_count) % i]));
    issue_all(c);
    OK(acu_stream_join(c->streams[0], &c->streams[1], c->stream_count - 1));
    OK(acu_stream_end_capture(c->streams[0], graph));
}

static void launch(const captured *c, acu_exec *exec) {
    OK(acu_exec_launch(exec, any_stream((int)any((unsigned)devices))));
    for (size_t i = 0; i < c->work_count; i++)
        apply(&c->works[i]);
}

/* The graphs go at once, though they still run. */
static void replay(void) {
    captured c = {.stream_count = 0};
    acu_graph *graph = NULL, *changed = NULL;
    acu_exec *exec = NULL;
    choose_streams(&c);
    choose_work(&c);
    capture(&c, &graph);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    for (unsigned times = any(3); times > 0; times--)
        launch(&c, exec);
    if (!allocates(&c)) { /* CUDA does not update what allocates */
        for (size_t i = 0; i < c.work_count; i++)
            c.works[i].value = c.works[i].kind == SCALE ? 2 : 1 + (float)any(1000);
        capture(&c, &changed);
        OK(acu_exec_update(exec, changed, NULL));
        OK(acu_graph_release(changed));
    }
    launch(&c, exec);
    OK(acu_exec_release(exec));
}

static void step(unsigned seed) {
    const unsigned m = any_target();
    acu_stream *on = any_stream(device_of[m]);
    work w = any_work(m, on);
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
        replay();
        break;
    default:
        do_work(&w);
    }
}

static void create_memories(void) {
    for (unsigned m = 0; m < MEMORIES; m++) {
        device_of[m] = (int)m % devices;
        create_memory(m);
    }
}

static void release_memories(void) {
    for (unsigned m = 0; m < MEMORIES; m++)
        OK(acu_buffer_release(memories[m]));
}

static void try_with(unsigned seed) {
    chance_begins(seed);
    create_memories();
    for (unsigned m = 0; m < MEMORIES; m++)
        exchange(m);
    for (int i = 0; i < STEPS; i++)
        step(seed);
    for (unsigned m = 0; m < MEMORIES; m++)
        check(m, any_stream(device_of[m]), seed);
    release_memories();
}

/* ---- the same work in several ways ---- */

static uint64_t sums[CAPTURED], model_sums[CAPTURED];
static float start[MEMORIES][ELEMENTS];

/* Host functions replace some of the work; those of one stream are called in their order. */
static void choose_notes(captured *c) {
    for (size_t i = 0; i < c->work_count; i++) {
        const unsigned s = any((unsigned)c->stream_count);
        if (any(5) == 0)
            c->works[i] = (work){
                .kind = NOTE, .on = c->streams[s], .note = {&sums[s], &model_sums[s], any(1000)}};
    }
}

/* Work of the same shape, with other numbers, on other parts of the same memories. A fill has as
 * many elements as before: it may be several rows, whose number CUDA does not update. */
static void choose_other_numbers(captured *c) {
    for (work *w = c->works; w < c->works + c->work_count; w++) {
        w->value = 1 + (float)any(3);
        w->note.value = any(1000);
        if (w->kind == COPY)
            w->count = 1 + any(ELEMENTS);
        if (w->kind != FILL && w->kind != COPY)
            continue;
        w->to_at = any(ELEMENTS - w->count + 1);
        w->from_at = any(ELEMENTS - w->count + 1);
    }
}

static void choose_start(void) {
    for (unsigned m = 0; m < MEMORIES; m++)
        for (unsigned i = 0; i < ELEMENTS; i++)
            start[m][i] = model[m][i] = (float)any(1000);
    memset(model_sums, 0, sizeof model_sums);
}

static void begin_from_start(void) {
    memset(sums, 0, sizeof sums);
    for (unsigned m = 0; m < MEMORIES; m++)
        OK(acu_buffer_write_typed(memories[m], 0, ACU_F32, start[m], ELEMENTS,
                                  any_stream(device_of[m])));
}

static void wait_for_all(void) {
    for (int d = 0; d < devices; d++)
        for (int i = 0; i < STREAMS; i++)
            OK(acu_stream_synchronize(streams[d][i]));
}

/* The model has what the work should leave. */
static void check_all(const char *how, unsigned seed) {
    way = how;
    wait_for_all();
    for (unsigned m = 0; m < MEMORIES; m++)
        check(m, any_stream(device_of[m]), seed);
    if (memcmp(sums, model_sums, sizeof sums) != 0)
        fail_msg("seed %u, %s: host functions came in another order", seed, way);
}

static void launch_from_start(acu_exec *exec, const char *how, unsigned seed) {
    begin_from_start();
    OK(acu_exec_launch(exec, any_stream((int)any((unsigned)devices))));
    check_all(how, seed);
}

static void execute(captured *c, unsigned seed) {
    begin_from_start();
    issue_all(c);
    check_all("executed", seed);
}

static acu_exec *instance_of(captured *c) {
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    capture(c, &graph);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    return exec;
}

static void capture_and_replay(captured *c, unsigned seed) {
    acu_exec *exec = instance_of(c);
    launch_from_start(exec, "captured", seed);
    launch_from_start(exec, "launched again", seed);
    OK(acu_exec_release(exec));
}

/* An instance of other work, which has run, perhaps runs, and becomes one of this work. */
static void update_and_replay(captured *c, unsigned seed) {
    captured other = *c;
    acu_graph *graph = NULL;
    choose_other_numbers(&other);
    acu_exec *exec = instance_of(&other);
    OK(acu_exec_launch(exec, any_stream((int)any((unsigned)devices))));
    capture(c, &graph);
    OK(acu_exec_update(exec, graph, NULL));
    OK(acu_graph_release(graph));
    wait_for_all(); /* the other work's host functions write to the same sums */
    launch_from_start(exec, "updated", seed);
    OK(acu_exec_release(exec));
}

static void replay_as_child(captured *c, unsigned seed) {
    acu_graph *graph = NULL, *parent = NULL;
    acu_exec *exec = NULL;
    acu_node child = {0};
    capture(c, &graph);
    OK(acu_graph_create(&parent));
    OK(acu_graph_add_child(parent, NULL, 0, graph, &child));
    OK(acu_graph_release(graph));
    OK(acu_graph_instantiate(parent, NULL, &exec));
    OK(acu_graph_release(parent));
    launch_from_start(exec, "as a child", seed);
    OK(acu_exec_release(exec));
}

static void try_ways(unsigned seed) {
    captured c = {.stream_count = 0};
    chance_begins(seed);
    create_memories();
    choose_streams(&c);
    choose_work(&c);
    choose_notes(&c);
    choose_start();
    for (size_t i = 0; i < c.work_count; i++)
        apply(&c.works[i]);
    execute(&c, seed);
    capture_and_replay(&c, seed);
    if (!allocates(&c)) { /* CUDA neither updates what allocates nor takes it as a child */
        update_and_replay(&c, seed);
        replay_as_child(&c, seed);
    }
    release_memories();
}

/* ---- tests ---- */

/* Lets each device use the other one's memory, without which CUDA captures no copies between them;
 * returns whether that can be. */
static bool open_pools(void) {
    bool can = false;
    for (int d = 0; d < 2; d++) {
        acu_pool *pool = NULL;
        OK(acu_device_can_access_peer(!d, d, &can));
        if (!can)
            return false;
        OK(acu_pool_get_current(d, &pool));
        OK(acu_pool_set_access(pool, !d, ACU_ACCESS_READ_WRITE));
        OK(acu_pool_release(pool));
    }
    return true;
}

static void with_streams(unsigned seeds, void (*try)(unsigned seed)) {
    devices = another_device() + 1;
    if (devices > 1 && !open_pools())
        devices = 1;
    for (int d = 0; d < devices; d++) {
        add[d] = kernel_on(d, "add");
        scale[d] = kernel_on(d, "scale");
        for (int i = 0; i < STREAMS; i++)
            OK(acu_stream_create(d, NULL, &streams[d][i]));
    }
    try_seeds(seeds, try);
    for (int d = 0; d < devices; d++) {
        for (int i = 0; i < STREAMS; i++)
            OK(acu_stream_release(streams[d][i]));
        OK(acu_kernel_release(add[d]));
        OK(acu_kernel_release(scale[d]));
    }
}

static void memory_is_as_if_one_thing_came_after_another(void **state) {
    (void)state;
    with_streams(SEEDS, try_with);
}

static void all_ways_leave_the_same_bytes(void **state) {
    (void)state;
    with_streams(WAYS_SEEDS, try_ways);
}

int main(void) {
    const struct CMUnitTest tests[] = {KERNEL_TEST(memory_is_as_if_one_thing_came_after_another),
                                       KERNEL_TEST(all_ways_leave_the_same_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
