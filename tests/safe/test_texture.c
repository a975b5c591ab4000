/* Textures and surfaces: how they are made, as arguments of launches, and what keeps them. */
#include "kernels.h"

#include <anycuda/cudart.h>

#define HEAD                                                                                       \
    "(.param .u64 object, .param .u64 to, .param .u32 n)\n{\n"                                     \
    "    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"                  \
    "    ld.param.u64 %rd1, [object];\n"                                                           \
    "    ld.param.u64 %rd2, [to];\n"                                                               \
    "    ld.param.u32 %r5, [n];\n"                                                                 \
    "    mov.u32 %r2, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r3, %ntid.x;\n"                                                                  \
    "    mov.u32 %r4, %tid.x;\n"                                                                   \
    "    mad.lo.s32 %r1, %r2, %r3, %r4;\n"                                                         \
    "    setp.ge.u32 %p1, %r1, %r5;\n"                                                             \
    "    @%p1 bra END;\n"                                                                          \
    "    mul.wide.u32 %rd3, %r1, 4;\n"                                                             \
    "    add.s64 %rd2, %rd2, %rd3;\n"                                                              \
    "    cvt.rn.f32.u32 %f1, %r1;\n"
#define TAIL "END:\n    ret;\n}\n"

static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    /* to[i] = the sample at i + 0.75 */
    ".visible .entry sample" HEAD "    add.f32 %f1, %f1, 0f3F400000;\n"
    "    tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1}];\n"
    "    st.f32 [%rd2], %f2;\n" TAIL
    /* to[i] = texel i */
    ".visible .entry fetch" HEAD "    tex.1d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [%rd1, {%r1}];\n"
    "    st.f32 [%rd2], %f2;\n" TAIL
    /* to[i] = level 1 at (0.5, 0.5) */
    ".visible .entry level" HEAD
    "    tex.level.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {0f3F000000, 0f3F000000}], "
    "0f3F800000;\n"
    "    st.f32 [%rd2], %f2;\n" TAIL
    /* element i of the surface becomes 2 * to[i] */
    ".visible .entry write" HEAD "    ld.f32 %f2, [%rd2];\n"
    "    add.f32 %f2, %f2, %f2;\n"
    "    mov.b32 %r6, %f2;\n"
    "    shl.b32 %r7, %r1, 2;\n"
    "    sust.b.1d.b32.trap [%rd1, {%r7}], {%r6};\n" TAIL
    /* to[i] = element i of the surface */
    ".visible .entry read" HEAD "    shl.b32 %r7, %r1, 2;\n"
    "    suld.b.1d.b32.trap {%r6}, [%rd1, {%r7}];\n"
    "    st.u32 [%rd2], %r6;\n" TAIL;

/* ---- the same on the simulator ---- */

#define OBJECT   (*(const unsigned long long *)args[0])
#define LAUNCHED *(const unsigned *)args[2]

static float *numbers_of(const acu_sim_launch *launch, void *const *args) {
    return acu_sim_at(launch, *(void *const *)args[1], LAUNCHED * sizeof(float));
}

static void sample(const acu_sim_launch *launch, void *const *args) {
    float *to = numbers_of(launch, args);
    for (unsigned i = 0; i < LAUNCHED; i++) {
        const float at = (float)i + 0.75f;
        to[i] = acu_sim_texture_sample(launch, OBJECT, ACU_SIM_1D, 0, &at).f[0];
    }
}

static void fetch(const acu_sim_launch *launch, void *const *args) {
    float *to = numbers_of(launch, args);
    for (unsigned i = 0; i < LAUNCHED; i++)
        to[i] = acu_sim_texture_fetch(launch, OBJECT, ACU_SIM_1D, 0, (const int[]){(int)i}, 0).f[0];
}

static void level(const acu_sim_launch *launch, void *const *args) {
    float *to = numbers_of(launch, args);
    const float at[] = {0.5f, 0.5f};
    for (unsigned i = 0; i < LAUNCHED; i++)
        to[i] = acu_sim_texture_sample_level(launch, OBJECT, ACU_SIM_2D, 0, at, 1).f[0];
}

