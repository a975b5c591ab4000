/* Arrays, mipmapped arrays, boxes of three dimensions, textures and surfaces. */
#include "conformance.h"

static const struct cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
static const struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
static const struct cudaChannelFormatDesc pairs = {16, 16, 0, 0, cudaChannelFormatKindUnsigned};

static struct cudaExtent extent(size_t width, size_t height, size_t depth) {
    return (struct cudaExtent){width, height, depth};
}

/* ---- memory of three dimensions ---- */

CASE(malloc_3d_pads_rows) {
    struct cudaPitchedPtr p;
    OK(cudaMalloc3D(&p, extent(100, 7, 3)));
    IS(p.ptr != NULL);
    EQUAL(p.pitch % 256, 0);
    IS(p.pitch >= 100);
    EQUAL(p.xsize, 100);
    EQUAL(p.ysize, 7);
    OK(cudaMemset3D(p, 1, extent(100, 7, 3)));
    OK(cudaMemset3D(p, 1, extent(0, 7, 3)));
    OK(cudaFree(p.ptr));
}

CASE(malloc_3d_of_too_much) {
    struct cudaPitchedPtr p;
    FAILS(cudaErrorMemoryAllocation, cudaMalloc3D(&p, extent(MIB, MIB, MIB)));
    FAILS(cudaErrorInvalidValue, cudaMalloc3D(NULL, extent(1, 1, 1)));
}

CASE(malloc_3d_of_nothing_is_asked) {
    struct cudaPitchedPtr p = {&p, 1, 1, 1};
    SAYS(cudaSuccess, cudaMalloc3D(&p, extent(0, 1, 1)));
    IS(p.ptr == NULL);
    (void)cudaGetLastError();
}

CASE(boxes_go_there_and_back) {
    unsigned char in[4][5][11], out[4][5][11];
    struct cudaPitchedPtr p;
    for (int i = 0; i < 4 * 5 * 11; i++)
        ((unsigned char *)in)[i] = (unsigned char)(i + 1);
    memset(out, 0, sizeof out);
    OK(cudaMalloc3D(&p, extent(11, 5, 4)));
    OK(cudaMemset3D(p, 0xee, extent(11, 5, 4)));
    struct cudaMemcpy3DParms to = {.srcPtr = {in, 11, 11, 5},
                                   .srcPos = {2, 1, 1},
                                   .dstPtr = p,
                                   .dstPos = {3, 2, 1},
                                   .extent = {4, 2, 3},
                                   .kind = cudaMemcpyHostToDevice};
    OK(cudaMemcpy3D(&to));
    struct cudaMemcpy3DParms back = {.srcPtr = p,
                                     .dstPtr = {out, 11, 11, 5},
                                     .extent = {11, 5, 4},
                                     .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&back));
    EQUAL(out[1][2][3], in[1][1][2]);
    EQUAL(out[3][3][6], in[3][2][5]);
    EQUAL(out[0][2][3], 0xee);
    EQUAL(out[1][2][7], 0xee);
    EQUAL(out[1][4][3], 0xee);
    OK(cudaFree(p.ptr));
}

CASE(boxes_that_are_wrong) {
    unsigned char host[64] = "";
    struct cudaPitchedPtr p;
    OK(cudaMalloc3D(&p, extent(16, 2, 2)));
    struct cudaMemcpy3DParms copy = {.srcPtr = {host, 16, 16, 2},
                                     .dstPtr = p,
                                     .extent = {16, 2, 2},
                                     .kind = (enum cudaMemcpyKind)9};
    FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy3D(&copy));
    copy.kind = cudaMemcpyDefault;
    copy.srcPtr.pitch = 15;
    SAYS(cudaErrorInvalidPitchValue, cudaMemcpy3D(&copy));
    copy.srcPtr.pitch = 16;
    copy.srcPos.x = 1;
    SAYS(cudaErrorInvalidValue, cudaMemcpy3D(&copy));
    copy.srcPos.x = 0;
    copy.extent.depth = 0;
    SAYS(cudaSuccess, cudaMemcpy3D(&copy));
    (void)cudaGetLastError();
    OK(cudaFree(p.ptr));
}

