/* Copies of tiles by tensor maps, each compared with a copy element by element. */
#include "ptx_test.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#undef HEAD
#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n"

enum { RANKS = 5, MOST_BYTES = 1 << 16, ROOM = 1 << 20 };

static uint32_t last_random = 1;

static unsigned below(unsigned count) {
    last_random = last_random * 1664525 + 1013904223;
    return (last_random >> 8) % count;
}

/* ---- kernels ---- */

/*
 * One thread copies a tile. The kernel's parameters are memory as large as the tile, which a load
 * writes and a store reads, the map, where the tile is, offsets of im2col, the bytes that the tile
 * takes, and how many of them are copied.
 */
static const char parameters[] =
    HEAD ".extern .shared .align 1024 .b8 s[];\n"
         ".entry k(.param .u64 p, .param .align 64 .b8 map[128], .param .align 4 .b8 at[20],\n"
         ".param .align 2 .b8 offsets[8], .param .u32 bytes, .param .u32 copied)\n{\n"
         ".reg .b32 %r<9>; .reg .b32 %c<5>; .reg .b16 %h<4>; .reg .b64 %d<9>; .reg .pred %q<5>;\n"
         ".shared .align 8 .b8 m[8];\n"
         "ld.param.u64 %d1, [p];\nld.param.u32 %r1, [bytes];\nld.param.u32 %r7, [copied];\n"
         "mov.b64 %d2, map;\n"
         "cvta.param.u64 %d2, %d2;\nmov.u32 %r2, s;\n"
         "ld.param.b32 %c0, [at];\nld.param.b32 %c1, [at+4];\nld.param.b32 %c2, [at+8];\n"
         "ld.param.b32 %c3, [at+12];\nld.param.b32 %c4, [at+16];\n"
         "ld.param.b16 %h0, [offsets];\nld.param.b16 %h1, [offsets+2];\n"
         "ld.param.b16 %h2, [offsets+4];\nmbarrier.init.shared.b64 [m], 1;\n";

/* Loops over the words of shared memory at %r2 and of global memory at %d1. */
#define LOOP(name, body)                                                                           \
    "mov.u32 %r3, 0;\n" name ":\nadd.u32 %r4, %r2, %r3;\ncvt.u64.u32 %d3, %r3;\n"                  \
    "add.u64 %d3, %d3, %d1;\n" body "add.u32 %r3, %r3, 4;\nsetp.lt.u32 %q1, %r3, %r1;\n"           \
    "@%q1 bra " name ";\n"
#define WAIT                                                                                       \
    "mbarrier.arrive.expect_tx.shared.b64 %d4, [m], %r7;\n"                                        \
    "W: mbarrier.try_wait.parity.shared.b64 %q2, [m], 0;\n@!%q2 bra W;\n"
#define TO_MEMORY   "ld.shared.b32 %r5, [%r4];\nst.global.b32 [%d3], %r5;\n"
#define FROM_MEMORY "ld.global.b32 %r5, [%d3];\nst.shared.b32 [%r4], %r5;\n"

/* What a kernel does with the tile. */
typedef enum way { LOADS, STORES, REDUCES } way;

static const char *copy_kernel(way how, unsigned rank, const char *mode, const char *reduction) {
    static char text[8192], vector[64];
    static const char *const vectors[] = {"",
                                          "{%c0}",
                                          "{%c0, %c1}",
                                          "{%c0, %c1, %c2}",
                                          "{%c0, %c1, %c2, %c3}",
                                          "{%c0, %c1, %c2, %c3, %c4}"};
    static const char *const offsets[] = {
        "", "", "", ", {%h0}", ", {%h0, %h1}", ", {%h0, %h1, %h2}"};
    size_t used = (size_t)snprintf(text, sizeof text, "%s", parameters);
    snprintf(vector, sizeof vector, "[%%d2, %s]", vectors[rank]);
    bool shifts = strcmp(mode, ".im2col") == 0;
    if (how == LOADS)
        snprintf(text + used, sizeof text - used,
                 "%sfence.proxy.async.shared::cta;\n"
                 "cp.async.bulk.tensor.%ud.shared::cluster.global%s.mbarrier::complete_tx::bytes "
                 "[s], %s, [m]%s;\n%s%sret;\n}\n",
                 LOOP("F", FROM_MEMORY), rank, mode, vector, shifts ? offsets[rank] : "", WAIT,
                 LOOP("L", TO_MEMORY));
    else
        snprintf(text + used, sizeof text - used,
                 "%sfence.proxy.async.shared::cta;\n"
                 "cp.%sasync.bulk.tensor.%ud.global.shared::cta%s%s.bulk_group %s, [s];\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n",
                 LOOP("L", FROM_MEMORY), how == REDUCES ? "reduce." : "", rank, reduction, mode,
                 vector);
    return text;
}

static CUfunction function_of(CUmodule *module, const char *text) {
    CUfunction function = NULL;
    *module = load_text(text);
    OK(cuModuleGetFunction(&function, *module, "k"));
    return function;
}

/* ---- tensors ---- */

typedef struct kind {
    CUtensorMapDataType type;
    unsigned size;
    bool is_float;
} kind;

static const kind kinds[] = {
    {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, false},   {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, false},
    {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, false},  {CU_TENSOR_MAP_DATA_TYPE_INT64, 8, false},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, true},  {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, true},
    {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, true}, {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, true},
};

