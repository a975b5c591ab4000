/* PTX's instructions on textures and surfaces. The numbers are an H100's answers, but where a name
 * says otherwise. tests/texture/ has what is sampled. */
#include "driver_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { MOST_THREADS = 12, MOST_VALUES = 512 };

/* What a kernel gets beside the object and where its results go: x is `x + thread * step`. */
typedef struct numbers {
    float x, y, step;
    int i, j, k;
} numbers;

#define KERNEL                                                                                     \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                              \
    ".entry k(.param .u64 object, .param .u64 to, .param .align 4 .b8 n[24]) {\n"                  \
    ".reg .pred %%p<4>; .reg .b16 %%h<8>; .reg .b32 %%r<20>; .reg .f32 %%f<20>; .reg .b64 "        \
    "%%d<8>;\n"                                                                                    \
    "ld.param.u64 %%d1, [object];\nld.param.u64 %%d2, [to];\nld.param.f32 %%f1, [n];\n"            \
    "ld.param.f32 %%f2, [n+4];\nld.param.f32 %%f3, [n+8];\nld.param.u32 %%r1, [n+12];\n"           \
    "ld.param.u32 %%r2, [n+16];\nld.param.u32 %%r3, [n+20];\nmov.u32 %%r4, %%tid.x;\n"             \
    "mul.wide.u32 %%d3, %%r4, 16;\nadd.u64 %%d2, %%d2, %%d3;\ncvt.rn.f32.u32 %%f4, %%r4;\n"        \
    "fma.rn.f32 %%f1, %%f4, %%f3, %%f1;\nmov.u32 %%r10, 0;\nmov.u32 %%r11, 0;\nmov.u32 %%r12, "    \
    "0;\nmov.u32 %%r13, 0;\n%s"                                                                    \
    "st.global.v4.u32 [%%d2], {%%r10, %%r11, %%r12, %%r13};\nret;\n}\n"
#define RESULT "{%r10, %r11, %r12, %r13}"

/* Loads a kernel of the instructions. */
static CUmodule load_kernel(const char *instructions) {
    static char text[4000];
    CUmodule module = NULL;
    snprintf(text, sizeof text, KERNEL, instructions);
    OK(cuModuleLoadData(&module, text));
    return module;
}

static int launch(CUmodule module, unsigned long long object, CUdeviceptr to, unsigned threads,
                  numbers n) {
    CUfunction function = NULL;
    void *args[] = {&object, &to, &n};
    OK(cuModuleGetFunction(&function, module, "k"));
    return cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, args, NULL);
}

/* Executes the instructions, which leave their results in %r10 to %r13. */
static void run(const char *instructions, unsigned long long object, unsigned threads, numbers n,
                uint32_t (*out)[4]) {
    CUmodule module = load_kernel(instructions);
    CUdeviceptr to;
    OK(cuMemAlloc(&to, sizeof(uint32_t[MOST_THREADS][4])));
    OK(launch(module, object, to, threads, n));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(out, to, threads * sizeof *out));
    OK(cuMemFree(to));
    OK(cuModuleUnload(module));
}

/* ---- arrays ---- */

typedef struct shape {
    struct cudaChannelFormatDesc format;
    size_t width, height, depth;
    unsigned flags;
} shape;

#define FLOAT       {32, 0, 0, 0, cudaChannelFormatKindFloat}
#define FLOAT4      {32, 32, 32, 32, cudaChannelFormatKindFloat}
#define SURFACE     cudaArraySurfaceLoadStore
#define CHANNELS(f) (1u + ((f).y != 0) + ((f).z != 0) + ((f).w != 0))

static void copy(cudaArray_t array, const shape *s, void *bytes, bool to_array) {
    const size_t row = s->width * (size_t)s->format.x / 8 * CHANNELS(s->format),
                 height = s->height ? s->height : 1;
    struct cudaMemcpy3DParms p = {0};
    struct cudaPitchedPtr memory = {bytes, row, s->width, height};
    p.extent = (struct cudaExtent){s->width, height, s->depth ? s->depth : 1};
    p.kind = to_array ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    p.srcArray = to_array ? NULL : array;
    p.dstArray = to_array ? array : NULL;
    *(to_array ? &p.srcPtr : &p.dstPtr) = memory;
    OK(cudaMemcpy3D(&p));
}