CASE(boxes_go_between_devices) {
    struct cudaPitchedPtr here, there;
    unsigned char out[4] = "";
    NEEDS_DEVICES(2);
    OK(cudaSetDevice(0));
    OK(cudaMalloc3D(&here, extent(4, 1, 1)));
    OK(cudaMemset3D(here, 9, extent(4, 1, 1)));
    OK(cudaSetDevice(1));
    OK(cudaMalloc3D(&there, extent(4, 1, 1)));
    struct cudaMemcpy3DPeerParms copy = {
        .srcPtr = here, .srcDevice = 0, .dstPtr = there, .dstDevice = 1, .extent = {4, 1, 1}};
    OK(cudaMemcpy3DPeer(&copy));
    OK(cudaMemcpy(out, there.ptr, 4, cudaMemcpyDeviceToHost));
    EQUAL(out[3], 9);
    OK(cudaFree(there.ptr));
    OK(cudaSetDevice(0));
    OK(cudaFree(here.ptr));
}

/* ---- arrays ---- */

CASE(arrays_say_what_they_are) {
    cudaArray_t a;
    struct cudaChannelFormatDesc desc = {0};
    struct cudaExtent e = {0};
    unsigned flags = 0;
    OK(cudaMallocArray(&a, &floats, 20, 10, cudaArraySurfaceLoadStore));
    OK(cudaArrayGetInfo(&desc, &e, &flags, a));
    EQUAL(desc.x, 32);
    EQUAL(desc.y, 0);
    EQUAL(desc.f, cudaChannelFormatKindFloat);
    EQUAL(e.width, 20);
    EQUAL(e.height, 10);
    EQUAL(e.depth, 0);
    EQUAL(flags, cudaArraySurfaceLoadStore);
    desc.x = 0;
    OK(cudaGetChannelDesc(&desc, a));
    EQUAL(desc.x, 32);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(NULL));
}

CASE(shapes_of_arrays) {
    cudaArray_t a = NULL;
    OK(cudaMallocArray(&a, &floats, 16, 0, 0));
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &floats, extent(4, 4, 4), 0));
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &floats, extent(4, 0, 4), cudaArrayLayered));
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &floats, extent(4, 4, 6), cudaArrayCubemap));
    OK(cudaFreeArray(a));
    FAILS(cudaErrorInvalidValue, cudaMallocArray(NULL, &floats, 4, 4, 0));
    FAILS(cudaErrorInvalidValue, cudaMallocArray(&a, &floats, (size_t)KIB * MIB, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaMalloc3DArray(&a, &floats, extent(4, 4, 5), cudaArrayCubemap));
}

CASE(formats_of_arrays) {
    cudaArray_t a;
    const struct cudaChannelFormatDesc three = {8, 8, 8, 0, cudaChannelFormatKindUnsigned};
    const struct cudaChannelFormatDesc odd = {8, 16, 0, 0, cudaChannelFormatKindUnsigned};
    const struct cudaChannelFormatDesc quarter = {8, 0, 0, 0, cudaChannelFormatKindFloat};
    const struct cudaChannelFormatDesc four = {32, 32, 32, 32, cudaChannelFormatKindSigned};
    OK(cudaMallocArray(&a, &four, 4, 4, 0));
    OK(cudaFreeArray(a));
    SAYS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&a, &three, 4, 4, 0));
    SAYS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&a, &odd, 4, 4, 0));
    SAYS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&a, &quarter, 4, 4, 0));
    SAYS(cudaErrorInvalidValue, cudaMallocArray(&a, &floats, 0, 4, 0));
    (void)cudaGetLastError();
}