typedef struct tensor {
    kind kind;
    unsigned rank;
    cuuint64_t shape[RANKS], strides[RANKS];
    cuuint32_t box[RANKS], steps[RANKS]; /* of im2col: the box is channels, and pixels */
    int lower[3], upper[3];
    unsigned swizzle;
    bool nan, im2col;
    unsigned interleave;
    int at[RANKS];
    uint16_t offsets[4];
    size_t bytes; /* of all elements */
} tensor;

/* A row of the tile has a multiple of 16 bytes; with a swizzle, not more than that swizzles. */
static void choose_row(tensor *t) {
    unsigned chunks = 1 + below(t->swizzle ? 1u << t->swizzle : 4);
    t->box[0] = chunks * 16 / t->kind.size;
}

static void choose_shape(tensor *t, unsigned most) {
    size_t bytes = t->kind.size;
    for (unsigned i = 0; i < t->rank; i++) {
        t->shape[i] = 1 + below(i ? most : 64);
        bytes *= t->shape[i];
        if (!i)
            bytes = (bytes + 15) / 16 * 16 + 16 * below(2);
        t->strides[i] = bytes;
    }
    t->bytes = bytes;
}

/* Chooses the first coordinate, a multiple of 16 bytes, partly before the tensor or behind it. */
static void choose_first(tensor *t) {
    unsigned chunks = ((unsigned)t->shape[0] * t->kind.size + 15) / 16;
    t->at[0] = ((int)below(chunks + 3) - 2) * 16 / (int)t->kind.size;
}

static tensor random_tiles(unsigned rank) {
    tensor t = {.rank = rank, .kind = kinds[below(8)], .swizzle = below(4)};
    t.nan = t.kind.is_float && below(2);
    choose_row(&t);
    choose_shape(&t, t.rank > 3 ? 5 : 9);
    for (unsigned i = 0; i < rank; i++) {
        t.steps[i] = 1 + (below(3) == 0) * below(3);
        if (i)
            t.box[i] = 1 + below(rank > 3 ? 4 : 9);
        t.at[i] = (int)below((unsigned)t.shape[i] + 4) - 4;
    }
    choose_first(&t);
    return t;
}

static tensor random_columns(unsigned rank) {
    tensor t = {.rank = rank, .kind = kinds[below(8)], .swizzle = below(4), .im2col = true};
    t.nan = t.kind.is_float && below(2);
    choose_row(&t);
    choose_shape(&t, rank > 3 ? 5 : 9);
    t.box[1] = 1 + below(60);
    t.steps[0] = t.steps[rank - 1] = 1;
    choose_first(&t);
    t.at[rank - 1] = (int)below((unsigned)t.shape[rank - 1]);
    for (unsigned i = 0; i + 2 < rank; i++) {
        t.steps[i + 1] = 1 + below(2);
        t.lower[i] = -(int)below(3);
        t.upper[i] = -(int)below(3);
        if ((int)t.shape[i + 1] + t.upper[i] - t.lower[i] <= 0)
            t.upper[i] = 0;
        unsigned pixels = (unsigned)((int)t.shape[i + 1] + t.upper[i] - t.lower[i]);
        t.at[i + 1] = t.lower[i] + (int)below(pixels);
        t.offsets[i] = (uint16_t)below(3);
    }
    return t;
}

static void encode(const tensor *t, CUdeviceptr memory, CUtensorMap *map) {
    CUtensorMapFloatOOBfill fill = t->nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                          : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    if (t->im2col)
        OK(cuTensorMapEncodeIm2col(map, t->kind.type, t->rank, (void *)(uintptr_t)memory, t->shape,
                                   t->strides, t->lower, t->upper, t->box[0], t->box[1], t->steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)t->swizzle,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, fill));
    else
        OK(cuTensorMapEncodeTiled(
            map, t->kind.type, t->rank, (void *)(uintptr_t)memory, t->shape, t->strides, t->box,
            t->steps, (CUtensorMapInterleave)t->interleave, (CUtensorMapSwizzle)t->swizzle,
            CU_TENSOR_MAP_L2_PROMOTION_NONE, fill));
}

/* ---- what should come out ---- */

/* Returns where an element is in the tensor, in bytes; SIZE_MAX: outside. */
static size_t offset_of(const tensor *t, const int *place) {
    size_t offset = 0;
    for (unsigned i = 0; i < t->rank; i++) {
        if (place[i] < 0 || place[i] >= (int)t->shape[i])
            return SIZE_MAX;
        offset += (size_t)place[i] * (i ? t->strides[i - 1] : t->kind.size);
    }
    return offset;
}

/* Returns what a row takes of the tile: with a swizzle, all that is swizzled together. */
static size_t line_of(const tensor *t) {
    return t->swizzle ? (size_t)16 << t->swizzle : t->box[0] * t->kind.size;
}

/* Returns where an element of a row is in the tile: chunks of 16 bytes change places in a pattern
 * of 8 lines of 128 bytes. */
static size_t tile_offset(const tensor *t, size_t row, size_t column) {
    static const size_t rows_in_line[] = {1, 4, 2, 1}, chunks[] = {1, 2, 4, 8};
    size_t byte = column * t->kind.size, chunk = byte / 16;
    if (t->swizzle)
        chunk ^= row / rows_in_line[t->swizzle] % chunks[t->swizzle];
    return row * line_of(t) + chunk * 16 + byte % 16;
}

