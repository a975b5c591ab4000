/*
 * Batches: the result of a loop, by few calls of CUDA where CUDA has them. How many calls there
 * were shows which way was gone.
 */
#include "capture_test.h"

#include <anycuda/layers.h>

enum { MANY = 300 };

static bool has_copies(void) {
    return is_since(12080);
}

static bool has_discards(void) {
    return is_since(13000);
}

static acu_buffer *numbers(acu_stream *stream, int32_t first, size_t count) {
    acu_buffer *made = NULL;
    int32_t values[MANY];
    for (size_t i = 0; i < count; i++)
        values[i] = first + (int32_t)i;
    OK(acu_buffer_create_from(stream, values, count, &made));
    return made;
}

static int32_t at(acu_buffer *buffer, size_t i) {
    int32_t value = -1;
    OK(acu_buffer_read_typed(buffer, i, ACU_I32, &value, 1, NULL));
    return value;
}

static void many_copies_are_few_calls(void **state) {
    (void)state;
    acu_copy copies[MANY];
    int32_t back[MANY];
    acu_batch_report report = {.room = 7};
    acu_buffer *from = numbers(a, 1000, MANY), *to = numbers(a, 0, MANY);
    for (size_t i = 0; i < MANY; i++)
        copies[i] =
            (acu_copy){.to = to, .from = from, .to_at = MANY - 1 - i, .from_at = i, .count = 1};
    OK(acu_batch_copy(a, copies, MANY, NULL, 0, &report));
    assert_int_equal(report.failed, 0);
    assert_int_equal(report.calls, has_copies() ? 3 : MANY);
    OK(acu_buffer_read(to, back, MANY));
    for (int32_t i = 0; i < MANY; i++)
        assert_int_equal(back[i], 1000 + MANY - 1 - i);
    OK(acu_batch_copy(a, copies, 100, NULL, 0, &report));
    assert_int_equal(report.calls, has_copies() ? 1 : 100);
    OK(acu_buffer_release(from));
    OK(acu_buffer_release(to));
}

static void nothing_is_done_at_once(void **state) {
    (void)state;
    acu_batch_report report = {.failed = 7, .calls = 7};
    acu_buffer *empty = NULL;
    OK(acu_buffer_create(a, ACU_I32, 0, &empty));
    const acu_copy none[] = {{.to = empty, .from = empty, .count = ACU_REST},
                             {.to = x, .from = x, .from_at = 8, .count = ACU_REST}};
    OK(acu_batch_copy(a, NULL, 0, NULL, 0, &report));
    assert_true(report.failed == 0 && report.calls == 0);
    OK(acu_batch_copy(a, none, 2, NULL, 0, &report));
    assert_true(report.failed == 0 && report.calls == 0);
    /* A row may be empty, of which the rest of the source is no part. */
    OK(acu_batch_copy(a, &(acu_copy){.to = x, .from = y, .from_at = 3}, 1, NULL, 0, &report));
    assert_true(report.failed == 0 && report.calls == 0);
    OK(acu_batch_prefetch(a, NULL, 0, NULL));
    OK(acu_batch_discard(a, NULL, 0, NULL));
    OK(acu_batch_discard_and_prefetch(a, NULL, 0, NULL));
    OK(acu_buffer_release(empty));
}

/* Each copy reads what the one before has written. */
static void copies_that_depend_on_each_other_have_an_order(void **state) {
    (void)state;
    acu_batch_report report = {0};
    acu_buffer *all = numbers(a, 5, 4);
    const acu_copy chain[] = {
        {.to = all, .from = all, .to_at = 1, .from_at = 0, .count = 1},
        {.to = all, .from = all, .to_at = 2, .from_at = 1, .count = 1},
        {.to = all, .from = all, .to_at = 3, .from_at = 2, .count = 1},
        {.to = x, .from = y, .count = 4}, /* which depends on none */
        {.to = all, .from = all, .to_at = 0, .from_at = 3, .count = 1},
    };
    OK(acu_batch_copy(a, chain, 5, NULL, 0, &report));
    assert_int_equal(report.calls, has_copies() ? 4 : 5);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(at(all, i), 5);
    OK(acu_buffer_release(all));
}

