/* Buffers whose rows lie a pitch apart. */
#include "safe/memory/region.h"

#define NEED_BUFFER(buffer) ACU_NEED((buffer), acu_buffer_class)

/* Returns the bytes from the first row to the end of the last one. */
static size_t bytes_of(const acu_pitched_layout *l) {
    const acu_extent e = l->extent;
    return ((e.depth - 1) * l->slice_height + e.height) * l->row_pitch;
}

static int clone_rows(const char *call, acu_buffer *buffer, acu_stream *stream,
                      const acu_buffer_options *options, acu_buffer **clone);
static int reinterpret_rows(const char *call, const acu_buffer *buffer, acu_dtype dtype,
                            acu_buffer **view);
static int fill_rows(acu_buffer *buffer, const void *element, acu_stream *on);

/* Makes a pitched buffer on the same memory; returns 0 or a failure recorded for `call`. */
static int new_view(const char *call, const acu_buffer *of, const acu_pitched_layout *layout,
                    acu_buffer **view) {
    acu_pitched_buffer *made =
        acu_object_new(call, &acu_buffer_class, sizeof *made, of->object.device);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->buffer.storage = acu_storage_retain(of->storage);
    made->buffer.pointer = of->pointer;
    made->buffer.count = of->count;
    made->buffer.dtype = of->dtype;
    made->buffer.pitched = true;
    made->layout = *layout;
    made->clone = clone_rows;
    made->reinterpret = reinterpret_rows;
    made->fill = fill_rows;
    *view = &made->buffer;
    return 0;
}

/* Replaces the caller's buffer by another one, or by NULL, and leaves the thread's last failure. */
static void replace(acu_buffer **buffer, acu_buffer *by) {
    acu_saved_record failure;
    acu_record_save(&failure);
    if (acu_buffer_release(*buffer))
        acu_record_release_error();
    acu_record_restore(&failure);
    *buffer = by;
}

/* Makes a pitched buffer of so much memory; returns 0 or a failure recorded for `call`. */
static int make(const char *call, acu_stream *stream, acu_dtype dtype, size_t count,
                const acu_buffer_options *options, const acu_pitched_layout *layout,
                acu_buffer **buffer) {
    acu_buffer *view = NULL;
    ACU_TRY(acu_buffer_new(call, stream, dtype, count, options, buffer));
    const int code = new_view(call, *buffer, layout, &view);
    replace(buffer, view);
    return code;
}

static int clone_rows(const char *call, acu_buffer *buffer, acu_stream *stream,
                      const acu_buffer_options *options, acu_buffer **clone) {
    const acu_pitched_layout *l = acu_pitched_layout_of(buffer);
    const size_t size = acu_dtype_size(buffer->dtype);
    const size_t count = (bytes_of(l) + size - 1) / size;
    acu_rows_copy rows;
    ACU_TRY(make(call, stream, buffer->dtype, count, options, l, clone));
    const acu_region there = {.buffer = *clone}, here = {.buffer = buffer};
    int code = acu_region_check_copy(call, &there, &here, l->extent, &rows);
    if (!code)
        code = acu_outcome(call, *clone, acu_region_copy_checked(&rows, stream));
    if (code)
        replace(clone, NULL);
    return code;
}

static int fill_rows(acu_buffer *buffer, const void *element, acu_stream *on) {
    const acu_pitched_layout *l = acu_pitched_layout_of(buffer);
    const acu_rows rows = {buffer->pointer, l->row_pitch,
                           l->extent.depth > 1 ? l->slice_height * l->row_pitch
                                               : l->extent.height * l->row_pitch};
    return acu_region_fill_checked(buffer, &rows, l->extent, element, on);
}

/* ---- making ---- */

/* Asks for the number of bytes that each row shall begin at a multiple of: that of textures, which
 * is also cudaMallocPitch()'s. Returns CUDA's code. */
static int ask_alignment(const acu_stream *stream, size_t *alignment) {
    int bytes = 0;
    const int code =
        (int)cudaDeviceGetAttribute(&bytes, cudaDevAttrTextureAlignment, stream->object.device);
    *alignment = bytes > 0 ? (size_t)bytes : 1;
    return code;
}

/* Computes the pitch and how many elements the memory has to have, which is rounded up where a
 * pitch is no whole number of them. Returns false where that is too much. */
static bool lay_out(acu_extent e, size_t size, size_t alignment, acu_pitched_layout *layout,
                    size_t *count) {
    size_t row, bytes;
    if (__builtin_mul_overflow(e.width, size, &row) ||
        __builtin_add_overflow(row, alignment - 1, &row))
        return false;
    row -= row % alignment;
    if (__builtin_mul_overflow(row, e.height, &bytes) ||
        __builtin_mul_overflow(bytes, e.depth, &bytes) || bytes > PTRDIFF_MAX)
        return false;
    *layout = (acu_pitched_layout){e, row, e.height};
    *count = bytes / size + (bytes % size != 0);
    return true;
}

acu_result acu_buffer_create_pitched(acu_stream *stream, acu_dtype dtype, acu_extent extent,
                                     const acu_buffer_options *options, acu_buffer **buffer) {
    ACU_SCOPE();
    static const acu_buffer_options defaults;
    acu_pitched_layout layout;
    size_t alignment = 1, count = 0;
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_NEED_STREAM(stream);
    const size_t size = acu_dtype_size(dtype);
    if (size == 0)
        return acu_refuse_dtype(__func__, dtype);
    ACU_TRY(acu_region_check_extent(__func__, stream, extent));
    ACU_TRY(acu_outcome(__func__, stream, ask_alignment(stream, &alignment)));
    ACU_REQUIRE(lay_out(extent, size, alignment, &layout, &count), ACU_ERROR_OVERFLOW,
                "{%zu, %zu, %zu} elements of %zu bytes are more than can be addressed",
                extent.width, extent.height, extent.depth, size);
    return make(__func__, stream, dtype, count, options ? options : &defaults, &layout, buffer);
}

