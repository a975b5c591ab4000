/*
 * Samples textures, row by row of rows.c, on whatever CUDA is there, and compares the answers with
 * those that a GPU gave, or writes them:
 *
 *     texture_samples ANSWERS                      compares; exits with 1 where one differs
 *     texture_samples ptx ANSWERS                  the same, and the simulator executes the PTX
 *     texture_samples write ANSWERS SEED [RAW]     records; RAW gets all answers, bit by bit
 *
 * A line of answers is: name, code, a hash of all answers, and of rows where texels are mixed the
 * first answers themselves.
 */
#include "rows.h"

#include <anycuda/anycuda.h>
#include <anycuda/load.h>
#include <anycuda/sim.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 40 }; /* answers of a row that are written one by one */

static acu_stream *stream;
static acu_module *module;
static acu_buffer *at, *to;
static place spots[MOST_PLACES];
static unsigned answers[MOST_PLACES][4];

static const char *const geometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
static const char *const operations[] = {"sample", "level", "grad", "fetch", "gather", "surface"};

/* ---- what is sampled ---- */

/* Returns the format of the safe layer that CUDA's description means. */
static acu_format format_of(const row *r) {
    static const acu_dtype of[3][3] = {
        {ACU_I8, ACU_I16, ACU_I32}, {ACU_U8, ACU_U16, ACU_U32}, {ACU_ANY, ACU_F16, ACU_F32}};
    const struct cudaChannelFormatDesc *f = &r->format;
    const unsigned channels = 1u + (f->y != 0) + (f->z != 0) + (f->w != 0);
    const int kind = (int)f->f, size = f->x / 16;
    if (kind < 3)
        return (acu_format){of[kind][size], channels, ACU_ENCODING_NUMBERS};
    if (kind < 17)
        return (acu_format){of[kind < 11][size], channels, ACU_ENCODING_NORMALIZED};
    return (acu_format){.encoding = (acu_encoding)(ACU_ENCODING_BC1 + kind - 17)};
}

/* Returns the format of numbers that are as large as the blocks. */
static acu_format uncompressed(const row *r) {
    return (acu_format){ACU_U32,
                        r->format.f == cudaChannelFormatKindUnsignedBlockCompressed1 ? 2 : 4,
                        ACU_ENCODING_NUMBERS};
}

static acu_sampler sampler_of(const row *r) {
    const struct cudaTextureDesc *t = &r->sampler;
    return (acu_sampler){
        .address = {(acu_address_mode)t->addressMode[0], (acu_address_mode)t->addressMode[1],
                    (acu_address_mode)t->addressMode[2]},
        .filter = (acu_filter)t->filterMode,
        .fractions = t->readMode == cudaReadModeNormalizedFloat,
        .srgb = t->sRGB != 0,
        .normalized = t->normalizedCoords != 0,
        .border = {t->borderColor[0], t->borderColor[1], t->borderColor[2], t->borderColor[3]},
        .seamless_cube = t->seamlessCubemap != 0,
        .no_trilinear_optimization = t->disableTrilinearOptimization != 0,
        .mipmap_filter = (acu_filter)t->mipmapFilterMode,
        .level_bias = t->mipmapLevelBias,
        .least_level = t->minMipmapLevelClamp,
        .most_level = t->maxMipmapLevelClamp,
        .max_anisotropy = t->maxAnisotropy};
}

static int fill(const row *r, unsigned seed, acu_array *array, unsigned level) {
    const size_t count = acu_array_count(array);
    const size_t bytes = count * acu_dtype_size(acu_array_format(array).dtype);
    unsigned char *texels = malloc(bytes);
    if (!texels)
        return 2;
    make_texels(r, seed, level, texels, bytes);
    const int code = acu_array_write_typed(array, ACU_ANY, texels, count, NULL);
    free(texels);
    return code;
}

