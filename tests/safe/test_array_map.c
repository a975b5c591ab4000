/* Memory that a program maps to sparse and deferred arrays and mipmaps. */
#include "kernels.h"

#include <stdlib.h>

static acu_stream *stream;
static acu_physical *memory;
static size_t pool; /* bytes of the memory */
static const acu_format u32 = {ACU_U32, 1, ACU_ENCODING_NUMBERS};
enum { TILE = 128 }; /* the width and height of a tile of such elements, on all GPUs so far */

static int begin_maps(void **state) {
    size_t step = 0;
    const acu_physical_options tiles = {.tiles = true};
    const int code = begin_kernels(state);
    stream = stream_on(0);
    OK(acu_physical_get_granularity(0, &tiles, &step, NULL));
    pool = (4u * 1024 * 1024 + step - 1) / step * step;
    OK(acu_physical_create(0, pool, &tiles, &memory));
    return code;
}

static int end_maps(void **state) {
    OK(acu_physical_release(memory));
    OK(acu_stream_release(stream));
    return nothing_left(state);
}

#define MAP_TEST(function) SAFE_TEST(function, begin_maps, end_maps)

static acu_array *array_with(acu_extent extent, unsigned flags) {
    acu_array *array = NULL;
    OK(acu_array_create(stream, u32, extent, flags, &array));
    return array;
}

/* One tile of a flat array, in the memory's tile of that number. */
static acu_array_mapping tile_at(size_t x, size_t y, size_t number) {
    return (acu_array_mapping){.memory = memory,
                               .memory_at = number * ACU_TILE_BYTES,
                               .at = {x * TILE, y * TILE, 0},
                               .extent = {TILE, TILE, 1}};
}

/* Fills a tile with a value, or checks that it has it. */
static void fill_tile(acu_array *array, size_t x, size_t y, uint32_t value) {
    uint32_t *values = malloc(sizeof *values * TILE * TILE);
    const acu_region at = {.array = array, .at = {x * TILE, y * TILE, 0}};
    assert_non_null(values);
    for (size_t i = 0; i < (size_t)TILE * TILE; i++)
        values[i] = value;
    OK(acu_region_write(&at, ((acu_extent){TILE, TILE, 1}), values));
    free(values);
}

static void expect_tile(acu_array *array, size_t x, size_t y, uint32_t value) {
    uint32_t *values = calloc((size_t)TILE * TILE, sizeof *values);
    const acu_region at = {.array = array, .at = {x * TILE, y * TILE, 0}};
    assert_non_null(values);
    OK(acu_region_read(&at, ((acu_extent){TILE, TILE, 1}), values));
    for (size_t i = 0; i < (size_t)TILE * TILE; i++)
        assert_int_equal(values[i], value);
    free(values);
}

static void memory_says_that_it_is_for_tiles(void **state) {
    (void)state;
    acu_physical_info info;
    acu_virtual *range = NULL;
    acu_physical *made = NULL;
    acu_buffer *buffer = NULL;
    const acu_physical_options tiles = {.tiles = true};
    const acu_growable_options grows = {.physical = {.tiles = true}};
    OK(acu_physical_get_info(memory, &info));
    assert_true(info.tiles);
    OK(acu_virtual_reserve(0, pool, NULL, &range));
    FAILS(acu_virtual_map(range, 0, memory), ACU_ERROR_STATE, "made with options.tiles");
    OK(acu_virtual_release(range));
    FAILS(acu_buffer_create_growable_with(stream, ACU_U8, 1, 1, &grows, &buffer),
          ACU_ERROR_ARGUMENT, "options.physical.tiles");
    FAILS(acu_physical_create(ACU_DEVICE_HOST, pool, &tiles, &made), ACU_ERROR_ARGUMENT,
          "options.tiles is for memory of a device");
    OK(acu_physical_wrap(acu_physical_raw(memory), pool, &made));
    OK(acu_physical_get_info(made, &info));
    assert_false(info.tiles);
    acu_array *array = array_with((acu_extent){512, 300, 0}, ACU_ARRAY_SPARSE);
    acu_array_mapping tile = tile_at(0, 0, 0);
    tile.memory = made;
    OK(acu_array_map(array, &tile, 1, NULL)); /* CUDA knows */
    OK(acu_physical_release(made));
    acu_physical *ordinary = NULL;
    OK(acu_physical_create(0, pool, NULL, &ordinary));
    OK(acu_physical_wrap(acu_physical_raw(ordinary), pool, &made));
    tile.memory = made;
    FAILS(acu_array_map(array, &tile, 1, NULL), 1, "cuMemMapArrayAsync");
    assert_non_null(strstr(acu_last_error_details().hint, "CU_MEM_CREATE_USAGE_TILE_POOL"));
    OK(acu_physical_release(made));
    OK(acu_physical_release(ordinary));
    OK(acu_array_release(array));
}

