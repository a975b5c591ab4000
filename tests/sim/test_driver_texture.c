/* The driver's texture and surface objects, compared with what an H200 answered (driver 580). */
#include "driver_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WIDE = 4, FORMATS = 8 };

static const CUarray_format formats[FORMATS] = {
    CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32,
    CU_AD_FORMAT_SIGNED_INT8,   CU_AD_FORMAT_SIGNED_INT16,   CU_AD_FORMAT_SIGNED_INT32,
    CU_AD_FORMAT_HALF,          CU_AD_FORMAT_FLOAT};
static const size_t sizes[FORMATS] = {1, 2, 4, 1, 2, 4, 2, 4};

/* FNV-1a of all samples that are taken of arrays of a format with 1, 2 and 4 channels. */
static const uint32_t answers[FORMATS][3] = {
    {0xdb33c825, 0xf00a954b, 0x9b0fc97f}, {0x538738e6, 0x518f5c62, 0x4daa5be5},
    {0x9c1e29e5, 0xe4cbe48d, 0x0d43ca95}, {0xb7a5d643, 0xa5e36e98, 0x9ba08279},
    {0xc9323af7, 0xb30c3d08, 0xb7e5d30f}, {0x9c1e29e5, 0xe4cbe48d, 0x0d43ca95},
    {0x2e0c2445, 0x1cc6a445, 0xb4706445}, {0x82edad05, 0x03ebb7b5, 0x9e66f931},
};

static CUarray array_of(int format, unsigned channels) {
    unsigned char bytes[WIDE * 16 * WIDE];
    const CUDA_ARRAY_DESCRIPTOR d = {WIDE, WIDE, formats[format], channels};
    const size_t row = WIDE * sizes[format] * channels;
    CUarray array;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((i * 37 + 11) & 0x7b);
    OK(cuArrayCreate(&array, &d));
    OK(cuMemcpy2D(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                                   .srcHost = bytes,
                                   .srcPitch = row,
                                   .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                   .dstArray = array,
                                   .WidthInBytes = row,
                                   .Height = WIDE}));
    return array;
}

/* Loads a kernel that writes one sample, of integers or of floats. */
static CUfunction reader(const char *type, CUmodule *module) {
    char text[800];
    CUfunction function;
    snprintf(text, sizeof text,
             ".version 7.0\n.target sm_80\n.address_size 64\n"
             ".entry k(.param .u64 p, .param .u64 t) {\n.reg .b32 %%r<5>;\n.reg .b64 %%d<3>;\n"
             ".reg .f32 %%f<3>;\nld.param.u64 %%d1, [p];\nld.param.u64 %%d2, [t];\n"
             "mov.f32 %%f1, 0f3FE00000;\nmov.f32 %%f2, 0f3F000000;\n"
             "tex.2d.v4.%s.f32 {%%r1, %%r2, %%r3, %%r4}, [%%d2, {%%f1, %%f2}];\n"
             "st.global.v4.b32 [%%d1], {%%r1, %%r2, %%r3, %%r4};\nret;\n}\n",
             type);
    OK(cuModuleLoadData(module, text));
    OK(cuModuleGetFunction(&function, *module, "k"));
    return function;
}

static CUtexObject texture_of(CUarray array, unsigned flags, CUfilter_mode filter) {
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                         .res.array.hArray = array};
    const CUDA_TEXTURE_DESC texture = {.flags = flags, .filterMode = filter};
    CUDA_TEXTURE_DESC got;
    CUtexObject object;
    OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
    OK(cuTexObjectGetTextureDesc(&got, object));
    assert_int_equal(got.flags, flags);
    assert_int_equal(got.filterMode, filter);
    return object;
}

static uint32_t hash_of_sample(uint32_t hash, CUfunction kernel, CUtexObject texture) {
    uint32_t sample[4];
    CUdeviceptr to;
    OK(cuMemAlloc(&to, sizeof sample));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&to, &texture}, NULL));
    OK(cuMemcpyDtoH(sample, to, sizeof sample));
    OK(cuMemFree(to));
    for (int i = 0; i < 4; i++)
        hash = (hash ^ sample[i]) * 16777619u;
    return hash;
}

