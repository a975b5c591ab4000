/* Arrays, mipmapped arrays, copies of boxes, textures and surfaces. */
#include "sim_test.h"

static const struct cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
static const struct cudaChannelFormatDesc pairs = {16, 16, 0, 0, cudaChannelFormatKindUnsigned};

static struct cudaExtent extent(size_t width, size_t height, size_t depth) {
    return (struct cudaExtent){width, height, depth};
}

static size_t free_memory(void) {
    size_t left, total;
    OK(cudaMemGetInfo(&left, &total));
    return left;
}

/* ---- memory of three dimensions ---- */

TEST(malloc_3d_says_how_it_lies) {
    struct cudaPitchedPtr p;
    OK(cudaMalloc3D(&p, extent(100, 7, 3)));
    assert_non_null(p.ptr);
    assert_true(p.pitch >= 100 && p.pitch % 512 == 0);
    assert_int_equal(p.xsize, 100);
    assert_int_equal(p.ysize, 7);
    OK(cudaMemset((char *)p.ptr + p.pitch * 7 * 3 - 1, 0, 1));
    FAILS(cudaErrorInvalidValue, cudaMemset((char *)p.ptr + p.pitch * 7 * 3, 0, 1));
    OK(cudaFree(p.ptr));
    FAILS(cudaErrorInvalidValue, cudaMalloc3D(NULL, extent(1, 1, 1)));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc3D(&p, extent(SIZE_MAX / 2, 1000, 1000)));
}

TEST(a_box_is_copied_into_a_box_and_nothing_beside_it) {
    enum { W = 11, H = 5, D = 4 };
    unsigned char in[D][H][W], out[D][H][W];
    struct cudaPitchedPtr p;
    for (int i = 0; i < 4 * 5 * 11; i++)
        ((unsigned char *)in)[i] = (unsigned char)(i + 1);
    memset(out, 0, sizeof out);
    OK(cudaMalloc3D(&p, extent(W, H, D)));
    OK(cudaMemset3D(p, 0xee, extent(W, H, D)));
    OK(cudaMemcpy3D(&(struct cudaMemcpy3DParms){.srcPtr = {in, W, W, H},
                                                .srcPos = {2, 1, 1},
                                                .dstPtr = p,
                                                .dstPos = {3, 2, 1},
                                                .extent = {4, 2, 3},
                                                .kind = cudaMemcpyHostToDevice}));
    OK(cudaMemcpy3D(&(struct cudaMemcpy3DParms){.srcPtr = p,
                                                .dstPtr = {out, W, W, H},
                                                .extent = {W, H, D},
                                                .kind = cudaMemcpyDeviceToHost}));
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int copied = x >= 3 && x < 7 && y >= 2 && y < 4 && z >= 1;
                assert_int_equal(out[z][y][x], copied ? in[z][y - 1][x - 1] : 0xee);
            }
    OK(cudaFree(p.ptr));
}

TEST(memset_3d_leaves_what_is_beside_the_box) {
    unsigned char out[3][4][8];
    struct cudaPitchedPtr p;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc3D(&p, extent(8, 4, 3)));
    OK(cudaMemset3D(p, 1, extent(8, 4, 3)));
    OK(cudaMemset3DAsync(p, 2, extent(5, 2, 2), s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy3D(&(struct cudaMemcpy3DParms){
        .srcPtr = p, .dstPtr = {out, 8, 8, 4}, .extent = {8, 4, 3}, .kind = cudaMemcpyDefault}));
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 8; x++)
                assert_int_equal(out[z][y][x], x < 5 && y < 2 && z < 2 ? 2 : 1);
    OK(cudaMemset3D(p, 3, extent(0, 4, 3)));
    FAILS(cudaErrorInvalidValue, cudaMemset3D(p, 3, extent(8, 4, 4)));
    OK(cudaFree(p.ptr));
    OK(cudaStreamDestroy(s));
}