/* The same memory may be at two places, and moves from one to another. */
static void tiles_are_mapped(void **state) {
    (void)state;
    acu_array *array = array_with((acu_extent){512, 300, 0}, ACU_ARRAY_SPARSE);
    const acu_array_mapping two[] = {tile_at(0, 0, 0), tile_at(3, 1, 1)};
    const acu_array_mapping again = tile_at(1, 1, 0), replaced = tile_at(3, 1, 0);
    OK(acu_array_map(array, NULL, 0, NULL));
    OK(acu_array_map(array, two, 2, NULL));
    fill_tile(array, 0, 0, 7);
    fill_tile(array, 3, 1, 8);
    expect_tile(array, 0, 0, 7);
    OK(acu_array_map(array, &again, 1, NULL));
    expect_tile(array, 1, 1, 7);
    OK(acu_array_map(array, &replaced, 1, NULL));
    expect_tile(array, 3, 1, 7);
    OK(acu_array_unmap(array, two, 2, NULL));
    OK(acu_array_map(array, &two[1], 1, NULL));
    expect_tile(array, 3, 1, 8);
    OK(acu_array_release(array));
}

/* The last tiles may end with the array, and a box of tiles takes memory row by row. */
static void tiles_end_with_the_array(void **state) {
    (void)state;
    acu_array *array = array_with((acu_extent){500, 300, 0}, ACU_ARRAY_SPARSE);
    acu_array_mapping all = tile_at(0, 0, 0), edge = tile_at(3, 2, 0);
    all.extent = (acu_extent){500, 300, 1};
    OK(acu_array_map(array, &all, 1, NULL));
    fill_tile(array, 1, 1, 5);
    expect_tile(array, 1, 1, 5);
    edge.extent = (acu_extent){500 - 3 * TILE, 300 - 2 * TILE, 1};
    OK(acu_array_unmap(array, &edge, 1, NULL));
    expect_tile(array, 1, 1, 5);
    OK(acu_array_unmap(array, &all, 1, NULL));
    OK(acu_array_release(array));
}

/* CUDA keeps memory as long as it is mapped: its handle may be released at once. */
static void released_memory_stays(void **state) {
    (void)state;
    acu_physical *other = NULL;
    acu_array *array = array_with((acu_extent){512, 300, 0}, ACU_ARRAY_SPARSE);
    OK(acu_physical_create(0, pool, &(acu_physical_options){.tiles = true}, &other));
    acu_array_mapping tile = tile_at(0, 0, 3);
    tile.memory = other;
    OK(acu_array_map(array, &tile, 1, NULL));
    OK(acu_physical_release(other));
    fill_tile(array, 0, 0, 9);
    expect_tile(array, 0, 0, 9);
    OK(acu_array_release(array));
}

/* Another stream's use comes after the mapping, and a mapping after another stream's use. */
static void streams_see_the_memory(void **state) {
    (void)state;
    acu_stream *other = stream_on(0);
    acu_array *array = array_with((acu_extent){512, 300, 0}, ACU_ARRAY_SPARSE);
    uint32_t one = 1, out = 0;
    const acu_region at = {.array = array};
    const acu_array_mapping tile = tile_at(0, 0, 0);
    OK(acu_array_map(array, &tile, 1, other));
    OK(acu_region_write(&at, ((acu_extent){1, 1, 1}), &one));
    OK(acu_region_read_typed(&at, (acu_extent){1, 1, 1}, ACU_U32, &out, 0, 0, other));
    assert_int_equal(out, 1);
    OK(acu_array_unmap(array, &tile, 1, other));
    OK(acu_array_release(array));
    OK(acu_stream_release(other));
}

