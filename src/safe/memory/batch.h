/*
 * Batches as their kinds see them.
 *
 * Elements are packed until there are enough for one call of CUDA, or one depends on another: CUDA
 * may do the elements of a call in any order.
 */
#ifndef ACU_SRC_BATCH_H
#define ACU_SRC_BATCH_H

#include <anycuda/batch.h>

#include "safe/memory/region.h"

enum { ACU_BATCH_AT_ONCE = 128 }; /* elements of one call: so many need nothing of the heap */

/* ---- a batch ---- */

typedef struct acu_batch_span {
    uintptr_t begin, end;
} acu_batch_span;

/* What an element writes, and what it reads. A discard or prefetch counts as a write. */
typedef struct acu_batch_element {
    acu_buffer *to, *from; /* `from` may be NULL */
    const void *handle;    /* of what is written, for failures */
    acu_batch_span writes, reads;
    bool alone; /* CUDA does it by a call of its own only */
} acu_batch_element;

/* Elements of one call. Of two of them none depends on the other; the ranges around all that they
 * write and read mostly show this for the next one. */
typedef struct acu_batch_pack {
    size_t count;
    size_t index[ACU_BATCH_AT_ONCE]; /* in the batch */
    acu_batch_element elements[ACU_BATCH_AT_ONCE];
    acu_rows_copy rows[ACU_BATCH_AT_ONCE];   /* of copies of regions */
    uint64_t versions[ACU_BATCH_AT_ONCE][2]; /* of the uses of `to` and of `from` */
    acu_batch_span writes, reads;
} acu_batch_pack;

typedef struct acu_batch acu_batch;

/* What is done to the elements. */
typedef struct acu_batch_kind {
    const char *what; /* "copy" */
    int since;        /* the runtime that has the call */
    /* Returns 0 or a recorded failure of b->call. */
    int (*check)(const acu_batch *b, size_t index);
    /* Looks at an element, and at its rows if it copies a region. */
    acu_batch_element (*look)(const acu_batch *b, size_t index, acu_rows_copy *rows);
    bool has_rows;
    /* Call CUDA for all of the pack, and for one element; return 0 or a recorded code. */
    int (*run)(const acu_batch *b, const acu_batch_pack *p);
    int (*run_one)(acu_batch *b, size_t index);
} acu_batch_kind;

struct acu_batch {
    const acu_batch_kind *kind;
    const char *call; /* the public function */
    acu_stream *stream;
    size_t count;
    acu_batch_report *report; /* or NULL */
    /* What the elements are: one of the four. */
    const acu_copy *copies;
    const acu_region_pair *pairs;
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

/* Checks the elements; does all of them if they are right. Returns the public function's result. */
acu_result acu_batch_run(acu_batch *b);
/* Calls CUDA for one element as for many; returns 0 or a recorded code. */
int acu_batch_run_one(acu_batch *b, size_t index);

/* Sets the report to that of a batch in which nothing was done; NULL is fine. */
void acu_batch_clear_report(acu_batch_report *report);
acu_batch_span acu_batch_span_of(const acu_buffer *buffer, size_t at, size_t count);
/* Checks attributes of copies; returns 0 or a failure recorded for `call`. */
int acu_batch_check_attributes(const char *call, const acu_copy_attributes *attributes,
                               size_t count);
/* Writes checked attributes, or those of a copy without any for NULL, in CUDA's form; returns 0 or
 * a recorded code. */
int acu_batch_convert_attributes(const acu_copy_attributes *a, struct cudaMemcpyAttributes *as);
/* Names a device that was checked, or the host, to CUDA; returns 0 or a recorded code. */
int acu_batch_name_place(acu_device device, struct cudaMemLocation *place);

#endif
