/* The driver's copies of boxes, to and from arrays, and between devices. */
#include "driver_test.h"

enum { W = 12, H = 6, D = 3 };

static void count(unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i + 1);
}

/* ---- boxes ---- */

TEST(rows_there_and_back) {
    unsigned char in[H][W], out[H][W] = {{0}};
    CUdeviceptr at;
    size_t pitch;
    count(in[0], sizeof in);
    OK(cuMemAllocPitch(&at, &pitch, W, H, 4));
    CUDA_MEMCPY2D to = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .srcPitch = W,
                        .srcXInBytes = 2,
                        .srcY = 1,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = at,
                        .dstPitch = pitch,
                        .dstXInBytes = 1,
                        .dstY = 2,
                        .WidthInBytes = 5,
                        .Height = 3};
    CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .srcDevice = at,
                          .srcPitch = pitch,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = W,
                          .WidthInBytes = W,
                          .Height = H};
    OK(cuMemsetD2D8(at, pitch, 0xee, W, H));
    OK(cuMemcpy2D(&to));
    OK(cuMemcpy2DAsync(&back, NULL));
    OK(cuCtxSynchronize());
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int copied = x >= 1 && x < 6 && y >= 2 && y < 5;
            assert_int_equal(out[y][x], copied ? in[y - 1][x + 1] : 0xee);
        }
    OK(cuMemcpy2DUnaligned(&back));
    OK(cuMemFree(at));
}

TEST(one_row_needs_no_pitch) {
    unsigned char in[W], out[W] = {0};
    CUdeviceptr at;
    count(in, sizeof in);
    OK(cuMemAlloc(&at, W));
    OK(cuMemcpy2D(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                                   .srcHost = in,
                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .dstDevice = at,
                                   .WidthInBytes = W,
                                   .Height = 1}));
    OK(cuMemcpyDtoH(out, at, W));
    assert_memory_equal(in, out, W);
    OK(cuMemFree(at));
}

TEST(rows_that_are_wrong) {
    unsigned char host[H][W];
    CUdeviceptr at;
    OK(cuMemAlloc(&at, sizeof host));
    const CUDA_MEMCPY2D good = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = at,
                                .srcPitch = W,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = host,
                                .dstPitch = W,
                                .WidthInBytes = W,
                                .Height = H};
    CUDA_MEMCPY2D bad = good;
    OK(cuMemcpy2D(&good));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(NULL));
    bad.srcPitch = W - 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&bad));
    bad = good;
    bad.dstXInBytes = 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&bad));
    bad = good;
    bad.Height = H + 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&bad));
    bad = good;
    bad.srcMemoryType = (CUmemorytype)9;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&bad));
    bad = good;
    bad.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuMemcpy2D(&bad));
    bad = good;
    bad.WidthInBytes = 0;
    OK(cuMemcpy2D(&bad));
    OK(cuCtxSetCurrent(NULL));
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemcpy2D(&good));
    OK(cuCtxSetCurrent(context));
    OK(cuMemFree(at));
}

TEST(boxes_there_and_back) {
    unsigned char in[D][H][W], out[D][H][W] = {{{0}}};
    CUdeviceptr at;
    count(in[0][0], sizeof in);
    OK(cuMemAlloc(&at, sizeof in));
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = in,
                          .srcPitch = W,
                          .srcHeight = H,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = at,
                          .dstPitch = W,
                          .dstHeight = H,
                          .WidthInBytes = W,
                          .Height = H,
                          .Depth = D};
    OK(cuMemcpy3D(&copy));
    OK(cuMemcpyDtoH(out, at, sizeof out));
    assert_memory_equal(in, out, sizeof in);
    copy.dstZ = 2;
    copy.srcZ = 1;
    copy.srcY = copy.dstY = 1;
    copy.Height = 2;
    copy.Depth = 1;
    OK(cuMemcpy3DAsync(&copy, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(out, at, sizeof out));
    assert_memory_equal(out[2][1], in[1][1], 2 * sizeof in[0][0]);
    assert_memory_equal(out[2][3], in[2][3], 3 * sizeof in[0][0]);
    copy.srcLOD = 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
    copy.srcLOD = 0;
    copy.Depth = 2;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(NULL));
    OK(cuMemFree(at));
}

/* ---- arrays ---- */

TEST(what_an_array_is) {
    CUarray array = NULL;
    CUDA_ARRAY_DESCRIPTOR d = {7, 5, CU_AD_FORMAT_SIGNED_INT16, 2};
    CUDA_ARRAY3D_DESCRIPTOR d3 = {7, 5, 3, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_SURFACE_LDST};
    OK(cuArrayCreate(&array, &d));
    memset(&d, 0, sizeof d);
    OK(cuArrayGetDescriptor(&d, array));
    assert_true(d.Width == 7 && d.Height == 5 && d.Format == CU_AD_FORMAT_SIGNED_INT16);
    assert_int_equal(d.NumChannels, 2);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayGetDescriptor(NULL, array));
    OK(cuArrayDestroy(array));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuArrayGetDescriptor(&d, array));
    OK(cuArray3DCreate(&array, &d3));
    memset(&d3, 0, sizeof d3);
    OK(cuArray3DGetDescriptor(&d3, array));
    assert_true(d3.Depth == 3 && d3.Format == CU_AD_FORMAT_FLOAT && d3.NumChannels == 4);
    assert_int_equal(d3.Flags, CUDA_ARRAY3D_SURFACE_LDST);
    OK(cuArrayDestroy(array));
}

