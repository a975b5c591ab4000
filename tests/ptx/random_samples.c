/* Textures and surfaces of all kinds, and accesses to them. */
#include "random_kernels.h"

#include <string.h>

image images[IMAGES];

static const struct {
    int code; /* of CUDA's enum */
    unsigned bytes;
    char kind; /* u, s or f */
} texel_formats[] = {{1, 1, 'u'}, {2, 2, 'u'},  {3, 4, 'u'},  {8, 1, 's'},
                     {9, 2, 's'}, {10, 4, 's'}, {16, 2, 'f'}, {32, 4, 'f'}};

static const char *const geometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};

unsigned image_element(const image *i) {
    return texel_formats[i->format].bytes * i->channels;
}

int image_format(const image *i) {
    return texel_formats[i->format].code;
}

static uint32_t bits_of(float x) {
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

/* ---- what images are like ---- */

static float some_number(float least, float most) {
    return least + (most - least) * (float)below(4097) / 4096;
}

static void choose_extent(image *i) {
    i->width = 4 + below(13);
    i->height = 3 + below(8);
    i->depth = 2 + below(4);
    if (i->shape == CUBE || i->shape == CUBES)
        i->height = i->width;
    if (i->shape == CUBE || i->shape == CUBES)
        i->depth = i->shape == CUBE ? 6 : 12;
    if (i->shape == LINE || i->shape == LINES)
        i->height = 0;
    if (i->shape <= PLANE)
        i->depth = 0;
}

/* Returns a number that is about as near to one integer of the format as to the next. */
static float near_tie(const image *i) {
    const unsigned bits =
        8 * texel_formats[i->format].bytes - (texel_formats[i->format].kind == 's');
    const unsigned most = bits < 16 ? (1u << bits) - 1 : 65535;
    float x = (float)(((double)below(most) + 0.5) / most);
    const uint32_t unit = below(2), off = unit << below(16);
    uint32_t word = bits_of(x);
    word += one_of(2) ? off : -off;
    memcpy(&x, &word, sizeof x);
    return one_of(3) ? -x : x;
}

static void choose_texture(image *i) {
    *i = (image){.shape = (image_shape)below(SHAPES)};
    i->format = below(8);
    i->channels = 1u << below(3);
    choose_extent(i);
    const bool may_mix = texel_formats[i->format].bytes < 4 || texel_formats[i->format].kind == 'f';
    const bool is_integer = texel_formats[i->format].kind != 'f' && (!may_mix || one_of(3));
    i->levels = one_of(3) ? 2 + below(2) : 1;
    i->normalized = i->levels > 1 || i->shape >= CUBE || one_of(2);
    i->as_integer = is_integer;
    i->linear = may_mix && !is_integer && !one_of(3);
    i->linear_levels = i->linear && one_of(2);
    i->gathers = i->shape == PLANE && i->levels == 1;
    i->srgb = i->format == 0 && !is_integer && i->shape != SPACE && one_of(3);
    i->anisotropy = one_of(4) ? 1u << below(5) : 1;
    i->seamless = i->shape >= CUBE && one_of(2);
    i->bias = i->levels > 1 && one_of(3) ? some_number(-2, 2) : 0;
    i->least = i->levels > 1 && one_of(3) ? some_number(0, 2) : 0;
    i->most = i->levels > 1 && one_of(3) ? some_number(0, 3) : 2;
    for (unsigned n = 0; n < 3; n++)
        i->modes[n] = (int)below(4);
    for (unsigned n = 0; n < 4; n++)
        i->border[n] = one_of(2) ? some_number(-1, 2) : near_tie(i);
}

/* A thread has a place of its own in the last surface, which has rows of a warp's lanes. */
static void choose_surface(image *i, bool is_own) {
    static const image_shape shapes[] = {LINE, PLANE, SPACE, LINES, PLANES, CUBE};
    *i = (image){.is_surface = true, .levels = 1};
    i->shape = is_own ? PLANE : shapes[below(6)];
    i->format = below(8);
    i->channels = 1u << below(3);
    choose_extent(i);
    if (is_own && one_of(2))
        i->format = one_of(2) ? 2 : 5, i->channels = 1;
    if (is_own)
        i->width = 32, i->height = LANES / 32;
}

void choose_images(void) {
    for (unsigned n = 0; n < TEXTURES; n++)
        choose_texture(&images[n]);
    choose_surface(&images[TEXTURES], false);
    choose_surface(&images[TEXTURES + 1], true);
}

/* ---- textures ---- */

/* Makes %f0 and behind a direction: numbers that are not too large, of which the last is not 0. */
static void put_direction(void) {
    for (unsigned n = 0; n < 3; n++)
        put("mul.rn.ftz.f32 %%f%u, %%f%u, 0f3f800000;\nmin.f32 %%f%u, %%f%u, 0f7149f2ca;\n"
            "max.f32 %%f%u, %%f%u, 0ff149f2ca;\n",
            n, n, n, n, n, n);
    put("abs.f32 %%f3, %%f2;\nmax.f32 %%f3, %%f3, 0f0da24260;\ncopysign.f32 %%f2, %%f2, %%f3;\n");
}

/* Puts coordinates as numbers into %f0 and behind, and a layer into %x4. */
static void put_coordinates(const image *i, unsigned count, bool is_integer) {
    const unsigned first = any('r', 4), layer = any('r', 1);
    put_values('r', first, 4, is_integer ? BITS : F32, one_of(6) ? ANY : one_of(6) ? FAR : NEAR);
    for (unsigned n = 0; n < count; n++) {
        const float scale = i->normalized ? some_number(0, 0.5f) : some_number(0.5f, 3);
        if (is_integer)
            put("bfe.s32 %%r%u, %%r%u, %u, 5;\n", first + n, first + n, below(20));
        put("mov.b32 %%f%u, %%r%u;\n", n, first + n);
        if (!is_integer && !one_of(5))
            put("mul.rn.f32 %%f%u, %%f%u, 0f%08x;\n", n, n, bits_of(scale));
    }
    put("bfe.s32 %%x4, %%r%u, %u, 3;\n", layer, below(28));
    if (i->shape >= CUBE)
        put_direction();
}

static void put_place(const image *i, const char *letter) {
    static const unsigned counts[] = {1, 2, 3, 1, 2, 3, 3};
    const unsigned count = counts[i->shape], all = i->shape == LINE                         ? 1
                                                   : i->shape == PLANE || i->shape == LINES ? 2
                                                                                            : 4;
    const bool has_layer = i->shape == LINES || i->shape == PLANES || i->shape == CUBES;
    put("{");
    unsigned n = 0;
    if (has_layer)
        put("%%x4"), n = 1;
    for (unsigned c = 0; n < all; n++, c++)
        put("%s%%%s%u", n ? ", " : "", letter, c < count ? c : count - 1);
    put("}");
}

static void put_gradient(const image *i) {
    const unsigned count = i->shape == LINE || i->shape == LINES     ? 1
                           : i->shape == PLANE || i->shape == PLANES ? 2
                                                                     : 4;
    put(", {");
    for (unsigned n = 0; n < count; n++) {
        const float by = one_of(6) ? 0 : some_number(-0.4f, 0.4f);
        put("%s0f%08x", n ? ", " : "", bits_of(by));
    }
    put("}");
}

static const char *value_type(const image *i) {
    return !i->as_integer ? "f32" : texel_formats[i->format].kind == 'u' ? "u32" : "s32";
}

static void put_sample(void) {
    const unsigned number = below(TEXTURES), to = any('r', 4);
    const image *const i = &images[number];
    const bool may_fetch = !i->normalized && !i->linear && i->shape < CUBE;
    const bool is_integer = may_fetch && one_of(2),
               gathers = i->gathers && one_of(3) && !is_integer;
    const unsigned way = gathers || is_integer            ? 0
                         : i->normalized && i->levels > 1 ? below(3)
                         : below(8) == 0                  ? 1
                                                          : 0;
    const bool grads = way == 2 && i->shape < CUBE;
    put_coordinates(i,
                    i->shape == LINE || i->shape == LINES     ? 1
                    : i->shape == PLANE || i->shape == PLANES ? 2
                                                              : 3,
                    is_integer);
    put("ld.global.b64 %%y6, [%%y7+%u];\n", 8 * number);
    if (is_integer)
        for (unsigned n = 0; n < 3; n++)
            put("mov.b32 %%i%u, %%f%u;\n", n, n);
    put_guard(LANE);
    if (gathers)
        put("tld4.%c.2d.v4.%s.f32 ", "rgba"[below(4)], value_type(i));
    else
        put("tex%s.%s.v4.%s.%s ",
            grads ? ".grad"
            : way ? ".level"
                  : "",
            geometries[i->shape], value_type(i), is_integer ? "s32" : "f32");
    put_list('r', to, 4);
    put(", [%%y6, ");
    put_place(i, is_integer ? "i" : "f");
    put("]");
    if (grads) {
        put_gradient(i);
        put_gradient(i);
    } else if (way) {
        const float level = one_of(6) ? 0 : some_number(-1, 3.5f);
        put(", 0f%08x", bits_of(level));
    }
    if (i->shape == PLANE && one_of(4)) {
        const int first = (int)below(16) - 8, second = (int)below(16) - 8;
        put(", {%d, %d}", first, second);
    }
    put(";\n");
    put_log('r', to, 4);
    put_place_log();
}

static void put_texture_query(void) {
    static const char *const what[] = {"width", "height", "depth"};
    const unsigned number = below(TEXTURES), to = any('r', 1), asked = below(3);
    put("ld.global.b64 %%y6, [%%y7+%u];\ntxq.%s.b32 %%r%u, [%%y6];\n", 8 * number, what[asked], to);
    put_log('r', to, 1);
}

/* ---- surfaces ---- */

/* Puts places in bytes along x into %i0 and behind, most of them in the surface. */
static void put_indices(const image *i) {
    const unsigned first = any('r', 4), extent[] = {i->width, i->height, i->depth};
    for (unsigned n = 0; n < 3; n++) {
        const unsigned before = below(8), bit = below(27);
        put("bfe.u32 %%i%u, %%r%u, %u, 5;\nsub.s32 %%i%u, %%i%u, %u;\n", n, first + n, bit, n, n,
            before);
        if (one_of(2))
            put("max.s32 %%i%u, %%i%u, 0;\nmin.s32 %%i%u, %%i%u, %u;\n", n, n, n, n,
                extent[n] ? extent[n] - 1 : 0);
    }
    put("mul.lo.s32 %%i0, %%i0, %u;\nbfe.u32 %%x4, %%r%u, 3, %u;\n", image_element(i), first,
        1 + below(3));
}

/* Puts how an element's bytes are accessed, ".v2.b16", and returns the registers that takes. */
static unsigned put_access(const image *i, char *letter) {
    const unsigned bytes = image_element(i), most = bytes < 8 ? bytes : 8;
    unsigned size = 1u << below(4);
    while (size > most || bytes / size > 4)
        size = bytes / size > 4 ? size * 2 : size / 2;
    const unsigned count = bytes / size;
    *letter = (char)(size == 8 ? 'd' : size == 4 ? 'r' : 'h');
    put("%s.b%u", count == 1 ? "" : count == 2 ? ".v2" : ".v4", 8 * size);
    return count;
}

static const char *surface_geometry(const image *i) {
    return i->shape >= CUBE ? "a2d" : geometries[i->shape];
}

static void put_surface_place(const image *i) {
    image flat = *i;
    flat.shape = i->shape >= CUBE ? PLANES : i->shape;
    put_place(&flat, "i");
}

static void put_surface_load(void) {
    const image *const i = &images[TEXTURES];
    char letter;
    put_indices(i);
    put("ld.global.b64 %%y6, [%%y7+%u];\n", 8 * TEXTURES);
    put_guard(LANE);
    put("suld.b.%s", surface_geometry(i));
    const unsigned count = put_access(i, &letter), to = any(letter, count);
    put(".%s {", one_of(2) ? "clamp" : "zero");
    for (unsigned n = 0; n < count; n++)
        put("%s%%%c%u", n ? ", " : "", letter, to + n);
    put("}, [%%y6, ");
    put_surface_place(i);
    put("];\n");
    put_log(letter, to, count);
}

/* Changes the thread's own element, and reads it. */
static void put_surface_store(void) {
    static const char *const reductions[] = {"add", "min", "max", "and", "or"};
    const image *const i = &images[TEXTURES + 1];
    char letter;
    const bool is_word = image_element(i) == 4 && i->channels == 1 && i->format != 7;
    const unsigned way = below(is_word ? 3 : 2), from = any('r', 4), reduction = below(5);
    /* Formatted stores count elements. Kernels that are not wide are as a GPU was asked. */
    put("mul.lo.u32 %%i0, %%lane, %u;\nmov.u32 %%i1, %%gw;\nld.global.b64 %%y6, [%%y7+%u];\n",
        is_wide && way == 1 ? 1 : image_element(i), 8 * (TEXTURES + 1));
    if (one_of(8)) /* outside */
        put("add.u32 %%i1, %%i1, %u;\n", 8 + below(1000));
    if (way == 1)
        put_values('r', from, 4, texel_formats[i->format].kind == 'f' ? F32 : BITS,
                   (kind)below(KINDS));
    if (way == 2)
        put("mul.lo.u32 %%i2, %%lane, %u;\n", one_of(2) ? 1 : 4);
    put_guard(LANE);
    if (way == 0) {
        put("sust.b.2d");
        const unsigned count = put_access(i, &letter), first = any(letter, count);
        put(".zero [%%y6, {%%i0, %%i1}], ");
        put_list(letter, first, count);
    } else if (way == 1) {
        put("sust.p.2d.v4.b32.zero [%%y6, {%%i0, %%i1}], ");
        put_list('r', from, 4);
    } else {
        const char *const type = reduction > 2 ? "b32" : one_of(2) ? "u32" : "s32";
        put("sured.b.%s.2d.%s.zero [%%y6, {%%i0, %%i1}], %%r%u", reductions[reduction], type, from);
    }
    put(";\nmov.u32 %%i1, %%gw;\n");
    if (is_wide)
        put("mul.lo.u32 %%i0, %%lane, %u;\n", image_element(i));
    put("suld.b.2d");
    const unsigned count = put_access(i, &letter), to = any(letter, count);
    put(".clamp ");
    put_list(letter, to, count);
    put(", [%%y6, {%%i0, %%i1}];\n");
    put_log(letter, to, count);
}

const statement surface_statements[] = {
    {put_surface_load, LANE, 5},
    {put_surface_store, LANE, 12},
    {0},
};

const statement sample_statements[] = {
    {put_sample, LANE, 22},
    {put_texture_query, LANE, 2},
    {put_surface_load, LANE, 5},
    {put_surface_store, LANE, 6},
    {0},
};
