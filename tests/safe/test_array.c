/* Arrays and mipmaps: how they are made, what they are, copies, and their order among streams. */
#include "kernels.h"

#include <anycuda/cudart.h>

static acu_array *array_on(acu_stream *stream, acu_format format, acu_extent extent,
                           unsigned flags) {
    acu_array *array = NULL;
    OK(acu_array_create(stream, format, extent, flags, &array));
    return array;
}

static void life(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = array_on(stream, (acu_format){.dtype = ACU_U8, .channels = 4},
                                (acu_extent){.width = 16, .height = 8}, ACU_ARRAY_SURFACE);
    assert_non_null(acu_array_raw(array));
    assert_ptr_equal(acu_array_stream(array), stream);
    assert_int_equal(acu_array_device(array), 0);
    assert_int_equal(acu_array_format(array).dtype, ACU_U8);
    assert_int_equal(acu_array_format(array).channels, 4);
    assert_int_equal(acu_array_format(array).encoding, ACU_ENCODING_NUMBERS);
    assert_int_equal(acu_array_extent(array).width, 16);
    assert_int_equal(acu_array_extent(array).height, 8);
    assert_int_equal(acu_array_extent(array).depth, 0);
    assert_int_equal(acu_array_flags(array), ACU_ARRAY_SURFACE);
    assert_int_equal(acu_array_count(array), 16 * 8 * 4);
    assert_ptr_equal(acu_array_retain(array), array);
    OK(acu_array_release(array));
    OK(acu_array_synchronize(array));
    OK(acu_array_release(array));
    OK(acu_stream_release(stream));
}

/* The array keeps its stream. */
static void keeps_its_stream(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array =
        array_on(stream, (acu_format){.dtype = ACU_F32}, (acu_extent){.width = 4}, 0);
    float in[4] = {1, 2, 3, 4}, out[4] = {0};
    OK(acu_stream_release(stream));
    OK(acu_array_write(array, in, 4));
    OK(acu_array_read(array, out, 4));
    assert_memory_equal(in, out, sizeof in);
    OK(acu_array_release(array));
}

static const acu_format formats[] = {
    {ACU_U8, 1, ACU_ENCODING_NUMBERS},     {ACU_U8, 2, ACU_ENCODING_NUMBERS},
    {ACU_U8, 4, ACU_ENCODING_NUMBERS},     {ACU_I8, 1, ACU_ENCODING_NUMBERS},
    {ACU_I16, 2, ACU_ENCODING_NUMBERS},    {ACU_U16, 4, ACU_ENCODING_NUMBERS},
    {ACU_I32, 1, ACU_ENCODING_NUMBERS},    {ACU_U32, 4, ACU_ENCODING_NUMBERS},
    {ACU_F16, 4, ACU_ENCODING_NUMBERS},    {ACU_F32, 1, ACU_ENCODING_NUMBERS},
    {ACU_F32, 2, ACU_ENCODING_NUMBERS},    {ACU_F32, 4, ACU_ENCODING_NUMBERS},
    {ACU_U8, 1, ACU_ENCODING_NORMALIZED},  {ACU_U8, 4, ACU_ENCODING_NORMALIZED},
    {ACU_U16, 2, ACU_ENCODING_NORMALIZED}, {ACU_I8, 2, ACU_ENCODING_NORMALIZED},
    {ACU_I16, 4, ACU_ENCODING_NORMALIZED},
};

/* What is written is read, and a raw array's format is found out. */
static void every_format(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    unsigned char in[6 * 5 * 16], out[sizeof in];
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i * 37 + i / 256);
    for (size_t i = 0; i < COUNT(formats); i++) {
        acu_array *same = NULL;
        acu_array *array = array_on(stream, formats[i], (acu_extent){.width = 6, .height = 5}, 0);
        const size_t count = acu_array_count(array);
        const size_t bytes = count * acu_dtype_size(formats[i].dtype);
        memset(out, 0, sizeof out);
        OK(acu_array_write_typed(array, ACU_ANY, in, count, NULL));
        OK(acu_array_read_typed(array, formats[i].dtype, out, count, NULL));
        assert_memory_equal(in, out, bytes);
        OK(acu_array_wrap(stream, acu_array_raw(array), &same));
        assert_int_equal(acu_array_format(same).dtype, formats[i].dtype);
        assert_int_equal(acu_array_format(same).channels, formats[i].channels);
        assert_int_equal(acu_array_format(same).encoding, formats[i].encoding);
        OK(acu_array_release(same));
        OK(acu_array_release(array));
    }
    OK(acu_stream_release(stream));
}