/* Random parts of three buffers, against the same on the host. */
static void copy_at_random(unsigned seed) {
    enum { SIZE = 40, COPIES = 60 };
    int32_t model[3][SIZE], back[SIZE];
    acu_buffer *memory[3];
    acu_copy copies[COPIES];
    chance_begins(seed);
    for (int32_t m = 0; m < 3; m++) {
        memory[m] = numbers(m == 1 ? b : a, 100 * m, SIZE);
        for (int32_t i = 0; i < SIZE; i++)
            model[m][i] = 100 * m + i;
    }
    for (size_t i = 0; i < COPIES; i++) {
        const unsigned to = any(3), from = any(3);
        const size_t count = 1 + any(5), to_at = any(SIZE / 2 - 5);
        const size_t from_at = SIZE / 2 * (to == from) + any(SIZE / 2 - 5);
        copies[i] = (acu_copy){memory[to], memory[from], to_at, from_at, count};
        memmove(&model[to][to_at], &model[from][from_at], count * sizeof model[0][0]);
    }
    OK(acu_batch_copy(b, copies, COPIES, NULL, 0, NULL));
    for (int m = 0; m < 3; m++) {
        OK(acu_buffer_read(memory[m], back, SIZE));
        assert_memory_equal(back, model[m], sizeof back);
        OK(acu_buffer_release(memory[m]));
    }
}

static void random_copies_are_those_of_a_loop(void **state) {
    (void)state;
    try_seeds(20, copy_at_random);
}

/* ---- attributes ---- */

static acu_buffer *on_host(int32_t *values, size_t count) {
    acu_buffer *made = NULL;
    OK(acu_buffer_wrap(a, ACU_I32, values, count, ACU_MEMORY_HOST, &made));
    return made;
}

/* The host may change what was to be read during the call. */
static void a_source_is_read_during_the_call(void **state) {
    (void)state;
    int32_t values[8];
    acu_buffer *host = on_host(values, 8), *pinned = NULL;
    int32_t *numbers_there;
    OK(acu_buffer_create_with(a, ACU_I32, 8, &(acu_buffer_options){.memory = ACU_MEMORY_PINNED},
                              &pinned));
    OK(acu_buffer_get_host(pinned, (void **)&numbers_there));
    const acu_copy copies[] = {{.to = x, .from = host, .count = ACU_REST},
                               {.to = y, .from = pinned, .count = ACU_REST}};
    const acu_copy_attributes during = {.order = ACU_SOURCE_ORDER_DURING_API_CALL};
    for (int32_t round = 1; round < 4; round++) {
        for (size_t i = 0; i < 8; i++)
            values[i] = numbers_there[i] = bytes_of(round);
        OK(acu_batch_copy(a, copies, 2, &during, 1, NULL));
        memset(values, 0, sizeof values);
        memset(numbers_there, 0, sizeof values);
        expect(x, round);
        expect(y, round);
    }
    OK(acu_buffer_release(host));
    OK(acu_buffer_release(pinned));
}

static void entries_hold_for_the_copies_behind_them(void **state) {
    (void)state;
    static const acu_device host = ACU_DEVICE_HOST, first = 0;
    int32_t values[8];
    acu_batch_report report = {0};
    acu_buffer *source = on_host(values, 8), *managed = NULL;
    OK(acu_buffer_create_with(a, ACU_I32, 8, &(acu_buffer_options){.memory = ACU_MEMORY_MANAGED},
                              &managed));
    const acu_copy copies[] = {{.to = x, .from = source, .count = 4},
                               {.to = y, .from = source, .count = ACU_REST},
                               {.to = managed, .from = source, .count = ACU_REST},
                               {.to = x, .from = source, .to_at = 4, .count = 4}};
    const acu_copy_attributes attributes[] = {
        {.first = 1, .order = ACU_SOURCE_ORDER_ANY, .overlap = true},
        {.first = 2, .to = &first, .from = &host},
        {.first = 3, .order = ACU_SOURCE_ORDER_STREAM},
    };
    for (size_t i = 0; i < 8; i++)
        values[i] = bytes_of(9);
    OK(acu_batch_copy(a, copies, 4, attributes, 3, &report));
    if (has_copies() && is_simulated())
        assert_int_equal(report.calls, 1);
    OK(acu_stream_synchronize(a));
    expect(x, 9);
    expect(y, 9);
    expect(managed, 9);
    OK(acu_buffer_release(source));
    OK(acu_buffer_release(managed));
}

