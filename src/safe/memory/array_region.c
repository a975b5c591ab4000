/* Copies of arrays' regions, and how CUDA copies arrays. */
#include "safe/base/clear_stack.h"
#include "safe/memory/array.h"
#include "safe/memory/array_make.h"
#include "safe/memory/region.h"

/* ---- calls of CUDA ---- */

static bool is_between_devices(const acu_buffer_job *job) {
    return job->to && job->from && job->to->object.device != job->from->object.device &&
           acu_buffer_is_device_memory(job->to) && acu_buffer_is_device_memory(job->from);
}

/* Copies with the memory's device current, because CUDA asks whether that one has access to a pool;
 * to an array each has. Another device must not be current for a default stream. */
static int copy_near_memory(const acu_buffer_job *job, const struct cudaMemcpy3DParms *p) {
    const acu_buffer *memory = p->dstArray ? job->from : job->to;
    acu_guard guard = {.changed = false};
    int code = job->on->is_default ? 0 : acu_guard_enter(&guard, memory->object.device);
    acu_clear_stack();
    if (!code)
        code = (int)cudaMemcpy3DAsync(p, job->on->raw);
    acu_guard_leave(&guard);
    return code;
}

/* Between two devices a copy names both, as it does between buffers; CUDA captures no such copy. */
int acu_array_run_copy(const acu_buffer_job *job, const void *data) {
    const struct cudaMemcpy3DParms *p = data;
    if (!is_between_devices(job))
        return (int)cudaMemcpy3DAsync(p, job->on->raw);
    if (!(p->srcArray && p->dstArray) && !acu_buffer_copy_may_name_devices(job->on->raw))
        return copy_near_memory(job, p);
    const struct cudaMemcpy3DPeerParms peer = {.srcArray = p->srcArray,
                                               .srcPos = p->srcPos,
                                               .srcPtr = p->srcPtr,
                                               .srcDevice = job->from->object.device,
                                               .dstArray = p->dstArray,
                                               .dstPos = p->dstPos,
                                               .dstPtr = p->dstPtr,
                                               .dstDevice = job->to->object.device,
                                               .extent = p->extent};
    return (int)cudaMemcpy3DPeerAsync(&peer, job->on->raw);
}

/* ---- checks ---- */

/* One side of a copy: an array's region, or rows of memory. */
typedef struct side {
    const acu_array *array; /* NULL: rows */
    acu_buffer *memory;     /* NULL: the host */
    acu_rows rows;          /* of an array such as memory might have that begins at its handle */
    acu_position at;
} side;

static bool is_compressed(const acu_array *array) {
    return acu_format_is_compressed(&array->shape.format);
}

/* Returns how many elements an extent of an array is in memory: blocks, if compressed. */
static acu_extent in_memory(const acu_array *array, acu_extent e) {
    const size_t unit = is_compressed(array) ? 4 : 1;
    return (acu_extent){(e.width + unit - 1) / unit, (e.height + unit - 1) / unit, e.depth};
}

/* Returns whether texels are whole blocks; the last block may end behind the array. */
static bool are_blocks(size_t at, size_t length, size_t all) {
    return at % 4 == 0 && (length % 4 == 0 || length == all - at);
}

static int check_blocks(const char *call, const acu_array *array, acu_position at, acu_extent e) {
    const acu_extent all = acu_array_elements(&array->shape, false);
    if (!is_compressed(array) ||
        (are_blocks(at.x, e.width, all.width) && are_blocks(at.y, e.height, all.height)))
        return 0;
    acu_fail_hint("blocks have 4 x 4 texels: begin at multiples of 4, and copy multiples of 4 or "
                  "up to the edge");
    return acu_fail_on(call, array, ACU_ERROR_RANGE,
                       "%zu x %zu texels from {%zu, %zu} on are no whole blocks of a compressed "
                       "array",
                       e.width, e.height, at.x, at.y);
}

/* Returns the rows that an array would have in memory, from its element at a position on. */
static acu_rows rows_at(const acu_array *array, acu_position at) {
    const acu_extent all = in_memory(array, acu_array_elements(&array->shape, false));
    const size_t size = array->shape.element, unit = is_compressed(array) ? 4 : 1;
    const size_t pitch = all.width * size, slice = all.height * pitch;
    return (acu_rows){(char *)array->raw + at.z * slice + at.y / unit * pitch + at.x / unit * size,
                      pitch, slice};
}

static int check_in_array(const char *call, const acu_region *region, acu_extent e, side *s) {
    const acu_array *array = region->array;
    const acu_position at = region->at;
    if (!acu_is(array, &acu_array_class))
        return acu_object_refuse(call, array, &acu_array_class);
    if (region->buffer || region->row_pitch || region->slice_height)
        return acu_fail_on(call, array, ACU_ERROR_ARGUMENT,
                           "a region of an array has no 'buffer', 'row_pitch' and 'slice_height'");
    const acu_extent all = acu_array_elements(&array->shape, false);
    if (at.x > all.width || e.width > all.width - at.x || at.y > all.height ||
        e.height > all.height - at.y || at.z > all.depth || e.depth > all.depth - at.z)
        return acu_fail_on(call, array, ACU_ERROR_RANGE,
                           "%zu x %zu x %zu elements from {%zu, %zu, %zu} on are outside of the "
                           "array, which has %zu x %zu x %zu",
                           e.width, e.height, e.depth, at.x, at.y, at.z, all.width, all.height,
                           all.depth);
    *s =
        (side){.array = array, .memory = array->shape.memory, .rows = rows_at(array, at), .at = at};
    return check_blocks(call, array, at, e);
}

