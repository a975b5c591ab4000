/* Copies with attributes and in batches; prefetches and discards in batches. */
#include "conformance.h"

static struct cudaMemcpyAttributes in_order = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};

CASE(many_copies_in_one_call) {
    char in[3][8] = {"first", "second", "third"}, out[3][8] = {"", "", ""};
    char *at;
    cudaStream_t s;
    size_t sizes[3] = {8, 8, 8}, first[1] = {0};
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&at, 24));
    void *dsts[3] = {at, at + 8, at + 16}, *outs[3] = {out[0], out[1], out[2]};
    const void *srcs[3] = {in[0], in[1], in[2]}, *ats[3] = {at, at + 8, at + 16};
    OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, &in_order, first, 1, s));
    OK(cudaMemcpyBatchAsync(outs, ats, sizes, 3, &in_order, first, 1, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(memcmp(in, out, sizeof in), 0);
    OK(cudaFree(at));
    OK(cudaStreamDestroy(s));
}

CASE(batches_that_are_wrong) {
    char in[2] = {1, 2};
    char *at;
    cudaStream_t s;
    size_t sizes[2] = {1, 1}, first[2] = {0, 1}, late[1] = {1}, same[2] = {0, 0};
    struct cudaMemcpyAttributes both[2] = {in_order, in_order}, none = {.srcAccessOrder = 0};
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&at, 2));
    void *dsts[2] = {at, at + 1};
    const void *srcs[2] = {in, in + 1};
    OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, both, first, 2, s));
    FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(dsts, srcs, sizes, 0, both, first, 1, s));
    FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, both, late, 1, s));
    FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, both, same, 2, s));
    FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &none, first, 1, s));
    FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, both, first, 0, s));
    SAYS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, both, first, 2, NULL));
    sizes[1] = 0;
    FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, both, first, 2, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(at));
    OK(cudaStreamDestroy(s));
}

CASE(boxes_in_one_call) {
    const struct cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    float in[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, out[2][2] = {{0, 0}, {0, 0}};
    cudaArray_t a;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMallocArray(&a, &floats, 4, 2, 0));
    struct cudaMemcpy3DBatchOp op = {
        .src = {.type = cudaMemcpyOperandTypePointer, .op.ptr = {.ptr = in}},
        .dst = {.type = cudaMemcpyOperandTypeArray, .op.array = {.array = a}},
        .extent = {4, 2, 1},
        .srcAccessOrder = cudaMemcpySrcAccessOrderStream,
    };
    OK(cudaMemcpy3DBatchAsync(1, &op, 0, s));
    op.src = (struct cudaMemcpy3DOperand){.type = cudaMemcpyOperandTypeArray,
                                          .op.array = {.array = a, .offset = {1, 0, 0}}};
    op.dst = (struct cudaMemcpy3DOperand){.type = cudaMemcpyOperandTypePointer,
                                          .op.ptr = {.ptr = out, .rowLength = 2}};
    op.extent.width = 2;
    OK(cudaMemcpy3DBatchAsync(1, &op, 0, s));
    OK(cudaStreamSynchronize(s));
    IS(out[0][0] == 2 && out[0][1] == 3 && out[1][0] == 6 && out[1][1] == 7);
    op.dst.op.ptr.rowLength = 1;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(1, &op, 0, s));
    op.dst.op.ptr.rowLength = 2;
    op.extent.depth = 0;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(1, &op, 0, s));
    op.extent.depth = 1;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(1, &op, 1, s));
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(0, &op, 0, s));
    OK(cudaFreeArray(a));
    OK(cudaStreamDestroy(s));
}

static struct cudaMemcpy3DOperand in_array(cudaArray_t array, size_t x, size_t y, size_t z) {
    return (struct cudaMemcpy3DOperand){.type = cudaMemcpyOperandTypeArray,
                                        .op.array = {.array = array, .offset = {x, y, z}}};
}

