/* Batches: copies of buffers and of regions. */
#include "safe/memory/batch.h"

#include <limits.h>

/* ---- copies ---- */

static acu_copy copy_at(const acu_batch *b, size_t index) {
    return acu_buffer_copy_counted(&b->copies[index]);
}

static int check_copy(const acu_batch *b, size_t index) {
    const acu_copy c = copy_at(b, index);
    return acu_buffer_check_copy(b->call, c.to, c.to_at, c.from, c.from_at, c.count);
}

/* A copy from or to another device has to name the devices, or to be done where the memory is. */
static acu_batch_element look_at_copy(const acu_batch *b, size_t index, acu_rows_copy *rows) {
    (void)rows;
    const acu_copy c = copy_at(b, index);
    const acu_device here = b->stream->object.device;
    return (acu_batch_element){.to = c.to,
                               .from = c.from,
                               .handle = c.to,
                               .writes = acu_batch_span_of(c.to, c.to_at, c.count),
                               .reads = acu_batch_span_of(c.from, c.from_at, c.count),
                               .alone =
                                   c.to->object.device != here || c.from->object.device != here};
}

/* Returns the attributes of a copy; NULL if there are none. `*next` is the first entry that may be
 * that of a later copy. */
static const acu_copy_attributes *attributes_of(const acu_batch *b, size_t index, size_t *next) {
    while (*next < b->attribute_count && b->attributes[*next].first <= index)
        (*next)++;
    return *next > 0 ? &b->attributes[*next - 1] : NULL;
}

int acu_batch_convert_attributes(const acu_copy_attributes *a, struct cudaMemcpyAttributes *as) {
    *as = (struct cudaMemcpyAttributes){.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    if (!a)
        return 0;
    if (a->order)
        as->srcAccessOrder = (enum cudaMemcpySrcAccessOrder)a->order;
    as->flags = a->overlap ? cudaMemcpyFlagPreferOverlapWithCompute : 0;
    int code = a->to ? acu_batch_name_place(*a->to, &as->dstLocHint) : 0;
    return code || !a->from ? code : acu_batch_name_place(*a->from, &as->srcLocHint);
}

static int copy_pack(const acu_batch *b, const acu_batch_pack *p) {
    void *to[ACU_BATCH_AT_ONCE];
    const void *from[ACU_BATCH_AT_ONCE];
    size_t sizes[ACU_BATCH_AT_ONCE], begins[ACU_BATCH_AT_ONCE], entries = 0, next = 0;
    struct cudaMemcpyAttributes all[ACU_BATCH_AT_ONCE];
    const acu_copy_attributes *last = NULL;
    for (size_t i = 0; i < p->count; i++) {
        const acu_batch_element *e = &p->elements[i];
        const acu_copy_attributes *its = attributes_of(b, p->index[i], &next);
        to[i] = (void *)e->writes.begin;
        from[i] = (const void *)e->reads.begin;
        sizes[i] = e->writes.end - e->writes.begin;
        if (i == 0 || its != last) {
            begins[entries] = i;
            ACU_TRY(acu_batch_convert_attributes(its, &all[entries++]));
        }
        last = its;
    }
    return (int)cudaMemcpyBatchAsync(to, from, sizes, p->count, all, begins, entries,
                                     b->stream->raw);
}

static int copy_one(acu_batch *b, size_t index) {
    const acu_copy c = copy_at(b, index);
    b->calls++;
    return acu_buffer_copy_checked(&c, b->stream);
}

/* Returns whether a source must be read by the end of the call. */
static bool must_be_read(const acu_batch *b) {
    for (size_t i = 0; i < b->attribute_count; i++)
        if (b->attributes[i].order == ACU_SOURCE_ORDER_DURING_API_CALL)
            return true;
    return false;
}

static int check_hint(const char *call, const acu_device *device) {
    struct cudaMemLocation unused;
    return device ? acu_buffer_find_location(call, *device, &unused) : 0;
}

int acu_batch_check_attributes(const char *call, const acu_copy_attributes *attributes,
                               size_t count) {
    if (!attributes && count > 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'attributes' is NULL");
    for (size_t i = 0; i < count; i++) {
        const acu_copy_attributes *a = &attributes[i];
        if (i > 0 && a->first <= a[-1].first)
            return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                            "attributes[%zu].first is %zu, after %zu: the entries have the order "
                            "of the copies",
                            i, a->first, a[-1].first);
        if ((unsigned)a->order > ACU_SOURCE_ORDER_ANY)
            return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                            "attributes[%zu].order is %d, which is no acu_source_order", i,
                            (int)a->order);
        ACU_TRY(check_hint(call, a->to));
        ACU_TRY(check_hint(call, a->from));
    }
    return 0;
}

static int check_attributes(const acu_batch *b) {
    ACU_TRY(acu_batch_check_attributes(b->call, b->attributes, b->attribute_count));
    return must_be_read(b) ? acu_outcome(b->call, b->stream, acu_stream_check_wait(b->stream)) : 0;
}

/* Waits for copies that were done one by one, whose sources the caller may change afterwards: CUDA
 * reads those in the stream's order. Returns the public function's result. */
static acu_result wait_for_sources(const acu_batch *b, acu_result result) {
    if (!b->one_by_one || !must_be_read(b))
        return result;
    acu_saved_record before;
    acu_record_save(&before);
    const int mode = acu_thread_ignore_captures();
    const int code = (int)cudaStreamSynchronize(b->stream->raw);
    acu_thread_restore(mode);
    if (result)
        acu_record_restore(&before);
    return result ? result : acu_outcome(b->call, b->stream, code);
}

