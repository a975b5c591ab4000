/* Buffers: setting all elements to one value. */
#include "core/call.h"
#include "cudart_abi.h"
#include "safe/memory/region.h"

#include <string.h>

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (int)(code))

/* More elements than these are copies of earlier ones, where each element takes several calls. */
enum { FIRST_ELEMENTS = 1024 };

static bool all_equal(const unsigned char *bytes, size_t size) {
    return memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* CUresults of a thread without the right context: unlike the runtime, the driver makes no context
 * current. */
enum { NO_CONTEXT = 201, OTHER_CONTEXT = 400 };

/* Any version that has the functions, which are older than all of CUDA that anycuda knows. */
enum { VERSION_OF_FUNCTIONS = 12000 };

/* Finds a function of the driver, which sets 16 or 32 bits at once: the runtime has no such one,
 * but finds the driver's. A runtime that is newer than the driver finds nothing unless it is told a
 * version, which it can be from 12.5 on. Returns NULL where there is none. */
static void *find_in_driver(const char *symbol) {
    void *found = NULL;
    acu_saved_record before;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    acu_record_save(&before);
    const cudaError_t code =
        acu_call_exists(&acu_function_cudaGetDriverEntryPointByVersion)
            ? cudaGetDriverEntryPointByVersion(symbol, &found, VERSION_OF_FUNCTIONS,
                                               cudaEnableDefault, &status)
            : cudaGetDriverEntryPoint(symbol, &found, cudaEnableDefault, &status);
    if (code)
        (void)cudaGetLastError();
    acu_record_restore(&before);
    return status == cudaDriverEntryPointSuccess ? found : NULL;
}

static int set_16(void *found, const acu_rows_fill *f, cudaStream_t on) {
    uint16_t value;
    int (*row)(uintptr_t, uint16_t, size_t, cudaStream_t);
    int (*rows)(uintptr_t, size_t, uint16_t, size_t, size_t, cudaStream_t);
    memcpy(&value, f->bytes, sizeof value);
    memcpy(&row, &found, sizeof row);
    memcpy(&rows, &found, sizeof rows);
    return f->height == 1 ? row((uintptr_t)f->at, value, f->width, on)
                          : rows((uintptr_t)f->at, f->pitch, value, f->width, f->height, on);
}

static int set_32(void *found, const acu_rows_fill *f, cudaStream_t on) {
    uint32_t value;
    int (*row)(uintptr_t, uint32_t, size_t, cudaStream_t);
    int (*rows)(uintptr_t, size_t, uint32_t, size_t, size_t, cudaStream_t);
    memcpy(&value, f->bytes, sizeof value);
    memcpy(&row, &found, sizeof row);
    memcpy(&rows, &found, sizeof rows);
    return f->height == 1 ? row((uintptr_t)f->at, value, f->width, on)
                          : rows((uintptr_t)f->at, f->pitch, value, f->width, f->height, on);
}

/* Records a failure of the driver's function, which no layer explains: it is called directly. */
ACU_COLD static int explain(const char *symbol, int code) {
    char why[ACU_REASON_SIZE];
    acu_record_take_reason(why);
    return acu_record(code, "%s failed with %s (%d)%s%s", symbol, acu_result_name(code), code,
                      *why ? ": " : "", why);
}

/*
 * Fills rows of aligned elements of 2 or 4 bytes by a function of the driver. Returns false where
 * that cannot be used: a thread that calls CUDA for the first time has no context, or, before 12.0,
 * that of the device that was current before.
 */
static bool fill_words(const acu_rows_fill *f, cudaStream_t on, int *code) {
    static const char *const symbols[2][2] = {{"cuMemsetD16Async", "cuMemsetD2D16Async"},
                                              {"cuMemsetD32Async", "cuMemsetD2D32Async"}};
    if ((f->size != 2 && f->size != 4) || (uintptr_t)f->at % f->size != 0 ||
        (f->height > 1 && f->pitch % f->size != 0))
        return false;
    const char *symbol = symbols[f->size == 4][f->height > 1];
    void *found = find_in_driver(symbol);
    if (!found)
        return false;
    *code = f->size == 2 ? set_16(found, f, on) : set_32(found, f, on);
    if (*code == NO_CONTEXT || *code == OTHER_CONTEXT)
        return false;
    if (*code)
        *code = explain(symbol, *code);
    return true;
}

/* Fills a few elements that follow each other: each of their words or bytes is a column. */
static int fill_columns(const acu_rows_fill *f, size_t count, cudaStream_t on) {
    const size_t word = f->size % 4 == 0 ? 4 : 1;
    int code = 0;
    for (size_t i = 0; i < f->size && !code; i++) {
        const acu_rows_fill column = {f->at + i, word, f->bytes + i, 1, count, f->size, f->kind};
        if (i % word == 0 && fill_words(&column, on, &code))
            i += word - 1;
        else
            code = (int)cudaMemset2DAsync(f->at + i, f->size, f->bytes[i], 1, count, on);
    }
    return code;
}

/* Fills the first elements, and copies what is there to what follows, twice as much each time. */
static int fill_by_doubling(const acu_rows_fill *f, cudaStream_t on) {
    const size_t first = f->width < FIRST_ELEMENTS ? f->width : FIRST_ELEMENTS;
    int code = fill_columns(f, first, on);
    for (size_t done = first, more; done < f->width && !code; done += more) {
        more = done < f->width - done ? done : f->width - done;
        code = (int)cudaMemcpyAsync(f->at + done * f->size, f->at, more * f->size, f->kind, on);
    }
    for (size_t done = 1, more; done < f->height && !code; done += more) {
        more = done < f->height - done ? done : f->height - done;
        code = (int)cudaMemcpy2DAsync(f->at + done * f->pitch, f->pitch, f->at, f->pitch,
                                      f->width * f->size, more, f->kind, on);
    }
    return code;
}

int acu_rows_fill_on(const acu_rows_fill *fill, cudaStream_t on) {
    acu_rows_fill f = *fill;
    int code = 0;
    if (f.height > 1 && f.pitch == f.width * f.size) {
        f.width *= f.height;
        f.height = 1;
    }
    if (!all_equal(f.bytes, f.size))
        return fill_words(&f, on, &code) ? code : fill_by_doubling(&f, on);
    if (f.height == 1)
        return (int)cudaMemsetAsync(f.at, f.bytes[0], f.width * f.size, on);
    return (int)cudaMemset2DAsync(f.at, f.pitch, f.bytes[0], f.width * f.size, f.height, on);
}

static int run_fill(const acu_buffer_job *job, const void *data) {
    return acu_rows_fill_on(data, job->on->raw);
}

int acu_buffer_check_fill(const char *call, const acu_buffer *buffer, acu_dtype dtype,
                          const void *element, acu_stream **on) {
    ACU_TRY(acu_buffer_check_host_copy(call, buffer, 0, dtype, element, 0));
    ACU_TRY(acu_buffer_choose_stream(call, buffer, on));
    const acu_device there = (*on)->object.device;
    if (buffer->object.device == there || acu_storage_is_open_to(buffer->storage, there, true))
        return 0;
    return acu_fail_on(call, buffer, ACU_ERROR_DEVICE,
                       "the buffer belongs to device %d, the stream to device %d",
                       buffer->object.device, (*on)->object.device);
}

acu_result acu_buffer_fill_typed(acu_buffer *buffer, acu_dtype dtype, const void *element,
                                 acu_stream *on) {
    ACU_SCOPE();
    ACU_NEED_POINTER(element);
    ACU_TRY(acu_buffer_check_fill(__func__, buffer, dtype, element, &on));
    if (buffer->pitched)
        return OUTCOME(buffer, ((const acu_pitched_buffer *)buffer)->fill(buffer, element, on));
    const acu_rows_fill what = {.at = buffer->pointer,
                                .size = acu_dtype_size(buffer->dtype),
                                .bytes = element,
                                .width = buffer->count,
                                .height = 1,
                                .kind = acu_buffer_copy_kind(buffer, buffer)};
    acu_buffer_job job = {.to = buffer, .on = on, .run = run_fill, .data = &what};
    return buffer->count == 0 ? 0 : OUTCOME(buffer, acu_buffer_run(&job));
}

acu_result acu_buffer_zero(acu_buffer *buffer, acu_stream *on) {
    ACU_SCOPE();
    static const unsigned char zero;
    ACU_TRY(acu_buffer_check_fill(__func__, buffer, ACU_ANY, NULL, &on));
    const acu_rows_fill what = {.at = buffer->pointer,
                                .size = 1,
                                .bytes = &zero,
                                .width = acu_buffer_bytes(buffer),
                                .height = 1};
    acu_buffer_job job = {.to = buffer, .on = on, .run = run_fill, .data = &what};
    return what.width == 0 ? 0 : OUTCOME(buffer, acu_buffer_run(&job));
}

/* ---- bytes by a pattern ---- */

typedef struct pattern_fill {
    acu_rows_fill whole;
    size_t cut; /* bytes of the last pattern, if that is not whole */
} pattern_fill;

static int run_pattern(const acu_buffer_job *job, const void *data) {
    const pattern_fill *f = data;
    const acu_rows_fill *w = &f->whole;
    const int code = acu_rows_fill_on(w, job->on->raw);
    return code || f->cut == 0 ? code
                               : (int)cudaMemcpyAsync(w->at + w->width * w->size, w->at, f->cut,
                                                      w->kind, job->on->raw);
}

acu_result acu_buffer_fill_bytes(acu_buffer *buffer, size_t at, size_t bytes, const void *pattern,
                                 size_t pattern_bytes, acu_stream *on) {
    ACU_SCOPE();
    ACU_NEED_POINTER(pattern);
    ACU_TRY(acu_buffer_check_fill(__func__, buffer, ACU_ANY, NULL, &on));
    const size_t all = acu_buffer_bytes(buffer);
    ACU_REQUIRE_OF(buffer, !buffer->pitched, ACU_ERROR_ARGUMENT,
                   "the buffer's rows have a pitch: fill it by acu_region_fill()");
    ACU_REQUIRE_OF(buffer, pattern_bytes != 0, ACU_ERROR_ARGUMENT, "the pattern has no bytes");
    ACU_REQUIRE_OF(buffer, at <= all && bytes <= all - at, ACU_ERROR_RANGE,
                   "%zu bytes from byte %zu on are outside of the buffer, which has %zu", bytes, at,
                   all);
    const size_t size = all_equal(pattern, pattern_bytes) ? 1
                        : pattern_bytes < bytes           ? pattern_bytes
                                                          : bytes;
    if (bytes == 0)
        return 0;
    const pattern_fill what = {.whole = {.at = buffer->pointer + at,
                                         .size = size,
                                         .bytes = pattern,
                                         .width = bytes / size,
                                         .height = 1,
                                         .kind = acu_buffer_copy_kind(buffer, buffer)},
                               .cut = bytes % size};
    acu_buffer_job job = {.to = buffer, .on = on, .run = run_pattern, .data = &what};
    return OUTCOME(buffer, acu_buffer_run(&job));
}
