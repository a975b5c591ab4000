/*
 * Buffers and images of OpenGL that CUDA maps: what OpenGL writes, CUDA reads, and the other way,
 * in the order of mappings and without waiting.
 *
 * On a GPU that is a real OpenGL, without a window; on the simulator what stands for it. The
 * program needs nothing but libc, because a GPU's machine may have no more; what it prints of each
 * test looks as cmocka's, for tests/gpu/suites.py.
 */
#include "test_graphics.h"

#include <anycuda/cudart.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1 << 16, BYTES = 4 * COUNT, SIDE = 64, SKIPPED = 77 };

const gl_api *gl;
int failures;

static acu_stream *stream, *other;
static uint32_t numbers[COUNT];

/* Fills memory with numbers that no other round has. */
static void number(uint32_t *memory, size_t count, uint32_t round) {
    for (uint32_t i = 0; i < count; i++)
        memory[i] = round * 0x01000193u + i;
}

static bool is_numbered(const uint32_t *memory, size_t count, uint32_t round) {
    for (uint32_t i = 0; i < count; i++)
        if (memory[i] != round * 0x01000193u + i)
            return false;
    return true;
}

static acu_graphics *registered(acu_graphics_type type, unsigned name, unsigned target,
                                unsigned flags) {
    acu_graphics *made = NULL;
    const acu_graphics_source source = {type, name, target, NULL, flags};
    if (acu_graphics_register(0, &source, &made)) {
        printf("%s\n", acu_last_error_message());
        failures++;
    }
    return made;
}

/* ---- kernels ---- */

/* Both write `first` plus the number of the element: one into memory, one into an image of 64 x 64
 * elements. */
static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry count_up(.param .u64 to, .param .u32 first)\n{\n"
    "    .reg .u32 %r<6>;\n    .reg .u64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.u32 %r1, [first];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.u32 %r5, %r2, %r3, %r4;\n    add.u32 %r1, %r1, %r5;\n"
    "    mul.wide.u32 %rd2, %r5, 4;\n    add.u64 %rd3, %rd1, %rd2;\n"
    "    st.global.u32 [%rd3], %r1;\n    ret;\n}\n"
    ".visible .entry paint(.param .u64 image, .param .u32 first)\n{\n"
    "    .reg .u32 %r<9>;\n    .reg .u64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [image];\n    ld.param.u32 %r1, [first];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.u32 %r5, %r2, %r3, %r4;\n    add.u32 %r1, %r1, %r5;\n"
    "    shr.u32 %r6, %r5, 6;\n    and.b32 %r7, %r5, 63;\n    shl.b32 %r8, %r7, 2;\n"
    "    sust.b.2d.b32.trap [%rd1, {%r8, %r6}], {%r1};\n    ret;\n}\n";

static acu_kernel *kernel_of(const char *name) {
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    if (acu_module_load(0, &(acu_module_source){.ptx = ptx}, &module) ||
        acu_module_get_kernel(module, name, &kernel)) {
        printf("%s\n", acu_last_error_message());
        failures++;
    }
    acu_module_cleanup(&module);
    return kernel;
}

/* ---- buffers ---- */

static void the_device(void) {
    acu_device devices[4] = {77, 77, 77, 77};
    size_t count = 4;
    OK(acu_graphics_get_gl_devices(ACU_GRAPHICS_GL_ALL, devices, &count));
    CHECK(count == 1 && devices[0] == 0 && devices[1] == 77);
    count = 0;
    OK(acu_graphics_get_gl_devices(ACU_GRAPHICS_GL_ALL, NULL, &count));
    CHECK(count == 1);
}

static void a_buffer(void) {
    const unsigned name = gl->new_buffer(BYTES);
    ACU_AUTO(acu_graphics) *graphics = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, 0);
    for (uint32_t round = 1; round <= 3; round++) {
        ACU_AUTO(acu_buffer) *buffer = NULL;
        number(numbers, COUNT, round);
        gl->write_buffer(name, numbers, BYTES);
        memset(numbers, 0, sizeof numbers);
        OK(acu_graphics_map(graphics, stream));
        OK(acu_graphics_create_buffer(graphics, 0, ACU_U32, ACU_REST, &buffer));
        CHECK(acu_buffer_count(buffer) == COUNT);
        OK(acu_buffer_read(buffer, numbers, COUNT));
        CHECK(is_numbered(numbers, COUNT, round));
        number(numbers, COUNT, 10 + round);
        OK(acu_buffer_write(buffer, numbers, COUNT));
        END(buffer, buffer);
        OK(acu_graphics_unmap(graphics, NULL));
        memset(numbers, 0, sizeof numbers);
        gl->read_buffer(name, numbers, BYTES);
        CHECK(is_numbered(numbers, COUNT, 10 + round));
    }
    END(graphics, graphics);
    gl->delete_buffer(name);
}

