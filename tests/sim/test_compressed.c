/* Compressed arrays: what they take, how their blocks are copied, and what no GPU was asked. */
#include "sim_test.h"

static const struct cudaChannelFormatDesc bc1 = {8, 8, 8, 8,
                                                 cudaChannelFormatKindUnsignedBlockCompressed1};
static const struct cudaChannelFormatDesc bc4 = {8, 0, 0, 0,
                                                 cudaChannelFormatKindUnsignedBlockCompressed4};
static const struct cudaChannelFormatDesc doubles = {32, 32, 0, 0, cudaChannelFormatKindUnsigned};

enum { WIDTH = 16, HEIGHT = 8, BLOCK = 8, ROW = WIDTH / 4 * BLOCK, ROWS = HEIGHT / 4 };

static struct cudaExtent extent(size_t width, size_t height, size_t depth) {
    return (struct cudaExtent){width, height, depth};
}

static size_t free_memory(void) {
    size_t left, total;
    OK(cudaMemGetInfo(&left, &total));
    return left;
}

/* The copy of texels between the host's blocks and an array. */
static struct cudaMemcpy3DParms to_array(cudaArray_t array, void *blocks) {
    return (struct cudaMemcpy3DParms){.srcPtr = {blocks, ROW, WIDTH / 4, ROWS},
                                      .dstArray = array,
                                      .extent = {WIDTH, HEIGHT, 1},
                                      .kind = cudaMemcpyHostToDevice};
}

static struct cudaMemcpy3DParms from_array(cudaArray_t array, void *blocks) {
    return (struct cudaMemcpy3DParms){.dstPtr = {blocks, ROW, WIDTH / 4, ROWS},
                                      .srcArray = array,
                                      .extent = {WIDTH, HEIGHT, 1},
                                      .kind = cudaMemcpyDeviceToHost};
}

TEST(arrays_take_memory_of_their_blocks) {
    enum { SIDE = 4096 };
    cudaArray_t a;
    struct cudaExtent e;
    const size_t before = free_memory();
    OK(cudaMallocArray(&a, &bc1, SIDE, SIDE, 0));
    assert_int_equal(before - free_memory(), SIDE / 4 * (SIDE / 4) * BLOCK);
    OK(cudaArrayGetInfo(NULL, &e, NULL, a));
    assert_int_equal(e.width, SIDE);
    OK(cudaFreeArray(a));
    assert_int_equal(free_memory(), before);
}

TEST(blocks_are_copied_by_texels) {
    unsigned char in[ROWS * ROW], out[ROWS * ROW] = {0}, part[BLOCK] = {0};
    cudaArray_t a;
    for (int i = 0; i < ROWS * ROW; i++)
        in[i] = (unsigned char)(i + 1);
    OK(cudaMallocArray(&a, &bc1, WIDTH, HEIGHT, 0));
    struct cudaMemcpy3DParms p = to_array(a, in);
    OK(cudaMemcpy3D(&p));
    p = from_array(a, out);
    OK(cudaMemcpy3D(&p));
    assert_memory_equal(in, out, sizeof in);
    p = from_array(a, part); /* one block of the second row */
    p.srcPos = (struct cudaPos){8, 4, 0};
    p.extent = extent(4, 4, 1);
    p.dstPtr = (struct cudaPitchedPtr){part, BLOCK, 1, 1};
    OK(cudaMemcpy3D(&p));
    assert_memory_equal(part, in + ROW + 2 * BLOCK, BLOCK);
    OK(cudaFreeArray(a));
}

TEST(a_node_reports_texels) {
    unsigned char in[ROWS * ROW], out[ROWS * ROW] = {0};
    cudaArray_t a;
    cudaGraph_t graph;
    cudaGraphNode_t node, next;
    cudaGraphExec_t exec;
    memset(in, 7, sizeof in);
    OK(cudaMallocArray(&a, &bc1, WIDTH, HEIGHT, 0));
    OK(cudaGraphCreate(&graph, 0));
    struct cudaMemcpy3DParms p = to_array(a, in), reported;
    OK(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &p));
    p = from_array(a, out);
    OK(cudaGraphAddMemcpyNode(&next, graph, &node, 1, &p));
    OK(cudaGraphMemcpyNodeGetParams(node, &reported));
    assert_int_equal(reported.extent.width, WIDTH);
    assert_int_equal(reported.extent.height, HEIGHT);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    assert_memory_equal(in, out, sizeof in);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeArray(a));
}

