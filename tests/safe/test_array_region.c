/* Regions of arrays: parts of one array, of two devices, and in batches with buffers' regions. */
#include "capture_test.h"

#include <anycuda/layers.h>

static bool has_batches(void) {
    return is_since(12080);
}

static acu_array *array_on(acu_stream *stream, acu_format format, acu_extent extent,
                           unsigned flags) {
    acu_array *array = NULL;
    OK(acu_array_create(stream, format, extent, flags, &array));
    return array;
}

static const acu_format i32 = {.dtype = ACU_I32};

/* An array of some numbers from `first` on. */
static acu_array *numbered(acu_stream *stream, acu_extent extent, unsigned flags, int32_t first) {
    int32_t values[512];
    acu_array *array = array_on(stream, i32, extent, flags);
    const size_t count = acu_array_count(array);
    assert_true(count <= COUNT(values));
    for (size_t i = 0; i < count; i++)
        values[i] = first + (int32_t)i;
    OK(acu_array_write(array, values, count));
    return array;
}

static int32_t element(acu_array *array, size_t x_at, size_t y_at, size_t z_at) {
    int32_t value = -1;
    const acu_region one = {.array = array, .at = {x_at, y_at, z_at}};
    OK(acu_region_read(&one, ((acu_extent){1, 1, 1}), &value));
    return value;
}

static acu_region in_array(acu_array *array, size_t x_at, size_t y_at) {
    return (acu_region){.array = array, .at = {x_at, y_at, 0}};
}

/* ---- one array ---- */

/* Boxes of one array beside each other are copied, and only such. */
static void boxes_of_one_array_are_copied_unless_they_overlap(void **state) {
    (void)state;
    enum { W = 6, H = 5, D = 3 };
    static int32_t model[D][H][W], before[D][H][W], back[D][H][W];
    acu_array *array = numbered(a, (acu_extent){W, H, D}, 0, 0);
    int copied = 0, refused = 0;
    for (int i = 0; i < W * H * D; i++)
        (&model[0][0][0])[i] = i;
    for (int i = 0; i < 300; i++) {
        const acu_extent e = {1 + any(3), 1 + any(3), 1 + any(2)};
        const acu_position q = {any(4), any(3), any(2)}, r = {any(4), any(3), any(2)};
        const acu_region to = {.array = array, .at = q}, from = {.array = array, .at = r};
        const bool apart = q.x + e.width <= r.x || r.x + e.width <= q.x || q.y + e.height <= r.y ||
                           r.y + e.height <= q.y || q.z + e.depth <= r.z || r.z + e.depth <= q.z;
        if (!apart) {
            FAILS(acu_region_copy(&to, &from, e, NULL), ACU_ERROR_RANGE, "regions overlap; array");
            refused++;
            continue;
        }
        OK(acu_region_copy(&to, &from, e, NULL));
        copied++;
        memcpy(before, model, sizeof before);
        for (size_t z = 0; z < e.depth; z++)
            for (size_t line = 0; line < e.height; line++)
                memcpy(&model[q.z + z][q.y + line][q.x], &before[r.z + z][r.y + line][r.x],
                       e.width * 4);
    }
    OK(acu_array_read(array, &back[0][0][0], W * H * D));
    assert_memory_equal(back, model, sizeof back);
    assert_true(copied > 50 && refused > 50);
    OK(acu_array_release(array));
}

