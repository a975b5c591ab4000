/* Regions: their checks, copies and fills. */
#include "safe/memory/region.h"

#include <limits.h>

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (int)(code))

/* ---- checks; each returns 0 or a failure recorded for `call` ---- */

int acu_region_check_extent(const char *call, const void *object, acu_extent extent) {
    if (extent.width > 0 && extent.height > 0 && extent.depth > 0)
        return 0;
    acu_fail_hint("a row has height 1 and depth 1, a rectangle depth 1");
    return acu_fail_on(call, object, ACU_ERROR_ARGUMENT, "the extent {%zu, %zu, %zu} has a 0",
                       extent.width, extent.height, extent.depth);
}

static int check_region(const char *call, const acu_region *region, const char *name) {
    if (!region)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", name);
    return acu_is(region->buffer, &acu_buffer_class)
               ? 0
               : acu_object_refuse(call, region->buffer, &acu_buffer_class);
}

ACU_COLD static int refuse_row(const char *call, const acu_rows_asked *l, size_t pitch) {
    if (!l->row_pitch) {
        acu_fail_hint("set row_pitch to the bytes from one row of the memory to the next one");
        return acu_fail_on(call, l->object, ACU_ERROR_RANGE,
                           "a row of %s begins at element %zu, but without a row_pitch the rows "
                           "are as long as the extent is wide, %zu elements",
                           l->name, l->at.x, l->extent.width);
    }
    acu_fail_hint("the row pitch is in bytes, and the extent in elements");
    return acu_fail_on(call, l->object, ACU_ERROR_RANGE,
                       "a row of %s ends at element %zu, of %zu bytes each, but the row pitch is "
                       "%zu bytes",
                       l->name, l->at.x + l->extent.width, l->size, pitch);
}

ACU_COLD static int refuse_slice(const char *call, const acu_rows_asked *l, size_t height) {
    if (!l->slice_height) {
        acu_fail_hint("set slice_height to the rows from one slice of the memory to the next one");
        return acu_fail_on(call, l->object, ACU_ERROR_RANGE,
                           "a slice of %s begins at row %zu, but without a slice_height the slices "
                           "are as high as the extent, %zu rows",
                           l->name, l->at.y, height);
    }
    return acu_fail_on(call, l->object, ACU_ERROR_RANGE,
                       "a slice of %s ends at row %zu, but the slice height is %zu rows", l->name,
                       l->at.y + l->extent.height, height);
}

ACU_COLD static int refuse_size(const char *call, const acu_rows_asked *l) {
    return acu_fail_on(call, l->object, ACU_ERROR_OVERFLOW, "%s ends beyond what can be addressed",
                       l->name);
}

/* Returns a * b + c, or SIZE_MAX where that cannot be represented; SIZE_MAX stays itself. */
static size_t multiply_add(size_t a, size_t b, size_t c) {
    size_t product, sum;
    bool lost = a == SIZE_MAX || b == SIZE_MAX || c == SIZE_MAX ||
                __builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum);
    return lost ? SIZE_MAX : sum;
}

int acu_rows_place(const char *call, const acu_rows_asked *l, acu_rows *r, size_t *first,
                   size_t *end) {
    const acu_extent e = l->extent;
    const size_t columns = multiply_add(l->at.x, 1, e.width),
                 lines = multiply_add(l->at.y, 1, e.height);
    const size_t length = multiply_add(columns, l->size, 0);
    const bool many_rows = e.height > 1 || l->at.y > 0 || e.depth > 1 || l->at.z > 0;
    const bool many_slices = e.depth > 1 || l->at.z > 0;
    const size_t height = l->slice_height ? l->slice_height : e.height;
    r->pitch = l->row_pitch ? l->row_pitch : multiply_add(e.width, l->size, 0);
    r->slice = multiply_add(height, r->pitch, 0);
    if ((many_rows || l->row_pitch) && length != SIZE_MAX && length > r->pitch)
        return refuse_row(call, l, r->pitch);
    if ((many_slices || l->slice_height) && lines != SIZE_MAX && lines > height)
        return refuse_slice(call, l, height);
    if (!many_slices)
        r->slice = multiply_add(e.height, r->pitch, 0);
    const size_t before = multiply_add(l->at.z, r->slice, multiply_add(l->at.y, r->pitch, 0));
    *first = multiply_add(l->at.x, l->size, before);
    *end =
        multiply_add(e.depth - 1, r->slice,
                     multiply_add(e.height - 1, r->pitch, multiply_add(e.width, l->size, *first)));
    return *end < PTRDIFF_MAX ? 0 : refuse_size(call, l);
}