/* All formats as integers and not, with coordinates of both kinds; floats filtered, too. */
TEST(samples_are_a_gpus) {
    CUmodule modules[2];
    const CUfunction integers = reader("u32", &modules[0]), floats = reader("f32", &modules[1]);
    for (int f = 0; f < FORMATS; f++)
        for (unsigned c = 0; c < 3; c++) {
            const CUarray array = array_of(f, 1u << c);
            uint32_t hash = 2166136261u;
            for (unsigned flags = 0; flags < 4; flags++) {
                const bool reads = f < 6 && (flags & CU_TRSF_READ_AS_INTEGER || f % 3 == 2);
                for (int filter = 0; filter < (reads ? 1 : 2); filter++) {
                    const CUtexObject t = texture_of(array, flags, (CUfilter_mode)filter);
                    hash = hash_of_sample(hash, reads ? integers : floats, t);
                    OK(cuTexObjectDestroy(t));
                }
            }
            assert_int_equal(hash, answers[f][c]);
            OK(cuArrayDestroy(array));
        }
    for (int i = 0; i < 2; i++)
        OK(cuModuleUnload(modules[i]));
}

static CUresult with_flags(CUarray array, unsigned flags, CUfilter_mode filter) {
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                         .res.array.hArray = array};
    const CUDA_TEXTURE_DESC texture = {.flags = flags, .filterMode = filter};
    CUtexObject object = 0;
    const CUresult result = cuTexObjectCreate(&object, &resource, &texture, NULL);
    if (!result)
        OK(cuTexObjectDestroy(object));
    return result;
}

TEST(flags) {
    const CUarray floats = array_of(7, 1), bytes = array_of(0, 1);
    OK(with_flags(floats, CU_TRSF_SRGB, CU_TR_FILTER_MODE_POINT));
    OK(with_flags(floats, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION, CU_TR_FILTER_MODE_POINT));
    OK(with_flags(floats, 8, CU_TR_FILTER_MODE_POINT)); /* it has no name, and means nothing */
    SAYS(CUDA_ERROR_INVALID_VALUE, with_flags(floats, 0x80, CU_TR_FILTER_MODE_POINT));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         with_flags(floats, CU_TRSF_SEAMLESS_CUBEMAP, CU_TR_FILTER_MODE_POINT));
    SAYS(CUDA_ERROR_INVALID_VALUE, with_flags(floats, 0, (CUfilter_mode)5));
    OK(with_flags(bytes, CU_TRSF_READ_AS_INTEGER, CU_TR_FILTER_MODE_LINEAR));
    OK(cuArrayDestroy(floats));
    OK(cuArrayDestroy(bytes));
}