static void failures_name_the_object(void **state) {
    (void)state;
    acu_array *array = numbered(a, (acu_extent){4, 4, 0}, 0, 0);
    const acu_region to = in_array(array, 0, 0), far = {.buffer = x, .at = {7, 0, 0}};
    const acu_region low = {.buffer = x, .at = {3, 0, 0}, .row_pitch = 16};
    FAILS(acu_region_copy(&to, &far, (acu_extent){2, 1, 1}, NULL), ACU_ERROR_RANGE,
          "the source ends at byte 36");
    FAILS(acu_region_copy(&to, &low, (acu_extent){2, 1, 1}, NULL), ACU_ERROR_RANGE,
          "a row of the source ends at element 5");
    assert_non_null(strstr(acu_last_error_details().object, "buffer 0x"));
    FAILS(acu_region_copy(&to, &low, (acu_extent){2, 0, 1}, NULL), ACU_ERROR_ARGUMENT, "has a 0");
    assert_non_null(strstr(acu_last_error_details().object, "array 0x"));
    FAILS(acu_region_copy(&low, &far, (acu_extent){0, 1, 1}, NULL), ACU_ERROR_ARGUMENT, "has a 0");
    assert_non_null(strstr(acu_last_error_details().object, "buffer 0x"));
    int32_t host[8];
    FAILS(acu_region_read_typed(&to, (acu_extent){2, 2, 1}, ACU_I32, host, 4, 0, NULL),
          ACU_ERROR_RANGE, "a row of the host's memory");
    assert_non_null(strstr(acu_last_error_details().object, "array 0x"));
    OK(acu_array_release(array));
}

/* ---- two devices ---- */

/* Between an array of one device and memory of a pool of the other, on a stream of either. */
static void any_two_devices_copy(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    static const acu_memory kinds[] = {ACU_MEMORY_POOL, ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED};
    acu_stream *far = stream_on(1), *const streams[] = {NULL, a, far};
    acu_array *array = numbered(far, (acu_extent){4, 2, 0}, 0, 0);
    const acu_extent e = {4, 2, 1};
    for (size_t i = 0; i < COUNT(kinds) * COUNT(streams); i++) {
        int32_t in[8], out[8];
        acu_buffer *near = NULL;
        const acu_buffer_options options = {.memory = kinds[i / COUNT(streams)]};
        acu_stream *on = streams[i % COUNT(streams)];
        OK(acu_buffer_create_with(a, ACU_I32, 8, &options, &near));
        const acu_region here = {.buffer = near}, there = {.array = array};
        for (int n = 0; n < 8; n++)
            in[n] = (int32_t)(100 * i) + n;
        OK(acu_buffer_write(near, in, 8));
        OK(acu_region_copy(&there, &here, e, on));
        OK(acu_buffer_zero(near, NULL));
        OK(acu_region_copy(&here, &there, e, on));
        OK(acu_buffer_read(near, out, 8));
        assert_memory_equal(in, out, sizeof in);
        const acu_region_pair pair = {there, here, e};
        OK(acu_batch_copy_regions(on ? on : far, &pair, 1, NULL, 0, NULL));
        OK(acu_buffer_release(near));
    }
    OK(acu_array_release(array));
    OK(acu_stream_release(far));
}

/* A captured copy cannot name devices: the memory's is current then. */
static void a_capture_takes_a_copy_between_devices(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    int32_t out[8];
    acu_stream *far = stream_on(1);
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_array *array = numbered(far, (acu_extent){4, 2, 0}, 0, 7);
    const acu_region here = {.buffer = x}, there = {.array = array};
    OK(acu_stream_begin_capture(far, NULL));
    OK(acu_region_copy(&here, &there, (acu_extent){4, 2, 1}, far));
    OK(acu_stream_end_capture(far, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, far));
    OK(acu_buffer_read(x, out, 8));
    assert_true(out[0] == 7 && out[7] == 14);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_array_release(array));
    OK(acu_stream_release(far));
}

/* ---- batches ---- */