TEST(boxes_that_are_not_inside_are_refused) {
    struct cudaPitchedPtr p;
    char host[64] = "";
    OK(cudaMalloc3D(&p, extent(16, 2, 2)));
    struct cudaMemcpy3DParms copy = {.srcPtr = {host, 16, 16, 2},
                                     .dstPtr = p,
                                     .extent = {16, 2, 3},
                                     .kind = cudaMemcpyHostToDevice};
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&copy));
    copy.extent.depth = 2;
    copy.srcPtr.pitch = 15;
    FAILS(cudaErrorInvalidPitchValue, cudaMemcpy3D(&copy));
    copy.srcPtr.pitch = 16;
    copy.kind = (enum cudaMemcpyKind)9;
    FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy3D(&copy));
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(NULL));
    OK(cudaFree(p.ptr));
}

TEST(boxes_go_from_device_to_device) {
    struct cudaPitchedPtr here, there;
    unsigned char out[4] = "";
    OK(cudaMalloc3D(&here, extent(4, 1, 1)));
    OK(cudaMemset3D(here, 9, extent(4, 1, 1)));
    OK(cudaSetDevice(1));
    OK(cudaMalloc3D(&there, extent(4, 1, 1)));
    struct cudaMemcpy3DPeerParms copy = {
        .srcPtr = here, .srcDevice = 0, .dstPtr = there, .dstDevice = 1, .extent = {4, 1, 1}};
    OK(cudaMemcpy3DPeer(&copy));
    OK(cudaMemcpy(out, there.ptr, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(out[3], 9);
    copy.dstDevice = 2;
    FAILS(cudaErrorInvalidDevice, cudaMemcpy3DPeer(&copy));
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DPeerAsync(NULL, NULL));
    OK(cudaFree(there.ptr));
    OK(cudaFree(here.ptr));
}

/* ---- arrays ---- */

TEST(arrays_say_what_they_are) {
    cudaArray_t a;
    struct cudaChannelFormatDesc desc;
    struct cudaExtent e;
    unsigned flags;
    OK(cudaMallocArray(&a, &floats, 20, 10, cudaArraySurfaceLoadStore));
    OK(cudaArrayGetInfo(&desc, &e, &flags, a));
    assert_memory_equal(&desc, &floats, sizeof desc);
    assert_int_equal(e.width, 20);
    assert_int_equal(e.height, 10);
    assert_int_equal(e.depth, 0);
    assert_int_equal(flags, cudaArraySurfaceLoadStore);
    memset(&desc, 0, sizeof desc);
    OK(cudaGetChannelDesc(&desc, a));
    assert_memory_equal(&desc, &floats, sizeof desc);
    OK(cudaArrayGetInfo(NULL, NULL, NULL, a));
    OK(cudaFreeArray(a));
    FAILS(cudaErrorInvalidResourceHandle, cudaArrayGetInfo(&desc, &e, &flags, a));
    FAILS(cudaErrorInvalidResourceHandle, cudaGetChannelDesc(&desc, a));
    FAILS(cudaErrorInvalidResourceHandle, cudaFreeArray(a));
    OK(cudaFreeArray(NULL));
    desc = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindSigned);
    assert_int_equal(desc.w, 8);
    assert_int_equal(desc.f, cudaChannelFormatKindSigned);
}

TEST(arrays_take_memory_of_their_device) {
    cudaArray_t a, none = (cudaArray_t)(void *)&a;
    size_t before = free_memory();
    OK(cudaMallocArray(&a, &floats, 1024, 1024, 0));
    assert_int_equal(before - free_memory(), 4 << 20);
    FAILS(cudaErrorMemoryAllocation,
          cudaMalloc3DArray(&none, &floats, extent(1024, 1024, 1024), cudaArrayDefault));
    assert_null(none);
    OK(cudaFreeArray(a));
    assert_int_equal(free_memory(), before);
}