static size_t row_count(const tensor *t) {
    size_t rows = 1;
    if (t->im2col)
        return t->box[1];
    for (unsigned i = 1; i < t->rank; i++)
        rows *= (t->box[i] + t->steps[i] - 1) / t->steps[i];
    return rows;
}

static size_t tile_room(const tensor *t) {
    return row_count(t) * line_of(t);
}

/* Finds the place of the first element of a row, by division. */
static void place_of_row(const tensor *t, size_t row, int *place) {
    place[0] = t->at[0];
    for (unsigned i = 1; i < t->rank && !t->im2col; i++) {
        size_t count = (t->box[i] + t->steps[i] - 1) / t->steps[i];
        place[i] = t->at[i] + (int)(row % count * t->steps[i]);
        row /= count;
    }
    if (t->im2col)
        memcpy(place, t->at, t->rank * sizeof *place);
    for (; t->im2col && row > 0; row--) { /* pixel by pixel */
        unsigned i = 1;
        while (i + 1 < t->rank && place[i] + (int)t->steps[i] >= (int)t->shape[i] + t->upper[i - 1])
            place[i] = t->lower[i - 1], i++;
        place[i] += i + 1 < t->rank ? (int)t->steps[i] : 1;
    }
}

typedef void each_element(const tensor *t, size_t in_tile, size_t in_tensor, char *tile,
                          char *memory);

/* Returns where an element is stored: one behind the end of its row, too, as far as the last chunk
 * of 16 bytes goes. */
static size_t stored_offset(const tensor *t, int place[RANKS]) {
    const int last = (int)t->shape[0] - 1, behind = place[0] - last, size = (int)t->kind.size;
    if (behind <= 0)
        return offset_of(t, place);
    if (place[0] * size >= ((last + 1) * size + 15) / 16 * 16)
        return SIZE_MAX;
    place[0] = last;
    const size_t at = offset_of(t, place);
    return at == SIZE_MAX ? at : at + (size_t)(behind * size);
}

/* `shifts`: the copy has offsets, which only loads may have. */
static void for_each_element(const tensor *t, char *tile, char *memory, bool loads, bool shifts,
                             each_element *does) {
    for (size_t row = 0; row < row_count(t); row++)
        for (unsigned x = 0; x < t->box[0]; x++) {
            int place[RANKS];
            place_of_row(t, row, place);
            place[0] += (int)x;
            for (unsigned i = 0; shifts && i + 2 < t->rank; i++)
                place[i + 1] += t->offsets[i];
            does(t, tile_offset(t, row, x), loads ? offset_of(t, place) : stored_offset(t, place),
                 tile, memory);
        }
}

static void load_element(const tensor *t, size_t in_tile, size_t in_tensor, char *tile,
                         char *memory) {
    if (in_tensor != SIZE_MAX) {
        memcpy(tile + in_tile, memory + in_tensor, t->kind.size);
        return;
    }
    for (unsigned n = 0; n < t->kind.size; n++)
        tile[in_tile + n] = (char)(t->nan ? (n % 2 ? 0x7f : 0xf7) : 0);
}

static void store_element(const tensor *t, size_t in_tile, size_t in_tensor, char *tile,
                          char *memory) {
    if (in_tensor != SIZE_MAX)
        memcpy(memory + in_tensor, tile + in_tile, t->kind.size);
}

/* ---- the memory of a test ---- */

static CUdeviceptr tensor_memory, tile_memory;
static char tensor_bytes[ROOM], tile_bytes[MOST_BYTES], expected[ROOM];

static void fill(char *bytes, size_t count) {
    for (size_t n = 0; n < count; n++)
        bytes[n] = (char)below(256);
}

/* Runs the kernel with what `tensor_bytes` and `tile_bytes` have, and reads them back. */
static CUresult try_tile(const tensor *t, const char *text) {
    CUmodule module;
    CUtensorMap map;
    CUfunction function = function_of(&module, text);
    uint32_t bytes = (uint32_t)tile_room(t),
             copied = (uint32_t)(row_count(t) * t->box[0] * t->kind.size);
    void *arguments[] = {&tile_memory, &map, (void *)t->at, (void *)t->offsets, &bytes, &copied};
    assert_true(bytes <= MOST_BYTES && t->bytes <= ROOM);
    OK(cuMemcpyHtoD(tensor_memory, tensor_bytes, t->bytes));
    OK(cuMemcpyHtoD(tile_memory, tile_bytes, bytes));
    encode(t, tensor_memory, &map);
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, bytes, NULL, arguments, NULL));
    CUresult result = cuCtxSynchronize();
    if (result == CUDA_SUCCESS) {
        OK(cuMemcpyDtoH(tensor_bytes, tensor_memory, t->bytes));
        OK(cuMemcpyDtoH(tile_bytes, tile_memory, bytes));
        OK(cuModuleUnload(module));
    }
    return result;
}

static void begin_memory(void) {
    OK(cuMemAlloc(&tensor_memory, ROOM));
    OK(cuMemAlloc(&tile_memory, MOST_BYTES));
}

static void end_memory(void) {
    OK(cuMemFree(tensor_memory));
    OK(cuMemFree(tile_memory));
}

