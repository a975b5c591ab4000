/* Parameters of nodes with many copies. */
#include "safe/graph/node.h"
#include "safe/memory/batch.h"

#include <stdlib.h>

/* ---- the order of the copies ---- */

/* What one of the copies writes or reads. */
typedef struct span {
    uintptr_t begin, end;
    size_t index;
    bool writes;
} span;

static int by_begin(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int refuse_order(const char *call, const acu_copy *copies, size_t a, size_t b) {
    acu_fail_hint("add a node of its own for what comes later, after this one");
    return acu_fail_on(call, copies[a > b ? a : b].to, ACU_ERROR_RANGE,
                       "copies %zu and %zu use the same elements, and one of them writes: the "
                       "copies of a node have no order",
                       a < b ? a : b, a < b ? b : a);
}

/* Fails where the result would depend on the order of the copies, which CUDA does not promise.
 * Going up through the addresses, the span that was written and ends last, and the same of those
 * that were read, are all that the next span can overlap. */
static int check_order(const char *call, const acu_copy *copies, span *spans, size_t count) {
    const span *written = NULL, *read = NULL;
    qsort(spans, count, sizeof *spans, by_begin);
    for (size_t i = 0; i < count; i++) {
        const span *s = &spans[i];
        if (written && s->begin < written->end && s->index != written->index)
            return refuse_order(call, copies, s->index, written->index);
        if (s->writes && read && s->begin < read->end && s->index != read->index)
            return refuse_order(call, copies, s->index, read->index);
        const span **last = s->writes ? &written : &read;
        if (!*last || s->end > (*last)->end)
            *last = s;
    }
    return 0;
}

/* ---- CUDA's parameters ---- */

/* One allocation with all arrays. */
typedef struct arrays {
    span *spans;
    void **dsts, **srcs;
    size_t *sizes, *begins;
    struct cudaMemcpyAttributes *attributes;
    acu_object_use *keeps;
} arrays;

/* Allocates arrays for so many copies and entries; false without memory. */
static bool allocate(arrays *a, size_t count, size_t entries) {
    const size_t one = 2 * sizeof *a->spans + 2 * sizeof(void *) + sizeof *a->sizes +
                       2 * sizeof *a->keeps,
                 entry = sizeof *a->attributes + sizeof *a->begins;
    if (count > SIZE_MAX / 4 / one || entries > SIZE_MAX / 4 / entry)
        return false;
    a->spans = malloc(count * one + entries * entry);
    if (!a->spans)
        return false;
    a->keeps = (acu_object_use *)(void *)(a->spans + 2 * count);
    a->dsts = (void **)(void *)(a->keeps + 2 * count);
    a->srcs = a->dsts + count;
    a->sizes = (size_t *)(void *)(a->srcs + count);
    a->begins = a->sizes + count;
    a->attributes = (struct cudaMemcpyAttributes *)(void *)(a->begins + entries);
    return true;
}

static int fill_copies(const char *call, const acu_copy *copies, size_t count, arrays *a,
                       int *device) {
    for (size_t i = 0; i < count; i++) {
        acu_node_params p = {.device = -1};
        acu_record_note("copy", i);
        ACU_TRY(acu_node_params_of_copy(call, &copies[i], &p));
        if (i == 0)
            *device = p.device;
        a->dsts[i] = p.copy.to;
        a->srcs[i] = (void *)(uintptr_t)p.copy.from;
        a->sizes[i] = p.copy.bytes;
        const uintptr_t to = (uintptr_t)p.copy.to, from = (uintptr_t)p.copy.from;
        a->spans[2 * i] = (span){to, to + p.copy.bytes, i, true};
        a->spans[2 * i + 1] = (span){from, from + p.copy.bytes, i, false};
        a->keeps[2 * i] = p.keeps[0];
        a->keeps[2 * i + 1] = p.keeps[1];
    }
    acu_record_note(NULL, 0);
    return 0;
}

/* CUDA's first entry is that of the first copy. */
static int fill_attributes(const char *call, const acu_copy_attributes *attributes, size_t entries,
                           size_t count, arrays *a, size_t *used) {
    *used = 0;
    if (entries == 0 || attributes[0].first > 0) {
        ACU_TRY(acu_batch_convert_attributes(NULL, &a->attributes[0]));
        a->begins[(*used)++] = 0;
    }
    for (size_t i = 0; i < entries && attributes[i].first < count; i++) {
        if (attributes[i].order == ACU_SOURCE_ORDER_DURING_API_CALL)
            return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                            "attributes[%zu].order is ACU_SOURCE_ORDER_DURING_API_CALL, but a node "
                            "reads when it runs",
                            i);
        ACU_TRY(acu_batch_convert_attributes(&attributes[i], &a->attributes[*used]));
        a->begins[(*used)++] = attributes[i].first;
    }
    return 0;
}

static int fill(const char *call, const acu_copy *copies, size_t count,
                const acu_copy_attributes *attributes, size_t entries, arrays *a,
                acu_node_copies *to) {
    size_t used = 0;
    ACU_TRY(fill_copies(call, copies, count, a, &to->device));
    ACU_TRY(check_order(call, copies, a->spans, 2 * count));
    ACU_TRY(fill_attributes(call, attributes, entries, count, a, &used));
    to->keeps = a->keeps;
    to->keep_count = 2 * count;
    to->params.type = cudaGraphNodeTypeMemcpyBatch;
    to->params.memcpyBatch = (struct cudaMemcpyBatchNodeParams){.count = count,
                                                                .dsts = a->dsts,
                                                                .srcs = a->srcs,
                                                                .sizes = a->sizes,
                                                                .attrs = a->attributes,
                                                                .attrsIdxs = a->begins,
                                                                .numAttrs = used};
    return 0;
}

int acu_node_copies_make(const char *call, const acu_copy *copies, size_t count,
                         const acu_copy_attributes *attributes, size_t attribute_count,
                         acu_node_copies *made) {
    arrays a;
    *made = (acu_node_copies){.device = -1};
    if (!copies)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'copies' is NULL");
    if (count == 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "'count' is 0, but a node has at least one copy");
    ACU_TRY(acu_batch_check_attributes(call, attributes, attribute_count));
    if (!allocate(&a, count, attribute_count + 1))
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for %zu copies", count);
    made->memory = a.spans;
    const int code = fill(call, copies, count, attributes, attribute_count, &a, made);
    acu_record_note(NULL, 0);
    if (code)
        acu_node_copies_free(made);
    return code;
}

void acu_node_copies_free(acu_node_copies *copies) {
    free(copies->memory);
    copies->memory = NULL;
}