/* Makes an array of these bytes; NULL: none. */
static cudaArray_t make(const shape *s, void *bytes) {
    cudaArray_t array = NULL;
    OK(cudaMalloc3DArray(&array, &s->format, (struct cudaExtent){s->width, s->height, s->depth},
                         s->flags));
    if (bytes)
        copy(array, s, bytes, true);
    return array;
}

/* Makes an array of floats that are 0, 1, 2, … */
static cudaArray_t make_counted(const shape *s) {
    static float values[MOST_VALUES];
    for (int n = 0; n < MOST_VALUES; n++)
        values[n] = (float)n;
    return make(s, values);
}

static cudaTextureObject_t texture_of(cudaArray_t array, struct cudaTextureDesc desc) {
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    cudaTextureObject_t object = 0;
    resource.res.array.array = array;
    OK(cudaCreateTextureObject(&object, &resource, &desc, NULL));
    return object;
}

static cudaTextureObject_t plain_texture(cudaArray_t array) {
    const struct cudaTextureDesc desc = {.addressMode = {1, 1, 1}};
    return texture_of(array, desc);
}

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    cudaSurfaceObject_t object = 0;
    resource.res.array.array = array;
    OK(cudaCreateSurfaceObject(&object, &resource));
    return object;
}

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void expect_floats(uint32_t (*out)[4], const float *expected, unsigned count) {
    for (unsigned n = 0; n < count; n++)
        if (as_float(out[n][0]) != expected[n]) {
            print_error("thread %u: %.9g instead of %.9g\n", n, (double)as_float(out[n][0]),
                        (double)expected[n]);
            fail();
        }
}

/* ---- textures ---- */

#define OFFSETS "tex.2d.v4.u32.f32 " RESULT ", [%d1, {%f1, %f2}], {%r1, %r2};\n"

typedef struct offset_row {
    int mode, filter, normalized, i, j;
    float expected[MOST_THREADS];
} offset_row;

/* Offsets have four bits: 8 is -8, and 100 is 4. */
static const offset_row offset_rows[] = {
    {0, 0, 0, 7, -8, {4, 6, 7, 9, 11, 12, 14, 15, 15, 15, 15, 15}},
    {0, 0, 0, 8, 0, {16, 16, 16, 16, 16, 16, 16, 17, 19, 20, 22, 24}},
    {0,
     1,
     0,
     1,
     0,
     {19.1875f, 19.1875f, 20.4882812f, 22.1875f, 23.8867188f, 25.5859375f, 27.2890625f, 28.9882812f,
      30.6875f, 32.3867188f, 34.0859375f, 34.1875f}},
    {3, 0, 0, -9, 0, {20, 22, 23, 25, 27, 28, 30, 0, 0, 0, 0, 0}},
    {3,
     1,
     0,
     16,
     1,
     {0, 0, 35.4882812f, 37.1875f, 38.8867188f, 40.5859375f, 42.2890625f, 43.9882812f, 45.6875f,
      47.3867188f, 49.0859375f, 19.9765625f}},
    {0, 0, 1, -3, 2, {88, 89, 91, 93, 95, 80, 82, 84, 86, 88, 89, 91}},
    {0,
     1,
     1,
     1,
     0,
     {56.1992188f, 57.9609375f, 56.21875f, 45.4804688f, 47.2382812f, 49, 50.7617188f, 52.5195312f,
      54.28125f, 56.0390625f, 57.8007812f, 58.6210938f}},
    {1,
     1,
     1,
     100,
     -100,
     {0, 0.4609375f, 2.21875f, 3.98046875f, 5.73828125f, 7.5f, 9.26171875f, 11.0195312f, 12.78125f,
      14.5390625f, 15, 15}},
    {2, 0, 1, 8, 0, {60, 59, 57, 55, 53, 52, 50, 48, 49, 51, 52, 54}},
    {2,
     1,
     1,
     7,
     -8,
     {69.1992188f, 70.9609375f, 72.71875f, 74.4804688f, 76.2382812f, 78, 79.7617188f, 81.5195312f,
      82.5f, 80.9609375f, 79.1992188f, 77.4414062f}},
    {3,
     1,
     1,
     -9,
     0,
     {46.1992188f, 47.9609375f, 49.71875f, 51.4804688f, 53.2382812f, 55, 56.7617188f, 58.5195312f,
      13.03125f, 0, 0, 0}},
};

