/* Tensor maps: what is checked before CUDA sees one, and kernels that copy tiles by them. */
#include "kernels.h"

#include <anycuda/cuda.h>

static acu_stream *stream;
static acu_buffer *x; /* 64 x 32 floats */

static int begin_tensor(void **state) {
    int code = begin_kernels(state);
    stream = stream_on(0);
    x = numbers_on(stream, 2048);
    return code;
}

static int end_tensor(void **state) {
    OK(acu_buffer_release(x));
    OK(acu_stream_release(stream));
    return nothing_left(state);
}

#define TENSOR_TEST(function) SAFE_TEST(function, begin_tensor, end_tensor)

/* Returns whether device and driver have tensor maps. */
static int compute_major(void) {
    int major = 0;
    OK(acu_device_get_attribute(0, ACU_DEVICE_COMPUTE_MAJOR, &major));
    return major;
}

static bool has_tensor_maps(void) {
    return compute_major() >= 9 && driver_version() >= 12000;
}

#define NEEDS_TENSOR_MAPS()                                                                        \
    do {                                                                                           \
        if (!has_tensor_maps()) {                                                                  \
            print_message("needs compute capability 9.0 and a driver 12.0\n");                     \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static acu_tensor tiles(void) {
    return (acu_tensor){.rank = 2, .shape = {64, 32}, .box = {8, 8}};
}

static acu_tensor columns(void) {
    return (acu_tensor){
        .mode = ACU_TENSOR_IM2COL, .rank = 4, .shape = {8, 8, 8, 4}, .channels = 8, .pixels = 16};
}

/* ---- what is refused ---- */

/* A tensor that is right but for one field. */
typedef struct mistake {
    const char *says;
    acu_tensor tensor;
} mistake;

/* Makes a row of a table: the tensor of a function, with one change. */
#define WRONG(text, ...)                                                                           \
    {                                                                                              \
        text, {                                                                                    \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define TILES .rank = 2, .shape = {64, 32}, .box = {8, 8}
#define THREE .rank = 3, .shape = {8, 8, 32}, .box = {8, 8, 1}
#define COLUMNS                                                                                    \
    .mode = ACU_TENSOR_IM2COL, .rank = 4, .shape = {8, 8, 8, 4}, .channels = 8, .pixels = 16
#define WIDE                                                                                       \
    .mode = ACU_TENSOR_IM2COL_WIDE, .rank = 4, .shape = {8, 8, 8, 4}, .channels = 8, .pixels = 16

static const mistake mistakes[] = {
    WRONG("3 is no mode", TILES, .mode = (acu_tensor_mode)3),
    WRONG("7 is no kind of elements", TILES, .elements = (acu_tensor_elements)7),
    WRONG("3 is no interleaving", THREE, .interleave = (acu_tensor_interleave)3),
    WRONG("7 is no swizzling", TILES, .swizzle = (acu_tensor_swizzle)7),
    WRONG("4 is no promotion", TILES, .promotion = (acu_tensor_promotion)4),
    WRONG("the rank is 0", .shape = {64}, .box = {8}),
    WRONG("the rank is 6: tiled tensor maps have 1 to 5", .rank = 6, .shape = {4}, .box = {4}),
    WRONG("the rank is 2: interleaved tensor maps have 3", TILES,
          .interleave = ACU_TENSOR_INTERLEAVE_16B),
    WRONG("the rank is 2: im2col tensor maps have 3", .mode = ACU_TENSOR_IM2COL, .rank = 2,
          .shape = {8, 8}),
    WRONG("shape[2] or box[2] is set", .rank = 2, .shape = {8, 8, 8}, .box = {8, 8}),
    WRONG("shape[1] or box[1] is set", .rank = 1, .shape = {8}, .box = {8, 8}),
    WRONG("'channels', 'pixels'", .rank = 3, .shape = {8, 8, 8}, .box = {8, 8, 8}, .channels = 8),
    WRONG("'box' is of tiled maps", .mode = ACU_TENSOR_IM2COL, .rank = 3, .shape = {8, 8, 8},
          .box = {8}, .channels = 8, .pixels = 8),
    WRONG("shape[1] is 0", .rank = 2, .shape = {64}, .box = {8, 8}),
    WRONG("shape[0] is 2147483649", .rank = 1, .shape = {2147483649u}, .box = {8}),
    WRONG("steps[1] is 9", TILES, .steps = {1, 9}),
    WRONG("strides[0] is 260 bytes: it must be a multiple of 16", TILES, .strides = {260}),
    WRONG("and less than 2^40", TILES, .strides = {(uint64_t)1 << 40u}),
    WRONG("strides[0] is 240 bytes: dimension 0 alone takes 256", TILES, .strides = {240}),
    WRONG("strides[1] is 16 bytes", THREE, .strides = {32, 16}),
    WRONG("strides[0] is 48 bytes: it must be a multiple of 32", THREE, .strides = {48},
          .interleave = ACU_TENSOR_INTERLEAVE_32B, .swizzle = ACU_TENSOR_SWIZZLE_32B),
    WRONG("box[1] is 0", .rank = 2, .shape = {64, 32}, .box = {8}),
    WRONG("box[1] is 257", .rank = 2, .shape = {64, 32}, .box = {8, 257}),
    WRONG("box[0] is 6 elements, or 192 bits: it must be a multiple of 16 bytes", .rank = 2,
          .shape = {64, 32}, .box = {6, 8}),
    WRONG("box[0] is 6 elements, or 192 bits: it must be a multiple of 16 bytes", .rank = 3,
          .shape = {8, 7, 32}, .box = {6, 4, 1}, .interleave = ACU_TENSOR_INTERLEAVE_16B),
    WRONG("box[0] is 64 bytes: with this swizzling it can be 32", .rank = 2, .shape = {64, 32},
          .box = {16, 8}, .swizzle = ACU_TENSOR_SWIZZLE_32B),
    WRONG("box[0] is 128 bytes: with this swizzling it can be 64", .rank = 2, .shape = {64, 32},
          .box = {32, 8}, .swizzle = ACU_TENSOR_SWIZZLE_64B),
    WRONG("box[0] is 256 bytes: with this swizzling it can be 128", .rank = 2, .shape = {64, 32},
          .box = {64, 8}, .swizzle = ACU_TENSOR_SWIZZLE_128B_ATOM_64B),
    WRONG("the swizzling must be ACU_TENSOR_SWIZZLE_32B", THREE,
          .interleave = ACU_TENSOR_INTERLEAVE_32B),
    WRONG("lower[1] is -129: it must be -128 to 127", COLUMNS, .lower = {0, -129}),
    WRONG("upper[0] is 128", COLUMNS, .upper = {128}),
    WRONG("the box of pixels is empty: lower[0] is 4, and upper[0] -4, of 8", COLUMNS, .lower = {4},
          .upper = {-4}),
    WRONG("'channels' is 257", .mode = ACU_TENSOR_IM2COL, .rank = 4, .shape = {8, 8, 8, 4},
          .channels = 257, .pixels = 16),
    WRONG("'pixels' is 0", .mode = ACU_TENSOR_IM2COL, .rank = 4, .shape = {8, 8, 8, 4},
          .channels = 8),
    WRONG("'pixels' is 1025", .mode = ACU_TENSOR_IM2COL, .rank = 4, .shape = {8, 8, 8, 4},
          .channels = 8, .pixels = 1025),
    WRONG("wide im2col needs a swizzling of 64 bytes", WIDE),
    WRONG("a tile has 289408 bytes: it can have", .rank = 4, .shape = {4, 4, 5, 5},
          .box = {28, 8, 17, 19}),
    WRONG("a tile has 1048576 bytes: it can have", .rank = 3, .shape = {4, 4, 4},
          .box = {256, 256, 256}, .steps = {8, 4, 2}),
    WRONG("a tile has 1048576 bytes: it can have", .mode = ACU_TENSOR_IM2COL, .rank = 3,
          .shape = {4, 4, 4}, .channels = 256, .pixels = 1024),
    WRONG("lower[0] is -32769", WIDE, .swizzle = ACU_TENSOR_SWIZZLE_64B, .lower = {-32769}),
};

static void what_cuda_would_refuse(void **state) {
    (void)state;
    acu_tensor_map *map = NULL;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        acu_clear_error();
        if (acu_tensor_map_create(x, &mistakes[i].tensor, &map) != ACU_ERROR_ARGUMENT ||
            !strstr(acu_last_error_message(), mistakes[i].says))
            fail_msg("%s: %s", mistakes[i].says, acu_last_error_message());
        assert_null(map);
    }
}

/* The most that an H100 or an H200 takes, and a box below its step. */
static void the_largest_tiles(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    static const acu_tensor tensors[] = {
        {.rank = 3, .shape = {4, 4, 4}, .box = {4, 228, 64}},
        {.rank = 3, .shape = {4, 4, 4}, .box = {4, 229, 65}, .steps = {1, 1, 2}},
        {.rank = 3, .shape = {4, 4, 4}, .box = {256, 256, 3}, .steps = {1, 1, 4}},
        {.mode = ACU_TENSOR_IM2COL, .rank = 3, .shape = {4, 4, 4}, .channels = 64, .pixels = 912},
    };
    acu_tensor_map *map = NULL;
    int most = 0;
    OK(acu_device_get_attribute(0, 81, &most)); /* cudaDevAttrMaxSharedMemoryPerMultiprocessor */
    for (size_t i = 0; most >= 233472 && i < COUNT(tensors); i++) {
        OK(acu_tensor_map_create(x, &tensors[i], &map));
        OK(acu_tensor_map_release(map));
    }
    for (unsigned i = 0; i < 2; i++) {
        acu_tensor more = tensors[i * 3];
        if (more.mode == ACU_TENSOR_TILED)
            more.box[1] = 229;
        else
            more.pixels = 913;
        if (most == 233472)
            FAILS(acu_tensor_map_create(x, &more, &map), ACU_ERROR_ARGUMENT,
                  "it can have 233472 at most, the shared memory of a multiprocessor of device 0");
    }
    assert_null(map);
}

/* W, channels and N: 16 bytes, or 32, are four channels, or eight, at each place along W. */
static void interleaved_tensors(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    acu_tensor_map *map = NULL;
    acu_tensor t = {
        .rank = 3, .shape = {8, 7, 32}, .box = {8, 4, 1}, .interleave = ACU_TENSOR_INTERLEAVE_16B};
    OK(acu_tensor_map_create(x, &t, &map)); /* 128 bytes twice for 7 channels, 32 times */
    OK(acu_tensor_map_release(map));
    t.shape[2] = 33;
    FAILS(acu_tensor_map_create(x, &t, &map), ACU_ERROR_RANGE, "the tensor has 8448 bytes");
    t.shape[2] = 32;
    t.strides[0] = 112;
    FAILS(acu_tensor_map_create(x, &t, &map), ACU_ERROR_ARGUMENT,
          "strides[0] is 112 bytes: dimension 0 alone takes 128");
    t.strides[0] = 0;
    t.interleave = ACU_TENSOR_INTERLEAVE_32B;
    t.swizzle = ACU_TENSOR_SWIZZLE_32B;
    OK(acu_tensor_map_create(x, &t, &map)); /* 256 bytes, 32 times */
    OK(acu_tensor_map_release(map));
}

/* Whatever the checks let through, CUDA takes: on a GPU this compares them with the driver. */
static void what_is_checked_is_taken(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    acu_tensor_map *map = NULL;
    unsigned taken = 0;
    const bool newest = compute_major() >= 10 && driver_version() >= 12080;
    chance_begins(7);
    for (int i = 0; i < 2000; i++) {
        acu_tensor t = {.rank = 1 + any(5), .steps = {1, 1 + any(8), 1 + any(3), 1}};
        for (unsigned j = 0; j < t.rank; j++) {
            t.shape[j] = 1 + any(8);
            t.box[j] = any(20);
        }
        t.shape[0] = 4 * (1 + any(4));
        t.box[0] = 4 * any(10);
        t.interleave = (acu_tensor_interleave)(any(4) / 2);
        t.swizzle = (acu_tensor_swizzle)any(newest ? 7 : 4);
        t.promotion = (acu_tensor_promotion)any(4);
        t.fill_nan = any(2);
        const acu_result result = acu_tensor_map_create(x, &t, &map);
        if (result == ACU_SUCCESS) {
            taken++;
            OK(acu_tensor_map_release(map));
        } else if (result != ACU_ERROR_ARGUMENT && result != ACU_ERROR_RANGE) {
            fail_msg("seed 7, tensor %d: %d, %s", i, result, acu_last_error_message());
        }
    }
    assert_true(taken > 50);
}

static void what_does_not_fit_in_the_buffer(void **state) {
    (void)state;
    acu_tensor_map *map = NULL;
    acu_tensor t = tiles();
    t.at = 4;
    FAILS(acu_tensor_map_create(x, &t, &map), ACU_ERROR_RANGE,
          "the tensor has 8192 bytes from element 4 on, the buffer 8176");
    t.at = SIZE_MAX;
    FAILS(acu_tensor_map_create(x, &t, &map), ACU_ERROR_RANGE, "the buffer 0");
    t = tiles();
    t.shape[1] = 33;
    FAILS(acu_tensor_map_create(x, &t, &map), ACU_ERROR_RANGE, "8448 bytes");
    t = tiles();
    t.strides[0] = 512;
    FAILS(acu_tensor_map_create(x, &t, &map), ACU_ERROR_RANGE, "16128 bytes");
    t = (acu_tensor){.rank = 5,
                     .shape = {4, 2147483648u, 2147483648u, 2147483648u, 2147483648u},
                     .strides = {16, 16, 16, 16},
                     .box = {4, 1, 1, 1, 1}};
    FAILS(acu_tensor_map_create(x, &t, &map), ACU_ERROR_RANGE, "bytes from element 0 on");
    t = tiles();
    t.shape[1] = 31;
    t.at = 1;
    FAILS(acu_tensor_map_create(x, &t, &map), ACU_ERROR_ARGUMENT, "no multiple of 16");
    assert_null(map);
}

static void types_of_elements(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    static const acu_dtype types[] = {ACU_U8,  ACU_I8,  ACU_U16,     ACU_I16,    ACU_U32,
                                      ACU_I32, ACU_U64, ACU_I64,     ACU_F16,    ACU_BF16,
                                      ACU_F32, ACU_F64, ACU_F8_E4M3, ACU_F8_E5M2};
    acu_tensor_map *map = NULL;
    for (size_t i = 0; i < COUNT(types); i++) {
        acu_buffer *view = NULL;
        acu_tensor t = {.rank = 1, .shape = {256}, .box = {16}};
        OK(acu_buffer_reinterpret(x, types[i], &view));
        OK(acu_tensor_map_create(view, &t, &map));
        OK(acu_tensor_map_release(map));
        t.fill_nan = true;
        if (types[i] == ACU_F16 || types[i] == ACU_BF16 || types[i] == ACU_F32 ||
            types[i] == ACU_F64) {
            OK(acu_tensor_map_create(view, &t, &map));
            OK(acu_tensor_map_release(map));
        } else {
            FAILS(acu_tensor_map_create(view, &t, &map), ACU_ERROR_ARGUMENT, "'fill_nan'");
        }
        t.fill_nan = false;
        t.elements = ACU_TENSOR_TF32;
        if (types[i] == ACU_F32) {
            OK(acu_tensor_map_create(view, &t, &map));
            OK(acu_tensor_map_release(map));
        } else {
            FAILS(acu_tensor_map_create(view, &t, &map), ACU_ERROR_DTYPE, "of a kind of f32");
        }
        OK(acu_buffer_release(view));
    }
    acu_buffer *view = NULL;
    OK(acu_buffer_reinterpret(x, ACU_C64, &view));
    FAILS(acu_tensor_map_create(view, &(acu_tensor){.rank = 1, .shape = {2}, .box = {2}}, &map),
          ACU_ERROR_DTYPE, "there are no tensor maps");
    OK(acu_buffer_release(view));
    assert_null(map);
}

/* Elements of less than a byte came with 12.8. */
static void packed_elements(void **state) {
    (void)state;
    acu_buffer *bytes = NULL;
    acu_tensor_map *map = NULL;
    OK(acu_buffer_reinterpret(x, ACU_U8, &bytes));
    acu_tensor t = {.elements = ACU_TENSOR_U4, .rank = 1, .shape = {33}, .box = {32}};
    FAILS(acu_tensor_map_create(bytes, &t, &map), ACU_ERROR_ARGUMENT, "it must be even");
    t.elements = ACU_TENSOR_U6_ALIGN16B;
    t.shape[0] = 64;
    FAILS(acu_tensor_map_create(bytes, &t, &map), ACU_ERROR_ARGUMENT, "a multiple of 128");
    t.shape[0] = 128;
    FAILS(acu_tensor_map_create(bytes, &t, &map), ACU_ERROR_ARGUMENT, "it must be 128");
    t.box[0] = 128;
    t.swizzle = ACU_TENSOR_SWIZZLE_32B;
    FAILS(acu_tensor_map_create(bytes, &t, &map), ACU_ERROR_ARGUMENT,
          "these elements cannot have the swizzling");
    FAILS(acu_tensor_map_create(x, &t, &map), ACU_ERROR_DTYPE, "of packed elements");
    t.swizzle = ACU_TENSOR_SWIZZLE_128B;
    if (has_tensor_maps() && compute_major() < 10)
        FAILS(acu_tensor_map_create(bytes, &t, &map), ACU_NOT_SUPPORTED, "capability 10.0");
    if (compute_major() >= 10 && driver_version() >= 12080) {
        OK(acu_tensor_map_create(bytes, &t, &map));
        OK(acu_tensor_map_release(map));
        t.elements = ACU_TENSOR_U4_ALIGN16B;
        OK(acu_tensor_map_create(bytes, &t, &map));
        OK(acu_tensor_map_release(map));
    }
    OK(acu_buffer_release(bytes));
}

static void what_is_too_old(void **state) {
    (void)state;
    acu_tensor_map *map = NULL;
    const acu_tensor t = tiles();
    acu_tensor wide = columns();
    wide.mode = ACU_TENSOR_IM2COL_WIDE;
    wide.swizzle = ACU_TENSOR_SWIZZLE_64B;
    if (!has_tensor_maps())
        FAILS(acu_tensor_map_create(x, &t, &map), 801, "");
    else if (driver_version() < 12080)
        FAILS(acu_tensor_map_create(x, &wide, &map), 801, "12.8");
    else
        OK(acu_tensor_map_create(x, &wide, &map));
    OK(acu_tensor_map_release(map));
    if (is_simulated() && driver_version() < 12000)
        FAILS(acu_tensor_map_create(x, &t, &map), 801, "12.0");
}

/* ---- kernels ---- */

/* Loads the tile at (x, y) and writes it, without gaps. */
static const char tile_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry tile_of(.param .align 64 .b8 map[128], .param .u64 to, .param .u32 x,\n"
    "                        .param .u32 y) {\n"
    "    .reg .b64 %d<6>; .reg .b32 %r<6>; .reg .f32 %v; .reg .pred %p<3>;\n"
    "    .shared .align 128 .b8 tile[256];\n"
    "    .shared .align 8 .b64 ready;\n"
    "    mov.b64 %d0, map;\n"
    "    cvta.param.u64 %d1, %d0;\n"
    "    ld.param.u64 %d2, [to];\n"
    "    cvta.to.global.u64 %d2, %d2;\n"
    "    ld.param.u32 %r0, [x];\n"
    "    ld.param.u32 %r1, [y];\n"
    "    mov.u32 %r2, %tid.x;\n"
    "    mov.u32 %r3, tile;\n"
    "    mov.u32 %r4, ready;\n"
    "    setp.ne.u32 %p0, %r2, 0;\n"
    "    @%p0 bra begun;\n"
    "    mbarrier.init.shared.b64 [%r4], 1;\n"
    "    fence.mbarrier_init.release.cluster;\n"
    "    mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 256;\n"
    "    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes\n"
    "        [%r3], [%d1, {%r0, %r1}], [%r4];\n"
    "begun:\n"
    "    bar.sync 0;\n"
    "again:\n"
    "    mbarrier.try_wait.parity.shared.b64 %p1, [%r4], 0;\n"
    "    @!%p1 bra again;\n"
    "    mul.wide.u32 %d3, %r2, 4;\n"
    "    add.u64 %d4, %d2, %d3;\n"
    "    shl.b32 %r2, %r2, 2;\n"
    "    add.u32 %r3, %r3, %r2;\n"
    "    ld.shared.f32 %v, [%r3];\n"
    "    st.global.f32 [%d4], %v;\n"
    "    ret;\n"
    "}\n";

static void simulated_tile_of(const acu_sim_launch *launch, void *const *args) {
    float *to = acu_sim_at(launch, *(void *const *)args[1], 64 * sizeof *to), tile[64];
    const int at[] = {*(const int *)args[2], *(const int *)args[3]};
    if (acu_sim_tensor_load(launch, args[0], at, tile))
        memcpy(to, tile, sizeof tile);
}

static acu_kernel *tile_kernel(void) {
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    assert_int_equal(stand_in("tile_of", simulated_tile_of), 0);
    OK(acu_module_load(0, &(acu_module_source){.ptx = tile_ptx}, &module));
    OK(acu_module_get_kernel(module, "tile_of", &kernel));
    OK(acu_module_release(module));
    return kernel;
}

/* Compares a tile of x with what was written; outside of the tensor there is 0. */
static void expect_tile(acu_buffer *got, int at_x, int at_y, float more) {
    float tile[64];
    OK(acu_buffer_read(got, tile, 64));
    for (int i = 0; i < 64; i++) {
        const int column = at_x + i % 8, row = at_y + i / 8;
        const bool inside = column >= 0 && column < 64 && row >= 0 && row < 32;
        const float expected = inside ? (float)(64 * row + column) + more : 0;
        if (tile[i] != expected)
            fail_msg("(%d, %d): %g, not %g", column, row, (double)tile[i], (double)expected);
    }
}

static void a_kernel_copies_tiles(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    acu_tensor_map *map = NULL;
    const acu_tensor t = tiles();
    acu_kernel *kernel = tile_kernel();
    acu_buffer *got = numbers_on(stream, 64);
    OK(acu_tensor_map_create(x, &t, &map));
    static const int places[][2] = {{0, 0}, {8, 16}, {60, 28}, {-4, -4}, {100, 0}};
    for (size_t i = 0; i < COUNT(places); i++) {
        OK(acu_launch(stream, kernel, acu_grid_1d(64, 64), acu_in_tensor(map), acu_out(got),
                      places[i][0], places[i][1]));
        expect_tile(got, places[i][0], places[i][1], 0);
    }
    if (!executes_ptx()) { /* the PTX ends with 715: 8 bytes are no multiple of 16 */
        float tile[64];
        OK(acu_launch(stream, kernel, acu_grid_1d(64, 64), acu_in_tensor(map), acu_out(got), 2, 0));
        OK(acu_buffer_read(got, tile, 64));
        assert_true(tile[0] == 0 && tile[63] == 0); /* nothing was copied */
    }
    FAILS(acu_launch(stream, kernel, acu_grid_1d(64, 64), x, got, 0, 0), ACU_ERROR_ARGUMENT,
          "argument 0 of tile_of is a buffer of 8 bytes, but the kernel takes 128 bytes");
    FAILS(acu_launch(stream, kernel, acu_grid_1d(64, 64), map, map, 0, 0), ACU_ERROR_ARGUMENT,
          "argument 1 of tile_of is a tensor map of 128 bytes, but the kernel takes 8 bytes");
    OK(acu_tensor_map_release(map));
    OK(acu_buffer_release(got));
    OK(acu_kernel_release(kernel));
}

/* The launch waits for what another stream writes, and the map keeps the buffer. */
static void uses_are_ordered(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    acu_stream *other = stream_on(0);
    acu_tensor_map *map = NULL;
    const acu_tensor t = tiles();
    acu_kernel *kernel = tile_kernel();
    acu_buffer *got = numbers_on(stream, 64);
    const float seven = 7;
    float tile[64];
    OK(acu_tensor_map_create(x, &t, &map));
    OK(acu_buffer_fill_typed(x, ACU_F32, &seven, other));
    OK(acu_launch(stream, kernel, acu_grid_1d(64, 64), acu_in_tensor(map), acu_out(got), 0, 0));
    OK(acu_buffer_zero(x, other));
    OK(acu_buffer_read(got, tile, 64));
    assert_true(tile[0] == 7 && tile[63] == 7);
    OK(acu_tensor_map_release(map));
    OK(acu_buffer_release(got));
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(other));
}

static void the_map_leads_to_another_buffer(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    float numbers[2048];
    acu_tensor_map *map = NULL;
    const acu_tensor t = tiles();
    acu_kernel *kernel = tile_kernel();
    acu_buffer *got = numbers_on(stream, 64), *y = numbers_on(stream, 2048), *small = NULL,
               *whole = NULL;
    for (size_t i = 0; i < COUNT(numbers); i++)
        numbers[i] = (float)i + 1000;
    OK(acu_buffer_write(y, numbers, COUNT(numbers)));
    OK(acu_tensor_map_create(x, &t, &map));
    OK(acu_tensor_map_set_buffer(map, y));
    OK(acu_launch(stream, kernel, acu_grid_1d(64, 64), map, acu_out(got), 8, 8));
    OK(acu_buffer_release(y)); /* the map alone keeps it */
    OK(acu_launch(stream, kernel, acu_grid_1d(64, 64), map, acu_out(got), 16, 8));
    expect_tile(got, 16, 8, 1000);
    small = numbers_on(stream, 100);
    FAILS(acu_tensor_map_set_buffer(map, small), ACU_ERROR_RANGE, "8192 bytes");
    OK(acu_buffer_reinterpret(x, ACU_U32, &whole));
    FAILS(acu_tensor_map_set_buffer(map, whole), ACU_ERROR_DTYPE, "the buffer of u32");
    OK(acu_buffer_release(whole));
    OK(acu_buffer_release(small));
    OK(acu_tensor_map_release(map));
    OK(acu_buffer_release(got));
    OK(acu_kernel_release(kernel));
}

static void a_graph_keeps_the_map(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    acu_tensor_map *map = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    const acu_tensor t = tiles();
    acu_kernel *kernel = tile_kernel();
    acu_buffer *got = numbers_on(stream, 64);
    OK(acu_tensor_map_create(x, &t, &map));
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_launch(stream, kernel, acu_grid_1d(64, 64), acu_in_tensor(map), acu_out(got), 8, 8));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_add_launch(graph, NULL, 0, NULL, kernel, acu_grid_1d(64, 64), acu_in_tensor(map),
                            acu_out(got), 8, 8));
    OK(acu_tensor_map_release(map));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    expect_tile(got, 8, 8, 0);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(got));
    OK(acu_kernel_release(kernel));
}