static void wrong_attributes(void **state) {
    (void)state;
    static const acu_device ninth = 9;
    const acu_copy copy = {.to = x, .from = y, .count = ACU_REST};
    const acu_copy_attributes same[] = {{.first = 1}, {.first = 1}}, order = {.order = 4},
                              where = {.to = &ninth};
    FAILS(acu_batch_copy(a, &copy, 1, NULL, 1, NULL), ACU_ERROR_ARGUMENT, "'attributes' is NULL");
    FAILS(acu_batch_copy(a, &copy, 1, same, 2, NULL), ACU_ERROR_ARGUMENT,
          "attributes[1].first is 1, after 1");
    FAILS(acu_batch_copy(a, &copy, 1, &order, 1, NULL), ACU_ERROR_ARGUMENT,
          "attributes[0].order is 4");
    FAILS(acu_batch_copy(a, &copy, 1, &where, 1, NULL), 101, "device 9");
}

/* ---- regions ---- */

enum { SIDE = 12, TILE = 4, PITCH = SIDE * 4 };

static acu_region region_at(acu_buffer *matrix, size_t x_at, size_t y_at) {
    return (acu_region){.buffer = matrix, .at = {x_at, y_at, 0}, .row_pitch = PITCH};
}

/* Tiles lie between each other in memory, but none has a byte of another one. */
static void tiles_are_copied_at_once(void **state) {
    (void)state;
    int32_t back[SIDE][SIDE];
    acu_region_pair pairs[9];
    acu_batch_report report = {0};
    acu_buffer *from = numbers(a, 0, SIDE * SIDE), *to = numbers(b, 1000, SIDE * SIDE);
    for (size_t i = 0; i < 9; i++)
        pairs[i] = (acu_region_pair){.to = region_at(to, i % 3 * TILE, i / 3 * TILE),
                                     .from = region_at(from, i / 3 * TILE, i % 3 * TILE),
                                     .extent = {TILE, TILE, 1}};
    OK(acu_batch_copy_regions(a, pairs, 9, NULL, 0, &report));
    assert_int_equal(report.calls, has_copies() ? 1 : 9);
    OK(acu_buffer_read(to, &back[0][0], SIDE * SIDE));
    for (int32_t y_at = 0; y_at < SIDE; y_at++)
        for (int32_t x_at = 0; x_at < SIDE; x_at++)
            assert_int_equal(back[y_at][x_at], (x_at / TILE * TILE + y_at % TILE) * SIDE +
                                                   y_at / TILE * TILE + x_at % TILE);
    OK(acu_buffer_release(from));
    OK(acu_buffer_release(to));
}

static void regions_that_depend_on_each_other_have_an_order(void **state) {
    (void)state;
    acu_batch_report report = {0};
    acu_buffer *all = numbers(a, 0, SIDE * SIDE);
    const acu_region_pair pairs[] = {
        {region_at(all, 4, 0), region_at(all, 0, 0), {2, 3, 1}},
        {region_at(all, 8, 0), region_at(all, 4, 0), {2, 3, 1}},  /* reads the first one's */
        {region_at(all, 6, 0), region_at(all, 0, 9), {2, 3, 1}},  /* depends on neither */
        {region_at(all, 0, 0), region_at(all, 10, 9), {2, 3, 1}}, /* nor does this: the first call
                                                                     has read those */
    };
    const acu_copy_attributes any_order = {.first = 2, .order = ACU_SOURCE_ORDER_ANY};
    OK(acu_batch_copy_regions(a, pairs, 4, &any_order, 1, &report));
    assert_int_equal(report.calls, has_copies() ? 2 : 4);
    assert_int_equal(at(all, 2 * SIDE + 9), 2 * SIDE + 1);
    assert_int_equal(at(all, 2 * SIDE + 7), 11 * SIDE + 1);
    assert_int_equal(at(all, 0), 9 * SIDE + 10);
    OK(acu_buffer_release(all));
}

