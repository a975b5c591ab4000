/* Copies of tiles by tensor maps. */
#include "tensor_forms.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TENSOR = 1 << 18, MOST_TILE = 40960, RANDOM_COPIES = 600 };

static const struct {
    const char *name, *format; /* the format is the bits that memory gets */
    unsigned type, size;
} types[] = {
    {"u8", "u8", 0, 1},         {"u16", "u16", 1, 2},     {"u32", "u32", 2, 4},
    {"s32", "s32", 3, 4},       {"u64", "u64", 4, 8},     {"s64", "s64", 5, 8},
    {"f16", "f16", 6, 2},       {"f32", "f32", 7, 4},     {"f64", "f64", 8, 8},
    {"bf16", "bf16", 9, 2},     {"f32ftz", "f32", 10, 4}, {"tf32", "tf32", 11, 4},
    {"tf32ftz", "tf32", 12, 4},
};
enum { U16 = 1, F16 = 6, TF32 = 11 };

/* ---- kernels ---- */

static const char begin[] =
    ".version 8.6\n.target sm_90\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
    ".entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])\n{\n"
    ".reg .b32 %r<12>; .reg .b64 %d<12>; .reg .pred %q<5>; .reg .b16 %h<4>;\n"
    ".shared .align 8 .b8 m[8];\nld.param.u64 %d1, [in];\nld.param.u64 %d2, [out];\n"
    "mov.b64 %d3, map;\ncvta.param.u64 %d3, %d3;\nmov.u32 %r1, %tid.x;\nshl.b32 %r1, %r1, 2;\n"
    "mov.u32 %r2, s;\nmbarrier.init.shared.b64 [m], 1;\nsetp.ne.u32 %q4, %r1, 0;\n";

/* Does something with each word of shared memory (at %r3) and of memory at the same place (%d4). */
static size_t add_loop(char *text, size_t used, char label, const char *memory, const char *body,
                       unsigned bytes) {
    return used + (size_t)sprintf(text + used,
                                  "mov.u32 %%r4, %%r1;\n%c: setp.ge.u32 %%q1, %%r4, %u;\n"
                                  "@%%q1 bra E%c;\nadd.u32 %%r3, %%r2, %%r4;\n"
                                  "cvt.u64.u32 %%d4, %%r4;\nadd.u64 %%d4, %%d4, %s;\n%s"
                                  "add.u32 %%r4, %%r4, 512;\nbra %c;\nE%c:\n",
                                  label, bytes, label, memory, body, label, label);
}

static size_t add_numbers(char *text, size_t used, const int *numbers, unsigned count) {
    for (unsigned n = 0; n < count; n++)
        used += (size_t)sprintf(text + used, "%s%d", n ? ", " : "{", numbers[n]);
    return used + (size_t)sprintf(text + used, "}");
}

/* The barrier is asked a number of times, so that a wrong number of bytes does not hang; behind the
 * tile, memory gets 1 if the number is right. */
static const char *load_kernel(const tensor *t, const char *mode, unsigned shared, unsigned bytes) {
    static char text[8192];
    size_t used = (size_t)sprintf(text, "%s", begin);
    used = add_loop(text, used, 'A', "%d2", "st.shared.b32 [%r3], 0xcccccccc;\n", shared);
    used += (size_t)sprintf(text + used,
                            "fence.proxy.async.shared::cta;\nbar.sync 0;\n@%%q4 bra ALL;\n"
                            "cp.async.bulk.tensor.%ud.shared::cluster.global%s."
                            "mbarrier::complete_tx::bytes [s], [%%d3, ",
                            t->rank, mode);
    used = add_numbers(text, used, t->at, t->rank);
    used += (size_t)sprintf(text + used, "], [m]");
    if (t->pixels) {
        int offsets[3] = {t->offsets[0], t->offsets[1], t->offsets[2]};
        used += (size_t)sprintf(text + used, ", ");
        used = add_numbers(text, used, offsets, t->rank - 2);
    }
    used +=
        (size_t)sprintf(text + used,
                        ";\nmbarrier.arrive.expect_tx.shared.b64 %%d5, [m], %u;\n"
                        "mov.u32 %%r5, 0;\nW: mbarrier.try_wait.parity.shared.b64 %%q2, [m], 0;\n"
                        "@%%q2 bra DONE;\nadd.u32 %%r5, %%r5, 1;\nsetp.lt.u32 %%q3, %%r5, 1000;\n"
                        "@%%q3 bra W;\nDONE: selp.b32 %%r5, 1, 0, %%q2;\n"
                        "st.global.b32 [%%d2+%u], %%r5;\nALL: bar.sync 0;\n",
                        bytes, shared);
    used = add_loop(text, used, 'B', "%d2",
                    "ld.shared.b32 %r6, [%r3];\nst.global.b32 [%d4], %r6;\n", shared);
    sprintf(text + used, "ret;\n}\n");
    return text;
}

