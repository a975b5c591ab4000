/* Buffers: copies of elements that lie apart. */
#include "safe/memory/buffer.h"

#include <limits.h>

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (int)(code))

/* ---- the layout ---- */

/* The layout in bytes, after dimensions were joined; the innermost dimension is the last one. */
typedef struct strided_copy {
    bool is_peer;               /* CUDA has to know the devices */
    int to_device, from_device; /* ordinals; set if `is_peer` */
    unsigned rank;
    size_t shape[ACU_MAX_RANK];
    int64_t to[ACU_MAX_RANK], from[ACU_MAX_RANK];
    char *to_at;
    const char *from_at;
    size_t width; /* bytes that lie together */
    enum cudaMemcpyKind kind;
} strided_copy;

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
static void add_dimension(strided_copy *c, size_t count, int64_t to, int64_t from) {
    unsigned last = c->rank - 1; /* outer ones come first */
    if (c->rank > 0 && c->to[last] == to * (int64_t)count &&
        c->from[last] == from * (int64_t)count) {
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
static void widen(strided_copy *c) {
    unsigned last = c->rank - 1;
    if (c->rank == 0 || c->to[last] != (int64_t)c->width || c->from[last] != (int64_t)c->width)
        return;
    c->width *= c->shape[last];
    c->rank--;
}

/* ---- the copy ---- */

static bool is_pitch(int64_t step, size_t width) {
    return step >= (int64_t)width && step <= INT_MAX;
}

/* Rows of `width` bytes, which lie a pitch apart. */
typedef struct rows {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, height;
} rows;

/* Copies rows; only a 3D copy can name the devices. */
static int copy_rows(const strided_copy *c, bool names_devices, const rows *r, cudaStream_t on) {
    if (ACU_LIKELY(!names_devices))
        return (int)cudaMemcpy2DAsync(r->to, r->to_pitch, r->from, r->from_pitch, r->width,
                                      r->height, c->kind, on);
    const struct cudaMemcpy3DPeerParms params = {
        .srcPtr = {(void *)r->from, r->from_pitch, r->from_pitch, r->height},
        .srcDevice = c->from_device,
        .dstPtr = {r->to, r->to_pitch, r->to_pitch, r->height},
        .dstDevice = c->to_device,
        .extent = {r->width, r->height, 1}};
    return (int)cudaMemcpy3DPeerAsync(&params, on);
}

/* One 2D copy takes the innermost dimension if its steps are pitches. There is one such copy for
 * each index of the other dimensions. */
static int copy_strided(const acu_buffer_job *job, const void *data) {
    const strided_copy *c = data;
    unsigned walked = c->rank, i;
    size_t index[ACU_MAX_RANK] = {0};
    rows at = {c->to_at, c->from_at, c->width, c->width, c->width, 1};
    const bool names_devices = c->is_peer && acu_buffer_copy_may_name_devices(job->on->raw);
    if (c->rank > 0 && is_pitch(c->to[c->rank - 1], c->width) &&
        is_pitch(c->from[c->rank - 1], c->width)) {
        walked--;
        at.height = c->shape[walked];
        at.to_pitch = (size_t)c->to[walked];
        at.from_pitch = (size_t)c->from[walked];
    }
    for (;;) {
        int code = copy_rows(c, names_devices, &at, job->on->raw);
        if (code)
            return code;
        for (i = walked; i > 0; i--) { /* the next index; the last dimension runs fastest */
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

/* ---- the call ---- */

static bool is_empty(const acu_strides *s) {
    for (unsigned i = 0; i < s->rank; i++)
        if (s->shape[i] == 0)
            return true;
    return false;
}

static int check_strides(const char *call, const acu_buffer *to, const acu_buffer *from,
                         const acu_strides *s, int64_t *to_steps, int64_t *from_steps) {
    if (!s || s->rank > ACU_MAX_RANK || (s->rank > 0 && !s->shape))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "'strides' is NULL, has no shape, or has more than %d dimensions",
                        ACU_MAX_RANK);
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
    int64_t to_steps[ACU_MAX_RANK] = {0}, from_steps[ACU_MAX_RANK] = {0};
    ACU_TRY(acu_buffer_check_types(__func__, to, from));
    ACU_TRY(acu_buffer_choose_stream(__func__, to, &on));
    ACU_TRY(check_strides(__func__, to, from, strides, to_steps, from_steps));
    if (is_empty(strides))
        return 0;
    size_t size = acu_dtype_size(to->dtype);
    strided_copy copy = {.to_at = to->pointer + strides->to_at * size,
                         .from_at = from->pointer + strides->from_at * size,
                         .width = size,
                         .kind = acu_buffer_copy_kind(to, from)};
    if (acu_buffer_copy_is_peer(to, from, on->object.device)) {
        copy.is_peer = true;
        copy.to_device = to->object.device;
        copy.from_device = from->object.device;
    }
    for (unsigned i = 0; i < strides->rank; i++)
        if (strides->shape[i] >
            1) /* the step of a single element does not matter, and may be huge */
            add_dimension(&copy, strides->shape[i], to_steps[i] * (int64_t)size,
                          from_steps[i] * (int64_t)size);
    widen(&copy);
    acu_buffer_job job = {
        .to = to, .from = from, .on = on, .copies = true, .run = copy_strided, .data = &copy};
    return OUTCOME(to, acu_buffer_run(&job));
}