static void write(const acu_sim_launch *launch, void *const *args) {
    const float *to = numbers_of(launch, args);
    for (unsigned i = 0; i < LAUNCHED; i++) {
        const float twice = to[i] * 2;
        acu_sim_surface_write(launch, OBJECT, ACU_SIM_1D, 0, (const int[]){(int)i * 4},
                              ACU_SIM_TRAP, &twice, sizeof twice);
    }
}

static void read(const acu_sim_launch *launch, void *const *args) {
    float *to = numbers_of(launch, args);
    for (unsigned i = 0; i < LAUNCHED; i++)
        acu_sim_surface_read(launch, OBJECT, ACU_SIM_1D, 0, (const int[]){(int)i * 4}, ACU_SIM_TRAP,
                             &to[i], sizeof to[i]);
}

/* ---- what tests begin with ---- */

static int begin_textures(void **state) {
    return begin_kernels(state) || stand_in("sample", sample) || stand_in("fetch", fetch) ||
           stand_in("level", level) || stand_in("write", write) || stand_in("read", read);
}
#define TEXTURE_TEST(function) SAFE_TEST(function, begin_textures, nothing_left)

static acu_kernel *load(const char *name) {
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    OK(acu_module_load(0, &(acu_module_source){.ptx = ptx}, &module));
    OK(acu_module_get_kernel(module, name, &kernel));
    OK(acu_module_release(module));
    return kernel;
}

enum { N = 8 };

/* An array of N floats: 0, 1, 2 … */
static acu_array *row_on(acu_stream *stream, unsigned flags) {
    acu_array *array = NULL;
    float numbers[N];
    for (int i = 0; i < N; i++)
        numbers[i] = (float)i;
    OK(acu_array_create(stream, (acu_format){.dtype = ACU_F32}, (acu_extent){.width = N}, flags,
                        &array));
    OK(acu_array_write(array, numbers, N));
    return array;
}

static acu_texture *texture_of(acu_array *array, const acu_sampler *sampler) {
    acu_texture *texture = NULL;
    OK(acu_texture_create(&(acu_texture_source){.array = array}, sampler, &texture));
    return texture;
}

static void expect(acu_buffer *buffer, const float numbers[N]) {
    float got[N] = {0};
    OK(acu_buffer_read(buffer, got, N));
    for (int i = 0; i < N; i++)
        if (got[i] != numbers[i])
            fail_msg("number %d is %g, not %g", i, (double)got[i], (double)numbers[i]);
}

static const acu_sampler clamped = {.address = {ACU_ADDRESS_CLAMP}},
                         mixed = {.address = {ACU_ADDRESS_CLAMP}, .filter = ACU_FILTER_LINEAR};
static const float texels[N] = {0, 1, 2, 3, 4, 5, 6, 7};
static const float between[N] = {0.25f, 1.25f, 2.25f, 3.25f, 4.25f, 5.25f, 6.25f, 7};

/* ---- textures ---- */

static void life(void **state) {
    (void)state;
    char text[200];
    acu_stream *stream = stream_on(0);
    acu_array *array = row_on(stream, 0);
    acu_texture *texture = texture_of(array, NULL);
    OK(acu_array_release(array)); /* the texture keeps it */
    assert_true(acu_texture_raw(texture) != 0);
    assert_int_equal(acu_texture_device(texture), 0);
    assert_true(acu_texture_describe(texture, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "texture 0x"));
    assert_ptr_equal(acu_texture_retain(texture), texture);
    OK(acu_texture_release(texture));
    OK(acu_texture_release(texture));
    OK(acu_stream_release(stream));
}

static void are_arguments(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = row_on(stream, 0);
    acu_buffer *to = numbers_on(stream, N);
    acu_kernel *kernel = load("sample");
    acu_texture *texture = texture_of(array, &clamped);
    OK(acu_launch(stream, kernel, acu_grid_1d(N, 32), texture, acu_out(to), N));
    expect(to, texels);
    OK(acu_texture_release(texture));
    texture = texture_of(array, &mixed);
    OK(acu_launch(stream, kernel, acu_grid_1d(N, 32), acu_in_texture(texture), acu_out(to), N));
    OK(acu_texture_release(texture)); /* waits for the kernel */
    OK(acu_array_release(array));
    expect(to, between);
    OK(acu_kernel_release(kernel));
    OK(acu_buffer_release(to));
    OK(acu_stream_release(stream));
}