static void small_arrays_are_tails(void **state) {
    (void)state;
    acu_array *array = array_with((acu_extent){64, 64, 0}, ACU_ARRAY_SPARSE);
    acu_sparse_properties sparse;
    uint32_t *in = calloc(64u * 64, sizeof *in), *out = calloc(64u * 64, sizeof *out);
    OK(acu_array_get_sparse_properties(array, &sparse));
    acu_array_mapping tail = {.memory = memory, .tail = true, .tail_bytes = sparse.tail_bytes};
    FAILS(acu_array_map(array, &(acu_array_mapping){memory, .extent = {64, 64, 1}}, 1, NULL),
          ACU_ERROR_RANGE, "(mapping 0): level 0 has no tiles, because it is in the tail");
    OK(acu_array_map(array, &tail, 1, NULL));
    for (uint32_t i = 0; i < 64 * 64; i++)
        in[i] = i * 3;
    OK(acu_array_write(array, in, (size_t)64 * 64));
    OK(acu_array_read(array, out, (size_t)64 * 64));
    assert_memory_equal(in, out, sizeof *in * 64 * 64);
    tail.layer = 1;
    FAILS(acu_array_map(array, &tail, 1, NULL), ACU_ERROR_RANGE, "there is no layer 1");
    tail.layer = 0;
    tail.tail_at = ACU_TILE_BYTES;
    FAILS(acu_array_map(array, &tail, 1, NULL), ACU_ERROR_RANGE, "a tail is mapped by multiples");
    tail.tail_at = 0;
    tail.level = 1;
    FAILS(acu_array_map(array, &tail, 1, NULL), ACU_ERROR_ARGUMENT, "are for tiles");
    tail.level = 0;
    OK(acu_array_unmap(array, &tail, 1, NULL));
    OK(acu_array_release(array));
    free(in);
    free(out);
}

/* The large levels have tiles, all others are in each layer's tail. */
static void levels_and_layers(void **state) {
    (void)state;
    enum { LEVELS = 9 };
    acu_mipmap *mipmap = NULL;
    acu_sparse_properties sparse;
    const acu_extent extent = {256, 256, 3};
    OK(acu_mipmap_create(stream, u32, extent, LEVELS, ACU_ARRAY_SPARSE | ACU_ARRAY_LAYERED,
                         &mipmap));
    OK(acu_mipmap_get_sparse_properties(mipmap, &sparse));
    assert_int_equal(sparse.first_level, 2);
    size_t next = 0;
    for (unsigned layer = 0; layer < 3; layer++) {
        acu_array_mapping list[3] = {tile_at(0, 0, next), tile_at(0, 0, next + 4), {0}};
        list[0].extent = (acu_extent){256, 256, 1};
        list[1].level = 1;
        list[2] = (acu_array_mapping){.memory = memory,
                                      .memory_at = (next + 5) * ACU_TILE_BYTES,
                                      .tail = true,
                                      .tail_bytes = sparse.tail_bytes};
        for (int i = 0; i < 3; i++)
            list[i].layer = layer;
        /* A tail that comes after a level in one call is not mapped by drivers. */
        OK(acu_inject_errors("cuMemMapArrayAsync@2:1"));
        FAILS(acu_mipmap_map(mipmap, list, 3, NULL), 1, "cuMemMapArrayAsync");
        OK(acu_inject_errors(NULL));
        OK(acu_mipmap_map(mipmap, list, 3, NULL));
        next += 5 + sparse.tail_bytes / ACU_TILE_BYTES;
    }
    for (unsigned i = 0; i < LEVELS; i++) {
        acu_array *level = NULL;
        uint32_t in[3] = {i, i + 100, i + 200}, out[3] = {0};
        OK(acu_mipmap_get_level(mipmap, i, &level));
        const acu_region at = {.array = level};
        OK(acu_region_write(&at, ((acu_extent){1, 1, 3}), in));
        OK(acu_region_read(&at, ((acu_extent){1, 1, 3}), out));
        assert_memory_equal(in, out, sizeof in);
        FAILS(acu_array_map(level, NULL, 0, NULL), ACU_ERROR_STATE, "acu_mipmap_map()");
        OK(acu_array_release(level));
    }
    acu_array_mapping wrong = tile_at(0, 0, 0);
    wrong.level = LEVELS;
    FAILS(acu_mipmap_map(mipmap, &wrong, 1, NULL), ACU_ERROR_RANGE, "there is no level 9");
    wrong.level = 2;
    FAILS(acu_mipmap_map(mipmap, &wrong, 1, NULL), ACU_ERROR_RANGE, "in the tail");
    wrong.level = 0;
    wrong.layer = 3;
    FAILS(acu_mipmap_map(mipmap, &wrong, 1, NULL), ACU_ERROR_RANGE, "there is no layer 3");
    OK(acu_mipmap_release(mipmap));
}