static const struct {
    acu_extent extent;
    unsigned flags;
    size_t count;
} shapes[] = {
    {{7, 0, 0}, 0, 7},
    {{7, 5, 0}, 0, 35},
    {{7, 5, 3}, 0, 105},
    {{7, 0, 3}, ACU_ARRAY_LAYERED, 21},
    {{7, 5, 3}, ACU_ARRAY_LAYERED, 105},
    {{6, 6, 6}, ACU_ARRAY_CUBE, 216},
    {{6, 6, 12}, ACU_ARRAY_CUBE | ACU_ARRAY_LAYERED, 432},
    {{7, 5, 0}, ACU_ARRAY_GATHER, 35},
    {{7, 5, 3}, ACU_ARRAY_SURFACE, 105},
};

static void every_shape(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    float in[432], out[432];
    for (size_t i = 0; i < COUNT(in); i++)
        in[i] = (float)i;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        acu_array *other = NULL;
        acu_array *array =
            array_on(stream, (acu_format){.dtype = ACU_F32}, shapes[i].extent, shapes[i].flags);
        assert_int_equal(acu_array_count(array), shapes[i].count);
        OK(acu_array_write(array, in, shapes[i].count));
        OK(acu_array_create(stream, acu_array_format(array), shapes[i].extent, shapes[i].flags,
                            &other));
        OK(acu_array_copy(other, array, NULL));
        memset(out, 0, sizeof out);
        OK(acu_array_read(other, out, shapes[i].count));
        assert_memory_equal(in, out, shapes[i].count * sizeof *in);
        OK(acu_array_release(array));
        OK(acu_array_wrap(stream, acu_array_raw(other), &array));
        assert_int_equal(acu_array_extent(array).width, shapes[i].extent.width);
        assert_int_equal(acu_array_extent(array).height, shapes[i].extent.height);
        assert_int_equal(acu_array_extent(array).depth, shapes[i].extent.depth);
        assert_int_equal(acu_array_flags(array), shapes[i].flags);
        OK(acu_array_release(array));
        OK(acu_array_release(other));
    }
    OK(acu_stream_release(stream));
}

