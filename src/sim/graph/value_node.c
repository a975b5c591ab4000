/*
 * Values in memory that streams and nodes of graphs wait for, and write. Because another stream,
 * the host or a kernel may write a value without a call, the memory is read again whenever an
 * operation was done, and every millisecond.
 */
#include "sim/graph/value_node.h"

#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/graph/node.h"
#include "sim/graph/plan.h"
#include "sim/graph/update.h"
#include "sim/memory/range.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>

/* The runtime has no such type. NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange) */
static const enum cudaGraphNodeType type_of_nodes = SIM_NODE_VALUES;

static void *pointer(CUdeviceptr at) {
    return (void *)(uintptr_t)at;
}

/* Returns where the bytes of a value are; NULL if the device cannot access all of them. */
static void *bytes_of(const acu_sim_op *op) {
    const acu_sim_range *range = acu_sim_range_overlapping((uintptr_t)op->with.value.at, 1);
    size_t size = op->with.value.wide ? 8 : 4;
    return range && !range->dormant &&
                   size <= range->base + range->size - (uintptr_t)op->with.value.at &&
                   acu_sim_range_allows_access(range, op->with.value.device)
               ? acu_sim_range_bytes(range, op->with.value.at)
               : NULL;
}

/* Returns whether the value that was found ends the wait of an operation. */
static bool satisfies(const acu_sim_op *op, uint64_t found) {
    uint64_t value = op->with.value.value, top = op->with.value.wide ? 1ULL << 63 : 1ULL << 31;
    uint64_t all = top | (top - 1);
    switch (op->with.value.flags) {
    case CU_STREAM_WAIT_VALUE_GEQ: /* the difference, so that a counter may overflow */
        return !((found - value) & top);
    case CU_STREAM_WAIT_VALUE_EQ:
        return found == value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (found & value) != 0;
    default:
        return (~(found | value) & all) != 0;
    }
}

/* Returns whether the wait of an operation is over; under the lock. A wait for memory that cannot
 * be read is over, too, and fails when the operation runs; so is any wait in a lost context. */
static bool is_wait_over(const acu_sim_op *op) {
    const void *at = bytes_of(op);
    return !at || op->with.value.device->sticky ||
           satisfies(op, op->with.value.wide
                             ? __atomic_load_n((const uint64_t *)at, __ATOMIC_SEQ_CST)
                             : __atomic_load_n((const uint32_t *)at, __ATOMIC_SEQ_CST));
}

/* Writes the value; a wait only checks that its memory is still there. */
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

/* ---- parameters ---- */

