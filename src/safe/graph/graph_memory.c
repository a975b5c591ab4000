/* Memory that graphs allocate: how much there is, and freeing it on a stream. */
#include "safe/graph/graph.h"

#include "safe/base/device.h"
#include "safe/memory/storage.h"

acu_result acu_graph_memory_get_attribute(acu_device device, acu_graph_memory_attribute attribute,
                                          uint64_t *bytes) {
    ACU_SCOPE();
    ACU_NEED_POINTER(bytes);
    *bytes = 0;
    ACU_TRY(acu_device_resolve(__func__, &device));
    return acu_device_outcome_of(__func__, "graph memory attribute", attribute, device,
                                 (int)cudaDeviceGetGraphMemAttribute(
                                     device, (enum cudaGraphMemAttributeType)attribute, bytes));
}

acu_result acu_graph_memory_reset(acu_device device, acu_graph_memory_attribute attribute) {
    ACU_SCOPE();
    uint64_t zero = 0;
    ACU_TRY(acu_device_resolve(__func__, &device));
    return acu_device_outcome_of(__func__, "graph memory attribute", attribute, device,
                                 (int)cudaDeviceSetGraphMemAttribute(
                                     device, (enum cudaGraphMemAttributeType)attribute, &zero));
}

acu_result acu_graph_memory_trim(acu_device device) {
    ACU_SCOPE();
    ACU_TRY(acu_device_resolve(__func__, &device));
    return acu_device_outcome(__func__, device, (int)cudaDeviceGraphMemTrim(device));
}

int acu_graph_check_memory(const char *call, const acu_buffer *buffer) {
    if (!acu_is(buffer, &acu_buffer_class))
        return acu_object_refuse(call, buffer, &acu_buffer_class);
    if (buffer->storage->memory == ACU_MEMORY_GRAPH)
        return 0;
    return acu_fail_on(call, buffer, ACU_ERROR_MEMORY_KIND,
                       "this memory was not allocated by a graph");
}

/* Frees on the stream, after the uses of the memory on other streams. */
static int free_on(acu_storage *s, acu_stream *on) {
    uint64_t version;
    acu_guard guard;
    int code = acu_storage_begin_use(s, on, true, &version);
    if (code)
        return code;
    code = acu_stream_enter(on, &guard);
    if (!code)
        code = (int)cudaFreeAsync(s->pointer, on->raw);
    acu_guard_leave(&guard);
    int ended = acu_storage_end_use(s, on, true, version);
    return code ? code : ended;
}

acu_result acu_graph_memory_free(acu_buffer *buffer, acu_stream *stream) {
    ACU_SCOPE();
    ACU_TRY(acu_graph_check_memory(__func__, buffer));
    ACU_NEED_STREAM(stream);
    return acu_outcome(__func__, buffer, free_on(buffer->storage, stream));
}