static void a_kernel_writes_a_buffer(void) {
    ACU_AUTO(acu_buffer) *buffer = NULL;
    ACU_AUTO(acu_kernel) *kernel = kernel_of("count_up");
    const unsigned name = gl->new_buffer(BYTES);
    ACU_AUTO(acu_graphics) *graphics =
        registered(ACU_GRAPHICS_GL_BUFFER, name, 0, ACU_GRAPHICS_WRITE_DISCARD);
    OK(acu_graphics_map(graphics, stream));
    OK(acu_graphics_create_buffer(graphics, 0, ACU_U32, ACU_REST, &buffer));
    OK(acu_launch(stream, kernel, acu_grid_1d(COUNT, 256), acu_out(buffer), 0x01000193u));
    END(buffer, buffer);
    OK(acu_graphics_unmap(graphics, NULL));
    gl->read_buffer(name, numbers, BYTES);
    CHECK(is_numbered(numbers, COUNT, 1));
    END(graphics, graphics);
    gl->delete_buffer(name);
}

/* OpenGL copies in, CUDA adds up on a second stream too, OpenGL copies out; nobody waits until the
 * end. */
static void without_waiting(void) {
    enum { ROUNDS = 20 };
    ACU_AUTO(acu_kernel) *kernel = kernel_of("count_up");
    const unsigned source = gl->new_buffer(BYTES), shared = gl->new_buffer(BYTES);
    ACU_AUTO(acu_graphics) *graphics = registered(ACU_GRAPHICS_GL_BUFFER, shared, 0, 0);
    ACU_AUTO(acu_buffer) *seen = NULL;
    unsigned results[ROUNDS];
    OK(acu_buffer_create(stream, ACU_U32, (size_t)ROUNDS * COUNT, &seen));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        ACU_AUTO(acu_buffer) *buffer = NULL, *part = NULL;
        results[round] = gl->new_buffer(BYTES);
        number(numbers, COUNT, 1 + round);
        gl->write_buffer(source, numbers, BYTES);
        gl->copy_buffer(shared, source, BYTES);
        OK(acu_graphics_map(graphics, round % 2 ? other : stream));
        OK(acu_graphics_create_buffer(graphics, 0, ACU_U32, ACU_REST, &buffer));
        OK(acu_buffer_slice(seen, (size_t)round * COUNT, COUNT, &part));
        OK(acu_buffer_copy(part, buffer, stream));
        OK(acu_launch(other, kernel, acu_grid_1d(COUNT, 256), acu_out(buffer),
                      (101 + round) * 0x01000193u));
        END(buffer, buffer);
        OK(acu_graphics_unmap(graphics, round % 3 ? NULL : stream));
        gl->copy_buffer(results[round], shared, BYTES);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        OK(acu_buffer_read_typed(seen, (size_t)round * COUNT, ACU_U32, numbers, COUNT, NULL));
        CHECK(is_numbered(numbers, COUNT, 1 + round));
        gl->read_buffer(results[round], numbers, BYTES);
        CHECK(is_numbered(numbers, COUNT, 101 + round));
        gl->delete_buffer(results[round]);
    }
    END(graphics, graphics);
    gl->delete_buffer(source);
    gl->delete_buffer(shared);
}

