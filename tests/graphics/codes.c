/* What CUDA answers to calls about resources, also to wrong ones. The simulator has the same. */
#include "test_graphics.h"

#include <anycuda/cudart_interop.h>

#include <pthread.h>
#include <string.h>

static cudaStream_t stream;
static cudaGraphicsResource_t buffer, image;
static unsigned buffer_name, image_name;
static const gl_shape shape = {GL_IMAGE_2D, GL_FORMAT_R32UI, 16, 16, 1, 3};

static void expect(const char *what, int code, int expected) {
    (void)cudaGetLastError();
    if (code == expected)
        return;
    printf("%s: %d, not %d\n", what, code, expected);
    failures++;
}
#define EXPECT(call, expected) expect(#call, (int)(call), expected)

static void names(void) {
    cudaGraphicsResource_t made = NULL;
    const unsigned empty = gl->new_buffer(0), gone = gl->new_buffer(64);
    gl->delete_buffer(gone);
    EXPECT(cudaGraphicsGLRegisterBuffer(&made, 0, 0), 1);
    EXPECT(cudaGraphicsGLRegisterBuffer(&made, 123456, 0), 400);
    EXPECT(cudaGraphicsGLRegisterBuffer(&made, empty, 0), 2);
    EXPECT(cudaGraphicsGLRegisterBuffer(&made, gone, 0), 400);
    EXPECT(cudaGraphicsGLRegisterBuffer(&made, buffer_name, 3), 1);
    EXPECT(cudaGraphicsGLRegisterBuffer(&made, buffer_name, 4), 1);
    EXPECT(cudaGraphicsGLRegisterBuffer(&made, buffer_name, 16), 1);
    EXPECT(cudaGraphicsGLRegisterBuffer(NULL, buffer_name, 0), 1);
    EXPECT(cudaGraphicsGLRegisterImage(&made, image_name, 0x1234, 0), 1);
    EXPECT(cudaGraphicsGLRegisterImage(&made, 123456, GL_IMAGE_2D, 0), 400);
    EXPECT(cudaGraphicsGLRegisterImage(&made, image_name, GL_IMAGE_2D, 3), 0);
    EXPECT(cudaGraphicsUnregisterResource(made), 0);
    EXPECT(cudaGraphicsGLRegisterImage(&made, image_name, GL_IMAGE_2D, 16), 1);
    EXPECT(cudaGraphicsGLRegisterBuffer(&made, buffer_name, 0), 0); /* once more */
    EXPECT(cudaGraphicsMapResources(1, &made, stream), 0);
    EXPECT(cudaGraphicsMapResources(1, &buffer, stream), 0);
    EXPECT(cudaGraphicsUnmapResources(1, &buffer, stream), 0);
    EXPECT(cudaGraphicsUnmapResources(1, &made, stream), 0);
    EXPECT(cudaGraphicsUnregisterResource(made), 0);
    gl->delete_buffer(empty);
}

static void not_mapped(void) {
    void *at = NULL;
    size_t bytes = 0;
    cudaArray_t array = NULL;
    cudaMipmappedArray_t mipmap = NULL;
    EXPECT(cudaGraphicsResourceGetMappedPointer(&at, &bytes, buffer), 211);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&array, image, 0, 0), 211);
    EXPECT(cudaGraphicsResourceGetMappedMipmappedArray(&mipmap, image), 211);
    EXPECT(cudaGraphicsResourceGetMappedPointer(&at, &bytes, image), 211);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&array, buffer, 0, 0), 211);
    EXPECT(cudaGraphicsUnmapResources(1, &buffer, stream), 211);
    EXPECT(cudaGraphicsMapResources(0, &buffer, stream), 1);
    EXPECT(cudaGraphicsMapResources(-1, &buffer, stream), 400);
    EXPECT(cudaGraphicsMapResources(1, NULL, stream), 1);
    EXPECT(cudaGraphicsUnmapResources(0, &buffer, stream), 1);
    EXPECT(cudaGraphicsResourceSetMapFlags(buffer, 3), 0);
    EXPECT(cudaGraphicsResourceSetMapFlags(buffer, 0x100), 0);
    EXPECT(cudaGraphicsResourceSetMapFlags(buffer, 0), 0);
}

