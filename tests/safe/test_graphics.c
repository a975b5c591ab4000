/*
 * Buffers and images of another API, which the simulator has under their names. tests/graphics/ has
 * those of a real OpenGL.
 */
#include "kernels.h"

#include <anycuda/cudart_interop.h>

#include <pthread.h>

enum { GL_2D = 0x0DE1, GL_3D = 0x806F, GL_CUBE = 0x8513, GL_2D_ARRAY = 0x8C1A };
enum { GL_R32UI = 0x8236, GL_R32F = 0x822E, GL_RGBA8 = 0x8058 };
enum { ELEMENTS = 64, BYTES = 4 * ELEMENTS };

static acu_stream *stream, *other;
static unsigned name;          /* of a buffer of OpenGL */
static acu_graphics *graphics; /* the same, registered */

static unsigned image_of(unsigned target, unsigned format, size_t width, size_t height,
                         size_t depth, unsigned levels) {
    const unsigned made = acu_sim_graphics_create(&(acu_sim_graphics_object){
        ACU_SIM_GL_IMAGE, 0, target, format, width, height, depth, levels});
    assert_int_not_equal(made, 0);
    return made;
}

static acu_graphics *registered(acu_graphics_type type, unsigned of, unsigned target,
                                unsigned flags) {
    acu_graphics *made = NULL;
    const acu_graphics_source source = {.type = type, .name = of, .target = target, .flags = flags};
    OK(acu_graphics_register(0, &source, &made));
    return made;
}

static int begin_graphics(void **state) {
    int code = begin_kernels(state);
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_create(0, NULL, &other));
    graphics = NULL;
    if (!is_simulated())
        return code;
    acu_sim_graphics_make_current(0);
    name = acu_sim_graphics_create(&(acu_sim_graphics_object){ACU_SIM_GL_BUFFER, .bytes = BYTES});
    graphics = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, 0);
    return code;
}

static int end_graphics(void **state) {
    OK(acu_graphics_release(graphics));
    acu_sim_graphics_destroy(name);
    acu_sim_graphics_make_current(-1);
    OK(acu_stream_release(other));
    OK(acu_stream_release(stream));
    return nothing_left(state);
}

#define GRAPHICS_TEST(function) SAFE_TEST(function, begin_graphics, end_graphics)
#define NEEDS_OTHER_API()       ONLY_SIMULATED("a GPU's resources are OpenGL's: tests/graphics/")

static void draw(uint32_t first) {
    uint32_t values[ELEMENTS];
    for (uint32_t i = 0; i < ELEMENTS; i++)
        values[i] = first + i;
    assert_int_equal(acu_sim_graphics_write(name, 0, 0, values, sizeof values), 0);
}

/* What the other API sees; -1: CUDA has it. */
static int64_t seen(size_t at) {
    uint32_t values[ELEMENTS];
    return acu_sim_graphics_read(name, 0, 0, values, sizeof values) ? -1 : (int64_t)values[at];
}

static acu_buffer *whole(acu_dtype dtype) {
    acu_buffer *buffer = NULL;
    OK(acu_graphics_create_buffer(graphics, 0, dtype, ACU_REST, &buffer));
    return buffer;
}

/* ---- buffers ---- */

static void data_goes_both_ways(void **state) {
    (void)state;
    uint32_t got[ELEMENTS];
    NEEDS_OTHER_API();
    for (uint32_t round = 1; round <= 3; round++) {
        draw(1000 * round);
        OK(acu_graphics_map(graphics, stream));
        assert_int_equal(seen(0), -1);
        acu_buffer *buffer = whole(ACU_U32);
        assert_int_equal(acu_buffer_count(buffer), ELEMENTS);
        assert_int_equal(acu_buffer_memory(buffer), ACU_MEMORY_DEVICE);
        assert_ptr_equal(acu_buffer_stream(buffer), stream);
        OK(acu_buffer_read(buffer, got, ELEMENTS));
        assert_true(got[0] == 1000 * round && got[63] == 1000 * round + 63);
        OK(acu_buffer_fill(buffer, &(uint32_t){round}));
        OK(acu_buffer_release(buffer));
        OK(acu_graphics_unmap(graphics, NULL));
        assert_true(seen(0) == round && seen(63) == round);
    }
}

static void kernels_use_the_memory(void **state) {
    (void)state;
    float values[ELEMENTS];
    NEEDS_OTHER_API();
    for (int i = 0; i < ELEMENTS; i++)
        values[i] = (float)i;
    assert_int_equal(acu_sim_graphics_write(name, 0, 0, values, sizeof values), 0);
    acu_kernel *kernel = kernel_on(0, "scale");
    OK(acu_graphics_map(graphics, stream));
    acu_buffer *buffer = whole(ACU_F32);
    OK(acu_launch(stream, kernel, acu_grid_1d(ELEMENTS, 32), acu_inout(buffer), 3.0F, 64u));
    OK(acu_buffer_release(buffer));
    OK(acu_graphics_unmap(graphics, NULL)); /* nobody has waited for the kernel */
    assert_int_equal(acu_sim_graphics_read(name, 0, 0, values, sizeof values), 0);
    assert_true(values[0] == 0 && values[1] == 3 && values[63] == 189);
    OK(acu_kernel_release(kernel));
}