/* What one mapping's stream wrote, the next mapping's reads, with nothing of OpenGL's between. */
static void mappings_one_after_the_other(void) {
    ACU_AUTO(acu_kernel) *kernel = kernel_of("count_up");
    const unsigned name = gl->new_buffer(BYTES);
    ACU_AUTO(acu_graphics) *graphics = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, 0);
    for (uint32_t round = 1; round <= 50; round++) {
        ACU_AUTO(acu_buffer) *buffer = NULL, *again = NULL;
        acu_stream *first = round % 2 ? stream : other, *second = round % 2 ? other : stream;
        OK(acu_graphics_map(graphics, first));
        OK(acu_graphics_create_buffer(graphics, 0, ACU_U32, ACU_REST, &buffer));
        for (int i = 0; i < 20; i++)
            OK(acu_launch(first, kernel, acu_grid_1d(COUNT, 256), acu_out(buffer), 7u));
        OK(acu_launch(first, kernel, acu_grid_1d(COUNT, 256), acu_out(buffer),
                      round * 0x01000193u));
        END(buffer, buffer);
        OK(acu_graphics_unmap(graphics, NULL));
        OK(acu_graphics_map(graphics, second));
        OK(acu_graphics_create_buffer(graphics, 0, ACU_U32, ACU_REST, &again));
        OK(acu_buffer_read(again, numbers, COUNT));
        CHECK(is_numbered(numbers, COUNT, round));
        END(buffer, again);
        OK(acu_graphics_unmap(graphics, NULL));
    }
    END(graphics, graphics);
    gl->delete_buffer(name);
}

/* The last owner of what was mapped unmaps it, and OpenGL then sees what was written. */
static void released_while_it_is_mapped(void) {
    const unsigned name = gl->new_buffer(BYTES);
    ACU_AUTO(acu_graphics) *graphics = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, 0);
    ACU_AUTO(acu_buffer) *buffer = NULL;
    OK(acu_graphics_map(graphics, stream));
    OK(acu_graphics_create_buffer(graphics, 0, ACU_U32, ACU_REST, &buffer));
    END(graphics, graphics);
    number(numbers, COUNT, 5);
    OK(acu_buffer_write(buffer, numbers, COUNT));
    END(buffer, buffer);
    memset(numbers, 0, sizeof numbers);
    gl->read_buffer(name, numbers, BYTES);
    CHECK(is_numbered(numbers, COUNT, 5));
    graphics = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, 0); /* it was unregistered */
    END(graphics, graphics);
    gl->delete_buffer(name);
}

/* ---- images ---- */

/* Reads an array, whose format is CUDA's answer, and writes other elements there. */
static void exchange(acu_array *array, const gl_shape *shape, size_t count, uint32_t *read,
                     const uint32_t *written) {
    const acu_format format = acu_array_format(array);
    CHECK(format.channels == (shape->format == GL_FORMAT_RGBA8 ? 4 : 1));
    CHECK(format.dtype == (shape->format == GL_FORMAT_RGBA8  ? ACU_U8
                           : shape->format == GL_FORMAT_R32F ? ACU_F32
                                                             : ACU_U32));
    CHECK(acu_array_count(array) == count * format.channels);
    OK(acu_array_read_typed(array, format.dtype, read, count * format.channels, NULL));
    OK(acu_array_write_typed(array, format.dtype, written, count * format.channels, NULL));
}

/* Reads each layer of a level, which has the numbers of the round, and writes the next ones. */
static void exchange_level(acu_graphics *graphics, const gl_shape *shape, unsigned level,
                           uint32_t round) {
    static uint32_t next[COUNT];
    const bool whole = shape->target == GL_IMAGE_3D;
    const size_t count = gl_level_count(shape, level);
    const size_t parts = whole ? 1 : gl_layers(shape, level), part = count / parts;
    memset(numbers, 0, sizeof numbers);
    number(next, count, round + 1);
    for (unsigned i = 0; i < parts; i++) {
        ACU_AUTO(acu_array) *array = NULL;
        OK(acu_graphics_create_array(graphics, i, level, &array));
        CHECK(acu_array_extent(array).width == gl_side(shape->width, level));
        exchange(array, shape, part, numbers + i * part, next + i * part);
    }
    CHECK(is_numbered(numbers, count, round));
}

