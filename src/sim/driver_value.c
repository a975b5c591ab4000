/*
 * Values in memory that streams wait for, and write. Who writes one may be another stream, or the
 * host: a stream that waits looks when something else is done, and every millisecond.
 */
#include "driver.h"

#include <string.h>

static void *pointer(CUdeviceptr at) {
    return (void *)(uintptr_t)at;
}

/* Where the bytes are; NULL if the device cannot reach all of them, or no longer. */
static void *bytes_of(const acu_sim_op *op) {
    const acu_sim_range *range = acu_sim_range_in((uintptr_t)op->with.value.at, 1);
    size_t size = op->with.value.wide ? 8 : 4;
    return range && !range->dormant &&
                   size <= range->base + range->size - (uintptr_t)op->with.value.at &&
                   acu_sim_range_lets(range, op->stream->device)
               ? acu_sim_view(range, op->with.value.at)
               : NULL;
}

static bool holds(const acu_sim_op *op, uint64_t found) {
    uint64_t value = op->with.value.value, top = op->with.value.wide ? 1ULL << 63 : 1ULL << 31;
    uint64_t all = top | (top - 1);
    switch (op->with.value.flags) {
    case CU_STREAM_WAIT_VALUE_GEQ: /* around the end of the numbers, too */
        return !((found - value) & top);
    case CU_STREAM_WAIT_VALUE_EQ:
        return found == value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (found & value) != 0;
    default:
        return (~(found | value) & all) != 0;
    }
}

/* Under the lock. What cannot be read will not be waited for: it is an error when it runs. */
static bool is_there(const acu_sim_op *op) {
    const void *at = bytes_of(op);
    return !at ||
           holds(op, op->with.value.wide ? __atomic_load_n((const uint64_t *)at, __ATOMIC_SEQ_CST)
                                         : __atomic_load_n((const uint32_t *)at, __ATOMIC_SEQ_CST));
}

static cudaError_t run(acu_sim_op *op) {
    pthread_mutex_lock(&acu_sim_lock);
    void *at = bytes_of(op);
    if (at && !op->is_due && op->with.value.wide)
        __atomic_store_n((uint64_t *)at, op->with.value.value, __ATOMIC_SEQ_CST);
    else if (at && !op->is_due)
        __atomic_store_n((uint32_t *)at, (uint32_t)op->with.value.value, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&acu_sim_lock);
    return at ? cudaSuccess : cudaErrorIllegalAddress;
}

/* ---- one of them --------------------------------------------------------------------------------
 */

typedef struct operation {
    bool waits, wide;
    CUdeviceptr at;
    uint64_t value;
    unsigned flags;
} operation;

static cudaError_t judge(const operation *o) {
    const acu_sim_range *range = acu_sim_range_of(pointer(o->at));
    size_t size = o->wide ? 8 : 4;
    unsigned known = o->waits ? CU_STREAM_WAIT_VALUE_NOR : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    if (o->waits && o->flags & CU_STREAM_WAIT_VALUE_FLUSH) /* the attributes say that it cannot */
        return cudaErrorNotSupported;
    return o->flags <= known && range && o->at % size == 0 &&
                   size <= range->base + range->size - (uintptr_t)o->at
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

static cudaError_t submit(acu_sim_stream *stream, const operation *o) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, run);
    if (!op)
        return cudaErrorMemoryAllocation;
    op->stream = stream;
    op->is_due = o->waits ? is_there : NULL;
    op->with.value.at = pointer(o->at);
    op->with.value.value = o->wide ? o->value : (uint32_t)o->value;
    op->with.value.wide = o->wide;
    op->with.value.flags = o->flags;
    return acu_sim_submit(stream, op, false);
}

/* All are judged before the first is done. */
static CUresult do_all(CUstream handle, const operation *list, size_t count, const void *caller) {
    acu_sim_stream *stream;
    CUresult why = acu_sim_begin_for(SIM_NEEDS_CONTEXT, caller);
    if (why)
        return why;
    cudaError_t result = acu_sim_enter_stream(handle, &stream);
    for (size_t i = 0; !result && i < count; i++)
        result = judge(&list[i]);
    if (!result)
        result = acu_sim_capture_allows(stream, SIM_REFUSES);
    for (size_t i = 0; !result && i < count; i++)
        result = submit(stream, &list[i]);
    return acu_sim_end(acu_sim_leave(result));
}

CUresult acu_sim_cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                     unsigned int flags) {
    return do_all(stream, &(operation){true, false, addr, value, flags}, 1, SIM_CALLER);
}

CUresult acu_sim_cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                     unsigned int flags) {
    return do_all(stream, &(operation){true, true, addr, value, flags}, 1, SIM_CALLER);
}

CUresult acu_sim_cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                      unsigned int flags) {
    return do_all(stream, &(operation){false, false, addr, value, flags}, 1, SIM_CALLER);
}

CUresult acu_sim_cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                      unsigned int flags) {
    return do_all(stream, &(operation){false, true, addr, value, flags}, 1, SIM_CALLER);
}

/* ---- many ---------------------------------------------------------------------------------------
 */

/* A barrier does nothing where all is in order; false: it is no operation that is played. */
static bool read_operation(const CUstreamBatchMemOpParams *p, operation *list, size_t *count) {
    bool is_wide = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                   p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    bool waits = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                 p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
    if (p->operation == CU_STREAM_MEM_OP_BARRIER)
        return true;
    if (!waits && p->operation != CU_STREAM_MEM_OP_WRITE_VALUE_32 && !is_wide)
        return false;
    list[(*count)++] =
        (operation){waits, is_wide, p->waitValue.address,
                    is_wide ? p->waitValue.value64 : p->waitValue.value, p->waitValue.flags};
    return true;
}

CUresult acu_sim_cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                    CUstreamBatchMemOpParams *paramArray, unsigned int flags) {
    enum { MOST = 256 };
    operation list[MOST];
    size_t read = 0;
    bool good = count && count <= MOST && paramArray && !flags, played = true;
    for (unsigned i = 0; good && played && i < count; i++)
        played = read_operation(&paramArray[i], list, &read);
    if (good && played)
        return do_all(stream, list, read, SIM_CALLER);
    CUresult why = acu_sim_begin(SIM_NEEDS_CONTEXT);
    return why ? why : acu_sim_end(good ? cudaErrorNotSupported : cudaErrorInvalidValue);
}
