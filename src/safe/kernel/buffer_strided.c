/* Buffers: copies of elements that lie apart, by a kernel or by copies of rows. It is here, and not
 * with the other operations on buffers, because it loads and launches kernels. */
#include "safe/kernel/strided.h"
#include "safe/memory/region.h"

#include <limits.h>

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (int)(code))

/* ---- the layout ---- */

/* Computes the steps: those of a dense layout where none are given. Returns false where the shape
 * has too many elements. */
static bool steps_of(const acu_strides *s, const int64_t *given, int64_t steps[ACU_MAX_RANK]) {
    int64_t dense = 1;
    for (unsigned i = s->rank; i-- > 0;) {
        steps[i] = given ? given[i] : dense;
        if (s->shape[i] > PTRDIFF_MAX ||
            __builtin_mul_overflow(dense, (int64_t)s->shape[i], &dense))
            return false;
    }
    return true;
}

/* Returns whether all elements lie in the buffer, that is, the lowest and the highest one. */
static bool is_within(const acu_buffer *buffer, size_t at, const acu_strides *s,
                      const int64_t *steps) {
    int64_t low, high;
    if (at >= buffer->count)
        return false;
    low = high = (int64_t)at;
    for (unsigned i = 0; i < s->rank; i++) {
        int64_t reach;
        int64_t *end = steps[i] < 0 ? &low : &high;
        if (__builtin_mul_overflow(steps[i], (int64_t)(s->shape[i] - 1), &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return false;
    }
    return low >= 0 && (uint64_t)high < buffer->count;
}

/* Adds a dimension, or joins it with the one before where both are one run in both layouts. */
static void add_dimension(acu_strided_copy *c, size_t count, int64_t to, int64_t from) {
    const unsigned last = c->rank - 1; /* outer ones come first */
    int64_t to_run, from_run;
    if (c->rank > 0 && !__builtin_mul_overflow(to, (int64_t)count, &to_run) &&
        !__builtin_mul_overflow(from, (int64_t)count, &from_run) && c->to[last] == to_run &&
        c->from[last] == from_run) {
        c->shape[last] *= count;
        c->to[last] = to;
        c->from[last] = from;
        return;
    }
    c->shape[c->rank] = count;
    c->to[c->rank] = to;
    c->from[c->rank++] = from;
}

/* Makes an innermost dimension without gaps a part of the width. */
static void widen(acu_strided_copy *c) {
    const unsigned last = c->rank - 1;
    if (c->rank == 0 || c->to[last] != (int64_t)c->width || c->from[last] != (int64_t)c->width)
        return;
    c->width *= c->shape[last];
    c->rank--;
}

/* Turns the dimensions around whose steps in the destination are negative, and sorts them by these
 * steps. Returns whether each step is at least as long as all that lies within it. */
static bool nest(acu_strided_copy *c) {
    for (unsigned i = 0; i < c->rank; i++) {
        const int64_t to = c->to[i], from = c->from[i], last = (int64_t)c->shape[i] - 1;
        const bool backwards = to < 0;
        c->to_at += backwards ? to * last : 0;
        c->from_at += backwards ? from * last : 0;
        unsigned at = i;
        const size_t count = c->shape[i];
        for (; at > 0 && c->to[at - 1] < (backwards ? -to : to); at--) {
            c->shape[at] = c->shape[at - 1];
            c->to[at] = c->to[at - 1];
            c->from[at] = c->from[at - 1];
        }
        c->shape[at] = count;
        c->to[at] = backwards ? -to : to;
        c->from[at] = backwards ? -from : from;
    }
    int64_t within = (int64_t)c->width;
    for (unsigned i = c->rank; i-- > 0; within += c->to[i] * ((int64_t)c->shape[i] - 1))
        if (c->to[i] < within)
            return false;
    return true;
}

/* Joins what can be joined. Where elements may have the same place in the destination, the order
 * stays that of the shape. */
static acu_strided_copy joined(const acu_strided_copy *given) {
    acu_strided_copy sorted = *given, c = *given;
    if (nest(&sorted)) {
        c = sorted;
        c.is_nested = true;
    }
    const acu_strided_copy apart = c;
    c.rank = 0;
    for (unsigned i = 0; i < apart.rank; i++)
        add_dimension(&c, apart.shape[i], apart.to[i], apart.from[i]);
    widen(&c);
    return c;
}

/* ---- copies of rows ---- */

static bool is_pitch(int64_t step, size_t width) {
    return step >= (int64_t)width && step <= INT_MAX;
}

/* Returns whether slices of so many rows may lie a step apart in one 3D copy. */
static bool is_slice(int64_t step, size_t pitch, size_t height) {
    return step > 0 && (uint64_t)step % pitch == 0 && (uint64_t)step / pitch >= height;
}

/* Puts the innermost dimensions into the copy of rows that is made at once, as far as CUDA can do
 * that; returns how many dimensions are left. */
static unsigned take_rows(const acu_strided_copy *c, acu_rows_copy *rows) {
    unsigned left = c->rank;
    rows->width = rows->to_pitch = rows->from_pitch = c->width;
    rows->height = rows->depth = 1;
    if (left > 0 && is_pitch(c->to[left - 1], c->width) && is_pitch(c->from[left - 1], c->width)) {
        left--;
        rows->height = c->shape[left];
        rows->to_pitch = (size_t)c->to[left];
        rows->from_pitch = (size_t)c->from[left];
    }
    if (left > 0 && left < c->rank && is_slice(c->to[left - 1], rows->to_pitch, rows->height) &&
        is_slice(c->from[left - 1], rows->from_pitch, rows->height)) {
        left--;
        rows->depth = c->shape[left];
        rows->to_slice = (size_t)c->to[left];
        rows->from_slice = (size_t)c->from[left];
    }
    return left;
}

typedef struct rows_job {
    const acu_strided_copy *copy;
    acu_rows_copy rows; /* the first ones */
    unsigned walked;    /* dimensions, of each index of which there are such rows */
} rows_job;

static int copy_all_rows(const acu_buffer_job *job, const void *data) {
    const rows_job *j = data;
    const acu_strided_copy *c = j->copy;
    unsigned i;
    size_t index[ACU_MAX_RANK] = {0};
    acu_rows_copy at = j->rows;
    const bool names_devices = at.is_peer && acu_buffer_copy_may_name_devices(job->on->raw);
    for (;;) {
        int code = acu_rows_copy_on(&at, names_devices, job->on->raw);
        if (code)
            return code;
        for (i = j->walked; i > 0; i--) { /* the next index; the last dimension runs fastest */
            at.to += c->to[i - 1];
            at.from += c->from[i - 1];
            if (++index[i - 1] < c->shape[i - 1])
                break;
            at.to -= c->to[i - 1] * (int64_t)c->shape[i - 1];
            at.from -= c->from[i - 1] * (int64_t)c->shape[i - 1];
            index[i - 1] = 0;
        }
        if (i == 0)
            return 0;
    }
}

/* ---- which way ---- */

/* Returns how many copies of rows there are, or SIZE_MAX. */
static size_t count_copies(const acu_strided_copy *c, unsigned walked) {
    size_t count = 1;
    for (unsigned i = 0; i < walked; i++)
        if (__builtin_mul_overflow(count, c->shape[i], &count))
            return SIZE_MAX;
    return count;
}

/* Returns whether a kernel is worth it. A launch costs as much as a few copies, but on the device
 * CUDA copies rows slower than the kernel does (bench/strided.c); loading the kernel, once on a
 * device, costs as much as many copies. */
static bool wants_kernel(const rows_job *j, acu_stream *on) {
    enum { FEW_COPIES = 4, FEW_ROWS = 1000, LOADING = 64 };
    const size_t copies = count_copies(j->copy, j->walked), rows = j->rows.height * j->rows.depth;
    const size_t worth = acu_strided_is_loaded(on) ? 1 : LOADING;
    return copies / FEW_COPIES >= worth || rows / FEW_ROWS >= worth;
}

static int run_copy(const acu_strided_copy *c, acu_stream *on) {
    rows_job rows = {.copy = c};
    rows.walked = take_rows(c, &rows.rows);
    if (wants_kernel(&rows, on) && acu_strided_launch(c, on))
        return 0;
    rows.rows.to = c->to_buffer->pointer + c->to_at;
    rows.rows.from = c->from_buffer->pointer + c->from_at;
    rows.rows.kind = acu_buffer_copy_kind(c->to_buffer, c->from_buffer);
    rows.rows.is_peer = acu_buffer_copy_is_peer(c->to_buffer, c->from_buffer, on->object.device);
    rows.rows.to_device = c->to_buffer->object.device;
    rows.rows.from_device = c->from_buffer->object.device;
    const acu_buffer_job job = {.to = c->to_buffer,
                                .from = c->from_buffer,
                                .on = on,
                                .copies = true,
                                .run = copy_all_rows,
                                .data = &rows};
    return acu_buffer_run(&job);
}

/* ---- the call ---- */

static bool is_empty(const acu_strides *s) {
    for (unsigned i = 0; i < s->rank; i++)
        if (s->shape[i] == 0)
            return true;
    return false;
}

static int check_strides(const char *call, const acu_buffer *to, const acu_buffer *from,
                         const acu_strides *s, int64_t *to_steps, int64_t *from_steps) {
    if (!s)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'strides' is NULL");
    if (s->rank > ACU_MAX_RANK)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "strides.rank is %u, but there are at most %d dimensions", s->rank,
                        ACU_MAX_RANK);
    if (s->rank > 0 && !s->shape)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "strides.shape is NULL, and the rank is %u",
                        s->rank);
    if (!steps_of(s, s->to, to_steps) || !steps_of(s, s->from, from_steps))
        return acu_fail(call, "", ACU_ERROR_OVERFLOW, "the shape has too many elements");
    if (is_empty(s))
        return 0;
    for (unsigned i = 0; i < s->rank; i++)
        if (to_steps[i] == 0 && s->shape[i] > 1)
            return acu_fail(
                call, "", ACU_ERROR_ARGUMENT,
                "the destination has a step of 0, which would write one element many times");
    if (!is_within(to, s->to_at, s, to_steps))
        return acu_fail_on(call, to, ACU_ERROR_RANGE,
                           "some elements lie outside of the destination");
    if (!is_within(from, s->from_at, s, from_steps))
        return acu_fail_on(call, from, ACU_ERROR_RANGE, "some elements lie outside of the source");
    return 0;
}

