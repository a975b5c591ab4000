/*
 * Texture and surface references, which kernels name and the driver binds: what each call returns,
 * and what kernels read. It is a program of the driver API (README.md):
 *   reference_forms LIBRARY            prints a line for each question
 *   reference_forms LIBRARY ANSWERS    compares with the lines of a GPU
 * Each question has a process of its own, since a fault ends the context.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long address;

/* ---- the driver ---- */

static void *library;
static int (*entry_point)(const char *, void **, unsigned, unsigned long long, int *);

static void *find(const char *name, const char *version) {
    char whole[64];
    void *found = NULL;
    int result = 0;
    snprintf(whole, sizeof whole, "%s%s", name, version);
    if (entry_point)
        entry_point(name, &found, 12000, 0, &result);
    else
        found = dlsym(library, whole);
    if (!found) {
        printf("the library has no %s\n", whole);
        exit(1);
    }
    return found;
}

/* Calls a function of the driver by its name; `parameters` is the list of its types. */
#define CALL(name, version, parameters, ...)                                                       \
    (((union {                                                                                     \
         void *object;                                                                             \
         int(*function) parameters;                                                                \
     }){.object = find(#name, version)})                                                           \
         .function(__VA_ARGS__))

static void check(int code, const char *what) {
    if (!code)
        return;
    printf("%s: %d\n", what, code);
    exit(1);
}

static void open_device(const char *name) {
    void *context;
    int device;
    library = dlopen(name, RTLD_NOW);
    if (!library) {
        printf("%s\n", dlerror());
        exit(1);
    }
    *(void **)&entry_point = dlsym(library, "cudaGetDriverEntryPointByVersion");
    check(CALL(cuInit, "", (unsigned), 0), "cuInit");
    check(CALL(cuDeviceGet, "", (int *, int), &device, 0), "cuDeviceGet");
    check(CALL(cuDevicePrimaryCtxRetain, "", (void **, int), &context, device), "context");
    check(CALL(cuCtxSetCurrent, "", (void *), context), "cuCtxSetCurrent");
}

/* ---- answers ---- */

static char line[4096];
static size_t used;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    used += (size_t)vsnprintf(line + used, sizeof line - used, format, list);
    va_end(list);
}

/* ---- kernels ---- */

enum { THREADS = 12, WORDS = THREADS * 4 };

/* The kernel k reads four words for each thread, of which %c0 to %c3 are coordinates, and writes
 * %r0 to %r3. */
static const char *write_text(const char *target, const char *declares, const char *body) {
    static char text[8192];
    snprintf(text, sizeof text,
             ".version 8.0\n.target %s\n.address_size 64\n%s\n"
             ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
             ".reg .b32 %%r<8>, %%c<4>; .reg .b64 %%d<8>; .reg .pred %%p<4>;\n"
             "ld.param.u64 %%d1, [in];\nld.param.u64 %%d2, [out];\nmov.u32 %%r7, %%tid.x;\n"
             "mad.wide.u32 %%d1, %%r7, 16, %%d1;\nmad.wide.u32 %%d2, %%r7, 16, %%d2;\n"
             "ld.global.v4.b32 {%%c0, %%c1, %%c2, %%c3}, [%%d1];\nmov.b32 %%r0, -1;\n"
             "mov.b32 %%r1, -1;\nmov.b32 %%r2, -1;\nmov.b32 %%r3, -1;\n%s\n"
             "st.global.v4.b32 [%%d2], {%%r0, %%r1, %%r2, %%r3};\nret;\n}\n",
             target, declares, body);
    return text;
}

#define REFERENCES ".global .texref t; .global .texref other; .global .surfref u;"

static void *module;

static int load(const char *declares, const char *body) {
    return CALL(cuModuleLoadData, "", (void **, const void *), &module,
                write_text("sm_80", declares, body));
}

static int launch(const uint32_t *in, uint32_t *out) {
    void *function;
    address from, to;
    void *params[] = {&from, &to};
    check(CALL(cuModuleGetFunction, "", (void **, void *, const char *), &function, module, "k"),
          "cuModuleGetFunction");
    check(CALL(cuMemAlloc, "_v2", (address *, size_t), &from, WORDS * 4), "cuMemAlloc");
    check(CALL(cuMemAlloc, "_v2", (address *, size_t), &to, WORDS * 4), "cuMemAlloc");
    check(CALL(cuMemcpyHtoD, "_v2", (address, const void *, size_t), from, in, WORDS * 4), "copy");
    check(CALL(cuMemcpyHtoD, "_v2", (address, const void *, size_t), to, in, WORDS * 4), "copy");
    int code = CALL(cuLaunchKernel, "",
                    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     void *, void **, void **),
                    function, 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL);
    code = code ? code : CALL(cuStreamSynchronize, "", (void *), NULL);
    if (!code)
        check(CALL(cuMemcpyDtoH, "_v2", (void *, address, size_t), out, to, WORDS * 4), "copy");
    return code;
}

/* Launches the kernel, and says the first `count` words of each thread, or the error. */
static void run(const uint32_t *in, unsigned count) {
    uint32_t out[WORDS];
    int code = launch(in, out);
    say(" run %d", code);
    for (unsigned n = 0; n < THREADS && !code; n++)
        for (unsigned i = 0; i < count; i++)
            say("%s%x", i ? "," : " ", out[n * 4 + i]);
}

/* Coordinates along x and y, as floats or as integers. */
static const float places[THREADS][2] = {{0, 0},        {0.5f, 0.5f}, {1, 2},        {2.25f, 1.75f},
                                         {3.5f, 3.5f},  {4, 0},       {-0.5f, 0.5f}, {5.25f, 1},
                                         {0.25f, 6.5f}, {-3, -3},     {0.75f, 0.5f}, {100, 100}};

static const uint32_t *coordinates(int whole) {
    static uint32_t words[WORDS];
    memset(words, 0, sizeof words);
    for (unsigned n = 0; n < THREADS; n++)
        for (unsigned i = 0; i < 2; i++) {
            int32_t integer = (int32_t)places[n][i];
            if (whole)
                memcpy(&words[n * 4 + i], &integer, 4);
            else
                memcpy(&words[n * 4 + i], &places[n][i], 4);
        }
    return words;
}

/* ---- references ---- */

static void *texture(const char *name) {
    void *reference = NULL;
    check(CALL(cuModuleGetTexRef, "", (void **, void *, const char *), &reference, module, name),
          "cuModuleGetTexRef");
    return reference;
}

typedef struct array_descriptor {
    size_t width, height;
    int format;
    unsigned channels;
} array_descriptor;

enum { UINT8 = 1, UINT16 = 2, UINT32 = 3, SINT8 = 8, SINT32 = 10, HALF = 16, FLOAT32 = 32 };
enum { AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16, OVERRIDE = 1 };

/* Makes an array of 4 by 4 elements (`height` 0: of 4) that count up from 1; floats by 1, others
 * so that all bytes differ. */
static void *make_array(int format, unsigned height) {
    const array_descriptor d = {4, height, format, 1};
    const unsigned bytes = format == UINT8 || format == SINT8   ? 1
                           : format == UINT16 || format == HALF ? 2
                                                                : 4;
    unsigned char texels[64];
    void *array;
    for (unsigned n = 0; n < 16; n++) {
        const float number = (float)(n + 1);
        const uint32_t bits = 0x01030507u * (n + 1) + 0x80u * n;
        memcpy(texels + (size_t)n * bytes, format == FLOAT32 ? (const void *)&number : &bits,
               bytes);
    }
    check(CALL(cuArrayCreate, "_v2", (void **, const array_descriptor *), &array, &d), "array");
    for (unsigned row = 0; row < (height ? height : 1); row++)
        if (height == 0)
            check(CALL(cuMemcpyHtoA, "_v2", (void *, size_t, const void *, size_t), array, 0,
                       texels, (size_t)4 * bytes),
                  "cuMemcpyHtoA");
    struct {
        size_t from_x, from_y;
        int from_type;
        const void *from_host;
        address from_device;
        void *from_array;
        size_t from_pitch, to_x, to_y;
        int to_type;
        void *to_host;
        address to_device;
        void *to_array;
        size_t to_pitch, width, height;
    } copy = {.from_type = 1,
              .from_host = texels,
              .from_pitch = (size_t)4 * bytes,
              .to_type = 3,
              .to_array = array,
              .width = (size_t)4 * bytes,
              .height = height};
    if (height)
        check(CALL(cuMemcpy2D, "_v2", (const void *), &copy), "cuMemcpy2D");
    return array;
}

static void bind(const char *name, void *array) {
    say(" bind %d",
        CALL(cuTexRefSetArray, "", (void *, void *, unsigned), texture(name), array, OVERRIDE));
}

static void set_flags(unsigned flags) {
    say(" flags %d", CALL(cuTexRefSetFlags, "", (void *, unsigned), texture("t"), flags));
}

/* ---- questions ---- */

#define RESULT "{%r0, %r1, %r2, %r3}"

static void ask_names(unsigned variant) {
    static const char *const names[] = {"t", "u", "missing", "k", ""};
    void *reference = NULL;
    address at = 0;
    size_t bytes = 0;
    (void)variant;
    say("load %d", load(REFERENCES, "tex.1d.v4.f32.s32 " RESULT ", [t, {%c0}];\n"
                                    "suld.b.1d.v4.b32.zero " RESULT ", [u, {%c0}];"));
    for (unsigned n = 0; n < 5; n++) {
        say("; '%s'", names[n]);
        say(" texture %d", CALL(cuModuleGetTexRef, "", (void **, void *, const char *), &reference,
                                module, names[n]));
        say(" surface %d", CALL(cuModuleGetSurfRef, "", (void **, void *, const char *), &reference,
                                module, names[n]));
        say(" variable %d",
            CALL(cuModuleGetGlobal, "_v2", (address *, size_t *, void *, const char *), &at, &bytes,
                 module, names[n]));
        say(" %zu", bytes);
    }
}

/* What a reference says before anything is set. */
static void ask_defaults(unsigned variant) {
    int format = -1, channels = -1, mode = -1, most = -1;
    unsigned flags = 99;
    float one = -1, two = -1, color[4] = {-1, -1, -1, -1};
    address at = 1;
    void *array = NULL, *t;
    check(load(REFERENCES, "tex.1d.v4.f32.s32 " RESULT ", [t, {%c0}];"), "load");
    t = texture("t");
    if (variant)
        bind("t", make_array(variant == 1 ? FLOAT32 : UINT8, variant == 1 ? 4 : 0));
    say(" address %d", CALL(cuTexRefGetAddress, "_v2", (address *, void *), &at, t));
    say(" %d; array %d", at != 1 && at != 0,
        CALL(cuTexRefGetArray, "", (void **, void *), &array, t));
    say(" %d; mipmapped %d", array != NULL,
        CALL(cuTexRefGetMipmappedArray, "", (void **, void *), &array, t));
    for (int n = 0; n < 4; n++) {
        say("; mode %d", CALL(cuTexRefGetAddressMode, "", (int *, void *, int), &mode, t, n));
        say(" %d", mode);
    }
    say("; filter %d", CALL(cuTexRefGetFilterMode, "", (int *, void *), &mode, t));
    say(" %d; format %d", mode,
        CALL(cuTexRefGetFormat, "", (int *, int *, void *), &format, &channels, t));
    say(" %d %d; between %d", format, channels,
        CALL(cuTexRefGetMipmapFilterMode, "", (int *, void *), &mode, t));
    say(" %d; bias %d", mode, CALL(cuTexRefGetMipmapLevelBias, "", (float *, void *), &one, t));
    say(" %g; clamp %d", (double)one,
        CALL(cuTexRefGetMipmapLevelClamp, "", (float *, float *, void *), &one, &two, t));
    say(" %g %g; anisotropy %d", (double)one, (double)two,
        CALL(cuTexRefGetMaxAnisotropy, "", (int *, void *), &most, t));
    say(" %d; border %d", most, CALL(cuTexRefGetBorderColor, "", (float *, void *), color, t));
    say(" %g %g; flags %d", (double)color[0], (double)color[3],
        CALL(cuTexRefGetFlags, "", (unsigned *, void *), &flags, t));
    say(" %u", flags);
}

static void ask_unbound(unsigned variant) {
    static const char *const bodies[] = {"tex.1d.v4.f32.s32 " RESULT ", [t, {%c0}];",
                                         "tex.2d.v4.u32.f32 " RESULT ", [t, {%c0, %c1}];",
                                         "suld.b.1d.b32.zero %r0, [u, {%c0}];",
                                         "sust.b.1d.b32.zero [u, {%c0}], %r0;",
                                         "txq.width.b32 %r0, [t];",
                                         "suq.width.b32 %r0, [u];"};
    say("load %d", load(REFERENCES, bodies[variant]));
    run(coordinates(variant == 0 || variant == 2 || variant == 3), 4);
}

/* Floats, bytes and words of an array, with each flag, filter and way of going beyond an edge. */
static void ask_samples(unsigned variant) {
    static const int formats[] = {FLOAT32, UINT8, UINT16, UINT32, SINT32};
    const int format = formats[variant % 5], mode = (int)(variant / 5 % 5);
    const unsigned flags = variant / 25 % 4, linear = variant / 100 % 2;
    const int as_words = flags & AS_INTEGER && format != FLOAT32;
    say("format %d mode %d flags %u filter %u:", format, mode, flags, linear);
    say(" load %d", load(REFERENCES, as_words || format == UINT32 || format == SINT32
                                         ? "tex.2d.v4.u32.f32 " RESULT ", [t, {%c0, %c1}];"
                                         : "tex.2d.v4.f32.f32 " RESULT ", [t, {%c0, %c1}];"));
    bind("t", make_array(format, 4));
    set_flags(flags);
    for (int n = 0; n < 2; n++)
        say(" mode %d",
            CALL(cuTexRefSetAddressMode, "", (void *, int, int), texture("t"), n, mode));
    say(" filter %d", CALL(cuTexRefSetFilterMode, "", (void *, int), texture("t"), (int)linear));
    run(coordinates(0), 2);
}

/* Bound twice to the same array, the second texture is the other one's neighbour; through the
 * address of a reference; and what kind of variable an address is of. */
static void ask_addresses(unsigned variant) {
    static const char *const bodies[] = {
        "mov.u64 %d3, other;\ntex.1d.v4.f32.s32 " RESULT ", [%d3, {%c0}];",
        "mov.u64 %d3, t;\nistypep.texref %p1, %d3;\nistypep.surfref %p2, %d3;\n"
        "istypep.samplerref %p3, %d3;\nselp.u32 %r0, 1, 0, %p1;\nselp.u32 %r1, 1, 0, %p2;\n"
        "selp.u32 %r2, 1, 0, %p3;",
        "mov.u64 %d3, u;\nistypep.texref %p1, %d3;\nistypep.surfref %p2, %d3;\n"
        "istypep.samplerref %p3, %d3;\nselp.u32 %r0, 1, 0, %p1;\nselp.u32 %r1, 1, 0, %p2;\n"
        "selp.u32 %r2, 1, 0, %p3;",
        "mov.u64 %d3, 0;\nistypep.texref %p1, %d3;\nistypep.surfref %p2, %d3;\n"
        "istypep.samplerref %p3, %d3;\nselp.u32 %r0, 1, 0, %p1;\nselp.u32 %r1, 1, 0, %p2;\n"
        "selp.u32 %r2, 1, 0, %p3;",
        "istypep.texref %p1, %d1;\nistypep.surfref %p2, %d1;\nistypep.samplerref %p3, %d1;\n"
        "selp.u32 %r0, 1, 0, %p1;\nselp.u32 %r1, 1, 0, %p2;\nselp.u32 %r2, 1, 0, %p3;",
        "mov.u64 %d3, t;\nmov.u64 %d4, other;\nsub.u64 %d5, %d4, %d3;\ncvt.u32.u64 %r0, %d5;\n"
        "shr.u64 %d5, %d5, 32;\ncvt.u32.u64 %r1, %d5;",
        "tex.1d.v4.f32.s32 " RESULT
        ", [t, {%c0}];\ntex.1d.v4.f32.s32 {%r4, %r5, %r6, %r3}, [other, {%c0}];\n"
        "mov.b32 %r1, %r4;"};
    say("load %d", load(REFERENCES, bodies[variant]));
    if (variant != 5) {
        bind("t", make_array(FLOAT32, 0));
        bind("other", make_array(UINT8, 0));
    }
    run(coordinates(1), 3);
}

/* Linear memory, at places that are not aligned, and of rows. */
static void ask_memory(unsigned variant) {
    static const size_t offsets[] = {0, 4, 64, 256, 512, 516};
    const array_descriptor rows = {4, 4, FLOAT32, 1};
    float numbers[1024];
    address at, back = 1;
    size_t offset = 99;
    const size_t begin = offsets[variant % 6];
    for (unsigned n = 0; n < 1024; n++)
        numbers[n] = (float)n;
    say("memory at %zu:", begin);
    say(" load %d",
        load(REFERENCES, variant < 6 ? "tex.1d.v4.f32.s32 " RESULT ", [t, {%c0}];"
                                     : "tex.2d.v4.f32.f32 " RESULT ", [t, {%c0, %c1}];"));
    check(CALL(cuMemAlloc, "_v2", (address *, size_t), &at, sizeof numbers), "cuMemAlloc");
    check(CALL(cuMemcpyHtoD, "_v2", (address, const void *, size_t), at, numbers, sizeof numbers),
          "cuMemcpyHtoD");
    say(" format %d", CALL(cuTexRefSetFormat, "", (void *, int, int), texture("t"), FLOAT32, 1));
    if (variant < 6)
        say(" set %d", CALL(cuTexRefSetAddress, "_v2", (size_t *, void *, address, size_t), &offset,
                            texture("t"), at + begin, 64));
    else
        say(" set %d",
            CALL(cuTexRefSetAddress2D, "_v3", (void *, const array_descriptor *, address, size_t),
                 texture("t"), &rows, at + begin, 128));
    say(" offset %zu get %d", offset,
        CALL(cuTexRefGetAddress, "_v2", (address *, void *), &back, texture("t")));
    say(" %lld", back ? (long long)(back - at) : -1);
    run(coordinates(variant < 6), 2);
}

/* What sizes, formats and numbers setters refuse. */
static void ask_setters(unsigned variant) {
    static const int formats[] = {0, UINT8, 4, SINT8, HALF, FLOAT32, 33, -1};
    float color[4] = {0.25f, 0.5f, 0.75f, 1};
    address at;
    size_t offset = 99;
    void *t, *array;
    (void)variant;
    check(load(REFERENCES, "tex.1d.v4.f32.s32 " RESULT ", [t, {%c0}];"), "load");
    check(CALL(cuMemAlloc, "_v2", (address *, size_t), &at, 4096), "cuMemAlloc");
    t = texture("t");
    array = make_array(FLOAT32, 4);
    for (unsigned n = 0; n < 8; n++)
        for (int channels = 0; channels < 6; channels += n ? 6 : 1)
            say(" %d",
                CALL(cuTexRefSetFormat, "", (void *, int, int), t, formats[n], n ? 1 : channels));
    for (int n = -1; n < 7; n++)
        say(" mode %d", CALL(cuTexRefSetAddressMode, "", (void *, int, int), t, 0, n));
    for (int n = -1; n < 5; n++)
        say(" dimension %d", CALL(cuTexRefSetAddressMode, "", (void *, int, int), t, n, 1));
    for (int n = -1; n < 3; n++)
        say(" filter %d %d", CALL(cuTexRefSetFilterMode, "", (void *, int), t, n),
            CALL(cuTexRefSetMipmapFilterMode, "", (void *, int), t, n));
    for (unsigned n = 0; n < 128; n = n ? n * 2 : 1)
        say(" flags %d", CALL(cuTexRefSetFlags, "", (void *, unsigned), t, n));
    for (unsigned n = 0; n < 20; n += 4)
        say(" anisotropy %d", CALL(cuTexRefSetMaxAnisotropy, "", (void *, unsigned), t, n));
    say(" bias %d clamp %d border %d",
        CALL(cuTexRefSetMipmapLevelBias, "", (void *, float), t, 1.5f),
        CALL(cuTexRefSetMipmapLevelClamp, "", (void *, float, float), t, 0.5f, 2),
        CALL(cuTexRefSetBorderColor, "", (void *, float *), t, color));
    for (unsigned flags = 0; flags < 3; flags++)
        say(" array %d", CALL(cuTexRefSetArray, "", (void *, void *, unsigned), t, array, flags));
    say(" none %d", CALL(cuTexRefSetArray, "", (void *, void *, unsigned), t, NULL, 1));
    say(" mipmapped %d",
        CALL(cuTexRefSetMipmappedArray, "", (void *, void *, unsigned), t, NULL, 1));
    for (unsigned n = 0; n < 4; n++)
        say(" address %d %zu",
            CALL(cuTexRefSetAddress, "_v2", (size_t *, void *, address, size_t),
                 n == 1 ? NULL : &offset, t, n == 2 ? 0 : at + (n == 1 ? 4 : 0), n == 3 ? 0 : 64),
            offset);
    say(" unaligned %d", CALL(cuTexRefSetAddress, "_v2", (size_t *, void *, address, size_t), NULL,
                              t, at, (size_t)1 << 40));
}

/* A launch has what was bound last; NULL cannot be bound. */
static void ask_lives(unsigned variant) {
    check(load(REFERENCES, "tex.1d.v4.f32.s32 " RESULT ", [t, {%c0}];"), "load");
    bind("t", make_array(FLOAT32, 0));
    if (variant == 0)
        bind("t", make_array(UINT8, 0));
    if (variant == 1)
        say(" unbind %d",
            CALL(cuTexRefSetArray, "", (void *, void *, unsigned), texture("t"), NULL, 1));
    run(coordinates(1), 1);
}

static void ask_queries(unsigned variant) {
    static const char *const queries[] = {
        "txq.width.b32 %r0, [t];",         "txq.height.b32 %r0, [t];",
        "txq.depth.b32 %r0, [t];",         "txq.channel_data_type.b32 %r0, [t];",
        "txq.channel_order.b32 %r0, [t];", "txq.normalized_coords.b32 %r0, [t];",
        "txq.array_size.b32 %r0, [t];",    "txq.num_mipmap_levels.b32 %r0, [t];",
        "txq.num_samples.b32 %r0, [t];",   "txq.filter_mode.b32 %r0, [t];",
        "txq.addr_mode_0.b32 %r0, [t];",   "txq.level.width.b32 %r0, [t], 0;",
        "suq.width.b32 %r0, [u];",         "suq.height.b32 %r0, [u];",
        "suq.depth.b32 %r0, [u];",         "suq.channel_data_type.b32 %r0, [u];",
        "suq.array_size.b32 %r0, [u];",    "suq.memory_layout.b32 %r0, [u];"};
    void *surface, *array;
    say("%s load %d", queries[variant], load(REFERENCES, queries[variant]));
    array = make_array(FLOAT32, 4);
    if (strstr(queries[variant], "txq")) {
        bind("t", array);
    } else {
        check(CALL(cuModuleGetSurfRef, "", (void **, void *, const char *), &surface, module, "u"),
              "cuModuleGetSurfRef");
        say(" bind %d", CALL(cuSurfRefSetArray, "", (void *, void *, unsigned), surface, array, 0));
    }
    run(coordinates(1), 1);
}

/* Surfaces: arrays that were made for them, and others. */
static void ask_surfaces(unsigned variant) {
    static const char *const bodies[] = {"suld.b.1d.b32.zero %r0, [u, {%c0}];",
                                         ("sust.b.1d.b32.zero [u, {%c0}], %c0;\n"
                                          "membar.gl;\nsuld.b.1d.b32.zero %r0, [u, {%c0}];"),
                                         "mov.u64 %d3, u;\nsuld.b.1d.b32.clamp %r0, [%d3, {%c0}];",
                                         "suld.b.1d.b32.trap %r0, [u, {%c0}];"};
    struct {
        size_t width, height, depth;
        int format;
        unsigned channels, flags;
    } d = {4, 0, 0, UINT32, 1, 2};
    void *surface, *array, *back = NULL;
    const uint32_t texels[4] = {11, 22, 33, 44};
    say("load %d", load(REFERENCES, bodies[variant % 4]));
    d.flags = variant < 4 ? 2 : 0;
    check(CALL(cuArray3DCreate, "_v2", (void **, const void *), &array, &d), "array");
    check(CALL(cuMemcpyHtoA, "_v2", (void *, size_t, const void *, size_t), array, 0, texels, 16),
          "cuMemcpyHtoA");
    check(CALL(cuModuleGetSurfRef, "", (void **, void *, const char *), &surface, module, "u"),
          "cuModuleGetSurfRef");
    say(" bind %d", CALL(cuSurfRefSetArray, "", (void *, void *, unsigned), surface, array, 0));
    say(" flags %d", CALL(cuSurfRefSetArray, "", (void *, void *, unsigned), surface, array, 1));
    say(" get %d", CALL(cuSurfRefGetArray, "", (void **, void *), &back, surface));
    say(" %d", back == array);
    run(coordinates(1), 1);
}

/* Textures and samplers of their own. */
static void ask_samplers(unsigned variant) {
    static const char *const samplers[] = {
        "",
        " = {addr_mode_0 = wrap, addr_mode_1 = wrap, filter_mode = nearest}",
        " = {addr_mode_0 = mirror, addr_mode_1 = mirror, filter_mode = linear}",
        " = {addr_mode_0 = clamp_to_edge, addr_mode_1 = clamp_to_border, filter_mode = linear}",
        " = {addr_mode_0 = clamp_ogl, addr_mode_1 = clamp_to_border, filter_mode = nearest}",
        " = {filter_mode = linear, force_unnormalized_coords = 1}"};
    char declares[512];
    snprintf(declares, sizeof declares, ".global .texref t; .global .samplerref s%s;",
             samplers[variant % 6]);
    say("sampler%s flags %u", samplers[variant % 6], variant / 6 * NORMALIZED);
    say(" load %d", CALL(cuModuleLoadData, "", (void **, const void *), &module,
                         write_text("sm_80, texmode_independent", declares,
                                    "tex.2d.v4.f32.f32 " RESULT ", [t, s, {%c0, %c1}];")));
    bind("t", make_array(FLOAT32, 4));
    set_flags(variant / 6 * NORMALIZED);
    run(coordinates(0), 1);
}

static const struct {
    const char *name;
    void (*ask)(unsigned variant);
    unsigned variants;
} questions[] = {
    {"names", ask_names, 1},       {"defaults", ask_defaults, 3}, {"unbound", ask_unbound, 6},
    {"samples", ask_samples, 200}, {"address", ask_addresses, 7}, {"memory", ask_memory, 12},
    {"setters", ask_setters, 1},   {"lives", ask_lives, 2},       {"query", ask_queries, 18},
    {"surface", ask_surfaces, 8},  {"sampler", ask_samplers, 12},
};

/* ---- the program ---- */

static char *read_all(const char *path) {
    FILE *file = fopen(path, "rb");
    static char text[1 << 20] = "\n";
    if (file) {
        text[1 + fread(text + 1, 1, sizeof text - 2, file)] = '\0';
        fclose(file);
    }
    return text;
}

/* Asks in this process, and writes the line to the file. */
static void ask(const char *name, unsigned question, unsigned variant, FILE *file) {
    open_device(name);
    questions[question].ask(variant);
    fprintf(file, "%s %u: %s\n", questions[question].name, variant, line);
    fflush(file);
    _exit(0);
}

int main(int argc, char **argv) {
    const char *answers = argc == 3 ? read_all(argv[2]) : NULL;
    unsigned agree = 0, differ = 0, refused = 0;
    if (argc < 2)
        return 2;
    for (unsigned q = 0; q < sizeof questions / sizeof *questions; q++)
        for (unsigned v = 0; v < questions[q].variants; v++) {
            char got[4200] = "\n", begin[64];
            FILE *file = tmpfile();
            fflush(stdout);
            pid_t child = fork();
            if (child == 0)
                ask(argv[1], q, v, file);
            waitpid(child, NULL, 0);
            if (fseek(file, 0, SEEK_SET))
                return 1;
            got[1 + fread(got + 1, 1, sizeof got - 2, file)] = '\0';
            fclose(file);
            snprintf(begin, sizeof begin, "\n%s %u: ", questions[q].name, v);
            if (!got[1])
                snprintf(got, sizeof got, "%sthere is no answer\n", begin);
            if (!answers || !strstr(answers, begin))
                printf("%s", got + 1);
            else if (strstr(answers, got))
                agree++;
            else if (strstr(got, " run 801")) /* the simulator says that it cannot */
                refused++;
            else
                printf("differs: %s", got + 1), differ++;
        }
    if (answers)
        printf("%u answers agree with a GPU, %u differ, %u are refused\n", agree, differ, refused);
    return differ > 0 || (answers && !agree);
}
