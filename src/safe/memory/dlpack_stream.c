/* DLPack: the numbers of streams. */
#include "safe/memory/buffer.h"

#include <anycuda/dlpack.h>

enum { NOBODY_WAITS = -1 };

/* Makes a handle for the stream with that number, which the caller owns: 1 and 2 are raw handles of
 * CUDA's own for the default streams. Returns NULL, and `code` of the failure recorded for `call`,
 * where that is not possible. */
static acu_stream *stream_of(const char *call, acu_device device, intptr_t number, int *code) {
    acu_stream *stream = NULL;
    if (number <= 0) {
        acu_fail_hint("1 is the legacy default stream, 2 the per-thread one, -1 none, and any "
                      "other number a raw handle");
        *code = acu_fail(call, "", ACU_ERROR_ARGUMENT, "%lld is no stream of DLPack",
                         (long long)number);
        return NULL;
    }
    *code = acu_stream_wrap(device, (struct CUstream_st *)number, &stream);
    if (*code)
        (void)acu_cuda_failed(call, "", *code);
    return stream;
}

acu_result acu_buffer_join_dlpack(acu_buffer *buffer, intptr_t number) {
    ACU_SCOPE();
    int code = 0;
    uint64_t unused;
    ACU_NEED(buffer, acu_buffer_class);
    if (number == NOBODY_WAITS)
        return 0;
    acu_stream *importer = stream_of(__func__, buffer->object.device, number, &code);
    if (!importer)
        return code;
    code = acu_outcome(__func__, buffer,
                       acu_storage_begin_use(buffer->storage, importer, true, &unused));
    acu_stream_cleanup(&importer);
    return code;
}

intptr_t acu_stream_dlpack(const acu_stream *stream) {
    return (intptr_t)acu_stream_raw(stream);
}

acu_result acu_stream_wait_dlpack(acu_stream *stream, intptr_t number) {
    ACU_SCOPE();
    int code = 0;
    ACU_NEED_STREAM(stream);
    if (number == NOBODY_WAITS)
        return 0;
    acu_stream *exporter = stream_of(__func__, stream->object.device, number, &code);
    if (!exporter)
        return code;
    code = acu_outcome(__func__, stream,
                       acu_timeline_wait(exporter->timeline, ACU_EVERYTHING, stream));
    acu_stream_cleanup(&exporter);
    return code;
}