static void slices_are_tiles(void **state) {
    (void)state;
    acu_sparse_properties sparse;
    acu_array *array = array_with((acu_extent){128, 128, 64}, ACU_ARRAY_SPARSE);
    uint32_t in = 77, out = 0;
    OK(acu_array_get_sparse_properties(array, &sparse));
    const acu_extent tile = sparse.tile;
    acu_array_mapping one = {.memory = memory, .at = {tile.width, 0, tile.depth}, .extent = tile};
    OK(acu_array_map(array, &one, 1, NULL));
    const acu_region at = {.array = array, .at = {tile.width + 1, 2, tile.depth + 3}};
    OK(acu_region_write(&at, ((acu_extent){1, 1, 1}), &in));
    OK(acu_region_read(&at, ((acu_extent){1, 1, 1}), &out));
    assert_int_equal(out, 77);
    one.at.z = 1;
    FAILS(acu_array_map(array, &one, 1, NULL), ACU_ERROR_RANGE, "depth: ");
    one.at.z = 64;
    FAILS(acu_array_map(array, &one, 1, NULL), ACU_ERROR_RANGE, "depth: ");
    OK(acu_array_release(array));
}

static void deferred_arrays(void **state) {
    (void)state;
    acu_array *array = array_with((acu_extent){64, 64, 0}, ACU_ARRAY_DEFERRED);
    acu_memory_requirements needs;
    uint32_t in[64] = {1, 2, 3}, out[64] = {0};
    const acu_region at = {.array = array};
    OK(acu_array_get_memory_requirements(array, &needs));
    assert_int_equal(needs.alignment, ACU_TILE_BYTES);
    acu_array_mapping whole = {.memory = memory, .memory_at = ACU_TILE_BYTES};
    OK(acu_array_map(array, &whole, 1, NULL));
    OK(acu_region_write(&at, ((acu_extent){64, 1, 1}), in));
    OK(acu_region_read(&at, ((acu_extent){64, 1, 1}), out));
    assert_memory_equal(in, out, sizeof in);
    whole.extent = (acu_extent){64, 64, 1};
    FAILS(acu_array_map(array, &whole, 1, NULL), ACU_ERROR_ARGUMENT, "mapped as a whole");
    OK(acu_array_unmap(array, &(acu_array_mapping){.memory = NULL}, 1, NULL));
    OK(acu_array_release(array));
}