/* Returns whether `length` elements from one on lie within a number of elements. */
static bool is_within(size_t at, size_t length, size_t count) {
    return at <= count && length <= count - at;
}

ACU_COLD static int refuse_extent(const char *call, const acu_rows_asked *l,
                                  const acu_buffer *buffer) {
    const acu_position at = l->at;
    const acu_extent e = l->extent, most = acu_pitched_layout_of(buffer)->extent;
    acu_fail_hint("a region with a row_pitch and a slice_height may be anywhere in the memory");
    return acu_fail_on(call, buffer, ACU_ERROR_RANGE,
                       "%s is {%zu, %zu, %zu} from {%zu, %zu, %zu} on, but the buffer's extent is "
                       "{%zu, %zu, %zu}",
                       l->name, e.width, e.height, e.depth, at.x, at.y, at.z, most.width,
                       most.height, most.depth);
}

/*
 * Sets what the caller has left to a pitched buffer: the pitch, and the slice height, which counts
 * the buffer's rows, so that it is nothing to rows of another pitch. Columns, or rows and slices,
 * have to be the buffer's then. `*inside` becomes whether all of the region is.
 */
static int ask_layout(const char *call, const acu_buffer *buffer, acu_rows_asked *l, bool *inside) {
    const acu_pitched_layout *own = acu_pitched_layout_of(buffer);
    const acu_extent e = l->extent, most = own->extent;
    const bool columns = is_within(l->at.x, e.width, most.width);
    const bool rows =
        is_within(l->at.y, e.height, most.height) && is_within(l->at.z, e.depth, most.depth);
    bool fits = true;
    if (!l->row_pitch) {
        l->row_pitch = own->row_pitch;
        fits = columns;
    }
    if (!l->slice_height && l->row_pitch == own->row_pitch) {
        l->slice_height = own->slice_height;
        fits = fits && rows;
    }
    *inside =
        columns && rows && l->row_pitch == own->row_pitch && l->slice_height == own->slice_height;
    return fits ? 0 : refuse_extent(call, l, buffer);
}

int acu_region_find_rows(const char *call, const acu_region *region, const char *name,
                         acu_extent extent, acu_rows *r) {
    const acu_buffer *buffer = region->buffer;
    size_t first = 0, end = 0;
    bool inside = false;
    acu_rows_asked l = {.object = buffer,
                        .name = name,
                        .at = region->at,
                        .extent = extent,
                        .size = acu_dtype_size(buffer->dtype),
                        .row_pitch = region->row_pitch,
                        .slice_height = region->slice_height};
    if (buffer->pitched)
        ACU_TRY(ask_layout(call, buffer, &l, &inside));
    ACU_TRY(acu_rows_place(call, &l, r, &first, &end));
    if (!inside && end > buffer->count * l.size)
        return acu_fail_on(call, buffer, ACU_ERROR_RANGE,
                           "%s ends at byte %zu, but the buffer has %zu bytes", name, end,
                           buffer->count * l.size);
    r->at = buffer->pointer + first;
    return 0;
}

/* ---- overlap ---- */

/* Returns how many of the rows of `bytes` bytes that begin at `a`, a pitch apart, end before `b`.
 */
static size_t rows_before(uintptr_t a, size_t bytes, size_t pitch, uintptr_t b) {
    return a + bytes > b ? 0 : (b - a - bytes) / pitch + 1;
}

/* Returns whether rows of two slices with the same pitch overlap; `bt`, where the second one
 * begins, is not below `at`. Its first row begins in one of the first slice's, or in the gap behind
 * it, and its other rows lie as the first one does. */