static void describe(const tensor *t, const char *what) {
    print_error("%s: rank %u, %u bytes, swizzle %u, box %u %u %u, steps %u %u, shape %u %u, "
                "at %d %d %d\n",
                what, t->rank, t->kind.size, t->swizzle, t->box[0], t->box[1], t->box[2],
                t->steps[0], t->steps[1], (unsigned)t->shape[0], (unsigned)t->shape[1], t->at[0],
                t->at[1], t->at[2]);
}

static void check_load(const tensor *t, const char *mode) {
    fill(tensor_bytes, t->bytes);
    fill(tile_bytes, tile_room(t));
    memcpy(expected, tile_bytes, tile_room(t));
    for_each_element(t, expected, tensor_bytes, true, t->im2col, load_element);
    OK(try_tile(t, copy_kernel(LOADS, t->rank, mode, "")));
    size_t bytes = tile_room(t);
    if (memcmp(expected, tile_bytes, bytes) != 0)
        describe(t, "load");
    assert_memory_equal(expected, tile_bytes, bytes);
}

/* Moves a tile into the tensor where it begins before that, which no GPU stores. */
static tensor behind_begin(const tensor *from) {
    tensor t = *from;
    for (unsigned i = 0; i < t.rank; i++) {
        t.at[i] = t.at[i] < 0 ? 0 : t.at[i];
        if (i > 0 && i + 1 < t.rank) {
            t.lower[i - 1] = 0;
            t.upper[i - 1] = (int)t.shape[i] + t.upper[i - 1] > 0 ? t.upper[i - 1] : 0;
        }
    }
    return t;
}

static void check_store(const tensor *from, const char *mode) {
    const tensor moved = behind_begin(from), *t = &moved;
    fill(tensor_bytes, t->bytes);
    fill(tile_bytes, sizeof tile_bytes);
    memcpy(expected, tensor_bytes, t->bytes);
    for_each_element(t, tile_bytes, expected, false, false, store_element);
    OK(try_tile(t, copy_kernel(STORES, t->rank, mode, "")));
    if (memcmp(expected, tensor_bytes, t->bytes) != 0)
        describe(t, "store");
    assert_memory_equal(expected, tensor_bytes, t->bytes);
}

TEST(tiles_are_loaded_and_stored) {
    begin_memory();
    for (unsigned n = 0; n < 300; n++) {
        tensor t = random_tiles(1 + n % 5);
        check_load(&t, n % 2 ? ".tile" : "");
        check_store(&t, n % 2 ? "" : ".tile");
    }
    end_memory();
}

TEST(columns_of_pixels_are_loaded_and_stored) {
    begin_memory();
    for (unsigned n = 0; n < 150; n++) {
        tensor t = random_columns(3 + n % 3);
        check_load(&t, ".im2col");
        check_store(&t, ".im2col_no_offs");
    }
    end_memory();
}

/* ---- reductions ---- */

/* A tile of 32-bit integers, of which the kernel makes something with what is in memory. */
static uint32_t reduce(unsigned how, uint32_t old, uint32_t by, bool is_signed) {
    bool less = is_signed ? (int32_t)by < (int32_t)old : by < old;
    switch (how) {
    case 0:
        return old + by;
    case 1:
        return less ? by : old;
    case 2:
        return less ? old : by;
    case 3:
        return old >= by ? 0 : old + 1;
    case 4:
        return old == 0 || old > by ? by : old - 1;
    case 5:
        return old & by;
    case 6:
        return old | by;
    default:
        return old ^ by;
    }
}

TEST(tiles_are_reduced) {
    static const char *const names[] = {".add", ".min", ".max", ".inc",
                                        ".dec", ".and", ".or",  ".xor"};
    begin_memory();
    for (unsigned n = 0; n < 16; n++) {
        bool is_signed = n >= 8;
        if (is_signed && (n % 8 == 3 || n % 8 == 4))
            continue;
        tensor t = random_tiles(2);
        t.kind = (kind){is_signed ? CU_TENSOR_MAP_DATA_TYPE_INT32 : CU_TENSOR_MAP_DATA_TYPE_UINT32,
                        4, false};
        t.nan = false;
        choose_row(&t);
        choose_shape(&t, t.rank > 3 ? 5 : 9);
        choose_first(&t);
        t = behind_begin(&t);
        fill(tensor_bytes, t.bytes);
        fill(tile_bytes, sizeof tile_bytes);
        memcpy(expected, tensor_bytes, t.bytes);
        for (size_t row = 0; row < row_count(&t); row++)
            for (unsigned x = 0; x < t.box[0]; x++) {
                int place[RANKS];
                place_of_row(&t, row, place);
                place[0] += (int)x;
                uint32_t old, by;
                size_t at = stored_offset(&t, place);
                if (at == SIZE_MAX)
                    continue;
                memcpy(&old, expected + at, 4);
                memcpy(&by, tile_bytes + tile_offset(&t, row, x), 4);
                old = reduce(n % 8, old, by, is_signed);
                memcpy(expected + at, &old, 4);
            }
        OK(try_tile(&t, copy_kernel(REDUCES, 2, "", names[n % 8])));
        assert_memory_equal(expected, tensor_bytes, t.bytes);
    }
    end_memory();
}