TEST(other_copies_are_refused) {
    unsigned char blocks[ROWS * ROW] = {0};
    cudaArray_t a, plain;
    OK(cudaMallocArray(&a, &bc1, WIDTH, HEIGHT, 0));
    OK(cudaMallocArray(&plain, &doubles, WIDTH, HEIGHT, 0));
    FAILS(cudaErrorNotSupported,
          cudaMemcpy2DToArray(a, 0, 0, blocks, ROW, ROW, ROWS, cudaMemcpyHostToDevice));
    FAILS(cudaErrorNotSupported,
          cudaMemcpyFromArray(blocks, a, 0, 0, BLOCK, cudaMemcpyDeviceToHost));
    struct cudaMemcpy3DParms p = to_array(a, blocks);
    p.extent.width = 6; /* no whole blocks */
    FAILS(cudaErrorNotSupported, cudaMemcpy3D(&p));
    p = to_array(a, blocks);
    p.extent = extent(4, 4, 1);
    p.dstPos.y = 2;
    FAILS(cudaErrorNotSupported, cudaMemcpy3D(&p));
    p.dstPos.y = 8; /* beyond */
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    p = to_array(a, blocks);
    p.srcPos.x = 4; /* of memory, in blocks or bytes */
    FAILS(cudaErrorNotSupported, cudaMemcpy3D(&p));
    p = (struct cudaMemcpy3DParms){.srcArray = plain,
                                   .dstArray = a,
                                   .extent = extent(4, 4, 1),
                                   .kind = cudaMemcpyDeviceToDevice};
    FAILS(cudaErrorNotSupported, cudaMemcpy3D(&p));
    OK(cudaFreeArray(plain));
    OK(cudaFreeArray(a));
}

/* The last blocks of a row and of a column may end behind the array. */
TEST(blocks_at_an_edge_are_whole) {
    enum { W = 10, H = 6, BLOCKS = 3 * 2 };
    unsigned char in[BLOCKS * BLOCK], out[BLOCKS * BLOCK] = {0}, last[BLOCK] = {0};
    cudaArray_t a;
    for (int i = 0; i < BLOCKS * BLOCK; i++)
        in[i] = (unsigned char)(i + 1);
    OK(cudaMallocArray(&a, &bc1, W, H, 0));
    struct cudaMemcpy3DParms p = {.srcPtr = {in, 3 * BLOCK, 3, 2},
                                  .dstArray = a,
                                  .extent = extent(W, H, 1),
                                  .kind = cudaMemcpyHostToDevice};
    OK(cudaMemcpy3D(&p));
    p = (struct cudaMemcpy3DParms){.dstPtr = {out, 3 * BLOCK, 3, 2},
                                   .srcArray = a,
                                   .extent = extent(W, H, 1),
                                   .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&p));
    assert_memory_equal(in, out, sizeof in);
    p.dstPtr = (struct cudaPitchedPtr){last, BLOCK, 1, 1};
    p.srcPos = (struct cudaPos){8, 4, 0};
    p.extent = extent(2, 2, 1);
    OK(cudaMemcpy3D(&p));
    assert_memory_equal(last, in + 5 * BLOCK, BLOCK);
    p.srcPos = (struct cudaPos){4, 4, 0};
    FAILS(cudaErrorNotSupported, cudaMemcpy3D(&p)); /* no whole block */
    OK(cudaFreeArray(a));
}

/* Returns the bytes of a block that is written to a slice of an array, and read back. */
static int slice_of(cudaArray_t array, size_t slice) {
    unsigned char in[BLOCK], out[BLOCK] = {0};
    memset(in, (int)slice + 1, sizeof in);
    struct cudaMemcpy3DParms p = {.srcPtr = {in, BLOCK, 1, 1},
                                  .dstArray = array,
                                  .dstPos = {4, 4, slice},
                                  .extent = extent(4, 4, 1),
                                  .kind = cudaMemcpyHostToDevice};
    OK(cudaMemcpy3D(&p));
    p = (struct cudaMemcpy3DParms){.dstPtr = {out, BLOCK, 1, 1},
                                   .srcArray = array,
                                   .srcPos = {4, 4, slice},
                                   .extent = extent(4, 4, 1),
                                   .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&p));
    return out[BLOCK - 1];
}

TEST(there_are_slices_layers_and_cubes) {
    static const struct {
        size_t depth;
        unsigned flags;
    } shapes[] = {{4, 0}, {3, cudaArrayLayered}, {6, cudaArrayCubemap}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        cudaArray_t a;
        OK(cudaMalloc3DArray(&a, &bc1, extent(8, 8, shapes[i].depth), shapes[i].flags));
        assert_int_equal(slice_of(a, 0), 1);
        assert_int_equal(slice_of(a, shapes[i].depth - 1), shapes[i].depth);
        OK(cudaFreeArray(a));
    }
}

