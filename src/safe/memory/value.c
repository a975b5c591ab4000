/* Values in memory that streams wait for, and write, by the driver's API: the runtime has none. */
#include "safe/memory/value.h"
#include "safe/base/primary_context.h"
#include "safe/memory/buffer.h"
#include "safe/memory/storage.h"

/* ---- operations ---- */

static bool is_on_memory(acu_value_action action) {
    return action != ACU_VALUE_BARRIER && action != ACU_VALUE_FLUSH;
}

/* Returns where the value is; 0 and a failure recorded for `call` where there can be none. */
static CUdeviceptr find_address(const char *call, const acu_value_operation *o, bool *wide) {
    const acu_buffer *b = o->buffer;
    if (!b) {
        *wide = o->wide;
        if (!o->address)
            (void)acu_fail(call, "", ACU_ERROR_ARGUMENT, "'buffer' and 'address' are NULL");
        return (CUdeviceptr)(uintptr_t)o->address;
    }
    if (!acu_is(b, &acu_buffer_class)) {
        (void)acu_object_refuse(call, b, &acu_buffer_class);
        return 0;
    }
    const size_t size = acu_dtype_size(b->dtype);
    *wide = size == 8;
    if (!acu_has(b->storage->flags, ACU_BUFFER_UNORDERED)) {
        acu_fail_hint("make the buffer with ACU_BUFFER_UNORDERED in options.flags");
        (void)acu_fail_on(call, b, ACU_ERROR_STATE,
                          "a buffer that orders its uses would let the write of a value wait for "
                          "the wait for it");
    } else if (size != 4 && size != 8)
        (void)acu_fail_on(call, b, ACU_ERROR_DTYPE, "a value has 4 or 8 bytes, an element %zu",
                          size);
    else if (o->at >= b->count)
        (void)acu_fail_on(call, b, ACU_ERROR_RANGE, "there is no element %zu among %zu", o->at,
                          b->count);
    else
        return (CUdeviceptr)(uintptr_t)(b->pointer + o->at * size);
    return 0;
}

/* Returns whether the low 4 bytes are the whole value, as an unsigned number or a signed one. */
static bool is_narrow(uint64_t value) {
    return value <= UINT32_MAX || value >= (uint64_t)(int64_t)INT32_MIN;
}

static unsigned flags_of(const acu_value_operation *o) {
    return (unsigned)o->until | (o->flush ? (unsigned)CU_STREAM_WAIT_VALUE_FLUSH : 0u);
}

static CUstreamBatchMemOpParams atomic(const acu_value_operation *o, CUdeviceptr at, bool wide) {
    static const CUstreamAtomicReductionOpType operations[] = {
        [ACU_VALUE_OR] = CU_STREAM_ATOMIC_REDUCTION_OP_OR,
        [ACU_VALUE_AND] = CU_STREAM_ATOMIC_REDUCTION_OP_AND,
        [ACU_VALUE_ADD] = CU_STREAM_ATOMIC_REDUCTION_OP_ADD};
    return (CUstreamBatchMemOpParams){
        .atomicReduction = {.operation = CU_STREAM_MEM_OP_ATOMIC_REDUCTION,
                            .reductionOp = operations[o->action],
                            .dataType = wide ? CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64
                                             : CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32,
                            .address = at,
                            .value = o->value}};
}

static CUstreamBatchMemOpParams params_of(const acu_value_operation *o, CUdeviceptr at, bool wide) {
    switch (o->action) {
    case ACU_VALUE_WAIT:
        return (CUstreamBatchMemOpParams){
            .waitValue = {.operation = wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64
                                            : CU_STREAM_MEM_OP_WAIT_VALUE_32,
                          .address = at,
                          .value64 = o->value,
                          .flags = flags_of(o)}};
    case ACU_VALUE_WRITE:
        return (CUstreamBatchMemOpParams){
            .writeValue = {.operation = wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64
                                             : CU_STREAM_MEM_OP_WRITE_VALUE_32,
                           .address = at,
                           .value64 = o->value}};
    case ACU_VALUE_BARRIER:
        return (CUstreamBatchMemOpParams){
            .memoryBarrier = {.operation = CU_STREAM_MEM_OP_BARRIER,
                              .flags = o->on_device ? CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                                                    : CU_STREAM_MEMORY_BARRIER_TYPE_SYS}};
    case ACU_VALUE_FLUSH:
        return (CUstreamBatchMemOpParams){
            .flushRemoteWrites = {.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES}};
    default:
        return atomic(o, at, wide);
    }
}

