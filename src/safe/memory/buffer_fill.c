/* Buffers: setting all elements to one value. */
#include "safe/memory/buffer.h"

#include <string.h>

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (int)(code))

typedef struct fill {
    char *at;
    size_t count;               /* elements */
    size_t size;                /* bytes of an element */
    const unsigned char *bytes; /* the element */
} fill;

static bool all_equal(const unsigned char *bytes, size_t size) {
    return memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* CUresults of a thread without the right context: unlike the runtime, the driver makes no context
 * current. */
enum { NO_CONTEXT = 201, OTHER_CONTEXT = 400 };

/*
 * Fills by a function of the driver, which sets 16 or 32 bits at once where they are aligned. The
 * runtime has no such function, but finds the driver's. Returns false where that cannot be used:
 * a thread that calls CUDA for the first time has no context, or, before 12.0, that of the device
 * that was current before.
 */
static bool fill_words(const fill *f, cudaStream_t on, int *code) {
    const char *symbol = f->size == 2 ? "cuMemsetD16Async" : "cuMemsetD32Async";
    void *found = NULL;
    acu_saved_record before;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    if ((f->size != 2 && f->size != 4) || (uintptr_t)f->at % f->size != 0)
        return false;
    acu_record_save(&before);
    if (cudaGetDriverEntryPoint(symbol, &found, cudaEnableDefault, &status))
        (void)cudaGetLastError();
    acu_record_restore(&before);
    if (!found || status != cudaDriverEntryPointSuccess)
        return false;
    if (f->size == 2) {
        uint16_t value;
        int (*set)(uintptr_t, uint16_t, size_t, cudaStream_t);
        memcpy(&value, f->bytes, sizeof value);
        memcpy(&set, &found, sizeof set);
        *code = set((uintptr_t)f->at, value, f->count, on);
    } else {
        uint32_t value;
        int (*set)(uintptr_t, uint32_t, size_t, cudaStream_t);
        memcpy(&value, f->bytes, sizeof value);
        memcpy(&set, &found, sizeof set);
        *code = set((uintptr_t)f->at, value, f->count, on);
    }
    if (*code == NO_CONTEXT || *code == OTHER_CONTEXT)
        return false;
    if (*code)
        *code = acu_record(*code, "%s failed with %s (%d)", symbol, acu_result_name(*code), *code);
    return true;
}

/* Fills each byte of the elements as a column of its own. */
static int fill_columns(const fill *f, cudaStream_t on) {
    for (size_t i = 0; i < f->size; i++) {
        int code = (int)cudaMemset2DAsync(f->at + i, f->size, f->bytes[i], 1, f->count, on);
        if (code)
            return code;
    }
    return 0;
}

static int run_fill(const acu_buffer_job *job, const void *data) {
    const fill *f = data;
    int code = 0;
    if (all_equal(f->bytes, f->size))
        return (int)cudaMemsetAsync(f->at, f->bytes[0], f->count * f->size, job->on->raw);
    return fill_words(f, job->on->raw, &code) ? code : fill_columns(f, job->on->raw);
}

/* Returns 0 if the buffer can be filled on the stream, or its own where `*on` is NULL; else a
 * recorded failure. */
static int check_fill(const char *call, const acu_buffer *buffer, acu_dtype dtype,
                      const void *element, acu_stream **on) {
    ACU_TRY(acu_buffer_check_host_copy(call, buffer, 0, dtype, element, 0));
    ACU_TRY(acu_buffer_choose_stream(call, buffer, on));
    if (buffer->object.device == (*on)->object.device)
        return 0;
    return acu_fail_on(call, buffer, ACU_ERROR_DEVICE,
                       "the buffer belongs to device %d, the stream to device %d",
                       buffer->object.device, (*on)->object.device);
}

acu_result acu_buffer_fill_typed(acu_buffer *buffer, acu_dtype dtype, const void *element,
                                 acu_stream *on) {
    ACU_NEED_POINTER(element);
    ACU_TRY(check_fill(__func__, buffer, dtype, element, &on));
    fill what = {.at = buffer->pointer,
                 .count = buffer->count,
                 .size = acu_dtype_size(buffer->dtype),
                 .bytes = element};
    acu_buffer_job job = {.to = buffer, .on = on, .run = run_fill, .data = &what};
    return buffer->count == 0 ? 0 : OUTCOME(buffer, acu_buffer_run(&job));
}

acu_result acu_buffer_zero(acu_buffer *buffer, acu_stream *on) {
    static const unsigned char zero;
    ACU_TRY(check_fill(__func__, buffer, ACU_ANY, NULL, &on));
    fill what = {
        .at = buffer->pointer, .count = acu_buffer_bytes(buffer), .size = 1, .bytes = &zero};
    acu_buffer_job job = {.to = buffer, .on = on, .run = run_fill, .data = &what};
    return what.count == 0 ? 0 : OUTCOME(buffer, acu_buffer_run(&job));
}