/* Checks that memory of such elements can be copied from or to the array. */
static int check_elements(const char *call, const acu_array *array, acu_dtype dtype, bool of_host) {
    const acu_format *f = &array->shape.format;
    const bool is_whole = acu_dtype_size(dtype) == array->shape.element &&
                          (f->channels > 1 || acu_dtype_fits(f->dtype, dtype));
    if (is_whole || (of_host && acu_dtype_fits(f->dtype, dtype)))
        return 0;
    acu_fail_hint("ACU_BYTES(%zu) is the type of the array's elements: acu_buffer_reinterpret()",
                  array->shape.element);
    return acu_fail_on(call, array, ACU_ERROR_DTYPE, "the array holds %u x %s, the memory %s",
                       f->channels, acu_dtype_name(f->dtype), acu_dtype_name(dtype));
}

/* Finds a side whose parameter and whose name for failures are these. */
static int find_side(const char *call, const acu_region *region, const char *parameter,
                     const char *name, const acu_array *other, acu_extent extent, side *s) {
    if (!region)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", parameter);
    if (region->array)
        return check_in_array(call, region, extent, s);
    if (!acu_is(region->buffer, &acu_buffer_class))
        return acu_object_refuse(call, region->buffer, &acu_buffer_class);
    if (!acu_is(other, &acu_array_class))
        return acu_object_refuse(call, other, &acu_array_class);
    *s = (side){.memory = region->buffer};
    ACU_TRY(check_elements(call, other, region->buffer->dtype, false));
    return acu_region_find_rows(call, region, name, in_memory(other, extent), &s->rows);
}

static acu_copy_side side_of(const side *s) {
    return (acu_copy_side){.memory = s->memory,
                           .handle = s->array ? (const void *)s->array : (const void *)s->memory,
                           .array = s->array ? s->array->raw : NULL,
                           .at = s->at};
}

/* Returns whether a copy is from one layer, or face, of an array to another one of it. */
static bool is_between_layers(const side *to, const side *from) {
    static const unsigned layers = (unsigned)ACU_ARRAY_LAYERED | (unsigned)ACU_ARRAY_CUBE;
    return to->array && from->array && to->array->raw == from->array->raw &&
           acu_has(to->array->shape.flags, layers) && to->at.z != from->at.z;
}

static acu_rows_copy copy_of(const side *to, const side *from, acu_extent e) {
    const acu_array *array = to->array ? to->array : from->array;
    const acu_extent memory = in_memory(array, e);
    return (acu_rows_copy){.to = to->rows.at,
                           .from = from->rows.at,
                           .width = memory.width * array->shape.element,
                           .height = memory.height,
                           .depth = memory.depth,
                           .to_pitch = to->rows.pitch,
                           .from_pitch = from->rows.pitch,
                           .to_slice = to->rows.slice,
                           .from_slice = from->rows.slice,
                           .kind = cudaMemcpyDefault,
                           .to_device = to->memory ? to->memory->object.device : ACU_DEVICE_HOST,
                           .from_device =
                               from->memory ? from->memory->object.device : ACU_DEVICE_HOST,
                           .target = side_of(to),
                           .source = side_of(from),
                           .extent = e,
                           .element = array->shape.element,
                           .in_blocks = is_compressed(array),
                           .between_layers = is_between_layers(to, from)};
}

static int check_two_arrays(const char *call, const side *to, const side *from) {
    if (is_compressed(to->array) != is_compressed(from->array))
        return acu_fail_on(call, to->array, ACU_ERROR_DTYPE,
                           "one array is compressed and the other one is not");
    if (to->array->shape.element == from->array->shape.element)
        return 0;
    return acu_fail_on(call, to->array, ACU_ERROR_DTYPE,
                       "elements of the destination have %zu bytes, those of the source %zu",
                       to->array->shape.element, from->array->shape.element);
}

/* Returns the array of a region, the destination's before the source's; NULL if that is no array.
 */
static const acu_array *array_in(const acu_region *to, const acu_region *from) {
    const acu_array *array = to && to->array ? to->array : from ? from->array : NULL;
    return acu_is(array, &acu_array_class) ? array : NULL;
}

