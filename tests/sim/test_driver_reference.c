/* Texture and surface references: handles, errors, and which binding a launch has. What kernels
 * read is compared with a GPU by tests/ptx/reference_forms.c. */
#include "ptx_test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    HEAD ".global .texref t; .global .surfref u;\n"
         ".entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .f32 %f<3>; .reg .b64 %d<3>;\n"
         "ld.param.u64 %d1, [p];\nmov.f32 %f1, 0f3f800000;\n"
         "tex.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [t, {%f1, %f1}];\n"
         "mov.u32 %r5, 4;\nsuld.b.2d.b32.zero %r6, [u, {%r5, %r5}];\n"
         "st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], %r6;\nret;\n}\n";

/* Returns an array of 4 by 8 words, all of which are the value. */
static CUarray array_of(uint32_t value) {
    const CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 4,
                                       .Height = 8,
                                       .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                       .NumChannels = 1,
                                       .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    uint32_t words[32];
    for (int n = 0; n < 32; n++)
        words[n] = value;
    CUarray array = NULL;
    OK(cuArray3DCreate(&array, &d));
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = words,
                                .srcPitch = 16,
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = array,
                                .WidthInBytes = 16,
                                .Height = 8};
    OK(cuMemcpy2D(&copy));
    return array;
}

static void wait_for(void *go) {
    while (!atomic_load((atomic_bool *)go)) {
    }
}

/* A launch has what was bound when it was made, also where it runs later; and so has a graph's. */
TEST(a_launch_keeps_what_was_bound) {
    CUmodule module = load_text(text);
    CUtexref t = NULL;
    CUsurfref u = NULL;
    CUstream stream;
    CUdeviceptr at;
    void *args[] = {&at};
    CUfunction function;
    uint32_t read[2] = {9, 9};
    atomic_bool go = false;
    CUarray first = array_of(11), second = array_of(22);
    OK(cuModuleGetTexRef(&t, module, "t"));
    OK(cuModuleGetSurfRef(&u, module, "u"));
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuMemAlloc(&at, sizeof read));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuTexRefSetArray(t, first, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuSurfRefSetArray(u, first, 0));
    OK(cuLaunchHostFunc(stream, wait_for, &go));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    OK(cuTexRefSetArray(t, second, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuSurfRefSetArray(u, second, 0));
    atomic_store(&go, true);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(read, at, sizeof read));
    assert_int_equal(read[0], 11);
    assert_int_equal(read[1], 11);
    OK(launch(module, "k", 1, 1, args));
    OK(cuMemcpyDtoH(read, at, sizeof read));
    assert_int_equal(read[0], 22);
    assert_int_equal(read[1], 22);
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(at));
    OK(cuArrayDestroy(first));
    OK(cuArrayDestroy(second));
    OK(cuModuleUnload(module));
}

TEST(handles_that_are_none) {
    CUmodule module = load_text(text);
    CUtexref t = NULL;
    CUsurfref u = NULL;
    CUarray array = NULL;
    unsigned flags = 0;
    OK(cuModuleGetTexRef(&t, module, "t"));
    OK(cuModuleGetSurfRef(&u, module, "u"));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuTexRefSetFlags((CUtexref)(void *)u, 0));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuTexRefSetFlags(NULL, 0));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuSurfRefGetArray(&array, (CUsurfref)(void *)t));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuSurfRefSetArray(u, NULL, 0));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuTexRefSetArray(t, NULL, 0));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuTexRefSetMipmappedArray(t, NULL, 0));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetTexRef(&t, NULL, "t"));
    OK(cuModuleUnload(module));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuTexRefGetFlags(&flags, t));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuSurfRefGetArray(&array, u));
}

TEST(arguments_that_are_missing) {
    CUmodule module = load_text(text);
    CUtexref t = NULL;
    CUsurfref u = NULL;
    float two[2];
    OK(cuModuleGetTexRef(&t, module, "t"));
    OK(cuModuleGetSurfRef(&u, module, "u"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetTexRef(NULL, module, "t"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetSurfRef(&u, module, NULL));
    SAYS(CUDA_ERROR_NOT_FOUND, cuModuleGetSurfRef(&u, module, "t"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetAddress(NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetArray(NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetMipmappedArray(NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetAddressMode(NULL, t, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetFilterMode(NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetMipmapFilterMode(NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetMipmapLevelBias(NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetMipmapLevelClamp(two, NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetMaxAnisotropy(NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetBorderColor(NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefSetBorderColor(t, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetFlags(NULL, t));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddress2D(t, NULL, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuTexRefSetMipmapFilterMode(t, (CUfilter_mode)2));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuSurfRefGetArray(NULL, u));
    OK(cuTexRefGetFormat(NULL, NULL, t));
    OK(cuModuleUnload(module));
}

/* Numbers that are set are got again. */
TEST(numbers_of_a_reference) {
    CUmodule module = load_text(text);
    CUtexref t = NULL;
    float bias = 0, least = 0, most = 0, color[4] = {0.25f, 0.5f, 0.75f, 1}, got[4] = {0};
    int anisotropy = 0, channels = 0;
    unsigned flags = 0;
    CUaddress_mode mode;
    CUfilter_mode filter, between;
    CUarray_format format;
    OK(cuModuleGetTexRef(&t, module, "t"));
    OK(cuTexRefSetMipmapLevelBias(t, 1.5f));
    OK(cuTexRefGetMipmapLevelBias(&bias, t));
    OK(cuTexRefSetMipmapLevelClamp(t, 0.5f, 2));
    OK(cuTexRefGetMipmapLevelClamp(&least, &most, t));
    OK(cuTexRefSetBorderColor(t, color));
    OK(cuTexRefGetBorderColor(got, t));
    OK(cuTexRefSetMaxAnisotropy(t, 7));
    OK(cuTexRefGetMaxAnisotropy(&anisotropy, t));
    OK(cuTexRefSetFlags(t, CU_TRSF_NORMALIZED_COORDINATES));
    OK(cuTexRefGetFlags(&flags, t));
    OK(cuTexRefSetAddressMode(t, 1, CU_TR_ADDRESS_MODE_MIRROR));
    OK(cuTexRefGetAddressMode(&mode, t, 1));
    OK(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR));
    OK(cuTexRefGetFilterMode(&filter, t));
    OK(cuTexRefSetMipmapFilterMode(t, CU_TR_FILTER_MODE_LINEAR));
    OK(cuTexRefGetMipmapFilterMode(&between, t));
    OK(cuTexRefSetFormat(t, CU_AD_FORMAT_HALF, 2));
    OK(cuTexRefGetFormat(&format, &channels, t));
    assert_true(bias == 1.5f && least == 0.5f && most == 2);
    assert_memory_equal(got, color, sizeof got);
    assert_int_equal(anisotropy, 7);
    assert_int_equal(flags, CU_TRSF_NORMALIZED_COORDINATES);
    assert_int_equal(mode, CU_TR_ADDRESS_MODE_MIRROR);
    assert_int_equal(filter, CU_TR_FILTER_MODE_LINEAR);
    assert_int_equal(between, CU_TR_FILTER_MODE_LINEAR);
    assert_int_equal(format, CU_AD_FORMAT_HALF);
    assert_int_equal(channels, 2);
    OK(cuModuleUnload(module));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(a_launch_keeps_what_was_bound),
        C(handles_that_are_none),
        C(arguments_that_are_missing),
        C(numbers_of_a_reference),
    };
    return RUN(tests);
}