static void exchange_image(gl_shape shape) {
    const unsigned name = gl->new_image(&shape);
    ACU_AUTO(acu_graphics) *graphics = registered(ACU_GRAPHICS_GL_IMAGE, name, shape.target, 0);
    for (unsigned level = 0; level < shape.levels; level++) {
        number(numbers, gl_level_count(&shape, level), 1 + 10 * level);
        gl->write_level(name, &shape, level, numbers);
    }
    OK(acu_graphics_map(graphics, stream));
    for (unsigned level = 0; level < shape.levels; level++)
        exchange_level(graphics, &shape, level, 1 + 10 * level);
    OK(acu_graphics_unmap(graphics, NULL));
    for (unsigned level = 0; level < shape.levels; level++) {
        memset(numbers, 0, sizeof numbers);
        gl->read_level(name, &shape, level, numbers);
        CHECK(is_numbered(numbers, gl_level_count(&shape, level), 2 + 10 * level));
    }
    END(graphics, graphics);
    gl->delete_image(name);
}

static void an_image(void) {
    exchange_image((gl_shape){GL_IMAGE_2D, GL_FORMAT_R32UI, SIDE, SIDE, 1, 1});
    exchange_image((gl_shape){GL_IMAGE_2D, GL_FORMAT_RGBA8, 48, 20, 1, 1});
}

static void levels(void) {
    exchange_image((gl_shape){GL_IMAGE_2D, GL_FORMAT_R32UI, SIDE, SIDE / 2, 1, 4});
}

static void three_dimensions(void) {
    exchange_image((gl_shape){GL_IMAGE_3D, GL_FORMAT_R32UI, 16, 8, 4, 2});
}

static void layers(void) {
    exchange_image((gl_shape){GL_IMAGE_2D_ARRAY, GL_FORMAT_R32UI, 16, 8, 5, 2});
}

static void a_cube(void) {
    exchange_image((gl_shape){GL_IMAGE_CUBE, GL_FORMAT_R32UI, 16, 16, 6, 2});
}

/* CUDA has the mipmap of a cube for textures, but copies nothing of all faces at once. */
static void a_mipmap_of_a_cube(void) {
    const gl_shape shape = {GL_IMAGE_CUBE, GL_FORMAT_R32UI, 16, 16, 6, 2};
    const unsigned name = gl->new_image(&shape);
    ACU_AUTO(acu_graphics) *graphics = registered(ACU_GRAPHICS_GL_IMAGE, name, shape.target, 0);
    ACU_AUTO(acu_mipmap) *mipmap = NULL;
    ACU_AUTO(acu_array) *level = NULL;
    OK(acu_graphics_map(graphics, stream));
    OK(acu_graphics_create_mipmap(graphics, 2, &mipmap));
    OK(acu_mipmap_get_level(mipmap, 1, &level));
    CHECK(acu_array_count(level) == 6 * 64 && acu_array_extent(level).depth == 6);
    CHECK(acu_array_read(level, numbers, 6 * 64) == 1);
    CHECK(acu_array_write(level, numbers, 6 * 64) == 1);
    END(array, level);
    END(mipmap, mipmap);
    OK(acu_graphics_unmap(graphics, NULL));
    END(graphics, graphics);
    gl->delete_image(name);
}

static void a_mipmap(void) {
    const gl_shape shape = {GL_IMAGE_2D, GL_FORMAT_R32UI, 16, 16, 1, 3};
    const unsigned name = gl->new_image(&shape);
    ACU_AUTO(acu_graphics) *graphics = registered(ACU_GRAPHICS_GL_IMAGE, name, shape.target, 0);
    ACU_AUTO(acu_mipmap) *mipmap = NULL;
    ACU_AUTO(acu_array) *level = NULL;
    OK(acu_graphics_map(graphics, stream));
    OK(acu_graphics_create_mipmap(graphics, 3, &mipmap));
    CHECK(acu_mipmap_extent(mipmap).width == 16);
    OK(acu_mipmap_get_level(mipmap, 1, &level));
    END(mipmap, mipmap);
    number(numbers, 64, 3);
    OK(acu_array_write(level, numbers, 64));
    CHECK(acu_graphics_unmap(graphics, NULL) == ACU_ERROR_STATE);
    END(array, level);
    OK(acu_graphics_unmap(graphics, NULL));
    memset(numbers, 0, sizeof numbers);
    gl->read_level(name, &shape, 1, numbers);
    CHECK(is_numbered(numbers, 64, 3));
    END(graphics, graphics);
    gl->delete_image(name);
}

