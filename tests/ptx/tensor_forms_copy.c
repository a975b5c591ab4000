/* Copies of tiles by tensor maps. */
#include "tensor_forms.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TENSOR = 1 << 18, MOST_TILE = 40960 };

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
enum { U8 = 0, U16 = 1, TF32 = 11, TF32_FTZ = 12 };

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

/* The barrier is asked a number of times, so that a wrong number of bytes does not hang. */
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
                        "@%%q2 bra ALL;\nadd.u32 %%r5, %%r5, 1;\nsetp.lt.u32 %%q2, %%r5, 1000;\n"
                        "@%%q2 bra W;\nALL: bar.sync 0;\n",
                        bytes);
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

static unsigned tile_bytes(const tensor *t) {
    return rows_of(t) * t->box[0] * t->size;
}

static size_t tensor_bytes(const tensor *t) {
    return t->rank > 1 ? t->strides[t->rank - 2] * t->shape[t->rank - 1] : t->shape[0] * t->size;
}

/* A tile that begins before the tensor and ends behind it. */
static tensor make(unsigned type, unsigned rank, unsigned swizzle) {
    static const uint32_t shape[] = {40, 7, 5, 4, 3}, box[] = {0, 9, 6, 3, 2};
    static const int at[] = {-3, -1, 1, -1, 1};
    tensor t = {
        .type = types[type].type, .rank = rank, .size = types[type].size, .swizzle = swizzle};
    uint64_t bytes = t.size;
    for (unsigned i = 0; i < rank; i++) {
        t.shape[i] = shape[i];
        t.box[i] = i ? box[i] : (swizzle ? 16u << swizzle : 64) / t.size;
        t.steps[i] = i == 2 ? 2 : 1;
        t.at[i] = at[i];
        bytes *= shape[i];
        bytes = i ? bytes : (bytes + 15) / 16 * 16 + 16;
        t.strides[i] = bytes;
    }
    return t;
}

static tensor make_columns(unsigned rank, unsigned swizzle) {
    tensor t = make(U16, rank, swizzle);
    t.pixels = 50;
    t.at[0] = 2;
    for (unsigned i = 0; i < rank; i++)
        t.steps[i] = i == 1 ? 2 : 1;
    for (unsigned i = 0; i + 2 < rank; i++) {
        t.lower[i] = -1;
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
    for (size_t n = 0; (type == TF32 || type == TF32_FTZ) && n + 4 <= bytes; n += 4)
        memory[n] = 0, memory[n + 1] &= 0xe0; /* what tf32 has */
}

static void load(const char *name, const tensor *t, unsigned type, const char *mode, kind which) {
    unsigned bytes = tile_bytes(t);
    fill_type(tensor_memory, tensor_bytes(t), type, which);
    memset(tile_memory, 0, bytes);
    int code = device_run(&(run){.text = load_kernel(t, mode, bytes, bytes),
                                 .in = tensor_memory,
                                 .in_bytes = tensor_bytes(t),
                                 .out = tile_memory,
                                 .out_bytes = bytes,
                                 .of = t,
                                 .blocks = 1,
                                 .threads = 128,
                                 .shared = bytes});
    if (code)
        take_failure(name, code);
    else
        take_answer(name, tile_memory, bytes, true);
}

static void store(const char *name, const tensor *t, unsigned type, const char *opcode,
                  kind which) {
    unsigned bytes = tile_bytes(t);
    fill_type(tile_memory, bytes, type, which);
    fill_type(tensor_memory, tensor_bytes(t), type, which);
    memmove(tensor_memory + 32, tensor_memory, tensor_bytes(t) - 32); /* not what the tile has */
    int code = device_run(&(run){.text = store_kernel(t, opcode, bytes),
                                 .in = tile_memory,
                                 .in_bytes = bytes,
                                 .out = tensor_memory,
                                 .out_bytes = tensor_bytes(t),
                                 .of = t,
                                 .maps_out = true,
                                 .blocks = 1,
                                 .threads = 128,
                                 .shared = bytes});
    if (code)
        take_failure(name, code);
    else
        take_answer(name, tensor_memory, tensor_bytes(t), true);
}

static void reductions(void) {
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
            tensor t = make(type, 2, 3);
            snprintf(name, sizeof name, "cp.reduce.async.bulk.tensor.%.3s %s", rows[n],
                     types[type].name);
            name[strcspn(name, "\n")] = '\0';
            snprintf(opcode, sizeof opcode,
                     "cp.reduce.async.bulk.tensor.2d.global.shared::cta.%.*s.tile.bulk_group",
                     (int)strcspn(rows[n], " "), rows[n]);
            store(name, &t, type, opcode, SPECIAL);
        }
}