CASE(a_kind_that_says_where_an_array_is_is_put_right) {
    float in[3][4][6], out[3][4][6];
    cudaArray_t a, b;
    for (int i = 0; i < 72; i++)
        ((float *)in)[i] = (float)i;
    memset(out, 0, sizeof out);
    OK(cudaMalloc3DArray(&a, &floats, extent(6, 4, 3), 0));
    OK(cudaMalloc3DArray(&b, &floats, extent(6, 4, 3), 0));
    struct cudaMemcpy3DParms to = {
        .srcPtr = {in, 24, 6, 4}, .dstArray = a, .extent = {6, 4, 3}, .kind = cudaMemcpyHostToHost};
    OK(cudaMemcpy3D(&to));
    struct cudaMemcpy3DParms over = {.srcArray = a,
                                     .srcPos = {1, 1, 1},
                                     .dstArray = b,
                                     .dstPos = {2, 1, 0},
                                     .extent = {4, 3, 2},
                                     .kind = cudaMemcpyDeviceToDevice};
    OK(cudaMemcpy3D(&over));
    struct cudaMemcpy3DParms back = {.srcArray = b,
                                     .dstPtr = {out, 24, 6, 4},
                                     .extent = {6, 4, 3},
                                     .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&back));
    IS(out[0][1][2] == in[1][1][1]);
    IS(out[1][3][5] == in[2][3][4]);
    over.dstPos.x = 3;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&over));
    over.dstPtr.ptr = out;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&over));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