TEST(offsets_of_samples) {
    const shape s = {FLOAT, 16, 8, 0, 0};
    const cudaArray_t array = make_counted(&s);
    for (size_t n = 0; n < sizeof offset_rows / sizeof *offset_rows; n++) {
        const offset_row *r = &offset_rows[n];
        const enum cudaTextureAddressMode mode = (enum cudaTextureAddressMode)r->mode;
        const struct cudaTextureDesc desc = {.addressMode = {mode, mode, mode},
                                             .filterMode = (enum cudaTextureFilterMode)r->filter,
                                             .normalizedCoords = r->normalized};
        const numbers at = r->normalized ? (numbers){-.3f, .41f, .11f, r->i, r->j, 0}
                                         : (numbers){-2.6f, 1.7f, 1.7f, r->i, r->j, 0};
        const cudaTextureObject_t texture = texture_of(array, desc);
        uint32_t out[MOST_THREADS][4];
        run(OFFSETS, texture, MOST_THREADS, at, out);
        expect_floats(out, r->expected, MOST_THREADS);
        OK(cudaDestroyTextureObject(texture));
    }
    OK(cudaFreeArray(array));
}

TEST(offsets_of_other_geometries) {
    const struct cudaTextureDesc linear = {.addressMode = {1, 1, 1},
                                           .filterMode = cudaFilterModeLinear};
    const shape line = {FLOAT, 16, 0, 0, 0}, cube = {FLOAT, 8, 8, 8, 0};
    const float in_line[] = {3,           3.69921875f, 4.3984375f,  5.1015625f,
                             5.80078125f, 6.5f,        7.19921875f, 7.8984375f,
                             8.6015625f,  9.30078125f, 10,          10.6992188f};
    const float in_cube[] = {51, 52.4023438f, 53.8007812f, 55.1992188f, 56.6054688f, 57,
                             57, 50,          50,          50,          50,          50.4023438f};
    uint32_t out[MOST_THREADS][4];
    cudaArray_t array = make_counted(&line);
    cudaTextureObject_t texture = texture_of(array, linear);
    run("tex.1d.v4.u32.f32 " RESULT ", [%d1, {%f1}], {%r1};\n", texture, MOST_THREADS,
        (numbers){.5f, 0, .7f, 3, 0, 0}, out);
    expect_floats(out, in_line, MOST_THREADS);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));

    array = make_counted(&cube);
    texture = texture_of(array, linear);
    /* The first offset is that of the thread, too. */
    run("add.u32 %r1, %r1, %r4;\n"
        "tex.3d.v4.u32.f32 " RESULT ", [%d1, {%f1, %f2, %f2, %f2}], {%r1, %r2, %r3, %r3};\n",
        texture, MOST_THREADS, (numbers){.5f, 2.75f, .4f, 1, 2, -2}, out);
    expect_floats(out, in_cube, MOST_THREADS);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
}

TEST(offsets_of_fetches) {
    static const struct {
        int x, i, j;
        float expected;
    } rows[] = {{5, 0, 0, 53},  {14, 1, 0, 63}, {5, -3, 2, 82}, {5, 7, -8, 0},
                {14, 8, 0, 54}, {5, -9, 0, 60}, {14, -9, 0, 0}};
    const shape s = {FLOAT, 16, 8, 0, 0};
    const cudaArray_t array = make_counted(&s);
    const cudaTextureObject_t texture = plain_texture(array);
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        uint32_t out[1][4];
        run("tex.2d.v4.u32.s32 " RESULT ", [%d1, {%r1, 3}], {%r2, %r3};\n", texture, 1,
            (numbers){0, 0, 0, rows[n].x, rows[n].i, rows[n].j}, out);
        expect_floats(out, &rows[n].expected, 1);
    }
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
}

/* An offset of a gather has six bits. A number to compare with makes no difference, and what is
 * read has memory. */