static void of_buffers(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_buffer *from = numbers_on(stream, 4096), *to = numbers_on(stream, N);
    acu_texture *texture = NULL;
    acu_kernel *kernel = load("fetch");
    OK(acu_texture_create(&(acu_texture_source){.buffer = from, .width = N}, NULL, &texture));
    OK(acu_launch(stream, kernel, acu_grid_1d(N, 32), texture, acu_out(to), N));
    expect(to, texels);
    OK(acu_texture_release(texture));
    OK(acu_texture_create(
        &(acu_texture_source){.buffer = from, .width = 64, .height = 8, .row_pitch = 512}, &mixed,
        &texture));
    OK(acu_texture_release(texture));
    FAILS(acu_texture_create(&(acu_texture_source){.buffer = from, .width = 5000}, NULL, &texture),
          ACU_ERROR_RANGE, "5000 texels of 4 bytes are more");
    FAILS(acu_texture_create(&(acu_texture_source){.buffer = from, .width = 64, .height = 65}, NULL,
                             &texture),
          ACU_ERROR_RANGE, "65 rows of 64 texels");
    const acu_texture_source narrow = {.buffer = from, .width = 64, .height = 2, .row_pitch = 224};
    FAILS(acu_texture_create(&narrow, NULL, &texture), ACU_ERROR_RANGE,
          "a row of 64 texels of 4 bytes is longer than the pitch of 224 bytes");
    FAILS(
        acu_texture_create(&(acu_texture_source){.buffer = from, .row_pitch = 64}, NULL, &texture),
        ACU_ERROR_ARGUMENT, "a linear one has no rows");
    acu_buffer *odd = NULL;
    OK(acu_buffer_slice(from, 1, 100, &odd));
    FAILS(acu_texture_create(&(acu_texture_source){.buffer = odd}, NULL, &texture), 1,
          "cudaCreateTextureObject");
    assert_non_null(strstr(acu_last_error_details().hint, "textureAlignment"));
    OK(acu_buffer_release(odd));
    OK(acu_buffer_reinterpret(from, ACU_F64, &odd));
    FAILS(acu_texture_create(&(acu_texture_source){.buffer = odd}, NULL, &texture), ACU_ERROR_DTYPE,
          "no array holds f64");
    OK(acu_buffer_release(odd));
    OK(acu_kernel_release(kernel));
    OK(acu_buffer_release(from));
    OK(acu_buffer_release(to));
    OK(acu_stream_release(stream));
}

/* As where any kernel reads memory that is not there: the context is lost. */
static void a_texel_without_memory_ends_the_kernel(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("a kernel touches what is not its own");
    void *raw = NULL;
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = load("fetch");
    acu_buffer *from = NULL, *to = numbers_on(stream, N);
    acu_texture *texture = NULL;
    assert_int_equal(cudaMalloc(&raw, (size_t)64 << 20u), 0);
    OK(acu_buffer_wrap(stream, ACU_F32, raw, N, ACU_MEMORY_DEVICE, &from));
    OK(acu_texture_create(&(acu_texture_source){.buffer = from}, NULL, &texture));
    assert_int_equal(cudaFree(raw), 0);
    OK(acu_launch(stream, kernel, acu_grid_1d(N, 32), texture, acu_out(to), N));
    FAILS(acu_stream_synchronize(stream), 700, "cudaErrorIllegalAddress");
    (void)acu_texture_release(texture);
    (void)acu_buffer_release(from);
    (void)acu_buffer_release(to);
    (void)acu_kernel_release(kernel);
    (void)acu_stream_release(stream);
    (void)cudaDeviceReset();
    acu_error error; /* the first release that failed, because the context is lost */
    assert_true(acu_release_error(&error));
}