static void parts_of_a_buffer(void **state) {
    (void)state;
    uint32_t got = 0;
    acu_buffer *part = NULL;
    NEEDS_OTHER_API();
    draw(7);
    OK(acu_graphics_map(graphics, stream));
    OK(acu_graphics_create_buffer(graphics, 12, ACU_U32, 2, &part));
    assert_int_equal(acu_buffer_count(part), 2);
    OK(acu_buffer_read_typed(part, 1, ACU_U32, &got, 1, NULL));
    assert_int_equal(got, 7 + 4);
    OK(acu_buffer_release(part));
    OK(acu_graphics_create_buffer(graphics, 250, ACU_U8, ACU_REST, &part));
    assert_int_equal(acu_buffer_count(part), 6);
    OK(acu_buffer_release(part));
    FAILS(acu_graphics_create_buffer(graphics, 0, ACU_U32, ELEMENTS + 1, &part), ACU_ERROR_RANGE,
          "outside of the 256 bytes");
    FAILS(acu_graphics_create_buffer(graphics, BYTES, ACU_U8, ACU_REST, &part), ACU_ERROR_RANGE,
          "0 elements of 1 bytes from byte 256 on");
    FAILS(acu_graphics_create_buffer(graphics, SIZE_MAX, ACU_U8, 1, &part), ACU_ERROR_RANGE,
          "outside of");
    FAILS(acu_graphics_create_buffer(graphics, 0, ACU_U8, 0, &part), ACU_ERROR_RANGE, "are none");
    FAILS(acu_graphics_create_buffer(graphics, 0, ACU_F64, SIZE_MAX / 4, &part), ACU_ERROR_RANGE,
          "outside of");
    FAILS(acu_graphics_create_buffer(graphics, 2, ACU_U32, 1, &part), ACU_ERROR_DTYPE,
          "byte 2 is not aligned for u32");
    FAILS(acu_graphics_create_buffer(graphics, 0, (acu_dtype)0x77777777, 1, &part), ACU_ERROR_DTYPE,
          "no type of elements");
    assert_null(part);
    OK(acu_graphics_unmap(graphics, NULL));
}

/* ---- images ---- */

static void levels_of_an_image(void **state) {
    (void)state;
    uint32_t values[16 * 8], got[16 * 8];
    NEEDS_OTHER_API();
    const unsigned image = image_of(GL_2D, GL_R32UI, 16, 8, 0, 3);
    acu_graphics *g = registered(ACU_GRAPHICS_GL_IMAGE, image, GL_2D, 0);
    for (uint32_t i = 0; i < 128; i++)
        values[i] = 100 + i;
    assert_int_equal(acu_sim_graphics_write(image, 0, 1, values, 8 * 4 * 4), 0);
    OK(acu_graphics_map(g, stream));
    for (unsigned level = 0; level < 3; level++) {
        acu_array *array = NULL;
        OK(acu_graphics_create_array(g, 0, level, &array));
        const size_t count = (size_t)(16 >> level) * (8 >> level);
        assert_int_equal(acu_array_count(array), count);
        assert_int_equal(acu_array_format(array).dtype, ACU_U32);
        assert_true(acu_array_extent(array).height == 8u >> level &&
                    acu_array_extent(array).depth == 0);
        assert_ptr_equal(acu_array_stream(array), stream);
        OK(acu_array_read(array, got, count));
        assert_int_equal(got[count - 1], level == 1 ? 100 + 31 : 0);
        values[0] = level;
        OK(acu_array_write(array, values, count));
        OK(acu_array_release(array));
    }
    OK(acu_graphics_unmap(g, NULL));
    for (unsigned level = 0; level < 3; level++) {
        const size_t count = (size_t)(16 >> level) * (8 >> level);
        assert_int_equal(acu_sim_graphics_read(image, 0, level, got, 4 * count), 0);
        assert_true(got[0] == level && got[count - 1] == 100 + count - 1);
    }
    OK(acu_graphics_release(g));
    acu_sim_graphics_destroy(image);
}

static void a_mipmap_of_an_image(void **state) {
    (void)state;
    uint32_t got[4];
    acu_mipmap *mipmap = NULL;
    acu_array *level = NULL;
    NEEDS_OTHER_API();
    const unsigned image = image_of(GL_2D, GL_R32UI, 8, 8, 0, 3);
    acu_graphics *g = registered(ACU_GRAPHICS_GL_IMAGE, image, GL_2D, 0);
    OK(acu_graphics_map(g, stream));
    FAILS(acu_graphics_create_mipmap(g, 0, &mipmap), ACU_ERROR_RANGE, "'levels' is 0");
    FAILS(acu_graphics_create_mipmap(g, 4, &mipmap), 1, "there is no level 3: the mipmap has 3");
    OK(acu_graphics_create_mipmap(g, 3, &mipmap));
    assert_int_equal(acu_mipmap_levels(mipmap), 3);
    assert_true(acu_mipmap_extent(mipmap).width == 8 && acu_mipmap_stream(mipmap) == stream);
    OK(acu_mipmap_get_level(mipmap, 2, &level));
    OK(acu_mipmap_release(mipmap));
    FAILS(acu_graphics_unmap(g, NULL), ACU_ERROR_STATE, "by what was made of it");
    OK(acu_array_write(level, ((uint32_t[]){1, 2, 3, 4}), 4));
    OK(acu_array_release(level));
    OK(acu_graphics_unmap(g, NULL));
    assert_int_equal(acu_sim_graphics_read(image, 0, 2, got, sizeof got), 0);
    assert_true(got[0] == 1 && got[3] == 4);
    OK(acu_graphics_release(g));
    acu_sim_graphics_destroy(image);
}

