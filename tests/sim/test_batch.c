/* Copies with attributes, and of many ranges; prefetches and discards of many. */
#include "sim_test.h"

static cudaStream_t stream;

static int begin_with_stream(void **state) {
    begin(state);
    OK(cudaStreamCreate(&stream));
    return 0;
}

static int end_with_stream(void **state) {
    OK(cudaStreamDestroy(stream));
    return end(state);
}

#define S(name) cmocka_unit_test_setup_teardown(name, begin_with_stream, end_with_stream)

static struct cudaMemcpyAttributes in_order = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
static struct cudaMemcpyAttributes at_once = {.srcAccessOrder =
                                                  cudaMemcpySrcAccessOrderDuringApiCall};

TEST(many_copies_in_one_call) {
    char in[3][8] = {"first", "second", "third"}, out[3][8] = {"", "", ""};
    char *at;
    OK(cudaMalloc((void **)&at, 24));
    void *dsts[3] = {at, at + 8, at + 16}, *outs[3] = {out[0], out[1], out[2]};
    const void *srcs[3] = {in[0], in[1], in[2]}, *ats[3] = {at, at + 8, at + 16};
    size_t sizes[3] = {8, 8, 8}, first[2] = {0, 2};
    struct cudaMemcpyAttributes both[2] = {in_order, at_once};
    OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, both, first, 2, stream));
    OK(cudaMemcpyBatchAsync(outs, ats, sizes, 3, &in_order, first, 1, stream));
    OK(cudaStreamSynchronize(stream));
    assert_memory_equal(in, out, sizeof in);
    OK(cudaFree(at));
}

TEST(batches_are_judged_as_a_whole) {
    char in[2] = {1, 2};
    char *at;
    OK(cudaMalloc((void **)&at, 2));
    OK(cudaMemset(at, 9, 2));
    void *dsts[2] = {at, at + 1};
    const void *srcs[2] = {in, in + 1};
    size_t sizes[2] = {1, 2}, first[2] = {0, 1}, late[1] = {1}, same[2] = {0, 0};
    struct cudaMemcpyAttributes both[2] = {in_order, {.srcAccessOrder = 0}};
    FAILS(cudaErrorInvalidValue, /* the second runs over the end */
          cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &in_order, first, 1, stream));
    sizes[1] = 1;
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(dsts, srcs, sizes, 0, &in_order, first, 1, stream));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &in_order, late, 1, stream));
    FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, both, same, 2, stream));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, both, first, 2, stream));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &in_order, first, 0, stream));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, NULL, first, 1, stream));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &in_order, first, 1, NULL));
    char out[2];
    OK(cudaMemcpy(out, at, 2, cudaMemcpyDeviceToHost));
    assert_int_equal(out[0], 9);
    OK(cudaFree(at));
}

TEST(a_source_that_is_read_during_the_call_may_change_after_it) {
    blocker g = {0};
    int *pinned, out[2];
    void *at;
    OK(cudaMallocHost((void **)&pinned, 2 * sizeof *pinned));
    OK(cudaMalloc(&at, 2 * sizeof *pinned));
    pinned[0] = pinned[1] = 1;
    OK(cudaLaunchHostFunc(stream, wait_until_unblocked, &g));
    OK(cudaMemcpyWithAttributesAsync(at, pinned, 4, &at_once, stream));
    OK(cudaMemcpyWithAttributesAsync((char *)at + 4, pinned + 1, 4, &in_order, stream));
    pinned[0] = pinned[1] = 2;
    atomic_store(&g.is_open, 1);
    OK(cudaMemcpyAsync(out, at, sizeof out, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(out[0], 1);
    assert_int_equal(out[1], 2);
    FAILS(cudaErrorInvalidValue, cudaMemcpyWithAttributesAsync(at, pinned, 4, NULL, stream));
    OK(cudaFree(at));
    OK(cudaFreeHost(pinned));
}

TEST(boxes_in_one_call) {
    const struct cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    float in[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, out[2][2] = {{0, 0}, {0, 0}};
    cudaArray_t a;
    OK(cudaMallocArray(&a, &floats, 4, 2, 0));
    struct cudaMemcpy3DBatchOp op = {
        .src = {.type = cudaMemcpyOperandTypePointer, .op.ptr = {.ptr = in}},
        .dst = {.type = cudaMemcpyOperandTypeArray, .op.array = {.array = a}},
        .extent = {4, 2, 1},
        .srcAccessOrder = cudaMemcpySrcAccessOrderStream,
    };
    OK(cudaMemcpy3DBatchAsync(1, &op, 0, stream));
    op.src = (struct cudaMemcpy3DOperand){.type = cudaMemcpyOperandTypeArray,
                                          .op.array = {.array = a, .offset = {1, 0, 0}}};
    op.dst = (struct cudaMemcpy3DOperand){.type = cudaMemcpyOperandTypePointer,
                                          .op.ptr = {.ptr = out, .rowLength = 2}};
    op.extent.width = 2;
    OK(cudaMemcpy3DWithAttributesAsync(&op, 0, stream));
    OK(cudaStreamSynchronize(stream));
    assert_true(out[0][0] == 2 && out[0][1] == 3 && out[1][0] == 6 && out[1][1] == 7);
    op.dst.op.ptr.rowLength = 1;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(1, &op, 0, stream));
    op.dst.op.ptr.rowLength = 2;
    op.extent.depth = 0;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(1, &op, 0, stream));
    op.extent.depth = 1;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(1, &op, 1, stream));
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(0, &op, 0, stream));
    op.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3DWithAttributesAsync(&op, 0, stream));
    OK(cudaFreeArray(a));
}