static bool is_wait(const CUstreamBatchMemOpParams *p) {
    return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
           p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

static bool is_write(const CUstreamBatchMemOpParams *p) {
    return p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
           p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

static bool is_wide(const CUstreamBatchMemOpParams *p) {
    return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
           p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

/* Returns whether all bytes are allocated memory in which CUDA permits values of a device. */
static bool is_memory(CUdeviceptr at, size_t size, const acu_sim_device *device) {
    const acu_sim_range *range = acu_sim_range_of(pointer(at));
    return range && range->kind != SIM_MANAGED && !range->pool &&
           acu_sim_range_allows_access(range, device) &&
           size <= range->base + range->size - (uintptr_t)at;
}

/*
 * Returns an error unless a wait, a write or a barrier is valid. The parameters of waits and
 * writes have the same layout. Flushing remote writes is not supported, as the device's
 * attributes say. Without a device, the memory is not validated: that of a node is when the node is
 * launched.
 */
static cudaError_t validate(const CUstreamBatchMemOpParams *p, const acu_sim_device *device) {
    const unsigned flags = p->waitValue.flags;
    const size_t size = is_wide(p) ? 8 : 4;
    if (p->operation == CU_STREAM_MEM_OP_BARRIER)
        return p->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? cudaSuccess
                                                                           : cudaErrorInvalidValue;
    if (!is_wait(p) && !is_write(p))
        return acu_sim_driver_knows(&acu_cuda_type_CUstreamBatchMemOpType_enum, p->operation)
                   ? cudaErrorNotSupported
                   : cudaErrorInvalidValue;
    if (is_wait(p) && flags & CU_STREAM_WAIT_VALUE_FLUSH)
        return cudaErrorNotSupported;
    /* Only the first version of the calls had the flag that permits a write to be early. */
    if (flags > (is_wait(p) ? CU_STREAM_WAIT_VALUE_NOR : CU_STREAM_WRITE_VALUE_DEFAULT))
        return cudaErrorInvalidValue;
    return p->waitValue.address % size == 0 &&
                   (!device || is_memory(p->waitValue.address, size, device))
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

/* A node may have no operations. A missing list is an error here, while it crashes CUDA. */
static cudaError_t validate_all(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params,
                                const acu_sim_device *device) {
    enum { TOO_MANY = 256 };
    cudaError_t why = (params->count || !device) && params->count < TOO_MANY &&
                              (params->paramArray || !params->count) && !params->flags
                          ? cudaSuccess
                          : cudaErrorInvalidValue;
    for (unsigned i = 0; !why && i < params->count; i++)
        why = validate(&params->paramArray[i], device);
    return why;
}

/* ---- operations ---- */

struct acu_sim_values {
    CUDA_BATCH_MEM_OP_NODE_PARAMS params; /* with a copy of the list */
    acu_sim_op **each;                    /* an operation for each element of the list */
};

/* Makes the operation of one wait, write or barrier; a barrier does nothing, because the simulator
 * never reorders writes. */
static acu_sim_op *new_value_op(const CUstreamBatchMemOpParams *p, const acu_sim_device *device) {
    const bool orders = p->operation == CU_STREAM_MEM_OP_BARRIER;
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, orders ? NULL : run);
    if (!op || orders)
        return op;
    op->is_due = is_wait(p) ? is_wait_over : NULL;
    op->with.value.at = pointer(p->waitValue.address);
    op->with.value.value = is_wide(p) ? p->waitValue.value64 : p->waitValue.value;
    op->with.value.wide = is_wide(p);
    op->with.value.flags = p->waitValue.flags;
    op->with.value.device = device;
    return op;
}

static void free_values(acu_sim_values *v) {
    for (unsigned i = 0; v->each && i < v->params.count; i++)
        acu_sim_op_release(v->each[i]);
    free(v->each);
    free(v->params.paramArray);
    free(v);
}

static void drop_values(acu_sim_op *op) {
    free_values(op->with.values);
}

static acu_sim_values *new_values(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params,
                                  const acu_sim_device *device) {
    acu_sim_values *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->params = *params;
    const size_t count =
        params->count ? params->count : 1; /* never 0, which the analyzer cannot know */
    v->params.paramArray = calloc(count, sizeof *params->paramArray);
    v->each = calloc(count, sizeof(acu_sim_op *));
    bool good = v->params.paramArray && v->each;
    for (unsigned i = 0; good && i < params->count; i++) {
        v->params.paramArray[i] = params->paramArray[i];
        good = (v->each[i] = new_value_op(&params->paramArray[i], device)) != NULL;
    }
    if (good)
        return v;
    free_values(v);
    return NULL;
}

static cudaError_t new_list_op(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params,
                               const acu_sim_device *device, acu_sim_op **op) {
    acu_sim_values *values = new_values(params, device);
    acu_sim_op *made = values ? acu_sim_op_new(type_of_nodes, NULL) : NULL;
    if (!made) {
        if (values)
            free_values(values);
        return cudaErrorMemoryAllocation;
    }
    made->with.values = values;
    made->drop = drop_values;
    *op = made;
    return cudaSuccess;
}

cudaError_t acu_sim_values_submit(acu_sim_stream *stream,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *params) {
    acu_sim_op *op = NULL;
    cudaError_t result = validate_all(params, stream->capture ? NULL : stream->device);
    if (!result)
        result = new_list_op(params, stream->device, &op);
    if (!result && stream->capture)
        return acu_sim_stream_submit(stream, op, false);
    for (unsigned i = 0; !result && i < params->count; i++) {
        op->with.values->each[i]->refs++;
        result = acu_sim_stream_submit(stream, op->with.values->each[i], false);
    }
    acu_sim_op_release(op);
    return result;
}

/* ---- nodes ---- */

_Static_assert(sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS) <=
                   sizeof((struct cudaGraphNodeParams){0}.reserved1),
               "the runtime's union has room for the driver's parameters");

struct cudaGraphNodeParams acu_sim_values_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *values) {
    struct cudaGraphNodeParams params = {.type = type_of_nodes};
    if (values)
        memcpy(params.reserved1, values, sizeof *values);
    return params;
}

cudaError_t acu_sim_values_op(const struct cudaGraphNodeParams *params, acu_sim_op **op) {
    CUDA_BATCH_MEM_OP_NODE_PARAMS values;
    memcpy(&values, params->reserved1, sizeof values);
    const acu_sim_device *device =
        acu_sim_context_device(values.ctx); /* NULL if there is no context */
    cudaError_t why = device ? validate_all(&values, NULL) : cudaErrorInvalidValue;
    return why ? why : new_list_op(&values, device, op);
}

bool acu_sim_values_are_allocated(const acu_sim_plan *plan) {
    bool have = true;
    for (size_t i = 0; have && i < plan->count; i++) {
        const acu_sim_op *op = plan->steps[i].op;
        have = op->run != run || is_memory((CUdeviceptr)(uintptr_t)op->with.value.at,
                                           op->with.value.wide ? 8 : 4, op->with.value.device);
    }
    return have;
}

void acu_sim_values_describe(const acu_sim_op *op, struct cudaGraphNodeParams *params) {
    *params = acu_sim_values_params(&op->with.values->params);
}

acu_sim_op *const *acu_sim_values_each(const acu_sim_op *op, unsigned *count) {
    *count = op->with.values->params.count;
    return op->with.values->each;
}

bool acu_sim_values_have_wait(const acu_sim_op *op) {
    bool found = false;
    for (unsigned i = 0; i < op->with.values->params.count && !found; i++)
        found = op->with.values->each[i]->is_due != NULL;
    return found;
}

/* Returns the flags that an update cannot change; those of a wait say how values are compared, and
 * can be changed. */
static unsigned fixed_flags(const CUstreamBatchMemOpParams *p) {
    return is_wait(p) ? 0 : is_write(p) ? p->writeValue.flags : p->memoryBarrier.flags;
}

bool acu_sim_values_can_update(const acu_sim_op *from, const acu_sim_op *to) {
    const CUDA_BATCH_MEM_OP_NODE_PARAMS *a = &from->with.values->params;
    const CUDA_BATCH_MEM_OP_NODE_PARAMS *b = &to->with.values->params;
    bool fit = a->count == b->count && a->ctx == b->ctx;
    for (unsigned i = 0; fit && i < a->count; i++)
        fit = a->paramArray[i].operation == b->paramArray[i].operation &&
              fixed_flags(&a->paramArray[i]) == fixed_flags(&b->paramArray[i]);
    return fit;
}

bool acu_sim_values_are_equal(const acu_sim_op *a, const acu_sim_op *b) {
    bool are = acu_sim_values_can_update(a, b);
    for (unsigned i = 0; are && i < a->with.values->params.count; i++) {
        const acu_sim_op *one = a->with.values->each[i], *other = b->with.values->each[i];
        are = one->with.value.at == other->with.value.at &&
              one->with.value.value == other->with.value.value &&
              one->with.value.flags == other->with.value.flags;
    }
    return are;
}