/* Tiles of an atlas, from a matrix, are one call, and back again, too. */
static void tiles_of_an_atlas_are_one_call(void **state) {
    (void)state;
    enum { SIDE = 8, TILE = 2 };
    int32_t in[SIDE * SIDE], out[SIDE * SIDE];
    acu_region_pair pairs[16];
    acu_batch_report report = {0};
    acu_buffer *matrix = NULL;
    acu_array *atlas = numbered(b, (acu_extent){SIDE, SIDE, 0}, 0, 0);
    for (int i = 0; i < SIDE * SIDE; i++)
        in[i] = 1000 + i;
    OK(acu_buffer_create_from(a, in, SIDE * SIDE, &matrix));
    for (size_t i = 0; i < 16; i++)
        pairs[i] = (acu_region_pair){.to = in_array(atlas, i % 4 * TILE, i / 4 * TILE),
                                     .from = {.buffer = matrix,
                                              .at = {i / 4 * TILE, i % 4 * TILE, 0},
                                              .row_pitch = SIDE * 4},
                                     .extent = {TILE, TILE, 1}};
    OK(acu_batch_copy_regions(a, pairs, 16, NULL, 0, &report));
    assert_int_equal(report.calls, has_batches() ? 1 : 16);
    assert_int_equal(element(atlas, 2, 0, 0), 1000 + 2 * SIDE);
    assert_int_equal(element(atlas, 1, 7, 0), 1000 + SIDE + 7);
    OK(acu_buffer_zero(matrix, NULL));
    for (size_t i = 0; i < 16; i++) {
        const acu_region to = pairs[i].from;
        pairs[i].from = pairs[i].to;
        pairs[i].to = to;
    }
    OK(acu_batch_copy_regions(b, pairs, 16, NULL, 0, &report));
    assert_int_equal(report.calls, has_batches() ? 1 : 16);
    OK(acu_buffer_read(matrix, out, SIDE * SIDE));
    assert_memory_equal(in, out, sizeof in);
    OK(acu_buffer_release(matrix));
    OK(acu_array_release(atlas));
}

static void copies_that_depend_on_each_other_have_an_order(void **state) {
    (void)state;
    acu_batch_report report = {0};
    acu_array *one = numbered(a, (acu_extent){8, 2, 0}, 0, 0);
    acu_array *two = numbered(a, (acu_extent){8, 2, 0}, 0, 100);
    const acu_extent e = {2, 2, 1};
    const acu_region_pair pairs[] = {
        {in_array(two, 0, 0), in_array(one, 0, 0), e},
        {in_array(two, 4, 0), in_array(one, 6, 0), e}, /* depends on none */
        {in_array(one, 2, 0), in_array(two, 0, 0), e}, /* reads what the first one wrote */
        {in_array(one, 4, 0), in_array(one, 6, 0), e}, /* of one array, depends on none */
        {{.buffer = x, .row_pitch = 8}, in_array(one, 2, 0), e}, /* reads the third one's */
    };
    OK(acu_batch_copy_regions(a, pairs, 5, NULL, 0, &report));
    assert_int_equal(report.failed, 0);
    assert_int_equal(report.calls, has_batches() ? 3 : 5);
    int32_t back[8];
    OK(acu_buffer_read(x, back, 8));
    assert_true(back[0] == 0 && back[1] == 1 && back[2] == 8 && back[3] == 9);
    assert_true(element(one, 2, 1, 0) == 8 && element(one, 4, 0, 0) == 6);
    assert_true(element(two, 4, 1, 0) == 14);
    OK(acu_array_release(one));
    OK(acu_array_release(two));
}

/* Levels of a mipmap are arrays of one memory, and layers are slices. */
static void levels_and_layers_are_in_batches(void **state) {
    (void)state;
    acu_batch_report report = {0};
    acu_mipmap *mipmap = NULL;
    acu_array *level[2] = {NULL};
    OK(acu_mipmap_create(a, i32, (acu_extent){8, 8, 0}, 0, 0, &mipmap));
    for (unsigned i = 0; i < 2; i++)
        OK(acu_mipmap_get_level(mipmap, i, &level[i]));
    acu_array *layers = numbered(a, (acu_extent){4, 4, 3}, ACU_ARRAY_LAYERED, 0);
    const acu_region_pair pairs[] = {
        {in_array(level[0], 0, 0), {.array = layers, .at = {0, 0, 1}}, {4, 4, 1}},
        {in_array(level[0], 4, 4), {.array = layers, .at = {0, 0, 2}}, {4, 4, 1}},
        {in_array(level[1], 0, 0), {.array = layers, .at = {0, 0, 0}}, {4, 4, 1}},
        {{.array = layers, .at = {0, 0, 2}}, {.array = level[1], .at = {2, 2, 0}}, {2, 2, 1}}};
    OK(acu_batch_copy_regions(b, pairs, 4, NULL, 0, &report));
    assert_int_equal(report.calls, has_batches() ? 2 : 4);
    assert_true(element(level[0], 3, 3, 0) == 31 && element(level[0], 4, 4, 0) == 32);
    assert_true(element(level[1], 1, 0, 0) == 1);
    assert_true(element(layers, 0, 0, 2) == 10 && element(layers, 2, 0, 2) == 34);
    for (unsigned i = 0; i < 2; i++)
        OK(acu_array_release(level[i]));
    OK(acu_mipmap_release(mipmap));
    OK(acu_array_release(layers));
}