/* Writes its number into each layer, and looks where it is. */
static void each_layer(unsigned target, size_t depth, unsigned layers) {
    uint32_t got[16];
    const unsigned image = image_of(target, GL_R32UI, 8, 8, depth, 2);
    acu_graphics *g = registered(ACU_GRAPHICS_GL_IMAGE, image, target, 0);
    acu_array *array = NULL;
    OK(acu_graphics_map(g, stream));
    for (unsigned i = 0; i < layers; i++) {
        for (uint32_t k = 0; k < 16; k++)
            got[k] = 10 * (i + 1);
        OK(acu_graphics_create_array(g, i, 1, &array));
        OK(acu_array_write(array, got, 16));
        OK(acu_array_release(array));
    }
    FAILS(acu_graphics_create_array(g, layers, 0, &array), 1,
          "cudaGraphicsSubResourceGetMappedArray");
    FAILS(acu_graphics_create_array(g, 0, 2, &array), 1, "no array 0 of level 2");
    OK(acu_graphics_unmap(g, NULL));
    for (unsigned i = 0; i < layers; i++) {
        assert_int_equal(acu_sim_graphics_read(image, i, 1, got, sizeof got), 0);
        assert_true(got[0] == 10 * (i + 1) && got[15] == 10 * (i + 1));
    }
    OK(acu_graphics_release(g));
    acu_sim_graphics_destroy(image);
}

static void layers_and_faces(void **state) {
    (void)state;
    NEEDS_OTHER_API();
    each_layer(GL_2D, 0, 1);
    each_layer(GL_2D_ARRAY, 3, 3);
    each_layer(GL_CUBE, 0, 6);
}

static void an_image_of_three_dimensions(void **state) {
    (void)state;
    float values[2 * 3 * 4], got[2 * 3 * 4];
    acu_array *array = NULL;
    NEEDS_OTHER_API();
    const unsigned image = image_of(GL_3D, GL_R32F, 2, 3, 4, 1);
    acu_graphics *g = registered(ACU_GRAPHICS_GL_IMAGE, image, GL_3D, ACU_GRAPHICS_READ_ONLY);
    for (int i = 0; i < 24; i++)
        values[i] = (float)i;
    assert_int_equal(acu_sim_graphics_write(image, 0, 0, values, sizeof values), 0);
    OK(acu_graphics_map(g, stream));
    OK(acu_graphics_create_array(g, 0, 0, &array));
    assert_int_equal(acu_array_extent(array).depth, 4);
    OK(acu_array_read(array, got, 24));
    assert_memory_equal(got, values, sizeof got);
    OK(acu_array_release(array));
    OK(acu_graphics_release(g)); /* which unmaps it */
    assert_int_equal(acu_sim_graphics_read(image, 0, 0, got, sizeof got), 0);
    acu_sim_graphics_destroy(image);
}

/* A texture keeps its array, and that the mapping. */
static void textures_and_surfaces(void **state) {
    (void)state;
    acu_array *array = NULL;
    acu_texture *texture = NULL;
    acu_surface *surface = NULL;
    NEEDS_OTHER_API();
    const unsigned image = image_of(GL_2D, GL_RGBA8, 8, 8, 0, 1);
    acu_graphics *g = registered(ACU_GRAPHICS_GL_IMAGE, image, GL_2D, ACU_GRAPHICS_SURFACE);
    OK(acu_graphics_map(g, stream));
    OK(acu_graphics_create_array(g, 0, 0, &array));
    assert_int_equal(acu_array_format(array).channels, 4);
    OK(acu_texture_create(&(acu_texture_source){.array = array}, NULL, &texture));
    OK(acu_surface_create(array, &surface));
    OK(acu_array_release(array));
    FAILS(acu_graphics_unmap(g, NULL), ACU_ERROR_STATE, "its mapping is still in use");
    OK(acu_surface_release(surface));
    FAILS(acu_graphics_unmap(g, NULL), ACU_ERROR_STATE, "its mapping is still in use");
    OK(acu_texture_release(texture));
    OK(acu_graphics_unmap(g, NULL));
    OK(acu_graphics_release(g));
    acu_sim_graphics_destroy(image);
}

/* ---- several at once ---- */

static void several_at_once(void **state) {
    (void)state;
    acu_array *array = NULL;
    NEEDS_OTHER_API();
    const unsigned image = image_of(GL_2D, GL_R32UI, 4, 4, 0, 1);
    acu_graphics *g = registered(ACU_GRAPHICS_GL_IMAGE, image, GL_2D, 0);
    acu_graphics *both[] = {graphics, g}, *twice[] = {g, graphics, g};
    FAILS(acu_graphics_map_all(both, 0, stream), ACU_ERROR_ARGUMENT, "'count' is 0");
    FAILS(acu_graphics_map_all(twice, 3, stream), ACU_ERROR_ARGUMENT,
          "resource 0 and resource 2 of the list");
    OK(acu_graphics_map(g, stream));
    FAILS(acu_graphics_map_all(both, 2, stream), ACU_ERROR_STATE, "mapped already");
    assert_int_not_equal(seen(0), -1); /* none was mapped */
    FAILS(acu_graphics_unmap_all(both, 2, NULL), ACU_ERROR_STATE, "it is not mapped");
    OK(acu_graphics_unmap(g, NULL));
    OK(acu_graphics_map_all(both, 2, stream));
    acu_buffer *buffer = whole(ACU_U32);
    OK(acu_graphics_create_array(g, 0, 0, &array));
    OK(acu_buffer_fill(buffer, &(uint32_t){5}));
    OK(acu_array_release(array));
    FAILS(acu_graphics_unmap_all(both, 2, other), ACU_ERROR_STATE, "its mapping is still in use");
    OK(acu_buffer_release(buffer));
    OK(acu_graphics_unmap_all(both, 2, other));
    assert_int_equal(seen(3), 5);
    OK(acu_graphics_release(g));
    acu_sim_graphics_destroy(image);
}