static void raw_maps(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    acu_tensor_map *map = NULL, *copy = NULL;
    char line[200];
    const acu_tensor t = tiles();
    acu_kernel *kernel = tile_kernel();
    acu_buffer *got = numbers_on(stream, 64);
    OK(acu_tensor_map_create(x, &t, &map));
    assert_int_equal(acu_tensor_map_device(map), 0);
    assert_int_equal((uintptr_t)acu_tensor_map_raw(map) % 128, 0);
    acu_tensor_map_describe(map, line, sizeof line);
    assert_non_null(strstr(line, "of 64 x 32 elements"));
    OK(acu_tensor_map_wrap(x, acu_tensor_map_raw(map), &copy));
    assert_memory_equal(acu_tensor_map_raw(copy), acu_tensor_map_raw(map), 128);
    acu_tensor_map_describe(copy, line, sizeof line);
    assert_non_null(strstr(line, "wrapped"));
    assert_ptr_equal(acu_tensor_map_retain(map), map);
    OK(acu_tensor_map_release(map));
    OK(acu_tensor_map_release(map));
    OK(acu_launch(stream, kernel, acu_grid_1d(64, 64), copy, acu_out(got), 0, 8));
    expect_tile(got, 0, 8, 0);
    FAILS(acu_tensor_map_set_buffer(copy, x), ACU_ERROR_STATE, "its shape is not known");
    OK(acu_tensor_map_release(copy));
    OK(acu_buffer_release(got));
    OK(acu_kernel_release(kernel));
}