/* Random boxes of two cubes, against the same on the host. */
static void copy_boxes_at_random(unsigned seed) {
    enum { CUBE = 6, PAIRS = 40, HALF = CUBE / 2 };
    static int32_t model[2][CUBE][CUBE][CUBE], back[CUBE][CUBE][CUBE];
    acu_buffer *memory[2];
    acu_region_pair pairs[PAIRS];
    chance_begins(seed);
    for (int32_t m = 0; m < 2; m++) {
        memory[m] = numbers(m ? b : a, 1000 * m, CUBE * CUBE * CUBE);
        for (int32_t i = 0; i < CUBE * CUBE * CUBE; i++)
            (&model[m][0][0][0])[i] = 1000 * m + i;
    }
    for (size_t i = 0; i < PAIRS; i++) {
        const unsigned to = any(2), from = any(2), upper = HALF * (to == from);
        const acu_extent e = {1 + any(HALF), 1 + any(HALF), 1 + any(2)};
        const acu_position q = {0, any(2), any(2)}, r = {upper ? upper : any(2), any(2), 0};
        pairs[i] = (acu_region_pair){
            {memory[to], q, CUBE * 4, CUBE, NULL}, {memory[from], r, CUBE * 4, CUBE, NULL}, e};
        for (size_t z = 0; z < e.depth; z++)
            for (size_t y_at = 0; y_at < e.height; y_at++)
                memmove(&model[to][q.z + z][q.y + y_at][0], &model[from][z][r.y + y_at][r.x],
                        e.width * 4);
    }
    OK(acu_batch_copy_regions(b, pairs, PAIRS, NULL, 0, NULL));
    for (int m = 0; m < 2; m++) {
        OK(acu_buffer_read(memory[m], &back[0][0][0], CUBE * CUBE * CUBE));
        assert_memory_equal(back, model[m], sizeof back);
        OK(acu_buffer_release(memory[m]));
    }
}

static void random_boxes_are_those_of_a_loop(void **state) {
    (void)state;
    try_seeds(20, copy_boxes_at_random);
}

static void wrong_regions(void **state) {
    (void)state;
    acu_batch_failure failure;
    acu_batch_report report = {.failures = &failure, .room = 1};
    const acu_region row = {.buffer = x}, none = {.buffer = NULL};
    const acu_region_pair pairs[] = {{row, {.buffer = y}, {8, 1, 1}}, {row, row, {4, 1, 1}}},
                          empty = {row, {.buffer = y}, {8, 0, 1}},
                          long_one = {row, {.buffer = y}, {9, 1, 1}},
                          nowhere = {row, none, {8, 1, 1}};
    FAILS(acu_batch_copy_regions(a, pairs, 2, NULL, 0, &report), ACU_ERROR_RANGE, "(pair 1)");
    assert_true(report.failed == 1 && failure.index == 1);
    FAILS(acu_batch_copy_regions(a, &empty, 1, NULL, 0, NULL), ACU_ERROR_ARGUMENT, "has a 0");
    FAILS(acu_batch_copy_regions(a, &long_one, 1, NULL, 0, NULL), ACU_ERROR_RANGE, "(pair 0)");
    FAILS(acu_batch_copy_regions(a, &nowhere, 1, NULL, 0, NULL), ACU_ERROR_ARGUMENT, "is NULL");
}

static void a_capture_takes_regions(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    const acu_region_pair pairs[] = {{{.buffer = x}, {.buffer = y}, {4, 1, 1}},
                                     {{.buffer = x, .at = {4, 0, 0}, .row_pitch = 32},
                                      {.buffer = y, .at = {4, 0, 0}},
                                      {4, 1, 1}}};
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_batch_copy_regions(a, pairs, 2, NULL, 0, NULL));
    OK(acu_stream_end_capture(a, &graph));
    assert_int_equal(nodes_of(graph), 2);
    fill(x, a, 0);
    fill(y, a, 3);
    launch_and_release(graph);
    expect(x, 3);
}

/* ---- what fails ---- */

static void a_report_names_all_that_are_wrong(void **state) {
    (void)state;
    acu_batch_failure failures[3];
    acu_batch_report report = {.failures = failures, .room = 3};
    acu_buffer *floats = NULL;
    OK(acu_buffer_create(a, ACU_F32, 8, &floats));
    fill(x, a, 1);
    fill(y, a, 2);
    const acu_copy copies[] = {
        {.to = x, .from = y, .count = 4},
        {.to = x, .from = y, .to_at = 5, .count = 4},
        {.to = x, .from = x, .to_at = 1, .count = 4},
        {.to = floats, .from = y, .count = ACU_REST},
        {.to = NULL, .from = y, .count = ACU_REST},
    };
    FAILS(acu_batch_copy(a, copies, 5, NULL, 0, &report), ACU_ERROR_RANGE,
          "acu_batch_copy (copy 1): 4 elements from element 5 on are outside");
    assert_true(report.failed == 4 && report.calls == 0);
    assert_true(failures[0].index == 1 && failures[1].index == 2 && failures[2].index == 3);
    assert_int_equal(failures[2].result, ACU_ERROR_DTYPE);
    assert_non_null(strstr(failures[0].object, "buffer "));
    assert_non_null(strstr(failures[1].reason, "(copy 2): the two ranges overlap"));
    assert_non_null(strstr(failures[2].reason, "the destination holds f32"));
    expect(x, 1); /* nothing was done */
    FAILS(acu_batch_copy(a, copies + 4, 1, NULL, 0, NULL), ACU_ERROR_ARGUMENT, "is NULL");
    FAILS(acu_batch_copy(a, copies + 3, 1, NULL, 0, &(acu_batch_report){0}), ACU_ERROR_DTYPE,
          "(copy 0)");
    FAILS(acu_buffer_copy(x, floats, NULL), ACU_ERROR_DTYPE, "acu_buffer_copy: the destination");
    OK(acu_buffer_release(floats));
}