static void wrong_arguments(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = NULL;
    float out[4];
    const acu_extent extent = {.width = 4};
    FAILS(acu_array_create(stream, (acu_format){.dtype = ACU_F64}, extent, 0, &array),
          ACU_ERROR_DTYPE, "no array holds f64");
    FAILS(acu_array_create(stream, (acu_format){0}, extent, 0, &array), ACU_ERROR_DTYPE,
          "is no type of elements");
    FAILS(acu_array_create(stream,
                           (acu_format){.dtype = ACU_F32, .encoding = ACU_ENCODING_NORMALIZED},
                           extent, 0, &array),
          ACU_ERROR_DTYPE, "no array holds f32 as fractions");
    FAILS(
        acu_array_create(stream, (acu_format){.dtype = ACU_F32, .channels = 3}, extent, 0, &array),
        ACU_ERROR_ARGUMENT, "format.channels is 3");
    FAILS(acu_array_create(stream, (acu_format){.encoding = ACU_ENCODING_OTHER}, extent, 0, &array),
          ACU_ERROR_ARGUMENT, "format.encoding is");
    FAILS(acu_array_create(stream, (acu_format){.dtype = ACU_F32, .encoding = ACU_ENCODING_BC1},
                           extent, 0, &array),
          ACU_ERROR_DTYPE, "the encoding implies bytes(8)");
    FAILS(acu_array_create(stream, (acu_format){.dtype = ACU_F32},
                           (acu_extent){.width = 4, .height = 5, .depth = 6}, ACU_ARRAY_CUBE,
                           &array),
          1, "cudaMalloc3DArray");
    assert_non_null(strstr(acu_last_error_details().hint, "a cube has square faces"));
    assert_null(array);
    OK(acu_array_create(stream, (acu_format){.dtype = ACU_F32}, extent, 0, &array));
    FAILS(acu_array_write(array, ((int[]){1, 2, 3, 4}), 4), ACU_ERROR_DTYPE,
          "the array holds f32, the host i32");
    FAILS(acu_array_write(array, ((float[]){1, 2, 3, 4}), 3), ACU_ERROR_RANGE, "have 4 values");
    FAILS(acu_array_read_typed(array, 0x55u, out, 4, NULL), ACU_ERROR_DTYPE, "is no type");
    FAILS(acu_array_read(array, (float *)NULL, 4), ACU_ERROR_ARGUMENT, "'host' is NULL");
    FAILS(acu_array_get_memory_requirements(array, &(acu_memory_requirements){0}), ACU_ERROR_STATE,
          "ACU_ARRAY_DEFERRED");
    FAILS(acu_array_get_sparse_properties(array, &(acu_sparse_properties){0}), ACU_ERROR_STATE,
          "ACU_ARRAY_SPARSE");
    acu_array *other =
        array_on(stream, (acu_format){.dtype = ACU_F32}, (acu_extent){.width = 5}, 0);
    FAILS(acu_array_copy(array, other, NULL), ACU_ERROR_RANGE, "different extents");
    FAILS(acu_array_copy(array, array, NULL), ACU_ERROR_RANGE, "are the same");
    OK(acu_array_release(other));
    other = array_on(stream, (acu_format){.dtype = ACU_I16, .channels = 2}, extent, 0);
    FAILS(acu_array_copy(array, other, NULL), ACU_ERROR_DTYPE, "the source 2 x i16");
    OK(acu_array_release(other));
    OK(acu_array_release(array));
    OK(acu_stream_release(stream));
}

