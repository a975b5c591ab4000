/* Batches: their elements are checked, packed and done, whatever is done to them. */
#include "safe/memory/batch.h"

#include <anycuda/load.h>

#include <stdio.h>

/* ---- what failed ---- */

/* Notes a failure that is recorded, of an element, or of the batch (SIZE_MAX). */
ACU_COLD static void note_failure(acu_batch *b, size_t index, int code) {
    const acu_failure *last = acu_record_last();
    if (b->report && b->report->failures && b->failed < b->report->room) {
        acu_batch_failure *f = &b->report->failures[b->failed];
        f->index = index;
        f->result = code;
        snprintf(f->object, sizeof f->object, "%s", last->object);
        snprintf(f->reason, sizeof f->reason, "%.*s", ACU_BATCH_REASON - 1, last->message);
    }
    if (b->failed++ > 0)
        return;
    b->result = code;
    acu_record_save(&b->first);
}

/* Notes the failure of CUDA to do an element, or all of a call. */
ACU_COLD static void note_outcome(acu_batch *b, size_t index, const void *object, int code) {
    note_failure(b, index, acu_outcome(b->call, object, code));
}

/* Returns the public function's result. */
static acu_result end_batch(const acu_batch *b) {
    acu_record_note(NULL, 0);
    if (b->report) {
        b->report->failed = b->failed;
        b->report->calls = b->calls;
    }
    if (!ACU_LIKELY(b->failed == 0))
        acu_record_restore(&b->first);
    return b->failed ? b->result : 0;
}

/* ---- what CUDA can do at once ---- */

/* Returns whether CUDA did nothing, because it does not take the call as it is. */
static bool is_refusal(int code) {
    return code == cudaErrorInvalidValue || code == cudaErrorNotSupported ||
           code == cudaErrorCallRequiresNewerDriver;
}

static bool is_legacy(const acu_stream *stream) {
    return !stream->raw || stream->raw == cudaStreamLegacy;
}

/* Returns whether the stream is captured, by whomever. */
static bool is_captured(const acu_stream *stream) {
    return acu_capture_of(stream) ||
           (acu_is_shared(&stream->shared) && !acu_buffer_copy_may_name_devices(stream->raw));
}

/* CUDA takes no batch on the legacy default stream, nor on a stream that is captured. */
static bool is_possible(const acu_batch *b) {
    const acu_load_info *runtime = acu_loaded(ACU_CUDART);
    return runtime && runtime->version >= b->kind->since && !is_legacy(b->stream) &&
           !is_captured(b->stream);
}

/* ---- what depends on each other ---- */

acu_batch_span acu_batch_span_of(const acu_buffer *buffer, size_t at, size_t count) {
    const size_t size = acu_dtype_size(buffer->dtype);
    const uintptr_t begin = (uintptr_t)buffer->pointer + at * size;
    return (acu_batch_span){begin, begin + count * size};
}

static bool touch(const acu_batch_span *a, const acu_batch_span *b) {
    return a->begin < b->end && b->begin < a->end;
}

static void widen(acu_batch_span *all, const acu_batch_span *one) {
    all->begin = one->begin < all->begin ? one->begin : all->begin;
    all->end = one->end > all->end ? one->end : all->end;
}

static void empty(acu_batch_pack *p) {
    p->count = 0;
    p->writes = p->reads = (acu_batch_span){UINTPTR_MAX, 0};
}

static bool both_write(const acu_rows_copy *a, const acu_rows_copy *b) {
    const acu_box one = acu_rows_written(a), other = acu_rows_written(b);
    return acu_boxes_overlap(&one, &other);
}

static bool writes_what_is_read(const acu_rows_copy *a, const acu_rows_copy *b) {
    const acu_box one = acu_rows_written(a), other = acu_rows_read(b);
    return acu_boxes_overlap(&one, &other);
}

/* Returns whether the order matters in which the element and those in the pack are done; `rows` are
 * NULL unless it copies a region, of which a span has more than the bytes. */
static bool depends(const acu_batch_pack *p, const acu_batch_element *e,
                    const acu_rows_copy *rows) {
    if (ACU_LIKELY(!touch(&e->writes, &p->writes) && !touch(&e->writes, &p->reads) &&
                   !touch(&e->reads, &p->writes)))
        return false;
    for (size_t i = 0; i < p->count; i++) {
        const acu_batch_element *other = &p->elements[i];
        const acu_rows_copy *its = &p->rows[i];
        if ((touch(&e->writes, &other->writes) && (!rows || both_write(rows, its))) ||
            (touch(&e->writes, &other->reads) && (!rows || writes_what_is_read(rows, its))) ||
            (touch(&e->reads, &other->writes) && (!rows || writes_what_is_read(its, rows))))
            return true;
    }
    return false;
}

static void add(acu_batch_pack *p, size_t index, const acu_batch_element *e,
                const acu_rows_copy *rows) {
    p->index[p->count] = index;
    if (rows)
        p->rows[p->count] = *rows;
    p->elements[p->count++] = *e;
    widen(&p->writes, &e->writes);
    widen(&p->reads, &e->reads);
}

/* ---- uses ---- */

static bool reads_another(const acu_batch_element *e) {
    return e->from && e->from->storage != e->to->storage;
}

/* Returns whether the uses of an element are those of the one before, which stand for both. */
static bool repeats_uses(const acu_batch_pack *p, size_t i) {
    if (i == 0)
        return false;
    const acu_batch_element *e = &p->elements[i], *before = &p->elements[i - 1];
    return e->to->storage == before->to->storage &&
           (e->from ? e->from->storage : NULL) == (before->from ? before->from->storage : NULL);
}

