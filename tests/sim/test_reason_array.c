/* What the simulator says where an array, a texture or memory that is mapped is refused. */
#include "graph_test.h"

#include <anycuda/anycuda.h>
#include <anycuda/cuda.h>

static const struct cudaChannelFormatDesc f32 = {32, 0, 0, 0, cudaChannelFormatKindFloat};

#define ARRAY(width, height, depth, flags)                                                         \
    cudaMalloc3DArray(&array, &f32, (struct cudaExtent){width, height, depth}, flags)

TEST(shapes_of_arrays) {
    cudaArray_t array;
    SAID(cudaErrorInvalidValue, ARRAY(0, 0, 0, 0), "the width is 0");
    SAID(cudaErrorInvalidValue, ARRAY(4, 0, 0, cudaArrayLayered), "the number of layers, is 0");
    SAID(cudaErrorInvalidValue, ARRAY(4, 0, 4, 0), "the height is 0 and the depth 4");
    SAID(cudaErrorInvalidValue, ARRAY(4, 5, 6, cudaArrayCubemap), "this one is 4 x 5 x 6");
    SAID(cudaErrorInvalidValue, ARRAY(4, 4, 7, cudaArrayCubemap | cudaArrayLayered),
         "of several cubes a multiple of 6");
    SAID(cudaErrorInvalidValue, ARRAY(SIZE_MAX, 1, 0, 0),
         "the width is 18446744073709551615, and of such an array it can be");
    SAID(cudaErrorInvalidValue, ARRAY(1, 1u << 31, 0, 0), "the height is 2147483648");
    SAID(cudaErrorInvalidValue, ARRAY(1, 1, 1u << 20, 0), "the depth is 1048576");
    SAID(cudaErrorInvalidValue, ARRAY(1, 1, 1u << 20, cudaArrayLayered),
         "the number of layers is 1048576");
    SAID(cudaErrorInvalidValue, ARRAY(4, 4, 0, 0x1000), "no array has the flags 0x1000");
    SAID(cudaErrorInvalidValue, ARRAY(4, 4, 4, cudaArrayTextureGather),
         "cudaArrayTextureGather is for arrays of two dimensions");
    SAID(cudaErrorInvalidValue, ARRAY(4, 0, 0, cudaArraySparse), "a sparse array has two");
}

TEST(textures_of_memory) {
    char *memory;
    cudaTextureObject_t texture;
    struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
    OK(cudaMalloc((void **)&memory, 4096));
    struct cudaResourceDesc of = {.resType = cudaResourceTypeLinear,
                                  .res.linear = {memory + 4, f32, 64}};
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, NULL),
         "a multiple of the device's textureAlignment, 512");
    of.res.linear.devPtr = NULL;
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, NULL),
         "there is no memory at");
    of.res.linear.devPtr = memory;
    of.res.linear.sizeInBytes = (size_t)1 << 40u;
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, NULL),
         "the number of elements is 274877906944");
    of = (struct cudaResourceDesc){.resType = cudaResourceTypePitch2D,
                                   .res.pitch2D = {memory, f32, 8, 4, 40}};
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, NULL),
         "the pitch is 40 bytes, and no multiple of the device's texturePitchAlignment, 32");
    of.res.pitch2D.pitchInBytes = 64;
    of.res.pitch2D.height = 1u << 30;
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, NULL),
         "the height is 1073741824");
    of.res.pitch2D.height = 4;
    how.addressMode[1] = 9;
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, NULL),
         "addressMode[1] is 9");
    how.addressMode[1] = cudaAddressModeWrap;
    how.filterMode = 7;
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, NULL),
         "filterMode is 7");
    OK(cudaFree(memory));
}

TEST(views_of_arrays) {
    cudaArray_t array;
    cudaTextureObject_t texture;
    const struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
    OK(ARRAY(8, 4, 0, 0));
    const struct cudaResourceDesc of = {.resType = cudaResourceTypeArray, .res.array.array = array};
    struct cudaResourceViewDesc view = {
        .format = cudaResViewFormatUnsignedChar1, .width = 8, .height = 4};
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, &view),
         "elements of the view have 1 bytes, those of the array 4");
    view.format = cudaResViewFormatFloat1;
    view.width = 9;
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, &view),
         "the view is 9 x 4 x 0, and has to be 8 x 4 x 0");
    view.width = 8;
    view.firstLayer = 2;
    SAID(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &of, &how, &view),
         "its last level or layer comes before the first one");
    OK(cudaFreeArray(array));
}

/* The driver's function has no message of its own in the safe layer's: the reason is there, too. */
TEST(memory_without_access) {
    enum { SIZE = 2 << 20 };
    acu_stream *stream;
    acu_virtual *range;
    acu_physical *memory;
    acu_buffer *buffer;
    int32_t number = 1;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_virtual_reserve(0, SIZE, NULL, &range));
    OK(acu_physical_create(0, SIZE, NULL, &memory));
    OK(acu_virtual_map(range, 0, memory));
    OK(acu_virtual_create_buffer(range, 0, stream, ACU_I32, 10, &buffer));
    OK(acu_virtual_set_access(range, 0, ACU_ACCESS_NONE));
    assert_int_equal(acu_buffer_fill(buffer, &number), cudaErrorInvalidValue);
    assert_non_null(strstr(acu_last_error_message(), "cuMemsetD32Async failed"));
    assert_non_null(strstr(acu_last_error_message(),
                           "no device has access to the memory that is mapped at the destination"));
    (void)cudaGetLastError();
    SAID(cudaErrorInvalidValue, acu_buffer_read(buffer, &number, 1),
         "no device has access to the memory that is mapped at the source");
    OK(acu_buffer_release(buffer));
    OK(acu_physical_release(memory));
    OK(acu_virtual_release(range));
    OK(acu_stream_release(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(shapes_of_arrays),
        T(textures_of_memory),
        T(views_of_arrays),
        T(memory_without_access),
    };
    return RUN(tests);
}