/* A frame as docs/users/graphics.md has it: what is released early is not released again when the
 * scope ends. */
static acu_result frame(acu_graphics *image) {
    ACU_AUTO(acu_buffer) *buffer = NULL;
    ACU_AUTO(acu_array) *array = NULL;
    acu_graphics *const both[] = {graphics, image};
    ACU_TRY(acu_graphics_map_all(both, 2, stream));
    ACU_TRY(acu_graphics_create_buffer(graphics, 0, ACU_U32, ACU_REST, &buffer));
    ACU_TRY(acu_graphics_create_array(image, 0, 0, &array));
    ACU_TRY(acu_buffer_fill(buffer, &(uint32_t){6}));
    acu_buffer_cleanup(&buffer);
    acu_array_cleanup(&array);
    assert_null(buffer);
    assert_null(array);
    return acu_graphics_unmap_all(both, 2, NULL);
}

static void a_frame_and_another(void **state) {
    (void)state;
    NEEDS_OTHER_API();
    const unsigned image = image_of(GL_2D, GL_R32UI, 4, 4, 0, 1);
    acu_graphics *g = registered(ACU_GRAPHICS_GL_IMAGE, image, GL_2D, 0);
    OK(frame(g));
    OK(frame(g));
    assert_int_equal(acu_release_error(NULL), 0);
    assert_int_equal(seen(3), 6);
    OK(acu_graphics_release(g));
    acu_sim_graphics_destroy(image);
}

/* ---- order ---- */

/* The other API's next access comes after all uses, whatever stream unmaps. */
static void uses_on_other_streams(void **state) {
    (void)state;
    blocker block = {0};
    NEEDS_OTHER_API();
    for (int way = 0; way < 2; way++) {
        OK(acu_graphics_map(graphics, stream));
        acu_buffer *buffer = whole(ACU_U32);
        block_stream(&block, other);
        OK(acu_buffer_fill_typed(buffer, ACU_U32, &(uint32_t){40u + (unsigned)way}, other));
        OK(acu_buffer_release(buffer));
        OK(acu_graphics_unmap(graphics, way ? other : NULL)); /* waits for nothing */
        still_waits(way ? other : stream);
        unblock(&block);
        assert_int_equal(seen(9), 40 + way);
        OK(acu_stream_synchronize(other));
    }
}

/* CUDA orders a mapping after what OpenGL was given before, and not after an earlier mapping. */
static void mapped_again_on_another_stream(void **state) {
    (void)state;
    blocker block = {0};
    uint32_t got[ELEMENTS];
    NEEDS_OTHER_API();
    OK(acu_graphics_map(graphics, stream));
    acu_buffer *buffer = whole(ACU_U32);
    block_stream(&block, stream);
    OK(acu_buffer_fill(buffer, &(uint32_t){17}));
    OK(acu_buffer_release(buffer));
    OK(acu_graphics_unmap(graphics, NULL));
    OK(acu_graphics_map(graphics, other)); /* waits for nothing */
    still_waits(other);
    unblock(&block);
    buffer = whole(ACU_U32);
    OK(acu_buffer_read(buffer, got, ELEMENTS));
    assert_int_equal(got[63], 17);
    OK(acu_buffer_release(buffer));
    OK(acu_graphics_unmap(graphics, NULL));
}

/* A resource that is not mapped keeps no stream, but still comes after what that was given. */
static void mapped_again_after_its_stream(void **state) {
    (void)state;
    blocker block = {0};
    acu_stream *gone = NULL;
    NEEDS_OTHER_API();
    OK(acu_stream_create(0, NULL, &gone));
    OK(acu_graphics_map(graphics, gone));
    acu_buffer *buffer = whole(ACU_U32);
    block_stream(&block, gone);
    OK(acu_buffer_fill(buffer, &(uint32_t){23}));
    OK(acu_buffer_release(buffer));
    OK(acu_graphics_unmap(graphics, NULL));
    OK(acu_stream_release(gone));
    OK(acu_graphics_map(graphics, other));
    still_waits(other);
    unblock(&block);
    OK(acu_graphics_unmap(graphics, NULL));
    assert_int_equal(seen(63), 23);
}

/* The last release unmaps on the stream of the mapping, after all uses. */
static void released_while_it_is_mapped(void **state) {
    (void)state;
    NEEDS_OTHER_API();
    acu_graphics *g = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, 0);
    acu_buffer *buffer = NULL, *slice = NULL;
    draw(1);
    OK(acu_graphics_map(g, stream));
    OK(acu_graphics_create_buffer(g, 0, ACU_U32, ACU_REST, &buffer));
    OK(acu_buffer_slice(buffer, 4, 4, &slice));
    OK(acu_graphics_release(g));
    assert_int_equal(seen(0), -1);
    OK(acu_buffer_fill(buffer, &(uint32_t){6}));
    OK(acu_buffer_release(buffer));
    assert_int_equal(seen(0), -1);
    OK(acu_buffer_fill_typed(slice, ACU_U32, &(uint32_t){8}, other));
    OK(acu_buffer_release(slice));
    assert_true(seen(0) == 6 && seen(4) == 8 && seen(8) == 6);
    OK(acu_graphics_map(graphics, stream)); /* the other registration is as before */
    OK(acu_graphics_unmap(graphics, NULL));
}