static int add(const char *call, const acu_value_operation *o, acu_value_list *list) {
    CUdeviceptr at = 0;
    bool wide = true;
    if ((unsigned)o->action > ACU_VALUE_ADD || (unsigned)o->until > ACU_VALUE_LACKS_BITS)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "there is no %s %d",
                        (unsigned)o->action > ACU_VALUE_ADD ? "action" : "condition",
                        (unsigned)o->action > ACU_VALUE_ADD ? (int)o->action : (int)o->until);
    if (is_on_memory(o->action) && !(at = find_address(call, o, &wide)))
        return acu_last_error();
    if (!wide && !is_narrow(o->value))
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "the value 0x%llx does not fit into the 4 bytes that are there",
                        (unsigned long long)o->value);
    if (is_on_memory(o->action) && o->buffer)
        list->objects[list->object_count++] =
            (acu_object_use){&o->buffer->storage->object, o->action != ACU_VALUE_WAIT};
    list->raw[list->count++] = params_of(o, at, wide);
    return 0;
}

int acu_value_list_fill(const char *call, const acu_value_operation *operations, size_t count,
                        acu_value_list *list) {
    list->count = 0;
    list->object_count = 0;
    if (!operations)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'operations' is NULL");
    if (count == 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'count' is 0: there is nothing to do");
    if (count > ACU_MOST_VALUES)
        return acu_fail(call, "", ACU_ERROR_LIMIT, "there are %zu operations, but there can be %d",
                        count, ACU_MOST_VALUES);
    for (size_t i = 0; i < count; i++) {
        const int code = add(call, &operations[i], list);
        if (code)
            return code;
    }
    return 0;
}

void acu_value_hint(const acu_value_list *list, int code) {
    if (code == cudaErrorInvalidValue && list->object_count > 0)
        acu_fail_hint(
            "values can be in ACU_MEMORY_DEVICE of the stream's device, or of a peer with "
            "access, in ACU_MEMORY_PINNED or ACU_MEMORY_MAPPED, not in managed memory or "
            "that of a pool");
    else if (code == cudaErrorInvalidValue)
        acu_fail_hint("an address must be a multiple of the value's size, and lie in memory of a "
                      "device or in pinned memory");
    else if (code == ACU_NOT_SUPPORTED)
        acu_fail_hint("not every device can flush writes, or add, or to values in memory; "
                      "acu_device_get_attribute() says which can");
}

/* ---- streams ---- */

/* Lets a capture keep the memory. Buffers without an order have nothing else to begin or end. */
static int begin_uses(const acu_value_list *list, acu_stream *stream) {
    int code = 0;
    for (size_t i = 0; i < list->object_count && !code; i++) {
        uint64_t unused;
        code = acu_storage_begin_use((acu_storage *)list->objects[i].object, stream,
                                     list->objects[i].writes, &unused);
    }
    return code;
}

static int run(const char *call, acu_stream *stream, const acu_value_operation *operations,
               size_t count) {
    acu_value_list list;
    acu_primary_context primary;
    ACU_TRY(acu_stream_check(call, stream));
    ACU_TRY(acu_value_list_fill(call, operations, count, &list));
    int code = acu_primary_context_enter(&primary, stream->object.device);
    if (!code)
        code = begin_uses(&list, stream);
    if (!code)
        code = acu_translate_driver(cuStreamBatchMemOp(stream->raw, list.count, list.raw, 0));
    acu_primary_context_leave(&primary);
    acu_value_hint(&list, code);
    return acu_outcome(call, stream, code);
}

acu_result acu_stream_wait_value(acu_stream *stream, acu_buffer *buffer, size_t at, uint64_t value,
                                 acu_value_condition until) {
    ACU_SCOPE();
    ACU_NEED(buffer, acu_buffer_class);
    return run(
        __func__, stream,
        &(acu_value_operation){
            .action = ACU_VALUE_WAIT, .buffer = buffer, .at = at, .value = value, .until = until},
        1);
}

acu_result acu_stream_write_value(acu_stream *stream, acu_buffer *buffer, size_t at,
                                  uint64_t value) {
    ACU_SCOPE();
    ACU_NEED(buffer, acu_buffer_class);
    return run(__func__, stream,
               &(acu_value_operation){
                   .action = ACU_VALUE_WRITE, .buffer = buffer, .at = at, .value = value},
               1);
}

acu_result acu_stream_run_values(acu_stream *stream, const acu_value_operation *operations,
                                 size_t count) {
    ACU_SCOPE();
    return run(__func__, stream, operations, count);
}