TEST(shapes_and_formats_are_judged) {
    cudaArray_t a = NULL;
    const struct cudaChannelFormatDesc three = {8, 8, 8, 0, cudaChannelFormatKindUnsigned};
    const struct cudaChannelFormatDesc odd = {8, 16, 0, 0, cudaChannelFormatKindUnsigned};
    const struct cudaChannelFormatDesc half = {8, 0, 0, 0, cudaChannelFormatKindFloat};
    FAILS(cudaErrorInvalidValue, cudaMallocArray(NULL, &floats, 1, 1, 0));
    FAILS(cudaErrorInvalidValue, cudaMallocArray(&a, NULL, 1, 1, 0));
    FAILS(cudaErrorInvalidValue, cudaMallocArray(&a, &floats, 0, 1, 0));
    FAILS(cudaErrorInvalidValue, cudaMallocArray(&a, &floats, 1, 1, 0x1000));
    FAILS(cudaErrorInvalidValue, cudaMallocArray(&a, &floats, (size_t)1 << 40, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaMalloc3DArray(&a, &floats, extent(4, 0, 4), 0));
    FAILS(cudaErrorInvalidValue, cudaMalloc3DArray(&a, &floats, extent(4, 4, 5), cudaArrayCubemap));
    FAILS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&a, &three, 4, 4, 0));
    FAILS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&a, &odd, 4, 4, 0));
    FAILS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&a, &half, 4, 4, 0));
    FAILS(cudaErrorInvalidValue, cudaMallocArray(&a, &floats, 4, 0, cudaArraySparse));
    assert_null(a);
    OK(cudaMallocArray(&a, &floats, 4, 4, cudaArraySparse));
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &floats, extent(4, 0, 4), cudaArrayLayered));
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &floats, extent(4, 4, 6), cudaArrayCubemap));
    OK(cudaFreeArray(a));
}

TEST(boxes_of_elements_go_to_and_from_arrays) {
    enum { W = 6, H = 4, D = 3 };
    float in[D][H][W], out[D][H][W];
    cudaArray_t a, b;
    for (int i = 0; i < W * H * D; i++)
        ((float *)in)[i] = (float)i;
    memset(out, 0, sizeof out);
    OK(cudaMalloc3DArray(&a, &floats, extent(W, H, D), 0));
    OK(cudaMalloc3DArray(&b, &floats, extent(W, H, D), 0));
    /* A kind that says that an array is the host's is put right. */
    OK(cudaMemcpy3D(&(struct cudaMemcpy3DParms){.srcPtr = {in, sizeof in[0][0], W, H},
                                                .dstArray = a,
                                                .extent = {W, H, D},
                                                .kind = cudaMemcpyHostToHost}));
    OK(cudaMemcpy3D(&(struct cudaMemcpy3DParms){.srcArray = a,
                                                .srcPos = {1, 1, 1},
                                                .dstArray = b,
                                                .dstPos = {2, 1, 0},
                                                .extent = {4, 3, 2},
                                                .kind = cudaMemcpyDeviceToDevice}));
    OK(cudaMemcpy3D(&(struct cudaMemcpy3DParms){.srcArray = b,
                                                .dstPtr = {out, sizeof out[0][0], W, H},
                                                .extent = {W, H, D},
                                                .kind = cudaMemcpyDeviceToHost}));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 4; x++)
                assert_true(out[z][y + 1][x + 2] == in[z + 1][y + 1][x + 1]);
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy3D(&(struct cudaMemcpy3DParms){.srcArray = a,
                                                   .dstArray = b,
                                                   .dstPos = {1, 0, 0},
                                                   .extent = {W, H, D},
                                                   .kind = cudaMemcpyDefault}));
    OK(cudaFreeArray(a));
    FAILS(cudaErrorInvalidResourceHandle,
          cudaMemcpy3D(&(struct cudaMemcpy3DParms){
              .srcArray = a, .dstArray = b, .extent = {W, H, D}, .kind = cudaMemcpyDefault}));
    OK(cudaFreeArray(b));
}

TEST(arrays_of_other_elements_are_not_copied) {
    cudaArray_t a, b;
    const struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    OK(cudaMallocArray(&a, &floats, 8, 8, 0));
    OK(cudaMallocArray(&b, &bytes, 8, 8, 0));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy3D(&(struct cudaMemcpy3DParms){
              .srcArray = a, .dstArray = b, .extent = {8, 8, 1}, .kind = cudaMemcpyDefault}));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