/* CUDA does not say which copy is wrong, so that they are tried one by one. */
static void what_cuda_refuses_is_found(void **state) {
    (void)state;
    ONLY_SIMULATED("addresses without memory are the simulator's to know");
    acu_batch_failure failures[2];
    acu_batch_report report = {.failures = failures, .room = 2};
    acu_virtual *range = NULL;
    acu_buffer *nowhere = NULL;
    OK(acu_virtual_reserve(0, 1, NULL, &range));
    OK(acu_buffer_wrap(a, ACU_I32, acu_virtual_raw(range), 8, ACU_MEMORY_DEVICE, &nowhere));
    fill(x, a, 1);
    fill(y, a, 2);
    const acu_copy copies[] = {{.to = x, .from = y, .count = 4},
                               {.to = x, .from = nowhere, .to_at = 4, .count = 2},
                               {.to = x, .from = y, .to_at = 6, .count = 2},
                               {.to = nowhere, .from = y, .to_at = 2, .count = 1}};
    FAILS(acu_batch_copy(a, copies, 4, NULL, 0, &report), 1, "(copy 1)");
    assert_int_equal(cudaPeekAtLastError(), 1);
    assert_true(report.failed == 2 && failures[0].index == 1 && failures[1].index == 3);
    assert_non_null(strstr(failures[1].reason, "cudaMemcpyAsync failed"));
    assert_int_equal(report.calls, has_copies() ? 5 : 4);
    assert_int_equal(at(x, 0), bytes_of(2)); /* the others are done */
    assert_int_equal(at(x, 5), bytes_of(1));
    assert_int_equal(at(x, 7), bytes_of(2));
    (void)cudaGetLastError();
    OK(acu_buffer_release(nowhere));
    OK(acu_virtual_release(range));
}

/* As a driver does that is older than its runtime. */
static void what_a_driver_lacks_is_done_one_by_one(void **state) {
    (void)state;
    acu_batch_report report = {0};
    const acu_copy copies[] = {{.to = x, .from = y, .count = 4},
                               {.to = x, .from = y, .to_at = 4, .from_at = 4, .count = 4}};
    fill(y, a, 4);
    OK(acu_inject_errors("cudaMemcpyBatchAsync@1+:36"));
    acu_clear_error();
    OK(acu_batch_copy(a, copies, 2, NULL, 0, &report));
    assert_true(report.failed == 0 && report.calls == (has_copies() ? 3 : 2));
    assert_int_equal(acu_last_error(), 0);
    assert_int_equal(cudaPeekAtLastError(), 0);
    OK(acu_inject_errors(NULL));
    expect(x, 4);
}

/* Which one failed is not known, and nothing more is tried. */
static void a_failure_of_the_whole(void **state) {
    (void)state;
    acu_batch_failure failure;
    acu_batch_report report = {.failures = &failure, .room = 1};
    const acu_copy copies[] = {{.to = x, .from = y, .count = ACU_REST},
                               {.to = y, .from = x, .count = ACU_REST}};
    OK(acu_inject_errors(has_copies() ? "cudaMemcpyBatchAsync@1:719" : "cudaMemcpyAsync@1:719"));
    FAILS(acu_batch_copy(a, copies, 2, NULL, 0, &report), 719, "error injected");
    assert_int_equal(report.failed, 1);
    assert_true(failure.result == 719 && failure.index == SIZE_MAX);
    OK(acu_inject_errors(NULL));
    OK(acu_batch_copy(a, copies, 2, NULL, 0, &report));
}