TEST(gathers) {
    const shape s = {FLOAT4, 16, 8, 0, cudaArrayTextureGather};
    const cudaArray_t array = make_counted(&s);
    const cudaTextureObject_t texture = plain_texture(array);
    static const struct {
        int i, j;
        float expected[4];
    } rows[] = {{0, 0, {129, 133, 69, 65}},
                {2, -3, {9, 13, 13, 9}},
                {-9, 31, {449, 449, 449, 449}},
                {-40, 8, {509, 509, 509, 509}}};
    uint32_t out[MOST_THREADS][4];
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        run("tld4.g.2d.v4.u32.f32 " RESULT ", [%d1, {%f1, %f2}], {%r1, %r2};\n", texture, 1,
            (numbers){.5f, 2.25f, 0, rows[n].i, rows[n].j, 0}, out);
        for (int c = 0; c < 4; c++)
            assert_float_equal(as_float(out[0][c]), rows[n].expected[c], 0);
    }
    run("tld4.r.2d.v4.u32.f32 " RESULT ", [%d1, {%f1, %f2}], %f3;\n", texture, 1,
        (numbers){.5f, 2.25f, 1.3f, 0, 0, 0}, out);
    assert_float_equal(as_float(out[0][0]), 128, 0);
    run("tex.2d.v4.u32.f32 " RESULT "|%p1, [%d1, {%f1, %f2}];\nselp.b32 %r13, 1, 2, %p1;\n",
        texture, 2, (numbers){.5f, .5f, 1, 0, 0, 0}, out);
    assert_float_equal(as_float(out[1][0]), 4, 0);
    assert_int_equal(out[1][3], 1);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
}

TEST(gathers_of_layers_and_cubes) {
    static const struct {
        int layer;
        float expected[4];
    } layers[] = {{0, {17, 18, 10, 9}},
                  {2, {145, 146, 138, 137}},
                  {4, {209, 210, 202, 201}},
                  {-1, {209, 210, 202, 201}}};
    static const struct {
        float at[3], expected[4];
    } faces[] = {{{.1f, 1, .2f}, {171, 172, 164, 163}},     {{-.9f, -1, .3f}, {216, 216, 208, 208}},
                 {{.3f, .9f, -1}, {322, 323, 323, 322}},    {{-.5f, .2f, 1}, {281, 282, 274, 273}},
                 {{-1.2f, .99f, -.5f}, {73, 74, 66, 65}},   {{1.1f, .2f, .7f}, {24, 25, 17, 16}},
                 {{-.9f, .99f, -.5f}, {144, 144, 136, 136}}};
    const shape s = {FLOAT, 8, 8, 4, cudaArrayLayered}, cube = {FLOAT, 8, 8, 6, cudaArrayCubemap};
    uint32_t out[1][4];
    cudaArray_t array = make_counted(&s);
    cudaTextureObject_t texture = plain_texture(array);
    for (size_t n = 0; n < sizeof layers / sizeof *layers; n++) {
        run("tld4.r.a2d.v4.u32.f32 " RESULT ", [%d1, {%r1, %f1, %f2, %f2}];\n", texture, 1,
            (numbers){2.2f, 2.25f, 0, layers[n].layer, 0, 0}, out);
        for (int c = 0; c < 4; c++)
            assert_float_equal(as_float(out[0][c]), layers[n].expected[c], 0);
    }
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));

    const struct cudaTextureDesc normalized = {.addressMode = {1, 1, 1}, .normalizedCoords = 1};
    array = make_counted(&cube);
    texture = texture_of(array, normalized);
    for (size_t n = 0; n < sizeof faces / sizeof *faces; n++) {
        run("tld4.r.cube.v4.u32.f32 " RESULT ", [%d1, {%f1, %f2, %f3, %f3}];\n", texture, 1,
            (numbers){faces[n].at[0], faces[n].at[1], faces[n].at[2], 0, 0, 0}, out);
        for (int c = 0; c < 4; c++)
            assert_float_equal(as_float(out[0][c]), faces[n].expected[c], 0);
    }
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
}