static void mapped(void) {
    cudaGraphicsResource_t both[] = {buffer, image}, twice[] = {buffer, buffer};
    void *at = NULL;
    size_t bytes = 0;
    cudaArray_t array = NULL, again = NULL;
    cudaMipmappedArray_t mipmap = NULL;
    struct cudaPointerAttributes attributes;
    EXPECT(cudaGraphicsMapResources(2, twice, stream), 208);
    EXPECT(cudaGraphicsUnmapResources(1, &buffer, stream), 211);
    EXPECT(cudaGraphicsMapResources(2, both, stream), 0);
    EXPECT(cudaGraphicsMapResources(1, &buffer, stream), 208);
    EXPECT(cudaGraphicsResourceSetMapFlags(buffer, 1), 208);
    EXPECT(cudaGraphicsResourceGetMappedPointer(&at, &bytes, image), 213);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&array, buffer, 0, 0), 212);
    EXPECT(cudaGraphicsResourceGetMappedMipmappedArray(&mipmap, buffer), 212);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&array, image, 1, 0), 1);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&array, image, 0, 5), 1);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&array, image, 0, 2), 0);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&again, image, 0, 2), 0);
    CHECK(array == again);
    EXPECT(cudaGraphicsResourceGetMappedMipmappedArray(&mipmap, image), 0);
    EXPECT(cudaGetMipmappedArrayLevel(&array, mipmap, 2), 0);
    EXPECT(cudaGetMipmappedArrayLevel(&array, mipmap, 5), 1);
    EXPECT(cudaGraphicsResourceGetMappedPointer(&at, &bytes, buffer), 0);
    CHECK(bytes == 256);
    EXPECT(cudaPointerGetAttributes(&attributes, at), 0);
    CHECK(attributes.type == cudaMemoryTypeDevice);
    EXPECT(cudaFree(at), 1);
    EXPECT(cudaGraphicsUnmapResources(2, both, stream), 0);
    EXPECT(cudaMemset(at, 0, 4), 0); /* the address stays */
    EXPECT(cudaPointerGetAttributes(&attributes, at), 0);
    CHECK(attributes.type == cudaMemoryTypeDevice);
    EXPECT(cudaGraphicsUnmapResources(2, both, stream), 211);
    EXPECT(cudaGraphicsMapResources(1, &buffer, stream), 0);
    EXPECT(cudaGraphicsUnmapResources(2, twice, stream), 211); /* but it is unmapped */
    EXPECT(cudaGraphicsUnmapResources(1, &buffer, stream), 211);
    EXPECT(cudaGraphicsUnmapResources(-1, &buffer, stream), 400);
}

static void captured(void) {
    cudaGraph_t graph = NULL;
    cudaStream_t other = NULL;
    EXPECT(cudaStreamCreate(&other), 0);
    EXPECT(cudaStreamBeginCapture(other, cudaStreamCaptureModeThreadLocal), 0);
    EXPECT(cudaGraphicsMapResources(1, &buffer, stream), 900);
    EXPECT(cudaGraphicsUnmapResources(1, &buffer, stream), 900);
    EXPECT(cudaStreamEndCapture(other, &graph), 901);
    EXPECT(cudaStreamDestroy(other), 0);
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), 0);
    EXPECT(cudaGraphicsMapResources(1, &buffer, stream), 900);
    EXPECT(cudaStreamEndCapture(stream, &graph), 901);
    if (graph)
        (void)cudaGraphDestroy(graph);
    (void)cudaGraphicsUnmapResources(1, &buffer, stream);
    (void)cudaGetLastError();
}

static void *without_a_context(void *unused) {
    cudaGraphicsResource_t made = NULL;
    cudaGraphicsResource_t theirs = buffer;
    unsigned count = 0;
    int device = 0;
    EXPECT(cudaGLGetDevices(&count, &device, 1, cudaGLDeviceListAll), 201);
    EXPECT(cudaGraphicsGLRegisterBuffer(&made, buffer_name, 0), 1);
    EXPECT(cudaGraphicsGLRegisterImage(&made, image_name, GL_IMAGE_2D, 0), 1);
    EXPECT(cudaGraphicsResourceSetMapFlags(theirs, 0), 0);
    EXPECT(cudaGraphicsMapResources(1, &theirs, stream), 219);
    EXPECT(cudaGraphicsUnmapResources(1, &theirs, stream), 211);
    return unused;
}

static void *unmap_without_a_context(void *unused) {
    void *at = NULL;
    size_t bytes = 0;
    EXPECT(cudaGraphicsResourceGetMappedPointer(&at, &bytes, buffer), 0);
    EXPECT(cudaGraphicsUnmapResources(1, &buffer, stream), 219);
    return unused;
}