/* A batch counts a row of the memory in elements: rows that are none go alone. */
static void a_pitch_of_no_whole_elements_goes_alone(void **state) {
    (void)state;
    acu_batch_report report = {0};
    unsigned char bytes[64];
    acu_buffer *memory = NULL;
    acu_array *array = array_on(a, (acu_format){ACU_U8, 4, 0}, (acu_extent){4, 4, 0}, 0);
    for (int i = 0; i < 64; i++)
        bytes[i] = (unsigned char)i;
    OK(acu_buffer_create(a, ACU_BYTES(4), 16, &memory));
    OK(acu_buffer_write_typed(memory, 0, ACU_ANY, bytes, 16, NULL));
    const acu_region_pair pairs[] = {
        {in_array(array, 0, 0), {.buffer = memory, .row_pitch = 10}, {2, 2, 1}},
        {in_array(array, 2, 0), {.buffer = memory, .row_pitch = 12}, {2, 2, 1}},
        {in_array(array, 2, 2), {.buffer = memory, .row_pitch = 16}, {2, 2, 1}}};
    OK(acu_batch_copy_regions(a, pairs, 3, NULL, 0, &report));
    assert_int_equal(report.calls, has_batches() ? 2 : 3);
    unsigned char back[64] = {0};
    OK(acu_array_read(array, back, 64));
    assert_true(back[16] == 10 && back[8] == 0 && back[24] == 12 && back[56] == 16);
    OK(acu_array_release(array));
    OK(acu_buffer_release(memory));
}

/* Texels of a compressed array go alone: in memory its elements are blocks. */
static void compressed_arrays_are_in_batches(void **state) {
    (void)state;
    const acu_format bc1 = {.encoding = ACU_ENCODING_BC1};
    const uint64_t in[4] = {11, 22, 33, 44};
    uint64_t out[4] = {0};
    acu_batch_report report = {0};
    acu_buffer *blocks = NULL;
    acu_array *array = array_on(a, bc1, (acu_extent){8, 8, 0}, 0);
    const acu_extent one = {4, 4, 1};
    OK(acu_array_write_typed(array, ACU_BYTES(8), in, 4, NULL));
    OK(acu_buffer_create(a, ACU_BYTES(8), 4, &blocks));
    const acu_region_pair pairs[] = {
        {{.buffer = blocks}, in_array(array, 4, 4), one},
        {in_array(array, 4, 4), in_array(array, 0, 0), one}, /* after it was read */
        {{.buffer = blocks, .at = {1, 0, 0}}, in_array(array, 4, 4), one},
        {{.buffer = blocks, .at = {2, 0, 0}}, in_array(array, 0, 4), {8, 4, 1}}};
    OK(acu_batch_copy_regions(b, pairs, 4, NULL, 0, &report));
    assert_int_equal(report.calls, 4);
    OK(acu_buffer_read_typed(blocks, 0, ACU_BYTES(8), out, 4, NULL));
    assert_true(out[0] == 44 && out[1] == 11 && out[2] == 33 && out[3] == 11);
    FAILS(acu_region_copy(&pairs[0].from, &pairs[0].from, one, NULL), ACU_ERROR_RANGE, "overlap");
    OK(acu_buffer_release(blocks));
    OK(acu_array_release(array));
}

/* What a copy of the random batch is about: one of two arrays, or a buffer. */
enum { BOX = 6, PLACES = 3, COPIES = 40 };