static void wrap_borrows_adopt_takes(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = NULL;
    cudaArray_t raw = NULL;
    const struct cudaChannelFormatDesc desc = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    assert_int_equal(cudaMallocArray(&raw, &desc, 4, 4, 0), 0);
    FAILS(acu_array_wrap(stream, NULL, &array), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    OK(acu_array_wrap(stream, raw, &array));
    assert_ptr_equal(acu_array_raw(array), raw);
    OK(acu_array_release(array));
    OK(acu_array_adopt(stream, raw, &array)); /* it is still there */
    OK(acu_array_release(array));
    OK(acu_stream_release(stream));
    ONLY_SIMULATED("CUDA may crash where an array was freed");
    stream = stream_on(0);
    FAILS(acu_array_wrap(stream, raw, &array), 400, "cudaArrayGetInfo");
    OK(acu_stream_release(stream));
}

static void describes_itself(void **state) {
    (void)state;
    char text[200];
    acu_stream *stream = stream_on(0);
    acu_array *array = array_on(stream, (acu_format){.dtype = ACU_F32, .channels = 2},
                                (acu_extent){.width = 6, .height = 5}, 0);
    assert_true(acu_array_describe(array, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "array 0x"));
    assert_non_null(strstr(text, "6 x 5, 2 x f32, raw "));
    OK(acu_array_release(array));
    OK(acu_stream_release(stream));
}

/* Boxes of arrays: with the host, with buffers, between arrays. */
static void regions_of_arrays(void **state) {
    (void)state;
    enum { W = 8, H = 6 };
    acu_stream *stream = stream_on(0);
    const acu_extent all = {.width = W, .height = H}, box = {3, 2, 1};
    acu_array *a = array_on(stream, (acu_format){.dtype = ACU_F32, .channels = 2}, all, 0);
    acu_array *b = array_on(stream, (acu_format){.dtype = ACU_F32, .channels = 2}, all, 0);
    acu_buffer *floats = numbers_on(stream, 2 * W * H), *pairs = NULL;
    float in[2 * W * H], out[2 * W * H], part[12];
    for (int i = 0; i < 2 * W * H; i++)
        in[i] = (float)i + 100;
    OK(acu_array_write(a, in, 2 * W * H));
    OK(acu_array_write(b, in, 2 * W * H));
    const acu_region from = {.array = a, .at = {2, 1, 0}}, to = {.array = b, .at = {5, 4, 0}};
    OK(acu_region_read(&from, box, part));
    assert_true(part[0] == in[2 * (W + 2)] && part[11] == in[2 * (2 * W + 4) + 1]);
    OK(acu_region_copy(&to, &from, box, NULL));
    OK(acu_array_read(b, out, 2 * W * H));
    assert_true(out[2 * (4 * W + 5)] == part[0] && out[2 * (5 * W + 7) + 1] == part[11]);
    assert_true(out[2 * (4 * W + 4)] == in[2 * (4 * W + 4)]);
    OK(acu_buffer_reinterpret(floats, ACU_BYTES(8), &pairs));
    const acu_region rows = {.buffer = pairs, .at = {1, 1, 0}, .row_pitch = 8 * W};
    OK(acu_region_copy(&to, &rows, box, NULL));
    OK(acu_region_read(&to, box, part));
    assert_true(part[0] == 2 * (W + 1) && part[6] == 2 * (2 * W + 1));
    OK(acu_region_copy(&rows, &from, box, NULL));
    OK(acu_buffer_read(floats, out, 2 * W * H));
    assert_true(out[2 * (W + 1)] == in[2 * (W + 2)] && out[2 * W] == 2 * W);
    OK(acu_region_write(&from, box, ((float[12]){7, 8})));
    OK(acu_array_read(a, out, 2 * W * H));
    assert_true(out[2 * (W + 2)] == 7 && out[2 * (W + 2) + 1] == 8 && out[2 * (W + 3)] == 0);
    FAILS(acu_region_copy(&to, &from, (acu_extent){4, 2, 1}, NULL), ACU_ERROR_RANGE,
          "outside of the array, which has 8 x 6 x 1");
    FAILS(acu_region_copy(&from, &from, box, NULL), ACU_ERROR_RANGE, "the two regions overlap");
    FAILS(acu_region_copy(&to, &(acu_region){.buffer = floats}, box, NULL), ACU_ERROR_DTYPE,
          "the array holds 2 x f32, the memory f32");
    FAILS(acu_region_read(&from, box, ((int[12]){0})), ACU_ERROR_DTYPE, "the memory i32");
    FAILS(acu_region_read(&from, box, (float *)NULL), ACU_ERROR_ARGUMENT, "'host' is NULL");
    FAILS(acu_region_copy(&(acu_region){.array = a, .row_pitch = 8}, &to, box, NULL),
          ACU_ERROR_ARGUMENT, "has no 'buffer'");
    FAILS(acu_region_copy(NULL, &to, box, NULL), ACU_ERROR_ARGUMENT, "'to' is NULL");
    FAILS(acu_region_fill(&to, box, &(float){1}), ACU_ERROR_ARGUMENT, "CUDA does not fill arrays");
    acu_array *odd = array_on(stream, (acu_format){.dtype = ACU_F32}, all, 0);
    FAILS(acu_region_copy(&(acu_region){.array = odd}, &from, box, NULL), ACU_ERROR_DTYPE,
          "have 4 bytes, those of the source 8");
    OK(acu_array_release(odd));
    OK(acu_buffer_release(pairs));
    OK(acu_buffer_release(floats));
    OK(acu_array_release(b));
    OK(acu_array_release(a));
    OK(acu_stream_release(stream));
}

/* Boxes of compressed arrays: texels there, blocks in memory. */
static void regions_of_compressed_arrays(void **state) {
    (void)state;
    enum { W = 16, H = 8, COLUMNS = W / 4, COUNT = COLUMNS * (H / 4) };
    const acu_extent all = {.width = W, .height = H}, box = {8, 4, 1}, odd = {6, 4, 1};
    const acu_format bc1 = {.encoding = ACU_ENCODING_BC1};
    acu_stream *stream = stream_on(0);
    acu_array *a = array_on(stream, bc1, all, 0), *b = array_on(stream, bc1, all, 0);
    acu_buffer *numbers = numbers_on(stream, 2 * COUNT), *blocks = NULL;
    uint64_t in[COUNT], out[COUNT] = {0}, part[2] = {0};
    for (int i = 0; i < COUNT; i++)
        in[i] = 0x0101010101010101u * (unsigned)(i + 1);
    assert_int_equal(acu_array_format(a).dtype, ACU_BYTES(8));
    assert_int_equal(acu_array_count(a), COUNT);
    OK(acu_array_write_typed(a, ACU_BYTES(8), in, COUNT, NULL));
    OK(acu_array_copy(b, a, NULL));
    OK(acu_array_read_typed(b, ACU_BYTES(8), out, COUNT, NULL));
    assert_memory_equal(in, out, sizeof in);
    const acu_region from = {.array = a, .at = {4, 4, 0}}, to = {.array = b, .at = {8, 0, 0}};
    OK(acu_region_read_typed(&from, box, ACU_BYTES(8), part, 0, 0, NULL));
    assert_memory_equal(part, in + COLUMNS + 1, sizeof part);
    OK(acu_region_copy(&to, &from, box, NULL));
    OK(acu_region_write_typed(&from, box, ACU_BYTES(8), in, 0, 0, NULL));
    OK(acu_array_read_typed(b, ACU_BYTES(8), out, COUNT, NULL));
    assert_true(out[1] == in[1] && out[2] == in[COLUMNS + 1] && out[3] == in[COLUMNS + 2]);
    OK(acu_buffer_reinterpret(numbers, ACU_BYTES(8), &blocks));
    const acu_region rows = {.buffer = blocks, .at = {1, 1, 0}, .row_pitch = 8 * COLUMNS};
    OK(acu_region_copy(&rows, &from, box, NULL)); /* what was written before */
    OK(acu_region_copy(&to, &rows, box, NULL));
    OK(acu_array_read_typed(b, ACU_BYTES(8), out, COUNT, NULL));
    assert_true(out[2] == in[0] && out[3] == in[1] && out[4] == in[4]);
    FAILS(acu_region_copy(&to, &rows, odd, NULL), ACU_ERROR_RANGE, "no whole blocks");
    assert_non_null(strstr(acu_last_error_details().hint, "begin at multiples of 4"));
    FAILS(acu_region_read_typed(&(acu_region){.array = a, .at = {4, 2, 0}}, box, ACU_BYTES(8), part,
                                0, 0, NULL),
          ACU_ERROR_RANGE, "8 x 4 texels from {4, 2} on are no whole blocks");
    FAILS(acu_region_copy(&to, &(acu_region){.array = a, .at = {12, 0, 0}}, box, NULL),
          ACU_ERROR_RANGE, "outside of the array");
    FAILS(acu_region_copy(&to, &(acu_region){.buffer = numbers}, box, NULL), ACU_ERROR_DTYPE,
          "the array holds 1 x bytes(8), the memory f32");
    acu_array *pairs = array_on(stream, (acu_format){.dtype = ACU_F32, .channels = 2}, all, 0);
    FAILS(acu_region_copy(&to, &(acu_region){.array = pairs}, box, NULL), ACU_ERROR_DTYPE,
          "one array is compressed");
    OK(acu_array_release(pairs));
    OK(acu_buffer_release(blocks));
    OK(acu_buffer_release(numbers));
    OK(acu_array_release(b));
    OK(acu_array_release(a));
    OK(acu_stream_release(stream));
}

/* ---- order ---- */

static acu_result write_raw(acu_array *array, acu_stream *stream, acu_buffer *from) {
    ACU_TRY(acu_array_begin_use(array, true, stream));
    ACU_TRY(acu_buffer_begin_use(from, false, stream));
    const struct cudaMemcpy3DParms p = {
        .srcPtr = {acu_buffer_raw(from), 64 * sizeof(float), 64, 64},
        .dstArray = acu_array_raw(array),
        .extent = {64, 64, 1},
        .kind = cudaMemcpyDeviceToDevice};
    const int code = cudaMemcpy3DAsync(&p, acu_stream_raw(stream));
    ACU_TRY(acu_array_end_use(array, true, stream));
    ACU_TRY(acu_buffer_end_use(from, false, stream));
    return code;
}

/* A read on another stream comes after the write, although nobody waits. */
static void streams_wait_for_each_other(void **state) {
    (void)state;
    enum { N = 64 * 64 };
    float *out = malloc(N * sizeof *out);
    acu_stream *first = stream_on(0), *second = stream_on(0);
    acu_buffer *numbers = numbers_on(first, N);
    acu_array *array =
        array_on(first, (acu_format){.dtype = ACU_F32}, (acu_extent){.width = 64, .height = 64}, 0);
    for (int i = 0; i < 20; i++) {
        OK(acu_buffer_fill(numbers, (&(float){(float)i})));
        OK(write_raw(array, first, numbers));
        OK(acu_array_read_typed(array, ACU_F32, out, N, second));
        for (int k = 0; k < N; k++)
            assert_true(out[k] == (float)i);
    }
    OK(acu_buffer_release(numbers));
    OK(acu_array_release(array));
    OK(acu_stream_release(second));
    OK(acu_stream_release(first));
    free(out);
}

/* A graph keeps the arrays that a capture used, and orders its launches. */
static void graphs_keep_arrays(void **state) {
    (void)state;
    float in[8], out[8] = {0};
    acu_stream *stream = stream_on(0);
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    const acu_format f32 = {.dtype = ACU_F32};
    acu_array *a = array_on(stream, f32, (acu_extent){.width = 8}, 0);
    acu_array *b = array_on(stream, f32, (acu_extent){.width = 8}, 0);
    for (int i = 0; i < 8; i++)
        in[i] = (float)i + 1;
    OK(acu_array_write(a, in, 8));
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_array_copy(b, a, NULL));
    acu_array *refused = NULL;
    FAILS(acu_array_create(stream, f32, (acu_extent){.width = 8}, 0, &refused), ACU_ERROR_CAPTURE,
          "would break the capture");
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_array_release(a)); /* the graph has it */
    OK(acu_exec_launch(exec, stream));
    OK(acu_array_read(b, out, 8));
    assert_memory_equal(in, out, sizeof in);
    OK(acu_array_release(b));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_stream_release(stream));
}