TEST(arrays_that_are_wrong) {
    CUarray array;
    const CUDA_ARRAY_DESCRIPTOR three = {7, 5, CU_AD_FORMAT_FLOAT, 3};
    const CUDA_ARRAY_DESCRIPTOR unknown = {7, 5, (CUarray_format)77, 1};
    const CUDA_ARRAY_DESCRIPTOR picture = {8, 8, CU_AD_FORMAT_NV12, 1};
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(&array, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(NULL, &three));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(&array, &three));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(&array, &unknown));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuArrayCreate(&array, &picture));
}

TEST(rows_into_an_array) {
    enum { N = 8, ROWS = 4 };
    float in[ROWS][N], out[ROWS][N] = {{0}};
    CUarray array;
    for (int i = 0; i < ROWS * N; i++)
        in[i / N][i % N] = (float)i;
    OK(cuArrayCreate(&array, &(CUDA_ARRAY_DESCRIPTOR){N, ROWS, CU_AD_FORMAT_FLOAT, 1}));
    CUDA_MEMCPY2D to = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .srcPitch = sizeof in[0],
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = sizeof in[0],
                        .Height = ROWS};
    CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = array,
                          .srcXInBytes = 8,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = sizeof out[0],
                          .WidthInBytes = 12,
                          .Height = 2};
    OK(cuMemcpy2D(&to));
    OK(cuMemcpy2D(&back));
    assert_true(out[0][0] == in[1][2] && out[1][2] == in[2][4] && out[0][3] == 0);
    back.srcXInBytes = 6; /* a part of an element */
    OK(cuMemcpy2D(&back));
    assert_memory_equal(out[0], (const char *)in[1] + 6, 12);
    OK(cuArrayDestroy(array));
}

TEST(a_row_of_an_array) {
    float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0};
    CUarray array, other;
    CUdeviceptr at;
    const CUDA_ARRAY_DESCRIPTOR d = {8, 0, CU_AD_FORMAT_FLOAT, 1};
    OK(cuArrayCreate(&array, &d));
    OK(cuArrayCreate(&other, &d));
    OK(cuMemAlloc(&at, sizeof in));
    OK(cuMemcpyHtoA(array, 0, in, sizeof in));
    OK(cuMemcpyAtoA(other, 8, array, 0, 8));
    OK(cuMemcpyAtoD(at, other, 8, 8));
    OK(cuMemcpyDtoA(other, 0, at, 8));
    OK(cuMemcpyAtoH(out, other, 0, 16));
    assert_true(out[0] == 1 && out[1] == 2 && out[2] == 1 && out[3] == 2);
    OK(cuMemcpyHtoAAsync(array, 4, in, 8, NULL));
    OK(cuMemcpyAtoHAsync(out, array, 0, sizeof out, NULL));
    OK(cuCtxSynchronize());
    assert_true(out[0] == 1 && out[1] == 1 && out[2] == 2 && out[3] == 4);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoH(out, array, 4, sizeof out));
    OK(cuMemFree(at));
    OK(cuArrayDestroy(array));
    OK(cuArrayDestroy(other));
}

TEST(levels_of_an_array) {
    CUmipmappedArray mipmap;
    CUarray level;
    CUDA_ARRAY3D_DESCRIPTOR d = {16, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0};
    OK(cuMipmappedArrayCreate(&mipmap, &d, 3));
    OK(cuMipmappedArrayGetLevel(&level, mipmap, 1));
    OK(cuArray3DGetDescriptor(&d, level));
    assert_true(d.Width == 8 && d.Height == 4);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&level, mipmap, 3));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayCreate(&mipmap, NULL, 3));
    OK(cuMipmappedArrayDestroy(mipmap));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuMipmappedArrayDestroy(NULL));
}

/* ---- between devices ---- */

TEST(from_one_device_to_another) {
    int in[4] = {1, 2, 3, 4}, out[4] = {0};
    CUdeviceptr here, there;
    CUcontext other;
    OK(cuMemAlloc(&here, sizeof in));
    OK(cuMemcpyHtoD(here, in, sizeof in));
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    OK(cuCtxSetCurrent(other));
    OK(cuMemAlloc(&there, sizeof in));
    OK(cuMemcpyPeer(there, other, here, context, sizeof in));
    OK(cuMemcpyDtoH(out, there, sizeof out));
    assert_memory_equal(in, out, sizeof in);
    OK(cuMemsetD32(there, 9, 4));
    OK(cuMemcpyPeerAsync(here, context, there, other, 8, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(out, here, sizeof out));
    assert_true(out[0] == 9 && out[1] == 9 && out[2] == 3);
    CUDA_MEMCPY3D_PEER copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = here,
                               .srcContext = context,
                               .srcPitch = 8,
                               .srcHeight = 2,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = there,
                               .dstContext = other,
                               .dstPitch = 8,
                               .dstHeight = 2,
                               .WidthInBytes = 8,
                               .Height = 2,
                               .Depth = 1};
    OK(cuMemcpy3DPeer(&copy));
    OK(cuMemcpy3DPeerAsync(&copy, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(out, there, sizeof out));
    assert_true(out[0] == 9 && out[3] == 4);
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer(there, NULL, here, context, 4));
    copy.srcContext = NULL;
    SAYS(CUDA_ERROR_INVALID_CONTEXT, cuMemcpy3DPeer(&copy));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DPeer(NULL));
    OK(cuMemFree(there));
    OK(cuMemFree(here));
    OK(cuCtxSetCurrent(context));
    OK(cuDevicePrimaryCtxRelease(1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(rows_there_and_back),        C(one_row_needs_no_pitch), C(rows_that_are_wrong),
        C(boxes_there_and_back),       C(what_an_array_is),       C(arrays_that_are_wrong),
        C(rows_into_an_array),         C(a_row_of_an_array),      C(levels_of_an_array),
        C(from_one_device_to_another),
    };
    return RUN(tests);
}