TEST(levels_have_a_block_at_least) {
    cudaMipmappedArray_t m;
    cudaArray_t level;
    struct cudaExtent e;
    const size_t before = free_memory();
    OK(cudaMallocMipmappedArray(&m, &bc4, extent(8, 8, 0), 4, 0));
    OK(cudaGetMipmappedArrayLevel(&level, m, 3));
    OK(cudaArrayGetInfo(NULL, &e, NULL, level));
    assert_int_equal(e.width, 1);
    unsigned char in[BLOCK] = {1, 2, 3}, out[BLOCK] = {0};
    struct cudaMemcpy3DParms p = {.srcPtr = {in, BLOCK, 1, 1},
                                  .dstArray = level,
                                  .extent = extent(1, 1, 1),
                                  .kind = cudaMemcpyHostToDevice};
    OK(cudaMemcpy3D(&p));
    p = (struct cudaMemcpy3DParms){.dstPtr = {out, BLOCK, 1, 1},
                                   .srcArray = level,
                                   .extent = extent(1, 1, 1),
                                   .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&p));
    assert_memory_equal(in, out, sizeof in);
    OK(cudaFreeMipmappedArray(m));
    assert_int_equal(free_memory(), before);
}

/* GPUs refuse those of one dimension; of the others none was asked. */
TEST(other_compressed_arrays_are_refused) {
    struct cudaChannelFormatDesc wrong = bc4;
    cudaArray_t a;
    wrong.y = 8;
    FAILS(cudaErrorNotSupported, cudaMallocArray(&a, &wrong, WIDTH, HEIGHT, 0));
    FAILS(cudaErrorInvalidValue, cudaMallocArray(&a, &bc4, WIDTH, 0, 0));
    FAILS(cudaErrorInvalidValue,
          cudaMalloc3DArray(&a, &bc4, extent(WIDTH, 0, 2), cudaArrayLayered));
    FAILS(cudaErrorNotSupported,
          cudaMallocArray(&a, &bc4, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    FAILS(cudaErrorNotSupported, cudaMalloc3DArray(&a, &bc4, extent(8, 8, 12),
                                                   cudaArrayLayered | cudaArraySurfaceLoadStore));
    FAILS(cudaErrorInvalidValue, cudaMallocArray(&a, &bc4, 4 << 20, HEIGHT, 0));
}

TEST(cubes_and_their_levels_are_compressed) {
    cudaArray_t a;
    cudaMipmappedArray_t m;
    OK(cudaMalloc3DArray(&a, &bc4, extent(8, 8, 12), cudaArrayLayered | cudaArrayCubemap));
    OK(cudaFreeArray(a));
    OK(cudaMallocMipmappedArray(&m, &bc4, extent(WIDTH, HEIGHT, 4), 2, 0));
    OK(cudaFreeMipmappedArray(m));
    OK(cudaMallocMipmappedArray(&m, &bc4, extent(8, 8, 3), 2, cudaArrayLayered));
    OK(cudaFreeMipmappedArray(m));
    OK(cudaMallocMipmappedArray(&m, &bc4, extent(8, 8, 6), 2, cudaArrayCubemap));
    OK(cudaFreeMipmappedArray(m));
}

TEST(textures_read_them_as_their_format_says) {
    cudaArray_t a;
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    OK(cudaMallocArray(&a, &bc1, WIDTH, HEIGHT, 0));
    const struct cudaResourceDesc r = {.resType = cudaResourceTypeArray, .res.array.array = a};
    struct cudaTextureDesc d = {.readMode = cudaReadModeNormalizedFloat};
    struct cudaResourceViewDesc v = {
        .format = cudaResViewFormatUnsignedBlockCompressed1, .width = WIDTH, .height = HEIGHT};
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    OK(cudaDestroyTextureObject(t));
    FAILS(cudaErrorNotSupported, cudaCreateTextureObject(&t, &r, &d, &v));
    d.sRGB = 1;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    OK(cudaDestroyTextureObject(t));
    d = (struct cudaTextureDesc){.readMode = cudaReadModeElementType};
    FAILS(cudaErrorNotSupported, cudaCreateTextureObject(&t, &r, &d, NULL));
    FAILS(cudaErrorNotSupported, cudaCreateSurfaceObject(&s, &r));
    OK(cudaFreeArray(a));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(arrays_take_memory_of_their_blocks),
        T(blocks_are_copied_by_texels),
        T(a_node_reports_texels),
        T(other_copies_are_refused),
        T(blocks_at_an_edge_are_whole),
        T(there_are_slices_layers_and_cubes),
        T(levels_have_a_block_at_least),
        T(other_compressed_arrays_are_refused),
        T(cubes_and_their_levels_are_compressed),
        T(textures_read_them_as_their_format_says),
    };
    return RUN(tests);
}