/* Halves are rounded to nearest, also of integers, whose bits are taken as those of a float. */
TEST(results_of_16_bits) {
    static float values[16] = {
        65519,   65520,    1e9f,           -1e9f,      NAN,   INFINITY, -INFINITY, 1e-7f,
        2.9e-8f, 5.96e-8f, 1.00048828125f, 1.0014648f, 1e-5f, -0.0f,    3e-8f,     .1f};
    static const uint32_t halves[4][2] = {{0x7c007bff, 0xfc007c00},
                                          {0x7c007fff, 0x0002fc00},
                                          {0x00010000, 0x3c023c00},
                                          {0x800000a8, 0x2e660001}};
    const shape s = {FLOAT4, 4, 0, 0, 0},
                whole = {{32, 0, 0, 0, cudaChannelFormatKindUnsigned}, 4, 0, 0, 0};
    uint32_t out[4][4], ones[4] = {0x3f800000, 0x3f800001, 0x3f800002, 0x3f800003};
    cudaArray_t array = make(&s, values);
    cudaTextureObject_t texture = plain_texture(array);
    for (int packed = 0; packed < 2; packed++) {
        run(packed ? "tex.1d.v2.f16x2.f32 {%r10, %r11}, [%d1, {%f1}];\n"
                   : "tex.1d.v4.f16.f32 {%h1, %h2, %h3, %h4}, [%d1, {%f1}];\n"
                     "mov.b32 %r10, {%h1, %h2};\nmov.b32 %r11, {%h3, %h4};\n",
            texture, 4, (numbers){.5f, 0, 1, 0, 0, 0}, out);
        for (int n = 0; n < 4; n++) {
            assert_int_equal(out[n][0], halves[n][0]);
            assert_int_equal(out[n][1], halves[n][1]);
        }
    }
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
    array = make(&whole, ones);
    texture = plain_texture(array);
    run("tex.1d.v4.f16.f32 {%h1, %h2, %h3, %h4}, [%d1, {%f1}];\nmov.b32 %r10, {%h1, %h2};\n",
        texture, 4, (numbers){.5f, 0, 1, 0, 0, 0}, out);
    assert_int_equal(out[3][0], 0x3c00);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
}

TEST(a_fetch_of_a_level) {
    const shape s = {FLOAT, 16, 8, 0, 0};
    const cudaArray_t array = make_counted(&s);
    const cudaTextureObject_t texture = plain_texture(array);
    for (int level = -1; level < 2; level++) {
        const float expected = level ? 0 : 35;
        uint32_t out[1][4];
        run("tex.level.2d.v4.u32.s32 " RESULT ", [%d1, {%r1, %r2}], %r3;\n", texture, 1,
            (numbers){0, 0, 0, 3, 2, level}, out);
        expect_floats(out, &expected, 1);
    }
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
}

/* ---- extents ---- */

TEST(extents) {
    static const struct {
        shape of;
        uint32_t texture[3], surface[3];
    } rows[] = {
        {{FLOAT, 32, 0, 0, SURFACE}, {32, 1, 0}, {32, 0, 0}},
        {{FLOAT4, 32, 8, 0, SURFACE}, {32, 8, 0}, {32, 8, 0}},
        {{FLOAT, 32, 8, 4, SURFACE}, {32, 8, 4}, {32, 8, 4}},
        {{FLOAT, 8, 0, 3, SURFACE | cudaArrayLayered}, {8, 3, 0}, {8, 3, 0}},
        {{FLOAT, 8, 8, 4, SURFACE | cudaArrayLayered}, {8, 8, 4}, {8, 8, 4}},
        {{FLOAT, 8, 8, 6, SURFACE | cudaArrayCubemap}, {8, 8, 0}, {8, 8, 6}},
        {{FLOAT, 8, 8, 12, SURFACE | cudaArrayCubemap | cudaArrayLayered}, {8, 8, 2}, {8, 8, 12}},
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        const cudaArray_t array = make(&rows[n].of, NULL);
        const struct cudaTextureDesc desc = {.addressMode = {1, 1, 1}, .normalizedCoords = 1};
        const cudaTextureObject_t texture = texture_of(array, desc);
        const cudaSurfaceObject_t surface = surface_of(array);
        uint32_t out[1][4];
        run("txq.width.b32 %r10, [%d1];\ntxq.height.b32 %r11, [%d1];\ntxq.depth.b32 %r12, [%d1];\n"
            "txq.level.width.b32 %r13, [%d1], 1;\n",
            texture, 1, (numbers){0}, out);
        assert_memory_equal(out[0], rows[n].texture, sizeof rows[n].texture);
        assert_int_equal(out[0][3], 0);
        run("suq.width.b32 %r10, [%d1];\nsuq.height.b32 %r11, [%d1];\nsuq.depth.b32 %r12, [%d1];\n",
            surface, 1, (numbers){0}, out);
        assert_memory_equal(out[0], rows[n].surface, sizeof rows[n].surface);
        OK(cudaDestroyTextureObject(texture));
        OK(cudaDestroySurfaceObject(surface));
        OK(cudaFreeArray(array));
    }
}