/* A matrix of 8 x 4 elements, copied as a whole. */
static tensor small(CUtensorMapDataType type, unsigned size) {
    return (tensor){.kind = {type, size, false},
                    .rank = 2,
                    .shape = {8, 4},
                    .strides = {8 * (cuuint64_t)size},
                    .box = {8, 4},
                    .steps = {1, 1},
                    .bytes = 32 * (size_t)size};
}

/* 1.5 and 2 are added. */
TEST(tiles_of_floats_are_added) {
    static const struct {
        CUtensorMapDataType type;
        unsigned size;
        uint64_t a, b, sum;
    } rows[] = {
        {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 0x3e00, 0x4000, 0x4300},
        {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 0x3fc0, 0x4000, 0x4060},
        {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 0x3fc00000, 0x40000000, 0x40600000},
        {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, 0x3ff8000000000000, 0x4000000000000000,
         0x400c000000000000},
        {CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, UINT64_C(1) << 40, UINT64_C(1) << 41,
         UINT64_C(3) << 40},
    };
    begin_memory();
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        tensor t = small(rows[n].type, rows[n].size);
        for (size_t at = 0; at < t.bytes; at += rows[n].size) {
            memcpy(tensor_bytes + at, &rows[n].a, rows[n].size);
            memcpy(tile_bytes + at, &rows[n].b, rows[n].size);
            memcpy(expected + at, &rows[n].sum, rows[n].size);
        }
        OK(try_tile(&t, copy_kernel(REDUCES, 2, ".tile", ".add")));
        assert_memory_equal(expected, tensor_bytes, t.bytes);
    }
    end_memory();
}

/* Numbers of tf32 are rounded to 10 bits, and no type flushes subnormal numbers, as an H200 did. */
TEST(loads_convert_floats) {
    static const uint32_t kept[][2] = {{0x3f800001, 0x3f800001},
                                       {0x00000001, 0x00000001},
                                       {0x807fe000, 0x807fe000},
                                       {0x7f800000, 0x7f800000},
                                       {0x00800000, 0x00800000}};
    static const uint32_t rounded[][2] = {
        {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000},
        {0x3f803000, 0x3f804000}, {0x3f802fff, 0x3f802000}, {0xbf801000, 0xbf800000},
        {0xbf803000, 0xbf804000}, {0x7f7fffff, 0x7f800000}, {0x7f800001, 0x7fffe000},
        {0x7fc00000, 0x7fffe000}, {0xff801000, 0x7fffe000}, {0x00001000, 0x00000000},
        {0x00000fff, 0x00000000}, {0x00003000, 0x00004000}, {0x007fffff, 0x00800000},
        {0x80001000, 0x80000000}};
    static const CUtensorMapDataType types[] = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
                                                CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
                                                CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ};
    begin_memory();
    for (unsigned n = 0; n < 3; n++) {
        const uint32_t (*rows)[2] = n ? rounded : kept;
        unsigned count = n ? 16 : 5;
        tensor t = small(types[n], 4);
        for (unsigned i = 0; i < count; i++) {
            memcpy(tensor_bytes + i * 4, &rows[i][0], 4);
            memcpy(expected + i * 4, &rows[i][1], 4);
        }
        OK(try_tile(&t, copy_kernel(LOADS, 2, "", "")));
        assert_memory_equal(expected, tile_bytes, count * 4);
    }
    end_memory();
}

/* An H200 rounds nothing and flushes nothing that is stored. */
TEST(stores_change_no_floats) {
    static const CUtensorMapDataType types[] = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
                                                CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
                                                CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ};
    static const uint32_t numbers[] = {0x3f800fff, 1, 0x7fffffff, 0x7f800001};
    begin_memory();
    for (unsigned n = 0; n < 3; n++) {
        tensor t = small(types[n], 4);
        memcpy(tile_bytes, numbers, sizeof numbers);
        OK(try_tile(&t, copy_kernel(STORES, 2, "", "")));
        assert_memory_equal(numbers, tensor_bytes, sizeof numbers);
    }
    end_memory();
}

/* ---- several blocks ---- */