/* A graph keeps the mapping, as it keeps any memory. */
static void captured_work(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    NEEDS_OTHER_API();
    OK(acu_graphics_map(graphics, stream));
    acu_buffer *buffer = whole(ACU_U32);
    OK(acu_stream_begin_capture(stream, &(acu_capture_options){.mode = ACU_CAPTURE_RELAXED}));
    OK(acu_buffer_fill(buffer, &(uint32_t){21}));
    FAILS(acu_graphics_map(graphics, stream), ACU_ERROR_CAPTURE, "captured");
    OK(acu_buffer_release(buffer));
    OK(acu_stream_end_capture(stream, &graph));
    FAILS(acu_graphics_unmap(graphics, NULL), ACU_ERROR_STATE, "its mapping is still in use");
    assert_non_null(strstr(acu_last_error_details().hint, "graphs"));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
    OK(acu_graphics_unmap(graphics, NULL));
    assert_int_equal(seen(5), 21);
}

static void unmapping_within_a_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    NEEDS_OTHER_API();
    OK(acu_graphics_map(graphics, stream));
    OK(acu_stream_begin_capture(stream, NULL));
    FAILS(acu_graphics_unmap(graphics, NULL), ACU_ERROR_CAPTURE, "captured");
    FAILS(acu_graphics_unmap(graphics, other), ACU_ERROR_CAPTURE, "would break the capture");
    OK(acu_stream_end_capture(stream, &graph)); /* it is as it was */
    OK(acu_graph_release(graph));
    OK(acu_graphics_unmap(graphics, NULL));
}

/* ---- registering ---- */

static void without_a_context(void **state) {
    (void)state;
    acu_graphics *made = NULL;
    acu_device device = 77;
    size_t count = 1;
    const acu_graphics_source source = {.type = ACU_GRAPHICS_GL_BUFFER, .name = name};
    NEEDS_OTHER_API();
    OK(acu_graphics_get_gl_devices(ACU_GRAPHICS_GL_ALL, &device, &count));
    assert_true(device == 0 && count == 1);
    acu_sim_graphics_make_current(-1);
    FAILS(acu_graphics_get_gl_devices(ACU_GRAPHICS_GL_ALL, NULL, &count), 219,
          "no context of OpenGL");
    assert_int_equal(count, 0);
    FAILS(acu_graphics_register(0, &source, &made), 219, "is current in this thread");
    assert_non_null(strstr(acu_last_error_details().hint, "eglMakeCurrent()"));
    FAILS(acu_graphics_map(graphics, stream), 219, "OpenGL buffer");
    assert_int_equal(cudaGetLastError(), 0);
    acu_sim_graphics_make_current(0);
    OK(acu_graphics_map(graphics, stream));
    acu_sim_graphics_make_current(-1);
    FAILS(acu_graphics_unmap(graphics, NULL), 219, "no context of OpenGL");
    acu_sim_graphics_make_current(0);
    acu_buffer *buffer = whole(ACU_U8); /* it is still mapped */
    OK(acu_buffer_release(buffer));
    OK(acu_graphics_unmap(graphics, NULL));
    acu_sim_graphics_make_current(1);
    FAILS(acu_graphics_register(0, &source, &made), 999, "is of device 1");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_graphics_get_gl_devices()"));
    assert_null(made);
    acu_sim_graphics_make_current(0);
}

static void *release_elsewhere(void *resource) {
    return (void *)(intptr_t)acu_graphics_release(resource);
}

/* The other thread has no context of OpenGL. */
static void released_by_another_thread(void **state) {
    (void)state;
    pthread_t thread;
    void *result = NULL;
    acu_error error;
    NEEDS_OTHER_API();
    acu_graphics *g = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, 0);
    cudaGraphicsResource_t raw = acu_graphics_raw(g);
    OK(acu_graphics_map(g, stream));
    assert_int_equal(pthread_create(&thread, NULL, release_elsewhere, g), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_int_equal((intptr_t)result, 219);
    assert_int_equal(acu_release_error(&error), 1);
    assert_int_equal(error.code, 219);
    assert_non_null(strstr(error.message, "no context of OpenGL that CUDA knows"));
    /* CUDA still has it, as it was. */
    assert_int_equal(cudaGraphicsUnmapResources(1, &raw, NULL), 0);
    assert_int_equal(cudaGraphicsUnregisterResource(raw), 0);
}

/* ---- several threads ---- */

enum { DRAWERS = 4, FRAMES = 20 };

typedef struct drawer {
    pthread_t thread;
    uint32_t number;
    int shared; /* frames for which it had the resource of all threads */
} drawer;

static acu_result draw_frame(acu_graphics *resource, acu_stream *on, uint32_t value) {
    acu_buffer *buffer = NULL;
    acu_result code = acu_graphics_map(resource, on);
    if (code)
        return code;
    OK(acu_graphics_create_buffer(resource, 0, ACU_U32, ACU_REST, &buffer));
    OK(acu_buffer_fill_typed(buffer, ACU_U32, &value, on));
    OK(acu_buffer_release(buffer));
    return acu_graphics_unmap(resource, on);
}