/* ---- sparse and deferred ---- */

static void memory_that_is_mapped(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_array *array = NULL;
    acu_mipmap *mipmap = NULL;
    acu_memory_requirements needs;
    acu_sparse_properties sparse;
    const acu_format format = {.dtype = ACU_U8, .channels = 4};
    const acu_extent extent = {.width = 512, .height = 512};
    OK(acu_array_create(stream, format, extent, ACU_ARRAY_SPARSE, &array));
    OK(acu_array_get_sparse_properties(array, &sparse));
    assert_true(sparse.tile.width > 0 && sparse.tile.height > 0 && sparse.tile.depth == 1);
    OK(acu_array_release(array));
    OK(acu_mipmap_create(stream, format, extent, 0, ACU_ARRAY_SPARSE, &mipmap));
    OK(acu_mipmap_get_sparse_properties(mipmap, &sparse));
    assert_true(sparse.first_level > 0 && sparse.tail_bytes > 0);
    FAILS(acu_mipmap_get_memory_requirements(mipmap, &needs), ACU_ERROR_STATE, "DEFERRED");
    OK(acu_mipmap_release(mipmap));
    acu_clear_error();
    const acu_result can = acu_array_create(stream, format, extent, ACU_ARRAY_DEFERRED, &array);
    if (can) {
        print_message("no deferred arrays: %s\n", acu_last_error_message());
        assert_true(can == 801 || can == 1);
    } else {
        OK_SINCE(11070, acu_array_get_memory_requirements(array, &needs));
        OK(acu_array_release(array));
    }
    OK(acu_stream_release(stream));
}