/* Begins the uses of an element; where that fails, none has begun. */
static int begin_uses(const acu_batch_element *e, acu_stream *stream, uint64_t versions[2]) {
    int code = acu_storage_begin_use(e->to->storage, stream, true, &versions[0]);
    if (code || !reads_another(e))
        return code;
    code = acu_storage_begin_use(e->from->storage, stream, false, &versions[1]);
    if (code)
        (void)acu_storage_end_use(e->to->storage, stream, true, versions[0]);
    return code;
}

/* Ends the uses of the first elements; returns the first failure. */
static int end_uses(const acu_batch_pack *p, size_t count, acu_stream *stream) {
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        const acu_batch_element *e = &p->elements[i];
        if (repeats_uses(p, i))
            continue;
        int to = acu_storage_end_use(e->to->storage, stream, true, p->versions[i][0]);
        int from = reads_another(e)
                       ? acu_storage_end_use(e->from->storage, stream, false, p->versions[i][1])
                       : 0;
        code = code ? code : to ? to : from;
    }
    return code;
}

/* ---- doing ---- */

/* Calls CUDA for all elements of the pack, between the beginning and the end of their uses. Returns
 * 0 or a recorded code. */
static int run_pack(acu_batch *b, acu_batch_pack *p) {
    acu_guard guard;
    int code = 0;
    size_t begun = 0;
    for (; begun < p->count && !code; begun += code == 0)
        if (!repeats_uses(p, begun))
            code = begin_uses(&p->elements[begun], b->stream, p->versions[begun]);
    guard.changed = false;
    if (!code)
        code = acu_guard_enter(&guard, b->stream->object.device);
    if (!code) {
        b->calls++;
        code = b->kind->run(b, p);
    }
    acu_guard_leave(&guard);
    const int ended = end_uses(p, begun, b->stream);
    return code ? code : ended;
}

/* Returns whether a failure, which is recorded, has nothing to do with the element for which it
 * came: memory has run out, earlier work has failed, or the device. */
ACU_COLD static bool is_of_the_whole(int code) {
    const acu_error_kind kind = acu_last_error_details().kind;
    return kind == ACU_ERROR_KIND_MEMORY || kind == ACU_ERROR_KIND_WORK ||
           (kind == ACU_ERROR_KIND_DEVICE && !is_refusal(code) &&
            code != cudaErrorPeerAccessUnsupported && code != ACU_ERROR_DEVICE);
}

static void run_alone(acu_batch *b, size_t index, const acu_batch_element *e) {
    acu_record_note(b->kind->what, index);
    b->one_by_one = true;
    const int code = b->kind->run_one(b, index);
    if (ACU_LIKELY(code == 0))
        return;
    b->broken = is_of_the_whole(code);
    if (b->broken)
        note_outcome(b, SIZE_MAX, b->stream, code);
    else
        note_outcome(b, index, e->handle, code);
}

/* Calls CUDA for one element as for many. */
int acu_batch_run_one(acu_batch *b, size_t index) {
    acu_rows_copy rows;
    const acu_batch_element e = b->kind->look(b, index, &rows);
    acu_batch_pack p;
    empty(&p);
    add(&p, index, &e, b->kind->has_rows ? &rows : NULL);
    return run_pack(b, &p);
}

/* Does the elements of the pack, and empties it. Where CUDA refuses all of them, they are tried one
 * by one, which shows which of them it does not take. */
static void flush(acu_batch *b, acu_batch_pack *p) {
    acu_saved_record before;
    if (p->count == 0 || b->broken)
        return;
    acu_record_note(NULL, 0);
    acu_record_save(&before);
    const int code = run_pack(b, p);
    if (!ACU_LIKELY(code == 0) && !is_refusal(code)) {
        note_outcome(b, SIZE_MAX, b->stream, code);
        b->broken = true;
    } else if (code) {
        (void)cudaGetLastError();
        acu_record_restore(&before);
        for (size_t i = 0; i < p->count && !b->broken; i++)
            run_alone(b, p->index[i], &p->elements[i]);
    }
    empty(p);
}

/* Does all elements, which are checked, in an order that cannot be told from theirs. */
static void run_all(acu_batch *b) {
    acu_batch_pack p;
    acu_rows_copy its;
    const acu_rows_copy *rows = b->kind->has_rows ? &its : NULL;
    b->at_once = is_possible(b);
    empty(&p);
    for (size_t i = 0; i < b->count && !b->broken; i++) {
        const acu_batch_element e = b->kind->look(b, i, &its);
        if (e.writes.begin == e.writes.end)
            continue; /* no bytes, which CUDA refuses */
        const bool alone = !b->at_once || e.alone;
        if (alone || p.count == ACU_BATCH_AT_ONCE || depends(&p, &e, rows))
            flush(b, &p);
        if (alone && !b->broken)
            run_alone(b, i, &e);
        else if (!alone)
            add(&p, i, &e, rows);
    }
    flush(b, &p);
}

/* Checks the elements; does all of them if they are right. */
acu_result acu_batch_run(acu_batch *b) {
    for (size_t i = 0; i < b->count; i++) {
        acu_record_note(b->kind->what, i);
        const int code = b->kind->check(b, i);
        if (!ACU_LIKELY(code == 0))
            note_failure(b, i, code);
    }
    if (b->failed == 0)
        run_all(b);
    return end_batch(b);
}

void acu_batch_clear_report(acu_batch_report *report) {
    if (report)
        report->failed = report->calls = 0;
}

int acu_batch_name_place(acu_device device, struct cudaMemLocation *place) {
    *place = (struct cudaMemLocation){.type = cudaMemLocationTypeHost};
    if (device == ACU_DEVICE_HOST)
        return 0;
    *place = (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
    return device == ACU_DEVICE_CURRENT ? (int)cudaGetDevice(&place->id) : 0;
}