/* What an H200 gives between integers: at -1 + (25 + 9 n) / 16 of eight elements. */
TEST(integers_that_are_filtered) {
    enum { PLACES = 15, ELEMENTS = 8 };
    static const char text[] =
        PTX_HEAD ".visible .entry k(.param .u64 t, .param .u64 to) {\n"
                 ".reg .b64 %d<5>; .reg .b32 %r<6>; .reg .f32 %f<3>;\n"
                 "ld.param.u64 %d1, [t]; ld.param.u64 %d2, [to]; mov.u32 %r1, %tid.x;\n"
                 "mad.lo.u32 %r2, %r1, 9, 25; cvt.rn.f32.u32 %f1, %r2;\n"
                 "fma.rn.f32 %f2, %f1, 0f3D800000, 0fBF800000;\n" /* 1/16, -1 */
                 "tex.1d.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%d1, {%f2}];\n"
                 "mul.wide.u32 %d3, %r1, 4; add.u64 %d4, %d2, %d3;\n"
                 "st.global.u32 [%d4], %r2; ret; }";
    static const unsigned values[3][ELEMENTS] = {
        {0, 255, 1, 2, 128, 127, 3, 200},
        {0, 65535, 1, 2, 32768, 32767, 3, 1000},
        {0, 0xffffffff, 1, 2, 0x80000000, 0x7fffffff, 0x3f800000, 1000}};
    static const struct {
        CUarray_format format;
        unsigned size, expected[PLACES];
    } rows[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8,
         1,
         {0x10, 0x9f, 0xcf, 0x41, 0x1, 0x2, 0x39, 0x80, 0x7f, 0x70, 0x2a, 0x34, 0xa3, 0xc8, 0xc8}},
        {CU_AD_FORMAT_SIGNED_INT8,
         1,
         {0x0, 0xffffffff, 0xffffffff, 0x1, 0x1, 0x2, 0xffffffc9, 0xffffff80, 0xf, 0x70, 0x2a,
          0xfffffff4, 0xffffffd3, 0xffffffc8, 0xffffffc8}},
        {CU_AD_FORMAT_UNSIGNED_INT16,
         2,
         {0x1000, 0x9fff, 0xcfff, 0x4001, 0x1, 0x2, 0x3801, 0x8000, 0x7fff, 0x7000, 0x2802, 0xfc,
          0x32d, 0x3e8, 0x3e8}},
        {CU_AD_FORMAT_SIGNED_INT16,
         2,
         {0x0, 0xffffffff, 0xffffffff, 0x1, 0x1, 0x2, 0xffffc801, 0xffff8000, 0xfff, 0x7000, 0x2802,
          0xfc, 0x32d, 0x3e8, 0x3e8}},
        {CU_AD_FORMAT_UNSIGNED_INT32,
         4,
         {0xfffffff, 0x9fffffff, 0xcfffffff, 0x40000000, 0x1, 0x1, 0x38000001, 0x80000000,
          0x7fffffff, 0x77efffff, 0x53a7ffff, 0x2fa000fa, 0xbe8032c, 0x3e8, 0x3e8}},
        {CU_AD_FORMAT_SIGNED_INT32,
         4,
         {0xffffffff, 0xffffffff, 0xffffffff, 0x0, 0x1, 0x1, 0xc8000001, 0x80000000, 0xfffffff,
          0x77efffff, 0x53a7ffff, 0x2fa000fa, 0xbe8032c, 0x3e8, 0x3e8}},
    };
    CUmodule module;
    CUfunction k;
    CUdeviceptr to;
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&k, module, "k"));
    OK(cuMemAlloc(&to, PLACES * sizeof(unsigned)));
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const CUDA_ARRAY_DESCRIPTOR shape = {
            .Width = ELEMENTS, .Format = rows[row].format, .NumChannels = 1};
        unsigned char bytes[ELEMENTS * 4];
        unsigned got[PLACES];
        CUarray array;
        OK(cuArrayCreate(&array, &shape));
        for (unsigned n = 0; n < ELEMENTS; n++)
            memcpy(bytes + n * rows[row].size, &values[rows[row].size / 2][n], rows[row].size);
        OK(cuMemcpyHtoA(array, 0, bytes, ELEMENTS * rows[row].size));
        CUtexObject t = texture_of(array, CU_TRSF_READ_AS_INTEGER, CU_TR_FILTER_MODE_LINEAR);
        void *args[] = {&t, &to};
        OK(cuLaunchKernel(k, 1, 1, 1, PLACES, 1, 1, 0, NULL, args, NULL));
        OK(cuMemcpyDtoH(got, to, sizeof got));
        assert_memory_equal(got, rows[row].expected, sizeof got);
        OK(cuTexObjectDestroy(t));
        OK(cuArrayDestroy(array));
    }
    OK(cuMemFree(to));
    OK(cuModuleUnload(module));
}

static CUtexObject texture_with(const CUDA_RESOURCE_DESC *resource, CUresult expected) {
    const CUDA_TEXTURE_DESC texture = {.maxAnisotropy = 99};
    CUtexObject object = 0;
    SAYS(expected, cuTexObjectCreate(&object, resource, &texture, NULL));
    return object;
}

TEST(resources_come_back) {
    const CUDA_ARRAY3D_DESCRIPTOR levels = {
        .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY}, got;
    CUDA_RESOURCE_VIEW_DESC view;
    CUDA_TEXTURE_DESC texture;
    CUmipmappedArray mipmap;
    CUdeviceptr at;
    OK(cuMipmappedArrayCreate(&mipmap, &levels, 3));
    OK(cuMemAlloc(&at, 4096));
    resource.res.mipmap.hMipmappedArray = mipmap;
    CUtexObject object = texture_with(&resource, CUDA_SUCCESS);
    OK(cuTexObjectGetResourceDesc(&got, object));
    assert_memory_equal(&got, &resource, sizeof got);
    OK(cuTexObjectGetResourceViewDesc(&view, object));
    assert_int_equal(view.format, CU_RES_VIEW_FORMAT_NONE);
    OK(cuTexObjectDestroy(object));
    resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR,
                                    .res.linear = {at, CU_AD_FORMAT_HALF, 2, 4096}};
    object = texture_with(&resource, CUDA_SUCCESS);
    OK(cuTexObjectGetResourceDesc(&got, object));
    assert_memory_equal(&got, &resource, sizeof got);
    OK(cuTexObjectDestroy(object));
    resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D,
                                    .res.pitch2D = {at, CU_AD_FORMAT_UNSIGNED_INT8, 4, .width = 8,
                                                    .height = 8, .pitchInBytes = 64}};
    object = texture_with(&resource, CUDA_SUCCESS);
    OK(cuTexObjectGetResourceDesc(&got, object));
    assert_memory_equal(&got, &resource, sizeof got);
    OK(cuTexObjectGetTextureDesc(&texture, object));
    assert_int_equal(texture.maxAnisotropy, 99);
    OK(cuTexObjectDestroy(object));
    OK(cuMipmappedArrayDestroy(mipmap));
    OK(cuMemFree(at));
}