/* Their pitch need not be said, and what is beyond their extent is not read. */
static void of_pitched_buffers(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_buffer *rows = NULL;
    acu_texture *texture = NULL;
    struct cudaResourceDesc made;
    OK(acu_buffer_create_pitched(stream, ACU_F32, (acu_extent){8, 3, 2}, NULL, &rows));
    OK(acu_texture_create(&(acu_texture_source){.buffer = rows, .width = 8, .height = 3}, &mixed,
                          &texture));
    assert_int_equal(cudaGetTextureObjectResourceDesc(&made, acu_texture_raw(texture)), 0);
    assert_int_equal(made.res.pitch2D.pitchInBytes, 512);
    OK(acu_texture_release(texture));
    FAILS(acu_texture_create(&(acu_texture_source){.buffer = rows, .width = 9, .height = 3}, NULL,
                             &texture),
          ACU_ERROR_RANGE, "3 rows of 9 texels of 4 bytes, 512 bytes apart");
    FAILS(acu_texture_create(&(acu_texture_source){.buffer = rows, .width = 8, .height = 4}, NULL,
                             &texture),
          ACU_ERROR_RANGE, "4 rows of 8 texels");
    OK(acu_buffer_release(rows));
    OK(acu_stream_release(stream));
}

static void of_mipmaps(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_mipmap *mipmap = NULL;
    acu_texture *texture = NULL;
    acu_kernel *kernel = load("level");
    acu_buffer *to = numbers_on(stream, N);
    const acu_sampler sampler = {
        .filter = ACU_FILTER_LINEAR, .normalized = true, .mipmap_filter = ACU_FILTER_LINEAR};
    OK(acu_mipmap_create(stream, (acu_format){.dtype = ACU_F32},
                         (acu_extent){.width = 8, .height = 8}, 3, 0, &mipmap));
    for (unsigned i = 0; i < 3; i++) {
        acu_array *array = NULL;
        float numbers[64];
        for (int k = 0; k < 64; k++)
            numbers[k] = (float)i + 10;
        OK(acu_mipmap_get_level(mipmap, i, &array));
        OK(acu_array_write(array, numbers, acu_array_count(array)));
        OK(acu_array_release(array));
    }
    OK(acu_texture_create(&(acu_texture_source){.mipmap = mipmap}, &sampler, &texture));
    OK(acu_launch(stream, kernel, acu_grid_1d(N, 32), texture, acu_out(to), N));
    expect(to, (const float[N]){11, 11, 11, 11, 11, 11, 11, 11});
    OK(acu_texture_release(texture));
    OK(acu_texture_create(&(acu_texture_source){.mipmap = mipmap, .first_level = 1}, &sampler,
                          &texture));
    OK(acu_launch(stream, kernel, acu_grid_1d(N, 32), texture, acu_out(to), N));
    expect(to, (const float[N]){12, 12, 12, 12, 12, 12, 12, 12});
    OK(acu_texture_release(texture));
    FAILS(acu_texture_create(&(acu_texture_source){.mipmap = mipmap, .first_level = 3}, &sampler,
                             &texture),
          ACU_ERROR_RANGE, "there are no levels from number 3 on: there are 3");
    FAILS(acu_texture_create(&(acu_texture_source){.mipmap = mipmap, .layer_count = 2}, &sampler,
                             &texture),
          ACU_ERROR_RANGE, "2 layers from number 0 on are too many: there are 1");
    OK(acu_buffer_release(to));
    OK(acu_kernel_release(kernel));
    OK(acu_mipmap_release(mipmap));
    OK(acu_stream_release(stream));
}