/* ---- surfaces ---- */

/* What is written to a row of eight words, and what is there afterwards. */
typedef struct change {
    const char *instruction;
    int i, k;
    unsigned word;
    uint32_t expected;
} change;

static const change changes[] = {
    {"sust.b.2d.b32.trap [%d1, {%r1, %r2}], {%r3};\n", 16, 7, 4, 7},
    {"sust.b.2d.b32.clamp [%d1, {%r1, %r2}], {%r3};\n", 32, 7, 7, 7},
    {"sust.b.2d.b32.clamp [%d1, {%r1, %r2}], {%r3};\n", -4, 7, 0, 7},
    {"sust.b.2d.b32.zero [%d1, {%r1, %r2}], {%r3};\n", 32, 7, 7, 107},
    {"sust.b.2d.v4.b32.trap [%d1, {%r1, %r2}], {%r3, %r3, %r3, %r3};\n", 16, 7, 7, 7},
    {"cvt.u16.u32 %h1, %r3;\nsust.b.2d.b8.trap [%d1, {%r1, %r2}], {%h1};\n", 9, 7, 2, 0x766},
    {"sured.b.add.2d.u32.clamp [%d1, {%r1, %r2}], %r3;\n", 400, 7, 7, 114},
    {"sured.b.add.2d.u32.zero [%d1, {%r1, %r2}], %r3;\n", 400, 7, 7, 107},
    {"sured.b.min.2d.s32.trap [%d1, {%r1, %r2}], %r3;\n", 8, -3, 2, (uint32_t)-3},
    {"sured.b.max.2d.u32.trap [%d1, {%r1, %r2}], %r3;\n", 8, -3, 2, (uint32_t)-3},
    {"sured.b.and.2d.b32.trap [%d1, {%r1, %r2}], %r3;\n", 8, 6, 2, 6},
    {"sured.b.or.2d.b32.trap [%d1, {%r1, %r2}], %r3;\n", 8, 0xf00, 2, 0xf66},
    {"cvt.s64.s32 %d4, %r3;\nsured.b.add.2d.u64.trap [%d1, {%r1, %r2}], %d4;\n", 8, -3, 2, 99},
    {"cvt.s64.s32 %d4, %r3;\nsured.b.min.2d.s64.trap [%d1, {%r1, %r2}], %d4;\n", 8, -3, 3,
     UINT32_MAX},
    {"sured.p.add.2d.b32.trap [%d1, {%r1, %r2}], %r3;\n", 3, -3, 3, 100},
    {"sured.p.min.2d.b32.trap [%d1, {%r1, %r2}], %r3;\n", 3, -3, 3, 103},
};

TEST(writes_to_surfaces) {
    const shape s = {{32, 0, 0, 0, cudaChannelFormatKindUnsigned}, 8, 2, 0, SURFACE};
    for (size_t n = 0; n < sizeof changes / sizeof *changes; n++) {
        uint32_t words[16], out[1][4];
        for (unsigned i = 0; i < 16; i++)
            words[i] = 100 + i;
        const cudaArray_t array = make(&s, words);
        const cudaSurfaceObject_t surface = surface_of(array);
        run(changes[n].instruction, surface, 1, (numbers){0, 0, 0, changes[n].i, 0, changes[n].k},
            out);
        copy(array, &s, words, false);
        if (words[changes[n].word] != changes[n].expected)
            print_error("%s", changes[n].instruction);
        assert_int_equal(words[changes[n].word], changes[n].expected);
        OK(cudaDestroySurfaceObject(surface));
        OK(cudaFreeArray(array));
    }
}