/* As memory that does not overlap. */
CASE(boxes_of_one_array_beside_each_other) {
    float in[4][8], out[4][8] = {{0}};
    cudaArray_t a;
    for (int i = 0; i < 32; i++)
        ((float *)in)[i] = (float)i;
    OK(cudaMalloc3DArray(&a, &floats, extent(8, 4, 0), 0));
    OK(cudaMemcpy2DToArray(a, 0, 0, in, 32, 32, 4, cudaMemcpyHostToDevice));
    struct cudaMemcpy3DParms over = {.srcArray = a,
                                     .dstArray = a,
                                     .dstPos = {4, 0, 0},
                                     .extent = {4, 4, 1},
                                     .kind = cudaMemcpyDeviceToDevice};
    OK(cudaMemcpy3D(&over));
    over.dstPos.x = 1;
    over.dstPos.y = 2;
    over.extent.height = 2;
    over.kind = cudaMemcpyDefault;
    OK(cudaMemcpy3DAsync(&over, NULL));
    OK(cudaMemcpy2DFromArray(out, 32, a, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    IS(out[1][4] == in[1][0] && out[3][7] == in[3][3]);
    IS(out[2][1] == in[0][0] && out[3][4] == in[1][3] && out[3][5] == in[3][1]);
    OK(cudaFreeArray(a));
}

CASE(arrays_of_other_elements_are_not_copied) {
    cudaArray_t a, b;
    OK(cudaMallocArray(&a, &floats, 8, 8, 0));
    OK(cudaMallocArray(&b, &bytes, 8, 8, 0));
    struct cudaMemcpy3DParms copy = {
        .srcArray = a, .dstArray = b, .extent = {8, 8, 1}, .kind = cudaMemcpyDefault};
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&copy));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

CASE(rows_of_bytes_go_to_and_from_arrays) {
    unsigned short in[5][8], out[5][8];
    cudaArray_t a, b;
    for (int i = 0; i < 40; i++)
        ((unsigned short *)in)[i] = (unsigned short)i;
    memset(out, 0, sizeof out);
    OK(cudaMallocArray(&a, &pairs, 4, 5, 0));
    OK(cudaMallocArray(&b, &pairs, 4, 5, 0));
    OK(cudaMemcpy2DToArray(a, 0, 0, in, 16, 16, 5, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(b, 4, 1, a, 0, 0, 12, 4, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2DFromArray(out, 16, b, 0, 0, 16, 5, cudaMemcpyDeviceToHost));
    EQUAL(out[1][2], in[0][0]);
    EQUAL(out[4][7], in[3][5]);
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2DToArray(a, 0, 1, in, 16, 16, 5, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2DToArray(a, 0, 0, in, 15, 16, 1, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(a, 2, 0, in, 16, 12, 1, cudaMemcpyHostToDevice));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

CASE(bytes_go_to_the_middle_of_an_element) {
    unsigned char in[16], out[16];
    cudaArray_t a;
    for (unsigned char i = 0; i < 16; i++)
        in[i] = (unsigned char)(i + 1);
    OK(cudaMallocArray(&a, &pairs, 4, 1, 0));
    for (size_t offset = 1; offset < 4; offset++) {
        memset(out, 0, sizeof out);
        OK(cudaMemcpy2DToArray(a, 0, 0, out, 16, 16, 1, cudaMemcpyHostToDevice));
        OK(cudaMemcpy2DToArray(a, offset, 0, in, 16, 8, 1, cudaMemcpyHostToDevice));
        OK(cudaMemcpy2DFromArray(out, 16, a, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < sizeof out; i++)
            EQUAL(out[i], i < offset || i >= offset + 8 ? 0 : in[i - offset]);
        OK(cudaMemcpy2DToArray(a, 0, 0, in, 16, 16, 1, cudaMemcpyHostToDevice));
        memset(out, 0, sizeof out);
        OK(cudaMemcpy2DFromArray(out, 16, a, offset, 0, 6, 1, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < 8; i++)
            EQUAL(out[i], i < 6 ? in[offset + i] : 0);
    }
    SAYS(cudaSuccess, cudaMemcpy2DToArray(a, 0, 0, in, 16, 7, 1, cudaMemcpyHostToDevice));
    SAYS(cudaErrorInvalidValue,
         cudaMemcpy2DToArray(a, 2, 0, in, 16, 16, 1, cudaMemcpyHostToDevice));
    OK(cudaFreeArray(a));
}

/* Ends the capture of one copy; the graph, or NULL. */
static cudaGraph_t captured_copy(cudaStream_t stream, struct cudaMemcpy3DParms *copy) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    const bool good = !cudaStreamEndCapture(stream, &graph) &&
                      !cudaGraphGetNodes(graph, &node, &count) && count == 1 &&
                      !cudaGraphMemcpyNodeGetParams(node, copy);
    return good ? graph : NULL;
}

static bool launch_once(cudaGraph_t graph, cudaStream_t stream) {
    cudaGraphExec_t exec = NULL;
    return !cudaGraphInstantiateWithFlags(&exec, graph, 0) && !cudaGraphLaunch(exec, stream) &&
           !cudaStreamSynchronize(stream) && !cudaGraphExecDestroy(exec) &&
           !cudaGraphDestroy(graph);
}

/* Rows, and where they begin, in bytes of elements of four: the node tells whole elements, and
 * copies the bytes. */
CASE(bytes_in_the_middle_of_an_element_are_captured) {
    const struct {
        size_t offset, width;
    } all[] = {{0, 16}, {4, 8}, {2, 8}, {0, 7}, {1, 4}, {0, 2}};
    unsigned char in[16] = {1, 2, 3}, out[16];
    cudaArray_t a;
    cudaStream_t stream;
    OK(cudaMallocArray(&a, &pairs, 4, 1, 0));
    OK(cudaStreamCreate(&stream));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cudaGraph_t graph;
        struct cudaMemcpy3DParms copy = {0};
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        OK(cudaMemcpy2DToArrayAsync(a, all[i].offset, 0, in, 16, all[i].width, 1,
                                    cudaMemcpyHostToDevice, stream));
        IS((graph = captured_copy(stream, &copy)) != NULL);
        EQUAL(copy.extent.width, all[i].width / 4);
        EQUAL(copy.extent.height, 1);
        EQUAL(copy.extent.depth, 1);
        EQUAL(copy.dstPos.x, all[i].offset / 4);
        IS(copy.dstArray == a);
        EQUAL(copy.srcPtr.pitch, 16);
        EQUAL(copy.srcPtr.xsize, 0);
        EQUAL(copy.srcPtr.ysize, 0);
        EQUAL(copy.srcPos.x, 0);
        EQUAL(copy.kind, cudaMemcpyHostToDevice);
        IS(launch_once(graph, stream));
        memset(out, 0, sizeof out);
        OK(cudaMemcpy2DFromArray(out, 16, a, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
        EQUAL(out[0], 1);
        EQUAL(out[all[i].offset], 1);
    }
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeArray(a));
}

/* The other way. */
CASE(bytes_from_the_middle_of_an_element_are_captured) {
    const struct {
        size_t offset, width;
    } all[] = {{4, 8}, {2, 7}};
    unsigned char in[16], out[16];
    cudaArray_t a;
    cudaStream_t stream;
    for (unsigned char i = 0; i < 16; i++)
        in[i] = (unsigned char)(i + 1);
    OK(cudaMallocArray(&a, &pairs, 4, 1, 0));
    OK(cudaMemcpy2DToArray(a, 0, 0, in, 16, 16, 1, cudaMemcpyHostToDevice));
    OK(cudaStreamCreate(&stream));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cudaGraph_t graph;
        struct cudaMemcpy3DParms copy = {0};
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        OK(cudaMemcpy2DFromArrayAsync(out, 16, a, all[i].offset, 0, all[i].width, 1,
                                      cudaMemcpyDeviceToHost, stream));
        IS((graph = captured_copy(stream, &copy)) != NULL);
        EQUAL(copy.extent.width, all[i].width / 4);
        EQUAL(copy.srcPos.x, all[i].offset / 4);
        EQUAL(copy.dstPos.x, 0);
        EQUAL(copy.dstPtr.pitch, 16);
        EQUAL(copy.dstPtr.xsize, 0);
        EQUAL(copy.dstPtr.ysize, 0);
        memset(out, 0, sizeof out);
        IS(launch_once(graph, stream));
        for (size_t n = 0; n < 9; n++)
            EQUAL(out[n], n < all[i].width ? in[all[i].offset + n] : 0);
    }
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeArray(a));
}

CASE(runs_of_bytes_go_on_in_the_next_row) {
    unsigned char in[64], out[64];
    cudaArray_t a, b;
    for (int i = 0; i < 64; i++)
        in[i] = (unsigned char)(i + 1);
    memset(out, 0, sizeof out);
    OK(cudaMallocArray(&a, &bytes, 10, 6, 0));
    OK(cudaMallocArray(&b, &bytes, 7, 9, 0));
    OK(cudaMemcpyToArray(a, 8, 0, in, 50, cudaMemcpyHostToDevice));
    OK(cudaMemcpyArrayToArray(b, 5, 0, a, 9, 0, 49, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(out, b, 5, 0, 49, cudaMemcpyDeviceToHost));
    EQUAL(memcmp(out, in + 1, 49), 0);
    SAYS(cudaErrorInvalidValue, cudaMemcpyToArray(a, 8, 0, in, 53, cudaMemcpyHostToDevice));
    (void)cudaGetLastError();
    memset(out, 0, sizeof out);
    OK(cudaMemcpyToArrayAsync(a, 3, 1, in, 40, cudaMemcpyHostToDevice, NULL));
    OK(cudaMemcpyFromArrayAsync(out, a, 3, 1, 40, cudaMemcpyDeviceToHost, NULL));
    OK(cudaStreamSynchronize(NULL));
    EQUAL(memcmp(out, in, 40), 0);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

CASE(plain_arrays_have_no_planes_and_no_tiles) {
    cudaArray_t a, plane;
    struct cudaArrayMemoryRequirements needs;
    struct cudaArraySparseProperties sparse;
    OK(cudaMallocArray(&a, &floats, 8, 8, 0));
    FAILS(cudaErrorInvalidValue, cudaArrayGetPlane(&plane, a, 0));
    FAILS(cudaErrorInvalidValue, cudaArrayGetSparseProperties(&sparse, a));
    FAILS(cudaErrorInvalidValue, cudaArrayGetMemoryRequirements(&needs, a, 0));
    OK(cudaFreeArray(a));
}

/* ---- mipmapped arrays ---- */

CASE(levels_are_halves) {
    cudaMipmappedArray_t m;
    cudaArray_t level;
    struct cudaExtent e;
    const size_t widths[] = {20, 10, 5, 2, 1}, heights[] = {6, 3, 1, 1, 1};
    OK(cudaMallocMipmappedArray(&m, &floats, extent(20, 6, 0), 100, 0));
    for (unsigned i = 0; i < 5; i++) {
        OK(cudaGetMipmappedArrayLevel(&level, m, i));
        OK(cudaArrayGetInfo(NULL, &e, NULL, level));
        EQUAL(e.width, widths[i]);
        EQUAL(e.height, heights[i]);
    }
    FAILS(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&level, m, 5));
    OK(cudaFreeMipmappedArray(m));
    OK(cudaFreeMipmappedArray(NULL));
}

/* ---- textures and surfaces ---- */

CASE(textures_remember_what_they_are_made_of) {
    cudaArray_t a;
    cudaTextureObject_t t;
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray}, same_r;
    struct cudaTextureDesc d = {.filterMode = cudaFilterModeLinear, .maxAnisotropy = 3}, same_d;
    struct cudaResourceViewDesc v;
    OK(cudaMallocArray(&a, &floats, 8, 8, 0));
    r.res.array.array = a;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    IS(t != 0);
    OK(cudaGetTextureObjectResourceDesc(&same_r, t));
    IS(same_r.resType == cudaResourceTypeArray && same_r.res.array.array == a);
    OK(cudaGetTextureObjectTextureDesc(&same_d, t));
    EQUAL(same_d.maxAnisotropy, 3);
    EQUAL(same_d.filterMode, cudaFilterModeLinear);
    OK(cudaGetTextureObjectResourceViewDesc(&v, t)); /* though it has none */
    OK(cudaDestroyTextureObject(t));
    SAYS(cudaSuccess, cudaDestroyTextureObject(0));
    (void)cudaGetLastError();
    OK(cudaFreeArray(a));
}

CASE(textures_of_memory) {
    cudaTextureObject_t t;
    void *at;
    size_t most;
    const struct cudaTextureDesc d = {.readMode = cudaReadModeElementType};
    struct cudaResourceDesc r = {.resType = cudaResourceTypeLinear};
    OK(cudaMalloc(&at, 1024));
    r.res.linear.devPtr = at;
    r.res.linear.desc = floats;
    r.res.linear.sizeInBytes = 1024;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    OK(cudaDestroyTextureObject(t));
    r.res.linear.devPtr = (char *)at + 4;
    r.res.linear.sizeInBytes = 512;
    SAYS(cudaErrorInvalidValue, cudaCreateTextureObject(&t, &r, &d, NULL));
    r.resType = (enum cudaResourceType)77;
    FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&t, &r, &d, NULL));
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &floats, 0));
    EQUAL(most, 1024 * MIB);
    OK(cudaFree(at));
}