static void fill_five(acu_copy *copies) {
    for (size_t i = 0; i < 5; i++)
        copies[i] = (acu_copy){.to = x, .from = y, .to_at = i, .from_at = i, .count = 1};
}

/* One by one, too: the message has the index, and what a device has to do with is no copy's. */
static void what_fails_one_by_one_has_its_index(void **state) {
    (void)state;
    acu_batch_failure failures[5];
    acu_batch_report report = {.failures = failures, .room = 5};
    acu_copy copies[5];
    fill_five(copies);
    fill(x, a, 1);
    fill(y, a, 2);
    OK(acu_inject_errors("cudaMemcpyBatchAsync@1:1;cudaMemcpyAsync@3:1"));
    FAILS(acu_batch_copy(a, copies, 5, NULL, 0, &report), 1,
          "acu_batch_copy (copy 2): cudaMemcpyAsync: error injected");
    assert_true(report.failed == 1 && failures[0].index == 2);
    assert_non_null(strstr(failures[0].reason, "(copy 2)"));
    assert_true(at(x, 2) == bytes_of(1) && at(x, 4) == bytes_of(2));
    static const int of_the_whole[] = {2, 700, 719, 214};
    for (size_t i = 0; i < COUNT(of_the_whole); i++) {
        char rules[80];
        fill(x, a, 1);
        snprintf(rules, sizeof rules, "cudaMemcpyBatchAsync@1:1;cudaMemcpyAsync@2:%d",
                 of_the_whole[i]);
        OK(acu_inject_errors(rules));
        FAILS(acu_batch_copy(a, copies, 5, NULL, 0, &report), of_the_whole[i], "error injected");
        OK(acu_inject_errors(NULL));
        assert_true(report.failed == 1 && failures[0].index == SIZE_MAX);
        assert_non_null(strstr(failures[0].object, "stream"));
        assert_int_equal(report.calls, has_copies() ? 3 : 2);
        assert_true(at(x, 0) == bytes_of(2) && at(x, 4) == bytes_of(1)); /* nothing more is tried */
    }
}

/* ---- streams ---- */

static void waits_for_other_streams(void **state) {
    (void)state;
    blocker at_b;
    const acu_copy copy = {.to = x, .from = y, .count = ACU_REST};
    fill(y, a, 1);
    OK(acu_stream_synchronize(a));
    block_stream(&at_b, b);
    fill(y, b, 3);
    OK(acu_batch_copy(a, &copy, 1, NULL, 0, NULL));
    still_waits(a);
    unblock_stream(&at_b);
    expect(x, 3);
    block_stream(&at_b, b);
    OK(acu_batch_copy(b, &copy, 1, NULL, 0, NULL));
    fill(y, a, 4); /* waits until the batch has read */
    still_waits(a);
    unblock_stream(&at_b);
    expect(x, 3);
}

static void the_legacy_stream_takes_a_loop(void **state) {
    (void)state;
    acu_stream *legacy = NULL;
    acu_batch_report report = {0};
    const acu_copy copies[] = {{.to = x, .from = y, .count = 4},
                               {.to = x, .from = y, .to_at = 4, .from_at = 4, .count = 4}};
    OK(acu_stream_get_legacy(0, &legacy));
    fill(y, b, 6);
    OK(acu_batch_copy(legacy, copies, 2, NULL, 0, &report));
    assert_int_equal(report.calls, 2);
    expect(x, 6);
    OK(acu_stream_release(legacy));
}

static void two_devices_copy(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_stream *there = stream_on(1);
    acu_buffer *far = numbers(there, 100, 8), *near = numbers(a, 200, 8);
    acu_batch_report report = {0};
    const acu_copy copies[] = {{.to = x, .from = far, .count = 4},
                               {.to = y, .from = near, .count = 4},
                               {.to = far, .from = near, .to_at = 4, .count = 4},
                               {.to = y, .from = near, .to_at = 4, .count = 4}};
    OK(acu_batch_copy(a, copies, 4, NULL, 0, &report));
    assert_int_equal(report.calls, 4);
    assert_int_equal(at(x, 3), 103);
    assert_int_equal(at(y, 4), 200);
    assert_int_equal(at(far, 7), 203);
    OK(acu_buffer_release(far));
    OK(acu_buffer_release(near));
    OK(acu_stream_release(there));
}