TEST(reads_of_surfaces) {
    static const struct {
        const char *instruction;
        int i;
        float expected;
    } rows[] = {
        {"suld.b.2d.b32.trap {%r10}, [%d1, {%r1, %r2}];\n", 4, 1},
        {"suld.b.2d.b32.clamp {%r10}, [%d1, {%r1, %r2}];\n", 32, 7},
        {"suld.b.2d.b32.clamp {%r10}, [%d1, {%r1, %r2}];\n", -4, 0},
        {"suld.b.2d.b32.zero {%r10}, [%d1, {%r1, %r2}];\n", 32, 0},
        {"suld.b.2d.v4.b32.trap " RESULT ", [%d1, {%r1, %r2}];\n", 16, 4},
        {"suld.b.2d.v2.b64.trap {%d4, %d5}, [%d1, {%r1, %r2}];\ncvt.u32.u64 %r10, %d5;\n", 16, 6},
        {"suld.b.2d.b16.trap {%h1}, [%d1, {%r1, %r2}];\nmov.b32 %r10, {0, %h1};\n", 14, 3},
        {"suld.b.2d.b8.trap {%h1}, [%d1, {%r1, %r2}];\ncvt.u32.u16 %r10, %h1;\n"
         "shl.b32 %r10, %r10, 24;\n",
         15, 2}};
    const shape s = {FLOAT, 8, 2, 0, SURFACE};
    const cudaArray_t array = make_counted(&s);
    const cudaSurfaceObject_t surface = surface_of(array);
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        uint32_t out[1][4];
        run(rows[n].instruction, surface, 1, (numbers){0, 0, 0, rows[n].i, 0, 0}, out);
        expect_floats(out, &rows[n].expected, 1);
    }
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFreeArray(array));
}

/* sust.p brings integers into the range of the elements, and cuts off halves. */
TEST(writes_that_convert) {
    static const struct {
        struct cudaChannelFormatDesc format;
        const char *instruction;
        unsigned char expected[16];
    } rows[] = {
#define WHOLE  "sust.p.1d.v4.b32.clamp [%d1, {%r1}], {0x12345678, 0x9abcdef0, -3, 200};\n"
#define REAL   "sust.p.1d.v4.b32.trap [%d1, {%r1}], {0f3e99999a, 0fbf333333, 0f3fc00000, 0};\n"
#define LARGE  "sust.p.1d.v4.b32.trap [%d1, {%r1}], {0f43960000, 0fc3960000, 0f4788b800, 0};\n"
#define PAIR   "sust.p.1d.v2.b32.trap [%d1, {%r1}], {0f3e99999a, 0fbf333333};\n"
#define SINGLE "sust.p.1d.b32.zero [%d1, {%r1}], {0f3e99999a};\n"
        {{8, 8, 8, 8, cudaChannelFormatKindUnsigned}, WHOLE, {255, 255, 255, 200}},
        {{8, 8, 8, 8, cudaChannelFormatKindSigned}, WHOLE, {0x7f, 0x80, 0xfd, 0x7f}},
        {{16, 16, 0, 0, cudaChannelFormatKindUnsigned}, SINGLE, {255, 255, 0, 0}},
        {{16, 16, 0, 0, cudaChannelFormatKindSigned}, PAIR, {0xff, 0x7f, 0, 0x80}},
        {{16, 16, 16, 16, cudaChannelFormatKindFloat}, REAL, {0xcc, 0x34, 0x99, 0xb9, 0, 0x3e}},
        {{16, 16, 16, 16, cudaChannelFormatKindFloat}, LARGE, {0xb0, 0x5c, 0xb0, 0xdc, 0xff, 0x7b}},
        {{16, 16, 16, 16, cudaChannelFormatKindFloat}, WHOLE, {0, 0, 0, 0x80, 0xff, 0xff}},
        {FLOAT, REAL, {0x9a, 0x99, 0x99, 0x3e}},
        {{32, 32, 0, 0, cudaChannelFormatKindSigned}, SINGLE, {0x9a, 0x99, 0x99, 0x3e}},
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        const shape s = {rows[n].format, 4, 0, 0, SURFACE};
        const size_t element = (size_t)s.format.x / 8 * CHANNELS(s.format);
        unsigned char bytes[64] = {0};
        uint32_t out[1][4];
        const cudaArray_t array = make(&s, bytes);
        const cudaSurfaceObject_t surface = surface_of(array);
        run(rows[n].instruction, surface, 1, (numbers){0, 0, 0, 1, 0, 0}, out);
        copy(array, &s, bytes, false);
        assert_memory_equal(bytes + element, rows[n].expected, element);
        OK(cudaDestroySurfaceObject(surface));
        OK(cudaFreeArray(array));
    }
}

