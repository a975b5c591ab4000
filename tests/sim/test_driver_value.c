/* Values that streams wait for, and write. */
#include "sim_test.h"

#include <anycuda/cuda.h>

#include <stdbool.h>

static CUcontext context;
static CUstream stream, other;
static CUdeviceptr at;

static int begin_with(const char *machine) {
    acu_sim_reset(machine);
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
           cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
           cuStreamCreate(&other, CU_STREAM_NON_BLOCKING) || cuMemAlloc(&at, 64) ||
           cuMemsetD8(at, 0, 64) || cuCtxSynchronize();
}

static int begin_in_context(void **state) {
    (void)state;
    return begin_with(MACHINE);
}

static int begin_with_seed(void **state) {
    (void)state;
    return begin_with(MACHINE ",seed=5");
}

static int end_in_context(void **state) {
    int bad = cuStreamDestroy(stream) || cuStreamDestroy(other) || cuMemFree(at);
    return bad || end(state) || cuCtxSetCurrent(NULL) || cuDevicePrimaryCtxRelease(0);
}

#define C(name)      cmocka_unit_test_setup_teardown(name, begin_in_context, end_in_context)
#define SEEDED(name) cmocka_unit_test_setup_teardown(name, begin_with_seed, end_in_context)

static uint64_t value_of(CUdeviceptr from) {
    uint64_t value = 0;
    OK(cuMemcpyDtoH(&value, from, 8));
    return value;
}

TEST(one_stream_waits_for_another) {
    OK(cuStreamWaitValue32(stream, at, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue32(stream, at + 8, 1, 0));
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    assert_int_equal(value_of(at + 8), 0);
    OK(cuStreamWriteValue32(other, at, 7, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at + 8), 1);
}

/* The host writes pinned memory, and no call tells of it. */
TEST(a_stream_waits_for_the_host) {
    volatile uint32_t *flag;
    CUdeviceptr flag_at;
    OK(cuMemHostAlloc((void **)(uintptr_t)&flag, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer(&flag_at, (void *)(uintptr_t)flag, 0));
    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    OK(cuStreamWaitValue32(stream, flag_at, 3, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue64(stream, at, 0x123456789abcdef0, 0));
    pause_briefly();
    SAYS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(flag, 4, __ATOMIC_SEQ_CST);
    OK(cuStreamSynchronize(stream));
    assert_true(value_of(at) == 0x123456789abcdef0);
    OK(cuMemFreeHost((void *)(uintptr_t)flag));
}

TEST(what_is_waited_for) {
    static const struct {
        uint64_t there, value;
        unsigned flags;
        bool wide, holds;
    } cases[] = {
        {5, 5, CU_STREAM_WAIT_VALUE_GEQ, false, true},
        {4, 5, CU_STREAM_WAIT_VALUE_GEQ, false, false},
        {1, 0xffffffff, CU_STREAM_WAIT_VALUE_GEQ, false, true}, /* it has gone round */
        {0xffffffff, 1, CU_STREAM_WAIT_VALUE_GEQ, false, false},
        {1, 0xffffffff, CU_STREAM_WAIT_VALUE_GEQ, true, false},
        {6, 5, CU_STREAM_WAIT_VALUE_EQ, true, false},
        {6, 2, CU_STREAM_WAIT_VALUE_AND, false, true},
        {4, 2, CU_STREAM_WAIT_VALUE_AND, false, false},
        {0xfffffff0, 0xf, CU_STREAM_WAIT_VALUE_NOR, false, false},
        {0xfffffff0, 0xf, CU_STREAM_WAIT_VALUE_NOR, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(cuMemcpyHtoD(at, &cases[i].there, 8));
        OK(cases[i].wide
               ? cuStreamWaitValue64(stream, at, cases[i].value, cases[i].flags)
               : cuStreamWaitValue32(stream, at, (uint32_t)cases[i].value, cases[i].flags));
        for (int k = 0; k < 5000 && cases[i].holds && cuStreamQuery(stream); k++)
            pause_briefly();
        if (!cases[i].holds)
            pause_briefly();
        if ((cuStreamQuery(stream) == CUDA_SUCCESS) != cases[i].holds)
            fail_msg("case %zu", i);
        OK(cuMemcpyHtoD(
            at, cases[i].flags == CU_STREAM_WAIT_VALUE_NOR ? &(uint64_t){0} : &cases[i].value, 8));
        OK(cuStreamSynchronize(stream));
    }
}

TEST(many_at_once) {
    CUstreamBatchMemOpParams list[257];
    memset(list, 0, sizeof list);
    list[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    list[0].writeValue.address = at;
    list[0].writeValue.value = 9;
    list[1].operation = CU_STREAM_MEM_OP_BARRIER;
    list[2].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    list[2].waitValue.address = at;
    list[2].waitValue.value = 9;
    OK(cuStreamBatchMemOp(stream, 3, list, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at), 9);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 0, list, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 257, list, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 3, NULL, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 3, list, 1));
    list[0].writeValue.value = 10;
    list[2].waitValue.address = at + 1;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 3, list, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(value_of(at), 9); /* none of them was done */
    list[2].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuStreamBatchMemOp(stream, 3, list, 0));
}

TEST(what_the_attributes_say) {
    int can = 9;
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
    assert_int_equal(can, 1);
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0));
    assert_int_equal(can, 1);
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0));
    assert_int_equal(can, 0);
}

TEST(what_is_wrong) {
    uint32_t mine = 0;
    CUgraph graph;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream, at + 2, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue64(stream, at + 4, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream, at + 64, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(stream, at, 0, 2));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream, at, 0, 4));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuStreamWaitValue32(stream, (CUdeviceptr)(uintptr_t)&mine, 0, 0));
    SAYS(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32(stream, at, 0, CU_STREAM_WAIT_VALUE_FLUSH));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitValue32((CUstream)(uintptr_t)at, at, 0, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamWriteValue32(stream, at, 0, 0));
    SAYS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(one_stream_waits_for_another),
        C(a_stream_waits_for_the_host),
        C(what_is_waited_for),
        C(many_at_once),
        C(what_the_attributes_say),
        C(what_is_wrong),
        SEEDED(one_stream_waits_for_another),
        SEEDED(a_stream_waits_for_the_host),
        SEEDED(many_at_once),
    };
    return RUN(tests);
}