/* Draws into a buffer of its own, and into that of all threads where no other one has it. */
static void *draw_frames(void *data) {
    drawer *me = data;
    uint32_t values[ELEMENTS];
    acu_stream *on = NULL;
    acu_sim_graphics_make_current(0);
    const unsigned mine =
        acu_sim_graphics_create(&(acu_sim_graphics_object){ACU_SIM_GL_BUFFER, .bytes = BYTES});
    acu_graphics *resource = registered(ACU_GRAPHICS_GL_BUFFER, mine, 0, 0);
    OK(acu_stream_create(0, NULL, &on));
    for (uint32_t i = 0; i < FRAMES; i++) {
        OK(draw_frame(resource, on, 100 * me->number + i));
        assert_int_equal(acu_sim_graphics_read(mine, 0, 0, values, sizeof values), 0);
        assert_int_equal(values[ELEMENTS - 1], 100 * me->number + i);
        const acu_result code = draw_frame(graphics, on, me->number);
        assert_true(code == 0 || code == ACU_ERROR_STATE);
        me->shared += code == 0;
    }
    OK(acu_graphics_release(resource));
    OK(acu_stream_release(on));
    acu_sim_graphics_destroy(mine);
    acu_sim_graphics_make_current(-1);
    return NULL;
}

static void drawn_by_several_threads(void **state) {
    (void)state;
    drawer all[DRAWERS];
    int shared = 0;
    NEEDS_OTHER_API();
    for (uint32_t i = 0; i < DRAWERS; i++) {
        all[i] = (drawer){.number = i + 1};
        assert_int_equal(pthread_create(&all[i].thread, NULL, draw_frames, &all[i]), 0);
    }
    for (uint32_t i = 0; i < DRAWERS; i++) {
        assert_int_equal(pthread_join(all[i].thread, NULL), 0);
        shared += all[i].shared;
    }
    assert_true(shared > 0); /* the first of them had it */
    assert_true(seen(0) >= 1 && seen(0) <= DRAWERS && seen(0) == seen(ELEMENTS - 1));
}

static void sources_that_are_wrong(void **state) {
    (void)state;
    acu_graphics *made = NULL;
    acu_graphics_source s = {.type = (acu_graphics_type)9};
    FAILS(acu_graphics_register(0, &s, &made), ACU_ERROR_ARGUMENT, "the type is 9");
    s.type = (acu_graphics_type)0;
    FAILS(acu_graphics_register(0, &s, &made), ACU_ERROR_ARGUMENT, "the type is 0");
    s.type = ACU_GRAPHICS_GL_BUFFER;
    FAILS(acu_graphics_register(0, &s, &made), ACU_ERROR_ARGUMENT, "source.name is 0");
    s.name = 1;
    s.flags = ACU_GRAPHICS_SURFACE;
    FAILS(acu_graphics_register(0, &s, &made), ACU_ERROR_ARGUMENT, "this is a buffer");
    s.flags = ACU_GRAPHICS_READ_ONLY | ACU_GRAPHICS_WRITE_DISCARD;
    FAILS(acu_graphics_register(0, &s, &made), ACU_ERROR_ARGUMENT, "can only read, or only write");
    s.flags = 0x10;
    FAILS(acu_graphics_register(0, &s, &made), ACU_ERROR_ARGUMENT, "source.flags is 0x10");
    s.flags = 0;
    s.type = ACU_GRAPHICS_GL_IMAGE;
    FAILS(acu_graphics_register(0, &s, &made), ACU_ERROR_ARGUMENT, "source.target is 0");
    s.type = ACU_GRAPHICS_EGL_IMAGE;
    FAILS(acu_graphics_register(0, &s, &made), ACU_ERROR_ARGUMENT, "source.image is NULL");
    assert_null(made);
    FAILS(acu_graphics_get_gl_devices((acu_graphics_gl_list)4, NULL, &(size_t){0}),
          ACU_ERROR_ARGUMENT, "'list' is 4");
}

static void what_is_not_there(void **state) {
    (void)state;
    acu_graphics *made = NULL;
    NEEDS_OTHER_API();
    const unsigned image = image_of(GL_2D, GL_R32UI, 4, 4, 0, 1);
    acu_graphics_source s = {.type = ACU_GRAPHICS_GL_BUFFER, .name = 100000};
    FAILS(acu_graphics_register(0, &s, &made), 400, "has the name 100000");
    assert_non_null(strstr(acu_last_error_details().hint, "has no such buffer"));
    s.name = image; /* which is no buffer */
    FAILS(acu_graphics_register(0, &s, &made), 400, "cudaGraphicsGLRegisterBuffer");
    s.name = acu_sim_graphics_create(&(acu_sim_graphics_object){.kind = ACU_SIM_GL_BUFFER});
    FAILS(acu_graphics_register(0, &s, &made), 2, "has no memory");
    assert_non_null(strstr(acu_last_error_details().hint, "glBufferData()"));
    acu_sim_graphics_destroy(s.name);
    s.name = image;
    s.type = ACU_GRAPHICS_GL_IMAGE;
    s.target = GL_3D;
    FAILS(acu_graphics_register(0, &s, &made), 1, "was made with the target 0xde1, not 0x806f");
    assert_non_null(strstr(acu_last_error_details().hint, "glTexStorage2D()"));
    s.type = ACU_GRAPHICS_EGL_IMAGE;
    s.image = (void *)(uintptr_t)100000;
    FAILS(acu_graphics_register(0, &s, &made), 999, "cudaGraphicsEGLRegisterImage");
    assert_non_null(strstr(acu_last_error_details().hint, "EGL display"));
    s.type = ACU_GRAPHICS_VDPAU_OUTPUT_SURFACE;
    FAILS(acu_graphics_register(0, &s, &made), 400, "cudaGraphicsVDPAURegisterOutputSurface");
    assert_non_null(strstr(acu_last_error_details().hint, "cudaVDPAUSetVDPAUDevice()"));
    assert_null(made);
    acu_sim_graphics_destroy(image);
}