/* ---- faults ---- */

static void fault(const char *instruction, bool is_surface, unsigned long long other, int i,
                  int code) {
    const shape s = {FLOAT, 8, 2, 0, SURFACE};
    const cudaArray_t array = make_counted(&s);
    const unsigned long long object = is_surface ? surface_of(array) : plain_texture(array);
    CUdeviceptr to;
    OK(cuMemAlloc(&to, 64));
    OK(launch(load_kernel(instruction), other ? other : object, to, 1,
              (numbers){0, 0, 0, i, 0, 7}));
    SAYS((CUresult)code, cuCtxSynchronize());
    acu_sim_reset(MACHINE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

TEST(faults_of_surfaces) {
    static const int outside[] = {32, -4, 34}, between[] = {2, 30};
    static const char *const traps[] = {"suld.b.2d.b32.trap {%r10}, [%d1, {%r1, %r2}];\n",
                                        "sust.b.2d.b32.trap [%d1, {%r1, %r2}], {%r3};\n",
                                        "sured.b.add.2d.u32.trap [%d1, {%r1, %r2}], %r3;\n"};
    for (int n = 0; n < 3; n++)
        fault(traps[n], true, 0, outside[n], CUDA_ERROR_ILLEGAL_ADDRESS);
    for (int n = 0; n < 2; n++)
        fault(traps[n], true, 0, between[n], CUDA_ERROR_MISALIGNED_ADDRESS);
    fault("suld.b.2d.b32.clamp {%r10}, [%d1, {%r1, %r2}];\n", true, 0, 2,
          CUDA_ERROR_MISALIGNED_ADDRESS);
    fault("sust.b.2d.v4.b32.zero [%d1, {%r1, %r2}], {%r3, %r3, %r3, %r3};\n", true, 0, -4,
          CUDA_ERROR_MISALIGNED_ADDRESS);
    fault("suld.b.2d.v4.b32.trap " RESULT ", [%d1, {%r1, %r2}];\n", true, 0, -4,
          CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* A GPU reads zeros with some handles that are none; the simulator always says so. */
TEST(handles_that_are_none) {
    fault("tex.2d.v4.u32.f32 " RESULT ", [%d1, {%f1, %f2}];\n", false, 12345, 0,
          CUDA_ERROR_ILLEGAL_ADDRESS);
    fault("suld.b.2d.b32.zero {%r10}, [%d1, {%r1, %r2}];\n", true, ~0ull, 0,
          CUDA_ERROR_ILLEGAL_ADDRESS);
    fault("suld.b.2d.b32.zero {%r10}, [%d1, {%r1, %r2}];\n", false, 0, 0,
          CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- what is not simulated ---- */

static void refused(const char *text, const char *reason) {
    CUmodule module = NULL;
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuModuleLoadData(&module, text));
    expect_reason(reason);
}

TEST(what_is_refused) {
    static char text[4000];
    refused(".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .texref t) {\n"
            ".reg .f32 %f<5>;\ntex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f1}];\nret;\n}\n",
            "no references that are parameters, such as t");
    snprintf(text, sizeof text, KERNEL, "txq.filter_mode.b32 %r10, [%d1];\n");
    refused(text, "'txq.filter_mode.b32', nor does CUDA");
    snprintf(text, sizeof text, KERNEL, "tex.2d.v4.u32.f32 " RESULT ", [%d1, %d2, {%f1, %f2}];\n");
    refused(text, "with a sampler of its own");
    snprintf(text, sizeof text, KERNEL,
             "tex.2dms.v4.u32.s32 " RESULT ", [%d1, {%r1, %r2, %r3, %r3}];\n");
    refused(text, "tex.2dms");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(offsets_of_samples),          C(offsets_of_other_geometries),
        C(offsets_of_fetches),          C(gathers),
        C(gathers_of_layers_and_cubes), C(results_of_16_bits),
        C(a_fetch_of_a_level),          C(extents),
        C(writes_to_surfaces),          C(reads_of_surfaces),
        C(writes_that_convert),         C(faults_of_surfaces),
        C(handles_that_are_none),       C(what_is_refused),
    };
    return RUN(tests);
}