acu_result acu_buffer_reinterpret_pitched(acu_buffer *buffer, const acu_pitched_layout *layout,
                                          acu_buffer **view) {
    ACU_SCOPE();
    acu_rows rows;
    size_t first, end;
    ACU_NEED_POINTER(view);
    *view = NULL;
    NEED_BUFFER(buffer);
    ACU_NEED_POINTER(layout);
    ACU_TRY(acu_region_check_extent(__func__, buffer, layout->extent));
    const size_t size = acu_dtype_size(buffer->dtype);
    const acu_rows_asked asked = {.object = buffer,
                                  .name = "the view",
                                  .extent = layout->extent,
                                  .size = size,
                                  .row_pitch = layout->row_pitch,
                                  .slice_height = layout->slice_height};
    ACU_TRY(acu_rows_place(__func__, &asked, &rows, &first, &end));
    ACU_REQUIRE_OF(buffer, end <= buffer->count * size, ACU_ERROR_RANGE,
                   "the view ends at byte %zu, but the buffer has %zu bytes", end,
                   buffer->count * size);
    ACU_REQUIRE_OF(buffer, rows.pitch % acu_dtype_alignment(buffer->dtype) == 0, ACU_ERROR_DTYPE,
                   "rows %zu bytes apart are not aligned for %s", rows.pitch,
                   acu_dtype_name(buffer->dtype));
    const acu_pitched_layout complete = {layout->extent, rows.pitch,
                                         layout->slice_height ? layout->slice_height
                                                              : layout->extent.height};
    const size_t count = bytes_of(&complete) / size;
    ACU_TRY(new_view(__func__, buffer, &complete, view));
    if (count < buffer->count)
        (*view)->count = count;
    return 0;
}

static int reinterpret_rows(const char *call, const acu_buffer *buffer, acu_dtype dtype,
                            acu_buffer **view) {
    acu_pitched_layout l = *acu_pitched_layout_of(buffer);
    const size_t row = l.extent.width * acu_dtype_size(buffer->dtype), size = acu_dtype_size(dtype);
    if (row % size != 0)
        return acu_fail_on(call, buffer, ACU_ERROR_DTYPE,
                           "rows of %zu bytes are no whole number of %s", row,
                           acu_dtype_name(dtype));
    if (l.row_pitch % acu_dtype_alignment(dtype) != 0)
        return acu_fail_on(call, buffer, ACU_ERROR_DTYPE,
                           "rows %zu bytes apart are not aligned for %s", l.row_pitch,
                           acu_dtype_name(dtype));
    l.extent.width = row / size;
    ACU_TRY(new_view(call, buffer, &l, view));
    (*view)->dtype = dtype;
    (*view)->count = acu_buffer_bytes(buffer) / size;
    return 0;
}

/* ---- parts ---- */

/* Returns whether the rows are whole and, where there are several slices, the slices, too. */
static bool is_whole(const acu_pitched_layout *l, acu_position at, acu_extent e) {
    const bool rows = at.x == 0 && e.width == l->extent.width;
    const bool slices = at.y == 0 && e.height == l->extent.height;
    return rows && (slices || e.depth == 1);
}

static bool is_within(const acu_pitched_layout *l, acu_position at, acu_extent e) {
    return at.y <= l->extent.height && e.height <= l->extent.height - at.y &&
           at.z <= l->extent.depth && e.depth <= l->extent.depth - at.z;
}

acu_result acu_buffer_slice_pitched(acu_buffer *buffer, acu_position at, acu_extent extent,
                                    acu_buffer **slice) {
    ACU_SCOPE();
    ACU_NEED_POINTER(slice);
    *slice = NULL;
    NEED_BUFFER(buffer);
    ACU_REQUIRE_OF(buffer, buffer->pitched, ACU_ERROR_ARGUMENT,
                   "the buffer is not pitched; acu_buffer_slice() makes slices of it");
    ACU_TRY(acu_region_check_extent(__func__, buffer, extent));
    acu_pitched_layout l = *acu_pitched_layout_of(buffer);
    ACU_REQUIRE_OF(buffer, is_whole(&l, at, extent) && is_within(&l, at, extent), ACU_ERROR_RANGE,
                   "{%zu, %zu, %zu} from {%zu, %zu, %zu} on are no whole rows of a slice, or whole "
                   "slices, of the extent {%zu, %zu, %zu}",
                   extent.width, extent.height, extent.depth, at.x, at.y, at.z, l.extent.width,
                   l.extent.height, l.extent.depth);
    const size_t size = acu_dtype_size(buffer->dtype), of_slice = l.slice_height * l.row_pitch;
    const size_t first = at.z * of_slice + at.y * l.row_pitch;
    const size_t left = buffer->count * size - first;
    l.extent = extent;
    const size_t bytes = bytes_of(&l);
    ACU_TRY(new_view(__func__, buffer, &l, slice));
    (*slice)->pointer += first;
    (*slice)->count = (bytes < left ? bytes : left) / size;
    return 0;
}

acu_result acu_buffer_get_layout(acu_buffer *buffer, acu_pitched_layout *layout) {
    ACU_SCOPE();
    ACU_NEED_POINTER(layout);
    *layout = (acu_pitched_layout){{0, 0, 0}, 0, 0};
    NEED_BUFFER(buffer);
    if (buffer->pitched)
        *layout = *acu_pitched_layout_of(buffer);
    else
        *layout = (acu_pitched_layout){{buffer->count, 1, 1}, acu_buffer_bytes(buffer), 1};
    return 0;
}