/* A row of a pitched buffer begins a pitch after the one before. */
static void pitched_buffers(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    acu_tensor_map *map = NULL;
    acu_buffer *rows = NULL, *got = numbers_on(stream, 64);
    acu_kernel *kernel = tile_kernel();
    float numbers[8 * 20], tile[64];
    for (size_t i = 0; i < COUNT(numbers); i++)
        numbers[i] = (float)i;
    OK(acu_buffer_create_pitched(stream, ACU_F32, (acu_extent){20, 8, 1}, NULL, &rows));
    const acu_region region = {.buffer = rows};
    OK(acu_region_write(&region, ((acu_extent){20, 8, 1}), numbers));
    OK(acu_tensor_map_create(rows, &(acu_tensor){.rank = 2, .shape = {20, 8}, .box = {8, 8}},
                             &map));
    OK(acu_launch(stream, kernel, acu_grid_1d(64, 64), acu_in_tensor(map), acu_out(got), 4, 0));
    OK(acu_buffer_read(got, tile, 64));
    assert_true(tile[0] == 4 && tile[8] == 24 && tile[63] == 151);
    OK(acu_tensor_map_release(map));
    OK(acu_kernel_release(kernel));
    OK(acu_buffer_release(rows));
    OK(acu_buffer_release(got));
}