/* ---- mipmaps ---- */

static void levels_are_arrays(void **state) {
    (void)state;
    float in[64], out[64];
    acu_stream *stream = stream_on(0);
    acu_mipmap *mipmap = NULL;
    acu_array *level[4] = {NULL};
    const acu_format f32 = {.dtype = ACU_F32};
    const acu_extent extent = {.width = 8, .height = 8};
    OK(acu_mipmap_create(stream, f32, extent, 0, 0, &mipmap));
    assert_int_equal(acu_mipmap_levels(mipmap), 4);
    assert_int_equal(acu_mipmap_format(mipmap).dtype, ACU_F32);
    assert_int_equal(acu_mipmap_extent(mipmap).height, 8);
    assert_int_equal(acu_mipmap_flags(mipmap), 0);
    assert_int_equal(acu_mipmap_device(mipmap), 0);
    assert_ptr_equal(acu_mipmap_stream(mipmap), stream);
    for (unsigned i = 0; i < 4; i++) {
        OK(acu_mipmap_get_level(mipmap, i, &level[i]));
        assert_int_equal(acu_array_count(level[i]), (8u >> i) * (8u >> i));
        for (size_t k = 0; k < 64; k++)
            in[k] = (float)(k + 100 * i);
        OK(acu_array_write(level[i], in, acu_array_count(level[i])));
    }
    FAILS(acu_mipmap_get_level(mipmap, 4, &(acu_array *){NULL}), ACU_ERROR_RANGE,
          "there is no level 4");
    assert_ptr_equal(acu_mipmap_retain(mipmap), mipmap);
    OK(acu_mipmap_release(mipmap));
    OK(acu_mipmap_release(mipmap)); /* the levels keep the memory */
    for (unsigned i = 0; i < 4; i++) {
        OK(acu_array_read(level[i], out, acu_array_count(level[i])));
        assert_true(out[0] == (float)(100 * i));
        OK(acu_array_release(level[i]));
    }
    FAILS(acu_mipmap_create(stream, f32, extent, 5, 0, &mipmap), ACU_ERROR_RANGE, "there can be 4");
    OK(acu_stream_release(stream));
}