static void what_a_resource_is(void **state) {
    (void)state;
    acu_graphics_info info;
    char text[200];
    NEEDS_OTHER_API();
    acu_graphics *g = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, ACU_GRAPHICS_READ_ONLY);
    OK(acu_graphics_get_info(g, &info));
    assert_true(info.device == 0 && info.source.type == ACU_GRAPHICS_GL_BUFFER);
    assert_true(info.source.name == name && info.source.flags == ACU_GRAPHICS_READ_ONLY);
    assert_false(info.is_mapped);
    assert_int_equal(info.bytes, 0);
    OK(acu_graphics_set_map_flags(g, ACU_GRAPHICS_WRITE_DISCARD));
    FAILS(acu_graphics_set_map_flags(g, ACU_GRAPHICS_SURFACE), ACU_ERROR_ARGUMENT, "is 0x4");
    OK(acu_graphics_map(g, stream));
    FAILS(acu_graphics_set_map_flags(g, 0), ACU_ERROR_STATE, "it is mapped");
    OK(acu_graphics_get_info(g, &info));
    assert_true(info.is_mapped);
    assert_int_equal(info.bytes, BYTES);
    assert_int_equal(acu_graphics_device(g), 0);
    assert_ptr_equal(acu_graphics_retain(g), g);
    OK(acu_graphics_release(g));
    acu_graphics_describe(g, text, sizeof text);
    assert_non_null(strstr(text, "graphics resource 0x"));
    assert_non_null(strstr(text, "OpenGL buffer"));
    OK(acu_graphics_unmap(g, NULL));
    OK(acu_graphics_release(g));
}

static void wrapped_and_adopted(void **state) {
    (void)state;
    acu_graphics *g = NULL;
    char text[200];
    cudaGraphicsResource_t raw = NULL;
    NEEDS_OTHER_API();
    assert_int_equal(cudaGraphicsGLRegisterBuffer(&raw, name, 0), 0);
    FAILS(acu_graphics_wrap(0, raw, (acu_graphics_type)6, &g), ACU_ERROR_ARGUMENT, "the type is 6");
    OK(acu_graphics_wrap(0, raw, ACU_GRAPHICS_GL_BUFFER, &g));
    assert_ptr_equal(acu_graphics_raw(g), raw);
    acu_graphics_describe(g, text, sizeof text);
    assert_non_null(strstr(text, "wrapped"));
    OK(acu_graphics_map(g, stream));
    OK(acu_graphics_release(g)); /* unmapped, and still registered */
    assert_int_equal(cudaGraphicsMapResources(1, &raw, NULL), 0);
    assert_int_equal(cudaGraphicsUnmapResources(1, &raw, NULL), 0);
    OK(acu_graphics_adopt(0, raw, ACU_GRAPHICS_GL_BUFFER, &g));
    OK(acu_graphics_release(g));
    assert_int_equal(cudaGraphicsUnregisterResource(raw), 400);
}

/* ---- states ---- */

static void what_is_mapped_as_another(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_array *array = NULL;
    acu_mipmap *mipmap = NULL;
    NEEDS_OTHER_API();
    const unsigned image = image_of(GL_2D, GL_R32UI, 4, 4, 0, 1);
    acu_graphics *g = registered(ACU_GRAPHICS_GL_IMAGE, image, GL_2D, 0);
    FAILS(acu_graphics_unmap(graphics, NULL), ACU_ERROR_STATE, "it is not mapped");
    FAILS(acu_graphics_create_buffer(graphics, 0, ACU_U8, 1, &buffer), ACU_ERROR_STATE,
          "acu_graphics_map() comes first");
    FAILS(acu_graphics_create_array(g, 0, 0, &array), ACU_ERROR_STATE, "comes first");
    FAILS(acu_graphics_create_mipmap(g, 1, &mipmap), ACU_ERROR_STATE, "comes first");
    OK(acu_graphics_map(graphics, stream));
    OK(acu_graphics_map(g, stream));
    FAILS(acu_graphics_map(g, stream), ACU_ERROR_STATE, "mapped already");
    FAILS(acu_graphics_create_array(graphics, 0, 0, &array), ACU_ERROR_STATE,
          "acu_graphics_create_buffer()");
    FAILS(acu_graphics_create_mipmap(graphics, 1, &mipmap), ACU_ERROR_STATE, "only images");
    FAILS(acu_graphics_create_buffer(g, 0, ACU_U8, 1, &buffer), ACU_ERROR_STATE,
          "acu_graphics_create_array()");
    assert_true(!buffer && !array && !mipmap);
    OK(acu_graphics_unmap(g, NULL));
    OK(acu_graphics_unmap(graphics, NULL));
    OK(acu_graphics_release(g));
    acu_sim_graphics_destroy(image);
}

static void a_stream_of_another_device(void **state) {
    (void)state;
    acu_stream *far = NULL;
    NEEDS_TWO_DEVICES();
    NEEDS_OTHER_API();
    OK(acu_stream_create(1, NULL, &far));
    FAILS(acu_graphics_map(graphics, far), ACU_ERROR_DEVICE,
          "registered on device 0, and the stream is on device 1");
    OK(acu_graphics_map(graphics, stream));
    FAILS(acu_graphics_unmap(graphics, far), ACU_ERROR_DEVICE, "the stream is on device 1");
    OK(acu_graphics_unmap(graphics, NULL));
    OK(acu_stream_release(far));
}

/* ---- EGL and VDPAU ---- */