static void wrong_sources(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = row_on(stream, 0), *whole = NULL;
    acu_buffer *buffer = numbers_on(stream, N);
    acu_texture *texture = NULL;
    FAILS(acu_texture_create(&(acu_texture_source){0}, NULL, &texture), ACU_ERROR_ARGUMENT,
          "the source has 0 of");
    FAILS(
        acu_texture_create(&(acu_texture_source){.array = array, .buffer = buffer}, NULL, &texture),
        ACU_ERROR_ARGUMENT, "the source has 2 of");
    FAILS(acu_texture_create(&(acu_texture_source){.array = array, .width = 4}, NULL, &texture),
          ACU_ERROR_ARGUMENT, "are for buffers");
    FAILS(acu_texture_create(&(acu_texture_source){.buffer = buffer, .first_layer = 4}, NULL,
                             &texture),
          ACU_ERROR_ARGUMENT, "are for arrays and mipmaps");
    FAILS(acu_texture_create(&(acu_texture_source){.array = array},
                             &(acu_sampler){.address = {(acu_address_mode)7}}, &texture),
          ACU_ERROR_ARGUMENT, "sampler.address[0] is 7");
    FAILS(acu_texture_create(&(acu_texture_source){.array = array},
                             &(acu_sampler){.filter = (acu_filter)2}, &texture),
          ACU_ERROR_ARGUMENT, "sampler.filter is 2");
    FAILS(acu_texture_create(&(acu_texture_source){.array = array},
                             &(acu_sampler){.fractions = true}, &texture),
          27, "cudaCreateTextureObject");
    OK(acu_array_create(stream, (acu_format){.dtype = ACU_U32}, (acu_extent){.width = 4}, 0,
                        &whole));
    FAILS(acu_texture_create(&(acu_texture_source){.array = whole}, &mixed, &texture), 26,
          "cudaCreateTextureObject");
    assert_non_null(strstr(acu_last_error_details().hint, "integers are mixed only as fractions"));
    FAILS(acu_texture_wrap(0, &(acu_texture_source){.array = whole}, &texture), ACU_ERROR_ARGUMENT,
          "'raw' is 0");
    FAILS(acu_texture_wrap(1, NULL, &texture), ACU_ERROR_ARGUMENT, "'source' is NULL");
    OK(acu_array_release(whole));
    OK(acu_array_release(array));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

static void wrap_borrows_adopt_takes(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = row_on(stream, ACU_ARRAY_SURFACE);
    acu_texture *texture = NULL;
    acu_surface *surface = NULL;
    cudaTextureObject_t raw = 0;
    cudaSurfaceObject_t raw_surface = 0;
    const struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray,
                                              .res = {.array = {acu_array_raw(array)}}};
    const struct cudaTextureDesc desc = {.addressMode = {cudaAddressModeClamp}};
    assert_int_equal(cudaCreateTextureObject(&raw, &resource, &desc, NULL), 0);
    OK(acu_texture_wrap(raw, &(acu_texture_source){.array = array}, &texture));
    OK(acu_texture_release(texture));
    OK(acu_texture_adopt(raw, &(acu_texture_source){.array = array}, &texture));
    assert_true(acu_texture_raw(texture) == raw);
    OK(acu_texture_release(texture));
    assert_int_equal(cudaCreateSurfaceObject(&raw_surface, &resource), 0);
    OK(acu_surface_wrap(raw_surface, array, &surface));
    OK(acu_surface_release(surface));
    OK(acu_surface_adopt(raw_surface, array, &surface));
    assert_true(acu_surface_raw(surface) == raw_surface);
    OK(acu_surface_release(surface));
    FAILS(acu_surface_wrap(0, array, &surface), ACU_ERROR_ARGUMENT, "'raw' is 0");
    OK(acu_array_release(array));
    OK(acu_stream_release(stream));
}

/* ---- surfaces ---- */

static void surfaces_are_written_and_read(void **state) {
    (void)state;
    char text[200];
    acu_stream *stream = stream_on(0), *other = stream_on(0);
    acu_array *array = row_on(stream, ACU_ARRAY_SURFACE), *plain = row_on(stream, 0);
    acu_buffer *numbers = numbers_on(stream, N), *to = numbers_on(stream, N);
    acu_surface *surface = NULL;
    acu_kernel *writing = load("write"), *reading = load("read");
    FAILS(acu_surface_create(plain, &surface), ACU_ERROR_STATE, "not made with ACU_ARRAY_SURFACE");
    OK(acu_surface_create(array, &surface));
    assert_int_equal(acu_surface_device(surface), 0);
    assert_true(acu_surface_describe(surface, text, sizeof text) < sizeof text);
    assert_ptr_equal(acu_surface_retain(surface), surface);
    OK(acu_surface_release(surface));
    OK(acu_launch(stream, writing, acu_grid_1d(N, 32), surface, acu_in(numbers), N));
    /* Another stream comes after the write. */
    OK(acu_launch(other, reading, acu_grid_1d(N, 32), acu_in_surface(surface), acu_out(to), N));
    expect(to, (const float[N]){0, 2, 4, 6, 8, 10, 12, 14});
    OK(acu_launch(stream, writing, acu_grid_1d(N, 32), acu_inout_surface(surface), acu_in(to), N));
    float got[N];
    OK(acu_array_read(array, got, N));
    assert_true(got[7] == 28);
    OK(acu_surface_release(surface));
    OK(acu_kernel_release(writing));
    OK(acu_kernel_release(reading));
    OK(acu_buffer_release(numbers));
    OK(acu_buffer_release(to));
    OK(acu_array_release(plain));
    OK(acu_array_release(array));
    OK(acu_stream_release(other));
    OK(acu_stream_release(stream));
}