/* Fills an array with four regions. */
static int fill_parts(const row *r, unsigned seed, acu_array *array) {
    enum { MOST = 16384 };
    static unsigned char texels[MOST];
    const size_t block = acu_dtype_size(acu_array_format(array).dtype),
                 pitch = r->width / 4 * block;
    make_texels(r, seed, 0, texels, acu_array_count(array) * block);
    for (unsigned i = 0; i < 4; i++) {
        const acu_extent e = {r->width / 2, r->height / 2, 1};
        const acu_region area = {.array = array, .at = {i % 2 * e.width, i / 2 * e.height, 0}};
        const unsigned char *from = texels + area.at.y / 4 * pitch + area.at.x / 4 * block;
        ACU_TRY(acu_region_write_typed(&area, e, ACU_ANY, from, pitch, 0, NULL));
    }
    return 0;
}

/* Fills an array by a copy of another one. */
static int fill_copy(const row *r, unsigned seed, acu_array *array) {
    ACU_AUTO(acu_array) *other = NULL;
    ACU_TRY(acu_array_create(stream, acu_array_format(array), acu_array_extent(array), 0, &other));
    ACU_TRY(fill(r, seed, other, 0));
    return acu_array_copy(array, other, stream);
}

static int fill_levels(const row *r, unsigned seed, acu_mipmap *mipmap) {
    int code = 0;
    for (unsigned i = 0; i < r->levels && !code; i++) {
        ACU_AUTO(acu_array) *level = NULL;
        code = acu_mipmap_get_level(mipmap, i, &level);
        code = code ? code : fill(r, seed, level, i);
    }
    return code;
}

/* Makes a buffer whose rows lie 256 bytes apart. */
static int fill_buffer(const row *r, unsigned seed, acu_buffer **buffer) {
    enum { PITCH = 256 };
    const size_t rows = r->height ? r->height : 1, bytes = r->width * format_bytes(&r->format);
    unsigned char texels[PITCH * 16] = {0}, packed[PITCH * 16];
    make_texels(r, seed, 0, packed, bytes * rows);
    for (size_t y = 0; y < rows; y++)
        memcpy(texels + y * PITCH, packed + y * bytes, bytes);
    ACU_TRY(acu_buffer_create_with(stream, ACU_F32, PITCH / 4 * rows,
                                   &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE}, buffer));
    return acu_buffer_write_typed(*buffer, 0, ACU_ANY, texels, PITCH / 4 * rows, NULL);
}

static unsigned flags_of(const row *r) {
    const bool layered = r->geometry == G_A1D || r->geometry == G_A2D || r->geometry == G_ACUBE;
    return (layered ? ACU_ARRAY_LAYERED : 0u) | (r->geometry >= G_CUBE ? ACU_ARRAY_CUBE : 0u) |
           (r->operation == OP_GATHER ? ACU_ARRAY_GATHER : 0u) |
           (r->operation == OP_SURFACE ? ACU_ARRAY_SURFACE : 0u);
}

/* Makes the argument of the kernel; the caller releases what is not NULL. */
static int make(const row *r, unsigned seed, acu_texture **texture, acu_surface **surface) {
    ACU_AUTO(acu_array) *array = NULL;
    ACU_AUTO(acu_mipmap) *mipmap = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    const acu_extent extent = {r->width, r->height, r->depth};
    const acu_sampler sampler = sampler_of(r);
    acu_texture_source source = {0};
    if (r->linear || r->pitched) {
        ACU_TRY(fill_buffer(r, seed, &buffer));
        source = (acu_texture_source){.buffer = buffer,
                                      .width = r->width,
                                      .height = r->height,
                                      .row_pitch = r->pitched ? 256 : 0};
    } else if (r->levels) {
        ACU_TRY(acu_mipmap_create(stream, format_of(r), extent, r->levels, flags_of(r), &mipmap));
        ACU_TRY(fill_levels(r, seed, mipmap));
        source.mipmap = mipmap;
    } else {
        const acu_format format = format_of(r);
        ACU_TRY(acu_array_create(stream, r->made == M_VIEW ? uncompressed(r) : format,
                                 r->made == M_VIEW ? (acu_extent){r->width / 4, r->height / 4, 0}
                                                   : extent,
                                 flags_of(r), &array));
        ACU_TRY(r->made == M_PARTS  ? fill_parts(r, seed, array)
                : r->made == M_COPY ? fill_copy(r, seed, array)
                                    : fill(r, seed, array, 0));
        source.array = array;
        if (r->made == M_VIEW)
            source.view = format;
    }
    return r->operation == OP_SURFACE ? acu_surface_create(array, surface)
                                      : acu_texture_create(&source, &sampler, texture);
}