static const char *store_kernel(const tensor *t, const char *opcode, unsigned bytes) {
    static char text[8192];
    size_t used = (size_t)sprintf(text, "%s", begin);
    used = add_loop(text, used, 'A', "%d1",
                    "ld.global.b32 %r6, [%d4];\nst.shared.b32 [%r3], %r6;\n", bytes);
    used += (size_t)sprintf(text + used,
                            "fence.proxy.async.shared::cta;\nbar.sync 0;\n@%%q4 bra ALL;\n"
                            "%s [%%d3, ",
                            opcode);
    used = add_numbers(text, used, t->at, t->rank);
    sprintf(text + used, "], [s];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
                         "ALL: ret;\n}\n");
    return text;
}

/* ---- tensors ---- */

static unsigned rows_of(const tensor *t) {
    unsigned rows = 1;
    for (unsigned i = 1; i < t->rank && !t->pixels; i++)
        rows *= (t->box[i] + t->steps[i] - 1) / t->steps[i];
    return t->pixels ? t->pixels : rows;
}

/* Of interleaved channels a tile has one unit of 16 or 32 bytes for each place or pixel. */
static unsigned unit_bytes(const tensor *t) {
    unsigned places = t->pixels ? t->pixels : (t->box[0] + t->steps[0] - 1) / t->steps[0];
    for (unsigned i = 1; i < t->rank && !t->pixels; i++)
        places *= i == t->rank - 2 ? 1 : (t->box[i] + t->steps[i] - 1) / t->steps[i];
    return places * (8u << t->interleave);
}

static unsigned tile_bytes(const tensor *t) {
    return t->interleave ? unit_bytes(t) : rows_of(t) * t->box[0] * t->size;
}

/* Returns what a tile takes of shared memory: rows that are swizzled have a whole line each. */
static unsigned shared_bytes(const tensor *t) {
    if (t->interleave)
        return (tile_bytes(t) + 1023) / 1024 * 1024;
    return t->swizzle ? rows_of(t) * (16u << t->swizzle) : tile_bytes(t);
}

static size_t tensor_bytes(const tensor *t) {
    return t->rank > 1 ? t->strides[t->rank - 2] * t->shape[t->rank - 1] : t->shape[0] * t->size;
}

/* Where a tile is: it begins 16 bytes before the tensor, or ends behind it along the first
 * dimension and begins before it along others, or only ends behind it; a GPU takes tiles only that
 * begin at multiples of 16 bytes, and stores none that begins before the tensor. */
typedef enum place { BEFORE, BEHIND, BEYOND, PLACES } place;
static const char *const place_names[] = {"before", "behind", "beyond"};

static int first_element(const tensor *t, place where) {
    unsigned bytes = (unsigned)t->shape[0] * t->size;
    return where == BEFORE ? -16 / (int)t->size : (int)((bytes - 16) / 16 * 16 / t->size);
}