static bool even_slices_overlap(uintptr_t at, const acu_box *a, uintptr_t bt, const acu_box *b) {
    const size_t row = (bt - at) / a->pitch, column = (bt - at) % a->pitch;
    return (column < a->width && row < a->height) ||
           (column + b->width > a->pitch && row + 1 < a->height);
}

/* Returns whether rows of two slices, which begin at these addresses, overlap. Both lists of rows
 * ascend, so that those of each which end before the other's next row are left behind. */
static bool slices_overlap(uintptr_t at, const acu_box *a, uintptr_t bt, const acu_box *b) {
    size_t i = 0, j = 0;
    if (a->pitch == b->pitch)
        return at <= bt ? even_slices_overlap(at, a, bt, b) : even_slices_overlap(bt, b, at, a);
    while (i < a->height && j < b->height) {
        const size_t next_i =
            i + rows_before(at + i * a->pitch, a->width, a->pitch, bt + j * b->pitch);
        const size_t next_j =
            j + rows_before(bt + j * b->pitch, b->width, b->pitch, at + i * a->pitch);
        if (next_i == i && next_j == j)
            return true;
        i = next_i;
        j = next_j;
    }
    return false;
}

static size_t slice_length(const acu_box *b) {
    return (b->height - 1) * b->pitch + b->width;
}

acu_box acu_rows_written(const acu_rows_copy *c) {
    return (acu_box){(uintptr_t)c->to, c->width,    c->height,      c->depth,
                     c->to_pitch,      c->to_slice, c->target.array};
}

acu_box acu_rows_read(const acu_rows_copy *c) {
    return (acu_box){(uintptr_t)c->from, c->width,      c->height,      c->depth,
                     c->from_pitch,      c->from_slice, c->source.array};
}

bool acu_boxes_overlap(const acu_box *a, const acu_box *b) {
    if (a->array != b->array)
        return false;
    const size_t a_length = slice_length(a), b_length = slice_length(b);
    size_t i = 0, j = 0;
    while (i < a->depth && j < b->depth) {
        const uintptr_t at = a->at + i * a->slice, bt = b->at + j * b->slice;
        if (at < bt + b_length && bt < at + a_length && slices_overlap(at, a, bt, b))
            return true;
        if (at + a_length < bt + b_length)
            i++;
        else
            j++;
    }
    return false;
}

/* ---- rows of bytes ---- */

/* Makes the rows one long row where they have no gaps, and the slices one where theirs have none.
 */
static void join(acu_rows_copy *c) {
    if (c->depth > 1 && c->to_slice == c->height * c->to_pitch &&
        c->from_slice == c->height * c->from_pitch) {
        c->height *= c->depth;
        c->depth = 1;
    }
    if (c->height > 1 && c->to_pitch == c->width && c->from_pitch == c->width) {
        c->width *= c->height;
        c->height = 1;
        c->to_pitch = c->from_pitch = c->width;
    }
}

static int copy_row(const acu_rows_copy *c, bool names_devices, cudaStream_t on) {
    if (names_devices)
        return (int)cudaMemcpyPeerAsync(c->to, c->to_device, c->from, c->from_device, c->width, on);
    return (int)cudaMemcpyAsync(c->to, c->from, c->width, c->kind, on);
}

/* Copies slices that begin a whole number of rows apart. */
static int copy_slices(const acu_rows_copy *c, bool names_devices, cudaStream_t on) {
    const struct cudaPitchedPtr to = {c->to, c->to_pitch, c->width,
                                      c->depth > 1 ? c->to_slice / c->to_pitch : c->height};
    const struct cudaPitchedPtr from = {(void *)(uintptr_t)c->from, c->from_pitch, c->width,
                                        c->depth > 1 ? c->from_slice / c->from_pitch : c->height};
    const struct cudaExtent extent = {c->width, c->height, c->depth};
    if (names_devices) {
        const struct cudaMemcpy3DPeerParms peer = {.srcPtr = from,
                                                   .srcDevice = c->from_device,
                                                   .dstPtr = to,
                                                   .dstDevice = c->to_device,
                                                   .extent = extent};
        return (int)cudaMemcpy3DPeerAsync(&peer, on);
    }
    const struct cudaMemcpy3DParms params = {
        .srcPtr = from, .dstPtr = to, .extent = extent, .kind = c->kind};
    return (int)cudaMemcpy3DAsync(&params, on);
}