acu_result acu_batch_copy(acu_stream *stream, const acu_copy *copies, size_t count,
                          const acu_copy_attributes *attributes, size_t attribute_count,
                          acu_batch_report *report) {
    ACU_SCOPE();
    static const acu_batch_kind copying = {.what = "copy",
                                           .since = 12080,
                                           .check = check_copy,
                                           .look = look_at_copy,
                                           .run = copy_pack,
                                           .run_one = copy_one};
    acu_batch b = {.kind = &copying,
                   .call = __func__,
                   .stream = stream,
                   .count = count,
                   .report = report,
                   .copies = copies,
                   .attributes = attributes,
                   .attribute_count = attribute_count};
    acu_batch_clear_report(report);
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE(copies || count == 0, ACU_ERROR_ARGUMENT, "'copies' is NULL");
    ACU_TRY(check_attributes(&b));
    return wait_for_sources(&b, acu_batch_run(&b));
}

/* ---- copies of regions ---- */

static int check_regions(const acu_batch *b, size_t index) {
    acu_rows_copy unused;
    const acu_region_pair *pair = &b->pairs[index];
    return acu_region_check_copy(b->call, &pair->to, &pair->from, pair->extent, &unused);
}

static acu_batch_span span_of_box(const acu_box *box) {
    return (acu_batch_span){box->at, box->at + (box->depth - 1) * box->slice +
                                         (box->height - 1) * box->pitch + box->width};
}

/* Returns whether one operand of CUDA's can be these slices: an array, or whole elements in a row,
 * and whole rows in a slice. */
static bool is_operand(const acu_copy_side *side, const acu_box *box, size_t element) {
    return side->array || (box->pitch <= INT_MAX && box->pitch % element == 0 &&
                           (box->depth == 1 || box->slice % box->pitch == 0));
}

static acu_batch_element look_at_regions(const acu_batch *b, size_t index, acu_rows_copy *rows) {
    const acu_region_pair *pair = &b->pairs[index];
    const acu_device here = b->stream->object.device;
    (void)acu_region_check_copy(b->call, &pair->to, &pair->from, pair->extent, rows);
    const acu_box to = acu_rows_written(rows), from = acu_rows_read(rows);
    return (acu_batch_element){.to = rows->target.memory,
                               .from = rows->source.memory,
                               .handle = rows->target.handle,
                               .writes = span_of_box(&to),
                               .reads = span_of_box(&from),
                               .alone = rows->to_device != here || rows->from_device != here ||
                                        rows->in_blocks || rows->between_layers ||
                                        !is_operand(&rows->target, &to, rows->element) ||
                                        !is_operand(&rows->source, &from, rows->element)};
}

/* Returns an operand of a copy, whose elements are bytes for CUDA unless there is an array. */
static struct cudaMemcpy3DOperand operand_of(const acu_copy_side *side, const acu_box *box,
                                             size_t element, struct cudaMemLocation hint) {
    if (side->array)
        return (struct cudaMemcpy3DOperand){
            .type = cudaMemcpyOperandTypeArray,
            .op.array = {.array = side->array, .offset = {side->at.x, side->at.y, side->at.z}}};
    return (struct cudaMemcpy3DOperand){
        .type = cudaMemcpyOperandTypePointer,
        .op.ptr = {.ptr = (void *)box->at,
                   .rowLength = box->pitch / element,
                   .layerHeight = box->depth > 1 ? box->slice / box->pitch : box->height,
                   .locHint = hint}};
}

static int copy_regions_pack(const acu_batch *b, const acu_batch_pack *p) {
    struct cudaMemcpy3DBatchOp ops[ACU_BATCH_AT_ONCE];
    struct cudaMemcpyAttributes as;
    size_t next = 0;
    for (size_t i = 0; i < p->count; i++) {
        const acu_rows_copy *r = &p->rows[i];
        const acu_box to = acu_rows_written(r), from = acu_rows_read(r);
        ACU_TRY(acu_batch_convert_attributes(attributes_of(b, p->index[i], &next), &as));
        ops[i] = (struct cudaMemcpy3DBatchOp){
            .src = operand_of(&r->source, &from, r->element, as.srcLocHint),
            .dst = operand_of(&r->target, &to, r->element, as.dstLocHint),
            .extent = {r->extent.width, r->extent.height, r->extent.depth},
            .srcAccessOrder = as.srcAccessOrder,
            .flags = as.flags};
    }
    return (int)cudaMemcpy3DBatchAsync(p->count, ops, 0, b->stream->raw);
}

static int copy_regions_one(acu_batch *b, size_t index) {
    acu_rows_copy rows;
    const acu_region_pair *pair = &b->pairs[index];
    int code = acu_region_check_copy(b->call, &pair->to, &pair->from, pair->extent, &rows);
    b->calls++;
    return code ? code : acu_region_copy_checked(&rows, b->stream);
}

acu_result acu_batch_copy_regions(acu_stream *stream, const acu_region_pair *pairs, size_t count,
                                  const acu_copy_attributes *attributes, size_t attribute_count,
                                  acu_batch_report *report) {
    ACU_SCOPE();
    static const acu_batch_kind copying = {.what = "pair",
                                           .since = 12080,
                                           .check = check_regions,
                                           .look = look_at_regions,
                                           .has_rows = true,
                                           .run = copy_regions_pack,
                                           .run_one = copy_regions_one};
    acu_batch b = {.kind = &copying,
                   .call = __func__,
                   .stream = stream,
                   .count = count,
                   .report = report,
                   .pairs = pairs,
                   .attributes = attributes,
                   .attribute_count = attribute_count};
    acu_batch_clear_report(report);
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE(pairs || count == 0, ACU_ERROR_ARGUMENT, "'pairs' is NULL");
    ACU_TRY(check_attributes(&b));
    return wait_for_sources(&b, acu_batch_run(&b));
}