static tensor make(unsigned type, unsigned rank, unsigned swizzle, place where) {
    static const uint32_t shape[] = {37, 7, 5, 4, 3}, box[] = {0, 9, 6, 3, 2};
    static const int at[] = {0, -1, 1, -1, 1};
    tensor t = {
        .type = types[type].type, .rank = rank, .size = types[type].size, .swizzle = swizzle};
    uint64_t bytes = t.size;
    for (unsigned i = 0; i < rank; i++) {
        t.shape[i] = shape[i];
        t.box[i] = i ? box[i] : (swizzle ? 16u << swizzle : 64) / t.size;
        t.steps[i] = i == 2 ? 2 : 1;
        t.at[i] = where == BEYOND && at[i] < 0 ? 0 : at[i];
        bytes *= shape[i];
        bytes = i ? bytes : (bytes + 15) / 16 * 16 + 16;
        t.strides[i] = bytes;
    }
    t.at[0] = first_element(&t, where);
    return t;
}

static tensor make_columns(unsigned rank, unsigned swizzle, place where) {
    tensor t = make(U16, rank, swizzle, where);
    t.pixels = 50;
    for (unsigned i = 0; i < rank; i++)
        t.steps[i] = i == 1 ? 2 : 1;
    for (unsigned i = 0; i + 2 < rank; i++) {
        t.lower[i] = where == BEYOND ? 0 : -1;
        t.upper[i] = -1 - (int)(i % 2);
        t.at[i + 1] = i ? 0 : 1;
        t.offsets[i] = (uint16_t)(2 - i % 2);
    }
    t.at[rank - 1] = 0;
    return t;
}

/* ---- forms ---- */

static unsigned char tensor_memory[MOST_TENSOR], tile_memory[MOST_TILE];

static void fill_type(unsigned char *memory, size_t bytes, unsigned type, kind which) {
    fill_elements(memory, bytes, format_of(types[type].format), which, 7 + type);
}

/* Loads into `shared` bytes, and behind them whether the barrier heard of `bytes`. */
static int run_load(const tensor *t, const char *mode, unsigned shared, unsigned bytes) {
    memset(tile_memory, 0, shared + 4);
    return device_run(&(run){.text = load_kernel(t, mode, shared, bytes),
                             .in = tensor_memory,
                             .in_bytes = t->interleave ? sizeof tensor_memory : tensor_bytes(t),
                             .out = tile_memory,
                             .out_bytes = shared + 4,
                             .of = t,
                             .blocks = 1,
                             .threads = 128,
                             .shared = shared});
}

static void load(const char *name, const tensor *t, unsigned type, const char *mode, kind which) {
    unsigned shared = shared_bytes(t);
    fill_type(tensor_memory, tensor_bytes(t), type, which);
    int code = run_load(t, mode, shared, tile_bytes(t));
    take_result(name, code, tile_memory, shared + 4, true);
}

static void store(const char *name, const tensor *t, unsigned type, const char *opcode,
                  kind which) {
    unsigned shared = shared_bytes(t);
    fill_type(tile_memory, shared, type, which);
    fill_type(tensor_memory, tensor_bytes(t), type, which);
    if (tensor_bytes(t) > 32) /* not what the tile has */
        memmove(tensor_memory + 32, tensor_memory, tensor_bytes(t) - 32);
    int code = device_run(&(run){.text = store_kernel(t, opcode, shared),
                                 .in = tile_memory,
                                 .in_bytes = shared,
                                 .out = tensor_memory,
                                 .out_bytes = tensor_bytes(t),
                                 .of = t,
                                 .maps_out = true,
                                 .blocks = 1,
                                 .threads = 128,
                                 .shared = shared});
    take_result(name, code, tensor_memory, tensor_bytes(t), true);
}