/* A kernel writes a surface; what OpenGL then reads, nobody has waited for. */
static void a_kernel_paints_an_image(void) {
    const gl_shape shape = {GL_IMAGE_2D, GL_FORMAT_R32UI, SIDE, SIDE, 1, 1};
    ACU_AUTO(acu_kernel) *kernel = kernel_of("paint");
    const unsigned name = gl->new_image(&shape);
    ACU_AUTO(acu_graphics) *graphics =
        registered(ACU_GRAPHICS_GL_IMAGE, name, shape.target, ACU_GRAPHICS_SURFACE);
    ACU_AUTO(acu_array) *array = NULL;
    ACU_AUTO(acu_surface) *surface = NULL;
    OK(acu_graphics_map(graphics, stream));
    OK(acu_graphics_create_array(graphics, 0, 0, &array));
    OK(acu_surface_create(array, &surface));
    OK(acu_launch(stream, kernel, acu_grid_1d(SIDE * SIDE, 256), surface, 4 * 0x01000193u));
    END(surface, surface);
    END(array, array);
    OK(acu_graphics_unmap(graphics, NULL));
    gl->read_level(name, &shape, 0, numbers);
    CHECK(is_numbered(numbers, (size_t)SIDE * SIDE, 4));
    END(graphics, graphics);
    gl->delete_image(name);
}

static void both_at_once(void) {
    const gl_shape shape = {GL_IMAGE_2D, GL_FORMAT_R32F, SIDE, SIDE, 1, 1};
    const unsigned buffer_name = gl->new_buffer(4 * SIDE * SIDE);
    const unsigned image_name = gl->new_image(&shape);
    ACU_AUTO(acu_graphics) *memory = registered(ACU_GRAPHICS_GL_BUFFER, buffer_name, 0, 0);
    ACU_AUTO(acu_graphics) *image = registered(ACU_GRAPHICS_GL_IMAGE, image_name, shape.target, 0);
    acu_graphics *const both[] = {memory, image};
    ACU_AUTO(acu_buffer) *buffer = NULL;
    ACU_AUTO(acu_array) *array = NULL;
    float values[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        values[i] = (float)i;
    OK(acu_graphics_map_all(both, 2, stream));
    OK(acu_graphics_create_buffer(memory, 0, ACU_F32, ACU_REST, &buffer));
    OK(acu_graphics_create_array(image, 0, 0, &array));
    OK(acu_buffer_write(buffer, values, SIDE * SIDE));
    OK(acu_array_write(array, values, SIDE * SIDE));
    END(buffer, buffer);
    END(array, array);
    OK(acu_graphics_unmap_all(both, 2, NULL));
    memset(values, 0, sizeof values);
    gl->read_buffer(buffer_name, values, sizeof values);
    CHECK(values[1] == 1 && values[4095] == 4095);
    memset(values, 0, sizeof values);
    gl->read_level(image_name, &shape, 0, values);
    CHECK(values[1] == 1 && values[4095] == 4095);
    END(graphics, memory);
    END(graphics, image);
    gl->delete_buffer(buffer_name);
    gl->delete_image(image_name);
}

/* The only image that CUDA does not order: the program waits for both sides. */
static void an_egl_image(void) {
    const gl_shape shape = {GL_IMAGE_2D, GL_FORMAT_RGBA8, SIDE, SIDE, 1, 1};
    unsigned name = 0;
    acu_graphics_source source = {.type = ACU_GRAPHICS_EGL_IMAGE};
    ACU_AUTO(acu_graphics) *graphics = NULL;
    ACU_AUTO(acu_array) *array = NULL;
    static uint32_t next[SIDE * SIDE];
    source.image = gl->new_egl_image(&shape, &name);
    CHECK(source.image != NULL);
    number(numbers, SIDE * SIDE, 6);
    gl->write_level(name, &shape, 0, numbers);
    gl->finish();
    OK(acu_graphics_register(0, &source, &graphics));
    OK(acu_graphics_map(graphics, stream));
    OK(acu_graphics_create_array(graphics, 0, 0, &array));
    number(next, SIDE * SIDE, 7);
    exchange(array, &shape, SIDE * SIDE, numbers, next);
    CHECK(is_numbered(numbers, SIDE * SIDE, 6));
    END(array, array);
    OK(acu_graphics_unmap(graphics, NULL));
    OK(acu_stream_synchronize(stream));
    END(graphics, graphics);
    gl->read_egl_image(name, &shape, numbers);
    CHECK(is_numbered(numbers, SIDE * SIDE, 7));
    gl->delete_egl_image(source.image, name);
}

/* ---- without a context ---- */

/* What is refused changes nothing: with the context the work goes on. */
static void without_a_context(void) {
    const unsigned name = gl->new_buffer(BYTES);
    ACU_AUTO(acu_graphics) *graphics = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, 0);
    const acu_graphics_source source = {.type = ACU_GRAPHICS_GL_BUFFER, .name = name};
    acu_graphics *made = NULL;
    size_t count = 0;
    gl->make_current(false);
    CHECK(acu_graphics_get_gl_devices(ACU_GRAPHICS_GL_ALL, NULL, &count) == 219);
    CHECK(acu_graphics_register(0, &source, &made) == 219 && !made);
    CHECK(acu_graphics_map(graphics, stream) == 219);
    gl->make_current(true);
    OK(acu_graphics_map(graphics, stream));
    gl->make_current(false);
    CHECK(acu_graphics_unmap(graphics, NULL) == 219);
    gl->make_current(true);
    OK(acu_graphics_unmap(graphics, NULL));
    END(graphics, graphics);
    gl->delete_buffer(name);
}