static void wrong_parts_say_why(void **state) {
    (void)state;
    acu_array *array = array_with((acu_extent){512, 300, 0}, ACU_ARRAY_SPARSE);
    acu_array *plain = array_with((acu_extent){8, 8, 0}, 0);
    acu_physical *ordinary = NULL;
    size_t step = 0;
    acu_array_mapping list[] = {tile_at(0, 0, 0), tile_at(1, 0, 1)}, *m = &list[1];
    OK(acu_physical_get_granularity(0, NULL, &step, NULL));
    OK(acu_physical_create(0, step, NULL, &ordinary));
#define WRONG(code, text)                                                                          \
    do {                                                                                           \
        FAILS(acu_array_map(array, list, 2, NULL), code, text);                                    \
        list[1] = tile_at(1, 0, 1);                                                                \
    } while (0)
    FAILS(acu_array_map(plain, list, 2, NULL), ACU_ERROR_STATE, "neither ACU_ARRAY_SPARSE nor");
    m->at.x = 1;
    WRONG(ACU_ERROR_RANGE, "(mapping 1): width: 128 elements from element 1 on are not whole");
    m->extent.height = 100;
    WRONG(ACU_ERROR_RANGE, "height: 100 elements from element 0 on are not whole tiles");
    m->extent.width = 513;
    WRONG(ACU_ERROR_RANGE, "width: 513 elements from element 128 on, of 512");
    m->extent.depth = 0;
    WRONG(ACU_ERROR_RANGE, "depth: 0 elements");
    m->at.y = SIZE_MAX;
    WRONG(ACU_ERROR_RANGE, "height: 128 elements from element");
    m->layer = 1;
    WRONG(ACU_ERROR_RANGE, "there is no layer 1");
    m->tail = true;
    WRONG(ACU_ERROR_ARGUMENT, "this is a tail");
    *m = (acu_array_mapping){.memory = memory, .tail = true, .tail_bytes = ACU_TILE_BYTES};
    WRONG(ACU_ERROR_RANGE, "it has no tail");
    m->tail_bytes = 1;
    WRONG(ACU_ERROR_ARGUMENT, "are for a tail");
    m->memory_at = 1;
    WRONG(ACU_ERROR_RANGE, "from byte 1 on, which must be a multiple of 65536");
    m->memory_at = pool;
    WRONG(ACU_ERROR_RANGE, "the part needs 65536 bytes");
    m->memory = ordinary;
    WRONG(ACU_ERROR_STATE, "made without options.tiles");
    FAILS(acu_array_map(array, NULL, 1, NULL), ACU_ERROR_ARGUMENT, "'mappings' is NULL");
    FAILS(acu_array_map(array, list, SIZE_MAX, NULL), ACU_ERROR_RANGE, "too many");
    OK(acu_physical_release(ordinary));
    OK(acu_array_release(plain));
    OK(acu_array_release(array));
}

static void captures_take_no_mapping(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_array *array = array_with((acu_extent){512, 300, 0}, ACU_ARRAY_SPARSE);
    const acu_array_mapping tile = tile_at(0, 0, 0);
    OK(acu_stream_begin_capture(stream, NULL));
    FAILS(acu_array_map(array, &tile, 1, NULL), ACU_ERROR_CAPTURE, "captured");
    FAILS(acu_array_unmap(array, &tile, 1, NULL), ACU_ERROR_CAPTURE, "captured");
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
    OK(acu_array_release(array));
}

static void devices_must_be_the_same(void **state) {
    (void)state;
    int devices = 0;
    OK(acu_device_get_count(&devices));
    if (devices < 2) {
        print_message("one device only\n");
        skip();
    }
    acu_physical *far = NULL;
    acu_stream *there = stream_on(1);
    acu_array *array = array_with((acu_extent){512, 300, 0}, ACU_ARRAY_SPARSE);
    acu_array_mapping tile = tile_at(0, 0, 0);
    FAILS(acu_array_map(array, &tile, 1, there), ACU_ERROR_DEVICE, "the stream is of device 1");
    OK(acu_physical_create(1, pool, &(acu_physical_options){.tiles = true}, &far));
    tile.memory = far;
    FAILS(acu_array_map(array, &tile, 1, NULL), ACU_ERROR_DEVICE, "the memory is of device 1");
    OK(acu_physical_release(far));
    OK(acu_array_release(array));
    OK(acu_stream_release(there));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MAP_TEST(memory_says_that_it_is_for_tiles),
        MAP_TEST(tiles_are_mapped),
        MAP_TEST(tiles_end_with_the_array),
        MAP_TEST(released_memory_stays),
        MAP_TEST(streams_see_the_memory),
        MAP_TEST(small_arrays_are_tails),
        MAP_TEST(levels_and_layers),
        MAP_TEST(slices_are_tiles),
        MAP_TEST(deferred_arrays),
        MAP_TEST(wrong_parts_say_why),
        MAP_TEST(captures_take_no_mapping),
        MAP_TEST(devices_must_be_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
