/*
 * Batches: many copies, prefetches or discards by few calls of CUDA.
 *
 * Elements are packed until there are enough for one call, or one depends on another: CUDA may do
 * the elements of a call in any order.
 */
#include <anycuda/batch.h>
#include <anycuda/load.h>

#include "safe/memory/buffer.h"

#include <stdio.h>

enum { AT_ONCE = 128 }; /* elements of one call: so many need nothing of the heap */

/* ---- a batch ---- */

typedef struct span {
    uintptr_t begin, end;
} span;

/* What an element writes, and what it reads. A discard or prefetch counts as a write. */
typedef struct element {
    acu_buffer *to, *from; /* `from` may be NULL */
    span writes, reads;
    bool alone; /* CUDA does it by a call of its own only */
} element;

/* Elements of one call. Of two of them none depends on the other; the ranges around all that they
 * write and read mostly show this for the next one. */
typedef struct pack {
    size_t count;
    size_t index[AT_ONCE]; /* in the batch */
    element elements[AT_ONCE];
    uint64_t versions[AT_ONCE][2]; /* of the uses of `to` and of `from` */
    span writes, reads;
} pack;

typedef struct batch batch;

/* What is done to the elements. */
typedef struct kind {
    const char *what; /* "copy" */
    int since;        /* the runtime that has the call */
    /* Returns 0 or a recorded failure of b->call. */
    int (*check)(const batch *b, size_t index);
    element (*look)(const batch *b, size_t index);
    /* Call CUDA for all of the pack, and for one element; return 0 or a recorded code. */
    int (*run)(const batch *b, const pack *p);
    int (*run_one)(batch *b, size_t index);
} kind;

struct batch {
    const kind *kind;
    const char *call; /* the public function */
    acu_stream *stream;
    size_t count;
    acu_batch_report *report; /* or NULL */
    /* What the elements are: one of the three. */
    const acu_copy *copies;
    const acu_prefetch *prefetches;
    acu_buffer *const *buffers;
    const acu_copy_attributes *attributes;
    size_t attribute_count;
    bool at_once;    /* CUDA can do many of them */
    bool one_by_one; /* some were done so */
    bool broken;     /* by a failure that is no element's: what follows is not tried */
    size_t failed, calls;
    acu_result result;      /* of the first failure */
    acu_saved_record first; /* set if something failed */
};

/* ---- what failed ---- */