acu_result acu_buffer_copy_strided(acu_buffer *to, acu_buffer *from, const acu_strides *strides,
                                   acu_stream *on) {
    ACU_SCOPE();
    int64_t to_steps[ACU_MAX_RANK] = {0}, from_steps[ACU_MAX_RANK] = {0};
    ACU_TRY(acu_buffer_check_types(__func__, to, from));
    ACU_TRY(acu_buffer_choose_stream(__func__, to, &on));
    ACU_TRY(check_strides(__func__, to, from, strides, to_steps, from_steps));
    if (is_empty(strides))
        return 0;
    const size_t size = acu_dtype_size(to->dtype);
    acu_strided_copy copy = {.to_buffer = to,
                             .from_buffer = from,
                             .to_at = (int64_t)(strides->to_at * size),
                             .from_at = (int64_t)(strides->from_at * size),
                             .width = size};
    for (unsigned i = 0; i < strides->rank; i++)
        if (strides->shape[i] > 1) { /* the step of a single element does not matter, and may be
                                        huge */
            copy.shape[copy.rank] = strides->shape[i];
            copy.to[copy.rank] = to_steps[i] * (int64_t)size;
            copy.from[copy.rank++] = from_steps[i] * (int64_t)size;
        }
    copy = joined(&copy);
    return OUTCOME(to, run_copy(&copy, on));
}
