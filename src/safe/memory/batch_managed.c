/* Batches: prefetches and discards of managed memory. */
#include "safe/memory/batch.h"

static int check_managed(const acu_batch *b, const acu_buffer *buffer) {
    if (!acu_is(buffer, &acu_buffer_class))
        return acu_object_refuse(b->call, buffer, &acu_buffer_class);
    return buffer->storage->memory == ACU_MEMORY_MANAGED
               ? 0
               : acu_fail_on(b->call, buffer, ACU_ERROR_MEMORY_KIND,
                             "only managed memory can be prefetched or discarded");
}

static acu_batch_element look_at(acu_buffer *buffer) {
    return (acu_batch_element){
        .to = buffer, .handle = buffer, .writes = acu_batch_span_of(buffer, 0, buffer->count)};
}

static int check_prefetch(const acu_batch *b, size_t index) {
    struct cudaMemLocation unused;
    const acu_prefetch *p = &b->prefetches[index];
    int code = check_managed(b, p->buffer);
    return code ? code : acu_buffer_find_location(b->call, p->where, &unused);
}

static acu_batch_element look_at_prefetch(const acu_batch *b, size_t index, acu_rows_copy *rows) {
    (void)rows;
    return look_at(b->prefetches[index].buffer);
}

static int check_discard(const acu_batch *b, size_t index) {
    return check_managed(b, b->buffers[index]);
}

static acu_batch_element look_at_discard(const acu_batch *b, size_t index, acu_rows_copy *rows) {
    (void)rows;
    return look_at(b->buffers[index]);
}

/* The elements of a pack as CUDA's calls want them. Of one place there is one entry, up to the next
 * place. */
typedef struct ranges {
    void *at[ACU_BATCH_AT_ONCE];
    size_t sizes[ACU_BATCH_AT_ONCE];
    struct cudaMemLocation places[ACU_BATCH_AT_ONCE];
    size_t begins[ACU_BATCH_AT_ONCE], entries;
} ranges;

static void list_ranges(const acu_batch_pack *p, ranges *r) {
    for (size_t i = 0; i < p->count; i++) {
        const acu_batch_span *s = &p->elements[i].writes;
        r->at[i] = (void *)s->begin;
        r->sizes[i] = s->end - s->begin;
    }
}

/* Returns 0 or a recorded code. */
static int list_places(const acu_batch *b, const acu_batch_pack *p, ranges *r) {
    r->entries = 0;
    for (size_t i = 0; i < p->count; i++) {
        const acu_device where = b->prefetches[p->index[i]].where;
        if (i > 0 && where == b->prefetches[p->index[i - 1]].where)
            continue;
        r->begins[r->entries] = i;
        ACU_TRY(acu_batch_name_place(where, &r->places[r->entries++]));
    }
    return 0;
}

static int prefetch_pack(const acu_batch *b, const acu_batch_pack *p) {
    ranges r;
    list_ranges(p, &r);
    ACU_TRY(list_places(b, p, &r));
    return (int)cudaMemPrefetchBatchAsync(r.at, r.sizes, p->count, r.places, r.begins, r.entries, 0,
                                          b->stream->raw);
}

static int discard_pack(const acu_batch *b, const acu_batch_pack *p) {
    ranges r;
    list_ranges(p, &r);
    return (int)cudaMemDiscardBatchAsync(r.at, r.sizes, p->count, 0, b->stream->raw);
}

static int discard_and_prefetch_pack(const acu_batch *b, const acu_batch_pack *p) {
    ranges r;
    list_ranges(p, &r);
    ACU_TRY(list_places(b, p, &r));
    return (int)cudaMemDiscardAndPrefetchBatchAsync(r.at, r.sizes, p->count, r.places, r.begins,
                                                    r.entries, 0, b->stream->raw);
}

static int prefetch_one(acu_batch *b, size_t index) {
    struct cudaMemLocation place;
    const acu_prefetch *p = &b->prefetches[index];
    ACU_TRY(acu_batch_name_place(p->where, &place));
    b->calls++;
    return acu_buffer_prefetch_checked(p->buffer, &place, b->stream);
}

/* Where CUDA cannot discard, the values stay, which are as good as any. */
static int discard_one(acu_batch *b, size_t index) {
    return b->at_once ? acu_batch_run_one(b, index) : 0;
}

static int discard_and_prefetch_one(acu_batch *b, size_t index) {
    return b->at_once ? acu_batch_run_one(b, index) : prefetch_one(b, index);
}

/* Runs a batch of managed memory, which CUDA does not capture. `list` is the array of its elements,
 * and `name` what that is called. */
static acu_result run(acu_batch *b, const void *list, const char *name) {
    acu_batch_clear_report(b->report);
    ACU_TRY(acu_stream_check(b->call, b->stream));
    if (!list && b->count > 0)
        return acu_fail(b->call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", name);
    ACU_TRY(acu_outcome(b->call, b->stream, acu_stream_check_uncaptured(b->stream)));
    return acu_batch_run(b);
}

static acu_result run_prefetches(const char *call, const acu_batch_kind *kind, acu_stream *stream,
                                 const acu_prefetch *prefetches, size_t count,
                                 acu_batch_report *report) {
    acu_batch b = {.kind = kind,
                   .call = call,
                   .stream = stream,
                   .count = count,
                   .report = report,
                   .prefetches = prefetches};
    return run(&b, prefetches, "prefetches");
}

acu_result acu_batch_prefetch(acu_stream *stream, const acu_prefetch *prefetches, size_t count,
                              acu_batch_report *report) {
    ACU_SCOPE();
    static const acu_batch_kind prefetching = {.what = "prefetch",
                                               .since = 13000,
                                               .check = check_prefetch,
                                               .look = look_at_prefetch,
                                               .run = prefetch_pack,
                                               .run_one = prefetch_one};
    return run_prefetches(__func__, &prefetching, stream, prefetches, count, report);
}

acu_result acu_batch_discard_and_prefetch(acu_stream *stream, const acu_prefetch *prefetches,
                                          size_t count, acu_batch_report *report) {
    ACU_SCOPE();
    static const acu_batch_kind both = {.what = "discard",
                                        .since = 13000,
                                        .check = check_prefetch,
                                        .look = look_at_prefetch,
                                        .run = discard_and_prefetch_pack,
                                        .run_one = discard_and_prefetch_one};
    return run_prefetches(__func__, &both, stream, prefetches, count, report);
}

acu_result acu_batch_discard(acu_stream *stream, acu_buffer *const *buffers, size_t count,
                             acu_batch_report *report) {
    ACU_SCOPE();
    static const acu_batch_kind discarding = {.what = "discard",
                                              .since = 13000,
                                              .check = check_discard,
                                              .look = look_at_discard,
                                              .run = discard_pack,
                                              .run_one = discard_one};
    acu_batch b = {.kind = &discarding,
                   .call = __func__,
                   .stream = stream,
                   .count = count,
                   .report = report,
                   .buffers = buffers};
    return run(&b, buffers, "buffers");
}