TEST(wrong_resources) {
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY}, got;
    const CUDA_TEXTURE_DESC texture = {.flags = 0};
    CUtexObject object;
    CUdeviceptr at;
    OK(cuMemAlloc(&at, 4096));
    texture_with(&resource, CUDA_ERROR_INVALID_VALUE);
    resource.resType = (CUresourcetype)9;
    texture_with(&resource, CUDA_ERROR_INVALID_VALUE);
    resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR,
                                    .res.linear = {at, CU_AD_FORMAT_FLOAT, 3, 4096}};
    texture_with(&resource, CUDA_ERROR_INVALID_VALUE);
    resource.res.linear.numChannels = 1;
    resource.flags = 1;
    texture_with(&resource, CUDA_ERROR_INVALID_VALUE);
    resource.flags = 0;
    resource.res.linear.devPtr = at + 16;
    texture_with(&resource, CUDA_ERROR_INVALID_VALUE);
    resource.res.linear.devPtr = at;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(NULL, &resource, &texture, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&object, NULL, &texture, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&object, &resource, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceDesc(&got, 12345));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&object, &resource));
    OK(cuTexObjectDestroy(12345));
    OK(cuMemFree(at));
}

TEST(surfaces) {
    const CUarray array = array_of(7, 1);
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                         .res.array.hArray = array};
    CUDA_RESOURCE_DESC got;
    CUsurfObject surface;
    OK(cuSurfObjectCreate(&surface, &resource));
    OK(cuSurfObjectGetResourceDesc(&got, surface));
    assert_memory_equal(&got, &resource, sizeof got);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectGetResourceDesc(NULL, surface));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(NULL, &resource));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&surface, NULL));
    OK(cuSurfObjectDestroy(surface));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectGetResourceDesc(&got, surface));
    OK(cuArrayDestroy(array));
}

/* Another context's objects are not found, and nothing happens to them. */
TEST(objects_of_another_context) {
    const CUarray array = array_of(7, 1);
    const CUtexObject object = texture_of(array, 0, CU_TR_FILTER_MODE_POINT);
    CUDA_RESOURCE_DESC got;
    CUcontext other;
    OK(cuCtxCreate(&other, NULL, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceDesc(&got, object));
    OK(cuTexObjectDestroy(object));
    OK(cuCtxDestroy(other));
    OK(cuTexObjectGetResourceDesc(&got, object));
    OK(cuTexObjectDestroy(object));
    OK(cuArrayDestroy(array));
}

TEST(widths_of_linear_memory) {
    static const size_t most[] = {1u << 30, 1u << 29, 1u << 28}; /* of 4, 8 and 16 bytes */
    size_t width;
    for (int f = 0; f < FORMATS; f++)
        for (unsigned c = 0; c < 3; c++) {
            const size_t bytes = sizes[f] << c;
            OK(cuDeviceGetTexture1DLinearMaxWidth(&width, formats[f], 1u << c, 0));
            assert_int_equal(width, most[bytes > 8 ? 2 : bytes > 4 ? 1 : 0]);
        }
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth(&width, formats[0], 3, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth(NULL, formats[0], 1, 0));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetTexture1DLinearMaxWidth(&width, formats[0], 1, 99));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(integers_that_are_filtered), C(samples_are_a_gpus),      C(flags),
        C(resources_come_back),        C(wrong_resources),         C(surfaces),
        C(objects_of_another_context), C(widths_of_linear_memory),
    };
    return RUN(tests);
}