TEST(no_capture_takes_a_batch) {
    cudaGraph_t graph;
    char in = 1;
    void *at, *dsts[1];
    const void *srcs[1] = {&in};
    size_t sizes[1] = {1}, first[1] = {0};
    OK(cudaMalloc(&at, 1));
    dsts[0] = at;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    FAILS(cudaErrorStreamCaptureUnsupported,
          cudaMemcpyBatchAsync(dsts, srcs, sizes, 1, &in_order, first, 1, stream));
    OK(cudaStreamEndCapture(stream, &graph)); /* as on a GPU, the capture stays valid */
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(at));
}

TEST(prefetches_say_where_memory_is) {
    char *at;
    struct cudaMemLocation where[2],
        to[2] = {{cudaMemLocationTypeDevice, {.id = 1}}, {cudaMemLocationTypeHost, {.id = 0}}};
    size_t first[2] = {0, 1};
    void *other;
    OK(cudaMallocManaged((void **)&at, 1 << 20, cudaMemAttachGlobal));
    OK(cudaMallocManaged(&other, 4096, cudaMemAttachGlobal));
    void *both[2] = {at, other};
    size_t sizes[2] = {1 << 20, 4096};
    OK(cudaMemGetLocationInfo(at, 1 << 20, 1 << 19, 0, where));
    assert_int_equal(where[1].type, cudaMemLocationTypeNone);
    OK(cudaMemPrefetchBatchAsync(both, sizes, 2, to, first, 2, 0, stream));
    OK(cudaMemGetLocationInfo(at, 1 << 20, 1 << 19, 0, where));
    assert_int_equal(where[1].type, cudaMemLocationTypeDevice);
    assert_int_equal(where[1].id, 1);
    OK(cudaMemGetLocationInfo(other, 4096, 4096, 0, where));
    assert_int_equal(where[0].type, cudaMemLocationTypeHost);
    OK(cudaMemDiscardBatchAsync(both, sizes, 2, 0, stream));
    OK(cudaMemDiscardAndPrefetchBatchAsync(both, sizes, 2, to, first, 1, 0, stream));
    FAILS(cudaErrorInvalidValue, cudaMemDiscardBatchAsync(both, sizes, 2, 1, stream));
    FAILS(cudaErrorInvalidValue, cudaMemDiscardBatchAsync(both, sizes, 2, 0, NULL));
    to[1].type = cudaMemLocationTypeDevice;
    to[1].id = 2;
    FAILS(cudaErrorInvalidValue,
          cudaMemPrefetchBatchAsync(both, sizes, 2, to, first, 2, 0, stream));
    FAILS(cudaErrorInvalidValue, cudaMemGetLocationInfo(at, 1 << 20, 0, 0, where));
    FAILS(cudaErrorInvalidValue, cudaMemGetLocationInfo(at, 1 << 20, 1 << 21, 0, where));
    OK(cudaFree(at));
    OK(cudaFree(other));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        S(many_copies_in_one_call),
        S(batches_are_judged_as_a_whole),
        S(a_source_that_is_read_during_the_call_may_change_after_it),
        S(boxes_in_one_call),
        S(no_capture_takes_a_batch),
        S(prefetches_say_where_memory_is),
    };
    return RUN(tests);
}