static void raw_mipmaps(void **state) {
    (void)state;
    char text[200];
    acu_stream *stream = stream_on(0);
    acu_mipmap *mipmap = NULL;
    cudaMipmappedArray_t raw = NULL;
    const struct cudaChannelFormatDesc desc = {8, 8, 0, 0, cudaChannelFormatKindUnsigned};
    const struct cudaExtent extent = {16, 4, 0};
    assert_int_equal(cudaMallocMipmappedArray(&raw, &desc, extent, 3, 0), 0);
    FAILS(acu_mipmap_wrap(stream, raw, 0, &mipmap), ACU_ERROR_RANGE, "'levels' is 0");
    FAILS(acu_mipmap_wrap(stream, NULL, 3, &mipmap), ACU_ERROR_ARGUMENT, "'raw' is NULL");
    FAILS(acu_mipmap_wrap(stream, raw, 4, &mipmap), 1, "cudaGetMipmappedArrayLevel");
    OK(acu_mipmap_wrap(stream, raw, 3, &mipmap));
    assert_int_equal(acu_mipmap_extent(mipmap).width, 16);
    assert_int_equal(acu_mipmap_format(mipmap).channels, 2);
    assert_true(acu_mipmap_describe(mipmap, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "16 x 4, 2 x u8, wrapped, 3 levels, raw "));
    OK(acu_mipmap_release(mipmap));
    OK(acu_mipmap_adopt(stream, raw, 3, &mipmap));
    assert_ptr_equal(acu_mipmap_raw(mipmap), raw);
    OK(acu_mipmap_release(mipmap));
    OK(acu_stream_release(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(life),
        KERNEL_TEST(keeps_its_stream),
        KERNEL_TEST(every_format),
        KERNEL_TEST(every_shape),
        KERNEL_TEST(wrong_arguments),
        KERNEL_TEST(wrap_borrows_adopt_takes),
        KERNEL_TEST(describes_itself),
        KERNEL_TEST(regions_of_arrays),
        KERNEL_TEST(regions_of_compressed_arrays),
        KERNEL_TEST(streams_wait_for_each_other),
        KERNEL_TEST(graphs_keep_arrays),
        KERNEL_TEST(memory_that_is_mapped),
        KERNEL_TEST(levels_are_arrays),
        KERNEL_TEST(raw_mipmaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