static void an_egl_image(void **state) {
    (void)state;
    uint32_t got[16];
    acu_graphics *g = NULL;
    acu_array *array = NULL;
    NEEDS_OTHER_API();
    const unsigned image = acu_sim_graphics_create(
        &(acu_sim_graphics_object){ACU_SIM_EGL_IMAGE, .format = GL_R32UI, .width = 4, .height = 4});
    const acu_graphics_source source = {.type = ACU_GRAPHICS_EGL_IMAGE,
                                        .image = (void *)(uintptr_t)image};
    acu_sim_graphics_make_current(-1); /* EGL images need no context of OpenGL */
    OK(acu_graphics_register(0, &source, &g));
    FAILS(acu_graphics_set_map_flags(g, 0), ACU_ERROR_STATE, "does not map EGL images");
    OK(acu_graphics_map(g, stream));
    FAILS(acu_graphics_create_array(g, 1, 0, &array), ACU_ERROR_RANGE,
          "there is no plane 1: the image has 1");
    FAILS(acu_graphics_create_array(g, 0, 1, &array), ACU_ERROR_RANGE, "an EGL image has one");
    OK(acu_graphics_create_array(g, 0, 0, &array));
    for (uint32_t i = 0; i < 16; i++)
        got[i] = i;
    OK(acu_array_write(array, got, 16));
    FAILS(acu_graphics_unmap(g, NULL), ACU_ERROR_STATE, "its mapping is still in use");
    OK(acu_array_release(array));
    OK(acu_graphics_unmap(g, NULL));
    OK(acu_stream_synchronize(stream));
    got[15] = 0;
    assert_int_equal(acu_sim_graphics_read(image, 0, 0, got, sizeof got), 0);
    assert_int_equal(got[15], 15);
    OK(acu_graphics_map(g, stream));
    OK(acu_graphics_release(g));
    acu_sim_graphics_destroy(image);
    acu_sim_graphics_make_current(0);
}

static void surfaces_of_vdpau(void **state) {
    (void)state;
    uint8_t luma[16 * 4], chroma[2 * 8 * 2], got[16 * 4];
    acu_array *array = NULL;
    NEEDS_OTHER_API();
    const unsigned video = acu_sim_graphics_create(
        &(acu_sim_graphics_object){ACU_SIM_VDPAU_VIDEO_SURFACE, .width = 16, .height = 8});
    const unsigned output = acu_sim_graphics_create(
        &(acu_sim_graphics_object){ACU_SIM_VDPAU_OUTPUT_SURFACE, .width = 4, .height = 4});
    acu_graphics *both[] = {registered(ACU_GRAPHICS_VDPAU_VIDEO_SURFACE, video, 0, 0),
                            registered(ACU_GRAPHICS_VDPAU_OUTPUT_SURFACE, output, 0, 0)};
    memset(luma, 9, sizeof luma);
    memset(chroma, 3, sizeof chroma);
    OK(acu_graphics_map_all(both, 2, stream));
    OK(acu_graphics_create_array(both[0], 1, 0, &array));
    OK(acu_array_write(array, luma, sizeof luma));
    OK(acu_array_release(array));
    OK(acu_graphics_create_array(both[0], 2, 0, &array));
    assert_int_equal(acu_array_format(array).channels, 2);
    OK(acu_array_write(array, chroma, sizeof chroma));
    OK(acu_array_release(array));
    OK(acu_graphics_create_array(both[1], 0, 0, &array));
    assert_int_equal(acu_array_format(array).channels, 4);
    OK(acu_array_release(array));
    OK(acu_graphics_unmap_all(both, 2, NULL));
    assert_int_equal(acu_sim_graphics_read(video, 1, 0, got, sizeof luma), 0);
    assert_memory_equal(got, luma, sizeof luma);
    assert_int_equal(acu_sim_graphics_read(video, 2, 0, got, sizeof chroma), 0);
    assert_memory_equal(got, chroma, sizeof chroma);
    OK(acu_graphics_release(both[0]));
    OK(acu_graphics_release(both[1]));
    acu_sim_graphics_destroy(video);
    acu_sim_graphics_destroy(output);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPHICS_TEST(data_goes_both_ways),
        GRAPHICS_TEST(kernels_use_the_memory),
        GRAPHICS_TEST(parts_of_a_buffer),
        GRAPHICS_TEST(levels_of_an_image),
        GRAPHICS_TEST(a_mipmap_of_an_image),
        GRAPHICS_TEST(layers_and_faces),
        GRAPHICS_TEST(an_image_of_three_dimensions),
        GRAPHICS_TEST(textures_and_surfaces),
        GRAPHICS_TEST(several_at_once),
        GRAPHICS_TEST(a_frame_and_another),
        GRAPHICS_TEST(uses_on_other_streams),
        GRAPHICS_TEST(mapped_again_on_another_stream),
        GRAPHICS_TEST(mapped_again_after_its_stream),
        GRAPHICS_TEST(released_while_it_is_mapped),
        GRAPHICS_TEST(captured_work),
        GRAPHICS_TEST(unmapping_within_a_capture),
        GRAPHICS_TEST(without_a_context),
        GRAPHICS_TEST(released_by_another_thread),
        GRAPHICS_TEST(drawn_by_several_threads),
        GRAPHICS_TEST(sources_that_are_wrong),
        GRAPHICS_TEST(what_is_not_there),
        GRAPHICS_TEST(what_a_resource_is),
        GRAPHICS_TEST(wrapped_and_adopted),
        GRAPHICS_TEST(what_is_mapped_as_another),
        GRAPHICS_TEST(a_stream_of_another_device),
        GRAPHICS_TEST(an_egl_image),
        GRAPHICS_TEST(surfaces_of_vdpau),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