/* The graph has the copies as nodes, and is the only owner of what they need. */
static void a_capture_takes_a_batch(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_batch_report report = {0};
    acu_buffer *from = numbers(a, 7, 8);
    const acu_copy copies[] = {{.to = x, .from = from, .count = ACU_REST},
                               {.to = y, .from = from, .count = ACU_REST}};
    const acu_copy_attributes any_order = {.order = ACU_SOURCE_ORDER_ANY},
                              during = {.order = ACU_SOURCE_ORDER_DURING_API_CALL};
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_batch_copy(a, copies, 2, &any_order, 1, &report));
    FAILS(acu_batch_copy(a, copies, 2, &during, 1, NULL), ACU_ERROR_CAPTURE, "captur");
    OK(acu_stream_end_capture(a, &graph));
    assert_true(report.calls == 2 && nodes_of(graph) == 2);
    OK(acu_buffer_release(from));
    fill(x, a, 0);
    fill(y, a, 0);
    launch_and_release(graph);
    assert_int_equal(at(x, 7), 14);
    assert_int_equal(at(y, 0), 7);
}

/* anycuda does not know of that capture, and asks CUDA. */
static void so_does_a_capture_by_raw_calls(void **state) {
    (void)state;
    cudaGraph_t graph = NULL;
    size_t count = 0;
    const acu_copy copies[] = {{.to = x, .from = x, .to_at = 4, .count = 4}};
    cudaStream_t raw = acu_stream_raw(a);
    assert_int_equal(cudaStreamBeginCapture(raw, cudaStreamCaptureModeRelaxed), 0);
    OK(acu_batch_copy(a, copies, 1, NULL, 0, NULL));
    assert_int_equal(cudaStreamEndCapture(raw, &graph), 0);
    assert_int_equal(cudaGraphGetNodes(graph, NULL, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(cudaGraphDestroy(graph), 0);
}

/* ---- managed memory ---- */

static acu_buffer *managed(void) {
    acu_buffer *made = NULL;
    OK(acu_buffer_create_with(a, ACU_I32, 1 << 19,
                              &(acu_buffer_options){.memory = ACU_MEMORY_MANAGED}, &made));
    return made;
}

static acu_memory_place place_of(acu_buffer *buffer) {
    acu_memory_info info;
    OK(acu_memory_get_info(acu_buffer_raw(buffer), &info));
    return info.range.prefetched;
}

static bool moves_managed_memory(void) {
    int can = 0;
    OK(acu_device_get_attribute(0, ACU_DEVICE_CONCURRENT_MANAGED_ACCESS, &can));
    return can;
}

#define NEEDS_MOVES()                                                                              \
    do {                                                                                           \
        if (!moves_managed_memory()) {                                                             \
            print_message("device 0 does not move managed memory\n");                              \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static void managed_memory_moves(void **state) {
    (void)state;
    NEEDS_MOVES();
    acu_batch_report report = {0};
    acu_buffer *first = managed(), *second = managed();
    const acu_prefetch to_device[] = {{first, 0}, {second, ACU_DEVICE_CURRENT}},
                       apart[] = {{first, ACU_DEVICE_HOST}, {second, 0}},
                       twice[] = {{first, ACU_DEVICE_HOST}, {first, 0}};
    OK(acu_buffer_zero(first, NULL));
    OK(acu_batch_prefetch(a, to_device, 2, &report));
    assert_int_equal(report.calls, has_discards() ? 1 : 2);
    assert_int_equal(place_of(first), ACU_MEMORY_PLACE_DEVICE);
    assert_int_equal(place_of(second), ACU_MEMORY_PLACE_DEVICE);
    OK(acu_batch_prefetch(a, apart, 2, &report));
    assert_int_equal(report.calls, has_discards() ? 1 : 2);
    assert_int_equal(place_of(first), ACU_MEMORY_PLACE_HOST);
    OK(acu_batch_prefetch(a, twice, 2, &report)); /* the last one holds */
    assert_int_equal(report.calls, 2);
    assert_int_equal(place_of(first), ACU_MEMORY_PLACE_DEVICE);
    assert_int_equal(at(first, 77), 0);
    OK(acu_buffer_release(first));
    OK(acu_buffer_release(second));
}

/* What is discarded may have any value, and what is written afterwards holds. */
static void managed_memory_is_discarded(void **state) {
    (void)state;
    NEEDS_MOVES();
    const int32_t value = bytes_of(5);
    acu_batch_report report = {0};
    acu_stream *legacy = NULL;
    acu_buffer *all[2] = {managed(), managed()};
    const acu_prefetch back[] = {{all[0], 0}, {all[1], ACU_DEVICE_HOST}};
    OK(acu_stream_get_legacy(0, &legacy));
    OK(acu_buffer_zero(all[0], NULL));
    OK(acu_batch_discard(a, all, 2, &report));
    assert_int_equal(report.calls, has_discards() ? 1 : 0);
    OK(acu_batch_discard(legacy, all, 2, &report)); /* which CUDA refuses */
    assert_int_equal(report.calls, 0);
    OK(acu_batch_discard_and_prefetch(a, back, 2, &report));
    assert_int_equal(report.calls, has_discards() ? 1 : 2);
    assert_int_equal(place_of(all[0]), ACU_MEMORY_PLACE_DEVICE);
    assert_int_equal(place_of(all[1]), ACU_MEMORY_PLACE_HOST);
    OK(acu_buffer_fill(all[0], &value));
    assert_int_equal(at(all[0], 1000), value);
    OK(acu_buffer_release(all[0]));
    OK(acu_buffer_release(all[1]));
    OK(acu_stream_release(legacy));
}

static void only_managed_memory_moves(void **state) {
    (void)state;
    acu_batch_failure failure;
    acu_batch_report report = {.failures = &failure, .room = 1};
    acu_buffer *good = managed(), *both[] = {good, x};
    const acu_prefetch mixed[] = {{good, 0}, {x, 0}}, nowhere[] = {{good, 0}, {good, 9}};
    FAILS(acu_batch_prefetch(a, mixed, 2, &report), ACU_ERROR_MEMORY_KIND, "(prefetch 1)");
    assert_true(report.failed == 1 && failure.index == 1);
    FAILS(acu_batch_prefetch(a, nowhere, 2, &report), 101, "device 9");
    FAILS(acu_batch_discard(a, both, 2, NULL), ACU_ERROR_MEMORY_KIND, "(discard 1)");
    FAILS(acu_batch_discard_and_prefetch(a, mixed, 2, NULL), ACU_ERROR_MEMORY_KIND,
          "only managed memory");
    OK(acu_buffer_release(good));
}

static void captures_take_none_of_it(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *memory = managed();
    const acu_prefetch to_device = {memory, 0};
    OK(acu_stream_begin_capture(a, NULL));
    FAILS(acu_batch_prefetch(a, &to_device, 1, NULL), ACU_ERROR_CAPTURE, "acu_batch_prefetch");
    FAILS(acu_batch_discard(a, &memory, 1, NULL), ACU_ERROR_CAPTURE, "acu_batch_discard");
    FAILS(acu_batch_discard_and_prefetch(a, &to_device, 1, NULL), ACU_ERROR_CAPTURE, "captur");
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(memory));
}

#define BATCH_TEST(function) SAFE_TEST(function, begin_capture, end_capture)

int main(void) {
    const struct CMUnitTest tests[] = {
        BATCH_TEST(many_copies_are_few_calls),
        BATCH_TEST(nothing_is_done_at_once),
        BATCH_TEST(copies_that_depend_on_each_other_have_an_order),
        BATCH_TEST(random_copies_are_those_of_a_loop),
        BATCH_TEST(a_source_is_read_during_the_call),
        BATCH_TEST(entries_hold_for_the_copies_behind_them),
        BATCH_TEST(wrong_attributes),
        BATCH_TEST(tiles_are_copied_at_once),
        BATCH_TEST(regions_that_depend_on_each_other_have_an_order),
        BATCH_TEST(random_boxes_are_those_of_a_loop),
        BATCH_TEST(wrong_regions),
        BATCH_TEST(a_capture_takes_regions),
        BATCH_TEST(a_report_names_all_that_are_wrong),
        BATCH_TEST(what_cuda_refuses_is_found),
        BATCH_TEST(what_a_driver_lacks_is_done_one_by_one),
        BATCH_TEST(a_failure_of_the_whole),
        BATCH_TEST(what_fails_one_by_one_has_its_index),
        BATCH_TEST(waits_for_other_streams),
        BATCH_TEST(the_legacy_stream_takes_a_loop),
        BATCH_TEST(two_devices_copy),
        BATCH_TEST(a_capture_takes_a_batch),
        BATCH_TEST(so_does_a_capture_by_raw_calls),
        BATCH_TEST(managed_memory_moves),
        BATCH_TEST(managed_memory_is_discarded),
        BATCH_TEST(only_managed_memory_moves),
        BATCH_TEST(captures_take_none_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