/* The first block of four loads a tile for the blocks 1 and 3. */
TEST(a_tile_goes_to_several_blocks) {
    CUmodule module;
    CUtensorMap map;
    tensor t = small(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4);
    uint32_t results[4];
    begin_memory();
    CUfunction function = function_of(
        &module,
        HEAD ".visible .entry k(.param .u64 p, .param .align 64 .b8 map[128])\n.explicitcluster\n"
             ".reqnctapercluster 4, 1, 1\n{\n.reg .b32 %r<9>; .reg .b16 %h; .reg .b64 %d<9>;\n"
             ".reg .pred %q<5>;\n.shared .align 128 .b8 s[128];\n.shared .align 8 .b8 m[8];\n"
             "ld.param.u64 %d1, [p];\nmov.b64 %d2, map;\ncvta.param.u64 %d2, %d2;\n"
             "mov.u32 %r1, %cluster_ctarank;\nmbarrier.init.shared.b64 [m], 1;\nmov.u32 %r2, 0;\n"
             "st.shared.u32 [s+124], %r2;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
             "setp.ne.u32 %q1, %r1, 0;\nmov.b16 %h, 10;\n@%q1 bra ALL;\n"
             "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
             "multicast::cluster [s], [%d2, {%r2, %r2}], [m], %h;\n"
             "ALL: and.b32 %r3, %r1, 1;\nsetp.eq.u32 %q1, %r3, 0;\n@%q1 bra END;\n"
             "mbarrier.arrive.expect_tx.shared.b64 %d4, [m], 128;\n"
             "W: mbarrier.try_wait.parity.shared.b64 %q2, [m], 0;\n@!%q2 bra W;\n"
             "END: ld.shared.u32 %r4, [s+124];\nmul.wide.u32 %d3, %r1, 4;\n"
             "add.u64 %d3, %d3, %d1;\nst.global.u32 [%d3], %r4;\n"
             "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n");
    void *arguments[] = {&tile_memory, &map};
    uint32_t last = 77;
    OK(cuMemcpyHtoD(tensor_memory + 124, &last, sizeof last));
    encode(&t, tensor_memory, &map);
    OK(cuLaunchKernel(function, 4, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(results, tile_memory, sizeof results));
    static const uint32_t right[] = {0, 77, 0, 77};
    assert_memory_equal(results, right, sizeof right);
    OK(cuModuleUnload(module));
    end_memory();
}

/* ---- maps that kernels change ---- */

#define REPLACE(field, type, value)                                                                \
    "tensormap.replace.tile." field ".shared::cta.b1024." type " [s], " value ";\n"

/* A kernel changes all fields of a map of bytes to those of another one, of 32 bits. */
TEST(a_kernel_changes_a_map) {
    CUmodule module;
    CUtensorMap map;
    begin_memory();
    CUfunction function = function_of(
        &module, HEAD
        ".entry k(.param .u64 p, .param .align 64 .b8 map[128], .param .u64 tensor)\n{\n"
        ".reg .b32 %r<9>; .reg .b64 %d<9>;\n.reg .pred %q<5>;\n"
        ".shared .align 128 .b8 s[128];\nld.param.u64 %d1, [p];\nld.param.u64 %d5, [tensor];\n"
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nmov.b64 %d3, map;\n"
        "add.u64 %d4, %d3, %d2;\nld.param.b32 %r2, [%d4];\nmov.u32 %r3, s;\n"
        "shl.b32 %r4, %r1, 2;\nadd.u32 %r4, %r4, %r3;\nst.shared.b32 [%r4], %r2;\n"
        "bar.sync 0;\nsetp.ne.u32 %q1, %r1, 0;\n@%q1 bra ALL;\nmov.u32 %r5, 3;\n" REPLACE(
            "global_address", "b64",
            "%d5") REPLACE("rank", "b32", "1") REPLACE("box_dim", "b32",
                                                       "0, 8") REPLACE("box_dim", "b32", "1, %r5")
            REPLACE("global_dim", "b32", "0, 8") REPLACE("global_dim", "b32", "1, 4") REPLACE(
                "global_stride", "b64", "0, 48") REPLACE("element_stride", "b32", "1, 2")
                REPLACE("elemtype", "b32", "2") REPLACE("interleave_layout", "b32", "0")
                    REPLACE("swizzle_mode", "b32", "1") REPLACE(
                        "fill_mode",
                        "b32",
                        "0") "ALL: bar.sync 0;\n"
                             "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic."
                             "release.gpu.sync."
                             "aligned [%d1], [s], 128;\n"
                             "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;\nret;\n}\n");
    tensor t = small(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1), wanted = t;
    t.shape[0] = t.box[0] = t.strides[0] = 16;
    t.rank = 1;
    wanted = small(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4);
    wanted.strides[0] = 48;
    wanted.box[1] = 3;
    wanted.steps[1] = 2;
    wanted.swizzle = 1;
    void *arguments[] = {&tile_memory, &map, &tensor_memory};
    encode(&t, tensor_memory + 512, &map);
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(tile_bytes, tile_memory, sizeof map));
    encode(&wanted, tensor_memory, &map);
    assert_memory_equal(tile_bytes, &map, sizeof map);
    OK(cuModuleUnload(module));
    end_memory();
}

/* A kernel makes a map of zeros, as Triton's do. */
TEST(a_kernel_makes_a_map) {
    CUmodule module;
    CUtensorMap map;
    begin_memory();
    CUfunction function = function_of(
        &module,
        HEAD ".entry k(.param .u64 p, .param .u64 tensor)\n{\n"
             ".reg .b32 %r<9>; .reg .b64 %d<9>;\n.reg .pred %q<5>;\n"
             ".shared .align 128 .b8 s[128];\nld.param.u64 %d1, [p];\nld.param.u64 %d5, [tensor];\n"
             "mov.u32 %r1, %tid.x;\nmov.u32 %r3, s;\nshl.b32 %r4, %r1, 2;\n"
             "add.u32 %r4, %r4, %r3;\nst.shared.b32 [%r4], 0;\n"
             "bar.sync 0;\nsetp.ne.u32 %q1, %r1, 0;\n@%q1 bra ALL;\n" /* */
        REPLACE("global_address", "b64", "%d5") REPLACE("rank", "b32", "1") REPLACE(
            "box_dim", "b32", "0, 8") REPLACE("box_dim", "b32", "1, 3") REPLACE("global_dim", "b32",
                                                                                "0, 8")
            REPLACE("global_dim", "b32", "1, 4") REPLACE("global_stride", "b64", "0, 48") REPLACE(
                "element_stride", "b32", "0, 1") REPLACE("element_stride", "b32", "1, 2")
                REPLACE("elemtype", "b32", "2") REPLACE("interleave_layout", "b32", "0")
                    REPLACE("swizzle_mode", "b32", "1") REPLACE(
                        "fill_mode", "b32",
                        "0") "ALL: bar.sync 0;\n"
                             "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic."
                             "release.gpu.sync."
                             "aligned [%d1], [s], 128;\n"
                             "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;\nret;\n}\n");
    tensor wanted = small(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4);
    wanted.strides[0] = 48;
    wanted.box[1] = 3;
    wanted.steps[1] = 2;
    wanted.swizzle = 1;
    void *arguments[] = {&tile_memory, &tensor_memory};
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(tile_bytes, tile_memory, sizeof map));
    encode(&wanted, tensor_memory, &map);
    assert_memory_equal(tile_bytes, &map, sizeof map);
    OK(cuModuleUnload(module));
    end_memory();
}