/* Copies what CUDA copies with one call; returns false where one call is not enough. Only a 3D copy
 * can name the devices. */
static bool copy_at_once(const acu_rows_copy *c, bool names_devices, cudaStream_t on, int *code) {
    const bool fits = c->to_pitch <= INT_MAX && c->from_pitch <= INT_MAX;
    const bool whole = c->to_slice % c->to_pitch == 0 && c->from_slice % c->from_pitch == 0;
    if (c->height == 1 && c->depth == 1)
        *code = copy_row(c, names_devices, on);
    else if (fits && c->depth == 1 && !names_devices)
        *code = (int)cudaMemcpy2DAsync(c->to, c->to_pitch, c->from, c->from_pitch, c->width,
                                       c->height, c->kind, on);
    else if (fits && (c->depth == 1 || whole))
        *code = copy_slices(c, names_devices, on);
    else
        return false;
    return true;
}

int acu_rows_copy_on(const acu_rows_copy *copy, bool names_devices, cudaStream_t on) {
    acu_rows_copy part = *copy;
    int code = 0;
    join(&part);
    if (copy_at_once(&part, names_devices, on, &code))
        return code;
    const bool by_slices = part.depth > 1;
    const size_t parts = by_slices ? part.depth : part.height;
    const size_t to_step = by_slices ? part.to_slice : part.to_pitch;
    const size_t from_step = by_slices ? part.from_slice : part.from_pitch;
    if (by_slices)
        part.depth = 1;
    else
        part.height = 1;
    for (size_t i = 0; i < parts && !code; i++) {
        code = acu_rows_copy_on(&part, names_devices, on);
        part.to += to_step;
        part.from += from_step;
    }
    return code;
}

static int run_copy(const acu_buffer_job *job, const void *data) {
    const acu_rows_copy *copy = data;
    const bool names_devices = copy->is_peer && acu_buffer_copy_may_name_devices(job->on->raw);
    return acu_rows_copy_on(copy, names_devices, job->on->raw);
}

/* Returns the copy of elements of `size` bytes; its kind is not set. */
static acu_rows_copy copy_of(const acu_rows *to, const acu_rows *from, acu_extent extent,
                             size_t size) {
    return (acu_rows_copy){.to = to->at,
                           .from = from->at,
                           .width = extent.width * size,
                           .height = extent.height,
                           .depth = extent.depth,
                           .to_pitch = to->pitch,
                           .from_pitch = from->pitch,
                           .to_slice = to->slice,
                           .from_slice = from->slice};
}

/* ---- copies between regions ---- */

static int refuse_array(const char *call) {
    return acu_fail(call, "", ACU_ERROR_HANDLE, "'array' is no array: the program makes none");
}

int acu_region_check_copy(const char *call, const acu_region *to, const acu_region *from,
                          acu_extent extent, acu_rows_copy *copy) {
    acu_rows to_rows, from_rows;
    if ((to && to->array) || (from && from->array))
        return acu_array_check_copy ? acu_array_check_copy(call, to, from, extent, copy)
                                    : refuse_array(call);
    ACU_TRY(check_region(call, to, "to"));
    ACU_TRY(check_region(call, from, "from"));
    ACU_TRY(acu_buffer_check_types(call, to->buffer, from->buffer));
    ACU_TRY(acu_region_check_extent(call, to->buffer, extent));
    ACU_TRY(acu_region_find_rows(call, to, "the destination", extent, &to_rows));
    ACU_TRY(acu_region_find_rows(call, from, "the source", extent, &from_rows));
    const size_t size = acu_dtype_size(to->buffer->dtype);
    *copy = copy_of(&to_rows, &from_rows, extent, size);
    copy->extent = (acu_extent){copy->width, copy->height, copy->depth};
    copy->element = 1;
    copy->target = (acu_copy_side){.memory = to->buffer, .handle = to->buffer};
    copy->source = (acu_copy_side){.memory = from->buffer, .handle = from->buffer};
    const acu_box writes = acu_rows_written(copy), reads = acu_rows_read(copy);
    if (to->buffer->storage == from->buffer->storage && acu_boxes_overlap(&writes, &reads))
        return acu_fail_on(call, to->buffer, ACU_ERROR_RANGE, "the two regions overlap");
    copy->kind = acu_buffer_copy_kind(to->buffer, from->buffer);
    copy->to_device = to->buffer->object.device;
    copy->from_device = from->buffer->object.device;
    return 0;
}