/* ---- captures, graphs, lists ---- */

static void graphs_keep_textures(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = row_on(stream, 0);
    acu_buffer *to = numbers_on(stream, N);
    acu_kernel *kernel = load("sample");
    acu_texture *texture = texture_of(array, &mixed), *other = texture_of(array, &clamped);
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_node node;
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_launch(stream, kernel, acu_grid_1d(N, 32), texture, acu_out(to), N));
    acu_texture *refused = NULL;
    FAILS(acu_texture_create(&(acu_texture_source){.array = array}, NULL, &refused),
          ACU_ERROR_CAPTURE, "would break the capture");
    OK(acu_stream_end_capture(stream, &graph));
    const acu_grid grid = acu_grid_1d(N, 32);
    const acu_arg args[] = {acu_arg_of(other), acu_out(to), acu_arg_of(N)};
    acu_node first;
    size_t one = 1;
    OK(acu_graph_get_nodes(graph, &first, &one));
    OK(acu_graph_add_kernel(graph, &first, 1, kernel, &grid, args, 3, &node));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_texture_release(texture));
    OK(acu_texture_release(other));
    OK(acu_array_release(array));
    OK(acu_exec_launch(exec, stream));
    expect(to, texels); /* the second node's */
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_kernel_release(kernel));
    OK(acu_buffer_release(to));
    OK(acu_stream_release(stream));
}

static void lists_keep_textures(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = row_on(stream, 0);
    acu_buffer *to = numbers_on(stream, N);
    acu_kernel *kernel = load("sample");
    acu_texture *texture = texture_of(array, &clamped);
    acu_args *list = NULL;
    const acu_grid grid = acu_grid_1d(N, 32);
    OK(acu_args_create(&list));
    OK(acu_args_add(list, acu_arg_of(texture)));
    OK(acu_args_add(list, acu_out(to)));
    OK(acu_args_add(list, acu_arg_of(N)));
    OK(acu_texture_release(texture));
    OK(acu_array_release(array));
    OK(acu_launch_list(stream, kernel, &grid, list));
    expect(to, texels);
    OK(acu_args_release(list));
    OK(acu_kernel_release(kernel));
    OK(acu_buffer_release(to));
    OK(acu_stream_release(stream));
}

static void wrong_arguments(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = row_on(stream, ACU_ARRAY_SURFACE);
    acu_buffer *to = numbers_on(stream, N);
    acu_kernel *kernel = load("sample");
    acu_texture *texture = texture_of(array, NULL);
    acu_surface *surface = NULL;
    OK(acu_surface_create(array, &surface));
    FAILS(acu_launch(stream, kernel, acu_grid_1d(N, 32), texture, to, texture), ACU_ERROR_ARGUMENT,
          "argument 2 of sample is a texture of 8 bytes");
    acu_arg wrong = acu_in_texture(texture);
    wrong.value.surface = surface;
    FAILS(acu_launch(stream, kernel, acu_grid_1d(N, 32), wrong, to, N), ACU_ERROR_HANDLE,
          "texture");
    OK(acu_texture_release(texture));
    FAILS(acu_launch(stream, kernel, acu_grid_1d(N, 32), texture, to, N), ACU_ERROR_HANDLE,
          "released already");
    OK(acu_surface_release(surface));
    OK(acu_kernel_release(kernel));
    OK(acu_buffer_release(to));
    OK(acu_array_release(array));
    OK(acu_stream_release(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEXTURE_TEST(life),
        TEXTURE_TEST(are_arguments),
        TEXTURE_TEST(of_buffers),
        TEXTURE_TEST(of_pitched_buffers),
        TEXTURE_TEST(of_mipmaps),
        TEXTURE_TEST(wrong_sources),
        TEXTURE_TEST(wrap_borrows_adopt_takes),
        TEXTURE_TEST(surfaces_are_written_and_read),
        TEXTURE_TEST(graphs_keep_textures),
        TEXTURE_TEST(lists_keep_textures),
        TEXTURE_TEST(wrong_arguments),
        TEXTURE_TEST(a_texel_without_memory_ends_the_kernel), /* and the process's use of a GPU */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