static void *release_elsewhere(void *graphics) {
    return (void *)(intptr_t)acu_graphics_release(graphics);
}

static void released_by_another_thread(void) {
    const unsigned name = gl->new_buffer(BYTES);
    acu_graphics *graphics = registered(ACU_GRAPHICS_GL_BUFFER, name, 0, 0);
    cudaGraphicsResource_t raw = acu_graphics_raw(graphics);
    pthread_t thread;
    void *result = NULL;
    CHECK(pthread_create(&thread, NULL, release_elsewhere, graphics) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK((int)(intptr_t)result == 219 && acu_release_error(NULL) == 1);
    CHECK(cudaGraphicsUnregisterResource(raw) == cudaSuccess); /* CUDA still had it */
    gl->delete_buffer(name);
}

/* ---- all ---- */

typedef struct test {
    const char *name;
    void (*run)(void);
} test;
#define TEST(function) {#function, function}

static const test tests[] = {
    TEST(the_device),
    TEST(a_buffer),
    TEST(a_kernel_writes_a_buffer),
    TEST(without_waiting),
    TEST(mappings_one_after_the_other),
    TEST(released_while_it_is_mapped),
    TEST(an_image),
    TEST(levels),
    TEST(three_dimensions),
    TEST(layers),
    TEST(a_cube),
    TEST(a_mipmap),
    TEST(a_mipmap_of_a_cube),
    TEST(a_kernel_paints_an_image),
    TEST(both_at_once),
    TEST(an_egl_image),
    TEST(without_a_context),
    TEST(released_by_another_thread),
    TEST(codes_of_cuda),
};

static void run(const test *one) {
    const int before = failures;
    one->run();
    printf("[%s ] %s\n", failures > before ? "  FAILED " : "       OK", one->name);
    (void)fflush(stdout);
}

int main(void) {
    acu_device_info info;
    if (acu_device_get_info(0, &info)) {
        printf("skipped: %s\n", acu_last_error_message());
        return SKIPPED;
    }
    gl = acu_loaded(ACU_CUDART)->is_sim ? &gl_simulated : &gl_real;
    const char *why =
        getenv("ANYCUDA_TESTS_SERIAL") ? "a tool for CUDA knows nothing of OpenGL" : gl->open(0);
    if (why) {
        printf("skipped: %s\n", why);
        return SKIPPED;
    }
    printf("CUDA %d on %s, OpenGL on %s\n", acu_loaded(ACU_CUDART)->version, info.name, gl->name());
    if (acu_stream_create(0, NULL, &stream) || acu_stream_create(0, NULL, &other)) {
        printf("%s\n", acu_last_error_message());
        return 1;
    }
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        run(&tests[i]);
    if (acu_stream_release(stream) || acu_stream_release(other) || acu_release_error(NULL)) {
        printf("a release failed: %s\n", acu_last_error_message());
        failures++;
    }
    CHECK(cudaDeviceReset() == cudaSuccess); /* codes_of_cuda() loses two */
    gl->close();
    printf("%d failures\n", failures);
    return failures ? 1 : 0;
}