static void reductions(place where) {
    static const char *const rows[] = {
        "add u32 s32 u64 s64 f16 bf16 f32 f64",
        "min u32 s32 u64 s64 f16 bf16",
        "max u32 s32 u64 s64 f16 bf16",
        "inc u32",
        "dec u32",
        "and u32 s32 u64 s64",
        "or u32 s32 u64 s64",
        "xor u32 s32 u64 s64",
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        for (unsigned type = 0; type < TF32; type++) {
            char name[64], word[8], opcode[96];
            snprintf(word, sizeof word, " %s", types[type].name);
            const char *at = strstr(rows[n], word);
            if (!at || (at[strlen(word)] && at[strlen(word)] != ' '))
                continue;
            tensor t = make(type, 2, 3, where == BEYOND ? BEYOND : type % 2);
            snprintf(name, sizeof name, "cp.reduce.async.bulk.tensor.%.*s %s%s",
                     (int)strcspn(rows[n], " "), rows[n], types[type].name,
                     where == BEYOND ? " beyond" : "");
            snprintf(opcode, sizeof opcode,
                     "cp.reduce.async.bulk.tensor.2d.global.shared::cta.%.*s.tile.bulk_group",
                     (int)strcspn(rows[n], " "), rows[n]);
            store(name, &t, type, opcode, SPECIAL);
        }
}

static void all_types(place where) {
    char name[96];
    for (unsigned type = 0; type < sizeof types / sizeof *types; type++)
        for (unsigned nan = 0; nan < (type < 6 ? 1 : 2); nan++) {
            tensor t = make(type, 2, type % 4, where);
            t.fill = nan;
            snprintf(name, sizeof name, "cp.async.bulk.tensor.2d load %s%s %s", types[type].name,
                     nan ? " nan" : "", place_names[where]);
            load(name, &t, type, ".tile", SPECIAL);
            snprintf(name, sizeof name, "cp.async.bulk.tensor.2d store %s%s %s", types[type].name,
                     nan ? " nan" : "", place_names[where]);
            store(name, &t, type, "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
                  SPECIAL);
        }
}

static void load_and_store(const tensor *t, const char *what, const char *load_mode,
                           const char *store_mode) {
    char name[128], opcode[96];
    snprintf(name, sizeof name, "cp.async.bulk.tensor.%ud%s load %s", t->rank, load_mode, what);
    load(name, t, U16, load_mode, ANY);
    snprintf(name, sizeof name, "cp.async.bulk.tensor.%ud%s store %s", t->rank, store_mode, what);
    snprintf(opcode, sizeof opcode, "cp.async.bulk.tensor.%ud.global.shared::cta%s.bulk_group",
             t->rank, store_mode);
    store(name, t, U16, opcode, ANY);
}

static void all_ranks(unsigned rank, unsigned swizzle, place where) {
    char what[64];
    tensor t = make(U16, rank, swizzle, where);
    snprintf(what, sizeof what, "swizzle %u %s", swizzle, place_names[where]);
    load_and_store(&t, what, ".tile", ".tile");
    if (rank < 3)
        return;
    t = make_columns(rank, swizzle, where);
    load_and_store(&t, what, ".im2col", ".im2col_no_offs");
}

/* Rows that are shorter than what is swizzled. */
static void short_rows(place where) {
    for (unsigned swizzle = 1; swizzle < 4; swizzle++)
        for (unsigned chunks = 1; chunks < 1u << swizzle; chunks++) {
            char what[64];
            tensor t = make(U16, 2 + chunks % 2, swizzle, where);
            t.box[0] = chunks * 8;
            snprintf(what, sizeof what, "swizzle %u, rows of %u bytes, %s", swizzle, chunks * 16,
                     place_names[where]);
            load_and_store(&t, what, ".tile", ".tile");
        }
}

/* Which chunk of 16 bytes of the tensor each chunk of shared memory is: 1 is the first one; -1 was
 * not written. */
static void load_chunks(const char *name, const tensor *t, unsigned bytes) {
    enum { SHARED = 4096 };
    int32_t found[SHARED / 16];
    for (size_t n = 0; n < sizeof tensor_memory; n++)
        tensor_memory[n] = (unsigned char)(n / 16 + 1);
    int code = run_load(t, ".tile", SHARED, bytes);
    for (unsigned n = 0; n < SHARED / 16; n++)
        found[n] = tile_memory[n * 16] == 0xcc ? -1 : tile_memory[n * 16];
    take_result(name, code, found, sizeof found, true);
}

static void short_row_chunks(unsigned swizzle, unsigned chunks) {
    char name[96];
    tensor t = {.type = types[0].type,
                .rank = 2,
                .size = 1,
                .shape = {chunks * 16, 16},
                .strides = {chunks * 16},
                .box = {chunks * 16, 16},
                .steps = {1, 1},
                .swizzle = swizzle};
    snprintf(name, sizeof name, "cp.async.bulk.tensor.2d chunks, swizzle %u, rows of %u bytes",
             swizzle, chunks * 16);
    load_chunks(name, &t, tile_bytes(&t));
}

/* Interleaved channels: W, H and D come first, then channels, of which 16 or 32 bytes lie together
 * at each place, then N. */
static void interleaved_chunks(unsigned wide, unsigned rank) {
    static const uint32_t shape[] = {32, 4, 3, 2, 2}, box[] = {8, 3, 2, 2, 1};
    unsigned unit = wide ? 32 : 16;
    char name[64];
    tensor t = {
        .type = types[U16].type, .rank = rank, .size = 2, .interleave = 1 + wide, .swizzle = wide};
    t.strides[0] = unit;
    for (unsigned i = 0; i < rank; i++) {
        t.shape[i] = shape[i];
        t.box[i] = box[i] << (wide && !i);
        t.steps[i] = 1;
        if (i > 0 && i + 1 < rank)
            t.strides[i] = t.strides[i - 1] * shape[i];
    }
    snprintf(name, sizeof name, "cp.async.bulk.tensor.%ud chunks, interleaved by %u", rank, unit);
    load_chunks(name, &t, tile_bytes(&t));
}

/* Loads a tile of a tensor whose elements, of 16 bits, are numbered from 1 on: of its channels one
 * unit of 16 or 32 bytes for each place or pixel. */
static void load_unit_tile(const char *name, const tensor *t, const char *mode) {
    enum { SHARED = 8192 };
    for (uint32_t n = 0; n < sizeof tensor_memory / 2; n++)
        memcpy(tensor_memory + (size_t)n * 2, &(uint16_t){(uint16_t)(n + 1)}, 2);
    int code = run_load(t, mode, SHARED, tile_bytes(t));
    take_result(name, code, tile_memory, SHARED + 4, false);
}

/* Their places, from other channels on, in steps along W, swizzled: what a GPU writes, and that the
 * barrier hears of it. */
static void interleaved_places(unsigned variant) {
    static const struct {
        int w, h, channel;
        unsigned channels, step, swizzle, nan;
    } rows[] = {
        {0, 0, 0, 3, 1, 0, 0},   {0, 0, 0, 8, 1, 0, 0},   {0, 0, 0, 12, 1, 0, 0},
        {0, 0, 0, 16, 1, 0, 0},  {0, 0, 0, 32, 1, 0, 0},  {0, 0, 1, 16, 1, 0, 0},
        {0, 0, 8, 16, 1, 0, 0},  {0, 0, 16, 16, 1, 0, 0}, {0, 0, 32, 32, 1, 0, 0},
        {0, 0, -1, 16, 1, 0, 0}, {0, 0, -8, 16, 1, 0, 0}, {-1, 0, 0, 8, 1, 0, 0},
        {16, -1, 0, 8, 1, 0, 1}, {0, 0, 0, 16, 2, 0, 0},  {0, 0, 0, 16, 1, 3, 1},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    unsigned wide = variant / 3 / ROWS, rank = 3 + variant % 3, row = variant / 3 % ROWS,
             unit = wide ? 32 : 16, c = rank - 2;
    char name[128];
    tensor t = {.type = types[F16].type,
                .rank = rank,
                .size = 2,
                .shape = {21, 3, 2, 0, 0},
                .box = {8, 2, 2, 0, 0}, /* rows of 8 * 2 bytes: others are refused */
                .steps = {rows[row].step, 1, 1, 1, 1},
                .interleave = 1 + wide,
                .swizzle = wide ? 1 : rows[row].swizzle,
                .fill = rows[row].nan,
                .at = {rows[row].w, rank > 3 ? rows[row].h : 0}};
    t.shape[c] = wide ? 40 : 20;
    t.shape[c + 1] = 2;
    t.box[c] = rows[row].channels;
    t.box[c + 1] = 2;
    t.at[c] = rows[row].channel;
    uint64_t bytes = unit;
    for (unsigned i = 0; i + 1 < rank; i++)
        t.strides[i] = bytes *= t.shape[i];
    snprintf(name, sizeof name,
             "interleaved by %u, rank %u, at w %d h %d channel %d, %u channels, step %u, swizzle "
             "%u, nan %u",
             unit, rank, t.at[0], rank > 3 ? t.at[1] : 0, t.at[c], t.box[c], t.steps[0], t.swizzle,
             t.fill);
    load_unit_tile(name, &t, ".tile");
}

/* Their pixels, at 0 and beyond the edges, from other channels on, at offsets, in steps, swizzled.
 */
static void interleaved_columns(unsigned variant) {
    static const struct {
        int at, channel;
        unsigned channels, offset, step, swizzle, nan;
    } rows[] = {{0, 0, 1, 0, 1, 0, 0},  {0, 0, 2, 0, 1, 0, 0},  {-1, 0, 1, 0, 1, 0, 0},
                {0, 1, 1, 0, 1, 0, 0},  {0, 8, 1, 0, 1, 0, 0},  {0, 19, 1, 0, 1, 0, 0},
                {0, 32, 1, 0, 1, 0, 0}, {0, -1, 1, 0, 1, 0, 0}, {0, 0, 1, 1, 1, 0, 0},
                {0, 0, 1, 0, 2, 0, 0},  {0, 0, 1, 0, 1, 1, 0},  {0, 0, 1, 0, 1, 2, 0},
                {0, 0, 1, 0, 1, 3, 0},  {-1, 0, 1, 1, 2, 0, 1}};
    enum { ROWS = sizeof rows / sizeof *rows };
    unsigned wide = variant / 3 / ROWS, rank = 3 + variant % 3, row = variant / 3 % ROWS,
             unit = wide ? 32 : 16, c = rank - 2;
    char name[128];
    tensor t = {.type = types[F16].type,
                .rank = rank,
                .size = 2,
                .shape = {5, 3, 2, 0, 0},
                .box = {rows[row].channels * unit / 2},
                .pixels = 12,
                .steps = {rows[row].step, rows[row].step, 1, 1, 1},
                .interleave = 1 + wide,
                .swizzle = wide ? 1 : rows[row].swizzle,
                .fill = rows[row].nan};
    t.shape[c] = wide ? 40 : 20;
    t.shape[c + 1] = 2;
    t.at[c] = rows[row].channel;
    for (unsigned i = 0; i < c; i++) {
        t.lower[i] = t.at[i] = t.upper[i] = rows[row].at;
        t.offsets[i] = (uint16_t)rows[row].offset;
    }
    uint64_t bytes = unit;
    for (unsigned i = 0; i + 1 < rank; i++)
        t.strides[i] = bytes *= t.shape[i];
    snprintf(name, sizeof name,
             "interleaved by %u, im2col, rank %u, %u channels from %d, corners at %d, offset %u, "
             "step %u, swizzle %u, nan %u",
             unit, rank, t.box[0], t.at[c], t.lower[0], t.offsets[0], t.steps[0], t.swizzle,
             t.fill);
    load_unit_tile(name, &t, ".im2col");
}

/* Stores of them: inside, from other channels on, before the tensor along each dimension. */
static void interleaved_store(unsigned variant) {
    static const int places[][4] = {{0, 0, 0, 0},  {0, 0, -1, 0}, {0, 0, 1, 0},  {0, 0, 2, 0},
                                    {-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 0, -1}, {3, 1, 0, 1}};
    const unsigned wide = variant % 2, columns = variant / 2 % 2, rank = 3 + variant / 4 % 3,
                   c = rank - 2, unit = wide ? 32 : 16;
    const int *const at = places[variant / 12 % 8];
    tensor t = {.type = types[U16].type,
                .rank = rank,
                .size = 2,
                .shape = {5, 3, 2},
                .box = {8, 2, 2},
                .steps = {1, 1, 1, 1, 1},
                .interleave = 1 + wide,
                .swizzle = wide,
                .at = {at[0], at[1], at[1]}};
    char name[96], opcode[96];
    t.shape[c] = 3;
    t.box[c] = t.box[c + 1] = t.shape[c + 1] = 2;
    t.at[c] = at[2];
    t.at[c + 1] = at[3];
    if (columns)
        t.pixels = 12, t.box[0] = unit / 2;
    uint64_t bytes = unit;
    for (unsigned i = 0; i + 1 < rank; i++)
        t.strides[i] = bytes *= t.shape[i];
    snprintf(name, sizeof name, "interleaved by %u, rank %u%s, store at w %d h %d channel %d n %d",
             unit, rank, columns ? ", im2col" : "", at[0], at[1], at[2], at[3]);
    snprintf(opcode, sizeof opcode, "cp.async.bulk.tensor.%ud.global.shared::cta%s.bulk_group",
             rank, columns ? ".im2col_no_offs" : ".tile");
    store(name, &t, U16, opcode, ANY);
}

/* ---- random maps ---- */

static int between(uint32_t *seed, int least, int most) {
    return least + (int)next_below(seed, (unsigned)(most - least + 1));
}

/* A tensor of any rank, most of whose tile is in it. */
static tensor random_tensor(uint32_t *seed, unsigned type, bool columns) {
    const unsigned rank = columns ? 3 + next_below(seed, 3) : 1 + next_below(seed, 5);
    tensor t = {.type = types[type].type, .rank = rank, .size = types[type].size};
    const unsigned units = 1 + next_below(seed, 8), unit = 16 / t.size; /* of 16 bytes */
    uint64_t bytes = t.size;
    t.swizzle = next_below(seed, 4);
    while (t.swizzle && units > 1u << t.swizzle)
        t.swizzle--;
    if (units > 4 && next_below(seed, 2))
        t.swizzle = 3;
    t.fill = type >= F16 && next_below(seed, 3) == 0;
    t.box[0] = units * unit;
    for (unsigned i = 0; i < rank; i++) {
        t.shape[i] = i ? 1 + next_below(seed, 7) : 1 + next_below(seed, 10 * unit);
        t.box[i] = i ? 1 + next_below(seed, rank > 3 ? 3 : 6) : t.box[0];
        t.steps[i] = next_below(seed, 3) ? 1 : 1 + next_below(seed, 4);
        t.at[i] = i ? between(seed, -3, (int)t.shape[i] + 1) : between(seed, -2, 8) * (int)unit;
        bytes *= t.shape[i];
        bytes = (bytes + 15) / 16 * 16 + 16 * next_below(seed, 3);
        t.strides[i] = bytes;
    }
    return t;
}

/* Makes it one whose channels are interleaved: their units lie behind W, H and D. */
static void interleave(uint32_t *seed, tensor *t) {
    const unsigned c = t->rank - 2;
    t->interleave = 1 + next_below(seed, 2);
    t->swizzle = t->interleave == 2 ? 1 : t->swizzle;
    t->strides[0] = 8u << t->interleave;
    for (unsigned i = 1; i < t->rank; i++)
        t->strides[i] =
            t->strides[i - 1] * t->shape[i - 1] + 16 * next_below(seed, 2) * t->interleave;
    memmove(t->strides, t->strides + 1, sizeof t->strides - sizeof *t->strides);
    t->box[0] = t->pixels ? (unsigned)(8u << t->interleave) / t->size
                          : 16 / t->size * (1 + next_below(seed, 2));
    t->at[0] = between(seed, -2, (int)t->shape[0]);
    t->at[c] = between(seed, -2, (int)t->shape[c]);
}

static void random_columns(uint32_t *seed, tensor *t) {
    const int far = t->rank == 5 ? 15 : 127;
    t->pixels = 1 + next_below(seed, 60);
    for (unsigned i = 0; i + 2 < t->rank; i++) {
        const bool wide = next_below(seed, 8) == 0;
        t->lower[i] = wide ? between(seed, -far - 1, far) : between(seed, -3, 2);
        t->upper[i] = wide ? between(seed, -far - 1, far) : between(seed, -3, 2);
        t->offsets[i] = (uint16_t)next_below(seed, next_below(seed, 8)   ? 5
                                                   : next_below(seed, 2) ? 256
                                                                         : 65536);
    }
}

/* Makes no coordinate negative: most stores that begin before the tensor fail. */
static void begin_inside(tensor *t) {
    for (unsigned i = 0; i < t->rank; i++)
        t->at[i] = t->at[i] < 0 ? -t->at[i] : t->at[i];
    for (unsigned i = 0; i < 3; i++)
        t->lower[i] = t->lower[i] < 0 ? -t->lower[i] : t->lower[i];
}

static void random_copy(unsigned n) {
    static const char *const reductions_of[] = {"add", "min", "max", "and", "or", "xor"};
    uint32_t seed = 7919 * n + 11;
    const unsigned way = next_below(&seed, 3), kind_of = next_below(&seed, KINDS);
    const bool columns = next_below(&seed, 2), reduces = way == 2;
    const unsigned type = reduces ? (next_below(&seed, 2) ? U16 + 1 : 3)
                                  : next_below(&seed, sizeof types / sizeof *types);
    tensor t = random_tensor(&seed, type, columns);
    if (columns)
        random_columns(&seed, &t);
    if (t.rank >= 3 && next_below(&seed, 4) == 0)
        interleave(&seed, &t);
    if (way && next_below(&seed, 12))
        begin_inside(&t);
    char name[96], opcode[128];
    snprintf(name, sizeof name, "random %s %u",
             way == 0   ? "load"
             : way == 1 ? "store"
                        : "reduction",
             n);
    if (shared_bytes(&t) > MOST_TILE - 4 || !tile_bytes(&t) || tensor_bytes(&t) > MOST_TENSOR)
        return;
    if (way == 0) {
        load(name, &t, type, columns ? ".im2col" : ".tile", (kind)kind_of);
        return;
    }
    snprintf(
        opcode, sizeof opcode, "cp%s.async.bulk.tensor.%ud.global.shared::cta%s%s%s.bulk_group",
        reduces ? ".reduce" : "", t.rank, reduces ? "." : "",
        reduces ? reductions_of[next_below(&seed, 6)] : "", columns ? ".im2col_no_offs" : ".tile");
    store(name, &t, type, opcode, (kind)kind_of);
}

void copy_forms(void) {
    for (unsigned swizzle = 1; swizzle < 4; swizzle++)
        for (unsigned chunks = 1; chunks < 1u << swizzle; chunks++)
            short_row_chunks(swizzle, chunks);
    for (unsigned n = 0; n < 6; n++)
        interleaved_chunks(n / 3, 3 + n % 3);

    for (place where = 0; where < PLACES; where++) {
        all_types(where);
        for (unsigned rank = 1; rank <= 5; rank++)
            for (unsigned swizzle = 0; swizzle < 4; swizzle++)
                all_ranks(rank, swizzle, where);
        short_rows(where);
    }
    reductions(BEFORE);
    reductions(BEYOND);
    for (unsigned n = 0; n < 90; n++)
        interleaved_places(n);
    for (unsigned n = 0; n < 84; n++)
        interleaved_columns(n);
    for (unsigned n = 0; n < 96; n++)
        interleaved_store(n);
    for (unsigned n = 0; n < RANDOM_COPIES; n++)
        random_copy(n);
}