static int32_t model[PLACES][BOX][BOX][BOX];

static acu_region any_place(acu_array *const *arrays, acu_buffer *buffer, unsigned which,
                            acu_position at) {
    return which < 2 ? (acu_region){.array = arrays[which], .at = at}
                     : (acu_region){
                           .buffer = buffer, .at = at, .row_pitch = BOX * 4, .slice_height = BOX};
}

static void copy_on_host(unsigned to, acu_position q, unsigned from, acu_position r, acu_extent e) {
    for (size_t z = 0; z < e.depth; z++)
        for (size_t line = 0; line < e.height; line++)
            memmove(&model[to][q.z + z][q.y + line][q.x], &model[from][r.z + z][r.y + line][r.x],
                    e.width * 4);
}

/* Random boxes of two arrays and a buffer, against the same on the host. */
static void copy_at_random(unsigned seed) {
    static int32_t back[BOX][BOX][BOX];
    acu_region_pair pairs[COPIES];
    acu_array *arrays[2];
    acu_buffer *buffer = NULL;
    chance_begins(seed);
    for (int32_t i = 0; i < PLACES * BOX * BOX * BOX; i++)
        (&model[0][0][0][0])[i] = i;
    for (int i = 0; i < 2; i++)
        arrays[i] = numbered(i ? b : a, (acu_extent){BOX, BOX, BOX}, i ? ACU_ARRAY_LAYERED : 0,
                             i * BOX * BOX * BOX);
    OK(acu_buffer_create_from(a, &model[2][0][0][0], BOX * BOX * BOX, &buffer));
    for (size_t i = 0; i < COPIES; i++) {
        const unsigned to = any(PLACES), from = any(PLACES);
        const acu_extent e = {1 + any(3), 1 + any(3), 1 + any(2)};
        const acu_position q = {any(4), any(3), any(4)},
                           r = {any(4), to == from && q.y < 3 ? 3 : any(4), any(4)};
        acu_extent fits = e;
        if (to == from) /* rows below those that are written */
            fits.height = fits.height > 3 - q.y ? 3 - q.y : fits.height;
        pairs[i] = (acu_region_pair){any_place(arrays, buffer, to, q),
                                     any_place(arrays, buffer, from, r), fits};
        copy_on_host(to, q, from, r, fits);
    }
    OK(acu_batch_copy_regions(b, pairs, COPIES, NULL, 0, NULL));
    for (int i = 0; i < PLACES; i++) {
        if (i < 2)
            OK(acu_array_read(arrays[i], &back[0][0][0], BOX * BOX * BOX));
        else
            OK(acu_buffer_read(buffer, &back[0][0][0], BOX * BOX * BOX));
        assert_memory_equal(back, model[i], sizeof back);
    }
    OK(acu_array_release(arrays[0]));
    OK(acu_array_release(arrays[1]));
    OK(acu_buffer_release(buffer));
}

static void random_boxes_are_those_of_a_loop(void **state) {
    (void)state;
    try_seeds(20, copy_at_random);
}

/* CUDA takes the source from the layer of the destination, so that such a copy goes by memory. */
static void layers_of_one_array_are_copied(void **state) {
    (void)state;
    static const unsigned flags[] = {ACU_ARRAY_LAYERED, ACU_ARRAY_CUBE,
                                     ACU_ARRAY_LAYERED | ACU_ARRAY_CUBE};
    const acu_extent two = {2, 1, 2};
    for (size_t i = 0; i < COUNT(flags); i++) {
        acu_array *array = numbered(a, (acu_extent){4, 4, 6}, flags[i], 0);
        const acu_region_pair pairs[] = {
            {{.array = array, .at = {0, 0, 0}}, {.array = array, .at = {1, 2, 3}}, two},
            {{.array = array, .at = {0, 3, 4}}, {.array = array, .at = {2, 0, 0}}, two}};
        OK(acu_region_copy(&pairs[0].to, &pairs[0].from, two, NULL));
        assert_int_equal(element(array, 0, 0, 0), 57);
        assert_int_equal(element(array, 1, 0, 1), 74);
        OK(acu_batch_copy_regions(b, pairs, 2, NULL, 0, NULL));
        assert_int_equal(element(array, 0, 3, 4), 2);
        assert_int_equal(element(array, 1, 3, 5), 19);
        OK(acu_stream_begin_capture(b, NULL));
        FAILS(acu_region_copy(&pairs[0].to, &pairs[0].from, two, b), ACU_ERROR_CAPTURE,
              "between two layers of one array CUDA copies from the wrong layer");
        acu_graph *graph = NULL;
        OK(acu_stream_end_capture(b, &graph));
        OK(acu_graph_release(graph));
        OK(acu_array_release(array));
    }
}