int acu_region_copy_checked(acu_rows_copy *copy, acu_stream *on) {
    acu_buffer *to = copy->target.memory, *from = copy->source.memory;
    if (copy->target.array || copy->source.array)
        return acu_array_copy_checked(copy, on);
    copy->is_peer = acu_buffer_copy_is_peer(to, from, on->object.device);
    const acu_buffer_job job = {
        .to = to, .from = from, .on = on, .copies = true, .run = run_copy, .data = copy};
    return acu_buffer_run(&job);
}

acu_result acu_region_copy(const acu_region *to, const acu_region *from, acu_extent extent,
                           acu_stream *on) {
    ACU_SCOPE();
    acu_rows_copy copy;
    ACU_TRY(acu_region_check_copy(__func__, to, from, extent, &copy));
    ACU_TRY(acu_buffer_choose_stream(__func__, copy.target.memory, &on));
    return OUTCOME(copy.target.handle, acu_region_copy_checked(&copy, on));
}

/* ---- copies with the host ---- */

/* A copy between a region and the host, as the caller asked for it. */
typedef struct host_copy {
    const acu_region *region;
    const char *name; /* of the region's parameter */
    acu_extent extent;
    acu_dtype dtype;
    const void *host;
    size_t row_pitch, slice_height; /* of the host's rows */
    acu_stream *on;
    bool writes; /* from the host */
} host_copy;

/* Checks the copy and finds the rows of both sides; returns 0 or a failure recorded for `call`. */
static int find_both(const char *call, host_copy *c, acu_rows *region, acu_rows *host) {
    ACU_TRY(check_region(call, c->region, c->name));
    const acu_buffer *buffer = c->region->buffer;
    size_t first = 0, end = 0;
    const acu_rows_asked l = {.object = buffer,
                              .name = "the host's memory",
                              .extent = c->extent,
                              .size = acu_dtype_size(buffer->dtype),
                              .row_pitch = c->row_pitch,
                              .slice_height = c->slice_height};
    ACU_TRY(acu_buffer_check_host_copy(call, buffer, 0, c->dtype, c->host, 0));
    if (!c->host)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'host' is NULL");
    ACU_TRY(acu_buffer_choose_stream(call, buffer, &c->on));
    ACU_TRY(acu_region_check_extent(call, buffer, c->extent));
    ACU_TRY(acu_region_find_rows(call, c->region, "the region", c->extent, region));
    ACU_TRY(acu_rows_place(call, &l, host, &first, &end));
    host->at = (char *)(uintptr_t)c->host;
    return 0;
}

static int copy_with_host(const char *call, host_copy *c) {
    const acu_array_host_copy of_array = {c->region,    c->extent,       c->dtype, c->host,
                                          c->row_pitch, c->slice_height, c->on,    c->writes};
    if (c->region && c->region->array)
        return acu_array_copy_host ? acu_array_copy_host(call, &of_array) : refuse_array(call);
    acu_rows region = {NULL, 0, 0}, host = {NULL, 0, 0};
    ACU_TRY(find_both(call, c, &region, &host));
    acu_buffer *buffer = c->region->buffer;
    const bool on_host = acu_buffer_is_host_memory(buffer);
    acu_rows_copy copy = copy_of(c->writes ? &region : &host, c->writes ? &host : &region,
                                 c->extent, acu_dtype_size(buffer->dtype));
    copy.kind = on_host     ? cudaMemcpyHostToHost
                : c->writes ? cudaMemcpyHostToDevice
                            : cudaMemcpyDeviceToHost;
    const acu_buffer_job job = {.to = c->writes ? buffer : NULL,
                                .from = c->writes ? NULL : buffer,
                                .on = c->on,
                                .copies = true,
                                .run = run_copy,
                                .data = &copy};
    return acu_outcome(call, buffer, acu_buffer_run_and_wait(&job));
}