static void name_kernel(const row *r, char name[40]) {
    const char component[2] = {r->component, 0};
    if (r->operation == OP_SURFACE)
        snprintf(name, 40, "surface_%s_%s", geometries[r->geometry],
                 r->component == 'z' ? "zero" : "clamp");
    else
        snprintf(name, 40, "%s_%s_%c", operations[r->operation],
                 r->operation == OP_GATHER ? component : geometries[r->geometry], r->type);
}

/* Fills `answers`; returns 0 or the failure. */
static int sample(const row *r, unsigned seed) {
    ACU_AUTO(acu_texture) *texture = NULL;
    ACU_AUTO(acu_surface) *surface = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    char name[40];
    ACU_TRY(make(r, seed, &texture, &surface));
    name_kernel(r, name);
    make_places(r, seed, spots);
    ACU_TRY(acu_buffer_write(at, (const float *)spots, r->count * 12));
    ACU_TRY(acu_module_get_kernel(module, name, &kernel));
    ACU_TRY(acu_launch(stream, kernel, acu_grid_1d(r->count, 128),
                       surface ? acu_in_surface(surface) : acu_in_texture(texture), acu_in(at),
                       acu_out(to), r->count));
    return acu_buffer_read(to, (unsigned *)answers, r->count * 4);
}

/* ---- answers ---- */