TEST(rows_of_bytes_go_to_and_from_arrays) {
    unsigned short in[5][8], out[5][8];
    cudaArray_t a, b;
    cudaStream_t s;
    for (int i = 0; i < 40; i++)
        ((unsigned short *)in)[i] = (unsigned short)i;
    memset(out, 0, sizeof out);
    OK(cudaStreamCreate(&s));
    OK(cudaMallocArray(&a, &pairs, 4, 5, 0)); /* rows of 16 bytes */
    OK(cudaMallocArray(&b, &pairs, 4, 5, 0));
    OK(cudaMemcpy2DToArray(a, 0, 0, in, 16, 16, 5, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(b, 4, 1, a, 0, 0, 12, 4, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2DFromArrayAsync(out, 16, b, 0, 0, 16, 5, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    for (int y = 1; y < 5; y++)
        for (int x = 2; x < 8; x++)
            assert_int_equal(out[y][x], in[y - 1][x - 2]);
    OK(cudaMemcpy2DToArray(a, 2, 0, in, 16, 12, 1, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2DToArray(a, 0, 1, in, 16, 16, 5, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidPitchValue,
          cudaMemcpy2DToArray(a, 0, 0, in, 15, 16, 2, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2DToArray(a, 0, 0, in, 15, 16, 1, cudaMemcpyHostToDevice));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
    OK(cudaStreamDestroy(s));
}

TEST(rows_need_not_be_of_whole_elements) {
    unsigned char in[32], out[32];
    const unsigned char zeros[32] = {0};
    cudaArray_t a, b;
    for (unsigned char i = 0; i < 32; i++)
        in[i] = (unsigned char)(i + 1);
    OK(cudaMallocArray(&a, &pairs, 4, 2, 0));
    OK(cudaMallocArray(&b, &pairs, 4, 2, 0));
    OK(cudaMemcpy2DToArray(a, 0, 0, zeros, 16, 16, 2, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(b, 0, 0, zeros, 16, 16, 2, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(a, 3, 0, in, 16, 7, 2, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(b, 1, 0, a, 3, 0, 6, 2, cudaMemcpyDeviceToDevice));
    memset(out, 0, sizeof out);
    OK(cudaMemcpy2DFromArray(out, 16, a, 0, 0, 16, 2, cudaMemcpyDeviceToHost));
    assert_memory_equal(out, zeros, 3);
    assert_memory_equal(out + 3, in, 7);
    assert_memory_equal(out + 10, zeros, 9);
    assert_memory_equal(out + 19, in + 16, 7);
    assert_memory_equal(out + 26, zeros, 6);
    memset(out, 0, sizeof out);
    OK(cudaMemcpy2DFromArray(out, 16, b, 2, 0, 6, 2, cudaMemcpyDeviceToHost));
    assert_memory_equal(out, in + 1, 5);
    assert_memory_equal(out + 16, in + 17, 5);
    assert_int_equal(out[5], 0);
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2DToArray(a, 2, 0, in, 16, 16, 1, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpy2DFromArray(out, 16, a, 1, 1, 16, 1, cudaMemcpyDeviceToHost));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

TEST(such_rows_are_captured) {
    const unsigned char in[16] = {1, 2, 3, 4, 5}, zeros[16] = {0};
    unsigned char out[16];
    cudaArray_t a;
    cudaStream_t s;
    cudaGraph_t graph, clone;
    cudaGraphExec_t exec;
    OK(cudaMallocArray(&a, &pairs, 4, 1, 0));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaMemcpy2DToArrayAsync(a, 3, 0, in, 16, 5, 1, cudaMemcpyHostToDevice, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphClone(&clone, graph));
    cudaGraph_t both[] = {graph, clone};
    for (size_t i = 0; i < 2; i++) {
        OK(cudaMemcpy2DToArray(a, 0, 0, zeros, 16, 16, 1, cudaMemcpyHostToDevice));
        OK(cudaGraphInstantiate(&exec, both[i], 0));
        OK(cudaGraphLaunch(exec, s));
        OK(cudaStreamSynchronize(s));
        OK(cudaMemcpy2DFromArray(out, 16, a, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
        assert_memory_equal(out, zeros, 3);
        assert_memory_equal(out + 3, in, 5);
        assert_memory_equal(out + 8, zeros, 8);
        OK(cudaGraphExecDestroy(exec));
        OK(cudaGraphDestroy(both[i]));
    }
    OK(cudaStreamDestroy(s));
    OK(cudaFreeArray(a));
}

TEST(runs_of_bytes_go_on_in_the_next_row) {
    unsigned char in[64], out[64];
    cudaArray_t a, b;
    const struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    for (int i = 0; i < 64; i++)
        in[i] = (unsigned char)(i + 1);
    memset(out, 0, sizeof out);
    OK(cudaMallocArray(&a, &bytes, 10, 6, 0));
    OK(cudaMallocArray(&b, &bytes, 7, 9, 0));
    OK(cudaMemcpyToArray(a, 8, 0, in, 50, cudaMemcpyHostToDevice));
    OK(cudaMemcpyArrayToArray(b, 5, 0, a, 9, 0, 49, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(out, b, 5, 0, 49, cudaMemcpyDeviceToHost));
    assert_memory_equal(out, in + 1, 49);
    FAILS(cudaErrorInvalidValue, cudaMemcpyToArray(a, 8, 0, in, 53, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToArray(a, 8, 0, in, 52, cudaMemcpyHostToDevice));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

TEST(a_copy_into_an_array_is_in_the_order_of_its_stream) {
    float value = 4, out = 0;
    cudaArray_t a;
    cudaStream_t s;
    blocker g = {0};
    void *pinned;
    OK(cudaStreamCreate(&s));
    OK(cudaMallocHost(&pinned, sizeof value));
    OK(cudaMallocArray(&a, &floats, 1, 1, 0));
    *(float *)pinned = 1;
    OK(cudaLaunchHostFunc(s, wait_until_unblocked, &g));
    OK(cudaMemcpy2DToArrayAsync(a, 0, 0, pinned, 4, 4, 1, cudaMemcpyHostToDevice, s));
    *(float *)pinned = value;
    atomic_store(&g.is_open, 1);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy2DFromArray(&out, 4, a, 0, 0, 4, 1, cudaMemcpyDeviceToHost));
    assert_true(out == value);
    OK(cudaFreeArray(a));
    OK(cudaFreeHost(pinned));
    OK(cudaStreamDestroy(s));
}

TEST(what_only_other_arrays_have_is_refused) {
    cudaArray_t a, plane;
    cudaMipmappedArray_t m;
    struct cudaArrayMemoryRequirements needs;
    struct cudaArraySparseProperties sparse;
    OK(cudaMallocArray(&a, &floats, 8, 8, 0));
    OK(cudaMallocMipmappedArray(&m, &floats, extent(8, 8, 0), 1, 0));
    FAILS(cudaErrorInvalidValue, cudaArrayGetPlane(&plane, a, 0));
    FAILS(cudaErrorInvalidValue, cudaArrayGetMemoryRequirements(&needs, a, 0));
    FAILS(cudaErrorInvalidValue, cudaArrayGetSparseProperties(&sparse, a));
    FAILS(cudaErrorInvalidValue, cudaMipmappedArrayGetMemoryRequirements(&needs, m, 0));
    FAILS(cudaErrorInvalidValue, cudaMipmappedArrayGetSparseProperties(&sparse, m));
    OK(cudaFreeMipmappedArray(m));
    OK(cudaFreeArray(a));
}

/* ---- mipmapped arrays ---- */

TEST(levels_are_halves) {
    cudaMipmappedArray_t m;
    cudaArray_t level;
    struct cudaExtent e;
    size_t before = free_memory();
    OK(cudaMallocMipmappedArray(&m, &floats, extent(20, 6, 0), 100, 0));
    const struct cudaExtent expected[] = {{20, 6, 0}, {10, 3, 0}, {5, 1, 0}, {2, 1, 0}, {1, 1, 0}};
    for (unsigned i = 0; i < 5; i++) {
        OK(cudaGetMipmappedArrayLevel(&level, m, i));
        OK(cudaArrayGetInfo(NULL, &e, NULL, level));
        assert_memory_equal(&e, &expected[i], sizeof e);
    }
    FAILS(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&level, m, 5));
    FAILS(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(NULL, m, 0));
    OK(cudaFreeArray(level)); /* which does nothing, as on a GPU */
    OK(cudaFreeArray(level));
    OK(cudaFreeMipmappedArray(m));
    assert_int_equal(free_memory(), before);
    FAILS(cudaErrorInvalidResourceHandle, cudaGetMipmappedArrayLevel(&level, m, 0));
    FAILS(cudaErrorInvalidResourceHandle, cudaFreeMipmappedArray(m));
    OK(cudaFreeMipmappedArray(NULL));
}

TEST(levels_are_copied_like_arrays) {
    cudaMipmappedArray_t m;
    cudaArray_t level;
    float in[2] = {3, 4}, out[2] = {0, 0};
    OK(cudaMallocMipmappedArray(&m, &floats, extent(4, 0, 0), 2, 0));
    OK(cudaGetMipmappedArrayLevel(&level, m, 1));
    OK(cudaMemcpyToArray(level, 0, 0, in, sizeof in, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(out, level, 0, 0, sizeof out, cudaMemcpyDeviceToHost));
    assert_memory_equal(in, out, sizeof in);
    OK(cudaFreeMipmappedArray(m));
}

/* ---- textures and surfaces ---- */

TEST(textures_remember_what_they_are_made_of) {
    cudaArray_t a;
    cudaTextureObject_t t;
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray}, same_r;
    struct cudaTextureDesc d = {.filterMode = cudaFilterModeLinear, .maxAnisotropy = 3}, same_d;
    struct cudaResourceViewDesc v;
    OK(cudaMallocArray(&a, &floats, 8, 8, 0));
    r.res.array.array = a;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    assert_true(t != 0);
    OK(cudaGetTextureObjectResourceDesc(&same_r, t));
    assert_ptr_equal(same_r.res.array.array, a);
    OK(cudaGetTextureObjectTextureDesc(&same_d, t));
    assert_int_equal(same_d.maxAnisotropy, 3);
    OK(cudaGetTextureObjectResourceViewDesc(&v, t)); /* though it has none */
    assert_int_equal(v.format, cudaResViewFormatNone);
    OK(cudaDestroyTextureObject(t));
    FAILS(cudaErrorInvalidValue, cudaGetTextureObjectTextureDesc(&same_d, t));
    OK(cudaDestroyTextureObject(t)); /* again */
    OK(cudaDestroyTextureObject(0));
    OK(cudaFreeArray(a));
}

TEST(compressed_views_make_blocks_of_elements) {
    const struct cudaChannelFormatDesc blocks = {32, 32, 0, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t a;
    cudaTextureObject_t t;
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray};
    const struct cudaTextureDesc d = {.readMode = cudaReadModeElementType};
    struct cudaResourceViewDesc v = {
        .format = cudaResViewFormatUnsignedBlockCompressed1, .width = 16, .height = 8};
    OK(cudaMallocArray(&a, &blocks, 4, 2, 0));
    r.res.array.array = a;
    OK(cudaCreateTextureObject(&t, &r, &d, &v));
    OK(cudaDestroyTextureObject(t));
    v.format = cudaResViewFormatUnsignedBlockCompressed2; /* whose blocks are larger */
    FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&t, &r, &d, &v));
    OK(cudaFreeArray(a));
    v.format = cudaResViewFormatUnsignedBlockCompressed1;
    v.depth = 2; /* of layers no GPU was asked */
    OK(cudaMalloc3DArray(&a, &blocks, (struct cudaExtent){4, 2, 2}, cudaArrayLayered));
    r.res.array.array = a;
    FAILS(cudaErrorNotSupported, cudaCreateTextureObject(&t, &r, &d, &v));
    OK(cudaFreeArray(a));
}

TEST(textures_of_memory_are_judged) {
    const struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    const struct cudaChannelFormatDesc fours = {32, 32, 32, 32, cudaChannelFormatKindFloat};
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
    r.res.linear.sizeInBytes = 1025; /* CUDA does not look at where the memory ends */
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    OK(cudaDestroyTextureObject(t));
    r.resType = (enum cudaResourceType)77;
    FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&t, &r, &d, NULL));
    FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&t, NULL, &d, NULL));
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &floats, 0));
    assert_int_equal(most, 1 << 30);
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &bytes, 0)); /* no more */
    assert_int_equal(most, 1 << 30);
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &fours, 0));
    assert_int_equal(most, 1 << 28);
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetTexture1DLinearMaxWidth(&most, &floats, 2));
    OK(cudaFree(at));
}

TEST(surfaces_are_of_arrays_made_for_them) {
    cudaArray_t plain, stored;
    cudaSurfaceObject_t s;
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray}, same;
    OK(cudaMallocArray(&plain, &floats, 8, 8, 0));
    OK(cudaMallocArray(&stored, &floats, 8, 8, cudaArraySurfaceLoadStore));
    r.res.array.array = plain;
    OK(cudaCreateSurfaceObject(&s, &r)); /* is not looked at */
    OK(cudaDestroySurfaceObject(s));
    r.res.array.array = stored;
    OK(cudaCreateSurfaceObject(&s, &r));
    OK(cudaGetSurfaceObjectResourceDesc(&same, s));
    assert_ptr_equal(same.res.array.array, stored);
    OK(cudaDestroySurfaceObject(s));
    FAILS(cudaErrorInvalidValue, cudaGetSurfaceObjectResourceDesc(&same, s));
    OK(cudaFreeArray(plain));
    OK(cudaFreeArray(stored));
}