acu_result acu_region_write_typed(const acu_region *to, acu_extent extent, acu_dtype dtype,
                                  const void *host, size_t row_pitch, size_t slice_height,
                                  acu_stream *on) {
    ACU_SCOPE();
    host_copy c = {to, "to", extent, dtype, host, row_pitch, slice_height, on, true};
    return copy_with_host(__func__, &c);
}

acu_result acu_region_read_typed(const acu_region *from, acu_extent extent, acu_dtype dtype,
                                 void *host, size_t row_pitch, size_t slice_height,
                                 acu_stream *on) {
    ACU_SCOPE();
    host_copy c = {from, "from", extent, dtype, host, row_pitch, slice_height, on, false};
    return copy_with_host(__func__, &c);
}

/* ---- fills ---- */

/* A fill of slices, which lie `slice` bytes apart. */
typedef struct fill {
    acu_rows_fill rows;
    size_t depth, slice;
} fill;

/* Fills the slices after the first one, which is filled: each copy makes them twice as many. */
static int copy_first_slice(const fill *f, cudaStream_t on) {
    const acu_rows_fill *r = &f->rows;
    int code = 0;
    for (size_t done = 1, more; done < f->depth && !code; done += more) {
        more = done < f->depth - done ? done : f->depth - done;
        const acu_rows_copy copy = {.to = r->at + done * f->slice,
                                    .from = r->at,
                                    .width = r->width * r->size,
                                    .height = r->height,
                                    .depth = more,
                                    .to_pitch = r->pitch,
                                    .from_pitch = r->pitch,
                                    .to_slice = f->slice,
                                    .from_slice = f->slice,
                                    .kind = r->kind};
        code = acu_rows_copy_on(&copy, false, on);
    }
    return code;
}

static int run_fill(const acu_buffer_job *job, const void *data) {
    const fill *f = data;
    const int code = acu_rows_fill_on(&f->rows, job->on->raw);
    return code ? code : copy_first_slice(f, job->on->raw);
}

int acu_region_fill_checked(acu_buffer *to, const acu_rows *rows, acu_extent extent,
                            const void *element, acu_stream *on) {
    fill f = {{.at = rows->at,
               .size = acu_dtype_size(to->dtype),
               .bytes = element,
               .width = extent.width,
               .height = extent.height,
               .pitch = rows->pitch,
               .kind = acu_buffer_copy_kind(to, to)},
              extent.depth,
              rows->slice};
    if (f.slice == f.rows.height * f.rows.pitch) {
        f.rows.height *= f.depth;
        f.depth = 1;
    }
    const acu_buffer_job job = {.to = to, .on = on, .run = run_fill, .data = &f};
    return acu_buffer_run(&job);
}

acu_result acu_region_fill_typed(const acu_region *to, acu_extent extent, acu_dtype dtype,
                                 const void *element, acu_stream *on) {
    ACU_SCOPE();
    acu_rows r;
    ACU_NEED_POINTER(element);
    ACU_REQUIRE(!to || !to->array, ACU_ERROR_ARGUMENT,
                "CUDA does not fill arrays: copy to this one");
    ACU_TRY(check_region(__func__, to, "to"));
    acu_buffer *buffer = to->buffer;
    ACU_TRY(acu_buffer_check_fill(__func__, buffer, dtype, element, &on));
    ACU_TRY(acu_region_check_extent(__func__, buffer, extent));
    ACU_TRY(acu_region_find_rows(__func__, to, "the region", extent, &r));
    return OUTCOME(buffer, acu_region_fill_checked(buffer, &r, extent, element, on));
}