/* Notes a failure that is recorded, of an element, or of the batch (SIZE_MAX). */
ACU_COLD static void note_failure(batch *b, size_t index, int code) {
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
ACU_COLD static void note_outcome(batch *b, size_t index, const void *object, int code) {
    note_failure(b, index, acu_outcome(b->call, object, code));
}

/* Returns the public function's result. */
static acu_result end_batch(const batch *b) {
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
static bool is_possible(const batch *b) {
    const acu_load_info *runtime = acu_loaded(ACU_CUDART);
    return runtime && runtime->version >= b->kind->since && !is_legacy(b->stream) &&
           !is_captured(b->stream);
}

/* ---- what depends on each other ---- */

static span span_of(const acu_buffer *buffer, size_t at, size_t count) {
    const size_t size = acu_dtype_size(buffer->dtype);
    const uintptr_t begin = (uintptr_t)buffer->pointer + at * size;
    return (span){begin, begin + count * size};
}

static bool touch(const span *a, const span *b) {
    return a->begin < b->end && b->begin < a->end;
}

static void widen(span *all, const span *one) {
    all->begin = one->begin < all->begin ? one->begin : all->begin;
    all->end = one->end > all->end ? one->end : all->end;
}

static void empty(pack *p) {
    p->count = 0;
    p->writes = p->reads = (span){UINTPTR_MAX, 0};
}

/* Returns whether the order matters in which the element and those in the pack are done. */
static bool depends(const pack *p, const element *e) {
    if (ACU_LIKELY(!touch(&e->writes, &p->writes) && !touch(&e->writes, &p->reads) &&
                   !touch(&e->reads, &p->writes)))
        return false;
    for (size_t i = 0; i < p->count; i++) {
        const element *other = &p->elements[i];
        if (touch(&e->writes, &other->writes) || touch(&e->writes, &other->reads) ||
            touch(&e->reads, &other->writes))
            return true;
    }
    return false;
}

static void add(pack *p, size_t index, const element *e) {
    p->index[p->count] = index;
    p->elements[p->count++] = *e;
    widen(&p->writes, &e->writes);
    widen(&p->reads, &e->reads);
}

/* ---- uses ---- */

static bool reads_another(const element *e) {
    return e->from && e->from->storage != e->to->storage;
}

/* Begins the uses of an element; where that fails, none has begun. */
static int begin_uses(const element *e, acu_stream *stream, uint64_t versions[2]) {
    int code = acu_storage_begin_use(e->to->storage, stream, true, &versions[0]);
    if (code || !reads_another(e))
        return code;
    code = acu_storage_begin_use(e->from->storage, stream, false, &versions[1]);
    if (code)
        (void)acu_storage_end_use(e->to->storage, stream, true, versions[0]);
    return code;
}

/* Ends the uses of the first elements; returns the first failure. */
static int end_uses(const pack *p, size_t count, acu_stream *stream) {
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        const element *e = &p->elements[i];
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
static int run_pack(batch *b, pack *p) {
    acu_guard guard;
    int code = 0;
    size_t begun = 0;
    for (; begun < p->count && !code; begun += code == 0)
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

static void run_alone(batch *b, size_t index, const element *e) {
    acu_record_note(b->kind->what, index);
    b->one_by_one = true;
    const int code = b->kind->run_one(b, index);
    if (!ACU_LIKELY(code == 0))
        note_outcome(b, index, e->to, code);
}

/* Calls CUDA for one element as for many. */
static int run_pack_of_one(batch *b, size_t index) {
    const element e = b->kind->look(b, index);
    pack p;
    empty(&p);
    add(&p, index, &e);
    return run_pack(b, &p);
}

/* Does the elements of the pack, and empties it. Where CUDA refuses all of them, they are tried one
 * by one, which shows which of them it does not take. */
static void flush(batch *b, pack *p) {
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
        for (size_t i = 0; i < p->count; i++)
            run_alone(b, p->index[i], &p->elements[i]);
    }
    empty(p);
}

/* Does all elements, which are checked, in an order that cannot be told from theirs. */
static void run_all(batch *b) {
    pack p;
    b->at_once = is_possible(b);
    empty(&p);
    for (size_t i = 0; i < b->count && !b->broken; i++) {
        const element e = b->kind->look(b, i);
        if (e.writes.begin == e.writes.end)
            continue; /* no bytes, which CUDA refuses */
        const bool alone = !b->at_once || e.alone;
        if (alone || p.count == AT_ONCE || depends(&p, &e))
            flush(b, &p);
        if (alone)
            run_alone(b, i, &e);
        else
            add(&p, i, &e);
    }
    flush(b, &p);
}

/* Checks the elements; does all of them if they are right. */
static acu_result run_batch(batch *b) {
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

static void clear(acu_batch_report *report) {
    if (report)
        report->failed = report->calls = 0;
}

/* ---- copies ---- */

static acu_copy copy_at(const batch *b, size_t index) {
    acu_copy c = b->copies[index];
    if (c.count == 0 && acu_is(c.from, &acu_buffer_class) && c.from_at < c.from->count)
        c.count = c.from->count - c.from_at;
    return c;
}

static int check_copy(const batch *b, size_t index) {
    const acu_copy c = copy_at(b, index);
    return acu_buffer_check_copy(b->call, c.to, c.to_at, c.from, c.from_at, c.count);
}

/* A copy from or to another device has to name the devices, or to be done where the memory is. */
static element look_at_copy(const batch *b, size_t index) {
    const acu_copy c = copy_at(b, index);
    const acu_device here = b->stream->object.device;
    return (element){.to = c.to,
                     .from = c.from,
                     .writes = span_of(c.to, c.to_at, c.count),
                     .reads = span_of(c.from, c.from_at, c.count),
                     .alone = c.to->object.device != here || c.from->object.device != here};
}

/* Returns the attributes of a copy; NULL if there are none. `*next` is the first entry that may be
 * that of a later copy. */
static const acu_copy_attributes *attributes_of(const batch *b, size_t index, size_t *next) {
    while (*next < b->attribute_count && b->attributes[*next].first <= index)
        (*next)++;
    return *next > 0 ? &b->attributes[*next - 1] : NULL;
}

/* Names a device that was checked, or the host, to CUDA; returns 0 or a recorded code. */
static int name_place(acu_device device, struct cudaMemLocation *place) {
    *place = (struct cudaMemLocation){.type = cudaMemLocationTypeHost};
    if (device == ACU_DEVICE_HOST)
        return 0;
    *place = (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
    return device == ACU_DEVICE_CURRENT ? (int)cudaGetDevice(&place->id) : 0;
}

/* Returns 0 or a recorded code. */
static int convert(const acu_copy_attributes *a, struct cudaMemcpyAttributes *as) {
    *as = (struct cudaMemcpyAttributes){.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    if (!a)
        return 0;
    if (a->order)
        as->srcAccessOrder = (enum cudaMemcpySrcAccessOrder)a->order;
    as->flags = a->overlap ? cudaMemcpyFlagPreferOverlapWithCompute : 0;
    int code = a->to ? name_place(*a->to, &as->dstLocHint) : 0;
    return code || !a->from ? code : name_place(*a->from, &as->srcLocHint);
}

static int copy_pack(const batch *b, const pack *p) {
    void *to[AT_ONCE];
    const void *from[AT_ONCE];
    size_t sizes[AT_ONCE], begins[AT_ONCE], entries = 0, next = 0;
    struct cudaMemcpyAttributes all[AT_ONCE];
    const acu_copy_attributes *last = NULL;
    for (size_t i = 0; i < p->count; i++) {
        const element *e = &p->elements[i];
        const acu_copy_attributes *its = attributes_of(b, p->index[i], &next);
        to[i] = (void *)e->writes.begin;
        from[i] = (const void *)e->reads.begin;
        sizes[i] = e->writes.end - e->writes.begin;
        if (i == 0 || its != last) {
            begins[entries] = i;
            ACU_TRY(convert(its, &all[entries++]));
        }
        last = its;
    }
    return (int)cudaMemcpyBatchAsync(to, from, sizes, p->count, all, begins, entries,
                                     b->stream->raw);
}

static int copy_one(batch *b, size_t index) {
    const acu_copy c = copy_at(b, index);
    b->calls++;
    return acu_buffer_copy_checked(&c, b->stream);
}

/* Returns whether a source must be read by the end of the call. */
static bool must_be_read(const batch *b) {
    for (size_t i = 0; i < b->attribute_count; i++)
        if (b->attributes[i].order == ACU_SOURCE_ORDER_DURING_API_CALL)
            return true;
    return false;
}

static int check_hint(const batch *b, const acu_device *device) {
    struct cudaMemLocation unused;
    return device ? acu_buffer_find_location(b->call, *device, &unused) : 0;
}

static int check_attributes(const batch *b) {
    if (!b->attributes && b->attribute_count > 0)
        return acu_fail(b->call, "", ACU_ERROR_ARGUMENT, "'attributes' is NULL");
    for (size_t i = 0; i < b->attribute_count; i++) {
        const acu_copy_attributes *a = &b->attributes[i];
        if (i > 0 && a->first <= a[-1].first)
            return acu_fail(b->call, "", ACU_ERROR_ARGUMENT,
                            "attributes[%zu].first is %zu, after %zu: the entries have the order "
                            "of the copies",
                            i, a->first, a[-1].first);
        if ((unsigned)a->order > ACU_SOURCE_ORDER_ANY)
            return acu_fail(b->call, "", ACU_ERROR_ARGUMENT,
                            "attributes[%zu].order is %d, which is no acu_source_order", i,
                            (int)a->order);
        ACU_TRY(check_hint(b, a->to));
        ACU_TRY(check_hint(b, a->from));
    }
    return must_be_read(b) ? acu_outcome(b->call, b->stream, acu_stream_check_wait(b->stream)) : 0;
}

/* Waits for copies that were done one by one, whose sources the caller may change afterwards: CUDA
 * reads those in the stream's order. Returns the public function's result. */
static acu_result wait_for_sources(const batch *b, acu_result result) {
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
    static const kind copying = {"copy", 12080, check_copy, look_at_copy, copy_pack, copy_one};
    batch b = {.kind = &copying,
               .call = __func__,
               .stream = stream,
               .count = count,
               .report = report,
               .copies = copies,
               .attributes = attributes,
               .attribute_count = attribute_count};
    clear(report);
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE(copies || count == 0, ACU_ERROR_ARGUMENT, "'copies' is NULL");
    ACU_TRY(check_attributes(&b));
    return wait_for_sources(&b, run_batch(&b));
}

/* ---- managed memory ---- */

static int check_managed(const batch *b, const acu_buffer *buffer) {
    if (!acu_is(buffer, &acu_buffer_class))
        return acu_object_refuse(b->call, buffer, &acu_buffer_class);
    return buffer->storage->memory == ACU_MEMORY_MANAGED
               ? 0
               : acu_fail_on(b->call, buffer, ACU_ERROR_MEMORY_KIND,
                             "only managed memory can be prefetched or discarded");
}

static element look_at(acu_buffer *buffer) {
    return (element){.to = buffer, .writes = span_of(buffer, 0, buffer->count)};
}

static int check_prefetch(const batch *b, size_t index) {
    struct cudaMemLocation unused;
    const acu_prefetch *p = &b->prefetches[index];
    int code = check_managed(b, p->buffer);
    return code ? code : acu_buffer_find_location(b->call, p->where, &unused);
}

static element look_at_prefetch(const batch *b, size_t index) {
    return look_at(b->prefetches[index].buffer);
}

static int check_discard(const batch *b, size_t index) {
    return check_managed(b, b->buffers[index]);
}

static element look_at_discard(const batch *b, size_t index) {
    return look_at(b->buffers[index]);
}

/* The elements of a pack as CUDA's calls want them. Of one place there is one entry, up to the next
 * place. */
typedef struct ranges {
    void *at[AT_ONCE];
    size_t sizes[AT_ONCE];
    struct cudaMemLocation places[AT_ONCE];
    size_t begins[AT_ONCE], entries;
} ranges;

static void list_ranges(const pack *p, ranges *r) {
    for (size_t i = 0; i < p->count; i++) {
        const span *s = &p->elements[i].writes;
        r->at[i] = (void *)s->begin;
        r->sizes[i] = s->end - s->begin;
    }
}

/* Returns 0 or a recorded code. */
static int list_places(const batch *b, const pack *p, ranges *r) {
    r->entries = 0;
    for (size_t i = 0; i < p->count; i++) {
        const acu_device where = b->prefetches[p->index[i]].where;
        if (i > 0 && where == b->prefetches[p->index[i - 1]].where)
            continue;
        r->begins[r->entries] = i;
        ACU_TRY(name_place(where, &r->places[r->entries++]));
    }
    return 0;
}

static int prefetch_pack(const batch *b, const pack *p) {
    ranges r;
    list_ranges(p, &r);
    ACU_TRY(list_places(b, p, &r));
    return (int)cudaMemPrefetchBatchAsync(r.at, r.sizes, p->count, r.places, r.begins, r.entries, 0,
                                          b->stream->raw);
}

static int discard_pack(const batch *b, const pack *p) {
    ranges r;
    list_ranges(p, &r);
    return (int)cudaMemDiscardBatchAsync(r.at, r.sizes, p->count, 0, b->stream->raw);
}

static int discard_and_prefetch_pack(const batch *b, const pack *p) {
    ranges r;
    list_ranges(p, &r);
    ACU_TRY(list_places(b, p, &r));
    return (int)cudaMemDiscardAndPrefetchBatchAsync(r.at, r.sizes, p->count, r.places, r.begins,
                                                    r.entries, 0, b->stream->raw);
}

static int prefetch_one(batch *b, size_t index) {
    struct cudaMemLocation place;
    const acu_prefetch *p = &b->prefetches[index];
    ACU_TRY(name_place(p->where, &place));
    b->calls++;
    return acu_buffer_prefetch_checked(p->buffer, &place, b->stream);
}

/* Where CUDA cannot discard, the values stay, which are as good as any. */
static int discard_one(batch *b, size_t index) {
    return b->at_once ? run_pack_of_one(b, index) : 0;
}

static int discard_and_prefetch_one(batch *b, size_t index) {
    return b->at_once ? run_pack_of_one(b, index) : prefetch_one(b, index);
}

/* Runs a batch of managed memory, which CUDA does not capture. */
static acu_result run_uncaptured(batch *b) {
    ACU_TRY(acu_outcome(b->call, b->stream, acu_stream_check_uncaptured(b->stream)));
    return run_batch(b);
}

acu_result acu_batch_prefetch(acu_stream *stream, const acu_prefetch *prefetches, size_t count,
                              acu_batch_report *report) {
    static const kind prefetching = {"prefetch",       13000,         check_prefetch,
                                     look_at_prefetch, prefetch_pack, prefetch_one};
    batch b = {.kind = &prefetching,
               .call = __func__,
               .stream = stream,
               .count = count,
               .report = report,
               .prefetches = prefetches};
    clear(report);
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE(prefetches || count == 0, ACU_ERROR_ARGUMENT, "'prefetches' is NULL");
    return run_uncaptured(&b);
}

acu_result acu_batch_discard(acu_stream *stream, acu_buffer *const *buffers, size_t count,
                             acu_batch_report *report) {
    static const kind discarding = {"discard",       13000,        check_discard,
                                    look_at_discard, discard_pack, discard_one};
    batch b = {.kind = &discarding,
               .call = __func__,
               .stream = stream,
               .count = count,
               .report = report,
               .buffers = buffers};
    clear(report);
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE(buffers || count == 0, ACU_ERROR_ARGUMENT, "'buffers' is NULL");
    return run_uncaptured(&b);
}

acu_result acu_batch_discard_and_prefetch(acu_stream *stream, const acu_prefetch *prefetches,
                                          size_t count, acu_batch_report *report) {
    static const kind both = {"discard",
                              13000,
                              check_prefetch,
                              look_at_prefetch,
                              discard_and_prefetch_pack,
                              discard_and_prefetch_one};
    batch b = {.kind = &both,
               .call = __func__,
               .stream = stream,
               .count = count,
               .report = report,
               .prefetches = prefetches};
    clear(report);
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE(prefetches || count == 0, ACU_ERROR_ARGUMENT, "'prefetches' is NULL");
    return run_uncaptured(&b);
}