static void in_another_thread(void *(*work)(void *)) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

/* An object that was deleted stays CUDA's. */
static void deleted(void) {
    cudaGraphicsResource_t gone = NULL;
    const unsigned name = gl->new_buffer(64);
    EXPECT(cudaGraphicsGLRegisterBuffer(&gone, name, 0), 0);
    gl->delete_buffer(name);
    EXPECT(cudaGraphicsMapResources(1, &gone, stream), 0);
    EXPECT(cudaGraphicsUnmapResources(1, &gone, stream), 0);
    EXPECT(cudaGraphicsUnregisterResource(gone), 0);
    EXPECT(cudaGraphicsUnregisterResource(NULL), 400);
    EXPECT(cudaGraphicsEGLRegisterImage(&gone, NULL, 0), 999);
}

/* CUDA maps no EGL image, and looks at neither the number of an array nor that of a level. */
static void of_egl(void) {
    const gl_shape square = {GL_IMAGE_2D, GL_FORMAT_RGBA8, 16, 16, 1, 1};
    unsigned name = 0;
    void *at = NULL, *egl_image = gl->new_egl_image(&square, &name);
    size_t bytes = 0;
    cudaGraphicsResource_t made = NULL;
    cudaArray_t array = NULL, other = NULL;
    cudaMipmappedArray_t mipmap = NULL;
    cudaEglFrame frame;
    unsigned flags = 0;
    memset(&frame, 0, sizeof frame);
    EXPECT(cudaGraphicsEGLRegisterImage(&made, egl_image, 0), 0);
    EXPECT(cudaGraphicsMapResources(1, &made, stream), 999);
    EXPECT(cudaGraphicsResourceGetMappedPointer(&at, &bytes, made), 213);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&array, made, 0, 0), 0);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&other, made, 1, 0), 0);
    CHECK(array == other);
    EXPECT(cudaGraphicsResourceSetMapFlags(made, 1), 0);
    EXPECT(cudaGraphicsUnmapResources(1, &made, stream), 999);
    EXPECT(cudaGraphicsResourceGetMappedMipmappedArray(&mipmap, made), 999);
    EXPECT(cudaGraphicsResourceGetMappedEglFrame(&frame, made, 1, 0), 0);
    EXPECT(cudaGraphicsResourceGetMappedEglFrame(&frame, made, 0, 1), 0);
    CHECK(frame.planeCount == 1 && frame.frameType == cudaEglFrameTypeArray);
    CHECK(frame.eglColorFormat == cudaEglColorFormatABGR);
    CHECK(frame.planeDesc[0].width == 16 && frame.planeDesc[0].numChannels == 4);
    EXPECT(cudaArrayGetInfo(NULL, NULL, &flags, frame.frame.pArray[0]), 0);
    CHECK(flags == (cudaArraySurfaceLoadStore | cudaArrayTextureGather));
    EXPECT(cudaGraphicsUnregisterResource(made), 0);
    gl->delete_egl_image(egl_image, name);
}

/* What is refused here is lost: CUDA can crash where it is asked to unregister that once more. */
static void lost(void) {
    in_another_thread(without_a_context);
    EXPECT(cudaGraphicsMapResources(1, &buffer, stream), 0);
    in_another_thread(unmap_without_a_context);
    EXPECT(cudaGraphicsMapResources(1, &buffer, stream), 208);
    EXPECT(cudaGraphicsUnmapResources(1, &buffer, stream), 211);
    EXPECT(cudaGraphicsUnregisterResource(buffer), 208);
    EXPECT(cudaGraphicsMapResources(1, &image, stream), 0);
    EXPECT(cudaGraphicsUnregisterResource(image), 208); /* while it is mapped */
}

void codes_of_cuda(void) {
    buffer_name = gl->new_buffer(256);
    image_name = gl->new_image(&shape);
    EXPECT(cudaStreamCreate(&stream), 0);
    EXPECT(cudaGraphicsGLRegisterBuffer(&buffer, buffer_name, 0), 0);
    EXPECT(cudaGraphicsGLRegisterImage(&image, image_name, GL_IMAGE_2D, 0), 0);
    names();
    not_mapped();
    mapped();
    captured();
    deleted();
    of_egl();
    lost();
    EXPECT(cudaStreamDestroy(stream), 0);
    gl->delete_buffer(buffer_name);
    gl->delete_image(image_name);
}