CASE(widths_of_textures_of_memory) {
    static const struct {
        struct cudaChannelFormatDesc format;
        size_t most;
    } all[] = {{{8, 0, 0, 0, cudaChannelFormatKindUnsigned}, 1024 * MIB},
               {{16, 0, 0, 0, cudaChannelFormatKindFloat}, 1024 * MIB},
               {{32, 32, 0, 0, cudaChannelFormatKindFloat}, 512 * MIB},
               {{32, 32, 32, 32, cudaChannelFormatKindFloat}, 256 * MIB}};
    static const struct cudaChannelFormatDesc wrong[] = {
        {8, 8, 8, 0, cudaChannelFormatKindUnsigned}, {0, 0, 0, 0, cudaChannelFormatKindNone}};
    size_t most = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        OK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &all[i].format, 0));
        EQUAL(most, all[i].most);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(cudaErrorInvalidChannelDescriptor,
              cudaDeviceGetTexture1DLinearMaxWidth(&most, &wrong[i], 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetTexture1DLinearMaxWidth(NULL, &all[0].format, 0));
}

CASE(surfaces_are_of_arrays) {
    cudaArray_t plain, stored;
    cudaSurfaceObject_t s;
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray}, same;
    OK(cudaMallocArray(&plain, &floats, 8, 8, 0));
    OK(cudaMallocArray(&stored, &floats, 8, 8, cudaArraySurfaceLoadStore));
    r.res.array.array = stored;
    OK(cudaCreateSurfaceObject(&s, &r));
    OK(cudaGetSurfaceObjectResourceDesc(&same, s));
    IS(same.res.array.array == stored);
    OK(cudaDestroySurfaceObject(s));
    r.res.array.array = plain;
    OK(cudaCreateSurfaceObject(&s, &r)); /* that the array is for surfaces is not looked at */
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(plain));
    OK(cudaFreeArray(stored));
}

/* ---- symbols ---- */

CASE(a_pointer_that_is_no_symbol) {
    static int variable;
    void *at;
    size_t size;
    int value = 0;
    FAILS(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&at, &variable));
    FAILS(cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, &variable));
    FAILS(cudaErrorInvalidSymbol,
          cudaMemcpyToSymbol(&variable, &value, sizeof value, 0, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidSymbol,
          cudaMemcpyFromSymbol(&value, &variable, sizeof value, 0, cudaMemcpyDeviceToHost));
}