void copy_forms(void) {
    char name[96], opcode[96];
    for (unsigned type = 0; type < sizeof types / sizeof *types; type++)
        for (unsigned nan = 0; nan < (type < 6 ? 1 : 2); nan++) {
            tensor t = make(type, 2, type % 4);
            t.fill = nan;
            snprintf(name, sizeof name, "cp.async.bulk.tensor.2d load %s%s", types[type].name,
                     nan ? " nan" : "");
            load(name, &t, type, ".tile", SPECIAL);
        }
    for (unsigned rank = 1; rank <= 5; rank++)
        for (unsigned swizzle = 0; swizzle < 4; swizzle++) {
            tensor t = make(U16, rank, swizzle);
            snprintf(name, sizeof name, "cp.async.bulk.tensor.%ud load swizzle %u", rank, swizzle);
            load(name, &t, U16, ".tile", ANY);
            snprintf(name, sizeof name, "cp.async.bulk.tensor.%ud store swizzle %u", rank, swizzle);
            snprintf(opcode, sizeof opcode,
                     "cp.async.bulk.tensor.%ud.global.shared::cta.tile.bulk_group", rank);
            store(name, &t, U16, opcode, ANY);
            if (rank < 3)
                continue;
            t = make_columns(rank, swizzle);
            snprintf(name, sizeof name, "cp.async.bulk.tensor.%ud.im2col load swizzle %u", rank,
                     swizzle);
            load(name, &t, U16, ".im2col", ANY);
            snprintf(name, sizeof name, "cp.async.bulk.tensor.%ud.im2col_no_offs store swizzle %u",
                     rank, swizzle);
            snprintf(opcode, sizeof opcode,
                     "cp.async.bulk.tensor.%ud.global.shared::cta.im2col_no_offs.bulk_group", rank);
            store(name, &t, U16, opcode, ANY);
        }
    reductions();
}

/* ---- questions ---- */

/* How numbers of 32 bits become tf32. */
static void ask_tf32(unsigned variant) {
    static const uint32_t numbers[] = {0x3f800fff, 0x3f801000, 0x3f801001, 0x3f803000,
                                       0x3f802fff, 0xbf801000, 0xbf803000, 0x7f7fffff,
                                       0x7f800001, 0x7fc00000, 0xff801000, 0x00001000,
                                       0x00000fff, 0x00003000, 0x007fffff, 0x80001000};
    unsigned type = TF32 + variant;
    tensor t = {
        .type = types[type].type, .rank = 1, .size = 4, .shape = {16}, .box = {16}, .steps = {1}};
    uint32_t out[16] = {0};
    int code = device_run(&(run){.text = load_kernel(&t, ".tile", 64, 64),
                                 .in = numbers,
                                 .in_bytes = 64,
                                 .out = out,
                                 .out_bytes = 64,
                                 .of = &t,
                                 .blocks = 1,
                                 .threads = 128,
                                 .shared = 64});
    printf("%s: %d:", types[type].name, code);
    for (unsigned n = 0; n < 16 && !code; n++)
        printf(" %08x=%08x", numbers[n], out[n]);
    printf("\n");
}

/* Prints which chunk of 16 bytes of the tensor each chunk of the tile is: 1 is the first one; 0
 * lies outside; -1 was not written. */
static void ask_chunks(const char *name, const tensor *t, unsigned bytes) {
    enum { SHARED = 4096 };
    memset(tile_memory, 0, SHARED);
    for (size_t n = 0; n < sizeof tensor_memory; n++)
        tensor_memory[n] = (unsigned char)(n / 16 + 1);
    int code = device_run(&(run){.text = load_kernel(t, ".tile", SHARED, bytes),
                                 .in = tensor_memory,
                                 .in_bytes = sizeof tensor_memory,
                                 .out = tile_memory,
                                 .out_bytes = SHARED,
                                 .of = t,
                                 .blocks = 1,
                                 .threads = 128,
                                 .shared = SHARED});
    printf("%s: %d:", name, code);
    for (unsigned n = 0; n < SHARED / 16 && !code; n++)
        printf(" %d", tile_memory[n * 16] == 0xcc ? -1 : tile_memory[n * 16]);
    printf("\n");
}

/* Rows that are shorter than what is swizzled: of 1 chunk of 2, of 1 to 3 of 4, of 1 to 7 of 8. */
static void ask_short_rows(unsigned variant) {
    unsigned swizzle = variant < 1   ? 1
                       : variant < 4 ? 2
                                     : 3,
             chunks = variant + 1 -
                      (swizzle == 1   ? 0
                       : swizzle == 2 ? 1
                                      : 4);
    char name[64];
    tensor t = {.type = U8,
                .rank = 2,
                .size = 1,
                .shape = {chunks * 16, 16},
                .strides = {chunks * 16},
                .box = {chunks * 16, 16},
                .steps = {1, 1},
                .swizzle = swizzle};
    snprintf(name, sizeof name, "swizzle %u, rows of %u bytes", swizzle, chunks * 16);
    ask_chunks(name, &t, tile_bytes(&t));
}

/* Channels that are interleaved by 16 or 32 bytes: 32 of 16 bits, in slices, the last dimension but
 * one. */
static void ask_interleaved(unsigned variant) {
    unsigned wide = variant / 3, rank = 3 + variant % 3;
    char name[64];
    tensor t = {.type = types[U16].type,
                .rank = rank,
                .size = 2,
                .shape = {32, 4, 3, 2, 2},
                .box = {wide ? 16 : 8, 3, 2, 2, 1},
                .steps = {1, 1, 1, 1, 1},
                .interleave = 1 + wide,
                .swizzle = wide};
    t.strides[0] = wide ? 32 : 16;
    for (unsigned i = 1; i + 1 < rank; i++)
        t.strides[i] = t.strides[i - 1] * t.shape[i];
    snprintf(name, sizeof name, "interleaved by %u, rank %u", wide ? 32 : 16, rank);
    ask_chunks(name, &t, tile_bytes(&t));
}

const question copy_questions[COPY_QUESTIONS] = {
    {ask_tf32, 2}, {ask_short_rows, 11}, {ask_interleaved, 6}};