int acu_array_check_copy(const char *call, const acu_region *to, const acu_region *from,
                         acu_extent extent, acu_rows_copy *copy) {
    side t = {0}, f = {0};
    ACU_TRY(acu_region_check_extent(call, array_in(to, from), extent));
    ACU_TRY(find_side(call, to, "to", "the destination", from ? from->array : NULL, extent, &t));
    ACU_TRY(find_side(call, from, "from", "the source", to ? to->array : NULL, extent, &f));
    if (t.array && f.array)
        ACU_TRY(check_two_arrays(call, &t, &f));
    *copy = copy_of(&t, &f, extent);
    const acu_box writes = acu_rows_written(copy), reads = acu_rows_read(copy);
    return t.array && f.array && acu_boxes_overlap(&writes, &reads)
               ? acu_fail_on(call, t.array, ACU_ERROR_RANGE, "the two regions overlap")
               : 0;
}

/* ---- copies ---- */

/* Returns the rows for CUDA, which wants slices that are a whole number of rows apart. */
static struct cudaPitchedPtr pitched(const void *at, size_t pitch, size_t slice,
                                     const acu_rows_copy *c) {
    return (struct cudaPitchedPtr){(void *)(uintptr_t)at, pitch, c->width / c->element,
                                   c->depth > 1 ? slice / pitch : c->height};
}

static struct cudaMemcpy3DParms params_of(const acu_rows_copy *c) {
    const acu_position to = c->target.at, from = c->source.at;
    struct cudaMemcpy3DParms p = {.srcPos = {from.x, from.y, from.z},
                                  .dstPos = {to.x, to.y, to.z},
                                  .extent = {c->extent.width, c->extent.height, c->extent.depth},
                                  .kind = c->kind};
    if (c->target.array)
        p.dstArray = c->target.array;
    else
        p.dstPtr = pitched(c->to, c->to_pitch, c->to_slice, c);
    if (c->source.array)
        p.srcArray = c->source.array;
    else
        p.srcPtr = pitched(c->from, c->from_pitch, c->from_slice, c);
    return p;
}

static int copy_at_once(const acu_rows_copy *copy, acu_stream *on) {
    const struct cudaMemcpy3DParms p = params_of(copy);
    const acu_buffer_job job = {.to = copy->target.memory,
                                .from = copy->source.memory,
                                .on = on,
                                .copies = true,
                                .run = acu_array_run_copy,
                                .data = &p};
    return acu_buffer_run(&job);
}

/*
 * Copies by way of memory. From one layer of an array to another one CUDA copies wrong data: driver
 * 580 took the source from the layer of the destination, by each of its calls.
 */
static int copy_by_memory(const acu_rows_copy *copy, acu_stream *on) {
    ACU_AUTO(acu_buffer) *scratch = NULL;
    const size_t slice = copy->width * copy->height;
    const int code = acu_stream_check_uncaptured(on);
    if (code == ACU_ERROR_CAPTURE)
        return acu_record(code,
                          "between two layers of one array CUDA copies from the wrong layer, and "
                          "the memory that avoids that is not captured: copy through a buffer");
    ACU_TRY(code);
    ACU_TRY(acu_buffer_create(on, ACU_BYTES(1), slice * copy->depth, &scratch));
    acu_rows_copy out = *copy, in = *copy;
    out.to = scratch->pointer;
    in.from = scratch->pointer;
    out.to_pitch = in.from_pitch = copy->width;
    out.to_slice = in.from_slice = slice;
    out.target = in.source = (acu_copy_side){.memory = scratch, .handle = scratch};
    ACU_TRY(copy_at_once(&out, on));
    return copy_at_once(&in, on);
}

int acu_array_copy_checked(const acu_rows_copy *copy, acu_stream *on) {
    return copy->between_layers ? copy_by_memory(copy, on) : copy_at_once(copy, on);
}

int acu_array_copy_host(const char *call, const acu_array_host_copy *c) {
    side array = {0}, host = {0};
    size_t first = 0, end = 0;
    acu_stream *on = c->on;
    ACU_TRY(acu_region_check_extent(call, array_in(c->region, NULL), c->extent));
    ACU_TRY(check_in_array(call, c->region, c->extent, &array));
    if (!c->host)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'host' is NULL");
    ACU_TRY(check_elements(call, array.array, c->dtype, true));
    const acu_rows_asked asked = {.object = array.array,
                                  .name = "the host's memory",
                                  .extent = in_memory(array.array, c->extent),
                                  .size = array.array->shape.element,
                                  .row_pitch = c->row_pitch,
                                  .slice_height = c->slice_height};
    ACU_TRY(acu_rows_place(call, &asked, &host.rows, &first, &end));
    host.rows.at = (char *)(uintptr_t)c->host;
    ACU_TRY(acu_buffer_choose_stream(call, array.memory, &on));
    acu_rows_copy copy =
        c->writes ? copy_of(&array, &host, c->extent) : copy_of(&host, &array, c->extent);
    copy.kind = c->writes ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    const struct cudaMemcpy3DParms p = params_of(&copy);
    const acu_buffer_job job = {.to = c->writes ? array.memory : NULL,
                                .from = c->writes ? NULL : array.memory,
                                .on = on,
                                .copies = true,
                                .run = acu_array_run_copy,
                                .data = &p};
    return acu_outcome(call, array.array, acu_buffer_run_and_wait(&job));
}