static bool is_nan(unsigned bits) {
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

static unsigned hash_of(const row *r) {
    unsigned hash = 2166136261u;
    for (unsigned i = 0; i < r->count; i++)
        for (int k = 0; k < 4; k++)
            hash =
                (hash ^ (r->type == 'f' && is_nan(answers[i][k]) ? 0x7fffffffu : answers[i][k])) *
                16777619u;
    return hash;
}

static bool is_mixed(const row *r) {
    return r->sampler.filterMode == cudaFilterModeLinear || r->levels > 0;
}

static void write_row(FILE *out, const row *r, int code) {
    fprintf(out, "%s|%d|%08x|", r->name, code, code ? 0 : hash_of(r));
    for (unsigned i = 0;
         i < KEPT && i < r->count && !code && is_mixed(r) && r->operation != OP_GATHER; i++)
        fprintf(out, " %x", answers[i][0]);
    fprintf(out, "\n");
}

static float number(unsigned bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* Returns by how much of the range of texels an answer differs at most, of those that are kept. */
static double worst(const char *line) {
    double most = 0;
    char *end = NULL;
    for (unsigned i = 0; i < KEPT; i++, line = end) {
        const unsigned bits = (unsigned)strtoul(line, &end, 16);
        if (end == line)
            return most;
        const double a = (double)number(bits), b = (double)number(answers[i][0]);
        const double error = a > b ? a - b : b - a;
        if (error > most)
            most = error;
    }
    return most;
}

/* Returns the largest difference of two texels of the row. */
static double range_of(const row *r) {
    const bool is_half = r->format.f == cudaChannelFormatKindUnsignedBlockCompressed6H ||
                         r->format.f == cudaChannelFormatKindSignedBlockCompressed6H;
    return is_half                  ? 65504
           : r->pattern == P_RANDOM ? 2
           : r->pattern == P_ONE    ? 1
           : r->pattern == P_LEVEL  ? 5
                                    : 180;
}

typedef struct counts {
    unsigned rows, exact, near, wrong, missing, unasked;
} counts;

/* Compares a row with the GPU's line; `allowed` is a part of the range of its texels. */
static int number_of(const char *text) {
    return (int)strtol(text, NULL, 10);
}

static void compare_row(const row *r, int code, char *line, counts *c) {
    char *name = strtok(line, "|"), *gpu_code = strtok(NULL, "|"), *hash = strtok(NULL, "|"),
         *kept = strtok(NULL, "|\n");
    c->rows++;
    if (!name) {
        printf("no GPU was asked: %s\n", r->name);
        c->unasked++;
        return;
    }
    if (!hash || strcmp(name, r->name) != 0) {
        printf("row \"%s\" is not the answers' \"%s\"\n", r->name, name);
        c->wrong++;
        return;
    }
    if (code == 801 && number_of(gpu_code) == 0) {
        printf("not simulated: %s\n", r->name);
        c->missing++;
    } else if (code != number_of(gpu_code)) {
        printf("%s: is %d, on a GPU %s\n", r->name, code, gpu_code);
        c->wrong++;
    } else if (code || hash_of(r) == strtoul(hash, NULL, 16)) {
        c->exact++;
    } else {
        const double error = kept && is_mixed(r) ? worst(kept) / range_of(r) : 1;
        const bool is_near = r->allowed > 0 && error <= r->allowed;
        *(is_near ? &c->near : &c->wrong) += 1;
        if (!is_near || getenv("VERBOSE"))
            printf("%s: differs by %.5f of the range, allowed are %.5f\n", r->name, error,
                   (double)r->allowed);
    }
}

static int compare(const char *path) {
    static char line[1 << 16];
    counts c = {0};
    row r;
    FILE *in = fopen(path, "r");
    if (!in || !fgets(line, sizeof line, in) || strncmp(line, "seed ", 5) != 0) {
        fprintf(stderr, "%s: no answers\n", path);
        return 1;
    }
    const unsigned seed = (unsigned)number_of(line + 5);
    for (unsigned i = 0; get_row(i, &r); i++) {
        const int code = sample(&r, seed);
        acu_clear_error();
        if (!fgets(line, sizeof line, in))
            line[0] = 0;
        compare_row(&r, code, line, &c);
    }
    fclose(in);
    printf(
        "%u rows: %u exact, %u within what is allowed, %u not simulated, %u wrong, %u of which no "
        "GPU was asked\n",
        c.rows, c.exact, c.near, c.missing, c.wrong, c.unasked);
    return c.wrong > 0;
}

static int write_answers(const char *path, unsigned seed, const char *raw) {
    row r;
    FILE *out = fopen(path, "w"), *bytes = raw ? fopen(raw, "wb") : NULL;
    if (!out)
        return 1;
    fprintf(out, "seed %u\n", seed);
    for (unsigned i = 0; get_row(i, &r); i++) {
        const int code = sample(&r, seed);
        const unsigned rest =
            r.format.y || r.format.f > 3 || r.operation == OP_GATHER || i < 3 ? 4 : 1;
        const unsigned head[4] = {i, (unsigned)code, r.count, rest};
        if (code)
            printf("%s: %d %s\n", r.name, code, acu_last_error_message());
        acu_clear_error();
        write_row(out, &r, code);
        if (!bytes)
            continue;
        fwrite(head, sizeof head, 1, bytes);
        for (unsigned k = 0; !code && k < r.count; k++)
            fwrite(answers[k], 4, rest, bytes);
    }
    if (bytes)
        fclose(bytes);
    return fclose(out);
}

int main(int argc, char **argv) {
    int code = 1;
    const bool writes = argc > 3 && strcmp(argv[1], "write") == 0;
    const bool executes = argc == 3 && strcmp(argv[1], "ptx") == 0;
    if (argc != 2 && !writes && !executes) {
        fprintf(stderr, "texture_samples [ptx] ANSWERS | write ANSWERS SEED [RAW]\n");
        return 2;
    }
    if (!executes)
        register_texture_kernels();
    if (acu_stream_create(0, NULL, &stream) ||
        acu_buffer_create(stream, ACU_F32, MOST_PLACES * 12, &at) ||
        acu_buffer_create(stream, ACU_U32, MOST_PLACES * 4, &to) ||
        acu_module_load(0, &(acu_module_source){.ptx = texture_ptx()}, &module)) {
        fprintf(stderr, "%s\n", acu_last_error_message());
        return 77;
    }
    code = writes ? write_answers(argv[2], (unsigned)number_of(argv[3]), argv[4])
                  : compare(argv[executes ? 2 : 1]);
    acu_module_cleanup(&module);
    acu_buffer_cleanup(&to);
    acu_buffer_cleanup(&at);
    acu_stream_cleanup(&stream);
    return code;
}