/* ---- symbols ---- */

TEST(the_direction_of_a_copy_is_looked_at_before_the_symbol) {
    static int variable;
    int value = 0;
    FAILS(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyToSymbol(&variable, &value, sizeof value, 0, cudaMemcpyDeviceToHost));
}

TEST(what_is_left_is_a_leak) {
    cudaArray_t a;
    cudaMipmappedArray_t m;
    cudaTextureObject_t t;
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray};
    const struct cudaTextureDesc d = {.readMode = cudaReadModeElementType};
    OK(cudaMallocArray(&a, &floats, 8, 8, 0));
    OK(cudaMallocMipmappedArray(&m, &floats, extent(8, 8, 0), 2, 0));
    r.res.array.array = a;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    assert_int_equal(acu_sim_leaks(0), 3);
    OK(cudaDeviceReset());
    assert_int_equal(acu_sim_leaks(0), 0);
}

/* Neither for what copies from it on another device, nor with it. */
TEST(an_array_may_be_freed_while_another_device_copies_from_it) {
    enum { W = 16 << 10, H = 1 << 10, COPIES = 8 };
    cudaArray_t a;
    cudaStream_t stream;
    cudaEvent_t begun;
    void *to;
    OK(cudaMallocArray(&a, &floats, W, H, 0));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&begun));
    OK(cudaMalloc(&to, sizeof(float) * W * H));
    OK(cudaEventRecord(begun, stream));
    for (int i = 0; i < COPIES; i++)
        OK(cudaMemcpy2DFromArrayAsync(to, sizeof(float) * W, a, 0, 0, sizeof(float) * W, H,
                                      cudaMemcpyDeviceToDevice, stream));
    OK(cudaEventSynchronize(begun));
    for (int i = 0; i < 10; i++) /* so that the first is being done */
        pause_briefly();
    OK(cudaSetDevice(0));
    OK(cudaFreeArray(a));
    const cudaError_t result = cudaStreamSynchronize(stream); /* some may have been too late */
    assert_true(result == cudaSuccess || result == cudaErrorIllegalAddress);
    acu_sim_reset(MACHINE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(malloc_3d_says_how_it_lies),
        T(a_box_is_copied_into_a_box_and_nothing_beside_it),
        T(memset_3d_leaves_what_is_beside_the_box),
        T(boxes_that_are_not_inside_are_refused),
        T(boxes_go_from_device_to_device),
        T(arrays_say_what_they_are),
        T(arrays_take_memory_of_their_device),
        T(shapes_and_formats_are_judged),
        T(boxes_of_elements_go_to_and_from_arrays),
        T(arrays_of_other_elements_are_not_copied),
        T(rows_of_bytes_go_to_and_from_arrays),
        T(rows_need_not_be_of_whole_elements),
        T(such_rows_are_captured),
        T(runs_of_bytes_go_on_in_the_next_row),
        T(a_copy_into_an_array_is_in_the_order_of_its_stream),
        T(what_only_other_arrays_have_is_refused),
        T(levels_are_halves),
        T(levels_are_copied_like_arrays),
        T(textures_remember_what_they_are_made_of),
        T(compressed_views_make_blocks_of_elements),
        T(textures_of_memory_are_judged),
        T(surfaces_are_of_arrays_made_for_them),
        T(the_direction_of_a_copy_is_looked_at_before_the_symbol),
        T(what_is_left_is_a_leak),
        T(an_array_may_be_freed_while_another_device_copies_from_it),
    };
    return RUN(tests);
}