static void a_report_names_the_arrays(void **state) {
    (void)state;
    acu_batch_failure failures[3];
    acu_batch_report report = {.failures = failures, .room = 3};
    acu_array *array = numbered(a, (acu_extent){4, 4, 0}, 0, 0);
    const acu_extent e = {2, 2, 1};
    const acu_region_pair wrong[] = {{in_array(array, 0, 0), in_array(array, 2, 2), e},
                                     {in_array(array, 3, 0), {.buffer = x}, e},
                                     {in_array(array, 0, 0), in_array(array, 1, 1), e},
                                     {{.array = (acu_array *)(void *)x}, {.buffer = x}, e}};
    FAILS(acu_batch_copy_regions(a, wrong, 4, NULL, 0, &report), ACU_ERROR_RANGE,
          "(pair 1): 2 x 2 x 1 elements from {3, 0, 0} on are outside of the array");
    assert_true(report.failed == 3 && report.calls == 0);
    assert_true(failures[1].index == 2 && failures[2].result == ACU_ERROR_HANDLE);
    assert_non_null(strstr(failures[1].object, "array 0x"));
    assert_int_equal(element(array, 0, 0, 0), 0); /* nothing is done */
    OK(acu_inject_errors("cudaMemcpy3DBatchAsync@1:1;cudaMemcpy3DAsync@1:1"));
    const acu_region_pair right[] = {{in_array(array, 0, 0), {.buffer = x}, e},
                                     {in_array(array, 2, 0), {.buffer = x}, e}};
    FAILS(acu_batch_copy_regions(a, right, 2, NULL, 0, &report), 1, "(pair 0)");
    OK(acu_inject_errors(NULL));
    assert_true(report.failed == 1 && failures[0].index == 0);
    assert_non_null(strstr(failures[0].object, "array 0x"));
    OK(acu_array_release(array));
}

static void a_capture_takes_arrays(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_array *array = numbered(b, (acu_extent){8, 1, 0}, 0, 0);
    const acu_region_pair pairs[] = {{in_array(array, 0, 0), {.buffer = y}, {8, 1, 1}},
                                     {{.buffer = x}, in_array(array, 0, 0), {8, 1, 1}}};
    OK(acu_stream_begin_capture(a, NULL));
    OK(acu_batch_copy_regions(a, pairs, 2, NULL, 0, NULL));
    OK(acu_stream_end_capture(a, &graph));
    OK(acu_array_release(array)); /* the graph has it */
    assert_int_equal(nodes_of(graph), 2);
    fill(x, a, 0);
    fill(y, a, 3);
    launch_and_release(graph);
    expect(x, 3);
}

#undef TEST
#define TEST(function) SAFE_TEST(function, begin_capture, end_capture)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(boxes_of_one_array_are_copied_unless_they_overlap),
        TEST(failures_name_the_object),
        TEST(any_two_devices_copy),
        TEST(a_capture_takes_a_copy_between_devices),
        TEST(tiles_of_an_atlas_are_one_call),
        TEST(copies_that_depend_on_each_other_have_an_order),
        TEST(levels_and_layers_are_in_batches),
        TEST(a_pitch_of_no_whole_elements_goes_alone),
        TEST(compressed_arrays_are_in_batches),
        TEST(random_boxes_are_those_of_a_loop),
        TEST(layers_of_one_array_are_copied),
        TEST(a_report_names_the_arrays),
        TEST(a_capture_takes_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