/* ---- what is refused ---- */

static char last_reason[512]; /* what the simulator printed */

static void check_fault(const tensor *t, const char *text, int code) {
    begin_memory();
    FILE *said = tmpfile();
    int error = dup(2);
    assert_non_null(said);
    dup2(fileno(said), 2);
    CUresult result = try_tile(t, text);
    dup2(error, 2);
    close(error);
    fseek(said, 0, SEEK_SET);
    last_reason[fread(last_reason, 1, sizeof last_reason - 1, said)] = '\0';
    fclose(said);
    SAYS((CUresult)code, result);
    acu_sim_reset(MACHINE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* Replaces a part of the text. */
static const char *with(const char *text, const char *part, const char *instead) {
    static char changed[8192];
    const char *at = strstr(text, part);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, instead,
             at + strlen(part));
    return changed;
}

/* An H200 was not asked how channels that are interleaved by 32 bytes are swizzled otherwise. */
static void check_interleaved_faults(void) {
    tensor t = {.kind = {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, false},
                .rank = 3,
                .shape = {4, 20, 2},
                .strides = {128, 256},
                .box = {8, 8, 1},
                .steps = {1, 1, 1},
                .interleave = 2,
                .bytes = 512};
    check_fault(&t, copy_kernel(LOADS, 3, "", ""), 801);
    t.swizzle = 2;
    check_fault(&t, copy_kernel(LOADS, 3, "", ""), 801);
}

TEST(copies_that_fail) {
    tensor t = small(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4);
    const char *load = copy_kernel(LOADS, 2, "", "");
    memset(tile_bytes, 0, sizeof tile_bytes);
    check_fault(&t, with(load, "[s], [%d2", "[s+64], [%d2"), 716);
    check_fault(&t, with(load, "}], [m]", "}], [m+4]"), 716);
    check_fault(&t, with(load, "[s], [%d2", "[s+65536], [%d2"), 700);
    check_fault(&t, with(load, "[%d2, {", "[%d2+32, {"), 716);
    check_fault(&t, with(load, "[%d2, {", "[%d1, {"), 715);
    check_fault(&t, copy_kernel(LOADS, 3, "", ""), 715);
    check_fault(&t, copy_kernel(LOADS, 3, ".im2col", ""), 715);
    tensor columns = random_columns(3);
    check_fault(&columns, copy_kernel(LOADS, 3, ".tile", ""), 715);
    check_interleaved_faults();
    t = small(CU_TENSOR_MAP_DATA_TYPE_INT64, 8);
    check_fault(&t, copy_kernel(REDUCES, 2, "", ".add"), 715);
    assert_non_null(strstr(last_reason, "make the tensor map with CU_TENSOR_MAP_DATA_TYPE_UINT64"));
    t = small(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1);
    t.shape[0] = t.box[0] = t.strides[0] = 16;
    check_fault(&t, copy_kernel(REDUCES, 2, "", ".add"), 801);
}

/* As an H200 does, in the tensor and outside of it, whatever the rank and the mode. */
TEST(tiles_begin_at_multiples_of_16_bytes) {
    static const struct {
        CUtensorMapDataType type;
        unsigned size;
        int at[8];
    } rows[] = {
        {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, {-8, -3, 1, 3, 4, 8}},
        {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, {-3, 1, 3, 4}},
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        tensor t = small(rows[n].type, rows[n].size);
        t.box[0] = 16 / t.kind.size;
        t.strides[0] = 16;
        t.bytes = 64;
        for (unsigned i = 0; rows[n].at[i]; i++) {
            t.at[0] = rows[n].at[i];
            check_fault(&t, copy_kernel(i % 2 ? STORES : LOADS, 2, "", ""), 715);
            assert_non_null(strstr(last_reason, "copies from multiples of 16 bytes alone"));
        }
        begin_memory();
        for (int chunk = -1; chunk <= 1; chunk++) {
            t.at[0] = chunk * 16 / (int)t.kind.size;
            check_load(&t, "");
        }
        end_memory();
    }
    tensor stored = small(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4);
    for (unsigned i = 0; i < 2; i++) {
        stored.at[i] = -4;
        check_fault(&stored, copy_kernel(STORES, 2, "", ""), 715);
        assert_non_null(strstr(last_reason, "stores no tile that begins before its tensor"));
        check_fault(&stored, copy_kernel(REDUCES, 2, "", ".add"), 715);
        stored.at[i] = 0;
    }
    tensor t = random_columns(3);
    t.at[0] = 1;
    check_fault(&t, copy_kernel(LOADS, 3, ".im2col", ""), 715);
}

/* What an H200's driver takes: 228 KiB of a box, by its steps in all dimensions, and of pixels. */
TEST(tiles_that_are_too_large) {
    static const struct {
        cuuint32_t box[3], steps[3];
        CUresult result;
    } rows[] = {
        {{4, 228, 64}, {1, 1, 1}, CUDA_SUCCESS},
        {{4, 229, 64}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{4, 229, 65}, {1, 1, 2}, CUDA_SUCCESS},
        {{256, 228, 4}, {4, 1, 1}, CUDA_SUCCESS},
        {{256, 256, 3}, {1, 1, 4}, CUDA_SUCCESS}, /* a box below its step */
    };
    static const cuuint64_t shape[] = {4, 4, 4}, strides[] = {16, 64};
    static const cuuint32_t steps[] = {1, 1, 1};
    static const int corner[] = {0};
    CUtensorMap map;
    begin_memory();
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        SAYS(rows[n].result,
             cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3,
                                    (void *)(uintptr_t)tensor_memory, shape, strides, rows[n].box,
                                    rows[n].steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                    CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    for (cuuint32_t more = 0; more < 2; more++)
        SAYS(more ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS,
             cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3,
                                     (void *)(uintptr_t)tensor_memory, shape, strides, corner,
                                     corner, 64, 912 + more, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                     CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    end_memory();
}

/* A copy beyond the memory that the map leads to. */
TEST(a_map_leads_beyond_an_allocation) {
    CUmodule module;
    CUtensorMap map;
    CUdeviceptr memory;
    begin_memory();
    OK(cuMemAlloc(&memory, 128));
    tensor t = small(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4);
    t.shape[1] = 1 << 20;
    t.at[1] = 1 << 19;
    CUfunction function = function_of(&module, copy_kernel(LOADS, 2, "", ""));
    uint32_t bytes = 128;
    void *arguments[] = {&tile_memory, &map, t.at, t.offsets, &bytes, &bytes};
    encode(&t, memory, &map);
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, bytes, NULL, arguments, NULL));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    acu_sim_reset(MACHINE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* What a thread writes is stored behind a fence.proxy.async only; what a tile wrote needs none. */
TEST(a_fence_is_missing) {
    static const char fence[] = "fence.proxy.async.shared::cta;\n";
    char found[1024];
    acu_sim_reset(MACHINE ",check=all");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    begin_memory();
    tensor t = small(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4);
    const char *store = copy_kernel(STORES, 2, "", "");
    OK(try_tile(&t, store));
    assert_int_equal(acu_sim_findings(NULL), 0);
    OK(try_tile(&t, with(store, fence, "")));
    assert_int_equal(acu_sim_findings("race"), 1);
    assert_true(acu_sim_last_finding(found, sizeof found) > 0);
    assert_non_null(strstr(found, "no fence.proxy.async is between the two"));
    const char *load =
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[s], [%d2, {%c0, %c1}], [m];\n" WAIT;
    OK(try_tile(&t, with(store, fence, load)));
    assert_int_equal(acu_sim_findings(NULL), 1);
    end_memory();
}

TEST(a_prefetch_copies_nothing) {
    begin_memory();
    tensor t = small(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4);
    fill(tensor_bytes, t.bytes);
    memcpy(expected, tensor_bytes, t.bytes);
    const char *prefetch = "mbarrier.init.shared.b64 [m], 1;\nprefetch.tensormap [%d2];\n"
                           "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d2, {%c0, %c1}];\n";
    OK(try_tile(
        &t, with(copy_kernel(LOADS, 2, "", ""), "mbarrier.init.shared.b64 [m], 1;\n", prefetch)));
    assert_memory_equal(expected, tile_bytes, t.bytes);
    end_memory();
}

/* Modes of later devices are refused by name, and what ptxas refuses is invalid. */
TEST(modes_that_are_refused) {
    static const struct {
        const char *mode;
        int code;
    } rows[] = {
        {".tile::gather4", 801},
        {".im2col::w", 801},
        {".im2col::w::128", 801},
        {".im2col", 218},
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        CUmodule module = NULL;
        CUfunction function = NULL;
        const char *text = copy_kernel(LOADS, 2, rows[n].mode, "");
        CUresult result = cuModuleLoadData(&module, text);
        if (!result)
            result = cuModuleGetFunction(&function, module, "k");
        uint64_t nothing[16] = {0};
        void *arguments[] = {nothing, nothing, nothing, nothing, nothing, nothing};
        if (!result)
            result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
        SAYS((CUresult)rows[n].code, result);
        if (module)
            OK(cuModuleUnload(module));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(tiles_are_loaded_and_stored),
        C(columns_of_pixels_are_loaded_and_stored),
        C(tiles_are_reduced),
        C(tiles_of_floats_are_added),
        C(loads_convert_floats),
        C(stores_change_no_floats),
        C(a_tile_goes_to_several_blocks),
        C(a_kernel_changes_a_map),
        C(a_kernel_makes_a_map),
        C(copies_that_fail),
        C(tiles_begin_at_multiples_of_16_bytes),
        C(tiles_that_are_too_large),
        C(a_map_leads_beyond_an_allocation),
        C(a_fence_is_missing),
        C(a_prefetch_copies_nothing),
        C(modes_that_are_refused),
    };
    return RUN(tests);
}