/* Rows and positions count elements; layers are slices, and a level is an array. */
CASE(boxes_of_arrays_in_one_call) {
    const struct cudaChannelFormatDesc pairs = {32, 32, 0, 0, cudaChannelFormatKindFloat};
    float in[4][8], out[4][8] = {{0}};
    cudaArray_t layers, level;
    cudaMipmappedArray_t mipmap;
    cudaStream_t s;
    for (int i = 0; i < 32; i++)
        ((float *)in)[i] = (float)i;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc3DArray(&layers, &pairs, (struct cudaExtent){4, 4, 3}, cudaArrayLayered));
    OK(cudaMallocMipmappedArray(&mipmap, &pairs, (struct cudaExtent){8, 8, 0}, 2, 0));
    OK(cudaGetMipmappedArrayLevel(&level, mipmap, 1));
    const struct cudaMemcpy3DOperand rows = {
        .type = cudaMemcpyOperandTypePointer,
        .op.ptr = {.ptr = in, .rowLength = 4, .layerHeight = 2}};
    struct cudaMemcpy3DBatchOp ops[] = {
        {rows, in_array(layers, 2, 1, 1), {2, 2, 2}, cudaMemcpySrcAccessOrderStream, 0},
        {rows, in_array(level, 0, 0, 0), {4, 4, 1}, cudaMemcpySrcAccessOrderStream, 0}};
    ops[1].src.op.ptr.layerHeight = 4;
    OK(cudaMemcpy3DBatchAsync(2, ops, 0, s));
    ops[0].src = in_array(layers, 2, 1, 2);
    ops[0].dst = in_array(level, 0, 0, 0);
    ops[0].extent.depth = 1;
    ops[1].src = in_array(level, 2, 2, 0); /* beside the other one, in the same array */
    ops[1].dst = in_array(level, 2, 0, 0);
    ops[1].extent = (struct cudaExtent){2, 2, 1};
    OK(cudaMemcpy3DBatchAsync(2, ops, 0, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy2DFromArray(out, 32, level, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    IS(out[0][0] == in[2][0] && out[1][3] == in[3][3]);
    IS(out[0][4] == in[2][4] && out[1][7] == in[3][7] && out[2][0] == in[2][0]);
    OK(cudaFreeMipmappedArray(mipmap));
    OK(cudaFreeArray(layers));
    OK(cudaStreamDestroy(s));
}

CASE(a_copy_with_attributes) {
    char in = 5, out = 0;
    void *at;
    cudaStream_t s;
    struct cudaMemcpyAttributes at_once = {.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall};
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&at, 1));
    if (driver() < 13020) { /* its own function is missing */
        FAILS(cudaErrorCallRequiresNewerDriver,
              cudaMemcpyWithAttributesAsync(at, &in, 1, &at_once, s));
        OK(cudaFree(at));
        OK(cudaStreamDestroy(s));
        return;
    }
    OK(cudaMemcpyWithAttributesAsync(at, &in, 1, &at_once, s));
    in = 6;
    OK(cudaMemcpyWithAttributesAsync(&out, at, 1, &in_order, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(out, 5);
    FAILS(cudaErrorInvalidValue, cudaMemcpyWithAttributesAsync(at, &in, 1, NULL, s));
    OK(cudaFree(at));
    OK(cudaStreamDestroy(s));
}

CASE(prefetches_and_discards_in_one_call) {
    void *at;
    cudaStream_t s;
    struct cudaMemLocation to = {cudaMemLocationTypeDevice, {.id = 0}};
    size_t size = MIB, first = 0;
    OK(cudaStreamCreate(&s));
    OK(cudaMallocManaged(&at, size, cudaMemAttachGlobal));
    OK(cudaMemPrefetchBatchAsync(&at, &size, 1, &to, &first, 1, 0, s));
    OK(cudaMemDiscardBatchAsync(&at, &size, 1, 0, s));
    OK(cudaMemDiscardAndPrefetchBatchAsync(&at, &size, 1, &to, &first, 1, 0, s));
    OK(cudaStreamSynchronize(s));
    FAILS(cudaErrorInvalidValue, cudaMemDiscardBatchAsync(&at, &size, 1, 1, s));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchBatchAsync(&at, &size, 0, &to, &first, 1, 0, s));
    SAYS(cudaErrorInvalidValue, cudaMemDiscardBatchAsync(&at, &size, 1, 0, NULL));
    (void)cudaGetLastError();
    OK(cudaFree(at));
    OK(cudaStreamDestroy(s));
}

CASE(where_managed_memory_is) {
    void *at;
    cudaStream_t s;
    struct cudaMemLocation to = {cudaMemLocationTypeDevice, {.id = 0}}, where = {0};
    size_t size = MIB, first = 0;
    OK(cudaStreamCreate(&s));
    OK(cudaMallocManaged(&at, size, cudaMemAttachGlobal));
    OK(cudaMemPrefetchBatchAsync(&at, &size, 1, &to, &first, 1, 0, s));
    OK(cudaStreamSynchronize(s));
    if (driver() < 13040) { /* its own function is missing */
        FAILS(cudaErrorCallRequiresNewerDriver, cudaMemGetLocationInfo(at, size, size, 0, &where));
    } else {
        OK(cudaMemGetLocationInfo(at, size, size, 0, &where));
        EQUAL(where.type, cudaMemLocationTypeDevice);
        EQUAL(where.id, 0);
        FAILS(cudaErrorInvalidValue, cudaMemGetLocationInfo(at, size, 0, 0, &where));
    }
    OK(cudaFree(at));
    OK(cudaStreamDestroy(s));
}