static void each_call_fails_once(void **state) {
    (void)state;
    NEEDS_TENSOR_MAPS();
    static const char *const calls[] = {"cudaDeviceGetAttribute", "cuInit",
                                        "cuTensorMapEncodeTiled"};
    acu_tensor_map *map = NULL;
    const acu_tensor t = tiles();
    char rule[64];
    for (size_t i = 0; i < COUNT(calls); i++) {
        snprintf(rule, sizeof rule, "%s@1:2", calls[i]);
        assert_int_equal(acu_inject_errors(rule), 0);
        FAILS(acu_tensor_map_create(x, &t, &map), ACU_OUT_OF_MEMORY, calls[i]);
        assert_null(map);
    }
    acu_inject_errors(NULL);
    OK(acu_tensor_map_create(x, &t, &map));
    assert_int_equal(acu_inject_errors("cuTensorMapReplaceAddress@1:2"), 0);
    FAILS(acu_tensor_map_set_buffer(map, x), ACU_OUT_OF_MEMORY, "cuTensorMapReplaceAddress");
    acu_inject_errors(NULL);
    OK(acu_tensor_map_release(map));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TENSOR_TEST(what_cuda_would_refuse),
        TENSOR_TEST(the_largest_tiles),
        TENSOR_TEST(interleaved_tensors),
        TENSOR_TEST(what_is_checked_is_taken),
        TENSOR_TEST(what_does_not_fit_in_the_buffer),
        TENSOR_TEST(types_of_elements),
        TENSOR_TEST(packed_elements),
        TENSOR_TEST(what_is_too_old),
        TENSOR_TEST(a_kernel_copies_tiles),
        TENSOR_TEST(uses_are_ordered),
        TENSOR_TEST(the_map_leads_to_another_buffer),
        TENSOR_TEST(a_graph_keeps_the_map),
        TENSOR_TEST(raw_maps),
        TENSOR_TEST(pitched_buffers),
        TENSOR_TEST(each_call_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
